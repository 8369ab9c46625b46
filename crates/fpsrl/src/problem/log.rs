//! Where a log of the user's own is, and what its columns mean: the part of `[data]` that a log needs.

use std::path::PathBuf;

use serde::Deserialize;

use super::WrittenData;
use super::memory::{History, LONGEST_HISTORY};
use super::words::OrAuto;
use crate::error::{Error, Result};

/// A log of the user's own.
#[derive(Clone, Debug, PartialEq)]
pub struct LogSettings {
    /// The files, in the order of time; an episode never goes on from one to the next.
    pub files: Vec<PathBuf>,
    /// What is between two cells of a text file; none is told from the file.
    pub separator: Option<char>,
    /// What begins the fraction of a number; none is told from the file.
    pub decimal: Option<char>,
    /// Words that stand for a missing value, besides the usual ones.
    pub missing: Vec<String>,
    /// The column of time, under each of the names that it has in the files; empty if there is none.
    pub time: Vec<String>,
    /// The column that tells episodes apart; empty if there is none.
    pub episode: Vec<String>,
    /// The reward; empty if a formula gives it.
    pub reward: Vec<String>,
    /// Whether the plant has stopped for good; empty if the log does not say.
    pub terminal: Vec<String>,
    /// Whether recording stopped although the plant did not; empty if the log does not say.
    pub truncated: Vec<String>,
    /// What is put before a state's column to name that of its next state; none if rows follow each other in time.
    pub next: Option<String>,
    /// Which row the action of a row led to.
    pub action_leads_to: Row,
    /// The step to which row the reward of a row was for.
    pub reward_belongs_to: Row,
    /// The time between two rows; none is told from the file.
    pub interval: Option<f64>,
    /// A step that takes longer than so many intervals is a gap.
    pub gap: f64,
    /// Whether rows are put onto a regular grid by interpolation.
    pub resample: bool,
    /// How much of the past each transition carries.
    pub history: History,
}

/// One of two rows that follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Row {
    /// The row itself.
    This,
    /// The row after it.
    #[default]
    Next,
}

/// The rows by name.
pub(super) const ROWS: [(&str, Row); 2] = [("next", Row::Next), ("this", Row::This)];

impl Row {
    /// Its word in the problem file.
    pub fn word(self) -> &'static str {
        match self {
            Row::This => "this",
            Row::Next => "next",
        }
    }
}

/// One text or several: a column may have another name in every file.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged, expecting = "expected a text in quotes, or a list of them")]
pub enum OneOrMany {
    /// One.
    One(String),
    /// Several.
    Many(Vec<String>),
}

impl OneOrMany {
    /// As a list, without empty texts.
    pub fn list(self) -> Vec<String> {
        let list = match self {
            OneOrMany::One(text) => vec![text],
            OneOrMany::Many(list) => list,
        };
        list.into_iter().filter(|text| !text.is_empty()).collect()
    }
}

impl LogSettings {
    /// A log in files whose columns are called as in the files that fpsrl writes.
    pub fn new(files: Vec<PathBuf>) -> Self {
        Self {
            files,
            separator: None,
            decimal: None,
            missing: Vec::new(),
            time: Vec::new(),
            episode: Vec::new(),
            reward: Vec::new(),
            terminal: Vec::new(),
            truncated: Vec::new(),
            next: None,
            action_leads_to: Row::Next,
            reward_belongs_to: Row::Next,
            interval: None,
            gap: 1.5,
            resample: false,
            history: History::Steps(0),
        }
    }

    /// What was written, if it names a file.
    pub(super) fn check(written: &mut WrittenData) -> Result<Option<Self>> {
        let files = written.file.take().map_or_else(Vec::new, OneOrMany::list);
        let sign = |key: &str, text: Option<String>| match text.as_deref() {
            None | Some("") => Ok(None),
            Some("tab") => Ok(Some('\t')),
            Some(text) if text.len() == 1 && !text.starts_with(['"', '\n', '\r']) => Ok(text.chars().next()),
            Some(text) => {
                let hint = "write one sign, such as \";\", or \"tab\"";
                Err(Error::setting(key, format!("{text:?}"), "it is a single sign", hint))
            }
        };
        let row = |key: &str, word: Option<String>| match word {
            None => Ok(Row::default()),
            Some(word) => ROWS.iter().find(|(known, _)| *known == word).map(|(_, row)| *row).ok_or_else(|| {
                let rule = "it is \"next\" or \"this\": the step to the next row, or the one that led to this row";
                Error::setting(key, format!("{word:?}"), rule, "`fpsrl check` says which of them fits the data")
            }),
        };
        let list = |names: &mut Option<OneOrMany>| names.take().map_or_else(Vec::new, OneOrMany::list);
        let log = Self {
            separator: sign("data.separator", written.separator.take())?,
            decimal: sign("data.decimal", written.decimal.take())?,
            missing: std::mem::take(&mut written.missing),
            time: list(&mut written.time),
            episode: list(&mut written.episode),
            reward: list(&mut written.reward),
            terminal: list(&mut written.terminal),
            truncated: list(&mut written.truncated),
            next: written.next.take().filter(|prefix| !prefix.is_empty()),
            action_leads_to: row("data.action_leads_to", written.action_leads_to.take())?,
            reward_belongs_to: row("data.reward_belongs_to", written.reward_belongs_to.take())?,
            interval: written.interval,
            gap: written.gap.unwrap_or(1.5),
            resample: written.resample.unwrap_or(false),
            history: match written.history {
                None => History::Steps(0),
                Some(OrAuto::Auto) => History::Auto,
                Some(OrAuto::Count(steps)) => History::Steps(usize::try_from(steps).unwrap_or(usize::MAX)),
            },
            files: files.iter().map(PathBuf::from).collect(),
        };
        if log.files.is_empty() {
            if log != Self::new(Vec::new()) {
                let rule = "settings of a log need the log";
                return Err(Error::setting("data.file", "missing", rule, "write `file = \"log.csv\"` below [data]"));
            }
            return Ok(None);
        }
        if let Some(decimal) = log.decimal.filter(|decimal| !matches!(decimal, '.' | ',')) {
            let hint = "write decimal = \".\" or decimal = \",\"";
            return Err(Error::setting("data.decimal", decimal, "a fraction begins with a point or a comma", hint));
        }
        if log.decimal.is_some() && log.decimal == log.separator {
            let rule = "the sign between two cells cannot also begin a fraction";
            return Err(Error::setting("data.separator", log.separator.unwrap_or(' '), rule, "change one of the two"));
        }
        if log.interval.is_some_and(|interval| !(interval > 0.0 && interval.is_finite())) {
            let rule = "the time between two rows is above 0";
            return Err(Error::setting(
                "data.interval",
                log.interval.unwrap_or(0.0),
                rule,
                "leave it out to measure it",
            ));
        }
        if !(log.gap > 1.0 && log.gap.is_finite()) {
            let rule = "a gap is longer than one interval";
            return Err(Error::setting("data.gap", log.gap, rule, "1.5 is the default"));
        }
        if log.resample && (log.time.is_empty() || log.next.is_some()) {
            let rule = "only a time series with a column of time can be put onto a grid";
            let hint = "name that column: time = \"…\"; or set resample = false";
            return Err(Error::setting("data.resample", true, rule, hint));
        }
        if let History::Steps(steps) = log.history
            && steps > LONGEST_HISTORY
        {
            let rule = format!("a history has 0 to {LONGEST_HISTORY} steps");
            return Err(Error::setting("data.history", steps, rule, "or write \"auto\" to have it chosen"));
        }
        Ok(Some(log))
    }

    /// The lines of `[data]` that read back to these settings: key, value and comment.
    pub(super) fn lines(&self) -> Vec<(&'static str, String, &'static str)> {
        let quoted = |text: &str| toml::Value::String(text.to_owned()).to_string();
        let list = |names: &[String]| match names {
            [name] => quoted(name),
            names => format!("[{}]", names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ")),
        };
        let files: Vec<String> = self.files.iter().map(|file| file.to_string_lossy().into_owned()).collect();
        let mut lines = vec![("file", list(&files), "the log: a file, or a list of files")];
        let mut some = |key, value: Option<String>, comment| lines.extend(value.map(|value| (key, value, comment)));
        let named = |names: &[String]| (!names.is_empty()).then(|| list(names));
        some("time", named(&self.time), "the column of time");
        some("episode", named(&self.episode), "the column that tells episodes apart");
        some("reward", named(&self.reward), "the column of the reward");
        some("terminal", named(&self.terminal), "the column that says whether the plant has stopped for good");
        some("truncated", named(&self.truncated), "the column that says whether only the recording stopped");
        let prefix = "what is before a state's name in the column of its next state";
        some("next", self.next.as_deref().map(quoted), prefix);
        let leads = "\"next\": a row's action led to the next row; \"this\": to this row";
        some("action_leads_to", Some(quoted(self.action_leads_to.word())), leads);
        let belongs = "\"next\": a row's reward is for the step to the next row; \"this\": for the step to this row";
        some("reward_belongs_to", Some(quoted(self.reward_belongs_to.word())), belongs);
        some("interval", self.interval.map(|interval| format!("{interval:?}")), "between two rows, in units of time");
        some("gap", Some(format!("{:?}", self.gap)), "a step longer than so many intervals is cut");
        some("resample", Some(self.resample.to_string()), "put rows onto a regular grid by interpolation");
        let history = match self.history {
            History::Auto => quoted("auto"),
            History::Steps(steps) => steps.to_string(),
        };
        some("history", Some(history), "past steps of every state and action that the world model sees, or \"auto\"");
        let sign = |sign: char| quoted(if sign == '\t' { "tab".into() } else { sign.to_string() }.as_str());
        some("separator", self.separator.map(sign), "between two cells");
        some("decimal", self.decimal.map(sign), "before the fraction of a number");
        let missing = (!self.missing.is_empty())
            .then(|| format!("[{}]", self.missing.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(", ")));
        some("missing", missing, "words that stand for a missing value");
        lines
    }
}

/// Where rollouts start.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum StartRule {
    /// Anywhere in the ranges that the state variables have.
    #[default]
    Ranges,
    /// In states that the log has seen, absorbing ones left out.
    Data,
    /// In the first states of the log's episodes.
    Episodes,
    /// In the rows of a file.
    File(PathBuf),
}

impl StartRule {
    /// What was written; a text that is none of the words names a file.
    pub(super) fn from_text(text: &str) -> Self {
        match text {
            "ranges" => StartRule::Ranges,
            "data" => StartRule::Data,
            "episodes" => StartRule::Episodes,
            file => StartRule::File(file.into()),
        }
    }

    /// Its text in the problem file.
    pub fn text(&self) -> String {
        match self {
            StartRule::Ranges => "ranges".into(),
            StartRule::Data => "data".into(),
            StartRule::Episodes => "episodes".into(),
            StartRule::File(path) => path.to_string_lossy().into_owned(),
        }
    }
}
