//! `report.html`: the face of a run, one file that opens from disk in any browser and asks the network for nothing.
//!
//! Most important first: the verdict, the rules, then what they rest on. What does not move is written here as HTML
//! and SVG and is there without a script, on paper too; the modules of `web/` move it. The page's policy prohibits
//! every script but that one, by its digest, so that no name in a log can become code.

mod charts;
mod coverage;
mod evidence;
mod findings;
mod front;
mod modules;
mod overlay;
mod page;
mod payload;
mod proofs;
mod rules;
mod text;
mod verdict;
mod weak;
mod world;

use std::path::PathBuf;
use std::time::Instant;

use crate::error::Result;
use crate::explain::TOLERANCE;
use crate::files;
use crate::progress::{Progress, Stage};
use crate::run::{RunDirectory, SimpleFigures, Summary};
use findings::Findings;

pub use world::{PageWorld, page_world};

/// The page.
pub const REPORT: &str = "report.html";

/// The policy without the conditions that do not matter.
pub const SIMPLE: &str = "policy.simple.json";

/// What a report is made of, besides the run.
#[derive(Clone, Debug)]
pub struct ReportOptions {
    /// What the simple policy may lose, as a share of the way from doing nothing to the whole policy.
    pub tolerance: f64,
    /// Other runs of the same problem, whose rules are laid over those of this one.
    pub overlay: Vec<PathBuf>,
}

impl Default for ReportOptions {
    fn default() -> Self {
        Self { tolerance: TOLERANCE, overlay: Vec::new() }
    }
}

impl RunDirectory {
    /// Writes `report.html`, and `policy.simple.json` where conditions do not matter; the summary tells their price.
    pub fn report(&self, options: &ReportOptions, progress: &dyn Progress) -> Result<Summary> {
        let began = Instant::now();
        let findings = Findings::gather(self, options, progress)?;
        let mut summary = findings.summary.clone();
        summary.simple = Some(findings.simple_figures());
        let page = page::page(&findings)?;
        let report = files::prepare(&self.file(REPORT), |file| file.write_all(page.as_bytes()))?;
        if findings.simple.removed.is_empty() {
            crate::run::remove(&self.file(SIMPLE))?;
        } else {
            files::write_json(&self.file(SIMPLE), &findings.simple.policy)?;
        }
        summary.seconds.set("report", began.elapsed().as_secs_f64());
        files::write_json(&self.file("summary.json"), &summary)?;
        report.commit()?;
        progress.end(Stage::Report);
        Ok(summary)
    }
}

impl Findings {
    fn simple_figures(&self) -> SimpleFigures {
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
