//! Worlds that are given instead of learned: a process, or a function of the program that uses this library.

use std::fmt;
use std::sync::Arc;

use fpsrl_base::error::Result;
use fpsrl_engine::world::World;

/// What stands in place of a process's command where the world is a function of the calling program.
pub const FUNCTION: &str = "<function>";

/// A world that is given instead of learned. It knows the problem's current states; what a problem remembers is put
/// around it.
///
/// A rollout cannot fail in the middle. A simulator that does ends all lanes at once, and [`check`](Simulator::check) says
/// what happened.
pub trait Simulator: World {
    /// Whether all steps so far were answered: ask it before a result is used.
    fn check(&self) -> Result<()>;
}

/// A simulator of the calling program, as settings carry it. Two are the same if they are one.
#[derive(Clone)]
pub struct OwnSimulator(Arc<dyn Simulator>);

impl OwnSimulator {
    /// Makes a simulator something that settings can carry.
    pub fn new(simulator: Arc<dyn Simulator>) -> Self {
        Self(simulator)
    }

    /// The simulator.
    pub fn simulator(&self) -> Arc<dyn Simulator> {
        Arc::clone(&self.0)
    }
}

impl fmt::Debug for OwnSimulator {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("OwnSimulator(..)")
    }
}

impl PartialEq for OwnSimulator {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
