//! Scales: physical numbers to numbers near zero with a spread near one, which is what networks train on.
//!
//! Outputs are scaled to mean 0 and standard deviation 1 (section 5.3 of the paper). Inputs are scaled by quantiles,
//! because one runaway episode would otherwise set the scale of everybody: in random walks of the cart-pole swing-up
//! the cart's position has a standard deviation of 31 m, while the goal is 1 m wide.

use serde::{Deserialize, Serialize};

/// An affine scale: `(value - centre) / spread`.
///
/// ```
/// use fpsrl_data::scaling::Scale;
/// let scale = Scale::standard(&[1.0, 3.0]);
/// assert_eq!(scale, Scale { centre: 2.0, spread: 1.0 });
/// assert_eq!(scale.apply(4.0), 2.0);
/// assert_eq!(scale.undo(2.0), 4.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scale {
    /// The physical value that becomes 0.
    pub centre: f64,
    /// The physical distance that becomes 1; above 0.
    pub spread: f64,
}

/// Quantiles one standard deviation away from the median of a normal distribution.
const LOW: f64 = 0.158_655;
const HIGH: f64 = 0.841_345;

/// The part of the rows on either side that may be runaways.
const TAIL: f64 = 0.02;

/// Quantiles that are closer together than this fraction of the standard deviation say that the column mostly stands
/// still, not that it is narrow: nine rows in ten of a balancing log are a pole that has fallen.
const STANDSTILL: f64 = 0.02;

impl Scale {
    /// Mean and standard deviation. A constant column has a spread of 1.
    pub fn standard(values: &[f64]) -> Self {
        let count = values.len().max(1) as f64;
        let centre = values.iter().sum::<f64>() / count;
        let variance = values.iter().map(|value| (value - centre).powi(2)).sum::<f64>() / count;
        Self { centre, spread: usable(variance.sqrt(), centre) }
    }

    /// The median, and half of the distance between the quantiles at ±σ of a normal distribution.
    ///
    /// A column that mostly stands still is scaled by mean and standard deviation instead, with the outermost two
    /// percent on either side drawn in unless nothing else moves. A constant one has a spread of 1.
    pub fn robust(values: &[f64]) -> Self {
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let (low, high) = (quantile(&sorted, TAIL), quantile(&sorted, 1.0 - TAIL));
        if low == high {
            return Self::standard(values);
        }
        let spread = 0.5 * (quantile(&sorted, HIGH) - quantile(&sorted, LOW));
        let centre = quantile(&sorted, 0.5);
        sorted.iter_mut().for_each(|value| *value = value.clamp(low, high));
        let drawn_in = Self::standard(&sorted);
        if spread > STANDSTILL * drawn_in.spread { Self { centre, spread: usable(spread, centre) } } else { drawn_in }
    }

    /// The scaled number.
    pub fn apply(&self, value: f64) -> f64 {
        (value - self.centre) / self.spread
    }

    /// The physical number.
    pub fn undo(&self, scaled: f64) -> f64 {
        scaled * self.spread + self.centre
    }
}

/// The spread, or 1 where it is nothing but rounding.
fn usable(spread: f64, centre: f64) -> f64 {
    if spread > 1e-13 * centre.abs() && spread.is_normal() { spread } else { 1.0 }
}

/// The value below which a fraction of the sorted values lies, interpolated; 0 for no values.
pub fn quantile(sorted: &[f64], fraction: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return 0.0 };
    let position = fraction.clamp(0.0, 1.0) * last as f64;
    let below = position as usize;
    let above = (below + 1).min(last);
    sorted[below] + (sorted[above] - sorted[below]) * (position - below as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fpsrl_base::random::{Purpose, Stream};

    #[test]
    fn a_constant_column_keeps_its_size() {
        for scale in [Scale::standard(&[-1.0; 50]), Scale::robust(&[-1.0; 50])] {
            assert_eq!(scale, Scale { centre: -1.0, spread: 1.0 });
        }
        // The mean of equal numbers is off by rounding; that is not a spread.
        assert_eq!(Scale::standard(&[0.1; 1_000]).spread, 1.0);
        assert_eq!(Scale::robust(&[]).spread, 1.0);
    }

    #[test]
    fn a_column_that_mostly_stands_still_is_scaled_by_the_rows_that_move() {
        let mut values = vec![0.0; 900];
        values.extend((0..100).map(|row| if row % 2 == 0 { 3.0 } else { -3.0 }));
        let scale = Scale::robust(&values);
        assert!((scale.spread - (0.1f64 * 9.0).sqrt()).abs() < 1e-12, "{scale:?}");
    }

    #[test]
    fn a_few_runaways_do_not_set_the_scale() {
        let stream = Stream::new(1, Purpose::Split);
        let mut values: Vec<f64> = (0..10_000).map(|row| 5.0 + stream.normal(0, row, 0)).collect();
        let calm = Scale::robust(&values);
        assert!((calm.centre - 5.0).abs() < 0.05 && (calm.spread - 1.0).abs() < 0.05, "{calm:?}");
        values.extend([1e6; 100]);
        let wild = Scale::robust(&values);
        assert!((wild.centre - 5.0).abs() < 0.05 && (wild.spread - 1.0).abs() < 0.05, "{wild:?}");
        assert!(Scale::standard(&values).spread > 1e4);
    }

    #[test]
    fn undo_takes_back_apply() {
        let scale = Scale::robust(&[0.3, 0.4, 10.0, -7.0]);
        assert!((scale.undo(scale.apply(3.7)) - 3.7).abs() < 1e-12);
    }
}
