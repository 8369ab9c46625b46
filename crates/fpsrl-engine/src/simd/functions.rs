//! Arctangent, exponentials and hyperbolic tangent on lanes, with a documented error.
//!
//! | function             | error against f64, whole range            | special values                          |
//! |----------------------|-------------------------------------------|-----------------------------------------|
//! | [`atan`]             | at most 6e-7 absolute                     | ±∞ gives ±π/2, NaN gives NaN            |
//! | [`exp`]              | at most 4 ulp; below -103.98 exactly 0    | -∞ gives 0, +∞ gives +∞, NaN gives NaN  |
//! | [`exp2_at_most_one`] | at most 4 ulp from -126 to 0, 2⁻¹²⁶ below | -∞ gives 2⁻¹²⁶, NaN gives NaN           |
//! | [`tanh`]             | at most 5e-7 absolute                     | ±∞ gives ±1, NaN gives NaN              |
//!
//! The polynomials are minimax fits of our own (Remez exchange in 40 digits). Most operations of a
//! rollout are arctangents; 1e-6 is far below the error of any world model, so that each degree that can be saved is.
//! The tests below hold the table for every instruction set of the machine they run on.

use super::Arithmetic;
use fearless_simd::{Select, Simd, SimdBase, SimdCvtTruncate, SimdFloat};

/// The bit of an f32 that holds its sign.
const SIGN: u32 = 0x8000_0000;

/// What [`begin_scaled_atan`] takes is this many times the number whose arctangent is meant.
pub const ATAN_INPUT_SCALE: f32 = 0.672_411_6;

/// What [`end_scaled_atan`] gives is this many times the arctangent.
pub const ATAN_OUTPUT_SCALE: f64 = ATAN_INPUT_SCALE as f64 / std::f64::consts::FRAC_PI_4;

/// The constants of the polynomial in [`end_scaled_atan`]; its error is 2.6e-7 before rounding.
const ATAN: [f32; 6] = [-0.161_759_76, 0.330_986_5, 0.421_128_7, 0.082_697_205, -1.273_049_4, 0.971_811_7];

/// Minimax coefficients of eʳ on [-½ ln 2, ½ ln 2], lowest power first; relative error 1.9e-9.
const EXP: [f32; 7] = [1.0, 1.0, 0.499_999_9, 0.166_664_2, 0.041_668_225, 0.008_374_816, 0.001_383_684_6];

/// Minimax coefficients of 2ʳ on [-½, ½], lowest power first; relative error 7.5e-8.
const EXP2: [f32; 6] = [1.000_000_1, 0.693_146_97, 0.240_221_2, 0.055_507_13, 0.009_675_541, 0.001_327_647_3];

/// 1.5 · 2²³. A number below 2²² that it is added to loses its fraction to rounding, and stands in the lowest bits.
const ROUNDER: f32 = 12_582_912.0;

/// P(x) by Horner's rule, `coefficients` from the lowest power.
#[inline(always)]
fn polynomial<S: Simd, A: Arithmetic, const N: usize>(simd: S, coefficients: &[f32; N], x: S::f32s) -> S::f32s {
    let mut sum = S::f32s::splat(simd, coefficients[N - 1]);
    for power in (0..N - 1).rev() {
        sum = A::mul_add::<S>(sum, x, S::f32s::splat(simd, coefficients[power]));
    }
    sum
}

/// The arctangent.
///
/// Near zero the error is absolute, not relative: 0 gives a number of size 5e-7.
#[inline(always)]
pub fn atan<S: Simd, A: Arithmetic>(simd: S, x: S::f32s) -> S::f32s {
    end_scaled_atan::<S, A>(simd, begin_scaled_atan(simd, x * ATAN_INPUT_SCALE)) * (1.0 / ATAN_OUTPUT_SCALE) as f32
}

/// The first half of an arctangent whose input and output are scaled, for whoever can hide the scales in other numbers.
///
/// With z = (|x| - 1) / (|x| + 1) = 1 - 2 / (|x| + 1), which lies in [-1, 1], atan |x| = π/4 + atan z: one polynomial for
/// the whole range, infinity included, without a case to choose. This half is the quotient; it has the sign of x.
///
/// Two halves, because all their operations one after another take so long that a processor cannot look far enough
/// ahead to fill its units meanwhile. With other work in between they are short enough.
///
/// The input's scale s is the one that the polynomial needs, the output's is such that ±π/4 becomes ±s. So one number, s
/// with the sign of x, serves in the divisor, in z and in the result.
#[inline(always)]
pub fn begin_scaled_atan<S: Simd>(simd: S, x: S::f32s) -> S::f32s {
    S::f32s::splat(simd, 2.0 * ATAN_INPUT_SCALE * ATAN_INPUT_SCALE) / (x + signed_scale::<S>(x))
}

/// The second half: the scaled arctangent from what [`begin_scaled_atan`] gave.
///
/// atan z is z times a minimax polynomial of degree 6 in z². By Horner's rule that would be a chain of six operations
/// after z². Here it is (a² + k₃ w + k₂)(a + k₄ w) + k₅ with w = z² + k₀ and a = w² + k₁: five operations after w, which
/// costs as much as z² alone, and two of them beside others. Six constants and the scale are as many as a polynomial of
/// degree 6 has coefficients, and the fit is nearly as good as the best of them (2.5e-7).
#[inline(always)]
pub fn end_scaled_atan<S: Simd, A: Arithmetic>(simd: S, quotient: S::f32s) -> S::f32s {
    let quarter = signed_scale::<S>(quotient);
    let z = quarter - quotient;
    let constant = |index: usize| S::f32s::splat(simd, ATAN[index]);
    let w = A::mul_add::<S>(z, z, constant(0));
    let a = A::mul_add::<S>(w, w, constant(1));
    let quartic = A::mul_add::<S>(w, constant(3), A::mul_add::<S>(a, a, constant(2)));
    let quadratic = A::mul_add::<S>(w, constant(4), a);
    let polynomial = A::mul_add::<S>(quartic, quadratic, constant(5));
    A::mul_add::<S>(z, polynomial, quarter)
}

/// [`ATAN_INPUT_SCALE`] with the sign of x.
#[inline(always)]
fn signed_scale<S: Simd>(x: S::f32s) -> S::f32s {
    S::f32s::from_bits((x.to_bits() & SIGN) | ATAN_INPUT_SCALE.to_bits())
}

/// The exponential.
#[inline(always)]
pub fn exp<S: Simd, A: Arithmetic>(simd: S, x: S::f32s) -> S::f32s {
    // Outside of these bounds the result is 0 or infinite anyway; within, the integer conversion is exact.
    // The comparisons are written so that NaN passes through.
    let low = S::f32s::splat(simd, -110.0);
    let high = S::f32s::splat(simd, 100.0);
    let clamped = x.simd_lt(low).select(low, x);
    let clamped = clamped.simd_gt(high).select(high, clamped);
    let turns = (clamped * std::f32::consts::LOG2_E).round_ties_even();
    // ln 2 in two parts (Cody and Waite): `turns` times the first is exact.
    let rest = A::mul_add::<S>(turns, S::f32s::splat(simd, -0.693_359_4), clamped);
    let rest = A::mul_add::<S>(turns, S::f32s::splat(simd, 2.121_944_4e-4), rest);
    let mantissa = polynomial::<S, A, 7>(simd, &EXP, rest);
    // 2^turns as two factors, because it may itself be subnormal or too large.
    let turns = S::i32s::truncate_from(turns);
    let half = turns >> 1;
    mantissa * power_of_two::<S>(half) * power_of_two::<S>(turns - half)
}

/// 2ⁿ for n from -126 to 127, by writing the exponent's bits.
#[inline(always)]
fn power_of_two<S: Simd>(n: S::i32s) -> S::f32s {
    S::f32s::from_bits(fearless_simd::Bytes::bitcast((n + 127) << 23))
}

/// 2ˣ for x that is not above 0; what is below -126 counts as -126.
///
/// Half the work of [`exp`], for numbers that are compared with a largest one: what lies 126 powers of two below it
/// is nothing beside it, so that no result need be subnormal and one factor does for the whole power.
#[inline(always)]
pub fn exp2_at_most_one<S: Simd, A: Arithmetic>(simd: S, x: S::f32s) -> S::f32s {
    let low = S::f32s::splat(simd, -126.0);
    // Written so that NaN passes through.
    let x = x.simd_lt(low).select(low, x);
    let rounded = x + ROUNDER;
    let rest = x - (rounded - ROUNDER);
    let mantissa = polynomial::<S, A, 6>(simd, &EXP2, rest);
    // The whole part, moved to where the exponent is, is added to it; all bits above it fall out at the top.
    S::f32s::from_bits(mantissa.to_bits() + (rounded.to_bits() << 23))
}

/// The hyperbolic tangent: (1 - e⁻²ˣ) / (1 + e⁻²ˣ).
#[inline(always)]
pub fn tanh<S: Simd, A: Arithmetic>(simd: S, x: S::f32s) -> S::f32s {
    let one = S::f32s::splat(simd, 1.0);
    let fall = exp2_at_most_one::<S, A>(simd, x.abs() * (-2.0 * std::f32::consts::LOG2_E));
    ((one - fall) / (one + fall)).copysign(x)
}

/// The logistic function: 1 / (1 + e⁻ˣ).
#[inline(always)]
pub fn sigmoid<S: Simd, A: Arithmetic>(simd: S, x: S::f32s) -> S::f32s {
    let one = S::f32s::splat(simd, 1.0);
    one / (one + exp::<S, A>(simd, -x))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{Mode, Numerics, dispatch_numerics};

    macro_rules! apply {
        ($function:ident, $numerics:expr, $input:expr) => {{
            let mut input: Vec<f32> = $input.to_vec();
            let count = input.len();
            input.resize(count.next_multiple_of(64), 0.5);
            let mut output = vec![0.0f32; input.len()];
            dispatch_numerics!($numerics, simd, Chosen => apply_with(
                simd,
                &input,
                &mut output,
                #[inline(always)]
                |simd, x| $function::<_, Chosen>(simd, x)
            ));
            output.truncate(count);
            output
        }};
    }

    #[inline(always)]
    fn apply_with<S: Simd>(simd: S, input: &[f32], output: &mut [f32], function: impl Fn(S, S::f32s) -> S::f32s) {
        let width = S::f32s::LEN;
        for (from, to) in input.chunks_exact(width).zip(output.chunks_exact_mut(width)) {
            function(simd, S::f32s::from_slice(simd, from)).store_slice(to);
        }
    }

    fn numerics() -> impl Iterator<Item = Numerics> {
        [Mode::Fast, Mode::Reproducible].into_iter().flat_map(Numerics::every)
    }

    /// Numbers of both signs over all exponents, denser where functions bend, and each f32's neighbours of note.
    fn whole_range() -> Vec<f32> {
        let mut numbers = vec![0.0, -0.0, 1.0, -1.0, f32::MIN_POSITIVE, 1e-45, f32::MAX, f32::MIN];
        for step in 0..400_000u32 {
            let bits = (u64::from(step) * u64::from(u32::MAX) / 400_000) as u32;
            let number = f32::from_bits(bits);
            if number.is_finite() {
                numbers.push(number);
            }
            numbers.push((step as f32 / 400_000.0 - 0.5) * 240.0);
            numbers.push((step as f32 / 400_000.0 - 0.5) * 8.0);
        }
        numbers
    }

    #[test]
    fn atan_is_within_6e_7_of_the_truth_everywhere() {
        let input = whole_range();
        for numerics in numerics() {
            let output = apply!(atan, numerics, input);
            for (x, y) in input.iter().zip(&output) {
                let error = (f64::from(*y) - f64::from(*x).atan()).abs();
                assert!(error <= 6e-7, "atan({x}) = {y}, off by {error} ({})", numerics.name());
            }
        }
    }

    #[test]
    fn tanh_is_within_5e_7_of_the_truth_everywhere() {
        let input = whole_range();
        for numerics in numerics() {
            let output = apply!(tanh, numerics, input);
            for (x, y) in input.iter().zip(&output) {
                let error = (f64::from(*y) - f64::from(*x).tanh()).abs();
                assert!(error <= 5e-7, "tanh({x}) = {y}, off by {error} ({})", numerics.name());
            }
        }
    }

    #[test]
    fn sigmoid_is_within_1e_6_of_the_truth_everywhere() {
        let input = whole_range();
        for numerics in numerics() {
            let output = apply!(sigmoid, numerics, input);
            for (x, y) in input.iter().zip(&output) {
                let error = (f64::from(*y) - 1.0 / (1.0 + (-f64::from(*x)).exp())).abs();
                assert!(error <= 1e-6, "sigmoid({x}) = {y}, off by {error} ({})", numerics.name());
            }
            let [up, down, nan] = apply!(sigmoid, numerics, [f32::INFINITY, f32::NEG_INFINITY, f32::NAN])[..] else {
                panic!()
            };
            assert!(up == 1.0 && down == 0.0 && nan.is_nan());
        }
    }

    #[test]
    fn exp_is_within_4_ulp_of_the_truth_everywhere() {
        let input = whole_range();
        for numerics in numerics() {
            let output = apply!(exp, numerics, input);
            for (x, y) in input.iter().zip(&output) {
                let truth = f64::from(*x).exp();
                if truth > f64::from(f32::MAX) {
                    assert!(*y == f32::INFINITY || *y > 0.999_999 * f32::MAX, "exp({x}) = {y}");
                    continue;
                }
                let nearest = truth as f32;
                let ulp = f64::from(f32::from_bits(nearest.to_bits() + 1)) - f64::from(nearest);
                let error = (f64::from(*y) - truth).abs() / ulp;
                assert!(error <= 4.0, "exp({x}) = {y}, off by {error} ulp ({})", numerics.name());
            }
        }
    }

    #[test]
    fn exp2_at_most_one_is_within_4_ulp_of_the_truth_and_never_subnormal() {
        let input: Vec<f32> = whole_range().into_iter().map(|x| -x.abs()).collect();
        for numerics in numerics() {
            let output = apply!(exp2_at_most_one, numerics, input);
            for (x, y) in input.iter().zip(&output) {
                let truth = f64::from(x.max(-126.0)).exp2();
                let nearest = truth as f32;
                let ulp = f64::from(f32::from_bits(nearest.to_bits() + 1)) - f64::from(nearest);
                let error = (f64::from(*y) - truth).abs() / ulp;
                assert!(error <= 4.0, "exp2({x}) = {y}, off by {error} ulp ({})", numerics.name());
            }
            let [lowest, nan] = apply!(exp2_at_most_one, numerics, [f32::NEG_INFINITY, f32::NAN])[..] else { panic!() };
            assert!((lowest - f32::MIN_POSITIVE).abs() < 1e-44 && nan.is_nan(), "{lowest} {nan}");
        }
    }

    #[test]
    fn infinities_and_nan_have_defined_results() {
        let input = [f32::INFINITY, f32::NEG_INFINITY, f32::NAN];
        let half_pi = std::f32::consts::FRAC_PI_2;
        for numerics in numerics() {
            let [up, down, nan] = apply!(atan, numerics, input)[..] else { panic!() };
            assert!((up - half_pi).abs() < 6e-7 && (down + half_pi).abs() < 6e-7 && nan.is_nan());
            let [up, down, nan] = apply!(exp, numerics, input)[..] else { panic!() };
            assert!(up == f32::INFINITY && down == 0.0 && nan.is_nan(), "{up} {down} {nan}");
            let [up, down, nan] = apply!(tanh, numerics, input)[..] else { panic!() };
            assert!(up == 1.0 && down == -1.0 && nan.is_nan());
        }
    }

    #[test]
    fn reproducible_mode_gives_the_same_bits_at_every_level() {
        let input = whole_range();
        let all: Vec<_> = Numerics::every(Mode::Reproducible)
            .into_iter()
            .map(|n| {
                let falling: Vec<f32> = input.iter().map(|x| -x.abs()).collect();
                let plain = [apply!(atan, n, input), apply!(exp, n, input), apply!(tanh, n, input)];
                [plain.concat(), apply!(exp2_at_most_one, n, falling)]
            })
            .collect();
        for level in &all[1..] {
            for (function, plain) in level.iter().zip(&all[0]) {
                assert!(function.iter().zip(plain).all(|(a, b)| a.to_bits() == b.to_bits()));
            }
        }
    }
}
