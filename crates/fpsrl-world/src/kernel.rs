//! A network on lanes: the forward pass in f32, many inputs at once.
//!
//! A group of lanes is two vectors wide, or one where few lanes are left. Each layer is computed in tiles of up to five
//! neurons: ten sums stay in registers, every weight that is loaded serves two multiplications, every input five. The
//! sums go through the first half of the arctangent while they are there; the second halves of the layer follow in a loop of
//! their own, which leaves the registers to their coefficients. What one layer hands to the next lies in a few kilobytes
//! on the stack.
//!
//! All scales are part of the weights: those of the data, and those of the arctangent
//! ([`fpsrl_engine::simd::functions::begin_scaled_atan`]). Only the centres of the inputs are not, because a centre far from zero
//! would cancel against the bias at the cost of digits; whoever holds several networks subtracts them once for all.

use super::network::{Layer, Network};
use fearless_simd::{Simd, SimdBase};
use fpsrl_data::scaling::Scale;
use fpsrl_engine::simd::Arithmetic;
use fpsrl_engine::simd::functions::{ATAN_INPUT_SCALE, ATAN_OUTPUT_SCALE, begin_scaled_atan, end_scaled_atan};

/// The widest layer, inputs included, that a kernel can hold.
pub const WIDEST: usize = 256;

/// Neurons that are computed together.
const TILE: usize = 5;

/// Inputs of most layers: what ten neurons hand to the next ten.
const USUAL_INPUTS: usize = 10;

/// A group of lanes: one vector or two.
pub(super) type Group<S, const VECTORS: usize> = [<S as Simd>::f32s; VECTORS];

/// A network laid out for lanes, with its scaling of inputs and output.
#[derive(Clone, Debug)]
pub(super) struct NetworkKernel {
    hidden: Vec<KernelLayer>,
    output: KernelLayer,
}

#[derive(Clone, Debug)]
struct KernelLayer {
    inputs: usize,
    outputs: usize,
    /// Sizes of the tiles, which add up to the layer's outputs.
    tiles: Vec<usize>,
    /// For each tile: its biases, then for each input its weights.
    numbers: Vec<f32>,
}

impl NetworkKernel {
    /// Lays a network out. Its inputs will be given relative to `origin`.
    pub(super) fn new(network: &Network, inputs: &[Scale], output: &Scale, origin: &[f64]) -> Self {
        let mut layers = network.layers.clone();
        if let Some(first) = layers.first_mut() {
            for (bias, weights) in first.biases.iter_mut().zip(first.weights.chunks_exact_mut(first.inputs.max(1))) {
                for ((weight, scale), origin) in weights.iter_mut().zip(inputs).zip(origin) {
                    *weight /= scale.spread;
                    *bias += *weight * (origin - scale.centre);
                }
            }
        }
        let last = layers.len() - 1;
        for (index, layer) in layers.iter_mut().enumerate() {
            let from = if index > 0 { ATAN_OUTPUT_SCALE } else { 1.0 };
            let to = if index < last { f64::from(ATAN_INPUT_SCALE) } else { output.spread };
            layer.weights.iter_mut().for_each(|weight| *weight *= to / from);
            layer.biases.iter_mut().for_each(|bias| *bias *= to);
        }
        layers[last].biases.iter_mut().for_each(|bias| *bias += output.centre);
        Self { hidden: layers[..last].iter().map(KernelLayer::new).collect(), output: KernelLayer::new(&layers[last]) }
    }

    /// The widest layer, inputs included.
    pub(super) fn width(&self) -> usize {
        self.hidden.iter().chain([&self.output]).map(|layer| layer.inputs.max(layer.outputs)).max().unwrap_or(0)
    }

    /// The output for a group of lanes, whose inputs are relative to the origin. `CAPACITY` must be at least
    /// [`NetworkKernel::width`].
    #[inline(always)]
    pub(super) fn evaluate<S: Simd, A: Arithmetic, const CAPACITY: usize, const VECTORS: usize>(
        &self,
        simd: S,
        inputs: &[Group<S, VECTORS>],
        buffers: &mut [[Group<S, VECTORS>; CAPACITY]; 2],
    ) -> Group<S, VECTORS> {
        let [from, to] = buffers;
        let (mut from, mut to) = (&mut from[..], &mut to[..]);
        let mut inputs = inputs;
        for layer in &self.hidden {
            layer.evaluate::<S, A, VECTORS>(simd, inputs, to);
            for quotients in &mut to[..layer.outputs] {
                for quotient in quotients {
                    *quotient = end_scaled_atan::<S, A>(simd, *quotient);
                }
            }
            (from, to) = (to, from);
            inputs = from;
        }
        self.output.evaluate_output::<S, A, VECTORS>(simd, inputs)
    }
}

impl KernelLayer {
    fn new(layer: &Layer) -> Self {
        let count = layer.outputs.div_ceil(TILE);
        // As even as possible: a tile of one would waste the registers.
        let tiles: Vec<usize> = (0..count).map(|tile| (layer.outputs + tile) / count).collect();
        let mut numbers = Vec::new();
        let mut first = 0;
        for &tile in &tiles {
            numbers.extend(layer.biases[first..first + tile].iter().map(|&bias| bias as f32));
            for input in 0..layer.inputs {
                numbers.extend((first..first + tile).map(|output| layer.weights[output * layer.inputs + input] as f32));
            }
            first += tile;
        }
        Self { inputs: layer.inputs, outputs: layer.outputs, tiles, numbers }
    }

    /// The sums of a hidden layer, gone through the first half of the arctangent.
    #[inline(always)]
    fn evaluate<S: Simd, A: Arithmetic, const VECTORS: usize>(
        &self,
        simd: S,
        from: &[Group<S, VECTORS>],
        to: &mut [Group<S, VECTORS>],
    ) {
        let from = &from[..self.inputs];
        let mut numbers = &self.numbers[..];
        let mut to = to;
        for &tile in &self.tiles {
            let (these, later) = numbers.split_at(tile * (self.inputs + 1));
            let (outputs, after) = to.split_at_mut(tile);
            match tile {
                1 => begin_tile::<S, A, 1, VECTORS>(simd, these, from, outputs),
                2 => begin_tile::<S, A, 2, VECTORS>(simd, these, from, outputs),
                3 => begin_tile::<S, A, 3, VECTORS>(simd, these, from, outputs),
                4 => begin_tile::<S, A, 4, VECTORS>(simd, these, from, outputs),
                _ => begin_tile::<S, A, TILE, VECTORS>(simd, these, from, outputs),
            }
            numbers = later;
            to = after;
        }
    }

    /// The sum of an output layer, which has one neuron.
    #[inline(always)]
    fn evaluate_output<S: Simd, A: Arithmetic, const VECTORS: usize>(
        &self,
        simd: S,
        from: &[Group<S, VECTORS>],
    ) -> Group<S, VECTORS> {
        match sum_tile::<S, A, 1, VECTORS>(simd, &self.numbers, &from[..self.inputs]) {
            Some([sum]) => sum,
            None => [S::f32s::splat(simd, 0.0); VECTORS],
        }
    }
}

#[inline(always)]
fn begin_tile<S: Simd, A: Arithmetic, const N: usize, const VECTORS: usize>(
    simd: S,
    numbers: &[f32],
    from: &[Group<S, VECTORS>],
    to: &mut [Group<S, VECTORS>],
) {
    let Some(sums) = sum_tile::<S, A, N, VECTORS>(simd, numbers, from) else { return };
    for (output, sum) in to.iter_mut().zip(sums) {
        for (output, sum) in output.iter_mut().zip(sum) {
            *output = begin_scaled_atan(simd, sum);
        }
    }
}

/// Bias and weighted inputs of `N` neurons. The shapes are right by construction; there is nothing for another shape.
#[inline(always)]
fn sum_tile<S: Simd, A: Arithmetic, const N: usize, const VECTORS: usize>(
    simd: S,
    numbers: &[f32],
    from: &[Group<S, VECTORS>],
) -> Option<[Group<S, VECTORS>; N]> {
    let ([biases, first_weights, weights @ ..], []) = numbers.as_chunks::<N>() else { return None };
    let (first, rest) = from.split_first()?;
    // With the first input outside of the loop, the sums never pass through memory as plain numbers.
    let mut sums = [*first; N];
    for ((sum, &weight), &bias) in sums.iter_mut().zip(first_weights).zip(biases) {
        let (weight, bias) = (S::f32s::splat(simd, weight), S::f32s::splat(simd, bias));
        for sum in sum {
            *sum = A::mul_add::<S>(weight, *sum, bias);
        }
    }
    // The usual number of inputs is known to the compiler, which then needs no loop.
    if let (Ok(rest), Ok(weights)) =
        (<&[_; USUAL_INPUTS - 1]>::try_from(rest), <&[_; USUAL_INPUTS - 1]>::try_from(weights))
    {
        for (input, column) in rest.iter().zip(weights) {
            add_input::<S, A, N, VECTORS>(simd, &mut sums, input, column);
        }
    } else {
        for (input, column) in rest.iter().zip(weights) {
            add_input::<S, A, N, VECTORS>(simd, &mut sums, input, column);
        }
    }
    Some(sums)
}

#[inline(always)]
fn add_input<S: Simd, A: Arithmetic, const N: usize, const VECTORS: usize>(
    simd: S,
    sums: &mut [Group<S, VECTORS>; N],
    input: &Group<S, VECTORS>,
    column: &[f32; N],
) {
    for (sum, &weight) in sums.iter_mut().zip(column) {
        let weight = S::f32s::splat(simd, weight);
        for (sum, &input) in sum.iter_mut().zip(input) {
            *sum = A::mul_add::<S>(weight, input, *sum);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fpsrl_base::random::{Purpose, Stream};
    use fpsrl_engine::simd::{Mode, Numerics, dispatch_numerics};

    fn random_network(sizes: &[usize]) -> Network {
        let stream = Stream::new(1, Purpose::Weights);
        let layers = sizes
            .windows(2)
            .enumerate()
            .map(|(index, pair)| Layer {
                inputs: pair[0],
                outputs: pair[1],
                weights: (0..pair[0] * pair[1])
                    .map(|weight| 2.0 * stream.normal(index as u32, weight as u32, 0) / (pair[0] as f64).sqrt())
                    .collect(),
                biases: (0..pair[1]).map(|bias| stream.normal(index as u32, bias as u32, 1)).collect(),
            })
            .collect();
        Network { layers }
    }

    #[inline(always)]
    fn run<S: Simd, A: Arithmetic, const VECTORS: usize>(
        simd: S,
        kernel: &NetworkKernel,
        rows: &[Vec<f32>],
    ) -> Vec<f32> {
        let mut buffers = [[[S::f32s::splat(simd, 0.0); VECTORS]; WIDEST]; 2];
        let mut outputs = Vec::new();
        for group in rows.chunks(VECTORS * S::f32s::LEN) {
            let inputs: Vec<Group<S, VECTORS>> = (0..group[0].len())
                .map(|input| {
                    std::array::from_fn(|vector| {
                        S::f32s::from_fn(simd, |lane| {
                            group.get(vector * S::f32s::LEN + lane).map_or(0.0, |row| row[input])
                        })
                    })
                })
                .collect();
            let output = kernel.evaluate::<S, A, WIDEST, VECTORS>(simd, &inputs, &mut buffers);
            let flat: Vec<f32> = output.iter().flat_map(|vector| vector.as_slice().to_vec()).collect();
            outputs.extend_from_slice(&flat[..group.len()]);
        }
        outputs
    }

    #[test]
    fn lanes_compute_what_the_network_does_in_f64_for_every_shape_and_level() {
        let shapes: [&[usize]; 7] = [
            &[3, 10, 1],
            &[5, 10, 10, 1],
            &[9, 10, 10, 10, 1],
            &[1, 1, 1],
            &[7, 16, 11, 1],
            &[5, 64, 64, 64, 1],
            &[2, 23, 1],
        ];
        let stream = Stream::new(2, Purpose::LogAction);
        for sizes in shapes {
            let network = random_network(sizes);
            let scales: Vec<Scale> =
                (0..sizes[0]).map(|input| Scale { centre: 0.5 - input as f64, spread: 1.0 + input as f64 }).collect();
            let output = Scale { centre: -0.25, spread: 3.0 };
            let origin: Vec<f64> = (0..sizes[0]).map(|input| 0.25 * input as f64 - 0.5).collect();
            let kernel = NetworkKernel::new(&network, &scales, &output, &origin);
            let rows: Vec<Vec<f32>> = (0..77)
                .map(|row| {
                    (0..sizes[0]).map(|input| (6.0 * stream.uniform(0, row, input as u32) - 3.0) as f32).collect()
                })
                .collect();
            for numerics in [Mode::Fast, Mode::Reproducible].into_iter().flat_map(Numerics::every) {
                let outputs = dispatch_numerics!(numerics, simd, Chosen => run::<_, Chosen, 2>(simd, &kernel, &rows));
                let one_by_one =
                    dispatch_numerics!(numerics, simd, Chosen => run::<_, Chosen, 1>(simd, &kernel, &rows));
                assert_eq!(outputs, one_by_one, "a lane's number depends on the size of its group");
                for (row, got) in rows.iter().zip(&outputs) {
                    let scaled: Vec<f64> = row
                        .iter()
                        .zip(&origin)
                        .zip(&scales)
                        .map(|((&value, origin), scale)| (f64::from(value) + origin - scale.centre) / scale.spread)
                        .collect();
                    let expected = network.evaluate(&scaled) * output.spread + output.centre;
                    let error = (f64::from(*got) - expected).abs();
                    assert!(error < 2e-4, "{sizes:?} {}: {got} for {expected}", numerics.name());
                }
            }
        }
    }
}
