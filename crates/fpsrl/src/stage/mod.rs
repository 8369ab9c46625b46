//! The stages of the method as values: [`Log`] → [`Worlds`] → [`Found`] → [`Judged`] → [`Source`] → files.
//!
//! Each stage is a function from an artefact and its own settings to the next artefact, without a directory. An artefact
//! owns what it was made from, so that no two can be combined that do not belong together; all of them are cheap to clone.
//! [`RunDirectory`](crate::run::RunDirectory) keeps the same artefacts in files.

mod cluster;
mod controller;
mod data_report;
mod fitting;
mod found;
mod judged;
mod log;
mod worlds;

pub use cluster::Cluster;
pub use controller::{Delivery, Recheck, Settings, Source, deliver, recheck};
pub use data_report::DataReport;
pub(crate) use fitting::fitted;
pub use found::{Choice, Found, SearchContext};
pub use judged::{Judged, ReportOptions};
pub use log::Log;
pub use worlds::Worlds;
pub(crate) use worlds::simulator;
