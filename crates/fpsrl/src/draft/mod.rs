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
use fpsrl_base::progress::Progress;
use fpsrl_base::remedy::Remedy;
use fpsrl_data::log::{Column, Guess, InputKind, Kind, Table, TextOptions, read};
use fpsrl_engine::formula::Function;

use self::choices::Choices;
use self::goal::Goal;
use self::sections::Sections;
use self::sheet::{Sheet, plain, quoted};
use crate::problem::{OneOrMany, WrittenProblem};
use crate::stage::DataReport;

/// Variables and actions that a problem has at most.
const MOST_VARIABLES: usize = 64;
const MOST_ACTIONS: usize = 16;

/// Names that a variable cannot have: columns of our own files, and what formulas mean by them.
const RESERVED: [&str; 10] = ["episode", "step", "reward", "terminated", "log_row", "pi", "and", "or", "not", ""];

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
    let first = files.first().ok_or(Error::Internal("a log without a file"))?;
    let table = read(first, options, &|_, _| true, progress)?;
    for (title, key) in said(&guess) {
        table.expect(std::slice::from_ref(title), key)?;
    }
    refuse_what_is_too_wide(&guess, &table, first)?;
    let mut guess = guess.complete(&table);
    add_modes_of(&files[1..], &mut guess, options, progress)?;
    refuse_what_is_no_problem(&guess, &table, first)?;
    draft(files, directory, options, &guess, &table)
}

/// Adds what modes are called in further files of the log; all else is told by the first.
fn add_modes_of(files: &[PathBuf], guess: &mut Guess, options: &TextOptions, progress: &Progress) -> Result<()> {
    let mut modes: Vec<(&String, &mut Vec<String>)> = Vec::new();
    for input in &mut guess.inputs {
        if let InputKind::Mode { values } = &mut input.kind {
            modes.push((&input.title, values));
        }
    }
    if modes.is_empty() {
        return Ok(());
    }
    for file in files {
        let table = read(file, options, &|title, _| modes.iter().any(|(mode, _)| *mode == title), progress)?;
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

/// Drafts the problem file of a table whose columns have their roles.
fn draft(files: &[PathBuf], directory: &Path, options: &TextOptions, guess: &Guess, table: &Table) -> Result<Draft> {
    let names = Names::choose(guess, table);
    let goal = Goal::of(guess, table, &names);
    let paths: Vec<String> = files.iter().map(|file| named_from(directory, file)).collect();
    let sections = Sections { guess, table, names: &names, options, files: &paths, goal: goal.as_ref() };
    let choices = Choices::of(guess, table, &|leads_to| {
        let mut written = WrittenProblem::parse(&sections.trial(leads_to), &directory.join("problem.toml"))?;
        written.data.file =
            Some(OneOrMany::Many(files.iter().map(|file| file.to_string_lossy().into_owned()).collect()));
        DataReport::import(&written.check()?, &Progress::silent())
    });

    let (mut found, mut unknown) = remarks::remarks(guess, table, goal.as_ref(), &choices);
    let mut sheet = Sheet::default();
    sheet.line("name", quoted(&name_of(table)), "the run directory is called after it");
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

/// The name of the problem: that of the log.
fn name_of(table: &Table) -> String {
    let stem = table.path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let stem = stem.strip_suffix(".csv").unwrap_or(&stem);
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
            let mut name: String = bare.chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect();
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
