//! Formulas, simulators, and policies that act: what computes with whatever it is given.

use fpsrl::formula::{Formula, Kind, names};
use fpsrl::policy::{FuzzyKernel, FuzzyPolicy, Policy};
use fpsrl::rollout::Lanes;
use fpsrl::simd::{Mode, Numerics};
use fpsrl::world::World;
use fpsrl::world::process::ProcessWorld;
use fpsrl::world::simulator::Simulator;
use fpsrl::{Error, files};

use super::{Target, Trouble};
use crate::input::Input;
use crate::place::Place;
use crate::seeds::rules;

/// Numbers that a plant does not have.
const HOSTILE: [f64; 8] = [0.0, -0.0, 1e308, -1e308, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 5e-324];

/// Formulas: parsed, and computed on one row, on lanes and on ranges.
pub(super) const FORMULA: Target = Target {
    name: "formula",
    reads: "rewards, terminal conditions and costs",
    share: 75.0,
    short: 1_500,
    seeds: |_| Ok(rules::formulas()),
    run: formula,
};

fn formula(input: &Input, _: &mut Place) -> Result<(), Trouble> {
    let text = String::from_utf8_lossy(&input.bytes);
    let known = ["level", "speed", "wanted"].map(str::to_owned);
    let names = names(&known, &["valve".to_owned()]);
    let parsed = match Formula::parse(&text, &names, Kind::Number) {
        Err(_) => Formula::parse(&text, &names, Kind::Truth),
        parsed => parsed,
    };
    let formula = parsed.map_err(|error| {
        let (problem, remedy) = (error.to_string(), "correct it".into());
        Error::Malformed { path: input.name.clone().into(), line: None, column: None, problem, remedy }
    })?;
    let ordinary = [0.5, -1.0, 0.25, 2.0, 3.0, 0.1, -0.2];
    let ranges: Vec<[f64; 2]> = names.iter().enumerate().map(|(index, _)| [-3.0, 3.0 + index as f64]).collect();
    let [low, high] = formula.range(&ranges);
    let values: Vec<f64> = (0..names.len()).map(|index| ordinary[index % ordinary.len()]).collect();
    let value = formula.evaluate(&values);
    let room = 1e-9 * (1.0 + value.abs());
    if value.is_finite() && (value < low - room || value > high + room) {
        return Err(Trouble::Wrong(format!("{value} is not in the range {low} to {high}")));
    }
    for shift in 0..HOSTILE.len() {
        let row: Vec<f64> = (0..names.len()).map(|index| HOSTILE[(index + shift) % HOSTILE.len()]).collect();
        formula.evaluate(&row);
    }
    formula.range(&ranges.iter().map(|_| [f64::NEG_INFINITY, f64::INFINITY]).collect::<Vec<_>>());
    let column: Vec<f32> = (0..64).map(|lane| HOSTILE[lane % HOSTILE.len()] as f32).collect();
    let mut computed = 0;
    formula.evaluate_lanes(50, |_| &column, |_, _| computed += 1);
    if computed == 50 { Ok(()) } else { Err(Trouble::Wrong("a lane was left out".into())) }
}

/// What a simulator answers.
pub(super) const PROCESS: Target = Target {
    name: "process",
    reads: "the answers of a simulator",
    share: 50.0,
    short: 500,
    seeds: |_| Ok(rules::answers()),
    run: process,
};

fn process(input: &Input, _: &mut Place) -> Result<(), Trouble> {
    let states = ["level", "speed"].map(str::to_owned);
    let said = std::io::Cursor::new(input.bytes.clone());
    let world = ProcessWorld::over(&input.name, said, std::io::sink(), &states, &["valve".to_owned()])?;
    let numerics = Numerics::detect(Mode::Fast);
    for _ in 0..4 {
        let mut lanes = Lanes::new(2, 1, 2);
        lanes.set_live(2);
        world.advance(&mut lanes, numerics);
        world.check()?;
        if lanes.rewards()[..2]
            .iter()
            .any(|reward| f64::from(*reward) > world.largest_reward().max(f64::from(f32::MIN)))
        {
            let largest = world.largest_reward() as f32;
            if lanes.rewards()[..2].iter().any(|reward| *reward > largest) {
                return Err(Trouble::Wrong("a reward is larger than the largest".into()));
            }
        }
    }
    Ok(())
}

/// A policy that acts on hostile numbers.
pub(super) const ACTING: Target = Target {
    name: "acting",
    reads: "a policy, acting in states that no plant has",
    share: 25.0,
    short: 300,
    seeds: |_| Ok(rules::acting()),
    run: acting,
};

fn acting(input: &Input, _: &mut Place) -> Result<(), Trouble> {
    let text = String::from_utf8_lossy(&input.bytes);
    let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
    let whole = format!("{{\"format\":1,{}", first.trim_start().strip_prefix('{').unwrap_or(first));
    let policy: FuzzyPolicy = files::parse_json(whole.as_bytes(), input.name.as_ref())?;
    if let Some(problem) = policy.fault() {
        let path = input.name.clone().into();
        return Err(Error::Malformed { path, line: None, column: None, problem, remedy: "correct it".into() }.into());
    }
    let kernel = FuzzyKernel::new(&policy);
    let numerics = Numerics::detect(Mode::Fast);
    for line in rest.lines().take(50) {
        let mut state: Vec<f64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        state.resize(policy.states.len(), HOSTILE[state.len() % HOSTILE.len()]);
        let usual = state.iter().all(|value| value.abs() < 1e30);
        for (action, rules) in policy.act(&state).iter().zip(&policy.actions) {
            let [low, high] = rules.limits;
            let room = 1e-9 * (1.0 + low.abs().max(high.abs()));
            if usual && !(*action >= low - room && *action <= high + room) {
                return Err(Trouble::Wrong("an action is outside of its limits".into()));
            }
        }
        let mut lanes = Lanes::new(policy.states.len(), policy.actions.len(), 2);
        lanes.set_live(2);
        for (variable, value) in state.iter().enumerate() {
            lanes.state_mut(variable)[..2].fill(*value as f32);
        }
        kernel.act(&mut lanes, numerics);
    }
    fpsrl::explain::sentences(&policy);
    Ok(())
}
