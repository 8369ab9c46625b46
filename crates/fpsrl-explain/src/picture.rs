//! The paper's pictures of a policy: a row for each rule, a column for each input.
//!
//! Each cell shows the rule's Gaussian over the input's range, the log's histogram behind it, an example state as a
//! red line and how far the condition holds there as a grey area. The report shows the cells one by one and moves
//! them; [`rule_picture`] puts them together in one file.

mod mode_cell;

use std::f64::consts::TAU;
use std::fmt::Write;

pub use mode_cell::mode_cell;

use super::modes::told_value;
use super::profile::{DataProfile, InputProfile};
use super::prototype;
use super::svg::{Axis, escape, line, place};
use super::words::{condition_words, noticeable, shown_inputs};
use fpsrl_base::text::{number, with_unit};
use fpsrl_data::plant::PlantKind;
use fpsrl_engine::policy::{ActionRules, FuzzyPolicy, Quantity, Rule};

/// Width and height of a cell.
pub const CELL: [f64; 2] = [160.0, 84.0];

pub(super) const LEFT: f64 = 8.0;
pub(super) const RIGHT: f64 = 152.0;
pub(super) const TOP: f64 = 9.0;
pub(super) const BASE: f64 = 62.0;

/// Colours and lines of a picture that stands alone; in the report the page's own style holds.
const STYLE: &str = "text{font:10px system-ui,'DejaVu Sans',sans-serif;fill:#3c4552}\
.name{font-size:12px;font-weight:600;fill:#1c2430}.faint{fill:#69727f}.middle{text-anchor:middle}.end{text-anchor:end}\
.hist{fill:#dde2e8}.curve{fill:none;stroke:#2a63b0;stroke-width:1.6}.curve.ignored{stroke-dasharray:4 3;stroke:#8a94a3}\
.active{fill:#9aa3ae;fill-opacity:.6}.axis{fill:none;stroke:#8a94a3;stroke-width:1}\
.state line{stroke:#c0392b;stroke-width:1.4}.state path{fill:#c0392b}\
.stem{fill:#fff;stroke:#2a63b0;stroke-width:1.2}.share{fill:#7d8794}\
.box{fill:#fff;stroke:#8a94a3}.held .box{fill:#2a63b0;stroke:#2a63b0}.held text{font-weight:600}\
.tick{fill:none;stroke:#fff;stroke-width:1.8}\
.ground{fill:none;stroke:#8a94a3;stroke-width:1.4}.goal{fill:none;stroke:#3c7a3c;stroke-width:1.4}\
.solid{fill:#3c5f94}.wheel{fill:#1c2430}.rod{fill:none;stroke:#b0612a;stroke-width:3;stroke-linecap:round}.bob{fill:#b0612a}\
.arrow{fill:none;stroke:#c0392b;stroke-width:1.4}";

/// The axis of an input in a cell.
pub fn input_axis(range: [f64; 2]) -> Axis {
    Axis::new(range, [LEFT, RIGHT])
}

/// How far a condition holds, by itself.
pub fn condition(quantity: &Quantity, rule: &Rule, variable: usize, value: f64) -> f64 {
    let distance = quantity.difference(rule.centre[variable], value) / rule.width[variable];
    (-0.5 * distance * distance).exp()
}

/// Where a condition's curve is computed: over the range, and finer around its centre, however narrow it is. Of an angle,
/// what reaches beyond the range comes in again at its other side.
pub fn curve_places(quantity: &Quantity, rule: &Rule, variable: usize, [low, high]: [f64; 2]) -> Vec<f64> {
    let (centre, width) = (rule.centre[variable], rule.width[variable]);
    let turns = if quantity.periodic { -1..=1 } else { 0..=0 };
    let centres = turns.map(|turn| centre + TAU * f64::from(turn));
    let around = centres.flat_map(|centre| (-6..=6).map(move |half| centre + 0.5 * f64::from(half) * width));
    let mut places: Vec<f64> = (0..=28).map(|index| low + (high - low) * f64::from(index) / 28.0).collect();
    places.extend(around.filter(|place| (low..high).contains(place)));
    places.sort_by(f64::total_cmp);
    places
}

/// A condition's cell, the inside of an `svg` element of [`CELL`]. `name` is unique in the document; `behind` is what
/// stands behind the curve.
pub fn membership_cell(
    name: &str,
    behind: &str,
    range: [f64; 2],
    quantity: &Quantity,
    rule: &Rule,
    variable: usize,
    value: f64,
) -> String {
    let axis = input_axis(range);
    let height = |share: f64| BASE - share * (BASE - TOP);
    let holds = |value: f64| height(condition(quantity, rule, variable, value));
    let places = curve_places(quantity, rule, variable, range);
    let curve = line(places.iter().map(|place| (axis.at(*place), holds(*place))));
    let level = holds(value);
    let ignored = if rule.ignores(variable) { " ignored" } else { "" };
    format!(
        "{behind}<clipPath id=\"{name}\"><rect class=\"level\" x=\"0\" y=\"{level}\" width=\"{width}\" \
         height=\"{BASE}\"/></clipPath>\
         <path class=\"active\" clip-path=\"url(#{name})\" d=\"{curve}V{BASE}H{LEFT}Z\"/>\
         <path class=\"curve{ignored}\" d=\"{curve}\"/>{scale}{state}",
        level = place(level),
        width = CELL[0],
        scale = scale(&axis, 3),
        state = state_line(axis.within(quantity.nearest(value, 0.5 * (range[0] + range[1])))),
    )
}

/// The log's histogram behind a cell.
pub fn histogram_path(input: &InputProfile) -> String {
    let most = input.histogram.iter().copied().max().unwrap_or(0).max(1) as f64;
    let width = (RIGHT - LEFT) / input.histogram.len().max(1) as f64;
    let mut path = format!("M{LEFT} {BASE}");
    for count in &input.histogram {
        let _ = write!(path, "V{}h{}", place(BASE - *count as f64 / most * 0.92 * (BASE - TOP)), place(width));
    }
    format!("<path class=\"hist\" d=\"{path}V{BASE}Z\"/>")
}

/// An axis below a cell, with a few numbers.
fn scale(axis: &Axis, most: usize) -> String {
    let mut text = format!("<path class=\"axis\" d=\"M{LEFT} {BASE}H{RIGHT}");
    let ticks = axis.ticks(most);
    for tick in &ticks {
        let _ = write!(text, "M{} {BASE}v4", place(axis.at(*tick)));
    }
    text.push_str("\"/>");
    for tick in &ticks {
        let x = axis.at(*tick);
        // At the edge, a number leans inwards.
        let (class, x) = match x {
            x if x < LEFT + 10.0 => ("", LEFT - 6.0),
            x if x > RIGHT - 10.0 => (" class=\"end\"", RIGHT + 6.0),
            x => (" class=\"middle\"", x),
        };
        let _ = write!(text, "<text{class} x=\"{}\" y=\"{}\">{}</text>", place(x), BASE + 14.0, minus(&number(*tick)));
    }
    text
}

/// A number with a true minus sign.
pub fn minus(number: &str) -> String {
    number.replace('-', "\u{2212}")
}

/// The red line of the example state, with a head, so that it is told from others without its colour.
fn state_line(x: f64) -> String {
    format!(
        "<g class=\"state\" transform=\"translate({} 0)\"><line y1=\"{}\" y2=\"{BASE}\"/><path d=\"M-4 1h8l-4 \
         6z\"/></g>",
        place(x),
        TOP - 4.0
    )
}

/// A rule's output: a column at the action that it wants, filled as far as the rule has a say.
pub fn output_cell(action: &ActionRules, rule: usize, share: f64) -> String {
    let axis = input_axis(action.limits);
    format!("{}{}", scale(&axis, 3), stem(axis.at(action.alone(rule)), share))
}

/// All rules' outputs, and the action that comes of them.
pub fn combined_cell(policy: &FuzzyPolicy, action: &ActionRules, state: &[f64]) -> String {
    let axis = input_axis(action.limits);
    let stems: String = action
        .shares(&policy.states, state)
        .iter()
        .enumerate()
        .map(|(rule, share)| stem(axis.at(action.alone(rule)), *share))
        .collect();
    format!("{}{stems}{}", scale(&axis, 3), state_line(axis.within(action.act(&policy.states, state))))
}

fn stem(x: f64, share: f64) -> String {
    let x = x.clamp(LEFT + 3.0, RIGHT - 3.0) - 3.0;
    let height = (BASE - TOP) * share;
    format!(
        "<rect class=\"stem\" x=\"{x}\" y=\"{TOP}\" width=\"6\" height=\"{}\"/>\
         <rect class=\"share\" x=\"{x}\" y=\"{}\" width=\"6\" height=\"{}\"/>",
        BASE - TOP,
        place(BASE - height),
        place(height),
        x = place(x),
    )
}

/// A policy as one picture, an SVG document that stands alone, with an example state.
///
/// ```
/// use fpsrl_base::progress::Progress;
/// use fpsrl_data::{DataSettings, System, generate};
/// use fpsrl_explain::{DataProfile, rule_picture};
/// use fpsrl_search::{PolicySettings, RuleSpace};
/// let system = System::benchmark("mountain-car")?;
/// let log = generate(&system, &DataSettings { samples: 100, ..DataSettings::for_plant(system.plant()) }, &Progress::silent())?;
/// let space = RuleSpace::new(&system, &PolicySettings::for_plant(system.plant()), &log);
/// let policy = space.decode(space.high());
/// let picture = rule_picture(&policy, &DataProfile::new(&system, &log), system.plant(), &[-0.5, 0.0]);
/// assert!(picture.starts_with("<svg xmlns") && picture.contains("Rule 2"));
/// # Ok::<(), fpsrl_base::Error>(())
/// ```
pub fn rule_picture(policy: &FuzzyPolicy, profile: &DataProfile, plant: Option<PlantKind>, example: &[f64]) -> String {
    const MARGIN: f64 = 14.0;
    const HEADER: f64 = 42.0;
    let inputs = shown_inputs(policy);
    let first = if plant.is_some() { prototype::SIZE[0] + 8.0 } else { 64.0 };
    let (column, row) = (CELL[0] + 10.0, 116.0);
    let width = 2.0 * MARGIN + first + column * (inputs.len() + 1) as f64;
    let rows: usize = policy.actions.iter().map(|action| action.rules.len() + 1).sum();
    let height = 2.0 * MARGIN + HEADER * policy.actions.len() as f64 + row * rows as f64 + 10.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" role=\"img\"><title>The rules of {}</title><style>{STYLE}</style>\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>",
        escape(&policy.actions.iter().map(|action| action.name.as_str()).collect::<Vec<_>>().join(", "))
    );
    let ranges = profile.ranges();
    let cell_x = |index: usize| MARGIN + first + column * index as f64;
    let mut y = MARGIN;
    for (number_of_action, action) in policy.actions.iter().enumerate() {
        let mut heading = |x: f64, name: &str, unit: &str| {
            let full = if unit.is_empty() { name.to_owned() } else { format!("{name} in {unit}") };
            let _ = write!(
                svg,
                "<text class=\"name\" x=\"{}\" y=\"{}\">{}<title>{}</title></text>",
                x + LEFT,
                y + 16.0,
                escape(&shortened(&full, 22)),
                escape(&full)
            );
        };
        for (place, variable) in inputs.iter().enumerate() {
            heading(cell_x(place), &policy.states[*variable].name, &policy.states[*variable].unit);
        }
        heading(cell_x(inputs.len()), &format!("\u{2192} {}", action.name), &action.unit);
        y += 28.0;
        let shares = action.shares(&policy.states, example);
        for (index, rule) in action.rules.iter().enumerate() {
            let _ = write!(svg, "<text class=\"name\" x=\"{MARGIN}\" y=\"{}\">Rule {}</text>", y + 12.0, index + 1);
            if let Some(plant) = plant {
                let inside = prototype::drawing(plant, &ranges, &rule.centre);
                let _ = write!(svg, "<g transform=\"translate({MARGIN} {})\">{inside}</g>", y + 6.0);
            }
            for (place, &variable) in inputs.iter().enumerate() {
                let (quantity, input) = (&policy.states[variable], &profile.inputs[variable]);
                let cell = match quantity.values.is_empty() {
                    false => mode_cell(input, quantity, rule, variable, example[variable]),
                    true => {
                        let name = format!("c{number_of_action}-{index}-{variable}");
                        let behind = histogram_path(input);
                        membership_cell(&name, &behind, input.range, quantity, rule, variable, example[variable])
                    }
                };
                let _ = write!(
                    svg,
                    "<g transform=\"translate({} {y})\">{cell}<text class=\"faint middle\" x=\"80\" \
                     y=\"92\">{}</text></g>",
                    cell_x(place),
                    escape(&shortened(&minus(&condition_words(quantity, rule, variable)), 30))
                );
            }
            let wanted = minus(&with_unit(&number(noticeable(action.alone(index), action.limits)), &action.unit));
            let _ = write!(
                svg,
                "<g transform=\"translate({} {y})\">{}<text class=\"faint middle\" x=\"80\" y=\"92\">wants {}, has \
                 {} %</text></g>",
                cell_x(inputs.len()),
                output_cell(action, index, shares[index]),
                escape(&shortened(&wanted, 18)),
                (100.0 * shares[index]).round()
            );
            y += row;
        }
        let result = minus(&with_unit(&number(action.act(&policy.states, example)), &action.unit));
        let named: Vec<String> = policy
            .states
            .iter()
            .zip(example)
            .map(|(state, value)| {
                format!("{} = {}", state.name, minus(&told_value(&state.values, *value, &state.unit)))
            })
            .collect();
        let _ = write!(
            svg,
            "<text class=\"name\" x=\"{MARGIN}\" y=\"{}\">Together</text>\
             <text x=\"{}\" y=\"{}\">in the example state {}</text>\
             <g transform=\"translate({} {y})\">{}<text class=\"faint middle\" x=\"80\" y=\"92\">{}</text></g>",
            y + 12.0,
            cell_x(0) + LEFT,
            y + 12.0,
            escape(&shortened(&named.join(", "), 25 * inputs.len())),
            cell_x(inputs.len()),
            combined_cell(policy, action, example),
            escape(&shortened(&format!("{} {result}", action.name), 30))
        );
        if let Some(plant) = plant {
            let inside = prototype::drawing(plant, &ranges, example);
            let _ = write!(svg, "<g transform=\"translate({MARGIN} {})\">{inside}</g>", y + 8.0);
        }
        y += row + 14.0;
    }
    svg.push_str("</svg>\n");
    svg
}

/// A text of at most so many characters.
pub fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['\u{2026}']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::PI;

    #[test]
    fn a_curve_around_half_a_turn_is_drawn_on_both_sides() {
        let rule = Rule { centre: vec![3.0], width: vec![0.05], output: 1.0 };
        let angle = Quantity { periodic: true, ..Quantity::new("theta", "rad") };
        let largest_below = |quantity: &Quantity| {
            let places = curve_places(quantity, &rule, 0, [-PI, PI]);
            places.iter().filter(|p| **p < 0.0).map(|p| condition(quantity, &rule, 0, *p)).fold(0.0, f64::max)
        };
        // At -π the rule is 0.14 away from its centre, nearly three widths.
        assert!((0.01..0.03).contains(&largest_below(&angle)));
        assert_eq!(largest_below(&Quantity::new("theta", "rad")), 0.0);
    }
}
