//! Problems: settings as a problem file has them, and drafts of them from logs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use fpsrl::data::log::{Guess, InputGuess, InputKind, TextOptions, columns_read};
use fpsrl::draft::Draft;
use fpsrl::problem::{System, WrittenProblem};
use fpsrl::world::OwnSimulator;
use fpsrl::world::process::Permission;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::columns::{Frame, tables};
use crate::error::{About, raised};
use crate::settings;
use crate::simulator::PythonSimulator;
use crate::work::watched;

/// A checked problem.
#[pyclass(frozen, module = "fpsrl._core")]
pub struct Problem {
    pub inner: fpsrl::Problem,
    /// The function that is its world, if one is.
    pub simulator: Option<Arc<PythonSimulator>>,
}

#[pymethods]
impl Problem {
    /// Checks settings. `path` is named in messages, and files are found from the directory that it is in; `simulator` is
    /// a function of states and actions, with the largest reward that it gives. `allow_process` says whether the program may be
    /// started that is its world.
    #[new]
    #[pyo3(signature = (written, path, simulator=None, allow_process=false))]
    fn new(
        written: &Bound<'_, PyAny>,
        path: PathBuf,
        simulator: Option<(Bound<'_, PyAny>, f64)>,
        allow_process: bool,
    ) -> PyResult<Self> {
        let py = written.py();
        let table = settings::table(written, "")?;
        let checked = WrittenProblem::from_table(table, &path).and_then(WrittenProblem::check);
        let mut inner = checked.map_err(|error| raised(py, &error, About::Problem))?;
        inner.world.permission = Permission::if_asked(allow_process);
        let simulator = simulator.map(|(function, largest_reward)| {
            let system = &inner.system;
            Arc::new(PythonSimulator::new(
                function.unbind(),
                system.current_states(),
                system.actions().len(),
                largest_reward,
            ))
        });
        inner.world.simulator = simulator.clone().map(|simulator| OwnSimulator::new(simulator));
        Ok(Self { inner, simulator })
    }

    /// The complete problem file.
    fn to_toml(&self) -> String {
        self.inner.to_toml()
    }

    /// Whether the program may be started that is its world.
    #[getter]
    fn allow_process(&self) -> bool {
        self.inner.world.permission == Permission::Allowed
    }

    #[getter]
    fn name(&self) -> &str {
        self.inner.system.name()
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.inner.system.seed()
    }

    #[getter]
    fn horizon(&self) -> usize {
        self.inner.system.horizon()
    }

    #[getter]
    fn discount(&self) -> f64 {
        self.inner.system.discount()
    }

    /// The state variables that rules see: name, unit, the words of a mode.
    #[getter]
    fn states(&self) -> Vec<(String, String, Vec<String>)> {
        seen(&self.inner.system)
    }

    /// The actions: name, unit, limits.
    #[getter]
    fn actions(&self) -> Vec<(String, String, [f64; 2])> {
        let of_one =
            |action: &fpsrl::problem::ActionVariable| (action.name.clone(), action.unit.clone(), action.limits);
        self.inner.system.actions().iter().map(of_one).collect()
    }

    /// The log's columns that are read, under every name that each may have; none if there is no log of the user's own.
    fn columns(&self) -> Option<Vec<String>> {
        self.inner.data.log.as_ref().map(|log| columns_read(&self.inner.system, log))
    }

    /// The files that hold the log.
    fn files(&self) -> Vec<PathBuf> {
        self.inner.data.log.as_ref().map_or_else(Vec::new, |log| log.files.clone())
    }

    /// The words that stand for a missing value, besides the usual ones.
    fn missing(&self) -> Vec<String> {
        self.inner.data.log.as_ref().map_or_else(Vec::new, |log| log.missing.clone())
    }
}

/// The state variables that rules see.
pub fn seen(system: &System) -> Vec<(String, String, Vec<String>)> {
    let seen = system.policy_states().iter();
    seen.map(|state| (state.name.clone(), state.unit.clone(), state.values().to_vec())).collect()
}

/// A problem file's text as a dictionary.
#[pyfunction]
pub fn parse_toml<'py>(py: Python<'py>, text: &str, path: PathBuf) -> PyResult<Bound<'py, PyDict>> {
    WrittenProblem::parse(text, &path).map_err(|error| raised(py, &error, About::Problem))?;
    match toml::from_str(text) {
        Ok(table) => settings::dictionary(py, &table),
        Err(error) => Err(pyo3::exceptions::PyValueError::new_err(error.to_string())),
    }
}

/// The keys that a section of a problem file may have; of its first lines, for an empty name.
#[pyfunction]
pub fn section_keys(section: &str) -> PyResult<Vec<String>> {
    // Whoever refuses an unknown key names all that are known.
    let unknown = toml::Table::from_iter([("?".to_owned(), toml::Value::Integer(0))]);
    let table = match section {
        "" => unknown,
        section => toml::Table::from_iter([(section.to_owned(), toml::Value::Table(unknown))]),
    };
    let told = match WrittenProblem::from_table(table, Path::new("")) {
        Err(fpsrl::Error::Malformed { remedy, .. }) => remedy.to_string(),
        _ => String::new(),
    };
    let keys = told.strip_prefix("known here: ").unwrap_or_default();
    Ok(keys.split(", ").filter(|key| !key.is_empty()).map(str::to_owned).collect())
}

/// What a user knows of a log's columns already.
#[derive(FromPyObject)]
pub struct Known {
    #[pyo3(item)]
    states: Vec<String>,
    #[pyo3(item)]
    actions: Vec<String>,
    #[pyo3(item)]
    inputs: Vec<String>,
    #[pyo3(item)]
    modes: Vec<String>,
    #[pyo3(item)]
    tracks: Vec<(String, String)>,
    #[pyo3(item)]
    reward: Option<String>,
    #[pyo3(item)]
    time: Option<String>,
    #[pyo3(item)]
    episode: Option<String>,
    #[pyo3(item)]
    terminal: Option<String>,
}

impl Known {
    fn guess(self) -> Guess {
        let Self { states, actions, inputs, modes, tracks, reward, time, episode, terminal } = self;
        let inputs = inputs.iter().map(|title| InputGuess::said(title, InputKind::Disturbance));
        let modes = modes.iter().map(|title| InputGuess::said(title, InputKind::Mode { values: Vec::new() }));
        let inputs = inputs.chain(modes).collect();
        Guess { states, actions, inputs, tracks, reward, time, episode, terminal, ..Guess::default() }
    }
}

/// A draft's text, what was found, and what is not known.
type Drafted = (String, Vec<String>, Vec<String>);

fn drafted(Draft { text, found, unknown }: Draft) -> Drafted {
    (text, found, unknown)
}

/// Drafts a problem from frames.
#[pyfunction]
pub fn draft(py: Python<'_>, frames: Vec<Frame<'_>>, name: &str, known: Known) -> PyResult<Drafted> {
    let (tables, guess) = (tables(&frames)?, known.guess());
    watched(py, None, About::Log, |_| fpsrl::draft::of_tables(&tables, name, guess)).map(drafted)
}

/// Drafts a problem from the files of a log, which are named from a directory.
#[pyfunction]
#[pyo3(signature = (files, directory, known, memory=None, separator=None, decimal=None, missing=Vec::new()))]
#[expect(clippy::too_many_arguments, reason = "they are named in Python")]
pub fn draft_files(
    py: Python<'_>,
    files: Vec<PathBuf>,
    directory: PathBuf,
    known: Known,
    memory: Option<String>,
    separator: Option<char>,
    decimal: Option<char>,
    missing: Vec<String>,
) -> PyResult<Drafted> {
    let allowed = |text| {
        fpsrl::problem::memory(text)
            .map_err(|rule| PyValueError::new_err(format!("memory: {text:?} was given, but {rule}")))
    };
    let memory = memory.as_deref().map(allowed).transpose()?;
    let (options, guess) = (TextOptions { separator, decimal, missing, memory }, known.guess());
    let work = |progress: &fpsrl::Progress| fpsrl::draft::init(&files, &directory, &options, guess, progress);
    watched(py, None, About::Log, work).map(drafted)
}
