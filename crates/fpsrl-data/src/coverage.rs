//! What a log covers, before anything is learned from it: ranges, correlations, how much of the space was visited, and
//! where a policy would have no data.

use std::collections::HashSet;

use serde::Serialize;

use super::Transitions;
use crate::System;

/// Cells along each axis of a picture of two variables.
const PICTURE: usize = 16;

/// Parts of a state variable's range, and of an action's limits, in which blind spots are looked for.
const STATE_PARTS: usize = 6;
const ACTION_PARTS: usize = 8;

/// Rows that a cell should have had if rows were spread evenly; it decides how fine the grid of the space is.
const ROWS_PER_CELL: f64 = 5.0;

/// The share of the data on either side that does not count for ranges.
const TAIL: f64 = 0.005;

/// What a log covers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Coverage {
    /// Transitions.
    pub rows: usize,
    /// State variables, then actions, then the reward.
    pub variables: Vec<VariableCoverage>,
    /// The correlation of each two of states and actions: `correlations[first][second]`.
    pub correlations: Vec<Vec<f64>>,
    /// The grid over the space of states and actions.
    pub space: SpaceCoverage,
    /// How often each two of states and actions were where, for pictures.
    pub pictures: Vec<PairCoverage>,
    /// Where the policy will have no data.
    pub blind: Vec<BlindSpot>,
}

/// The range of a variable.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VariableCoverage {
    /// Its name.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// "state", "action" or "reward".
    pub role: &'static str,
    /// The lowest value.
    pub lowest: f64,
    /// The highest value.
    pub highest: f64,
    /// The mean.
    pub mean: f64,
    /// The standard deviation.
    pub spread: f64,
    /// The quantiles at 5, 50 and 95 %.
    pub quantiles: [f64; 3],
    /// Distinct values, up to a thousand.
    pub distinct: usize,
}

/// How much of the space was visited.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SpaceCoverage {
    /// Parts of each variable's range.
    pub parts: usize,
    /// Cells of the grid.
    pub cells: f64,
    /// Cells with a row in them.
    pub visited: usize,
    /// The same as a share.
    pub share: f64,
}

/// How often two variables were where.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PairCoverage {
    /// The variable along the first axis.
    pub first: String,
    /// The variable along the second axis.
    pub second: String,
    /// Its range in the picture.
    pub first_range: [f64; 2],
    /// Its range in the picture.
    pub second_range: [f64; 2],
    /// Rows in each cell: `counts[first][second]`.
    pub counts: Vec<Vec<u32>>,
}

/// A part of a variable's range where data are missing.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BlindSpot {
    /// The state variable.
    pub state: String,
    /// The part of its range.
    pub range: [f64; 2],
    /// Rows there.
    pub rows: usize,
    /// The action that was not tried there; none if the state itself was hardly visited.
    pub action: Option<String>,
    /// The share of the action's limits that was tried there.
    pub tried: f64,
    /// The lowest and the highest action that was tried there.
    pub seen: [f64; 2],
}

impl Coverage {
    /// Looks at a problem's transitions.
    pub fn of(system: &System, transitions: &Transitions) -> Self {
        let states = system
            .states()
            .iter()
            .zip(&transitions.states)
            .map(|(state, values)| (&state.name, &state.unit, "state", values));
        let actions = system
            .actions()
            .iter()
            .zip(&transitions.actions)
            .map(|(action, values)| (&action.name, &action.unit, "action", values));
        let named: Vec<(&String, &String, &'static str, &Vec<f64>)> = states.chain(actions).collect();
        let mut variables: Vec<VariableCoverage> =
            named.iter().map(|(name, unit, role, values)| VariableCoverage::of(name, unit, role, values)).collect();
        let columns: Vec<&[f64]> = named.iter().map(|(.., values)| values.as_slice()).collect();
        let ranges: Vec<[f64; 2]> = columns.iter().map(|values| robust_range(values)).collect();
        let pictures = (0..columns.len())
            .flat_map(|second| (0..second).map(move |first| (first, second)))
            .map(|(first, second)| PairCoverage {
                first: named[first].0.clone(),
                second: named[second].0.clone(),
                first_range: ranges[first],
                second_range: ranges[second],
                counts: picture(columns[first], columns[second], ranges[first], ranges[second]),
            })
            .collect();
        let correlations = variables
            .iter()
            .zip(&columns)
            .map(|(one, left)| {
                variables.iter().zip(&columns).map(|(other, right)| correlation(one, left, other, right)).collect()
            })
            .collect();
        let space = space(&columns, &ranges);
        let blind = blind_spots(system, transitions, &ranges);
        variables.push(VariableCoverage::of("reward", "", "reward", &transitions.rewards));
        Self { rows: transitions.len(), variables, correlations, space, pictures, blind }
    }
}

impl VariableCoverage {
    fn of(name: &str, unit: &str, role: &'static str, values: &[f64]) -> Self {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let count = values.len().max(1) as f64;
        let mean = values.iter().sum::<f64>() / count;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
        let at = |share: f64| quantile(&sorted, share);
        let mut distinct = sorted.clone();
        distinct.dedup();
        Self {
            name: name.to_owned(),
            unit: unit.to_owned(),
            role,
            lowest: at(0.0),
            highest: at(1.0),
            mean,
            spread: variance.sqrt(),
            quantiles: [at(0.05), at(0.5), at(0.95)],
            distinct: distinct.len().min(1_000),
        }
    }
}

fn quantile(sorted: &[f64], share: f64) -> f64 {
    match sorted.len() {
        0 => f64::NAN,
        count => sorted[((count - 1) as f64 * share).round() as usize],
    }
}

fn robust_range(values: &[f64]) -> [f64; 2] {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    [quantile(&sorted, TAIL), quantile(&sorted, 1.0 - TAIL)]
}

/// The part of a range that a value lies in; outside of it, the nearest.
fn part(value: f64, [low, high]: [f64; 2], parts: usize) -> usize {
    if high <= low {
        return 0;
    }
    (((value - low) / (high - low) * parts as f64).max(0.0) as usize).min(parts - 1)
}

fn picture(first: &[f64], second: &[f64], first_range: [f64; 2], second_range: [f64; 2]) -> Vec<Vec<u32>> {
    let mut counts = vec![vec![0; PICTURE]; PICTURE];
    for (&one, &other) in first.iter().zip(second) {
        counts[part(one, first_range, PICTURE)][part(other, second_range, PICTURE)] += 1;
    }
    counts
}

fn correlation(one: &VariableCoverage, left: &[f64], other: &VariableCoverage, right: &[f64]) -> f64 {
    let scale = one.spread * other.spread * left.len() as f64;
    if scale == 0.0 {
        return 0.0;
    }
    left.iter().zip(right).map(|(left, right)| (left - one.mean) * (right - other.mean)).sum::<f64>() / scale
}

fn space(columns: &[&[f64]], ranges: &[[f64; 2]]) -> SpaceCoverage {
    let rows = columns.first().map_or(0, |column| column.len());
    let dimensions = columns.len() as f64;
    let parts = ((rows as f64 / ROWS_PER_CELL).powf(1.0 / dimensions).floor() as usize).clamp(2, 20);
    let mut visited: HashSet<Vec<u8>> = HashSet::new();
    let mut cell = Vec::with_capacity(columns.len());
    for row in 0..rows {
        cell.clear();
        cell.extend(columns.iter().zip(ranges).map(|(column, range)| part(column[row], *range, parts) as u8));
        if !visited.contains(&cell) {
            visited.insert(cell.clone());
        }
    }
    let cells = (parts as f64).powf(dimensions);
    SpaceCoverage { parts, cells, visited: visited.len(), share: visited.len() as f64 / cells }
}

fn blind_spots(system: &System, transitions: &Transitions, ranges: &[[f64; 2]]) -> Vec<BlindSpot> {
    let rows = transitions.len();
    let mut spots = Vec::new();
    for ((state, values), range) in system.states().iter().zip(&transitions.states).zip(ranges) {
        let place: Vec<usize> = values.iter().map(|value| part(*value, *range, STATE_PARTS)).collect();
        for index in 0..STATE_PARTS {
            let here: Vec<usize> = (0..rows).filter(|&row| place[row] == index).collect();
            let width = (range[1] - range[0]) / STATE_PARTS as f64;
            let bounds = [range[0] + index as f64 * width, range[0] + (index + 1) as f64 * width];
            let spot = |action: Option<String>, tried: f64, seen: [f64; 2]| BlindSpot {
                state: state.name.clone(),
                range: bounds,
                rows: here.len(),
                action,
                tried,
                seen,
            };
            if here.len() * 500 < rows || here.len() < 10 {
                spots.push(spot(None, 0.0, [f64::NAN; 2]));
                continue;
            }
            for (action, values) in system.actions().iter().zip(&transitions.actions) {
                let parts: HashSet<usize> =
                    here.iter().map(|&row| part(values[row], action.limits, ACTION_PARTS)).collect();
                let tried = parts.len() as f64 / ACTION_PARTS as f64;
                // An action of few values, such as on and off, is tried when these are.
                let mut distinct: Vec<f64> = values.iter().take(10_000).copied().collect();
                distinct.sort_by(f64::total_cmp);
                distinct.dedup();
                let wanted = ACTION_PARTS.min(distinct.len()).max(1);
                if 2 * parts.len() < wanted {
                    let fold =
                        |of: fn(f64, f64) -> f64, first: f64| here.iter().map(|&row| values[row]).fold(first, of);
                    let seen = [fold(f64::min, f64::INFINITY), fold(f64::max, f64::NEG_INFINITY)];
                    spots.push(spot(Some(action.name.clone()), tried, seen));
                }
            }
        }
    }
    spots
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DataSettings, generate};
    use fpsrl_base::progress::Progress;

    fn log(change: impl Fn(&mut Transitions)) -> Coverage {
        let system = System::benchmark("mountain-car").unwrap();
        let settings = DataSettings { samples: 4_000, ..DataSettings::for_plant(system.plant()) };
        let mut transitions = generate(&system, &settings, &Progress::silent()).unwrap();
        change(&mut transitions);
        Coverage::of(&system, &transitions)
    }

    #[test]
    fn random_actions_leave_no_blind_spot_in_actions() {
        let coverage = log(|_| ());
        assert!(coverage.blind.iter().all(|spot| spot.action.is_none()), "{:?}", coverage.blind);
        assert_eq!(coverage.rows, 4_000);
        let names: Vec<&str> = coverage.variables.iter().map(|variable| variable.name.as_str()).collect();
        assert_eq!(names, ["position", "velocity", "force", "reward"]);
        for index in 0..3 {
            assert!((coverage.correlations[index][index] - 1.0).abs() < 1e-9);
        }
        assert!(coverage.correlations[0][2].abs() < 0.1);
        assert_eq!(coverage.pictures.len(), 3);
        assert!(coverage.pictures.iter().all(|pair| pair.counts.iter().flatten().sum::<u32>() == 4_000));
    }

    #[test]
    fn an_action_that_follows_the_state_is_a_blind_spot() {
        let coverage = log(|log| {
            for row in 0..log.len() {
                log.actions[0][row] =
                    if log.states[0][row] > 0.0 { 1.0 - 0.1 * log.actions[0][row].abs() } else { log.actions[0][row] };
            }
        });
        let spots: Vec<&BlindSpot> = coverage.blind.iter().filter(|spot| spot.action.is_some()).collect();
        assert!(
            !spots.is_empty() && spots.iter().all(|spot| spot.state == "position" && spot.range[1] > 0.0),
            "{spots:?}"
        );
        assert!(spots.iter().all(|spot| spot.seen[0] >= 0.9 || spot.range[0] < 0.0), "{spots:?}");
    }

    #[test]
    fn the_share_of_the_space_that_was_visited_is_counted() {
        let system = System::benchmark("mountain-car").unwrap();
        let side = 8;
        let at = |index: usize| index as f64 / (side - 1) as f64;
        let mut full = Transitions::new(2, 1);
        for index in 0..side * side * side * 5 {
            full.states[0].push(at(index % side));
            full.states[1].push(at(index / side % side));
            full.actions[0].push(at(index / side / side % side));
            full.rewards.push(0.0);
        }
        assert_eq!(Coverage::of(&system, &full).space.share, 1.0);
        // On a diagonal, a grid of n parts has n of n³ cells visited.
        let mut thin = full.clone();
        thin.states[1] = thin.states[0].clone();
        thin.actions[0] = thin.states[0].clone();
        let space = Coverage::of(&system, &thin).space;
        assert_eq!(space.visited, space.parts);
    }
}
