//! Every single fault that a disk can have, and a loss of power at every moment: whatever happens in the middle of a run, its
//! directory can be gone on with, and ends in the same bits.
//!
//! A way of a user is made once, undisturbed. Then it is made again for each operation on its files, which fails; what is told
//! must be an error of the user's, and the way, given again, must end as the first. For kills and losses of power, the way is
//! written down once, and what each moment leaves is put on the disk for the way to go on from. States that differ only in
//! what the clock says are gone on from once.

mod plan;
mod power;
mod tree;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use fpsrl::export::{self, Format, Settings, Target};
use fpsrl::problem::WrittenProblem;
use fpsrl::run::{self, PiOptions, ReportOptions, RunDirectory, TradeOptions, UpdateOptions};
use fpsrl::search::SearchOptions;
use fpsrl::sweep::{ConductOptions, State, Sweep};
use fpsrl::{Error, Progress, Result};
use fpsrl_base::disk;
use plan::{KINDS, Kind, Plan};
use power::{Disk, Loss, Recorder};
use tree::Tree;

/// A tank whose level follows a set-point; its rules grow, and it has a front.
const PROBLEM: &str = r#"name = "tank"
horizon = 5
[[state]]
name = "level"
tracks = "wanted"
integral = true
[[input]]
name = "wanted"
[[action]]
name = "valve"
limits = [0.0, 4.0]
move_cost = 0.05
[data]
file = "log.csv"
[world]
reward = "-abs(level - wanted)"
kind = "ensemble"
layers = 1
neurons = 4
epochs = 2
members = 2
[policy]
rules = "auto"
most_rules = 2
front = true
[search]
optimiser = "swarm"
particles = 4
iterations = 2
start_states = 4
[evaluation]
start_states = 4
"#;

fn log(rows: usize, phase: f64) -> String {
    let mut level = 1.0;
    let mut text = "level,wanted,valve\n".to_owned();
    for row in 0..rows {
        let valve = 2.0 + 1.5 * (row as f64 * 1.7 + phase).sin();
        text += &format!("{level:?},{:?},{valve:?}\n", 1.0 + (row / 10 % 2) as f64);
        level = 0.8 * level + 0.1 * valve;
    }
    text
}

/// A way of a user's: given again after an interruption, it goes on.
struct Way {
    name: &'static str,
    /// What is in the directory before, besides the problem and its log.
    begin: fn(&Path) -> Result<()>,
    go: fn(&Path) -> Result<()>,
}

const WAYS: [Way; 7] = [
    Way { name: "run", begin: |_| Ok(()), go: whole_run },
    Way { name: "export", begin: whole_run, go: export },
    Way { name: "update", begin: whole_run, go: update },
    Way { name: "trade", begin: whole_run, go: trade },
    Way { name: "pi", begin: whole_run, go: pi },
    Way { name: "sweep", begin: |_| Ok(()), go: sweep },
    Way { name: "copy", begin: whole_run, go: copy },
];

fn opened(top: &Path) -> Result<RunDirectory> {
    RunDirectory::open(&top.join("run"))
}

fn options(run: &RunDirectory) -> Result<SearchOptions> {
    Ok(SearchOptions { checkpoint_every: Duration::ZERO, ..SearchOptions::of(&run.problem()?.search, true) })
}

/// As `fpsrl run problem.toml`, or `fpsrl run --resume` where there is a run already.
fn whole_run(top: &Path) -> Result<()> {
    let progress = Progress::silent();
    let path = top.join("run");
    if path.exists() {
        let run = opened(top)?;
        let _lock = run.lock()?;
        run.resume(options(&run)?, &progress)?;
        run.report(&ReportOptions::default(), &progress)?;
    } else {
        let problem = WrittenProblem::read(&top.join("problem.toml"))?.check()?;
        let run = run::generate(&problem, &path, false, &progress)?;
        let _lock = run.lock()?;
        let options = options(&run)?;
        run.fit(&progress)?;
        run.search(options, &progress)?;
        run.evaluate(options, &progress)?;
        run.report(&ReportOptions::default(), &progress)?;
    }
    Ok(())
}

fn export(top: &Path) -> Result<()> {
    let (source, settings, target) = (opened(top)?.source()?, Settings::default(), Target::new(Format::Json));
    let controller = source.controller(&settings)?;
    // What a kill has left has to be replaced.
    let force = Tree::of(top).files.keys().any(|name| name.starts_with("tank."));
    export::deliver(&controller, &source.provenance, false, target, &top.join("tank.json"), force).map(drop)
}

fn update(top: &Path) -> Result<()> {
    if top.join("updated").exists() {
        return RunDirectory::open(&top.join("updated"))?.summary().map(drop);
    }
    let (logs, out) = (vec![top.join("more.csv")], Some(top.join("updated")));
    let options = UpdateOptions { logs, out, no_search: true, ..UpdateOptions::default() };
    let run = opened(top)?;
    let _lock = run.lock()?;
    run.update(&options, &Progress::silent()).map(drop)
}

fn trade(top: &Path) -> Result<()> {
    let run = opened(top)?;
    let _lock = run.lock()?;
    let options = TradeOptions { name: "valve".into(), factors: vec![8.0], effort: None };
    run.trade(&options, &Progress::silent())?;
    run.report(&ReportOptions::default(), &Progress::silent()).map(drop)
}

fn pi(top: &Path) -> Result<()> {
    let run = opened(top)?;
    let _lock = run.lock()?;
    run.pi(&PiOptions { given: None, into: true }, &Progress::silent()).map(drop)
}

fn sweep(top: &Path) -> Result<()> {
    let sweep = Sweep::read(&top.join("sweep.toml"))?;
    // A run whose log could not be read is tried again only if that is asked for.
    let options = ConductOptions { workers: Some(1), threads: Some(1), retry: true };
    sweep.conduct(options, &Progress::silent())?;
    for state in sweep.states()? {
        if let State::Failed(failure) = state {
            let problem = format!("{}: {}", top.display(), failure.message);
            return Err(Error::Elsewhere { problem, remedy: failure.hint.unwrap_or_default().into() });
        }
    }
    Ok(())
}

fn copy(top: &Path) -> Result<()> {
    let to = top.join("copy");
    if to.exists() {
        return RunDirectory::open(&to)?.summary().map(drop);
    }
    opened(top)?.copy_to(&to, false).map(drop)
}

/// A way, where it is made, and how it ends undisturbed.
struct Bench {
    way: Way,
    parent: tempfile::TempDir,
    begin: Tree,
    expected: Tree,
    /// What was gone on from already.
    known: BTreeSet<u64>,
}

impl Bench {
    fn new(name: &str) -> Self {
        let way = WAYS.into_iter().find(|way| way.name == name).unwrap();
        let parent = tempfile::tempdir().unwrap();
        let mut bench = Self { way, parent, begin: Tree::default(), expected: Tree::default(), known: BTreeSet::new() };
        let top = bench.top();
        fs::create_dir(&top).unwrap();
        fs::write(top.join("problem.toml"), PROBLEM).unwrap();
        fs::write(top.join("log.csv"), log(120, 0.0)).unwrap();
        fs::write(top.join("more.csv"), log(60, 0.5)).unwrap();
        let sweep = "problem = 'problem.toml'\nseeds = 2\n[grid]\npolicy.rules = [1]\npolicy.front = [false]\n";
        fs::write(top.join("sweep.toml"), sweep).unwrap();
        (bench.way.begin)(&top).unwrap();
        bench.begin = Tree::of(&top);
        (bench.way.go)(&top).unwrap();
        bench.expected = Tree::of(&top).without_clock();
        bench
    }

    fn top(&self) -> std::path::PathBuf {
        self.parent.path().join("top")
    }

    /// The directory that vanishes.
    fn made(&self) -> std::path::PathBuf {
        self.top().join(if self.way.name == "sweep" { "sweep" } else { "run" })
    }

    /// Goes on from what is there, and compares the end.
    fn ends_the_same(&mut self, told: &str) {
        let mut state = DefaultHasher::new();
        Tree::of(&self.top()).without_clock().hash(&mut state);
        if !self.known.insert(state.finish()) {
            return;
        }
        let watch = disk::watch(&self.top(), Arc::new(Plan::new(None, Path::new("/"))));
        let went = (self.way.go)(&self.top());
        drop(watch);
        if let Err(error) = went {
            panic!("{told}\n  cannot be gone on with: {error}\n  {}", error.hint().unwrap_or_default());
        }
        if let Some(difference) = self.expected.difference(&Tree::of(&self.top()).without_clock()) {
            panic!("{told}\n  ended otherwise: {difference}");
        }
    }

    /// The way with a fault, or with none; returns what was done to files.
    fn go(&self, fault: Option<(usize, Kind)>) -> (Result<()>, Vec<String>) {
        let top = self.top();
        self.begin.put(&top);
        let plan = Arc::new(Plan::new(fault, &self.made()));
        let watch = disk::watch(&top, plan.clone());
        let went = catch_unwind(AssertUnwindSafe(|| (self.way.go)(&top)));
        drop(watch);
        (went.unwrap_or_else(|_| panic!("{}: {fault:?} ended in a panic", self.way.name)), plan.acts())
    }

    /// One fault: what is told of it, and that it costs nothing.
    fn survives(&mut self, at: usize, act: &str, kind: Kind) {
        let told = format!("{}: operation {at}, {act}, fails as {kind:?}", self.way.name);
        let (went, _) = self.go(Some((at, kind)));
        let told = match went {
            // What does not matter may fail unheard, but then everything is there.
            Ok(()) => {
                let difference = self.expected.difference(&Tree::of(&self.top()).without_clock());
                // What could not be removed is removed by the next command.
                let only_left = |part: &str| part.contains(".fpsrl-0.part");
                let is_whole = difference.as_ref().is_none_or(|told| told.split("; ").all(only_left));
                assert!(is_whole || kind == Kind::Vanished, "{told}\n  is not heard, and {difference:?}");
                told
            }
            Err(error) => {
                let (message, hint) = (error.to_string(), error.hint());
                assert!(error.is_users() && hint.is_some(), "{told}\n  is told without a way out: {message}");
                assert!(message.contains(self.top().to_str().unwrap()), "{told}\n  names no file: {message}");
                assert!(!matches!(error, Error::Stopped { .. }), "{told}\n  {message}");
                format!("{told}\n  said: {message}")
            }
        };
        if kind == Kind::Vanished {
            match self.way.name {
                // Whoever took away the sweep takes away what came after it as well.
                "sweep" if !self.made().join("sweep.json").exists() => drop(fs::remove_dir_all(self.made())),
                "run" | "sweep" => {}
                // What the way begins with is gone.
                _ if !self.made().exists() => return,
                _ => {}
            }
        }
        self.ends_the_same(&told);
    }

    /// Each operation fails once, as its nature is, and once in another way, by turns; or in all ways.
    fn survives_faults(&mut self, all: bool) -> usize {
        let (went, acts) = self.go(None);
        went.unwrap();
        let mut points = 0;
        for (at, act) in acts.iter().enumerate() {
            let kinds: Vec<Kind> = KINDS.into_iter().filter(|kind| kind.suits(act)).collect();
            let turn = at % kinds.len();
            let chosen = if all { kinds } else { vec![kinds[turn]] };
            for kind in chosen {
                self.survives(at, act, kind);
                points += 1;
            }
        }
        let mut by_act: BTreeMap<&String, usize> = BTreeMap::new();
        acts.iter().for_each(|act| *by_act.entry(act).or_default() += 1);
        eprintln!("{}: {} operations {by_act:?}, {points} faults", self.way.name, acts.len());
        points
    }

    /// Kills and losses of power after each change of the disk.
    fn survives_power(&mut self) -> usize {
        let top = self.top();
        self.begin.put(&top);
        let recorder = Arc::new(Recorder::default());
        let watch = disk::watch(&top, recorder.clone());
        (self.way.go)(&top).unwrap();
        drop(watch);
        let changes = recorder.changes();
        let mut disk = Disk::new(&top, &self.begin);
        let mut states = 0;
        for (at, change) in changes.iter().enumerate() {
            disk.change(change);
            let seed = at as u64;
            for loss in
                [Loss::Nothing, Loss::Everything, Loss::Contents, Loss::Some(2 * seed), Loss::Some(9_999 + seed)]
            {
                disk.after(loss).put(&top);
                let told = format!("{}: after change {at}, {}, lost: {loss:?}", self.way.name, shown(change));
                self.ends_the_same(&told);
                states += 1;
            }
        }
        let found = Tree::of(&top).without_clock();
        // What the recorder knows is what the disk has.
        disk.after(Loss::Nothing).put(&top);
        let known = Tree::of(&top).without_clock();
        assert_eq!(found.difference(&known), None);
        eprintln!(
            "{}: {} changes, {states} moments, {} states gone on from",
            self.way.name,
            changes.len(),
            self.known.len()
        );
        changes.len()
    }
}

fn shown(change: &power::Change) -> String {
    let told = format!("{change:?}");
    told.chars().take(160).collect()
}

fn faults(name: &str) {
    assert!(Bench::new(name).survives_faults(false) > 10);
}

#[test]
fn every_fault_of_a_run_is_told_and_costs_nothing() {
    assert!(Bench::new("run").survives_faults(false) > 200);
}

#[test]
fn a_loss_of_power_at_any_moment_of_a_run_costs_nothing() {
    assert!(Bench::new("run").survives_power() > 100);
}

#[test]
fn every_fault_of_an_export_a_copy_or_a_pi_controller_is_told_and_costs_nothing() {
    ["export", "copy", "pi"].into_iter().for_each(faults);
}

#[test]
fn every_fault_of_an_update_is_told_and_costs_nothing() {
    faults("update");
}

#[test]
fn every_fault_of_a_trade_is_told_and_costs_nothing() {
    faults("trade");
}

#[test]
fn every_fault_of_a_sweep_is_told_and_costs_nothing() {
    faults("sweep");
}

#[test]
fn a_loss_of_power_at_any_moment_of_anything_else_costs_nothing() {
    for name in ["export", "update", "trade", "pi", "copy"] {
        assert!(Bench::new(name).survives_power() > 5);
    }
}

/// Minutes, where the tests above take seconds: `cargo test --release -p fpsrl --test faults -- --ignored`.
#[test]
#[ignore = "takes minutes; every operation fails in every way"]
fn every_fault_of_every_kind_is_told_and_costs_nothing() {
    let points: usize = WAYS.iter().map(|way| Bench::new(way.name).survives_faults(true)).sum();
    eprintln!("{points} faults in all");
    Bench::new("sweep").survives_power();
}
