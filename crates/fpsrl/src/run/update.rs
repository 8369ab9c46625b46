//! More data later: a new run of the old log and the new one, in which the present rules are scored again and searched on from.
//!
//! The new directory is put together beside its place and appears when everything in it is made, or not at all.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::directory::{self, RunDirectory};
use super::graph::{DATA, POLICY, PROBLEM, UPDATE, WORLD};
use crate::error::{Error, Result};
use crate::explain;
use crate::figures::{Figures, Summary};
use crate::files;
use crate::policy::{FuzzyPolicy, Rule};
use crate::problem::{OneOrMany, Problem, WrittenProblem};
use crate::progress::Progress;
use crate::promise::Promise;
use crate::search::SearchOptions;
use crate::stage::{Choice, Found, Log, ReportOptions, SearchContext};
use crate::world::quality::Word;
use fpsrl_base::disk;
use fpsrl_base::remedy::Remedy;
use fpsrl_search::task::{Begun, Forget};

/// What new rules must bring to be taken, as a share of the way from what the plant earns today to what the present rules earn.
const PAYS: f64 = 0.01;

/// A condition has changed if its centre or its width moved by more than this share of the width.
const MOVED: f64 = 0.05;

/// More data, and what is to be done with them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UpdateOptions {
    /// The new files of the log.
    pub logs: Vec<PathBuf>,
    /// The run directory to make; none stands beside the old one, its name ending in `-updated`.
    pub out: Option<PathBuf>,
    /// Whether the files of a run that is there already give way.
    pub force: bool,
    /// Bytes of memory that reading a file may take; none is what the run's problem says.
    pub memory: Option<u64>,
    /// Whether the present rules are only scored again.
    pub no_search: bool,
    /// How many tries the search makes at most; none is "quick", unless there is a budget.
    pub effort: Option<String>,
    /// How long the search may take instead.
    pub budget: Option<String>,
}

/// What is known of some rules on some worlds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Standing {
    /// The verdict.
    pub verdict: Option<Word>,
    /// Why.
    pub reason: Option<String>,
    /// What the rules promise.
    pub promise: Option<Promise>,
    /// What the plant earns today from the starts of the evaluation.
    pub today: Option<f64>,
}

/// A run before or after its update.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Dated {
    /// Rows of the log's files.
    pub rows: usize,
    /// Transitions that were learned from.
    pub transitions: usize,
    /// The errors of the world model.
    pub world_errors: Figures,
    /// What is known of its rules.
    #[serde(flatten)]
    pub standing: Standing,
}

/// What the search brought that began with the present rules.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SearchedOn {
    /// What its rules promise.
    pub promise: Promise,
    /// What they had to exceed.
    pub needed: f64,
    /// Whether they were taken.
    pub taken: bool,
}

/// A rule that is another one now.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RuleChange {
    /// The number of the rule in the list of all rules, from 1.
    pub rule: usize,
    /// The rule before; null if it is new.
    pub before: Option<String>,
    /// The rule now; null if it is gone.
    pub after: Option<String>,
    /// The inputs whose conditions moved, by more than a twentieth of their widths.
    pub conditions: Vec<String>,
}

/// What more data have changed: `update.json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Update {
    /// The old run directory.
    pub from: PathBuf,
    /// The new run directory.
    pub run: PathBuf,
    /// The new files of the log.
    pub logs: Vec<PathBuf>,
    /// The old run.
    pub before: Dated,
    /// The present rules on the new worlds.
    pub present_rules: Standing,
    /// The search on the new worlds; null if nobody asked for one.
    pub search: Option<SearchedOn>,
    /// The new run.
    pub after: Dated,
    /// Whether its rules are others.
    pub rules_changed: bool,
    /// Which rules are.
    pub changes: Vec<RuleChange>,
    /// The digest of the new world model.
    pub world_sha256: String,
    /// The digest of the policy.
    pub policy_sha256: String,
}

impl UpdateOptions {
    /// Changes a problem's search to what is asked for.
    fn apply(&self, written: &mut WrittenProblem) {
        let search = &mut written.search;
        search.budget = Some(self.budget.clone().unwrap_or_else(|| "none".into()));
        match (&self.effort, &self.budget) {
            (Some(effort), _) => search.effort = Some(effort.clone()),
            (None, None) => search.effort = Some("quick".into()),
            (None, Some(_)) => {}
        }
    }
}

impl RunDirectory {
    /// Makes a new run of this one's log and more: learns worlds from all of it, scores the present rules on them, and searches
    /// on from these. New rules are taken only if that pays.
    pub fn update(&self, options: &UpdateOptions, progress: &Progress) -> Result<Update> {
        let mut problem = self.with_more(&options.logs, options.memory)?;
        problem.world.permission = self.permission();
        let out = options.out.clone().unwrap_or_else(|| self.updated());
        directory::check_free(&out, options.force)?;
        let old = self.problem()?;
        if !options.no_search {
            // What cannot be searched is better known before the worlds are learned.
            self.problem_with(|written| options.apply(written))?;
        }
        let policy = self.policy(&old)?;
        let summary = self.summary_of_policy(&old)?;
        if summary.promise.is_none() {
            return Err(self.not_judged());
        }
        let rows = |run: &Self, summary: &Summary| -> Result<usize> {
            if run.has(DATA)? { Ok(run.import_report()?.rows) } else { Ok(summary.samples) }
        };
        let before = dated(&summary, rows(self, &summary)?);
        let log = Log::new(&problem, progress)?;
        let mut update = None;
        directory::create(&out, options.force, |run| {
            let run = &run.clone().permitting(self.permission());
            run.write_log(&log)?;
            run.fit(progress)?;
            let present = run.adopt(&policy, progress)?;
            let numerics = SearchOptions::of(&run.problem()?.search, true);
            let scored = run.evaluate(numerics, progress)?;
            let search = match options.no_search {
                true => None,
                false => Some(run.search_on(&present, &scored, options, progress)?),
            };
            run.report(&ReportOptions::default(), progress)?;
            if progress.stop_requested() {
                return Err(Error::Stopped { stage: "update" });
            }
            let (summary, now) = (run.summary()?, run.policy(&run.problem()?)?);
            let made = Update {
                from: files::absolute(self.path()),
                run: files::absolute(&out),
                logs: options.logs.iter().map(|file| files::absolute(file)).collect(),
                before,
                present_rules: standing(&scored),
                search,
                after: dated(&summary, rows(run, &summary)?),
                rules_changed: now != present,
                changes: changes(&present, &now),
                world_sha256: files::sha256(&run.file(WORLD))?,
                policy_sha256: files::sha256(&run.file(POLICY))?,
            };
            files::write_json(&run.file(UPDATE), &made)?;
            update = Some(made);
            Ok(())
        })?;
        update.ok_or(Error::Internal("an update left no figures"))
    }

    /// The problem with more files in its log.
    fn with_more(&self, logs: &[PathBuf], memory: Option<u64>) -> Result<Problem> {
        let mut written = WrittenProblem::read(&self.expect(PROBLEM)?)?;
        let mut named = match written.data.file.take() {
            Some(files) => files.list(),
            None => {
                let rule = match (&written.system.plant, &written.world.process) {
                    (Some(plant), _) => format!("the log of the built-in plant `{plant}` is drawn, not recorded"),
                    (None, Some(_)) => "the log of a simulator is drawn, not recorded".into(),
                    (None, None) => "the problem does not name the files that its log came from".into(),
                };
                let hint =
                    Remedy::words("only a run of a log of your own can be updated: write `file` below [data] in ")
                        .then("a problem file, and begin with ")
                        .stage("run", None);
                return Err(Error::setting("data.file", "missing", rule, hint));
            }
        };
        for log in logs {
            if let Some(known) = known(&named, log)? {
                let rule = format!("it is a part of the log already: {known}");
                return Err(Error::setting("--log", log.display(), rule, "name only files that are new"));
            }
            named.push(files::absolute(log).to_string_lossy().into_owned());
        }
        written.data.file = Some(OneOrMany::Many(named));
        written.data.allow(memory);
        written.check()
    }

    /// Where the new run stands if nobody says so: beside this one.
    fn updated(&self) -> PathBuf {
        let path = files::absolute(self.path());
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        // A relative path stays one, for messages.
        let mut beside = self.path().components();
        match beside.next_back() {
            Some(std::path::Component::Normal(_)) => beside.as_path().join(format!("{name}-updated")),
            _ => path.with_file_name(format!("{name}-updated")),
        }
    }

    /// Searches on from the present rules, and takes what is found if that pays.
    fn search_on(
        &self,
        present: &FuzzyPolicy,
        scored: &Summary,
        options: &UpdateOptions,
        progress: &Progress,
    ) -> Result<SearchedOn> {
        let (problem, begin_with) = self.searched_alike(present, |written| options.apply(written))?;
        let worlds = self.worlds(&problem)?;
        let context = SearchContext {
            options: SearchOptions::of(&problem.search, true),
            begin_with,
            begun: Begun::default(),
            keeper: &mut Forget,
            cluster: self.cluster(),
        };
        let found = worlds.search_with(&problem.policy, &problem.search, context, progress)?;
        let choice = found.choose(&problem.evaluation)?;
        let promised = scored.promise.as_ref().ok_or(Error::Internal("rules were scored without a promise"))?;
        let today = scored.gain.as_ref().map_or(promised.mean, |gain| gain.today);
        let needed = promised.mean + PAYS * (promised.mean - today).abs();
        let taken = pays(&choice.promise, promised, needed);
        if taken {
            self.take(&found, &choice, progress)?;
        }
        Ok(SearchedOn { promise: choice.promise, needed, taken })
    }

    /// Makes what a search has found the policy of the run.
    fn take(&self, found: &Found, choice: &Choice, progress: &Progress) -> Result<()> {
        self.save_found(found, choice, progress)?;
        self.evaluate(found.options(), progress).map(drop)
    }
}

/// The file of a log that a new one is, by its place or as a copy: its rows would count twice.
fn known<'a>(named: &'a [String], new: &Path) -> Result<Option<&'a String>> {
    let size = |path: &Path| disk::length(path).ok();
    let whole = files::absolute(new);
    for name in named {
        let path = Path::new(name);
        let alike = size(path).is_some() && size(path) == size(new);
        if path == whole || alike && files::sha256(path)? == files::sha256(new)? {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

/// Whether new rules are taken: they promise more than is needed, and no judge or hard limit speaks against them that did not
/// speak against the present ones.
fn pays(new: &Promise, present: &Promise, needed: f64) -> bool {
    let refused = |promise: &Promise| promise.holds == Some(false);
    new.mean > needed && (!refused(new) || refused(present)) && (!new.breaks || present.breaks)
}

fn standing(summary: &Summary) -> Standing {
    Standing {
        verdict: summary.verdict.as_ref().map(|verdict| verdict.word),
        reason: summary.verdict.as_ref().map(|verdict| verdict.reason.clone()),
        promise: summary.promise.clone(),
        today: summary.gain.as_ref().map(|gain| gain.today),
    }
}

fn dated(summary: &Summary, rows: usize) -> Dated {
    let world_errors = summary.world_errors.clone();
    Dated { rows, transitions: summary.samples, world_errors, standing: standing(summary) }
}

/// Which rules are others now, in words.
fn changes(before: &FuzzyPolicy, after: &FuzzyPolicy) -> Vec<RuleChange> {
    fn rules(policy: &FuzzyPolicy) -> Vec<&Rule> {
        policy.actions.iter().flat_map(|action| &action.rules).collect()
    }
    let (words, words_now) = (explain::sentences(before), explain::sentences(after));
    let (rules_before, rules_now) = (rules(before), rules(after));
    let of = |rule: usize| {
        let (old, new) = (words.get(rule).cloned(), words_now.get(rule).cloned());
        let conditions = match (rules_before.get(rule), rules_now.get(rule)) {
            (Some(old), Some(new)) => {
                let moved = |variable: &usize| has_moved(old, new, *variable);
                let names = (0..before.states.len()).filter(moved);
                names.map(|variable| before.states[variable].name.clone()).collect()
            }
            _ => Vec::new(),
        };
        (old != new).then_some(RuleChange { rule: rule + 1, before: old, after: new, conditions })
    };
    (0..words.len().max(words_now.len())).filter_map(of).collect()
}

/// Whether a rule's condition on an input is another one now.
fn has_moved(before: &Rule, after: &Rule, variable: usize) -> bool {
    match (before.ignores(variable), after.ignores(variable)) {
        (true, true) => false,
        (false, false) => {
            let by = |of: fn(&Rule) -> &[f64]| (of(before)[variable] - of(after)[variable]).abs();
            let most = MOVED * before.width[variable];
            by(|rule| &rule.centre) > most || by(|rule| &rule.width) > most
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn promise(mean: f64, holds: bool) -> Promise {
        Promise {
            mean,
            interval: [mean - 1.0, mean + 1.0],
            rescored: Some(mean),
            judge_interval: None,
            holds: Some(holds),
            outside: 0.0,
            rejected: 0,
            member_returns: vec![mean],
            judged_by: None,
            reward_doubt: [0.0; 2],
            widening: 1.0,
            judge_abstains: None,
            under_searched_inputs: None,
            without_noise: None,
            left: Vec::new(),
            breaks: false,
        }
    }

    #[test]
    fn new_rules_must_bring_something_and_keep_their_promise() {
        let present = promise(-10.0, true);
        assert!(pays(&promise(-9.0, true), &present, -9.9));
        assert!(!pays(&promise(-9.95, true), &present, -9.9));
        assert!(!pays(&promise(-9.0, false), &present, -9.9));
        assert!(pays(&promise(-9.0, false), &promise(-10.0, false), -9.9));
        assert!(!pays(&Promise { breaks: true, ..promise(-9.0, true) }, &present, -9.9));
    }

    #[test]
    fn a_condition_moves_by_its_own_width() {
        let rule = |centre: f64, width: f64| Rule { centre: vec![centre], width: vec![width], output: 1.0 };
        assert!(!has_moved(&rule(1.0, 2.0), &rule(1.05, 2.05), 0));
        assert!(has_moved(&rule(1.0, 2.0), &rule(1.2, 2.0), 0));
        assert!(has_moved(&rule(1.0, 2.0), &rule(1.0, crate::policy::ANYWHERE), 0));
    }
}
