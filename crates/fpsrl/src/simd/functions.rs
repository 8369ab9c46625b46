//! Arctangent, exponential and hyperbolic tangent on lanes, with a documented error.
//!
//! | function | error against f64, whole range           | special values                          |
//! |----------|------------------------------------------|-----------------------------------------|
//! | [`atan`] | at most 5e-7 absolute                    | ±∞ gives ±π/2, NaN gives NaN            |
//! | [`exp`]  | at most 4 ulp; below -103.98 exactly 0   | -∞ gives 0, +∞ gives +∞, NaN gives NaN  |
//! | [`tanh`] | at most 5e-7 absolute                    | ±∞ gives ±1, NaN gives NaN              |
//!
//! The polynomials are minimax fits of our own (Remez exchange in 40 digits). Rollouts spend three quarters of their
//! time in the arctangent; 1e-6 is far below the error of any world model, so that each degree that can be saved is.
//! The tests below hold the table for every instruction set of the machine they run on.

use super::Arithmetic;
use fearless_simd::{Select, Simd, SimdBase, SimdCvtTruncate, SimdFloat};

/// The bit of an f32 that holds its sign.
const SIGN: u32 = 0x8000_0000;

/// The scale of z and the constants of the polynomial in [`atan`]; its error is 2.5e-7 before rounding.
const ATAN_SCALE: f32 = 0.681_283_4;
const ATAN: [f32; 6] = [-1.493_226_3, 1.248_903_6, -0.151_648_5, -0.113_334_83, -1.663_997_7, 1.250_506_2];

/// Minimax coefficients of eʳ on [-½ ln 2, ½ ln 2], lowest power first; relative error 1.9e-9.
const EXP: [f32; 7] = [1.0, 1.0, 0.499_999_9, 0.166_664_2, 0.041_668_225, 0.008_374_816, 0.001_383_684_6];

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
/// With z = (|x| - 1) / (|x| + 1) = 1 - 2 / (|x| + 1), which lies in [-1, 1], atan |x| = π/4 + atan z: one polynomial for
/// the whole range, infinity included, without a case to choose. Near zero the error is absolute, not relative: 0 gives a
/// number of size 4e-7.
///
/// atan z is z times a minimax polynomial of degree 6 in z². Multiplications are what limits this function, while
/// additions have units of their own: so z is scaled until the polynomial's highest coefficient is 1, and the polynomial
/// is rearranged into Knuth's form (*The Art of Computer Programming*, volume 2, section 4.6.4), which takes three
/// multiplications instead of Horner's six.
#[inline(always)]
pub fn atan<S: Simd, A: Arithmetic>(simd: S, x: S::f32s) -> S::f32s {
    let sign = x.to_bits() & SIGN;
    let z = S::f32s::splat(simd, ATAN_SCALE) - S::f32s::splat(simd, 2.0 * ATAN_SCALE) / (x.abs() + 1.0);
    let y = z * z;
    let inner = A::mul_add::<S>(y + ATAN[0], y, S::f32s::splat(simd, ATAN[1]));
    let outer = A::mul_add::<S>(y + ATAN[2], inner, S::f32s::splat(simd, ATAN[3]));
    let polynomial = A::mul_add::<S>(outer + inner + ATAN[4], outer, S::f32s::splat(simd, ATAN[5]));
    let result = A::mul_add::<S>(z, polynomial, S::f32s::splat(simd, std::f32::consts::FRAC_PI_4));
    // The size is not below zero but for its rounding, so that its sign can be put on without taking one off.
    S::f32s::from_bits(result.to_bits() | sign)
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

/// The hyperbolic tangent: 1 - 2 / (e²ˣ + 1).
#[inline(always)]
pub fn tanh<S: Simd, A: Arithmetic>(simd: S, x: S::f32s) -> S::f32s {
    let one = S::f32s::splat(simd, 1.0);
    let growth = exp::<S, A>(simd, x.abs() * 2.0);
    (one - S::f32s::splat(simd, 2.0) / (growth + one)).copysign(x)
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
    fn atan_is_within_5e_7_of_the_truth_everywhere() {
        let input = whole_range();
        for numerics in numerics() {
            let output = apply!(atan, numerics, input);
            for (x, y) in input.iter().zip(&output) {
                let error = (f64::from(*y) - f64::from(*x).atan()).abs();
                assert!(error <= 5e-7, "atan({x}) = {y}, off by {error} ({})", numerics.name());
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
    fn infinities_and_nan_have_defined_results() {
        let input = [f32::INFINITY, f32::NEG_INFINITY, f32::NAN];
        let half_pi = std::f32::consts::FRAC_PI_2;
        for numerics in numerics() {
            let [up, down, nan] = apply!(atan, numerics, input)[..] else { panic!() };
            assert!((up - half_pi).abs() < 5e-7 && (down + half_pi).abs() < 5e-7 && nan.is_nan());
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
            .map(|n| [apply!(atan, n, input), apply!(exp, n, input), apply!(tanh, n, input)])
            .collect();
        for level in &all[1..] {
            for (function, plain) in level.iter().zip(&all[0]) {
                assert!(function.iter().zip(plain).all(|(a, b)| a.to_bits() == b.to_bits()));
            }
        }
    }
}
