//! Learns a world from transitions: scales, split, and the training of every network (section 5.3 of the paper).
//!
//! For each state variable and for the reward, networks of every depth asked for are trained from several starts. All
//! starts of a depth run a part of the epochs; the best of them by validation error runs the rest. The depth is chosen by
//! validation error too; the generalisation rows judge, and decide nothing. Trainings share nothing but the data, so
//! that neither the number of threads nor their order changes a weight.

mod elsewhere;
mod linear;
mod others;
mod starts;

pub(super) use elsewhere::members_elsewhere;
pub use elsewhere::{TrainedNetwork, Trainers, TrainingJob, Workshop};

use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use super::absorbing::{AbsorbingModel, Arrival};
use super::actuator::Actuator;
use super::given::Saturation;
use super::known::{KnownParts, KnownTerminal};
use super::lag;
use super::model::{DepthError, FORMAT, VariableModel, WorldModel};
use super::predictor::Predictor;
use super::training::{Course, Passes, Samples, Shape, Trainer, Training, Tree, start};
use crate::WorldSettings;
use fpsrl_base::error::{Error, Result};
use fpsrl_base::progress::{Progress, Stage, Status};
use fpsrl_base::random::{Purpose, Stream};
use fpsrl_data::System;
use fpsrl_data::scaling::Scale;
use fpsrl_data::split::{FEWEST_ROWS, Split};
use fpsrl_data::system::Lagged;
use fpsrl_data::{Transitions, absorbing};
use fpsrl_engine::formula::{self, Formula};
use starts::{stops, trees};

/// Rows that a member of an ensemble draws, at most: enough for a few hundred weights, and its price.
const MOST_DRAWN: usize = 5_000;

/// Rows that a member learns the reward from, at most.
const MOST_FOR_THE_REWARD: usize = 20_000;

/// Up to so many training rows, their mirror images are worth their price.
const MOST_MIRRORED: usize = 5_000;

/// How far a known reward may fall below what the log shows, in ranges of the log's rewards.
const BEYOND: f64 = 1.0;

/// The spread of an input that a network does not see: on its scale everything is 0.
const BLIND: f64 = 1e30;

/// The part of the epochs that every start gets before the best one goes on alone.
const PROBE: f64 = 0.2;

/// Trains a world model on recorded transitions.
///
/// ```
/// use fpsrl_base::progress::Progress;
/// use fpsrl_data::{DataSettings, System, generate};
/// use fpsrl_world::{WorldSettings, fit::fit};
/// let system = System::benchmark("mountain-car")?;
/// let data = DataSettings { samples: 400, ..DataSettings::for_plant(system.plant()) };
/// let settings = WorldSettings { epochs: 5, ..WorldSettings::default() };
/// let log = generate(&system, &data, &Progress::silent())?;
/// let world = fit(&system, &settings, &log, &Progress::silent())?;
/// let (next, reward) = world.step(&[-0.5, 0.0], &[1.0]);
/// assert!(next[0].is_finite() && (-1.0..=0.0).contains(&reward));
/// # Ok::<(), fpsrl_base::Error>(())
/// ```
pub fn fit(
    system: &System,
    settings: &WorldSettings,
    transitions: &Transitions,
    progress: &Progress,
) -> Result<WorldModel> {
    fit_member(system, settings, transitions, &Member::default(), None, progress)
}

/// Which member of an ensemble is to be learned; the default is the first, or the only one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Member<'a> {
    /// Whether it is one of the judge's, which learn from other episodes.
    pub(super) is_judge: bool,
    /// Its number; the first, 0, learns from all training rows as they are.
    pub(super) number: u32,
    /// The first member, whose choices of depth the others take over.
    pub(super) like: Option<&'a WorldModel>,
    /// Of each row of the log, whether this member never sees it.
    pub(super) left_out: Option<&'a [bool]>,
}

impl Member<'_> {
    /// Where its first weights come from.
    fn seed(&self, seed: u64) -> u64 {
        match self.number {
            0 => seed,
            number => {
                let [high, low, ..] = Stream::new(seed, Purpose::Member).words(number, 0, 0);
                u64::from(high) << 32 | u64::from(low)
            }
        }
    }

    /// The training rows of this member: those that it may see for the reward, and those that it draws from them with
    /// replacement for what moves.
    ///
    /// Rewards jump at thresholds, and a threshold is known as well as its nearest rows are: a draw that misses a third of
    /// them makes every member worse than the log is.
    fn draw(&self, training: Vec<usize>, moving: &[usize], seed: u64) -> [Vec<usize>; 2] {
        if self.number == 0 {
            return [training.clone(), training];
        }
        let may_see = |row: &usize| self.left_out.is_none_or(|left_out| !left_out[moving[*row]]);
        let mut pool: Vec<usize> = training.iter().copied().filter(may_see).collect();
        if pool.len() < FEWEST_ROWS / 2 {
            pool = training;
        }
        let stream = Stream::new(seed, Purpose::Draw);
        let count = pool.len().min(MOST_DRAWN);
        let index = |draw: usize| (stream.uniform(self.number, draw as u32, 0) * pool.len() as f64) as usize;
        let mut rows: Vec<usize> = (0..count).map(|draw| pool[index(draw).min(pool.len() - 1)]).collect();
        rows.sort_unstable();
        let every = pool.len().div_ceil(MOST_FOR_THE_REWARD).max(1);
        [pool.into_iter().step_by(every).collect(), rows]
    }
}

/// What a member is learned from, before anything is learned.
struct Prepared {
    /// Of each row, what the condition of the end says, if it is known.
    met: Option<Vec<f64>>,
    /// Of each row, what the plant earns in every step from then on, if it has stopped.
    later_rewards: Vec<Option<f64>>,
    /// The system with the seed of the member's first weights.
    own: System,
    quantities: Vec<Quantity>,
    lines: Vec<Option<linear::Line>>,
}

impl Prepared {
    /// Of all quantities, or of one alone.
    fn new(
        system: &System,
        settings: &WorldSettings,
        transitions: &Transitions,
        member: &Member<'_>,
        only: Option<usize>,
    ) -> Result<Self> {
        check(system, settings, transitions)?;
        let all = transitions;
        let met = settings.terminal.as_ref().map(|condition| evaluated(condition, all));
        let mut later_rewards = match settings.absorbing || met.is_some() {
            true => absorbing::rewards_from_then_on(all),
            false => vec![None; all.len()],
        };
        for (later, _) in later_rewards.iter_mut().zip(met.iter().flatten()).filter(|(_, met)| **met != 0.0) {
            *later = later.or(Some(0.0));
        }
        // What moves is learned from the rows that move; jumps into absorbing states are learned on their own.
        let moving: Vec<usize> = (0..all.len()).filter(|&row| later_rewards[row].is_none()).collect();
        if moving.len() < FEWEST_ROWS && all.len() >= FEWEST_ROWS {
            return Err(Error::setting(
                "transitions",
                format!("{} rows, of which {} do not begin or end in absorbing states", all.len(), moving.len()),
                format!("a world model needs at least {FEWEST_ROWS} rows that do not"),
                "record more transitions",
            ));
        }
        let mut transitions = all.rows(&moving);
        let mut split = Split::new(transitions.len(), system.seed())?;
        if let Some(origin) = &transitions.drawn_from {
            split = split.with_copies_together(origin);
        }
        let mut for_the_reward;
        [for_the_reward, split.training] = member.draw(split.training, &moving, system.seed());
        if settings.mirror && split.training.len() <= MOST_MIRRORED {
            let rows = transitions.len();
            transitions.append(&transitions.mirrored(system));
            for part in [&mut split.training, &mut for_the_reward] {
                part.extend(part.clone().into_iter().map(|row| rows + row));
            }
        }
        // Members differ in their first weights too.
        let own = system.reseeded(member.seed(system.seed()));
        let mut quantities: Vec<Quantity> = quantities(&own, settings, &transitions, &split, &for_the_reward, only);
        for quantity in &mut quantities {
            quantity.needs_network = others::needs_network(settings, member.like, quantity.index);
        }
        let lines = linear::take_off(&own, settings, &mut quantities);
        Ok(Self { met, later_rewards, own, quantities, lines })
    }
}

/// Learns one member of an ensemble; its networks are trained elsewhere if somebody is given who does so.
pub(super) fn fit_member(
    system: &System,
    settings: &WorldSettings,
    transitions: &Transitions,
    member: &Member<'_>,
    trainers: Option<&dyn Trainers>,
    progress: &Progress,
) -> Result<WorldModel> {
    let all = transitions;
    let Prepared { met, later_rewards, own, mut quantities, lines } =
        Prepared::new(system, settings, transitions, member, None)?;
    let own = &own;
    let plan = Plan::new(settings, &quantities, member.like);
    progress.begin(Stage::Fit, plan.total);
    let fitted = match trainers {
        Some(trainers) => plan.run_elsewhere(settings, &quantities, member, trainers, progress),
        None => plan.run(own, settings, &quantities, progress),
    };
    progress.end(Stage::Fit);
    let mut variables = fitted?;
    linear::put_back(&lines, &mut quantities, member.like, &mut variables);
    others::replace(own, settings, &quantities, member.like, &mut variables, progress);
    let mut reward = variables.pop().ok_or(Error::Internal("no reward was fitted"))?;
    variables.extend(lag::carried(system));
    // What is given stands among them in the order of the system.
    for (index, given) in lag::given(system) {
        variables.insert(index, given);
    }
    let before_costs = before_costs(settings, all);
    let limits = |fold: fn(f64, f64) -> f64, first| before_costs.iter().copied().fold(first, fold);
    let mut reward_limits = [limits(f64::min, f64::INFINITY), limits(f64::max, f64::NEG_INFINITY)];
    if let Some(formula) = &settings.reward {
        reward.generalisation_error = disagreement(formula, all, &before_costs);
        reward.validation_error = reward.generalisation_error;
        reward_limits = known_limits(system, formula, reward_limits);
    }
    let terminal = settings.terminal.as_ref().zip(met).map(|(condition, met)| {
        let rows: Vec<usize> = (0..all.len()).filter(|&row| met[row] != 0.0).collect();
        // Of what the log never shows, the worst is assumed: nothing is to be gained by it.
        let mean = |of: &dyn Fn(usize) -> f64| match rows.len() {
            0 => reward_limits[0],
            count => rows.iter().map(|&row| of(row)).sum::<f64>() / count as f64,
        };
        KnownTerminal {
            condition: condition.text().to_owned(),
            reward: mean(&|row| all.rewards[row]),
            later_reward: mean(&|row| later_rewards[row].unwrap_or(0.0)),
        }
    });
    let known_reward = settings.reward.as_ref().map(|formula| formula.text().to_owned());
    let mut world = WorldModel {
        format: FORMAT,
        states: system.states().iter().map(|state| state.name.clone()).collect(),
        actions: system.actions().iter().map(|action| action.name.clone()).collect(),
        variables,
        reward,
        reward_limits,
        absorbing: None,
        known: KnownParts::new(known_reward, terminal, settings.costs.as_ref().map(|costs| costs.text().to_owned())),
        actuators: Actuator::of(system),
        saturations: Saturation::of(system),
        replay: None,
    };
    if settings.terminal.is_some() {
        return Ok(world);
    }
    let mut arrivals = arrivals(&world, all, &later_rewards);
    let unseen = Split::new(arrivals.len(), system.seed()).map_or_else(|_| Vec::new(), |split| split.generalisation);
    if member.number > 0 {
        // Ends are rare and each tells something: all members know them. What they draw is where the plant went on.
        let stream = Stream::new(own.seed(), Purpose::Draw);
        let (ends, others): (Vec<Arrival>, Vec<Arrival>) =
            arrivals.into_iter().partition(|row| row.rewards.1.is_some());
        let drawn = |draw: usize| (stream.uniform(0, draw as u32, 1) * others.len() as f64) as usize;
        arrivals = (0..others.len()).map(|draw| others[drawn(draw).min(others.len() - 1)].clone()).collect();
        arrivals.extend(ends);
    }
    if settings.mirror {
        let images: Vec<Arrival> = arrivals.iter().map(Arrival::mirrored).collect();
        arrivals.extend(images);
    }
    world.absorbing = AbsorbingModel::learn(&arrivals, &unseen);
    Ok(world)
}

/// The rewards of a log before what movement and leaving ranges cost was taken off them.
fn before_costs(settings: &WorldSettings, transitions: &Transitions) -> Vec<f64> {
    let Some(costs) = &settings.costs else { return transitions.rewards.clone() };
    let costs = transitions.rewards_by(costs);
    transitions.rewards.iter().zip(costs).map(|(reward, cost)| reward + cost.max(0.0)).collect()
}

/// A formula's value for every row.
fn evaluated(formula: &Formula, transitions: &Transitions) -> Vec<f64> {
    let row_of = |columns: &[Vec<f64>], row: usize| columns.iter().map(|column| column[row]).collect::<Vec<f64>>();
    (0..transitions.len())
        .map(|row| {
            let next = row_of(&transitions.next_states, row);
            formula.evaluate(&formula::values(
                &row_of(&transitions.states, row),
                &row_of(&transitions.actions, row),
                &next,
            ))
        })
        .collect()
}

/// The mean squared difference between a known reward and the log's, over the variance of the log's.
fn disagreement(formula: &Formula, transitions: &Transitions, rewards: &[f64]) -> f64 {
    let scale = Scale::standard(rewards);
    let pairs = evaluated(formula, transitions).into_iter().zip(rewards);
    pairs.map(|(value, reward)| ((value - reward) / scale.spread).powi(2)).sum::<f64>() / transitions.len() as f64
}

/// The least and the largest value of a known reward; where none can be told, the log's.
fn known_limits(system: &System, formula: &Formula, logged: [f64; 2]) -> [f64; 2] {
    let state = |state: &fpsrl_data::system::StateVariable| match state.angle {
        true => [-std::f64::consts::PI, std::f64::consts::PI],
        false => [f64::NEG_INFINITY, f64::INFINITY],
    };
    let states = || system.states().iter().map(state);
    let actions = system.actions().iter().map(|action| action.limits);
    let ranges: Vec<[f64; 2]> = states().chain(actions).chain(states()).chain(states()).collect();
    let [low, high] = formula.range(&ranges);
    // Where a set-point is to be followed, an error beyond the log's largest costs more than that: a limit at what the log
    // shows would make it free to go astray further.
    let margin = if system.place().is_some() { BEYOND * (logged[1] - logged[0]) } else { 0.0 };
    [if low.is_finite() { low } else { logged[0] - margin }, if high.is_finite() { high } else { logged[1] }]
}

/// Where rows ended, those left out that began in an absorbing state: they have not moved.
fn arrivals(world: &WorldModel, transitions: &Transitions, later_rewards: &[Option<f64>]) -> Vec<Arrival> {
    let row_of = |columns: &[Vec<f64>], row: usize| columns.iter().map(|column| column[row]).collect::<Vec<f64>>();
    (0..transitions.len())
        .filter(|&row| later_rewards[row].is_none() || !transitions.stays(row))
        .map(|row| {
            let foresee = |_| {
                let (state, action) = (row_of(&transitions.states, row), row_of(&transitions.actions, row));
                world.respond(&state, &action).0
            };
            // A plant stops by where it is, not by where it was.
            let current = |mut state: Vec<f64>| {
                state.truncate(transitions.own_states());
                state
            };
            Arrival {
                recorded: current(row_of(&transitions.next_states, row)),
                foreseen: later_rewards[row].map(foresee).map(current),
                rewards: (transitions.rewards[row], later_rewards[row]),
            }
        })
        .collect()
}

fn check(system: &System, settings: &WorldSettings, transitions: &Transitions) -> Result<()> {
    let rows = transitions.len();
    let shapes = [
        (transitions.states.len(), system.states().len()),
        (transitions.next_states.len(), system.states().len()),
        (transitions.actions.len(), system.actions().len()),
    ];
    let columns = || transitions.states.iter().chain(&transitions.actions).chain(&transitions.next_states);
    if shapes.iter().any(|(have, want)| have != want) || columns().any(|column| column.len() != rows) {
        return Err(Error::setting(
            "transitions",
            format!("{} states and {} actions", transitions.states.len(), transitions.actions.len()),
            format!("the problem has {} states and {} actions", system.states().len(), system.actions().len()),
            "use the transitions of this problem",
        ));
    }
    if let Some(row) =
        (0..rows).find(|&row| !transitions.rewards[row].is_finite() || columns().any(|column| !column[row].is_finite()))
    {
        return Err(Error::setting(
            "transitions",
            format!("not finite in row {}", row + 1),
            "a world model is learned from finite numbers",
            "remove the row",
        ));
    }
    settings.check()
}

/// Something to be learned.
struct Quantity {
    /// Its place among the state variables; the reward comes after them.
    index: usize,
    name: String,
    angle: bool,
    inputs: Vec<Scale>,
    output: Scale,
    training: Samples,
    validation: Samples,
    generalisation: Samples,
    /// Starts take these in turn.
    trees: Vec<Tree>,
    constant: bool,
    needs_network: bool,
}

/// The state variables' changes, then the reward.
fn quantities(
    system: &System,
    settings: &WorldSettings,
    transitions: &Transitions,
    split: &Split,
    for_the_reward: &[usize],
    only: Option<usize>,
) -> Vec<Quantity> {
    let scaled = |(blind, column): (bool, &Vec<f64>)| {
        // On this scale everything is 0.
        let scale = if blind { Scale { centre: 0.0, spread: BLIND } } else { Scale::robust(column) };
        (scale, column.iter().map(|&value| if blind { 0.0 } else { scale.apply(value) }).collect::<Vec<f64>>())
    };
    let blind = |index: usize| system.is_blind_to(index);
    let places = || transitions.states.iter().enumerate().map(|(index, column)| (blind(index), column));
    // A learned reward may look at set-points and errors, but neither at sums nor at the place.
    let hidden = |index: usize| {
        let of = system.states()[index].lag.map(|lag| lag.of);
        matches!(of, Some(Lagged::Sum(_) | Lagged::Place))
    };
    let nexts = transitions.next_states.iter().enumerate().map(|(index, column)| (hidden(index), column));
    let actions = transitions.actions.iter().map(|column| (false, column));
    let (scales, columns): (Vec<Scale>, Vec<Vec<f64>>) = places().chain(actions).chain(nexts).map(scaled).unzip();
    let dynamics = system.states().len() + system.actions().len();
    let mut wanted: Vec<(String, bool, usize, Vec<f64>)> = system.states()[..system.own_states()]
        .iter()
        .enumerate()
        .map(|(index, state)| (state.name.clone(), state.angle, dynamics, transitions.difference(index, state.angle)))
        .collect();
    // What is known of the reward need not be learned.
    wanted.push(("reward".into(), false, columns.len(), before_costs(settings, transitions)));
    wanted
        .into_par_iter()
        .enumerate()
        .filter(|(index, _)| only.is_none_or(|only| only == *index))
        .map(|(index, (name, angle, inputs, values))| {
            let output = Scale::standard(&values);
            let targets: Vec<f64> = values.iter().map(|&value| output.apply(value)).collect();
            let part = |rows: &[usize]| Samples::of(&columns[..inputs], &targets, rows);
            let training = part(if inputs > dynamics { for_the_reward } else { &split.training });
            let next = transitions.next_states.get(index).filter(|_| inputs == dynamics);
            let mut trees = trees(system, settings, &training, inputs, &targets);
            if let Some(next) = next {
                let stop = stops(&columns, dynamics, next, &split.training, settings.neurons / 2);
                trees.splice(0..0, stop);
            }
            Quantity {
                index,
                name,
                angle,
                inputs: scales[..inputs].to_vec(),
                output,
                // A reward that is known needs no network; one that predicts a constant stands in its place.
                constant: targets.iter().all(|target| target.abs() < 1e-12)
                    || (inputs > dynamics && settings.reward.is_some()),
                validation: part(&split.validation),
                generalisation: part(&split.generalisation),
                training,
                trees,
                needs_network: true,
            }
        })
        .collect()
}

/// A trained network: its quantity, its depth, its errors and its weights.
type Network = (usize, usize, DepthError, Vec<f64>);

/// What has to be trained, and how its progress is counted.
struct Plan {
    /// Quantity and depth.
    tasks: Vec<(usize, usize)>,
    probe: usize,
    restarts: usize,
    total: u64,
    done: AtomicU64,
}

impl Plan {
    fn new(settings: &WorldSettings, quantities: &[Quantity], like: Option<&WorldModel>) -> Self {
        let depths = |index: usize| match like {
            None => settings.layers.each(),
            Some(world) => vec![world.learned(index).predictor.layers().unwrap_or(1).max(1)],
        };
        let mut tasks: Vec<(usize, usize)> = (0..quantities.len())
            .flat_map(|index| depths(index).into_iter().map(move |depth| (index, depth)))
            .collect();
        // The deepest take longest: begun first, they do not leave one thread working alone at the end.
        tasks.sort_by_key(|task| std::cmp::Reverse(task.1));
        let restarts = settings.restarts;
        let epochs = settings.epochs;
        let probe = if restarts == 1 { epochs } else { (epochs as f64 * PROBE).ceil() as usize };
        let mut plan = Self { tasks, probe, restarts, total: 0, done: AtomicU64::new(0) };
        plan.total = plan.tasks.iter().map(|&(index, depth)| plan.units(settings, &quantities[index], depth)).sum();
        plan
    }

    /// What all trainings of a network cost.
    fn units(&self, settings: &WorldSettings, quantity: &Quantity, depth: usize) -> u64 {
        cost(settings, quantity, depth) * (self.restarts * self.probe + settings.epochs - self.probe) as u64
    }

    fn run(
        &self,
        system: &System,
        settings: &WorldSettings,
        quantities: &[Quantity],
        progress: &Progress,
    ) -> Result<Vec<VariableModel>> {
        let starts: Vec<(usize, usize, usize)> = self
            .tasks
            .iter()
            .flat_map(|&(index, depth)| (0..self.restarts).map(move |restart| (index, depth, restart)))
            .collect();
        let probed: Vec<Option<Training>> = starts
            .par_iter()
            .with_max_len(1)
            .map(|&(index, depth, restart)| {
                let quantity = &quantities[index];
                let mut training = begin(system, settings, quantity, index, depth, restart)?;
                self.advance(&mut training, self.probe, cost(settings, quantity, depth), quantity, progress);
                Some(training)
            })
            .collect();
        let mut probed = probed.into_iter();
        let best: Vec<Option<Training>> = self
            .tasks
            .iter()
            .map(|_| {
                let group: Vec<Option<Training>> = probed.by_ref().take(self.restarts).collect();
                group.into_iter().flatten().reduce(|best, next| if next.error() < best.error() { next } else { best })
            })
            .collect();
        let networks: Vec<Network> = self
            .tasks
            .par_iter()
            .zip(best)
            .with_max_len(1)
            .map(|(&(index, depth), training)| {
                let quantity = &quantities[index];
                let shape = shape(settings, quantity, depth);
                let unit = cost(settings, quantity, depth);
                let Some(mut training) = training else {
                    // Nothing to learn: all weights 0 predict the constant, exactly.
                    self.count(self.units(settings, quantity, depth), quantity, 0.0, progress);
                    let error =
                        DepthError { layers: depth, validation_error: 0.0, generalisation_error: 0.0, epochs: 0 };
                    return (index, depth, error, vec![0.0; shape.parameters()]);
                };
                self.advance(&mut training, settings.epochs - self.probe, unit, quantity, progress);
                let generalisation_error = Passes::new(&shape).error(training.best(), &quantity.generalisation);
                let error = DepthError {
                    layers: depth,
                    validation_error: training.error(),
                    generalisation_error,
                    epochs: training.epochs(),
                };
                (index, depth, error, training.best().to_vec())
            })
            .collect();
        if progress.stop_requested() {
            return Err(Error::Stopped { stage: "fit" });
        }
        chosen(settings, quantities, &networks)
    }

    /// Runs so many epochs more, or until the training has ended or the user has had enough.
    fn advance(&self, training: &mut Training, epochs: usize, unit: u64, quantity: &Quantity, progress: &Progress) {
        for epoch in 0..epochs {
            if progress.stop_requested() {
                return;
            }
            let goes_on = training.epoch();
            // The epochs that an ended training will not need count as done.
            let counted = if goes_on { 1 } else { epochs - epoch };
            self.count(counted as u64 * unit, quantity, training.error(), progress);
            if !goes_on {
                return;
            }
        }
    }

    fn count(&self, units: u64, quantity: &Quantity, error: f64, progress: &Progress) {
        let done = self.done.fetch_add(units, Ordering::Relaxed) + units;
        let status = Status::Training { variable: quantity.name.clone(), error };
        progress.update(Stage::Fit, done, status);
    }
}

/// Of the networks of each quantity, the one with the least validation error.
fn chosen(settings: &WorldSettings, quantities: &[Quantity], networks: &[Network]) -> Result<Vec<VariableModel>> {
    quantities
        .iter()
        .enumerate()
        .map(|(index, quantity)| {
            let mut own: Vec<&Network> = networks.iter().filter(|network| network.0 == index).collect();
            own.sort_by_key(|network| network.1);
            let (_, depth, error, parameters) = own
                .iter()
                .copied()
                .reduce(|best, next| if next.2.validation_error < best.2.validation_error { next } else { best })
                .ok_or(Error::Internal("no network was trained"))?;
            Ok(VariableModel {
                name: quantity.name.clone(),
                angle: quantity.angle,
                inputs: quantity.inputs.clone(),
                output: quantity.output,
                validation_error: error.validation_error,
                generalisation_error: error.generalisation_error,
                depths: own.iter().map(|network| network.2).collect(),
                predictor: Predictor::Network(shape(settings, quantity, *depth).network(parameters)),
            })
        })
        .collect()
}

/// A training from its start; none for what needs none, such as a constant.
fn begin<'a>(
    system: &System,
    settings: &WorldSettings,
    quantity: &'a Quantity,
    index: usize,
    depth: usize,
    restart: usize,
) -> Option<Training<'a>> {
    if quantity.constant || !quantity.needs_network {
        return None;
    }
    let shape = shape(settings, quantity, depth);
    let task = (index * 8 + depth) as u32;
    let tree = &quantity.trees[restart % quantity.trees.len()];
    let weights = Stream::new(system.seed(), Purpose::Weights);
    let parameters = start(&shape, &quantity.training, tree, weights, task, restart as u32);
    let course = Course {
        trainer: settings.trainer,
        epochs: settings.epochs,
        seed: system.seed(),
        lane: task * 64 + restart as u32,
    };
    Some(Training::new(course, &shape, parameters, &quantity.training, &quantity.validation))
}

fn shape(settings: &WorldSettings, quantity: &Quantity, depth: usize) -> Shape {
    Shape::new(quantity.inputs.len(), settings.neurons, depth)
}

/// What an epoch costs, in arbitrary units, so that a bar moves evenly.
fn cost(settings: &WorldSettings, quantity: &Quantity, depth: usize) -> u64 {
    let parameters = shape(settings, quantity, depth).parameters() as u64;
    match settings.trainer {
        Trainer::LevenbergMarquardt => (parameters * parameters / 1_000).max(1),
        Trainer::VarioEta | Trainer::Adam => parameters,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::training::Depth;
    use crate::{WorldKind, WrittenWorld};
    use fpsrl_base::progress::{Event, Stop};
    use fpsrl_base::settings::OrAuto;
    use fpsrl_data::DataSettings;
    use fpsrl_data::system::{Surroundings, WrittenAction, WrittenState, WrittenSystem};
    use std::sync::{Arc, Mutex};

    fn turntable() -> System {
        let state = |name: &str, angle: bool| WrittenState {
            name: name.into(),
            angle: Some(angle.into()),
            start: Some([-1.0, 1.0]),
            ..WrittenState::default()
        };
        let written = WrittenSystem {
            name: Some("turntable".into()),
            horizon: Some(10),
            states: vec![state("angle", true), state("frozen", false)],
            actions: vec![WrittenAction {
                name: "torque".into(),
                limits: Some([-1.0, 1.0]),
                ..WrittenAction::default()
            }],
            ..WrittenSystem::default()
        };
        written.check(&Surroundings::default()).unwrap()
    }

    /// Trains a world model of the turntable.
    fn turned(trainer: Trainer, epochs: usize, transitions: &Transitions, progress: &Progress) -> Result<WorldModel> {
        let settings = WorldSettings {
            judge: 0.0,
            neurons: 5,
            trainer,
            epochs,
            restarts: 2,
            ..WorldSettings::of_kind(WorldKind::Mlp)
        };
        assert_eq!((settings.members, settings.layers, settings.absorbing), (1, Depth::Auto, true));
        fit(&turntable(), &settings, transitions, progress)
    }

    /// An angle that a torque turns, across the seam at ±π; a variable that never moves; a reward for looking ahead.
    fn log(rows: u32) -> Transitions {
        let stream = Stream::new(9, Purpose::LogStart);
        let mut log = Transitions::new(2, 1);
        for row in 0..rows {
            let angle = stream.within(-std::f64::consts::PI, std::f64::consts::PI, 0, row, 0);
            let torque = stream.within(-1.0, 1.0, 0, row, 1);
            let next = fpsrl_engine::angle::wrap_angle(angle + 0.3 * torque * (1.0 + 0.5 * angle.cos()));
            log.episode.push(0);
            log.step.push(u64::from(row));
            log.states[0].push(angle);
            log.states[1].push(4.0);
            log.actions[0].push(torque);
            log.next_states[0].push(next);
            log.next_states[1].push(4.0);
            log.rewards.push(if next.abs() < 0.8 { 0.0 } else { -1.0 });
        }
        log
    }

    /// The swing-up's goal is too rare to be learned from 500 rows; given as a formula it is exact.
    #[test]
    fn what_the_user_knows_is_not_learned() {
        let system = System::benchmark("cart-pole-swing-up").unwrap();
        let data = DataSettings { samples: 500, ..DataSettings::for_plant(system.plant()) };
        let log = fpsrl_data::generate(&system, &data, &Progress::silent()).unwrap();
        let learned = |reward: &str, terminal: Option<&str>| {
            let written = WrittenWorld {
                epochs: Some(3),
                layers: Some(OrAuto::Count(1)),
                reward: Some(reward.into()),
                terminal: terminal.map(str::to_owned),
                ..WrittenWorld::default()
            };
            fit(&system, &written.check(&system, None, true).unwrap(), &log, &Progress::silent()).unwrap()
        };
        let world = learned("abs(theta) < 0.5 && abs(rho) < 0.5 ? 0 : -1", Some("abs(rho) > 40"));
        assert_eq!(world.reward.generalisation_error, 0.0);
        assert_eq!(world.reward_limits, [-1.0, 0.0]);
        assert_eq!(world.step(&[0.01, 0.0, 0.0, 0.0], &[0.0]).1, 0.0);
        assert_eq!(world.step(&[2.0, 0.0, 0.0, 0.0], &[0.0]).1, -1.0);
        let ends = world.absorbed(&[0.0; 4], &[0.0], &[0.0, 0.0, 41.0, 0.0]);
        assert!(ends.is_some_and(|(reward, _)| reward <= 0.0));
        assert!(world.absorbed(&[0.0; 4], &[0.0], &[0.0; 4]).is_none());
        // A formula that disagrees with the log says so in its error.
        let world = learned("-abs(theta)", None);
        assert!(world.reward.generalisation_error > 0.1);
        assert_eq!(world.reward_limits, [-std::f64::consts::PI, 0.0]);
    }

    #[test]
    fn a_world_is_learned_across_the_seam_of_an_angle_and_around_a_jump_of_the_reward() {
        let model = turned(Trainer::LevenbergMarquardt, 100, &log(600), &Progress::silent()).unwrap();
        assert_eq!(model.validate(), Ok(()));
        assert!(model.variables[0].generalisation_error < 1e-3, "{:?}", model.variables[0].depths);
        assert_eq!(model.variables[0].depths.iter().map(|depth| depth.layers).collect::<Vec<_>>(), [1, 2, 3]);
        let (next, reward) = model.step(&[3.1, 4.0], &[1.0]);
        assert!((next[0] - (3.1 + 0.15 - std::f64::consts::TAU)).abs() < 0.05, "{next:?}");
        assert_eq!(next[1], 4.0);
        assert!(reward < -0.98, "{reward}");
        assert!(model.step(&[0.0, 4.0], &[0.0]).1 > -0.02);
        assert_eq!(model.reward_limits, [-1.0, 0.0]);
    }

    #[test]
    fn a_constant_is_learned_exactly_and_its_error_is_zero() {
        let mut log = log(300);
        log.rewards.fill(-0.1);
        for trainer in [Trainer::LevenbergMarquardt, Trainer::Adam, Trainer::VarioEta] {
            let model = turned(trainer, 3, &log, &Progress::silent()).unwrap();
            assert_eq!(model.step(&[0.3, 4.0], &[0.1]).1, -0.1);
            assert_eq!(model.step(&[0.3, 4.0], &[0.1]).0[1], 4.0);
            assert_eq!((model.reward.generalisation_error, model.variables[1].validation_error), (0.0, 0.0));
        }
    }

    #[test]
    fn the_number_of_threads_changes_nothing() {
        let with_threads = |threads, trainer| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| turned(trainer, 6, &log(400), &Progress::silent()).unwrap())
        };
        for trainer in [Trainer::LevenbergMarquardt, Trainer::Adam, Trainer::VarioEta] {
            assert_eq!(with_threads(1, trainer), with_threads(2, trainer));
        }
    }

    #[test]
    fn too_few_rows_and_broken_numbers_are_refused() {
        let error = turned(Trainer::Adam, 3, &log(50), &Progress::silent()).unwrap_err();
        assert!(error.to_string().contains("at least 100"), "{error}");
        let mut log = log(200);
        log.next_states[0][7] = f64::NAN;
        let error = turned(Trainer::Adam, 3, &log, &Progress::silent()).unwrap_err();
        assert!(error.to_string().contains("row 8"), "{error}");
    }

    /// Counts what is reported, and asks to stop after so many reports.
    fn watched(stop_after: usize) -> (Progress, Arc<Mutex<Vec<u64>>>, Arc<AtomicU64>) {
        let (done, total) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicU64::new(0)));
        let (seen, counted, stop) = (Arc::clone(&done), Arc::clone(&total), Stop::default());
        let asked = stop.clone();
        let progress = Progress::new(move |event| match event {
            Event::Began { total, .. } => counted.store(*total, Ordering::Relaxed),
            Event::Advanced { done, .. } => {
                let mut seen = seen.lock().unwrap();
                seen.push(*done);
                if seen.len() >= stop_after {
                    asked.request();
                }
            }
            _ => {}
        });
        (progress.stopped_by(&stop), done, total)
    }

    #[test]
    fn progress_counts_up_to_its_total() {
        let (progress, done, total) = watched(usize::MAX);
        turned(Trainer::LevenbergMarquardt, 40, &log(300), &progress).unwrap();
        assert_eq!(done.lock().unwrap().iter().max(), Some(&total.load(Ordering::Relaxed)));
    }

    #[test]
    fn a_stop_is_heard() {
        let (progress, done, _) = watched(5);
        let result = turned(Trainer::LevenbergMarquardt, 1_000, &log(300), &progress);
        assert!(matches!(result, Err(Error::Stopped { .. })), "{result:?}");
        assert!(done.lock().unwrap().len() < 20);
    }
}
