//! How long an action's effect lasts: a linear model of each state is learned from its own last values and those of
//! the actions, and moved by a step of an action. The time until it has settled is the time that a controller must
//! look ahead.

use nalgebra::{DMatrix, DVector};

use super::super::table::Table;
use super::rows::Rows;
use super::{Angle, Guess, InputKind, angle};

/// Past values of a state and of an action that the model sees.
const LAGS: usize = 10;

/// Steps after which everything that settles must have settled.
const LONGEST: usize = 3_000;

/// Rows that are learned from, at most, and at least.
const MOST: usize = 20_000;
const FEWEST: usize = 200;

/// How near to its end a response has to stay.
const SETTLED: f64 = 0.05;

/// The least effect that counts: of an action's usual movement, as a share of the state's.
const LEAST_EFFECT: f64 = 0.1;

/// By how much the two halves of a log may differ to be believed.
const AGREEMENT: f64 = 2.0;

/// How long an action's effect lasts.
#[derive(Clone, Debug, PartialEq)]
pub struct Settling {
    /// Steps until it has settled to 95 %.
    pub steps: usize,
    /// The state that takes so long.
    pub state: String,
    /// The action that moves it.
    pub action: String,
}

impl Settling {
    /// The longest of all effects; none if the log does not tell.
    pub(super) fn of(guess: &Guess, table: &Table) -> Option<Self> {
        let rows = Rows::of(table, guess);
        let column = |title: &String| table.column(std::slice::from_ref(title));
        let values = |title: &String| column(title).map(|column| rows.values(column));
        let actions: Vec<Vec<f64>> = guess.actions.iter().map(values).collect::<Option<_>>()?;
        let disturbances: Vec<Vec<f64>> = guess
            .inputs
            .iter()
            .filter(|input| input.kind == InputKind::Disturbance)
            .filter_map(|input| values(&input.title))
            .collect();
        let tracked =
            |title: &&String| guess.tracks.is_empty() || guess.tracks.iter().any(|(state, _)| state == *title);
        let mut longest: Option<Self> = None;
        for state in guess.states.iter().filter(tracked) {
            // An angle goes round; no straight line follows it.
            let straight = column(state).filter(|column| angle(column) == Angle::No).map(|column| rows.values(column));
            let found = straight.and_then(|own| settled(&rows, &own, &actions, &disturbances));
            // What is to follow a set-point must be known; of the rest, what is known counts.
            if found.is_none() && !guess.tracks.is_empty() {
                return None;
            }
            let Some((action, steps)) = found else { continue };
            if longest.as_ref().is_none_or(|longest| longest.steps < steps) {
                longest = Some(Self { steps, state: state.clone(), action: guess.actions[action].clone() });
            }
        }
        longest
    }
}

/// The action whose effect on a state lasts longest, and how long, if both halves of the log agree.
fn settled(rows: &Rows, own: &[f64], actions: &[Vec<f64>], disturbances: &[Vec<f64>]) -> Option<(usize, usize)> {
    let columns: Vec<&[f64]> = [own]
        .into_iter()
        .chain(actions.iter().map(Vec::as_slice))
        .chain(disturbances.iter().map(Vec::as_slice))
        .collect();
    let known = |place: &usize| {
        let (before, after) = rows.around(*place);
        before + 1 >= LAGS
            && after >= 1
            && columns.iter().all(|column| column[place + 1 - LAGS..=place + 1].iter().all(|value| value.is_finite()))
    };
    let places: Vec<usize> = (0..rows.len()).filter(known).collect();
    let places: Vec<usize> = places.iter().copied().step_by(places.len().div_ceil(MOST).max(1)).collect();
    let halves = places.split_at(places.len() / 2);
    let [whole, first, second] = [&places[..], halves.0, halves.1].map(|part| responses(part, &columns, actions.len()));
    let agree = |steps: usize, other: Option<usize>| {
        other.is_some_and(|other| (1.0 / AGREEMENT..=AGREEMENT).contains(&(other as f64 / steps as f64)))
    };
    let (whole, first, second) = (whole?, first?, second?);
    let settled = (0..actions.len()).filter_map(|action| Some((action, whole[action]?)));
    settled
        .filter(|(action, steps)| agree(*steps, first[*action]) && agree(*steps, second[*action]))
        .max_by_key(|(_, steps)| *steps)
}

/// How long the effect of each action lasts in a model of these rows; none of those that have hardly any or never
/// settle.
fn responses(places: &[usize], columns: &[&[f64]], actions: usize) -> Option<Vec<Option<usize>>> {
    let width = 1 + columns.len() * LAGS;
    if places.len() < FEWEST.max(3 * width) {
        return None;
    }
    let spread = |column: &[f64]| {
        let mean = places.iter().map(|&place| column[place]).sum::<f64>() / places.len() as f64;
        let square = places.iter().map(|&place| (column[place] - mean).powi(2)).sum::<f64>() / places.len() as f64;
        (mean, square.sqrt())
    };
    let scales: Vec<(f64, f64)> = columns.iter().map(|column| spread(column)).collect();
    if scales.iter().any(|(_, spread)| spread.is_nan() || *spread <= 0.0) {
        return None;
    }
    let at = |column: usize, place: usize| (columns[column][place] - scales[column].0) / scales[column].1;
    let design = DMatrix::from_fn(places.len(), width, |row, feature| match feature {
        0 => 1.0,
        feature => at((feature - 1) / LAGS, places[row] - (feature - 1) % LAGS),
    });
    let change = |place: usize| at(0, place + 1) - at(0, place);
    let changes = DVector::from_iterator(places.len(), places.iter().map(|&place| change(place)));
    let mut normal = design.tr_mul(&design);
    for index in 0..width {
        normal[(index, index)] += 1e-7 * places.len() as f64;
    }
    let weights = normal.cholesky()?.solve(&design.tr_mul(&changes));
    let of = |column: usize| &weights.as_slice()[1 + column * LAGS..1 + (column + 1) * LAGS];
    let lasts = |action: usize| {
        let response = step_response(of(0), of(1 + action));
        let end = *response.last()?;
        if !end.is_finite() || end.abs() < LEAST_EFFECT {
            return None;
        }
        let under_way = response.iter().rposition(|value| (value - end).abs() > SETTLED * end.abs());
        let last = under_way.map_or(1, |last| last + 1);
        // What is still under way at the end does not settle: a tank that fills.
        (last <= LONGEST / 2).then_some(last)
    };
    Some((0..actions).map(lasts).collect())
}

/// How a model answers to an action that goes from 0 to 1 and stays there.
fn step_response(own: &[f64], action: &[f64]) -> Vec<f64> {
    let mut values = vec![0.0; LAGS];
    for step in 0..LONGEST {
        let last = values.len() - 1;
        let moved: f64 = own.iter().enumerate().map(|(lag, weight)| weight * values[last - lag]).sum();
        let pushed: f64 = action.iter().take(step + 1).sum();
        values.push(values[last] + moved + pushed);
    }
    values.split_off(LAGS)
}

#[cfg(test)]
mod tests {
    use super::super::plants::{Tank, noise};
    use super::super::tests::table;
    use super::*;

    #[test]
    fn the_time_of_a_tank_is_found_under_feedback_and_noise() {
        // To 95 % it takes ln(0.05) / ln(1 - speed) steps.
        for (speed, expected) in [(0.1, 28.0), (0.04, 73.0)] {
            let tank = Tank { speed, dwell: 120, ..Tank::default() };
            let table = table(&tank.text(["PV", "SP", "DV", "MV"], 4_000));
            let settling = Guess::default().complete(&table).settling(&table).unwrap();
            let ratio = settling.steps as f64 / expected;
            assert!((0.6..1.7).contains(&ratio), "{settling:?}, but {expected} is right");
            assert_eq!((settling.state.as_str(), settling.action.as_str()), ("PV", "MV"));
        }
    }

    #[test]
    fn what_never_settles_and_what_no_action_moves_is_not_told() {
        let mut level = 0.0;
        let filling: String = (0..2_000)
            .map(|row| {
                let push = noise(row / 5, 1);
                level += push;
                format!("{level},{push}\n")
            })
            .collect();
        let unmoved: String = (0..2_000).map(|row| format!("{},{}\n", noise(row, 0), noise(row, 1))).collect();
        for text in [filling, unmoved] {
            let table = table(&format!("level,valve\n{text}"));
            assert_eq!(Guess::default().complete(&table).settling(&table), None);
        }
    }
}
