//! The runs of a sweep on the cores of this machine: several at a time, each in threads of its own.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use fpsrl_base::disk;
use fpsrl_base::error::{Error, Result};
use fpsrl_base::files;
use serde::Serialize;

use super::execute::{Failure, Outcome};
use super::gather::Gathered;
use super::plan::{PlannedRun, Sweep};
use super::state::{Digests, State, json};
use crate::progress::{Event, Notice, Progress, Stage, Status};
use crate::run::{Lock, SWEEP, remove_leftovers};
use crate::stage::Cluster;

/// How finely the progress of a run counts.
const FINE: u64 = 1_000;

/// Of each stage of a run: what share of its time is over when it begins, and how much it takes. A guess, for a bar.
const SHARES: [(Stage, f64, f64); 7] = [
    (Stage::Import, 0.0, 0.02),
    (Stage::Generate, 0.0, 0.02),
    (Stage::Fit, 0.02, 0.38),
    (Stage::Search, 0.4, 0.45),
    (Stage::Front, 0.85, 0.03),
    (Stage::Evaluate, 0.88, 0.02),
    (Stage::Ceiling, 0.9, 0.08),
];

/// How the runs of a sweep are made; nothing here changes a result.
///
/// ```
/// use fpsrl::sweep::ConductOptions;
/// let options = ConductOptions { workers: Some(2), ..ConductOptions::default() };
/// assert!(!options.retry);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConductOptions {
    /// Runs at a time; none takes what the sweep says, or as many as there are threads.
    pub workers: Option<usize>,
    /// Threads of all runs together, which share them out evenly; none takes the machine's cores.
    pub threads: Option<usize>,
    /// Whether runs that have failed are tried again.
    pub retry: bool,
}

/// `sweep.json`: the plan, and what has come of each run.
#[derive(Serialize)]
struct Written<'a> {
    sweep: String,
    version: &'static str,
    varied: &'a [String],
    runs: Vec<WrittenRun<'a>>,
}

/// A run of `sweep.json`.
#[derive(Serialize)]
struct WrittenRun<'a> {
    name: &'a str,
    point: &'a str,
    settings: serde_json::Value,
    seed: u64,
    log: Option<&'a str>,
    draw: Option<u32>,
    outcome: &'static str,
    promise: Option<f64>,
    true_return: Option<f64>,
    verdict: Option<String>,
    failure: Option<&'a Failure>,
}

/// A cluster that makes whole runs, too.
pub trait SweepCluster: Cluster {
    /// Makes runs of a sweep. With `shared`, the machines see its directory as this one does; else runs are sent to them, and come
    /// back finished. `done` hears of each by its place, when it is finished or its failure is kept.
    fn sweeping(
        &self,
        sweep: &Sweep,
        runs: &[&PlannedRun],
        shared: bool,
        progress: &Progress,
        done: &dyn Fn(usize) -> Result<()>,
    ) -> Result<()>;
}

impl Sweep {
    /// Makes the directory of the runs, and says how each of them stands. Refused where the directory holds something else, or runs
    /// of the same names with other settings.
    pub fn begin(&self) -> Result<Vec<State>> {
        self.begin_with(&Digests::default())
    }

    fn begin_with(&self, digests: &Digests) -> Result<Vec<State>> {
        let directory = self.directory();
        let unread = |source| Error::read(directory, source);
        match disk::entries(directory) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(source) => return Err(unread(source)),
            Ok(entries) => {
                let ours = disk::exists(&directory.join(SWEEP)).map_err(unread)?;
                let other = |name: &str| !files::is_leftover(name) && name != super::frames::LOGS;
                let name = |entry: &PathBuf| entry.file_name().and_then(|name| name.to_str()).is_none_or(other);
                if !ours && entries.iter().any(name) {
                    let problem = "there is something else in it already".into();
                    let remedy = "choose another directory: runs = \"…\"; or empty this one".into();
                    let other = self.path().to_owned();
                    return Err(Error::Mismatch { path: directory.to_owned(), other, problem, remedy });
                }
            }
        }
        let states = self.states_with(digests)?;
        disk::make_directories(directory).map_err(|source| Error::write(directory, source))?;
        // It is there before any run is, so that whoever makes one knows where it is.
        if !disk::exists(&directory.join(SWEEP)).map_err(unread)? {
            self.write_plan(&states)?;
        }
        Ok(states)
    }

    /// How each run stands; nothing is made.
    pub fn states(&self) -> Result<Vec<State>> {
        self.states_with(&Digests::default())
    }

    fn states_with(&self, digests: &Digests) -> Result<Vec<State>> {
        self.runs().iter().map(|run| self.state_with(run, digests)).collect()
    }

    /// Writes `sweep.json`.
    pub(super) fn write_plan(&self, states: &[State]) -> Result<()> {
        let text = plan_as_json(self, states)?;
        files::write_atomically(&self.directory().join(SWEEP), |file| file.write_all(text.as_bytes()))
    }

    /// Makes every run that is neither finished nor known to fail, several at a time, and gathers all of them.
    ///
    /// Failures are kept and stop nothing. Work that is stopped can go on with the same call.
    pub fn conduct(&self, options: ConductOptions, progress: &Progress) -> Result<Gathered> {
        let ConductOptions { workers, threads, retry } = options;
        let cores = threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from)).max(1);
        self.conducted(retry, progress, |left, digests, board| {
            let workers = workers.or(self.workers()).unwrap_or(cores).clamp(1, left.len());
            let threads = (cores / workers).max(1);
            let (next, fault) = (AtomicUsize::new(0), Mutex::new(None));
            let conductor = Conductor { sweep: self, left, next, retry, digests, board, threads, fault };
            std::thread::scope(|scope| {
                for _ in 0..workers {
                    scope.spawn(|| conductor.work(progress));
                }
            });
            match conductor.fault.into_inner().unwrap_or_else(PoisonError::into_inner) {
                Some(error) => Err(error),
                None => Ok(()),
            }
        })
    }

    /// The same on other machines. With `shared`, they see the directory of the runs as this machine does, and work in it; else each
    /// is sent its run, and sends it back when it is finished.
    pub fn conduct_on(
        &self,
        cluster: &dyn SweepCluster,
        retry: bool,
        shared: bool,
        progress: &Progress,
    ) -> Result<Gathered> {
        self.conducted(retry, progress, |left, digests, board| {
            cluster.sweeping(self, left, shared, progress, &|index: usize| {
                let Some(run) = left.get(index) else { return Ok(()) };
                let outcome = match self.state_with(run, digests)? {
                    State::Finished(_) => Outcome::Finished { now: true },
                    State::Failed(failure) => Outcome::Failed(failure),
                    State::Pending | State::Begun => Outcome::Elsewhere,
                };
                board.done(index, run, &outcome, progress);
                Ok(())
            })
        })
    }

    /// Makes what is left by some work, and gathers everything.
    fn conducted(
        &self,
        retry: bool,
        progress: &Progress,
        work: impl FnOnce(&[&PlannedRun], &Digests, &Arc<Board>) -> Result<()>,
    ) -> Result<Gathered> {
        let digests = Digests::default();
        let states = self.begin_with(&digests)?;
        let _lock = Lock::of(self.directory())?;
        remove_leftovers(self.directory());
        let mut left: Vec<&PlannedRun> =
            self.runs().iter().zip(&states).filter(|(_, state)| is_left(state, retry)).map(|(run, _)| run).collect();
        // The first seed of every point comes before the second one: what is there early says something of all points.
        left.sort_by_key(|run| run.replicate);
        let board = Arc::new(Board::new(&states, retry, progress));
        if !left.is_empty() {
            progress.begin(Stage::Sweep, left.len() as u64 * FINE);
            work(&left, &digests, &board)?;
            progress.end(Stage::Sweep);
        }
        // What was finished before is as it was.
        let stand = |(run, state): (&PlannedRun, State)| match is_left(&state, retry) {
            true => self.state_with(run, &digests),
            false => Ok(state),
        };
        let states = self.runs().iter().zip(states).map(stand).collect::<Result<Vec<State>>>()?;
        let gathered = self.gather_from(states)?;
        gathered.write()?;
        Ok(gathered)
    }
}

/// The plan of a sweep and how each run stands, as `sweep.json` has them.
pub fn plan_as_json(sweep: &Sweep, states: &[State]) -> Result<String> {
    let runs = sweep.runs().iter().zip(states).map(|(run, state)| {
        let (outcome, failure, summary) = match state {
            State::Pending => ("pending", None, None),
            State::Begun => ("begun", None, None),
            State::Failed(failure) => ("failed", Some(failure), None),
            State::Finished(summary) => ("finished", None, Some(summary)),
        };
        WrittenRun {
            name: &run.name,
            point: &run.point,
            settings: json(&run.settings),
            seed: run.seed,
            log: run.log.as_deref(),
            draw: run.draw,
            outcome,
            promise: summary.and_then(|summary| summary.promise.as_ref()).map(|promise| promise.mean),
            true_return: summary.and_then(|summary| summary.true_return),
            verdict: summary.and_then(|summary| summary.verdict.as_ref()).map(|verdict| verdict.word.to_string()),
            failure,
        }
    });
    let name = sweep.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
    let written =
        Written { sweep: name, version: env!("CARGO_PKG_VERSION"), varied: sweep.varied(), runs: runs.collect() };
    files::to_json(&written)
}

/// Whether a run is still to be made.
pub(super) fn is_left(state: &State, retry: bool) -> bool {
    match state {
        State::Pending | State::Begun => true,
        State::Failed(_) => retry,
        State::Finished(_) => false,
    }
}

/// What the workers share.
struct Conductor<'a> {
    sweep: &'a Sweep,
    left: &'a [&'a PlannedRun],
    next: AtomicUsize,
    retry: bool,
    digests: &'a Digests,
    board: &'a Arc<Board>,
    threads: usize,
    /// What ends the whole sweep.
    fault: Mutex<Option<Error>>,
}

impl Conductor<'_> {
    /// Makes one run after another until none is left.
    fn work(&self, progress: &Progress) {
        let threads = rayon::ThreadPoolBuilder::new().num_threads(self.threads).build();
        let Ok(pool) = threads else {
            self.stop(Error::Internal("the system gives no more threads"));
            return;
        };
        while !progress.stop_requested() && !self.is_over() {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(run) = self.left.get(index) else { return };
            let own = Board::listen(self.board, index, progress);
            let outcome = pool.install(|| self.sweep.execute_with(run, self.retry, self.digests, &own));
            match outcome {
                Ok(outcome) => self.board.done(index, run, &outcome, progress),
                Err(error) => self.stop(error),
            }
        }
        if progress.stop_requested() {
            self.stop(Error::Stopped { stage: "sweep" });
        }
    }

    fn is_over(&self) -> bool {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    fn stop(&self, error: Error) {
        let error = match error {
            Error::Stopped { .. } => Error::Stopped { stage: "sweep" },
            other => other,
        };
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }
}

/// One progress for all runs.
struct Board {
    of: usize,
    finished: AtomicUsize,
    failed: AtomicUsize,
    /// Of each run that is left: how much of it is done.
    done: Mutex<HashMap<usize, u64>>,
    whole: Progress,
}

impl Board {
    fn new(states: &[State], retry: bool, progress: &Progress) -> Self {
        let finished = states.iter().filter(|state| matches!(state, State::Finished(_))).count();
        let failed = states.iter().filter(|state| matches!(state, State::Failed(_)) && !retry).count();
        Self {
            of: states.len(),
            finished: AtomicUsize::new(finished),
            failed: AtomicUsize::new(failed),
            done: Mutex::default(),
            whole: progress.clone(),
        }
    }

    /// What one run reports to: it moves the bar of all.
    fn listen(board: &Arc<Self>, index: usize, progress: &Progress) -> Progress {
        let board = Arc::clone(board);
        let total = Mutex::new(1);
        let listener = move |event: &Event| match event {
            Event::Began { total: own, .. } => *total.lock().unwrap_or_else(PoisonError::into_inner) = (*own).max(1),
            Event::Advanced { stage, done, .. } => {
                let Some((_, begins, takes)) = SHARES.iter().find(|(known, _, _)| known == stage) else { return };
                let total = *total.lock().unwrap_or_else(PoisonError::into_inner);
                let share = begins + takes * (*done as f64 / total as f64).min(1.0);
                board.advance(index, (share * FINE as f64) as u64);
            }
            // Notices of a hundred runs are noise; each run's report has its own.
            _ => {}
        };
        Progress::new(listener).stopped_by(&progress.stop())
    }

    fn advance(&self, index: usize, to: u64) {
        let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        let known = done.entry(index).or_insert(0);
        if to <= *known {
            return;
        }
        *known = to;
        let sum = done.values().sum();
        // The lock is held, so that the bar never goes back.
        self.whole.update(Stage::Sweep, sum, self.status());
    }

    fn status(&self) -> Status {
        let [finished, failed] = [&self.finished, &self.failed].map(|count| count.load(Ordering::Relaxed));
        Status::Runs { finished, failed, of: self.of }
    }

    fn done(&self, index: usize, run: &PlannedRun, outcome: &Outcome, progress: &Progress) {
        match outcome {
            Outcome::Finished { .. } => {
                self.finished.fetch_add(1, Ordering::Relaxed);
            }
            Outcome::Failed(failure) => {
                self.failed.fetch_add(1, Ordering::Relaxed);
                progress.notice(Notice::Turning(format!("{} has failed: {}", run.name, failure.message)));
            }
            Outcome::Elsewhere => {
                let told = format!("{} is left out: another process is making it", run.name);
                progress.notice(Notice::Turning(told));
            }
        }
        self.advance(index, FINE);
    }
}
