//! The table of `fpsrl update`: what more data have changed.

use std::fmt::Write;

use fpsrl::promise::Promise;
use fpsrl::run::{RuleChange, Standing, Update};
use fpsrl::text::count;
use fpsrl::visible::{message, name as named};

/// What changed from the old run to the new one. Writing to a string cannot fail.
pub fn update(update: &Update) -> String {
    let Update { before, after, present_rules, search, .. } = update;
    let mut text = format!("{:<30} {:>14} {:>14}\n", "", "before", "now");
    let mut line = |name: &str, before: String, now: String| {
        let _ = writeln!(text, "  {name:<28} {before:>14} {now:>14}");
    };
    line("rows of the log", count(before.rows), count(after.rows));
    line("transitions", count(before.transitions), count(after.transitions));
    for (name, error) in &after.world_errors.0 {
        let shown = |error: Option<f64>| match error {
            None => "-".to_owned(),
            Some(error) if name == "absorbing" => format!("{:.2} %", 100.0 * error),
            Some(error) => format!("{error:.2e}"),
        };
        line(&format!("error of {}", named(name)), shown(before.world_errors.get(name)), shown(Some(*error)));
    }
    let today = |standing: &Standing| standing.today.map_or_else(|| "-".to_owned(), |value| format!("{value:.2}"));
    line("today, return", today(&before.standing), today(&after.standing));
    line("promise", promised(&before.standing), promised(&after.standing));
    line("verdict", word(&before.standing), word(&after.standing));
    if let Some(reason) = &after.standing.reason {
        let _ = writeln!(text, "  {}", message(reason));
    }
    let _ = writeln!(text, "\nThe present rules on the new worlds");
    let _ = writeln!(text, "  {:<28} {}", "promise", with_interval(present_rules.promise.as_ref()));
    let _ = writeln!(text, "  {:<28} {}", "verdict", word(present_rules));
    if let Some(search) = search {
        let _ = writeln!(text, "\nThe search that began with them");
        let _ = writeln!(text, "  {:<28} {}", "promise", with_interval(Some(&search.promise)));
        let _ = writeln!(text, "  {:<28} {:.2}", "needed to be taken", search.needed);
    }
    let told = match (search, update.rules_changed) {
        (None, _) => "The rules are as they were: nothing was searched.",
        (Some(search), _) if !search.taken => "The rules are as they were: a search found nothing that pays.",
        (_, false) => "The rules are as they were.",
        (_, true) => "The rules have changed.",
    };
    let _ = writeln!(text, "\n{told}");
    for RuleChange { rule, before, after, conditions } in &update.changes {
        let sentence = |text: &Option<String>| message(text.as_deref().unwrap_or("none"));
        let _ = writeln!(text, "  {rule}. before: {}", sentence(before));
        let _ = writeln!(text, "     now:    {}", sentence(after));
        if !conditions.is_empty() {
            let _ = writeln!(text, "     moved:  {}", message(&conditions.join(", ")));
        }
    }
    text
}

fn promised(standing: &Standing) -> String {
    standing.promise.as_ref().map_or_else(|| "-".to_owned(), |promise| format!("{:.2}", promise.mean))
}

fn with_interval(promise: Option<&Promise>) -> String {
    let Some(promise) = promise else { return "-".into() };
    let [low, high] = promise.interval;
    let refused = if promise.holds == Some(false) { ", which the judge does not confirm" } else { "" };
    format!("{:.2}, {low:.2} to {high:.2}{refused}", promise.mean)
}

fn word(standing: &Standing) -> String {
    standing.verdict.map_or_else(|| "-".to_owned(), |word| word.to_string().to_uppercase())
}
