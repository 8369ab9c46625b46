//! What the runs of a sweep say together: gathered from their directories, as a table and as a page.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use fpsrl_base::error::Result;
use fpsrl_base::files;
use fpsrl_report::sweep::{FailedRun, SweepFindings, SweepRun, Varied, WhatVaries, sweep_page};

use super::conduct::plan_as_json;
use super::execute::Failure;
use super::name;
use super::plan::{PlannedRun, Sweep};
use super::state::State;
use super::table::{Cell, Table};
use crate::explain::{self, DataProfile};
use crate::policy::FuzzyPolicy;
use crate::run::{REPORT, RunDirectory, Summary};

/// The files that a sweep leaves beside its runs.
const TABLE: &str = "table.csv";
#[cfg(feature = "parquet")]
const PACKED: &str = "table.parquet";
const PAGE: &str = "sweep.html";

/// A sweep with what has come of its runs.
pub struct Gathered {
    sweep: Sweep,
    runs: Vec<GatheredRun>,
    what: WhatVaries,
    findings: SweepFindings,
    /// Of each finished run: its place among all.
    finished: Vec<usize>,
}

/// A run with what has come of it.
#[derive(Clone, Debug)]
pub struct GatheredRun {
    /// What was planned.
    pub planned: PlannedRun,
    /// How it stands.
    pub state: State,
    /// Its rules, if it is finished.
    pub policy: Option<FuzzyPolicy>,
}

impl GatheredRun {
    /// Its figures, if it is finished.
    pub fn summary(&self) -> Option<&Summary> {
        match &self.state {
            State::Finished(summary) => Some(summary),
            _ => None,
        }
    }

    /// Why it has failed, if it has.
    pub fn failure(&self) -> Option<&Failure> {
        match &self.state {
            State::Failed(failure) => Some(failure),
            _ => None,
        }
    }

    /// How it stands, in a word.
    pub fn word(&self) -> &'static str {
        match &self.state {
            State::Pending => "pending",
            State::Begun => "begun",
            State::Failed(_) => "failed",
            State::Finished(_) => "finished",
        }
    }
}

/// Whether a setting changes what a return is, so that returns under different values of it cannot be compared.
fn changes_returns(path: &str) -> bool {
    let of_a_variable = ["start", "data_start", "keep", "keep_price", "keep_hard", "move_cost", "tracks"];
    let end = path.rsplit('.').next().unwrap_or(path);
    match path.split_once('.') {
        None => ["horizon", "discount_q", "start", "plant"].contains(&path),
        Some(("data", key)) => ["reward", "reward_belongs_to", "interval"].contains(&key),
        Some(("world", key)) => ["reward", "terminal", "process"].contains(&key),
        Some(("objective", _)) => true,
        Some(("state" | "input" | "action", _)) => of_a_variable.contains(&end),
        _ => false,
    }
}

impl Sweep {
    /// Reads what the directories of the runs hold. Nothing is made.
    pub fn gather(&self) -> Result<Gathered> {
        self.gather_from(self.states()?)
    }

    pub(super) fn gather_from(&self, states: Vec<State>) -> Result<Gathered> {
        let mut profiles: HashMap<Vec<String>, Arc<DataProfile>> = HashMap::new();
        let factors = self.factors();
        let mut what = WhatVaries {
            seeds: distinct(self.runs().iter().map(|run| Some(run.seed))),
            draws: distinct(self.runs().iter().map(|run| run.draw)),
            factors,
            ..WhatVaries::default()
        };
        let (mut runs, mut finished) = (Vec::new(), Vec::new());
        let mut kinds_of_return: Vec<String> = Vec::new();
        for (planned, state) in self.runs().iter().zip(states) {
            let levels = self.levels(&what.factors, planned);
            let mut policy = None;
            match &state {
                State::Finished(summary) => {
                    let directory = RunDirectory::open(&self.place(planned))?;
                    let problem = directory.problem()?;
                    let rules = directory.policy(&problem)?;
                    let names: Vec<String> = problem.system.states().iter().map(|state| state.name.clone()).collect();
                    let profile = match profiles.get(&names) {
                        Some(known) => Arc::clone(known),
                        None => {
                            let log = directory.transitions(&problem)?;
                            let profile = Arc::new(DataProfile::new(&problem.system, &log));
                            profiles.insert(names, Arc::clone(&profile));
                            profile
                        }
                    };
                    let returns_are = explain::what_returns_are(&problem.system);
                    if !kinds_of_return.contains(&returns_are) {
                        kinds_of_return.push(returns_are);
                    }
                    if what.title.is_empty() {
                        what.title = problem.system.name().to_owned();
                    }
                    finished.push(runs.len());
                    what.runs.push(of_run(planned, summary, levels, &rules, profile));
                    policy = Some(rules);
                }
                State::Failed(failure) => what.failures.push(FailedRun {
                    name: planned.name.clone(),
                    point: planned.point.clone(),
                    levels,
                    message: failure.message.clone(),
                    hint: failure.hint.clone(),
                }),
                State::Pending | State::Begun => what.pending.push(planned.name.clone()),
            }
            runs.push(GatheredRun { planned: planned.clone(), state, policy });
        }
        if what.title.is_empty() {
            let problem = self.runs().first().and_then(|run| self.problem(run).ok());
            what.title = problem.map_or_else(|| "sweep".into(), |problem| problem.system.name().to_owned());
        }
        if let [one] = kinds_of_return.as_slice() {
            what.returns_are.clone_from(one);
        }
        let findings = SweepFindings::of(&what);
        Ok(Gathered { sweep: self.clone(), runs, what, findings, finished })
    }

    /// What is varied, with the values of each in the order of the plan.
    fn factors(&self) -> Vec<Varied> {
        let mut factors: Vec<Varied> = self
            .varied()
            .iter()
            .map(|path| Varied { key: path.clone(), values: Vec::new(), changes_returns: changes_returns(path) })
            .collect();
        if self.runs().iter().any(|run| run.log.is_some()) {
            factors.push(Varied { key: "log".into(), values: Vec::new(), changes_returns: false });
        }
        let mut known: Vec<HashMap<String, ()>> = vec![HashMap::new(); factors.len()];
        for run in self.runs() {
            for (factor, known) in factors.iter_mut().zip(&mut known) {
                let value = self.value(&factor.key, run);
                if known.insert(value.clone(), ()).is_none() {
                    factor.values.push(value);
                }
            }
        }
        factors
    }

    /// The value of a factor in a run, in words.
    fn value(&self, key: &str, run: &PlannedRun) -> String {
        if key == "log" && run.log.is_some() {
            return run.log.clone().unwrap_or_default();
        }
        match run.settings.iter().find(|(path, _)| path == key) {
            Some((_, value)) => name::told(value),
            None => self.base_value(key).unwrap_or_else(|| "its default".into()),
        }
    }

    fn levels(&self, factors: &[Varied], run: &PlannedRun) -> Vec<usize> {
        let level = |factor: &Varied| {
            let value = self.value(&factor.key, run);
            factor.values.iter().position(|known| *known == value).unwrap_or(0)
        };
        factors.iter().map(level).collect()
    }
}

fn distinct<T: Ord>(values: impl Iterator<Item = Option<T>>) -> usize {
    values.flatten().collect::<std::collections::BTreeSet<T>>().len()
}

fn of_run(
    planned: &PlannedRun,
    summary: &Summary,
    levels: Vec<usize>,
    policy: &FuzzyPolicy,
    profile: Arc<DataProfile>,
) -> SweepRun {
    let promise = summary.promise.as_ref();
    SweepRun {
        name: planned.name.clone(),
        link: format!("{}/{REPORT}", planned.name),
        point: planned.point.clone(),
        levels,
        seed: planned.seed,
        draw: planned.draw,
        promise: promise.map_or(f64::NAN, |promise| promise.mean),
        interval: promise.map_or([f64::NAN; 2], |promise| promise.interval),
        true_return: summary.true_return,
        verdict: summary.verdict.as_ref().map_or_else(String::new, |verdict| verdict.word.to_string()),
        holds: promise.and_then(|promise| promise.holds),
        policy: policy.clone(),
        profile,
    }
}

impl Gathered {
    /// The sweep.
    pub fn sweep(&self) -> &Sweep {
        &self.sweep
    }

    /// Every run with what has come of it, in the order of the plan.
    pub fn runs(&self) -> &[GatheredRun] {
        &self.runs
    }

    /// What the runs say together.
    pub fn findings(&self) -> &SweepFindings {
        &self.findings
    }

    /// What is varied, and the finished runs as the findings count them.
    pub fn what_varies(&self) -> &WhatVaries {
        &self.what
    }

    /// The run that promises most, of those that nobody refuses.
    pub fn best(&self) -> Option<&GatheredRun> {
        self.runs.get(*self.finished.get(self.findings.best?)?)
    }

    /// The failures, in the order of the plan.
    pub fn failures(&self) -> impl Iterator<Item = &Failure> {
        self.runs.iter().filter_map(GatheredRun::failure)
    }

    /// A row for each run: what it is, and its figures.
    pub fn table(&self) -> Table {
        let mut columns: Vec<(String, Vec<Cell>)> = Vec::new();
        let mut column = |name: &str, cell: &dyn Fn(&GatheredRun) -> Cell| {
            columns.push((name.to_owned(), self.runs.iter().map(cell).collect()));
        };
        column("run", &|run| Some(run.planned.name.as_str()).into());
        for path in self.sweep.varied() {
            column(path, &|run| {
                run.planned.settings.iter().find(|(key, _)| key == path).map(|(_, value)| value).into()
            });
        }
        column("log", &|run| run.planned.log.as_deref().into());
        column("draw", &|run| run.planned.draw.map(|draw| draw as usize).into());
        column("seed", &|run| Cell::Count(i64::try_from(run.planned.seed).unwrap_or(i64::MAX)));
        column("outcome", &|run| Some(run.word()).into());
        let mut figure = |name: &str, of: &dyn Fn(&Summary) -> Cell| {
            column(name, &|run| run.summary().map_or(Cell::Empty, of));
        };
        figure("verdict", &|one| one.verdict.as_ref().map(|verdict| verdict.word.to_string()).as_deref().into());
        figure("promise", &|one| one.promise.as_ref().map(|promise| promise.mean).into());
        figure("promise_low", &|one| one.promise.as_ref().map(|promise| promise.interval[0]).into());
        figure("promise_high", &|one| one.promise.as_ref().map(|promise| promise.interval[1]).into());
        figure("judge", &|one| one.promise.as_ref().and_then(|promise| promise.rescored).into());
        figure("holds", &|one| one.promise.as_ref().and_then(|promise| promise.holds).into());
        figure("true_return", &|one| one.true_return.into());
        figure("promise_kept", &|one| one.promise_kept.into());
        figure("gain", &|one| one.gain.as_ref().map(|gain| gain.gain).into());
        figure("gain_low", &|one| one.gain.as_ref().map(|gain| gain.interval[0]).into());
        figure("gain_high", &|one| one.gain.as_ref().map(|gain| gain.interval[1]).into());
        figure("model_return", &|one| one.model_return.into());
        figure("ceiling", &|one| one.ceiling.map(|ceiling| ceiling.ceiling).into());
        figure("rules", &|one| Some(one.rules).into());
        column("conditions", &|run| run.policy.as_ref().map(|policy| policy.conditions().len()).into());
        let mut figure = |name: &str, of: &dyn Fn(&Summary) -> Cell| {
            column(name, &|run| run.summary().map_or(Cell::Empty, of));
        };
        let needed =
            |one: &Summary| one.simple.as_ref().map(|simple| simple.conditions - simple.removed.min(simple.conditions));
        figure("needed_conditions", &|one| needed(one).into());
        figure("samples", &|one| Some(one.samples).into());
        figure("seconds", &|one| Some(one.seconds.0.iter().map(|(_, seconds)| seconds).sum::<f64>()).into());
        column("message", &|run| run.failure().map(|failure| failure.message.as_str()).into());
        Table { columns }
    }

    /// The page.
    pub fn page(&self) -> String {
        sweep_page(&self.what, &self.findings)
    }

    /// Writes `table.csv`, `table.parquet`, `sweep.html` and `sweep.json` beside the runs, each whole or not at all.
    pub fn write(&self) -> Result<()> {
        let directory = self.sweep.directory();
        let table = self.table();
        table.write(&directory.join(TABLE))?;
        #[cfg(feature = "parquet")]
        table.write(&directory.join(PACKED))?;
        self.write_page(&directory.join(PAGE))?;
        self.sweep.write_plan(&self.states())
    }

    /// The plan and what has come of it, as `sweep.json` has them.
    pub fn to_json(&self) -> Result<String> {
        plan_as_json(&self.sweep, &self.states())
    }

    fn states(&self) -> Vec<State> {
        self.runs.iter().map(|run| run.state.clone()).collect()
    }

    /// Writes the page to a file. Its links lead to the runs from where the page of the sweep itself is.
    pub fn write_page(&self, path: &Path) -> Result<()> {
        let page = self.page();
        files::write_atomically(path, |file| file.write_all(page.as_bytes()))
    }
}
