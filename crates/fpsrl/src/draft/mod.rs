//! A problem file from a log: what was found is filled in, each thing with its reason; what could not be known is
//! said, and the user corrects it. What decides everything and is not sure, the action or the reward, stays open, so
//! that a run asks for it.

mod choices;
mod goal;
mod remarks;
mod sections;
mod sheet;

use std::path::{Path, PathBuf};

use fpsrl_base::error::{Error, Result};
use fpsrl_base::frame::FRAME;
use fpsrl_base::progress::Progress;
use fpsrl_base::remedy::Remedy;
use fpsrl_base::settings::quoted;
use fpsrl_data::log::{Column, Guess, Imported, InputKind, Kind, Table, TextOptions, columns_read, read};
use fpsrl_engine::formula::Function;

use self::choices::Choices;
use self::goal::Goal;
use self::sections::Sections;
use self::sheet::{Sheet, plain};
use crate::problem::{OneOrMany, Problem, WrittenProblem};
use crate::stage::DataReport;

/// Variables and actions that a problem has at most.
const MOST_VARIABLES: usize = 64;
const MOST_ACTIONS: usize = 16;

/// Names that a variable cannot have: columns of our own files, and what formulas mean by them.
const RESERVED: [&str; 10] = ["episode", "step", "reward", "terminated", "log_row", "pi", "and", "or", "not", ""];

/// Characters of a title that a variable is called by, at most.
const LONGEST_NAME: usize = 60;

/// Columns of which some could be next states, rewards, times or nothing; more cannot all be.
const WIDEST: usize = 400;

/// A problem file to be corrected, and what it was made from.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    /// The text of the problem file.
    pub text: String,
    /// What was found.
    pub found: Vec<String>,
    /// What could not be known, and what is still to be done.
    pub unknown: Vec<String>,
}

/// Drafts the problem file of a log. `guess` holds what the user knows already.
///
/// The problem file will stand in `directory`, from which the log's files are named.
pub fn init(
    files: &[PathBuf],
    directory: &Path,
    options: &TextOptions,
    guess: Guess,
    progress: &Progress,
) -> Result<Draft> {
    let origin = Origin::Files { files, directory, options, progress };
    draft(&origin, guess)
}

/// Drafts the problem file of a log that is in memory, as tables in the order of time, such as data frames; `name` is what
/// the problem is called.
///
/// ```
/// use fpsrl::data::log::{Column, Guess, Table};
/// let level: Vec<f64> = (0..300).map(|row| (row as f64 / 7.0).sin() + 0.1 * (row % 5) as f64).collect();
/// let valve: Vec<f64> = (0..300).map(|row| (row % 5) as f64).collect();
/// let columns = [("level", &level), ("valve", &valve)].map(|(name, values)| Column::of_numbers(name, &values[..]));
/// let known = Guess { actions: vec!["valve".into()], ..Guess::default() };
/// let draft = fpsrl::draft::of_tables(&[Table::in_memory(columns.to_vec())], "tank", known)?;
/// assert!(draft.text.contains("name = \"tank\"") && draft.text.contains("file = \"<frame>\""));
/// # Ok::<(), fpsrl::Error>(())
/// ```
pub fn of_tables(tables: &[Table<'_>], name: &str, guess: Guess) -> Result<Draft> {
    draft(&Origin::Tables { tables, name }, guess)
}

/// Where the log is that a draft is made of.
enum Origin<'a> {
    Files { files: &'a [PathBuf], directory: &'a Path, options: &'a TextOptions, progress: &'a Progress },
    Tables { tables: &'a [Table<'a>], name: &'a str },
}

impl<'a> Origin<'a> {
    /// What of the log its parts are called, as the problem file names them.
    fn parts(&self) -> Vec<String> {
        match self {
            Self::Files { files, directory, .. } => files.iter().map(|file| named_from(directory, file)).collect(),
            Self::Tables { .. } => vec![FRAME.to_owned()],
        }
    }

    fn count(&self) -> usize {
        match self {
            Self::Files { files, .. } => files.len(),
            Self::Tables { tables, .. } => tables.len(),
        }
    }

    /// The columns that are wanted of a part.
    fn table(&self, part: usize, wanted: &dyn Fn(&str, &str) -> bool) -> Result<Table<'a>> {
        let missing = Error::Internal("a log without a part");
        match self {
            Self::Files { files, options, progress, .. } => {
                read(files.get(part).ok_or(missing)?, options, wanted, progress)
            }
            Self::Tables { tables, .. } => tables.get(part).ok_or(missing).map(Table::lent),
        }
    }

    fn name(&self, table: &Table) -> String {
        match self {
            Self::Files { .. } => plain_name(&table.path.file_stem().unwrap_or_default().to_string_lossy()),
            Self::Tables { name, .. } => plain_name(name),
        }
    }

    /// Imports the log for a problem on trial; `first` is its first part, which has been read already.
    fn import(&self, text: &str, first: &Table) -> Result<(Problem, Imported)> {
        self.go_on()?;
        match self {
            Self::Files { files, directory, progress, .. } => {
                let mut written = WrittenProblem::parse(text, &directory.join("problem.toml"))?;
                let named = files.iter().map(|file| file.to_string_lossy().into_owned()).collect();
                written.data.file = Some(OneOrMany::Many(named));
                let problem = written.check()?;
                match &problem.data.log {
                    // It is not read again, and not held twice.
                    Some(log) if files.len() == 1 => {
                        let read = columns_read(&problem.system, log);
                        let wanted = |title: &str, name: &str| read.iter().any(|read| read == title || read == name);
                        DataReport::import_tables(&problem, &[first.lent_of(&wanted)])
                    }
                    _ => DataReport::import(&problem, &Progress::silent().stopped_by(&progress.stop())),
                }
            }
            Self::Tables { tables, .. } => {
                DataReport::import_tables(&WrittenProblem::parse(text, "the draft".as_ref())?.check()?, tables)
            }
        }
    }

    /// Whether drafting may go on: looking at a long log takes seconds.
    fn go_on(&self) -> Result<()> {
        match self {
            Self::Files { progress, .. } if progress.stop_requested() => Err(Error::Stopped { stage: "import" }),
            _ => Ok(()),
        }
    }

    fn options(&self) -> TextOptions {
        match self {
            Self::Files { options, .. } => (*options).clone(),
            Self::Tables { .. } => TextOptions::default(),
        }
    }
}

/// Adds what modes are called in further parts of the log; all else is told by the first.
fn add_modes_of_others(origin: &Origin<'_>, guess: &mut Guess) -> Result<()> {
    let mut modes: Vec<(&String, &mut Vec<String>)> = Vec::new();
    for input in &mut guess.inputs {
        if let InputKind::Mode { values } = &mut input.kind {
            modes.push((&input.title, values));
        }
    }
    if modes.is_empty() {
        return Ok(());
    }
    for part in 1..origin.count() {
        let table = origin.table(part, &|title, _| modes.iter().any(|(mode, _)| *mode == title))?;
        for (title, values) in &mut modes {
            let Some(column) = table.column(std::slice::from_ref(title)) else { continue };
            // As numbers are sorted by their size, so are those that are added.
            let number = |word: &String| word.parse::<f64>().unwrap_or(f64::NAN);
            match column.kind {
                Kind::Text => values.extend(column.words.iter().cloned()),
                _ => values.extend(column.values.iter().filter(|value| value.is_finite()).map(f64::to_string)),
            }
            values.sort_by(|a, b| number(a).total_cmp(&number(b)).then_with(|| a.cmp(b)));
            values.dedup();
        }
    }
    Ok(())
}

/// Gives the columns of a log their roles, and drafts its problem file.
fn draft(origin: &Origin<'_>, guess: Guess) -> Result<Draft> {
    let table = &origin.table(0, &|_, _| true)?;
    for (title, key) in said(&guess) {
        table.expect(std::slice::from_ref(title), key)?;
    }
    refuse_what_is_too_wide(&guess, table, &table.path)?;
    origin.go_on()?;
    let mut guess = guess.complete_unless(table, &|| origin.go_on().is_err());
    origin.go_on()?;
    add_modes_of_others(origin, &mut guess)?;
    refuse_what_is_no_problem(&guess, table, &table.path)?;
    written(origin, &guess, table)
}

/// The problem file of a table whose columns have their roles.
fn written(origin: &Origin<'_>, guess: &Guess, table: &Table) -> Result<Draft> {
    let names = Names::choose(guess, table);
    let goal = Goal::of(guess, table, &names);
    let (paths, options) = (origin.parts(), origin.options());
    let sections = Sections { guess, table, names: &names, options: &options, files: &paths, goal: goal.as_ref() };
    let choices = Choices::of(guess, table, &|leads_to| origin.import(&sections.trial(leads_to), table));
    origin.go_on()?;

    let (mut found, mut unknown) = remarks::remarks(guess, table, goal.as_ref(), &choices);
    let mut sheet = Sheet::default();
    sheet.line("name", quoted(&origin.name(table)), "the run directory is called after it");
    sheet.line("horizon", choices.horizon.0, &choices.horizon.1);
    sheet.line("start", quoted(choices.start.0), &format!("where rollouts start: {}", choices.start.1));
    sections.inputs(&mut sheet);
    sections.states(&mut sheet, &mut found);
    sections.actions(&mut sheet, choices.mirror, &mut found);
    sections.data(&mut sheet, choices.leads_to, !guess.unsure_action);
    sections.history(&mut sheet);
    sections.reading(&mut sheet);
    sections.world(&mut sheet);
    sections.policy(&mut sheet, &choices);

    for lines in [&mut found, &mut unknown] {
        lines.iter_mut().for_each(|line| *line = plain(line));
    }
    let text = head(&paths, &found, &unknown) + &sheet.text();
    Ok(Draft { text, found, unknown })
}

/// The remarks at the head of the file.
fn head(files: &[String], found: &[String], unknown: &[String]) -> String {
    let mut head = Sheet::default();
    let from = files.join(", ");
    head.remark(&format!("A problem of fpsrl, drafted from {from}. Correct it, then: fpsrl check, fpsrl run."));
    for (heading, lines) in [("What was found:", found), ("Not known:", unknown)] {
        if !lines.is_empty() {
            head.remark("");
            head.remark(heading);
            lines.iter().for_each(|line| head.remark(&format!("  - {line}")));
        }
    }
    head.remark("");
    head.remark("Settings that are not here have defaults; `fpsrl run` writes all of them into the run directory.");
    head.space();
    head.text()
}

/// The name of a problem, from that of its log.
fn plain_name(of: &str) -> String {
    let stem = of.strip_suffix(".csv").unwrap_or(of);
    let name: String =
        stem.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '-' }).collect();
    let name = name.trim_start_matches(['.', '-']);
    if name.is_empty() { "log".into() } else { name.into() }
}

/// A file's path as it is written into a problem file in a directory.
fn named_from(directory: &Path, file: &Path) -> String {
    let absolute = crate::files::absolute(file);
    let base = crate::files::absolute(directory);
    absolute.strip_prefix(&base).unwrap_or(&absolute).to_string_lossy().into_owned()
}

/// What the user said, with the key of each in the problem file.
fn said(guess: &Guess) -> Vec<(&String, &'static str)> {
    let roles = [
        (&guess.time, "time"),
        (&guess.episode, "episode"),
        (&guess.reward, "reward"),
        (&guess.terminal, "terminal"),
        (&guess.truncated, "truncated"),
    ];
    let mut said: Vec<(&String, &'static str)> =
        roles.into_iter().filter_map(|(name, key)| Some((name.as_ref()?, key))).collect();
    let inputs = guess.inputs.iter().map(|input| &input.title);
    let tracks = guess.tracks.iter().flat_map(|(state, set_point)| [state, set_point]);
    let variables = guess.states.iter().chain(&guess.actions).chain(inputs).chain(tracks);
    said.extend(variables.map(|name| (name, "column")));
    said
}

/// What is said of too many columns, and what to do about it.
fn too_many(path: &Path, count: usize, most: usize, what: &str, option: &'static str) -> Error {
    let these = if what == "states" { "variables" } else { what };
    Error::Malformed {
        path: path.to_owned(),
        line: None,
        column: None,
        problem: format!("the log has {count} columns that could be {what}; at most {most} {these} are possible"),
        remedy: Remedy::words("name those that matter with ").option(option, None),
    }
}

/// A log of so many columns that no look at them would leave few enough is refused at once.
fn refuse_what_is_too_wide(guess: &Guess, table: &Table, path: &Path) -> Result<()> {
    if !guess.states.is_empty() || table.columns.len() <= WIDEST {
        return Ok(());
    }
    let moves = |column: &&Column| column.kind == Kind::Number && column.values.windows(2).any(|two| two[0] != two[1]);
    match table.columns.iter().filter(moves).count() {
        count if count > WIDEST => Err(too_many(path, count, MOST_VARIABLES, "states", "state")),
        _ => Ok(()),
    }
}

/// A log that makes no problem is refused with what would make one of it.
fn refuse_what_is_no_problem(guess: &Guess, table: &Table, path: &Path) -> Result<()> {
    for (count, most, what, option) in [
        (guess.states.len() + guess.inputs.len(), MOST_VARIABLES, "states", "state"),
        (guess.actions.len(), MOST_ACTIONS, "actions", "action"),
    ] {
        if count > most {
            return Err(too_many(path, count, most, what, option));
        }
    }
    // What follows from the columns counts too: errors of states that track, their sums, and the place in the log.
    let variables =
        guess.states.len() + guess.inputs.len() + 2 * guess.tracks.len() + usize::from(!guess.inputs.is_empty());
    if variables > MOST_VARIABLES {
        return Err(Error::Malformed {
            path: path.to_owned(),
            line: None,
            column: None,
            problem: format!(
                "the log has {} states and {} inputs, of which {} track a set-point; with their errors and sums these are \
                 {variables} variables, and at most {MOST_VARIABLES} are possible",
                guess.states.len(),
                guess.inputs.len(),
                guess.tracks.len()
            ),
            remedy: Remedy::words("name those that matter with ").option("state", None),
        });
    }
    let (what, option) = match (guess.states.is_empty(), guess.actions.is_empty()) {
        (true, _) => ("a state variable", "state"),
        (_, true) => ("an action", "action"),
        _ => return Ok(()),
    };
    let titles: String = plain(&table.titles.join(", ")).chars().take(300).collect();
    let needs = "; a log needs at least one state and one action, and set-points are none; it has these columns: ";
    Err(Error::Malformed {
        path: path.to_owned(),
        line: None,
        column: None,
        problem: format!("no column was found that could be {what}"),
        remedy: Remedy::words("name it with ").option(option, None).then(needs).then(titles),
    })
}

/// Names for variables that a formula can use, each its own.
#[derive(Debug)]
struct Names(Vec<(String, String)>);

impl Names {
    fn choose(guess: &Guess, table: &Table) -> Self {
        let mut names: Vec<(String, String)> = Vec::new();
        let inputs = guess.inputs.iter().map(|input| &input.title);
        for title in guess.states.iter().chain(inputs).chain(&guess.actions) {
            let column = table.column(std::slice::from_ref(title));
            let bare = column.map_or(title.as_str(), |column| column.name.as_str());
            let mut name: String =
                bare.chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).take(LONGEST_NAME).collect();
            name = name.trim_matches('_').to_owned();
            let reserved = RESERVED.contains(&name.as_str());
            let means_more = name.starts_with("next_") || name.starts_with("previous_");
            let begins = name.starts_with(|c: char| c.is_alphabetic() || c == '_');
            if reserved || means_more || !begins || Function::from_name(&name).is_some() {
                name = format!("x_{name}");
            }
            while names.iter().any(|(_, other)| *other == name) {
                name.push('_');
            }
            names.push((title.clone(), name));
        }
        Self(names)
    }

    /// The name of a column.
    fn of(&self, title: &str) -> &str {
        self.0.iter().find(|(known, _)| known == title).map_or("", |(_, name)| name.as_str())
    }
}

#[cfg(test)]
mod tests;
