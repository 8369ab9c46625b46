//! A function of Python's as a world: many copies of a plant, advanced together.

use std::sync::{Mutex, PoisonError};

use fpsrl::rollout::Lanes;
use fpsrl::simd::Numerics;
use fpsrl::world::{Simulator, World};
use numpy::{PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// A function that is called with states and actions, an array each with a row for each copy of the plant. It returns the
/// next states and the rewards, and, if it likes, whether each copy has stopped for good, and what it earns in every step
/// from then on. (The package has made arrays of f64 of whatever it returned.)
pub struct PythonSimulator {
    function: Py<PyAny>,
    states: usize,
    actions: usize,
    largest_reward: f64,
    fault: Mutex<Option<PyErr>>,
}

impl PythonSimulator {
    pub fn new(function: Py<PyAny>, states: usize, actions: usize, largest_reward: f64) -> Self {
        Self { function, states, actions, largest_reward, fault: Mutex::new(None) }
    }

    /// What the function raised, if it did; from now on it is asked again.
    pub fn take_fault(&self) -> Option<PyErr> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn has_failed(&self) -> bool {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    fn step(&self, py: Python<'_>, lanes: &mut Lanes) -> PyResult<()> {
        let live = lanes.live();
        let states = PyArray2::<f64>::zeros(py, [live, self.states], false);
        let actions = PyArray2::<f64>::zeros(py, [live, self.actions], false);
        fill(&states, |row, index| lanes.state(index)[row])?;
        fill(&actions, |row, index| lanes.action(index)[row])?;
        let answer = self.function.call1(py, (states, actions))?;
        let answer = answer.bind(py).cast::<PyTuple>().map_err(|_| PyValueError::new_err("it returned no tuple"))?;
        let next: PyReadonlyArray2<'_, f64> = answer.get_item(0)?.extract()?;
        let column = |index: usize| -> PyResult<PyReadonlyArray1<'_, f64>> { answer.get_item(index)?.extract() };
        let (rewards, terminated, later) = (column(1)?, column(2)?, column(3)?);
        if next.shape() != [live, self.states] || [&rewards, &terminated, &later].iter().any(|one| one.len() != live) {
            let told = format!("it was asked for {live} rows of {} states, and answered with others", self.states);
            return Err(PyValueError::new_err(told));
        }
        let (next, rewards, terminated, later) =
            (next.as_array(), rewards.as_array(), terminated.as_array(), later.as_array());
        let later_of_ended =
            later.iter().zip(terminated.iter()).filter(|(_, ended)| **ended != 0.0).map(|(later, _)| later);
        if let Some(reward) = rewards.iter().chain(later_of_ended).find(|reward| **reward > self.largest_reward) {
            let told = format!("it gave the reward {reward}, and `largest_reward` is {}", self.largest_reward);
            return Err(PyValueError::new_err(told));
        }
        let columns = lanes.columns();
        for lane in 0..live {
            for index in 0..self.states {
                columns.states[index * columns.stride + lane] = next[[lane, index]] as f32;
            }
            columns.rewards[lane] = rewards[lane] as f32;
            columns.absorbed[lane] = if terminated[lane] != 0.0 { 1.0 } else { 0.0 };
            columns.later_rewards[lane] = later[lane] as f32;
        }
        Ok(())
    }
}

/// Writes numbers into an array, row by row.
fn fill(array: &Bound<'_, PyArray2<f64>>, number: impl Fn(usize, usize) -> f32) -> PyResult<()> {
    let width = array.shape()[1];
    let mut array = array.readwrite();
    let cells = array.as_slice_mut()?;
    for (place, cell) in cells.iter_mut().enumerate() {
        *cell = f64::from(number(place / width, place % width));
    }
    Ok(())
}

impl World for PythonSimulator {
    fn state_count(&self) -> usize {
        self.states
    }

    fn action_count(&self) -> usize {
        self.actions
    }

    fn advance(&self, lanes: &mut Lanes, _: Numerics) {
        let stepped = match self.has_failed() {
            true => Ok(false),
            false => Python::attach(|py| self.step(py, lanes).map(|()| true)),
        };
        if !matches!(stepped, Ok(true)) {
            if let Err(fault) = stepped {
                self.fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(fault);
            }
            // Nothing more is to be had: all lanes end.
            let columns = lanes.columns();
            columns.rewards[..columns.live].fill(0.0);
            columns.absorbed[..columns.live].fill(1.0);
            columns.later_rewards[..columns.live].fill(0.0);
        }
    }

    fn largest_reward(&self) -> f64 {
        self.largest_reward
    }
}

impl Simulator for PythonSimulator {
    fn check(&self) -> fpsrl::Result<()> {
        match &*self.fault.lock().unwrap_or_else(PoisonError::into_inner) {
            None => Ok(()),
            Some(fault) => {
                let hint = "call it by hand with an array of states and one of actions, a row each";
                Err(fpsrl::Error::setting("the simulator", "a function", format!("it failed: {fault}"), hint))
            }
        }
    }
}
