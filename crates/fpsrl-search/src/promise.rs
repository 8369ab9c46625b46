//! What a policy promises, and whether an independent judge confirms it.
//!
//! The members of the ensemble have been searched on: a policy does well on them also because it was chosen for that. The
//! judge's worlds come from episodes that nothing of the search has seen. Where both agree within their intervals, the
//! promise holds; where they do not, the policy has found a mistake of its world, and the next candidate is asked.

use serde::{Deserialize, Serialize};

use crate::SearchSettings;
use crate::returns::{half_width, on_lanes, world_returns};
use fpsrl_base::error::Result;
use fpsrl_data::System;
use fpsrl_engine::policy::{FuzzyKernel, FuzzyPolicy, Policy};
use fpsrl_engine::rollout::{Lanes, StartStates};
use fpsrl_engine::simd::Numerics;
use fpsrl_engine::world::World;
use fpsrl_world::model::WorldModel;
use fpsrl_world::quality::student;
use fpsrl_world::rewards::RewardEvidence;
use fpsrl_world::support::Support;
use fpsrl_world::{LearnedWorlds, NetworkWorld};

/// Start states whose rollouts are watched for steps outside the data.
const WATCHED: usize = 128;

/// Members that must have left a part of the log out before they stand in for a judge.
const FEWEST_PARTS: usize = 2;

/// What is in doubt of worlds before any policy is known.
#[derive(Clone, Debug, PartialEq)]
pub struct Doubts {
    /// What episodes that a member had not seen say of the members' rewards.
    pub rewards: RewardEvidence,
    /// The same of the judge.
    pub judge_rewards: RewardEvidence,
    /// By what factor the members' disagreement is widened where no judge testifies.
    pub widening: f64,
    /// Why the judge cannot judge; none if it can.
    pub judge_abstains: Option<String>,
}

impl Default for Doubts {
    fn default() -> Self {
        Self {
            rewards: RewardEvidence::default(),
            judge_rewards: RewardEvidence::default(),
            widening: 1.0,
            judge_abstains: None,
        }
    }
}

/// What a policy promises.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Promise {
    /// Its mean return over the members of the ensemble, from start states that the search has not seen.
    #[serde(rename = "return")]
    pub mean: f64,
    /// Where the true return lies with 95 %, by the members' disagreement, the number of start states, what episodes that a
    /// model had not seen say of its rewards, and what the judge says otherwise.
    pub interval: [f64; 2],
    /// Its mean return on the judge's worlds, or by cross-fitting where there is no judge that testifies; null without either.
    pub rescored: Option<f64>,
    /// The judge's own interval.
    pub judge_interval: Option<[f64; 2]>,
    /// Whether the judge confirms it: the two intervals meet, or the judge expects more. Null without a judge.
    pub holds: Option<bool>,
    /// The share of steps outside the log's ranges.
    pub outside: f64,
    /// Candidates that did better on the members and were refused before this one.
    pub rejected: usize,
    /// Of each member, the first one first: its mean return.
    pub member_returns: Vec<f64>,
    /// Who re-scored it: "judge", worlds from episodes that no member saw; or "cross-fitting", members that each left a part of
    /// the log out, corrected by what those parts say of their rewards. Null if nobody did.
    #[serde(default)]
    pub judged_by: Option<String>,
    /// By how much the return may be less, and more, because of what the log can tell of its rewards.
    #[serde(default)]
    pub reward_doubt: [f64; 2],
    /// By what factor the members' disagreement was widened.
    #[serde(default = "one")]
    pub widening: f64,
    /// Why the judge does not testify; null if it does, or if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge_abstains: Option<String>,
    /// The mean return over the members under the inputs that the search saw; the promise is made under others. Null without
    /// inputs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub under_searched_inputs: Option<f64>,
    /// The mean return over the members without the noise and the disturbances of the log, which rollouts replay: some of them are
    /// the sensors', and some the model's own errors, and a plant need not have them. The promise reaches up to it. Null where
    /// none are replayed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without_noise: Option<f64>,
    /// Of each range that a state should keep to: the state, and the share of steps outside of it, the worst of the members.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<(String, f64)>,
    /// Whether it breaks a hard limit on any member.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub breaks: bool,
}

fn one() -> f64 {
    1.0
}

impl Promise {
    /// What a policy promises from given start states, beside what is in doubt.
    pub fn of(
        system: &System,
        worlds: &LearnedWorlds,
        doubts: &Doubts,
        policy: &FuzzyPolicy,
        starts: &StartStates,
        numerics: Numerics,
    ) -> Result<Self> {
        let kernel = FuzzyKernel::new(policy);
        let scored = |models: &mut dyn Iterator<Item = &WorldModel>| -> Result<Vec<Vec<f64>>> {
            models
                .map(|model| Ok(world_returns(system, &NetworkWorld::new(model)?, &kernel, starts, numerics)))
                .collect()
        };
        let members = scored(&mut worlds.all_members())?;
        let judge_abstains = doubts.judge_abstains.clone().filter(|_| !worlds.judges.is_empty());
        let judges = if judge_abstains.is_some() { Vec::new() } else { scored(&mut worlds.judges.iter())? };
        let steps = (0..system.horizon()).map(|step| system.discount().powi(step as i32)).sum::<f64>();
        let clusters = system.clusters(starts);
        let clusters = clusters.as_deref();
        let watched = starts.clone().first(WATCHED);
        let in_doubt = |world: &WorldModel, evidence: &RewardEvidence| -> Result<InDoubt> {
            let world = NetworkWorld::new(world)?;
            Ok(InDoubt::of(system, &world, &kernel, evidence, &watched, steps, numerics))
        };
        let doubt = in_doubt(&worlds.world, &doubts.rewards)?;
        // No return lies beyond what the rewards of the log allow, and what it may hide.
        let [low, high] = worlds.world.reward_limits;
        let [less, more] = doubts.rewards.beyond;
        let possible = [(low - less) * steps, (high + more) * steps];
        let widening = if judges.is_empty() { doubts.widening } else { 1.0 };
        let (mean, own) = interval(&members, clusters, widening, doubt.range, possible);
        let judged = match judges.first() {
            Some(_) => {
                let doubt = in_doubt(&worlds.judges[0], &doubts.judge_rewards)?;
                Some((self::interval(&judges, clusters, 1.0, doubt.range, possible), "judge"))
            }
            // The members that left a part of the log out, corrected by what those parts say.
            None if worlds.members.len() >= FEWEST_PARTS => {
                let (told, told_within) = self::interval(&members[1..], clusters, widening, doubt.range, possible);
                let corrected = |value: f64| (value + doubt.bias).clamp(possible[0], possible[1]);
                Some(((corrected(told), told_within.map(corrected)), "cross-fitting"))
            }
            None => None,
        };
        // What the judge says otherwise is doubt: it is one more world, learned from other episodes.
        let apart = judged.map_or(0.0, |((judged, _), _)| judged - mean);
        let widened = |end: f64| mean + (end - mean).signum() * (end - mean).hypot(apart);
        let without_noise = without_noise(system, worlds, &kernel, starts, numerics)?;
        let upper = without_noise.unwrap_or(f64::NEG_INFINITY).max(widened(own[1]));
        let interval = [widened(own[0]).max(possible[0]), upper.min(possible[1])];
        let kept = kept_ranges(system, worlds, &kernel, &watched, numerics)?;
        let under_searched_inputs = match system.place() {
            None => None,
            Some(_) => Some(over_members(system, worlds, &kernel, &system.search_starts(0, starts.len()), numerics)?),
        };
        let outside = match &worlds.support {
            None => 0.0,
            Some(support) => {
                let world = NetworkWorld::new(&worlds.world)?;
                share_outside(system, &world, &kernel, support, &watched, numerics)
            }
        };
        Ok(Self {
            mean,
            interval,
            rescored: judged.map(|((mean, _), _)| mean),
            judge_interval: judged.map(|((_, interval), _)| interval),
            holds: judged.map(|((_, judge), _)| judge[1] >= own[0]),
            outside,
            rejected: 0,
            member_returns: members.iter().map(|returns| mean_of(returns)).collect(),
            judged_by: judged.map(|(_, by)| by.to_owned()),
            reward_doubt: doubt.range,
            widening,
            judge_abstains,
            under_searched_inputs,
            without_noise,
            breaks: kept.iter().any(|(_, share, hard)| *hard && *share > 0.0),
            left: kept.into_iter().map(|(state, share, _)| (state, share)).collect(),
        })
    }

    /// What a policy promises on a world that is known: nothing but the start states is left to chance.
    pub fn on(
        system: &System,
        world: &dyn World,
        policy: &FuzzyPolicy,
        starts: &StartStates,
        numerics: Numerics,
    ) -> Self {
        let returns = vec![world_returns(system, world, &FuzzyKernel::new(policy), starts, numerics)];
        let steps = (0..system.horizon()).map(|step| system.discount().powi(step as i32)).sum::<f64>();
        let (mean, interval) = interval(
            &returns,
            system.clusters(starts).as_deref(),
            1.0,
            [0.0; 2],
            [f64::NEG_INFINITY, world.largest_reward() * steps],
        );
        Self {
            mean,
            interval,
            rescored: None,
            judge_interval: None,
            holds: None,
            outside: 0.0,
            rejected: 0,
            member_returns: vec![mean],
            judged_by: None,
            reward_doubt: [0.0; 2],
            widening: 1.0,
            judge_abstains: None,
            under_searched_inputs: None,
            without_noise: None,
            breaks: false,
            left: Vec::new(),
        }
    }

    /// Whether a policy with this promise may be taken.
    pub fn is_acceptable(&self, settings: &SearchSettings) -> bool {
        self.holds != Some(false) && !self.breaks && settings.outside_limit.is_none_or(|limit| self.outside <= limit)
    }
}

/// The first of the candidates, the best one first, whose promise holds; the first of all if none does.
pub fn choose(
    system: &System,
    settings: &SearchSettings,
    worlds: &LearnedWorlds,
    doubts: &Doubts,
    candidates: &[FuzzyPolicy],
    starts: &StartStates,
    numerics: Numerics,
) -> Result<Option<(usize, Promise)>> {
    if system.place().is_some() {
        return choose_under_other_inputs(system, settings, worlds, doubts, candidates, starts, numerics);
    }
    let mut first = None;
    for (index, policy) in candidates.iter().enumerate() {
        let promise = Promise::of(system, worlds, doubts, policy, starts, numerics)?;
        if promise.is_acceptable(settings) {
            return Ok(Some((index, Promise { rejected: index, ..promise })));
        }
        first.get_or_insert(promise);
    }
    Ok(first.map(|promise| (0, promise)))
}

/// The candidate that promises most under inputs that the search has not seen, of those whose promise holds; of all if none
/// does. Candidates of a search that saw a few stretches of a log differ by how much they lean on those.
fn choose_under_other_inputs(
    system: &System,
    settings: &SearchSettings,
    worlds: &LearnedWorlds,
    doubts: &Doubts,
    candidates: &[FuzzyPolicy],
    starts: &StartStates,
    numerics: Numerics,
) -> Result<Option<(usize, Promise)>> {
    let promises = candidates
        .iter()
        .map(|policy| Promise::of(system, worlds, doubts, policy, starts, numerics))
        .collect::<Result<Vec<Promise>>>()?;
    let rejected = promises.iter().filter(|promise| !promise.is_acceptable(settings)).count();
    let rank = |promise: &Promise| (promise.is_acceptable(settings), promise.mean);
    let best = promises.into_iter().enumerate().reduce(|best, next| {
        let (old, new) = (rank(&best.1), rank(&next.1));
        if (new.0 && !old.0) || (new.0 == old.0 && new.1 > old.1) { next } else { best }
    });
    Ok(best.map(|(index, promise)| {
        // Where none holds, none was refused for another.
        let rejected = if promise.is_acceptable(settings) { rejected } else { 0 };
        (index, Promise { rejected, ..promise })
    }))
}

fn mean_of(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The mean over worlds, and where one more world's return from fresh start states would lie with 95 %.
fn interval(
    returns: &[Vec<f64>],
    clusters: Option<&[usize]>,
    widening: f64,
    [less, more]: [f64; 2],
    [lowest, highest]: [f64; 2],
) -> (f64, [f64; 2]) {
    let means: Vec<f64> = returns.iter().map(|returns| mean_of(returns)).collect();
    let mean = mean_of(&means);
    // The returns of each start state, averaged over worlds: their variance is that of the start states.
    let by_start =
        (0..returns[0].len()).map(|start| returns.iter().map(|world| world[start]).sum::<f64>() / means.len() as f64);
    let of_starts = half_width(&by_start.collect::<Vec<f64>>(), clusters);
    let half = of_starts.hypot(widening * of_worlds(&means));
    (mean, [(mean - half.hypot(less)).max(lowest), (mean + half.hypot(more)).min(highest)])
}

/// The half-width of where one more world's value lies with 95 %, given those of some worlds.
pub(crate) fn of_worlds(values: &[f64]) -> f64 {
    let (count, mean) = (values.len() as f64, mean_of(values));
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
    student(values.len()) * (variance * (1.0 + 1.0 / count)).sqrt()
}

/// What a policy earns on the members without what they replay of the log's noise; none if they replay none.
fn without_noise(
    system: &System,
    worlds: &LearnedWorlds,
    policy: &dyn Policy,
    starts: &StartStates,
    numerics: Numerics,
) -> Result<Option<f64>> {
    if system.place().is_none() || !worlds.world.replays_noise() {
        return Ok(None);
    }
    over_members(system, &worlds.clone().without_noise(), policy, starts, numerics).map(Some)
}

/// A policy's mean return over members.
fn over_members(
    system: &System,
    worlds: &LearnedWorlds,
    policy: &dyn Policy,
    starts: &StartStates,
    numerics: Numerics,
) -> Result<f64> {
    let returns = worlds
        .all_members()
        .map(|model| Ok(mean_of(&world_returns(system, &NetworkWorld::new(model)?, policy, starts, numerics))))
        .collect::<Result<Vec<f64>>>()?;
    Ok(mean_of(&returns))
}

/// What is in doubt of a return because of what is in doubt of rewards.
struct InDoubt {
    /// By how much it may be less, and more.
    range: [f64; 2],
    /// What unseen rows say that it is more, in the mean.
    bias: f64,
}

impl InDoubt {
    /// Of a policy, by the rewards that it earns on a world while the plant moves.
    fn of(
        system: &System,
        world: &dyn World,
        policy: &dyn Policy,
        evidence: &RewardEvidence,
        starts: &StartStates,
        steps: f64,
        numerics: Numerics,
    ) -> Self {
        let (mut doubt, mut bias) = (0.0, 0.0);
        if !evidence.levels.is_empty() {
            while_moving(system, world, policy, starts, numerics, |step, lanes, lane| {
                let weight = system.discount().powi(step as i32);
                let reward = f64::from(lanes.rewards()[lane]);
                doubt += weight * evidence.doubt(reward);
                bias += weight * evidence.bias(reward);
            });
        }
        let mean = |sum: f64| sum / starts.len().max(1) as f64;
        let [less, more] = evidence.hidden.map(|step| step * steps);
        Self { range: [less.hypot(mean(doubt)), more.hypot(mean(doubt))], bias: mean(bias) }
    }
}

/// Of each range that a state should keep to: the state, the largest share of steps outside over the members, whether it is hard.
fn kept_ranges(
    system: &System,
    worlds: &LearnedWorlds,
    policy: &dyn Policy,
    starts: &StartStates,
    numerics: Numerics,
) -> Result<Vec<(String, f64, bool)>> {
    let wanted = system.states().iter().enumerate().filter_map(|(index, state)| Some((index, state, state.keep?)));
    let mut kept = Vec::new();
    for (index, state, keep) in wanted {
        let mut ranges = vec![[f64::MIN / 4.0, f64::MAX / 4.0]; system.states().len()];
        ranges[index] = keep.range;
        let support = Support { ranges, ..Support::default() };
        let mut worst = 0.0f64;
        for model in worlds.all_members() {
            worst = worst.max(share_outside(system, &NetworkWorld::new(model)?, policy, &support, starts, numerics));
        }
        kept.push((state.name.clone(), worst, keep.hard));
    }
    Ok(kept)
}

/// The share of a policy's steps whose next state lies outside the log's ranges.
pub fn share_outside(
    system: &System,
    world: &dyn World,
    policy: &dyn Policy,
    support: &Support,
    starts: &StartStates,
    numerics: Numerics,
) -> f64 {
    let (mut outside, mut steps) = (0u64, 0u64);
    let mut state = vec![0.0; world.state_count()];
    while_moving(system, world, policy, starts, numerics, |_, lanes, lane| {
        for (variable, value) in state.iter_mut().enumerate() {
            *value = f64::from(lanes.state(variable)[lane]);
        }
        outside += u64::from(support.distance(&state) > 0.0);
        steps += 1;
    });
    outside as f64 / steps.max(1) as f64
}

/// Shows each step of a policy's rollouts, until the plant stops: its number, and a lane after it.
fn while_moving(
    system: &System,
    world: &dyn World,
    policy: &dyn Policy,
    starts: &StartStates,
    numerics: Numerics,
    mut seen: impl FnMut(usize, &Lanes, usize),
) {
    let mut lanes = on_lanes(world, starts);
    for step in 0..system.horizon() {
        policy.act(&mut lanes, numerics);
        world.advance(&mut lanes, numerics);
        for lane in (0..lanes.live()).rev() {
            if lanes.absorbed()[lane] != 0.0 {
                lanes.retire(lane);
                continue;
            }
            seen(step, &lanes, lane);
        }
        if lanes.live() == 0 {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fpsrl_data::scaling::Scale;
    use fpsrl_data::system::{Surroundings, WrittenAction, WrittenState, WrittenSystem};
    use fpsrl_engine::policy::{ActionRules, Quantity, Rule};
    use fpsrl_engine::simd::Mode;
    use fpsrl_world::model::{FORMAT, VariableModel};
    use fpsrl_world::network::{Layer, Network};
    use fpsrl_world::predictor::Predictor;
    use fpsrl_world::rewards::Told;

    /// A quantity that is `slope` times the input of this number, for arctangents that are nearly linear.
    fn variable(name: &str, inputs: usize, input: usize, slope: f64) -> VariableModel {
        let mut weights = vec![0.0; inputs];
        weights[input] = 1e-3;
        VariableModel {
            name: name.into(),
            angle: false,
            inputs: vec![Scale { centre: 0.0, spread: 1.0 }; inputs],
            output: Scale { centre: 0.0, spread: 1.0 },
            validation_error: 0.0,
            generalisation_error: 0.0,
            depths: vec![],
            predictor: Predictor::Network(Network {
                layers: vec![
                    Layer { inputs, outputs: 1, weights, biases: vec![0.0] },
                    Layer { inputs: 1, outputs: 1, weights: vec![1e3 * slope], biases: vec![0.0] },
                ],
            }),
        }
    }

    /// A world that moves by a tenth of the action and rewards so many times the action.
    fn world(reward: f64) -> WorldModel {
        WorldModel {
            format: FORMAT,
            states: vec!["place".into()],
            actions: vec!["push".into()],
            variables: vec![variable("place", 2, 1, 0.1)],
            reward: variable("reward", 3, 1, reward),
            reward_limits: [-1.0, 1.0],
            absorbing: None,
            known: None,
            actuators: Vec::new(),
            saturations: Vec::new(),
            replay: None,
        }
    }

    fn worlds(members: &[f64], judges: &[f64]) -> LearnedWorlds {
        LearnedWorlds {
            world: world(members[0]),
            members: members[1..].iter().map(|reward| world(*reward)).collect(),
            judges: judges.iter().map(|reward| world(*reward)).collect(),
            support: Some(Support { ranges: vec![[-1.0, 1.0]], worst_moving: -1.0, worst: -1.0, ..Support::default() }),
        }
    }

    /// A policy that always pushes with this share of the limits.
    fn pushing(share: f64) -> FuzzyPolicy {
        FuzzyPolicy {
            states: vec![Quantity::new("place", "")],
            mirrored: false,
            actions: vec![ActionRules {
                name: "push".into(),
                unit: String::new(),
                limits: [-1.0, 1.0],
                rate: None,
                reach: 1.0,
                alpha: 1.0,
                rules: vec![Rule { centre: vec![0.0], width: vec![1.0], output: share.atanh() }],
            }],
        }
    }

    fn system() -> System {
        let written = WrittenSystem {
            name: Some("push".into()),
            horizon: Some(40),
            states: vec![WrittenState { name: "place".into(), start: Some([-0.1, 0.1]), ..WrittenState::default() }],
            actions: vec![WrittenAction { name: "push".into(), limits: Some([-1.0, 1.0]), ..WrittenAction::default() }],
            ..WrittenSystem::default()
        };
        written.check(&Surroundings::default()).unwrap()
    }

    fn chosen_of(candidates: &[FuzzyPolicy], worlds: &LearnedWorlds, settings: &SearchSettings) -> (usize, Promise) {
        let system = system();
        let (starts, numerics) = (system.judging_starts(20), Numerics::detect(Mode::Fast));
        choose(&system, settings, worlds, &Doubts::default(), candidates, &starts, numerics).unwrap().unwrap()
    }

    fn chosen(worlds: &LearnedWorlds, settings: &SearchSettings) -> (usize, Promise) {
        chosen_of(&[pushing(0.9), pushing(0.5), pushing(-0.9)], worlds, settings)
    }

    #[test]
    fn a_promise_that_the_judge_confirms_is_taken() {
        let (index, promise) = chosen(&worlds(&[0.9, 0.91, 0.89], &[0.88, 0.9]), &SearchSettings::default());
        assert_eq!((index, promise.holds, promise.rejected), (0, Some(true), 0));
        assert!(promise.interval[0] < promise.mean && promise.mean < promise.interval[1]);
        assert_eq!(promise.member_returns.len(), 3);
    }

    #[test]
    fn a_policy_that_exploits_its_world_gives_way_to_the_next() {
        // To the members pushing up pays, to the judge it costs; only pushing down keeps what it promises.
        let (index, promise) = chosen(&worlds(&[0.9, 0.91, 0.89], &[-0.9, -0.91, -0.89]), &SearchSettings::default());
        assert_eq!((index, promise.holds, promise.rejected), (2, Some(true), 2));
    }

    #[test]
    fn if_no_promise_holds_the_best_is_kept_and_says_so() {
        let worlds = worlds(&[0.9, 0.91, 0.89], &[-0.9, -0.91, -0.89]);
        let candidates = [pushing(0.9), pushing(0.5)];
        let (index, promise) = chosen_of(&candidates, &worlds, &SearchSettings::default());
        assert_eq!((index, promise.holds), (0, Some(false)));
    }

    #[test]
    fn members_that_disagree_make_the_interval_wide_and_no_wider_than_rewards_allow() {
        let width = |members: &[f64]| {
            let (_, promise) = chosen(&worlds(members, &[]), &SearchSettings::default());
            // Without a judge, the members that left a part of the log out speak for it.
            assert_eq!((promise.holds, promise.judged_by.as_deref()), (Some(true), Some("cross-fitting")));
            promise.interval[1] - promise.interval[0]
        };
        let (agreed, apart) = (width(&[0.9, 0.9, 0.9]), width(&[0.9, 0.5, -0.9]));
        assert!(agreed < 0.01 && apart > 10.0, "{agreed} {apart}");
        let most: f64 = (0..40).map(|step| system().discount().powi(step)).sum();
        assert!(apart <= 2.0 * most + 1e-9);
    }

    #[test]
    fn what_the_log_hardly_shows_widens_the_promise_and_a_pair_of_worlds_is_not_cross_fitted() {
        let told = |visits: usize, predicted: f64, recorded: f64| {
            (0..visits as u64).map(move |episode| Told { episode, predicted, recorded })
        };
        // Pushing at 0.9 earns 0.81 a step: in so many visits of unseen rows it did, in so many others a tenth was earned.
        let promised = |good: usize, bad: usize, widening: f64| {
            let mut rows: Vec<Told> = told(good, 0.81, 0.81).chain(told(bad, 0.81, 0.1)).collect();
            rows.extend(told(200, -0.2, -0.2));
            let doubts = Doubts { rewards: RewardEvidence::of(&rows), widening, ..Doubts::default() };
            let (system, numerics) = (system(), Numerics::detect(Mode::Fast));
            let starts = system.judging_starts(20);
            Promise::of(&system, &worlds(&[0.9, 0.91, 0.89], &[]), &doubts, &pushing(0.9), &starts, numerics).unwrap()
        };
        let lowest = |good, bad, widening| promised(good, bad, widening).interval[0];
        let steps: f64 = (0..40).map(|step| system().discount().powi(step)).sum();
        assert!(lowest(2, 0, 1.0) < lowest(20, 0, 1.0) - 0.1 * steps);
        assert!(lowest(20, 0, 1.0) < lowest(2_000, 0, 1.0));
        assert!(lowest(2_000, 0, 3.0) < lowest(2_000, 0, 1.0));
        // Cross-fitting says what those visits earned.
        let half_wrong = promised(1_000, 1_000, 1.0);
        let rescored = half_wrong.rescored.unwrap();
        assert!((half_wrong.mean - rescored - 0.355 * steps).abs() < 0.01 * steps, "{half_wrong:?}");
        assert!(half_wrong.interval[0] < rescored);
        let (_, pair) = chosen(&worlds(&[0.9, 0.9], &[]), &SearchSettings::default());
        assert_eq!((pair.holds, pair.rescored, pair.judged_by), (None, None, None));
    }

    #[test]
    fn steps_outside_the_data_are_counted_and_limited() {
        let worlds = worlds(&[0.9, 0.91, 0.89], &[]);
        // Pushing at 0.9 leaves [-1, 1] after about eleven of forty steps, pushing at 0.5 after about twenty.
        let (_, promise) = chosen(&worlds, &SearchSettings::default());
        assert!((promise.outside - 0.72).abs() < 0.06, "{}", promise.outside);
        let limited = SearchSettings { outside_limit: Some(0.6), ..SearchSettings::default() };
        let (index, promise) = chosen(&worlds, &limited);
        assert_eq!((index, promise.rejected), (1, 1));
        assert!((promise.outside - 0.5).abs() < 0.06, "{}", promise.outside);
    }
}
