//! What predicts a quantity instead of a network: a Gaussian process or trees, as the settings ask or as validation rows
//! decide.
//!
//! On lanes a process of a hundred centres costs as much as several networks. So where the choice is free, it must do better
//! than the network by a good deal, have few centres, and is not even tried where the network is good enough.

use rayon::prelude::*;

use super::Quantity;
use crate::forest::{self, Forest};
use crate::gaussian_process::{self, GaussianProcess};
use crate::model::{VariableModel, WorldModel};
use crate::predictor::Predictor;
use crate::training::Samples;
use crate::{WorldKind, WorldSettings};
use fpsrl_base::progress::Progress;
use fpsrl_data::System;

/// Validation error over that of the network, below which something else takes its place.
const BETTER: f64 = 0.5;

/// A network whose validation error is below this is good enough; nothing else is tried.
const GOOD_ENOUGH: f64 = 1e-4;

/// Centres of a process that nobody asked for, at most.
const FREE_CENTRES: usize = 256;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// A Gaussian process, exact up to so many rows.
    Process {
        exact_rows: usize,
    },
    Forest,
    /// One tree that sees every row, for what jumps.
    Tree,
}

/// Whether a network is to be trained for a quantity.
pub(super) fn needs_network(settings: &WorldSettings, like: Option<&WorldModel>, index: usize) -> bool {
    !matches!(settings.kind, WorldKind::GaussianProcess | WorldKind::Forest)
        // A line needs none.
        && like.is_none_or(|world| world.learned(index).predictor.layers().is_some_and(|layers| layers > 0))
}

/// Puts something else in the place of networks where it is asked for, or does better. `like` is the first member of an
/// ensemble, whose choices the others take over.
pub(super) fn replace(
    system: &System,
    settings: &WorldSettings,
    quantities: &[Quantity],
    like: Option<&WorldModel>,
    parts: &mut [VariableModel],
    progress: &Progress,
) {
    quantities.par_iter().zip(parts).enumerate().with_max_len(1).for_each(|(index, (quantity, part))| {
        if quantity.constant || progress.stop_requested() {
            return;
        }
        let kinds = kinds(settings, like, index);
        let columns: Vec<Vec<f64>> = (0..quantity.inputs.len())
            .map(|input| (0..quantity.training.rows()).map(|row| quantity.training.input(row, input)).collect())
            .collect();
        let targets: Vec<f64> = (0..quantity.training.rows()).map(|row| quantity.training.target(row)).collect();
        let rows: Vec<usize> = (0..targets.len()).collect();
        let mut least = match quantity.needs_network {
            true if like.is_some() || part.validation_error < GOOD_ENOUGH => return,
            true => BETTER * part.validation_error,
            false => {
                part.depths.clear();
                f64::INFINITY
            }
        };
        for kind in kinds {
            let learned = learn(kind, &columns, &targets, &rows, system.seed());
            let validation_error = error(&learned, &quantity.validation);
            if validation_error < least {
                least = validation_error;
                part.validation_error = validation_error;
                part.generalisation_error = error(&learned, &quantity.generalisation);
                part.predictor = learned;
            }
        }
    });
}

fn kinds(settings: &WorldSettings, like: Option<&WorldModel>, index: usize) -> Vec<Kind> {
    let exact_rows = match settings.kind {
        WorldKind::GaussianProcess => gaussian_process::Options::default().exact_rows,
        _ => FREE_CENTRES,
    };
    match (like, settings.kind) {
        (Some(world), _) => match &world.learned(index).predictor {
            Predictor::Network(_) | Predictor::Carried(_) | Predictor::Given(_) => vec![],
            Predictor::GaussianProcess(_) => vec![Kind::Process { exact_rows }],
            Predictor::Forest(forest) if forest.trees.len() == 1 => vec![Kind::Tree],
            Predictor::Forest(_) => vec![Kind::Forest],
        },
        (None, WorldKind::Mlp | WorldKind::Ensemble) => vec![],
        (None, WorldKind::GaussianProcess) => vec![Kind::Process { exact_rows }],
        (None, WorldKind::Forest) => vec![Kind::Forest, Kind::Tree],
        (None, WorldKind::Auto) => vec![Kind::Process { exact_rows }, Kind::Forest, Kind::Tree],
    }
}

fn learn(kind: Kind, columns: &[Vec<f64>], targets: &[f64], rows: &[usize], seed: u64) -> Predictor {
    match kind {
        Kind::Process { exact_rows } => {
            let options =
                gaussian_process::Options { exact_rows, centres: FREE_CENTRES, ..gaussian_process::Options::default() };
            Predictor::GaussianProcess(Box::new(GaussianProcess::fit(columns, targets, rows, &options, seed)))
        }
        Kind::Forest => Predictor::Forest(Forest::fit(columns, targets, rows, &forest::Options::default(), seed)),
        Kind::Tree => Predictor::Forest(Forest::fit(columns, targets, rows, &forest::Options::single_tree(), seed)),
    }
}

/// The mean squared error over the variance; NaN counts as infinite.
fn error(learned: &Predictor, samples: &Samples) -> f64 {
    let point = |row: usize| (0..samples.width()).map(|input| samples.input(row, input)).collect::<Vec<f64>>();
    let square = |row: usize| (learned.evaluate(&point(row)) - samples.target(row)).powi(2);
    let sum: f64 = (0..samples.rows()).map(square).sum();
    if sum.is_finite() { sum / samples.rows().max(1) as f64 } else { f64::INFINITY }
}
