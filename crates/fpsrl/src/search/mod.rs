//! FPSRL itself: a swarm over rule parameters, scored by rollouts on a world.
//!
//! Section 5 of the paper. The swarm is asked for positions, each becomes a policy, all policies are scored in
//! parallel, the swarm is told. Nothing here depends on which thread scored what.

mod evaluate;
mod promise;

pub use evaluate::{true_returns, world_returns};
pub use promise::{Promise, choose, share_outside};

use crate::error::Result;
use crate::policy::{FuzzyKernel, FuzzyPolicy, RuleSpace};
use crate::problem::{OutlookKind, Problem};
use crate::progress::{Progress, Stage};
use crate::rollout::{Fitness, FitnessFunction, Outlook, StartStates, Workspace};
use crate::simd::Numerics;
use crate::swarm::{Optimiser, RingSettings, RingState, RingSwarm};
use crate::world::World;
use rayon::prelude::*;
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
    pub fn of(problem: &Problem, prune: bool) -> Self {
        let numerics = Numerics::detect(problem.search.numerics);
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

/// A search under way.
///
/// [`Search::step`] makes one iteration; [`Search::run`] makes them all.
pub struct Search<'a> {
    problem: &'a Problem,
    space: &'a RuleSpace,
    fitness: FitnessFunction<'a>,
    options: SearchOptions,
    swarm: RingSwarm,
    history: Vec<SearchRecord>,
    /// The last iteration that improved the best fitness.
    improved: usize,
    /// Seconds that were spent before this process took the search up.
    earlier_seconds: f64,
    began: Instant,
}

/// All that a search must remember, besides its record, to go on elsewhere as if it had never stopped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SearchState {
    /// The swarm.
    pub swarm: RingState,
    /// The order in which start states are rolled out.
    pub order: Vec<usize>,
    /// The last iteration that improved the best fitness.
    pub improved: usize,
}

impl SearchState {
    /// What is wrong with a state that was read from a file for this problem, if anything is.
    pub fn fault(&self, problem: &Problem) -> Option<String> {
        let (particles, parameters) = (problem.search.particles, RuleSpace::parameter_count(problem));
        let swarm = &self.swarm;
        let whole = |rows: &[Vec<f64>]| {
            rows.len() == particles
                && rows.iter().all(|row| row.len() == parameters && row.iter().all(|number| number.is_finite()))
        };
        let mut order = self.order.clone();
        order.sort_unstable();
        if !(whole(&swarm.positions) && whole(&swarm.velocities) && whole(&swarm.best_positions)) {
            Some(format!("it does not hold {particles} particles of {parameters} numbers each"))
        } else if swarm.best_fitness.len() != particles || swarm.best_fitness.iter().any(|value| value.is_nan()) {
            Some(format!("it does not hold the best fitness of {particles} particles"))
        } else if !order.into_iter().eq(0..problem.search.start_states) {
            Some("its order of start states does not name each of them once".into())
        } else if self.improved >= swarm.told as usize {
            Some("it improved later than it is old".into())
        } else {
            None
        }
    }
}

impl<'a> Search<'a> {
    /// A search at its beginning, on one world.
    pub fn new(problem: &'a Problem, space: &'a RuleSpace, world: &'a dyn World, options: SearchOptions) -> Self {
        Self::in_worlds(problem, space, vec![world], options)
    }

    /// A search at its beginning, on the members of an ensemble.
    pub fn in_worlds(
        problem: &'a Problem,
        space: &'a RuleSpace,
        worlds: Vec<&'a dyn World>,
        options: SearchOptions,
    ) -> Self {
        let swarm = RingSwarm::new(ring_settings(problem), space.low(), space.high(), problem.seed);
        Self::with_swarm(problem, space, worlds, options, swarm)
    }

    /// Puts a particle of a search that has not begun at a position of the space.
    pub fn begin_at(&mut self, position: Vec<f64>) {
        let mut state = self.swarm.state().clone();
        state.best_positions[0].clone_from(&position);
        state.positions[0] = position;
        let (settings, space) = (ring_settings(self.problem), self.space);
        self.swarm = RingSwarm::restore(settings, space.low(), space.high(), self.problem.seed, state);
    }

    /// A search that goes on from a saved state and what had been recorded until then.
    pub fn restore(
        problem: &'a Problem,
        space: &'a RuleSpace,
        worlds: Vec<&'a dyn World>,
        options: SearchOptions,
        state: SearchState,
        history: Vec<SearchRecord>,
    ) -> Self {
        let swarm = RingSwarm::restore(ring_settings(problem), space.low(), space.high(), problem.seed, state.swarm);
        let mut search = Self::with_swarm(problem, space, worlds, options, swarm);
        search.fitness.set_order(state.order);
        search.improved = state.improved;
        search.earlier_seconds = history.last().map_or(0.0, |record| record.seconds);
        search.history = history;
        search
    }

    fn with_swarm(
        problem: &'a Problem,
        space: &'a RuleSpace,
        worlds: Vec<&'a dyn World>,
        options: SearchOptions,
        swarm: RingSwarm,
    ) -> Self {
        let starts = StartStates::for_search(problem);
        let (horizon, discount) = (problem.horizon, problem.discount());
        let fitness =
            FitnessFunction::of_several(worlds, outlook(problem), &starts, horizon, discount, options.numerics);
        Self {
            problem,
            space,
            fitness,
            options,
            swarm,
            history: Vec::new(),
            improved: 0,
            earlier_seconds: 0.0,
            began: Instant::now(),
        }
    }

    /// What a checkpoint holds.
    pub fn state(&self) -> SearchState {
        SearchState { swarm: self.swarm.state().clone(), order: self.fitness.order().to_vec(), improved: self.improved }
    }

    /// What has been recorded so far, a row an iteration.
    pub fn history(&self) -> &[SearchRecord] {
        &self.history
    }

    /// The best policy so far and its mean return on the world.
    pub fn best(&self) -> (FuzzyPolicy, f64) {
        let (position, fitness) = self.swarm.best();
        (self.space.decode(position), fitness)
    }

    /// The best policies of the particles, the very best first, each unlike those before it: what can be asked next if
    /// the best one does not keep its promise.
    pub fn candidates(&self, most: usize) -> Vec<FuzzyPolicy> {
        let state = self.swarm.state();
        let mut order: Vec<usize> = (0..state.best_fitness.len()).collect();
        order.sort_by(|&a, &b| state.best_fitness[b].total_cmp(&state.best_fitness[a]));
        let ranges: Vec<f64> = self.space.low().iter().zip(self.space.high()).map(|(low, high)| high - low).collect();
        let unlike = |a: &[f64], b: &[f64]| {
            a.iter().zip(b).zip(&ranges).any(|((a, b), range)| (a - b).abs() > DIFFERENT * range)
        };
        let (first, _) = self.swarm.best();
        let mut chosen: Vec<&[f64]> = vec![first];
        for particle in order {
            let position = &state.best_positions[particle];
            if chosen.len() < most && chosen.iter().all(|other| unlike(position, other)) {
                chosen.push(position);
            }
        }
        chosen.into_iter().map(|position| self.space.decode(position)).collect()
    }

    /// Why the search is over, if it is.
    pub fn ending(&self) -> Option<Ending> {
        let last = self.history.last()?.iteration;
        if last >= self.problem.search.iterations {
            Some(Ending::Finished)
        } else if self.problem.search.patience.is_some_and(|patience| last - self.improved >= patience) {
            Some(Ending::Stalled)
        } else {
            None
        }
    }

    /// Makes one iteration.
    pub fn step(&mut self) -> SearchRecord {
        let first = self.history.is_empty();
        let before = self.swarm.best().1;
        self.swarm.ask();
        let scores = if first { self.score_first() } else { self.score() };
        let told: Vec<f64> = scores.iter().map(|score| score.value.unwrap_or(f64::NEG_INFINITY)).collect();
        self.swarm.tell(&told);
        let steps: u64 = scores.iter().map(|score| score.model_steps).sum();
        let iteration = self.history.last().map_or(0, |record| record.iteration + 1);
        let best = self.swarm.best().1;
        if best > before {
            self.improved = iteration;
        }
        let bests = self.swarm.to_beat();
        let record = SearchRecord {
            iteration,
            best,
            mean: bests.iter().sum::<f64>() / bests.len() as f64,
            model_steps: self.history.last().map_or(0, |record| record.model_steps) + steps,
            seconds: self.earlier_seconds + self.began.elapsed().as_secs_f64(),
        };
        self.history.push(record);
        record
    }

    /// Makes iterations until the search ends; `after` sees the search after each of them.
    pub fn run(&mut self, progress: &dyn Progress, mut after: impl FnMut(&Search<'a>) -> Result<()>) -> Result<Ending> {
        progress.begin(Stage::Search, self.problem.search.iterations as u64);
        let ending = loop {
            if let Some(ending) = self.ending() {
                break ending;
            }
            if progress.stop_requested() {
                break Ending::Stopped;
            }
            let record = self.step();
            progress.update(Stage::Search, record.iteration as u64, &format_args!("best {:.3}", record.best));
            after(self)?;
        };
        progress.end(Stage::Search);
        Ok(ending)
    }

    /// Scores the swarm's positions, particles in parallel.
    fn score(&self) -> Vec<Fitness> {
        self.for_each_particle(|fitness, kernel, to_beat, workspace| fitness.fitness(kernel, to_beat, workspace))
    }

    /// Scores the first positions in full, and learns from them which start states are hard.
    fn score_first(&mut self) -> Vec<Fitness> {
        let scored = self.for_each_particle(|fitness, kernel, to_beat, workspace| {
            let score = fitness.fitness(kernel, to_beat, workspace);
            (score, workspace.returns().to_vec())
        });
        let count = self.fitness.start_count();
        let mut totals = vec![0.0; count];
        for (_, returns) in &scored {
            for (total, value) in totals.iter_mut().zip(returns) {
                *total += value;
            }
        }
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by(|&a, &b| totals[a].total_cmp(&totals[b]));
        self.fitness.set_order(order);
        scored.into_iter().map(|(score, _)| score).collect()
    }

    fn for_each_particle<T: Send>(
        &self,
        score: impl Fn(&FitnessFunction<'a>, &FuzzyKernel, f64, &mut Workspace) -> T + Sync,
    ) -> Vec<T> {
        let positions = &self.swarm.state().positions;
        let to_beat = self.swarm.to_beat();
        (0..positions.len())
            .into_par_iter()
            // One particle at a time: pruning makes their costs too unequal for larger portions.
            .with_max_len(1)
            .map_init(
                || (self.space.blank(), FuzzyKernel::default(), self.fitness.workspace()),
                |(policy, kernel, workspace), particle| {
                    self.space.decode_into(&positions[particle], policy);
                    kernel.load(policy);
                    let to_beat = if self.options.prune { to_beat[particle] } else { f64::NEG_INFINITY };
                    score(&self.fitness, kernel, to_beat, workspace)
                },
            )
            .collect()
    }
}

/// How the members of an ensemble become one fitness, as far as the user's caution goes.
pub fn outlook(problem: &Problem) -> Outlook {
    match problem.search.outlook {
        OutlookKind::Worst => Outlook::Worst,
        OutlookKind::Spread => Outlook::MeanLessSpread(2.0 * problem.search.caution),
    }
}

fn ring_settings(problem: &Problem) -> RingSettings {
    RingSettings {
        particles: problem.search.particles,
        ring: problem.search.ring,
        inertia: problem.search.inertia,
        cognitive: problem.search.cognitive,
        social: problem.search.social,
        velocity_limit: problem.search.velocity_limit,
    }
}
