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
    /// "state", "input", "action" or "reward".
    pub role: &'static str,
    /// Of a mode: each of its words, and the rows in it. The numbers below say nothing of one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub modes: Vec<(String, usize)>,
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
    /// The state variable; of modes together, all of them.
    pub state: String,
    /// The mode that it is in; of modes together, each one's. None for a quantity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// The part of its range; says nothing of a mode.
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
        let states = system.states().iter().zip(&transitions.states).map(|(state, values)| Column {
            name: &state.name,
            unit: &state.unit,
            role: if state.input.is_some() { "input" } else { "state" },
            modes: state.values(),
            values,
        });
        let actions = system.actions().iter().zip(&transitions.actions).map(|(action, values)| Column {
            name: &action.name,
            unit: &action.unit,
            role: "action",
            modes: &[],
            values,
        });
        let named: Vec<Column<'_>> = states.chain(actions).collect();
        let mut variables: Vec<VariableCoverage> = named.iter().map(VariableCoverage::of).collect();
        let columns: Vec<&[f64]> = named.iter().map(|column| column.values).collect();
        let ranges: Vec<[f64; 2]> = columns.iter().map(|values| robust_range(values)).collect();
        // A mode is no axis.
        let pictures = (0..columns.len())
            .flat_map(|second| (0..second).map(move |first| (first, second)))
            .filter(|(first, second)| named[*first].modes.is_empty() && named[*second].modes.is_empty())
            .map(|(first, second)| PairCoverage {
                first: named[first].name.to_owned(),
                second: named[second].name.to_owned(),
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
        let space = space(&named, &ranges);
        let mut blind = blind_spots(system, transitions, &ranges);
        blind.extend(missing_combinations(&named));
        let reward = Column { name: "reward", unit: "", role: "reward", modes: &[], values: &transitions.rewards };
        variables.push(VariableCoverage::of(&reward));
        Self { rows: transitions.len(), variables, correlations, space, pictures, blind }
    }
}

/// What is looked at: a variable with its values.
struct Column<'a> {
    name: &'a str,
    unit: &'a str,
    role: &'static str,
    /// The words of a mode; empty for a quantity.
    modes: &'a [String],
    values: &'a [f64],
}

impl VariableCoverage {
    fn of(column: &Column<'_>) -> Self {
        let Column { name, unit, role, modes, values } = *column;
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
            modes: modes.iter().enumerate().map(|(mode, word)| (word.clone(), rows_in(values, mode).count())).collect(),
            lowest: at(0.0),
            highest: at(1.0),
            mean,
            spread: variance.sqrt(),
            quantiles: [at(0.05), at(0.5), at(0.95)],
            distinct: distinct.len().min(1_000),
        }
    }
}

/// The rows in which a mode has this number.
fn rows_in(values: &[f64], mode: usize) -> impl Iterator<Item = usize> + '_ {
    values.iter().enumerate().filter(move |(_, value)| **value == mode as f64).map(|(row, _)| row)
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

fn space(columns: &[Column<'_>], ranges: &[[f64; 2]]) -> SpaceCoverage {
    let rows = columns.first().map_or(0, |column| column.values.len());
    let quantities = columns.iter().filter(|column| column.modes.is_empty()).count().max(1) as f64;
    // A mode has as many parts as words; the other variables share the cells that are left.
    let of_modes: f64 = columns.iter().map(|column| column.modes.len().max(1) as f64).product();
    let parts = ((rows as f64 / ROWS_PER_CELL / of_modes).powf(1.0 / quantities).floor() as usize).clamp(2, 20);
    let part_of = |(column, range): (&Column<'_>, &[f64; 2]), row: usize| match column.modes.len() {
        0 => part(column.values[row], *range, parts) as u8,
        _ => column.values[row] as u8,
    };
    let mut visited: HashSet<Vec<u8>> = HashSet::new();
    let mut cell = Vec::with_capacity(columns.len());
    for row in 0..rows {
        cell.clear();
        cell.extend(columns.iter().zip(ranges).map(|column| part_of(column, row)));
        if !visited.contains(&cell) {
            visited.insert(cell.clone());
        }
    }
    let quantities = columns.iter().filter(|column| column.modes.is_empty()).count() as f64;
    let cells = (parts as f64).powf(quantities) * of_modes;
    SpaceCoverage { parts, cells, visited: visited.len(), share: visited.len() as f64 / cells }
}

/// Whether so many rows of all are next to none.
fn are_few(here: usize, rows: usize) -> bool {
    here * 500 < rows || here < 10
}

fn blind_spots(system: &System, transitions: &Transitions, ranges: &[[f64; 2]]) -> Vec<BlindSpot> {
    let rows = transitions.len();
    let mut spots = Vec::new();
    for ((state, values), range) in system.states().iter().zip(&transitions.states).zip(ranges) {
        let modes = state.values();
        // What never moves has no part that was left out.
        if modes.is_empty() && range[1] <= range[0] {
            continue;
        }
        let parts = if modes.is_empty() { STATE_PARTS } else { modes.len() };
        let place: Vec<usize> = match modes.is_empty() {
            true => values.iter().map(|value| part(*value, *range, STATE_PARTS)).collect(),
            false => values.iter().map(|value| *value as usize).collect(),
        };
        for index in 0..parts {
            let here: Vec<usize> = (0..rows).filter(|&row| place[row] == index).collect();
            let width = (range[1] - range[0]) / STATE_PARTS as f64;
            let bounds = match modes.is_empty() {
                true => [range[0] + index as f64 * width, range[0] + (index + 1) as f64 * width],
                false => [index as f64; 2],
            };
            let spot = |action: Option<String>, tried: f64, seen: [f64; 2]| BlindSpot {
                state: state.name.clone(),
                mode: modes.get(index).cloned(),
                range: bounds,
                rows: here.len(),
                action,
                tried,
                seen,
            };
            if are_few(here.len(), rows) {
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

/// Each two modes that hardly ever were together, though each by itself was there often enough.
fn missing_combinations(columns: &[Column<'_>]) -> Vec<BlindSpot> {
    let modes: Vec<&Column<'_>> = columns.iter().filter(|column| !column.modes.is_empty()).collect();
    let mut spots = Vec::new();
    for (second, other) in modes.iter().enumerate() {
        for one in &modes[..second] {
            let rows = one.values.len();
            for (first, word) in one.modes.iter().enumerate() {
                let here: Vec<usize> = rows_in(one.values, first).collect();
                for (mode, with) in other.modes.iter().enumerate() {
                    let both = here.iter().filter(|row| other.values[**row] == mode as f64).count();
                    let alone = [here.len(), rows_in(other.values, mode).count()];
                    if are_few(both, rows) && !alone.iter().any(|count| are_few(*count, rows)) {
                        spots.push(BlindSpot {
                            state: format!("{}, {}", one.name, other.name),
                            mode: Some(format!("{word}, {with}")),
                            range: [f64::NAN; 2],
                            rows: both,
                            action: None,
                            tried: 0.0,
                            seen: [f64::NAN; 2],
                        });
                    }
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

    #[test]
    fn modes_are_counted_by_name_and_so_are_their_combinations() {
        let text = "name = 'p'\nhorizon = 10\n[[state]]\nname = 'level'\n[[input]]\nname = 'Mode'\nvalues = ['A', 'B', 'C']\n\
                    [[input]]\nname = 'Shift'\nvalues = ['day', 'night']\n[[action]]\nname = 'valve'\nlimits = [0.0, 1.0]\n";
        let around = crate::system::Surroundings::default();
        let system = toml::from_str::<crate::system::WrittenSystem>(text).unwrap().check(&around).unwrap();
        let system = system.without_lags();
        let mut log = Transitions::new(3, 1);
        for row in 0..4_000 {
            // C never happens, and at night the mode is always A.
            let night = row % 2 == 1;
            log.states[0].push((row % 97) as f64);
            log.states[1].push(if night { 0.0 } else { (row / 2 % 2) as f64 });
            log.states[2].push(f64::from(u8::from(night)));
            log.actions[0].push((row % 89) as f64 / 88.0);
            log.rewards.push(0.0);
        }
        let coverage = Coverage::of(&system, &log);
        let roles: Vec<&str> = coverage.variables.iter().map(|variable| variable.role).collect();
        assert_eq!(roles, ["state", "input", "input", "action", "reward"]);
        assert_eq!(coverage.variables[1].modes, [("A".into(), 3_000), ("B".into(), 1_000), ("C".into(), 0)]);
        assert!(coverage.variables[0].modes.is_empty());
        let blind: Vec<(&str, Option<&str>, usize)> =
            coverage.blind.iter().map(|spot| (spot.state.as_str(), spot.mode.as_deref(), spot.rows)).collect();
        assert_eq!(blind, [("Mode", Some("C"), 0), ("Mode, Shift", Some("B, night"), 0)]);
        // Only the level and the valve are drawn over each other.
        assert_eq!(coverage.pictures.len(), 1);
        assert!(coverage.space.share <= 0.5, "{:?}", coverage.space);
    }
}
