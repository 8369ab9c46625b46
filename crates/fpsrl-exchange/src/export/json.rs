//! JSON: the controller as data, for programs that bring their own arithmetic.

use serde::{Deserialize, Serialize};

use super::controller::{Controller, Guard};
use super::provenance::Provenance;
use super::writer::Writer;
use super::{Dialect, Generated, GeneratedFile, Names, Target};
use fpsrl_base::error::Result;
use fpsrl_base::files;
use fpsrl_engine::policy::FuzzyPolicy;

/// What an export to JSON holds; `docs/controller.schema.json` describes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ControllerFile {
    /// What it is called.
    pub name: String,
    /// The rules, as in `policy.json`.
    pub policy: FuzzyPolicy,
    /// What the data covered, and what happens outside; null without a guard.
    pub guard: Option<Guard>,
    /// What each action is when an input is unusable, and before the first step.
    pub fallback: Vec<f64>,
    /// How far each action may move in a step; null where it is not limited.
    pub rate_limits: Vec<Option<f64>>,
    /// Inputs beyond this are unusable.
    pub largest_input: f64,
    /// Angles that rules measure around the circle are so beyond this; left out if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub largest_angle: Option<f64>,
    /// Where it comes from; null if that was left away.
    pub provenance: Option<Provenance>,
}

/// Our own JSON.
pub(super) struct Json;

impl Writer for Json {
    fn name(&self) -> &'static str {
        "json"
    }

    fn extension(&self, _: Dialect) -> &'static str {
        "json"
    }

    fn write(
        &self,
        controller: &Controller,
        provenance: Option<&Provenance>,
        _: &Target,
        _: &str,
    ) -> Result<Generated> {
        generate(controller, provenance)
    }
}

fn generate(controller: &Controller, provenance: Option<&Provenance>) -> Result<Generated> {
    let policy = &controller.policy;
    let file = ControllerFile {
        name: controller.name.clone(),
        policy: policy.clone(),
        guard: controller.guard.clone(),
        fallback: controller.fallback.clone(),
        rate_limits: controller.rate_limits.clone(),
        largest_input: controller.precision.largest_input(),
        largest_angle: controller.is_periodic().then(|| controller.precision.largest_angle()),
        provenance: provenance.cloned(),
    };
    let names = Names {
        controller: controller.name.clone(),
        states: controller.measured().map(|state| state.name.clone()).collect(),
        actions: policy.actions.iter().map(|action| action.name.clone()).collect(),
    };
    Ok(Generated { files: vec![GeneratedFile::text("json", files::to_json(&file)?)], names, notes: Vec::new() })
}
