//! `fpsrl._core`: the stages of fpsrl for Python.
//!
//! What users see is the package `fpsrl` in `python/`, which is written in Python above this module. Here is only what
//! Python cannot do: artefacts as objects, arrays in and out, work without Python's lock that still hears Ctrl-C.

mod columns;
mod command;
mod error;
mod export;
mod policy;
mod problem;
mod settings;
mod simulator;
mod stages;
mod work;

use pyo3::prelude::*;

#[pymodule]
mod _core {
    #[pymodule_export]
    use super::command::command;
    #[pymodule_export]
    use super::policy::{Policy, imitate, import_policy};
    #[pymodule_export]
    use super::problem::{Problem, draft, draft_files, parse_toml, section_keys};
    #[pymodule_export]
    use super::stages::cluster::{Scorer, Workshop, instruction_set};
    #[pymodule_export]
    use super::stages::sweep::{Sweep, sweep_log};
    #[pymodule_export]
    use super::stages::{Checkpoint, Found, Judged, Log, Worlds, check, check_run, finish, load, resume, run_in};
    #[pymodule_export]
    use super::work::set_threads;

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        // A panic of a reader of others over a file becomes an error; nothing is to be said of it twice.
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !fpsrl::foreign::is_guarded() {
                before(info);
            }
        }));
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("FRAME", fpsrl::frame::FRAME)
    }
}
