//! Who may write in a run directory: one process at a time. What killed ones left is removed.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::time::Duration;

use super::directory::RunDirectory;
use super::graph::{FRONT, TRADE_POLICIES};
use crate::error::{Error, Result};
use crate::files;
use fpsrl_base::disk;

/// A lock that was given back lives on for a moment in a program that another thread is just starting: the child has the file until
/// it begins. So one that is held is asked for again, for a tenth of a second.
const ATTEMPTS: usize = 20;
const PAUSE: Duration = Duration::from_millis(5);

/// The right to write in a directory; it ends with the value, and with the process however that ends. It is held on the directory
/// itself, which leaves nothing behind, where the system allows that.
#[derive(Debug)]
#[must_use = "the directory is free again when this is dropped"]
pub struct Lock {
    _held: Option<File>,
}

impl Lock {
    /// Locks a directory; refused where another process holds it.
    pub(crate) fn of(directory: &Path) -> Result<Self> {
        let held = disk::handle(directory).map_err(|source| Error::write(directory, source))?;
        let mut locked = held.try_lock();
        for _ in 0..ATTEMPTS {
            if !matches!(locked, Err(TryLockError::WouldBlock)) {
                break;
            }
            std::thread::sleep(PAUSE);
            locked = held.try_lock();
        }
        match locked {
            Ok(()) => Ok(Self { _held: Some(held) }),
            Err(TryLockError::WouldBlock) => Err(Error::Busy { path: directory.to_owned() }),
            // There are file systems that know no locks: work on them is as safe as it was.
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => Ok(Self { _held: None }),
            Err(TryLockError::Error(error)) => Err(Error::write(directory, error)),
        }
    }
}

/// Removes what killed runs left in a directory: temporary files, and directories that never took their name. Whatever a
/// process still works on is locked, and stays. They are in nobody's way, so a failure is no error.
pub(crate) fn sweep(directory: &Path) {
    for path in disk::entries(directory).into_iter().flatten() {
        if !path.file_name().and_then(|name| name.to_str()).is_some_and(files::is_leftover) {
            continue;
        }
        if !disk::is_directory(&path) {
            let _ = disk::remove_abandoned(&path);
        } else if let Ok(_lock) = Lock::of(&path) {
            let _ = disk::remove_tree(&path);
        }
    }
}

impl RunDirectory {
    /// Keeps other processes from writing here, and removes what killed ones left behind.
    ///
    /// ```
    /// use fpsrl::{problem::WrittenProblem, progress::Progress, run};
    /// let parent = tempfile::tempdir()?;
    /// let mut written = WrittenProblem::benchmark("mountain-car")?;
    /// written.data.samples = Some(400);
    /// let run = run::generate(&written.check()?, &parent.path().join("first"), false, &Progress::silent())?;
    /// let lock = run.lock()?;
    /// assert!(run.lock().unwrap_err().to_string().contains("is in use"));
    /// drop(lock);
    /// assert!(run.lock().is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn lock(&self) -> Result<Lock> {
        let lock = Lock::of(self.path())?;
        for directory in [self.path().to_owned(), self.file(FRONT), self.file(TRADE_POLICIES)] {
            sweep(&directory);
        }
        Ok(lock)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_second_writer_is_kept_out_until_the_first_is_done() {
        let directory = tempfile::tempdir().unwrap();
        let lock = Lock::of(directory.path()).unwrap();
        let error = Lock::of(directory.path()).unwrap_err();
        assert!(matches!(error, Error::Busy { .. }) && error.is_users());
        drop(lock);
        assert!(Lock::of(directory.path()).is_ok());
        assert!(matches!(Lock::of(&directory.path().join("nowhere")), Err(Error::Write { .. })));
    }

    #[test]
    fn what_killed_runs_left_goes_and_what_is_at_work_stays() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        fs::write(path(".fpsrl-a.part"), "half").unwrap();
        fs::write(path("notes.part"), "the user's own").unwrap();
        for name in [".fpsrl-b.part", ".fpsrl-c.part"] {
            fs::create_dir(path(name)).unwrap();
            fs::write(path(name).join("problem.toml"), "half").unwrap();
        }
        let _at_work = Lock::of(&path(".fpsrl-c.part")).unwrap();
        sweep(directory.path());
        let mut left: Vec<String> = fs::read_dir(directory.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        assert_eq!(left, [".fpsrl-c.part", "notes.part"]);
    }
}
