//! Rust, `no_std`.

use super::controller::Controller;
use super::identifier;
use super::provenance::Provenance;
use super::script::rendered;
use super::view::{View, plain_literal};
use super::writer::Writer;
use super::{Dialect, Generated, Target};
use fpsrl_base::error::Result;

/// Rust, `no_std`.
pub(super) struct Rust;

impl Writer for Rust {
    fn name(&self) -> &'static str {
        "rust"
    }

    fn extension(&self, _: Dialect) -> &'static str {
        "rs"
    }

    fn knows_single(&self) -> bool {
        true
    }

    fn write(
        &self,
        controller: &Controller,
        provenance: Option<&Provenance>,
        _: &Target,
        _: &str,
    ) -> Result<Generated> {
        let view = View::new(controller, provenance, &identifier::RUST, plain_literal);
        rendered(&view, controller, include_str!("templates/controller.rs.jinja"), "rs", "")
    }
}
