//! Every optimiser on functions whose optimum is known, and on functions that no optimiser likes.

use fpsrl::optimiser::{CmaEs, CmaSettings, Optimiser, RingSettings, RingSwarm, Shade, ShadeSettings};

const N: usize = 8;

fn swarm(low: f64, high: f64, seed: u64) -> RingSwarm {
    let settings = RingSettings {
        particles: 60,
        ring: 1,
        inertia: 0.72981,
        cognitive: 1.49618,
        social: 1.49618,
        velocity_limit: 0.1,
    };
    RingSwarm::new(settings, &[low; N], &[high; N], seed)
}

fn shade(low: f64, high: f64, seed: u64) -> Shade {
    let settings = ShadeSettings { population: 80, fewest: 4, evaluations: 40_000, patience: None };
    Shade::new(settings, &[low; N], &[high; N], seed)
}

fn cma_es(low: f64, high: f64, seed: u64) -> CmaEs {
    let settings =
        CmaSettings { population: 0, first_step: 0.3, tolerance: 1e-12, restarts: true, evaluations: 40_000 };
    CmaEs::new(settings, &[low; N], &[high; N], seed)
}

/// Maximises a function with so many evaluations; the best fitness, and the evaluations it took to reach a goal.
fn maximise<O: Optimiser>(mut optimiser: O, most: usize, goal: f64, fitness: impl Fn(&[f64]) -> f64) -> (f64, usize) {
    let (mut evaluations, mut reached) = (0, usize::MAX);
    while !optimiser.is_finished() && evaluations < most {
        let asked = optimiser.ask().to_vec();
        assert!(!asked.is_empty() && asked.len() == optimiser.to_beat().len());
        let told: Vec<f64> = asked.iter().map(|position| fitness(position)).collect();
        evaluations += told.len();
        optimiser.tell(&told);
        if optimiser.best().1 >= goal {
            reached = reached.min(evaluations);
        }
    }
    let (position, best) = optimiser.best();
    assert!(!best.is_finite() || fitness(position) == best, "the best position does not have the best fitness");
    (best, reached)
}

/// A fixed rotation: Householder's reflection at a vector that lies across all axes, and a cyclic exchange of them.
fn rotated(x: &[f64]) -> Vec<f64> {
    let across: Vec<f64> = (0..x.len()).map(|index| 1.0 + index as f64 / 3.0).collect();
    let square: f64 = across.iter().map(|value| value * value).sum();
    let along: f64 = across.iter().zip(x).map(|(a, b)| a * b).sum::<f64>() / square;
    (0..x.len()).map(|index| (index + 3) % x.len()).map(|index| x[index] - 2.0 * along * across[index]).collect()
}

fn shifted(x: &[f64]) -> Vec<f64> {
    x.iter().enumerate().map(|(index, value)| value - 0.3 * index as f64 + 1.0).collect()
}

fn sphere(x: &[f64]) -> f64 {
    -shifted(x).iter().map(|value| value * value).sum::<f64>()
}

/// A valley a thousand times as long as it is wide, across all axes.
fn ellipsoid(x: &[f64]) -> f64 {
    let turned = rotated(&shifted(x));
    let stretch = |index: usize| 1e6f64.powf(index as f64 / (turned.len() - 1) as f64);
    -turned.iter().enumerate().map(|(index, value)| stretch(index) * value * value).sum::<f64>()
}

/// A curved valley; its optimum is 0 at (1, …, 1).
fn rosenbrock(x: &[f64]) -> f64 {
    -x.windows(2).map(|pair| 100.0 * (pair[1] - pair[0] * pair[0]).powi(2) + (1.0 - pair[0]).powi(2)).sum::<f64>()
}

/// A basin around every whole number.
fn rastrigin(x: &[f64]) -> f64 {
    let wave = |value: f64| value * value - 10.0 * (std::f64::consts::TAU * value).cos() + 10.0;
    -shifted(x).into_iter().map(wave).sum::<f64>()
}

#[test]
fn everyone_finds_the_middle_of_a_bowl() {
    for seed in 1..=3 {
        assert!(maximise(swarm(-5.0, 5.0, seed), 40_000, 0.0, sphere).0 > -1e-6);
        assert!(maximise(shade(-5.0, 5.0, seed), 40_000, 0.0, sphere).0 > -1e-9);
        assert!(maximise(cma_es(-5.0, 5.0, seed), 40_000, 0.0, sphere).0 > -1e-9);
    }
}

#[test]
fn evolution_goes_down_a_valley_across_all_axes_and_the_covariance_does_it_best() {
    for seed in 1..=3 {
        let goal = -1e-8;
        let (_, by_covariance) = maximise(cma_es(-5.0, 5.0, seed), 40_000, goal, ellipsoid);
        // Hansen's own program needs 3,670 to 4,650 evaluations for this (pycma 4, positive weights, seeds 1 to 10).
        assert!((2_500..6_000).contains(&by_covariance), "seed {seed}: {by_covariance}");
        let (best, _) = maximise(shade(-5.0, 5.0, seed), 40_000, goal, ellipsoid);
        assert!(best > -1e-3, "seed {seed}: {best}");
    }
}

#[test]
fn a_curved_valley_is_followed_to_its_end() {
    for seed in 1..=3 {
        assert!(maximise(cma_es(-5.0, 5.0, seed), 40_000, 0.0, rosenbrock).0 > -1e-6);
        assert!(maximise(shade(-5.0, 5.0, seed), 40_000, 0.0, rosenbrock).0 > -1.0);
    }
}

#[test]
fn among_many_basins_differential_evolution_finds_the_deepest() {
    for seed in 1..=3 {
        let settings = ShadeSettings { population: 100, fewest: 4, evaluations: 80_000, patience: None };
        let shade = Shade::new(settings, &[-5.0; N], &[5.0; N], seed);
        let (best, _) = maximise(shade, 100_000, 0.0, rastrigin);
        assert!(best > -1e-6, "seed {seed}: {best}");
        // Restarts with larger populations come near it.
        let settings =
            CmaSettings { population: 0, first_step: 0.3, tolerance: 1e-9, restarts: true, evaluations: 150_000 };
        let cma = CmaEs::new(settings, &[-5.0; N], &[5.0; N], seed);
        let (best, _) = maximise(cma, 200_000, 0.0, rastrigin);
        assert!(best > -4.0, "seed {seed}: {best}");
    }
}

#[test]
fn an_optimum_on_the_bounds_is_reached_and_no_bound_is_crossed() {
    let fitness = |x: &[f64]| {
        assert!(x.iter().all(|value| (-2.0..=3.0).contains(value)), "{x:?}");
        x.iter().sum::<f64>()
    };
    let most = 3.0 * N as f64;
    assert!(maximise(swarm(-2.0, 3.0, 1), 20_000, most, fitness).0 > most - 1e-6);
    assert!(maximise(shade(-2.0, 3.0, 1), 40_000, most, fitness).0 > most - 1e-3);
    assert!(maximise(cma_es(-2.0, 3.0, 1), 40_000, most, fitness).0 > most - 1e-6);
}

#[test]
fn a_fitness_that_is_not_a_number_for_some_or_nothing_for_most_does_not_stop_the_search() {
    let holes = |x: &[f64]| if (x[0] * 3.0).sin() > 0.8 { f64::NAN } else { sphere(x) };
    let island = |x: &[f64]| if x.iter().map(|v| v * v).sum::<f64>() > 60.0 { f64::NEG_INFINITY } else { sphere(x) };
    for seed in 1..=2 {
        for fitness in [&holes as &dyn Fn(&[f64]) -> f64, &island] {
            assert!(maximise(swarm(-5.0, 5.0, seed), 20_000, 0.0, fitness).0 > -0.5);
            assert!(maximise(shade(-5.0, 5.0, seed), 20_000, 0.0, fitness).0 > -0.5);
            assert!(maximise(cma_es(-5.0, 5.0, seed), 20_000, 0.0, fitness).0 > -0.5);
        }
    }
}

#[test]
fn a_constant_fitness_ends_as_any_other_does() {
    for value in [0.0, f64::NAN, f64::NEG_INFINITY, f64::INFINITY] {
        let constant = |_: &[f64]| value;
        let known = if value.is_finite() { value } else { f64::NEG_INFINITY };
        assert_eq!(maximise(shade(-5.0, 5.0, 1), 50_000, 1.0, constant).0, known);
        assert_eq!(maximise(cma_es(-5.0, 5.0, 1), 50_000, 1.0, constant).0, known);
    }
    assert_eq!(maximise(swarm(-5.0, 5.0, 1), 5_000, 1.0, |_: &[f64]| 2.0).0, 2.0);
}

/// What cannot change anything may be told as -∞: all that moves stays the same to the last bit.
#[test]
fn what_need_not_be_known_changes_nothing() {
    fn check<O: Optimiser<State: PartialEq + std::fmt::Debug>>(mut full: O, mut pruned: O) {
        let mut hidden = 0;
        for _ in 0..300 {
            let told: Vec<f64> = full.ask().iter().map(|x| rastrigin(x)).collect();
            full.tell(&told);
            let asked = pruned.ask().to_vec();
            let told: Vec<f64> = asked
                .iter()
                .zip(pruned.to_beat())
                .map(|(x, bar)| Some(rastrigin(x)).filter(|value| value > bar).unwrap_or(f64::NEG_INFINITY))
                .collect();
            hidden += told.iter().filter(|value| value.is_infinite()).count();
            pruned.tell(&told);
            if full.is_finished() {
                break;
            }
        }
        assert!(hidden > 100, "{hidden}");
        assert_eq!(full.best(), pruned.best());
        assert_eq!(full.is_finished(), pruned.is_finished());
    }
    check(swarm(-5.0, 5.0, 1), swarm(-5.0, 5.0, 1));
    check(shade(-5.0, 5.0, 1), shade(-5.0, 5.0, 1));
    check(cma_es(-5.0, 5.0, 1), cma_es(-5.0, 5.0, 1));
}

#[test]
fn a_direction_that_collapses_leaves_finite_numbers() {
    // Two parameters that do nothing, two that must be the same to the last digits, one that counts a billion times as much.
    let flat = |x: &[f64]| -1e9 * (x[0] - x[1]).powi(2) - 1e9 * x[2].powi(2) - x[3].abs();
    let mut search = cma_es(-5.0, 5.0, 1);
    for _ in 0..3_000 {
        let asked = search.ask().to_vec();
        assert!(asked.iter().flatten().all(|value| value.is_finite()));
        let told: Vec<f64> = asked.iter().map(|x| flat(x)).collect();
        search.tell(&told);
    }
    let state = serde_json::to_string(search.state()).unwrap();
    assert!(!state.contains("NaN") && search.best().1 > -1e-3, "{}", search.best().1);
}
