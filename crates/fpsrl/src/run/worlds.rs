//! The world of a run on lanes, whichever it is: learned from the log, or a process of the user's own.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::directory::{self, PROBLEM, RunDirectory, SUMMARY, WORLD};
use super::stages;
use super::summary::Summary;
use crate::data::{Transitions, simulate};
use crate::error::{Error, Result};
use crate::files;
use crate::policy::FuzzyPolicy;
use crate::problem::Problem;
use crate::progress::Progress;
use crate::rollout::StartStates;
use crate::search::{self, Promise};
use crate::simd::Numerics;
use crate::world::model::WorldModel;
use crate::world::process::ProcessWorld;
use crate::world::quality::Verdict;
use crate::world::{LearnedWorlds, NetworkWorld, Remembering, World};

/// What `world.json` holds of a process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProcessFile {
    /// The digest of the log.
    data_sha256: String,
    /// The program and its arguments.
    process: Vec<String>,
}

/// The world of a run.
pub(crate) enum RunWorlds {
    /// Learned from the log, and how far that can be trusted.
    Learned(Box<(LearnedWorlds, Option<Verdict>)>),
    /// A process that is the world.
    Process(Arc<ProcessWorld>),
}

impl RunWorlds {
    /// The members on lanes, learned ones under a user's caution.
    pub(crate) fn on_lanes(&self, problem: &Problem, caution: f64) -> Result<Vec<Box<dyn World>>> {
        match self {
            Self::Learned(worlds) => worlds.0.on_lanes(caution),
            Self::Process(process) => Ok(vec![Box::new(Remembering::new(problem, Arc::clone(process)))]),
        }
    }

    /// The first member on lanes.
    pub(crate) fn first(&self, problem: &Problem) -> Result<Box<dyn World>> {
        self.on_lanes(problem, 0.0)?.into_iter().next().ok_or(Error::Internal("a run has no world"))
    }

    /// The first member on lanes, for actions that have been applied already.
    pub(crate) fn unlimited(&self, problem: &Problem) -> Result<Box<dyn World>> {
        match self {
            Self::Learned(worlds) => {
                let model = WorldModel { actuators: Vec::new(), ..worlds.0.world.clone() };
                Ok(Box::new(NetworkWorld::new(&model)?))
            }
            Self::Process(process) => Ok(Box::new(Remembering::new(problem, Arc::clone(process)).without_actuators())),
        }
    }

    /// Whether all that was asked was answered; a process may have failed meanwhile.
    pub(crate) fn check(&self) -> Result<()> {
        match self {
            Self::Learned(_) => Ok(()),
            Self::Process(process) => process.check(),
        }
    }

    /// The first candidate that keeps its promise. A process is the world: there, the best one does.
    pub(super) fn choose(
        &self,
        problem: &Problem,
        candidates: &[FuzzyPolicy],
        numerics: Numerics,
    ) -> Result<Option<(usize, Promise)>> {
        match self {
            Self::Learned(worlds) => search::choose(problem, &worlds.0, doubt(&worlds.1), candidates, numerics),
            Self::Process(_) => {
                let promise = candidates.first().map(|policy| self.promise(problem, policy, numerics));
                Ok(promise.transpose()?.map(|promise| (0, promise)))
            }
        }
    }

    /// What a policy promises.
    pub(super) fn promise(&self, problem: &Problem, policy: &FuzzyPolicy, numerics: Numerics) -> Result<Promise> {
        let starts = StartStates::for_judging(problem);
        match self {
            Self::Learned(worlds) => Promise::of(problem, &worlds.0, doubt(&worlds.1), policy, &starts, numerics),
            Self::Process(_) => {
                let promise = Promise::on(problem, self.first(problem)?.as_ref(), policy, &starts, numerics);
                self.check()?;
                Ok(promise)
            }
        }
    }
}

/// How far rewards are in doubt, to the members and to the judge.
fn doubt(verdict: &Option<Verdict>) -> [f64; 2] {
    verdict.as_ref().map_or([0.0; 2], |verdict| [verdict.reward_doubt, verdict.judge_doubt])
}

impl RunDirectory {
    /// The world of this run.
    pub(crate) fn run_worlds(&self, problem: &Problem) -> Result<RunWorlds> {
        let Some(command) = &problem.world.process else {
            return Ok(RunWorlds::Learned(Box::new(self.worlds(problem)?)));
        };
        let path = self.expect(WORLD, "fpsrl fit")?;
        let file: ProcessFile = files::read_json(&path)?;
        if (&file.process, &file.data_sha256) != (command, &self.data_sha256()?) {
            return Err(Error::Mismatch {
                path,
                other: self.file(PROBLEM),
                problem: "it names another process, or belongs to another log".into(),
                hint: "run `fpsrl fit` again".into(),
            });
        }
        Ok(RunWorlds::Process(Arc::new(start(problem)?)))
    }

    /// Writes down that a process is the world; there is nothing to be learned.
    pub(super) fn take_process(&self, problem: &Problem, transitions: &Transitions) -> Result<Summary> {
        let began = Instant::now();
        let process = problem.world.process.clone().unwrap_or_default();
        // Whoever cannot be started is better known before than after the search.
        start(problem)?;
        self.write_starts(problem, transitions)?;
        let data_sha256 = self.data_sha256()?;
        let mut summary = Summary::new(problem, transitions.len(), data_sha256.clone());
        summary.members = Some(1);
        summary.seconds.set("fit", began.elapsed().as_secs_f64());
        let prepared = [
            files::prepare_json(&self.file(WORLD), &ProcessFile { data_sha256, process })?,
            files::prepare_json(&self.file(SUMMARY), &summary)?,
        ];
        self.remove_results_after(WORLD)?;
        prepared.into_iter().try_for_each(files::Prepared::commit)?;
        Ok(summary)
    }
}

/// Starts the process of a problem.
fn start(problem: &Problem) -> Result<ProcessWorld> {
    let command = problem.world.process.as_deref().unwrap_or_default();
    let states: Vec<String> =
        problem.states[..problem.current_states()].iter().map(|state| state.name.clone()).collect();
    let actions: Vec<String> = problem.actions.iter().map(|action| action.name.clone()).collect();
    ProcessWorld::start(command, &states, &actions)
}

/// Makes a run directory for a process without a log: one is drawn from the process.
pub(super) fn simulate(problem: &Problem, path: &Path, force: bool, progress: &dyn Progress) -> Result<RunDirectory> {
    directory::check_free(path, force)?;
    let began = Instant::now();
    let process = Arc::new(start(problem)?);
    let world = Remembering::new(problem, Arc::clone(&process));
    let drawn = simulate::simulate(problem, &world, progress);
    process.check()?;
    let transitions = drawn?;
    let columns = || transitions.states.iter().chain(&transitions.next_states).chain([&transitions.rewards]);
    if columns().flatten().any(|value| !value.is_finite()) {
        let command = problem.world.process.as_deref().unwrap_or_default().join(" ");
        let rule = "under random actions it gave a number that is not finite";
        return Err(Error::setting(
            "the simulator",
            format!("`{command}`"),
            rule,
            "let it stop before its states run away",
        ));
    }
    stages::write_log(problem, &transitions, path, force, ("generate", began), |_| Ok(()))
}
