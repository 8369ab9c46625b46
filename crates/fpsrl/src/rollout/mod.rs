//! Blocks of lanes through policy and world; discounted returns (equations 5 and 6 of the paper).

mod fitness;
mod lanes;
mod start;

pub use fitness::{Fitness, FitnessFunction, Outlook, Workspace};
pub use lanes::{Columns, Lanes, PADDING};
pub(crate) use start::FAR;
pub use start::StartStates;
