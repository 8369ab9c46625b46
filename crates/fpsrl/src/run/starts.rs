//! Start states that are not drawn from ranges: `starts.csv` holds them, a state in each row.

use super::directory::{RunDirectory, STARTS, remove};
use crate::data::log::{self, TextOptions};
use crate::data::{Transitions, absorbing};
use crate::error::{Error, Result};
use crate::files;
use crate::problem::{Problem, StartRule};
use crate::progress::Silent;

/// States that are kept for search and evaluation to draw from.
const MOST: usize = 20_000;

impl RunDirectory {
    /// Writes down where rollouts start, unless ranges say so.
    pub(super) fn write_starts(&self, problem: &Problem, transitions: &Transitions) -> Result<()> {
        let path = self.file(STARTS);
        let states: Vec<Vec<f64>> = match &problem.system.start() {
            StartRule::Ranges => return remove(&path),
            StartRule::Data => {
                let later = absorbing::rewards_from_then_on(transitions);
                rows(transitions, absorbing::rows_that_matter(transitions, &later))
            }
            StartRule::Episodes => {
                let first = |row: &usize| *row == 0 || transitions.episode[*row] != transitions.episode[row - 1];
                rows(transitions, (0..transitions.len()).filter(first).collect())
            }
            StartRule::File(file) => {
                let names: Vec<Vec<String>> = problem.system.states()[..problem.system.current_states()]
                    .iter()
                    .map(|state| [&state.columns[..], std::slice::from_ref(&state.name)].concat())
                    .collect();
                let wanted =
                    |title: &str, name: &str| names.iter().flatten().any(|known| known == title || known == name);
                let table = log::read(file, &TextOptions::default(), &wanted, &Silent)?;
                let columns =
                    names.iter().map(|names| table.numbers(names, "column")).collect::<Result<Vec<&log::Column>>>()?;
                for (column, row) in columns.iter().flat_map(|column| (0..table.rows).map(move |row| (column, row))) {
                    if !column.values[row].is_finite() {
                        let hint = "a start state needs a number for each state variable";
                        return Err(table.fault(row, &column.title, "the cell is empty".into(), hint));
                    }
                }
                let state = |row: usize| columns.iter().map(|column| column.values[row]).collect::<Vec<f64>>();
                (0..table.rows.min(MOST)).map(|row| problem.system.at_rest(&state(row))).collect()
            }
        };
        files::write_atomically(&path, |file| {
            let names: Vec<&str> = problem.system.states().iter().map(|state| state.name.as_str()).collect();
            writeln!(file, "{}", names.join(","))?;
            states.iter().try_for_each(|state| {
                let cells: Vec<String> = state.iter().map(|value| format!("{value:?}")).collect();
                writeln!(file, "{}", cells.join(","))
            })
        })
    }

    /// A problem with the states that its rollouts start from, if `starts.csv` holds them.
    pub(super) fn with_starts(&self, mut problem: Problem) -> Result<Problem> {
        let path = self.file(STARTS);
        if *problem.system.start() == StartRule::Ranges || !path.exists() {
            return Ok(problem);
        }
        let again = "run `fpsrl fit` again";
        let broken = |problem: String| Error::Malformed {
            path: path.clone(),
            line: None,
            column: None,
            problem,
            hint: again.into(),
        };
        let mut reader = ::csv::Reader::from_path(&path).map_err(|error| broken(error.to_string()))?;
        let titles = reader.headers().map_err(|error| broken(error.to_string()))?;
        if !titles.iter().eq(problem.system.states().iter().map(|state| state.name.as_str())) {
            return Err(broken("it is for other variables".into()));
        }
        let states: Vec<Vec<f64>> =
            reader.deserialize().collect::<Result<_, _>>().map_err(|error| broken(error.to_string()))?;
        if states.is_empty() || states.iter().flatten().any(|value| !value.is_finite()) {
            return Err(broken("it does not hold start states".into()));
        }
        problem.system = problem.system.with_start_pool(states).map_err(|error| broken(error.to_string()))?;
        Ok(problem)
    }
}

/// The states of some rows, spread over all of them if they are many.
fn rows(transitions: &Transitions, rows: Vec<usize>) -> Vec<Vec<f64>> {
    let stride = rows.len().div_ceil(MOST).max(1);
    rows.into_iter().step_by(stride).map(|row| transitions.states.iter().map(|column| column[row]).collect()).collect()
}
