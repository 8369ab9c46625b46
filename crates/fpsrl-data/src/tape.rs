//! What inputs do in rollouts: a tape with a place for each row of the log.
//!
//! A state holds the place that it is at; a step goes on to the next one of the same episode, and at the end of an episode
//! everything stays as it is. Whatever the inputs follow, the log, a range or a file of scenarios, becomes such a tape.

use fpsrl_base::error::Result;
use fpsrl_base::progress::Progress;
use fpsrl_base::random::{Purpose, Stream};

use crate::log::{TextOptions, read};
use crate::system::{InputRule, StateVariable};
use crate::{System, Transitions};

/// The inputs of rollouts, place by place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tape {
    /// Of each place, the one after it; the last one of an episode is followed by itself.
    pub next: Vec<u32>,
    /// Of each input that does not stay as it is: its number among the state variables, and its value at each place.
    pub inputs: Vec<(usize, Vec<f64>)>,
}

impl Tape {
    /// The tape of a system with inputs; none without any.
    pub fn of(system: &System, transitions: &Transitions) -> Result<Option<Self>> {
        if system.place().is_none() {
            return Ok(None);
        }
        let rows = transitions.len();
        let next = (0..rows).map(|row| transitions.successor(row).unwrap_or(row) as u32).collect();
        let mut inputs = Vec::new();
        for (variable, state) in system.states()[..system.current_states()].iter().enumerate() {
            let Some(input) = &state.input else { continue };
            let values = match &input.rollout {
                InputRule::Hold => continue,
                InputRule::Log => transitions.states[variable].clone(),
                InputRule::Range { range: [low, high], dwell } => {
                    let stream = Stream::new(system.seed(), Purpose::Scenario);
                    let value = |row: usize| stream.within(*low, *high, (row / dwell) as u32, variable as u32, 0);
                    // A mode has whole numbers only.
                    let whole = |value: f64| if input.values.is_empty() { value } else { value.round() };
                    (0..rows).map(|row| whole(value(row))).collect()
                }
                InputRule::File(file) => {
                    let column = scenario(file, state)?;
                    (0..rows).map(|row| column[row % column.len()]).collect()
                }
            };
            inputs.push((variable, values));
        }
        Ok(Some(Self { next, inputs }))
    }

    /// Puts the inputs of a tape into start states, whose error follows from them.
    pub fn begin(&self, system: &System, states: &mut [Vec<f64>]) {
        let Some(place) = system.place() else { return };
        for state in states {
            let at = state[place] as usize;
            for (variable, values) in &self.inputs {
                state[*variable] = values.get(at).copied().unwrap_or(state[*variable]);
            }
            let errors: Vec<(usize, f64)> = system
                .states()
                .iter()
                .enumerate()
                .filter_map(|(variable, derived)| match derived.lag?.from {
                    crate::system::Carried::Error { state: of, set_point } => {
                        Some((variable, state[set_point] - state[of]))
                    }
                    _ => None,
                })
                .collect();
            errors.into_iter().for_each(|(variable, error)| state[variable] = error);
        }
    }
}

/// The column of an input in a file of scenarios.
fn scenario(file: &std::path::Path, state: &StateVariable) -> Result<Vec<f64>> {
    let names: Vec<String> = state.columns.iter().chain([&state.name]).cloned().collect();
    let wanted = |title: &str, name: &str| names.iter().any(|known| known == title || known == name);
    let mut table = read(file, &TextOptions::default(), &wanted, &Progress::silent())?;
    if !state.values().is_empty() {
        table.number_words(&names, state.values(), &state.name)?;
    }
    let column = table.numbers(&names, "column")?;
    if let Some(row) = column.values.iter().position(|value| !value.is_finite()) {
        let hint = "a scenario needs a number in each row";
        return Err(table.fault(row, &column.title, "the cell is empty".into(), hint));
    }
    Ok(column.values.clone())
}
