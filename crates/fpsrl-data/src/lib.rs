//! What is controlled, and the logs that are learned from.
//!
//! [`System`] says what is controlled: variables, actions, horizon, discount, start states. [`Transitions`] are what was
//! recorded of it: [`generate`](generate()) draws them from a built-in [`plant`], [`log`] reads them from the files of a historian.

pub mod absorbing;
pub mod bootstrap;
pub mod coverage;
pub mod csv;
pub mod generate;
pub mod history;
pub mod log;
pub mod mirror;
pub mod plant;
pub mod scaling;
mod settings;
pub mod simulate;
pub mod split;
pub mod symmetry;
pub mod system;
pub mod tape;
mod transitions;

pub use generate::generate;
pub use settings::{DataSettings, LogSettings, Row, WrittenData};
pub use system::System;
pub use transitions::Transitions;
