//! `front/`: the policies of which none is both simpler and better, as files.

use serde::{Deserialize, Serialize};

use super::directory::{FRONT, FRONT_TABLE, RunDirectory};
use super::worlds::RunWorlds;
use crate::error::{Error, Result};
use crate::files;
use crate::policy::FuzzyPolicy;
use crate::problem::Problem;
use crate::search::{FrontPoint, SearchOptions};

/// What `front/front.json` holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Front {
    /// What a simpler policy may lose and still be chosen, as a share of the way from doing nothing to the ceiling.
    pub tolerance: f64,
    /// The points, the simplest first.
    pub points: Vec<FrontEntry>,
}

/// A point of the front.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrontEntry {
    /// Its policy's file, in `front/`.
    pub file: String,
    /// Rules for each action, mirrored ones counted.
    pub rules: usize,
    /// Conditions of all rules, mirrored ones counted.
    pub conditions: usize,
    /// The fitness that it was compared by, from start states that it was not searched on.
    pub fitness: f64,
    /// Its mean return over the members of the ensemble, from other start states again.
    #[serde(rename = "return")]
    pub mean: f64,
    /// Its mean return on the judge's worlds; null without a judge.
    pub rescored: Option<f64>,
    /// Whether it keeps its promise; null without a judge.
    pub holds: Option<bool>,
    /// Whether it is the run's policy.
    pub chosen: bool,
}

impl RunDirectory {
    /// Writes the front, each point re-scored by the judge. The table comes last: where it is, all policies are.
    pub(super) fn write_front(
        &self,
        problem: &Problem,
        worlds: &RunWorlds,
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
            let promise = worlds.promise(problem, &point.policy, options.numerics)?;
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
