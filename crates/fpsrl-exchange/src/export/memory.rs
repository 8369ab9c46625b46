//! What a controller computes from its other inputs, and what it keeps for that: errors, running sums, and the last action.
//!
//! An error is a set-point less what is to follow it. Its running sum is 0 in the first step; from then on each step's error is
//! added, within the sum's limit. While an action of the last step is at one of its limits, the sum only falls: the plant cannot
//! be given more. Worlds add up in the same way (`running_sum` in fpsrl-world), so rules meet on the machine what they were
//! searched with.
//!
//! In single precision, errors and sums are rounded to 32 bits in each step, as the targets do it.

use super::controller::Controller;
use fpsrl_base::error::{Error, Result};
use fpsrl_engine::policy::{Derived, Quantity};

/// An action this near to its limit, as a share of the distance between its limits, counts as being there.
const AT_LIMIT: f64 = 0.01;

/// What a controller remembers from one step to the next.
#[derive(Clone, Debug, PartialEq)]
pub struct Memory {
    /// The last action. To take over without a jump, set it to what the plant is given now.
    pub last: Vec<f64>,
    /// The running sums, in the order of the inputs.
    pub sums: Vec<f64>,
    /// Whether there was a step with usable inputs; sums begin after it.
    pub begun: bool,
}

/// A running sum among the inputs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RunningSum {
    /// The number of the input that it is.
    pub input: usize,
    /// The number of the error that it adds up.
    pub error: usize,
    /// How far it may go to either side.
    pub limit: f64,
}

impl RunningSum {
    /// The sum with an error added; `stopped` says that an action is at a limit.
    fn added(&self, sum: f64, error: f64, stopped: bool, round: impl Fn(f64) -> f64) -> f64 {
        let wanted = round(sum + error).clamp(-self.limit, self.limit);
        if stopped && wanted.abs() > sum.abs() { sum } else { wanted }
    }
}

impl Controller {
    /// The memory before the first step, and after a reset.
    pub fn begin(&self) -> Memory {
        Memory { last: self.fallback.clone(), sums: vec![0.0; self.running_sums().count()], begun: false }
    }

    /// Puts right what a caller may have written into a memory, and no step does: what cannot be used as an input cannot be
    /// remembered either. Such an action counts as the fallback and such a sum as 0; a sum stays within its limit.
    pub(super) fn mend(&self, memory: &mut Memory) {
        let largest = self.precision.largest_input();
        let usable = |value: f64, otherwise: f64| if value.abs() <= largest { value } else { otherwise };
        for (last, fallback) in memory.last.iter_mut().zip(&self.fallback) {
            *last = usable(*last, *fallback);
        }
        for (sum, kept) in self.running_sums().zip(&mut memory.sums) {
            *kept = usable(*kept, 0.0).clamp(-sum.limit, sum.limit);
        }
    }

    /// The inputs that someone must measure; the controller computes the others from them.
    pub fn measured(&self) -> impl Iterator<Item = &Quantity> {
        self.policy.states.iter().filter(|state| state.derived.is_none())
    }

    /// Whether it computes an input from others.
    pub fn derives(&self) -> bool {
        self.policy.states.iter().any(|state| state.derived.is_some())
    }

    /// The running sums, in the order of the inputs.
    pub(super) fn running_sums(&self) -> impl Iterator<Item = RunningSum> + '_ {
        self.policy.states.iter().enumerate().filter_map(|(input, state)| match state.derived {
            Some(Derived::Sum { error, limit }) => {
                Some(RunningSum { input, error, limit: self.precision.round(limit) })
            }
            _ => None,
        })
    }

    /// The values between which an action is not at a limit.
    pub(super) fn inner(&self, action: usize) -> [f64; 2] {
        let [low, high] = self.policy.actions[action].limits;
        let margin = AT_LIMIT * (high - low);
        [low + margin, high - margin].map(|end| self.precision.round(end))
    }

    /// Whether an action is at a limit, so that running sums must not grow.
    pub(super) fn is_stopped(&self, last: &[f64]) -> bool {
        last.iter().enumerate().any(|(action, value)| {
            let [low, high] = self.inner(action);
            let value = self.precision.round(*value);
            value <= low || value >= high
        })
    }

    /// All inputs from the measured ones; what is computed is 0 as yet.
    pub(super) fn spread(&self, measured: &[f64]) -> Vec<f64> {
        let mut given = measured.iter().copied();
        let one = |state: &Quantity| match state.derived {
            None => given.next().unwrap_or(f64::NAN),
            Some(_) => 0.0,
        };
        self.policy.states.iter().map(one).collect()
    }

    /// Computes errors and sums from what is measured, and adds up.
    pub(super) fn derive(&self, memory: &mut Memory, inputs: &mut [f64]) {
        for (index, state) in self.policy.states.iter().enumerate() {
            if let Some(Derived::Error { state, set_point }) = state.derived {
                inputs[index] = self.precision.round(inputs[set_point] - inputs[state]);
            }
        }
        let stopped = self.is_stopped(&memory.last);
        for (sum, kept) in self.running_sums().zip(&mut memory.sums) {
            if memory.begun {
                *kept = sum.added(*kept, inputs[sum.error], stopped, |value| self.precision.round(value));
            }
            inputs[sum.input] = *kept;
        }
        memory.begun = true;
    }

    /// The range of a derived input while all measured ones are within theirs; of others as it is.
    pub(super) fn derived_ranges(&self, ranges: &mut [[f64; 2]]) {
        for (index, state) in self.policy.states.iter().enumerate() {
            let range = match state.derived {
                None => continue,
                Some(Derived::Error { state, set_point }) => {
                    let ([low, high], [lowest, highest]) = (ranges[state], ranges[set_point]);
                    [lowest - high, highest - low]
                }
                Some(Derived::Sum { limit, .. }) => [-limit, limit],
            };
            ranges[index] = range.map(|end| self.precision.round(end));
        }
    }

    /// Refuses what does not follow from measured inputs, or cannot be said in the precision.
    pub(super) fn check_derived(&self) -> Result<()> {
        let states = &self.policy.states;
        let is_measured = |input: usize| states.get(input).is_some_and(|state| state.derived.is_none());
        for state in states {
            let fits = match state.derived {
                None => true,
                Some(Derived::Error { state, set_point }) => is_measured(state) && is_measured(set_point),
                Some(Derived::Sum { error, limit }) => {
                    let of = states.get(error).and_then(|state| state.derived);
                    let largest = self.precision.largest_input();
                    matches!(of, Some(Derived::Error { .. })) && limit >= 1.0 / largest && limit <= largest
                }
            };
            if !fits {
                let rule = "an error follows from measured inputs, and a sum adds up an error within a limit that can be exported";
                return Err(Error::setting(format!("{}.derived", state.name), &state.name, rule, "search again"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::export::{Guard, Precision, Response, Vectors};
    use fpsrl_engine::policy::{ANYWHERE, ActionRules, FuzzyPolicy, MODE_WIDTH, Rule};
    use proptest::prelude::*;

    /// A tank whose level follows a set-point, with a mode, an error, its sum, and the level of the step before.
    pub(crate) fn tracking_policy() -> FuzzyPolicy {
        let modes = ["COMFORT", "ECO", "AWAY"].map(str::to_owned).to_vec();
        let derived =
            |name: &str, unit: &str, derived| Quantity { derived: Some(derived), ..Quantity::new(name, unit) };
        // Of level, set-point and mode, error, sum and the level before.
        let rule = |mode: Option<f64>, error: [f64; 2], sum: [f64; 2], output: f64| Rule {
            centre: vec![0.0, 0.0, mode.unwrap_or(0.0), error[0], sum[0], 1.1],
            width: vec![ANYWHERE, ANYWHERE, mode.map_or(ANYWHERE, |_| MODE_WIDTH), error[1], sum[1], 3.0],
            output,
        };
        FuzzyPolicy {
            states: vec![
                Quantity::new("level", "m"),
                Quantity::new("level set-point", "m"),
                Quantity { values: modes, ..Quantity::new("Mode", "") },
                derived("level_error", "m", Derived::Error { state: 0, set_point: 1 }),
                derived("level_error_sum", "m steps", Derived::Sum { error: 3, limit: 7.5 }),
                Quantity::new("level_1", "m"),
            ],
            mirrored: false,
            actions: vec![ActionRules {
                name: "valve".into(),
                unit: "%".into(),
                limits: [0.0, 100.0],
                rate: None,
                reach: 1.0,
                alpha: 2.0,
                rules: vec![
                    rule(None, [0.8, 0.9], [4.0, 5.0], 0.9),
                    rule(None, [-0.8, 0.9], [-4.0, 5.0], -0.9),
                    rule(Some(1.0), [0.0, 0.5], [0.0, 9.0], -0.2),
                    rule(Some(2.0), [0.0, 0.4], [1.0, 3.0], -1.0),
                ],
            }],
        }
    }

    pub(crate) fn tracking(precision: Precision, response: Option<Response>, rate: Option<f64>) -> Controller {
        let ranges = vec![[0.2, 2.0], [0.5, 1.8], [0.0, 1.0], [9.0, 9.0], [9.0, 9.0], [0.2, 2.0]];
        let guard = response.map(|response| Guard { response, ranges });
        Controller::new("tank level", tracking_policy(), precision, guard, vec![20.0], vec![rate]).unwrap()
    }

    #[test]
    fn a_state_is_what_is_measured_and_the_rest_is_computed() {
        let controller = tracking(Precision::Double, Some(Response::Clamp), None);
        let names: Vec<&str> = controller.measured().map(|state| state.name.as_str()).collect();
        assert_eq!(names, ["level", "level set-point", "Mode", "level_1"]);
        assert!(controller.remembers() && controller.derives());
        let policy = tracking_policy();
        let mut memory = controller.begin();
        // First the sum is 0; of the level that is too high, the nearest covered one counts.
        assert!(!controller.step(&mut memory, &[1.0, 1.25, 0.0, 1.0]));
        assert_eq!(memory.last, policy.act(&[1.0, 1.25, 0.0, 0.25, 0.0, 1.0]));
        assert!(controller.step(&mut memory, &[2.5, 1.25, 1.0, 1.0]));
        assert_eq!(memory.last, policy.act(&[2.0, 1.25, 1.0, -0.75, -0.75, 1.0]));
        assert_eq!(memory.sums, [-0.75]);
        // What cannot be used leaves the sum as it is.
        for broken in [[f64::NAN, 1.0, 0.0, 1.0], [1.0, 1.0, 3.0, 1.0], [1.0, 1.0, -0.6, 1.0]] {
            assert!(controller.step(&mut memory, &broken));
            assert_eq!((memory.sums[0], memory.last[0]), (-0.75, 20.0));
        }
        // A mode that the data did not cover is usable, and outside.
        assert!(controller.step(&mut memory, &[1.0, 1.25, 2.0, 1.0]));
        assert_eq!(memory.sums, [-0.5]);
        assert_eq!(memory.last, policy.act(&[1.0, 1.25, 1.0, 0.25, -0.5, 1.0]));
        assert_eq!(controller.begin().sums, [0.0]);
    }

    #[test]
    fn what_a_caller_writes_into_the_memory_never_becomes_an_action() {
        let hold = tracking(Precision::Double, Some(Response::Hold), Some(15.0));
        let broken = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 2e30, f64::MAX];
        for value in broken {
            let mut memory = Memory { last: vec![value], sums: vec![value], begun: true };
            assert!(hold.step(&mut memory, &[f64::NAN, 1.0, 0.0, 1.0]));
            assert_eq!((memory.last[0], memory.sums[0]), (20.0, 0.0), "{value}");
        }
        // What is only too large counts as the nearest that can be.
        let mut memory = Memory { last: vec![250.0], sums: vec![-1e9], begun: false };
        assert!(hold.step(&mut memory, &[f64::NAN, 1.0, 0.0, 1.0]));
        assert_eq!((memory.last[0], memory.sums[0]), (100.0, -7.5));
    }

    #[test]
    fn sums_begin_after_the_first_usable_step() {
        let controller = tracking(Precision::Double, None, None);
        let mut memory = controller.begin();
        controller.step(&mut memory, &[f64::NAN, 1.0, 0.0, 1.0]);
        assert!(!memory.begun);
        controller.step(&mut memory, &[1.0, 2.0, 0.0, 1.0]);
        assert!(memory.begun && memory.sums == [0.0]);
    }

    #[test]
    fn ranges_of_what_is_computed_follow_from_the_others() {
        let controller = tracking(Precision::Double, Some(Response::Hold), None);
        let ranges = &controller.guard.as_ref().unwrap().ranges;
        assert_eq!(ranges[3], [0.5 - 2.0, 1.8 - 0.2]);
        assert_eq!(ranges[4], [-7.5, 7.5]);
    }

    #[test]
    fn what_does_not_follow_from_measured_inputs_is_refused() {
        for (index, derived) in [
            (3, Derived::Error { state: 4, set_point: 1 }),
            (4, Derived::Sum { error: 0, limit: 1.0 }),
            (4, Derived::Sum { error: 3, limit: 1e19 }),
        ] {
            let mut policy = tracking_policy();
            policy.states[index].derived = Some(derived);
            let error = Controller::new("t", policy, Precision::Single, None, vec![0.0], vec![None]).unwrap_err();
            assert!(error.to_string().contains(".derived"), "{error}");
        }
    }

    #[test]
    fn vectors_let_sums_grow_reach_their_limit_stop_and_begin_anew() {
        for precision in [Precision::Double, Precision::Single] {
            for response in [None, Some(Response::Clamp), Some(Response::Hold)] {
                let controller = tracking(precision, response, None);
                let vectors = Vectors::new(&controller);
                let mut memory = controller.begin();
                let [mut grew, mut at_limit, mut stopped, mut fell, mut resets, mut negative] = [0; 6];
                for (reset, state) in vectors.steps() {
                    if reset {
                        memory = controller.begin();
                        resets += 1;
                    }
                    let before = memory.clone();
                    controller.step(&mut memory, state);
                    let (from, to) = (before.sums[0].abs(), memory.sums[0].abs());
                    grew += usize::from(to > from && to < 7.5);
                    at_limit += usize::from(to == 7.5);
                    negative += usize::from(memory.sums[0] == -7.5);
                    fell += usize::from(to < from);
                    let unusable = state.iter().any(|value| !value.is_finite());
                    stopped += usize::from(to == from && from < 7.5 && before.begun && !unusable);
                }
                for count in [grew, at_limit - negative, negative, stopped, fell, resets] {
                    assert!(count > 50, "{response:?}: {grew} {at_limit} {negative} {stopped} {fell} {resets}");
                }
            }
        }
    }

    proptest! {
        /// The definition as worlds have it, written down again.
        #[test]
        fn a_running_sum_is_what_worlds_add_up(
            steps in prop::collection::vec((0.0..3.0f64, 0.0..3.0f64, 0.0..2.0f64), 1..60), rate in prop::option::of(0.5..80.0f64),
            limits in (-50.0..50.0f64, 0.1..100.0f64),
        ) {
            let mut policy = tracking_policy();
            policy.actions[0].limits = [limits.0, limits.0 + limits.1];
            let controller =
                Controller::new("t", policy.clone(), Precision::Double, None, vec![limits.0], vec![rate]).unwrap();
            let mut memory = controller.begin();
            let (mut sum, mut last) = (0.0f64, None::<f64>);
            for (level, set_point, mode) in steps {
                let error = set_point - level;
                if let Some(last) = last {
                    let [low, high] = policy.actions[0].limits;
                    let at_limit = last <= low + 0.01 * (high - low) || last >= high - 0.01 * (high - low);
                    let wanted = (sum + error).clamp(-7.5, 7.5);
                    if !(at_limit && wanted.abs() > sum.abs()) {
                        sum = wanted;
                    }
                }
                controller.step(&mut memory, &[level, set_point, mode, 1.0]);
                prop_assert_eq!(memory.sums[0], sum);
                if rate.is_none() {
                    let expected = policy.act(&[level, set_point, mode, error, sum, 1.0])[0];
                    prop_assert!((memory.last[0] - expected).abs() < 1e-9);
                }
                last = Some(memory.last[0]);
            }
        }
    }
}
