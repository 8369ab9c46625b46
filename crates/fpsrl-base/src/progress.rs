//! How long work reports on itself: typed events for whoever listens, and one handle that asks it to stop.
//!
//! The library prints nothing. A caller gives each stage a [`Progress`]: with a listener it draws bars, without one it is
//! silent. Its [`Stop`] handle may be kept anywhere, in a signal handler or in another thread.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::visible;

/// A stage of a run, in the order of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// A log of the user's own is read.
    Import,
    /// Random-action trajectories are drawn from a plant.
    Generate,
    /// The world model is trained.
    Fit,
    /// Rules are searched.
    Search,
    /// Conditions are taken away from rules, and the rest is tuned again.
    Front,
    /// The policy is scored.
    Evaluate,
    /// Plans are searched, to know how much a policy could reach.
    Ceiling,
    /// Neural fitted Q iteration.
    Nfq,
    /// P and PI controllers are tuned and scored.
    Pi,
    /// The report is put together.
    Report,
    /// The runs of a sweep are made.
    Sweep,
}

impl Stage {
    /// What it is called where people read.
    pub fn name(self) -> &'static str {
        match self {
            Self::Import => "read",
            Self::Generate => "generate",
            Self::Fit => "fit",
            Self::Search => "search",
            Self::Front => "front",
            Self::Evaluate => "evaluate",
            Self::Ceiling => "ceiling",
            Self::Nfq => "nfq",
            Self::Pi => "pi",
            Self::Report => "report",
            Self::Sweep => "sweep",
        }
    }
}

/// What a stage reports. Stages report from several threads.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// A stage begins that counts up to `total`.
    Began {
        /// The stage.
        stage: Stage,
        /// What it counts up to.
        total: u64,
    },
    /// A stage has done a part of its work.
    Advanced {
        /// The stage.
        stage: Stage,
        /// How much of its total is done.
        done: u64,
        /// How it stands.
        status: Status,
    },
    /// A stage has ended.
    Ended {
        /// The stage.
        stage: Stage,
    },
    /// Something that the user should know of.
    Noticed(Notice),
}

/// How a stage stands.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Status {
    /// There is nothing to say but the count.
    Counting,
    /// It is at this part of its work.
    At(&'static str),
    /// A search or NFQ: the best return so far, and what it does at present.
    Best {
        /// The best mean return so far.
        value: f64,
        /// What it does at present, in words; empty if it always does the same.
        doing: String,
    },
    /// The training of a quantity.
    Training {
        /// The quantity's name.
        variable: String,
        /// Its error on the validation set, as a share of the variance.
        error: f64,
    },
    /// Conditions are taken away from rules.
    Thinning {
        /// Conditions that are left.
        conditions: usize,
        /// What they earn.
        value: f64,
    },
    /// Plans are made from this start state, counted from 1.
    StartState(usize),
    /// Runs of a sweep are made.
    Runs {
        /// Runs that are finished.
        finished: usize,
        /// Runs that have failed.
        failed: usize,
        /// Runs in all.
        of: usize,
    },
}

impl fmt::Display for Status {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Counting => Ok(()),
            Self::At(part) => formatter.write_str(part),
            Self::Best { value, doing } if doing.is_empty() => write!(formatter, "best {value:.3}"),
            Self::Best { value, doing } => write!(formatter, "best {value:.3}, {}", visible::message(doing)),
            Self::Training { variable, error } => write!(formatter, "{}: error {error:.1e}", visible::name(variable)),
            Self::Thinning { conditions, value } => write!(formatter, "{conditions} conditions earn {value:.3}"),
            Self::StartState(number) => write!(formatter, "start state {number}"),
            Self::Runs { finished, failed: 0, of } => write!(formatter, "{finished} of {of} runs"),
            Self::Runs { finished, failed, of } => write!(formatter, "{finished} of {of} runs, {failed} failed"),
        }
    }
}

/// Something that the user should know of, though it stops nothing.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Notice {
    /// Work of several runs turns to another one.
    Turning(String),
    /// Files were removed, because what they were made from is about to change.
    Removed {
        /// What changes.
        origin: &'static str,
        /// What was made from it.
        files: Vec<&'static str>,
    },
    /// The log contradicts `data.action_leads_to`.
    Alignment {
        /// Whether actions lead to the next row; else they lead to their own.
        next: bool,
        /// The setting's word for it.
        word: &'static str,
    },
    /// `data.history = "auto"` has chosen.
    HistoryChosen {
        /// Past steps that a state carries.
        steps: usize,
    },
    /// Only some of the log's transitions are kept.
    Thinned {
        /// Transitions that are kept.
        kept: usize,
        /// Transitions of the log.
        of: usize,
    },
    /// Terminal steps whose next state is not in the log.
    LostTerminals(usize),
    /// The log has too few mirror images to test `policy.mirrored`.
    MirrorUntested,
    /// Rows have an action outside of its limits.
    OutsideLimits {
        /// The action.
        action: String,
        /// How many rows.
        rows: usize,
    },
}

impl fmt::Display for Notice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Turning(to) => formatter.write_str(&visible::message(to)),
            Self::Removed { origin, files } => {
                write!(formatter, "removed, because {origin} changes: {}", files.join(", "))
            }
            Self::Alignment { next, word } => write!(
                formatter,
                "warning: by the data, actions lead to {} row: write action_leads_to = \"{word}\" below [data]",
                if *next { "the next" } else { "their own" }
            ),
            Self::HistoryChosen { steps } => {
                write!(formatter, "a history of {steps} steps was chosen by held-out rows")
            }
            Self::Thinned { kept, of } => write!(
                formatter,
                "{kept} of {of} transitions are kept, in stretches spread over the log; `samples` below [data] changes that"
            ),
            Self::LostTerminals(rows) => {
                write!(formatter, "warning: {rows} terminal steps are lost, because their next state is not in the log")
            }
            Self::MirrorUntested => {
                formatter.write_str("warning: `policy.mirrored` could not be tested: the log has too few mirror images")
            }
            Self::OutsideLimits { action, rows } => {
                write!(formatter, "warning: {rows} rows have `{}` outside of its limits", visible::name(action))
            }
        }
    }
}

/// Asks work to stop as soon as it can. All clones are the same handle.
///
/// ```
/// use fpsrl_base::progress::{Progress, Stop};
/// let stop = Stop::default();
/// let progress = Progress::silent().stopped_by(&stop);
/// assert!(!progress.stop_requested());
/// stop.request();
/// assert!(progress.stop_requested());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Asks the work to stop. Returns whether that had been asked before.
    pub fn request(&self) -> bool {
        self.0.swap(true, Ordering::Relaxed)
    }

    /// Whether the work was asked to stop.
    pub fn is_requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

type Listener = dyn Fn(&Event) + Send + Sync;

/// What a stage reports to. It owns all that it needs, and is cheap to clone.
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use fpsrl_base::progress::{Event, Progress, Stage, Status};
/// let seen = Arc::new(Mutex::new(Vec::new()));
/// let listener = Arc::clone(&seen);
/// let progress = Progress::new(move |event| listener.lock().unwrap().push(event.clone()));
/// progress.begin(Stage::Fit, 10);
/// progress.update(Stage::Fit, 5, Status::Counting);
/// assert_eq!(seen.lock().unwrap()[0], Event::Began { stage: Stage::Fit, total: 10 });
/// ```
#[derive(Clone, Default)]
pub struct Progress {
    listener: Option<Arc<Listener>>,
    stop: Stop,
}

impl fmt::Debug for Progress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Progress").field("stop", &self.stop).finish_non_exhaustive()
    }
}

/// How finely a portion of the work reports.
const FINE: u64 = 1_000;

impl Progress {
    /// Reports every event to a listener.
    pub fn new(listener: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        Self { listener: Some(Arc::new(listener)), stop: Stop::default() }
    }

    /// Reports nothing.
    pub fn silent() -> Self {
        Self::default()
    }

    /// The same, with a handle that stops the work.
    pub fn stopped_by(mut self, stop: &Stop) -> Self {
        self.stop = stop.clone();
        self
    }

    /// The handle that stops the work.
    pub fn stop(&self) -> Stop {
        self.stop.clone()
    }

    /// Whether the work shall end as soon as it can.
    pub fn stop_requested(&self) -> bool {
        self.stop.is_requested()
    }

    /// A stage begins that counts up to `total`.
    pub fn begin(&self, stage: Stage, total: u64) {
        self.tell(|| Event::Began { stage, total });
    }

    /// A stage has done `done` of its total.
    pub fn update(&self, stage: Stage, done: u64, status: Status) {
        self.tell(|| Event::Advanced { stage, done, status });
    }

    /// A stage has ended.
    pub fn end(&self, stage: Stage) {
        self.tell(|| Event::Ended { stage });
    }

    /// There is something that the user should know of.
    pub fn notice(&self, notice: Notice) {
        self.tell(|| Event::Noticed(notice));
    }

    fn tell(&self, event: impl FnOnce() -> Event) {
        if let Some(listener) = &self.listener {
            listener(&event());
        }
    }

    /// A part of a longer stage, which reports as if there were nothing else. The work is counted in units, of which this
    /// part is those `from` up to `to` of `total`.
    ///
    /// ```
    /// use fpsrl_base::progress::{Progress, Stage, Status};
    /// let portion = Progress::silent().portion(0, 2, 10);
    /// portion.begin(Stage::Fit, 500);
    /// portion.update(Stage::Fit, 250, Status::At("half of two tenths"));
    /// ```
    pub fn portion(&self, from: u64, to: u64, total: u64) -> Self {
        if self.listener.is_none() {
            return self.clone();
        }
        let whole = self.clone();
        let own_total = AtomicU64::new(1);
        let listener = move |event: &Event| match event {
            Event::Began { stage, total: own } => {
                own_total.store((*own).max(1), Ordering::Relaxed);
                if from == 0 {
                    whole.begin(*stage, total * FINE);
                }
            }
            Event::Advanced { stage, done, status } => {
                let share = *done as f64 / own_total.load(Ordering::Relaxed) as f64;
                let units = from as f64 + share * (to - from) as f64;
                whole.update(*stage, (units * FINE as f64) as u64, status.clone());
            }
            Event::Ended { stage } if to == total => whole.end(*stage),
            Event::Ended { .. } => {}
            Event::Noticed(notice) => whole.notice(notice.clone()),
        };
        Self { listener: Some(Arc::new(listener)), stop: self.stop.clone() }
    }

    /// Parts of a longer stage that are under way at the same time, which report as one: each counts for its weight.
    ///
    /// ```
    /// use fpsrl_base::progress::{Progress, Stage, Status};
    /// let parts = Progress::silent().side_by_side(&[1, 3]);
    /// parts.iter().for_each(|part| part.begin(Stage::Fit, 500));
    /// parts[1].update(Stage::Fit, 250, Status::At("half of three quarters"));
    /// ```
    pub fn side_by_side(&self, weights: &[u64]) -> Vec<Self> {
        let total: u64 = weights.iter().sum();
        let whole = self.clone();
        let begun = Arc::new(AtomicBool::new(false));
        let open = Arc::new(AtomicU64::new(weights.len() as u64));
        let units: Arc<Vec<AtomicU64>> = Arc::new(weights.iter().map(|_| AtomicU64::new(0)).collect());
        let part = |(index, &weight): (usize, &u64)| {
            let (whole, begun, open, units) = (whole.clone(), begun.clone(), open.clone(), units.clone());
            let own_total = AtomicU64::new(1);
            let listener = move |event: &Event| match event {
                Event::Began { stage, total: own } => {
                    own_total.store((*own).max(1), Ordering::Relaxed);
                    if !begun.swap(true, Ordering::Relaxed) {
                        whole.begin(*stage, total * FINE);
                    }
                }
                Event::Advanced { stage, done, status } => {
                    let share = *done as f64 / own_total.load(Ordering::Relaxed) as f64;
                    units[index].fetch_max((share * (weight * FINE) as f64) as u64, Ordering::Relaxed);
                    let done = units.iter().map(|units| units.load(Ordering::Relaxed)).sum();
                    whole.update(*stage, done, status.clone());
                }
                Event::Ended { stage } => {
                    if open.fetch_sub(1, Ordering::Relaxed) == 1 {
                        whole.end(*stage);
                    }
                }
                Event::Noticed(notice) => whole.notice(notice.clone()),
            };
            Self { listener: Some(Arc::new(listener)), stop: self.stop.clone() }
        };
        weights.iter().enumerate().map(part).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn portions_report_as_one_stage() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let listener = Arc::clone(&seen);
        let whole = Progress::new(move |event| listener.lock().unwrap().push(event.clone()));
        for part in 0..2 {
            let portion = whole.portion(part, part + 1, 2);
            portion.begin(Stage::Fit, 4);
            portion.update(Stage::Fit, 2, Status::Counting);
            portion.end(Stage::Fit);
        }
        let advanced = |done| Event::Advanced { stage: Stage::Fit, done, status: Status::Counting };
        let began = Event::Began { stage: Stage::Fit, total: 2_000 };
        assert_eq!(*seen.lock().unwrap(), [began, advanced(500), advanced(1_500), Event::Ended { stage: Stage::Fit }]);
    }

    #[test]
    fn parts_side_by_side_report_as_one_stage() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let listener = Arc::clone(&seen);
        let whole = Progress::new(move |event| listener.lock().unwrap().push(event.clone()));
        let parts = whole.side_by_side(&[1, 3]);
        parts.iter().for_each(|part| part.begin(Stage::Fit, 4));
        parts[1].update(Stage::Fit, 2, Status::Counting);
        parts[0].update(Stage::Fit, 4, Status::Counting);
        parts.iter().for_each(|part| part.end(Stage::Fit));
        let advanced = |done| Event::Advanced { stage: Stage::Fit, done, status: Status::Counting };
        let began = Event::Began { stage: Stage::Fit, total: 4_000 };
        assert_eq!(
            *seen.lock().unwrap(),
            [began, advanced(1_500), advanced(2_500), Event::Ended { stage: Stage::Fit }]
        );
    }

    #[test]
    fn a_stop_reaches_every_portion() {
        let whole = Progress::new(|_| ());
        let portion = whole.portion(0, 1, 2);
        assert!(!portion.stop_requested());
        assert!(!whole.stop().request());
        assert!(portion.stop_requested() && whole.stop().request());
    }
}
