//! Where training starts: first-layer neurons that look at the data, deeper layers at random.
//!
//! A neuron of the first layer is a hyperplane at which the arctangent turns. Random hyperplanes through random rows
//! turn where there is data; their slopes range from flat, which is nearly linear, to steep. For targets with jumps,
//! such as a reward that is -1 outside of a small box, that is not enough: seven rows in a thousand lie in the goal of
//! a swing-up, and few random planes would touch it. So a regression tree (Breiman et al. 1984) is grown on the
//! training rows, and its splits, each perpendicular to one input, become the first hyperplanes.
//!
//! A tree may also divide the next state, which the networks of the dynamics do not see: a pole that will have fallen
//! after the step stops at once. Its splits then become hyperplanes through a linear forecast of the next state.
//!
//! Where the tree describes the target itself, its leaves become neurons of the second layer, each the conjunction of
//! the splits on its path (the entropy nets of Sethi 1990): training starts from a softened tree.

use super::passes::Shape;
use super::samples::Samples;
use fpsrl_base::random::Stream;

/// A regression tree: hyperplanes perpendicular to an input at which the target changes most, and what they enclose.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tree {
    /// The most important first.
    splits: Vec<Split>,
    /// Empty where only the splits matter.
    leaves: Vec<Leaf>,
    /// Where splits divide something that the network does not see: its forecast from what the network sees.
    forecasts: Vec<Forecast>,
}

/// One side of a box that a tree encloses: which input, whether the box lies above, and where.
pub(crate) type Side = (usize, bool, f64);

/// A linear forecast.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Forecast {
    /// One for each input.
    pub(crate) weights: Vec<f64>,
    /// The forecast where all inputs are 0.
    pub(crate) offset: f64,
}

/// A hyperplane perpendicular to an input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Split {
    /// Which input.
    pub(crate) input: usize,
    /// Half-way between the last rows on either side; a row on the high side lies above.
    pub(crate) at: f64,
    /// Half of the distance that a few rows on either side span: how sharply the data show the jump.
    reach: f64,
}

#[derive(Clone, Debug, PartialEq)]
struct Leaf {
    /// Numbers of the splits above the leaf, and whether the leaf lies on their high side.
    path: Vec<(usize, bool)>,
    /// The mean target.
    value: f64,
}

/// A leaf that may still be split.
struct Growing {
    rows: Vec<usize>,
    path: Vec<(usize, bool)>,
    best: Option<(f64, Split)>,
}

/// Rows that a leaf of the tree must keep.
const LEAF: usize = 3;

/// Rows on either side of a split that tell how sharp it is.
const NEIGHBOURS: usize = 4;

/// How steep a first-layer neuron is that stands for a split: its arctangent's argument a `reach` away.
const SPLIT_STEEPNESS: f64 = 4.0;

/// How steep a neuron is that stands for a leaf.
const LEAF_STEEPNESS: f64 = 3.0;

impl Tree {
    /// No tree: a start at random.
    pub(crate) fn none() -> Self {
        Self { splits: Vec::new(), leaves: Vec::new(), forecasts: Vec::new() }
    }

    /// Grows a tree of at most `count` splits, always at the leaf where a split takes away most of the squared error.
    pub(crate) fn grow(samples: &Samples, inputs: usize, count: usize) -> Self {
        let mut splits = Vec::new();
        let all: Vec<usize> = (0..samples.rows()).collect();
        let mut leaves =
            vec![Growing { best: best_split(samples, 0..inputs, &all, LEAF), rows: all, path: Vec::new() }];
        while splits.len() < count {
            let gain = |leaf: &Growing| leaf.best.map_or(0.0, |(gain, _)| gain);
            let place = (0..leaves.len()).max_by(|&a, &b| gain(&leaves[a]).total_cmp(&gain(&leaves[b])));
            let Some((place, (_, split))) = place.and_then(|place| Some((place, leaves[place].best?))) else { break };
            let leaf = leaves.swap_remove(place);
            let (high, low): (Vec<usize>, Vec<usize>) =
                leaf.rows.iter().partition(|&&row| samples.input(row, split.input) > split.at);
            for (rows, side) in [(low, false), (high, true)] {
                let path = leaf.path.iter().copied().chain([(splits.len(), side)]).collect();
                leaves.push(Growing { best: best_split(samples, 0..inputs, &rows, LEAF), rows, path });
            }
            splits.push(split);
        }
        let leaves =
            leaves.into_iter().map(|leaf| Leaf { value: mean(samples, &leaf.rows), path: leaf.path }).collect();
        Self { splits, leaves, forecasts: Vec::new() }
    }

    /// Peels off one pure side after the other: every split is the one behind which most rows have the same target.
    ///
    /// Splits that lower the squared error most cut a small box in the middle before they find its walls. Peeling
    /// finds walls that no row contradicts. Among splits that peel alike, the last input wins: the next state, which
    /// rewards mostly judge, comes after the state, which says nearly the same.
    pub(crate) fn peel(samples: &Samples, inputs: &[usize], count: usize) -> Self {
        let mut tree = Self::none();
        let mut rows: Vec<usize> = (0..samples.rows()).collect();
        let mut path: Vec<(usize, bool)> = Vec::new();
        while tree.splits.len() < count {
            let candidates: Vec<(usize, bool, Split)> =
                inputs.iter().flat_map(|&input| pure_sides(samples, input, &rows)).collect();
            let most = candidates.iter().map(|(peeled, ..)| *peeled).max().unwrap_or(0);
            let alike = candidates.iter().rfind(|(peeled, ..)| *peeled >= LEAF && *peeled as f64 >= 0.99 * most as f64);
            let Some(&(_, high, split)) = alike else { break };
            let is_peeled = |row: usize| (samples.input(row, split.input) > split.at) == high;
            let (peeled, rest): (Vec<usize>, Vec<usize>) = rows.iter().partition(|&&row| is_peeled(row));
            let number = tree.splits.len();
            tree.splits.push(split);
            let leaf_path = path.iter().copied().chain([(number, high)]).collect();
            tree.leaves.push(Leaf { path: leaf_path, value: mean(samples, &peeled) });
            path.push((number, !high));
            rows = rest;
        }
        tree.leaves.push(Leaf { path, value: mean(samples, &rows) });
        tree
    }

    /// What the leaves enclose, each as the splits around it (input, whether above, where) and its mean target.
    pub(crate) fn boxes(&self) -> Vec<(Vec<Side>, f64)> {
        let side = |&(number, high): &(usize, bool)| (self.splits[number].input, high, self.splits[number].at);
        self.leaves.iter().map(|leaf| (leaf.path.iter().map(side).collect(), leaf.value)).collect()
    }

    /// The same splits, of forecasts: `forecast` says how a network guesses the number that the tree has split.
    pub(crate) fn of_forecasts(mut self, forecast: impl Fn(usize) -> Option<Forecast>) -> Option<Self> {
        self.forecasts = self.splits.iter().map(|split| forecast(split.input)).collect::<Option<_>>()?;
        (!self.splits.is_empty()).then(|| self.only_splits())
    }

    /// The same splits without what they enclose.
    pub(crate) fn only_splits(mut self) -> Self {
        self.leaves.clear();
        self
    }
}

fn mean(samples: &Samples, rows: &[usize]) -> f64 {
    rows.iter().map(|&row| samples.target(row)).sum::<f64>() / rows.len().max(1) as f64
}

/// The splits by one input that leave rows of one target alone on their low or high side: how many, and whether high.
fn pure_sides(samples: &Samples, input: usize, rows: &[usize]) -> Vec<(usize, bool, Split)> {
    let mut sorted: Vec<(f64, f64)> =
        rows.iter().map(|&row| (samples.input(row, input), samples.target(row))).collect();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut sides = Vec::new();
    for high in [false, true] {
        if high {
            sorted.reverse();
        }
        let Some(first) = sorted.first().copied() else { continue };
        // The rows at the first other target's value belong to neither side.
        let Some(other) = sorted.iter().position(|row| row.1 != first.1) else { continue };
        let count = sorted.partition_point(|row| if high { row.0 > sorted[other].0 } else { row.0 < sorted[other].0 });
        if count == 0 {
            continue;
        }
        let (from, to) = (count.saturating_sub(NEIGHBOURS), (count + NEIGHBOURS).min(sorted.len()) - 1);
        let at = 0.5 * (sorted[count].0 + sorted[count - 1].0);
        sides.push((count, high, Split { input, at, reach: 0.5 * (sorted[to].0 - sorted[from].0).abs() }));
    }
    sides
}

/// The split of these rows by one of these inputs that takes away most of the squared error, and how much it takes. It
/// leaves `leaf` rows on either side.
pub(crate) fn best_split(
    samples: &Samples,
    inputs: impl IntoIterator<Item = usize>,
    rows: &[usize],
    leaf: usize,
) -> Option<(f64, Split)> {
    let count = rows.len();
    if count < 2 * leaf.max(1) {
        return None;
    }
    let mean = mean(samples, rows);
    let squares: f64 = rows.iter().map(|&row| (samples.target(row) - mean).powi(2)).sum();
    // Rounding is no difference.
    if squares <= 1e-20 * count as f64 {
        return None;
    }
    let mut best: Option<(f64, Split)> = None;
    for input in inputs {
        let mut sorted: Vec<(f64, f64)> =
            rows.iter().map(|&row| (samples.input(row, input), samples.target(row) - mean)).collect();
        sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut sum = 0.0;
        for place in 1..count {
            sum += sorted[place - 1].1;
            if place < leaf || count - place < leaf || sorted[place].0 <= sorted[place - 1].0 {
                continue;
            }
            let gain = sum * sum * (1.0 / place as f64 + 1.0 / (count - place) as f64);
            if gain > 1e-9 * squares && best.is_none_or(|(most, _)| gain > most * (1.0 + 1e-9)) {
                let (from, to) = (place.saturating_sub(NEIGHBOURS), (place + NEIGHBOURS).min(count) - 1);
                let reach = 0.5 * (sorted[to].0 - sorted[from].0);
                let at = halfway(sorted[place - 1].0, sorted[place].0);
                best = Some((gain, Split { input, at, reach }));
            }
        }
    }
    best
}

/// The middle of two numbers; of neighbouring ones, which have nothing in between, the lower.
fn halfway(low: f64, high: f64) -> f64 {
    let middle = 0.5 * (low + high);
    if middle < high { middle } else { low }
}

/// First parameters of a network; different `task`s and `restart`s give different ones.
pub(crate) fn start(
    shape: &Shape,
    training: &Samples,
    tree: &Tree,
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
        if let Some(split) = tree.splits.get(neuron) {
            let weight = SPLIT_STEEPNESS / split.reach.max(1e-3);
            if let Some(forecast) = tree.forecasts.get(neuron) {
                for input in 0..inputs {
                    parameters[weights + input] = weight * forecast.weights[input];
                }
                parameters[bias] = weight * (forecast.offset - split.at);
            } else {
                parameters[weights + split.input] = weight;
                parameters[bias] = -weight * split.at;
            }
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
    if shape.layers() > 2 && !tree.splits.is_empty() && (1..=shape.outputs(1)).contains(&tree.leaves.len()) {
        write_leaves(shape, tree, &mut parameters);
    }
    parameters
}

/// Makes the layers behind the splits compute the tree: leaves in the second layer, carried through to the output.
fn write_leaves(shape: &Shape, tree: &Tree, parameters: &mut [f64]) {
    let quarter = std::f64::consts::FRAC_PI_2;
    let last = shape.layers() - 1;
    for (number, leaf) in tree.leaves.iter().enumerate() {
        // All splits agree at n · π/2, one less at (n - 2) · π/2: the leaf begins half-way.
        let weights = shape.weights(1) + number * shape.inputs(1);
        parameters[weights..weights + shape.inputs(1)].fill(0.0);
        for &(split, high) in &leaf.path {
            parameters[weights + split] = if high { LEAF_STEEPNESS } else { -LEAF_STEEPNESS };
        }
        parameters[shape.biases(1) + number] = -LEAF_STEEPNESS * (leaf.path.len() as f64 - 1.0) * quarter;
        for layer in 2..last {
            let weights = shape.weights(layer) + number * shape.inputs(layer);
            parameters[weights..weights + shape.inputs(layer)].fill(0.0);
            parameters[weights + number] = LEAF_STEEPNESS;
            parameters[shape.biases(layer) + number] = 0.0;
        }
    }
    // What a leaf's neuron gives out where all of its splits agree, and its negative elsewhere.
    let full = (1..last).fold(quarter, |value, _| (LEAF_STEEPNESS * value).atan());
    let outputs = shape.weights(last);
    parameters[outputs..outputs + shape.inputs(last)].fill(0.0);
    for (number, leaf) in tree.leaves.iter().enumerate() {
        parameters[outputs + number] = 0.5 * leaf.value / full;
        parameters[shape.biases(last)] += 0.5 * leaf.value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fpsrl_base::random::Purpose;

    #[test]
    fn the_tree_finds_the_walls_of_a_box() {
        let stream = Stream::new(2, Purpose::LogStart);
        let columns: Vec<Vec<f64>> =
            (0..3).map(|input| (0..4_000).map(|row| stream.within(-5.0, 5.0, 0, row, input)).collect()).collect();
        let targets: Vec<f64> = (0..4_000)
            .map(|row| if columns[0][row].abs() < 1.0 && columns[2][row].abs() < 1.0 { 0.0 } else { -1.0 })
            .collect();
        let found = Tree::grow(&Samples::new(&columns, &targets), 3, 4);
        let mut walls: Vec<(usize, f64)> = found.splits.iter().map(|split| (split.input, split.at.round())).collect();
        walls.sort_by(|a, b| a.partial_cmp(b).unwrap());
        assert_eq!(walls, [(0, -1.0), (0, 1.0), (2, -1.0), (2, 1.0)]);
    }

    /// A box that one row in a thousand lies in, with a next state that all but repeats the state.
    #[test]
    fn peeling_finds_the_walls_of_a_rare_box_and_the_start_is_that_box() {
        let stream = Stream::new(2, Purpose::LogStart);
        let mut columns: Vec<Vec<f64>> =
            (0..2).map(|input| (0..20_000).map(|row| stream.within(-30.0, 30.0, 0, row, input)).collect()).collect();
        for input in 0..2 {
            let next =
                (0..20_000).map(|row| columns[input][row] + stream.within(-0.3, 0.3, 1, row as u32, input as u32));
            columns.push(next.collect());
        }
        let is_inside = |x: f64, y: f64| x.abs() < 1.0 && y.abs() < 1.0;
        let targets: Vec<f64> =
            (0..20_000).map(|row| if is_inside(columns[2][row], columns[3][row]) { 1.0 } else { -1.0 }).collect();
        let samples = Samples::new(&columns, &targets);
        let tree = Tree::peel(&samples, &[0, 1, 2, 3], 9);
        let mut walls: Vec<(usize, f64)> = tree.splits.iter().map(|split| (split.input, split.at.round())).collect();
        walls.sort_by(|a, b| a.partial_cmp(b).unwrap());
        assert_eq!(walls, [(2, -1.0), (2, 1.0), (3, -1.0), (3, 1.0)]);
        for depth in [2, 3] {
            let shape = Shape::new(4, 10, depth);
            let parameters = start(&shape, &samples, &tree, Stream::new(1, Purpose::Weights), 0, 0);
            let network = shape.network(&parameters);
            for x in [-20.0, -2.0, -0.5, 0.0, 0.5, 2.0, 20.0] {
                for y in [-20.0, -2.0, -0.5, 0.0, 0.5, 2.0, 20.0] {
                    let output = network.evaluate(&[x, y, x, y]);
                    assert_eq!(output > 0.0, is_inside(x, y), "{depth} layers: {output} at {x}, {y}");
                }
            }
        }
    }

    #[test]
    fn a_constant_target_is_not_split() {
        let columns = vec![(0..100).map(f64::from).collect::<Vec<f64>>()];
        let found = Tree::grow(&Samples::new(&columns, &[-1.0; 100]), 1, 4);
        assert!(found.splits.is_empty() && found.leaves.len() == 1);
    }

    #[test]
    fn restarts_differ_and_repeat() {
        let samples = Samples::new(&[vec![0.5; 20], vec![1.0; 20]], &[0.0; 20]);
        let shape = Shape::new(2, 10, 3);
        let begin =
            |task, restart| start(&shape, &samples, &Tree::none(), Stream::new(1, Purpose::Weights), task, restart);
        assert_eq!(begin(1, 0), begin(1, 0));
        assert_ne!(begin(1, 0), begin(1, 1));
        assert_ne!(begin(1, 0), begin(2, 0));
    }
}
