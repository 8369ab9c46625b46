//! Everything that a report tells, found out before a word of it is written.

use serde_json::Value;

use super::Material;
use super::covered::Covered;
use super::evidence::{Replays, outside_share, replays};
use super::overlay::{Overlay, overlays};
use super::stretch::{Stretch, stretches};
use super::world::{RunWorld, world_of};
use fpsrl_base::error::{Error, Result};
use fpsrl_base::progress::{Progress, Stage, Status};
use fpsrl_data::System;
use fpsrl_data::Transitions;
use fpsrl_engine::policy::{Derived, FuzzyKernel, FuzzyPolicy, Quantity, Rule};
use fpsrl_engine::rollout::StartStates;
use fpsrl_engine::world::World;
use fpsrl_explain::{
    self, DataProfile, Roller, Simplification, Trajectory, Weaknesses, may_meet, on_plant, simplify, weaknesses,
};
use fpsrl_search::figures::{Front, Summary};
use fpsrl_search::returns::{true_returns, world_returns};
use fpsrl_search::search::SearchRecord;
use fpsrl_search::trade::Trade;
use fpsrl_world::WorldSettings;

/// Start states whose rollouts are compared with the log.
const COMPARED_STARTS: usize = 60;

/// States of the log that the page gets.
const SAMPLE: usize = 2_000;

/// Numbers that trajectories on the page have at most, all together.
const TRAJECTORY_NUMBERS: usize = 40_000;

/// What is known of a run.
pub(super) struct Findings {
    pub(super) system: System,
    /// The whole problem file.
    pub(super) problem_text: String,
    /// How the worlds were made.
    pub(super) world_settings: WorldSettings,
    pub(super) policy: FuzzyPolicy,
    pub(super) summary: Summary,
    /// `summary.json` as it stands, with fields that this version need not know.
    pub(super) raw: Value,
    pub(super) profile: DataProfile,
    /// States of the log, some of them.
    pub(super) sample: Vec<Vec<f64>>,
    pub(super) world: RunWorld,
    pub(super) starts: StartStates,
    pub(super) model_returns: Vec<f64>,
    pub(super) true_returns: Option<Vec<f64>>,
    pub(super) model_return: f64,
    pub(super) simple: Simplification,
    pub(super) simple_model_return: f64,
    pub(super) simple_true_return: Option<f64>,
    pub(super) weaknesses: Weaknesses,
    pub(super) instructive: Vec<Instructive>,
    /// Which of them the page begins with: the weakest start, or a typical one.
    pub(super) example: usize,
    pub(super) replays: Replays,
    pub(super) outside: f64,
    pub(super) covered: Covered,
    /// Stretches of the log beside what the rules do instead.
    pub(super) stretches: Vec<Stretch>,
    pub(super) records: Vec<SearchRecord>,
    pub(super) nfq: Option<(f64, Option<f64>)>,
    pub(super) overlays: Vec<Overlay>,
    /// The policies of which none is both simpler and better, if they were searched.
    pub(super) front: Option<(Front, Vec<FuzzyPolicy>)>,
    /// What one cost buys, if it has been traded.
    pub(super) trade: Option<Trade>,
}

/// A state worth looking at, and what follows from it.
pub(super) struct Instructive {
    /// What it is called.
    pub(super) name: String,
    /// Its group in the list.
    pub(super) group: &'static str,
    pub(super) state: Vec<f64>,
    /// What happens on the world.
    pub(super) trajectory: Option<Trajectory>,
    /// What happens on the true plant.
    pub(super) truth: Option<Trajectory>,
}

impl Findings {
    /// Finds out everything about a run.
    pub(super) fn gather(material: Material, tolerance: f64, progress: &Progress) -> Result<Self> {
        let Material {
            system, problem_text, world: world_settings, search_starts, starts, numerics, transitions, ..
        } = material;
        let Material { worlds, policy, summary, raw, records, nfq, front, trade, others, .. } = material;
        progress.begin(Stage::Report, 5);
        let world = world_of(worlds, &system)?;
        let profile = DataProfile::new(&system, &transitions);
        let overlays = overlays(&policy, others, &profile, &transitions);
        progress.update(Stage::Report, 1, Status::At("start states"));

        let members = world.worlds.on_lanes(&system, 0.0)?;
        let members: Vec<&dyn World> = members.iter().map(Box::as_ref).collect();
        // Of each start, the mean of what it earns in the members.
        let on_world = |policy: &FuzzyPolicy| {
            let kernel = FuzzyKernel::new(policy);
            let mut returns = vec![0.0; starts.len()];
            for member in &members {
                let earned = world_returns(&system, *member, &kernel, &starts, numerics);
                let shares = earned.iter().map(|value| value / members.len() as f64);
                returns.iter_mut().zip(shares).for_each(|(sum, share)| *sum += share);
            }
            returns
        };
        let on_truth = |policy: &FuzzyPolicy| {
            system.plant().map(|plant| true_returns(&system, plant, |state| policy.act(state), &starts))
        };
        let (model_returns, true_returns) = (on_world(&policy), on_truth(&policy));
        progress.update(Stage::Report, 2, Status::At("conditions that do not matter"));
        let simple = simplify(&system, &members, &policy, &search_starts, tolerance, numerics);
        let simple_model_return = mean(&on_world(&simple.policy));
        let simple_true_return = on_truth(&simple.policy).map(|returns| mean(&returns));
        stop_if_asked(progress)?;

        progress.update(Stage::Report, 3, Status::At("weak starts"));
        let kernel = FuzzyKernel::new(&policy);
        let roller = Roller::new(&system, world.world.as_ref(), &kernel, numerics);
        let weaknesses = weaknesses(&system, &profile, &policy, &roller);
        let compared: Vec<Vec<f64>> = (0..starts.len().min(COMPARED_STARTS)).map(|index| starts.row(index)).collect();
        let trajectories = roller.trajectories(&compared);
        let outside = outside_share(&profile, &transitions, &trajectories);
        let covered = Covered::new(&system, &transitions, &trajectories);
        let stretches = stretches(&system, &transitions, &roller, &starts, &model_returns);
        let instructive = instructive(&system, &policy, &profile, &roller, &weaknesses, &starts, &model_returns);
        stop_if_asked(progress)?;

        progress.update(Stage::Report, 4, Status::At("replays of the log"));
        let replays = replays(&system, &world_settings, &transitions, world.unlimited.as_ref(), numerics);
        world.worlds.check()?;
        let findings = Self {
            sample: sample(&profile, &transitions, system.states().len()),
            model_return: mean(&model_returns),
            stretches,
            records,
            nfq,
            system,
            problem_text,
            world_settings,
            policy,
            summary,
            raw,
            profile,
            world,
            starts,
            model_returns,
            true_returns,
            simple,
            simple_model_return,
            simple_true_return,
            weaknesses,
            example: first_of(&instructive, "weak start 1").or(first_of(&instructive, MEDIAN)).unwrap_or(0),
            instructive,
            replays,
            outside,
            covered,
            overlays,
            front,
            trade,
        };
        progress.update(Stage::Report, 5, Status::At("page"));
        Ok(findings)
    }
}

/// What the test start in the middle is called.
const MEDIAN: &str = "test start of median return";

fn first_of(instructive: &[Instructive], name: &str) -> Option<usize> {
    instructive.iter().position(|one| one.name == name)
}

impl Findings {
    /// The state that the page begins with.
    pub(super) fn example_state(&self) -> &[f64] {
        &self.instructive[self.example].state
    }
}

fn stop_if_asked(progress: &Progress) -> Result<()> {
    if progress.stop_requested() { Err(Error::Stopped { stage: "report" }) } else { Ok(()) }
}

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn sample(profile: &DataProfile, transitions: &Transitions, variables: usize) -> Vec<Vec<f64>> {
    let rows = profile.sample(SAMPLE.min(12_000 / variables.max(1)));
    rows.iter().map(|&row| transitions.states.iter().map(|column| column[row]).collect()).collect()
}

/// States worth looking at: usual, weak, between rules, and the rules' own centres.
fn instructive(
    system: &System,
    policy: &FuzzyPolicy,
    profile: &DataProfile,
    roller: &Roller<'_>,
    weaknesses: &Weaknesses,
    starts: &StartStates,
    returns: &[f64],
) -> Vec<Instructive> {
    let mut states: Vec<(String, &'static str, Vec<f64>)> =
        vec![("usual start".into(), "Typical", weaknesses.usual.clone())];
    let by_return = |a: &usize, b: &usize| returns[*a].total_cmp(&returns[*b]);
    let mut order: Vec<usize> = (0..returns.len()).collect();
    order.sort_by(by_return);
    if let (Some(&worst), Some(&median)) = (order.first(), order.get(order.len() / 2)) {
        states.push((MEDIAN.into(), "Typical", starts.row(median)));
        states.push(("worst of all test starts".into(), "Weakest", starts.row(worst)));
    }
    for (index, start) in weaknesses.starts.iter().enumerate() {
        states.push((format!("weak start {}", index + 1), "Weakest", start.state.clone()));
    }
    for (number, action) in policy.actions.iter().enumerate() {
        let of = if policy.actions.len() > 1 {
            format!(" of {}", fpsrl_explain::shortened(&action.name, 40))
        } else {
            String::new()
        };
        let opposite = |a: usize, b: usize| action.rules[a].output * action.rules[b].output < 0.0;
        let meet = |a: usize, b: usize| may_meet(&policy.states, &action.rules[a], &action.rules[b]);
        let pairs = (0..action.rules.len()).flat_map(|a| (a + 1..action.rules.len()).map(move |b| (a, b)));
        for (a, b) in pairs.filter(|(a, b)| opposite(*a, *b) && meet(*a, *b)).take(3) {
            let name = format!("between rules {} and {}{of}", a + 1, b + 1);
            let state = boundary(policy, number, a, b, profile, &weaknesses.usual);
            states.push((name, "Boundary", system.at_rest(&state)));
        }
        for (index, rule) in action.rules.iter().enumerate().take(8) {
            let centre = between(policy, [rule, rule], 0.0, profile, &weaknesses.usual);
            states.push((format!("centre of rule {}{of}", index + 1), "Rules", system.at_rest(&centre)));
        }
    }
    let true_states = if system.plant().is_some() { system.states().len() } else { 0 };
    let per_trajectory = system.horizon() * (system.states().len() + system.actions().len() + true_states);
    let affordable = (TRAJECTORY_NUMBERS / per_trajectory.max(1)).max(2);
    let rolled: Vec<Vec<f64>> = states.iter().take(affordable).map(|(_, _, state)| state.clone()).collect();
    let mut trajectories = roller.trajectories(&rolled).into_iter();
    states
        .into_iter()
        .map(|(name, group, state)| {
            let trajectory = trajectories.next();
            let truth = trajectory.as_ref().and(system.plant()).map(|plant| on_plant(system, plant, policy, &state));
            Instructive { name, group, state, trajectory, truth }
        })
        .collect()
}

/// A value as it is shown in a range: of an angle, the image that whole turns bring there.
fn within(quantity: &Quantity, value: f64, [low, high]: [f64; 2]) -> f64 {
    quantity.nearest(value, 0.5 * (low + high)).clamp(low, high)
}

/// The state on the way from one rule's centre to another's where the action is nearest to its middle; angles take the
/// shorter way around.
fn boundary(policy: &FuzzyPolicy, action: usize, a: usize, b: usize, profile: &DataProfile, usual: &[f64]) -> Vec<f64> {
    let base = &policy.actions[action];
    let middle = 0.5 * (base.limits[0] + base.limits[1]);
    let at = |share: f64| between(policy, [&base.rules[a], &base.rules[b]], share, profile, usual);
    let distance = |share: &f64| (base.act(&policy.states, &at(*share)) - middle).abs();
    let shares = (0..=200).map(|index| f64::from(index) / 200.0);
    at(shares.min_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap_or(0.5))
}

/// A state on the way from one rule's centre to another's. What neither looks at is as usual.
fn between(policy: &FuzzyPolicy, [from, to]: [&Rule; 2], share: f64, profile: &DataProfile, usual: &[f64]) -> Vec<f64> {
    let looks = |variable: usize| !from.ignores(variable) || !to.ignores(variable);
    let value = |variable: usize| {
        let (quantity, range) = (&policy.states[variable], profile.inputs[variable].range);
        let [one, other] = [from.centre[variable], to.centre[variable]];
        match [from.ignores(variable), to.ignores(variable)] {
            [true, true] => usual[variable],
            [true, false] => within(quantity, other, range),
            [false, true] => within(quantity, one, range),
            [false, false] => within(quantity, one + share * quantity.difference(one, other), range),
        }
    };
    let mut state: Vec<f64> = (0..policy.states.len()).map(value).collect();
    // An error is that of a state and its set-point: whichever the rules do not look at gives way.
    for (variable, quantity) in policy.states.iter().enumerate() {
        let Some(Derived::Error { state: of, set_point }) = quantity.derived else { continue };
        match (looks(variable), looks(of), looks(set_point)) {
            (true, false, _) => state[of] = state[set_point] - state[variable],
            (true, true, false) => state[set_point] = state[of] + state[variable],
            _ => state[variable] = state[set_point] - state[of],
        }
    }
    state
}

#[cfg(test)]
mod tests {
    use super::*;
    use fpsrl_engine::policy::{ANYWHERE, ActionRules};
    use fpsrl_explain::InputProfile;

    #[test]
    fn the_centre_of_a_rule_is_a_state_whose_error_is_that_of_its_set_point() {
        let error = Quantity { derived: Some(Derived::Error { state: 0, set_point: 1 }), ..Quantity::new("e", "K") };
        let rule = Rule { centre: vec![0.0, 0.0, 2.0], width: vec![ANYWHERE, ANYWHERE, 1.0], output: 1.0 };
        let policy = FuzzyPolicy {
            states: vec![Quantity::new("PV", "K"), Quantity::new("SP", "K"), error],
            mirrored: false,
            actions: vec![ActionRules {
                name: "OUT".into(),
                unit: "%".into(),
                limits: [0.0, 100.0],
                rate: None,
                reach: 1.0,
                alpha: 1.0,
                rules: vec![rule.clone()],
            }],
        };
        let range = |range: [f64; 2]| InputProfile { range, histogram: vec![] };
        let inputs = vec![range([10.0, 30.0]), range([18.0, 22.0]), range([-5.0, 5.0])];
        let profile = DataProfile { inputs, moving: vec![] };
        assert_eq!(between(&policy, [&rule, &rule], 0.0, &profile, &[19.0, 21.0, 2.0]), [19.0, 21.0, 2.0]);
        assert_eq!(between(&policy, [&rule, &rule], 0.0, &profile, &[19.0, 20.0, 1.0]), [18.0, 20.0, 2.0]);
    }
}
