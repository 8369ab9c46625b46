//! What the log covers, and where the rules go: what the page draws of it is in [`coverage`](super::coverage).

use fpsrl_data::System;
use fpsrl_data::coverage::Coverage;
use fpsrl_data::{Transitions, absorbing};
use fpsrl_explain::Trajectory;

/// Steps of the rules that are drawn into each picture.
const STEPS: usize = 150;

/// What the log covers, and where the rules go.
pub(super) struct Covered {
    pub(super) coverage: Coverage,
    pub(super) episodes: usize,
    /// States and actions of some steps of the rules.
    pub(super) steps: Vec<Vec<f64>>,
}

impl Covered {
    /// Looks at the rows of a log in which something moves, and at rollouts of the rules.
    pub(super) fn new(system: &System, transitions: &Transitions, trajectories: &[Trajectory]) -> Self {
        let later = absorbing::rewards_from_then_on(transitions);
        let moving = absorbing::rows_that_matter(transitions, &later);
        let mut episodes = transitions.episode.clone();
        episodes.dedup();
        let all: Vec<Vec<f64>> = trajectories
            .iter()
            .flat_map(|one| one.states.iter().zip(&one.actions))
            .map(|(state, action)| [&state[..system.current_states()], action].concat())
            .collect();
        let every = all.len().div_ceil(STEPS).max(1);
        let steps = all.into_iter().step_by(every).collect();
        // What is remembered covers nothing that was not covered before.
        let log = transitions.without_lags().rows(&moving);
        Self { coverage: Coverage::of(&system.without_lags(), &log), episodes: episodes.len(), steps }
    }
}
