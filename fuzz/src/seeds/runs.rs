//! Run directories: finished ones, one that was stopped in its search, one that was stopped while rules were added, a sweep's.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use fpsrl::baseline::nfq::NfqSettings;
use fpsrl::export::{Format, Settings, Target};
use fpsrl::problem::WrittenProblem;
use fpsrl::progress::{Event, Progress};
use fpsrl::run::{self, PiOptions, ReportOptions, RunDirectory, TradeOptions};
use fpsrl::search::SearchOptions;
use fpsrl::sweep::Sweep;
use fpsrl::{Error, Result};

use super::logs;

/// The files of a directory by their names, those of directories in it with a slash.
pub type Files = BTreeMap<String, Vec<u8>>;

/// The directories.
pub const NAMES: [&str; 6] = ["finished", "plant", "stopped", "grown", "sweep", "export"];

const CAR: &str = "\
name = 'small'
plant = 'mountain-car'
[data]
samples = 300
[world]
kind = 'ensemble'
members = 2
layers = 1
neurons = 3
epochs = 2
[policy]
front = true
[search]
optimiser = 'swarm'
particles = 6
iterations = 4
start_states = 5
[evaluation]
start_states = 5
";

const PLANT: &str = "\
name = 'tank'
horizon = 10
[[state]]
name = 'level'
column = 'level'
tracks = 'wanted'
integral = true
keep = [0.0, 9.0]
[[input]]
name = 'wanted'
[[input]]
name = 'mode'
values = ['DAY', 'NIGHT']
[[action]]
name = 'valve'
limits = [0.0, 1.0]
move_cost = 0.2
[data]
file = 'log.csv'
time = 't'
history = 1
[world]
reward = '-abs(level - wanted)'
kind = 'ensemble'
members = 2
layers = 1
neurons = 3
epochs = 2
[policy]
rules = 'auto'
[search]
optimiser = 'swarm'
particles = 6
iterations = 4
start_states = 5
[evaluation]
start_states = 5
";

const SWEEP: &str = "\
problem = 'problem.toml'
runs = 'runs'
seeds = 2
[grid]
'search.caution' = [0.0, 1.0]
";

/// Makes every directory below a place.
pub fn make(place: &Path) -> Result<()> {
    let silent = Progress::silent();
    let problem = write(place, "car.toml", CAR)?;
    let finished = generate(&problem, &place.join("finished"))?;
    finished.fit(&silent)?;
    copy(&read(finished.path())?, &place.join("stopped"))?;
    let options = SearchOptions::of(&finished.problem()?.search, true);
    finished.search(options, &silent)?;
    finished.evaluate(options, &silent)?;
    let nfq = NfqSettings {
        iterations: 2,
        epochs: 2,
        hidden: vec![3],
        ..NfqSettings::of(&finished.problem()?.system, false)
    };
    finished.nfq(&nfq, &silent)?;
    finished.report(&ReportOptions::default(), &silent)?;

    let source = finished.source()?;
    let exports = place.join("export");
    fs::create_dir_all(&exports).map_err(|source| Error::write(&exports, source))?;
    source.export(&Settings::default(), Target::new(Format::Json), &exports.join("car.json"))?;

    stop_in_search(&RunDirectory::open(&place.join("stopped"))?, "checkpoint.csv")?;
    write(place, "log.csv", &logs::text(240, ',', '.'))?;
    let problem = write(place, "tank.toml", PLANT)?;
    let plant = generate(&problem, &place.join("plant"))?;
    plant.fit(&silent)?;
    let grown = place.join("grown");
    copy(&read(plant.path())?, &grown)?;
    plant.search(options, &silent)?;
    plant.evaluate(options, &silent)?;
    plant.pi(&PiOptions::default(), &silent)?;
    plant.trade(&TradeOptions { name: "valve".into(), factors: vec![0.5], effort: None }, &silent)?;
    plant.report(&ReportOptions::default(), &silent)?;
    stop_in_search(&RunDirectory::open(&grown)?, "growth.json")?;

    let sweep = place.join("sweep");
    fs::create_dir_all(&sweep).map_err(|source| Error::write(&sweep, source))?;
    write(&sweep, "problem.toml", CAR)?;
    let planned = Sweep::read(&write(&sweep, "sweep.toml", SWEEP)?)?;
    planned.prepare(&planned.runs()[0], &silent)?;
    planned.keep(&planned.runs()[1], "the log is gone".into(), None, false)
}

fn write(place: &Path, name: &str, text: &str) -> Result<std::path::PathBuf> {
    let path = place.join(name);
    fs::write(&path, text).map_err(|source| Error::write(&path, source))?;
    Ok(path)
}

fn generate(problem: &Path, out: &Path) -> Result<RunDirectory> {
    run::generate(&WrittenProblem::read(problem)?.check()?, out, false, &Progress::silent())
}

/// Searches until a file is there, and then some.
fn stop_in_search(run: &RunDirectory, until: &str) -> Result<()> {
    let awaited = run.file(until);
    let stop = fpsrl::Stop::default();
    let asked = stop.clone();
    let listener = move |event: &Event| {
        if matches!(event, Event::Advanced { .. }) && awaited.exists() {
            asked.request();
        }
    };
    let problem = run.problem()?;
    let options = SearchOptions { checkpoint_every: Duration::ZERO, ..SearchOptions::of(&problem.search, true) };
    match run.search(options, &Progress::new(listener).stopped_by(&stop)) {
        // One that was faster has left nothing to go on from; a test looks whether it was.
        Err(Error::Stopped { .. }) | Ok(_) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Every file of a directory.
pub fn read(directory: &Path) -> Result<Files> {
    fn of(directory: &Path, before: &str, files: &mut Files) -> io::Result<()> {
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            let name = format!("{before}{}", entry.file_name().to_string_lossy());
            if entry.file_type()?.is_dir() {
                of(&entry.path(), &format!("{name}/"), files)?;
            } else if !name.ends_with(".lock") {
                files.insert(name, fs::read(entry.path())?);
            }
        }
        Ok(())
    }
    let mut files = Files::new();
    of(directory, "", &mut files).map_err(|source| Error::read(directory, source))?;
    Ok(files)
}

/// Writes files into a directory.
pub fn copy(files: &Files, directory: &Path) -> Result<()> {
    for (name, bytes) in files {
        let path = directory.join(name);
        let parent = path.parent().unwrap_or(directory);
        fs::create_dir_all(parent)
            .and_then(|()| fs::write(&path, bytes))
            .map_err(|source| Error::write(&path, source))?;
    }
    Ok(())
}
