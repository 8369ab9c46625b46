//! Absorbing states in a log: where the plant stays put whatever is done, its goal reached or its limits broken.
//!
//! A log says so by its column `terminated`, after which nothing more is earned, or by its rows: at the end of an episode
//! the state repeats itself exactly while the actions differ. A plant that merely rests for a moment, or under one
//! particular action, is not absorbed.

use super::Transitions;

/// Of each row: the reward that every later step brings, if the row's next state is absorbing.
///
/// Rows of an episode stand one after another, as in every log that this library reads or writes.
///
/// ```
/// use fpsrl_data::{Transitions, absorbing};
/// let log = Transitions {
///     episode: vec![0; 4],
///     step: vec![0, 1, 2, 3],
///     states: vec![vec![0.0, 0.5, 1.0, 1.0]],
///     actions: vec![vec![0.1, 0.2, 0.3, 0.4]],
///     next_states: vec![vec![0.5, 1.0, 1.0, 1.0]],
///     rewards: vec![-1.0, -1.0, 0.0, 0.0],
///     terminated: None,
///     drawn_from: None,
///     carried: 0,
///     inputs: 0,
/// };
/// assert_eq!(absorbing::rewards_from_then_on(&log), [None, Some(0.0), Some(0.0), Some(0.0)]);
/// ```
pub fn rewards_from_then_on(transitions: &Transitions) -> Vec<Option<f64>> {
    let rows = transitions.len();
    // Whether a row goes on where the one before it ended.
    let follows = |row: usize| {
        transitions.episode[row] == transitions.episode[row - 1]
            && transitions.states.iter().zip(&transitions.next_states).all(|(s, n)| s[row] == n[row - 1])
    };
    // The rows at the end of each episode that stay, from the first of them.
    let mut runs: Vec<(usize, usize)> = Vec::new();
    let mut end = rows;
    while end > 0 {
        let mut first = end;
        while first > 0 && transitions.stays(first - 1) && (first == end || follows(first)) {
            first -= 1;
        }
        if first < end {
            runs.push((first, end));
        }
        // On to the end of the episode before.
        let episode = transitions.episode[end - 1];
        end = first.min(end - 1);
        while end > 0 && transitions.episode[end - 1] == episode {
            end -= 1;
        }
    }
    let acted_upon = |&(first, end): &(usize, usize)| {
        (first + 1..end).any(|row| transitions.actions.iter().any(|action| action[row] != action[first]))
    };
    let mut rewards: Vec<Option<f64>> = match &transitions.terminated {
        Some(terminated) => terminated.iter().map(|ended| ended.then_some(0.0)).collect(),
        None => vec![None; rows],
    };
    // A single row that stays proves nothing by itself; where others were absorbed beyond doubt, it was too.
    if !runs.iter().any(acted_upon) {
        return rewards;
    }
    for run in runs.into_iter().filter(|run| run.1 - run.0 == 1 || acted_upon(run)) {
        let (first, end) = run;
        rewards[first..end].iter_mut().zip(&transitions.rewards[first..end]).for_each(|(to, &from)| *to = Some(from));
        if first > 0 && follows(first) {
            rewards[first - 1] = Some(transitions.rewards[first]);
        }
    }
    rewards
}

/// The rows in which something can still be done: all but those that begin in an absorbing state and stay there. `later`
/// comes from [`rewards_from_then_on`].
pub fn rows_that_matter(transitions: &Transitions, later: &[Option<f64>]) -> Vec<usize> {
    (0..transitions.len()).filter(|&row| later[row].is_none() || !transitions.stays(row)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DataSettings, System, generate};
    use fpsrl_base::progress::Progress;

    fn log(name: &str, samples: usize) -> Transitions {
        let system = System::benchmark(name).unwrap();
        let settings = DataSettings { samples, ..DataSettings::for_plant(system.plant()) };
        generate(&system, &settings, &Progress::silent()).unwrap()
    }

    #[test]
    fn fallen_poles_are_absorbed_and_cost_one_for_ever() {
        let log = log("cart-pole-balancing", 1_000);
        let rewards = rewards_from_then_on(&log);
        for row in 0..log.len() {
            let failed = log.next_states[0][row].abs() > 0.7 || log.next_states[2][row].abs() > 2.4;
            assert_eq!(rewards[row], failed.then_some(-1.0), "row {row}");
        }
    }

    #[test]
    fn cars_on_the_hill_are_absorbed_at_no_cost() {
        let log = log("mountain-car", 20_000);
        let rewards = rewards_from_then_on(&log);
        let absorbed = rewards.iter().flatten().count();
        assert!(absorbed > 100);
        for row in 0..log.len() {
            assert_eq!(rewards[row], (log.next_states[0][row] >= 0.6).then_some(0.0), "row {row}");
        }
    }

    #[test]
    fn a_plant_that_never_stops_has_no_absorbing_state() {
        assert!(rewards_from_then_on(&log("cart-pole-swing-up", 2_000)).iter().all(Option::is_none));
    }

    #[test]
    fn a_column_that_says_so_is_believed() {
        let mut log = log("cart-pole-swing-up", 100);
        log.terminated = Some((0..100).map(|row| row == 40).collect());
        let rewards = rewards_from_then_on(&log);
        assert!((0..100).all(|row| rewards[row] == (row == 40).then_some(0.0)));
    }

    #[test]
    fn resting_under_one_action_is_not_absorption() {
        let log = Transitions {
            episode: vec![0; 4],
            step: vec![0, 1, 2, 3],
            states: vec![vec![1.0, 1.0, 1.0, 1.0]],
            actions: vec![vec![0.0; 4]],
            next_states: vec![vec![1.0; 4]],
            rewards: vec![0.0; 4],
            terminated: None,
            drawn_from: None,
            carried: 0,
            inputs: 0,
        };
        assert!(rewards_from_then_on(&log).iter().all(Option::is_none));
        assert!(rewards_from_then_on(&Transitions::new(1, 1)).is_empty());
    }
}
