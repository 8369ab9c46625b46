//! What a log tells and what it does not, in sentences: the head of the drafted file, and what the command prints.

use fpsrl_base::text::count;
use fpsrl_data::log::{Guess, Kind, Table};

use super::choices::Choices;
use super::goal::Goal;
use super::sections::what;
use super::sheet::short;

/// What the table and its import tell, and what they do not.
pub(super) fn remarks(
    guess: &Guess,
    table: &Table,
    goal: Option<&Goal>,
    choices: &Choices,
) -> (Vec<String>, Vec<String>) {
    let mut found = vec![format!("{} rows, {} columns", count(table.rows), table.titles.len())];
    let mut unknown = guess.unknown.clone();
    found.extend(table.notes.iter().cloned());
    if guess.next.is_some() {
        found.push("each row holds its next state itself".into());
    }
    if let Some(report) = &choices.report {
        found.push(format!(
            "{} transitions in {} episodes",
            count(report.transitions - report.missing.min(report.transitions)),
            count(report.episodes)
        ));
        found.extend(report.interval.map(|interval| row_every(guess, table, interval)));
        for (number, what) in [
            (report.missing, "steps with missing cells, left out"),
            (report.duplicates, "rows with the time of the row before, left out"),
            (report.out_of_order, "places where time runs backwards; the rows were put in order"),
            (report.gaps, "gaps in time, where the log was cut"),
            (report.early, "steps that are too short, where the log was cut; or set `resample = true`"),
            (
                report.lost_terminals,
                "terminal steps whose next state is not in the log: they are lost. Write one more row at an episode's \
                 end, with the last state",
            ),
        ] {
            if number > 0 {
                found.push(format!("{} {what}", count(number)));
            }
        }
        found.extend(report.notes.iter().cloned());
    }
    for (title, reason) in &guess.reasons {
        found.push(format!("`{title}` is {}: {reason}", role(guess, title)));
    }
    for (title, why) in &guess.left_out {
        found.push(format!("the column `{title}` takes no part: {why}"));
    }
    found.extend(choices.found.iter().cloned());
    unknown.extend(choices.unknown.iter().cloned());
    match (goal, &guess.reward) {
        (_, Some(reward)) if guess.unsure_action => {
            unknown.push(format!(
                "whether to run yet: the reward `{reward}` is left out until it is said which column is the action"
            ));
        }
        (Some(_), None) if guess.unsure_action => {
            unknown
                .push("whether to run yet: the reward is left out until it is said which column is the action".into());
        }
        (Some(goal), None) => {
            found.push(format!("what is good is told by the set-points: {}", goal.words));
            unknown.extend(goal.unknown.iter().cloned());
        }
        (None, None) if !guess.rests.is_empty() => {
            let rests = guess.rests.iter().map(|(state, value)| format!("`{state}` at {}", short(*value)));
            unknown.push(format!(
                "what is good: the set-points never move ({}); take the # before the formula below [world] away if that \
                 is it",
                rests.collect::<Vec<_>>().join(", ")
            ));
        }
        (None, None) => {
            unknown.push("what is good: no column was found for the reward; give a formula below [world]".into());
        }
        (_, Some(_)) => {}
    }
    for column in &table.columns {
        let Some(fault) =
            column.fault.as_ref().filter(|_| guess.reasons.iter().any(|(title, _)| *title == column.title))
        else {
            continue;
        };
        let row = || format!("row {}", fault.row + 1);
        let at = table.line(fault.row).map_or_else(row, |line| format!("line {line}"));
        unknown.push(format!(
            "{at}, column `{}`: {} {}; correct it, or add it to `missing`",
            column.title, fault.text, fault.what
        ));
    }
    if guess.time.is_none() && guess.episode.is_none() && guess.next.is_none() {
        let line = "whether rows are missing: there is neither a column of time nor one of episodes; all rows of a \
                    file count as one episode";
        unknown.push(line.into());
    }
    if guess.terminal.is_none() && guess.next.is_none() {
        unknown.push(
            "whether the plant can stop for good: no column says so; give a formula below [world] if it can".into(),
        );
    }
    unknown.push("the limits of the actions: those of the log were taken; correct them if others hold".into());
    (found, unknown)
}

/// What a column is, in words.
fn role(guess: &Guess, title: &str) -> &'static str {
    match guess.inputs.iter().find(|input| input.title == title) {
        Some(input) => what(&input.kind),
        None if guess.reward.as_deref() == Some(title) => "the reward",
        None if guess.states.iter().any(|state| state == title) => "a state",
        None => "an action",
    }
}

/// How far rows are apart in time.
fn row_every(guess: &Guess, table: &Table, interval: f64) -> String {
    let column = guess.time.as_ref().and_then(|title| table.column(std::slice::from_ref(title)));
    let unit = match column {
        Some(column) if column.kind == Kind::Time => " s".into(),
        Some(column) if !column.unit.is_empty() => format!(" {}", column.unit),
        _ => String::new(),
    };
    format!("a row every {}{unit}", short(interval))
}
