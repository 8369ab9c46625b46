//! Sine and cosine on lanes, both at once: the pole's equations need them in pairs.
//!
//! The argument is reduced to [-π/4, π/4] by whole quarter turns, with π/2 in three parts so that little is lost
//! (Cody and Waite, *Software manual for the elementary functions*, 1980); there, two short polynomials are
//! interpolated at Chebyshev's points.
//!
//! | argument              | error                                                                          |
//! |-----------------------|--------------------------------------------------------------------------------|
//! | \|x\| ≤ 100           | at most 2e-7, in both modes                                                    |
//! | \|x\| ≤ 6,000         | at most 1e-6                                                                   |
//! | beyond                | some number of [-1, 1], which loses all meaning from about 1e6 on              |
//! | infinite, not a number | not a number                                                                  |

use fearless_simd::{Bytes, Select, Simd, SimdBase, SimdFloat};

use super::Arithmetic;

/// Adding it rounds a number below 2²² to an integer and leaves that integer in the lowest bits.
const ROUNDER: f32 = 12_582_912.0;

/// π/2 in three parts. The first two have 12 bits, so that 4,096 quarter turns times one of them is exact.
const QUARTER_TURN: [f32; 3] = [1.570_800_8, -4.453_584_6e-6, -8.705_516e-10];

/// (sin r - r) / r³ in powers of r², on |r| ≤ π/4.
const SINE: [f32; 3] = [-0.166_666_64, 0.008_332_746, -0.000_195_873_87];

/// (cos r - 1 + r²/2) / r⁴ in powers of r², on |r| ≤ π/4.
const COSINE: [f32; 3] = [0.041_666_664, -0.001_388_83, 2.454_743_7e-5];

/// The sine and the cosine of each lane.
#[inline(always)]
pub fn sine_cosine<S: Simd, A: Arithmetic>(angle: S::f32s) -> (S::f32s, S::f32s) {
    let simd = fearless_simd::ExtractToken::token(&angle);
    let number = S::f32s::splat;

    let rounded = A::mul_add::<S>(angle, number(simd, std::f32::consts::FRAC_2_PI), number(simd, ROUNDER));
    let quadrant: S::u32s = rounded.bitcast();
    let turns = rounded - ROUNDER;
    let mut rest = angle;
    for part in QUARTER_TURN {
        rest = A::mul_add::<S>(turns, number(simd, -part), rest);
    }
    // Far out the reduction fails, and the polynomials would leave [-1, 1]. Comparisons let NaN pass.
    // The limit is wider than π/4, because rounding may choose the neighbouring quarter turn.
    let limit = number(simd, 1.0);
    rest = rest.abs().simd_gt(limit).select(limit.copysign(rest), rest);

    let square = rest * rest;
    let sine = polynomial::<S, A>(square, SINE);
    let sine = A::mul_add::<S>(sine * square, rest, rest);
    let cosine = polynomial::<S, A>(square, COSINE);
    let cosine =
        A::mul_add::<S>(cosine * square, square, A::mul_add::<S>(square, number(simd, -0.5), number(simd, 1.0)));

    // Odd quarter turns swap the two; the second bit of the quadrant, moved to the sign's place, flips signs.
    let odd = (quadrant & 1).simd_eq(S::u32s::splat(simd, 1));
    let sine_sign = (quadrant & 2) << 30;
    let cosine_sign = ((quadrant + 1) & 2) << 30;
    (flip::<S>(odd.select(cosine, sine), sine_sign), flip::<S>(odd.select(sine, cosine), cosine_sign))
}

#[inline(always)]
fn polynomial<S: Simd, A: Arithmetic>(square: S::f32s, [first, second, third]: [f32; 3]) -> S::f32s {
    let simd = fearless_simd::ExtractToken::token(&square);
    let number = S::f32s::splat;
    let inner = A::mul_add::<S>(number(simd, third), square, number(simd, second));
    A::mul_add::<S>(inner, square, number(simd, first))
}

/// Flips the sign of the lanes whose `sign` has the highest bit.
#[inline(always)]
fn flip<S: Simd>(value: S::f32s, sign: S::u32s) -> S::f32s {
    let bits: S::u32s = value.bitcast();
    (bits ^ sign).bitcast()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{Mode, Numerics, dispatch_numerics};

    #[inline(always)]
    fn kernel<S: Simd, A: Arithmetic>(simd: S, angles: &[f32], sines: &mut [f32], cosines: &mut [f32]) {
        let length = S::f32s::LEN;
        for start in (0..angles.len()).step_by(length) {
            let angle = S::f32s::from_slice(simd, &angles[start..][..length]);
            let (sine, cosine) = sine_cosine::<S, A>(angle);
            sine.store_slice(&mut sines[start..][..length]);
            cosine.store_slice(&mut cosines[start..][..length]);
        }
    }

    fn every_level(mode: Mode, angles: &[f32]) -> Vec<(&'static str, Vec<f32>, Vec<f32>)> {
        assert_eq!(angles.len() % 32, 0);
        Numerics::every(mode)
            .into_iter()
            .map(|numerics| {
                let (mut sines, mut cosines) = (vec![0.0; angles.len()], vec![0.0; angles.len()]);
                dispatch_numerics!(numerics, simd, A => kernel::<_, A>(simd, angles, &mut sines, &mut cosines));
                (numerics.name(), sines, cosines)
            })
            .collect()
    }

    fn worst_error(mode: Mode, reach: f32) -> f64 {
        let angles: Vec<f32> = (0..1 << 18).map(|index| reach * (index as f32 / (1 << 17) as f32 - 1.0)).collect();
        let mut worst = 0.0f64;
        for (_, sines, cosines) in every_level(mode, &angles) {
            for ((&angle, sine), cosine) in angles.iter().zip(sines).zip(cosines) {
                let (true_sine, true_cosine) = f64::from(angle).sin_cos();
                assert!(sine.abs() <= 1.0 && cosine.abs() <= 1.0, "{angle}: {sine} {cosine}");
                worst = worst.max((f64::from(sine) - true_sine).abs()).max((f64::from(cosine) - true_cosine).abs());
            }
        }
        worst
    }

    #[test]
    fn the_error_stays_within_what_is_documented_at_every_level() {
        for mode in [Mode::Fast, Mode::Reproducible] {
            let (near, far) = (worst_error(mode, 100.0), worst_error(mode, 6_000.0));
            println!("{mode:?}: {near:e} up to 100, {far:e} up to 6,000");
            assert!(near <= 2e-7, "{mode:?}: {near:e}");
            assert!(far <= 1e-6, "{mode:?}: {far:e}");
        }
    }

    #[test]
    fn small_angles_keep_their_relative_precision() {
        let angles: Vec<f32> = (0..320).map(|index| 0.7 * 0.9f32.powi(index)).collect();
        for mode in [Mode::Fast, Mode::Reproducible] {
            for (level, sines, _) in every_level(mode, &angles) {
                for (&angle, sine) in angles.iter().zip(sines) {
                    let truth = f64::from(angle).sin();
                    assert!((f64::from(sine) - truth).abs() <= 2.4e-7 * truth, "{level}: sine of {angle} is {sine}");
                }
            }
        }
    }

    #[test]
    fn reproducible_numbers_have_the_same_bits_at_every_level() {
        let angles: Vec<f32> = (0..1 << 14).map(|index| (index as f32 - 8_000.0).powi(5) * 1e-15).collect();
        let bits = |numbers: &[f32]| numbers.iter().map(|number| number.to_bits()).collect::<Vec<_>>();
        let levels = every_level(Mode::Reproducible, &angles);
        for (level, sines, cosines) in &levels {
            assert!(bits(sines) == bits(&levels[0].1) && bits(cosines) == bits(&levels[0].2), "{level}");
        }
    }

    #[test]
    fn far_angles_stay_in_range_and_no_angle_gives_no_number() {
        let mut angles = vec![1e7; 32];
        angles[..9].copy_from_slice(&[
            1e6,
            -1e9,
            3e20,
            f32::MAX,
            f32::MIN,
            f32::MIN_POSITIVE,
            f32::NAN,
            f32::INFINITY,
            f32::NEG_INFINITY,
        ]);
        for mode in [Mode::Fast, Mode::Reproducible] {
            for (level, sines, cosines) in every_level(mode, &angles) {
                for lane in 0..32 {
                    let (sine, cosine) = (sines[lane], cosines[lane]);
                    if (6..9).contains(&lane) {
                        assert!(sine.is_nan() && cosine.is_nan(), "{level}: {} {sine} {cosine}", angles[lane]);
                    } else {
                        assert!(sine.abs() <= 1.0 && cosine.abs() <= 1.0, "{level}: {} {sine}", angles[lane]);
                    }
                }
            }
        }
    }
}
