//! How the targets of NFQ become outputs of a network with a sigmoid at its end.

use serde::{Deserialize, Serialize};

/// The part of the sigmoid's range that targets are scaled to; its ends are out of reach.
const TARGET_RANGE: [f64; 2] = [0.05, 0.95];

/// Powers that the distance from the top may be taken to.
const POWERS: [f64; 2] = [0.25, 1.0];

/// How targets become outputs of a sigmoid: [low, high] to [`TARGET_RANGE`], by a power of the distance from the top.
///
/// A fall costs a balancing pole thirty times what a bad position does; on an even scale the network would spend itself on
/// telling falls apart. The power puts the middle target into the middle of the range, so that good actions are told apart
/// as well as bad ones.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetScale {
    low: f64,
    high: f64,
    power: f64,
}

impl TargetScale {
    pub(super) fn of(targets: &[f64]) -> Self {
        let low = targets.iter().copied().fold(f64::INFINITY, f64::min);
        let high = targets.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if high <= low {
            // Equal targets, as those of a log that never sees a reward, stand at the top.
            return Self { low: high - 1.0, high, power: 1.0 };
        }
        let mut distances: Vec<f64> = targets.iter().map(|target| (high - target) / (high - low)).collect();
        let middle = distances.len() / 2;
        let (_, &mut median, _) = distances.select_nth_unstable_by(middle, f64::total_cmp);
        // Where half of the targets stand at the top, nothing brings them into the middle.
        let power = if median > 0.0 && median < 1.0 { 0.5f64.ln() / median.ln() } else { 1.0 };
        Self { low, high, power: power.clamp(POWERS[0], POWERS[1]) }
    }

    pub(super) fn apply(&self, target: f64) -> f64 {
        let [least, most] = TARGET_RANGE;
        most - (most - least) * ((self.high - target) / (self.high - self.low)).max(0.0).powf(self.power)
    }

    pub(super) fn undo(&self, output: f64) -> f64 {
        let [least, most] = TARGET_RANGE;
        let root = (most - output) / (most - least);
        // A network may promise a little more than there is in any target.
        self.high - (self.high - self.low) * root.signum() * root.abs().powf(1.0 / self.power)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scale_of_targets_can_be_undone() {
        let scale = TargetScale::of(&[-33.0, -2.0, 0.5]);
        for target in [-33.0, -10.0, -0.1, 0.5] {
            let output = scale.apply(target);
            assert!((0.05..=0.95).contains(&output) && (scale.undo(output) - target).abs() < 1e-9);
        }
        assert!(scale.undo(0.96) > 0.5);
        // The middle one of uneven targets stands in the middle of the range; even ones are left as they are.
        assert!((scale.apply(-2.0) - 0.5).abs() < 1e-9 && scale.power < 0.5);
        let even = TargetScale::of(&[-4.0, -3.0, -2.0, -1.0, 0.0]);
        assert!((even.apply(-1.0) - 0.725).abs() < 1e-9);
        let flat = TargetScale::of(&[-1.0, -1.0]);
        assert!((flat.undo(flat.apply(-1.0)) - -1.0).abs() < 1e-9);
    }
}
