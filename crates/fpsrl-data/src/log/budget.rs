//! What reading a file may cost: memory in proportion to the file's size, work in proportion to that, and a stop that is
//! heard in between.
//!
//! A file of a few kilobytes can claim or unpack to any number of gigabytes. So a reader asks the budget before it takes
//! memory, and tells it what it unpacks; whoever knows the file to be right allows it more.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use fpsrl_base::error::{Error, Result};
use fpsrl_base::progress::Progress;
use fpsrl_base::remedy::Remedy;

/// Bytes of memory that any file may take, however small it is.
const BASE: u64 = 175_000_000;

/// Bytes of memory for each byte of a file.
const FACTOR: u64 = 19;

/// Bytes that may be unpacked in all, for each byte of memory that may be taken: what is unpacked is not all kept.
const UNPACKED: u64 = 2;

/// Columns that a file may have; their names take memory before any row does.
pub(super) const MOST_TITLES: usize = 100_000;

/// Columns that are read of a file at once.
pub(super) const MOST_COLUMNS: usize = 10_000;

/// What reading a file may cost. All clones are the same budget.
#[derive(Clone)]
pub(super) struct Budget(Arc<Account>);

struct Account {
    path: PathBuf,
    size: u64,
    limit: u64,
    held: AtomicU64,
    unpacked: AtomicU64,
    progress: Progress,
    /// Why a reader of others was stopped: it only sees that it cannot read on.
    refused: Mutex<Option<Error>>,
}

impl Budget {
    /// The budget of a file of so many bytes; `memory` is what the user allows instead.
    pub(super) fn new(path: &Path, size: u64, memory: Option<u64>, progress: &Progress) -> Self {
        let limit = memory.unwrap_or_else(|| size.saturating_mul(FACTOR).saturating_add(BASE));
        let (held, unpacked, refused) = (AtomicU64::new(0), AtomicU64::new(0), Mutex::new(None));
        let (path, progress) = (path.to_owned(), progress.clone());
        Self(Arc::new(Account { path, size, limit, held, unpacked, progress, refused }))
    }

    /// Bytes of the file.
    pub(super) fn size(&self) -> u64 {
        self.0.size
    }

    /// Takes so many bytes; `what` says what for: "the array `x` has 5 rows of 3 columns".
    pub(super) fn take(&self, bytes: u64, what: impl FnOnce() -> String) -> Result<()> {
        self.take_so_far(bytes, 1.0, what)
    }

    /// The same where only a share of the file has been read, so that the rest will take its part too.
    pub(super) fn take_so_far(&self, bytes: u64, share: f64, what: impl FnOnce() -> String) -> Result<()> {
        let held = self.0.held.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        if held <= self.0.limit {
            return Ok(());
        }
        self.give_back(bytes);
        Err(self.too_large((held as f64 / share.clamp(1e-6, 1.0)) as u64, what()))
    }

    /// Gives back bytes that were taken.
    pub(super) fn give_back(&self, bytes: u64) {
        self.0.held.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Bytes were unpacked or gone through, whether they are kept or not. `share` is how much of the file that took, if
    /// it is known.
    pub(super) fn unpacked(&self, bytes: u64, share: Option<f64>) -> Result<()> {
        let all = self.0.unpacked.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        let most = self.0.limit.saturating_mul(UNPACKED);
        if all <= most {
            return Ok(());
        }
        let whole = share.filter(|share| *share > 0.0).map_or(4.0 * all as f64, |share| all as f64 / share);
        let what = format!("it unpacks to more than {}", text(most));
        Err(self.too_large((whole / UNPACKED as f64) as u64, what))
    }

    /// The error of a file that takes more than it may. `needed` bytes would be enough, as far as that is known.
    pub(super) fn too_large(&self, needed: u64, what: String) -> Error {
        let Account { size, limit, .. } = *self.0;
        // Half as much again, for what is not known yet.
        let enough = allowance(needed.max(limit).saturating_add(needed.max(limit) / 2));
        let problem = format!("{what}; a file of {} may take {} of memory", text(size), text(limit));
        let remedy = Remedy::words("if the file is what you expect, allow it more with ")
            .option("memory", Some(&enough))
            .then(", or by `memory` below [data] in the problem file");
        Error::Malformed { path: self.0.path.clone(), line: None, column: None, problem, remedy }
    }

    /// Whether work may go on.
    pub(super) fn go_on(&self) -> Result<()> {
        if self.0.progress.stop_requested() { Err(Error::Stopped { stage: "import" }) } else { Ok(()) }
    }

    /// An error as a reader of others hears it; [`told`](Self::told) brings it back.
    pub(super) fn refuse(&self, error: Error) -> io::Error {
        let mut refused = self.0.refused.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        refused.get_or_insert(error);
        io::Error::other("reading was ended")
    }

    /// The same for what may fail.
    pub(super) fn heard<T>(&self, done: Result<T>) -> io::Result<T> {
        done.map_err(|error| self.refuse(error))
    }

    /// Why a reader of others failed: by our own refusal, if there was one, else by what it says itself.
    pub(super) fn told(&self, own: impl FnOnce() -> Error) -> Error {
        let mut refused = self.0.refused.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        refused.take().unwrap_or_else(own)
    }
}

/// Bytes of memory that numbers take.
pub(super) fn of_cells(rows: u64, columns: u64) -> u64 {
    rows.saturating_mul(columns).saturating_mul(8)
}

/// Bytes of memory that numbers in rows and columns take, and with them whatever looks at the rows afterwards: their order
/// and their pairs, and copies of the rows that are kept or that roles are told by.
pub(super) fn of_rows(rows: u64, columns: u64) -> u64 {
    let cells = of_cells(rows, columns);
    let looked_at = rows.min((4_000_000 / columns.max(1)).max(10_000));
    let guessed = rows.saturating_mul(4).saturating_add(looked_at * (28 + 8 * columns.min(400)));
    let imported = rows.saturating_mul(22).saturating_add(16 * columns.min(80) * rows.min(100_000));
    cells.saturating_add(guessed.max(imported))
}

/// The error of a file with too many columns.
pub(super) fn too_wide(path: &Path, what: &str, columns: u64, most: usize) -> Error {
    let problem = format!("{what} has {columns} columns; at most {most} are read");
    let remedy = "a log has a row for each step and a column for each quantity; if it is the other way round, turn it, else \
                  leave columns out";
    Error::Malformed { path: path.to_owned(), line: None, column: None, problem, remedy: remedy.into() }
}

/// Memory for people.
fn text(bytes: u64) -> String {
    let (unit, name) = [(1e9, "GB"), (1e6, "MB"), (1e3, "kB")]
        .into_iter()
        .find(|(unit, _)| bytes as f64 >= *unit)
        .unwrap_or((1.0, "bytes"));
    format!("{} {name}", fpsrl_base::text::number(bytes as f64 / unit))
}

/// At least so many bytes, as an option is written.
fn allowance(bytes: u64) -> String {
    match bytes.div_ceil(1_000_000_000) {
        0 | 1 => format!("{}MB", bytes.div_ceil(50_000_000) * 50),
        gigabytes => format!("{gigabytes}GB"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_is_enough_when_it_is_allowed() {
        let budget = |memory| Budget::new("log.npz".as_ref(), 1_000_000, memory, &Progress::silent());
        let small = budget(None);
        assert!(small.take(194_000_000, String::new).is_ok());
        small.give_back(194_000_000);
        let error = small.take(8_000_000_000, || "the array `x` has 1000000000 rows".into()).unwrap_err();
        let message = "log.npz: the array `x` has 1000000000 rows; a file of 1 MB may take 194 MB of memory";
        assert_eq!(error.to_string(), message);
        assert!(error.hint().unwrap().contains("`memory = 12GB`"), "{:?}", error.hint());
        assert!(budget(Some(12_000_000_000)).take(8_000_000_000, String::new).is_ok());
        // What was refused is not held.
        assert!(small.take(194_000_000, String::new).is_ok());
        assert!(small.unpacked(388_000_000, None).is_ok());
        assert!(small.unpacked(1, Some(0.5)).unwrap_err().hint().unwrap().contains("`memory = 600MB`"));
    }

    #[test]
    fn readers_of_others_pass_on_why_they_were_ended() {
        let stop = fpsrl_base::progress::Stop::default();
        let progress = Progress::silent().stopped_by(&stop);
        let budget = Budget::new("log.h5".as_ref(), 10, None, &progress);
        assert!(budget.heard(budget.go_on()).is_ok());
        stop.request();
        assert!(budget.heard(budget.go_on()).is_err());
        assert!(matches!(budget.told(|| Error::Internal("its own")), Error::Stopped { .. }));
        assert!(matches!(budget.told(|| Error::Internal("its own")), Error::Internal(_)));
    }
}
