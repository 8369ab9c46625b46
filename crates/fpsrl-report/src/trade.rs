//! What one cost buys: the return without it against what a step costs, of policies that were searched with other weights.

use std::fmt::Write;

use super::charts::{Chart, Mark, Series};
use super::findings::Findings;
use super::text::{amount, measure, name, with_unit_in};
use fpsrl_base::text::number;
use fpsrl_explain::{escape, minus};
use fpsrl_search::trade::{Trade, Worth};

/// The section about what was traded; empty if nothing was.
pub(super) fn trade(findings: &Findings) -> String {
    let Some(trade) = &findings.trade else { return String::new() };
    let mut text = format!(
        "<h2 id=\"trade-title\">Trade-off</h2><p>What <b>{}</b> buys: {}. The rules were searched again on the same world models, \
         with this cost weighed more and less. None of the front is both better without the cost and cheaper. In the problem, \
         one unit is worth {} of the reward.</p>",
        name(&trade.name),
        cost_is(trade),
        minus(&number(trade.weight)),
    );
    let label = with_unit_in(&format!("{} a step", trade.name), &trade.unit);
    let place = |worth: &Worth| (worth.cost, worth.return_without);
    let of = |present: bool| trade.points.iter().filter(move |point| point.present == present);
    let front: Vec<(f64, f64)> = trade.points.iter().map(|point| place(&point.worth)).collect();
    let series = |name: &str, mark, points| Series { name: name.into(), mark, points };
    let chart = Chart {
        title: &format!("Return without {} against its cost a step", trade.name),
        x: &label,
        y: "return without it",
        shaded: Vec::new(),
        series: vec![
            series("the front", Mark::Dotted, front),
            series("other weights", Mark::Rings, of(false).map(|point| place(&point.worth)).collect()),
            series("these rules", Mark::Crosses, vec![place(&trade.present)]),
        ],
        x_range: None,
        y_range: None,
        logarithmic: false,
    };
    let _ = write!(text, "<div class=\"charts\"><figure>{}</figure></div>{}", chart.svg(), table(trade));
    let directory = "<code>trade/</code>";
    let _ = write!(
        text,
        "<p class=\"quiet\">All of them were scored with the problem's own weights too, from the same start states. The policies \
         are in {directory}; <code>fpsrl import</code> with <code>--into</code> takes one over.</p>"
    );
    text
}

/// What the cost counts, in words.
fn cost_is(trade: &Trade) -> &'static str {
    match trade.kind.as_str() {
        "movement" => "how far the action moves in a step",
        "range" => "how far the state is out of its range in a step",
        _ => "the cost of a step by its formula",
    }
}

fn table(trade: &Trade) -> String {
    let figures = trade.present.figures.as_ref();
    let mut text = String::from(
        "<div class=\"scroll\"><table><thead><tr><th scope=\"col\">Weight</th><th scope=\"col\">Cost a step</th>\
         <th scope=\"col\">Return without it</th><th scope=\"col\">Return</th><th scope=\"col\">Interval</th>",
    );
    let tracked = figures.map_or(&[][..], |figures| &figures.tracked);
    for one in tracked {
        let _ = write!(text, "<th scope=\"col\">Error of {}</th>", name(&one.state));
    }
    let movement = figures.map_or(&[][..], |figures| &figures.movement);
    for (action, _) in movement {
        let _ = write!(text, "<th scope=\"col\">{} moves</th>", name(action));
    }
    text.push_str("<th scope=\"col\"></th></tr></thead><tbody>");
    let mut row = |factor: f64, worth: &Worth, note: &str| {
        let [low, high] = worth.promise.interval;
        let _ = write!(
            text,
            "<tr><th scope=\"row\">\u{d7} {}</th><td class=\"value\">{}</td><td class=\"value\">{}</td><td class=\"value\">{}\
             </td><td class=\"value\">{} to {}</td>",
            minus(&number(factor)),
            measure(worth.cost, &trade.unit),
            amount(worth.return_without),
            amount(worth.promise.mean),
            amount(low),
            amount(high)
        );
        let own = worth.figures.as_ref();
        let cell = |value: Option<f64>| value.map_or_else(|| "\u{2013}".to_owned(), |value| minus(&number(value)));
        for index in 0..tracked.len() {
            let value = own.and_then(|figures| figures.tracked.get(index)).map(|one| one.error);
            let _ = write!(text, "<td class=\"value\">{}</td>", cell(value));
        }
        for index in 0..movement.len() {
            let value = own.and_then(|figures| figures.movement.get(index)).map(|(_, moved)| *moved);
            let _ = write!(text, "<td class=\"value\">{}</td>", cell(value));
        }
        let _ = write!(text, "<td>{note}</td></tr>");
    };
    let doubt = |worth: &Worth| match (worth.promise.breaks, worth.promise.holds) {
        (true, _) => ", breaks a hard limit",
        (_, Some(false)) => ", does not hold",
        _ => "",
    };
    for point in &trade.points {
        let file = format!("<code>{}</code>", escape(&point.file));
        let whose = if point.present { ", these rules" } else { "" };
        row(point.factor, &point.worth, &format!("{file}{whose}{}", doubt(&point.worth)));
    }
    if !trade.points.iter().any(|point| point.present) {
        row(1.0, &trade.present, &format!("these rules: another is both better and cheaper{}", doubt(&trade.present)));
    }
    text.push_str("</tbody></table></div>");
    text
}
