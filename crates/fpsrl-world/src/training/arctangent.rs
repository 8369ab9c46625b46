//! The arctangent of many f64 at once, for training only.
//!
//! Training spends much of its time here. The argument is brought to |t| ≤ √2 - 1 without a branch, so that the loop
//! around it becomes vector code:
//!
//! - |x| > √2 + 1: atan x = π/2 + atan(-1 / x),
//! - |x| > √2 - 1: atan x = π/4 + atan((x - 1) / (x + 1)).
//!
//! There, atan t / t is a polynomial of degree 9 in t², the Chebyshev fit to 1e-15. Nothing is fused, so that every
//! instruction set computes the same bits.

use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, SQRT_2};

/// Coefficients of atan t / t in t² on [0, (√2 - 1)²], constant first.
const SERIES: [f64; 10] = [
    0.999_999_999_999_999,
    -0.333_333_333_332_214_3,
    0.199_999_999_783_926_62,
    -0.142_857_126_616_847_94,
    0.111_110_488_537_512_96,
    -0.090_895_299_565_623_07,
    0.076_735_354_281_832_86,
    -0.065_059_829_671_708_4,
    0.050_247_621_189_401_28,
    -0.025_316_479_573_776_476,
];

/// The arctangent, within 2e-15 of `f64::atan`.
#[inline(always)]
pub(super) fn arctangent(x: f64) -> f64 {
    let size = x.abs();
    let large = size > SQRT_2 + 1.0;
    let middle = size > SQRT_2 - 1.0;
    let above = if large {
        -1.0
    } else if middle {
        size - 1.0
    } else {
        size
    };
    let below = if large {
        size
    } else if middle {
        size + 1.0
    } else {
        1.0
    };
    let base = if large {
        FRAC_PI_2
    } else if middle {
        FRAC_PI_4
    } else {
        0.0
    };
    let t = above / below;
    let z = t * t;
    let mut sum = SERIES[9];
    for power in (0..9).rev() {
        sum = sum * z + SERIES[power];
    }
    (base + t * sum).copysign(x)
}

#[cfg(test)]
mod tests {
    use super::arctangent;

    #[test]
    fn it_is_the_arctangent_everywhere() {
        let mut numbers: Vec<f64> = (-40_000..=40_000).map(|step| f64::from(step) * 1e-3).collect();
        numbers.extend((-300..=300).flat_map(|power| [10f64.powi(power), -(10f64.powi(power))]));
        numbers.extend([0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY]);
        for x in numbers {
            assert!((arctangent(x) - x.atan()).abs() < 2e-15, "{x}: {} {}", arctangent(x), x.atan());
        }
        assert!(arctangent(f64::NAN).is_nan());
    }

    #[test]
    fn small_arguments_keep_their_relative_precision() {
        for x in [1e-3, 1e-8, 1e-100] {
            assert!((arctangent(x) / x.atan() - 1.0).abs() < 2e-15, "{x}");
        }
    }
}
