//! Arguments of `report` and `explain`.

use std::path::PathBuf;

use clap::Args;
use fpsrl::run::ReportOptions;

use super::Existing;

pub const REPORT_EXAMPLES: &str = "\
Every `run` writes a report; this verb makes it again, for instance beside other seeds.

Examples:
  fpsrl report runs/mountain-car-seed1
  fpsrl report runs/mountain-car-seed1 --overlay runs/mountain-car-seed2 runs/mountain-car-seed3
  fpsrl report runs/mountain-car-seed1 --tolerance 0.02";

pub const EXPLAIN_EXAMPLES: &str = "\
Examples:
  fpsrl explain runs/mountain-car-seed1
  fpsrl explain runs/mountain-car-seed1 --simple
  fpsrl explain runs/mountain-car-seed1 --svg --state -0.5,0.2
  fpsrl explain runs/mountain-car-seed1 --png pictures/rules.png";

/// A run directory to report on.
#[derive(Debug, Args)]
pub struct ReportArguments {
    #[command(flatten)]
    pub existing: Existing,
    /// Runs of the same problem, say with other seeds, whose rules are laid over those of this run
    #[arg(long, value_name = "DIR", num_args = 1..)]
    pub overlay: Vec<PathBuf>,
    /// What the policy may lose when conditions are left out: a share of the way from doing nothing to the policy
    #[arg(long, value_name = "SHARE", default_value_t = fpsrl::explain::TOLERANCE, value_parser = share)]
    pub tolerance: f64,
}

/// A run directory whose rules are explained.
#[derive(Debug, Args)]
pub struct ExplainArguments {
    #[command(flatten)]
    pub existing: Existing,
    /// Draw the rules as SVG into a file [default: rules.svg in the run directory]
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    pub svg: Option<Option<PathBuf>>,
    /// Draw the rules as PNG into a file [default: rules.png in the run directory]
    #[cfg(feature = "png")]
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    pub png: Option<Option<PathBuf>>,
    /// The example state of the pictures [default: the middle of the start states]
    #[arg(long, value_name = "NUMBER,NUMBER...", value_delimiter = ',', allow_hyphen_values = true)]
    pub state: Vec<f64>,
    /// Explain the policy without the conditions that do not matter (`policy.simple.json`)
    #[arg(long)]
    pub simple: bool,
}

/// A share from 0 to 1.
fn share(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err("not a number from 0 to 1".into()),
    }
}

impl ReportArguments {
    /// What the report is made of.
    pub fn options(&self) -> ReportOptions {
        ReportOptions { tolerance: self.tolerance, overlay: self.overlay.clone() }
    }
}
