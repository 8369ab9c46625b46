//! Other machines: work that goes to them through an evaluator written in Python, and what they do with it.
//!
//! The evaluator is asked for generators: each `next` gives a part of the results, or `None` when it has waited for a moment.
//! So whoever conducts the work sees between two of them whether it shall end. The evaluator knows nothing of searches, and
//! this module nothing of Ray.

use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

use fpsrl::optimiser::Scope;
use fpsrl::problem::{Problem as FullProblem, WorldSettings, WrittenProblem};
use fpsrl::rollout::Fitness;
use fpsrl::search::{Elsewhere, Form, SearchOptions, Trial};
use fpsrl::simd::Mode;
use fpsrl::stage::Cluster;
use fpsrl::sweep::{PlannedRun, SweepCluster};
use fpsrl::world::{TrainedNetwork, Trainers, TrainingJob};
use fpsrl::{Error, Progress};
use numpy::{PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyIterator;
use rayon::ThreadPoolBuilder;

use super::sweep::Sweep;
use super::{Log, Worlds};
use crate::error::{About, raised};
use crate::simulator::PythonSimulator;
use crate::work::watched;

/// Numbers of a scope: whether it is a part, its first start state, how many there are, the member and the steps, or -1 for none.
const SCOPE: usize = 5;

/// An evaluator of the package as machines of the library.
pub struct PythonCluster {
    evaluator: Py<PyAny>,
    simulator: Option<Arc<PythonSimulator>>,
}

impl PythonCluster {
    pub fn new(evaluator: Py<PyAny>, simulator: Option<Arc<PythonSimulator>>) -> Self {
        Self { evaluator, simulator }
    }
}

/// What an exception says, as an error of the library.
pub fn failure(py: Python<'_>, exception: &PyErr, stage: &'static str) -> Error {
    let value = exception.value(py);
    let text = |name: &str| value.getattr(name).ok().and_then(|text| text.extract::<String>().ok());
    let is = |name: &str| {
        let class = py.import("fpsrl._errors").and_then(|errors| errors.getattr(name));
        class.is_ok_and(|class| exception.is_instance(py, &class))
    };
    if is("Stopped") || exception.is_instance_of::<PyKeyboardInterrupt>(py) {
        return Error::Stopped { stage };
    }
    let problem = text("message").unwrap_or_else(|| exception.to_string());
    Error::Elsewhere { problem, remedy: text("remedy").unwrap_or_default().into() }
}

impl Cluster for PythonCluster {
    fn searching(&self, worlds: &fpsrl::Worlds) -> fpsrl::Result<Box<dyn Elsewhere>> {
        Python::attach(|py| {
            let given = Worlds::of(worlds.clone(), self.simulator.clone());
            let session = self.evaluator.call_method1(py, "_searching", (given,));
            let session = session.map_err(|exception| failure(py, &exception, "search"))?;
            Ok(Box::new(Session { session, problem: worlds.problem().clone() }) as Box<dyn Elsewhere>)
        })
    }

    fn learning(&self, log: &fpsrl::Log, settings: &WorldSettings) -> fpsrl::Result<Box<dyn Trainers>> {
        let problem = FullProblem { world: settings.clone(), ..log.problem().clone() };
        Python::attach(|py| {
            let given = Log { inner: log.clone(), simulator: self.simulator.clone() };
            let session = self.evaluator.call_method1(py, "_learning", (given, problem.to_toml()));
            let session = session.map_err(|exception| failure(py, &exception, "fit"))?;
            Ok(Box::new(Session { session, problem }) as Box<dyn Trainers>)
        })
    }
}

impl SweepCluster for PythonCluster {
    fn sweeping(
        &self,
        sweep: &fpsrl::sweep::Sweep,
        runs: &[&PlannedRun],
        shared: bool,
        progress: &Progress,
        done: &dyn Fn(usize) -> fpsrl::Result<()>,
    ) -> fpsrl::Result<()> {
        let names: Vec<String> = runs.iter().map(|run| run.name.clone()).collect();
        Python::attach(|py| {
            let generator = self.evaluator.call_method1(py, "_sweeping", (Sweep::of(sweep.clone()), names, shared));
            let mut fault = None;
            let taken = taken(py, generator, "sweep", progress, |part| {
                let place: usize = part.extract()?;
                done(place).map_err(|error| {
                    let told = raised(py, &error, About::Run);
                    fault = Some(error);
                    told
                })
            });
            fault.map_or(taken, Err)
        })
    }
}

/// Machines that have what they need for a search, or for learning worlds.
struct Session {
    session: Py<PyAny>,
    problem: FullProblem,
}

/// Takes what a generator gives until it ends; a request to stop closes it.
fn taken(
    py: Python<'_>,
    generator: PyResult<Py<PyAny>>,
    stage: &'static str,
    progress: &Progress,
    mut take: impl FnMut(Bound<'_, PyAny>) -> PyResult<()>,
) -> fpsrl::Result<()> {
    let failed = |exception: PyErr| failure(py, &exception, stage);
    let generator = generator.map_err(failed)?;
    let mut parts: Bound<'_, PyIterator> = generator.bind(py).try_iter().map_err(failed)?;
    while let Some(part) = parts.next() {
        let part = part.map_err(failed)?;
        if !part.is_none() {
            take(part).map_err(failed)?;
        }
        if progress.stop_requested() {
            parts.call_method0("close").map_err(failed)?;
            return Err(Error::Stopped { stage });
        }
    }
    Ok(())
}

fn scope_row(scope: Scope) -> [i64; SCOPE] {
    let number = |value: Option<usize>| value.map_or(-1, |value| value as i64);
    match scope {
        Scope::Whole => [0, 0, 0, -1, -1],
        Scope::Part { first, starts, member, steps } => [1, first as i64, starts as i64, number(member), number(steps)],
    }
}

fn scope_of(row: &[i64]) -> PyResult<Scope> {
    let broken = || PyValueError::new_err("a scope is broken");
    let number = |value: i64| usize::try_from(value).map_err(|_| broken());
    let optional = |value: i64| if value == -1 { Ok(None) } else { number(value).map(Some) };
    match *row {
        [0, ..] => Ok(Scope::Whole),
        [1, first, starts, member, steps] if starts > 0 => Ok(Scope::Part {
            first: number(first)?,
            starts: number(starts)?,
            member: optional(member)?,
            steps: optional(steps)?,
        }),
        _ => Err(broken()),
    }
}

impl Elsewhere for Session {
    fn score(&self, form: Form<'_>, trials: &[Trial<'_>], progress: &Progress) -> fpsrl::Result<Vec<Fitness>> {
        if progress.stop_requested() {
            return Err(Error::Stopped { stage: "search" });
        }
        let problem = FullProblem { policy: form.policy.clone(), search: form.search.clone(), ..self.problem.clone() };
        let (text, horizon) = (problem.to_toml(), problem.system.horizon() as u64);
        let options = form.options;
        // In reproducible mode every instruction set gives the same bits.
        let numerics = match options.numerics.mode {
            Mode::Reproducible => "reproducible".to_owned(),
            Mode::Fast => options.numerics.to_string(),
        };
        let mut scores = vec![None; trials.len()];
        Python::attach(|py| {
            let positions: Vec<Vec<f64>> = trials.iter().map(|trial| trial.position.to_vec()).collect();
            let to_beat: Vec<f64> = trials.iter().map(|trial| trial.to_beat).collect();
            let scopes: Vec<Vec<i64>> = trials.iter().map(|trial| scope_row(trial.scope).to_vec()).collect();
            let most_steps: Vec<u64> = trials
                .iter()
                .map(|trial| match trial.scope {
                    Scope::Whole => form.search.start_states as u64 * horizon,
                    Scope::Part { starts, steps, .. } => starts as u64 * steps.map_or(horizon, |steps| steps as u64),
                })
                .collect();
            let arrays = || -> PyResult<Py<PyAny>> {
                self.session.call_method1(
                    py,
                    "score",
                    (
                        (text, numerics, options.prune),
                        PyArray2::from_vec2(py, &positions)?,
                        PyArray1::from_vec(py, to_beat),
                        PyArray2::from_vec2(py, &scopes)?,
                        PyArray1::from_vec(py, most_steps),
                    ),
                )
            };
            taken(py, arrays(), "search", progress, |part| {
                let (places, values, known, steps): (
                    PyReadonlyArray1<'_, i64>,
                    PyReadonlyArray1<'_, f64>,
                    PyReadonlyArray1<'_, bool>,
                    PyReadonlyArray1<'_, u64>,
                ) = part.extract()?;
                let (places, values, known, steps) =
                    (places.as_array(), values.as_array(), known.as_array(), steps.as_array());
                let count = places.len();
                if [values.len(), known.len(), steps.len()] != [count; 3] {
                    return Err(PyValueError::new_err("a batch came back with other sizes"));
                }
                for index in 0..count {
                    let place = usize::try_from(places[index]).ok().and_then(|place| scores.get_mut(place));
                    let place = place.ok_or_else(|| PyValueError::new_err("a score came back for no position"))?;
                    let value = known[index].then_some(values[index]);
                    *place = Some(Fitness { value, model_steps: steps[index] });
                }
                Ok(())
            })
        })?;
        let missing = Error::Internal("positions came back without scores");
        scores.into_iter().collect::<Option<Vec<Fitness>>>().ok_or(missing)
    }
}

impl Trainers for Session {
    fn train(
        &self,
        jobs: &[TrainingJob],
        progress: &Progress,
        done: &(dyn Fn(usize, f64) + Sync),
    ) -> fpsrl::Result<Vec<TrainedNetwork>> {
        let mut networks: Vec<Option<TrainedNetwork>> = vec![None; jobs.len()];
        Python::attach(|py| {
            let texts = jobs.iter().map(serde_json::to_string).collect::<Result<Vec<String>, _>>();
            let texts = texts.map_err(|_| Error::Internal("a job could not be written down"))?;
            let costs: Vec<u64> = jobs.iter().map(|job| job.cost).collect();
            let generator = self.session.call_method1(py, "train", (texts, costs));
            taken(py, generator, "fit", progress, |part| {
                let (place, text): (usize, String) = part.extract()?;
                let network: TrainedNetwork =
                    serde_json::from_str(&text).map_err(|error| PyValueError::new_err(error.to_string()))?;
                let slot = networks.get_mut(place);
                let slot = slot.ok_or_else(|| PyValueError::new_err("a network came back for no job"))?;
                done(place, network.validation_error);
                *slot = Some(network);
                Ok(())
            })
        })?;
        let missing = Error::Internal("jobs came back without networks");
        networks.into_iter().collect::<Option<Vec<TrainedNetwork>>>().ok_or(missing)
    }
}

/// A batch of positions for the thread that scores, and where its answer goes.
struct Batch {
    positions: Vec<Vec<f64>>,
    to_beat: Vec<f64>,
    scopes: Vec<Scope>,
    answer: Sender<fpsrl::Result<Vec<Fitness>>>,
}

/// Values, whether each is known, and model steps.
type Scored<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<bool>>, Bound<'py, PyArray1<u64>>);

/// Scores positions on worlds for a search that is conducted on another machine. A thread of its own holds what rollouts need.
#[pyclass(frozen, module = "fpsrl._core")]
pub struct Scorer {
    batches: Sender<Batch>,
    /// The instruction set and the mode.
    #[pyo3(get)]
    numerics: String,
    simulator: Option<Arc<PythonSimulator>>,
}

#[pymethods]
impl Scorer {
    /// For the policy form and the search settings of a problem file's text.
    #[new]
    fn new(py: Python<'_>, worlds: &Worlds, problem: &str, prune: bool, threads: usize) -> PyResult<Self> {
        let problem = WrittenProblem::parse(problem, "the problem".as_ref()).and_then(WrittenProblem::check);
        let problem = problem.map_err(|error| raised(py, &error, About::Problem))?;
        let options = SearchOptions { checkpoint_every: Duration::MAX, ..SearchOptions::of(&problem.search, prune) };
        let pool = ThreadPoolBuilder::new().num_threads(threads.max(1)).build();
        let pool = pool.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        let (batches, inbox) = channel::<Batch>();
        let own = worlds.inner.clone();
        let (ready, is_ready) = channel();
        let serve = move || {
            let served = own.scoring(&problem.policy, &problem.search, options, |evaluator| {
                // Whoever asked is waiting for this, or has gone.
                let _ = ready.send(Ok(()));
                // The loop ends with the object that holds the other end.
                for Batch { positions, to_beat, scopes, answer } in inbox {
                    let trials: Vec<Trial<'_>> = (0..positions.len())
                        .map(|at| Trial { position: &positions[at], to_beat: to_beat[at], scope: scopes[at] })
                        .collect();
                    let scores = evaluator.score(&trials);
                    let _ = answer.send(own.source().check().and(scores));
                }
            });
            if let Err(error) = served {
                let _ = ready.send(Err(error));
            }
        };
        thread::Builder::new()
            .name("fpsrl-scorer".into())
            .spawn(move || pool.install(serve))
            .map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        match py.detach(move || is_ready.recv()) {
            Ok(Ok(())) => {
                let numerics = options.numerics.to_string();
                Ok(Self { batches, numerics, simulator: worlds.simulator.clone() })
            }
            Ok(Err(error)) => Err(raised(py, &error, About::Run)),
            Err(_) => Err(panicked(py)),
        }
    }

    /// The fitness of each position: values, whether each is known, and model steps.
    fn score<'py>(
        &self,
        py: Python<'py>,
        positions: PyReadonlyArray2<'py, f64>,
        to_beat: PyReadonlyArray1<'py, f64>,
        scopes: PyReadonlyArray2<'py, i64>,
    ) -> PyResult<Scored<'py>> {
        let rows = positions.shape()[0];
        if to_beat.len() != rows || scopes.shape() != [rows, SCOPE] {
            return Err(PyValueError::new_err("positions, what they are to beat and their scopes differ in number"));
        }
        let (width, flat) = (positions.shape()[1], positions.as_slice()?);
        let (answer, answered) = channel();
        let batch = Batch {
            positions: (0..rows).map(|row| flat[row * width..(row + 1) * width].to_vec()).collect(),
            to_beat: to_beat.as_slice()?.to_vec(),
            scopes: scopes.as_slice()?.chunks(SCOPE).map(scope_of).collect::<PyResult<_>>()?,
            answer,
        };
        let batches = &self.batches;
        let scores = py.detach(move || batches.send(batch).ok().and_then(|()| answered.recv().ok()));
        let scores = scores.ok_or_else(|| panicked(py))?;
        let scores = scores.map_err(|error| {
            let raised = raised(py, &error, About::Run);
            if let Some(fault) = self.simulator.as_ref().and_then(|simulator| simulator.take_fault()) {
                raised.set_cause(py, Some(fault));
            }
            raised
        })?;
        let values = scores.iter().map(|score| score.value.unwrap_or(f64::NAN));
        let known = scores.iter().map(|score| score.value.is_some()).collect();
        let steps = scores.iter().map(|score| score.model_steps);
        Ok((PyArray1::from_iter(py, values), PyArray1::from_vec(py, known), PyArray1::from_iter(py, steps)))
    }
}

fn panicked(py: Python<'_>) -> PyErr {
    raised(py, &Error::Internal("scoring panicked; please report it with the messages above"), About::Run)
}

/// Trains networks on a log for worlds that are put together on another machine.
#[pyclass(frozen, module = "fpsrl._core")]
pub struct Workshop {
    inner: fpsrl::world::Workshop,
}

#[pymethods]
impl Workshop {
    /// For the settings of worlds of a problem file's text.
    #[new]
    fn new(py: Python<'_>, log: &Log, problem: &str) -> PyResult<Self> {
        let problem = WrittenProblem::parse(problem, "the problem".as_ref()).and_then(WrittenProblem::check);
        let workshop = problem.and_then(|problem| log.inner.workshop(&problem.world));
        workshop.map(|inner| Self { inner }).map_err(|error| raised(py, &error, About::Problem))
    }

    /// Does a job, which is JSON like its result.
    fn train(&self, py: Python<'_>, job: &str) -> PyResult<String> {
        let job: TrainingJob = serde_json::from_str(job).map_err(|error| PyValueError::new_err(error.to_string()))?;
        let network = watched(py, None, About::Log, |progress| self.inner.train(&job, progress))?;
        serde_json::to_string(&network).map_err(|error| PyValueError::new_err(error.to_string()))
    }
}

/// The instruction set of this machine.
#[pyfunction]
pub fn instruction_set() -> &'static str {
    fpsrl::simd::Numerics::detect(Mode::Fast).name()
}

/// The same machines, or none, for an evaluator or none.
pub fn cluster_of(
    evaluator: Option<&Bound<'_, PyAny>>,
    simulator: Option<Arc<PythonSimulator>>,
) -> Option<Arc<dyn Cluster>> {
    evaluator.map(|evaluator| Arc::new(PythonCluster::new(evaluator.clone().unbind(), simulator)) as Arc<dyn Cluster>)
}
