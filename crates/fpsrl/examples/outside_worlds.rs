//! Writes data, and what Gaussian processes and trees make of them, for a check against scikit-learn
//! (`xtask/src/scikit_learn.py`).
//!
//!     cargo run --release --example outside_worlds -- FILE

use fpsrl::random::{Purpose, Stream};
use fpsrl::world::forest::{self, Forest};
use fpsrl::world::gaussian_process::{self, GaussianProcess};
use serde_json::{Value, json};

/// Bent in the first input, straight in the second, a product with the third, and noise.
fn target(x: &[f64], noise: f64) -> f64 {
    (1.3 * x[0]).sin() + 0.5 * x[1] - 0.2 * x[0] * x[2] + noise
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("say where to write")?;
    let stream = Stream::new(1, Purpose::LogStart);
    let count = 3_000;
    let columns: Vec<Vec<f64>> =
        (0..3).map(|input| (0..count).map(|row| stream.normal(0, row, input)).collect()).collect();
    let point = |row: usize| columns.iter().map(|column| column[row]).collect::<Vec<f64>>();
    let targets: Vec<f64> =
        (0..count).map(|row| target(&point(row as usize), 0.05 * stream.normal(1, row, 0))).collect();
    let unseen: Vec<usize> = (2_800..count as usize).collect();
    let process = |rows: usize, options: &gaussian_process::Options| -> Value {
        let rows: Vec<usize> = (0..rows).collect();
        let process = GaussianProcess::fit(&columns, &targets, &rows, options, 1);
        let mean: Vec<f64> = unseen.iter().map(|&row| process.evaluate(&point(row))).collect();
        let variance: Vec<f64> = unseen.iter().map(|&row| process.variance(&point(row))).collect();
        json!({ "rows": rows.len(), "process": process, "mean": mean, "variance": variance })
    };
    let forest = |rows: usize, options: &forest::Options| -> Value {
        let rows: Vec<usize> = (0..rows).collect();
        let forest = Forest::fit(&columns, &targets, &rows, options, 1);
        let mean: Vec<f64> = unseen.iter().map(|&row| forest.evaluate(&point(row))).collect();
        let leaves: Vec<usize> = forest.trees.iter().map(|tree| tree.leaves()).collect();
        json!({ "rows": rows.len(), "leaf": options.leaf, "mean": mean, "leaves": leaves })
    };
    let usual = gaussian_process::Options::default();
    let written = json!({
        "inputs": (0..count as usize).map(point).collect::<Vec<_>>(),
        "targets": targets,
        "unseen": unseen,
        "exact": process(250, &usual),
        "sparse": process(2_500, &gaussian_process::Options { centres: 120, ..usual }),
        "tree": forest(400, &forest::Options { leaf: 3, most_leaves: usize::MAX, ..forest::Options::single_tree() }),
        "forest": forest(1_000, &forest::Options { leaf: 2, most_leaves: usize::MAX, ..forest::Options::default() }),
    });
    std::fs::write(path, serde_json::to_vec(&written)?)?;
    Ok(())
}
