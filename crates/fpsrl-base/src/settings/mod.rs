//! What the settings of all stages share: limits with a message, lines of `problem.toml`, and values that may be a word.
//!
//! Each stage owns its settings: a struct with public fields and defaults, what a user may write of it, its limits and its
//! lines of `problem.toml`, all in one file of the stage. A stage checks its settings at its door, so that nothing runs
//! that was changed after a check.

mod lines;
mod memory;
mod words;

use std::fmt::Display;

pub use lines::{Lines, bounds, number, quoted, quoted_list};
pub use memory::{memory, memory_written};
pub use words::{OneOrMany, OrAuto, OrWord};

use crate::error::{Error, Result};

/// Rollouts compute in f32: numbers beyond this leave no room for squares.
pub const LARGEST: f64 = 1e15;

/// Refuses a count outside of its limits.
///
/// ```
/// use fpsrl_base::settings::within;
/// let error = within("world.neurons", 0, 1, 256, "a hidden layer has 1 to 256 neurons").unwrap_err();
/// assert_eq!(error.to_string(), "`world.neurons` is 0, but a hidden layer has 1 to 256 neurons");
/// ```
pub fn within(key: &str, value: u64, lowest: u64, highest: u64, rule: &str) -> Result<()> {
    if (lowest..=highest).contains(&value) {
        return Ok(());
    }
    Err(Error::setting(key, value, rule, format!("choose a value from {lowest} to {highest}")))
}

/// Refuses a number outside of its limits.
pub fn between(key: &str, value: f64, low: f64, high: f64, hint: &str) -> Result<()> {
    match (low..=high).contains(&value) {
        true => Ok(()),
        false => Err(Error::setting(key, value, format!("it is a number from {low} to {high}"), hint)),
    }
}

/// Refuses a number that rollouts cannot compute with.
pub fn finite(key: &str, value: f64) -> Result<()> {
    if value.abs() <= LARGEST {
        return Ok(());
    }
    Err(unusable(key, value))
}

fn unusable(key: &str, value: impl Display) -> Error {
    let hint = "write a number; if it is a very large one, use another unit";
    Error::setting(key, value, format!("every number must be finite and at most {LARGEST:e} in size"), hint)
}

/// Refuses bounds that are not in order, or not finite.
pub fn range(key: &str, [low, high]: [f64; 2], may_be_a_point: bool) -> Result<()> {
    // Written so that NaN fails.
    if !(low.abs() <= LARGEST && high.abs() <= LARGEST) {
        return Err(unusable(key, bounds([low, high])));
    }
    if low < high || (may_be_a_point && low == high) {
        return Ok(());
    }
    let rule = match may_be_a_point {
        true => "the lower bound must not be above the upper one",
        false => "the lower bound must be below the upper one",
    };
    Err(Error::setting(key, bounds([low, high]), rule, "write it as [low, high]"))
}

/// Refuses a text that would not stay on its line.
pub fn one_line(key: &str, value: &str) -> Result<()> {
    if value.chars().any(char::is_control) {
        return Err(Error::setting(key, escaped(value), "it is printed on one line", "leave out line breaks"));
    }
    Ok(())
}

/// A text in quotes for a message, with its control characters visible.
pub fn escaped(text: &str) -> String {
    format!("\"{}\"", text.escape_debug())
}

/// A setting that a problem without a built-in plant has to give.
pub fn missing(key: &str, what: &str, example: &str) -> Error {
    let rule = format!("a problem without a built-in plant must say {what}");
    Error::setting(key, "missing", rule, format!("write `{example}`"))
}

/// The thing of a name, or the default where none is given.
///
/// ```
/// use fpsrl_base::settings::by_name;
/// let efforts = [("quick", 1), ("thorough", 4)];
/// assert_eq!(by_name("effort", &efforts, Some("thorough".into()), 2)?, 4);
/// assert_eq!(by_name("effort", &efforts, None, 2)?, 2);
/// assert!(by_name("effort", &efforts, Some("quik".into()), 2).unwrap_err().hint().unwrap().contains("`quick`"));
/// # Ok::<(), fpsrl_base::Error>(())
/// ```
pub fn by_name<T: Copy>(kind: &'static str, all: &[(&str, T)], name: Option<String>, default: T) -> Result<T> {
    let Some(name) = name else { return Ok(default) };
    match all.iter().find(|(known, _)| *known == name) {
        Some((_, thing)) => Ok(*thing),
        None => {
            let known = all.iter().map(|(known, _)| (*known).to_owned()).collect();
            Err(Error::UnknownName { kind, name, known })
        }
    }
}

/// The name of a thing.
pub fn name_of<T: PartialEq>(all: &[(&'static str, T)], thing: &T) -> &'static str {
    all.iter().find(|(_, known)| known == thing).map_or("", |(name, _)| name)
}
