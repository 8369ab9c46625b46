//! Faults: which operation fails, and how.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use fpsrl_base::disk::{Act, Watcher};

/// How an operation fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The disk is full for a moment.
    Full,
    /// The disk is full from now on: nothing can be written any more, only read and removed.
    StaysFull,
    /// Half of what is written finds room, then the disk is full.
    Short,
    /// Half of it is written, the rest with the next call: no error at all.
    Half,
    /// It must not be done.
    Denied,
    /// The disk does not work.
    Broken,
    /// A signal came between: it has to be tried again.
    Interrupted,
    /// The file is written to by somebody else while it is read.
    Changed,
    /// The directory of the run is gone.
    Vanished,
}

pub const KINDS: [Kind; 9] = [
    Kind::Full,
    Kind::StaysFull,
    Kind::Short,
    Kind::Half,
    Kind::Denied,
    Kind::Broken,
    Kind::Interrupted,
    Kind::Changed,
    Kind::Vanished,
];

impl Kind {
    /// Whether an operation can fail so.
    pub fn suits(self, act: &str) -> bool {
        let writes = matches!(act, "Create" | "Append" | "Write" | "Rename" | "Link" | "MakeDirectory");
        match self {
            Self::Full | Self::StaysFull => writes || act == "Sync",
            Self::Short | Self::Half => act == "Write",
            Self::Denied => act != "Write" && act != "Read" && act != "Sync",
            Self::Broken | Self::Vanished => true,
            Self::Interrupted => matches!(act, "Write" | "Read"),
            Self::Changed => act == "Read",
        }
    }
}

struct State {
    /// What was done: the name of each act.
    acts: Vec<String>,
    /// The next write fails: the one before was short.
    short: bool,
}

/// Lets one operation fail.
pub struct Plan {
    /// Its number, if one fails, and how.
    fault: Option<(usize, Kind)>,
    /// The directory that vanishes.
    run: PathBuf,
    state: Mutex<State>,
}

impl Plan {
    pub fn new(fault: Option<(usize, Kind)>, run: &Path) -> Self {
        Self { fault, run: run.to_owned(), state: Mutex::new(State { acts: Vec::new(), short: false }) }
    }

    /// The names of all acts so far, and of what they were done to.
    pub fn acts(&self) -> Vec<String> {
        self.state.lock().unwrap().acts.clone()
    }
}

/// The name of an act.
pub fn name(act: Act<'_>) -> String {
    let told = format!("{act:?}");
    told.split('(').next().unwrap_or_default().to_owned()
}

impl Watcher for Plan {
    fn before(&self, path: &Path, act: Act<'_>) -> io::Result<()> {
        let mut state = self.state.lock().unwrap();
        let (now, name) = (state.acts.len(), name(act));
        state.acts.push(name.clone());
        if std::mem::take(&mut state.short) && matches!(act, Act::Write(_)) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let Some((at, kind)) = self.fault else { return Ok(()) };
        if kind == Kind::StaysFull && now >= at && Kind::StaysFull.suits(&name) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        if now != at {
            return Ok(());
        }
        match kind {
            Kind::Full | Kind::StaysFull => Err(io::ErrorKind::StorageFull.into()),
            Kind::Short => {
                state.short = true;
                Ok(())
            }
            Kind::Half => Ok(()),
            Kind::Denied => Err(io::ErrorKind::PermissionDenied.into()),
            // The number of an error of input and output, which has no name of its own.
            Kind::Broken => Err(io::Error::from_raw_os_error(5)),
            Kind::Interrupted => Err(io::ErrorKind::Interrupted.into()),
            Kind::Changed => {
                let file = fs::File::options().append(true).open(path)?;
                file.set_modified(SystemTime::now() + Duration::from_secs(5))
            }
            Kind::Vanished => {
                let _ = fs::remove_dir_all(&self.run);
                Ok(())
            }
        }
    }

    fn room(&self, _: &Path, bytes: &[u8]) -> usize {
        let now = self.state.lock().unwrap().acts.len() - 1;
        match self.fault {
            Some((at, Kind::Short | Kind::Half)) if at == now => bytes.len().div_ceil(2),
            _ => bytes.len(),
        }
    }

    fn syncs(&self) -> bool {
        false
    }
}
