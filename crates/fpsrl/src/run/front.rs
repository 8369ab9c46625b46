//! `front/`: the policies of which none is both simpler and better, as files.

use super::directory::{FRONT, FRONT_TABLE, RunDirectory};
use crate::error::{Error, Result};
use crate::figures::{Front, FrontEntry};
use crate::files;
use crate::policy::FuzzyPolicy;
use crate::problem::Problem;
use crate::search::{FrontPoint, SearchOptions};
use fpsrl_search::Worlds;

impl RunDirectory {
    /// Writes the front, each point re-scored by the judge. The table comes last: where it is, all policies are.
    pub(super) fn write_front(
        &self,
        problem: &Problem,
        worlds: &Worlds,
        front: &[FrontPoint],
        chosen: &FuzzyPolicy,
        options: SearchOptions,
    ) -> Result<()> {
        let directory = self.file(FRONT);
        std::fs::create_dir_all(&directory).map_err(|source| Error::write(&directory, source))?;
        let mut points = Vec::new();
        for (index, point) in front.iter().enumerate() {
            let file = format!("policy-{:02}.json", index + 1);
            files::write_json(&directory.join(&file), &point.policy)?;
            let promise =
                worlds.promise(&problem.system, &point.policy, &problem.judging_starts(), options.numerics)?;
            points.push(FrontEntry {
                file,
                rules: point.rules,
                conditions: point.conditions,
                fitness: point.fitness,
                mean: promise.mean,
                rescored: promise.rescored,
                holds: promise.holds,
                chosen: point.policy == *chosen,
            });
        }
        files::write_json(&directory.join(FRONT_TABLE), &Front { tolerance: problem.policy.rules_tolerance, points })
    }

    /// The front of a run and its policies, if it has one.
    pub fn front(&self) -> Result<Option<(Front, Vec<FuzzyPolicy>)>> {
        let directory = self.file(FRONT);
        let table = directory.join(FRONT_TABLE);
        if !table.try_exists().map_err(|source| Error::read(&table, source))? {
            return Ok(None);
        }
        let front: Front = files::read_json(&table)?;
        let mut policies = Vec::new();
        for point in &front.points {
            let path = directory.join(&point.file);
            let policy: FuzzyPolicy = files::read_json(&path)?;
            if let Some(problem) = policy.fault() {
                let hint = "run `fpsrl search --front` again".to_owned();
                return Err(Error::Malformed { path, line: None, column: None, problem, hint });
            }
            policies.push(policy);
        }
        Ok(Some((front, policies)))
    }
}
