//! How test vectors follow each other where a controller adds up errors: stretches of steps, each begun by a reset.
//!
//! Every other stretch is slow: errors are small and of one sign first, then of the other, so that sums grow, reach their limits, stay
//! there and fall. In the stretches between, the states jump as those of other controllers do.

use super::controller::{Controller, Precision};
use super::memory::Memory;
use super::vectors::{Kind, is_compared};
use fpsrl_base::random::{Purpose, Stream};
use fpsrl_engine::policy::Derived;

/// Steps from one reset to the next.
const STRETCH: usize = 88;

/// The largest error of a slow stretch, as a share of what its sum may reach.
const LARGEST_ERROR: f64 = 0.06;

/// How often a state is drawn anew at most.
pub(super) const DRAWS: usize = 16;

/// Whether the stretch of a step is a slow one.
fn is_slow(index: usize) -> bool {
    index / STRETCH % 2 == 1
}

/// Whether the controller is reset before a step, given the kind of the state before.
pub(super) fn is_reset(controller: &Controller, index: usize, before: Option<Kind>) -> bool {
    let response = controller.guard.as_ref().map(|guard| guard.response);
    // What follows from an action that is not compared cannot be either.
    let lost = before.is_some_and(|kind| !is_compared(kind, controller.precision, response));
    lost || (index > 0 && index.is_multiple_of(STRETCH))
}

/// The kind of a state, where another controller would get this one.
pub(super) fn kind(index: usize, kind: Kind) -> Kind {
    match kind {
        Kind::Outside | Kind::Far | Kind::Extreme if is_slow(index) => Kind::Inside,
        kind => kind,
    }
}

/// In a slow stretch, moves set-points next to what follows them. `inputs` are all inputs of the controller.
pub(super) fn slow_down(controller: &Controller, ranges: &[[f64; 2]], index: usize, inputs: &mut [f64]) {
    if !is_slow(index) {
        return;
    }
    let stream = Stream::new(1, Purpose::ExportVector);
    let side = if (index % STRETCH < STRETCH / 2) == (index / STRETCH % 4 == 1) { 1.0 } else { -1.0 };
    for sum in controller.running_sums() {
        let Some(Derived::Error { state, set_point }) = controller.policy.states[sum.error].derived else { continue };
        let share = stream.uniform(4, index as u32, sum.input as u32);
        // A few errors are of the other sign, so that a sum that must not grow falls.
        let error = LARGEST_ERROR * sum.limit * side * (1.25 * share - 0.25);
        let [low, high] = ranges[set_point];
        let near = (inputs[state] + error).max(low).min(high);
        if near.is_finite() {
            inputs[set_point] = controller.precision.round(near);
        }
    }
}

/// Whether it is plain from the last action if sums may grow: rounding must not decide it, for the sums of a target would go
/// another way than ours from then on.
pub(super) fn is_plain(controller: &Controller, memory: &Memory) -> bool {
    let tolerance = match controller.precision {
        Precision::Double => 4e-6,
        Precision::Single => 4e-4,
    };
    memory.last.iter().zip(&controller.policy.actions).enumerate().all(|(index, (value, action))| {
        let scale = action.limits[0].abs().max(action.limits[1].abs()).max(1.0);
        controller.inner(index).iter().all(|end| (value - end).abs() > tolerance * scale)
            // A range so narrow that all of it is near to its ends leaves no choice.
            || action.limits[1] - action.limits[0] < 100.0 * tolerance * scale
    })
}
