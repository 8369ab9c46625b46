//! Policies: from their file's text, acting on one state in f64 or on many on lanes, and in words.

use std::path::PathBuf;

use fpsrl::baseline::behaviour::clone_of_the_log;
use fpsrl::data::Transitions;
use fpsrl::explain;
use fpsrl::export::Source;
use fpsrl::policy::{FuzzyKernel, FuzzyPolicy, Policy as _};
use fpsrl::rollout::Lanes;
use fpsrl::simd::{Mode, Numerics};
use numpy::{Element, PyArray2, PyArrayMethods, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::error::{About, raised};
use crate::export::{Export, Exported};
use crate::problem::Problem;
use crate::work::{pool, watched};

/// States that a thread acts on together: their columns stay in the nearest cache.
const BLOCK: usize = 1024;

/// From so many states on, more threads are worth waking.
const FEW: usize = 8 * BLOCK;

/// Fuzzy rules.
#[pyclass(frozen, module = "fpsrl._core")]
pub struct Policy {
    pub inner: FuzzyPolicy,
    kernel: FuzzyKernel,
    numerics: Numerics,
}

impl Policy {
    pub fn of(inner: FuzzyPolicy) -> Self {
        let kernel = FuzzyKernel::new(&inner);
        Self { inner, kernel, numerics: Numerics::detect(Mode::Fast) }
    }
}

#[pymethods]
impl Policy {
    /// A policy from the text of `policy.json`.
    #[new]
    fn new(text: &str) -> PyResult<Self> {
        let refused = |error: serde_json::Error| PyValueError::new_err(error.to_string());
        let mut content: serde_json::Value = serde_json::from_str(text).map_err(refused)?;
        let format = content.as_object_mut().and_then(|content| content.remove("format"));
        if let Some(newer) = format.and_then(|format| format.as_u64()).filter(|format| *format > fpsrl::files::FORMAT) {
            let told = format!("they have format version {newer}, and this fpsrl reads up to {}", fpsrl::files::FORMAT);
            return Err(PyValueError::new_err(told));
        }
        let policy: FuzzyPolicy = serde_json::from_value(content).map_err(refused)?;
        match policy.fault() {
            None => Ok(Self::of(policy)),
            Some(fault) => Err(PyValueError::new_err(fault)),
        }
    }

    /// The text of `policy.json`.
    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        fpsrl::files::to_json(&self.inner).map_err(|error| raised(py, &error, About::Policy))
    }

    /// The actions in one state, as the exported controller computes them.
    fn act(&self, state: Vec<f64>) -> Vec<f64> {
        self.inner.act(&state)
    }

    /// The actions in many states, a row each, on lanes of single precision as in rollouts; or as `act` computes them. None if
    /// a number is not finite.
    fn act_all<'py>(
        &self,
        py: Python<'py>,
        states: PyReadonlyArray2<'py, f64>,
        exact: bool,
    ) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
        self.on_rows(py, &states, exact)
    }

    /// The same for states of single precision.
    fn act_all_single<'py>(
        &self,
        py: Python<'py>,
        states: PyReadonlyArray2<'py, f32>,
    ) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
        self.on_rows(py, &states, false)
    }

    /// Its rules as sentences, how steep it is, and the inputs that it does not look at.
    fn explain(&self) -> (Vec<String>, Vec<String>, Vec<String>) {
        let unused = explain::unused_inputs(&self.inner).into_iter().map(str::to_owned).collect();
        (explain::sentences(&self.inner), explain::steepness(&self.inner).into_iter().flatten().collect(), unused)
    }

    /// Exports a controller, without what a log would tell of it.
    fn export(&self, py: Python<'_>, name: String, export: Export) -> PyResult<Exported> {
        let source = || {
            let text = fpsrl::files::to_json(&self.inner)?;
            let sha256 = fpsrl::files::sha256_of(text.as_bytes());
            Ok(Source {
                name,
                policy: self.inner.clone(),
                ranges: None,
                rate_limits: self.inner.actions.iter().map(|action| action.rate).collect(),
                notes: Vec::new(),
                provenance: fpsrl::export::Provenance::new(sha256, None),
            })
        };
        py.detach(|| export.deliver(&source()?)).map_err(|error| raised(py, &error, About::Policy))
    }
}

/// A number of a state.
trait Number: Element + Copy + Into<f64> + Send + Sync {
    fn single(self) -> f32;
    fn is_number(self) -> bool;
}

impl Number for f64 {
    fn single(self) -> f32 {
        // What is larger than any number of 32 bits is as far away as one can be there.
        self.clamp(f64::from(f32::MIN), f64::from(f32::MAX)) as f32
    }

    fn is_number(self) -> bool {
        self.is_finite()
    }
}

impl Number for f32 {
    fn single(self) -> f32 {
        self
    }

    fn is_number(self) -> bool {
        self.is_finite()
    }
}

/// Puts rows of numbers into the columns of lanes; whether all of them are finite. A width that the compiler knows makes this
/// several times as fast, and it is half of the work.
fn spread<T: Number>(rows: &[T], width: usize, lanes: &mut Lanes) -> bool {
    match width {
        1 => spread_by::<T, 1>(rows, lanes),
        2 => spread_by::<T, 2>(rows, lanes),
        3 => spread_by::<T, 3>(rows, lanes),
        4 => spread_by::<T, 4>(rows, lanes),
        5 => spread_by::<T, 5>(rows, lanes),
        6 => spread_by::<T, 6>(rows, lanes),
        7 => spread_by::<T, 7>(rows, lanes),
        8 => spread_by::<T, 8>(rows, lanes),
        _ => {
            let mut finite = true;
            for variable in 0..width {
                for (to, from) in lanes.state_mut(variable).iter_mut().zip(rows[variable..].iter().step_by(width)) {
                    *to = from.single();
                    finite &= from.is_number();
                }
            }
            finite
        }
    }
}

fn spread_by<T: Number, const WIDTH: usize>(rows: &[T], lanes: &mut Lanes) -> bool {
    let (rows, _) = rows.as_chunks::<WIDTH>();
    let mut finite = true;
    for variable in 0..WIDTH {
        for (to, row) in lanes.state_mut(variable).iter_mut().zip(rows) {
            *to = row[variable].single();
            finite &= row[variable].is_number();
        }
    }
    finite
}

impl Policy {
    fn on_rows<'py, T: Number>(
        &self,
        py: Python<'py>,
        states: &PyReadonlyArray2<'py, T>,
        exact: bool,
    ) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
        let (rows, width, actions) = (states.shape()[0], self.inner.states.len(), self.inner.actions.len());
        if states.shape()[1] != width {
            let told = format!("a state has {width} numbers, and these have {}", states.shape()[1]);
            return Err(PyValueError::new_err(told));
        }
        let states = states.as_slice()?;
        let acted = PyArray2::<f64>::zeros(py, [rows, actions], false);
        if rows == 0 {
            return Ok(Some(acted));
        }
        let exactly = |states: &[T], acted: &mut [f64]| {
            let mut state = vec![0.0; width];
            for (from, to) in states.chunks_exact(width).zip(acted.chunks_exact_mut(actions)) {
                state.iter_mut().zip(from).for_each(|(to, from)| *to = (*from).into());
                to.copy_from_slice(&self.inner.act(&state));
            }
            states.iter().all(|value| value.is_number())
        };
        let on_lanes = |lanes: &mut Lanes, states: &[T], acted: &mut [f64]| {
            let live = states.len() / width;
            lanes.set_live(live);
            let finite = spread(states, width, lanes);
            self.kernel.act(lanes, self.numerics);
            for action in 0..actions {
                let column = &lanes.action(action)[..live];
                match actions {
                    1 => acted.iter_mut().zip(column).for_each(|(to, from)| *to = f64::from(*from)),
                    _ => {
                        let places = acted[action..].iter_mut().step_by(actions);
                        places.zip(column).for_each(|(to, from)| *to = f64::from(*from));
                    }
                }
            }
            finite
        };
        let lanes = || Lanes::new(width, actions, BLOCK.min(rows));
        let act = |states: &[T], acted: &mut [f64], lanes: &mut Lanes| match exact {
            true => exactly(states, acted),
            false => on_lanes(lanes, states, acted),
        };
        let mut writing = acted.readwrite();
        let cells = writing.as_slice_mut()?;
        let finite = if rows <= FEW {
            let mut lanes = lanes();
            let mut blocks = states.chunks(BLOCK * width).zip(cells.chunks_mut(BLOCK * actions));
            blocks.all(|(states, acted)| act(states, acted, &mut lanes))
        } else {
            let pool = pool()?;
            py.detach(|| {
                pool.install(|| {
                    let blocks = states.par_chunks(BLOCK * width).zip(cells.par_chunks_mut(BLOCK * actions));
                    let each = blocks.map_init(lanes, |lanes, (states, acted)| act(states, acted, lanes));
                    each.reduce(|| true, |one, other| one & other)
                })
            })
        };
        drop(writing);
        Ok(finite.then_some(acted))
    }
}

/// Reads rules of another tool's, or of ours, from a file; how far they act from what the file says, and what is to be said of it.
#[pyfunction]
pub fn import_policy(py: Python<'_>, path: PathBuf) -> PyResult<(Policy, f64, Vec<String>)> {
    let imported = fpsrl::import::read(&path).map_err(|error| raised(py, &error, About::Policy))?;
    Ok((Policy::of(imported.policy), imported.difference, imported.notes))
}

/// Rules that imitate whoever acted so: the actions in some states, a row each; and the share of the actions' variance that
/// they miss.
#[pyfunction]
pub fn imitate(
    py: Python<'_>,
    problem: &Problem,
    states: PyReadonlyArray2<'_, f64>,
    actions: PyReadonlyArray2<'_, f64>,
) -> PyResult<(Policy, f64)> {
    let columns = |rows: &PyReadonlyArray2<'_, f64>| -> Vec<Vec<f64>> {
        rows.as_array().columns().into_iter().map(|column| column.to_vec()).collect()
    };
    let (states, actions) = (columns(&states), columns(&actions));
    let rows = states.first().map_or(0, Vec::len);
    let next = |column: &Vec<f64>| column.iter().map(|&value| if value == 0.0 { 1.0 } else { -value }).collect();
    let log = Transitions {
        // Where a row leads is none of the imitation's business; that it leads somewhere else makes it matter.
        next_states: states.iter().map(next).collect(),
        episode: vec![0; rows],
        step: (0..rows as u64).collect(),
        rewards: vec![0.0; rows],
        states,
        actions,
        ..Transitions::default()
    };
    let problem = &problem.inner;
    let (policy, missed) = watched(py, None, About::Log, |_| {
        let log = fpsrl::Log::of(problem, log)?;
        let numerics = Numerics::detect(problem.search.numerics);
        Ok(clone_of_the_log(log.system(), &problem.policy, &problem.search, log.transitions(), numerics))
    })?;
    Ok((Policy::of(policy), missed))
}
