//! The attack as a program: `cargo xtask fuzz` builds and runs it.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use fpsrl_fuzz::attack::batch::{Batch, LONGEST, memory_of};
use fpsrl_fuzz::attack::{self, Options, attack, memory, old_kinds, told};
use fpsrl_fuzz::input::Input;
use fpsrl_fuzz::judge::{Seen, judge, keep_panics};
use fpsrl_fuzz::place::Place;
use fpsrl_fuzz::table;
use fpsrl_fuzz::targets::{TARGETS, find};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["batch", target, seed, from, count, seconds, found, originals, place] => {
            batch(target, [seed, from, count, seconds], Path::new(found), Path::new(originals), Path::new(place))
        }
        ["try", target, directory, name, out, originals, place] => {
            try_out(target, &Path::new(directory).join(name), name, Path::new(originals), Path::new(place))
                .and_then(|seen| std::fs::write(out, told(&seen)).map_err(|error| format!("{out}: {error}")))
                .map(|()| true)
        }
        ["replay", target, file] => replay(target, Path::new(file)),
        ["attack", rest @ ..] => whole(rest),
        _ => Err("give a command: attack, or replay TARGET FILE; `cargo xtask help` says more".into()),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::from(2)
        }
    }
}

fn number<T: std::str::FromStr>(word: &str) -> Result<T, String> {
    word.parse().map_err(|_| format!("`{word}` is not such a number"))
}

fn known_target(name: &str) -> Result<(u16, &'static fpsrl_fuzz::targets::Target), String> {
    let known = || TARGETS.iter().map(|target| target.name).collect::<Vec<_>>().join(", ");
    find(name).ok_or_else(|| format!("there is no target called `{name}`; known: {}", known()))
}

/// A batch of a target.
fn batch(target: &str, words: [&str; 4], found: &Path, originals: &Path, place: &Path) -> Result<bool, String> {
    keep_panics();
    let target = known_target(target)?;
    let place = made(place)?;
    let mut place = Place::new(&place, originals);
    let known = attack::known(target.1, &mut place, found)?;
    let [seed, from, count, seconds] = words;
    let batch = Batch {
        target,
        seed: number(seed)?,
        from: number(from)?,
        count: number(count)?,
        until: Instant::now() + Duration::from_secs_f64(number::<f64>(seconds)?.clamp(0.0, 1e6)),
        found: Some(found.to_owned()),
        old: old_kinds(found),
    };
    batch.run(&known, &mut place).map(|_| true).map_err(|error| format!("{}: {error}", found.display()))
}

fn made(place: &Path) -> Result<PathBuf, String> {
    std::fs::create_dir_all(place).map_err(|error| format!("{}: {error}", place.display()))?;
    Ok(place.to_owned())
}

/// What a file does to a target.
fn try_out(target: &str, file: &Path, name: &str, originals: &Path, place: &Path) -> Result<Seen, String> {
    keep_panics();
    let (_, target) = known_target(target)?;
    let bytes = std::fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let mut place = Place::new(&made(place)?, originals);
    // What is made at the beginning is not the input's.
    (target.seeds)(&mut place).map_err(|error| error.to_string())?;
    let input = Input::new(name, bytes);
    let size = input.bytes.len() as u64;
    let mut seen = Seen::Taken;
    let own = Path::new("/proc/self");
    let before = memory::processor_seconds(own);
    let began = Instant::now();
    let added = memory_of(|| seen = judge(target, &input, &mut place));
    let took = before.and_then(|before| Some(memory::processor_seconds(own)? - before));
    let took = took.unwrap_or(f64::INFINITY).min(began.elapsed().as_secs_f64());
    if !matches!(seen, Seen::Broken(_)) {
        if took > LONGEST.as_secs_f64() && size < 1_000_000 {
            seen = Seen::Broken("time: it takes longer than 2 s".into());
        } else if added > memory::ALLOWED + memory::FACTOR * size {
            seen = Seen::Broken("memory: it takes more than 20 times its size and 200 MB".into());
        }
    }
    Ok(seen)
}

/// What a file of the corpus does, for people.
fn replay(target: &str, file: &Path) -> Result<bool, String> {
    let place = tempfile::tempdir().map_err(|error| error.to_string())?;
    // A run directory's file stands in a directory of that name.
    let in_run = ["run", "report", "files", "verify"].contains(&target);
    let parts: Vec<String> = file.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    let begin = parts.iter().rposition(|part| fpsrl_fuzz::seeds::runs::NAMES.contains(&part.as_str()));
    let name = match begin.filter(|_| in_run) {
        Some(begin) => parts[begin..].join("/"),
        None => parts.last().cloned().unwrap_or_default(),
    };
    let seen = try_out(target, file, &name, &place.path().join("originals"), &place.path().join("work"))?;
    println!("{seen:?}");
    Ok(!matches!(seen, Seen::Broken(_)))
}

/// The whole attack.
fn whole(words: &[&str]) -> Result<bool, String> {
    let mut options =
        Options { targets: Vec::new(), minutes: None, inputs: None, seed: 1, place: PathBuf::from("target/fuzz") };
    let mut record = None;
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
        match *word {
            "--minutes" => options.minutes = Some(number(value()?)?),
            "--inputs" => options.inputs = Some(number(value()?)?),
            "--seed" => options.seed = number(value()?)?,
            "--place" => options.place = PathBuf::from(value()?),
            "--record" => record = Some(PathBuf::from("docs/reliability.md")),
            option if option.starts_with('-') => return Err(format!("there is no option {option}")),
            target => options.targets.push(known_target(target)?.1.name.to_owned()),
        }
    }
    if options.minutes.is_none() && options.inputs.is_none() {
        options.minutes = Some(5.0);
    }
    let (all, kept) = attack(&options)?;
    let table = table::table(&all, options.seed);
    println!("\n{table}");
    if let Some(path) = record {
        let fault = |error: std::io::Error| format!("{}: {error}", path.display());
        let document = std::fs::read_to_string(&path).map_err(fault)?;
        let new =
            table::recorded(&document, &table).ok_or_else(|| format!("{} has no marks for it", path.display()))?;
        std::fs::write(&path, new).map_err(fault)?;
        println!("the table is in {}", path.display());
    }
    if !kept.is_empty() {
        println!("\nbroken:\n{}", kept.join("\n"));
    }
    Ok(all.iter().all(|(_, counts)| counts.broken.is_empty()))
}
