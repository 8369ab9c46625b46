//! `starts.csv`: the states that rollouts start from, unless ranges say so.

use super::directory::{RunDirectory, unreadable};
use super::graph::STARTS;
use crate::error::{Error, Result};
use crate::files;
use crate::problem::{Problem, StartRule, System};
use fpsrl_base::disk;

impl RunDirectory {
    /// Writes down where rollouts start; none for ranges. Returns the digest of the file.
    pub(super) fn write_starts(&self, system: &System) -> Result<Option<String>> {
        let Some(states) = system.start_pool() else {
            self.remove(STARTS)?;
            return Ok(None);
        };
        files::write_atomically(&self.file(STARTS), |file| {
            let names: Vec<&str> = system.states().iter().map(|state| state.name.as_str()).collect();
            writeln!(file, "{}", names.join(","))?;
            states.iter().try_for_each(|state| {
                let cells: Vec<String> = state.iter().map(|value| format!("{value:?}")).collect();
                writeln!(file, "{}", cells.join(","))
            })
        })?;
        self.starts_sha256()
    }

    /// A problem with the states that its rollouts start from, if `starts.csv` holds them.
    pub(super) fn with_starts(&self, mut problem: Problem) -> Result<Problem> {
        let path = self.file(STARTS);
        if *problem.system.start() == StartRule::Ranges || !self.has(STARTS)? {
            return Ok(problem);
        }
        let broken = |problem: String| self.broken(STARTS, problem);
        let mut reader = csv::Reader::from_reader(disk::open(&path).map_err(|source| Error::read(&path, source))?);
        let unread = |error| unreadable(error, &path, |error| broken(error.to_string()));
        let titles = reader.headers().map_err(unread)?;
        if !titles.iter().eq(problem.system.states().iter().map(|state| state.name.as_str())) {
            return Err(broken("it is for other variables".into()));
        }
        let states: Vec<Vec<f64>> = reader.deserialize().collect::<Result<_, _>>().map_err(unread)?;
        if states.is_empty() || states.iter().flatten().any(|value| !value.is_finite()) {
            return Err(broken("it does not hold start states".into()));
        }
        problem.system = problem.system.with_start_pool(states).map_err(|error| broken(error.to_string()))?;
        Ok(problem)
    }
}
