//! The plants against conservation laws, known scores, and each other's number types.

use super::cart_pole::{GRAVITY, HALF_LENGTH, POLE_MASS, TOTAL_MASS};
use super::*;
use fpsrl_base::random::{Purpose, Stream};
use fpsrl_engine::angle::wrap_angle;
use fpsrl_engine::rollout::Lanes;
use fpsrl_engine::simd::{Mode, Numerics};
use fpsrl_engine::world::World;

/// F of the benchmarks: the mean over start states of the sum of γ^k r.
fn score(plant: PlantKind, horizon: usize, starts: usize, policy: impl Fn(&[f64]) -> f64) -> f64 {
    let discount = 0.05f64.powf(1.0 / (horizon - 1) as f64);
    let mut sum = 0.0;
    for start in 0..starts {
        let mut state = [-1.2 + 1.8 * (start as f64 + 0.5) / starts as f64, 0.0];
        let mut weight = 1.0;
        for _ in 0..horizon {
            let action = policy(&state);
            sum += weight * plant.step(&mut state, &[action]).reward;
            weight *= discount;
        }
    }
    sum / starts as f64
}

#[test]
fn names_lead_back_to_their_plants() {
    for plant in PlantKind::all() {
        assert_eq!(PlantKind::from_name(plant.name()).unwrap(), plant);
    }
    let error = PlantKind::from_name("cart-pole-swingup").unwrap_err();
    assert_eq!(error.to_string(), "there is no plant called `cart-pole-swingup`");
    assert!(error.hint().unwrap().starts_with("did you mean `cart-pole-swing-up`?"));
}

#[test]
fn an_unpushed_cart_pole_keeps_its_energy_and_its_momentum() {
    let energy = |[angle, spin, _, velocity]: [f64; 4]| {
        TOTAL_MASS / 2.0 * velocity * velocity
            + POLE_MASS * HALF_LENGTH * velocity * spin * angle.cos()
            + 2.0 / 3.0 * POLE_MASS * HALF_LENGTH * HALF_LENGTH * spin * spin
            + POLE_MASS * GRAVITY * HALF_LENGTH * angle.cos()
    };
    let momentum =
        |[angle, spin, _, velocity]: [f64; 4]| TOTAL_MASS * velocity + POLE_MASS * HALF_LENGTH * spin * angle.cos();
    let mut state = [0.3, 0.0, 0.0, 0.5];
    let (energy_before, momentum_before) = (energy(state), momentum(state));
    for _ in 0..500 {
        PlantKind::CartPoleSwingUp.step(&mut state, &[0.0]);
        assert!((energy(state) - energy_before).abs() < 1e-9, "{}", energy(state) - energy_before);
        assert!((momentum(state) - momentum_before).abs() < 1e-9, "{}", momentum(state) - momentum_before);
    }
    println!("drift of energy {:e}", energy(state) - energy_before);
}

#[test]
fn an_unpushed_mountain_car_keeps_its_energy() {
    // The hill as it is described, not as the plant differentiates it.
    let height = |x: f64| if x < 0.0 { x * x + x } else { x / (1.0 + 5.0 * x * x).sqrt() };
    let slope = |x: f64| if x < 0.0 { 2.0 * x + 1.0 } else { (1.0 + 5.0 * x * x).powf(-1.5) };
    let energy = |[position, velocity]: [f64; 2]| {
        velocity * velocity * (1.0 + slope(position).powi(2)) / 2.0 + 9.81 * height(position)
    };
    // Below the level of ρ = 0 the car stays on the parabola. Above, it crosses the place where H'' jumps from 2 to 0;
    // there no method of Runge and Kutta's keeps its order, and each crossing costs about 1e-3.
    for (start, tolerance) in [(-0.95, 1e-7), (-0.8, 1e-7), (-0.3, 1e-7), (-1.1, 2e-2), (0.2, 2e-2)] {
        let mut state = [start, 0.0];
        let before = energy(state);
        let mut worst = 0.0f64;
        for _ in 0..400 {
            PlantKind::MountainCar.step(&mut state, &[0.0]);
            worst = worst.max((energy(state) - before).abs());
        }
        println!("from {start}: drift of energy {worst:e}");
        assert!(worst < tolerance, "from {start}: {worst:e}");
    }
}

#[test]
fn pushing_along_the_velocity_climbs_the_hill_as_measured() {
    let along = |state: &[f64]| state[1].signum();
    let ours = score(PlantKind::MountainCar, 200, 2_000, along);
    let textbook = score(PlantKind::TextbookMountainCar, 200, 2_000, along);
    println!("mountain car {ours}, textbook {textbook}");
    assert!((ours + 42.3).abs() < 0.3, "{ours}");
    assert!((textbook + 42.18).abs() < 0.1, "{textbook}");
}

#[test]
fn the_goal_holds_the_car() {
    for plant in [PlantKind::MountainCar, PlantKind::TextbookMountainCar] {
        let mut state = [0.59, 0.06 * if plant == PlantKind::MountainCar { 20.0 } else { 1.0 }];
        let step = plant.step(&mut state, &[1.0]);
        assert_eq!(step, Step { reward: 0.0, absorbed: true });
        assert!(state[0] > 0.6 && state[1] == 0.0);
        let there = state;
        assert_eq!(plant.step(&mut state, &[-1.0]), step);
        assert_eq!(state, there);
        // A start beyond the goal is there already.
        let mut beyond = [0.7, -1.0];
        assert_eq!(plant.step(&mut beyond, &[-1.0]), step);
        assert_eq!(beyond, [0.7, 0.0]);
    }
}

#[test]
fn the_textbook_has_a_wall_and_a_limit() {
    let mut state = [-1.19, -0.07];
    PlantKind::TextbookMountainCar.step(&mut state, &[-1.0]);
    assert_eq!(state, [-1.2, 0.0]);
    let mut state = [-0.9, 0.0699];
    PlantKind::TextbookMountainCar.step(&mut state, &[1.0]);
    assert_eq!(state[1], 0.07);
}

#[test]
fn a_fallen_pole_stays_where_it_fell() {
    let plant = PlantKind::CartPoleBalancing;
    for start in [[0.69, 2.0, 0.1, 0.3], [0.0, 0.1, -2.399, -1.0]] {
        let mut state = start;
        let step = plant.step(&mut state, &[3.0]);
        assert_eq!(step, Step { reward: -1.0, absorbed: true });
        assert!(state[0].abs() > 0.7 || state[2].abs() > 2.4, "{state:?}");
        assert_eq!([state[1], state[3]], [0.0, 0.0]);
        let there = state;
        assert_eq!(plant.step(&mut state, &[-10.0]), step);
        assert_eq!(state, there);
    }
    for (start, reward) in [([0.0; 4], 0.0), ([0.4, 0.0, 0.0, 0.0], -0.1), ([0.0, 0.0, 1.0, 0.0], -0.1)] {
        let mut state = start;
        assert_eq!(plant.step(&mut state, &[0.0]), Step { reward, absorbed: false });
    }
}

#[test]
fn the_pole_turns_round_without_leaving_half_a_turn() {
    let mut state = [3.1, 9.0, 0.0, 0.0];
    let step = PlantKind::CartPoleSwingUp.step(&mut state, &[0.0]);
    assert!((state[0] - (3.1 + 9.0 * 0.025 - std::f64::consts::TAU)).abs() < 0.01, "{state:?}");
    assert_eq!(step, Step { reward: -1.0, absorbed: false });
    let mut upright = [0.1, 0.0, -0.4, 0.0];
    assert_eq!(PlantKind::CartPoleSwingUp.step(&mut upright, &[0.0]).reward, 0.0);
}

#[test]
fn what_is_not_a_number_does_no_harm() {
    for plant in PlantKind::all() {
        for action in [f64::NAN, f64::INFINITY, -f64::MAX] {
            let mut state = vec![0.1; plant.state_count()];
            let step = plant.step(&mut state, &[action]);
            assert!(step.reward <= plant.largest_reward());
            plant.step(&mut state, &[0.0]);
        }
    }
}

/// Lanes with random states around the plant's interesting region and random actions.
fn random_lanes(plant: PlantKind, count: usize) -> Lanes {
    let (states, force): (&[[f64; 2]], f64) = match plant {
        PlantKind::MountainCar => (&[[-1.3, 0.65], [-3.0, 3.0]], 1.0),
        PlantKind::TextbookMountainCar => (&[[-1.2, 0.65], [-0.07, 0.07]], 1.0),
        PlantKind::CartPoleBalancing => (&[[-0.75, 0.75], [-3.0, 3.0], [-2.5, 2.5], [-3.0, 3.0]], 10.0),
        PlantKind::CartPoleSwingUp => (&[[-3.2, 3.2], [-15.0, 15.0], [-10.0, 10.0], [-10.0, 10.0]], 30.0),
    };
    let stream = Stream::new(5, Purpose::TestStart);
    let mut lanes = Lanes::new(plant.state_count(), 1, count);
    lanes.set_live(count);
    for (variable, range) in states.iter().enumerate() {
        for lane in 0..count {
            lanes.state_mut(variable)[lane] = stream.within(range[0], range[1], 0, lane as u32, variable as u32) as f32;
        }
    }
    for lane in 0..count {
        lanes.action_mut(0)[lane] = stream.within(-force, force, 1, lane as u32, 0) as f32;
    }
    lanes
}

#[test]
fn lanes_follow_the_truth_step_by_step_at_every_level() {
    for plant in PlantKind::all() {
        let count = 1_000;
        for numerics in [Mode::Fast, Mode::Reproducible].into_iter().flat_map(Numerics::every) {
            let mut lanes = random_lanes(plant, count);
            let (mut worst, mut different) = (0.0f64, 0);
            for _ in 0..50 {
                let before = lanes.clone();
                PlantWorld::new(plant).advance(&mut lanes, numerics);
                for lane in 0..count {
                    let mut truth: Vec<f64> =
                        (0..plant.state_count()).map(|variable| f64::from(before.state(variable)[lane])).collect();
                    let step = plant.step(&mut truth, &[f64::from(before.action(0)[lane])]);
                    // Rounding may decide which side of a limit a state is on; then the two do differ.
                    if (lanes.absorbed()[lane] == 1.0) != step.absorbed
                        || (f64::from(lanes.rewards()[lane]) - step.reward).abs() > 1e-6
                    {
                        different += 1;
                        continue;
                    }
                    for (variable, truth) in truth.iter().enumerate() {
                        let found = f64::from(lanes.state(variable)[lane]);
                        let angle = plant.state_count() == 4 && variable == 0;
                        let error = if angle { wrap_angle(found - truth) } else { found - truth };
                        worst = worst.max(error.abs() / (1.0 + truth.abs()));
                    }
                }
            }
            println!("{} {} {:?}: {worst:e}, {different} different", plant.name(), numerics.name(), numerics.mode);
            assert!(worst < 5e-6, "{} {} {worst:e}", plant.name(), numerics.name());
            assert!(different <= 5, "{} {} {different}", plant.name(), numerics.name());
        }
    }
}

#[test]
fn reproducible_lanes_have_the_same_bits_at_every_level() {
    for plant in PlantKind::all() {
        let walks: Vec<Vec<u32>> = Numerics::every(Mode::Reproducible)
            .into_iter()
            .map(|numerics| {
                let mut lanes = random_lanes(plant, 100);
                for _ in 0..100 {
                    PlantWorld::new(plant).advance(&mut lanes, numerics);
                }
                let columns = (0..plant.state_count()).flat_map(|variable| lanes.state(variable)[..100].to_vec());
                columns.chain(lanes.rewards().to_vec()).map(f32::to_bits).collect()
            })
            .collect();
        assert!(walks.iter().all(|walk| *walk == walks[0]), "{}", plant.name());
    }
}

#[test]
fn lanes_do_not_depend_on_their_neighbours() {
    for plant in PlantKind::all() {
        let numerics = Numerics::detect(Mode::Fast);
        let (mut many, mut few) = (random_lanes(plant, 70), random_lanes(plant, 3));
        for _ in 0..20 {
            PlantWorld::new(plant).advance(&mut many, numerics);
            PlantWorld::new(plant).advance(&mut few, numerics);
        }
        for variable in 0..plant.state_count() {
            assert_eq!(many.state(variable)[..3], few.state(variable)[..3], "{}", plant.name());
        }
    }
}

#[test]
fn lanes_that_are_not_numbers_do_no_harm() {
    for plant in PlantKind::all() {
        for numerics in [Mode::Fast, Mode::Reproducible].into_iter().flat_map(Numerics::every) {
            let mut lanes = random_lanes(plant, 4);
            let untouched = lanes.clone();
            lanes.action_mut(0)[0] = f32::NAN;
            lanes.action_mut(0)[1] = f32::INFINITY;
            lanes.state_mut(0)[2] = f32::NAN;
            PlantWorld::new(plant).advance(&mut lanes, numerics);
            assert!(lanes.rewards().iter().all(|reward| *reward <= 0.0));
            let mut alone = untouched;
            PlantWorld::new(plant).advance(&mut alone, numerics);
            assert_eq!(lanes.state(1)[3], alone.state(1)[3]);
        }
    }
}
