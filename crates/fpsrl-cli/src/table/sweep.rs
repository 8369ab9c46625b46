//! The tables of a sweep: what is planned, and what has come of it.

use std::fmt::Write;

use fpsrl::sweep::{Gathered, State, Summed, Sweep};
use fpsrl::text::count;
use fpsrl::visible::{message, path, visible};

/// Lines of a table that a person reads; table.csv has all.
const MOST_LINES: usize = 200;

/// The runs of a sweep and how each stands. Writing to a string cannot fail.
pub fn plan(sweep: &Sweep, states: &[State]) -> String {
    let mut text = String::new();
    for (run, state) in sweep.runs().iter().zip(states) {
        let word = match state {
            State::Pending => "to be made",
            State::Begun => "has begun",
            State::Failed(_) => "has failed",
            State::Finished(_) => "finished",
        };
        let _ = writeln!(text, "{word:<10}  {}", visible(&run.name));
    }
    let left = states.iter().filter(|state| matches!(state, State::Pending | State::Begun)).count();
    let runs = sweep.runs().len();
    let noun = if runs == 1 { "run" } else { "runs" };
    let _ = writeln!(text, "\n{} {noun} in {}, {} left", count(runs), path(sweep.directory()), count(left));
    text
}

/// What the runs say together. Writing to a string cannot fail.
pub fn sweep(gathered: &Gathered) -> String {
    let (what, findings) = (gathered.what_varies(), gathered.findings());
    let planned = gathered.runs().len();
    let mut text =
        format!("{}, {} {}", visible(&what.title), count(planned), if planned == 1 { "run" } else { "runs" });
    let failed = what.failures.len();
    let _ = write!(text, ": {} finished", count(what.runs.len()));
    if failed > 0 {
        let _ = write!(text, ", {} failed", count(failed));
    }
    if !what.pending.is_empty() {
        let _ = write!(text, ", {} not made yet", count(what.pending.len()));
    }
    text.push('\n');
    points(&mut text, gathered);
    if !what.factors.is_empty() && !what.runs.is_empty() {
        text.push_str("\nSettings that matter             explains   by chance\n");
        for factor in &findings.factors {
            let _ = match factor.explained {
                Some(explained) => writeln!(
                    text,
                    "  {:<28} {:>9.0} % {:>9.0} %",
                    cut(&factor.key, 28),
                    100.0 * explained,
                    100.0 * factor.by_chance
                ),
                None if factor.changes_returns => {
                    writeln!(text, "  {:<28} changes what a return is", cut(&factor.key, 28))
                }
                None => writeln!(text, "  {:<28} nothing to compare", cut(&factor.key, 28)),
            };
        }
        if let Some(chance) = findings.chance {
            let _ = writeln!(text, "  {:<28} {:>9.0} %", "chance: seeds and draws", 100.0 * chance);
        }
    }
    if !findings.recurring.is_empty() {
        text.push_str("\nRules that come back\n");
        for rule in findings.recurring.iter().take(8) {
            let _ = writeln!(text, "  {:>4} of {:<4} {}", rule.runs.len(), rule.of, message(&rule.sentence));
        }
    }
    if let Some(best) = gathered.best()
        && let Some(promise) = best.summary().and_then(|summary| summary.promise.as_ref())
    {
        let _ = writeln!(text, "\nMost is promised by {}: {:.2}", best.planned.name, promise.mean);
    }
    if failed > 0 {
        text.push_str("\nFailures\n");
        for failure in what.failures.iter().take(10) {
            let _ = writeln!(text, "  {}: {}", visible(&failure.name), message(&failure.message));
        }
        if failed > 10 {
            let _ = writeln!(text, "  and {} more", failed - 10);
        }
    }
    text
}

fn points(text: &mut String, gathered: &Gathered) {
    let findings = gathered.findings();
    if findings.points.is_empty() {
        return;
    }
    let truth = gathered.what_varies().runs.iter().any(|run| run.true_return.is_some());
    let widest = findings.points.iter().map(|spread| spread.point.chars().count()).max().unwrap_or(0).clamp(12, 48);
    let heading = if truth { "  true return" } else { "" };
    let _ = writeln!(
        text,
        "\n{:<width$}  runs  failed    promise        from          to{heading}  go/careful/no-go",
        "Settings",
        width = widest + 2
    );
    let shown = |summed: Option<&Summed>, of: fn(&Summed) -> f64| {
        summed.map_or_else(|| "-".to_owned(), |summed| format!("{:.2}", of(summed)))
    };
    for spread in findings.points.iter().take(MOST_LINES) {
        let promise = spread.promise.as_ref();
        let [go, careful, no_go] = spread.verdicts;
        let _ = write!(
            text,
            "  {:<widest$}  {:>4}  {:>6}  {:>9}  {:>10}  {:>10}",
            cut(&spread.point, widest),
            spread.runs.len(),
            spread.failed,
            shown(promise, |summed| summed.median),
            shown(promise, |summed| summed.least),
            shown(promise, |summed| summed.most)
        );
        if truth {
            let _ = write!(text, "  {:>11}", shown(spread.true_return.as_ref(), |summed| summed.median));
        }
        let _ = writeln!(text, "  {go}/{careful}/{no_go}");
    }
    if findings.points.len() > MOST_LINES {
        let _ = writeln!(text, "  and {} more in table.csv", findings.points.len() - MOST_LINES);
    }
    text.push_str("  promise and true return: the median; from, to: of the promise\n");
}

/// A text of at most so many signs.
fn cut(text: &str, most: usize) -> String {
    let text = visible(text);
    match text.chars().count() > most {
        true => text.chars().take(most.saturating_sub(1)).chain(['…']).collect(),
        false => text.into_owned(),
    }
}
