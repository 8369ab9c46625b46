//! Why the operating system refused a file, in words of ours, and what to do about it.
//!
//! The system's own words (`entity already exists (os error 17)`) are those of its programmers, differ from system to
//! system, and say nothing of what to do.

use std::io::{self, ErrorKind};

use crate::remedy::Remedy;

/// Why a file could not be read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// There is no such file or directory.
    Missing,
    /// The permissions forbid it.
    Forbidden,
    /// Something of that name is there.
    Exists,
    /// A part of the path that should be a directory is a file.
    NotADirectory,
    /// It is a directory, where a file is meant.
    IsADirectory,
    /// A directory that should go has something in it.
    NotEmpty,
    /// The disk may only be read.
    ReadOnly,
    /// The disk is full, or the user's share of it.
    Full,
    /// The file would be larger than the file system allows.
    TooLarge,
    /// The path is longer than the system allows, or has a sign that it does not.
    Unnameable,
    /// Symbolic links lead around in a circle.
    Circle,
    /// More files are open than the system allows.
    TooManyOpen,
    /// Another program uses it.
    Busy,
    /// The two places are on different disks.
    OtherDisk,
    /// The file ends before it should.
    Truncated,
    /// What it holds is not what it should be.
    Broken,
    /// The memory is not enough.
    OutOfMemory,
    /// A network share has gone, or does not answer.
    Unreachable,
    /// The disk, or the way to it, failed.
    Faulty,
    /// The system cannot do that there.
    Unsupported,
    /// A signal came in between.
    Interrupted,
    /// Whoever took the output has gone.
    Closed,
    /// What else there is.
    Other,
}

/// Reasons that have a number but no kind of their own.
fn by_number(number: i32) -> Option<Reason> {
    #[cfg(unix)]
    return Some(match number {
        5 => Reason::Faulty,
        23 | 24 => Reason::TooManyOpen,
        40 if cfg!(target_os = "linux") => Reason::Circle,
        62 if cfg!(not(target_os = "linux")) => Reason::Circle,
        6 | 19 => Reason::Faulty,
        _ => return None,
    });
    #[cfg(windows)]
    return Some(match number {
        4 => Reason::TooManyOpen,
        21 | 23 | 1117 => Reason::Faulty,
        32 | 33 => Reason::Busy,
        206 => Reason::Unnameable,
        1921 => Reason::Circle,
        _ => return None,
    });
    #[cfg(not(any(unix, windows)))]
    return number.checked_add(1).and(None);
}

impl Reason {
    /// The reason of an error.
    ///
    /// ```
    /// use fpsrl_base::reason::Reason;
    /// use std::io::{Error, ErrorKind};
    /// assert_eq!(Reason::of(&Error::from(ErrorKind::AlreadyExists)).words(), "something of that name is there already");
    /// ```
    pub fn of(error: &io::Error) -> Self {
        if let Some(reason) = error.raw_os_error().and_then(by_number) {
            return reason;
        }
        match error.kind() {
            ErrorKind::NotFound => Self::Missing,
            ErrorKind::PermissionDenied => Self::Forbidden,
            ErrorKind::AlreadyExists => Self::Exists,
            ErrorKind::NotADirectory => Self::NotADirectory,
            ErrorKind::IsADirectory => Self::IsADirectory,
            ErrorKind::DirectoryNotEmpty => Self::NotEmpty,
            ErrorKind::ReadOnlyFilesystem => Self::ReadOnly,
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::WriteZero => Self::Full,
            ErrorKind::FileTooLarge => Self::TooLarge,
            ErrorKind::InvalidFilename => Self::Unnameable,
            // A path with a zero in it never reaches the system.
            ErrorKind::InvalidInput if error.raw_os_error().is_none() => Self::Unnameable,
            ErrorKind::ResourceBusy | ErrorKind::ExecutableFileBusy | ErrorKind::WouldBlock | ErrorKind::Deadlock => {
                Self::Busy
            }
            ErrorKind::CrossesDevices => Self::OtherDisk,
            ErrorKind::UnexpectedEof => Self::Truncated,
            ErrorKind::InvalidData => Self::Broken,
            ErrorKind::OutOfMemory => Self::OutOfMemory,
            ErrorKind::StaleNetworkFileHandle
            | ErrorKind::TimedOut
            | ErrorKind::HostUnreachable
            | ErrorKind::NetworkUnreachable
            | ErrorKind::NetworkDown
            | ErrorKind::ConnectionReset
            | ErrorKind::ConnectionAborted
            | ErrorKind::ConnectionRefused
            | ErrorKind::NotConnected => Self::Unreachable,
            ErrorKind::Unsupported | ErrorKind::NotSeekable => Self::Unsupported,
            ErrorKind::Interrupted => Self::Interrupted,
            ErrorKind::BrokenPipe => Self::Closed,
            _ => Self::Other,
        }
    }

    /// It in words, as they stand behind "cannot be read:".
    pub fn words(self) -> &'static str {
        match self {
            Self::Missing => "there is no such file or directory",
            Self::Forbidden => "its permissions, or those of its directory, forbid it",
            Self::Exists => "something of that name is there already",
            Self::NotADirectory => "a part of the path is a file, and a directory is needed there",
            Self::IsADirectory => "it is a directory, and a file is meant",
            Self::NotEmpty => "the directory has something in it",
            Self::ReadOnly => "the disk may only be read",
            Self::Full => "the disk is full, or your share of it",
            Self::TooLarge => "it would be larger than this disk allows",
            Self::Unnameable => "the system allows no such name: it is too long, or has a sign that is not allowed",
            Self::Circle => "symbolic links lead around in a circle",
            Self::TooManyOpen => "too many files are open",
            Self::Busy => "another program uses it",
            Self::OtherDisk => "the two places are on different disks",
            Self::Truncated => "it ends too early",
            Self::Broken => "what it holds is broken",
            Self::OutOfMemory => "the memory is not enough",
            Self::Unreachable => "the network drive, or the machine that has it, does not answer",
            Self::Faulty => "the disk, or the way to it, fails",
            Self::Unsupported => "the system cannot do that there",
            Self::Interrupted => "a signal came in between",
            Self::Closed => "whoever took it has gone",
            Self::Other => "the system refuses it",
        }
    }

    /// What to do where a file could not be read.
    pub(crate) fn remedy_of_reading(self) -> Remedy {
        match self {
            Self::Missing | Self::NotADirectory => "check the path",
            Self::Forbidden => "check the file's permissions",
            Self::IsADirectory => "give the path of a file",
            Self::Unnameable => "check the path: a name has at most 255 bytes, a whole path some 4,000",
            Self::Circle => "give the path of the file itself",
            Self::TooManyOpen => "close other programs, or allow more open files (`ulimit -n`)",
            Self::Busy | Self::Interrupted => "wait until it is free, and try again",
            Self::OutOfMemory => "close other programs, or use a smaller file",
            Self::Unreachable => "check the network, or copy the file to this machine",
            Self::Unsupported => "copy the file to a disk of this machine",
            Self::Truncated | Self::Broken => "check that the file is whole: copy or export it again",
            _ => "check that the file is whole and the disk works",
        }
        .into()
    }

    /// What to do where a file could not be written.
    pub(crate) fn remedy_of_writing(self) -> Remedy {
        let elsewhere = |words: &str| Remedy::words(words).then(" with ").option("out", None);
        match self {
            Self::Forbidden | Self::ReadOnly => elsewhere("choose another directory"),
            Self::Exists => elsewhere("choose another name").then(", or overwrite it with ").option("force", None),
            Self::Full => elsewhere("free some space, or choose another disk"),
            Self::TooLarge | Self::Unsupported | Self::OtherDisk => elsewhere("choose another disk"),
            Self::Unnameable => {
                elsewhere("choose a shorter or simpler name: one has at most 255 bytes, a whole path some 4,000;")
            }
            Self::Missing | Self::NotADirectory | Self::IsADirectory | Self::NotEmpty | Self::Circle => {
                elsewhere("check the path, or choose another one")
            }
            Self::TooManyOpen => "close other programs, or allow more open files (`ulimit -n`)".into(),
            Self::Busy | Self::Interrupted => "wait until it is free, and try again".into(),
            Self::OutOfMemory => "close other programs, and try again".into(),
            Self::Unreachable => elsewhere("check the network, or choose a directory of this machine"),
            _ => elsewhere("check the disk, or choose another directory"),
        }
    }
}

/// An error of the system in words of ours; one that a program of ours or a library has worded keeps its words.
///
/// ```
/// use fpsrl_base::reason::told;
/// use std::io::{Error, ErrorKind};
/// assert_eq!(told(&Error::from(ErrorKind::StorageFull)), "the disk is full, or your share of it");
/// assert_eq!(told(&Error::new(ErrorKind::NotFound, "no run has begun yet")), "no run has begun yet");
/// ```
pub fn told(error: &io::Error) -> String {
    if let Some(worded) = error.get_ref() {
        return worded.to_string();
    }
    match (Reason::of(error), error.raw_os_error()) {
        // Nobody has words for it: the system's own, without what only its programmers need.
        (Reason::Other, Some(_)) => {
            let words = error.to_string();
            let plain = words.rsplit_once(" (os error ").map_or(words.as_str(), |(plain, _)| plain);
            format!("the system says: {plain}")
        }
        (Reason::Other, None) => error.to_string(),
        (reason, _) => reason.words().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_reason_is_told_in_the_words_of_the_system() {
        for number in 1..140 {
            let error = io::Error::from_raw_os_error(number);
            let told = told(&error);
            assert!(!told.contains("os error") && !told.contains("entity"), "{number}: {told}");
            assert!(!Reason::of(&error).remedy_of_reading().is_empty());
            assert!(!Reason::of(&error).remedy_of_writing().is_empty());
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_reasons_of_linux_are_known_by_their_numbers() {
        for (number, reason) in [
            (2, Reason::Missing),
            (4, Reason::Interrupted),
            (5, Reason::Faulty),
            (12, Reason::OutOfMemory),
            (13, Reason::Forbidden),
            (17, Reason::Exists),
            (18, Reason::OtherDisk),
            (20, Reason::NotADirectory),
            (21, Reason::IsADirectory),
            (24, Reason::TooManyOpen),
            (26, Reason::Busy),
            (27, Reason::TooLarge),
            (28, Reason::Full),
            (30, Reason::ReadOnly),
            (36, Reason::Unnameable),
            (39, Reason::NotEmpty),
            (40, Reason::Circle),
            (116, Reason::Unreachable),
            (122, Reason::Full),
        ] {
            assert_eq!(Reason::of(&io::Error::from_raw_os_error(number)), reason, "{number}");
        }
    }

    #[test]
    fn only_a_faulty_disk_is_told_of_faulty_disks() {
        let hint = |kind: ErrorKind| Reason::of(&kind.into()).remedy_of_writing().to_string();
        for kind in [ErrorKind::InvalidFilename, ErrorKind::NotADirectory, ErrorKind::IsADirectory, ErrorKind::NotFound]
        {
            assert!(!hint(kind).contains("disk"), "{kind:?}: {}", hint(kind));
        }
        assert!(hint(ErrorKind::InvalidFilename).contains("255 bytes"));
    }
}
