//! Start states of a system: for the search, for the evaluation, for the judge. None of them is met by another.

use fpsrl_base::random::{Purpose, Stream};
use fpsrl_engine::rollout::StartStates;

use super::System;
use super::lag::Lagged;
use crate::Transitions;

/// Start states that a promise is made from, at most.
const MOST_JUDGED: usize = 500;

/// What lies so far along the sequence of start states is not met by a search from its beginning.
pub const FAR: usize = 100_000;

/// The shares of a log whose inputs are replayed: what searches see, what promises are made from, and what evaluates. A start
/// state brings what followed it in the log, so that each has stretches of its own.
const SHARES: [f64; 3] = [0.6, 0.2, 0.2];

impl System {
    /// Some of the endless sequence of start states that the search sees, each stretch of which is evenly spread.
    ///
    /// ```
    /// let system = fpsrl_data::System::benchmark("mountain-car")?;
    /// let (begin, end) = (system.search_starts(0, 10), system.search_starts(5, 5));
    /// assert_eq!(begin.row(7), end.row(2));
    /// # Ok::<(), fpsrl_base::Error>(())
    /// ```
    pub fn search_starts(&self, first: usize, count: usize) -> StartStates {
        // A log has only so many states: what lies far along the sequence begins at another eighth of them.
        let first = match &self.start_pool {
            Some(pool) if first >= FAR => {
                self.share_of(pool, Purpose::SearchStart).len() * (first / FAR) / 8 + first % FAR
            }
            _ => first,
        };
        self.spread(first + count, Purpose::SearchStart).skip(first)
    }

    /// Start states for the evaluation: as evenly spread, but others, which the search never sees.
    pub fn evaluation_starts(&self, count: usize) -> StartStates {
        self.spread(count, Purpose::TestStart)
    }

    /// Start states that promises are made from: neither those of the search nor those of the evaluation.
    pub fn judging_starts(&self, count: usize) -> StartStates {
        self.spread(count.min(MOST_JUDGED), Purpose::JudgeStart)
    }

    /// Their number is the price, so they should cover the range better than independent draws do: they follow an
    /// additive recurrence with irrational steps (Roberts' R sequence, built on the generalised golden ratio of the
    /// number of dimensions), moved by a random offset. Each by itself is uniform over the range.
    fn spread(&self, count: usize, purpose: Purpose) -> StartStates {
        if let Some(pool) = &self.start_pool {
            return match self.place() {
                None => draw(pool, self.seed, count, purpose),
                // They have been dealt out already, in a random order.
                Some(_) => {
                    let share = self.share_of(pool, purpose);
                    let rows: Vec<Vec<f64>> = share.iter().cycle().take(count).cloned().collect();
                    StartStates::from_rows(&rows)
                }
            };
        }
        let ranges: Vec<[f64; 2]> = self.states.iter().map(|state| state.start).collect();
        let spread = ranges.iter().filter(|[low, high]| high > low).count();
        let ratio = generalised_golden_ratio(spread);
        let stream = Stream::new(self.seed, purpose);
        let mut used = 0;
        let mut columns: Vec<Vec<f64>> = ranges
            .iter()
            .enumerate()
            .map(|(variable, &[low, high])| {
                if high <= low {
                    return vec![low; count];
                }
                used += 1;
                let step = ratio.powi(-used);
                let offset = stream.uniform(0, 0, variable as u32);
                (0..count).map(|index| low + (high - low) * (offset + step * index as f64).fract()).collect()
            })
            .collect();
        // A plant that starts has rested: what it remembers is what it is, and its actions have stayed the same.
        for (variable, lag) in self.states.iter().enumerate().filter_map(|(v, s)| Some((v, s.lag?))) {
            match lag.of {
                Lagged::State(of) => columns[variable] = columns[of].clone(),
                Lagged::Error(of) => {
                    let set_point = self.states[of].tracks.map_or(of, |tracking| tracking.set_point);
                    columns[variable] = columns[set_point].iter().zip(&columns[of]).map(|(w, v)| w - v).collect();
                }
                Lagged::Sum(_) | Lagged::Place => columns[variable] = vec![0.0; count],
                Lagged::Action(_) => {
                    let first = self.states.iter().position(|s| s.lag.is_some_and(|m| m.of == lag.of));
                    columns[variable] = columns[first.unwrap_or(variable)].clone();
                }
            }
        }
        StartStates::from_columns(columns)
    }
}

impl System {
    /// The start states of a pool that are for one purpose, where stretches of the log have been dealt out.
    fn share_of<'a>(&self, pool: &'a [Vec<f64>], purpose: Purpose) -> &'a [Vec<f64>] {
        if self.place().is_none() || pool.len() < SHARES.len() {
            return pool;
        }
        // None of them is empty.
        let cut =
            |share: f64, least: usize| ((pool.len() as f64 * share) as usize).clamp(least, pool.len() - 3 + least);
        let (first, second) = (cut(SHARES[0], 1), cut(SHARES[0] + SHARES[1], 2));
        match purpose {
            Purpose::SearchStart => &pool[..first],
            Purpose::TestStart => &pool[second.max(first + 1)..],
            // Promises may be made wherever no search has been.
            _ => &pool[first..],
        }
    }

    /// Of each start state, which of those belong together that follow the same stretch of the log: what they earn is not
    /// independent. None where start states are drawn one by one.
    pub fn clusters(&self, starts: &StartStates) -> Option<Vec<usize>> {
        let place = self.place()?;
        Some(starts.column(place).iter().map(|place| *place as usize / self.horizon.max(1)).collect())
    }

    /// Rows of a log to start from, dealt out by whole stretches: first those of the search, then those that promises are made
    /// from, then those of the evaluation, each in a random order. Rows that have half of a stretch or the horizon before them go
    /// first: what follows a start is what a rollout follows.
    pub fn dealt(&self, transitions: &Transitions, rows: &[usize], most: usize) -> Vec<usize> {
        let length = (2 * self.horizon).min((transitions.len() / 10).max(1));
        let mut stretches: Vec<Vec<usize>> = Vec::new();
        let mut begin = 0;
        let mut stretch_of = vec![0usize; transitions.len()];
        let mut ends: Vec<usize> = Vec::new();
        for row in 0..transitions.len() {
            let breaks = row == 0 || transitions.episode[row] != transitions.episode[row - 1] || row - begin >= length;
            if breaks {
                begin = row;
                ends.push(row);
            }
            stretch_of[row] = ends.len() - 1;
            if let Some(end) = ends.last_mut() {
                *end = row + 1;
            }
        }
        let begins: Vec<usize> = [0].into_iter().chain(ends.iter().copied()).take(ends.len()).collect();
        stretches.resize(ends.len(), Vec::new());
        for &row in rows {
            let stretch = stretch_of[row];
            let room = ends[stretch] - row;
            let wanted = self.horizon.min((ends[stretch] - begins[stretch]).div_ceil(2));
            if room >= wanted || row == begins[stretch] {
                stretches[stretch].push(row);
            }
        }
        let order = Stream::new(self.seed, Purpose::Fold).permutation(stretches.len(), 1);
        let total: usize = stretches.iter().map(Vec::len).sum();
        let mut shares: [Vec<usize>; 3] = Default::default();
        for index in order {
            // Whoever is furthest from its share gets the next stretch.
            let lack = |share: usize| SHARES[share] - shares[share].len() as f64 / total.max(1) as f64;
            let next = (0..3).max_by(|a, b| lack(*a).total_cmp(&lack(*b))).unwrap_or(0);
            shares[next].extend(&stretches[index]);
        }
        let draws = Stream::new(self.seed, Purpose::SearchStart);
        let most = most.min(total);
        let mut dealt = Vec::with_capacity(most);
        for (share, rows) in shares.iter_mut().enumerate() {
            let order = draws.permutation(rows.len(), 2 + share as u32);
            let count = ((most as f64 * SHARES[share]) as usize).max(1).min(rows.len().max(1));
            // A share that lacks rows repeats them, so that each has its part of the pool.
            dealt.extend(order.iter().cycle().take(if rows.is_empty() { 0 } else { count }).map(|&at| rows[at]));
        }
        dealt
    }
}

/// So many of given states, in a random order; those of the evaluation are taken from the other end, and those
/// of a judge from the middle, so that they share none while there are enough.
fn draw(pool: &[Vec<f64>], seed: u64, count: usize, purpose: Purpose) -> StartStates {
    let stream = Stream::new(seed, Purpose::SearchStart);
    let mut order: Vec<(f64, usize)> =
        (0..pool.len()).map(|index| (stream.uniform(index as u32, 1, 0), index)).collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0));
    match purpose {
        Purpose::SearchStart => {}
        Purpose::TestStart => order.reverse(),
        _ => order.rotate_left(pool.len() / 2),
    }
    let rows: Vec<Vec<f64>> = order
        .iter()
        .cycle()
        .take(if pool.is_empty() { 0 } else { count })
        .map(|(_, index)| pool[*index].clone())
        .collect();
    StartStates::from_rows(&rows)
}

/// The positive root of x^(d+1) = x + 1, by its own fixed-point iteration.
fn generalised_golden_ratio(dimensions: usize) -> f64 {
    (0..64).fold(2.0, |ratio: f64, _| (1.0 + ratio).powf(1.0 / (dimensions + 1) as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn start_states_cover_their_range_evenly_and_no_test_state_is_one_of_the_search() {
        let system = System::benchmark("cart-pole-swing-up").unwrap();
        let (search, test) = (system.search_starts(0, 150), system.evaluation_starts(1_000));
        assert_eq!((search.len(), test.len()), (150, 1_000));
        for index in 0..search.len() {
            assert!((0..test.len()).all(|other| search.row(index) != test.row(other)));
        }
        // A hundred cells in the plane of angle and position, ten states expected in each.
        let mut cells = [0; 100];
        for row in (0..test.len()).map(|index| test.row(index)) {
            let cell = |value: f64, [low, high]: [f64; 2]| ((value - low) / (high - low) * 10.0) as usize;
            cells[10 * cell(row[0], system.states[0].start) + cell(row[2], system.states[2].start)] += 1;
            assert_eq!((row[1], row[3]), (0.0, 0.0));
        }
        assert!(cells.iter().all(|count| (7..=13).contains(count)), "{cells:?}");
    }

    #[test]
    fn far_along_the_sequence_are_other_states_of_a_log_too() {
        let pool = (0..5_000).map(|row| vec![f64::from(row), 0.0]).collect();
        let system = System::benchmark("mountain-car").unwrap().with_start_pool(pool).unwrap();
        let near = system.search_starts(0, 600);
        for far in [FAR, 2 * FAR] {
            let there = system.search_starts(far, 400);
            assert_eq!(there.len(), 400);
            assert!((0..400).all(|index| (0..600).all(|other| there.row(index) != near.row(other))), "{far}");
        }
    }

    #[test]
    fn the_golden_ratio_of_one_dimension_is_the_golden_ratio() {
        assert!((generalised_golden_ratio(1) - (1.0 + 5f64.sqrt()) / 2.0).abs() < 1e-12);
        assert!((generalised_golden_ratio(2) - 1.324_717_957_244_746).abs() < 1e-12);
    }
}
