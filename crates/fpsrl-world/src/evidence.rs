//! What a log can tell at all: whether its actions are seen to move anything, and whether what a world leaves over is noise, a
//! disturbance that nobody measured, or ignorance that more rows would mend.

use serde::{Deserialize, Serialize};

use super::ensemble::LearnedWorlds;
use super::model::WorldModel;
use super::rows::{MOST_ROWS, moving, row_of, unseen};
use super::shares::Shares;
use crate::WorldSettings;
use fpsrl_base::random::{Purpose, Stream};
use fpsrl_data::system::Lagged;
use fpsrl_data::{System, Transitions};
use fpsrl_engine::angle::wrap_angle;

/// Other rows whose actions a row is predicted with.
const MIXED: u32 = 5;

/// So many standard errors from 0, an effect is there.
const SIGNIFICANT: f64 = 3.0;

/// From this correlation of a row's remainder with the next one's on, what is left over lasts.
const LASTS: f64 = 0.3;

/// A member that saw fewer rows and errs by more than this factor says that more rows would help.
const IGNORANT: f64 = 1.25;

/// What an action is seen to move.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// The action.
    pub action: String,
    /// The state variable that it moves most clearly.
    pub on: String,
    /// How many standard errors the prediction of unseen rows is worse with other rows' actions.
    pub significance: f64,
}

impl Effect {
    /// Whether it is there at all.
    pub fn is_seen(&self) -> bool {
        self.significance >= SIGNIFICANT
    }
}

/// Why a change cannot be predicted better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// What is left over does not last: noise.
    Noise,
    /// What is left over lasts: something that nobody measured.
    Disturbance,
    /// Fewer rows err by more: more rows would help.
    Ignorance,
}

/// What a world leaves over of a variable's change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Remainder {
    /// The variable.
    pub variable: String,
    /// The share of its variance.
    pub share: f64,
    /// The correlation of what a row leaves over with what the next one does.
    pub lasting: f64,
    /// Why it is left over.
    pub cause: Cause,
}

/// What a row's change was more than predicted from given inputs.
fn missed(world: &WorldModel, log: &Transitions, variable: usize, row: usize, inputs: &[f64]) -> f64 {
    let change = log.next_states[variable][row] - log.states[variable][row];
    let change = if world.variables[variable].angle { wrap_angle(change) } else { change };
    change - world.variables[variable].predict(inputs.iter().copied())
}

/// Rows with the world that never saw them: of an ensemble, the episodes that each member left out; of one or two worlds, the
/// rows that no training saw.
fn unseen_by<'a>(
    system: &System,
    settings: &WorldSettings,
    shares: &Shares,
    worlds: &'a LearnedWorlds,
) -> Vec<(usize, &'a WorldModel)> {
    let log = &shares.members;
    if worlds.members.len() < 2 {
        return unseen(system, settings, log).into_iter().map(|row| (row, &worlds.world)).collect();
    }
    let moves = moving(settings, log);
    // The first member leaves nothing out.
    let rows =
        (0..log.len()).filter(|&row| moves[row] && (1..=worlds.members.len()).contains(&shares.left_out_by[row]));
    let rows: Vec<usize> = rows.collect();
    let every = rows.len().div_ceil(MOST_ROWS).max(1);
    rows.into_iter().step_by(every).map(|row| (row, &worlds.members[shares.left_out_by[row] - 1])).collect()
}

/// What each action is seen to move, in rows that the predicting world never saw.
pub fn effects(system: &System, settings: &WorldSettings, shares: &Shares, worlds: &LearnedWorlds) -> Vec<Effect> {
    let log = &shares.members;
    let rows = unseen_by(system, settings, shares, worlds);
    let orders: Vec<Vec<usize>> = (0..MIXED)
        .map(|order| Stream::new(system.seed(), Purpose::Shuffle).permutation(rows.len(), 7 + order))
        .collect();
    let states = system.states().len();
    let own: Vec<Vec<f64>> =
        rows.iter().map(|(row, _)| [row_of(&log.states, *row), row_of(&log.actions, *row)].concat()).collect();
    system
        .actions()
        .iter()
        .enumerate()
        .map(|(index, action)| {
            // The action and its past, as they were in another row.
            let of_action: Vec<usize> = (0..states)
                .filter(|&variable| system.states()[variable].lag.is_some_and(|lag| lag.of == Lagged::Action(index)))
                .chain([states + index])
                .collect();
            let significance = |variable: usize| {
                let difference = |(number, (row, world)): (usize, &(usize, &WorldModel))| {
                    let error = |inputs: &[f64]| missed(world, log, variable, *row, inputs).powi(2);
                    let mixed = orders.iter().map(|order| {
                        let mut mixed = own[number].clone();
                        of_action.iter().for_each(|&input| mixed[input] = own[order[number]][input]);
                        error(&mixed)
                    });
                    mixed.sum::<f64>() / orders.len() as f64 - error(&own[number])
                };
                let differences: Vec<f64> = rows.iter().enumerate().map(difference).collect();
                let count = differences.len().max(2) as f64;
                let mean = differences.iter().sum::<f64>() / count;
                let variance = differences.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / (count - 1.0);
                if variance > 0.0 { mean / (variance / count).sqrt() } else { 0.0 }
            };
            let best = (0..system.own_states())
                .map(|variable| (variable, significance(variable)))
                .max_by(|a, b| a.1.total_cmp(&b.1));
            let (on, significance) = best.unwrap_or((0, 0.0));
            Effect { action: action.name.clone(), on: system.states()[on].name.clone(), significance }
        })
        .collect()
}

/// What is left over of each change that is not predicted well, and why.
pub fn remainders(
    system: &System,
    settings: &WorldSettings,
    shares: &Shares,
    worlds: &LearnedWorlds,
    least: f64,
) -> Vec<Remainder> {
    let log = &shares.members;
    let rows = unseen(system, settings, log);
    let mut remainders = Vec::new();
    for variable in 0..system.own_states() {
        let share = worlds.world.variables[variable].generalisation_error;
        if share < least {
            continue;
        }
        let left = |world: &WorldModel, row: usize| {
            let inputs = [row_of(&log.states, row), row_of(&log.actions, row)].concat();
            missed(world, log, variable, row, &inputs)
        };
        let pairs: Vec<[f64; 2]> = rows
            .iter()
            .filter_map(|&row| log.successor(row).map(|next| [left(&worlds.world, row), left(&worlds.world, next)]))
            .collect();
        let lasting = correlation(&pairs);
        let squared = |world: &WorldModel| {
            rows.iter().map(|&row| left(world, row).powi(2)).sum::<f64>() / rows.len().max(1) as f64
        };
        let full = squared(&worlds.world);
        let fewer: Vec<f64> = worlds.members.iter().map(squared).collect();
        let of_fewer = fewer.iter().sum::<f64>() / fewer.len().max(1) as f64;
        let cause = match () {
            () if !fewer.is_empty() && of_fewer > IGNORANT * full => Cause::Ignorance,
            () if lasting.abs() > LASTS => Cause::Disturbance,
            () => Cause::Noise,
        };
        remainders.push(Remainder { variable: system.states()[variable].name.clone(), share, lasting, cause });
    }
    remainders
}

fn correlation(pairs: &[[f64; 2]]) -> f64 {
    let count = pairs.len().max(1) as f64;
    let mean = [0, 1].map(|side| pairs.iter().map(|pair| pair[side]).sum::<f64>() / count);
    let sum = |a: usize, b: usize| pairs.iter().map(|pair| (pair[a] - mean[a]) * (pair[b] - mean[b])).sum::<f64>();
    let spread = (sum(0, 0) * sum(1, 1)).sqrt();
    if spread > 0.0 { sum(0, 1) / spread } else { 0.0 }
}
