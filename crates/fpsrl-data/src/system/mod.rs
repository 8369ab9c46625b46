//! What is controlled: variables, actions, horizon, discount, and where rollouts start.
//!
//! A [`System`] has been checked, and cannot be changed into one that has not: its fields are private. [`WrittenSystem`] is
//! what a user writes: the first lines of `problem.toml`, its `[[state]]`, `[[input]]`, `[[action]]` and
//! `[[objective]]`.

mod angle;
mod benchmarks;
mod input;
mod lag;
mod price;
mod starts;
mod text;
mod written;

use std::path::PathBuf;
use std::sync::Arc;

use fpsrl_base::error::{Error, Result};

use crate::plant::PlantKind;
pub use angle::{AngleUnit, WrittenAngle};
pub use input::{Input, InputRule, Keep, PLACE, Tracking, WrittenInput};
pub use lag::{Carried, HISTORIES, History, LONGEST_HISTORY, Lag, Lagged, Lags, SetPoint};
pub use price::{Objective, Price, PriceKind, WrittenObjective};
pub use starts::FAR;
pub use written::{Surroundings, WrittenAction, WrittenState, WrittenSystem, benchmark_names};

/// What is controlled.
///
/// ```
/// use fpsrl_data::System;
/// let system = System::benchmark("mountain-car")?;
/// assert_eq!(system.states()[0].name, "position");
/// assert!((system.discount() - 0.985059).abs() < 1e-6);
/// # Ok::<(), fpsrl_base::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct System {
    name: String,
    plant: Option<PlantKind>,
    seed: u64,
    horizon: usize,
    discount_q: f64,
    success: Option<f64>,
    states: Vec<StateVariable>,
    actions: Vec<ActionVariable>,
    objectives: Vec<Objective>,
    start: StartRule,
    start_pool: Option<Arc<Vec<Vec<f64>>>>,
    history: Option<History>,
    lags: Lags,
}

/// A state variable.
#[derive(Clone, Debug, PartialEq)]
pub struct StateVariable {
    /// Its name, as in the log's header.
    pub name: String,
    /// Its unit, for people.
    pub unit: String,
    /// Whether it is an angle in radians, so that differences are taken modulo 2π.
    pub angle: bool,
    /// Whether the log has the angle in degrees; it becomes radians when that is imported, and is radians from then on.
    pub degrees: bool,
    /// The names of its column in a log of the user's own; empty if the variable's name is the column's.
    pub columns: Vec<String>,
    /// The range that start states of the search and of the evaluation are drawn from, by [`StartRule::Ranges`].
    pub start: [f64; 2],
    /// The range that generated episodes start in.
    pub data_start: [f64; 2],
    /// Bounds of a rule's centre; none takes them from the data.
    pub centre: Option<[f64; 2]>,
    /// Bounds of a rule's width; none takes them from the data.
    pub width: Option<[f64; 2]>,
    /// What it remembers or follows from, if it does; such variables come after all others.
    pub lag: Option<Lag>,
    /// How it goes on, if it is an input: seen by the controller, and not influenced by it.
    pub input: Option<Input>,
    /// The set-point that it is to follow.
    pub tracks: Option<Tracking>,
    /// The range that it should keep to.
    pub keep: Option<Keep>,
    /// Whether rules may look at it, if the user says; [`System::is_seen`] decides.
    pub seen: Option<bool>,
}

/// An action.
#[derive(Clone, Debug, PartialEq)]
pub struct ActionVariable {
    /// Its name, as in the log's header.
    pub name: String,
    /// Its unit, for people.
    pub unit: String,
    /// The names of its column in a log of the user's own; empty if the action's name is the column's.
    pub columns: Vec<String>,
    /// The lowest and the highest value that may be applied.
    pub limits: [f64; 2],
    /// How far it may move in a step from its last value; none is no limit.
    pub rate: Option<f64>,
    /// The set-point that it changes; none for an action that is an absolute value.
    pub set_point: Option<SetPoint>,
    /// What a unit of its movement in a step costs, in units of the reward.
    pub move_cost: Option<f64>,
}

/// Where rollouts start.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum StartRule {
    /// Anywhere in the ranges that the state variables have.
    #[default]
    Ranges,
    /// In states that the log has seen, absorbing ones left out.
    Data,
    /// In the first states of the log's episodes.
    Episodes,
    /// In the rows of a file.
    File(PathBuf),
}

impl StartRule {
    /// What was written; a text that is none of the words names a file.
    pub fn from_text(text: &str) -> Self {
        match text {
            "ranges" => StartRule::Ranges,
            "data" => StartRule::Data,
            "episodes" => StartRule::Episodes,
            file => StartRule::File(file.into()),
        }
    }

    /// Whether a text looks like one of the words, and not like the path of a file.
    pub fn is_word(text: &str) -> bool {
        !text.contains(['/', '\\', '.'])
    }

    /// Its text in the problem file.
    pub fn text(&self) -> String {
        match self {
            StartRule::Ranges => "ranges".into(),
            StartRule::Data => "data".into(),
            StartRule::Episodes => "episodes".into(),
            StartRule::File(path) => path.to_string_lossy().into_owned(),
        }
    }
}

impl System {
    /// A built-in benchmark.
    pub fn benchmark(name: &str) -> Result<Self> {
        WrittenSystem::benchmark(name)?.check(&Surroundings::default())
    }

    /// The problem's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The built-in plant that makes the data and judges the policy; none for a log of the user's own.
    pub fn plant(&self) -> Option<PlantKind> {
        self.plant
    }

    /// The seed that every random number of every stage comes from.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// T, the steps of a rollout (equation 5 of the paper).
    pub fn horizon(&self) -> usize {
        self.horizon
    }

    /// q, the weight of the last reward: γ = q^(1/(T-1)).
    pub fn discount_q(&self) -> f64 {
        self.discount_q
    }

    /// γ, the discount of one step: q^(1/(T-1)).
    pub fn discount(&self) -> f64 {
        self.discount_q.powf(1.0 / (self.horizon - 1) as f64)
    }

    /// The return from which the problem counts as solved.
    pub fn success(&self) -> Option<f64> {
        self.success
    }

    /// State variables, in the order of all state vectors.
    pub fn states(&self) -> &[StateVariable] {
        &self.states
    }

    /// Actions, in the order of all action vectors.
    pub fn actions(&self) -> &[ActionVariable] {
        &self.actions
    }

    /// Where rollouts start.
    pub fn start(&self) -> &StartRule {
        &self.start
    }

    /// The states that rollouts start from, where they are not drawn from ranges and are known already.
    pub fn start_pool(&self) -> Option<&[Vec<f64>]> {
        self.start_pool.as_ref().map(|pool| pool.as_slice())
    }

    /// How much of the past a log of the user's own gives; none without such a log.
    pub fn history(&self) -> Option<History> {
        self.history
    }

    /// What of the past the policy sees.
    pub fn lags(&self) -> &Lags {
        &self.lags
    }

    /// The names that a formula about this system may use; [`fpsrl_engine::formula::values`] has the numbers in their order.
    pub fn formula_names(&self) -> Vec<String> {
        let states: Vec<String> = self.states.iter().map(|state| state.name.clone()).collect();
        let actions: Vec<String> = self.actions.iter().map(|action| action.name.clone()).collect();
        fpsrl_engine::formula::names(&states, &actions)
    }

    /// The same system with another seed.
    pub fn with_seed(mut self, seed: u64) -> Result<Self> {
        self.seed = seed;
        self.check()?;
        Ok(self)
    }

    /// The same system with random numbers of its own, for a part of the work such as a member of an ensemble. Its seed
    /// follows from the system's and is in no file, so that it has all 64 bits.
    pub fn reseeded(&self, seed: u64) -> Self {
        Self { seed, ..self.clone() }
    }

    /// The same system that looks another number of steps ahead.
    pub fn with_horizon(mut self, horizon: usize) -> Result<Self> {
        self.horizon = horizon;
        self.check()?;
        Ok(self)
    }

    /// The same system whose rollouts start in some of these states.
    ///
    /// ```
    /// use fpsrl_data::System;
    /// let system = System::benchmark("mountain-car")?.with_start_pool(vec![vec![-0.5, 0.0], vec![-0.6, 0.0]])?;
    /// assert_eq!(system.search_starts(0, 4).len(), 4);
    /// assert!(system.with_start_pool(vec![vec![0.0]]).is_err());
    /// # Ok::<(), fpsrl_base::Error>(())
    /// ```
    pub fn with_start_pool(mut self, states: Vec<Vec<f64>>) -> Result<Self> {
        let fits = |state: &Vec<f64>| state.len() == self.states.len() && state.iter().all(|value| value.is_finite());
        if states.is_empty() || !states.iter().all(fits) {
            let rule = format!("a start state has {} finite numbers, and there is at least one", self.states.len());
            return Err(Error::setting("start", "a list of states", rule, "give each state variable a number"));
        }
        self.start_pool = Some(Arc::new(states));
        Ok(self)
    }

    /// The same system whose rollouts start within ranges, even if a pool of states is known.
    pub fn without_start_pool(&self) -> Self {
        Self { start_pool: None, ..self.clone() }
    }

    /// The same system whose files are named from anywhere, and whose start ranges are those of given states where
    /// rollouts start in them: as a run directory holds it.
    pub fn settled(mut self, states: &[Vec<f64>]) -> Self {
        if let StartRule::File(file) = &mut self.start {
            *file = fpsrl_base::files::absolute(file);
        }
        if self.start != StartRule::Ranges {
            // What is remembered of an action may be anything within its limits, whatever the log shows.
            for (state, values) in self.states.iter_mut().zip(states).filter(|(state, _)| state.lag.is_none()) {
                let fold = |of: fn(f64, f64) -> f64, first| values.iter().copied().fold(first, of);
                state.start = [fold(f64::min, f64::INFINITY), fold(f64::max, f64::NEG_INFINITY)];
                state.data_start = state.start;
            }
        }
        for tracked in 0..self.states.len() {
            let Some(tracking) = self.states[tracked].tracks.filter(|tracking| tracking.limit.is_none()) else {
                continue;
            };
            let pairs = states[tracking.set_point].iter().zip(&states[tracked]);
            let mut errors: Vec<f64> = pairs.map(|(wanted, value)| (wanted - value).abs()).collect();
            errors.sort_by(f64::total_cmp);
            // An error as large as the log's largest usual one, lasting for a quarter of the horizon, is what a controller may
            // have to make good; a sum beyond that only winds up.
            let usual = errors.get(errors.len() * 99 / 100).copied().unwrap_or(1.0);
            let limit = (usual * self.horizon as f64 / 4.0).max(f64::MIN_POSITIVE.sqrt());
            // Few digits, so that it reads well where it stands.
            let limit = format!("{limit:.1e}").parse().unwrap_or(limit);
            self.states[tracked].tracks = Some(Tracking { limit: Some(limit), ..tracking });
        }
        self
    }
}
