//! The whole method in a few lines: log, world model, search, evaluation.
//!
//! `cargo run --release --example whole_method -- mountain-car`

use fpsrl::data::generate::generate;
use fpsrl::explain::sentences;
use fpsrl::policy::RuleSpace;
use fpsrl::problem::Problem;
use fpsrl::progress::Silent;
use fpsrl::rollout::StartStates;
use fpsrl::search::{Search, SearchOptions, true_returns, world_returns};
use fpsrl::simd::{Mode, Numerics};
use fpsrl::world::NetworkWorld;
use fpsrl::world::fit::fit;
use std::time::Instant;

fn main() -> fpsrl::Result<()> {
    let name = std::env::args().nth(1).unwrap_or_else(|| "mountain-car".into());
    let mut problem = Problem::benchmark(&name)?;
    let number = |key: &str, default: usize| std::env::var(key).ok().and_then(|t| t.parse().ok()).unwrap_or(default);
    problem.seed = number("SEED", 1) as u64;
    problem.data.samples = number("SAMPLES", problem.data.samples);
    problem.search.particles = number("PARTICLES", problem.search.particles);
    problem.search.iterations = number("ITERATIONS", problem.search.iterations);
    problem.search.start_states = number("STARTS", problem.search.start_states);
    let began = Instant::now();
    let transitions = generate(&problem, &Silent)?;
    let model = fit(&problem, &transitions, &Silent)?;
    println!("fit {:.1} s", began.elapsed().as_secs_f64());
    for part in model.variables.iter().chain([&model.reward]) {
        println!("{:>10} {:.2e} ({} layers)", part.name, part.generalisation_error, part.layers);
    }
    let began = Instant::now();
    let world = NetworkWorld::new(&model)?;
    let space = RuleSpace::new(&problem, &transitions);
    let numerics = Numerics::detect(Mode::Fast);
    let options = SearchOptions::of(&problem, number("PRUNE", 1) == 1);
    let mut search = Search::new(&problem, &space, &world, options);
    search.run(&Silent, |search| {
        let record = search.history().last().unwrap();
        if record.iteration % 100 == 0 {
            println!("{:>5} {:8.3} {:8.3} {:>12}", record.iteration, record.best, record.mean, record.model_steps);
        }
        Ok(())
    })?;
    println!("search {:.1} s", began.elapsed().as_secs_f64());
    let (policy, promised) = search.best();
    for sentence in sentences(&policy) {
        println!("{sentence}");
    }
    let mean = |returns: &[f64]| returns.iter().sum::<f64>() / returns.len() as f64;
    let starts = StartStates::for_evaluation(&problem);
    let modelled = mean(&world_returns(&problem, &world, &policy, &starts, numerics));
    let plant = problem.plant.ok_or(fpsrl::Error::Internal("a benchmark has a plant"))?;
    let truth = mean(&true_returns(&problem, plant, &policy, &starts));
    println!("promised {promised:.3}, model {modelled:.3}, plant {truth:.3}");
    Ok(())
}
