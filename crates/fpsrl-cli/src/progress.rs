//! Progress on standard error: bars where a person watches, a line for each stage where none does.

use std::io::{self, IsTerminal};
use std::ops::Deref;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use fpsrl::progress::{Event, Progress, Stage, Status, Stop};
use fpsrl::visible::visible;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressFinish, ProgressStyle};

use crate::signals;
use crate::terminal::say;

/// A status is put into words at most this often.
const BETWEEN_NOTES: Duration = Duration::from_millis(100);

/// Draws the progress of stages, which are given it as a [`Progress`].
pub struct Bars {
    quiet: bool,
    progress: Progress,
}

/// Stages are given the bars themselves.
impl Deref for Bars {
    type Target = Progress;

    fn deref(&self) -> &Progress {
        &self.progress
    }
}

impl Bars {
    /// Draws on standard error, or nowhere if `quiet`.
    ///
    /// From now on Ctrl-C asks the work to end well; a second one ends it at once.
    pub fn new(quiet: bool) -> Self {
        let stop = Stop::default();
        signals::stop(&stop);
        let terminal = io::stderr().is_terminal();
        let drawing = Drawing { quiet, terminal, stop: stop.clone(), current: Mutex::new(None) };
        let drawing = Arc::new(drawing);
        let progress = Progress::new(move |event| drawing.show(event)).stopped_by(&stop);
        Self { quiet, progress }
    }

    /// Says something that is no result.
    pub fn say(&self, message: &str) {
        say(self.quiet, message);
    }
}

/// What is on the screen.
struct Drawing {
    quiet: bool,
    terminal: bool,
    stop: Stop,
    current: Mutex<Option<Current>>,
}

/// The stage under way.
struct Current {
    bar: ProgressBar,
    began: Instant,
    noted: Option<Instant>,
    note: String,
}

impl Drawing {
    fn show(&self, event: &Event) {
        match event {
            Event::Began { stage, total } => self.begin(*stage, *total),
            Event::Advanced { done, status, .. } => self.update(*done, status),
            Event::Ended { stage } => self.end(*stage),
            Event::Noticed(notice) => say(self.quiet, &notice.to_string()),
            _ => {}
        }
    }

    fn with_current<T>(&self, act: impl FnOnce(&mut Option<Current>) -> T) -> T {
        // A poisoned bar is still a bar.
        act(&mut self.current.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    fn begin(&self, stage: Stage, total: u64) {
        let target = match self.terminal && !self.quiet {
            true => ProgressDrawTarget::stderr_with_hz(10),
            false => ProgressDrawTarget::hidden(),
        };
        let bar = ProgressBar::with_draw_target(Some(total), target)
            .with_prefix(stage.name())
            // Of a stage that has failed, nothing stays on the screen but the error.
            .with_finish(ProgressFinish::AndClear);
        let template = "{prefix:<8} [{bar:30}] {percent:>3} %  {eta} left  {msg}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("=> "));
        }
        self.with_current(|current| {
            *current = Some(Current { bar, began: Instant::now(), noted: None, note: String::new() });
        });
    }

    fn update(&self, done: u64, status: &Status) {
        self.with_current(|current| {
            let Some(Current { bar, noted, note: last, .. }) = current else { return };
            bar.set_position(done);
            let complete = bar.length() == Some(done);
            if complete || noted.is_none_or(|noted| noted.elapsed() >= BETWEEN_NOTES) {
                *noted = Some(Instant::now());
                *last = visible(&status.to_string()).into_owned();
                bar.set_message(last.clone());
            }
        });
    }

    fn end(&self, stage: Stage) {
        let ended = self.with_current(Option::take);
        if let Some(Current { bar, began, note, .. }) = ended {
            bar.finish_and_clear();
            // Of the other stages, the last note tells of a part only.
            let note = if stage == Stage::Search { format!(", {note}") } else { String::new() };
            let ended = if self.stop.is_requested() { "stopped after" } else { "done in" };
            say(self.quiet, &format!("{:<8} {ended} {:.1} s{note}", stage.name(), began.elapsed().as_secs_f64()));
        }
    }
}
