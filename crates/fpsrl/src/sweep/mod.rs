//! Sweeps: many runs over settings, seeds, logs and bootstrap draws of logs, and what they say together.
//!
//! A sweep is planned, made and gathered; each of the three can be called by itself, so that something else than the threads of
//! this machine may make the runs:
//!
//! | step                | what it does                                                                              |
//! |---------------------|-------------------------------------------------------------------------------------------|
//! | [`Sweep::read`]     | expands `sweep.toml` into [`PlannedRun`]s, and checks every one of them                   |
//! | [`Sweep::begin`]    | makes the directory of the runs, and refuses what does not belong there                   |
//! | [`Sweep::execute`]  | makes one run in a directory of its own, as `fpsrl run --resume` does; keeps its failure  |
//! | [`Sweep::conduct`]  | makes all that are left, several at a time, on the cores of this machine                  |
//! | [`Sweep::gather`]   | reads what the directories hold: [`Gathered`], with its table and its page                |
//!
//! A run of a sweep is a run directory like any other, and finds what `fpsrl run` finds with the same settings and seed. What was
//! planned of it stands in its `planned.json`, so that a run that is finished is not repeated, and one that was made with other
//! settings is not mistaken for it.
//!
//! ```
//! use fpsrl::Progress;
//! use fpsrl::sweep::Sweep;
//! let directory = tempfile::tempdir()?;
//! let path = directory.path().join("sweep.toml");
//! std::fs::write(&path, "problem = 'mountain-car'\nseeds = 3\n[grid]\n'policy.rules' = [2, 3]\n")?;
//! let sweep = Sweep::read(&path)?;
//! let names: Vec<&str> = sweep.runs().iter().map(|run| run.name.as_str()).collect();
//! assert_eq!(names[..2], ["rules=2,seed=1", "rules=2,seed=2"]);
//! assert_eq!((names.len(), sweep.directory()), (6, directory.path().join("sweep").as_path()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod cluster;
mod conduct;
mod execute;
mod frames;
mod gather;
mod name;
mod plan;
mod state;
mod table;
mod written;

pub use cluster::{Listed, kubernetes, slurm};
pub use conduct::{ConductOptions, SweepCluster, plan_as_json};
pub use execute::{Failure, Outcome};
pub use fpsrl_report::sweep::{
    Factor, FrontPoint, Level, Recurring, Scatter, Spread, Summed, SweepFindings, SweepRun, WhatVaries,
};
pub use frames::write_tables;
pub use gather::{Gathered, GatheredRun};
pub use plan::{MOST_RUNS, PlannedRun, Sweep};
pub use state::State;
pub use table::{Cell, Table};
pub use written::WrittenSweep;
