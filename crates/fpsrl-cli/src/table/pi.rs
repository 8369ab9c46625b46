//! The table of `fpsrl pi`: controllers, what they earn, how they control.

use std::fmt::Write;

use fpsrl::baseline::pi::PiController;
use fpsrl::explain;
use fpsrl::pi_result::{PiResult, Score};
use fpsrl::run::{PiComparison, RunDirectory};
use fpsrl::text::{count, number};
use fpsrl::visible::name as shown;

use super::{control, rounded};

/// P and PI controllers beside the rules and what the plant does today. Writing to a string cannot fail.
pub fn pi(run: &RunDirectory, comparison: &PiComparison) -> fpsrl::Result<String> {
    let problem = run.problem()?;
    let PiComparison { result, rules } = comparison;
    let PiResult { pi, p, as_rules, today, interval, .. } = result;
    // What a user gave may have no integral part.
    let (title, short) = match (result.given, pi.reset_steps.iter().flatten().next()) {
        (true, Some(_)) => ("the PI controller, as given", "PI"),
        (true, None) => ("the P controller, as given", "P"),
        (false, _) => ("a PI controller, tuned", "PI"),
    };
    let mut text = String::from("Controllers\n");
    text.push_str(&numbers(title, &pi.controller, *interval));
    if let Some(p) = p {
        text.push_str(&numbers("a P controller, tuned", &p.controller, *interval));
    }
    let _ = writeln!(text, "\nReturn ({})", explain::what_returns_are(&problem.system));
    let _ = writeln!(text, "  {:<28} {:>9} {:>9}", "", "members", "judge");
    let mut line = |name: &str, score: Option<&Score>, note: &str| {
        let Some(Score { members, judge, .. }) = score else { return };
        let judge = judge.map_or_else(|| "-".to_owned(), |value| format!("{value:.2}"));
        let line = format!("  {name:<28} {members:>9.2} {judge:>9}  {note}");
        let _ = writeln!(text, "{}", line.trim_end());
    };
    line("the rules", rules.as_ref(), "");
    line(title, Some(&pi.score), "");
    line("the same as fuzzy rules", as_rules.as_ref(), "near the limits they give in earlier");
    line("a P controller, tuned", p.as_ref().map(|p| &p.score), "");
    let what = match today.today_is.as_str() {
        "log" => format!("what the log earned from {} of its rows", count(today.starts)),
        "random" => "random actions, which made the log, on the world model".into(),
        _ => "what stretches of the log earned".into(),
    };
    let _ = writeln!(text, "  {:<28} {:>9.2} {:>9}  {what}", "today", today.value, "");

    let figures = |score: Option<&Score>| score.and_then(|score| score.figures.clone());
    let (own, of_rules) = (pi.score.figures.as_ref(), figures(rules.as_ref()));
    let of_p = figures(p.as_ref().map(|p| &p.score));
    let mut columns = vec![(short, own), ("today", today.figures.as_ref())];
    if of_p.is_some() {
        columns.insert(1, ("P", of_p.as_ref()));
    }
    if of_rules.is_some() {
        columns.insert(0, ("rules", of_rules.as_ref()));
    }
    text.push_str(&control(&problem.system, &columns));
    Ok(text)
}

/// The numbers of a controller.
fn numbers(title: &str, controller: &PiController, interval: Option<f64>) -> String {
    let mut text = format!("  {title}\n");
    let short = |value: f64| number(rounded(value));
    for one in &controller.loops {
        let told = match &one.state {
            None => format!("constant {}", short(one.bias)),
            Some(state) => {
                let reset = match (one.reset(), interval) {
                    (None, _) => String::new(),
                    (Some(steps), None) => format!(", reset {} steps", short(steps)),
                    (Some(steps), Some(interval)) => {
                        format!(", reset {} steps ({} in the log's time)", short(steps), short(steps * interval))
                    }
                };
                format!("follows {}: gain {}{reset}, bias {}", shown(state), short(one.gain), short(one.bias))
            }
        };
        let _ = writeln!(text, "    {} {told}", shown(&one.action));
    }
    text
}
