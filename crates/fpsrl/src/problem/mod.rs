//! The problem file: what is controlled, and the settings of every stage.
//!
//! There are two kinds of type here. [`WrittenProblem`] is what a user wrote: every setting may be missing. [`Problem`] is what
//! has been checked, and complete. Each part belongs to its stage and is checked again at that stage's door.

mod written;

pub use fpsrl_base::files::FORMAT;
pub use fpsrl_base::settings::{OneOrMany, OrAuto, OrWord, memory};
pub use fpsrl_data::system::{
    ActionVariable, AngleUnit, Carried, HISTORIES, History, LONGEST_HISTORY, Lag, Lagged, Lags, Objective, Price,
    PriceKind, SetPoint, StartRule, StateVariable, WrittenAction, WrittenAngle, WrittenObjective, WrittenState,
    WrittenSystem, benchmark_names,
};
pub use fpsrl_data::{DataSettings, LogSettings, Row, System, WrittenData};
pub use fpsrl_engine::formula::{Formula, FormulaError, Function, Kind};
pub use fpsrl_search::{
    Budget, Effort, EvaluationSettings, OptimiserKind, PolicySettings, RiskKind, SearchSettings, WrittenEvaluation,
    WrittenPolicy, WrittenSearch,
};
pub use fpsrl_world::{WorldKind, WorldSettings, WrittenWorld};
pub use written::WrittenProblem;

use fpsrl_base::error::Result;
use fpsrl_base::settings::Lines;
use fpsrl_engine::rollout::StartStates;
use fpsrl_search::figures::Summary;

/// A checked problem: what is controlled, and how each stage works.
///
/// ```
/// let problem = fpsrl::problem::Problem::benchmark("mountain-car")?;
/// assert_eq!((problem.system.horizon(), problem.policy.rules), (200, 2));
/// # Ok::<(), fpsrl::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// What is controlled.
    pub system: System,
    /// How transitions are generated, or where the log is.
    pub data: DataSettings,
    /// How the world model is trained.
    pub world: WorldSettings,
    /// The form of the policy.
    pub policy: PolicySettings,
    /// The search.
    pub search: SearchSettings,
    /// The evaluation.
    pub evaluation: EvaluationSettings,
}

impl Problem {
    /// A built-in benchmark with its defaults.
    pub fn benchmark(name: &str) -> Result<Self> {
        WrittenProblem::benchmark(name)?.check()
    }

    /// A problem file, checked and complete.
    ///
    /// ```
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("problem.toml");
    /// std::fs::write(&path, "plant = \"mountain-car\"\nhorizon = 100\n")?;
    /// assert_eq!(fpsrl::Problem::read(&path)?.system.horizon(), 100);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read(path: impl AsRef<std::path::Path>) -> Result<Self> {
        WrittenProblem::read(path.as_ref())?.check()
    }

    /// Holds every part to its limits.
    pub fn check(&self) -> Result<()> {
        self.data.check()?;
        self.world.check()?;
        self.policy.check(&self.system)?;
        self.search.check()?;
        self.evaluation.check()
    }

    /// The figures of a run of which only the log is known.
    pub fn summary(&self, samples: usize, data_sha256: String) -> Summary {
        Summary::new(&self.system, &self.policy, &self.search, samples, data_sha256)
    }

    /// Start states of the search.
    pub fn search_starts(&self) -> StartStates {
        self.system.search_starts(0, self.search.start_states)
    }

    /// Start states of the evaluation.
    pub fn evaluation_starts(&self) -> StartStates {
        self.system.evaluation_starts(self.evaluation.start_states)
    }

    /// Start states that promises are made from.
    pub fn judging_starts(&self) -> StartStates {
        self.system.judging_starts(self.evaluation.start_states)
    }

    /// The complete problem file: each default is written out, and the file reads back to this very problem.
    ///
    /// ```
    /// use fpsrl::problem::{Problem, WrittenProblem};
    /// let problem = Problem::benchmark("mountain-car")?;
    /// let text = problem.to_toml();
    /// assert!(text.contains("horizon = 200"));
    /// assert_eq!(WrittenProblem::parse(&text, "problem.toml".as_ref())?.check()?, problem);
    /// # Ok::<(), fpsrl::Error>(())
    /// ```
    pub fn to_toml(&self) -> String {
        let mut file = Lines::default();
        let version = env!("CARGO_PKG_VERSION");
        file.line(&format!("# A problem of fpsrl {version}, complete: each default is written out."));
        self.system.write(&mut file);
        self.data.write(&mut file);
        self.world.write(&mut file);
        self.policy.write(&mut file);
        self.search.write(&mut file);
        self.evaluation.write(&mut file);
        file.text()
    }
}

#[cfg(test)]
mod tests;
