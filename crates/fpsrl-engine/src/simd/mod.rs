//! Lanes of f32, the instruction set they run on, and the functions that rollouts need.
//!
//! Kernels are written once, generic over [`fearless_simd::Simd`] and over [`Arithmetic`], and compiled for every
//! instruction set; [`Numerics`] says which of them runs.

pub mod functions;
pub mod trigonometry;

pub use fearless_simd;
use fearless_simd::{Level, Simd, SimdFloat};

/// How numbers are computed in rollouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Mode {
    /// As fast as the machine can: multiplications and additions are fused where the instruction set can.
    #[default]
    Fast,
    /// The same bits at every SIMD level: nothing is fused, and sums have one order.
    Reproducible,
}

/// The instruction set and the mode that a rollout computes in.
///
/// ```
/// use fpsrl_engine::simd::{Mode, Numerics};
/// let numerics = Numerics::detect(Mode::Fast);
/// assert!(Numerics::every(Mode::Fast).iter().any(|one| one.name() == numerics.name()));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Numerics {
    /// The instruction set.
    pub level: Level,
    /// Fused or reproducible.
    pub mode: Mode,
}

impl Numerics {
    /// The best instruction set of this machine.
    pub fn detect(mode: Mode) -> Self {
        Self { level: Level::new(), mode }
    }

    /// Every instruction set of this machine that kernels are compiled for, the plainest first.
    pub fn every(mode: Mode) -> Vec<Self> {
        let best = Level::new();
        #[allow(unused_mut)]
        let mut levels = vec![Level::baseline()];
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        {
            levels.extend(best.as_avx2().map(Level::Avx2));
            levels.extend(best.as_avx512().map(Level::Avx512));
        }
        let _ = best;
        levels.into_iter().map(|level| Self { level, mode }).collect()
    }

    /// The instruction set's name.
    pub fn name(&self) -> &'static str {
        #[allow(unreachable_patterns)]
        match self.level {
            #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
            Level::Avx2(_) => "AVX2+FMA",
            #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
            Level::Avx512(_) => "AVX-512",
            #[cfg(target_arch = "aarch64")]
            Level::Neon(_) => "NEON",
            _ => "plain",
        }
    }
}

impl std::fmt::Display for Numerics {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mode = if self.mode == Mode::Fast { "fast" } else { "reproducible" };
        write!(formatter, "{}, {mode}", self.name())
    }
}

/// Whether a multiplication and an addition may be one operation; the mode of [`Numerics`] as a type, so that
/// kernels are compiled for both.
pub trait Arithmetic: Copy + Send + Sync + 'static {
    /// a · b + c
    fn mul_add<S: Simd>(a: S::f32s, b: S::f32s, c: S::f32s) -> S::f32s;
}

/// [`Mode::Fast`].
#[derive(Clone, Copy, Debug)]
pub struct Fused;

/// [`Mode::Reproducible`].
#[derive(Clone, Copy, Debug)]
pub struct Separate;

impl Arithmetic for Fused {
    #[inline(always)]
    fn mul_add<S: Simd>(a: S::f32s, b: S::f32s, c: S::f32s) -> S::f32s {
        // Fused where the hardware does it, two operations elsewhere.
        a.mul_add(b, c)
    }
}

impl Arithmetic for Separate {
    #[inline(always)]
    fn mul_add<S: Simd>(a: S::f32s, b: S::f32s, c: S::f32s) -> S::f32s {
        a * b + c
    }
}

/// Runs `$body` with `$simd` bound to the token of the instruction set and `$arithmetic` to the mode's type.
///
/// Kernels are compiled for AVX-512, AVX2+FMA and what every machine of the architecture has (NEON, SSE2): the sets in
/// between are rare, and each costs as much compilation as AVX2.
#[macro_export]
macro_rules! dispatch_numerics {
    ($numerics:expr, $simd:ident, $arithmetic:ident => $body:expr) => {{
        let numerics: $crate::simd::Numerics = $numerics;
        match numerics.mode {
            $crate::simd::Mode::Fast => {
                type $arithmetic = $crate::simd::Fused;
                $crate::simd::dispatch_level!(numerics.level, $simd => $body)
            }
            $crate::simd::Mode::Reproducible => {
                type $arithmetic = $crate::simd::Separate;
                $crate::simd::dispatch_level!(numerics.level, $simd => $body)
            }
        }
    }};
}
pub use dispatch_numerics;

/// Runs `$body` compiled for the instruction set of `$level`, or for the baseline if there is none of its own.
#[doc(hidden)]
#[macro_export]
macro_rules! dispatch_level {
    ($level:expr, $simd:ident => $body:expr) => {{
        use $crate::simd::fearless_simd::{Level, Simd as _};
        match $level {
            #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
            Level::Avx512($simd) => $simd.vectorize(
                #[inline(always)]
                || $body,
            ),
            #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
            Level::Avx2($simd) => $simd.vectorize(
                #[inline(always)]
                || $body,
            ),
            _ => match Level::baseline() {
                #[cfg(target_arch = "x86_64")]
                Level::Sse2($simd) => $simd.vectorize(
                    #[inline(always)]
                    || $body,
                ),
                #[cfg(target_arch = "aarch64")]
                Level::Neon($simd) => $simd.vectorize(
                    #[inline(always)]
                    || $body,
                ),
                #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
                baseline => $crate::simd::fearless_simd::dispatch!(baseline, $simd => $body),
                #[allow(unreachable_patterns)]
                _ => unreachable!("the baseline is one of these"),
            },
        }
    }};
}
pub use dispatch_level;
