//! The past of each transition: lagged values of states and actions.
//!
//! [`remember`] widens transitions by the columns that a system's lags name. How long a history a log asks for is for
//! those to tell who can learn from it.

use serde::{Deserialize, Serialize};

use super::Transitions;
use crate::System;
use crate::system::Lagged;

/// Which history a log got, and why.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HistoryReport {
    /// Past steps that each transition carries.
    pub steps: usize,
    /// Transitions left out because they stand too near to the beginning of their episode.
    pub lost: usize,
    /// Of each history that was tried: its steps, and the share of the changes' variance that it leaves unexplained in
    /// held-out rows. Empty if the history was given.
    pub tried: Vec<(usize, f64)>,
}

/// Transitions of the variables that the user named, with actions as they were recorded, and where they hang together.
#[derive(Clone, Debug, Default)]
pub struct Recorded {
    /// The transitions.
    pub transitions: Transitions,
    /// Of each row, whether it goes on where the row before it ended.
    pub follows: Vec<bool>,
}

impl Recorded {
    /// Of each row, how many rows before it hang together with it.
    pub fn past(&self) -> Vec<usize> {
        let mut past = 0;
        let longer = |follows: &bool| {
            past = if *follows { past + 1 } else { 0 };
            past
        };
        self.follows.iter().map(longer).collect()
    }
}

/// Widens transitions by what a system remembers; rows without enough of a past are left out, and counted.
pub fn remember(system: &System, recorded: Recorded) -> (Transitions, usize) {
    let longest = system.longest_lag();
    if system.current_states() == system.states().len() {
        return (recorded.transitions, 0);
    }
    let past = recorded.past();
    let all = &recorded.transitions;
    let rows: Vec<usize> = (0..all.len()).filter(|&row| past[row] >= longest).collect();
    let mut kept = all.rows(&rows);
    for lag in system.states().iter().filter_map(|state| state.lag) {
        let column = match lag.of {
            Lagged::State(state) => &all.states[state],
            Lagged::Action(action) => &all.actions[action],
            Lagged::Error(_) | Lagged::Sum(_) | Lagged::Place => {
                // What follows from other variables is put in when all rows are known.
                kept.states.push(vec![0.0; rows.len()]);
                kept.next_states.push(vec![0.0; rows.len()]);
                kept.carried += 1;
                continue;
            }
        };
        let back = |steps: usize| rows.iter().map(|row| column[row - steps]).collect::<Vec<f64>>();
        kept.states.push(back(lag.steps));
        kept.next_states.push(back(lag.steps - 1));
        kept.carried += 1;
    }
    for (index, _) in system.actions().iter().enumerate().filter(|(_, action)| action.set_point.is_some()) {
        let column = &all.actions[index];
        kept.actions[index] = rows.iter().map(|&row| column[row] - column[row - 1]).collect();
    }
    // Steps are counted anew from the first one that is kept.
    let mut first = 0;
    for row in 0..kept.len() {
        if row == 0 || kept.episode[row] != kept.episode[row - 1] {
            first = kept.step[row];
        }
        kept.step[row] -= first;
    }
    let lost = all.len() - rows.len();
    (kept, lost)
}

/// Puts in what follows from other variables: errors, their running sums from a beginning at 0, and the rows' places.
pub fn derive(system: &System, transitions: &mut Transitions) {
    let rows = transitions.len();
    for (variable, state) in system.states().iter().enumerate() {
        let Some(lag) = state.lag else { continue };
        let error = |columns: &[Vec<f64>], of: usize| -> Vec<f64> {
            let set_point = system.states()[of].tracks.map_or(of, |tracking| tracking.set_point);
            columns[set_point].iter().zip(&columns[of]).map(|(wanted, value)| wanted - value).collect()
        };
        let (before, after) = match lag.of {
            Lagged::State(_) | Lagged::Action(_) => continue,
            Lagged::Error(of) => (error(&transitions.states, of), error(&transitions.next_states, of)),
            // A controller that takes over begins with nothing.
            Lagged::Sum(of) => (vec![0.0; rows], error(&transitions.next_states, of)),
            Lagged::Place => {
                let next = |row: usize| transitions.successor(row).unwrap_or(row) as f64;
                ((0..rows).map(|row| row as f64).collect(), (0..rows).map(next).collect())
            }
        };
        transitions.states[variable] = before;
        transitions.next_states[variable] = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::{History, Surroundings, WrittenAction, WrittenState, WrittenSystem};

    fn system(change: bool) -> System {
        let action = WrittenAction {
            name: "u".into(),
            limits: Some([0.0, 10.0]),
            change: Some(change),
            change_limits: change.then_some([-1.0, 1.0]),
            ..WrittenAction::default()
        };
        let written = WrittenSystem {
            name: Some("p".into()),
            horizon: Some(10),
            states: vec![WrittenState { name: "x".into(), ..WrittenState::default() }],
            actions: vec![action],
            ..WrittenSystem::default()
        };
        let around = Surroundings { history: Some(History::Steps(0)), ..Surroundings::default() };
        written.check(&around).unwrap()
    }

    /// Two episodes of five and three rows; in the first, something is missing between rows 2 and 3.
    fn recorded() -> Recorded {
        let states: Vec<f64> = vec![0.0, 1.0, 2.0, 4.0, 5.0, 10.0, 11.0, 12.0];
        let transitions = Transitions {
            episode: vec![0, 0, 0, 0, 0, 1, 1, 1],
            step: vec![0, 1, 2, 3, 4, 0, 1, 2],
            next_states: vec![states.iter().map(|value| value + 1.0).collect()],
            actions: vec![vec![3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0]],
            rewards: vec![0.0; 8],
            states: vec![states],
            ..Transitions::default()
        };
        Recorded { transitions, follows: vec![false, true, true, false, true, false, true, true] }
    }

    #[test]
    fn rows_get_their_past_and_those_without_one_are_left_out_and_counted() {
        let system = system(false).with_history(1).unwrap();
        let (log, lost) = remember(&system, recorded());
        assert_eq!((log.len(), lost, log.carried), (5, 3, 2));
        assert_eq!(
            log.states,
            [vec![1.0, 2.0, 5.0, 11.0, 12.0], vec![0.0, 1.0, 4.0, 10.0, 11.0], vec![3.0, 1.0, 1.0, 9.0, 2.0]]
        );
        assert_eq!(log.next_states[1], log.states[0]);
        assert_eq!(log.next_states[2], log.actions[0]);
        assert_eq!(log.step, [0, 1, 3, 0, 1]);
        let (log, lost) = remember(&system.with_history(2).unwrap(), recorded());
        assert_eq!((log.len(), lost), (2, 6));
        assert_eq!(log.states[2], [0.0, 10.0]);
        assert_eq!(log.states[4], [3.0, 9.0]);
        assert_eq!(log.next_states[4], log.states[3]);
    }

    #[test]
    fn the_action_of_a_change_is_the_difference() {
        let system = system(true);
        let (log, lost) = remember(&system, recorded());
        assert_eq!(lost, 3);
        assert_eq!(log.actions, [vec![-2.0, 3.0, 4.0, -7.0, 4.0]]);
        assert_eq!(log.states[1], [3.0, 1.0, 1.0, 9.0, 2.0]);
        for row in 0..log.len() {
            assert_eq!(log.states[1][row] + log.actions[0][row], log.next_states[1][row]);
        }
    }
}
