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

/// A Python with every package that the checks use: the newest there is.
pub fn python(root: &Path) -> Result<PathBuf, String> {
    static MADE: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    MADE.get_or_init(|| python_with(root, &[])).clone()
}

/// The same Python, with more packages.
pub fn python_with(root: &Path, more: &[&str]) -> Result<PathBuf, String> {
    environment_of(root, "target/outside/venv", &newest()?, &[&PYTHON_PACKAGES, more].concat())
}

/// A Python of this machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Interpreter {
    /// The version after the point.
    pub minor: u32,
    program: PathBuf,
}

impl std::fmt::Display for Interpreter {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Python 3.{}", self.minor)
    }
}

/// The oldest Python that the package promises to run under.
const OLDEST_MINOR: u32 = 9;

/// The newest Python of this machine.
pub fn newest() -> Result<Interpreter, String> {
    interpreters()?.pop().ok_or_else(|| "no Python is available".into())
}

/// The oldest Python of this machine that is not too old.
pub fn oldest() -> Result<Interpreter, String> {
    interpreters()?.into_iter().next().ok_or_else(|| "no Python is available".into())
}

/// Every Python of this machine that is not too old, in order: those on the path, and those of pyenv.
fn interpreters() -> Result<Vec<Interpreter>, String> {
    install(&PYTHON)?;
    let mut programs: Vec<PathBuf> = (OLDEST_MINOR..30).map(|minor| format!("python3.{minor}").into()).collect();
    programs.push(PYTHON.command.into());
    let home = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let root = home("PYENV_ROOT").or_else(|| Some(home("HOME")?.join(".pyenv")));
    let versions = root.and_then(|root| std::fs::read_dir(root.join("versions")).ok());
    programs.extend(versions.into_iter().flatten().flatten().map(|version| version.path().join("bin/python")));
    let mut found: Vec<Interpreter> = Vec::new();
    for program in programs {
        let Some(minor) = minor_of(&program).filter(|minor| *minor >= OLDEST_MINOR) else { continue };
        // The first one wins: it is on the path.
        if found.iter().all(|known| known.minor != minor) {
            found.push(Interpreter { minor, program });
        }
    }
    found.sort_by_key(|one| one.minor);
    if found.is_empty() { Err(format!("Python 3.{OLDEST_MINOR} or newer is not available")) } else { Ok(found) }
}

/// The minor version of a Python 3 that runs and can make virtual environments.
fn minor_of(program: &Path) -> Option<u32> {
    let told = Command::new(program)
        .args(["-c", "import ensurepip, sys, venv; print(*sys.version_info[:2], sys.version_info.releaselevel)"])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8(told.stdout).ok()?;
    match text.split_whitespace().collect::<Vec<_>>()[..] {
        ["3", minor, "final"] if told.status.success() => minor.parse().ok(),
        _ => None,
    }
}

/// The Python of a virtual environment with the given packages, made of the machine's usual Python if it is not there.
pub fn environment(root: &Path, directory: &str, packages: &[&str]) -> Result<PathBuf, String> {
    install(&PYTHON)?;
    let program = PathBuf::from(PYTHON.command);
    let minor = minor_of(&program).ok_or("a virtual environment of Python is not available")?;
    environment_of(root, directory, &Interpreter { minor, program }, packages)
}

/// The same, made of a given Python.
pub fn environment_of(
    root: &Path,
    directory: &str,
    interpreter: &Interpreter,
    packages: &[&str],
) -> Result<PathBuf, String> {
    let environment = root.join(directory);
    let python = environment.join("bin/python");
    // An environment breaks when the Python goes that it was made with, and is of no use once there is another.
    let is_whole = minor_of(&python) == Some(interpreter.minor);
    if !is_whole && !succeeds(Command::new(&interpreter.program).args(["-m", "venv", "--clear"]).arg(&environment)) {
        return Err("a virtual environment of Python is not available".into());
    }
    installed(&environment, &python, packages)
}

/// The Python of an environment, once it has the given packages.
fn installed(environment: &Path, python: &Path, packages: &[&str]) -> Result<PathBuf, String> {
    let python = python.to_owned();
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
    install_unless(is_there, program.command, &[program.debian])
}

/// Installs Debian packages unless what they bring is there already.
pub fn install_unless(is_there: impl Fn() -> bool, what: &str, packages: &[&str]) -> Result<(), String> {
    if is_there() {
        return Ok(());
    }
    let apt = |words: &[&str]| {
        // As root directly; else only where sudo asks for no password.
        succeeds(Command::new("apt-get").args(words).stdout(Stdio::null()))
            || succeeds(Command::new("sudo").args(["--non-interactive", "apt-get"]).args(words).stdout(Stdio::null()))
    };
    // What a user has installed stays.
    let install = [&["install", "--yes", "--no-remove", "--no-install-recommends"], packages].concat();
    // A machine that is new knows of no package yet.
    let _ = apt(&install) || (apt(&["update"]) && apt(&install));
    if is_there() { Ok(()) } else { Err(format!("{what} not available (Debian packages {})", packages.join(", "))) }
}

/// Debian's Python with Debian's PyTorch and the given packages of the index: the index has PyTorch only with gigabytes for
/// graphics cards.
pub fn python_with_torch(root: &Path, directory: &str, packages: &[&str]) -> Result<PathBuf, String> {
    const DEBIAN: &str = "/usr/bin/python3";
    let is_there = || succeeds(Command::new(DEBIAN).args(["-c", "import ensurepip, torch"]));
    install_unless(is_there, "PyTorch", &["python3-torch", "python3-venv"])?;
    let environment = root.join(directory);
    let python = environment.join("bin/python");
    if !succeeds(Command::new(&python).args(["-c", "import torch"])) {
        let make = ["-m", "venv", "--clear", "--system-site-packages"];
        if !succeeds(Command::new(DEBIAN).args(make).arg(&environment)) {
            return Err("a virtual environment of Debian's Python is not available".into());
        }
    }
    installed(&environment, &python, packages)
}

fn succeeds(command: &mut Command) -> bool {
    command.stdin(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}
