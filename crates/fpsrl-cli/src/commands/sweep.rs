//! `sweep`: many runs, and what they say together.

use std::io;
use std::path::Path;

use fpsrl::sweep::{ConductOptions, Sweep, kubernetes, slurm};

use crate::arguments::SweepArguments;
use crate::progress::Bars;
use crate::table;
use crate::terminal::{self, argument};
use crate::trust;
use crate::{Failure, Host};

/// Makes the runs of a sweep that are left, and gathers all of them.
pub fn sweep(arguments: &SweepArguments, host: &dyn Host) -> Result<(), Failure> {
    if let Some(table) = &arguments.table {
        refuse_other_endings(table)?;
    }
    let sweep = Sweep::read(&arguments.file)?;
    let makes_runs = !arguments.dry_run && !arguments.collect;
    let processes = if makes_runs { sweep.processes()? } else { Vec::new() };
    let sweep = sweep.permitting(trust::permission(arguments.allow_process, &arguments.file, &processes));
    let bars = Bars::new(arguments.quiet);
    if arguments.dry_run {
        let states = sweep.states()?;
        let json = || fpsrl::sweep::plan_as_json(&sweep, &states);
        return print(arguments, json, || table::plan(&sweep, &states));
    }
    if arguments.slurm || arguments.kubernetes {
        return prepare(&sweep, arguments, &bars);
    }
    let gathered = match arguments.collect {
        true => {
            if !sweep.directory().join("sweep.json").exists() {
                let missing = io::Error::new(io::ErrorKind::NotFound, "no run of this sweep has begun yet");
                return Err(fpsrl::Error::read(sweep.directory(), missing).into());
            }
            let gathered = sweep.gather()?;
            gathered.write()?;
            gathered
        }
        false if arguments.ray.is_some() => {
            let address = arguments.ray.as_ref().and_then(Option::as_deref);
            let cluster = host.ray(address, arguments.workers.map(usize::from).or(sweep.workers()))?;
            sweep
                .conduct_on(cluster.as_ref(), arguments.retry, arguments.shared, &bars)
                .map_err(|error| stopped(error, &arguments.file))?
        }
        false => {
            let options = ConductOptions {
                workers: arguments.workers.map(usize::from),
                threads: arguments.threads.map(usize::from),
                retry: arguments.retry,
            };
            sweep.conduct(options, &bars).map_err(|error| stopped(error, &arguments.file))?
        }
    };
    if let Some(file) = &arguments.table {
        gathered.table().write(file)?;
    }
    print(arguments, || gathered.to_json(), || table::sweep(&gathered))?;
    let directory = sweep.directory();
    bars.say(&format!("the runs and their table are in {}", directory.display()));
    bars.say(&format!("look at {}", directory.join("sweep.html").display()));
    let failed = gathered.failures().count();
    if failed > 0 {
        let runs = if failed == 1 { "1 run has".into() } else { format!("{failed} runs have") };
        bars.say(&format!("{runs} failed; once that is mended, try again with --retry"));
    }
    Ok(())
}

fn stopped(error: fpsrl::Error, file: &Path) -> Failure {
    match error {
        fpsrl::Error::Stopped { .. } => Failure::Interrupted {
            message: error.to_string(),
            hint: format!("go on with `fpsrl sweep {}`; what is finished is not made again", argument(file)),
        },
        other => Failure::Library(other),
    }
}

/// Prepares the runs for a cluster, and prints what its queue is given.
fn prepare(sweep: &Sweep, arguments: &SweepArguments, bars: &Bars) -> Result<(), Failure> {
    let listed = sweep.list(arguments.retry, bars).map_err(|error| stopped(error, &arguments.file))?;
    let name = arguments.file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    if listed.runs.is_empty() {
        bars.say("no run is left to be made");
        return Ok(());
    }
    let text = match arguments.slurm {
        true => slurm(&listed, &name),
        false => kubernetes(&listed, &name, arguments.workers.map_or(8, usize::from)),
    };
    match arguments.slurm {
        true => terminal::result(&text)?,
        false => terminal::json(&text)?,
    }
    let count = listed.runs.len();
    bars.say(&format!("{count} runs are prepared in {}", listed.directory.display()));
    if listed.failed > 0 {
        bars.say(&format!("{} could not be: their logs cannot be used", listed.failed));
    }
    if arguments.kubernetes {
        bars.say("set the image, and the volume that holds this directory, before you apply it");
    }
    bars.say(&format!("when they are made: fpsrl sweep {} --collect", argument(&arguments.file)));
    Ok(())
}

/// Before hours of work, not after them.
fn refuse_other_endings(file: &Path) -> fpsrl::Result<()> {
    let ending = file.extension().and_then(|ending| ending.to_str()).map(str::to_ascii_lowercase);
    match ending.as_deref() {
        Some("csv" | "parquet") => Ok(()),
        _ => {
            let value = file.display().to_string();
            let rule = "the name says whether it is CSV or Parquet";
            Err(fpsrl::Error::setting("--table", value, rule, "end its name with .csv or .parquet"))
        }
    }
}

fn print(
    arguments: &SweepArguments,
    json: impl FnOnce() -> fpsrl::Result<String>,
    table: impl FnOnce() -> String,
) -> Result<(), Failure> {
    if arguments.json {
        terminal::json(&json()?)?;
    } else if !arguments.quiet {
        terminal::result(&table())?;
    }
    Ok(())
}
