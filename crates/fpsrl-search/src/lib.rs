//! The search for rules, and what is known of what it finds.
//!
//! [`optimiser`]s are asked and told, [`search`] brings them together with rollouts on a world; [`search::race`] is what is
//! searched with by default. [`promise`] and judge say what a policy is worth; [`baseline`] holds the
//! yardsticks: NFQ, plans, and what the log itself did. A [`task`] is a whole search, growing rules and checkpoints included.

pub mod baseline;
mod budget;
pub mod figures;
pub mod gain;
pub mod optimiser;
pub mod pi_result;
pub mod promise;
pub mod returns;
pub mod search;
mod settings;
pub mod signs;
mod source;
mod space;
pub mod task;
pub mod tracking;
pub mod trade;

pub use budget::Budget;
pub use settings::{
    Effort, EvaluationSettings, OptimiserKind, PolicySettings, RiskKind, SearchSettings, WrittenEvaluation,
    WrittenPolicy, WrittenSearch,
};
pub use source::WorldSource;
pub use space::RuleSpace;
