//! How a run of a sweep stands: what is on the disk of it, and whether that is what was planned.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use fpsrl_base::error::{Error, Result};
use fpsrl_base::files;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use super::execute::{Failure, exists};
use super::plan::{PlannedRun, Sweep};
use crate::problem::{OptimiserKind, Problem};
use crate::run::{REPORT, RunDirectory, Summary};

/// What was planned of a run, in its directory.
pub(super) const PLANNED: &str = "planned.json";

/// A directory beside the runs: why runs have failed.
const FAILURES: &str = "failures";

/// How a run stands.
#[derive(Clone, Debug, PartialEq)]
pub enum State {
    /// Nothing is there yet.
    Pending,
    /// It has begun, and is not finished.
    Begun,
    /// It has failed with these settings.
    Failed(Failure),
    /// It is finished: its figures.
    Finished(Box<Summary>),
}

/// `planned.json`: what a run directory was made for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Planned {
    /// The run's name.
    pub(super) run: String,
    /// The digest of everything that decides its result: settings, seed, log, draw.
    pub(super) sha256: String,
    /// The bootstrap draw of its log.
    pub(super) draw: Option<u32>,
    /// The digests of the log's files.
    pub(super) log_sha256: Vec<String>,
    /// What was written in its problem file, but for the place of the log.
    pub(super) problem: serde_json::Value,
    /// The digest of the complete problem file that came of it.
    #[serde(default)]
    pub(super) problem_sha256: String,
}

/// Digests of files that several runs have in common.
#[derive(Debug, Default)]
pub(super) struct Digests(Mutex<HashMap<PathBuf, String>>);

impl Digests {
    fn of(&self, path: &Path) -> Result<String> {
        let known =
            |digests: &Self| digests.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).get(path).cloned();
        if let Some(known) = known(self) {
            return Ok(known);
        }
        let digest = files::sha256(path)?;
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).insert(path.to_owned(), digest.clone());
        Ok(digest)
    }
}

impl Sweep {
    /// The directory of a run.
    pub fn place(&self, run: &PlannedRun) -> PathBuf {
        self.directory.join(&run.name)
    }

    pub(super) fn failure_file(&self, run: &PlannedRun) -> PathBuf {
        self.directory.join(FAILURES).join(format!("{}.json", run.name))
    }

    /// What decides the result of a run.
    pub(super) fn planned(&self, run: &PlannedRun, digests: &Digests) -> Result<Planned> {
        let files = self.problem(run)?.data.log.map_or_else(Vec::new, |log| log.files);
        let log_sha256 = files.iter().map(|file| digests.of(file)).collect::<Result<Vec<String>>>()?;
        self.planned_on(run, log_sha256)
    }

    /// The same for a log whose digests are known.
    fn planned_on(&self, run: &PlannedRun, log_sha256: Vec<String>) -> Result<Planned> {
        let mut table = self.written(run)?;
        // Where a log lies changes no result, and is another place on another machine.
        if let Some(Value::Table(data)) = table.get_mut("data") {
            data.remove("file");
        }
        let problem = serde_json::to_value(&table).map_err(|_| Error::Internal("a problem has no form in JSON"))?;
        let whole = serde_json::to_vec(&(&problem, &log_sha256, run.draw));
        let whole = whole.map_err(|_| Error::Internal("a planned run has no form in JSON"))?;
        Ok(Planned {
            run: run.name.clone(),
            sha256: files::sha256_of(&whole),
            draw: run.draw,
            log_sha256,
            problem,
            problem_sha256: String::new(),
        })
    }

    /// How a run stands; refused where its directory holds something else than what is planned.
    pub fn state(&self, run: &PlannedRun) -> Result<State> {
        self.state_with(run, &Digests::default())
    }

    pub(super) fn state_with(&self, run: &PlannedRun, digests: &Digests) -> Result<State> {
        let place = self.place(run);
        if !exists(&place)? {
            // Nothing that was read of its log is needed where nobody has begun; one that is gone is that run's failure.
            let Some(failure) = self.failure(run)? else { return Ok(State::Pending) };
            let same = self.planned(run, digests).is_ok_and(|planned| failure.sha256 == planned.sha256);
            return Ok(if same || failure.sha256.is_empty() { State::Failed(failure) } else { State::Pending });
        }
        let file = place.join(PLANNED);
        if !exists(&file)? {
            let problem = "it was not made by this sweep".into();
            return Err(self.in_the_way(&place, problem));
        }
        let found: Planned = files::read_json(&file)?;
        let planned = match self.planned(run, digests) {
            // A run that has its log already does not need the file that it came from.
            Err(Error::Read { .. }) => self.planned_on(run, found.log_sha256.clone())?,
            planned => planned?,
        };
        if found.sha256 != planned.sha256 {
            return Err(self.in_the_way(&place, format!("it was made with {}", differences(&found, &planned))));
        }
        let directory = RunDirectory::open(&place)?;
        if files::sha256(&directory.file("problem.toml"))? != found.problem_sha256 {
            let problem = "its problem.toml has been changed since it was planned".into();
            return Err(self.in_the_way(&place, problem));
        }
        if let Some(summary) = finished(&directory)? {
            return Ok(State::Finished(Box::new(summary)));
        }
        Ok(match self.failure(run)?.filter(|failure| failure.sha256 == planned.sha256) {
            Some(failure) => State::Failed(failure),
            None => State::Begun,
        })
    }

    fn failure(&self, run: &PlannedRun) -> Result<Option<Failure>> {
        let file = self.failure_file(run);
        match exists(&file)? {
            true => files::read_json(&file).map(Some),
            false => Ok(None),
        }
    }

    fn in_the_way(&self, place: &Path, problem: String) -> Error {
        let remedy = "give the sweep another directory: runs = \"…\"; or move that run away, and it is made anew";
        Error::Mismatch { path: place.to_owned(), other: self.path.clone(), problem, remedy: remedy.into() }
    }
}

/// The figures of a run that is finished: everything is there, and belongs together.
fn finished(directory: &RunDirectory) -> Result<Option<Summary>> {
    if directory.has("checkpoint.json")? || directory.has("growth.json")? || !directory.has(REPORT)? {
        return Ok(None);
    }
    let problem = directory.problem()?;
    // What does not belong together is made again, by whoever goes on with the run.
    let Ok(summary) = directory.summary_of_policy(&problem) else { return Ok(None) };
    let lacks = summary.promise.is_none() || wants_ceiling(&problem) && summary.ceiling.is_none();
    Ok((!lacks).then_some(summary))
}

/// Whether a run says how far its rules are from what could be reached, as `fpsrl run` does: after a race.
pub(super) fn wants_ceiling(problem: &Problem) -> bool {
    problem.search.optimiser == OptimiserKind::Auto
}

/// What differs between two plans, in words.
fn differences(found: &Planned, planned: &Planned) -> String {
    if found.log_sha256 != planned.log_sha256 {
        return "another log, or the log has changed since".into();
    }
    if found.draw != planned.draw {
        return "another draw of the log".into();
    }
    let flat = |value: &serde_json::Value| {
        let mut all = Vec::new();
        leaves("", value, &mut all);
        all
    };
    let (then, now) = (flat(&found.problem), flat(&planned.problem));
    let value = |all: &[(String, String)], key: &str| {
        all.iter().find(|(known, _)| known == key).map_or_else(|| "its default".to_owned(), |(_, value)| value.clone())
    };
    let mut keys: Vec<&String> = then.iter().chain(&now).map(|(key, _)| key).collect();
    keys.sort();
    keys.dedup();
    let differ = keys.into_iter().filter(|key| value(&then, key) != value(&now, key));
    let told: Vec<String> =
        differ.take(3).map(|key| format!("{key} = {} instead of {}", value(&then, key), value(&now, key))).collect();
    if told.is_empty() { "other settings".into() } else { told.join(", ") }
}

fn leaves(place: &str, value: &serde_json::Value, all: &mut Vec<(String, String)>) {
    let within = |key: &str| if place.is_empty() { key.to_owned() } else { format!("{place}.{key}") };
    match value {
        serde_json::Value::Object(inner) => inner.iter().for_each(|(key, value)| leaves(&within(key), value, all)),
        other => all.push((place.to_owned(), other.to_string())),
    }
}

/// A table as JSON, for whoever does not read TOML.
pub(super) fn json(settings: &[(String, Value)]) -> serde_json::Value {
    let table: Table = settings.iter().cloned().collect();
    serde_json::to_value(table).unwrap_or_default()
}
