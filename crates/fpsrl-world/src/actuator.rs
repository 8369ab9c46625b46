//! What stands between a policy and the plant: actuators that move only so fast, and set-points with limits of their own.
//!
//! Both need the last value that was applied, which is a state variable of the world ([`super::lag`]). What a world
//! makes of an action replaces it, so that whoever records a rollout records what was applied.

use serde::{Deserialize, Serialize};

use fpsrl_data::System;
use fpsrl_data::system::Carried;
use fpsrl_engine::rollout::Columns;

/// How an action is applied.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Actuator {
    /// The number of the action.
    pub action: usize,
    /// The number of the state variable that holds its last value, or its set-point.
    pub last: usize,
    /// The lowest and the highest value: of the action, or of the set-point that it changes.
    pub limits: [f64; 2],
    /// How far the action may move in a step; null if the action is itself a change.
    pub rate: Option<f64>,
}

impl Actuator {
    /// The actuators of a problem.
    pub(super) fn of(system: &System) -> Vec<Self> {
        let last_of = |action: usize| {
            let holds = [Carried::Action(action), Carried::SetPoint(action)];
            system.states().iter().position(|state| state.lag.is_some_and(|lag| holds.contains(&lag.from)))
        };
        let actuator = |(index, action): (usize, &fpsrl_data::system::ActionVariable)| {
            let limits = match (&action.set_point, action.rate) {
                (Some(set_point), _) => set_point.limits,
                (None, Some(_)) => action.limits,
                (None, None) => return None,
            };
            Some(Self { action: index, last: last_of(index)?, limits, rate: action.rate })
        };
        system.actions().iter().enumerate().filter_map(actuator).collect()
    }

    /// What is applied of an action.
    pub fn apply(&self, wanted: f64, last: f64) -> f64 {
        let [low, high] = self.limits;
        match self.rate {
            Some(rate) => wanted.max(last - rate).min(last + rate).max(low).min(high),
            None => (last + wanted).max(low).min(high) - last,
        }
    }

    /// Changes the actions of lanes to what is applied of them.
    pub(super) fn apply_to(&self, columns: &mut Columns<'_>) {
        let (live, stride) = (columns.live, columns.stride);
        let [low, high] = self.limits.map(|limit| limit as f32);
        let last = &columns.states[self.last * stride..][..live];
        let actions = &mut columns.actions[self.action * stride..][..live];
        for (action, &last) in actions.iter_mut().zip(last) {
            *action = match self.rate {
                Some(rate) => action.max(last - rate as f32).min(last + rate as f32).max(low).min(high),
                None => (last + *action).max(low).min(high) - last,
            };
        }
    }

    /// What is wrong with one that was read from a file, if anything is.
    pub(super) fn fault(&self, states: usize, actions: usize) -> Option<String> {
        if self.last >= states || self.action >= actions {
            return Some("it names a variable that there is not".into());
        }
        let [low, high] = self.limits;
        if !(low.is_finite() && high.is_finite() && low <= high) {
            return Some("its limits are not two finite numbers in order".into());
        }
        self.rate.filter(|rate| !(rate.is_finite() && *rate > 0.0)).map(|_| "its rate is not above 0".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn nothing_leaves_its_limits_or_moves_too_fast(
            low in -5.0..0.0f64, span in 0.1..10.0f64, rate in 0.01..2.0f64,
            wanted in prop::collection::vec(-20.0..20.0f64, 1..40), begin in 0.0..1.0f64, changes: bool,
        ) {
            let limits = [low, low + span];
            let actuator = Actuator { action: 0, last: 0, limits, rate: (!changes).then_some(rate) };
            let mut last = low + begin * span;
            for wanted in wanted {
                // A policy's change is limited by the policy itself.
                let wanted = if changes { wanted.clamp(-rate, rate) } else { wanted };
                let applied = actuator.apply(wanted, last);
                let next = if changes { last + applied } else { applied };
                prop_assert!(next >= limits[0] - 1e-12 && next <= limits[1] + 1e-12);
                prop_assert!((next - last).abs() <= rate + 1e-12);
                // What was applied is applied again.
                prop_assert!((actuator.apply(applied, last) - applied).abs() < 1e-12);
                last = next;
            }
        }
    }
}
