//! FLL, the fuzzylite language.

use std::fmt::Write as _;

use super::controller::{Controller, Response};
use super::provenance::Provenance;
use super::rule_base::{Parts, condition, refuse_circles};
use super::writer::Writer;
use super::{Dialect, Format, Generated, Target};
use fpsrl_base::error::Result;

/// Rules for fuzzylite.
pub(super) struct Fll;

impl Writer for Fll {
    fn name(&self) -> &'static str {
        "fll"
    }

    fn extension(&self, _: Dialect) -> &'static str {
        "fll"
    }

    fn is_rule_base(&self) -> bool {
        true
    }

    fn write(
        &self,
        controller: &Controller,
        provenance: Option<&Provenance>,
        _: &Target,
        _: &str,
    ) -> Result<Generated> {
        refuse_circles(controller, Format::Fll)?;
        fll(controller, provenance)
    }
}

/// The fuzzylite language.
fn fll(controller: &Controller, provenance: Option<&Provenance>) -> Result<Generated> {
    let parts = Parts::new(controller, provenance)?;
    let policy = &controller.policy;
    let clamps = controller.guard.as_ref().is_some_and(|guard| guard.response == Response::Clamp);
    let mut text = parts.commented("#");
    let _ = writeln!(text, "Engine: {}", parts.engine);
    for (variable, name) in parts.states.iter().enumerate() {
        let [low, high] = parts.ranges[variable];
        let _ =
            writeln!(text, "InputVariable: {name}\n  enabled: true\n  range: {low:?} {high:?}\n  lock-range: {clamps}");
        for (action, action_name) in policy.actions.iter().zip(&parts.actions) {
            for (index, rule) in action.rules.iter().enumerate() {
                if let Some([mean, deviation]) = condition(rule, variable) {
                    let _ = writeln!(text, "  term: {action_name}_{} Gaussian {mean:?} {deviation:?}", index + 1);
                }
            }
        }
    }
    for (action, name) in policy.actions.iter().zip(&parts.actions) {
        let reach = Parts::reach(action);
        let _ = writeln!(
            text,
            "OutputVariable: {name}\n  enabled: true\n  range: {:?} {reach:?}\n  lock-range: false\n  aggregation: none\n  \
             defuzzifier: WeightedAverage TakagiSugeno\n  default: nan\n  lock-previous: false",
            -reach
        );
        for (index, rule) in action.rules.iter().enumerate() {
            let _ = writeln!(text, "  term: {name}_{} Constant {:?}", index + 1, rule.output);
        }
    }
    for (action, name) in policy.actions.iter().zip(&parts.actions) {
        let _ = writeln!(
            text,
            "RuleBlock: {name}_rules\n  enabled: true\n  conjunction: AlgebraicProduct\n  disjunction: none\n  \
             implication: none\n  activation: General"
        );
        for (index, rule) in action.rules.iter().enumerate() {
            let term = format!("{name}_{}", index + 1);
            let _ = writeln!(text, "  rule: if {} then {name} is {term}", parts.antecedent(rule, &term));
        }
    }
    Ok(parts.finish("fll", text, Vec::new()))
}
