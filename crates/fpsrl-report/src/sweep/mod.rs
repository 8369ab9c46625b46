//! What the runs of a sweep say together, and the page about it: which settings matter, how much is chance, which rules come back
//! every time, and the front over all runs.
//!
//! [`WhatVaries`] is given by whoever has the runs; [`SweepFindings::of`] computes, [`sweep_page`] shows.

mod charts;
mod page;
mod stability;
mod statistics;

use std::sync::Arc;

use fpsrl_engine::policy::FuzzyPolicy;
use fpsrl_explain::DataProfile;

pub use page::sweep_page;
pub use stability::{Recurring, Scatter};
pub use statistics::{Factor, FrontPoint, Level, Spread, Summed};

/// The runs of a sweep, and in what they differ.
#[derive(Clone, Debug, Default)]
pub struct WhatVaries {
    /// What the sweep is of: the problem's name.
    pub title: String,
    /// What a return is, in a few words; empty if the runs differ in that.
    pub returns_are: String,
    /// What is varied.
    pub factors: Vec<Varied>,
    /// Seeds of the runs.
    pub seeds: usize,
    /// Bootstrap draws of the log; 0 for the log as it is.
    pub draws: usize,
    /// The runs that are finished.
    pub runs: Vec<SweepRun>,
    /// The runs that have failed.
    pub failures: Vec<FailedRun>,
    /// The runs that are not made yet.
    pub pending: Vec<String>,
}

/// Something that is varied.
#[derive(Clone, Debug, PartialEq)]
pub struct Varied {
    /// The setting's path, or `log`.
    pub key: String,
    /// Its values, as words, in the order that they were written in.
    pub values: Vec<String>,
    /// Whether it changes what a return is, so that returns under different values cannot be compared.
    pub changes_returns: bool,
}

/// A finished run.
#[derive(Clone, Debug)]
pub struct SweepRun {
    /// Its name.
    pub name: String,
    /// Where its report is, seen from the page.
    pub link: String,
    /// The name of its settings.
    pub point: String,
    /// Its value of each factor: the place in [`Varied::values`].
    pub levels: Vec<usize>,
    /// Its seed.
    pub seed: u64,
    /// Its bootstrap draw.
    pub draw: Option<u32>,
    /// What its policy promises.
    pub promise: f64,
    /// Where the true return lies by the promise.
    pub interval: [f64; 2],
    /// The true return, where the plant is known.
    pub true_return: Option<f64>,
    /// `go`, `careful` or `no-go`; empty without a verdict.
    pub verdict: String,
    /// Whether the promise holds by the judge.
    pub holds: Option<bool>,
    /// Its rules.
    pub policy: FuzzyPolicy,
    /// What the log of such runs covers; the same for all with the same variables.
    pub profile: Arc<DataProfile>,
}

impl SweepRun {
    /// Whether the judge or the verdict refuses it.
    pub fn is_refused(&self) -> bool {
        self.holds == Some(false) || self.verdict == "no-go"
    }
}

/// A run that has failed.
#[derive(Clone, Debug, PartialEq)]
pub struct FailedRun {
    /// Its name.
    pub name: String,
    /// The name of its settings.
    pub point: String,
    /// Its value of each factor.
    pub levels: Vec<usize>,
    /// What went wrong.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// What the runs say together.
#[derive(Clone, Debug, Default)]
pub struct SweepFindings {
    /// Of each point: how its runs did.
    pub points: Vec<Spread>,
    /// Of each factor: how much it explains.
    pub factors: Vec<Factor>,
    /// The share of the promise's variance that is left within points: seeds, and draws of the log; none with a single run a point.
    pub chance: Option<f64>,
    /// The rules that come back, those of most runs first: of the runs that nobody refuses, if there are two of them.
    pub recurring: Vec<Recurring>,
    /// The runs of which none is both simpler and better.
    pub front: Vec<FrontPoint>,
    /// The run that promises most, of those that are not refused: its place among the runs.
    pub best: Option<usize>,
}

impl SweepFindings {
    /// Computes what runs say together.
    pub fn of(sweep: &WhatVaries) -> Self {
        Self {
            points: statistics::points(sweep),
            factors: statistics::factors(sweep),
            chance: statistics::chance(sweep),
            recurring: stability::recurring(sweep),
            front: statistics::front(sweep),
            best: statistics::best(sweep),
        }
    }
}

#[cfg(test)]
mod tests;
