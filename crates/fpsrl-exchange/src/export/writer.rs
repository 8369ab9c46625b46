//! What a format of exports is: each has a file of its own that implements [`Writer`], and an entry in
//! [`Format::writer`](super::Format).

use super::controller::Controller;
use super::provenance::Provenance;
use super::{Dialect, Generated, Target};
use fpsrl_base::error::Result;

/// Writes controllers in one format.
pub(super) trait Writer: Sync {
    /// What users call the format.
    fn name(&self) -> &'static str;

    /// How the name of the main file ends.
    fn extension(&self, dialect: Dialect) -> &'static str;

    /// Whether it knows numbers of 32 bits.
    fn knows_single(&self) -> bool {
        false
    }

    /// Whether it holds the rules alone: neither guard nor limits.
    fn is_rule_base(&self) -> bool {
        false
    }

    /// The dialects that it knows besides its usual one.
    fn dialects(&self) -> &'static [Dialect] {
        &[]
    }

    /// The files of a controller. `stem` is their common name without its ending.
    fn write(
        &self,
        controller: &Controller,
        provenance: Option<&Provenance>,
        target: &Target,
        stem: &str,
    ) -> Result<Generated>;
}
