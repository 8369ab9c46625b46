//! The learned world: a network for the change of each state variable, and one for the reward (section 5.3 of the
//! paper). `world.json` holds exactly this.
//!
//! Everything outside of the networks is physical: states, actions, rewards. Each network has its own scales.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::absorbing::{AbsorbingModel, Region};
use super::actuator::Actuator;
use super::forest::Forest;
use super::gaussian_process::GaussianProcess;
use super::given::{Given, Replay, Saturation};
use super::known::{KnownKernel, KnownParts};
use super::network::Network;
use super::predictor::Predictor;
use fpsrl_data::scaling::Scale;
use fpsrl_engine::angle::wrap_angle;
use fpsrl_engine::formula::{self, FormulaError};

/// The version of `world.json` that this library writes.
pub const FORMAT: u64 = 1;

/// A learned world.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorldModel {
    /// The file's version: [`FORMAT`].
    pub format: u64,
    /// Names of the state variables, in the order of all state vectors.
    pub states: Vec<String>,
    /// Names of the actions, in the order of all action vectors.
    pub actions: Vec<String>,
    /// Of each state variable: its change in one step, from state and action.
    pub variables: Vec<VariableModel>,
    /// The reward, from state, action and next state.
    pub reward: VariableModel,
    /// The lowest and the highest reward in the data. No prediction leaves them: a search would find the one place
    /// where a network promises more than there ever was.
    pub reward_limits: [f64; 2],
    /// When a transition is absorbing; none if the plant never stops, or nobody asked.
    #[serde(default)]
    pub absorbing: Option<AbsorbingModel>,
    /// What the user knows and need not be learned.
    #[serde(default)]
    pub known: Option<KnownParts>,
    /// How actions are applied, where that takes more than taking them as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub actuators: Vec<Actuator>,
    /// The limits of the actions, where running sums must know of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub saturations: Vec<Saturation>,
    /// What rollouts follow; it comes from the log, and stands in no file.
    #[serde(skip)]
    pub replay: Option<Arc<Replay>>,
}

/// One learned quantity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "VariableFile", into = "VariableFile")]
pub struct VariableModel {
    /// The variable's name; `reward` for the reward.
    pub name: String,
    /// Whether the variable is an angle, which is wrapped to [-π, π] after each step.
    pub angle: bool,
    /// Of each input: physical number to network input.
    pub inputs: Vec<Scale>,
    /// Physical number to network output; undone to predict.
    pub output: Scale,
    /// Mean squared error over variance, on the rows that chose the weights.
    pub validation_error: f64,
    /// Mean squared error over variance, on rows that training never saw.
    pub generalisation_error: f64,
    /// The errors of every depth that was trained, as in the paper's tables.
    pub depths: Vec<DepthError>,
    /// What predicts it, between scaled numbers; of networks, the best on the validation set among those trained.
    pub predictor: Predictor,
}

/// How `world.json` holds a quantity: what predicts it stands under its own name, `network`, `gaussian_process`, `forest` or
/// `carried`, and `layers` beside a network.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct VariableFile {
    name: String,
    angle: bool,
    inputs: Vec<Scale>,
    output: Scale,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    layers: Option<usize>,
    validation_error: f64,
    generalisation_error: f64,
    depths: Vec<DepthError>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    network: Option<Network>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gaussian_process: Option<Box<GaussianProcess>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    forest: Option<Forest>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    carried: Option<Vec<f64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    given: Option<Given>,
}

impl From<VariableModel> for VariableFile {
    fn from(model: VariableModel) -> Self {
        let VariableModel { name, angle, inputs, output, validation_error, generalisation_error, depths, predictor } =
            model;
        let layers = predictor.layers();
        let (mut network, mut gaussian_process, mut forest, mut carried, mut given) = (None, None, None, None, None);
        match predictor {
            Predictor::Network(own) => network = Some(own),
            Predictor::GaussianProcess(own) => gaussian_process = Some(own),
            Predictor::Forest(own) => forest = Some(own),
            Predictor::Carried(own) => carried = Some(own),
            Predictor::Given(own) => given = Some(own),
        }
        Self {
            name,
            angle,
            inputs,
            output,
            layers,
            validation_error,
            generalisation_error,
            depths,
            network,
            gaussian_process,
            forest,
            carried,
            given,
        }
    }
}

impl TryFrom<VariableFile> for VariableModel {
    type Error = String;

    fn try_from(file: VariableFile) -> Result<Self, String> {
        let predictors = [
            file.network.map(Predictor::Network),
            file.gaussian_process.map(Predictor::GaussianProcess),
            file.forest.map(Predictor::Forest),
            file.carried.map(Predictor::Carried),
            file.given.map(Predictor::Given),
        ];
        let mut predictors = predictors.into_iter().flatten();
        let name = file.name;
        let (Some(predictor), None) = (predictors.next(), predictors.next()) else {
            return Err(format!(
                "`{name}` must have exactly one of network, gaussian_process, forest, carried and given"
            ));
        };
        if predictor.layers() != file.layers {
            let told = |layers: Option<usize>| layers.map_or("none".into(), |layers| layers.to_string());
            let (said, found) = (told(file.layers), told(predictor.layers()));
            return Err(format!("`{name}` should have {said} hidden layers and has {found}"));
        }
        Ok(Self {
            name,
            angle: file.angle,
            inputs: file.inputs,
            output: file.output,
            validation_error: file.validation_error,
            generalisation_error: file.generalisation_error,
            depths: file.depths,
            predictor,
        })
    }
}

/// How well the best network of a depth does.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DepthError {
    /// Hidden layers.
    pub layers: usize,
    /// Mean squared error over variance, on the rows that chose the weights.
    pub validation_error: f64,
    /// Mean squared error over variance, on rows that training never saw.
    pub generalisation_error: f64,
    /// Epochs that the best network of this depth was trained for.
    pub epochs: usize,
}

impl VariableModel {
    /// The prediction for physical inputs, in physical units: a change of the variable, or a reward.
    pub fn predict(&self, inputs: impl IntoIterator<Item = f64>) -> f64 {
        let scaled: Vec<f64> = self.inputs.iter().zip(inputs).map(|(scale, value)| scale.apply(value)).collect();
        self.output.undo(self.predictor.evaluate(&scaled))
    }

    /// What is wrong with it, if anything is.
    fn fault(&self, inputs: usize) -> Option<String> {
        let scale_is_usable =
            |scale: &Scale| scale.centre.is_finite() && scale.spread.is_finite() && scale.spread > 0.0;
        if self.inputs.len() != inputs {
            return Some(format!("it has scales for {} inputs instead of {inputs}", self.inputs.len()));
        }
        if !self.inputs.iter().chain([&self.output]).all(scale_is_usable) {
            return Some("a scale is not finite, or its spread is not above 0".into());
        }
        self.predictor.fault(inputs)
    }
}

impl WorldModel {
    /// What the actuators make of an action in a state.
    pub fn applied(&self, state: &[f64], action: &[f64]) -> Vec<f64> {
        let mut applied = action.to_vec();
        for actuator in &self.actuators {
            applied[actuator.action] = actuator.apply(action[actuator.action], state[actuator.last]);
        }
        applied
    }

    /// One step from a state, in which a policy wants an action: the next state and the reward.
    ///
    /// This is the plain computation that faster ones are tested against.
    pub fn step(&self, state: &[f64], action: &[f64]) -> (Vec<f64>, f64) {
        self.respond(state, &self.applied(state, action))
    }

    /// One step from a state under an action that has been applied, such as one of a log.
    pub fn respond(&self, state: &[f64], action: &[f64]) -> (Vec<f64>, f64) {
        let before = || state.iter().chain(action).copied();
        let mut next: Vec<f64> = self
            .variables
            .iter()
            .zip(state)
            .map(|(variable, value)| {
                let moved = value + variable.predict(before());
                if variable.angle { wrap_angle(moved) } else { moved }
            })
            .collect();
        if self.has_given() {
            self.give(state, action, &mut next);
        }
        let reward = match (self.known_reward(state, action, &next), self.absorbed(state, action, &next)) {
            (Some(reward), _) => reward,
            (None, Some((reward, _))) => reward,
            (None, None) => self.reward(state, action, &next),
        };
        let costs = self.costs(state, action, &next);
        (next, reward - costs)
    }

    /// What the user knows, parsed once; none if that is nothing.
    pub(super) fn known_kernel(&self) -> Result<Option<&KnownKernel>, FormulaError> {
        self.known.as_ref().map(|known| known.kernel(&self.states, &self.actions)).transpose()
    }

    /// What a transition costs besides its reward.
    pub fn costs(&self, state: &[f64], action: &[f64], next: &[f64]) -> f64 {
        let Ok(Some(KnownKernel { costs: Some(costs), .. })) = self.known_kernel() else { return 0.0 };
        // What cannot be computed costs nothing; it earns the worst anyway.
        costs.evaluate(&formula::values(state, action, next)).max(0.0)
    }

    /// The reward as the user's formula gives it, within the limits, if there is one.
    fn known_reward(&self, state: &[f64], action: &[f64], next: &[f64]) -> Option<f64> {
        let formula = self.known_kernel().ok()??.reward.as_ref()?;
        let value = formula.evaluate(&formula::values(state, action, next));
        let [lowest, highest] = self.reward_limits;
        Some(if value > lowest { value.min(highest) } else { lowest })
    }

    /// If a transition is absorbing: its reward, where that is not known otherwise, and that of every later step.
    pub fn absorbed(&self, state: &[f64], action: &[f64], next: &[f64]) -> Option<(f64, f64)> {
        match self.known.as_ref().and_then(|known| known.terminal.as_ref()) {
            Some(terminal) => {
                let (condition, ..) = self.known_kernel().ok()??.terminal.as_ref()?;
                let holds = condition.evaluate(&formula::values(state, action, next)) != 0.0;
                holds.then_some((terminal.reward, terminal.later_reward))
            }
            None => self.region(next).map(|region| (region.reward, region.later_reward)),
        }
    }

    /// The absorbing region that a next state lies in, if it does.
    pub fn region(&self, next: &[f64]) -> Option<&Region> {
        self.absorbing.as_ref()?.region(next)
    }

    /// The reward of a transition that does not absorb, within the limits; NaN is the lowest.
    pub fn reward(&self, state: &[f64], action: &[f64], next: &[f64]) -> f64 {
        let [lowest, highest] = self.reward_limits;
        let reward = self.reward.predict(state.iter().chain(action).chain(next).copied());
        if reward.is_nan() { lowest } else { reward.clamp(lowest, highest) }
    }

    /// Checks a model that came from a file; the error says what is wrong with it.
    ///
    /// A model that passes can be stepped without a panic.
    pub fn validate(&self) -> Result<(), String> {
        let fault = |name: &str, fault: String| Err(format!("the model of `{name}` is broken: {fault}"));
        let inputs = self.states.len() + self.actions.len();
        if self.states.is_empty() {
            return Err("it has no state variable".into());
        }
        if self.variables.len() != self.states.len() {
            return Err(format!("it has {} models for {} state variables", self.variables.len(), self.states.len()));
        }
        for (variable, name) in self.variables.iter().zip(&self.states) {
            if variable.name != *name {
                return Err(format!("the model of `{}` stands where that of `{name}` should", variable.name));
            }
            if let Some(text) = variable.fault(inputs) {
                return fault(name, text);
            }
        }
        if let Some(text) = self.reward.fault(inputs + self.states.len()) {
            return fault("reward", text);
        }
        if let Some(text) = self.absorbing.as_ref().and_then(|absorbing| absorbing.fault(self.states.len())) {
            return Err(format!("its absorbing states are broken: {text}"));
        }
        for actuator in &self.actuators {
            if let Some(text) = actuator.fault(self.states.len(), self.actions.len()) {
                return Err(format!("an actuator is broken: {text}"));
            }
        }
        if let Some(text) = self.given_fault() {
            return Err(text);
        }
        self.known_kernel().map_err(|error| format!("a known part is broken: {error}"))?;
        let [lowest, highest] = self.reward_limits;
        if !(lowest.is_finite() && highest.is_finite() && lowest <= highest) {
            return Err(format!("its reward limits {lowest} and {highest} are not two finite numbers in order"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Layer;

    /// A quantity that is `slope` times the last input, for arctangents that are nearly linear.
    fn variable(name: &str, inputs: usize, slope: f64) -> VariableModel {
        let mut weights = vec![0.0; inputs];
        weights[inputs - 1] = 1e-4;
        VariableModel {
            name: name.into(),
            angle: name == "angle",
            inputs: vec![Scale { centre: 0.0, spread: 1.0 }; inputs],
            output: Scale { centre: 0.0, spread: slope },
            validation_error: 0.0,
            generalisation_error: 0.0,
            depths: vec![],
            predictor: Predictor::Network(Network {
                layers: vec![
                    Layer { inputs, outputs: 1, weights, biases: vec![0.0] },
                    Layer { inputs: 1, outputs: 1, weights: vec![1e4], biases: vec![0.0] },
                ],
            }),
        }
    }

    fn model() -> WorldModel {
        WorldModel {
            format: FORMAT,
            states: vec!["angle".into(), "place".into()],
            actions: vec!["force".into()],
            variables: vec![variable("angle", 3, 1.0), variable("place", 3, 2.0)],
            reward: variable("reward", 5, 1.0),
            reward_limits: [-1.0, 0.5],
            absorbing: None,
            known: None,
            actuators: Vec::new(),
            saturations: Vec::new(),
            replay: None,
        }
    }

    #[test]
    fn a_step_adds_the_changes_wraps_the_angle_and_clamps_the_reward() {
        let (next, reward) = model().step(&[3.0, 0.1], &[0.5]);
        assert!((next[0] - (3.5 - std::f64::consts::TAU)).abs() < 1e-6, "{next:?}");
        assert!((next[1] - 1.1).abs() < 1e-6, "{next:?}");
        assert_eq!(reward, 0.5);
        assert!((model().step(&[0.0, 0.3], &[-0.25]).1 - -0.2).abs() < 1e-6);
        assert_eq!(model().step(&[0.0, f64::NAN], &[0.0]).1, -1.0);
    }

    #[test]
    fn a_model_survives_its_file() {
        let text = serde_json::to_string(&model()).unwrap();
        assert!(text.starts_with("{\"format\":1,"));
        let back: WorldModel = serde_json::from_str(&text).unwrap();
        assert_eq!(back, model());
        assert_eq!(back.validate(), Ok(()));
    }

    #[test]
    fn a_quantity_has_one_predictor_under_its_own_name() {
        let text = serde_json::to_string(&variable("place", 2, 1.0)).unwrap();
        assert!(text.contains("\"layers\":1,") && text.contains("\"network\":{"), "{text}");
        let carried = VariableModel { predictor: Predictor::Carried(vec![-1.0, 1.0]), ..variable("past", 2, 1.0) };
        let text = serde_json::to_string(&carried).unwrap();
        assert!(!text.contains("network") && !text.contains("layers"), "{text}");
        assert_eq!(serde_json::from_str::<VariableModel>(&text).unwrap(), carried);
        for (broken, told) in [
            (text.replace("\"carried\":[-1.0,1.0]", "\"carried\":null"), "exactly one"),
            (text.replace("\"carried\":", "\"layers\":2,\"carried\":"), "hidden layers"),
            (text.replace("\"carried\":", "\"network\":{\"layers\":[]},\"carried\":"), "exactly one"),
        ] {
            let error = serde_json::from_str::<VariableModel>(&broken).unwrap_err().to_string();
            assert!(error.contains(told), "{error}");
        }
    }

    #[test]
    fn broken_models_are_refused_with_the_place() {
        type Break = (&'static str, fn(&mut WorldModel));
        let breaks: [Break; 7] = [
            ("`place`", |model| model.variables[1].predictor = Predictor::Carried(vec![1.0; 2])),
            ("scales for 2 inputs", |model| model.variables[0].inputs.truncate(2)),
            ("spread", |model| model.variables[0].inputs[1].spread = 0.0),
            ("spread", |model| model.reward.output.spread = f64::NAN),
            ("1 models for 2", |model| model.variables.truncate(1)),
            ("limits", |model| model.reward_limits = [0.0, -1.0]),
            ("stands where", |model| model.variables.swap(0, 1)),
        ];
        for (told, break_it) in breaks {
            let mut broken = model();
            break_it(&mut broken);
            let fault = broken.validate().unwrap_err();
            assert!(fault.contains(told), "{told}: {fault}");
        }
    }
}
