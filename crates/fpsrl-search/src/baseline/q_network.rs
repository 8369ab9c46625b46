//! The network of NFQ in f32 on lanes: sigmoid neurons throughout, its gradient over a batch, and Rprop.
//!
//! Lanes are rows. Rows go through the network a block at a time; what the layers hand to each other stays in the
//! first-level cache. Blocks are gathered in portions of a fixed size, whose gradients are added up in a fixed order:
//! so the result does not depend on the number of threads.

use std::borrow::Cow;

use fearless_simd::{Simd, SimdBase};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use fpsrl_base::random::Stream;
use fpsrl_engine::simd::functions::sigmoid;
use fpsrl_engine::simd::{Arithmetic, Numerics, dispatch_numerics};

/// Rows that go through the network together: the widest vectors divide it, and twenty neurons of them take 5 kB.
pub(super) const BLOCK: usize = 64;

/// Blocks whose gradients one thread adds up at a time.
const PORTION: usize = 16;

/// Neurons that are computed together.
const TILE: usize = 5;

/// A network with sigmoid neurons and one sigmoid output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QNetwork {
    /// Neurons of each layer, from the inputs to the output.
    pub sizes: Vec<usize>,
    /// Layer by layer the weights, neuron by neuron, then the biases.
    pub parameters: Vec<f32>,
}

/// Rows to be learned: scaled inputs a column each, padded to whole blocks.
#[derive(Clone, Debug)]
pub(super) struct Batch {
    rows: usize,
    /// `inputs[input][row]`
    inputs: Vec<Vec<f32>>,
}

impl Batch {
    /// Takes columns of equal length.
    pub(super) fn new(columns: Vec<Vec<f32>>) -> Self {
        let rows = columns.first().map_or(0, Vec::len);
        let mut inputs = columns;
        inputs.iter_mut().for_each(|column| column.resize(rows.next_multiple_of(BLOCK), 0.0));
        Self { rows, inputs }
    }

    /// Rows, without the padding.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Replaces a column by one number.
    pub(super) fn fill(&mut self, input: usize, value: f32) {
        self.inputs[input].fill(value);
    }

    fn blocks(&self) -> usize {
        self.rows.div_ceil(BLOCK)
    }

    fn load(&self, block: usize, buffers: &mut Buffers) {
        for (value, column) in buffers.inputs().chunks_exact_mut(BLOCK).zip(&self.inputs) {
            value.copy_from_slice(&column[block * BLOCK..][..BLOCK]);
        }
    }
}

/// Where a layer's numbers lie among the parameters.
#[derive(Clone, Copy, Debug)]
struct LayerPlace {
    inputs: usize,
    outputs: usize,
    weights: usize,
    biases: usize,
}

/// A network laid out for passes over blocks of rows.
#[derive(Clone, Debug)]
pub(super) struct QKernel<'a> {
    network: Cow<'a, QNetwork>,
    places: Vec<LayerPlace>,
    /// Weights of each layer, input by input.
    transposed: Vec<Vec<f32>>,
}

/// What a thread needs for one block.
pub(super) struct Buffers {
    /// What each layer gives out, the inputs first: a row of [`BLOCK`] numbers for each neuron.
    values: Vec<Vec<f32>>,
    /// The slopes of the squared error by the sums of each layer.
    slopes: Vec<Vec<f32>>,
}

impl Buffers {
    /// The inputs, a row of [`BLOCK`] numbers each, to be filled before [`QKernel::forward`].
    pub(super) fn inputs(&mut self) -> &mut [f32] {
        &mut self.values[0]
    }

    /// The output of each row of the block.
    pub(super) fn outputs(&self) -> &[f32] {
        self.values.last().map_or(&[], |values| &values[..BLOCK])
    }
}

impl QNetwork {
    /// A network with random weights; each `run` has others.
    pub(super) fn random(sizes: &[usize], stream: Stream, run: u32) -> Self {
        let mut network = Self { sizes: sizes.to_vec(), parameters: Vec::new() };
        for (layer, pair) in sizes.windows(2).enumerate() {
            // Sums of a neuron stay well inside of where the sigmoid is steep: a flatter beginning ends in a smoother fit.
            let reach = 0.7 / (pair[0] as f64).sqrt();
            for index in 0..(pair[0] + 1) * pair[1] {
                network.parameters.push(stream.within(-reach, reach, run, layer as u32, index as u32) as f32);
            }
        }
        network
    }

    /// How many numbers a network of these sizes has.
    pub(super) fn parameter_count(sizes: &[usize]) -> usize {
        sizes.windows(2).map(|pair| (pair[0] + 1) * pair[1]).sum()
    }

    /// What is wrong with a network that was read from a file and should have so many inputs, if anything is.
    pub(super) fn fault(&self, inputs: usize) -> Option<String> {
        if self.sizes.len() < 2 || self.sizes.contains(&0) || self.sizes.last() != Some(&1) {
            return Some("its layers are not two or more with one output".into());
        }
        if self.sizes[0] != inputs {
            return Some(format!("it reads {} numbers instead of {inputs}", self.sizes[0]));
        }
        if self.parameters.len() != Self::parameter_count(&self.sizes) {
            return Some(format!("it has {} parameters for its layers", self.parameters.len()));
        }
        self.parameters.iter().any(|number| !number.is_finite()).then(|| "a parameter is not finite".into())
    }

    /// The output in f64, as the equations have it: what the lanes are tested against.
    pub fn evaluate(&self, inputs: &[f64]) -> f64 {
        let mut values = inputs.to_vec();
        for place in self.places() {
            values = (0..place.outputs)
                .map(|neuron| {
                    let weights = &self.parameters[place.weights + neuron * place.inputs..][..place.inputs];
                    let sum: f64 = weights.iter().zip(&values).map(|(&weight, value)| f64::from(weight) * value).sum();
                    1.0 / (1.0 + (-sum - f64::from(self.parameters[place.biases + neuron])).exp())
                })
                .collect();
        }
        values[0]
    }

    fn places(&self) -> Vec<LayerPlace> {
        let mut weights = 0;
        self.sizes
            .windows(2)
            .map(|pair| {
                let place =
                    LayerPlace { inputs: pair[0], outputs: pair[1], weights, biases: weights + pair[0] * pair[1] };
                weights = place.biases + pair[1];
                place
            })
            .collect()
    }

    /// The same network in numbers that are easier to learn: a neuron's bias is counted from where the neurons that it
    /// reads give out 1/2, the middle of their range, so that a weight can move without dragging the bias along.
    pub(super) fn centred(&self) -> Vec<f32> {
        self.moved_biases(&self.parameters, 0.5)
    }

    /// Takes numbers of the kind that [`QNetwork::centred`] gives.
    pub(super) fn set_centred(&mut self, centred: &[f32]) {
        self.parameters = self.moved_biases(centred, -0.5);
    }

    /// Turns slopes by the parameters into slopes by the centred numbers.
    pub(super) fn centre_gradient(&self, gradient: &mut [f64]) {
        for place in self.places().iter().skip(1) {
            for neuron in 0..place.outputs {
                let by_bias = gradient[place.biases + neuron];
                let weights = &mut gradient[place.weights + neuron * place.inputs..][..place.inputs];
                weights.iter_mut().for_each(|slope| *slope -= 0.5 * by_bias);
            }
        }
    }

    /// Adds a multiple of a neuron's weights to its bias, in every layer that reads sigmoids.
    fn moved_biases(&self, parameters: &[f32], multiple: f32) -> Vec<f32> {
        let mut moved = parameters.to_vec();
        for place in self.places().iter().skip(1) {
            for neuron in 0..place.outputs {
                let weights = &parameters[place.weights + neuron * place.inputs..][..place.inputs];
                moved[place.biases + neuron] += multiple * weights.iter().sum::<f32>();
            }
        }
        moved
    }

    /// The network laid out for passes.
    pub(super) fn kernel(&self) -> QKernel<'_> {
        QKernel::new(Cow::Borrowed(self))
    }
}

impl<'a> QKernel<'a> {
    pub(super) fn new(network: Cow<'a, QNetwork>) -> Self {
        let places = network.places();
        let transposed = places
            .iter()
            .map(|place| {
                let weight =
                    |input: usize, output: usize| network.parameters[place.weights + output * place.inputs + input];
                let outputs = 0..place.outputs;
                (0..place.inputs)
                    .flat_map(|input| outputs.clone().map(move |output| (input, output)))
                    .map(|(input, output)| weight(input, output))
                    .collect()
            })
            .collect();
        Self { network, places, transposed }
    }

    /// Room for one thread.
    pub(super) fn buffers(&self) -> Buffers {
        let room = |sizes: &[usize]| sizes.iter().map(|size| vec![0.0; size * BLOCK]).collect();
        let sizes = &self.network.sizes;
        Buffers { values: room(sizes), slopes: room(&sizes[1..]) }
    }

    /// The output of every row.
    pub(super) fn outputs(&self, batch: &Batch, numerics: Numerics) -> Vec<f32> {
        let mut outputs = vec![0.0; batch.blocks() * BLOCK];
        outputs.par_chunks_mut(PORTION * BLOCK).enumerate().for_each(|(portion, outputs)| {
            let mut buffers = self.buffers();
            for (index, outputs) in outputs.chunks_exact_mut(BLOCK).enumerate() {
                let block = portion * PORTION + index;
                batch.load(block, &mut buffers);
                dispatch_numerics!(numerics, simd, Chosen => self.forward::<_, Chosen>(simd, &mut buffers));
                outputs.copy_from_slice(buffers.outputs());
            }
        });
        outputs.truncate(batch.rows);
        outputs
    }

    /// The slope of half of the squared error, summed over all rows, by every parameter; and that error.
    pub(super) fn gradient(&self, batch: &Batch, targets: &[f32], numerics: Numerics) -> (Vec<f64>, f64) {
        let portions: Vec<(Vec<f32>, f64)> = (0..batch.blocks().div_ceil(PORTION))
            .into_par_iter()
            .map(|portion| {
                let mut buffers = self.buffers();
                let mut gradient = vec![0.0; self.network.parameters.len()];
                let mut error = 0.0;
                for block in portion * PORTION..((portion + 1) * PORTION).min(batch.blocks()) {
                    batch.load(block, &mut buffers);
                    error += dispatch_numerics!(numerics, simd, Chosen => {
                        self.forward::<_, Chosen>(simd, &mut buffers);
                        let error = self.residuals(targets, block, &mut buffers);
                        self.backward::<_, Chosen>(simd, &mut buffers, &mut gradient);
                        error
                    });
                }
                (gradient, error)
            })
            .collect();
        let mut gradient = vec![0.0; self.network.parameters.len()];
        let mut error = 0.0;
        for (part, part_error) in &portions {
            gradient.iter_mut().zip(part).for_each(|(sum, &slope)| *sum += f64::from(slope));
            error += part_error;
        }
        (gradient, error)
    }

    /// From the inputs in the buffers to the output.
    #[inline(always)]
    pub(super) fn forward<S: Simd, A: Arithmetic>(&self, simd: S, buffers: &mut Buffers) {
        for (layer, place) in self.places.iter().enumerate() {
            let (before, after) = buffers.values.split_at_mut(layer + 1);
            let (from, to) = (&before[layer][..], &mut after[0][..]);
            let biases = &self.network.parameters[place.biases..][..place.outputs];
            multiply::<S, A>(simd, &self.transposed[layer], biases, from, to);
            for value in to.chunks_exact_mut(S::f32s::LEN) {
                sigmoid::<S, A>(simd, S::f32s::from_slice(simd, value)).store_slice(value);
            }
        }
    }

    /// Puts the output's slopes down; returns half of the block's squared error. Rows of the padding have none.
    #[inline(always)]
    fn residuals(&self, targets: &[f32], block: usize, buffers: &mut Buffers) -> f64 {
        let last = self.places.len();
        let outputs = &buffers.values[last][..BLOCK];
        let slopes = &mut buffers.slopes[last - 1][..BLOCK];
        slopes.fill(0.0);
        let mut error = 0.0f32;
        let targets = &targets[block * BLOCK..targets.len().min((block + 1) * BLOCK)];
        for ((slope, &output), &target) in slopes.iter_mut().zip(outputs).zip(targets) {
            let residual = output - target;
            error += residual * residual;
            *slope = residual * output * (1.0 - output);
        }
        0.5 * f64::from(error)
    }

    #[inline(always)]
    fn backward<S: Simd, A: Arithmetic>(&self, simd: S, buffers: &mut Buffers, gradient: &mut [f32]) {
        let Buffers { values, slopes } = buffers;
        for (layer, place) in self.places.iter().enumerate().rev() {
            let (earlier, own) = slopes.split_at_mut(layer);
            let own = &own[0][..place.outputs * BLOCK];
            let weights = &mut gradient[place.weights..place.biases];
            add_products::<S, A>(simd, own, &values[layer], place.inputs, weights);
            for (sum, slopes) in gradient[place.biases..].iter_mut().zip(own.chunks_exact(BLOCK)) {
                *sum += total::<S>(simd, slopes);
            }
            let Some(before) = earlier.last_mut() else { continue };
            let zeros = vec![0.0; place.inputs];
            let weights = &self.network.parameters[place.weights..place.biases];
            multiply::<S, A>(simd, weights, &zeros, own, before);
            let one = S::f32s::splat(simd, 1.0);
            let width = S::f32s::LEN;
            for (slope, value) in before.chunks_exact_mut(width).zip(values[layer].chunks_exact(width)) {
                let value = S::f32s::from_slice(simd, value);
                (S::f32s::from_slice(simd, slope) * value * (one - value)).store_slice(slope);
            }
        }
    }
}

/// Of a block: `to[neuron] = biases[neuron] + Σ weights[input][neuron] · from[input]`.
#[inline(always)]
fn multiply<S: Simd, A: Arithmetic>(simd: S, weights: &[f32], biases: &[f32], from: &[f32], to: &mut [f32]) {
    let count = biases.len();
    let mut first = 0;
    while first < count {
        match count - first {
            1 => multiply_tile::<S, A, 1>(simd, weights, biases, first, from, to),
            2 => multiply_tile::<S, A, 2>(simd, weights, biases, first, from, to),
            3 => multiply_tile::<S, A, 3>(simd, weights, biases, first, from, to),
            4 => multiply_tile::<S, A, 4>(simd, weights, biases, first, from, to),
            _ => multiply_tile::<S, A, TILE>(simd, weights, biases, first, from, to),
        }
        first += TILE;
    }
}

#[inline(always)]
fn multiply_tile<S: Simd, A: Arithmetic, const N: usize>(
    simd: S,
    weights: &[f32],
    biases: &[f32],
    first: usize,
    from: &[f32],
    to: &mut [f32],
) {
    let width = S::f32s::LEN;
    for row in (0..BLOCK).step_by(2 * width) {
        let mut sums = [[S::f32s::splat(simd, 0.0); 2]; N];
        for (sum, &bias) in sums.iter_mut().zip(&biases[first..first + N]) {
            *sum = [S::f32s::splat(simd, bias); 2];
        }
        for (column, weights) in from.chunks_exact(BLOCK).zip(weights.chunks_exact(biases.len())) {
            let (one, two) = column[row..row + 2 * width].split_at(width);
            let (one, two) = (S::f32s::from_slice(simd, one), S::f32s::from_slice(simd, two));
            for (sum, &weight) in sums.iter_mut().zip(&weights[first..first + N]) {
                let weight = S::f32s::splat(simd, weight);
                *sum = [A::mul_add::<S>(weight, one, sum[0]), A::mul_add::<S>(weight, two, sum[1])];
            }
        }
        for (column, sum) in to[first * BLOCK..].chunks_exact_mut(BLOCK).zip(sums) {
            let (one, two) = column[row..row + 2 * width].split_at_mut(width);
            sum[0].store_slice(one);
            sum[1].store_slice(two);
        }
    }
}

/// Of a block: `sums[neuron][input] += Σ slopes[neuron] · values[input]` over its rows.
#[inline(always)]
fn add_products<S: Simd, A: Arithmetic>(simd: S, slopes: &[f32], values: &[f32], inputs: usize, sums: &mut [f32]) {
    let outputs = slopes.len() / BLOCK;
    let mut first = 0;
    while first < outputs {
        match outputs - first {
            1 => add_products_tile::<S, A, 1>(simd, slopes, first, values, inputs, sums),
            2 => add_products_tile::<S, A, 2>(simd, slopes, first, values, inputs, sums),
            3 => add_products_tile::<S, A, 3>(simd, slopes, first, values, inputs, sums),
            4 => add_products_tile::<S, A, 4>(simd, slopes, first, values, inputs, sums),
            _ => add_products_tile::<S, A, TILE>(simd, slopes, first, values, inputs, sums),
        }
        first += TILE;
    }
}

#[inline(always)]
fn add_products_tile<S: Simd, A: Arithmetic, const N: usize>(
    simd: S,
    slopes: &[f32],
    first: usize,
    values: &[f32],
    inputs: usize,
    sums: &mut [f32],
) {
    let width = S::f32s::LEN;
    for pair in 0..inputs.div_ceil(2) {
        let input = 2 * pair;
        // An odd last input is computed twice and written once.
        let other = (input + 1).min(inputs - 1);
        let (one, two) = (&values[input * BLOCK..][..BLOCK], &values[other * BLOCK..][..BLOCK]);
        let mut products = [[S::f32s::splat(simd, 0.0); 2]; N];
        for row in (0..BLOCK).step_by(width) {
            let one = S::f32s::from_slice(simd, &one[row..row + width]);
            let two = S::f32s::from_slice(simd, &two[row..row + width]);
            for (neuron, product) in products.iter_mut().enumerate() {
                let place = (first + neuron) * BLOCK + row;
                let slope = S::f32s::from_slice(simd, &slopes[place..place + width]);
                *product = [A::mul_add::<S>(slope, one, product[0]), A::mul_add::<S>(slope, two, product[1])];
            }
        }
        for (neuron, product) in products.into_iter().enumerate() {
            sums[(first + neuron) * inputs + input] += sum_of_lanes::<S>(product[0]);
            if other != input {
                sums[(first + neuron) * inputs + other] += sum_of_lanes::<S>(product[1]);
            }
        }
    }
}

#[inline(always)]
fn total<S: Simd>(simd: S, numbers: &[f32]) -> f32 {
    let mut sum = S::f32s::splat(simd, 0.0);
    for part in numbers.chunks_exact(S::f32s::LEN) {
        sum += S::f32s::from_slice(simd, part);
    }
    sum_of_lanes::<S>(sum)
}

#[inline(always)]
fn sum_of_lanes<S: Simd>(vector: S::f32s) -> f32 {
    vector.as_slice().iter().sum()
}

/// Resilient propagation (Riedmiller and Braun 1993; the variant iRprop⁻ of Igel and Hüsken 2000): each parameter has a
/// step of its own, which grows while the sign of its slope stays and shrinks when it changes.
#[derive(Clone, Debug)]
pub(super) struct Rprop {
    steps: Vec<f32>,
    last: Vec<f64>,
}

impl Rprop {
    const FIRST: f32 = 0.1;
    const GROW: f32 = 1.2;
    const SHRINK: f32 = 0.5;
    const LEAST: f32 = 1e-6;
    const MOST: f32 = 50.0;

    pub(super) fn new(parameters: usize) -> Self {
        Self { steps: vec![Self::FIRST; parameters], last: vec![0.0; parameters] }
    }

    /// Moves the parameters against their slopes.
    pub(super) fn step(&mut self, parameters: &mut [f32], gradient: &[f64]) {
        for (((parameter, step), last), &slope) in
            parameters.iter_mut().zip(&mut self.steps).zip(&mut self.last).zip(gradient)
        {
            let turned = *last * slope;
            *last = slope;
            if turned > 0.0 {
                *step = (*step * Self::GROW).min(Self::MOST);
            } else if turned < 0.0 {
                *step = (*step * Self::SHRINK).max(Self::LEAST);
                *last = 0.0;
                continue;
            }
            *parameter -= *step * (slope.signum() * f64::from(slope != 0.0)) as f32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fpsrl_base::random::Purpose;
    use fpsrl_engine::simd::Mode;

    fn example(sizes: &[usize], rows: usize) -> (QNetwork, Batch, Vec<f32>, Vec<Vec<f32>>) {
        let stream = Stream::new(3, Purpose::QWeights);
        let network = QNetwork::random(sizes, stream, 0);
        let columns: Vec<Vec<f32>> = (0..sizes[0])
            .map(|input| (0..rows).map(|row| stream.within(-2.0, 2.0, 9, row as u32, input as u32) as f32).collect())
            .collect();
        let targets = (0..rows).map(|row| stream.uniform(10, row as u32, 0) as f32).collect();
        (network, Batch::new(columns.clone()), targets, columns)
    }

    fn row(columns: &[Vec<f32>], row: usize) -> Vec<f64> {
        columns.iter().map(|column| f64::from(column[row])).collect()
    }

    #[test]
    fn lanes_compute_the_network_in_f64_at_every_level() {
        for sizes in [&[3, 20, 20, 1][..], &[5, 7, 1], &[2, 1], &[4, 6, 3, 11, 1]] {
            let (network, batch, _, columns) = example(sizes, 150);
            for numerics in [Mode::Fast, Mode::Reproducible].into_iter().flat_map(Numerics::every) {
                let outputs = network.kernel().outputs(&batch, numerics);
                assert_eq!(outputs.len(), 150);
                for (index, &output) in outputs.iter().enumerate() {
                    let expected = network.evaluate(&row(&columns, index));
                    assert!((f64::from(output) - expected).abs() < 1e-5, "{sizes:?}: {output} {expected}");
                }
            }
        }
    }

    #[test]
    fn the_gradient_is_the_slope_of_the_error() {
        let (network, batch, targets, columns) = example(&[3, 6, 5, 1], 150);
        let error = |network: &QNetwork| -> f64 {
            (0..150)
                .map(|index| 0.5 * (network.evaluate(&row(&columns, index)) - f64::from(targets[index])).powi(2))
                .sum()
        };
        for numerics in Numerics::every(Mode::Fast) {
            let (gradient, total) = network.kernel().gradient(&batch, &targets, numerics);
            assert!((total - error(&network)).abs() < 1e-4 * total);
            for index in 0..network.parameters.len() {
                let mut moved = network.clone();
                let middle = moved.parameters[index];
                moved.parameters[index] = middle + 1e-2;
                let above = error(&moved);
                moved.parameters[index] = middle - 1e-2;
                let slope = (above - error(&moved)) / 2e-2;
                let got = gradient[index];
                assert!((slope - got).abs() < 2e-3 * (1.0 + slope.abs()), "{index}: {slope} {got}");
            }
        }
    }

    #[test]
    fn centred_numbers_are_the_same_network_and_have_their_own_slopes() {
        let (network, batch, targets, columns) = example(&[3, 6, 5, 1], 150);
        let numerics = Numerics::detect(Mode::Fast);
        let (mut gradient, _) = network.kernel().gradient(&batch, &targets, numerics);
        network.centre_gradient(&mut gradient);
        let centred = network.centred();
        let rebuilt = |numbers: &[f32]| {
            let mut network = network.clone();
            network.set_centred(numbers);
            network
        };
        let error = |network: &QNetwork| -> f64 {
            (0..150)
                .map(|index| 0.5 * (network.evaluate(&row(&columns, index)) - f64::from(targets[index])).powi(2))
                .sum()
        };
        assert!((error(&rebuilt(&centred)) - error(&network)).abs() < 1e-5);
        for index in 0..centred.len() {
            let moved = |by: f32| {
                let mut numbers = centred.clone();
                numbers[index] += by;
                error(&rebuilt(&numbers))
            };
            let slope = (moved(1e-2) - moved(-1e-2)) / 2e-2;
            assert!((slope - gradient[index]).abs() < 2e-3 * (1.0 + slope.abs()), "{index}: {slope}");
        }
    }

    #[test]
    fn the_gradient_does_not_depend_on_threads() {
        let (network, batch, targets, _) = example(&[3, 20, 20, 1], 5_000);
        let numerics = Numerics::detect(Mode::Fast);
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| network.kernel().gradient(&batch, &targets, numerics))
        };
        assert_eq!(on(1), on(3));
    }

    #[test]
    fn rprop_moves_each_parameter_as_worked_out_by_hand() {
        let mut rprop = Rprop::new(2);
        let mut parameters = [1.0, 1.0];
        rprop.step(&mut parameters, &[2.0, -0.5]);
        assert_eq!(parameters, [0.9, 1.1]);
        // The same signs: steps of 0.12.
        rprop.step(&mut parameters, &[0.1, -3.0]);
        assert!((parameters[0] - 0.78).abs() < 1e-6 && (parameters[1] - 1.22).abs() < 1e-6);
        // The first turns: its step halves to 0.06, and it rests for once.
        rprop.step(&mut parameters, &[-0.1, 0.0]);
        assert!((parameters[0] - 0.78).abs() < 1e-6 && (parameters[1] - 1.22).abs() < 1e-6);
        rprop.step(&mut parameters, &[-0.1, 0.0]);
        assert!((parameters[0] - 0.84).abs() < 1e-6 && (parameters[1] - 1.22).abs() < 1e-6);
    }

    #[test]
    fn training_fits_a_function() {
        let (mut network, batch, _, columns) = example(&[2, 12, 12, 1], 600);
        let targets: Vec<f32> =
            (0..600).map(|row| 0.5 + 0.3 * (1.5 * columns[0][row]).sin() * columns[1][row].tanh()).collect();
        let numerics = Numerics::detect(Mode::Fast);
        let mut rprop = Rprop::new(network.parameters.len());
        for _ in 0..500 {
            let (gradient, _) = network.kernel().gradient(&batch, &targets, numerics);
            rprop.step(&mut network.parameters, &gradient);
        }
        let (_, error) = network.kernel().gradient(&batch, &targets, numerics);
        assert!(error / 600.0 < 5e-5, "{}", error / 600.0);
    }
}
