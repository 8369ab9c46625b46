//! Cases that all measurements share: worlds and policies of a given size with random but fixed numbers.

pub mod watch;

use fpsrl::data::scaling::Scale;
use fpsrl::policy::{ActionRules, FuzzyPolicy, Quantity, Rule};
use fpsrl::random::{Purpose, Stream};
use fpsrl::simd::{Mode, Numerics};
use fpsrl::world::model::{VariableModel, WorldModel};
use fpsrl::world::network::{Layer, Network};
use fpsrl::world::predictor::Predictor;
use serde::{Deserialize, Serialize};

const STATES: [&str; 4] = ["theta", "theta_dot", "rho", "rho_dot"];

/// How far from zero the centres of rules lie at most.
const REACH: [f64; 4] = [3.0, 10.0, 5.0, 8.0];

/// AVX2, whatever else the machine has: figures of one instruction set are comparable.
pub fn avx2() -> Result<Numerics, Box<dyn std::error::Error>> {
    let avx2 = Numerics::every(Mode::Fast).into_iter().find(|numerics| numerics.name() == "AVX2+FMA");
    avx2.ok_or_else(|| "this machine has no AVX2\nhint: leave `avx2` out, or run this elsewhere".into())
}

/// A fitness to compute: what this engine and its peers are given, word for word the same.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Case {
    /// Steps of a rollout.
    pub steps: usize,
    /// γ
    pub discount: f64,
    /// The networks.
    pub world: WorldModel,
    /// The lowest and the highest position of a swarm.
    pub space: [Vec<f64>; 2],
    /// The policies as positions in the space.
    pub positions: Vec<Vec<f64>>,
    /// The same policies as rules.
    pub policies: Vec<FuzzyPolicy>,
    /// Where each policy is started.
    pub starts: Vec<Vec<f64>>,
}

impl Case {
    /// The swing-up with 3 hidden layers of 10 neurons for every network, 500 steps.
    pub fn swing_up(starts: usize, policies: usize) -> Self {
        let positions: Vec<Vec<f64>> = (0..policies as u32).map(swing_up_position).collect();
        Self {
            steps: 500,
            discount: 0.994015,
            world: swing_up_world(3, 10),
            space: swing_up_space(),
            policies: positions.iter().map(|position| swing_up_policy_at(position)).collect(),
            positions,
            starts: swing_up_starts(starts),
        }
    }
}

/// A world with the shape of the swing-up model: four state variables, one action, `layers` hidden layers of `neurons`.
pub fn swing_up_world(layers: usize, neurons: usize) -> WorldModel {
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
        validation_error: 0.0,
        generalisation_error: 0.0,
        depths: Vec::new(),
        predictor: Predictor::Network(network(
            index as u32,
            inputs.len(),
            layers,
            neurons,
            (index < 4).then_some(index),
        )),
    };
    WorldModel {
        format: 1,
        states: STATES.map(String::from).to_vec(),
        actions: vec!["force".into()],
        variables: (0..4).map(|index| part(index, STATES[index], &state_action, scale(changes[index]))).collect(),
        reward: part(4, "reward", &all, Scale { centre: -0.5, spread: 0.5 }),
        reward_limits: [-1.0, 0.0],
        absorbing: None,
        known: None,
        actuators: Vec::new(),
        saturations: Vec::new(),
        replay: None,
    }
}

/// A network with random weights.
///
/// One that is pulled back has in its first neurons nothing but that input, and from them an output of the opposite sign:
/// like friction, it keeps states where the scales expect them and rollouts from diverging by their roundings.
fn network(which: u32, inputs: usize, layers: usize, neurons: usize, pulled_back: Option<usize>) -> Network {
    let stream = Stream::new(1, Purpose::Weights);
    let mut sizes = vec![inputs];
    sizes.extend(std::iter::repeat_n(neurons, layers));
    sizes.push(1);
    let count = sizes.len() - 1;
    let layers = sizes
        .windows(2)
        .enumerate()
        .map(|(layer, pair)| {
            let number = |index: usize, kind: u32| stream.normal(which * 16 + layer as u32, index as u32, kind);
            let mut weights: Vec<f64> =
                (0..pair[0] * pair[1]).map(|index| number(index, 0) / (pair[0] as f64).sqrt()).collect();
            let mut biases: Vec<f64> = (0..pair[1]).map(|index| 0.3 * number(index, 1)).collect();
            if let Some(input) = pulled_back {
                let last = layer + 1 == count;
                if !last {
                    weights[..pair[0]].fill(0.0);
                    biases[0] = 0.0;
                }
                weights[if layer == 0 { input } else { 0 }] = if last { -2.0 } else { 1.0 };
            }
            Layer { inputs: pair[0], outputs: pair[1], weights, biases }
        })
        .collect();
    Network { layers }
}

/// The space that the policies are drawn from and that swarms search: its lowest and highest position.
///
/// A position holds, for each of the two rules that are not mirrors, four centres, four widths and the output; then α.
pub fn swing_up_space() -> [Vec<f64>; 2] {
    let rule = |sign: f64| {
        let centres = REACH.map(|reach| sign * reach);
        let widths = REACH.map(|reach| if sign < 0.0 { 0.2 * reach } else { 2.0 * reach });
        centres.into_iter().chain(widths).chain([sign])
    };
    [(-1.0, 0.5), (1.0, 8.0)].map(|(sign, alpha)| rule(sign).chain(rule(sign)).chain([alpha]).collect())
}

/// A position of [`swing_up_space`]; each `which` is another one.
pub fn swing_up_position(which: u32) -> Vec<f64> {
    let stream = Stream::new(2, Purpose::SwarmStart);
    let [low, high] = swing_up_space();
    (0..low.len()).map(|dimension| stream.within(low[dimension], high[dimension], 0, which, dimension as u32)).collect()
}

/// The policy of four rules at a position: two rules, and their mirrors.
pub fn swing_up_policy_at(position: &[f64]) -> FuzzyPolicy {
    let numbers = REACH.len();
    let mut rules: Vec<Rule> = position
        .chunks_exact(2 * numbers + 1)
        .map(|rule| Rule {
            centre: rule[..numbers].to_vec(),
            width: rule[numbers..2 * numbers].to_vec(),
            output: rule[2 * numbers],
        })
        .collect();
    rules.extend(rules.clone().iter().map(Rule::mirror));
    FuzzyPolicy {
        states: STATES.map(|name| Quantity::new(name, "")).to_vec(),
        mirrored: true,
        actions: vec![ActionRules {
            name: "force".into(),
            unit: "N".into(),
            rate: None,
            reach: 1.0,
            limits: [-30.0, 30.0],
            alpha: position[position.len() - 1],
            rules,
        }],
    }
}

/// A policy of four mirrored rules over the swing-up states; each `which` is another one.
pub fn swing_up_policy(which: u32) -> FuzzyPolicy {
    swing_up_policy_at(&swing_up_position(which))
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
