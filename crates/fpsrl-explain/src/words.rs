//! Each rule as a sentence.

use std::f64::consts::PI;

use super::modes::{mode_of, modes_of};
use fpsrl_base::text::{count, number, with_unit};
use fpsrl_base::visible::visible;
use fpsrl_data::System;
use fpsrl_engine::policy::{ActionRules, Derived, FuzzyPolicy, Quantity, Rule};

/// Each rule of a policy as a sentence, action by action.
///
/// What follows THEN is the action that the rule takes when it alone is active. Conditions that hold everywhere are
/// left out. A rule that holds in a mode only begins with that: "in ECO: IF ...".
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
        .flat_map(|action| action.rules.iter().map(move |rule| visible(&sentence(policy, action, rule)).into_owned()))
        .collect()
}

fn sentence(policy: &FuzzyPolicy, action: &ActionRules, rule: &Rule) -> String {
    let conditions: Vec<String> = policy
        .states
        .iter()
        .enumerate()
        .filter(|(variable, state)| !rule.ignores(*variable) && state.values.is_empty())
        .map(|(variable, state)| format!("{} is around {}", state.name, condition_words(state, rule, variable)))
        .collect();
    let alone = ActionRules { rules: vec![rule.clone()], ..action.clone() };
    let wanted = with_unit(&number(noticeable(alone.alone(0), action.limits)), &action.unit);
    let consequence = format!("{} {wanted}", action.name);
    let modes = modes_of(&policy.states, rule).join(" and ");
    match (modes.is_empty(), conditions.is_empty()) {
        (true, true) => format!("ALWAYS {consequence}"),
        (false, true) => format!("in {modes}: {consequence}"),
        (true, false) => format!("IF {} THEN {consequence}", conditions.join(" AND ")),
        (false, false) => format!("in {modes}: IF {} THEN {consequence}", conditions.join(" AND ")),
    }
}

/// A condition in a few words: "any" where the rule does not look, the word of a mode, or [`around`].
pub fn condition_words(quantity: &Quantity, rule: &Rule, variable: usize) -> String {
    match (rule.ignores(variable), mode_of(quantity, rule, variable)) {
        (true, _) => "any".to_owned(),
        (false, Some(mode)) => mode.to_owned(),
        (false, None) => around(quantity, rule.centre[variable], rule.width[variable]),
    }
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

/// Inputs that are worth a picture: all but a state and its set-point of which the rules see nothing but the error.
pub fn shown_inputs(policy: &FuzzyPolicy) -> Vec<usize> {
    let unused = unused_inputs(policy);
    let is_compared = |variable: usize| {
        policy.states.iter().any(|one| {
            matches!(one.derived, Some(Derived::Error { state, set_point }) if [state, set_point].contains(&variable))
        })
    };
    let hidden = |variable: usize| is_compared(variable) && unused.contains(&policy.states[variable].name.as_str());
    (0..policy.states.len()).filter(|variable| !hidden(*variable)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fpsrl_engine::policy::{ANYWHERE, MODE_WIDTH};

    /// A hall's heater by the error, in one of two modes, by day or at night.
    fn hall(error: Option<[f64; 2]>, mode: Option<f64>, shift: Option<f64>) -> FuzzyPolicy {
        let modes = |name: &str, words: [&str; 2]| Quantity {
            values: words.map(str::to_owned).to_vec(),
            ..Quantity::new(name, "")
        };
        let derived = Some(Derived::Error { state: 0, set_point: 1 });
        let [centre, width] = error.unwrap_or([0.0, ANYWHERE]);
        let of = |mode: Option<f64>| mode.map_or([0.0, ANYWHERE], |mode| [mode, MODE_WIDTH]);
        let conditions = [[0.0, ANYWHERE], [0.0, ANYWHERE], of(mode), of(shift), [centre, width]];
        FuzzyPolicy {
            states: vec![
                Quantity::new("PV", "degC"),
                Quantity::new("SP", "degC"),
                modes("Mode", ["COMFORT", "ECO"]),
                modes("Shift", ["day", "night"]),
                Quantity { derived, ..Quantity::new("PV_error", "degC") },
            ],
            mirrored: false,
            actions: vec![ActionRules {
                name: "OUT".into(),
                unit: "%".into(),
                limits: [0.0, 100.0],
                rate: None,
                reach: 3.0,
                alpha: 20.0,
                rules: vec![Rule {
                    centre: conditions.map(|[centre, _]| centre).to_vec(),
                    width: conditions.map(|[_, width]| width).to_vec(),
                    output: 0.9,
                }],
            }],
        }
    }

    #[test]
    fn a_rule_says_first_in_which_modes_it_holds() {
        let told = |error, mode, shift| sentences(&hall(error, mode, shift)).remove(0);
        let error = Some([0.5, 2.1]);
        assert_eq!(told(error, Some(1.0), None), "in ECO: IF PV_error is around 0.5 ± 2.1 degC THEN OUT 100 %");
        assert_eq!(
            told(error, Some(1.0), Some(1.0)),
            "in ECO and night: IF PV_error is around 0.5 ± 2.1 degC THEN OUT 100 %"
        );
        assert_eq!(told(error, None, None), "IF PV_error is around 0.5 ± 2.1 degC THEN OUT 100 %");
        assert_eq!(told(None, Some(0.0), None), "in COMFORT: OUT 100 %");
        assert_eq!(told(None, None, None), "ALWAYS OUT 100 %");
    }

    #[test]
    fn a_condition_is_any_or_a_mode_or_a_place() {
        let policy = hall(Some([0.5, 2.1]), Some(1.0), None);
        let words = |variable: usize| condition_words(&policy.states[variable], &policy.actions[0].rules[0], variable);
        assert_eq!([0, 2, 3, 4].map(words), ["any", "ECO", "any", "0.5 ± 2.1 degC"]);
        assert_eq!(shown_inputs(&policy), [2, 3, 4]);
    }

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
