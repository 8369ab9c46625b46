//! What belongs together in a run directory.
//!
//! | file           | holds the digests of                                             |
//! |----------------|------------------------------------------------------------------|
//! | `world.json`   | the log, the start states, and the part of the problem that worlds are learned by |
//! | `summary.json` | the log, the worlds, the policy, the record of its search, the problem and its `[evaluation]` |
//! | `front.json`   | the worlds, and each of its policies                             |
//! | `nfq.json`, `pi.json`, checkpoints | the worlds                                   |
//! | `trade.json`   | the worlds, the policy, the problem and its `[evaluation]`, and each of its own policies |
//! | `policy.simple.json` | by `summary.json`: that of the policy that it was made from |
//!
//! Whoever loads one of them asks here first. What does not belong together is refused with both names and the verb to run
//! again; it is never combined.

use serde::Serialize;

use super::directory::RunDirectory;
use super::graph::{self, POLICY, PROBLEM, SUMMARY, TRANSITIONS, WORLD};
use crate::error::{Error, Result};
use crate::figures::Summary;
use crate::files;
use crate::policy::FuzzyPolicy;
use crate::problem::{ActionVariable, Problem};
use fpsrl_base::remedy::Remedy;

/// The digests that figures are of.
pub(super) struct Origins {
    log: String,
    world: Option<String>,
    policy: Option<String>,
    problem: String,
    evaluation: String,
}

/// What has become of the origins of some figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Change {
    /// They are as they were.
    None,
    /// The policy is scored from other start states.
    Evaluation,
    /// The policy or the problem is another.
    Policy,
    /// The log or the worlds are others.
    World,
}

impl Origins {
    /// What the files of a run are now, for a problem and a policy that is there or about to be.
    pub(super) fn of(run: &RunDirectory, problem: &Problem, policy: Option<String>) -> Result<Self> {
        Ok(Self {
            log: run.data_sha256()?,
            world: if run.has(WORLD)? { Some(files::sha256(&run.file(WORLD))?) } else { None },
            policy,
            problem: problem_digest(problem)?,
            evaluation: evaluation_digest(problem)?,
        })
    }

    /// Writes them into the figures that are of them.
    pub(super) fn stamp(self, summary: &mut Summary) {
        summary.data_sha256 = self.log;
        summary.world_sha256 = self.world;
        summary.policy_sha256 = self.policy;
        summary.problem_sha256 = Some(self.problem);
        summary.evaluation_sha256 = Some(self.evaluation);
    }

    /// How far figures are of something else, and the file that has changed.
    pub(super) fn change(&self, summary: &Summary) -> (Change, &'static str) {
        if summary.data_sha256 != self.log {
            (Change::World, TRANSITIONS)
        } else if summary.world_sha256 != self.world {
            (Change::World, WORLD)
        } else if summary.policy_sha256 != self.policy {
            (Change::Policy, POLICY)
        } else if summary.problem_sha256.as_ref() != Some(&self.problem) {
            (Change::Policy, PROBLEM)
        } else if summary.evaluation_sha256.as_ref() != Some(&self.evaluation) {
            (Change::Evaluation, PROBLEM)
        } else {
            (Change::None, SUMMARY)
        }
    }
}

impl RunDirectory {
    /// The digests of the files that are there now.
    pub(super) fn origins(&self, problem: &Problem) -> Result<Origins> {
        let policy = if self.has(POLICY)? { Some(files::sha256(&self.file(POLICY))?) } else { None };
        Origins::of(self, problem, policy)
    }

    /// The figures so far, if they are of the files that are there.
    pub fn summary_of_policy(&self, problem: &Problem) -> Result<Summary> {
        let summary = self.summary()?;
        let judged = summary.promise.is_some() || summary.model_return.is_some() || summary.simple.is_some();
        let (change, file) = self.origins(problem)?.change(&summary);
        match (change, file) {
            (Change::None, _) => Ok(summary),
            // Before there are figures of a policy, only log and worlds can be others.
            (Change::Policy | Change::Evaluation, _) if !judged => Ok(summary),
            (Change::World, TRANSITIONS) => Err(self.other_log()),
            (Change::World, WORLD) if !self.has(WORLD)? => self.expect(WORLD).map(|_| summary),
            (_, file) => {
                // Where the worlds do not fit either, they come first.
                self.worlds(problem)?;
                let what = match file {
                    WORLD => "another world model",
                    POLICY => "another policy",
                    _ => "other settings",
                };
                let hint = Remedy::words("run ")
                    .stage("evaluate", Some(self.path()))
                    .then(" to score the files that are there");
                Err(self.mismatch(SUMMARY, file, format!("its figures were computed for {what}"), hint))
            }
        }
    }

    /// Refuses to show or export a policy that nobody has judged.
    pub(super) fn not_judged(&self) -> Error {
        let remedy = Remedy::words("run ").stage("evaluate", Some(self.path())).then(" first");
        self.mismatch(SUMMARY, POLICY, "it has no figures of this policy yet".into(), remedy)
    }

    /// Refuses a log that is not the one that the figures are of.
    pub(super) fn check_log(&self, summary: &Summary) -> Result<()> {
        if summary.data_sha256 == self.data_sha256()? { Ok(()) } else { Err(self.other_log()) }
    }

    fn other_log(&self) -> Error {
        let problem = "it is not the log that the run was made from";
        let hint = Remedy::words("put that log back, or run ")
            .stage("fit", Some(self.path()))
            .then(" and the stages after it again");
        self.mismatch(TRANSITIONS, SUMMARY, problem.into(), hint)
    }

    /// Refuses a file whose origin has changed; the hint is to write it again.
    pub(super) fn changed(&self, name: &str, origin: &str, problem: String) -> Error {
        self.mismatch(name, origin, problem, self.again(graph::verb(name)))
    }

    /// To run a verb on this directory again.
    pub(super) fn again(&self, verb: &'static str) -> Remedy {
        Remedy::words("run ").stage(verb, Some(self.path())).then(" again")
    }

    pub(super) fn mismatch(&self, name: &str, other: &str, problem: String, remedy: Remedy) -> Error {
        Error::Mismatch { path: self.file(name), other: self.file(other), problem, remedy }
    }
}

/// The digest of the file that a policy becomes.
pub(super) fn policy_digest(policy: &FuzzyPolicy) -> Result<String> {
    Ok(files::sha256_of(files::to_json(policy)?.as_bytes()))
}

/// The digest of what worlds are learned by: the seed, their settings and the variables.
pub(super) fn world_digest(problem: &Problem) -> Result<String> {
    let states: Vec<_> = problem.system.states().iter().map(|state| (&state.name, state.angle)).collect();
    let set_point = |action: &ActionVariable| action.set_point.as_ref().map(|point| point.limits);
    let actions: Vec<_> =
        problem.system.actions().iter().map(|action| (&action.name, action.rate, set_point(action))).collect();
    let settings = (problem.system.seed(), table(problem)?.get("world").cloned(), states, actions);
    // Worlds carry what steps cost: with another weight they are others.
    match problem.system.costs() {
        None => digest(&settings),
        Some(costs) => digest(&(settings, costs)),
    }
}

/// The digests of everything that the score of a policy depends on besides files.
pub(super) fn settings_digests(problem: &Problem) -> Result<[String; 2]> {
    Ok([problem_digest(problem)?, evaluation_digest(problem)?])
}

/// The digest of everything that figures depend on besides files and `[evaluation]`.
fn problem_digest(problem: &Problem) -> Result<String> {
    let mut table = table(problem)?;
    for other in ["format", "data", "evaluation"] {
        table.remove(other);
    }
    digest(&table)
}

fn evaluation_digest(problem: &Problem) -> Result<String> {
    digest(&table(problem)?.get("evaluation"))
}

/// The settings of a problem by the names that `problem.toml` has for them; comments and order are none of it.
fn table(problem: &Problem) -> Result<toml::Table> {
    toml::from_str(&problem.to_toml()).map_err(|_| Error::Internal("a problem has no form as TOML"))
}

fn digest(settings: &impl Serialize) -> Result<String> {
    let text = serde_json::to_string(settings).map_err(|_| Error::Internal("settings have no form in JSON"))?;
    Ok(files::sha256_of(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn other_seed(problem: &Problem) -> Problem {
        Problem { system: problem.system.clone().with_seed(5).unwrap(), ..problem.clone() }
    }

    #[test]
    fn a_digest_follows_the_settings_that_matter_and_no_others() {
        let problem = Problem::benchmark("cart-pole-balancing").unwrap();
        let mut other = problem.clone();
        other.evaluation.start_states += 1;
        other.data.samples += 1;
        assert_eq!(problem_digest(&other).unwrap(), problem_digest(&problem).unwrap());
        assert_ne!(evaluation_digest(&other).unwrap(), evaluation_digest(&problem).unwrap());
        other.search.caution += 0.25;
        assert_ne!(problem_digest(&other).unwrap(), problem_digest(&problem).unwrap());
        assert_eq!(world_digest(&other).unwrap(), world_digest(&problem).unwrap());
        assert_ne!(world_digest(&other_seed(&problem)).unwrap(), world_digest(&problem).unwrap());
        other.world.members += 1;
        assert_ne!(world_digest(&other).unwrap(), world_digest(&problem).unwrap());
    }

    #[test]
    fn the_weight_of_a_cost_is_a_part_of_problem_and_worlds() {
        let of = |weight: f64, cost: &str| {
            let text = format!(
                "name = 'p'\nhorizon = 10\n[[state]]\nname = 'x'\n[[action]]\nname = 'u'\nlimits = [0.0, 1.0]\n[[objective]]\n\
                 name = 'energy'\ncost = '{cost}'\nweight = {weight:?}\n[data]\nfile = 'log.csv'\n"
            );
            let problem = crate::problem::WrittenProblem::parse(&text, "p.toml".as_ref()).unwrap().check().unwrap();
            [problem_digest(&problem).unwrap(), world_digest(&problem).unwrap()]
        };
        assert_eq!(of(0.5, "u"), of(0.5, "u"));
        for other in [of(0.25, "u"), of(0.5, "x * u")] {
            assert!(other[0] != of(0.5, "u")[0] && other[1] != of(0.5, "u")[1]);
        }
    }
}
