//! Who scores positions: the seam between what is searched and where it is computed.
//!
//! An optimiser asks for positions, an evaluator scores them. [`Threads`] decodes each into a policy and rolls it out on the
//! threads of this machine. [`OtherMachines`] sends them [`Elsewhere`]: all that goes over is a batch of trials, and values
//! do not depend on who scored what in which order.

use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;

use super::{SearchOptions, outlook};
use crate::optimiser::Scope;
use crate::{PolicySettings, RuleSpace, SearchSettings};
use fpsrl_base::error::{Error, Result};
use fpsrl_base::progress::Progress;
use fpsrl_data::System;
use fpsrl_engine::policy::FuzzyKernel;
use fpsrl_engine::rollout::{Fitness, FitnessFunction, Risk};
use fpsrl_engine::world::World;

/// A position to be scored.
#[derive(Clone, Copy, Debug)]
pub struct Trial<'a> {
    /// The position in the space of rules.
    pub position: &'a [f64],
    /// What it has to exceed; below, its value need not be known.
    pub to_beat: f64,
    /// What it is scored on.
    pub scope: Scope,
}

/// Scores batches of positions.
pub trait Evaluator {
    /// The fitness of each trial, in their order. A value is the same to the last bit whatever is to be beaten; none means
    /// that it does not exceed that. Fails where the positions could not be scored at all; then nothing has changed, and the
    /// same batch may be scored again.
    fn score(&self, trials: &[Trial<'_>]) -> Result<Vec<Fitness>>;

    /// Whether it may ever fail: then a search remembers where it stood before each round.
    fn may_fail(&self) -> bool {
        false
    }
}

impl<E: Evaluator + ?Sized> Evaluator for &E {
    fn score(&self, trials: &[Trial<'_>]) -> Result<Vec<Fitness>> {
        (**self).score(trials)
    }

    fn may_fail(&self) -> bool {
        (**self).may_fail()
    }
}

impl<E: Evaluator + ?Sized> Evaluator for Box<E> {
    fn score(&self, trials: &[Trial<'_>]) -> Result<Vec<Fitness>> {
        (**self).score(trials)
    }

    fn may_fail(&self) -> bool {
        (**self).may_fail()
    }
}

/// Other machines, which score positions of searches on the worlds that they were given.
///
/// What reaches them is the form of the policy and the settings of the search; from these, the worlds and their log, they
/// make the same space and the same fitness as [`Threads`] does here.
pub trait Elsewhere: Send + Sync {
    /// The fitness of each trial, as [`Evaluator::score`] has it, computed as the options say or refused. It looks at
    /// `progress` often enough that a request to stop is heard within a second, and then fails with
    /// [`Error::Stopped`].
    fn score(&self, form: Form<'_>, trials: &[Trial<'_>], progress: &Progress) -> Result<Vec<Fitness>>;
}

/// What positions are positions of, and how they are scored.
#[derive(Clone, Copy, Debug)]
pub struct Form<'a> {
    /// The form of the policy.
    pub policy: &'a PolicySettings,
    /// The settings of the search.
    pub search: &'a SearchSettings,
    /// How the search runs.
    pub options: SearchOptions,
}

/// Scores positions on other machines.
pub struct OtherMachines<'a> {
    /// The machines.
    pub machines: &'a dyn Elsewhere,
    /// What the positions are of.
    pub form: Form<'a>,
    /// Says when to stop.
    pub progress: &'a Progress,
}

impl Evaluator for OtherMachines<'_> {
    fn score(&self, trials: &[Trial<'_>]) -> Result<Vec<Fitness>> {
        let scores = self.machines.score(self.form, trials, self.progress)?;
        // Whoever answers elsewhere is not ours to trust.
        if scores.len() == trials.len() {
            Ok(scores)
        } else {
            Err(Error::Internal("a batch came back with other sizes"))
        }
    }

    fn may_fail(&self) -> bool {
        true
    }
}

/// Scores positions on the threads of this machine.
pub struct Threads<'a> {
    system: &'a System,
    settings: &'a SearchSettings,
    space: &'a RuleSpace,
    worlds: Vec<&'a dyn World>,
    options: SearchOptions,
    /// The fitness functions that were asked for so far.
    functions: Mutex<Vec<(Scope, Arc<FitnessFunction<'a>>)>>,
}

impl<'a> Threads<'a> {
    /// Scores the policies of a space on one world or on the members of an ensemble.
    pub fn new(
        system: &'a System,
        settings: &'a SearchSettings,
        space: &'a RuleSpace,
        worlds: Vec<&'a dyn World>,
        options: SearchOptions,
    ) -> Self {
        Self { system, settings, space, worlds, options, functions: Mutex::new(Vec::new()) }
    }

    /// The fitness function of a scope.
    fn function(&self, scope: Scope) -> Arc<FitnessFunction<'a>> {
        // A function that a panicking thread left behind is as good as any.
        let mut functions = self.functions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, function)) = functions.iter().find(|(known, _)| *known == scope) {
            return Arc::clone(function);
        }
        let function = Arc::new(self.make(scope));
        functions.push((scope, Arc::clone(&function)));
        function
    }

    fn make(&self, scope: Scope) -> FitnessFunction<'a> {
        let (system, settings, numerics) = (self.system, self.settings, self.options.numerics);
        let (horizon, discount) = (system.horizon(), system.discount());
        match scope {
            Scope::Whole => {
                let starts = system.search_starts(0, settings.start_states);
                let worlds = self.worlds.clone();
                let mut function =
                    FitnessFunction::of_several(worlds, outlook(settings), &starts, horizon, discount, numerics);
                let order = self.hardest_first(&function);
                function.set_order(order);
                function
            }
            Scope::Part { first, starts, member, steps } => {
                let horizon = steps.unwrap_or(horizon);
                let starts = system.search_starts(first, starts);
                let (worlds, outlook) = match member {
                    Some(member) => (vec![self.worlds[member % self.worlds.len()]], Risk::MeanLessSpread(0.0)),
                    None => (self.worlds.clone(), outlook(settings)),
                };
                FitnessFunction::of_several(worlds, outlook, &starts, horizon, discount, numerics)
            }
        }
    }

    /// The order of start states, those first from which a few policies earn least: it makes the bound of what a policy
    /// can still earn fall fast, and changes no result.
    fn hardest_first(&self, function: &FitnessFunction<'a>) -> Vec<usize> {
        let count = function.start_count();
        let mut order: Vec<usize> = (0..count).collect();
        if count <= FitnessFunction::TOGETHER {
            // All of them advance together anyway.
            return order;
        }
        let shares = [0.25, 0.5, 0.75];
        let mut totals = vec![0.0; count];
        let mut workspace = function.workspace();
        for share in shares {
            let bounds = self.space.low().iter().zip(self.space.high());
            let position: Vec<f64> = bounds.map(|(low, high)| low + share * (high - low)).collect();
            let kernel = FuzzyKernel::new(&self.space.decode(&position));
            for (total, value) in totals.iter_mut().zip(function.returns(&kernel, &mut workspace)) {
                *total += value;
            }
        }
        order.sort_by(|&a, &b| totals[a].total_cmp(&totals[b]));
        order
    }
}

impl Evaluator for Threads<'_> {
    fn score(&self, trials: &[Trial<'_>]) -> Result<Vec<Fitness>> {
        let functions: Vec<Arc<FitnessFunction<'_>>> = trials.iter().map(|trial| self.function(trial.scope)).collect();
        let scores = (0..trials.len())
            .into_par_iter()
            // One position at a time: pruning makes their costs too unequal for larger portions.
            .with_max_len(1)
            .map_init(
                || (self.space.blank(), FuzzyKernel::default(), None),
                |(policy, kernel, room), index| {
                    let (trial, function) = (&trials[index], &functions[index]);
                    self.space.decode_into(trial.position, policy);
                    kernel.load(policy);
                    let to_beat = if self.options.prune { trial.to_beat } else { f64::NEG_INFINITY };
                    let room = match room {
                        Some((scope, workspace)) if *scope == trial.scope => workspace,
                        _ => &mut room.insert((trial.scope, function.workspace())).1,
                    };
                    function.fitness(kernel, to_beat, room)
                },
            )
            .collect();
        Ok(scores)
    }
}
