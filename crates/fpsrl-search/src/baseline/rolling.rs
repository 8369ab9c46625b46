//! Rolls candidates of plans out on a world, in the same arithmetic as a fitness, and gives up what cannot win.
//!
//! A return is the sum of the same numbers in the same order as in [`fpsrl_engine::rollout::FitnessFunction`], whichever step a
//! rollout begins at: what was earned before is where its sum begins. So the rest of a plan, or of a policy, comes to the
//! same return to the last bit wherever it is taken up.

use rayon::prelude::*;

use fpsrl_data::System;
use fpsrl_engine::policy::Policy;
use fpsrl_engine::rollout::Lanes;
use fpsrl_engine::simd::Numerics;
use fpsrl_engine::world::World;

/// Lanes that advance together.
pub(super) const BLOCK: usize = 64;

/// Steps between two looks at whether a candidate can still win.
const STEPS_BETWEEN_CHECKS: usize = 4;

/// More than all roundings of a return together can amount to, relative to the sums involved.
const ROUNDING: f64 = 1e-9;

/// Rolls candidates out on a world.
pub(super) struct Rolling<'a> {
    pub(super) world: &'a dyn World,
    pub(super) numerics: Numerics,
    /// γᵏ
    pub(super) discounts: Vec<f64>,
    /// Σ γʲ for j from k to T-1
    tails: Vec<f64>,
    /// No reward of the world is larger.
    largest_reward: f64,
}

/// A rollout on its lane.
#[derive(Clone, Copy)]
pub(super) struct Rollout {
    /// Which candidate it is of.
    pub(super) candidate: usize,
    /// Steps that it has taken, those before it began included.
    pub(super) step: usize,
    sum: f64,
}

/// Where a rollout begins.
#[derive(Clone, Copy)]
pub(super) struct Beginning<'a> {
    pub(super) state: &'a [f32],
    /// Steps that were taken before.
    pub(super) step: usize,
    /// What was earned before.
    pub(super) earned: f64,
}

impl<'a> Rolling<'a> {
    pub(super) fn new(world: &'a dyn World, system: &System, numerics: Numerics) -> Self {
        let (horizon, discount) = (system.horizon(), system.discount());
        let discounts: Vec<f64> = (0..horizon).map(|step| discount.powi(step as i32)).collect();
        let mut tails = vec![0.0; horizon + 1];
        for step in (0..horizon).rev() {
            tails[step] = tails[step + 1] + discounts[step];
        }
        Self { world, numerics, discounts, tails, largest_reward: world.largest_reward() }
    }

    /// T
    pub(super) fn horizon(&self) -> usize {
        self.discounts.len()
    }

    /// The most that a return can come to of which so much was earned before a step.
    pub(super) fn at_most(&self, earned: f64, step: usize) -> f64 {
        let rest = self.largest_reward * self.tails[step];
        earned + rest + ROUNDING * (earned.abs() + rest.abs())
    }

    /// Whether a return is as good as any can be that begins with what was earned before a step.
    pub(super) fn is_best(&self, value: f64, earned: f64, step: usize) -> bool {
        let rest = self.largest_reward * self.tails[step];
        value + ROUNDING * (earned.abs() + rest.abs()) >= earned + rest
    }

    /// The return of a policy from each state, and the model steps taken.
    pub(super) fn returns_of(&self, policy: &dyn Policy, states: &[Vec<f32>]) -> (Vec<f64>, u64) {
        let from: Vec<Beginning<'_>> = states.iter().map(|state| Beginning { state, step: 0, earned: 0.0 }).collect();
        self.roll(&from, &vec![f64::NEG_INFINITY; from.len()], |lanes, _| policy.act(lanes, self.numerics))
    }

    /// The return of each candidate, -∞ if it cannot exceed what it has to beat or is not a number; and the model steps.
    ///
    /// `act` writes the actions of lanes. Those of a block all take the same step if they began at the same one.
    pub(super) fn roll(
        &self,
        from: &[Beginning<'_>],
        to_beat: &[f64],
        act: impl Fn(&mut Lanes, &[Rollout]) + Sync,
    ) -> (Vec<f64>, u64) {
        let blocks: Vec<(Vec<f64>, u64)> = (0..from.len().div_ceil(BLOCK))
            .into_par_iter()
            .map(|block| {
                let range = block * BLOCK..from.len().min((block + 1) * BLOCK);
                self.roll_block(&from[range.clone()], &to_beat[range.clone()], range.start, &act)
            })
            .collect();
        let steps = blocks.iter().map(|(_, steps)| steps).sum();
        (blocks.into_iter().flat_map(|(returns, _)| returns).collect(), steps)
    }

    fn roll_block(
        &self,
        from: &[Beginning<'_>],
        to_beat: &[f64],
        first: usize,
        act: &impl Fn(&mut Lanes, &[Rollout]),
    ) -> (Vec<f64>, u64) {
        let mut returns = vec![f64::NEG_INFINITY; from.len()];
        let mut lanes = Lanes::new(self.world.state_count(), self.world.action_count(), from.len());
        lanes.set_live(from.len());
        let mut rollouts: Vec<Rollout> = Vec::with_capacity(from.len());
        for (lane, beginning) in from.iter().enumerate() {
            for (variable, &value) in beginning.state.iter().enumerate() {
                lanes.state_mut(variable)[lane] = value;
            }
            rollouts.push(Rollout { candidate: first + lane, step: beginning.step, sum: beginning.earned });
        }
        let (horizon, mut steps, mut round) = (self.horizon(), 0, 0usize);
        while lanes.live() > 0 {
            act(&mut lanes, &rollouts);
            self.world.advance(&mut lanes, self.numerics);
            steps += lanes.live() as u64;
            round += 1;
            let check = round.is_multiple_of(STEPS_BETWEEN_CHECKS);
            // Backwards, so that the lane that takes a leaving one's place has been looked at already.
            for lane in (0..lanes.live()).rev() {
                let rollout = &mut rollouts[lane];
                rollout.sum += self.discounts[rollout.step] * f64::from(lanes.rewards()[lane]);
                rollout.step += 1;
                let own = rollout.candidate - first;
                let value = if lanes.absorbed()[lane] != 0.0 {
                    rollout.sum + self.tails[rollout.step] * f64::from(lanes.later_rewards()[lane])
                } else if rollout.step == horizon {
                    rollout.sum
                } else if rollout.sum.is_nan() || check && self.at_most(rollout.sum, rollout.step) <= to_beat[own] {
                    f64::NAN
                } else {
                    continue;
                };
                returns[own] = if value.is_nan() { f64::NEG_INFINITY } else { value };
                lanes.retire(lane);
                rollouts.swap_remove(lane);
            }
        }
        (returns, steps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::baseline::feedback::Linear;
    use fpsrl_data::plant::{PlantKind, PlantWorld};
    use fpsrl_engine::rollout::FitnessFunction;
    use fpsrl_engine::simd::Mode;

    #[test]
    fn what_has_to_beat_something_is_given_up_or_comes_to_the_same_as_a_fitness() {
        for (name, kind) in
            [("mountain-car", PlantKind::MountainCar), ("cart-pole-balancing", PlantKind::CartPoleBalancing)]
        {
            let system = System::benchmark(name).unwrap();
            let (world, numerics) = (PlantWorld::new(kind), Numerics::detect(Mode::Fast));
            let starts = system.evaluation_starts(150);
            let idle = Linear::idle(&system);
            let fitness = FitnessFunction::new(&world, &starts, system.horizon(), system.discount(), numerics);
            let mut workspace = fitness.workspace();
            let expected = fitness.returns(&idle, &mut workspace);
            let rolling = Rolling::new(&world, &system, numerics);
            let rows: Vec<Vec<f32>> =
                (0..starts.len()).map(|index| super::super::feedback::row(&starts, index)).collect();
            let (returns, steps) = rolling.returns_of(&idle, &rows);
            assert_eq!(returns, expected);
            let from: Vec<Beginning<'_>> = rows.iter().map(|state| Beginning { state, step: 0, earned: 0.0 }).collect();
            let to_beat: Vec<f64> =
                expected.iter().enumerate().map(|(i, value)| value + (i % 3) as f64 - 1.0).collect();
            let (returns, fewer) = rolling.roll(&from, &to_beat, |lanes, _| idle.act(lanes, numerics));
            assert!(fewer <= steps);
            for ((value, expected), to_beat) in returns.iter().zip(expected).zip(&to_beat) {
                assert!(value == expected || *value == f64::NEG_INFINITY && expected <= to_beat, "{value} {expected}");
            }
        }
    }
}
