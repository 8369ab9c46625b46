//! Gaussian processes and forests, checked against scikit-learn.

use std::path::Path;
use std::process::Command;

use crate::{Outcome, outside, run};

/// Fits both on the same rows as scikit-learn does, and compares.
pub fn agrees(root: &Path) -> Outcome {
    let python = match outside::python(root) {
        Ok(python) => python,
        Err(why) => return Outcome::Skipped(why),
    };
    let fixture = match outside::fixture(root, "outside_worlds") {
        Ok(fixture) => fixture,
        Err(why) => return Outcome::Failed(why),
    };
    let file = root.join("target/outside/worlds.json");
    match run(Command::new(fixture).arg(&file).current_dir(root)) {
        Outcome::Passed => run(Command::new(python).arg(root.join("xtask/src/scikit_learn.py")).arg(&file)),
        failed => failed,
    }
}
