//! FPSRL itself: an optimiser over rule parameters, scored by rollouts on a world.
//!
//! Section 5 of the paper. The optimiser is asked for positions, an evaluator scores them, the optimiser is told. Nothing
//! here depends on which thread scored what. [`race`] is what is searched with by default; [`methods`] is the list of all.

mod evaluator;
mod front;
pub mod methods;
pub mod race;

pub use evaluator::{Elsewhere, Evaluator, Form, OtherMachines, Threads, Trial};
pub use front::{FrontPoint, none_simpler_and_better, thin_out};

use crate::RuleSpace;
use crate::optimiser::Optimiser;
use crate::{RiskKind, SearchSettings};
use fpsrl_base::error::Result;
use fpsrl_base::progress::{Progress, Stage, Status};
use fpsrl_data::System;
use fpsrl_engine::policy::FuzzyPolicy;
use fpsrl_engine::rollout::Risk;
use fpsrl_engine::simd::Numerics;
use fpsrl_engine::world::World;
use methods::Method;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// Policies are unlike each other if a parameter differs by this share of its range.
const DIFFERENT: f64 = 0.05;

/// How a search runs; nothing here changes what it finds, except the numerics.
#[derive(Clone, Copy, Debug)]
pub struct SearchOptions {
    /// Instruction set and mode of the rollouts.
    pub numerics: Numerics,
    /// Whether candidates that cannot improve their particle are given up early.
    pub prune: bool,
    /// The least time between two checkpoints of a search in a run directory; zero is after each iteration.
    pub checkpoint_every: Duration,
}

impl SearchOptions {
    /// The options of a problem on this machine.
    pub fn of(settings: &SearchSettings, prune: bool) -> Self {
        let numerics = Numerics::detect(settings.numerics);
        Self { numerics, prune, checkpoint_every: Duration::from_secs(3) }
    }
}

/// One line of `search.csv`: how the swarm stands after an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SearchRecord {
    /// The iteration; 0 is the swarm at its first positions.
    pub iteration: usize,
    /// The best fitness so far.
    pub best: f64,
    /// The mean of the particles' best fitness.
    pub mean: f64,
    /// Model steps since the beginning of the search.
    pub model_steps: u64,
    /// Seconds since the beginning of the search.
    pub seconds: f64,
    /// The stage of a search that has several, from 0; what is scored differs between stages, and so may `best`.
    #[serde(default)]
    pub stage: u32,
}

/// Why a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It made all of its iterations.
    Finished,
    /// It did not improve for as long as its patience lasts.
    Stalled,
    /// The user stopped it.
    Stopped,
}

/// A search under way: an optimiser that is asked, an evaluator that scores.
///
/// [`Search::step`] makes one round; [`Search::run`] makes them all.
pub struct Search<'a, O: Optimiser, E> {
    space: &'a RuleSpace,
    optimiser: O,
    evaluator: E,
    limits: Limits,
    records: Vec<SearchRecord>,
    /// The last round that improved the best fitness.
    improved: usize,
    /// The optimiser's state before the round that failed, if one has: what it asked for is asked again from there.
    before: Option<O::State>,
    /// Seconds that were spent before this process took the search up.
    earlier_seconds: f64,
    began: Instant,
}

/// When a search ends, besides by its optimiser's own word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Rounds that it makes at most, the first one not counted.
    pub rounds: Option<usize>,
    /// Rounds without an improvement after which it ends.
    pub patience: Option<usize>,
}

/// All that a search must remember, besides its record, to go on elsewhere as if it had never stopped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SearchState<S> {
    /// The optimiser's own state.
    pub optimiser: S,
    /// The last round that improved the best fitness.
    pub improved: usize,
}

impl<'a, M: Method> Search<'a, M, Threads<'a>> {
    /// A search at its beginning, on one world or the members of an ensemble, with the threads of this machine.
    pub fn begin(
        system: &'a System,
        settings: &'a SearchSettings,
        space: &'a RuleSpace,
        worlds: Vec<&'a dyn World>,
        options: SearchOptions,
    ) -> Self {
        let method = M::begin(system, settings, space, worlds.len());
        Self::new(space, method, Threads::new(system, settings, space, worlds, options), M::limits(settings))
    }
}

impl<'a, O: Optimiser, E: Evaluator> Search<'a, O, E> {
    /// A search at its beginning.
    pub fn new(space: &'a RuleSpace, optimiser: O, evaluator: E, limits: Limits) -> Self {
        Self {
            space,
            optimiser,
            evaluator,
            limits,
            records: Vec::new(),
            improved: 0,
            before: None,
            earlier_seconds: 0.0,
            began: Instant::now(),
        }
    }

    /// Goes on from what had been recorded when the optimiser's state was saved.
    pub fn going_on(mut self, improved: usize, records: Vec<SearchRecord>) -> Self {
        self.improved = improved;
        self.earlier_seconds = records.last().map_or(0.0, |record| record.seconds);
        self.records = records;
        self
    }

    /// What a checkpoint holds.
    pub fn state(&self) -> SearchState<O::State> {
        let state = self.before.as_ref().unwrap_or(self.optimiser.state());
        SearchState { optimiser: state.clone(), improved: self.improved }
    }

    /// The optimiser.
    pub fn optimiser(&self) -> &O {
        &self.optimiser
    }

    /// What has been recorded so far, a row a round.
    pub fn records(&self) -> &[SearchRecord] {
        &self.records
    }

    /// The best policy so far and its mean return on the world.
    pub fn best(&self) -> (FuzzyPolicy, f64) {
        let (position, fitness) = self.optimiser.best();
        (self.space.decode(position), fitness)
    }

    /// The best policies that the optimiser knows, the very best first, each unlike those before it: what can be asked
    /// next if the best one does not keep its promise.
    pub fn candidates(&self, most: usize) -> Vec<FuzzyPolicy> {
        let mut others = self.optimiser.candidates();
        others.sort_by(|a, b| b.1.total_cmp(&a.1));
        let ranges: Vec<f64> = self.space.low().iter().zip(self.space.high()).map(|(low, high)| high - low).collect();
        let unlike = |a: &[f64], b: &[f64]| {
            a.iter().zip(b).zip(&ranges).any(|((a, b), range)| (a - b).abs() > DIFFERENT * range)
        };
        let mut chosen: Vec<&[f64]> = vec![self.optimiser.best().0];
        for (position, _) in others {
            if chosen.len() < most && chosen.iter().all(|other| unlike(position, other)) {
                chosen.push(position);
            }
        }
        chosen.into_iter().map(|position| self.space.decode(position)).collect()
    }

    /// Why the search is over, if it is.
    pub fn ending(&self) -> Option<Ending> {
        let last = self.records.last()?.iteration;
        if self.optimiser.is_finished() || self.limits.rounds.is_some_and(|rounds| last >= rounds) {
            Some(Ending::Finished)
        } else if self.limits.patience.is_some_and(|patience| last - self.improved >= patience) {
            Some(Ending::Stalled)
        } else {
            None
        }
    }

    /// Makes one round. If its positions cannot be scored, the search stands where it stood before.
    pub fn step(&mut self) -> Result<SearchRecord> {
        let before = self.optimiser.best().1;
        self.before = self.evaluator.may_fail().then(|| self.optimiser.state().clone());
        let optimiser = &mut self.optimiser;
        let positions = optimiser.ask().to_vec();
        let to_beat = optimiser.to_beat();
        let trials: Vec<Trial<'_>> = (0..positions.len())
            .map(|index| Trial { position: &positions[index], to_beat: to_beat[index], scope: optimiser.scope(index) })
            .collect();
        let scores = self.evaluator.score(&trials)?;
        self.before = None;
        let told: Vec<f64> = scores.iter().map(|score| score.value.unwrap_or(f64::NEG_INFINITY)).collect();
        let (stage, _) = self.optimiser.stage();
        self.optimiser.tell(&told);
        let steps: u64 = scores.iter().map(|score| score.model_steps).sum();
        let iteration = self.records.last().map_or(0, |record| record.iteration + 1);
        let best = self.optimiser.best().1;
        if best > before {
            self.improved = iteration;
        }
        let known: Vec<f64> =
            self.optimiser.candidates().into_iter().map(|(_, fitness)| fitness).filter(|f| f.is_finite()).collect();
        let record = SearchRecord {
            iteration,
            best,
            mean: if known.is_empty() { best } else { known.iter().sum::<f64>() / known.len() as f64 },
            model_steps: self.records.last().map_or(0, |record| record.model_steps) + steps,
            seconds: self.earlier_seconds + self.began.elapsed().as_secs_f64(),
            stage,
        };
        self.records.push(record);
        Ok(record)
    }

    /// Makes rounds until the search ends; `after` sees the search after each of them.
    pub fn run(&mut self, progress: &Progress, mut after: impl FnMut(&Self) -> Result<()>) -> Result<Ending> {
        const FINE: f64 = 10_000.0;
        let total = match (self.optimiser.share_done(), self.limits.rounds) {
            (None, Some(rounds)) => rounds as u64,
            _ => FINE as u64,
        };
        progress.begin(Stage::Search, total);
        let ending = loop {
            if let Some(ending) = self.ending() {
                break ending;
            }
            if progress.stop_requested() {
                break Ending::Stopped;
            }
            let record = self.step()?;
            let done = self.optimiser.share_done().map_or(record.iteration as u64, |share| (share * FINE) as u64);
            let (_, doing) = self.optimiser.stage();
            progress.update(Stage::Search, done, Status::Best { value: record.best, doing });
            after(self)?;
        };
        progress.end(Stage::Search);
        Ok(ending)
    }
}

/// How the members of an ensemble become one fitness, as far as the user's caution goes.
pub fn outlook(settings: &SearchSettings) -> Risk {
    match settings.outlook {
        RiskKind::Worst => Risk::Worst,
        RiskKind::Spread => Risk::MeanLessSpread(2.0 * settings.caution),
    }
}
