//! P and PI controllers on the worlds of a run: tuned or given, scored beside its rules, and where a search can begin.

use serde::Serialize;

use super::directory::RunDirectory;
use super::graph::{DATA, PI, POLICY, WORLD};
use crate::baseline::pi::{self, PiController, PiKernel};
use crate::baseline::pi_given::{GivenPi, called, nothing_tracks};
use crate::error::{Error, Result};
use crate::files;
use crate::gain::Grounds;
use crate::pi_result::{PiResult, Score, ScoredPi};
use crate::policy::{Derived, FuzzyKernel, FuzzyPolicy, RuleSpace};
use crate::problem::{PolicySettings, Problem};
use crate::progress::{Progress, Stage, Status};
use crate::search::SearchOptions;
use crate::stage::Worlds;
use crate::world::World;
use fpsrl_base::remedy::Remedy;

/// The fewest rules of an action that do what a PI controller does.
const PAIR: usize = 2;

/// Which controller is asked for, and what is done with it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PiOptions {
    /// The controller that the user has; none is tuned.
    pub given: Option<GivenPi>,
    /// Whether searches begin with it from now on. One that `pi.json` holds is not tuned again for that.
    pub into: bool,
}

/// `pi.json`, beside the rules of the run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PiComparison {
    /// What was written.
    #[serde(flatten)]
    pub result: PiResult,
    /// What the rules are worth from the same starts; null before there are any.
    pub rules: Option<Score>,
}

impl RunDirectory {
    /// Tunes a P and a PI controller on the worlds of a run, or takes the one that is given, and scores them from the start
    /// states of the evaluation.
    pub fn pi(&self, options: &PiOptions, progress: &Progress) -> Result<PiComparison> {
        let problem = self.problem()?;
        if pi::tracked_states(&problem.system).is_empty() {
            return Err(nothing_tracks());
        }
        if options.into {
            check_form(&problem)?;
        }
        let given = options.given.as_ref().map(|given| given.controller(&problem.system)).transpose()?;
        let worlds = self.worlds(&problem)?;
        let members = worlds.source().on_lanes(&problem.system, 0.0)?;
        progress.begin(Stage::Pi, 3);
        let (controller, proportional, is_given) = match given {
            Some(controller) => (controller, None, true),
            None => match self.known_pi(options.into)? {
                Some(known) => known,
                None => {
                    let (controller, proportional) = tuned(&problem, &members, progress)?;
                    (controller, Some(proportional), false)
                }
            },
        };
        progress.update(Stage::Pi, 2, Status::At("scored"));
        let rules = as_rules(&problem, &worlds, &controller);
        let comparison = self.compared(&problem, &worlds, &members, (controller, proportional, is_given), &rules)?;
        worlds.source().check()?;
        let stopped = progress.stop_requested();
        progress.end(Stage::Pi);
        if stopped {
            return Err(Error::Stopped { stage: "PI controller" });
        }
        let prepared = files::prepare_json(&self.file(PI), &comparison.result)?;
        if options.into {
            self.begin_with(&rules?)?;
        }
        prepared.commit()?;
        Ok(comparison)
    }

    /// What `pi.json` holds, if it belongs to the world that is there.
    pub fn pi_result(&self) -> Result<PiResult> {
        let result: PiResult = files::read_json(&self.expect(PI)?)?;
        if result.world_sha256 != files::sha256(&self.expect(WORLD)?)? {
            return Err(self.changed(PI, WORLD, "it was tuned on another world model".into()));
        }
        Ok(result)
    }

    /// The controllers of an earlier call, for a search to begin with.
    fn known_pi(&self, wanted: bool) -> Result<Option<(PiController, Option<PiController>, bool)>> {
        if !wanted || !self.has(PI)? {
            return Ok(None);
        }
        let known = self.pi_result()?;
        let names: Vec<String> = self.problem()?.system.actions().iter().map(|action| called(action).into()).collect();
        if !known.pi.controller.loops.iter().map(|one| &one.action).eq(&names) {
            return Err(self.broken(PI, "it is for other actions".into()));
        }
        Ok(Some((known.pi.controller, known.p.map(|p| p.controller), known.given)))
    }

    /// The controllers beside the rules and what the plant does today.
    fn compared(
        &self,
        problem: &Problem,
        worlds: &Worlds,
        members: &[Box<dyn World>],
        (controller, proportional, given): (PiController, Option<PiController>, bool),
        rules: &Result<FuzzyPolicy>,
    ) -> Result<PiComparison> {
        let (system, starts) = (&problem.system, problem.evaluation_starts());
        let judges = worlds.source().judges_on_lanes()?;
        let grounds = Grounds {
            system,
            transitions: worlds.log().transitions(),
            random: problem.data.log.is_none(),
            members,
            judges: &judges,
            starts: &starts,
            numerics: SearchOptions::of(&problem.search, true).numerics,
        };
        let today = grounds.today();
        let scored = |controller: PiController| ScoredPi {
            score: grounds.score(&PiKernel::new(system, &controller), &today),
            reset_steps: controller.loops.iter().map(|one| one.reset()).collect(),
            controller,
        };
        let of_rules = |policy: &FuzzyPolicy| grounds.score(&FuzzyKernel::new(policy), &today);
        let own = if self.has(POLICY)? { Some(self.policy(problem)?) } else { None };
        let result = PiResult {
            given,
            pi: scored(controller),
            p: proportional.map(scored),
            as_rules: rules.as_ref().ok().map(of_rules),
            today: grounds.score_today(&today),
            interval: if self.has(DATA)? { self.import_report()?.interval } else { None },
            world_sha256: files::sha256(&self.file(WORLD))?,
        };
        Ok(PiComparison { result, rules: own.as_ref().map(of_rules) })
    }
}

/// A PI and a P controller, tuned from the start states of the search.
fn tuned(problem: &Problem, members: &[Box<dyn World>], progress: &Progress) -> Result<(PiController, PiController)> {
    let numerics = SearchOptions::of(&problem.search, true).numerics;
    let lanes: Vec<&dyn World> = members.iter().map(Box::as_ref).collect();
    let one = |integral: bool| {
        if progress.stop_requested() {
            return Err(Error::Stopped { stage: "PI controller" });
        }
        let tuned = pi::tune(&problem.system, &problem.search, &lanes, &problem.search_starts(), integral, numerics);
        tuned.map(|tuned| tuned.controller).ok_or_else(nothing_tracks)
    };
    let proportional = one(false)?;
    progress.update(Stage::Pi, 1, Status::At("a P controller is tuned"));
    Ok((one(true)?, proportional))
}

/// The settings of policies that a PI controller is put into: a pair of rules where their number grows.
fn form(policy: &PolicySettings) -> PolicySettings {
    let rules = if policy.grow { PAIR } else { policy.rules };
    PolicySettings { rules, grow: false, front: false, ..policy.clone() }
}

/// Refuses problems whose rules cannot do what a PI controller does, whatever its numbers are.
fn check_form(problem: &Problem) -> Result<()> {
    let PolicySettings { rules, mirrored, .. } = form(&problem.policy);
    if mirrored {
        let rule = "a PI controller has a bias, which mirrored rules cannot have";
        return Err(Error::setting("policy.mirrored", true, rule, "write `mirrored = false` below [policy]"));
    }
    if !rules.is_multiple_of(PAIR) {
        let rule = "a PI controller becomes pairs of rules";
        let hint = "write `rules = 2` or `rules = \"auto\"` below [policy] in problem.toml";
        return Err(Error::setting("policy.rules", rules, rule, hint));
    }
    if let Some(action) = problem.system.actions().iter().find(|action| action.set_point.is_some()) {
        let rule = format!("the rules decide how far `{}` moves, and a PI controller where to", called(action));
        let hint = Remedy::words("leave out `change` below its [[action]], or leave out ").option("into", None);
        return Err(Error::setting("change", true, rule, hint));
    }
    Ok(())
}

/// A PI controller as a policy of the problem's form.
fn as_rules(problem: &Problem, worlds: &Worlds, controller: &PiController) -> Result<FuzzyPolicy> {
    check_form(problem)?;
    let space = RuleSpace::new(&problem.system, &form(&problem.policy), worlds.log().transitions());
    let blank = space.blank();
    let sees_sums = blank.states.iter().any(|state| matches!(state.derived, Some(Derived::Sum { .. })));
    if !sees_sums && controller.loops.iter().any(|one| one.integral != 0.0) {
        let rule = "rules do what the integral part does only if they see the running sum of the error";
        let hint = "write `integral = true` below the [[state]] that tracks a set-point, then run the problem again";
        return Err(Error::setting("integral", false, rule, hint));
    }
    controller.as_many_rules(&blank).ok_or_else(|| {
        let rule = "it cannot be told in rules: one of its gains is 0, or the rules do not see its error";
        Error::setting("the controller", "not usable as rules", rule, "give other gains, or leave it out")
    })
}
