//! `report.html`: the face of a run, one file that opens from disk in any browser and asks the network for nothing.
//!
//! Most important first: the verdict, the rules, then what they rest on. What does not move is written here as HTML
//! and SVG and is there without a script, on paper too; the modules of `web/` move it. The page's policy prohibits
//! every script but that one, by its digest, so that no name in a log can become code.

mod charts;
mod coverage;
mod covered;
mod evidence;
mod findings;
mod front;
mod modules;
mod overlay;
mod page;
mod payload;
mod proofs;
mod rules;
mod stretch;
pub mod sweep;
mod text;
mod today;
mod trade;
mod verdict;
mod weak;
mod world;

use findings::Findings;
use fpsrl_base::error::Result;
use fpsrl_base::progress::{Progress, Stage};
use fpsrl_data::{System, Transitions};
use fpsrl_engine::policy::FuzzyPolicy;
use fpsrl_engine::rollout::StartStates;
use fpsrl_engine::simd::Numerics;
use fpsrl_search::WorldSource;
use fpsrl_search::figures::{Front, SimpleFigures, Summary};
use fpsrl_search::search::SearchRecord;
use fpsrl_search::trade::Trade;
use fpsrl_world::WorldSettings;

pub use world::{PageWorld, page_world};

/// All that a report is made of.
pub struct Material {
    /// What is controlled.
    pub system: System,
    /// The whole problem file, as the page shows it.
    pub problem_text: String,
    /// How its worlds were made.
    pub world: WorldSettings,
    /// Start states of the search, by which conditions are judged.
    pub search_starts: StartStates,
    /// Start states of the evaluation.
    pub starts: StartStates,
    /// Instruction set and mode of the rollouts.
    pub numerics: Numerics,
    /// The log.
    pub transitions: Transitions,
    /// The worlds that the policy was searched on.
    pub worlds: WorldSource,
    /// The policy.
    pub policy: FuzzyPolicy,
    /// The figures so far.
    pub summary: Summary,
    /// `summary.json` as it stands, with fields that this version need not know.
    pub raw: serde_json::Value,
    /// How the search went; empty if that is gone.
    pub records: Vec<SearchRecord>,
    /// The returns of NFQ on the model and on the plant, if it has been run.
    pub nfq: Option<(f64, Option<f64>)>,
    /// The policies of which none is both simpler and better, if they were searched.
    pub front: Option<(Front, Vec<FuzzyPolicy>)>,
    /// What one cost buys, if it has been traded.
    pub trade: Option<Trade>,
    /// Other runs of the same variables, whose rules are laid over those of this one.
    pub others: Vec<OtherRun>,
}

/// Another run of the same variables.
pub struct OtherRun {
    /// What it is called.
    pub name: String,
    /// Its seed.
    pub seed: u64,
    /// Its policy.
    pub policy: FuzzyPolicy,
    /// Its figures.
    pub summary: Summary,
}

/// A report.
pub struct Report {
    /// The page, as HTML.
    pub page: String,
    /// The policy without the conditions that do not matter; none if all of them do.
    pub simple: Option<FuzzyPolicy>,
    /// What the simple policy saves and costs.
    pub figures: SimpleFigures,
}

/// Makes the report; the simple policy may lose `tolerance`, a share of the way from doing nothing to the whole policy.
pub fn report(material: Material, tolerance: f64, progress: &Progress) -> Result<Report> {
    let findings = Findings::gather(material, tolerance, progress)?;
    let figures = findings.simple_figures();
    let page = page::page(&findings)?;
    let simple = (!findings.simple.removed.is_empty()).then_some(findings.simple.policy);
    progress.end(Stage::Report);
    Ok(Report { page, simple, figures })
}

impl Findings {
    pub(crate) fn simple_figures(&self) -> SimpleFigures {
        SimpleFigures {
            conditions: self.simple.conditions,
            removed: self.simple.removed.len(),
            tolerance: self.simple.tolerance,
            model_return: self.simple_model_return,
            true_return: self.simple_true_return,
            price: self.model_return - self.simple_model_return,
        }
    }
}

#[cfg(test)]
mod tests {
    use fpsrl_base::progress::Progress;
    use fpsrl_data::{DataSettings, System, Transitions};

    /// Transitions of a benchmark.
    pub(crate) fn generated(system: &System, samples: usize) -> Transitions {
        let settings = DataSettings { samples, ..DataSettings::for_plant(system.plant()) };
        fpsrl_data::generate(system, &settings, &Progress::silent()).unwrap()
    }
}
