//! Readable fuzzy controllers from logged transitions.
//!
//! `fpsrl` implements *fuzzy particle swarm reinforcement learning* (Hein, Hentschel, Runkler, Udluft 2017): world
//! models are learned from recorded transitions, a search moves the parameters of a few Gaussian fuzzy
//! rules, and scores each candidate by rollouts on the world model. Nobody experiments on the real plant.
//!
//! The whole method, from a log to a controller:
//!
//! ```standalone_crate
//! # fn main() -> fpsrl::Result<()> {
//! # let directory = tempfile::tempdir().unwrap();
//! # std::env::set_current_dir(&directory).unwrap();
//! use fpsrl::export::{Format, Settings, Target};
//! use fpsrl::{Log, Problem, Progress, explain};
//!
//! let problem = Problem::benchmark("mountain-car")?; // or Problem::read("problem.toml")
//! # let mut problem = problem;
//! # (problem.data.samples, problem.world.epochs, problem.world.members) = (5_000, 3, 2);
//! # (problem.search.budget, problem.evaluation.start_states) = (Some(fpsrl::problem::Budget::Steps(200_000)), 20);
//! let progress = Progress::new(|event| eprintln!("{event:?}"));
//! let log = Log::new(&problem, &progress)?;
//! let worlds = log.fit(&problem.world, &progress)?; // an ensemble, a judge, and the verdict on them
//! let found = worlds.search(&problem.policy, &problem.search, &progress)?;
//! let judged = found.judge(&problem.evaluation, &progress)?; // the promise, and what the judge says of it
//!
//! for rule in explain::sentences(judged.policy()) {
//!     println!("{rule}");
//! }
//! println!("{:?}", judged.summary().promise);
//! judged.source()?.export(&Settings::default(), Target::new(Format::C), "controller.c".as_ref())?;
//! # assert!(std::path::Path::new("controller.c").exists());
//! # Ok(())
//! # }
//! ```
//!
//! [`stage`] has these artefacts, [`problem`] reads problem files, and [`run`] keeps everything in a directory, as the command
//! does. The parts lie in crates of their own, each of which knows only those before it: `fpsrl-base`, `fpsrl-engine`,
//! `fpsrl-data`, `fpsrl-world`, `fpsrl-search`, `fpsrl-explain`, `fpsrl-report`, `fpsrl-exchange`. What a user needs of them is here again,
//! under the names of their modules.

pub mod draft;
pub mod problem;
pub mod reproduce;
pub mod run;
pub mod stage;
pub mod sweep;

pub use fpsrl_base::{
    Error, Remedy, Result, error, files, foreign, frame, progress, random, reason, remedy, text, visible,
};
pub use fpsrl_data::plant;
pub use fpsrl_engine::{angle, formula, rollout, simd};
pub use fpsrl_exchange::{import, verify};
pub use fpsrl_search::{
    baseline, figures, gain, optimiser, pi_result, promise, returns, search, task, tracking, trade,
};
pub use problem::Problem;
pub use progress::{Progress, Stop};
pub use stage::{Found, Judged, Log, Worlds};
pub use {fpsrl_explain as explain, fpsrl_report as report};

/// Transitions and the logs that they come from.
pub mod data {
    pub use fpsrl_data::*;
    pub use fpsrl_engine::angle::{nearest_image, wrap_angle};
}

/// Worlds: the contract, and those that are learned.
pub mod world {
    pub use fpsrl_engine::world::World;
    pub use fpsrl_world::*;
}

/// Policies: the contract, fuzzy rules, and the space that is searched.
pub mod policy {
    pub use fpsrl_engine::policy::*;
    pub use fpsrl_search::RuleSpace;
}

/// Controllers for other machines: targets, guard, certificate.
pub mod export {
    pub use crate::stage::{Delivery, Recheck, Settings, Source, deliver, recheck};
    pub use fpsrl_exchange::export::*;
}
