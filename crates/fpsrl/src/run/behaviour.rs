//! What the plant does today, beside what a policy promises.

use super::directory::RunDirectory;
use super::stages::mean;
use crate::baseline::behaviour::{clone_of_the_log, logged_return};
use crate::error::Result;
use crate::policy::FuzzyKernel;
use crate::problem::Problem;
use crate::rollout::StartStates;
use crate::search::{self, SearchOptions};
use crate::world::World;

/// What the log earned, and what rules earn that imitate it.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Behaviour {
    /// The mean return of the logged behaviour, from beginnings spread over the log.
    pub logged_return: f64,
    /// Beginnings that could be followed for the whole horizon; 0 if the figure is that of the mean reward.
    pub windows: usize,
    /// The mean return on the world model of a fuzzy policy of the same size that imitates the log.
    pub cloned_return: f64,
    /// The share of the actions' variance that the imitation misses.
    pub clone_error: f64,
}

impl RunDirectory {
    /// Compares with what the log did; none for a log that was generated, whose actions are random.
    pub(super) fn behaviour(
        &self,
        problem: &Problem,
        worlds: &[Box<dyn World>],
        options: SearchOptions,
    ) -> Result<Option<Behaviour>> {
        if problem.data.log.is_none() {
            return Ok(None);
        }
        let transitions = self.transitions(problem)?;
        let logged = logged_return(problem, &transitions);
        let (policy, clone_error) = clone_of_the_log(problem, &transitions, options.numerics);
        let starts = StartStates::for_evaluation(problem);
        let kernel = FuzzyKernel::new(&policy);
        let returns: Vec<f64> = worlds
            .iter()
            .map(|world| mean(&search::world_returns(problem, world.as_ref(), &kernel, &starts, options.numerics)))
            .collect();
        Ok(Some(Behaviour {
            logged_return: logged.value,
            windows: logged.windows,
            cloned_return: mean(&returns),
            clone_error,
        }))
    }
}
