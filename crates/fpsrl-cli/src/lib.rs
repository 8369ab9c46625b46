//! The command `fpsrl`: arguments, progress and messages. What it does is done by the library.
//!
//! It is a library itself so that whoever brings it along, such as the Python package, runs the same command.
//!
//! Results go to standard output, everything else to standard error. The exit code is 0 for success, 2 for what the
//! user can mend, 1 for failures of ours; work that a signal has ended has 128 and the signal's number, 130 for Ctrl-C.

mod arguments;
mod commands;
mod exports;
mod own_log;
mod progress;
mod signals;
mod table;
mod terminal;
mod trust;

use std::ffi::OsString;
use std::io;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::Arc;

use clap::Parser;
use fpsrl::sweep::SweepCluster;

use arguments::Arguments;
use terminal::{complain, told};

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
    fn ray(&self, address: Option<&str>, workers: Option<usize>) -> fpsrl::Result<Arc<dyn SweepCluster>>;
}

/// The command as a program of its own.
struct Alone;

impl Host for Alone {
    fn ray(&self, _: Option<&str>, _: Option<usize>) -> fpsrl::Result<Arc<dyn SweepCluster>> {
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
            terminal::arguments(&error);
            return u8::try_from(error.exit_code()).unwrap_or(2);
        }
    };
    match panic::catch_unwind(AssertUnwindSafe(|| commands::execute(&arguments, host))) {
        Ok(Ok(())) => 0,
        // Whoever read our output has seen enough: `fpsrl … | head` is no error.
        Ok(Err(Failure::Output(error))) if error.kind() == io::ErrorKind::BrokenPipe => 0,
        Ok(Err(Failure::Output(error))) => {
            let told = format!("the result cannot be printed: {}", fpsrl::reason::told(&error));
            complain(&told, Some("check where the output goes"));
            2
        }
        Ok(Err(Failure::Interrupted { message, hint })) => {
            complain(&message, Some(&hint));
            signals::exit_code()
        }
        Ok(Err(Failure::Library(error @ fpsrl::Error::Stopped { .. }))) => {
            complain(&error.to_string(), Some("give the same command again"));
            signals::exit_code()
        }
        Ok(Err(Failure::Library(error))) => {
            complain(&error.to_string(), error.remedy().map(|remedy| told(&remedy)).as_deref());
            if error.is_users() { 2 } else { 1 }
        }
        // The hook has said everything.
        Err(_) => 1,
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
