//! Each rule as a sentence.

use std::f64::consts::PI;

use crate::policy::{ActionRules, FuzzyPolicy, Quantity, Rule};

/// Each rule of a policy as a sentence, action by action.
///
/// What follows THEN is the action that the rule takes when it alone is active. Conditions that hold everywhere are
/// left out.
///
/// ```
/// use fpsrl::policy::{ActionRules, FuzzyPolicy, Quantity, Rule};
/// let policy = FuzzyPolicy {
///     states: vec![Quantity::new("velocity", "m/s")],
///     mirrored: false,
///     actions: vec![ActionRules {
///         name: "force".into(),
///         unit: "N".into(),
///         limits: [-1.0, 1.0],
///         rate: None,
///         alpha: 20.0,
///         rules: vec![Rule { centre: vec![-0.8], width: vec![0.3], output: -0.9 }],
///     }],
/// };
/// assert_eq!(
///     fpsrl::explain::sentences(&policy),
///     ["IF velocity is around -0.8 ± 0.3 m/s THEN force -1 N"]
/// );
/// ```
pub fn sentences(policy: &FuzzyPolicy) -> Vec<String> {
    policy
        .actions
        .iter()
        .flat_map(|action| action.rules.iter().map(move |rule| sentence(policy, action, rule)))
        .collect()
}

fn sentence(policy: &FuzzyPolicy, action: &ActionRules, rule: &Rule) -> String {
    let conditions: Vec<String> = policy
        .states
        .iter()
        .zip(rule.centre.iter().zip(&rule.width))
        .enumerate()
        .filter(|(variable, _)| !rule.ignores(*variable))
        .map(|(_, (state, (centre, width)))| format!("{} is around {}", state.name, around(state, *centre, *width)))
        .collect();
    let alone = ActionRules { rules: vec![rule.clone()], ..action.clone() };
    let wanted = with_unit(&number(noticeable(alone.alone(0), action.limits)), &action.unit);
    let consequence = format!("{} {wanted}", action.name);
    if conditions.is_empty() {
        return format!("ALWAYS {consequence}");
    }
    format!("IF {} THEN {consequence}", conditions.join(" AND "))
}

/// Where a condition holds, such as 0.5 ± 0.1 m. Of an angle it is said if that reaches across ±π.
pub(crate) fn around(quantity: &Quantity, centre: f64, width: f64) -> String {
    let text = with_unit(&format!("{} ± {}", number(centre), number(width)), &quantity.unit);
    // What reaches all around has no side.
    let across = quantity.periodic && width < PI && centre.abs() + width > PI;
    if across { format!("{text} (across ±π)") } else { text }
}

/// A number with its unit, if it has one.
pub(crate) fn with_unit(number: &str, unit: &str) -> String {
    if unit.is_empty() { number.to_owned() } else { format!("{number} {unit}") }
}

/// A number, or 0 if it is next to nothing in its range.
pub(crate) fn noticeable(value: f64, [low, high]: [f64; 2]) -> f64 {
    if value.abs() < 1e-4 * (high - low) { 0.0 } else { value }
}

/// Inputs that no rule of a policy looks at, by name.
pub fn unused_inputs(policy: &FuzzyPolicy) -> Vec<&str> {
    let unused = |variable: usize| policy.actions.iter().all(|action| action.rules.iter().all(|r| r.ignores(variable)));
    policy.states.iter().enumerate().filter(|(variable, _)| unused(*variable)).map(|(_, s)| s.name.as_str()).collect()
}

/// A number with as many digits as a person wants to read: three significant ones.
///
/// ```
/// use fpsrl::explain::number;
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
/// use fpsrl::explain::count;
/// assert_eq!([count(0), count(999), count(12_345_678)], ["0", "999", "12,345,678"]);
/// ```
pub fn count(number: usize) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> = digits.as_bytes().rchunks(3).rev().filter_map(|group| str::from_utf8(group).ok()).collect();
    groups.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_that_reaches_across_half_a_turn_says_so() {
        let angle = Quantity { periodic: true, ..Quantity::new("theta", "rad") };
        assert_eq!(around(&angle, 3.0, 0.5), "3 ± 0.5 rad (across ±π)");
        assert_eq!(around(&angle, -3.0, 0.5), "-3 ± 0.5 rad (across ±π)");
        assert_eq!(around(&angle, 0.5, 0.5), "0.5 ± 0.5 rad");
        assert_eq!(around(&angle, 0.5, 9.0), "0.5 ± 9 rad");
        assert_eq!(around(&Quantity::new("theta", "rad"), 3.0, 0.5), "3 ± 0.5 rad");
    }

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
