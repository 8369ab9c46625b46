//! The world of a run directory, as the report needs it: to roll out on, and to be computed in a browser.

use serde::Serialize;

use fpsrl_base::error::Result;
use fpsrl_data::System;
use fpsrl_engine::world::World;
use fpsrl_search::WorldSource;
use fpsrl_world::Actuator;
use fpsrl_world::model::{VariableModel, WorldModel};
use fpsrl_world::network::Layer;
use fpsrl_world::predictor::Predictor;

/// A run's world.
pub(super) struct RunWorld {
    /// To roll out on.
    pub(super) world: Box<dyn World>,
    /// The same, for actions that have been applied already.
    pub(super) unlimited: Box<dyn World>,
    /// The networks, if the world is one set of them that a browser can compute too.
    pub(super) networks: Option<PageWorld>,
    /// What predicts each quantity, in words, by name.
    pub(super) made_of: Vec<(String, String)>,
    /// Where it comes from.
    pub(super) worlds: WorldSource,
}

/// The world that a run learned.
pub(super) fn world_of(worlds: WorldSource, system: &System) -> Result<RunWorld> {
    let (world, unlimited) = (worlds.first(system)?, worlds.unlimited(system)?);
    let (networks, made_of) = match &worlds {
        WorldSource::Learned(learned) => {
            let model = &learned.0.world;
            let parts = model.variables.iter().chain([&model.reward]);
            let known = model.known.as_ref().is_some_and(|known| known.reward.is_some());
            let told = |part: &VariableModel| match known && std::ptr::eq(part, &model.reward) {
                true => "the formula of the problem".to_owned(),
                false => made_of(part),
            };
            (page_world(model), parts.map(|part| (part.name.clone(), told(part))).collect())
        }
        WorldSource::Simulator(..) => (None, Vec::new()),
    };
    Ok(RunWorld { world, unlimited, networks, made_of, worlds })
}

/// What predicts a quantity.
fn made_of(part: &VariableModel) -> String {
    match &part.predictor {
        Predictor::GaussianProcess(_) => "Gaussian process".into(),
        Predictor::Forest(_) => "forest".into(),
        Predictor::Carried(_) => "carried along".into(),
        Predictor::Given(_) => "given".into(),
        Predictor::Network(network) if network.depth() == 1 => "network, 1 hidden layer".into(),
        Predictor::Network(network) => format!("network, {} hidden layers", network.depth()),
    }
}

/// A set of networks as `web/world.js` reads it.
#[derive(Clone, Debug, Serialize)]
pub struct PageWorld {
    variables: Vec<PageNetwork>,
    reward: PageNetwork,
    reward_limits: [f64; 2],
    /// How actions are applied.
    actuators: Vec<Actuator>,
    regions: Vec<PageRegion>,
}

#[derive(Clone, Debug, Serialize)]
struct PageNetwork {
    angle: bool,
    /// Centre and spread of each input.
    inputs: Vec<[f64; 2]>,
    output: [f64; 2],
    layers: Vec<PageLayer>,
}

#[derive(Clone, Debug, Serialize)]
struct PageLayer {
    weights: Vec<f64>,
    biases: Vec<f64>,
}

#[derive(Clone, Debug, Serialize)]
struct PageRegion {
    /// Variable, whether above, and where.
    bounds: Vec<(usize, bool, f64)>,
    reward: f64,
    later_reward: f64,
}

/// A world for the page. Only networks are computed there, no formulas of the user's own.
pub fn page_world(model: &WorldModel) -> Option<PageWorld> {
    if model.known.is_some() {
        return None;
    }
    let layer = |layer: &Layer| PageLayer { weights: layer.weights.clone(), biases: layer.biases.clone() };
    let network = |part: &VariableModel| {
        Some(PageNetwork {
            angle: part.angle,
            inputs: part.inputs.iter().map(|scale| [scale.centre, scale.spread]).collect(),
            output: [part.output.centre, part.output.spread],
            layers: part.predictor.as_network()?.layers.iter().map(layer).collect(),
        })
    };
    let regions = model.absorbing.iter().flat_map(|absorbing| &absorbing.regions);
    Some(PageWorld {
        variables: model.variables.iter().map(network).collect::<Option<_>>()?,
        reward: network(&model.reward)?,
        reward_limits: model.reward_limits,
        actuators: model.actuators.clone(),
        regions: regions
            .map(|region| PageRegion {
                bounds: region.bounds.iter().map(|bound| (bound.variable, bound.above, bound.at)).collect(),
                reward: region.reward,
                later_reward: region.later_reward,
            })
            .collect(),
    })
}
