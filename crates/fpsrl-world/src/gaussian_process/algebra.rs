//! Cholesky factors together with their inverses, by products of blocks.
//!
//! nalgebra's own factorisation works a column at a time; for two thousand rows it waits for memory most of the time.
//! Halving the matrix leaves nearly all of the work to products, which are fast:
//! L₂₁ = A₂₁ L₁₁⁻ᵀ, L₂₂ L₂₂ᵀ = A₂₂ - L₂₁ L₂₁ᵀ, and the inverse's lower left block is -L₂₂⁻¹ L₂₁ L₁₁⁻¹.

use nalgebra::{DMatrix, DVector};

/// Matrices up to this size are factored entry by entry.
const SMALL: usize = 48;

/// A = L Lᵀ.
#[derive(Clone, Debug)]
pub(super) struct Factor {
    /// L, of which only the lower half is meant.
    lower: DMatrix<f64>,
    /// L⁻¹; its upper half is 0.
    inverse: DMatrix<f64>,
}

impl Factor {
    /// Factors a symmetric matrix, of which the lower half is read. None if it is not positive definite.
    pub(super) fn new(matrix: DMatrix<f64>) -> Option<Self> {
        let size = matrix.nrows();
        let mut factor = Self { lower: matrix, inverse: DMatrix::zeros(size, size) };
        factor.part(0, size).then_some(factor)
    }

    fn part(&mut self, from: usize, size: usize) -> bool {
        if size <= SMALL {
            return self.small(from, size);
        }
        let first = size / 2;
        let (middle, second) = (from + first, size - first);
        if !self.part(from, first) {
            return false;
        }
        let inverse = self.inverse.view((from, from), (first, first)).into_owned();
        let below = self.lower.view((middle, from), (second, first)).into_owned() * inverse.transpose();
        let rest = &below * below.transpose();
        let mut corner = self.lower.view_mut((middle, middle), (second, second));
        corner -= rest;
        if !self.part(middle, second) {
            return false;
        }
        let corner = self.inverse.view((middle, middle), (second, second)).into_owned();
        self.inverse.view_mut((middle, from), (second, first)).copy_from(&(-(corner * (&below * inverse))));
        self.lower.view_mut((middle, from), (second, first)).copy_from(&below);
        true
    }

    fn small(&mut self, from: usize, size: usize) -> bool {
        let (lower, inverse) = (&mut self.lower, &mut self.inverse);
        for column in from..from + size {
            for row in column..from + size {
                let known: f64 = (from..column).map(|k| lower[(row, k)] * lower[(column, k)]).sum();
                let rest = lower[(row, column)] - known;
                if row > column {
                    lower[(row, column)] = rest / lower[(column, column)];
                } else if rest > 0.0 && rest.is_finite() {
                    lower[(row, column)] = rest.sqrt();
                } else {
                    return false;
                }
            }
        }
        for column in from..from + size {
            inverse[(column, column)] = 1.0 / lower[(column, column)];
            for row in column + 1..from + size {
                let known: f64 = (column..row).map(|k| lower[(row, k)] * inverse[(k, column)]).sum();
                inverse[(row, column)] = -known / lower[(row, row)];
            }
        }
        true
    }

    /// ln |A|.
    pub(super) fn log_determinant(&self) -> f64 {
        2.0 * (0..self.lower.nrows()).map(|index| self.lower[(index, index)].ln()).sum::<f64>()
    }

    /// L⁻¹ b.
    pub(super) fn whiten(&self, vector: &DVector<f64>) -> DVector<f64> {
        &self.inverse * vector
    }

    /// L⁻¹ B.
    pub(super) fn whiten_all(&self, matrix: &DMatrix<f64>) -> DMatrix<f64> {
        &self.inverse * matrix
    }

    /// L⁻ᵀ b.
    pub(super) fn unwhiten(&self, vector: &DVector<f64>) -> DVector<f64> {
        self.inverse.tr_mul(vector)
    }

    /// A⁻¹ b.
    pub(super) fn solve(&self, vector: &DVector<f64>) -> DVector<f64> {
        self.unwhiten(&self.whiten(vector))
    }

    /// A⁻¹.
    pub(super) fn inverse(&self) -> DMatrix<f64> {
        self.inverse.transpose() * &self.inverse
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fpsrl_base::random::{Purpose, Stream};

    #[test]
    fn factors_and_inverses_of_every_size_multiply_to_what_they_should() {
        let stream = Stream::new(1, Purpose::Weights);
        for size in [1, 2, 7, 48, 49, 97, 150, 201] {
            let random = DMatrix::from_fn(size, size, |row, column| stream.normal(0, row as u32, column as u32));
            let matrix = &random * random.transpose() + DMatrix::identity(size, size) * 0.1;
            let factor = Factor::new(matrix.clone()).unwrap();
            assert!((factor.inverse() * &matrix - DMatrix::identity(size, size)).amax() < 1e-8, "{size}");
            let vector = DVector::from_fn(size, |row, _| stream.normal(1, row as u32, 0));
            assert!((matrix.clone() * factor.solve(&vector) - &vector).amax() < 1e-8);
            let expected = 2.0 * matrix.clone().cholesky().unwrap().l().diagonal().map(f64::ln).sum();
            assert!((factor.log_determinant() - expected).abs() < 1e-8 * (1.0 + expected.abs()), "{size}");
        }
    }

    #[test]
    fn what_is_not_positive_definite_has_no_factor() {
        for size in [1, 60] {
            let mut matrix = DMatrix::identity(size, size);
            matrix[(size - 1, size - 1)] = -1.0;
            assert!(Factor::new(matrix.clone()).is_none());
            matrix[(size - 1, size - 1)] = f64::NAN;
            assert!(Factor::new(matrix).is_none());
        }
    }
}
