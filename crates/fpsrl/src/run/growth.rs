//! Rule growth: searches with ever more rules until another one no longer pays (section 5.1 of the paper).
//!
//! What pays is measured on the way from doing nothing, all actions in the middle of their limits, to the ceiling that
//! PSO-P finds: another rule must bring at least the tolerance's share of it. The result is not the best score but the
//! simplest policy within the tolerance of it.
//!
//! `growth.json` holds the searches that are finished, so that an interruption costs none of them; it goes when all are.

use serde::{Deserialize, Serialize};

use super::checkpoint::Checkpoint;
use super::directory::{CHECKPOINT, CHECKPOINT_ROWS, GROWTH, RunDirectory, WORLD, remove};
use super::stages::{Found, mean};
use super::summary::{Ceiling, GrowthStep, RuleGrowth, Summary};
use crate::baseline::Linear;
use crate::baseline::pso_p::{PlanSettings, plan_returns};
use crate::error::{Error, Result};
use crate::files;
use crate::policy::{FuzzyKernel, FuzzyPolicy, Policy};
use crate::problem::{Problem, WrittenProblem};
use crate::progress::Progress;
use crate::rollout::StartStates;
use crate::search::{self, Ending, SearchOptions, SearchRecord};

/// Start states that the ceiling is found from.
const STARTS: usize = 20;

/// What `growth.json` holds.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GrowthFile {
    problem: String,
    world_sha256: String,
    prune: bool,
    idle: f64,
    ceiling: f64,
    candidates: Vec<Candidate>,
}

/// A finished search.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Candidate {
    rules: usize,
    best: f64,
    stalled: bool,
    policy: FuzzyPolicy,
    history: Vec<SearchRecord>,
}

impl GrowthFile {
    /// The growth that a run was in the middle of, if it was, and its problem.
    pub(super) fn read(run: &RunDirectory) -> Result<Option<(Self, Problem)>> {
        let path = run.file(GROWTH);
        if !path.try_exists().map_err(|source| Error::read(&path, source))? {
            return Ok(None);
        }
        let file: Self = files::read_json(&path)?;
        let broken = |problem: String| Error::Malformed {
            path: path.clone(),
            line: None,
            column: None,
            problem,
            hint: format!("start the search anew with `fpsrl search {}`", run.path().display()),
        };
        let problem = run.with_starts(WrittenProblem::parse(&file.problem, &path)?.check()?)?;
        let steps = problem.rule_step();
        for (index, candidate) in file.candidates.iter().enumerate() {
            if candidate.rules != steps * (index + 1) || candidate.history.is_empty() || !candidate.best.is_finite() {
                return Err(broken("its searches are not whole".into()));
            }
            if let Some(fault) = candidate.policy.fault() {
                return Err(broken(fault));
            }
        }
        if files::sha256(&run.file(WORLD))? != file.world_sha256 {
            return Err(broken("its searches ran on another world model".into()));
        }
        Ok(Some((file, problem)))
    }

    /// The options that the growth began with.
    pub(super) fn options(&self, problem: &Problem, options: SearchOptions) -> SearchOptions {
        SearchOptions { checkpoint_every: options.checkpoint_every, ..SearchOptions::of(problem, self.prune) }
    }

    /// What another rule must bring.
    fn least_gain(&self, problem: &Problem) -> f64 {
        problem.policy.rules_tolerance * (self.ceiling - self.idle).max(0.0)
    }

    /// Whether another rule is worth a search.
    fn goes_on(&self, problem: &Problem) -> bool {
        let Some(last) = self.candidates.last() else { return true };
        let before = self.candidates.iter().rev().skip(1).map(|candidate| candidate.best).fold(f64::NAN, f64::max);
        let paid = before.is_nan() || last.best - before >= self.least_gain(problem);
        let room = last.rules + problem.rule_step() <= problem.policy.most_rules;
        room && paid && last.best < self.ceiling - self.least_gain(problem)
    }

    /// The simplest policy within the tolerance of the best one.
    fn chosen(&self, problem: &Problem) -> Option<&Candidate> {
        let best = self.candidates.iter().map(|candidate| candidate.best).fold(f64::NEG_INFINITY, f64::max);
        self.candidates.iter().find(|candidate| candidate.best >= best - self.least_gain(problem))
    }
}

impl RunDirectory {
    /// Searches with the fewest rules, then with more while they pay; goes on from what is given.
    pub(super) fn grow(
        &self,
        problem: &Problem,
        options: SearchOptions,
        begun: Option<GrowthFile>,
        mut checkpoint: Option<Checkpoint>,
        progress: &dyn Progress,
    ) -> Result<Summary> {
        let mut growth = match begun {
            Some(growth) => growth,
            None => {
                remove(&self.file(CHECKPOINT))?;
                remove(&self.file(CHECKPOINT_ROWS))?;
                let (idle, ceiling) = self.idle_and_ceiling(problem, options, progress)?;
                let growth = GrowthFile {
                    problem: problem.to_toml(),
                    world_sha256: files::sha256(&self.file(WORLD))?,
                    prune: options.prune,
                    idle,
                    ceiling,
                    candidates: Vec::new(),
                };
                files::write_json(&self.file(GROWTH), &growth)?;
                growth
            }
        };
        while growth.goes_on(problem) {
            let mut now = problem.clone();
            now.policy.grow = false;
            now.policy.rules = problem.rule_step() * (growth.candidates.len() + 1);
            // A kill may leave the checkpoint of a search that is in the file already.
            let from = checkpoint.take().filter(|checkpoint| checkpoint.problem == now);
            let Found { candidates, best, ending, history, .. } = self.conduct(&now, options, from, progress)?;
            let policy = candidates.into_iter().next().ok_or(Error::Internal("a search found no policy"))?;
            let stalled = ending == Ending::Stalled;
            // Plans that have policies to begin from reach further than those that begin from nothing.
            let known = growth.candidates.iter().map(|candidate| &candidate.policy).chain([&policy]);
            let kernels: Vec<FuzzyKernel> = known.map(FuzzyKernel::new).collect();
            growth.ceiling = growth.ceiling.max(self.planned(problem, options, &kernels, progress)?);
            growth.candidates.push(Candidate { rules: now.policy.rules, best, stalled, policy, history });
            files::write_json(&self.file(GROWTH), &growth)?;
            remove(&self.file(CHECKPOINT))?;
            remove(&self.file(CHECKPOINT_ROWS))?;
        }
        let chosen = growth.chosen(problem).ok_or(Error::Internal("rules grew to none"))?;
        let searches = || growth.candidates.iter().filter_map(|candidate| candidate.history.last());
        let found = Found {
            // If a judge refuses the simplest one, the others are asked, the best first.
            candidates: {
                let mut others: Vec<&Candidate> =
                    growth.candidates.iter().filter(|candidate| candidate.rules != chosen.rules).collect();
                others.sort_by(|a, b| b.best.total_cmp(&a.best));
                std::iter::once(chosen).chain(others).map(|candidate| candidate.policy.clone()).collect()
            },
            best: chosen.best,
            ending: if chosen.stalled { Ending::Stalled } else { Ending::Finished },
            history: chosen.history.clone(),
            model_steps: searches().map(|last| last.model_steps).sum(),
            seconds: searches().map(|last| last.seconds).sum(),
            growth: Some(RuleGrowth {
                tolerance: problem.policy.rules_tolerance,
                idle: growth.idle,
                ceiling: growth.ceiling,
                steps: growth
                    .candidates
                    .iter()
                    .map(|candidate| GrowthStep { rules: candidate.rules, search_return: candidate.best })
                    .collect(),
            }),
        };
        let summary = self.conclude(problem, options, found)?;
        remove(&self.file(GROWTH))?;
        Ok(summary)
    }

    /// The return of doing nothing and that of the best plans, from some of the search's start states.
    fn idle_and_ceiling(
        &self,
        problem: &Problem,
        options: SearchOptions,
        progress: &dyn Progress,
    ) -> Result<(f64, f64)> {
        let worlds = self.run_worlds(problem)?;
        let world = worlds.first(problem)?;
        let starts = StartStates::for_search(problem).first(STARTS);
        let idle = search::world_returns(problem, world.as_ref(), &Linear::idle(problem), &starts, options.numerics);
        worlds.check()?;
        Ok((mean(&idle), self.planned(problem, options, &[], progress)?))
    }

    /// The mean return of plans that know some policies.
    fn planned(
        &self,
        problem: &Problem,
        options: SearchOptions,
        kernels: &[FuzzyKernel],
        progress: &dyn Progress,
    ) -> Result<f64> {
        let worlds = self.run_worlds(problem)?;
        let world = worlds.first(problem)?;
        let starts = StartStates::for_search(problem).first(STARTS);
        let policies: Vec<&dyn Policy> = kernels.iter().map(|kernel| kernel as &dyn Policy).collect();
        let settings = PlanSettings { budget: Ceiling::budget(problem, None), ..PlanSettings::default() };
        let plans = plan_returns(problem, world.as_ref(), &starts, &policies, settings, options.numerics, progress)?;
        worlds.check()?;
        Ok(mean(&plans.returns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn growth(bests: &[f64]) -> (GrowthFile, Problem) {
        let mut problem = Problem::benchmark("mountain-car").unwrap();
        problem.policy.grow = true;
        problem.policy.rules = 1;
        let policy: FuzzyPolicy =
            serde_json::from_str(r#"{"states": [{"name": "x", "unit": ""}], "mirrored": false, "actions": []}"#)
                .unwrap();
        let candidates = bests.iter().enumerate().map(|(index, &best)| Candidate {
            rules: index + 1,
            best,
            stalled: false,
            policy: policy.clone(),
            history: Vec::new(),
        });
        let file = GrowthFile {
            problem: String::new(),
            world_sha256: String::new(),
            prune: true,
            idle: -60.0,
            ceiling: -40.0,
            candidates: candidates.collect(),
        };
        (file, problem)
    }

    /// One percent of the way from -60 to -40 is 0.2.
    #[test]
    fn rules_are_added_until_another_one_no_longer_pays() {
        let goes_on = |bests: &[f64]| {
            let (file, problem) = growth(bests);
            file.goes_on(&problem)
        };
        assert!(goes_on(&[]) && goes_on(&[-55.0]) && goes_on(&[-55.0, -45.0]));
        assert!(!goes_on(&[-55.0, -45.0, -44.9]), "0.1 does not pay");
        assert!(!goes_on(&[-55.0, -45.0, -46.0]), "a loss does not pay");
        assert!(!goes_on(&[-40.1]), "within the tolerance of the ceiling");
        assert!(!goes_on(&[-55.0, -54.0, -53.0, -52.0, -51.0, -50.0, -49.0, -48.0]), "8 rules are the most");
    }

    #[test]
    fn the_simplest_policy_within_the_tolerance_is_chosen() {
        let chosen = |bests: &[f64]| {
            let (file, problem) = growth(bests);
            file.chosen(&problem).map(|candidate| candidate.rules)
        };
        assert_eq!(chosen(&[-55.0, -45.0, -44.9]), Some(2));
        assert_eq!(chosen(&[-55.0, -45.0, -43.0]), Some(3));
        assert_eq!(chosen(&[-55.0, -45.0, -46.0]), Some(2));
        assert_eq!(chosen(&[]), None);
    }
}
