//! `[evaluation]`: the start states that a policy is tested from.

use fpsrl_base::error::Result;
use fpsrl_base::settings::{Lines, within};
use serde::Deserialize;

/// The evaluation on the plant.
#[derive(Clone, Debug, PartialEq)]
pub struct EvaluationSettings {
    /// Start states of the evaluation.
    pub start_states: usize,
}

/// `[evaluation]` as written.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrittenEvaluation {
    /// Start states of the evaluation.
    pub start_states: Option<usize>,
}

impl Default for EvaluationSettings {
    fn default() -> Self {
        Self { start_states: 1_000 }
    }
}

impl EvaluationSettings {
    /// Holds everything to its limits.
    pub fn check(&self) -> Result<()> {
        let starts = self.start_states as u64;
        within("evaluation.start_states", starts, 1, 1_000_000, "a policy is tested from 1 to 1,000,000 start states")
    }

    /// The lines of `[evaluation]`.
    pub fn write(&self, file: &mut Lines) {
        file.section("[evaluation]");
        file.key("start_states", self.start_states, "that the policy is tested from, never seen before");
    }
}

impl WrittenEvaluation {
    /// Fills in the defaults and checks everything.
    pub fn check(self) -> Result<EvaluationSettings> {
        let defaults = EvaluationSettings::default();
        let settings = EvaluationSettings { start_states: self.start_states.unwrap_or(defaults.start_states) };
        settings.check()?;
        Ok(settings)
    }
}
