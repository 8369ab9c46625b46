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
//!
//! A fitness may be asked of several worlds at once, the members of an ensemble. The start states are dealt out to them,
//! so that several worlds cost no more than one, and all roll together, so that the bound falls as fast. [`Risk`]
//! says how the mean returns in the worlds become one number. It is never above their mean (or, for the worst, above any
//! of them), and that is what the bound uses.

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

/// How the mean returns in several worlds become one fitness.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Risk {
    /// Their mean, less so many of their standard deviations; 0 is the plain mean.
    MeanLessSpread(f64),
    /// The worst of them.
    Worst,
}

impl Risk {
    /// One number for the mean returns in several worlds.
    ///
    /// ```
    /// use fpsrl_engine::rollout::Risk;
    /// assert_eq!(Risk::MeanLessSpread(1.0).of(&[-1.0, -3.0]), -3.0);
    /// assert_eq!(Risk::Worst.of(&[-1.0, -5.0]), -5.0);
    /// ```
    pub fn of(&self, returns: &[f64]) -> f64 {
        match self {
            Risk::Worst => returns.iter().copied().fold(f64::INFINITY, f64::min),
            Risk::MeanLessSpread(spreads) => {
                let count = returns.len() as f64;
                let mean = returns.iter().sum::<f64>() / count;
                if *spreads == 0.0 || returns.len() == 1 {
                    return mean;
                }
                let variance = returns.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
                mean - spreads * variance.sqrt()
            }
        }
    }

    /// The same for means from different start states, whose standard errors are known: what chance alone makes of the
    /// spread is no disagreement of the worlds and is taken off it.
    ///
    /// ```
    /// use fpsrl_engine::rollout::Risk;
    /// let outlook = Risk::MeanLessSpread(1.0);
    /// assert_eq!(outlook.of_samples(&[-1.0, -3.0], &[0.0, 0.0]), -3.0);
    /// assert_eq!(outlook.of_samples(&[-1.0, -3.0], &[2.0, 2.0]), -2.0);
    /// ```
    pub fn of_samples(&self, means: &[f64], errors: &[f64]) -> f64 {
        match self {
            Risk::MeanLessSpread(spreads) if *spreads > 0.0 && means.len() > 1 => {
                let count = means.len() as f64;
                let mean = means.iter().sum::<f64>() / count;
                let variance = means.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
                let chance = errors.iter().map(|error| error * error).sum::<f64>() / count * (count - 1.0) / count;
                mean - spreads * (variance - chance).max(0.0).sqrt()
            }
            _ => self.of(means),
        }
    }
}

/// The result of scoring one policy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fitness {
    /// The mean return; none if the policy was given up because it cannot beat what it had to beat.
    pub value: Option<f64>,
    /// Steps that were taken, a step of one lane counted once.
    pub model_steps: u64,
}

/// Scores policies on one world or several from fixed start states.
pub struct FitnessFunction<'a> {
    worlds: Vec<&'a dyn World>,
    outlook: Risk,
    /// No reward in any of the worlds is larger.
    largest_reward: f64,
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
    /// What rolls in each world.
    rolling: Vec<Rolling>,
    /// The return of each start state.
    returns: Vec<f64>,
    /// The mean return in each world, and its standard error.
    means: Vec<f64>,
    errors: Vec<f64>,
}

/// Lanes that roll in one world.
#[derive(Debug)]
struct Rolling {
    lanes: Lanes,
    /// How far each lane has come, in the order of the lanes.
    rollouts: Vec<Rollout>,
    parked: Vec<Rollout>,
    /// The states of parked lanes, one after another.
    parked_states: Vec<f32>,
    /// The first parked lane that has not gone on yet.
    next_parked: usize,
    /// What lanes that are through have earned.
    settled: Sum,
    /// Start states of this world that have not begun yet.
    waiting: usize,
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
    /// Start states that advance together; only of more than that does the order matter.
    pub const TOGETHER: usize = BLOCK;

    /// The fitness from `starts` over `horizon` steps with discount γ.
    pub fn new(world: &'a dyn World, starts: &StartStates, horizon: usize, discount: f64, numerics: Numerics) -> Self {
        Self::of_several(vec![world], Risk::MeanLessSpread(0.0), starts, horizon, discount, numerics)
    }

    /// The fitness in several worlds, which have the same variables: the first start states are for the first world, and
    /// so on. Worlds for which there is no start state do not count.
    ///
    /// # Panics
    /// If there is no world.
    pub fn of_several(
        mut worlds: Vec<&'a dyn World>,
        outlook: Risk,
        starts: &StartStates,
        horizon: usize,
        discount: f64,
        numerics: Numerics,
    ) -> Self {
        assert!(!worlds.is_empty(), "a fitness needs a world");
        worlds.truncate(starts.len().max(1));
        let discounts: Vec<f64> = (0..horizon).map(|step| discount.powi(step as i32)).collect();
        let mut tails = vec![0.0; horizon + 1];
        for step in (0..horizon).rev() {
            tails[step] = tails[step + 1] + discounts[step];
        }
        Self {
            largest_reward: worlds.iter().map(|world| world.largest_reward()).fold(f64::NEG_INFINITY, f64::max),
            worlds,
            outlook,
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
        let rolling = |world: &&dyn World| Rolling {
            lanes: Lanes::new(world.state_count(), world.action_count(), block),
            rollouts: Vec::with_capacity(block),
            parked: Vec::with_capacity(block),
            parked_states: Vec::with_capacity(block * world.state_count()),
            next_parked: 0,
            settled: Sum::default(),
            waiting: 0,
        };
        Workspace {
            rolling: self.worlds.iter().map(rolling).collect(),
            returns: vec![0.0; self.count],
            means: vec![0.0; self.worlds.len()],
            errors: vec![0.0; self.worlds.len()],
        }
    }

    /// The start states of a world.
    fn share(&self, world: usize) -> std::ops::Range<usize> {
        let worlds = self.worlds.len();
        self.count * world / worlds..self.count * (world + 1) / worlds
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
        for (world, rolling) in workspace.rolling.iter_mut().enumerate() {
            rolling.settled = Sum::default();
            rolling.waiting = self.share(world).len();
        }
        let mut model_steps = 0;
        for origins in self.order.chunks(BLOCK) {
            if !self.roll(policy, origins, to_beat, workspace, &mut model_steps) {
                return Fitness { value: None, model_steps };
            }
        }
        // Always added up in the order of the start states, so that the order of rolling does not show.
        for world in 0..self.worlds.len() {
            let returns = &workspace.returns[self.share(world)];
            let count = returns.len() as f64;
            let mean = returns.iter().sum::<f64>() / count;
            let variance = returns.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
            workspace.means[world] = mean;
            workspace.errors[world] = (variance / count).sqrt();
        }
        Fitness { value: Some(self.outlook.of_samples(&workspace.means, &workspace.errors)), model_steps }
    }

    /// Whether all that may still come does not exceed what is to be beaten.
    fn is_hopeless(&self, rolling: &[Rolling], to_beat: f64) -> bool {
        let at_most = |(world, rolling): (usize, &Rolling)| {
            rolling.at_best(self.largest_reward, &self.tails).at_most() / self.share(world).len() as f64
        };
        let mut bounds = rolling.iter().enumerate().map(at_most);
        match self.outlook {
            Risk::Worst => bounds.any(|bound| bound <= to_beat),
            Risk::MeanLessSpread(_) => {
                let mut sum = Sum::default();
                bounds.for_each(|bound| sum.add(bound));
                sum.at_most() <= to_beat * rolling.len() as f64
            }
        }
    }

    /// Rolls a block of start states out; false if `to_beat` can no longer be exceeded.
    fn roll(
        &self,
        policy: &dyn Policy,
        origins: &[usize],
        to_beat: f64,
        workspace: &mut Workspace,
        model_steps: &mut u64,
    ) -> bool {
        let Workspace { rolling, returns, .. } = workspace;
        for (world, rolling) in rolling.iter_mut().enumerate() {
            let share = self.share(world);
            rolling.begin(&self.starts, origins.iter().copied().filter(|origin| share.contains(origin)));
        }
        let prunable = to_beat > f64::NEG_INFINITY;
        // Lanes are parked only where something can be pruned, and not before a lane has been seen to lose.
        let mut parking = prunable;
        let mut most_lost = 0.0f64;
        let mut round = 0usize;
        loop {
            for (rolling, world) in rolling.iter_mut().zip(&self.worlds) {
                if rolling.lanes.live() == 0 {
                    continue;
                }
                policy.act(&mut rolling.lanes, self.numerics);
                world.advance(&mut rolling.lanes, self.numerics);
                *model_steps += rolling.lanes.live() as u64;
                let last = rolling.earn(&self.discounts);
                if parking {
                    most_lost = most_lost.max(self.largest_reward - rolling.least_reward());
                }
                let park_from = match parking && most_lost > 0.0 {
                    true => (self.largest_reward - PARKING * most_lost) as f32,
                    false => f32::INFINITY,
                };
                rolling.part(last, park_from, &self.tails, returns);
            }
            round += 1;
            let all_rest = rolling.iter().all(|rolling| rolling.lanes.live() == 0);
            let may_give_up = prunable && round.is_multiple_of(ROUNDS_BETWEEN_CHECKS);
            if (may_give_up || all_rest) && self.is_hopeless(rolling, to_beat) {
                return false;
            }
            if all_rest {
                parking = false;
                let Some(next) = rolling.iter_mut().find(|rolling| rolling.next_parked < rolling.parked.len()) else {
                    return true;
                };
                next.go_on(self.starts.len());
            }
        }
    }
}

impl Rolling {
    /// Puts start states on the lanes.
    fn begin(&mut self, starts: &[Vec<f32>], origins: impl Iterator<Item = usize>) {
        self.rollouts.clear();
        self.rollouts.extend(origins.map(|origin| Rollout { origin, step: 0, sum: 0.0 }));
        self.lanes.set_live(self.rollouts.len());
        for (variable, column) in starts.iter().enumerate() {
            for (to, from) in self.lanes.state_mut(variable).iter_mut().zip(&self.rollouts) {
                *to = column[from.origin];
            }
        }
        self.waiting -= self.rollouts.len();
        self.parked.clear();
        self.parked_states.clear();
        self.next_parked = 0;
    }

    /// Adds the rewards of the last step up; true if a lane has come to its end.
    fn earn(&mut self, discounts: &[f64]) -> bool {
        let mut last = false;
        for (rollout, &reward) in self.rollouts.iter_mut().zip(self.lanes.rewards()) {
            rollout.sum += discounts[rollout.step] * f64::from(reward);
            rollout.step += 1;
            last |= rollout.step == discounts.len();
        }
        last
    }

    fn least_reward(&self) -> f64 {
        f64::from(self.lanes.rewards().iter().copied().fold(f32::INFINITY, f32::min))
    }

    /// Takes the lanes off that are through, and parks those that have earned enough.
    fn part(&mut self, last: bool, park_from: f32, tails: &[f64], returns: &mut [f64]) {
        let Self { lanes, rollouts, parked, parked_states, settled, .. } = self;
        // In most rounds no lane leaves, which is quickly seen without looking at each of them.
        let leaving = last
            || lanes.absorbed().iter().fold(false, |any, &absorbed| any | (absorbed != 0.0))
            || lanes.rewards().iter().fold(false, |any, &reward| any | (reward >= park_from));
        let horizon = tails.len() - 1;
        // Backwards, so that the lane that takes a leaving one's place has been looked at already.
        for lane in (0..if leaving { lanes.live() } else { 0 }).rev() {
            let rollout = rollouts[lane];
            let reward = lanes.rewards()[lane];
            if rollout.step == horizon || lanes.absorbed()[lane] != 0.0 {
                // At the horizon the tail is 0.
                let value = rollout.sum + tails[rollout.step] * f64::from(lanes.later_rewards()[lane]);
                returns[rollout.origin] = value;
                settled.add(value);
            } else if reward >= park_from {
                parked.push(rollout);
                parked_states.extend((0..lanes.state_count()).map(|variable| lanes.state(variable)[lane]));
            } else {
                continue;
            }
            lanes.retire(lane);
            rollouts.swap_remove(lane);
        }
    }

    /// What its lanes come to if they earn the maximum from now on.
    fn at_best(&self, largest: f64, tails: &[f64]) -> Sum {
        let mut best = self.settled;
        best.add(self.waiting as f64 * largest * tails[0]);
        for rollout in self.rollouts.iter().chain(&self.parked[self.next_parked..]) {
            best.add(rollout.sum + largest * tails[rollout.step]);
        }
        best
    }

    /// Lets the next parked lanes go on.
    fn go_on(&mut self, variables: usize) {
        let batch = self.next_parked..self.parked.len().min(self.next_parked + BATCH);
        self.lanes.set_live(batch.len());
        for (lane, index) in batch.clone().enumerate() {
            for variable in 0..variables {
                self.lanes.state_mut(variable)[lane] = self.parked_states[index * variables + variable];
            }
        }
        self.rollouts.extend_from_slice(&self.parked[batch.clone()]);
        self.next_parked = batch.end;
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

    /// No smaller than the sum without rounding.
    fn at_most(&self) -> f64 {
        self.value + ROUNDING * self.size
    }
}
