//! The disk, as the library sees it: the one place where files of a run are made, written, synced, renamed, removed, listed and
//! read. `cargo xtask test` refuses library code that goes around it.
//!
//! What is done under a directory can be watched, and made to fail: tests let every single operation fail in turn, and take away
//! from a run what a loss of power takes. A watcher is an object of the program that tests; no setting, argument or variable of
//! the environment brings one in. Without one, all that it costs is to look at a counter.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::SystemTime;

/// Something that is done to a file or a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act<'a> {
    /// It is asked whether it is there.
    Look,
    /// It is opened for reading, or for a lock.
    Open,
    /// Some of it, or all of it, is read.
    Read,
    /// The names in a directory are read.
    List,
    /// It is made as a new, empty file.
    Create,
    /// It is opened to be made longer.
    Append,
    /// These bytes are written at its end.
    Write(&'a [u8]),
    /// What was written is brought to the disk.
    Sync,
    /// It takes another name, and replaces what had that name.
    Rename(&'a Path),
    /// It has another name as well.
    Link(&'a Path),
    /// The file is removed.
    Remove,
    /// The empty directory is removed.
    RemoveDirectory,
    /// The directory is removed with all that is in it.
    RemoveTree,
    /// It is made as a new directory.
    MakeDirectory,
    /// The names in a directory are brought to the disk.
    SyncDirectory,
}

/// Sees what is done under a directory, and may make it fail.
pub trait Watcher: Send + Sync {
    /// Something is about to be done; if this fails, it is not.
    fn before(&self, path: &Path, act: Act<'_>) -> io::Result<()>;

    /// How many of these bytes find room; fewer are a short write.
    fn room(&self, _path: &Path, bytes: &[u8]) -> usize {
        bytes.len()
    }

    /// Whether what is to be synced really goes to the disk. A watcher that stands for a disk of its own saves the time.
    fn syncs(&self) -> bool {
        true
    }

    /// Something was done.
    fn after(&self, _path: &Path, _act: Act<'_>) {}
}

/// How many watchers there are: none, outside tests.
static WATCHED: AtomicUsize = AtomicUsize::new(0);

/// The watchers with the directories that they watch.
static WATCHERS: RwLock<Vec<(PathBuf, Arc<dyn Watcher>)>> = RwLock::new(Vec::new());

/// Keeps a watcher at its work; dropped, it watches no more.
#[must_use = "nothing is watched any more when this is dropped"]
pub struct Watch(Arc<dyn Watcher>);

/// Lets a watcher see what is done to all paths that begin with `directory`, by whatever thread. Whoever works elsewhere is not
/// disturbed.
///
/// ```
/// use std::{io, path::Path, sync::Arc};
/// use fpsrl_base::disk::{self, Act, Watcher};
///
/// struct Full;
/// impl Watcher for Full {
///     fn before(&self, _: &Path, act: Act<'_>) -> io::Result<()> {
///         if matches!(act, Act::Write(_)) { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
///     }
/// }
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("note.txt");
/// let watch = disk::watch(directory.path(), Arc::new(Full));
/// assert!(fpsrl_base::files::write_atomically(&path, |file| file.write_all(b"lost")).is_err());
/// drop(watch);
/// assert!(!path.exists() && disk::entries(directory.path())?.is_empty());
/// # Ok::<(), io::Error>(())
/// ```
pub fn watch(directory: &Path, watcher: Arc<dyn Watcher>) -> Watch {
    let mut watchers = WATCHERS.write().unwrap_or_else(PoisonError::into_inner);
    watchers.push((directory.to_owned(), Arc::clone(&watcher)));
    WATCHED.fetch_add(1, Ordering::Release);
    Watch(watcher)
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut watchers = WATCHERS.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = watchers.iter().position(|(_, watcher)| Arc::ptr_eq(watcher, &self.0)) {
            watchers.remove(place);
            WATCHED.fetch_sub(1, Ordering::Release);
        }
    }
}

/// Who watches a path.
fn watcher(path: &Path) -> Option<Arc<dyn Watcher>> {
    if WATCHED.load(Ordering::Acquire) == 0 {
        return None;
    }
    let watchers = WATCHERS.read().unwrap_or_else(PoisonError::into_inner);
    watchers.iter().find(|(directory, _)| path.starts_with(directory)).map(|(_, watcher)| Arc::clone(watcher))
}

/// Does something, unless a watcher lets it fail.
fn done<T>(path: &Path, act: Act<'_>, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let Some(watcher) = watcher(path) else { return work() };
    watcher.before(path, act)?;
    let made = work()?;
    watcher.after(path, act);
    Ok(made)
}

/// Syncs something, unless a watcher lets that fail or does it instead.
fn synced(path: &Path, act: Act<'_>, work: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    let real = watcher(path).is_none_or(|watcher| watcher.syncs());
    done(path, act, || if real { work() } else { Ok(()) })
}

/// Whether something is there. That it cannot be seen is another answer than that it is not there.
pub fn exists(path: &Path) -> io::Result<bool> {
    match done(path, Act::Look, || path.try_exists()) {
        // A file stands where a directory of its path should be.
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(false),
        other => other,
    }
}

/// Whether there is a file, which is no directory.
pub fn is_file(path: &Path) -> bool {
    done(path, Act::Look, || Ok(path.is_file())).unwrap_or(false)
}

/// Whether there is a directory.
pub fn is_directory(path: &Path) -> bool {
    done(path, Act::Look, || Ok(path.is_dir())).unwrap_or(false)
}

/// When a file was last changed.
pub fn modified(path: &Path) -> io::Result<SystemTime> {
    done(path, Act::Look, || fs::metadata(path)?.modified())
}

/// How long a file is.
pub fn length(path: &Path) -> io::Result<u64> {
    done(path, Act::Look, || fs::metadata(path).map(|about| about.len()))
}

/// The paths of all that is in a directory, in their order.
pub fn entries(directory: &Path) -> io::Result<Vec<PathBuf>> {
    done(directory, Act::List, || {
        let mut paths =
            fs::read_dir(directory)?.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<_>>>()?;
        paths.sort();
        Ok(paths)
    })
}

/// The content of a file. One that changes meanwhile is refused.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut reader = open(path)?;
    let mut bytes = Vec::with_capacity(usize::try_from(reader.opened.0).unwrap_or(0).min(1 << 30));
    reader.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The content of a file that is text.
pub fn read_to_string(path: &Path) -> io::Result<String> {
    let not_text = |_| io::Error::new(io::ErrorKind::InvalidData, "stream did not contain valid UTF-8");
    String::from_utf8(read(path)?).map_err(not_text)
}

/// A file's length and the time of its last change.
type State = (u64, Option<SystemTime>);

fn state(file: &File) -> io::Result<State> {
    let about = file.metadata()?;
    Ok((about.len(), about.modified().ok()))
}

/// Refuses a file that was another one when it was opened: what was read may be half of the one and half of the other.
fn unchanged(file: &File, opened: State) -> io::Result<()> {
    if state(file)? == opened { Ok(()) } else { Err(io::Error::new(io::ErrorKind::ResourceBusy, CHANGED)) }
}

/// What is said of a file that somebody wrote to while it was read.
pub const CHANGED: &str = "it was changed while it was read";

/// A file that is read piece by piece. At its end, it is refused if it has changed meanwhile.
#[derive(Debug)]
pub struct Reader {
    file: File,
    path: PathBuf,
    opened: State,
}

/// Opens a file for reading.
pub fn open(path: &Path) -> io::Result<Reader> {
    let file = done(path, Act::Open, || File::open(path))?;
    let opened = state(&file)?;
    Ok(Reader { file, path: path.to_owned(), opened })
}

impl Read for Reader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Self { file, path, opened } = self;
        let count = loop {
            match done(path, Act::Read, || file.read(buffer)) {
                // Not all who read try again by themselves.
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                count => break count?,
            }
        };
        if count == 0 && !buffer.is_empty() {
            unchanged(file, *opened)?;
        }
        Ok(count)
    }
}

/// A file that is written.
#[derive(Debug)]
pub struct Writer {
    file: File,
    path: PathBuf,
}

/// Makes a file; one that is there already is refused.
pub fn create(path: &Path) -> io::Result<Writer> {
    let file = done(path, Act::Create, || File::options().write(true).create_new(true).open(path))?;
    Ok(Writer { file, path: path.to_owned() })
}

/// Opens a file to make it longer.
pub fn append(path: &Path) -> io::Result<Writer> {
    let file = done(path, Act::Append, || File::options().append(true).open(path))?;
    Ok(Writer { file, path: path.to_owned() })
}

impl Writer {
    /// Tells other processes that somebody is at work on it, as long as this value is there. False if another one has it.
    pub fn hold(&self) -> bool {
        is_free(&self.file)
    }

    /// Brings to the disk what was written.
    pub fn sync(&self) -> io::Result<()> {
        synced(&self.path, Act::Sync, || self.file.sync_all())
    }
}

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(watcher) = watcher(&self.path) else { return self.file.write(bytes) };
        watcher.before(&self.path, Act::Write(bytes))?;
        let room = watcher.room(&self.path, bytes);
        let count = self.file.write(&bytes[..room])?;
        watcher.after(&self.path, Act::Write(&bytes[..count]));
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Whether no other process holds a file. There are file systems that know no locks, where nobody can tell.
fn is_free(file: &File) -> bool {
    !matches!(file.try_lock(), Err(TryLockError::WouldBlock))
}

/// Removes a file unless somebody is at work on it.
pub fn remove_abandoned(path: &Path) -> io::Result<()> {
    let file = done(path, Act::Open, || File::open(path))?;
    // It is held until it is gone, so that nobody begins to work on it.
    if is_free(&file) { remove(path) } else { Ok(()) }
}

/// Gives a file or a directory another name, replacing a file of that name. That the disk has the name, only
/// [`sync_directory`] says.
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    done(from, Act::Rename(to), || fs::rename(from, to))
}

/// Gives a file a second name.
pub fn link(from: &Path, to: &Path) -> io::Result<()> {
    done(from, Act::Link(to), || fs::hard_link(from, to))
}

/// Removes a file; one that is not there is no error.
pub fn remove(path: &Path) -> io::Result<()> {
    absent(done(path, Act::Remove, || fs::remove_file(path)))
}

/// Removes a directory that is empty; one that is not there is no error.
pub fn remove_directory(path: &Path) -> io::Result<()> {
    absent(done(path, Act::RemoveDirectory, || fs::remove_dir(path)))
}

/// Removes a directory with all that is in it; one that is not there is no error.
pub fn remove_tree(path: &Path) -> io::Result<()> {
    absent(done(path, Act::RemoveTree, || fs::remove_dir_all(path)))
}

fn absent(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Makes a directory in one that is there; one that is there already is refused.
pub fn make_new_directory(path: &Path) -> io::Result<()> {
    done(path, Act::MakeDirectory, || fs::create_dir(path))
}

/// Makes a directory in one that is there; one that is there already is no error.
pub fn make_directory(path: &Path) -> io::Result<()> {
    match make_new_directory(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        other => other,
    }
}

/// Makes a directory with all those that it stands in, and brings their names to the disk.
pub fn make_directories(path: &Path) -> io::Result<()> {
    let missing: Vec<&Path> = path.ancestors().take_while(|one| !one.as_os_str().is_empty() && !one.is_dir()).collect();
    for one in missing.iter().rev() {
        make_directory(one)?;
        sync_directory(parent(one))?;
    }
    Ok(())
}

/// The directory that a path stands in.
pub fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// A directory, opened to be locked.
pub fn handle(directory: &Path) -> io::Result<File> {
    #[cfg(unix)]
    return done(directory, Act::Open, || File::open(directory));
    // Elsewhere directories cannot be opened, and a file in it has to do.
    #[cfg(not(unix))]
    return done(directory, Act::Open, || {
        File::options().create(true).truncate(false).write(true).open(directory.join(".fpsrl-lock"))
    });
}

/// Brings the names in a directory to the disk: what was made, renamed and removed there. Without this, a loss of power may
/// undo a rename long after it was made.
pub fn sync_directory(directory: &Path) -> io::Result<()> {
    synced(directory, Act::SyncDirectory, || {
        #[cfg(unix)]
        match File::open(directory)?.sync_all() {
            // Some file systems of networks and of users' programs cannot: they are as safe as they are.
            Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => {}
            other => return other,
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// Notes what is done; changes a file before it is read, if told so.
    #[derive(Default)]
    struct Notes {
        acts: Mutex<Vec<String>>,
        changes: bool,
    }

    impl Watcher for Notes {
        fn before(&self, path: &Path, act: Act<'_>) -> io::Result<()> {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            self.acts.lock().unwrap().push(format!("{name} {act:?}"));
            if self.changes && act == Act::Read {
                File::options().append(true).open(path)?.write_all(b"more")?;
            }
            Ok(())
        }
    }

    #[test]
    fn a_watcher_sees_its_own_directory_from_every_thread_and_no_other() {
        let (ours, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let notes = Arc::new(Notes::default());
        let watch = watch(ours.path(), notes.clone());
        std::thread::scope(|scope| {
            for directory in [&ours, &other] {
                scope.spawn(|| make_directory(&directory.path().join("inner")).unwrap());
            }
        });
        drop(watch);
        make_directory(&ours.path().join("later")).unwrap();
        assert_eq!(*notes.acts.lock().unwrap(), ["inner MakeDirectory"]);
    }

    #[test]
    fn a_file_that_is_written_while_it_is_read_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log.csv");
        fs::write(&path, "1,2,3").unwrap();
        assert_eq!(read(&path).unwrap(), b"1,2,3");
        let watch = watch(directory.path(), Arc::new(Notes { changes: true, ..Notes::default() }));
        assert_eq!(read(&path).unwrap_err().to_string(), CHANGED);
        let mut text = String::new();
        assert_eq!(open(&path).unwrap().read_to_string(&mut text).unwrap_err().to_string(), CHANGED);
        drop(watch);
        assert!(open(&path).unwrap().read_to_string(&mut text).is_ok());
    }

    #[test]
    fn directories_are_made_and_removed_whatever_is_there_already() {
        let directory = tempfile::tempdir().unwrap();
        let deep = directory.path().join("a/b/c");
        make_directories(&deep).unwrap();
        make_directories(&deep).unwrap();
        assert!(exists(&deep).unwrap() && is_directory(&deep) && !is_file(&deep));
        remove_tree(&directory.path().join("a")).unwrap();
        remove_tree(&directory.path().join("a")).unwrap();
        assert!(!exists(&deep).unwrap());
        fs::write(directory.path().join("file"), "").unwrap();
        assert!(make_directory(&directory.path().join("file")).is_err());
        assert!(!exists(&directory.path().join("file/within")).unwrap());
    }
}
