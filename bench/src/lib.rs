//! Cases that all measurements share: worlds and policies of a given size with random but fixed numbers.

use fpsrl::data::scaling::Scale;
use fpsrl::policy::{ActionRules, FuzzyPolicy, Quantity, Rule};
use fpsrl::random::{Purpose, Stream};
use fpsrl::world::model::{VariableModel, WorldModel};
use fpsrl::world::network::{Layer, Network};

/// A world with the shape of the swing-up model: four state variables, one action, `layers` hidden layers of `neurons`.
pub fn swing_up_world(layers: usize, neurons: usize) -> WorldModel {
    let names = ["theta", "theta_dot", "rho", "rho_dot"];
    let spreads = [1.8, 7.2, 31.0, 6.1];
    let changes = [0.18, 0.5, 0.15, 0.45];
    let scale = |spread: f64| Scale { centre: 0.0, spread };
    let state_action: Vec<Scale> = spreads.iter().copied().chain([17.0]).map(scale).collect();
    let all: Vec<Scale> = state_action.iter().cloned().chain(spreads.map(scale)).collect();
    let part = |index: usize, name: &str, inputs: &[Scale], output: Scale| VariableModel {
        name: name.into(),
        angle: index == 0,
        inputs: inputs.to_vec(),
        output,
        layers,
        validation_error: 0.0,
        generalisation_error: 0.0,
        depths: Vec::new(),
        network: network(index as u32, inputs.len(), layers, neurons),
    };
    WorldModel {
        format: 1,
        states: names.map(String::from).to_vec(),
        actions: vec!["force".into()],
        variables: (0..4).map(|index| part(index, names[index], &state_action, scale(changes[index]))).collect(),
        reward: part(4, "reward", &all, Scale { centre: -0.5, spread: 0.5 }),
        reward_limits: [-1.0, 0.0],
    }
}

fn network(which: u32, inputs: usize, layers: usize, neurons: usize) -> Network {
    let stream = Stream::new(1, Purpose::Weights);
    let mut sizes = vec![inputs];
    sizes.extend(std::iter::repeat_n(neurons, layers));
    sizes.push(1);
    let layers = sizes
        .windows(2)
        .enumerate()
        .map(|(layer, pair)| {
            let number = |index: usize, kind: u32| stream.normal(which * 16 + layer as u32, index as u32, kind);
            Layer {
                inputs: pair[0],
                outputs: pair[1],
                weights: (0..pair[0] * pair[1]).map(|index| number(index, 0) / (pair[0] as f64).sqrt()).collect(),
                biases: (0..pair[1]).map(|index| 0.3 * number(index, 1)).collect(),
            }
        })
        .collect();
    Network { layers }
}

/// A policy of four mirrored rules over the swing-up states; each `which` is another one.
pub fn swing_up_policy(which: u32) -> FuzzyPolicy {
    let stream = Stream::new(2, Purpose::SwarmStart);
    let reach = [3.0, 10.0, 5.0, 8.0];
    let mut rules: Vec<Rule> = (0..2)
        .map(|rule| Rule {
            centre: (0..4).map(|state| reach[state] * stream.within(-1.0, 1.0, which, rule, state as u32)).collect(),
            width: (0..4).map(|state| reach[state] * stream.within(0.1, 2.0, which, rule, 4 + state as u32)).collect(),
            output: stream.within(-1.0, 1.0, which, rule, 8),
        })
        .collect();
    rules.extend(rules.clone().iter().map(Rule::mirror));
    FuzzyPolicy {
        states: ["theta", "theta_dot", "rho", "rho_dot"]
            .map(|name| Quantity { name: name.into(), unit: String::new() })
            .to_vec(),
        mirrored: true,
        actions: vec![ActionRules { name: "force".into(), unit: "N".into(), limits: [-30.0, 30.0], alpha: 5.0, rules }],
    }
}

/// Start states spread over the swing-up's start range.
pub fn swing_up_starts(count: usize) -> Vec<Vec<f64>> {
    let stream = Stream::new(3, Purpose::SearchStart);
    (0..count)
        .map(|index| {
            let draw = |low: f64, high: f64, variable| stream.within(low, high, 0, index as u32, variable);
            vec![draw(-std::f64::consts::PI, std::f64::consts::PI, 0), 0.0, draw(-0.5, 0.5, 2), 0.0]
        })
        .collect()
}
