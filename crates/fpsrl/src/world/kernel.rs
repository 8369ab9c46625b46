//! A network on lanes: the forward pass in f32, many inputs at once.
//!
//! A group of lanes is two vectors wide. Each layer is computed in tiles of up to five neurons: ten sums stay in
//! registers, every weight that is loaded serves two multiplications, every input five. The arctangents of the layer follow
//! in a loop of their own, which leaves the registers to their coefficients. What one layer hands to the next lies in a
//! few kilobytes on the stack.

use super::network::{Layer, Network};
use crate::data::scaling::Scale;
use crate::simd::Arithmetic;
use crate::simd::functions::atan;
use fearless_simd::{Simd, SimdBase};

/// The widest layer, inputs included, that a kernel can hold.
pub const WIDEST: usize = 256;

/// Neurons that are computed together.
const TILE: usize = 5;

/// Two vectors of lanes.
pub(super) type Pair<S> = [<S as Simd>::f32s; 2];

/// A network laid out for lanes, with its scaling of inputs and output.
#[derive(Clone, Debug)]
pub(super) struct NetworkKernel {
    /// Centre and inverse spread of each input.
    scales: Vec<[f32; 2]>,
    layers: Vec<KernelLayer>,
    output_centre: f32,
    output_spread: f32,
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
    /// Lays a network out.
    pub(super) fn new(network: &Network, inputs: &[Scale], output: &Scale) -> Self {
        Self {
            scales: inputs.iter().map(|scale| [scale.centre as f32, (1.0 / scale.spread) as f32]).collect(),
            layers: network.layers.iter().map(KernelLayer::new).collect(),
            output_centre: output.centre as f32,
            output_spread: output.spread as f32,
        }
    }

    /// The widest layer, inputs included.
    pub(super) fn width(&self) -> usize {
        self.layers.iter().map(|layer| layer.inputs.max(layer.outputs)).max().unwrap_or(0)
    }

    /// The output for a group of lanes. `CAPACITY` must be at least [`NetworkKernel::width`].
    #[inline(always)]
    pub(super) fn evaluate<S: Simd, A: Arithmetic, const CAPACITY: usize>(
        &self,
        simd: S,
        inputs: &[Pair<S>],
        buffers: &mut [[Pair<S>; CAPACITY]; 2],
    ) -> Pair<S> {
        let [from, to] = buffers;
        let (mut from, mut to) = (&mut from[..], &mut to[..]);
        for ((scaled, input), &[centre, inverse_spread]) in from.iter_mut().zip(inputs).zip(&self.scales) {
            *scaled = [(input[0] - centre) * inverse_spread, (input[1] - centre) * inverse_spread];
        }
        let last = self.layers.len() - 1;
        for (index, layer) in self.layers.iter().enumerate() {
            layer.evaluate::<S, A>(simd, from, to);
            if index < last {
                for sum in to[..layer.outputs].as_flattened_mut() {
                    *sum = atan::<S, A>(simd, *sum);
                }
            }
            (from, to) = (to, from);
        }
        let (spread, centre) = (S::f32s::splat(simd, self.output_spread), S::f32s::splat(simd, self.output_centre));
        [A::mul_add::<S>(from[0][0], spread, centre), A::mul_add::<S>(from[0][1], spread, centre)]
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

    #[inline(always)]
    fn evaluate<S: Simd, A: Arithmetic>(&self, simd: S, from: &[Pair<S>], to: &mut [Pair<S>]) {
        let from = &from[..self.inputs];
        let mut numbers = &self.numbers[..];
        let mut to = to;
        for &tile in &self.tiles {
            let (these, later) = numbers.split_at(tile * (self.inputs + 1));
            let (outputs, after) = to.split_at_mut(tile);
            match tile {
                1 => evaluate_tile::<S, A, 1>(simd, these, from, outputs),
                2 => evaluate_tile::<S, A, 2>(simd, these, from, outputs),
                3 => evaluate_tile::<S, A, 3>(simd, these, from, outputs),
                4 => evaluate_tile::<S, A, 4>(simd, these, from, outputs),
                _ => evaluate_tile::<S, A, TILE>(simd, these, from, outputs),
            }
            numbers = later;
            to = after;
        }
    }
}

#[inline(always)]
fn evaluate_tile<S: Simd, A: Arithmetic, const N: usize>(
    simd: S,
    numbers: &[f32],
    from: &[Pair<S>],
    to: &mut [Pair<S>],
) {
    // The shapes are right by construction; a tile of another shape would be left alone.
    let ([biases, weights @ ..], []) = numbers.as_chunks::<N>() else { return };
    let (Some((first, rest)), Some((first_weights, weights))) = (from.split_first(), weights.split_first()) else {
        return;
    };
    // With the first input outside of the loop, the sums never pass through memory as plain numbers.
    let mut sums = [*first; N];
    for ((sum, &weight), &bias) in sums.iter_mut().zip(first_weights).zip(biases) {
        let (weight, bias) = (S::f32s::splat(simd, weight), S::f32s::splat(simd, bias));
        *sum = [A::mul_add::<S>(weight, sum[0], bias), A::mul_add::<S>(weight, sum[1], bias)];
    }
    // Three inputs in a turn of the loop, which would else spend a seventh of its instructions on counting.
    let (threes, rest) = rest.as_chunks::<3>();
    let (weights_of_threes, weights) = weights.split_at(weights.len().min(3 * threes.len()));
    for (inputs, columns) in threes.iter().zip(weights_of_threes.as_chunks::<3>().0) {
        for (input, column) in inputs.iter().zip(columns) {
            add_input::<S, A, N>(simd, &mut sums, input, column);
        }
    }
    for (input, column) in rest.iter().zip(weights) {
        add_input::<S, A, N>(simd, &mut sums, input, column);
    }
    for (output, sum) in to.iter_mut().zip(sums) {
        *output = sum;
    }
}

#[inline(always)]
fn add_input<S: Simd, A: Arithmetic, const N: usize>(
    simd: S,
    sums: &mut [Pair<S>; N],
    input: &Pair<S>,
    column: &[f32; N],
) {
    for (sum, &weight) in sums.iter_mut().zip(column) {
        let weight = S::f32s::splat(simd, weight);
        *sum = [A::mul_add::<S>(weight, input[0], sum[0]), A::mul_add::<S>(weight, input[1], sum[1])];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Stream};
    use crate::simd::{Mode, Numerics, dispatch_numerics};

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
    fn run<S: Simd, A: Arithmetic>(simd: S, kernel: &NetworkKernel, rows: &[Vec<f32>]) -> Vec<f32> {
        let mut buffers = [[[S::f32s::splat(simd, 0.0); 2]; WIDEST]; 2];
        let mut outputs = Vec::new();
        for group in rows.chunks(2 * S::f32s::LEN) {
            let inputs: Vec<Pair<S>> = (0..group[0].len())
                .map(|input| {
                    [0, 1].map(|half| {
                        S::f32s::from_fn(simd, |lane| {
                            group.get(half * S::f32s::LEN + lane).map_or(0.0, |row| row[input])
                        })
                    })
                })
                .collect();
            let output = kernel.evaluate::<S, A, WIDEST>(simd, &inputs, &mut buffers);
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
            let kernel = NetworkKernel::new(&network, &scales, &output);
            let rows: Vec<Vec<f32>> = (0..77)
                .map(|row| {
                    (0..sizes[0]).map(|input| (6.0 * stream.uniform(0, row, input as u32) - 3.0) as f32).collect()
                })
                .collect();
            for numerics in [Mode::Fast, Mode::Reproducible].into_iter().flat_map(Numerics::every) {
                let outputs = dispatch_numerics!(numerics, simd, Chosen => run::<_, Chosen>(simd, &kernel, &rows));
                for (row, got) in rows.iter().zip(&outputs) {
                    let scaled: Vec<f64> = row
                        .iter()
                        .zip(&scales)
                        .map(|(&value, scale)| (f64::from(value) - scale.centre) / scale.spread)
                        .collect();
                    let expected = network.evaluate(&scaled) * output.spread + output.centre;
                    let error = (f64::from(*got) - expected).abs();
                    assert!(error < 2e-4, "{sizes:?} {}: {got} for {expected}", numerics.name());
                }
            }
        }
    }
}
