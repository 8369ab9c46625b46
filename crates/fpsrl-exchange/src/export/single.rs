//! The rules in single precision, as the exports for `float` and `REAL` compute them.
//!
//! A state ten widths away from every rule has distances near 50, and f32 knows those to a few millionths; a hundred
//! widths away to a few thousandths, which the exponential and α turn into an error that can be seen. So the squared
//! distance is summed in two numbers, the value and its rounding error (Dekker 1971, Knuth's TAOCP 4.2.2), and centres
//! and widths are two numbers each as well. Everything after the distances is plain f32.
//!
//! A turn is three numbers, the first two so short that their product with as many turns as an input may have is exact
//! (Cody and Waite 1980). So whole turns are taken off a difference without losing what the rest of it keeps.

use fpsrl_engine::angle::wrap_angle;
use fpsrl_engine::policy::{ActionRules, FuzzyPolicy, Quantity};

/// Widths beyond which a rule's distance no longer grows; their square and sums of it are far from overflowing.
pub(super) const FARTHEST: f32 = 1e9;

/// Splits the 24 bits of an f32 into two halves.
const SPLITTER: f32 = 4097.0;

/// 2π as a sum; 13 bits each of the first two.
pub(super) const TURN: [f32; 3] = [6434.0 / 1024.0, -1.781_806_3e-5, 2.430_840_3e-10];

/// Exponents below this give 0.
const LOWEST_EXPONENT: f32 = -80.0;

/// A number as a value and what is missing from it.
pub(super) fn split(value: f64) -> [f32; 2] {
    let high = value as f32;
    [high, (value - f64::from(high)) as f32]
}

/// 1 / (σ √2): a difference times this, squared, is the exponent of the membership.
pub(super) fn scale(width: f64) -> f64 {
    1.0 / (width * std::f64::consts::SQRT_2)
}

fn two_sum(a: f32, b: f32) -> [f32; 2] {
    let sum = a + b;
    let of_b = sum - a;
    [sum, (a - (sum - of_b)) + (b - of_b)]
}

fn two_product(a: f32, b: f32) -> [f32; 2] {
    let halves = |number: f32| {
        let shifted = SPLITTER * number;
        let high = shifted - (shifted - number);
        [high, number - high]
    };
    let ([a_high, a_low], [b_high, b_low]) = (halves(a), halves(b));
    let product = a * b;
    [product, (((a_high * b_high - product) + a_high * b_low) + a_low * b_high) + a_low * b_low]
}

/// A centre for single precision: of an angle the one within a turn, so that differences hold as few turns as inputs do.
pub(super) fn centre(quantity: &Quantity, centre: f64) -> f64 {
    if quantity.periodic { wrap_angle(centre) } else { centre }
}

/// Takes whole turns off a difference and its rest.
fn wrap([mut difference, mut rest]: [f32; 2]) -> [f32; 2] {
    // In f32 the first number of turns may be one off where there are many; the second is right.
    for _ in 0..2 {
        let turns = (difference / std::f32::consts::TAU).round();
        for part in &TURN[..2] {
            let error;
            [difference, error] = two_sum(difference, -(turns * part));
            rest += error;
        }
        rest -= turns * TURN[2];
    }
    [difference, rest]
}

/// Adds ((value - centre) · scale)² to a sum.
fn add_square(
    sum: &mut [f32; 2],
    value: f32,
    [centre, centre_rest]: [f32; 2],
    [scale, scale_rest]: [f32; 2],
    periodic: bool,
) {
    let [mut difference, rest] = two_sum(value, -centre);
    let mut rest = rest - centre_rest;
    if periodic {
        [difference, rest] = wrap([difference, rest]);
    }
    let ratio = difference * scale;
    let [square, square_rest] = if ratio.abs() > FARTHEST {
        [FARTHEST * FARTHEST, 0.0]
    } else {
        let [ratio, error] = two_product(difference, scale);
        let ratio_rest = error + (difference * scale_rest + rest * scale);
        let [square, error] = two_product(ratio, ratio);
        [square, error + 2.0 * ratio * ratio_rest]
    };
    let [total, error] = two_sum(sum[0], square);
    let rest = error + (sum[1] + square_rest);
    let high = total + rest;
    *sum = [high, rest - (high - total)];
}

/// The actions in a state, in single precision.
pub(super) fn act(policy: &FuzzyPolicy, state: &[f64]) -> Vec<f64> {
    policy.actions.iter().map(|action| f64::from(act_once(&policy.states, action, state))).collect()
}

fn act_once(states: &[Quantity], action: &ActionRules, state: &[f64]) -> f32 {
    let distances: Vec<[f32; 2]> = action
        .rules
        .iter()
        .map(|rule| {
            let mut sum = [0.0; 2];
            for (variable, (quantity, value)) in states.iter().zip(state).enumerate() {
                let centre = split(centre(quantity, rule.centre[variable]));
                add_square(&mut sum, *value as f32, centre, split(scale(rule.width[variable])), quantity.periodic);
            }
            sum
        })
        .collect();
    let gap = |from: &[f32; 2], to: &[f32; 2]| (from[0] - to[0]) + (from[1] - to[1]);
    let mut nearest = distances[0];
    for distance in &distances {
        if gap(distance, &nearest) < 0.0 {
            nearest = *distance;
        }
    }
    let (mut weighted, mut total) = (0.0f32, 0.0f32);
    for (distance, rule) in distances.iter().zip(&action.rules) {
        let exponent = gap(&nearest, distance);
        let membership = if exponent < LOWEST_EXPONENT { 0.0 } else { exponent.exp() };
        weighted += membership * rule.output as f32;
        total += membership;
    }
    let [low, high] = action.limits;
    let (middle, half_range) = ((0.5 * (low + high)) as f32, (0.5 * (high - low) * action.reach) as f32);
    let value = middle + half_range * (action.alpha as f32 * weighted / total).tanh();
    if action.reach > 1.0 { value.max(low as f32).min(high as f32) } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fpsrl_engine::policy::Rule;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn sums_and_products_lose_nothing(a in -1e6f32..1e6, b in -1e6f32..1e6) {
            let [sum, error] = two_sum(a, b);
            prop_assert_eq!(f64::from(sum) + f64::from(error), f64::from(a) + f64::from(b));
            let [product, error] = two_product(a, b);
            let exact = f64::from(a) * f64::from(b);
            // Smaller errors than this underflow, and nobody misses them.
            prop_assert!((f64::from(product) + f64::from(error) - exact).abs() <= 1e-37);
        }

        #[test]
        fn whole_turns_are_taken_off_as_exactly_as_an_input_is_known(value in -1e4f32..1e4, centre in -3.2..3.2f64) {
            let [high, low] = split(centre);
            let [difference, rest] = two_sum(value, -high);
            let [difference, rest] = wrap([difference, rest - low]);
            // In f64, a thousandth of what an f32 would lose.
            let expected = wrap_angle(f64::from(value) - centre).abs();
            prop_assert!(((f64::from(difference) + f64::from(rest)).abs() - expected).abs() < 1e-10, "{value} {centre}");
        }

        /// Far from every rule, where the plain formula in f32 is off by tenths; of an angle, turns away.
        #[test]
        fn the_action_is_the_policys_even_hundreds_of_widths_away(
            centres in prop::collection::vec(prop::collection::vec(-1.0..1.0f64, 3), 2..8),
            widths in prop::collection::vec(1e-3..1.0f64, 24),
            state in prop::collection::vec(-3.0..3.0f32, 3),
            alpha in 0.0..50.0f64,
            angle in prop::option::of(-40.0..40.0f32),
            absent in prop::option::of(0usize..24),
        ) {
            let rules = centres.iter().enumerate().map(|(index, centre)| Rule {
                centre: centre.clone(),
                width: widths[3 * index..3 * index + 3].to_vec(),
                output: if index % 2 == 0 { 0.9 } else { -0.8 },
            });
            let mut policy = FuzzyPolicy {
                states: vec![Quantity::new("s", ""); 3],
                mirrored: false,
                actions: vec![ActionRules {
                    name: "a".into(),
                    unit: String::new(),
                    limits: [-1.0, 1.0],
                    rate: None,
                    reach: 1.0,
                    alpha,
                    rules: rules.collect(),
                }],
            };
            if let Some(absent) = absent {
                let rules = &mut policy.actions[0].rules;
                let count = rules.len();
                rules[absent / 3 % count].ignore(absent % 3);
            }
            let mut state: Vec<f64> = state.into_iter().map(f64::from).collect();
            if let Some(angle) = angle {
                policy.states[0].periodic = true;
                state[0] = f64::from(angle);
            }
            let difference = (act(&policy, &state)[0] - policy.act(&state)[0]).abs();
            prop_assert!(difference < 5e-5, "{difference}");
        }
    }
}
