//! Compares what can stand for a learned quantity: networks, Gaussian processes, a forest, a single tree.
//!
//!     cargo run --release -p fpsrl-bench --bin compare_worlds -- [problem] [samples] [seed] [no-networks]
//!
//! Errors are mean squared errors over variances on rows that no training saw, of the rows that move: absorbing ones are
//! left out. In brackets the same computed on lanes, in f32. The last lines say what a step of one lane costs, with all
//! quantities of that kind, and how long the fit took.

use std::time::Instant;

use fpsrl::angle::wrap_angle;
use fpsrl::data::Transitions;
use fpsrl::data::absorbing::rewards_from_then_on;
use fpsrl::data::generate::generate;
use fpsrl::data::split::Split;
use fpsrl::problem::{Problem, WorldKind};
use fpsrl::progress::Progress;
use fpsrl::rollout::Lanes;
use fpsrl::simd::{Mode, Numerics};
use fpsrl::world::fit::fit;
use fpsrl::world::forest::{self, Forest};
use fpsrl::world::gaussian_process::{self, GaussianProcess};
use fpsrl::world::model::{VariableModel, WorldModel};
use fpsrl::world::predictor::Predictor;
use fpsrl::world::{NetworkWorld, World};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |index: usize| arguments.get(index).map(String::as_str);
    let mut problem = Problem::benchmark(argument(0).unwrap_or("mountain-car"))?;
    problem.system = problem.system.with_seed(argument(2).unwrap_or("1").parse()?)?;
    problem.world.kind = WorldKind::Mlp;
    problem.world.mirror = false;
    if let Some(samples) = argument(1) {
        problem.data.samples = samples.parse()?;
    }
    if argument(3).is_some() {
        problem.world.epochs = 1;
        problem.world.restarts = 1;
    }
    let log = generate(&problem.system, &problem.data, &Progress::silent())?;
    let later = rewards_from_then_on(&log);
    let moving: Vec<usize> = (0..log.len()).filter(|&row| later[row].is_none()).collect();
    let rows = log.rows(&moving);
    let split = Split::new(rows.len(), problem.system.seed())?;
    println!(
        "{}, {} samples, {} of them move, seed {}",
        problem.system.name(),
        log.len(),
        rows.len(),
        problem.system.seed()
    );
    let begin = Instant::now();
    let networks = fit(&problem.system, &problem.world, &log, &Progress::silent())?;
    report("networks", &networks, &rows, &split.generalisation, begin.elapsed().as_secs_f64())?;
    let exact = gaussian_process::Options::default();
    let sparse = gaussian_process::Options { exact_rows: 256, ..exact };
    type Learn<'a> = Box<dyn Fn(&[Vec<f64>], &[f64]) -> Predictor + 'a>;
    let process = |options: gaussian_process::Options| -> Learn<'_> {
        let (rows, seed) = (&split.training, problem.system.seed());
        Box::new(move |x, y| Predictor::GaussianProcess(Box::new(GaussianProcess::fit(x, y, rows, &options, seed))))
    };
    let trees = |options: forest::Options| -> Learn<'_> {
        let (rows, seed) = (&split.training, problem.system.seed());
        Box::new(move |x, y| Predictor::Forest(Forest::fit(x, y, rows, &options, seed)))
    };
    let mut kinds: Vec<(&str, Learn<'_>)> = Vec::new();
    if split.training.len() <= exact.exact_rows {
        kinds.push(("process, every row a centre", process(exact)));
    }
    if split.training.len() > sparse.exact_rows {
        kinds.push(("process, 256 centres", process(sparse)));
    }
    kinds.push(("forest", trees(forest::Options::default())));
    kinds.push(("single tree", trees(forest::Options::single_tree())));
    for (name, learn) in kinds {
        let begin = Instant::now();
        let mut world = networks.clone();
        for quantity in 0..=problem.system.states().len() {
            let part = world.variables.get_mut(quantity).unwrap_or(&mut world.reward);
            let inputs: Vec<Vec<f64>> = columns(&rows)
                .zip(&part.inputs)
                .map(|(column, scale)| column.iter().map(|&value| scale.apply(value)).collect())
                .collect();
            let targets: Vec<f64> =
                truth(&rows, quantity, part).iter().map(|&value| part.output.apply(value)).collect();
            part.predictor = learn(&inputs, &targets);
        }
        report(name, &world, &rows, &split.generalisation, begin.elapsed().as_secs_f64())?;
    }
    Ok(())
}

/// State, action, next state.
fn columns(rows: &Transitions) -> impl Iterator<Item = &Vec<f64>> {
    rows.states.iter().chain(&rows.actions).chain(&rows.next_states)
}

/// What is to be predicted: changes of the states, or the reward.
fn truth(rows: &Transitions, quantity: usize, part: &VariableModel) -> Vec<f64> {
    if quantity < rows.states.len() { rows.difference(quantity, part.angle) } else { rows.rewards.clone() }
}

fn report(
    name: &str,
    world: &WorldModel,
    rows: &Transitions,
    unseen: &[usize],
    seconds: f64,
) -> Result<(), Box<dyn std::error::Error>> {
    println!("  {name}");
    let on_lanes = NetworkWorld::new(world)?;
    let states = rows.states.len();
    let mut lanes = Lanes::new(states, rows.actions.len(), unseen.len());
    lanes.set_live(unseen.len());
    for (lane, &row) in unseen.iter().enumerate() {
        (0..states).for_each(|state| lanes.state_mut(state)[lane] = rows.states[state][row] as f32);
        (0..rows.actions.len()).for_each(|action| lanes.action_mut(action)[lane] = rows.actions[action][row] as f32);
    }
    let before = lanes.clone();
    let numerics = Numerics::detect(Mode::Fast);
    on_lanes.advance(&mut lanes, numerics);
    for (quantity, part) in world.variables.iter().chain([&world.reward]).enumerate() {
        let truth = truth(rows, quantity, part);
        let (mut plain, mut fast) = (0.0, 0.0);
        for (lane, &row) in unseen.iter().enumerate() {
            let predicted = part.predict(columns(rows).map(|column| column[row]));
            plain += ((predicted - truth[row]) / part.output.spread).powi(2) / unseen.len() as f64;
            if quantity < states {
                let moved = f64::from(lanes.state(quantity)[lane]) - f64::from(before.state(quantity)[lane]);
                let moved = if part.angle { wrap_angle(moved) } else { moved };
                fast += ((moved - truth[row]) / part.output.spread).powi(2) / unseen.len() as f64;
            }
        }
        let fast = if quantity < states { format!("({fast:.1e})") } else { String::new() };
        let size = match &part.predictor {
            Predictor::Network(network) => format!("{} layers", network.depth()),
            Predictor::Carried(_) => "carried along".into(),
            Predictor::Given(_) => "given".into(),
            Predictor::GaussianProcess(process) => {
                format!("{} centres, noise {:.0e}", process.centres.len(), process.covariance.noise)
            }
            Predictor::Forest(forest) => format!("{} leaves", forest.trees[0].leaves()),
        };
        println!("    {:>10}  {plain:.1e} {fast:<10} {size}", part.name);
    }
    // The least of a few, because other programs only ever make it longer.
    let count = 512;
    let mut lanes = Lanes::new(states, rows.actions.len(), count);
    let mut least = f64::INFINITY;
    for _ in 0..20 {
        lanes.set_live(count);
        for lane in 0..count {
            (0..states).for_each(|state| lanes.state_mut(state)[lane] = before.state(state)[lane % unseen.len()]);
        }
        let begin = Instant::now();
        on_lanes.advance(&mut lanes, numerics);
        least = least.min(begin.elapsed().as_secs_f64());
    }
    println!("    {:.1} ns for a lane's step ({numerics}), fitted in {seconds:.1} s", 1e9 * least / count as f64);
    Ok(())
}
