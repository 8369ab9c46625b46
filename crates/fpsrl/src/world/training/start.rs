//! Where training starts: first-layer neurons that look at the data, deeper layers at random.
//!
//! A neuron of the first layer is a hyperplane at which the arctangent turns. Random hyperplanes through random rows
//! turn where there is data; their slopes range from flat, which is nearly linear, to steep. For targets with jumps,
//! such as a reward that is -1 outside of a small box, that is not enough: seven rows in a thousand lie in the goal of
//! a swing-up, and few random planes would touch it. So a regression tree (Breiman et al. 1984) is grown on the
//! training rows, and its splits, each perpendicular to one input, become the first hyperplanes.

use super::passes::{Samples, Shape};
use crate::random::Stream;

/// Hyperplanes perpendicular to an input, at which the target changes most; the most important first.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Thresholds {
    list: Vec<Threshold>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Threshold {
    input: usize,
    at: f64,
    /// Half of the distance that a few rows on either side span: how sharply the data show the jump.
    reach: f64,
}

/// Rows that a leaf of the tree must keep.
const LEAF: usize = 3;

/// Rows on either side of a split that tell how sharp it is.
const NEIGHBOURS: usize = 4;

impl Thresholds {
    /// No thresholds: a start at random.
    pub(crate) fn none() -> Self {
        Self { list: Vec::new() }
    }

    /// Grows a tree of at most `count` splits, always at the leaf where a split takes away most of the squared error.
    pub(crate) fn find(samples: &Samples, inputs: usize, count: usize) -> Self {
        let mut list = Vec::new();
        let mut leaves: Vec<(Vec<usize>, Option<(f64, Threshold)>)> = Vec::new();
        let all: Vec<usize> = (0..samples.rows()).collect();
        let split = best_split(samples, inputs, &all);
        leaves.push((all, split));
        while list.len() < count {
            let gain = |leaf: &(Vec<usize>, Option<(f64, Threshold)>)| leaf.1.map_or(0.0, |(gain, _)| gain);
            let Some(place) = (0..leaves.len()).max_by(|&a, &b| gain(&leaves[a]).total_cmp(&gain(&leaves[b]))) else {
                break;
            };
            let (rows, Some((_, threshold))) = leaves.swap_remove(place) else { break };
            list.push(threshold);
            let (low, high): (Vec<usize>, Vec<usize>) =
                rows.into_iter().partition(|&row| samples.input(row, threshold.input) < threshold.at);
            for part in [low, high] {
                let split = best_split(samples, inputs, &part);
                leaves.push((part, split));
            }
        }
        Self { list }
    }
}

/// The split of these rows that takes away most of the squared error, and how much it takes.
fn best_split(samples: &Samples, inputs: usize, rows: &[usize]) -> Option<(f64, Threshold)> {
    let count = rows.len();
    if count < 2 * LEAF {
        return None;
    }
    let mean = rows.iter().map(|&row| samples.target(row)).sum::<f64>() / count as f64;
    let squares: f64 = rows.iter().map(|&row| (samples.target(row) - mean).powi(2)).sum();
    let mut best: Option<(f64, Threshold)> = None;
    for input in 0..inputs {
        let mut sorted: Vec<(f64, f64)> =
            rows.iter().map(|&row| (samples.input(row, input), samples.target(row) - mean)).collect();
        sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut sum = 0.0;
        for place in 1..count {
            sum += sorted[place - 1].1;
            if place < LEAF || count - place < LEAF || sorted[place].0 <= sorted[place - 1].0 {
                continue;
            }
            let gain = sum * sum * (1.0 / place as f64 + 1.0 / (count - place) as f64);
            if gain > 1e-9 * squares && best.is_none_or(|(most, _)| gain > most * (1.0 + 1e-9)) {
                let (from, to) = (place.saturating_sub(NEIGHBOURS), (place + NEIGHBOURS).min(count) - 1);
                let reach = 0.5 * (sorted[to].0 - sorted[from].0);
                let at = 0.5 * (sorted[place].0 + sorted[place - 1].0);
                best = Some((gain, Threshold { input, at, reach }));
            }
        }
    }
    best
}

/// First parameters of a network; different `task`s and `restart`s give different ones.
pub(crate) fn start(
    shape: &Shape,
    training: &Samples,
    thresholds: &Thresholds,
    stream: Stream,
    task: u32,
    restart: u32,
) -> Vec<f64> {
    let draw = |kind: u32, index: usize| (kind << 24) + index as u32;
    let normal = |kind, index| stream.normal(task, restart, draw(kind, index));
    let mut parameters = vec![0.0; shape.parameters()];
    let inputs = shape.inputs(0);
    for neuron in 0..shape.outputs(0) {
        let weights = shape.weights(0) + neuron * inputs;
        let bias = shape.biases(0) + neuron;
        if let Some(threshold) = thresholds.list.get(neuron) {
            let weight = 2.0 / threshold.reach.max(1e-3);
            parameters[weights + threshold.input] = weight;
            parameters[bias] = -weight * threshold.at;
            continue;
        }
        // Slopes from 0.2 to 2 for a step of one standard deviation in every input.
        let steepness = 0.2 * 10f64.powf(stream.uniform(task, restart, draw(1, neuron)));
        let row = (stream.uniform(task, restart, draw(2, neuron)) * training.rows() as f64) as usize;
        let mut offset = 0.0;
        for input in 0..inputs {
            let weight = steepness * normal(3, neuron * inputs + input) / (inputs as f64).sqrt();
            parameters[weights + input] = weight;
            offset += weight * training.input(row, input);
        }
        parameters[bias] = -offset;
    }
    for layer in 1..shape.layers() {
        let size = 1.0 / (shape.inputs(layer) as f64).sqrt();
        for (index, parameter) in parameters[shape.weights(layer)..shape.biases(layer)].iter_mut().enumerate() {
            *parameter = size * normal(4 + 2 * layer as u32, index);
        }
        if layer + 1 < shape.layers() {
            for output in 0..shape.outputs(layer) {
                parameters[shape.biases(layer) + output] = 0.5 * normal(5 + 2 * layer as u32, output);
            }
        }
    }
    parameters
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

    #[test]
    fn the_tree_finds_the_walls_of_a_box() {
        let stream = Stream::new(2, Purpose::LogStart);
        let columns: Vec<Vec<f64>> =
            (0..3).map(|input| (0..4_000).map(|row| stream.within(-5.0, 5.0, 0, row, input)).collect()).collect();
        let targets: Vec<f64> = (0..4_000)
            .map(|row| if columns[0][row].abs() < 1.0 && columns[2][row].abs() < 1.0 { 0.0 } else { -1.0 })
            .collect();
        let found = Thresholds::find(&Samples::new(&columns, &targets), 3, 4);
        let mut walls: Vec<(usize, f64)> = found.list.iter().map(|split| (split.input, split.at.round())).collect();
        walls.sort_by(|a, b| a.partial_cmp(b).unwrap());
        assert_eq!(walls, [(0, -1.0), (0, 1.0), (2, -1.0), (2, 1.0)]);
    }

    #[test]
    fn a_constant_target_has_no_threshold() {
        let columns = vec![(0..100).map(f64::from).collect::<Vec<f64>>()];
        let found = Thresholds::find(&Samples::new(&columns, &[-1.0; 100]), 1, 4);
        assert_eq!(found, Thresholds::none());
    }

    #[test]
    fn restarts_differ_and_repeat() {
        let samples = Samples::new(&[vec![0.5; 20], vec![1.0; 20]], &[0.0; 20]);
        let shape = Shape::new(2, 10, 3);
        let begin = |task, restart| {
            start(&shape, &samples, &Thresholds::none(), Stream::new(1, Purpose::Weights), task, restart)
        };
        assert_eq!(begin(1, 0), begin(1, 0));
        assert_ne!(begin(1, 0), begin(1, 1));
        assert_ne!(begin(1, 0), begin(2, 0));
    }
}
