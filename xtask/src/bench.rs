//! `cargo xtask bench`: measurements. Nothing here passes or fails by the clock; what fails is disagreement about
//! values, or a count of instructions that has risen.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::outside::{self, Program};
use crate::{Outcome, cargo_path, run};

/// What `cargo xtask bench` can do.
pub const USAGE: &str = "\
usage: cargo xtask bench peers [--check] [--avx2] [--sizes N,N,...] [--rounds N] [--swarm-rounds N]
       cargo xtask bench kernels [--update]
       cargo xtask bench readers
       cargo xtask bench search [--problems NAME,...] [--seeds N] [--steps MILLIONS] [--contenders NAME,...] [--quick]

  peers      this engine beside JAX, NumPy and pyswarms: same fitness, in turns; writes bench/results
             (--check: only that all compute the same values; --avx2: nobody uses more than AVX2)
  kernels    instructions of the kernels under callgrind, compared with bench/kernels.json
             (--update: stores the counts)
  readers    a CSV file of a million rows read by Polars, pyarrow and this library, in turns; writes bench/results
  search     our optimisers beside pyswarms and pycma on the same learned worlds: return against model steps; writes
             bench/results (--contenders: results of the others are kept; --quick: only whether everything runs)";

const PEERS: [&str; 4] = ["numpy", "jax", "pyswarms", "matplotlib"];
const READERS: [&str; 3] = ["numpy", "polars", "pyarrow"];
const SEARCH: [&str; 2] = ["numpy", "matplotlib"];
/// Without one of these, the others search all the same.
const SEARCH_PEERS: [&str; 2] = ["pyswarms", "cma"];
const VALGRIND: Program = Program { command: "valgrind", debian: "valgrind" };

/// `cargo xtask bench` with the arguments after it.
pub fn bench(root: &Path, arguments: &[&str]) -> Outcome {
    match arguments {
        ["peers", options @ ..] => peers(root, options),
        ["readers"] => readers(root),
        ["search", options @ ..] => search(root, options),
        ["kernels"] => kernels(root, &[]),
        ["kernels", "--update"] => kernels(root, &["--update"]),
        _ => Outcome::Failed(format!("unknown measurement\n{USAGE}")),
    }
}

fn peers(root: &Path, options: &[&str]) -> Outcome {
    let python = match outside::environment(root, "target/outside/peers", &PEERS) {
        Ok(python) => python,
        Err(why) => return Outcome::Skipped(why),
    };
    match program(root, "engine") {
        Ok(engine) => run(Command::new(python)
            .arg(root.join("bench/peers/compare.py"))
            .arg("--engine")
            .arg(engine)
            .arg("--out")
            .arg(root.join("bench/results"))
            .args(options)
            .env("PYTHONDONTWRITEBYTECODE", "1")),
        Err(failed) => failed,
    }
}

fn readers(root: &Path) -> Outcome {
    let python = match outside::environment(root, "target/outside/readers", &READERS) {
        Ok(python) => python,
        Err(why) => return Outcome::Skipped(why),
    };
    match program(root, "read_log") {
        Ok(reader) => run(Command::new(python)
            .arg(root.join("bench/peers/read_csv.py"))
            .arg("--reader")
            .arg(reader)
            .arg("--out")
            .arg(root.join("bench/results/readers.json"))
            .env("PYTHONDONTWRITEBYTECODE", "1")),
        Err(failed) => failed,
    }
}

fn search(root: &Path, options: &[&str]) -> Outcome {
    const ENVIRONMENT: &str = "target/outside/search";
    let python = match outside::environment(root, ENVIRONMENT, &SEARCH) {
        Ok(python) => python,
        Err(why) => return Outcome::Skipped(why),
    };
    for package in SEARCH_PEERS {
        // Whether a package is there after all shows when it is to be used.
        if let Err(why) = outside::environment(root, ENVIRONMENT, &[package]) {
            eprintln!("note: {why}");
        }
    }
    match program(root, "search") {
        Ok(scorer) => run(Command::new(python)
            .arg(root.join("bench/peers/search.py"))
            .arg("--scorer")
            .arg(scorer)
            .arg("--work")
            .arg(root.join("target/bench/search"))
            .arg("--out")
            .arg(root.join("bench/results"))
            .args(options)
            .env("PYTHONDONTWRITEBYTECODE", "1")),
        Err(failed) => failed,
    }
}

fn kernels(root: &Path, options: &[&str]) -> Outcome {
    if let Err(why) = outside::install(&VALGRIND) {
        return Outcome::Skipped(why);
    }
    match program(root, "kernels") {
        Ok(kernels) => {
            run(Command::new(kernels).arg("compare").arg("bench/kernels.json").args(options).current_dir(root))
        }
        Err(failed) => failed,
    }
}

/// Builds a program of the crate `bench`; returns where it is.
fn program(root: &Path, name: &str) -> Result<PathBuf, Outcome> {
    let build = ["build", "--quiet", "--release", "--package", "fpsrl-bench", "--bin", name];
    if let failed @ Outcome::Failed(_) = run(Command::new(cargo_path()).args(build).current_dir(root)) {
        return Err(failed);
    }
    Ok(outside::target(root).join("release").join(name))
}
