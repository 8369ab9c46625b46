//! Logs recorded and written by other people's programs go through the command as a user's would.

use std::path::Path;
use std::process::Command;

use crate::outside::environment;
use crate::{Outcome, cargo_path, run};

/// From the Python index: environments to record and to drive, and writers of every format.
const PACKAGES: [&str; 7] = ["gymnasium", "minari[create]", "h5py", "pillow", "numpy", "pyarrow", "polars"];

/// Records MountainCarContinuous-v0 and CartPole-v1, finds controllers from the logs alone, and drives both with them; and
/// reads one log as CSV, Parquet, npz and HDF5 as Minari writes it.
pub fn own_logs(root: &Path) -> Outcome {
    let python = match environment(root, "target/outside/own-logs", &PACKAGES) {
        Ok(python) => python,
        Err(why) => return Outcome::Skipped(why),
    };
    let build = ["build", "--quiet", "--release", "--package", "fpsrl-cli"];
    if let failed @ Outcome::Failed(_) = run(Command::new(cargo_path()).args(build).current_dir(root)) {
        return failed;
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), Into::into);
    run(Command::new(python)
        .arg(root.join("xtask/own_logs.py"))
        .arg(target.join("release/fpsrl"))
        .arg(root.join("target/outside/own-logs-runs"))
        .env("PYTHONDONTWRITEBYTECODE", "1"))
}
