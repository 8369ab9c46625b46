//! The report of a run: what it is made of is read here, and what comes of it is written.

use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::Value;

use super::directory::{NFQ, POLICY, REPORT, RunDirectory, SEARCH, SIMPLE, SUMMARY, remove};
use crate::error::{Error, Result};
use crate::figures::{NfqResult, Summary};
use crate::files;
use crate::problem::{Problem, System};
use crate::progress::Progress;
use crate::search::{SearchOptions, SearchRecord};
use fpsrl_explain::explain::TOLERANCE;
use fpsrl_explain::report::{Material, OtherRun, report};

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
        self.expect(POLICY, "fpsrl search")?;
        let mut summary = self.summary_of_policy()?;
        let material = self.material(&summary, options)?;
        let made = report(material, options.tolerance, progress)?;
        summary.simple = Some(made.figures);
        let page = files::prepare(&self.file(REPORT), |file| file.write_all(made.page.as_bytes()))?;
        match &made.simple {
            None => remove(&self.file(SIMPLE))?,
            Some(simple) => files::write_json(&self.file(SIMPLE), simple)?,
        }
        summary.seconds.set("report", began.elapsed().as_secs_f64());
        self.write_summary(&summary)?;
        page.commit()?;
        Ok(summary)
    }

    fn material(&self, summary: &Summary, options: &ReportOptions) -> Result<Material> {
        let problem = self.problem()?;
        let path = self.file(SUMMARY);
        let raw = std::fs::read(&path).map_err(|source| Error::read(&path, source))?;
        let others = options.overlay.iter().map(|path| self.other(path, &problem)).collect::<Result<_>>()?;
        Ok(Material {
            policy: self.policy(&problem)?,
            worlds: self.run_worlds(&problem)?,
            transitions: self.transitions(&problem)?,
            problem_text: problem.to_toml(),
            search_starts: problem.search_starts(),
            starts: problem.evaluation_starts(),
            numerics: SearchOptions::of(&problem.search, true).numerics,
            summary: summary.clone(),
            raw: serde_json::from_slice(&raw).unwrap_or(Value::Null),
            history: self.search_history()?,
            nfq: self.nfq_returns(),
            front: self.front()?,
            others,
            system: problem.system,
            world: problem.world,
        })
    }

    /// Another run, if it is of the same variables.
    fn other(&self, path: &Path, problem: &Problem) -> Result<OtherRun> {
        let other = RunDirectory::open(path)?;
        let theirs = other.problem()?;
        let names = |system: &System| -> Vec<String> {
            let states = system.policy_states().iter().map(|state| state.name.clone());
            states.chain(system.actions().iter().map(|action| action.name.clone())).collect()
        };
        if names(&theirs.system) != names(&problem.system) {
            return Err(Error::Mismatch {
                path: path.to_owned(),
                other: self.path().to_owned(),
                problem: "its variables are others, so its rules cannot be laid over these".into(),
                hint: "name runs of the same problem".into(),
            });
        }
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        let (policy, summary) = (other.policy(&theirs)?, other.summary()?);
        Ok(OtherRun { name, seed: theirs.system.seed(), policy, summary })
    }

    /// The search's record; empty if it is gone.
    fn search_history(&self) -> Result<Vec<SearchRecord>> {
        let path = self.file(SEARCH);
        if !path.exists() {
            return Ok(Vec::new());
        }
        let broken = |error: csv::Error| Error::Malformed {
            path: path.clone(),
            line: error.position().map(csv::Position::line),
            column: None,
            problem: "it is not a record of a search".into(),
            hint: "run `fpsrl search` again".into(),
        };
        csv::Reader::from_path(&path).map_err(broken)?.deserialize().collect::<Result<_, _>>().map_err(broken)
    }

    /// The returns of NFQ on the model and on the plant, if it has been run.
    fn nfq_returns(&self) -> Option<(f64, Option<f64>)> {
        let result: NfqResult = files::read_json(&self.file(NFQ)).ok()?;
        Some((result.model_return, result.true_return))
    }
}
