//! Compares the trainers of the world model on a benchmark: errors of every quantity and depth, and seconds.
//!
//!     cargo run --release -p fpsrl-bench --bin compare_trainers -- [problem] [samples] [seeds] [trainer] [epochs] [restarts]
//!
//! Without arguments: `mountain-car`, its own number of samples, one seed, all three trainers with their default epochs,
//! and the problem's restarts. The errors are mean squared errors over variances on the generalisation rows; the last
//! column counts how often the learned reward is on the wrong side on fresh transitions around the start states.

use std::time::Instant;

use fpsrl::data::generate::generate;
use fpsrl::problem::Problem;
use fpsrl::progress::Progress;
use fpsrl::random::{Purpose, Stream};
use fpsrl::world::fit::fit;
use fpsrl::world::model::WorldModel;
use fpsrl::world::training::Trainer;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |index: usize| arguments.get(index).map(String::as_str);
    let name = argument(0).unwrap_or("mountain-car");
    let seeds: u64 = argument(2).unwrap_or("1").parse()?;
    let trainers = match argument(3) {
        None | Some("all") => vec![Trainer::LevenbergMarquardt, Trainer::VarioEta, Trainer::Adam],
        Some("levenberg-marquardt") => vec![Trainer::LevenbergMarquardt],
        Some("vario-eta") => vec![Trainer::VarioEta],
        Some("adam") => vec![Trainer::Adam],
        Some(other) => return Err(format!("there is no trainer called `{other}`").into()),
    };
    for trainer in trainers {
        for seed in 1..=seeds {
            let mut problem = Problem::benchmark(name)?;
            problem.system = problem.system.with_seed(seed)?;
            problem.world.trainer = trainer;
            problem.world.epochs = trainer.default_epochs();
            if let Some(samples) = argument(1) {
                problem.data.samples = samples.parse()?;
            }
            if let Some(epochs) = argument(4) {
                problem.world.epochs = epochs.parse()?;
            }
            if let Some(restarts) = argument(5) {
                problem.world.restarts = restarts.parse()?;
            }
            let log = generate(&problem.system, &problem.data, &Progress::silent())?;
            let begin = Instant::now();
            let model = fit(&problem.system, &problem.world, &log, &Progress::silent())?;
            let seconds = begin.elapsed().as_secs_f64();
            println!("{name}, {} samples, seed {seed}, {trainer:?}: {seconds:.1} s", log.len());
            for quantity in model.variables.iter().chain([&model.reward]) {
                print!("  {:>14}", quantity.name);
                for depth in &quantity.depths {
                    let mark = if Some(depth.layers) == quantity.predictor.layers() { '*' } else { ' ' };
                    print!(
                        "  {:.1e} ({:.0e}, {:3} epochs){mark}",
                        depth.generalisation_error, depth.validation_error, depth.epochs
                    );
                }
                println!();
            }
            println!("  reward on the wrong side: {:.2} %", 100.0 * wrong_rewards(&problem, &model)?);
        }
    }
    Ok(())
}

/// How often the learned reward of a true transition is off by more than half of the smallest difference between
/// rewards, over states up to twice as far out as the start states.
fn wrong_rewards(problem: &Problem, model: &WorldModel) -> Result<f64, Box<dyn std::error::Error>> {
    let plant = problem.system.plant().ok_or("the problem has no plant")?;
    let stream = Stream::new(problem.system.seed(), Purpose::TestStart);
    let tolerance = if problem.system.name().contains("balancing") { 0.05 } else { 0.5 };
    let count = 20_000;
    let mut wrong = 0;
    for row in 0..count {
        let mut state: Vec<f64> = (0u32..)
            .zip(problem.system.states())
            .map(|(index, variable)| {
                let [low, high] = variable.start;
                // A variable that starts at rest moves.
                let [low, high] = if low == high { [low - 3.0, high + 3.0] } else { [1.5 * low, 1.5 * high] };
                stream.within(low, high, 1, row, index)
            })
            .collect();
        let action: Vec<f64> = (10u32..)
            .zip(problem.system.actions())
            .map(|(index, action)| stream.within(action.limits[0], action.limits[1], 1, row, index))
            .collect();
        let before = state.clone();
        let step = plant.step(&mut state, &action);
        if (model.reward(&before, &action, &state) - step.reward).abs() > tolerance {
            wrong += 1;
        }
    }
    Ok(f64::from(wrong) / f64::from(count))
}
