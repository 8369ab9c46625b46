//! Where the policy is weak: a list with proofs, scans of single inputs, a map.

use std::fmt::Write;

use super::charts::{Chart, Mark, Series, range};
use super::findings::Findings;
use super::text::{amount, measure, name, share, told, with_unit_in};
use fpsrl_base::text::count;
use fpsrl_explain::{TriedStart, noticeable};

/// Where the policy is weak.
pub(super) fn weak(findings: &Findings) -> String {
    let weak = &findings.weaknesses;
    let mut text = format!(
        "<h2 id=\"weak-title\">Weak starts</h2><p>{} starts in the range of the log were tried on the world model. A \
         start is \
         weak if the rules earn less by {} or more than after a better opening: a few steps of constant action, then \
         the same \
         rules. So each weakness comes with its proof. {} % of the starts tried are weak.</p>\
         <p class=\"quiet\">The usual start: {}.</p>",
        count(weak.points.len()),
        amount(weak.much),
        share(weak.share()),
        described(findings, &weak.usual, |_| true)
    );
    if weak.starts.is_empty() {
        text.push_str("<p><b>None was found.</b></p>");
    } else {
        text.push_str(&table(findings));
    }
    text.push_str(&scans(findings));
    text.push_str(&map(findings));
    text
}

/// Some variables of a state in words.
fn described(findings: &Findings, state: &[f64], keep: impl Fn(usize) -> bool) -> String {
    let states = &findings.system.states();
    let parts: Vec<String> = (0..findings.system.current_states())
        .filter(|&variable| keep(variable))
        .map(|variable| {
            let value = told(&states[variable], state[variable]);
            format!("{} <span class=\"number\">{value}</span>", name(&states[variable].name))
        })
        .collect();
    parts.join(", ")
}

/// The weak starts, each with its proof and the rule that is to blame.
fn table(findings: &Findings) -> String {
    let weak = &findings.weaknesses;
    let mut text = String::from(
        "<div class=\"scroll\"><table class=\"weak-list\"><thead><tr><th scope=\"col\">Start</th>\
         <th scope=\"col\">Earns</th><th scope=\"col\">Could earn</th><th scope=\"col\">With first</th>\
         <th scope=\"col\">Rule with the say</th>\
         <th scope=\"col\"><span class=\"visually-hidden\">Show</span></th></tr></thead><tbody>",
    );
    let first = findings.instructive.iter().position(|one| one.name == "weak start 1").unwrap_or(0);
    for (index, start) in weak.starts.iter().enumerate() {
        let stretch = weak.stretches.iter().find(|stretch| stretch.worst == index);
        let place = match stretch {
            Some(stretch) => format!(
                "{}<br><span class=\"quiet\">weak {}; the rest as usual</span>",
                described(findings, &start.state, |variable| variable == stretch.variable),
                stretch_words(findings, stretch.variable, stretch.range)
            ),
            None => described(findings, &start.state, |variable| start.state[variable] != weak.usual[variable]),
        };
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
            "<tr><td><b>{number}</b>&ensp;{place}</td><td class=\"value\">{}{}</td><td class=\"value\">{}</td>\
             <td>{}, then the rules</td><td>rule {}, {} % of the say, wants {}</td><td><button type=\"button\" \
             class=\"show\" \
             data-instructive=\"{}\" aria-label=\"Show weak start {number}\">Show</button></td></tr>",
            amount(start.value),
            if start.absorbed { "<br><span class=\"quiet\">ends early</span>" } else { "" },
            amount(start.better),
            opening.join(", then "),
            start.rule[1] + 1,
            share(start.share),
            measure(noticeable(base.alone(start.rule[1]), base.limits), &base.unit),
            first + index,
            number = index + 1,
        );
    }
    text.push_str("</tbody></table></div>");
    text
}

/// What the policy earns when one variable alone is moved.
fn scans(findings: &Findings) -> String {
    let weak = &findings.weaknesses;
    let states = &findings.system.states()[..findings.system.current_states()];
    let all = || weak.points.iter().flat_map(|point| [Some(point.value), point.better]).flatten();
    let [low, high] = range(all());
    let margin = 0.06 * (high - low);
    let mut text = String::from(
        "<h3>One input at a time</h3><p>The return from the usual start with one input moved; shaded where that is \
         weak.</p>\
         <div class=\"charts\">",
    );
    // Over a mode there is no line: what is weak in one is in the list above.
    for (variable, state) in states.iter().enumerate().filter(|(_, state)| state.values().is_empty()).take(12) {
        let mut points: Vec<&TriedStart> =
            weak.points.iter().filter(|point| is_usual_but(findings, point, &[variable])).collect();
        points.sort_by(|a, b| a.state[variable].total_cmp(&b.state[variable]));
        let values = points.iter().map(|point| (point.state[variable], point.value)).collect();
        let better: Vec<(f64, f64)> = points
            .iter()
            .filter_map(|p| p.better.filter(|_| p.regret() >= weak.much).map(|b| (p.state[variable], b)))
            .collect();
        let (axis, title) = (with_unit_in(&state.name, &state.unit), format!("Return over {}", state.name));
        let mut series = vec![Series { name: "the rules".into(), mark: Mark::Solid, points: values }];
        if !better.is_empty() {
            series.push(Series { name: "after a better opening".into(), mark: Mark::Rings, points: better });
        }
        let chart = Chart {
            title: &title,
            x: &axis,
            y: "return",
            shaded: weak.stretches.iter().filter(|s| s.variable == variable).map(|s| s.range).collect(),
            series,
            x_range: Some(findings.profile.inputs[variable].range),
            y_range: Some([low - margin, high + margin]),
            logarithmic: false,
        };
        let _ = write!(text, "<figure>{}</figure>", chart.svg());
    }
    text.push_str("</div>");
    text
}

/// Whether a start differs from the usual one in the given variables at most.
fn is_usual_but(findings: &Findings, point: &TriedStart, variables: &[usize]) -> bool {
    let usual = &findings.weaknesses.usual;
    (0..findings.system.current_states().min(usual.len()))
        .all(|variable| variables.contains(&variable) || point.state[variable] == usual[variable])
}

/// The starts tried, over the first two variables that starts differ in.
fn map(findings: &Findings) -> String {
    let weak = &findings.weaknesses;
    let states = &findings.system.states()[..findings.system.current_states()];
    let spreads = |v: &usize| states[*v].start[1] > states[*v].start[0] && states[*v].values().is_empty();
    let free: Vec<usize> = (0..states.len()).filter(spreads).collect();
    let [across, up, ..] = free[..] else { return String::new() };
    let of = |keep: &dyn Fn(&TriedStart) -> bool| -> Vec<(f64, f64)> {
        let shown = weak.points.iter().filter(|point| is_usual_but(findings, point, &free) && keep(point));
        shown.map(|point| (point.state[across], point.state[up])).collect()
    };
    let poor = |point: &TriedStart| point.value < weak.usual_return - weak.much;
    let is_weak = |point: &TriedStart| point.regret() >= weak.much;
    let label = |variable: usize| with_unit_in(&states[variable].name, &states[variable].unit);
    let chart = Chart {
        title: "Map of the starts that were tried",
        x: &label(across),
        y: &label(up),
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
    format!("<h3>All starts tried</h3><div class=\"charts large\"><figure>{}</figure></div>", chart.svg())
}

/// The weak stretches in words, variable by variable, the worst first.
pub(super) fn weak_words(findings: &Findings) -> Vec<String> {
    let stretches = &findings.weaknesses.stretches;
    let mut variables: Vec<usize> = Vec::new();
    for stretch in stretches {
        if !variables.contains(&stretch.variable) {
            variables.push(stretch.variable);
        }
    }
    let words = |variable: usize| -> String {
        let own = stretches.iter().filter(|stretch| stretch.variable == variable);
        let parts: Vec<String> = own.map(|stretch| stretch_words(findings, variable, stretch.range)).collect();
        format!("{} {}", name(&findings.system.states()[variable].name), parts.join(" or "))
    };
    variables.into_iter().map(words).collect()
}

/// A stretch of a variable: "beyond 2.3 m" where it goes on to the end of the range.
fn stretch_words(findings: &Findings, variable: usize, [low, high]: [f64; 2]) -> String {
    let unit = &findings.system.states()[variable].unit;
    let modes = findings.system.states()[variable].values();
    if !modes.is_empty() {
        let weak = (low.round() as usize..=high.round() as usize).filter_map(|mode| modes.get(mode));
        return format!("in {}", weak.map(|word| name(word)).collect::<Vec<_>>().join(", "));
    }
    let [first, last] = findings.profile.inputs[variable].range;
    let near = 1e-9 * (last - first);
    match (low <= first + near, high >= last - near) {
        (true, true) => "anywhere".into(),
        (true, false) => format!("below {}", measure(high, unit)),
        (false, true) => format!("above {}", measure(low, unit)),
        (false, false) => format!("from {} to {}", measure(low, unit), measure(high, unit)),
    }
}
