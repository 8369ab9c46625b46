//! A fuzzy policy in f64, as it stands in `policy.json` and as it is explained to people.

use serde::{Deserialize, Serialize};

use crate::angle::{nearest_image, wrap_angle};

/// The most rules that an action may have; the lane kernel keeps all activations at hand.
pub const MOST_RULES: usize = 64;

/// Characters of a variable's name, at most: names of what follows from variables are longer than theirs.
const LONGEST_NAME: usize = 400;

/// A width from which a condition holds everywhere: the rule does not look at the variable at all.
///
/// It is far beyond what any variable measures, and its square is still a number in single precision, so that a policy
/// without some conditions is an ordinary policy to whoever computes it.
pub const ANYWHERE: f64 = 1e18;

/// A named quantity with its unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quantity {
    /// Its name.
    pub name: String,
    /// Its unit; may be empty.
    pub unit: String,
    /// Whether it is an angle in radians whose distance to a centre is taken around the circle, so that a rule around π
    /// holds on both sides of it. The paper's own form is plain, as is every file that does not say otherwise.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub periodic: bool,
    /// The words of a mode, whose numbers are their places in this list; empty for a quantity. A rule holds in one of them,
    /// or does not look at it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
    /// What it follows from, if a controller computes it from its other inputs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub derived: Option<Derived>,
}

/// What a controller computes from its other inputs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Derived {
    /// A set-point less what is to follow it.
    Error {
        /// The number of the input that is to follow.
        state: usize,
        /// The number of the input that is followed.
        set_point: usize,
    },
    /// The running sum of an error. It is 0 in the first step; from then on each step's error is added. It stays within its
    /// limit, and while the last action is at one of its own limits it only falls.
    Sum {
        /// The number of the error among the inputs.
        error: usize,
        /// How far it may go to either side.
        limit: f64,
    },
}

/// The width of a condition on a mode: one mode away, the membership is e⁻⁶⁰.
pub const MODE_WIDTH: f64 = 0.091_287_092_917_527_69;

impl Quantity {
    /// A quantity on the straight line.
    ///
    /// ```
    /// let speed = fpsrl_engine::policy::Quantity::new("speed", "m/s");
    /// assert!(!speed.periodic);
    /// ```
    pub fn new(name: impl Into<String>, unit: impl Into<String>) -> Self {
        Self { name: name.into(), unit: unit.into(), periodic: false, values: Vec::new(), derived: None }
    }

    /// How far a value lies above a centre: for an angle, the shorter way around.
    pub fn difference(&self, centre: f64, value: f64) -> f64 {
        let difference = value - centre;
        if self.periodic { wrap_angle(difference) } else { difference }
    }

    /// The value, or of an angle the one of its images, whole turns apart, that is nearest to another.
    pub fn nearest(&self, value: f64, to: f64) -> f64 {
        if self.periodic { nearest_image(value, to) } else { value }
    }
}

/// One rule: IF the state is around the centre THEN the output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// c: where the rule is fully active, one number for each state variable.
    pub centre: Vec<f64>,
    /// σ: how far around the centre it reaches.
    pub width: Vec<f64>,
    /// o: what the rule wants, from -1 (the action's lower limit) to 1 (its upper one).
    pub output: f64,
}

/// A condition of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    /// Which action.
    pub action: usize,
    /// Which of its rules.
    pub rule: usize,
    /// Which input.
    pub variable: usize,
}

/// The rule base of one action.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActionRules {
    /// The action's name.
    pub name: String,
    /// The action's unit; may be empty.
    pub unit: String,
    /// The lowest and the highest value.
    pub limits: [f64; 2],
    /// How far it may move in a step; none is no limit. The rules themselves do not know of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// How far the hyperbolic tangent reaches to either side of the middle, in half ranges of the limits, where what lies beyond the
    /// limits is cut off. 1 is the paper's form, which comes near to the limits ever more slowly; with 3 the action follows its
    /// rules nearly straight from limit to limit, as a PI controller does.
    #[serde(default = "within_limits", skip_serializing_if = "is_within_limits")]
    pub reach: f64,
    /// α: the slope before the hyperbolic tangent.
    pub alpha: f64,
    /// The rules; in a mirrored policy the second half mirrors the first.
    pub rules: Vec<Rule>,
}

/// A fuzzy policy.
///
/// ```
/// use fpsrl_engine::policy::{ActionRules, FuzzyPolicy, Quantity, Rule};
/// let rule = |velocity: f64| Rule { centre: vec![0.0, velocity], width: vec![1.0, 0.5], output: velocity };
/// let policy = FuzzyPolicy {
///     states: ["position", "velocity"].map(|name| Quantity::new(name, "")).to_vec(),
///     mirrored: true,
///     actions: vec![ActionRules {
///         name: "force".into(),
///         unit: "N".into(),
///         limits: [-2.0, 2.0],
///         rate: None,
///         reach: 1.0,
///         alpha: 3.0,
///         rules: vec![rule(1.0), rule(-1.0)],
///     }],
/// };
/// let action = policy.act(&[0.2, 0.7]);
/// assert!(action[0] > 1.9 && action[0] <= 2.0);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FuzzyPolicy {
    /// The state variables, in the order of the rules' centres.
    pub states: Vec<Quantity>,
    /// Whether the second half of the rules mirrors the first.
    pub mirrored: bool,
    /// A rule base for each action.
    pub actions: Vec<ActionRules>,
}

impl Rule {
    /// -½ Σ ((c - s) / σ)², the logarithm of the membership (equation 2).
    pub fn log_membership(&self, states: &[Quantity], state: &[f64]) -> f64 {
        let sum: f64 = states
            .iter()
            .zip(&self.centre)
            .zip(&self.width)
            .zip(state)
            .map(|(((quantity, centre), width), value)| (quantity.difference(*centre, *value) / width).powi(2))
            .sum();
        // Finite states may be so far away that the square is not; any rule is as good as another then.
        (-0.5 * sum).max(-f64::MAX / 4.0)
    }

    /// Whether the rule does not look at a variable.
    pub fn ignores(&self, variable: usize) -> bool {
        self.width[variable] >= ANYWHERE
    }

    /// Takes the condition on a variable away.
    pub fn ignore(&mut self, variable: usize) {
        self.centre[variable] = 0.0;
        self.width[variable] = ANYWHERE;
    }

    /// The rule at the opposite state with the opposite output.
    pub fn mirror(&self) -> Self {
        Self {
            centre: self.centre.iter().map(|centre| -centre).collect(),
            width: self.width.clone(),
            output: -self.output,
        }
    }
}

/// The paper's reach: the limits themselves.
fn within_limits() -> f64 {
    1.0
}

fn is_within_limits(reach: &f64) -> bool {
    *reach == 1.0
}

impl ActionRules {
    /// The action for what stands before the hyperbolic tangent: scaled, and cut off at the limits.
    fn limited(&self, before: f64) -> f64 {
        let [low, high] = self.limits;
        let action = 0.5 * (low + high) + 0.5 * (high - low) * self.reach * before.tanh();
        if self.reach > 1.0 { action.max(low).min(high) } else { action }
    }

    /// How much each rule has to say in a state: memberships divided by their sum (the weights of equation 4).
    pub fn shares(&self, states: &[Quantity], state: &[f64]) -> Vec<f64> {
        let logs: Vec<f64> = self.rules.iter().map(|rule| rule.log_membership(states, state)).collect();
        let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let memberships: Vec<f64> = logs.iter().map(|log| (log - largest).exp()).collect();
        let total: f64 = memberships.iter().sum();
        memberships.iter().map(|membership| membership / total).collect()
    }

    /// The action that a rule takes when it alone is active.
    pub fn alone(&self, rule: usize) -> f64 {
        self.limited(self.alpha * self.rules[rule].output)
    }

    /// The action in a state (equation 4), scaled to the limits.
    ///
    /// Memberships are divided by the largest one, which cancels in the mean. So the rule that is nearest keeps
    /// its voice however far away the state is, where the plain formula would divide 0 by 0.
    pub fn act(&self, states: &[Quantity], state: &[f64]) -> f64 {
        let logs: Vec<f64> = self.rules.iter().map(|rule| rule.log_membership(states, state)).collect();
        let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let (mut weighted, mut total) = (0.0, 0.0);
        for (log, rule) in logs.iter().zip(&self.rules) {
            let membership = (log - largest).exp();
            weighted += membership * rule.output;
            total += membership;
        }
        self.limited(self.alpha * weighted / total)
    }
}

impl FuzzyPolicy {
    /// Rules for each action: those of the action that has the most.
    pub fn rule_count(&self) -> usize {
        self.actions.iter().map(|action| action.rules.len()).max().unwrap_or(0)
    }

    /// The actions in a state.
    pub fn act(&self, state: &[f64]) -> Vec<f64> {
        self.actions.iter().map(|action| action.act(&self.states, state)).collect()
    }

    /// The conditions that its rules look at, mirrored ones counted.
    pub fn conditions(&self) -> Vec<Condition> {
        let mut conditions = Vec::new();
        for (action, base) in self.actions.iter().enumerate() {
            for (rule, one) in base.rules.iter().enumerate() {
                let seen = (0..self.states.len()).filter(|variable| !one.ignores(*variable));
                conditions.extend(seen.map(|variable| Condition { action, rule, variable }));
            }
        }
        conditions
    }

    /// Takes a condition away.
    pub fn take_away(&mut self, condition: Condition) {
        self.actions[condition.action].rules[condition.rule].ignore(condition.variable);
    }

    /// What is wrong with a policy that was read from a file, if anything is.
    pub fn fault(&self) -> Option<String> {
        if self.states.is_empty() || self.actions.is_empty() {
            return Some("a policy needs at least one state variable and one action".into());
        }
        let names = self.states.iter().map(|state| &state.name).chain(self.actions.iter().map(|action| &action.name));
        if let Some(name) = names.into_iter().find(|name| name.chars().nth(LONGEST_NAME).is_some()) {
            return Some(format!("the name `{name}` has more than {LONGEST_NAME} characters"));
        }
        let texts = self.states.iter().flat_map(|state| [&state.name, &state.unit].into_iter().chain(&state.values));
        let mut texts = texts.chain(self.actions.iter().flat_map(|action| [&action.name, &action.unit]));
        if let Some(text) = texts.find(|text| text.chars().any(char::is_control)) {
            return Some(format!("`{text}` holds a line break, or another character that cannot be seen"));
        }
        for (index, state) in self.states.iter().enumerate() {
            let fits = match state.derived {
                None => true,
                Some(Derived::Error { state, set_point }) => state < index && set_point < index,
                Some(Derived::Sum { error, limit }) => {
                    let of_an_error = matches!(
                        self.states[..index].get(error).map(|one| one.derived),
                        Some(Some(Derived::Error { .. }))
                    );
                    of_an_error && limit.is_finite() && limit > 0.0
                }
            };
            if !fits {
                return Some(format!("`{}` does not follow from inputs before it", state.name));
            }
        }
        for action in &self.actions {
            let name = &action.name;
            if action.rules.is_empty() || action.rules.len() > MOST_RULES {
                return Some(format!("`{name}` has {} rules; it needs 1 to {MOST_RULES}", action.rules.len()));
            }
            if !(action.limits[0] < action.limits[1] && action.limits.iter().all(|limit| limit.is_finite())) {
                return Some(format!("the limits of `{name}` are not a range of finite numbers"));
            }
            if action.rate.is_some_and(|rate| !(rate.is_finite() && rate > 0.0)) {
                return Some(format!("the rate of `{name}` is not above zero"));
            }
            if !(action.reach >= 1.0 && action.reach <= 1e6) {
                return Some(format!("the reach of `{name}` is not from 1 to a million"));
            }
            if !action.alpha.is_finite() {
                return Some(format!("alpha of `{name}` is not a finite number"));
            }
            for (index, rule) in action.rules.iter().enumerate() {
                let number = index + 1;
                if rule.centre.len() != self.states.len() || rule.width.len() != self.states.len() {
                    return Some(format!("rule {number} of `{name}` does not have one centre and one width a state"));
                }
                if !rule.centre.iter().chain([&rule.output]).all(|value| value.is_finite()) {
                    return Some(format!("rule {number} of `{name}` holds a number that is not finite"));
                }
                if !rule.width.iter().all(|width| width.is_finite() && *width > 0.0) {
                    return Some(format!("rule {number} of `{name}` has a width that is not above zero"));
                }
            }
        }
        None
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A policy that balances the pole of the benchmark by a rule and its mirror image.
    pub(crate) fn balancer(rule: Rule, alpha: f64) -> FuzzyPolicy {
        FuzzyPolicy {
            states: ["theta", "theta_dot", "rho", "rho_dot"].map(|name| Quantity::new(name, "")).to_vec(),
            mirrored: true,
            actions: vec![ActionRules {
                name: "force".into(),
                unit: "N".into(),
                limits: [-10.0, 10.0],
                rate: None,
                reach: 1.0,
                alpha,
                rules: vec![rule.clone(), rule.mirror()],
            }],
        }
    }

    /// A random policy with `actions` rule bases over `states` variables.
    pub(crate) fn any_policy() -> impl Strategy<Value = FuzzyPolicy> {
        (1usize..6, 1usize..4, 1usize..9, any::<[bool; 6]>()).prop_flat_map(|(states, actions, rules, periodic)| {
            let rule =
                (prop::collection::vec(-3.0..3.0f64, states), prop::collection::vec(0.1..4.0f64, states), -1.0..1.0f64)
                    .prop_map(|(centre, width, output)| Rule { centre, width, output });
            let base = (-5.0..0.0f64, 0.1..5.0f64, 0.0..30.0f64, prop::collection::vec(rule, rules)).prop_map(
                |(low, span, alpha, rules)| ActionRules {
                    name: "a".into(),
                    unit: String::new(),
                    limits: [low, low + span],
                    rate: None,
                    reach: 1.0,
                    alpha,
                    rules,
                },
            );
            prop::collection::vec(base, actions).prop_map(move |actions| FuzzyPolicy {
                states: (0..states).map(|s| Quantity { periodic: periodic[s], ..Quantity::new("s", "") }).collect(),
                mirrored: false,
                actions,
            })
        })
    }

    /// Equations 2 and 4 of the paper, written down as they stand there.
    fn transcription(states: &[Quantity], rules: &ActionRules, state: &[f64]) -> f64 {
        let mut numerator = 0.0;
        let mut denominator = 0.0;
        for rule in &rules.rules {
            let mut membership = 1.0;
            for j in 0..state.len() {
                // Of an angle's images, whole turns apart, the one nearest to the centre counts.
                let turns = if states[j].periodic { -2..=2 } else { 0..=0 };
                let images = turns.map(|turn| state[j] + f64::from(turn) * std::f64::consts::TAU);
                let nearest = images.map(|image| (rule.centre[j] - image).powi(2)).fold(f64::INFINITY, f64::min);
                membership *= (-nearest / (2.0 * rule.width[j].powi(2))).exp();
            }
            numerator += membership * rule.output;
            denominator += membership;
        }
        let unit = (rules.alpha * numerator / denominator).tanh();
        rules.limits[0] + (unit + 1.0) / 2.0 * (rules.limits[1] - rules.limits[0])
    }

    proptest! {
        #[test]
        fn the_policy_is_the_papers_equations(policy in any_policy(), unit in prop::collection::vec(-1.0..1.0f64, 6)) {
            // Near enough that the plain formula does not underflow.
            let state: Vec<f64> = unit[..policy.states.len()].to_vec();
            for (rules, action) in policy.actions.iter().zip(policy.act(&state)) {
                let expected = transcription(&policy.states, rules, &state);
                if expected.is_finite() {
                    prop_assert!((action - expected).abs() < 1e-9, "{action} {expected}");
                }
            }
        }

        #[test]
        fn the_action_is_finite_and_within_its_limits_in_every_finite_state(
            policy in any_policy(), state in prop::collection::vec(prop::num::f64::NORMAL, 6)
        ) {
            let actions = policy.act(&state[..policy.states.len()]);
            for (rules, action) in policy.actions.iter().zip(actions) {
                prop_assert!(action >= rules.limits[0] - 1e-9 && action <= rules.limits[1] + 1e-9, "{action}");
            }
        }
    }

    #[test]
    fn far_from_every_centre_the_nearest_rule_decides() {
        let rule = |centre: f64, output: f64| Rule { centre: vec![centre], width: vec![1.0], output };
        let rules = ActionRules {
            name: "a".into(),
            unit: String::new(),
            limits: [-1.0, 1.0],
            rate: None,
            reach: 1.0,
            alpha: 1.0,
            rules: vec![rule(-1.0, -1.0), rule(1.0, 1.0)],
        };
        assert!((rules.act(&[Quantity::new("s", "")], &[1e6]) - 1f64.tanh()).abs() < 1e-12);
        assert!((rules.act(&[Quantity::new("s", "")], &[-1e6]) + 1f64.tanh()).abs() < 1e-12);
    }

    #[test]
    fn a_rule_around_half_a_turn_holds_on_both_sides_of_it() {
        let mut policy = balancer(Rule { centre: vec![3.0, 0.0, 0.0, 0.0], width: vec![0.5; 4], output: 1.0 }, 1.0);
        let beyond = [-3.1, 0.0, 0.0, 0.0];
        let logs = |policy: &FuzzyPolicy| policy.actions[0].rules[0].log_membership(&policy.states, &beyond);
        assert!((logs(&policy) + 0.5 * (6.1f64 / 0.5).powi(2)).abs() < 1e-9);
        policy.states[0].periodic = true;
        let across = std::f64::consts::TAU - 6.1;
        assert!((logs(&policy) + 0.5 * (across / 0.5).powi(2)).abs() < 1e-9);
    }

    #[test]
    fn a_file_without_a_word_about_periods_is_plain_and_stays_as_it_was() {
        let text = r#"{"name":"theta","unit":"rad"}"#;
        let quantity: Quantity = serde_json::from_str(text).unwrap();
        assert!(!quantity.periodic);
        assert_eq!(serde_json::to_string(&quantity).unwrap(), text);
        let periodic = Quantity { periodic: true, ..quantity };
        assert!(serde_json::to_string(&periodic).unwrap().contains("\"periodic\":true"));
    }

    #[test]
    fn a_broken_policy_is_described() {
        let good = FuzzyPolicy {
            states: vec![Quantity::new("s", "")],
            mirrored: false,
            actions: vec![ActionRules {
                name: "a".into(),
                unit: String::new(),
                limits: [-1.0, 1.0],
                rate: None,
                reach: 1.0,
                alpha: 1.0,
                rules: vec![Rule { centre: vec![0.0], width: vec![1.0], output: 0.0 }],
            }],
        };
        assert_eq!(good.fault(), None);
        let mut bad = good.clone();
        bad.actions[0].rules[0].width[0] = 0.0;
        assert!(bad.fault().unwrap().contains("width"));
        let mut bad = good.clone();
        bad.actions[0].rules.clear();
        assert!(bad.fault().unwrap().contains("0 rules"));
        let mut bad = good;
        bad.actions[0].rules[0].centre.push(1.0);
        assert!(bad.fault().unwrap().contains("one centre"));
    }
}
