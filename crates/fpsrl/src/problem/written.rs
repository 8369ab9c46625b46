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
//! [`WrittenProblem::check`] turns it into a [`Problem`], which is complete. Each section belongs to the stage
//! that it sets: this file only deals them out.

use std::path::Path;

use fpsrl_base::disk;
use fpsrl_base::error::{Error, Result, nearest};
use fpsrl_base::files::{self, FORMAT};
use fpsrl_base::frame::is_frame;
use fpsrl_base::remedy::Remedy;
use fpsrl_base::settings::OneOrMany;
use fpsrl_data::WrittenData;
use fpsrl_data::split::FEWEST_ROWS;
use fpsrl_data::system::{StartRule, Surroundings, WrittenSystem};
use fpsrl_search::{WrittenEvaluation, WrittenPolicy, WrittenSearch};
use fpsrl_world::WrittenWorld;
use serde::de::DeserializeOwned;
use toml::de::{DeTable, Deserializer, ValueDeserializer};

use super::Problem;

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
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WrittenProblem {
    /// What is controlled: the first lines, `[[state]]` and `[[action]]`.
    pub system: WrittenSystem,
    /// `[data]`: how transitions are generated, or where the log is.
    pub data: WrittenData,
    /// `[world]`: how the world model is trained.
    pub world: WrittenWorld,
    /// `[policy]`: the form of the policy.
    pub policy: WrittenPolicy,
    /// `[search]`: what searches.
    pub search: WrittenSearch,
    /// `[evaluation]`: where the policy is tested from.
    pub evaluation: WrittenEvaluation,
}

/// The sections besides the system's own keys.
const SECTIONS: [&str; 5] = ["data", "world", "policy", "search", "evaluation"];

impl WrittenProblem {
    /// A built-in benchmark, with all its defaults.
    pub fn benchmark(name: &str) -> Result<Self> {
        Ok(Self { system: WrittenSystem::benchmark(name)?, ..Self::default() })
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
        // No built-in problem has a point in its name.
        let is_path = name_or_path.contains(['/', '\\']) || path.extension().is_some();
        // A name wins over a file that happens to be called the same.
        match Self::benchmark(name_or_path) {
            Err(_) if is_path || disk::is_file(path) => Self::read(path),
            benchmark => benchmark,
        }
    }

    /// Reads a problem file.
    pub fn read(path: &Path) -> Result<Self> {
        let bytes = disk::read(path).map_err(|source| Error::read(path, source))?;
        let text = String::from_utf8(bytes).map_err(|error| {
            let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            Error::Malformed {
                path: path.to_owned(),
                line: Some(1 + valid.iter().filter(|&&byte| byte == b'\n').count() as u64),
                column: None,
                problem: "this is not text in UTF-8".into(),
                remedy: example("a problem file is TOML: see the file that "),
            }
        })?;
        let mut written = Self::parse(&text, path)?;
        written.find_files_beside(path);
        Ok(written)
    }

    /// Files that the problem names stand beside the problem file, unless their path says otherwise.
    fn find_files_beside(&mut self, path: &Path) {
        let parent = path.parent().unwrap_or(Path::new(""));
        let beside = |file: &mut String| {
            if !is_frame(file.as_ref()) {
                *file = parent.join(&*file).to_string_lossy().into_owned();
            }
        };
        match &mut self.data.file {
            Some(OneOrMany::One(file)) => beside(file),
            Some(OneOrMany::Many(files)) => files.iter_mut().for_each(beside),
            None => {}
        }
        // Of a command, whatever is a file there; a program of the system is none.
        for word in self.world.process.iter_mut().flatten() {
            let file = parent.join(&*word);
            if disk::is_file(&file) {
                *word = files::absolute(&file).to_string_lossy().into_owned();
            }
        }
        let is_file = |start: &&mut String| {
            // A word that is no file is one that was mistyped, and stays one.
            matches!(StartRule::from_text(start), StartRule::File(_))
                && (!StartRule::is_word(start) || disk::is_file(&parent.join(&**start)))
        };
        if let Some(start) = self.system.start.as_mut().filter(is_file) {
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
        let fault = |error: toml::de::Error| malformed(text, path, &error, &[]);
        // A newer file may hold keys that this version does not know: its version is what is wrong with it.
        let table: toml::Table = toml::from_str(text).map_err(fault)?;
        if let Some(found) = table.get("format").and_then(toml::Value::as_integer)
            && let Ok(found) = u64::try_from(found)
            && found > FORMAT
        {
            return Err(Error::NewerFormat { path: path.to_owned(), found, supported: FORMAT });
        }
        let mut rest = DeTable::parse(text).map_err(fault)?;
        let written = Self {
            data: section(&mut rest, "data").map_err(fault)?,
            world: section(&mut rest, "world").map_err(fault)?,
            policy: section(&mut rest, "policy").map_err(fault)?,
            search: section(&mut rest, "search").map_err(fault)?,
            evaluation: section(&mut rest, "evaluation").map_err(fault)?,
            system: serde::Deserialize::deserialize(Deserializer::from(rest))
                .map_err(|error| malformed(text, path, &error, &SECTIONS))?,
        };
        Ok(written.named_after(path))
    }

    /// Understands what would stand in a problem file, as values; `path` is named in messages, and files are found from the
    /// directory that it is in.
    ///
    /// ```
    /// use fpsrl::problem::WrittenProblem;
    /// let table: toml::Table = toml::from_str("plant = 'mountain-car'\nsearch = { partcles = 50 }")?;
    /// let error = WrittenProblem::from_table(table, "the problem".as_ref()).unwrap_err();
    /// assert_eq!(error.to_string(), "the problem, [search]: there is no key called `partcles` here");
    /// # Ok::<(), toml::de::Error>(())
    /// ```
    pub fn from_table(mut table: toml::Table, path: &Path) -> Result<Self> {
        /// A section, or its defaults where it is missing.
        fn section<T: DeserializeOwned + Default>(table: &mut toml::Table, name: &str, path: &Path) -> Result<T> {
            let Some(value) = table.remove(name) else { return Ok(T::default()) };
            let place = format!("{}, [{name}]", path.display());
            value.try_into().map_err(|error| malformed("", place.as_ref(), &error, &[]))
        }
        let written = Self {
            data: section(&mut table, "data", path)?,
            world: section(&mut table, "world", path)?,
            policy: section(&mut table, "policy", path)?,
            search: section(&mut table, "search", path)?,
            evaluation: section(&mut table, "evaluation", path)?,
            system: toml::Value::Table(table).try_into().map_err(|error| malformed("", path, &error, &SECTIONS))?,
        };
        let mut written = written.named_after(path);
        written.find_files_beside(path);
        Ok(written)
    }

    fn named_after(mut self, path: &Path) -> Self {
        if self.system.name.is_none() {
            self.system.name = match &self.system.plant {
                Some(plant) => Some(plant.clone()),
                None => path.file_stem().map(|stem| stem.to_string_lossy().into_owned()),
            };
        }
        self
    }

    /// Fills in the defaults and checks every setting.
    pub fn check(self) -> Result<Problem> {
        let plant = self.system.plant_kind()?;
        let data = self.data.check(plant)?;
        let lags = self.policy.lags.clone().unwrap_or_default();
        let simulated = self.world.process.is_some();
        let system = self.system.check(&Surroundings { history: data.history(), lags, simulated })?;
        let mirrored = self.policy.mirrored(plant);
        let world = self.world.check(&system, data.history(), mirrored)?;
        if !simulated && data.log.is_none() && data.samples < FEWEST_ROWS {
            let rule = format!("a world model is learned from at least {FEWEST_ROWS} transitions");
            return Err(Error::setting("data.samples", data.samples, rule, "generate more of them"));
        }
        let policy = self.policy.check(&system)?;
        let search = self.search.check(plant)?;
        if plant.is_some() {
            search.check_rows(data.samples)?;
        }
        Ok(Problem { system, data, world, policy, search, evaluation: self.evaluation.check()? })
    }
}

/// Takes a section out of a file, or its defaults where it is missing.
fn section<T: DeserializeOwned + Default>(
    table: &mut toml::Spanned<DeTable<'_>>,
    name: &str,
) -> Result<T, toml::de::Error> {
    match table.get_mut().remove(name) {
        Some(value) => T::deserialize(ValueDeserializer::from(value)),
        None => Ok(T::default()),
    }
}

/// What the TOML reader says, with the place and the nearest key.
fn malformed(text: &str, path: &Path, error: &toml::de::Error, also_known: &[&str]) -> Error {
    let message = error.message().trim();
    let start = error.span().map(|span| span.start.min(text.len()));
    let before = start.and_then(|start| text.get(..start));
    // The reader words it as: unknown field `a`, expected one of `b`, `c`
    let quoted = message.split('`').skip(1).step_by(2).chain(also_known.iter().copied());
    let quoted: Vec<String> = quoted.map(str::to_owned).collect();
    let (problem, remedy) = match quoted.split_first() {
        Some((name, known)) if message.starts_with("unknown field") => (
            format!("there is no key called `{name}` here"),
            match nearest(name, known) {
                Some(near) => format!("did you mean `{near}`? known here: {}", known.join(", ")).into(),
                None => format!("known here: {}", known.join(", ")).into(),
            },
        ),
        Some((name, _)) if message.starts_with("missing field") => {
            (format!("the key `{name}` is missing here"), format!("add `{name} = …`").into())
        }
        _ => (reworded(message), example("correct the file; a complete one is what ")),
    };
    Error::Malformed {
        path: path.to_owned(),
        line: before.map(|before| 1 + before.matches('\n').count() as u64),
        column: before.map(|before| (1 + before.chars().rev().take_while(|&c| c != '\n').count()).to_string()),
        problem,
        remedy,
    }
}

/// What the reader says of a value of another kind, in words that are not those of its programming language.
fn reworded(message: &str) -> String {
    let found = ["invalid type: ", "invalid value: "].iter().find_map(|begin| message.strip_prefix(begin));
    let Some((is, wanted)) = found.and_then(|rest| rest.rsplit_once(", expected ")) else {
        return message.replace('\n', "; ");
    };
    let value = is.split_once('`').map(|(_, value)| format!("`{value}"));
    let is = match is.split([' ', '`']).next().unwrap_or_default() {
        "string" => format!("the text {}", is.trim_start_matches("string").trim()),
        "sequence" => "a list".to_owned(),
        "map" | "table" => "a table".to_owned(),
        _ => value.unwrap_or_else(|| is.to_owned()),
    };
    let wanted = match wanted {
        "usize" | "u64" | "u32" | "u16" | "u8" => "a whole number from 0 up",
        "i64" | "i32" | "isize" => "a whole number",
        "f64" | "f32" => "a number",
        "a string" => "a text in quotes",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        "a map" => "a table",
        "an array of length 2" => "a list of two",
        wanted if wanted.starts_with("struct ") => "a table",
        wanted => wanted.strip_prefix("expected ").unwrap_or(wanted),
    };
    format!("it is {is}, but {wanted} is meant")
}

/// Names a complete problem file.
fn example(words: &str) -> Remedy {
    Remedy::words(words).stage("generate", Some("mountain-car".as_ref())).then(" writes")
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
        assert_eq!(problem.system.name(), "mountain-car");
        assert_eq!(problem.search.particles, 50);
        assert_eq!(problem.system.horizon(), 200);
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
        assert!(message.ends_with("it is the text \"many\", but a whole number from 0 up is meant"), "{message}");
        let (message, _) = refused("[search]\nparticles = -3\n");
        assert!(message.ends_with("it is `-3`, but a whole number from 0 up is meant"), "{message}");
        for (text, said) in [
            ("horizon = 1.5", "it is `1.5`, but a whole number from 0 up is meant"),
            ("horizon = [1]", "it is a list, but a whole number from 0 up is meant"),
            ("horizon = true", "it is `true`, but a whole number from 0 up is meant"),
            ("name = 3", "it is `3`, but a text in quotes is meant"),
            ("[world]\nabsorbing = 1", "it is `1`, but true or false is meant"),
            ("[world]\njudge = 'half'", "it is the text \"half\", but a number is meant"),
            ("search = 3", "it is `3`, but a table is meant"),
        ] {
            let (message, _) = refused(text);
            assert!(message.ends_with(said), "{text}: {message}");
        }
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
