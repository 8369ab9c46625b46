//! Angles in radians, modulo whole turns.

use std::f64::consts::TAU;

/// An angle, moved by whole turns into [-π, π].
///
/// ```
/// assert!((fpsrl_engine::angle::wrap_angle(4.0) - (4.0 - std::f64::consts::TAU)).abs() < 1e-12);
/// ```
#[inline]
pub fn wrap_angle(angle: f64) -> f64 {
    nearest_image(angle, 0.0)
}

/// An angle, moved by whole turns as near to another as they can bring it. What needs none stays as it is, to the last bit.
///
/// ```
/// assert!((fpsrl_engine::angle::nearest_image(-3.0, 3.1) - (std::f64::consts::TAU - 3.0)).abs() < 1e-12);
/// ```
#[inline]
pub fn nearest_image(angle: f64, to: f64) -> f64 {
    angle - TAU * ((angle - to) / TAU).round()
}
