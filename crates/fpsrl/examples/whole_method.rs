//! The whole method in a few lines of the library: log, world model, search, evaluation.
//!
//!     cargo run --release -p fpsrl --example whole_method -- mountain-car

use fpsrl::data::generate::generate;
use fpsrl::explain::sentences;
use fpsrl::policy::FuzzyKernel;
use fpsrl::problem::{Effort, Problem};
use fpsrl::progress::Silent;
use fpsrl::search::race::Race;
use fpsrl::search::{Search, SearchOptions, methods, true_returns, world_returns};
use fpsrl::world::NetworkWorld;
use fpsrl::world::fit::fit;

fn main() -> fpsrl::Result<()> {
    let name = std::env::args().nth(1).unwrap_or_else(|| "mountain-car".into());
    let mut problem = Problem::benchmark(&name)?;
    problem.search.effort = Effort::Quick;

    let transitions = generate(&problem.system, &problem.data, &Silent)?;
    let model = fit(&problem.system, &problem.world, &transitions, &Silent)?;
    for part in model.variables.iter().chain([&model.reward]) {
        println!("{:>10}: error {:.2e} with {} layers", part.name, part.generalisation_error, part.layers);
    }

    let world = NetworkWorld::new(&model)?;
    let space = methods::space(&problem.system, &problem.policy, &problem.search, &transitions);
    let options = SearchOptions::of(&problem.search, true);
    let mut search = Search::<Race, _>::begin(&problem.system, &problem.search, &space, vec![&world], options);
    search.run(&Silent, |_| Ok(()))?;
    let (policy, promised) = search.best();
    sentences(&policy).iter().for_each(|sentence| println!("{sentence}"));

    let mean = |returns: &[f64]| returns.iter().sum::<f64>() / returns.len() as f64;
    let starts = problem.evaluation_starts();
    let modelled = mean(&world_returns(&problem.system, &world, &FuzzyKernel::new(&policy), &starts, options.numerics));
    println!("promised {promised:.2}, from other start states {modelled:.2}");
    if let Some(plant) = problem.system.plant() {
        println!(
            "on the true plant {:.2}",
            mean(&true_returns(&problem.system, plant, |state| policy.act(state), &starts))
        );
    }
    Ok(())
}
