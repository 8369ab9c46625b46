//! Worlds: whatever a rollout can run in. A plant, a set of networks and a user's simulator look alike from above.

use crate::lanes::Lanes;
use crate::simd::Numerics;

/// Advances a block of lanes by one control step.
///
/// Lanes are independent of each other: what happens to one does not depend on which others are beside it.
pub trait World: Send + Sync {
    /// Number of state variables.
    fn state_count(&self) -> usize;

    /// Number of actions.
    fn action_count(&self) -> usize;

    /// Moves every live lane from its state under its action to the next state, sets its reward, and marks the
    /// lanes that have been absorbed, with the reward of every step from then on, whatever is done.
    fn advance(&self, lanes: &mut Lanes, numerics: Numerics);

    /// No reward that [`World::advance`] sets is larger than this.
    fn largest_reward(&self) -> f64;
}

impl<W: World + ?Sized> World for std::sync::Arc<W> {
    fn state_count(&self) -> usize {
        (**self).state_count()
    }

    fn action_count(&self) -> usize {
        (**self).action_count()
    }

    fn advance(&self, lanes: &mut Lanes, numerics: Numerics) {
        (**self).advance(lanes, numerics);
    }

    fn largest_reward(&self) -> f64 {
        (**self).largest_reward()
    }
}
