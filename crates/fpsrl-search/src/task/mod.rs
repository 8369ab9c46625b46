//! A whole search: one with a given number of rules, or several with ever more of them.
//!
//! It leaves what it needs to go on with a [`Keeper`], and takes it up again as [`Begun`]: what it finds does not depend on
//! how often it was interrupted.

pub mod growth;

use std::time::Instant;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::baseline::pi;
use crate::optimiser::{CmaEs, RingSwarm, Scope, Shade};
use crate::search::methods::{self, Method};
use crate::search::race::{self, Race, RaceFigures};
use crate::search::{
    Elsewhere, Ending, Evaluator, Form, FrontPoint, OtherMachines, Search, SearchOptions, SearchRecord, SearchState,
    Threads, Trial,
};
use crate::{Budget, OptimiserKind, PolicySettings, RuleSpace, SearchSettings, WorldSource};
use fpsrl_base::error::{Error, Result};
use fpsrl_base::progress::Progress;
use fpsrl_base::remedy::Remedy;
use fpsrl_data::{System, Transitions};
use fpsrl_engine::policy::FuzzyPolicy;
use fpsrl_engine::world::World;
use growth::{Growth, RuleGrowth};

/// Candidates that a judge is asked about, at most.
const MOST_CANDIDATES: usize = 10;

/// What is searched, on what.
#[derive(Clone, Copy)]
pub struct Task<'a> {
    /// What is controlled.
    pub system: &'a System,
    /// The form of the policy.
    pub policy: &'a PolicySettings,
    /// How it is searched.
    pub search: &'a SearchSettings,
    /// The log, which says where rules may lie.
    pub transitions: &'a Transitions,
    /// The worlds that candidates are scored on.
    pub worlds: &'a WorldSource,
    /// How the search runs.
    pub options: SearchOptions,
    /// A policy that the search begins with, if there is one.
    pub begin_with: Option<&'a FuzzyPolicy>,
    /// Machines that score positions in this one's place; they have the worlds and the log already.
    pub elsewhere: Option<&'a dyn Elsewhere>,
}

/// What a search has found.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The policies that may be taken, the best one first.
    pub candidates: Vec<FuzzyPolicy>,
    /// The best mean return, from the search's own start states.
    pub best: f64,
    /// Why it ended.
    pub ending: Ending,
    /// A row a round; of several searches, those of the one that was chosen.
    pub records: Vec<SearchRecord>,
    /// Model steps of all searches, if there was more than one.
    pub model_steps: u64,
    /// Seconds of all searches.
    pub seconds: f64,
    /// How rules were added; none if their number was given.
    pub growth: Option<RuleGrowth>,
    /// Of a race: its gap, its start states and its tries.
    pub race: Option<RaceFigures>,
    /// The policies of which none is both simpler and better, if they were searched.
    pub front: Option<Vec<FrontPoint>>,
}

/// Where a search stood when it was saved.
#[derive(Clone, Debug)]
pub struct Saved {
    /// The form of its policy, with the number of rules that it had come to.
    pub policy: PolicySettings,
    /// The optimiser's state, as [`Running::state`] gave it.
    pub state: Value,
    /// What it had recorded.
    pub records: Vec<SearchRecord>,
}

/// What an interrupted search goes on from; the default is a beginning.
#[derive(Clone, Debug, Default)]
pub struct Begun {
    /// The searches with fewer rules that are finished.
    pub growth: Option<Growth>,
    /// The search that was under way.
    pub search: Option<Saved>,
}

/// A search under way, as its keeper sees it.
pub trait Running {
    /// What it has recorded so far, a row a round.
    fn records(&self) -> &[SearchRecord];

    /// All that it must remember besides.
    fn state(&self) -> Result<Value>;
}

/// Keeps what an interrupted search goes on from. Every method has an empty default.
pub trait Keeper {
    /// The searches begin with these settings, whose budget is counted in steps by now.
    fn started(&mut self, search: &SearchSettings) {
        let _ = search;
    }

    /// A search begins, or goes on from these records.
    fn begin(&mut self, policy: &PolicySettings, records: &[SearchRecord]) -> Result<()> {
        let _ = (policy, records);
        Ok(())
    }

    /// A round is over; `must` says that there will be no other.
    fn round(&mut self, running: &dyn Running, must: bool) -> Result<()> {
        let _ = (running, must);
        Ok(())
    }

    /// Rules begin to grow, or a search of growing rules is finished.
    fn grown(&mut self, growth: &Growth) -> Result<()> {
        let _ = growth;
        Ok(())
    }

    /// The error for a saved search that cannot be gone on from.
    fn broken(&self, problem: String) -> Error {
        Error::setting("the saved search", "broken", problem, "start the search anew")
    }
}

/// Keeps nothing: an interruption loses the search.
#[derive(Clone, Copy, Debug, Default)]
pub struct Forget;

impl Keeper for Forget {}

/// Keeps in memory what an interrupted search goes on from.
#[derive(Debug, Default)]
pub struct Remember {
    policy: Option<PolicySettings>,
    search: Option<SearchSettings>,
    begun: Begun,
}

impl Remember {
    /// For a search that goes on from somewhere, or from the beginning.
    pub fn from(begun: &Begun) -> Self {
        Self { begun: begun.clone(), ..Self::default() }
    }

    /// The settings that the search has, and where it stood when it was stopped; none before it began.
    pub fn into_parts(self) -> Option<(SearchSettings, Begun)> {
        Some((self.search?, self.begun))
    }
}

impl Keeper for Remember {
    fn started(&mut self, search: &SearchSettings) {
        self.search = Some(search.clone());
    }

    fn begin(&mut self, policy: &PolicySettings, _: &[SearchRecord]) -> Result<()> {
        self.policy = Some(policy.clone());
        Ok(())
    }

    fn round(&mut self, running: &dyn Running, must: bool) -> Result<()> {
        if let Some(policy) = self.policy.clone().filter(|_| must) {
            let saved = Saved { policy, state: running.state()?, records: running.records().to_vec() };
            self.begun.search = Some(saved);
        }
        Ok(())
    }

    fn grown(&mut self, growth: &Growth) -> Result<()> {
        self.begun = Begun { growth: Some(growth.clone()), search: None };
        Ok(())
    }
}

impl<M: Method, E: Evaluator> Running for Search<'_, M, E> {
    fn records(&self) -> &[SearchRecord] {
        Search::records(self)
    }

    fn state(&self) -> Result<Value> {
        serde_json::to_value(Search::state(self)).map_err(|_| Error::Internal("a search could not be written down"))
    }
}

impl Task<'_> {
    /// Searches, from the beginning or from where it stood.
    pub fn run(&self, begun: Begun, keeper: &mut dyn Keeper, progress: &Progress) -> Result<Outcome> {
        match self.policy.grow || self.policy.front {
            true => self.grow(begun, keeper, progress),
            false => self.conduct(self.policy, begun.search, keeper, progress),
        }
    }

    /// The settings with a budget in time turned into one in steps, as fast as they are taken now.
    pub fn with_budget_in_steps(&self, progress: &Progress) -> Result<SearchSettings> {
        let mut search = self.search.clone();
        if let (OptimiserKind::Auto, Some(Budget::Seconds(seconds))) = (search.optimiser, search.budget) {
            let worlds = self.worlds.on_lanes(self.system, search.caution)?;
            let worlds: Vec<&dyn World> = worlds.iter().map(Box::as_ref).collect();
            let space = self.space(self.policy);
            let evaluator = self.evaluator(self.policy, &space, worlds, progress);
            // Of other machines nobody knows how many there are; what they are sent together must keep them all at work.
            let together = if self.elsewhere.is_some() { 4_096 } else { 16 * rayon::current_num_threads() };
            let speed = race::steps_a_second(self.system, &search, &space, &evaluator, together)?;
            self.worlds.check()?;
            search.budget = Some(Budget::Translated { steps: (seconds * speed).max(1.0) as u64, seconds });
        }
        Ok(search)
    }

    /// The space that is searched for policies of a form.
    pub(super) fn space(&self, policy: &PolicySettings) -> RuleSpace {
        methods::space(self.system, policy, self.search, self.transitions)
    }

    /// Who scores positions of a form.
    fn evaluator<'s>(
        &'s self,
        policy: &'s PolicySettings,
        space: &'s RuleSpace,
        worlds: Vec<&'s dyn World>,
        progress: &'s Progress,
    ) -> Box<dyn Evaluator + 's> {
        match self.elsewhere {
            Some(machines) => {
                let form = Form { policy, search: self.search, options: self.options };
                Box::new(OtherMachines { machines, form, progress })
            }
            None => Box::new(Threads::new(self.system, self.search, space, worlds, self.options)),
        }
    }

    /// Lends an evaluator on this machine's threads to whoever scores positions of this task for a search elsewhere.
    pub fn evaluating<T>(&self, serve: impl FnOnce(&dyn Evaluator) -> T) -> Result<T> {
        let worlds = self.worlds.on_lanes(self.system, self.search.caution)?;
        let worlds = worlds.iter().map(Box::as_ref).collect();
        let space = self.space(self.policy);
        Ok(serve(&Threads::new(self.system, self.search, &space, worlds, self.options)))
    }

    /// Searches policies of one form.
    pub(super) fn conduct(
        &self,
        policy: &PolicySettings,
        from: Option<Saved>,
        keeper: &mut dyn Keeper,
        progress: &Progress,
    ) -> Result<Outcome> {
        match self.search.optimiser {
            OptimiserKind::Auto => self.conduct_with::<Race>(policy, from, keeper, progress),
            OptimiserKind::Swarm => self.conduct_with::<RingSwarm>(policy, from, keeper, progress),
            OptimiserKind::Shade => self.conduct_with::<Shade>(policy, from, keeper, progress),
            OptimiserKind::CmaEs => self.conduct_with::<CmaEs>(policy, from, keeper, progress),
        }
    }

    fn conduct_with<M: Method>(
        &self,
        policy: &PolicySettings,
        from: Option<Saved>,
        keeper: &mut dyn Keeper,
        progress: &Progress,
    ) -> Result<Outcome> {
        let began = Instant::now();
        self.search.check_rows(self.transitions.len())?;
        let worlds = self.worlds.on_lanes(self.system, self.search.caution)?;
        let lanes: Vec<&dyn World> = worlds.iter().map(Box::as_ref).collect();
        let worlds = lanes.clone();
        let earlier_seconds = from.as_ref().and_then(|from| from.records.last()).map_or(0.0, |last| last.seconds);
        let space = self.space(policy);
        let members = worlds.len();
        let evaluator = self.evaluator(policy, &space, worlds, progress);
        let as_a_pi = self.as_a_pi(&space, &lanes);
        let limits = M::limits(self.search);
        let mut search = match from {
            None => {
                let mut method = M::begin(self.system, self.search, &space, members);
                let given = self.beginning(policy, &space)?;
                if let Some(position) = given.or_else(|| as_a_pi.clone()) {
                    method.begin_at(&position);
                }
                keeper.begin(policy, &[])?;
                Search::new(&space, method, evaluator, limits)
            }
            Some(Saved { state, records, .. }) => {
                let SearchState { optimiser, improved } = restored::<M::State>(state, keeper)?;
                let method = M::restore(self.system, self.search, &space, members, optimiser)
                    .ok_or_else(|| keeper.broken("its state belongs to another problem".into()))?;
                keeper.begin(policy, &records)?;
                Search::new(&space, method, evaluator, limits).going_on(improved, records)
            }
        };
        let mut after = |search: &Search<'_, M, _>| {
            self.worlds.check()?;
            keeper.round(search, false)
        };
        let ending = match search.run(progress, &mut after) {
            Ok(ending) => ending,
            Err(error) => {
                // Other machines may fail in the middle of a round: the rounds before it are not lost.
                if self.elsewhere.is_some() {
                    keeper.round(&search, true)?;
                }
                return Err(error);
            }
        };
        if ending == Ending::Stopped {
            keeper.round(&search, true)?;
            return Err(Error::Stopped { stage: "search" });
        }
        let (found, mut best) = search.best();
        let mut candidates = search.candidates(MOST_CANDIDATES);
        // Whoever judges may still prefer what the search could have begun with: it leans on nothing of its start states.
        if let (Some(position), Some(found)) = (&as_a_pi, space.encode(&found)) {
            let positions = [position, &found];
            let whole = positions.map(|position| Trial { position, to_beat: f64::NEG_INFINITY, scope: Scope::Whole });
            let scored = Threads::new(self.system, self.search, &space, lanes.clone(), self.options).score(&whole)?;
            let [pi, found] = [0, 1].map(|index| scored[index].value.unwrap_or(f64::NEG_INFINITY));
            let place = if pi > found { 0 } else { candidates.len() };
            candidates.insert(place, space.decode(position));
            best = best.max(pi);
        }
        let last = search.records().last().ok_or(Error::Internal("a search left no records"))?;
        Ok(Outcome {
            candidates,
            best,
            ending,
            model_steps: last.model_steps,
            records: search.records().to_vec(),
            seconds: began.elapsed().as_secs_f64() + earlier_seconds,
            growth: None,
            race: search.optimiser().race_figures(),
            front: None,
        })
    }

    /// Where a search begins that nothing else was given to: rules that do what a tuned PI controller does, where a state
    /// tracks a set-point and as many rules can say so.
    fn as_a_pi(&self, space: &RuleSpace, worlds: &[&dyn World]) -> Option<Vec<f64>> {
        let starts = self.system.search_starts(0, self.search.start_states);
        let tuned = pi::tune(self.system, self.search, worlds, &starts, true, self.options.numerics)?;
        space.encode(&tuned.controller.as_many_rules(&space.blank())?)
    }

    /// Where a search begins: the position of the space that is nearest to the policy that it was given.
    fn beginning(&self, policy: &PolicySettings, space: &RuleSpace) -> Result<Option<Vec<f64>>> {
        let Some(given) = self.begin_with else { return Ok(None) };
        let position = space.encode(given);
        // A growing search passes by the number of rules that fits, sooner or later.
        if position.is_some() || policy.rules != self.policy.rules || self.policy.grow {
            return Ok(position);
        }
        let rules = given.rule_count();
        let rule = format!(
            "the policy that the search begins with has {rules} rules, mirrored: {}; the problem's are mirrored: {}",
            given.mirrored, policy.mirrored
        );
        let hint = Remedy::words("search with ")
            .option("rules", Some(&rules.to_string()))
            .then(", or without that policy (start.json)");
        Err(Error::setting("policy.rules", policy.rules, rule, hint))
    }
}

fn restored<S: DeserializeOwned>(state: Value, keeper: &dyn Keeper) -> Result<SearchState<S>> {
    serde_json::from_value(state).map_err(|error| keeper.broken(error.to_string()))
}
