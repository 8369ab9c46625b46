//! Ascent within bounds: BFGS on the parameters that are not held by a bound (Nocedal and Wright, *Numerical
//! Optimization*, chapter 6), with steps cut short at the bounds.
//!
//! There are a dozen parameters, so that the whole matrix is kept.

use nalgebra::{DMatrix, DVector};

/// A step along which the value rises by less than this ends the ascent.
const LEAST_RISE: f64 = 1e-4;

/// The longest step of any parameter.
const LONGEST: f64 = 2.0;

/// Raises `value` from `start`; it returns the value and its gradient, or none where there is no value.
///
/// At most `evaluations` of it. Returns the best point and its value; none if there is no value at the start.
pub(super) fn ascend(
    start: &[f64],
    bounds: &[[f64; 2]],
    evaluations: usize,
    mut value: impl FnMut(&[f64]) -> Option<(f64, Vec<f64>)>,
) -> Option<(Vec<f64>, f64)> {
    let count = start.len();
    let held = |point: &[f64], gradient: &[f64], index: usize| {
        (point[index] <= bounds[index][0] && gradient[index] < 0.0)
            || (point[index] >= bounds[index][1] && gradient[index] > 0.0)
    };
    let clamp = |index: usize, number: f64| number.clamp(bounds[index][0], bounds[index][1]);
    let mut point: Vec<f64> = (0..count).map(|index| clamp(index, start[index])).collect();
    let (mut height, mut gradient) = value(&point)?;
    let mut left = evaluations.saturating_sub(1);
    let mut curvature: DMatrix<f64> = DMatrix::identity(count, count);
    let mut is_fresh = true;
    while left > 0 {
        let free =
            DVector::from_fn(count, |index, _| if held(&point, &gradient, index) { 0.0 } else { gradient[index] });
        if free.amax() < 1e-6 {
            break;
        }
        let mut direction = &curvature * &free;
        (0..count).filter(|&index| free[index] == 0.0).for_each(|index| direction[index] = 0.0);
        if is_fresh {
            // Nothing is known of the curvature: a short step.
            direction *= 0.5 / free.amax();
        }
        if direction.dot(&free) <= 0.0 {
            curvature = DMatrix::identity(count, count);
            is_fresh = true;
            continue;
        }
        let longest = direction.amax();
        if longest > LONGEST {
            direction *= LONGEST / longest;
        }
        let mut share = 1.0;
        let mut found = None;
        while left > 0 && share > 1e-4 {
            let tried: Vec<f64> =
                (0..count).map(|index| clamp(index, point[index] + share * direction[index])).collect();
            let promised: f64 = (0..count).map(|index| (tried[index] - point[index]) * gradient[index]).sum();
            left -= 1;
            if let Some((reached, slope)) = value(&tried)
                && reached > height + 1e-4 * promised.max(0.0)
            {
                found = Some((tried, reached, slope));
                break;
            }
            share *= 0.3;
        }
        let Some((next, reached, slope)) = found else {
            if is_fresh {
                break;
            }
            curvature = DMatrix::identity(count, count);
            is_fresh = true;
            continue;
        };
        let step = DVector::from_fn(count, |index, _| next[index] - point[index]);
        // Of the function turned upside down, whose curvature is positive near an optimum.
        let turn = DVector::from_fn(count, |index, _| gradient[index] - slope[index]);
        let product = step.dot(&turn);
        if product > 1e-10 * step.norm() * turn.norm() {
            if is_fresh {
                curvature *= product / turn.norm_squared();
            }
            let identity = DMatrix::identity(count, count);
            let left_factor = &identity - &step * turn.transpose() / product;
            curvature = &left_factor * &curvature * left_factor.transpose() + &step * step.transpose() / product;
            is_fresh = false;
        }
        let rise = reached - height;
        (point, height, gradient) = (next, reached, slope);
        if rise < LEAST_RISE {
            if is_fresh {
                break;
            }
            curvature = DMatrix::identity(count, count);
            is_fresh = true;
        }
    }
    Some((point, height))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curved_ridge_is_climbed_to_its_top() {
        let rosenbrock = |p: &[f64]| {
            let (a, b) = (1.0 - p[0], p[1] - p[0] * p[0]);
            Some((-1e3 * (a * a + 100.0 * b * b), vec![1e3 * (2.0 * a + 400.0 * b * p[0]), -1e3 * 200.0 * b]))
        };
        let (point, _) = ascend(&[-1.2, 1.0], &[[-5.0, 5.0]; 2], 200, rosenbrock).unwrap();
        assert!((point[0] - 1.0).abs() < 1e-2 && (point[1] - 1.0).abs() < 2e-2, "{point:?}");
    }

    #[test]
    fn bounds_hold_and_what_has_no_value_is_avoided() {
        let bowl = |p: &[f64]| {
            assert!((-1.0..=1.0).contains(&p[0]) && (-9.0..=9.0).contains(&p[1]), "{p:?}");
            let value = -(p[0] - 3.0).powi(2) - (p[1] - 2.0).powi(2) - 0.5 * p[0] * p[1];
            (p[1] < 4.0).then(|| (value, vec![-2.0 * (p[0] - 3.0) - 0.5 * p[1], -2.0 * (p[1] - 2.0) - 0.5 * p[0]]))
        };
        let (point, _) = ascend(&[0.0, -3.0], &[[-1.0, 1.0], [-9.0, 9.0]], 100, bowl).unwrap();
        assert!((point[0] - 1.0).abs() < 1e-9 && (point[1] - 1.75).abs() < 1e-2, "{point:?}");
        assert!(ascend(&[0.0, 5.0], &[[-9.0, 9.0]; 2], 10, bowl).is_none());
    }
}
