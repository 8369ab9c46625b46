//! What the data covered: the range of each state variable that a guard lets pass.

use crate::data::Transitions;

/// The share of the data on either side that only widens a range as far as [`MARGIN`] allows.
const TAIL: f64 = 0.005;

/// How far beyond the quantiles a range may reach, as a share of the distance between them.
const MARGIN: f64 = 0.25;

/// The covered range of each state variable: from the smallest to the largest value in the log, unless that is an
/// outlier. What lies further beyond the quantiles at ½ % and 99½ % than a quarter of the distance between them is
/// a glitch of the logger rather than a state that was visited.
///
/// ```
/// use fpsrl::{data::Transitions, export::covered_ranges};
/// let speed: Vec<f64> = (0..=1_000).map(f64::from).chain([1e9]).collect();
/// let log = Transitions { states: vec![speed.clone()], next_states: vec![speed], ..Transitions::new(1, 1) };
/// let [low, high] = covered_ranges(&log)[0];
/// assert!(low == 0.0 && high < 1_300.0);
/// ```
pub fn covered_ranges(transitions: &Transitions) -> Vec<[f64; 2]> {
    transitions
        .states
        .iter()
        .zip(&transitions.next_states)
        .map(|(before, after)| covered_range(before.iter().chain(after).copied().collect()))
        .collect()
}

fn covered_range(mut values: Vec<f64>) -> [f64; 2] {
    values.retain(|value| value.is_finite());
    values.sort_by(f64::total_cmp);
    let (Some(first), Some(last)) = (values.first(), values.last()) else { return [0.0, 0.0] };
    let at = |share: f64| values[((values.len() - 1) as f64 * share).round() as usize];
    let [low, high] = [at(TAIL), at(1.0 - TAIL)];
    let margin = MARGIN * (high - low);
    [first.max(low - margin), last.min(high + margin)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_of_an_ordinary_log_is_covered() {
        let values: Vec<f64> = (0..5_000).map(|index| (f64::from(index) * 0.37).sin()).collect();
        let [low, high] = covered_range(values.clone());
        assert!(values.iter().all(|value| (low..=high).contains(value)));
    }

    #[test]
    fn outliers_widen_the_range_a_little_and_no_more() {
        let mut values: Vec<f64> = (0..1_000).map(|index| f64::from(index) / 999.0).collect();
        values[0] = -1e9;
        values[999] = 1e9;
        let [low, high] = covered_range(values);
        assert!((-0.26..-0.2).contains(&low) && (1.2..1.26).contains(&high), "{low} {high}");
    }

    #[test]
    fn a_variable_that_never_moves_is_covered_where_it_stands() {
        assert_eq!(covered_range(vec![3.0; 50]), [3.0, 3.0]);
        assert_eq!(covered_range(Vec::new()), [0.0, 0.0]);
    }
}
