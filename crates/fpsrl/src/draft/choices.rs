//! What only transitions tell: which row an action led to, how far to look ahead, where to start, whether the plant
//! is its own mirror image. Each is asked of an import of the log itself.

use fpsrl_base::error::Error;
use fpsrl_base::text::count;
use fpsrl_data::log::{Column, Guess, ImportReport, Imported, Table};
use fpsrl_data::symmetry::Symmetry;
use fpsrl_data::{Transitions, absorbing};

use crate::problem::{Problem, Row};

/// Episodes from which the first states of episodes are enough to start from.
const FEWEST_EPISODES: usize = 30;

/// How far the first states must be from the others, as a share of their spread; and how much narrower, to be others.
const OTHER: f64 = 0.5;

/// Rows with a mirror image that speak for a symmetry beyond doubt.
const MIRRORED_ROWS: usize = 200;

/// How much more than neighbours mirror images may differ to speak for a symmetry beyond doubt.
const AS_NEAR: f64 = 1.25;

/// What a log tells when it is imported.
#[derive(Debug)]
pub(super) struct Choices {
    /// Which row an action leads to.
    pub(super) leads_to: Row,
    /// What was found on the way; none if the log cannot be imported.
    pub(super) report: Option<ImportReport>,
    /// Steps to look ahead, and why.
    pub(super) horizon: (usize, String),
    /// Where rollouts start, and why.
    pub(super) start: (&'static str, String),
    /// Whether the plant is its own mirror image.
    pub(super) mirror: Mirror,
    /// What is to be said of all that.
    pub(super) found: Vec<String>,
    /// What could not be told.
    pub(super) unknown: Vec<String>,
}

/// How sure it is that a plant is its own mirror image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mirror {
    /// It is not, or nothing speaks for it.
    No,
    /// It may be.
    Perhaps,
    /// The log leaves no doubt.
    Yes,
}

/// Steps that a controller of a set-point looks ahead at most.
const CLOSED_LOOP: usize = 120;

impl Choices {
    /// Asks a log; `import` imports it under the assumption that an action leads to this row.
    pub(super) fn of(guess: &Guess, table: &Table, import: &dyn Fn(Row) -> Result<(Problem, Imported), Error>) -> Self {
        let mut choices = Self {
            leads_to: Row::Next,
            report: None,
            horizon: (0, String::new()),
            start: ("data", "\"data\", \"episodes\" (their first states), \"ranges\", a file".into()),
            mirror: Mirror::No,
            found: Vec::new(),
            unknown: Vec::new(),
        };
        let imported = import(Row::Next).and_then(|imported| {
            choices.align(&imported.1.report);
            // All else is asked of rows that are put together rightly.
            if choices.leads_to == Row::Next { Ok(imported) } else { import(choices.leads_to) }
        });
        match &imported {
            Ok((problem, imported)) => {
                choices.look_ahead(guess, table, Some(imported));
                choices.begin(guess, problem, &imported.transitions);
                choices.reflect(guess, table, problem, &imported.transitions);
                choices.report = Some(imported.report.clone());
            }
            Err(error) => {
                choices.unknown.push(format!("the log cannot be used as it is: {error}"));
                choices.look_ahead(guess, table, None);
            }
        }
        choices
    }

    fn align(&mut self, report: &ImportReport) {
        let Some(alignment) = &report.alignment else { return };
        let figures = format!(
            "left unexplained {:.1} % if to the next row, {:.1} % if to its own, on {} rows",
            100.0 * alignment.error_next,
            100.0 * alignment.error_this,
            alignment.rows
        );
        match alignment.fits {
            Some(row) => {
                self.leads_to = row;
                let which = if row == Row::Next { "the next row" } else { "its own row" };
                self.found.push(format!("an action leads to {which} ({figures})"));
            }
            None if alignment.rows < 60 => self
                .unknown
                .push("which row an action leads to: it changes too seldom to tell; \"next\" is assumed".into()),
            None => self
                .unknown
                .push(format!("which row an action leads to: the data do not tell ({figures}); \"next\" is assumed")),
        }
    }

    /// The horizon: half as long again as an action's effect lasts.
    fn look_ahead(&mut self, guess: &Guess, table: &Table, imported: Option<&Imported>) {
        let longest = imported.map_or(table.rows, |imported| longest_episode(&imported.transitions));
        self.horizon = match guess.settling(table) {
            Some(settling) => {
                let lasts = settling.steps.clamp(20, 500).min((longest / 2).max(2));
                let mut steps = (3 * lasts).div_ceil(2);
                // A loop that is closed settles sooner than a plant that is left alone.
                if !guess.tracks.is_empty() {
                    steps = steps.clamp(50, CLOSED_LOOP);
                }
                self.found.push(format!(
                    "the effect of `{}` on `{}` has settled after about {} steps; `horizon` is {steps}",
                    settling.action, settling.state, settling.steps
                ));
                let why = format!(
                    "steps that the controller looks ahead: an action's effect has settled after about {} steps",
                    settling.steps
                );
                (steps, why)
            }
            None => {
                self.unknown.push(
                    "how far ahead the controller must look: the log does not tell how long an action's effects last; \
                     correct `horizon` if it is longer or shorter"
                        .into(),
                );
                let usual = imported.map_or(0, |imported| imported.report.kept / imported.report.episodes.max(1));
                (
                    usual.clamp(100, if guess.tracks.is_empty() { 200 } else { 100 }),
                    "steps that the controller looks ahead: as long as an action's effects last".into(),
                )
            }
        };
    }

    /// Where rollouts start.
    fn begin(&mut self, guess: &Guess, problem: &Problem, log: &Transitions) {
        let is_first = |row: &usize| *row == 0 || log.episode[*row] != log.episode[row - 1];
        let first: Vec<usize> = (0..log.len()).filter(is_first).collect();
        let later = absorbing::rewards_from_then_on(log);
        let matter = absorbing::rows_that_matter(log, &later);
        let is_last = |row: &usize| *row + 1 == log.len() || log.episode[*row] != log.episode[row + 1];
        let ended = (0..log.len()).filter(is_last).filter(|row| later[*row].is_some()).count();
        if ended > 0 {
            self.found.push(format!(
                "{} of {} episodes end by themselves, in a state that is not left again; rollouts do not start there",
                count(ended),
                count(first.len())
            ));
        }
        // Of what happens to the plant, its beginning says nothing.
        let states = problem.system.states().iter().take(guess.states.len()).zip(&log.states);
        let differs =
            states.map(|(state, column)| (state, other(column, &first, &matter))).find(|(_, differs)| *differs);
        match differs {
            Some((state, _)) if first.len() >= FEWEST_EPISODES => {
                let why = format!(
                    "the first states of its {} episodes: in `{}` they differ from the rest",
                    count(first.len()),
                    state.name
                );
                self.found.push(format!("rollouts start from {why}"));
                self.start = ("episodes", format!("{why}; or \"data\" (all), \"ranges\", a file"));
            }
            _ => {
                let why = match first.len() {
                    1 => "any state of the log, which is one episode".to_owned(),
                    episodes if episodes < FEWEST_EPISODES => {
                        format!(
                            "any state of the log: {episodes} episodes are too few to start from their first states"
                        )
                    }
                    _ => "any state of the log: the first states of its episodes are like the rest".into(),
                };
                self.start = ("data", format!("{why}; or \"episodes\", \"ranges\", a file"));
            }
        }
    }

    /// Whether the plant is its own mirror image.
    fn reflect(&mut self, guess: &Guess, table: &Table, problem: &Problem, log: &Transitions) {
        let column = |title: &String| table.column(std::slice::from_ref(title));
        let centred = guess.states.iter().chain(&guess.actions).all(|title| column(title).is_some_and(is_centred));
        if !centred || !guess.inputs.is_empty() || !guess.tracks.is_empty() {
            return;
        }
        // The step to where a plant stops is a jump, and hides how it moves.
        let later = absorbing::rewards_from_then_on(log);
        let moving: Vec<usize> = (0..log.len()).filter(|row| later[*row].is_none()).collect();
        let symmetry = Symmetry::of(&problem.system, &log.rows(&moving));
        if symmetry.holds != Some(true) {
            return;
        }
        // Where neighbours differ as strangers do, mirror images tell nothing.
        let states = &symmetry.differences[..guess.states.len().min(symmetry.differences.len())];
        let near = states.iter().all(|(_, same, mirrored)| *same < 0.5 && *mirrored <= AS_NEAR * same + 1e-3);
        let earns = symmetry.differences.last().is_some_and(|(_, same, mirrored)| *mirrored <= 2.0 * same + 1e-3);
        let sure = near && earns && symmetry.rows >= MIRRORED_ROWS;
        // Without the reward, half of what must be symmetric is not known.
        let known = guess.reward.is_some() && !guess.unsure_action;
        self.mirror = if sure && known { Mirror::Yes } else { Mirror::Perhaps };
        let rows = count(symmetry.rows);
        match self.mirror {
            Mirror::Yes => self.found.push(format!(
                "the plant is its own mirror image: rows that are mirror images of each other move the other way, in \
                 {rows} rows; 2 rules then need half the parameters (`mirrored`)"
            )),
            _ if sure => self.unknown.push(format!(
                "whether what is good is its own mirror image: the plant is, in {rows} rows; if left is as good as right, \
                 set `mirrored = true` below [policy]"
            )),
            _ => self.unknown.push(format!(
                "whether the plant is its own mirror image: {rows} rows speak for it, but not beyond doubt; if it is, set \
                 `mirrored = true` below [policy]"
            )),
        }
    }
}

/// Whether rows have other values of a column than all of them: around another middle, or narrower, or wider.
fn other(column: &[f64], rows: &[usize], all: &[usize]) -> bool {
    let of = |rows: &[usize]| {
        let count = rows.len().max(1) as f64;
        let mean = rows.iter().map(|&row| column[row]).sum::<f64>() / count;
        let spread = (rows.iter().map(|&row| (column[row] - mean).powi(2)).sum::<f64>() / count).sqrt();
        (mean, spread)
    };
    let ((mean, spread), (usual, usual_spread)) = (of(rows), of(all));
    (mean - usual).abs() > OTHER * usual_spread || spread < OTHER * usual_spread || spread > usual_spread / OTHER
}

/// Whether a column goes as far to one side of 0 as to the other.
pub(super) fn is_centred(column: &Column) -> bool {
    let values = || column.values.iter().copied().filter(|value| value.is_finite());
    let count = values().count().max(1) as f64;
    let mean = values().sum::<f64>() / count;
    let spread = (values().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt();
    let (low, high) = (values().fold(0.0, f64::min), values().fold(0.0, f64::max));
    mean.abs() <= 0.25 * spread && low < 0.0 && (0.5..=2.0).contains(&(high / -low))
}

fn longest_episode(log: &Transitions) -> usize {
    log.episode.chunk_by(|one, other| one == other).map(<[u64]>::len).max().unwrap_or(0)
}
