//! The list of what can search, by name. A new optimiser needs its own file, an entry here, and a line in the documentation.

use super::race::{Race, RaceFigures, RaceState};
use super::{Limits, RuleSpace};
use crate::optimiser::{
    CmaEs, CmaSettings, CmaState, Optimiser, RingSettings, RingState, RingSwarm, Shade, ShadeSettings, ShadeState,
};
use crate::{OptimiserKind, PolicySettings, SearchSettings};
use fpsrl_data::System;
use fpsrl_data::Transitions;

/// An optimiser that can be set up for a problem.
pub trait Method: Optimiser + Sized {
    /// At its beginning, in an ensemble of so many members.
    fn begin(system: &System, settings: &SearchSettings, space: &RuleSpace, members: usize) -> Self;

    /// Gives one that has not been asked yet a position to begin with.
    fn begin_at(&mut self, position: &[f64]);

    /// As it was when its state was saved; none if the state cannot be one of this problem.
    fn restore(
        system: &System,
        settings: &SearchSettings,
        space: &RuleSpace,
        members: usize,
        state: Self::State,
    ) -> Option<Self>;

    /// How a race went; none of what is no race.
    fn race_figures(&self) -> Option<RaceFigures> {
        None
    }

    /// When its search ends, besides by its own word.
    fn limits(settings: &SearchSettings) -> Limits {
        let _ = settings;
        Limits::default()
    }
}

/// The space that a problem's optimiser searches: the swarm of the paper on linear scales, all others with centres as slopes
/// and widths and α on logarithmic scales.
pub fn space(
    system: &System,
    policy: &PolicySettings,
    settings: &SearchSettings,
    transitions: &Transitions,
) -> RuleSpace {
    let space = RuleSpace::new(system, policy, transitions);
    let space = match settings.optimiser {
        OptimiserKind::Swarm => space,
        OptimiserKind::Auto | OptimiserKind::Shade | OptimiserKind::CmaEs => space.on_slopes(),
    };
    let space = if policy.shared_widths { space.with_shared_widths() } else { space };
    space.seen(system)
}

/// Evaluations that a problem's search makes, roughly, where it says how many; a race is not asked.
pub(super) fn most_evaluations(settings: &SearchSettings) -> usize {
    match settings.optimiser {
        OptimiserKind::Auto => usize::MAX,
        _ => evaluations(settings),
    }
}

/// Evaluations that a problem's particles would make in its iterations.
fn evaluations(settings: &SearchSettings) -> usize {
    settings.particles * (settings.iterations + 1)
}

impl Method for RingSwarm {
    fn begin(system: &System, settings: &SearchSettings, space: &RuleSpace, _: usize) -> Self {
        Self::new(ring_settings(settings), space.low(), space.high(), system.seed())
    }

    fn begin_at(&mut self, position: &[f64]) {
        Self::begin_at(self, position);
    }

    fn restore(
        system: &System,
        settings: &SearchSettings,
        space: &RuleSpace,
        _: usize,
        state: RingState,
    ) -> Option<Self> {
        let settings = ring_settings(settings);
        let fits = state.fits(&settings, space.low().len());
        fits.then(|| Self::restore(settings, space.low(), space.high(), system.seed(), state))
    }

    fn limits(settings: &SearchSettings) -> Limits {
        Limits { rounds: Some(settings.iterations), patience: settings.patience }
    }
}

fn ring_settings(settings: &SearchSettings) -> RingSettings {
    RingSettings {
        particles: settings.particles,
        ring: settings.ring,
        inertia: settings.inertia,
        cognitive: settings.cognitive,
        social: settings.social,
        velocity_limit: settings.velocity_limit,
    }
}

impl Method for Shade {
    fn begin(system: &System, settings: &SearchSettings, space: &RuleSpace, _: usize) -> Self {
        Self::new(shade_settings(settings), space.low(), space.high(), system.seed())
    }

    fn begin_at(&mut self, position: &[f64]) {
        Self::begin_at(self, position);
    }

    fn restore(
        system: &System,
        settings: &SearchSettings,
        space: &RuleSpace,
        _: usize,
        state: ShadeState,
    ) -> Option<Self> {
        let settings = shade_settings(settings);
        let fits = state.fits(&settings, space.low().len());
        fits.then(|| Self::restore(settings, space.low(), space.high(), system.seed(), state))
    }
}

fn shade_settings(settings: &SearchSettings) -> ShadeSettings {
    let population = settings.particles.max(4);
    ShadeSettings { population, fewest: (population / 5).max(4), evaluations: evaluations(settings), patience: None }
}

impl Method for CmaEs {
    fn begin(system: &System, settings: &SearchSettings, space: &RuleSpace, _: usize) -> Self {
        Self::new(cma_settings(settings), space.low(), space.high(), system.seed())
    }

    fn begin_at(&mut self, position: &[f64]) {
        Self::begin_at(self, position);
    }

    fn restore(
        system: &System,
        settings: &SearchSettings,
        space: &RuleSpace,
        _: usize,
        state: CmaState,
    ) -> Option<Self> {
        let settings = cma_settings(settings);
        let fits = state.fits(&settings, space.low().len());
        fits.then(|| Self::restore(settings, space.low(), space.high(), system.seed(), state))
    }
}

fn cma_settings(settings: &SearchSettings) -> CmaSettings {
    CmaSettings { population: 0, first_step: 0.3, tolerance: 1e-9, restarts: true, evaluations: evaluations(settings) }
}

impl Method for Race {
    fn begin(system: &System, settings: &SearchSettings, space: &RuleSpace, members: usize) -> Self {
        Self::new(system, settings, space, members)
    }

    fn begin_at(&mut self, position: &[f64]) {
        Self::begin_at(self, position);
    }

    fn restore(
        system: &System,
        settings: &SearchSettings,
        space: &RuleSpace,
        members: usize,
        state: RaceState,
    ) -> Option<Self> {
        Self::restore(system, settings, space, members, state)
    }

    fn race_figures(&self) -> Option<RaceFigures> {
        Some(self.figures())
    }
}
