//! The engine of `fpsrl`: blocks of lanes that policies and worlds advance together, and the returns that come of it.
//!
//! [`world::World`] and [`policy::Policy`] are the two contracts that everything else hangs on. [`rollout`] brings them
//! together: discounted returns (equations 5 and 6 of the paper), and exact pruning of what cannot win.

pub mod angle;
pub mod formula;
pub mod lanes;
pub mod policy;
pub mod rollout;
pub mod simd;
pub mod world;
