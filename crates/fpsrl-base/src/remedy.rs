//! What to do about an error, as data: words, with places for the stage to run and the option to give.
//!
//! The library knows stages and settings; whoever calls it has verbs, flags or keyword arguments for them. So a remedy names
//! the stage and the option, and the caller puts them into its own words.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::visible;

/// What to do about an error.
///
/// ```
/// use fpsrl_base::remedy::{Part, Remedy};
/// let remedy = Remedy::words("run ").stage("fit", None).then(" again");
/// assert_eq!(remedy.to_string(), "run `fit` again");
/// let told = remedy.told(|part| match part {
///     Part::Stage { name, .. } => format!("`fpsrl {name}`"),
///     Part::Option { name, .. } => format!("--{name}"),
///     Part::Words(words) => words.clone(),
/// });
/// assert_eq!(told, "run `fpsrl fit` again");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remedy(Vec<Part>);

/// A part of a remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Words that hold for every caller.
    Words(String),
    /// A stage to run.
    Stage {
        /// The stage: `generate`, `fit`, `search`, `evaluate`, `report`, `nfq`, `import`, `check`.
        name: &'static str,
        /// Of which run, or of which problem, where that is known.
        of: Option<PathBuf>,
    },
    /// An option to give.
    Option {
        /// Its name.
        name: &'static str,
        /// The value to give it; none if the name says it all, or the user has to choose.
        value: Option<String>,
    },
}

impl Remedy {
    /// Begins with words.
    pub fn words(words: impl Into<String>) -> Self {
        Self::default().then(words)
    }

    /// Goes on with words.
    pub fn then(mut self, words: impl Into<String>) -> Self {
        // Names from outside stand in them: whoever tells them need not think of that.
        self.0.push(Part::Words(visible::message(&words.into())));
        self
    }

    /// Goes on with a stage to run.
    pub fn stage(mut self, name: &'static str, of: Option<&Path>) -> Self {
        self.0.push(Part::Stage { name, of: of.map(Path::to_owned) });
        self
    }

    /// Goes on with an option to give.
    pub fn option(mut self, name: &'static str, value: Option<&str>) -> Self {
        self.0.push(Part::Option { name, value: value.map(str::to_owned) });
        self
    }

    /// Its parts, in order.
    pub fn parts(&self) -> &[Part] {
        &self.0
    }

    /// As a sentence, each part in the words of whoever tells it.
    pub fn told(&self, tell: impl Fn(&Part) -> String) -> String {
        self.0.iter().map(tell).collect()
    }

    /// Whether there is nothing to say.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|part| matches!(part, Part::Words(words) if words.is_empty()))
    }
}

/// In the library's own words.
impl fmt::Display for Remedy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.told(|part| match part {
            Part::Words(words) => words.clone(),
            Part::Stage { name, .. } => format!("`{name}`"),
            Part::Option { name, value: Some(value) } => format!("`{name} = {}`", visible::message(value)),
            Part::Option { name, value: None } => format!("`{name}`"),
        }))
    }
}

impl From<&str> for Remedy {
    fn from(words: &str) -> Self {
        Self::words(words)
    }
}

impl From<String> for Remedy {
    fn from(words: String) -> Self {
        Self::words(words)
    }
}
