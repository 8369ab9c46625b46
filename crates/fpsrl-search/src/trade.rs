//! What one cost buys: policies that were searched with several weights of it, each by what it earns without that cost and by what
//! a step then costs. `trade.json` holds those of which none is both better and cheaper.

use serde::{Deserialize, Serialize};

use crate::WorldSource;
use crate::promise::Promise;
use crate::returns::{mean, on_lanes, world_returns};
use crate::tracking::{ControlFigures, on_a_world};
use fpsrl_base::error::{Error, Result};
use fpsrl_data::System;
use fpsrl_data::system::Price;
use fpsrl_engine::formula::{Formula, Kind};
use fpsrl_engine::policy::{FuzzyKernel, FuzzyPolicy, Policy};
use fpsrl_engine::rollout::StartStates;
use fpsrl_engine::simd::Numerics;
use fpsrl_engine::world::World;

/// Start states whose rollouts are told in the user's units.
const WATCHED: usize = 200;

/// Returns and costs that differ by less than this share are the same.
const SAME: f64 = 1e-6;

/// What `trade.json` holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trade {
    /// The cost that is traded: the name of an action, a state or an objective.
    pub name: String,
    /// What that is: "movement" of an action, a "range" that a state should keep to, or an "objective".
    pub kind: String,
    /// The unit of the cost, before its weight.
    pub unit: String,
    /// Its weight in the problem: what one unit is worth, in units of the reward.
    pub weight: f64,
    /// The factors whose weights were searched with, in the order of the searches.
    pub factors: Vec<f64>,
    /// The policies of which none is both better and cheaper, the dearest first.
    pub points: Vec<TradePoint>,
    /// What the run's own rules are worth; they are among the points, unless one of these is both better and cheaper.
    pub present: Worth,
    /// The factors whose searches added no point, and why.
    pub left_out: Vec<LeftOut>,
    /// The digest of the world model.
    pub world_sha256: String,
    /// The digest of the run's own rules.
    pub policy_sha256: String,
    /// The digest of the problem's settings.
    pub problem_sha256: String,
    /// The digest of `[evaluation]`, which says where policies were scored from.
    pub evaluation_sha256: String,
}

/// A policy of the front.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TradePoint {
    /// Its file, in `trade/`.
    pub file: String,
    /// The digest of that file.
    pub sha256: String,
    /// By what factor the weight differed that it was searched with; 1 for the run's own rules.
    pub factor: f64,
    /// That weight.
    pub weight: f64,
    /// Whether it is the run's own policy, searched with the problem's own weight.
    pub present: bool,
    /// What it is worth.
    pub worth: Worth,
}

/// A search whose result is no point of the front.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeftOut {
    /// By what factor its weight differed.
    pub factor: f64,
    /// The factor of the rules that are both better and cheaper, or the very same.
    pub instead: f64,
    /// Whether it found no others than those rules.
    pub same: bool,
    /// What its result is worth.
    pub worth: Worth,
}

/// What a policy is worth on the worlds of a run, whatever weight it was searched with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Worth {
    /// Its mean return over the members without the cost that is traded; all other costs count.
    pub return_without: f64,
    /// What a step costs, in the mean and in the cost's own unit; a plant that has stopped costs nothing.
    pub cost: f64,
    /// What it promises with the problem's own weights.
    pub promise: Promise,
    /// How it controls, in the user's units, on the first member; null where nothing tracks a set-point.
    pub figures: Option<ControlFigures>,
}

impl Worth {
    /// Whether a policy does the same as another, up to how it is written down.
    pub fn is_like(&self, other: &Self) -> bool {
        let near = |one: f64, two: f64| (one - two).abs() <= SAME * one.abs().max(two.abs());
        near(self.return_without, other.return_without) && near(self.cost, other.cost)
    }

    /// Whether another policy is at least as good and as cheap, and one of both truly. One whose promise does not hold, or that
    /// breaks a hard limit, takes nobody's place whose promise does.
    fn is_beaten_by(&self, other: &Self) -> bool {
        let stands = |worth: &Self| worth.promise.holds != Some(false) && !worth.promise.breaks;
        let (as_good, as_cheap) = (other.return_without >= self.return_without, other.cost <= self.cost);
        let truly = other.return_without > self.return_without || other.cost < self.cost;
        as_good && as_cheap && truly && (stands(other) || !stands(self))
    }
}

/// Of each of some policies, the number of one that is both better and cheaper; none for those of the front.
pub fn beaten_by(worths: &[Worth]) -> Vec<Option<usize>> {
    let front = |index: &usize| !worths.iter().any(|other| worths[*index].is_beaten_by(other));
    let on_front: Vec<usize> = (0..worths.len()).filter(front).collect();
    let of = |worth: &Worth| worths.iter().position(|other| worth.is_beaten_by(other));
    let best = |worth: &Worth| on_front.iter().copied().find(|index| worth.is_beaten_by(&worths[*index]));
    worths.iter().map(|worth| best(worth).or_else(|| of(worth))).collect()
}

/// Where policies are scored: the worlds of a run with the problem's own weights, and without the cost that is traded.
pub struct Scales<'a> {
    system: &'a System,
    worlds: &'a WorldSource,
    members: Vec<Box<dyn World>>,
    members_without: Vec<Box<dyn World>>,
    cost: Formula,
    starts: &'a StartStates,
    numerics: Numerics,
}

impl<'a> Scales<'a> {
    /// Of a price of the system, from given start states.
    pub fn new(
        system: &'a System,
        worlds: &'a WorldSource,
        price: &Price,
        starts: &'a StartStates,
        numerics: Numerics,
    ) -> Result<Self> {
        let without = system.costs_with(&price.name, 0.0);
        let without =
            worlds.with_costs(without.as_deref()).ok_or(Error::Internal("the costs of a process were asked for"))?;
        let cost = Formula::parse(&price.cost, &system.formula_names(), Kind::Number)
            .map_err(|_| Error::Internal("a price that was checked is no formula"))?;
        let (members, members_without) = (worlds.on_lanes(system, 0.0)?, without.on_lanes(system, 0.0)?);
        Ok(Self { system, worlds, members, members_without, cost, starts, numerics })
    }

    /// What a policy is worth.
    pub fn weigh(&self, policy: &FuzzyPolicy) -> Result<Worth> {
        let Self { system, starts, numerics, .. } = *self;
        let kernel = FuzzyKernel::new(policy);
        let over = |worlds: &[Box<dyn World>], of: &dyn Fn(&dyn World) -> f64| {
            mean(&worlds.iter().map(|world| of(world.as_ref())).collect::<Vec<f64>>())
        };
        let earned = |world: &dyn World| mean(&world_returns(system, world, &kernel, starts, numerics));
        let watched = starts.clone().first(WATCHED);
        let figures =
            self.members.first().and_then(|world| on_a_world(system, world.as_ref(), &kernel, &watched, numerics));
        Ok(Worth {
            return_without: over(&self.members_without, &earned),
            cost: over(&self.members, &|world| {
                cost_of_a_step(system.horizon(), world, &kernel, &self.cost, starts, numerics)
            }),
            promise: self.worlds.promise(system, policy, starts, numerics)?,
            figures,
        })
    }
}

/// What a step costs by a formula, in the mean over start states and the horizon; steps after the plant has stopped cost nothing,
/// and so does what makes no number.
pub fn cost_of_a_step(
    horizon: usize,
    world: &dyn World,
    policy: &dyn Policy,
    cost: &Formula,
    starts: &StartStates,
    numerics: Numerics,
) -> f64 {
    let mut lanes = on_lanes(world, starts);
    let (states, actions) = (world.state_count(), world.action_count());
    let mut before: Vec<f32> = Vec::new();
    let mut sum = 0.0;
    for _ in 0..horizon {
        policy.act(&mut lanes, numerics);
        before.clear();
        before.extend_from_slice(lanes.columns().states);
        world.advance(&mut lanes, numerics);
        let stride = lanes.capacity();
        // In the order of a formula's names: states before the step, actions, states after it, and these once more.
        let column = |index: usize| match index {
            _ if index < states => &before[index * stride..][..stride],
            _ if index < states + actions => lanes.action(index - states),
            _ => lanes.state((index - states - actions) % states),
        };
        cost.evaluate_lanes(lanes.live(), column, |_, value| sum += f64::from(value.max(0.0)));
        for lane in (0..lanes.live()).rev() {
            if lanes.absorbed()[lane] != 0.0 {
                lanes.retire(lane);
            }
        }
    }
    sum / (starts.len() * horizon).max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use fpsrl_engine::rollout::Lanes;
    use fpsrl_engine::simd::Mode;

    fn worth(return_without: f64, cost: f64, holds: bool) -> Worth {
        let text = format!(
            r#"{{"return": 0.0, "interval": [0.0, 0.0], "rescored": null, "judge_interval": null, "holds": {holds},
            "outside": 0.0, "rejected": 0, "member_returns": []}}"#
        );
        Worth { return_without, cost, promise: serde_json::from_str(&text).unwrap(), figures: None }
    }

    #[test]
    fn none_of_the_front_is_both_better_and_cheaper() {
        let of = |points: &[(f64, f64)]| {
            beaten_by(&points.iter().map(|(earned, cost)| worth(*earned, *cost, true)).collect::<Vec<Worth>>())
        };
        assert_eq!(of(&[(-1.0, 4.0), (-2.0, 2.0), (-5.0, 1.0)]), [None, None, None]);
        // As good and cheaper is better; the very same is not.
        assert_eq!(of(&[(-1.0, 4.0), (-1.0, 3.0), (-1.0, 3.0)]), [Some(1), None, None]);
        // Who is beaten is told a point of the front.
        assert_eq!(of(&[(-3.0, 5.0), (-2.0, 4.0), (-1.0, 3.0)]), [Some(2), Some(2), None]);
    }

    #[test]
    fn a_promise_that_does_not_hold_takes_nobodys_place_whose_does() {
        let kept = worth(-2.0, 3.0, true);
        let broken = worth(-1.0, 1.0, false);
        assert_eq!(beaten_by(&[kept.clone(), broken.clone()]), [None, None]);
        assert_eq!(beaten_by(&[worth(-2.0, 3.0, false), broken.clone()]), [Some(1), None]);
        assert_eq!(beaten_by(&[worth(-2.0, 3.0, false), kept, broken]), [Some(2), None, None]);
    }

    #[test]
    fn rules_that_differ_in_their_last_digits_do_the_same() {
        let one = worth(-193.0, 1.02, true);
        assert!(one.is_like(&worth(-193.0 + 1e-9, 1.02 - 1e-9, true)) && one.is_like(&one));
        assert!(!one.is_like(&worth(-193.0, 1.03, true)) && !one.is_like(&worth(-192.9, 1.02, true)));
        assert!(worth(0.0, 0.0, true).is_like(&worth(0.0, 0.0, true)));
    }

    /// A state that moves by its action, and stops for good at 3.
    struct Counter;

    impl World for Counter {
        fn state_count(&self) -> usize {
            1
        }

        fn action_count(&self) -> usize {
            1
        }

        fn advance(&self, lanes: &mut Lanes, _: Numerics) {
            let columns = lanes.columns();
            for lane in 0..columns.live {
                columns.states[lane] += columns.actions[lane];
                columns.rewards[lane] = 0.0;
                columns.absorbed[lane] = f32::from(u8::from(columns.states[lane] >= 3.0));
                columns.later_rewards[lane] = 0.0;
            }
        }

        fn largest_reward(&self) -> f64 {
            0.0
        }
    }

    struct One;

    impl Policy for One {
        fn act(&self, lanes: &mut Lanes, _: Numerics) {
            lanes.action_mut(0).fill(1.0);
        }
    }

    #[test]
    fn a_cost_looks_at_both_ends_of_a_step_and_ends_where_the_plant_stops() {
        let names = fpsrl_engine::formula::names(&["x".into()], &["u".into()]);
        let starts = StartStates::from_columns(vec![vec![0.0, 2.0]]);
        let numerics = Numerics::detect(Mode::Fast);
        let cost = |text: &str| {
            let formula = Formula::parse(text, &names, Kind::Number).unwrap();
            cost_of_a_step(4, &Counter, &One, &formula, &starts, numerics)
        };
        // From 0: three steps; from 2: one. Of eight steps, four cost something.
        assert_eq!(cost("1"), 4.0 / 8.0);
        assert_eq!(cost("previous_x"), (0.0 + 1.0 + 2.0 + 2.0) / 8.0);
        assert_eq!(cost("next_x * u"), (1.0 + 2.0 + 3.0 + 3.0) / 8.0);
        // What is below 0 counts as 0.
        assert_eq!(cost("x - 2"), (0.0 + 0.0 + 1.0 + 1.0) / 8.0);
        assert_eq!(cost("log(0 - x)"), 0.0);
    }
}
