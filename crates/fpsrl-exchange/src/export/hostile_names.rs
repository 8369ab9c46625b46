//! Names, units, modes and provenance that try to become code, in every format.

use super::controller::tests::small_policy;
use super::{Controller, Dialect, FORMATS, Format, Precision, Provenance, Response, Target};
use crate::export::Guard;
use crate::import;
use fpsrl_base::visible;
use fpsrl_engine::policy::{FuzzyPolicy, Quantity};

/// What ends comments, lines and strings, and what hides how a line reads.
const HOSTILE: [&str; 16] = [
    "*/ hostile /*",
    "*) hostile (*",
    "''' hostile '''",
    "\"\"\" hostile \"\"\"",
    "${hostile}",
    "\nhostile\n",
    "\r\nhostile",
    "\u{202e}hostile",
    "??/\nhostile",
    "\u{2028}hostile\u{2029}",
    "\u{85}hostile\u{b}\u{c}",
    "\\\nhostile",
    "{{ hostile }}{% endraw %}",
    "\u{1b}[31mhostile\u{7f}",
    "\0hostile\u{feff}\u{200f}",
    "@fpsrl {\"hostile\"}",
];

/// Policies whose texts are all hostile, and one with a name of 100 kB.
fn policies() -> impl Iterator<Item = FuzzyPolicy> {
    HOSTILE.iter().map(|text| (*text).to_owned()).chain([HOSTILE.concat().repeat(400)]).map(|text| {
        let mut policy = small_policy();
        policy.states[0] = Quantity::new(format!("{text} 1"), text.clone());
        policy.states[1].name = format!("{text} 2");
        policy.actions[0].name = text.clone();
        policy.actions[0].unit = text;
        policy
    })
}

fn controller(policy: FuzzyPolicy) -> Controller {
    let guard = Some(Guard { response: Response::Clamp, ranges: vec![[-1.2, 0.6], [-0.7, 0.7]] });
    let name = policy.actions[0].name.clone();
    Controller::new(&name, policy, Precision::Double, guard, vec![0.5], vec![Some(0.1)]).unwrap()
}

fn texts(format: Format, policy: FuzzyPolicy) -> Vec<String> {
    let text = policy.actions[0].name.clone();
    let provenance = Provenance {
        problem: Some(text.clone()),
        promise: Some(text.clone()),
        verdict: Some(text),
        ..Provenance::default()
    };
    let controller = controller(policy);
    let dialects: &[Dialect] = match format {
        Format::St => &[Dialect::Codesys, Dialect::Siemens],
        Format::Fcl => &[Dialect::Codesys, Dialect::Fuzzylite],
        _ => &[Dialect::Codesys],
    };
    let of_dialect = |dialect: &Dialect| {
        let target = Target { dialect: *dialect, ..Target::new(format) };
        target.generate(&controller, Some(&provenance), "controller").unwrap().files
    };
    dialects.iter().flat_map(of_dialect).map(|file| String::from_utf8(file.content).unwrap()).collect()
}

#[test]
fn no_text_leaves_its_line_or_reads_otherwise_than_it_is() {
    // Graphs hold names as they are; nobody reads them as text.
    for format in FORMATS.into_iter().filter(|format| *format != Format::Onnx) {
        let lines: Vec<usize> =
            texts(format, controller_of_plain_names()).iter().map(|text| text.lines().count()).collect();
        for policy in policies() {
            let name: String = policy.actions[0].name.chars().take(20).collect();
            for (text, plain) in texts(format, policy).iter().zip(&lines) {
                if format != Format::Json {
                    assert!(
                        text.bytes().all(|byte| byte == b'\n'
                            || byte == b'\t'
                            || byte.is_ascii_graphic()
                            || byte == b' '
                            || byte >= 0x80),
                        "{format:?} {name:?}"
                    );
                    // Rust and Python allow letters of all kinds in comments; none of them comes from a name.
                    assert!(
                        !text.chars().any(|c| matches!(c, '\u{7f}'..='\u{9f}' | '\u{200b}'..='\u{206f}' | '\u{feff}')),
                        "{format:?} {name:?}"
                    );
                }
                assert_eq!(text.lines().count(), *plain, "{format:?} {name:?}");
            }
        }
    }
}

fn controller_of_plain_names() -> FuzzyPolicy {
    let mut policy = small_policy();
    policy.actions[0].name = "a".into();
    policy
}

#[test]
fn names_of_any_length_leave_code_readable() {
    for format in [Format::C, Format::St, Format::Python, Format::Javascript, Format::Rust] {
        for policy in policies() {
            for text in texts(format, policy) {
                assert!(text.lines().all(|line| line.len() < 4_000), "{format:?}");
            }
        }
    }
}

#[test]
fn variables_called_like_the_ends_of_sections_come_back() {
    let directory = tempfile::tempdir().unwrap();
    let mut policy = small_policy();
    policy.states[0].name = "end_if".into();
    policy.states[1].name = "End_Stop".into();
    policy.actions[0].name = "end_flow".into();
    for format in [Format::Fll, Format::Fcl, Format::Fis] {
        let path = directory.path().join(format!("ends.{}", Target::new(format).extension()));
        std::fs::write(&path, &texts(format, policy.clone())[0]).unwrap();
        assert_eq!(import::read(&path).unwrap().policy, policy, "{format:?}");
    }
}

/// Whether a name holds what does not show, or changes how the rest does.
fn has_hidden_characters(policy: &FuzzyPolicy) -> bool {
    let names = policy.states.iter().map(|state| &state.name).chain(policy.actions.iter().map(|action| &action.name));
    names.flat_map(|name| name.chars()).any(visible::acts)
}

#[test]
fn rules_come_back_with_names_of_any_kind_that_can_be_seen() {
    let directory = tempfile::tempdir().unwrap();
    for format in [Format::Fll, Format::Fcl, Format::Fis, Format::Json] {
        for (index, policy) in policies().enumerate() {
            let path = directory.path().join(format!("{index}.{}", Target::new(format).extension()));
            std::fs::write(&path, &texts(format, policy.clone())[0]).unwrap();
            match import::read(&path) {
                Ok(imported) => assert_eq!(imported.policy, policy, "{format:?} {index}"),
                // Who reads rules must be able to see their names, and to the end.
                Err(error) => {
                    let problem = error.to_string();
                    let hidden =
                        problem.contains("another character that cannot be seen") && has_hidden_characters(&policy);
                    let endless = problem.contains("has more than 400 characters") && index == HOSTILE.len();
                    assert!(hidden || endless, "{format:?} {index}: {problem}");
                }
            }
        }
    }
}

#[test]
fn a_block_is_called_neither_like_a_word_of_the_language_nor_like_its_variable() {
    let block = |name: &str| {
        let controller = Controller { name: name.into(), ..controller(small_policy()) };
        Target::new(Format::St).generate(&controller, None, "x").unwrap().names.controller
    };
    assert_eq!(
        ["if", "real", "force", "mountain-car"].map(block),
        ["If_value", "Real_value", "Force_Controller", "MountainCar"]
    );
}
