//! The classic Runge-Kutta method of fourth order, for a few equations.

use super::number::Number;

/// Substeps of the integrator in one control step.
pub(crate) const SUBSTEPS: usize = 10;

/// Equations of motion under a force that does not change within a control step.
pub(crate) trait Dynamics<const VARIABLES: usize> {
    /// The change of each variable per second.
    fn derivative<N: Number>(state: [N; VARIABLES], force: N) -> [N; VARIABLES];
}

/// The state after `seconds`, in `substeps` equal steps of Runge and Kutta's.
#[inline(always)]
pub(crate) fn integrate<D: Dynamics<VARIABLES>, N: Number, const VARIABLES: usize>(
    mut state: [N; VARIABLES],
    force: N,
    seconds: f64,
    substeps: usize,
) -> [N; VARIABLES] {
    let width = seconds / substeps as f64;
    let (whole, half) = (force.constant(width), force.constant(width / 2.0));
    let (sixth, two) = (force.constant(width / 6.0), force.constant(2.0));
    for _ in 0..substeps {
        let first = D::derivative(state, force);
        let second = D::derivative(ahead(state, half, first), force);
        let third = D::derivative(ahead(state, half, second), force);
        let fourth = D::derivative(ahead(state, whole, third), force);
        for variable in 0..VARIABLES {
            let middle = (second[variable] + third[variable]).mul_add(two, first[variable] + fourth[variable]);
            state[variable] = middle.mul_add(sixth, state[variable]);
        }
    }
    state
}

/// The state moved along a slope.
#[inline(always)]
fn ahead<N: Number, const VARIABLES: usize>(
    mut state: [N; VARIABLES],
    time: N,
    slope: [N; VARIABLES],
) -> [N; VARIABLES] {
    for variable in 0..VARIABLES {
        state[variable] = slope[variable].mul_add(time, state[variable]);
    }
    state
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A mass on a spring: ẍ = F - x, solved by sine and cosine.
    struct Spring;

    impl Dynamics<2> for Spring {
        #[inline(always)]
        fn derivative<N: Number>([position, velocity]: [N; 2], force: N) -> [N; 2] {
            [velocity, force - position]
        }
    }

    fn error_after_two_seconds(substeps: usize) -> f64 {
        let [position, velocity] = integrate::<Spring, f64, 2>([1.5, 0.0], 0.5, 2.0, substeps);
        (position - (0.5 + 2.0f64.cos())).hypot(velocity + 2.0f64.sin())
    }

    #[test]
    fn half_the_step_has_a_sixteenth_of_the_error() {
        for substeps in [10, 20, 40, 80] {
            let order = (error_after_two_seconds(substeps) / error_after_two_seconds(2 * substeps)).log2();
            assert!((order - 4.0).abs() < 0.1, "{substeps} substeps: order {order}");
        }
    }
}
