//! Formulas that a user knows: a reward or a terminal condition over named variables, as in
//! `abs(theta) < 0.5 and abs(rho) < 0.5 ? 0 : -1`.
//!
//! A state variable's name, with or without `next_`, is its value after the step; with `previous_` it is the one before. An
//! action's name is its value. There are `+ - * /`, powers as `^` or `**`, comparisons, `and or not` (or `&& || !`),
//! `condition ? a : b`, `pi`, and the functions of [`Function`]. `docs/logs.md` has them for users.
//!
//! The text becomes a program for a stack, which runs on one row in f64, on blocks of lanes in f32, and on intervals, to know
//! the largest value that a formula can have.

mod evaluate;
mod function;
mod parse;
mod range;
#[cfg(test)]
mod tests;

use std::fmt;

pub use function::Function;

/// Deepest stack of a program; a formula that needs more is refused.
const DEEPEST: usize = 32;

/// The names that a formula about a step may use, in the order of [`values`]: states before the step, actions, states after
/// it, and these once more under the names that they have in a log.
///
/// ```
/// let names = fpsrl_engine::formula::names(&["x".into()], &["u".into()]);
/// assert_eq!(names, ["previous_x", "u", "x", "next_x"]);
/// ```
pub fn names(states: &[String], actions: &[String]) -> Vec<String> {
    let with = |prefix: &'static str| states.iter().map(move |name| format!("{prefix}{name}"));
    with("previous_").chain(actions.iter().cloned()).chain(with("")).chain(with("next_")).collect()
}

/// The numbers of a step in the order of [`names`].
pub fn values(state: &[f64], action: &[f64], next: &[f64]) -> Vec<f64> {
    [state, action, next, next].concat()
}

/// A checked formula.
///
/// ```
/// use fpsrl_engine::formula::{Formula, Kind};
/// let names = ["previous_theta", "force", "theta"].map(String::from);
/// let reward = Formula::parse("abs(theta) < 0.5 ? 0 : -1", &names, Kind::Number)?;
/// assert_eq!(reward.evaluate(&[0.0, 3.0, 0.4]), 0.0);
/// assert_eq!(reward.evaluate(&[0.0, 3.0, -0.6]), -1.0);
/// assert_eq!(reward.range(&[[f64::NEG_INFINITY, f64::INFINITY]; 3]), [-1.0, 0.0]);
/// let error = Formula::parse("abs(thta)", &names, Kind::Number).unwrap_err();
/// assert_eq!((error.position, error.problem.as_str()), (5, "there is no variable or function called `thta`"));
/// # Ok::<(), fpsrl_engine::formula::FormulaError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Formula {
    text: String,
    program: Vec<Operation>,
}

/// What is wrong with a formula, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormulaError {
    /// The character, counted from 1.
    pub position: usize,
    /// What is wrong there.
    pub problem: String,
    /// The name that nothing is known by, if that is what is wrong.
    pub unknown: Option<String>,
}

impl FormulaError {
    fn new(position: usize, problem: impl Into<String>) -> Self {
        Self { position, problem: problem.into(), unknown: None }
    }
}

impl fmt::Display for FormulaError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "character {}: {}", self.position, self.problem)
    }
}

impl std::error::Error for FormulaError {}

/// What a formula, or a part of one, gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A number.
    Number,
    /// Whether something holds.
    Truth,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Operation {
    Constant(f64),
    Variable(usize),
    Negate,
    Not,
    Add,
    Subtract,
    Multiply,
    Divide,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    And,
    Or,
    /// Of condition, a and b: a where the condition holds, else b.
    Choose,
    /// A function of the values before it.
    Function(Function),
}

impl Formula {
    /// The formula as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl Operation {
    /// How many values it takes from the stack.
    fn takes(self) -> usize {
        match self {
            Self::Constant(_) | Self::Variable(_) => 0,
            Self::Negate | Self::Not => 1,
            Self::Choose => 3,
            Self::Function(function) => function.arguments(),
            _ => 2,
        }
    }
}
