//! The front: policies of which none is both simpler and better.
//!
//! A policy that was searched with a given number of rules loses its conditions one after another, each time those that
//! are missed least; what remains is tuned again without them, so that the others take over what they did. Complexity is
//! the number of conditions, mirrored ones counted. Of the policies on the way, for every number of rules, those make the
//! front that earn more than all simpler ones.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{Limits, Search, SearchOptions, Threads, outlook};
use super::{methods, race};
use crate::RuleSpace;
use crate::SearchSettings;
use crate::optimiser::{CmaEs, CmaSettings, Optimiser, Scope};
use fpsrl_base::error::{Error, Result};
use fpsrl_base::progress::{Progress, Stage, Status};
use fpsrl_data::System;
use fpsrl_engine::policy::{Condition, FuzzyKernel, FuzzyPolicy};
use fpsrl_engine::rollout::FitnessFunction;
use fpsrl_engine::world::World;

/// One in so many of the conditions that are left goes at a time: of few a single one.
const AT_A_TIME: usize = 8;

/// Evaluations of the tuning for each parameter, at most so many in all.
const TUNING: usize = 40;
const MOST_TUNING: usize = 1_500;

/// The first step of the tuning: what was taken away has to be made up for, by more than a polish would do.
const TUNING_STEP: f64 = 0.05;

/// A policy on its way to fewer conditions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrontPoint {
    /// Rules for each action, mirrored ones counted.
    pub rules: usize,
    /// Conditions of all rules.
    pub conditions: usize,
    /// Its fitness from start states that it was not searched on.
    #[serde(rename = "return")]
    pub fitness: f64,
    /// The policy.
    pub policy: FuzzyPolicy,
}

/// A policy and those that remain of it when conditions are taken away and the rest is tuned again, the whole one first.
///
/// `space` is the space of the whole policy; the search can be stopped between two of them.
pub fn thin_out(
    system: &System,
    settings: &SearchSettings,
    space: &RuleSpace,
    worlds: &[&dyn World],
    options: SearchOptions,
    policy: &FuzzyPolicy,
    progress: &Progress,
) -> Result<Vec<FrontPoint>> {
    let (first, count) = race::MEETING_PLACE_AND_SIZE;
    let starts = system.search_starts(first, count);
    let (horizon, discount) = (system.horizon(), system.discount());
    let fitness =
        FitnessFunction::of_several(worlds.to_vec(), outlook(settings), &starts, horizon, discount, options.numerics);
    let score = |policy: &FuzzyPolicy| {
        let scored = fitness.fitness(&FuzzyKernel::new(policy), f64::NEG_INFINITY, &mut fitness.workspace());
        scored.value.filter(|value| value.is_finite()).unwrap_or(f64::NEG_INFINITY)
    };
    let point = |policy: FuzzyPolicy, fitness: f64| FrontPoint {
        rules: policy.rule_count(),
        conditions: policy.conditions().len(),
        fitness,
        policy,
    };
    progress.begin(Stage::Front, policy.conditions().len() as u64);
    let mut policy = policy.clone();
    let mut points = vec![point(policy.clone(), score(&policy))];
    loop {
        if progress.stop_requested() {
            return Err(Error::Stopped { stage: "search" });
        }
        let present = first_half(&policy);
        if present.is_empty() {
            progress.end(Stage::Front);
            return Ok(points);
        }
        // What each is missed by, if it alone goes.
        let mut missed: Vec<(f64, Condition)> =
            present.par_iter().map(|&condition| (score(&lacking(&policy, &[condition])), condition)).collect();
        missed.sort_by(|a, b| b.0.total_cmp(&a.0));
        let goes: Vec<Condition> =
            missed.iter().take(present.len().div_ceil(AT_A_TIME)).map(|(_, condition)| *condition).collect();
        policy = lacking(&policy, &goes);
        let untuned = score(&policy);
        let tuned = tune(system, settings, space, worlds, options, &policy)?;
        let after = score(&tuned);
        let fitness = if after > untuned { after } else { untuned };
        if after > untuned {
            policy = tuned;
        }
        points.push(point(policy.clone(), fitness));
        let done = points[0].conditions - points.last().map_or(0, |last| last.conditions);
        progress.update(
            Stage::Front,
            done as u64,
            Status::Thinning { conditions: points[0].conditions - done, value: fitness },
        );
    }
}

/// The conditions of the rules that are searched; those of mirrored rules follow.
fn first_half(policy: &FuzzyPolicy) -> Vec<Condition> {
    let searched = |one: &Condition| !policy.mirrored || one.rule < policy.actions[one.action].rules.len() / 2;
    policy.conditions().into_iter().filter(searched).collect()
}

/// The policy without some conditions and their mirror images.
fn lacking(policy: &FuzzyPolicy, conditions: &[Condition]) -> FuzzyPolicy {
    let mut shorter = policy.clone();
    for one in conditions {
        shorter.take_away(*one);
        if policy.mirrored {
            let half = policy.actions[one.action].rules.len() / 2;
            shorter.take_away(Condition { rule: one.rule + half, ..*one });
        }
    }
    shorter
}

/// The policy tuned in the space of its own conditions.
fn tune(
    system: &System,
    settings: &SearchSettings,
    space: &RuleSpace,
    worlds: &[&dyn World],
    options: SearchOptions,
    policy: &FuzzyPolicy,
) -> Result<FuzzyPolicy> {
    let absent: Vec<Condition> = first_half(&space.blank())
        .into_iter()
        .filter(|one| policy.actions[one.action].rules[one.rule].ignores(one.variable))
        .collect();
    let space = space.without(&absent);
    let position = space.encode(policy).ok_or(Error::Internal("a policy is not of its own space"))?;
    let n = position.len();
    let tuning = CmaSettings {
        population: 0,
        first_step: TUNING_STEP,
        tolerance: 0.0,
        restarts: false,
        // Who searches little does not tune much.
        evaluations: (TUNING * n).min(MOST_TUNING).min(methods::most_evaluations(settings)),
    };
    let scope = race::climbing(worlds.len(), settings.start_states);
    let tuner = Tuner { cma: CmaEs::at(tuning, space.low(), space.high(), system.seed(), &position), scope };
    let threads = Threads::new(system, settings, &space, worlds.to_vec(), options);
    let mut search = Search::new(&space, tuner, threads, Limits::default());
    while search.ending().is_none() {
        search.step()?;
    }
    Ok(search.best().0)
}

/// CMA-ES on a few start states for each member.
struct Tuner {
    cma: CmaEs,
    scope: Scope,
}

impl Optimiser for Tuner {
    type State = <CmaEs as Optimiser>::State;

    fn ask(&mut self) -> &[Vec<f64>] {
        self.cma.ask()
    }

    fn to_beat(&self) -> &[f64] {
        self.cma.to_beat()
    }

    fn scope(&self, _: usize) -> Scope {
        self.scope
    }

    fn tell(&mut self, fitness: &[f64]) {
        self.cma.tell(fitness);
    }

    fn best(&self) -> (&[f64], f64) {
        self.cma.best()
    }

    fn candidates(&self) -> Vec<(&[f64], f64)> {
        self.cma.candidates()
    }

    fn is_finished(&self) -> bool {
        self.cma.is_finished()
    }

    fn state(&self) -> &Self::State {
        self.cma.state()
    }
}

/// The points of which none is both simpler and better than another, the simplest first.
///
/// ```
/// # use fpsrl_engine::policy::FuzzyPolicy;
/// # use fpsrl_search::search::{FrontPoint, none_simpler_and_better};
/// # let policy = FuzzyPolicy { states: vec![], mirrored: false, actions: vec![] };
/// let point = |conditions, fitness| FrontPoint { rules: 1, conditions, fitness, policy: policy.clone() };
/// let front = none_simpler_and_better(vec![point(4, -1.0), point(2, -3.0), point(3, -4.0), point(2, -5.0)]);
/// let found: Vec<(usize, f64)> = front.iter().map(|point| (point.conditions, point.fitness)).collect();
/// assert_eq!(found, [(2, -3.0), (4, -1.0)]);
/// ```
pub fn none_simpler_and_better(mut points: Vec<FrontPoint>) -> Vec<FrontPoint> {
    // Of as many conditions, fewer rules are simpler.
    points.sort_by(|a, b| (a.conditions, a.rules).cmp(&(b.conditions, b.rules)).then(b.fitness.total_cmp(&a.fitness)));
    let mut front: Vec<FrontPoint> = Vec::new();
    for point in points {
        let best = front.last().map_or(f64::NEG_INFINITY, |last| last.fitness);
        if point.fitness > best {
            front.push(point);
        }
    }
    // Of as many conditions, only the best stays: a rule without conditions costs nothing.
    front.dedup_by(|later, earlier| {
        let same = later.conditions == earlier.conditions;
        if same {
            std::mem::swap(later, earlier);
        }
        same
    });
    front
}
