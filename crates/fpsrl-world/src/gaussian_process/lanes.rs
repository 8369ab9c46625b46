//! A Gaussian process on lanes: its mean in f32, many inputs at once.
//!
//! exp(-½ Σ (x - c)² / ℓ²) is 2^(-Σ (x w - c w)²) with w² = ½ log₂ e / ℓ²: inputs are multiplied once, and each centre then
//! costs a subtraction and a multiplication for each input, a power of two and one multiplication more. The differences are taken
//! before they are squared, because x² - 2 x c + c² would cancel. Scales of the data are part of the numbers, as in
//! [`crate::kernel`].

use fearless_simd::{Simd, SimdBase};

use super::GaussianProcess;
use crate::kernel::Group;
use fpsrl_data::scaling::Scale;
use fpsrl_engine::simd::Arithmetic;
use fpsrl_engine::simd::functions::exp2_at_most_one;

/// A process laid out for lanes, with its scaling of inputs and output.
#[derive(Clone, Debug)]
pub(crate) struct ProcessKernel {
    /// Of each input: what it is multiplied by for distances, and for the straight part.
    factors: Vec<[f32; 2]>,
    offset: f32,
    /// Of each centre: its inputs, multiplied, then its coefficient.
    centres: Vec<f32>,
}

impl ProcessKernel {
    /// Lays a process out. Its inputs will be given relative to `origin`.
    pub(crate) fn new(process: &GaussianProcess, inputs: &[Scale], output: &Scale, origin: &[f64]) -> Self {
        let covariance = &process.covariance;
        let half_log2_e = (0.5 * std::f64::consts::LOG2_E).sqrt();
        let widths: Vec<f64> = inputs
            .iter()
            .zip(&covariance.lengths)
            .map(|(scale, length)| half_log2_e / (length * scale.spread))
            .collect();
        let slopes: Vec<f64> =
            process.slopes.iter().zip(inputs).map(|(slope, scale)| slope / scale.spread * output.spread).collect();
        // The straight part at the origin.
        let offset: f64 = slopes.iter().zip(inputs).zip(origin).map(|((s, scale), o)| s * (o - scale.centre)).sum();
        let mut centres = Vec::with_capacity(process.centres.len() * (inputs.len() + 1));
        for (centre, coefficient) in process.centres.iter().zip(&process.coefficients) {
            for (((value, scale), origin), width) in centre.iter().zip(inputs).zip(origin).zip(&widths) {
                centres.push(((scale.undo(*value) - origin) * width) as f32);
            }
            centres.push((coefficient * covariance.smooth * output.spread) as f32);
        }
        Self {
            factors: widths.iter().zip(&slopes).map(|(&width, &slope)| [width as f32, slope as f32]).collect(),
            offset: (offset + process.offset * output.spread + output.centre) as f32,
            centres,
        }
    }

    /// Inputs, which must have room in the buffers.
    pub(crate) fn width(&self) -> usize {
        self.factors.len()
    }

    /// The mean for a group of lanes, whose inputs are relative to the origin. `CAPACITY` must be at least
    /// [`ProcessKernel::width`].
    #[inline(always)]
    pub(crate) fn evaluate<S: Simd, A: Arithmetic, const CAPACITY: usize, const VECTORS: usize>(
        &self,
        simd: S,
        inputs: &[Group<S, VECTORS>],
        buffers: &mut [[Group<S, VECTORS>; CAPACITY]; 2],
    ) -> Group<S, VECTORS> {
        let count = self.factors.len();
        let zero = [S::f32s::splat(simd, 0.0); VECTORS];
        let mut straight = [S::f32s::splat(simd, self.offset); VECTORS];
        let multiplied = &mut buffers[0][..count];
        for ((multiplied, input), [width, slope]) in multiplied.iter_mut().zip(inputs).zip(&self.factors) {
            for vector in 0..VECTORS {
                multiplied[vector] = input[vector] * *width;
                straight[vector] = A::mul_add::<S>(input[vector], S::f32s::splat(simd, *slope), straight[vector]);
            }
        }
        let mut sum = zero;
        for centre in self.centres.chunks_exact(count + 1) {
            let (places, coefficient) = centre.split_at(count);
            let mut square = zero;
            for (input, place) in multiplied.iter().zip(places) {
                for vector in 0..VECTORS {
                    let apart = input[vector] - *place;
                    square[vector] = A::mul_add::<S>(apart, apart, square[vector]);
                }
            }
            let coefficient = S::f32s::splat(simd, coefficient[0]);
            for vector in 0..VECTORS {
                let near = exp2_at_most_one::<S, A>(simd, -square[vector]);
                sum[vector] = A::mul_add::<S>(near, coefficient, sum[vector]);
            }
        }
        for (sum, straight) in sum.iter_mut().zip(straight) {
            *sum += straight;
        }
        sum
    }
}
