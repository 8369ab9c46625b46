//! Opens a log, whatever its format: that is told from the file's first bytes, not from its name.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use super::budget::Budget;
use super::cell;
use super::layout::{TextOptions, malformed};
use super::table::{Kind, Table};
use super::text::{self, Wanted};
use fpsrl_base::error::{Error, Result};
use fpsrl_base::frame::is_frame;
use fpsrl_base::progress::{Progress, Stage, Status};

/// Reads the columns of a log that are wanted; those not wanted cost neither memory nor, in text, much time.
///
/// It takes memory in proportion to the file's size, and refuses a file that claims or unpacks to more;
/// [`TextOptions::memory`] allows it another amount. A stop that `progress` is asked for is heard within a second.
///
/// ```
/// use fpsrl_base::progress::Progress;
/// use fpsrl_data::log;
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("log.csv");
/// std::fs::write(&path, "time;level[m];note\n0;1,5;start\n1;1,75;\n")?;
/// let table = log::read(&path, &log::TextOptions::default(), &|_, name| name != "note", &Progress::silent())?;
/// assert_eq!(*table.columns[1].values, [1.5, 1.75]);
/// assert_eq!(table.columns[1].unit, "m");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read(path: &Path, options: &TextOptions, wanted: Wanted<'_>, progress: &Progress) -> Result<Table<'static>> {
    let failed = |source| Error::read(path, source);
    if is_frame(path) {
        let problem = "this log was a table in memory, such as a data frame; there is no file to read it from";
        let hint = "give the table again, or name files that hold it: file = [\"a.csv\"] below [data]";
        return Err(malformed(path, None, problem, hint));
    }
    // Neither is opened: a pipe may keep whoever opens it waiting for ever.
    let what = std::fs::metadata(path).map_err(failed)?;
    if what.is_dir() {
        let hint = "name the files in it, as file = [\"a.csv\", \"b.csv\"]";
        return Err(malformed(path, None, "this is a directory", hint));
    }
    if !what.is_file() {
        return Err(malformed(path, None, "this is a pipe or a device", "write what comes from it to a file first"));
    }
    let mut file = File::open(path).map_err(failed)?;
    let before = state(&file).map_err(failed)?;
    let budget = Budget::new(path, before.0, options.memory, progress);
    let mut magic = [0; 8];
    let length = read_some(&mut file, &mut magic).map_err(failed)?;
    file.rewind().map_err(failed)?;
    progress.begin(Stage::Import, before.0);
    let done = AtomicU64::new(0);
    let share = || {
        let done = done.load(Ordering::Relaxed);
        progress.update(Stage::Import, done, Status::Counting);
        budget.go_on()?;
        Ok(done as f64 / before.0.max(1) as f64)
    };
    let source = |file| Counting { file, done: &done, budget: &budget };
    let table = match &magic[..length] {
        [b'P', b'A', b'R', b'1', ..] => parquet(path, file, wanted, &budget, progress),
        b"\x89HDF\r\n\x1a\n" => hdf5(path, file, wanted, &budget, progress),
        [b'P', b'K', 3 | 5, ..] => super::npz::read(path, file, wanted, &budget),
        [0x1f, 0x8b, ..] => {
            let unpacked = flate2::read::MultiGzDecoder::new(source(file));
            let unpacked = Unpacking { source: unpacked, done: &done, budget: &budget };
            text::read(unpacked, path, options, wanted, &budget, &share)
        }
        _ => text::read(source(file), path, options, wanted, &budget, &share),
    };
    progress.end(Stage::Import);
    let mut table = table?;
    // Of files of numbers, only those among the words can stand for a missing value; text knows all of them already.
    let missing = cell::missing_numbers(&options.missing, b'.');
    if !missing.is_empty() {
        for column in table.columns.iter_mut().filter(|column| column.kind == Kind::Number) {
            let values = column.values.to_mut().iter_mut();
            values.filter(|value| missing.contains(value)).for_each(|value| *value = f64::NAN);
        }
    }
    // A writer at work leaves half a row, or rows that belong to another time than the header.
    if File::open(path).and_then(|file| state(&file)).map_err(failed)? != before {
        return Err(malformed(
            path,
            None,
            "the file changed while it was read",
            "copy it where nothing writes to it, and read the copy",
        ));
    }
    Ok(table)
}

/// A file's length and the time of its last change.
fn state(file: &File) -> io::Result<(u64, Option<SystemTime>)> {
    let metadata = file.metadata()?;
    Ok((metadata.len(), metadata.modified().ok()))
}

fn read_some(file: &mut File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while length < buffer.len() {
        match file.read(&mut buffer[length..])? {
            0 => break,
            count => length += count,
        }
    }
    Ok(length)
}

/// Counts what goes through it, for the progress bar, and ends where reading is to stop.
struct Counting<'a> {
    file: File,
    done: &'a AtomicU64,
    budget: &'a Budget,
}

impl Read for Counting<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.budget.heard(self.budget.go_on())?;
        let count = self.file.read(buffer)?;
        self.done.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// Holds what is unpacked to the budget.
struct Unpacking<'a, R> {
    source: R,
    done: &'a AtomicU64,
    budget: &'a Budget,
}

impl<R: Read> Read for Unpacking<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(buffer)?;
        let share = self.done.load(Ordering::Relaxed) as f64 / self.budget.size().max(1) as f64;
        self.budget.heard(self.budget.unpacked(count as u64, Some(share)).and(self.budget.go_on()))?;
        Ok(count)
    }
}

#[cfg(feature = "parquet")]
fn parquet(
    path: &Path,
    file: File,
    wanted: Wanted<'_>,
    budget: &Budget,
    progress: &Progress,
) -> Result<Table<'static>> {
    super::parquet::read(path, file, wanted, budget, progress)
}

#[cfg(not(feature = "parquet"))]
fn parquet(path: &Path, _: File, _: Wanted<'_>, _: &Budget, _: &Progress) -> Result<Table<'static>> {
    Err(malformed(path, None, "this fpsrl was built without Parquet", "build it with the feature `parquet`"))
}

#[cfg(feature = "hdf5")]
fn hdf5(path: &Path, file: File, wanted: Wanted<'_>, budget: &Budget, progress: &Progress) -> Result<Table<'static>> {
    super::hdf5::read(path, file, wanted, budget, progress)
}

#[cfg(not(feature = "hdf5"))]
fn hdf5(path: &Path, _: File, _: Wanted<'_>, _: &Budget, _: &Progress) -> Result<Table<'static>> {
    Err(malformed(path, None, "this fpsrl was built without HDF5", "build it with the feature `hdf5`"))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use fpsrl_base::progress::Progress;

    fn of(bytes: &[u8], memory: Option<u64>) -> Result<Table<'static>> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        read(file.path(), &TextOptions { memory, ..TextOptions::default() }, &|_, _| true, &Progress::silent())
    }

    fn refused(bytes: &[u8], memory: Option<u64>) -> String {
        of(bytes, memory).unwrap_err().to_string()
    }

    #[test]
    fn small_files_that_claim_gigabytes_are_refused() {
        let message = refused(include_bytes!("hostile/npz-wide.npz"), None);
        assert!(message.contains("2000000 columns; at most 100000 are read"), "{message}");
        #[cfg(feature = "hdf5")]
        {
            let error = of(include_bytes!("hostile/hdf5-sparse.h5"), None).unwrap_err();
            let message = error.to_string();
            assert!(
                message.contains("claims 100000000 rows and 1 columns; a file of 2.22 kB may take 175 MB"),
                "{message}"
            );
            assert!(error.hint().unwrap().contains("`memory = 5GB`"), "{:?}", error.hint());
        }
        #[cfg(feature = "parquet")]
        {
            let message = refused(include_bytes!("hostile/parquet-rows-1e11.parquet"), None);
            assert!(message.contains("rows"), "{message}");
            let message = refused(include_bytes!("hostile/slow.parquet"), None);
            assert!(message.contains("it cannot be read as Parquet"), "{message}");
        }
    }

    #[test]
    fn text_that_was_packed_is_held_to_a_multiple_of_what_it_was_packed_into() {
        let packed = |text: &[u8]| {
            let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
            packer.write_all(text).unwrap();
            packer.finish().unwrap()
        };
        let rows = packed(&[&b"a,b\n"[..], &b"1,2\n".repeat(500_000)].concat());
        let error = of(&rows, Some(4_000_000)).unwrap_err();
        assert!(error.to_string().contains("its rows take too much memory; a file of "), "{error}");
        assert!(error.hint().unwrap().contains("`memory = "), "{:?}", error.hint());
        assert_eq!(of(&rows, Some(80_000_000)).unwrap().rows, 500_000);
        // What is read and kept in no column counts as well.
        let blank = packed(&[&b"a,b\n1,2\n"[..], &b"\n".repeat(9_000_000)].concat());
        assert!(refused(&blank, Some(4_000_000)).contains("it unpacks to more than 8 MB"));
        assert_eq!(of(&blank, None).unwrap().rows, 1);
    }

    #[test]
    fn devices_are_not_waited_for() {
        let path = Path::new("/dev/null");
        if path.exists() {
            let error = read(path, &TextOptions::default(), &|_, _| true, &Progress::silent()).unwrap_err();
            assert!(error.to_string().contains("this is a pipe or a device"), "{error}");
        }
    }

    #[test]
    fn a_file_that_changes_while_it_is_read_is_refused() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"a,b\n1,2\n3,4\n").unwrap();
        file.flush().unwrap();
        let path = file.path().to_owned();
        // Somebody appends a row after the header has been read.
        let append = |_: &str, _: &str| {
            std::fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"5,6\n").unwrap();
            true
        };
        let error = read(&path, &TextOptions::default(), &append, &Progress::silent()).unwrap_err();
        assert!(error.to_string().contains("the file changed while it was read"), "{error}");
        assert!(error.hint().unwrap().contains("copy"));
        assert_eq!(read(&path, &TextOptions::default(), &|_, _| true, &Progress::silent()).unwrap().rows, 4);
    }
}
