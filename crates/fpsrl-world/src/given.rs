//! Variables of a world that nothing predicts: inputs that are replayed, errors of states that follow set-points, their running
//! sums, and the place in the log; and what the log's noise adds to what is predicted.
//!
//! [`crate::following`] puts them into worlds. A model predicts the mean. What the plant did beyond that, noise and whatever nobody measured, is in the log too: what a
//! row's change was more than predicted. A rollout that follows the log gets it back, step by step ([`Replay`]), so that a
//! controller is searched under the disturbances that there were. The log's own actions then lead where they led.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use fpsrl_data::System;
use fpsrl_data::system::Carried;
use fpsrl_data::tape::Tape;

/// An action this near to its limit, as a share of the distance between its limits, counts as being there.
const AT_LIMIT: f64 = 0.01;

/// How a variable gets its next value, if nothing predicts it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Given {
    /// As an input of the log.
    Input {},
    /// A set-point less what is to follow it, both after the step.
    Error {
        /// What is to follow.
        state: usize,
        /// What is followed.
        set_point: usize,
    },
    /// The running sum of an error.
    Sum {
        /// The number of the error.
        error: usize,
        /// How far it may go to either side.
        limit: f64,
    },
    /// The row of the log that is followed.
    Place {},
}

/// An action's limits, at which running sums stop growing.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Saturation {
    /// The number of the action.
    pub action: usize,
    /// The number of the state variable that it changes; null if it is an absolute value.
    pub changes: Option<usize>,
    /// The lowest and the highest value.
    pub limits: [f64; 2],
}

impl Saturation {
    /// Those of a system in which something is added up.
    pub(super) fn of(system: &System) -> Vec<Self> {
        if !system.states().iter().any(|state| state.tracks.is_some()) {
            return Vec::new();
        }
        let one = |(action, variable): (usize, &fpsrl_data::system::ActionVariable)| {
            let holds = |state: &fpsrl_data::system::StateVariable| {
                state.lag.is_some_and(|lag| lag.from == Carried::SetPoint(action))
            };
            let changes = variable.set_point.as_ref().and_then(|_| system.states().iter().position(holds));
            let limits = variable.set_point.as_ref().map_or(variable.limits, |set_point| set_point.limits);
            Self { action, changes, limits }
        };
        system.actions().iter().enumerate().map(one).collect()
    }

    /// The values between which the action is not at a limit.
    pub fn inner(&self) -> [f64; 2] {
        let margin = AT_LIMIT * (self.limits[1] - self.limits[0]);
        [self.limits[0] + margin, self.limits[1] - margin]
    }

    /// Whether an action is at a limit, given the states before the step and the actions.
    pub(super) fn is_reached(&self, state: &dyn Fn(usize) -> f64, action: &dyn Fn(usize) -> f64) -> bool {
        let value = action(self.action) + self.changes.map_or(0.0, state);
        let [low, high] = self.inner();
        value <= low || value >= high
    }
}

/// A running sum after a step: within its limits, and while an action is at a limit it only falls.
///
/// ```
/// use fpsrl_world::given::running_sum;
/// assert_eq!(running_sum(1.0, 0.5, 2.0, false), 1.5);
/// assert_eq!(running_sum(1.0, 0.5, 2.0, true), 1.0);
/// assert_eq!(running_sum(1.0, -0.5, 2.0, true), 0.5);
/// assert_eq!(running_sum(1.0, 5.0, 2.0, false), 2.0);
/// ```
pub fn running_sum(sum: f64, error: f64, limit: f64, saturated: bool) -> f64 {
    let wanted = (sum + error).clamp(-limit, limit);
    if saturated && wanted.abs() > sum.abs() { sum } else { wanted }
}

/// What a rollout follows: the inputs of the log, and what the plant did beyond what a model predicts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Replay {
    /// The inputs, and which place follows which.
    pub tape: Arc<Tape>,
    /// Of each variable that is predicted: its number, and at each place what the change was more than predicted.
    pub residuals: Vec<(usize, Vec<f64>)>,
}
