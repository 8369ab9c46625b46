//! The verbs: each calls the library's stages and prints what came out.

use std::io::{self, Write};
use std::path::PathBuf;

use fpsrl::problem::WrittenProblem;
use fpsrl::run::{self, RunDirectory};
use fpsrl::search::SearchOptions;
use fpsrl::simd::{Mode, Numerics};

use crate::Failure;
use crate::arguments::{Arguments, Existing, Manner, New, SearchArguments, Verb};
use crate::progress::Bars;
use crate::table;

/// Does what the arguments say.
pub fn execute(arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.verb {
        Verb::Run(new) => run_all(new),
        Verb::Generate(new) => {
            let bars = begin(&new.manner);
            let run = generate(new, &bars)?;
            finish(&run, &new.manner, &bars)
        }
        Verb::Fit(existing) => on_existing(existing, |run, bars| run.fit(bars).map(drop)),
        Verb::Search(SearchArguments { existing, swarm }) => on_existing(existing, |run, bars| {
            let problem = run.problem_with(|written| swarm.apply(written))?;
            run.search_for(&problem, options(), bars).map(drop)
        }),
        Verb::Evaluate(existing) => on_existing(existing, |run, bars| run.evaluate(options(), bars).map(drop)),
    }
}

fn run_all(new: &New) -> Result<(), Failure> {
    let bars = begin(&new.manner);
    let run = generate(new, &bars)?;
    run.fit(&bars)?;
    run.search(options(), &bars)?;
    run.evaluate(options(), &bars)?;
    finish(&run, &new.manner, &bars)
}

fn generate(new: &New, bars: &Bars) -> Result<RunDirectory, Failure> {
    let mut written = WrittenProblem::find(&new.problem)?;
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
    stage(&run, &bars)?;
    finish(&run, &existing.manner, &bars)
}

fn options() -> SearchOptions {
    SearchOptions { numerics: Numerics::detect(Mode::Fast), prune: true }
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
