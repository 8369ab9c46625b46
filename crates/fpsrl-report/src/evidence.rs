//! What the figures rest on: replays of the log, returns of each start, steps outside the log.

use rayon::prelude::*;

use fpsrl_data::System;
use fpsrl_data::scaling::{Scale, quantile};
use fpsrl_data::split::Split;
use fpsrl_data::{Transitions, absorbing};
use fpsrl_engine::angle::wrap_angle;
use fpsrl_engine::rollout::Lanes;
use fpsrl_engine::simd::Numerics;
use fpsrl_engine::world::World;
use fpsrl_explain::{DataProfile, Trajectory};
use fpsrl_world::Shares;
use fpsrl_world::WorldSettings;

/// Replays of the log.
const REPLAYS: usize = 100;

/// The longest replay.
const LONGEST: usize = 100;

/// Rows and steps that are compared to tell whether a step is outside of the log.
const COMPARED: usize = 3_000;

/// The log replayed on the world: from a logged state on, with the logged actions and nothing else from the log.
#[derive(Clone, Debug)]
pub(super) struct Replays {
    /// How many there are.
    pub(super) count: usize,
    /// Of each step and state variable: the root mean square error as a share of the variable's standard deviation.
    pub(super) errors: Vec<Vec<f64>>,
    /// A replay whose error is the median one.
    pub(super) example: Option<Piece>,
}

/// A piece of the log and what the world foresees of it; the first state is the same.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    /// The states of the log.
    pub(super) logged: Vec<Vec<f64>>,
    /// The states that the world foresees.
    pub(super) foreseen: Vec<Vec<f64>>,
}

/// Replays pieces of the log, from rows that training has not seen.
pub(super) fn replays(
    system: &System,
    settings: &WorldSettings,
    transitions: &Transitions,
    world: &dyn World,
    numerics: Numerics,
) -> Replays {
    // Where a judge has episodes of its own, no network has seen any of them.
    let judge = Shares::new(system, settings, transitions).judge;
    let transitions = if judge.is_empty() { transitions } else { &judge };
    let later = absorbing::rewards_from_then_on(transitions);
    let moving: Vec<usize> = (0..transitions.len()).filter(|&row| later[row].is_none()).collect();
    // How many rows from a row on belong to one episode and move.
    let mut lengths = vec![0usize; transitions.len()];
    for row in (0..transitions.len()).rev().filter(|&row| later[row].is_none()) {
        let goes_on = row + 1 < transitions.len()
            && transitions.episode[row + 1] == transitions.episode[row]
            && transitions.states.iter().zip(&transitions.next_states).all(|(s, n)| s[row + 1] == n[row]);
        lengths[row] = 1 + if goes_on { lengths[row + 1] } else { 0 };
    }
    let mut rows = if judge.is_empty() { held_out_rows(system, &moving) } else { moving.clone() };
    // The longest pieces, as many as wanted; rows of equal length as they stand in the log.
    rows.sort_by_key(|&row| std::cmp::Reverse(lengths[row].min(LONGEST.min(system.horizon()))));
    rows.truncate(REPLAYS);
    let pieces: Vec<Piece> = rows
        .par_iter()
        .map(|&row| replay(system, transitions, world, numerics, row, lengths[row].min(LONGEST.min(system.horizon()))))
        .collect();
    // What is lagged errs as much as what it is a lag of.
    let spreads: Vec<f64> = transitions
        .states
        .iter()
        .take(transitions.current_states())
        .map(|column| Scale::standard(&moving.iter().map(|&row| column[row]).collect::<Vec<_>>()).spread)
        .collect();
    let error = |variable: usize, logged: &[f64], foreseen: &[f64]| {
        let difference = foreseen[variable] - logged[variable];
        (if system.states()[variable].angle { wrap_angle(difference) } else { difference }) / spreads[variable]
    };
    // A step counts as long as half of the replays are that long.
    let steps = pieces.get(pieces.len() / 2).map_or(0, |piece| piece.logged.len());
    let errors = (0..steps)
        .map(|step| {
            let long: Vec<_> = pieces.iter().filter(|piece| piece.logged.len() > step).collect();
            (0..spreads.len())
                .map(|variable| {
                    let squares =
                        long.iter().map(|piece| error(variable, &piece.logged[step], &piece.foreseen[step]).powi(2));
                    (squares.sum::<f64>() / long.len() as f64).sqrt()
                })
                .collect()
        })
        .collect();
    let total = |piece: &Piece| {
        let last = piece.logged.len().min(steps).saturating_sub(1);
        let errors =
            (0..spreads.len()).map(|variable| error(variable, &piece.logged[last], &piece.foreseen[last]).abs());
        errors.sum::<f64>()
    };
    let mut long: Vec<&Piece> = pieces.iter().filter(|piece| piece.logged.len() >= steps.max(1)).collect();
    long.sort_by(|a, b| total(a).total_cmp(&total(b)));
    let example = long.get(long.len() / 2).map(|piece| (*piece).clone());
    Replays { count: pieces.len(), errors, example }
}

/// Which of the rows that move no network has been trained or chosen by, as [`fpsrl_world::fit`] splits them.
fn held_out_rows(system: &System, moving: &[usize]) -> Vec<usize> {
    let split = Split::new(moving.len(), system.seed());
    split.map_or_else(|_| Vec::new(), |split| split.generalisation.iter().map(|&index| moving[index]).collect())
}

/// A piece of the log, from a row on, and what the world foresees of it.
fn replay(
    system: &System,
    transitions: &Transitions,
    world: &dyn World,
    numerics: Numerics,
    row: usize,
    steps: usize,
) -> Piece {
    let at = |columns: &[Vec<f64>], row: usize| columns.iter().map(|column| column[row]).collect::<Vec<f64>>();
    let mut lanes = Lanes::new(system.states().len(), system.actions().len(), 1);
    lanes.set_live(1);
    let first = at(&transitions.states, row);
    for (variable, value) in first.iter().enumerate() {
        lanes.state_mut(variable)[0] = *value as f32;
    }
    let (mut logged, mut foreseen) = (vec![first.clone()], vec![first]);
    for row in row..row + steps {
        for (action, column) in transitions.actions.iter().enumerate() {
            lanes.action_mut(action)[0] = column[row] as f32;
        }
        world.advance(&mut lanes, numerics);
        logged.push(at(&transitions.next_states, row));
        foreseen.push((0..system.states().len()).map(|variable| f64::from(lanes.state(variable)[0])).collect());
        if lanes.absorbed()[0] != 0.0 {
            break;
        }
    }
    Piece { logged, foreseen }
}

/// The share of steps of rollouts that lie outside of the log: farther from every logged state and action than the
/// log's own rows are from each other, all but one in a hundred.
pub(super) fn outside_share(profile: &DataProfile, transitions: &Transitions, trajectories: &[Trajectory]) -> f64 {
    let columns: Vec<&Vec<f64>> = transitions.states.iter().chain(&transitions.actions).collect();
    let rows = profile.sample(COMPARED);
    let scales: Vec<Scale> =
        columns.iter().map(|c| Scale::robust(&rows.iter().map(|&row| c[row]).collect::<Vec<_>>())).collect();
    let known: Vec<Vec<f64>> =
        rows.iter().map(|&row| columns.iter().zip(&scales).map(|(c, scale)| scale.apply(c[row])).collect()).collect();
    let steps: Vec<Vec<f64>> = trajectories
        .iter()
        .flat_map(|one| one.states.iter().zip(&one.actions))
        .map(|(state, action)| {
            state.iter().chain(action).zip(&scales).map(|(value, scale)| scale.apply(*value)).collect()
        })
        .collect();
    if known.len() < 10 || steps.is_empty() {
        return 0.0;
    }
    let nearest = |point: &[f64], skipped: Option<usize>| {
        let squares = |other: &[f64]| point.iter().zip(other).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
        known
            .iter()
            .enumerate()
            .filter(|(index, _)| Some(*index) != skipped)
            .map(|(_, other)| squares(other))
            .fold(f64::INFINITY, f64::min)
    };
    let mut own: Vec<f64> = (0..known.len()).into_par_iter().map(|row| nearest(&known[row], Some(row))).collect();
    own.sort_unstable_by(f64::total_cmp);
    let limit = quantile(&own, 0.99);
    let every = steps.len().div_ceil(COMPARED);
    let looked_at: Vec<&Vec<f64>> = steps.iter().step_by(every).collect();
    let outside = looked_at.par_iter().filter(|step| nearest(step, None) > limit).count();
    outside as f64 / looked_at.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::generated;
    use fpsrl_data::plant::{PlantKind, PlantWorld};
    use fpsrl_engine::simd::Mode;

    fn log(name: &str) -> (System, Transitions) {
        let system = System::benchmark(name).unwrap();
        let log = generated(&system, 4_000);
        (system, log)
    }

    #[test]
    fn the_true_plant_replays_its_own_log() {
        let (system, log) = log("mountain-car");
        let world = PlantWorld::new(PlantKind::MountainCar);
        let replays = replays(&system, &WorldSettings::default(), &log, &world, Numerics::detect(Mode::Fast));
        assert_eq!(replays.count, 100);
        assert!(replays.errors.len() > 40, "{}", replays.errors.len());
        assert!(replays.errors.iter().flatten().all(|error| *error < 1e-3), "{:?}", replays.errors.last());
        let Piece { logged, foreseen } = replays.example.unwrap();
        assert_eq!((logged.len(), &logged[0]), (foreseen.len(), &foreseen[0]));
    }

    #[test]
    fn rows_of_the_log_are_inside_and_far_states_outside() {
        let (system, log) = log("mountain-car");
        let profile = DataProfile::new(&system, &log);
        let of = |states: Vec<Vec<f64>>| Trajectory {
            actions: vec![vec![0.0]; states.len()],
            states,
            ..Trajectory::default()
        };
        let inside = of((0..300).map(|index| vec![log.states[0][index * 7], log.states[1][index * 7]]).collect());
        assert!(outside_share(&profile, &log, &[inside]) < 0.1);
        let outside = of(vec![vec![50.0, 0.0]; 20]);
        assert_eq!(outside_share(&profile, &log, &[outside]), 1.0);
    }
}
