//! What the log covers, as a table and as pictures of two variables each, with where the rules go drawn into them.

use std::fmt::Write;

use super::covered::Covered;
use super::findings::Findings;
use super::text::{measure, name, share, with_unit_in};
use fpsrl_base::text::{count, number};
use fpsrl_data::coverage::{Coverage, PairCoverage};
use fpsrl_explain::minus;
use fpsrl_explain::svg::{Axis, escape, place};

/// Pictures at most; pairs of a state and an action go first, then those that depend on each other most.
const PICTURES: usize = 10;

/// Blind spots that are named.
const NAMED: usize = 8;

/// How dark a cell may be: empty ones are left white.
const SHADES: usize = 4;

const WIDTH: f64 = 230.0;
const HEIGHT: f64 = 190.0;
const LEFT: f64 = 46.0;
const RIGHT: f64 = 222.0;
const TOP: f64 = 18.0;
const BASE: f64 = 150.0;

/// The part of the page about the log.
pub(super) fn coverage(findings: &Findings) -> String {
    let Covered { coverage, episodes, .. } = &findings.covered;
    let mut text = format!(
        "<h3>The log</h3><p>{} rows in which something moves, in {} episodes. Of a grid of {} parts for each state and \
         action, {} % was visited.</p>",
        count(coverage.rows),
        count(*episodes),
        coverage.space.parts,
        share(coverage.space.share),
    );
    text.push_str(&table(coverage));
    text.push_str(&blind(findings, coverage));
    text.push_str(&pictures(findings));
    text
}

fn table(coverage: &Coverage) -> String {
    let mut text = String::from("<div class=\"scroll\"><table><thead><tr><th scope=\"col\">Variable</th>");
    for heading in ["Lowest", "5 %", "Median", "95 %", "Highest"] {
        let _ = write!(text, "<th scope=\"col\" class=\"value\">{heading}</th>");
    }
    text.push_str("</tr></thead><tbody>");
    for variable in &coverage.variables {
        let [low, median, high] = variable.quantiles;
        let role = if variable.role == "input" { " <span class=\"quiet\">input</span>" } else { "" };
        let _ = write!(text, "<tr><th scope=\"row\">{}{role}</th>", name(&variable.name));
        if !variable.modes.is_empty() {
            let counted: Vec<String> =
                variable.modes.iter().map(|(word, rows)| format!("{} {} rows", name(word), count(*rows))).collect();
            let _ = write!(text, "<td colspan=\"5\">{}</td></tr>", counted.join(", "));
            continue;
        }
        for value in [variable.lowest, low, median, high, variable.highest] {
            let _ = write!(text, "<td class=\"value\">{}</td>", measure(value, &variable.unit));
        }
        text.push_str("</tr>");
    }
    text.push_str("</tbody></table></div>");
    text
}

fn blind(findings: &Findings, coverage: &Coverage) -> String {
    if coverage.blind.is_empty() {
        return "<p>Within the ranges of the log, each state was visited and each action tried in it.</p>".into();
    }
    let unit_of = |wanted: &str| {
        let states = findings.system.states().iter().map(|state| (&state.name, &state.unit));
        let actions = findings.system.actions().iter().map(|action| (&action.name, &action.unit));
        states.chain(actions).find(|(name, _)| *name == wanted).map_or("", |(_, unit)| unit)
    };
    let between = |of: &str, [low, high]: [f64; 2]| {
        format!("{} from {} to {}", name(of), measure(low, ""), measure(high, unit_of(of)))
    };
    let mut text = String::from("<p>Where there is no data:</p><ul class=\"short\">");
    for spot in coverage.blind.iter().take(NAMED) {
        let place = match &spot.mode {
            Some(mode) => format!("{} {}", name(&spot.state), name(mode)),
            None => between(&spot.state, spot.range),
        };
        let _ = match &spot.action {
            None => write!(text, "<li>{place}: only {} rows</li>", count(spot.rows)),
            Some(action) => write!(text, "<li>{place}: only {} was tried</li>", between(action, spot.seen)),
        };
    }
    if coverage.blind.len() > NAMED {
        let _ = write!(text, "<li>and {} more places</li>", count(coverage.blind.len() - NAMED));
    }
    text.push_str("</ul>");
    text
}

fn pictures(findings: &Findings) -> String {
    let Covered { coverage, steps, .. } = &findings.covered;
    let index = |name: &str| coverage.variables.iter().position(|variable| variable.name == name).unwrap_or(0);
    let mut pairs: Vec<(usize, usize, &PairCoverage)> =
        coverage.pictures.iter().map(|pair| (index(&pair.first), index(&pair.second), pair)).collect();
    let states = findings.system.current_states();
    pairs.sort_by(|a, b| {
        let mixed = |&(first, second, _): &(usize, usize, &PairCoverage)| (first < states) != (second < states);
        let strength = |&(first, second, _): &(usize, usize, &PairCoverage)| coverage.correlations[first][second].abs();
        mixed(b).cmp(&mixed(a)).then(strength(b).total_cmp(&strength(a)))
    });
    let mut text = String::from(
        "<p class=\"quiet\">The darker a cell, the more rows of the log; in a white one there is none. Dots are \
         steps of the rules: outside of the grey, the world model guesses.</p><div class=\"charts small\">",
    );
    for &(first, second, pair) in pairs.iter().take(PICTURES) {
        let label = |index: usize| with_unit_in(&coverage.variables[index].name, &coverage.variables[index].unit);
        let points: Vec<(f64, f64)> = steps.iter().map(|step| (step[first], step[second])).collect();
        let _ = write!(
            text,
            "<figure>{}<figcaption>correlation {}</figcaption></figure>",
            picture(pair, &points, &label(first), &label(second)),
            minus(&format!("{:.2}", coverage.correlations[first][second]))
        );
    }
    text.push_str("</div>");
    if pairs.len() > PICTURES {
        let _ = write!(text, "<p class=\"quiet\">{PICTURES} of {} pictures.</p>", count(pairs.len()));
    }
    text
}

/// Rows of the log over two variables, with points.
fn picture(pair: &PairCoverage, points: &[(f64, f64)], first: &str, second: &str) -> String {
    // The points may leave what the log covered: that is what there is to see.
    let widened = |[low, high]: [f64; 2], values: &mut dyn Iterator<Item = f64>| {
        let [low, high] = if high > low { [low, high] } else { [low - 0.5, low + 0.5] };
        let limit = |value: f64| value.clamp(low - (high - low), high + (high - low));
        values
            .filter(|value| value.is_finite())
            .map(limit)
            .fold([low, high], |[low, high], value| [low.min(value), high.max(value)])
    };
    let x = Axis::new(widened(pair.first_range, &mut points.iter().map(|point| point.0)), [LEFT, RIGHT]);
    let y = Axis::new(widened(pair.second_range, &mut points.iter().map(|point| point.1)), [BASE, TOP]);
    let parts = pair.counts.len();
    let most = pair.counts.iter().flatten().copied().max().unwrap_or(1).max(1);
    let edge = |[low, high]: [f64; 2], part: usize| low + (high - low) * part as f64 / parts as f64;
    // By the logarithm: a single row is as far from none as from a hundred.
    let shade_of = |rows: u32| {
        let depth = f64::from(rows).ln_1p() / f64::from(most).ln_1p();
        ((depth * SHADES as f64).ceil() as usize).min(SHADES)
    };
    let tenth = |value: f64| place((value * 10.0).round() / 10.0);
    let mut shades = vec![String::new(); SHADES];
    for (column, counts) in pair.counts.iter().enumerate() {
        let (left, right) = (x.at(edge(pair.first_range, column)), x.at(edge(pair.first_range, column + 1)));
        let width = tenth(right - left);
        let mut row = 0;
        // Cells of one shade above each other are one.
        for cells in counts.chunk_by(|one, other| shade_of(*one) == shade_of(*other)) {
            let (top, base) = (y.at(edge(pair.second_range, row + cells.len())), y.at(edge(pair.second_range, row)));
            row += cells.len();
            if let Some(shade) = shade_of(cells[0]).checked_sub(1) {
                let (left, top, height) = (tenth(left), tenth(top), tenth(base - top));
                let _ = write!(shades[shade], "M{left} {top}h{width}v{height}h-{width}z");
            }
        }
    }
    let mut svg = format!(
        "<svg class=\"chart\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">",
        escape(&format!("Rows of the log and steps of the rules over {first} and {second}"))
    );
    for (shade, path) in shades.iter().enumerate().filter(|(_, path)| !path.is_empty()) {
        let _ = write!(svg, "<path class=\"dense dense-{shade}\" d=\"{path}\"/>");
    }
    let _ = write!(svg, "<path class=\"axis\" d=\"M{LEFT} {TOP}V{BASE}H{RIGHT}\"/>");
    for tick in y.ticks(4) {
        let at = place(y.at(tick) + 3.5);
        let _ = write!(svg, "<text class=\"end\" x=\"{}\" y=\"{at}\">{}</text>", LEFT - 5.0, minus(&number(tick)));
    }
    for tick in x.ticks(4) {
        let _ = write!(
            svg,
            "<text class=\"middle\" x=\"{}\" y=\"{}\">{}</text>",
            place(x.at(tick)),
            BASE + 15.0,
            minus(&number(tick))
        );
    }
    // A line of no length with round ends is a dot.
    let mut dots = String::new();
    for &(across, up) in points.iter().filter(|(across, up)| across.is_finite() && up.is_finite()) {
        let _ = write!(dots, "M{} {}h0", tenth(x.within(across)), tenth(y.within(up)));
    }
    let _ = write!(
        svg,
        "<path class=\"series-1 points\" d=\"{dots}\"/><text class=\"end label\" x=\"{RIGHT}\" y=\"{}\">{}</text>\
         <text class=\"label\" x=\"2\" y=\"{}\">{}</text></svg>",
        HEIGHT - 8.0,
        escape(first),
        TOP - 8.0,
        escape(second)
    );
    svg
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::generated;
    use fpsrl_data::System;

    #[test]
    fn cells_of_the_log_are_dark_and_steps_beyond_it_widen_the_picture() {
        let pair = PairCoverage {
            first: "a".into(),
            second: "b".into(),
            first_range: [0.0, 1.0],
            second_range: [0.0, 1.0],
            counts: vec![vec![0, 100], vec![1, 0]],
        };
        let inside = picture(&pair, &[(0.5, 0.5)], "a", "b");
        // Two cells are visited, one of them often.
        assert!(inside.contains("dense-3") && inside.contains("dense-0") && inside.matches("v66").count() == 2);
        let outside = picture(&pair, &[(2.0, f64::NAN)], "<a>", "b");
        assert!(outside.contains("v66h-44z") && outside.contains("&lt;a&gt;"), "{outside}");
        assert!(!outside.contains("NaN"));
    }

    #[test]
    fn rows_that_stay_for_ever_are_not_data() {
        let system = System::benchmark("cart-pole-balancing").unwrap();
        let log = generated(&system, 2_000);
        let covered = Covered::new(&system, &log, &[]);
        assert_eq!(covered.episodes, 20);
        assert!(covered.coverage.rows < 600, "{}", covered.coverage.rows);
    }
}
