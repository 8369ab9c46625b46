//! Logs recorded and written by other people's programs go through the command as a user's would.

use std::path::Path;
use std::process::Command;

use crate::{Outcome, outside, run};

/// Records MountainCarContinuous-v0 and CartPole-v1, finds controllers from the logs alone, and drives both with them; and
/// reads one log as CSV, Parquet, npz and HDF5 as Minari writes it.
pub fn own_logs(root: &Path) -> Outcome {
    let python = match outside::python(root) {
        Ok(python) => python,
        Err(why) => return Outcome::Skipped(why),
    };
    match outside::command(root) {
        Ok(command) => run(Command::new(python)
            .arg(root.join("xtask/own_logs.py"))
            .arg(command)
            .arg(root.join("target/outside/own-logs-runs"))
            .env("PYTHONDONTWRITEBYTECODE", "1")),
        Err(why) => Outcome::Failed(why),
    }
}
