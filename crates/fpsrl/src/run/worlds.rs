//! The world of a run on lanes, whichever it is: learned from the log, or a process of the user's own.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::directory::{self, PROBLEM, RunDirectory, SUMMARY, WORLD};
use super::stages;
use crate::data::{Transitions, simulate};
use crate::error::{Error, Result};
use crate::figures::Summary;
use crate::files;
use crate::problem::Problem;
use crate::progress::Progress;
use crate::simd::Numerics;
use crate::world::Remembering;
use crate::world::process::ProcessWorld;
use fpsrl_search::Worlds;

/// What `world.json` holds of a process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProcessFile {
    /// The digest of the log.
    data_sha256: String,
    /// The program and its arguments.
    process: Vec<String>,
}

impl RunDirectory {
    /// The world of this run.
    pub(crate) fn run_worlds(&self, problem: &Problem) -> Result<Worlds> {
        let Some(command) = &problem.world.process else {
            return Ok(Worlds::Learned(Box::new(self.worlds(problem)?)));
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
        Ok(Worlds::Process(Arc::new(start(problem)?)))
    }

    /// Writes down that a process is the world; there is nothing to be learned.
    pub(super) fn take_process(&self, problem: &Problem, transitions: &Transitions) -> Result<Summary> {
        let began = Instant::now();
        let process = problem.world.process.clone().unwrap_or_default();
        // Whoever cannot be started is better known before than after the search.
        start(problem)?;
        self.write_starts(problem, transitions)?;
        let data_sha256 = self.data_sha256()?;
        let mut summary = problem.summary(transitions.len(), data_sha256.clone());
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
        problem.system.states()[..problem.system.current_states()].iter().map(|state| state.name.clone()).collect();
    let actions: Vec<String> = problem.system.actions().iter().map(|action| action.name.clone()).collect();
    ProcessWorld::start(command, &states, &actions)
}

/// Makes a run directory for a process without a log: one is drawn from the process.
pub(super) fn simulate(problem: &Problem, path: &Path, force: bool, progress: &dyn Progress) -> Result<RunDirectory> {
    directory::check_free(path, force)?;
    let began = Instant::now();
    let process = Arc::new(start(problem)?);
    let world = Remembering::new(&problem.system, Arc::clone(&process));
    let numerics = Numerics::detect(problem.search.numerics);
    let drawn = simulate::simulate(&problem.system, &problem.data, &world, numerics, progress);
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
