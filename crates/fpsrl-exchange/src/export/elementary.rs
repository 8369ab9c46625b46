//! Exponential and hyperbolic tangent for targets that have none: the constants of a polynomial.
//!
//! e^x = 2^n · e^r with n = round(x / ln 2) and |r| ≤ ln 2 / 2, where Taylor's series of degree 13 is exact to an f64 and
//! one of degree 7 to an f32. ln 2 is two numbers, so that n · ln 2 loses nothing. 2^n is a product of powers of ½.

use super::controller::Precision;
use super::view::Literal;

/// Exponents below this give a membership of zero: far above where numbers underflow.
pub(super) fn lowest_exponent(precision: Precision) -> f64 {
    match precision {
        Precision::Double => -700.0,
        Precision::Single => -80.0,
    }
}

/// The constants, as literals of a language.
pub(super) fn constants(precision: Precision, literal: Literal) -> minijinja::Value {
    let literal = |value: f64| literal(value, precision);
    let (degree, bits, ln2) = match precision {
        Precision::Double => (13, 10, [6.931_471_803_691_238e-1, 1.908_214_929_270_587_7e-10]),
        Precision::Single => (7, 7, [0.693_359_375, -2.121_944_400_546_905_8e-4]),
    };
    let mut coefficients = vec![1.0];
    for power in 1..=degree {
        coefficients.insert(0, coefficients[0] / f64::from(power));
    }
    minijinja::context! {
        coefficients => coefficients.into_iter().map(literal).collect::<Vec<_>>(),
        halves => (0..bits).map(|bit| literal(0.5f64.powi(1 << bit))).collect::<Vec<_>>(),
        per_ln2 => literal(std::f64::consts::LOG2_E),
        ln2_high => literal(ln2[0]),
        ln2_low => literal(ln2[1]),
        splitter => literal(4097.0),
        lowest_exponent => literal(lowest_exponent(precision)),
        zero => literal(0.0),
        half => literal(0.5),
        one => literal(1.0),
        two => literal(2.0),
        minus_two => literal(-2.0),
    }
}
