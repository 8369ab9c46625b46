//! The greedy policy of a Q function, in f64 and on lanes.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::q_network::{BLOCK, QKernel, QNetwork};
use fpsrl_data::scaling::Scale;
use fpsrl_engine::policy::Policy;
use fpsrl_engine::rollout::Lanes;
use fpsrl_engine::simd::{Numerics, dispatch_numerics};

/// A greedy policy of NFQ: what `nfq.json` holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QPolicy {
    /// Of each state variable, then of each action: physical number to network input.
    pub inputs: Vec<Scale>,
    /// The actions that may be chosen.
    pub choices: Vec<Vec<f64>>,
    /// Q, up to a scale that does not change which action is best.
    pub network: QNetwork,
}

impl QPolicy {
    /// What is wrong with a policy that was read from a file, if anything is.
    pub fn fault(&self, states: usize, actions: usize) -> Option<String> {
        let finite = |scale: &Scale| scale.centre.is_finite() && scale.spread.is_finite() && scale.spread > 0.0;
        if self.inputs.len() != states + actions || !self.inputs.iter().all(finite) {
            return Some("its scales do not fit the problem's variables".into());
        }
        let fits = |choice: &Vec<f64>| choice.len() == actions && choice.iter().all(|value| value.is_finite());
        if self.choices.is_empty() || !self.choices.iter().all(fits) {
            return Some("its choices are not values of the problem's actions".into());
        }
        self.network.fault(states + actions)
    }

    /// The action with the largest Q, in f64; of equals the first.
    pub fn act(&self, state: &[f64]) -> Vec<f64> {
        let value = |choice: &Vec<f64>| {
            let inputs: Vec<f64> =
                state.iter().chain(choice).zip(&self.inputs).map(|(&value, scale)| scale.apply(value)).collect();
            self.network.evaluate(&inputs)
        };
        let mut best = (f64::NEG_INFINITY, 0);
        for (index, choice) in self.choices.iter().enumerate() {
            let value = value(choice);
            if value > best.0 {
                best = (value, index);
            }
        }
        self.choices[best.1].clone()
    }
}

/// A [`QPolicy`] on lanes.
pub struct QPolicyKernel<'a> {
    policy: &'a QPolicy,
    kernel: QKernel<'a>,
}

impl<'a> QPolicyKernel<'a> {
    /// Lays a policy out.
    pub fn new(policy: &'a QPolicy) -> Self {
        Self { policy, kernel: QKernel::new(Cow::Borrowed(&policy.network)) }
    }
}

impl Policy for QPolicyKernel<'_> {
    fn act(&self, lanes: &mut Lanes, numerics: Numerics) {
        let mut buffers = self.kernel.buffers();
        let (live, actions) = (lanes.live(), self.policy.choices[0].len());
        let states = self.policy.inputs.len() - actions;
        for first in (0..live).step_by(BLOCK) {
            let count = BLOCK.min(live - first);
            for (variable, input) in buffers.inputs().chunks_exact_mut(BLOCK).take(states).enumerate() {
                let Scale { centre, spread } = self.policy.inputs[variable];
                let (centre, inverse) = (centre as f32, (1.0 / spread) as f32);
                let column = &lanes.state(variable)[first..first + count];
                input.iter_mut().zip(column).for_each(|(to, &from)| *to = (from - centre) * inverse);
            }
            let mut best = [(f32::NEG_INFINITY, 0usize); BLOCK];
            for (index, choice) in self.policy.choices.iter().enumerate() {
                for (action, &value) in choice.iter().enumerate() {
                    let scaled = self.policy.inputs[states + action].apply(value) as f32;
                    buffers.inputs()[(states + action) * BLOCK..][..BLOCK].fill(scaled);
                }
                dispatch_numerics!(numerics, simd, Chosen => self.kernel.forward::<_, Chosen>(simd, &mut buffers));
                for (best, &value) in best.iter_mut().zip(buffers.outputs()) {
                    if value > best.0 {
                        *best = (value, index);
                    }
                }
            }
            for action in 0..actions {
                let column = &mut lanes.action_mut(action)[first..first + count];
                for (to, (_, index)) in column.iter_mut().zip(best) {
                    *to = self.policy.choices[index][action] as f32;
                }
            }
        }
    }
}
