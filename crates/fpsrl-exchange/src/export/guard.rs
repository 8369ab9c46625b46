//! What the data covered: the range of each state variable that a guard lets pass.

use std::f64::consts::{PI, TAU};

use fpsrl_data::Transitions;
use fpsrl_engine::angle::wrap_angle;
use fpsrl_engine::policy::Quantity;

/// The share of the data on either side that only widens a range as far as [`MARGIN`] allows.
const TAIL: f64 = 0.005;

/// How far beyond the quantiles a range may reach, as a share of the distance between them.
const MARGIN: f64 = 0.25;

/// The part of a circle that data may leave free and still cover all of it: no more than what lies between its values.
const GAP: f64 = TAU / 20.0;

/// The covered range of each variable that a policy sees: from the smallest to the largest value in the log, unless that
/// is an outlier. What lies further beyond the quantiles at ½ % and 99½ % than a quarter of the distance between them is
/// a glitch of the logger rather than a state that was visited.
///
/// Of an angle that rules measure around the circle it is an arc, which may reach across ±π: what remains without the
/// widest gap in the data. If that gap is narrower than a twentieth of a turn, it is the whole circle, from -π to π.
/// Of a mode it is all that occurred.
///
/// ```
/// use fpsrl_data::Transitions;
/// use fpsrl_engine::policy::Quantity;
/// use fpsrl_exchange::export::covered_ranges;
/// let speed: Vec<f64> = (0..=1_000).map(f64::from).chain([1e9]).collect();
/// let log = Transitions { states: vec![speed.clone()], next_states: vec![speed], ..Transitions::new(1, 1) };
/// let [low, high] = covered_ranges(&[Quantity::new("speed", "m/s")], &log)[0];
/// assert!(low == 0.0 && high < 1_300.0);
/// ```
pub fn covered_ranges(states: &[Quantity], transitions: &Transitions) -> Vec<[f64; 2]> {
    let columns = transitions.states.iter().zip(&transitions.next_states).zip(states);
    columns
        .map(|((before, after), quantity)| {
            let values = before.iter().chain(after).copied().collect();
            match quantity {
                // Between modes there is nothing, and a rare one is no glitch.
                _ if !quantity.values.is_empty() => extremes(values),
                _ if quantity.periodic => covered_arc(values),
                _ => covered_range(values),
            }
        })
        .collect()
}

fn covered_arc(mut values: Vec<f64>) -> [f64; 2] {
    values.retain(|value| value.is_finite());
    values.iter_mut().for_each(|value| *value = wrap_angle(*value));
    values.sort_by(f64::total_cmp);
    let (Some(first), Some(last)) = (values.first(), values.last()) else { return [0.0, 0.0] };
    // Cut open at the widest gap, the circle is a line like any other. Usually that gap is at ±π.
    let mut widest = (first + TAU - last, 0);
    for (index, pair) in values.windows(2).enumerate() {
        if pair[1] - pair[0] > widest.0 {
            widest = (pair[1] - pair[0], index + 1);
        }
    }
    values[..widest.1].iter_mut().for_each(|value| *value += TAU);
    let [low, high] = covered_range(values);
    match high - low > TAU - GAP {
        true => [-PI, PI],
        // An arc begins within the usual turn.
        false if low > PI => [low - TAU, high - TAU],
        false => [low, high],
    }
}

fn extremes(mut values: Vec<f64>) -> [f64; 2] {
    values.retain(|value| value.is_finite());
    let wider = |[low, high]: [f64; 2], value: &f64| [low.min(*value), high.max(*value)];
    values.first().map_or([0.0; 2], |first| values.iter().fold([*first; 2], wider))
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
    fn an_arc_leaves_out_the_widest_gap_wherever_it_is() {
        let around = |middle: f64, half: f64| -> Vec<f64> {
            (0..=1_000).map(|index| wrap_angle(middle + half * (f64::from(index) / 500.0 - 1.0))).collect()
        };
        for (middle, half) in [(0.0, 0.7), (3.0, 0.5), (-3.0, 1.0), (PI, 2.5), (1.0, 2.9)] {
            let [low, high] = covered_arc(around(middle, half));
            assert!((high - low - 2.0 * half).abs() < 1e-9, "{middle}: {low} {high}");
            assert!(wrap_angle(0.5 * (low + high) - middle).abs() < 1e-9, "{middle}: {low} {high}");
        }
        assert_eq!(covered_arc(around(0.3, 3.1)), [-PI, PI], "a narrow gap is none");
        // A glitch opposite of everything else does not widen the arc to a turn.
        let mut glitch = around(3.0, 0.5);
        glitch.push(0.0);
        let [low, high] = covered_arc(glitch);
        assert!(high - low < 1.3, "{low} {high}");
        assert_eq!(covered_arc(Vec::new()), [0.0, 0.0]);
    }

    #[test]
    fn a_rare_mode_is_covered() {
        let values: Vec<f64> = (0..5_000).map(|index| if index == 17 { 2.0 } else { f64::from(index % 2) }).collect();
        assert_eq!(extremes(values.clone()), [0.0, 2.0]);
        assert!(covered_range(values)[1] < 2.0);
    }

    #[test]
    fn a_variable_that_never_moves_is_covered_where_it_stands() {
        assert_eq!(covered_range(vec![3.0; 50]), [3.0, 3.0]);
        assert_eq!(covered_range(Vec::new()), [0.0, 0.0]);
    }
}
