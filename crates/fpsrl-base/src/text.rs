//! Numbers for people.

/// A number with as many digits as a person wants to read: three significant ones.
///
/// ```
/// use fpsrl_base::text::number;
/// assert_eq!(number(-0.012345), "-0.0123");
/// assert_eq!(number(31.0), "31");
/// assert_eq!(number(1234567.0), "1.23e6");
/// ```
pub fn number(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{}", if value == 0.0 { 0.0 } else { value });
    }
    let magnitude = value.abs().log10().floor() as i32;
    if !(-4..6).contains(&magnitude) {
        return format!("{value:.2e}");
    }
    let text = format!("{value:.*}", (2 - magnitude).max(0) as usize);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// A count with its thousands apart.
///
/// ```
/// use fpsrl_base::text::count;
/// assert_eq!([count(0), count(999), count(12_345_678)], ["0", "999", "12,345,678"]);
/// ```
pub fn count(number: usize) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> = digits.as_bytes().rchunks(3).rev().filter_map(|group| str::from_utf8(group).ok()).collect();
    groups.join(",")
}

/// A number with its unit, if it has one.
pub fn with_unit(number: &str, unit: &str) -> String {
    if unit.is_empty() { number.to_owned() } else { format!("{number} {unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_three_digits_and_no_more() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "0"),
            (0.9999, "1"),
            (12.345, "12.3"),
            (123.456, "123"),
            (-98765.4, "-98765"),
            (0.00012345, "0.000123"),
            (1.5e-9, "1.50e-9"),
        ] {
            assert_eq!(number(value), text, "{value}");
        }
    }
}
