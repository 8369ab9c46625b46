//! The Python package: its wheel in an empty environment, its tests under the oldest and the newest Python there are, and
//! what type checkers say of it.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Outcome, outside, run};

/// What a wheel may weigh.
const MOST_BYTES: u64 = 20_000_000;

/// What the tests need besides what other checks have in their environment.
const NEWEST: [&str; 11] = [
    "pytest",
    "pandas",
    "matplotlib",
    "tqdm",
    "onnxruntime",
    "nbclient",
    "ipykernel",
    "mypy",
    "pandas-stubs",
    "pyright[nodejs]",
    "ray",
];

/// What the tests need under the oldest Python, in the versions that still know it.
const OLDEST: [&str; 9] =
    ["pytest", "numpy", "pandas", "polars", "pyarrow", "scikit-learn", "gymnasium", "matplotlib", "h5py"];

/// What makes pip replace a wheel by one of the same version, and leave all else as it is.
const AGAIN: [&str; 2] = ["--no-deps", "--force-reinstall"];

/// What the notebook about Stable-Baselines3 needs: it runs on Debian's PyTorch, and with the NumPy of that.
const WITH_TORCH: [&str; 8] =
    ["pytest", "nbclient", "ipykernel", "numpy<2", "pandas<3", "matplotlib<3.10", "gymnasium==1.0.0", "cloudpickle"];

/// It asks for a newer PyTorch than it needs here.
const BASELINES: &str = "stable-baselines3==2.4.1";

/// Builds the wheel as `pip install .` does, and tests it.
pub fn package(root: &Path) -> Outcome {
    match tested(root) {
        Ok(()) => Outcome::Passed,
        Err(outcome) => outcome,
    }
}

fn tested(root: &Path) -> Result<(), Outcome> {
    // Crates are compiled as the tests have them, so that the wheel's build has little left to do.
    outside::command(root).map_err(Outcome::Failed)?;
    let newest = outside::newest().map_err(Outcome::Skipped)?;
    let oldest = outside::oldest().map_err(Outcome::Skipped)?;
    let python = outside::python_with(root, &NEWEST).map_err(Outcome::Skipped)?;
    let wheel = wheel(root, &python)?;

    let alone = outside::environment_of(root, "target/outside/python-alone", &newest, &[]).map_err(Outcome::Skipped)?;
    installed(&alone, &wheel, &[])?;
    installed(&alone, &wheel, &AGAIN)?;
    done(Command::new(&alone).arg(root.join("xtask/python_alone.py")).current_dir(root.join("target/outside")))?;

    installed(&python, &wheel, &AGAIN)?;
    tests(root, &python)?;
    types(root, &python)?;
    if oldest != newest {
        let python = outside::environment_of(root, "target/outside/python-oldest", &oldest, &OLDEST)
            .map_err(Outcome::Skipped)?;
        installed(&python, &wheel, &AGAIN)?;
        tests(root, &python)?;
    }
    let python =
        outside::python_with_torch(root, "target/outside/python-torch", &WITH_TORCH).map_err(Outcome::Skipped)?;
    let baselines = ["-m", "pip", "install", "--quiet", "--no-deps", BASELINES];
    done(Command::new(&python).args(baselines))?;
    installed(&python, &wheel, &AGAIN)?;
    pytest(root, &python, &["python/tests/test_notebooks.py", "-k", "stable_baselines3"])?;
    println!("tested under {newest} and {oldest}");
    Ok(())
}

/// Runs a command; the outcome if it fails.
fn done(command: &mut Command) -> Result<(), Outcome> {
    match run(command) {
        Outcome::Passed => Ok(()),
        failed => Err(failed),
    }
}

/// Builds the wheel, and looks at its size.
fn wheel(root: &Path, python: &Path) -> Result<PathBuf, Outcome> {
    let directory = root.join("target/outside/wheels");
    let _ = std::fs::remove_dir_all(&directory);
    let mut build = Command::new(python);
    build.args(["-m", "pip", "wheel", ".", "--no-deps", "--quiet", "--wheel-dir"]).arg(&directory).current_dir(root);
    done(&mut build)?;
    let found = std::fs::read_dir(&directory).ok().and_then(|mut files| files.next()?.ok());
    let wheel = found.ok_or_else(|| Outcome::Failed("pip made no wheel".into()))?;
    let bytes = wheel.metadata().map_or(u64::MAX, |metadata| metadata.len());
    println!("the wheel has {:.1} MB", bytes as f64 / 1e6);
    match bytes < MOST_BYTES {
        true => Ok(wheel.path()),
        false => Err(Outcome::Failed(format!("the wheel has {bytes} bytes; {MOST_BYTES} are the most"))),
    }
}

/// Installs the wheel in an environment, in place of an older one of the same version.
fn installed(python: &Path, wheel: &Path, options: &[&str]) -> Result<(), Outcome> {
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    done(Command::new(python).args(install).args(options).arg(wheel))
}

/// The tests, and the examples in the documentation, of what is installed.
fn tests(root: &Path, python: &Path) -> Result<(), Outcome> {
    pytest(root, python, &["--doctest-modules", "--pyargs", "fpsrl", "python/tests"])
}

fn pytest(root: &Path, python: &Path, what: &[&str]) -> Result<(), Outcome> {
    let options = ["-m", "pytest", "--quiet", "-p", "no:cacheprovider", "-rs", "--durations=5"];
    let mut tests = Command::new(python);
    tests.args(options).args(what).env("PYTHONDONTWRITEBYTECODE", "1").env("MPLBACKEND", "Agg");
    done(tests.current_dir(root))
}

/// What type checkers say of the package, and whether its stubs are what the extension module is.
fn types(root: &Path, python: &Path) -> Result<(), Outcome> {
    let path = python.to_string_lossy();
    let checks: [&[&str]; 3] = [
        &["-m", "mypy", "--cache-dir", "target/outside/mypy", "python/fpsrl"],
        &["-m", "mypy.stubtest", "fpsrl._core", "--ignore-disjoint-bases"],
        &["-m", "pyright", "--pythonpath", &path, "python/fpsrl"],
    ];
    checks.iter().try_for_each(|check| done(Command::new(python).args(*check).current_dir(root)))
}
