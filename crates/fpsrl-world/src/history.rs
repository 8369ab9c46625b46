//! How long a history a log asks for: small networks predict the changes of held-out rows from histories of growing length,
//! all on the same rows, and the shortest one is taken that is nearly as good as the best.

use fpsrl_base::error::Result;
use fpsrl_base::random::{Purpose, Stream};
use fpsrl_data::history::{HistoryReport, Recorded};
use fpsrl_data::scaling::Scale;
use fpsrl_data::split::{FEWEST_ROWS, Split};
use fpsrl_data::system::{HISTORIES, History, Lagged};
use fpsrl_data::{System, Transitions};
use rayon::prelude::*;

use crate::training::{Course, Samples, Shape, Trainer, Training, Tree, start};

/// Rows that histories are compared on, at most.
const COMPARED: usize = 3_000;

/// The networks that compare histories: neurons, epochs, and starts of which the best counts.
const NEURONS: usize = 6;
const EPOCHS: usize = 30;
const STARTS: u32 = 2;

/// A history is long enough if its error is at most this factor times the least one, and this share of the variance
/// more: what small networks differ by anyway.
const FACTOR: f64 = 1.3;
const SHARE: f64 = 0.003;

/// A system with the history that its log asks for, and how it was chosen; as it is if the history is given.
pub fn choose(system: &System, history: History, recorded: &Recorded) -> Result<(System, HistoryReport)> {
    if let History::Steps(steps) = history {
        return Ok((system.clone(), HistoryReport { steps, ..HistoryReport::default() }));
    }
    // Without a history, lags are what the policy must see at least.
    let of_states = system.states().iter().filter_map(|state| state.lag);
    let of_states = of_states.filter(|lag| matches!(lag.of, Lagged::State(_)));
    let least = of_states.map(|lag| lag.steps).max().unwrap_or(0);
    let most_states = 64 / (system.current_states() + system.actions().len()).max(1);
    let past = recorded.past();
    let rows_with = |steps: usize| past.iter().filter(|past| **past >= steps).count();
    let affordable = |steps: &usize| {
        *steps < most_states && rows_with(*steps) >= FEWEST_ROWS && 2 * rows_with(*steps) >= rows_with(0)
    };
    let candidates: Vec<usize> = HISTORIES.into_iter().filter(|steps| *steps >= least).filter(affordable).collect();
    let longest = candidates.iter().copied().max().unwrap_or(0);
    let rows: Vec<usize> = (0..past.len()).filter(|&row| past[row] >= longest).collect();
    let rows: Vec<usize> = rows.iter().copied().step_by(rows.len().div_ceil(COMPARED).max(1)).collect();
    let mut tried = Vec::new();
    if let Ok(split) = Split::new(rows.len(), system.seed()) {
        for &steps in &candidates {
            tried.push((steps, unexplained(system, &recorded.transitions, &rows, &split, steps)));
        }
    }
    let best = tried.iter().map(|(_, error)| *error).fold(f64::INFINITY, f64::min);
    let enough = |error: f64| error <= FACTOR * best + SHARE;
    let steps = tried.iter().find(|(_, error)| enough(*error)).map_or(0, |(steps, _)| *steps).max(least);
    Ok((system.with_history(steps)?, HistoryReport { steps, lost: 0, tried }))
}

/// The share of the changes' variance that small networks leave unexplained in rows that chose their weights, the mean over
/// the state variables.
fn unexplained(system: &System, log: &Transitions, rows: &[usize], split: &Split, steps: usize) -> f64 {
    let lagged = |column: &Vec<f64>, lag: usize| {
        let values: Vec<f64> = rows.iter().map(|row| column[row - lag]).collect();
        let scale = Scale::robust(&values);
        values.into_iter().map(|value| scale.apply(value)).collect::<Vec<f64>>()
    };
    // A set-point acts through the controller alone.
    let states =
        || log.states.iter().enumerate().filter(|(index, _)| !system.is_blind_to(*index)).map(|(_, column)| column);
    let inputs: Vec<Vec<f64>> =
        (0..=steps).flat_map(|lag| states().chain(&log.actions).map(move |column| lagged(column, lag))).collect();
    let shape = Shape::new(inputs.len(), NEURONS, 1);
    let errors: Vec<f64> = (0..system.own_states())
        .into_par_iter()
        .map(|variable| {
            let changes = log.difference(variable, system.states()[variable].angle);
            let changes: Vec<f64> = rows.iter().map(|&row| changes[row]).collect();
            let scale = Scale::standard(&changes);
            let targets: Vec<f64> = changes.into_iter().map(|change| scale.apply(change)).collect();
            let part = |rows: &[usize]| Samples::of(&inputs, &targets, rows);
            let (training, validation) =
                (part(&split.training), part(&[&split.validation[..], &split.generalisation].concat()));
            let weights = Stream::new(system.seed(), Purpose::Weights);
            let of_start = |restart: u32| {
                let task = 1_000 + variable as u32;
                let parameters = start(&shape, &training, &Tree::none(), weights, task, restart);
                let course = Course {
                    trainer: Trainer::LevenbergMarquardt,
                    epochs: EPOCHS,
                    seed: system.seed(),
                    lane: task * 64 + restart,
                };
                let mut network = Training::new(course, &shape, parameters, &training, &validation);
                while network.epochs() < EPOCHS && network.epoch() {}
                network.error()
            };
            (0..STARTS).map(of_start).fold(f64::INFINITY, f64::min)
        })
        .collect();
    errors.iter().sum::<f64>() / errors.len().max(1) as f64
}
