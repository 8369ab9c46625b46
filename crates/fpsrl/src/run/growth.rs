//! Rule growth and the front: searches with ever more rules (section 5.1 of the paper), and of each number of rules the
//! policies that remain when conditions are taken away.
//!
//! What pays is measured on the way from doing nothing, all actions in the middle of their limits, to the ceiling that
//! plans find: another rule must bring at least the tolerance's share of it. Growing ends when two more steps have not
//! paid, because some plants need two rules more at once. The result of `--rules auto` is not the best score but the
//! policy with the fewest conditions within the tolerance of it: the knee of the front.
//!
//! `growth.json` holds the searches that are finished, so that an interruption costs none of them; it goes when all are.
//! `front/` holds what came of it: a table, `front.json`, and a policy file for each of its points.

use serde::{Deserialize, Serialize};

use super::checkpoint::Checkpoint;
use super::directory::{CHECKPOINT, CHECKPOINT_ROWS, GROWTH, RunDirectory, WORLD, remove};
use super::stages::{Found, mean};
use crate::baseline::Linear;
use crate::baseline::pso_p::{PlanSettings, plan_returns};
use crate::error::{Error, Result};
use crate::figures::{Ceiling, GrowthStep, RuleGrowth, Summary};
use crate::files;
use crate::policy::{FuzzyKernel, FuzzyPolicy, Policy};
use crate::problem::{Problem, WrittenProblem};
use crate::progress::Progress;
use crate::search::methods;
use crate::search::race::RaceFigures;
use crate::search::{self, Ending, FrontPoint, SearchOptions, SearchRecord, none_simpler_and_better, thin_out};
use crate::world::World;

/// Steps of growth that may bring nothing before it ends.
const WITHOUT_GAIN: usize = 2;

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
    /// Of a race: its gap, its start states and its tries.
    race: Option<RaceFigures>,
    /// What the policy earns from the start states of the ceiling.
    beside_ceiling: f64,
    /// The policy itself and what remains of it without some conditions.
    points: Vec<FrontPoint>,
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
        let steps = problem.policy.rule_step();
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
        SearchOptions { checkpoint_every: options.checkpoint_every, ..SearchOptions::of(&problem.search, self.prune) }
    }

    /// What another rule must bring.
    fn least_gain(&self, problem: &Problem) -> f64 {
        problem.policy.rules_tolerance * (self.ceiling - self.idle).max(0.0)
    }

    /// Whether another rule is worth a search. A front up to a given number of rules leaves none of them out.
    fn goes_on(&self, problem: &Problem) -> bool {
        let Some(last) = self.candidates.last() else { return true };
        if !problem.policy.grow {
            return last.rules + problem.policy.rule_step() <= problem.policy.rules;
        }
        let room = last.rules + problem.policy.rule_step() <= problem.policy.most_rules;
        let gain = self.least_gain(problem);
        let best_of = |candidates: &[Candidate]| {
            candidates.iter().map(|candidate| candidate.best).fold(f64::NEG_INFINITY, f64::max)
        };
        let best = best_of(&self.candidates);
        let earlier = self.candidates.len().saturating_sub(WITHOUT_GAIN);
        let paid = earlier == 0 || best - best_of(&self.candidates[..earlier]) >= gain;
        let reached = |candidate: &Candidate| candidate.beside_ceiling >= self.ceiling - gain;
        room && paid && !self.candidates.iter().any(reached)
    }

    /// The front of all points.
    fn front(&self) -> Vec<FrontPoint> {
        none_simpler_and_better(self.candidates.iter().flat_map(|candidate| candidate.points.clone()).collect())
    }

    /// The simplest point of a front within the tolerance of its best one.
    fn knee<'f>(&self, problem: &Problem, front: &'f [FrontPoint]) -> Option<&'f FrontPoint> {
        let best = front.last()?.fitness;
        front.iter().find(|point| point.fitness >= best - self.least_gain(problem))
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
                let idle = self.earned_beside_ceiling(problem, options, &Linear::idle(&problem.system))?;
                // Who asked for a number of rules gets it: only growth must know when to end.
                let ceiling = match problem.policy.grow {
                    true => self.planned(problem, options, &[], progress)?,
                    false => idle,
                };
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
            now.policy.front = false;
            now.policy.rules = problem.policy.rule_step() * (growth.candidates.len() + 1);
            // A kill may leave the checkpoint of a search that is in the file already.
            let from = checkpoint.take().filter(|checkpoint| checkpoint.problem == now);
            let Found { candidates, best, ending, history, race, .. } = self.conduct(&now, options, from, progress)?;
            let policy = candidates.into_iter().next().ok_or(Error::Internal("a search found no policy"))?;
            let stalled = ending == Ending::Stalled;
            let beside_ceiling = self.earned_beside_ceiling(problem, options, &FuzzyKernel::new(&policy))?;
            if problem.policy.grow {
                // Plans that have policies to begin from reach further than those that begin from nothing.
                let known = growth.candidates.iter().map(|candidate| &candidate.policy).chain([&policy]);
                let kernels: Vec<FuzzyKernel> = known.map(FuzzyKernel::new).collect();
                growth.ceiling = growth.ceiling.max(self.planned(problem, options, &kernels, progress)?);
            }
            // Its worlds are on lanes once more here: a step of growth takes far longer.
            let source = self.run_worlds(&now)?;
            let worlds = source.on_lanes(&now.system, now.search.caution)?;
            let worlds: Vec<&dyn World> = worlds.iter().map(Box::as_ref).collect();
            let space = methods::space(&now.system, &now.policy, &now.search, &self.transitions(&now)?);
            let points = thin_out(&now.system, &now.search, &space, &worlds, options, &policy, progress)?;
            source.check()?;
            growth.candidates.push(Candidate {
                rules: now.policy.rules,
                best,
                stalled,
                policy,
                history,
                race,
                beside_ceiling,
                points,
            });
            files::write_json(&self.file(GROWTH), &growth)?;
            remove(&self.file(CHECKPOINT))?;
            remove(&self.file(CHECKPOINT_ROWS))?;
        }
        let front = growth.front();
        let last = growth.candidates.last().ok_or(Error::Internal("rules grew to none"))?;
        // Who asked for a number of rules gets it; the front is there to look at.
        let chosen = match problem.policy.grow {
            true => growth.knee(problem, &front).map(|point| (point.policy.clone(), point.rules)),
            false => None,
        };
        let (chosen, rules) = chosen.unwrap_or_else(|| (last.policy.clone(), last.rules));
        let searched = growth.candidates.iter().find(|candidate| candidate.rules == rules).unwrap_or(last);
        let searches = || growth.candidates.iter().filter_map(|candidate| candidate.history.last());
        // If a judge refuses it, the other points are asked, the best first.
        let others = front.iter().rev().map(|point| point.policy.clone()).filter(|policy| *policy != chosen);
        let found = Found {
            candidates: std::iter::once(chosen.clone()).chain(others).collect(),
            best: searched.best,
            ending: if searched.stalled { Ending::Stalled } else { Ending::Finished },
            history: searched.history.clone(),
            model_steps: searches().map(|last| last.model_steps).sum(),
            seconds: searches().map(|last| last.seconds).sum(),
            race: searched.race,
            growth: problem.policy.grow.then(|| RuleGrowth {
                tolerance: problem.policy.rules_tolerance,
                idle: growth.idle,
                ceiling: growth.ceiling,
                steps: growth
                    .candidates
                    .iter()
                    .map(|candidate| GrowthStep { rules: candidate.rules, search_return: candidate.best })
                    .collect(),
            }),
            front: Some(front),
        };
        let summary = self.conclude(problem, options, found)?;
        remove(&self.file(GROWTH))?;
        Ok(summary)
    }

    /// What a policy earns from the start states that the ceiling is found from.
    fn earned_beside_ceiling(&self, problem: &Problem, options: SearchOptions, policy: &dyn Policy) -> Result<f64> {
        let worlds = self.run_worlds(problem)?;
        let world = worlds.first(&problem.system)?;
        let starts = problem.search_starts().first(STARTS);
        let returns = search::world_returns(&problem.system, world.as_ref(), policy, &starts, options.numerics);
        worlds.check()?;
        Ok(mean(&returns))
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
        let world = worlds.first(&problem.system)?;
        let starts = problem.search_starts().first(STARTS);
        let policies: Vec<&dyn Policy> = kernels.iter().map(|kernel| kernel as &dyn Policy).collect();
        let settings = PlanSettings {
            budget: Ceiling::budget(&problem.system, problem.world.process.is_some(), None),
            ..PlanSettings::default()
        };
        let plans =
            plan_returns(&problem.system, world.as_ref(), &starts, &policies, settings, options.numerics, progress)?;
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
            race: None,
            beside_ceiling: best,
            // Of each policy, one with half of its conditions that earns half as much.
            points: [(2, 0.0), (1, 3.0)]
                .map(|(each, loss)| FrontPoint {
                    rules: index + 1,
                    conditions: each * (index + 1),
                    fitness: best - loss,
                    policy: policy.clone(),
                })
                .to_vec(),
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
        assert!(goes_on(&[-55.0, -45.0, -44.9]), "one step without a gain may be followed by one with");
        assert!(!goes_on(&[-55.0, -45.0, -44.9, -45.0]), "two are enough");
        assert!(goes_on(&[-55.0, -45.0, -46.0, -44.0]));
        assert!(!goes_on(&[-40.1]), "within the tolerance of the ceiling");
        assert!(!goes_on(&[-55.0, -54.0, -53.0, -52.0, -51.0, -50.0, -49.0, -48.0]), "8 rules are the most");
    }

    #[test]
    fn a_front_up_to_a_number_of_rules_leaves_none_out() {
        let (file, mut problem) = growth(&[-55.0, -55.0, -55.0]);
        problem.policy.grow = false;
        problem.policy.rules = 3;
        assert!(!file.goes_on(&problem));
        problem.policy.rules = 4;
        assert!(file.goes_on(&problem));
    }

    #[test]
    fn the_point_with_the_fewest_conditions_within_the_tolerance_is_chosen() {
        let chosen = |bests: &[f64]| {
            let (file, problem) = growth(bests);
            let front = file.front();
            assert!(front.windows(2).all(|pair| pair[0].conditions < pair[1].conditions));
            assert!(front.windows(2).all(|pair| pair[0].fitness < pair[1].fitness));
            file.knee(&problem, &front).map(|point| point.conditions)
        };
        assert_eq!(chosen(&[-55.0, -45.0, -44.9]), Some(4));
        assert_eq!(chosen(&[-55.0, -45.0, -43.0]), Some(6));
        // Three rules with half of their conditions do what two do with all of theirs.
        assert_eq!(chosen(&[-55.0, -45.0, -42.1]), Some(6));
        assert_eq!(chosen(&[-55.0, -45.0, -41.9, -38.85]), Some(8));
        assert_eq!(chosen(&[]), None);
    }
}
