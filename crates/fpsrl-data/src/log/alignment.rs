//! Which row did an action lead to? Loggers differ: some write down a state and the action taken in it, others a state and
//! the action that led there. Off by one, every model learned is wrong, and nothing else would show it.
//!
//! The test looks at pairs of neighbouring rows whose actions differ. It predicts the change of the state from the state
//! and the one action, and from the state and the other, by the same regression; the action that moved the plant predicts
//! better, on rows that the regression has not seen.

use nalgebra::{DMatrix, DVector};
use serde::{Deserialize, Serialize};

use super::import::Pair;
use crate::{Row, System};
use fpsrl_base::files::unknown;
use fpsrl_engine::angle::wrap_angle;

/// Pairs of rows that a verdict needs.
const FEWEST: usize = 60;

/// How many standard errors apart the two must be.
const CLEAR: f64 = 4.0;

/// Which row an action led to, as the data tell it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Alignment {
    /// The verdict; none if the data do not tell.
    pub fits: Option<Row>,
    /// The share of the variance that is not predicted if actions led to the next row; NaN if there were too few pairs.
    #[serde(with = "unknown")]
    pub error_next: f64,
    /// The share of the variance that is not predicted if actions led to their own row; NaN likewise.
    #[serde(with = "unknown")]
    pub error_this: f64,
    /// Pairs of rows with different actions that were looked at.
    pub rows: usize,
}

/// Pairs of neighbouring rows whose actions differ.
#[derive(Debug)]
pub(super) struct Samples {
    angles: Vec<bool>,
    /// State, the row's action, the next row's action, change of the state; one row after another.
    states: Vec<f64>,
    next: Vec<f64>,
    this: Vec<f64>,
    changes: Vec<f64>,
    actions: usize,
}

impl Samples {
    pub(super) fn new(system: &System) -> Self {
        Self {
            angles: system.states().iter().map(|state| state.angle).collect(),
            states: Vec::new(),
            next: Vec::new(),
            this: Vec::new(),
            changes: Vec::new(),
            actions: system.actions().len(),
        }
    }

    /// Takes at most so many pairs, spread over the log.
    pub(super) fn collect(&mut self, states: &[&[f64]], actions: &[&[f64]], pairs: &[Pair], most: usize) {
        let usable = |pair: &&Pair| {
            let (before, after) = (pair.before as usize, pair.after as usize);
            let there =
                states.iter().chain(actions).all(|column| column[before].is_finite() && column[after].is_finite());
            // A plant that has stopped is moved by no action.
            there && !pair.terminated && actions.iter().any(|action| action[before] != action[after])
        };
        let count = pairs.iter().filter(usable).count();
        let stride = count.div_ceil(most.max(1)).max(1);
        for pair in pairs.iter().filter(usable).step_by(stride) {
            let (before, after) = (pair.before as usize, pair.after as usize);
            self.states.extend(states.iter().map(|state| state[before]));
            self.next.extend(actions.iter().map(|action| action[before]));
            self.this.extend(actions.iter().map(|action| action[after]));
            self.changes.extend(states.iter().zip(&self.angles).map(|(state, angle)| {
                let change = state[after] - state[before];
                if *angle { wrap_angle(change) } else { change }
            }));
        }
    }

    /// Compares the two ways to read the log.
    pub(super) fn judge(&self) -> Alignment {
        let variables = self.angles.len();
        let rows = self.changes.len() / variables.max(1);
        let unclear = Alignment { fits: None, error_next: f64::NAN, error_this: f64::NAN, rows };
        if rows < FEWEST {
            return unclear;
        }
        // Many features where there are rows enough for them.
        let both = |rich| Some((self.losses(&self.next, rich)?, self.losses(&self.this, rich)?));
        let Some((next, this)) = both(true).or_else(|| both(false)) else { return unclear };
        let count = next.len() as f64;
        let mean = |values: &[f64]| values.iter().sum::<f64>() / count;
        let differences: Vec<f64> = this.iter().zip(&next).map(|(this, next)| this - next).collect();
        let centre = mean(&differences);
        let variance = differences.iter().map(|value| (value - centre).powi(2)).sum::<f64>() / (count - 1.0);
        let errors = centre / (variance / count).sqrt().max(f64::MIN_POSITIVE);
        let fits = match errors {
            errors if errors > CLEAR => Some(Row::Next),
            errors if errors < -CLEAR => Some(Row::This),
            _ => None,
        };
        Alignment { fits, error_next: mean(&next), error_this: mean(&this), rows }
    }

    /// The share of the variance that is not predicted, for each row, by a regression on the half that it is not in.
    fn losses(&self, actions: &[f64], rich: bool) -> Option<Vec<f64>> {
        let variables = self.angles.len();
        let rows = self.changes.len() / variables;
        let scale = |values: &[f64], width: usize| -> Vec<(f64, f64)> {
            (0..width)
                .map(|column| {
                    let of = || values.iter().skip(column).step_by(width);
                    let mean = of().sum::<f64>() / rows as f64;
                    let spread = (of().map(|value| (value - mean).powi(2)).sum::<f64>() / rows as f64).sqrt();
                    (mean, if spread > 0.0 { spread } else { 1.0 })
                })
                .collect()
        };
        let (state_scales, action_scales) = (scale(&self.states, variables), scale(actions, self.actions));
        let feature_row = |row: usize| {
            let states: Vec<f64> = (0..variables)
                .map(|index| {
                    let value = self.states[row * variables + index];
                    if self.angles[index] { value } else { (value - state_scales[index].0) / state_scales[index].1 }
                })
                .collect();
            let acts: Vec<f64> = (0..self.actions)
                .map(|index| (actions[row * self.actions + index] - action_scales[index].0) / action_scales[index].1)
                .collect();
            features(&states, &acts, &self.angles, rich)
        };
        let width = feature_row(0).len();
        if rows < 6 * width {
            return None;
        }
        let half = |parity: usize| {
            let chosen: Vec<usize> = (0..rows).filter(|row| row % 2 == parity).collect();
            let design: Vec<f64> = chosen.iter().flat_map(|&row| feature_row(row)).collect();
            (DMatrix::from_row_slice(chosen.len(), width, &design), chosen)
        };
        let halves = [half(0), half(1)];
        let mut losses = vec![0.0; rows];
        for (mine, other) in [(0, 1), (1, 0)] {
            let ((seen, seen_rows), (unseen, unseen_rows)) = (&halves[mine], &halves[other]);
            self.cross(seen, seen_rows, unseen, unseen_rows, &mut losses)?;
        }
        Some(losses)
    }

    /// Learns on one half, and adds up the losses on the other.
    fn cross(
        &self,
        seen: &DMatrix<f64>,
        seen_rows: &[usize],
        unseen: &DMatrix<f64>,
        unseen_rows: &[usize],
        losses: &mut [f64],
    ) -> Option<()> {
        let (variables, width) = (self.angles.len(), seen.ncols());
        let mut normal = seen.transpose() * seen;
        for index in 0..width {
            normal[(index, index)] += 1e-6 * seen_rows.len() as f64;
        }
        let factor = normal.cholesky()?;
        for variable in 0..variables {
            let target = |rows: &[usize]| {
                DVector::from_iterator(rows.len(), rows.iter().map(|row| self.changes[row * variables + variable]))
            };
            let (learned, wanted) = (target(seen_rows), target(unseen_rows));
            let mean = learned.mean();
            let weights = factor.solve(&(seen.transpose() * learned.add_scalar(-mean)));
            let variance = wanted.variance();
            if variance.is_nan() || variance <= 0.0 {
                continue;
            }
            let predicted = unseen * weights;
            for (index, &row) in unseen_rows.iter().enumerate() {
                // A few wild rows must not decide.
                losses[row] +=
                    ((wanted[index] - mean - predicted[index]).powi(2) / variance).min(25.0) / variables as f64;
            }
        }
        Some(())
    }
}

/// Powers of each variable, products of variables, and the action with its products; of an angle sine and cosine.
fn features(states: &[f64], actions: &[f64], angles: &[bool], rich: bool) -> Vec<f64> {
    let mut features = vec![1.0];
    let mut linear = Vec::new();
    for (&value, &angle) in states.iter().zip(angles) {
        if angle {
            features.extend([value.sin(), value.cos(), (2.0 * value).sin(), (2.0 * value).cos()]);
            linear.extend([value.sin(), value.cos()]);
        } else {
            let value = value.clamp(-4.0, 4.0);
            features.extend([value, value * value, value * value * value]);
            if rich {
                features.extend([value.powi(4), value.powi(5)]);
            }
            linear.push(value);
        }
    }
    if linear.len() <= 10 {
        for first in 0..linear.len() {
            for second in 0..first {
                let (one, other) = (linear[first], linear[second]);
                features.push(one * other);
                if rich && linear.len() <= 6 {
                    let [squares, cubes] = [2, 3].map(|power| (one.powi(power), other.powi(power)));
                    features.extend([squares.0 * other, one * squares.1, squares.0 * squares.1]);
                    features.extend([cubes.0 * other, one * cubes.1]);
                }
            }
        }
    }
    for &action in actions {
        features.extend([action, action * action]);
        if linear.len() <= 20 {
            features.extend(linear.iter().map(|value| action * value));
        }
    }
    features
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DataSettings, generate};
    use fpsrl_base::progress::Progress;

    /// The verdict on a benchmark's own data, written down in one of the two ways.
    fn verdict(name: &str, written: Row, held: usize) -> Alignment {
        let system = System::benchmark(name).unwrap();
        let settings = DataSettings { samples: 4_000, ..DataSettings::for_plant(system.plant()) };
        let log = generate(&system, &settings, &Progress::silent()).unwrap();
        let rows: Vec<usize> = (0..log.len() - 1).filter(|row| !log.stays(*row) && log.step[row + 1] > 0).collect();
        let action = |row: usize| if written == Row::Next { row } else { row.saturating_sub(1) };
        let actions: Vec<f64> = (0..log.len()).map(|row| log.actions[0][action(row)]).collect();
        let states: Vec<&[f64]> = log.states.iter().map(Vec::as_slice).collect();
        let pairs: Vec<Pair> = rows
            .iter()
            .filter(|row| **row % held == 0)
            .map(|&row| Pair { before: row as u32, after: row as u32 + 1, episode: 0, terminated: false })
            .collect();
        let mut samples = Samples::new(&system);
        samples.collect(&states, &[&actions], &pairs, 20_000);
        samples.judge()
    }

    #[test]
    fn either_way_to_write_a_log_is_recognised() {
        for name in ["mountain-car", "cart-pole-balancing", "cart-pole-swing-up"] {
            for written in [Row::Next, Row::This] {
                let verdict = verdict(name, written, 1);
                assert_eq!(verdict.fits, Some(written), "{name} {verdict:?}");
            }
        }
    }

    #[test]
    fn too_few_rows_give_no_verdict() {
        let verdict = verdict("mountain-car", Row::Next, 500);
        assert_eq!(verdict.fits, None);
        assert!(verdict.rows < FEWEST);
    }

    #[test]
    fn actions_without_effect_give_no_verdict() {
        let system = System::benchmark("mountain-car").unwrap();
        let stream = fpsrl_base::random::Stream::new(1, fpsrl_base::random::Purpose::SwarmStart);
        let noise = |place: u32| -> Vec<f64> { (0..2_000).map(|row| stream.uniform(row, 0, place)).collect() };
        let (x, v, a) = (noise(0), noise(1), noise(2));
        let pairs: Vec<Pair> =
            (0..1_999).map(|row| Pair { before: row, after: row + 1, episode: 0, terminated: false }).collect();
        let mut samples = Samples::new(&system);
        samples.collect(&[&x, &v], &[&a], &pairs, 20_000);
        assert_eq!(samples.judge().fits, None);
    }
}
