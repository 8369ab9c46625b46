//! The first stage of a run on a log of the user's own: the log becomes `transitions.csv`.

use std::path::Path;
use std::time::Instant;

use super::directory::{self, DATA, RunDirectory, TRANSITIONS};
use super::stages;
use crate::data::Transitions;
use crate::data::coverage::Coverage;
use crate::data::log::{self, FileReport, ImportReport, Imported};
use crate::data::symmetry::Symmetry;
use crate::error::{Error, Result};
use crate::files;
use crate::problem::{History, Problem, Row};
use crate::progress::Progress;
use fpsrl_world::history::choose;

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
    pub fn of(problem: &Problem, progress: &dyn Progress) -> Result<(Self, Problem, Transitions)> {
        let (problem, Imported { transitions, report }) = Self::import(problem, progress)?;
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

    /// The state of the data of a run: its own log, and what was found when that was imported.
    pub fn of_run(run: &RunDirectory) -> Result<(Self, Problem)> {
        /// What is read of `data.json`; all else follows from the log.
        #[derive(serde::Deserialize)]
        struct Kept {
            import: ImportReport,
        }
        let problem = run.problem()?;
        if let Ok(summary) = run.summary() {
            run.check_log(&summary)?;
        }
        let transitions = run.transitions(&problem)?;
        let path = run.file(DATA);
        let import = match path.exists() {
            true => files::read_json::<Kept>(&path)?.import,
            false => {
                let begins = |row: &usize| *row == 0 || transitions.episode[*row] != transitions.episode[row - 1];
                let (rows, episodes) = (transitions.len(), (0..transitions.len()).filter(begins).count());
                let file = FileReport { path: run.file(TRANSITIONS), rows, notes: Vec::new() };
                ImportReport { files: vec![file], rows, episodes, transitions: rows, kept: rows, ..Default::default() }
            }
        };
        let (coverage, symmetry) = look(&problem, &transitions);
        Ok((Self { import, coverage, symmetry }, problem))
    }

    /// Turns a problem's log into transitions. The problem comes back with the history that was chosen, if that was asked
    /// for.
    pub fn import(problem: &Problem, progress: &dyn Progress) -> Result<(Problem, Imported)> {
        let mut problem = problem.clone();
        let recording = log::record(&problem.system, &problem.data, problem.world.reward.as_ref(), progress)?;
        let asked = problem.data.history().unwrap_or(History::Steps(0));
        let (system, history) = choose(&problem.system, asked, &recording.recorded)?;
        let world = problem.world.for_system(&system)?;
        let imported = recording.finish(&system, &problem.data, world.reward.as_ref(), history.clone())?;
        if let (History::Auto, Some(log)) = (asked, &mut problem.data.log) {
            log.history = History::Steps(history.steps);
        }
        (problem.system, problem.world) = (system, world);
        Ok((problem, imported))
    }
}

/// What transitions cover, and whether they are their own mirror image where that is declared.
fn look(problem: &Problem, transitions: &Transitions) -> (Coverage, Option<Symmetry>) {
    // What is remembered covers nothing that was not covered before.
    let (recorded, log) = (problem.system.without_memory(), transitions.without_memory());
    let symmetry = (problem.policy.mirrored || problem.world.mirror).then(|| Symmetry::of(&recorded, &log));
    (Coverage::of(&recorded, &log), symmetry)
}

/// Imports the log of a problem into a new run directory.
pub(super) fn import(problem: &Problem, path: &Path, force: bool, progress: &dyn Progress) -> Result<RunDirectory> {
    directory::check_free(path, force)?;
    let began = Instant::now();
    let (report, problem, transitions) = DataReport::of(problem, progress)?;
    warn(&problem, &report, progress);
    let problem = &complete(&problem, &transitions);
    stages::write_log(problem, &transitions, path, force, ("import", began), |run| {
        files::write_json(&run.file(DATA), &report)
    })
}

/// Says what a user must hear of before hours of training, though it stops nothing.
fn warn(problem: &Problem, report: &DataReport, progress: &dyn Progress) {
    let import = &report.import;
    let set = problem.data.log.as_ref().map(|log| log.action_leads_to).unwrap_or_default();
    if let Some(alignment) = &import.alignment
        && let Some(fits) = alignment.fits.filter(|fits| *fits != set)
    {
        progress.announce(&format!(
            "warning: by the data, actions lead to {} row: write action_leads_to = \"{}\" below [data]",
            if fits == Row::Next { "the next" } else { "their own" },
            fits.word()
        ));
    }
    let mut steps = import.transitions.saturating_sub(import.missing);
    if let Some(history) = &import.history {
        if !history.tried.is_empty() {
            progress.announce(&format!("a history of {} steps was chosen by held-out rows", history.steps));
        }
        steps = steps.saturating_sub(history.lost);
    }
    if import.kept < steps {
        progress.announce(&format!(
            "{} of {steps} transitions are kept, in stretches spread over the log; `samples` below [data] changes that",
            import.kept
        ));
    }
    if import.lost_terminals > 0 {
        progress.announce(&format!(
            "warning: {} terminal steps are lost, because their next state is not in the log",
            import.lost_terminals
        ));
    }
    if report.symmetry.as_ref().is_some_and(|symmetry| symmetry.holds.is_none()) {
        progress.announce(&"warning: `policy.mirrored` could not be tested: the log has too few mirror images");
    }
    for (action, rows) in &import.outside_limits {
        progress.announce(&format!("warning: {rows} rows have `{action}` outside of its limits"));
    }
}

/// The problem as the run directory holds it: its files are named so that they are found from there too, and ranges
/// that the user left to the data are those of the data.
fn complete(problem: &Problem, transitions: &Transitions) -> Problem {
    let mut problem = problem.clone();
    if let Some(log) = &mut problem.data.log {
        for file in &mut log.files {
            *file = files::absolute(file);
        }
    }
    problem.system = problem.system.settled(&transitions.states);
    problem
}
