//! The third artefact: what a search has found on some worlds.

use std::sync::Arc;

use fpsrl_base::error::{Error, Result};
use fpsrl_base::files;
use fpsrl_base::progress::Progress;
use fpsrl_engine::policy::FuzzyPolicy;
use fpsrl_search::figures::{Front, FrontEntry, Summary};
use fpsrl_search::promise::Promise;
use fpsrl_search::search::{Ending, FrontPoint, SearchOptions, SearchRecord};
use fpsrl_search::task::{Begun, Forget, Keeper, Outcome, Task};
use fpsrl_search::{EvaluationSettings, PolicySettings, SearchSettings};

use super::{Cluster, Worlds, fitted};
use crate::problem::Problem;

/// What a search has found, and the worlds that it found it on.
#[derive(Clone)]
pub struct Found {
    worlds: Worlds,
    problem: Arc<Problem>,
    options: SearchOptions,
    outcome: Arc<Outcome>,
}

/// What a search may be given besides its settings.
pub struct SearchContext<'a> {
    /// How it runs.
    pub options: SearchOptions,
    /// A policy that it begins with.
    pub begin_with: Option<&'a FuzzyPolicy>,
    /// Where an interrupted search stood.
    pub begun: Begun,
    /// Who keeps what an interrupted search goes on from.
    pub keeper: &'a mut dyn Keeper,
    /// Machines that score positions in this one's place.
    pub cluster: Option<&'a dyn Cluster>,
}

/// The candidate that was chosen.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// Its rules.
    pub policy: FuzzyPolicy,
    /// What it promises, beside what the judge says.
    pub promise: Promise,
}

impl Worlds {
    /// Searches rules on these worlds.
    ///
    /// ```
    /// use fpsrl::problem::{Effort, Budget};
    /// use fpsrl::{Log, Problem, Progress};
    /// let progress = Progress::silent();
    /// let mut problem = Problem::benchmark("mountain-car")?;
    /// (problem.data.samples, problem.world.epochs, problem.world.members) = (400, 3, 2);
    /// problem.search.budget = Some(Budget::Steps(100_000));
    /// let worlds = Log::new(&problem, &progress)?.fit(&problem.world, &progress)?;
    /// let found = worlds.search(&problem.policy, &problem.search, &progress)?;
    /// assert_eq!(found.best().actions[0].rules.len(), 2);
    /// # Ok::<(), fpsrl::Error>(())
    /// ```
    pub fn search(&self, policy: &PolicySettings, search: &SearchSettings, progress: &Progress) -> Result<Found> {
        let options = SearchOptions::of(search, true);
        let (begun, keeper) = (Begun::default(), &mut Forget);
        let context = SearchContext { options, begin_with: None, begun, keeper, cluster: None };
        self.search_with(policy, search, context, progress)
    }

    /// The same, from where an interrupted search stood or from a given policy, with checkpoints.
    pub fn search_with(
        &self,
        policy: &PolicySettings,
        search: &SearchSettings,
        context: SearchContext<'_>,
        progress: &Progress,
    ) -> Result<Found> {
        policy.check(self.system())?;
        search.check()?;
        let SearchContext { options, begin_with, begun, keeper, cluster } = context;
        let begin_with = begin_with.map(|policy| fitted(policy, self.system(), "the problem".as_ref())).transpose()?;
        let begin_with = begin_with.as_ref();
        let machines = cluster.map(|cluster| cluster.searching(self)).transpose()?;
        let task = |search| Task {
            system: self.system(),
            policy,
            search,
            transitions: self.log().transitions(),
            worlds: self.source(),
            options,
            begin_with,
            elsewhere: machines.as_deref(),
        };
        let search = task(search).with_budget_in_steps(progress)?;
        keeper.started(&search);
        let outcome = task(&search).run(begun, keeper, progress)?;
        let problem = Problem { policy: policy.clone(), search, ..self.problem().clone() };
        Ok(Found { worlds: self.clone(), problem: Arc::new(problem), options, outcome: Arc::new(outcome) })
    }
}

impl Found {
    /// The worlds that it was searched on.
    pub fn worlds(&self) -> &Worlds {
        &self.worlds
    }

    /// The problem, with the settings that it was searched with.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// How the search ran.
    pub fn options(&self) -> SearchOptions {
        self.options
    }

    /// The best policy by the search's own count. [`Found::judge`] chooses one that keeps its promise.
    pub fn best(&self) -> &FuzzyPolicy {
        &self.outcome.candidates[0]
    }

    /// The best mean return, from the search's own start states.
    pub fn best_return(&self) -> f64 {
        self.outcome.best
    }

    /// How the search went, a row a round.
    pub fn records(&self) -> &[SearchRecord] {
        &self.outcome.records
    }

    /// The policies of which none is both simpler and better, if they were searched.
    pub fn front(&self) -> Option<&[FrontPoint]> {
        self.outcome.front.as_deref()
    }

    /// Everything else about the search.
    pub fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    /// The first candidate that keeps its promise; if none does, the best one, which then says so.
    pub fn choose(&self, evaluation: &EvaluationSettings) -> Result<Choice> {
        let system = self.worlds.system();
        let starts = system.judging_starts(evaluation.start_states);
        let (candidates, numerics) = (&self.outcome.candidates, self.options.numerics);
        let (chosen, promise) = self
            .worlds
            .source()
            .choose(system, &self.problem.search, candidates, &starts, numerics)?
            .ok_or(Error::Internal("a search found no policy"))?;
        Ok(Choice { policy: candidates[chosen].clone(), promise })
    }

    /// The front with its policies, each of them re-scored by the judge; none if no front was searched. Where the front
    /// stands in a run directory, it carries the digest of that run's worlds; here it has none.
    pub fn judged_front(&self, chosen: &FuzzyPolicy) -> Result<Option<(Front, Vec<FuzzyPolicy>)>> {
        let Some(front) = self.front() else { return Ok(None) };
        let (starts, numerics) = (self.problem.judging_starts(), self.options.numerics);
        let mut points = Vec::new();
        for (index, point) in front.iter().enumerate() {
            let source = self.worlds.source();
            let promise = source.promise(self.worlds.system(), &point.policy, &starts, numerics)?;
            points.push(FrontEntry {
                file: format!("policy-{:02}.json", index + 1),
                sha256: files::sha256_of(files::to_json(&point.policy)?.as_bytes()),
                rules: point.rules,
                conditions: point.conditions,
                fitness: point.fitness,
                mean: promise.mean,
                rescored: promise.rescored,
                holds: promise.holds,
                chosen: point.policy == *chosen,
            });
        }
        let policies = front.iter().map(|point| point.policy.clone()).collect();
        Ok(Some((
            Front { world_sha256: String::new(), tolerance: self.problem.policy.rules_tolerance, points },
            policies,
        )))
    }

    /// The figures of a run up to this choice.
    pub fn summary(&self, choice: &Choice) -> Result<Summary> {
        let mut summary = self.worlds.summary(&self.problem)?;
        let Outcome { best, ending, records, model_steps, seconds, growth, race, .. } = &*self.outcome;
        summary.rules = choice.policy.rule_count();
        summary.promise = Some(choice.promise.clone());
        summary.iterations = records.last().map_or(0, |last| last.iteration);
        summary.model_steps = Some(*model_steps);
        summary.search_return = Some(*best);
        let stalled = *ending == Ending::Stalled;
        summary.search_ending = Some(if stalled { "stalled" } else { "finished" }.to_owned());
        summary.numerics = Some(self.options.numerics.to_string());
        summary.growth.clone_from(growth);
        summary.race = *race;
        summary.took("search", *seconds);
        Ok(summary)
    }
}
