//! The little of SVG that our pictures need: text made safe, coordinates kept short, axes with round numbers.

use std::fmt::Write;

use fpsrl_base::visible::acts;

/// Text that may stand in HTML or SVG, in an element or in an attribute, whatever it contains.
///
/// ```
/// assert_eq!(fpsrl_explain::escape("</script>\"'&"), "&lt;/script&gt;&quot;&#39;&amp;");
/// ```
pub fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            // XML has no way to write these.
            control if control.is_control() && !matches!(control, '\n' | '\t') => safe.push('\u{fffd}'),
            '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            // What turns the direction of writing, or hides, is shown by its number.
            hidden if acts(hidden) && !matches!(hidden, '\n' | '\t') => safe.extend(hidden.escape_unicode()),
            other => safe.push(other),
        }
    }
    safe
}

/// A coordinate with at most two digits behind the point; NaN is 0.
pub fn place(value: f64) -> String {
    let rounded = (value * 100.0).round() / 100.0;
    if rounded.is_finite() && rounded != 0.0 { format!("{rounded}") } else { "0".into() }
}

/// The points of a line as the `d` of a path, each counted from the one before, in tenths: pages are full of lines. A
/// point that is not finite interrupts the line.
pub fn line(points: impl IntoIterator<Item = (f64, f64)>) -> String {
    let tenths = |value: f64| (value * 10.0).round();
    let mut path = String::new();
    let mut last: Option<(f64, f64)> = None;
    let mut steps = 0;
    for (x, y) in points {
        if !(x.is_finite() && y.is_finite()) {
            last = None;
            continue;
        }
        let (x, y) = (tenths(x), tenths(y));
        // Writing to a string cannot fail.
        let _ = match last {
            None => {
                steps = 0;
                write!(path, "M{} {}", place(x / 10.0), place(y / 10.0))
            }
            Some((from_x, from_y)) => {
                let (right, down) = (place((x - from_x) / 10.0), place((y - from_y) / 10.0));
                let separator = |number: &str| if number.starts_with('-') { "" } else { " " };
                let begin = if steps == 0 { "l" } else { separator(&right) };
                steps += 1;
                write!(path, "{begin}{right}{}{down}", separator(&down))
            }
        };
        last = Some((x, y));
    }
    path
}

/// Linear places of numbers on an axis.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    /// The least and the largest value.
    pub values: [f64; 2],
    /// Where they stand in the picture.
    pub places: [f64; 2],
}

impl Axis {
    /// An axis from values to places.
    pub fn new(values: [f64; 2], places: [f64; 2]) -> Self {
        Self { values, places }
    }

    /// Where a value stands.
    pub fn at(&self, value: f64) -> f64 {
        let share = (value - self.values[0]) / (self.values[1] - self.values[0]);
        self.places[0] + share * (self.places[1] - self.places[0])
    }

    /// The place, drawn in to the axis.
    pub fn within(&self, value: f64) -> f64 {
        let [first, last] = self.places;
        self.at(value).clamp(first.min(last), first.max(last))
    }

    /// A few round numbers on the axis.
    pub fn ticks(&self, most: usize) -> Vec<f64> {
        ticks(self.values, most)
    }
}

/// Round numbers in a range, at most so many.
pub fn ticks([low, high]: [f64; 2], most: usize) -> Vec<f64> {
    let span = high - low;
    if !(span.is_finite() && span > 0.0) || most == 0 {
        return Vec::new();
    }
    let mut step = 10f64.powf((span / most as f64).log10().floor());
    for factor in [1.0, 2.0, 5.0, 10.0, 20.0, 50.0] {
        let candidate = step * factor;
        if (high / candidate).floor() - (low / candidate).ceil() < most as f64 {
            step = candidate;
            break;
        }
    }
    let (first, last) = ((low / step).ceil(), (high / step).floor());
    let count = (last - first).max(-1.0) as usize + 1;
    // Adding zero turns -0 into 0.
    (0..count.min(most)).map(|index| (first + index as f64) * step + 0.0).collect()
}

/// A range whose ends are round numbers, a little wider than the one given.
pub fn rounded_range([low, high]: [f64; 2]) -> [f64; 2] {
    let span = high - low;
    if !(span.is_finite() && span > 0.0) {
        return [low - 1.0, low + 1.0];
    }
    let step = 10f64.powf(span.log10().floor() - 1.0);
    let tidy = |value: f64| {
        // Through text, so that 0.30000000000000004 is 0.3.
        format!("{value:.9e}").parse().unwrap_or(value)
    };
    [tidy((low / step + 1e-9).floor() * step), tidy((high / step - 1e-9).ceil() * step)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn escaped_text_has_nothing_that_begins_or_ends_markup(text in "\\PC*") {
            let safe = escape(&text);
            prop_assert!(!safe.contains(['<', '>', '"', '\'']));
            let is_entity =
                |rest: &str| ["lt;", "gt;", "amp;", "quot;", "#39;"].iter().any(|entity| rest.starts_with(entity));
            prop_assert!(safe.split('&').skip(1).all(is_entity));
        }

        #[test]
        fn ticks_are_few_increasing_and_within(low in -1e6..1e6f64, span in 1e-6..1e6f64, most in 2usize..9) {
            let ticks = ticks([low, low + span], most);
            prop_assert!(ticks.len() <= most);
            prop_assert!(ticks.windows(2).all(|pair| pair[0] < pair[1]));
            let slack = 1e-9 * (low.abs() + span);
            prop_assert!(ticks.iter().all(|tick| (low - slack..=low + span + slack).contains(tick)));
            prop_assert!(!ticks.is_empty() || most < 3);
        }

        #[test]
        fn rounded_ranges_hold_what_they_round(low in -1e6..1e6f64, span in 1e-3..1e6f64) {
            let [from, to] = rounded_range([low, low + span]);
            let slack = 1e-6 * (low.abs() + span);
            prop_assert!(from <= low + slack && to >= low + span - slack);
            prop_assert!(to - from <= 1.25 * span + slack);
        }
    }

    #[test]
    fn round_numbers_stay_round() {
        assert_eq!(ticks([-1.2, 0.6], 4), [-1.0, -0.5, 0.0, 0.5]);
        assert_eq!(ticks([0.0, 10.0], 3), [0.0, 5.0, 10.0]);
        assert_eq!(rounded_range([-1.234, 0.6]), [-1.3, 0.6]);
        assert!(ticks([1.0, 1.0], 4).is_empty() && ticks([f64::NAN, 1.0], 4).is_empty());
    }

    #[test]
    fn a_line_breaks_where_there_is_no_number() {
        assert_eq!(line([(0.0, 1.0), (1.0, 2.0), (2.0, f64::NAN), (3.0, 4.005)]), "M0 1l1 1M3 4");
        assert_eq!(line([(0.0, 1.0), (1.04, -2.0), (2.0, -1.96), (1.0, 3.0)]), "M0 1l1-3 1 0-1 5");
    }
}
