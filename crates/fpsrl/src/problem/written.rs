//! The problem as a user wrote it: `problem.toml`, where every setting may be missing.
//!
//! A file that names a built-in plant needs to say only what differs from that benchmark:
//!
//! ```toml
//! plant = "mountain-car"
//!
//! [search]
//! particles = 50
//! ```
//!
//! [`WrittenProblem::check`] turns it into a [`Problem`](super::Problem), which is complete.

use std::path::Path;

use serde::Deserialize;

use super::FORMAT;
use super::log::{OneOrMany, StartRule};
use super::memory::Lags;
use super::words::{OrAuto, OrWord};
use crate::error::{Error, Result, nearest};
use crate::plant::PlantKind;

/// What a user wrote in a problem file or on the command line. Only [`check`](Self::check) makes it fit to run.
///
/// ```
/// use fpsrl::problem::WrittenProblem;
/// let mut written = WrittenProblem::benchmark("mountain-car")?;
/// written.search.particles = Some(1);
/// let error = written.check().unwrap_err();
/// assert_eq!(error.to_string(), "`search.particles` is 1, but a swarm needs at least 2 particles");
/// # Ok::<(), fpsrl::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrittenProblem {
    /// The version of the file's layout.
    pub format: Option<u64>,
    /// The problem's name.
    pub name: Option<String>,
    /// The built-in plant's name.
    pub plant: Option<String>,
    /// The seed of every random number.
    pub seed: Option<u64>,
    /// Steps of a rollout.
    pub horizon: Option<usize>,
    /// The weight of the last reward.
    pub discount_q: Option<f64>,
    /// The return from which the problem counts as solved, or "none".
    pub success: Option<OrWord<f64>>,
    /// State variables.
    #[serde(default, rename = "state")]
    pub states: Vec<WrittenState>,
    /// Actions.
    #[serde(default, rename = "action")]
    pub actions: Vec<WrittenAction>,
    /// Where rollouts start: "ranges", "data", "episodes", or the path of a file with a state in each row.
    pub start: Option<String>,
    /// How transitions are generated, or where the log is.
    #[serde(default)]
    pub data: WrittenData,
    /// How the world model is trained.
    #[serde(default)]
    pub world: WrittenWorld,
    /// The form of the policy.
    #[serde(default)]
    pub policy: WrittenPolicy,
    /// The swarm.
    #[serde(default)]
    pub search: WrittenSearch,
    /// The evaluation on the plant.
    #[serde(default)]
    pub evaluation: WrittenEvaluation,
}

/// A state variable as written.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrittenState {
    /// Its name, which is also its column's unless `column` says otherwise.
    pub name: String,
    /// The name of its column in the log, or several that it has in different files.
    pub column: Option<OneOrMany>,
    /// Its unit.
    pub unit: Option<String>,
    /// Whether it is an angle in radians.
    pub angle: Option<bool>,
    /// Where rollouts start.
    pub start: Option<[f64; 2]>,
    /// Where generated episodes start.
    pub data_start: Option<[f64; 2]>,
    /// Bounds of a rule's centre, or "data".
    pub centre: Option<OrWord<[f64; 2]>>,
    /// Bounds of a rule's width, or "data".
    pub width: Option<OrWord<[f64; 2]>>,
}

/// An action as written.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrittenAction {
    /// Its name, which is also its column's unless `column` says otherwise.
    pub name: String,
    /// The name of its column in the log, or several that it has in different files.
    pub column: Option<OneOrMany>,
    /// Its unit.
    pub unit: Option<String>,
    /// The lowest and the highest value.
    pub limits: Option<[f64; 2]>,
    /// How far it may move in a step.
    pub rate: Option<f64>,
    /// Whether the policy decides its change instead of its value.
    pub change: Option<bool>,
    /// The lowest and the highest change in a step.
    pub change_limits: Option<[f64; 2]>,
}

/// `[data]` as written.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrittenData {
    /// How many transitions; of a log, at most.
    pub samples: Option<usize>,
    /// Steps of a generated episode.
    pub episode_length: Option<usize>,
    /// The log's file, or its files.
    pub file: Option<OneOrMany>,
    /// The column of time.
    pub time: Option<OneOrMany>,
    /// The column that tells episodes apart.
    pub episode: Option<OneOrMany>,
    /// The column of the reward.
    pub reward: Option<OneOrMany>,
    /// The column that says whether the plant has stopped for good.
    pub terminal: Option<OneOrMany>,
    /// The column that says whether only the recording stopped.
    pub truncated: Option<OneOrMany>,
    /// What is before a state's name in the column of its next state.
    pub next: Option<String>,
    /// "next" or "this".
    pub action_leads_to: Option<String>,
    /// "next" or "this".
    pub reward_belongs_to: Option<String>,
    /// The time between two rows.
    pub interval: Option<f64>,
    /// A step longer than so many intervals is cut.
    pub gap: Option<f64>,
    /// Whether rows are put onto a regular grid.
    pub resample: Option<bool>,
    /// Past steps of every state and action that belong to a state, or "auto".
    pub history: Option<OrAuto>,
    /// Between two cells.
    pub separator: Option<String>,
    /// Before the fraction of a number.
    pub decimal: Option<String>,
    /// Words that stand for a missing value.
    #[serde(default)]
    pub missing: Vec<String>,
}

/// `[world]` as written.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrittenWorld {
    /// "mlp", "ensemble", "gp", "forest" or "auto".
    pub kind: Option<String>,
    /// Members of the ensemble.
    pub members: Option<usize>,
    /// The share of episodes for the judge.
    pub judge: Option<f64>,
    /// Whether rows are learned from as their mirror images too.
    pub mirror: Option<bool>,
    /// Hidden layers, or "auto".
    pub layers: Option<OrAuto>,
    /// Neurons in a hidden layer.
    pub neurons: Option<usize>,
    /// The trainer's name.
    pub trainer: Option<String>,
    /// Iterations of the trainer.
    pub epochs: Option<usize>,
    /// Networks tried for each variable and depth.
    pub restarts: Option<usize>,
    /// Whether absorbing states are learned.
    pub absorbing: Option<bool>,
    /// The program and the arguments of a process that is the world.
    pub process: Option<Vec<String>>,
    /// The reward as a formula, or "learn".
    pub reward: Option<String>,
    /// The terminal condition as a formula, or "learn".
    pub terminal: Option<String>,
}

/// `[policy]` as written.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrittenPolicy {
    /// Rules for each action, or "auto".
    pub rules: Option<OrAuto>,
    /// Whether simpler policies are searched too.
    pub front: Option<bool>,
    /// Rules that "auto" tries at most.
    pub most_rules: Option<usize>,
    /// What another rule must bring under "auto".
    pub rules_tolerance: Option<f64>,
    /// Whether half of the rules mirror the others.
    pub mirrored: Option<bool>,
    /// Whether rules measure angles around the circle.
    pub periodic: Option<bool>,
    /// Bounds of α.
    pub alpha: Option<[f64; 2]>,
    /// Past steps that the policy sees, or names of such values.
    pub lags: Option<Lags>,
}

/// `[search]` as written.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrittenSearch {
    /// "auto", "swarm", "shade" or "cma-es".
    pub optimiser: Option<String>,
    /// "quick", "normal" or "thorough".
    pub effort: Option<String>,
    /// How long a race may take, such as "5m" or "6000 Msteps", or "none".
    pub budget: Option<String>,
    /// Particles of the swarm.
    pub particles: Option<usize>,
    /// Iterations of the swarm.
    pub iterations: Option<usize>,
    /// Neighbours on each side.
    pub ring: Option<usize>,
    /// w
    pub inertia: Option<f64>,
    /// c₁
    pub cognitive: Option<f64>,
    /// c₂
    pub social: Option<f64>,
    /// The largest velocity.
    pub velocity_limit: Option<f64>,
    /// Start states of the fitness.
    pub start_states: Option<usize>,
    /// Iterations without improvement that end the search, or "none".
    pub patience: Option<OrWord<usize>>,
    /// "fast" or "reproducible".
    pub numerics: Option<String>,
    /// From 0 to 1.
    pub caution: Option<f64>,
    /// "spread" or "worst".
    pub outlook: Option<String>,
    /// The largest share of steps outside, or "none".
    pub outside_limit: Option<OrWord<f64>>,
}

/// `[evaluation]` as written.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrittenEvaluation {
    /// Start states of the evaluation.
    pub start_states: Option<usize>,
}

/// The names of the built-in problems.
///
/// ```
/// assert!(fpsrl::problem::benchmark_names().contains(&"cart-pole-swing-up".to_owned()));
/// ```
pub fn benchmark_names() -> Vec<String> {
    PlantKind::all().map(|plant| plant.name().to_owned()).to_vec()
}

impl WrittenProblem {
    /// A built-in benchmark, with all its defaults.
    pub fn benchmark(name: &str) -> Result<Self> {
        let known = benchmark_names();
        if !known.iter().any(|known| known == name) {
            return Err(Error::UnknownName { kind: "built-in problem", name: name.to_owned(), known });
        }
        Ok(Self { name: Some(name.to_owned()), plant: Some(name.to_owned()), ..Self::default() })
    }

    /// A built-in benchmark by its name, or a problem file by its path.
    ///
    /// ```
    /// use fpsrl::problem::WrittenProblem;
    /// assert!(WrittenProblem::find("mountain-car").is_ok());
    /// assert!(WrittenProblem::find("no/problem.toml").unwrap_err().to_string().contains("cannot be read"));
    /// ```
    pub fn find(name_or_path: &str) -> Result<Self> {
        let path = Path::new(name_or_path);
        let is_path = name_or_path.contains(['/', '\\']) || path.extension().is_some_and(|end| end == "toml");
        // A name wins over a file that happens to be called the same.
        match Self::benchmark(name_or_path) {
            Err(_) if is_path || path.is_file() => Self::read(path),
            benchmark => benchmark,
        }
    }

    /// Reads a problem file.
    pub fn read(path: &Path) -> Result<Self> {
        let bytes = std::fs::read(path).map_err(|source| Error::read(path, source))?;
        let text = String::from_utf8(bytes).map_err(|error| {
            let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            Error::Malformed {
                path: path.to_owned(),
                line: Some(1 + valid.iter().filter(|&&byte| byte == b'\n').count() as u64),
                column: None,
                problem: "this is not text in UTF-8".into(),
                hint: "a problem file is TOML: see the file that `fpsrl generate mountain-car` writes".into(),
            }
        })?;
        let mut written = Self::parse(&text, path)?;
        written.find_files_beside(path);
        Ok(written)
    }

    /// Files that the problem names stand beside the problem file, unless their path says otherwise.
    fn find_files_beside(&mut self, path: &Path) {
        let parent = path.parent().unwrap_or(Path::new(""));
        let beside = |file: &mut String| *file = parent.join(&*file).to_string_lossy().into_owned();
        match &mut self.data.file {
            Some(OneOrMany::One(file)) => beside(file),
            Some(OneOrMany::Many(files)) => files.iter_mut().for_each(beside),
            None => {}
        }
        // Of a command, whatever is a file there; a program of the system is none.
        for word in self.world.process.iter_mut().flatten() {
            let file = parent.join(&*word);
            if file.is_file() {
                *word = crate::files::absolute(&file).to_string_lossy().into_owned();
            }
        }
        if let Some(start) =
            self.start.as_mut().filter(|start| matches!(StartRule::from_text(start), StartRule::File(_)))
        {
            beside(start);
        }
    }

    /// Understands the text of a problem file; `path` is named in messages.
    ///
    /// ```
    /// use fpsrl::problem::WrittenProblem;
    /// let error = WrittenProblem::parse("horizn = 3", "problem.toml".as_ref()).unwrap_err();
    /// assert!(error.to_string().starts_with("problem.toml, line 1, column `1`"));
    /// assert!(error.hint().unwrap().contains("`horizon`"));
    /// ```
    pub fn parse(text: &str, path: &Path) -> Result<Self> {
        // A newer file may hold keys that this version does not know: its version is what is wrong with it.
        let table: toml::Table = toml::from_str(text).map_err(|error| malformed(text, path, &error))?;
        if let Some(found) = table.get("format").and_then(toml::Value::as_integer)
            && let Ok(found) = u64::try_from(found)
            && found > FORMAT
        {
            return Err(Error::NewerFormat { path: path.to_owned(), found, supported: FORMAT });
        }
        let mut written: Self = toml::from_str(text).map_err(|error| malformed(text, path, &error))?;
        if written.name.is_none() {
            written.name = match &written.plant {
                Some(plant) => Some(plant.clone()),
                None => path.file_stem().map(|stem| stem.to_string_lossy().into_owned()),
            };
        }
        Ok(written)
    }
}

/// What the TOML reader says, with the place and the nearest key.
fn malformed(text: &str, path: &Path, error: &toml::de::Error) -> Error {
    let message = error.message().trim();
    let start = error.span().map(|span| span.start.min(text.len()));
    let before = start.and_then(|start| text.get(..start));
    // The reader words it as: unknown field `a`, expected one of `b`, `c`
    let quoted: Vec<String> = message.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    let (problem, hint) = match quoted.split_first() {
        Some((name, known)) if message.starts_with("unknown field") => (
            format!("there is no key called `{name}` here"),
            match nearest(name, known) {
                Some(near) => format!("did you mean `{near}`? known here: {}", known.join(", ")),
                None => format!("known here: {}", known.join(", ")),
            },
        ),
        Some((name, _)) if message.starts_with("missing field") => {
            (format!("the key `{name}` is missing here"), format!("add `{name} = …`"))
        }
        _ => (
            message.replace('\n', "; "),
            "correct the file; a complete one is what `fpsrl generate mountain-car` writes".to_owned(),
        ),
    };
    Error::Malformed {
        path: path.to_owned(),
        line: before.map(|before| 1 + before.matches('\n').count() as u64),
        column: before.map(|before| (1 + before.chars().rev().take_while(|&c| c != '\n').count()).to_string()),
        problem,
        hint,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> (String, String) {
        let error = WrittenProblem::parse(text, "p.toml".as_ref()).unwrap_err();
        assert!(error.is_users());
        (error.to_string(), error.hint().unwrap_or_default())
    }

    #[test]
    fn a_file_needs_to_say_only_what_differs() {
        let written = WrittenProblem::parse("plant = \"mountain-car\"\n[search]\nparticles = 50\n", "p.toml".as_ref());
        let problem = written.unwrap().check().unwrap();
        assert_eq!(problem.name, "mountain-car");
        assert_eq!(problem.search.particles, 50);
        assert_eq!(problem.horizon, 200);
    }

    #[test]
    fn an_unknown_key_is_named_with_its_place_and_the_nearest_key() {
        let (message, hint) = refused("seed = 1\n[search]\n  partcles = 3\n");
        assert_eq!(message, "p.toml, line 3, column `3`: there is no key called `partcles` here");
        assert!(hint.starts_with("did you mean `particles`?"), "{hint}");
    }

    #[test]
    fn a_value_of_the_wrong_kind_is_named_with_its_place() {
        let (message, _) = refused("[search]\nparticles = \"many\"\n");
        assert!(message.starts_with("p.toml, line 2, column `13`: "), "{message}");
        let (message, _) = refused("[search]\nparticles = -3\n");
        assert!(message.contains("-3"), "{message}");
        let (message, _) = refused("[[state]]\nname = \"x\"\ncentre = \"dta\"\n");
        assert!(message.contains("line 3"), "{message}");
        let (message, _) = refused("[world]\nlayers = 4.5\n");
        assert!(message.contains("\"auto\""), "{message}");
        let (message, _) = refused("[[state]]\nname = \"x\"\nstart = [1.0]\n");
        assert!(message.contains("line 3"), "{message}");
    }

    #[test]
    fn broken_toml_is_named_with_its_place() {
        let (message, hint) = refused("seed = 1\nhorizon = = 3\n");
        assert!(message.starts_with("p.toml, line 2"), "{message}");
        assert!(!hint.is_empty());
    }

    #[test]
    fn a_state_without_a_name_is_refused() {
        let (message, _) = refused("[[state]]\nunit = \"m\"\n");
        assert!(message.contains("`name` is missing"), "{message}");
    }

    #[test]
    fn a_newer_format_is_refused_before_its_unknown_keys_are() {
        let (message, hint) = refused("format = 2\nfuture = true\n");
        assert_eq!(message, "p.toml has format version 2, and this fpsrl reads up to version 1");
        assert!(hint.contains("newer"));
    }

    #[test]
    fn an_unknown_benchmark_is_answered_with_the_nearest() {
        let error = WrittenProblem::benchmark("cart-pole-swingup").unwrap_err();
        assert!(error.hint().unwrap().contains("did you mean `cart-pole-swing-up`?"));
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in ".{0,200}", bytes in proptest::collection::vec(0u8..128, 0..100)) {
            let _ = WrittenProblem::parse(&text, "p.toml".as_ref()).and_then(WrittenProblem::check);
            let text = String::from_utf8(bytes).unwrap();
            let _ = WrittenProblem::parse(&text, "p.toml".as_ref()).and_then(WrittenProblem::check);
        }

        #[test]
        fn no_damaged_file_makes_it_panic(at in 0usize..3000, byte in 0u8..128) {
            let mut text = super::super::Problem::benchmark("cart-pole-swing-up").unwrap().to_toml().into_bytes();
            let at = at % text.len();
            if text[at].is_ascii() {
                text[at] = byte;
            }
            let text = String::from_utf8(text).unwrap();
            let _ = WrittenProblem::parse(&text, "p.toml".as_ref()).and_then(WrittenProblem::check);
        }
    }
}
