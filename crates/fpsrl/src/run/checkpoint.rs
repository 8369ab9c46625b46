//! Checkpoints: what a search under way leaves behind every few seconds, so that a kill costs seconds and no result.
//!
//! `checkpoint.csv` grows by the rows of `search.csv`; `checkpoint.json` holds the swarm and says how many of those
//! rows belong to it. Rows are on the disk before the swarm that counts on them, and rows beyond its count are dropped
//! on the way back: so every moment of a kill leaves a whole checkpoint, the new one or the one before.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::directory::{CHECKPOINT, CHECKPOINT_ROWS, RunDirectory, WORLD, remove};
use super::stages::{SEARCH_HEADER, search_row};
use crate::error::{Error, Result};
use crate::files;
use crate::optimiser::Optimiser;
use crate::problem::{Problem, WrittenProblem};
use crate::search::{Evaluator, Search, SearchOptions, SearchRecord, SearchState};

/// One part in so many of the time may go into writing: a checkpoint that took long is followed by a longer pause.
const SHARE: u32 = 200;

/// A checkpoint that has been read back.
pub(super) struct Checkpoint {
    /// The problem that is being searched; its file may still be an older one.
    pub(super) problem: Problem,
    /// Where the search stands, to whoever searches.
    state: serde_json::Value,
    /// What it has recorded.
    pub(super) history: Vec<SearchRecord>,
    world_sha256: String,
    numerics: String,
    prune: bool,
}

/// What `checkpoint.json` holds.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CheckpointFile {
    problem: String,
    world_sha256: String,
    numerics: String,
    prune: bool,
    rows: usize,
    state: serde_json::Value,
}

impl Checkpoint {
    /// The checkpoint of a run, if it has one.
    pub(super) fn read(run: &RunDirectory) -> Result<Option<Self>> {
        let path = run.file(CHECKPOINT);
        if !path.try_exists().map_err(|source| Error::read(&path, source))? {
            return Ok(None);
        }
        let file: CheckpointFile = files::read_json(&path)?;
        let broken = |problem: String| Self::broken(run, problem);
        let problem = run.with_starts(WrittenProblem::parse(&file.problem, &path)?.check()?)?;
        let rows_path = run.file(CHECKPOINT_ROWS);
        let mut reader = csv::Reader::from_path(&rows_path).map_err(|error| broken(error.to_string()))?;
        let history: Vec<SearchRecord> = reader.deserialize().take(file.rows).filter_map(|row| row.ok()).collect();
        let whole =
            history.len() == file.rows && history.iter().enumerate().all(|(index, record)| record.iteration == index);
        if !whole {
            return Err(broken(format!(
                "{} does not hold the {} rows that belong to it",
                rows_path.display(),
                file.rows
            )));
        }
        let CheckpointFile { world_sha256, numerics, prune, state, .. } = file;
        Ok(Some(Self { problem, state, history, world_sha256, numerics, prune }))
    }

    /// The search as it stood, if the state can be one of its problem.
    pub(super) fn state<S: DeserializeOwned>(&self, run: &RunDirectory) -> Result<SearchState<S>> {
        SearchState::deserialize(&self.state).map_err(|error| Self::broken(run, error.to_string()))
    }

    /// The checkpoint cannot be gone on from.
    pub(super) fn broken(run: &RunDirectory, problem: String) -> Error {
        Error::Malformed {
            path: run.file(CHECKPOINT),
            line: None,
            column: None,
            problem,
            hint: format!("start the search anew with `fpsrl search {}`", run.path().display()),
        }
    }

    /// The options that the search began with, if this machine and the files still allow them.
    pub(super) fn options(&self, run: &RunDirectory, checkpoint_every: Duration) -> Result<SearchOptions> {
        let options = SearchOptions { checkpoint_every, ..SearchOptions::of(&self.problem.search, self.prune) };
        let mismatch = |other: &str, problem: String| {
            let hint = format!("start the search anew with `fpsrl search {}`", run.path().display());
            Err(Error::Mismatch { path: run.file(CHECKPOINT), other: run.file(other), problem, hint })
        };
        if options.numerics.to_string() != self.numerics {
            let problem =
                format!("the search began with {}, and this machine computes {}", self.numerics, options.numerics);
            return mismatch(CHECKPOINT, problem);
        }
        if files::sha256(&run.file(WORLD))? != self.world_sha256 {
            return mismatch(WORLD, "the search began on another world model".into());
        }
        Ok(options)
    }
}

/// Writes the checkpoints of one search.
pub(super) struct CheckpointWriter<'a> {
    run: &'a RunDirectory,
    problem: String,
    world_sha256: String,
    options: SearchOptions,
    /// `checkpoint.csv`, once there is something to write into it.
    rows: Option<BufWriter<File>>,
    written: usize,
    due: Instant,
}

impl<'a> CheckpointWriter<'a> {
    /// For a search that begins; the checkpoint of an earlier one goes.
    pub(super) fn begin(run: &'a RunDirectory, problem: &Problem, options: SearchOptions) -> Result<Self> {
        remove(&run.file(CHECKPOINT))?;
        remove(&run.file(CHECKPOINT_ROWS))?;
        Self::new(run, problem, options)
    }

    /// For a search that goes on.
    pub(super) fn go_on(
        run: &'a RunDirectory,
        problem: &Problem,
        options: SearchOptions,
        from: &Checkpoint,
    ) -> Result<Self> {
        let mut writer = Self::new(run, problem, options)?;
        writer.begin_rows(&from.history)?;
        Ok(writer)
    }

    /// Begins `checkpoint.csv` with the rows that count, which drops whatever a kill left behind them.
    fn begin_rows(&mut self, rows: &[SearchRecord]) -> Result<()> {
        let path = self.run.file(CHECKPOINT_ROWS);
        files::write_atomically(&path, |file| {
            writeln!(file, "{SEARCH_HEADER}")?;
            rows.iter().try_for_each(|row| writeln!(file, "{}", search_row(row)))
        })?;
        let file = OpenOptions::new().append(true).open(&path).map_err(|source| Error::write(&path, source))?;
        self.rows = Some(BufWriter::new(file));
        self.written = rows.len();
        Ok(())
    }

    fn new(run: &'a RunDirectory, problem: &Problem, options: SearchOptions) -> Result<Self> {
        Ok(Self {
            run,
            problem: problem.to_toml(),
            world_sha256: files::sha256(&run.file(WORLD))?,
            options,
            rows: None,
            written: 0,
            due: Instant::now() + options.checkpoint_every,
        })
    }

    /// Writes a checkpoint if the last one is old enough.
    pub(super) fn save_if_due<O: Optimiser, E: Evaluator>(&mut self, search: &Search<'_, O, E>) -> Result<()> {
        if Instant::now() < self.due {
            return Ok(());
        }
        let began = Instant::now();
        self.save(search)?;
        let every = self.options.checkpoint_every;
        // Who asks for a checkpoint after each iteration gets it, whatever it costs.
        let pause = if every.is_zero() { every } else { every.max(began.elapsed() * SHARE) };
        self.due = Instant::now() + pause;
        Ok(())
    }

    /// Writes a checkpoint now.
    pub(super) fn save<O: Optimiser, E: Evaluator>(&mut self, search: &Search<'_, O, E>) -> Result<()> {
        let history = search.history();
        if history.is_empty() {
            return Ok(());
        }
        match &mut self.rows {
            None => self.begin_rows(history)?,
            Some(rows) => {
                let mut append = || {
                    for row in &history[self.written..] {
                        writeln!(rows, "{}", search_row(row))?;
                    }
                    rows.flush()?;
                    rows.get_ref().sync_data()
                };
                append().map_err(|source| Error::write(&self.run.file(CHECKPOINT_ROWS), source))?;
                self.written = history.len();
            }
        }
        let state =
            serde_json::to_value(search.state()).map_err(|_| Error::Internal("a search could not be written down"))?;
        files::write_json(
            &self.run.file(CHECKPOINT),
            &CheckpointFile {
                problem: self.problem.clone(),
                world_sha256: self.world_sha256.clone(),
                numerics: self.options.numerics.to_string(),
                prune: self.options.prune,
                rows: history.len(),
                state,
            },
        )
    }
}
