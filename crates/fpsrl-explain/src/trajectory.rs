//! Rollouts that are written down, step by step, and rollouts that begin with given actions.

use fpsrl_data::System;
use fpsrl_data::plant::PlantKind;
use fpsrl_engine::policy::{FuzzyPolicy, Policy};
use fpsrl_engine::rollout::Lanes;
use fpsrl_engine::simd::Numerics;
use fpsrl_engine::world::World;

/// What happened from a start state on.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Trajectory {
    /// The states, the start first: one more than there are steps.
    pub states: Vec<Vec<f64>>,
    /// The actions of each step.
    pub actions: Vec<Vec<f64>>,
    /// The reward of each step.
    pub rewards: Vec<f64>,
    /// Whether it ended because the last state is absorbing.
    pub absorbed: bool,
    /// The discounted return over the whole horizon.
    pub value: f64,
}

/// Actions to begin with: so many steps each.
pub type Opening = Vec<(usize, Vec<f64>)>;

/// The action of an opening in a step, if it has not ended.
fn opening_action(opening: &Opening, step: usize) -> Option<&[f64]> {
    let mut end = 0;
    opening.iter().find_map(|(steps, action)| {
        end += steps;
        (step < end).then_some(action.as_slice())
    })
}

/// Rolls a policy out on a world.
pub struct Roller<'a> {
    world: &'a dyn World,
    policy: &'a dyn Policy,
    numerics: Numerics,
    /// γᵏ
    discounts: Vec<f64>,
}

impl<'a> Roller<'a> {
    /// Rollouts of a policy over the problem's horizon.
    pub fn new(system: &System, world: &'a dyn World, policy: &'a dyn Policy, numerics: Numerics) -> Self {
        let discount = system.discount();
        let discounts = (0..system.horizon()).map(|step| discount.powi(step as i32)).collect();
        Self { world, policy, numerics, discounts }
    }

    /// What happens from each start state on.
    pub fn trajectories(&self, starts: &[Vec<f64>]) -> Vec<Trajectory> {
        let mut trajectories: Vec<Trajectory> =
            starts.iter().map(|start| Trajectory { states: vec![start.clone()], ..Trajectory::default() }).collect();
        let values = self.roll(
            starts,
            |_, _| None,
            |origin, lanes, lane| {
                let row = |column: &dyn Fn(usize) -> f32, count| (0..count).map(|i| f64::from(column(i))).collect();
                let trajectory = &mut trajectories[origin];
                trajectory.actions.push(row(&|action| lanes.action(action)[lane], self.world.action_count()));
                trajectory.states.push(row(&|variable| lanes.state(variable)[lane], self.world.state_count()));
                trajectory.rewards.push(f64::from(lanes.rewards()[lane]));
                trajectory.absorbed = lanes.absorbed()[lane] != 0.0;
            },
        );
        for (trajectory, value) in trajectories.iter_mut().zip(values) {
            trajectory.value = value;
        }
        trajectories
    }

    /// The return from each start state.
    pub fn returns(&self, starts: &[Vec<f64>]) -> Vec<f64> {
        self.roll(starts, |_, _| None, |_, _, _| ())
    }

    /// The return from one start state for each opening, after which the policy takes over.
    pub fn after_openings(&self, start: &[f64], openings: &[Opening]) -> Vec<f64> {
        let starts = vec![start.to_vec(); openings.len()];
        self.roll(&starts, |origin, step| opening_action(&openings[origin], step), |_, _, _| ())
    }

    fn roll<'o>(
        &self,
        starts: &[Vec<f64>],
        given: impl Fn(usize, usize) -> Option<&'o [f64]>,
        mut visit: impl FnMut(usize, &Lanes, usize),
    ) -> Vec<f64> {
        let mut lanes = Lanes::new(self.world.state_count(), self.world.action_count(), starts.len());
        lanes.set_live(starts.len());
        for (lane, start) in starts.iter().enumerate() {
            for (variable, value) in start.iter().enumerate() {
                lanes.state_mut(variable)[lane] = *value as f32;
            }
        }
        let mut origins: Vec<usize> = (0..starts.len()).collect();
        let mut returns = vec![0.0; starts.len()];
        for (step, weight) in self.discounts.iter().enumerate() {
            if lanes.live() == 0 {
                break;
            }
            self.policy.act(&mut lanes, self.numerics);
            for (lane, &origin) in origins.iter().enumerate() {
                for (action, value) in given(origin, step).into_iter().flatten().enumerate() {
                    lanes.action_mut(action)[lane] = *value as f32;
                }
            }
            self.world.advance(&mut lanes, self.numerics);
            for (lane, &origin) in origins.iter().enumerate() {
                returns[origin] += weight * f64::from(lanes.rewards()[lane]);
                visit(origin, &lanes, lane);
            }
            for lane in (0..lanes.live()).rev() {
                if lanes.absorbed()[lane] != 0.0 {
                    let tail: f64 = self.discounts[step + 1..].iter().sum();
                    returns[origins[lane]] += tail * f64::from(lanes.later_rewards()[lane]);
                    lanes.retire(lane);
                    origins.swap_remove(lane);
                }
            }
        }
        returns
    }
}

/// What happens on the true plant from a start state on.
pub fn on_plant(system: &System, plant: PlantKind, policy: &FuzzyPolicy, start: &[f64]) -> Trajectory {
    let mut trajectory = Trajectory { states: vec![start.to_vec()], ..Trajectory::default() };
    let discount = system.discount();
    let (mut state, mut weight) = (start.to_vec(), 1.0);
    for _ in 0..system.horizon() {
        let action = policy.act(&state);
        let step = plant.step(&mut state, &action);
        trajectory.value += weight * step.reward;
        weight *= discount;
        // An absorbing state goes on earning, but there is nothing more to see.
        if !trajectory.absorbed {
            trajectory.states.push(state.clone());
            trajectory.actions.push(action);
            trajectory.rewards.push(step.reward);
            trajectory.absorbed = step.absorbed;
        }
    }
    trajectory
}

#[cfg(test)]
mod tests {
    use super::*;
    use fpsrl_data::plant::PlantWorld;
    use fpsrl_engine::policy::{ActionRules, FuzzyKernel, Quantity, Rule};
    use fpsrl_engine::rollout::StartStates;
    use fpsrl_engine::simd::Mode;
    use fpsrl_search::returns::world_returns;

    /// Pushes the car where it is going.
    fn pusher() -> FuzzyPolicy {
        let rule = |velocity: f64| Rule { centre: vec![0.0, velocity], width: vec![5.0, 1.0], output: velocity };
        FuzzyPolicy {
            states: ["position", "velocity"].map(|name| Quantity::new(name, "")).to_vec(),
            mirrored: true,
            actions: vec![ActionRules {
                name: "force".into(),
                unit: "N".into(),
                limits: [-1.0, 1.0],
                rate: None,
                reach: 1.0,
                alpha: 50.0,
                rules: vec![rule(1.0), rule(-1.0)],
            }],
        }
    }

    #[test]
    fn trajectories_earn_what_the_fitness_function_says_and_what_the_plant_says() {
        let system = System::benchmark("mountain-car").unwrap();
        let plant = PlantKind::MountainCar;
        let (world, policy) = (PlantWorld::new(plant), pusher());
        let numerics = Numerics::detect(Mode::Fast);
        let kernel = FuzzyKernel::new(&policy);
        let starts: Vec<Vec<f64>> = [-1.1, -0.5, 0.3, 0.59].map(|position| vec![position, 0.1]).to_vec();
        let roller = Roller::new(&system, &world, &kernel, numerics);
        let trajectories = roller.trajectories(&starts);
        let expected = world_returns(&system, &world, &kernel, &StartStates::from_rows(&starts), numerics);
        for ((trajectory, expected), start) in trajectories.iter().zip(expected).zip(&starts) {
            assert!((trajectory.value - expected).abs() < 1e-9, "{} {expected}", trajectory.value);
            assert!(trajectory.absorbed && trajectory.states.len() == trajectory.actions.len() + 1);
            let truth = on_plant(&system, plant, &policy, start);
            assert!((truth.value - expected).abs() < 1.5, "{} {expected}", truth.value);
            assert_eq!(truth.states.len().abs_diff(trajectory.states.len()) / 3, 0);
        }
        assert_eq!(roller.returns(&starts), trajectories.iter().map(|t| t.value).collect::<Vec<_>>());
    }

    #[test]
    fn an_opening_is_carried_out_before_the_policy_takes_over() {
        let system = System::benchmark("mountain-car").unwrap();
        let (world, policy) = (PlantWorld::new(PlantKind::MountainCar), pusher());
        let kernel = FuzzyKernel::new(&policy);
        let roller = Roller::new(&system, &world, &kernel, Numerics::detect(Mode::Fast));
        let start = [0.58, 0.0];
        let openings = [vec![], vec![(5, vec![1.0])], vec![(2, vec![-1.0]), (3, vec![-1.0])], vec![(5, vec![-1.0])]];
        let returns = roller.after_openings(&start, &openings);
        assert_eq!(returns[0], roller.returns(&[start.to_vec()])[0]);
        assert_eq!(returns[2], returns[3]);
        assert!(returns[1] != returns[3] && returns[1] != returns[0], "{returns:?}");
    }
}
