//! Policies from elsewhere, put into the order of a problem's variables.

use std::path::Path;

use fpsrl_base::error::{Error, Result};
use fpsrl_data::System;
use fpsrl_engine::policy::FuzzyPolicy;

/// The policy with a system's variables, in the system's order, matched by their names; units are the system's. `problem` is
/// what an error calls the system's file.
pub(crate) fn fitted(policy: &FuzzyPolicy, system: &System, problem: &Path) -> Result<FuzzyPolicy> {
    let mismatch = |what: String, hint: &str| Error::Mismatch {
        path: "the policy".into(),
        other: problem.to_owned(),
        problem: what,
        remedy: hint.into(),
    };
    let names = "rename the variables of the policy to those of the problem";
    let seen = system.policy_states();
    if let Some(fault) = policy.fault() {
        return Err(mismatch(fault, "correct the policy"));
    }
    if policy.states.len() != seen.len() || policy.actions.len() != system.actions().len() {
        return Err(mismatch("it has another number of states or actions".into(), names));
    }
    let mut order = Vec::new();
    for state in seen {
        let index = policy.states.iter().position(|other| other.name == state.name);
        order.push(index.ok_or_else(|| mismatch(format!("it has no state `{}`", state.name), names))?);
    }
    let mut fitted = policy.clone();
    for (to, (state, from)) in seen.iter().zip(&order).enumerate() {
        fitted.states[to] = policy.states[*from].clone();
        fitted.states[to].unit.clone_from(&state.unit);
    }
    for (to, wanted) in system.actions().iter().enumerate() {
        let action = policy.actions.iter().find(|other| other.name == wanted.name);
        let mut action = action.ok_or_else(|| mismatch(format!("it has no action `{}`", wanted.name), names))?.clone();
        if action.limits != wanted.limits {
            let what =
                format!("the limits of `{}` are {:?} instead of {:?}", action.name, action.limits, wanted.limits);
            return Err(mismatch(what, "give the output the problem's limits as its range, or change the problem's"));
        }
        action.unit.clone_from(&wanted.unit);
        action.rate = wanted.rate;
        for rule in &mut action.rules {
            rule.centre = order.iter().map(|from| rule.centre[*from]).collect();
            rule.width = order.iter().map(|from| rule.width[*from]).collect();
        }
        fitted.actions[to] = action;
    }
    Ok(fitted)
}
