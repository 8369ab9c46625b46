//! Checks that need programs from outside. What is missing is installed by its package name where that is possible;
//! where it is not, the check is skipped and says so.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::{Outcome, cargo, run};

/// A program from outside, and the Debian package that brings it.
pub struct Program {
    /// What it is called.
    pub command: &'static str,
    /// The package.
    pub debian: &'static str,
}

const PYTHON: Program = Program { command: "python3", debian: "python3-venv" };

/// Packages from the Python index that the checks use, in one virtual environment.
const PYTHON_PACKAGES: [&str; 0] = [];

/// The files of a run are read by readers that know nothing of fpsrl: Python's own for CSV, JSON and TOML.
pub fn plain_readers(root: &Path) -> Outcome {
    let python = match python(root) {
        Ok(python) => python,
        Err(why) => return Outcome::Skipped(why),
    };
    let target = root.join("target/outside");
    let directory = target.join("plain-readers");
    if directory.exists()
        && let Err(error) = std::fs::remove_dir_all(&directory)
    {
        return Outcome::Failed(format!("{} cannot be removed: {error}", directory.display()));
    }
    let out = directory.to_string_lossy();
    let generate = ["generate", "cart-pole-swing-up", "--samples", "1000", "--quiet", "--out", &out];
    let command = ["run", "--quiet", "--release", "--package", "fpsrl-cli", "--"];
    if let Outcome::Failed(why) = cargo(root, &[command.as_slice(), generate.as_slice()].concat()) {
        return Outcome::Failed(why);
    }
    run(Command::new(python).arg(root.join("xtask/plain_readers.py")).arg(&directory))
}

/// A Python with every package that the checks use.
fn python(root: &Path) -> Result<PathBuf, String> {
    install(&PYTHON)?;
    if PYTHON_PACKAGES.is_empty() {
        return Ok(PYTHON.command.into());
    }
    environment(root, "target/outside/venv", &PYTHON_PACKAGES)
}

/// The Python of a virtual environment with the given packages, made if it is not there.
pub fn environment(root: &Path, directory: &str, packages: &[&str]) -> Result<PathBuf, String> {
    install(&PYTHON)?;
    let environment = root.join(directory);
    let python = environment.join("bin/python");
    if !python.exists() && !succeeds(Command::new(PYTHON.command).args(["-m", "venv"]).arg(&environment)) {
        return Err("a virtual environment of Python is not available".into());
    }
    if !succeeds(Command::new(&python).args(["-m", "pip", "install", "--quiet"]).args(packages)) {
        return Err(format!("{} not available from the Python index", packages.join(", ")));
    }
    Ok(python)
}

/// Installs a program's package if the program is not there.
pub fn install(program: &Program) -> Result<(), String> {
    let is_there = || succeeds(Command::new(program.command).arg("--version").stdout(Stdio::null()));
    if is_there() {
        return Ok(());
    }
    let install = ["apt-get", "install", "--yes", "--no-install-recommends", program.debian];
    // As root directly; else only where sudo asks for no password.
    let _ = succeeds(Command::new(install[0]).args(&install[1..]))
        || succeeds(Command::new("sudo").arg("--non-interactive").args(install));
    if is_there() {
        return Ok(());
    }
    Err(format!("{} not available (Debian package {})", program.command, program.debian))
}

fn succeeds(command: &mut Command) -> bool {
    command.stdin(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}
