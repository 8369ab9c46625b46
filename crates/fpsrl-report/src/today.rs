//! Is it better than today? The gain beside its doubt, the control in the user's units, typical stretches, and what is uncertain.

use std::fmt::Write;

use super::charts::{Chart, Mark, Series};
use super::findings::Findings;
use super::text::{amount, measure, name, share, what_today_is, with_unit_in};
use super::verdict::{Figure, figure_table};
use fpsrl_base::text::number;
use fpsrl_explain::{Trajectory, escape, minus};
use fpsrl_search::figures::Summary;
use fpsrl_search::gain::Gain;
use fpsrl_search::promise::Promise;
use fpsrl_search::signs::signs;
use fpsrl_search::tracking::ControlFigures;
use fpsrl_world::evidence::Cause;
use fpsrl_world::quality::{Verdict, Word};

/// Tracked states and actions that each stretch shows.
const STATES: usize = 2;
const ACTIONS: usize = 2;

/// The section; empty before the policy is compared with anything.
pub(super) fn today(findings: &Findings) -> String {
    let Some(gain) = &findings.summary.gain else { return String::new() };
    let mut text = String::from("<h2 id=\"today-title\">Is it better than today?</h2>");
    text.push_str(&answer(gain));
    text.push_str(&figure_table(&compared(findings, gain)));
    text.push_str(&control(findings, gain));
    text.push_str(&stretches(findings));
    text.push_str(&uncertain(findings));
    text
}

fn answer(gain: &Gain) -> String {
    let [low, high] = gain.interval;
    let measured = format!(
        "{} {} than {}, with 95 % between {} and {}",
        amount(gain.gain.abs()),
        if gain.gain < 0.0 { "less" } else { "more" },
        what_today_is(gain),
        amount(low),
        amount(high)
    );
    let word = match gain.gain {
        _ if low > 0.0 => "Yes",
        gained if gained > 0.0 => "Not certain",
        _ => "No",
    };
    format!("<p><b>{word}.</b> The rules earn {measured}.</p>")
}

/// Today, the rules and the yardsticks, on one scale.
fn compared(findings: &Findings, gain: &Gain) -> Vec<Figure> {
    let other = |label: &str, value: f64, note: String| Figure {
        label: label.to_owned(),
        value,
        interval: None,
        note,
        kind: "other",
    };
    let judged = gain.by_the_judge.map_or_else(String::new, |judged| format!("; by the judge {}", amount(judged)));
    let mut figures = vec![
        other("Today", gain.today, what_today_is(gain)),
        Figure {
            label: "The rules".into(),
            value: gain.policy,
            interval: Some(gain.interval.map(|end| gain.today + end)),
            note: format!("gain {}{judged}; the bar is the 95 % interval of the gain", amount(gain.gain)),
            kind: "promised",
        },
    ];
    if let Some(pi) = gain.pi {
        figures.push(other("A PI controller", pi, pi_words(gain)));
    }
    if let Some(p) = gain.p {
        figures.push(other("A P controller", p, "tuned on the same worlds".into()));
    }
    if let Some(ceiling) = &findings.summary.ceiling {
        let note = format!(
            "plans from {} of the starts, where the rules earn {}",
            ceiling.start_states,
            amount(ceiling.policy)
        );
        figures.push(other("Most that plans reach", ceiling.ceiling, note));
    }
    figures
}

fn pi_words(gain: &Gain) -> String {
    let loops = gain.pi_controller.iter().flat_map(|controller| &controller.loops).filter(|one| one.state.is_some());
    let told = loops.map(|one| {
        let reset = match one.integral {
            0.0 => "no reset".to_owned(),
            integral => format!("reset {} steps", number(one.gain / integral)),
        };
        format!("{}: gain {}, {reset}", one.action, minus(&number(one.gain)))
    });
    let told: Vec<String> = told.collect();
    if told.is_empty() { "tuned on the same worlds".to_owned() } else { format!("tuned; {}", told.join("; ")) }
}

/// How well states follow their set-points, in the user's units.
fn control(findings: &Findings, gain: &Gain) -> String {
    let Some(own) = &gain.figures else { return String::new() };
    let columns: Vec<(&str, &ControlFigures)> =
        [("Rules", Some(own)), ("Today", gain.figures_today.as_ref()), ("PI", gain.figures_pi.as_ref())]
            .into_iter()
            .filter_map(|(title, figures)| Some((title, figures?)))
            .collect();
    let mut text = String::from(
        "<h3>Control</h3><div class=\"scroll\"><table class=\"control\"><thead><tr><th scope=\"col\">Less is better</th>",
    );
    for (title, _) in &columns {
        let _ = write!(text, "<th scope=\"col\" class=\"value\">{title}</th>");
    }
    text.push_str("</tr></thead><tbody>");
    let mut row = |of: &str, what: &str, unit: &str, figure: &dyn Fn(&ControlFigures) -> Option<f64>| {
        let _ = write!(text, "<tr><th scope=\"row\">{} {what}</th>", name(of));
        for (_, figures) in &columns {
            let shown = figure(figures).map_or_else(|| "\u{2013}".to_owned(), |value| measure(rounded(value), unit));
            let _ = write!(text, "<td class=\"value\">{shown}</td>");
        }
        text.push_str("</tr>");
    };
    for (index, tracked) in own.tracked.iter().enumerate() {
        let states = findings.system.states();
        let unit = states.iter().find(|state| state.name == tracked.state).map_or("", |state| &state.unit);
        let of = &tracked.state;
        row(of, "mean error", unit, &|figures| Some(figures.tracked.get(index)?.error));
        row(of, "offset at rest", unit, &|figures| figures.tracked.get(index)?.offset);
        row(of, "overshoot", unit, &|figures| figures.tracked.get(index)?.overshoot);
        row(of, "settling time", "steps", &|figures| figures.tracked.get(index)?.settling);
    }
    for (index, (action, _)) in own.movement.iter().enumerate() {
        let unit = findings.policy.actions.get(index).map_or("", |action| &action.unit);
        row(action, "movement a step", unit, &|figures| Some(figures.movement.get(index)?.1));
    }
    text.push_str(
        "</tbody></table></div><p class=\"quiet\">Rules and PI on the first world model, today in the log; from the same \
         starts.</p>",
    );
    text
}

/// Three digits.
fn rounded(value: f64) -> f64 {
    format!("{value:.2e}").parse().unwrap_or(value)
}

/// Stretches of the log beside the rules: the state above, the actuator below.
fn stretches(findings: &Findings) -> String {
    if findings.stretches.is_empty() {
        return String::new();
    }
    let mut text = String::from(
        "<h3>Typical stretches</h3><p>From the same row of the log on, under the same inputs: what the plant did, and what \
         the rules do instead on the first world model.</p>",
    );
    let (pairs, steps) = (shown_states(findings), [0.0, findings.system.horizon() as f64]);
    let mut legend = String::new();
    let mut figures = String::new();
    for stretch in &findings.stretches {
        figures.push_str("<figure>");
        for &(state, set_point) in pairs.iter().take(STATES) {
            let variable = &findings.system.states()[state];
            let mut series = vec![
                Series { name: "the rules".into(), mark: Mark::Solid, points: line(&stretch.rules.states, state) },
                Series { name: "the log".into(), mark: Mark::Dashed, points: line(&stretch.logged.states, state) },
            ];
            if let Some(set_point) = set_point {
                let points = stairs(&line(&stretch.logged.states, set_point));
                series.push(Series { name: "the set-point".into(), mark: Mark::Dotted, points });
            }
            let title = format!("{}: {} over the steps", stretch.name, variable.name);
            let axis = with_unit_in(&variable.name, &variable.unit);
            let chart = over_steps(&title, &axis, steps, series);
            figures.push_str(&chart.picture());
            if legend.is_empty() {
                legend = chart.legend();
            }
        }
        for (index, action) in findings.system.actions().iter().enumerate().take(ACTIONS) {
            let stepped = |one: &Trajectory| stairs(&line(&one.actions, index));
            let series = vec![
                Series { name: "the rules".into(), mark: Mark::Solid, points: stepped(&stretch.rules) },
                Series { name: "the log".into(), mark: Mark::Dashed, points: stepped(&stretch.logged) },
            ];
            let title = format!("{}: {} over the steps", stretch.name, action.name);
            let axis = with_unit_in(&action.name, &action.unit);
            figures.push_str(&over_steps(&title, &axis, steps, series).picture());
        }
        let _ = write!(
            figures,
            "<figcaption>{}: the rules earn {}, the log earned {}.</figcaption></figure>",
            stretch.name,
            amount(stretch.rules.value),
            amount(stretch.logged.value)
        );
    }
    let _ = write!(text, "{legend}<div class=\"charts\">{figures}</div>");
    text
}

/// The states that are shown, with the set-points that they follow; the first one where none follows any.
fn shown_states(findings: &Findings) -> Vec<(usize, Option<usize>)> {
    let states = findings.system.states().iter().enumerate();
    let tracked: Vec<(usize, Option<usize>)> =
        states.filter_map(|(index, state)| Some((index, Some(state.tracks?.set_point)))).collect();
    if tracked.is_empty() { vec![(0, None)] } else { tracked }
}

/// One column of rows over the steps.
fn line(rows: &[Vec<f64>], column: usize) -> Vec<(f64, f64)> {
    rows.iter().enumerate().map(|(step, row)| (step as f64, row[column])).collect()
}

/// What holds for a whole step and then jumps.
fn stairs(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    points.iter().flat_map(|(step, value)| [(*step, *value), (step + 1.0, *value)]).collect()
}

fn over_steps<'a>(title: &'a str, axis: &'a str, steps: [f64; 2], series: Vec<Series>) -> Chart<'a> {
    Chart {
        title,
        x: "step",
        y: axis,
        shaded: Vec::new(),
        series,
        x_range: Some(steps),
        y_range: None,
        logarithmic: false,
    }
}

/// What is uncertain, most important first.
fn uncertain(findings: &Findings) -> String {
    let mut items = Vec::new();
    if let Some(verdict) = &findings.summary.verdict {
        items.extend(of_the_worlds(verdict));
    }
    if let Some(promise) = &findings.summary.promise {
        items.extend(of_the_promise(promise));
    }
    let known = Summary { simple: Some(findings.simple_figures()), ..findings.summary.clone() };
    for sign in signs(&known) {
        items.push(format!("<b>A sign of trouble:</b> {}.", escape(&sign)));
    }
    if items.is_empty() {
        return String::new();
    }
    let list: String = items.iter().map(|item| format!("<li>{item}</li>")).collect();
    format!("<h3>What is uncertain</h3><ul class=\"short\">{list}</ul>")
}

/// What the worlds do not know.
fn of_the_worlds(verdict: &Verdict) -> Vec<String> {
    let (word, reason) = match (&verdict.world_word, &verdict.world_reason) {
        (Some(word), Some(reason)) => (*word, reason),
        _ => (verdict.word, &verdict.reason),
    };
    let word = match word {
        Word::Go => "go",
        Word::Careful => "careful",
        Word::NoGo => "no-go",
    };
    let mut items = vec![format!("The world models: <b>{word}</b>, {}.", escape(reason))];
    for effect in verdict.effects.iter().filter(|effect| !effect.is_seen()) {
        items.push(format!("The log does not show that {} moves anything.", name(&effect.action)));
    }
    for one in &verdict.remainders {
        let why = match one.cause {
            Cause::Noise => "noise, which does not last from a row to the next",
            Cause::Disturbance => "a disturbance that nobody measured, which lasts",
            Cause::Ignorance => "ignorance: more rows would help",
        };
        items.push(format!(
            "{} % of the changes of {} cannot be predicted: {why}.",
            share(one.share),
            name(&one.variable)
        ));
    }
    items
}

/// What the promise does not cover.
fn of_the_promise(promise: &Promise) -> Vec<String> {
    let mut items = Vec::new();
    let crossed = promise.judged_by.as_deref() == Some("cross-fitting");
    if let Some(why) = &promise.judge_abstains {
        items.push(format!("{}.", escape(why)));
    }
    items.push(match (&promise.judge_abstains, promise.holds) {
        (_, Some(true)) if crossed => {
            "Cross-fitting, each part of the log judged by the others, confirms the promise.".to_owned()
        }
        (_, Some(false)) if crossed => {
            "Cross-fitting, each part of the log judged by the others, expects less than is promised.".to_owned()
        }
        (Some(_), _) => "Nobody confirms the promise.".to_owned(),
        (None, Some(true)) => "The judge, who saw other episodes, confirms the promise.".to_owned(),
        (None, Some(false)) => "The judge, who saw other episodes, expects less than is promised.".to_owned(),
        (None, None) => "There is no judge: no episodes were kept for one.".to_owned(),
    });
    items.push(format!("{} % of the steps leave the ranges of the log.", share(promise.outside)));
    for (state, left) in &promise.left {
        items.push(format!(
            "{} is outside of the range that it should keep to in {} % of the steps.",
            name(state),
            share(*left)
        ));
    }
    if promise.breaks {
        items.push("<b>A hard limit is broken on a world model.</b>".to_owned());
    }
    if let Some(searched) = promise.under_searched_inputs {
        items.push(format!(
            "Under the inputs that the search saw the rules earn {}, under others {}.",
            amount(searched),
            amount(promise.mean)
        ));
    }
    items
}

#[cfg(test)]
mod tests {
    use super::*;

    fn promise() -> Promise {
        Promise {
            mean: -3.0,
            interval: [-4.0, -2.0],
            rescored: None,
            judge_interval: None,
            holds: None,
            outside: 0.031,
            rejected: 0,
            member_returns: vec![-3.0],
            judged_by: None,
            reward_doubt: [0.0; 2],
            widening: 1.0,
            judge_abstains: Some("the judge abstains: its rewards are <poor>".into()),
            under_searched_inputs: Some(-2.5),
            without_noise: None,
            left: vec![("PV".into(), 0.12)],
            breaks: true,
        }
    }

    fn gain(interval: [f64; 2]) -> Gain {
        Gain {
            today: -10.0,
            today_is: "log".into(),
            true_today: None,
            starts: 1_000,
            policy: -10.0 + 0.5 * (interval[0] + interval[1]),
            gain: 0.5 * (interval[0] + interval[1]),
            interval,
            by_the_judge: None,
            pi: None,
            pi_controller: None,
            p: None,
            figures: None,
            figures_today: None,
            figures_pi: None,
        }
    }

    #[test]
    fn the_answer_is_yes_only_where_the_whole_interval_is_a_gain() {
        assert!(answer(&gain([1.0, 3.0])).contains("<b>Yes.</b> The rules earn 2.00 more than what the log earned"));
        assert!(answer(&gain([-1.0, 3.0])).contains("<b>Not certain.</b>"));
        assert!(answer(&gain([-3.0, 1.0])).contains("<b>No.</b> The rules earn 1.00 less than"));
    }

    #[test]
    fn what_a_promise_does_not_cover_is_said() {
        let said = of_the_promise(&promise()).join(" ");
        for part in
            ["abstains: its rewards are &lt;poor&gt;", "3.1 %", "12 %", "hard limit", "\u{2212}2.50, under others"]
        {
            assert!(said.contains(part), "{part} is not in {said}");
        }
        let quiet = Promise { judge_abstains: None, holds: Some(true), left: vec![], breaks: false, ..promise() };
        let said = of_the_promise(&quiet).join(" ");
        assert!(said.contains("confirms") && !said.contains("hard limit"), "{said}");
    }

    #[test]
    fn an_action_holds_for_its_step() {
        assert_eq!(stairs(&[(0.0, 1.0), (1.0, 5.0)]), [(0.0, 1.0), (1.0, 1.0), (1.0, 5.0), (2.0, 5.0)]);
    }
}
