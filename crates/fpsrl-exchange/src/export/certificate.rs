//! The certificate of an export: how far what it computes is from the policy, and who found that out.

use serde::{Deserialize, Serialize};

use super::controller::{Controller, Precision, Response};
use super::single;
use super::vectors::{KINDS, Vectors, is_compared};
use super::{Format, Generated, Names, Target};
use fpsrl_engine::policy::ActionRules;

/// What `NAME.certificate.json` holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Certificate {
    /// What was exported, and what is needed to run it.
    pub export: Interface,
    /// The digest of the export's main file.
    pub export_sha256: String,
    /// The digest of `policy.json`.
    pub policy_sha256: String,
    /// How many states there are of each kind.
    pub states: Vec<(String, usize)>,
    /// The largest difference allowed, as a share of the action's largest value or of 1.
    pub tolerance: f64,
    /// In single precision: what a model of the target's arithmetic shows, without the target itself.
    pub model: Option<Differences>,
    /// What a run of the export showed; null if none could be made.
    pub execution: Option<Execution>,
    /// Why there was none.
    pub not_executed: Option<String>,
}

/// What is needed to run an export.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interface {
    /// The target.
    pub target: Target,
    /// What it computes with.
    pub precision: Precision,
    /// What the guard does; null without one.
    pub response: Option<Response>,
    /// Whether it remembers its last action.
    pub remembers: bool,
    /// How many running sums it keeps; then test vectors hold resets.
    #[serde(default)]
    pub sums: usize,
    /// What things are called in it.
    pub names: Names,
    /// The limits of each action.
    pub limits: Vec<[f64; 2]>,
    /// The fallback of each action.
    pub fallback: Vec<f64>,
    /// Of rules alone: how the action follows from what they give.
    pub outer: Option<Vec<Outer>>,
}

/// How an action follows from what its rules give: middle + half_range · tanh(alpha · output).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outer {
    /// α.
    pub alpha: f64,
    /// The middle of the action's range.
    pub middle: f64,
    /// Half of the action's range.
    pub half_range: f64,
    /// The limits that the action is cut off at; null if it does not come that far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<[f64; 2]>,
}

impl Outer {
    /// The action for an output of the rules.
    pub fn action(&self, output: f64) -> f64 {
        let action = self.middle + self.half_range * (self.alpha * output).tanh();
        self.cut.map_or(action, |[low, high]| action.max(low).min(high))
    }
}

/// What a run of the export showed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Execution {
    /// The program that ran it.
    pub tool: String,
    /// What came out.
    pub differences: Differences,
}

/// How far a run was from the policy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Differences {
    /// Whether everything was as it should be.
    pub passed: bool,
    /// States that were compared.
    pub compared: usize,
    /// The largest difference of an action, in its unit.
    pub largest: f64,
    /// The same as a share of the action's largest value or of 1, which is what the tolerance is for.
    pub largest_share: f64,
    /// The largest difference among the states of each kind, in the action's unit.
    pub by_kind: Vec<(String, f64)>,
    /// Where the flag was not as it should be.
    pub wrong_flags: usize,
    /// Actions that were not within their limits.
    pub beyond_limits: usize,
}

impl Interface {
    /// Of a controller's export.
    pub fn new(controller: &Controller, target: Target, generated: &Generated) -> Self {
        Self {
            target,
            precision: controller.precision,
            response: controller.guard.as_ref().map(|guard| guard.response),
            remembers: controller.remembers(),
            sums: if target.format.is_rule_base() { 0 } else { controller.running_sums().count() },
            names: generated.names.clone(),
            limits: controller.policy.actions.iter().map(|action| action.limits).collect(),
            fallback: controller.fallback.clone(),
            outer: target.format.is_rule_base().then(|| {
                let outer = |action: &ActionRules| {
                    let [low, high] = action.limits;
                    Outer {
                        alpha: action.alpha,
                        middle: 0.5 * (low + high),
                        half_range: 0.5 * (high - low) * action.reach,
                        cut: (action.reach > 1.0).then_some([low, high]),
                    }
                };
                controller.policy.actions.iter().map(outer).collect()
            }),
        }
    }

    /// Compares what a run gave, a row of actions and the flag for each state, with what it should give.
    pub fn compare(&self, vectors: &Vectors, rows: &[(Vec<f64>, bool)], tolerance: f64) -> Differences {
        let mut by_kind = vec![0.0f64; KINDS.len()];
        let mut differences = Differences::default();
        for (row, (actions, outside)) in rows.iter().enumerate().take(vectors.len()) {
            let kind = vectors.kinds[row];
            differences.wrong_flags += usize::from(*outside != vectors.outside[row]);
            differences.compared += usize::from(!vectors.actions[row].iter().all(|expected| expected.is_nan()));
            for ((got, expected), [low, high]) in actions.iter().zip(&vectors.actions[row]).zip(&self.limits) {
                // Where a tool for rules alone divides 0 by 0, there is nothing to compare.
                if expected.is_nan() {
                    continue;
                }
                let scale = low.abs().max(high.abs()).max(1.0);
                // Limits are rounded to what the target computes with.
                let slack = 1e-7 * scale;
                differences.beyond_limits += usize::from(!(low - slack..=high + slack).contains(got));
                if !is_compared(kind, self.precision, self.response) {
                    continue;
                }
                let difference = (got - expected).abs();
                let difference = if difference.is_nan() { f64::MAX } else { difference };
                differences.largest = differences.largest.max(difference);
                differences.largest_share = differences.largest_share.max(difference / scale);
                let place = KINDS.iter().position(|(known, ..)| *known == kind).unwrap_or(0);
                by_kind[place] = by_kind[place].max(difference);
            }
        }
        differences.by_kind =
            KINDS.iter().zip(by_kind).map(|((_, name, _), largest)| ((*name).to_owned(), largest)).collect();
        differences.passed = rows.len() == vectors.len()
            && differences.largest_share <= tolerance
            && differences.wrong_flags == 0
            && differences.beyond_limits == 0;
        differences
    }
}

/// What the target's arithmetic does to the actions, where it is not that of the policy.
pub fn model(controller: &Controller, interface: &Interface, vectors: &Vectors) -> Option<Differences> {
    // A graph computes in double precision and only takes and gives single.
    if controller.precision == Precision::Double || interface.target.format == Format::Onnx {
        return None;
    }
    let mut memory = controller.begin();
    let rows: Vec<(Vec<f64>, bool)> = vectors
        .steps()
        .map(|(reset, state)| {
            if reset {
                memory = controller.begin();
            }
            let outside = controller.step_with(&mut memory, state, |seen| single::act(&controller.policy, seen));
            memory.last.iter_mut().for_each(|action| *action = Precision::Single.round(*action));
            (memory.last.clone(), outside)
        })
        .collect();
    Some(interface.compare(vectors, &rows, controller.precision.tolerance()))
}

/// How many vectors there are of each kind.
pub fn counts(vectors: &Vectors) -> Vec<(String, usize)> {
    KINDS
        .iter()
        .map(|(kind, name, _)| ((*name).to_owned(), vectors.kinds.iter().filter(|other| *other == kind).count()))
        .collect()
}
