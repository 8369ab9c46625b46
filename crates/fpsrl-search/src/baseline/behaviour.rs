//! What the plant does today: the return of the logged behaviour, and a fuzzy policy that imitates it.
//!
//! A promise means little by itself. Beside it belongs what the log itself earned, and what rules of the same size earn on
//! the same world model if they do no more than imitate whoever controlled the plant so far.

use rayon::prelude::*;

use crate::optimiser::{Optimiser, RingSettings, RingSwarm};
use crate::{PolicySettings, RuleSpace, SearchSettings};
use fpsrl_data::System;
use fpsrl_data::{Transitions, absorbing};
use fpsrl_engine::policy::{FuzzyKernel, FuzzyPolicy, Policy};
use fpsrl_engine::rollout::Lanes;
use fpsrl_engine::simd::Numerics;

/// Beginnings of which the logged return is the mean, at most.
const WINDOWS: usize = 2_000;

/// Rows that the clone is fitted to, at most, and the swarm that fits it.
const CLONE_ROWS: usize = 2_000;
const CLONE_PARTICLES: usize = 40;
const CLONE_ITERATIONS: usize = 200;

/// The return of the logged behaviour.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoggedReturn {
    /// The mean discounted return over the horizon.
    pub value: f64,
    /// Beginnings in the log from which it was followed for the whole horizon, or to an absorbing state. If there is
    /// none, the value is that of the mean reward in every step.
    pub windows: usize,
}

/// The mean return of what the log did, from beginnings spread over it.
///
/// ```
/// use fpsrl_data::Transitions;
/// use fpsrl_data::system::{Surroundings, WrittenSystem};
/// use fpsrl_search::baseline::behaviour;
/// let car = WrittenSystem::benchmark("mountain-car")?;
/// let car = WrittenSystem { horizon: Some(3), discount_q: Some(1.0), ..car };
/// let system = car.check(&Surroundings::default())?;
/// let log = Transitions {
///     episode: vec![0; 5],
///     step: (0..5).collect(),
///     states: vec![vec![0.0, 1.0, 2.0, 3.0, 4.0]; 2],
///     actions: vec![vec![0.0; 5]],
///     next_states: vec![vec![1.0, 2.0, 3.0, 4.0, 5.0]; 2],
///     rewards: vec![1.0, 2.0, 3.0, 4.0, 5.0],
///     terminated: None,
///     drawn_from: None,
///     carried: 0,
///     inputs: 0,
/// };
/// // 1 + 2 + 3, 2 + 3 + 4, 3 + 4 + 5
/// assert_eq!(behaviour::logged_return(&system, &log).value, 9.0);
/// # Ok::<(), fpsrl_base::Error>(())
/// ```
pub fn logged_return(system: &System, transitions: &Transitions) -> LoggedReturn {
    let rows = transitions.len();
    let later = absorbing::rewards_from_then_on(transitions);
    let follows = |row: usize| {
        row < rows
            && transitions.episode[row] == transitions.episode[row - 1]
            && transitions.states.iter().zip(&transitions.next_states).all(|(s, n)| s[row] == n[row - 1])
    };
    let discounts: Vec<f64> = (0..system.horizon()).map(|step| system.discount().powi(step as i32)).collect();
    let from = |begin: usize| -> Option<f64> {
        let mut sum = 0.0;
        for (step, discount) in discounts.iter().enumerate() {
            let row = begin + step;
            sum += discount * transitions.rewards[row];
            if let Some(reward) = later[row] {
                return Some(sum + reward * discounts[step + 1..].iter().sum::<f64>());
            }
            if step + 1 < discounts.len() && !follows(row + 1) {
                return None;
            }
        }
        Some(sum)
    };
    // Nothing begins in an absorbing state.
    let begins = absorbing::rows_that_matter(transitions, &later);
    let stride = begins.len().div_ceil(WINDOWS).max(1);
    let returns: Vec<f64> = begins.iter().step_by(stride).filter_map(|&row| from(row)).collect();
    match returns.len() {
        0 => {
            let mean = transitions.rewards.iter().sum::<f64>() / rows.max(1) as f64;
            LoggedReturn { value: mean * discounts.iter().sum::<f64>(), windows: 0 }
        }
        count => LoggedReturn { value: returns.iter().sum::<f64>() / count as f64, windows: count },
    }
}

/// A fuzzy policy of the problem's size that imitates the log, and the share of the actions' variance that it misses.
pub fn clone_of_the_log(
    system: &System,
    policy: &PolicySettings,
    search: &SearchSettings,
    transitions: &Transitions,
    numerics: Numerics,
) -> (FuzzyPolicy, f64) {
    let later = absorbing::rewards_from_then_on(transitions);
    let acted = absorbing::rows_that_matter(transitions, &later);
    let stride = acted.len().div_ceil(CLONE_ROWS).max(1);
    let rows: Vec<usize> = acted.into_iter().step_by(stride).collect();
    let space = RuleSpace::new(system, policy, transitions).seen(system);
    let settings = RingSettings {
        particles: CLONE_PARTICLES,
        ring: 2,
        inertia: search.inertia,
        cognitive: search.cognitive,
        social: search.social,
        velocity_limit: search.velocity_limit,
    };
    let mut lanes = Lanes::new(transitions.states.len(), transitions.actions.len(), rows.len());
    lanes.set_live(rows.len());
    for (variable, values) in transitions.states.iter().enumerate() {
        for (lane, &row) in rows.iter().enumerate() {
            lanes.state_mut(variable)[lane] = values[row] as f32;
        }
    }
    let spread: Vec<f64> = transitions
        .actions
        .iter()
        .map(|values| {
            let mean = rows.iter().map(|&row| values[row]).sum::<f64>() / rows.len().max(1) as f64;
            let variance = rows.iter().map(|&row| (values[row] - mean).powi(2)).sum::<f64>();
            if variance > 0.0 { variance } else { 1.0 }
        })
        .collect();
    let missed = |kernel: &FuzzyKernel, lanes: &mut Lanes| {
        kernel.act(lanes, numerics);
        let of = |action: usize| {
            let values = &transitions.actions[action];
            let pairs = rows.iter().zip(lanes.action(action));
            pairs.map(|(&row, &act)| (values[row] - f64::from(act)).powi(2)).sum::<f64>() / spread[action]
        };
        (0..spread.len()).map(of).sum::<f64>() / spread.len() as f64
    };
    let mut swarm = RingSwarm::new(settings, space.low(), space.high(), system.seed());
    for _ in 0..CLONE_ITERATIONS {
        let fitness: Vec<f64> = swarm
            .ask()
            .par_iter()
            .map_init(
                || (FuzzyKernel::default(), lanes.clone()),
                |(kernel, lanes), position| {
                    kernel.load(&space.decode(position));
                    -missed(kernel, lanes)
                },
            )
            .collect();
        swarm.tell(&fitness);
    }
    let (position, fitness) = swarm.best();
    (space.decode(position), -fitness)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fpsrl_base::progress::Progress;
    use fpsrl_data::system::{Surroundings, WrittenSystem};
    use fpsrl_data::{DataSettings, generate};
    use fpsrl_engine::simd::Mode;

    #[test]
    fn a_log_of_fuzzy_rules_is_cloned_by_fuzzy_rules() {
        let system = System::benchmark("mountain-car").unwrap();
        let data = DataSettings { samples: 2_000, ..DataSettings::for_plant(system.plant()) };
        let (policy, search) = (PolicySettings::for_plant(system.plant()), SearchSettings::for_plant(system.plant()));
        let mut log = generate(&system, &data, &Progress::silent()).unwrap();
        let space = RuleSpace::new(&system, &policy, &log);
        let middle: Vec<f64> = space.low().iter().zip(space.high()).map(|(low, high)| 0.3 * low + 0.7 * high).collect();
        let mut teacher = space.decode(&middle);
        teacher.actions[0].rules[1].output = -1.0;
        teacher.actions[0].rules[1].centre[1] = -1.0;
        teacher.actions[0].alpha = 3.0;
        for row in 0..log.len() {
            log.actions[0][row] = teacher.act(&[log.states[0][row], log.states[1][row]])[0];
        }
        let numerics = Numerics::detect(Mode::Fast);
        let (_, missed) = clone_of_the_log(&system, &policy, &search, &log, numerics);
        assert!(missed < 0.02, "{missed}");
        // Noise cannot be cloned: the best is its mean.
        let noise = generate(&system, &data, &Progress::silent()).unwrap();
        let (_, missed) = clone_of_the_log(&system, &policy, &search, &noise, numerics);
        assert!((0.9..1.01).contains(&missed), "{missed}");
    }

    #[test]
    fn absorbing_states_complete_a_window_and_cut_ones_do_not() {
        let car = WrittenSystem::benchmark("mountain-car").unwrap();
        let car = WrittenSystem { horizon: Some(4), discount_q: Some(1.0), ..car };
        let system = car.check(&Surroundings::default()).unwrap();
        let mut log = Transitions {
            episode: vec![0, 0, 1, 1],
            step: vec![0, 1, 0, 1],
            states: vec![vec![0.0, 1.0, 5.0, 6.0]; 2],
            actions: vec![vec![0.1, 0.2, 0.3, 0.4]],
            next_states: vec![vec![1.0, 2.0, 6.0, 7.0]; 2],
            rewards: vec![-1.0, -2.0, -3.0, -4.0],
            terminated: Some(vec![false, true, false, false]),
            drawn_from: None,
            carried: 0,
            inputs: 0,
        };
        // -1 - 2, then nothing; and -2, then nothing.
        let logged = logged_return(&system, &log);
        assert_eq!((logged.value, logged.windows), (-2.5, 2));
        log.terminated = None;
        let logged = logged_return(&system, &log);
        assert_eq!((logged.value, logged.windows), (-10.0, 0));
    }
}
