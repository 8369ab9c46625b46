//! What the tests of the command share: running it, and a small run that is made once.

#![allow(dead_code, reason = "each test file uses its own part")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use serde_json::Value;
use tempfile::TempDir;

/// A problem that runs through every stage in a moment.
pub const SMALL: &str = r#"
name = "small"
plant = "mountain-car"
[data]
samples = 400
[world]
kind = "ensemble"
layers = 1
epochs = 3
[search]
particles = 6
iterations = 4
start_states = 5
[evaluation]
start_states = 5
"#;

/// The built command, in a directory.
pub fn command(directory: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fpsrl"));
    command.current_dir(directory);
    command
}

/// Runs the command in a directory.
pub fn fpsrl(directory: &Path, arguments: &[&str]) -> Output {
    command(directory).args(arguments).output().expect("the command starts")
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("standard output is text")
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("standard error is text")
}

/// Everything below a directory, with its content.
pub fn contents(directory: &Path) -> Vec<(PathBuf, Option<Vec<u8>>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).expect("the directory is there") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(contents(&path));
            found.push((path, None));
        } else {
            let content = fs::read(&path).expect("a file");
            found.push((path, Some(content)));
        }
    }
    found.sort();
    found
}

/// A finished run of [`SMALL`] at `run` below a new directory of the test's own.
pub fn finished_run() -> TempDir {
    static TEMPLATE: OnceLock<TempDir> = OnceLock::new();
    let template = TEMPLATE.get_or_init(|| {
        let directory = tempfile::tempdir().expect("a directory");
        fs::write(directory.path().join("small.toml"), SMALL).expect("a file");
        let output = fpsrl(directory.path(), &["run", "small.toml", "--out", "run"]);
        assert!(output.status.success(), "{}", stderr(&output));
        directory
    });
    let copy = tempfile::tempdir().expect("a directory");
    fs::create_dir(copy.path().join("run")).expect("a directory");
    for entry in fs::read_dir(template.path().join("run")).expect("the run") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name");
        fs::copy(&path, copy.path().join("run").join(name)).expect("a copy");
    }
    copy
}

/// Runs the command, which must refuse: exit code 2, one message, one hint, and nothing changed on the disk.
/// Returns what it said.
pub fn refused(directory: &Path, arguments: &[&str]) -> String {
    let before = contents(directory);
    let output = fpsrl(directory, arguments);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{arguments:?} said: {said}");
    assert_eq!(stdout(&output), "", "{arguments:?}");
    let starts = |word: &str| said.lines().filter(|line| line.starts_with(word)).count();
    assert_eq!((starts("error: "), starts("hint: ")), (1, 1), "{arguments:?} said: {said}");
    assert!(before == contents(directory), "{arguments:?} left something behind");
    said
}

/// A log of a sluggish controller whose set-point moves, under noise from a small generator.
pub fn motor_log(rows: usize, mut seed: u64) -> String {
    let mut text = "t,speed,ref,voltage\n".to_owned();
    let mut noise = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as f64 / f64::from(1u32 << 31) - 0.5
    };
    let (mut speed, mut set_point, mut sum) = (5.0, 5.0, 0.0);
    for row in 0..rows {
        if row % 25 == 0 {
            set_point = 5.0 + 6.0 * noise();
        }
        let error: f64 = set_point - speed;
        sum += error;
        let voltage = (5.0 + 0.4 * error + 0.05 * sum + 2.0 * noise()).clamp(0.0, 10.0);
        text += &format!("{:.1},{speed:.5},{set_point:.5},{voltage:.5}\n", 0.5 * row as f64);
        speed += 0.2 * (voltage - speed) + 0.05 * noise();
    }
    text
}

/// What the command prints, which must succeed.
pub fn succeed(directory: &Path, arguments: &[&str]) -> String {
    let output = fpsrl(directory, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    stdout(&output)
}

pub fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// A JSON file.
pub fn file(directory: &Path, name: &str) -> Value {
    json(&fs::read_to_string(directory.join(name)).unwrap())
}
