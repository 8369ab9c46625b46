//! How a process learns: the covariance by the marginal likelihood, then what its rows say.
//!
//! The likelihood of the covariance's parameters (Rasmussen and Williams, equations 5.8 and 5.9) costs n³ for n rows, and a few
//! hundred rows tell lengths and noise well enough: so it is climbed from several starts on some of the rows, and the best
//! goes on with more of them. All rows then make the mean and the variance.
//!
//! The centres of a sparse process are drawn among the rows, each with a probability in proportion to what the centres
//! before it leave unexplained of its variance (randomly pivoted Cholesky: Chen, Epperly, Tropp and Webber 2023). The
//! greedy choice of the largest instead would spend centres on every runaway.

use std::collections::HashSet;

use nalgebra::{DMatrix, DVector};

use super::algebra::Factor;
use super::ascent::ascend;
use super::{Cache, Covariance, GaussianProcess, Options, dot};
use fpsrl_base::random::{Purpose, Stream};

/// Rows that the starts are compared on, at most.
const PROBE_ROWS: usize = 160;

/// Evaluations of the likelihood for each start, and for the best of them with more rows.
const PROBE_EVALUATIONS: usize = 40;
const EVALUATIONS: usize = 50;

/// Where the ascents begin: lengths, smooth variance, noise.
const STARTS: [(f64, f64, f64); 4] = [(1.0, 1.0, 1e-2), (3.0, 1.0, 1e-4), (10.0, 10.0, 1e-5), (0.4, 0.5, 1e-1)];

/// Bounds of lengths, smooth variance, straight variance and noise.
const LENGTHS: [f64; 2] = [0.03, 1e3];
const SMOOTH: [f64; 2] = [1e-6, 1e3];
const STRAIGHT: [f64; 2] = [1e-6, 1e2];
const NOISE: [f64; 2] = [1e-7, 2.0];

/// What is lost when f32 computes the smooth part of one centre, relative to it.
///
/// Rows without noise ask for coefficients so large that a sum of them in f32 would be worth less than one without the last
/// of the fit. So that loss is part of the model: noise that grows with the smooth variance, and a nugget for centres.
const ROUNDING: f64 = 3e-7;

/// Bounds of the nugget.
const NUGGET: [f64; 2] = [1e-8, 1e-4];

/// Rows among which centres are drawn, at most.
const CANDIDATES: usize = 4_000;

/// Rows that are put through the centres together.
const BLOCK: usize = 1_024;

/// Centres that leave less than this share of the smooth variance unexplained, on average, are enough.
const EXPLAINED: f64 = 1e-9;

pub(super) fn fit(
    inputs: &[Vec<f64>],
    targets: &[f64],
    rows: &[usize],
    options: &Options,
    seed: u64,
) -> GaussianProcess {
    let stream = Stream::new(seed, Purpose::Process);
    let mut unique = rows.to_vec();
    unique.sort_unstable();
    let mut seen: HashSet<Vec<u64>> = HashSet::new();
    let bits = |row: usize| inputs.iter().map(|column| column[row]).chain([targets[row]]).map(f64::to_bits).collect();
    unique.retain(|&row| seen.insert(bits(row)));
    // In random order, so that the first so many are a fair part.
    let order: Vec<usize> = stream.permutation(unique.len(), 0).into_iter().map(|place| unique[place]).collect();
    let points: Vec<Vec<f64>> = order.iter().map(|&row| inputs.iter().map(|column| column[row]).collect()).collect();
    let targets = DVector::from_iterator(order.len(), order.iter().map(|&row| targets[row]));
    let covariance = learn_covariance(&points, &targets, inputs.len(), options);
    let process = match points.len() <= options.exact_rows {
        true => exact(&covariance, &points, &targets),
        false => sparse(&covariance, &points, &targets, options.centres, stream),
    };
    process.unwrap_or_else(|| straight_only(covariance, inputs.len()))
}

/// What is left if no factor can be had: a process that has seen nothing.
fn straight_only(covariance: Covariance, inputs: usize) -> GaussianProcess {
    GaussianProcess {
        covariance,
        centres: Vec::new(),
        coefficients: Vec::new(),
        slopes: vec![0.0; inputs],
        offset: 0.0,
        nugget: 0.0,
        information: Vec::new(),
        factors: Cache::default(),
    }
}

/// The parameters as the ascent sees them: logarithms of the lengths, the smooth and straight variances and the noise, to
/// which `rounding` times the smooth variance is added.
fn from_logarithms(logarithms: &[f64], rounding: f64) -> Covariance {
    let inputs = logarithms.len() - 3;
    let smooth = logarithms[inputs].exp();
    Covariance {
        lengths: logarithms[..inputs].iter().map(|number| number.exp()).collect(),
        smooth,
        straight: logarithms[inputs + 1].exp(),
        noise: logarithms[inputs + 2].exp() + rounding * smooth,
    }
}

fn learn_covariance(points: &[Vec<f64>], targets: &DVector<f64>, inputs: usize, options: &Options) -> Covariance {
    let logarithm = |bounds: [f64; 2]| bounds.map(f64::ln);
    let mut bounds = vec![logarithm(LENGTHS); inputs];
    bounds.extend([SMOOTH, STRAIGHT, NOISE].map(logarithm));
    let centres = if points.len() <= options.exact_rows { points.len() } else { options.centres };
    let rounding = ROUNDING * (centres as f64).sqrt();
    let climb = |start: &[f64], rows: usize, evaluations: usize| {
        let rows = points.len().min(rows);
        let (points, targets) = (&points[..rows], targets.rows(0, rows).into_owned());
        ascend(start, &bounds, evaluations, |logarithms| {
            let covariance = from_logarithms(logarithms, rounding);
            let (value, mut gradient) = likelihood(&covariance, points, &targets)?;
            let by_noise = gradient[inputs + 2] / covariance.noise;
            gradient[inputs] += by_noise * rounding * covariance.smooth;
            gradient[inputs + 2] = by_noise * (covariance.noise - rounding * covariance.smooth);
            Some((value, gradient))
        })
    };
    let starts = STARTS.map(|(length, smooth, noise)| {
        let mut start = vec![f64::ln(length); inputs];
        start.extend([smooth, 1.0, noise].map(f64::ln));
        start
    });
    let probed = starts.iter().filter_map(|start| climb(start, PROBE_ROWS, PROBE_EVALUATIONS));
    let best = probed.reduce(|best, next| if next.1 > best.1 { next } else { best });
    let best = best.map_or_else(|| starts[0].clone(), |(point, _)| point);
    let finished = climb(&best, options.likelihood_rows.max(PROBE_ROWS), EVALUATIONS);
    from_logarithms(&finished.map_or(best, |(point, _)| point), rounding)
}

/// The logarithm of the marginal likelihood, and its gradient by the logarithms of the parameters.
pub(super) fn likelihood(
    covariance: &Covariance,
    points: &[Vec<f64>],
    targets: &DVector<f64>,
) -> Option<(f64, Vec<f64>)> {
    let count = points.len();
    let inputs = covariance.lengths.len();
    let divided: Vec<Vec<f64>> = points.iter().map(|point| covariance.divided(point)).collect();
    let smooth = symmetric(count, |a, b| covariance.smooth_of_divided(&divided[a], &divided[b]));
    let straight = symmetric(count, |a, b| covariance.straight * (1.0 + dot(&points[a], &points[b])));
    let mut whole = &smooth + &straight;
    (0..count).for_each(|row| whole[(row, row)] += covariance.noise);
    let factor = Factor::new(whole)?;
    let weights = factor.solve(targets);
    let constant = count as f64 * std::f64::consts::TAU.ln();
    let value = -0.5 * (targets.dot(&weights) + factor.log_determinant() + constant);
    // ½ tr((w wᵀ - K⁻¹) ∂K) for each parameter.
    let mut outer = -factor.inverse();
    outer.ger(1.0, &weights, &weights, 1.0);
    let bent = outer.component_mul(&smooth);
    let sums = DVector::from_iterator(count, bent.column_iter().map(|column| column.sum()));
    let mut gradient: Vec<f64> = (0..inputs)
        .map(|input| {
            let column = DVector::from_iterator(count, divided.iter().map(|row| row[input]));
            let squares: f64 = column.iter().zip(sums.iter()).map(|(x, sum)| x * x * sum).sum();
            // Half of Σ bent (xᵢ - xⱼ)².
            squares - column.dot(&(&bent * &column))
        })
        .collect();
    gradient.push(0.5 * sums.sum());
    gradient.push(0.5 * outer.component_mul(&straight).sum());
    gradient.push(0.5 * covariance.noise * outer.trace());
    (value.is_finite() && gradient.iter().all(|number| number.is_finite())).then_some((value, gradient))
}

/// A symmetric matrix, half of which is computed.
fn symmetric(count: usize, entry: impl Fn(usize, usize) -> f64) -> DMatrix<f64> {
    let mut matrix = DMatrix::zeros(count, count);
    for column in 0..count {
        for row in column..count {
            let number = entry(row, column);
            matrix[(row, column)] = number;
            matrix[(column, row)] = number;
        }
    }
    matrix
}

/// The factor of the covariance of rows with each other, noise included.
pub(super) fn factor_rows(covariance: &Covariance, points: &[Vec<f64>]) -> Option<Factor> {
    let divided: Vec<Vec<f64>> = points.iter().map(|point| covariance.divided(point)).collect();
    Factor::new(symmetric(points.len(), |a, b| {
        covariance.smooth_of_divided(&divided[a], &divided[b])
            + covariance.straight * (1.0 + dot(&points[a], &points[b]))
            + if a == b { covariance.noise } else { 0.0 }
    }))
}

fn exact(covariance: &Covariance, points: &[Vec<f64>], targets: &DVector<f64>) -> Option<GaussianProcess> {
    let factor = factor_rows(covariance, points)?;
    let weights = factor.solve(targets);
    let slopes = (0..covariance.lengths.len())
        .map(|input| {
            let products = points.iter().zip(weights.iter()).map(|(point, weight)| point[input] * weight);
            covariance.straight * products.sum::<f64>()
        })
        .collect();
    Some(GaussianProcess {
        covariance: covariance.clone(),
        centres: points.to_vec(),
        coefficients: weights.iter().copied().collect(),
        slopes,
        offset: covariance.straight * weights.sum(),
        nugget: 0.0,
        information: Vec::new(),
        factors: Cache::default(),
    })
}

/// The factor of the covariance of the centres' smooth parts and of the weights of the straight part.
pub(super) fn factor_centres(covariance: &Covariance, centres: &[Vec<f64>], nugget: f64) -> Option<Factor> {
    let divided: Vec<Vec<f64>> = centres.iter().map(|centre| covariance.divided(centre)).collect();
    let size = centres.len() + covariance.lengths.len() + 1;
    Factor::new(symmetric(size, |a, b| match (divided.get(a), divided.get(b)) {
        (Some(a), Some(b)) if std::ptr::eq(a, b) => covariance.smooth * (1.0 + nugget),
        (Some(a), Some(b)) => covariance.smooth_of_divided(a, b),
        (None, None) if a == b => covariance.straight,
        _ => 0.0,
    }))
}

fn sparse(
    covariance: &Covariance,
    points: &[Vec<f64>],
    targets: &DVector<f64>,
    most: usize,
    stream: Stream,
) -> Option<GaussianProcess> {
    let inputs = covariance.lengths.len();
    let divided: Vec<Vec<f64>> = points.iter().map(|point| covariance.divided(point)).collect();
    let chosen = choose_centres(covariance, &divided[..points.len().min(CANDIDATES)], most, stream);
    let centres: Vec<Vec<f64>> = chosen.iter().map(|&row| points[row].clone()).collect();
    let divided_centres: Vec<Vec<f64>> = chosen.iter().map(|&row| divided[row].clone()).collect();
    // Weighs the squares of the coefficients by what rounding makes of them over all rows.
    let nugget = ROUNDING * ROUNDING * covariance.smooth * points.len() as f64 / covariance.noise;
    let nugget = nugget.clamp(NUGGET[0], NUGGET[1]);
    let factor = factor_centres(covariance, &centres, nugget)?;
    let size = centres.len() + inputs + 1;
    // σ² I + V Vᵀ and V y, where V = L⁻¹ K of centres and rows, a block of rows at a time.
    let mut information = DMatrix::identity(size, size) * covariance.noise;
    let mut answer = DVector::zeros(size);
    for begin in (0..points.len()).step_by(BLOCK) {
        let end = points.len().min(begin + BLOCK);
        let smooth = covariance.smooth_matrix(&divided_centres, &divided[begin..end]);
        let mut known = DMatrix::from_element(size, end - begin, covariance.straight);
        known.rows_mut(0, centres.len()).copy_from(&smooth);
        for (column, point) in points[begin..end].iter().enumerate() {
            for (input, number) in point.iter().enumerate() {
                known[(centres.len() + input, column)] = covariance.straight * number;
            }
        }
        let known = factor.whiten_all(&known);
        answer += &known * targets.rows(begin, end - begin);
        information += &known * known.transpose();
    }
    let coefficients = factor.unwhiten(&Factor::new(information.clone())?.solve(&answer));
    let (smooth, straight) = coefficients.as_slice().split_at(centres.len());
    let lower = (0..size).flat_map(|row| (0..=row).map(move |column| (row, column)));
    Some(GaussianProcess {
        covariance: covariance.clone(),
        coefficients: smooth.to_vec(),
        centres,
        slopes: straight[..inputs].iter().map(|number| covariance.straight * number).collect(),
        offset: covariance.straight * straight[inputs],
        nugget,
        information: lower.map(|place| information[place]).collect(),
        factors: Cache::default(),
    })
}

/// Draws centres among rows that are already divided by the lengths; returns their places.
fn choose_centres(covariance: &Covariance, rows: &[Vec<f64>], most: usize, stream: Stream) -> Vec<usize> {
    let count = rows.len();
    let mut left = vec![covariance.smooth; count];
    // Columns of the Cholesky factor of the rows' covariance, one for each centre.
    let mut factor = DMatrix::<f64>::zeros(count, most.min(count));
    let mut chosen = Vec::new();
    while chosen.len() < factor.ncols() {
        let total: f64 = left.iter().sum();
        if total <= EXPLAINED * covariance.smooth * count as f64 {
            break;
        }
        let mut rest = stream.uniform(1, chosen.len() as u32, 0) * total;
        let drawn = left.iter().position(|share| {
            rest -= share;
            rest < 0.0
        });
        let Some(pivot) = drawn.or_else(|| left.iter().rposition(|share| *share > 0.0)) else { break };
        let column = chosen.len();
        let own: Vec<f64> = factor.row(pivot).iter().take(column).copied().collect();
        let mut fresh = DVector::from_fn(count, |row, _| covariance.smooth_of_divided(&rows[row], &rows[pivot]));
        for (before, weight) in own.iter().enumerate() {
            fresh.axpy(-weight, &factor.column(before), 1.0);
        }
        fresh /= left[pivot].sqrt();
        for (left, number) in left.iter_mut().zip(fresh.iter()) {
            *left = (*left - number * number).max(0.0);
        }
        left[pivot] = 0.0;
        factor.set_column(column, &fresh);
        chosen.push(pivot);
    }
    chosen
}
