//! The paper's tables, reproduced: batches of three sizes, networks of three depths, FPSRL and NFQ from several seeds.
//!
//! A reproduction is a directory. For each batch size it holds `samples-N/data`, a run directory with the log and the world
//! model, and `samples-N/seed-S` for each training: run directories of their own that share that log and world. Beside them
//! `samples-N/trusted-S` is a run with the defaults of the command, on a log of its own. What is
//! there already is not done again, and an interrupted search goes on from its checkpoint; so the work can end at any moment
//! and be taken up with the same command. `results.json` and `results.md` hold the tables as far as they are known.

mod paper;
mod table;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::baseline::nfq::NfqSettings;
use crate::error::{Error, Result};
use crate::files;
use crate::plant::PlantKind;
use crate::problem::{OptimiserKind, Problem, WorldKind};
use crate::progress::{Notice, Progress};
use crate::run::{self, Ceiling, RunDirectory};
use crate::search::SearchOptions;
use crate::world::quality::Word;
use crate::world::training::Depth;
use fpsrl_base::disk;
use fpsrl_base::remedy::Remedy;

/// How much is reproduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Three trainings of each kind, with the defaults of the command: minutes, for the swing-up an hour.
    Quick,
    /// Ten trainings of each kind, with the paper's swarm and its iterations of NFQ: many hours.
    Paper,
}

/// What is to be reproduced, and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The benchmark's name.
    pub benchmark: String,
    /// The scale that the other settings come from.
    pub scale: Scale,
    /// Batch sizes.
    pub samples: Vec<usize>,
    /// Trainings of each kind, from seed 1 on.
    pub runs: usize,
    /// Particles of the swarm.
    pub particles: usize,
    /// Iterations of the swarm.
    pub iterations: usize,
    /// Start states of the fitness.
    pub start_states: usize,
    /// Networks tried for each variable and depth.
    pub restarts: usize,
    /// Iterations of NFQ; 0 leaves it out.
    pub nfq_iterations: usize,
    /// Epochs in each iteration of NFQ.
    pub nfq_epochs: usize,
    /// The seed of the log and of the networks.
    pub data_seed: u64,
    /// Whether the world is the paper's: absorbing states are not learned apart from what moves.
    pub plain: bool,
    /// Logs that are drawn anew for runs with the defaults of the command, from seed 1 on; 0 leaves them out.
    #[serde(default)]
    pub trusted: usize,
}

/// A reproduction as far as it is known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reproduction {
    /// What was asked for.
    pub settings: Settings,
    /// The version of fpsrl that made it.
    pub version: String,
    /// One for each batch size.
    pub cells: Vec<Cell>,
}

/// What is known of one batch size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Transitions.
    pub samples: usize,
    /// Of each state variable and the reward: the generalisation error with 1, 2 and 3 hidden layers.
    pub errors: Vec<VariableErrors>,
    /// The trainings of FPSRL that are finished.
    pub fpsrl: Vec<Training>,
    /// The trainings of NFQ that are finished.
    pub nfq: Vec<Training>,
    /// Plans of PSO-P beside the first training's policy.
    pub ceiling: Option<Ceiling>,
    /// Runs with the defaults of the command, each on a log of its own.
    #[serde(default)]
    pub trusted: Vec<TrustedRun>,
}

/// A run with the defaults of the command on a log of its own.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrustedRun {
    /// Its seed.
    pub seed: u64,
    /// What the policy promised, and where the true return was said to lie.
    pub promise: f64,
    /// Where the true return was said to lie.
    pub interval: [f64; 2],
    /// The policy's mean return on the true plant.
    pub true_return: f64,
    /// Whether it lies there.
    pub kept: bool,
    /// What was said of the world model beforehand.
    pub verdict: Word,
    /// Seconds that the whole run took.
    pub seconds: f64,
}

/// Generalisation errors of one quantity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VariableErrors {
    /// The state variable's name, or `reward`.
    pub name: String,
    /// With 1, 2 and 3 hidden layers.
    pub errors: [f64; 3],
    /// What the paper reports.
    pub paper: [f64; 3],
}

/// A finished training.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Training {
    /// Its seed.
    pub seed: u64,
    /// The policy's mean return on the world model.
    pub model_return: f64,
    /// Its mean return on the true plant.
    pub true_return: f64,
    /// Seconds that it took.
    pub seconds: f64,
}

/// Selected by the model, mean and standard deviation: how the paper sums several trainings up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    /// The true return of the training that the world model likes best.
    pub selected: f64,
    /// The mean of the true returns.
    pub mean: f64,
    /// Their standard deviation (of the sample); 0 for a single training.
    pub deviation: f64,
}

impl Figures {
    /// Sums trainings up; none if there is none.
    ///
    /// ```
    /// use fpsrl::reproduce::{Figures, Training};
    /// let training = |model_return, true_return| Training { seed: 1, model_return, true_return, seconds: 0.0 };
    /// let figures = Figures::of(&[training(-1.0, -3.0), training(-2.0, -1.0)]).unwrap();
    /// assert_eq!((figures.selected, figures.mean), (-3.0, -2.0));
    /// assert!((figures.deviation - 2f64.sqrt()).abs() < 1e-12);
    /// ```
    pub fn of(trainings: &[Training]) -> Option<Self> {
        let selected = trainings.iter().max_by(|a, b| a.model_return.total_cmp(&b.model_return))?.true_return;
        let count = trainings.len() as f64;
        let mean = trainings.iter().map(|training| training.true_return).sum::<f64>() / count;
        let squares: f64 = trainings.iter().map(|training| (training.true_return - mean).powi(2)).sum();
        let deviation = if trainings.len() > 1 { (squares / (count - 1.0)).sqrt() } else { 0.0 };
        Some(Self { selected, mean, deviation })
    }
}

impl Settings {
    /// The settings of a benchmark at a scale.
    ///
    /// ```
    /// use fpsrl::reproduce::{Scale, Settings};
    /// let settings = Settings::new("cart-pole-swing-up", Scale::Paper)?;
    /// assert_eq!((settings.runs, settings.particles, settings.nfq_iterations), (10, 1_000, 1_000));
    /// assert!(Settings::new("mountain-car-textbook", Scale::Quick).is_err());
    /// # Ok::<(), fpsrl::Error>(())
    /// ```
    pub fn new(benchmark: &str, scale: Scale) -> Result<Self> {
        let plants = || PlantKind::all().into_iter().filter(|plant| paper::table(*plant).is_some());
        let Some(plant) = plants().find(|plant| plant.name() == benchmark) else {
            return Err(Error::UnknownName {
                kind: "benchmark of the paper",
                name: benchmark.to_owned(),
                known: plants().map(|plant| plant.name().to_owned()).collect(),
            });
        };
        let default = Problem::benchmark(benchmark)?.search;
        let (particles, iterations) = paper::swarm(plant);
        let common = Self {
            benchmark: benchmark.to_owned(),
            scale,
            samples: vec![1_000, 10_000, 100_000],
            runs: 10,
            particles,
            iterations,
            start_states: 100,
            restarts: 5,
            nfq_iterations: 1_000,
            nfq_epochs: 300,
            data_seed: 1,
            plain: false,
            trusted: 10,
        };
        Ok(match scale {
            Scale::Paper => common,
            Scale::Quick => Self {
                runs: 3,
                particles: default.particles,
                iterations: default.iterations,
                start_states: default.start_states,
                restarts: 1,
                nfq_iterations: 30,
                trusted: 3,
                ..common
            },
        })
    }

    /// Refuses settings that cannot run.
    pub fn check(&self) -> Result<()> {
        if self.runs > 1_000 || self.runs == 0 && self.trusted == 0 {
            let rule = "1 to 1,000 trainings can be made, or none beside trusted runs";
            return Err(Error::setting("runs", self.runs, rule, "10 are the paper's"));
        }
        if self.samples.is_empty() {
            return Err(Error::setting("sizes", "empty", "at least one batch size is needed", "1000,10000,100000"));
        }
        if self.nfq_iterations > 0 {
            self.nfq(1, &self.problem(self.samples[0], 1)?).check()?;
        }
        self.samples.iter().try_for_each(|&samples| self.problem(samples, 1).map(drop))
    }

    /// The problem of a batch size, with everything that a training of this seed needs.
    fn problem(&self, samples: usize, seed: u64) -> Result<Problem> {
        let mut problem = Problem::benchmark(&self.benchmark)?;
        problem.system = problem.system.with_seed(seed)?;
        problem.data.samples = samples;
        problem.world.restarts = self.restarts;
        problem.world.layers = Depth::Auto;
        problem.world.absorbing = !self.plain;
        // The paper's method: one network for each variable, trusted throughout.
        problem.world.kind = WorldKind::Mlp;
        problem.world.members = 1;
        problem.world.judge = 0.0;
        problem.world.mirror = false;
        problem.policy.periodic = false;
        problem.search.optimiser = OptimiserKind::Swarm;
        problem.search.caution = 0.0;
        problem.search.particles = self.particles;
        problem.search.iterations = self.iterations;
        problem.search.start_states = self.start_states;
        if self.scale == Scale::Paper {
            problem.search.patience = None;
        }
        problem.check()?;
        Ok(problem)
    }

    fn nfq(&self, seed: u64, problem: &Problem) -> NfqSettings {
        NfqSettings {
            iterations: self.nfq_iterations,
            epochs: self.nfq_epochs,
            seed,
            ..NfqSettings::of(&problem.system, problem.policy.mirrored)
        }
    }

    /// Whether another reproduction's directory can be gone on with: only more or fewer batches and runs may differ.
    fn goes_on_from(&self, other: &Self) -> bool {
        let comparable = |settings: &Self| Self {
            samples: Vec::new(),
            runs: 0,
            trusted: 0,
            nfq_iterations: 0,
            nfq_epochs: 0,
            ..settings.clone()
        };
        comparable(self) == comparable(other)
    }
}

impl Reproduction {
    /// Makes what a directory does not hold yet, and returns all of it.
    ///
    /// The tables in the directory are written anew after each training.
    pub fn run(settings: Settings, path: &Path, progress: &Progress) -> Result<Self> {
        settings.check()?;
        let results = path.join("results.json");
        if disk::exists(&results).map_err(|source| Error::read(&results, source))? {
            let earlier: Self = files::read_json(&results)?;
            if !settings.goes_on_from(&earlier.settings) {
                return Err(Error::Mismatch {
                    path: results,
                    other: PathBuf::from("the command line"),
                    problem: "it was made with other settings".into(),
                    remedy: Remedy::words("choose another directory with ")
                        .option("out", None)
                        .then(", or ask for the same settings"),
                });
            }
        }
        disk::make_directories(path).map_err(|source| Error::write(path, source))?;
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let mut reproduction = Self { settings, version, cells: Vec::new() };
        for samples in reproduction.settings.samples.clone() {
            reproduction.cell(samples, path, progress)?;
        }
        Ok(reproduction)
    }

    fn cell(&mut self, samples: usize, path: &Path, progress: &Progress) -> Result<()> {
        let settings = self.settings.clone();
        let folder = path.join(format!("samples-{samples}"));
        let problem = settings.problem(samples, settings.data_seed)?;
        let announce = |what: std::fmt::Arguments<'_>| {
            progress.notice(Notice::Turning(format!("{}, {samples} transitions: {what}", settings.benchmark)));
        };
        let data = match RunDirectory::open(&folder.join("data")) {
            Ok(run) => run,
            Err(_) => run::generate(&problem, &folder.join("data"), true, progress)?,
        };
        if !data.has("world.json")? {
            announce(format_args!("world model"));
            data.fit(progress)?;
        }
        self.cells.push(Cell {
            samples,
            errors: errors(&data, &problem)?,
            fpsrl: Vec::new(),
            nfq: Vec::new(),
            ceiling: None,
            trusted: Vec::new(),
        });
        self.write(path)?;
        for seed in 1..=settings.trusted as u64 {
            announce(format_args!("trusted FPSRL, log {seed} of {}", settings.trusted));
            let run = self.trusted(samples, seed, &folder.join(format!("trusted-{seed}")), progress)?;
            let cell = self.cells.last_mut().ok_or(Error::Internal("a cell was lost"))?;
            cell.trusted.extend(run);
            self.write(path)?;
        }
        for seed in 1..=settings.runs as u64 {
            let problem = settings.problem(samples, seed)?;
            let run = data.sibling(&problem, &folder.join(format!("seed-{seed}")))?;
            let known = |figure: Option<f64>| figure.is_some();
            let mut summary = run.summary()?;
            if !known(summary.true_return) {
                announce(format_args!("FPSRL, run {seed} of {}", settings.runs));
                summary = run.resume(SearchOptions::of(&problem.search, true), progress)?;
            }
            if seed == 1 && summary.ceiling.is_none() {
                announce(format_args!("PSO-P"));
                summary = run.ceiling(SearchOptions::of(&problem.search, true), progress)?;
            }
            let cell = self.cells.last_mut().ok_or(Error::Internal("a cell was lost"))?;
            cell.ceiling = cell.ceiling.or(summary.ceiling);
            if let (Some(model_return), Some(true_return)) = (summary.model_return, summary.true_return) {
                let seconds = summary.seconds.get("search").unwrap_or(0.0);
                cell.fpsrl.push(Training { seed, model_return, true_return, seconds });
            }
            self.write(path)?;
        }
        if settings.nfq_iterations == 0 {
            return Ok(());
        }
        for seed in 1..=settings.runs as u64 {
            let problem = settings.problem(samples, seed)?;
            let run = data.sibling(&problem, &folder.join(format!("seed-{seed}")))?;
            let wanted = settings.nfq(seed, &problem);
            let result = match run.nfq_result() {
                Ok(result) if result.settings == wanted => result,
                _ => {
                    announce(format_args!("NFQ, run {seed} of {}", settings.runs));
                    run.nfq(&wanted, progress)?
                }
            };
            let cell = self.cells.last_mut().ok_or(Error::Internal("a cell was lost"))?;
            if let Some(true_return) = result.true_return {
                let (model_return, seconds) = (result.model_return, result.seconds);
                cell.nfq.push(Training { seed, model_return, true_return, seconds });
            }
            self.write(path)?;
        }
        Ok(())
    }

    /// A run with the defaults of the command on a log of its own; what is there already is not done again.
    fn trusted(&self, samples: usize, seed: u64, path: &Path, progress: &Progress) -> Result<Option<TrustedRun>> {
        let mut problem = Problem::benchmark(&self.settings.benchmark)?;
        problem.system = problem.system.with_seed(seed)?;
        problem.data.samples = samples;
        let run = match RunDirectory::open(path) {
            Ok(run) => run,
            Err(_) => run::generate(&problem, path, true, progress)?,
        };
        let mut summary = run.summary()?;
        if summary.true_return.is_none() {
            summary = run.resume(SearchOptions::of(&problem.search, true), progress)?;
        }
        let (Some(true_return), Some(promise), Some(verdict)) =
            (summary.true_return, &summary.promise, &summary.verdict)
        else {
            return Ok(None);
        };
        Ok(Some(TrustedRun {
            seed,
            promise: promise.mean,
            interval: promise.interval,
            true_return,
            kept: summary.promise_kept == Some(true),
            verdict: verdict.word,
            seconds: summary.seconds.0.iter().map(|(_, seconds)| seconds).sum(),
        }))
    }

    fn write(&self, path: &Path) -> Result<()> {
        let prepared = [
            files::prepare_json(&path.join("results.json"), self)?,
            files::prepare(&path.join("results.md"), |file| file.write_all(self.markdown().as_bytes()))?,
        ];
        files::commit_all(prepared.into())
    }

    /// What the paper reports of a cell.
    fn paper(&self, samples: usize) -> Option<&'static paper::PaperCell> {
        let plant = PlantKind::from_name(&self.settings.benchmark).ok()?;
        paper::table(plant)?.iter().find(|cell| cell.samples == samples)
    }
}

/// The generalisation errors of a fitted world, beside the paper's.
fn errors(run: &RunDirectory, problem: &Problem) -> Result<Vec<VariableErrors>> {
    let worlds = run.worlds(problem)?;
    let world = &worlds.learned().ok_or(Error::Internal("a benchmark has no learned world"))?.world;
    let plant = problem.system.plant().ok_or(Error::Internal("a benchmark has no plant"))?;
    let paper = paper::table(plant).and_then(|cells| cells.iter().find(|cell| cell.samples == problem.data.samples));
    let quantities = world.variables.iter().chain([&world.reward]);
    Ok(quantities
        .enumerate()
        .map(|(index, variable)| {
            let error = |layers: usize| {
                let depth = variable.depths.iter().find(|depth| depth.layers == layers);
                depth.map_or(f64::NAN, |depth| depth.generalisation_error)
            };
            VariableErrors {
                name: variable.name.clone(),
                errors: [error(1), error(2), error(3)],
                paper: paper.map_or([f64::NAN; 3], |cell| cell.errors[index]),
            }
        })
        .collect())
}
