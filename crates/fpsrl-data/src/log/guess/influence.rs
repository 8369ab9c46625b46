//! Does one column move another? The change of a column over the next steps is predicted from its own past, and again
//! with the other column beside it; if that predicts better, on rows that the regression has not seen, the other one
//! has a part in it.
//!
//! A column's own past is several of its lags and three slow means of it: what is as slow as the weather is predicted
//! well by itself, and whatever reacts to the weather must not seem to cause it by knowing a smoother version of it.

use nalgebra::{DMatrix, DVector};

use super::rows::Rows;

/// Steps ahead that are predicted.
const HORIZONS: [usize; 7] = [1, 2, 3, 5, 10, 20, 50];

/// Past rows that are looked at.
const LAGS: [usize; 4] = [1, 2, 3, 5];

/// Rows that slow means reach back.
const MEMORIES: [f64; 3] = [5.0, 20.0, 80.0];

/// Rows that are looked at, at most, and those without which nothing can be said.
const MOST: usize = 4_000;
const FEWEST: usize = 200;

/// Pieces of the log, every other one held out.
const PIECES: usize = 10;

/// The share of the error that a real influence takes away, and how many standard errors it is above nothing.
const CLEAR: f64 = 0.05;
const CLEAR_ERRORS: f64 = 3.0;

/// The share below which there is none.
const ABSENT: f64 = 0.02;

/// What other columns add to the prediction of one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Gain {
    /// The share of the held-out error that they take away, at the horizon at which it is largest.
    pub(super) share: f64,
    /// By how many standard errors it is above nothing.
    pub(super) errors: f64,
    /// Steps ahead.
    pub(super) horizon: usize,
}

impl Gain {
    /// Whether there is an influence beyond doubt.
    pub(super) fn is_clear(&self) -> bool {
        self.share >= CLEAR && self.errors >= CLEAR_ERRORS
    }

    /// Whether there is none.
    pub(super) fn is_absent(&self) -> bool {
        self.share < ABSENT || self.errors < 1.5
    }

    /// For people: 37 %.
    pub(super) fn percent(&self) -> String {
        format!("{:.0} %", 100.0 * self.share.clamp(0.0, 1.0))
    }
}

/// A column in the order of the rows.
#[derive(Clone, Debug)]
pub(super) struct Signal {
    /// Its values.
    pub(super) values: Vec<f64>,
    /// The turn of an angle.
    pub(super) turn: Option<f64>,
}

impl Signal {
    fn difference(&self, to: usize, from: usize) -> f64 {
        let change = self.values[to] - self.values[from];
        match self.turn {
            Some(turn) => change - turn * (change / turn).round(),
            None => change,
        }
    }
}

/// Numbers for each row that is looked at.
type Feature = Vec<f64>;

/// The rows that influences are looked for in.
pub(super) struct Influences<'a> {
    rows: &'a Rows,
    places: Vec<usize>,
    lags: Vec<usize>,
    horizons: Vec<usize>,
    /// Whether nobody waits for an answer any more.
    stopped: &'a dyn Fn() -> bool,
}

impl<'a> Influences<'a> {
    /// Chooses rows with a past and a future; none if the log has too few.
    pub(super) fn new(rows: &'a Rows, stopped: &'a dyn Fn() -> bool) -> Option<Self> {
        let count = |back: usize, ahead: usize| {
            let fits = |place: &usize| {
                let (before, after) = rows.around(*place);
                before >= back && after >= ahead
            };
            (0..rows.len()).filter(fits).count()
        };
        // Of short episodes, less of the past and of the future is looked at, so that most rows can be.
        let enough = |back: usize, ahead: usize| count(back, ahead) >= (rows.len() * 6 / 10).max(FEWEST);
        let lags: Vec<usize> = LAGS.into_iter().filter(|lag| enough(*lag, 1)).collect();
        let back = lags.last().copied().unwrap_or(0);
        let horizons: Vec<usize> = HORIZONS.into_iter().filter(|ahead| enough(back, *ahead)).collect();
        let ahead = *horizons.last()?;
        let fitting: Vec<usize> = (0..rows.len())
            .filter(|&place| {
                let (before, after) = rows.around(place);
                before >= back && after >= ahead
            })
            .collect();
        let stride = fitting.len().div_ceil(MOST).max(1);
        let places = fitting.into_iter().step_by(stride).collect();
        Some(Self { rows, places, lags, horizons, stopped })
    }

    fn feature(&self, of: impl Fn(usize) -> f64) -> Feature {
        self.places.iter().map(|&place| of(place)).collect()
    }

    /// Slow means of a column.
    fn means(&self, signal: &Signal) -> Vec<Vec<f64>> {
        let of = |memory: f64| {
            let mut mean = f64::NAN;
            let mut means = vec![f64::NAN; self.rows.len()];
            for stretch in self.rows.stretches() {
                mean = f64::NAN;
                for place in stretch {
                    let value = signal.values[place];
                    if value.is_finite() {
                        mean = if mean.is_nan() { value } else { mean + (value - mean) / memory };
                    }
                    means[place] = mean;
                }
            }
            let _ = mean;
            means
        };
        MEMORIES.iter().map(|memory| of(*memory)).collect()
    }

    /// What a column is now and was before: its value, its last movements, and how far it is from its slow means.
    pub(super) fn past(&self, signal: &Signal) -> Vec<Feature> {
        let mut features = self.present(signal);
        let mut last = 0;
        for &lag in &self.lags {
            features.push(self.feature(|place| signal.difference(place - last, place - lag)));
            last = lag;
        }
        if signal.turn.is_none() && !self.lags.is_empty() {
            let means = self.means(signal);
            features.push(self.feature(|place| signal.values[place] - means[0][place]));
            features.push(self.feature(|place| means[0][place] - means[1][place]));
            features.push(self.feature(|place| means[1][place] - means[2][place]));
        }
        features
    }

    /// A column's own past, bent too: plants are not straight.
    pub(super) fn own_past(&self, signal: &Signal) -> Vec<Feature> {
        let mut features = self.past(signal);
        if signal.turn.is_none() {
            let level = standardised(&features[0]);
            features.push(level.iter().map(|value| value * value).collect());
            features.push(level.iter().map(|value| value * value * value).collect());
        }
        features
    }

    /// The past of a column, and its product with the present of another one on which its effect may depend.
    pub(super) fn past_upon(&self, signal: &Signal, target: &Signal) -> Vec<Feature> {
        let mut features = self.past(signal);
        features.extend(self.product(signal, target));
        features
    }

    /// What a column is now: its value, or sine and cosine of an angle.
    pub(super) fn present(&self, signal: &Signal) -> Vec<Feature> {
        match signal.turn {
            Some(turn) => {
                let angle = |place: usize| signal.values[place] / turn * std::f64::consts::TAU;
                vec![self.feature(|place| angle(place).sin()), self.feature(|place| angle(place).cos())]
            }
            None => vec![self.feature(|place| signal.values[place])],
        }
    }

    /// The products of a column with the present of another one, on which its effect may depend.
    pub(super) fn product(&self, signal: &Signal, other: &Signal) -> Vec<Feature> {
        self.products(&self.feature(|place| signal.values[place]), other)
    }

    fn products(&self, level: &Feature, target: &Signal) -> Vec<Feature> {
        let level = standardised(level);
        let with = |other: &Feature| -> Feature {
            // Sine and cosine have their own middle.
            let other = if target.turn.is_some() { other.clone() } else { standardised(other) };
            level.iter().zip(&other).map(|(one, other)| one * other).collect()
        };
        self.present(target).iter().map(with).collect()
    }

    /// What a column is one row later: for what reacts at once, or is written down beside what it led to.
    pub(super) fn next(&self, signal: &Signal) -> Vec<Feature> {
        vec![
            self.feature(|place| signal.values[place + 1]),
            self.feature(|place| signal.difference(place + 1, place)),
            self.feature(|place| signal.values[place]),
        ]
    }

    /// What a column is one row later, with its product with the present of another one.
    pub(super) fn next_upon(&self, signal: &Signal, target: &Signal) -> Vec<Feature> {
        let mut features = self.next(signal);
        features.extend(self.products(&features[0].clone(), target));
        features
    }

    /// What `more` adds to `base` in the prediction of a column; none if there are too few rows for it.
    pub(super) fn gain(&self, target: &Signal, base: &[Feature], more: &[Feature]) -> Option<Gain> {
        self.gain_at(target, base, more, &self.horizons)
    }

    /// The same for the next step alone.
    pub(super) fn gain_in_a_step(&self, target: &Signal, base: &[Feature], more: &[Feature]) -> Option<Gain> {
        self.gain_at(target, base, more, &[1])
    }

    /// The share of a column that follows from others: from their values in its row and in the next one, their
    /// squares, and how far they are from their middle.
    pub(super) fn explained<'s>(&self, target: &Signal, others: impl Iterator<Item = &'s Signal>) -> Option<f64> {
        if (self.stopped)() {
            return None;
        }
        let mut features = Vec::new();
        for other in others {
            for ahead in [0, 1] {
                let level = standardised(&self.feature(|place| other.values[place + ahead]));
                features.push(level.iter().map(|value| value * value).collect());
                features.push(level.iter().map(|value| value.abs()).collect());
                features.push(level);
            }
        }
        let losses = HeldOut::of(&[], &features, &[self.feature(|place| target.values[place])])?;
        gain(0, losses.first()?).map(|gain| gain.share)
    }

    fn gain_at(&self, target: &Signal, base: &[Feature], more: &[Feature], horizons: &[usize]) -> Option<Gain> {
        if (self.stopped)() {
            return None;
        }
        let targets: Vec<Feature> =
            horizons.iter().map(|horizon| self.feature(|place| target.difference(place + horizon, place))).collect();
        let losses = HeldOut::of(base, more, &targets)?;
        let gains = horizons.iter().zip(&losses).filter_map(|(horizon, pieces)| gain(*horizon, pieces));
        // One that is beyond doubt goes before a larger one that is not.
        gains.max_by(|a, b| {
            (a.is_clear(), a.share).partial_cmp(&(b.is_clear(), b.share)).unwrap_or(std::cmp::Ordering::Equal)
        })
    }
}

/// Errors of each held-out piece, without the others and with them, as shares of the variance.
type Pieces = Vec<(f64, f64)>;

fn gain(horizon: usize, pieces: &Pieces) -> Option<Gain> {
    let count = pieces.len() as f64;
    let without = pieces.iter().map(|piece| piece.0).sum::<f64>() / count;
    let with = pieces.iter().map(|piece| piece.1).sum::<f64>() / count;
    // What predicts itself to the last digit is moved by nobody.
    if without.is_nan() || with.is_nan() {
        return None;
    }
    if without < 1e-6 {
        return Some(Gain { share: 0.0, errors: 0.0, horizon });
    }
    let better: Vec<f64> = pieces.iter().map(|piece| piece.0 - piece.1).collect();
    let mean = without - with;
    let variance = better.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    let errors = mean / (variance / count).sqrt().max(f64::MIN_POSITIVE);
    Some(Gain { share: mean / without, errors, horizon })
}

/// Regressions whose errors are measured where they have not learned.
struct HeldOut;

impl HeldOut {
    fn of(base: &[Feature], more: &[Feature], targets: &[Feature]) -> Option<Vec<Pieces>> {
        let all = || base.iter().chain(more);
        let places = targets.first()?.len();
        let whole: Vec<usize> =
            (0..places).filter(|&place| all().chain(targets).all(|feature| feature[place].is_finite())).collect();
        // A column that does not move teaches nothing, and would have no scale.
        let columns: Vec<(bool, Vec<f64>)> = base
            .iter()
            .map(|feature| (true, feature))
            .chain(more.iter().map(|feature| (false, feature)))
            .map(|(is_base, feature)| {
                let chosen: Vec<f64> = whole.iter().map(|&place| feature[place]).collect();
                (is_base, standardised(&chosen))
            })
            .filter(|(_, column)| column.iter().any(|value| *value != 0.0))
            .collect();
        let (own, width) = (1 + columns.iter().filter(|(is_base, _)| *is_base).count(), 1 + columns.len());
        let rows = whole.len();
        if rows < FEWEST || rows < 5 * width || own == width {
            return None;
        }
        let design = DMatrix::from_fn(rows, width, |row, column| match column {
            0 => 1.0,
            column => columns[column - 1].1[row],
        });
        let piece = |row: usize| row * PIECES / rows;
        let halves: Vec<Vec<usize>> =
            (0..2).map(|parity| (0..rows).filter(|row| piece(*row) % 2 == parity).collect()).collect();
        let mut losses: Vec<Pieces> = vec![vec![(0.0, 0.0); PIECES]; targets.len()];
        for (seen, unseen) in [(0, 1), (1, 0)] {
            let learned = design.select_rows(&halves[seen]);
            let tested = design.select_rows(&halves[unseen]);
            let mut normal = learned.tr_mul(&learned);
            for index in 0..width {
                normal[(index, index)] += 1e-6 * learned.nrows() as f64;
            }
            let with = normal.clone().cholesky()?;
            let without = normal.view((0, 0), (own, own)).clone_owned().cholesky()?;
            for (target, losses) in targets.iter().zip(&mut losses) {
                let of =
                    |rows: &[usize]| DVector::from_iterator(rows.len(), rows.iter().map(|&row| target[whole[row]]));
                let (known, wanted) = (of(&halves[seen]), of(&halves[unseen]));
                let variance = 0.5 * (known.variance() + wanted.variance());
                if variance.is_nan() || variance <= 0.0 {
                    continue;
                }
                let moments = learned.tr_mul(&known);
                let full = &tested * with.solve(&moments);
                let bare = tested.columns(0, own) * without.solve(&moments.rows(0, own).clone_owned());
                for (index, &row) in halves[unseen].iter().enumerate() {
                    // A few wild rows must not decide.
                    let loss = |predicted: f64| ((wanted[index] - predicted).powi(2) / variance).min(25.0);
                    let sums = &mut losses[piece(row)];
                    let share = PIECES as f64 / rows as f64;
                    *sums = (sums.0 + share * loss(bare[index]), sums.1 + share * loss(full[index]));
                }
            }
        }
        Some(losses)
    }
}

/// Values around 0 with a spread of 1, without wild ones; zeros where nothing moves.
fn standardised(values: &[f64]) -> Vec<f64> {
    let known = || values.iter().copied().filter(|value| value.is_finite());
    let count = known().count().max(1) as f64;
    let mean = known().sum::<f64>() / count;
    let spread = (known().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt();
    if spread.is_nan() || spread <= 1e-12 * mean.abs() {
        return vec![0.0; values.len()];
    }
    values.iter().map(|value| ((value - mean) / spread).clamp(-6.0, 6.0)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::plants::{Tank, noise};
    use super::super::{Guess, tests::table};
    use super::*;

    /// What a column adds to the prediction of another one.
    fn gain(text: &str, from: usize, to: usize) -> Gain {
        let table = table(text);
        let rows = Rows::of(&table, &Guess::default());
        let influences = Influences::new(&rows, &|| false).unwrap();
        let signal = |index: usize| Signal { values: rows.values(&table.columns[index]), turn: None };
        let (from, to) = (signal(from), signal(to));
        influences.gain(&to, &influences.own_past(&to), &influences.past_upon(&from, &to)).unwrap()
    }

    #[test]
    fn an_action_under_feedback_moves_the_level_and_not_the_weather() {
        let tank = Tank::default();
        let text = tank.text(["y", "r", "d", "u"], 3_000);
        let (level, weather) = (gain(&text, 3, 0), gain(&text, 3, 2));
        assert!(level.is_clear(), "{level:?}");
        assert!(weather.is_absent(), "{weather:?}");
        assert!(gain(&text, 2, 0).is_clear());
    }

    #[test]
    fn slow_weather_with_noise_is_not_caused_by_what_reacts_to_it() {
        let tank = Tank { weather_noise: 0.1, ..Tank::default() };
        let weather = gain(&tank.text(["y", "r", "d", "u"], 3_000), 3, 2);
        assert!(!weather.is_clear(), "{weather:?}");
    }

    #[test]
    fn noise_moves_nothing() {
        let text: String = (0..2_000).map(|row| format!("{},{}\n", noise(row, 0), noise(row, 1))).collect();
        let nothing = gain(&format!("a,b\n{text}"), 0, 1);
        assert!(nothing.is_absent(), "{nothing:?}");
    }

    #[test]
    fn too_few_rows_tell_nothing() {
        let table = table("a,b\n1,2\n3,4\n");
        assert!(Influences::new(&Rows::of(&table, &Guess::default()), &|| false).is_none());
    }
}
