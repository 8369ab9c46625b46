//! From tables to transitions: roles, order, gaps, missing cells, episodes.

use std::collections::HashMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::alignment::{Alignment, Samples};
use super::guess::next_name;
use super::layout::malformed;
use super::series::Series;
use super::table::{Column, Table};
use super::{TextOptions, read};
use crate::Transitions;
use crate::history::{self, HistoryReport, Recorded};
use crate::split::FEWEST_ROWS;
use crate::system::{History, StateVariable};
use crate::{DataSettings, LogSettings, Row, System};
use fpsrl_base::error::{Error, Result};
use fpsrl_base::progress::Progress;
use fpsrl_engine::angle::wrap_angle;
use fpsrl_engine::formula::Formula;

/// Steps of a stretch that is kept or left out as a whole when a log is longer than asked for.
const STRETCH: usize = 500;

/// Rows that the test of the alignment looks at, at most.
const ALIGNMENT_ROWS: usize = 20_000;

/// What was found in a log, and what was done about it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ImportReport {
    /// The files, with what is to be said of each.
    pub files: Vec<FileReport>,
    /// Rows of all files.
    pub rows: usize,
    /// Stretches without a gap, each an episode or a part of one.
    pub episodes: usize,
    /// Steps from a row to the next that the log holds.
    pub transitions: usize,
    /// Transitions that are kept of them.
    pub kept: usize,
    /// Transitions lost to missing cells.
    pub missing: usize,
    /// Rows left out because the row before has the same time.
    pub duplicates: usize,
    /// Rows that stood before rows of an earlier time, and were moved.
    pub out_of_order: usize,
    /// Steps that were cut because they took too long.
    pub gaps: usize,
    /// Steps that were cut because they were too short.
    pub early: usize,
    /// Terminal steps whose next state is not in the log.
    pub lost_terminals: usize,
    /// Steps after which the plant has stopped for good; none if the log does not say.
    pub terminals: Option<usize>,
    /// Time between two rows; none without a column of time.
    pub interval: Option<f64>,
    /// Whether rows were put onto a grid.
    pub resampled: bool,
    /// Rows whose action lies outside of its limits, by action.
    pub outside_limits: Vec<(String, usize)>,
    /// Which row an action led to, as the data tell it; none for rows that hold their next state themselves.
    pub alignment: Option<Alignment>,
    /// Past steps that each transition carries; none if nobody asks for any.
    pub history: Option<HistoryReport>,
    /// What else is to be said.
    pub notes: Vec<String>,
}

/// A file of a log.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FileReport {
    /// The file.
    pub path: PathBuf,
    /// Its rows.
    pub rows: usize,
    /// What is to be said of it.
    pub notes: Vec<String>,
}

/// A log that has been read, before it is known how much of its past matters.
#[derive(Debug)]
pub struct Recording {
    /// What was recorded, row by row.
    pub recorded: Recorded,
    report: ImportReport,
    samples: Samples,
}

/// A log turned into transitions.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// The transitions.
    pub transitions: Transitions,
    /// What was found and done.
    pub report: ImportReport,
}

/// Reads the log of a system; `reward` is the formula for it, if it is known.
///
/// ```
/// use fpsrl_base::progress::Progress;
/// use fpsrl_data::system::{History, Surroundings, WrittenAction, WrittenState, WrittenSystem};
/// use fpsrl_data::{DataSettings, LogSettings, log};
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("log.csv");
/// let mut text = "t,x,u,reward\n".to_owned();
/// for row in 0..200 {
///     let push = if row % 7 < 3 { 1 } else { -1 };
///     text += &format!("{row},{},{push},0\n", (row % 13) as f64 + 0.5 * push as f64);
/// }
/// std::fs::write(&path, text)?;
/// let written = WrittenSystem {
///     name: Some("own".into()),
///     horizon: Some(10),
///     states: vec![WrittenState { name: "x".into(), ..WrittenState::default() }],
///     actions: vec![WrittenAction { name: "u".into(), limits: Some([-1.0, 1.0]), ..WrittenAction::default() }],
///     ..WrittenSystem::default()
/// };
/// let system = written.check(&Surroundings { history: Some(History::Steps(0)), ..Surroundings::default() })?;
/// let columns = LogSettings { time: vec!["t".into()], reward: vec!["reward".into()], ..LogSettings::new(vec![path]) };
/// let settings = DataSettings { samples: 1_000, log: Some(columns), ..DataSettings::default() };
/// let recording = log::record(&system, &settings, None, &Progress::silent())?;
/// let imported = recording.finish(&system, &settings, None, None, Default::default())?;
/// assert_eq!(imported.transitions.len(), 199);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn record(
    system: &System,
    settings: &DataSettings,
    reward: Option<&Formula>,
    progress: &Progress,
) -> Result<Recording> {
    let log = columns_of(settings)?;
    let names = Roles::names(log, system);
    let wanted = |title: &str, name: &str| names.iter().any(|wanted| wanted == title || wanted == name);
    let LogSettings { separator, decimal, memory, .. } = *log;
    let options = TextOptions { separator, decimal, missing: log.missing.clone(), memory };
    let tables = log.files.iter().map(|path| read(path, &options, &wanted, progress));
    assemble(system, settings, reward, tables)
}

/// The same for tables that are in memory already, in the order of time.
pub fn record_tables(
    system: &System,
    settings: &DataSettings,
    reward: Option<&Formula>,
    tables: &[Table<'_>],
) -> Result<Recording> {
    if let Some(empty) = tables.iter().find(|table| table.rows == 0) {
        return Err(malformed(&empty.path, None, "there is no row in it", "give a table with the rows of the log"));
    }
    assemble(system, settings, reward, tables.iter().map(|table| Ok(table.lent())))
}

fn columns_of(settings: &DataSettings) -> Result<&LogSettings> {
    settings.log.as_ref().ok_or(Error::Internal("a problem without a log was imported"))
}

fn assemble<'a>(
    system: &System,
    settings: &DataSettings,
    reward: Option<&Formula>,
    tables: impl ExactSizeIterator<Item = Result<Table<'a>>>,
) -> Result<Recording> {
    settings.check()?;
    let log = columns_of(settings)?;
    if log.reward.is_empty() && reward.is_none() {
        return Err(Error::setting(
            "data.reward",
            "missing",
            "a controller must know what is good",
            "name the column of the reward: reward = \"…\" below [data]; or give a formula: reward = \"-abs(level - 1)\" \
             below [world]",
        ));
    }
    let mut report = ImportReport { resampled: log.resample, ..ImportReport::default() };
    for state in system.states()[..system.current_states()].iter().filter(|state| state.degrees) {
        report.notes.push(format!("`{}` is in degrees in the log, and in radians from here on", state.name));
    }
    let mut recorded = Recorded {
        transitions: Transitions::new(system.current_states(), system.actions().len()),
        ..Recorded::default()
    };
    let mut samples = Samples::new(system);
    let mut terminals = (!log.terminal.is_empty()).then(Vec::new);
    let context = Appending { system, settings, log, formula: reward.is_some() };
    let most_samples = ALIGNMENT_ROWS / tables.len().max(1);
    for table in tables {
        let mut table = table?;
        for state in system.states()[..system.current_states()].iter().filter(|state| !state.values().is_empty()) {
            table.number_words(columns(&state.columns, &state.name), state.values(), &state.name)?;
        }
        report.files.push(FileReport { path: table.path.clone(), rows: table.rows, notes: table.notes.clone() });
        report.rows += table.rows;
        let radians = Radians::of(&table, log, system)?;
        let roles = Roles::find(&table, &radians, log, system)?;
        let pairs = match &log.next {
            Some(_) => roles.rows_as_they_are(&mut report),
            None => {
                let series = Series::order(&roles, log, &mut report)?;
                match log.resample {
                    true => {
                        let grid = series.resample(&roles, system, &mut report);
                        let roles = grid.roles();
                        let pairs = roles.consecutive(&grid.breaks, &grid.order, log, &mut report);
                        context.append(&roles, &pairs, &mut recorded, &mut terminals, &mut report);
                        continue;
                    }
                    false => roles.consecutive(&series.breaks, &series.order, log, &mut report),
                }
            }
        };
        if log.next.is_none() {
            samples.collect(&roles.states, &roles.actions, &pairs, most_samples);
        }
        context.append(&roles, &pairs, &mut recorded, &mut terminals, &mut report);
    }
    recorded.transitions.terminated = terminals;
    Ok(Recording { recorded, report, samples })
}

impl Recording {
    /// The transitions of a system whose history is settled; `history` says how. `costs` are taken off the rewards.
    pub fn finish(
        self,
        system: &System,
        settings: &DataSettings,
        reward: Option<&Formula>,
        costs: Option<&Formula>,
        history: HistoryReport,
    ) -> Result<Imported> {
        let Self { recorded, mut report, samples } = self;
        let log = columns_of(settings)?;
        let (transitions, lost) = history::remember(system, recorded);
        let mut transitions = transitions;
        transitions.inputs = system.input_count();
        // A reward may look at errors; rows get their places anew once it is known which of them are kept.
        history::derive(system, &mut transitions);
        if let Some(reward) = reward {
            transitions.rewards = transitions.rewards_by(reward);
        }
        transitions.subtract(costs);
        // What formulas make is a number or no reward at all.
        if reward.is_some() || costs.is_some() {
            transitions = with_finite_rewards(transitions, &mut report);
        }
        let remembers = system.longest_lag() > 0 || log.history == History::Auto;
        report.history = remembers.then_some(HistoryReport { lost, ..history });
        report.episodes = count_episodes(&transitions);
        report.terminals = transitions.terminated.as_ref().map(|ended| ended.iter().filter(|ended| **ended).count());
        let mut transitions = thin(transitions, settings.samples);
        transitions.inputs = system.input_count();
        history::derive(system, &mut transitions);
        report.kept = transitions.len();
        report.alignment = (log.next.is_none() && !log.resample).then(|| samples.judge());
        refuse_what_teaches_nothing(system, log, &transitions, &report)?;
        for (index, action) in system.actions().iter().enumerate() {
            let [low, high] = action.limits;
            let outside = transitions.actions[index].iter().filter(|value| !(low..=high).contains(*value)).count();
            if outside > 0 {
                report.outside_limits.push((action.name.clone(), outside));
            }
        }
        Ok(Imported { transitions, report })
    }
}

/// The columns of a log that a problem reads, under every name that each may have.
pub fn columns_read(system: &System, log: &LogSettings) -> Vec<String> {
    Roles::names(log, system)
}

/// The columns of a table by what they mean.
pub(super) struct Roles<'a> {
    pub(super) rows: usize,
    pub(super) time: Option<&'a [f64]>,
    pub(super) episode: Option<&'a [f64]>,
    pub(super) reward: Option<&'a [f64]>,
    pub(super) terminal: Option<&'a [f64]>,
    pub(super) truncated: Option<&'a [f64]>,
    pub(super) states: Vec<&'a [f64]>,
    pub(super) actions: Vec<&'a [f64]>,
    pub(super) next_states: Vec<&'a [f64]>,
}

/// Two rows that follow each other: a transition, once its cells are known to be there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pair {
    pub(super) before: u32,
    pub(super) after: u32,
    pub(super) episode: u32,
    pub(super) terminated: bool,
}

/// The names of a variable's column in the log.
fn columns<'a>(columns: &'a [String], name: &'a String) -> &'a [String] {
    if columns.is_empty() { std::slice::from_ref(name) } else { columns }
}

/// The columns of a state variable: of the state itself, and of the next one if rows hold it themselves.
fn state_columns<'a>(
    table: &'a Table,
    log: &LogSettings,
    state: &StateVariable,
) -> Result<[Option<&'a Column<'a>>; 2]> {
    let names = columns(&state.columns, &state.name);
    let now = table.numbers(names, "column")?;
    let next = log.next.as_ref().map(|pattern| {
        let names: Vec<String> = names.iter().map(|name| next_name(pattern, name)).collect();
        table.numbers(&names, "next")
    });
    Ok([Some(now), next.transpose()?])
}

/// Columns of states that a file has in degrees, in radians; none for the others. Of each state: now, and next.
struct Radians(Vec<[Option<Vec<f64>>; 2]>);

impl Radians {
    fn of(table: &Table, log: &LogSettings, system: &System) -> Result<Self> {
        let of = |state: &StateVariable| -> Result<[Option<Vec<f64>>; 2]> {
            if !state.degrees {
                return Ok([None, None]);
            }
            let converted = |column: &Column| column.values.iter().map(|degrees| degrees.to_radians()).collect();
            Ok(state_columns(table, log, state)?.map(|column| column.map(converted)))
        };
        system.states()[..system.current_states()].iter().map(of).collect::<Result<_>>().map(Self)
    }
}

impl<'a> Roles<'a> {
    /// Every name that a column with a role may have.
    fn names(log: &LogSettings, system: &System) -> Vec<String> {
        let states =
            || system.states()[..system.current_states()].iter().flat_map(|state| columns(&state.columns, &state.name));
        let actions = system.actions().iter().flat_map(|action| columns(&action.columns, &action.name));
        let roles = [&log.time, &log.episode, &log.reward, &log.terminal, &log.truncated].into_iter().flatten();
        let next = log.next.iter().flat_map(|pattern| states().map(move |name| next_name(pattern, name)));
        states().chain(actions).chain(roles).cloned().chain(next).collect()
    }

    fn find(table: &'a Table, radians: &'a Radians, log: &LogSettings, system: &System) -> Result<Self> {
        let one = |names: &[String], key: &str| -> Result<Option<&'a [f64]>> {
            if names.is_empty() {
                return Ok(None);
            }
            table.numbers(names, key).map(|column| Some(column.values.as_ref()))
        };
        let values = |column: &'a Column| column.values.as_ref();
        let (mut states, mut next_states) = (Vec::new(), Vec::new());
        for (index, state) in system.states()[..system.current_states()].iter().enumerate() {
            let [now, next] = state_columns(table, log, state)?;
            let in_radians =
                |which: usize, column: &'a Column| radians.0[index][which].as_deref().unwrap_or(&column.values);
            states.extend(now.map(|column| in_radians(0, column)));
            next_states.extend(next.map(|column| in_radians(1, column)));
        }
        let mut actions = Vec::new();
        for action in system.actions() {
            actions.push(values(table.numbers(columns(&action.columns, &action.name), "column")?));
        }
        // Episodes may be called by words.
        let episode = match log.episode.is_empty() {
            true => None,
            false => {
                let column = table.expect(&log.episode, "episode")?;
                if let Some(fault) = &column.fault {
                    let hint = "episodes are called by numbers or by words, not by both: rename those that differ";
                    return Err(table.fault(fault.row, &column.title, format!("{} {}", fault.text, fault.what), hint));
                }
                Some(values(column))
            }
        };
        Ok(Self {
            rows: table.rows,
            time: one(&log.time, "time")?,
            episode,
            reward: one(&log.reward, "reward")?,
            terminal: flags(table, &log.terminal, "terminal")?,
            truncated: flags(table, &log.truncated, "truncated")?,
            states,
            actions,
            next_states,
        })
    }

    fn says(column: Option<&[f64]>, row: usize) -> bool {
        column.is_some_and(|column| column[row] != 0.0 && !column[row].is_nan())
    }

    /// Rows that hold their next state themselves.
    fn rows_as_they_are(&self, report: &mut ImportReport) -> Vec<Pair> {
        let mut pairs = Vec::with_capacity(self.rows);
        let mut episode = report.episodes as u32;
        for row in 0..self.rows {
            let begins = row > 0
                && match self.episode {
                    Some(episodes) => episodes[row] != episodes[row - 1],
                    // Without a column of episodes, rows belong together while each begins where the last one ended.
                    None => {
                        let goes_on = self.states.iter().zip(&self.next_states).all(|(s, n)| s[row] == n[row - 1]);
                        !goes_on || Self::says(self.terminal, row - 1) || Self::says(self.truncated, row - 1)
                    }
                };
            episode += u32::from(begins);
            let terminated = Self::says(self.terminal, row);
            pairs.push(Pair { before: row as u32, after: row as u32, episode, terminated });
        }
        report.episodes = episode as usize + 1;
        pairs
    }

    /// Rows that follow each other in time.
    fn consecutive(&self, breaks: &[bool], order: &[u32], log: &LogSettings, report: &mut ImportReport) -> Vec<Pair> {
        let mut pairs = Vec::with_capacity(order.len());
        let mut episode = report.episodes as u32;
        let acted = |row: u32| self.actions.iter().all(|action| action[row as usize].is_finite());
        for (index, &row) in order.iter().enumerate() {
            let flagged = Self::says(self.terminal, row as usize);
            // A flag in a last row without an action speaks of the step that led there.
            let of_the_last_step = flagged && (log.reward_belongs_to == Row::This || !acted(row));
            if of_the_last_step
                && !breaks[index]
                && let Some(last) = pairs.last_mut()
            {
                let last: &mut Pair = last;
                last.terminated = true;
            }
            let ends = index + 1 == order.len() || breaks[index + 1];
            if flagged && !of_the_last_step && ends {
                report.lost_terminals += 1;
            }
            // Without a column of episodes, the row after an end belongs to the next beginning.
            let over = self.episode.is_none() && (flagged || Self::says(self.truncated, row as usize));
            if over && !ends && !of_the_last_step && flagged {
                report.lost_terminals += 1;
            }
            if ends || over {
                episode += 1;
                continue;
            }
            pairs.push(Pair {
                before: row,
                after: order[index + 1],
                episode,
                terminated: flagged && !of_the_last_step,
            });
        }
        report.episodes = episode as usize;
        pairs
    }
}

/// A column of yes and no.
fn flags<'a>(table: &'a Table, names: &[String], key: &str) -> Result<Option<&'a [f64]>> {
    if names.is_empty() {
        return Ok(None);
    }
    let column = table.numbers(names, key)?;
    if let Some(row) = column.values.iter().position(|value| !value.is_nan() && *value != 0.0 && *value != 1.0) {
        let problem = format!("`{}` is neither 0 nor 1", column.values[row]);
        return Err(table.fault(row, &column.title, problem, "correct the cell, or name another column"));
    }
    Ok(Some(&column.values))
}

/// What pairs of rows are put together by.
struct Appending<'a> {
    system: &'a System,
    settings: &'a DataSettings,
    log: &'a LogSettings,
    /// Whether a formula gives the reward.
    formula: bool,
}

impl Appending<'_> {
    /// Puts pairs of rows together as transitions; those with a missing cell are counted instead.
    fn append(
        &self,
        roles: &Roles<'_>,
        pairs: &[Pair],
        recorded: &mut Recorded,
        terminals: &mut Option<Vec<bool>>,
        report: &mut ImportReport,
    ) {
        let Self { system, settings, log, formula } = *self;
        let next = log.next.is_some();
        let after = |row: Pair| row.after as usize;
        let of =
            |row: Pair, which: Row| if next || which == Row::Next { row.before as usize } else { row.after as usize };
        let arrived: &[&[f64]] = if next { &roles.next_states } else { &roles.states };
        let Recorded { transitions: to, follows } = recorded;
        let mut last: Option<Pair> = None;
        let mut numbers = Vec::new();
        report.transitions += pairs.len();
        for &pair in thinned(pairs, settings.samples).iter() {
            let before = pair.before as usize;
            numbers.clear();
            numbers.extend(roles.states.iter().map(|column| column[before]));
            numbers.extend(roles.actions.iter().map(|column| column[of(pair, log.action_leads_to)]));
            numbers.extend(arrived.iter().map(|column| column[after(pair)]));
            let reward = match (formula, roles.reward) {
                // It may depend on the past, which comes later.
                (true, _) => 0.0,
                (false, Some(rewards)) => rewards[of(pair, log.reward_belongs_to)],
                (false, None) => f64::NAN,
            };
            if !reward.is_finite() || numbers.iter().any(|number| !number.is_finite()) {
                report.missing += 1;
                continue;
            }
            let (episode, step) = match (to.episode.last(), to.step.last()) {
                (Some(&last), Some(&step)) if last == u64::from(pair.episode) => (last, step + 1),
                _ => (u64::from(pair.episode), 0),
            };
            let begins_where = |last: &Pair| match next {
                true => {
                    let ends = roles.states.iter().zip(&roles.next_states).all(|(s, n)| s[before] == n[before - 1]);
                    last.before + 1 == pair.before && ends
                }
                false => last.after == pair.before,
            };
            follows.push(last.is_some_and(|last| last.episode == pair.episode && begins_where(&last)));
            last = Some(pair);
            to.episode.push(episode);
            to.step.push(step);
            // Angles count from -π to π, as those of a world do.
            for place in (0..roles.states.len()).filter(|place| system.states()[*place].angle) {
                for index in [place, roles.states.len() + roles.actions.len() + place] {
                    if numbers[index].abs() > std::f64::consts::PI + 1e-6 {
                        numbers[index] = wrap_angle(numbers[index]);
                    }
                }
            }
            let all = to.states.iter_mut().chain(&mut to.actions).chain(&mut to.next_states);
            all.zip(&numbers).for_each(|(column, number)| column.push(*number));
            to.rewards.push(reward);
            if let Some(terminals) = terminals {
                terminals.push(pair.terminated);
            }
        }
    }
}

/// The rows whose reward is a number; the others are counted as missing.
fn with_finite_rewards(transitions: Transitions, report: &mut ImportReport) -> Transitions {
    let rows: Vec<usize> = (0..transitions.len()).filter(|&row| transitions.rewards[row].is_finite()).collect();
    if rows.len() == transitions.len() {
        return transitions;
    }
    report.missing += transitions.len() - rows.len();
    transitions.rows(&rows)
}

/// Of more pairs than are wanted, whole stretches that are spread evenly over the log.
fn thinned(pairs: &[Pair], most: usize) -> std::borrow::Cow<'_, [Pair]> {
    if pairs.len() <= most {
        return pairs.into();
    }
    let mut kept = Vec::with_capacity(most);
    for stretch in chosen(pairs.len(), most) {
        kept.extend_from_slice(&pairs[stretch]);
    }
    kept.into()
}

fn thin(transitions: Transitions, most: usize) -> Transitions {
    if transitions.len() <= most {
        return transitions;
    }
    let rows: Vec<usize> = chosen(transitions.len(), most).flatten().collect();
    transitions.rows(&rows)
}

/// Stretches that hold `most` of `count` rows.
fn chosen(count: usize, most: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    let length = STRETCH.min(most.div_ceil(10)).max(1);
    let stretches = most / length;
    (0..stretches).map(move |index| {
        let begin = (index as u128 * (count - length) as u128 / (stretches.max(2) - 1) as u128) as usize;
        // Neighbouring stretches may overlap by rounding where almost everything is kept.
        let end = ((index + 1) as u128 * (count - length) as u128 / (stretches.max(2) - 1) as u128) as usize;
        begin..(begin + length).min(if index + 1 == stretches { count } else { end })
    })
}

fn count_episodes(transitions: &Transitions) -> usize {
    let changes = transitions.episode.windows(2).filter(|pair| pair[0] != pair[1]).count();
    if transitions.is_empty() { 0 } else { changes + 1 }
}

/// A log from which nothing could be learned is refused before anything is trained.
fn refuse_what_teaches_nothing(
    system: &System,
    log: &LogSettings,
    transitions: &Transitions,
    report: &ImportReport,
) -> Result<()> {
    let path = log.files.first().cloned().unwrap_or_default();
    let refuse = |column: Option<&str>, problem: String, hint: &str| {
        let column = column.map(str::to_owned);
        Err(Error::Malformed { path: path.clone(), line: None, column, problem, remedy: hint.into() })
    };
    if transitions.len() < FEWEST_ROWS {
        let count = transitions.len();
        let mut problem =
            format!("it gives {count} transitions from {} rows, and a world model needs {FEWEST_ROWS}", report.rows);
        let lost = report.history.as_ref().map_or(0, |history| history.lost);
        let reasons = [
            (report.missing, "have missing cells"),
            (report.gaps, "are across gaps in time"),
            (lost, "are too near to the beginning of their episode for the history"),
        ];
        let told: Vec<String> =
            reasons.iter().filter(|(count, _)| *count > 0).map(|(count, why)| format!("{count} {why}")).collect();
        if !told.is_empty() {
            problem.push_str(&format!(" ({} more)", told.join(", ")));
        }
        let hint = match report.gaps > transitions.len() {
            _ if lost > transitions.len() => {
                "the history is too long for the episodes: set a smaller `history` below [data]; if rows hold their next \
                 state themselves, each must begin exactly where the last one ended"
            }
            true => "if the rows are meant to be so far apart in time, set `interval` or `gap` below [data]",
            false => "a transition takes two rows of the same episode; use a longer log, or name the right columns",
        };
        return refuse(None, problem, hint);
    }
    for (action, values) in system.actions().iter().zip(&transitions.actions) {
        if let Some(value) = only_value(values) {
            let problem = format!("the action has one value in all rows: {value}");
            let hint = "nothing can be learned of an action that never changes: leave its [[action]] out, or record a \
                        log in which it does";
            return refuse(Some(&action.name), problem, hint);
        }
    }
    for (state, (before, after)) in system.states().iter().zip(transitions.states.iter().zip(&transitions.next_states))
    {
        if let (Some(value), Some(_)) = (only_value(before), only_value(after)) {
            let (what, section) = if state.input.is_some() { ("input", "input") } else { ("state variable", "state") };
            let problem = format!("the {what} has one value in all rows: {value}");
            let hint = &format!("it tells the controller nothing: leave its [[{section}]] out");
            return refuse(Some(&state.name), problem, hint);
        }
    }
    Ok(())
}

fn only_value(values: &[f64]) -> Option<f64> {
    let first = *values.first()?;
    values.iter().all(|value| *value == first).then_some(first)
}

/// The rows of a time series in their order; used where episodes are told apart by words or numbers.
pub(super) fn episode_ranks(episodes: &[f64]) -> Vec<u32> {
    let mut ranks: HashMap<u64, u32> = HashMap::new();
    episodes
        .iter()
        .map(|episode| {
            let next = ranks.len() as u32;
            *ranks.entry(episode.to_bits()).or_insert(next)
        })
        .collect()
}

/// The value between two of a variable, an angle on its shorter way.
pub(super) fn between(from: f64, to: f64, share: f64, angle: bool) -> f64 {
    if angle { wrap_angle(from + share * wrap_angle(to - from)) } else { from + share * (to - from) }
}
