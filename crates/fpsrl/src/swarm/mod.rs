//! Optimisers that never evaluate: they are asked for positions and told the fitness of each.
//!
//! Whoever evaluates owns the threads. Fitness is maximised.

mod ring;

pub use ring::{RingSettings, RingState, RingSwarm};

/// An optimiser in the ask/tell form.
pub trait Optimiser {
    /// The positions to evaluate next, one for each particle.
    fn ask(&mut self) -> &[Vec<f64>];

    /// The fitness that each particle's next position must exceed to change anything; -∞ for "any".
    fn to_beat(&self) -> &[f64];

    /// The fitness of each position that was asked for. A position that is known not to exceed
    /// [`Optimiser::to_beat`] may be told as -∞ instead: the optimiser goes on exactly as if it had been told all.
    fn tell(&mut self, fitness: &[f64]);

    /// The best position so far and its fitness.
    fn best(&self) -> (&[f64], f64);
}
