//! Forward and backward passes of a network over blocks of rows, with its gradient and its Jacobian.
//!
//! Rows lie side by side: a block holds [`BLOCK`] numbers of its first input, then of the second, and so on, so that
//! every inner loop runs over rows and becomes vector code for whichever instruction set the machine has. Sums over
//! rows have one order at every instruction set.

use fearless_simd::{Level, dispatch};

use super::arctangent::arctangent;
use super::samples::{BLOCK, Samples};
use crate::network::{Layer, Network};

/// Rows that are computed together; four vectors of AVX2.
const CHUNK: usize = 16;

/// The sizes of a network's layers; where each layer's parameters lie in the flat vector.
///
/// A layer's weights come first, row by row, then its biases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    sizes: Vec<usize>,
}

impl Shape {
    /// A network with `depth` hidden layers.
    pub(crate) fn new(inputs: usize, neurons: usize, depth: usize) -> Self {
        let mut sizes = vec![neurons; depth + 2];
        sizes[0] = inputs;
        sizes[depth + 1] = 1;
        Self { sizes }
    }

    /// Layers, the output layer counted.
    pub(super) fn layers(&self) -> usize {
        self.sizes.len() - 1
    }

    /// Inputs of a layer.
    pub(super) fn inputs(&self, layer: usize) -> usize {
        self.sizes[layer]
    }

    /// Neurons of a layer.
    pub(super) fn outputs(&self, layer: usize) -> usize {
        self.sizes[layer + 1]
    }

    /// Where a layer's weights begin.
    pub(super) fn weights(&self, layer: usize) -> usize {
        (0..layer).map(|before| (self.inputs(before) + 1) * self.outputs(before)).sum()
    }

    /// Where a layer's biases begin.
    pub(super) fn biases(&self, layer: usize) -> usize {
        self.weights(layer) + self.inputs(layer) * self.outputs(layer)
    }

    /// Parameters of the whole network.
    pub(crate) fn parameters(&self) -> usize {
        self.weights(self.layers())
    }

    /// The network with these parameters.
    pub(crate) fn network(&self, parameters: &[f64]) -> Network {
        let layers = (0..self.layers())
            .map(|layer| Layer {
                inputs: self.inputs(layer),
                outputs: self.outputs(layer),
                weights: parameters[self.weights(layer)..self.biases(layer)].to_vec(),
                biases: parameters[self.biases(layer)..][..self.outputs(layer)].to_vec(),
            })
            .collect();
        Network { layers }
    }
}

/// A network's shape with the memory that its passes over a block need.
pub(crate) struct Passes {
    shape: Shape,
    level: Level,
    /// Of each layer: what its neurons give out.
    values: Vec<Vec<f64>>,
    /// Of each hidden layer: the arctangent's derivative there.
    slopes: Vec<Vec<f64>>,
    /// Of each layer: the derivative of the output (or of half of the squared error) by the neurons' sums.
    deltas: Vec<Vec<f64>>,
    /// Target minus output; 0 in the fill.
    residuals: Vec<f64>,
}

impl Passes {
    /// Passes for networks of a shape.
    pub(crate) fn new(shape: &Shape) -> Self {
        let room = || (0..shape.layers()).map(|layer| vec![0.0; shape.outputs(layer) * BLOCK]).collect();
        Self {
            shape: shape.clone(),
            level: Level::new(),
            values: room(),
            slopes: room(),
            deltas: room(),
            residuals: vec![0.0; BLOCK],
        }
    }

    /// The mean squared error over all rows.
    pub(crate) fn error(&mut self, parameters: &[f64], samples: &Samples) -> f64 {
        let mut sum = 0.0;
        for block in 0..samples.blocks() {
            sum += self.squares(parameters, samples, block);
        }
        sum / samples.rows() as f64
    }

    /// Target minus output of every row.
    pub(crate) fn residuals(&mut self, parameters: &[f64], samples: &Samples) -> Vec<f64> {
        let mut residuals = Vec::with_capacity(samples.blocks() * BLOCK);
        for block in 0..samples.blocks() {
            self.squares(parameters, samples, block);
            residuals.extend_from_slice(&self.residuals);
        }
        residuals.truncate(samples.rows());
        residuals
    }

    /// The residuals of the block that was passed last.
    pub(super) fn last_residuals(&self) -> &[f64] {
        &self.residuals
    }

    /// The sum of squared errors in a block. Leaves the residuals behind.
    pub(super) fn squares(&mut self, parameters: &[f64], samples: &Samples, block: usize) -> f64 {
        let (inputs, targets, weights) = samples.block(block);
        let Self { shape, values, residuals, level, .. } = self;
        dispatch!(*level, _ => {
            forward(shape, parameters, inputs, values, None);
            residual(values, targets, weights, residuals);
            dot(residuals, residuals)
        })
    }

    /// Adds a block's part of the gradient of half of the squared error, Σ (output - target) ∂output/∂parameter, to
    /// `gradient`, and returns the block's sum of squared errors.
    pub(super) fn add_gradient(
        &mut self,
        parameters: &[f64],
        samples: &Samples,
        block: usize,
        gradient: &mut [f64],
    ) -> f64 {
        let (inputs, targets, weights) = samples.block(block);
        let Self { shape, values, slopes, deltas, residuals, level } = self;
        dispatch!(*level, _ => {
            forward(shape, parameters, inputs, values, Some(slopes));
            residual(values, targets, weights, residuals);
            for (delta, residual) in deltas[shape.layers() - 1].iter_mut().zip(residuals.iter()) {
                *delta = -residual;
            }
            backward(shape, parameters, slopes, deltas);
            for layer in 0..shape.layers() {
                let before = if layer == 0 { inputs } else { &values[layer - 1] };
                let (width, start, biases) = (shape.inputs(layer), shape.weights(layer), shape.biases(layer));
                for (output, delta) in deltas[layer].chunks_exact(BLOCK).enumerate() {
                    for (input, value) in before.chunks_exact(BLOCK).enumerate() {
                        gradient[start + output * width + input] += dot(delta, value);
                    }
                    gradient[biases + output] += total(delta);
                }
            }
            dot(residuals, residuals)
        })
    }

    /// Writes a block's Jacobian ∂output/∂parameter, [`BLOCK`] rows for one parameter after the other, and returns
    /// the residuals target - output.
    pub(super) fn jacobian(
        &mut self,
        parameters: &[f64],
        samples: &Samples,
        block: usize,
        jacobian: &mut [f64],
    ) -> &[f64] {
        let (inputs, targets, weights) = samples.block(block);
        let Self { shape, values, slopes, deltas, residuals, level } = self;
        dispatch!(*level, _ => {
            forward(shape, parameters, inputs, values, Some(slopes));
            residual(values, targets, weights, residuals);
            deltas[shape.layers() - 1].copy_from_slice(weights);
            backward(shape, parameters, slopes, deltas);
            for layer in 0..shape.layers() {
                let before = if layer == 0 { inputs } else { &values[layer - 1] };
                let (width, start, biases) = (shape.inputs(layer), shape.weights(layer), shape.biases(layer));
                for (output, delta) in deltas[layer].chunks_exact(BLOCK).enumerate() {
                    for (input, value) in before.chunks_exact(BLOCK).enumerate() {
                        let column = &mut jacobian[(start + output * width + input) * BLOCK..][..BLOCK];
                        for ((entry, d), v) in column.iter_mut().zip(delta).zip(value) {
                            *entry = d * v;
                        }
                    }
                    jacobian[(biases + output) * BLOCK..][..BLOCK].copy_from_slice(delta);
                }
            }
        });
        &self.residuals
    }

    /// Subtracts the product of a block's Jacobian and its residuals: the block's part of the gradient.
    pub(super) fn add_product(&self, jacobian: &[f64], gradient: &mut [f64]) {
        let residuals = &self.residuals;
        dispatch!(self.level, _ => {
            for (entry, column) in gradient.iter_mut().zip(jacobian.chunks_exact(BLOCK)) {
                *entry -= dot(column, residuals);
            }
        })
    }
}

/// Fills `values`, and `slopes` of hidden layers where asked.
#[inline(always)]
fn forward(
    shape: &Shape,
    parameters: &[f64],
    inputs: &[f64],
    values: &mut [Vec<f64>],
    mut slopes: Option<&mut Vec<Vec<f64>>>,
) {
    let last = shape.layers() - 1;
    for layer in 0..=last {
        let (done, rest) = values.split_at_mut(layer);
        let before = if layer == 0 { inputs } else { &done[layer - 1] };
        let width = shape.inputs(layer);
        for output in 0..shape.outputs(layer) {
            let weights = &parameters[shape.weights(layer) + output * width..][..width];
            let bias = parameters[shape.biases(layer) + output];
            for chunk in (0..BLOCK).step_by(CHUNK) {
                let mut sum = [bias; CHUNK];
                for (weight, column) in weights.iter().zip(before.chunks_exact(BLOCK)) {
                    let column = &column[chunk..chunk + CHUNK];
                    for lane in 0..CHUNK {
                        sum[lane] += weight * column[lane];
                    }
                }
                let place = output * BLOCK + chunk;
                if layer < last {
                    if let Some(slopes) = slopes.as_deref_mut() {
                        let slope = &mut slopes[layer][place..place + CHUNK];
                        for lane in 0..CHUNK {
                            slope[lane] = 1.0 / (1.0 + sum[lane] * sum[lane]);
                        }
                    }
                    for lane in 0..CHUNK {
                        sum[lane] = arctangent(sum[lane]);
                    }
                }
                rest[0][place..place + CHUNK].copy_from_slice(&sum);
            }
        }
    }
}

/// Carries `deltas` of the output layer back to the hidden ones.
#[inline(always)]
fn backward(shape: &Shape, parameters: &[f64], slopes: &[Vec<f64>], deltas: &mut [Vec<f64>]) {
    for layer in (0..shape.layers() - 1).rev() {
        let (before, after) = deltas.split_at_mut(layer + 1);
        let (delta, next) = (&mut before[layer], &after[0]);
        let width = shape.outputs(layer);
        let weights = &parameters[shape.weights(layer + 1)..shape.biases(layer + 1)];
        for neuron in 0..width {
            for chunk in (0..BLOCK).step_by(CHUNK) {
                let mut sum = [0.0; CHUNK];
                for (output, column) in next.chunks_exact(BLOCK).enumerate() {
                    let weight = weights[output * width + neuron];
                    let column = &column[chunk..chunk + CHUNK];
                    for lane in 0..CHUNK {
                        sum[lane] += weight * column[lane];
                    }
                }
                let place = neuron * BLOCK + chunk;
                let slope = &slopes[layer][place..place + CHUNK];
                let delta = &mut delta[place..place + CHUNK];
                for lane in 0..CHUNK {
                    delta[lane] = sum[lane] * slope[lane];
                }
            }
        }
    }
}

#[inline(always)]
fn residual(values: &[Vec<f64>], targets: &[f64], weights: &[f64], residuals: &mut [f64]) {
    let outputs = &values[values.len() - 1];
    for row in 0..BLOCK {
        residuals[row] = weights[row] * (targets[row] - outputs[row]);
    }
}

#[inline(always)]
fn dot(left: &[f64], right: &[f64]) -> f64 {
    let mut sums = [0.0; CHUNK];
    for (left, right) in left.chunks_exact(CHUNK).zip(right.chunks_exact(CHUNK)) {
        for lane in 0..CHUNK {
            sums[lane] += left[lane] * right[lane];
        }
    }
    sums.iter().sum()
}

#[inline(always)]
fn total(numbers: &[f64]) -> f64 {
    let mut sums = [0.0; CHUNK];
    for numbers in numbers.chunks_exact(CHUNK) {
        for lane in 0..CHUNK {
            sums[lane] += numbers[lane];
        }
    }
    sums.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fpsrl_base::random::{Purpose, Stream};

    /// 300 rows (a full block and a part of one) of three inputs, and parameters for two hidden layers.
    fn example() -> (Shape, Vec<f64>, Samples, Vec<Vec<f64>>, Vec<f64>) {
        let stream = Stream::new(5, Purpose::Weights);
        let columns: Vec<Vec<f64>> =
            (0..3).map(|input| (0..300).map(|row| stream.normal(0, row, input)).collect()).collect();
        let targets: Vec<f64> = (0..300).map(|row| stream.normal(1, row, 0)).collect();
        let shape = Shape::new(3, 4, 2);
        let parameters = (0..shape.parameters()).map(|index| stream.normal(2, index as u32, 0)).collect();
        let samples = Samples::new(&columns, &targets);
        (shape, parameters, samples, columns, targets)
    }

    #[test]
    fn the_error_is_that_of_the_plain_network() {
        let (shape, parameters, samples, columns, targets) = example();
        let network = shape.network(&parameters);
        let plain: f64 = (0..300)
            .map(|row| (network.evaluate(&[columns[0][row], columns[1][row], columns[2][row]]) - targets[row]).powi(2))
            .sum();
        let error = Passes::new(&shape).error(&parameters, &samples);
        assert!((error - plain / 300.0).abs() < 1e-12 * error, "{error} {}", plain / 300.0);
    }

    #[test]
    fn the_gradient_is_the_slope_of_the_error() {
        let (shape, parameters, samples, ..) = example();
        let mut passes = Passes::new(&shape);
        let mut gradient = vec![0.0; shape.parameters()];
        let squares: f64 =
            (0..samples.blocks()).map(|block| passes.add_gradient(&parameters, &samples, block, &mut gradient)).sum();
        assert!((squares / 300.0 - passes.error(&parameters, &samples)).abs() < 1e-12 * squares);
        for index in 0..shape.parameters() {
            let mut moved = parameters.clone();
            moved[index] += 1e-6;
            let above = passes.error(&moved, &samples);
            moved[index] -= 2e-6;
            let slope = (above - passes.error(&moved, &samples)) / 2e-6;
            let expected = gradient[index] * 2.0 / 300.0;
            assert!((slope - expected).abs() < 1e-6 * (1.0 + expected.abs()), "{index}: {slope} {expected}");
        }
    }

    #[test]
    fn the_jacobian_is_the_slope_of_each_output_and_zero_in_the_fill() {
        let (shape, parameters, samples, columns, _) = example();
        let mut passes = Passes::new(&shape);
        let mut jacobian = vec![f64::NAN; shape.parameters() * BLOCK];
        passes.jacobian(&parameters, &samples, 1, &mut jacobian);
        for index in 0..shape.parameters() {
            for lane in [0, 17, 43] {
                let row = BLOCK + lane;
                let inputs = [columns[0][row], columns[1][row], columns[2][row]];
                let mut moved = parameters.clone();
                moved[index] += 1e-6;
                let above = shape.network(&moved).evaluate(&inputs);
                moved[index] -= 2e-6;
                let slope = (above - shape.network(&moved).evaluate(&inputs)) / 2e-6;
                let entry = jacobian[index * BLOCK + lane];
                assert!((slope - entry).abs() < 1e-7 * (1.0 + slope.abs()), "{index}: {slope} {entry}");
            }
            assert!(jacobian[index * BLOCK + 44..][..BLOCK - 44].iter().all(|&entry| entry == 0.0));
        }
    }

    #[test]
    fn jacobian_times_residuals_is_the_gradient() {
        let (shape, parameters, samples, ..) = example();
        let mut passes = Passes::new(&shape);
        let (mut direct, mut product) = (vec![0.0; shape.parameters()], vec![0.0; shape.parameters()]);
        let mut jacobian = vec![0.0; shape.parameters() * BLOCK];
        for block in 0..samples.blocks() {
            passes.add_gradient(&parameters, &samples, block, &mut direct);
            passes.jacobian(&parameters, &samples, block, &mut jacobian);
            passes.add_product(&jacobian, &mut product);
        }
        for (left, right) in direct.iter().zip(&product) {
            assert!((left - right).abs() < 1e-10, "{left} {right}");
        }
    }
}
