//! The list of what can search, by name. A new optimiser needs its own file, an entry here, and a line in the documentation.

use super::race::{Race, RaceFigures, RaceState};
use super::{Limits, RuleSpace};
use crate::data::Transitions;
use crate::optimiser::{
    CmaEs, CmaSettings, CmaState, Optimiser, RingSettings, RingState, RingSwarm, Shade, ShadeSettings, ShadeState,
};
use crate::problem::{OptimiserKind, Problem};

/// An optimiser that can be set up for a problem.
pub trait Method: Optimiser + Sized {
    /// At its beginning, in an ensemble of so many members.
    fn begin(problem: &Problem, space: &RuleSpace, members: usize) -> Self;

    /// Gives one that has not been asked yet a position to begin with.
    fn begin_at(&mut self, position: &[f64]);

    /// As it was when its state was saved; none if the state cannot be one of this problem.
    fn restore(problem: &Problem, space: &RuleSpace, members: usize, state: Self::State) -> Option<Self>;

    /// How a race went; none of what is no race.
    fn race_figures(&self) -> Option<RaceFigures> {
        None
    }

    /// When its search ends, besides by its own word.
    fn limits(problem: &Problem) -> Limits {
        let _ = problem;
        Limits::default()
    }
}

/// The space that a problem's optimiser searches: the swarm of the paper on linear scales, all others with centres as slopes
/// and widths and α on logarithmic scales.
pub fn space(problem: &Problem, transitions: &Transitions) -> RuleSpace {
    let space = RuleSpace::new(problem, transitions);
    match problem.search.optimiser {
        OptimiserKind::Swarm => space,
        OptimiserKind::Auto | OptimiserKind::Shade | OptimiserKind::CmaEs => space.on_slopes(),
    }
}

/// Evaluations that a problem's search makes, roughly, where it says how many; a race is not asked.
pub(super) fn most_evaluations(problem: &Problem) -> usize {
    match problem.search.optimiser {
        OptimiserKind::Auto => usize::MAX,
        _ => evaluations(problem),
    }
}

/// Evaluations that a problem's particles would make in its iterations.
fn evaluations(problem: &Problem) -> usize {
    problem.search.particles * (problem.search.iterations + 1)
}

impl Method for RingSwarm {
    fn begin(problem: &Problem, space: &RuleSpace, _: usize) -> Self {
        Self::new(ring_settings(problem), space.low(), space.high(), problem.seed)
    }

    fn begin_at(&mut self, position: &[f64]) {
        Self::begin_at(self, position);
    }

    fn restore(problem: &Problem, space: &RuleSpace, _: usize, state: RingState) -> Option<Self> {
        let settings = ring_settings(problem);
        let fits = state.fits(&settings, space.low().len());
        fits.then(|| Self::restore(settings, space.low(), space.high(), problem.seed, state))
    }

    fn limits(problem: &Problem) -> Limits {
        Limits { rounds: Some(problem.search.iterations), patience: problem.search.patience }
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

impl Method for Shade {
    fn begin(problem: &Problem, space: &RuleSpace, _: usize) -> Self {
        Self::new(shade_settings(problem), space.low(), space.high(), problem.seed)
    }

    fn begin_at(&mut self, position: &[f64]) {
        Self::begin_at(self, position);
    }

    fn restore(problem: &Problem, space: &RuleSpace, _: usize, state: ShadeState) -> Option<Self> {
        let settings = shade_settings(problem);
        let fits = state.fits(&settings, space.low().len());
        fits.then(|| Self::restore(settings, space.low(), space.high(), problem.seed, state))
    }
}

fn shade_settings(problem: &Problem) -> ShadeSettings {
    let population = problem.search.particles.max(4);
    ShadeSettings { population, fewest: (population / 5).max(4), evaluations: evaluations(problem), patience: None }
}

impl Method for CmaEs {
    fn begin(problem: &Problem, space: &RuleSpace, _: usize) -> Self {
        Self::new(cma_settings(problem), space.low(), space.high(), problem.seed)
    }

    fn begin_at(&mut self, position: &[f64]) {
        Self::begin_at(self, position);
    }

    fn restore(problem: &Problem, space: &RuleSpace, _: usize, state: CmaState) -> Option<Self> {
        let settings = cma_settings(problem);
        let fits = state.fits(&settings, space.low().len());
        fits.then(|| Self::restore(settings, space.low(), space.high(), problem.seed, state))
    }
}

fn cma_settings(problem: &Problem) -> CmaSettings {
    CmaSettings { population: 0, first_step: 0.3, tolerance: 1e-9, restarts: true, evaluations: evaluations(problem) }
}

impl Method for Race {
    fn begin(problem: &Problem, space: &RuleSpace, members: usize) -> Self {
        Self::new(problem, space, members)
    }

    fn begin_at(&mut self, position: &[f64]) {
        Self::begin_at(self, position);
    }

    fn restore(problem: &Problem, space: &RuleSpace, members: usize, state: RaceState) -> Option<Self> {
        Self::restore(problem, space, members, state)
    }

    fn race_figures(&self) -> Option<RaceFigures> {
        Some(self.figures())
    }
}
