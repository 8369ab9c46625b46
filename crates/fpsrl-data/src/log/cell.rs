//! Cells of a text file: numbers with a point or a comma, points in time, and the words for what is missing.

/// Words that stand for a missing value, besides those that the problem file adds.
/// Historians write their own for a value that a sensor did not give.
const MISSING: [&str; 20] = [
    "",
    "na",
    "n/a",
    "nan",
    "null",
    "none",
    "nil",
    "#n/a",
    "#nv",
    "-",
    "--",
    "?",
    "bad",
    "bad input",
    "bad value",
    "i/o timeout",
    "no data",
    "nodata",
    "pt created",
    "comm fail",
];

/// Powers of ten that f64 holds exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
];

/// Whether a cell, without the spaces around it, stands for a missing value.
pub(super) fn is_missing(cell: &[u8], more: &[String]) -> bool {
    MISSING.iter().any(|word| cell.eq_ignore_ascii_case(word.as_bytes()))
        || more.iter().any(|word| cell == word.as_bytes())
}

/// The numbers that stand for a missing value, such as -999.
pub(super) fn missing_numbers(more: &[String], decimal: u8) -> Vec<f64> {
    more.iter().filter_map(|word| number(word.trim().as_bytes(), decimal)).collect()
}

/// The number that bytes begin with, and how many bytes it takes; none if they begin with no plain decimal number.
///
/// The value is the nearest f64, as the standard library reads it: few digits are converted by one exact
/// multiplication or division, the others by the standard library.
#[inline]
pub(super) fn leading_number(bytes: &[u8], decimal: u8) -> Option<(f64, usize)> {
    let mut at = 0;
    let negative = match bytes.first() {
        Some(b'-') => {
            at = 1;
            true
        }
        Some(b'+') => {
            at = 1;
            false
        }
        _ => false,
    };
    let first = at;
    let mut mantissa: u64 = 0;
    while let Some(digit) = digit(bytes, at) {
        mantissa = mantissa.wrapping_mul(10).wrapping_add(digit);
        at += 1;
    }
    let mut digits = at - first;
    let mut exponent: i64 = 0;
    if bytes.get(at) == Some(&decimal) {
        at += 1;
        let fraction = at;
        while let Some(eight) = bytes.get(at..at + 8).and_then(eight_digits) {
            mantissa = mantissa.wrapping_mul(100_000_000).wrapping_add(eight);
            at += 8;
        }
        while let Some(digit) = digit(bytes, at) {
            mantissa = mantissa.wrapping_mul(10).wrapping_add(digit);
            at += 1;
        }
        digits += at - fraction;
        exponent = -((at - fraction) as i64);
    }
    if digits == 0 {
        return None;
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let mut end = at + 1;
        let down = match bytes.get(end) {
            Some(b'-') => {
                end += 1;
                true
            }
            Some(b'+') => {
                end += 1;
                false
            }
            _ => false,
        };
        let begin = end;
        let mut written: i64 = 0;
        while let Some(digit) = digit(bytes, end) {
            written = (written * 10 + digit as i64).min(100_000);
            end += 1;
        }
        if end == begin {
            return None;
        }
        exponent += if down { -written } else { written };
        at = end;
    }
    // Up to nineteen digits do not overflow; leading zeros only make the slower way be taken.
    if digits <= 19 && mantissa <= 1 << 53 && exponent.unsigned_abs() <= 22 {
        let size = mantissa as f64;
        let power = POWERS[exponent.unsigned_abs() as usize];
        let value = if exponent < 0 { size / power } else { size * power };
        return Some((if negative { -value } else { value }, at));
    }
    let text = std::str::from_utf8(&bytes[..at]).ok()?;
    let value = if decimal == b'.' { text.parse() } else { text.replacen(char::from(decimal), ".", 1).parse() };
    value.ok().map(|value| (value, at))
}

/// The number of a whole cell.
pub(super) fn number(cell: &[u8], decimal: u8) -> Option<f64> {
    leading_number(cell, decimal).filter(|(_, length)| *length == cell.len()).map(|(value, _)| value)
}

#[inline(always)]
fn digit(bytes: &[u8], at: usize) -> Option<u64> {
    let digit = bytes.get(at)?.wrapping_sub(b'0');
    (digit < 10).then_some(u64::from(digit))
}

/// Eight digits at once: neighbouring digits are joined to pairs, pairs to fours, fours to eight.
#[inline(always)]
fn eight_digits(bytes: &[u8]) -> Option<u64> {
    let word = u64::from_le_bytes(bytes.try_into().ok()?);
    let off = word.wrapping_sub(0x3030_3030_3030_3030);
    // A byte above 9 shows in its upper half, with or without 6 added.
    if (off | off.wrapping_add(0x7676_7676_7676_7676)) & 0x8080_8080_8080_8080 != 0 {
        return None;
    }
    let pairs = off.wrapping_mul(10).wrapping_add(off >> 8);
    let low = (pairs & 0x0000_00ff_0000_00ff).wrapping_mul(0x000f_4240_0000_0064);
    let high = ((pairs >> 16) & 0x0000_00ff_0000_00ff).wrapping_mul(0x0000_2710_0000_0001);
    Some(low.wrapping_add(high) >> 32)
}

/// Yes and no as programs write them.
pub(super) fn flag(cell: &[u8]) -> Option<f64> {
    let is = |word: &str| cell.eq_ignore_ascii_case(word.as_bytes());
    if is("true") { Some(1.0) } else { is("false").then_some(0.0) }
}

/// Whether a cell is an infinity, in words or because it is too large for a number.
pub(super) fn is_infinite(cell: &[u8], decimal: u8) -> bool {
    let cell = cell.strip_prefix(b"-").or(cell.strip_prefix(b"+")).unwrap_or(cell);
    let cell_is = |word: &str| cell.eq_ignore_ascii_case(word.as_bytes());
    cell_is("inf") || cell_is("infinity") || number(cell, decimal).is_some_and(f64::is_infinite)
}

/// Which of day and month comes first in dates such as 03/04/2024.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) enum DateOrder {
    /// 31/12/2024
    DayFirst,
    /// 12/31/2024
    #[default]
    MonthFirst,
}

/// A point in time as seconds: ISO 8601, `31.12.2024 23:59:59`, `12/31/2024 11:59:59 PM`, or a time of day.
pub(super) fn time(cell: &[u8], order: DateOrder) -> Option<f64> {
    let text = std::str::from_utf8(cell).ok()?.trim();
    if text.is_empty() {
        return None;
    }
    let separator = text.find(['T', ' ']);
    let (date, clock) = match separator {
        Some(at) => (&text[..at], text[at + 1..].trim()),
        None if text.contains(':') => ("", text),
        None => (text, ""),
    };
    let days = if date.is_empty() { 0.0 } else { days(date, order)? };
    let seconds = if clock.is_empty() { 0.0 } else { clock_seconds(clock)? };
    Some(days * 86_400.0 + seconds)
}

/// The three numbers of a date as they stand there, and whether the year comes first.
pub(super) fn date_parts(date: &str) -> Option<([u32; 3], bool, char)> {
    let separator = date.chars().find(|c| !c.is_ascii_digit()).filter(|c| matches!(c, '-' | '/' | '.'))?;
    let mut parts = [0; 3];
    let mut count = 0;
    for (index, part) in date.split(separator).enumerate() {
        let fits = (1..=4).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
        *parts.get_mut(index).filter(|_| fits)? = part.parse().ok()?;
        count += 1;
    }
    let year_first = date.find(separator) == Some(4);
    (count == 3).then_some((parts, year_first, separator))
}

/// Days since 1970-01-01.
fn days(date: &str, order: DateOrder) -> Option<f64> {
    let ([first, second, third], year_first, separator) = date_parts(date)?;
    let (year, month, day) = match (year_first, separator, order) {
        (true, ..) => (first, second, third),
        (false, '.', _) | (false, _, DateOrder::DayFirst) => (third, second, first),
        (false, _, DateOrder::MonthFirst) => (third, first, second),
    };
    let year = if year < 100 { year + 2000 } else { year };
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || year > 9999 {
        return None;
    }
    // Years that begin in March have their odd day at the end: days of a year and of 400 years follow in closed form.
    let (year, month) = if month <= 2 { (i64::from(year) - 1, month + 9) } else { (i64::from(year), month - 3) };
    let of_year = (153 * i64::from(month) + 2) / 5 + i64::from(day) - 1;
    let days = 365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + of_year;
    Some((days - 719_468) as f64)
}

/// Seconds of a time of day, less those of its offset from UTC.
fn clock_seconds(clock: &str) -> Option<f64> {
    let (clock, afternoon) = match clock.to_ascii_lowercase() {
        lower if lower.ends_with("am") => (clock[..clock.len() - 2].trim_end(), Some(false)),
        lower if lower.ends_with("pm") => (clock[..clock.len() - 2].trim_end(), Some(true)),
        _ => (clock, None),
    };
    let clock = clock.strip_suffix(['Z', 'z']).unwrap_or(clock).trim_end();
    let (clock, offset) = match clock.rfind(['+', '-']) {
        Some(at) => {
            let sign = if clock.as_bytes()[at] == b'-' { -1.0 } else { 1.0 };
            let digits: String = clock[at + 1..].chars().filter(|c| *c != ':').collect();
            if !(digits.len() == 2 || digits.len() == 4) {
                return None;
            }
            let hours: f64 = digits[..2].parse().ok()?;
            let minutes: f64 = digits.get(2..4).map_or(Ok(0.0), str::parse).ok()?;
            (clock[..at].trim_end(), sign * (3_600.0 * hours + 60.0 * minutes))
        }
        None => (clock, 0.0),
    };
    let mut parts = clock.split(':');
    let mut whole = |limit: f64| -> Option<f64> {
        let part = parts.next()?;
        let fits = (1..=2).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
        part.parse().ok().filter(|value: &f64| fits && *value < limit)
    };
    let (mut hours, minutes) = (whole(25.0)?, whole(60.0)?);
    let seconds = match parts.next() {
        None => 0.0,
        Some(part) => number(part.replace(',', ".").as_bytes(), b'.').filter(|value| (0.0..61.0).contains(value))?,
    };
    if parts.next().is_some() {
        return None;
    }
    if let Some(afternoon) = afternoon {
        hours = hours % 12.0 + if afternoon { 12.0 } else { 0.0 };
    }
    Some(3_600.0 * hours + 60.0 * minutes + seconds - offset)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_read_as_the_standard_library_reads_them(value in prop::num::f64::NORMAL | prop::num::f64::ZERO) {
            for text in [format!("{value:?}"), format!("{value}"), format!("{value:e}"), format!("{value:.3}")] {
                let expected: f64 = text.parse().unwrap();
                prop_assert_eq!(number(text.as_bytes(), b'.').map(f64::to_bits), Some(expected.to_bits()), "{}", text);
                let comma = text.replace('.', ",");
                prop_assert_eq!(number(comma.as_bytes(), b',').map(f64::to_bits), Some(expected.to_bits()));
            }
        }

        #[test]
        fn digits_of_any_length_read_as_the_standard_library_reads_them(
            text in "[+-]?[0-9]{1,24}(\\.[0-9]{0,24})?([eE][+-]?[0-9]{1,3})?"
        ) {
            let expected: f64 = text.parse().unwrap();
            prop_assert_eq!(number(text.as_bytes(), b'.').map(f64::to_bits), Some(expected.to_bits()), "{}", text);
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..40), text in "[-+0-9.eE:TZ /apm]{0,30}") {
            for cell in [bytes.as_slice(), text.as_bytes()] {
                let _ = (leading_number(cell, b'.'), number(cell, b','), time(cell, DateOrder::DayFirst));
                let _ = (is_infinite(cell, b'.'), is_missing(cell, &[]));
            }
        }
    }

    #[test]
    fn what_is_no_number_is_none() {
        for text in ["", "-", ".", "e5", "1e", "1.2.3", "0x10", "1_000", "12a", "nan", "1,5", "--1"] {
            assert_eq!(number(text.as_bytes(), b'.'), None, "{text}");
        }
        assert!(is_infinite(b"-inf", b'.') && is_infinite(b"1e999", b'.') && !is_infinite(b"1e9", b'.'));
    }

    #[test]
    fn points_in_time_are_told_in_every_common_form() {
        let at = |text: &str| time(text.as_bytes(), DateOrder::MonthFirst);
        assert_eq!(at("1970-01-01T00:00:00Z"), Some(0.0));
        assert_eq!(at("2024-02-29 12:30:15.25"), Some(1_709_209_815.25));
        assert_eq!(at("29.02.2024 12:30:15,25"), Some(1_709_209_815.25));
        assert_eq!(at("02/29/2024 12:30:15 PM"), Some(1_709_209_815.0));
        assert_eq!(at("2/29/24 12:30"), Some(1_709_209_800.0));
        assert_eq!(time(b"29/02/2024 12:30", DateOrder::DayFirst), Some(1_709_209_800.0));
        assert_eq!(at("2024-02-29T14:30:15+02:00"), Some(1_709_209_815.0));
        assert_eq!(at("00:01:30.5"), Some(90.5));
        for text in ["", "2024-13-01", "12:61", "hello", "2024", "12:30:99", "1.5", "1:2:3:4", "2024-02-29T14:30+2"] {
            assert_eq!(at(text), None, "{text}");
        }
    }
}
