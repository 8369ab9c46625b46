//! Model steps per second of one core: policy, four dynamics networks and the reward network of the swing-up.
//!
//! `throughput [START_STATES] [LAYERS] [NEURONS] [best]`; with `best`, only the best instruction set in the fast mode.

use fpsrl::policy::FuzzyKernel;
use fpsrl::rollout::{FitnessFunction, StartStates};
use fpsrl::simd::{Mode, Numerics};
use fpsrl::world::NetworkWorld;
use fpsrl_bench::{swing_up_policy, swing_up_starts, swing_up_world};
use std::time::Instant;

fn main() {
    let argument = |index: usize, default: usize| {
        std::env::args().nth(index).and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let (count, layers, neurons) = (argument(1, 100), argument(2, 3), argument(3, 10));
    let Ok(world) = NetworkWorld::new(&swing_up_world(layers, neurons)) else {
        eprintln!("error: {neurons} neurons are too many");
        std::process::exit(2);
    };
    let only_best = std::env::args().nth(4).is_some_and(|word| word == "best");
    let starts = StartStates::from_rows(&swing_up_starts(count));
    let modes = if only_best { &[Mode::Fast][..] } else { &[Mode::Fast, Mode::Reproducible] };
    for &mode in modes {
        for numerics in Numerics::every(mode).into_iter().rev().take(if only_best { 1 } else { usize::MAX }) {
            let fitness = FitnessFunction::new(&world, &starts, 500, 0.994015, numerics);
            let mut workspace = fitness.workspace();
            // The machine may be busy or throttled for a while: the best of many short runs tells what the code can do.
            let mut rates: Vec<f64> = (0..60)
                .map(|repeat| {
                    let kernel = FuzzyKernel::new(&swing_up_policy(repeat));
                    let began = Instant::now();
                    let result = fitness.fitness(&kernel, f64::NEG_INFINITY, &mut workspace);
                    result.model_steps as f64 / began.elapsed().as_secs_f64() / 1e6
                })
                .collect();
            rates.sort_by(f64::total_cmp);
            let (median, best) = (rates[rates.len() / 2], rates[rates.len() - 1]);
            println!("{numerics}: {best:.2} million model steps a second at best, {median:.2} in the median");
        }
    }
}
