//! True dynamics of the benchmarks: the mountain car, the cart-pole, and their rules (section 5 of the paper).
//!
//! The equations are written once, for two kinds of number. [`PlantKind::step`] computes in `f64` and is the truth:
//! it makes logs and judges policies. [`PlantWorld`] computes on f32 lanes: a policy can be searched on it when the
//! plant is known.
//!
//! All plants are integrated with ten substeps of Runge and Kutta's in each control step; goals and failures are
//! looked at once, at its end.

mod cart_pole;
mod integrator;
mod mountain_car;
mod number;
mod world;

pub use world::PlantWorld;

use cart_pole::{CartPoleBalancing, CartPoleSwingUp};
use fpsrl_base::error::{Error, Result};
use mountain_car::{MountainCar, TextbookMountainCar};
use number::Number;

/// A built-in plant.
///
/// ```
/// use fpsrl_data::plant::PlantKind;
/// let plant = PlantKind::from_name("mountain-car")?;
/// let mut state = [-0.5, 0.0];
/// let step = plant.step(&mut state, &[1.0]);
/// assert!(state[1] > 0.0 && step.reward == -1.0 && !step.absorbed);
/// # Ok::<(), fpsrl_base::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlantKind {
    /// The hill of the paper's simulator: state (ρ, ρ̇), force about ±1 N.
    MountainCar,
    /// Sutton and Barto's mountain car: state (ρ, ρ̇), action about ±1.
    TextbookMountainCar,
    /// The cart-pole that must not fall: state (θ, θ̇, ρ, ρ̇), force about ±10 N.
    CartPoleBalancing,
    /// The cart-pole that hangs and must be swung up: state (θ, θ̇, ρ, ρ̇), force about ±30 N.
    CartPoleSwingUp,
}

/// What one control step of a plant brought, besides the next state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The reward of the step.
    pub reward: f64,
    /// Whether the plant now stays where it is, with this reward, whatever is done.
    pub absorbed: bool,
}

/// What one control step of a plant brought, in numbers of any kind.
pub(crate) struct Outcome<N: Number, const VARIABLES: usize> {
    pub(crate) next: [N; VARIABLES],
    pub(crate) reward: N,
    pub(crate) absorbed: N::Truth,
}

/// A benchmark's dynamics and its rules.
pub(crate) trait Plant<const VARIABLES: usize> {
    /// One control step under a force that does not change within it.
    fn step<N: Number>(state: [N; VARIABLES], force: N) -> Outcome<N, VARIABLES>;
}

impl PlantKind {
    /// Every plant.
    pub fn all() -> [Self; 4] {
        [Self::MountainCar, Self::TextbookMountainCar, Self::CartPoleBalancing, Self::CartPoleSwingUp]
    }

    /// The plant's name, as in problem files.
    pub fn name(self) -> &'static str {
        match self {
            Self::MountainCar => "mountain-car",
            Self::TextbookMountainCar => "mountain-car-textbook",
            Self::CartPoleBalancing => "cart-pole-balancing",
            Self::CartPoleSwingUp => "cart-pole-swing-up",
        }
    }

    /// The plant of a name.
    pub fn from_name(name: &str) -> Result<Self> {
        Self::all().into_iter().find(|plant| plant.name() == name).ok_or_else(|| Error::UnknownName {
            kind: "plant",
            name: name.to_owned(),
            known: Self::all().map(|plant| plant.name().to_owned()).to_vec(),
        })
    }

    /// Number of state variables.
    pub fn state_count(self) -> usize {
        match self {
            Self::MountainCar | Self::TextbookMountainCar => 2,
            Self::CartPoleBalancing | Self::CartPoleSwingUp => 4,
        }
    }

    /// Number of actions.
    pub fn action_count(self) -> usize {
        1
    }

    /// No reward is larger than this.
    pub fn largest_reward(self) -> f64 {
        0.0
    }

    /// One control step: moves `state` under `action`.
    ///
    /// The action is applied as it is; its limits belong to the problem. What is not a number stays so.
    ///
    /// # Panics
    /// If `state` or `action` does not have as many numbers as the plant has variables.
    pub fn step(self, state: &mut [f64], action: &[f64]) -> Step {
        assert_eq!(action.len(), self.action_count(), "actions of {}", self.name());
        assert_eq!(state.len(), self.state_count(), "state variables of {}", self.name());
        match self {
            Self::MountainCar => step::<MountainCar, 2>(state, action[0]),
            Self::TextbookMountainCar => step::<TextbookMountainCar, 2>(state, action[0]),
            Self::CartPoleBalancing => step::<CartPoleBalancing, 4>(state, action[0]),
            Self::CartPoleSwingUp => step::<CartPoleSwingUp, 4>(state, action[0]),
        }
    }
}

fn step<P: Plant<VARIABLES>, const VARIABLES: usize>(state: &mut [f64], force: f64) -> Step {
    let mut before = [0.0; VARIABLES];
    before.copy_from_slice(state);
    let Outcome { next, reward, absorbed } = P::step(before, force);
    state.copy_from_slice(&next);
    Step { reward, absorbed }
}

#[cfg(test)]
mod tests;
