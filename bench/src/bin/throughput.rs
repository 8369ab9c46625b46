//! Model steps per second of one core: policy, four dynamics networks and the reward network of the swing-up.
//!
//! `throughput [START_STATES] [LAYERS] [NEURONS]`

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
    let starts = StartStates::from_rows(&swing_up_starts(count));
    for mode in [Mode::Fast, Mode::Reproducible] {
        for numerics in Numerics::every(mode) {
            let fitness = FitnessFunction::new(&world, &starts, 500, 0.994015, numerics);
            let mut workspace = fitness.workspace();
            let mut best = 0.0f64;
            for repeat in 0..5 {
                let kernel = FuzzyKernel::new(&swing_up_policy(repeat));
                let began = Instant::now();
                let result = fitness.fitness(&kernel, f64::NEG_INFINITY, &mut workspace);
                best = best.max(result.model_steps as f64 / began.elapsed().as_secs_f64());
            }
            println!("{:>12} {mode:?}: {:.2} million model steps a second", numerics.name(), best / 1e6);
        }
    }
}
