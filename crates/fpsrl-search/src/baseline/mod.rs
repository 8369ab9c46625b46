//! Yardsticks: what a fuzzy policy is compared with.
//!
//! [`nfq`] learns a policy that nobody can read, from the same log, without a world model (section 6 of the paper).
//! [`pi`] tunes P and PI controllers on the same worlds; [`pi_given`] takes one that the user has.
//! [`ceiling`] and [`pso_p`] plan each trajectory on its own, and so tell how much any policy could reach on a world.

pub mod behaviour;
pub mod ceiling;
mod feedback;
pub mod nfq;
pub mod pi;
pub mod pi_given;
pub mod pso_p;
mod q_network;
mod q_policy;
mod rolling;
mod target_scale;

pub use feedback::Linear;
pub use q_network::QNetwork;
pub use q_policy::{QPolicy, QPolicyKernel};
pub use target_scale::TargetScale;
