//! Plants with operators: from a historian's log to a controller that drives the true simulator.

use std::path::Path;
use std::process::Command;

use crate::{Outcome, outside, run};

/// Tests the simulators, takes two logs to controllers that are driven in closed loop, and one that cannot support any.
pub fn controlled(root: &Path) -> Outcome {
    let python = match outside::python(root) {
        Ok(python) => python,
        Err(why) => return Outcome::Skipped(why),
    };
    let command = match outside::command(root) {
        Ok(command) => command,
        Err(why) => return Outcome::Failed(why),
    };
    let plants = root.join("bench/plants");
    let study = |name: &str, words: &[&str]| {
        // What is there from before would not be made again.
        let out = root.join("target/outside").join(name);
        let _ = std::fs::remove_file(&out);
        let mut study = Command::new(&python);
        study.arg(plants.join("study.py")).arg("--check").arg("--fpsrl").arg(&command).arg("--out").arg(out);
        study.args(["--options", "--effort quick", "--seeds", "1", "--plants"]).args(words).current_dir(root);
        run(&mut study)
    };
    match run(Command::new(&python).arg(plants.join("test_plants.py")).current_dir(root)) {
        Outcome::Passed => {}
        failed => return failed,
    }
    match study("plants.jsonl", &["hall", "level"]) {
        Outcome::Passed => study("shuffled.jsonl", &["motor", "--shuffle-actions"]),
        failed => failed,
    }
}
