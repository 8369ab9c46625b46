//! Variables of a world that are carried along instead of learned: the past of states and actions.
//!
//! Each is a weighted sum, which is exact: its change is what it becomes less what it is. So a world with lags is an ordinary world to whoever computes it: on rows, on lanes, or in a browser.

use std::sync::Arc;

use super::actuator::Actuator;
use super::given::{Given, Saturation, running_sum};
use super::model::{VariableModel, WorldModel};
use super::predictor::Predictor;
use fpsrl_data::System;
use fpsrl_data::scaling::Scale;
use fpsrl_data::system::{Carried, Lagged};
use fpsrl_data::tape::Tape;
use fpsrl_engine::rollout::{Columns, Lanes};
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
            Carried::Error { .. } | Carried::Sum { .. } | Carried::Place => return None,
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

/// The running sums of a system by their numbers, and how far each may go.
pub(super) fn sums(system: &System) -> Vec<(usize, f64)> {
    let limit = |(index, part): (usize, VariableModel)| match part.predictor {
        Predictor::Given(Given::Sum { limit, .. }) => Some((index, limit)),
        _ => None,
    };
    given(system).into_iter().filter_map(limit).collect()
}

/// The variables of a system that nothing predicts, by their numbers.
pub(super) fn given(system: &System) -> Vec<(usize, VariableModel)> {
    let inputs = system.states().len() + system.actions().len();
    let one = |(index, state): (usize, &fpsrl_data::system::StateVariable)| {
        let given = match (state.lag, &state.input) {
            (None, Some(_)) => Given::Input {},
            (Some(lag), _) => match (lag.of, lag.from) {
                (_, Carried::Error { state, set_point }) => Given::Error { state, set_point },
                (Lagged::Sum(of), Carried::Sum { error }) => {
                    let limit = system.states()[of].tracks.and_then(|tracking| tracking.limit);
                    Given::Sum { error, limit: limit.unwrap_or(f64::MAX.sqrt()) }
                }
                (Lagged::Place, _) => Given::Place {},
                _ => return None,
            },
            (None, None) => return None,
        };
        let model = VariableModel {
            name: state.name.clone(),
            angle: false,
            inputs: vec![Scale { centre: 0.0, spread: 1.0 }; inputs],
            output: Scale { centre: 0.0, spread: 1.0 },
            validation_error: 0.0,
            generalisation_error: 0.0,
            depths: Vec::new(),
            predictor: Predictor::Given(given),
        };
        Some((index, model))
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
    /// Whether it is lagged or given: nothing that was learned.
    pub fn is_carried(&self) -> bool {
        matches!(self.predictor, Predictor::Carried(_) | Predictor::Given(_))
    }
}

/// A world that knows nothing of the past, with the lags and the actuators of a problem around it.
pub struct LaggedWorld<W> {
    world: W,
    states: usize,
    carried: Vec<(usize, Carried)>,
    actuators: Vec<Actuator>,
    saturations: Vec<Saturation>,
    /// How far each running sum may go, by its number.
    limits: Vec<(usize, f64)>,
    tape: Option<Arc<Tape>>,
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
            saturations: Saturation::of(system),
            limits: sums(system),
            tape: None,
        }
    }

    /// The same, with inputs as they are on a tape.
    pub fn following(self, tape: Option<Arc<Tape>>) -> Self {
        Self { tape, ..self }
    }

    /// Puts in what is given: inputs, errors, running sums, the place.
    fn give(&self, before: &[f32], columns: Columns<'_>) {
        let Columns { live, stride, states, actions, .. } = columns;
        let place = self.carried.iter().find(|(_, from)| *from == Carried::Place).map(|(own, _)| *own);
        for lane in 0..live {
            let was = |variable: usize| f64::from(before[variable * stride + lane]);
            if let (Some(tape), Some(place)) = (&self.tape, place) {
                let at = was(place) as usize;
                let after = tape.next.get(at).map_or(at, |next| *next as usize);
                for (variable, values) in &tape.inputs {
                    states[variable * stride + lane] = values.get(after).map_or(was(*variable), |value| *value) as f32;
                }
                states[place * stride + lane] = after as f32;
            }
            for &(own, from) in &self.carried {
                let is = |variable: usize| f64::from(states[variable * stride + lane]);
                states[own * stride + lane] = match from {
                    Carried::Error { state, set_point } => is(set_point) - is(state),
                    Carried::Sum { error } => {
                        let limit =
                            self.limits.iter().find(|(sum, _)| *sum == own).map_or(f64::MAX, |(_, limit)| *limit);
                        let action = |index: usize| f64::from(actions[index * stride + lane]);
                        let saturated = self.saturations.iter().any(|one| one.is_reached(&was, &action));
                        running_sum(was(own), is(error), limit, saturated)
                    }
                    _ => continue,
                } as f32;
            }
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
                    Carried::Error { .. } | Carried::Sum { .. } | Carried::Place => continue,
                };
            }
        }
        self.give(&before, columns);
    }

    fn largest_reward(&self) -> f64 {
        self.world.largest_reward()
    }
}
