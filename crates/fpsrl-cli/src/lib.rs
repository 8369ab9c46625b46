//! The command `fpsrl`: arguments, progress and messages. What it does is done by the library.
//!
//! It is a library itself so that whoever brings it along, such as the Python package, runs the same command.
//!
//! Results go to standard output, everything else to standard error. The exit code is 0 for success, 2 for what the
//! user can mend, 1 for failures of ours.

mod arguments;
mod commands;
mod exports;
mod own_log;
mod progress;
mod table;

use std::ffi::OsString;
use std::io::{self, Write};
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::Arc;

use clap::Parser;
use fpsrl::remedy::{Part, Remedy};
use fpsrl::stage::Cluster;

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

/// What the command can do only where it lives inside another program.
pub trait Host: Sync {
    /// Machines of a Ray cluster: the one at an address, or one that is started here. `workers` are the most to be used.
    fn ray(&self, address: Option<&str>, workers: Option<usize>) -> fpsrl::Result<Arc<dyn Cluster>>;
}

/// The command as a program of its own.
struct Alone;

impl Host for Alone {
    fn ray(&self, _: Option<&str>, _: Option<usize>) -> fpsrl::Result<Arc<dyn Cluster>> {
        Err(fpsrl::Error::Elsewhere {
            problem: "this `fpsrl` is a program of its own and cannot reach Ray, which lives in Python".into(),
            remedy: "use the `fpsrl` that pip installs: `pip install '.[ray]'` at the root of the repository".into(),
        })
    }
}

/// Runs the command with its arguments, the first of which is its own name; returns its exit code.
///
/// It is the process's only business: it catches Ctrl-C, and reports panics as bugs.
///
/// ```
/// assert_eq!(fpsrl_cli::run(["fpsrl", "--version"].map(Into::into)), 0);
/// assert_eq!(fpsrl_cli::run(["fpsrl", "explain", "no/such/run", "--quiet"].map(Into::into)), 2);
/// ```
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    run_in(arguments, &Alone)
}

/// The same inside another program, which lends what it has.
pub fn run_in(arguments: impl IntoIterator<Item = OsString>, host: &dyn Host) -> u8 {
    panic::set_hook(Box::new(report_panic));
    let arguments = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        Err(error) => {
            // There is nobody left to tell if this fails.
            let _ = error.print();
            return u8::try_from(error.exit_code()).unwrap_or(2);
        }
    };
    match panic::catch_unwind(AssertUnwindSafe(|| commands::execute(&arguments, host))) {
        Ok(Ok(())) => 0,
        // Whoever read our output has seen enough: `fpsrl … | head` is no error.
        Ok(Err(Failure::Output(error))) if error.kind() == io::ErrorKind::BrokenPipe => 0,
        Ok(Err(Failure::Output(error))) => {
            complain(&format!("the result cannot be printed: {error}"), Some("check where the output goes"));
            2
        }
        Ok(Err(Failure::Interrupted { message, hint })) => {
            complain(&message, Some(&hint));
            // What shells expect of a program that Ctrl-C ended.
            130
        }
        Ok(Err(Failure::Library(error))) => {
            complain(&error.to_string(), error.remedy().map(|remedy| told(&remedy)).as_deref());
            if error.is_users() { 2 } else { 1 }
        }
        // The hook has said everything.
        Err(_) => 1,
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

/// A panic is our bug, whatever the input was; unless it is that of a reader of others over a file, which becomes an error.
fn report_panic(info: &PanicHookInfo) {
    if fpsrl::foreign::is_guarded() {
        return;
    }
    let place = info.location().map_or_else(String::new, |place| format!(" ({}:{})", place.file(), place.line()));
    let payload = info.payload();
    let cause = payload.downcast_ref::<&str>().copied().or(payload.downcast_ref::<String>().map(String::as_str));
    let cause = cause.unwrap_or("no reason given");
    complain(
        &format!("fpsrl has a bug: {cause}{place}"),
        Some("please report it with the command, the problem file and this message"),
    );
}
