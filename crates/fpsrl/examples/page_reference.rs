//! What the report's script is compared with: policies with actions, worlds with steps and rollouts, computed here.
//!
//! `cargo run -p fpsrl --example page_reference -- reference.json`, then
//! `FPSRL_REFERENCE=reference.json node --test web/tests/`.

use std::error::Error;
use std::fs;

use fpsrl::data::Transitions;
use fpsrl::data::generate::generate;
use fpsrl::explain::Roller;
use fpsrl::policy::{ActionRules, FuzzyKernel, FuzzyPolicy, Quantity, Rule, RuleSpace};
use fpsrl::problem::{Problem, WrittenProblem};
use fpsrl::progress::Progress;
use fpsrl::random::{Purpose, Stream};
use fpsrl::report::page_world;
use fpsrl::run::DataReport;
use fpsrl::simd::{Mode, Numerics};
use fpsrl::world::NetworkWorld;
use fpsrl::world::fit::fit;
use serde_json::{Value, json};

const POLICIES: u32 = 100;
const STATES: u32 = 110;
const STEPS: u32 = 1_500;
const ROLLOUTS: u32 = 20;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: page_reference FILE")?;
    let policies: Vec<Value> = (0..POLICIES).map(policy).collect();
    let worlds = [
        world("mountain-car", 2_000)?,
        world("cart-pole-balancing", 4_000)?,
        world("cart-pole-swing-up", 1_000)?,
        tank("rate = 0.15")?,
        tank("change = true\nchange_limits = [-0.3, 0.3]")?,
    ];
    fs::write(path, serde_json::to_string(&json!({ "policies": policies, "worlds": worlds }))?)?;
    Ok(())
}

/// A number between two others whose magnitude may be any.
fn wild(stream: &Stream, low: f64, high: f64, iteration: u32, particle: u32, dimension: u32) -> f64 {
    10f64.powf(stream.within(low, high, iteration, particle, dimension))
}

/// A policy, every other one with parameters that no search would find, and its actions in many states.
fn policy(index: u32) -> Value {
    let stream = Stream::new(u64::from(index), Purpose::SwarmStart);
    let extreme = index % 2 == 1;
    let states = 1 + index as usize % 10;
    let number = |kind: u32, rule: u32, variable: u32| stream.within(-3.0, 3.0, kind, rule, variable);
    let rule = |rule: u32| Rule {
        centre: (0..states as u32)
            .map(|v| number(0, rule, v) * if extreme { wild(&stream, -9.0, 9.0, 1, rule, v) } else { 1.0 })
            .collect(),
        width: (0..states as u32)
            .map(
                |v| if extreme { wild(&stream, -12.0, 18.0, 2, rule, v) } else { wild(&stream, -1.0, 1.0, 2, rule, v) },
            )
            .collect(),
        output: stream.within(-1.0, 1.0, 3, rule, 0),
    };
    let action = |action: u32| ActionRules {
        name: format!("action {action}"),
        unit: String::new(),
        limits: [-2.0 - f64::from(action), 3.0],
        rate: None,
        alpha: if extreme { wild(&stream, -3.0, 6.0, 4, action, 0) } else { 20.0 * stream.uniform(4, action, 0) },
        rules: (0..1 + index % 8).map(|one| rule(100 * action + one)).collect(),
    };
    let policy = FuzzyPolicy {
        // Some of them angles, whose values are turns away from the centres.
        states: (0..states)
            .map(|s| Quantity {
                periodic: (index as usize + s).is_multiple_of(4),
                ..Quantity::new(format!("s{s}"), "")
            })
            .collect(),
        mirrored: false,
        actions: (0..1 + index % 3).map(action).collect(),
    };
    let rows: Vec<Vec<f64>> = (0..STATES)
        .map(|row| {
            let reach = if extreme && row % 3 == 0 { wild(&stream, -9.0, 150.0, 5, row, 0) } else { 1.5 };
            (0..states as u32).map(|variable| reach * number(6, row, variable)).collect()
        })
        .collect();
    let actions: Vec<Vec<f64>> = rows.iter().map(|state| policy.act(state)).collect();
    json!({ "policy": policy, "states": rows, "actions": actions })
}

/// A learned world with steps from everywhere, and rollouts of a policy.
fn world(name: &str, samples: usize) -> Result<Value, Box<dyn Error>> {
    let mut problem = Problem::benchmark(name)?;
    problem.data.samples = samples;
    problem.world.epochs = 15;
    // The page computes networks; other models come with their trajectories.
    problem.world.kind = fpsrl::problem::WorldKind::Ensemble;
    let log = generate(&problem.system, &problem.data, &Progress::silent())?;
    reference(problem, &log)
}

/// A tank whose valve acts two steps later, cannot jump, and is remembered.
fn tank(action: &str) -> Result<Value, Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let stream = Stream::new(3, Purpose::LogAction);
    let mut text = "run,level,valve,reward\n".to_owned();
    for episode in 0..20 {
        let (mut level, mut pipe) = (stream.within(0.0, 2.0, episode, 0, 0), vec![0.5; 2]);
        for step in 0..40 {
            let valve = stream.within(0.0, 1.0, episode, step / 3, 1);
            text += &format!("{episode},{level:?},{valve:?},{:?}\n", -f64::abs(level - 1.0));
            pipe.push(valve);
            level = 0.95 * level + 0.3 * (pipe.remove(0) - 0.5) + 0.05;
        }
    }
    fs::write(directory.path().join("log.csv"), text)?;
    let path = directory.path().join("problem.toml");
    let problem = format!(
        "horizon = 40\n[[state]]\nname = 'level'\n[[action]]\nname = 'valve'\nlimits = [0.0, 1.0]\n{action}\n[data]\n\
         file = 'log.csv'\nepisode = 'run'\nreward = 'reward'\nhistory = 3\n[world]\nkind = 'ensemble'\nepochs = 15\n\
         [policy]\nlags = 1\n"
    );
    fs::write(&path, problem)?;
    let (problem, imported) = DataReport::import(&WrittenProblem::read(&path)?.check()?, &Progress::silent())?;
    reference(problem, &imported.transitions)
}

/// What a problem's world does.
fn reference(mut problem: Problem, log: &Transitions) -> Result<Value, Box<dyn Error>> {
    let model = fit(&problem.system, &problem.world, log, &Progress::silent())?;
    let stream = Stream::new(7, Purpose::TestStart);
    let row = |row: u32| -> (Vec<f64>, Vec<f64>) {
        let pick = stream.within(0.0, log.len() as f64, 0, row, 0) as usize;
        let jitter = |value: f64, variable: usize| value * stream.within(0.8, 1.25, 1, row, variable as u32);
        let state = log.states.iter().enumerate().map(|(v, column)| jitter(column[pick], v)).collect();
        (state, log.actions.iter().map(|column| column[pick]).collect())
    };
    let steps: Vec<Value> = (0..STEPS)
        .map(|index| {
            let (state, action) = row(index);
            let (next, reward) = model.step(&state, &action);
            let later = model.absorbed(&state, &action, &next).map(|(_, later)| later);
            json!({ "state": state, "action": action, "next": next, "reward": reward, "later": later })
        })
        .collect();
    let space = RuleSpace::new(&problem.system, &problem.policy, log);
    let position: Vec<f64> = (space.low().iter().zip(space.high()).enumerate())
        .map(|(index, (low, high))| stream.within(*low, *high, 2, 0, index as u32))
        .collect();
    let policy = space.decode(&position);
    // Short enough that single precision on one side does not matter.
    problem.system = problem.system.with_horizon(40)?;
    let (lanes, kernel) = (NetworkWorld::new(&model)?, FuzzyKernel::new(&policy));
    let roller = Roller::new(&problem.system, &lanes, &kernel, Numerics::detect(Mode::Fast));
    let starts: Vec<Vec<f64>> = (0..ROLLOUTS)
        .map(|index| {
            let range = |(variable, state): (usize, &fpsrl::problem::StateVariable)| {
                stream.within(state.start[0], state.start[1], 3, index, variable as u32)
            };
            problem.system.states().iter().enumerate().map(range).collect()
        })
        .collect();
    let rollouts: Vec<Value> = starts
        .iter()
        .zip(roller.trajectories(&starts))
        .map(|(start, found)| json!({ "start": start, "value": found.value, "steps": found.actions.len() }))
        .collect();
    Ok(json!({
        "world": page_world(&model),
        "policy": policy,
        "horizon": problem.system.horizon(),
        "discount": problem.system.discount(),
        "steps": steps,
        "rollouts": rollouts,
    }))
}
