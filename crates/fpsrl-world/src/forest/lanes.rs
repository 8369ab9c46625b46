//! A forest on lanes: in f32, the lanes of a group side by side.
//!
//! Finding the way through a tree is loads and comparisons, a chain of them for each lane, and instruction sets below AVX-512
//! cannot load from places of their own for each lane. What can be done is to keep many chains going at once: all lanes of a
//! group go down a tree together, level by level, without a branch. A leaf leads to itself, so that lanes that have arrived
//! wait there.

use fearless_simd::{Simd, SimdBase};

use super::Forest;
use crate::kernel::Group;
use fpsrl_data::scaling::Scale;
use fpsrl_engine::rollout::PADDING;

/// A forest laid out for lanes, with its scaling of inputs and output.
#[derive(Clone, Debug)]
pub(crate) struct ForestKernel {
    width: usize,
    trees: Vec<KernelTree>,
}

#[derive(Clone, Debug)]
struct KernelTree {
    depth: usize,
    nodes: Vec<Node>,
    /// What each node predicts; 0 of those that are no leaf.
    values: Vec<f32>,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    /// Inputs above this go to the second child. A leaf's is infinite.
    at: f32,
    input: u32,
    /// The first child; the second stands after it. A leaf's is itself.
    children: u32,
}

impl ForestKernel {
    /// Lays a forest out. Its inputs will be given relative to `origin`.
    pub(crate) fn new(forest: &Forest, inputs: &[Scale], output: &Scale, origin: &[f64]) -> Self {
        let trees = forest
            .trees
            .iter()
            .map(|tree| {
                let columns = tree.children.iter().zip(&tree.inputs).zip(&tree.numbers).enumerate();
                let (nodes, values) = columns
                    .map(|(place, ((&children, &input), &number))| match children {
                        0 => (Node { at: f32::INFINITY, input: 0, children: place as u32 }, output.undo(number) as f32),
                        _ => {
                            let at = (inputs[input].undo(number) - origin[input]) as f32;
                            (Node { at, input: input as u32, children: children as u32 }, 0.0)
                        }
                    })
                    .unzip();
                KernelTree { depth: tree.depth(), nodes, values }
            })
            .collect();
        Self { width: inputs.len(), trees }
    }

    /// Inputs, which must have room in the buffers.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// The mean of the trees for a group of lanes, whose inputs are relative to the origin. `CAPACITY` must be at least
    /// [`ForestKernel::width`].
    #[inline(always)]
    pub(crate) fn evaluate<S: Simd, const CAPACITY: usize, const VECTORS: usize>(
        &self,
        simd: S,
        inputs: &[Group<S, VECTORS>],
    ) -> Group<S, VECTORS> {
        let mut numbers = [[0.0f32; PADDING]; CAPACITY];
        for (numbers, input) in numbers.iter_mut().zip(inputs) {
            for (numbers, vector) in numbers.chunks_exact_mut(S::f32s::LEN).zip(input) {
                vector.store_slice(numbers);
            }
        }
        let mut sums = [0.0f32; PADDING];
        let sums = &mut sums[..VECTORS * S::f32s::LEN];
        for tree in &self.trees {
            tree.add(&numbers, sums);
        }
        let share = 1.0 / self.trees.len() as f32;
        let mut means = [S::f32s::splat(simd, 0.0); VECTORS];
        // 0, or no number where an input is not finite.
        for input in inputs {
            for (mean, input) in means.iter_mut().zip(input) {
                *mean += *input * 0.0;
            }
        }
        for (mean, sums) in means.iter_mut().zip(sums.chunks_exact(S::f32s::LEN)) {
            *mean += S::f32s::from_slice(simd, sums) * share;
        }
        means
    }
}

impl KernelTree {
    /// Adds what the tree predicts to each lane's sum.
    #[inline(always)]
    fn add(&self, numbers: &[[f32; PADDING]], sums: &mut [f32]) {
        let mut places = [0u32; PADDING];
        let places = &mut places[..sums.len()];
        for _ in 0..self.depth {
            for (lane, place) in places.iter_mut().enumerate() {
                let node = self.nodes[*place as usize];
                *place = node.children + u32::from(numbers[node.input as usize][lane] > node.at);
            }
        }
        for (sum, place) in sums.iter_mut().zip(places) {
            *sum += self.values[*place as usize];
        }
    }
}
