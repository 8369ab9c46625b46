//! The problem as written.
use super::Problem;
use crate::error::Result;

/// What the user wrote.
#[derive(Clone, Debug, Default)]
pub struct WrittenProblem {}

impl WrittenProblem {
    /// A built-in problem.
    pub fn benchmark(_name: &str) -> Result<Self> {
        Ok(Self {})
    }
    /// Checks it.
    pub fn check(self) -> Result<Problem> {
        Err(crate::Error::Internal("not written yet"))
    }
}

/// The names of the built-in problems.
pub fn benchmark_names() -> Vec<String> {
    Vec::new()
}
