//! What rule bases for fuzzy tools share: FLL (fuzzylite), FCL (IEC 61131-7) and FIS (MATLAB, Octave).
//!
//! These formats hold the rules exactly, but have no place for α, the hyperbolic tangent and the limits. So a comment
//! says which function turns a tool's output into the action, and another one, beginning with `@fpsrl`, says it for
//! our own reader. The order of a Gaussian's numbers is mean, deviation in FLL and FCL, and deviation, mean in FIS.
//! Far from every rule these tools divide 0 by 0, where the policy keeps to the nearest rule. They know no circle: rules
//! that measure an angle around it are written as plain Gaussians where that changes nothing, and refused elsewhere.
//! A condition that a rule does not have is left out.

use std::f64::consts::PI;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::controller::Controller;
use super::identifier::{self, ascii};
use super::provenance::Provenance;
use super::vectors::{OutOfRange, make_room_for_errors, speaks, spoken_of, states_of_rules};
use super::view::{derivations, head};
use super::{Format, Generated, GeneratedFile, Names, angle};
use fpsrl_base::error::{Error, Result};
use fpsrl_base::text::number;
use fpsrl_engine::policy::{ANYWHERE, ActionRules, FuzzyPolicy, Quantity, Rule};

/// What marks the comment that holds a [`Frame`].
pub(crate) const MARK: &str = "@fpsrl ";

/// All of a policy but its rules: what the formats have no place for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Frame {
    pub states: Vec<Quantity>,
    pub mirrored: bool,
    pub actions: Vec<FrameAction>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FrameAction {
    pub name: String,
    pub unit: String,
    pub limits: [f64; 2],
    /// 1 in files from before there was another.
    #[serde(default = "within_limits")]
    pub reach: f64,
    pub alpha: f64,
}

/// JSON whose letters are all ASCII: some tools end a line, and with it a comment, at other characters than we do.
fn in_ascii(json: &str) -> String {
    let mut plain = String::with_capacity(json.len());
    for c in json.chars() {
        if c.is_ascii() && c != '\u{7f}' {
            plain.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            let _ = write!(plain, "\\u{unit:04x}");
        }
    }
    plain
}

fn within_limits() -> f64 {
    1.0
}

impl Frame {
    fn of(policy: &FuzzyPolicy) -> Self {
        let actions = policy.actions.iter().map(|action| FrameAction {
            name: action.name.clone(),
            unit: action.unit.clone(),
            limits: action.limits,
            reach: action.reach,
            alpha: action.alpha,
        });
        Self { states: policy.states.clone(), mirrored: policy.mirrored, actions: actions.collect() }
    }
}

/// What the three writers share.
pub(super) struct Parts {
    /// The lines of the comment at the head.
    pub(super) comment: Vec<String>,
    pub(super) engine: String,
    pub(super) states: Vec<String>,
    pub(super) actions: Vec<String>,
    /// The range of each input.
    pub(super) ranges: Vec<[f64; 2]>,
    /// Whether inputs follow from others.
    derives: bool,
}

impl Parts {
    pub(super) fn new(controller: &Controller, provenance: Option<&Provenance>) -> Result<Self> {
        // The comment that is read back holds every name whole.
        let frame = Frame::of(&controller.policy);
        let controller = &controller.abridged();
        let policy = &controller.policy;
        let texts =
            policy.states.iter().map(|state| &state.name).chain(policy.actions.iter().map(|action| &action.name));
        let mut states = identifier::FUZZY.names(texts.map(String::as_str));
        let actions = states.split_off(policy.states.len());
        let mut comment: Vec<String> = head(controller, provenance)
            .into_iter()
            // How a controller behaves at its edges is the tool's affair here.
            .filter(|line| {
                !["guard ", "unusable ", "memory ", "angles ", "widths ", "computes "]
                    .iter()
                    .any(|word| line.starts_with(word))
            })
            .collect();
        comment.push("These are the rules alone. The action follows from what they give, from -1 to 1, by".to_owned());
        for (action, name) in policy.actions.iter().zip(&actions) {
            let [low, high] = action.limits;
            let cut = if action.reach > 1.0 { format!(", cut off at {low:?} and {high:?}") } else { String::new() };
            let action = format!(
                "    {name}: {:?} + {:?} * tanh({:?} * output) {}",
                0.5 * (low + high),
                0.5 * (high - low) * action.reach,
                action.alpha,
                action.unit
            );
            comment.push(ascii(&format!("{}{cut}", action.trim_end())));
        }
        let mut ranges = match &controller.guard {
            Some(guard) => guard.ranges.clone(),
            None => {
                let mut ranges: Vec<[f64; 2]> =
                    (0..policy.states.len()).map(|variable| spoken_of(policy, variable, 3.0)).collect();
                make_room_for_errors(policy, &mut ranges);
                ranges
            }
        };
        for (range, _) in ranges.iter_mut().zip(&policy.states).filter(|(_, state)| state.periodic) {
            *range = angle::straight(if controller.guard.is_some() { *range } else { [-PI, PI] });
        }
        for (variable, _) in policy.states.iter().enumerate().filter(|(_, state)| state.periodic) {
            let [low, high] = ranges[variable].map(number);
            let name = &states[variable];
            comment.push(ascii(&format!("The angle {name} is taken from {low} to {high} rad.")));
        }
        let derivations = derivations(controller);
        if !derivations.is_empty() {
            comment.push("Whoever calls the tool brings these inputs too:".to_owned());
            comment.extend(derivations.iter().map(|derivation| ascii(&format!("    {derivation}"))));
        }
        comment.push("Far from every rule a tool divides 0 by 0; the policy keeps to the nearest rule.".to_owned());
        if policy.actions.iter().flat_map(|action| &action.rules).any(always_holds) {
            comment.push(format!("A rule that always holds has a condition of width {ANYWHERE:e}."));
        }
        let frame = serde_json::to_string(&frame).map_err(|_| Error::Internal("a policy has no form in JSON"))?;
        comment.push(format!("{MARK}{}", in_ascii(&frame)));
        let engine = identifier::FUZZY.names([controller.name.as_str()]).remove(0);
        Ok(Self { comment, engine, states, actions, ranges, derives: controller.derives() })
    }

    pub(super) fn finish(self, extension: &'static str, text: String, notes: Vec<String>) -> Generated {
        let mut all = vec![
            "the format has no place for alpha, tanh and limits: the file says in its head how the action follows"
                .to_owned(),
        ];
        all.extend(notes);
        if self.derives {
            all.push(
                "the format has no place for errors and running sums: they are inputs, and the head says what they are"
                    .into(),
            );
        }
        Generated {
            files: vec![GeneratedFile::text(extension, text)],
            names: Names { controller: self.engine, states: self.states, actions: self.actions },
            notes: all,
        }
    }

    pub(super) fn commented(&self, mark: &str) -> String {
        self.comment.iter().fold(String::new(), |mut text, line| {
            let _ = writeln!(text, "{}", format!("{mark} {line}").trim_end());
            text
        })
    }

    /// What stands between `if` and `then`; the terms of a rule are called like its output.
    pub(super) fn antecedent(&self, rule: &Rule, term: &str) -> String {
        let states = self.states.iter().enumerate().filter(|(variable, _)| condition(rule, *variable).is_some());
        states.map(|(_, state)| format!("{state} is {term}")).collect::<Vec<_>>().join(" and ")
    }

    /// The largest output in a rule base, at least 1: the range of an output.
    pub(super) fn reach(action: &ActionRules) -> f64 {
        action.rules.iter().fold(1.0, |reach, rule| rule.output.abs().max(reach))
    }
}

/// Whether a rule has no condition at all.
fn always_holds(rule: &Rule) -> bool {
    (0..rule.width.len()).all(|variable| rule.ignores(variable))
}

/// The mean and the deviation of a rule's condition on a variable, if it has one.
///
/// A rule needs something after its `if`, and tools do not agree on what a rule of "don't care" alone gives. So a rule that
/// always holds keeps a condition on the first variable, so wide that it holds everywhere.
pub(super) fn condition(rule: &Rule, variable: usize) -> Option<[f64; 2]> {
    if !rule.ignores(variable) {
        return Some([rule.centre[variable], rule.width[variable]]);
    }
    (variable == 0 && always_holds(rule)).then_some([0.0, ANYWHERE])
}

/// Refuses rules for a tool that knows straight lines only, if that makes a difference anywhere: in states as the test
/// vectors hold them, the actions of plain Gaussians differ from the policy's by more than the tolerance.
pub(super) fn refuse_circles(controller: &Controller, format: Format) -> Result<()> {
    let policy = &controller.policy;
    if !controller.is_periodic() {
        return Ok(());
    }
    let plain: Vec<Quantity> =
        policy.states.iter().map(|state| Quantity { periodic: false, ..state.clone() }).collect();
    let tolerance = controller.precision.tolerance();
    let response = controller.guard.as_ref().map(|guard| guard.response);
    for state in states_of_rules(controller, OutOfRange::of(format, response)) {
        for action in policy.actions.iter().filter(|action| speaks(&policy.states, action, &state.seen)) {
            let scale = action.limits[0].abs().max(action.limits[1].abs()).max(1.0);
            let difference = action.act(&plain, &state.seen) - action.act(&policy.states, &state.seen);
            if difference.abs() <= tolerance * scale && speaks(&plain, action, &state.seen) {
                continue;
            }
            let (rule, variable) = reaching(policy, action, &state.seen);
            let rule = format!(
                "the format knows no circle, and rule {} of `{}` reaches around it in `{}`",
                rule + 1,
                action.name,
                policy.states[variable].name
            );
            let hint = "choose another format, or set `periodic = false` below [policy] and search again";
            return Err(Error::setting("to", format.name(), rule, hint));
        }
    }
    Ok(())
}

/// The rule that has most to say in a state because it reaches around the circle, and the variable in which it does.
fn reaching(policy: &FuzzyPolicy, action: &ActionRules, state: &[f64]) -> (usize, usize) {
    let mut found = (0, 0, f64::NEG_INFINITY);
    for (index, (rule, share)) in action.rules.iter().zip(action.shares(&policy.states, state)).enumerate() {
        for (variable, quantity) in policy.states.iter().enumerate().filter(|(_, quantity)| quantity.periodic) {
            let straight = (state[variable] - rule.centre[variable]) / rule.width[variable];
            let around = quantity.difference(rule.centre[variable], state[variable]) / rule.width[variable];
            // What the membership loses on the straight line.
            let lost = share * -(0.5 * (around * around - straight * straight)).exp_m1();
            if lost > found.2 {
                found = (index, variable, lost);
            }
        }
    }
    (found.0, found.1)
}

#[cfg(test)]
mod tests {
    use super::super::Target;
    use super::super::controller::tests::{small_policy, swinging};
    use super::super::controller::{Precision, Response};
    use super::*;

    #[test]
    fn rules_that_reach_around_the_circle_are_refused_and_others_are_written() {
        for format in [Format::Fll, Format::Fcl, Format::Fis] {
            let generate = |response, range| {
                Target::new(format).generate(&swinging(Precision::Double, response, range), None, "small")
            };
            // The pole swings all around: the rule at 3 rad holds at -3 rad too.
            for (response, range) in [(None, [0.0; 2]), (Some(Response::Clamp), [2.5, 3.8])] {
                let error = generate(response, range).unwrap_err();
                assert!(error.to_string().contains("rule 1 of `force` reaches around it in `theta`"), "{error}");
                assert!(error.hint().unwrap().contains("periodic = false"));
            }
            // It stays where no rule reaches around.
            let generated = generate(Some(Response::Clamp), [0.5, 3.0]).unwrap();
            let text = String::from_utf8(generated.files[0].content.clone()).unwrap();
            assert!(text.contains("The angle theta is taken from 0.5 to 3 rad."), "{text}");
        }
    }

    #[test]
    fn conditions_that_are_not_there_are_left_out() {
        let mut policy = small_policy();
        policy.states.push(Quantity::new("load", "kg"));
        for rule in &mut policy.actions[0].rules {
            rule.centre.push(0.0);
            rule.width.push(ANYWHERE);
        }
        policy.actions[0].rules[1].ignore(0);
        let mut always = policy.actions[0].rules[0].clone();
        (0..3).for_each(|variable| always.ignore(variable));
        let text = |policy: &FuzzyPolicy, format| {
            let controller =
                Controller::new("small", policy.clone(), Precision::Double, None, vec![0.5], vec![None]).unwrap();
            let generated = Target::new(format).generate(&controller, None, "small").unwrap();
            String::from_utf8(generated.files[0].content.clone()).unwrap()
        };
        for (format, first, second) in [
            (Format::Fll, "if position is force_1 and velocity is force_1 then", "if velocity is force_2 then"),
            (Format::Fcl, "if position is force_1 and velocity is force_1 then", "if velocity is force_2 then"),
            (Format::Fis, "\n1 1 0, 1 (1) : 1", "\n0 2 0, 2 (1) : 1"),
        ] {
            let plain = text(&policy, format);
            assert!(plain.contains(first) && plain.contains(second), "{plain}");
            assert!(!plain.contains("e18") && !plain.contains("1000000"), "{plain}");
            let mut policy = policy.clone();
            policy.actions[0].rules.push(always.clone());
            let text = text(&policy, format);
            assert!(text.contains("A rule that always holds has a condition of width 1e18."), "{text}");
            let third = if format == Format::Fis {
                "\n2 0 0, 3 (1) : 1"
            } else {
                "if position is force_3 then force is force_3"
            };
            assert!(text.contains(third), "{text}");
            // Neither an input that no rule looks at nor a rule that looks at nothing makes a range endless.
            assert!(!text.contains("e18 ") || format == Format::Fis, "{text}");
            assert_eq!(text.matches("-1.0 1.0").count(), if format == Format::Fcl { 0 } else { 2 }, "{text}");
        }
    }
}
