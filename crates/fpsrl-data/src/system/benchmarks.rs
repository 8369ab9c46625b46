//! The built-in systems: the paper's three benchmarks and the textbook mountain car.

use std::f64::consts::PI;

use super::{ActionVariable, Lags, StartRule, StateVariable, System};
use crate::plant::PlantKind;

/// What holds where neither the user nor a benchmark says anything else.
///
/// Variables, actions and horizon have no general default: [`check`](super::WrittenSystem::check) asks for them.
pub(super) fn general() -> System {
    System {
        name: String::new(),
        plant: None,
        seed: 1,
        horizon: 0,
        discount_q: 0.05,
        success: None,
        states: Vec::new(),
        actions: Vec::new(),
        objectives: Vec::new(),
        start: StartRule::Ranges,
        start_pool: None,
        history: None,
        lags: Lags::default(),
    }
}

/// The system of a plant.
pub(super) fn system(kind: PlantKind) -> System {
    let general = System { name: kind.name().to_owned(), plant: Some(kind), ..general() };
    match kind {
        PlantKind::MountainCar | PlantKind::TextbookMountainCar => System {
            horizon: 200,
            success: Some(-43.0),
            states: vec![
                state("position", "m", [-1.2, 0.6], [-1.2, 0.6]),
                state("velocity", "m/s", [0.0, 0.0], [0.0, 0.0]),
            ],
            actions: vec![force(1.0)],
            ..general
        },
        PlantKind::CartPoleBalancing => System {
            horizon: 100,
            success: Some(-1.5),
            states: cart_pole([[-0.5, 0.5], [-0.5, 0.5]], [[-0.7, 0.7], [-2.4, 2.4]]),
            actions: vec![force(10.0)],
            ..general
        },
        PlantKind::CartPoleSwingUp => {
            let mut states = cart_pole([[-PI, PI], [-0.5, 0.5]], [[-PI, PI], [0.0, 0.0]]);
            // The log's own range misleads: the cart of a random walk drifts away by hundreds of metres. And widths up
            // to twice such a range make rules that hold everywhere: with them a search of 300 particles stood at -97
            // after 100 iterations, with these at -62.
            let bounds = [(PI, [0.2, 4.0]), (15.0, [0.5, 15.0]), (10.0, [0.2, 10.0]), (15.0, [0.5, 15.0])];
            for (state, (bound, width)) in states.iter_mut().zip(bounds) {
                state.centre = Some([-bound, bound]);
                state.width = Some(width);
            }
            System { horizon: 500, success: Some(-50.0), states, actions: vec![force(30.0)], ..general }
        }
    }
}

fn state(name: &str, unit: &str, start: [f64; 2], data_start: [f64; 2]) -> StateVariable {
    StateVariable { unit: unit.to_owned(), start, data_start, ..StateVariable::new(name) }
}

/// The cart-pole's variables; it starts at rest, so that only the angle and the position have a range.
fn cart_pole(start: [[f64; 2]; 2], data_start: [[f64; 2]; 2]) -> Vec<StateVariable> {
    vec![
        StateVariable { angle: true, ..state("theta", "rad", start[0], data_start[0]) },
        state("theta_dot", "rad/s", [0.0, 0.0], [0.0, 0.0]),
        state("rho", "m", start[1], data_start[1]),
        state("rho_dot", "m/s", [0.0, 0.0], [0.0, 0.0]),
    ]
}

fn force(limit: f64) -> ActionVariable {
    ActionVariable {
        name: "force".to_owned(),
        unit: "N".to_owned(),
        columns: Vec::new(),
        limits: [-limit, limit],
        rate: None,
        set_point: None,
        move_cost: None,
    }
}
