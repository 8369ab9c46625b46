//! The figures that the paper prints: its tables 1 to 3 (mountain car, balancing, swing-up) and its table 4 (set-up).

use crate::plant::PlantKind;

/// What the paper reports of one batch size.
pub(super) struct PaperCell {
    /// Transitions.
    pub(super) samples: usize,
    /// Of each state variable, then of the reward: normalised generalisation error with 1, 2 and 3 hidden layers.
    pub(super) errors: &'static [[f64; 3]],
    /// FPSRL's returns on the true dynamics: selected, mean, standard deviation.
    pub(super) fpsrl: [f64; 3],
    /// NFQ's.
    pub(super) nfq: [f64; 3],
}

/// Particles, and iterations of the swarm.
pub(super) fn swarm(plant: PlantKind) -> (usize, usize) {
    match plant {
        PlantKind::CartPoleSwingUp => (1_000, 1_000),
        _ => (100, 1_000),
    }
}

/// The table of a benchmark, the smallest batch first; none for a plant that the paper does not have.
pub(super) fn table(plant: PlantKind) -> Option<&'static [PaperCell; 3]> {
    match plant {
        PlantKind::MountainCar => Some(&MOUNTAIN_CAR),
        PlantKind::CartPoleBalancing => Some(&BALANCING),
        PlantKind::CartPoleSwingUp => Some(&SWING_UP),
        PlantKind::TextbookMountainCar => None,
    }
}

const MOUNTAIN_CAR: [PaperCell; 3] = [
    PaperCell {
        samples: 1_000,
        errors: &[[4.67e-5, 3.55e-5, 3.05e-6], [6.97e-3, 3.54e-3, 7.26e-3], [4.54e-1, 1.46e-1, 1.61e-1]],
        fpsrl: [-41.98, -41.99, 0.01],
        nfq: [-43.23, -44.87, 1.33],
    },
    PaperCell {
        samples: 10_000,
        errors: &[[1.18e-5, 3.34e-7, 2.01e-6], [4.62e-3, 3.48e-3, 7.40e-5], [1.72e-2, 2.54e-4, 6.04e-7]],
        fpsrl: [-42.22, -42.69, 0.46],
        nfq: [-43.47, -45.73, 2.90],
    },
    PaperCell {
        samples: 100_000,
        errors: &[[1.55e-5, 1.55e-7, 2.88e-7], [1.10e-2, 3.50e-4, 5.15e-5], [1.01e-3, 2.09e-6, 5.85e-8]],
        fpsrl: [-41.99, -41.93, 0.11],
        nfq: [-43.12, -43.28, 1.22],
    },
];

const BALANCING: [PaperCell; 3] = [
    PaperCell {
        samples: 1_000,
        errors: &[
            [1.57e-7, 1.37e-7, 1.07e-7],
            [4.62e-2, 6.03e-2, 8.51e-3],
            [4.32e-8, 8.29e-8, 1.29e-7],
            [4.33e-2, 1.33e-2, 1.03e-1],
            [2.09e-2, 2.58e-2, 1.11e-2],
        ],
        fpsrl: [-9.03, -14.59, 5.34],
        nfq: [-1.35, -1.82, 0.54],
    },
    PaperCell {
        samples: 10_000,
        errors: &[
            [5.95e-9, 3.79e-8, 2.84e-8],
            [3.68e-2, 1.07e-2, 5.08e-3],
            [9.98e-9, 8.12e-7, 4.82e-8],
            [5.18e-2, 4.16e-2, 4.02e-2],
            [1.22e-2, 4.75e-4, 6.17e-4],
        ],
        fpsrl: [-3.29, -3.30, 0.02],
        nfq: [-0.99, -1.18, 0.23],
    },
    PaperCell {
        samples: 100_000,
        errors: &[
            [5.73e-9, 2.43e-8, 2.69e-8],
            [3.55e-2, 1.25e-2, 9.93e-3],
            [2.91e-8, 3.44e-8, 1.41e-7],
            [2.83e-2, 2.43e-2, 1.30e-2],
            [5.86e-3, 1.08e-4, 9.03e-4],
        ],
        fpsrl: [-1.31, -1.31, 8.97e-4],
        nfq: [-1.81, -2.03, 0.24],
    },
];

const SWING_UP: [PaperCell; 3] = [
    PaperCell {
        samples: 1_000,
        errors: &[
            [2.02e-4, 2.61e-6, 3.07e-6],
            [2.93e-3, 4.65e-4, 5.78e-4],
            [2.27e-5, 1.44e-5, 1.85e-5],
            [9.85e-4, 9.90e-5, 1.13e-3],
            [5.00, 5.07, 5.06],
        ],
        fpsrl: [-157.49, -156.53, 2.30],
        nfq: [-153.59, -156.43, 1.64],
    },
    PaperCell {
        samples: 10_000,
        errors: &[
            [3.23e-6, 2.17e-6, 2.31e-6],
            [9.86e-5, 7.88e-5, 3.65e-4],
            [3.06e-6, 1.48e-6, 2.08e-6],
            [1.13e-5, 8.83e-6, 3.39e-5],
            [1.68e-1, 5.05e-2, 9.42e-2],
        ],
        fpsrl: [-34.03, -53.82, 12.01],
        nfq: [-134.82, -153.63, 6.69],
    },
    PaperCell {
        samples: 100_000,
        errors: &[
            [2.00e-6, 3.07e-6, 2.56e-6],
            [2.63e-4, 5.62e-4, 3.38e-4],
            [8.83e-6, 1.23e-5, 4.81e-5],
            [2.47e-5, 6.46e-5, 2.28e-5],
            [1.95e-1, 4.76e-3, 7.77e-3],
        ],
        fpsrl: [-32.42, -53.22, 11.17],
        nfq: [-150.93, -152.66, 2.26],
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Problem;

    #[test]
    fn the_tables_have_a_row_for_each_variable_and_the_reward() {
        for plant in PlantKind::all() {
            let Some(cells) = table(plant) else { continue };
            let variables = Problem::benchmark(plant.name()).unwrap().system.states().len();
            assert!(cells.iter().all(|cell| cell.errors.len() == variables + 1));
            assert_eq!(cells.each_ref().map(|cell| cell.samples), [1_000, 10_000, 100_000]);
        }
    }
}
