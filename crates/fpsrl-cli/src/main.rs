//! The command `fpsrl`: arguments, progress and messages. What it does is done by the library.
//!
//! Results go to standard output, everything else to standard error. The exit code is 0 for success, 2 for what the
//! user can mend, 1 for failures of ours.

mod arguments;
mod commands;
mod exports;
mod own_log;
mod progress;
mod table;

use std::io::{self, Write};
use std::panic::{self, PanicHookInfo};
use std::process::ExitCode;

use clap::Parser;
use fpsrl::remedy::{Part, Remedy};

use arguments::Arguments;

/// What ends the command early.
#[derive(Debug)]
enum Failure {
    /// The library refused something or failed.
    Library(fpsrl::Error),
    /// The user stopped work that can go on.
    Interrupted {
        /// What was not finished.
        message: String,
        /// How it goes on.
        hint: String,
    },
    /// Standard output could not be written.
    Output(io::Error),
}

impl From<fpsrl::Error> for Failure {
    fn from(error: fpsrl::Error) -> Self {
        Failure::Library(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::Output(error)
    }
}

fn main() -> ExitCode {
    panic::set_hook(Box::new(report_panic));
    let arguments = Arguments::parse();
    match panic::catch_unwind(|| commands::execute(&arguments)) {
        Ok(Ok(())) => ExitCode::SUCCESS,
        // Whoever read our output has seen enough: `fpsrl … | head` is no error.
        Ok(Err(Failure::Output(error))) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Ok(Err(Failure::Output(error))) => {
            complain(&format!("the result cannot be printed: {error}"), Some("check where the output goes"));
            ExitCode::from(2)
        }
        Ok(Err(Failure::Interrupted { message, hint })) => {
            complain(&message, Some(&hint));
            // What shells expect of a program that Ctrl-C ended.
            ExitCode::from(130)
        }
        Ok(Err(Failure::Library(error))) => {
            complain(&error.to_string(), error.remedy().map(|remedy| told(&remedy)).as_deref());
            ExitCode::from(if error.is_users() { 2 } else { 1 })
        }
        // The hook has said everything.
        Err(_) => ExitCode::from(1),
    }
}

/// A remedy in the words of the command: stages are verbs, options are flags.
fn told(remedy: &Remedy) -> String {
    remedy.told(|part| match part {
        Part::Words(words) => words.clone(),
        Part::Stage { name, of: None } => format!("`fpsrl {name}`"),
        Part::Stage { name, of: Some(of) } => format!("`fpsrl {name} {}`", of.display()),
        Part::Option { name, value: None } => format!("--{name}"),
        Part::Option { name, value: Some(value) } => format!("--{name} {value}"),
    })
}

/// `error:` says what is wrong and where, `hint:` what to do.
fn complain(message: &str, hint: Option<&str>) {
    // There is nobody left to tell if this fails, and `eprintln!` would panic.
    let mut stderr = io::stderr().lock();
    let _ = writeln!(stderr, "error: {message}");
    if let Some(hint) = hint {
        let _ = writeln!(stderr, "hint: {hint}");
    }
}

/// A panic is our bug, whatever the input was.
fn report_panic(info: &PanicHookInfo) {
    let place = info.location().map_or_else(String::new, |place| format!(" ({}:{})", place.file(), place.line()));
    let payload = info.payload();
    let cause = payload.downcast_ref::<&str>().copied().or(payload.downcast_ref::<String>().map(String::as_str));
    let cause = cause.unwrap_or("no reason given");
    complain(
        &format!("fpsrl has a bug: {cause}{place}"),
        Some("please report it with the command, the problem file and this message"),
    );
}
