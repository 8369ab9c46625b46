//! Mountain car: a force too weak for the hill (the paper's first benchmark), and Sutton and Barto's variant.

use super::integrator::{Dynamics, SUBSTEPS, integrate};
use super::number::Number;
use super::{Outcome, Plant};

/// Where the hill has been climbed, in both variants.
pub(super) const GOAL: f64 = 0.6;

/// A car of 1 kg on the hill H(x) = x² + x for x < 0, x / √(1 + 5x²) for x ≥ 0, without friction.
///
/// The position is the horizontal one, so that the car's speed along the hill is ρ̇ √(1 + H'²), and the equation of
/// motion conserves ½ ρ̇² (1 + H'²) + g H when there is no force.
pub(super) struct MountainCar;

const GRAVITY: f64 = 9.81;

/// Seconds of a control step.
pub(super) const CONTROL_STEP: f64 = 0.05;

impl Dynamics<2> for MountainCar {
    #[inline(always)]
    fn derivative<N: Number>([position, velocity]: [N; 2], force: N) -> [N; 2] {
        let (slope, curvature) = slope_and_curvature(position);
        let one = position.constant(1.0);
        // F/√s - (g H' + ρ̇² H' H'')/s with s = 1 + H'², over one denominator to save a division.
        let stretch = slope.mul_add(slope, one);
        let pull = slope * (velocity * velocity).mul_add(curvature, position.constant(GRAVITY));
        [velocity, (force * stretch.sqrt() - pull) / stretch]
    }
}

/// H' and H''.
#[inline(always)]
fn slope_and_curvature<N: Number>(position: N) -> (N, N) {
    let one = position.constant(1.0);
    let two = position.constant(2.0);
    let left = position.below(0.0);
    let width = (position * position).mul_add(position.constant(5.0), one);
    let inverse = one / width;
    // (1 + 5x²)^(-3/2) as a square root and a division instead of a power.
    let right_slope = width.sqrt() * inverse * inverse;
    let right_curvature = position.constant(-15.0) * position * right_slope * inverse;
    (N::select(left, position.mul_add(two, one), right_slope), N::select(left, two, right_curvature))
}

impl Plant<2> for MountainCar {
    #[inline(always)]
    fn step<N: Number>(state: [N; 2], force: N) -> Outcome<N, 2> {
        climb(state, integrate::<Self, N, 2>(state, force, CONTROL_STEP, SUBSTEPS))
    }
}

/// Sutton and Barto's mountain car (*Reinforcement learning: an introduction*): one step of a map, not of an
/// equation of motion, with an inelastic wall at -1.2 and a limited velocity.
///
/// The book's goal is at 0.5. Here it is at 0.6, the upper end of the start states and the goal of [`MountainCar`],
/// so that both are the same problem to whoever is outside: pushing in the direction of the velocity (to the right
/// when at rest) scores -42.19 here and -42.30 there.
pub(super) struct TextbookMountainCar;

impl TextbookMountainCar {
    const WALL: f64 = -1.2;
    const LARGEST_VELOCITY: f64 = 0.07;
}

impl Plant<2> for TextbookMountainCar {
    #[inline(always)]
    fn step<N: Number>(state: [N; 2], force: N) -> Outcome<N, 2> {
        let [position, velocity] = state;
        let (_, cosine) = (position * position.constant(3.0)).sine_cosine();
        let velocity = cosine.mul_add(position.constant(-0.0025), force.mul_add(position.constant(0.001), velocity));
        let velocity = limited(velocity, Self::LARGEST_VELOCITY);
        let position = position + velocity;
        let bumped = position.below(Self::WALL);
        let position = N::select(bumped, position.constant(Self::WALL), position);
        let velocity = N::select(bumped, position.constant(0.0), velocity);
        climb(state, [position, velocity])
    }
}

/// `value`, but within ±`limit`.
#[inline(always)]
fn limited<N: Number>(value: N, limit: f64) -> N {
    let value = N::select(value.below(-limit), value.constant(-limit), value);
    N::select(value.at_least(limit), value.constant(limit), value)
}

/// The benchmark's rules around a motion from `before` to `after`: the goal is absorbing and costs nothing, every
/// step elsewhere costs 1.
#[inline(always)]
fn climb<N: Number>(before: [N; 2], after: [N; 2]) -> Outcome<N, 2> {
    let position = N::select(before[0].at_least(GOAL), before[0], after[0]);
    let arrived = position.at_least(GOAL);
    let (rest, cost) = (position.constant(0.0), position.constant(-1.0));
    Outcome {
        next: [position, N::select(arrived, rest, after[1])],
        reward: N::select(arrived, rest, cost),
        absorbed: arrived,
    }
}
