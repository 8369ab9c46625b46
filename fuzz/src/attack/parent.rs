//! Who starts the batches, sees them die, and tells of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::batch::Counts;
use super::{memory, shrink};
use crate::input::Input;
use crate::judge::Seen;
use crate::mutate::Known;
use crate::place::{Place, make_originals};
use crate::targets::{TARGETS, Target};

/// Inputs of a target with a share of 1 in a round.
const ROUND: f64 = 2_000.0;
/// A process that has worked on one input for so long, by the clock and by the processor, hangs.
const HANGS: f64 = 20.0;
/// Memory that a process may ask for, in kilobytes: what is claimed beyond it is not there.
const MOST_MEMORY: u64 = 4_000_000;
/// So many different ways to break a target are made small; more are counted.
const MOST_SHRUNK: usize = 12;

/// What is attacked, and for how long.
#[derive(Clone, Debug)]
pub struct Options {
    /// The targets, by name; none are all.
    pub targets: Vec<String>,
    /// It ends after so many minutes.
    pub minutes: Option<f64>,
    /// It ends after so many inputs.
    pub inputs: Option<u64>,
    /// The seed.
    pub seed: u64,
    /// Where everything is kept.
    pub place: PathBuf,
}

/// A target under attack.
struct Front {
    index: u16,
    target: &'static Target,
    counts: Counts,
    next: u32,
    /// What it broke by, and how often.
    broken: BTreeMap<String, u64>,
}

/// A target with what came of its inputs.
pub type Counted = (&'static Target, Counts);

/// Attacks; what came of each target, and of what broke the inputs that were kept.
pub fn attack(options: &Options) -> Result<(Vec<Counted>, Vec<String>), String> {
    let fault = |error: std::io::Error| format!("{}: {error}", options.place.display());
    fs::create_dir_all(&options.place).map_err(fault)?;
    // A build may replace the program while it runs.
    let program = options.place.join("fpsrl-fuzz");
    let own = std::env::current_exe().map_err(fault)?;
    let _ = fs::remove_file(&program);
    fs::copy(own, &program).map_err(fault)?;
    let originals = options.place.join("originals");
    let _ = fs::remove_dir_all(&originals);
    make_originals(&originals).map_err(|error| error.to_string())?;
    let work = tempfile::Builder::new().prefix("fpsrl-fuzz-").tempdir_in(memory_place()).map_err(fault)?;
    let attack = Attack { options, program, originals, work: work.path().to_owned() };
    let wanted = |target: &Target| options.targets.is_empty() || options.targets.iter().any(|name| name == target.name);
    let targets = TARGETS.iter().enumerate().filter(|(_, target)| wanted(target));
    let mut fronts: Vec<Front> = targets
        .map(|(index, target)| Front {
            index: index as u16,
            target,
            counts: Counts::default(),
            next: 0,
            broken: BTreeMap::new(),
        })
        .collect();
    for front in &fronts {
        let _ = fs::remove_dir_all(attack.found(front.target));
    }
    let until = options.minutes.map(|minutes| Instant::now() + Duration::from_secs_f64(60.0 * minutes));
    let mut kept = Vec::new();
    for round in 1.. {
        for front in &mut fronts {
            let left =
                until.map_or(Duration::from_secs(3_600), |until| until.saturating_duration_since(Instant::now()));
            if !left.is_zero() {
                attack.batch(front, left, &mut kept)?;
            }
        }
        let inputs: u64 = fronts.iter().map(|front| front.counts.inputs).sum();
        let broken: usize = fronts.iter().map(|front| front.broken.len()).sum();
        println!("round {round}: {inputs} inputs, {broken} ways to break something");
        // Nobody may be listening any more.
        let _ = std::io::stdout().flush();
        let is_over = until.is_some_and(|until| Instant::now() >= until);
        if is_over || options.inputs.is_some_and(|most| inputs >= most) {
            break;
        }
    }
    Ok((fronts.into_iter().map(|front| (front.target, front.counts)).collect(), kept))
}

/// A directory in memory, where there is one: most of the time would go into files else.
fn memory_place() -> PathBuf {
    let shared = Path::new("/dev/shm");
    if shared.is_dir() { shared.to_owned() } else { std::env::temp_dir() }
}

struct Attack<'a> {
    options: &'a Options,
    program: PathBuf,
    originals: PathBuf,
    work: PathBuf,
}

impl Attack<'_> {
    fn found(&self, target: &Target) -> PathBuf {
        self.options.place.join("found").join(target.name)
    }

    /// A batch of a target, in as many processes as it takes.
    fn batch(&self, front: &mut Front, left: Duration, kept: &mut Vec<String>) -> Result<(), String> {
        let found = self.found(front.target);
        let fault = |error: std::io::Error| format!("{}: {error}", found.display());
        fs::create_dir_all(found.join("known")).map_err(fault)?;
        let count = (front.target.share * ROUND).ceil() as u32;
        let end = front.next.saturating_add(count);
        let until = Instant::now() + left;
        let mut broken: Vec<(u32, String)> = Vec::new();
        while front.next < end && Instant::now() < until {
            let _ = fs::remove_file(found.join("counts.json"));
            let seconds = until.saturating_duration_since(Instant::now()).as_secs_f64();
            let mut child = self.start(&[
                "batch",
                front.target.name,
                &self.options.seed.to_string(),
                &front.next.to_string(),
                &(end - front.next).to_string(),
                &seconds.to_string(),
                &found.to_string_lossy(),
            ])?;
            let died = self.wait(&mut child, &found.join("at"));
            let counts = fs::read(found.join("counts.json")).ok();
            let mut counts: Counts = counts.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
            match died {
                None if counts.inputs == 0 => return Ok(()),
                None => front.next += counts.inputs as u32,
                Some(how) => {
                    let at = fs::read(found.join("at")).ok().and_then(|bytes| bytes.try_into().ok());
                    let at = at.map(u32::from_le_bytes);
                    let at = at.ok_or_else(|| format!("{}: a batch {how} before it began", front.target.name))?;
                    counts.inputs = u64::from(at - front.next) + 1;
                    counts.broken.retain(|(counter, _)| *counter != at);
                    counts.broken.push((at, how));
                    front.next = at + 1;
                }
            }
            broken.extend(counts.broken.iter().cloned());
            front.counts.add(counts);
        }
        self.keep_broken(front, broken, kept)?;
        self.take_over(&found).map_err(fault)?;
        fs::write(
            found.join("kinds"),
            front.counts.kinds.keys().map(|kind| kind.replace('\n', " ") + "\n").collect::<String>(),
        )
        .map_err(fault)
    }

    /// Inputs that did something new are known from now on.
    fn take_over(&self, found: &Path) -> std::io::Result<()> {
        for input in super::sorted(&found.join("next"))? {
            let name = input.file_name().unwrap_or_default().to_owned();
            fs::rename(&input, found.join("known").join(name))?;
        }
        Ok(())
    }

    /// Makes small what broke in a new way.
    fn keep_broken(&self, front: &mut Front, broken: Vec<(u32, String)>, kept: &mut Vec<String>) -> Result<(), String> {
        let mut known: Option<Vec<Known>> = None;
        for (counter, what) in broken {
            let times = front.broken.entry(what.clone()).or_default();
            *times += 1;
            if *times > 1 || front.broken.len() > MOST_SHRUNK {
                continue;
            }
            let known = match &known {
                Some(known) => known,
                None => {
                    let place = self.work.join("parent");
                    fs::create_dir_all(&place).map_err(|error| error.to_string())?;
                    let mut place = Place::new(&place, &self.originals);
                    known.insert(super::known(front.target, &mut place, &self.found(front.target))?)
                }
            };
            let alike = |input: &Input| self.try_out(front.target, input).is_some_and(|seen| is_like(&seen, &what));
            let small = shrink::shrunk(known, (self.options.seed, front.index, counter), alike);
            let words: String =
                what.chars().map(|sign| if sign.is_ascii_alphanumeric() { sign } else { '-' }).collect();
            let words: Vec<&str> = words.split('-').filter(|word| !word.is_empty()).take(12).collect();
            let place = self.options.place.join("broken").join(front.target.name).join(words.join("-"));
            super::keep(&small, &place).map_err(|error| format!("{}: {error}", place.display()))?;
            let line = format!("{} {counter}: {what}\n  {}", front.target.name, place.join(&small.name).display());
            println!("{line}");
            kept.push(line);
        }
        Ok(())
    }

    /// What an input does in a process of its own.
    fn try_out(&self, target: &Target, input: &Input) -> Option<String> {
        let place = self.work.join("tried");
        let _ = fs::remove_dir_all(&place);
        super::keep(input, &place).ok()?;
        let told = self.work.join("told");
        let _ = fs::remove_file(&told);
        let mut child =
            self.start(&["try", target.name, &place.to_string_lossy(), &input.name, &told.to_string_lossy()]).ok()?;
        match self.wait(&mut child, &told) {
            Some(how) => Some(how),
            None => fs::read_to_string(told).ok().filter(|text| !text.is_empty()),
        }
    }

    fn start(&self, arguments: &[&str]) -> Result<Child, String> {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("ulimit -v {MOST_MEMORY}; exec \"$0\" \"$@\"")]).arg(&self.program);
        command.args(arguments).arg(&self.originals).arg(self.work.join("worker"));
        command.env("RAYON_NUM_THREADS", "2").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().map_err(|error| format!("a batch cannot be started: {error}"))
    }

    /// Waits for a process; how it died, if it did. `sign` is a file that changes as long as it gets on.
    fn wait(&self, child: &mut Child, sign: &Path) -> Option<String> {
        let own = PathBuf::from(format!("/proc/{}", child.id()));
        let state = || (fs::read(sign).ok(), memory::processor_seconds(&own).unwrap_or(0.0));
        let (mut last, mut changed) = (state(), Instant::now());
        let mut pause = Duration::from_millis(1);
        loop {
            match child.try_wait() {
                Ok(Some(status)) if status.success() => return None,
                Ok(Some(status)) => return Some(format!("died: {status}")),
                Err(error) => return Some(format!("died: {error}")),
                Ok(None) => {}
            }
            let now = state();
            if now.0 != last.0 {
                (last, changed) = (now, Instant::now());
            } else if changed.elapsed().as_secs_f64() > HANGS && now.1 - last.1 > HANGS / 2.0
                || changed.elapsed().as_secs_f64() > 6.0 * HANGS
            {
                let _ = child.kill();
                let _ = child.wait();
                return Some("hang: it does not end".into());
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(200));
        }
    }
}

/// Whether an input breaks in a way: memory and time are looked at where they were found.
fn is_like(seen: &str, what: &str) -> bool {
    seen == what
}

/// Kinds of outcome that were met before.
pub fn old_kinds(found: &Path) -> BTreeSet<String> {
    fs::read_to_string(found.join("kinds")).unwrap_or_default().lines().map(str::to_owned).collect()
}

/// What an input does, as a text: nothing if it does not break.
pub fn told(seen: &Seen) -> String {
    match seen {
        Seen::Broken(what) => what.clone(),
        Seen::Taken | Seen::Refused(_) => String::new(),
    }
}
