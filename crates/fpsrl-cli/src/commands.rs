//! The verbs: each calls the library's stages and prints what came out.

mod operators;
mod report;
mod sweep;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use fpsrl::problem::{OptimiserKind, Problem, WrittenProblem};
use fpsrl::reproduce::Reproduction;
use fpsrl::run::{self, RunDirectory};
use fpsrl::run::{REPORT, ReportOptions};
use fpsrl::search::SearchOptions;
use fpsrl::stage::Cluster;
use fpsrl::world::process::Permission;

use crate::arguments::{
    Arguments, EvaluateArguments, Existing, FitArguments, Machines, Manner, New, NfqArguments, ReproduceArguments,
    RunArguments, SearchArguments, Verb,
};
use crate::exports;
use crate::own_log;
use crate::progress::Bars;
use crate::table;
use crate::terminal::{self, argument};
use crate::trust;
use crate::{Failure, Host};

/// Does what the arguments say.
pub fn execute(arguments: &Arguments, host: &dyn Host) -> Result<(), Failure> {
    match &arguments.verb {
        Verb::Run(arguments) => match &arguments.resume {
            Some(directory) => resume(directory, arguments, host),
            None => run_all(arguments, host),
        },
        Verb::Init(arguments) => own_log::draft(arguments),
        Verb::Check(arguments) => own_log::check(arguments),
        Verb::Generate(new) => {
            let planned = Planned::of(new)?;
            let bars = begin(&new.manner);
            let run = planned.generate(&bars)?;
            finish(&run, &new.manner, &bars)
        }
        Verb::Fit(FitArguments { existing, machines }) => {
            on_existing_with(existing, machines.of(host)?, |run, bars| run.fit(bars).map(drop))
        }
        Verb::Search(SearchArguments { existing, swarm, pace, machines }) => {
            on_existing_with(existing, machines.of(host)?, |run, bars| {
                let problem = run.problem_with(|written| swarm.apply(written))?;
                run.search_for(&problem, pace.options(&problem), bars).map(drop)
            })
        }
        Verb::Evaluate(EvaluateArguments { existing, ceiling }) => on_existing(existing, |run, bars| {
            let options = SearchOptions::of(&run.problem()?.search, true);
            run.evaluate(options, bars)?;
            if *ceiling { run.ceiling(options, bars).map(drop) } else { Ok(()) }
        }),
        Verb::Nfq(arguments) => nfq(arguments),
        Verb::Pi(arguments) => operators::pi(arguments),
        Verb::Update(arguments) => operators::update(arguments),
        Verb::Trade(arguments) => operators::trade(arguments),
        Verb::Report(arguments) => report::report(arguments),
        Verb::Explain(arguments) => report::explain(arguments),
        Verb::Sweep(arguments) => sweep::sweep(arguments, host),
        Verb::Reproduce(arguments) => reproduce(arguments),
        Verb::Export(arguments) => exports::export(arguments),
        Verb::Verify(arguments) => exports::verify(arguments),
        Verb::Import(arguments) => exports::import(arguments),
    }
}

fn run_all(arguments: &RunArguments, host: &dyn Host) -> Result<(), Failure> {
    let manner = &arguments.new.manner;
    let planned = Planned::of(&arguments.new)?;
    let bars = begin(manner);
    // Machines that are not there are better known before than after the log was read.
    let cluster = arguments.machines.of(host)?;
    let run = planned.generate(&bars)?.on(cluster);
    let _lock = run.lock()?;
    let options = arguments.pace.options(&run.problem()?);
    let stages = || {
        run.fit(&bars)?;
        run.search(options, &bars)?;
        run.evaluate(options, &bars)?;
        if arguments.ceiling || wants_ceiling(&run)? {
            run.ceiling(options, &bars)?;
        }
        run.report(&ReportOptions::default(), &bars)
    };
    stages().map_err(|error| resumable(error, &run))?;
    finish(&run, manner, &bars)
}

fn resume(directory: &Path, arguments: &RunArguments, host: &dyn Host) -> Result<(), Failure> {
    let manner = &arguments.new.manner;
    let run = opened(directory, manner)?;
    let bars = begin(manner);
    let run = run.on(arguments.machines.of(host)?);
    let _lock = run.lock()?;
    let options = arguments.pace.options(&run.problem()?);
    let stages = || {
        run.resume(options, &bars)?;
        if arguments.ceiling || wants_ceiling(&run)? {
            run.resume_ceiling(options, &bars)?;
        }
        run.report(&ReportOptions::default(), &bars)
    };
    stages().map_err(|error| resumable(error, &run))?;
    finish(&run, manner, &bars)
}

/// Whether a run says how far its rules are from what could be reached, unasked: after a race it always does, for a small
/// part of what the race cost.
fn wants_ceiling(run: &RunDirectory) -> fpsrl::Result<bool> {
    Ok(run.problem()?.search.optimiser == OptimiserKind::Auto)
}

/// An interruption says how to go on.
fn resumable(error: fpsrl::Error, run: &RunDirectory) -> Failure {
    let allow = if run.permission() == Permission::Allowed { " --allow-process" } else { "" };
    let again = format!("fpsrl run --resume {}{allow}", argument(run.path()));
    match error {
        fpsrl::Error::Stopped { .. } => {
            let hint = format!("go on with `{again}`");
            Failure::Interrupted { message: error.to_string(), hint }
        }
        fpsrl::Error::Elsewhere { problem, remedy } => {
            let kept = format!("; what was done is kept: `{again}` goes on");
            Failure::Library(fpsrl::Error::Elsewhere { problem, remedy: remedy.then(&kept) })
        }
        other => Failure::Library(other),
    }
}

impl Machines {
    /// The machines that were asked for, if any were.
    fn of(&self, host: &dyn Host) -> fpsrl::Result<Option<Arc<dyn Cluster>>> {
        let Some(address) = &self.ray else { return Ok(None) };
        let cluster: Arc<dyn Cluster> = host.ray(address.as_deref(), self.workers.map(|workers| workers as usize))?;
        Ok(Some(cluster))
    }
}

fn nfq(arguments: &NfqArguments) -> Result<(), Failure> {
    let manner = &arguments.existing.manner;
    let run = opened(&arguments.existing.directory, manner)?;
    let bars = begin(manner);
    let _lock = run.lock()?;
    let result = run.nfq(&arguments.settings(&run.problem()?), &bars).map_err(|error| match error {
        fpsrl::Error::Stopped { .. } => {
            Failure::Interrupted { message: error.to_string(), hint: "go on with the same command".into() }
        }
        other => Failure::Library(other),
    })?;
    print(manner, || fpsrl::files::to_json(&result), || table::nfq(&run, &result))?;
    bars.say(&format!("the policy is in {}", run.file("nfq.json").display()));
    Ok(())
}

fn reproduce(arguments: &ReproduceArguments) -> Result<(), Failure> {
    let manner = &arguments.manner;
    let bars = begin(manner);
    let settings = arguments.settings()?;
    let default = || PathBuf::from("runs").join(format!("{}-{}", arguments.benchmark, arguments.scale));
    let out = arguments.out.clone().unwrap_or_else(default);
    let reproduction = Reproduction::run(settings, &out, &bars).map_err(|error| match error {
        fpsrl::Error::Stopped { .. } => Failure::Interrupted {
            message: error.to_string(),
            hint: "go on with the same command; what is finished is not done again".into(),
        },
        other => Failure::Library(other),
    })?;
    print(manner, || fpsrl::files::to_json(&reproduction), || Ok(reproduction.text()))?;
    bars.say(&format!("the tables and all runs are in {}", out.display()));
    Ok(())
}

/// A run that is to be made, and where.
struct Planned<'a> {
    problem: Problem,
    out: PathBuf,
    new: &'a New,
}

impl<'a> Planned<'a> {
    fn of(new: &'a New) -> fpsrl::Result<Self> {
        let Some(name) = new.problem.as_deref().filter(|name| !name.is_empty()) else {
            let rule = "it takes a built-in problem or a problem file";
            let remedy = "for example `fpsrl run mountain-car`, or `fpsrl run problem.toml` for a log of your own";
            return Err(fpsrl::Error::setting("PROBLEM", "missing", rule, remedy));
        };
        let mut written = WrittenProblem::find(name)?;
        new.apply(&mut written);
        let mut problem = written.check()?;
        let default = || PathBuf::from("runs").join(format!("{}-seed{}", problem.system.name(), problem.system.seed()));
        let out = new.out.clone().unwrap_or_else(default);
        let processes = Vec::from_iter(problem.world.process.clone());
        problem.world.permission = trust::permission(new.manner.allow_process, name.as_ref(), &processes);
        Ok(Self { problem, out, new })
    }

    fn generate(&self, bars: &Bars) -> fpsrl::Result<RunDirectory> {
        run::generate(&self.problem, &self.out, self.new.force, bars)
    }
}

fn on_existing(
    existing: &Existing,
    stage: impl FnOnce(&RunDirectory, &Bars) -> fpsrl::Result<()>,
) -> Result<(), Failure> {
    on_existing_with(existing, None, stage)
}

/// The same, with other machines if there are any.
fn on_existing_with(
    existing: &Existing,
    cluster: Option<Arc<dyn Cluster>>,
    stage: impl FnOnce(&RunDirectory, &Bars) -> fpsrl::Result<()>,
) -> Result<(), Failure> {
    let run = opened(&existing.directory, &existing.manner)?.on(cluster);
    let bars = begin(&existing.manner);
    let _lock = run.lock()?;
    stage(&run, &bars).map_err(|error| resumable(error, &run))?;
    finish(&run, &existing.manner, &bars)
}

/// A run directory, whose problem may name a program: that is asked before any work, while Ctrl-C still ends the command.
fn opened(directory: &Path, manner: &Manner) -> fpsrl::Result<RunDirectory> {
    let run = RunDirectory::open(directory)?;
    let processes = Vec::from_iter(run.problem()?.world.process);
    let permission = trust::permission(manner.allow_process, &run.file("problem.toml"), &processes);
    Ok(run.permitting(permission))
}

fn begin(manner: &Manner) -> Bars {
    if let Some(threads) = manner.threads {
        // It fails only if there is a pool already; then the threads are as they are.
        let _ = rayon::ThreadPoolBuilder::new().num_threads(threads.into()).build_global();
    }
    Bars::new(manner.quiet)
}

/// Prints the result of a run.
fn finish(run: &RunDirectory, manner: &Manner, bars: &Bars) -> Result<(), Failure> {
    print(manner, || run.summary()?.text(), || table::table(run))?;
    bars.say(&format!("the run is in {}", run.path().display()));
    let page = run.file(REPORT);
    if page.exists() {
        bars.say(&format!("look at {}", page.display()));
    }
    Ok(())
}

/// Prints a result: JSON, a table, or nothing.
fn print(
    manner: &Manner,
    json: impl FnOnce() -> fpsrl::Result<String>,
    table: impl FnOnce() -> fpsrl::Result<String>,
) -> Result<(), Failure> {
    if manner.json {
        terminal::json(&json()?)?;
    } else if !manner.quiet {
        terminal::result(&table()?)?;
    }
    Ok(())
}
