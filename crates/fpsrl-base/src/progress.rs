//! How long work tells of itself: the library reports through a trait, whoever calls it draws.

use std::fmt::Display;
use std::sync::atomic::{AtomicU64, Ordering};

/// A stage of a run, in the order of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// A log of the user's own is read.
    Import,
    /// Random-action trajectories are drawn from a plant.
    Generate,
    /// The world model is trained.
    Fit,
    /// The swarm searches for rules.
    Search,
    /// Conditions are taken away from rules, and the rest is tuned again.
    Front,
    /// The policy is scored.
    Evaluate,
    /// Plans are searched, to know how much a policy could reach.
    Ceiling,
    /// Neural fitted Q iteration.
    Nfq,
    /// The report is put together.
    Report,
}

/// Receives the progress of a stage. Every method has an empty default.
///
/// Stages report from several threads.
pub trait Progress: Send + Sync {
    /// A stage begins that counts up to `total`.
    fn begin(&self, stage: Stage, total: u64) {
        let _ = (stage, total);
    }

    /// A stage has done `done` of its total; `note` says how it stands.
    fn update(&self, stage: Stage, done: u64, note: &dyn Display) {
        let _ = (stage, done, note);
    }

    /// A stage has ended.
    fn end(&self, stage: Stage) {
        let _ = stage;
    }

    /// Work of several runs turns to another one.
    fn announce(&self, what: &dyn Display) {
        let _ = what;
    }

    /// Whether the user wants the work to end as soon as it can.
    fn stop_requested(&self) -> bool {
        false
    }
}

/// Reports nothing.
///
/// ```
/// use fpsrl_base::progress::{Progress, Silent, Stage};
/// Silent.begin(Stage::Fit, 10);
/// assert!(!Silent.stop_requested());
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {}

/// How finely a portion of the work tells of itself.
const FINE: u64 = 1_000;

/// A part of a longer stage: whoever is given it reports as if there were nothing else.
///
/// The work is counted in units, of which this part is those `from` up to `to` of `total`.
pub struct Portion<'a> {
    /// Who is told.
    pub progress: &'a dyn Progress,
    /// The first unit of this part.
    pub from: u64,
    /// The first unit after it.
    pub to: u64,
    /// Units of the whole work.
    pub total: u64,
    /// What this part counts up to by itself.
    own_total: AtomicU64,
}

impl<'a> Portion<'a> {
    /// The units `from` up to `to` of `total`.
    ///
    /// ```
    /// use fpsrl_base::progress::{Portion, Progress, Silent, Stage};
    /// let portion = Portion::new(&Silent, 0, 2, 10);
    /// portion.begin(Stage::Fit, 500);
    /// portion.update(Stage::Fit, 250, &"half of two tenths");
    /// ```
    pub fn new(progress: &'a dyn Progress, from: u64, to: u64, total: u64) -> Self {
        Self { progress, from, to, total, own_total: AtomicU64::new(1) }
    }
}

impl Progress for Portion<'_> {
    fn begin(&self, stage: Stage, total: u64) {
        self.own_total.store(total.max(1), Ordering::Relaxed);
        if self.from == 0 {
            self.progress.begin(stage, self.total * FINE);
        }
    }

    fn update(&self, stage: Stage, done: u64, note: &dyn Display) {
        let share = done as f64 / self.own_total.load(Ordering::Relaxed) as f64;
        let units = self.from as f64 + share * (self.to - self.from) as f64;
        self.progress.update(stage, (units * FINE as f64) as u64, note);
    }

    fn end(&self, stage: Stage) {
        if self.to == self.total {
            self.progress.end(stage);
        }
    }

    fn announce(&self, what: &dyn Display) {
        self.progress.announce(what);
    }

    fn stop_requested(&self) -> bool {
        self.progress.stop_requested()
    }
}
