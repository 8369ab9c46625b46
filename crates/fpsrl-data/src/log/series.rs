//! A time series: its rows in the order of time, where it breaks off, and how it looks on a regular grid.

use super::import::{ImportReport, Roles, between, episode_ranks};
use crate::{LogSettings, System};
use fpsrl_base::error::Result;

/// Steps from which the interval is told, at most.
const INTERVAL_ROWS: usize = 200_000;

/// The order of the rows.
pub(super) struct Series {
    /// Rows in the order of their episodes and of time, those with a repeated time left out.
    pub(super) order: Vec<u32>,
    /// Of each row in this order: whether it does not follow the one before.
    pub(super) breaks: Vec<bool>,
    interval: f64,
}

impl Series {
    /// Orders the rows, and finds where they break off.
    pub(super) fn order(roles: &Roles<'_>, log: &LogSettings, report: &mut ImportReport) -> Result<Self> {
        if u32::try_from(roles.rows).is_err() {
            return Err(fpsrl_base::error::Error::setting(
                "data.file",
                format!("a file of {} rows", roles.rows),
                "a file has at most 4,294,967,295 rows",
                "split it",
            ));
        }
        let ranks = roles.episode.map(episode_ranks).or_else(|| restarts(roles.time?, report));
        let rank = |row: u32| ranks.as_ref().map_or(0, |ranks| ranks[row as usize]);
        let mut order: Vec<u32> = (0..roles.rows as u32).collect();
        let time = |row: u32| roles.time.map_or(0.0, |time| time[row as usize]);
        // A row without a time has no place; it counts as missing.
        if roles.time.is_some() {
            order.retain(|&row| !time(row).is_nan());
            report.missing += roles.rows - order.len();
        }
        let earlier = |a: u32, b: u32| (rank(b), time(b)) < (rank(a), time(a));
        let moved = order.windows(2).filter(|pair| earlier(pair[0], pair[1])).count();
        if moved > 0 {
            report.out_of_order += moved;
            order.sort_by(|&a, &b| {
                (rank(a), time(a)).partial_cmp(&(rank(b), time(b))).unwrap_or(std::cmp::Ordering::Equal)
            });
        }
        if roles.time.is_some() {
            let before = order.len();
            order.dedup_by(|later, earlier| rank(*later) == rank(*earlier) && time(*later) == time(*earlier));
            report.duplicates += before - order.len();
        }
        let step = |pair: &[u32]| time(pair[1]) - time(pair[0]);
        let same = |pair: &[u32]| rank(pair[0]) == rank(pair[1]);
        let interval = log.interval.unwrap_or_else(|| {
            let stride = order.len().div_ceil(INTERVAL_ROWS).max(1);
            let pairs = order.windows(2).step_by(stride);
            let mut steps: Vec<f64> = pairs.filter(|pair| same(pair)).map(step).collect();
            if steps.is_empty() {
                return 0.0;
            }
            let middle = steps.len() / 2;
            *steps.select_nth_unstable_by(middle, f64::total_cmp).1
        });
        if roles.time.is_some() && interval > 0.0 {
            report.interval.get_or_insert(interval);
        }
        let mut breaks = vec![true; order.len()];
        for (index, pair) in order.windows(2).enumerate() {
            let taken = step(pair);
            let too_long = roles.time.is_some() && taken > log.gap * interval;
            // What is resampled may be as dense as it likes.
            let too_short = roles.time.is_some() && !log.resample && taken < interval / log.gap;
            if same(pair) {
                report.gaps += usize::from(too_long);
                report.early += usize::from(too_short);
            }
            breaks[index + 1] = !same(pair) || too_long || too_short;
        }
        Ok(Self { order, breaks, interval })
    }

    /// Puts each stretch onto a grid: states in between are interpolated, all else keeps its last value.
    pub(super) fn resample(&self, roles: &Roles<'_>, system: &System, report: &mut ImportReport) -> Grid {
        let mut grid = Grid::new(roles);
        let Some(time) = roles.time else { return grid };
        let starts: Vec<usize> = (0..self.order.len()).filter(|&index| self.breaks[index]).collect();
        let ends = starts.iter().skip(1).copied().chain([self.order.len()]);
        for (begin, end) in starts.iter().copied().zip(ends) {
            let rows: Vec<usize> = self.order[begin..end]
                .iter()
                .map(|row| *row as usize)
                // A row with a missing state cannot be interpolated from.
                .filter(|&row| roles.states.iter().all(|state| state[row].is_finite()))
                .collect();
            report.missing += end - begin - rows.len();
            let (Some(&first), Some(&last)) = (rows.first(), rows.last()) else { continue };
            let count = ((time[last] - time[first]) / self.interval + 1e-9).floor() as usize + 1;
            let mut at = 0;
            for step in 0..count {
                let moment = time[first] + step as f64 * self.interval;
                while at + 1 < rows.len() && time[rows[at + 1]] <= moment + 1e-9 * self.interval {
                    at += 1;
                }
                let (before, after) = (rows[at], rows[(at + 1).min(rows.len() - 1)]);
                let span = time[after] - time[before];
                let share = if span > 0.0 { ((moment - time[before]) / span).clamp(0.0, 1.0) } else { 0.0 };
                for (index, state) in roles.states.iter().enumerate() {
                    let variable = &system.states()[index];
                    // Between two rows, a set-point or a mode stays what it was.
                    let share = if variable.input.is_some() { 0.0 } else { share };
                    grid.states[index].push(between(state[before], state[after], share, variable.angle));
                }
                let is_last = step + 1 == count;
                let held = if is_last { last } else { before };
                for (to, from) in grid.actions.iter_mut().zip(&roles.actions) {
                    to.push(from[held]);
                }
                for (to, from) in [
                    (&mut grid.reward, roles.reward),
                    (&mut grid.terminal, roles.terminal),
                    (&mut grid.truncated, roles.truncated),
                    (&mut grid.episode, roles.episode),
                ] {
                    to.extend(from.map(|from| from[held]));
                }
                grid.breaks.push(step == 0);
                grid.order.push(grid.order.len() as u32);
            }
        }
        grid
    }
}

/// Where time begins again: without a column of episodes, each time it falls back to its very first value begins one.
fn restarts(time: &[f64], report: &mut ImportReport) -> Option<Vec<u32>> {
    let first = time.iter().copied().find(|value| !value.is_nan())?;
    let mut rank = 0;
    let mut last = f64::NEG_INFINITY;
    let ranks: Vec<u32> = time
        .iter()
        .map(|&value| {
            if value == first && last > first {
                rank += 1;
            }
            last = if value.is_nan() { last } else { value };
            rank
        })
        .collect();
    if rank == 0 {
        return None;
    }
    report.notes.push(format!("time begins again {rank} times; each is taken for the beginning of an episode"));
    Some(ranks)
}

/// A series on a regular grid.
pub(super) struct Grid {
    pub(super) order: Vec<u32>,
    pub(super) breaks: Vec<bool>,
    states: Vec<Vec<f64>>,
    actions: Vec<Vec<f64>>,
    reward: Vec<f64>,
    terminal: Vec<f64>,
    truncated: Vec<f64>,
    episode: Vec<f64>,
}

impl Grid {
    fn new(roles: &Roles<'_>) -> Self {
        Self {
            order: Vec::new(),
            breaks: Vec::new(),
            states: vec![Vec::new(); roles.states.len()],
            actions: vec![Vec::new(); roles.actions.len()],
            reward: Vec::new(),
            terminal: Vec::new(),
            truncated: Vec::new(),
            episode: Vec::new(),
        }
    }

    /// The grid as columns with their meaning.
    pub(super) fn roles(&self) -> Roles<'_> {
        let some = |column: &'_ Vec<f64>| (!column.is_empty()).then_some(());
        Roles {
            rows: self.order.len(),
            time: None,
            episode: some(&self.episode).map(|()| self.episode.as_slice()),
            reward: some(&self.reward).map(|()| self.reward.as_slice()),
            terminal: some(&self.terminal).map(|()| self.terminal.as_slice()),
            truncated: some(&self.truncated).map(|()| self.truncated.as_slice()),
            states: self.states.iter().map(Vec::as_slice).collect(),
            actions: self.actions.iter().map(Vec::as_slice).collect(),
            next_states: Vec::new(),
        }
    }
}
