//! Angles that rules measure around the circle: what whole turns make of inputs and of ranges.
//!
//! Rules take the difference to their centres modulo a turn, so inputs may be any number of turns away. The guard's range
//! of an angle is an arc, which may reach across ±π; an input is in it if some number of whole turns brings it there.
//! How a tie is rounded, half a turn away, makes no difference to a distance; of an arc, either end is as near.

use std::f64::consts::{PI, TAU};

use super::controller::Precision;
use fpsrl_engine::angle::nearest_image;

/// What an arc may lack of a turn and still be one: more than what a range loses by its ends being rounded.
const ROUNDING: f64 = 1e-6;

impl Precision {
    /// Beyond this, an angle is unusable: where it lies on the circle would be lost in its rounding.
    pub fn largest_angle(self) -> f64 {
        match self {
            Precision::Double => 1e6,
            Precision::Single => 1e4,
        }
    }
}

/// An angle, brought as near to the middle of an arc as whole turns can.
pub(super) fn place(angle: f64, [low, high]: [f64; 2]) -> f64 {
    nearest_image(angle, 0.5 * (low + high))
}

/// Whether an arc is the whole circle.
pub(super) fn is_whole([low, high]: [f64; 2]) -> bool {
    high - low >= TAU - ROUNDING
}

/// An arc for a tool that knows straight lines only and is given angles from -π to π.
pub(super) fn straight([low, high]: [f64; 2]) -> [f64; 2] {
    if low >= -PI && high <= PI { [low, high] } else { [-PI, PI] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_angle_is_placed_next_to_its_arc() {
        for (angle, range, expected) in [
            (-3.0, [2.5, 3.8], TAU - 3.0),
            (3.3, [-PI, PI], 3.3 - TAU),
            (-7.0, [-1.0, 0.5], TAU - 7.0),
            (0.2, [0.0, 1.0], 0.2),
        ] {
            assert!((place(angle, range) - expected).abs() < 1e-12, "{angle} {range:?}");
        }
        assert_eq!(place(0.7, [-0.7, 0.7]), 0.7, "what needs no turn stays as it is, to the last bit");
    }

    #[test]
    fn a_straight_range_holds_the_arc() {
        assert_eq!(straight([-0.7, 0.7]), [-0.7, 0.7]);
        assert_eq!(straight([2.5, 3.8]), [-PI, PI]);
        assert!(is_whole([-PI, PI]) && is_whole([-PI as f32, PI as f32].map(f64::from)) && !is_whole([-3.0, 3.0]));
    }
}
