//! What `cargo xtask bench search` asks: a learned world to search on, searches of ours, and a scorer for those of others.
//!
//! `search prepare PROBLEM DIRECTORY [quick]` makes and fits a run directory if it is not there.
//! `search run DIRECTORY --optimiser NAME --seed N --steps BUDGET` lets one of our optimisers search, and prints its curve.
//! `search score DIRECTORY` answers a request a line on standard input with a line on standard output, until its input
//! ends. `{"task": "begin", "steps": N}` begins a search that may take so many model steps. `{"task": "score",
//! "positions": [[...], ...]}` scores positions of the unit box. `{"task": "end"}` gives the curve of the search.
//! `{"task": "judge", "positions": ...}` gives returns from start states that nobody searches on; its steps do not count.
//!
//! Everybody searches the same space, that of the race: centres as slopes, widths and α on logarithmic scales. The world, its
//! start states and the states that curves are drawn from stay the same: a seed is that of the optimiser alone.

use fpsrl::optimiser::{CmaEs, RingSwarm, Scope, Shade};
use fpsrl::policy::{FuzzyKernel, RuleSpace};
use fpsrl::problem::{Budget, Problem, WrittenProblem};
use fpsrl::progress::Progress;
use fpsrl::rollout::{FitnessFunction, Risk, Workspace};
use fpsrl::run::{self, RunDirectory};
use fpsrl::search::methods::Method;
use fpsrl::search::race::Race;
use fpsrl::search::{Evaluator, Limits, Search, SearchOptions, Threads, Trial};
use fpsrl::world::World;
use fpsrl_bench::watch::{Point, Watch};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

const USAGE: &str = "\
usage: search prepare PROBLEM DIRECTORY [quick]
       search run DIRECTORY --optimiser auto|swarm|shade|cma-es --seed N --steps BUDGET
       search score DIRECTORY";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        ["prepare", name, directory] => prepare(name, directory, false),
        ["prepare", name, directory, "quick"] => prepare(name, directory, true),
        ["run", directory, "--optimiser", name, "--seed", seed, "--steps", steps] => run(directory, name, seed, steps),
        ["score", directory] => serve(directory),
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

/// Makes and fits a run directory, unless one of the same problem is there.
fn prepare(name: &str, directory: &str, quick: bool) -> Result<()> {
    let mut written = WrittenProblem::benchmark(name)?;
    if quick {
        // Enough to see that everything runs, too little to say anything.
        written.data.samples = Some(600);
        written.world.kind = Some("ensemble".into());
        written.world.members = Some(2);
        written.world.judge = Some(0.0);
        written.world.epochs = Some(5);
        written.search.particles = Some(20);
        written.search.start_states = Some(20);
        written.evaluation.start_states = Some(40);
    }
    let problem = written.check()?;
    let path = Path::new(directory);
    if let Ok(run) = RunDirectory::open(path)
        && run.problem().is_ok_and(|known| known == problem)
        && run.worlds(&problem).is_ok()
    {
        return Ok(());
    }
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    run::generate(&problem, path, true, &Progress::silent())?.fit(&Progress::silent())?;
    Ok(())
}

/// A run directory whose worlds are searched on.
struct Case {
    problem: Problem,
    space: RuleSpace,
    worlds: Vec<Box<dyn World>>,
    options: SearchOptions,
}

/// What a search has come to.
#[derive(Serialize)]
struct Record {
    steps: u64,
    evaluations: u64,
    rounds: u64,
    /// On the clock, start-up and the returns below not counted.
    seconds: f64,
    /// Whether it ended by itself.
    finished: bool,
    /// Model steps at which a curve has a point.
    marks: Vec<u64>,
    /// Evaluations by then.
    evaluated: Vec<u64>,
    /// What the search would have given by then earns from start states that nobody searches on; null before there is
    /// anything.
    returns: Vec<Option<f64>>,
}

impl Case {
    fn open(directory: &str) -> Result<Self> {
        let run = RunDirectory::open(Path::new(directory))?;
        let problem = run.problem()?;
        let space = RuleSpace::new(&problem.system, &problem.policy, &run.transitions(&problem)?).on_slopes();
        let worlds = run.worlds(&problem)?.source().on_lanes(&problem.system, problem.search.caution)?;
        let options = SearchOptions::of(&problem.search, true);
        Ok(Self { problem, space, worlds, options })
    }

    fn worlds(&self) -> Vec<&dyn World> {
        self.worlds.iter().map(Box::as_ref).collect()
    }

    fn threads(&self) -> Threads<'_> {
        Threads::new(&self.problem.system, &self.problem.search, &self.space, self.worlds(), self.options)
    }

    /// A position of the unit box in the space of rules.
    fn scaled(&self, unit: &[f64]) -> Result<Vec<f64>> {
        let (low, high) = (self.space.low(), self.space.high());
        if unit.len() != low.len() || unit.iter().any(|share| !(0.0..=1.0).contains(share)) {
            return Err(format!("a position is {} numbers from 0 to 1", low.len()).into());
        }
        Ok(unit.iter().zip(low.iter().zip(high)).map(|(share, (low, high))| low + share * (high - low)).collect())
    }

    fn all_scaled(&self, units: &[Vec<f64>]) -> Result<Vec<Vec<f64>>> {
        units.iter().map(|unit| self.scaled(unit)).collect()
    }

    /// The mean return of each position from start states that no search sees, dealt out to the members. What the spread
    /// of the members takes off the fitness is left out: the figure is to say what a policy earns.
    fn judge(&self, positions: &[Vec<f64>]) -> Vec<f64> {
        let starts = self.problem.evaluation_starts();
        let (horizon, discount) = (self.problem.system.horizon(), self.problem.system.discount());
        let mean = Risk::MeanLessSpread(0.0);
        let function =
            FitnessFunction::of_several(self.worlds(), mean, &starts, horizon, discount, self.options.numerics);
        let one = |workspace: &mut Workspace, position: &Vec<f64>| {
            let kernel = FuzzyKernel::new(&self.space.decode(position));
            function.fitness(&kernel, f64::NEG_INFINITY, workspace).value.unwrap_or(f64::NAN)
        };
        positions.par_iter().with_max_len(1).map_init(|| function.workspace(), one).collect()
    }

    fn record(&self, counts: [u64; 3], seconds: f64, finished: bool, curve: Vec<Point>) -> Record {
        // A search stands still between many marks: each position is scored once.
        let mut positions: Vec<Vec<f64>> = curve.iter().filter_map(|point| point.position.clone()).collect();
        positions.dedup();
        let values = self.judge(&positions);
        let mut at = 0;
        let returns = curve.iter().map(|point| {
            let position = point.position.as_ref()?;
            at += usize::from(positions[at] != *position);
            Some(values[at])
        });
        let [steps, evaluations, rounds] = counts;
        Record {
            steps,
            evaluations,
            rounds,
            seconds,
            finished,
            returns: returns.collect(),
            marks: curve.iter().map(|point| point.mark).collect(),
            evaluated: curve.iter().map(|point| point.evaluations).collect(),
        }
    }

    /// Lets one of our optimisers search.
    fn search<M: Method>(&self, settings: &Problem, budget: u64) -> fpsrl::Result<Record> {
        let method = M::begin(&settings.system, &settings.search, &self.space, self.worlds.len());
        let watch = Watch::new(self.threads(), budget);
        // Its own patience and number of rounds do not count: everybody has the same steps.
        let mut search = Search::new(&self.space, method, &watch, Limits::default());
        let began = Instant::now();
        while search.ending().is_none() && !watch.is_spent() {
            search.step()?;
        }
        let seconds = began.elapsed().as_secs_f64();
        let finished = search.ending().is_some();
        let last = finished.then(|| search.optimiser().best().0);
        Ok(self.record(watch.counts(), seconds, finished, watch.curve(last)))
    }
}

fn run(directory: &str, optimiser: &str, seed: &str, steps: &str) -> Result<()> {
    let case = Case::open(directory)?;
    let budget: u64 = steps.parse()?;
    let mut settings = case.problem.clone();
    settings.system = settings.system.reseeded(seed.parse()?);
    settings.search.budget = Some(Budget::Steps(budget));
    let particles = settings.search.particles;
    // What a population that shrinks over a plan can know beforehand is its evaluations in full. Others go on.
    let planned = budget as usize / (settings.search.start_states * settings.system.horizon());
    let evaluations = if optimiser == "shade" { planned } else { budget as usize };
    settings.search.iterations = (evaluations / particles).saturating_sub(1);
    let record = match optimiser {
        "auto" => case.search::<Race>(&settings, budget)?,
        "swarm" => case.search::<RingSwarm>(&settings, budget)?,
        "shade" => case.search::<Shade>(&settings, budget)?,
        "cma-es" => case.search::<CmaEs>(&settings, budget)?,
        _ => return Err(USAGE.into()),
    };
    println!("{}", serde_json::to_string(&record)?);
    Ok(())
}

#[derive(Deserialize)]
#[serde(tag = "task", rename_all = "lowercase", deny_unknown_fields)]
enum Request {
    Begin { steps: u64 },
    Score { positions: Vec<Vec<f64>> },
    Judge { positions: Vec<Vec<f64>> },
    End,
}

/// What whoever searches has to know.
#[derive(Serialize)]
struct Begun {
    parameters: usize,
    start_states: usize,
    horizon: usize,
    members: usize,
    /// Settings of the problem's own swarm, for swarms of others.
    particles: usize,
    ring: usize,
    inertia: f64,
    cognitive: f64,
    social: f64,
    velocity_limit: f64,
    instruction_set: &'static str,
}

#[derive(Serialize)]
struct Scored {
    /// Null stands for what is no finite number.
    fitness: Vec<Option<f64>>,
    steps: Vec<u64>,
    /// Whether the steps are used up.
    spent: bool,
}

fn serve(directory: &str) -> Result<()> {
    let case = Case::open(directory)?;
    let threads = case.threads();
    let mut watch = Watch::new(&threads, 0);
    let mut began = Instant::now();
    for line in std::io::stdin().lines() {
        let answer = match serde_json::from_str(&line?)? {
            Request::Begin { steps } => {
                (watch, began) = (Watch::new(&threads, steps), Instant::now());
                serde_json::to_string(&begun(&case))?
            }
            Request::Score { positions } => {
                let positions = case.all_scaled(&positions)?;
                serde_json::to_string(&score(&watch, &positions)?)?
            }
            Request::Judge { positions } => {
                let returns = case.judge(&case.all_scaled(&positions)?);
                serde_json::to_string(&serde_json::json!({ "returns": returns }))?
            }
            Request::End => {
                let seconds = began.elapsed().as_secs_f64();
                serde_json::to_string(&case.record(watch.counts(), seconds, !watch.is_spent(), watch.curve(None)))?
            }
        };
        println!("{answer}");
        std::io::stdout().flush()?;
    }
    Ok(())
}

fn begun(case: &Case) -> Begun {
    let search = &case.problem.search;
    Begun {
        parameters: case.space.low().len(),
        start_states: search.start_states,
        horizon: case.problem.system.horizon(),
        members: case.worlds.len(),
        particles: search.particles,
        ring: search.ring,
        inertia: search.inertia,
        cognitive: search.cognitive,
        social: search.social,
        velocity_limit: search.velocity_limit,
        instruction_set: case.options.numerics.name(),
    }
}

/// Scores positions in full: optimisers of others cannot say what they have to beat.
fn score<E: Evaluator>(watch: &Watch<E>, positions: &[Vec<f64>]) -> fpsrl::Result<Scored> {
    let whole = |position| Trial { position, to_beat: f64::NEG_INFINITY, scope: Scope::Whole };
    let trials: Vec<Trial<'_>> = positions.iter().map(|position| whole(position.as_slice())).collect();
    let scores = watch.score(&trials)?;
    Ok(Scored {
        fitness: scores.iter().map(|score| score.value.filter(|value| value.is_finite())).collect(),
        steps: scores.iter().map(|score| score.model_steps).collect(),
        spent: watch.is_spent(),
    })
}
