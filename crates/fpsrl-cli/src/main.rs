//! The command `fpsrl`, as a program of its own.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(fpsrl_cli::run(std::env::args_os()))
}
