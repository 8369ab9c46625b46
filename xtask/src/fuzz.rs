//! `cargo xtask fuzz`: the standing attack on everything that is read.

use std::path::Path;
use std::process::Command;

use crate::{Outcome, cargo_path, run};

/// What `cargo xtask fuzz` can do.
pub const USAGE: &str = "\
usage: cargo xtask fuzz [--minutes N | --inputs N] [--seed N] [--record] [TARGET...]
       cargo xtask fuzz replay TARGET FILE

  changes valid files of every kind that is read, and gives them to the readers; what breaks is made small and kept
  below target/fuzz/broken. Without a number it runs for 5 minutes; without targets, over all of them
          (--seed: other inputs than those of seed 1; --record: writes the table into docs/reliability.md)
  replay  what a file does to a target; files of a run stand in a directory named after it: run/finished/world.json";

/// `cargo xtask fuzz` with the arguments after it.
pub fn fuzz(root: &Path, arguments: &[&str]) -> Outcome {
    let built = run(Command::new(cargo_path())
        .args(["build", "--quiet", "--release", "--package", "fpsrl-fuzz"])
        .current_dir(root));
    if !matches!(built, Outcome::Passed) {
        return built;
    }
    let program = crate::outside::target(root).join("release/fpsrl-fuzz");
    let command: &[&str] = if arguments.first() == Some(&"replay") { &[] } else { &["attack"] };
    run(Command::new(program).args(command).args(arguments).current_dir(root))
}
