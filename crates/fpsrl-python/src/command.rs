//! The command `fpsrl`, as `pip install` brings it along: the same program, inside this module, with Ray within its reach.

use std::ffi::OsString;
use std::sync::Arc;

use fpsrl::sweep::SweepCluster;
use fpsrl_cli::Host;
use pyo3::prelude::*;

use crate::stages::cluster::{PythonCluster, failure};

/// The Python that the command lives in.
struct Python3;

impl Host for Python3 {
    fn ray(&self, address: Option<&str>, workers: Option<usize>) -> fpsrl::Result<Arc<dyn SweepCluster>> {
        Python::attach(|py| {
            let made =
                py.import("fpsrl.ray").and_then(|module| module.call_method1("_for_command", (address, workers)));
            let evaluator = made.map_err(|exception| failure(py, &exception, "start of Ray"))?;
            Ok(Arc::new(PythonCluster::new(evaluator.unbind(), None)) as Arc<dyn SweepCluster>)
        })
    }
}

/// Runs the command with its arguments, its own name first; returns its exit code.
#[pyfunction]
pub fn command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| fpsrl_cli::run_in(arguments, &Python3))
}
