//! The stages of a run, each from files to files.

use std::path::Path;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::checkpoint::{Checkpoint, CheckpointWriter};
use super::directory::{
    self, CHECKPOINT, CHECKPOINT_ROWS, GROWTH, POLICY, PROBLEM, RunDirectory, SEARCH, SUMMARY, TRANSITIONS, WORLD,
};
use super::growth::GrowthFile;
use super::origins;
use crate::data::{self, Transitions, csv};
use crate::error::{Error, Result};
use crate::figures::{RuleGrowth, Summary};
use crate::files;
use crate::optimiser::{CmaEs, RingSwarm, Shade};
use crate::policy::{FuzzyKernel, FuzzyPolicy};
use crate::problem::{Budget, OptimiserKind, Problem};
use crate::progress::{Progress, Stage};
use crate::search::methods::{self, Method};
use crate::search::race::{self, Race, RaceFigures};
use crate::search::{self, Ending, FrontPoint, Search, SearchOptions, SearchRecord, SearchState, Threads};
use crate::world::model::WorldModel;
use crate::world::quality::Verdict;
use crate::world::support::Support;
use crate::world::{LearnedWorlds, World};
use fpsrl_search::Worlds;

/// Rows that a world model needs, so that each part of the split has one.
const FEWEST_ROWS: usize = 10;

/// Candidates that a judge is asked about, at most.
const MOST_CANDIDATES: usize = 10;

/// What `world.json` holds: the worlds, and which log they were learned from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorldFile {
    /// The digest of the log.
    pub data_sha256: String,
    /// The learned world: the first member of the ensemble.
    pub world: WorldModel,
    /// The other members.
    #[serde(default)]
    pub members: Vec<WorldModel>,
    /// Worlds learned from episodes that no member has seen.
    #[serde(default)]
    pub judges: Vec<WorldModel>,
    /// The ranges of the log.
    #[serde(default)]
    pub support: Option<Support>,
    /// How far the worlds can be trusted.
    #[serde(default)]
    pub verdict: Option<Verdict>,
}

impl WorldFile {
    /// The worlds, and the verdict on them.
    pub fn into_worlds(self) -> (LearnedWorlds, Option<Verdict>) {
        let Self { world, members, judges, support, verdict, .. } = self;
        (LearnedWorlds { world, members, judges, support }, verdict)
    }
}

/// What a search has found.
pub(super) struct Found {
    /// The policies that may be taken, the best one first.
    pub(super) candidates: Vec<FuzzyPolicy>,
    pub(super) best: f64,
    pub(super) ending: Ending,
    pub(super) history: Vec<SearchRecord>,
    /// Of all searches, if there was more than one.
    pub(super) model_steps: u64,
    pub(super) seconds: f64,
    pub(super) growth: Option<RuleGrowth>,
    /// Of a race: its gap, its start states and its tries.
    pub(super) race: Option<RaceFigures>,
    /// The policies of which none is both simpler and better, if they were searched.
    pub(super) front: Option<Vec<FrontPoint>>,
}

/// Draws a log from the problem's plant or imports the user's own, and makes a run directory of it.
///
/// What is there already is refused; with `force`, the files of an old run give way.
pub fn generate(problem: &Problem, path: &Path, force: bool, progress: &dyn Progress) -> Result<RunDirectory> {
    if problem.data.log.is_some() {
        return super::import::import(problem, path, force, progress);
    }
    if problem.world.process.is_some() {
        return super::worlds::simulate(problem, path, force, progress);
    }
    directory::check_free(path, force)?;
    let began = Instant::now();
    let transitions = data::generate(&problem.system, &problem.data, progress)?;
    write_log(problem, &transitions, path, force, ("generate", began), |_| Ok(()))
}

/// Makes a run directory of a log, whichever stage it comes from; `also` writes what else belongs to it.
pub(super) fn write_log(
    problem: &Problem,
    transitions: &Transitions,
    path: &Path,
    force: bool,
    (stage, began): (&'static str, Instant),
    also: impl FnOnce(&RunDirectory) -> Result<()>,
) -> Result<RunDirectory> {
    directory::create(path, force, |run| {
        let text = problem.to_toml();
        files::write_atomically(&run.file(PROBLEM), |file| file.write_all(text.as_bytes()))?;
        csv::write(&run.file(TRANSITIONS), &problem.system, transitions)?;
        also(run)?;
        let mut summary = problem.summary(transitions.len(), run.data_sha256()?);
        summary.seconds.set(stage, began.elapsed().as_secs_f64());
        run.write_summary(&summary)
    })
}

impl RunDirectory {
    /// A run directory beside this one, with the same log and world, for a problem that differs in its seed or search;
    /// what is there already is opened.
    pub(crate) fn sibling(&self, problem: &Problem, path: &Path) -> Result<RunDirectory> {
        if let Ok(run) = RunDirectory::open(path) {
            return Ok(run);
        }
        let rows = self.summary()?.samples;
        let worlds = self.run_worlds(problem)?;
        directory::create(path, true, |run| {
            for name in [TRANSITIONS, WORLD] {
                let (from, to) = (self.file(name), run.file(name));
                // Files of a run are replaced, never changed: one on the disk can serve all.
                std::fs::hard_link(&from, &to)
                    .or_else(|_| std::fs::copy(&from, &to).map(drop))
                    .map_err(|source| Error::write(&to, source))?;
            }
            let text = problem.to_toml();
            files::write_atomically(&run.file(PROBLEM), |file| file.write_all(text.as_bytes()))?;
            let summary = run.summary_for(problem, &worlds, rows)?;
            run.write_summary(&summary)
        })
    }

    /// Learns the world from the log.
    pub fn fit(&self, progress: &dyn Progress) -> Result<Summary> {
        let began = Instant::now();
        let problem = self.problem()?;
        let transitions = self.transitions(&problem)?;
        if transitions.len() < FEWEST_ROWS {
            return Err(Error::Malformed {
                path: self.file(TRANSITIONS),
                line: None,
                column: None,
                problem: format!("it has {} rows, and a world model needs at least {FEWEST_ROWS}", transitions.len()),
                hint: "use a longer log".into(),
            });
        }
        if problem.world.process.is_some() {
            return self.take_process(&problem, &transitions);
        }
        let data_sha256 = self.data_sha256()?;
        let worlds = LearnedWorlds::learn(&problem.system, &problem.world, &transitions, progress)?;
        let verdict = Verdict::of(&problem.system, &problem.world, &transitions, &worlds, &problem.evaluation_starts());
        self.write_starts(&problem, &transitions)?;

        let mut summary = problem.summary(transitions.len(), data_sha256.clone());
        // How long the log took to generate is known only if it is still that log.
        if let Some(earlier) = self.earlier_summary()?
            && earlier.data_sha256 == data_sha256
        {
            for stage in ["generate", "import"] {
                if let Some(seconds) = earlier.seconds.get(stage) {
                    summary.seconds.set(stage, seconds);
                }
            }
        }
        summary.set_world(&worlds, Some(&verdict));
        summary.seconds.set("fit", began.elapsed().as_secs_f64());
        let LearnedWorlds { world, members, judges, support } = worlds;
        let file = WorldFile { data_sha256, world, members, judges, support, verdict: Some(verdict) };
        let prepared =
            [files::prepare_json(&self.file(WORLD), &file)?, files::prepare_json(&self.file(SUMMARY), &summary)?];
        self.remove_results_after(WORLD)?;
        prepared.into_iter().try_for_each(files::Prepared::commit)?;
        Ok(summary)
    }

    /// Searches rules on the learned world.
    pub fn search(&self, options: SearchOptions, progress: &dyn Progress) -> Result<Summary> {
        self.search_for(&self.problem()?, options, progress)
    }

    /// Searches rules with settings that differ from those of the problem file; the file is changed together with
    /// the results, and stays as it is if the search fails.
    pub fn search_for(&self, problem: &Problem, options: SearchOptions, progress: &dyn Progress) -> Result<Summary> {
        directory::remove(&self.file(GROWTH))?;
        let problem = &self.with_budget_in_steps(problem, options)?;
        self.search_from(problem, options, None, progress)
    }

    /// Makes the stages that an interrupted run has not finished. A search goes on from its last checkpoint, and
    /// finds what it would have found without the interruption.
    ///
    /// `options` hold for what is begun; a search that goes on keeps those it began with.
    pub fn resume(&self, options: SearchOptions, progress: &dyn Progress) -> Result<Summary> {
        if !self.file(WORLD).exists() {
            self.fit(progress)?;
        }
        // The checkpoint goes last: while it is there, the search's results are not all written.
        let checkpoint = Checkpoint::read(self)?;
        match (GrowthFile::read(self)?, checkpoint) {
            (Some((growth, problem)), checkpoint) => {
                checkpoint.as_ref().map(|own| own.options(self, options.checkpoint_every)).transpose()?;
                let options = growth.options(&problem, options);
                self.grow(&problem, options, Some(growth), checkpoint, progress)?;
            }
            (None, Some(checkpoint)) => {
                let problem = checkpoint.problem.clone();
                let options = checkpoint.options(self, options.checkpoint_every)?;
                self.search_from(&problem, options, Some(checkpoint), progress)?;
            }
            (None, None) if self.earlier_summary()?.is_some_and(|summary| summary.search_return.is_some()) => {}
            (None, None) => {
                self.search(options, progress)?;
            }
        }
        self.evaluate(options, progress)
    }

    /// A budget in time becomes one in steps, as fast as this machine takes them now; the problem records both.
    fn with_budget_in_steps(&self, problem: &Problem, options: SearchOptions) -> Result<Problem> {
        let mut problem = problem.clone();
        if let (OptimiserKind::Auto, Some(Budget::Seconds(seconds))) = (problem.search.optimiser, problem.search.budget)
        {
            let source = self.run_worlds(&problem)?;
            let worlds = source.on_lanes(&problem.system, problem.search.caution)?;
            let worlds: Vec<&dyn World> = worlds.iter().map(Box::as_ref).collect();
            let space = methods::space(&problem.system, &problem.policy, &problem.search, &self.transitions(&problem)?);
            let speed = race::steps_a_second(&problem.system, &problem.search, &space, worlds, options);
            source.check()?;
            let steps = (seconds * speed).max(1.0) as u64;
            problem.search.budget = Some(Budget::Translated { steps, seconds });
        }
        Ok(problem)
    }

    fn search_from(
        &self,
        problem: &Problem,
        options: SearchOptions,
        from: Option<Checkpoint>,
        progress: &dyn Progress,
    ) -> Result<Summary> {
        if problem.policy.grow || problem.policy.front {
            return self.grow(problem, options, None, from, progress);
        }
        let found = self.conduct(problem, options, from, progress)?;
        self.conclude(problem, options, found)
    }

    /// Searches with a given number of rules, leaving checkpoints behind until [`RunDirectory::conclude`].
    pub(super) fn conduct(
        &self,
        problem: &Problem,
        options: SearchOptions,
        from: Option<Checkpoint>,
        progress: &dyn Progress,
    ) -> Result<Found> {
        match problem.search.optimiser {
            OptimiserKind::Auto => self.conduct_with::<Race>(problem, options, from, progress),
            OptimiserKind::Swarm => self.conduct_with::<RingSwarm>(problem, options, from, progress),
            OptimiserKind::Shade => self.conduct_with::<Shade>(problem, options, from, progress),
            OptimiserKind::CmaEs => self.conduct_with::<CmaEs>(problem, options, from, progress),
        }
    }

    fn conduct_with<M: Method>(
        &self,
        problem: &Problem,
        options: SearchOptions,
        from: Option<Checkpoint>,
        progress: &dyn Progress,
    ) -> Result<Found> {
        let began = Instant::now();
        let transitions = self.transitions(problem)?;
        problem.search.check_rows(transitions.len())?;
        let source = self.run_worlds(problem)?;
        let worlds = source.on_lanes(&problem.system, problem.search.caution)?;
        let worlds: Vec<&dyn World> = worlds.iter().map(Box::as_ref).collect();
        let earlier_seconds = from.as_ref().and_then(|from| from.history.last()).map_or(0.0, |last| last.seconds);
        let space = methods::space(&problem.system, &problem.policy, &problem.search, &transitions);
        let members = worlds.len();
        let threads = Threads::new(&problem.system, &problem.search, &space, worlds, options);
        let limits = M::limits(&problem.search);
        let (mut search, mut writer) = match from {
            None => {
                let mut method = M::begin(&problem.system, &problem.search, &space, members);
                if let Some(position) = self.start(problem, &space)? {
                    method.begin_at(&position);
                }
                (Search::new(&space, method, threads, limits), CheckpointWriter::begin(self, problem, options)?)
            }
            Some(checkpoint) => {
                let writer = CheckpointWriter::go_on(self, problem, options, &checkpoint)?;
                let SearchState { optimiser, improved } = checkpoint.state(self)?;
                let method = M::restore(&problem.system, &problem.search, &space, members, optimiser)
                    .ok_or_else(|| Checkpoint::broken(self, "its state belongs to another problem".into()))?;
                (Search::new(&space, method, threads, limits).going_on(improved, checkpoint.history), writer)
            }
        };
        let ending = search.run(progress, |search| {
            source.check()?;
            writer.save_if_due(search)
        })?;
        if ending == Ending::Stopped {
            writer.save(&search)?;
            return Err(Error::Stopped { stage: "search" });
        }
        let (_, best) = search.best();
        let last = search.history().last().ok_or(Error::Internal("a search left no history"))?;
        Ok(Found {
            candidates: search.candidates(MOST_CANDIDATES),
            best,
            ending,
            model_steps: last.model_steps,
            history: search.history().to_vec(),
            seconds: began.elapsed().as_secs_f64() + earlier_seconds,
            growth: None,
            race: search.optimiser().race_figures(),
            front: None,
        })
    }

    /// Writes down what a search has found; its checkpoint goes last.
    pub(super) fn conclude(&self, problem: &Problem, options: SearchOptions, found: Found) -> Result<Summary> {
        let rows = self.transitions(problem)?.len();
        let worlds = self.run_worlds(problem)?;
        let mut summary = self.summary_for(problem, &worlds, rows)?;
        let (chosen, promise) = worlds
            .choose(&problem.system, &problem.search, &found.candidates, &problem.judging_starts(), options.numerics)?
            .ok_or(Error::Internal("a search found no policy"))?;
        let policy = &found.candidates[chosen];
        summary.rules = policy.actions.iter().map(|action| action.rules.len()).max().unwrap_or(0);
        summary.promise = Some(promise);
        summary.iterations = found.history.last().map_or(0, |last| last.iteration);
        summary.model_steps = Some(found.model_steps);
        summary.search_return = Some(found.best);
        let stalled = found.ending == Ending::Stalled;
        summary.search_ending = Some(if stalled { "stalled" } else { "finished" }.to_owned());
        summary.numerics = Some(options.numerics.to_string());
        summary.growth = found.growth;
        summary.race = found.race;
        summary.policy_sha256 = Some(origins::digest(policy)?);
        summary.seconds.set("search", found.seconds);
        let mut prepared = vec![
            files::prepare_json(&self.file(POLICY), policy)?,
            prepare_history(&self.file(SEARCH), &found.history)?,
            files::prepare_json(&self.file(SUMMARY), &summary)?,
        ];
        if *problem != self.problem()? {
            let text = problem.to_toml();
            prepared.insert(0, files::prepare(&self.file(PROBLEM), |file| file.write_all(text.as_bytes()))?);
        }
        self.remove_results_of_policy()?;
        for old in [SUMMARY, POLICY] {
            directory::remove(&self.file(old))?;
        }
        if let Some(front) = &found.front {
            self.write_front(problem, &worlds, front, policy, options)?;
        }
        prepared.into_iter().try_for_each(files::Prepared::commit)?;
        directory::remove(&self.file(CHECKPOINT))?;
        directory::remove(&self.file(CHECKPOINT_ROWS))?;
        Ok(summary)
    }

    /// Scores the rules on the world model and, where there is one, on the true plant.
    pub fn evaluate(&self, options: SearchOptions, progress: &dyn Progress) -> Result<Summary> {
        let began = Instant::now();
        let problem = self.problem()?;
        let policy = self.policy(&problem)?;
        let worlds = self.run_worlds(&problem)?;
        let starts = problem.evaluation_starts();
        progress.begin(Stage::Evaluate, 2);
        let kernel = FuzzyKernel::new(&policy);
        let members = worlds.on_lanes(&problem.system, 0.0)?;
        let returns = members.iter().map(|world| {
            mean(&search::world_returns(&problem.system, world.as_ref(), &kernel, &starts, options.numerics))
        });
        let model_return = mean(&returns.collect::<Vec<f64>>());
        progress.update(Stage::Evaluate, 1, &"on the world model");
        let act = |state: &[f64]| policy.act(state);
        let true_return =
            problem.system.plant().map(|plant| mean(&search::true_returns(&problem.system, plant, act, &starts)));
        progress.update(Stage::Evaluate, 2, &"on the plant");
        progress.end(Stage::Evaluate);

        let mut summary = match self.earlier_summary()? {
            Some(summary) => summary,
            None => {
                let rows = self.transitions(&problem)?.len();
                self.summary_for(&problem, &worlds, rows)?
            }
        };
        let policy_sha256 = Some(files::sha256(&self.file(POLICY))?);
        if summary.policy_sha256 != policy_sha256 {
            // Somebody has put another policy there: what is known of the old one is not of this one.
            summary.forget_policy();
            summary.policy_sha256 = policy_sha256;
            self.remove_results_of_policy()?;
        }
        if summary.promise.is_none() {
            summary.promise =
                Some(worlds.promise(&problem.system, &policy, &problem.judging_starts(), options.numerics)?);
        }
        summary.promise_kept = true_return.zip(summary.promise.as_ref()).map(|(truth, promise)| {
            let [low, high] = promise.interval;
            (low..=high).contains(&truth)
        });
        summary.rules = policy.actions.iter().map(|action| action.rules.len()).max().unwrap_or(0);
        summary.model_return = Some(model_return);
        summary.true_return = true_return;
        summary.gap = true_return.map(|truth| truth - model_return);
        summary.behaviour = self.behaviour(&problem, &members, options)?;
        worlds.check()?;
        summary.success_threshold = problem.system.success();
        summary.success = problem.system.success().zip(true_return).map(|(threshold, truth)| truth >= threshold);
        summary.threads = rayon::current_num_threads();
        summary.seconds.set("evaluate", began.elapsed().as_secs_f64());
        self.write_summary(&summary)?;
        Ok(summary)
    }

    /// A summary up to the world model, with the times of the stages so far.
    fn summary_for(&self, problem: &Problem, worlds: &Worlds, rows: usize) -> Result<Summary> {
        let mut summary = problem.summary(rows, self.data_sha256()?);
        if let Some(earlier) = self.earlier_summary()? {
            for stage in Summary::UP_TO_WORLD {
                if let Some(seconds) = earlier.seconds.get(stage) {
                    summary.seconds.set(stage, seconds);
                }
            }
        }
        match worlds {
            Worlds::Learned(worlds) => summary.set_world(&worlds.0, worlds.1.as_ref()),
            Worlds::Process(_) => summary.members = Some(1),
        }
        Ok(summary)
    }

    /// The summary that earlier stages left, if they did.
    fn earlier_summary(&self) -> Result<Option<Summary>> {
        match self.summary() {
            Ok(summary) => Ok(Some(summary)),
            Err(Error::StageMissing { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(super) fn write_summary(&self, summary: &Summary) -> Result<()> {
        files::write_json(&self.file(SUMMARY), summary)
    }
}

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Writes `search.csv` beside its place.
fn prepare_history(path: &Path, history: &[SearchRecord]) -> Result<files::Prepared> {
    files::prepare(path, |file| {
        writeln!(file, "{SEARCH_HEADER}")?;
        history.iter().try_for_each(|record| writeln!(file, "{}", search_row(record)))
    })
}

/// The columns of `search.csv`.
pub(super) const SEARCH_HEADER: &str = "iteration,best,mean,model_steps,seconds,stage";

/// A row of `search.csv`; its numbers read back to the same bits, except for the clock's.
pub(super) fn search_row(record: &SearchRecord) -> String {
    let SearchRecord { iteration, best, mean, model_steps, seconds, stage } = record;
    format!("{iteration},{best:?},{mean:?},{model_steps},{seconds:.6},{stage}")
}
