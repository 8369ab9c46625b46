//! FIS, the file of the fuzzy toolboxes of MATLAB and Octave.

use std::fmt::Write as _;

use super::controller::Controller;
use super::provenance::Provenance;
use super::rule_base::{Parts, condition, refuse_circles};
use super::writer::Writer;
use super::{Dialect, Format, Generated, Target};
use fpsrl_base::error::Result;

/// Rules for the toolboxes of MATLAB and Octave.
pub(super) struct Fis;

impl Writer for Fis {
    fn name(&self) -> &'static str {
        "fis"
    }

    fn extension(&self, _: Dialect) -> &'static str {
        "fis"
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
        refuse_circles(controller, Format::Fis)?;
        fis(controller, provenance)
    }
}

/// The file of MATLAB's and Octave's fuzzy toolboxes.
fn fis(controller: &Controller, provenance: Option<&Provenance>) -> Result<Generated> {
    let parts = Parts::new(controller, provenance)?;
    let policy = &controller.policy;
    let rules: usize = policy.actions.iter().map(|action| action.rules.len()).sum();
    let mut text = parts.commented("%");
    // Rules with the same output are summed, not compared.
    let _ = writeln!(
        text,
        "\n[System]\nName='{}'\nType='sugeno'\nVersion=2.0\nNumInputs={}\nNumOutputs={}\nNumRules={rules}\nAndMethod='prod'\n\
         OrMethod='probor'\nImpMethod='prod'\nAggMethod='sum'\nDefuzzMethod='wtaver'",
        parts.engine,
        policy.states.len(),
        policy.actions.len()
    );
    for (variable, name) in parts.states.iter().enumerate() {
        let [low, high] = parts.ranges[variable];
        let all = policy.actions.iter().flat_map(|action| &action.rules);
        let terms = all.filter(|rule| condition(rule, variable).is_some()).count();
        let _ = writeln!(text, "\n[Input{}]\nName='{name}'\nRange=[{low:?} {high:?}]\nNumMFs={terms}", variable + 1);
        let mut number = 0;
        for (action, action_name) in policy.actions.iter().zip(&parts.actions) {
            for (index, rule) in action.rules.iter().enumerate() {
                let Some([mean, deviation]) = condition(rule, variable) else { continue };
                number += 1;
                let _ = writeln!(text, "MF{number}='{action_name}_{}':'gaussmf',[{deviation:?} {mean:?}]", index + 1);
            }
        }
    }
    for (output, (action, name)) in policy.actions.iter().zip(&parts.actions).enumerate() {
        let reach = Parts::reach(action);
        let count = action.rules.len();
        let _ =
            writeln!(text, "\n[Output{}]\nName='{name}'\nRange=[{:?} {reach:?}]\nNumMFs={count}", output + 1, -reach);
        for (index, rule) in action.rules.iter().enumerate() {
            let _ = writeln!(text, "MF{0}='{name}_{0}':'constant',[{1:?}]", index + 1, rule.output);
        }
    }
    let _ = writeln!(text, "\n[Rules]");
    // How many terms of each input are used up; 0 in a rule says that it does not look at the input.
    let mut used = vec![0; policy.states.len()];
    for (output, action) in policy.actions.iter().enumerate() {
        for (rule, index) in action.rules.iter().zip(1usize..) {
            let next = |(variable, used): (usize, &mut usize)| {
                let has = usize::from(condition(rule, variable).is_some());
                *used += has;
                (*used * has).to_string()
            };
            let conditions = used.iter_mut().enumerate().map(next).collect::<Vec<_>>().join(" ");
            let consequents: Vec<String> = (0..policy.actions.len())
                .map(|other| if other == output { index.to_string() } else { "0".into() })
                .collect();
            let _ = writeln!(text, "{conditions}, {} (1) : 1", consequents.join(" "));
        }
    }
    Ok(parts.finish("fis", text, Vec::new()))
}
