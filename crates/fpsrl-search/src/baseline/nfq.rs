//! Neural fitted Q iteration (Riedmiller 2005), the model-free method that the paper compares FPSRL with.
//!
//! Q(s, a) is a network with sigmoid neurons. Each iteration computes the target r + γ max_b Q(s', b) of every row of the
//! log, a row that ends in an absorbing state the value of staying there, and fits a network to all targets by Rprop.
//! It starts from fresh weights each time: on mountain car and balancing, going on from the last ones got stuck in
//! saturated neurons (200 iterations of balancing: -2.1 and -4.4 on the model instead of -1.6).
//! Actions are the lowest, the middle and the highest value. After each iteration the greedy policy is scored on the
//! world model, and the best one is kept: the log alone does not tell when to stop.
//!
//! What limits it is not the fit to the log but what the network says beyond it: a good policy leaves the states of a
//! random one at once. So where the problem is declared symmetric, every row is learned from in its mirror image too.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::q_network::{Batch, QKernel, QNetwork, Rprop};
use super::target_scale::TargetScale;
use super::{QPolicy, QPolicyKernel};
use fpsrl_base::error::{Error, Result};
use fpsrl_base::random::{Purpose, Stream};
use fpsrl_data::System;
use fpsrl_data::plant::PlantKind;
use fpsrl_data::scaling::Scale;
use fpsrl_data::{Transitions, absorbing};
use fpsrl_engine::rollout::{FitnessFunction, StartStates};
use fpsrl_engine::simd::Numerics;
use fpsrl_engine::world::World;

/// Actions that may be chosen, over all combinations; more would make every target too dear.
const MOST_CHOICES: usize = 243;

/// How NFQ runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NfqSettings {
    /// Iterations of Q.
    pub iterations: usize,
    /// Epochs of Rprop in each iteration.
    pub epochs: usize,
    /// Neurons of each hidden layer.
    pub hidden: Vec<usize>,
    /// Where the first weights come from.
    pub seed: u64,
    /// Whether every row is also learned from in its mirror image.
    #[serde(default)]
    pub mirrored: bool,
}

impl NfqSettings {
    /// The paper's networks, with fewer iterations than its 1,000: most runs are at their best before.
    ///
    /// ```
    /// use fpsrl_data::System;
    /// use fpsrl_search::baseline::nfq::NfqSettings;
    /// let settings = NfqSettings::of(&System::benchmark("cart-pole-swing-up")?, true);
    /// assert_eq!(settings.hidden, [20, 20, 20]);
    /// # Ok::<(), fpsrl_base::Error>(())
    /// ```
    pub fn of(system: &System, mirrored: bool) -> Self {
        let layers = if system.plant() == Some(PlantKind::CartPoleSwingUp) { 3 } else { 2 };
        Self { iterations: 200, epochs: 300, hidden: vec![20; layers], seed: system.seed(), mirrored }
    }

    /// Refuses settings that cannot run.
    pub fn check(&self) -> Result<()> {
        let hint = "leave it out for the default";
        let counts = [("nfq.iterations", self.iterations), ("nfq.epochs", self.epochs)];
        for (key, value) in counts {
            if value == 0 {
                return Err(Error::setting(key, value, "it must be at least 1", hint));
            }
        }
        if self.hidden.is_empty() || self.hidden.len() > 8 || self.hidden.iter().any(|size| !(1..=256).contains(size)) {
            let value = format!("{:?}", self.hidden);
            return Err(Error::setting("nfq.hidden", value, "it takes 1 to 8 layers of 1 to 256 neurons", hint));
        }
        Ok(())
    }
}

/// How NFQ stands after an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NfqRecord {
    /// The iteration, from 1.
    pub iteration: usize,
    /// The network's mean squared error on its targets, in the scale of the sigmoid.
    pub error: f64,
    /// The greedy policy's mean return on the world model.
    pub model_return: f64,
    /// The best of these so far.
    pub best: f64,
}

/// All that NFQ must remember to go on elsewhere as if it had never stopped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NfqState {
    /// The network after the last iteration.
    pub network: QNetwork,
    /// What the network's output stands for; none before the first iteration.
    pub scale: Option<TargetScale>,
    /// The network with the best return on the world model.
    pub best: QNetwork,
    /// A row an iteration.
    pub records: Vec<NfqRecord>,
}

/// NFQ under way on a log: [`Nfq::step`] makes one iteration.
///
/// ```
/// use fpsrl_base::progress::Progress;
/// use fpsrl_data::{DataSettings, System, generate, plant::{PlantKind, PlantWorld}};
/// use fpsrl_engine::simd::{Mode, Numerics};
/// use fpsrl_search::baseline::nfq::{Nfq, NfqSettings};
/// let system = System::benchmark("mountain-car")?;
/// let data = DataSettings { samples: 500, ..DataSettings::for_plant(system.plant()) };
/// let log = generate(&system, &data, &Progress::silent())?;
/// let world = PlantWorld::new(PlantKind::MountainCar);
/// let settings = NfqSettings { iterations: 2, epochs: 10, ..NfqSettings::of(&system, false) };
/// let starts = system.search_starts(0, 200);
/// let mut nfq = Nfq::new(&system, &log, &world, &starts, settings, Numerics::detect(Mode::Fast))?;
/// let record = nfq.step();
/// assert!(record.model_return <= 0.0);
/// let force = nfq.best().act(&[-0.5, 0.0])[0];
/// assert!([-1.0, 0.0, 1.0].contains(&force));
/// # Ok::<(), fpsrl_base::Error>(())
/// ```
pub struct Nfq<'a> {
    settings: NfqSettings,
    discount: f64,
    numerics: Numerics,
    fitness: FitnessFunction<'a>,
    inputs: Vec<Scale>,
    choices: Vec<Vec<f64>>,
    /// States and actions.
    batch: Batch,
    /// Next states; the actions are filled in choice by choice.
    following: Batch,
    rewards: Vec<f64>,
    /// Of each row: the value of its next state, where that is absorbing.
    final_values: Vec<Option<f64>>,
    state: NfqState,
}

impl<'a> Nfq<'a> {
    /// NFQ at its beginning.
    pub fn new(
        system: &System,
        transitions: &Transitions,
        world: &'a dyn World,
        starts: &StartStates,
        settings: NfqSettings,
        numerics: Numerics,
    ) -> Result<Self> {
        settings.check()?;
        let choices = choices(system)?;
        let absorbed = absorbing::rewards_from_then_on(transitions);
        // Rows that begin in an absorbing state say nothing about what to do, and nothing bootstraps from them.
        let kept = absorbing::rows_that_matter(transitions, &absorbed);
        let mut transitions = transitions.rows(&kept);
        let mut final_values: Vec<Option<f64>> =
            kept.iter().map(|&row| absorbed[row].map(|reward| reward / (1.0 - system.discount()))).collect();
        if settings.mirrored {
            let images = transitions.mirrored(system);
            transitions.append(&images);
            final_values.extend_from_within(..);
        }
        let inputs: Vec<Scale> =
            transitions.states.iter().chain(&transitions.actions).map(|column| Scale::robust(column)).collect();
        let scaled = |columns: &[Vec<f64>], scales: &[Scale]| -> Vec<Vec<f32>> {
            let apply =
                |(column, scale): (&Vec<f64>, &Scale)| column.iter().map(|&value| scale.apply(value) as f32).collect();
            columns.iter().zip(scales).map(apply).collect()
        };
        let states = system.states().len();
        let mut columns = scaled(&transitions.states, &inputs);
        columns.extend(scaled(&transitions.actions, &inputs[states..]));
        let mut following = scaled(&transitions.next_states, &inputs);
        following.extend(vec![vec![0.0; transitions.len()]; system.actions().len()]);
        let discount = system.discount();
        let sizes: Vec<usize> = [inputs.len()].into_iter().chain(settings.hidden.iter().copied()).chain([1]).collect();
        let network = QNetwork::random(&sizes, Stream::new(settings.seed, Purpose::QWeights), 0);
        Ok(Self {
            discount,
            numerics,
            fitness: FitnessFunction::new(world, starts, system.horizon(), discount, numerics),
            inputs,
            choices,
            batch: Batch::new(columns),
            following: Batch::new(following),
            rewards: transitions.rewards.clone(),
            final_values,
            state: NfqState { best: network.clone(), network, scale: None, records: Vec::new() },
            settings,
        })
    }

    /// Goes on from a saved state; the error says what is wrong with it.
    pub fn restore(&mut self, state: NfqState) -> std::result::Result<(), String> {
        let sizes = &self.state.network.sizes;
        for network in [&state.network, &state.best] {
            if network.sizes != *sizes {
                return Err(format!("its network has layers of {:?} neurons instead of {sizes:?}", network.sizes));
            }
            if let Some(fault) = network.fault(sizes[0]) {
                return Err(fault);
            }
        }
        if state.scale.is_none() != state.records.is_empty() {
            return Err("its scale of targets does not belong to its records".into());
        }
        self.state = state;
        Ok(())
    }

    /// What a checkpoint holds.
    pub fn state(&self) -> &NfqState {
        &self.state
    }

    /// Whether all iterations have been made.
    pub fn is_finished(&self) -> bool {
        self.state.records.len() >= self.settings.iterations
    }

    /// The greedy policy that did best on the world model.
    pub fn best(&self) -> QPolicy {
        self.policy(&self.state.best)
    }

    fn policy(&self, network: &QNetwork) -> QPolicy {
        QPolicy { inputs: self.inputs.clone(), choices: self.choices.clone(), network: network.clone() }
    }

    /// Makes one iteration.
    pub fn step(&mut self) -> NfqRecord {
        let targets = self.targets();
        let scaling = TargetScale::of(&targets);
        let scaled: Vec<f32> = targets.iter().map(|&target| scaling.apply(target) as f32).collect();
        let error = self.fit(&scaled);
        self.state.scale = Some(scaling);

        let policy = self.policy(&self.state.network);
        let mut workspace = self.fitness.workspace();
        let returns = self.fitness.returns(&QPolicyKernel::new(&policy), &mut workspace);
        let model_return = returns.iter().sum::<f64>() / returns.len() as f64;
        let before = self.state.records.last().map_or(f64::NEG_INFINITY, |record| record.best);
        if model_return > before {
            self.state.best = policy.network;
        }
        let record =
            NfqRecord { iteration: self.state.records.len() + 1, error, model_return, best: before.max(model_return) };
        self.state.records.push(record);
        record
    }

    /// Fits the network to targets; returns its mean squared error.
    ///
    /// The parameters with the smallest error on the way are kept: Rprop's steps may throw a network far into saturation,
    /// from where it would not come back in the iterations that follow.
    fn fit(&mut self, targets: &[f32]) -> f64 {
        let network = &mut self.state.network;
        let stream = Stream::new(self.settings.seed, Purpose::QWeights);
        *network = QNetwork::random(&network.sizes, stream, self.state.records.len() as u32);
        let mut rprop = Rprop::new(network.parameters.len());
        let mut centred = network.centred();
        let mut best = (f64::INFINITY, Vec::new());
        for epoch in 0..=self.settings.epochs {
            let (mut gradient, half_squares) = network.kernel().gradient(&self.batch, targets, self.numerics);
            if half_squares < best.0 {
                best = (half_squares, network.parameters.clone());
            }
            if epoch < self.settings.epochs {
                network.centre_gradient(&mut gradient);
                rprop.step(&mut centred, &gradient);
                network.set_centred(&centred);
            }
        }
        if best.0.is_finite() {
            network.parameters = best.1;
        }
        2.0 * best.0 / self.batch.rows() as f64
    }

    /// r + γ max_b Q(s', b) of every row.
    fn targets(&mut self) -> Vec<f64> {
        let rows = self.batch.rows();
        let mut values = vec![0.0; rows];
        if let Some(scaling) = self.state.scale {
            let states = self.inputs.len() - self.choices[0].len();
            let mut best = vec![f32::NEG_INFINITY; rows];
            let kernel = QKernel::new(Cow::Borrowed(&self.state.network));
            for choice in &self.choices {
                for (action, &value) in choice.iter().enumerate() {
                    self.following.fill(states + action, self.inputs[states + action].apply(value) as f32);
                }
                let outputs = kernel.outputs(&self.following, self.numerics);
                best.iter_mut().zip(outputs).for_each(|(best, output)| *best = best.max(output));
            }
            values.iter_mut().zip(best).for_each(|(value, output)| *value = scaling.undo(f64::from(output)));
        }
        values
            .iter()
            .zip(&self.final_values)
            .zip(&self.rewards)
            .map(|((value, final_value), reward)| reward + self.discount * final_value.unwrap_or(*value))
            .collect()
    }
}

/// Every combination of the lowest, the middle and the highest value of each action.
fn choices(system: &System) -> Result<Vec<Vec<f64>>> {
    let mut choices: Vec<Vec<f64>> = vec![Vec::new()];
    for action in system.actions() {
        let [low, high] = action.limits;
        choices = choices
            .iter()
            .flat_map(|choice| {
                [low, 0.5 * (low + high), high].map(|value| choice.iter().copied().chain([value]).collect())
            })
            .collect();
        if choices.len() > MOST_CHOICES {
            return Err(Error::setting(
                "action",
                system.actions().len(),
                format!("NFQ tries every combination of three values, {MOST_CHOICES} at most"),
                "compare with NFQ on a problem of fewer actions",
            ));
        }
    }
    Ok(choices)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PolicySettings, SearchSettings};
    use fpsrl_base::progress::Progress;
    use fpsrl_data::plant::PlantWorld;
    use fpsrl_data::system::{Surroundings, WrittenAction, WrittenState, WrittenSystem};
    use fpsrl_data::{DataSettings, generate};
    use fpsrl_engine::policy::Policy;
    use fpsrl_engine::rollout::Lanes;
    use fpsrl_engine::simd::Mode;

    /// A plant and its log.
    fn parts(name: &str, samples: usize) -> (System, Transitions) {
        let system = System::benchmark(name).unwrap();
        let data = DataSettings { samples, ..DataSettings::for_plant(system.plant()) };
        let log = generate(&system, &data, &Progress::silent()).unwrap();
        (system, log)
    }

    /// The settings of a plant: those that are symmetric have mirrored rules.
    fn settings_of(system: &System) -> NfqSettings {
        NfqSettings::of(system, PolicySettings::for_plant(system.plant()).mirrored)
    }

    /// NFQ at its beginning, from the start states of the plant's search.
    fn begun<'a>(
        system: &System,
        log: &Transitions,
        world: &'a dyn World,
        settings: NfqSettings,
        numerics: Numerics,
    ) -> Nfq<'a> {
        let starts = system.search_starts(0, SearchSettings::for_plant(system.plant()).start_states);
        Nfq::new(system, log, world, &starts, settings, numerics).unwrap()
    }

    #[test]
    fn lanes_choose_the_action_that_q_in_f64_prefers() {
        let (system, log) = parts("cart-pole-balancing", 300);
        let world = PlantWorld::new(PlantKind::CartPoleBalancing);
        for numerics in Numerics::every(Mode::Fast) {
            let settings = NfqSettings { iterations: 1, epochs: 20, ..settings_of(&system) };
            let mut nfq = begun(&system, &log, &world, settings, numerics);
            nfq.step();
            let policy = nfq.best();
            let mut lanes = Lanes::new(4, 1, 150);
            lanes.set_live(150);
            for lane in 0..150 {
                for variable in 0..4 {
                    lanes.state_mut(variable)[lane] = log.states[variable][lane] as f32;
                }
            }
            QPolicyKernel::new(&policy).act(&mut lanes, numerics);
            let agree = (0..150)
                .filter(|&lane| {
                    let state: Vec<f64> = (0..4).map(|variable| f64::from(lanes.state(variable)[lane])).collect();
                    policy.act(&state)[0] as f32 == lanes.action(0)[lane]
                })
                .count();
            // Only where two actions are worth the same to seven digits may rounding decide.
            assert!(agree >= 148, "{agree}");
        }
    }

    #[test]
    fn nfq_learns_to_drive_up_the_hill() {
        let (system, log) = parts("mountain-car", 4_000);
        let world = PlantWorld::new(PlantKind::MountainCar);
        let settings = NfqSettings { iterations: 60, epochs: 60, ..settings_of(&system) };
        let mut nfq = begun(&system, &log, &world, settings, Numerics::detect(Mode::Fast));
        while !nfq.is_finished() {
            nfq.step();
        }
        let best = nfq.state().records.last().unwrap().best;
        assert!(best > -50.0, "{best}");
    }

    #[test]
    fn nfq_goes_on_from_a_saved_state_as_if_it_had_never_stopped() {
        let (system, log) = parts("cart-pole-balancing", 500);
        let world = PlantWorld::new(PlantKind::CartPoleBalancing);
        let begin = || {
            let settings = NfqSettings { iterations: 4, epochs: 15, ..settings_of(&system) };
            begun(&system, &log, &world, settings, Numerics::detect(Mode::Fast))
        };
        let mut whole = begin();
        whole.step();
        whole.step();
        whole.step();
        whole.step();
        let mut first = begin();
        first.step();
        first.step();
        let text = serde_json::to_string(first.state()).unwrap();
        let mut second = begin();
        second.restore(serde_json::from_str(&text).unwrap()).unwrap();
        second.step();
        second.step();
        assert_eq!(whole.state(), second.state());
        let mut broken = first.state().clone();
        broken.network.parameters.pop();
        assert!(second.restore(broken).is_err());
    }

    #[test]
    fn a_fall_is_worth_its_reward_for_ever_and_rows_after_it_are_left_out() {
        let (system, log) = parts("cart-pole-balancing", 300);
        let world = PlantWorld::new(PlantKind::CartPoleBalancing);
        let settings = settings_of(&system);
        let mut nfq = begun(&system, &log, &world, settings, Numerics::detect(Mode::Fast));
        let moving: Vec<usize> = (0..log.len()).filter(|&row| !log.stays(row)).collect();
        let targets = nfq.targets();
        // Balancing is symmetric: the mirror images follow, and are worth the same.
        assert_eq!(targets.len(), 2 * moving.len());
        assert_eq!(targets[..moving.len()], targets[moving.len()..]);
        for (row, target) in moving.into_iter().zip(targets) {
            let fell = log.next_states[0][row].abs() > 0.7 || log.next_states[2][row].abs() > 2.4;
            let later = if fell { -system.discount() / (1.0 - system.discount()) } else { 0.0 };
            assert!((target - (log.rewards[row] + later)).abs() < 1e-9, "{target}");
        }
    }

    #[test]
    fn a_symmetric_problem_is_learned_from_mirror_images_and_another_is_not() {
        assert!(settings_of(&System::benchmark("cart-pole-balancing").unwrap()).mirrored);
        assert!(!settings_of(&System::benchmark("mountain-car").unwrap()).mirrored);
        let (system, log) = parts("cart-pole-balancing", 300);
        let world = PlantWorld::new(PlantKind::CartPoleBalancing);
        let rows = |mirrored: bool| {
            let settings = NfqSettings { mirrored, ..settings_of(&system) };
            begun(&system, &log, &world, settings, Numerics::detect(Mode::Fast)).batch.rows()
        };
        assert_eq!(rows(true), 2 * rows(false));
    }

    #[test]
    fn nfq_learns_to_balance_from_a_thousand_transitions() {
        let (system, log) = parts("cart-pole-balancing", 1_000);
        let world = PlantWorld::new(PlantKind::CartPoleBalancing);
        let settings = NfqSettings { iterations: 40, ..settings_of(&system) };
        let mut nfq = begun(&system, &log, &world, settings, Numerics::detect(Mode::Fast));
        while !nfq.is_finished() {
            nfq.step();
        }
        let best = nfq.state().records.last().unwrap().best;
        assert!(best > -2.0, "{best}");
    }

    #[test]
    fn settings_that_cannot_run_are_refused() {
        let system = System::benchmark("mountain-car").unwrap();
        let good = settings_of(&system);
        assert!(good.check().is_ok());
        assert!(NfqSettings { epochs: 0, ..good.clone() }.check().is_err());
        assert!(NfqSettings { hidden: vec![], ..good.clone() }.check().is_err());
        assert!(NfqSettings { hidden: vec![0], ..good }.check().is_err());
    }

    #[test]
    fn choices_are_all_combinations() {
        let system = System::benchmark("mountain-car").unwrap();
        assert_eq!(choices(&system).unwrap(), [[-1.0], [0.0], [1.0]]);
        let with_actions = |count: usize| {
            let action = |index: usize| WrittenAction {
                name: format!("force_{index}"),
                limits: Some([-1.0, 1.0]),
                ..WrittenAction::default()
            };
            let position =
                WrittenState { name: "position".into(), start: Some([-1.2, 0.6]), ..WrittenState::default() };
            let written = WrittenSystem {
                name: Some("forces".into()),
                horizon: Some(200),
                states: vec![position],
                actions: (0..count).map(action).collect(),
                ..WrittenSystem::default()
            };
            written.check(&Surroundings::default()).unwrap()
        };
        assert_eq!(choices(&with_actions(2)).unwrap().len(), 9);
        assert!(choices(&with_actions(6)).is_err());
    }
}
