//! A forest of regression trees between scaled inputs and a scaled output (Breiman, Friedman, Olshen and Stone 1984; Breiman
//! 2001), the second of the world models beside networks.
//!
//! A tree divides rows by one input after another, always where that takes away most of the squared error; a leaf predicts the
//! mean of its rows. A forest is the mean of trees that each saw rows drawn with replacement. Trees know no slopes, and
//! predict motion in steps; but where the truth itself has steps, such as a reward that is 0 in a box and -0.1 around it, a
//! single tree that saw every row is the model to take.
//!
//! This is the form that is stored, with the plain computation; `lanes` holds the faster one.

pub(super) mod lanes;

use std::collections::BinaryHeap;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::training::{Samples, Split, best_split};
use fpsrl_base::random::{Purpose, Stream};

/// What can be chosen about a forest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Number of trees.
    pub trees: usize,
    /// Whether each tree sees rows drawn with replacement, or all of them.
    pub bagging: bool,
    /// Rows that a leaf keeps.
    pub leaf: usize,
    /// Leaves of a tree, at most; those whose division brings most are divided first.
    pub most_leaves: usize,
    /// Inputs, drawn at random, that a division may choose from; none for all of them.
    pub inputs: Option<usize>,
}

impl Default for Options {
    fn default() -> Self {
        Self { trees: 50, bagging: true, leaf: 2, most_leaves: 1_024, inputs: None }
    }
}

impl Options {
    /// One tree that sees every row: for what jumps.
    pub fn single_tree() -> Self {
        Self { trees: 1, bagging: false, ..Self::default() }
    }
}

/// A forest.
///
/// ```
/// use fpsrl_world::forest::{Forest, Options};
/// let x: Vec<f64> = (0..100).map(|row| 0.1 * f64::from(row) - 5.0).collect();
/// let reward: Vec<f64> = x.iter().map(|x| if x.abs() < 2.0 { 0.0 } else { -1.0 }).collect();
/// let rows: Vec<usize> = (0..100).collect();
/// let tree = Forest::fit(&[x], &reward, &rows, &Options::single_tree(), 1);
/// assert_eq!((tree.evaluate(&[1.9]), tree.evaluate(&[2.1])), (0.0, -1.0));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Forest {
    /// Its trees; the mean of them counts.
    pub trees: Vec<RegressionTree>,
}

/// A tree: its nodes from the root on, a column for each of their properties.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RegressionTree {
    /// Of each node: where its children stand, the one for low inputs and directly after it the one for high inputs. 0 for
    /// a leaf.
    pub children: Vec<usize>,
    /// Of each node: the input that it divides by; of a leaf 0.
    pub inputs: Vec<usize>,
    /// Of each node: the number above which an input is high; of a leaf what it predicts.
    pub numbers: Vec<f64>,
}

impl Forest {
    /// Learns from scaled `inputs[input][row]` and `targets[row]`, only of the rows listed; they may repeat.
    ///
    /// The result depends on the seed, and on nothing else.
    pub fn fit(inputs: &[Vec<f64>], targets: &[f64], rows: &[usize], options: &Options, seed: u64) -> Self {
        let stream = Stream::new(seed, Purpose::Forest);
        let trees = (0..options.trees.max(1) as u32)
            .into_par_iter()
            .map(|tree| {
                let draw = |place: usize| (stream.uniform(tree, place as u32, 0) * rows.len() as f64) as usize;
                let samples = match options.bagging {
                    true => {
                        let bag: Vec<usize> = (0..rows.len()).map(|place| rows[draw(place)]).collect();
                        Samples::of(inputs, targets, &bag)
                    }
                    false => Samples::of(inputs, targets, rows),
                };
                RegressionTree::grow(&samples, inputs.len(), options, stream, tree)
            })
            .collect();
        Self { trees }
    }

    /// The mean over the trees for scaled inputs; no number where an input is not finite. (Trees would compare it all the
    /// same, and send a rollout that has lost its state to some leaf with a fine reward.)
    pub fn evaluate(&self, inputs: &[f64]) -> f64 {
        if !inputs.iter().all(|input| input.is_finite()) {
            return f64::NAN;
        }
        self.trees.iter().map(|tree| tree.evaluate(inputs)).sum::<f64>() / self.trees.len() as f64
    }

    /// The variance over the trees for scaled inputs.
    pub fn variance(&self, inputs: &[f64]) -> f64 {
        let mean = self.evaluate(inputs);
        self.trees.iter().map(|tree| (tree.evaluate(inputs) - mean).powi(2)).sum::<f64>() / self.trees.len() as f64
    }

    /// What is wrong with a forest that should read so many inputs, if anything is.
    pub fn fault(&self, inputs: usize) -> Option<String> {
        if self.trees.is_empty() {
            return Some("the forest has no tree".into());
        }
        let faults = self.trees.iter().enumerate().filter_map(|(index, tree)| Some((index + 1, tree.fault(inputs)?)));
        faults.map(|(number, fault)| format!("tree {number} of the forest {fault}")).next()
    }
}

/// A leaf that may be divided, ordered by what that brings; of leaves that bring the same, the earlier comes first.
struct Growing {
    gain: f64,
    split: Split,
    node: usize,
    rows: Vec<usize>,
}

impl Ord for Growing {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.gain.total_cmp(&other.gain).then(other.node.cmp(&self.node))
    }
}

impl PartialOrd for Growing {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Growing {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Growing {}

impl RegressionTree {
    fn grow(samples: &Samples, inputs: usize, options: &Options, stream: Stream, tree: u32) -> Self {
        let mut grown = Self { children: Vec::new(), inputs: Vec::new(), numbers: Vec::new() };
        let mut leaves = BinaryHeap::new();
        let plant = |grown: &mut Self, leaves: &mut BinaryHeap<Growing>, rows: Vec<usize>| {
            let node = grown.children.len();
            let mean = rows.iter().map(|&row| samples.target(row)).sum::<f64>() / rows.len().max(1) as f64;
            grown.children.push(0);
            grown.inputs.push(0);
            grown.numbers.push(mean);
            let best = match options.inputs.filter(|&some| some < inputs) {
                None => best_split(samples, 0..inputs, &rows, options.leaf.max(1)),
                Some(some) => {
                    let drawn =
                        draw_inputs(inputs, some.max(1), |place| stream.uniform(tree, node as u32, 1 + place as u32));
                    best_split(samples, drawn, &rows, options.leaf.max(1))
                }
            };
            leaves.extend(best.map(|(gain, split)| Growing { gain, split, node, rows }));
        };
        plant(&mut grown, &mut leaves, (0..samples.rows()).collect());
        let mut count = 1;
        while count < options.most_leaves
            && let Some(Growing { split, node, rows, .. }) = leaves.pop()
        {
            let (high, low): (Vec<usize>, Vec<usize>) =
                rows.into_iter().partition(|&row| samples.input(row, split.input) > split.at);
            grown.children[node] = grown.children.len();
            grown.inputs[node] = split.input;
            grown.numbers[node] = split.at;
            plant(&mut grown, &mut leaves, low);
            plant(&mut grown, &mut leaves, high);
            count += 1;
        }
        grown
    }

    /// What the tree predicts for scaled inputs. NaN counts as low.
    pub fn evaluate(&self, inputs: &[f64]) -> f64 {
        let mut node = 0;
        while self.children[node] != 0 {
            let is_high = inputs[self.inputs[node]] > self.numbers[node];
            node = self.children[node] + usize::from(is_high);
        }
        self.numbers[node]
    }

    /// Leaves.
    pub fn leaves(&self) -> usize {
        self.children.iter().filter(|place| **place == 0).count()
    }

    /// Divisions between the root and the farthest leaf.
    fn depth(&self) -> usize {
        let mut depths = vec![0; self.children.len()];
        for (node, &children) in self.children.iter().enumerate().filter(|(_, children)| **children != 0) {
            depths[children] = depths[node] + 1;
            depths[children + 1] = depths[node] + 1;
        }
        depths.into_iter().max().unwrap_or(0)
    }

    fn fault(&self, inputs: usize) -> Option<String> {
        let nodes = self.children.len();
        if nodes == 0 || nodes >= u32::MAX as usize || self.inputs.len() != nodes || self.numbers.len() != nodes {
            return Some("has no node, or columns of different lengths".into());
        }
        if !self.numbers.iter().all(|number| number.is_finite()) {
            return Some("has a number that is not finite".into());
        }
        // Children stand after their parent, so that every way ends.
        let is_broken = |node: &usize| {
            let children = self.children[*node];
            children != 0 && (children <= *node || children + 1 >= nodes || self.inputs[*node] >= inputs)
        };
        (0..nodes).find(is_broken).map(|node| format!("is broken at node {}", node + 1))
    }
}

/// Some of the inputs, drawn without replacement, in ascending order.
fn draw_inputs(inputs: usize, some: usize, uniform: impl Fn(usize) -> f64) -> Vec<usize> {
    let mut all: Vec<usize> = (0..inputs).collect();
    for place in 0..some {
        let pick = place + (uniform(place) * (inputs - place) as f64) as usize;
        all.swap(place, pick);
    }
    all.truncate(some);
    all.sort_unstable();
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn columns(inputs: u32, rows: u32) -> Vec<Vec<f64>> {
        let stream = Stream::new(2, Purpose::LogStart);
        (0..inputs).map(|input| (0..rows).map(|row| stream.within(-2.0, 2.0, 0, row, input)).collect()).collect()
    }

    fn row_of(columns: &[Vec<f64>], row: usize) -> Vec<f64> {
        columns.iter().map(|column| column[row]).collect()
    }

    #[test]
    fn a_single_tree_finds_a_box_among_inputs_that_do_not_matter() {
        let columns = columns(4, 4_000);
        let inside = |point: &[f64]| point[1].abs() < 0.5 && point[3].abs() < 1.0;
        let targets: Vec<f64> = (0..4_000).map(|row| if inside(&row_of(&columns, row)) { 0.0 } else { -0.1 }).collect();
        let rows: Vec<usize> = (0..3_000).collect();
        let tree = Forest::fit(&columns, &targets, &rows, &Options::single_tree(), 1);
        let wrong = (3_000..4_000).filter(|&row| (tree.evaluate(&row_of(&columns, row)) - targets[row]).abs() > 0.05);
        assert!(wrong.count() <= 10);
        assert!(tree.trees[0].leaves() < 20, "{}", tree.trees[0].leaves());
        assert_eq!(tree.variance(&[0.0; 4]), 0.0);
    }

    #[test]
    fn a_tree_with_leaves_of_one_row_recalls_every_row() {
        let columns = columns(3, 300);
        let targets = columns[0].iter().zip(&columns[2]).map(|(a, b)| a.sin() * b).collect::<Vec<f64>>();
        let rows: Vec<usize> = (0..300).collect();
        let options = Options { leaf: 1, ..Options::single_tree() };
        let tree = Forest::fit(&columns, &targets, &rows, &options, 1);
        for row in 0..300 {
            assert_eq!(tree.evaluate(&row_of(&columns, row)), targets[row]);
        }
    }

    #[test]
    fn trees_together_do_better_than_one_and_disagree_where_they_err() {
        let columns = columns(3, 1_200);
        let stream = Stream::new(7, Purpose::LogAction);
        let truth = |point: &[f64]| point[0].sin() + 0.5 * point[1] * point[2];
        let targets: Vec<f64> =
            (0..1_200).map(|row| truth(&row_of(&columns, row)) + 0.3 * stream.normal(0, row as u32, 0)).collect();
        let rows: Vec<usize> = (0..1_000).collect();
        let error = |forest: &Forest| {
            let square = |row: usize| (forest.evaluate(&row_of(&columns, row)) - truth(&row_of(&columns, row))).powi(2);
            (1_000..1_200).map(square).sum::<f64>() / 200.0
        };
        let one = Forest::fit(&columns, &targets, &rows, &Options::single_tree(), 1);
        let forest = Forest::fit(&columns, &targets, &rows, &Options::default(), 1);
        let some = Forest::fit(&columns, &targets, &rows, &Options { inputs: Some(2), ..Options::default() }, 1);
        assert!(error(&forest) < 0.6 * error(&one), "{} {}", error(&forest), error(&one));
        assert!(error(&some) < 0.8 * error(&one), "{} {}", error(&some), error(&one));
        let spread = (1_000..1_200).map(|row| forest.variance(&row_of(&columns, row))).sum::<f64>() / 200.0;
        assert!((0.2..20.0).contains(&(spread / error(&forest))), "{spread}");
        assert_ne!(forest, Forest::fit(&columns, &targets, &rows, &Options::default(), 2));
    }

    #[test]
    fn threads_change_nothing_and_the_file_keeps_every_bit() {
        let columns = columns(2, 200);
        let targets: Vec<f64> = columns[0].iter().map(|x| x.exp()).collect();
        let rows: Vec<usize> = (0..200).map(|row| row / 2).collect();
        let options = Options { trees: 7, inputs: Some(1), ..Options::default() };
        let fit = || Forest::fit(&columns, &targets, &rows, &options, 3);
        let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap().install(fit);
        let many = rayon::ThreadPoolBuilder::new().num_threads(4).build().unwrap().install(fit);
        assert_eq!(alone, many);
        let text = serde_json::to_string(&alone).unwrap();
        assert_eq!(serde_json::from_str::<Forest>(&text).unwrap(), alone);
        assert_eq!(alone.fault(2), None);
        assert!(serde_json::from_str::<Forest>(&text.replacen("trees", "bushes", 1)).is_err());
    }

    #[test]
    fn degenerate_rows_give_a_constant() {
        for (targets, rows) in [(vec![2.5; 4], vec![0, 1, 2, 3]), (vec![2.5, 9.0], vec![0]), (vec![], vec![])] {
            let column = vec![1.0; targets.len()];
            let forest = Forest::fit(&[column], &targets, &rows, &Options::default(), 1);
            assert_eq!(forest.evaluate(&[0.0]), if rows.is_empty() { 0.0 } else { 2.5 });
            assert_eq!(forest.fault(1), None);
        }
    }

    #[test]
    fn what_is_wrong_with_a_forest_is_told() {
        let good = RegressionTree { children: vec![1, 0, 0], inputs: vec![1, 0, 0], numbers: vec![0.5, 1.0, 2.0] };
        let told = |tree: &RegressionTree| Forest { trees: vec![good.clone(), tree.clone()] }.fault(2);
        assert_eq!(told(&good), None);
        assert!(told(&RegressionTree { children: vec![2, 0, 0], ..good.clone() }).unwrap().contains("tree 2"));
        assert!(told(&RegressionTree { children: vec![1, 1, 0], ..good.clone() }).unwrap().contains("node 2"));
        assert!(told(&RegressionTree { inputs: vec![2, 0, 0], ..good.clone() }).unwrap().contains("node 1"));
        assert!(told(&RegressionTree { inputs: vec![1, 0], ..good.clone() }).unwrap().contains("columns"));
        let infinite = RegressionTree { numbers: vec![0.5, f64::NAN, 2.0], ..good.clone() };
        assert!(told(&infinite).unwrap().contains("not finite"));
        assert!(Forest { trees: vec![] }.fault(2).unwrap().contains("no tree"));
    }

    proptest! {
        #[test]
        fn a_forest_that_passes_never_panics(
            children in prop::collection::vec(0usize..8, 0..8),
            inputs in prop::collection::vec(0usize..4, 8),
            numbers in prop::collection::vec(-2.0f64..2.0, 8),
            point in prop::collection::vec(prop::num::f64::ANY, 3),
        ) {
            let nodes = children.len();
            let tree = RegressionTree { children, inputs: inputs[..nodes].to_vec(), numbers: numbers[..nodes].to_vec() };
            let forest = Forest { trees: vec![tree] };
            if forest.fault(3).is_none() {
                prop_assert_eq!(forest.evaluate(&point).is_finite(), point.iter().all(|number| number.is_finite()));
            }
        }
    }
}
