//! World models: learned from transitions, and judged before anybody relies on them.
//!
//! [`LearnedWorlds::learn`] makes an ensemble of [`model::WorldModel`]s and, from episodes that it never saw, a judge;
//! [`quality::Verdict`] says how far they can be trusted. On lanes, [`NetworkWorld`] is a
//! [`World`](fpsrl_engine::world::World) like any other.

pub mod absorbing;
mod actuator;
pub mod ensemble;
pub mod evidence;
pub mod file;
pub mod fit;
mod following;
pub mod forest;
pub mod gaussian_process;
pub mod given;
pub mod history;
mod kernel;
pub mod known;
mod lag;
mod learned;
pub mod model;
pub mod network;
pub mod predictor;
pub mod process;
pub mod quality;
pub mod rewards;
mod rows;
mod settings;
mod shares;
pub mod simulator;
pub mod support;
mod testers;
pub mod training;

pub use actuator::Actuator;
pub use ensemble::LearnedWorlds;
pub use fit::{TrainedNetwork, Trainers, TrainingJob, Workshop};
pub use kernel::WIDEST;
pub use lag::LaggedWorld;
pub use learned::NetworkWorld;
pub use settings::{WorldKind, WorldSettings, WrittenWorld};
pub use shares::Shares;
pub use simulator::{OwnSimulator, Simulator};
