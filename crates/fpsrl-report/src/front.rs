//! The front in the page: a picture whose points can be clicked, and the rules of each.
//!
//! A point is a link to its rules, and the style shows the rules that a link points to: so it works without the script,
//! from the keyboard, and on paper all of them are there.

use std::fmt::Write;

use super::charts::range;
use super::findings::Findings;
use super::text::amount;
use fpsrl_base::text::number;
use fpsrl_explain::svg::{Axis, escape, place};
use fpsrl_explain::{minus, sentences};

const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 220.0;
const LEFT: f64 = 52.0;
const RIGHT: f64 = 448.0;
const TOP: f64 = 24.0;
const BASE: f64 = 176.0;

/// The section about the front; empty if the run has none.
pub(super) fn front(findings: &Findings) -> String {
    let Some((front, policies)) = &findings.front else { return String::new() };
    let mut text = String::from(
        "<h3>Simpler and better</h3><p>None of these policies is both simpler and better than another. Follow a point to \
         its rules.</p>",
    );
    let conditions = range(front.points.iter().map(|point| point.conditions as f64));
    let x = Axis::new([conditions[0].min(0.0), conditions[1].max(1.0)], [LEFT, RIGHT]);
    let [low, high] = range(front.points.iter().map(|point| point.mean));
    let margin = 0.08 * (high - low);
    let y = Axis::new([low - margin, high + margin], [BASE, TOP]);
    let _ = write!(
        text,
        "<figure class=\"front-chart\"><svg class=\"chart\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"group\" \
         aria-label=\"Return against the number of conditions\">"
    );
    for tick in y.ticks(5) {
        let at = place(y.at(tick));
        let _ = write!(
            text,
            "<path class=\"grid\" d=\"M{LEFT} {at}H{RIGHT}\"/><text class=\"end\" x=\"{}\" y=\"{}\">{}</text>",
            LEFT - 6.0,
            place(y.at(tick) + 3.5),
            minus(&number(tick))
        );
    }
    for tick in x.ticks(8).into_iter().filter(|tick| tick.fract() == 0.0) {
        let _ = write!(
            text,
            "<path class=\"axis\" d=\"M{0} {BASE}v4\"/><text class=\"middle\" x=\"{0}\" y=\"{1}\">{2}</text>",
            place(x.at(tick)),
            BASE + 16.0,
            number(tick),
        );
    }
    let _ = write!(
        text,
        "<path class=\"axis\" d=\"M{LEFT} {BASE}H{RIGHT}\"/><text class=\"end label\" x=\"{RIGHT}\" y=\"{}\">conditions\
         </text><text class=\"label\" x=\"2\" y=\"{}\">return on the world models</text>",
        HEIGHT - 8.0,
        TOP - 10.0
    );
    for (index, point) in front.points.iter().enumerate() {
        let said = format!(
            "{} conditions in {} rules earn {}{}",
            point.conditions,
            point.rules,
            amount(point.mean),
            if point.chosen { ", chosen" } else { "" }
        );
        let class = if point.chosen { "front-point chosen" } else { "front-point" };
        let _ = write!(
            text,
            "<a href=\"#front-{}\" aria-label=\"{}\"><circle class=\"{class}\" cx=\"{}\" cy=\"{}\" r=\"5.5\"><title>{}\
             </title></circle></a>",
            index + 1,
            escape(&said),
            place(x.at(point.conditions as f64)),
            place(y.at(point.mean)),
            escape(&said)
        );
    }
    text.push_str(
        "</svg></figure><div class=\"scroll\"><table><thead><tr><th scope=\"col\">Conditions</th><th scope=\"col\">Rules\
         </th><th scope=\"col\">World models</th><th scope=\"col\">Judge</th><th scope=\"col\"></th></tr></thead><tbody>",
    );
    for (index, point) in front.points.iter().enumerate() {
        let judged = match (point.rescored, point.holds) {
            (Some(rescored), Some(false)) => format!("{}, does not hold", amount(rescored)),
            (Some(rescored), _) => amount(rescored),
            (None, _) => "\u{2013}".into(),
        };
        let _ = write!(
            text,
            "<tr><th scope=\"row\"><a href=\"#front-{}\">{}</a></th><td class=\"value\">{}</td><td class=\"value\">{}</td>\
             <td class=\"value\">{judged}</td><td>{}</td></tr>",
            index + 1,
            point.conditions,
            point.rules,
            amount(point.mean),
            if point.chosen { "chosen" } else { "" }
        );
    }
    text.push_str("</tbody></table></div><div class=\"front-policies\">");
    for (index, (point, policy)) in front.points.iter().zip(policies).enumerate() {
        let class = if point.chosen { "front-policy chosen" } else { "front-policy" };
        let _ = write!(
            text,
            "<article class=\"{class}\" id=\"front-{}\"><h4>{} conditions</h4><p>{}, in <code>front/{}</code></p><ol>",
            index + 1,
            point.conditions,
            amount(point.mean),
            escape(&point.file)
        );
        for sentence in sentences(policy) {
            let _ = write!(text, "<li><bdi>{}</bdi></li>", escape(&minus(&sentence)));
        }
        text.push_str("</ol></article>");
    }
    text.push_str("</div>");
    text
}
