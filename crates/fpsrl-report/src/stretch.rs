//! Stretches of the log beside what the rules do instead, from the same rows and under the same inputs.

use fpsrl_data::{System, Transitions};
use fpsrl_engine::rollout::StartStates;
use fpsrl_explain::{Roller, Trajectory};

/// Start states that are looked through for stretches.
const LOOKED_AT: usize = 300;

/// What is shown: of the starts in the order of their returns, those at these shares.
const SHOWN: [(&str, f64); 3] = [("A poor start", 0.1), ("A typical start", 0.5), ("A good start", 0.9)];

/// A stretch of the log, and what the rules do instead.
pub(super) struct Stretch {
    /// What it is an example of.
    pub(super) name: &'static str,
    /// What the log did.
    pub(super) logged: Trajectory,
    /// What the rules do on the first member.
    pub(super) rules: Trajectory,
}

/// Three stretches: a poor, a typical and a good one by the rules' returns; none where starts are no rows of the log.
///
/// Where a state follows a set-point, stretches in which that moves come first: at rest there is little to see.
pub(super) fn stretches(
    system: &System,
    transitions: &Transitions,
    roller: &Roller<'_>,
    starts: &StartStates,
    returns: &[f64],
) -> Vec<Stretch> {
    let Some(place) = system.place() else { return Vec::new() };
    let rows = starts.column(place);
    let logged: Vec<(usize, Trajectory)> = (0..starts.len().min(LOOKED_AT))
        .filter_map(|start| Some((start, follow(system, transitions, rows[start] as usize)?)))
        .collect();
    let set_points: Vec<usize> =
        system.states().iter().filter_map(|state| state.tracks.map(|tracking| tracking.set_point)).collect();
    let moves = |one: &Trajectory| {
        set_points.iter().any(|&variable| one.states.windows(2).any(|pair| pair[0][variable] != pair[1][variable]))
    };
    let moving = logged.iter().filter(|(_, one)| moves(one)).count();
    let mut chosen: Vec<(usize, Trajectory)> =
        logged.into_iter().filter(|(_, one)| moving < SHOWN.len() || moves(one)).collect();
    if chosen.len() < SHOWN.len() {
        return Vec::new();
    }
    chosen.sort_by(|(a, _), (b, _)| returns[*a].total_cmp(&returns[*b]));
    let last = chosen.len() - 1;
    SHOWN
        .iter()
        .filter_map(|(name, share)| {
            let (start, logged) = &chosen[(last as f64 * share).round() as usize];
            let rules = roller.trajectories(&[starts.row(*start)]).pop()?;
            Some(Stretch { name, logged: logged.clone(), rules })
        })
        .collect()
}

/// What the log did from a row on, if it goes on for the whole horizon without a gap.
fn follow(system: &System, transitions: &Transitions, start: usize) -> Option<Trajectory> {
    let at = |columns: &[Vec<f64>], row: usize| columns.iter().map(|column| column[row]).collect::<Vec<f64>>();
    if start >= transitions.len() {
        return None;
    }
    let mut one = Trajectory { states: vec![at(&transitions.states, start)], ..Trajectory::default() };
    let (mut row, mut weight) = (start, 1.0);
    for step in 0..system.horizon() {
        one.actions.push(at(&transitions.actions, row));
        one.states.push(at(&transitions.next_states, row));
        one.rewards.push(transitions.rewards[row]);
        one.value += weight * transitions.rewards[row];
        weight *= system.discount();
        // Where rows are missing, the next one does not go on where this one ends.
        let goes_on = |next: &usize| {
            let own = transitions.states.iter().zip(&transitions.next_states).take(system.own_states());
            own.into_iter().all(|(states, next_states)| states[*next] == next_states[row])
        };
        match transitions.successor(row).filter(goes_on) {
            Some(next) => row = next,
            None if step + 1 == system.horizon() => {}
            None => return None,
        }
    }
    Some(one)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::generated;

    #[test]
    fn the_log_is_followed_to_the_end_of_the_horizon_or_not_at_all() {
        let system = System::benchmark("mountain-car").unwrap().with_horizon(30).unwrap();
        let log = generated(&system, 60);
        let one = follow(&system, &log, 0).unwrap();
        assert_eq!((one.states.len(), one.actions.len()), (31, 30));
        assert_eq!(one.states[1], [log.next_states[0][0], log.next_states[1][0]]);
        let ends = (0..log.len()).find(|&row| log.successor(row).is_none()).unwrap();
        assert!(follow(&system, &log, ends - 3).is_none());
        assert!(follow(&system, &log, log.len()).is_none());
        let mut gap = log.clone();
        gap.states[0][7] += 0.1;
        assert!(follow(&system, &gap, 0).is_none());
    }
}
