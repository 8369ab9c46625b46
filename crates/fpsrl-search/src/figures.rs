//! `summary.json`: the figures of a run, filled in stage by stage.

use std::fmt;
use std::path::Path;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};

use fpsrl_base::error::Result;
use fpsrl_base::files::{self, Prepared};
use fpsrl_data::System;
use fpsrl_world::LearnedWorlds;
use fpsrl_world::quality::Verdict;

use crate::baseline::QPolicy;
pub use crate::baseline::ceiling::Ceiling;
use crate::baseline::nfq::NfqSettings;
use crate::gain::Gain;
use crate::promise::Promise;
use crate::search::race::RaceFigures;
pub use crate::task::growth::{GrowthStep, RuleGrowth};
use crate::{PolicySettings, SearchSettings};

/// The figures of a run. What a stage has not brought yet is `null`.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Summary {
    /// The problem's name.
    pub problem: String,
    /// The seed of every random number.
    pub seed: u64,
    /// Transitions in the log.
    pub samples: usize,
    /// Rules for each action.
    pub rules: usize,
    /// Particles of the swarm.
    pub particles: usize,
    /// Iterations of the swarm; those made, once it has searched.
    pub iterations: usize,
    /// The policy's mean return on the world model, from the start states of the evaluation.
    pub model_return: Option<f64>,
    /// The same without any discount: the mean of the plain sums of all rewards.
    #[serde(default)]
    pub plain_sum: Option<f64>,
    /// The policy's mean return on the true plant, from the same start states; null without a plant.
    pub true_return: Option<f64>,
    /// The true return less the model's: how far the model flatters the policy, if negative.
    pub gap: Option<f64>,
    /// The return from which the problem counts as solved.
    pub success_threshold: Option<f64>,
    /// Whether the true return reaches it.
    pub success: Option<bool>,
    /// The best mean return that the search found, from its own start states.
    pub search_return: Option<f64>,
    /// Of each state variable and the reward: mean squared error over variance, on rows that training never saw.
    pub world_errors: Figures,
    /// Why the search ended: "finished" all its iterations, or "stalled" without improving.
    pub search_ending: Option<String>,
    /// Instruction set and numeric mode of the rollouts.
    pub numerics: Option<String>,
    /// How rules were added; null if their number was given.
    #[serde(default)]
    pub growth: Option<RuleGrowth>,
    /// How a race went; null if something else searched.
    #[serde(default)]
    pub race: Option<RaceFigures>,
    /// What plans reach on the world model; null if nobody asked.
    #[serde(default)]
    pub ceiling: Option<Ceiling>,
    /// What the plant does today; null for a log that was generated.
    #[serde(default)]
    pub behaviour: Option<Behaviour>,
    /// The policy without the conditions that do not matter; null without a report.
    #[serde(default)]
    pub simple: Option<SimpleFigures>,
    /// How far the world model can be trusted; null before it is learned.
    #[serde(default)]
    pub verdict: Option<Verdict>,
    /// What the policy promises, beside what a judge says that has seen other episodes.
    #[serde(default)]
    pub promise: Option<Promise>,
    /// Whether the true return lies within the promise's interval; null without a plant.
    #[serde(default)]
    pub promise_kept: Option<bool>,
    /// The policy beside what the plant does today and beside a tuned PI controller; null before it is judged.
    #[serde(default)]
    pub gain: Option<Gain>,
    /// Signs of trouble: figures that do not fit each other, with what to do about it.
    #[serde(default)]
    pub signs: Vec<String>,
    /// Past steps that a state carries: of the log's history, or of actions that move slowly; null without any.
    #[serde(default)]
    pub history: Option<usize>,
    /// Members of the ensemble that was searched on.
    #[serde(default)]
    pub members: Option<usize>,
    /// Steps of the world model that the search took.
    pub model_steps: Option<u64>,
    /// Seconds that each stage took.
    pub seconds: Figures,
    /// Threads that the last stage could use.
    pub threads: usize,
    /// The version of fpsrl that wrote this.
    pub version: String,
    /// The digest of the log.
    pub data_sha256: String,
    /// The digest of the policy that the figures are of; null before there is one, or before it was judged.
    #[serde(default)]
    pub policy_sha256: Option<String>,
    /// The digest of `world.json`; null before it is there.
    #[serde(default)]
    pub world_sha256: Option<String>,
    /// The digest of `search.csv`; null if no search has found the policy.
    #[serde(default)]
    pub search_sha256: Option<String>,
    /// The digest of the problem that the figures are of, `[data]` and `[evaluation]` aside.
    #[serde(default)]
    pub problem_sha256: Option<String>,
    /// The digest of `[evaluation]`.
    #[serde(default)]
    pub evaluation_sha256: Option<String>,
}

impl Summary {
    /// The stages in their order.
    pub const STAGES: [&str; 7] = ["generate", "import", "fit", "search", "evaluate", "ceiling", "report"];

    /// The stages before any policy.
    pub const UP_TO_WORLD: [&str; 3] = ["generate", "import", "fit"];

    /// The summary of a run of which only the log is known.
    pub fn new(
        system: &System,
        policy: &PolicySettings,
        search: &SearchSettings,
        samples: usize,
        data_sha256: String,
    ) -> Self {
        Self {
            problem: system.name().to_owned(),
            seed: system.seed(),
            samples,
            rules: policy.rules,
            particles: search.particles,
            iterations: search.iterations,
            model_return: None,
            plain_sum: None,
            true_return: None,
            gap: None,
            success_threshold: system.success(),
            success: None,
            search_return: None,
            search_ending: None,
            numerics: None,
            growth: None,
            race: None,
            ceiling: None,
            behaviour: None,
            simple: None,
            verdict: None,
            promise: None,
            promise_kept: None,
            gain: None,
            signs: Vec::new(),
            history: Some(system.longest_lag()).filter(|steps| *steps > 0),
            members: None,
            world_errors: Figures::default(),
            model_steps: None,
            seconds: Figures::default(),
            threads: rayon::current_num_threads(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            data_sha256,
            policy_sha256: None,
            world_sha256: None,
            search_sha256: None,
            problem_sha256: None,
            evaluation_sha256: None,
        }
    }

    /// Puts in what is known of the worlds.
    pub fn set_world(&mut self, worlds: &LearnedWorlds, verdict: Option<&Verdict>) {
        let world = &worlds.world;
        self.verdict = verdict.cloned();
        self.members = Some(worlds.members.len() + 1);
        for part in world.variables.iter().chain([&world.reward]).filter(|part| !part.is_carried()) {
            self.world_errors.set(&part.name, part.generalisation_error);
        }
        if let Some(absorbing) = &world.absorbing {
            self.world_errors.set("absorbing", absorbing.generalisation_error);
        }
    }

    /// Notes how long a stage took. One that was made again alone still stands in its place.
    pub fn took(&mut self, stage: &str, seconds: f64) {
        self.seconds.set(stage, seconds);
        let place = |stage: &str| Self::STAGES.iter().position(|known| *known == stage).unwrap_or(Self::STAGES.len());
        self.seconds.0.sort_by_key(|(stage, _)| place(stage));
    }

    /// Reads `summary.json`.
    pub fn read(path: &Path) -> Result<Self> {
        files::read_json(path)
    }

    /// Writes `summary.json` beside its place.
    pub fn prepare(&self, path: &Path) -> Result<Prepared> {
        files::prepare_json(path, self)
    }

    /// The text of `summary.json`.
    pub fn text(&self) -> Result<String> {
        files::to_json(self)
    }

    /// Whether two have the same figures; how long they took, where and by which version is none of them.
    pub fn same_figures(&self, other: &Self) -> bool {
        let of_the_machine = |summary: &Self| Self {
            seconds: Figures::default(),
            threads: 0,
            version: String::new(),
            // The record of a search holds times.
            search_sha256: None,
            ..summary.clone()
        };
        of_the_machine(self) == of_the_machine(other)
    }

    /// What was found out from start states that are no longer those of the evaluation goes.
    pub fn forget_evaluation(&mut self) {
        self.model_return = None;
        self.plain_sum = None;
        self.true_return = None;
        self.gap = None;
        self.success = None;
        self.ceiling = None;
        self.simple = None;
        self.promise = None;
        self.promise_kept = None;
        self.gain = None;
        self.signs.clear();
        self.verdict = self.verdict.take().map(Verdict::on_worlds);
        self.seconds.0.retain(|(stage, _)| Self::UP_TO_WORLD.contains(&stage.as_str()) || stage == "search");
    }

    /// What is known of the world stays; what was known of a policy that is there no more goes.
    pub fn forget_policy(&mut self) {
        self.forget_evaluation();
        self.search_return = None;
        self.search_ending = None;
        self.search_sha256 = None;
        self.growth = None;
        self.race = None;
        self.model_steps = None;
        self.policy_sha256 = None;
        self.seconds.0.retain(|(stage, _)| Self::UP_TO_WORLD.contains(&stage.as_str()));
    }
}

/// What `policy.simple.json` saves, and what it costs.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct SimpleFigures {
    /// Conditions of the whole policy.
    pub conditions: usize,
    /// Conditions that were taken away.
    pub removed: usize,
    /// What it was allowed to lose, in units of the return, from the start states of the search.
    pub tolerance: f64,
    /// Its mean return on the world model, from the start states of the evaluation.
    pub model_return: f64,
    /// Its mean return on the true plant; null without a plant.
    pub true_return: Option<f64>,
    /// What it earns less than the whole policy on the world model; negative if it earns more.
    pub price: f64,
}

/// What the log earned, and what rules earn that imitate it.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Behaviour {
    /// The mean return of the logged behaviour, from beginnings spread over the log.
    pub logged_return: f64,
    /// Beginnings that could be followed for the whole horizon; 0 if the figure is that of the mean reward.
    pub windows: usize,
    /// The mean return on the world model of a fuzzy policy of the same size that imitates the log.
    pub cloned_return: f64,
    /// The share of the actions' variance that the imitation misses.
    pub clone_error: f64,
}

/// What `front/front.json` holds.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Front {
    /// The digest of `world.json` that it was searched on.
    pub world_sha256: String,
    /// What a simpler policy may lose and still be chosen, as a share of the way from doing nothing to the ceiling.
    pub tolerance: f64,
    /// The points, the simplest first.
    pub points: Vec<FrontEntry>,
}

/// A point of the front.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrontEntry {
    /// Its policy's file, in `front/`.
    pub file: String,
    /// The digest of that file.
    pub sha256: String,
    /// Rules for each action, mirrored ones counted.
    pub rules: usize,
    /// Conditions of all rules, mirrored ones counted.
    pub conditions: usize,
    /// The fitness that it was compared by, from start states that it was not searched on.
    pub fitness: f64,
    /// Its mean return over the members of the ensemble, from other start states again.
    #[serde(rename = "return")]
    pub mean: f64,
    /// Its mean return on the judge's worlds; null without a judge.
    pub rescored: Option<f64>,
    /// Whether it keeps its promise; null without a judge.
    pub holds: Option<bool>,
    /// Whether it is the run's policy.
    pub chosen: bool,
}

/// What `nfq.json` holds: how NFQ did on a run's log.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NfqResult {
    /// How it ran.
    pub settings: NfqSettings,
    /// The iteration whose policy did best on the world model.
    pub best_iteration: usize,
    /// The policy's mean return on the world model, from the start states of the evaluation.
    pub model_return: f64,
    /// The policy's mean return on the true plant, from the same start states; null without a plant.
    pub true_return: Option<f64>,
    /// Seconds that it took.
    pub seconds: f64,
    /// The digest of the world model that chose the iteration.
    pub world_sha256: String,
    /// The policy.
    pub policy: QPolicy,
}

/// Numbers by name, in an order that means something.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures(pub Vec<(String, f64)>);

impl Figures {
    /// Sets a number; a new name comes last.
    pub fn set(&mut self, name: &str, value: f64) {
        match self.0.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => *known = value,
            None => self.0.push((name.to_owned(), value)),
        }
    }

    /// The number of a name.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
    }
}

impl Serialize for Figures {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

impl<'de> Deserialize<'de> for Figures {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct FiguresVisitor;
        impl<'de> Visitor<'de> for FiguresVisitor {
            type Value = Figures;

            fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
                formatter.write_str("numbers by name")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Figures, A::Error> {
                let mut figures = Figures::default();
                while let Some((name, value)) = map.next_entry::<String, f64>()? {
                    figures.set(&name, value);
                }
                Ok(figures)
            }
        }
        deserializer.deserialize_map(FiguresVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_reads_back_to_itself_in_its_own_order() {
        let system = System::benchmark("mountain-car").unwrap();
        let (policy, search) = (PolicySettings::default(), SearchSettings::default());
        let mut summary = Summary::new(&system, &policy, &search, 10, "0".into());
        summary.seconds.set("generate", 0.5);
        summary.seconds.set("fit", 1.5);
        summary.seconds.set("generate", 0.25);
        summary.true_return = Some(-42.0);
        let text = fpsrl_base::files::to_json(&summary).unwrap();
        assert!(text.find("\"generate\": 0.25").unwrap() < text.find("\"fit\": 1.5").unwrap());
        assert!(text.contains("\"model_return\": null"));
        let back: Summary = fpsrl_base::files::parse_json(text.as_bytes(), "summary.json".as_ref()).unwrap();
        assert_eq!(back, summary);
        assert_eq!(back.seconds.get("fit"), Some(1.5));
    }

    #[test]
    fn a_stage_that_is_made_alone_later_stands_in_its_place() {
        let system = System::benchmark("mountain-car").unwrap();
        let (policy, search) = (PolicySettings::default(), SearchSettings::default());
        let mut summary = Summary::new(&system, &policy, &search, 10, "0".into());
        for stage in ["fit", "import", "evaluate", "report", "search", "ceiling", "fit", "evaluate"] {
            summary.took(stage, 1.0);
        }
        let order: Vec<&str> = summary.seconds.0.iter().map(|(stage, _)| stage.as_str()).collect();
        assert_eq!(order, ["import", "fit", "search", "evaluate", "ceiling", "report"]);
    }
}
