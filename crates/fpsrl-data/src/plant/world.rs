//! A plant as a [`World`]: the same equations on lanes of f32.

use fearless_simd::Simd;

use super::cart_pole::{CartPoleBalancing, CartPoleSwingUp};
use super::mountain_car::{MountainCar, TextbookMountainCar};
use super::number::{Group, Number};
use super::{Plant, PlantKind};
use fpsrl_engine::rollout::{Columns, Lanes};
use fpsrl_engine::simd::{Arithmetic, Numerics, dispatch_numerics};
use fpsrl_engine::world::World;

/// A plant for rollouts.
///
/// ```
/// use fpsrl_data::plant::{PlantKind, PlantWorld};
/// use fpsrl_engine::rollout::Lanes;
/// use fpsrl_engine::simd::{Mode, Numerics};
/// use fpsrl_engine::world::World;
///
/// let world = PlantWorld::new(PlantKind::CartPoleBalancing);
/// let mut lanes = Lanes::new(world.state_count(), world.action_count(), 2);
/// lanes.set_live(2);
/// lanes.state_mut(0)[1] = 0.69; // The second pole leans, and is pushed the wrong way.
/// lanes.action_mut(0)[1] = -10.0;
/// for _ in 0..10 {
///     world.advance(&mut lanes, Numerics::detect(Mode::Fast));
/// }
/// assert_eq!(lanes.rewards(), [0.0, -1.0]);
/// assert_eq!(lanes.absorbed(), [0.0, 1.0]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlantWorld {
    kind: PlantKind,
}

impl PlantWorld {
    /// The world of a plant.
    pub fn new(kind: PlantKind) -> Self {
        Self { kind }
    }

    /// The plant.
    pub fn kind(&self) -> PlantKind {
        self.kind
    }
}

impl World for PlantWorld {
    fn state_count(&self) -> usize {
        self.kind.state_count()
    }

    fn action_count(&self) -> usize {
        self.kind.action_count()
    }

    fn advance(&self, lanes: &mut Lanes, numerics: Numerics) {
        let columns = lanes.columns();
        // The plant is chosen outside of the kernel, so that each kernel holds the equations of one plant.
        match self.kind {
            PlantKind::MountainCar => {
                dispatch_numerics!(numerics, simd, A => advance::<MountainCar, 2, _, A>(simd, columns));
            }
            PlantKind::TextbookMountainCar => {
                dispatch_numerics!(numerics, simd, A => advance::<TextbookMountainCar, 2, _, A>(simd, columns));
            }
            PlantKind::CartPoleBalancing => {
                dispatch_numerics!(numerics, simd, A => advance::<CartPoleBalancing, 4, _, A>(simd, columns));
            }
            PlantKind::CartPoleSwingUp => {
                dispatch_numerics!(numerics, simd, A => advance::<CartPoleSwingUp, 4, _, A>(simd, columns));
            }
        }
    }

    fn largest_reward(&self) -> f64 {
        self.kind.largest_reward()
    }
}

#[inline(always)]
fn advance<P: Plant<VARIABLES>, const VARIABLES: usize, S: Simd, A: Arithmetic>(simd: S, columns: Columns<'_>) {
    let Columns { live, stride, states, actions, rewards, absorbed, later_rewards, .. } = columns;
    let count = Group::<S, A>::LANES;
    // The padding makes every column a whole number of groups.
    for start in (0..live).step_by(count) {
        let force = Group::<S, A>::load(simd, &actions[start..][..count]);
        let mut state = [force; VARIABLES];
        for variable in 0..VARIABLES {
            state[variable] = Group::load(simd, &states[variable * stride + start..][..count]);
        }
        let outcome = P::step(state, force);
        for variable in 0..VARIABLES {
            outcome.next[variable].store(&mut states[variable * stride + start..][..count]);
        }
        outcome.reward.store(&mut rewards[start..][..count]);
        outcome.reward.store(&mut later_rewards[start..][..count]);
        Group::select(outcome.absorbed, force.constant(1.0), force.constant(0.0))
            .store(&mut absorbed[start..][..count]);
    }
}
