//! Whose rows are whose: members of an ensemble learn from most episodes of a log, a judge from the others.

use crate::WorldSettings;
use fpsrl_data::split::{FEWEST_ROWS, groups};
use fpsrl_data::{System, Transitions, absorbing};

/// Rows that move which a log must have before some of them are kept for a judge, and episodes: of a few long ones, each
/// may be the only one that shows the goal. A log with many rows may have fewer episodes.
const FEWEST_FOR_A_JUDGE: usize = 5 * FEWEST_ROWS;
const FEWEST_EPISODES: usize = 20;
const MANY_ROWS: usize = 5_000;

/// Which rows of a log are for whom.
pub struct Shares {
    /// Rows of the members.
    pub members: Transitions,
    /// Rows of the judge; empty if the log is too short for one.
    pub judge: Transitions,
    /// Of each row of the members: the number of the member that never sees it.
    pub left_out_by: Vec<usize>,
}

impl Shares {
    /// Shares a log out, whole episodes at a time.
    pub fn new(system: &System, settings: &WorldSettings, transitions: &Transitions) -> Self {
        let absorbed = absorbing::rewards_from_then_on(transitions);
        let moving = |rows: &[usize]| rows.iter().filter(|&&row| absorbed[row].is_none()).count();
        let all: Vec<usize> = (0..transitions.len()).collect();
        let mut judge = Vec::new();
        let mut episodes = transitions.episode.clone();
        episodes.sort_unstable();
        episodes.dedup();
        let moving_rows = moving(&all);
        let enough = moving_rows >= FEWEST_FOR_A_JUDGE && episodes.len() >= FEWEST_EPISODES || moving_rows >= MANY_ROWS;
        if settings.judge > 0.0 && enough {
            let parts = (1.0 / settings.judge).round() as usize;
            let part = groups(transitions, parts, system.seed());
            judge = all.iter().copied().filter(|&row| part[row] == 0).collect();
            if moving(&judge) < FEWEST_ROWS {
                judge.clear();
            }
        }
        let mut is_judges = vec![false; transitions.len()];
        judge.iter().for_each(|&row| is_judges[row] = true);
        let members: Vec<usize> = all.into_iter().filter(|&row| !is_judges[row]).collect();
        let members = if judge.is_empty() { transitions.clone() } else { transitions.rows(&members) };
        let left_out_by = groups(&members, settings.members.max(2), system.seed());
        Self { judge: transitions.rows(&judge), members, left_out_by }
    }
}
