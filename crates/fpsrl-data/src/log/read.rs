//! Opens a log, whatever its format: that is told from the file's first bytes, not from its name.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use super::cell;
use super::layout::{TextOptions, malformed};
use super::table::{Kind, Table};
use super::text::{self, Wanted};
use fpsrl_base::error::{Error, Result};
use fpsrl_base::frame::is_frame;
use fpsrl_base::progress::{Progress, Stage, Status};

/// Reads the columns of a log that are wanted; those not wanted cost neither memory nor, in text, much time.
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
    let mut file = File::open(path).map_err(failed)?;
    let before = state(&file).map_err(failed)?;
    if file.metadata().map_err(failed)?.is_dir() {
        return Err(malformed(
            path,
            None,
            "this is a directory",
            "name the files in it, as file = [\"a.csv\", \"b.csv\"]",
        ));
    }
    let mut magic = [0; 8];
    let length = read_some(&mut file, &mut magic).map_err(failed)?;
    file.rewind().map_err(failed)?;
    progress.begin(Stage::Import, before.0);
    let table = match &magic[..length] {
        [b'P', b'A', b'R', b'1', ..] => parquet(path, file, wanted, progress),
        b"\x89HDF\r\n\x1a\n" => hdf5(path, wanted, progress),
        [b'P', b'K', 3 | 5, ..] => super::npz::read(path, file, wanted),
        [0x1f, 0x8b, ..] => {
            let done = AtomicU64::new(0);
            let source = flate2::read::MultiGzDecoder::new(Counting { file, done: &done });
            text::read(source, path, options, wanted, &|| advance(&done, progress))
        }
        _ => {
            let done = AtomicU64::new(0);
            text::read(Counting { file, done: &done }, path, options, wanted, &|| advance(&done, progress))
        }
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

fn advance(done: &AtomicU64, progress: &Progress) -> Result<()> {
    progress.update(Stage::Import, done.load(Ordering::Relaxed), Status::Counting);
    if progress.stop_requested() { Err(Error::Stopped { stage: "import" }) } else { Ok(()) }
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

/// Counts what goes through it, for the progress bar.
struct Counting<'a> {
    file: File,
    done: &'a AtomicU64,
}

impl Read for Counting<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.done.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

#[cfg(feature = "parquet")]
fn parquet(path: &Path, file: File, wanted: Wanted<'_>, progress: &Progress) -> Result<Table<'static>> {
    super::parquet::read(path, file, wanted, progress)
}

#[cfg(not(feature = "parquet"))]
fn parquet(path: &Path, _: File, _: Wanted<'_>, _: &Progress) -> Result<Table<'static>> {
    Err(malformed(path, None, "this fpsrl was built without Parquet", "build it with the feature `parquet`"))
}

#[cfg(feature = "hdf5")]
fn hdf5(path: &Path, wanted: Wanted<'_>, progress: &Progress) -> Result<Table<'static>> {
    super::hdf5::read(path, wanted, progress)
}

#[cfg(not(feature = "hdf5"))]
fn hdf5(path: &Path, _: Wanted<'_>, _: &Progress) -> Result<Table<'static>> {
    Err(malformed(path, None, "this fpsrl was built without HDF5", "build it with the feature `hdf5`"))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use fpsrl_base::progress::Progress;

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
