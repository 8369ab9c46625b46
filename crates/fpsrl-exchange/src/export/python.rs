//! Python.

use super::controller::Controller;
use super::identifier;
use super::provenance::Provenance;
use super::script::rendered;
use super::view::{View, plain_literal};
use super::writer::Writer;
use super::{Dialect, Generated, Target};
use fpsrl_base::error::Result;

/// Python.
pub(super) struct Python;

impl Writer for Python {
    fn name(&self) -> &'static str {
        "python"
    }

    fn extension(&self, _: Dialect) -> &'static str {
        "py"
    }

    fn write(
        &self,
        controller: &Controller,
        provenance: Option<&Provenance>,
        _: &Target,
        _: &str,
    ) -> Result<Generated> {
        let view = View::new(controller, provenance, &identifier::PYTHON, plain_literal);
        rendered(&view, controller, include_str!("templates/controller.py.jinja"), "py", "")
    }
}
