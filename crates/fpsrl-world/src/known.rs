//! What the user knows of the world and need not be learned: the reward, or when a transition is absorbing.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use fpsrl_engine::formula::{self, Formula, FormulaError, Kind};
use fpsrl_engine::rollout::Columns;

/// The known parts of a world, as `world.json` holds them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownParts {
    /// The reward of a transition; null if it is learned.
    pub reward: Option<String>,
    /// When a transition is absorbing; null if that is learned.
    pub terminal: Option<KnownTerminal>,
    /// What a transition costs besides its reward; null if that is nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub costs: Option<String>,
    #[serde(skip)]
    parsed: Parsed,
}

/// The formulas, parsed when they are first needed. They follow from the texts, so two are never different.
#[derive(Clone, Debug, Default)]
struct Parsed(OnceLock<KnownKernel>);

impl PartialEq for Parsed {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl KnownParts {
    /// What is known; none if nothing is.
    pub fn new(reward: Option<String>, terminal: Option<KnownTerminal>, costs: Option<String>) -> Option<Self> {
        let known = reward.is_some() || terminal.is_some() || costs.is_some();
        known.then(|| Self { reward, terminal, costs, parsed: Parsed::default() })
    }

    /// The same with other costs.
    pub(super) fn with_costs(known: Option<&Self>, costs: Option<String>) -> Option<Self> {
        let (reward, terminal) = known.map_or((None, None), |known| (known.reward.clone(), known.terminal.clone()));
        Self::new(reward, terminal, costs)
    }

    /// The same over the variables of a world, parsed once.
    pub(super) fn kernel(&self, states: &[String], actions: &[String]) -> Result<&KnownKernel, FormulaError> {
        if let Some(parsed) = self.parsed.0.get() {
            return Ok(parsed);
        }
        let parsed = KnownKernel::parse(self, &formula::names(states, actions))?;
        Ok(self.parsed.0.get_or_init(|| parsed))
    }
}

/// A known terminal condition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownTerminal {
    /// The condition.
    pub condition: String,
    /// The mean reward of the log's rows that meet it; counts where the reward itself is not known.
    pub reward: f64,
    /// The reward of every step after that.
    pub later_reward: f64,
}

/// The known parts of a world, parsed and ready for lanes.
#[derive(Clone, Debug, Default)]
pub(super) struct KnownKernel {
    pub(super) reward: Option<Formula>,
    pub(super) terminal: Option<(Formula, f32, f32)>,
    pub(super) costs: Option<Formula>,
}

impl KnownKernel {
    fn parse(known: &KnownParts, names: &[String]) -> Result<Self, FormulaError> {
        let reward = known.reward.as_ref().map(|text| Formula::parse(text, names, Kind::Number)).transpose()?;
        let terminal = known.terminal.as_ref().map(|terminal| {
            let condition = Formula::parse(&terminal.condition, names, Kind::Truth)?;
            Ok((condition, terminal.reward as f32, terminal.later_reward as f32))
        });
        let costs = known.costs.as_ref().map(|text| Formula::parse(text, names, Kind::Number)).transpose()?;
        Ok(Self { reward, terminal: terminal.transpose()?, costs })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.reward.is_none() && self.terminal.is_none() && self.costs.is_none()
    }

    /// Sets what is known of a step whose next states stand in the columns, while `before` holds the states before it.
    pub(super) fn apply(&self, columns: &mut Columns<'_>, before: &[f32], limits: [f32; 2]) {
        let Columns { live, stride, states, actions, rewards, absorbed, later_rewards, .. } = columns;
        let (live, stride) = (*live, *stride);
        let (state_count, action_count) = (states.len() / stride, actions.len() / stride);
        let column = |index: usize| {
            let (from, place) = match index {
                _ if index < state_count => (before, index),
                _ if index < state_count + action_count => (&actions[..], index - state_count),
                _ => (&states[..], (index - state_count - action_count) % state_count),
            };
            &from[place * stride..][..stride]
        };
        if let Some(reward) = &self.reward {
            // A state that is NaN earns the worst.
            let limit = |value: f32| if value > limits[0] { value.min(limits[1]) } else { limits[0] };
            reward.evaluate_lanes(live, column, |lane, value| rewards[lane] = limit(value));
        }
        if let Some((condition, reward, later_reward)) = &self.terminal {
            absorbed[..live].fill(0.0);
            let learned = self.reward.is_none();
            condition.evaluate_lanes(live, column, |lane, value| {
                if value != 0.0 {
                    absorbed[lane] = 1.0;
                    later_rewards[lane] = *later_reward;
                    if learned {
                        rewards[lane] = *reward;
                    }
                }
            });
        }
        if let Some(costs) = &self.costs {
            costs.evaluate_lanes(live, column, |lane, value| rewards[lane] -= value.max(0.0));
        }
    }
}
