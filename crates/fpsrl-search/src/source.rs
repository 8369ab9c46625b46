//! Where worlds come from that are searched on: learned from the log with a verdict on them, or a simulator that is the world.

use std::sync::Arc;

use fpsrl_base::error::{Error, Result};
use fpsrl_data::System;
use fpsrl_data::tape::Tape;
use fpsrl_engine::policy::FuzzyPolicy;
use fpsrl_engine::rollout::StartStates;
use fpsrl_engine::simd::Numerics;
use fpsrl_engine::world::World;
use fpsrl_world::model::WorldModel;
use fpsrl_world::quality::Verdict;
use fpsrl_world::{LaggedWorld, LearnedWorlds, NetworkWorld, Simulator};

use crate::SearchSettings;
use crate::promise::{self, Doubts, Promise};

/// The world of a run.
#[derive(Clone)]
pub enum WorldSource {
    /// Learned from the log, and how far that can be trusted.
    Learned(Box<(LearnedWorlds, Option<Verdict>)>),
    /// A process or a function that is the world, and what its inputs follow.
    Simulator(Arc<dyn Simulator>, Option<Arc<Tape>>),
}

impl WorldSource {
    /// The members on lanes, learned ones under a user's caution.
    pub fn on_lanes(&self, system: &System, caution: f64) -> Result<Vec<Box<dyn World>>> {
        match self {
            Self::Learned(worlds) => worlds.0.on_lanes(caution),
            Self::Simulator(simulator, tape) => {
                Ok(vec![Box::new(LaggedWorld::new(system, Arc::clone(simulator)).following(tape.clone()))])
            }
        }
    }

    /// The judge's worlds on lanes, if there is a judge that testifies.
    pub fn judges_on_lanes(&self) -> Result<Vec<Box<dyn World>>> {
        let Self::Learned(worlds) = self else { return Ok(Vec::new()) };
        if worlds.1.as_ref().is_some_and(|verdict| verdict.judge_abstains.is_some()) {
            return Ok(Vec::new());
        }
        let lanes =
            worlds.0.judges.iter().map(|model| -> Result<Box<dyn World>> { Ok(Box::new(NetworkWorld::new(model)?)) });
        lanes.collect()
    }

    /// The same worlds whose steps cost something else besides their reward; none of a simulator, whose rewards are its own.
    pub fn with_costs(&self, costs: Option<&str>) -> Option<Self> {
        let Self::Learned(worlds) = self else { return None };
        Some(Self::Learned(Box::new((worlds.0.with_costs(costs), worlds.1.clone()))))
    }

    /// The first member on lanes.
    pub fn first(&self, system: &System) -> Result<Box<dyn World>> {
        self.on_lanes(system, 0.0)?.into_iter().next().ok_or(Error::Internal("a run has no world"))
    }

    /// The first member on lanes, for actions that have been applied already.
    pub fn unlimited(&self, system: &System) -> Result<Box<dyn World>> {
        match self {
            Self::Learned(worlds) => {
                let model = WorldModel { actuators: Vec::new(), ..worlds.0.world.clone() };
                Ok(Box::new(NetworkWorld::new(&model)?))
            }
            Self::Simulator(simulator, tape) => {
                let world = LaggedWorld::new(system, Arc::clone(simulator)).following(tape.clone());
                Ok(Box::new(world.without_actuators()))
            }
        }
    }

    /// Whether it is a simulator, which is slower than what was learned.
    pub fn is_simulator(&self) -> bool {
        matches!(self, Self::Simulator(..))
    }

    /// Whether all that was asked was answered; a simulator may have failed meanwhile.
    pub fn check(&self) -> Result<()> {
        match self {
            Self::Learned(_) => Ok(()),
            Self::Simulator(simulator, _) => simulator.check(),
        }
    }

    /// The first candidate that keeps its promise. A simulator is the world: there, the best one does.
    pub fn choose(
        &self,
        system: &System,
        settings: &SearchSettings,
        candidates: &[FuzzyPolicy],
        starts: &StartStates,
        numerics: Numerics,
    ) -> Result<Option<(usize, Promise)>> {
        match self {
            Self::Learned(worlds) => {
                promise::choose(system, settings, &worlds.0, &doubts(&worlds.1), candidates, starts, numerics)
            }
            Self::Simulator(..) => {
                let promise = candidates.first().map(|policy| self.promise(system, policy, starts, numerics));
                Ok(promise.transpose()?.map(|promise| (0, promise)))
            }
        }
    }

    /// What a policy promises.
    pub fn promise(
        &self,
        system: &System,
        policy: &FuzzyPolicy,
        starts: &StartStates,
        numerics: Numerics,
    ) -> Result<Promise> {
        match self {
            Self::Learned(worlds) => Promise::of(system, &worlds.0, &doubts(&worlds.1), policy, starts, numerics),
            Self::Simulator(..) => {
                let promise = Promise::on(system, self.first(system)?.as_ref(), policy, starts, numerics);
                self.check()?;
                Ok(promise)
            }
        }
    }
}

/// What is in doubt of worlds.
fn doubts(verdict: &Option<Verdict>) -> Doubts {
    let of = |verdict: &Verdict| Doubts {
        rewards: verdict.rewards.clone(),
        judge_rewards: verdict.judge_rewards.clone(),
        widening: verdict.widening,
        judge_abstains: verdict.judge_abstains.clone(),
    };
    verdict.as_ref().map(of).unwrap_or_default()
}
