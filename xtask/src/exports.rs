//! Exported controllers, run by programs that are not ours: compilers, interpreters, fuzzy tools, runtimes.

use std::path::Path;
use std::process::Command;

use crate::outside::{Program, command, environment, install};
use crate::{Outcome, run};

/// Programs, with the Debian packages that bring them.
const PROGRAMS: [Program; 5] = [
    Program { command: "gcc", debian: "gcc" },
    Program { command: "clang", debian: "clang" },
    Program { command: "node", debian: "nodejs" },
    Program { command: "fuzzylite", debian: "fuzzylite" },
    Program { command: "octave-cli", debian: "octave-fuzzy-logic-toolkit" },
];

/// blark parses Structured Text, pyfuzzylite runs FLL, onnxruntime runs and onnx checks graphs, jsonschema validates. They have
/// an environment of their own: pyfuzzylite wants an older NumPy than the others.
const PACKAGES: [&str; 6] = ["blark", "pyfuzzylite>=8", "onnx", "onnxruntime", "numpy", "jsonschema"];

/// Every format, for the benchmarks' policies and for random ones, in every program that can run it.
pub fn elsewhere(root: &Path) -> Outcome {
    for program in &PROGRAMS {
        if let Err(why) = install(program) {
            return Outcome::Skipped(why);
        }
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
    run(Command::new(python).arg(root.join("xtask/exports.py")).arg(command).args([root, &directory]).env("PATH", path))
}
