//! Recorded results: what was found before is found again, to the last bit.
//!
//! `golden` holds a directory for each problem: `problem.toml`, `log.csv` unless a plant draws the log, the world that was
//! learned (`world.json`), the figures of its training (`fit.json`), and for each search its policy (`SEARCH.policy.json`) and
//! its figures (`SEARCH.figures.json`).
//!
//! - **Training is compared to six digits.** Its matrix products fuse multiplications and additions where the machine can, so
//!   that worlds differ in their last digits between machines.
//! - **Searches begin with the recorded world** and are compared to the last bit: `--numerics reproducible` gives the same
//!   bits at every instruction set. So is what comes before: the log is drawn or read anew, and a world that was learned from
//!   another log is refused.
//! - **Figures that a later version adds** are not looked at; those that are recorded must stay.
//!
//! To record anew, because results are to change or because the form of `world.json` has changed:
//!
//! ```text
//! FPSRL_GOLDEN=record cargo test --release -p fpsrl-cli --test golden
//! ```
//!
//! Then look at the difference. `world.json` is recorded together with the rest, by the program under test: if only its form
//! was to change, nothing but `world.json` may differ. For that, record on a machine with fused multiplications and additions
//! (AVX2 with FMA, or AVX-512), as these files were.

// Powers, logarithms and tangents come from the system's library, and others round differently than glibc.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::{fpsrl, stderr};
use serde_json::{Map, Value};
use tempfile::TempDir;

/// Figures that tell of the machine, of the program or of files instead of the result.
const OTHER: [&str; 8] = [
    "seconds",
    "version",
    "threads",
    "numerics",
    "world_sha256",
    "search_sha256",
    "problem_sha256",
    "evaluation_sha256",
];

/// How far the figures of a training may be off, as a share.
const SIX_DIGITS: f64 = 1e-6;

const AGAIN: &str = "if it was to change, record it anew: see the head of golden.rs";

/// A recorded problem, and a run of it.
struct Golden {
    fixture: PathBuf,
    directory: TempDir,
    recording: bool,
}

impl Golden {
    /// Draws or reads the log of a problem.
    fn of(problem: &str) -> Self {
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(problem);
        let directory = tempfile::tempdir().unwrap();
        for file in ["problem.toml", "log.csv"].iter().filter(|file| fixture.join(file).exists()) {
            fs::copy(fixture.join(file), directory.path().join(file)).unwrap();
        }
        let recording = match std::env::var("FPSRL_GOLDEN") {
            Err(_) => false,
            Ok(word) if word == "record" => true,
            Ok(word) => panic!("FPSRL_GOLDEN is `{word}`, but the only word for it is `record`"),
        };
        let golden = Self { fixture, directory, recording };
        golden.succeeds(&["generate", "problem.toml", "--out", "run", "--numerics", "reproducible", "--quiet"]);
        golden
    }

    fn run(&self, file: &str) -> PathBuf {
        self.directory.path().join("run").join(file)
    }

    fn succeeds(&self, arguments: &[&str]) {
        let output = fpsrl(self.directory.path(), arguments);
        assert!(output.status.success(), "{}, {arguments:?}: {}{AGAIN}", self.fixture.display(), stderr(&output));
    }

    fn recorded(&self, file: &str) -> String {
        let path = self.fixture.join(file);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}; {AGAIN}", path.display()))
    }

    fn record(&self, file: &str, text: &str) {
        fs::write(self.fixture.join(file), text).unwrap();
    }

    /// The figures of the run so far; what is not known is left out.
    fn figures(&self) -> Map<String, Value> {
        let mut figures: Map<String, Value> =
            serde_json::from_slice(&fs::read(self.run("summary.json")).unwrap()).unwrap();
        figures.retain(|name, value| !OTHER.contains(&name.as_str()) && !value.is_null());
        figures
    }

    /// Holds the figures of the run to those of a file.
    fn compare_figures(&self, file: &str, tolerance: f64) {
        let figures = self.figures();
        if self.recording {
            let lines: Vec<String> = figures.iter().map(|(name, value)| format!("  \"{name}\": {value}")).collect();
            return self.record(file, &format!("{{\n{}\n}}\n", lines.join(",\n")));
        }
        let recorded: Map<String, Value> = serde_json::from_str(&self.recorded(file)).unwrap();
        let path = self.fixture.join(file);
        for (name, value) in &recorded {
            let now = figures.get(name).unwrap_or(&Value::Null);
            let same = is_near(value, now, tolerance);
            assert!(same, "{}: `{name}` was {value} and is {now}; {AGAIN}", path.display());
        }
    }

    /// Learns the world and holds its figures to the recorded ones; then puts the recorded world in its place.
    fn fit(&self) -> &Self {
        self.succeeds(&["fit", "run", "--quiet"]);
        if self.recording {
            // Without the space before its lines it is half as large, and no digit is touched.
            let world = fs::read_to_string(self.run("world.json")).unwrap();
            self.record("world.json", &(world.lines().map(str::trim_start).collect::<String>() + "\n"));
        }
        self.compare_figures("fit.json", SIX_DIGITS);
        // Settings that a later version adds are in the digest of the problem, and in no recorded world.
        let digest = |world: &str| {
            let world: Value = serde_json::from_str(world).unwrap();
            world["problem_sha256"].as_str().unwrap().to_owned()
        };
        let (fitted, recorded) = (fs::read_to_string(self.run("world.json")).unwrap(), self.recorded("world.json"));
        fs::write(self.run("world.json"), recorded.replacen(&digest(&recorded), &digest(&fitted), 1)).unwrap();
        self
    }

    /// Searches and evaluates; the policy and the figures must be the recorded ones, bit for bit.
    fn search(&self, name: &str, arguments: &[&str]) -> &Self {
        self.succeeds(&[&["search", "run", "--numerics", "reproducible", "--quiet"], arguments].concat());
        self.succeeds(&["evaluate", "run", "--quiet"]);
        let policy = fs::read_to_string(self.run("policy.json")).unwrap();
        let file = format!("{name}.policy.json");
        if self.recording {
            self.record(&file, &policy);
        }
        let recorded = self.recorded(&file);
        let path = self.fixture.join(&file);
        assert!(policy == recorded, "{} was\n{recorded}\nand is\n{policy}\n{AGAIN}", path.display());
        self.compare_figures(&format!("{name}.figures.json"), 0.0);
        self
    }
}

/// Whether two values are the same, numbers with a fraction as nearly as a share of them.
fn is_near(one: &Value, other: &Value, tolerance: f64) -> bool {
    match (one, other) {
        (Value::Number(a), Value::Number(b)) if a.is_f64() && b.is_f64() => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            (a - b).abs() <= tolerance * a.abs().max(b.abs())
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_near(a, b, tolerance))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.iter().all(|(name, a)| is_near(a, b.get(name).unwrap_or(&Value::Null), tolerance))
        }
        _ => one == other,
    }
}

#[test]
fn a_benchmark_is_learned_and_searched_as_recorded_by_the_swarm_by_growth_and_by_a_race() {
    Golden::of("car")
        .fit()
        .search("swarm", &[])
        .search("growth", &["--rules", "auto", "--front"])
        .search("race", &["--rules", "2", "--optimiser", "auto", "--budget", "1Msteps"]);
}

#[test]
fn a_log_with_a_history_and_a_slow_action_is_learned_and_searched_as_recorded() {
    Golden::of("tank").fit().search("swarm", &[]);
}

#[test]
fn gaussian_processes_and_rules_around_the_circle_are_learned_and_searched_as_recorded() {
    Golden::of("needle").fit().search("swarm", &[]).search("cma-es", &["--optimiser", "cma-es"]);
}
