//! IEC 61131-3 Structured Text: a function block, as CODESYS and TwinCAT read it, or as Siemens' SCL.
//!
//! Each rule is written out, so that a person at the controller can follow a value through it. A block for REAL is
//! accompanied by a second one, which adds up squares without losing what REAL cannot hold.

use minijinja::context;

use super::controller::{Controller, Precision};
use super::elementary;
use super::identifier::{self, camel};
use super::provenance::Provenance;
use super::view::View;
use super::writer::Writer;
use super::{Dialect, Generated, GeneratedFile, Names, Target};
use fpsrl_base::error::Result;

/// IEC 61131-3 Structured Text.
pub(super) struct StructuredText;

impl Writer for StructuredText {
    fn name(&self) -> &'static str {
        "st"
    }

    fn extension(&self, dialect: Dialect) -> &'static str {
        if dialect == Dialect::Siemens { "scl" } else { "st" }
    }

    fn knows_single(&self) -> bool {
        true
    }

    fn dialects(&self) -> &'static [Dialect] {
        &[Dialect::Siemens]
    }

    fn write(
        &self,
        controller: &Controller,
        provenance: Option<&Provenance>,
        target: &Target,
        _: &str,
    ) -> Result<Generated> {
        generate(controller, provenance, target.dialect)
    }
}

fn generate(controller: &Controller, provenance: Option<&Provenance>, dialect: Dialect) -> Result<Generated> {
    let mut view = View::new(controller, provenance, &identifier::STRUCTURED_TEXT, literal);
    // What the block derives from a name must be free as well.
    let derived = ["_seen", "_last", "_start", "_kept"];
    let all: Vec<String> =
        view.states.iter().map(|s| &s.name).chain(view.actions.iter().map(|a| &a.name)).cloned().collect();
    let taken = |name: &str| {
        derived.iter().any(|suffix| {
            name.to_ascii_lowercase()
                .strip_suffix(suffix)
                .is_some_and(|stem| all.iter().any(|other| other.eq_ignore_ascii_case(stem)))
        }) || numbered(name)
    };
    for name in view.states.iter_mut().map(|s| &mut s.name).chain(view.actions.iter_mut().map(|a| &mut a.name)) {
        let mut free = name.clone();
        while taken(&free) || (free != *name && all.iter().any(|other| other.eq_ignore_ascii_case(&free))) {
            free += "_value";
        }
        *name = free;
    }
    // The block is called neither as the language itself does nor as one of its variables.
    let block = identifier::STRUCTURED_TEXT.names([camel(&view.name).as_str()]).remove(0);
    let mut variables = view.states.iter().map(|s| &s.name).chain(view.actions.iter().map(|a| &a.name));
    let block =
        if variables.any(|name| name.eq_ignore_ascii_case(&block)) { format!("{block}_Controller") } else { block };
    let helper = format!("{block}_Distance");
    let single = controller.precision == Precision::Single;
    let (real, open, open_helper, helper_type, begin, local, about) = match dialect {
        Dialect::Codesys | Dialect::Fuzzylite => (
            if single { "REAL" } else { "LREAL" },
            format!("FUNCTION_BLOCK {block}"),
            format!("FUNCTION_BLOCK {helper}"),
            helper.clone(),
            "",
            "",
            "Structured Text of IEC 61131-3, for CODESYS and TwinCAT.",
        ),
        Dialect::Siemens => {
            let open =
                |name: &str| format!("FUNCTION_BLOCK \"{name}\"\n{{ S7_Optimized_Access := 'TRUE' }}\nVERSION : 0.1");
            (
                if single { "REAL" } else { "LREAL" },
                open(&block),
                open(&helper),
                format!("\"{helper}\""),
                "BEGIN",
                "#",
                "SCL for Siemens' TIA Portal: add it as an external source, and generate blocks from it.",
            )
        }
    };
    let extra = context! {
        real, open, open_helper, helper_type, begin, local, helper,
        dialect => about,
        ..elementary::constants(controller.precision, literal)
    };
    let text = view.render(include_str!("templates/controller.st.jinja"), extra)?;
    // A dialect without BEGIN leaves an empty line for it.
    let text = text.replace("END_VAR\n\n    //", "END_VAR\n    //");
    let mut names = Names::of(&view);
    names.controller = block;
    let extension = if dialect == Dialect::Siemens { "scl" } else { "st" };
    Ok(Generated { files: vec![GeneratedFile::text(extension, text)], names, notes: Vec::new() })
}

/// Whether a name looks like one of the block's own numbered variables.
fn numbered(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["distance_", "rest_"]
        .iter()
        .any(|stem| name.strip_prefix(stem).is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit())))
}

/// A real literal: there is always a point in it.
fn literal(value: f64, precision: Precision) -> String {
    let text = super::view::plain_literal(value, precision);
    match text.split_once('e') {
        None => text,
        Some((digits, exponent)) if digits.contains('.') => format!("{digits}E{exponent}"),
        Some((digits, exponent)) => format!("{digits}.0E{exponent}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::controller::tests::{small, small_policy};
    use crate::export::controller::{Guard, Response};

    #[test]
    fn literals_have_a_point_and_read_back() {
        for (value, text) in [(0.1, "0.1"), (-1e30, "-1.0E30"), (1.5e-7, "1.5E-7"), (2.0, "2.0"), (1e-300, "1.0E-300")]
        {
            assert_eq!(literal(value, Precision::Double), text);
            assert_eq!(text.parse::<f64>().unwrap(), value);
        }
        assert_eq!(literal(0.1, Precision::Single), "0.1");
    }

    #[test]
    fn names_that_the_block_derives_do_not_collide() {
        let mut policy = small_policy();
        policy.states[0].name = "level".into();
        policy.states[1].name = "Level_seen".into();
        policy.actions[0].name = "distance_1".into();
        let guard = Some(Guard { response: Response::Clamp, ranges: vec![[0.0, 1.0]; 2] });
        let controller = Controller::new("tank", policy, Precision::Double, guard, vec![0.0], vec![None]).unwrap();
        let generated = generate(&controller, None, Dialect::Codesys).unwrap();
        assert_eq!(generated.names.states, ["level", "Level_seen_value"]);
        assert_eq!(generated.names.actions, ["distance_1_value"]);
    }

    #[test]
    fn scl_marks_its_locals() {
        let generated =
            generate(&small(Precision::Single, Some(Response::Hold), None), None, Dialect::Siemens).unwrap();
        let text = String::from_utf8(generated.files[0].content.clone()).unwrap();
        assert!(text.contains("FUNCTION_BLOCK \"Small\"") && text.contains("#force := #wanted;"), "{text}");
    }
}
