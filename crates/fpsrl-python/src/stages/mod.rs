//! The stages as objects: a log, what a search has found, what was judged; and run directories.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;

use fpsrl::figures::Summary;
use fpsrl::problem::{OptimiserKind, Problem as FullProblem};
use fpsrl::run::{self, DataReport, ReportOptions, RunDirectory};
use fpsrl::search::{SearchOptions, SearchRecord};
use fpsrl::task::Begun;
use fpsrl::world::process::Permission;
use fpsrl::{Progress, files};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::columns::{Frame, tables};
use crate::error::{About, raised};
use crate::export::{Export, Exported};
use crate::policy::Policy;
use crate::problem::Problem;
use crate::simulator::PythonSimulator;
use crate::work::{pool, watched};

pub mod cluster;
pub mod sweep;
mod worlds;

pub use worlds::Worlds;

use cluster::cluster_of;

type Listener<'a, 'py> = Option<&'a Bound<'py, PyAny>>;

/// A log, ready to be learned from.
#[pyclass(frozen, module = "fpsrl._core")]
pub struct Log {
    pub inner: fpsrl::Log,
    pub simulator: Option<Arc<PythonSimulator>>,
}

/// The log of a problem: from frames, or else from wherever the problem says.
fn log_of(
    problem: &FullProblem,
    tables: Option<&[fpsrl::data::log::Table<'_>]>,
    progress: &Progress,
) -> fpsrl::Result<fpsrl::Log> {
    match tables {
        Some(tables) => fpsrl::Log::from_tables(problem, tables, progress),
        None => fpsrl::Log::new(problem, progress),
    }
}

/// An error of work on a simulator, with what that raised as its cause.
fn with_cause(py: Python<'_>, simulator: &Option<Arc<PythonSimulator>>, error: PyErr) -> PyErr {
    if let Some(fault) = simulator.as_ref().and_then(|simulator| simulator.take_fault()) {
        error.set_cause(py, Some(fault));
    }
    error
}

#[pymethods]
impl Log {
    /// The log of a problem.
    #[new]
    #[pyo3(signature = (problem, frames=None, listener=None))]
    fn new(
        py: Python<'_>,
        problem: &Problem,
        frames: Option<Vec<Frame<'_>>>,
        listener: Listener<'_, '_>,
    ) -> PyResult<Self> {
        let tables = frames.as_deref().map(tables).transpose()?;
        let log = watched(py, listener, About::Log, |progress| log_of(&problem.inner, tables.as_deref(), progress));
        let inner = log.map_err(|error| with_cause(py, &problem.simulator, error))?;
        Ok(Self { inner, simulator: problem.simulator.clone() })
    }

    /// The problem that it is the log of, with what was chosen by the log.
    #[getter]
    fn problem(&self) -> Problem {
        Problem { inner: self.inner.problem().clone(), simulator: self.simulator.clone() }
    }

    fn __len__(&self) -> usize {
        self.inner.transitions().len()
    }

    /// Makes a run directory of it.
    fn save(&self, py: Python<'_>, path: PathBuf, force: bool) -> PyResult<()> {
        let saved = py.detach(|| run::save_log(&self.inner, &path, force));
        saved.map(drop).map_err(|error| raised(py, &error, About::Run))
    }

    /// The transitions, an array a column, called as in `transitions.csv`.
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (system, log) = (self.inner.system(), self.inner.transitions());
        let columns = PyDict::new(py);
        columns.set_item("episode", PyArray1::from_slice(py, &log.episode))?;
        columns.set_item("step", PyArray1::from_slice(py, &log.step))?;
        for (state, values) in system.states().iter().zip(&log.states) {
            columns.set_item(&state.name, PyArray1::from_slice(py, values))?;
        }
        for (action, values) in system.actions().iter().zip(&log.actions) {
            columns.set_item(&action.name, PyArray1::from_slice(py, values))?;
        }
        for (state, values) in system.states().iter().zip(&log.next_states) {
            columns.set_item(format!("next_{}", state.name), PyArray1::from_slice(py, values))?;
        }
        columns.set_item("reward", PyArray1::from_slice(py, &log.rewards))?;
        if let Some(terminated) = &log.terminated {
            columns.set_item("terminated", PyArray1::from_slice(py, terminated))?;
        }
        Ok(columns)
    }

    /// What was found in it, as `data.json` has it; none of a log that was generated.
    fn report(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.inner.report().map(files::to_json).transpose().map_err(|error| raised(py, &error, About::Log))
    }

    /// Learns worlds from it.
    #[pyo3(signature = (problem=None, listener=None, evaluator=None))]
    fn fit(
        &self,
        py: Python<'_>,
        problem: Option<&Problem>,
        listener: Listener<'_, '_>,
        evaluator: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Worlds> {
        let settings = &problem.map_or(self.inner.problem(), |problem| &problem.inner).world;
        let cluster = cluster_of(evaluator, self.simulator.clone());
        let worlds =
            watched(py, listener, About::Log, |progress| self.inner.fit_on(settings, cluster.as_deref(), progress));
        let worlds = worlds.map_err(|error| with_cause(py, &self.simulator, error))?;
        Ok(Worlds::of(worlds, self.simulator.clone()))
    }
}

/// The state of the data of a problem, as `fpsrl check --json` prints it.
#[pyfunction]
#[pyo3(signature = (problem, frames=None, listener=None))]
pub fn check(
    py: Python<'_>,
    problem: &Problem,
    frames: Option<Vec<Frame<'_>>>,
    listener: Listener<'_, '_>,
) -> PyResult<String> {
    let tables = frames.as_deref().map(tables).transpose()?;
    let report = watched(py, listener, About::Log, |progress| match &tables {
        Some(tables) => DataReport::of_tables(&problem.inner, tables),
        None => DataReport::of(&problem.inner, progress),
    })?;
    files::to_json(&report.0).map_err(|error| raised(py, &error, About::Log))
}

/// The same of the log that stands in a run directory.
#[pyfunction]
pub fn check_run(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    let report = py.detach(|| RunDirectory::open(&path)?.data_report().and_then(|(report, _)| files::to_json(&report)));
    report.map_err(|error| raised(py, &error, About::Run))
}

/// Where a search stood when it was stopped.
#[pyclass(frozen, module = "fpsrl._core")]
pub struct Checkpoint {
    pub policy: fpsrl::problem::PolicySettings,
    pub search: fpsrl::problem::SearchSettings,
    pub begun: Begun,
}

/// What a search has found.
#[pyclass(frozen, module = "fpsrl._core")]
pub struct Found {
    pub inner: fpsrl::Found,
    pub simulator: Option<Arc<PythonSimulator>>,
}

/// A row of a search's record: iteration, best, mean, model steps, seconds, stage.
type Row = (usize, f64, f64, u64, f64, String);

fn rows(records: &[SearchRecord]) -> Vec<Row> {
    let row =
        |one: &SearchRecord| (one.iteration, one.best, one.mean, one.model_steps, one.seconds, one.stage.to_string());
    records.iter().map(row).collect()
}

#[pymethods]
impl Found {
    #[getter]
    fn worlds(&self) -> Worlds {
        Worlds::of(self.inner.worlds().clone(), self.simulator.clone())
    }

    /// The problem, with the settings that it was searched with.
    #[getter]
    fn problem(&self) -> Problem {
        Problem { inner: self.inner.problem().clone(), simulator: self.simulator.clone() }
    }

    /// The best policy by the search's own count, and what it earns there.
    #[getter]
    fn best(&self) -> (Policy, f64) {
        (Policy::of(self.inner.best().clone()), self.inner.best_return())
    }

    /// The policies of which none is both simpler and better, with what each earns.
    fn front(&self) -> Vec<(Policy, f64)> {
        let front = self.inner.front().unwrap_or_default().iter();
        front.map(|point| (Policy::of(point.policy.clone()), point.fitness)).collect()
    }

    fn records(&self) -> Vec<Row> {
        rows(self.inner.records())
    }

    /// Chooses the first candidate that keeps its promise, and scores it.
    #[pyo3(signature = (problem=None, listener=None))]
    fn judge(&self, py: Python<'_>, problem: Option<&Problem>, listener: Listener<'_, '_>) -> PyResult<Judged> {
        let evaluation = &problem.map_or(self.inner.problem(), |problem| &problem.inner).evaluation;
        let judged = watched(py, listener, About::Run, |progress| {
            let judged = self.inner.judge(evaluation, progress)?;
            // As the command does it: after a race it costs a small part of what that cost.
            match judged.problem().search.optimiser {
                OptimiserKind::Auto => judged.with_ceiling(&[], progress),
                _ => Ok(judged),
            }
        });
        let judged = judged.map_err(|error| with_cause(py, &self.simulator, error))?;
        Ok(Judged::of(judged, self.simulator.clone()))
    }
}

/// A policy, and everything that is known of what it is worth.
#[pyclass(frozen, module = "fpsrl._core")]
pub struct Judged {
    inner: fpsrl::Judged,
    simulator: Option<Arc<PythonSimulator>>,
    /// The directory that it was loaded from.
    directory: Option<RunDirectory>,
}

impl Judged {
    pub fn of(inner: fpsrl::Judged, simulator: Option<Arc<PythonSimulator>>) -> Self {
        Self { inner, simulator, directory: None }
    }

    fn text(&self, py: Python<'_>, of: impl FnOnce(&Summary) -> fpsrl::Result<String>) -> PyResult<String> {
        of(self.inner.summary()).map_err(|error| raised(py, &error, About::Run))
    }
}

#[pymethods]
impl Judged {
    #[getter]
    fn worlds(&self) -> Worlds {
        Worlds::of(self.inner.worlds().clone(), self.simulator.clone())
    }

    #[getter]
    fn problem(&self) -> Problem {
        Problem { inner: self.inner.problem().clone(), simulator: self.simulator.clone() }
    }

    #[getter]
    fn policy(&self) -> Policy {
        Policy::of(self.inner.policy().clone())
    }

    /// The directory that it was loaded from.
    #[getter]
    fn directory(&self) -> Option<PathBuf> {
        self.directory.as_ref().map(|directory| directory.path().to_owned())
    }

    /// Every figure, as `summary.json` has them.
    fn summary(&self, py: Python<'_>) -> PyResult<String> {
        self.text(py, Summary::text)
    }

    fn records(&self) -> Vec<Row> {
        rows(self.inner.records())
    }

    /// The front's table as JSON, and its policies.
    fn front(&self, py: Python<'_>) -> PyResult<Option<(String, Vec<Policy>)>> {
        let Some((table, policies)) = self.inner.front() else { return Ok(None) };
        let text = files::to_json(table).map_err(|error| raised(py, &error, About::Run))?;
        Ok(Some((text, policies.iter().cloned().map(Policy::of).collect())))
    }

    /// The page about it, the policy without the conditions that do not matter, and what that saves and costs.
    #[pyo3(signature = (tolerance=None, listener=None))]
    fn report(
        &self,
        py: Python<'_>,
        tolerance: Option<f64>,
        listener: Listener<'_, '_>,
    ) -> PyResult<(String, Option<Policy>, String)> {
        let tolerance = tolerance.unwrap_or(fpsrl::explain::TOLERANCE);
        let report = watched(py, listener, About::Run, |progress| self.inner.report(tolerance, progress))?;
        let figures = files::to_json(&report.figures).map_err(|error| raised(py, &error, About::Run))?;
        Ok((report.page, report.simple.map(Policy::of), figures))
    }

    /// The rules as a picture in SVG, above what the log covers.
    fn svg(&self, py: Python<'_>) -> String {
        let (system, log) = (self.inner.worlds().system(), self.inner.worlds().log());
        py.detach(|| {
            let profile = fpsrl::explain::DataProfile::new(system, log.transitions());
            let middle = |state: &fpsrl::problem::StateVariable| {
                let middle = 0.5 * (state.start[0] + state.start[1]);
                // There is nothing between two modes.
                if state.values().is_empty() { middle } else { middle.round() }
            };
            let current = &system.states()[..system.current_states()];
            let example = system.at_rest(&current.iter().map(middle).collect::<Vec<f64>>());
            let seen = &example[..system.policy_states().len()];
            fpsrl::explain::rule_picture(self.inner.policy(), &profile, system.plant(), seen)
        })
    }

    /// Exports the controller, guarded by what the log covered.
    fn export(&self, py: Python<'_>, export: Export) -> PyResult<Exported> {
        py.detach(|| export.deliver(&self.inner.source()?)).map_err(|error| raised(py, &error, About::Policy))
    }

    /// Makes a run directory of it; one that was loaded is copied as it stands.
    #[pyo3(signature = (path, force, listener=None))]
    fn save(&self, py: Python<'_>, path: PathBuf, force: bool, listener: Listener<'_, '_>) -> PyResult<()> {
        watched(py, listener, About::Run, |progress| match &self.directory {
            Some(directory) => directory.copy_to(&path, force).map(drop),
            None => run::save(&self.inner, &path, force, progress).map(drop),
        })
    }
}

/// Makes every stage in a run directory, as `fpsrl run` does: a search that is ended early leaves its checkpoint there.
#[pyfunction]
#[pyo3(signature = (problem, frames, path, force, listener=None, evaluator=None))]
pub fn run_in(
    py: Python<'_>,
    problem: &Problem,
    frames: Option<Vec<Frame<'_>>>,
    path: PathBuf,
    force: bool,
    listener: Listener<'_, '_>,
    evaluator: Option<&Bound<'_, PyAny>>,
) -> PyResult<Judged> {
    let cluster = cluster_of(evaluator, None);
    let tables = frames.as_deref().map(tables).transpose()?;
    let log = watched(py, listener, About::Log, |progress| log_of(&problem.inner, tables.as_deref(), progress))?;
    drop(tables);
    let done = watched(py, listener, About::Run, |progress| {
        let run = run::save_log(&log, &path, force)?.on(cluster);
        let _lock = run.lock()?;
        run.fit(progress)?;
        finished(&run, progress)
    });
    judged_in(done?)
}

/// Goes on with an interrupted run.
#[pyfunction]
#[pyo3(signature = (path, listener=None, evaluator=None, allow_process=false))]
pub fn resume(
    py: Python<'_>,
    path: PathBuf,
    listener: Listener<'_, '_>,
    evaluator: Option<&Bound<'_, PyAny>>,
    allow_process: bool,
) -> PyResult<Judged> {
    let cluster = cluster_of(evaluator, None);
    let done = watched(py, listener, About::Run, |progress| {
        let run = RunDirectory::open(&path)?.on(cluster).permitting(Permission::if_asked(allow_process));
        let _lock = run.lock()?;
        finished(&run, progress)
    });
    judged_in(done?)
}

/// Makes the stages of a run that are not finished, for a sweep elsewhere; of a failure its message, its hint, and whether it is a
/// bug.
#[pyfunction]
#[pyo3(signature = (path, allow_process=false))]
pub fn finish(py: Python<'_>, path: PathBuf, allow_process: bool) -> PyResult<Option<(String, Option<String>, bool)>> {
    let pool = pool()?;
    let work = || {
        let run = RunDirectory::open(&path)?.permitting(Permission::if_asked(allow_process));
        let _lock = run.lock()?;
        finished(&run, &Progress::silent()).map(drop)
    };
    let done = py.detach(|| catch_unwind(AssertUnwindSafe(|| pool.install(work))));
    Ok(match done {
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some((error.to_string(), error.hint(), !error.is_users())),
        Err(_) => {
            let hint = "please report it with the problem file and what that machine wrote on standard error";
            Some(("fpsrl has a bug: the work panicked".into(), Some(hint.into()), true))
        }
    })
}

fn judged_in((inner, directory): (fpsrl::Judged, RunDirectory)) -> PyResult<Judged> {
    Ok(Judged { inner, simulator: None, directory: Some(directory) })
}

/// Makes the stages of a run that are not finished.
fn finished(run: &RunDirectory, progress: &Progress) -> fpsrl::Result<(fpsrl::Judged, RunDirectory)> {
    let options = SearchOptions::of(&run.problem()?.search, true);
    run.resume(options, progress)?;
    if run.problem()?.search.optimiser == OptimiserKind::Auto {
        run.ceiling(options, progress)?;
    }
    run.report(&ReportOptions::default(), progress)?;
    Ok((run.judged(&run.problem()?)?, run.clone()))
}

/// Loads what a run directory holds: a judged policy; or, where there is none yet, worlds or the log alone.
#[pyfunction]
#[pyo3(signature = (path, simulator=None, allow_process=false))]
pub fn load(
    py: Python<'_>,
    path: PathBuf,
    simulator: Option<(Bound<'_, PyAny>, f64)>,
    allow_process: bool,
) -> PyResult<(Option<Judged>, Option<Worlds>, Log)> {
    let opened = || {
        let run = RunDirectory::open(&path)?.permitting(Permission::if_asked(allow_process));
        Ok((run.problem()?, run))
    };
    let (mut problem, run) = opened().map_err(|error| raised(py, &error, About::Run))?;
    let simulator = simulator.map(|(function, largest_reward)| {
        let (states, actions) = (problem.system.current_states(), problem.system.actions().len());
        Arc::new(PythonSimulator::new(function.unbind(), states, actions, largest_reward))
    });
    problem.world.simulator = simulator.clone().map(|simulator| fpsrl::world::OwnSimulator::new(simulator));
    let loaded = watched(py, None, About::Run, |_| {
        let log = run.log(&problem)?;
        let fitted = run.has("world.json")?;
        let judged = (fitted && run.has("policy.json")?).then(|| run.judged(&problem)).transpose()?;
        let worlds = match &judged {
            Some(judged) => Some(judged.worlds().clone()),
            None => fitted.then(|| run.worlds(&problem)).transpose()?,
        };
        Ok((judged, worlds, log))
    });
    let (judged, worlds, inner) = loaded?;
    let judged = judged.map(|inner| Judged { inner, simulator: simulator.clone(), directory: Some(run) });
    Ok((judged, worlds.map(|worlds| Worlds::of(worlds, simulator.clone())), Log { inner, simulator }))
}
