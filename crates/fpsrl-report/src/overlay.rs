//! Stability: the rules of several runs laid over each other, so that one sees what is found every time.

use super::OtherRun;
use fpsrl_data::Transitions;
use fpsrl_engine::policy::{ActionRules, FuzzyPolicy, Quantity, Rule};
use fpsrl_explain::DataProfile;

/// States of the log in which policies are compared.
const COMPARED: usize = 2_000;

/// Another run of the same problem.
#[derive(Clone, Debug)]
pub(super) struct Overlay {
    /// Its directory's name.
    pub(super) name: String,
    pub(super) seed: u64,
    pub(super) model_return: Option<f64>,
    pub(super) true_return: Option<f64>,
    /// Its policy, with the rules of each action in the order of those that they match.
    pub(super) policy: FuzzyPolicy,
    /// The share of logged states in which it acts alike: within a tenth of each action's range.
    pub(super) agreement: f64,
}

/// Lays the rules of other runs over these.
pub(super) fn overlays(
    policy: &FuzzyPolicy,
    others: Vec<OtherRun>,
    profile: &DataProfile,
    transitions: &Transitions,
) -> Vec<Overlay> {
    let lay = |other: OtherRun| {
        let OtherRun { name, seed, policy: mut matched, summary } = other;
        for (own, base) in policy.actions.iter().zip(&mut matched.actions) {
            match_rules(&policy.states, own, base, profile);
        }
        Overlay {
            name,
            seed,
            model_return: summary.model_return,
            true_return: summary.true_return,
            agreement: agreement(policy, &matched, profile, transitions),
            policy: matched,
        }
    };
    others.into_iter().map(lay).collect()
}

/// Puts the rules of `base` into the order of the rules of `own` that they are most like; those left over come last.
fn match_rules(states: &[Quantity], own: &ActionRules, base: &mut ActionRules, profile: &DataProfile) {
    let unlike = |rule: &Rule, other: &Rule| difference(states, rule, other, profile);
    let mut left: Vec<Rule> = std::mem::take(&mut base.rules);
    for rule in &own.rules {
        let nearest = (0..left.len()).min_by(|a, b| unlike(rule, &left[*a]).total_cmp(&unlike(rule, &left[*b])));
        if let Some(nearest) = nearest {
            base.rules.push(left.remove(nearest));
        }
    }
    base.rules.append(&mut left);
}

/// How unlike two rules are: what they want counts most, then where they are.
pub(super) fn difference(states: &[Quantity], a: &Rule, b: &Rule, profile: &DataProfile) -> f64 {
    let wanted = 2.0 * (a.output - b.output).abs();
    let places = profile.inputs.iter().enumerate().take(a.centre.len()).map(|(variable, input)| {
        let span = input.range[1] - input.range[0];
        // Where both are wide, it does not matter where their centres are.
        let reach = (a.width[variable].min(b.width[variable]) / span).max(1e-3);
        (states[variable].difference(a.centre[variable], b.centre[variable]) / span / reach).abs().min(2.0)
    });
    wanted + places.sum::<f64>() / a.centre.len().max(1) as f64
}

fn agreement(a: &FuzzyPolicy, b: &FuzzyPolicy, profile: &DataProfile, transitions: &Transitions) -> f64 {
    let rows = profile.sample(COMPARED);
    let alike = rows.iter().filter(|&&row| {
        let state: Vec<f64> = transitions.states.iter().map(|column| column[row]).collect();
        let acts = a.act(&state).into_iter().zip(b.act(&state)).zip(&a.actions);
        acts.into_iter().all(|((x, y), action)| (x - y).abs() <= 0.1 * (action.limits[1] - action.limits[0]))
    });
    alike.count() as f64 / rows.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use fpsrl_explain::InputProfile;

    #[test]
    fn rules_are_matched_by_what_they_want_and_where() {
        let rule = |centre: f64, output: f64| Rule { centre: vec![centre], width: vec![0.5], output };
        let base = |rules: Vec<Rule>| ActionRules {
            name: "a".into(),
            unit: String::new(),
            limits: [-1.0, 1.0],
            rate: None,
            reach: 1.0,
            alpha: 1.0,
            rules,
        };
        let profile = DataProfile {
            inputs: vec![InputProfile { range: [-2.0, 2.0], histogram: vec![0; 40] }],
            moving: Vec::new(),
        };
        let own = base(vec![rule(-1.0, -1.0), rule(1.0, 1.0), rule(0.0, 1.0)]);
        let mut other = base(vec![rule(0.1, 0.9), rule(1.1, 0.8), rule(-0.7, -0.9), rule(0.0, 0.0)]);
        match_rules(&[Quantity::new("s", "")], &own, &mut other, &profile);
        let centres: Vec<f64> = other.rules.iter().map(|rule| rule.centre[0]).collect();
        assert_eq!(centres, [-0.7, 1.1, 0.1, 0.0]);
        // On a circle, what is just beyond half a turn is near to what is just before it.
        let angle = Quantity { periodic: true, ..Quantity::new("s", "rad") };
        let mut other = base(vec![rule(2.0, 1.0), rule(-3.1, 1.0)]);
        match_rules(&[angle], &base(vec![rule(3.1, 1.0)]), &mut other, &profile);
        assert_eq!(other.rules[0].centre[0], -3.1);
    }
}
