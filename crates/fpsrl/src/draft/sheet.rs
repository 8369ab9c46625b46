//! The text of a problem file, line by line. Names come from logs, and logs from anywhere: whatever they hold, they
//! become neither a setting nor a command to a terminal.

use std::fmt::Write;

use fpsrl_base::text::number;
use fpsrl_base::visible::message;

/// The column at which remarks begin.
const REMARKS: usize = 36;

/// Lines of a problem file. Writing to a string cannot fail.
#[derive(Debug, Default)]
pub(super) struct Sheet(String);

impl Sheet {
    /// A setting, with a remark on it.
    pub(super) fn line(&mut self, key: &str, value: impl std::fmt::Display, remark: &str) {
        let setting = format!("{key} = {value}");
        let _ = writeln!(self.0, "{setting:<REMARKS$} # {}", plain(remark));
    }

    /// A setting that does not hold until the user says so.
    pub(super) fn example(&mut self, key: &str, value: impl std::fmt::Display, remark: &str) {
        self.line(&format!("# {key}"), plain(&value.to_string()), remark);
    }

    /// A setting that holds only if it is known well enough.
    pub(super) fn line_or_example(&mut self, holds: bool, key: &str, value: impl std::fmt::Display, remark: &str) {
        if holds { self.line(key, value, remark) } else { self.example(key, value, remark) }
    }

    /// The header of a section.
    pub(super) fn section(&mut self, header: &str) {
        let _ = writeln!(self.0, "\n{header}");
    }

    /// A sentence by itself.
    pub(super) fn remark(&mut self, text: &str) {
        let _ = writeln!(self.0, "{}", format!("# {}", plain(text)).trim_end());
    }

    /// An empty line.
    pub(super) fn space(&mut self) {
        self.0.push('\n');
    }

    /// The text.
    pub(super) fn text(self) -> String {
        self.0
    }
}

/// A text for people, on one line, in which whatever acts is shown and long names are shortened.
pub(super) fn plain(text: &str) -> String {
    message(text)
}

/// A range as a TOML list.
pub(super) fn bounds([low, high]: [f64; 2]) -> String {
    format!("[{low:?}, {high:?}]")
}

/// A number for people.
pub(super) fn short(value: f64) -> String {
    if value == 0.0 || (1e-3..1e6).contains(&value.abs()) {
        let text = format!("{value:.4}");
        let text = text.trim_end_matches('0').trim_end_matches('.');
        return if text.is_empty() || text == "-0" { "0".into() } else { text.to_owned() };
    }
    number(value)
}

/// A number with so many digits.
pub(super) fn rounded(value: f64, digits: usize) -> f64 {
    format!("{value:.*e}", digits.max(1) - 1).parse().unwrap_or(value)
}

/// The round number just outside of a range: above its upper end if `outward` is 1, below its lower end if it is -1.
pub(super) fn beyond(end: f64, span: f64, outward: f64) -> f64 {
    let far = end + outward * 0.1 * span;
    let unit = 10f64.powf((0.1 * span).max(1e-300).log10().floor());
    // Digits beyond the twelfth are rounding.
    rounded((far / unit).round() * unit, 12)
}

/// The limits that a log's range suggests: round numbers just outside of it.
pub(super) fn nice_limits(low: f64, high: f64) -> [f64; 2] {
    let span = high - low;
    let near = |value: f64, outward: f64| {
        for digits in 0..3 {
            let size = value.abs().max(1e-300).log10().floor();
            let unit = 10f64.powf(size - f64::from(digits));
            // Digits beyond the twelfth are rounding.
            let round = rounded((value / unit).round() * unit, 13);
            if (round - value).abs() <= 0.02 * span && outward * (round - value) >= -1e-12 * span {
                return round;
            }
        }
        value
    };
    let zero_or = |value: f64, outward: f64| {
        if value.abs() <= 0.02 * span && outward * (0.0 - value) >= 0.0 { 0.0 } else { near(value, outward) }
    };
    if span > 0.0 { [zero_or(low, -1.0), zero_or(high, 1.0)] } else { [low, high] }
}

#[cfg(test)]
mod tests {
    use fpsrl_base::settings::quoted;
    use fpsrl_base::visible::acts;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn limits_are_round_numbers_just_outside() {
        assert_eq!(nice_limits(-0.9998, 0.9991), [-1.0, 1.0]);
        assert_eq!(nice_limits(0.003, 99.7), [0.0, 100.0]);
        assert_eq!(nice_limits(-9.93, 9.99), [-10.0, 10.0]);
        assert_eq!(nice_limits(0.0, 1.0), [0.0, 1.0]);
        let [low, high] = nice_limits(0.1234567, 0.7654321);
        assert!(low <= 0.1234567 && high >= 0.7654321 && low > 0.1 && high < 0.8);
        assert_eq!((beyond(2.21, 2.2, 1.0), beyond(17.8, 6.0, -1.0)), (2.4, 17.2));
    }

    #[test]
    fn numbers_for_people_are_short() {
        assert_eq!(short(0.05), "0.05");
        assert_eq!(short(-1.20000001), "-1.2");
        assert_eq!(short(1e-9), "1.00e-9");
        assert_eq!(short(0.0), "0");
        assert_eq!((rounded(0.012345, 2), rounded(37.6, 1), rounded(0.0, 2)), (0.012, 40.0, 0.0));
    }

    #[test]
    fn remarks_stay_remarks() {
        let mut sheet = Sheet::default();
        sheet.line("name", quoted("a\"b\\c\nd"), "evil\nhorizon = 1\r\u{1b}[2J\u{202e}");
        sheet.example("column", quoted("x\r\nhorizon = 2"), "");
        sheet.remark("one\u{85}horizon = 3\u{7f}");
        let text = sheet.text();
        assert_eq!(text.lines().count(), 3, "{text}");
        let table: toml::Table = toml::from_str(&text).unwrap();
        assert_eq!((table.len(), table["name"].as_str()), (1, Some("a\"b\\c\nd")));
    }

    proptest! {
        #[test]
        fn any_text_comes_back_from_its_quotes_and_no_remark_sets_anything(text in any::<String>()) {
            let mut sheet = Sheet::default();
            sheet.line("name", quoted(&text), &text);
            sheet.example("other", quoted(&text), &text);
            sheet.remark(&text);
            let written = sheet.text();
            let table: toml::Table = toml::from_str(&written).unwrap();
            prop_assert_eq!(table.len(), 1);
            prop_assert_eq!(table["name"].as_str(), Some(text.as_str()));
            prop_assert!(written.chars().all(|c| c == '\n' || !acts(c)));
        }
    }
}
