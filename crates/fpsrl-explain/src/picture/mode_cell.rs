//! The picture of a mode in a rule: its words as a list.

use std::fmt::Write;

use super::{BASE, LEFT, RIGHT, TOP, shortened};
use crate::modes::nearest;
use crate::profile::InputProfile;
use crate::svg::{escape, place};
use fpsrl_engine::policy::{Quantity, Rule};

/// Words that a picture has room for.
const LISTED: usize = 4;

/// Where the words of a list begin, and how many characters they have at most.
const WORDS: f64 = LEFT + 24.0;
const LONGEST: usize = 18;

/// A mode's cell, the inside of an `svg` element of [`CELL`](crate::CELL): its words as a list, the one that the rule holds in
/// marked, behind each how often the log was in it, and a red head at the mode of the example state.
pub fn mode_cell(input: &InputProfile, quantity: &Quantity, rule: &Rule, variable: usize, value: f64) -> String {
    let words = &quantity.values;
    let held = (!rule.ignores(variable)).then(|| nearest(rule.centre[variable], words.len()));
    let now = nearest(value, words.len());
    // Of many words, those around the rule's own.
    let from = held.unwrap_or(now).saturating_sub(LISTED / 2).min(words.len().saturating_sub(LISTED));
    let listed = from..words.len().min(from + LISTED);
    let row = (BASE + 10.0 - TOP) / LISTED as f64;
    let most = input.histogram.iter().copied().max().unwrap_or(0).max(1) as f64;
    let mut svg = String::new();
    let mut head = None;
    for (line, mode) in listed.clone().enumerate() {
        let y = TOP + row * line as f64;
        let share = input.histogram.get(mode).copied().unwrap_or(0) as f64 / most;
        let class = if held == Some(mode) { "mode held" } else { "mode" };
        let mark = if held == Some(mode) { format!("M{} 8l3 3 5-7", LEFT + 10.0) } else { String::new() };
        let _ = write!(
            svg,
            "<g class=\"{class}\" data-mode=\"{mode}\" transform=\"translate(0 {})\"><rect class=\"hist\" x=\"{WORDS}\" \
             y=\"1\" width=\"{}\" height=\"{}\"/><rect class=\"box\" x=\"{}\" y=\"2\" width=\"12\" height=\"12\"/><path \
             class=\"tick\" d=\"{mark}\"/><text x=\"{}\" y=\"12\">{}</text></g>",
            place(y),
            place(share * (RIGHT - WORDS)),
            place(row - 2.0),
            LEFT + 8.0,
            WORDS + 4.0,
            escape(&shortened(&words[mode], LONGEST))
        );
        if mode == now {
            head = Some(y);
        }
    }
    if listed.len() < words.len() {
        let more = words.len() - listed.len();
        let _ = write!(svg, "<text class=\"faint\" x=\"{WORDS}\" y=\"{}\">and {more} more</text>", BASE + 21.0);
    }
    let (y, hidden) = head.map_or((0.0, " visibility=\"hidden\""), |y| (y, ""));
    let _ = write!(
        svg,
        "<g class=\"state\" transform=\"translate(0 {})\"{hidden}><path d=\"M{LEFT} 4v8l6 -4z\"/></g>",
        place(y)
    );
    svg
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modes::tests::{quantity, rule};

    #[test]
    fn a_list_marks_the_mode_of_the_rule_and_of_the_state() {
        let input = InputProfile { range: [0.0, 1.0], histogram: vec![30, 10] };
        let cell = mode_cell(&input, &quantity(2), &rule(Some(1.0)), 0, 0.0);
        assert_eq!(cell.matches("class=\"mode\"").count(), 1);
        assert!(cell.contains("class=\"mode held\" data-mode=\"1\"") && cell.contains("mode 0"), "{cell}");
        assert!(!cell.contains("hidden") && !cell.contains("more"));
        let any = mode_cell(&input, &quantity(2), &rule(None), 0, 0.0);
        assert!(!any.contains("held"));
    }

    #[test]
    fn of_many_modes_those_around_the_rules_own_are_listed() {
        let input = InputProfile { range: [0.0, 8.0], histogram: vec![1; 9] };
        let cell = mode_cell(&input, &quantity(9), &rule(Some(8.0)), 0, 0.0);
        assert!(cell.contains("mode 8") && !cell.contains("mode 0"), "{cell}");
        assert!(cell.contains("and 5 more") && cell.contains("visibility=\"hidden\""));
    }
}
