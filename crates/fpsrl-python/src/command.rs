//! The command `fpsrl`, as `pip install` brings it along: the same program, inside this module.

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs the command with its arguments, its own name first; returns its exit code.
#[pyfunction]
pub fn command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| fpsrl_cli::run(arguments))
}
