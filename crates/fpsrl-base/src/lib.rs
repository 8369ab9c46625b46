//! What every part of `fpsrl` stands on: errors that say what to do, text from outside that can be shown, progress that others
//! draw, files that are written whole, counted random numbers, numbers for people, and the helpers that settings are checked
//! and written with.

pub mod disk;
pub mod error;
pub mod files;
pub mod foreign;
pub mod frame;
pub mod progress;
pub mod random;
pub mod reason;
pub mod remedy;
pub mod settings;
pub mod text;
pub mod visible;

pub use error::{Error, Result};
pub use remedy::Remedy;
