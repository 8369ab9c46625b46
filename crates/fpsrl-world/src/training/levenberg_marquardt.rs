//! Levenberg-Marquardt: least squares by damped Gauss-Newton steps (Levenberg 1944, Marquardt 1963; for networks
//! Hagan and Menhaj 1994).
//!
//! With the Jacobian J of the outputs and the residuals e = target - output, a step d solves
//! (JᵀJ + μ (diag JᵀJ + f I)) d = Jᵀe over all rows. The diagonal damps each parameter on its own scale; f keeps the
//! parameters of saturated neurons, which hardly matter at the moment, from running away. μ shrinks after a step that lowers the error and grows until one does, so that
//! the step turns from Gauss-Newton's to a short one downhill. J is made a block of rows at a time; only the lower
//! half of JᵀJ is computed.

use nalgebra::{Cholesky, DMatrix, DMatrixView, DVector, Dyn, MatrixView, U1};

use super::passes::Passes;
use super::samples::{BLOCK, Samples};

/// Parameters whose products are computed in one multiplication of matrices. Narrower panels waste less above the
/// diagonal, wider ones multiply faster.
const PANEL: usize = 64;

/// With more rows than this, JᵀJ is computed from a part of them; the gradient and the error never are.
const MOST_ROWS: usize = 12_000;

/// The Jacobian has a multiple of this many columns, the last of them 0: a panel is then never so narrow that
/// nalgebra leaves its fast product for one that does not read a view with strides correctly.
const GRAIN: usize = 8;

const FIRST_DAMPING: f64 = 1e-2;
const LEAST_DAMPING: f64 = 1e-15;
const MOST_DAMPING: f64 = 1e6;
/// Added to each entry of the diagonal before it is damped.
const FLOOR: f64 = 1e-2;
const SHRINK: f64 = 0.2;
const GROW: f64 = 4.0;

/// The state of a training by Levenberg-Marquardt.
pub(super) struct LevenbergMarquardt {
    damping: f64,
    iteration: usize,
    /// Rows that JᵀJ is computed from.
    most_rows: usize,
    jacobian: Vec<f64>,
    /// JᵀJ / rows, the lower half.
    normal: DMatrix<f64>,
    gradient: Vec<f64>,
}

impl LevenbergMarquardt {
    pub(super) fn new(parameters: usize) -> Self {
        let columns = parameters.next_multiple_of(GRAIN);
        Self {
            damping: FIRST_DAMPING,
            iteration: 0,
            most_rows: MOST_ROWS,
            jacobian: vec![0.0; columns * BLOCK],
            normal: DMatrix::zeros(columns, columns),
            gradient: vec![0.0; columns],
        }
    }

    /// One step. Returns whether there was one that lowers the error.
    pub(super) fn iterate(&mut self, passes: &mut Passes, parameters: &mut Vec<f64>, training: &Samples) -> bool {
        let error = self.linearise(passes, parameters, training);
        if !error.is_finite() {
            return false;
        }
        while self.damping <= MOST_DAMPING {
            if let Some(step) = self.step() {
                let moved: Vec<f64> = parameters.iter().zip(&step).map(|(old, change)| old + change).collect();
                let next = passes.error(&moved, training);
                if next < error {
                    *parameters = moved;
                    self.damping = (self.damping * SHRINK).max(LEAST_DAMPING);
                    return true;
                }
            }
            self.damping *= GROW;
        }
        false
    }

    /// Fills the normal equations at these parameters; returns the mean squared error there.
    fn linearise(&mut self, passes: &mut Passes, parameters: &[f64], training: &Samples) -> f64 {
        self.iteration += 1;
        self.normal.fill(0.0);
        self.gradient.fill(0.0);
        let mut squares = 0.0;
        if training.rows() <= self.most_rows {
            for block in 0..training.blocks() {
                let residuals = passes.jacobian(parameters, training, block, &mut self.jacobian);
                squares += residuals.iter().map(|residual| residual * residual).sum::<f64>();
                passes.add_product(&self.jacobian, &mut self.gradient);
                self.add_normal();
            }
        } else {
            let mut residuals = Vec::with_capacity(training.rows());
            for block in 0..training.blocks() {
                squares += passes.add_gradient(parameters, training, block, &mut self.gradient);
                residuals.extend_from_slice(passes.last_residuals());
            }
            residuals.truncate(training.rows());
            let chosen = training.weighted(&self.choose(&residuals));
            for block in 0..chosen.blocks() {
                passes.jacobian(parameters, &chosen, block, &mut self.jacobian);
                self.add_normal();
            }
        }
        let scale = 1.0 / training.rows() as f64;
        self.normal *= scale;
        self.gradient.iter_mut().for_each(|entry| *entry *= scale);
        squares * scale
    }

    /// Rows for JᵀJ when there are many: half of them those with the largest residuals, which decide where the step
    /// has to be right, and half of them an even sample of all others, which counts for the whole.
    fn choose(&self, residuals: &[f64]) -> Vec<(usize, f64)> {
        let half = self.most_rows / 2;
        let mut order: Vec<usize> = (0..residuals.len()).collect();
        let larger = |a: &usize, b: &usize| residuals[*b].abs().total_cmp(&residuals[*a].abs()).then(a.cmp(b));
        order.select_nth_unstable_by(half, larger);
        let mut rest = order.split_off(half);
        rest.sort_unstable();
        let stride = rest.len().div_ceil(half);
        let sample: Vec<usize> = rest.iter().copied().skip(self.iteration % stride).step_by(stride).collect();
        let weight = rest.len() as f64 / sample.len() as f64;
        order.into_iter().map(|row| (row, 1.0)).chain(sample.into_iter().map(|row| (row, weight))).collect()
    }

    /// Adds the products of the block's Jacobian to the lower half of JᵀJ.
    fn add_normal(&mut self) {
        let count = self.gradient.len();
        for left in (0..count).step_by(PANEL) {
            let height = PANEL.min(count - left);
            let rows = columns(&self.jacobian, left, height);
            for right in (0..=left).step_by(PANEL) {
                let width = PANEL.min(count - right);
                let others = &self.jacobian[right * BLOCK..][..width * BLOCK];
                let others = DMatrixView::from_slice(others, BLOCK, width);
                self.normal.view_mut((left, right), (height, width)).gemm(1.0, &rows, &others, 1.0);
            }
        }
    }

    /// The step at the present damping, if the damped matrix has a Cholesky factor.
    fn step(&self) -> Option<Vec<f64>> {
        let mut damped = self.normal.clone();
        for index in 0..damped.nrows() {
            let own = damped[(index, index)];
            damped[(index, index)] += self.damping * (own + FLOOR);
        }
        let downhill = DVector::from_iterator(self.gradient.len(), self.gradient.iter().map(|slope| -slope));
        let step = Cholesky::new(damped)?.solve(&downhill);
        step.iter().all(|change| change.is_finite()).then(|| step.as_slice().to_vec())
    }
}

/// Some columns of the Jacobian, as a matrix "parameter by row".
fn columns(jacobian: &[f64], first: usize, count: usize) -> MatrixView<'_, f64, Dyn, Dyn, Dyn, U1> {
    MatrixView::from_slice_with_strides_generic(&jacobian[first * BLOCK..], Dyn(count), Dyn(BLOCK), Dyn(BLOCK), U1)
}
