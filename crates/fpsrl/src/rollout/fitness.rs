//! The fitness of a policy: the mean discounted return over fixed start states (equations 5 and 6 of the paper).
//!
//! A policy that is only asked to beat a known fitness is given up as soon as it provably cannot: rewards have a known
//! maximum, so what a rollout may still gain is bounded. The order of work makes that bound fall fast:
//!
//! - All start states advance together, because early rewards weigh most.
//! - A lane that earns (almost) the maximum is parked: while it does, advancing it would tell nothing that the bound does
//!   not assume already. Only lanes that lose go on. When none is left and the policy may still win, parked lanes go on
//!   to their end, a few at a time, those that were parked first first: they have most to lose.
//! - Beyond [`BLOCK`] start states they advance in blocks, those that were hardest before first.
//!
//! Lanes do not depend on each other, and their returns are added up in one fixed order at the end: so a value
//! is the same to the last bit whatever was pruned or parked on the way.

use super::{Lanes, StartStates};
use crate::policy::Policy;
use crate::simd::Numerics;
use crate::world::World;

/// Start states that advance together. Their states, actions and rewards fit into the first-level cache.
const BLOCK: usize = 512;

/// Steps between two looks at the bound.
const ROUNDS_BETWEEN_CHECKS: usize = 4;

/// A lane is parked if it loses no more than this share of the most that any lane has lost in a step.
const PARKING: f64 = 0.02;

/// Parked lanes that go on together: two vectors of AVX2, which cost as much as one lane.
const BATCH: usize = 16;

/// More than all roundings of a return together can amount to, relative to the sums involved.
const ROUNDING: f64 = 1e-9;

/// The result of scoring one policy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fitness {
    /// The mean return; none if the policy was given up because it cannot beat what it had to beat.
    pub value: Option<f64>,
    /// Steps that were taken, a step of one lane counted once.
    pub model_steps: u64,
}

/// Scores policies on a world from fixed start states.
pub struct FitnessFunction<'a> {
    world: &'a dyn World,
    numerics: Numerics,
    starts: Vec<Vec<f32>>,
    count: usize,
    /// The order in which start states are rolled out.
    order: Vec<usize>,
    /// γᵏ
    discounts: Vec<f64>,
    /// Σ γʲ for j from k to T-1
    tails: Vec<f64>,
}

/// What a thread needs to score policies: allocated once, used for many.
#[derive(Debug)]
pub struct Workspace {
    lanes: Lanes,
    /// How far each lane has come, in the order of the lanes.
    rollouts: Vec<Rollout>,
    parked: Vec<Rollout>,
    /// The states of parked lanes, one after another.
    parked_states: Vec<f32>,
    /// The return of each start state.
    returns: Vec<f64>,
}

/// How far a lane has come.
#[derive(Clone, Copy, Debug)]
struct Rollout {
    /// Which start state it came from.
    origin: usize,
    /// Steps that it has taken.
    step: usize,
    /// Its discounted rewards so far.
    sum: f64,
}

impl Workspace {
    /// The return from each start state of the policy that was scored last; meaningless if it was given up.
    pub fn returns(&self) -> &[f64] {
        &self.returns
    }
}

impl<'a> FitnessFunction<'a> {
    /// The fitness from `starts` over `horizon` steps with discount γ.
    pub fn new(world: &'a dyn World, starts: &StartStates, horizon: usize, discount: f64, numerics: Numerics) -> Self {
        let discounts: Vec<f64> = (0..horizon).map(|step| discount.powi(step as i32)).collect();
        let mut tails = vec![0.0; horizon + 1];
        for step in (0..horizon).rev() {
            tails[step] = tails[step + 1] + discounts[step];
        }
        Self {
            world,
            numerics,
            starts: (0..starts.state_count())
                .map(|variable| starts.column(variable).iter().map(|&value| value as f32).collect())
                .collect(),
            count: starts.len(),
            order: (0..starts.len()).collect(),
            discounts,
            tails,
        }
    }

    /// Room for one thread.
    pub fn workspace(&self) -> Workspace {
        let block = self.count.min(BLOCK);
        let states = self.world.state_count();
        Workspace {
            lanes: Lanes::new(states, self.world.action_count(), block),
            rollouts: Vec::with_capacity(block),
            parked: Vec::with_capacity(block),
            parked_states: Vec::with_capacity(block * states),
            returns: vec![0.0; self.count],
        }
    }

    /// Number of start states.
    pub fn start_count(&self) -> usize {
        self.count
    }

    /// The order in which start states are rolled out. It changes what pruning saves, never a result.
    pub fn set_order(&mut self, order: Vec<usize>) {
        debug_assert_eq!(order.len(), self.count);
        self.order = order;
    }

    /// The order in which start states are rolled out.
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    /// The return from each start state, in their order.
    pub fn returns<'w>(&self, policy: &dyn Policy, workspace: &'w mut Workspace) -> &'w [f64] {
        self.fitness(policy, f64::NEG_INFINITY, workspace);
        &workspace.returns
    }

    /// The mean return, or none if it does not exceed `to_beat`.
    ///
    /// The value is the same to the last bit whatever is to be beaten. A policy that does not exceed `to_beat` may
    /// still be scored in full.
    pub fn fitness(&self, policy: &dyn Policy, to_beat: f64, workspace: &mut Workspace) -> Fitness {
        let best_return = self.world.largest_reward() * self.tails[0];
        let goal = to_beat * self.count as f64;
        let mut finished = Sum::default();
        let mut model_steps = 0;
        for (block, origins) in self.order.chunks(BLOCK).enumerate() {
            let untouched = self.count - block * BLOCK - origins.len();
            let mut others = finished;
            others.add(untouched as f64 * best_return);
            if !self.roll(policy, origins, others, goal, workspace, &mut model_steps) {
                return Fitness { value: None, model_steps };
            }
            origins.iter().for_each(|&origin| finished.add(workspace.returns[origin]));
        }
        // Always added up in the order of the start states, so that the order of rolling does not show.
        let sum: f64 = workspace.returns.iter().sum();
        Fitness { value: Some(sum / self.count as f64), model_steps }
    }

    /// Rolls a block of start states out; false if together with `others` they cannot exceed `goal`.
    fn roll(
        &self,
        policy: &dyn Policy,
        origins: &[usize],
        others: Sum,
        goal: f64,
        workspace: &mut Workspace,
        model_steps: &mut u64,
    ) -> bool {
        let Workspace { lanes, rollouts, parked, parked_states, returns } = workspace;
        let horizon = self.discounts.len();
        let largest = self.world.largest_reward();
        // What a rollout comes to if it earns the maximum from now on.
        let at_best = |rollout: &Rollout| rollout.sum + largest * self.tails[rollout.step];
        lanes.set_live(origins.len());
        for (variable, column) in self.starts.iter().enumerate() {
            for (to, &from) in lanes.state_mut(variable).iter_mut().zip(origins) {
                *to = column[from];
            }
        }
        rollouts.clear();
        rollouts.extend(origins.iter().map(|&origin| Rollout { origin, step: 0, sum: 0.0 }));
        parked.clear();
        parked_states.clear();
        let mut settled = others;
        let mut parked_sum = Sum::default();
        let mut next_parked = 0;
        // Lanes are parked only where something can be pruned, and not before a lane has been seen to lose.
        let mut parking = goal > f64::NEG_INFINITY;
        let mut most_lost = 0.0f64;
        let mut round = 0usize;
        while lanes.live() > 0 {
            policy.act(lanes, self.numerics);
            self.world.advance(lanes, self.numerics);
            *model_steps += lanes.live() as u64;
            let mut last = false;
            for (rollout, &reward) in rollouts.iter_mut().zip(lanes.rewards()) {
                rollout.sum += self.discounts[rollout.step] * f64::from(reward);
                rollout.step += 1;
                last |= rollout.step == horizon;
            }
            if parking {
                let least = lanes.rewards().iter().copied().fold(f32::INFINITY, f32::min);
                most_lost = most_lost.max(largest - f64::from(least));
            }
            let park_from =
                if parking && most_lost > 0.0 { (largest - PARKING * most_lost) as f32 } else { f32::INFINITY };
            // In most rounds no lane leaves, which is quickly seen without looking at each of them.
            let leaving = last
                || lanes.absorbed().iter().fold(false, |any, &absorbed| any | (absorbed != 0.0))
                || lanes.rewards().iter().fold(false, |any, &reward| any | (reward >= park_from));
            // Backwards, so that the lane that takes a leaving one's place has been looked at already.
            for lane in (0..if leaving { lanes.live() } else { 0 }).rev() {
                let rollout = rollouts[lane];
                let reward = lanes.rewards()[lane];
                if rollout.step == horizon || lanes.absorbed()[lane] != 0.0 {
                    // At the horizon the tail is 0.
                    let value = rollout.sum + self.tails[rollout.step] * f64::from(lanes.later_rewards()[lane]);
                    returns[rollout.origin] = value;
                    settled.add(value);
                } else if reward >= park_from {
                    parked_sum.add(at_best(&rollout));
                    parked.push(rollout);
                    parked_states.extend((0..self.starts.len()).map(|variable| lanes.state(variable)[lane]));
                } else {
                    continue;
                }
                lanes.retire(lane);
                rollouts.swap_remove(lane);
            }
            round += 1;
            let may_give_up = goal > f64::NEG_INFINITY && round.is_multiple_of(ROUNDS_BETWEEN_CHECKS);
            if may_give_up || lanes.live() == 0 {
                let mut best = settled;
                best.join(parked_sum);
                rollouts.iter().for_each(|rollout| best.add(at_best(rollout)));
                if best.at_most() <= goal {
                    return false;
                }
            }
            if lanes.live() == 0 && next_parked < parked.len() {
                parking = false;
                let variables = self.starts.len();
                let batch = next_parked..parked.len().min(next_parked + BATCH);
                lanes.set_live(batch.len());
                for (lane, index) in batch.clone().enumerate() {
                    for variable in 0..variables {
                        lanes.state_mut(variable)[lane] = parked_states[index * variables + variable];
                    }
                }
                rollouts.extend_from_slice(&parked[batch.clone()]);
                next_parked = batch.end;
                parked_sum = Sum::default();
                parked[next_parked..].iter().for_each(|rollout| parked_sum.add(at_best(rollout)));
            }
        }
        true
    }
}

/// A sum with the size of its terms, which bounds what their rounding can have cost.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    value: f64,
    size: f64,
}

impl Sum {
    fn add(&mut self, term: f64) {
        self.value += term;
        self.size += term.abs();
    }

    fn join(&mut self, other: Sum) {
        self.value += other.value;
        self.size += other.size;
    }

    /// No smaller than the sum without rounding.
    fn at_most(&self) -> f64 {
        self.value + ROUNDING * self.size
    }
}
