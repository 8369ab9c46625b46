//! Progress on standard error: bars where a person watches, a line for each stage where none does.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fpsrl::progress::{Progress, Stage};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A note is put into words at most this often.
const BETWEEN_NOTES: Duration = Duration::from_millis(100);

/// Whether Ctrl-C has been pressed.
static STOP: AtomicBool = AtomicBool::new(false);

/// Draws the progress of stages.
pub struct Bars {
    quiet: bool,
    terminal: bool,
    current: Mutex<Option<Current>>,
}

/// The stage under way.
struct Current {
    bar: ProgressBar,
    began: Instant,
    noted: Option<Instant>,
    note: String,
}

impl Bars {
    /// Draws on standard error, or nowhere if `quiet`.
    ///
    /// From now on Ctrl-C asks the work to end well; a second one ends it at once.
    pub fn new(quiet: bool) -> Self {
        // It fails only where signals cannot be caught; then Ctrl-C kills, and checkpoints serve as well.
        let _ = ctrlc::set_handler(|| {
            if STOP.swap(true, Ordering::Relaxed) {
                std::process::exit(130);
            }
        });
        Self { quiet, terminal: io::stderr().is_terminal(), current: Mutex::new(None) }
    }

    /// Says something that is no result.
    pub fn say(&self, message: &str) {
        if !self.quiet {
            // Messages are a courtesy: nobody may be there to read them.
            let _ = writeln!(io::stderr().lock(), "{message}");
        }
    }

    fn with_current<T>(&self, act: impl FnOnce(&mut Option<Current>) -> T) -> T {
        // A poisoned bar is still a bar.
        act(&mut self.current.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }
}

fn name(stage: Stage) -> &'static str {
    match stage {
        Stage::Import => "read",
        Stage::Generate => "generate",
        Stage::Fit => "fit",
        Stage::Search => "search",
        Stage::Front => "front",
        Stage::Evaluate => "evaluate",
        Stage::Ceiling => "ceiling",
        Stage::Nfq => "nfq",
        Stage::Report => "report",
    }
}

impl Progress for Bars {
    fn begin(&self, stage: Stage, total: u64) {
        let target = match self.terminal && !self.quiet {
            true => ProgressDrawTarget::stderr_with_hz(10),
            false => ProgressDrawTarget::hidden(),
        };
        let bar = ProgressBar::with_draw_target(Some(total), target).with_prefix(name(stage));
        let template = "{prefix:<8} [{bar:30}] {percent:>3} %  {eta} left  {msg}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("=> "));
        }
        self.with_current(|current| {
            *current = Some(Current { bar, began: Instant::now(), noted: None, note: String::new() });
        });
    }

    fn update(&self, _: Stage, done: u64, note: &dyn Display) {
        self.with_current(|current| {
            let Some(Current { bar, noted, note: last, .. }) = current else { return };
            bar.set_position(done);
            let complete = bar.length() == Some(done);
            if complete || noted.is_none_or(|noted| noted.elapsed() >= BETWEEN_NOTES) {
                *noted = Some(Instant::now());
                *last = note.to_string();
                bar.set_message(last.clone());
            }
        });
    }

    fn announce(&self, what: &dyn Display) {
        self.say(&what.to_string());
    }

    fn stop_requested(&self) -> bool {
        STOP.load(Ordering::Relaxed)
    }

    fn end(&self, stage: Stage) {
        let ended = self.with_current(Option::take);
        if let Some(Current { bar, began, note, .. }) = ended {
            bar.finish_and_clear();
            // Of the other stages, the last note tells of a part only.
            let note = if stage == Stage::Search { format!(", {note}") } else { String::new() };
            self.say(&format!("{:<8} done in {:.1} s{note}", name(stage), began.elapsed().as_secs_f64()));
        }
    }
}
