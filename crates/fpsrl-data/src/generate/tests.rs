//! What generated logs look like; the figures are those measured for the paper's benchmarks.

use super::*;
use crate::system::{Surroundings, WrittenAction, WrittenState, WrittenSystem};
use fpsrl_base::progress::Progress;
use std::f64::consts::PI;

fn drawn(plant: PlantKind, samples: usize, episode_length: usize) -> Transitions {
    let system = System::benchmark(plant.name()).unwrap();
    generate(&system, &settings(samples, episode_length), &Progress::silent()).unwrap()
}

fn settings(samples: usize, episode_length: usize) -> DataSettings {
    DataSettings { samples, episode_length, log: None }
}

fn deviation(column: &[f64]) -> f64 {
    let mean = column.iter().sum::<f64>() / column.len() as f64;
    (column.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / column.len() as f64).sqrt()
}

fn share(flags: impl Iterator<Item = bool>) -> f64 {
    let flags: Vec<bool> = flags.collect();
    flags.iter().filter(|flag| **flag).count() as f64 / flags.len() as f64
}

#[test]
fn episodes_hang_together_and_the_last_one_may_be_shorter() {
    let log = drawn(PlantKind::MountainCar, 450, 200);
    assert_eq!(log.len(), 450);
    assert_eq!((log.episode[199], log.step[199]), (0, 199));
    assert_eq!((log.episode[200], log.step[200]), (1, 0));
    assert_eq!((log.episode[449], log.step[449]), (2, 49));
    for row in 0..449 {
        if log.episode[row] == log.episode[row + 1] {
            for variable in 0..2 {
                assert_eq!(log.next_states[variable][row], log.states[variable][row + 1]);
            }
        }
    }
    assert!(log.actions[0].iter().all(|action| (-1.0..=1.0).contains(action)));
    assert!(share(log.actions[0].iter().map(|action| *action > 0.0)) > 0.4);
}

#[test]
fn neither_threads_nor_the_number_of_samples_change_a_row() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let log = drawn(PlantKind::CartPoleSwingUp, 2_000, 500);
    assert_eq!(log, pool.install(|| drawn(PlantKind::CartPoleSwingUp, 2_000, 500)));
    let short = drawn(PlantKind::CartPoleSwingUp, 700, 500);
    assert_eq!(log.states[1][..700], short.states[1]);
    let other = System::benchmark("cart-pole-swing-up").unwrap().with_seed(2).unwrap();
    assert_ne!(log.states[0][0], generate(&other, &settings(2_000, 500), &Progress::silent()).unwrap().states[0][0]);
}

#[test]
fn a_problem_without_a_plant_is_refused() {
    let car = System::benchmark("mountain-car").unwrap();
    let own_log = WrittenSystem {
        name: Some("own".into()),
        horizon: Some(car.horizon()),
        states: car
            .states()
            .iter()
            .map(|state| WrittenState { name: state.name.clone(), start: Some(state.start), ..WrittenState::default() })
            .collect(),
        actions: vec![WrittenAction { name: "force".into(), limits: Some([-1.0, 1.0]), ..WrittenAction::default() }],
        ..WrittenSystem::default()
    };
    let own_log = own_log.check(&Surroundings::default()).unwrap();
    assert!(matches!(generate(&own_log, &settings(10, 10), &Progress::silent()), Err(Error::NoPlant { .. })));
    // A plant has as many variables as it has, and remembers nothing.
    let wrong = car.with_history(1).unwrap();
    let refused = generate(&wrong, &settings(10, 10), &Progress::silent());
    assert!(matches!(refused, Err(Error::Setting { .. })));
    assert!(refused.unwrap_err().to_string().contains("the plant `mountain-car` has 2"));
}

#[test]
fn whoever_asks_to_stop_is_heard() {
    let impatient = Progress::silent();
    impatient.stop().request();
    let system = System::benchmark("mountain-car").unwrap();
    assert!(matches!(generate(&system, &settings(10, 10), &impatient), Err(Error::Stopped { .. })));
}

#[test]
fn swing_up_walks_drift_away_as_measured() {
    let log = drawn(PlantKind::CartPoleSwingUp, 500_000, 500);
    let [_, angular_velocity, position, velocity] = [0, 1, 2, 3].map(|index| deviation(&log.states[index]));
    let farthest = log.states[2].iter().fold(0.0f64, |farthest, position| farthest.max(position.abs()));
    let goal = share(log.rewards.iter().map(|reward| *reward == 0.0));
    println!("σ(θ̇) {angular_velocity}, σ(ρ) {position}, at most {farthest}, σ(ρ̇) {velocity}, goal {goal}");
    assert!((angular_velocity - 7.2).abs() < 0.4);
    assert!((position - 31.0).abs() < 3.0);
    assert!((velocity - 6.1).abs() < 0.4);
    assert!((0.004..0.011).contains(&goal));
    assert!(log.states[0].iter().all(|angle| angle.abs() <= PI));
    // A turn of the pole is no jump of its difference.
    assert!(log.difference(0, true).iter().all(|difference| difference.abs() < PI / 2.0));
}

#[test]
fn balancing_walks_fail_early_and_then_stand_still() {
    let log = drawn(PlantKind::CartPoleBalancing, 100_000, 100);
    let mut failures: Vec<usize> = log
        .rewards
        .chunks(100)
        .map(|rewards| rewards.iter().position(|reward| *reward == -1.0).map_or(101, |step| step + 1))
        .collect();
    failures.sort_unstable();
    let frozen =
        share((0..log.len()).map(|row| (0..4).all(|index| log.states[index][row] == log.next_states[index][row])));
    let survivors = failures.iter().filter(|step| **step > 100).count();
    println!("median {}, last {}, {survivors} survive, frozen {frozen}", failures[500], failures[999]);
    assert!((13..=15).contains(&failures[500]));
    // The mean failure is later than the median one, so that fewer rows than 86 in 100 stand still.
    assert!((frozen - 0.84).abs() < 0.015);
}

#[test]
fn few_mountain_car_walks_reach_the_goal() {
    let log = drawn(PlantKind::MountainCar, 400_000, 200);
    let reached = share(log.rewards.chunks(200).map(|rewards| rewards[199] == 0.0));
    let lowest = log.states[0].iter().copied().fold(f64::INFINITY, f64::min);
    let highest = log.next_states[0].iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let fastest = log.states[1].iter().fold(0.0f64, |fastest, velocity| fastest.max(velocity.abs()));
    println!("{reached} reach the goal, position {lowest} … {highest}, velocity at most {fastest}");
    assert!((reached - 0.07).abs() < 0.03);
    assert!(lowest > -1.4 && highest < 0.75 && fastest < 3.9);
}
