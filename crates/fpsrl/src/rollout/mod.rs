//! Blocks of lanes through policy and world; returns.

mod lanes;

pub use lanes::{Columns, Lanes, PADDING};
