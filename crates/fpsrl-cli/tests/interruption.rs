//! A run survives whatever ends it: what it finds in the end is what it would have found at once.

mod common;

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use common::{command, fpsrl, refused, stderr};
use fpsrl::random::{Purpose, Stream};

/// A run of a few seconds, most of them in the search.
const PROBLEM: &str = r#"
name = "interrupted"
plant = "cart-pole-balancing"
[data]
samples = 1000
[world]
layers = 1
epochs = 20
[search]
particles = 40
iterations = 300
start_states = 100
[evaluation]
start_states = 20
"#;

fn with_problem() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("problem.toml"), PROBLEM).unwrap();
    directory
}

/// The policy, and the search's record without the clock, its last column but one.
fn found(run: &Path) -> (String, Vec<String>) {
    let rows = fs::read_to_string(run.join("search.csv")).unwrap();
    let without_clock = |row: &str| {
        row.split(',').enumerate().filter(|(at, _)| *at != 4).map(|(_, cell)| cell).collect::<Vec<_>>().join(",")
    };
    let rows = rows.lines().map(without_clock).collect();
    (fs::read_to_string(run.join("policy.json")).unwrap(), rows)
}

fn uninterrupted(directory: &Path) -> (String, Vec<String>) {
    let output = fpsrl(directory, &["run", "problem.toml", "--out", "whole"]);
    assert!(output.status.success(), "{}", stderr(&output));
    found(&directory.join("whole"))
}

/// Starts the run, or goes on with it if it has come as far as a directory.
fn start(directory: &Path) -> Child {
    let mut command = command(directory);
    if directory.join("killed").exists() {
        command.args(["run", "--resume", "killed"]);
    } else {
        command.args(["run", "problem.toml", "--out", "killed"]);
    }
    command.args(["--checkpoint-every", "0"]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
fn a_run_that_is_killed_at_any_moment_finds_the_same() {
    killed_at_any_moment(PROBLEM);
}

/// A race has several stages, and a front comes after it.
#[test]
fn a_race_that_is_killed_at_any_moment_finds_the_same() {
    let race = PROBLEM.replace("particles = 40\niterations = 300\n", "budget = \"12 Msteps\"\n");
    killed_at_any_moment(&format!("{race}[policy]\nfront = true\n"));
}

fn killed_at_any_moment(problem: &str) {
    let directory = with_problem();
    fs::write(directory.path().join("problem.toml"), problem).unwrap();
    let expected = uninterrupted(directory.path());
    let moments = Stream::new(1, Purpose::LogStart);
    let checkpoint = directory.path().join("killed/checkpoint.json");
    let mut kills = 0;
    loop {
        let mut child = start(directory.path());
        // From "nothing done yet" to well into the search; after twenty kills it may finish. Checkpoints are counted instead
        // of time, so that a fast machine is interrupted where a slow one is; how far the work is beyond the last one is
        // left to chance.
        let enough = if kills < 4 { kills as usize } else { moments.within(0.0, 30.0, 1, kills, 0) as usize };
        let (mut seen, mut changes) = (None, 0);
        let ended = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break Some(status);
            }
            let now = fs::metadata(&checkpoint).and_then(|file| file.modified()).ok();
            if now.is_some() && now != seen {
                changes += 1;
                seen = now;
            }
            if kills < 20 && changes >= enough {
                break None;
            }
            thread::sleep(Duration::from_millis(1));
        };
        match ended {
            Some(status) => {
                let said = stderr(&child.wait_with_output().unwrap());
                assert!(status.success(), "after {kills} kills: {said}");
                break;
            }
            None => {
                child.kill().unwrap();
                child.wait().unwrap();
                kills += 1;
            }
        }
    }
    assert!(kills > 3, "the run was too short to be killed more than {kills} times");
    let run = directory.path().join("killed");
    assert!(found(&run) == expected, "another result after {kills} kills");
    assert!(!run.join("checkpoint.json").exists() && !run.join("checkpoint.csv").exists());
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_cleanly_and_says_how_to_go_on() {
    let directory = with_problem();
    let mut child = start(directory.path());
    // Its first checkpoint says that it is in the search.
    let checkpoint = directory.path().join("killed/checkpoint.json");
    while !checkpoint.exists() && child.try_wait().unwrap().is_none() {
        thread::sleep(Duration::from_millis(5));
    }
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let output = child.wait_with_output().unwrap();
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains("stopped before the search was finished"), "{said}");
    assert!(said.contains("go on with `fpsrl run --resume killed`"), "{said}");
    // It was not finished, so it does not say so.
    assert!(said.contains("search   stopped after") && !said.contains("search   done"), "{said}");
    let output = fpsrl(directory.path(), &["run", "--resume", "killed"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(found(&directory.path().join("killed")) == uninterrupted(directory.path()));
}

/// Starts the run with signals as a terminal leaves them, or with one of them ignored.
#[cfg(target_os = "linux")]
fn start_with_signals(directory: &Path, how: &str) -> Child {
    let mut command = Command::new("env");
    command.arg(how).arg(env!("CARGO_BIN_EXE_fpsrl")).current_dir(directory);
    command.args(["run", "problem.toml", "--out", "killed", "--checkpoint-every", "0"]);
    command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn the_exit_code_says_which_signal_ended_it() {
    for (signal, code) in [("TERM", 143), ("HUP", 129), ("INT", 130)] {
        let directory = with_problem();
        let mut child = start_with_signals(directory.path(), "--default-signal=HUP,INT,TERM");
        let checkpoint = directory.path().join("killed/checkpoint.json");
        while !checkpoint.exists() && child.try_wait().unwrap().is_none() {
            thread::sleep(Duration::from_millis(5));
        }
        let sent = Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        let output = child.wait_with_output().unwrap();
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{signal}: {said}");
        assert!(said.contains("go on with `fpsrl run --resume killed`"), "{said}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn what_nohup_has_started_outlives_its_terminal() {
    let directory = with_problem();
    let mut child = start_with_signals(directory.path(), "--ignore-signal=HUP");
    let checkpoint = directory.path().join("killed/checkpoint.json");
    while !checkpoint.exists() && child.try_wait().unwrap().is_none() {
        thread::sleep(Duration::from_millis(5));
    }
    let sent = Command::new("kill").args(["-HUP", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
}

#[test]
fn a_finished_run_may_be_resumed_and_stays_as_it_is() {
    let directory = common::finished_run();
    let before = found(&directory.path().join("run"));
    let output = fpsrl(directory.path(), &["run", "--resume", "run"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(found(&directory.path().join("run")) == before);
}

#[test]
fn what_cannot_be_resumed_is_refused_with_a_way_out() {
    let directory = common::finished_run();
    let said = refused(directory.path(), &["run", "--resume", "nowhere"]);
    assert!(said.contains("nowhere cannot be read"), "{said}");
    for (checkpoint, complaint) in
        [("{", "checkpoint.json"), (r#"{"format": 99}"#, "format version 99"), (r#"{"format": 1}"#, "checkpoint.json")]
    {
        fs::write(directory.path().join("run/checkpoint.json"), checkpoint).unwrap();
        let said = refused(directory.path(), &["run", "--resume", "run"]);
        assert!(said.contains(complaint), "{said}");
    }
}

#[test]
fn settings_cannot_change_on_the_way() {
    let directory = common::finished_run();
    let output = fpsrl(directory.path(), &["run", "--resume", "run", "--particles", "7"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("--particles"));
}
