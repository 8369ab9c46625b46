//! What is controlled: variables, actions, horizon, start states, and the settings of every stage.
//!
//! There are two kinds of type here. [`WrittenProblem`] is what a user wrote: every setting may be
//! missing. [`Problem`] is what has been checked: complete, and within its limits. Only the checked one runs.

mod benchmarks;
mod budget;
mod check;
mod expression;
mod log;
mod memory;
mod text;
mod words;
mod written;

pub use budget::Budget;
pub use expression::{Expression, ExpressionError, FUNCTIONS, Kind};
pub use log::{LogSettings, OneOrMany, Row, StartRule};
pub use memory::{Carried, HISTORIES, History, LONGEST_HISTORY, Lags, Memory, Remembered, SetPoint};
pub use words::{OrAuto, OrWord};
pub use written::{
    WrittenAction, WrittenData, WrittenEvaluation, WrittenPolicy, WrittenProblem, WrittenSearch, WrittenState,
    WrittenWorld, benchmark_names,
};

use crate::error::Result;
use crate::plant::PlantKind;
use crate::simd::Mode;
use crate::world::training::{Depth, Trainer};

/// The version of the problem file and of the run directory that this library writes.
pub const FORMAT: u64 = 1;

/// A checked problem.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// The problem's name.
    pub name: String,
    /// The built-in plant that makes the data and judges the policy; none for a log of the user's own.
    pub plant: Option<PlantKind>,
    /// The seed that every random number comes from.
    pub seed: u64,
    /// T, the steps of a rollout (equation 5 of the paper).
    pub horizon: usize,
    /// q, the weight of the last reward: γ = q^(1/(T-1)).
    pub discount_q: f64,
    /// The return from which the problem counts as solved.
    pub success: Option<f64>,
    /// State variables, in the order of all state vectors.
    pub states: Vec<StateVariable>,
    /// Actions, in the order of all action vectors.
    pub actions: Vec<ActionVariable>,
    /// Where rollouts start.
    pub start: StartRule,
    /// The states that rollouts start from, where they are not drawn from ranges; a run directory brings them.
    pub start_pool: Option<std::sync::Arc<Vec<Vec<f64>>>>,
    /// How transitions are generated, or where the log is.
    pub data: DataSettings,
    /// How the world model is trained.
    pub world: WorldSettings,
    /// The form of the policy.
    pub policy: PolicySettings,
    /// The swarm.
    pub search: SearchSettings,
    /// The evaluation on the plant.
    pub evaluation: EvaluationSettings,
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
    /// What it remembers, if it does; such variables come after all others.
    pub memory: Option<Memory>,
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
}

/// Where transitions come from: they are generated, or imported from a log.
#[derive(Clone, Debug, PartialEq)]
pub struct DataSettings {
    /// How many transitions; of a log, at most.
    pub samples: usize,
    /// Steps of a generated episode.
    pub episode_length: usize,
    /// The log; none for a problem with a built-in plant.
    pub log: Option<LogSettings>,
}

/// What a world model is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorldKind {
    /// One network for each variable, as in the paper.
    Mlp,
    /// Several networks for each variable, each from its own draw of the rows.
    Ensemble,
    /// A Gaussian process for each variable.
    GaussianProcess,
    /// A forest of regression trees for each variable.
    Forest,
    /// For each variable whichever of these has the least validation error, in several members.
    Auto,
}

impl WorldKind {
    /// Members of an ensemble of this kind, where the user does not say.
    pub fn default_members(self) -> usize {
        match self {
            WorldKind::Mlp | WorldKind::GaussianProcess | WorldKind::Forest => 1,
            WorldKind::Ensemble | WorldKind::Auto => 5,
        }
    }
}

/// How the members of an ensemble become one fitness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutlookKind {
    /// Their mean less a part of their spread; caution says which.
    Spread,
    /// The worst of them.
    Worst,
}

/// How the world model is trained.
#[derive(Clone, Debug, PartialEq)]
pub struct WorldSettings {
    /// What it is made of.
    pub kind: WorldKind,
    /// Members of the ensemble, each learned from its own draw of the rows.
    pub members: usize,
    /// The share of the log's episodes that the search never sees, for the world that judges its policies; 0 is none.
    pub judge: f64,
    /// Whether each row is also learned from as its mirror image.
    pub mirror: bool,
    /// One, two or three hidden layers, or the best of the three for each variable.
    pub layers: Depth,
    /// Neurons in a hidden layer.
    pub neurons: usize,
    /// The training algorithm.
    pub trainer: Trainer,
    /// Iterations of the trainer over the training set, at most.
    pub epochs: usize,
    /// Networks trained from different weights for each variable and depth; the best on the validation set is kept.
    pub restarts: usize,
    /// Whether absorbing states are recognised in the log and learned apart from what moves.
    pub absorbing: bool,
    /// The program and the arguments of a process that is the world, instead of a learned one.
    pub process: Option<Vec<String>>,
    /// The reward as a formula, if the user knows it.
    pub reward: Option<Expression>,
    /// When a transition is absorbing, as a formula, if the user knows it.
    pub terminal: Option<Expression>,
}

/// The form of the policy.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicySettings {
    /// Rules for each action, mirrored ones counted; if their number grows, those that it begins with.
    pub rules: usize,
    /// Whether rules are added until another one no longer pays.
    pub grow: bool,
    /// Whether the policies of which none is both simpler and better are searched, up to the number of rules.
    pub front: bool,
    /// Rules that a growing policy has at most.
    pub most_rules: usize,
    /// What another rule must bring to pay, as a share of the way from doing nothing to the ceiling of PSO-P.
    pub rules_tolerance: f64,
    /// Whether half of the rules are the mirror images of the others.
    pub mirrored: bool,
    /// Whether rules measure angles around the circle; the paper's do not.
    pub periodic: bool,
    /// Bounds of α, the slope before the hyperbolic tangent.
    pub alpha: [f64; 2],
    /// What of the past the policy sees.
    pub lags: Lags,
}

/// What searches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptimiserKind {
    /// A race: many short tries of which few go on.
    Auto,
    /// The ring swarm of the paper.
    Swarm,
    /// Differential evolution, L-SHADE.
    Shade,
    /// Evolution of a covariance matrix.
    CmaEs,
}

/// How long a race may take, as far as its problem is hard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// A first look: an eighth of the tries.
    Quick,
    /// What usually suffices.
    Normal,
    /// Four times as many tries.
    Thorough,
}

/// The search.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchSettings {
    /// What searches.
    pub optimiser: OptimiserKind,
    /// How many tries a race makes at most.
    pub effort: Effort,
    /// How long a race may take; none leaves it to the effort. A time is translated into steps when a search begins.
    pub budget: Option<Budget>,
    /// N, the number of particles.
    pub particles: usize,
    /// Iterations of the swarm.
    pub iterations: usize,
    /// Neighbours on each side of a particle in the ring.
    pub ring: usize,
    /// w, the inertia weight.
    pub inertia: f64,
    /// c₁, the pull of a particle's own best position.
    pub cognitive: f64,
    /// c₂, the pull of the neighbourhood's best position.
    pub social: f64,
    /// The largest velocity as a fraction of each parameter's range.
    pub velocity_limit: f64,
    /// Start states that a policy is scored from.
    pub start_states: usize,
    /// Iterations without an improvement after which the search ends; none goes on to the end.
    pub patience: Option<usize>,
    /// From 0, trust the model, to 1, stay where the data is.
    pub caution: f64,
    /// How the members of an ensemble become one fitness.
    pub outlook: OutlookKind,
    /// The largest share of steps outside the log's ranges that a policy may take; none is no limit.
    pub outside_limit: Option<f64>,
    /// As fast as the machine can, or the same bits on every machine.
    pub numerics: Mode,
}

/// The evaluation on the plant.
#[derive(Clone, Debug, PartialEq)]
pub struct EvaluationSettings {
    /// Start states of the evaluation.
    pub start_states: usize,
}

impl Problem {
    /// γ, the discount of one step: q^(1/(T-1)).
    ///
    /// ```
    /// let problem = fpsrl::problem::Problem::benchmark("mountain-car")?;
    /// assert!((problem.discount() - 0.985059).abs() < 1e-6);
    /// # Ok::<(), fpsrl::Error>(())
    /// ```
    pub fn discount(&self) -> f64 {
        self.discount_q.powf(1.0 / (self.horizon - 1) as f64)
    }

    /// The fewest rules that a policy can have, and by how many it grows.
    pub fn rule_step(&self) -> usize {
        if self.policy.mirrored { 2 } else { 1 }
    }

    /// A built-in benchmark with its defaults.
    pub fn benchmark(name: &str) -> Result<Self> {
        WrittenProblem::benchmark(name)?.check()
    }
}
