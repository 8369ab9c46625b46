//! The run directory: making it, opening it, reading what stands in it as it is.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fmt, io};

use super::graph::{
    self, CHECKPOINT, CHECKPOINT_ROWS, FRONT, FRONT_TABLE, GRAPH, GROWTH, POLICY, PROBLEM, START, SUMMARY,
    TRADE_POLICIES, TRANSITIONS,
};
use super::lock::{self, Lock};
use crate::data::{Transitions, csv};
use crate::error::{Error, Result};
use crate::figures::Summary;
use crate::files::{self, Staging};
use crate::policy::FuzzyPolicy;
use crate::problem::{Problem, WrittenProblem};
use crate::progress::{Notice, Progress};
use crate::stage::Cluster;
use crate::world::process::Permission;
use fpsrl_base::disk;

/// A directory that holds the files of one run.
///
/// ```
/// use fpsrl::{problem::WrittenProblem, progress::Progress, run};
/// let parent = tempfile::tempdir()?;
/// let mut written = WrittenProblem::benchmark("mountain-car")?;
/// written.data.samples = Some(400);
/// let path = parent.path().join("first");
/// let run = run::generate(&written.check()?, &path, false, &Progress::silent())?;
/// assert_eq!(run.transitions(&run.problem()?)?.len(), 400);
/// // A run that is there already is not overwritten.
/// assert!(run::generate(&run.problem()?, &path, false, &Progress::silent()).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct RunDirectory {
    path: PathBuf,
    /// Machines that its stages may use.
    cluster: Option<Arc<dyn Cluster>>,
    /// Whether the program may be started that its problem may name as the world.
    permission: Permission,
}

impl fmt::Debug for RunDirectory {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("RunDirectory").field("path", &self.path).finish_non_exhaustive()
    }
}

impl PartialEq for RunDirectory {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path
    }
}

impl RunDirectory {
    /// Opens a directory that holds at least a problem.
    pub fn open(path: &Path) -> Result<Self> {
        let unread = |source| Error::read(path, source);
        match disk::entries(path) {
            Ok(_) if disk::exists(&path.join(PROBLEM)).map_err(unread)? => Ok(Self::at(path)),
            Ok(_) => Err(Error::NotARun { path: path.to_owned(), why: "it has no problem.toml" }),
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                Err(Error::NotARun { path: path.to_owned(), why: "it is a file" })
            }
            Err(source) => Err(unread(source)),
        }
    }

    fn at(path: &Path) -> Self {
        Self { path: path.to_owned(), cluster: None, permission: Permission::Refused }
    }

    /// The same directory, whose worlds are learned and whose rules are searched by other machines, if there are any.
    pub fn on(self, cluster: Option<Arc<dyn Cluster>>) -> Self {
        Self { cluster, ..self }
    }

    /// The same directory, whose stages may start the program that its problem names as the world, or may not. Whoever opens a
    /// directory of someone else's says so; one that was just made has the permission of what it was made from.
    ///
    /// ```
    /// use fpsrl::{run::RunDirectory, world::process::Permission};
    /// let directory = tempfile::tempdir()?;
    /// let problem = "horizon = 5\n[[state]]\nname = 'x'\nstart = [0, 1]\n[[action]]\nname = 'u'\nlimits = [0, 1]\n\
    ///                [world]\nprocess = ['true']\n";
    /// std::fs::write(directory.path().join("problem.toml"), problem)?;
    /// let run = RunDirectory::open(directory.path())?;
    /// assert_eq!(run.problem()?.world.permission, Permission::Refused);
    /// assert_eq!(run.permitting(Permission::Allowed).problem()?.world.permission, Permission::Allowed);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn permitting(self, permission: Permission) -> Self {
        Self { permission, ..self }
    }

    /// Whether the program may be started that its problem names as the world.
    pub fn permission(&self) -> Permission {
        self.permission
    }

    /// The machines that its stages may use.
    pub(super) fn cluster(&self) -> Option<&dyn Cluster> {
        self.cluster.as_deref()
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
    pub(super) fn expect(&self, name: &str) -> Result<PathBuf> {
        let path = self.file(name);
        if self.has(name)? { Ok(path) } else { Err(Error::StageMissing { path, stage: graph::verb(name) }) }
    }

    /// Whether one of its files is there. A file that cannot be seen may be there: that is an error, lest its stage be made again.
    pub fn has(&self, name: &str) -> Result<bool> {
        let path = self.file(name);
        disk::exists(&path).map_err(|source| Error::read(&path, source))
    }

    /// The problem.
    pub fn problem(&self) -> Result<Problem> {
        self.problem_with(|_| ())
    }

    /// The problem with some of its settings changed; the file stays as it is.
    pub fn problem_with(&self, change: impl FnOnce(&mut WrittenProblem)) -> Result<Problem> {
        let mut written = WrittenProblem::read(&self.expect(PROBLEM)?)?;
        change(&mut written);
        let mut problem = written.check()?;
        problem.world.permission = self.permission;
        self.with_starts(problem)
    }

    /// The log. A reward that is known by a formula is that of the formula as it stands now, whatever it was when the log was
    /// written.
    pub fn transitions(&self, problem: &Problem) -> Result<Transitions> {
        self.hashed_transitions(problem).map(|(transitions, _)| transitions)
    }

    /// The log with the digest of its file.
    pub(super) fn hashed_transitions(&self, problem: &Problem) -> Result<(Transitions, String)> {
        let path = self.expect(TRANSITIONS)?;
        let (mut transitions, sha256) = csv::read_hashed(&path, &problem.system)?;
        if let Some(formula) = &problem.world.reward {
            transitions.rewards = transitions.rewards_by(formula);
            transitions.subtract(problem.world.costs.as_ref());
            if let Some(row) = transitions.rewards.iter().position(|reward| !reward.is_finite()) {
                return Err(Error::Malformed {
                    path,
                    line: Some(row as u64 + 2),
                    column: None,
                    problem: format!("the reward `{}` is not a finite number here", formula.text()),
                    remedy: "correct `reward` below [world] in problem.toml".into(),
                });
            }
        }
        Ok((transitions, sha256))
    }

    /// The digest of the log.
    pub fn data_sha256(&self) -> Result<String> {
        files::sha256(&self.expect(TRANSITIONS)?)
    }

    /// The policy, if it was made for these variables.
    pub fn policy(&self, problem: &Problem) -> Result<FuzzyPolicy> {
        self.policy_in(self.expect(POLICY)?, problem)
    }

    /// The policy that searches begin with, if there is one and it was made for these variables.
    pub(super) fn start_policy(&self, problem: &Problem) -> Result<Option<FuzzyPolicy>> {
        let path = self.file(START);
        if self.has(START)? { self.policy_in(path, problem).map(Some) } else { Ok(None) }
    }

    pub(super) fn policy_in(&self, path: PathBuf, problem: &Problem) -> Result<FuzzyPolicy> {
        let policy: FuzzyPolicy = files::read_json(&path)?;
        let hint = self.again("search");
        if let Some(problem) = policy.fault() {
            return Err(Error::Malformed { path, line: None, column: None, problem, remedy: hint });
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
            return Err(Error::Mismatch { path, other, problem: "it is for other variables".into(), remedy: hint });
        }
        let mut limits = policy.actions.iter().zip(problem.system.actions());
        if let Some((its, ours)) = limits.find(|(its, ours)| its.limits != ours.limits) {
            let told = format!("the limits of `{}` are {:?} instead of {:?}", ours.name, its.limits, ours.limits);
            let other = self.file(PROBLEM);
            return Err(Error::Mismatch { path, other, problem: told, remedy: hint });
        }
        Ok(policy)
    }

    /// The figures so far.
    pub fn summary(&self) -> Result<Summary> {
        Summary::read(&self.expect(SUMMARY)?).map_err(|error| match error {
            Error::Malformed { path, line, column, problem, .. } => {
                Error::Malformed { path, line, column, problem, remedy: self.again("evaluate") }
            }
            other => other,
        })
    }

    /// Removes what was made from a file that is about to change. The figures are of every stage: who changes the file
    /// writes them anew.
    pub(super) fn invalidate(&self, name: &'static str, progress: &Progress) -> Result<()> {
        let mut there = graph::after(name);
        there.retain(|later| *later != SUMMARY);
        let there = self.those_there(there)?;
        if there.contains(&CHECKPOINT) {
            self.drop_checkpoint()?;
        }
        there.iter().try_for_each(|later| self.remove(later))?;
        if !there.is_empty() {
            progress.notice(Notice::Removed { origin: name, files: there });
        }
        Ok(())
    }

    /// Those of some files that are there.
    pub(super) fn those_there(&self, names: impl IntoIterator<Item = &'static str>) -> Result<Vec<&'static str>> {
        let there = names.into_iter().map(|name| self.has(name).map(|there| there.then_some(name)));
        there.filter_map(Result::transpose).collect()
    }

    /// Removes the checkpoint, and for good before the rows that belong to it: without them, nobody could go on from it.
    pub(super) fn drop_checkpoint(&self) -> Result<()> {
        if self.has(CHECKPOINT)? {
            self.remove(CHECKPOINT)?;
            disk::sync_directory(&self.path).map_err(|source| Error::write(&self.file(CHECKPOINT), source))?;
        }
        self.remove(CHECKPOINT_ROWS)
    }

    /// Removes where a search stands. Without the growth that it belongs to, a checkpoint would be gone on from otherwise: so it
    /// goes first.
    pub(super) fn forget_search(&self) -> Result<()> {
        self.drop_checkpoint()?;
        self.remove(GROWTH)
    }

    /// Removes a file of the run; one that is not there is no error.
    pub(super) fn remove(&self, name: &str) -> Result<()> {
        let path = self.file(name);
        if [FRONT, TRADE_POLICIES].contains(&name) { remove_policies(&path) } else { remove(&path) }
    }
}

/// Removes a file; one that is not there is no error.
fn remove(path: &Path) -> Result<()> {
    disk::remove(path).map_err(|source| Error::write(path, source))
}

/// Removes the policies of an earlier search, their table if it is beside them, and the directory if nothing else is in it.
fn remove_policies(path: &Path) -> Result<()> {
    let policy = |name: &str| name.starts_with("policy-") && name.ends_with(".json");
    let ours = |name: &str| name == FRONT_TABLE || policy(name) || files::is_leftover(name);
    let entries = match disk::entries(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(|source| Error::read(path, source))?,
    };
    // The table goes first: where it is, all policies are.
    let is_table = |entry: &&PathBuf| entry.file_name().is_some_and(|name| name == FRONT_TABLE);
    let (table, others): (Vec<_>, Vec<_>) = entries.iter().partition(is_table);
    for entry in table.into_iter().chain(others) {
        if entry.file_name().and_then(|name| name.to_str()).is_some_and(ours) {
            remove(entry)?;
        }
    }
    // Something of the user's own keeps the directory.
    match disk::remove_directory(path) {
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(()),
        removed => removed.map_err(|source| Error::write(path, source)),
    }
}

/// Whether a run may be put here: refused where something is already, unless `force`.
pub(super) fn check_free(path: &Path, force: bool) -> Result<()> {
    match disk::entries(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => Err(Error::write(path, error)),
        Err(error) => Err(Error::read(path, error)),
        Ok(entries) if !entries.is_empty() && !force => Err(Error::RunExists { path: path.to_owned() }),
        Ok(_) => Ok(()),
    }
}

/// Makes a run directory with its first files. They are put together beside it and appear all at once; a failure
/// leaves neither half a run nor new directories. With `force`, files of an old run give way, and nothing else does.
pub(super) fn create(path: &Path, force: bool, fill: impl FnOnce(&RunDirectory) -> Result<()>) -> Result<RunDirectory> {
    check_free(path, force)?;
    let whole = files::absolute(path);
    let parent = whole.parent().unwrap_or(&whole).to_owned();
    let missing: Vec<PathBuf> =
        parent.ancestors().take_while(|ancestor| !disk::is_directory(ancestor)).map(Path::to_owned).collect();
    let written = |source| Error::write(path, source);
    let attempt = || {
        disk::make_directories(&parent).map_err(written)?;
        // Where a sweep makes many runs at a time, what is new there is not left over.
        if !disk::exists(&parent.join(graph::SWEEP)).map_err(written)? {
            lock::sweep(&parent);
        }
        let (staging, _at_work) = staged(&parent).map_err(|error| match error {
            Error::Write { source, .. } => written(source),
            other => other,
        })?;
        let staged = RunDirectory::at(staging.path());
        fill(&staged).map_err(|error| named_after(error, staging.path(), path))?;
        if disk::exists(&whole).map_err(written)? {
            let _lock = Lock::of(&whole)?;
            let old = RunDirectory::at(&whole);
            GRAPH.iter().rev().try_for_each(|entry| old.remove(entry.name))?;
            lock::sweep(&whole);
            // The first stage's files come first, for the same reason as they are removed last.
            for name in staged.those_there(GRAPH.iter().map(|entry| entry.name))? {
                disk::rename(&staging.path().join(name), &whole.join(name)).map_err(written)?;
            }
            disk::sync_directory(&whole).map_err(written)?;
        } else {
            staging.place(&whole).map_err(written)?;
        }
        Ok(RunDirectory::at(path))
    };
    attempt().inspect_err(|_| {
        for directory in &missing {
            // Only what is empty goes; whatever else appeared there meanwhile is not ours.
            let _ = disk::remove_directory(directory);
        }
    })
}

/// A directory to fill beside its place. As long as its lock is held, nobody sweeps it away.
fn staged(parent: &Path) -> Result<(Staging, Lock)> {
    let mut tries = 0;
    loop {
        let staging = Staging::within(parent).map_err(|source| Error::write(parent, source))?;
        tries += 1;
        match Lock::of(staging.path()) {
            Ok(lock) if disk::is_directory(staging.path()) => return Ok((staging, lock)),
            // Whoever cleans up came between the making and the locking.
            _ if tries < 3 => {}
            lock => return Ok((staging, lock?)),
        }
    }
}

/// An error about a file in the staging directory, told of the place that the user knows.
fn named_after(error: Error, staging: &Path, path: &Path) -> Error {
    let place = |file: &Path| file.strip_prefix(staging).map_or_else(|_| file.to_owned(), |rest| path.join(rest));
    match error {
        Error::Write { path: file, source } => Error::Write { path: place(&file), source },
        Error::Read { path: file, source } => Error::Read { path: place(&file), source },
        Error::Malformed { path: file, line, column, problem, remedy } => {
            Error::Malformed { path: place(&file), line, column, problem, remedy }
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::run::graph::WORLD;

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
        assert!(error.hint().unwrap().contains("`force`"));
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
        assert!(error.to_string().contains("is not a run directory: it has no problem.toml"), "{error}");
        let error = RunDirectory::open(&parent.path().join("nowhere")).unwrap_err();
        assert!(matches!(error, Error::Read { .. }));
        let run = create(&parent.path().join("first"), false, put(PROBLEM)).unwrap();
        let problem = Problem::benchmark("mountain-car").unwrap();
        assert!(run.worlds(&problem).err().unwrap().hint().unwrap().contains("fit"));
        assert!(run.policy(&problem).unwrap_err().hint().unwrap().contains("search"));
        assert!(run.transitions(&problem).unwrap_err().hint().unwrap().contains("generate"));
    }
}
