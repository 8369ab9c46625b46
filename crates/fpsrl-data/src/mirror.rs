//! Mirror images of transitions: what a symmetric plant would have done if everything had been the other way round.
//!
//! The mirror is the one of mirrored rules: each state variable changes its sign, each action changes sides within its
//! limits. The reward stays.

use super::Transitions;
use crate::System;

/// The mirror image of a value: of a state variable around 0.
pub fn mirrored_state(state: &[f64]) -> Vec<f64> {
    state.iter().map(|value| -value).collect()
}

impl Transitions {
    /// The mirror images of all rows.
    ///
    /// ```
    /// use fpsrl_base::progress::Progress;
    /// use fpsrl_data::{DataSettings, System, generate};
    /// let system = System::benchmark("cart-pole-swing-up")?;
    /// let settings = DataSettings { samples: 100, ..DataSettings::for_plant(system.plant()) };
    /// let log = generate(&system, &settings, &Progress::silent())?;
    /// let mirrored = log.mirrored(&system);
    /// assert_eq!(mirrored.next_states[2][5], -log.next_states[2][5]);
    /// assert_eq!(mirrored.mirrored(&system), log);
    /// # Ok::<(), fpsrl_base::Error>(())
    /// ```
    pub fn mirrored(&self, system: &System) -> Self {
        let turned = |columns: &[Vec<f64>]| columns.iter().map(|column| mirrored_state(column)).collect();
        let sides = |(column, action): (&Vec<f64>, &crate::system::ActionVariable)| {
            column.iter().map(|value| action.limits[0] + action.limits[1] - value).collect()
        };
        Self {
            states: turned(&self.states),
            actions: self.actions.iter().zip(system.actions()).map(sides).collect(),
            next_states: turned(&self.next_states),
            ..self.clone()
        }
    }

    /// All rows of another log after these.
    pub fn append(&mut self, other: &Self) {
        self.episode.extend(&other.episode);
        self.step.extend(&other.step);
        let columns = |ours: &mut [Vec<f64>], theirs: &[Vec<f64>]| {
            ours.iter_mut().zip(theirs).for_each(|(ours, theirs)| ours.extend(theirs));
        };
        columns(&mut self.states, &other.states);
        columns(&mut self.actions, &other.actions);
        columns(&mut self.next_states, &other.next_states);
        self.rewards.extend(&other.rewards);
        self.drawn_from = match (self.drawn_from.take(), &other.drawn_from) {
            (Some(mut ours), Some(theirs)) => {
                ours.extend(theirs);
                Some(ours)
            }
            _ => None,
        };
        self.terminated = match (self.terminated.take(), &other.terminated) {
            (Some(mut ours), Some(theirs)) => {
                ours.extend(theirs);
                Some(ours)
            }
            _ => None,
        };
    }
}
