//! Sweeps for Python: planned from dictionaries, made by this machine's threads or run by run, gathered as plain values.

use std::path::PathBuf;
use std::sync::Mutex;

use fpsrl::sweep::{Cell, ConductOptions, Gathered, Outcome, State, WrittenSweep, write_tables};
use fpsrl::world::process::Permission;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString};

use super::cluster::PythonCluster;
use crate::columns::{Frame, tables};
use crate::error::{About, raised};
use crate::settings;
use crate::work::watched;

/// A sweep that has been checked: its plan, where its runs are, and what is gathered of them.
#[pyclass(frozen, module = "fpsrl._core")]
pub struct Sweep {
    inner: fpsrl::sweep::Sweep,
    gathered: Mutex<Option<Gathered>>,
}

/// A failure: the run, the message, the hint, and whether it is a bug.
type Failed = (String, String, Option<String>, bool);

/// Writes frames as files into the directory of a sweep; the files.
#[pyfunction]
pub fn sweep_log(py: Python<'_>, directory: PathBuf, name: &str, frames: Vec<Frame<'_>>) -> PyResult<Vec<PathBuf>> {
    let tables = tables(&frames)?;
    write_tables(&directory, name, &tables).map_err(|error| raised(py, &error, About::Log))
}

#[pymethods]
impl Sweep {
    /// Checks a sweep that is given as a dictionary with the keys of `sweep.toml`. Files of the sweep are named from the directory of
    /// `path`, those of a problem that is a dictionary from that of `problem_path`.
    /// `allow_process` says whether its runs may start the programs that are their worlds.
    #[new]
    #[pyo3(signature = (written, path, problem_path, allow_process=false))]
    fn new(
        py: Python<'_>,
        written: &Bound<'_, PyAny>,
        path: PathBuf,
        problem_path: PathBuf,
        allow_process: bool,
    ) -> PyResult<Self> {
        let table = settings::table(written, "")?;
        let sweep = py.detach(|| {
            let written = WrittenSweep::from_table(table, &path)?;
            fpsrl::sweep::Sweep::of(written, &path, &problem_path)
        });
        let sweep = sweep.map(|sweep| sweep.permitting(Permission::if_asked(allow_process)));
        sweep.map(Self::of).map_err(|error| raised(py, &error, About::Problem))
    }

    /// Reads `sweep.toml`.
    #[staticmethod]
    #[pyo3(signature = (path, allow_process=false))]
    fn read(py: Python<'_>, path: PathBuf, allow_process: bool) -> PyResult<Self> {
        let sweep = py.detach(|| fpsrl::sweep::Sweep::read(&path));
        let sweep = sweep.map(|sweep| sweep.permitting(Permission::if_asked(allow_process)));
        sweep.map(Self::of).map_err(|error| raised(py, &error, About::Problem))
    }

    /// Whether its runs may start the programs that are their worlds.
    #[getter]
    fn allow_process(&self) -> bool {
        self.inner.permission() == Permission::Allowed
    }

    #[getter]
    fn directory(&self) -> PathBuf {
        self.inner.directory().to_owned()
    }

    /// The paths of the settings that are varied.
    #[getter]
    fn varied(&self) -> Vec<String> {
        self.inner.varied().to_vec()
    }

    /// The names of the runs that are planned.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.inner.runs().iter().map(|run| run.name.clone()).collect()
    }

    /// Makes the directory of the runs; how each of them stands: pending, begun, failed or finished.
    fn begin(&self, py: Python<'_>) -> PyResult<Vec<&'static str>> {
        let states = py.detach(|| self.inner.begin()).map_err(|error| raised(py, &error, About::Run))?;
        let word = |state: &State| match state {
            State::Pending => "pending",
            State::Begun => "begun",
            State::Failed(_) => "failed",
            State::Finished(_) => "finished",
        };
        Ok(states.iter().map(word).collect())
    }

    /// Makes one run: `"finished"`, `"failed"` or `"elsewhere"`.
    #[pyo3(signature = (name, retry=false, listener=None))]
    fn execute(
        &self,
        py: Python<'_>,
        name: &str,
        retry: bool,
        listener: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<&'static str> {
        let run = self.inner.run(name).map_err(|error| raised(py, &error, About::Run))?;
        let outcome = watched(py, listener, About::Run, |progress| self.inner.execute(run, retry, progress))?;
        Ok(match outcome {
            Outcome::Finished { .. } => "finished",
            Outcome::Failed(_) => "failed",
            Outcome::Elsewhere => "elsewhere",
        })
    }

    /// Makes all runs that are left, several at a time, and gathers them.
    #[pyo3(signature = (workers=None, retry=false, threads=None, listener=None))]
    fn conduct(
        &self,
        py: Python<'_>,
        workers: Option<usize>,
        retry: bool,
        threads: Option<usize>,
        listener: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let options = ConductOptions { workers, threads, retry };
        let gathered = watched(py, listener, About::Run, |progress| self.inner.conduct(options, progress))?;
        self.keep(gathered);
        Ok(())
    }

    /// Makes all runs that are left on other machines, and gathers them.
    #[pyo3(signature = (evaluator, retry=false, shared=false, listener=None))]
    fn conduct_on(
        &self,
        py: Python<'_>,
        evaluator: &Bound<'_, PyAny>,
        retry: bool,
        shared: bool,
        listener: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let cluster = PythonCluster::new(evaluator.clone().unbind(), None);
        let gathered =
            watched(py, listener, About::Run, |progress| self.inner.conduct_on(&cluster, retry, shared, progress))?;
        self.keep(gathered);
        Ok(())
    }

    /// Makes the directory of a run with its log, for whoever makes the rest elsewhere; none if that failed, which is kept.
    fn prepare(&self, py: Python<'_>, name: &str) -> PyResult<Option<PathBuf>> {
        let run = self.inner.run(name).map_err(|error| raised(py, &error, About::Run))?;
        let made = py.detach(|| self.inner.prepared(run, &fpsrl::Progress::silent()));
        let made = made.map_err(|error| raised(py, &error, About::Run))?;
        Ok(made.map(|directory| directory.path().to_owned()))
    }

    /// Keeps the failure of a run that was made elsewhere.
    fn keep_failure(
        &self,
        py: Python<'_>,
        name: &str,
        message: String,
        hint: Option<String>,
        bug: bool,
    ) -> PyResult<()> {
        let kept = self.inner.run(name).and_then(|run| self.inner.keep(run, message, hint, bug));
        kept.map_err(|error| raised(py, &error, About::Run))
    }

    /// Puts a run that was finished elsewhere in its place.
    fn adopt(&self, py: Python<'_>, name: &str, source: PathBuf) -> PyResult<()> {
        let adopted = self.inner.run(name).and_then(|run| self.inner.adopt(run, &source));
        adopted.map_err(|error| raised(py, &error, About::Run))
    }

    /// Gathers what the directories hold, and writes the table and the page beside the runs.
    fn gather(&self, py: Python<'_>) -> PyResult<()> {
        let gathered = py.detach(|| {
            self.inner.begin()?;
            let gathered = self.inner.gather()?;
            gathered.write()?;
            Ok(gathered)
        });
        self.keep(gathered.map_err(|error| raised(py, &error, About::Run))?);
        Ok(())
    }

    /// The table: the names of the columns, and a list of values for each.
    fn table<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let table = self.with(py, |gathered| Ok(gathered.table()))?;
        let columns = PyDict::new(py);
        for (name, cells) in &table.columns {
            let values = cells.iter().map(|cell| python(py, cell)).collect::<PyResult<Vec<_>>>()?;
            columns.set_item(name, PyList::new(py, values)?)?;
        }
        Ok(columns)
    }

    /// Writes the table to a file: CSV or Parquet, by its ending.
    fn write_table(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        self.with(py, |gathered| gathered.table().write(&path))
    }

    /// The page.
    fn page(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |gathered| Ok(gathered.page()))
    }

    /// Everything as JSON, as `sweep.json` has it.
    fn json(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, Gathered::to_json)
    }

    /// The failures: name, message, hint, and whether it is a bug.
    fn failures(&self, py: Python<'_>) -> PyResult<Vec<Failed>> {
        self.with(py, |gathered| {
            let told = gathered.failures();
            Ok(told.map(|one| (one.run.clone(), one.message.clone(), one.hint.clone(), one.bug)).collect())
        })
    }

    /// The name of the run that promises most.
    fn best(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.with(py, |gathered| Ok(gathered.best().map(|run| run.planned.name.clone())))
    }

    /// What each setting explains: its path, the share of the variance, and what chance alone would explain.
    fn explained(&self, py: Python<'_>) -> PyResult<Vec<(String, Option<f64>, f64)>> {
        self.with(py, |gathered| {
            let factors = gathered.findings().factors.iter();
            Ok(factors.map(|factor| (factor.key.clone(), factor.explained, factor.by_chance)).collect())
        })
    }

    /// The rules that come back: the sentence, in how many runs, and of how many.
    fn recurring(&self, py: Python<'_>) -> PyResult<Vec<(String, usize, usize)>> {
        self.with(py, |gathered| {
            let rules = gathered.findings().recurring.iter();
            Ok(rules.map(|rule| (rule.sentence.clone(), rule.runs.len(), rule.of)).collect())
        })
    }

    /// The directory of a run.
    fn place(&self, py: Python<'_>, name: &str) -> PyResult<PathBuf> {
        match self.inner.run(name) {
            Ok(run) => Ok(self.inner.place(run)),
            Err(error) => {
                let told = format!("{error}; {}", error.hint().unwrap_or_default());
                Err(PyKeyError::new_err(PyString::new(py, &told).unbind()))
            }
        }
    }
}

impl Sweep {
    pub fn of(inner: fpsrl::sweep::Sweep) -> Self {
        Self { inner, gathered: Mutex::new(None) }
    }

    fn keep(&self, gathered: Gathered) {
        *self.gathered.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(gathered);
    }

    /// Something of what was gathered; it is gathered now if it was not before.
    fn with<T: Send>(&self, py: Python<'_>, of: impl FnOnce(&Gathered) -> fpsrl::Result<T> + Send) -> PyResult<T> {
        let told = py.detach(|| {
            let mut kept = self.gathered.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let gathered = match kept.take() {
                Some(gathered) => gathered,
                None => self.inner.gather()?,
            };
            of(kept.insert(gathered))
        });
        told.map_err(|error| raised(py, &error, About::Run))
    }
}

fn python<'py>(py: Python<'py>, cell: &Cell) -> PyResult<Bound<'py, PyAny>> {
    Ok(match cell {
        Cell::Empty => py.None().into_bound(py),
        Cell::Count(number) => PyInt::new(py, *number).into_any(),
        Cell::Number(number) => PyFloat::new(py, *number).into_any(),
        Cell::Truth(truth) => PyBool::new(py, *truth).to_owned().into_any(),
        Cell::Text(text) => PyString::new(py, text).into_any(),
    })
}
