//! The settings of the stages that find and judge policies: `[policy]`, `[search]` and `[evaluation]`.

mod evaluation;
mod policy;
mod search;

pub use evaluation::{EvaluationSettings, WrittenEvaluation};
pub use policy::{PolicySettings, WrittenPolicy};
pub use search::{Effort, OptimiserKind, RiskKind, SearchSettings, WrittenSearch};
