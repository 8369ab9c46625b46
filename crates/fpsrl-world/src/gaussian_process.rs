//! A Gaussian process between scaled inputs and a scaled output (Rasmussen and Williams, *Gaussian Processes for Machine
//! Learning*, chapters 2, 5 and 8), the first of the world models that the paper proposes beside networks (section 7).
//!
//! The covariance of two outputs is a smooth part, a straight part and noise:
//!
//! k(x, x') = s · exp(-½ Σᵢ (xᵢ - x'ᵢ)² / ℓᵢ²) + l · (1 + x·x') + n · [x is x']
//!
//! The straight part is there because a plant's state changes nearly in proportion to most of its inputs. The smooth part
//! then only has to bend what is left, and away from the data the prediction goes on straight instead of falling to 0.
//!
//! Up to 2,000 rows the process is exact; every row is a centre. Above that, centres are chosen among the rows, and all rows
//! speak through them (section 8.3.4: the subset of regressors for the mean, with the variance that the centres miss added
//! back, as in Titsias 2009). The straight part is always carried exactly, as d + 1 weights of its own.
//!
//! This is the form that is stored, with the plain computation; `lanes` holds the faster one.

mod algebra;
mod ascent;
pub(super) mod lanes;
mod training;

use std::sync::OnceLock;

use nalgebra::{DMatrix, DVector};
use serde::{Deserialize, Serialize};

use algebra::Factor;

/// The most centres that a process read from a file may have.
pub const MOST_CENTRES: usize = 20_000;

/// What can be chosen about a process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// With more rows than this the process is sparse.
    pub exact_rows: usize,
    /// Centres of a sparse process, at most.
    pub centres: usize,
    /// Rows that the covariance is learned from, at most.
    pub likelihood_rows: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { exact_rows: 2_000, centres: 256, likelihood_rows: 400 }
    }
}

/// A Gaussian process that has seen its rows.
///
/// ```
/// use fpsrl_world::gaussian_process::{GaussianProcess, Options};
/// let x: Vec<f64> = (0..40).map(|row| 0.1 * f64::from(row) - 2.0).collect();
/// let y: Vec<f64> = x.iter().map(|x| (1.5 * x).sin()).collect();
/// let rows: Vec<usize> = (0..40).collect();
/// let process = GaussianProcess::fit(&[x], &y, &rows, &Options::default(), 1);
/// assert!((process.evaluate(&[0.33]) - (1.5f64 * 0.33).sin()).abs() < 1e-3);
/// // It knows where it has seen nothing.
/// assert!(process.variance(&[9.0]) > 100.0 * process.variance(&[0.33]));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GaussianProcess {
    /// What outputs have to do with each other.
    pub covariance: Covariance,
    /// The rows that speak for all, each a row of inputs.
    pub centres: Vec<Vec<f64>>,
    /// What the smooth part's covariance with each centre counts in the mean.
    pub coefficients: Vec<f64>,
    /// The mean's straight part, for each input.
    pub slopes: Vec<f64>,
    /// The mean's straight part where all inputs are 0.
    pub offset: f64,
    /// Of a sparse process: added to the diagonal of the centres' covariance, as a share of the smooth part's variance,
    /// because neighbours among the centres are nearly the same row twice.
    pub nugget: f64,
    /// Of a sparse process: what all rows say about the centres and the straight part, the lower half row by row. Empty
    /// where every row is a centre.
    pub information: Vec<f64>,
    /// What the variance needs, made when it is first asked for.
    #[serde(skip)]
    factors: Cache,
}

/// The parameters of the covariance; all are variances or lengths in scaled units.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Covariance {
    /// Variance of the smooth part.
    pub smooth: f64,
    /// Of each input: the distance over which the smooth part bends.
    pub lengths: Vec<f64>,
    /// Variance of the straight part's offset, and of each slope.
    pub straight: f64,
    /// Variance of the noise.
    pub noise: f64,
}

impl Covariance {
    /// The smooth part for inputs that are already divided by the lengths.
    fn smooth_of_divided(&self, a: &[f64], b: &[f64]) -> f64 {
        let square: f64 = a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum();
        self.smooth * (-0.5 * square).exp()
    }

    fn divided(&self, inputs: &[f64]) -> Vec<f64> {
        inputs.iter().zip(&self.lengths).map(|(input, length)| input / length).collect()
    }

    /// The smooth part between two sets of rows that are already divided by the lengths.
    fn smooth_matrix(&self, a: &[Vec<f64>], b: &[Vec<f64>]) -> DMatrix<f64> {
        DMatrix::from_fn(a.len(), b.len(), |row, column| self.smooth_of_divided(&a[row], &b[column]))
    }

    /// The variance of an output, noise included, before any row is seen.
    fn prior(&self, inputs: &[f64]) -> f64 {
        self.smooth + self.straight * (1.0 + inputs.iter().map(|x| x * x).sum::<f64>()) + self.noise
    }
}

/// Factors that are made once and are no part of what a process is.
#[derive(Debug, Default)]
struct Cache(OnceLock<Option<Factors>>);

impl Clone for Cache {
    /// A copy is mostly made to be changed.
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for Cache {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

#[derive(Debug)]
enum Factors {
    /// Of the covariance of all rows.
    Exact(Factor),
    /// Of the covariance of the centres, and of the information about them.
    Sparse(Factor, Factor),
}

impl GaussianProcess {
    /// Learns from scaled `inputs[input][row]` and `targets[row]`, only of the rows listed.
    ///
    /// A row that is there several times counts once: the same measurement says nothing twice, and would pretend that
    /// there is no noise. The result depends on the seed, and on nothing else.
    pub fn fit(inputs: &[Vec<f64>], targets: &[f64], rows: &[usize], options: &Options, seed: u64) -> Self {
        training::fit(inputs, targets, rows, options, seed)
    }

    /// The mean for scaled inputs.
    pub fn evaluate(&self, inputs: &[f64]) -> f64 {
        let divided = self.covariance.divided(inputs);
        let bent: f64 = self
            .centres
            .iter()
            .zip(&self.coefficients)
            .map(|(centre, coefficient)| {
                coefficient * self.covariance.smooth_of_divided(&divided, &self.covariance.divided(centre))
            })
            .sum();
        let straight: f64 = inputs.iter().zip(&self.slopes).map(|(input, slope)| input * slope).sum();
        self.offset + straight + bent
    }

    /// The variance of what would be measured at scaled inputs, noise included.
    pub fn variance(&self, inputs: &[f64]) -> f64 {
        let covariance = &self.covariance;
        let prior = covariance.prior(inputs);
        let factors = self.factors.0.get_or_init(|| self.make_factors());
        let divided = covariance.divided(inputs);
        let smooth = self.centres.iter().map(|c| covariance.smooth_of_divided(&divided, &covariance.divided(c)));
        let left = match factors {
            None => prior,
            Some(Factors::Exact(factor)) => {
                let straight = self.centres.iter().map(|centre| covariance.straight * (1.0 + dot(centre, inputs)));
                let known = DVector::from_iterator(self.centres.len(), smooth.zip(straight).map(|(a, b)| a + b));
                prior - factor.whiten(&known).norm_squared()
            }
            Some(Factors::Sparse(centres, information)) => {
                let straight = inputs.iter().copied().chain([1.0]).map(|input| covariance.straight * input);
                let known = DVector::from_iterator(self.centres.len() + inputs.len() + 1, smooth.chain(straight));
                let known = centres.whiten(&known);
                prior - known.norm_squared() + covariance.noise * information.whiten(&known).norm_squared()
            }
        };
        // What has been seen is known but for the noise; rounding must not take more.
        left.max(covariance.noise)
    }

    fn make_factors(&self) -> Option<Factors> {
        if self.information.is_empty() {
            return training::factor_rows(&self.covariance, &self.centres).map(Factors::Exact);
        }
        let size = self.centres.len() + self.slopes.len() + 1;
        let mut information = DMatrix::zeros(size, size);
        let mut numbers = self.information.iter();
        for row in 0..size {
            for column in 0..=row {
                information[(row, column)] = *numbers.next()?;
            }
        }
        Some(Factors::Sparse(
            training::factor_centres(&self.covariance, &self.centres, self.nugget)?,
            Factor::new(information)?,
        ))
    }

    /// What is wrong with a process that should read so many inputs, if anything is.
    pub fn fault(&self, inputs: usize) -> Option<String> {
        let Covariance { smooth, lengths, straight, noise } = &self.covariance;
        if lengths.len() != inputs || self.slopes.len() != inputs {
            let (lengths, slopes) = (lengths.len(), self.slopes.len());
            return Some(format!("the process has {lengths} lengths and {slopes} slopes for {inputs} inputs"));
        }
        if !lengths.iter().chain([smooth, straight, noise]).all(|number| number.is_finite() && *number > 0.0) {
            return Some("a parameter of the covariance is not finite, or not above 0".into());
        }
        if self.centres.len() > MOST_CENTRES {
            return Some(format!("the process has {} centres; {MOST_CENTRES} is the most", self.centres.len()));
        }
        if self.centres.len() != self.coefficients.len() {
            let (centres, coefficients) = (self.centres.len(), self.coefficients.len());
            return Some(format!("the process has {coefficients} coefficients for {centres} centres"));
        }
        if let Some(place) = self.centres.iter().position(|centre| centre.len() != inputs) {
            let length = self.centres[place].len();
            return Some(format!("centre {} of the process has {length} numbers for {inputs} inputs", place + 1));
        }
        let numbers = self.centres.iter().flatten().chain(&self.coefficients).chain(&self.slopes);
        if !numbers.chain([&self.offset, &self.nugget]).chain(&self.information).all(|number| number.is_finite()) {
            return Some("the process has a number that is not finite".into());
        }
        let size = self.centres.len() + inputs + 1;
        let wanted = size * (size + 1) / 2;
        let have = self.information.len();
        if have != 0 && have != wanted {
            return Some(format!("the process has {have} numbers of information where its centres need {wanted}"));
        }
        // A factor of all rows takes seconds, and cannot fail but by rounding, in which case the variance is the prior's.
        let is_usable = have == 0 || self.make_factors().is_some();
        (!is_usable).then(|| "the information of the process is not positive definite".into())
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests;
