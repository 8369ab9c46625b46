//! What the log covers: of each input the range that pictures show, and how often the log was where.

use super::svg::rounded_range;
use fpsrl_data::System;
use fpsrl_data::scaling::quantile;
use fpsrl_data::system::{Lagged, StateVariable};
use fpsrl_data::{Transitions, absorbing};

/// The share of the rows on either side that may be runaways, as for the bounds of rules.
const TAIL: f64 = 0.005;

/// Bars of a histogram.
pub const BINS: usize = 40;

/// What a log covers.
#[derive(Clone, Debug, PartialEq)]
pub struct DataProfile {
    /// One for each state variable.
    pub inputs: Vec<InputProfile>,
    /// The rows of the log that begin in a state that is not absorbed already.
    pub moving: Vec<usize>,
}

/// What a log covers of one state variable.
#[derive(Clone, Debug, PartialEq)]
pub struct InputProfile {
    /// The range that is shown and searched: the bounds of rule centres where the problem sets them, else where the
    /// log's rows and the start states lie, without runaways.
    pub range: [f64; 2],
    /// Rows of the log in [`BINS`] equal parts of the range; of a mode, in each of its words.
    pub histogram: Vec<usize>,
}

impl DataProfile {
    /// The profile of a problem's log.
    pub fn new(system: &System, transitions: &Transitions) -> Self {
        let later = absorbing::rewards_from_then_on(transitions);
        let moving = absorbing::rows_that_matter(transitions, &later);
        let inputs = system
            .states()
            .iter()
            .zip(&transitions.states)
            .map(|(state, column)| {
                let values: Vec<f64> = moving.iter().map(|&row| column[row]).collect();
                let modes = state.values().len();
                if modes > 0 {
                    let range = [0.0, modes as f64 - 1.0];
                    return InputProfile { range, histogram: histogram(&values, [-0.5, range[1] + 0.5], modes) };
                }
                // A running sum is not in the log: it begins at 0 wherever a rollout does.
                if let Some(limit) = sum_limit(system, state) {
                    return InputProfile { range: [-limit, limit], histogram: vec![0; BINS] };
                }
                let range = match state.centre {
                    Some(centre) => centre,
                    None => {
                        let mut sorted = values.clone();
                        sorted.sort_unstable_by(f64::total_cmp);
                        let (low, high) = (quantile(&sorted, TAIL), quantile(&sorted, 1.0 - TAIL));
                        rounded_range([low.min(state.start[0]), high.max(state.start[1])])
                    }
                };
                let pi = std::f64::consts::PI;
                let range = if state.angle { [range[0].max(-pi), range[1].min(pi)] } else { range };
                InputProfile { range, histogram: histogram(&values, range, BINS) }
            })
            .collect();
        Self { inputs, moving }
    }

    /// The ranges of all inputs.
    pub fn ranges(&self) -> Vec<[f64; 2]> {
        self.inputs.iter().map(|input| input.range).collect()
    }

    /// At most so many rows that move, evenly spread over the log.
    pub fn sample(&self, most: usize) -> Vec<usize> {
        let count = self.moving.len().min(most);
        (0..count).map(|index| self.moving[index * self.moving.len() / count]).collect()
    }
}

/// How far a running sum may go to either side; none of another variable.
fn sum_limit(system: &System, state: &StateVariable) -> Option<f64> {
    match state.lag?.of {
        Lagged::Sum(of) => system.states()[of].tracks?.limit,
        _ => None,
    }
}

fn histogram(values: &[f64], [low, high]: [f64; 2], parts: usize) -> Vec<usize> {
    let mut bins = vec![0; parts];
    for value in values {
        let share = (value - low) / (high - low);
        if (0.0..=1.0).contains(&share) {
            bins[((share * parts as f64) as usize).min(parts - 1)] += 1;
        }
    }
    bins
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::generated;

    #[test]
    fn fallen_poles_do_not_count_and_the_track_is_the_range() {
        let system = System::benchmark("cart-pole-balancing").unwrap();
        let log = generated(&system, 5_000);
        let profile = DataProfile::new(&system, &log);
        assert!(profile.moving.len() < 2_000, "{}", profile.moving.len());
        let [low, high] = profile.inputs[2].range;
        assert!((-2.5..=-2.3).contains(&low) && (2.3..=2.5).contains(&high), "{low} {high}");
        let counted: usize = profile.inputs[0].histogram.iter().sum();
        assert!(counted as f64 > 0.97 * profile.moving.len() as f64);
    }

    #[test]
    fn bounds_of_centres_are_the_range_and_an_angle_stays_within_a_turn() {
        let system = System::benchmark("cart-pole-swing-up").unwrap();
        let profile = DataProfile::new(&system, &Transitions::new(4, 1));
        assert_eq!(profile.inputs[0].range, [-std::f64::consts::PI, std::f64::consts::PI]);
        assert_eq!(profile.inputs[2].range, [-10.0, 10.0]);
        assert!(profile.sample(10).is_empty());
    }
}
