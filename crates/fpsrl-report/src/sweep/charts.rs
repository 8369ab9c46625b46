//! The pictures of a sweep's page: every run is a dot that says its name.

use std::fmt::Write;

use fpsrl_base::text::number;
use fpsrl_explain::minus;
use fpsrl_explain::svg::{Axis, escape, place};

use super::{FrontPoint, Level, Summed, SweepRun};
use crate::charts::range;
use crate::text::amount;

/// More dots than these are drawn without names: a page must stay light.
const MOST_NAMED: usize = 1_500;

const WIDTH: f64 = 460.0;
const RIGHT: f64 = 448.0;
const ROW: f64 = 26.0;

/// The range of the promises, a little wider.
pub(super) fn promises(runs: &[SweepRun]) -> [f64; 2] {
    let [low, high] = range(runs.iter().map(|run| run.promise));
    let margin = 0.04 * (high - low);
    [low - margin, high + margin]
}

/// What a run says where somebody points at it.
fn said(run: &SweepRun) -> String {
    let refused = if run.holds == Some(false) { ", does not hold" } else { "" };
    let verdict = if run.verdict.is_empty() { String::new() } else { format!(", {}", run.verdict) };
    format!("{}: {}{verdict}{refused}", run.name, amount(run.promise))
}

/// Dots of runs on a line at a height; what lies on each other is moved apart a little.
fn dots(svg: &mut String, axis: &Axis, y: f64, runs: &[usize], all: &[SweepRun]) {
    let named = all.len() <= MOST_NAMED;
    let mut plain = String::new();
    for (index, run) in runs.iter().enumerate() {
        let run = &all[*run];
        // By the golden ratio, so that neighbours in the order are not neighbours in height.
        let lift = ((index as f64 * 0.618_033_988_7).fract() - 0.5) * 0.55 * ROW;
        let (x, y) = (place(axis.within(run.promise)), place(y + lift));
        if !named {
            let _ = write!(plain, "M{x} {y}h0");
            continue;
        }
        let class = if run.is_refused() { "run-dot refused" } else { "run-dot" };
        let _ = write!(
            svg,
            "<circle class=\"{class}\" cx=\"{x}\" cy=\"{y}\" r=\"3.2\"><title>{}</title></circle>",
            escape(&said(run))
        );
    }
    if !plain.is_empty() {
        let _ = write!(svg, "<path class=\"points series-0\" d=\"{plain}\"/>");
    }
}

fn median_mark(svg: &mut String, axis: &Axis, y: f64, summed: &Summed) {
    let at = place(axis.within(summed.median));
    let _ = write!(svg, "<path class=\"median\" d=\"M{at} {}v{}\"/>", place(y - 0.4 * ROW), place(0.8 * ROW));
}

/// A line of dots without an axis, for a row of a table.
pub(super) fn strip(runs: &[usize], all: &[SweepRun], range: [f64; 2], summed: Option<&Summed>) -> String {
    let axis = Axis::new(range, [6.0, 234.0]);
    let label =
        summed.map_or_else(String::new, |summed| format!("from {} to {}", amount(summed.least), amount(summed.most)));
    let mut svg = format!(
        "<svg viewBox=\"0 0 240 {ROW}\" role=\"img\" aria-label=\"{}\"><path class=\"rail\" d=\"M2 {1}H238\"/>",
        escape(&label),
        place(0.5 * ROW)
    );
    dots(&mut svg, &axis, 0.5 * ROW, runs, all);
    if let Some(summed) = summed {
        median_mark(&mut svg, &axis, 0.5 * ROW, summed);
    }
    svg.push_str("</svg>");
    svg
}

/// The runs at each value of a factor, a row a value.
pub(super) fn levels(key: &str, levels: &[Level], runs: &[SweepRun], range: [f64; 2]) -> String {
    let widest = levels.iter().map(|level| level.value.chars().count().min(24)).max().unwrap_or(1);
    let left = (16.0 + 6.6 * widest as f64).clamp(44.0, 190.0);
    let base = 14.0 + ROW * levels.len() as f64;
    let axis = Axis::new(range, [left, RIGHT]);
    let mut svg = format!(
        "<svg class=\"chart\" viewBox=\"0 0 {WIDTH} {}\" role=\"img\" aria-label=\"{}\">",
        base + 36.0,
        escape(&format!("Promise for each value of {key}"))
    );
    for tick in axis.ticks(6) {
        let at = place(axis.at(tick));
        let _ = write!(
            svg,
            "<path class=\"grid\" d=\"M{at} 8V{base}\"/><text class=\"middle\" x=\"{at}\" y=\"{}\">{}</text>",
            base + 16.0,
            minus(&number(tick))
        );
    }
    for (index, level) in levels.iter().enumerate() {
        let y = 8.0 + ROW * (index as f64 + 0.5);
        let _ = write!(
            svg,
            "<text class=\"end\" x=\"{}\" y=\"{}\">{}</text>",
            left - 8.0,
            place(y + 4.0),
            escape(&shortened(&level.value, 24))
        );
        dots(&mut svg, &axis, y, &level.runs, runs);
        if let Some(summed) = &level.promise {
            median_mark(&mut svg, &axis, y, summed);
        }
    }
    let _ = write!(
        svg,
        "<path class=\"axis\" d=\"M{left} {base}H{RIGHT}\"/><text class=\"end label\" x=\"{RIGHT}\" y=\"{}\">promise</text></svg>",
        base + 31.0
    );
    svg
}

/// Conditions against the promise: every run, those of the front filled and joined.
pub(super) fn front(runs: &[usize], all: &[SweepRun], front: &[&FrontPoint]) -> String {
    const HEIGHT: f64 = 240.0;
    const LEFT: f64 = 56.0;
    const TOP: f64 = 24.0;
    const BASE: f64 = 192.0;
    let conditions = |run: usize| all[run].policy.conditions().len() as f64;
    let [fewest, most] = range(runs.iter().map(|run| conditions(*run)));
    let x = Axis::new([(fewest - 1.0).max(0.0).min(fewest), most + 0.5], [LEFT, RIGHT]);
    let [low, high] = range(runs.iter().map(|run| all[*run].promise));
    let margin = 0.06 * (high - low);
    let y = Axis::new([low - margin, high + margin], [BASE, TOP]);
    let mut svg = format!(
        "<svg class=\"chart\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"group\" aria-label=\"Promise against the number of \
         conditions\">"
    );
    for tick in y.ticks(5) {
        let _ = write!(
            svg,
            "<path class=\"grid\" d=\"M{LEFT} {0}H{RIGHT}\"/><text class=\"end\" x=\"{1}\" y=\"{2}\">{3}</text>",
            place(y.at(tick)),
            LEFT - 6.0,
            place(y.at(tick) + 3.5),
            minus(&number(tick))
        );
    }
    for tick in x.ticks(8).into_iter().filter(|tick| tick.fract() == 0.0) {
        let _ = write!(
            svg,
            "<path class=\"axis\" d=\"M{0} {BASE}v4\"/><text class=\"middle\" x=\"{0}\" y=\"{1}\">{2}</text>",
            place(x.at(tick)),
            BASE + 16.0,
            number(tick)
        );
    }
    let _ = write!(
        svg,
        "<path class=\"axis\" d=\"M{LEFT} {BASE}H{RIGHT}\"/><text class=\"end label\" x=\"{RIGHT}\" y=\"{}\">conditions</text>\
         <text class=\"label\" x=\"2\" y=\"{}\">promise</text>",
        HEIGHT - 8.0,
        TOP - 10.0
    );
    let steps: String = front
        .iter()
        .enumerate()
        .map(|(index, point)| {
            let (at, height) = (place(x.at(point.conditions as f64)), place(y.at(point.promise)));
            if index == 0 { format!("M{at} {height}") } else { format!("H{at}V{height}") }
        })
        .collect();
    let _ = write!(svg, "<path class=\"front-line\" d=\"{steps}\"/>");
    if all.len() <= MOST_NAMED {
        for (index, run) in runs.iter().enumerate().filter(|(_, run)| all[**run].promise.is_finite()) {
            let at = x.at(conditions(*run)) + ((index as f64 * 0.618_033_988_7).fract() - 0.5) * 10.0;
            let on_front = front.iter().any(|point| point.run == *run);
            let at = if on_front { x.at(conditions(*run)) } else { at };
            let refused = if all[*run].is_refused() { " refused" } else { "" };
            let (class, radius) = if on_front { ("run-dot chosen", 5.0) } else { ("run-dot", 3.2) };
            let name = escape(&format!("{}, {} conditions", said(&all[*run]), conditions(*run)));
            let _ = write!(
                svg,
                "<a href=\"{}\" aria-label=\"{name}\"><circle class=\"{class}{refused}\" cx=\"{}\" cy=\"{}\" r=\"{radius}\"><title>\
                 {name}</title></circle></a>",
                escape(&all[*run].link),
                place(at),
                place(y.at(all[*run].promise)),
            );
        }
    } else {
        let mut path = String::new();
        for run in runs.iter().filter(|run| all[**run].promise.is_finite()) {
            let _ = write!(path, "M{} {}h0", place(x.at(conditions(*run))), place(y.at(all[*run].promise)));
        }
        let _ = write!(svg, "<path class=\"points series-0\" d=\"{path}\"/>");
    }
    svg.push_str("</svg>");
    svg
}

/// A text of at most so many signs.
pub(super) fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['\u{2026}']).collect()
}
