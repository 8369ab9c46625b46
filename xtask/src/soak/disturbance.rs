//! What happens to a command while it works, and how it may end then.

use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::ways::{Step, Way};
use super::{Chance, Place, remount};

/// A command that takes longer than this hangs.
const PATIENCE: Duration = Duration::from_secs(180);

/// A signal that asks to stop, with the exit codes that say so.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Signal {
    name: &'static str,
    number: i32,
}

const SIGNALS: [Signal; 3] =
    [Signal { name: "INT", number: 2 }, Signal { name: "TERM", number: 15 }, Signal { name: "HUP", number: 1 }];

/// What happens to a command.
#[derive(Clone, Debug, PartialEq)]
pub enum Disturbance {
    /// It is killed.
    Kill,
    /// It is asked to stop.
    Stop(Signal),
    /// It is asked to stop, and asked again.
    StopTwice(Signal),
    /// It stands still, a few times.
    Pause,
    /// Its disk has room for so many bytes more.
    FullDisk(usize),
    /// No file may become longer than so many bytes.
    SmallFiles(usize),
    /// Its file system is read-only.
    ReadOnly,
    /// The same command is given twice at a time.
    Twice,
    /// Others read the run meanwhile.
    Readers(&'static str),
    /// The directory that it makes is taken away.
    Removed(&'static str),
    /// All files are from next year: the clock was set back.
    FromTheFuture,
    /// Something that an earlier kill left stands in the way.
    LeftOvers(&'static str),
}

impl Disturbance {
    /// One that is possible for a way.
    pub fn draw(way: &Way, mounted: bool, chance: &mut Chance) -> Self {
        loop {
            let drawn = match chance.below(17) {
                0..=3 => Some(Self::Kill),
                4..=6 => Some(Self::Stop(SIGNALS[chance.below(3)])),
                7 => Some(Self::StopTwice(SIGNALS[chance.below(3)])),
                8 => Some(Self::Pause),
                // Often in the middle of a file, sometimes near the end of everything.
                9 | 10 if mounted => Some(Self::FullDisk(if chance.below(2) == 0 { 40_000 } else { 900_000 })),
                9 | 10 => Some(Self::SmallFiles(if chance.below(2) == 0 { 10_000 } else { 300_000 })),
                11 => mounted.then_some(Self::ReadOnly),
                12 | 13 => Some(Self::Twice),
                14 => way.run.map(Self::Readers),
                15 => match chance.below(2) {
                    0 => way.removable.map(Self::Removed),
                    _ => way.locks.then_some(Self::FromTheFuture),
                },
                _ => way.run.filter(|_| way.locks).map(Self::LeftOvers),
            };
            if let Some(drawn) = drawn {
                return drawn;
            }
        }
    }

    pub fn name(&self) -> &'static str {
        match self {
            Self::Kill => "SIGKILL",
            Self::Stop(signal) if signal.name == "INT" => "SIGINT",
            Self::Stop(signal) if signal.name == "TERM" => "SIGTERM",
            Self::Stop(_) => "SIGHUP",
            Self::StopTwice(_) => "stopped twice",
            Self::Pause => "paused",
            Self::FullDisk(_) => "full disk",
            Self::SmallFiles(_) => "limit of files' sizes",
            Self::ReadOnly => "read-only file system",
            Self::Twice => "given twice at a time",
            Self::Readers(_) => "readers meanwhile",
            Self::Removed(_) => "directory removed",
            Self::FromTheFuture => "clock set back",
            Self::LeftOvers(_) => "left-overs of a kill",
        }
    }
}

/// How a command ended.
#[derive(Debug)]
pub struct Ended {
    status: ExitStatus,
    said: String,
    /// How long after a request to stop.
    pub heard: Option<Duration>,
    /// How commands at the same time ended.
    pub others: Vec<&'static str>,
    /// What was wrong with one of them.
    fault: Option<String>,
}

impl Ended {
    pub fn name(&self) -> &'static str {
        match (self.status.code(), self.status.signal()) {
            (Some(0), _) => "finished",
            (Some(2), _) => "refused with a hint",
            (Some(129 | 130 | 143), _) => "stopped, can go on",
            (_, Some(9)) => "killed",
            (_, Some(_)) => "stopped before it listened, or asked twice",
            _ => "other",
        }
    }

    pub fn told(&self) -> String {
        format!("{}: {}", self.status, self.said.trim().replace('\n', " | "))
    }

    /// Whether it may end so.
    pub fn check(&self, disturbance: &Disturbance) -> Result<(), String> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        sound(&self.said)?;
        let signal = |signal: &Signal| {
            // SIGTERM and SIGHUP once ended as SIGINT does.
            let codes = [Some(128 + signal.number), Some(130)];
            codes.contains(&self.status.code()) || self.status.signal() == Some(signal.number)
        };
        let allowed = match disturbance {
            Disturbance::Kill => self.status.signal() == Some(9),
            Disturbance::Stop(sent) => signal(sent),
            Disturbance::StopTwice(sent) => signal(sent) || self.status.signal().is_some(),
            Disturbance::Pause | Disturbance::Readers(_) | Disturbance::FromTheFuture | Disturbance::LeftOvers(_) => {
                false
            }
            Disturbance::FullDisk(_)
            | Disturbance::SmallFiles(_)
            | Disturbance::ReadOnly
            | Disturbance::Twice
            | Disturbance::Removed(_) => self.refused(),
        };
        if allowed || self.status.success() { Ok(()) } else { Err(format!("it must not end so: {}", self.told())) }
    }

    /// Whether it ended with an error of the user's, which says what to do.
    fn refused(&self) -> bool {
        self.status.code() == Some(2) && self.said.contains("error: ") && self.said.contains("hint: ")
    }
}

/// Refuses what no user should ever read.
fn sound(said: &str) -> Result<(), String> {
    let bad = ["fpsrl has a bug", "panicked", "internal failure", "truncated", "cut off", "ends too early"];
    match bad.iter().find(|words| said.contains(**words)) {
        Some(words) => Err(format!("it said `{words}`: {}", said.trim())),
        None => Ok(()),
    }
}

/// Starts a command in the directory of episodes.
fn start(place: &Place, words: &[&str], longest: Option<usize>) -> Result<Child, String> {
    let mut command = match longest {
        None => Command::new(&place.command),
        Some(bytes) => {
            let mut shell = Command::new("sh");
            // Without the trap, the signal of the limit would end the command before its write can fail.
            shell.args(["-c", "trap '' XFSZ; ulimit -f \"$1\"; shift; exec \"$@\"", "sh"]);
            shell.arg((bytes / 512).to_string()).arg(&place.command);
            shell
        }
    };
    command.args(words).current_dir(&place.episode).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    command.spawn().map_err(|error| format!("{} cannot be started: {error}", place.command.display()))
}

/// Waits for the end of a command.
fn end(mut child: Child) -> Result<(ExitStatus, String), String> {
    let Some(mut stderr) = child.stderr.take() else { return Err("standard error is not there".into()) };
    let reader = thread::spawn(move || {
        let mut said = Vec::new();
        let _ = stderr.read_to_end(&mut said);
        String::from_utf8_lossy(&said).into_owned()
    });
    let began = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
            break status;
        }
        if began.elapsed() > PATIENCE {
            let _ = child.kill();
            let _ = child.wait();
            return Err(format!("it hangs: no end after {PATIENCE:?}"));
        }
        thread::sleep(Duration::from_millis(2));
    };
    Ok((status, reader.join().unwrap_or_default()))
}

/// A command that nothing disturbs must do what it is for.
pub fn undisturbed(place: &Place, words: &[&str]) -> Result<(), String> {
    let (status, said) = end(start(place, words, None)?)?;
    sound(&said)?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("`fpsrl {}` ended with {status}: {}", words.join(" "), said.trim())),
    }
}

fn send(child: &Child, signal: &str) {
    // One that has ended meanwhile is in nobody's way.
    let signal = format!("-{signal}");
    let _ = Command::new("kill").args([&signal, &child.id().to_string()]).stderr(Stdio::null()).status();
}

/// A command, and what happens to it.
pub fn disturbed(
    place: &Place,
    words: &[&str],
    step: &Step,
    disturbance: &Disturbance,
    took: Duration,
    chance: &mut Chance,
) -> Result<Ended, String> {
    // A little longer than it takes undisturbed, so that its last moments are met as well.
    let moment = took.mul_f64(1.1 * chance.share());
    let (mut heard, mut others, mut fault) = (None, Vec::new(), None);
    let longest = match disturbance {
        Disturbance::SmallFiles(bytes) => Some((chance.share() * *bytes as f64) as usize),
        _ => None,
    };
    match disturbance {
        Disturbance::FullDisk(bytes) => {
            let room = used(&place.episode)? + (chance.share() * *bytes as f64) as usize;
            if !remount(&place.episode, &format!("size={room}")) {
                return Err("its file system cannot be made smaller".into());
            }
        }
        Disturbance::ReadOnly if !remount(&place.episode, "ro") => return Err("it cannot be mounted read-only".into()),
        Disturbance::FromTheFuture => age(&place.episode)?,
        Disturbance::LeftOvers(run) => leave(&place.episode.join(run)),
        _ => {}
    }
    let child = start(place, words, longest)?;
    match disturbance {
        Disturbance::Kill => {
            thread::sleep(moment);
            send(&child, "KILL");
        }
        Disturbance::Stop(signal) | Disturbance::StopTwice(signal) => {
            thread::sleep(moment);
            send(&child, signal.name);
            if matches!(disturbance, Disturbance::StopTwice(_)) {
                thread::sleep(Duration::from_millis(chance.below(30) as u64));
                send(&child, signal.name);
            }
            heard = Some(Instant::now());
        }
        Disturbance::Pause => {
            thread::sleep(moment / 3);
            for _ in 0..3 {
                send(&child, "STOP");
                thread::sleep(Duration::from_millis(20 + chance.below(100) as u64));
                send(&child, "CONT");
                thread::sleep(took.mul_f64(0.2 * chance.share()));
            }
        }
        Disturbance::Twice => {
            thread::sleep(moment);
            if let Some(words) = step.words(place) {
                let (status, said) = end(start(place, &words, None)?)?;
                let busy = said.contains("is in use");
                others.push(match (status.code(), busy) {
                    (Some(0), _) => "second writer finished",
                    (_, true) => "second writer refused as busy",
                    _ => "second writer refused otherwise",
                });
                let other = Ended { status, said, heard: None, others: Vec::new(), fault: None };
                fault = other.check(disturbance).err().map(|why| format!("the second writer: {why}"));
            }
        }
        Disturbance::Readers(run) => {
            // Outside of the episode, and on another file system where that is in memory.
            let out = place.material.with_file_name("reader.json").to_string_lossy().into_owned();
            let export = ["export", run, "--to", "json", "--out", &out, "--force", "--quiet"];
            let readers: [&[&str]; 3] = [&["explain", run], &export, &["check", run]];
            for _ in 0..3 {
                thread::sleep(moment / 3);
                let words = readers[chance.below(readers.len())];
                let (status, said) = end(start(place, words, None)?)?;
                others.push(if status.success() { "reader served" } else { "reader refused" });
                let other = Ended { status, said, heard: None, others: Vec::new(), fault: None };
                if !status.success() && !other.refused() {
                    fault = Some(format!("the reader `{}`: {}", words.join(" "), other.told()));
                }
                if let Err(why) = sound(&other.said) {
                    fault = Some(format!("the reader `{}`: {why}", words.join(" ")));
                }
            }
        }
        Disturbance::Removed(directory) => {
            thread::sleep(moment);
            // Renamed first, so that it is gone at once.
            let [gone, away] = [*directory, ".removed"].map(|name| place.episode.join(name));
            if std::fs::rename(&gone, &away).is_ok() {
                std::fs::remove_dir_all(&away).map_err(|error| format!("{}: {error}", away.display()))?;
            }
        }
        _ => {}
    }
    let (status, said) = end(child)?;
    match disturbance {
        Disturbance::FullDisk(_) if !remount(&place.episode, "size=64m") => return Err("the disk stays small".into()),
        Disturbance::ReadOnly if !remount(&place.episode, "rw") => return Err("the disk stays read-only".into()),
        Disturbance::Removed(directory) => {
            let gone = place.episode.join(directory);
            let whole = ["problem.toml", "sweep.json"].iter().any(|name| gone.join(name).exists());
            if gone.exists() && !whole {
                return Err(format!("a directory that was taken away came back in part: {said}"));
            }
        }
        _ => {}
    }
    Ok(Ended { status, said, heard: heard.map(|heard| heard.elapsed()), others, fault })
}

/// How many bytes a file system in memory holds, in whole pages.
fn used(directory: &Path) -> Result<usize, String> {
    let output = Command::new("df").args(["--output=used", "--block-size=1"]).arg(directory).output();
    let text = output.map_err(|error| error.to_string())?.stdout;
    let text = String::from_utf8_lossy(&text).into_owned();
    text.lines().nth(1).and_then(|line| line.trim().parse().ok()).ok_or("df does not say what is used".into())
}

/// Makes all files a year younger than now.
fn age(directory: &Path) -> Result<(), String> {
    let next_year = std::time::SystemTime::now() + Duration::from_secs(365 * 86_400);
    for entry in std::fs::read_dir(directory).map_err(|error| error.to_string())? {
        let path = entry.map_err(|error| error.to_string())?.path();
        if path.is_dir() {
            age(&path)?;
        } else if let Ok(file) = std::fs::File::options().append(true).open(&path) {
            let _ = file.set_modified(next_year);
        }
    }
    Ok(())
}

/// What a kill leaves in a run directory and beside it.
fn leave(run: &Path) {
    if run.is_dir() {
        let _ = std::fs::write(run.join(".fpsrl-0000000000000000.part"), "half");
        let staging = run.join(".fpsrl-1111111111111111.part");
        let _ = std::fs::create_dir(&staging);
        let _ = std::fs::write(staging.join("problem.toml"), "half");
    }
}
