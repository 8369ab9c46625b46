//! What can go wrong, where, and what to do about it.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::frame::is_frame;
use crate::reason::{self, Reason};
use crate::remedy::Remedy;
use crate::visible::{self, shortened};

/// Characters of a setting's value that are shown.
const LONGEST_VALUE: usize = 200;

/// Characters of a name that may have been meant otherwise.
const LONGEST_MISTYPED: usize = 200;

/// The library's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that the library refuses or fails at.
///
/// The message says what is wrong and where; [`Error::hint`] says what to do;
/// [`Error::is_users`] tells a mistake of the user's from a failure of ours.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A name that is not known: a problem, a column, a trainer.
    UnknownName {
        /// What kind of thing was looked for, such as "problem" or "column".
        kind: &'static str,
        /// The name as the user wrote it.
        name: String,
        /// The names that exist.
        known: Vec<String>,
    },
    /// A setting whose value is out of its range.
    Setting {
        /// The setting's key, as in the problem file: `search.particles`.
        key: String,
        /// The value it has.
        value: String,
        /// What holds for every value allowed: "a search needs at least 2 particles".
        rule: String,
        /// What to do.
        remedy: Remedy,
    },
    /// A file that does not have the form it should have.
    Malformed {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: Option<u64>,
        /// The column, by name where it has one.
        column: Option<String>,
        /// What is wrong there.
        problem: String,
        /// What to do.
        remedy: Remedy,
    },
    /// A cell that cannot be used, in a table that has rows but no lines: a file of arrays, or a data frame.
    Cell {
        /// The file, or [`FRAME`](crate::frame::FRAME).
        path: PathBuf,
        /// The row, counted from 0.
        row: u64,
        /// The column.
        column: String,
        /// What is wrong there.
        problem: String,
        /// What to do.
        remedy: Remedy,
    },
    /// A file written by a newer version of fpsrl.
    NewerFormat {
        /// The file.
        path: PathBuf,
        /// The version that it carries.
        found: u64,
        /// The newest version that can be read.
        supported: u64,
    },
    /// A file could not be read.
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A file could not be written; what stood there before is untouched.
    Write {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A run directory that is there already.
    RunExists {
        /// The directory.
        path: PathBuf,
    },
    /// A run directory that another process writes in.
    Busy {
        /// The directory.
        path: PathBuf,
    },
    /// Something else than a run directory was given.
    NotARun {
        /// What was given.
        path: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A stage needs a file that an earlier stage writes.
    StageMissing {
        /// The file.
        path: PathBuf,
        /// The command that writes it.
        stage: &'static str,
    },
    /// Files of a run that do not belong together.
    Mismatch {
        /// The file that does not fit.
        path: PathBuf,
        /// The file that it should fit.
        other: PathBuf,
        /// What differs.
        problem: String,
        /// What to do.
        remedy: Remedy,
    },
    /// Something asked for that only a problem with a built-in plant can do.
    NoPlant {
        /// What was asked for.
        what: &'static str,
        /// The problem's name.
        problem: String,
    },
    /// The user stopped the work.
    Stopped {
        /// What was interrupted.
        stage: &'static str,
    },
    /// Other machines that should have worked for this one could not.
    Elsewhere {
        /// What went wrong, and on which machine.
        problem: String,
        /// What to do.
        remedy: Remedy,
    },
    /// A failure of ours, which no input should be able to cause.
    Internal(&'static str),
}

impl Error {
    /// What is wrong and where, with whatever stands in it.
    fn words(&self) -> String {
        match self {
            Self::UnknownName { kind, name, .. } => format!("there is no {kind} called `{name}`"),
            Self::Setting { key, value, rule, .. } => {
                format!("`{key}` is {}, but {rule}", shortened(value, LONGEST_VALUE))
            }
            Self::Malformed { path, line, column, problem, .. } => {
                format!("{}{}: {problem}", visible::path(path), at(*line, column.as_deref()))
            }
            Self::Cell { path, row, column, problem, .. } => {
                format!("{}, row {}{}: {problem}", visible::path(path), row_of(path, *row), at(None, Some(column)))
            }
            Self::NewerFormat { path, found, supported } => format!(
                "{} has format version {found}, and this fpsrl reads up to version {supported}",
                visible::path(path)
            ),
            Self::Read { path, source } => format!("{} cannot be read: {}", visible::path(path), reason::told(source)),
            Self::Write { path, source } => {
                format!("{} cannot be written: {}", visible::path(path), reason::told(source))
            }
            Self::RunExists { path } => format!("the run directory {} exists already", visible::path(path)),
            Self::Busy { path } => {
                format!("the run directory {} is in use: another fpsrl is at work there", visible::path(path))
            }
            Self::NotARun { path, why } => format!("{} is not a run directory: {why}", visible::path(path)),
            Self::StageMissing { path, stage } => format!("{} is missing: `{stage}` writes it", visible::path(path)),
            Self::Mismatch { path, other, problem, .. } => {
                format!("{} does not fit {}: {problem}", visible::path(path), visible::path(other))
            }
            Self::NoPlant { what, problem } => {
                format!("{what} needs the true plant, and the problem `{problem}` has none")
            }
            Self::Stopped { stage } => format!("stopped before the {stage} was finished"),
            Self::Elsewhere { problem, .. } => problem.clone(),
            Self::Internal(what) => format!("internal failure: {what}"),
        }
    }
}

/// What is wrong and where, on one line: names from outside are shown, not obeyed.
impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&visible::message(&self.words()))
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Read { source, .. } | Self::Write { source, .. } => Some(source),
            _ => None,
        }
    }
}

/// Advice to write somewhere else.
fn elsewhere(words: &str) -> Remedy {
    Remedy::words(words).then(" with ").option("out", None)
}

/// A row as people count it: from 1 in a file; in a data frame from 0, as whoever made it does.
fn row_of(path: &Path, row: u64) -> String {
    if is_frame(path) { format!("{row} (counted from 0)") } else { (row + 1).to_string() }
}

fn at(line: Option<u64>, column: Option<&str>) -> String {
    match (line, column) {
        (Some(line), Some(column)) => format!(", line {line}, column `{column}`"),
        (Some(line), None) => format!(", line {line}"),
        (None, Some(column)) => format!(", column `{column}`"),
        (None, None) => String::new(),
    }
}

impl Error {
    /// Whether the user can mend it (exit code 2) or it is a failure of ours (exit code 1).
    pub fn is_users(&self) -> bool {
        !matches!(self, Error::Internal(_))
    }

    /// What to do about it, in the library's words; see [`Error::remedy`].
    pub fn hint(&self) -> Option<String> {
        self.remedy().map(|remedy| remedy.to_string())
    }

    /// What to do about it, as data.
    pub fn remedy(&self) -> Option<Remedy> {
        Some(match self {
            Error::UnknownName { name, known, .. } => match nearest(name, known) {
                Some(near) => format!("did you mean `{near}`? known: {}", known.join(", ")).into(),
                None => format!("known: {}", known.join(", ")).into(),
            },
            Error::Setting { remedy, .. }
            | Error::Malformed { remedy, .. }
            | Error::Cell { remedy, .. }
            | Error::Mismatch { remedy, .. }
            | Error::Elsewhere { remedy, .. } => {
                return (!remedy.is_empty()).then(|| remedy.clone());
            }
            Error::NewerFormat { .. } => "use the fpsrl that wrote it, or a newer one".into(),
            Error::Read { source, .. } => Reason::of(source).remedy_of_reading(),
            Error::Write { source, .. } => Reason::of(source).remedy_of_writing(),
            Error::RunExists { path } => elsewhere("choose another directory")
                .then(", overwrite it with ")
                .option("force", None)
                .then(", or go on with an interrupted run by ")
                .option("resume", Some(&path.display().to_string())),
            Error::Busy { .. } => "wait until it has finished, or give each its own directory".into(),
            Error::StageMissing { path, stage } => Remedy::words("run ").stage(stage, path.parent()).then(" first"),
            Error::NotARun { .. } => Remedy::words("give the directory that ")
                .stage("run", None)
                .then(" made; a log of your own goes through ")
                .stage("init", None)
                .then(" first"),
            Error::NoPlant { .. } => Remedy::words(
                "name a built-in plant as `plant` in the problem file; a log of your own goes beside that file as \
                 transitions.csv, for ",
            )
            .stage("fit", None)
            .then(", ")
            .stage("search", None)
            .then(" and ")
            .stage("evaluate", None),
            Error::Stopped { .. } | Error::Internal(_) => return None,
        })
    }

    /// A setting out of range.
    pub fn setting(
        key: impl Into<String>,
        value: impl ToString,
        rule: impl Into<String>,
        remedy: impl Into<Remedy>,
    ) -> Self {
        Error::Setting { key: key.into(), value: value.to_string(), rule: rule.into(), remedy: remedy.into() }
    }

    /// A file that cannot be read.
    pub fn read(path: &Path, source: std::io::Error) -> Self {
        Error::Read { path: path.to_owned(), source }
    }

    /// A file that cannot be written.
    pub fn write(path: &Path, source: std::io::Error) -> Self {
        Error::Write { path: path.to_owned(), source }
    }
}

/// The known name that takes the fewest edits to reach from `name`, if few enough.
pub fn nearest<'a>(name: &str, known: &'a [String]) -> Option<&'a str> {
    // The work grows with the product of the lengths, and nobody mistypes what is longer.
    let is_short = |text: &str| text.chars().nth(LONGEST_MISTYPED).is_none();
    if !is_short(name) {
        return None;
    }
    known
        .iter()
        .filter(|candidate| is_short(candidate))
        .map(|candidate| (edits(name, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= 2.max(candidate.chars().count() / 3))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate.as_str())
}

/// Levenshtein's distance.
fn edits(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (index, from_char) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = index + 1;
        for (column, to_char) in to.iter().enumerate() {
            let replace = diagonal + usize::from(from_char != *to_char);
            diagonal = row[column + 1];
            row[column + 1] = replace.min(row[column] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_name_is_answered_with_the_nearest_known_one() {
        let known = vec!["mountain-car".to_owned(), "cart-pole-balancing".to_owned()];
        let error = Error::UnknownName { kind: "problem", name: "mountin-car".into(), known };
        assert_eq!(error.to_string(), "there is no problem called `mountin-car`");
        assert!(error.hint().unwrap().starts_with("did you mean `mountain-car`?"));
        assert!(error.is_users());
    }

    #[test]
    fn edits_are_counted_as_by_hand() {
        assert_eq!(edits("kitten", "sitting"), 3);
        assert_eq!(edits("", "abc"), 3);
        assert_eq!(edits("same", "same"), 0);
    }

    #[test]
    fn a_malformed_file_is_named_with_line_and_column() {
        let error = Error::Malformed {
            path: "log.csv".into(),
            line: Some(3),
            column: Some("theta".into()),
            problem: "`abc` is not a number".into(),
            remedy: Remedy::default(),
        };
        assert_eq!(error.to_string(), "log.csv, line 3, column `theta`: `abc` is not a number");
    }

    #[test]
    fn names_from_outside_are_shown_and_not_obeyed() {
        let name = "\u{1b}[2J\r\nerror: all is well\u{202e}".to_owned();
        let errors = [
            Error::UnknownName { kind: "column", name: name.clone(), known: vec![name.clone()] },
            Error::setting(
                "data.file",
                &name,
                format!("it is called {name}"),
                format!("call it otherwise than {name}"),
            ),
            Error::Malformed {
                path: name.clone().into(),
                line: None,
                column: Some(name.clone()),
                problem: name.clone(),
                remedy: Remedy::words(&name).stage("run", Some(name.as_ref())).option("out", Some(&name)),
            },
            Error::read(name.as_ref(), std::io::Error::other(name.clone())),
            Error::StageMissing { path: format!("{name}/x").into(), stage: "fit" },
            Error::RunExists { path: name.clone().into() },
        ];
        for error in errors {
            let said = format!("{error} {}", error.hint().unwrap());
            assert!(!said.chars().any(visible::acts), "{said:?}");
            assert!(said.contains("all is well"), "{said}");
        }
    }

    #[test]
    fn a_name_of_a_hundred_kilobytes_is_not_echoed() {
        let name = "x".repeat(100_000);
        let known: Vec<String> = (0..2_000).map(|index| format!("{name}{index}")).take(3).collect();
        let errors = [
            Error::UnknownName { kind: "column", name: name.clone(), known },
            Error::setting(&name, &name, "it is too long", format!("`{name}` is one of {name}")),
            Error::Malformed {
                path: "log.csv".into(),
                line: Some(1),
                column: Some(name.clone()),
                problem: format!("`{name}` stands there twice, beside {name}"),
                remedy: Remedy::words(format!("rename `{name}`")),
            },
        ];
        for error in errors {
            assert!(error.to_string().chars().count() < 4_500, "{}", error.to_string().len());
            assert!(error.hint().unwrap().chars().count() < 4_500);
            assert!(error.to_string().contains("characters)"), "{error}");
        }
    }
}
