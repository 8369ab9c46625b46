//! Readable fuzzy controllers from logged transitions.
//!
//! `fpsrl` implements *fuzzy particle swarm reinforcement learning* (Hein, Hentschel, Runkler, Udluft 2017): world
//! models are learned from recorded transitions, a search moves the parameters of a few Gaussian fuzzy
//! rules, and scores each candidate by rollouts on the world model. Nobody experiments on the real plant.
//!
//! The modules stand in the order of the data: [`problem`], [`plant`], [`data`], [`world`], [`policy`], [`rollout`],
//! [`optimiser`], [`search`], and [`run`], which puts the stages together on the files of a run directory.

pub mod baseline;
pub mod data;
pub mod error;
pub mod explain;
pub mod export;
pub mod files;
pub mod import;
pub mod optimiser;
pub mod plant;
pub mod policy;
pub mod problem;
pub mod progress;
pub mod random;
pub mod report;
pub mod reproduce;
pub mod rollout;
pub mod run;
pub mod search;
pub mod simd;
pub mod world;

pub use error::{Error, Result};
