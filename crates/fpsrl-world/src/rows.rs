//! Rows of a log as those take them that test worlds on it.

use crate::WorldSettings;
use fpsrl_data::{Transitions, absorbing};

/// A row of some columns.
pub(super) fn row_of(columns: &[Vec<f64>], row: usize) -> Vec<f64> {
    columns.iter().map(|column| column[row]).collect()
}

/// Of each row, whether the plant moves in it.
pub(super) fn moving(settings: &WorldSettings, log: &Transitions) -> Vec<bool> {
    let absorbed = absorbing::rewards_from_then_on(log);
    absorbed.iter().map(|later| later.is_none() || !settings.absorbing).collect()
}
