//! The second half of the page: what the figures rest on, and how to make them again.

use std::fmt::Write;

use super::charts::{Chart, Mark, Series};
use super::coverage::coverage;
use super::evidence::Piece;
use super::findings::Findings;
use super::text::{amount, name, share, with_unit_in};
use fpsrl_base::text::{count, number};
use fpsrl_engine::policy::{Quantity, Rule};
use fpsrl_explain::svg::{Axis, escape, line};
use fpsrl_explain::{CELL, condition, condition_words, curve_places, minus, shown_inputs};

const MARKS: [Mark; 3] = [Mark::Solid, Mark::Dashed, Mark::Dotted];

/// Everything that the verdict rests on.
pub(super) fn evidence(findings: &Findings) -> String {
    let mut text = String::from("<h2 id=\"evidence-title\">Evidence</h2>");
    text.push_str(&coverage(findings));
    text.push_str(&world_errors(findings));
    text.push_str(&judged(findings));
    text.push_str(&replays(findings));
    text.push_str(&returns(findings));
    text.push_str(&learning_curve(findings));
    let _ = write!(
        text,
        "<h3>Steps outside of the log</h3><p>{} % of the steps of the rules\u{2019} rollouts lie farther from every \
         logged state and action than \
         99 % of the log\u{2019}s own rows lie from each other. There the world model guesses.",
        share(findings.outside)
    );
    // Another measure, which the promise is made with.
    if let Some(promise) = &findings.summary.promise {
        let _ = write!(
            text,
            " {} % of the steps that earn the promise lead beyond the range of a variable in the log.",
            share(promise.outside)
        );
    }
    text.push_str("</p>");
    text
}

fn world_errors(findings: &Findings) -> String {
    let errors = &findings.summary.world_errors.0;
    if errors.is_empty() {
        return String::new();
    }
    let mut text = String::from(
        "<h3>The world model</h3><p>Errors on rows that training never saw: mean squared error as a share of the \
         variance, so 1 is no better than the mean.</p>\
         <div class=\"scroll\"><table><thead><tr><th scope=\"col\">Quantity</th><th scope=\"col\">Error</th><th \
         scope=\"col\">Predicted by</th></tr></thead><tbody>",
    );
    for (quantity, error) in errors {
        let made_of = findings.world.made_of.iter().find(|(name, _)| name == quantity).map(|(_, what)| what.clone());
        let (error, made_of) = match quantity.as_str() {
            "absorbing" => (format!("{} % misjudged", share(*error)), "regions".to_owned()),
            _ => (minus(&format!("{error:.1e}")), made_of.unwrap_or_default()),
        };
        let _ = write!(
            text,
            "<tr><th scope=\"row\">{}</th><td class=\"value\">{error}</td><td class=\"value\">{made_of}</td></tr>",
            name(quantity)
        );
    }
    text.push_str("</tbody></table></div>");
    text
}

/// What the stages that judge the world have left in the summary, if they have.
fn judged(findings: &Findings) -> String {
    let verdict = &findings.raw["verdict"];
    let mut rows = Vec::new();
    for entry in verdict["open_loop"].as_array().into_iter().flatten() {
        if let (Some(steps), Some(error)) = (entry["steps"].as_u64(), entry["error"].as_f64()) {
            rows.push((format!("Open-loop error after {steps} steps"), minus(&number(error))));
        }
    }
    for (label, key) in [("Calibration", "calibration"), ("Coverage", "coverage")] {
        if let Some(value) = verdict[key].as_f64() {
            rows.push((label.to_owned(), minus(&number(value))));
        }
    }
    // Once there is a controller, the verdict's own word is on that.
    let of_worlds = (verdict["world_word"].as_str(), verdict["world_reason"].as_str());
    let said = match of_worlds.0.map_or((verdict["word"].as_str(), verdict["reason"].as_str()), |_| of_worlds) {
        (Some(word), Some(reason)) => format!("<p>Judged <b>{}</b>: {}</p>", escape(word), escape(reason)),
        _ => String::new(),
    };
    if rows.is_empty() {
        return said;
    }
    let list: String = rows
        .iter()
        .map(|(label, value)| format!("<tr><th scope=\"row\">{label}</th><td class=\"value\">{value}</td></tr>"))
        .collect();
    format!("{said}<div class=\"scroll\"><table><tbody>{list}</tbody></table></div>")
}

fn replays(findings: &Findings) -> String {
    let replays = &findings.replays;
    // Inputs are given, not foreseen.
    let states = &findings.system.states()[..findings.system.own_states()];
    if replays.errors.len() < 2 {
        return "<h3>Replays of the log</h3><p>The log has no two rows in a row that could be replayed.</p>".into();
    }
    let mut text = format!(
        "<h3>Replays of the log</h3><p>{} pieces of the log, each foreseen by the world model from its first state \
         on with the logged actions; \
         each begins at a row that training has not seen.</p><div class=\"charts\">",
        replays.count
    );
    let series = (0..states.len())
        .take(6)
        .map(|variable| Series {
            name: states[variable].name.clone(),
            mark: MARKS[variable % 3],
            points: replays.errors.iter().enumerate().skip(1).map(|(step, e)| (step as f64, e[variable])).collect(),
        })
        .collect();
    let chart = Chart {
        title: "Error of replays over the steps foreseen",
        x: "steps foreseen",
        y: "error (share of the standard deviation)",
        shaded: Vec::new(),
        series,
        x_range: None,
        y_range: None,
        logarithmic: true,
    };
    let _ = write!(text, "<figure>{}<figcaption>All pieces</figcaption></figure>", chart.svg());
    if let Some(Piece { logged, foreseen }) = &replays.example {
        for (variable, state) in states.iter().enumerate().take(6) {
            let of = |rows: &[Vec<f64>]| -> Vec<(f64, f64)> {
                rows.iter().enumerate().map(|(step, row)| (step as f64, row[variable])).collect()
            };
            let (axis, title) = (with_unit_in(&state.name, &state.unit), format!("A replay of {}", state.name));
            let chart = Chart {
                title: &title,
                x: "step",
                y: &axis,
                shaded: Vec::new(),
                series: vec![
                    Series { name: "foreseen".into(), mark: Mark::Solid, points: of(foreseen) },
                    Series { name: "logged".into(), mark: Mark::Rings, points: every(of(logged), 40) },
                ],
                x_range: None,
                y_range: None,
                logarithmic: false,
            };
            let _ = write!(text, "<figure>{}<figcaption>The piece of median error</figcaption></figure>", chart.svg());
        }
    }
    text.push_str("</div>");
    text
}

/// At most so many points, evenly spread.
fn every(points: Vec<(f64, f64)>, most: usize) -> Vec<(f64, f64)> {
    let step = points.len().div_ceil(most).max(1);
    points.into_iter().step_by(step).collect()
}

fn returns(findings: &Findings) -> String {
    let states = &findings.system.states()[..findings.system.current_states()];
    let spreads = |v: &usize| states[*v].start[1] > states[*v].start[0] && states[*v].values().is_empty();
    let free: Vec<usize> = (0..states.len()).filter(spreads).take(6).collect();
    let mut text = format!(
        "<h3>Return from each start</h3><p>{} starts that the search never saw.</p><div class=\"charts\">",
        count(findings.starts.len())
    );
    for variable in free {
        let at = findings.starts.column(variable);
        let of = |returns: &[f64]| every(at.iter().copied().zip(returns.iter().copied()).collect(), 1_000);
        let mut series =
            vec![Series { name: "world model".into(), mark: Mark::Points, points: of(&findings.model_returns) }];
        if let Some(returns) = &findings.true_returns {
            series.push(Series { name: "true plant".into(), mark: Mark::Rings, points: every(of(returns), 250) });
        }
        let (axis, title) = (
            with_unit_in(&states[variable].name, &states[variable].unit),
            format!("Return over {}", states[variable].name),
        );
        let chart = Chart {
            title: &title,
            x: &axis,
            y: "return",
            shaded: Vec::new(),
            series,
            x_range: Some(states[variable].start),
            y_range: None,
            logarithmic: false,
        };
        let _ = write!(text, "<figure>{}</figure>", chart.svg());
    }
    let sorted = |returns: &[f64]| -> Vec<(f64, f64)> {
        let mut sorted = returns.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let last = sorted.len().saturating_sub(1).max(1) as f64;
        every(sorted.iter().enumerate().map(|(index, value)| (100.0 * index as f64 / last, *value)).collect(), 400)
    };
    let mut series =
        vec![Series { name: "world model".into(), mark: Mark::Solid, points: sorted(&findings.model_returns) }];
    if let Some(returns) = &findings.true_returns {
        series.push(Series { name: "true plant".into(), mark: Mark::Dashed, points: sorted(returns) });
    }
    let chart = Chart {
        title: "Returns of all starts, from the worst to the best",
        x: "starts, from the worst to the best, in percent",
        y: "return",
        shaded: Vec::new(),
        series,
        x_range: Some([0.0, 100.0]),
        y_range: None,
        logarithmic: false,
    };
    let _ = write!(text, "<figure>{}</figure></div>", chart.svg());
    text
}

fn learning_curve(findings: &Findings) -> String {
    let records = &findings.records;
    if records.is_empty() {
        return String::new();
    }
    let of = |value: fn(&fpsrl_search::search::SearchRecord) -> f64| {
        every(records.iter().map(|record| (record.iteration as f64, value(record))).collect(), 600)
    };
    let raced = findings.summary.race;
    let chart = Chart {
        title: "How the search went on",
        x: if raced.is_some() { "round" } else { "iteration" },
        y: "return on the world model",
        shaded: Vec::new(),
        series: vec![
            Series { name: "best".into(), mark: Mark::Solid, points: of(|record| record.best) },
            Series {
                name: if raced.is_some() { "mean of all tries" } else { "mean of all particles\u{2019} best" }.into(),
                mark: Mark::Dashed,
                points: of(|record| record.mean),
            },
        ],
        x_range: None,
        y_range: None,
        logarithmic: false,
    };
    let ending = match findings.summary.search_ending.as_deref() {
        Some("stalled") => " It ended when it no longer improved.",
        Some("finished") => " It made all of its iterations.",
        _ => "",
    };
    let steps = count(findings.summary.model_steps.unwrap_or(0) as usize);
    let said = match raced {
        Some(race) => {
            let gap = race.gap.map_or(String::new(), |gap| {
                format!(
                    " From other start states than the {} that it was searched on, the best one earns {} {}.",
                    count(race.start_states),
                    amount(gap.abs()),
                    if gap > 0.0 { "less" } else { "more" }
                )
            });
            format!(
                "{} tries, {steps} steps of the world model. Stages score on different start states, so the best may \
                 fall between them.{gap}",
                count(race.tries)
            )
        }
        None => format!(
            "{} particles, {} iterations, {steps} steps of the world model.{ending}",
            count(findings.summary.particles),
            count(findings.summary.iterations)
        ),
    };
    format!("<h3>The search</h3><p>{said}</p><div class=\"charts\"><figure>{}</figure></div>", chart.svg())
}

/// The rules of several runs over each other.
pub(super) fn stability(findings: &Findings) -> String {
    let mut text = String::from("<h2 id=\"stability-title\">Stability</h2>");
    if findings.overlays.is_empty() {
        text.push_str(
            "<p>What is found every time, and what is chance? Make runs with other seeds and lay their rules over \
             these: \
             <code>fpsrl report DIR --overlay DIR2 DIR3</code>.</p>",
        );
        return text;
    }
    text.push_str(
        "<p>The rules of other runs, each matched to the rule here that it is most like. The thick line is this run; \
         where the others lie on it, the same is found every time.</p><div class=\"scroll\"><table><thead><tr><th \
         scope=\"col\">Run</th>\
         <th scope=\"col\">Seed</th><th scope=\"col\">World model</th><th scope=\"col\">True plant</th><th \
         scope=\"col\">Acts alike</th></tr></thead><tbody>",
    );
    let shown = |value: Option<f64>| value.map_or("\u{2013}".into(), amount);
    let _ = write!(
        text,
        "<tr><th scope=\"row\">this run</th><td class=\"value\">{}</td><td class=\"value\">{}</td><td \
         class=\"value\">{}</td><td></td></tr>",
        findings.system.seed(),
        amount(findings.model_return),
        shown(findings.summary.true_return)
    );
    for other in &findings.overlays {
        let _ = write!(
            text,
            "<tr><th scope=\"row\">{}</th><td class=\"value\">{}</td><td class=\"value\">{}</td><td \
             class=\"value\">{}</td><td class=\"value\">in {} % of the logged states</td></tr>",
            name(&other.name),
            other.seed,
            shown(other.model_return),
            shown(other.true_return),
            share(other.agreement)
        );
    }
    text.push_str("</tbody></table></div>");
    for (number, action) in findings.policy.actions.iter().enumerate() {
        let inputs = shown_inputs(&findings.policy);
        let many = if inputs.len() > 5 { " many" } else { "" };
        let _ = write!(text, "<div class=\"rules-of overlaid{many}\" style=\"--inputs:{}\">", inputs.len());
        for (index, rule) in action.rules.iter().enumerate() {
            // Other runs may measure angles otherwise.
            let others: Vec<RuleOfRun<'_>> = findings
                .overlays
                .iter()
                .filter_map(|other| {
                    other.policy.actions[number].rules.get(index).map(|rule| (&other.policy.states[..], rule))
                })
                .collect();
            let own = (&findings.policy.states[..], rule);
            let _ = write!(
                text,
                "<article class=\"rule\"><header><h4>Rule {}</h4></header><div class=\"cells\">",
                index + 1
            );
            for &variable in &inputs {
                let quantity = &findings.policy.states[variable];
                let range = findings.profile.inputs[variable].range;
                let (picture, words) = match quantity.values.is_empty() {
                    true => (
                        overlaid_cell(range, variable, own, &others),
                        spread_words(range, variable, own, &others).to_owned(),
                    ),
                    false => (String::new(), modes_of_runs(variable, own, &others)),
                };
                let _ = write!(
                    text,
                    "<figure class=\"cell\"><figcaption>{}</figcaption>{picture}<p class=\"condition\">{words}</p></figure>",
                    name(&quantity.name),
                );
            }
            let wishes: Vec<String> = others.iter().map(|(_, other)| minus(&number_of(other.output))).collect();
            let _ = write!(
                text,
                "<figure class=\"cell output\"><figcaption>wants (\u{2212}1 to 1)</figcaption><p \
                 class=\"condition\"><b>{}</b>; {}</p></figure></div></article>",
                minus(&number_of(rule.output)),
                wishes.join(", ")
            );
        }
        text.push_str("</div>");
    }
    text
}

fn number_of(value: f64) -> String {
    format!("{value:.2}")
}

/// A rule with the variables as its run measures them.
type RuleOfRun<'a> = (&'a [Quantity], &'a Rule);

/// One condition of several runs.
fn overlaid_cell(range: [f64; 2], variable: usize, own: RuleOfRun<'_>, others: &[RuleOfRun<'_>]) -> String {
    let [width, height] = CELL;
    let (x, y) = (Axis::new(range, [8.0, 152.0]), Axis::new([0.0, 1.0], [62.0, 9.0]));
    let curve = |(states, rule): RuleOfRun<'_>| {
        let quantity = &states[variable];
        let places = curve_places(quantity, rule, variable, range).into_iter();
        line(places.map(|value| (x.at(value), y.at(condition(quantity, rule, variable, value)))))
    };
    let mut svg = format!(
        "<svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"One condition of all runs\"><path \
         class=\"axis\" d=\"M8 62H152\"/>"
    );
    for other in others {
        let _ = write!(svg, "<path class=\"other\" d=\"{}\"/>", curve(*other));
    }
    let _ = write!(svg, "<path class=\"curve own\" d=\"{}\"/>", curve(own));
    for (tick, class, at) in [(range[0], "", 8.0), (range[1], " class=\"end\"", 152.0)] {
        let _ = write!(svg, "<text{class} x=\"{at}\" y=\"76\">{}</text>", minus(&number(tick)));
    }
    svg.push_str("</svg>");
    svg
}

/// Whether a condition is found every time: how far the curves of the runs lie apart, on the mean over the range.
fn spread_words(range: [f64; 2], variable: usize, own: RuleOfRun<'_>, others: &[RuleOfRun<'_>]) -> &'static str {
    let at = |(states, rule): RuleOfRun<'_>, share: f64| {
        condition(&states[variable], rule, variable, range[0] + (range[1] - range[0]) * share)
    };
    let mut apart = 0.0f64;
    for other in others {
        let differences =
            (0..=40).map(|index| (at(own, f64::from(index) / 40.0) - at(*other, f64::from(index) / 40.0)).abs());
        apart = apart.max(differences.sum::<f64>() / 41.0);
    }
    match apart {
        _ if others.is_empty() => "found here only",
        apart if apart < 0.15 => "found every time",
        apart if apart < 0.35 => "varies",
        _ => "left to chance",
    }
}

/// The mode of this run's rule, and those of the others.
fn modes_of_runs(variable: usize, own: RuleOfRun<'_>, others: &[RuleOfRun<'_>]) -> String {
    let mode = |(states, rule): RuleOfRun<'_>| escape(&condition_words(&states[variable], rule, variable));
    let others: Vec<String> = others.iter().map(|other| mode(*other)).collect();
    format!("<b>{}</b>; {}", mode(own), others.join(", "))
}

/// Settings and digests.
pub(super) fn repeat(findings: &Findings) -> String {
    let summary = &findings.summary;
    let repeated = match summary.search_return {
        Some(_) => "The same seed gives the same rules, byte for byte, on any number of threads.",
        None => "These rules were not searched by this run: they were edited, or brought from elsewhere.",
    };
    let mut text = format!(
        "<h2 id=\"repeat-title\">To repeat it</h2><p>{repeated}</p>\
        <div class=\"scroll\"><table class=\"settings\"><tbody>",
    );
    let mut row = |key: &str, value: String| {
        let _ = write!(text, "<tr><th scope=\"row\">{key}</th><td>{value}</td></tr>");
    };
    row("Problem", name(&summary.problem));
    row("Seed", summary.seed.to_string());
    row("Version", escape(&summary.version));
    row(
        "Log",
        format!("{} transitions, SHA-256 <code>{}</code>", count(summary.samples), escape(&summary.data_sha256)),
    );
    row(
        "Horizon",
        format!("{} steps, discount {} a step", findings.system.horizon(), number(findings.system.discount())),
    );
    if let Some(numerics) = &summary.numerics {
        row("Numerics", escape(numerics));
    }
    let seconds: Vec<String> =
        summary.seconds.0.iter().map(|(stage, value)| format!("{} {value:.1} s", escape(stage))).collect();
    row("Time", seconds.join(", "));
    text.push_str("</tbody></table></div><details><summary>Every setting: problem.toml</summary><pre>");
    text.push_str(&escape(&findings.problem_text));
    text.push_str("</pre></details>");
    text
}
