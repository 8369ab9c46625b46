//! The state of a log of the user's own, and how it becomes transitions.

use fpsrl_base::error::{Error, Result};
use fpsrl_base::files;
use fpsrl_base::progress::{Notice, Progress};
use fpsrl_data::coverage::Coverage;
use fpsrl_data::log::{self, ImportReport, Imported, Recording, Table};
use fpsrl_data::symmetry::Symmetry;
use fpsrl_data::system::History;
use fpsrl_data::{Row, Transitions};
use fpsrl_world::history::choose;

use crate::problem::Problem;

/// The state of the data: `data.json`, and what `fpsrl check` shows.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct DataReport {
    /// What was found in the log, and what was done about it.
    pub import: ImportReport,
    /// What the transitions cover.
    pub coverage: Coverage,
    /// Whether the log is its own mirror image; none if nobody declares so.
    pub symmetry: Option<Symmetry>,
}

impl DataReport {
    /// Reads a problem's log, and looks at it.
    ///
    /// The problem comes back with the history that was chosen, if that was asked for.
    pub fn of(problem: &Problem, progress: &Progress) -> Result<(Self, Problem, Transitions)> {
        Self::looked_at(Self::import(problem, progress)?)
    }

    /// The same for a log that is in memory as tables, whatever files the problem names.
    pub fn of_tables(problem: &Problem, tables: &[Table<'_>]) -> Result<(Self, Problem, Transitions)> {
        Self::looked_at(Self::import_tables(problem, tables)?)
    }

    fn looked_at((problem, imported): (Problem, Imported)) -> Result<(Self, Problem, Transitions)> {
        let Imported { transitions, report } = imported;
        refuse_an_easy_reward(&problem, &transitions)?;
        let (coverage, symmetry) = look(&problem, &transitions);
        if let Some(symmetry) = symmetry.as_ref().filter(|symmetry| symmetry.holds == Some(false)) {
            let rule = format!(
                "the log contradicts it: mirror images differ in `{}` more than neighbours do, in {} rows",
                symmetry.worst(),
                symmetry.rows
            );
            let hint = "set `mirrored = false` below [policy]; or, if a sensor is off centre, correct its column";
            return Err(Error::setting("policy.mirrored", true, rule, hint));
        }
        Ok((Self { import: report, coverage, symmetry }, problem, transitions))
    }

    /// The state of a log that has been imported before, with what was found then.
    pub(crate) fn again(problem: &Problem, transitions: &Transitions, import: ImportReport) -> Self {
        let (coverage, symmetry) = look(problem, transitions);
        Self { import, coverage, symmetry }
    }

    /// Turns a problem's log into transitions. The problem comes back with the history that was chosen, if that was asked
    /// for.
    pub fn import(problem: &Problem, progress: &Progress) -> Result<(Problem, Imported)> {
        let recording = log::record(&problem.system, &problem.data, problem.world.reward.as_ref(), progress)?;
        Self::finish(problem, recording)
    }

    /// The same for tables in memory.
    pub fn import_tables(problem: &Problem, tables: &[Table<'_>]) -> Result<(Problem, Imported)> {
        let recording = log::record_tables(&problem.system, &problem.data, problem.world.reward.as_ref(), tables)?;
        Self::finish(problem, recording)
    }

    fn finish(problem: &Problem, recording: Recording) -> Result<(Problem, Imported)> {
        let mut problem = problem.clone();
        let asked = problem.data.history().unwrap_or(History::Steps(0));
        let (system, history) = choose(&problem.system, asked, &recording.recorded)?;
        let world = problem.world.for_system(&system)?;
        let imported =
            recording.finish(&system, &problem.data, world.reward.as_ref(), world.costs.as_ref(), history.clone())?;
        if let (History::Auto, Some(log)) = (asked, &mut problem.data.log) {
            log.history = History::Steps(history.steps);
        }
        (problem.system, problem.world) = (system, world);
        Ok((problem, imported))
    }
}

/// Rows that a reward is tried on, and values of each action.
const TRIED_ROWS: usize = 200;
const TRIED_VALUES: usize = 41;

/// Refuses a reward that an action earns by itself, whatever the plant does: `-abs(PV - SP)` where `SP` is an action. The
/// controller would move the set-point to the measurement.
fn refuse_an_easy_reward(problem: &Problem, transitions: &Transitions) -> Result<()> {
    let Some(formula) = &problem.world.reward else { return Ok(()) };
    let stride = transitions.len().div_ceil(TRIED_ROWS).max(1);
    let rows: Vec<usize> = (0..transitions.len()).step_by(stride).collect();
    let of = |columns: &[Vec<f64>], row: usize| columns.iter().map(|column| column[row]).collect::<Vec<f64>>();
    for (index, action) in problem.system.actions().iter().enumerate() {
        let [low, high] = action.limits;
        // What each row earns with each value of this action, all else as it was.
        let earned = |row: usize, value: f64| {
            let mut actions = of(&transitions.actions, row);
            actions[index] = value;
            let (before, after) = (of(&transitions.states, row), of(&transitions.next_states, row));
            formula.evaluate(&fpsrl_engine::formula::values(&before, &actions, &after))
        };
        let value = |step: usize| low + (high - low) * step as f64 / (TRIED_VALUES - 1) as f64;
        let spans: Vec<[f64; 2]> = rows
            .iter()
            .map(|&row| {
                let all = (0..TRIED_VALUES).map(|step| earned(row, value(step)));
                all.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], one| [low.min(one), high.max(one)])
            })
            .collect();
        let best = spans.iter().map(|span| span[1]).fold(f64::NEG_INFINITY, f64::max);
        let worst = spans.iter().map(|span| span[0]).fold(f64::INFINITY, f64::min);
        let fixed = rows.iter().map(|&row| earned(row, transitions.actions[index][row]));
        let [least, most] =
            fixed.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], one| [low.min(one), high.max(one)]);
        let near = 0.05 * (best - worst);
        let everywhere = spans.iter().filter(|span| span[1] >= best - near).count() * 10 >= 9 * spans.len();
        let decides = spans.iter().filter(|span| span[1] - span[0] > near).count() * 10 >= 9 * spans.len();
        // A price of the action alone is no such reward: what the plant does must matter to it, too.
        let states_matter = rows
            .iter()
            .map(|&row| earned(row, low))
            .fold([f64::INFINITY, f64::NEG_INFINITY], |[a, b], one| [a.min(one), b.max(one)]);
        if everywhere && decides && most - least > near && states_matter[1] - states_matter[0] > near {
            let name = &action.name;
            let rule = format!("`{name}` alone earns the most of it, whatever the plant does");
            let hint = format!(
                "if `{name}` is a set-point or a measurement, make it an [[input]]: a controller moves actuators only"
            );
            return Err(Error::setting("world.reward", format!("{:?}", formula.text()), rule, hint));
        }
    }
    Ok(())
}

/// What transitions cover, and whether they are their own mirror image where that is declared.
fn look(problem: &Problem, transitions: &Transitions) -> (Coverage, Option<Symmetry>) {
    // What is remembered covers nothing that was not covered before.
    let (recorded, log) = (problem.system.without_lags(), transitions.without_lags());
    let symmetry = (problem.policy.mirrored || problem.world.mirror).then(|| Symmetry::of(&recorded, &log));
    (Coverage::of(&recorded, &log), symmetry)
}

/// Says what a user must hear of before hours of training, though it stops nothing.
pub(super) fn warn(problem: &Problem, report: &DataReport, progress: &Progress) {
    let import = &report.import;
    let set = problem.data.log.as_ref().map(|log| log.action_leads_to).unwrap_or_default();
    if let Some(alignment) = &import.alignment
        && let Some(fits) = alignment.fits.filter(|fits| *fits != set)
    {
        progress.notice(Notice::Alignment { next: fits == Row::Next, word: fits.word() });
    }
    let mut steps = import.transitions.saturating_sub(import.missing);
    if let Some(history) = &import.history {
        if !history.tried.is_empty() {
            progress.notice(Notice::HistoryChosen { steps: history.steps });
        }
        steps = steps.saturating_sub(history.lost);
    }
    if import.kept < steps {
        progress.notice(Notice::Thinned { kept: import.kept, of: steps });
    }
    if import.lost_terminals > 0 {
        progress.notice(Notice::LostTerminals(import.lost_terminals));
    }
    if report.symmetry.as_ref().is_some_and(|symmetry| symmetry.holds.is_none()) {
        progress.notice(Notice::MirrorUntested);
    }
    for (action, rows) in &import.outside_limits {
        progress.notice(Notice::OutsideLimits { action: action.clone(), rows: *rows });
    }
}

/// The problem as the run directory holds it: its files are named so that they are found from there too, and ranges
/// that the user left to the data are those of the data.
pub(super) fn complete(problem: &Problem, transitions: &Transitions) -> Problem {
    let mut problem = problem.clone();
    if let Some(log) = &mut problem.data.log {
        for file in &mut log.files {
            *file = files::absolute(file);
        }
    }
    problem.system = problem.system.settled(&transitions.states);
    problem
}
