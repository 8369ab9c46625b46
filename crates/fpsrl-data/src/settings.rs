//! `[data]`: how transitions are generated, or where a log of the user's own is and what its columns mean.

use std::path::PathBuf;

use fpsrl_base::error::{Error, Result};
use fpsrl_base::remedy::Remedy;
use fpsrl_base::settings::{Lines, OneOrMany, OrAuto, memory, memory_written, number, quoted, quoted_list, within};
use serde::Deserialize;

use crate::plant::PlantKind;
use crate::system::{History, LONGEST_HISTORY};

/// Transitions that are kept of a log where the user says nothing else: training takes minutes with them, and more
/// bring little.
const MOST_OF_A_LOG: usize = 100_000;

/// Where transitions come from: they are generated, or imported from a log.
///
/// ```
/// use fpsrl_data::{DataSettings, System, generate};
/// use fpsrl_base::progress::Progress;
/// let system = System::benchmark("mountain-car")?;
/// let settings = DataSettings { samples: 400, ..DataSettings::for_plant(system.plant()) };
/// assert_eq!(generate(&system, &settings, &Progress::silent())?.len(), 400);
/// # Ok::<(), fpsrl_base::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct DataSettings {
    /// How many transitions; of a log, at most.
    pub samples: usize,
    /// Steps of a generated episode.
    pub episode_length: usize,
    /// The log; none for a problem with a built-in plant.
    pub log: Option<LogSettings>,
}

/// `[data]` as written.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrittenData {
    /// How many transitions; of a log, at most.
    pub samples: Option<usize>,
    /// Steps of a generated episode.
    pub episode_length: Option<usize>,
    /// The log's file, or its files.
    pub file: Option<OneOrMany>,
    /// The column of time.
    pub time: Option<OneOrMany>,
    /// The column that tells episodes apart.
    pub episode: Option<OneOrMany>,
    /// The column of the reward.
    pub reward: Option<OneOrMany>,
    /// The column that says whether the plant has stopped for good.
    pub terminal: Option<OneOrMany>,
    /// The column that says whether only the recording stopped.
    pub truncated: Option<OneOrMany>,
    /// What is before a state's name in the column of its next state.
    pub next: Option<String>,
    /// "next" or "this".
    pub action_leads_to: Option<String>,
    /// "next" or "this".
    pub reward_belongs_to: Option<String>,
    /// The time between two rows.
    pub interval: Option<f64>,
    /// A step longer than so many intervals is cut.
    pub gap: Option<f64>,
    /// Whether rows are put onto a regular grid.
    pub resample: Option<bool>,
    /// Past steps of every state and action that belong to a state, or "auto".
    pub history: Option<OrAuto>,
    /// Between two cells.
    pub separator: Option<String>,
    /// Before the fraction of a number.
    pub decimal: Option<String>,
    /// Words that stand for a missing value.
    #[serde(default)]
    pub missing: Vec<String>,
    /// Memory that reading a file of the log may take.
    pub memory: Option<String>,
}

impl Default for DataSettings {
    fn default() -> Self {
        Self { samples: 10_000, episode_length: 100, log: None }
    }
}

impl DataSettings {
    /// The defaults of a plant, or of a problem without one.
    pub fn for_plant(plant: Option<PlantKind>) -> Self {
        let episode_length = match plant {
            Some(PlantKind::MountainCar | PlantKind::TextbookMountainCar) => 200,
            Some(PlantKind::CartPoleBalancing) | None => 100,
            Some(PlantKind::CartPoleSwingUp) => 500,
        };
        Self { episode_length, ..Self::default() }
    }

    /// How much of the past a log gives; none without a log.
    pub fn history(&self) -> Option<History> {
        self.log.as_ref().map(|log| log.history)
    }

    /// Holds everything to its limits.
    pub fn check(&self) -> Result<()> {
        let rule = "a log has 10 to 100,000,000 transitions, so that each part of the 80/10/10 split has one";
        within("data.samples", self.samples as u64, 10, 100_000_000, rule)?;
        within("data.episode_length", self.episode_length as u64, 1, 1_000_000, "an episode has 1 to 1,000,000 steps")
    }

    /// The lines of `[data]`.
    pub fn write(&self, file: &mut Lines) {
        file.section("[data]");
        match &self.log {
            None => {
                file.key("samples", self.samples, "transitions to generate");
                file.key("episode_length", self.episode_length, "steps of an episode");
            }
            Some(log) => {
                file.key("samples", self.samples, "transitions that are kept of the log, at most");
                log.lines().into_iter().for_each(|(key, value, comment)| file.key(key, value, comment));
            }
        }
    }
}

impl WrittenData {
    /// Lets the reading of a file of the log take so many bytes of memory, if a number is given. A problem without a log
    /// stays as it is: it reads none.
    pub fn allow(&mut self, memory: Option<u64>) {
        if let Some(bytes) = memory.filter(|_| self.file.is_some()) {
            self.memory = Some(memory_written(bytes));
        }
    }

    /// Fills in the defaults and checks everything.
    pub fn check(mut self, plant: Option<PlantKind>) -> Result<DataSettings> {
        let defaults = DataSettings::for_plant(plant);
        let log = LogSettings::check(&mut self)?;
        if plant.is_some() && log.is_some() {
            let rule = "the data of a built-in plant are generated";
            return Err(Error::setting("data.file", "given", rule, "leave out either `plant` or `file`"));
        }
        let most = if log.is_some() { MOST_OF_A_LOG } else { defaults.samples };
        let settings = DataSettings {
            samples: self.samples.unwrap_or(most),
            episode_length: self.episode_length.unwrap_or(defaults.episode_length),
            log,
        };
        settings.check()?;
        Ok(settings)
    }
}

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
    /// Bytes of memory that reading a file of the log may take; in proportion to the file's size if nothing is said.
    pub memory: Option<u64>,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, serde::Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Row {
    /// The row itself.
    This,
    /// The row after it.
    #[default]
    Next,
}

/// The rows by name.
const ROWS: [(&str, Row); 2] = [("next", Row::Next), ("this", Row::This)];

impl Row {
    /// Its word in the problem file.
    pub fn word(self) -> &'static str {
        match self {
            Row::This => "this",
            Row::Next => "next",
        }
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
            memory: None,
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
    fn check(written: &mut WrittenData) -> Result<Option<Self>> {
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
                Error::setting(
                    key,
                    format!("{word:?}"),
                    rule,
                    Remedy::words("").stage("check", None).then(" says which of them fits the data"),
                )
            }),
        };
        let allowed = |text: String| {
            let remedy = "write memory = \"4 GB\", for example";
            memory(&text).map_err(|rule| Error::setting("data.memory", format!("{text:?}"), rule, remedy))
        };
        let list = |names: &mut Option<OneOrMany>| names.take().map_or_else(Vec::new, OneOrMany::list);
        let log = Self {
            separator: sign("data.separator", written.separator.take())?,
            decimal: sign("data.decimal", written.decimal.take())?,
            missing: std::mem::take(&mut written.missing),
            memory: written.memory.take().map(allowed).transpose()?,
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
    fn lines(&self) -> Vec<(&'static str, String, &'static str)> {
        let list = |names: &[String]| match names {
            [name] => quoted(name),
            names => quoted_list(names),
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
        some("interval", self.interval.map(number), "between two rows, in units of time");
        some("gap", Some(number(self.gap)), "a step longer than so many intervals is cut");
        some("resample", Some(self.resample.to_string()), "put rows onto a regular grid by interpolation");
        let history = match self.history {
            History::Auto => quoted("auto"),
            History::Steps(steps) => steps.to_string(),
        };
        some("history", Some(history), "past steps of every state and action that the world model sees, or \"auto\"");
        let sign = |sign: char| quoted(if sign == '\t' { "tab".into() } else { sign.to_string() }.as_str());
        some("separator", self.separator.map(sign), "between two cells");
        some("decimal", self.decimal.map(sign), "before the fraction of a number");
        let missing = (!self.missing.is_empty()).then(|| quoted_list(&self.missing));
        some("missing", missing, "words that stand for a missing value");
        let memory = self.memory.map(|bytes| quoted(&memory_written(bytes)));
        some("memory", memory, "what reading a file of the log may take");
        lines
    }
}
