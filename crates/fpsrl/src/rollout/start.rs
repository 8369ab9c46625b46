//! Start states: where rollouts begin.

use crate::problem::Problem;
use crate::random::{Purpose, Stream};

/// A fixed set of start states, a column a variable.
#[derive(Clone, Debug, PartialEq)]
pub struct StartStates {
    columns: Vec<Vec<f64>>,
}

impl StartStates {
    /// Start states for the search, spread evenly over the problem's start ranges.
    ///
    /// Their number is the search's price, so they should cover the range better than independent draws do: they
    /// follow an additive recurrence with irrational steps (Roberts' R sequence, built on the generalised golden ratio
    /// of the number of dimensions), moved by a random offset of the seed.
    pub fn for_search(problem: &Problem) -> Self {
        let ranges: Vec<[f64; 2]> = problem.states.iter().map(|state| state.start).collect();
        let spread = ranges.iter().filter(|[low, high]| high > low).count();
        let ratio = generalised_golden_ratio(spread);
        let stream = Stream::new(problem.seed, Purpose::SearchStart);
        let mut used = 0;
        let columns = ranges
            .iter()
            .enumerate()
            .map(|(variable, &[low, high])| {
                if high <= low {
                    return vec![low; problem.search.start_states];
                }
                used += 1;
                let step = ratio.powi(-used);
                let offset = stream.uniform(0, 0, variable as u32);
                (0..problem.search.start_states)
                    .map(|index| low + (high - low) * (offset + step * index as f64).fract())
                    .collect()
            })
            .collect();
        Self { columns }
    }

    /// Start states for the evaluation: independent draws that the search never sees.
    pub fn for_evaluation(problem: &Problem) -> Self {
        let stream = Stream::new(problem.seed, Purpose::TestStart);
        let draw = |(variable, state): (usize, &crate::problem::StateVariable)| {
            (0..problem.evaluation.start_states)
                .map(|index| stream.within(state.start[0], state.start[1], 0, index as u32, variable as u32))
                .collect()
        };
        Self { columns: problem.states.iter().enumerate().map(draw).collect() }
    }

    /// Start states given as rows.
    pub fn from_rows(rows: &[Vec<f64>]) -> Self {
        let variables = rows.first().map_or(0, Vec::len);
        Self { columns: (0..variables).map(|variable| rows.iter().map(|row| row[variable]).collect()).collect() }
    }

    /// Number of start states.
    pub fn len(&self) -> usize {
        self.columns.first().map_or(0, Vec::len)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of state variables.
    pub fn state_count(&self) -> usize {
        self.columns.len()
    }

    /// One variable of all start states.
    pub fn column(&self, variable: usize) -> &[f64] {
        &self.columns[variable]
    }

    /// One start state.
    pub fn row(&self, index: usize) -> Vec<f64> {
        self.columns.iter().map(|column| column[index]).collect()
    }
}

/// The positive root of x^(d+1) = x + 1, by its own fixed-point iteration.
fn generalised_golden_ratio(dimensions: usize) -> f64 {
    (0..64).fold(2.0, |ratio: f64, _| (1.0 + ratio).powf(1.0 / (dimensions + 1) as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_golden_ratio_of_one_dimension_is_the_golden_ratio() {
        assert!((generalised_golden_ratio(1) - (1.0 + 5f64.sqrt()) / 2.0).abs() < 1e-12);
        assert!((generalised_golden_ratio(2) - 1.324_717_957_244_746).abs() < 1e-12);
    }
}
