//! Is the controller better than what the plant does today, from the same starts, and is that certain?
//!
//! Today is what the log did: where rollouts start in rows of the log, what it earned from those very rows over the same
//! horizon, under the same inputs; where they start elsewhere, what its windows earned; and for a log of random actions, what
//! random actions earn on the worlds. The gain is the difference, beside its doubt: the start states, the disagreement of the
//! members, and what the judge says otherwise. GO means that the gain is certain, NO-GO that none exceeds the doubt.

use serde::{Deserialize, Serialize};

use crate::baseline::behaviour::logged_return;
use crate::baseline::pi::PiController;
use crate::promise::{Promise, of_worlds};
use crate::returns::{half_width, mean, random_returns, world_returns};
use crate::tracking::{ControlFigures, of_the_log, on_a_world};
use fpsrl_base::error::Result;
use fpsrl_base::random::{Purpose, Stream};
use fpsrl_data::{System, Transitions};
use fpsrl_engine::policy::Policy;
use fpsrl_engine::rollout::{Lanes, StartStates};
use fpsrl_engine::simd::Numerics;
use fpsrl_engine::world::World;
use fpsrl_world::quality::{Verdict, Word};

/// Start states whose rollouts are compared with the log's in the user's units.
const WATCHED: usize = 200;

/// Steps outside of the log's ranges that a user must hear of, as a share.
const MUCH_OUTSIDE: f64 = 0.25;

/// The policy beside what the plant does today.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gain {
    /// What the plant earns today, in the mean.
    pub today: f64,
    /// What that is: "log" from the same starts, "windows" of the log, or "random" actions.
    pub today_is: String,
    /// Start states that are compared.
    pub starts: usize,
    /// What the plant truly earns today where there is a plant to try it on: a generated log's random actions; else null.
    #[serde(default)]
    pub true_today: Option<f64>,
    /// What the policy earns from the same starts, on the members.
    pub policy: f64,
    /// The policy's return less today's.
    pub gain: f64,
    /// Where the true gain lies with 95 %.
    pub interval: [f64; 2],
    /// The gain as the judge's worlds tell it; null without a judge that testifies.
    pub by_the_judge: Option<f64>,
    /// What a PI controller earns that was tuned on the same worlds, from the same starts; null where nothing tracks a set-point.
    pub pi: Option<f64>,
    /// That controller.
    pub pi_controller: Option<PiController>,
    /// What a P controller earns.
    pub p: Option<f64>,
    /// In the user's units: the policy on the first member; null where nothing tracks a set-point.
    pub figures: Option<ControlFigures>,
    /// The same of the log, from the same starts.
    pub figures_today: Option<ControlFigures>,
    /// The same of the PI controller.
    pub figures_pi: Option<ControlFigures>,
}

/// What the policy is compared on.
pub struct Grounds<'a> {
    /// What is controlled.
    pub system: &'a System,
    /// The log.
    pub transitions: &'a Transitions,
    /// Whether the log's actions are random draws, as those of a generated one are.
    pub random: bool,
    /// The members on lanes.
    pub members: &'a [Box<dyn World>],
    /// The judge's worlds; empty if it does not testify.
    pub judges: &'a [Box<dyn World>],
    /// Where rollouts start.
    pub starts: &'a StartStates,
    /// The numerics of rollouts.
    pub numerics: Numerics,
}

/// What the plant earns today.
pub struct Today {
    /// The start states from which that is known, by their numbers, and what the plant earns from each.
    pub kept: Vec<(usize, f64)>,
    /// What that is: "log" from the same starts, "windows" of the log, or "random" actions.
    pub what: &'static str,
}

impl Today {
    /// The mean over those start states.
    pub fn value(&self) -> f64 {
        self.kept.iter().map(|(_, value)| value).sum::<f64>() / self.kept.len().max(1) as f64
    }

    /// The mean over the same start states of other returns, one for each start state.
    pub fn over(&self, returns: &[f64]) -> f64 {
        self.kept.iter().map(|(start, _)| returns[*start]).sum::<f64>() / self.kept.len().max(1) as f64
    }
}

/// An action of a log of random ones, for the lane or the start state of this number.
fn random_action(system: &System, index: usize, step: u32, number: u32) -> f64 {
    let [low, high] = system.actions()[index].limits;
    Stream::new(system.seed(), Purpose::LogAction).within(low, high, step, number, 100 + index as u32)
}

/// Random actions within their limits, the same ones in the same step of every comparison.
struct RandomActions<'a> {
    system: &'a System,
    step: std::sync::atomic::AtomicU32,
}

impl Policy for RandomActions<'_> {
    fn act(&self, lanes: &mut Lanes, _: Numerics) {
        let step = self.step.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        for index in 0..self.system.actions().len() {
            for lane in 0..lanes.live() {
                lanes.action_mut(index)[lane] = random_action(self.system, index, step, lane as u32) as f32;
            }
        }
    }
}

impl Grounds<'_> {
    /// The mean return of a policy over worlds, for each start state.
    pub(crate) fn returns(&self, worlds: &[Box<dyn World>], policy: &dyn Policy) -> Vec<Vec<f64>> {
        worlds
            .iter()
            .map(|world| world_returns(self.system, world.as_ref(), policy, self.starts, self.numerics))
            .collect()
    }

    /// The start states whose rollouts are watched.
    fn watched(&self) -> StartStates {
        self.starts.clone().first(WATCHED)
    }

    /// How a policy controls the first member, in the user's units; none where nothing tracks a set-point.
    pub(crate) fn figures(&self, policy: &dyn Policy) -> Option<ControlFigures> {
        let world = self.members.first()?;
        on_a_world(self.system, world.as_ref(), policy, &self.watched(), self.numerics)
    }

    /// How the log controlled the plant from the same starts.
    pub(crate) fn figures_today(&self) -> Option<ControlFigures> {
        of_the_log(self.system, self.transitions, &self.watched())
    }

    /// What the log earned from each start state, where it can be followed from there for the whole horizon.
    fn logged(&self) -> Option<Vec<Option<f64>>> {
        let place = self.system.place()?;
        let later = fpsrl_data::absorbing::rewards_from_then_on(self.transitions);
        let horizon = self.system.horizon();
        let discounts: Vec<f64> = (0..horizon).map(|step| self.system.discount().powi(step as i32)).collect();
        let from = |start: f64| {
            let mut row = start as usize;
            let mut sum = 0.0;
            for (step, discount) in discounts.iter().enumerate() {
                sum += discount * self.transitions.rewards.get(row)?;
                if let Some(reward) = later[row] {
                    return Some(sum + reward * discounts[step + 1..].iter().sum::<f64>());
                }
                match self.transitions.successor(row) {
                    Some(next) => row = next,
                    None if step + 1 == horizon => {}
                    None => return None,
                }
            }
            Some(sum)
        };
        Some(self.starts.column(place).iter().map(|start| from(*start)).collect())
    }

    /// What the plant earns today. Only starts from which it can be followed count.
    pub fn today(&self) -> Today {
        let (today, what) = match self.logged().filter(|logged| logged.iter().flatten().count() >= 20) {
            Some(logged) => (logged, "log"),
            None if self.random => {
                let random = RandomActions { system: self.system, step: Default::default() };
                let returns = self.returns(self.members, &random);
                let each =
                    (0..self.starts.len()).map(|start| mean(&returns.iter().map(|one| one[start]).collect::<Vec<_>>()));
                (each.map(Some).collect(), "random")
            }
            None => {
                let logged = logged_return(self.system, self.transitions);
                (vec![Some(logged.value); self.starts.len()], "windows")
            }
        };
        let kept = today.iter().enumerate().filter_map(|(start, value)| Some((start, (*value)?))).collect();
        Today { kept, what }
    }

    /// What a log of random actions truly earns from the same starts, where there is a plant to try it on.
    fn true_today(&self) -> Option<f64> {
        let plant = self.system.plant().filter(|_| self.random)?;
        let actions = self.system.actions().len();
        let returns = random_returns(self.system, plant, self.starts, |start, step| {
            (0..actions).map(|index| random_action(self.system, index, step, start)).collect()
        });
        Some(mean(&returns))
    }

    /// The policy beside what the plant does today, and beside controllers that were tuned on the same worlds.
    pub fn compare(
        &self,
        policy: &dyn Policy,
        promise: &Promise,
        pi: Option<(PiController, &dyn Policy)>,
        p: Option<&dyn Policy>,
    ) -> Result<Gain> {
        let members = self.returns(self.members, policy);
        let judges = self.returns(self.judges, policy);
        let known = self.today();
        let (kept, today) = (&known.kept, known.value());
        let over = |returns: &[f64]| known.over(returns);
        let gains: Vec<f64> = members.iter().map(|returns| over(returns) - today).collect();
        let gain = mean(&gains);
        let paired: Vec<f64> = kept
            .iter()
            .map(|(start, value)| mean(&members.iter().map(|returns| returns[*start]).collect::<Vec<f64>>()) - value)
            .collect();
        let clusters = self.system.clusters(self.starts);
        let clusters: Option<Vec<usize>> =
            clusters.map(|clusters| kept.iter().map(|(start, _)| clusters[*start]).collect());
        let of_starts = half_width(&paired, clusters.as_deref());
        let by_the_judge = (!judges.is_empty())
            .then(|| mean(&judges.iter().map(|returns| over(returns) - today).collect::<Vec<f64>>()));
        // What a judge says otherwise, or cross-fitting in its place.
        let apart = match by_the_judge {
            Some(judged) => judged - gain,
            None => promise.rescored.map_or(0.0, |rescored| rescored - promise.mean),
        };
        let half = of_starts.hypot(promise.widening * of_worlds(&gains)).hypot(apart);
        let quieter = promise.without_noise.map_or(0.0, |quiet| quiet - promise.mean);
        let [less, more] = promise.reward_doubt.map(|doubt| half.hypot(doubt));
        let figures = |policy: &dyn Policy| self.figures(policy);
        let member_mean = |policy: &dyn Policy| {
            let returns = self.returns(self.members, policy);
            mean(&returns.iter().map(|returns| over(returns)).collect::<Vec<f64>>())
        };
        Ok(Gain {
            today,
            today_is: known.what.to_owned(),
            true_today: self.true_today(),
            starts: kept.len(),
            policy: gain + today,
            gain,
            interval: [gain - less, gain + more.max(quieter)],
            by_the_judge,
            pi: pi.as_ref().map(|(_, kernel)| member_mean(*kernel)),
            p: p.map(member_mean),
            figures: figures(policy),
            figures_today: self.figures_today(),
            figures_pi: pi.as_ref().and_then(|(_, kernel)| figures(*kernel)),
            pi_controller: pi.map(|(controller, _)| controller),
        })
    }
}

impl Gain {
    /// The verdict on the controller: the word, and why.
    pub fn verdict(&self, world: &Verdict, promise: &Promise) -> (Word, String) {
        let number = |value: f64| fpsrl_base::text::number(value);
        // The doubt that counts against it.
        let half = self.gain - self.interval[0];
        let told = match self.today_is.as_str() {
            "log" => "what the log earned from the same starts",
            "random" => "random actions, which made the log",
            _ => "what the log earned",
        };
        let measured = format!("{} ± {} more than {told}", number(self.gain), number(half));
        if let Some(reason) = &world.no_effect {
            return (Word::NoGo, reason.clone());
        }
        if self.gain <= 0.0 || self.by_the_judge.is_some_and(|gain| gain <= 0.0) && self.gain < half {
            return (Word::NoGo, format!("no gain: the policy earns {measured}"));
        }
        if self.interval[0] <= 0.0 {
            let word = if self.gain > 0.5 * half { Word::Careful } else { Word::NoGo };
            return (word, format!("the gain does not exceed the doubt: the policy earns {measured}"));
        }
        let mut doubts: Vec<String> = Vec::new();
        if promise.holds == Some(false) {
            let who = if promise.judge_abstains.is_some() { "cross-fitting" } else { "the judge" };
            doubts.push(format!("{who} expects less than the members promise"));
        }
        if let Some(why) = promise.judge_abstains.as_ref().filter(|_| promise.judged_by.is_none()) {
            doubts.push(why.clone());
        }
        if promise.outside > MUCH_OUTSIDE {
            let share = 100.0 * promise.outside;
            doubts.push(format!("{share:.0} % of its steps lie outside of what the log covers"));
        }
        if let Some(pi) = self.pi.filter(|pi| *pi > self.policy + 0.02 * self.gain.abs()) {
            doubts.push(format!("a tuned PI controller earns more on the same worlds, {}", number(pi)));
        }
        doubts.extend(world.caveats());
        match doubts.first() {
            None => (Word::Go, format!("the gain is certain: the policy earns {measured}")),
            Some(doubt) => (Word::Careful, format!("the policy earns {measured}, but {doubt}")),
        }
    }
}
