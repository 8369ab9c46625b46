//! The space that a swarm searches: rule parameters as a flat vector with bounds (equation 3 of the paper).
//!
//! The vector holds, action by action, the centres, widths and output of each rule and the action's α. Of mirrored
//! rules only one half is in the vector; the other half follows from it.

use super::{ActionRules, FuzzyPolicy, Quantity, Rule};
use crate::data::Transitions;
use crate::problem::Problem;

/// The share of the data on either side that does not count for the bounds of centres.
const TAIL: f64 = 0.005;

/// The parameters of a fuzzy policy with their bounds.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleSpace {
    template: FuzzyPolicy,
    low: Vec<f64>,
    high: Vec<f64>,
}

impl RuleSpace {
    /// The space of a problem's policies. Bounds that the problem leaves open come from the data: centres lie between
    /// the quantiles at ½ % and 99½ % of each variable, widths between 0.05 and 2 times that range.
    pub fn new(problem: &Problem, transitions: &Transitions) -> Self {
        let limits: Vec<([f64; 2], [f64; 2])> = problem
            .policy_states()
            .iter()
            .enumerate()
            .map(|(variable, state)| {
                let centre = state.centre.unwrap_or_else(|| {
                    let range = robust_range(&transitions.states[variable]);
                    if problem.policy.mirrored { symmetric(range) } else { range }
                });
                let span = centre[1] - centre[0];
                (centre, state.width.unwrap_or([0.05 * span, 2.0 * span]))
            })
            .collect();
        let searched = searched_rules(problem);
        let (mut low, mut high) = (Vec::new(), Vec::new());
        for _ in &problem.actions {
            for _ in 0..searched {
                let bounds = limits.iter().map(|(centre, _)| *centre).chain(limits.iter().map(|(_, width)| *width));
                for [from, to] in bounds.chain([[-1.0, 1.0]]) {
                    low.push(from);
                    high.push(to);
                }
            }
            low.push(problem.policy.alpha[0]);
            high.push(problem.policy.alpha[1]);
        }
        let blank = Rule { centre: vec![0.0; limits.len()], width: vec![1.0; limits.len()], output: 0.0 };
        let template = FuzzyPolicy {
            states: problem
                .policy_states()
                .iter()
                .map(|state| Quantity {
                    name: state.name.clone(),
                    unit: state.unit.clone(),
                    periodic: problem.is_periodic(state),
                })
                .collect(),
            mirrored: problem.policy.mirrored,
            actions: problem
                .actions
                .iter()
                .map(|action| ActionRules {
                    name: action.name.clone(),
                    unit: action.unit.clone(),
                    limits: action.limits,
                    rate: action.rate,
                    alpha: 1.0,
                    rules: vec![blank.clone(); problem.policy.rules],
                })
                .collect(),
        };
        Self { template, low, high }
    }

    /// How many parameters the policies of a problem have: (2 D + 1) · C + 1 for each action, of mirrored rules one half.
    pub fn parameter_count(problem: &Problem) -> usize {
        problem.actions.len() * ((2 * problem.policy_states().len() + 1) * searched_rules(problem) + 1)
    }

    /// The lowest value of each parameter.
    pub fn low(&self) -> &[f64] {
        &self.low
    }

    /// The highest value of each parameter.
    pub fn high(&self) -> &[f64] {
        &self.high
    }

    /// A policy of this space to be filled by [`RuleSpace::decode_into`].
    pub fn blank(&self) -> FuzzyPolicy {
        self.template.clone()
    }

    /// The policy at a position of the space.
    pub fn decode(&self, position: &[f64]) -> FuzzyPolicy {
        let mut policy = self.blank();
        self.decode_into(position, &mut policy);
        policy
    }

    /// The position of a policy, or the nearest within the bounds; none if the policy is not of this space's form. How angles
    /// are measured is the space's affair: a policy that does it otherwise is taken by its numbers.
    pub fn encode(&self, policy: &FuzzyPolicy) -> Option<Vec<f64>> {
        let same =
            |own: &ActionRules, other: &ActionRules| own.name == other.name && own.rules.len() == other.rules.len();
        let fits = policy.states.len() == self.template.states.len()
            && policy.mirrored == self.template.mirrored
            && policy.actions.len() == self.template.actions.len()
            && self.template.actions.iter().zip(&policy.actions).all(|(own, other)| same(own, other));
        if !fits {
            return None;
        }
        let mut position = Vec::with_capacity(self.low.len());
        for action in &policy.actions {
            let searched = if policy.mirrored { action.rules.len() / 2 } else { action.rules.len() };
            for rule in &action.rules[..searched] {
                position.extend(rule.centre.iter().chain(&rule.width).chain([&rule.output]));
            }
            position.push(action.alpha);
        }
        let bounds = self.low.iter().zip(&self.high);
        Some(position.into_iter().zip(bounds).map(|(value, (low, high))| value.max(*low).min(*high)).collect())
    }

    /// Writes the policy at a position over another policy of this space, without allocating.
    pub fn decode_into(&self, position: &[f64], policy: &mut FuzzyPolicy) {
        let states = policy.states.len();
        let mirrored = policy.mirrored;
        let mut rest = position;
        for action in &mut policy.actions {
            let searched = if mirrored { action.rules.len() / 2 } else { action.rules.len() };
            let (first, second) = action.rules.split_at_mut(searched);
            for (index, rule) in first.iter_mut().enumerate() {
                let (numbers, after) = rest.split_at(2 * states + 1);
                rest = after;
                rule.centre.copy_from_slice(&numbers[..states]);
                rule.width.copy_from_slice(&numbers[states..2 * states]);
                rule.output = numbers[2 * states];
                if let Some(mirror) = second.get_mut(index) {
                    for (to, from) in mirror.centre.iter_mut().zip(&rule.centre) {
                        *to = -from;
                    }
                    mirror.width.copy_from_slice(&rule.width);
                    mirror.output = -rule.output;
                }
            }
            action.alpha = rest[0];
            rest = &rest[1..];
        }
    }
}

/// Rules of an action that are in the vector.
fn searched_rules(problem: &Problem) -> usize {
    if problem.policy.mirrored { problem.policy.rules / 2 } else { problem.policy.rules }
}

/// The range between two outer quantiles; never empty.
fn robust_range(values: &[f64]) -> [f64; 2] {
    if values.is_empty() {
        return [-1.0, 1.0];
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = |share: f64| sorted[((sorted.len() - 1) as f64 * share).round() as usize];
    let [low, high] = [at(TAIL), at(1.0 - TAIL)];
    if high > low {
        [low, high]
    } else {
        // A variable that never moves: any centre does.
        let margin = low.abs().max(1.0);
        [low - margin, high + margin]
    }
}

/// The smallest range around 0 that holds a range.
fn symmetric([low, high]: [f64; 2]) -> [f64; 2] {
    let largest = low.abs().max(high.abs());
    [-largest, largest]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_benchmarks_have_as_many_parameters_as_the_paper_says() {
        for (name, count) in [("mountain-car", 11), ("cart-pole-balancing", 10), ("cart-pole-swing-up", 19)] {
            let problem = Problem::benchmark(name).unwrap();
            assert_eq!(RuleSpace::parameter_count(&problem), count);
            let transitions = Transitions {
                states: vec![vec![-1.0, 1.0]; problem.states.len()],
                ..Transitions::new(problem.states.len(), 1)
            };
            assert_eq!(RuleSpace::new(&problem, &transitions).low().len(), count);
        }
    }

    #[test]
    fn mirrored_rules_act_oppositely_in_opposite_states() {
        let problem = Problem::benchmark("cart-pole-swing-up").unwrap();
        let space = RuleSpace::new(&problem, &Transitions::new(4, 1));
        let stream = crate::random::Stream::new(1, crate::random::Purpose::SwarmStart);
        let position: Vec<f64> =
            (0..19).map(|index| stream.within(space.low()[index], space.high()[index], 0, 0, index as u32)).collect();
        let policy = space.decode(&position);
        assert_eq!(policy.actions[0].rules[2], policy.actions[0].rules[0].mirror());
        assert_eq!(space.encode(&policy), Some(position));
        let state = [0.3, -2.0, 1.0, 0.5];
        let there = policy.act(&state)[0];
        let back = policy.act(&state.map(|value| -value))[0];
        assert!((there + back).abs() < 1e-9 && there != 0.0, "{there} {back}");
    }

    #[test]
    fn outliers_do_not_move_the_bounds() {
        let mut values: Vec<f64> = (0..1_000).map(|index| f64::from(index) / 999.0).collect();
        values[0] = -1e9;
        values[999] = 1e9;
        let [low, high] = robust_range(&values);
        assert!((0.0..0.01).contains(&low) && (0.99..1.0).contains(&high));
    }

    #[test]
    fn a_constant_variable_still_has_a_range() {
        assert_eq!(robust_range(&[5.0; 10]), [0.0, 10.0]);
        assert_eq!(robust_range(&[0.0; 10]), [-1.0, 1.0]);
    }
}
