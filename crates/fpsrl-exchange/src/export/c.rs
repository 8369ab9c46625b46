//! C99: a header and a source.

use minijinja::context;

use super::controller::{Controller, Precision};
use super::elementary;
use super::identifier;
use super::provenance::Provenance;
use super::view::{View, plain_literal};
use super::writer::Writer;
use super::{Dialect, Generated, GeneratedFile, Mathematics, Target};
use fpsrl_base::error::Result;

/// C99.
pub(super) struct C;

impl Writer for C {
    fn name(&self) -> &'static str {
        "c"
    }

    fn extension(&self, _: Dialect) -> &'static str {
        "c"
    }

    fn knows_single(&self) -> bool {
        true
    }

    fn write(
        &self,
        controller: &Controller,
        provenance: Option<&Provenance>,
        target: &Target,
        stem: &str,
    ) -> Result<Generated> {
        generate(controller, provenance, target.mathematics, stem)
    }
}

fn generate(
    controller: &Controller,
    provenance: Option<&Provenance>,
    mathematics: Mathematics,
    stem: &str,
) -> Result<Generated> {
    let precision = controller.precision;
    let view = View::new(controller, provenance, &identifier::C, literal);
    let single = precision == Precision::Single;
    let (exp, tanh) = match (mathematics, single) {
        (Mathematics::Own, _) => ("exponential", "hyperbolic_tangent"),
        (Mathematics::Library, false) => ("exp", "tanh"),
        (Mathematics::Library, true) => ("expf", "tanhf"),
    };
    let extra = context! {
        upper => view.name.to_ascii_uppercase(),
        real => if single { "float" } else { "double" },
        header => format!("{stem}.h"),
        own_math => mathematics == Mathematics::Own,
        exp, tanh,
        ..elementary::constants(precision, literal)
    };
    let source = view.render(include_str!("templates/controller.c.jinja"), extra.clone())?;
    let header = view.render(include_str!("templates/controller.h.jinja"), extra)?;
    Ok(Generated {
        files: vec![GeneratedFile::text("c", source), GeneratedFile::text("h", header)],
        names: super::Names::of(&view),
        notes: Vec::new(),
    })
}

fn literal(value: f64, precision: Precision) -> String {
    let suffix = if precision == Precision::Single { "F" } else { "" };
    plain_literal(value, precision) + suffix
}
