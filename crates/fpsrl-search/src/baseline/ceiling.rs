//! How much any policy could reach on the world model: the returns of plans, beside those of the rules.

use super::Linear;
use super::pso_p::{PlanSettings, plan_returns};
use crate::WorldSource;
use crate::returns::{mean, world_returns};
use fpsrl_base::error::{Error, Result};
use fpsrl_base::progress::Progress;
use fpsrl_base::remedy::Remedy;
use fpsrl_data::System;
use fpsrl_engine::policy::Policy;
use fpsrl_engine::rollout::StartStates;
use fpsrl_engine::simd::Numerics;

/// Start states that a ceiling is found from, at least and at most.
const STARTS: [u64; 2] = [10, 100];

/// The share of the budget that goes to plans without the help of any policy.
const UNAIDED: f64 = 0.25;

/// How much plans of PSO-P reach on the world model, from the same start states as the policy.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Ceiling {
    /// The mean return of the best plans.
    #[serde(rename = "return")]
    pub ceiling: f64,
    /// The same of plans that were found without the help of any policy.
    pub unaided: f64,
    /// The policy's own mean return from these start states.
    pub policy: f64,
    /// Start states that plans were searched from.
    pub start_states: usize,
    /// The mean return of doing nothing, every action in the middle of its limits; null in old files.
    #[serde(default)]
    pub idle: Option<f64>,
    /// How much of the way from doing nothing to the ceiling the policy goes, 1 at most and below 0 if it does worse than
    /// nothing; null if there is no way to go.
    #[serde(default)]
    pub share: Option<f64>,
    /// Model steps that the plans took; null in old files.
    #[serde(default)]
    pub model_steps: Option<u64>,
}

impl Ceiling {
    /// The share of the way below which a policy is a poor one.
    ///
    /// Plans know their start state and the whole future of the world, so no policy need go all the way. Good ones of the
    /// benchmarks went 96 % (mountain car) and 99 % (balancing); a search that was too short ended at 48 % (swing-up).
    pub const POOR: f64 = 0.8;

    /// The share of a search's model steps that a ceiling may take besides.
    pub const BUDGET_SHARE: f64 = 0.15;

    /// Rollouts from each of ten start states that a ceiling takes at least; of a process, which is slow, fewer.
    const LEAST_ROLLOUTS: [u64; 2] = [2_000, 300];

    /// Rollouts of a ceiling at most: good plans from fifty start states, whose mean hardly moves any more.
    const MOST_ROLLOUTS: u64 = 50 * Self::ROLLOUTS;

    /// Rollouts that plans from a start state need to be good: as many start states are taken as the budget has of them.
    pub const ROLLOUTS: u64 = 8_000;

    /// Model steps for the ceiling of a system whose search took so many, if that is known; a simulator is slow, and takes
    /// fewer.
    ///
    /// ```
    /// use fpsrl_data::System;
    /// use fpsrl_search::baseline::ceiling::Ceiling;
    /// let system = System::benchmark("cart-pole-swing-up")?;
    /// assert_eq!(Ceiling::budget(&system, false, Some(800_000_000)), 120_000_000);
    /// assert_eq!(Ceiling::budget(&system, false, None), 10_000_000);
    /// assert_eq!(Ceiling::budget(&system, false, Some(6_000_000_000)), 200_000_000);
    /// # Ok::<(), fpsrl_base::Error>(())
    /// ```
    pub fn budget(system: &System, simulated: bool, search_steps: Option<u64>) -> u64 {
        let rollouts = Self::LEAST_ROLLOUTS[usize::from(simulated)];
        let least = 10 * rollouts * system.horizon() as u64;
        let most = Self::MOST_ROLLOUTS * system.horizon() as u64;
        least.max((Self::BUDGET_SHARE * search_steps.unwrap_or(0) as f64) as u64).min(most)
    }

    /// How much of the way from doing nothing to the ceiling a return goes; none if there is no way to go.
    pub fn share_of(policy: f64, idle: f64, ceiling: f64) -> Option<f64> {
        let way = ceiling - idle;
        // What is next to nothing beside the returns is their rounding.
        let share = (policy - idle) / way;
        (way > 1e-6 * (ceiling.abs() + idle.abs()) && share.is_finite()).then(|| share.min(1.0))
    }

    /// What to try if the policy stays far below the ceiling; none if it does not.
    ///
    /// ```
    /// use fpsrl_search::baseline::ceiling::Ceiling;
    /// let ceiling = |share| Ceiling {
    ///     ceiling: -30.0, unaided: -32.0, policy: -40.0, start_states: 20,
    ///     idle: Some(-150.0), share, model_steps: Some(20_000_000),
    /// };
    /// assert!(ceiling(Some(0.4)).advice().unwrap().to_string().contains("more rules"));
    /// assert_eq!(ceiling(Some(0.92)).advice(), None);
    /// assert_eq!(ceiling(None).advice(), None);
    /// ```
    pub fn advice(&self) -> Option<Remedy> {
        let share = self.share.filter(|share| *share < Self::POOR)?;
        let how = match share > 0.0 {
            true => "far from the ceiling",
            false => "no better than doing nothing",
        };
        let more = Remedy::words(format!("{how}: try more rules (")).option("rules", Some("auto"));
        let effort = more.then("), more effort (").option("effort", Some("thorough"));
        Some(effort.then(") or a longer horizon"))
    }
}

/// What a ceiling is found with.
pub struct Plans<'a> {
    /// Where plans may start; how many of them do depends on the budget.
    pub starts: StartStates,
    /// What is measured beside the ceiling; doing nothing if there is none.
    pub rules: Option<&'a dyn Policy>,
    /// Other policies that the plans know.
    pub helpers: Vec<&'a dyn Policy>,
    /// Model steps to spend; [`Ceiling::budget`] says how many are reasonable.
    pub budget: u64,
    /// Instruction set and mode of the rollouts.
    pub numerics: Numerics,
}

/// How much any policy could reach on the first of some worlds.
pub fn ceiling(system: &System, worlds: &WorldSource, plans: Plans<'_>, progress: &Progress) -> Result<Ceiling> {
    let Plans { starts, rules, helpers, budget, numerics } = plans;
    let world = worlds.first(system)?;
    let world = world.as_ref();
    let [fewest, most] = STARTS;
    let count = (budget / (Ceiling::ROLLOUTS * system.horizon() as u64)).clamp(fewest, most);
    let starts = starts.first(count as usize);
    let pool: Vec<&dyn Policy> = rules.into_iter().chain(helpers).collect();
    let nothing = Linear::idle(system);
    let returns_of = |policy: &dyn Policy| world_returns(system, world, policy, &starts, numerics);
    let idle = returns_of(&nothing);
    let own = rules.map_or_else(|| idle.clone(), returns_of);
    let without = (UNAIDED * budget as f64) as u64;
    let plans = |policies: &[&dyn Policy], budget: u64| {
        let settings = PlanSettings { budget, ..PlanSettings::default() };
        plan_returns(system, world, &starts, policies, settings, numerics, progress)
    };
    let unaided = plans(&[], without)?;
    let aided = plans(&pool, budget - without)?;
    worlds.check()?;
    let best: Vec<f64> = unaided.returns.iter().zip(&aided.returns).map(|(a, b)| a.max(*b)).collect();
    // A start state from which a world runs away says nothing about what can be reached.
    let columns = [&best, &unaided.returns, &own, &idle];
    let sound: Vec<usize> =
        (0..starts.len()).filter(|index| columns.iter().all(|column| column[*index].is_finite())).collect();
    if sound.is_empty() {
        let rule = "from no start state does it give returns that are finite numbers";
        return Err(Error::setting(
            "the world model",
            "unsound",
            rule,
            "look at its verdict, and learn it from more data",
        ));
    }
    let [reached, unaided_mean, policy, idle] =
        columns.map(|column| mean(&sound.iter().map(|index| column[*index]).collect::<Vec<f64>>()));
    Ok(Ceiling {
        ceiling: reached,
        unaided: unaided_mean,
        policy,
        start_states: sound.len(),
        idle: Some(idle),
        share: Ceiling::share_of(policy, idle, reached),
        model_steps: Some(unaided.model_steps + aided.model_steps),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_the_way_ends_at_one_and_needs_a_way() {
        assert_eq!(Ceiling::share_of(-60.0, -100.0, -20.0), Some(0.5));
        assert_eq!(Ceiling::share_of(-120.0, -100.0, -20.0), Some(-0.25));
        assert_eq!(Ceiling::share_of(-19.0, -100.0, -20.0), Some(1.0));
        assert_eq!(Ceiling::share_of(0.0, 0.0, 0.0), None);
        assert_eq!(Ceiling::share_of(-63.6, -63.6, -63.6 + 1e-7), None);
        assert_eq!(Ceiling::share_of(f64::NAN, -100.0, -20.0), None);
    }

    #[test]
    fn a_ceiling_of_an_older_version_is_read() {
        let text = r#"{"return": -41.0, "unaided": -42.0, "policy": -43.0, "start_states": 10}"#;
        let ceiling: Ceiling = serde_json::from_str(text).unwrap();
        assert_eq!((ceiling.idle, ceiling.share, ceiling.advice()), (None, None, None));
    }
}
