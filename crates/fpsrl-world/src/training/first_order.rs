//! Trainers that see only the gradient of a mini-batch: Vario-Eta, which the paper uses, and Adam.
//!
//! Vario-Eta (Neuneier and Zimmermann; in Montavon, Orr, Müller: *Neural networks: tricks of the trade*, 2012) divides
//! each weight's step by the standard deviation of its own gradient over the recent batches:
//! Δw = -η g / (√v + ε), with v an exponential average of (g - ḡ)². Adam (Kingma and Ba 2014) divides a smoothed
//! gradient by its root mean square. Both learning rates fall along a cosine to nothing at the last epoch.

use super::passes::Passes;
use super::samples::Samples;
use fpsrl_base::random::Stream;

/// A mini-batch is one block of rows; every epoch cuts the blocks anew.
pub(super) struct FirstOrder {
    rule: Rule,
    /// Epochs that the learning rate falls over.
    epochs: usize,
    epoch: usize,
    steps: i32,
    /// ḡ of Vario-Eta, the first moment of Adam.
    mean: Vec<f64>,
    /// v of Vario-Eta, the second moment of Adam.
    spread: Vec<f64>,
    shuffle: Stream,
    /// Which of the networks this is, so that no two see the same order.
    lane: u32,
}

/// How a gradient becomes a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    VarioEta,
    Adam,
}

const VARIO_ETA_RATE: f64 = 0.01;
const VARIO_ETA_SMOOTHING: f64 = 0.01;
const VARIO_ETA_FLOOR: f64 = 1e-4;
const ADAM_RATE: f64 = 0.01;
const ADAM_MEAN: f64 = 0.9;
const ADAM_SPREAD: f64 = 0.999;
const ADAM_FLOOR: f64 = 1e-8;

impl FirstOrder {
    pub(super) fn new(rule: Rule, parameters: usize, epochs: usize, shuffle: Stream, lane: u32) -> Self {
        Self {
            rule,
            epochs,
            epoch: 0,
            steps: 0,
            mean: vec![0.0; parameters],
            spread: vec![0.0; parameters],
            shuffle,
            lane,
        }
    }

    /// One pass over the training set.
    pub(super) fn iterate(&mut self, passes: &mut Passes, parameters: &mut [f64], training: &Samples) -> bool {
        let progress = self.epoch as f64 / self.epochs.max(1) as f64;
        let fall = 0.5 * (1.0 + (std::f64::consts::PI * progress).cos());
        let order = self.shuffle.permutation(training.rows(), self.lane.wrapping_mul(1 << 16) + self.epoch as u32);
        let shuffled = training.shuffled(&order);
        let mut gradient = vec![0.0; parameters.len()];
        for block in 0..shuffled.blocks() {
            gradient.fill(0.0);
            passes.add_gradient(parameters, &shuffled, block, &mut gradient);
            let rows = shuffled.rows_in(block) as f64;
            gradient.iter_mut().for_each(|slope| *slope /= rows);
            self.steps = self.steps.saturating_add(1);
            match self.rule {
                Rule::VarioEta => self.vario_eta(fall, &gradient, parameters),
                Rule::Adam => self.adam(fall, &gradient, parameters),
            }
        }
        self.epoch += 1;
        parameters.iter().all(|parameter| parameter.is_finite())
    }

    fn vario_eta(&mut self, fall: f64, gradient: &[f64], parameters: &mut [f64]) {
        // The first batches have no past: they weigh like a plain average.
        let smoothing = VARIO_ETA_SMOOTHING.max(1.0 / f64::from(self.steps));
        for (((parameter, slope), mean), spread) in
            parameters.iter_mut().zip(gradient).zip(&mut self.mean).zip(&mut self.spread)
        {
            let deviation = slope - *mean;
            *mean += smoothing * deviation;
            *spread += smoothing * ((slope - *mean) * deviation - *spread);
            if self.steps > 1 {
                *parameter -= VARIO_ETA_RATE * fall * slope / (spread.sqrt() + VARIO_ETA_FLOOR);
            }
        }
    }

    fn adam(&mut self, fall: f64, gradient: &[f64], parameters: &mut [f64]) {
        let mean_share = 1.0 - ADAM_MEAN.powi(self.steps);
        let spread_share = 1.0 - ADAM_SPREAD.powi(self.steps);
        for (((parameter, slope), mean), spread) in
            parameters.iter_mut().zip(gradient).zip(&mut self.mean).zip(&mut self.spread)
        {
            *mean += (1.0 - ADAM_MEAN) * (slope - *mean);
            *spread += (1.0 - ADAM_SPREAD) * (slope * slope - *spread);
            let size = (*spread / spread_share).sqrt() + ADAM_FLOOR;
            *parameter -= ADAM_RATE * fall * (*mean / mean_share) / size;
        }
    }
}
