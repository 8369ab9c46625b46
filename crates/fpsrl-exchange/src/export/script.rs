//! What Python, JavaScript and Rust share: one file each that needs nothing else.

use minijinja::context;

use super::controller::{Controller, Precision};
use super::elementary;
use super::view::{View, plain_literal};
use super::{Generated, GeneratedFile, Names};
use fpsrl_base::error::Result;

/// A view in a template, as the one file of an export.
pub(super) fn rendered(
    view: &View,
    controller: &Controller,
    template: &str,
    extension: &'static str,
    file: &str,
) -> Result<Generated> {
    let extra = context! {
        file,
        real => if controller.precision == Precision::Single { "f32" } else { "f64" },
        rates => controller.rate_limits.iter().any(Option::is_some),
        ..elementary::constants(controller.precision, plain_literal)
    };
    let text = view.render(template, extra)?;
    Ok(Generated { files: vec![GeneratedFile::text(extension, text)], names: Names::of(view), notes: Vec::new() })
}
