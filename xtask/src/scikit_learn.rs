//! Gaussian processes and forests, checked against scikit-learn.

use std::path::Path;
use std::process::Command;

use crate::{Outcome, cargo, outside, run};

/// Fits both on the same rows as scikit-learn does, and compares.
pub fn agrees(root: &Path) -> Outcome {
    let python = match outside::environment(root, "target/outside/scikit-learn", &["scikit-learn"]) {
        Ok(python) => python,
        Err(why) => return Outcome::Skipped(why),
    };
    let file = root.join("target/outside/worlds.json");
    let path = file.to_string_lossy();
    let example = ["run", "--quiet", "--release", "--package", "fpsrl", "--example", "outside_worlds", "--", &path];
    if let Outcome::Failed(why) = cargo(root, &example) {
        return Outcome::Failed(why);
    }
    run(Command::new(python).arg(root.join("xtask/src/scikit_learn.py")).arg(&file))
}
