//! `sweep.html`: the runs of a sweep in one page, which needs no script.

use std::fmt::Write;

use fpsrl_base::text::count;
use fpsrl_explain::{minus, sentences};

use super::statistics::within_of;
use super::{Factor, FrontPoint, SweepFindings, SweepRun, WhatVaries, charts};
use crate::modules::STYLE;
use crate::text::{amount, measure, name, share};
use fpsrl_explain::svg::escape;

/// The style of what only this page has.
const OWN_STYLE: &str = include_str!("../../web/sweep.css");

/// Rows of a table that a page can bear.
const MOST_ROWS: usize = 1_000;

/// Rules that are told; the others come back in fewer runs.
const MOST_RULES: usize = 24;

/// The page.
pub fn sweep_page(sweep: &WhatVaries, findings: &SweepFindings) -> String {
    let parts = [
        ("question", "Question", question(sweep)),
        ("result", "Result", result(sweep, findings)),
        ("settings", "Settings that matter", settings(sweep, findings)),
        ("chance", "Chance", chance(sweep, findings)),
        ("rules", "Rules that come back", rules(sweep, findings)),
        ("front", "Front", front(sweep, findings)),
        ("failures", "Failures", failures(sweep)),
        ("runs", "All runs", runs(sweep)),
    ];
    let parts: Vec<_> = parts.into_iter().filter(|(_, _, content)| !content.is_empty()).collect();
    let links: String = parts.iter().map(|(id, title, _)| format!("<li><a href=\"#{id}\">{title}</a></li>")).collect();
    let main: String = parts
        .iter()
        .map(|(id, title, content)| {
            format!("<section id=\"{id}\" aria-labelledby=\"{id}-title\"><h2 id=\"{id}-title\">{title}</h2>{content}</section>\n")
        })
        .collect();
    let title = escape(&sweep.title);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; \
         form-action 'none'\">\n\
         <title>{title} \u{2013} sweep \u{2013} fpsrl</title>\n<style>\n{STYLE}{OWN_STYLE}</style>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#result\">Skip to the result</a>\n\
         <header class=\"masthead\"><div><p class=\"kicker\">fpsrl sweep</p><h1><bdi>{title}</bdi></h1>\
         <p class=\"lead\">{lead}</p></div>\
         <nav aria-label=\"Sections\"><ul>{links}</ul></nav></header>\n\
         <main>\n{main}</main>\n\
         <footer><p>Written by fpsrl {version}. This page is one file and asks the network for nothing.</p></footer>\n\
         </body>\n</html>\n",
        lead = lead(sweep),
        version = env!("CARGO_PKG_VERSION"),
    )
}

/// How many of something.
fn several(number: usize, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

fn lead(sweep: &WhatVaries) -> String {
    let planned = sweep.runs.len() + sweep.failures.len() + sweep.pending.len();
    let mut text = several(planned, "run", "runs");
    let mut parts = vec![format!("{} finished", count(sweep.runs.len()))];
    if !sweep.failures.is_empty() {
        parts.push(format!("{} failed", count(sweep.failures.len())));
    }
    if !sweep.pending.is_empty() {
        parts.push(format!("{} not made yet", count(sweep.pending.len())));
    }
    let _ = write!(text, ": {}", parts.join(", "));
    text
}

fn question(sweep: &WhatVaries) -> String {
    let mut text = String::from(
        "<p>The same problem, solved again and again: what changes when its settings do, and what changes by chance alone?</p>\
         <div class=\"scroll\"><table class=\"settings\"><tbody>",
    );
    let mut row = |title: &str, value: String| {
        let _ = write!(text, "<tr><th scope=\"row\">{}</th><td>{value}</td></tr>", escape(title));
    };
    for factor in &sweep.factors {
        let told: Vec<String> =
            factor.values.iter().take(60).map(|value| name(&charts::shortened(value, 80))).collect();
        row(&factor.key, told.join(" &#183; "));
    }
    row("seeds", count(sweep.seeds));
    if sweep.draws > 0 {
        row("draws of the log", format!("{}, whole episodes with replacement", count(sweep.draws)));
    }
    text.push_str("</tbody></table></div>");
    if !sweep.returns_are.is_empty() {
        let _ = write!(
            text,
            "<p>The <em>promise</em> is the return that a policy is said to earn, by the world models: {}.</p>",
            escape(&sweep.returns_are)
        );
    }
    let changing: Vec<String> =
        sweep.factors.iter().filter(|factor| factor.changes_returns).map(|factor| name(&factor.key)).collect();
    if !changing.is_empty() {
        let _ = write!(
            text,
            "<p>With another {} a return is another thing: promises can be compared where it is the same, and only there. What \
             this page computes keeps to that.</p>",
            changing.join(" or ")
        );
    }
    text
}

/// A run with a link to its report.
fn linked(run: &SweepRun) -> String {
    format!("<a href=\"{}\">{}</a>", escape(&run.link), name(&run.name))
}

fn result(sweep: &WhatVaries, findings: &SweepFindings) -> String {
    let mut text = String::new();
    if let Some(best) = findings.best.and_then(|best| sweep.runs.get(best)) {
        let within = within_of(sweep, best);
        let apart = if within.is_empty() { String::new() } else { " of all, though returns differ in kind".to_owned() };
        let _ = write!(
            text,
            "<p class=\"best\">Most is promised{apart} by {}: <b>{}</b>, from {} to {}{}.</p><ol class=\"sentences\">",
            linked(best),
            amount(best.promise),
            amount(best.interval[0]),
            amount(best.interval[1]),
            best.true_return
                .map_or_else(String::new, |value| format!("; on the true plant it earns {}", amount(value)))
        );
        for sentence in sentences(&best.policy) {
            let _ = write!(text, "<li><bdi>{}</bdi></li>", escape(&minus(&sentence)));
        }
        text.push_str("</ol>");
        let alike = findings.best.and_then(|best| findings.points.iter().find(|spread| spread.runs.contains(&best)));
        if let Some((spread, summed)) = alike.and_then(|spread| Some((spread, spread.promise.as_ref()?)))
            && sweep.runs.len() > 1
        {
            let _ = write!(
                text,
                "<p>The largest of {} promises is partly luck. With the same settings, {}, the median is {}.</p>",
                count(sweep.runs.len()),
                name(&spread.point),
                amount(summed.median)
            );
        }
    } else {
        text.push_str("<p>No run is finished yet.</p>");
    }
    let range = charts::promises(&sweep.runs);
    let truth = sweep.runs.iter().any(|run| run.true_return.is_some());
    let _ = write!(
        text,
        "<div class=\"scroll\"><table class=\"result\"><thead><tr><th scope=\"col\">Settings</th><th scope=\"col\">Runs</th>\
         <th scope=\"col\">Promise, each run a dot</th><th scope=\"col\" class=\"value\">Median</th>\
         <th scope=\"col\" class=\"value\">From, to</th>{}<th scope=\"col\">go / careful / no-go</th>\
         <th scope=\"col\">Failed</th></tr></thead><tbody>",
        if truth { "<th scope=\"col\" class=\"value\">True return</th>" } else { "" }
    );
    for spread in findings.points.iter().take(MOST_ROWS) {
        let summed = spread.promise.as_ref();
        let [go, careful, no_go] = spread.verdicts;
        let dash = || "\u{2013}".to_owned();
        let _ = write!(
            text,
            "<tr><th scope=\"row\">{}</th><td class=\"value\">{}</td><td class=\"scale\">{}</td><td class=\"value\">{}</td>\
             <td class=\"value\">{}</td>{}<td>{go} / {careful} / {no_go}</td><td>{}</td></tr>",
            name(&spread.point),
            spread.runs.len(),
            charts::strip(&spread.runs, &sweep.runs, range, summed),
            summed.map_or_else(dash, |summed| amount(summed.median)),
            summed.map_or_else(dash, |summed| format!("{} to {}", amount(summed.least), amount(summed.most))),
            match (truth, &spread.true_return) {
                (false, _) => String::new(),
                (true, Some(summed)) => format!("<td class=\"value\">{}</td>", amount(summed.median)),
                (true, None) => "<td class=\"value\">\u{2013}</td>".into(),
            },
            if spread.failed == 0 { String::new() } else { count(spread.failed) }
        );
    }
    text.push_str("</tbody></table></div>");
    if findings.points.len() > MOST_ROWS {
        let _ =
            write!(text, "<p class=\"quiet\">{} more are in table.csv.</p>", count(findings.points.len() - MOST_ROWS));
    }
    text.push_str(
        "<p class=\"quiet\">The line is the median. An empty dot is a run that the judge or the verdict refuses.</p>",
    );
    text
}

/// What a factor does, in a sentence; it is also what the command says.
fn said(sweep: &WhatVaries, factor: &Factor) -> String {
    if factor.changes_returns {
        return "It changes what a return is, so its promises cannot be compared.".into();
    }
    let Some(explained) = factor.explained else {
        return match factor.levels.iter().filter(|level| level.promise.is_some()).count() {
            0 | 1 => "Only one of its values has finished runs: there is nothing to compare.".into(),
            _ => "All runs promise the same, whatever its value.".into(),
        };
    };
    let percent = if explained < 5e-4 { "0".to_owned() } else { share(explained) };
    let told = explained >= 2.0 * factor.by_chance && explained >= 0.02;
    let matters = match () {
        () if !told => "It does not matter, as far as these runs can tell",
        () if explained >= 0.5 => "It matters most",
        () if explained >= 0.14 => "It matters",
        () => "It matters a little",
    };
    let best = factor
        .levels
        .iter()
        .filter_map(|level| Some((level, level.promise.as_ref()?.median)))
        .reduce(|best, one| if one.1 > best.1 { one } else { best });
    // Medians over several kinds of return are no figure.
    let mixed = sweep.factors.iter().any(|factor| factor.changes_returns && factor.values.len() > 1);
    let best = match best {
        Some((level, median)) if !mixed && told => {
            format!(" The best median has {}: {}.", name(&charts::shortened(&level.value, 60)), amount(median))
        }
        _ => String::new(),
    };
    format!(
        "{matters}: it explains {percent} % of the variance of the promise; {} % would be expected by chance.{best}",
        share(factor.by_chance)
    )
}

fn settings(sweep: &WhatVaries, findings: &SweepFindings) -> String {
    if sweep.factors.is_empty() || sweep.runs.is_empty() {
        return String::new();
    }
    let mut order: Vec<&Factor> = findings.factors.iter().collect();
    order.sort_by(|a, b| b.explained.unwrap_or(-1.0).total_cmp(&a.explained.unwrap_or(-1.0)));
    let mut text = String::from(
        "<p>How much of the differences between runs goes with each setting by itself (eta squared, of the runs that are \
         finished). Each dot is a run, the line is the median.</p><div class=\"charts wide\">",
    );
    let range = charts::promises(&sweep.runs);
    for factor in order {
        let bar = factor.explained.map_or_else(String::new, |explained| {
            format!(
                "<span class=\"share-bar\" aria-hidden=\"true\"><i style=\"width:{:.1}%\"></i></span>",
                100.0 * explained
            )
        });
        let shown = factor.levels.len().min(40);
        let _ = write!(
            text,
            "<figure><h3>{}</h3>{bar}<p>{}</p>{}</figure>",
            name(&factor.key),
            said(sweep, factor),
            charts::levels(&factor.key, &factor.levels[..shown], &sweep.runs, range)
        );
    }
    text.push_str("</div>");
    text
}

fn chance(sweep: &WhatVaries, findings: &SweepFindings) -> String {
    let repeated = findings.points.iter().filter(|spread| spread.runs.len() > 1);
    let widths: Vec<(&super::Spread, f64)> = repeated
        .filter_map(|spread| Some((spread, spread.promise.as_ref().map(|summed| summed.most - summed.least)?)))
        .collect();
    let Some((widest, width)) = widths.iter().copied().reduce(|most, one| if one.1 > most.1 { one } else { most })
    else {
        return String::new();
    };
    let what = match (sweep.seeds > 1, sweep.draws > 1) {
        (true, true) => "another seed or another draw of the log",
        (false, true) => "another draw of the log",
        _ => "another seed",
    };
    let mut text = format!("<p>With the same settings, {what} gives another policy. ");
    if let Some(left) = findings.chance {
        let _ = write!(text, "That makes up {} % of the variance of the promise", share(left));
        text.push_str(if sweep.factors.is_empty() { ". " } else { "; the rest goes with the settings together. " });
    }
    if let Some(middle) = super::Summed::of(widths.iter().map(|(_, width)| *width)) {
        let _ = write!(
            text,
            "Between the best and the worst run of one setting lie {} in the median, and {} at most: with {}.",
            amount(middle.median),
            amount(width),
            name(&widest.point)
        );
    }
    text.push_str("</p>");
    let refused: usize = findings.points.iter().map(|spread| spread.refused).sum();
    if refused > 0 {
        let _ = write!(text, "<p>The judge does not confirm the promise of {}.</p>", several(refused, "run", "runs"));
    }
    let kept: Vec<bool> = sweep
        .runs
        .iter()
        .filter_map(|run| run.true_return.map(|value| run.interval[0] <= value && value <= run.interval[1]))
        .collect();
    if !kept.is_empty() {
        let _ = write!(
            text,
            "<p>The true return lies within the promise's interval in {} of {} runs.</p>",
            count(kept.iter().filter(|kept| **kept).count()),
            count(kept.len())
        );
    }
    text
}

fn rules(sweep: &WhatVaries, findings: &SweepFindings) -> String {
    if sweep.runs.len() < 2 {
        return String::new();
    }
    let used = sweep.runs.iter().filter(|run| !run.is_refused()).count();
    let which = match used == sweep.runs.len() || used < 2 {
        true => String::new(),
        false => format!(
            "Only the {} that neither the judge nor the verdict refuses count here. ",
            several(used, "run", "runs")
        ),
    };
    if findings.recurring.is_empty() {
        return format!("<p>{which}No rule comes back: every run has found others.</p>");
    }
    let always = findings.recurring.iter().filter(|rule| rule.runs.len() == rule.of).count();
    let mut text = match always {
        0 => format!("<p>{which}No rule is in every run. "),
        1 => format!("<p>{which}One rule is in every run. "),
        many => format!("<p>{which}{} rules are in every run. ", count(many)),
    };
    text.push_str(
        "Rules are the same where they want nearly the same in nearly the same place. Each sentence is the middle of all that are \
         alike; below it, where the middle half of the runs has its centres and what it does there.</p><ol class=\"returning\">",
    );
    for rule in findings.recurring.iter().take(MOST_RULES) {
        let part = rule.runs.len() as f64 / rule.of.max(1) as f64;
        let scatter: Vec<String> = rule
            .scatter
            .iter()
            .map(|one| {
                let [low, high] = one.range;
                format!(
                    "{} {}",
                    name(&one.name),
                    match measure(low, "") == measure(high, "") {
                        true => measure(low, &one.unit),
                        false => format!("{} to {}", measure(low, ""), measure(high, &one.unit)),
                    }
                )
            })
            .collect();
        let _ = write!(
            text,
            "<li><p class=\"rule-text\"><bdi>{}</bdi></p><span class=\"share-bar\" aria-hidden=\"true\"><i \
             style=\"width:{:.1}%\"></i></span><p>In <b>{} of {}</b> runs; {}</p></li>",
            escape(&minus(&rule.sentence)),
            100.0 * part,
            count(rule.runs.len()),
            count(rule.of),
            scatter.join(", ")
        );
    }
    text.push_str("</ol>");
    if findings.recurring.len() > MOST_RULES {
        let _ = write!(
            text,
            "<p class=\"quiet\">{} more come back in fewer runs.</p>",
            findings.recurring.len() - MOST_RULES
        );
    }
    if let Some(best) = findings.best
        && let Some((often, rules)) = super::stability::share_that_recurs(&findings.recurring, best, &sweep.runs)
    {
        let _ = write!(
            text,
            "<p>Of the {} of {}, which promises most, {} in at least half of the runs.</p>",
            several(rules, "rule", "rules"),
            linked(&sweep.runs[best]),
            match often {
                0 => "none is".to_owned(),
                1 => "one is".to_owned(),
                many => format!("{many} are"),
            }
        );
    }
    text
}

fn front(sweep: &WhatVaries, findings: &SweepFindings) -> String {
    if findings.front.is_empty() {
        return String::new();
    }
    let mut kinds: Vec<&str> = findings.front.iter().map(|point| point.within.as_str()).collect();
    kinds.dedup();
    let mut text = String::from(
        "<p>Of the runs that are joined, none is both simpler and better than another. Follow a dot to its report.</p>\
         <div class=\"charts wide\">",
    );
    for kind in kinds.iter().take(12) {
        let points: Vec<&FrontPoint> = findings.front.iter().filter(|point| point.within == *kind).collect();
        let runs: Vec<usize> =
            (0..sweep.runs.len()).filter(|run| within_of(sweep, &sweep.runs[*run]) == *kind).collect();
        let title = if kind.is_empty() { String::new() } else { format!("<h3>{}</h3>", name(kind)) };
        let _ = write!(text, "<figure>{title}{}", charts::front(&runs, &sweep.runs, &points));
        text.push_str(
            "<div class=\"scroll\"><table><thead><tr><th scope=\"col\">Conditions</th><th scope=\"col\" class=\"value\">Promise</th>\
             <th scope=\"col\">Run</th></tr></thead><tbody>",
        );
        for point in points {
            let _ = write!(
                text,
                "<tr><th scope=\"row\">{}</th><td class=\"value\">{}</td><td>{}</td></tr>",
                point.conditions,
                amount(point.promise),
                sweep.runs.get(point.run).map_or_else(String::new, linked)
            );
        }
        text.push_str("</tbody></table></div></figure>");
    }
    text.push_str("</div>");
    text
}

fn failures(sweep: &WhatVaries) -> String {
    if sweep.failures.is_empty() {
        return String::new();
    }
    // Runs that fail alike are told together.
    let mut kinds: Vec<(&str, Option<&str>, Vec<&str>)> = Vec::new();
    for failed in &sweep.failures {
        match kinds.iter_mut().find(|(message, _, _)| *message == failed.message) {
            Some((_, _, names)) => names.push(&failed.name),
            None => kinds.push((&failed.message, failed.hint.as_deref(), vec![&failed.name])),
        }
    }
    let mut text = String::from(
        "<p>These runs ended with a message. The others are not touched by it; what is mended is made again with \
         <code>--retry</code>.</p><div class=\"scroll\"><table><thead><tr><th scope=\"col\">Runs</th><th scope=\"col\">What went \
         wrong</th></tr></thead><tbody>",
    );
    for (message, hint, names) in kinds.iter().take(MOST_ROWS) {
        let mut told: Vec<String> = names.iter().take(8).map(|one| name(one)).collect();
        if names.len() > 8 {
            told.push(format!("and {} more", count(names.len() - 8)));
        }
        let hint = hint.map_or_else(String::new, |hint| format!("<br><span class=\"quiet\">{}</span>", escape(hint)));
        let _ = write!(text, "<tr><th scope=\"row\">{}</th><td>{}{hint}</td></tr>", told.join("<br>"), escape(message));
    }
    text.push_str("</tbody></table></div>");
    text
}

fn runs(sweep: &WhatVaries) -> String {
    let mut text = format!(
        "<details><summary>{}</summary><div class=\"scroll\"><table><thead><tr><th scope=\"col\">Run</th><th scope=\"col\" \
         class=\"value\">Promise</th><th scope=\"col\" class=\"value\">True return</th><th scope=\"col\">Verdict</th><th \
         scope=\"col\">Rules</th><th scope=\"col\">Conditions</th></tr></thead><tbody>",
        several(sweep.runs.len(), "finished run", "finished runs")
    );
    for run in sweep.runs.iter().take(MOST_ROWS) {
        let _ = write!(
            text,
            "<tr><th scope=\"row\">{}</th><td class=\"value\">{}</td><td class=\"value\">{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            linked(run),
            amount(run.promise),
            run.true_return.map_or_else(|| "\u{2013}".into(), amount),
            escape(&run.verdict),
            run.policy.rule_count(),
            run.policy.conditions().len()
        );
    }
    text.push_str("</tbody></table></div></details>");
    if sweep.runs.len() > MOST_ROWS {
        let _ = write!(text, "<p class=\"quiet\">{} more are in table.csv.</p>", count(sweep.runs.len() - MOST_ROWS));
    }
    if !sweep.pending.is_empty() {
        let _ = write!(text, "<p>{} not made yet.</p>", several(sweep.pending.len(), "run is", "runs are"));
    }
    text
}
