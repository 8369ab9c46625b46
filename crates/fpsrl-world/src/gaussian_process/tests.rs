//! What holds for processes: gradients, limits that are known, files.

use super::training::likelihood;
use super::*;
use fpsrl_base::random::{Purpose, Stream};
use proptest::prelude::*;

fn columns(inputs: u32, rows: u32) -> Vec<Vec<f64>> {
    let stream = Stream::new(2, Purpose::LogStart);
    (0..inputs).map(|input| (0..rows).map(|row| stream.normal(0, row, input)).collect()).collect()
}

fn row_of(columns: &[Vec<f64>], row: usize) -> Vec<f64> {
    columns.iter().map(|column| column[row]).collect()
}

/// Bent in the first input, straight in the second, not there in the third.
fn truth(point: &[f64]) -> f64 {
    (1.5 * point[0]).sin() + 0.4 * point[1]
}

fn targets(columns: &[Vec<f64>], noise: f64) -> Vec<f64> {
    let stream = Stream::new(3, Purpose::LogAction);
    (0..columns[0].len()).map(|row| truth(&row_of(columns, row)) + noise * stream.normal(0, row as u32, 0)).collect()
}

fn rows(count: usize) -> Vec<usize> {
    (0..count).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]

    #[test]
    fn the_gradient_is_the_slope_of_the_likelihood(logarithms in prop::collection::vec(-1.5f64..1.5, 6)) {
        let columns = columns(3, 25);
        let points: Vec<Vec<f64>> = (0..25).map(|row| row_of(&columns, row)).collect();
        let targets = DVector::from_vec(targets(&columns, 0.1));
        let value = |logarithms: &[f64]| {
            let numbers: Vec<f64> = logarithms.iter().map(|number| number.exp()).collect();
            let covariance = Covariance {
                lengths: numbers[..3].to_vec(), smooth: numbers[3], straight: numbers[4], noise: numbers[5],
            };
            likelihood(&covariance, &points, &targets).unwrap()
        };
        let (_, gradient) = value(&logarithms);
        for index in 0..6 {
            let moved = |by: f64| {
                let mut moved = logarithms.clone();
                moved[index] += by;
                value(&moved).0
            };
            let slope = (moved(1e-4) - moved(-1e-4)) / 2e-4;
            prop_assert!((slope - gradient[index]).abs() < 1e-4 * (1.0 + slope.abs()), "{index}: {slope} {gradient:?}");
        }
    }
}

#[test]
fn the_likelihood_finds_noise_and_what_matters() {
    let columns = columns(3, 400);
    let targets = targets(&columns, 0.1);
    let process = GaussianProcess::fit(&columns, &targets, &rows(300), &Options::default(), 1);
    let Covariance { lengths, noise, .. } = &process.covariance;
    assert!((0.006..0.016).contains(noise), "{noise}");
    assert!(lengths[0] < 2.0 && lengths[1] > 5.0 && lengths[2] > 5.0, "{lengths:?}");
    // Errors are as large as the process says.
    let mut ratio = 0.0;
    for row in 300..400 {
        let point = row_of(&columns, row);
        ratio += (process.evaluate(&point) - targets[row]).powi(2) / process.variance(&point) / 100.0;
    }
    assert!((0.6..1.6).contains(&ratio), "{ratio}");
    assert!(process.variance(&[20.0, 0.0, 0.0]) > 0.3);
    assert!((process.evaluate(&[0.0, 20.0, 0.0]) - 8.0).abs() < 1.5, "it goes on straight");
}

#[test]
fn rows_without_noise_are_recalled() {
    let columns = columns(3, 200);
    let targets = targets(&columns, 0.0);
    let process = GaussianProcess::fit(&columns, &targets, &rows(150), &Options::default(), 1);
    for row in 0..200 {
        let error = (process.evaluate(&row_of(&columns, row)) - targets[row]).abs();
        assert!(error < if row < 150 { 1e-3 } else { 0.05 }, "{row}: {error}");
    }
}

#[test]
fn with_every_row_as_centre_sparse_is_exact() {
    let columns = columns(3, 120);
    let targets = targets(&columns, 0.1);
    let exact = GaussianProcess::fit(&columns, &targets, &rows(100), &Options::default(), 1);
    let sparse_options = Options { exact_rows: 10, centres: 100, ..Options::default() };
    let sparse = GaussianProcess::fit(&columns, &targets, &rows(100), &sparse_options, 1);
    assert_eq!(exact.covariance, sparse.covariance);
    assert!(exact.information.is_empty() && !sparse.information.is_empty());
    for row in 0..120 {
        let point = row_of(&columns, row);
        assert!((exact.evaluate(&point) - sparse.evaluate(&point)).abs() < 1e-4);
        let (exact, sparse) = (exact.variance(&point), sparse.variance(&point));
        assert!((exact - sparse).abs() < 1e-4 * exact, "{exact} {sparse}");
    }
}

#[test]
fn few_centres_speak_for_many_rows() {
    let columns = columns(3, 2_600);
    let targets = targets(&columns, 0.05);
    let process = GaussianProcess::fit(&columns, &targets, &rows(2_500), &Options::default(), 1);
    assert!(process.centres.len() <= 256 && process.fault(3).is_none());
    let error = |row: usize| (process.evaluate(&row_of(&columns, row)) - truth(&row_of(&columns, row))).powi(2);
    let error = (2_500..2_600).map(error).sum::<f64>() / 100.0;
    assert!(error < 2e-4, "{error}");
}

#[test]
fn repeated_rows_count_once_and_seeds_are_repeatable() {
    let columns = columns(2, 60);
    let targets: Vec<f64> = columns[0].iter().map(|x| x.cos()).collect();
    let fit = |rows: &[usize], seed| GaussianProcess::fit(&columns, &targets, rows, &Options::default(), seed);
    let twice: Vec<usize> = (0..60).chain(0..60).collect();
    assert_eq!(fit(&rows(60), 1), fit(&twice, 1));
    assert_eq!(fit(&[3, 1, 2], 1), fit(&[1, 2, 3], 1));
}

#[test]
fn degenerate_rows_make_no_panic() {
    for (column, targets) in [
        (vec![1.0; 20], vec![0.0; 20]),
        (vec![0.0; 20], (0..20).map(f64::from).collect()),
        (vec![5.0], vec![2.0]),
        (vec![1e6, -1e6, 0.0], vec![1e3, -1e3, 0.0]),
        (vec![], vec![]),
    ] {
        let count = targets.len();
        for exact_rows in [0, 2_000] {
            let options = Options { exact_rows, ..Options::default() };
            let process = GaussianProcess::fit(std::slice::from_ref(&column), &targets, &rows(count), &options, 1);
            assert_eq!(process.fault(1), None, "{process:?}");
            assert!(process.evaluate(&[0.5]).is_finite() && process.variance(&[0.5]) > 0.0);
        }
    }
}

#[test]
fn a_file_keeps_the_process_and_what_is_wrong_with_it_is_told() {
    let columns = columns(2, 80);
    let targets: Vec<f64> = columns[0].iter().map(|x| x.cos()).collect();
    let options = Options { exact_rows: 20, centres: 10, ..Options::default() };
    let good = GaussianProcess::fit(&columns, &targets, &rows(80), &options, 1);
    let text = serde_json::to_string(&good).unwrap();
    let back: GaussianProcess = serde_json::from_str(&text).unwrap();
    assert_eq!(back, good);
    assert_eq!(back.variance(&[0.3, 0.1]).to_bits(), good.variance(&[0.3, 0.1]).to_bits());
    assert!(serde_json::from_str::<GaussianProcess>(&text.replacen("offset", "shift", 1)).is_err());
    type Break = (&'static str, fn(&mut GaussianProcess));
    let breaks: [Break; 8] = [
        ("lengths", |process| process.covariance.lengths.truncate(1)),
        ("slopes", |process| process.slopes.push(0.0)),
        ("not above 0", |process| process.covariance.noise = 0.0),
        ("coefficients", |process| process.coefficients.truncate(3)),
        ("centre 2", |process| process.centres[1].push(0.0)),
        ("not finite", |process| process.coefficients[0] = f64::NAN),
        ("information", |process| process.information.truncate(7)),
        ("positive", |process| process.information.iter_mut().for_each(|number| *number = -1.0)),
    ];
    for (told, break_it) in breaks {
        let mut broken = good.clone();
        break_it(&mut broken);
        let fault = broken.fault(2).unwrap_or_default();
        assert!(fault.contains(told), "{told}: {fault}");
    }
}
