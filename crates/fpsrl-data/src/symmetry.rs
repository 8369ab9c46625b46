//! Is a plant its own mirror image? Whoever declares so halves the rules to be found; if it is not true, none of them will
//! be right. So the log is asked first.
//!
//! For a sample of rows, the row nearest to it and the row nearest to its mirror image are looked for. In a symmetric plant
//! the mirror image moves the other way and earns the same, as nearly as neighbours of one side do.

use serde::Serialize;

use super::Transitions;
use crate::System;
use fpsrl_engine::angle::wrap_angle;

/// Rows that are compared, and rows among which their neighbours are looked for.
const QUERIES: usize = 1_000;
const CANDIDATES: usize = 6_000;

/// Rows with a mirror image in the log that a verdict needs.
const FEWEST: usize = 50;

/// How many times larger than the difference of neighbours that of mirror images must be to contradict.
const LARGER: f64 = 3.0;

/// Whether a log is symmetric.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Symmetry {
    /// Rows whose mirror image the log has seen.
    pub rows: usize,
    /// The verdict; none if the log has too few mirror images.
    pub holds: Option<bool>,
    /// Of each state variable and of the reward: mean squared difference of neighbours and of mirror images, as shares
    /// of the variance.
    pub differences: Vec<(String, f64, f64)>,
}

impl Symmetry {
    /// What contradicts most: the name of the variable.
    pub fn worst(&self) -> &str {
        let ratio = |(_, same, mirrored): &(String, f64, f64)| mirrored / same.max(1e-12);
        let worst = self.differences.iter().max_by(|a, b| ratio(a).total_cmp(&ratio(b)));
        worst.map_or("", |(name, ..)| name)
    }

    /// Asks a log.
    pub fn of(system: &System, transitions: &Transitions) -> Self {
        let moving: Vec<usize> = (0..transitions.len()).filter(|&row| !transitions.stays(row)).collect();
        let every =
            |most: usize| moving.iter().copied().step_by(moving.len().div_ceil(most).max(1)).collect::<Vec<usize>>();
        let (queries, candidates) = (every(QUERIES), every(CANDIDATES));
        let columns: Vec<&Vec<f64>> = transitions.states.iter().chain(&transitions.actions).collect();
        let angles: Vec<bool> =
            system.states().iter().map(|state| state.angle).chain(system.actions().iter().map(|_| false)).collect();
        let spreads: Vec<f64> = columns.iter().map(|values| spread(values, &moving)).collect();
        let points: Vec<Vec<f64>> =
            candidates.iter().map(|&row| columns.iter().map(|column| column[row]).collect()).collect();
        // The nearest candidate that is not of the row's own neighbourhood in time.
        let nearest = |row: usize, sign: f64| {
            let point: Vec<f64> = columns.iter().map(|column| sign * column[row]).collect();
            let distance = |other: &Vec<f64>| -> f64 {
                let parts = other.iter().zip(&point).zip(angles.iter().zip(&spreads));
                parts
                    .map(|((other, own), (angle, spread))| {
                        let difference = if *angle { wrap_angle(other - own) } else { other - own };
                        (difference / spread).powi(2)
                    })
                    .sum()
            };
            candidates
                .iter()
                .zip(&points)
                .filter(|(other, _)| other.abs_diff(row) > 10)
                .map(|(other, point)| (distance(point), *other))
                .min_by(|a, b| a.0.total_cmp(&b.0))
        };
        // A row, and its nearest row and nearest mirror image, each with its distance.
        type Neighbours = (usize, (f64, usize), (f64, usize));
        let found: Vec<Neighbours> =
            queries.iter().filter_map(|&row| Some((row, nearest(row, 1.0)?, nearest(row, -1.0)?))).collect();
        let mut near: Vec<f64> = found.iter().map(|(_, same, _)| same.0).collect();
        near.sort_by(f64::total_cmp);
        let usual = near.get(near.len() / 2).copied().unwrap_or(0.0);
        // Only mirror images as near as neighbours usually are tell anything.
        let pairs: Vec<(usize, usize, usize)> = found
            .iter()
            .filter(|(_, same, image)| image.0 <= 2.0 * usual.max(1e-12) && same.0 <= 2.0 * usual.max(1e-12))
            .map(|(row, same, image)| (*row, same.1, image.1))
            .collect();
        let mut differences = Vec::new();
        let mut contradicted = false;
        let mut compare = |name: &str, values: &[f64], sign: f64| {
            let variance = spread(values, &moving).powi(2);
            let mean = |of: &dyn Fn(&(usize, usize, usize)) -> f64| {
                pairs.iter().map(of).sum::<f64>() / pairs.len().max(1) as f64
            };
            let same = mean(&|(row, same, _)| (values[*row] - values[*same]).powi(2)) / variance;
            let mirrored = mean(&|(row, _, image)| (values[*row] - sign * values[*image]).powi(2)) / variance;
            contradicted |= mirrored > LARGER * same + 1e-3;
            differences.push((name.to_owned(), same, mirrored));
        };
        for (index, state) in system.states().iter().enumerate() {
            compare(&state.name, &transitions.difference(index, state.angle), -1.0);
        }
        compare("reward", &transitions.rewards, 1.0);
        let holds = (pairs.len() >= FEWEST).then_some(!contradicted);
        Self { rows: pairs.len(), holds, differences }
    }
}

fn spread(values: &[f64], rows: &[usize]) -> f64 {
    let count = rows.len().max(1) as f64;
    let mean = rows.iter().map(|&row| values[row]).sum::<f64>() / count;
    let variance = rows.iter().map(|&row| (values[row] - mean).powi(2)).sum::<f64>() / count;
    if variance > 0.0 { variance.sqrt() } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DataSettings, generate};
    use fpsrl_base::progress::Progress;

    fn symmetry(name: &str, change: impl Fn(&mut Transitions)) -> Symmetry {
        let system = System::benchmark(name).unwrap();
        let settings = DataSettings { samples: 20_000, ..DataSettings::for_plant(system.plant()) };
        let mut log = generate(&system, &settings, &Progress::silent()).unwrap();
        change(&mut log);
        Symmetry::of(&system, &log)
    }

    #[test]
    fn a_cart_pole_is_its_own_mirror_image_and_a_mountain_car_is_not() {
        let balancing = symmetry("cart-pole-balancing", |_| ());
        assert_eq!(balancing.holds, Some(true), "{balancing:?}");
        let car = symmetry("mountain-car", |_| ());
        assert_eq!(car.holds, Some(false), "{car:?}");
        assert_eq!(car.worst(), "velocity");
    }

    #[test]
    fn a_sensor_that_is_off_centre_breaks_the_symmetry() {
        let shifted = symmetry("cart-pole-balancing", |log| {
            for row in 0..log.len() {
                log.states[0][row] += 0.2;
                log.next_states[0][row] += 0.2;
            }
        });
        assert_eq!(shifted.holds, Some(false), "{shifted:?}");
    }

    #[test]
    fn a_log_of_one_side_says_nothing() {
        let one_sided = symmetry("mountain-car", |log| {
            for row in 0..log.len() {
                log.states[0][row] += 5.0;
                log.next_states[0][row] += 5.0;
            }
        });
        assert_eq!(one_sided.holds, None, "{one_sided:?}");
    }
}
