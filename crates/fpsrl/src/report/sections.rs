//! The first half of the page: the verdict, the rules, and what can be moved.

use std::fmt::Write;

use super::charts::{Chart, Mark, Series, range};
use super::findings::Findings;
use crate::explain::svg::{Axis, place};
use crate::explain::{
    CELL, DRAWING, combined_cell, drawing, escape, membership_cell, minus, number, output_cell, unused_inputs,
    with_unit,
};
use crate::policy::{ActionRules, FuzzyPolicy, Rule};

/// A return, for people.
pub(super) fn amount(value: f64) -> String {
    if value.abs() >= 1.0 && value.abs() < 1e6 { minus(&format!("{value:.2}")) } else { minus(&number(value)) }
}

/// A number with its unit, for a page.
pub(super) fn measure(value: f64, unit: &str) -> String {
    escape(&with_unit(&minus(&number(value)), unit))
}

/// A count with its thousands apart.
pub(super) fn count(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A name as the page shows it; what is written from right to left keeps to itself.
pub(super) fn name(text: &str) -> String {
    format!("<bdi>{}</bdi>", escape(text))
}

/// What the run is, in a line.
pub(super) fn lead(findings: &Findings) -> String {
    let rules: usize = findings.policy.actions.iter().map(|action| action.rules.len()).sum();
    let actions: Vec<String> = findings.policy.actions.iter().map(|action| name(&action.name)).collect();
    format!(
        "{rules} rules for {}, found on a model of {} logged transitions; seed {}.",
        actions.join(", "),
        count(findings.summary.samples),
        findings.summary.seed
    )
}

struct Figure {
    label: String,
    value: f64,
    interval: Option<[f64; 2]>,
    note: String,
    kind: &'static str,
}

/// Whether to trust the rules, and the figures that say so.
pub(super) fn verdict(findings: &Findings) -> String {
    let summary = &findings.summary;
    let verdict = &findings.raw["verdict"];
    let true_return = findings.true_returns.as_ref().map(|returns| super::findings::mean(returns));
    let (word, class, reason) = match (verdict["word"].as_str(), verdict["reason"].as_str()) {
        (Some(word), reason) => {
            let (shown, class) = match word {
                "go" => ("Go", "good"),
                "careful" => ("Careful", "fair"),
                "no-go" => ("No-go", "bad"),
                other => (other, "fair"),
            };
            (shown.to_owned(), class, reason.unwrap_or_default().to_owned())
        }
        _ => derived_verdict(findings, true_return),
    };
    let mark = match class {
        "good" => "\u{2713}",
        "bad" => "\u{2715}",
        _ => "!",
    };
    let mut text = format!(
        "<h2 id=\"verdict-title\" class=\"visually-hidden\">Verdict</h2><div class=\"verdict {class}\">\
         <p class=\"verdict-word\"><span class=\"mark\" aria-hidden=\"true\">{mark}</span>{}</p><p>{}</p></div>",
        escape(&word),
        escape(&reason)
    );
    let promise = &findings.raw["promise"];
    let interval =
        promise["interval"].as_array().and_then(|pair| Some([pair.first()?.as_f64()?, pair.get(1)?.as_f64()?]));
    let mut figures = vec![Figure {
        label: "Promised by the world model".into(),
        value: promise["return"].as_f64().unwrap_or(findings.model_return),
        interval,
        note: match interval {
            Some([low, high]) => format!("between {} and {}", amount(low), amount(high)),
            None => format!("mean of {} starts that the search never saw", count(findings.starts.len())),
        },
        kind: "promised",
    }];
    let mut add = |label: &str, value: Option<f64>, note: String, kind: &'static str| {
        if let Some(value) = value.filter(|value| value.is_finite()) {
            figures.push(Figure { label: label.into(), value, interval: None, note, kind });
        }
    };
    let holds = match promise["holds"].as_bool() {
        Some(true) => "the promise holds",
        Some(false) => "the promise does not hold",
        None => "",
    };
    add("Re-scored on other models", promise["rescored"].as_f64(), holds.into(), "rescored");
    add("On the true plant", true_return, "the same starts, the true dynamics".into(), "true");
    let reached = match true_return.unwrap_or(findings.model_return) {
        value if findings.problem.success.is_some_and(|threshold| value >= threshold) => "reached",
        _ => "not reached",
    };
    add("Threshold of success", findings.problem.success, reached.into(), "threshold");
    if let Some(ceiling) = &summary.ceiling {
        let note =
            format!("plans from {} starts, where the rules earn {}", ceiling.start_states, amount(ceiling.policy));
        add("Most that plans reach", Some(ceiling.ceiling), note, "other");
    }
    if let Some((model, truth)) = findings.nfq {
        let place = if truth.is_some() { "on the true plant" } else { "on the world model" };
        add("Neural fitted Q iteration", truth.or(Some(model)), format!("{place}; nobody can read it"), "other");
    }
    if let Some((value, episodes)) = findings.logged {
        let plural = if episodes == 1 { "episode" } else { "episodes" };
        add("Logged behaviour", Some(value), format!("{} {plural}, from their own starts", count(episodes)), "other");
    }
    add("Doing nothing", Some(findings.simple.idle), "every action in the middle of its limits".into(), "other");
    text.push_str(&figure_table(&figures));
    text.push_str(&in_short(findings));
    text
}

/// A verdict where no stage has given one: what the true plant says, if there is one.
fn derived_verdict(findings: &Findings, true_return: Option<f64>) -> (String, &'static str, String) {
    let promised = amount(findings.model_return);
    match (true_return, findings.problem.success) {
        (Some(truth), Some(threshold)) if truth >= threshold => (
            "Solves the problem".into(),
            "good",
            format!("On the true plant the rules earn {}; {} is enough.", amount(truth), amount(threshold)),
        ),
        (Some(truth), Some(threshold)) => (
            "Falls short".into(),
            "bad",
            format!(
                "On the true plant the rules earn {}; {} would be enough. The world model promised {promised}.",
                amount(truth),
                amount(threshold)
            ),
        ),
        (Some(truth), None) => (
            "Tested on the true plant".into(),
            "fair",
            format!("The rules earn {} there; the world model promised {promised}.", amount(truth)),
        ),
        (None, _) => (
            "Not tested on the plant".into(),
            "fair",
            format!("The world model promises {promised}. Nothing here has met the real plant yet."),
        ),
    }
}

/// Figures on one common scale, so that they can be compared by eye.
fn figure_table(figures: &[Figure]) -> String {
    let ends = figures.iter().flat_map(|f| [Some(f.value), f.interval.map(|i| i[0]), f.interval.map(|i| i[1])]);
    let [low, high] = range(ends.flatten());
    let axis = Axis::new([low, high], [12.0, 228.0]);
    let mut text = String::from(
        "<table class=\"figures\"><caption class=\"visually-hidden\">Mean discounted returns; more is better</caption>\
         <thead class=\"visually-hidden\"><tr><th>Return</th><th>On a scale</th><th>Value</th><th>Note</th></tr></thead><tbody>",
    );
    for figure in figures {
        let bar = figure.interval.map_or_else(String::new, |[from, to]| {
            format!("<path class=\"interval\" d=\"M{} 10H{}\"/>", place(axis.within(from)), place(axis.within(to)))
        });
        let x = place(axis.at(figure.value));
        let dot = match figure.kind {
            "threshold" => format!("<path class=\"limit\" d=\"M{x} 2v16\"/>"),
            kind => format!("<circle class=\"dot {kind}\" cx=\"{x}\" cy=\"10\" r=\"5\"/>"),
        };
        let _ = write!(
            text,
            "<tr class=\"{}\"><th scope=\"row\">{}</th><td class=\"scale\"><svg viewBox=\"0 0 240 20\" aria-hidden=\"true\">\
             <path class=\"rail\" d=\"M4 10H236\"/>{bar}{dot}</svg></td><td class=\"value\">{}</td><td class=\"note\">{}</td></tr>",
            figure.kind,
            escape(&figure.label),
            amount(figure.value),
            escape(&figure.note)
        );
    }
    text.push_str(
        "</tbody></table><p class=\"quiet\">Mean discounted returns on one scale; farther to the right is better.</p>",
    );
    text
}

/// The rest of the page in three sentences.
fn in_short(findings: &Findings) -> String {
    let mut items = Vec::new();
    let simple = &findings.simple;
    if simple.removed.is_empty() {
        items.push("Every condition of the rules matters: none can be left out within the tolerance.".to_owned());
    } else {
        items.push(format!(
            "{} of {} conditions do not matter; without them the rules earn {} instead of {}.",
            simple.removed.len(),
            simple.conditions,
            amount(findings.simple_model_return),
            amount(findings.model_return)
        ));
    }
    let weak = &findings.weaknesses;
    items.push(match weak.stretches.first() {
        Some(_) => {
            let all: Vec<String> = weak
                .stretches
                .iter()
                .take(3)
                .map(|stretch| {
                    let state = &findings.problem.states[stretch.variable];
                    format!("{} {}", name(&state.name), stretch_words(findings, stretch.variable, stretch.range))
                })
                .collect();
            let more = if weak.stretches.len() > 3 { ", and elsewhere" } else { "" };
            format!("Weak from starts with {}{more}: see <a href=\"#weak\">weak starts</a>.", all.join("; "))
        }
        None if weak.starts.is_empty() => "No weak start was found in the range of the log.".to_owned(),
        None => format!("{} weak starts were found: see <a href=\"#weak\">weak starts</a>.", weak.starts.len()),
    });
    let outside = findings.raw["promise"]["outside"].as_f64().unwrap_or(findings.outside);
    items.push(format!("{} % of the steps that earn the promise lie outside of the log.", share(outside)));
    let list: String = items.iter().map(|item| format!("<li>{item}</li>")).collect();
    format!("<ul class=\"short\">{list}</ul>")
}

/// A share in percent, for people.
pub(super) fn share(value: f64) -> String {
    let percent = 100.0 * value;
    if percent > 0.0 && percent < 9.95 { format!("{percent:.1}") } else { format!("{percent:.0}") }
}

/// A stretch of a variable: "beyond 2.3 m" where it goes on to the end of the range.
pub(super) fn stretch_words(findings: &Findings, variable: usize, [low, high]: [f64; 2]) -> String {
    let unit = &findings.problem.states[variable].unit;
    let [first, last] = findings.profile.inputs[variable].range;
    let near = 1e-9 * (last - first);
    match (low <= first + near, high >= last - near) {
        (true, true) => "anywhere".into(),
        (true, false) => format!("below {}", measure(high, unit)),
        (false, true) => format!("above {}", measure(low, unit)),
        (false, false) => format!("from {} to {}", measure(low, unit), measure(high, unit)),
    }
}

/// A rule as a sentence with its parts marked; what is crossed out does not matter.
fn sentence(policy: &FuzzyPolicy, action: &ActionRules, index: usize, simple: &Rule) -> String {
    let rule = &action.rules[index];
    let conditions: Vec<String> = policy
        .states
        .iter()
        .enumerate()
        .filter(|(variable, _)| !simple.ignores(*variable))
        .map(|(variable, state)| {
            let around = format!("{} ± {}", number(rule.centre[variable]), number(rule.width[variable]));
            let around = escape(&with_unit(&minus(&around), &state.unit));
            format!("{} is around <span class=\"number\">{around}</span>", name(&state.name))
        })
        .collect();
    let wanted =
        format!("{} <span class=\"number\">{}</span>", name(&action.name), measure(action.alone(index), &action.unit));
    if conditions.is_empty() {
        return format!("<b>Always</b> {wanted}");
    }
    format!("<b>If</b> {} <b>then</b> {wanted}", conditions.join(" <b>and</b> "))
}

/// The rules in words, and as pictures that move.
pub(super) fn rules(findings: &Findings) -> String {
    let Findings { policy, simple, .. } = findings;
    let mut text = String::from("<h2 id=\"rules-title\">The rules</h2>");
    for (action, short) in policy.actions.iter().zip(&simple.policy.actions) {
        if policy.actions.len() > 1 {
            let _ = write!(text, "<h3>For {}</h3>", name(&action.name));
        }
        text.push_str("<ol class=\"sentences\">");
        for (index, rule) in short.rules.iter().enumerate() {
            let _ = write!(text, "<li>{}.</li>", sentence(policy, action, index, rule));
        }
        text.push_str("</ol>");
    }
    text.push_str(&what_does_not_matter(findings));
    text.push_str(
        "<p class=\"quiet\">Each rule speaks the louder the nearer the state is to its centre; the action is what they agree on. \
         Below: the rule\u{2019}s reach as a curve, the log behind it, the state as a red line with a head, and how far the \
         condition holds there as a grey area. Move the state, or take one from the list.</p>",
    );
    text.push_str("<div class=\"bench\">");
    text.push_str(&panel(findings));
    text.push_str("<div class=\"rulebook\">");
    for number in 0..policy.actions.len() {
        text.push_str(&rule_rows(findings, number));
    }
    text.push_str("</div></div>");
    text
}

fn what_does_not_matter(findings: &Findings) -> String {
    let simple = &findings.simple;
    let tolerance = amount(simple.tolerance);
    if simple.removed.is_empty() {
        return format!(
            "<p>Each condition matters: leaving out any one of them costs more than {tolerance} of return.</p>"
        );
    }
    let unused = unused_inputs(&simple.policy);
    let mut text = String::from("<p>");
    if !unused.is_empty() {
        let names: Vec<String> = unused.iter().map(|input| name(input)).collect();
        let verb = if unused.len() == 1 { "makes" } else { "make" };
        let _ = write!(
            text,
            "{} {verb} no difference and {} left out. ",
            names.join(", "),
            if unused.len() == 1 { "is" } else { "are" }
        );
    }
    let single: Vec<String> = simple
        .removed
        .iter()
        .filter(|one| !unused.contains(&findings.policy.states[one.variable].name.as_str()))
        .map(|one| format!("{} in rule {}", name(&findings.policy.states[one.variable].name), one.rule + 1))
        .collect();
    if !single.is_empty() {
        let _ = write!(
            text,
            "Left out because {}: {}. ",
            if single.len() == 1 { "it does not matter there" } else { "they do not matter there" },
            single.join(", ")
        );
    }
    let price = findings.model_return - findings.simple_model_return;
    let cost = match price {
        price if price > 5e-3 * findings.model_return.abs().max(1e-9) * 0.02 => {
            format!("costs {} of return", amount(price))
        }
        price if price < 0.0 => format!("brings {} of return", amount(-price)),
        _ => "costs nothing".to_owned(),
    };
    let truth = match (findings.simple_true_return, &findings.true_returns) {
        (Some(short), Some(whole)) => {
            format!(" On the true plant: {} instead of {}.", amount(short), amount(super::findings::mean(whole)))
        }
        _ => String::new(),
    };
    let _ = write!(
        text,
        "The shorter policy {cost} on the world model (up to {tolerance} was allowed), and is in <code>policy.simple.json</code>.{truth} \
         The pictures show the whole policy, with dashed frames around what does not matter.</p>"
    );
    text
}

/// Sliders, the list of states, the plant, and the action.
fn panel(findings: &Findings) -> String {
    let state = &findings.weaknesses.usual;
    let ranges = findings.profile.ranges();
    let mut text = String::from("<div class=\"panel\" role=\"group\" aria-label=\"The state\">");
    if let Some(plant) = findings.problem.plant {
        let [width, height] = DRAWING;
        let _ = write!(
            text,
            "<svg id=\"live-plant\" class=\"plant\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"The plant in this state\">{}</svg>",
            drawing(plant, &ranges, state)
        );
    }
    text.push_str("<p class=\"actions\" aria-live=\"polite\">");
    for (index, action) in findings.policy.actions.iter().enumerate() {
        let _ = write!(
            text,
            "<span class=\"action\">{} <output id=\"action-{index}\">{}</output></span>",
            name(&action.name),
            measure(action.act(state), &action.unit)
        );
    }
    text.push_str(
        "</p><label class=\"pick\">State <select id=\"instructive\"><option value=\"\">as the sliders say</option>",
    );
    let mut group = "";
    for (index, one) in findings.instructive.iter().enumerate() {
        if one.group != group {
            if !group.is_empty() {
                text.push_str("</optgroup>");
            }
            group = one.group;
            let _ = write!(text, "<optgroup label=\"{}\">", escape(group));
        }
        let _ = write!(text, "<option value=\"{index}\">{}</option>", escape(&one.name));
    }
    text.push_str("</optgroup></select></label><div class=\"sliders\">");
    for (index, (variable, [low, high])) in findings.problem.states.iter().zip(&ranges).enumerate() {
        let unit = if variable.unit.is_empty() {
            String::new()
        } else {
            format!(" <span class=\"unit\">{}</span>", escape(&variable.unit))
        };
        let step = (high - low) / 1000.0;
        let _ = write!(
            text,
            "<div class=\"slider\"><label for=\"slider-{index}\">{}{unit}</label>\
             <input type=\"number\" id=\"number-{index}\" aria-label=\"{} as a number\" step=\"any\" value=\"{value}\">\
             <input type=\"range\" id=\"slider-{index}\" min=\"{low}\" max=\"{high}\" step=\"{step}\" value=\"{value}\"></div>",
            name(&variable.name),
            escape(&variable.name),
            value = state[index],
        );
    }
    text.push_str("</div></div>");
    text
}

/// The pictures of an action's rules, a row each.
fn rule_rows(findings: &Findings, number_of_action: usize) -> String {
    let Findings { policy, simple, profile, .. } = findings;
    let action = &policy.actions[number_of_action];
    let state = &findings.weaknesses.usual;
    let ranges = profile.ranges();
    let shares = action.shares(state);
    let [width, height] = CELL;
    let svg = |class: &str, label: &str, inside: &str| {
        format!(
            "<svg class=\"{class}\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{label}\">{inside}</svg>"
        )
    };
    let many = if policy.states.len() > 5 { " many" } else { "" };
    let mut text = format!(
        "<div class=\"rules-of{many}\" data-action=\"{number_of_action}\" style=\"--inputs:{}\">",
        policy.states.len()
    );
    if policy.actions.len() > 1 {
        let _ = write!(text, "<h3>{}</h3>", name(&action.name));
    }
    for (index, rule) in action.rules.iter().enumerate() {
        let _ = write!(
            text,
            "<article class=\"rule\" data-rule=\"{index}\"><header><h4>Rule {}</h4>\
             <p class=\"say\"><span class=\"meter\"><span class=\"fill\"></span></span>has <output>{:.0} %</output> of the say</p></header><div class=\"cells\">",
            index + 1,
            100.0 * shares[index]
        );
        if let Some(plant) = findings.problem.plant {
            let [width, height] = DRAWING;
            let _ = write!(
                text,
                "<figure class=\"prototype\"><svg class=\"plant\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"The plant at the centre of rule {}\">{}</svg>\
                 <figcaption>at its centre</figcaption></figure>",
                index + 1,
                drawing(plant, &ranges, &rule.centre)
            );
        }
        for (variable, input) in profile.inputs.iter().enumerate() {
            let quantity = &policy.states[variable];
            let ignored = simple.policy.actions[number_of_action].rules[index].ignores(variable);
            let around = format!("{} ± {}", number(rule.centre[variable]), number(rule.width[variable]));
            let around = escape(&with_unit(&minus(&around), &quantity.unit));
            let id = format!("c{number_of_action}-{index}-{variable}");
            let _ = write!(
                text,
                "<figure class=\"cell{}\" data-variable=\"{variable}\"><figcaption>{}</figcaption>{}<p class=\"condition\">{around}{}</p></figure>",
                if ignored { " ignored" } else { "" },
                name(&quantity.name),
                svg(
                    "membership",
                    &format!("Reach of rule {} over {}: {around}", index + 1, escape(&quantity.name)),
                    &membership_cell(&id, input, rule, variable, state[variable])
                ),
                if ignored { "<br><span class=\"remark\">does not matter</span>" } else { "" },
            );
        }
        let wanted = measure(action.alone(index), &action.unit);
        let _ = write!(
            text,
            "<figure class=\"cell output\"><figcaption>\u{2192} {}</figcaption>{}<p class=\"condition\">wants {wanted}</p></figure></div></article>",
            name(&action.name),
            svg("wish", &format!("Rule {} wants {wanted}", index + 1), &output_cell(action, index, shares[index])),
        );
    }
    let _ = write!(
        text,
        "<article class=\"rule together\"><header><h4>Together</h4></header><div class=\"cells\"><figure class=\"cell output\"><figcaption>\u{2192} {}</figcaption>{}\
         <p class=\"condition\"><output>{}</output></p></figure></div></article></div>",
        name(&action.name),
        svg("sum", "The action that the rules agree on", &combined_cell(action, state)),
        measure(action.act(state), &action.unit)
    );
    text
}

/// The player.
pub(super) fn watch(findings: &Findings) -> String {
    let live = findings.world.networks.is_some();
    let mut options = String::new();
    for (index, one) in findings.instructive.iter().enumerate() {
        if one.trajectory.is_some() {
            let _ = write!(options, "<option value=\"{index}\">{}</option>", escape(&one.name));
        }
    }
    if live {
        options.push_str("<option value=\"live\">the state of the sliders</option>");
    }
    let plant = findings.problem.plant.map_or_else(String::new, |plant| {
        let [width, height] = DRAWING;
        format!(
            "<svg id=\"stage\" class=\"plant\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"The plant in motion\">{}</svg>",
            drawing(plant, &findings.profile.ranges(), &findings.weaknesses.usual)
        )
    });
    let truth = if findings.problem.plant.is_some() { " The dashed line is the true plant." } else { "" };
    format!(
        "<h2 id=\"watch-title\">In motion</h2>\
         <p>What happens on the world model from a start on, step by step, and which rule has the say.{truth} The pictures above follow.</p>\
         <div class=\"player\"><div class=\"controls\" role=\"group\" aria-label=\"Player\">\
         <label class=\"pick\">From <select id=\"start\">{options}</select></label>\
         <div class=\"buttons\"><button type=\"button\" id=\"back\" aria-label=\"One step back\">\u{2039}</button>\
         <button type=\"button\" id=\"play\">Play</button>\
         <button type=\"button\" id=\"forward\" aria-label=\"One step forward\">\u{203a}</button></div>\
         <label class=\"pick speed\">Speed <select id=\"speed\"><option value=\"0.25\">\u{00bc}</option><option value=\"1\" selected>1</option><option value=\"4\">4</option></select></label></div>\
         <label class=\"scrub\">Step <output id=\"step-shown\">0</output><input type=\"range\" id=\"step\" min=\"0\" max=\"0\" value=\"0\" step=\"1\"></label>\
         {plant}<p id=\"outcome\" class=\"quiet\" aria-live=\"polite\"></p>\
         <div id=\"tracks\" class=\"tracks\"></div></div>"
    )
}

/// The control surface.
pub(super) fn surface(findings: &Findings) -> String {
    let options = |chosen: usize| -> String {
        let states = findings.problem.states.iter().enumerate();
        states
            .map(|(index, state)| {
                let selected = if index == chosen { " selected" } else { "" };
                format!("<option value=\"{index}\"{selected}>{}</option>", escape(&state.name))
            })
            .collect()
    };
    let actions: String = findings
        .policy
        .actions
        .iter()
        .enumerate()
        .map(|(index, action)| format!("<option value=\"{index}\">{}</option>", escape(&action.name)))
        .collect();
    let second = usize::from(findings.problem.states.len() > 1);
    format!(
        "<h2 id=\"surface-title\">Control surface</h2>\
         <p>The action over two inputs, the others as the sliders say. Dots are logged states, the thick line is where the action \
         is in the middle of its limits, the thin line is the trajectory above, crosses are weak starts, the ring is the state.</p>\
         <div class=\"controls\" role=\"group\" aria-label=\"Axes\"><label class=\"pick\">Action <select id=\"surface-action\">{actions}</select></label>\
         <label class=\"pick\">Across <select id=\"surface-x\">{}</select></label>\
         <label class=\"pick\">Up <select id=\"surface-y\">{}</select></label></div>\
         <figure class=\"surface\"><canvas id=\"surface-map\" width=\"560\" height=\"440\" role=\"img\" aria-label=\"Map of the action over two inputs\"></canvas>\
         <figcaption id=\"surface-caption\" class=\"quiet\"></figcaption></figure>",
        options(0),
        options(second),
    )
}

/// Where the policy is weak.
pub(super) fn weak(findings: &Findings) -> String {
    let weak = &findings.weaknesses;
    let states = &findings.problem.states;
    let described = |state: &[f64]| -> String {
        let parts =
            states.iter().zip(state).map(|(s, value)| format!("{} {}", name(&s.name), measure(*value, &s.unit)));
        parts.collect::<Vec<_>>().join(", ")
    };
    let mut text = format!(
        "<h2 id=\"weak-title\">Weak starts</h2><p>{} starts in the range of the log were tried on the world model. A start is weak if the rules earn \
         less by {} or more than after a better opening: a few steps of constant action, then the same rules. \
         So each weakness comes with its proof. {} % of the starts tried are weak.</p>",
        count(weak.points.len()),
        amount(weak.much),
        share(weak.share())
    );
    if weak.starts.is_empty() {
        text.push_str("<p><b>None was found.</b></p>");
    } else {
        text.push_str(
            "<div class=\"scroll\"><table class=\"weak-list\"><thead><tr><th scope=\"col\">Start</th><th scope=\"col\">Earns</th>\
             <th scope=\"col\">Could earn</th><th scope=\"col\">With first</th><th scope=\"col\">Rule with the say</th><th scope=\"col\"><span class=\"visually-hidden\">Show</span></th></tr></thead><tbody>",
        );
        let first_weak = findings.instructive.iter().position(|one| one.name == "weak start 1").unwrap_or(0);
        for (index, start) in weak.starts.iter().enumerate() {
            let stretch =
                weak.stretches.iter().find(|stretch| stretch.worst == index).map_or_else(String::new, |stretch| {
                    let variable = &states[stretch.variable];
                    format!(
                        "<br><span class=\"quiet\">the worst of: {} {}, the rest as usual</span>",
                        name(&variable.name),
                        stretch_words(findings, stretch.variable, stretch.range)
                    )
                });
            let opening: Vec<String> = start
                .opening
                .iter()
                .map(|(steps, action)| {
                    let values = action.iter().zip(&findings.policy.actions).map(|(v, a)| measure(*v, &a.unit));
                    format!("{} for {steps} steps", values.collect::<Vec<_>>().join(", "))
                })
                .collect();
            let base = &findings.policy.actions[start.rule[0]];
            let _ = write!(
                text,
                "<tr><td><b>{}</b> {}{stretch}</td><td class=\"value\">{}{}</td><td class=\"value\">{}</td><td>{}</td>\
                 <td>rule {}, {} % of the say, wants {}</td><td><button type=\"button\" class=\"show\" data-instructive=\"{}\" aria-label=\"Show weak start {}\">Show</button></td></tr>",
                index + 1,
                described(&start.state),
                amount(start.value),
                if start.absorbed { "<br><span class=\"quiet\">ends early</span>" } else { "" },
                amount(start.better),
                opening.join(", then "),
                start.rule[1] + 1,
                share(start.share),
                measure(base.alone(start.rule[1]), &base.unit),
                first_weak + index,
                index + 1
            );
        }
        text.push_str("</tbody></table></div>");
    }
    text.push_str(&scans(findings));
    text
}

/// What the policy earns when one variable alone is moved, and the map of all starts tried.
fn scans(findings: &Findings) -> String {
    let weak = &findings.weaknesses;
    let states = &findings.problem.states;
    let per_variable = (0..states.len()).map(|variable| {
        let differs =
            |state: &[f64]| (0..states.len()).all(|other| other == variable || state[other] == weak.usual[other]);
        let points: Vec<_> = weak.points.iter().filter(|point| differs(&point.state)).collect();
        (variable, points)
    });
    let all = || weak.points.iter().flat_map(|point| [Some(point.value), point.better]).flatten();
    let [low, high] = range(all());
    let margin = 0.06 * (high - low);
    let mut text = String::from(
        "<h3>One input at a time</h3><p>The return from the usual start with one input moved; shaded where that is weak.</p><div class=\"charts\">",
    );
    for (variable, points) in per_variable.take(12) {
        let state = &states[variable];
        let mut values: Vec<(f64, f64)> = points.iter().map(|point| (point.state[variable], point.value)).collect();
        values.sort_by(|a, b| a.0.total_cmp(&b.0));
        let better: Vec<(f64, f64)> = points
            .iter()
            .filter_map(|p| p.better.filter(|_| p.regret() >= weak.much).map(|b| (p.state[variable], b)))
            .collect();
        let axis = with_unit_in(&state.name, &state.unit);
        let title = format!("Return over {}", state.name);
        let chart = Chart {
            title: &title,
            x: &axis,
            y: "return",
            shaded: weak.stretches.iter().filter(|s| s.variable == variable).map(|s| s.range).collect(),
            series: vec![
                Series { name: "the rules".into(), mark: Mark::Solid, points: values },
                Series { name: "after a better opening".into(), mark: Mark::Rings, points: better },
            ],
            x_range: Some(findings.profile.inputs[variable].range),
            y_range: Some([low - margin, high + margin]),
            logarithmic: false,
        };
        let _ = write!(text, "<figure>{}</figure>", chart.svg());
    }
    text.push_str("</div>");
    let free: Vec<usize> = (0..states.len()).filter(|&v| states[v].start[1] > states[v].start[0]).collect();
    if let [across, up, ..] = free[..] {
        let of = |keep: &dyn Fn(&crate::explain::TriedStart) -> bool| -> Vec<(f64, f64)> {
            weak.points.iter().filter(|point| keep(point)).map(|point| (point.state[across], point.state[up])).collect()
        };
        let poor = |point: &crate::explain::TriedStart| point.value < weak.usual_return - weak.much;
        let is_weak = |point: &crate::explain::TriedStart| point.regret() >= weak.much;
        let (x, y) = (
            with_unit_in(&states[across].name, &states[across].unit),
            with_unit_in(&states[up].name, &states[up].unit),
        );
        let chart = Chart {
            title: "Map of the starts that were tried",
            x: &x,
            y: &y,
            shaded: Vec::new(),
            series: vec![
                Series { name: "does well".into(), mark: Mark::Points, points: of(&|p| !poor(p) && !is_weak(p)) },
                Series {
                    name: "earns little, nothing better known".into(),
                    mark: Mark::Rings,
                    points: of(&|p| poor(p) && !is_weak(p)),
                },
                Series { name: "weak".into(), mark: Mark::Crosses, points: of(&is_weak) },
            ],
            x_range: Some(findings.profile.inputs[across].range),
            y_range: Some(findings.profile.inputs[up].range),
            logarithmic: false,
        };
        let _ = write!(text, "<h3>All starts tried</h3><div class=\"charts\"><figure>{}</figure></div>", chart.svg());
    }
    text
}

/// The label of an axis.
pub(super) fn with_unit_in(name: &str, unit: &str) -> String {
    let name = crate::explain::shortened(name, 36);
    if unit.is_empty() { name } else { format!("{name} in {}", crate::explain::shortened(unit, 16)) }
}
