//! The fuzzy policy on lanes: equations 2 and 4 in f32, many states at once.
//!
//! A group of lanes is two vectors wide, so that a number of a rule that is loaded serves both. Four state variables at a
//! time are held in registers while all rules look at them.

use super::fuzzy::MOST_RULES;
use super::{FuzzyPolicy, Policy};
use crate::lanes::{Columns, Lanes};
use crate::simd::functions::{exp2_at_most_one, tanh};
use crate::simd::{Arithmetic, Numerics, dispatch_numerics};
use fearless_simd::{Simd, SimdBase, SimdFloat};
use std::f64::consts::TAU;

/// As many rules as policies usually have at most.
const FEW_RULES: usize = 8;

/// State variables that are held in registers together.
const BLOCK: usize = 4;

/// A fuzzy policy with its numbers laid out for lanes.
///
/// Each rule becomes, for every state variable, k = √(log₂ e / 2) / σ and -c k, so that its membership is two to the power
/// of -Σ (k s - c k)².
#[derive(Clone, Debug, Default)]
pub struct FuzzyKernel {
    state_count: usize,
    actions: Vec<KernelAction>,
}

#[derive(Clone, Debug, Default)]
struct KernelAction {
    /// k and -c k of the variables of a block, for each rule; then of the next block. Where there is no variable, both
    /// are 0.
    premises: Vec<[[f32; 2]; BLOCK]>,
    /// Of angles that are measured around the circle, k times a whole turn, in the same order; 0 for others. Their premise
    /// counts in turns: k is 1 / 2π, so that what is left after whole turns are taken away is the shorter way.
    turns: Vec<[f32; BLOCK]>,
    /// Whether any variable is such an angle.
    periodic: bool,
    /// α times the output of each rule.
    outputs: Vec<f32>,
    middle: f32,
    half_range: f32,
    /// The limits, if actions are cut off there.
    cut: Option<[f32; 2]>,
}

impl FuzzyKernel {
    /// Lays a policy out.
    pub fn new(policy: &FuzzyPolicy) -> Self {
        let mut kernel = Self::default();
        kernel.load(policy);
        kernel
    }

    /// Lays another policy out in the same memory.
    pub fn load(&mut self, policy: &FuzzyPolicy) {
        self.state_count = policy.states.len();
        self.actions.resize_with(policy.actions.len(), KernelAction::default);
        for (to, from) in self.actions.iter_mut().zip(&policy.actions) {
            to.premises.clear();
            to.turns.clear();
            to.periodic = policy.states.iter().any(|state| state.periodic);
            for first in (0..self.state_count).step_by(BLOCK) {
                let here = &policy.states[first..self.state_count.min(first + BLOCK)];
                for rule in &from.rules {
                    let (mut premise, mut turns) = ([[0.0; 2]; BLOCK], [0.0; BLOCK]);
                    for (variable, state) in here.iter().enumerate() {
                        let centre = rule.centre[first + variable];
                        let mut scale = (0.5 * std::f64::consts::LOG2_E).sqrt() / rule.width[first + variable];
                        if state.periodic {
                            turns[variable] = (scale * TAU) as f32;
                            scale = 1.0 / TAU;
                        }
                        premise[variable] = [scale as f32, (-centre * scale) as f32];
                    }
                    to.premises.push(premise);
                    to.turns.push(turns);
                }
            }
            to.outputs.clear();
            to.outputs.extend(from.rules.iter().map(|rule| (from.alpha * rule.output) as f32));
            to.middle = (0.5 * (from.limits[0] + from.limits[1])) as f32;
            to.half_range = (0.5 * (from.limits[1] - from.limits[0]) * from.reach) as f32;
            to.cut = (from.reach > 1.0).then(|| from.limits.map(|limit| limit as f32));
        }
    }
}

impl Policy for FuzzyKernel {
    fn act(&self, lanes: &mut Lanes, numerics: Numerics) {
        let columns = lanes.columns();
        // Room for the usual few rules is cleared in no time; for the most that there may be only where it is needed.
        let few = self.actions.iter().all(|action| action.outputs.len() <= FEW_RULES);
        let periodic = self.actions.iter().any(|action| action.periodic);
        match (few, periodic) {
            (true, false) => {
                dispatch_numerics!(numerics, simd, Chosen => act::<_, Chosen, FEW_RULES, false>(simd, self, columns));
            }
            (true, true) => {
                dispatch_numerics!(numerics, simd, Chosen => act::<_, Chosen, FEW_RULES, true>(simd, self, columns));
            }
            (false, _) => {
                dispatch_numerics!(numerics, simd, Chosen => act::<_, Chosen, MOST_RULES, true>(simd, self, columns));
            }
        }
    }
}

#[inline(always)]
fn act<S: Simd, A: Arithmetic, const CAPACITY: usize, const PERIODIC: bool>(
    simd: S,
    kernel: &FuzzyKernel,
    columns: Columns<'_>,
) {
    let Columns { live, stride, states, actions, .. } = columns;
    let states = &states[..kernel.state_count * stride];
    let mut distances = [[splat(simd, 0.0); 2]; CAPACITY];
    for (action, to) in kernel.actions.iter().zip(actions.chunks_exact_mut(stride)) {
        let rules = action.outputs.len();
        let distances = &mut distances[..rules];
        for lane in (0..live).step_by(2 * S::f32s::LEN) {
            let (mut columns, mut premises, mut turns) = (states, &action.premises[..], &action.turns[..]);
            let mut first = true;
            while !premises.is_empty() {
                let mut block = [[splat(simd, 0.0); 2]; BLOCK];
                for pair in &mut block {
                    let Some((column, others)) = columns.split_at_checked(stride) else { break };
                    *pair = load(simd, column, lane);
                    columns = others;
                }
                let (these, others) = premises.split_at(rules);
                premises = others;
                let (these_turns, others) = turns.split_at(rules);
                turns = others;
                for ((distance, premise), turns) in distances.iter_mut().zip(these).zip(these_turns) {
                    let mut sum = if first { [splat(simd, 0.0); 2] } else { *distance };
                    for ((state, &[scale, shift]), &turn) in block.iter().zip(premise).zip(turns) {
                        let (scale, shift) = (splat(simd, scale), splat(simd, shift));
                        for half in 0..2 {
                            let mut difference = A::mul_add::<S>(state[half], scale, shift);
                            if PERIODIC && turn != 0.0 {
                                difference = (difference - difference.round_ties_even()) * splat(simd, turn);
                            }
                            sum[half] = A::mul_add::<S>(difference, difference, sum[half]);
                        }
                    }
                    *distance = sum;
                }
                first = false;
            }
            // The limit keeps differences from it defined for states so far away that their squares are not finite.
            let mut nearest = [splat(simd, 1e37); 2];
            for distance in distances.iter() {
                nearest = [nearest[0].min(distance[0]), nearest[1].min(distance[1])];
            }
            let mut weighted = [splat(simd, 0.0); 2];
            let mut total = [splat(simd, 0.0); 2];
            for (distance, &output) in distances.iter().zip(&action.outputs) {
                for half in 0..2 {
                    let membership = exp2_at_most_one::<S, A>(simd, nearest[half] - distance[half]);
                    weighted[half] = A::mul_add::<S>(membership, splat(simd, output), weighted[half]);
                    total[half] += membership;
                }
            }
            let (first, second) = to[lane..lane + 2 * S::f32s::LEN].split_at_mut(S::f32s::LEN);
            for (half, to) in [first, second].into_iter().enumerate() {
                let unit = tanh::<S, A>(simd, weighted[half] / total[half]);
                let mut value = A::mul_add::<S>(unit, splat(simd, action.half_range), splat(simd, action.middle));
                if let Some([low, high]) = action.cut {
                    value = value.max(splat(simd, low)).min(splat(simd, high));
                }
                value.store_slice(to);
            }
        }
    }
}

/// A number in every lane.
#[inline(always)]
fn splat<S: Simd>(simd: S, number: f32) -> S::f32s {
    S::f32s::splat(simd, number)
}

/// Two vectors of a column.
#[inline(always)]
fn load<S: Simd>(simd: S, column: &[f32], lane: usize) -> [S::f32s; 2] {
    let (first, second) = column[lane..lane + 2 * S::f32s::LEN].split_at(S::f32s::LEN);
    [S::f32s::from_slice(simd, first), S::f32s::from_slice(simd, second)]
}

#[cfg(test)]
mod tests {
    use super::super::fuzzy::tests::any_policy;
    use super::*;
    use crate::simd::Mode;
    use proptest::prelude::*;

    fn act_on_lanes(policy: &FuzzyPolicy, states: &[Vec<f32>], numerics: Numerics) -> Vec<Vec<f32>> {
        let mut lanes = Lanes::new(policy.states.len(), policy.actions.len(), states.len());
        lanes.set_live(states.len());
        for variable in 0..policy.states.len() {
            for (lane, state) in states.iter().enumerate() {
                lanes.state_mut(variable)[lane] = state[variable];
            }
        }
        FuzzyKernel::new(policy).act(&mut lanes, numerics);
        (0..policy.actions.len()).map(|action| lanes.action(action)[..states.len()].to_vec()).collect()
    }

    proptest! {
        #[test]
        fn lanes_act_like_the_policy_in_f64_at_every_level(
            policy in any_policy(),
            states in prop::collection::vec(prop::collection::vec(-5.0..5.0f32, 6), 1..40),
        ) {
            for numerics in [Mode::Fast, Mode::Reproducible].into_iter().flat_map(Numerics::every) {
                let acted = act_on_lanes(&policy, &states, numerics);
                for (lane, state) in states.iter().enumerate() {
                    let state: Vec<f64> = state[..policy.states.len()].iter().map(|&value| f64::from(value)).collect();
                    for (action, expected) in policy.act(&state).into_iter().enumerate() {
                        // A narrow rule turns a rounding of 1e-7 in its distance into one of 1e-4 in its logarithm.
                        let range = policy.actions[action].limits[1] - policy.actions[action].limits[0];
                        let tolerance = range * (1e-5 + 1e-4 * policy.actions[action].alpha);
                        let got = f64::from(acted[action][lane]);
                        prop_assert!((got - expected).abs() < tolerance, "{got} {expected}");
                    }
                }
            }
        }

        #[test]
        fn lanes_stay_finite_however_far_the_state_is(
            policy in any_policy(),
            states in prop::collection::vec(prop::collection::vec(prop::num::f32::NORMAL, 6), 1..20),
        ) {
            for numerics in Numerics::every(Mode::Fast) {
                for action in act_on_lanes(&policy, &states, numerics) {
                    prop_assert!(action.iter().all(|value| value.is_finite()), "{action:?}");
                }
            }
        }
    }
}
