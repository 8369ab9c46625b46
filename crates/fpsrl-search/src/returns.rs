//! Scores a policy where it counts: on the true plant, and beside it on the world model, from start states that the
//! search never saw.

use fpsrl_data::System;
use fpsrl_data::plant::PlantKind;
use fpsrl_engine::policy::Policy;
use fpsrl_engine::rollout::{FitnessFunction, Lanes, StartStates};
use fpsrl_engine::simd::Numerics;
use fpsrl_engine::world::World;
use fpsrl_world::quality::student;
use rayon::prelude::*;

/// The half-width of a 95 % interval for a mean, where some values belong together: their clusters are what is independent.
///
/// ```
/// use fpsrl_search::returns::half_width;
/// let values = [1.0, 1.0, 3.0, 3.0];
/// assert!(half_width(&values, None) < half_width(&values, Some(&[0, 0, 1, 1])));
/// ```
pub fn half_width(values: &[f64], clusters: Option<&[usize]>) -> f64 {
    let middle = mean(values);
    let count = values.len() as f64;
    let Some(clusters) = clusters else {
        let variance = values.iter().map(|value| (value - middle).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
        return 1.96 * (variance / count).sqrt();
    };
    let mut sums: std::collections::BTreeMap<usize, f64> = std::collections::BTreeMap::new();
    for (value, cluster) in values.iter().zip(clusters) {
        *sums.entry(*cluster).or_default() += value - middle;
    }
    let groups = sums.len() as f64;
    let variance = sums.values().map(|sum| sum * sum).sum::<f64>() / (count * count) * groups / (groups - 1.0).max(1.0);
    student(sums.len()) * variance.sqrt()
}

/// The mean of some numbers.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The return from each start state on the true plant of whoever chooses the actions, in f64 throughout.
pub fn true_returns(
    system: &System,
    plant: PlantKind,
    act: impl Fn(&[f64]) -> Vec<f64> + Sync,
    starts: &StartStates,
) -> Vec<f64> {
    true_returns_by(system, plant, starts, |state, _, _| act(state))
}

/// The return from each start state on the true plant under actions that depend on nothing but the start state's number and
/// the step.
pub fn random_returns(
    system: &System,
    plant: PlantKind,
    starts: &StartStates,
    act: impl Fn(u32, u32) -> Vec<f64> + Sync,
) -> Vec<f64> {
    true_returns_by(system, plant, starts, |_, start, step| act(start, step))
}

fn true_returns_by(
    system: &System,
    plant: PlantKind,
    starts: &StartStates,
    act: impl Fn(&[f64], u32, u32) -> Vec<f64> + Sync,
) -> Vec<f64> {
    let discount = system.discount();
    (0..starts.len())
        .into_par_iter()
        .map(|index| {
            let mut state = starts.row(index);
            let (mut sum, mut weight) = (0.0, 1.0);
            for step in 0..system.horizon() {
                let action = act(&state, index as u32, step as u32);
                sum += weight * plant.step(&mut state, &action).reward;
                weight *= discount;
            }
            sum
        })
        .collect()
}

/// Start states on lanes of a world, all of them live, for whoever watches rollouts step by step.
pub(crate) fn on_lanes(world: &dyn World, starts: &StartStates) -> Lanes {
    let mut lanes = Lanes::new(world.state_count(), world.action_count(), starts.len());
    lanes.set_live(starts.len());
    for variable in 0..world.state_count() {
        for (to, from) in lanes.state_mut(variable).iter_mut().zip(starts.column(variable)) {
            *to = *from as f32;
        }
    }
    lanes
}

/// The return of a policy from each start state on a world.
pub fn world_returns(
    system: &System,
    world: &dyn World,
    policy: &dyn Policy,
    starts: &StartStates,
    numerics: Numerics,
) -> Vec<f64> {
    discounted_returns(system, world, policy, starts, system.discount(), numerics)
}

/// The plain sum of the rewards of a policy from each start state on a world: its return without any discount.
pub fn plain_sums(
    system: &System,
    world: &dyn World,
    policy: &dyn Policy,
    starts: &StartStates,
    numerics: Numerics,
) -> Vec<f64> {
    discounted_returns(system, world, policy, starts, 1.0, numerics)
}

fn discounted_returns(
    system: &System,
    world: &dyn World,
    policy: &dyn Policy,
    starts: &StartStates,
    discount: f64,
    numerics: Numerics,
) -> Vec<f64> {
    let fitness = FitnessFunction::new(world, starts, system.horizon(), discount, numerics);
    fitness.returns(policy, &mut fitness.workspace()).to_vec()
}
