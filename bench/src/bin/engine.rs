//! This engine as one of the contenders of `cargo xtask bench peers`.
//!
//! `engine case START_STATES POLICIES` prints a case, which all contenders read.
//! `engine serve THREADS [avx2]` answers a request a line on standard input with a line on standard output, until its input
//! ends: `{"case": FILE, "task": "fitness"}` or `{"case": FILE, "task": "swarm"}`. The other contenders speak the
//! same way (`bench/peers/worker.py`). Only the computation is timed, never reading or start-up.

use fpsrl::optimiser::{Optimiser, RingSettings, RingSwarm};
use fpsrl::policy::FuzzyKernel;
use fpsrl::rollout::{FitnessFunction, StartStates, Workspace};
use fpsrl::simd::{Mode, Numerics};
use fpsrl::world::NetworkWorld;
use fpsrl_bench::{Case, swing_up_policy_at};
use rayon::ThreadPool;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;

const USAGE: &str = "usage: engine case START_STATES POLICIES | engine serve THREADS [avx2]";

#[derive(Deserialize)]
struct Request {
    case: String,
    task: Task,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Task {
    /// Scores all policies of the case.
    Fitness,
    /// Makes one iteration of a swarm of as many particles as the case has policies.
    Swarm,
}

#[derive(Serialize)]
struct Answer {
    /// On the clock.
    seconds: f64,
    /// Of the processor, all threads together.
    processor_seconds: f64,
    model_steps: u64,
    fitness: Vec<f64>,
    level: &'static str,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        ["case", starts, policies] => print_case(starts, policies),
        ["serve", threads] => serve(threads, Numerics::detect(Mode::Fast)),
        ["serve", threads, "avx2"] => fpsrl_bench::avx2().and_then(|numerics| serve(threads, numerics)),
        _ => Err(USAGE.into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn print_case(starts: &str, policies: &str) -> Result<()> {
    let case = Case::swing_up(starts.parse()?, policies.parse()?);
    println!("{}", serde_json::to_string(&case)?);
    Ok(())
}

fn serve(threads: &str, numerics: Numerics) -> Result<()> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.parse()?).build()?;
    for line in std::io::stdin().lines() {
        let request: Request = serde_json::from_str(&line?)?;
        let case: Case = serde_json::from_str(&std::fs::read_to_string(&request.case)?)?;
        let answer = answer(&case, request.task, numerics, &pool)?;
        println!("{}", serde_json::to_string(&answer)?);
        std::io::stdout().flush()?;
    }
    Ok(())
}

fn answer(case: &Case, task: Task, numerics: Numerics, pool: &ThreadPool) -> Result<Answer> {
    let world = NetworkWorld::new(&case.world)?;
    let starts = StartStates::from_rows(&case.starts);
    let fitness = FitnessFunction::new(&world, &starts, case.steps, case.discount, numerics);
    let (began, processor_began);
    let (values, model_steps) = match task {
        Task::Fitness => {
            (began, processor_began) = (Instant::now(), processor_seconds());
            score(&fitness, &case.positions, |index, _| FuzzyKernel::new(&case.policies[index]), pool)
        }
        Task::Swarm => {
            let settings = RingSettings {
                particles: case.positions.len(),
                ring: 1,
                inertia: 0.72981,
                cognitive: 1.49618,
                social: 1.49618,
                velocity_limit: 0.1,
            };
            let mut swarm = RingSwarm::new(settings, &case.space[0], &case.space[1], 1);
            // The first iteration moves nothing: its fitness is made up, and it is not timed.
            let made_up: Vec<f64> = (0..swarm.ask().len()).map(|particle| -(particle as f64)).collect();
            swarm.tell(&made_up);
            (began, processor_began) = (Instant::now(), processor_seconds());
            let decode = |_, position: &[f64]| FuzzyKernel::new(&swing_up_policy_at(position));
            let (values, steps) = score(&fitness, swarm.ask(), decode, pool);
            swarm.tell(&values);
            (values, steps)
        }
    };
    let (seconds, processor_seconds) = (began.elapsed().as_secs_f64(), processor_seconds() - processor_began);
    Ok(Answer { seconds, processor_seconds, model_steps, fitness: values, level: numerics.name() })
}

/// Processor time that this process has used, in seconds.
#[cfg(unix)]
fn processor_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + 1e-9 * time.tv_nsec as f64
}

/// Elsewhere the clock must do: a machine with nothing else to do shows the same.
#[cfg(not(unix))]
fn processor_seconds() -> f64 {
    static BEGAN: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    BEGAN.get_or_init(Instant::now).elapsed().as_secs_f64()
}

/// Scores every position in full: nothing is pruned.
fn score(
    fitness: &FitnessFunction<'_>,
    positions: &[Vec<f64>],
    decode: impl Fn(usize, &[f64]) -> FuzzyKernel + Sync,
    pool: &ThreadPool,
) -> (Vec<f64>, u64) {
    let one = |workspace: &mut Workspace, (index, position): (usize, &Vec<f64>)| {
        let score = fitness.fitness(&decode(index, position), f64::NEG_INFINITY, workspace);
        (score.value.unwrap_or(f64::NAN), score.model_steps)
    };
    let scores: Vec<(f64, u64)> =
        pool.install(|| positions.par_iter().enumerate().map_init(|| fitness.workspace(), one).collect());
    (scores.iter().map(|score| score.0).collect(), scores.iter().map(|score| score.1).sum())
}
