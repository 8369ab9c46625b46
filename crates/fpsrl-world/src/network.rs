//! A feed-forward network with arctangent neurons and one linear output (section 5.3 of the paper).
//!
//! This is the form that is stored and read by people, with a plain evaluation that faster ones are tested against.

use serde::{Deserialize, Serialize};

/// A network with one output.
///
/// ```
/// use fpsrl_world::network::{Layer, Network};
/// let hidden = Layer { inputs: 1, outputs: 1, weights: vec![2.0], biases: vec![0.5] };
/// let output = Layer { inputs: 1, outputs: 1, weights: vec![3.0], biases: vec![-1.0] };
/// let network = Network { layers: vec![hidden, output] };
/// assert_eq!(network.evaluate(&[0.25]), 3.0 * 1.0f64.atan() - 1.0);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// Hidden layers, then the linear output layer; without any hidden layer it is a plain weighted sum.
    pub layers: Vec<Layer>,
}

/// A layer of a network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layer {
    /// Numbers going in.
    pub inputs: usize,
    /// Neurons.
    pub outputs: usize,
    /// `weights[output * inputs + input]`.
    pub weights: Vec<f64>,
    /// One for each neuron.
    pub biases: Vec<f64>,
}

impl Network {
    /// The output for scaled inputs.
    pub fn evaluate(&self, inputs: &[f64]) -> f64 {
        let last = self.layers.len() - 1;
        let mut values = inputs.to_vec();
        for (index, layer) in self.layers.iter().enumerate() {
            values = (0..layer.outputs)
                .map(|output| {
                    let row = &layer.weights[output * layer.inputs..][..layer.inputs];
                    let sum = row.iter().zip(&values).map(|(weight, value)| weight * value).sum::<f64>();
                    let sum = sum + layer.biases[output];
                    if index == last { sum } else { sum.atan() }
                })
                .collect();
        }
        values[0]
    }

    /// Hidden layers.
    pub fn depth(&self) -> usize {
        self.layers.len().saturating_sub(1)
    }

    /// What is wrong with a network that should read so many inputs, if anything is.
    pub fn fault(&self, inputs: usize) -> Option<String> {
        let mut width = inputs;
        for (index, layer) in self.layers.iter().enumerate() {
            let place = format!("layer {} of the network", index + 1);
            if layer.inputs != width {
                return Some(format!("{place} reads {} numbers where {width} arrive", layer.inputs));
            }
            if layer.outputs == 0 {
                return Some(format!("{place} has no neuron"));
            }
            if layer.biases.len() != layer.outputs {
                return Some(format!("{place} has {} biases for {} neurons", layer.biases.len(), layer.outputs));
            }
            if layer.inputs.checked_mul(layer.outputs) != Some(layer.weights.len()) {
                return Some(format!(
                    "{place} has {} weights for {} neurons of {} inputs",
                    layer.weights.len(),
                    layer.outputs,
                    layer.inputs
                ));
            }
            if !layer.weights.iter().chain(&layer.biases).all(|number| number.is_finite()) {
                return Some(format!("{place} has a weight that is not finite"));
            }
            width = layer.outputs;
        }
        if self.layers.is_empty() {
            return Some("the network has no layer".into());
        }
        (width != 1).then(|| format!("the network has {width} outputs instead of one"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(inputs: usize, outputs: usize) -> Layer {
        Layer { inputs, outputs, weights: vec![0.5; inputs * outputs], biases: vec![0.25; outputs] }
    }

    #[test]
    fn two_hidden_layers_are_evaluated_as_by_hand() {
        let network = Network {
            layers: vec![
                Layer { inputs: 2, outputs: 2, weights: vec![1.0, 2.0, 3.0, 4.0], biases: vec![0.1, 0.2] },
                Layer { inputs: 2, outputs: 1, weights: vec![-1.0, 0.5], biases: vec![0.3] },
                Layer { inputs: 1, outputs: 1, weights: vec![2.0], biases: vec![-0.7] },
            ],
        };
        let (x, y) = (0.3, -0.4);
        let first = (1.0 * x + 2.0 * y + 0.1f64).atan();
        let second = (3.0 * x + 4.0 * y + 0.2f64).atan();
        let expected = 2.0 * (-first + 0.5 * second + 0.3).atan() - 0.7;
        assert!((network.evaluate(&[x, y]) - expected).abs() < 1e-15);
    }

    #[test]
    fn shapes_that_do_not_fit_are_told() {
        let good = Network { layers: vec![layer(3, 4), layer(4, 1)] };
        assert_eq!(good.fault(3), None);
        assert!(good.fault(2).unwrap().contains("layer 1"));
        assert!(Network { layers: vec![layer(3, 4), layer(5, 1)] }.fault(3).unwrap().contains("layer 2"));
        assert!(Network { layers: vec![layer(3, 4), layer(4, 2)] }.fault(3).unwrap().contains("2 outputs"));
        // Without a hidden layer it is a weighted sum.
        assert_eq!(Network { layers: vec![layer(3, 1)] }.fault(3), None);
        assert!(Network { layers: vec![layer(3, 2)] }.fault(3).unwrap().contains("2 outputs"));
        assert!(Network { layers: vec![] }.fault(3).is_some());
        let mut short = good.clone();
        short.layers[0].weights.pop();
        assert!(short.fault(3).unwrap().contains("11 weights"));
        let mut infinite = good;
        infinite.layers[1].biases[0] = f64::NAN;
        assert!(infinite.fault(3).unwrap().contains("not finite"));
    }
}
