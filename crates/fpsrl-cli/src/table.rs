//! The table at the end: what a person wants to know of a run.

mod pi;
mod sweep;
mod trade;
mod update;

use std::fmt::Write;

use fpsrl::explain;
use fpsrl::gain::Gain;
use fpsrl::problem::System;
use fpsrl::promise::Promise;
use fpsrl::run::{NfqResult, RunDirectory, Summary};
use fpsrl::text::count;
use fpsrl::tracking::ControlFigures;
use fpsrl::visible::{message, name as shown};
use fpsrl::world::quality::OpenLoop;

use crate::terminal::told;
pub use pi::pi;
pub use sweep::{plan, sweep};
pub use trade::trade;
pub use update::update;

/// A run's figures and rules, as far as they are known.
pub fn table(run: &RunDirectory) -> fpsrl::Result<String> {
    let summary = run.summary()?;
    let problem = run.problem()?;
    let mut text = figures(&summary, &problem.system);
    // One that was damaged is the report's to refuse.
    if let Ok(Some((front, _))) = run.front() {
        let _ = writeln!(text, "\nFront: none is both simpler and better");
        let _ = writeln!(text, "  conditions  rules     return      judge");
        for point in &front.points {
            let judged = point.rescored.map_or_else(|| "-".to_owned(), |value| format!("{value:.2}"));
            let note = match (point.chosen, point.holds) {
                (true, _) => "  chosen",
                (false, Some(false)) => "  does not hold",
                _ => "",
            };
            let _ = writeln!(
                text,
                "  {:>10}  {:>5}  {:>9.2}  {judged:>9}{note}",
                point.conditions, point.rules, point.mean
            );
        }
    }
    if summary.search_return.is_some() || summary.model_return.is_some() {
        let policy = run.policy(&problem)?;
        let _ = writeln!(text, "\nRules");
        for (index, sentence) in explain::sentences(&policy).iter().enumerate() {
            let _ = writeln!(text, "  {}. {sentence}", index + 1);
        }
        for sentence in explain::steepness(&policy).into_iter().flatten() {
            let _ = writeln!(text, "  {sentence}");
        }
    }
    Ok(text)
}

/// The figures of NFQ beside those of the rules, where there are any.
pub fn nfq(run: &RunDirectory, result: &NfqResult) -> fpsrl::Result<String> {
    let rules = run.summary().ok();
    let mut text = format!("{:<30} {:>9} {:>9}\n", "Return", "NFQ", "rules");
    let mut line = |name: &str, nfq: Option<f64>, rules: Option<f64>| {
        let shown = |value: Option<f64>| value.map_or("-".into(), |value| format!("{value:.2}"));
        let _ = writeln!(text, "  {name:<28} {:>9} {:>9}", shown(nfq), shown(rules));
    };
    let of_rules = |figure: fn(&Summary) -> Option<f64>| rules.as_ref().and_then(figure);
    line("test, on the world model", Some(result.model_return), of_rules(|summary| summary.model_return));
    line("test, on the true plant", result.true_return, of_rules(|summary| summary.true_return));
    let NfqResult { settings, best_iteration, seconds, .. } = result;
    let _ = writeln!(
        text,
        "\nbest after {best_iteration} of {} iterations of {} epochs, {seconds:.1} s",
        settings.iterations, settings.epochs
    );
    Ok(text)
}

/// The figures of a summary. Writing to a string cannot fail.
fn figures(summary: &Summary, system: &System) -> String {
    let mut text = String::new();
    let Summary { problem, seed, samples, .. } = summary;
    let _ = writeln!(text, "{}, seed {seed}, {} transitions", shown(problem), count(*samples));
    if !summary.world_errors.0.is_empty() {
        let _ = writeln!(text, "\nWorld model                    error (share of the variance, on unseen rows)");
        for (name, error) in &summary.world_errors.0 {
            let name = shown(name);
            let _ = match name.as_str() {
                "absorbing" => writeln!(text, "  {name:<28} {:>7.2} %  misjudged", 100.0 * error),
                _ => writeln!(text, "  {name:<28} {error:>9.2e}"),
            };
        }
    }
    if let Some(verdict) = &summary.verdict {
        let _ = writeln!(text, "\nVerdict: {}", verdict.word.to_string().to_uppercase());
        let _ = writeln!(text, "  {}", message(&verdict.reason));
        if let (Some(word), Some(reason)) = (&verdict.world_word, &verdict.world_reason) {
            let _ = writeln!(text, "  the world model: {word}; {}", message(reason));
        }
        for OpenLoop { steps, error } in &verdict.open_loop {
            let name = format!("{} steps ahead, unseen", count(*steps));
            let _ = writeln!(text, "  {name:<28} {error:>9.2e}");
        }
    }
    if !summary.signs.is_empty() {
        text.push_str("\nSigns of trouble\n");
        for sign in &summary.signs {
            let _ = writeln!(text, "  {}", message(sign));
        }
    }
    if let Some(promise) = &summary.promise {
        text.push_str(&promised(summary, promise, system));
    }
    if let Some(gain) = &summary.gain {
        text.push_str(&beside(gain, system));
    }
    if summary.model_return.is_some() || summary.search_return.is_some() {
        let _ = match summary.promise {
            Some(_) => writeln!(text, "\nReturn"),
            None => writeln!(text, "\nReturn ({})", explain::what_returns_are(system)),
        };
        let mut line = |name: &str, value: Option<f64>, note: &str| {
            if let Some(value) = value {
                let line = format!("  {name:<28} {value:>9.2}  {note}");
                let _ = writeln!(text, "{}", line.trim_end());
            }
        };
        line("search, on the world model", summary.search_return, "");
        if let Some((race, gap)) = summary.race.and_then(|race| Some((race, race.gap?))) {
            let note = format!("search less other start states; searched on {}", count(race.start_states));
            line("gap of the start states", Some(gap), &note);
        }
        let plain = summary.plain_sum.filter(|_| system.discount_q() < 1.0);
        let plain = plain.map_or_else(String::new, |sum| format!("plain sum of the rewards: {sum:.2}"));
        line("test, on the world model", summary.model_return, &plain);
        line("test, on the true plant", summary.true_return, "");
        line("gap (plant less model)", summary.gap, "");
        let reached = match summary.success {
            Some(true) => "reached",
            Some(false) => "not reached",
            None => "",
        };
        line("threshold of success", summary.success_threshold, reached);
        if let Some(today) = &summary.behaviour {
            let note = match today.windows {
                0 => "from the mean reward: no stretch of the log is as long as the horizon".into(),
                count => format!("from {count} beginnings in the log"),
            };
            line("today: the log itself", Some(today.logged_return), &note);
            let note =
                format!("on the world model; misses {:.0} % of the actions' variance", 100.0 * today.clone_error);
            line("today: rules that imitate it", Some(today.cloned_return), &note);
        }
        if let Some(simple) = summary.simple.filter(|simple| simple.removed > 0) {
            let note = format!("without {} of {} conditions, which hardly matter", simple.removed, simple.conditions);
            line("simple rules, on the model", Some(simple.model_return), &note);
        }
        if let Some(ceiling) = &summary.ceiling {
            let note = format!("from {} test states, where the rules earn {:.2}", ceiling.start_states, ceiling.policy);
            line("ceiling, on the world model", Some(ceiling.ceiling), &note);
            if let (Some(share), Some(idle)) = (ceiling.share, ceiling.idle) {
                let name = "share of the way there";
                let nothing = explain::doing_nothing(system);
                let _ = writeln!(
                    text,
                    "  {name:<28} {:>7.0} %  from doing nothing ({nothing}), which earns {idle:.2}",
                    100.0 * share
                );
            }
            if let Some(advice) = ceiling.advice() {
                let _ = writeln!(text, "  {}", told(&advice));
            }
        }
    }
    if let Some(growth) = &summary.growth {
        let _ = writeln!(text, "\nNumber of rules                   return (search, on the world model)");
        let _ = writeln!(text, "  {:<28} {:>9.2}", "none: actions in the middle", growth.idle);
        for step in &growth.steps {
            let chosen = if step.rules == summary.rules { "  chosen" } else { "" };
            let _ = writeln!(text, "  {:<28} {:>9.2}{chosen}", step.rules, step.search_return);
        }
        let _ = writeln!(text, "  {:<28} {:>9.2}", "plans, from 20 start states", growth.ceiling);
        let least = growth.tolerance * (growth.ceiling - growth.idle);
        let _ = writeln!(text, "  another rule must bring      {least:>9.2}");
    }
    let _ = writeln!(text, "\nTime");
    let mut total = 0.0;
    for (stage, seconds) in &summary.seconds.0 {
        total += seconds;
        let note = match (stage.as_str(), summary.model_steps) {
            ("search", Some(steps)) if summary.race.is_some() => format!(
                "  {} tries, {} model steps",
                count(summary.race.map_or(0, |race| race.tries)),
                count(steps as usize)
            ),
            ("ceiling", _) => match summary.ceiling.and_then(|ceiling| ceiling.model_steps) {
                Some(steps) => format!("  {} model steps", count(steps as usize)),
                None => String::new(),
            },
            ("search", Some(steps)) => format!(
                "  {} particles, {} iterations{}, {} model steps",
                count(summary.particles),
                count(summary.iterations),
                if summary.search_ending.as_deref() == Some("stalled") { " until it stalled" } else { "" },
                count(steps as usize)
            ),
            _ => String::new(),
        };
        let _ = writeln!(text, "  {:<28} {seconds:>7.1} s{note}", shown(stage));
    }
    if summary.seconds.0.len() > 1 {
        let _ = writeln!(text, "  {:<28} {total:>7.1} s", "total");
    }
    text
}

/// The policy beside what the plant does today and beside a PI controller. Writing to a string cannot fail.
fn beside(gain: &Gain, system: &System) -> String {
    let mut text = "\nGain, from the same starts\n".to_owned();
    let mut line = |name: &str, value: f64, note: &str| {
        let line = format!("  {name:<28} {value:>9.2}  {note}");
        let _ = writeln!(text, "{}", line.trim_end());
    };
    let what = match gain.today_is.as_str() {
        "log" => format!("what the log earned from {} of its rows", count(gain.starts)),
        "random" => "random actions, which made the log, on the world model".into(),
        _ => "what stretches of the log earned".into(),
    };
    line("today", gain.today, &what);
    line("the policy", gain.policy, "");
    line("gain", gain.gain, &format!("{:.2} to {:.2}", gain.interval[0], gain.interval[1]));
    if let Some(judged) = gain.by_the_judge {
        line("gain, by the judge", judged, "");
    }
    if let Some(p) = gain.p {
        line("a P controller, tuned", p, "on the same worlds");
    }
    if let (Some(pi), Some(controller)) = (gain.pi, &gain.pi_controller) {
        let told: Vec<String> = controller
            .loops
            .iter()
            .filter(|one| one.state.is_some())
            .map(|one| {
                let reset =
                    if one.integral == 0.0 { "none".into() } else { format!("{:.1} steps", one.gain / one.integral) };
                format!("{}: gain {:.3}, reset {reset}", shown(&one.action), one.gain)
            })
            .collect();
        line("a PI controller, tuned", pi, &told.join("; "));
    }
    let (today, pi) = (gain.figures_today.as_ref(), gain.figures_pi.as_ref());
    text.push_str(&control(system, &[("rules", gain.figures.as_ref()), ("today", today), ("PI", pi)]));
    text
}

/// How well controllers follow set-points, side by side; empty where the first of them follows none. Writing to a string cannot
/// fail.
fn control(system: &System, columns: &[(&str, Option<&ControlFigures>)]) -> String {
    let Some((_, Some(own))) = columns.first() else { return String::new() };
    let titles: String = columns.iter().map(|(title, _)| format!(" {title:>9}")).collect();
    let mut text = format!("\nControl{:<23}{titles}\n", "");
    let mut row = |name: String, of: &dyn Fn(&ControlFigures) -> Option<f64>| {
        let shown = |figures: Option<&ControlFigures>| {
            figures.and_then(of).map_or_else(|| "-".to_owned(), |value| fpsrl::text::number(rounded(value)))
        };
        let cells: String = columns.iter().map(|(_, figures)| format!(" {:>9}", shown(*figures))).collect();
        let _ = writeln!(text, "  {name:<28}{cells}");
    };
    for (index, tracked) in own.tracked.iter().enumerate() {
        let unit = system.states().iter().find(|state| state.name == tracked.state).map_or("", |state| &state.unit);
        let named = |what: &str, unit: &str| match unit.is_empty() {
            true => format!("{} {what}", shown(&tracked.state)),
            false => format!("{} {what}, {unit}", shown(&tracked.state)),
        };
        row(named("error", unit), &|figures| Some(figures.tracked.get(index)?.error));
        row(named("offset", unit), &|figures| figures.tracked.get(index)?.offset);
        row(named("overshoot", unit), &|figures| figures.tracked.get(index)?.overshoot);
        row(named("settling", "steps"), &|figures| figures.tracked.get(index)?.settling);
    }
    for (index, (action, _)) in own.movement.iter().enumerate() {
        row(format!("{} moves a step", shown(action)), &|figures| Some(figures.movement.get(index)?.1));
    }
    text
}

/// Three digits.
fn rounded(value: f64) -> f64 {
    format!("{value:.2e}").parse().unwrap_or(value)
}

/// What the policy promises, beside what the judge and the plant say. Here stand the first returns, so that it is said what
/// they are. Writing to a string cannot fail.
fn promised(summary: &Summary, promise: &Promise, system: &System) -> String {
    let refused = promise.holds == Some(false);
    let word = if refused { ": DOES NOT HOLD" } else { "" };
    let mut text = format!("\nPromise{word} (return: {})\n", explain::what_returns_are(system));
    let crossed = promise.judged_by.as_deref() == Some("cross-fitting");
    if refused && crossed {
        text.push_str(
            "  cross-fitting, each part of the log judged by the others, expects less than the search was promised\n",
        );
    } else if refused {
        text.push_str("  a judge that has seen other episodes expects less than the search was promised\n");
    }
    let mut line = |name: &str, value: f64, note: &str| {
        let line = format!("  {name:<28} {value:>9.2}  {note}");
        let _ = writeln!(text, "{}", line.trim_end());
    };
    let interval = |[low, high]: [f64; 2]| format!("{low:.2} to {high:.2}");
    let members = match summary.members {
        Some(members) if members > 1 => format!("{}, over {members} members", interval(promise.interval)),
        _ => interval(promise.interval),
    };
    // A world without errors was not learned: it is the user's own simulator.
    if summary.world_errors.0.is_empty() {
        line("on the simulator", promise.mean, &members);
        return text;
    }
    line("by the members", promise.mean, &members);
    match (promise.rescored, promise.judge_interval) {
        (Some(rescored), Some(judge)) if crossed => line("by cross-fitting", rescored, &interval(judge)),
        (Some(rescored), Some(judge)) => line("by the judge", rescored, &interval(judge)),
        _ => {}
    }
    if promise.judged_by.as_deref() != Some("judge") {
        let why = promise.judge_abstains.as_deref().unwrap_or("no judge: the log is too short, or none was asked for");
        let _ = writeln!(text, "  {}", message(why));
    }
    let _ = writeln!(text, "  {:<28} {:>7.1} %", "steps outside the log's ranges", 100.0 * promise.outside);
    for (state, share) in &promise.left {
        let _ =
            writeln!(text, "  {:<28} {:>7.1} %", format!("steps with {} out of range", shown(state)), 100.0 * share);
    }
    if promise.breaks {
        text.push_str("  it breaks a hard limit on a member of the ensemble\n");
    }
    if let Some(seen) = promise.under_searched_inputs {
        let note = "the promise is made under others, of the log too";
        let line = format!("  {:<28} {seen:>9.2}  {note}", "under the search's inputs");
        let _ = writeln!(text, "{line}");
    }
    if promise.rejected > 0 {
        let _ = writeln!(text, "  {} better candidates did not keep theirs", promise.rejected);
    }
    text
}
