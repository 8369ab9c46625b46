//! What the columns of a log may mean, told from their names and their numbers.

use std::f64::consts::PI;

use super::table::{Column, Kind, Table};

/// Words that name a column of time.
const TIME: [&str; 13] = [
    "time",
    "t",
    "timestamp",
    "ts",
    "date",
    "datetime",
    "zeit",
    "zeitstempel",
    "clock",
    "elapsed",
    "seconds",
    "sec",
    "step",
];
/// Words that name a column of episodes.
const EPISODE: [&str; 12] =
    ["episode", "episodes", "ep", "run", "batch", "trial", "trajectory", "traj", "lot", "cycle", "campaign", "rollout"];
/// Words that name a reward.
const REWARD: [&str; 5] = ["reward", "rewards", "rew", "r", "score"];
/// Words that name the end of a plant's life.
const TERMINAL: [&str; 8] =
    ["terminated", "terminal", "terminals", "terminations", "termination", "done", "dones", "failed"];
/// Words that name the end of a recording.
const TRUNCATED: [&str; 6] = ["truncated", "truncations", "truncation", "truncate", "timeout", "timeouts"];
/// Words that name what a controller sets.
const ACTION: [&str; 34] = [
    "action",
    "actions",
    "act",
    "u",
    "control",
    "controls",
    "ctrl",
    "cmd",
    "command",
    "force",
    "torque",
    "valve",
    "setpoint",
    "sp",
    "mv",
    "op",
    "voltage",
    "volts",
    "pwm",
    "throttle",
    "steering",
    "steer",
    "heater",
    "heating",
    "pump",
    "fan",
    "duty",
    "input",
    "manipulated",
    "brake",
    "burner",
    "damper",
    "cooling",
    "dosing",
];
/// Words that name an angle.
const ANGLE: [&str; 9] = ["theta", "angle", "phi", "psi", "yaw", "heading", "winkel", "roll", "pitch"];

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
    /// Columns that take no part, and why.
    pub left_out: Vec<(String, String)>,
    /// What could not be known.
    pub unknown: Vec<String>,
}

/// Words of a name: `LIC101.PV_valve` is lic101, pv and valve; `theta_dot` is the derivative of an angle.
fn words(name: &str) -> Vec<String> {
    name.to_lowercase()
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

fn names_one_of(name: &str, known: &[&str]) -> bool {
    let words = words(name);
    // A single letter must be the whole name, or be numbered: u, u1, u_2.
    let is = |word: &str| {
        let bare = word.trim_end_matches(|c: char| c.is_ascii_digit());
        known.iter().any(|known| word == *known || (bare == *known && (known.len() > 1 || words.len() == 1)))
    };
    words.iter().any(|word| is(word) && (word.len() > 1 || words[0] == *word))
}

/// The share of steps within the table that change a column at all, and the mean size of a change over the spread.
fn restlessness(values: &[f64]) -> f64 {
    let values: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len().max(1) as f64;
    // A plant's state moves smoothly: its second differences are small. What a person or a random policy sets does not.
    let second = values.windows(3).map(|three| (three[2] - 2.0 * three[1] + three[0]).powi(2)).sum::<f64>()
        / values.len().saturating_sub(2).max(1) as f64;
    if variance > 0.0 { second / variance } else { 0.0 }
}

impl Guess {
    /// Looks at a table of all columns. What the user has said already stays.
    pub fn complete(mut self, table: &Table) -> Self {
        let bare = |column: &&Column| column.name.clone();
        let taken = |guess: &Self| -> Vec<String> {
            let one = [&guess.time, &guess.episode, &guess.reward, &guess.terminal, &guess.truncated];
            let said = one.into_iter().flatten().chain(&guess.states).chain(&guess.actions);
            said.cloned().collect()
        };
        let is_said = |guess: &Self, column: &Column| {
            taken(guess).iter().any(|name| *name == column.title || *name == column.name)
        };
        let find = |guess: &Self, known: &[&str], fits: &dyn Fn(&Column) -> bool| {
            let free = || table.columns.iter().filter(|column| !is_said(guess, column) && fits(column));
            // A name that is the word itself goes before one that only contains it.
            let exact = free().find(|column| known.contains(&column.name.to_lowercase().as_str()));
            exact
                .or_else(|| free().find(|column| names_one_of(&bare(column), known)))
                .map(|column| column.title.clone())
        };
        self.next = self.next.or_else(|| next_pattern(table));
        let is_next = |column: &Column, pattern: &Option<String>| {
            pattern.as_ref().is_some_and(|pattern| {
                table.columns.iter().any(|other| next_name(pattern, &other.title) == column.title)
            })
        };
        self.terminal = self.terminal.clone().or_else(|| find(&self, &TERMINAL, &is_flag));
        self.truncated = self.truncated.clone().or_else(|| find(&self, &TRUNCATED, &is_flag));
        self.reward = self.reward.clone().or_else(|| find(&self, &REWARD, &|column| column.kind == Kind::Number));
        self.episode = self.episode.clone().or_else(|| find(&self, &EPISODE, &is_label));
        self.time = self.time.clone().or_else(|| {
            let stamps = table.columns.iter().find(|column| column.kind == Kind::Time && !is_said(&self, column));
            stamps.map(|column| column.title.clone()).or_else(|| find(&self, &TIME, &is_mostly_rising))
        });
        let given_states = !self.states.is_empty();
        let given_actions = !self.actions.is_empty();
        for column in &table.columns {
            if is_said(&self, column) || is_next(column, &self.next) {
                continue;
            }
            let finite: Vec<f64> = column.values.iter().copied().filter(|value| value.is_finite()).collect();
            let why = if column.name.is_empty() {
                Some("it has no name".to_owned())
            } else if column.kind == Kind::Text {
                Some(format!(
                    "it holds words, such as `{}`",
                    super::table::shortened(column.words.first().map_or("", String::as_str))
                ))
            } else if column.kind == Kind::Time {
                Some("it holds points in time".to_owned())
            } else if finite.is_empty() {
                Some("it is empty".to_owned())
            } else if finite.iter().all(|value| *value == finite[0]) {
                Some(format!("it has one value in all rows: {}", finite[0]))
            } else if (names_one_of(&column.name, &["index", "row", "id", "unnamed"])
                // Only beside a column of episodes: a step may be anything else by itself.
                || (self.episode.is_some() && names_one_of(&column.name, &["step"])))
                && is_mostly_rising(column)
            {
                Some("it counts rows".to_owned())
            } else {
                None
            };
            match why {
                Some(why) => self.left_out.push((column.title.clone(), why)),
                None if !given_actions
                    && names_one_of(&column.name, &ACTION)
                    && !names_one_of(&column.name, &["pv", "measured", "actual"]) =>
                {
                    self.actions.push(column.title.clone());
                }
                None if !given_states => self.states.push(column.title.clone()),
                None => self.left_out.push((column.title.clone(), "it was not asked for".into())),
            }
        }
        if self.actions.is_empty() && self.states.len() > 1 {
            let values = |title: &String| {
                table.columns.iter().find(|column| column.title == *title).map(|column| restlessness(&column.values))
            };
            let most = self.states.iter().enumerate().filter_map(|(index, title)| Some((index, values(title)?)));
            if let Some((index, _)) = most.max_by(|a, b| a.1.total_cmp(&b.1)) {
                let action = self.states.remove(index);
                self.unknown.push(format!(
                    "no name says which column is the action; `{action}` was taken because it moves least smoothly"
                ));
                self.actions.push(action);
            }
        }
        self
    }
}

/// How the column of the next state is called, by a pattern such as `next_*`.
pub(super) fn next_name(pattern: &str, state: &str) -> String {
    if pattern.contains('*') { pattern.replace('*', state) } else { format!("{pattern}{state}") }
}

/// The pattern by which most columns have another one for their next state.
fn next_pattern(table: &Table) -> Option<String> {
    let titles: Vec<&str> = table.columns.iter().map(|column| column.title.as_str()).collect();
    let count =
        |pattern: &str| titles.iter().filter(|title| titles.contains(&next_name(pattern, title).as_str())).count();
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

/// What an angle looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Angle {
    /// It is none.
    No,
    /// In radians.
    Radians,
    /// In degrees.
    Degrees,
}

/// Whether a column is an angle: its range is a turn, and it jumps by a turn from one row to the next.
pub fn angle(column: &Column) -> Angle {
    let values: Vec<f64> = column.values.iter().copied().filter(|value| value.is_finite()).collect();
    let (low, high) = values
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(*value), high.max(*value)));
    let jumps = |turn: f64| {
        let wraps = values.windows(2).filter(|pair| (pair[1] - pair[0]).abs() > 0.5 * turn).count();
        let small = values.windows(2).filter(|pair| (pair[1] - pair[0]).abs() < 0.25 * turn).count();
        wraps > 0 && 2 * small > values.len()
    };
    let within = |from: f64, to: f64| {
        low >= from - 0.01 * (to - from) && high <= to + 0.01 * (to - from) && high - low > 0.8 * (to - from)
    };
    let named =
        names_one_of(&column.name, &ANGLE) && !names_one_of(&column.name, &["dot", "rate", "velocity", "speed", "vel"]);
    if (within(-PI, PI) || within(0.0, 2.0 * PI)) && (jumps(2.0 * PI) || named) {
        Angle::Radians
    } else if (within(-180.0, 180.0) || within(0.0, 360.0)) && jumps(360.0) {
        Angle::Degrees
    } else if named && column.unit.starts_with("rad") && (low < -PI || high > PI) {
        Angle::Radians
    } else {
        Angle::No
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::{TextOptions, text};

    fn table(text: &str) -> Table {
        text::read(text.as_bytes(), "log.csv".as_ref(), &TextOptions::default(), &|_, _| true, &|| Ok(())).unwrap()
    }

    fn some(name: &str) -> Option<String> {
        Some(name.to_owned())
    }

    #[test]
    fn roles_are_told_from_names() {
        let mut text = "timestamp;Batch;TI101[degC];FIC3.MV;note;const;reward;done\n".to_owned();
        for row in 0..40 {
            text += &format!(
                "2024-01-01 00:00:{row:02};B{};{};{};ok;5;{};{}\n",
                row / 20,
                20 + row,
                row % 3,
                -row,
                u8::from(row % 20 == 19)
            );
        }
        let guess = Guess::default().complete(&table(&text));
        assert_eq!(guess.time, some("timestamp"));
        assert_eq!(guess.episode, some("Batch"));
        assert_eq!(guess.reward, some("reward"));
        assert_eq!(guess.terminal, some("done"));
        assert_eq!(guess.states, ["TI101[degC]"]);
        assert_eq!(guess.actions, ["FIC3.MV"]);
        let left: Vec<&str> = guess.left_out.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(left, ["note", "const"]);
    }

    #[test]
    fn rows_that_hold_their_next_state_are_recognised() {
        let guess = Guess::default().complete(&table("x,v,u,next_x,next_v,r\n1,2,0,3,4,5\n3,4,1,2,7,8\n"));
        assert_eq!(guess.next, some("next_"));
        assert_eq!(guess.states, ["x", "v"]);
        let guess = Guess::default().complete(&table("x,v,u,x_next,v_next,r\n1,2,0,3,4,5\n3,4,1,2,7,8\n"));
        assert_eq!(guess.next, some("*_next"));
    }

    #[test]
    fn without_a_name_the_least_smooth_column_is_the_action_and_that_is_said() {
        let mut text = "a,b,c\n".to_owned();
        for row in 0..200 {
            let phase = f64::from(row) * 0.1;
            text += &format!("{},{},{}\n", phase.sin(), (row * 7919) % 11, phase.cos());
        }
        let guess = Guess::default().complete(&table(&text));
        assert_eq!(guess.actions, ["b"]);
        assert!(guess.unknown[0].contains("`b` was taken"), "{:?}", guess.unknown);
    }

    #[test]
    fn what_the_user_says_stays() {
        let said = Guess { actions: vec!["x".into()], reward: some("u"), ..Guess::default() };
        let guess = said.complete(&table("x,v,u\n1,2,0\n3,4,1\n"));
        assert_eq!(
            (guess.actions, guess.reward, guess.states),
            (vec!["x".to_owned()], some("u"), vec!["v".to_owned()])
        );
    }

    #[test]
    fn angles_are_told_by_their_turns() {
        let column = |name: &str, value: &dyn Fn(f64) -> f64| {
            let mut text = format!("{name},u\n");
            for row in 0..400 {
                text += &format!("{},0\n", value(f64::from(row)));
            }
            angle(&table(&text).columns[0])
        };
        let wrapped = |row: f64| fpsrl_engine::angle::wrap_angle(0.1 * row);
        assert_eq!(column("x", &wrapped), Angle::Radians);
        assert_eq!(column("x", &|row| wrapped(row).to_degrees()), Angle::Degrees);
        assert_eq!(column("x", &|row| (0.1 * row).sin()), Angle::No);
        assert_eq!(column("theta", &|row| 3.1 * (0.1 * row).sin()), Angle::Radians);
        assert_eq!(column("theta_dot", &|row| 3.1 * (0.1 * row).sin()), Angle::No);
    }
}
