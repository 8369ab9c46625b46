//! Python, JavaScript and Rust: one file each that needs nothing else.

use minijinja::context;

use super::controller::{Controller, Precision};
use super::elementary;
use super::identifier;
use super::provenance::Provenance;
use super::view::{View, plain_literal};
use super::{Generated, GeneratedFile, Names};
use fpsrl_base::error::Result;

pub(super) fn python(controller: &Controller, provenance: Option<&Provenance>) -> Result<Generated> {
    let view = View::new(controller, provenance, &identifier::PYTHON, plain_literal);
    let text = view.render(include_str!("templates/controller.py.jinja"), extra(controller, ""))?;
    Ok(generated(&view, "py", text))
}

pub(super) fn javascript(controller: &Controller, provenance: Option<&Provenance>, stem: &str) -> Result<Generated> {
    let view = View::new(controller, provenance, &identifier::JAVASCRIPT, plain_literal);
    let extra = extra(controller, &format!("{stem}.mjs"));
    let text = view.render(include_str!("templates/controller.mjs.jinja"), extra)?;
    Ok(generated(&view, "mjs", text))
}

pub(super) fn rust(controller: &Controller, provenance: Option<&Provenance>) -> Result<Generated> {
    let view = View::new(controller, provenance, &identifier::RUST, plain_literal);
    let text = view.render(include_str!("templates/controller.rs.jinja"), extra(controller, ""))?;
    Ok(generated(&view, "rs", text))
}

fn extra(controller: &Controller, file: &str) -> minijinja::Value {
    context! {
        file,
        real => if controller.precision == Precision::Single { "f32" } else { "f64" },
        rates => controller.rate_limits.iter().any(Option::is_some),
        ..elementary::constants(controller.precision, plain_literal)
    }
}

fn generated(view: &View, extension: &'static str, text: String) -> Generated {
    Generated { files: vec![GeneratedFile::text(extension, text)], names: Names::of(view), notes: Vec::new() }
}
