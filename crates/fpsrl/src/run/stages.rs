//! The stages of a run: each loads what it needs, makes the next artefact, and saves it.

use std::path::Path;
use std::time::Instant;

use super::checkpoint::{self, CheckpointKeeper};
use super::directory::{self, RunDirectory};
use super::graph::{
    DATA, NFQ, POLICY, PROBLEM, REPORT, SEARCH, SIMPLE, SUMMARY, TRADE, TRADE_POLICIES, TRANSITIONS, WORLD,
};
use super::origins::{self, Change, Origins};
use crate::baseline::QPolicyKernel;
use crate::data::csv;
use crate::data::split::FEWEST_ROWS;
use crate::error::{Error, Result};
use crate::figures::{Ceiling, NfqResult, Summary};
use crate::files::{self, Prepared};
use crate::policy::{FuzzyKernel, FuzzyPolicy, Policy};
use crate::problem::{Problem, System};
use crate::progress::Progress;
use crate::search::{SearchOptions, SearchRecord};
use crate::stage::{Choice, Found, Judged, Log, ReportOptions, SearchContext, Worlds};
use crate::world::LearnedWorlds;
use crate::world::file::{ProcessFile, WorldFile};
use fpsrl_base::disk;
use fpsrl_base::remedy::Remedy;
use fpsrl_report::OtherRun;
use fpsrl_search::WorldSource;
use fpsrl_search::baseline::ceiling::{self, Plans};
use fpsrl_search::signs::signs;
use fpsrl_search::task::Begun;

/// Gets the log of a problem and makes a run directory of it: one of the user's own is imported, or one is drawn from the
/// simulator or from the built-in plant.
///
/// What is there already is refused; with `force`, the files of an old run give way.
pub fn generate(problem: &Problem, path: &Path, force: bool, progress: &Progress) -> Result<RunDirectory> {
    directory::check_free(path, force)?;
    let log = Log::new(problem, progress)?;
    save_log(&log, path, force)
}

/// Makes a run directory of a log.
pub fn save_log(log: &Log, path: &Path, force: bool) -> Result<RunDirectory> {
    let permission = log.problem().world.permission;
    Ok(directory::create(path, force, |run| run.write_log(log))?.permitting(permission))
}

/// Makes a run directory of a log, with another file or two that belong to it from the beginning.
pub(crate) fn save_planned(
    log: &Log,
    path: &Path,
    more: impl FnOnce(&RunDirectory) -> Result<()>,
) -> Result<RunDirectory> {
    let made = directory::create(path, false, |run| {
        run.write_log(log)?;
        more(run)
    });
    Ok(made?.permitting(log.problem().world.permission))
}

impl RunDirectory {
    /// Writes the first files of a run.
    pub(super) fn write_log(&self, log: &Log) -> Result<()> {
        let problem = log.problem();
        self.write_problem(problem)?;
        csv::write(&self.file(TRANSITIONS), log.system(), log.transitions())?;
        if let Some(report) = log.report() {
            files::write_json(&self.file(DATA), report)?;
        }
        let mut summary = problem.summary(log.transitions().len(), String::new());
        summary.took(if log.report().is_some() { "import" } else { "generate" }, log.seconds());
        Origins::of(self, problem, None)?.stamp(&mut summary);
        self.write_summary(&summary)
    }

    /// A run directory beside this one, with the same log and world, for a problem that differs in its seed or search;
    /// what is there already is opened.
    pub(crate) fn sibling(&self, problem: &Problem, path: &Path) -> Result<RunDirectory> {
        if let Ok(run) = RunDirectory::open(path) {
            return Ok(run.permitting(self.permission()));
        }
        let worlds = self.worlds(&self.problem()?)?;
        let made = directory::create(path, true, |run| {
            let (from, to) = (self.file(TRANSITIONS), run.file(TRANSITIONS));
            // Files of a run are replaced, never changed: one on the disk can serve all.
            if disk::link(&from, &to).is_err() {
                files::copy(&from, &to)?;
            }
            run.write_problem(problem)?;
            run.prepare_world(&worlds.for_problem(problem), None)?.commit()?;
            let mut summary = worlds.summary(problem)?;
            Origins::of(run, problem, None)?.stamp(&mut summary);
            run.write_summary(&summary)
        });
        Ok(made?.permitting(self.permission()))
    }

    /// Learns the world from the log.
    pub fn fit(&self, progress: &Progress) -> Result<Summary> {
        let problem = self.problem()?;
        let (transitions, sha256) = self.hashed_transitions(&problem)?;
        if problem.world.process.is_none() && transitions.len() < FEWEST_ROWS {
            return Err(Error::Malformed {
                path: self.file(TRANSITIONS),
                line: None,
                column: None,
                problem: format!("it has {} rows, and a world model needs at least {FEWEST_ROWS}", transitions.len()),
                remedy: "use a longer log".into(),
            });
        }
        self.check_costs(&problem)?;
        // Start states follow from the log here, whatever an earlier fit has left.
        let problem = Problem { system: problem.system.without_start_pool(), ..problem };
        let log = Log::of(&problem, transitions)?.with_sha256(sha256);
        self.save_worlds(&log.fit_on(&problem.world, self.cluster(), progress)?, progress)
    }

    /// Refuses costs that are not those which the log's rewards were written less. Rewards of a formula are computed anew each
    /// time; those of the log's own were written down once, and which costs they had is in the worlds that were learned from them.
    fn check_costs(&self, problem: &Problem) -> Result<()> {
        let learned = problem.world.reward.is_none() && problem.world.process.is_none() && problem.data.log.is_some();
        if !learned || !self.has(WORLD)? {
            return Ok(());
        }
        // A file that is broken is about to be replaced.
        let Ok(file) = WorldFile::read(&self.file(WORLD)) else { return Ok(()) };
        let (worlds, _) = file.into_worlds();
        let then = worlds.world.known.as_ref().and_then(|known| known.costs.as_deref());
        if then == problem.world.costs.as_ref().map(|costs| costs.text()) {
            return Ok(());
        }
        let what = "its rewards were written less the costs that the problem had then".into();
        let remedy = Remedy::words("put the old weights back, or read the log again: ")
            .stage("run", None)
            .then(" with a problem file that has the new ones");
        Err(self.mismatch(TRANSITIONS, PROBLEM, what, remedy))
    }

    /// Saves worlds that were made from the log that is here.
    pub(super) fn save_worlds(&self, worlds: &Worlds, progress: &Progress) -> Result<Summary> {
        let problem = worlds.problem();
        let mut summary = worlds.summary(problem)?;
        match self.earlier_summary()? {
            Some(earlier) if earlier.data_sha256 == summary.data_sha256 => {
                for stage in ["generate", "import"] {
                    if let Some(seconds) = earlier.seconds.get(stage) {
                        summary.took(stage, seconds);
                    }
                }
            }
            // How long another log took to get, and what was found in it, is not of this one.
            Some(_) => self.remove(DATA)?,
            None => {}
        }
        summary.took("fit", worlds.seconds());
        let starts = self.write_starts(worlds.system())?;
        let prepared = self.prepare_world(worlds, starts)?;
        self.invalidate(WORLD, progress)?;
        self.remove(SUMMARY)?;
        prepared.commit()?;
        Origins::of(self, problem, None)?.stamp(&mut summary);
        self.write_summary(&summary)?;
        Ok(summary)
    }

    /// Writes `world.json` beside its place.
    fn prepare_world(&self, worlds: &Worlds, starts_sha256: Option<String>) -> Result<Prepared> {
        let problem = worlds.problem();
        let (data_sha256, problem_sha256) = (worlds.log().sha256()?, origins::world_digest(problem)?);
        let file = self.file(WORLD);
        match worlds.source() {
            WorldSource::Learned(learned) => {
                let (LearnedWorlds { world, members, judges, support }, verdict) = (**learned).clone();
                let content =
                    WorldFile { data_sha256, problem_sha256, starts_sha256, world, members, judges, support, verdict };
                content.prepare(&file)
            }
            WorldSource::Simulator(..) => {
                let process = problem.world.process.clone().unwrap_or_default();
                let content = ProcessFile { data_sha256, problem_sha256, starts_sha256, process };
                content.prepare(&file)
            }
        }
    }

    /// Searches rules on the learned world.
    pub fn search(&self, options: SearchOptions, progress: &Progress) -> Result<Summary> {
        self.search_for(&self.problem()?, options, progress)
    }

    /// Searches rules with settings that differ from those of the problem file; the file is changed together with
    /// the results, and stays as it is if the search fails.
    pub fn search_for(&self, problem: &Problem, options: SearchOptions, progress: &Progress) -> Result<Summary> {
        self.forget_search()?;
        self.search_from(problem, options, Begun::default(), progress)
    }

    /// Makes the stages that an interrupted run has not finished. A search goes on from its last checkpoint, and
    /// finds what an uninterrupted search finds.
    ///
    /// `options` hold for what is begun; a search that goes on keeps those it began with.
    pub fn resume(&self, options: SearchOptions, progress: &Progress) -> Result<Summary> {
        if !self.has(WORLD)? {
            self.fit(progress)?;
        }
        match checkpoint::read(self, options.checkpoint_every)? {
            // The checkpoint goes last: while it is there, the search's results are not all written.
            Some(saved) => drop(self.search_from(&saved.problem, saved.options, saved.begun, progress)?),
            None if self.is_searched()? => {}
            None => drop(self.search(options, progress)?),
        }
        self.evaluate(options, progress)
    }

    /// Whether a search has found a policy for the problem as it stands, on the worlds that are there. What has become of that
    /// policy since is the evaluation's to see.
    fn is_searched(&self) -> Result<bool> {
        let Some(summary) = self.earlier_summary()? else { return Ok(false) };
        let (change, file) = self.origins(&self.problem()?)?.change(&summary);
        let same = matches!(change, Change::None | Change::Evaluation) || file == POLICY;
        Ok(same && self.has(POLICY)? && summary.search_return.is_some())
    }

    fn search_from(
        &self,
        problem: &Problem,
        options: SearchOptions,
        begun: Begun,
        progress: &Progress,
    ) -> Result<Summary> {
        let worlds = self.worlds(problem)?;
        let begin_with = self.start_policy(problem)?;
        let mut keeper = CheckpointKeeper::new(self, problem, options, &begun)?;
        let (begin_with, cluster) = (begin_with.as_ref(), self.cluster());
        let context = SearchContext { options, begin_with, begun, keeper: &mut keeper, cluster };
        let found = worlds.search_with(&problem.policy, &problem.search, context, progress)?;
        let choice = found.choose(&problem.evaluation)?;
        self.save_found(&found, &choice, progress)
    }

    /// Saves what a search has found; its checkpoint goes last.
    pub(super) fn save_found(&self, found: &Found, choice: &Choice, progress: &Progress) -> Result<Summary> {
        let problem = found.problem();
        let mut summary = found.summary(choice)?;
        if let Some(earlier) = self.earlier_summary()? {
            for (stage, seconds) in &earlier.seconds.0 {
                if Summary::UP_TO_WORLD.contains(&stage.as_str()) {
                    summary.took(stage, *seconds);
                }
            }
        }
        Origins::of(self, problem, Some(origins::policy_digest(&choice.policy)?))?.stamp(&mut summary);
        let rows = search_rows(found.records());
        summary.search_sha256 = Some(files::sha256_of(rows.as_bytes()));
        let mut prepared = vec![
            files::prepare_json(&self.file(POLICY), &choice.policy)?,
            files::prepare(&self.file(SEARCH), |file| file.write_all(rows.as_bytes()))?,
            summary.prepare(&self.file(SUMMARY))?,
        ];
        if *problem != self.problem()? {
            let text = problem.to_toml();
            prepared.insert(0, files::prepare(&self.file(PROBLEM), |file| file.write_all(text.as_bytes()))?);
        }
        self.invalidate(POLICY, progress)?;
        for old in [SUMMARY, POLICY] {
            self.remove(old)?;
        }
        if let Some((front, policies)) = found.judged_front(&choice.policy)? {
            self.write_front(&front, &policies)?;
        }
        files::commit_all(prepared)?;
        self.forget_search()?;
        Ok(summary)
    }

    /// Scores the rules on the world model and, where there is one, on the true plant.
    ///
    /// What is known of another policy, of another problem or of other worlds goes first.
    pub fn evaluate(&self, options: SearchOptions, progress: &Progress) -> Result<Summary> {
        let problem = self.problem()?;
        let policy = self.policy(&problem)?;
        let worlds = self.worlds(&problem)?;
        let origins = self.origins(&problem)?;
        let earlier = self.earlier_summary()?;
        let change = earlier.as_ref().map_or(Change::World, |summary| origins.change(summary).0);
        let mut summary = match (earlier.clone(), change) {
            (Some(summary), Change::None) => summary,
            (Some(mut summary), Change::Evaluation) => {
                summary.forget_evaluation();
                summary
            }
            (Some(mut summary), Change::Policy) => {
                summary.forget_policy();
                summary
            }
            (_, _) => worlds.summary(&problem)?,
        };
        origins.stamp(&mut summary);
        let judged = Judged::of(&worlds, problem, policy, summary, options.numerics).evaluated(progress)?;
        let summary = judged.summary();
        match change {
            Change::None => {}
            Change::Evaluation => {
                [REPORT, SIMPLE, TRADE, TRADE_POLICIES].into_iter().try_for_each(|name| self.remove(name))?;
            }
            Change::Policy | Change::World => self.invalidate(POLICY, progress)?,
        }
        // A page shows every figure but the times.
        if earlier.is_some_and(|earlier| !earlier.same_figures(summary)) {
            self.remove(REPORT)?;
        }
        self.write_summary(summary)?;
        Ok(summary.clone())
    }

    /// The same as [`RunDirectory::ceiling`], unless it is known for these rules: what a run has found meanwhile would help the
    /// plans, and a run that is gone on with finds what it would have found at once.
    pub fn resume_ceiling(&self, options: SearchOptions, progress: &Progress) -> Result<Summary> {
        let summary = self.summary_of_policy(&self.problem()?)?;
        if summary.ceiling.is_some() { Ok(summary) } else { self.ceiling(options, progress) }
    }

    /// How much any policy could reach on the world model, for `summary.json`: plans begin from the rules and from every
    /// other policy that the directory knows.
    pub fn ceiling(&self, options: SearchOptions, progress: &Progress) -> Result<Summary> {
        let problem = self.problem()?;
        // Others help where they can; one that is missing or does not fit is no error.
        let others = [self.simple_policy(&problem).ok(), self.start_policy(&problem).ok().flatten()];
        let policy = self.policy(&problem)?;
        let mut helpers: Vec<FuzzyPolicy> = others.into_iter().flatten().filter(|other| *other != policy).collect();
        helpers.dedup();
        let summary = self.summary_of_policy(&problem)?;
        let nfq = self.nfq_result_of(&problem).ok();
        let judged = Judged::of(&self.worlds(&problem)?, problem, policy, summary, options.numerics);
        let shown = judged.summary().ceiling;
        let judged = with_helpers(&helpers, nfq.as_ref(), |helpers| judged.with_ceiling(helpers, progress))?;
        // A page that shows another ceiling is of the past.
        if shown.is_some() && shown != judged.summary().ceiling {
            self.remove(REPORT)?;
        }
        self.write_summary(judged.summary())?;
        Ok(judged.summary().clone())
    }

    /// How much any policy could reach on the world model, found with so many model steps; no file is written.
    ///
    /// The first policy is the one that is measured, or doing nothing if there is none; the others, and that of NFQ if it
    /// has been run, help the plans. [`Ceiling::budget`] says how many steps are reasonable.
    pub fn ceiling_with(
        &self,
        policies: &[FuzzyPolicy],
        budget: u64,
        options: SearchOptions,
        progress: &Progress,
    ) -> Result<Ceiling> {
        let problem = self.problem()?;
        let worlds = self.worlds(&problem)?;
        let nfq = self.nfq_result_of(&problem).ok();
        let rules = policies.first().map(FuzzyKernel::new);
        let others = policies.get(1..).unwrap_or_default();
        with_helpers(others, nfq.as_ref(), |helpers| {
            let plans = Plans {
                starts: problem.evaluation_starts(),
                rules: rules.as_ref().map(|kernel| kernel as &dyn Policy),
                helpers: helpers.to_vec(),
                budget,
                numerics: options.numerics,
            };
            ceiling::ceiling(&problem.system, worlds.source(), plans, progress)
        })
    }

    /// Writes `report.html`, and `policy.simple.json` where conditions do not matter; the summary tells their price.
    pub fn report(&self, options: &ReportOptions, progress: &Progress) -> Result<Summary> {
        let began = Instant::now();
        let problem = self.problem()?;
        self.expect(POLICY)?;
        let judged = self.judged(&problem)?;
        if judged.summary().promise.is_none() {
            return Err(self.not_judged());
        }
        let others = options.overlay.iter().map(|path| self.other(path, &problem)).collect::<Result<_>>()?;
        // The result of NFQ on another world is not shown beside this one.
        let nfq = match self.has(NFQ)? {
            true => Some(self.nfq_result_of(&problem)?).map(|result| (result.model_return, result.true_return)),
            false => None,
        };
        self.write_report(&judged, options, (nfq, others), began, progress)
    }

    /// Makes the report and writes it down; it tells of the result of NFQ and of other runs too, if there are any.
    pub(super) fn write_report(
        &self,
        judged: &Judged,
        options: &ReportOptions,
        (nfq, others): (Option<(f64, Option<f64>)>, Vec<OtherRun>),
        began: Instant,
        progress: &Progress,
    ) -> Result<Summary> {
        let made = judged.report_beside(options.tolerance, nfq, others, progress)?;
        let mut summary = judged.summary().clone();
        summary.simple = Some(made.figures);
        summary.signs = signs(&summary);
        let page = files::prepare(&self.file(REPORT), |file| file.write_all(made.page.as_bytes()))?;
        match &made.simple {
            None => self.remove(SIMPLE)?,
            Some(simple) => files::write_json(&self.file(SIMPLE), simple)?,
        }
        summary.took("report", began.elapsed().as_secs_f64());
        self.write_summary(&summary)?;
        page.commit()?;
        Ok(summary)
    }

    /// Another run, if it is of the same variables.
    fn other(&self, path: &Path, problem: &Problem) -> Result<OtherRun> {
        let other = RunDirectory::open(path)?;
        let theirs = other.problem()?;
        let names = |system: &System| -> Vec<String> {
            let states = system.policy_states().iter().map(|state| state.name.clone());
            states.chain(system.actions().iter().map(|action| action.name.clone())).collect()
        };
        if names(&theirs.system) != names(&problem.system) {
            return Err(Error::Mismatch {
                path: path.to_owned(),
                other: self.path().to_owned(),
                problem: "its variables are others, so its rules cannot be laid over these".into(),
                remedy: "name runs of the same problem".into(),
            });
        }
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        let (policy, summary) = (other.policy(&theirs)?, other.summary_of_policy(&theirs)?);
        Ok(OtherRun { name, seed: theirs.system.seed(), policy, summary })
    }

    fn write_problem(&self, problem: &Problem) -> Result<()> {
        let text = problem.to_toml();
        files::write_atomically(&self.file(PROBLEM), |file| file.write_all(text.as_bytes()))
    }

    pub(super) fn write_summary(&self, summary: &Summary) -> Result<()> {
        summary.prepare(&self.file(SUMMARY))?.commit()
    }
}

/// Gives the policies that help plans to a function, on lanes.
fn with_helpers<T>(
    policies: &[FuzzyPolicy],
    nfq: Option<&NfqResult>,
    act: impl FnOnce(&[&dyn Policy]) -> Result<T>,
) -> Result<T> {
    let kernels: Vec<FuzzyKernel> = policies.iter().map(FuzzyKernel::new).collect();
    let nfq = nfq.map(|result| QPolicyKernel::new(&result.policy));
    let mut helpers: Vec<&dyn Policy> = kernels.iter().map(|kernel| kernel as &dyn Policy).collect();
    helpers.extend(nfq.iter().map(|kernel| kernel as &dyn Policy));
    act(&helpers)
}

/// The text of `search.csv`.
pub(super) fn search_rows(records: &[SearchRecord]) -> String {
    let rows = records.iter().map(search_row);
    std::iter::once(SEARCH_HEADER.to_owned()).chain(rows).map(|row| row + "\n").collect()
}

/// The columns of `search.csv`.
pub(super) const SEARCH_HEADER: &str = "iteration,best,mean,model_steps,seconds,stage";

/// A row of `search.csv`; its numbers read back to the same bits, except for the clock's.
pub(super) fn search_row(record: &SearchRecord) -> String {
    let SearchRecord { iteration, best, mean, model_steps, seconds, stage } = record;
    format!("{iteration},{best:?},{mean:?},{model_steps},{seconds:.6},{stage}")
}
