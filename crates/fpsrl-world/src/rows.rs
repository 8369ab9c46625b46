//! Rows of a log as those take them that test worlds on it.

use crate::WorldSettings;
use fpsrl_data::split::Split;
use fpsrl_data::{System, Transitions, absorbing};

/// Rows that are predicted for a test, at most.
pub(super) const MOST_ROWS: usize = 2_000;

/// A row of some columns.
pub(super) fn row_of(columns: &[Vec<f64>], row: usize) -> Vec<f64> {
    columns.iter().map(|column| column[row]).collect()
}

/// Of each row, whether the plant moves in it.
pub(super) fn moving(settings: &WorldSettings, log: &Transitions) -> Vec<bool> {
    let absorbed = absorbing::rewards_from_then_on(log);
    absorbed.iter().map(|later| later.is_none() || !settings.absorbing).collect()
}

/// Rows that no training of the first member saw, of those in which the plant moves.
pub(super) fn unseen(system: &System, settings: &WorldSettings, log: &Transitions) -> Vec<usize> {
    let moves = moving(settings, log);
    let moving: Vec<usize> = (0..log.len()).filter(|&row| moves[row]).collect();
    let rows = Split::new(moving.len(), system.seed()).map_or_else(|_| Vec::new(), |split| split.generalisation);
    rows.into_iter().map(|index| moving[index]).take(MOST_ROWS).collect()
}
