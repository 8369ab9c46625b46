//! Training of networks: Levenberg-Marquardt, and the mini-batch trainers Vario-Eta (the paper's) and Adam.
//!
//! Whatever the trainer, weights are changed by the training rows and chosen by the validation rows: the weights that
//! have been best there are what training returns (section 5.3 of the paper).

mod arctangent;
mod first_order;
mod levenberg_marquardt;
mod passes;
mod samples;
mod start;

pub(crate) use passes::{Passes, Shape};
pub(crate) use samples::Samples;
pub(crate) use start::{Forecast, Split, Tree, best_split, start};

use first_order::{FirstOrder, Rule};
use fpsrl_base::random::{Purpose, Stream};
use levenberg_marquardt::LevenbergMarquardt;

/// How many hidden layers a network has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// A given number, 1 to 3.
    Layers(usize),
    /// All three are trained, and the best on the validation set is kept for each variable.
    Auto,
}

impl Depth {
    /// Every depth to train.
    ///
    /// ```
    /// use fpsrl_world::training::Depth;
    /// assert_eq!(Depth::Layers(2).each(), [2]);
    /// assert_eq!(Depth::Auto.each(), [1, 2, 3]);
    /// ```
    pub fn each(&self) -> Vec<usize> {
        match self {
            Depth::Layers(layers) => vec![*layers],
            Depth::Auto => vec![1, 2, 3],
        }
    }
}

/// The training algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trainer {
    /// Damped Gauss-Newton steps over all rows: the fewest epochs, and by far the most accurate for small networks.
    LevenbergMarquardt,
    /// The paper's: mini-batches, each weight's step divided by the standard deviation of its gradient.
    VarioEta,
    /// Mini-batches, smoothed gradients divided by their root mean square.
    Adam,
}

impl Trainer {
    /// The epochs that a problem gets which does not set them. An epoch of Levenberg-Marquardt is one step.
    ///
    /// ```
    /// use fpsrl_world::training::Trainer;
    /// assert!(Trainer::LevenbergMarquardt.default_epochs() < Trainer::VarioEta.default_epochs());
    /// ```
    pub fn default_epochs(self) -> usize {
        match self {
            Trainer::LevenbergMarquardt => 150,
            Trainer::VarioEta | Trainer::Adam => 1_500,
        }
    }

    /// Epochs without a better validation error after which a training ends.
    fn patience(self) -> usize {
        match self {
            Trainer::LevenbergMarquardt => 30,
            Trainer::VarioEta | Trainer::Adam => 200,
        }
    }
}

/// How a training is to go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Course {
    pub(crate) trainer: Trainer,
    /// The most that will ever be run; learning rates fall over them.
    pub(crate) epochs: usize,
    pub(crate) seed: u64,
    /// Tells trainings of one seed apart.
    pub(crate) lane: u32,
}

/// A training under way, which can be continued.
pub(crate) struct Training<'a> {
    training: &'a Samples,
    validation: &'a Samples,
    passes: Passes,
    method: Method,
    patience: usize,
    parameters: Vec<f64>,
    best: Vec<f64>,
    best_error: f64,
    stale: usize,
    epochs: usize,
    finished: bool,
}

enum Method {
    LevenbergMarquardt(LevenbergMarquardt),
    FirstOrder(FirstOrder),
}

impl<'a> Training<'a> {
    /// Starts from given parameters.
    pub(crate) fn new(
        course: Course,
        shape: &Shape,
        parameters: Vec<f64>,
        training: &'a Samples,
        validation: &'a Samples,
    ) -> Self {
        let Course { trainer, epochs, seed, lane } = course;
        let mut passes = Passes::new(shape);
        let first_order = |rule| {
            let shuffle = Stream::new(seed, Purpose::Shuffle);
            Method::FirstOrder(FirstOrder::new(rule, parameters.len(), epochs, shuffle, lane))
        };
        let method = match trainer {
            Trainer::LevenbergMarquardt => Method::LevenbergMarquardt(LevenbergMarquardt::new(parameters.len())),
            Trainer::VarioEta => first_order(Rule::VarioEta),
            Trainer::Adam => first_order(Rule::Adam),
        };
        Self {
            best_error: finite(passes.error(&parameters, validation)),
            best: parameters.clone(),
            parameters,
            training,
            validation,
            passes,
            method,
            patience: trainer.patience(),
            stale: 0,
            epochs: 0,
            finished: false,
        }
    }

    /// One epoch more. Returns whether another one could still do better.
    pub(crate) fn epoch(&mut self) -> bool {
        if self.finished {
            return false;
        }
        let moved = match &mut self.method {
            Method::LevenbergMarquardt(method) => method.iterate(&mut self.passes, &mut self.parameters, self.training),
            Method::FirstOrder(method) => method.iterate(&mut self.passes, &mut self.parameters, self.training),
        };
        self.epochs += 1;
        if moved {
            let error = finite(self.passes.error(&self.parameters, self.validation));
            // A tiny gain counts as the best, but is no reason to go on.
            self.stale = if error < self.best_error * (1.0 - 1e-3) { 0 } else { self.stale + 1 };
            if error < self.best_error {
                self.best_error = error;
                self.best.clone_from(&self.parameters);
            }
        }
        self.finished = !moved || self.stale >= self.patience || self.best_error <= 1e-24;
        !self.finished
    }

    /// The smallest mean squared validation error so far.
    pub(crate) fn error(&self) -> f64 {
        self.best_error
    }

    /// Epochs run so far.
    pub(crate) fn epochs(&self) -> usize {
        self.epochs
    }

    /// The parameters with the smallest validation error.
    pub(crate) fn best(&self) -> &[f64] {
        &self.best
    }
}

/// An error that can be compared: whatever is not a number is the worst.
fn finite(error: f64) -> f64 {
    if error.is_nan() { f64::INFINITY } else { error }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of a smooth function of two inputs.
    fn smooth(rows: u32, iteration: u32) -> Samples {
        let stream = Stream::new(1, Purpose::LogStart);
        let columns: Vec<Vec<f64>> = (0..2)
            .map(|input| (0..rows).map(|row| stream.within(-2.0, 2.0, iteration, row, input)).collect())
            .collect();
        let targets: Vec<f64> =
            (0..rows as usize).map(|row| columns[0][row].sin() * (1.0 + 0.5 * columns[1][row])).collect();
        Samples::new(&columns, &targets)
    }

    fn trained(trainer: Trainer, depth: usize, epochs: usize) -> f64 {
        let (training, validation, fresh) = (smooth(800, 0), smooth(200, 1), smooth(500, 2));
        let shape = Shape::new(2, 10, depth);
        let begin = start(&shape, &training, &Tree::none(), Stream::new(1, Purpose::Weights), 0, 0);
        let mut run =
            Training::new(Course { trainer, epochs, seed: 1, lane: 0 }, &shape, begin, &training, &validation);
        while run.epochs() < epochs && run.epoch() {}
        Passes::new(&shape).error(run.best(), &fresh)
    }

    #[test]
    fn levenberg_marquardt_fits_a_smooth_function_to_five_digits() {
        for depth in [1, 2] {
            let error = trained(Trainer::LevenbergMarquardt, depth, 120);
            assert!(error < 1e-5, "{depth} layers: {error}");
        }
    }

    #[test]
    fn mini_batch_trainers_fit_a_smooth_function() {
        for trainer in [Trainer::VarioEta, Trainer::Adam] {
            let error = trained(trainer, 2, 500);
            assert!(error < 2e-3, "{trainer:?}: {error}");
        }
    }

    #[test]
    fn a_network_that_can_be_recovered_is_recovered() {
        // One hidden neuron, targets from a network of the same shape: the least error possible is 0.
        let shape = Shape::new(1, 1, 1);
        let truth = [1.7, -0.4, 2.5, 0.3];
        let columns = vec![(0..400).map(|row| f64::from(row) * 0.01 - 2.0).collect::<Vec<f64>>()];
        let network = shape.network(&truth);
        let targets: Vec<f64> = columns[0].iter().map(|&x| network.evaluate(&[x])).collect();
        let samples = Samples::new(&columns, &targets);
        let course = Course { trainer: Trainer::LevenbergMarquardt, epochs: 200, seed: 1, lane: 0 };
        let mut run = Training::new(course, &shape, vec![0.5, 0.1, 0.5, 0.0], &samples, &samples);
        while run.epochs() < 200 && run.epoch() {}
        assert!(run.error() < 1e-20, "{}", run.error());
        for (found, wanted) in run.best().iter().zip(truth) {
            assert!((found - wanted).abs() < 1e-8, "{:?}", run.best());
        }
    }

    #[test]
    fn a_linear_target_of_one_column_takes_a_few_steps() {
        let columns = vec![(0..300).map(|row| f64::from(row) * 0.01 - 1.5).collect::<Vec<f64>>(), vec![0.0; 300]];
        let samples = Samples::new(&columns, &columns[0].iter().map(|x| 0.5 * x).collect::<Vec<f64>>());
        let shape = Shape::new(2, 5, 1);
        let begin = start(&shape, &samples, &Tree::none(), Stream::new(1, Purpose::Weights), 0, 0);
        let course = Course { trainer: Trainer::LevenbergMarquardt, epochs: 50, seed: 1, lane: 0 };
        let mut run = Training::new(course, &shape, begin, &samples, &samples);
        while run.epochs() < 50 && run.epoch() {}
        assert!(run.error() < 1e-8, "{}", run.error());
    }
}
