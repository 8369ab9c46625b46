//! Checkpoints: what a search under way leaves behind every few seconds, so that a kill costs seconds and no result.
//!
//! `checkpoint.csv` grows by the rows of `search.csv`; `checkpoint.json` holds the optimiser's state and says how many of
//! those rows belong to it. Rows are on the disk before the state that counts on them, and rows beyond its count are dropped
//! on the way back: so every moment of a kill leaves a whole checkpoint, the new one or the one before. `growth.json` holds
//! the searches of growing rules that are finished.

use std::io::{BufWriter, Write};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::directory::{RunDirectory, unreadable};
use super::graph::{CHECKPOINT, CHECKPOINT_ROWS, GROWTH, WORLD};
use super::stages::{SEARCH_HEADER, search_row};
use crate::error::{Error, Result};
use crate::files;
use crate::problem::{PolicySettings, Problem, WrittenProblem};
use crate::search::{SearchOptions, SearchRecord};
use fpsrl_base::disk;
use fpsrl_base::remedy::Remedy;
use fpsrl_search::task::growth::Growth;
use fpsrl_search::task::{Begun, Keeper, Running, Saved};

/// One part in so many of the time may go into writing: a checkpoint that took long is followed by a longer pause.
const SHARE: u32 = 200;

/// What `checkpoint.json` holds.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CheckpointFile {
    /// The problem with the number of rules that the search had come to.
    problem: String,
    world_sha256: String,
    numerics: String,
    prune: bool,
    rows: usize,
    state: serde_json::Value,
}

/// What `growth.json` holds.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct GrowthFile {
    problem: String,
    world_sha256: String,
    numerics: String,
    prune: bool,
    growth: Growth,
}

/// An interrupted search, as it is gone on from.
pub(super) struct Interrupted {
    /// The problem that is being searched; its file may still be an older one.
    pub(super) problem: Problem,
    /// The options that it began with.
    pub(super) options: SearchOptions,
    /// Where it stood.
    pub(super) begun: Begun,
}

/// The search that a run was in the middle of, if it was, and if this machine and the files still allow it to go on.
pub(super) fn read(run: &RunDirectory, checkpoint_every: Duration) -> Result<Option<Interrupted>> {
    let growth: Option<GrowthFile> = read_if_there(run, GROWTH)?;
    let checkpoint: Option<CheckpointFile> = read_if_there(run, CHECKPOINT)?;
    let text = match (&growth, &checkpoint) {
        (Some(growth), _) => growth.problem.clone(),
        (None, Some(checkpoint)) => checkpoint.problem.clone(),
        (None, None) => return Ok(None),
    };
    let parse = |text: &str| run.with_starts(WrittenProblem::parse(text, &run.file(CHECKPOINT))?.check()?);
    let problem = parse(&text)?;
    let mut prune = true;
    let mut usable = |name: &'static str, world: &str, numerics: &str, pruned: bool| {
        prune = pruned;
        let now = SearchOptions::of(&problem.search, pruned).numerics.to_string();
        if numerics != now {
            let told = format!("the search began with {numerics}, and this machine computes {now}");
            return Err(run.mismatch(name, name, told, anew(run)));
        }
        if files::sha256(&run.file(WORLD))? != world {
            let told = "the search began on another world model";
            return Err(run.mismatch(name, WORLD, told.into(), anew(run)));
        }
        Ok(())
    };
    if let Some(file) = &growth {
        usable(GROWTH, &file.world_sha256, &file.numerics, file.prune)?;
        if let Some(fault) = file.growth.fault(&problem.policy) {
            return Err(broken(run, GROWTH, fault));
        }
    }
    let mut search = None;
    if let Some(file) = checkpoint {
        usable(CHECKPOINT, &file.world_sha256, &file.numerics, file.prune)?;
        let records = records(run, file.rows)?;
        search = Some(Saved { policy: parse(&file.problem)?.policy, state: file.state, records });
    }
    let options = SearchOptions { checkpoint_every, ..SearchOptions::of(&problem.search, prune) };
    let begun = Begun { growth: growth.map(|file| file.growth), search };
    Ok(Some(Interrupted { problem, options, begun }))
}

fn read_if_there<T: DeserializeOwned>(run: &RunDirectory, name: &str) -> Result<Option<T>> {
    if run.has(name)? { files::read_json(&run.file(name)).map(Some) } else { Ok(None) }
}

/// The rows that belong to a checkpoint.
fn records(run: &RunDirectory, rows: usize) -> Result<Vec<SearchRecord>> {
    let path = run.file(CHECKPOINT_ROWS);
    let mut reader = csv::Reader::from_reader(disk::open(&path).map_err(|source| Error::read(&path, source))?);
    let told = format!("{} does not hold the {rows} rows that belong to it", path.display());
    let unread = |error| unreadable(error, &path, |_| broken(run, CHECKPOINT, told.clone()));
    let records = reader.deserialize().take(rows).collect::<Result<Vec<SearchRecord>, _>>().map_err(unread)?;
    let whole = records.len() == rows && records.iter().enumerate().all(|(index, record)| record.iteration == index);
    if whole {
        return Ok(records);
    }
    Err(broken(run, CHECKPOINT, told))
}

/// The checkpoint cannot be gone on from.
fn broken(run: &RunDirectory, name: &str, problem: String) -> Error {
    Error::Malformed { path: run.file(name), line: None, column: None, problem, remedy: anew(run) }
}

fn anew(run: &RunDirectory) -> Remedy {
    Remedy::words("start the search anew with ").stage("search", Some(run.path()))
}

/// Keeps what a search needs to go on in the files of its run.
pub(super) struct CheckpointKeeper<'a> {
    run: &'a RunDirectory,
    problem: Problem,
    world_sha256: String,
    options: SearchOptions,
    /// The text of the problem with the rules that are searched now.
    text: String,
    /// `checkpoint.csv`, once there is something to write into it.
    rows: Option<BufWriter<disk::Writer>>,
    written: usize,
    due: Instant,
}

impl<'a> CheckpointKeeper<'a> {
    /// For the searches of a problem. What an earlier one left goes, unless it is gone on from.
    pub(super) fn new(run: &'a RunDirectory, problem: &Problem, options: SearchOptions, begun: &Begun) -> Result<Self> {
        if begun.search.is_none() {
            run.drop_checkpoint()?;
        }
        Ok(Self {
            run,
            problem: problem.clone(),
            world_sha256: files::sha256(&run.file(WORLD))?,
            options,
            text: problem.to_toml(),
            rows: None,
            written: 0,
            due: Instant::now() + options.checkpoint_every,
        })
    }

    /// Begins `checkpoint.csv` with the rows that count, which drops whatever a kill left behind them.
    fn begin_rows(&mut self, rows: &[SearchRecord]) -> Result<()> {
        let path = self.run.file(CHECKPOINT_ROWS);
        files::write_atomically(&path, |file| {
            writeln!(file, "{SEARCH_HEADER}")?;
            rows.iter().try_for_each(|row| writeln!(file, "{}", search_row(row)))
        })?;
        let file = disk::append(&path).map_err(|source| Error::write(&path, source))?;
        self.rows = Some(BufWriter::new(file));
        self.written = rows.len();
        Ok(())
    }

    /// Writes a checkpoint now.
    fn save(&mut self, running: &dyn Running) -> Result<()> {
        let records = running.records();
        if records.is_empty() {
            return Ok(());
        }
        match &mut self.rows {
            None => self.begin_rows(records)?,
            Some(rows) => {
                let mut append = || {
                    for row in &records[self.written..] {
                        writeln!(rows, "{}", search_row(row))?;
                    }
                    rows.flush()?;
                    rows.get_ref().sync()
                };
                append().map_err(|source| Error::write(&self.run.file(CHECKPOINT_ROWS), source))?;
                self.written = records.len();
            }
        }
        files::write_json(
            &self.run.file(CHECKPOINT),
            &CheckpointFile {
                problem: self.text.clone(),
                world_sha256: self.world_sha256.clone(),
                numerics: self.options.numerics.to_string(),
                prune: self.options.prune,
                rows: records.len(),
                state: running.state()?,
            },
        )
    }
}

impl Keeper for CheckpointKeeper<'_> {
    fn started(&mut self, search: &crate::problem::SearchSettings) {
        self.problem.search = search.clone();
        self.text = self.problem.to_toml();
    }

    fn begin(&mut self, policy: &PolicySettings, records: &[SearchRecord]) -> Result<()> {
        self.text = Problem { policy: policy.clone(), ..self.problem.clone() }.to_toml();
        (self.rows, self.written) = (None, 0);
        self.due = Instant::now() + self.options.checkpoint_every;
        match records.is_empty() {
            true => self.run.drop_checkpoint(),
            false => self.begin_rows(records),
        }
    }

    fn round(&mut self, running: &dyn Running, must: bool) -> Result<()> {
        if !must && Instant::now() < self.due {
            return Ok(());
        }
        let began = Instant::now();
        self.save(running)?;
        let every = self.options.checkpoint_every;
        // Who asks for a checkpoint after each iteration gets it, whatever it costs.
        let pause = if every.is_zero() { every } else { every.max(began.elapsed() * SHARE) };
        self.due = Instant::now() + pause;
        Ok(())
    }

    fn grown(&mut self, growth: &Growth) -> Result<()> {
        files::write_json(
            &self.run.file(GROWTH),
            &GrowthFile {
                problem: self.problem.to_toml(),
                world_sha256: self.world_sha256.clone(),
                numerics: self.options.numerics.to_string(),
                prune: self.options.prune,
                growth: growth.clone(),
            },
        )?;
        // The search that it tells of needs no checkpoint any more.
        self.run.drop_checkpoint()
    }

    fn broken(&self, problem: String) -> Error {
        broken(self.run, CHECKPOINT, problem)
    }
}
