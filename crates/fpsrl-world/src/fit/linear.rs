//! Networks on top of a straight line: what is learned of a plant that follows its log.
//!
//! A controller goes where the operators did not: full voltage for twenty steps, at a speed where they never gave it. There a
//! network of arctangents says anything; a straight line goes on as it was. So the line is fitted first, networks learn what it
//! leaves over, and where they tell hardly more of the validation rows than the line does, it stands alone.

use rayon::prelude::*;

use super::Quantity;
use super::starts::forecast;
use crate::model::{DepthError, VariableModel, WorldModel};
use crate::network::{Layer, Network};
use crate::predictor::Predictor;
use crate::training::Samples;
use crate::{WorldKind, WorldSettings};
use fpsrl_data::System;

/// The line stands alone if its validation error is at most this multiple of the best network's.
const AS_GOOD: f64 = 1.5;

/// How much of an arctangent a neuron uses that hands the line on: over a hundred spreads it bends by less than a ten-thousandth.
const NEARLY_STRAIGHT: f64 = 1e-4;

/// A straight line: what a quantity is forecast to be from its scaled inputs.
pub(super) struct Line {
    weights: Vec<f64>,
    offset: f64,
    /// Its mean squared errors in the validation and the generalisation rows.
    errors: [f64; 2],
}

impl Line {
    fn at(&self, samples: &Samples, row: usize) -> f64 {
        self.weights.iter().enumerate().map(|(input, weight)| weight * samples.input(row, input)).sum::<f64>()
            + self.offset
    }

    /// Samples with so many times the line more.
    fn added(&self, times: f64, samples: &Samples) -> Samples {
        let sum = |row: usize| samples.target(row) + times * self.at(samples, row);
        samples.with_targets(&(0..samples.rows()).map(sum).collect::<Vec<f64>>())
    }

    /// The line as a network without hidden layers.
    fn alone(&self) -> Network {
        let (weights, biases) = (self.weights.clone(), vec![self.offset]);
        Network { layers: vec![Layer { inputs: weights.len(), outputs: 1, weights, biases }] }
    }

    /// A network and the line together: in each hidden layer one more neuron hands the line on.
    fn with(&self, network: &Network) -> Network {
        let last = network.layers.len() - 1;
        if last == 0 {
            let mut sum = network.clone();
            sum.layers[0].weights.iter_mut().zip(&self.weights).for_each(|(to, from)| *to += from);
            sum.layers[0].biases[0] += self.offset;
            return sum;
        }
        let layers = network.layers.iter().enumerate().map(|(index, layer)| {
            let more = usize::from(index > 0);
            let mut weights: Vec<f64> = Vec::new();
            for row in layer.weights.chunks(layer.inputs.max(1)) {
                weights.extend(row);
                // Only the output hears the line.
                weights.extend((more > 0).then_some(if index == last { 1.0 / NEARLY_STRAIGHT } else { 0.0 }));
            }
            let mut biases = layer.biases.clone();
            if index == 0 {
                weights.extend(self.weights.iter().map(|weight| NEARLY_STRAIGHT * weight));
                biases.push(NEARLY_STRAIGHT * self.offset);
            } else if index < last {
                weights.extend(vec![0.0; layer.inputs]);
                weights.push(1.0);
                biases.push(0.0);
            }
            Layer { inputs: layer.inputs + more, outputs: biases.len(), weights, biases }
        });
        Network { layers: layers.collect() }
    }
}

impl Quantity {
    /// Changes the targets of all of its samples.
    fn change(&mut self, change: impl Fn(&Samples) -> Samples) {
        for samples in [&mut self.training, &mut self.validation, &mut self.generalisation] {
            *samples = change(samples);
        }
    }
}

/// Fits lines to what moves, and leaves to networks what is left over; none where networks learn everything, as on plants that do
/// not follow a log.
pub(super) fn take_off(system: &System, settings: &WorldSettings, quantities: &mut [Quantity]) -> Vec<Option<Line>> {
    let applies = system.place().is_some() && !matches!(settings.kind, WorldKind::GaussianProcess | WorldKind::Forest);
    let own = system.own_states();
    let fit = |quantity: &mut Quantity| {
        if !applies || quantity.index >= own || quantity.constant {
            return None;
        }
        let samples = &quantity.training;
        let column = |input: usize| (0..samples.rows()).map(|row| samples.input(row, input)).collect::<Vec<f64>>();
        let columns: Vec<Vec<f64>> = (0..samples.width()).map(column).collect();
        let targets: Vec<f64> = (0..samples.rows()).map(|row| samples.target(row)).collect();
        let found = forecast(&columns, &targets)?;
        let mut line = Line { weights: found.weights, offset: found.offset, errors: [0.0; 2] };
        quantity.change(|samples| line.added(-1.0, samples));
        line.errors = [&quantity.validation, &quantity.generalisation].map(|samples| {
            (0..samples.rows()).map(|row| samples.target(row).powi(2)).sum::<f64>() / samples.rows().max(1) as f64
        });
        Some(line)
    };
    quantities.par_iter_mut().map(fit).collect()
}

/// Puts the lines back: alone where they are as good, else below the networks. Members take over what the first one chose.
pub(super) fn put_back(
    lines: &[Option<Line>],
    quantities: &mut [Quantity],
    like: Option<&WorldModel>,
    parts: &mut [VariableModel],
) {
    for (index, ((line, quantity), part)) in lines.iter().zip(quantities).zip(parts).enumerate() {
        let (Some(line), Predictor::Network(network)) = (line, &part.predictor) else { continue };
        quantity.change(|samples| line.added(1.0, samples));
        let alone = match like {
            Some(first) => first.learned(index).predictor.layers() == Some(0),
            None => line.errors[0] <= AS_GOOD * part.validation_error,
        };
        let [validation_error, generalisation_error] = line.errors;
        part.depths.insert(0, DepthError { layers: 0, validation_error, generalisation_error, epochs: 0 });
        if alone {
            part.predictor = Predictor::Network(line.alone());
            (part.validation_error, part.generalisation_error) = (validation_error, generalisation_error);
        } else {
            part.predictor = Predictor::Network(line.with(network));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_below_a_network_of_any_depth_is_their_sum() {
        let line = Line { weights: vec![0.5, -2.0], offset: 0.25, errors: [0.0; 2] };
        let layer = |inputs: usize, outputs: usize| Layer {
            inputs,
            outputs,
            weights: (0..inputs * outputs).map(|index| 0.3 - 0.1 * index as f64).collect(),
            biases: (0..outputs).map(|index| 0.05 * index as f64).collect(),
        };
        let networks = [vec![layer(2, 1)], vec![layer(2, 3), layer(3, 1)], vec![layer(2, 3), layer(3, 2), layer(2, 1)]];
        for layers in networks {
            let network = Network { layers };
            let sum = line.with(&network);
            assert_eq!(sum.fault(2), None);
            assert_eq!(sum.depth(), network.depth());
            for inputs in [[0.0, 0.0], [1.0, -1.0], [-8.0, 20.0]] {
                let expected = network.evaluate(&inputs) + line.alone().evaluate(&inputs);
                let close = 1e-4 * (1.0 + expected.abs());
                assert!((sum.evaluate(&inputs) - expected).abs() < close, "{inputs:?} {}", network.depth());
            }
        }
    }
}
