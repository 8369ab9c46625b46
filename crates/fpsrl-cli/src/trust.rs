//! Whether the program may be started that a problem of perhaps someone else names as its world.

use std::path::Path;

use fpsrl::visible::{path, shell_words};
use fpsrl::world::process::Permission;
use fpsrl::world::simulator::FUNCTION;

use crate::terminal;

/// The permission to start these programs, which a file names: given by `--allow-process`, or by whoever sits at the
/// terminal. Without either nothing is asked for here; the library refuses a program when it would be started.
pub fn permission(allowed: bool, file: &Path, processes: &[Vec<String>]) -> Permission {
    let is_program = |process: &&Vec<String>| process.first().is_some_and(|program| program != FUNCTION);
    let commands: Vec<String> =
        processes.iter().filter(is_program).map(|process| format!("    {}\n", shell_words(process))).collect();
    if allowed || commands.is_empty() {
        return Permission::if_asked(allowed);
    }
    let (what, them, it) = if commands.len() == 1 { ("a program", "It", "it") } else { ("programs", "They", "them") };
    let question = format!(
        "{} names {what} as its world:\n{}{them} may do whatever you may. Start {it}?",
        path(file),
        commands.concat()
    );
    Permission::if_asked(terminal::asks(&question))
}
