//! `cargo xtask soak`: the built command for an hour among kills, stops, pauses, full disks and other commands.
//!
//! An *episode* is a whole way of a user: a run, its stages one by one, an export, an update, a sweep. Its commands are
//! disturbed at random, as a seed says, and given again as a user would give them. In the end, the directory must be the same,
//! byte for byte besides clocks, as after the same way without any disturbance.

mod disturbance;
mod tree;
mod ways;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::Outcome;
use disturbance::{Disturbance, Ended, disturbed, undisturbed};
use tree::Tree;
use ways::{WAYS, Way};

pub const USAGE: &str = "\
usage: cargo xtask soak [--minutes N] [--seed N] [--command FPSRL] [--record]

  kills, stops and pauses the command, fills its disk, and gives others meanwhile, for an hour or as many minutes; then
  every directory must be as without. --record writes the counts into docs/reliability.md";

/// Where the counts stand in `docs/reliability.md`.
const MARKERS: [&str; 2] = ["<!-- soak: begin -->", "<!-- soak: end -->"];

/// After so many failures it is clear enough.
const MOST_FAILURES: usize = 20;

/// What was asked for.
struct Wish {
    minutes: f64,
    seed: u64,
    command: Option<PathBuf>,
    record: bool,
}

pub fn soak(root: &Path, arguments: &[&str]) -> Outcome {
    let wish = match wish(arguments) {
        Ok(wish) => wish,
        Err(why) => return Outcome::Failed(format!("{why}\n\n{USAGE}")),
    };
    match soaked(root, &wish) {
        Ok(counts) if counts.failures.is_empty() => Outcome::Passed,
        Ok(counts) => Outcome::Failed(format!("{} episodes went wrong", counts.failures.len())),
        Err(why) => Outcome::Failed(why),
    }
}

fn wish(arguments: &[&str]) -> Result<Wish, String> {
    let mut wish = Wish { minutes: 60.0, seed: 1, command: None, record: false };
    let mut left = arguments.iter();
    while let Some(argument) = left.next() {
        let mut value = || left.next().copied().ok_or(format!("{argument} needs a value"));
        match *argument {
            "--minutes" => wish.minutes = value()?.parse().map_err(|_| "--minutes takes a number")?,
            "--seed" => wish.seed = value()?.parse().map_err(|_| "--seed takes a whole number")?,
            "--command" => wish.command = Some(value()?.into()),
            "--record" => wish.record = true,
            other => return Err(format!("{other} is not known")),
        }
    }
    Ok(wish)
}

/// Numbers that follow from a seed: splitmix64.
pub struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 up to, not including, `end`.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    /// From 0 to 1.
    pub fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// What has happened.
#[derive(Default)]
struct Counts {
    episodes: BTreeMap<&'static str, usize>,
    commands: usize,
    disturbances: BTreeMap<&'static str, usize>,
    ends: BTreeMap<&'static str, usize>,
    others: BTreeMap<&'static str, usize>,
    /// The longest time from a signal that asks to stop to the end of the command.
    slowest: Duration,
    failures: Vec<String>,
    /// Things that this machine does not allow.
    left_out: Vec<String>,
}

impl Counts {
    fn add(&mut self, disturbance: &Disturbance, ended: &Ended) {
        self.commands += 1;
        *self.disturbances.entry(disturbance.name()).or_default() += 1;
        *self.ends.entry(ended.name()).or_default() += 1;
        for other in &ended.others {
            self.commands += 1;
            *self.others.entry(other).or_default() += 1;
        }
        self.slowest = self.slowest.max(ended.heard.unwrap_or_default());
    }
}

/// The directories of a soak.
pub struct Place {
    /// The command.
    pub command: PathBuf,
    /// Where an episode happens: always the same path, so that paths in files are alike.
    pub episode: PathBuf,
    /// Logs, problems and finished runs.
    pub material: PathBuf,
    /// Whether a small file system in memory may be mounted.
    pub mounts: bool,
}

fn soaked(root: &Path, wish: &Wish) -> Result<Counts, String> {
    let place = prepare(root, wish)?;
    let mut counts = Counts::default();
    if !place.mounts {
        counts.left_out.push("no file system may be mounted here: disks are filled by a limit of files' sizes".into());
    }
    let mut expected: BTreeMap<&str, (Tree, Vec<Duration>)> = BTreeMap::new();
    for way in WAYS {
        println!("undisturbed: {}", way.name);
        expected.insert(way.name, reference(&place, way)?);
    }
    let mut chance = Chance(wish.seed);
    let (began, whole) = (Instant::now(), Duration::from_secs_f64(60.0 * wish.minutes));
    let mut told = Instant::now();
    for number in 0.. {
        if began.elapsed() >= whole || counts.failures.len() >= MOST_FAILURES {
            break;
        }
        let way = &WAYS[if number < WAYS.len() { number } else { chance.below(WAYS.len()) }];
        let (tree, durations) = &expected[way.name];
        let mounted = place.mounts && chance.below(2) == 0;
        let mut story = Vec::new();
        let fault = episode(&place, way, (tree, durations), mounted, &mut chance, &mut counts, &mut story);
        *counts.episodes.entry(way.name).or_default() += 1;
        if let Err(why) = fault {
            let kept = place.material.with_file_name(format!("failed-{}", counts.failures.len() + 1));
            let _ = Command::new("cp").arg("-a").arg(&place.episode).arg(&kept).status();
            let told = format!(
                "episode {number}, {}: {why}\n  {}\n  its directory is kept in {}",
                way.name,
                story.join("\n  "),
                kept.display()
            );
            println!("FAILED: {told}");
            counts.failures.push(told);
        }
        clear(&place, mounted);
        if told.elapsed() > Duration::from_secs(60) {
            told = Instant::now();
            let episodes: usize = counts.episodes.values().sum();
            println!(
                "{:.0} min: {episodes} episodes, {} commands, {} failures",
                began.elapsed().as_secs_f64() / 60.0,
                counts.commands,
                counts.failures.len()
            );
        }
    }
    let text = table(&counts, wish, began.elapsed());
    println!("{text}");
    if wish.record {
        record(root, &text)?;
    }
    Ok(counts)
}

/// Builds the command, and makes what episodes begin with.
fn prepare(root: &Path, wish: &Wish) -> Result<Place, String> {
    let directory = root.join("target/soak");
    let episode = directory.join("episode");
    // An earlier soak that was killed may have left its file system there.
    let _ = Command::new("umount").arg(&episode).stderr(std::process::Stdio::null()).status();
    let _ = std::fs::remove_dir_all(&directory);
    let material = directory.join("material");
    std::fs::create_dir_all(&material).map_err(|error| error.to_string())?;
    std::fs::create_dir_all(&episode).map_err(|error| error.to_string())?;
    let built = match &wish.command {
        Some(command) => command.clone(),
        None => {
            if let Outcome::Failed(why) = crate::cargo(root, &["build", "--release", "--package", "fpsrl-cli"]) {
                return Err(why);
            }
            root.join("target/release/fpsrl")
        }
    };
    // A copy, so that whoever builds meanwhile does not change it.
    let command = directory.join("fpsrl");
    std::fs::copy(&built, &command).map_err(|error| format!("{}: {error}", built.display()))?;
    let mounts = mount(&episode) && unmount(&episode);
    let place = Place { command, episode, material, mounts };
    ways::write_material(&place)?;
    Ok(place)
}

/// A way without disturbances: what it makes, and how long each of its steps takes.
fn reference(place: &Place, way: &Way) -> Result<(Tree, Vec<Duration>), String> {
    way.begin(place)?;
    let mut durations = Vec::new();
    for step in way.steps {
        let began = Instant::now();
        undisturbed(place, step.first)?;
        durations.push(began.elapsed());
    }
    let tree = Tree::of(&place.episode)?;
    clear(place, false);
    Ok((tree, durations))
}

fn episode(
    place: &Place,
    way: &Way,
    (expected, durations): (&Tree, &[Duration]),
    mounted: bool,
    chance: &mut Chance,
    counts: &mut Counts,
    story: &mut Vec<String>,
) -> Result<(), String> {
    if mounted && !mount(&place.episode) {
        return Err("the file system cannot be mounted any more".into());
    }
    way.begin(place)?;
    for (step, took) in way.steps.iter().zip(durations) {
        for _ in 0..chance.below(4) {
            let Some(words) = step.words(place) else { break };
            let disturbance = Disturbance::draw(way, mounted, chance);
            story.push(format!("{disturbance:?}: fpsrl {}", words.join(" ")));
            let ended = disturbed(place, &words, step, &disturbance, *took, chance)?;
            story.push(format!("  {}", ended.told()));
            counts.add(&disturbance, &ended);
            ended.check(&disturbance)?;
        }
        if let Some(words) = step.words(place) {
            story.push(format!("undisturbed: fpsrl {}", words.join(" ")));
            counts.commands += 1;
            undisturbed(place, &words)?;
        }
    }
    expected.same(&Tree::of(&place.episode)?)
}

/// A file system in memory, large enough for an episode.
fn mount(directory: &Path) -> bool {
    let words = ["-t", "tmpfs", "-o", "size=64m", "fpsrl-soak"];
    succeeds(Command::new("mount").args(words).arg(directory))
}

fn unmount(directory: &Path) -> bool {
    succeeds(Command::new("umount").arg(directory))
}

/// Mounts the file system of an episode anew with other options: read-only, or small.
pub fn remount(directory: &Path, options: &str) -> bool {
    succeeds(Command::new("mount").args(["-o", &format!("remount,{options}")]).arg(directory))
}

fn succeeds(command: &mut Command) -> bool {
    command.stderr(std::process::Stdio::null()).status().is_ok_and(|status| status.success())
}

/// Empties the directory of episodes.
fn clear(place: &Place, mounted: bool) {
    if mounted {
        unmount(&place.episode);
    }
    let _ = std::fs::remove_dir_all(&place.episode);
    let _ = std::fs::create_dir_all(&place.episode);
}

/// The counts as Markdown.
fn table(counts: &Counts, wish: &Wish, took: Duration) -> String {
    let list = |counts: &BTreeMap<&'static str, usize>| {
        counts.iter().map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>().join(", ")
    };
    let episodes: usize = counts.episodes.values().sum();
    let disturbed: usize = counts.disturbances.values().sum();
    let mut rows = vec![
        ("time", format!("{:.0} minutes, seed {}", took.as_secs_f64() / 60.0, wish.seed)),
        ("episodes", format!("{episodes}: {}", list(&counts.episodes))),
        ("commands", format!("{}, of which {disturbed} were disturbed", counts.commands)),
        ("disturbances", list(&counts.disturbances)),
        ("how disturbed commands ended", list(&counts.ends)),
        ("other commands at the same time", list(&counts.others)),
        ("longest wait after a request to stop", format!("{:.2} s", counts.slowest.as_secs_f64())),
        ("lost, other bits, left-over files, panics, wrong exit codes", counts.failures.len().to_string()),
    ];
    if !counts.left_out.is_empty() {
        rows.push(("left out", counts.left_out.join("; ")));
    }
    let rows = rows.into_iter().map(|(what, value)| format!("| {what} | {value} |\n"));
    format!("| | |\n|---|---|\n{}", rows.collect::<String>())
}

/// Writes the table between its markers in `docs/reliability.md`.
fn record(root: &Path, table: &str) -> Result<(), String> {
    let path = root.join("docs/reliability.md");
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let text = between(&text, table).ok_or(format!("{} has no {} and {}", path.display(), MARKERS[0], MARKERS[1]))?;
    std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
}

/// A text with something else between the markers.
fn between(text: &str, new: &str) -> Option<String> {
    let (before, rest) = text.split_once(MARKERS[0])?;
    let (_, after) = rest.split_once(MARKERS[1])?;
    Some(format!("{before}{}\n{new}{}{after}", MARKERS[0], MARKERS[1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_between_the_markers_is_replaced() {
        let text = format!("a\n{}\nold\n{}\nb\n", MARKERS[0], MARKERS[1]);
        let new = between(&text, "new\n").unwrap();
        assert_eq!(new, format!("a\n{}\nnew\n{}\nb\n", MARKERS[0], MARKERS[1]));
        assert_eq!(between(&new, "new\n").unwrap(), new);
        assert!(between("nothing", "new").is_none());
    }

    #[test]
    fn a_wish_is_understood_or_refused() {
        let wished = wish(&["--minutes", "0.5", "--seed", "7", "--record"]).unwrap();
        assert_eq!((wished.minutes, wished.seed, wished.record), (0.5, 7, true));
        for words in [&["--minutes"][..], &["--minutes", "x"], &["--hours", "1"]] {
            assert!(wish(words).is_err(), "{words:?}");
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_soak() {
        let draw = |seed| (0..5).scan(Chance(seed), |chance, _| Some(chance.below(1000))).collect::<Vec<_>>();
        assert_eq!(draw(3), draw(3));
        assert_ne!(draw(3), draw(4));
    }
}
