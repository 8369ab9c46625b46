//! Compares what can stand for a learned quantity: networks, a Gaussian process, a forest, a single tree.
//!
//!     cargo run --release --example compare_worlds -- [problem] [samples] [seeds] [exact rows] [no-networks]
//!
//! Errors are mean squared errors over variances on the generalisation rows, of the rows that move: absorbing ones are
//! left out. Behind each error stand the seconds that the fit took.

use std::time::Instant;

use fpsrl::data::absorbing::rewards_from_then_on;
use fpsrl::data::generate::generate;
use fpsrl::data::scaling::Scale;
use fpsrl::data::split::Split;
use fpsrl::problem::Problem;
use fpsrl::progress::Silent;
use fpsrl::world::fit::fit;
use fpsrl::world::forest::{self, Forest};
use fpsrl::world::gaussian_process::{self, GaussianProcess};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |index: usize| arguments.get(index).map(String::as_str);
    let name = argument(0).unwrap_or("mountain-car");
    let seeds: u64 = argument(2).unwrap_or("1").parse()?;
    for seed in 1..=seeds {
        let mut problem = Problem::benchmark(name)?;
        problem.seed = seed;
        if let Some(samples) = argument(1) {
            problem.data.samples = samples.parse()?;
        }
        let log = generate(&problem, &Silent)?;
        let later = rewards_from_then_on(&log);
        let moving: Vec<usize> = (0..log.len()).filter(|&row| later[row].is_none()).collect();
        let rows = log.rows(&moving);
        let split = Split::new(rows.len(), problem.seed)?;
        println!("{name}, {} samples, {} of them move, seed {seed}", log.len(), rows.len());
        let networks = match argument(4) {
            Some(_) => None,
            None => {
                let begin = Instant::now();
                let model = fit(&problem, &log, &Silent)?;
                println!("  networks: {:.1} s for all", begin.elapsed().as_secs_f64());
                Some(model)
            }
        };
        let scaled = |column: &Vec<f64>| {
            let scale = Scale::robust(column);
            column.iter().map(|&value| scale.apply(value)).collect::<Vec<f64>>()
        };
        let columns: Vec<Vec<f64>> =
            rows.states.iter().chain(&rows.actions).chain(&rows.next_states).map(scaled).collect();
        let dynamics = problem.states.len() + problem.actions.len();
        for quantity in 0..=problem.states.len() {
            let state = problem.states.get(quantity);
            let values = state.map_or_else(|| rows.rewards.clone(), |state| rows.difference(quantity, state.angle));
            let inputs = if state.is_some() { &columns[..dynamics] } else { &columns[..] };
            let output = Scale::standard(&values);
            let targets: Vec<f64> = values.iter().map(|&value| output.apply(value)).collect();
            let point = |row: usize| inputs.iter().map(|column| column[row]).collect::<Vec<f64>>();
            let error = |evaluate: &dyn Fn(&[f64]) -> f64| {
                let square = |&row: &usize| (evaluate(&point(row)) - targets[row]).powi(2);
                split.generalisation.iter().map(square).sum::<f64>() / split.generalisation.len() as f64
            };
            print!("  {:>14}", state.map_or("reward", |state| &state.name));
            if let Some(networks) = &networks {
                let part = networks.variables.get(quantity).unwrap_or(&networks.reward);
                print!("  network {:.1e}", part.generalisation_error);
            }
            let begin = Instant::now();
            let mut options = gaussian_process::Options::default();
            if let Some(rows) = argument(3) {
                options.exact_rows = rows.parse()?;
            }
            let process = GaussianProcess::fit(inputs, &targets, &split.training, &options, seed);
            let seconds = begin.elapsed().as_secs_f64();
            let largest = process.coefficients.iter().map(|c| (c * process.covariance.smooth).powi(2)).sum::<f64>();
            print!(
                "  process {:.1e} ({seconds:.1} s, {} centres, coefficients {:.0e}, noise {:.0e})",
                error(&|x| process.evaluate(x)),
                process.centres.len(),
                largest.sqrt(),
                process.covariance.noise,
            );
            for (word, options) in [("forest", forest::Options::default()), ("tree", forest::Options::single_tree())] {
                let begin = Instant::now();
                let forest = Forest::fit(inputs, &targets, &split.training, &options, seed);
                let seconds = begin.elapsed().as_secs_f64();
                print!("  {word} {:.1e} ({seconds:.1} s)", error(&|x| forest.evaluate(x)));
            }
            println!();
        }
    }
    Ok(())
}
