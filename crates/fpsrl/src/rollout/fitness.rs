//! The fitness of a policy: the mean discounted return over fixed start states (equations 5 and 6 of the paper).
//!
//! All start states of a policy advance together, step by step. A policy that is only asked to beat a known
//! fitness is given up as soon as it provably cannot: rewards have a known maximum, so what a rollout may still gain is
//! bounded. Advancing all start states together makes that bound fall fastest, because early rewards weigh most.
//! Beyond [`BLOCK`] start states they advance in blocks, those that were hardest before first.

use super::{Lanes, StartStates};
use crate::policy::Policy;
use crate::simd::Numerics;
use crate::world::World;

/// Start states that advance together. Their states, actions and rewards fit into the first-level cache.
const BLOCK: usize = 512;

/// Steps between two looks at the bound.
const STEPS_BETWEEN_CHECKS: usize = 4;

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
    /// Which start state a lane came from.
    origin: Vec<usize>,
    /// The discounted rewards of each lane so far.
    sums: Vec<f64>,
    /// The return of each start state.
    returns: Vec<f64>,
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
        Workspace {
            lanes: Lanes::new(self.world.state_count(), self.world.action_count(), block),
            origin: vec![0; block],
            sums: vec![0.0; block],
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
        let largest = self.world.largest_reward();
        let best_return = largest * self.tails[0];
        let goal = to_beat * self.count as f64;
        // What the finished and the untouched start states can contribute at most.
        let mut finished = 0.0;
        let mut finished_size = 0.0;
        let mut model_steps = 0;
        for (block, origins) in self.order.chunks(BLOCK).enumerate() {
            let untouched = self.count - block * BLOCK - origins.len();
            let others = finished + untouched as f64 * best_return;
            let others_size = finished_size + untouched as f64 * best_return.abs();
            let beyond_reach =
                |sum: f64, size: f64| others + sum + ROUNDING * (others_size + size + goal.abs()) <= goal;
            if !self.roll(policy, origins, largest, beyond_reach, workspace, &mut model_steps) {
                return Fitness { value: None, model_steps };
            }
            for &origin in origins {
                finished += workspace.returns[origin];
                finished_size += workspace.returns[origin].abs();
            }
        }
        // Always added up in the order of the start states, so that the order of rolling does not show.
        let sum: f64 = workspace.returns.iter().sum();
        Fitness { value: Some(sum / self.count as f64), model_steps }
    }

    /// Rolls a block of start states out; false if `beyond_reach` said to give up.
    fn roll(
        &self,
        policy: &dyn Policy,
        origins: &[usize],
        largest: f64,
        beyond_reach: impl Fn(f64, f64) -> bool,
        workspace: &mut Workspace,
        model_steps: &mut u64,
    ) -> bool {
        let Workspace { lanes, origin, sums, returns } = workspace;
        lanes.set_live(origins.len());
        origin[..origins.len()].copy_from_slice(origins);
        sums[..origins.len()].fill(0.0);
        for (variable, column) in self.starts.iter().enumerate() {
            for (to, &from) in lanes.state_mut(variable).iter_mut().zip(origins) {
                *to = column[from];
            }
        }
        // Sums of the lanes that have been absorbed.
        let (mut absorbed_sum, mut absorbed_size) = (0.0, 0.0);
        for (step, &discount) in self.discounts.iter().enumerate() {
            policy.act(lanes, self.numerics);
            self.world.advance(lanes, self.numerics);
            *model_steps += lanes.live() as u64;
            for (sum, &reward) in sums.iter_mut().zip(lanes.rewards()) {
                *sum += discount * f64::from(reward);
            }
            // Backwards, so that the lane that takes a retired one's place has been looked at already.
            if lanes.absorbed().iter().any(|&absorbed| absorbed != 0.0) {
                for lane in (0..lanes.live()).rev() {
                    if lanes.absorbed()[lane] != 0.0 {
                        let sum = sums[lane] + self.tails[step + 1] * f64::from(lanes.rewards()[lane]);
                        returns[origin[lane]] = sum;
                        absorbed_sum += sum;
                        absorbed_size += sum.abs();
                        let last = lanes.live() - 1;
                        lanes.retire(lane);
                        sums[lane] = sums[last];
                        origin[lane] = origin[last];
                    }
                }
                if lanes.live() == 0 {
                    break;
                }
            }
            if (step + 1) % STEPS_BETWEEN_CHECKS == 0 {
                let live = &sums[..lanes.live()];
                let gain = live.len() as f64 * largest * self.tails[step + 1];
                let sum = absorbed_sum + live.iter().sum::<f64>() + gain;
                let size = absorbed_size + live.iter().map(|sum| sum.abs()).sum::<f64>() + gain.abs();
                if beyond_reach(sum, size) {
                    return false;
                }
            }
        }
        for lane in 0..lanes.live() {
            returns[origin[lane]] = sums[lane];
        }
        true
    }
}
