//! The learned world on lanes: a network for the difference of each state variable and one for the reward.
//!
//! Section 5 of the paper: s' = s + g̃(s, a), an angle taken modulo 2π, and r = r̃(s, a, s').

use super::World;
use super::kernel::{NetworkKernel, Pair, WIDEST};
use super::model::WorldModel;
use crate::error::{Error, Result};
use crate::rollout::{Columns, Lanes};
use crate::simd::{Arithmetic, Numerics, dispatch_numerics};
use fearless_simd::{Select, Simd, SimdBase, SimdFloat};

/// A [`WorldModel`] laid out for rollouts.
#[derive(Clone, Debug)]
pub struct NetworkWorld {
    action_count: usize,
    variables: Vec<NetworkKernel>,
    angles: Vec<bool>,
    reward: NetworkKernel,
    reward_limits: [f32; 2],
    width: usize,
}

impl NetworkWorld {
    /// Lays a model out. Fails for networks wider than the kernel can hold.
    pub fn new(model: &WorldModel) -> Result<Self> {
        let kernel = |part: &super::model::VariableModel| NetworkKernel::new(&part.network, &part.inputs, &part.output);
        let variables: Vec<NetworkKernel> = model.variables.iter().map(kernel).collect();
        let reward = kernel(&model.reward);
        let width = variables.iter().chain([&reward]).map(NetworkKernel::width).max().unwrap_or(0);
        if width > WIDEST {
            return Err(Error::setting(
                "world.neurons",
                width,
                format!("a layer of a world model has at most {WIDEST} inputs or neurons"),
                "take fewer neurons or fewer variables",
            ));
        }
        Ok(Self {
            action_count: model.actions.len(),
            angles: model.variables.iter().map(|variable| variable.angle).collect(),
            variables,
            reward,
            reward_limits: model.reward_limits.map(|limit| limit as f32),
            width,
        })
    }

    #[inline(always)]
    fn advance_all<S: Simd, A: Arithmetic, const CAPACITY: usize>(&self, simd: S, columns: Columns<'_>) {
        let Columns { live, stride, states, actions, rewards, .. } = columns;
        let width = S::f32s::LEN;
        let zero = [S::f32s::splat(simd, 0.0); 2];
        let mut buffers = [[zero; CAPACITY]; 2];
        // State, action, next state: what the reward depends on; its beginning is what the state depends on.
        let mut inputs = [zero; CAPACITY];
        let states = &mut states[..self.variables.len() * stride];
        let actions = &actions[..self.action_count * stride];
        let known = self.variables.len() + self.action_count;
        for lane in (0..live).step_by(2 * width) {
            let columns = states.chunks_exact(stride).chain(actions.chunks_exact(stride));
            for (input, column) in inputs.iter_mut().zip(columns) {
                let (first, second) = column[lane..lane + 2 * width].split_at(width);
                *input = [S::f32s::from_slice(simd, first), S::f32s::from_slice(simd, second)];
            }
            for (variable, kernel) in self.variables.iter().enumerate() {
                let change = kernel.evaluate::<S, A, CAPACITY>(simd, &inputs[..known], &mut buffers);
                let mut next = [inputs[variable][0] + change[0], inputs[variable][1] + change[1]];
                if self.angles[variable] {
                    next = [wrap::<S, A>(simd, next[0]), wrap::<S, A>(simd, next[1])];
                }
                inputs[known + variable] = next;
            }
            let reward =
                self.reward.evaluate::<S, A, CAPACITY>(simd, &inputs[..known + self.variables.len()], &mut buffers);
            let next: &[Pair<S>] = &inputs[known..];
            for (column, next) in states.chunks_exact_mut(stride).zip(next) {
                let (first, second) = column[lane..lane + 2 * width].split_at_mut(width);
                next[0].store_slice(first);
                next[1].store_slice(second);
            }
            let (first, second) = rewards[lane..lane + 2 * width].split_at_mut(width);
            self.limit::<S>(simd, reward[0]).store_slice(first);
            self.limit::<S>(simd, reward[1]).store_slice(second);
        }
    }

    /// Keeps a reward within what the data showed; a state that is no number earns the worst.
    #[inline(always)]
    fn limit<S: Simd>(&self, simd: S, reward: S::f32s) -> S::f32s {
        let [low, high] = self.reward_limits.map(|limit| S::f32s::splat(simd, limit));
        let reward = reward.simd_gt(low).select(reward, low);
        reward.simd_lt(high).select(reward, high)
    }
}

/// An angle, moved by whole turns into [-π, π].
#[inline(always)]
fn wrap<S: Simd, A: Arithmetic>(simd: S, angle: S::f32s) -> S::f32s {
    let turns = (angle * (1.0 / std::f32::consts::TAU)).round_ties_even();
    A::mul_add::<S>(turns, S::f32s::splat(simd, -std::f32::consts::TAU), angle)
}

impl World for NetworkWorld {
    fn state_count(&self) -> usize {
        self.variables.len()
    }

    fn action_count(&self) -> usize {
        self.action_count
    }

    fn advance(&self, lanes: &mut Lanes, numerics: Numerics) {
        let columns = lanes.columns();
        // The buffers of the usual ten neurons are cleared in no time; larger ones only where they are needed.
        if self.width <= 16 {
            dispatch_numerics!(numerics, simd, Chosen => self.advance_all::<_, Chosen, 16>(simd, columns));
        } else {
            dispatch_numerics!(numerics, simd, Chosen => self.advance_all::<_, Chosen, WIDEST>(simd, columns));
        }
    }

    fn largest_reward(&self) -> f64 {
        f64::from(self.reward_limits[1])
    }
}
