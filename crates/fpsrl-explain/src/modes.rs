//! Modes: inputs of a few words, such as COMFORT and ECO. A rule holds in one of them, or does not look.

use fpsrl_base::text::{number, with_unit};
use fpsrl_engine::policy::{Quantity, Rule};

/// The number of a mode that is nearest to a value, of so many.
pub(crate) fn nearest(value: f64, count: usize) -> usize {
    // A number that is none counts as the first.
    (value.round().max(0.0) as usize).min(count.saturating_sub(1))
}

/// The mode that a rule holds in; none if it holds in any, or if the variable is no mode.
pub fn mode_of<'a>(quantity: &'a Quantity, rule: &Rule, variable: usize) -> Option<&'a str> {
    if rule.ignores(variable) {
        return None;
    }
    quantity.values.get(nearest(rule.centre[variable], quantity.values.len())).map(String::as_str)
}

/// The modes that a rule holds in, one of each input that has modes and that it looks at.
///
/// ```
/// use fpsrl_engine::policy::{MODE_WIDTH, Quantity, Rule};
/// let mode = Quantity { values: vec!["COMFORT".into(), "ECO".into()], ..Quantity::new("Mode", "") };
/// let rule = Rule { centre: vec![1.0], width: vec![MODE_WIDTH], output: 0.0 };
/// assert_eq!(fpsrl_explain::modes_of(&[mode], &rule), ["ECO"]);
/// ```
pub fn modes_of<'a>(states: &'a [Quantity], rule: &Rule) -> Vec<&'a str> {
    states.iter().enumerate().filter_map(|(variable, state)| mode_of(state, rule, variable)).collect()
}

/// Whether two rules can hold at once: they do not ask for different modes.
pub fn may_meet(states: &[Quantity], one: &Rule, two: &Rule) -> bool {
    states.iter().enumerate().all(|(variable, state)| {
        let modes = (mode_of(state, one, variable), mode_of(state, two, variable));
        !matches!(modes, (Some(one), Some(two)) if one != two)
    })
}

/// A value as people say it: a mode's word, or a number with its unit.
///
/// ```
/// let modes = ["COMFORT".to_owned(), "ECO".to_owned()];
/// assert_eq!(fpsrl_explain::told_value(&modes, 1.0, ""), "ECO");
/// assert_eq!(fpsrl_explain::told_value(&[], 1.5, "m"), "1.5 m");
/// ```
pub fn told_value(modes: &[String], value: f64, unit: &str) -> String {
    match modes.get(nearest(value, modes.len())) {
        Some(word) => word.clone(),
        None => with_unit(&number(value), unit),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use fpsrl_engine::policy::{ANYWHERE, MODE_WIDTH};

    pub(crate) fn quantity(count: usize) -> Quantity {
        Quantity { values: (0..count).map(|mode| format!("mode {mode}")).collect(), ..Quantity::new("m", "") }
    }

    pub(crate) fn rule(mode: Option<f64>) -> Rule {
        let width = mode.map_or(ANYWHERE, |_| MODE_WIDTH);
        Rule { centre: vec![mode.unwrap_or(0.0)], width: vec![width], output: 0.0 }
    }

    #[test]
    fn rules_of_different_modes_never_meet() {
        let states = [quantity(3)];
        assert!(!may_meet(&states, &rule(Some(1.0)), &rule(Some(2.0))));
        assert!(may_meet(&states, &rule(Some(1.0)), &rule(Some(1.0))));
        assert!(may_meet(&states, &rule(Some(1.0)), &rule(None)));
        assert!(may_meet(&[Quantity::new("x", "m")], &rule(Some(1.0)), &rule(Some(2.0))));
    }
}
