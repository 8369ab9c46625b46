//! Fuzzy policies: rules that an engineer can read, and their parameters that a swarm can move.
//!
//! Section 3 of the paper: Gaussian memberships (equation 2), one rule base for each action, the weighted mean of
//! the rules' outputs, sharpened by α and limited by tanh (equation 4), then scaled to the action's limits.

mod fuzzy;
mod kernel;

pub use fuzzy::{ANYWHERE, ActionRules, Condition, Derived, FuzzyPolicy, MODE_WIDTH, MOST_RULES, Quantity, Rule};
pub use kernel::FuzzyKernel;

use crate::lanes::Lanes;
use crate::simd::Numerics;

/// Chooses actions for a block of lanes.
pub trait Policy: Send + Sync {
    /// Writes the action of every live lane, from its state.
    fn act(&self, lanes: &mut Lanes, numerics: Numerics);
}
