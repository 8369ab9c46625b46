//! The verbs: each calls the library's stages and prints what came out.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use fpsrl::problem::WrittenProblem;
use fpsrl::run::{self, RunDirectory};
use fpsrl::search::SearchOptions;

use crate::Failure;
use crate::arguments::{Arguments, Existing, Manner, New, RunArguments, SearchArguments, Verb};
use crate::progress::Bars;
use crate::table;

/// Does what the arguments say.
pub fn execute(arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.verb {
        Verb::Run(arguments) => match &arguments.resume {
            Some(directory) => resume(directory, arguments),
            None => run_all(arguments),
        },
        Verb::Generate(new) => {
            let bars = begin(&new.manner);
            let run = generate(new, &bars)?;
            finish(&run, &new.manner, &bars)
        }
        Verb::Fit(existing) => on_existing(existing, |run, bars| run.fit(bars).map(drop)),
        Verb::Search(SearchArguments { existing, swarm, pace }) => on_existing(existing, |run, bars| {
            let problem = run.problem_with(|written| swarm.apply(written))?;
            run.search_for(&problem, pace.options(&problem), bars).map(drop)
        }),
        Verb::Evaluate(existing) => {
            on_existing(existing, |run, bars| run.evaluate(SearchOptions::of(&run.problem()?, true), bars).map(drop))
        }
    }
}

fn run_all(arguments: &RunArguments) -> Result<(), Failure> {
    let manner = &arguments.new.manner;
    let bars = begin(manner);
    let run = generate(&arguments.new, &bars)?;
    let options = arguments.pace.options(&run.problem()?);
    let stages = || {
        run.fit(&bars)?;
        run.search(options, &bars)?;
        run.evaluate(options, &bars)
    };
    stages().map_err(|error| resumable(error, run.path()))?;
    finish(&run, manner, &bars)
}

fn resume(directory: &Path, arguments: &RunArguments) -> Result<(), Failure> {
    let manner = &arguments.new.manner;
    let bars = begin(manner);
    let run = RunDirectory::open(directory)?;
    let options = arguments.pace.options(&run.problem()?);
    run.resume(options, &bars).map_err(|error| resumable(error, directory))?;
    finish(&run, manner, &bars)
}

/// An interruption says how to go on.
fn resumable(error: fpsrl::Error, directory: &Path) -> Failure {
    match error {
        fpsrl::Error::Stopped { .. } => {
            Failure::Interrupted { message: error.to_string(), directory: directory.to_owned() }
        }
        other => Failure::Library(other),
    }
}

fn generate(new: &New, bars: &Bars) -> Result<RunDirectory, Failure> {
    let mut written = WrittenProblem::find(new.problem.as_deref().unwrap_or_default())?;
    new.apply(&mut written);
    let problem = written.check()?;
    let default = || PathBuf::from("runs").join(format!("{}-seed{}", problem.name, problem.seed));
    let out = new.out.clone().unwrap_or_else(default);
    Ok(run::generate(&problem, &out, new.force, bars)?)
}

fn on_existing(
    existing: &Existing,
    stage: impl FnOnce(&RunDirectory, &Bars) -> fpsrl::Result<()>,
) -> Result<(), Failure> {
    let bars = begin(&existing.manner);
    let run = RunDirectory::open(&existing.directory)?;
    stage(&run, &bars).map_err(|error| resumable(error, &existing.directory))?;
    finish(&run, &existing.manner, &bars)
}

fn begin(manner: &Manner) -> Bars {
    if let Some(threads) = manner.threads {
        // It fails only if there is a pool already; then the threads are as they are.
        let _ = rayon::ThreadPoolBuilder::new().num_threads(threads.into()).build_global();
    }
    Bars::new(manner.quiet)
}

/// Prints the result: JSON, a table, or nothing.
fn finish(run: &RunDirectory, manner: &Manner, bars: &Bars) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    if manner.json {
        let text = fpsrl::files::to_json(&run.summary()?)?;
        stdout.write_all(text.as_bytes())?;
    } else if !manner.quiet {
        let text = table::table(run)?;
        stdout.write_all(text.as_bytes())?;
    }
    stdout.flush()?;
    bars.say(&format!("the run is in {}", run.path().display()));
    Ok(())
}
