//! `sweep.toml` as it was written.

use std::path::Path;

use fpsrl_base::error::{Error, Result, nearest};
use fpsrl_base::settings::OneOrMany;
use serde::Deserialize;
use toml::{Table, Value};

/// The keys that a sweep may have.
const KEYS: [&str; 8] = ["problem", "runs", "seeds", "bootstrap", "logs", "workers", "grid", "run"];

/// What a user wrote in `sweep.toml`. [`Sweep`](super::Sweep) is what has been checked.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrittenSweep {
    /// A problem file, a built-in problem, or the problem itself as a table.
    pub problem: Option<WrittenBase>,
    /// The directory of the runs.
    pub runs: Option<String>,
    /// How many seeds, from 1 up; or which.
    pub seeds: Option<CountOrList>,
    /// How many bootstrap draws of the log, from 1 up; or which.
    pub bootstrap: Option<CountOrList>,
    /// Logs of the same plant, each of one file or of several.
    pub logs: Option<Vec<OneOrMany>>,
    /// Runs at a time.
    pub workers: Option<u64>,
    /// Settings by their path in the problem file, with the values of each; every combination is run.
    #[serde(default)]
    pub grid: Table,
    /// Single points besides the grid: settings, and perhaps a name.
    #[serde(default)]
    pub run: Vec<Table>,
}

/// The problem that is varied.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum WrittenBase {
    /// A built-in problem's name, or the path of a problem file.
    Named(String),
    /// What would stand in a problem file.
    Table(Table),
}

/// Numbers from 1 up to a count, or a list of them.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged, expecting = "a whole number from 0 up was meant, or a list of such numbers")]
pub enum CountOrList {
    /// So many.
    Count(u64),
    /// These.
    List(Vec<u64>),
}

impl WrittenSweep {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self> {
        let text = fpsrl_base::disk::read_to_string(path).map_err(|source| Error::read(path, source))?;
        Self::parse(&text, path)
    }

    /// Understands the text of a file; `path` is named in messages.
    ///
    /// ```
    /// use fpsrl::sweep::WrittenSweep;
    /// let error = WrittenSweep::parse("problem = 'p.toml'\nseed = 3\n", "sweep.toml".as_ref()).unwrap_err();
    /// assert_eq!(error.to_string(), "sweep.toml, line 2: there is no key called `seed` here");
    /// assert!(error.hint().unwrap().starts_with("did you mean `seeds`?"));
    /// ```
    pub fn parse(text: &str, path: &Path) -> Result<Self> {
        toml::from_str(text).map_err(|error| {
            let before = error.span().and_then(|span| text.get(..span.start.min(text.len())));
            let line = before.map(|before| 1 + before.matches('\n').count() as u64);
            malformed(path, line, error.message())
        })
    }

    /// Understands a sweep that is given as values; `path` is named in messages.
    pub fn from_table(table: Table, path: &Path) -> Result<Self> {
        Value::Table(table).try_into().map_err(|error: toml::de::Error| malformed(path, None, error.message()))
    }
}

fn malformed(path: &Path, line: Option<u64>, message: &str) -> Error {
    let name = message.split('`').nth(1).filter(|_| message.starts_with("unknown field"));
    let known = KEYS.map(str::to_owned);
    let (problem, remedy) = match name {
        Some(name) => {
            let near = nearest(name, &known).map_or_else(String::new, |near| format!("did you mean `{near}`? "));
            let told = format!("{near}known here: {}; settings of the problem stand below [grid]", known.join(", "));
            (format!("there is no key called `{name}` here"), told)
        }
        None => (message.trim().replace('\n', "; "), "correct the file; `fpsrl sweep --help` shows one".to_owned()),
    };
    Error::Malformed { path: path.to_owned(), line, column: None, problem, remedy: remedy.into() }
}

impl CountOrList {
    /// The numbers; `None` if there is one twice.
    pub(super) fn numbers(&self) -> Option<Vec<u64>> {
        match self {
            Self::Count(count) => Some((1..=*count).collect()),
            Self::List(list) => {
                let mut sorted = list.clone();
                sorted.sort_unstable();
                sorted.dedup();
                (sorted.len() == list.len()).then(|| list.clone())
            }
        }
    }

    /// How many there are.
    pub(super) fn count(&self) -> u64 {
        match self {
            Self::Count(count) => *count,
            Self::List(list) => list.len() as u64,
        }
    }
}
