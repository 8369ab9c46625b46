//! What an exported controller does, written once for all targets: the policy between a guard and the limits.
//!
//! One step, in this order:
//!
//! 1. An input that is NaN, infinite or beyond [`Precision::largest_input`] is *unusable*; so is an angle that rules measure
//!    around the circle beyond [`Precision::largest_angle`], and the number of a mode that there is not. Then the flag is set, and
//!    the action is the fallback; under [`Response::Hold`] it is the last action. Running sums stay as they are.
//! 2. Else an input outside the range that the data covered sets the flag, and the [`Response`] says what follows. Of such
//!    an angle, whole turns make no difference.
//! 3. Errors follow from what the rules see of their set-points and states, and are added up ([`Memory`]).
//! 4. The policy gives the action (equation 4 of the paper).
//! 5. A rate limit keeps the action near the last one, and the action's own limits hold whatever happened before.
//!
//! What a caller writes into the memory is put right before all that ([`Controller::mend`]), so that an operator's action that is
//! no number cannot become one of the controller's.
//!
//! [`Controller::step`] is the reference that every export is compared with.

use super::angle;
use super::identifier;
use super::memory::Memory;
use fpsrl_base::error::{Error, Result};
use fpsrl_base::remedy::Remedy;
use fpsrl_engine::policy::FuzzyPolicy;

/// The numbers that a target computes with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// 64 bits: `double`, `LREAL`.
    Double,
    /// 32 bits: `float`, `REAL`.
    Single,
}

impl Precision {
    /// Beyond this, an input counts as unusable. No quantity of a plant is that large, and nothing that is computed
    /// from smaller inputs overflows.
    pub fn largest_input(self) -> f64 {
        match self {
            Precision::Double => 1e30,
            Precision::Single => 1e18,
        }
    }

    /// The largest difference from the policy that an export may show, as a share of the action's largest value.
    pub fn tolerance(self) -> f64 {
        match self {
            Precision::Double => 1e-6,
            Precision::Single => 1e-4,
        }
    }

    /// The nearest number of this precision.
    pub fn round(self, value: f64) -> f64 {
        match self {
            Precision::Double => value,
            Precision::Single => f64::from(value as f32),
        }
    }
}

/// What happens when the state is outside what the data covered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Response {
    /// Nothing but the flag.
    Flag,
    /// The rules see the nearest state that the data covered.
    Clamp,
    /// The last action stays.
    Hold,
    /// The fallback action is taken.
    Fallback,
}

/// The ranges that the data covered, and what happens outside of them.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Guard {
    /// What happens outside.
    pub response: Response,
    /// The covered range of each state variable; of an angle that rules measure around the circle, an arc. What the controller
    /// computes itself is not guarded; its range is what follows from the others.
    pub ranges: Vec<[f64; 2]>,
}

/// A policy with all that surrounds it on the machine that it controls.
///
/// ```
/// use fpsrl_exchange::export::{Controller, Guard, Precision, Response};
/// use fpsrl_engine::policy::{ActionRules, FuzzyPolicy, Quantity, Rule};
/// let policy = FuzzyPolicy {
///     states: vec![Quantity::new("speed", "m/s")],
///     mirrored: false,
///     actions: vec![ActionRules {
///         name: "force".into(),
///         unit: "N".into(),
///         limits: [-1.0, 1.0],
///         rate: None,
///         reach: 1.0,
///         alpha: 1.0,
///         rules: vec![Rule { centre: vec![0.0], width: vec![1.0], output: 0.5 }],
///     }],
/// };
/// let guard = Guard { response: Response::Fallback, ranges: vec![[-2.0, 2.0]] };
/// let controller = Controller::new("motor", policy, Precision::Double, Some(guard), vec![0.0], vec![None])?;
/// let mut memory = controller.begin();
/// assert!(!controller.step(&mut memory, &[1.0]));
/// assert_eq!(memory.last, [0.5f64.tanh()]);
/// assert!(controller.step(&mut memory, &[3.0]));
/// assert_eq!(memory.last, [0.0]);
/// # Ok::<(), fpsrl_base::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Controller {
    /// What it is called: a problem's name, mostly.
    pub name: String,
    /// The rules.
    pub policy: FuzzyPolicy,
    /// What the target computes with.
    pub precision: Precision,
    /// The guard, if there is one.
    pub guard: Option<Guard>,
    /// What each action is when an input is unusable, and before the first step.
    pub fallback: Vec<f64>,
    /// How far each action may move in a step, if that is limited.
    pub rate_limits: Vec<Option<f64>>,
}

impl Controller {
    /// A controller, checked: everything that it holds can be said in its precision.
    pub fn new(
        name: &str,
        policy: FuzzyPolicy,
        precision: Precision,
        guard: Option<Guard>,
        fallback: Vec<f64>,
        rate_limits: Vec<Option<f64>>,
    ) -> Result<Self> {
        check_form(&policy, guard.as_ref(), &fallback, &rate_limits)?;
        // What decides between two ways of acting must be the same number here and there.
        let guard = guard.map(|guard| Guard {
            ranges: guard.ranges.iter().map(|range| range.map(|end| precision.round(end))).collect(),
            ..guard
        });
        let mut controller = Self { name: name.to_owned(), policy, precision, guard, fallback, rate_limits };
        controller.check_derived()?;
        if let Some(mut guard) = controller.guard.take() {
            controller.derived_ranges(&mut guard.ranges);
            controller.guard = Some(guard);
        }
        controller.check()?;
        Ok(controller)
    }

    fn check(&self) -> Result<()> {
        let largest = self.precision.largest_input();
        let refuse = |key: String, value: f64, rule: &str| {
            let hint = match self.precision {
                Precision::Single => {
                    Remedy::words("use ").option("precision", Some("double")).then(", or another unit")
                }
                Precision::Double => "use another unit".into(),
            };
            Err(Error::setting(key, value, rule, hint))
        };
        let too_large = |value: f64| value.is_nan() || value.abs() > largest;
        let widths = 1.0 / largest..=largest;
        for (action, (fallback, rate)) in self.policy.actions.iter().zip(self.fallback.iter().zip(&self.rate_limits)) {
            let name = &action.name;
            for limit in action.limits {
                if too_large(limit) {
                    return refuse(
                        format!("{name}.limits"),
                        limit,
                        "an exported number is at most 1e30, or 1e18 in single precision",
                    );
                }
            }
            if !(action.limits[0]..=action.limits[1]).contains(fallback) {
                let rule = format!("the fallback lies within the action's limits, {:?}", action.limits);
                return Err(Error::setting(
                    format!("fallback.{name}"),
                    fallback,
                    rule,
                    Remedy::words("give ").option("fallback", None).then(" within the limits"),
                ));
            }
            if let Some(rate) = rate
                && !(*rate > 0.0 && *rate <= largest)
            {
                let rule = "a rate limit is a number above zero";
                return Err(Error::setting(
                    format!("rate_limit.{name}"),
                    rate,
                    rule,
                    "say how far the action may move in a step",
                ));
            }
            if too_large(action.alpha) {
                return refuse(
                    format!("{name}.alpha"),
                    action.alpha,
                    "an exported number is at most 1e30, or 1e18 in single precision",
                );
            }
            for rule in &action.rules {
                let lost = rule.centre.iter().enumerate().find(|(variable, c)| c.abs() > self.largest_input(*variable));
                if let Some((variable, centre)) = lost.filter(|(variable, _)| self.policy.states[*variable].periodic) {
                    return Err(Error::setting(
                        format!("{name}.rules"),
                        centre,
                        format!("an angle is at most {:e}", self.largest_input(variable)),
                        "take whole turns off the centre",
                    ));
                }
                if let Some(value) = rule.centre.iter().chain([&rule.output]).find(|value| too_large(**value)) {
                    return refuse(
                        format!("{name}.rules"),
                        *value,
                        "an exported number is at most 1e30, or 1e18 in single precision",
                    );
                }
                if let Some(width) = rule.width.iter().find(|width| !widths.contains(width)) {
                    return refuse(
                        format!("{name}.rules.width"),
                        *width,
                        "an exported width is from 1e-30 to 1e30, or from 1e-18 to 1e18 in single precision",
                    );
                }
            }
        }
        if let Some(guard) = &self.guard {
            let ranges = self.policy.states.iter().zip(&guard.ranges).filter(|(state, _)| state.derived.is_none());
            for (state, range) in ranges {
                if let Some(end) = range.iter().find(|end| too_large(**end)) {
                    return refuse(
                        format!("guard.{}", state.name),
                        *end,
                        "an exported number is at most 1e30, or 1e18 in single precision",
                    );
                }
            }
        }
        Ok(())
    }

    /// The same with names, units and words of modes that fit into comments; what is computed does not depend on them.
    pub(super) fn abridged(&self) -> Self {
        let short = |text: &mut String| *text = identifier::abridged(text, identifier::LONGEST_TEXT);
        let mut controller = self.clone();
        short(&mut controller.name);
        for state in &mut controller.policy.states {
            [&mut state.name, &mut state.unit].into_iter().chain(&mut state.values).for_each(short);
        }
        for action in &mut controller.policy.actions {
            [&mut action.name, &mut action.unit].into_iter().for_each(short);
        }
        controller
    }

    /// Whether the controller remembers anything: its last action, and running sums if there are any.
    pub fn remembers(&self) -> bool {
        self.holds() || self.rate_limits.iter().any(Option::is_some) || self.running_sums().next().is_some()
    }

    /// Whether outside of the data the last action stays.
    pub fn holds(&self) -> bool {
        self.guard.as_ref().is_some_and(|guard| guard.response == Response::Hold)
    }

    /// Beyond this, an input is unusable.
    pub fn largest_input(&self, variable: usize) -> f64 {
        let periodic = self.policy.states[variable].periodic;
        if periodic { self.precision.largest_angle() } else { self.precision.largest_input() }
    }

    /// The lowest and the highest value of an input that can be used. Of a mode, these are numbers that can be rounded to one of
    /// its places.
    pub(super) fn usable(&self, variable: usize) -> [f64; 2] {
        match self.policy.states[variable].values.len() {
            0 => [-self.largest_input(variable), self.largest_input(variable)],
            modes => [-0.5, modes as f64 - 0.5],
        }
    }

    /// Whether rules measure an angle around the circle.
    pub fn is_periodic(&self) -> bool {
        self.policy.states.iter().any(|state| state.periodic)
    }

    /// Whether an input is a mode.
    pub(super) fn has_modes(&self) -> bool {
        self.policy.states.iter().any(|state| !state.values.is_empty())
    }

    /// One step: `state` holds the measured inputs, and `memory.last` becomes the action; returns whether the state was outside.
    pub fn step(&self, memory: &mut Memory, state: &[f64]) -> bool {
        self.step_with(memory, state, |state| self.policy.act(state))
    }

    /// One step with another computation of the rules, such as one in single precision.
    pub(super) fn step_with(&self, memory: &mut Memory, state: &[f64], act: impl FnOnce(&[f64]) -> Vec<f64>) -> bool {
        self.mend(memory);
        let mut seen = self.spread(state);
        // No range contains NaN.
        let is_usable = |(variable, value): (usize, &f64)| {
            let [lowest, largest] = self.usable(variable);
            (lowest..=largest).contains(value)
        };
        let unusable = !seen.iter().enumerate().all(is_usable);
        let mut outside = unusable;
        let mut response = Response::Flag;
        if let (Some(guard), false) = (&self.guard, unusable) {
            for ((value, quantity), &range) in seen.iter_mut().zip(&self.policy.states).zip(&guard.ranges) {
                if quantity.derived.is_some() || (quantity.periodic && angle::is_whole(range)) {
                    continue;
                }
                let [low, high] = range;
                let place = if quantity.periodic { angle::place(*value, range) } else { *value };
                outside |= place < low || place > high;
                if guard.response == Response::Clamp && !(low..=high).contains(&place) {
                    *value = if place < low { low } else { high };
                }
            }
            response = guard.response;
        }
        if !unusable {
            self.derive(memory, &mut seen);
        }
        let last = &mut memory.last;
        let wanted = match (unusable, outside, response) {
            (true, ..) if self.holds() => last.clone(),
            (false, true, Response::Hold) => last.clone(),
            (true, ..) | (false, true, Response::Fallback) => self.fallback.clone(),
            _ => act(&seen),
        };
        for (index, (last, mut wanted)) in last.iter_mut().zip(wanted).enumerate() {
            if let Some(rate) = self.rate_limits[index] {
                wanted = wanted.max(*last - rate).min(*last + rate);
            }
            let [low, high] = self.policy.actions[index].limits;
            *last = wanted.max(low).min(high);
        }
        outside
    }
}

/// Refuses what has other parts than its policy: an export that was read back may hold anything.
fn check_form(
    policy: &FuzzyPolicy,
    guard: Option<&Guard>,
    fallback: &[f64],
    rate_limits: &[Option<f64>],
) -> Result<()> {
    let (states, actions) = (policy.states.len(), policy.actions.len());
    let rules = policy.actions.iter().flat_map(|action| &action.rules);
    let sizes = rules.flat_map(|rule| [("rules.centre", rule.centre.len()), ("rules.width", rule.width.len())]);
    let ranges = guard.map(|guard| ("guard.ranges", guard.ranges.len()));
    let of_inputs = sizes.chain(ranges).map(|(key, found)| (key, found, states, "input"));
    let of_actions = [("fallback", fallback.len()), ("rate_limits", rate_limits.len())];
    let mut parts = of_inputs.chain(of_actions.map(|(key, found)| (key, found, actions, "action")));
    match parts.find(|(_, found, wanted, _)| found != wanted) {
        Some((key, found, wanted, each)) => {
            let rule = format!("it has one for each {each}, {wanted} in all");
            Err(Error::setting(key, format!("a list of {found}"), rule, "export the run again"))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use fpsrl_engine::policy::{ActionRules, Quantity, Rule};
    use std::f64::consts::{PI, TAU};

    /// A policy of one action over two variables.
    pub(crate) fn small_policy() -> FuzzyPolicy {
        let rule = |centre: [f64; 2], width: [f64; 2], output: f64| Rule {
            centre: centre.to_vec(),
            width: width.to_vec(),
            output,
        };
        FuzzyPolicy {
            states: [("position", "m"), ("velocity", "m/s")].map(|(name, unit)| Quantity::new(name, unit)).to_vec(),
            mirrored: false,
            actions: vec![ActionRules {
                name: "force".into(),
                unit: "N".into(),
                limits: [-1.0, 2.0],
                rate: None,
                reach: 1.0,
                alpha: 13.4,
                rules: vec![rule([-0.3, 1.9], [3.7, 1.18], 1.0), rule([0.34, -0.78], [0.76, 0.78], -0.72)],
            }],
        }
    }

    pub(crate) fn small(precision: Precision, response: Option<Response>, rate: Option<f64>) -> Controller {
        let guard = response.map(|response| Guard { response, ranges: vec![[-1.2, 0.6], [-0.7, 0.7]] });
        Controller::new("small", small_policy(), precision, guard, vec![0.5], vec![rate]).unwrap()
    }

    fn acted(controller: &Controller, states: &[[f64; 2]]) -> Vec<(f64, bool)> {
        let mut memory = controller.begin();
        states
            .iter()
            .map(|state| {
                let outside = controller.step(&mut memory, state);
                (memory.last[0], outside)
            })
            .collect()
    }

    #[test]
    fn what_has_other_parts_than_its_policy_is_refused() {
        let refused = |policy: FuzzyPolicy, ranges: usize, fallback: usize, rates: usize| {
            let guard = Guard { response: Response::Hold, ranges: vec![[-1.0, 1.0]; ranges] };
            let (fallback, rates) = (vec![0.5; fallback], vec![None; rates]);
            Controller::new("small", policy, Precision::Double, Some(guard), fallback, rates).unwrap_err().to_string()
        };
        assert!(refused(small_policy(), 1, 1, 1).contains("`guard.ranges` is a list of 1"));
        assert!(refused(small_policy(), 2, 2, 1).contains("`fallback` is a list of 2"));
        assert!(refused(small_policy(), 2, 1, 0).contains("`rate_limits` is a list of 0"));
        let mut policy = small_policy();
        policy.actions[0].rules[1].width.pop();
        assert!(refused(policy, 2, 1, 1).contains("`rules.width` is a list of 1"));
    }

    #[test]
    fn inside_the_data_a_controller_is_its_policy() {
        let state = [0.1, -0.2];
        let expected = small_policy().act(&state)[0];
        for response in
            [None, Some(Response::Flag), Some(Response::Clamp), Some(Response::Hold), Some(Response::Fallback)]
        {
            let controller = small(Precision::Double, response, None);
            assert_eq!(acted(&controller, &[state]), [(expected, false)]);
        }
    }

    #[test]
    fn outside_of_the_data_each_response_does_what_it_says() {
        let policy = small_policy();
        let (inside, outside) = ([0.1, -0.2], [0.7, 0.2]);
        let at = |state: &[f64]| policy.act(state)[0];
        for (response, expected) in [
            (Response::Flag, at(&outside)),
            (Response::Clamp, at(&[0.6, 0.2])),
            (Response::Hold, at(&inside)),
            (Response::Fallback, 0.5),
        ] {
            let acts = acted(&small(Precision::Double, Some(response), None), &[inside, outside]);
            assert_eq!(acts, [(at(&inside), false), (expected, true)], "{response:?}");
        }
    }

    #[test]
    fn unusable_inputs_set_the_flag_and_take_the_fallback_or_hold() {
        for broken in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 2e30, -f64::MAX] {
            for response in [None, Some(Response::Flag), Some(Response::Clamp), Some(Response::Fallback)] {
                let acts = acted(&small(Precision::Double, response, None), &[[0.1, -0.2], [0.1, broken]]);
                assert_eq!(acts[1], (0.5, true), "{response:?}");
            }
            let acts = acted(&small(Precision::Double, Some(Response::Hold), None), &[[0.1, -0.2], [broken, 0.0]]);
            assert_eq!(acts[1], (acts[0].0, true));
        }
    }

    /// A policy of a pole: one rule around the lowest position, on both sides of half a turn, and one around the highest.
    pub(crate) fn swinging(precision: Precision, response: Option<Response>, range: [f64; 2]) -> Controller {
        let mut policy = small_policy();
        policy.states[0] = Quantity { periodic: true, ..Quantity::new("theta", "rad") };
        policy.actions[0].rules[0].centre[0] = 3.0;
        policy.actions[0].rules[0].width[0] = 0.5;
        let guard = response.map(|response| Guard { response, ranges: vec![range, [-0.7, 0.7]] });
        Controller::new("swinging", policy, precision, guard, vec![0.5], vec![None]).unwrap()
    }

    #[test]
    fn whole_turns_make_no_difference_to_an_angle() {
        for (response, range) in
            [(None, [0.0; 2]), (Some(Response::Fallback), [-PI, PI]), (Some(Response::Clamp), [2.0, 4.0])]
        {
            let controller = swinging(Precision::Double, response, range);
            let acts = acted(&controller, &[[3.3, 0.1], [3.3 - TAU, 0.1], [3.3 + 3.0 * TAU, 0.1]]);
            for (action, outside) in &acts {
                assert!((action - acts[0].0).abs() < 1e-9 && !outside, "{acts:?}");
            }
            let unusable = acted(&controller, &[[1.1e6, 0.1]]);
            assert_eq!(unusable, [(0.5, true)]);
        }
    }

    #[test]
    fn outside_of_its_arc_an_angle_is_shown_at_the_nearer_end() {
        let controller = swinging(Precision::Double, Some(Response::Clamp), [2.5, 3.8]);
        let at = |angle: f64| controller.policy.act(&[angle, 0.1])[0];
        // -2 is 0.48 beyond 3.8, the other way around; -7 is -0.72.
        for (angle, seen, outside) in [(-3.0, -3.0, false), (-2.0, 3.8, true), (2.0, 2.5, true), (-4.6, 2.5, true)] {
            let (action, flag) = acted(&controller, &[[angle, 0.1]])[0];
            assert!((action - at(seen)).abs() < 1e-12 && flag == outside, "{angle}: {action} {}", at(seen));
        }
    }

    #[test]
    fn a_rate_limit_bounds_every_move_and_the_limits_hold() {
        let controller = small(Precision::Double, Some(Response::Clamp), Some(0.25));
        let states: Vec<[f64; 2]> = (0..200).map(|step| [0.0, (step as f64 * 0.7).sin()]).collect();
        let mut last = 0.5;
        for (action, _) in acted(&controller, &states) {
            assert!((action - last).abs() <= 0.25 + 1e-12 && (-1.0..=2.0).contains(&action));
            last = action;
        }
    }

    #[test]
    fn what_cannot_be_said_in_the_precision_is_refused() {
        let mut policy = small_policy();
        policy.actions[0].rules[0].width[1] = 1e-20;
        let new = |policy: FuzzyPolicy, precision, fallback: f64, rate| {
            Controller::new("small", policy, precision, None, vec![fallback], vec![rate])
        };
        assert!(new(policy.clone(), Precision::Double, 0.0, None).is_ok());
        let error = new(policy, Precision::Single, 0.0, None).unwrap_err();
        assert!(error.hint().unwrap().contains("precision = double"), "{error}");
        assert!(new(small_policy(), Precision::Double, 2.5, None).is_err());
        assert!(new(small_policy(), Precision::Double, 0.0, Some(-1.0)).is_err());
        assert!(new(small_policy(), Precision::Double, f64::NAN, None).is_err());
    }
}
