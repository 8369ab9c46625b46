//! The fuzzy policy on lanes: equations 2 and 4 in f32, many states at once.

use super::fuzzy::MOST_RULES;
use super::{FuzzyPolicy, Policy};
use crate::rollout::{Columns, Lanes};
use crate::simd::functions::{exp, tanh};
use crate::simd::{Arithmetic, Numerics, dispatch_numerics};
use fearless_simd::{Simd, SimdBase};

/// A fuzzy policy with its numbers laid out for lanes.
///
/// Each rule becomes, for every state variable, its centre and 1 / (σ √2), so that the logarithm of its
/// membership is -Σ ((s - c) / (σ √2))².
#[derive(Clone, Debug, Default)]
pub struct FuzzyKernel {
    state_count: usize,
    actions: Vec<KernelAction>,
}

#[derive(Clone, Debug, Default)]
struct KernelAction {
    /// Centre and inverse width of each variable, rule by rule.
    premises: Vec<[f32; 2]>,
    /// α times the output of each rule.
    outputs: Vec<f32>,
    middle: f32,
    half_range: f32,
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
            to.outputs.clear();
            for rule in &from.rules {
                to.premises.extend(
                    rule.centre
                        .iter()
                        .zip(&rule.width)
                        .map(|(centre, width)| [*centre as f32, (std::f64::consts::FRAC_1_SQRT_2 / width) as f32]),
                );
                to.outputs.push((from.alpha * rule.output) as f32);
            }
            to.middle = (0.5 * (from.limits[0] + from.limits[1])) as f32;
            to.half_range = (0.5 * (from.limits[1] - from.limits[0])) as f32;
        }
    }
}

impl Policy for FuzzyKernel {
    fn act(&self, lanes: &mut Lanes, numerics: Numerics) {
        let columns = lanes.columns();
        dispatch_numerics!(numerics, simd, Chosen => act::<_, Chosen>(simd, self, columns));
    }
}

#[inline(always)]
fn act<S: Simd, A: Arithmetic>(simd: S, kernel: &FuzzyKernel, columns: Columns<'_>) {
    let stride = columns.stride;
    let states = &columns.states[..kernel.state_count * stride];
    let mut logs = [S::f32s::splat(simd, 0.0); MOST_RULES];
    for (action, to) in kernel.actions.iter().zip(columns.actions.chunks_exact_mut(stride)) {
        let logs = &mut logs[..action.outputs.len()];
        for lane in (0..columns.live).step_by(S::f32s::LEN) {
            // The floor keeps the logarithms finite for states so far away that their squares are not.
            let floor = S::f32s::splat(simd, -1e37);
            let mut largest = floor;
            for (log, premise) in logs.iter_mut().zip(action.premises.chunks_exact(kernel.state_count)) {
                let mut sum = S::f32s::splat(simd, 0.0);
                for (column, &[centre, inverse_width]) in states.chunks_exact(stride).zip(premise) {
                    let distance =
                        (S::f32s::from_slice(simd, &column[lane..lane + S::f32s::LEN]) - centre) * inverse_width;
                    sum = A::mul_add::<S>(-distance, distance, sum);
                }
                *log = sum.max(floor);
                largest = largest.max(*log);
            }
            let mut weighted = S::f32s::splat(simd, 0.0);
            let mut total = S::f32s::splat(simd, 0.0);
            for (log, &output) in logs.iter().zip(&action.outputs) {
                let membership = exp::<S, A>(simd, *log - largest);
                weighted = A::mul_add::<S>(membership, S::f32s::splat(simd, output), weighted);
                total += membership;
            }
            let unit = tanh::<S, A>(simd, weighted / total);
            A::mul_add::<S>(unit, S::f32s::splat(simd, action.half_range), S::f32s::splat(simd, action.middle))
                .store_slice(&mut to[lane..lane + S::f32s::LEN]);
        }
    }
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
