//! What the equations of motion ask of a number, so that they are written once.
//!
//! An `f64` is the truth: logs and evaluations are made with it. [`Group`] is two vectors of f32 lanes, for a fast
//! search on a known plant.

use std::ops::{Add, Div, Mul, Neg, Sub};

use fearless_simd::{ExtractToken, Select, Simd, SimdBase, SimdFloat, SimdMask};

use fpsrl_engine::angle::wrap_angle;
use fpsrl_engine::simd::Arithmetic;
use fpsrl_engine::simd::trigonometry::sine_cosine;

/// A number, or several that are computed alike.
///
/// Every method must be inlined always: only then do the vectors' instructions end up in the dispatched kernel.
pub(crate) trait Number:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> + Neg<Output = Self>
{
    /// What a comparison gives.
    type Truth: Copy;

    /// A constant of the same kind as `self`.
    fn constant(self, value: f64) -> Self;
    /// `self` · `factor` + `summand`
    fn mul_add(self, factor: Self, summand: Self) -> Self;
    fn sqrt(self) -> Self;
    fn abs(self) -> Self;
    fn sine_cosine(self) -> (Self, Self);
    /// Moved by whole turns into [-π, π].
    fn wrapped(self) -> Self;
    /// `self` < `limit`
    fn below(self, limit: f64) -> Self::Truth;
    /// `self` ≤ `limit`
    fn at_most(self, limit: f64) -> Self::Truth;
    /// `self` ≥ `limit`
    fn at_least(self, limit: f64) -> Self::Truth;
    /// Both of them.
    fn both(first: Self::Truth, second: Self::Truth) -> Self::Truth;
    /// The contrary.
    fn not(truth: Self::Truth) -> Self::Truth;
    /// `yes` where it is true, `no` elsewhere.
    fn select(truth: Self::Truth, yes: Self, no: Self) -> Self;
}

impl Number for f64 {
    type Truth = bool;

    #[inline(always)]
    fn constant(self, value: f64) -> Self {
        value
    }

    #[inline(always)]
    fn mul_add(self, factor: Self, summand: Self) -> Self {
        // Not fused: without the instruction that would be a slow call, and the truth should not depend on it.
        self * factor + summand
    }

    #[inline(always)]
    fn sqrt(self) -> Self {
        f64::sqrt(self)
    }

    #[inline(always)]
    fn abs(self) -> Self {
        f64::abs(self)
    }

    #[inline(always)]
    fn sine_cosine(self) -> (Self, Self) {
        self.sin_cos()
    }

    #[inline(always)]
    fn wrapped(self) -> Self {
        wrap_angle(self)
    }

    #[inline(always)]
    fn below(self, limit: f64) -> bool {
        self < limit
    }

    #[inline(always)]
    fn at_most(self, limit: f64) -> bool {
        self <= limit
    }

    #[inline(always)]
    fn at_least(self, limit: f64) -> bool {
        self >= limit
    }

    #[inline(always)]
    fn both(first: bool, second: bool) -> bool {
        first && second
    }

    #[inline(always)]
    fn not(truth: bool) -> bool {
        !truth
    }

    #[inline(always)]
    fn select(truth: bool, yes: Self, no: Self) -> Self {
        if truth { yes } else { no }
    }
}

/// Vectors in a [`Group`]. Each step of the integrator waits for the one before it; a second, independent vector
/// fills the time.
pub(crate) const VECTORS: usize = 2;

/// Two vectors of f32 lanes that are computed alike.
pub(crate) struct Group<S: Simd, A: Arithmetic> {
    vectors: [S::f32s; VECTORS],
    arithmetic: std::marker::PhantomData<A>,
}

impl<S: Simd, A: Arithmetic> Clone for Group<S, A> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<S: Simd, A: Arithmetic> Copy for Group<S, A> {}

impl<S: Simd, A: Arithmetic> Group<S, A> {
    /// Lanes of a group.
    pub(crate) const LANES: usize = VECTORS * <S::f32s as SimdBase<S>>::LEN;

    /// The lanes of a slice, [`Group::LANES`] of them.
    #[inline(always)]
    pub(crate) fn load(simd: S, lanes: &[f32]) -> Self {
        let length = <S::f32s as SimdBase<S>>::LEN;
        let mut vectors = [S::f32s::splat(simd, 0.0); VECTORS];
        for index in 0..VECTORS {
            vectors[index] = S::f32s::from_slice(simd, &lanes[index * length..][..length]);
        }
        Self::of(vectors)
    }

    /// Puts the lanes into a slice, [`Group::LANES`] of them.
    #[inline(always)]
    pub(crate) fn store(self, lanes: &mut [f32]) {
        let length = <S::f32s as SimdBase<S>>::LEN;
        for index in 0..VECTORS {
            self.vectors[index].store_slice(&mut lanes[index * length..][..length]);
        }
    }

    #[inline(always)]
    fn of(vectors: [S::f32s; VECTORS]) -> Self {
        Self { vectors, arithmetic: std::marker::PhantomData }
    }
}

/// Writes an operator of [`Group`], vector by vector. Closures would not be inlined for certain.
macro_rules! operator {
    ($operator:ident, $method:ident, $assign:tt) => {
        impl<S: Simd, A: Arithmetic> $operator for Group<S, A> {
            type Output = Self;

            #[inline(always)]
            fn $method(mut self, other: Self) -> Self {
                for index in 0..VECTORS {
                    self.vectors[index] $assign other.vectors[index];
                }
                self
            }
        }
    };
}

operator!(Add, add, +=);
operator!(Sub, sub, -=);
operator!(Mul, mul, *=);
operator!(Div, div, /=);

impl<S: Simd, A: Arithmetic> Neg for Group<S, A> {
    type Output = Self;

    #[inline(always)]
    fn neg(mut self) -> Self {
        for index in 0..VECTORS {
            self.vectors[index] = -self.vectors[index];
        }
        self
    }
}

/// Writes a comparison of [`Group`] with a constant.
macro_rules! comparison {
    ($name:ident, $compare:ident) => {
        #[inline(always)]
        fn $name(self, limit: f64) -> Self::Truth {
            let mut truth = [S::mask32s::splat(self.vectors[0].token(), false); VECTORS];
            for index in 0..VECTORS {
                truth[index] = self.vectors[index].$compare(limit as f32);
            }
            truth
        }
    };
}

impl<S: Simd, A: Arithmetic> Number for Group<S, A> {
    type Truth = [S::mask32s; VECTORS];

    #[inline(always)]
    fn constant(self, value: f64) -> Self {
        Self::of([S::f32s::splat(self.vectors[0].token(), value as f32); VECTORS])
    }

    #[inline(always)]
    fn mul_add(mut self, factor: Self, summand: Self) -> Self {
        for index in 0..VECTORS {
            self.vectors[index] = A::mul_add::<S>(self.vectors[index], factor.vectors[index], summand.vectors[index]);
        }
        self
    }

    #[inline(always)]
    fn sqrt(mut self) -> Self {
        for index in 0..VECTORS {
            self.vectors[index] = self.vectors[index].sqrt();
        }
        self
    }

    #[inline(always)]
    fn abs(mut self) -> Self {
        for index in 0..VECTORS {
            self.vectors[index] = self.vectors[index].abs();
        }
        self
    }

    #[inline(always)]
    fn sine_cosine(self) -> (Self, Self) {
        let (mut sine, mut cosine) = (self, self);
        for index in 0..VECTORS {
            (sine.vectors[index], cosine.vectors[index]) = sine_cosine::<S, A>(self.vectors[index]);
        }
        (sine, cosine)
    }

    #[inline(always)]
    fn wrapped(mut self) -> Self {
        /// 2π in two parts; the first has so few bits that whole turns times it are exact.
        const TURN: [f64; 2] = [6.283203125, std::f64::consts::TAU - 6.283203125];
        let (coarse, fine) = (self.constant(TURN[0]), self.constant(TURN[1]));
        for index in 0..VECTORS {
            let angle = self.vectors[index];
            let turns = -(angle * (1.0 / std::f32::consts::TAU)).round_ties_even();
            let rest = A::mul_add::<S>(turns, coarse.vectors[index], angle);
            self.vectors[index] = A::mul_add::<S>(turns, fine.vectors[index], rest);
        }
        self
    }

    comparison!(below, simd_lt);
    comparison!(at_most, simd_le);
    comparison!(at_least, simd_ge);

    #[inline(always)]
    fn both(mut first: Self::Truth, second: Self::Truth) -> Self::Truth {
        for index in 0..VECTORS {
            first[index] &= second[index];
        }
        first
    }

    #[inline(always)]
    fn not(mut truth: Self::Truth) -> Self::Truth {
        for index in 0..VECTORS {
            truth[index] = !truth[index];
        }
        truth
    }

    #[inline(always)]
    fn select(truth: Self::Truth, mut yes: Self, no: Self) -> Self {
        for index in 0..VECTORS {
            yes.vectors[index] = truth[index].select(yes.vectors[index], no.vectors[index]);
        }
        yes
    }
}
