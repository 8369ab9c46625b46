//! Cart-pole: a pole on a cart that is pushed, to be kept upright (the paper's second benchmark) or to be swung up
//! (its third).

use super::integrator::{Dynamics, SUBSTEPS, integrate};
use super::number::Number;
use super::{Outcome, Plant};

/// The pole's angle from upright, its velocity, the cart's position and its velocity, without friction.
///
/// The pole is a rod of half length l, whose moment of inertia about its hinge is 4/3 m l². Without a force the
/// motion conserves ½ M ρ̇² + m l ρ̇ θ̇ cos θ + ⅔ m l² θ̇² + m g l cos θ.
pub(super) struct CartPole;

const CART_MASS: f64 = 1.0;
pub(super) const POLE_MASS: f64 = 0.1;
pub(super) const TOTAL_MASS: f64 = CART_MASS + POLE_MASS;
pub(super) const HALF_LENGTH: f64 = 0.5;
pub(super) const GRAVITY: f64 = 9.81;

/// Seconds of a control step.
pub(super) const CONTROL_STEP: f64 = 0.025;

impl Dynamics<4> for CartPole {
    #[inline(always)]
    fn derivative<N: Number>([angle, angular_velocity, _, velocity]: [N; 4], force: N) -> [N; 4] {
        let (sine, cosine) = angle.sine_cosine();
        let lever = force.constant(POLE_MASS * HALF_LENGTH);
        // h of the benchmark's description: the push and the pole's centrifugal force.
        let push = (lever * angular_velocity * angular_velocity).mul_add(sine, force);
        let torque = sine * force.constant(TOTAL_MASS * GRAVITY) - cosine * push;
        let inertia = -(lever * cosine).mul_add(cosine, force.constant(-4.0 / 3.0 * TOTAL_MASS * HALF_LENGTH));
        let angular_acceleration = torque / inertia;
        let acceleration = (push - lever * cosine * angular_acceleration) * force.constant(1.0 / TOTAL_MASS);
        [angular_velocity, angular_acceleration, velocity, acceleration]
    }
}

impl CartPole {
    /// A control step without the rules of a benchmark.
    #[inline(always)]
    pub(super) fn swing<N: Number>(state: [N; 4], force: N) -> [N; 4] {
        let mut next = integrate::<Self, N, 4>(state, force, CONTROL_STEP, SUBSTEPS);
        next[0] = next[0].wrapped();
        next
    }
}

/// Whether both the angle and the position are within these distances of upright and of the middle.
#[inline(always)]
fn within<N: Number>(state: &[N; 4], angle: f64, position: f64) -> N::Truth {
    N::both(state[0].abs().at_most(angle), state[2].abs().at_most(position))
}

/// Whether both the angle and the position are closer than these distances to upright and to the middle.
#[inline(always)]
fn closer_than<N: Number>(state: &[N; 4], angle: f64, position: f64) -> N::Truth {
    N::both(state[0].abs().below(angle), state[2].abs().below(position))
}

/// The pole must not fall, the cart must stay on its track.
pub(super) struct CartPoleBalancing;

impl Plant<4> for CartPoleBalancing {
    #[inline(always)]
    fn step<N: Number>(state: [N; 4], force: N) -> Outcome<N, 4> {
        let moved = CartPole::swing(state, force);
        let (rest, cost, failure) = (force.constant(0.0), force.constant(-0.1), force.constant(-1.0));
        // What is not a number is not within limits: it has failed.
        let had_not_failed = within(&state, 0.7, 2.4);
        let mut next = moved;
        for variable in 0..4 {
            next[variable] = N::select(had_not_failed, moved[variable], state[variable]);
        }
        let stands = within(&next, 0.7, 2.4);
        next[1] = N::select(stands, next[1], rest);
        next[3] = N::select(stands, next[3], rest);
        let reward = N::select(closer_than(&next, 0.25, 0.5), rest, cost);
        Outcome { next, reward: N::select(stands, reward, failure), absorbed: N::not(stands) }
    }
}

/// The pole may turn and the cart may go as they like; upright in the middle costs nothing.
pub(super) struct CartPoleSwingUp;

impl Plant<4> for CartPoleSwingUp {
    #[inline(always)]
    fn step<N: Number>(state: [N; 4], force: N) -> Outcome<N, 4> {
        let next = CartPole::swing(state, force);
        let there = closer_than(&next, 0.5, 0.5);
        let reward = N::select(there, force.constant(0.0), force.constant(-1.0));
        // Never: nothing is both there and not there.
        Outcome { next, reward, absorbed: N::both(there, N::not(there)) }
    }
}
