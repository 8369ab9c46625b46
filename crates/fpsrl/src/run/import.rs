//! The first stage of a run on a log of the user's own: the log becomes `transitions.csv`.

use std::path::Path;
use std::time::Instant;

use super::directory::{self, DATA, RunDirectory};
use super::stages;
use crate::data::Transitions;
use crate::data::coverage::Coverage;
use crate::data::log::{self, ImportReport, Imported};
use crate::data::symmetry::Symmetry;
use crate::error::{Error, Result};
use crate::files;
use crate::problem::{Problem, Row, StartRule};
use crate::progress::Progress;

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
        let Imported { problem, transitions, report } = log::import(problem, progress)?;
        // What is remembered covers nothing that was not covered before.
        let (recorded, log) = (problem.without_memory(), transitions.without_memory());
        let coverage = Coverage::of(&recorded, &log);
        let symmetry = (problem.policy.mirrored || problem.world.mirror).then(|| Symmetry::of(&recorded, &log));
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
    if let StartRule::File(file) = &mut problem.start {
        *file = files::absolute(file);
    }
    if problem.start != StartRule::Ranges {
        for (state, values) in problem.states.iter_mut().zip(&transitions.states) {
            let fold = |of: fn(f64, f64) -> f64, first| values.iter().copied().fold(first, of);
            state.start = [fold(f64::min, f64::INFINITY), fold(f64::max, f64::NEG_INFINITY)];
            state.data_start = state.start;
        }
    }
    problem
}
