//! CMA-ES: evolution that learns the shape of the valley it goes down (Hansen, Ostermeier 2001; the equations are those of
//! Hansen: *The CMA evolution strategy: a tutorial*, 2016, with positive weights only).
//!
//! Samples are drawn from a normal distribution whose mean follows the better half, whose covariance learns the
//! directions that paid, and whose step size grows while steps point the same way. Parameters are scaled to the unit
//! interval; a sample beyond a bound is folded back into it, so that the distribution itself stays normal.
//!
//! Only the ranks of the better half matter. So a generation is asked for in portions: the first ones in full; of the
//! later ones, those that cannot come into the better half any more need not be scored to their end.

use super::{Optimiser, ranked};
use fpsrl_base::random::{Purpose, Stream};
use nalgebra::{DMatrix, SymmetricEigen};
use serde::{Deserialize, Serialize};

/// Eigenvalues of the covariance are kept within this ratio: a direction may collapse, but not for good.
const CONDITION: f64 = 1e14;

/// A step that is smaller everywhere, in shares of the range, moves nothing.
const LEAST_STEP: f64 = 1e-10;

/// The step that a restart begins with.
const RESTART_STEP: f64 = 0.3;

/// Populations double with each restart, up to this factor.
const LARGEST_GROWTH: usize = 16;

/// The constants of CMA-ES.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CmaSettings {
    /// λ, the samples of a generation; 0 takes 4 + 3 ln n.
    pub population: usize,
    /// σ, the first step, as a share of each range.
    pub first_step: f64,
    /// It has converged when its best fitness rises by less than this over as many generations as it takes to learn a
    /// covariance.
    pub tolerance: f64,
    /// Whether it begins anew elsewhere, with a larger population, once it has converged.
    pub restarts: bool,
    /// Evaluations after which it is finished, at the end of a generation.
    pub evaluations: usize,
}

/// CMA-ES between bounds.
///
/// ```
/// use fpsrl_search::optimiser::{CmaEs, CmaSettings, Optimiser};
/// let settings = CmaSettings { population: 0, first_step: 0.3, tolerance: 1e-12, restarts: false, evaluations: 20_000 };
/// let mut cma = CmaEs::new(settings, &[-5.0, -5.0], &[5.0, 5.0], 1);
/// while !cma.is_finished() {
///     // A narrow valley that lies across both axes.
///     let fitness = |x: &Vec<f64>| -(x[0] - x[1] - 3.0).powi(2) - 1e-4 * (x[0] + x[1] + 1.0).powi(2);
///     let told: Vec<f64> = cma.ask().iter().map(fitness).collect();
///     cma.tell(&told);
/// }
/// assert!((cma.best().0[0] - 1.0).abs() < 1e-3);
/// ```
#[derive(Clone, Debug)]
pub struct CmaEs {
    settings: CmaSettings,
    low: Vec<f64>,
    high: Vec<f64>,
    seed: u64,
    state: CmaState,
    constants: Constants,
    /// √C as the product of the eigenvectors and the roots of the eigenvalues, row by row.
    root: Vec<f64>,
    /// 1/√C, likewise.
    inverse_root: Vec<f64>,
    /// The samples of the generation under way, before they are folded; empty if it has not been asked for.
    samples: Vec<Vec<f64>>,
    /// The portion that was asked for, as positions, and what each has to beat.
    asked: Vec<Vec<f64>>,
    to_beat: Vec<f64>,
}

/// All that moves in CMA-ES.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CmaState {
    /// Generations so far, over all restarts.
    pub generation: u32,
    /// Evaluations so far.
    pub evaluations: usize,
    /// Generations since the last restart.
    pub age: u32,
    /// Restarts so far.
    pub restarts: u32,
    /// λ, which grows with restarts.
    pub population: usize,
    /// m, in shares of the ranges, not folded.
    pub mean: Vec<f64>,
    /// σ
    pub step: f64,
    /// C, row by row.
    pub covariance: Vec<f64>,
    /// The covariance that samples are drawn from: C as it was when it was taken apart last.
    pub taken_apart: Vec<f64>,
    /// p_σ, the path of steps of equal length.
    pub step_path: Vec<f64>,
    /// p_c, the path of steps.
    pub path: Vec<f64>,
    /// The fitness of the samples of the generation under way that have been told; null stands for -∞.
    #[serde(with = "fpsrl_base::files::infinite")]
    pub told: Vec<f64>,
    /// The best position and its fitness so far (one number; null stands for -∞).
    pub best_position: Vec<f64>,
    /// F of it.
    #[serde(with = "fpsrl_base::files::infinite")]
    pub best_fitness: Vec<f64>,
    /// The generation of this restart that last raised the best fitness of this restart by more than the tolerance, and
    /// that fitness.
    pub rose: u32,
    /// The fitness then.
    #[serde(with = "fpsrl_base::files::infinite")]
    pub rose_to: Vec<f64>,
    /// Whether it has converged and does not begin anew.
    pub finished: bool,
}

impl CmaState {
    /// Whether it can belong to these settings.
    pub fn fits(&self, settings: &CmaSettings, dimensions: usize) -> bool {
        let finite = |values: &[f64], count: usize| values.len() == count && values.iter().all(|v| v.is_finite());
        let first = population(settings, dimensions);
        (first..=first * LARGEST_GROWTH).contains(&self.population)
            && [&self.mean, &self.step_path, &self.path, &self.best_position].iter().all(|v| finite(v, dimensions))
            && finite(&self.covariance, dimensions * dimensions)
            && finite(&self.taken_apart, dimensions * dimensions)
            && self.step.is_finite()
            && self.step > 0.0
            && self.told.len() < self.population
            && self.best_fitness.len() == 1
            && self.rose_to.len() == 1
    }
}

/// What follows from the number of samples and of dimensions.
#[derive(Clone, Debug)]
struct Constants {
    /// wᵢ, of the better half.
    weights: Vec<f64>,
    /// μ_eff
    effective: f64,
    c_sigma: f64,
    d_sigma: f64,
    c_c: f64,
    c_1: f64,
    c_mu: f64,
    /// E‖N(0, I)‖
    expected: f64,
    /// Generations between two times that the covariance is taken apart.
    lazy: u32,
    /// Generations without a rise after which it has converged.
    patience: u32,
}

impl Constants {
    fn new(population: usize, dimensions: usize) -> Self {
        let (lambda, n) = (population as f64, dimensions as f64);
        let parents = population / 2;
        let raw: Vec<f64> = (1..=parents).map(|rank| ((lambda + 1.0) / 2.0).ln() - (rank as f64).ln()).collect();
        let sum: f64 = raw.iter().sum();
        let weights: Vec<f64> = raw.iter().map(|weight| weight / sum).collect();
        let effective = 1.0 / weights.iter().map(|weight| weight * weight).sum::<f64>();
        let c_sigma = (effective + 2.0) / (n + effective + 5.0);
        let c_1 = 2.0 / ((n + 1.3).powi(2) + effective);
        let c_mu = (2.0 * (effective - 2.0 + 1.0 / effective) / ((n + 2.0).powi(2) + effective)).min(1.0 - c_1);
        Self {
            weights,
            effective,
            c_sigma,
            d_sigma: 1.0 + 2.0 * (((effective - 1.0) / (n + 1.0)).sqrt() - 1.0).max(0.0) + c_sigma,
            c_c: (4.0 + effective / n) / (n + 4.0 + 2.0 * effective / n),
            c_1,
            c_mu,
            expected: n.sqrt() * (1.0 - 1.0 / (4.0 * n) + 1.0 / (21.0 * n * n)),
            // Hansen's rule; the second term keeps hundreds of parameters from spending their time here.
            lazy: (1.0 / ((c_1 + c_mu) * n * 10.0)).max(n * n / 4_000.0).max(1.0) as u32,
            patience: (10.0 + 30.0 * n / lambda).ceil() as u32,
        }
    }
}

fn population(settings: &CmaSettings, dimensions: usize) -> usize {
    let usual = 4 + (3.0 * (dimensions as f64).ln()) as usize;
    if settings.population == 0 { usual } else { settings.population.max(4) }
}

impl CmaEs {
    /// A search from a random position between the bounds.
    pub fn new(settings: CmaSettings, low: &[f64], high: &[f64], seed: u64) -> Self {
        let stream = Stream::new(seed, Purpose::CmaStart);
        let mean = (0..low.len()).map(|index| stream.uniform(0, 0, index as u32)).collect();
        Self::around(settings, low, high, seed, mean)
    }

    /// A search from a given position.
    pub fn at(settings: CmaSettings, low: &[f64], high: &[f64], seed: u64, position: &[f64]) -> Self {
        let share = |((value, low), high): ((&f64, &f64), &f64)| match high - low {
            range if range > 0.0 => ((value - low) / range).clamp(0.0, 1.0),
            _ => 0.5,
        };
        let mean = position.iter().zip(low).zip(high).map(share).collect();
        let mut search = Self::around(settings, low, high, seed, mean);
        search.state.best_position.copy_from_slice(position);
        search
    }

    /// Moves the mean of one that has not been asked yet to a given position, with a small step: a large one would leave
    /// the valley that the position lies in.
    pub fn begin_at(&mut self, position: &[f64]) {
        let settings = CmaSettings { first_step: self.settings.first_step.min(0.05), ..self.settings };
        let state = Self::at(settings, &self.low, &self.high, self.seed, position).state;
        *self = Self::restore(self.settings, &self.low, &self.high, self.seed, state);
    }

    fn around(settings: CmaSettings, low: &[f64], high: &[f64], seed: u64, mean: Vec<f64>) -> Self {
        let n = low.len();
        let state = CmaState {
            generation: 0,
            evaluations: 0,
            age: 0,
            restarts: 0,
            population: population(&settings, n),
            step: settings.first_step,
            covariance: identity(n),
            taken_apart: identity(n),
            step_path: vec![0.0; n],
            path: vec![0.0; n],
            told: Vec::new(),
            best_position: fold_into(&mean, low, high),
            mean,
            best_fitness: vec![f64::NEG_INFINITY],
            rose: 0,
            rose_to: vec![f64::NEG_INFINITY],
            finished: false,
        };
        Self::restore(settings, low, high, seed, state)
    }

    /// A search that goes on from a saved state.
    pub fn restore(settings: CmaSettings, low: &[f64], high: &[f64], seed: u64, state: CmaState) -> Self {
        let mut search = Self {
            settings,
            low: low.to_vec(),
            high: high.to_vec(),
            seed,
            constants: Constants::new(state.population, low.len()),
            root: Vec::new(),
            inverse_root: Vec::new(),
            samples: Vec::new(),
            asked: Vec::new(),
            to_beat: Vec::new(),
            state,
        };
        search.take_apart();
        search
    }

    /// σ, the step size relative to the ranges.
    pub fn step_size(&self) -> f64 {
        self.state.step
    }

    /// Finds the roots of the covariance that samples are drawn from. Where it has lost a direction, or is no covariance
    /// any more, it is mended.
    fn take_apart(&mut self) {
        let n = self.low.len();
        let eigen =
            SymmetricEigen::try_new(DMatrix::from_row_slice(n, n, &self.state.taken_apart), 1e-15, 100 * n + 1_000);
        let largest = eigen.as_ref().map_or(f64::NAN, |eigen| eigen.eigenvalues.max());
        let usable = largest.is_finite() && largest > 0.0;
        let Some(eigen) = eigen.filter(|_| usable) else {
            self.state.covariance = identity(n);
            self.state.taken_apart = identity(n);
            self.root = identity(n);
            self.inverse_root = identity(n);
            return;
        };
        let roots: Vec<f64> = eigen.eigenvalues.iter().map(|value| value.max(largest / CONDITION).sqrt()).collect();
        let vectors = &eigen.eigenvectors;
        self.root = vec![0.0; n * n];
        self.inverse_root = vec![0.0; n * n];
        for row in 0..n {
            for column in 0..n {
                let (mut root, mut inverse) = (0.0, 0.0);
                for k in 0..n {
                    let product = vectors[(row, k)] * vectors[(column, k)];
                    root += product * roots[k];
                    inverse += product / roots[k];
                }
                self.root[row * n + column] = root;
                self.inverse_root[row * n + column] = inverse;
            }
        }
    }

    /// Draws the samples of the generation.
    fn sample(&mut self) {
        let n = self.low.len();
        let stream = Stream::new(self.seed, Purpose::CmaSample);
        let state = &self.state;
        self.samples = (0..state.population)
            .map(|member| {
                let normal: Vec<f64> =
                    (0..n).map(|index| stream.normal(state.generation, member as u32, index as u32)).collect();
                // The first sample is where it begins, so that it never falls behind that.
                let first = state.generation == 0 && member == 0;
                let step = if first { vec![0.0; n] } else { product(&self.root, &normal) };
                state.mean.iter().zip(step).map(|(mean, step)| mean + state.step * step).collect()
            })
            .collect();
    }

    /// Where the portion of the generation that is asked for next ends.
    fn portion_end(&self) -> usize {
        let (all, half) = (self.state.population, self.state.population / 2);
        let told = self.state.told.len();
        if told < half { half } else { (told + (all - half).div_ceil(2)).min(all) }
    }

    /// Ranks of the samples, the best first; of equals the earlier one.
    fn ranking(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.state.told.len()).collect();
        order.sort_by(|&a, &b| self.state.told[b].total_cmp(&self.state.told[a]));
        order
    }

    /// The whole generation has been told: moves the distribution.
    fn advance(&mut self) {
        let n = self.low.len();
        let ranking = self.ranking();
        let constants = self.constants.clone();
        let state = &mut self.state;
        let old = state.mean.clone();
        let better: Vec<&Vec<f64>> = ranking.iter().take(constants.weights.len()).map(|&k| &self.samples[k]).collect();
        for (index, mean) in state.mean.iter_mut().enumerate() {
            *mean = better.iter().zip(&constants.weights).map(|(sample, weight)| weight * sample[index]).sum();
        }
        let moved: Vec<f64> = state.mean.iter().zip(&old).map(|(new, old)| (new - old) / state.step).collect();
        let Constants { effective, c_sigma, d_sigma, c_c, c_1, c_mu, expected, .. } = constants;
        let white = product(&self.inverse_root, &moved);
        let gain = (c_sigma * (2.0 - c_sigma) * effective).sqrt();
        for (path, white) in state.step_path.iter_mut().zip(white) {
            *path = (1.0 - c_sigma) * *path + gain * white;
        }
        let length = state.step_path.iter().map(|value| value * value).sum::<f64>().sqrt();
        let grown = 1.0 - (1.0 - c_sigma).powi(2 * (state.age as i32 + 1));
        let on = length / grown.sqrt() / expected < 1.4 + 2.0 / (n as f64 + 1.0);
        let gain = if on { (c_c * (2.0 - c_c) * effective).sqrt() } else { 0.0 };
        for (path, moved) in state.path.iter_mut().zip(&moved) {
            *path = (1.0 - c_c) * *path + gain * moved;
        }
        let lost = if on { 0.0 } else { c_1 * c_c * (2.0 - c_c) };
        let steps: Vec<Vec<f64>> = better
            .iter()
            .map(|sample| sample.iter().zip(&old).map(|(value, old)| (value - old) / state.step).collect())
            .collect();
        for row in 0..n {
            for column in 0..=row {
                let rank_mu: f64 = steps.iter().zip(&constants.weights).map(|(y, w)| w * y[row] * y[column]).sum();
                let before = state.covariance[row * n + column];
                let now =
                    (1.0 - c_1 - c_mu + lost) * before + c_1 * state.path[row] * state.path[column] + c_mu * rank_mu;
                state.covariance[row * n + column] = now;
                state.covariance[column * n + row] = now;
            }
        }
        state.step *= ((c_sigma / d_sigma) * (length / expected - 1.0)).min(1.0).exp();
        let (first, last) = (self.state.told[ranking[0]], self.state.told[ranking[constants.weights.len() - 1]]);
        if first == last {
            // Nothing tells the better half apart: look further away.
            self.state.step *= (0.2 + c_sigma / d_sigma).exp();
        }
        self.state.step = self.state.step.clamp(1e-300, 1.0);
        self.state.told.clear();
        self.samples.clear();
        self.state.generation += 1;
        self.state.age += 1;
        let broken = !self.state.covariance.iter().chain(&self.state.mean).all(|value| value.is_finite());
        if broken {
            self.state.covariance = identity(n);
            self.state.mean = old;
            self.state.path = vec![0.0; n];
            self.state.step_path = vec![0.0; n];
        }
        if broken || self.state.age.is_multiple_of(constants.lazy) {
            self.state.taken_apart.clone_from(&self.state.covariance);
            self.take_apart();
        }
        if self.has_converged() {
            self.begin_anew();
        }
    }

    fn has_converged(&self) -> bool {
        let n = self.low.len();
        let largest = (0..n).map(|index| self.state.taken_apart[index * n + index]).fold(0.0, f64::max).sqrt();
        self.state.step * largest < LEAST_STEP || self.state.age - self.state.rose > self.constants.patience
    }

    fn begin_anew(&mut self) {
        if !self.settings.restarts {
            self.state.finished = true;
            return;
        }
        let n = self.low.len();
        let stream = Stream::new(self.seed, Purpose::CmaStart);
        let first = population(&self.settings, n);
        let state = &mut self.state;
        state.restarts += 1;
        state.age = 0;
        state.rose = 0;
        state.rose_to = vec![f64::NEG_INFINITY];
        state.population = (state.population * 2).min(first * LARGEST_GROWTH);
        state.mean = (0..n).map(|index| stream.uniform(state.restarts, 0, index as u32)).collect();
        state.step = RESTART_STEP.max(self.settings.first_step);
        state.covariance = identity(n);
        state.taken_apart = identity(n);
        state.path = vec![0.0; n];
        state.step_path = vec![0.0; n];
        self.constants = Constants::new(state.population, n);
        self.take_apart();
    }
}

impl Optimiser for CmaEs {
    type State = CmaState;

    fn ask(&mut self) -> &[Vec<f64>] {
        if self.samples.is_empty() {
            self.sample();
        }
        if self.asked.is_empty() {
            let told = self.state.told.len();
            let portion = &self.samples[told..self.portion_end()];
            self.asked = portion.iter().map(|sample| fold_into(sample, &self.low, &self.high)).collect();
            let half = self.constants.weights.len();
            let bar = if told < half { f64::NEG_INFINITY } else { self.state.told[self.ranking()[half - 1]] };
            self.to_beat = vec![bar; self.asked.len()];
        }
        &self.asked
    }

    fn to_beat(&self) -> &[f64] {
        &self.to_beat
    }

    fn tell(&mut self, fitness: &[f64]) {
        let asked = std::mem::take(&mut self.asked);
        let state = &mut self.state;
        for (position, &value) in asked.into_iter().zip(fitness) {
            let value = ranked(value);
            state.told.push(value);
            if value > state.best_fitness[0] {
                state.best_fitness[0] = value;
                state.best_position = position;
            }
            // From -∞ every number is a rise.
            let rise = value - state.rose_to[0];
            if rise > self.settings.tolerance {
                state.rose_to[0] = value;
                state.rose = state.age;
            }
        }
        state.evaluations += fitness.len();
        if state.told.len() == state.population {
            self.advance();
        }
    }

    fn best(&self) -> (&[f64], f64) {
        (&self.state.best_position, self.state.best_fitness[0])
    }

    fn candidates(&self) -> Vec<(&[f64], f64)> {
        vec![self.best()]
    }

    fn share_done(&self) -> Option<f64> {
        Some((self.state.evaluations as f64 / self.settings.evaluations.max(1) as f64).min(1.0))
    }

    fn is_finished(&self) -> bool {
        self.state.finished || (self.state.told.is_empty() && self.state.evaluations >= self.settings.evaluations)
    }

    fn state(&self) -> &CmaState {
        &self.state
    }
}

fn identity(n: usize) -> Vec<f64> {
    (0..n * n).map(|index| f64::from(u8::from(index / n == index % n))).collect()
}

/// A square matrix times a vector, always added up in the same order.
fn product(matrix: &[f64], vector: &[f64]) -> Vec<f64> {
    matrix.chunks_exact(vector.len()).map(|row| row.iter().zip(vector).map(|(a, b)| a * b).sum()).collect()
}

/// Positions for shares of the ranges; what lies beyond a bound is folded back at it.
fn fold_into(shares: &[f64], low: &[f64], high: &[f64]) -> Vec<f64> {
    let folded = |share: f64| {
        let turn = share.rem_euclid(2.0);
        if turn > 1.0 { 2.0 - turn } else { turn }
    };
    let within = |((share, low), high): ((&f64, &f64), &f64)| (low + (high - low) * folded(*share)).clamp(*low, *high);
    shares.iter().zip(low).zip(high).map(within).collect()
}
