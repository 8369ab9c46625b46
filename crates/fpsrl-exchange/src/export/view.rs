//! A controller as templates see it: every number already a literal of the target's language.

use std::f64::consts::TAU;

use serde::Serialize;

use super::angle;
use super::controller::{Controller, Precision, Response};
use super::identifier::{Language, abridged, ascii, identifier};
use super::modes::{self, ModeView};
use super::provenance::Provenance;
use super::single;
use fpsrl_base::error::{Error, Result};
use fpsrl_base::text::number;
use fpsrl_engine::policy::{ANYWHERE, Derived};
use fpsrl_explain::{sentences, steepness};

/// The longest line of what a run says of its policy.
const LONGEST_LINE: usize = 500;

/// How a language writes a number.
pub(super) type Literal = fn(f64, Precision) -> String;

/// What only code that measures angles around the circle calls its own, or calls.
const OWN_OF_ANGLES: [&str; 9] = [
    "place",
    "pi",
    "round",
    "PERIODIC",
    "LARGEST_ANGLE",
    "dint_to_lreal",
    "lreal_to_dint",
    "dint_to_real",
    "real_to_dint",
];

/// What only code that computes errors, sums or modes calls its own, or calls.
const OWN_OF_DERIVED: [&str; 9] = ["abs", "any", "INNER", "MODES", "USABLE", "begun", "stopped", "sums", "STATES"];

#[derive(Serialize)]
pub(super) struct View {
    pub name: String,
    pub head: Vec<String>,
    pub single: bool,
    pub remembers: bool,
    pub holds: bool,
    pub clamps: bool,
    pub falls_back: bool,
    pub guarded: bool,
    /// Whether rules measure an angle around the circle; what follows from that is left out of all other controllers.
    pub periodic: bool,
    /// Whether an input is a mode.
    pub modal: bool,
    /// Whether not all inputs are usable as far as each other: there are angles or modes.
    pub mixed: bool,
    /// What is computed from other inputs, by their numbers.
    pub errors: Vec<ErrorView>,
    pub sums: Vec<SumView>,
    pub turn: String,
    /// A turn as a sum, for single precision.
    pub turn_parts: Vec<String>,
    pub largest: String,
    pub farthest: String,
    pub farthest_square: String,
    pub most_rules: usize,
    pub states: Vec<StateView>,
    pub actions: Vec<ActionView>,
}

#[derive(Serialize)]
pub(super) struct StateView {
    pub name: String,
    pub text: String,
    pub unit: String,
    pub comment: String,
    pub periodic: bool,
    /// `error` or `sum` if the controller computes it.
    pub derived: Option<&'static str>,
    /// The words of a mode.
    pub modes: Vec<ModeView>,
    /// Whether the guard looks at it: not at an angle that the data covered all around, nor at what is computed.
    pub guarded: bool,
    pub lowest: String,
    pub largest: String,
    pub low: String,
    pub middle: String,
    pub high: String,
}

/// An input that is a set-point less what is to follow it.
#[derive(Serialize)]
pub(super) struct ErrorView {
    pub input: usize,
    pub state: usize,
    pub set_point: usize,
    pub about: String,
}

/// An input that is the running sum of an error.
#[derive(Serialize)]
pub(super) struct SumView {
    pub input: usize,
    pub error: usize,
    pub limit: String,
    pub about: String,
}

#[derive(Serialize)]
pub(super) struct ActionView {
    pub name: String,
    pub text: String,
    pub unit: String,
    pub comment: String,
    pub low: String,
    pub high: String,
    /// Where it begins to count as being at a limit.
    pub inner_low: String,
    pub inner_high: String,
    pub middle: String,
    pub half_range: String,
    pub alpha: String,
    pub fallback: String,
    pub rate: Option<String>,
    pub rules: Vec<RuleView>,
}

#[derive(Serialize)]
pub(super) struct RuleView {
    pub sentence: String,
    pub output: String,
    pub terms: Vec<TermView>,
}

#[derive(Serialize)]
pub(super) struct TermView {
    pub centre: String,
    pub width: String,
    pub centre_rest: String,
    pub scale: String,
    pub scale_rest: String,
}

impl View {
    pub fn new(
        controller: &Controller,
        provenance: Option<&Provenance>,
        language: &Language,
        literal: Literal,
    ) -> Self {
        let controller = &controller.abridged();
        let precision = controller.precision;
        let literal = |value: f64| literal(value, precision);
        let policy = &controller.policy;
        let texts =
            policy.states.iter().map(|state| &state.name).chain(policy.actions.iter().map(|action| &action.name));
        let own_of_angles: &[&str] = if controller.is_periodic() { &OWN_OF_ANGLES } else { &[] };
        let computes = controller.derives() || controller.has_modes();
        let own_of_derived: &[&str] = if computes { &OWN_OF_DERIVED } else { &[] };
        let own = [own_of_angles, own_of_derived].concat();
        let mut names = language.names_beside(&own, texts.map(String::as_str));
        let action_names = names.split_off(policy.states.len());
        let modes = modes::views(&policy.states, &names);
        let mut sentences = sentences(policy).into_iter().map(|sentence| ascii(&sentence));
        let response = controller.guard.as_ref().map(|guard| guard.response);
        let range = |index: usize| controller.guard.as_ref().map_or([0.0; 2], |guard| guard.ranges[index]);
        let spaced = |unit: &str| if unit.is_empty() { String::new() } else { format!(" {}", ascii(unit)) };
        Self {
            name: identifier(&controller.name).to_ascii_lowercase(),
            head: head(controller, provenance),
            single: precision == Precision::Single,
            remembers: controller.remembers(),
            holds: controller.holds(),
            clamps: response == Some(Response::Clamp),
            falls_back: response == Some(Response::Fallback),
            guarded: response.is_some(),
            periodic: controller.is_periodic(),
            modal: controller.has_modes(),
            mixed: controller.is_periodic() || controller.has_modes(),
            errors: errors(controller),
            sums: controller
                .running_sums()
                .map(|sum| SumView {
                    input: sum.input,
                    error: sum.error,
                    limit: literal(sum.limit),
                    about: ascii(&policy.states[sum.input].name),
                })
                .collect(),
            turn: literal(TAU),
            turn_parts: single::TURN.iter().map(|part| literal(f64::from(*part))).collect(),
            largest: literal(precision.largest_input()),
            farthest: literal(f64::from(single::FARTHEST)),
            farthest_square: literal(f64::from(single::FARTHEST * single::FARTHEST)),
            most_rules: policy.actions.iter().map(|action| action.rules.len()).max().unwrap_or(0),
            states: policy
                .states
                .iter()
                .zip(names)
                .zip(modes)
                .enumerate()
                .map(|(index, ((state, name), modes))| {
                    let [low, high] = range(index);
                    let whole = state.periodic && angle::is_whole([low, high]);
                    let listed = modes::listed(state);
                    let covered = match &controller.guard {
                        _ if !listed.is_empty() => listed,
                        Some(_) if whole => format!("{}, covered all around", spaced(&state.unit))
                            .trim_start_matches([' ', ','])
                            .to_owned(),
                        Some(_) => format!("covered from {} to {}{}", number(low), number(high), spaced(&state.unit)),
                        None => spaced(&state.unit).trim_start().to_owned(),
                    };
                    let renamed = renamed(&name, &state.name);
                    let [lowest, largest] = controller.usable(index);
                    let middle = 0.5 * (low + high);
                    // No input is outside of this, so that a loop over all inputs need not know.
                    let free = whole || state.derived.is_some();
                    let [low, high] = if free { [lowest, largest] } else { [low, high] };
                    StateView {
                        text: ascii(&state.name),
                        unit: ascii(&state.unit),
                        comment: format!("{renamed}{covered}"),
                        periodic: state.periodic,
                        derived: state.derived.map(|derived| match derived {
                            Derived::Error { .. } => "error",
                            Derived::Sum { .. } => "sum",
                        }),
                        modes,
                        guarded: response.is_some() && !free,
                        lowest: literal(lowest),
                        largest: literal(largest),
                        middle: literal(middle),
                        low: literal(low),
                        high: literal(high),
                        name,
                    }
                })
                .collect(),
            actions: policy
                .actions
                .iter()
                .zip(action_names)
                .enumerate()
                .map(|(index, (action, name))| {
                    let [low, high] = action.limits;
                    let unit = spaced(&action.unit);
                    let rate = controller.rate_limits[index];
                    let rate_text =
                        rate.map_or_else(String::new, |rate| format!(", moves {}{unit} a step at most", number(rate)));
                    let renamed = renamed(&name, &action.name);
                    let [inner_low, inner_high] = controller.inner(index);
                    ActionView {
                        text: ascii(&action.name),
                        unit: ascii(&action.unit),
                        comment: format!("{renamed}from {} to {}{unit}{rate_text}", number(low), number(high)),
                        low: literal(low),
                        high: literal(high),
                        inner_low: literal(inner_low),
                        inner_high: literal(inner_high),
                        middle: literal(0.5 * (low + high)),
                        half_range: literal(0.5 * (high - low) * action.reach),
                        alpha: literal(action.alpha),
                        fallback: literal(controller.fallback[index]),
                        rate: rate.map(literal),
                        rules: action
                            .rules
                            .iter()
                            .map(|rule| RuleView {
                                sentence: sentences.next().unwrap_or_default(),
                                output: literal(rule.output),
                                terms: rule
                                    .centre
                                    .iter()
                                    .zip(&rule.width)
                                    .zip(&policy.states)
                                    .map(|((&centre, &width), state)| {
                                        let centre = match precision {
                                            Precision::Single => single::centre(state, centre),
                                            Precision::Double => centre,
                                        };
                                        let [_, centre_rest] = single::split(centre);
                                        let [scale, scale_rest] = single::split(single::scale(width));
                                        TermView {
                                            centre: literal(centre),
                                            width: literal(width),
                                            centre_rest: literal(f64::from(centre_rest)),
                                            scale: literal(f64::from(scale)),
                                            scale_rest: literal(f64::from(scale_rest)),
                                        }
                                    })
                                    .collect(),
                            })
                            .collect(),
                        name,
                    }
                })
                .collect(),
        }
    }

    /// Fills a template. `extra` is what only this target needs.
    pub fn render(&self, template: &str, extra: minijinja::Value) -> Result<String> {
        let mut environment = minijinja::Environment::new();
        environment.set_trim_blocks(true);
        environment.set_lstrip_blocks(true);
        environment.set_keep_trailing_newline(true);
        environment.set_undefined_behavior(minijinja::UndefinedBehavior::Strict);
        environment
            .render_str(template, minijinja::context! { c => self, x => extra })
            .map_err(|_| Error::Internal("a template of an export is broken"))
    }
}

/// The errors among the inputs.
fn errors(controller: &Controller) -> Vec<ErrorView> {
    let states = &controller.policy.states;
    let one = |(input, quantity): (usize, &fpsrl_engine::policy::Quantity)| match quantity.derived? {
        Derived::Error { state, set_point } => {
            let about = format!("{}: {} less {}", quantity.name, states[set_point].name, states[state].name);
            Some(ErrorView { input, state, set_point, about: ascii(&about) })
        }
        Derived::Sum { .. } => None,
    };
    states.iter().enumerate().filter_map(one).collect()
}

/// What the inputs are that follow from others, a sentence each.
pub(super) fn derivations(controller: &Controller) -> Vec<String> {
    let states = &controller.policy.states;
    let one = |quantity: &fpsrl_engine::policy::Quantity| match quantity.derived? {
        Derived::Error { state, set_point } => {
            Some(format!("{} is {} less {}", quantity.name, states[set_point].name, states[state].name))
        }
        Derived::Sum { error, limit } => Some(format!(
            "{} is 0 in the first step; from then on {} is added in each, within +-{}; while an action of the last step is at a limit \
             (within 1 % of its range) it only falls",
            quantity.name,
            states[error].name,
            number(limit)
        )),
    };
    states.iter().filter_map(one).collect()
}

/// What stands at the head of every export: what it is, where it comes from, and how it behaves.
pub(super) fn head(controller: &Controller, provenance: Option<&Provenance>) -> Vec<String> {
    let controller = &controller.abridged();
    let policy = &controller.policy;
    let rules: usize = policy.actions.iter().map(|action| action.rules.len()).sum();
    let title = format!(
        "{}: fuzzy controller, {rules} rule{}, exported by fpsrl {}",
        controller.name,
        if rules == 1 { "" } else { "s" },
        env!("CARGO_PKG_VERSION")
    );
    let mut lines = vec![title, String::new()];
    if let Some(provenance) = provenance {
        lines.extend(provenance.lines().iter().map(|line| abridged(line, LONGEST_LINE)));
        lines.push(String::new());
    }
    lines.extend(steepness(policy).into_iter().flatten().map(|sentence| format!("slope     {sentence}")));
    lines.extend(behaviour(controller));
    if policy.conditions().len() < rules * policy.states.len() {
        // Code in single precision holds scales in place of widths.
        let scale = match controller.precision {
            Precision::Double => String::new(),
            Precision::Single => format!(" (a scale of {:e})", single::scale(ANYWHERE) as f32),
        };
        lines.push(format!("widths    a width of {ANYWHERE:e}{scale} stands for no condition"));
    }
    lines.into_iter().map(|line| ascii(&line)).collect()
}

/// How a controller behaves at the edges of what it knows.
pub(super) fn behaviour(controller: &Controller) -> Vec<String> {
    let list = |values: Vec<String>| values.join(", ");
    let policy = &controller.policy;
    let fallback = list(
        policy
            .actions
            .iter()
            .zip(&controller.fallback)
            .map(|(action, value)| format!("{} {} {}", action.name, number(*value), action.unit).trim_end().to_owned())
            .collect(),
    );
    let mut lines = match &controller.guard {
        None => vec!["guard     none: it does not know what the data covered".to_owned()],
        Some(guard) => {
            let then = match guard.response {
                Response::Flag => "the rules go on all the same".to_owned(),
                Response::Clamp => "the rules see the nearest covered state".to_owned(),
                Response::Hold => "the last action stays".to_owned(),
                Response::Fallback => format!("the action is {fallback}"),
            };
            vec![format!("guard     outside of what the data covered the flag is set, and {then}")]
        }
    };
    let broken =
        if controller.holds() { "the last action stays".to_owned() } else { format!("the action is {fallback}") };
    let angles: Vec<&str> =
        policy.states.iter().filter(|state| state.periodic).map(|state| state.name.as_str()).collect();
    let too_large = match angles.is_empty() {
        true => String::new(),
        false => format!(" (an angle beyond +-{:e})", controller.precision.largest_angle()),
    };
    lines.push(format!(
        "unusable  an input that is NaN, infinite or beyond +-{:e}{too_large} sets the flag, and {broken}",
        controller.precision.largest_input()
    ));
    if !angles.is_empty() {
        lines.push(format!("angles    {} in rad; whole turns make no difference", angles.join(", ")));
    }
    for state in policy.states.iter().filter(|state| !state.values.is_empty()) {
        lines.push(format!("modes     {}: {}; any other number is unusable", state.name, modes::listed(state)));
    }
    for derivation in derivations(controller) {
        lines.push(format!("computes  {derivation}"));
    }
    if controller.remembers() {
        lines.push(format!("memory    the last action is remembered; before the first step it is {fallback}"));
    }
    if controller.running_sums().next().is_some() {
        lines.push(
            "memory    running sums are remembered; a reset sets them back, unusable inputs leave them".to_owned(),
        );
    }
    lines
}

/// A number as most languages write it: it reads back to the same bits.
pub(super) fn plain_literal(value: f64, precision: Precision) -> String {
    match precision {
        Precision::Double => format!("{value:?}"),
        Precision::Single => format!("{:?}", value as f32),
    }
}

/// What the policy calls a variable, for a comment, if the target calls it otherwise.
fn renamed(name: &str, original: &str) -> String {
    if name == original { String::new() } else { format!("`{}`, ", ascii(original)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::controller::tests::small;

    #[test]
    fn the_head_says_how_the_controller_behaves() {
        let text = head(&small(Precision::Double, Some(Response::Hold), Some(0.1)), None).join("\n");
        assert!(text.starts_with("small: fuzzy controller, 2 rules, exported by fpsrl "), "{text}");
        assert!(
            text.contains("the last action stays") && text.contains("before the first step it is force 0.5 N"),
            "{text}"
        );
        assert!(!text.contains("widths "), "{text}");
        let mut controller = small(Precision::Double, None, None);
        controller.policy.actions[0].rules[0].ignore(1);
        let text = head(&controller, None).join("\n");
        assert!(text.contains("widths    a width of 1e18 stands for no condition"), "{text}");
        let text = head(&small(Precision::Single, None, None), None).join("\n");
        assert!(
            text.contains("guard     none") && text.contains("beyond +-1e18") && text.contains("force 0.5 N"),
            "{text}"
        );
    }
}
