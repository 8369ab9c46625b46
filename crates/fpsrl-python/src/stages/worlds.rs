//! Worlds: what candidates are scored on, and what other people's algorithms may run on.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use fpsrl::rollout::{Lanes, StartStates};
use fpsrl::simd::Numerics;
use fpsrl::world::World;
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rayon::prelude::*;

use super::cluster::cluster_of;
use super::{Checkpoint, Found, Judged, Log};
use crate::error::{About, raised};
use crate::policy::Policy;
use crate::problem::Problem;
use crate::simulator::PythonSimulator;
use crate::work::{Outcome, is_interrupt, pool, watched, watched_closely};

/// Rows that a thread advances together.
const BLOCK: usize = 1024;

/// Worlds, and the log that they are of.
#[pyclass(frozen, module = "fpsrl._core")]
pub struct Worlds {
    pub inner: fpsrl::Worlds,
    pub simulator: Option<Arc<PythonSimulator>>,
    members: OnceLock<Vec<Box<dyn World>>>,
}

/// Next states, rewards, whether each has stopped for good, and what it earns in every step from then on.
type Stepped<'py> =
    (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<bool>>, Bound<'py, PyArray1<f64>>);

impl Worlds {
    pub fn of(inner: fpsrl::Worlds, simulator: Option<Arc<PythonSimulator>>) -> Self {
        Self { inner, simulator, members: OnceLock::new() }
    }

    fn members(&self, py: Python<'_>) -> PyResult<&[Box<dyn World>]> {
        if let Some(members) = self.members.get() {
            return Ok(members);
        }
        let members = self.inner.source().on_lanes(self.inner.system(), 0.0);
        let members = members.map_err(|error| raised(py, &error, About::Run))?;
        Ok(self.members.get_or_init(|| members))
    }

    /// An error of a stage, with what the user's own simulator raised as its cause.
    fn with_cause(&self, py: Python<'_>, error: PyErr) -> PyErr {
        if let Some(fault) = self.simulator.as_ref().and_then(|simulator| simulator.take_fault()) {
            error.set_cause(py, Some(fault));
        }
        error
    }

    fn fresh(&self) {
        if let Some(simulator) = &self.simulator {
            drop(simulator.take_fault());
        }
    }
}

#[pymethods]
impl Worlds {
    #[getter]
    fn log(&self) -> Log {
        Log { inner: self.inner.log().clone(), simulator: self.simulator.clone() }
    }

    /// The problem, with the settings that they were learned with.
    #[getter]
    fn problem(&self) -> Problem {
        Problem { inner: self.inner.problem().clone(), simulator: self.simulator.clone() }
    }

    /// The verdict on them as JSON; none for a simulator.
    fn verdict(&self, py: Python<'_>) -> PyResult<Option<String>> {
        let text = self.inner.verdict().map(fpsrl::files::to_json).transpose();
        text.map_err(|error| raised(py, &error, About::Run))
    }

    /// The figures so far, as `summary.json` has them.
    fn summary(&self, py: Python<'_>) -> PyResult<String> {
        let summary = self.inner.summary(self.inner.problem()).and_then(|summary| summary.text());
        summary.map_err(|error| raised(py, &error, About::Run))
    }

    /// How many members there are.
    #[getter]
    fn count(&self, py: Python<'_>) -> PyResult<usize> {
        self.members(py).map(<[_]>::len)
    }

    /// The names of a state's variables; rules see the first of them, so many.
    #[getter]
    fn states(&self) -> (Vec<String>, usize) {
        let system = self.inner.system();
        (system.states().iter().map(|state| state.name.clone()).collect(), system.policy_states().len())
    }

    /// Start states, a row each: `of` says whether those of the search, of its judge, or of the evaluation.
    fn starts<'py>(
        &self,
        py: Python<'py>,
        of: &str,
        first: usize,
        count: usize,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let system = self.inner.system();
        let starts: StartStates = match of {
            "judge" => system.judging_starts(first + count).skip(first),
            "evaluation" => system.evaluation_starts(first + count).skip(first),
            _ => system.search_starts(first, count),
        };
        let rows: Vec<Vec<f64>> = (0..starts.len()).map(|row| starts.row(row)).collect();
        Ok(PyArray2::from_vec2(py, &rows)?)
    }

    /// One step of a member, from states and under actions, a row each.
    fn step<'py>(
        &self,
        py: Python<'py>,
        states: PyReadonlyArray2<'py, f64>,
        actions: PyReadonlyArray2<'py, f64>,
        member: usize,
    ) -> PyResult<Stepped<'py>> {
        let system = self.inner.system();
        let (width, moved) = (system.states().len(), system.actions().len());
        let rows = states.shape()[0];
        if states.shape()[1] != width || actions.shape() != [rows, moved] {
            let (have, got) = (states.shape(), actions.shape());
            let told = format!(
                "states of shape ({rows}, {width}) and actions of ({rows}, {moved}) are needed, not {have:?} and {got:?}"
            );
            return Err(PyValueError::new_err(told));
        }
        let members = self.members(py)?;
        let world = members.get(member).ok_or_else(|| {
            PyValueError::new_err(format!("there is no member {member}; there are {}", members.len()))
        })?;
        self.fresh();
        let numerics = Numerics::detect(self.inner.problem().search.numerics);
        let (states, actions) = (states.as_slice()?, actions.as_slice()?);
        let next = PyArray2::<f64>::zeros(py, [rows, width], false);
        let rewards = PyArray1::<f64>::zeros(py, rows, false);
        let ended = PyArray1::<bool>::zeros(py, rows, false);
        let later = PyArray1::<f64>::zeros(py, rows, false);
        {
            let (mut next, mut rewards) = (next.readwrite(), rewards.readwrite());
            let (mut ended, mut later) = (ended.readwrite(), later.readwrite());
            let (next, rewards) = (next.as_slice_mut()?, rewards.as_slice_mut()?);
            let (ended, later) = (ended.as_slice_mut()?, later.as_slice_mut()?);
            let pool = pool()?;
            let advance = |lanes: &mut Lanes,
                           block: usize,
                           next: &mut [f64],
                           rewards: &mut [f64],
                           ended: &mut [bool],
                           later: &mut [f64]| {
                let first = block * BLOCK;
                let live = rewards.len();
                lanes.set_live(live);
                for variable in 0..width {
                    let column = lanes.state_mut(variable);
                    (0..live).for_each(|lane| column[lane] = states[(first + lane) * width + variable] as f32);
                }
                for action in 0..moved {
                    let column = lanes.action_mut(action);
                    (0..live).for_each(|lane| column[lane] = actions[(first + lane) * moved + action] as f32);
                }
                world.advance(lanes, numerics);
                for variable in 0..width {
                    let column = lanes.state(variable);
                    (0..live).for_each(|lane| next[lane * width + variable] = f64::from(column[lane]));
                }
                for lane in 0..live {
                    rewards[lane] = f64::from(lanes.rewards()[lane]);
                    ended[lane] = lanes.absorbed()[lane] != 0.0;
                    later[lane] = if ended[lane] { f64::from(lanes.later_rewards()[lane]) } else { 0.0 };
                }
            };
            let lanes = || Lanes::new(width, moved, BLOCK.min(rows.max(1)));
            if rows <= BLOCK {
                // One step of one state is not worth waking anybody for.
                py.detach(|| advance(&mut lanes(), 0, next, rewards, ended, later));
            } else {
                py.detach(|| {
                    pool.install(|| {
                        let parts = next.par_chunks_mut(BLOCK * width).zip(rewards.par_chunks_mut(BLOCK));
                        let parts = parts.zip(ended.par_chunks_mut(BLOCK)).zip(later.par_chunks_mut(BLOCK)).enumerate();
                        parts.for_each_init(lanes, |lanes, (block, (((next, rewards), ended), later))| {
                            advance(lanes, block, next, rewards, ended, later);
                        });
                    });
                });
            }
        }
        if let Err(error) = self.inner.source().check() {
            return Err(self.with_cause(py, raised(py, &error, About::Run)));
        }
        Ok((next, rewards, ended, later))
    }

    /// Searches rules with the settings of a problem. What is raised for a search that was ended early has where it stood.
    #[pyo3(signature = (problem, begin_with=None, checkpoint=None, listener=None, evaluator=None))]
    fn search(
        &self,
        py: Python<'_>,
        problem: &Problem,
        begin_with: Option<&Policy>,
        checkpoint: Option<&Checkpoint>,
        listener: Option<&Bound<'_, PyAny>>,
        evaluator: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Found> {
        self.fresh();
        let (policy, mut search) = (problem.inner.policy.clone(), problem.inner.search.clone());
        let mut begun = Default::default();
        if let Some(checkpoint) = checkpoint {
            (search, begun) = (checkpoint.search.clone(), checkpoint.begun.clone());
        }
        let policy = checkpoint.map_or(policy, |checkpoint| checkpoint.policy.clone());
        let options = fpsrl::search::SearchOptions::of(&search, true);
        let mut keeper = fpsrl::task::Remember::from(&begun);
        let begin_with = begin_with.map(|policy| &policy.inner);
        let cluster = cluster_of(evaluator, self.simulator.clone());
        let outcome = watched_closely(py, listener, About::Run, |progress| {
            let (keeper, cluster) = (&mut keeper, cluster.as_deref());
            let context = fpsrl::stage::SearchContext { options, begin_with, begun, keeper, cluster };
            self.inner.search_with(&policy, &search, context, progress)
        });
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(error) => {
                // What other machines have lost need not be lost.
                if cluster.is_some()
                    && let Some((search, begun)) = keeper.into_parts()
                {
                    // Not every exception takes it.
                    let _ = error.value(py).setattr("checkpoint", Checkpoint { policy, search, begun });
                }
                return Err(self.with_cause(py, error));
            }
        };
        match outcome {
            Outcome::Done(inner) => Ok(Found { inner, simulator: self.simulator.clone() }),
            Outcome::Ended(exception) => {
                let Some((search, begun)) = keeper.into_parts() else { return Err(exception) };
                let checkpoint = Checkpoint { policy, search, begun };
                let class = if is_interrupt(py, &exception) { "Interrupted" } else { "Stopped" };
                let errors = py.import("fpsrl._errors")?;
                if class == "Stopped" && !exception.is_instance(py, &errors.getattr("Stopped")?) {
                    // An exception of the listener's own is not ours to replace.
                    return Err(exception);
                }
                let made =
                    errors.getattr(class)?.call1(("the search was stopped; `checkpoint` has where it stood",))?;
                made.setattr("checkpoint", checkpoint)?;
                Err(PyErr::from_value(made))
            }
        }
    }

    /// Scores a policy from elsewhere.
    #[pyo3(signature = (policy, problem, listener=None))]
    fn judge(
        &self,
        py: Python<'_>,
        policy: &Policy,
        problem: &Problem,
        listener: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Judged> {
        self.fresh();
        let evaluation = &problem.inner.evaluation;
        let judged =
            watched(py, listener, About::Run, |progress| self.inner.judge(&policy.inner, evaluation, progress));
        Ok(Judged::of(judged.map_err(|error| self.with_cause(py, error))?, self.simulator.clone()))
    }

    /// Makes a run directory of them and their log.
    fn save(&self, py: Python<'_>, path: PathBuf, force: bool) -> PyResult<()> {
        let saved = py.detach(|| fpsrl::run::save_worlds(&self.inner, &path, force));
        saved.map(drop).map_err(|error| raised(py, &error, About::Run))
    }
}
