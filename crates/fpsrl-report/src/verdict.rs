//! The verdict, most important first: whether to trust the rules, and the figures that say so.

use std::fmt::Write;

use super::charts::range;
use super::findings::{Findings, mean};
use super::text::{amount, name, share, what_today_is};
use super::weak::weak_words;
use fpsrl_base::text::count;
use fpsrl_explain::svg::{Axis, place};
use fpsrl_explain::{doing_nothing, escape, what_returns_are};

/// What the run is, in a line.
pub(super) fn lead(findings: &Findings) -> String {
    let rules: usize = findings.policy.actions.iter().map(|action| action.rules.len()).sum();
    let actions: Vec<String> = findings.policy.actions.iter().map(|action| name(&action.name)).collect();
    let world = match &findings.world_settings.process {
        Some(_) => "a simulator of the user's own".to_owned(),
        None => format!("a model of {} logged transitions", count(findings.summary.samples)),
    };
    // A policy that was edited or brought from elsewhere was not found by this run.
    let (how, seed) = match findings.summary.search_return {
        Some(_) => ("found", format!("; seed {}", findings.summary.seed)),
        None => ("not searched by this run, scored", String::new()),
    };
    format!("{rules} rules for {}, {how} on {world}{seed}.", actions.join(", "))
}

/// What a promise is made on.
fn promiser(findings: &Findings) -> &'static str {
    if findings.world_settings.process.is_some() { "simulator" } else { "world model" }
}

/// A return, as a row of a table and a dot on a scale.
pub(super) struct Figure {
    pub(super) label: String,
    pub(super) value: f64,
    pub(super) interval: Option<[f64; 2]>,
    pub(super) note: String,
    /// How its dot is drawn.
    pub(super) kind: &'static str,
}

/// Whether to trust the rules, and the figures that say so.
pub(super) fn verdict(findings: &Findings) -> String {
    let summary = &findings.summary;
    let verdict = &findings.raw["verdict"];
    let true_return = findings.true_returns.as_ref().map(|returns| mean(returns));
    let (word, class, reason) = match (verdict["word"].as_str(), verdict["reason"].as_str()) {
        // Where the true plant has spoken, the verdict on the world model is only evidence.
        (Some(word), reason) if true_return.is_none() || findings.system.success().is_none() => {
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
        label: format!("Promised by the {}", promiser(findings)),
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
    let crossed = promise["judged_by"] == "cross-fitting";
    let by = if crossed { "Re-scored by cross-fitting" } else { "Re-scored on other models" };
    add(by, promise["rescored"].as_f64(), holds.into(), "rescored");
    add("On the true plant", true_return, "the same starts, the true dynamics".into(), "true");
    let reached = match true_return.unwrap_or(findings.model_return) {
        value if findings.system.success().is_some_and(|threshold| value >= threshold) => "reached",
        _ => "not reached",
    };
    add("Threshold of success", findings.system.success(), reached.into(), "threshold");
    if let Some(ceiling) = &summary.ceiling {
        let mut note =
            format!("plans from {} starts, where the rules earn {}", ceiling.start_states, amount(ceiling.policy));
        if let Some(part) = ceiling.share {
            let _ = write!(note, ", {:.0} % of the way from doing nothing", 100.0 * part);
        }
        add("Most that plans reach", Some(ceiling.ceiling), note, "other");
    }
    if let Some((model, truth)) = findings.nfq {
        let place = if truth.is_some() { "on the true plant" } else { "on the world model" };
        add("Neural fitted Q iteration", truth.or(Some(model)), format!("{place}; nobody can read it"), "other");
    }
    if let Some(gain) = &summary.gain {
        add("Today", Some(gain.today), what_today_is(gain), "other");
    }
    if let Some(behaviour) = &summary.behaviour {
        let missed = format!("as many rules; they miss {} % of the log\u{2019}s actions", share(behaviour.clone_error));
        add("Imitating the log", Some(behaviour.cloned_return), missed, "other");
    }
    add("Doing nothing", Some(findings.simple.idle), doing_nothing(&findings.system), "other");
    text.push_str(&figure_table(&figures));
    text.push_str(&what_they_are(findings));
    text.push_str(&in_short(findings));
    text
}

/// A verdict where no stage has given one: what the true plant says, if there is one.
fn derived_verdict(findings: &Findings, true_return: Option<f64>) -> (String, &'static str, String) {
    let promised = amount(findings.model_return);
    match (true_return, findings.system.success()) {
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
            format!("The {} promises {promised}. Nothing here has met the real plant yet.", promiser(findings)),
        ),
    }
}

/// Figures on one common scale, so that they can be compared by eye.
pub(super) fn figure_table(figures: &[Figure]) -> String {
    let ends = figures.iter().flat_map(|f| [Some(f.value), f.interval.map(|i| i[0]), f.interval.map(|i| i[1])]);
    let [low, high] = range(ends.flatten());
    let axis = Axis::new([low, high], [12.0, 228.0]);
    let mut text = String::from(
        "<table class=\"figures\"><caption class=\"visually-hidden\">Mean discounted returns; more is better</caption>\
         <thead class=\"visually-hidden\"><tr><th>Return</th><th>On a \
         scale</th><th>Value</th><th>Note</th></tr></thead><tbody>",
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
            "<tr class=\"{}\"><th scope=\"row\">{}</th><td class=\"scale\"><svg viewBox=\"0 0 240 20\" \
             aria-hidden=\"true\">\
             <path class=\"rail\" d=\"M4 10H236\"/>{bar}{dot}</svg></td><td class=\"value\">{}</td><td \
             class=\"note\">{}</td></tr>",
            figure.kind,
            escape(&figure.label),
            amount(figure.value),
            escape(&figure.note)
        );
    }
    text.push_str("</tbody></table>");
    text
}

/// What the returns of the table are, and what their rewards are without any discount.
fn what_they_are(findings: &Findings) -> String {
    let plain = findings.summary.plain_sum.filter(|_| findings.system.discount_q() < 1.0);
    let plain = plain.map_or_else(String::new, |sum| {
        format!(" The plain sum of the rewards is {} on the {}.", amount(sum), promiser(findings))
    });
    format!(
        "<p class=\"quiet\">Mean returns on one scale; farther to the right is better. A return: {}.{plain}</p>",
        escape(&what_returns_are(&findings.system))
    )
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
    if let Some((ceiling, advice)) = findings.summary.ceiling.and_then(|ceiling| Some((ceiling, ceiling.advice()?))) {
        items.push(format!(
            "On the {} the rules earn {} where plans earn {}, {}.",
            promiser(findings),
            amount(ceiling.policy),
            amount(ceiling.ceiling),
            escape(&advice.to_string())
        ));
    }
    let weak = &findings.weaknesses;
    items.push(if weak.starts.is_empty() {
        "No weak start was found in the range of the log.".to_owned()
    } else if weak.stretches.is_empty() {
        format!("{} weak starts were found: see <a href=\"#weak\">weak starts</a>.", weak.starts.len())
    } else {
        format!("Weak from starts with {}: see <a href=\"#weak\">weak starts</a>.", weak_words(findings).join("; "))
    });
    items.push(match &findings.summary.promise {
        Some(promise) => format!(
            "{} % of the steps that earn the promise lead beyond the range of a variable in the log.",
            share(promise.outside)
        ),
        None => format!("{} % of the rules\u{2019} steps lie outside of the log.", share(findings.outside)),
    });
    let list: String = items.iter().map(|item| format!("<li>{item}</li>")).collect();
    format!("<ul class=\"short\">{list}</ul>")
}
