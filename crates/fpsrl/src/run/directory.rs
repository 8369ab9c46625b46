//! The run directory: making it, opening it, reading its files.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::origins::{self, Lock};
use super::stages::WorldFile;
use crate::data::{Transitions, csv};
use crate::error::{Error, Result};
use crate::figures::Summary;
use crate::files;
use crate::policy::FuzzyPolicy;
use crate::problem::{Problem, WrittenProblem};
use crate::world::LearnedWorlds;
use crate::world::model::WorldModel;
use crate::world::quality::Verdict;

/// The page.
pub const REPORT: &str = "report.html";
/// The policy without the conditions that do not matter.
pub(super) const SIMPLE: &str = "policy.simple.json";
pub(super) const PROBLEM: &str = "problem.toml";
pub(super) const TRANSITIONS: &str = "transitions.csv";
pub(super) const DATA: &str = "data.json";
pub(super) const STARTS: &str = "starts.csv";
pub(super) const WORLD: &str = "world.json";
pub(super) const POLICY: &str = "policy.json";
pub(super) const SEARCH: &str = "search.csv";
pub(super) const SUMMARY: &str = "summary.json";
pub(super) const CHECKPOINT: &str = "checkpoint.json";
pub(super) const CHECKPOINT_ROWS: &str = "checkpoint.csv";
pub(super) const GROWTH: &str = "growth.json";
/// A directory: the front's table and its policies.
pub(super) const FRONT: &str = "front";
pub(super) const START: &str = "start.json";
/// The front's table, in its directory.
pub(super) const FRONT_TABLE: &str = "front.json";
pub(super) const NFQ: &str = "nfq.json";
pub(super) const NFQ_ROWS: &str = "nfq.csv";
pub(super) const NFQ_CHECKPOINT: &str = "nfq.checkpoint.json";

/// Every file that fpsrl writes into a run directory, the latest first: in this order they are removed, so that an
/// interruption never leaves a result without what it was made from.
const FILES: &[&str] = &[
    REPORT,
    SIMPLE,
    SUMMARY,
    SEARCH,
    POLICY,
    CHECKPOINT,
    CHECKPOINT_ROWS,
    GROWTH,
    NFQ,
    NFQ_ROWS,
    NFQ_CHECKPOINT,
    WORLD,
    STARTS,
    DATA,
    START,
    TRANSITIONS,
    PROBLEM,
];

/// A directory that holds the files of one run.
///
/// ```
/// use fpsrl::{problem::WrittenProblem, progress::Silent, run};
/// let parent = tempfile::tempdir()?;
/// let mut written = WrittenProblem::benchmark("mountain-car")?;
/// written.data.samples = Some(400);
/// let path = parent.path().join("first");
/// let run = run::generate(&written.check()?, &path, false, &Silent)?;
/// assert_eq!(run.transitions(&run.problem()?)?.len(), 400);
/// // A run that is there already is not overwritten.
/// assert!(run::generate(&run.problem()?, &path, false, &Silent).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct RunDirectory {
    path: PathBuf,
}

impl RunDirectory {
    /// Opens a directory that holds at least a problem.
    pub fn open(path: &Path) -> Result<Self> {
        fs::read_dir(path).map_err(|source| Error::read(path, source))?;
        let run = Self { path: path.to_owned() };
        run.expect(PROBLEM, "fpsrl generate")?;
        Ok(run)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of one of its files.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The path of a file that an earlier stage must have written.
    pub(super) fn expect(&self, name: &str, stage: &'static str) -> Result<PathBuf> {
        let path = self.file(name);
        match path.try_exists() {
            Ok(true) => Ok(path),
            Ok(false) => Err(Error::StageMissing { path, stage }),
            Err(source) => Err(Error::read(&path, source)),
        }
    }

    /// The problem.
    pub fn problem(&self) -> Result<Problem> {
        self.problem_with(|_| ())
    }

    /// The problem with some of its settings changed; the file stays as it is.
    pub fn problem_with(&self, change: impl FnOnce(&mut WrittenProblem)) -> Result<Problem> {
        let mut written = WrittenProblem::read(&self.expect(PROBLEM, "fpsrl generate")?)?;
        change(&mut written);
        self.with_starts(written.check()?)
    }

    /// The log.
    pub fn transitions(&self, problem: &Problem) -> Result<Transitions> {
        csv::read(&self.expect(TRANSITIONS, "fpsrl generate")?, &problem.system)
    }

    /// The digest of the log.
    pub fn data_sha256(&self) -> Result<String> {
        files::sha256(&self.expect(TRANSITIONS, "fpsrl generate")?)
    }

    /// The learned world, or the first of several, if it was made for these variables and from this log.
    pub fn world(&self, problem: &Problem) -> Result<WorldModel> {
        Ok(self.worlds(problem)?.0.world)
    }

    /// All learned worlds and the verdict on them, if they were made for these variables and from this log.
    pub fn worlds(&self, problem: &Problem) -> Result<(LearnedWorlds, Option<Verdict>)> {
        let path = self.expect(WORLD, "fpsrl fit")?;
        let file: WorldFile = files::read_json(&path)?;
        let data_sha256 = file.data_sha256.clone();
        let (worlds, verdict) = file.into_worlds();
        let world = &worlds.world;
        let again = "run `fpsrl fit` again";
        worlds.validate().map_err(|problem| Error::Malformed {
            path: path.clone(),
            line: None,
            column: None,
            problem,
            hint: again.into(),
        })?;
        let mismatch = |other: &str, problem: String| Error::Mismatch {
            path: path.clone(),
            other: self.file(other),
            problem,
            hint: again.into(),
        };
        let states: Vec<&str> = problem.system.states().iter().map(|state| state.name.as_str()).collect();
        let actions: Vec<&str> = problem.system.actions().iter().map(|action| action.name.as_str()).collect();
        let differ = |theirs: &[String], ours: &[&str], what: &str| {
            let (theirs, ours) = (theirs.join(", "), ours.join(", "));
            (theirs != ours).then(|| format!("its {what} are {theirs} instead of {ours}"))
        };
        let difference = differ(&world.states, &states, "state variables");
        if let Some(problem) = difference.or_else(|| differ(&world.actions, &actions, "actions")) {
            return Err(mismatch(PROBLEM, problem));
        }
        if data_sha256 != self.data_sha256()? {
            return Err(mismatch(TRANSITIONS, "it was learned from another log".into()));
        }
        Ok((worlds, verdict))
    }

    /// The policy, if it was made for these variables.
    pub fn policy(&self, problem: &Problem) -> Result<FuzzyPolicy> {
        self.policy_in(self.expect(POLICY, "fpsrl search")?, problem)
    }

    /// The policy without the conditions that do not matter; the policy itself if a report has found that all of them do.
    pub fn simple_policy(&self, problem: &Problem) -> Result<FuzzyPolicy> {
        if !self.file(SIMPLE).exists() && self.summary()?.simple.is_some_and(|simple| simple.removed == 0) {
            return self.policy(problem);
        }
        self.policy_in(self.expect(SIMPLE, "fpsrl report")?, problem)
    }

    /// The policy that searches begin with, if it was made for these variables.
    pub(super) fn start_policy(&self, problem: &Problem) -> Result<FuzzyPolicy> {
        self.policy_in(self.expect(START, "fpsrl import")?, problem)
    }

    fn policy_in(&self, path: PathBuf, problem: &Problem) -> Result<FuzzyPolicy> {
        let policy: FuzzyPolicy = files::read_json(&path)?;
        let hint = "run `fpsrl search` again".to_owned();
        if let Some(problem) = policy.fault() {
            return Err(Error::Malformed { path, line: None, column: None, problem, hint });
        }
        let theirs = policy.states.iter().map(|state| &state.name).chain(policy.actions.iter().map(|a| &a.name));
        let ours = problem
            .system
            .policy_states()
            .iter()
            .map(|state| &state.name)
            .chain(problem.system.actions().iter().map(|a| &a.name));
        if !theirs.eq(ours) {
            let other = self.file(PROBLEM);
            return Err(Error::Mismatch { path, other, problem: "it is for other variables".into(), hint });
        }
        Ok(policy)
    }

    /// The figures so far.
    pub fn summary(&self) -> Result<Summary> {
        files::read_json(&self.expect(SUMMARY, "fpsrl fit")?)
    }

    /// Removes what was made of a policy that is there no more, or came about with it.
    pub(super) fn remove_results_of_policy(&self) -> Result<()> {
        remove_front(self)?;
        [REPORT, SIMPLE, SEARCH].iter().try_for_each(|name| remove(&self.file(name)))
    }

    /// Removes what the stages after a file's own made from it.
    pub(super) fn remove_results_after(&self, name: &str) -> Result<()> {
        remove_front(self)?;
        FILES.iter().take_while(|later| **later != name).try_for_each(|later| remove(&self.file(later)))
    }
}

/// Removes a file; one that is not there is none the worse.
pub(crate) fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::write(path, error)),
        _ => Ok(()),
    }
}

/// Removes the front of an earlier search: its table, its policies, and the directory if nothing else is in it.
pub(super) fn remove_front(run: &RunDirectory) -> Result<()> {
    let path = run.file(FRONT);
    let ours = |name: &str| name == FRONT_TABLE || (name.starts_with("policy-") && name.ends_with(".json"));
    for entry in fs::read_dir(&path).into_iter().flatten().flatten() {
        if entry.file_name().to_str().is_some_and(ours) {
            remove(&entry.path())?;
        }
    }
    // Something of the user's own keeps the directory.
    let _ = fs::remove_dir(&path);
    Ok(())
}

/// Whether a run may be put here: refused where something is already, unless `force`.
pub(super) fn check_free(path: &Path, force: bool) -> Result<()> {
    match fs::read_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => Err(Error::write(path, error)),
        Err(error) => Err(Error::read(path, error)),
        Ok(mut entries) => match entries.next() {
            Some(_) if !force => Err(Error::RunExists { path: path.to_owned() }),
            _ => Ok(()),
        },
    }
}

/// Makes a run directory with its first files. They are put together beside it and appear all at once; a failure
/// leaves neither half a run nor new directories. With `force`, files of an old run give way, and nothing else does.
pub(super) fn create(path: &Path, force: bool, fill: impl FnOnce(&RunDirectory) -> Result<()>) -> Result<RunDirectory> {
    check_free(path, force)?;
    let whole = files::absolute(path);
    let parent = whole.parent().unwrap_or(&whole).to_owned();
    let missing: Vec<PathBuf> =
        parent.ancestors().take_while(|ancestor| !ancestor.exists()).map(Path::to_owned).collect();
    let attempt = || {
        fs::create_dir_all(&parent).map_err(|source| Error::write(path, source))?;
        let mut builder = tempfile::Builder::new();
        builder.prefix(".fpsrl-").suffix(".part");
        // Temporary directories are private by default.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777));
        origins::sweep(&parent);
        let staging = builder.tempdir_in(&parent).map_err(|source| Error::write(path, source))?;
        // As long as it is at work, nobody sweeps it away.
        let _at_work = Lock::of(staging.path())?;
        let staged = RunDirectory { path: staging.path().to_owned() };
        fill(&staged).map_err(|error| named_after(error, staging.path(), path))?;
        let written = |source| Error::write(path, source);
        if whole.exists() {
            let _lock = Lock::of(&whole)?;
            remove_front(&RunDirectory { path: whole.clone() })?;
            FILES.iter().try_for_each(|name| remove(&whole.join(name)))?;
            origins::sweep(&whole);
            // The first stage's files come first, for the same reason as they are removed last.
            for name in FILES.iter().rev().filter(|name| staging.path().join(name).exists()) {
                fs::rename(staging.path().join(name), whole.join(name)).map_err(written)?;
            }
        } else {
            fs::rename(staging.path(), &whole).map_err(written)?;
            // It has its name now: nothing is left to be cleaned up.
            let _ = staging.keep();
        }
        Ok(RunDirectory { path: path.to_owned() })
    };
    attempt().inspect_err(|_| {
        for directory in &missing {
            // Only what is empty goes; whatever else appeared there meanwhile is not ours.
            let _ = fs::remove_dir(directory);
        }
    })
}

/// An error about a file in the staging directory, told of the place that the user knows.
fn named_after(error: Error, staging: &Path, path: &Path) -> Error {
    let place = |file: &Path| file.strip_prefix(staging).map_or_else(|_| file.to_owned(), |rest| path.join(rest));
    match error {
        Error::Write { path: file, source } => Error::Write { path: place(&file), source },
        Error::Read { path: file, source } => Error::Read { path: place(&file), source },
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(path: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn put(name: &'static str) -> impl FnOnce(&RunDirectory) -> Result<()> {
        move |run| fs::write(run.file(name), name).map_err(|source| Error::write(&run.file(name), source))
    }

    #[test]
    fn a_failure_leaves_nothing_behind() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("runs/deep/first");
        let error = create(&path, false, |run| {
            put(PROBLEM)(run)?;
            Err(Error::write(&run.file(TRANSITIONS), io::ErrorKind::StorageFull.into()))
        })
        .unwrap_err();
        let message = error.to_string();
        assert!(message.starts_with(&path.join(TRANSITIONS).display().to_string()), "{message}");
        assert!(names(parent.path()).is_empty());
    }

    #[test]
    fn a_run_is_refused_where_something_is_already() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("first");
        create(&path, false, put(PROBLEM)).unwrap();
        let error = create(&path, false, put(PROBLEM)).unwrap_err();
        assert!(matches!(error, Error::RunExists { .. }));
        assert!(error.hint().unwrap().contains("--force"));
        fs::write(parent.path().join("file"), "").unwrap();
        assert!(matches!(create(&parent.path().join("file"), true, put(PROBLEM)), Err(Error::Write { .. })));
    }

    #[test]
    fn an_empty_directory_may_be_filled() {
        let parent = tempfile::tempdir().unwrap();
        create(parent.path(), false, put(PROBLEM)).unwrap();
        assert_eq!(names(parent.path()), [PROBLEM]);
    }

    #[test]
    fn force_replaces_the_files_of_a_run_and_nothing_else() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("first");
        create(&path, false, put(PROBLEM)).unwrap();
        for name in [POLICY, WORLD, "notes.txt", ".fpsrl-abc.part"] {
            fs::write(path.join(name), "old").unwrap();
        }
        create(&path, true, put(TRANSITIONS)).unwrap();
        assert_eq!(names(&path), ["notes.txt", TRANSITIONS]);
        assert_eq!(names(parent.path()), ["first"]);
    }

    #[test]
    fn a_failure_under_force_keeps_the_old_run() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("first");
        create(&path, false, put(PROBLEM)).unwrap();
        create(&path, true, |_| Err(Error::Internal("no"))).unwrap_err();
        assert_eq!(names(&path), [PROBLEM]);
        assert_eq!(names(parent.path()), ["first"]);
    }

    #[test]
    fn a_missing_file_is_answered_with_the_stage_that_writes_it() {
        let parent = tempfile::tempdir().unwrap();
        let error = RunDirectory::open(parent.path()).unwrap_err();
        assert!(error.to_string().contains("problem.toml is missing: fpsrl generate writes it"), "{error}");
        let error = RunDirectory::open(&parent.path().join("nowhere")).unwrap_err();
        assert!(matches!(error, Error::Read { .. }));
        let run = create(&parent.path().join("first"), false, put(PROBLEM)).unwrap();
        let problem = Problem::benchmark("mountain-car").unwrap();
        assert!(run.world(&problem).unwrap_err().hint().unwrap().contains("`fpsrl fit`"));
        assert!(run.policy(&problem).unwrap_err().hint().unwrap().contains("`fpsrl search`"));
        assert!(run.transitions(&problem).unwrap_err().hint().unwrap().contains("`fpsrl generate`"));
    }
}
