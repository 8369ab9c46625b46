//! The first artefact: what is controlled, and the transitions that were recorded of it.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use fpsrl_base::error::{Error, Result};
use fpsrl_base::files;
use fpsrl_base::frame::FRAME;
use fpsrl_base::progress::Progress;
use fpsrl_base::visible::shell_words;
use fpsrl_data::log::{self, Table, TextOptions};
use fpsrl_data::simulate::simulate;
use fpsrl_data::system::StartRule;
use fpsrl_data::tape::Tape;
use fpsrl_data::{System, Transitions, absorbing, bootstrap, csv, generate};
use fpsrl_engine::simd::Numerics;
use fpsrl_world::LaggedWorld;

use super::data_report::{self, DataReport};
use super::worlds::simulator;
use crate::problem::Problem;

/// Start states that are kept: more than a search or an evaluation will ever draw from.
const MOST_STARTS: usize = 20_000;

/// A log, ready to be learned from.
///
/// ```
/// use fpsrl::{Log, Problem, Progress};
/// let mut problem = Problem::benchmark("mountain-car")?;
/// problem.data.samples = 400;
/// let log = Log::new(&problem, &Progress::silent())?;
/// assert_eq!(log.transitions().len(), 400);
/// # Ok::<(), fpsrl::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Log {
    problem: Arc<Problem>,
    transitions: Arc<Transitions>,
    report: Option<Arc<DataReport>>,
    sha256: Arc<OnceLock<String>>,
    seconds: f64,
}

impl Log {
    /// Gets the log of a problem: reads the user's own, draws it from the simulator, or from the built-in plant.
    ///
    /// The whole problem is asked for, because a log is tested for what it will be used for: whether it is its own mirror
    /// image where the rules shall be, and which history predicts it best. [`Log::problem`] has what was chosen.
    pub fn new(problem: &Problem, progress: &Progress) -> Result<Self> {
        problem.check()?;
        let began = Instant::now();
        let log = if problem.data.log.is_some() {
            Self::imported(DataReport::of(problem, progress)?, progress)?
        } else if problem.world.process.is_some() {
            Self::begun(problem, simulated(problem, progress)?, progress)?
        } else {
            Self::begun(problem, generate(&problem.system, &problem.data, progress)?, progress)?
        };
        Ok(Self { seconds: began.elapsed().as_secs_f64(), ..log })
    }

    /// The log of a problem from tables in memory, such as data frames, in the order of time: as [`Log::new`] has it from
    /// files. Their values are not copied before they become transitions.
    pub fn from_tables(problem: &Problem, tables: &[Table<'_>], progress: &Progress) -> Result<Self> {
        let began = Instant::now();
        let mut problem = problem.clone();
        let missing = || {
            let hint = format!("write `file = \"{FRAME}\"` below [data]");
            Error::setting("data.file", "missing", "what columns of a log mean is said of a log", hint)
        };
        let columns = problem.data.log.as_mut().ok_or_else(missing)?;
        columns.files = tables.iter().map(|table| table.path.clone()).collect();
        problem.check()?;
        let log = Self::imported(DataReport::of_tables(&problem, tables)?, progress)?;
        Ok(Self { seconds: began.elapsed().as_secs_f64(), ..log })
    }

    fn imported(
        (report, problem, transitions): (DataReport, Problem, Transitions),
        progress: &Progress,
    ) -> Result<Self> {
        data_report::warn(&problem, &report, progress);
        let problem = data_report::complete(&problem, &transitions);
        Ok(Self { report: Some(Arc::new(report)), ..Self::begun(&problem, transitions, progress)? })
    }

    /// The log of a problem whose transitions are known already, in the order of its variables.
    pub fn of(problem: &Problem, transitions: Transitions) -> Result<Self> {
        Self::begun(problem, transitions, &Progress::silent())
    }

    /// The same; a stop that is asked for is heard while files of start states and scenarios are read.
    fn begun(problem: &Problem, transitions: Transitions, progress: &Progress) -> Result<Self> {
        // They are no stage of their own.
        let progress = Progress::silent().stopped_by(&progress.stop());
        let columns = (transitions.states.len(), transitions.actions.len());
        let wanted = (problem.system.states().len(), problem.system.actions().len());
        if columns != wanted {
            let rule = format!("the problem has {} and {}", wanted.0, wanted.1);
            let value = format!("{} states and {} actions", columns.0, columns.1);
            return Err(Error::setting("transitions", value, rule, "give a column for each variable of the problem"));
        }
        let mut problem = problem.clone();
        if let Some(mut pool) = start_pool(&problem, &transitions, &progress)? {
            if let Some(tape) = Tape::read(&problem.system, &transitions, &progress)? {
                tape.begin(&problem.system, &mut pool);
            }
            problem.system = problem.system.with_start_pool(pool)?;
        }
        Ok(Self {
            problem: Arc::new(problem),
            transitions: Arc::new(transitions),
            report: None,
            sha256: Arc::default(),
            seconds: 0.0,
        })
    }

    /// The bootstrap draw of this number, from 1 up: whole episodes of it with replacement, or stretches where they are few. Which
    /// they are depends on the log and the number alone, not on the seed.
    ///
    /// ```
    /// use fpsrl::{Log, Problem, Progress};
    /// let mut problem = Problem::benchmark("mountain-car")?;
    /// problem.data.samples = 4_000;
    /// let log = Log::new(&problem, &Progress::silent())?;
    /// assert_ne!(log.drawn(1)?.transitions(), log.drawn(2)?.transitions());
    /// # Ok::<(), fpsrl::Error>(())
    /// ```
    pub fn drawn(&self, number: u32) -> Result<Self> {
        let system = self.problem.system.without_start_pool();
        let transitions = bootstrap::draw(&system, &self.transitions, number)?;
        // The states that rollouts start from are those of the draw.
        let log = Self::of(&Problem { system, ..(*self.problem).clone() }, transitions)?;
        Ok(Self { report: self.report.clone(), seconds: self.seconds, ..log })
    }

    /// One that stands in a file, with the digest of that file. Its start states are those of the problem.
    pub(crate) fn stored(problem: Problem, transitions: Transitions, sha256: String) -> Self {
        let (problem, transitions) = (Arc::new(problem), Arc::new(transitions));
        Self { problem, transitions, report: None, sha256: Arc::default(), seconds: 0.0 }.with_sha256(sha256)
    }

    /// The same with the digest of the file that it stands in.
    pub(crate) fn with_sha256(mut self, sha256: String) -> Self {
        self.sha256 = Arc::new(OnceLock::from(sha256));
        self
    }

    /// The problem that it is the log of, with what was chosen by the log: history, ranges, start states.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// What is controlled.
    pub fn system(&self) -> &System {
        &self.problem.system
    }

    /// The transitions.
    pub fn transitions(&self) -> &Transitions {
        &self.transitions
    }

    /// What was found in a log of the user's own when it was read.
    pub fn report(&self) -> Option<&DataReport> {
        self.report.as_deref()
    }

    /// Seconds that it took to get it.
    pub fn seconds(&self) -> f64 {
        self.seconds
    }

    /// The digest of the file that it becomes, `transitions.csv`.
    pub fn sha256(&self) -> Result<String> {
        if let Some(known) = self.sha256.get() {
            return Ok(known.clone());
        }
        let mut text = Vec::new();
        csv::write_to(&mut text, self.system(), &self.transitions)
            .map_err(|_| Error::Internal("a log has no form as text"))?;
        Ok(self.sha256.get_or_init(|| files::sha256_of(&text)).clone())
    }
}

/// Draws a log from the simulator of a problem.
fn simulated(problem: &Problem, progress: &Progress) -> Result<Transitions> {
    let process = simulator(&problem.system, &problem.world)?;
    let world = LaggedWorld::new(&problem.system, Arc::clone(&process));
    let numerics = Numerics::detect(problem.search.numerics);
    let drawn = simulate(&problem.system, &problem.data, &world, numerics, progress);
    process.check()?;
    let transitions = drawn?;
    let columns = || transitions.states.iter().chain(&transitions.next_states).chain([&transitions.rewards]);
    if columns().flatten().any(|value| !value.is_finite()) {
        let command = shell_words(problem.world.process.as_deref().unwrap_or_default());
        let rule = "under random actions it gave a number that is not finite";
        let hint = "let it stop before its states run away";
        return Err(Error::setting("the simulator", format!("`{command}`"), rule, hint));
    }
    Ok(transitions)
}

/// The states that rollouts start from, unless ranges say so.
fn start_pool(problem: &Problem, transitions: &Transitions, progress: &Progress) -> Result<Option<Vec<Vec<f64>>>> {
    let system = &problem.system;
    Ok(Some(match system.start() {
        StartRule::Ranges => return Ok(None),
        StartRule::Data => {
            let later = absorbing::rewards_from_then_on(transitions);
            rows(system, transitions, absorbing::rows_that_matter(transitions, &later))
        }
        StartRule::Episodes => {
            let first = |row: &usize| *row == 0 || transitions.episode[*row] != transitions.episode[row - 1];
            rows(system, transitions, (0..transitions.len()).filter(first).collect())
        }
        StartRule::File(file) => {
            let names: Vec<Vec<String>> = system.states()[..system.current_states()]
                .iter()
                .map(|state| [&state.columns[..], std::slice::from_ref(&state.name)].concat())
                .collect();
            let wanted = |title: &str, name: &str| names.iter().flatten().any(|known| known == title || known == name);
            let memory = problem.data.log.as_ref().and_then(|log| log.memory);
            let table = log::read(file, &TextOptions { memory, ..TextOptions::default() }, &wanted, progress)?;
            let columns =
                names.iter().map(|names| table.numbers(names, "column")).collect::<Result<Vec<&log::Column>>>()?;
            for (column, row) in columns.iter().flat_map(|column| (0..table.rows).map(move |row| (column, row))) {
                if !column.values[row].is_finite() {
                    let hint = "a start state needs a number for each state variable";
                    return Err(table.fault(row, &column.title, "the cell is empty".into(), hint));
                }
            }
            let columns = || columns.iter().zip(system.states());
            let state =
                |row: usize| columns().map(|(column, state)| state.recorded(column.values[row])).collect::<Vec<f64>>();
            (0..table.rows.min(MOST_STARTS)).map(|row| system.at_rest(&state(row))).collect()
        }
    }))
}

/// The states of some rows, spread over all of them if they are many.
fn rows(system: &System, transitions: &Transitions, rows: Vec<usize>) -> Vec<Vec<f64>> {
    let state = |row: usize| transitions.states.iter().map(|column| column[row]).collect();
    if system.place().is_some() {
        return system.dealt(transitions, &rows, MOST_STARTS).into_iter().map(state).collect();
    }
    let stride = rows.len().div_ceil(MOST_STARTS).max(1);
    rows.into_iter().step_by(stride).map(state).collect()
}
