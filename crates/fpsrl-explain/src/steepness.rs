//! How sharply an action switches between its rules: what the slope α (equation 4) means in the units of the variables.

use std::f64::consts::PI;

use super::modes::may_meet;
use fpsrl_base::text::{number, with_unit};
use fpsrl_engine::policy::{ActionRules, FuzzyPolicy, Rule};

/// The share of the way from the middle to a limit that counts as nearly all of it.
const NEARLY: f64 = 0.9;

/// 90 % of an action's range, and on the other side 10 %, as a share of the way from the middle to a limit.
const MOST: f64 = 0.8;

/// Steps on either side in which a line is searched for places where the action switches.
const STEPS: usize = 200;

/// Widths beyond the centres within which an action must have switched.
const REACH: f64 = 4.0;

/// More rules than these are not compared pair by pair: the sentence is not worth the time.
const MOST_COMPARED: usize = 12;

/// Variables of which half the way is told too; more make no short sentence.
const MOST_TOLD: usize = 2;

/// Of each action, a sentence on how far it is from one rule to the other; none where that cannot be told.
///
/// ```
/// use fpsrl_engine::policy::{ActionRules, FuzzyPolicy, Quantity, Rule};
/// let rule = Rule { centre: vec![-1.0], width: vec![1.0], output: -1.0 };
/// let policy = FuzzyPolicy {
///     states: vec![Quantity::new("temperature", "K")],
///     mirrored: true,
///     actions: vec![ActionRules {
///         name: "heater".into(),
///         unit: "W".into(),
///         limits: [-1.0, 1.0],
///         rate: None,
///         reach: 1.0,
///         alpha: 5.0,
///         rules: vec![rule.clone(), rule.mirror()],
///     }],
/// };
/// let told = "heater: 90 % of the way to its limit is reached 0.303 K of temperature beside the switching point, half \
///             at 0.11 K";
/// assert_eq!(fpsrl_explain::steepness(&policy), [Some(told.to_owned())]);
/// ```
pub fn steepness(policy: &FuzzyPolicy) -> Vec<Option<String>> {
    policy
        .actions
        .iter()
        .map(|action| match action.rules.as_slice() {
            [_] => None,
            [one, two] => between_two(policy, action, one, two),
            _ => between_many(policy, action),
        })
        .collect()
}

/// Two rules: how far beside the switching point the action is nearly at its limit, along each variable that both look at.
fn between_two(policy: &FuzzyPolicy, action: &ActionRules, one: &Rule, two: &Rule) -> Option<String> {
    let mut told: Vec<(usize, [f64; 2])> = Vec::new();
    for variable in common(policy, one, two) {
        let line = Line::between(policy, action, one, two, variable);
        let Some(crossing) = line.crossings().into_iter().min_by(|a, b| line.beside(*a).total_cmp(&line.beside(*b)))
        else {
            continue;
        };
        // Of both sides the slower one, so that the sentence holds on either.
        let far = |share: f64| Some(line.reached(crossing, 1.0, share)?.max(line.reached(crossing, -1.0, share)?));
        if let (Some(nearly), Some(half)) = (far(NEARLY), far(0.5)) {
            told.push((variable, [nearly, half]));
        }
    }
    if told.is_empty() {
        return None;
    }
    let listed = |which: usize, named: bool| {
        let words = told.iter().map(|(variable, far)| {
            let state = &policy.states[*variable];
            let far = with_unit(&number(far[which]), &state.unit);
            if named { format!("{far} of {}", state.name) } else { far }
        });
        alternatives(words.collect())
    };
    let half = match told.len() {
        ..=MOST_TOLD => format!(", half at {}", listed(1, false)),
        _ => String::new(),
    };
    Some(format!(
        "{}: 90 % of the way to its limit is reached {} beside the switching point{half}",
        action.name,
        listed(0, true)
    ))
}

/// More rules: the steepest change between two of them, in widths of their conditions.
fn between_many(policy: &FuzzyPolicy, action: &ActionRules) -> Option<String> {
    let rules = &action.rules;
    if rules.len() > MOST_COMPARED {
        return None;
    }
    let mut steepest: Option<(f64, f64, usize)> = None;
    for (index, one) in rules.iter().enumerate() {
        for two in &rules[index + 1..] {
            for variable in common(policy, one, two) {
                let line = Line::between(policy, action, one, two, variable);
                let width = one.width[variable].min(two.width[variable]);
                for crossing in line.crossings() {
                    let (up, down) = (line.reached(crossing, 1.0, MOST), line.reached(crossing, -1.0, MOST));
                    if let (Some(up), Some(down)) = (up, down)
                        && steepest.is_none_or(|(least, ..)| (up + down) / width < least)
                    {
                        steepest = Some(((up + down) / width, up + down, variable));
                    }
                }
            }
        }
    }
    let (_, far, variable) = steepest?;
    let state = &policy.states[variable];
    let far = with_unit(&number(far), &state.unit);
    Some(format!("{}: between rules it changes from 10 % to 90 % within {far} of {}", action.name, state.name))
}

/// Quantities that two rules both look at; none if they never hold at once. Between two modes there is no way.
fn common(policy: &FuzzyPolicy, one: &Rule, two: &Rule) -> Vec<usize> {
    let is_common = |variable: &usize| {
        policy.states[*variable].values.is_empty() && !one.ignores(*variable) && !two.ignores(*variable)
    };
    if !may_meet(&policy.states, one, two) {
        return Vec::new();
    }
    (0..one.centre.len()).filter(is_common).collect()
}

/// a, b or c
fn alternatives(mut words: Vec<String>) -> String {
    match words.pop() {
        Some(last) if !words.is_empty() => format!("{} or {last}", words.join(", ")),
        last => last.unwrap_or_default(),
    }
}

/// A line along one variable; all others are in the middle between the centres of two rules.
struct Line<'a> {
    policy: &'a FuzzyPolicy,
    action: &'a ActionRules,
    middle: Vec<f64>,
    variable: usize,
    /// How far the line goes on either side.
    reach: f64,
}

impl<'a> Line<'a> {
    fn between(policy: &'a FuzzyPolicy, action: &'a ActionRules, one: &Rule, two: &Rule, variable: usize) -> Self {
        let centre = |variable: usize| {
            let state = &policy.states[variable];
            let (first, second) = (one.centre[variable], state.nearest(two.centre[variable], one.centre[variable]));
            match [one.ignores(variable), two.ignores(variable)] {
                [true, _] => second,
                [_, true] => first,
                _ => 0.5 * (first + second),
            }
        };
        let middle: Vec<f64> = (0..policy.states.len()).map(centre).collect();
        let apart = (one.centre[variable] - middle[variable]).abs();
        let reach = apart + REACH * one.width[variable].max(two.width[variable]);
        let reach = if policy.states[variable].periodic { reach.min(PI) } else { reach };
        Self { policy, action, middle, variable, reach }
    }

    /// How far a place lies from the middle.
    fn beside(&self, place: f64) -> f64 {
        (place - self.middle[self.variable]).abs()
    }

    /// The action at a place: -1 at its lower limit, 0 in the middle, 1 at its upper one.
    fn height(&self, place: f64) -> f64 {
        let mut state = self.middle.clone();
        state[self.variable] = place;
        let [low, high] = self.action.limits;
        2.0 * (self.action.act(&self.policy.states, &state) - low) / (high - low) - 1.0
    }

    /// Where the action passes its middle.
    fn crossings(&self) -> Vec<f64> {
        let begin = self.middle[self.variable] - self.reach;
        let place = |step: usize| begin + self.reach * step as f64 / STEPS as f64;
        let heights: Vec<f64> = (0..=2 * STEPS).map(|step| self.height(place(step))).collect();
        let passes = |step: &usize| {
            let (here, next) = (heights[*step], heights[step + 1]);
            (here <= 0.0 && next > 0.0) || (here >= 0.0 && next < 0.0)
        };
        let exact = |step: usize| {
            let rises = heights[step + 1] > 0.0;
            bisected(place(step), place(step + 1), |place| (self.height(place) > 0.0) == rises)
        };
        (0..2 * STEPS).filter(passes).map(exact).collect()
    }

    /// How far it is from a crossing, in one direction, until the action has gone this share of the way to a limit.
    fn reached(&self, crossing: f64, direction: f64, share: f64) -> Option<f64> {
        // A step by a share of itself finds wide and narrow changes alike.
        let mut far = 1e-6 * self.reach;
        let side = self.height(crossing + direction * far).signum();
        let is_there = |far: f64| side * self.height(crossing + direction * far) >= share;
        while !is_there(far) {
            far *= 1.1;
            if far > self.reach {
                return None;
            }
        }
        Some(bisected(0.0, far, is_there))
    }
}

/// Between a place where something does not hold and one where it does, the nearest one to the first where it does.
fn bisected(mut without: f64, mut with: f64, holds: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..60 {
        let half = 0.5 * (without + with);
        if holds(half) {
            with = half;
        } else {
            without = half;
        }
    }
    with
}

#[cfg(test)]
mod tests {
    use fpsrl_engine::policy::{ANYWHERE, Quantity};

    use super::*;
    use crate::tests::balancer_of;

    fn policy(alpha: f64, rules: Vec<Rule>) -> FuzzyPolicy {
        let (name, unit) = ("u".into(), "N".into());
        let action = ActionRules { name, unit, limits: [0.0, 2.0], rate: None, reach: 1.0, alpha, rules };
        FuzzyPolicy {
            states: vec![Quantity::new("x", "m"), Quantity::new("v", "m/s")],
            mirrored: false,
            actions: vec![action],
        }
    }

    fn rule(centre: [f64; 2], width: [f64; 2], output: f64) -> Rule {
        Rule { centre: centre.to_vec(), width: width.to_vec(), output }
    }

    /// The first number of a sentence after some words.
    fn figure(sentence: &str, after: &str) -> f64 {
        let rest = sentence.split(after).nth(1).unwrap();
        rest.split_whitespace().next().unwrap().parse().unwrap()
    }

    #[test]
    fn two_rules_switch_where_the_formula_says() {
        // Equal widths: the mean output along x is tanh(x / width²), so that 0.9 is reached where α tanh(x) = atanh(0.9).
        for alpha in [2.0, 20.0, 500.0] {
            let policy = policy(alpha, vec![rule([-1.0, 0.0], [1.0; 2], -1.0), rule([1.0, 0.0], [1.0; 2], 1.0)]);
            let told = steepness(&policy)[0].clone().unwrap();
            let place = |share: f64| (share.atanh() / alpha).atanh();
            let near = |found: f64, share: f64| (found / place(share) - 1.0).abs() < 0.01;
            assert!(near(figure(&told, "is reached "), 0.9), "{told}");
            assert!(near(figure(&told, "half at "), 0.5), "{told}");
            // Nothing switches along v, where both rules are the same.
            assert!(told.contains("m of x beside") && !told.contains("of v"), "{told}");
        }
    }

    #[test]
    fn a_reach_beyond_the_limits_is_cut_off_before_it_is_told() {
        let mut policy = policy(2.0, vec![rule([-1.0, 0.0], [1.0; 2], -1.0), rule([1.0, 0.0], [1.0; 2], 1.0)]);
        policy.actions[0].reach = 3.0;
        let told = steepness(&policy)[0].clone().unwrap();
        // Of three half ranges, 0.9 of one is 0.3.
        let place = |share: f64| ((share / 3.0).atanh() / 2.0).atanh();
        assert!((figure(&told, "is reached ") / place(0.9) - 1.0).abs() < 0.01, "{told}");
        assert!((figure(&told, "half at ") / place(0.5) - 1.0).abs() < 0.01, "{told}");
    }

    #[test]
    fn between_two_modes_nothing_switches() {
        let mut policy = policy(2.0, vec![rule([-1.0, 0.0], [1.0, 0.1], -1.0), rule([1.0, 1.0], [1.0, 0.1], 1.0)]);
        policy.states[1].values = vec!["day".into(), "night".into()];
        assert_eq!(steepness(&policy), [None]);
        policy.actions[0].rules[1].centre[1] = 0.0;
        let told = steepness(&policy)[0].clone().unwrap();
        assert!(told.contains("m of x beside") && !told.contains("of v"), "{told}");
    }

    #[test]
    fn what_cannot_be_told_is_left_out() {
        let two = |alpha: f64, output: f64| {
            policy(alpha, vec![rule([-1.0, 0.0], [1.0; 2], -1.0), rule([1.0, 0.0], [1.0; 2], output)])
        };
        // Too flat to get there; both rules on one side; a rule that does not look.
        assert_eq!(steepness(&two(1.0, 1.0)), [None]);
        assert_eq!(steepness(&two(20.0, -0.5)), [None]);
        let mut blind = two(20.0, 1.0);
        blind.actions[0].rules[0].width[0] = ANYWHERE;
        assert_eq!(steepness(&blind), [None]);
        assert_eq!(steepness(&policy(5.0, vec![rule([0.0; 2], [1.0; 2], 1.0)])), [None]);
    }

    #[test]
    fn of_many_variables_only_the_nearly_full_action_is_told() {
        let centre = vec![0.5, 1.0, 2.0, 3.0];
        let told = steepness(&balancer_of(Rule { centre, width: vec![1.0; 4], output: 1.0 }, 5.0))[0].clone().unwrap();
        assert!(told.contains(" of theta, ") && told.contains(" or ") && !told.contains("half"), "{told}");
    }

    #[test]
    fn of_more_rules_the_steepest_change_is_told() {
        let rules =
            vec![rule([-1.0, 0.0], [1.0; 2], -1.0), rule([1.0, 0.0], [1.0; 2], 1.0), rule([0.0, 9.0], [1.0; 2], 0.1)];
        let told = steepness(&policy(20.0, rules))[0].clone().unwrap();
        let exact = 2.0 * (0.8f64.atanh() / 20.0).atanh();
        assert!((figure(&told, "within ") / exact - 1.0).abs() < 0.01, "{told} {exact}");
        assert!(
            told.starts_with("u: between rules it changes from 10 % to 90 % within") && told.ends_with("m of x"),
            "{told}"
        );
    }

    #[test]
    fn angles_are_followed_around_the_circle() {
        let mut policy = policy(20.0, vec![rule([3.0, 0.0], [0.5, 1.0], -1.0), rule([-2.8, 0.0], [0.5, 1.0], 1.0)]);
        policy.states[0].periodic = true;
        let told = steepness(&policy)[0].clone().unwrap();
        assert!(figure(&told, "is reached ") < 0.2, "{told}");
    }
}
