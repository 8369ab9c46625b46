//! Rule growth and the front: searches with ever more rules (section 5.1 of the paper), and of each number of rules the
//! policies that remain when conditions are taken away.
//!
//! What pays is measured on the way from doing nothing, all actions in the middle of their limits, to the ceiling that
//! plans find: another rule must bring at least the tolerance's share of it. Growing ends when two more steps have not
//! paid, because some plants need two rules more at once. The result of `--rules auto` is not the best score but the
//! policy with the fewest conditions within the tolerance of it: the knee of the front.

use serde::{Deserialize, Serialize};

use super::{Begun, Keeper, Outcome, Task};
use crate::PolicySettings;
use crate::baseline::Linear;
use crate::baseline::ceiling::Ceiling;
use crate::baseline::pso_p::{PlanSettings, plan_returns};
use crate::returns::{mean, world_returns};
use crate::search::race::RaceFigures;
use crate::search::{Ending, FrontPoint, SearchRecord, none_simpler_and_better, thin_out};
use fpsrl_base::error::{Error, Result};
use fpsrl_base::progress::Progress;
use fpsrl_engine::policy::{FuzzyKernel, FuzzyPolicy, Policy};
use fpsrl_engine::world::World;

/// Steps of growth that may bring nothing before it ends.
const WITHOUT_GAIN: usize = 2;

/// Start states that the ceiling is found from.
const STARTS: usize = 20;

/// How rules were added.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct RuleGrowth {
    /// What another rule had to bring, as a share of the way from `idle` to `ceiling`.
    pub tolerance: f64,
    /// The return of doing nothing.
    pub idle: f64,
    /// The return of plans.
    pub ceiling: f64,
    /// The searches.
    pub steps: Vec<GrowthStep>,
}

/// A search with so many rules.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct GrowthStep {
    /// Rules for each action.
    pub rules: usize,
    /// The best mean return that it found.
    pub search_return: f64,
}

/// The searches of growing rules that are finished.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Growth {
    idle: f64,
    ceiling: f64,
    candidates: Vec<Candidate>,
}

/// A finished search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Candidate {
    rules: usize,
    best: f64,
    stalled: bool,
    policy: FuzzyPolicy,
    records: Vec<SearchRecord>,
    /// Of a race: its gap, its start states and its tries.
    race: Option<RaceFigures>,
    /// What the policy earns from the start states of the ceiling.
    beside_ceiling: f64,
    /// The policy itself and what remains of it without some conditions.
    points: Vec<FrontPoint>,
}

impl Growth {
    /// What is wrong with one that came from a file and should be of such policies, if anything is.
    pub fn fault(&self, policy: &PolicySettings) -> Option<String> {
        let steps = policy.rule_step();
        self.candidates.iter().enumerate().find_map(|(index, candidate)| {
            let whole =
                candidate.rules == steps * (index + 1) && !candidate.records.is_empty() && candidate.best.is_finite();
            if whole { candidate.policy.fault() } else { Some("its searches are not whole".into()) }
        })
    }

    /// What another rule must bring.
    fn least_gain(&self, policy: &PolicySettings) -> f64 {
        policy.rules_tolerance * (self.ceiling - self.idle).max(0.0)
    }

    /// Whether another rule is worth a search. A front up to a given number of rules leaves none of them out.
    fn goes_on(&self, policy: &PolicySettings) -> bool {
        let Some(last) = self.candidates.last() else { return true };
        if !policy.grow {
            return last.rules + policy.rule_step() <= policy.rules;
        }
        let room = last.rules + policy.rule_step() <= policy.most_rules;
        let gain = self.least_gain(policy);
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
    fn knee<'f>(&self, policy: &PolicySettings, front: &'f [FrontPoint]) -> Option<&'f FrontPoint> {
        let best = front.last()?.fitness;
        front.iter().find(|point| point.fitness >= best - self.least_gain(policy))
    }

    /// What all searches together have found.
    fn outcome(&self, policy: &PolicySettings) -> Result<Outcome> {
        let front = self.front();
        let last = self.candidates.last().ok_or(Error::Internal("rules grew to none"))?;
        // Who asked for a number of rules gets it; the front is there to look at.
        let chosen = match policy.grow {
            true => self.knee(policy, &front).map(|point| (point.policy.clone(), point.rules)),
            false => None,
        };
        let (chosen, rules) = chosen.unwrap_or_else(|| (last.policy.clone(), last.rules));
        let searched = self.candidates.iter().find(|candidate| candidate.rules == rules).unwrap_or(last);
        let searches = || self.candidates.iter().filter_map(|candidate| candidate.records.last());
        // If a judge refuses it, the other points are asked, the best first.
        let others = front.iter().rev().map(|point| point.policy.clone()).filter(|other| *other != chosen);
        Ok(Outcome {
            candidates: std::iter::once(chosen.clone()).chain(others).collect(),
            best: searched.best,
            ending: if searched.stalled { Ending::Stalled } else { Ending::Finished },
            records: searched.records.clone(),
            model_steps: searches().map(|last| last.model_steps).sum(),
            seconds: searches().map(|last| last.seconds).sum(),
            race: searched.race,
            growth: policy.grow.then(|| RuleGrowth {
                tolerance: policy.rules_tolerance,
                idle: self.idle,
                ceiling: self.ceiling,
                steps: self
                    .candidates
                    .iter()
                    .map(|candidate| GrowthStep { rules: candidate.rules, search_return: candidate.best })
                    .collect(),
            }),
            front: Some(front),
        })
    }
}

impl Task<'_> {
    /// Searches with the fewest rules, then with more while they pay; goes on from what is given.
    pub(super) fn grow(&self, begun: Begun, keeper: &mut dyn Keeper, progress: &Progress) -> Result<Outcome> {
        let Begun { growth, mut search } = begun;
        let mut growth = match growth {
            Some(growth) => growth,
            None => {
                let idle = self.earned_beside_ceiling(&Linear::idle(self.system))?;
                // Who asked for a number of rules gets it: only growth must know when to end.
                let ceiling = if self.policy.grow { self.planned(&[], progress)? } else { idle };
                let growth = Growth { idle, ceiling, candidates: Vec::new() };
                keeper.grown(&growth)?;
                growth
            }
        };
        while growth.goes_on(self.policy) {
            let rules = self.policy.rule_step() * (growth.candidates.len() + 1);
            let now = PolicySettings { grow: false, front: false, rules, ..self.policy.clone() };
            // A kill may leave the checkpoint of a search that is finished already.
            let from = search.take().filter(|saved| saved.policy == now);
            let Outcome { candidates, best, ending, records, race, .. } = self.conduct(&now, from, keeper, progress)?;
            let policy = candidates.into_iter().next().ok_or(Error::Internal("a search found no policy"))?;
            let beside_ceiling = self.earned_beside_ceiling(&FuzzyKernel::new(&policy))?;
            if self.policy.grow {
                // Plans that have policies to begin from reach further than those that begin from nothing.
                let known = growth.candidates.iter().map(|candidate| &candidate.policy).chain([&policy]);
                let kernels: Vec<FuzzyKernel> = known.map(FuzzyKernel::new).collect();
                growth.ceiling = growth.ceiling.max(self.planned(&kernels, progress)?);
            }
            // Its worlds are on lanes once more here: a step of growth takes far longer.
            let worlds = self.worlds.on_lanes(self.system, self.search.caution)?;
            let worlds: Vec<&dyn World> = worlds.iter().map(Box::as_ref).collect();
            let space = self.space(&now);
            let points = thin_out(self.system, self.search, &space, &worlds, self.options, &policy, progress)?;
            self.worlds.check()?;
            let stalled = ending == Ending::Stalled;
            growth.candidates.push(Candidate { rules, best, stalled, policy, records, race, beside_ceiling, points });
            keeper.grown(&growth)?;
        }
        growth.outcome(self.policy)
    }

    /// What a policy earns from the start states that the ceiling is found from.
    fn earned_beside_ceiling(&self, policy: &dyn Policy) -> Result<f64> {
        let world = self.worlds.first(self.system)?;
        let starts = self.system.search_starts(0, self.search.start_states).first(STARTS);
        let returns = world_returns(self.system, world.as_ref(), policy, &starts, self.options.numerics);
        self.worlds.check()?;
        Ok(mean(&returns))
    }

    /// The mean return of plans that know some policies.
    fn planned(&self, kernels: &[FuzzyKernel], progress: &Progress) -> Result<f64> {
        let world = self.worlds.first(self.system)?;
        let starts = self.system.search_starts(0, self.search.start_states).first(STARTS);
        let policies: Vec<&dyn Policy> = kernels.iter().map(|kernel| kernel as &dyn Policy).collect();
        let budget = Ceiling::budget(self.system, self.worlds.is_simulator(), None);
        let settings = PlanSettings { budget, ..PlanSettings::default() };
        let numerics = self.options.numerics;
        let plans = plan_returns(self.system, world.as_ref(), &starts, &policies, settings, numerics, progress)?;
        self.worlds.check()?;
        Ok(mean(&plans.returns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn growth(bests: &[f64]) -> (Growth, PolicySettings) {
        let settings = PolicySettings { grow: true, rules: 1, ..PolicySettings::default() };
        let policy: FuzzyPolicy =
            serde_json::from_str(r#"{"states": [{"name": "x", "unit": ""}], "mirrored": false, "actions": []}"#)
                .unwrap();
        let candidates = bests.iter().enumerate().map(|(index, &best)| Candidate {
            rules: index + 1,
            best,
            stalled: false,
            policy: policy.clone(),
            records: Vec::new(),
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
        (Growth { idle: -60.0, ceiling: -40.0, candidates: candidates.collect() }, settings)
    }

    /// One percent of the way from -60 to -40 is 0.2.
    #[test]
    fn rules_are_added_until_another_one_no_longer_pays() {
        let goes_on = |bests: &[f64]| {
            let (growth, policy) = growth(bests);
            growth.goes_on(&policy)
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
        let (growth, mut policy) = growth(&[-55.0, -55.0, -55.0]);
        policy.grow = false;
        policy.rules = 3;
        assert!(!growth.goes_on(&policy));
        policy.rules = 4;
        assert!(growth.goes_on(&policy));
    }

    #[test]
    fn the_point_with_the_fewest_conditions_within_the_tolerance_is_chosen() {
        let chosen = |bests: &[f64]| {
            let (growth, policy) = growth(bests);
            let front = growth.front();
            assert!(front.windows(2).all(|pair| pair[0].conditions < pair[1].conditions));
            assert!(front.windows(2).all(|pair| pair[0].fitness < pair[1].fitness));
            growth.knee(&policy, &front).map(|point| point.conditions)
        };
        assert_eq!(chosen(&[-55.0, -45.0, -44.9]), Some(4));
        assert_eq!(chosen(&[-55.0, -45.0, -43.0]), Some(6));
        // Three rules with half of their conditions do what two do with all of theirs.
        assert_eq!(chosen(&[-55.0, -45.0, -42.1]), Some(6));
        assert_eq!(chosen(&[-55.0, -45.0, -41.9, -38.85]), Some(8));
        assert_eq!(chosen(&[]), None);
    }
}
