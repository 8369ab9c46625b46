//! A problem file from a log: what was found is filled in, what could not be known is said, and the user corrects it.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use fpsrl_base::error::{Error, Result};
use fpsrl_base::progress::Progress;
use fpsrl_base::text::count;
use fpsrl_data::log::{Angle, Column, Guess, ImportReport, Table, TextOptions, angle, read};

use crate::problem::{Row, WrittenProblem};
use crate::stage::DataReport;

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
    let guess = guess.complete(&table);
    if guess.states.is_empty() || guess.actions.is_empty() {
        let what = if guess.states.is_empty() { "a state variable" } else { "an action" };
        return Err(Error::Malformed {
            path: first.clone(),
            line: None,
            column: None,
            problem: format!("no column was found that could be {what}"),
            remedy: format!(
                "a log needs at least one state and one action; it has these columns: {}",
                table.titles.join(", ")
            )
            .into(),
        });
    }
    let mut draft =
        Drafting { table: &table, guess: &guess, options, found: Vec::new(), unknown: guess.unknown.clone() };
    let names = draft.names();
    let paths: Vec<String> = files.iter().map(|file| named_from(directory, file)).collect();
    // The alignment and all else that only transitions tell comes from an import of the draft itself.
    let trial = draft.text(&names, &paths, Row::Next, None, true);
    let imported = WrittenProblem::parse(&trial, &directory.join("problem.toml")).and_then(|mut written| {
        written.data.file = Some(crate::problem::OneOrMany::Many(
            files.iter().map(|file| file.to_string_lossy().into_owned()).collect(),
        ));
        DataReport::import(&written.check()?, &Progress::silent())
    });
    let (alignment, report) = match &imported {
        Ok((_, imported)) => (imported.report.alignment.clone(), Some(&imported.report)),
        Err(error) => {
            draft.unknown.push(format!("the log cannot be used as it is: {error}"));
            (None, None)
        }
    };
    let mut leads_to = Row::Next;
    if let Some(alignment) = &alignment {
        let figures = format!(
            "left unexplained {:.1} % if to the next row, {:.1} % if to its own, on {} rows",
            100.0 * alignment.error_next,
            100.0 * alignment.error_this,
            alignment.rows
        );
        match alignment.fits {
            Some(row) => {
                leads_to = row;
                let which = if row == Row::Next { "the next row" } else { "its own row" };
                draft.found.push(format!("an action leads to {which} ({figures})"));
            }
            None if alignment.rows < 60 => draft
                .unknown
                .push("which row an action leads to: it changes too seldom to tell; \"next\" is assumed".into()),
            None => draft
                .unknown
                .push(format!("which row an action leads to: the data do not tell ({figures}); \"next\" is assumed")),
        }
    }
    let text = draft.text(&names, &paths, leads_to, report, false);
    Ok(Draft { text, found: draft.found, unknown: draft.unknown })
}

/// A file's path as it is written into a problem file in a directory.
fn named_from(directory: &Path, file: &Path) -> String {
    let absolute = crate::files::absolute(file);
    let base = crate::files::absolute(directory);
    absolute.strip_prefix(&base).unwrap_or(&absolute).to_string_lossy().into_owned()
}

/// What the user said, with the key of each in the problem file.
fn said(guess: &Guess) -> Vec<(&String, &'static str)> {
    let one = |name: &'_ Option<String>, key: &'static str| name.as_ref().map(|_| key);
    let mut said: Vec<(&String, &'static str)> = Vec::new();
    for (name, key) in [
        (&guess.time, "time"),
        (&guess.episode, "episode"),
        (&guess.reward, "reward"),
        (&guess.terminal, "terminal"),
        (&guess.truncated, "truncated"),
    ] {
        if let (Some(name), Some(key)) = (name, one(name, key)) {
            said.push((name, key));
        }
    }
    said.extend(guess.states.iter().chain(&guess.actions).map(|name| (name, "column")));
    said
}

struct Drafting<'a> {
    table: &'a Table,
    guess: &'a Guess,
    options: &'a TextOptions,
    found: Vec<String>,
    unknown: Vec<String>,
}

impl Drafting<'_> {
    fn column(&self, title: &str) -> Option<&Column> {
        self.table.columns.iter().find(|column| column.title == title || column.name == title)
    }

    /// A name for every state and action that a formula can use, each its own.
    fn names(&self) -> Vec<(String, String)> {
        let mut names: Vec<(String, String)> = Vec::new();
        for title in self.guess.states.iter().chain(&self.guess.actions) {
            let bare = self.column(title).map_or(title.as_str(), |column| column.name.as_str());
            let mut name: String = bare.chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect();
            name = name.trim_matches('_').to_owned();
            let reserved = ["episode", "step", "reward", "terminated", ""].contains(&name.as_str());
            if reserved || name.starts_with("next_") || name.starts_with(|c: char| c.is_ascii_digit()) {
                name = format!("x_{name}");
            }
            while names.iter().any(|(_, other)| *other == name) {
                name.push('_');
            }
            names.push((title.clone(), name));
        }
        names
    }

    /// The text of the problem file. A trial needs no reward.
    fn text(
        &mut self,
        names: &[(String, String)],
        files: &[String],
        leads_to: Row,
        report: Option<&ImportReport>,
        trial: bool,
    ) -> String {
        let mut body = String::new();
        let quoted = |text: &str| toml::Value::String(text.to_owned()).to_string();
        let mut line = |key: &str, value: String, comment: &str| {
            let setting = format!("{key} = {value}");
            let _ = writeln!(body, "{setting:<36} # {comment}");
        };
        let stem = self.table.path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let stem = stem.strip_suffix(".csv").unwrap_or(&stem);
        let name: String =
            stem.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '-' }).collect();
        let name = name.trim_start_matches(['.', '-']);
        line("name", quoted(if name.is_empty() { "log" } else { name }), "the run directory is called after it");
        let longest = report.map_or(0, longest_episode);
        let horizon = longest.clamp(100, 200);
        line(
            "horizon",
            horizon.to_string(),
            "steps that the controller looks ahead: as long as an action's effects last",
        );
        line(
            "start",
            quoted("data"),
            "where rollouts start: \"data\", \"episodes\" (their first states), \"ranges\", a file",
        );
        let mut found = Vec::new();
        let mut unknown = Vec::new();
        let mut sections = String::new();
        for (index, (title, name)) in names.iter().enumerate() {
            let Some(column) = self.column(title) else { continue };
            let is_action = index >= self.guess.states.len();
            let values: Vec<f64> = column.values.iter().copied().filter(|value| value.is_finite()).collect();
            let fold = |of: fn(f64, f64) -> f64, first| values.iter().copied().fold(first, of);
            let (low, high) = (fold(f64::min, f64::INFINITY), fold(f64::max, f64::NEG_INFINITY));
            let _ = writeln!(sections, "\n[[{}]]", if is_action { "action" } else { "state" });
            let mut line = |key: &str, value: String, comment: &str| {
                let setting = format!("{key} = {value}");
                let _ = writeln!(sections, "{setting:<36} # {comment}");
            };
            line("name", quoted(name), &format!("from {} to {} in the log", short(low), short(high)));
            if title != name {
                line("column", quoted(title), "its name in the log");
            }
            if !column.unit.is_empty() {
                line("unit", quoted(&column.unit), "for people");
            }
            if is_action {
                let limits = nice_limits(low, high);
                line(
                    "limits",
                    format!("[{:?}, {:?}]", limits[0], limits[1]),
                    "the lowest and the highest value: what may be applied",
                );
                if !trial {
                    let step = short(0.1 * (limits[1] - limits[0]));
                    for (setting, comment) in [
                        (format!("# rate = {step}"), "how far it may move in a step, if that is limited"),
                        ("# change = true".into(), "instead: the rules decide how far it moves, not where to,"),
                        (format!("# change_limits = [-{step}, {step}]"), "by so much in a step"),
                    ] {
                        let _ = writeln!(sections, "{setting:<36} # {comment}");
                    }
                }
                let mut distinct = values.clone();
                distinct.sort_by(f64::total_cmp);
                distinct.dedup();
                if distinct.len() <= 5 {
                    let list: Vec<String> = distinct.iter().map(|value| short(*value)).collect();
                    found.push(format!(
                        "the action `{name}` has only the values {}; the controller's will lie between them too",
                        list.join(", ")
                    ));
                }
            } else {
                match angle(column) {
                    Angle::Radians => {
                        line("angle", "true".into(), "radians, taken modulo 2 pi");
                        found.push(format!("`{name}` is an angle: it has the range of one"));
                    }
                    Angle::Degrees => unknown.push(format!(
                        "`{name}` looks like an angle in degrees; angles are taken in radians: convert the column, then set `angle = true`"
                    )),
                    Angle::No => {}
                }
            }
            if let Some(fault) = &column.fault {
                let at = self
                    .table
                    .line(fault.row)
                    .map_or_else(|| format!("row {}", fault.row + 1), |line| format!("line {line}"));
                unknown.push(format!(
                    "{at}, column `{title}`: {} {}; correct it, or add it to `missing`",
                    fault.text, fault.what
                ));
            }
        }
        let _ = writeln!(sections, "\n[data]");
        let mut line = |key: &str, value: String, comment: &str| {
            let setting = format!("{key} = {value}");
            let _ = writeln!(sections, "{setting:<36} # {comment}");
        };
        let list = match files {
            [file] => quoted(file),
            files => format!("[{}]", files.iter().map(|file| quoted(file)).collect::<Vec<_>>().join(", ")),
        };
        line("file", list, "the log: a file, or a list of files");
        let guess = self.guess;
        for (key, name, comment) in [
            ("time", &guess.time, "the column of time"),
            ("episode", &guess.episode, "the column that tells episodes apart"),
            ("reward", &guess.reward, "the column of the reward"),
            ("terminal", &guess.terminal, "the column that says whether the plant has stopped for good"),
            ("truncated", &guess.truncated, "the column that says whether only the recording stopped"),
            ("next", &guess.next, "how the column of a next state is called"),
        ] {
            if let Some(name) = name {
                line(key, quoted(name), comment);
            }
        }
        if guess.next.is_none() {
            line(
                "action_leads_to",
                quoted(leads_to.word()),
                "\"next\": a row's action led to the next row; \"this\": to this row",
            );
            if guess.reward.is_some() {
                line(
                    "reward_belongs_to",
                    quoted("next"),
                    "\"next\": to the step to the next row; \"this\": to the step to this row",
                );
            }
        }
        if !trial {
            let comment = "past steps that the world model sees, for dead time and hidden states; or a number";
            let _ = writeln!(sections, "{:<36} # {comment}", "# history = \"auto\"");
        }
        let mut line = |key: &str, value: String, comment: &str| {
            let setting = format!("{key} = {value}");
            let _ = writeln!(sections, "{setting:<36} # {comment}");
        };
        let sign = |sign: char| if sign == '\t' { "tab".to_owned() } else { sign.to_string() };
        if let Some(separator) = self.options.separator {
            line("separator", quoted(&sign(separator)), "between two cells");
        }
        if let Some(decimal) = self.options.decimal {
            line("decimal", quoted(&sign(decimal)), "before the fraction of a number");
        }
        if !self.options.missing.is_empty() {
            let words: Vec<String> = self.options.missing.iter().map(|word| quoted(word)).collect();
            line("missing", format!("[{}]", words.join(", ")), "words that stand for a missing value");
        }
        let _ = writeln!(sections, "\n[world]");
        let state = &names[0].1;
        if trial && guess.reward.is_none() {
            let _ = writeln!(sections, "reward = \"0\"");
        } else {
            if guess.reward.is_none() {
                unknown.push("what is good: no column was found for the reward; give a formula below [world]".into());
            }
            let instead = if guess.reward.is_none() { "" } else { ", instead of the column" };
            let setting = format!("# reward = \"-abs({state} - 1.0)\"");
            let _ = writeln!(sections, "{setting:<36} # what is good, as a formula{instead}: the largest is aimed at");
        }
        let setting = format!("# terminal = \"abs({state}) > 10\"");
        let _ = writeln!(sections, "{setting:<36} # where the plant stops for good, also where the log never was");
        let _ = writeln!(sections, "\n[policy]");
        let _ = writeln!(sections, "{:<36} # for each action; \"auto\" adds them while they pay", "rules = \"auto\"");
        if !trial {
            self.found.extend(found);
            self.unknown.extend(unknown);
            self.remarks(report);
        }
        let mut text = format!(
            "# A problem of fpsrl, drafted from {}. Correct it, then: fpsrl check, fpsrl run.\n",
            files.join(", ")
        );
        for (heading, lines) in [("What was found:", &self.found), ("What could not be known:", &self.unknown)] {
            if !lines.is_empty() && !trial {
                let _ = writeln!(text, "#\n# {heading}");
                lines.iter().for_each(|line| {
                    let _ = writeln!(text, "#   - {}", line.replace('\n', " "));
                });
            }
        }
        if !trial {
            let _ = writeln!(
                text,
                "#\n# Settings that are not here have defaults; `fpsrl run` writes all of them into the run directory."
            );
        }
        format!("{text}\n{body}{sections}")
    }

    /// What the table and its import tell.
    fn remarks(&mut self, report: Option<&ImportReport>) {
        let guess = self.guess;
        let mut found = vec![format!("{} rows, {} columns", count(self.table.rows), self.table.titles.len())];
        found.extend(self.table.notes.iter().cloned());
        if guess.next.is_some() {
            found.push("each row holds its next state itself".into());
        }
        if let Some(report) = report {
            found.push(format!(
                "{} transitions in {} episodes",
                count(report.transitions - report.missing.min(report.transitions)),
                count(report.episodes)
            ));
            if let Some(interval) = report.interval {
                found.push(format!("a row every {}{}", short(interval), self.unit_of_time()));
            }
            for (number, what) in [
                (report.missing, "steps with missing cells, left out"),
                (report.duplicates, "rows with the time of the row before, left out"),
                (report.out_of_order, "places where time runs backwards; the rows were put in order"),
                (report.gaps, "gaps in time, where the log was cut"),
                (report.early, "steps that are too short, where the log was cut; or set `resample = true`"),
                (
                    report.lost_terminals,
                    "terminal steps whose next state is not in the log: they are lost. Write one more row at an episode's end, with the last state",
                ),
            ] {
                if number > 0 {
                    found.push(format!("{} {what}", count(number)));
                }
            }
            found.extend(report.notes.iter().cloned());
        }
        for (title, why) in &guess.left_out {
            found.push(format!("the column `{title}` takes no part: {why}"));
        }
        self.found.splice(0..0, found);
        if guess.time.is_none() && guess.episode.is_none() && guess.next.is_none() {
            self.unknown.push("whether rows are missing: there is neither a column of time nor one of episodes; all rows of a file count as one episode".into());
        }
        if guess.terminal.is_none() && guess.next.is_none() {
            self.unknown.push(
                "whether the plant can stop for good: no column says so; give a formula below [world] if it can".into(),
            );
        }
        self.unknown.push(
            "how far ahead the controller must look: correct `horizon` if an action's effects last longer or shorter"
                .into(),
        );
        self.unknown.push("the limits of the actions: those of the log were taken; correct them if others hold".into());
    }

    fn unit_of_time(&self) -> String {
        let column = self.guess.time.as_ref().and_then(|title| self.column(title));
        match column {
            Some(column) if column.kind == fpsrl_data::log::Kind::Time => " s".into(),
            Some(column) if !column.unit.is_empty() => format!(" {}", column.unit),
            _ => String::new(),
        }
    }
}

/// The mean length of an episode, for the horizon.
fn longest_episode(report: &ImportReport) -> usize {
    report.kept / report.episodes.max(1)
}

/// A number for people.
pub(crate) fn short(value: f64) -> String {
    if value == 0.0 || (1e-3..1e6).contains(&value.abs()) {
        let text = format!("{value:.4}");
        let text = text.trim_end_matches('0').trim_end_matches('.');
        return if text.is_empty() || text == "-0" { "0".into() } else { text.to_owned() };
    }
    format!("{value:.3e}")
}

/// The limits that a log's range suggests: round numbers just outside of it.
fn nice_limits(low: f64, high: f64) -> [f64; 2] {
    let span = high - low;
    let near = |value: f64, outward: f64| {
        for digits in 0..3 {
            let size = value.abs().max(1e-300).log10().floor();
            let unit = 10f64.powf(size - f64::from(digits));
            let rounded = (value / unit).round() * unit;
            // Digits beyond the twelfth are rounding.
            let rounded: f64 = format!("{rounded:.12e}").parse().unwrap_or(rounded);
            if (rounded - value).abs() <= 0.02 * span && outward * (rounded - value) >= -1e-12 * span {
                return rounded;
            }
        }
        value
    };
    let zero_or = |value: f64, outward: f64| {
        if value.abs() <= 0.02 * span && outward * (0.0 - value) >= 0.0 { 0.0 } else { near(value, outward) }
    };
    if span > 0.0 { [zero_or(low, -1.0), zero_or(high, 1.0)] } else { [low, high] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_round_numbers_just_outside() {
        assert_eq!(nice_limits(-0.9998, 0.9991), [-1.0, 1.0]);
        assert_eq!(nice_limits(0.003, 99.7), [0.0, 100.0]);
        assert_eq!(nice_limits(-9.93, 9.99), [-10.0, 10.0]);
        assert_eq!(nice_limits(0.0, 1.0), [0.0, 1.0]);
        let [low, high] = nice_limits(0.1234567, 0.7654321);
        assert!(low <= 0.1234567 && high >= 0.7654321 && low > 0.1 && high < 0.8);
    }

    #[test]
    fn numbers_for_people_are_short() {
        assert_eq!(short(0.05), "0.05");
        assert_eq!(short(-1.20000001), "-1.2");
        assert_eq!(short(1e-9), "1.000e-9");
        assert_eq!(short(0.0), "0");
    }
}
