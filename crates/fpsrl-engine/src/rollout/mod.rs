//! Blocks of lanes through policy and world; discounted returns (equations 5 and 6 of the paper).

mod fitness;
mod start;

pub use crate::lanes::{Columns, Lanes, PADDING};
pub use fitness::{Fitness, FitnessFunction, Risk, Workspace};
pub use start::StartStates;
