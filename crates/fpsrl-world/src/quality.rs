//! How far a learned world can be trusted, said before a search spends hours on it: go, careful, or no-go, and why.
//!
//! A small error of one step says little about a rollout of hundreds. So members of the ensemble also predict whole
//! stretches of the episodes that they never saw, from the first state and the recorded actions alone; their rewards are
//! compared with the recorded ones there; and what they say of their own uncertainty is compared with their errors.

use serde::{Deserialize, Serialize};

use super::ensemble::LearnedWorlds;
use super::evidence::{Cause, Effect, Remainder, effects, remainders};
use super::rewards::RewardEvidence;
use super::rows::{row_of, unseen};
use super::shares::Shares;
pub use super::testers::OpenLoop;
use super::testers::Testers;
use crate::WorldSettings;
use fpsrl_data::System;
use fpsrl_data::Transitions;
use fpsrl_data::scaling::Scale;
use fpsrl_data::system::History;
use fpsrl_engine::angle::wrap_angle;
use fpsrl_engine::rollout::StartStates;

/// From this share of a change's variance left over on, care is due.
const CAREFUL_ERROR: f64 = 0.02;

/// Student's 97.5 % quantiles for 1, 2, 3 ... degrees of freedom; beyond them the last is near enough.
const STUDENT: [f64; 10] = [12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23];

/// The word of a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Word {
    /// Nothing speaks against a search.
    #[serde(rename = "go")]
    Go,
    /// A policy may be worth having, but its promise is worth little.
    #[serde(rename = "careful")]
    Careful,
    /// What a search finds on this world says nothing about the plant.
    #[serde(rename = "no-go")]
    NoGo,
}

impl std::fmt::Display for Word {
    fn fmt(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
        formatter.write_str(match self {
            Word::Go => "go",
            Word::Careful => "careful",
            Word::NoGo => "no-go",
        })
    }
}

/// How far a learned world can be trusted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// Go, careful, or no-go.
    pub word: Word,
    /// Why, in a sentence.
    pub reason: String,
    /// How far predictions of whole stretches go astray in episodes that the predicting member never saw.
    pub open_loop: Vec<OpenLoop>,
    /// The mean squared error of the reward while the plant moves over its variance in the log, in episodes that the
    /// predicting member never saw; null if the reward is known.
    pub reward_error: Option<f64>,
    /// The root of the mean squared error of the reward there, in its own unit; 0 if it is known.
    #[serde(default)]
    pub reward_doubt: f64,
    /// The same of the judge, on the episodes of the members; 0 without a judge.
    #[serde(default)]
    pub judge_doubt: f64,
    /// What the log can tell of its rewards, from episodes that the predicting member never saw.
    #[serde(default)]
    pub rewards: RewardEvidence,
    /// The same of the judge, from the episodes of the members.
    #[serde(default)]
    pub judge_rewards: RewardEvidence,
    /// By what factor the members' disagreement is widened where no judge testifies: the error of their returns in episodes
    /// that each of them left out, over their spread there.
    #[serde(default = "one")]
    pub widening: f64,
    /// The share of unseen changes within the members' own 95 % interval; null with a single member.
    pub calibration: Option<f64>,
    /// The share of start states within the log's ranges.
    pub coverage: f64,
    /// What each action is seen to move, in rows that no training saw.
    #[serde(default)]
    pub effects: Vec<Effect>,
    /// What is left over of changes that are not predicted well, and why.
    #[serde(default)]
    pub remainders: Vec<Remainder>,
    /// Why no controller can be had from this log: no action is seen to move anything; null if one does.
    #[serde(default)]
    pub no_effect: Option<String>,
    /// Why the judge cannot judge; null if it can, or if there is none.
    #[serde(default)]
    pub judge_abstains: Option<String>,
    /// The word on the worlds alone, once the verdict's own is that on the controller.
    #[serde(default)]
    pub world_word: Option<Word>,
    /// The reason for it.
    #[serde(default)]
    pub world_reason: Option<String>,
}

fn one() -> f64 {
    1.0
}

/// The half-width factor of a 95 % interval for one more draw, given so many.
pub fn student(draws: usize) -> f64 {
    STUDENT[draws.saturating_sub(2).min(STUDENT.len() - 1)]
}

impl Verdict {
    /// Judges worlds by the log that they were learned from.
    ///
    /// `starts` are those of the evaluation: whether the log covers them is a part of the verdict.
    pub fn of(
        system: &System,
        settings: &WorldSettings,
        transitions: &Transitions,
        worlds: &LearnedWorlds,
        starts: &StartStates,
    ) -> Self {
        let shares = Shares::new(system, settings, transitions);
        // What is tested is what they predict, not what the log gives back to them.
        let worlds = &worlds.clone().without_noise();
        let testers = Testers::new(system, settings, &shares, worlds);
        let lengths = [10, 50, system.horizon()];
        let open_loop = lengths.iter().enumerate().filter(|(index, length)| !lengths[..*index].contains(length));
        let open_loop = open_loop.filter_map(|(_, &steps)| testers.open_loop(steps)).collect();
        let inside = |support: &super::support::Support| {
            let count = (0..starts.len()).filter(|&index| support.distance(&starts.row(index)) == 0.0).count();
            count as f64 / starts.len().max(1) as f64
        };
        let known = settings.reward.is_some();
        let judged = Testers::of_judge(system, settings, &shares, worlds);
        // A reward that is known needs no evidence.
        let [told, judge_told] = [&testers, &judged].map(|testers| if known { Vec::new() } else { testers.told() });
        let [reward_error, judge_error] =
            [(&testers, &told), (&judged, &judge_told)].map(|(testers, told)| testers.reward_error(told));
        let spread = Scale::standard(&shares.members.rewards).spread;
        let doubt = |error: Option<f64>| error.map_or(0.0, |error| error.sqrt() * spread);
        let evidence = |told: &[_], log| {
            if known { RewardEvidence::default() } else { RewardEvidence::of(told).hiding(log) }
        };
        let mut verdict = Self {
            word: Word::Go,
            reason: String::new(),
            open_loop,
            reward_error,
            reward_doubt: doubt(reward_error),
            judge_doubt: doubt(judge_error),
            rewards: evidence(&told, &shares.members),
            judge_rewards: evidence(&judge_told, &shares.judge),
            widening: if worlds.members.len() < 2 || system.place().is_some() {
                1.0
            } else {
                testers.widening(system, worlds)
            },
            calibration: calibration(system, settings, &shares.members, worlds),
            coverage: worlds.support.as_ref().map_or(1.0, inside),
            effects: effects(system, settings, &shares, worlds),
            remainders: remainders(system, settings, &shares, worlds, CAREFUL_ERROR),
            no_effect: None,
            judge_abstains: None,
            world_word: None,
            world_reason: None,
        };
        verdict.no_effect = verdict.effects.iter().all(|effect| !effect.is_seen()).then(|| {
            let names: Vec<&str> = verdict.effects.iter().map(|effect| effect.action.as_str()).collect();
            format!(
                "the log does not show that {} moves anything: unseen rows are predicted as well with other rows' actions",
                names.join(" or ")
            )
        });
        verdict.judge_abstains = judged.abstains(&shares, judge_error);
        (verdict.word, verdict.reason) = verdict.weigh(system, settings, worlds);
        verdict
    }

    /// The word, and the first of the gravest reasons for it.
    fn weigh(&self, system: &System, settings: &WorldSettings, worlds: &LearnedWorlds) -> (Word, String) {
        let mut findings: Vec<(Word, String)> = Vec::new();
        let grade = |value: f64, careful: f64, no_go: f64| match value {
            value if value >= no_go => Word::NoGo,
            value if value >= careful => Word::Careful,
            _ => Word::Go,
        };
        if let Some(reason) = &self.no_effect {
            findings.push((Word::NoGo, reason.clone()));
        }
        let forgets = system.history() == Some(History::Steps(0));
        let past = if forgets { "; or on its past: try `history = \"auto\"` below [data]" } else { "" };
        // Rollouts that follow the log have its noise and its disturbances; others know nothing of them.
        let follows = system.place().is_some() && settings.noise;
        for part in worlds.world.variables.iter().filter(|part| !part.is_carried()) {
            let remainder = self.remainders.iter().find(|remainder| remainder.variable == part.name);
            let cause = remainder.map(|remainder| remainder.cause);
            let word = match grade(part.generalisation_error, CAREFUL_ERROR, 0.3) {
                Word::NoGo | Word::Careful if follows && cause != Some(Cause::Ignorance) => Word::Go,
                Word::NoGo if follows => Word::Careful,
                word => word,
            };
            let why = match cause {
                Some(Cause::Noise) if !forgets => {
                    "noise: what is left over does not last from a row to the next, and fewer rows do as well"
                        .to_owned()
                }
                Some(Cause::Disturbance) if !forgets => format!(
                    "something that nobody measured: what is left over lasts (its correlation from a row to the next is \
                     {:.1})",
                    remainder.map_or(0.0, |remainder| remainder.lasting)
                ),
                Some(Cause::Ignorance) => format!("the log is too short: with fewer rows it is worse{past}"),
                _ => format!("it depends on something that is not in the log, or the log is too short{past}"),
            };
            findings.push((
                word,
                format!(
                    "the change of {} is predicted with {:.0} % of its variance left over: {why}",
                    part.name,
                    100.0 * part.generalisation_error
                ),
            ));
        }
        if let Some(error) = self.reward_error {
            let word = grade(error, 0.02, 0.5);
            findings.push((
                word,
                format!(
                    "in episodes that a model had not seen, its rewards miss {:.0} % of the variance: record more rows \
                     that earn well, or give `world.reward` as a formula",
                    100.0 * error
                ),
            ));
        }
        if let Some(first) = self.open_loop.first() {
            // Where noise is followed, predictions without it may well go astray.
            let (careful, no_go) = if follows { (1.0, f64::INFINITY) } else { (0.05, 0.5) };
            findings.push((
                grade(first.error, careful, no_go),
                format!("after {} steps predictions are {:.2} of the variance off", first.steps, first.error),
            ));
        }
        if self.coverage < 0.9 {
            findings.push((
                grade(1.0 - self.coverage, 0.1, 0.9),
                format!("{:.0} % of the start states lie outside the log's ranges", 100.0 * (1.0 - self.coverage)),
            ));
        }
        if settings.reward.is_none() {
            let absorbing = worlds.world.absorbing.is_some() || settings.terminal.is_some();
            let [low, high] = worlds.world.reward_limits;
            if low == high {
                findings.push((
                    Word::NoGo,
                    "all rewards in the log are equal: record rows that earn more, or give `world.reward` as a formula"
                        .to_owned(),
                ));
            } else if absorbing
                && worlds.world.reward.output.spread == 1.0
                && worlds.world.reward.validation_error == 0.0
            {
                let why = "all rewards are equal until the plant stops: what is better before that is not known";
                // A goal that ends the episode is all there is to learn; an end that costs says nothing of the way.
                let ends_well = worlds.world.reward.output.centre < high;
                findings.push((if ends_well { Word::Go } else { Word::Careful }, why.to_owned()));
            }
        }
        // Several members can be cross-fitted; one cannot.
        if worlds.judges.is_empty() && settings.judge > 0.0 && worlds.members.len() < 2 {
            findings.push((Word::Careful, "the log is too short to keep episodes for a judge".to_owned()));
        }
        let gravest = findings.iter().map(|(word, _)| *word).max().unwrap_or(Word::Go);
        match findings.into_iter().find(|(word, _)| *word == gravest) {
            Some(found) if gravest > Word::Go => found,
            _ => (Word::Go, "predictions hold in episodes that the models had not seen".to_owned()),
        }
    }
}

impl Verdict {
    /// What else is uncertain of the worlds, for whoever relies on a controller that was searched on them.
    pub fn caveats(&self) -> Option<String> {
        let (word, reason) = match (&self.world_word, &self.world_reason) {
            (Some(word), Some(reason)) => (*word, reason),
            _ => (self.word, &self.reason),
        };
        (word > Word::Go).then(|| reason.clone())
    }

    /// The same, with a verdict on the controller in front of that on the worlds.
    pub fn on_controller(mut self, (word, reason): (Word, String)) -> Self {
        let earlier = (std::mem::replace(&mut self.word, word), std::mem::replace(&mut self.reason, reason));
        if self.world_word.is_none() {
            (self.world_word, self.world_reason) = (Some(earlier.0), Some(earlier.1));
        }
        self
    }

    /// The same as it was before any controller.
    pub fn on_worlds(mut self) -> Self {
        if let (Some(word), Some(reason)) = (self.world_word.take(), self.world_reason.take()) {
            (self.word, self.reason) = (word, reason);
        }
        self
    }
}

/// The share of unseen changes that lie within the members' own 95 % interval; none with a single member.
fn calibration(system: &System, settings: &WorldSettings, log: &Transitions, worlds: &LearnedWorlds) -> Option<f64> {
    let count = worlds.members.len() + 1;
    if count < 2 {
        return None;
    }
    let (mut inside, mut total) = (0usize, 0usize);
    for row in unseen(system, settings, log) {
        let inputs = [row_of(&log.states, row), row_of(&log.actions, row)].concat();
        for (variable, state) in system.states()[..system.own_states()].iter().enumerate() {
            let change = log.next_states[variable][row] - log.states[variable][row];
            let change = if state.angle { wrap_angle(change) } else { change };
            let told: Vec<f64> =
                worlds.all_members().map(|world| world.variables[variable].predict(inputs.iter().copied())).collect();
            let mean = told.iter().sum::<f64>() / count as f64;
            let variance = told.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1) as f64;
            let half = student(count) * (variance * (1.0 + 1.0 / count as f64)).sqrt();
            // Roundings of f32 rollouts are no disagreement.
            let rounding = 1e-7 * worlds.world.variables[variable].output.spread;
            inside += usize::from((change - mean).abs() <= half + rounding);
            total += 1;
        }
    }
    (total > 0).then(|| inside as f64 / total as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fpsrl_base::progress::Progress;
    use fpsrl_base::settings::OrAuto;
    use fpsrl_data::DataSettings;

    /// The log of a plant.
    fn log(system: &System, samples: usize) -> Transitions {
        let data = DataSettings { samples, ..DataSettings::for_plant(system.plant()) };
        fpsrl_data::generate(system, &data, &Progress::silent()).unwrap()
    }

    /// Learns worlds from a log and judges them.
    fn judged(system: &System, settings: &WorldSettings, log: &Transitions) -> Verdict {
        let worlds = LearnedWorlds::learn(system, settings, log, &Progress::silent()).unwrap();
        Verdict::of(system, settings, log, &worlds, &system.evaluation_starts(1_000))
    }

    fn verdict(name: &str, samples: usize, mirrored: bool, reward: Option<&str>) -> Verdict {
        let system = System::benchmark(name).unwrap();
        let written = crate::WrittenWorld {
            kind: Some("ensemble".into()),
            members: Some(3),
            layers: Some(OrAuto::Count(1)),
            epochs: Some(25),
            reward: reward.map(str::to_owned),
            ..crate::WrittenWorld::default()
        };
        let settings = written.check(&system, None, mirrored).unwrap();
        judged(&system, &settings, &log(&system, samples))
    }

    #[test]
    fn a_goal_that_the_log_hardly_shows_is_a_no_go_unless_it_is_known() {
        let learned = verdict("cart-pole-swing-up", 1_000, true, None);
        assert_eq!(learned.word, Word::NoGo, "{learned:?}");
        assert!(learned.reason.contains("world.reward"), "{}", learned.reason);
        let known = verdict("cart-pole-swing-up", 1_000, true, Some("abs(theta) < 0.5 && abs(rho) < 0.5 ? 0 : -1"));
        assert_eq!(known.reward_error, None);
        assert!(known.word < Word::NoGo, "{known:?}");
    }

    #[test]
    fn a_plant_that_is_well_recorded_is_a_go_and_far_predictions_are_worse_than_near_ones() {
        let verdict = verdict("mountain-car", 4_000, false, None);
        assert_eq!(verdict.word, Word::Go, "{verdict:?}");
        let errors: Vec<(usize, f64)> = verdict.open_loop.iter().map(|open| (open.steps, open.error)).collect();
        assert_eq!(errors.iter().map(|(steps, _)| *steps).collect::<Vec<_>>(), [10, 50, 200]);
        assert!(errors[0].1 < 0.01 && errors[0].1 < errors[2].1, "{errors:?}");
        assert!(verdict.coverage > 0.99);
        assert_eq!(verdict.reward_doubt, 0.0);
        assert!(verdict.calibration.is_some_and(|share| share > 0.5));
    }

    #[test]
    fn a_hidden_influence_shows_as_a_change_that_cannot_be_predicted() {
        let system = System::benchmark("mountain-car").unwrap();
        let layers = crate::training::Depth::Layers(1);
        let settings = WorldSettings { epochs: 10, members: 2, layers, ..WorldSettings::default() };
        let mut log = log(&system, 1_000);
        // Something that the log does not show shakes the velocity.
        let stream = fpsrl_base::random::Stream::new(5, fpsrl_base::random::Purpose::LogStart);
        for row in 0..log.len() {
            log.next_states[1][row] += 0.3 * stream.normal(0, row as u32, 0);
        }
        let verdict = judged(&system, &settings, &log);
        assert_eq!(verdict.word, Word::NoGo, "{verdict:?}");
        assert!(verdict.reason.contains("velocity"), "{}", verdict.reason);
    }

    #[test]
    fn words_are_written_as_people_say_them() {
        assert_eq!(serde_json::to_string(&Word::NoGo).unwrap(), "\"no-go\"");
        assert_eq!(Word::Careful.to_string(), "careful");
        assert!(Word::Go < Word::Careful && Word::Careful < Word::NoGo);
    }
}
