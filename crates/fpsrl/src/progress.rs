//! How long work tells of itself: the library reports through a trait, whoever calls it draws.

use std::fmt::Display;

/// A stage of a run, in the order of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// Random-action trajectories are drawn from a plant.
    Generate,
    /// The world model is trained.
    Fit,
    /// The swarm searches for rules.
    Search,
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
/// use fpsrl::progress::{Progress, Silent, Stage};
/// Silent.begin(Stage::Fit, 10);
/// assert!(!Silent.stop_requested());
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {}
