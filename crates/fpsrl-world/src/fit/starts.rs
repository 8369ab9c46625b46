//! What the starts of networks are told about their data: walls at which a target jumps, stands still, or is stopped.
//!
//! All of it comes from the training rows. A wall that the data do not show costs nothing: starts compete, and the
//! validation rows decide.

use nalgebra::{DMatrix, DVector};

use crate::WorldSettings;
use crate::training::{Course, Forecast, Passes, Samples, Shape, Trainer, Training, Tree, start};
use fpsrl_base::random::{Purpose, Stream};
use fpsrl_data::System;

/// A target with at most so many values counts as stepped.
const MOST_STEPS: usize = 10;

/// Epochs of the small network that shows where a smooth target jumps.
const ROUGH_EPOCHS: usize = 20;

/// What the starts of a quantity's networks look at.
///
/// A target of a few values, such as most rewards, is a set of jumps, which a tree describes. In any other one, jumps
/// and kinks hide behind a smooth change; they show in what a small network leaves over.
pub(super) fn trees(
    system: &System,
    settings: &WorldSettings,
    training: &Samples,
    inputs: usize,
    targets: &[f64],
) -> Vec<Tree> {
    let neurons = settings.neurons;
    if is_stepped(targets) {
        let splits = neurons - 1;
        return vec![
            Tree::peel(training, &(0..inputs).collect::<Vec<usize>>(), splits),
            Tree::grow(training, inputs, splits),
            Tree::none(),
        ];
    }
    let standstill = standstill(training, inputs, neurons / 2);
    if settings.restarts == 1 {
        return vec![standstill.unwrap_or_else(Tree::none)];
    }
    let shape = Shape::new(inputs, neurons, 1);
    let weights = Stream::new(system.seed(), Purpose::Weights);
    let parameters = start(&shape, training, &Tree::none(), weights, 0, 0);
    let trainer = Trainer::LevenbergMarquardt;
    let course = Course { trainer, epochs: ROUGH_EPOCHS, seed: system.seed(), lane: 0 };
    let mut rough = Training::new(course, &shape, parameters, training, training);
    while rough.epochs() < ROUGH_EPOCHS && rough.epoch() {}
    let left_over = Passes::new(&shape).residuals(rough.best(), training);
    let splits = Tree::grow(&training.with_targets(&left_over), inputs, neurons * 2 / 5).only_splits();
    standstill.into_iter().chain([Tree::none(), splits]).collect()
}

/// The walls behind which a variable stands still, such as those of a pole that has fallen: where many rows have one and
/// the same target, a tree tells them from the others.
fn standstill(training: &Samples, inputs: usize, splits: usize) -> Option<Tree> {
    let targets: Vec<f64> = (0..training.rows()).map(|row| training.target(row)).collect();
    let stands = most_frequent(&targets)?;
    // That something stands still does not tell when it does.
    let column = |input| (0..training.rows()).map(|row| training.input(row, input)).collect::<Vec<f64>>();
    let candidates: Vec<usize> = (0..inputs).filter(|&input| most_frequent(&column(input)).is_none()).collect();
    Some(Tree::peel(&training.with_targets(&stands), &candidates, splits).only_splits())
}

/// The walls of the next state at which a variable is stopped: where many rows end at one and the same value, such as
/// speed 0, a tree of the next state tells them from the others, and a linear forecast tells when they will be met.
pub(super) fn stops(
    columns: &[Vec<f64>],
    dynamics: usize,
    next: &[f64],
    training: &[usize],
    splits: usize,
) -> Option<Tree> {
    let after: Vec<f64> = training.iter().map(|&row| next[row]).collect();
    let stopped = most_frequent(&after)?;
    let pick = |column: &Vec<f64>| training.iter().map(|&row| column[row]).collect::<Vec<f64>>();
    let after_columns: Vec<Vec<f64>> = columns[dynamics..].iter().map(pick).collect();
    let before_columns: Vec<Vec<f64>> = columns[..dynamics].iter().map(pick).collect();
    let order: Vec<usize> = (0..training.len()).collect();
    let samples = Samples::of(&after_columns, &stopped, &order);
    let candidates: Vec<usize> =
        (0..after_columns.len()).filter(|&input| most_frequent(&after_columns[input]).is_none()).collect();
    let tree = Tree::peel(&samples, &candidates, splits);
    tree.of_forecasts(|input| forecast(&before_columns, &after_columns[input]))
}

/// Of each number, 1 if it is the one that occurs most often and 0 if it is another; none if even that one is rare.
fn most_frequent(numbers: &[f64]) -> Option<Vec<f64>> {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let longest = sorted.chunk_by(|a, b| a == b).max_by_key(|run| run.len())?;
    let is_frequent = longest.len() >= numbers.len() / 50 && longest.len() < numbers.len();
    is_frequent.then(|| numbers.iter().map(|number| f64::from(u8::from(*number == longest[0]))).collect())
}

/// The least-squares forecast of a column from others, over the rows that move.
pub(super) fn forecast(columns: &[Vec<f64>], target: &[f64]) -> Option<Forecast> {
    let count = columns.len() + 1;
    let mut normal = DMatrix::<f64>::identity(count, count) * 1e-9;
    let mut right = DVector::<f64>::zeros(count);
    let mut row_values = vec![1.0; count];
    for row in 0..target.len() {
        for (value, column) in row_values.iter_mut().zip(columns) {
            *value = column[row];
        }
        let values = DVector::from_column_slice(&row_values);
        normal.ger(1.0, &values, &values, 1.0);
        right.axpy(target[row], &values, 1.0);
    }
    let solution = normal.cholesky()?.solve(&right);
    let (weights, offset) = solution.as_slice().split_at(count - 1);
    solution.iter().all(|weight| weight.is_finite()).then(|| Forecast { weights: weights.to_vec(), offset: offset[0] })
}

/// Whether a target takes only a few values.
fn is_stepped(targets: &[f64]) -> bool {
    let mut values: Vec<f64> = Vec::new();
    for &target in targets {
        if !values.contains(&target) {
            values.push(target);
            if values.len() > MOST_STEPS {
                return false;
            }
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_linear_forecast_is_exact_for_what_is_linear() {
        let stream = Stream::new(3, Purpose::LogStart);
        let columns: Vec<Vec<f64>> =
            (0..2).map(|input| (0..100).map(|row| stream.normal(0, row, input)).collect()).collect();
        let target: Vec<f64> = (0..100).map(|row| 2.0 * columns[0][row] - 0.5 * columns[1][row] + 0.25).collect();
        let found = forecast(&columns, &target).unwrap();
        for (weight, expected) in found.weights.iter().chain([&found.offset]).zip([2.0, -0.5, 0.25]) {
            assert!((weight - expected).abs() < 1e-9, "{found:?}");
        }
    }

    #[test]
    fn a_speed_that_a_wall_stops_is_started_at_the_forecast_of_the_wall() {
        // Place and speed of a cart that a wall at place 1 stops; a step moves it by its speed.
        let stream = Stream::new(3, Purpose::LogStart);
        let (mut place, mut speed, mut next_place, mut next_speed) = (vec![], vec![], vec![], vec![]);
        for row in 0..2_000 {
            let (x, v) = (stream.within(-1.0, 1.0, 0, row, 0), stream.within(-0.5, 0.5, 0, row, 1));
            place.push(x);
            speed.push(v);
            next_place.push(x + v);
            next_speed.push(if x + v > 1.0 { 0.0 } else { v });
        }
        let rows: Vec<usize> = (0..2_000).collect();
        let columns = [place, speed, next_place, next_speed.clone()];
        let tree = stops(&columns, 2, &next_speed, &rows, 5).unwrap();
        let samples = Samples::of(&columns[..2], &next_speed, &rows);
        let shape = Shape::new(2, 5, 1);
        let parameters = start(&shape, &samples, &tree, Stream::new(1, Purpose::Weights), 0, 0);
        let layer = &shape.network(&parameters).layers[0];
        // The neuron's plane is place + speed = 1.
        let (x, v, bias) = (layer.weights[0], layer.weights[1], layer.biases[0]);
        assert!((x / v - 1.0).abs() < 1e-6 && (-bias / x - 1.0).abs() < 0.01, "{x} {v} {bias}");
    }

    #[test]
    fn numbers_that_all_differ_have_no_most_frequent_one() {
        assert_eq!(most_frequent(&(0..200).map(f64::from).collect::<Vec<f64>>()), None);
        assert_eq!(most_frequent(&[1.0; 200]), None, "a constant is no wall");
        let mixed: Vec<f64> = (0..200).map(|row| if row < 20 { 7.0 } else { f64::from(row) }).collect();
        assert_eq!(most_frequent(&mixed).unwrap().iter().sum::<f64>(), 20.0);
    }
}
