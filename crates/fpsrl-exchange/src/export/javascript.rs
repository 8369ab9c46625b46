//! JavaScript, an ES module.

use super::controller::Controller;
use super::identifier::{self, ascii};
use super::provenance::Provenance;
use super::script::rendered;
use super::view::{View, plain_literal};
use super::writer::Writer;
use super::{Dialect, Generated, Target};
use fpsrl_base::error::Result;

/// JavaScript, an ES module.
pub(super) struct Javascript;

impl Writer for Javascript {
    fn name(&self) -> &'static str {
        "javascript"
    }

    fn extension(&self, _: Dialect) -> &'static str {
        "mjs"
    }

    fn write(
        &self,
        controller: &Controller,
        provenance: Option<&Provenance>,
        _: &Target,
        stem: &str,
    ) -> Result<Generated> {
        let view = View::new(controller, provenance, &identifier::JAVASCRIPT, plain_literal);
        rendered(
            &view,
            controller,
            include_str!("templates/controller.mjs.jinja"),
            "mjs",
            &ascii(&format!("{stem}.mjs")),
        )
    }
}
