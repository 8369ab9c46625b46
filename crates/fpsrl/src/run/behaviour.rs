//! What the plant does today, beside what a policy promises.

use super::directory::RunDirectory;
use super::stages::mean;
use crate::baseline::behaviour::{clone_of_the_log, logged_return};
use crate::error::Result;
use crate::figures::Behaviour;
use crate::policy::FuzzyKernel;
use crate::problem::Problem;
use crate::search::{self, SearchOptions};
use crate::world::World;

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
        let logged = logged_return(&problem.system, &transitions);
        let (policy, clone_error) =
            clone_of_the_log(&problem.system, &problem.policy, &problem.search, &transitions, options.numerics);
        let starts = problem.evaluation_starts();
        let kernel = FuzzyKernel::new(&policy);
        let returns: Vec<f64> = worlds
            .iter()
            .map(|world| {
                mean(&search::world_returns(&problem.system, world.as_ref(), &kernel, &starts, options.numerics))
            })
            .collect();
        Ok(Some(Behaviour {
            logged_return: logged.value,
            windows: logged.windows,
            cloned_return: mean(&returns),
            clone_error,
        }))
    }
}
