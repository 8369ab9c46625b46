//! Optimisers that never evaluate: they are asked for positions and told the fitness of each.
//!
//! Whoever evaluates owns the threads. Fitness is maximised; what is not a finite number counts as -∞. Every optimiser draws its
//! randomness by counting, so that its state is all that has to be saved: restored from it, an optimiser goes on with the
//! same bits.
//!
//! | name     | what it is                                                | good at                                  |
//! |----------|-----------------------------------------------------------|------------------------------------------|
//! | `swarm`  | the ring swarm of the paper ([`RingSwarm`])               | the paper's tables                       |
//! | `shade`  | differential evolution that learns its settings ([`Shade`]) | finding basins                         |
//! | `cma-es` | evolution of a covariance matrix ([`CmaEs`])              | going down narrow, curved valleys        |

mod cma_es;
mod ring;
mod shade;

pub use cma_es::{CmaEs, CmaSettings, CmaState};
pub use ring::{RingSettings, RingState, RingSwarm};
pub use shade::{Shade, ShadeSettings, ShadeState};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// How much of the fitness a position is to be scored on. A search that looks at many positions looks closely at few.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Scope {
    /// All of it.
    #[default]
    Whole,
    /// The mean return from some start states.
    Part {
        /// The first of the start states, counted in their endless sequence.
        first: usize,
        /// How many there are.
        starts: usize,
        /// The member of the ensemble that they are rolled out in; none deals them out to all members.
        member: Option<usize>,
        /// Steps of each rollout; none goes to the horizon.
        steps: Option<usize>,
    },
}

/// An optimiser in the ask/tell form.
pub trait Optimiser {
    /// All that moves: what a checkpoint holds.
    type State: Clone + Serialize + DeserializeOwned;

    /// The positions to evaluate next. Asked again before it was told, it gives the same ones.
    fn ask(&mut self) -> &[Vec<f64>];

    /// The fitness that each of these positions must exceed to change anything; -∞ for "any".
    fn to_beat(&self) -> &[f64];

    /// The fitness of each position that was asked for. A position that is known not to exceed
    /// [`Optimiser::to_beat`] may be told as -∞ instead: the optimiser goes on exactly as if it had been told all.
    fn tell(&mut self, fitness: &[f64]);

    /// What each of the positions is to be scored on.
    fn scope(&self, position: usize) -> Scope {
        let _ = position;
        Scope::Whole
    }

    /// The best position so far and its fitness.
    fn best(&self) -> (&[f64], f64);

    /// The positions that it would go on from, with their fitness, in no order.
    fn candidates(&self) -> Vec<(&[f64], f64)>;

    /// Whether going on would change nothing any more.
    fn is_finished(&self) -> bool {
        false
    }

    /// How far it has come, from 0 to 1, if it can tell.
    fn share_done(&self) -> Option<f64> {
        None
    }

    /// The number of its present stage, and what it does in it; 0 and nothing if it has no stages.
    fn stage(&self) -> (u32, String) {
        (0, String::new())
    }

    /// What a checkpoint holds.
    fn state(&self) -> &Self::State;
}

/// What is not a finite number is worse than every number.
fn ranked(fitness: f64) -> f64 {
    if fitness.is_finite() { fitness } else { f64::NEG_INFINITY }
}

/// Whether rows of a state that was read from a file have the right shape and hold finite numbers.
fn are_whole(rows: &[Vec<f64>], count: usize, dimensions: usize) -> bool {
    rows.len() == count && rows.iter().all(|row| row.len() == dimensions && row.iter().all(|number| number.is_finite()))
}
