//! Plants that have a past: dead time, actuators that move slowly, set-points that are changed. What is learned from
//! their logs is scored on the plants themselves, which stand here.

use std::path::Path;

use fpsrl::explain::{Opening, Roller};
use fpsrl::export::{Settings, Source};
use fpsrl::policy::{FuzzyKernel, FuzzyPolicy, Policy};
use fpsrl::problem::{Problem, WrittenProblem};
use fpsrl::progress::Progress;
use fpsrl::rollout::Lanes;
use fpsrl::run::{self, DataReport, RunDirectory};
use fpsrl::search::SearchOptions;
use fpsrl::simd::{Mode, Numerics};
use fpsrl::world::model::WorldModel;
use fpsrl::world::{NetworkWorld, World};

/// Random numbers in [0, 1), the same in every run.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// A tank whose inflow reaches it some steps after the valve has moved. What flows out stays the same, so that the
/// level runs away unless the valve is right on average.
struct Tank {
    level: f64,
    /// The valve's positions that have not arrived yet, the oldest first.
    pipe: Vec<f64>,
}

impl Tank {
    fn new(level: f64, valve: f64, dead_time: usize) -> Self {
        Self { level, pipe: vec![valve; dead_time] }
    }

    fn step(&mut self, valve: f64) {
        self.pipe.push(valve);
        let arrived = self.pipe.remove(0);
        self.level += 0.4 * (arrived - 0.5) - 0.02 * (self.level - 1.0);
    }
}

/// A log of a tank whose valve jumps to a random position and stays there for a while.
fn tank_log(dead_time: usize, episodes: usize, steps: usize) -> String {
    disturbed_tank_log(dead_time, episodes, steps, 0.0)
}

/// The same of a tank whose level is shaken in every step.
fn disturbed_tank_log(dead_time: usize, episodes: usize, steps: usize, shaken: f64) -> String {
    let mut chance = Chance(7);
    let mut text = "run,level,valve\n".to_owned();
    for episode in 0..episodes {
        let mut valve = chance.next();
        let mut tank = Tank::new(2.0 * chance.next(), valve, dead_time);
        let mut held = 0;
        for _ in 0..steps {
            if held == 0 {
                // Back to the middle where the level is far off, as an operator would.
                valve = (chance.next() - 0.3 * (tank.level - 1.0)).clamp(0.0, 1.0);
                held = 1 + (5.0 * chance.next()) as usize;
            }
            held -= 1;
            text += &format!("{episode},{:?},{valve:?}\n", tank.level);
            tank.step(valve);
            tank.level += shaken * (chance.next() - 0.5);
        }
    }
    text
}

const TANK: &str = r#"
name = "tank"
horizon = 50
discount_q = 0.5
start = "data"
[[state]]
name = "level"
[[action]]
name = "valve"
limits = [0.0, 1.0]
ACTION
[data]
file = "log.csv"
episode = "run"
DATA
[world]
kind = "ensemble"
members = 2
layers = 1
epochs = 60
neurons = 6
reward = "-abs(level - 1)"
[policy]
rules = 2
POLICY
[search]
particles = 30
iterations = 60
start_states = 60
[evaluation]
start_states = 60
"#;

fn tank_problem(directory: &Path, action: &str, data: &str, policy: &str) -> Problem {
    let text = TANK.replace("ACTION", action).replace("DATA", data).replace("POLICY", policy);
    let path = directory.join("problem.toml");
    std::fs::write(&path, text).unwrap();
    WrittenProblem::read(&path).unwrap().check().unwrap()
}

/// A run on a tank's log, through all stages.
fn tank_run(directory: &Path, action: &str, data: &str, policy: &str) -> (RunDirectory, Problem) {
    let problem = tank_problem(directory, action, data, policy);
    let run = run::generate(&problem, &directory.join("run"), true, &Progress::silent()).unwrap();
    run.fit(&Progress::silent()).unwrap();
    run.search(SearchOptions::of(&problem.search, true), &Progress::silent()).unwrap();
    run.evaluate(SearchOptions::of(&problem.search, true), &Progress::silent()).unwrap();
    let problem = run.problem().unwrap();
    (run, problem)
}

/// The mean distance from the wanted level on the true tank, in the second half of rollouts.
fn distance(policy: &FuzzyPolicy, problem: &Problem, dead_time: usize) -> f64 {
    let starts = problem.evaluation_starts();
    let (mut sum, mut count) = (0.0, 0.0);
    for index in 0..starts.len() {
        let mut tank = Tank::new(starts.row(index)[0], 0.5, dead_time);
        let mut past: Vec<(f64, f64)> = vec![(tank.level, 0.5); 10];
        for step in 0..60 {
            // What the policy sees, by name.
            let value = |name: &str| {
                let back = |at: usize| past[past.len() - at];
                match name.split_once('_') {
                    None => tank.level,
                    Some(("level", lag)) => back(lag.parse().unwrap()).0,
                    Some((_, lag)) => back(lag.parse().unwrap()).1,
                }
            };
            let state: Vec<f64> = policy.states.iter().map(|state| value(&state.name)).collect();
            let valve = policy.act(&state)[0];
            past.push((tank.level, valve));
            tank.step(valve);
            if step >= 30 {
                sum += (tank.level - 1.0).abs();
                count += 1.0;
            }
        }
    }
    sum / count
}

#[test]
fn a_plant_with_dead_time_is_learned_and_controlled_with_a_history_only() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("log.csv"), tank_log(4, 40, 60)).unwrap();
    let scored = |data: &str, policy: &str| {
        let (run, problem) = tank_run(directory.path(), "", data, policy);
        let error = run.summary().unwrap().world_errors.get("level").unwrap();
        (error, distance(&run.policy(&problem).unwrap(), &problem, 4), run.summary().unwrap())
    };
    let (blind_error, blind, _) = scored("", "");
    let (error, good, summary) = scored("history = 5", "lags = [\"valve_1\", \"level_1\", \"level_2\"]");
    println!(
        "history 0: error {blind_error:.4}, distance {blind:.3}; history 5: error {error:.2e}, distance {good:.3}"
    );
    // What is carried along is not learned: it has no error to show.
    let names: Vec<&str> = summary.world_errors.0.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["level", "reward"]);
    assert!(blind_error > 0.2 && error < 1e-3, "{blind_error} {error}");
    assert!(good < 0.1 && good < 0.5 * blind, "{good} {blind}");
}

#[test]
fn a_history_is_chosen_as_long_as_the_dead_time_and_not_where_there_is_none() {
    let directory = tempfile::tempdir().unwrap();
    let chosen = |dead_time: usize, shaken: f64, policy: &str| {
        let log = disturbed_tank_log(dead_time, 30, 50, shaken);
        std::fs::write(directory.path().join("log.csv"), log).unwrap();
        let problem = tank_problem(directory.path(), "", "history = \"auto\"", policy);
        let (chosen, imported) = DataReport::import(&problem, &Progress::silent()).unwrap();
        let history = imported.report.history.clone().unwrap();
        println!("dead time {dead_time}: {history:?}");
        assert_eq!(history.lost, 30 * history.steps);
        assert_eq!(imported.transitions.states.len(), 1 + 2 * history.steps);
        assert_eq!(chosen.system.states().len(), 1 + 2 * history.steps);
        history.steps
    };
    for shaken in [0.0, 0.1] {
        assert_eq!(chosen(0, shaken, ""), 0);
        assert_eq!(chosen(3, shaken, ""), 3);
        assert_eq!(chosen(4, shaken, ""), 5);
    }
    // What the policy must see must be there.
    assert_eq!(chosen(0, 0.0, "lags = 2"), 2);
}

/// The last steps of a rollout on lanes beside the same steps in f64.
fn assert_lanes_agree(model: &WorldModel, starts: &[Vec<f64>], actions: &[f64]) {
    let world = NetworkWorld::new(model).unwrap();
    for mode in [Mode::Fast, Mode::Reproducible] {
        let numerics = Numerics::detect(mode);
        let mut lanes = Lanes::new(world.state_count(), world.action_count(), starts.len());
        lanes.set_live(starts.len());
        for (lane, start) in starts.iter().enumerate() {
            start.iter().enumerate().for_each(|(variable, value)| lanes.state_mut(variable)[lane] = *value as f32);
        }
        let mut states = starts.to_vec();
        for &action in actions {
            lanes.action_mut(0).fill(action as f32);
            world.advance(&mut lanes, numerics);
            for (lane, state) in states.iter_mut().enumerate() {
                let applied = model.applied(state, &[action]);
                assert!((f64::from(lanes.action(0)[lane]) - applied[0]).abs() < 1e-5);
                *state = model.step(state, &[action]).0;
                for (variable, value) in state.iter().enumerate() {
                    let lane = f64::from(lanes.state(variable)[lane]);
                    assert!((lane - value).abs() < 1e-4, "{}: {lane} {value}", model.states[variable]);
                }
            }
        }
    }
}

#[test]
fn rollouts_carry_the_history_in_every_number_type() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("log.csv"), tank_log(2, 20, 40)).unwrap();
    for (action, data) in
        [("rate = 0.15", "history = 3"), ("change = true\nchange_limits = [-0.3, 0.3]", "history = 3")]
    {
        let problem = tank_problem(directory.path(), action, data, "");
        let (problem, imported) = DataReport::import(&problem, &Progress::silent()).unwrap();
        let model = fpsrl::world::fit::fit(&problem.system, &problem.world, &imported.transitions, &Progress::silent())
            .unwrap();
        assert_eq!(model.validate(), Ok(()));
        let log = &imported.transitions;
        let starts: Vec<Vec<f64>> =
            (0..37).map(|row| log.states.iter().map(|column| column[19 * row]).collect()).collect();
        let actions = [0.9, 0.1, 0.1, 0.7, -0.2, 0.3, 0.3, 0.0, 0.5];
        assert_lanes_agree(&model, &starts, &actions);
        // By hand: what was is what the next states remember.
        let place = |name: &str| model.states.iter().position(|state| state == name).unwrap();
        let mut state = starts[3].clone();
        let mut past = vec![(state[place("level")], state[place("valve_1")])];
        for action in actions {
            let applied = model.applied(&state, &[action])[0];
            let absolute =
                if data.is_empty() || model.actions[0] == "valve" { applied } else { past[past.len() - 1].1 + applied };
            state = model.step(&state, &[action]).0;
            past.push((state[0], absolute));
            for lag in 1..past.len().min(4) {
                let then = past[past.len() - 1 - lag].0;
                assert!((state[place(&format!("level_{lag}"))] - then).abs() < 1e-12);
                let then = past[past.len() - lag].1;
                assert!((state[place(&format!("valve_{lag}"))] - then).abs() < 1e-12);
            }
        }
    }
}

/// A policy that always wants one end of its limits or the other.
struct Restless(usize);

impl Policy for Restless {
    fn act(&self, lanes: &mut Lanes, _: Numerics) {
        let live = lanes.live();
        let wanted: Vec<f32> = (0..live).map(|lane| if lane % self.0 == 0 { 0.0 } else { 1.0 }).collect();
        lanes.action_mut(0)[..live].copy_from_slice(&wanted);
    }
}

#[test]
fn no_rollout_and_no_export_moves_an_action_too_fast() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("log.csv"), tank_log(1, 20, 40)).unwrap();
    let (run, problem) = tank_run(directory.path(), "rate = 0.1", "history = 1", "");
    let policy = run.policy(&problem).unwrap();
    let world = NetworkWorld::new(&run.worlds(&problem).unwrap().learned().unwrap().world).unwrap();
    let kernel = FuzzyKernel::new(&policy);
    let numerics = Numerics::detect(Mode::Fast);
    let starts = problem.evaluation_starts();
    let starts: Vec<Vec<f64>> = (0..starts.len()).map(|index| starts.row(index)).collect();
    let last = problem.system.states().iter().position(|state| state.name == "valve_1").unwrap();
    for policy in [&kernel as &dyn Policy, &Restless(2), &Restless(3)] {
        for trajectory in Roller::new(&problem.system, &world, policy, numerics).trajectories(&starts) {
            for (step, action) in trajectory.actions.iter().enumerate() {
                let before = trajectory.states[step][last];
                assert!((action[0] - before).abs() <= 0.1 + 1e-6, "{} after {before}", action[0]);
                assert!((-1e-6..=1.0 + 1e-6).contains(&action[0]));
                assert!((trajectory.states[step + 1][last] - action[0]).abs() < 1e-6);
            }
        }
    }
    // Openings are applied like any other action.
    let opening: Opening = vec![(3, vec![1.0])];
    let returns = Roller::new(&problem.system, &world, &kernel, numerics).after_openings(&starts[0], &[opening]);
    assert!(returns[0].is_finite());

    // The run and its policy.json alone say the same of the rate, and the controller keeps to it.
    for source in [run.source().unwrap(), Source::read(&run.file("policy.json")).unwrap()] {
        assert_eq!(source.rate_limits, [Some(0.1)]);
        let controller = source.controller(&Settings::default()).unwrap();
        let mut memory = controller.begin();
        let mut chance = Chance(3);
        for _ in 0..200 {
            let before = memory.last.clone();
            let state: Vec<f64> = policy.states.iter().map(|_| 4.0 * chance.next() - 1.0).collect();
            controller.step(&mut memory, &state);
            let action = &memory.last;
            assert!((action[0] - before[0]).abs() <= 0.1 + 1e-12 && (0.0..=1.0).contains(&action[0]));
        }
    }
}

#[test]
fn a_policy_that_changes_a_set_point_sees_it_and_keeps_it_within_its_limits() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("log.csv"), tank_log(0, 40, 60)).unwrap();
    let change = "change = true\nchange_limits = [-0.2, 0.2]";
    let (run, problem) = tank_run(directory.path(), change, "", "");
    let policy = run.policy(&problem).unwrap();
    let names: Vec<&str> = policy.states.iter().map(|state| state.name.as_str()).collect();
    assert_eq!((names, policy.actions[0].name.as_str()), (vec!["level", "valve_1"], "valve_change"));
    let world = NetworkWorld::new(&run.worlds(&problem).unwrap().learned().unwrap().world).unwrap();
    let starts = problem.evaluation_starts();
    let starts: Vec<Vec<f64>> = (0..starts.len()).map(|index| starts.row(index)).collect();
    let kernel = FuzzyKernel::new(&policy);
    let roller = Roller::new(&problem.system, &world, &kernel, Numerics::detect(Mode::Fast));
    for trajectory in roller.trajectories(&starts) {
        for (action, states) in trajectory.actions.iter().zip(trajectory.states.windows(2)) {
            assert!(action[0].abs() <= 0.2 + 1e-6);
            assert!((-1e-6..=1.0 + 1e-6).contains(&states[1][1]), "{}", states[1][1]);
            assert!((states[0][1] + action[0] - states[1][1]).abs() < 1e-6);
        }
    }
    // On the true tank, with the set-point kept within its limits by whoever applies it.
    let (mut sum, mut count) = (0.0, 0.0);
    for index in 0..20 {
        let (mut tank, mut valve) = (Tank::new(0.1 * index as f64, 0.5, 0), 0.5);
        for step in 0..60 {
            valve = f64::clamp(valve + policy.act(&[tank.level, valve])[0], 0.0, 1.0);
            tank.step(valve);
            if step >= 30 {
                sum += (tank.level - 1.0).abs();
                count += 1.0;
            }
        }
    }
    println!("distance with changes: {:.3}", sum / count);
    assert!(sum / count < 0.15, "{}", sum / count);
}

#[test]
fn whole_transitions_get_a_history_where_they_follow_each_other() {
    let directory = tempfile::tempdir().unwrap();
    let mut chance = Chance(11);
    let mut text = "level,valve,next_level,reward\n".to_owned();
    for _ in 0..6 {
        let mut tank = Tank::new(chance.next(), 0.5, 0);
        for _ in 0..50 {
            let (before, valve) = (tank.level, chance.next());
            tank.step(valve);
            text += &format!("{before:?},{valve:?},{:?},0.5\n", tank.level);
        }
    }
    std::fs::write(directory.path().join("log.csv"), text).unwrap();
    let problem = "horizon = 10\n[[state]]\nname = 'level'\n[[action]]\nname = 'valve'\nlimits = [0.0, 1.0]\n[data]\n\
                   file = 'log.csv'\nnext = 'next_'\nreward = 'reward'\nhistory = 2\n";
    let path = directory.path().join("problem.toml");
    std::fs::write(&path, problem).unwrap();
    let problem = WrittenProblem::read(&path).unwrap().check().unwrap();
    let (_, imported) = DataReport::import(&problem, &Progress::silent()).unwrap();
    assert_eq!((imported.transitions.len(), imported.report.history.unwrap().lost), (6 * 48, 12));
    let log = imported.transitions;
    assert_eq!(log.states[2][7], log.states[0][5]);
    assert_eq!(log.states[4][7], log.actions[0][5]);
}
