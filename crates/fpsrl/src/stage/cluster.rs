//! Other machines: where positions are scored and networks are trained when this one is not enough.
//!
//! The library knows no network and no scheduler. Whoever brings machines along implements [`Cluster`]; the Python package does
//! so for Ray. A stage hands over what the machines need once, then sends small pieces of work. What comes back is, to the last
//! bit, what this machine would have computed: no result depends on where it was computed.

use fpsrl_base::error::Result;
use fpsrl_search::search::{Elsewhere, Evaluator, SearchOptions};
use fpsrl_search::task::Task;
use fpsrl_search::{PolicySettings, SearchSettings};
use fpsrl_world::{Trainers, Workshop, WorldSettings};

use super::{Log, Worlds};

/// Machines that compute in this one's place.
pub trait Cluster: Send + Sync {
    /// Machines that score positions on worlds, which they are given here.
    fn searching(&self, worlds: &Worlds) -> Result<Box<dyn Elsewhere>>;

    /// Machines that train networks on a log, which they are given here.
    fn learning(&self, log: &Log, settings: &WorldSettings) -> Result<Box<dyn Trainers>>;
}

impl Log {
    /// Where networks are trained for worlds that another machine puts together.
    pub fn workshop(&self, settings: &WorldSettings) -> Result<Workshop> {
        let settings = settings.for_system(self.system())?;
        Ok(Workshop::new(&self.system().without_start_pool(), &settings, self.transitions()))
    }
}

impl Worlds {
    /// Lends an evaluator to whoever scores positions for a search that is conducted on another machine.
    ///
    /// ```
    /// use fpsrl::optimiser::Scope;
    /// use fpsrl::search::{SearchOptions, Trial};
    /// use fpsrl::{Log, Problem, Progress};
    /// let progress = Progress::silent();
    /// let mut problem = Problem::benchmark("mountain-car")?;
    /// (problem.data.samples, problem.world.epochs, problem.world.members) = (400, 3, 2);
    /// let worlds = Log::new(&problem, &progress)?.fit(&problem.world, &progress)?;
    /// let options = SearchOptions::of(&problem.search, true);
    /// let scores = worlds.scoring(&problem.policy, &problem.search, options, |evaluator| {
    ///     let trial = Trial { position: &[0.5; 11], to_beat: f64::NEG_INFINITY, scope: Scope::Whole };
    ///     evaluator.score(&[trial])
    /// })??;
    /// assert!(scores[0].value.is_some_and(|value| value < 0.0));
    /// # Ok::<(), fpsrl::Error>(())
    /// ```
    pub fn scoring<T>(
        &self,
        policy: &PolicySettings,
        search: &SearchSettings,
        options: SearchOptions,
        serve: impl FnOnce(&dyn Evaluator) -> T,
    ) -> Result<T> {
        policy.check(self.system())?;
        search.check()?;
        let task = Task {
            system: self.system(),
            policy,
            search,
            transitions: self.log().transitions(),
            worlds: self.source(),
            options,
            begin_with: None,
            elsewhere: None,
        };
        task.evaluating(serve)
    }
}
