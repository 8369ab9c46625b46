//! The search for rules, and what is known of what it finds.
//!
//! [`optimiser`]s are asked and told, [`search`] brings them together with rollouts on a world; [`search::race`] is what is
//! searched with by default. [`promise`](search::Promise) and judge say what a policy is worth; [`baseline`] holds the
//! yardsticks: NFQ, plans, and what the log itself did.

pub mod baseline;
mod budget;
pub mod figures;
pub mod optimiser;
pub mod search;
mod settings;
mod space;
mod worlds;

pub use budget::Budget;
pub use settings::{
    Effort, EvaluationSettings, OptimiserKind, OutlookKind, PolicySettings, SearchSettings, WrittenEvaluation,
    WrittenPolicy, WrittenSearch,
};
pub use space::RuleSpace;
pub use worlds::Worlds;
