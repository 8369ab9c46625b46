//! How a column behaves by itself: whether it stands still for long and then jumps, as a set-point or a mode does,
//! how many values it has, how smoothly it moves.

use super::rows::Rows;

/// Distinct values that are counted; more are many.
const COUNTED: usize = 64;

/// Values that a mode has at most.
pub(super) const MOST_MODES: usize = 8;

/// The largest share of steps in which something moves that is set now and then.
const SELDOM: f64 = 0.1;

/// The least size of its jumps, as a share of its range: a slow sensor of few digits moves seldom too, but by its
/// last digit.
const JUMP: f64 = 0.05;

/// What a column's values tell by themselves.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Behaviour {
    /// The distinct values in their order, as far as they are counted.
    pub(super) values: Vec<f64>,
    /// The share of steps that change it.
    pub(super) changes: f64,
    /// The number of steps that change it.
    pub(super) jumps: usize,
    /// The median size of a change, as a share of the range.
    pub(super) jump: f64,
    /// The mean square of the second differences over the variance.
    pub(super) restlessness: f64,
}

impl Behaviour {
    /// Looks at a column's values in the order of the rows.
    pub(super) fn of(values: &[f64], rows: &Rows) -> Self {
        let finite = || values.iter().copied().filter(|value| value.is_finite());
        let mut distinct: Vec<f64> = Vec::new();
        for value in finite() {
            if let Err(place) = distinct.binary_search_by(|other| other.total_cmp(&value)) {
                distinct.insert(place, value);
                if distinct.len() > COUNTED {
                    break;
                }
            }
        }
        let low = finite().fold(f64::INFINITY, f64::min);
        let high = finite().fold(f64::NEG_INFINITY, f64::max);
        let known: Vec<f64> =
            rows.steps().map(|place| values[place] - values[place - 1]).filter(|change| change.is_finite()).collect();
        let mut sizes: Vec<f64> = known.iter().map(|change| change.abs()).filter(|size| *size > 0.0).collect();
        let jump = median(&mut sizes) / (high - low).max(f64::MIN_POSITIVE);
        Self {
            values: distinct,
            changes: sizes.len() as f64 / known.len().max(1) as f64,
            jumps: sizes.len(),
            jump,
            restlessness: restlessness(values),
        }
    }

    /// Whether it stands still for long, and then jumps.
    pub(super) fn is_piecewise_constant(&self) -> bool {
        self.jumps > 0 && self.changes <= SELDOM && self.jump >= JUMP
    }

    /// Rows for which a value lasts, on average.
    pub(super) fn dwell(&self) -> f64 {
        1.0 / self.changes.max(f64::MIN_POSITIVE)
    }

    /// Whether it has few values, all of them whole numbers.
    pub(super) fn is_few_whole(&self) -> bool {
        (2..=MOST_MODES).contains(&self.values.len()) && self.values.iter().all(|value| value.fract() == 0.0)
    }
}

/// The mean square of second differences over the variance. A plant's state moves smoothly; what a person or a random
/// policy sets does not.
fn restlessness(values: &[f64]) -> f64 {
    let values: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len().max(1) as f64;
    let second = values.windows(3).map(|three| (three[2] - 2.0 * three[1] + three[0]).powi(2)).sum::<f64>()
        / values.len().saturating_sub(2).max(1) as f64;
    if variance > 0.0 { second / variance } else { 0.0 }
}

/// The median; 0 of nothing.
pub(super) fn median(values: &mut [f64]) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let middle = values.len() / 2;
    *values.select_nth_unstable_by(middle, f64::total_cmp).1
}

/// How a column follows one that it may be meant to follow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Following {
    /// How far it is off where the other has not moved for a while, as a share of the other's spread.
    pub(super) off: f64,
    /// The correlation there.
    pub(super) correlation: f64,
}

impl Following {
    /// Compares two columns where the set-point has stood still for half of the time that it usually does.
    pub(super) fn of(column: &[f64], set_point: &[f64], set_points: &Behaviour, rows: &Rows) -> Option<Self> {
        let settled = match set_points.is_piecewise_constant() {
            true => (0.5 * set_points.dwell()).min(200.0) as usize,
            false => 0,
        };
        let mut pairs: Vec<(f64, f64)> = Vec::new();
        let mut levels: Vec<f64> = Vec::new();
        for stretch in rows.stretches() {
            let mut still = 0;
            for place in stretch.clone() {
                let moved = place == stretch.start || set_point[place] != set_point[place - 1];
                still = if moved { 0 } else { still + 1 };
                if still >= settled && column[place].is_finite() && set_point[place].is_finite() {
                    pairs.push((column[place], set_point[place]));
                    if moved || still == settled {
                        levels.push(set_point[place]);
                    }
                }
            }
        }
        // Of two levels anything can be said.
        if levels.len() < 3 || pairs.len() < 20 {
            return None;
        }
        let count = pairs.len() as f64;
        let mean = |of: &dyn Fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>() / count;
        let (own, other) = (mean(&|pair| pair.0), mean(&|pair| pair.1));
        let (own_spread, other_spread) =
            (mean(&|pair| (pair.0 - own).powi(2)).sqrt(), mean(&|pair| (pair.1 - other).powi(2)).sqrt());
        let together = mean(&|pair| (pair.0 - own) * (pair.1 - other));
        (own_spread > 0.0 && other_spread > 0.0).then(|| Self {
            off: mean(&|pair| (pair.0 - pair.1).abs()) / other_spread,
            correlation: together / (own_spread * other_spread),
        })
    }

    /// Whether there is no doubt.
    pub(super) fn is_clear(&self) -> bool {
        self.off < 0.5 && self.correlation > 0.8
    }

    /// Whether there is nothing of it.
    pub(super) fn is_absent(&self) -> bool {
        self.off > 1.0 && self.correlation < 0.3
    }
}

#[cfg(test)]
mod tests {
    use super::super::Guess;
    use super::super::tests::table;
    use super::*;

    fn behaviour(value: &dyn Fn(usize) -> f64) -> Behaviour {
        let text: String = (0..1_000).map(|row| format!("{},0\n", value(row))).collect();
        let text = format!("x,y\n{text}");
        let table = table(&text);
        let rows = Rows::of(&table, &Guess::default());
        Behaviour::of(&rows.values(&table.columns[0]), &rows)
    }

    #[test]
    fn what_is_set_now_and_then_stands_still_for_long() {
        let steps = behaviour(&|row| [20.0, 21.5, 19.0, 22.0][row / 100 % 4]);
        assert!(steps.is_piecewise_constant() && !steps.is_few_whole(), "{steps:?}");
        assert!((steps.dwell() - 111.0).abs() < 1.0);
        let mode = behaviour(&|row| (row / 300 % 2) as f64);
        assert!(mode.is_piecewise_constant() && mode.is_few_whole());
        // A slow sensor that shows one digit.
        let sensor = behaviour(&|row| (10.0 * (10.0 + 3.0 * (row as f64 * 0.002).sin())).round() / 10.0);
        assert!(sensor.changes < SELDOM && !sensor.is_piecewise_constant(), "{sensor:?}");
        assert!(!behaviour(&|row| (row as f64).sin()).is_piecewise_constant());
        assert!(!behaviour(&|row| (row % 2) as f64).is_piecewise_constant());
    }

    #[test]
    fn what_follows_is_told_from_what_does_not() {
        let text: String = (0..1_000)
            .map(|row| {
                let set_point = [20.0, 21.5, 19.0, 22.0][row / 100 % 4];
                let before = [22.0, 20.0, 21.5, 19.0][row / 100 % 4];
                let value = set_point + (before - set_point) * (-(row as f64 % 100.0) / 10.0).exp();
                format!("{value},{set_point},{}\n", 50.0 - 10.0 * value)
            })
            .collect();
        let text = format!("x,w,u\n{text}");
        let table = table(&text);
        let rows = Rows::of(&table, &Guess::default());
        let columns: Vec<Vec<f64>> = table.columns.iter().map(|column| rows.values(column)).collect();
        let set_points = Behaviour::of(&columns[1], &rows);
        let following = |index: usize| Following::of(&columns[index], &columns[1], &set_points, &rows).unwrap();
        assert!(following(0).is_clear(), "{:?}", following(0));
        assert!(following(2).is_absent(), "{:?}", following(2));
    }
}
