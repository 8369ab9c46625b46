//! Instructions of the kernels for each lane, counted by callgrind at the AVX2 level.
//!
//! `kernels compare FILE [--update]` runs itself under valgrind and compares with the counts in the file;
//! `kernels run KERNEL REPEATS` is what it runs. Each kernel runs with two numbers of repeats: the difference of the
//! totals is free of start-up. Counts do not depend on how busy the machine is, so that a regression shows anywhere.

#![allow(clippy::redundant_closure, reason = "a closure can be forced to inline, a function handed over cannot")]

use fearless_simd::{Simd, SimdBase};
use fpsrl::policy::{FuzzyKernel, Policy};
use fpsrl::rollout::{FitnessFunction, Lanes, StartStates};
use fpsrl::simd::Fused;
use fpsrl::simd::functions::{atan, exp, exp2_at_most_one, tanh};
use fpsrl::world::{NetworkWorld, World};
use fpsrl_bench::{avx2, swing_up_policy, swing_up_starts, swing_up_world};
use std::collections::BTreeMap;
use std::process::{Command, ExitCode};

/// Lanes that a kernel runs over at once: their columns fit into the first-level cache.
const LANES: usize = 128;

/// Steps of the rollouts whose steps are counted.
const STEPS: usize = 50;

/// Lanes of an AVX2 register.
const WIDTH: f64 = 8.0;

/// A count may rise by this much before it is a regression.
const TOLERANCE: f64 = 0.03;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        ["run", kernel, repeats] => repeats.parse().map_err(Into::into).and_then(|repeats| run(kernel, repeats)),
        ["compare", file] => compare(file, false),
        ["compare", file, "--update"] => compare(file, true),
        _ => Err("usage: kernels compare FILE [--update] | kernels run KERNEL REPEATS".into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs a kernel `repeats` times over [`LANES`] lanes.
fn run(kernel: &str, repeats: usize) -> Result<()> {
    let numerics = avx2()?;
    match kernel {
        "atan" | "exp" | "exp2" | "tanh" => {
            let input: Vec<f32> = (0..LANES).map(|lane| lane as f32 / 16.0 - 8.0).collect();
            let mut output = vec![0.0; LANES];
            for _ in 0..repeats {
                let input = std::hint::black_box(&input[..]);
                fearless_simd::dispatch!(numerics.level, simd => match kernel {
                    "atan" => over_lanes(simd, input, &mut output, atan::<_, Fused>),
                    "exp" => over_lanes(simd, input, &mut output, exp::<_, Fused>),
                    "exp2" => over_lanes(simd, input, &mut output, exp2_at_most_one::<_, Fused>),
                    _ => over_lanes(simd, input, &mut output, tanh::<_, Fused>),
                });
                std::hint::black_box(&mut output);
            }
        }
        "policy" => {
            let policy = FuzzyKernel::new(&swing_up_policy(0));
            let mut lanes = lanes();
            for _ in 0..repeats {
                policy.act(&mut lanes, numerics);
            }
        }
        // Two worlds whose only difference is the size of the four networks of 5 inputs.
        "networks" | "smallest networks" => {
            let mut model = swing_up_world(1, 1);
            if kernel == "networks" {
                model.variables = swing_up_world(3, 10).variables;
            }
            let world = NetworkWorld::new(&model)?;
            let mut lanes = lanes();
            for _ in 0..repeats {
                world.advance(&mut lanes, numerics);
            }
        }
        "step" => {
            let world = NetworkWorld::new(&swing_up_world(3, 10))?;
            let starts = StartStates::from_rows(&swing_up_starts(LANES));
            let fitness = FitnessFunction::new(&world, &starts, STEPS, 0.994015, numerics);
            let policy = FuzzyKernel::new(&swing_up_policy(0));
            let mut workspace = fitness.workspace();
            for _ in 0..repeats {
                fitness.fitness(&policy, f64::NEG_INFINITY, &mut workspace);
            }
        }
        _ => return Err(format!("there is no kernel `{kernel}`").into()),
    }
    Ok(())
}

fn lanes() -> Lanes {
    let mut lanes = Lanes::new(4, 1, LANES);
    lanes.set_live(LANES);
    for (lane, state) in swing_up_starts(LANES).iter().enumerate() {
        for (variable, value) in state.iter().enumerate() {
            lanes.state_mut(variable)[lane] = *value as f32;
        }
    }
    lanes
}

#[inline(always)]
fn over_lanes<S: Simd>(simd: S, from: &[f32], to: &mut [f32], function: impl Fn(S, S::f32s) -> S::f32s) {
    for (from, to) in from.chunks_exact(S::f32s::LEN).zip(to.chunks_exact_mut(S::f32s::LEN)) {
        function(simd, S::f32s::from_slice(simd, from)).store_slice(to);
    }
}

/// A line of the table: instructions a lane, and how many the arithmetic alone takes.
struct Row {
    name: &'static str,
    count: f64,
    bound: Option<f64>,
    bound_is: &'static str,
}

fn compare(file: &str, update: bool) -> Result<()> {
    avx2()?;
    let rows = measure()?;
    let stored: BTreeMap<String, f64> = match std::fs::read_to_string(file) {
        Ok(text) => serde_json::from_str(&text)?,
        Err(_) if update => BTreeMap::new(),
        Err(error) => {
            return Err(format!("{file} cannot be read: {error}\nhint: --update writes it").into());
        }
    };
    println!("instructions per lane, AVX2+FMA\n");
    println!("{:<22}{:>9}{:>10}{:>9}   bound", "kernel", "count", "stored", "bound");
    let mut risen = Vec::new();
    for row in &rows {
        let before = stored.get(row.name);
        let shown = |number: Option<f64>| number.map_or("-".to_owned(), |number| format!("{number:.2}"));
        println!(
            "{:<22}{:>9.2}{:>10}{:>9}   {}",
            row.name,
            row.count,
            shown(before.copied()),
            shown(row.bound),
            row.bound_is
        );
        if before.is_none_or(|before| row.count > before * (1.0 + TOLERANCE)) {
            risen.push(row.name);
        }
    }
    if update {
        // Hundredths are enough to see three percent, and leave small differences out of the file's history.
        let rounded = |count: f64| (count * 100.0).round() / 100.0;
        let counts: BTreeMap<&str, f64> = rows.iter().map(|row| (row.name, rounded(row.count))).collect();
        std::fs::write(file, serde_json::to_string_pretty(&counts)? + "\n")?;
        println!("\nwritten: {file}");
    } else if !risen.is_empty() {
        return Err(format!(
            "more instructions than stored: {}\nhint: where the rise is meant, `--update` stores the new counts",
            risen.join(", ")
        )
        .into());
    }
    Ok(())
}

fn measure() -> Result<Vec<Row>> {
    let per_lane = |kernel: &str, repeats: usize| -> Result<f64> {
        let more = instructions(kernel, 3 * repeats)? - instructions(kernel, repeats)?;
        Ok(more / (2 * repeats * LANES) as f64)
    };
    let atan = per_lane("atan", 100)?;
    let exp = per_lane("exp", 100)?;
    let exp2 = per_lane("exp2", 100)?;
    let tanh = per_lane("tanh", 100)?;
    let policy = per_lane("policy", 40)?;
    let network = (per_lane("networks", 20)? - per_lane("smallest networks", 20)?) / 4.0;
    let step = per_lane("step", 1)? / STEPS as f64;
    let row = |name, count, bound, bound_is| Row { name, count, bound, bound_is };
    // Multiply-adds of a network with 3 hidden layers of 10: of 5 inputs, and of the reward's 9.
    let (five, nine) = (50.0 + 100.0 + 100.0 + 10.0, 90.0 + 100.0 + 100.0 + 10.0);
    // Of each of 4 rules and 4 variables: a multiply-add for the difference, one for its square.
    let rules = 4.0 * 4.0 * 2.0;
    let policy_bound = rules / WIDTH + 4.0 * exp2 + tanh;
    Ok(vec![
        row("atan", atan, None, "with a load and a store of its own"),
        row("exp", exp, None, "with a load and a store of its own"),
        row("exp2", exp2, None, "2ˣ up to 1; with a load and a store of its own"),
        row("tanh", tanh, None, "with a load and a store of its own"),
        row("policy", policy, Some(policy_bound), "4 rules: 32 operations, 4 exp2, 1 tanh"),
        row(
            "network",
            network,
            Some((five - 6.0) / WIDTH + 29.0 * atan),
            "5-10-10-10-1 less a 5-1-1: 254 multiply-adds, 29 atan",
        ),
        row(
            "step",
            step,
            Some((4.0 * five + nine) / WIDTH + 150.0 * atan + policy_bound),
            "1340 multiply-adds, 150 atan, the policy's bound",
        ),
    ])
}

/// Instructions that a run takes from its beginning to its end.
fn instructions(kernel: &str, repeats: usize) -> Result<f64> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(std::env::current_exe()?)
        .args(["run", kernel, &repeats.to_string()])
        .output()
        .map_err(|error| format!("valgrind cannot be started: {error}\nhint: install the package `valgrind`"))?;
    let text = String::from_utf8_lossy(&output.stderr);
    let count = text.lines().find_map(|line| line.split_once("Collected :")?.1.trim().parse::<f64>().ok());
    match count {
        Some(count) if output.status.success() => Ok(count),
        _ => Err(format!("callgrind did not count `{kernel}`:\n{text}").into()),
    }
}
