//! One run of a sweep: its directory with its log, then every stage, as `fpsrl run --resume` makes them.

use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use fpsrl_base::disk;
use fpsrl_base::error::{Error, Result};
use fpsrl_base::files;
use serde::{Deserialize, Serialize};

use super::plan::{PlannedRun, Sweep};
use super::state::{Digests, PLANNED, Planned, State, wants_ceiling};
use crate::progress::Progress;
use crate::run::{ReportOptions, RunDirectory, save_planned};
use crate::search::SearchOptions;
use crate::stage::Log;

/// What came of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// It is finished; now, or before.
    Finished {
        /// Whether this call made it.
        now: bool,
    },
    /// It has failed, and why is kept.
    Failed(Failure),
    /// Another process is making it.
    Elsewhere,
}

/// Why a run has failed: kept beside the runs, so that it is known without making the run again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The run's name.
    pub run: String,
    /// The digest of what was planned; empty where that could not be read.
    pub sha256: String,
    /// What went wrong.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// Whether it is a bug of ours.
    pub bug: bool,
}

impl Sweep {
    /// Makes one run, unless it is finished. What fails is kept and is no error; an error is what concerns the sweep: work that was
    /// stopped, a directory that holds something else, failures that cannot be kept.
    ///
    /// It needs nothing of the other runs, so whoever has more machines calls it there. A failure that is known is not tried again,
    /// unless `retry`.
    pub fn execute(&self, run: &PlannedRun, retry: bool, progress: &Progress) -> Result<Outcome> {
        self.execute_with(run, retry, &Digests::default(), progress)
    }

    pub(super) fn execute_with(
        &self,
        run: &PlannedRun,
        retry: bool,
        digests: &Digests,
        progress: &Progress,
    ) -> Result<Outcome> {
        match self.state_with(run, digests)? {
            State::Finished(_) => return Ok(Outcome::Finished { now: false }),
            State::Failed(failure) if !retry => return Ok(Outcome::Failed(failure)),
            _ => {}
        }
        self.kept(run, digests, || self.make(run, digests, progress))
    }

    /// Does some work on a run, and keeps its failure.
    pub(super) fn kept(
        &self,
        run: &PlannedRun,
        digests: &Digests,
        work: impl FnOnce() -> Result<()>,
    ) -> Result<Outcome> {
        // A bug that one run meets does not end the others.
        let (error, bug) = match catch_unwind(AssertUnwindSafe(work)) {
            Ok(Ok(())) => {
                self.forget_failure(run)?;
                return Ok(Outcome::Finished { now: true });
            }
            Ok(Err(error @ Error::Stopped { .. })) => return Err(error),
            Ok(Err(Error::Busy { .. })) => return Ok(Outcome::Elsewhere),
            Ok(Err(error)) if self.is_of_the_disk(&error) => return Err(error),
            Ok(Err(error)) => ((error.to_string(), error.hint()), !error.is_users()),
            Err(panic) => {
                let told = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
                let told = told.or_else(|| panic.downcast_ref::<String>().cloned());
                let told = told.unwrap_or_else(|| "no reason given".into());
                let hint = "please report it with the problem file and this message";
                ((format!("fpsrl has a bug: {told}"), Some(hint.to_owned())), true)
            }
        };
        let sha256 = self.planned(run, digests).map(|planned| planned.sha256).unwrap_or_default();
        let failure = Failure { run: run.name.clone(), sha256, message: error.0, hint: error.1, bug };
        self.keep_failure(run, &failure)?;
        Ok(Outcome::Failed(failure))
    }

    /// Whether something went wrong with the disk that all runs are on, and not with one of them.
    fn is_of_the_disk(&self, error: &Error) -> bool {
        match error {
            Error::Write { .. } => true,
            // A log that is missing or nobody's to read is a fault of the runs on it.
            Error::Read { path, source } => {
                let named = matches!(source.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied);
                !named || path.starts_with(self.directory())
            }
            _ => false,
        }
    }

    /// The stages of a run that are missing.
    fn make(&self, run: &PlannedRun, digests: &Digests, progress: &Progress) -> Result<()> {
        let directory = self.prepare_with(run, digests, progress)?;
        let _lock = directory.lock()?;
        let problem = directory.problem()?;
        let options = SearchOptions::of(&problem.search, true);
        directory.resume(options, progress)?;
        if wants_ceiling(&problem) {
            directory.resume_ceiling(options, progress)?;
        }
        directory.report(&ReportOptions::default(), progress).map(drop)
    }

    /// Makes the directory of a run with its problem and its log, from where `fpsrl run --resume` makes the rest; opens it if it is
    /// there.
    pub fn prepare(&self, run: &PlannedRun, progress: &Progress) -> Result<RunDirectory> {
        self.prepare_with(run, &Digests::default(), progress)
    }

    pub(super) fn prepare_with(
        &self,
        run: &PlannedRun,
        digests: &Digests,
        progress: &Progress,
    ) -> Result<RunDirectory> {
        let place = self.place(run);
        if exists(&place)? {
            return Ok(RunDirectory::open(&place)?.permitting(self.permission()));
        }
        let planned = self.planned(run, digests)?;
        let mut log = Log::new(&self.problem(run)?, progress)?;
        if let Some(draw) = run.draw {
            log = log.drawn(draw)?;
        }
        if progress.stop_requested() {
            return Err(Error::Stopped { stage: "import" });
        }
        save_planned(&log, &place, |directory: &RunDirectory| {
            let problem_sha256 = files::sha256(&directory.file("problem.toml"))?;
            files::write_json(&directory.file(PLANNED), &Planned { problem_sha256, ..planned })
        })
    }

    /// The same, for whoever makes the rest of it elsewhere; none if that failed, which is kept.
    pub fn prepared(&self, run: &PlannedRun, progress: &Progress) -> Result<Option<RunDirectory>> {
        let (digests, mut made) = (Digests::default(), None);
        let outcome = self.kept(run, &digests, || {
            made = Some(self.prepare_with(run, &digests, progress)?);
            Ok(())
        })?;
        Ok(made.filter(|_| matches!(outcome, Outcome::Finished { .. })))
    }

    /// Keeps the failure of a run that was made elsewhere.
    pub fn keep(&self, run: &PlannedRun, message: String, hint: Option<String>, bug: bool) -> Result<()> {
        let sha256 = self.planned(run, &Digests::default()).map(|planned| planned.sha256).unwrap_or_default();
        self.keep_failure(run, &Failure { run: run.name.clone(), sha256, message, hint, bug })
    }

    /// Puts a run that was finished elsewhere in the place of what was prepared of it. `from` is on the same disk.
    pub fn adopt(&self, run: &PlannedRun, from: &Path) -> Result<()> {
        let place = self.place(run);
        let old = from.with_extension("old");
        let moved = |from: &Path, to: &Path| disk::rename(from, to).map_err(|source| Error::write(to, source));
        if exists(&place)? {
            moved(&place, &old)?;
        }
        moved(from, &place)?;
        disk::sync_directory(disk::parent(&place)).map_err(|source| Error::write(&place, source))?;
        // What was prepared is of no use any more; what is left of it, the next sweep removes.
        let _ = disk::remove_tree(&old);
        self.forget_failure(run)
    }

    fn keep_failure(&self, run: &PlannedRun, failure: &Failure) -> Result<()> {
        let file = self.failure_file(run);
        let parent = file.parent().unwrap_or(Path::new(""));
        disk::make_directory(parent).map_err(|source| Error::write(parent, source))?;
        files::write_json(&file, failure)
    }

    fn forget_failure(&self, run: &PlannedRun) -> Result<()> {
        let file = self.failure_file(run);
        disk::remove(&file).map_err(|source| Error::write(&file, source))
    }
}

/// Whether something is there.
pub(super) fn exists(path: &Path) -> Result<bool> {
    disk::exists(path).map_err(|source| Error::read(path, source))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bug_in_one_run_is_kept_as_its_failure() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("sweep.toml");
        std::fs::write(&path, "problem = 'mountain-car'\nseeds = 2\n").unwrap();
        let sweep = Sweep::read(&path).unwrap();
        sweep.begin().unwrap();
        let run = &sweep.runs()[1];
        let outcome = sweep.kept(run, &Digests::default(), || panic!("an index is out of {}", "bounds")).unwrap();
        let Outcome::Failed(failure) = outcome else { panic!("it went well: {outcome:?}") };
        assert_eq!(failure.message, "fpsrl has a bug: an index is out of bounds");
        assert!(failure.bug && failure.hint.is_some());
        assert_eq!(sweep.state(run).unwrap(), State::Failed(failure));
        assert_eq!(sweep.state(&sweep.runs()[0]).unwrap(), State::Pending);
        // Work that was stopped is no failure.
        let stopped = sweep.kept(&sweep.runs()[0], &Digests::default(), || Err(Error::Stopped { stage: "search" }));
        assert!(matches!(stopped, Err(Error::Stopped { .. })));
    }
}
