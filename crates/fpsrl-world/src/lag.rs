//! Variables of a world that are carried along instead of learned: the past of states and actions.
//!
//! Each is a weighted sum, which is exact: its change is what it becomes less what it is. So a world with lags is an ordinary world to whoever computes it: on rows, on lanes, or in a browser.

use super::actuator::Actuator;
use super::model::{VariableModel, WorldModel};
use super::predictor::Predictor;
use fpsrl_data::System;
use fpsrl_data::scaling::Scale;
use fpsrl_data::system::Carried;
use fpsrl_engine::rollout::Lanes;
use fpsrl_engine::simd::Numerics;
use fpsrl_engine::world::World;

/// The variables of a problem that are lagged, in their order.
pub(super) fn carried(system: &System) -> Vec<VariableModel> {
    let states = system.states().len();
    let inputs = states + system.actions().len();
    let one = |(own, state): (usize, &fpsrl_data::system::StateVariable)| {
        let mut weights = vec![0.0; inputs];
        let lag = state.lag?;
        match lag.from {
            Carried::State(other) => (weights[own], weights[other]) = (-1.0, 1.0),
            Carried::Action(action) => (weights[own], weights[states + action]) = (-1.0, 1.0),
            Carried::SetPoint(action) => weights[states + action] = 1.0,
        }
        Some(VariableModel {
            name: state.name.clone(),
            angle: state.angle,
            inputs: vec![Scale { centre: 0.0, spread: 1.0 }; inputs],
            output: Scale { centre: 0.0, spread: 1.0 },
            validation_error: 0.0,
            generalisation_error: 0.0,
            depths: Vec::new(),
            predictor: Predictor::Carried(weights),
        })
    };
    system.states().iter().enumerate().filter_map(one).collect()
}

impl WorldModel {
    /// What was learned, in the order in which it is learned: the variables that move by themselves, then the reward.
    pub(crate) fn learned(&self, index: usize) -> &VariableModel {
        self.variables.iter().filter(|part| !part.is_carried()).nth(index).unwrap_or(&self.reward)
    }
}

impl VariableModel {
    /// Whether it is lagged: carried along, and nothing that was learned.
    pub fn is_carried(&self) -> bool {
        matches!(self.predictor, Predictor::Carried(_))
    }
}

/// A world that knows nothing of the past, with the lags and the actuators of a problem around it.
pub struct LaggedWorld<W> {
    world: W,
    states: usize,
    carried: Vec<(usize, Carried)>,
    actuators: Vec<Actuator>,
}

impl<W: World> LaggedWorld<W> {
    /// Puts what a problem remembers around a world of its current states.
    pub fn new(system: &System, world: W) -> Self {
        let carried = |(own, state): (usize, &fpsrl_data::system::StateVariable)| Some((own, state.lag?.from));
        Self {
            world,
            states: system.states().len(),
            carried: system.states().iter().enumerate().filter_map(carried).collect(),
            actuators: Actuator::of(system),
        }
    }

    /// The same for actions that have been applied already, such as those of a log.
    pub fn without_actuators(self) -> Self {
        Self { actuators: Vec::new(), ..self }
    }
}

impl<W: World> World for LaggedWorld<W> {
    fn state_count(&self) -> usize {
        self.states
    }

    fn action_count(&self) -> usize {
        self.world.action_count()
    }

    fn advance(&self, lanes: &mut Lanes, numerics: Numerics) {
        let mut columns = lanes.columns();
        self.actuators.iter().for_each(|actuator| actuator.apply_to(&mut columns));
        if self.carried.is_empty() {
            return self.world.advance(lanes, numerics);
        }
        let before = columns.states.to_vec();
        self.world.advance(lanes, numerics);
        let columns = lanes.columns();
        let stride = columns.stride;
        for &(own, from) in &self.carried {
            for lane in 0..columns.live {
                let action = |index: usize| columns.actions[index * stride + lane];
                columns.states[own * stride + lane] = match from {
                    Carried::State(other) => before[other * stride + lane],
                    Carried::Action(index) => action(index),
                    Carried::SetPoint(index) => before[own * stride + lane] + action(index),
                };
            }
        }
    }

    fn largest_reward(&self) -> f64 {
        self.world.largest_reward()
    }
}
