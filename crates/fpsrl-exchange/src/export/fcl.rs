//! FCL, the fuzzy control language of IEC 61131-7.

use std::fmt::Write as _;

use super::controller::Controller;
use super::identifier::ascii;
use super::provenance::Provenance;
use super::rule_base::{Parts, condition, refuse_circles};
use super::writer::Writer;
use super::{Dialect, Format, Generated, Target};
use fpsrl_base::error::Result;
use fpsrl_explain::sentences;

/// Rules in the fuzzy control language of IEC 61131-7.
pub(super) struct Fcl;

impl Writer for Fcl {
    fn name(&self) -> &'static str {
        "fcl"
    }

    fn extension(&self, _: Dialect) -> &'static str {
        "fcl"
    }

    fn is_rule_base(&self) -> bool {
        true
    }

    fn dialects(&self) -> &'static [Dialect] {
        &[Dialect::Fuzzylite]
    }

    fn write(
        &self,
        controller: &Controller,
        provenance: Option<&Provenance>,
        target: &Target,
        _: &str,
    ) -> Result<Generated> {
        refuse_circles(controller, Format::Fcl)?;
        fcl(controller, provenance, target.dialect == Dialect::Fuzzylite)
    }
}

/// The fuzzy control language, in the dialect of jFuzzyLogic or of fuzzylite: the standard itself knows no Gaussians.
///
/// fuzzylite knows its own name of a Gaussian, wants the words of a rule in small letters, and adds up what rules of one
/// output say without being told.
fn fcl(controller: &Controller, provenance: Option<&Provenance>, for_fuzzylite: bool) -> Result<Generated> {
    let (dialect, gaussian, accumulation) =
        if for_fuzzylite { ("fuzzylite", "Gaussian", "") } else { ("jFuzzyLogic", "GAUSS", "\n    ACCU : SUM;") };
    let parts = Parts::new(controller, provenance)?;
    let policy = &controller.policy;
    let mut sentences = sentences(&controller.abridged().policy).into_iter();
    let mut text = parts.commented("//");
    let _ = writeln!(text, "// FCL of IEC 61131-7, in the dialect of {dialect}: {gaussian} mean deviation.");
    let _ = writeln!(text, "FUNCTION_BLOCK {}\n\nVAR_INPUT", parts.engine);
    for name in &parts.states {
        let _ = writeln!(text, "    {name} : REAL;");
    }
    let _ = writeln!(text, "END_VAR\n\nVAR_OUTPUT");
    for name in &parts.actions {
        let _ = writeln!(text, "    {name} : REAL;");
    }
    let _ = writeln!(text, "END_VAR");
    for (variable, state) in parts.states.iter().enumerate() {
        let _ = writeln!(text, "\nFUZZIFY {state}");
        for (action, name) in policy.actions.iter().zip(&parts.actions) {
            for (index, rule) in action.rules.iter().enumerate() {
                if let Some([mean, deviation]) = condition(rule, variable).map(|numbers| numbers.map(decimal)) {
                    let _ = writeln!(text, "    TERM {name}_{} := {gaussian} {mean} {deviation};", index + 1);
                }
            }
        }
        let _ = writeln!(text, "END_FUZZIFY");
    }
    for (action, name) in policy.actions.iter().zip(&parts.actions) {
        let _ = writeln!(text, "\nDEFUZZIFY {name}");
        for (index, rule) in action.rules.iter().enumerate() {
            let _ = writeln!(text, "    TERM {name}_{} := {};", index + 1, decimal(rule.output));
        }
        let reach = decimal(Parts::reach(action));
        let _ = writeln!(
            text,
            "    METHOD : COGS;\n    DEFAULT := 0.0;\n    RANGE := (-{reach} .. {reach});\nEND_DEFUZZIFY"
        );
    }
    for (action, name) in policy.actions.iter().zip(&parts.actions) {
        let _ = writeln!(text, "\nRULEBLOCK {name}_rules\n    AND : PROD;\n    ACT : PROD;{accumulation}");
        for (rule, index) in action.rules.iter().zip(1usize..) {
            let term = format!("{name}_{index}");
            let antecedent = parts.antecedent(rule, &term);
            let _ = writeln!(text, "    // {}", ascii(&sentences.next().unwrap_or_default()));
            let _ = writeln!(text, "    RULE {index} : if {antecedent} then {name} is {term};");
        }
        let _ = writeln!(text, "END_RULEBLOCK");
    }
    let _ = writeln!(text, "\nEND_FUNCTION_BLOCK");
    let note = format!("the dialect of FCL is {dialect}'s, because the standard knows no Gaussians");
    Ok(parts.finish("fcl", text, vec![note]))
}

/// A number that has a point and no exponent, which the grammar of FCL does not know.
fn decimal(value: f64) -> String {
    let text = format!("{value}");
    if text.contains('.') { text } else { text + ".0" }
}
