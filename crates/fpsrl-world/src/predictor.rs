//! What predicts a quantity: a network, a Gaussian process, a forest, or a sum that carries the past along; as stored, and on
//! lanes.

use std::borrow::Cow;

use fearless_simd::Simd;
use serde::{Deserialize, Serialize};

use super::forest::Forest;
use super::forest::lanes::ForestKernel;
use super::gaussian_process::GaussianProcess;
use super::gaussian_process::lanes::ProcessKernel;
use super::given::Given;
use super::kernel::{Group, NetworkKernel};
use super::network::{Layer, Network};
use fpsrl_data::scaling::Scale;
use fpsrl_engine::simd::Arithmetic;

/// What predicts a quantity, between scaled numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Predictor {
    /// A network.
    Network(Network),
    /// A Gaussian process.
    GaussianProcess(Box<GaussianProcess>),
    /// A forest, or a single tree.
    Forest(Forest),
    /// Not learned: the past is carried along. The change is the sum of the inputs with these weights.
    Carried(Vec<f64>),
    /// Not learned: an input, or what follows from other variables after the step.
    Given(Given),
}

impl Predictor {
    /// The output for scaled inputs.
    pub fn evaluate(&self, inputs: &[f64]) -> f64 {
        match self {
            Self::Network(network) => network.evaluate(inputs),
            Self::GaussianProcess(process) => process.evaluate(inputs),
            Self::Forest(forest) => forest.evaluate(inputs),
            Self::Carried(weights) => weights.iter().zip(inputs).map(|(weight, value)| weight * value).sum(),
            // What it becomes does not follow from the state before the step.
            Self::Given(_) => 0.0,
        }
    }

    /// How sure the output is, where that is known: its variance in scaled units, noise included for a process, over the
    /// trees for a forest.
    pub fn variance(&self, inputs: &[f64]) -> Option<f64> {
        match self {
            Self::GaussianProcess(process) => Some(process.variance(inputs)),
            Self::Forest(forest) => Some(forest.variance(inputs)),
            Self::Network(_) | Self::Carried(_) | Self::Given(_) => None,
        }
    }

    /// As a network, if it is one or the sum that carries the past along.
    pub fn as_network(&self) -> Option<Cow<'_, Network>> {
        match self {
            Self::Network(network) => Some(Cow::Borrowed(network)),
            Self::Carried(weights) => Some(Cow::Owned(sum(weights))),
            Self::GaussianProcess(_) | Self::Forest(_) | Self::Given(_) => None,
        }
    }

    /// Hidden layers of a network; none of anything else.
    pub fn layers(&self) -> Option<usize> {
        match self {
            Self::Network(network) => Some(network.depth()),
            _ => None,
        }
    }

    /// What is wrong with one that should read so many inputs, if anything is.
    pub fn fault(&self, inputs: usize) -> Option<String> {
        match self {
            Self::Network(network) => network.fault(inputs),
            Self::GaussianProcess(process) => process.fault(inputs),
            Self::Forest(forest) => forest.fault(inputs),
            Self::Carried(weights) if weights.len() != inputs => {
                Some(format!("it has {} weights for {inputs} inputs", weights.len()))
            }
            Self::Carried(weights) => {
                (!weights.iter().all(|weight| weight.is_finite())).then(|| "a weight is not finite".into())
            }
            Self::Given(_) => None,
        }
    }
}

/// A weighted sum: a network without a hidden layer, whose one linear neuron is exact.
fn sum(weights: &[f64]) -> Network {
    let (inputs, weights) = (weights.len(), weights.to_vec());
    Network { layers: vec![Layer { inputs, outputs: 1, weights, biases: vec![0.0] }] }
}

/// A quantity laid out for lanes, with its scaling of inputs and output.
#[derive(Clone, Debug)]
pub(super) enum PredictorKernel {
    /// A network.
    Network(NetworkKernel),
    /// A Gaussian process.
    Process(ProcessKernel),
    /// A forest.
    Forest(ForestKernel),
}

impl PredictorKernel {
    /// Lays out what predicts a quantity. Its inputs will be given relative to `origin`.
    pub(super) fn new(predictor: &Predictor, inputs: &[Scale], output: &Scale, origin: &[f64]) -> Self {
        match predictor {
            Predictor::Network(network) => Self::Network(NetworkKernel::new(network, inputs, output, origin)),
            Predictor::GaussianProcess(process) => Self::Process(ProcessKernel::new(process, inputs, output, origin)),
            Predictor::Forest(forest) => Self::Forest(ForestKernel::new(forest, inputs, output, origin)),
            Predictor::Carried(weights) => Self::Network(NetworkKernel::new(&sum(weights), inputs, output, origin)),
            // Nobody asks it.
            Predictor::Given(_) => Self::Network(NetworkKernel::new(&sum(&[0.0]), &inputs[..1], output, &origin[..1])),
        }
    }

    /// Room that it needs in the buffers.
    pub(super) fn width(&self) -> usize {
        match self {
            Self::Network(kernel) => kernel.width(),
            Self::Process(kernel) => kernel.width(),
            Self::Forest(kernel) => kernel.width(),
        }
    }

    /// The output for a group of lanes, whose inputs are relative to the origin. `CAPACITY` must be at least
    /// [`PredictorKernel::width`].
    #[inline(always)]
    pub(super) fn evaluate<S: Simd, A: Arithmetic, const CAPACITY: usize, const VECTORS: usize>(
        &self,
        simd: S,
        inputs: &[Group<S, VECTORS>],
        buffers: &mut [[Group<S, VECTORS>; CAPACITY]; 2],
    ) -> Group<S, VECTORS> {
        match self {
            Self::Network(kernel) => kernel.evaluate::<S, A, CAPACITY, VECTORS>(simd, inputs, buffers),
            Self::Process(kernel) => kernel.evaluate::<S, A, CAPACITY, VECTORS>(simd, inputs, buffers),
            Self::Forest(kernel) => kernel.evaluate::<S, CAPACITY, VECTORS>(simd, inputs),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forest::{self, Forest};
    use crate::gaussian_process::{self, GaussianProcess};
    use fearless_simd::SimdBase;
    use fpsrl_base::random::{Purpose, Stream};
    use fpsrl_data::scaling::Scale;
    use fpsrl_engine::simd::{Mode, Numerics, dispatch_numerics};
    use proptest::prelude::*;

    #[inline(always)]
    fn run<S: Simd, A: Arithmetic, const VECTORS: usize>(
        simd: S,
        kernel: &PredictorKernel,
        rows: &[Vec<f32>],
    ) -> Vec<f32> {
        let mut buffers = [[[S::f32s::splat(simd, 0.0); VECTORS]; 16]; 2];
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
            let output = kernel.evaluate::<S, A, 16, VECTORS>(simd, &inputs, &mut buffers);
            let flat: Vec<f32> = output.iter().flat_map(|vector| vector.as_slice().to_vec()).collect();
            outputs.extend_from_slice(&flat[..group.len()]);
        }
        outputs
    }

    /// What lanes compute, which must not depend on the group, nor on the level in reproducible mode.
    fn on_every_level(kernel: &PredictorKernel, rows: &[Vec<f32>]) -> Vec<(Numerics, Vec<f32>)> {
        let mut all = Vec::new();
        for mode in [Mode::Fast, Mode::Reproducible] {
            let mut of_mode: Vec<(Numerics, Vec<f32>)> = Vec::new();
            for numerics in Numerics::every(mode) {
                let pairs = dispatch_numerics!(numerics, simd, Chosen => run::<_, Chosen, 2>(simd, kernel, rows));
                let single = dispatch_numerics!(numerics, simd, Chosen => run::<_, Chosen, 1>(simd, kernel, rows));
                // All NaN are alike; the sign means nothing.
                let bit = |number: &f32| if number.is_nan() { u32::MAX } else { number.to_bits() };
                let bits = |numbers: &[f32]| numbers.iter().map(bit).collect::<Vec<u32>>();
                assert_eq!(bits(&pairs), bits(&single), "a lane's number depends on the size of its group");
                if mode == Mode::Reproducible
                    && let Some((_, first)) = of_mode.first()
                {
                    assert_eq!(bits(&pairs), bits(first), "{numerics}");
                }
                of_mode.push((numerics, pairs));
            }
            all.extend(of_mode);
        }
        all
    }

    /// Something learned of random rows, with scales and an origin that are not those of the data.
    struct Case {
        columns: Vec<Vec<f64>>,
        targets: Vec<f64>,
        rows: Vec<usize>,
        scales: Vec<Scale>,
        output: Scale,
        origin: Vec<f64>,
        asked: Vec<Vec<f32>>,
    }

    fn case(seed: u64, inputs: usize, count: usize) -> Case {
        let stream = Stream::new(seed, Purpose::LogStart);
        let columns: Vec<Vec<f64>> = (0..inputs)
            .map(|input| (0..count).map(|row| stream.normal(0, row as u32, input as u32)).collect())
            .collect();
        let targets = (0..count)
            .map(|row| {
                let x = |input: usize| columns[input % inputs][row];
                x(0) + 0.5 * (1.3 * x(1)).sin() - 0.2 * x(2) * x(0) + 0.01 * stream.normal(1, row as u32, 0)
            })
            .collect();
        let number = |kind, input: usize| stream.uniform(2, kind, input as u32);
        Case {
            columns,
            targets,
            rows: (0..count).collect(),
            scales: (0..inputs)
                .map(|input| Scale { centre: 4.0 * number(0, input) - 2.0, spread: 0.3 + 3.0 * number(1, input) })
                .collect(),
            output: Scale { centre: -0.25, spread: 0.7 },
            origin: (0..inputs).map(|input| 4.0 * number(2, input) - 2.0).collect(),
            asked: (0..45)
                .map(|row| (0..inputs).map(|input| 3.0 * stream.normal(3, row, input as u32) as f32).collect())
                .collect(),
        }
    }

    impl Case {
        /// The scaled inputs of an asked row.
        fn scaled(&self, row: &[f32]) -> Vec<f64> {
            let physical = row.iter().zip(&self.origin).map(|(&value, origin)| f64::from(value) + origin);
            physical.zip(&self.scales).map(|(value, scale)| scale.apply(value)).collect()
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(12))]

        #[test]
        fn a_process_on_lanes_is_that_in_f64(seed in 0u64..1_000, inputs in 1usize..7, is_sparse: bool) {
            let case = case(seed, inputs, 90);
            let exact_rows = if is_sparse { 50 } else { 2_000 };
            let options = gaussian_process::Options { exact_rows, centres: 30, ..Default::default() };
            let process = GaussianProcess::fit(&case.columns, &case.targets, &case.rows, &options, seed);
            prop_assert_eq!(process.fault(inputs), None);
            let kernel = ProcessKernel::new(&process, &case.scales, &case.output, &case.origin);
            for (numerics, outputs) in on_every_level(&PredictorKernel::Process(kernel), &case.asked) {
                for (row, got) in case.asked.iter().zip(outputs) {
                    let expected = case.output.undo(process.evaluate(&case.scaled(row)));
                    let error = (f64::from(got) - expected).abs();
                    // What f32 can do: terms are rounded in proportion to their size and to the exponents in them.
                    let scaled = case.scaled(row);
                    let term = |(centre, coefficient): (&Vec<f64>, &f64)| {
                        let apart = centre.iter().zip(&scaled).zip(&process.covariance.lengths);
                        let square: f64 = apart.map(|((c, x), length)| ((c - x) / length).powi(2)).sum();
                        (coefficient * process.covariance.smooth).abs() * (-0.5 * square).exp() * (1.0 + square)
                    };
                    let size: f64 = process.centres.iter().zip(&process.coefficients).map(term).sum();
                    let allowed = 2e-6 * size * case.output.spread + 1e-5;
                    prop_assert!(error < allowed, "{numerics}: {got} for {expected} ± {allowed}");
                }
            }
        }

        #[test]
        fn a_forest_on_lanes_is_that_in_f64(seed in 0u64..1_000, inputs in 1usize..7, leaf in 1usize..4) {
            let case = case(seed, inputs, 90);
            let options = forest::Options { trees: 5, leaf, ..Default::default() };
            let forest = Forest::fit(&case.columns, &case.targets, &case.rows, &options, seed);
            let kernel = ForestKernel::new(&forest, &case.scales, &case.output, &case.origin);
            for (numerics, outputs) in on_every_level(&PredictorKernel::Forest(kernel), &case.asked) {
                for (row, got) in case.asked.iter().zip(outputs) {
                    // An input within rounding of where a node divides may go either way.
                    let scaled = case.scaled(row);
                    let mut nodes = forest.trees.iter().flat_map(|tree| {
                        (0..tree.children.len())
                            .filter(|&node| tree.children[node] != 0)
                            .map(|node| (tree.inputs[node], tree.numbers[node]))
                    });
                    if nodes.any(|(input, at)| (scaled[input] - at).abs() < 1e-5) {
                        continue;
                    }
                    let expected = case.output.undo(forest.evaluate(&scaled));
                    prop_assert!((f64::from(got) - expected).abs() < 1e-5, "{numerics}: {got} for {expected}");
                }
            }
        }
    }

    #[test]
    fn what_is_no_number_stays_none_on_lanes() {
        let case = case(1, 3, 60);
        let process = GaussianProcess::fit(&case.columns, &case.targets, &case.rows, &Default::default(), 1);
        let forest = Forest::fit(&case.columns, &case.targets, &case.rows, &Default::default(), 1);
        let kernels = [
            PredictorKernel::Process(ProcessKernel::new(&process, &case.scales, &case.output, &case.origin)),
            PredictorKernel::Forest(ForestKernel::new(&forest, &case.scales, &case.output, &case.origin)),
        ];
        for (kernel, broken) in kernels.iter().flat_map(|kernel| (0..3).map(move |broken| (kernel, broken))) {
            let mut row = vec![0.5f32; 3];
            row[broken] = f32::NAN;
            for (_, outputs) in on_every_level(kernel, &[vec![0.5; 3], row.clone()]) {
                assert!(outputs[0].is_finite() && outputs[1].is_nan(), "{outputs:?}");
            }
        }
    }
}
