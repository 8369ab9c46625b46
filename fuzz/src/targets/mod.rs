//! What is attacked: everything that reads a file of others, or one of its own that others may have changed.

mod exports;
mod logs;
mod policies;
mod problems;
mod rules;
mod runs;

use fpsrl::{Error, Result};

use crate::input::Input;
use crate::place::Place;

/// A reader, the valid files that an attack begins with, and how much of it there is.
pub struct Target {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it reads.
    pub reads: &'static str,
    /// Its share of all inputs: what is read in less time, and by more ways, is tried more often.
    pub share: f64,
    /// The most inputs of the short part that is a test.
    pub short: u32,
    /// Valid inputs.
    pub seeds: fn(&mut Place) -> Result<Vec<Input>>,
    /// Reads one.
    pub run: fn(&Input, &mut Place) -> Result<(), Trouble>,
}

/// Why an input was not taken.
#[derive(Debug)]
pub enum Trouble {
    /// It was refused.
    Refused(Error),
    /// It was taken, and what came of it is wrong.
    Wrong(String),
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

/// Every target. A target's place in the list is a part of what a seed means: new ones come last.
pub const TARGETS: [Target; 21] = [
    problems::PROBLEM,
    problems::SWEEP,
    logs::TEXT,
    logs::GZIP,
    logs::NPZ,
    logs::PARQUET,
    logs::HDF5,
    logs::DRAFT,
    logs::TRANSITIONS,
    policies::FORMULA,
    policies::PROCESS,
    policies::ACTING,
    rules::FLL,
    rules::FCL,
    rules::FIS,
    rules::JSON,
    exports::VECTORS,
    exports::VERIFY,
    runs::FILES,
    runs::RUN,
    runs::REPORT,
];

/// A target by its name.
pub fn find(name: &str) -> Option<(u16, &'static Target)> {
    TARGETS.iter().enumerate().find(|(_, target)| target.name == name).map(|(index, target)| (index as u16, target))
}
