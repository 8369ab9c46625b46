//! Exported controllers, run by programs that are not ours: compilers, interpreters, fuzzy tools, runtimes.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::outside::{Program, command, environment, install, install_unless};
use crate::{Outcome, run};

/// Programs, with the Debian packages that bring them.
const PROGRAMS: [Program; 5] = [
    Program { command: "gcc", debian: "gcc" },
    Program { command: "clang", debian: "clang" },
    Program { command: "node", debian: "nodejs" },
    Program { command: "fuzzylite", debian: "fuzzylite" },
    Program { command: "octave-cli", debian: "octave-fuzzy-logic-toolkit" },
];

/// blark and tree-sitter parse Structured Text, pyfuzzylite runs FLL, onnxruntime runs and onnx checks graphs, jsonschema validates.
/// They have an environment of their own: pyfuzzylite wants an older NumPy than the others.
const PACKAGES: [&str; 8] = [
    "blark",
    "tree-sitter",
    "tree-sitter-iec61131-3-st",
    "pyfuzzylite>=8",
    "onnx",
    "onnxruntime",
    "numpy",
    "jsonschema",
];

/// How `cargo xtask exports` is called.
pub const USAGE: &str = "usage: cargo xtask exports [--long]

  exports the check of exported controllers alone; with --long, hostile numbers for more of them, in more ways and others each time";

/// Every format, for the benchmarks' policies and for random ones, in every program that can run it; then hostile numbers.
pub fn elsewhere(root: &Path) -> Outcome {
    check(root, &[])
}

/// The check on its own, with the words that follow its name.
pub fn asked_for(root: &Path, words: &[&str]) -> Outcome {
    match words {
        [] | ["--long"] => check(root, words),
        _ => Outcome::Failed(USAGE.to_owned()),
    }
}

fn check(root: &Path, words: &[&str]) -> Outcome {
    for program in &PROGRAMS {
        if let Err(why) = install(program) {
            return Outcome::Skipped(why);
        }
    }
    // Floating-point registers that are wider than the numbers in them.
    if cfg!(target_arch = "x86_64")
        && let Err(why) = install_unless(compiles_for_32_bits, "gcc for 32 bits", &["gcc-multilib"])
    {
        return Outcome::Skipped(why);
    }
    let python = match environment(root, "target/outside/exports", &PACKAGES) {
        Ok(python) => python,
        Err(why) => return Outcome::Skipped(why),
    };
    let command = match command(root) {
        Ok(command) => command,
        Err(why) => return Outcome::Failed(why),
    };
    let directory = root.join("target/outside/controllers");
    if directory.exists()
        && let Err(error) = std::fs::remove_dir_all(&directory)
    {
        return Outcome::Failed(format!("{} cannot be removed: {error}", directory.display()));
    }
    // `fpsrl verify` takes the first Python of the path.
    let path = std::env::var_os("PATH").unwrap_or_default();
    let first = python.parent().unwrap_or(root).to_owned();
    let paths = std::iter::once(first).chain(std::env::split_paths(&path));
    let Ok(path) = std::env::join_paths(paths) else {
        return Outcome::Failed("the project's path cannot stand in PATH".into());
    };
    let script = root.join("xtask/exports.py");
    run(Command::new(python).arg(script).arg(command).args([root, &directory]).args(words).env("PATH", path))
}

/// Whether gcc finds what programs of 32 bits are linked with.
fn compiles_for_32_bits() -> bool {
    let mut gcc = Command::new("gcc");
    gcc.args(["-m32", "-x", "c", "-", "-o", "/dev/null"]).stdin(Stdio::piped()).stderr(Stdio::null());
    let Ok(mut child) = gcc.spawn() else { return false };
    let written =
        child.stdin.take().is_some_and(|mut source| source.write_all(b"int main(void) { return 0; }").is_ok());
    child.wait().is_ok_and(|status| status.success() && written)
}
