//! Checks that need programs from outside. What is missing is installed by its package name where that is possible;
//! where it is not, the check is skipped and says so.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use crate::{Outcome, cargo_path, run};

/// A program from outside, and the Debian package that brings it.
pub struct Program {
    /// What it is called.
    pub command: &'static str,
    /// The package.
    pub debian: &'static str,
}

const PYTHON: Program = Program { command: "python3", debian: "python3-venv" };

/// Packages from the Python index that the checks use, in one virtual environment.
const PYTHON_PACKAGES: [&str; 8] = [
    // Logs of other programs: environments to record and to drive, and writers of every format.
    "gymnasium",
    "minari[create]",
    "h5py",
    "pillow",
    "numpy",
    "pyarrow",
    "polars",
    // Worlds.
    "scikit-learn",
];

/// The files of a run are read by readers that know nothing of fpsrl: Python's own for CSV, JSON and TOML.
pub fn plain_readers(root: &Path) -> Outcome {
    if let Err(why) = install(&PYTHON) {
        return Outcome::Skipped(why);
    }
    let command = match command(root) {
        Ok(command) => command,
        Err(why) => return Outcome::Failed(why),
    };
    let directory = root.join("target/outside/plain-readers");
    if directory.exists()
        && let Err(error) = std::fs::remove_dir_all(&directory)
    {
        return Outcome::Failed(format!("{} cannot be removed: {error}", directory.display()));
    }
    let generate = ["generate", "cart-pole-swing-up", "--samples", "1000", "--quiet", "--out"];
    match run(Command::new(command).args(generate).arg(&directory).current_dir(root)) {
        Outcome::Passed => run(Command::new(PYTHON.command).arg(root.join("xtask/plain_readers.py")).arg(&directory)),
        failed => failed,
    }
}

/// The command `fpsrl`, built at most once.
pub fn command(root: &Path) -> Result<PathBuf, String> {
    Ok(built(root)?.join("fpsrl"))
}

/// A program of the crate `bench` that makes what other programs compare with, built at most once.
pub fn fixture(root: &Path, name: &str) -> Result<PathBuf, String> {
    Ok(built(root)?.join(name))
}

/// Builds every program of ours that checks run; returns the directory that they are in.
///
/// Cargo unites the features of what one call selects, and counts those of dev-dependencies only if the call needs them.
/// This call selects the packages of `cargo test --workspace` (xtask, which depends on nothing, changes no features), and
/// examples need dev-dependencies. So it builds crates exactly as the tests do, and after them it builds nothing, whereas
/// `--package fpsrl-cli` alone, or `--workspace --bins`, would compile our crates once more.
fn built(root: &Path) -> Result<PathBuf, String> {
    static BUILT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let build = || {
        let arguments = ["build", "--quiet", "--release", "--workspace", "--exclude", "xtask", "--bins", "--examples"];
        match run(Command::new(cargo_path()).args(arguments).current_dir(root)) {
            Outcome::Passed => Ok(target(root).join("release")),
            Outcome::Skipped(why) | Outcome::Failed(why) => Err(why),
        }
    };
    BUILT.get_or_init(build).clone()
}

/// Where cargo puts what it builds.
pub fn target(root: &Path) -> PathBuf {
    if let Some(directory) = std::env::var_os("CARGO_TARGET_DIR") {
        // We call cargo in the root, and so a relative path is one from there.
        return root.join(directory);
    }
    // A configuration may name another directory; xtask itself stands in it: target/debug/xtask.
    let own = std::env::current_exe().ok();
    own.and_then(|own| own.ancestors().nth(2).map(Path::to_owned)).unwrap_or_else(|| root.join("target"))
}

/// A Python with every package that the checks use.
pub fn python(root: &Path) -> Result<PathBuf, String> {
    static MADE: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    MADE.get_or_init(|| environment(root, "target/outside/venv", &PYTHON_PACKAGES)).clone()
}

/// The Python of a virtual environment with the given packages, made if it is not there.
pub fn environment(root: &Path, directory: &str, packages: &[&str]) -> Result<PathBuf, String> {
    install(&PYTHON)?;
    let environment = root.join(directory);
    let python = environment.join("bin/python");
    // An environment breaks when the Python goes that it was made with.
    let is_whole = || succeeds(Command::new(&python).arg("--version").stdout(Stdio::null()));
    if !is_whole() && !succeeds(Command::new(PYTHON.command).args(["-m", "venv", "--clear"]).arg(&environment)) {
        return Err("a virtual environment of Python is not available".into());
    }
    // pip takes seconds and asks the index to find that nothing is to be done.
    let list = environment.join("installed.txt");
    let installed = std::fs::read_to_string(&list).unwrap_or_default();
    if packages.iter().all(|package| installed.lines().any(|line| line == *package)) {
        return Ok(python);
    }
    if !succeeds(Command::new(&python).args(["-m", "pip", "install", "--quiet"]).args(packages)) {
        return Err(format!("{} not available from the Python index", packages.join(", ")));
    }
    let lines: String = installed.lines().chain(packages.iter().copied()).map(|line| format!("{line}\n")).collect();
    // Without the list, pip is asked again; that is all.
    let _ = std::fs::write(&list, lines);
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
