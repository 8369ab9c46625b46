//! What the columns of a log may mean, told from their names and from how they behave; each with its reason.
//!
//! Names come first where they say something: `TIC101.SP` is a set-point. Behaviour settles what they leave open, and
//! contradicts them where it must: what stands still for long and then jumps is set by somebody, what no action moves
//! is an input, and a controller's output reacts to a measurement and moves it. What neither tells is said to be
//! unknown.

mod action;
mod angle;
mod behaviour;
mod influence;
mod loops;
mod names;
mod naming;
#[cfg(test)]
pub(crate) mod plants;
mod roles;
mod rows;
mod settling;
mod sorting;

pub use angle::{Angle, angle};
pub use settling::Settling;

use std::collections::{HashMap, HashSet};

use self::behaviour::{Behaviour, MOST_MODES};
use self::names::{COUNTER, EPISODE, REWARD, TERMINAL, TIME, TRUNCATED, names_one_of};
use self::roles::Roles;
use self::rows::Rows;
use super::table::{Column, Kind, Table, shortened};

/// What the columns of a log may mean; columns are named as they stand in the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Guess {
    /// The column of time.
    pub time: Option<String>,
    /// The column of episodes.
    pub episode: Option<String>,
    /// The reward.
    pub reward: Option<String>,
    /// Whether the plant has stopped for good.
    pub terminal: Option<String>,
    /// Whether only the recording stopped.
    pub truncated: Option<String>,
    /// How the column of a next state is called: a prefix, or a pattern with `*` for the state's name.
    pub next: Option<String>,
    /// State variables.
    pub states: Vec<String>,
    /// Actions.
    pub actions: Vec<String>,
    /// What the controller sees and does not influence.
    pub inputs: Vec<InputGuess>,
    /// States, each with the set-point that it is to follow.
    pub tracks: Vec<(String, String)>,
    /// States whose set-point has one value in all rows, and that value.
    pub rests: Vec<(String, f64)>,
    /// Columns with a role, and why they have it.
    pub reasons: Vec<(String, String)>,
    /// Columns that take no part, and why.
    pub left_out: Vec<(String, String)>,
    /// What could not be known.
    pub unknown: Vec<String>,
    /// Whether the action was taken without enough of a reason: nothing should be learned before somebody has looked.
    pub unsure_action: bool,
}

/// A column that the controller sees and does not influence.
#[derive(Clone, Debug, PartialEq)]
pub struct InputGuess {
    /// Its name in the file.
    pub title: String,
    /// What it is.
    pub kind: InputKind,
    /// Why it was taken for that.
    pub reason: String,
}

/// What an input is.
#[derive(Clone, Debug, PartialEq)]
pub enum InputKind {
    /// What a state is to follow.
    SetPoint {
        /// The state, if one was found.
        of: Option<String>,
    },
    /// What happens to the plant.
    Disturbance,
    /// The way in which the plant is run.
    Mode {
        /// Its values, in their order; whole numbers as words.
        values: Vec<String>,
    },
}

impl InputGuess {
    /// An input that the user has named; what is not known of it yet is found out.
    pub fn said(title: &str, kind: InputKind) -> Self {
        Self { title: title.to_owned(), kind, reason: SAID.to_owned() }
    }
}

/// The reason of what the user has said.
const SAID: &str = "you said so";

impl Guess {
    /// Looks at a table of all columns. What the user has said already stays.
    ///
    /// ```
    /// use fpsrl_data::log::{Column, Guess, InputKind, Kind, Table};
    /// let columns: Vec<Column> = ["PV", "SP", "MV"]
    ///     .iter()
    ///     .enumerate()
    ///     .map(|(index, name)| Column {
    ///         name: name.to_string(),
    ///         unit: String::new(),
    ///         title: name.to_string(),
    ///         kind: Kind::Number,
    ///         values: (0..50).map(|row| (row / 10 + index * row % 7) as f64).collect(),
    ///         words: Vec::new(),
    ///         fault: None,
    ///     })
    ///     .collect();
    /// let titles = columns.iter().map(|column| column.title.clone()).collect();
    /// let guess = Guess::default().complete(&Table { columns, titles, rows: 50, ..Table::default() });
    /// assert_eq!((&guess.states[0], &guess.actions[0]), (&"PV".to_owned(), &"MV".to_owned()));
    /// assert_eq!(guess.inputs[0].kind, InputKind::SetPoint { of: Some("PV".into()) });
    /// assert_eq!(guess.tracks, [("PV".to_owned(), "SP".to_owned())]);
    /// ```
    pub fn complete(self, table: &Table) -> Self {
        self.complete_unless(table, &|| false)
    }

    /// The same for whoever may be asked to stop meanwhile. Once `stopped` says so, what is left is not looked at: the guess is
    /// worth nothing then, and comes soon.
    pub fn complete_unless(mut self, table: &Table, stopped: &dyn Fn() -> bool) -> Self {
        self.call_by_titles(table);
        self.next = self.next.or_else(|| next_pattern(table));
        self.terminal = self.terminal.clone().or_else(|| self.find(table, &TERMINAL, &is_flag));
        self.truncated = self.truncated.clone().or_else(|| self.find(table, &TRUNCATED, &is_flag));
        let is_number = |column: &Column| column.kind == Kind::Number;
        self.reward = self.reward.clone().or_else(|| self.find(table, &REWARD, &is_number));
        self.episode = self.episode.clone().or_else(|| self.find(table, &EPISODE, &is_label));
        self.time = self.time.clone().or_else(|| {
            let stamps = table.columns.iter().find(|column| column.kind == Kind::Time && !self.has_said(column));
            stamps.map(|column| column.title.clone()).or_else(|| self.find(table, &TIME, &is_mostly_rising))
        });
        let rows = Rows::of(table, &self);
        let next: HashSet<&str> = self
            .next
            .iter()
            .flat_map(|pattern| rows::partners(table, pattern))
            .map(|(_, next)| next.title.as_str())
            .collect();
        let mut titles: HashMap<&str, usize> = HashMap::new();
        for column in &table.columns {
            *titles.entry(&column.title).or_default() += 1;
        }
        let mut columns: Vec<&Column> = Vec::new();
        let mut held: Vec<(&Column, f64)> = Vec::new();
        for column in &table.columns {
            let one = [&self.time, &self.episode, &self.reward, &self.terminal, &self.truncated];
            if one.into_iter().flatten().any(|name| name == &column.title) || next.contains(column.title.as_str()) {
                continue;
            }
            let twice = titles.get(column.title.as_str()).is_some_and(|count| *count > 1);
            match self.why_not(column, twice, &rows) {
                Some(why) if !self.has_said(column) => {
                    self.left_out.push((column.title.clone(), why));
                    held.extend(only_value(column).map(|value| (column, value)));
                }
                _ => columns.push(column),
            }
        }
        Roles::of(&self, table, &columns, &held, &rows, stopped).assign(self)
    }

    /// Calls what the user has named as it stands in the file: a unit need not be said.
    fn call_by_titles(&mut self, table: &Table) {
        let one = [&mut self.time, &mut self.episode, &mut self.reward, &mut self.terminal, &mut self.truncated];
        let inputs = self.inputs.iter_mut().map(|input| &mut input.title);
        let tracks = self.tracks.iter_mut().flat_map(|(state, set_point)| [state, set_point]);
        let lists = self.states.iter_mut().chain(&mut self.actions).chain(inputs).chain(tracks);
        for name in one.into_iter().flatten().chain(lists) {
            if let Some(column) = table.column(std::slice::from_ref(name)) {
                name.clone_from(&column.title);
            }
        }
    }

    /// How long an action's effect lasts.
    pub fn settling(&self, table: &Table) -> Option<Settling> {
        Settling::of(self, table)
    }

    /// Whether the user has given a column a role.
    fn has_said(&self, column: &Column) -> bool {
        let one = [&self.time, &self.episode, &self.reward, &self.terminal, &self.truncated];
        let inputs = self.inputs.iter().map(|input| &input.title);
        let tracks = self.tracks.iter().flat_map(|(state, set_point)| [state, set_point]);
        let mut said = one.into_iter().flatten().chain(&self.states).chain(&self.actions).chain(inputs).chain(tracks);
        said.any(|name| name == &column.title)
    }

    /// The title of a column that one of these words names; a name that is the word itself goes before one that
    /// contains it.
    fn find(&self, table: &Table, known: &[&str], fits: &dyn Fn(&Column) -> bool) -> Option<String> {
        let free = || table.columns.iter().filter(|column| !self.has_said(column) && fits(column));
        let exact = free().find(|column| known.contains(&column.name.to_lowercase().as_str()));
        exact.or_else(|| free().find(|column| names_one_of(&column.name, known))).map(|column| column.title.clone())
    }

    /// Why a column can take no part, if it cannot.
    fn why_not(&self, column: &Column, twice: bool, rows: &Rows) -> Option<String> {
        if column.name.is_empty() {
            return Some("it has no name".into());
        }
        if twice {
            return Some("another column has the same name: rename one of them".into());
        }
        if column.kind == Kind::Time {
            return Some("it holds points in time".into());
        }
        if column.values.iter().all(|value| !value.is_finite()) {
            return Some("it is empty".into());
        }
        if column.kind == Kind::Text {
            return why_no_mode(column, rows);
        }
        if let Some(value) = only_value(column) {
            return Some(format!("it has one value in all rows: {value}"));
        }
        let counts = names_one_of(&column.name, &COUNTER)
            // Only beside a column of episodes: a step may be anything else by itself.
            || (self.episode.is_some() && names_one_of(&column.name, &["step"]));
        (counts && is_mostly_rising(column)).then(|| "it counts rows".into())
    }
}

/// The value of a column of numbers that has only one.
fn only_value(column: &Column) -> Option<f64> {
    let mut values = column.values.iter().copied().filter(|value| value.is_finite());
    let first = values.next().filter(|_| column.kind == Kind::Number)?;
    values.all(|value| value == first).then_some(first)
}

/// Why a column of words is no mode, if it is none.
fn why_no_mode(column: &Column, rows: &Rows) -> Option<String> {
    let word = shortened(column.words.first().map_or("", String::as_str));
    match column.words.len() {
        0 | 1 => Some(format!("it holds one word in all rows: `{word}`")),
        count if count > MOST_MODES => {
            Some(format!("it holds {count} words, such as `{word}`; a mode has at most {MOST_MODES}"))
        }
        _ if !is_seldom(&Behaviour::of(&rows.values(column), rows)) => {
            Some(format!("it holds words, such as `{word}`, that change too often for a mode"))
        }
        _ => None,
    }
}

/// Whether what somebody sets changes seldom enough to be a mode.
fn is_seldom(behaviour: &Behaviour) -> bool {
    behaviour.changes <= 0.2
}

/// How the column of the next state is called, by a pattern such as `next_*`.
pub(super) fn next_name(pattern: &str, state: &str) -> String {
    if pattern.contains('*') { pattern.replace('*', state) } else { format!("{pattern}{state}") }
}

/// The pattern by which most columns have another one for their next state.
fn next_pattern(table: &Table) -> Option<String> {
    let titles: HashSet<&str> = table.columns.iter().map(|column| column.title.as_str()).collect();
    let count =
        |pattern: &str| titles.iter().filter(|title| titles.contains(next_name(pattern, title).as_str())).count();
    let patterns = ["next_", "*_next", "next ", "*'", "new_", "*_prime"];
    let best = patterns.into_iter().rev().max_by_key(|pattern| count(pattern))?;
    (count(best) > 0).then(|| best.to_owned())
}

fn is_flag(column: &Column) -> bool {
    column.kind == Kind::Number && column.values.iter().all(|value| value.is_nan() || *value == 0.0 || *value == 1.0)
}

/// Whether a column holds names or numbers of something that lasts for several rows.
fn is_label(column: &Column) -> bool {
    let whole = column.values.iter().all(|value| value.is_nan() || value.fract() == 0.0);
    let changes = column.values.windows(2).filter(|pair| pair[0] != pair[1]).count();
    column.kind != Kind::Time && whole && 2 * changes < column.values.len().max(1)
}

/// Whether a column rises in almost every row, as time does.
fn is_mostly_rising(column: &Column) -> bool {
    let falls = column.values.windows(2).filter(|pair| pair[1].is_nan() || pair[1] < pair[0]).count();
    column.kind == Kind::Time || (column.values.len() > 1 && 5 * falls < column.values.len())
}

#[cfg(test)]
pub(crate) mod tests;
