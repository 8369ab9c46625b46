//! What P and PI controllers are worth on a run's worlds, beside its rules and what the plant does today: `pi.json`.

use serde::{Deserialize, Serialize};

use crate::baseline::pi::PiController;
use crate::gain::{Grounds, Today};
use crate::returns::mean;
use crate::tracking::ControlFigures;
use fpsrl_engine::policy::Policy;

/// What a controller earns, and how it controls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// Its mean return on the members, from the start states of the evaluation.
    pub members: f64,
    /// The same on the judge's worlds; null without a judge that testifies.
    pub judge: Option<f64>,
    /// In the user's units, on the first member.
    pub figures: Option<ControlFigures>,
}

/// A P or PI controller, and what it is worth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScoredPi {
    /// Its numbers.
    pub controller: PiController,
    /// The reset time of each action in steps; null without an integral part.
    pub reset_steps: Vec<Option<f64>>,
    /// What it is worth.
    #[serde(flatten)]
    pub score: Score,
}

/// What the plant does today, from the same starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScoredToday {
    /// What it earns.
    #[serde(rename = "return")]
    pub value: f64,
    /// What that is: "log" from the same starts, "windows" of the log, or "random" actions.
    pub today_is: String,
    /// Start states that are compared.
    pub starts: usize,
    /// In the user's units.
    pub figures: Option<ControlFigures>,
}

/// What `pi.json` holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PiResult {
    /// Whether the user gave the controller; else it was tuned.
    pub given: bool,
    /// The PI controller, or what the user gave.
    pub pi: ScoredPi,
    /// The P controller; null if the user gave one.
    pub p: Option<ScoredPi>,
    /// The PI controller as fuzzy rules; null if it cannot be told in as many rules as the problem has.
    pub as_rules: Option<Score>,
    /// What the plant does today.
    pub today: ScoredToday,
    /// The time of a step, in the unit of the log's column of time; null if the log does not tell.
    pub interval: Option<f64>,
    /// The digest of the world model that they were tuned and scored on.
    pub world_sha256: String,
}

impl Grounds<'_> {
    /// What a policy earns from the starts from which the plant can be followed, and how it controls.
    pub fn score(&self, policy: &dyn Policy, today: &Today) -> Score {
        let over =
            |returns: Vec<Vec<f64>>| mean(&returns.iter().map(|returns| today.over(returns)).collect::<Vec<f64>>());
        Score {
            members: over(self.returns(self.members, policy)),
            judge: (!self.judges.is_empty()).then(|| over(self.returns(self.judges, policy))),
            figures: self.figures(policy),
        }
    }

    /// What the plant does today.
    pub fn score_today(&self, today: &Today) -> ScoredToday {
        ScoredToday {
            value: today.value(),
            today_is: today.what.to_owned(),
            starts: today.kept.len(),
            figures: self.figures_today(),
        }
    }
}
