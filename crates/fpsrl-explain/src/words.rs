//! Each rule as a sentence.

use std::f64::consts::PI;

use fpsrl_base::text::{count, number, with_unit};
use fpsrl_data::System;
use fpsrl_engine::policy::{ActionRules, FuzzyPolicy, Quantity, Rule};

/// Each rule of a policy as a sentence, action by action.
///
/// What follows THEN is the action that the rule takes when it alone is active. Conditions that hold everywhere are
/// left out.
///
/// ```
/// use fpsrl_engine::policy::{ActionRules, FuzzyPolicy, Quantity, Rule};
/// let policy = FuzzyPolicy {
///     states: vec![Quantity::new("velocity", "m/s")],
///     mirrored: false,
///     actions: vec![ActionRules {
///         name: "force".into(),
///         unit: "N".into(),
///         limits: [-1.0, 1.0],
///         rate: None,
///         reach: 1.0,
///         alpha: 20.0,
///         rules: vec![Rule { centre: vec![-0.8], width: vec![0.3], output: -0.9 }],
///     }],
/// };
/// assert_eq!(
///     fpsrl_explain::sentences(&policy),
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
pub fn around(quantity: &Quantity, centre: f64, width: f64) -> String {
    let text = with_unit(&format!("{} ± {}", number(centre), number(width)), &quantity.unit);
    // What reaches all around has no side.
    let across = quantity.periodic && width < PI && centre.abs() + width > PI;
    if across { format!("{text} (across ±π)") } else { text }
}

/// A number, or 0 if it is next to nothing in its range.
pub fn noticeable(value: f64, [low, high]: [f64; 2]) -> f64 {
    if value.abs() < 1e-4 * (high - low) { 0.0 } else { value }
}

/// What a return is, in a few words: how many rewards, and how much the last one counts.
///
/// ```
/// let system = fpsrl_data::System::benchmark("mountain-car")?;
/// assert_eq!(fpsrl_explain::what_returns_are(&system), "rewards of 200 steps, later ones count less: the last one 5 %");
/// # Ok::<(), fpsrl_base::Error>(())
/// ```
pub fn what_returns_are(system: &System) -> String {
    let steps = count(system.horizon());
    match system.discount_q() {
        whole if whole >= 1.0 => format!("the sum of the rewards of {steps} steps"),
        last => format!("rewards of {steps} steps, later ones count less: the last one {} %", number(100.0 * last)),
    }
}

/// What doing nothing does: every action stays in the middle of its limits.
///
/// ```
/// let system = fpsrl_data::System::benchmark("mountain-car")?;
/// assert_eq!(fpsrl_explain::doing_nothing(&system), "force 0 N all the time");
/// # Ok::<(), fpsrl_base::Error>(())
/// ```
pub fn doing_nothing(system: &System) -> String {
    let stays = system.actions().iter().map(|action| {
        let middle = 0.5 * (action.limits[0] + action.limits[1]);
        format!("{} {}", action.name, with_unit(&number(noticeable(middle, action.limits)), &action.unit))
    });
    format!("{} all the time", stays.collect::<Vec<String>>().join(", "))
}

/// Inputs that no rule of a policy looks at, by name.
pub fn unused_inputs(policy: &FuzzyPolicy) -> Vec<&str> {
    let unused = |variable: usize| policy.actions.iter().all(|action| action.rules.iter().all(|r| r.ignores(variable)));
    policy.states.iter().enumerate().filter(|(variable, _)| unused(*variable)).map(|(_, s)| s.name.as_str()).collect()
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
}
