//! Names from outside, of files and of columns, become neither settings nor commands to a terminal.

mod common;

use std::fs;
use std::path::Path;
use std::process::Output;

use common::{command, fpsrl, refused, stderr, stdout};

/// What writes over a line, clears a screen, renames a window, turns the direction of writing, and hides.
const HOSTILE: &str = "a\rb\u{1b}[2J\u{1b}]0;x\u{7}\u{9b}31m\u{7f}\u{85}\u{2028}\u{202e}\u{2066}\u{200b}\u{feff}";

/// Characters that a terminal would obey, or that hide.
fn acts(c: char) -> bool {
    fpsrl::visible::acts(c) && c != '\n'
}

/// Everything that a command has printed, which must not hold anything that acts.
fn harmless(output: &Output) -> String {
    let said = format!("{}{}", stdout(output), stderr(output));
    assert!(!said.chars().any(acts), "{said:?}");
    said
}

fn log(title: &str) -> String {
    let mut text = format!("{title},valve,reward\n");
    let mut level = 0.3;
    for row in 0..300 {
        let valve = [0.2, 0.7, 1.0, 0.4][row * 7 / 3 % 4];
        level = 0.9 * level + 0.2 * valve;
        text += &format!("{level:?},{valve:?},{:?}\n", -(level - 1.0_f64).abs());
    }
    text
}

fn settings(path: &Path) -> toml::Table {
    let text = fs::read_to_string(path).unwrap();
    assert!(!text.chars().any(acts), "{text:?}");
    text.parse().unwrap_or_else(|error| panic!("{error}\n{text}"))
}

#[test]
fn a_columns_name_is_written_down_whole_and_shown_harmlessly() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path();
    let title = format!("{HOSTILE}\nname = 'evil'\n\"\"\"\\[[state]]");
    let quoted = format!("\"{}\"", title.replace('"', "\"\""));
    fs::write(place.join("log.csv"), log(&quoted)).unwrap();
    let output = fpsrl(place, &["init", "log.csv", "--action", "valve"]);
    let said = harmless(&output);
    assert!(output.status.success(), "{said}");
    let file = settings(&place.join("problem.toml"));
    assert_eq!(file["name"].as_str(), Some("log"));
    assert_eq!(file["state"].as_array().unwrap().len(), 1);
    // Line breaks within a title are read as the reader of logs has them; all else comes back.
    let column = file["state"][0]["column"].as_str().unwrap();
    assert!(column.starts_with("a") && column.contains("\u{1b}[2J") && column.contains('\u{202e}'), "{column:?}");
    let output = fpsrl(place, &["check", "problem.toml"]);
    assert!(output.status.success(), "{}", harmless(&output));
    let output = fpsrl(place, &["check", "problem.toml", "--json"]);
    harmless(&output);
    // Errors name it too.
    let text = fs::read_to_string(place.join("problem.toml")).unwrap();
    fs::write(place.join("problem.toml"), text.replacen("column = \"a", "column = \"b", 1)).unwrap();
    let said = refused(place, &["check", "problem.toml"]);
    assert!(!said.chars().any(acts), "{said:?}");
    assert!(said.contains(r"\u{1b}[2J"), "{said}");
}

#[cfg(unix)]
#[test]
fn a_files_name_is_no_setting_and_no_command() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path();
    let name = "log\nhorizon = 1\n[data]\u{1b}[2J\r\u{202e}.csv";
    fs::write(place.join(name), log("level")).unwrap();
    let output = fpsrl(place, &["init", name, "--action", "valve", "--out", "p\u{1b}[2J.toml"]);
    let said = harmless(&output);
    assert!(output.status.success(), "{said}");
    let file = settings(&place.join("p\u{1b}[2J.toml"));
    assert_ne!(file["horizon"].as_integer(), Some(1));
    assert!(file["data"]["file"].as_str().unwrap().contains("log\nhorizon = 1"), "{file:?}");
    // The command that is told to be copied is one word for a shell.
    assert!(said.contains(r"fpsrl check $'p\x1b[2J.toml'"), "{said}");
    harmless(&fpsrl(place, &["check", "p\u{1b}[2J.toml"]));
    for arguments in [
        &["run", "no\u{1b}[2J.toml"][..],
        &["fit", "no\n\u{1b}[2J"],
        &["run", "mountain-car", "--threads", "\u{1b}[2J"],
        &["run", "mountain-car", "--\u{1b}[2J"],
        &["\u{9b}2J"],
        &["init", "no\u{1b}[2J.csv"],
        &["import", "no\u{1b}[2J.fll"],
        &["check", "mountain\u{202e}-car"],
    ] {
        let output = command(place).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", harmless(&output));
        harmless(&output);
    }
}

#[test]
fn a_name_of_a_hundred_kilobytes_buries_no_message() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path();
    let long = "x".repeat(100_000);
    fs::write(place.join("log.csv"), log(&long)).unwrap();
    let output = fpsrl(place, &["init", "log.csv", "--action", "valve"]);
    let said = harmless(&output);
    assert!(output.status.success(), "{said:.3000}");
    assert!(said.len() < 10_000 && said.contains("(100,000 characters)"), "{}", said.len());
    let text = fs::read_to_string(place.join("problem.toml")).unwrap();
    // Once, as the column that is read.
    assert_eq!(text.matches(&long).count(), 1);
    let output = fpsrl(place, &["check", "problem.toml"]);
    assert!(output.status.success() && harmless(&output).len() < 10_000, "{}", stderr(&output));
    for arguments in [
        &["init", "log.csv", "--force", "--reward", "xx"][..],
        &["init", "log.csv", "--force", "--reward", &format!("{long}y")],
        &["init", "log.csv", "--force", "--action", &long[1..]],
    ] {
        let said = refused(place, arguments);
        assert!(said.len() < 10_000, "{}", said.len());
    }
    fs::write(place.join("problem.toml"), format!("{long} = 1\n")).unwrap();
    let said = refused(place, &["check", "problem.toml"]);
    assert!(said.len() < 10_000, "{}", said.len());
}

#[test]
fn a_run_of_someone_else_shows_nothing_that_acts() {
    let directory = common::finished_run();
    let place = directory.path();
    let summary = place.join("run/summary.json");
    let text = fs::read_to_string(&summary).unwrap();
    let escaped = serde_json::to_string(&format!("{HOSTILE}\n  gain  1e9")).unwrap();
    let hostile = text.replacen("\"problem\": \"small\"", &format!("\"problem\": {escaped}"), 1);
    assert_ne!(text, hostile);
    fs::write(&summary, hostile).unwrap();
    let output = fpsrl(place, &["evaluate", "run"]);
    let said = harmless(&output);
    // No line of its own.
    assert!(!said.lines().any(|line| line.starts_with("  gain  1e9")), "{said}");
    // Names in rules.
    let policy = place.join("run/policy.json");
    let text = fs::read_to_string(&policy).unwrap().replace("\"N\"", &escaped);
    fs::write(&policy, text).unwrap();
    harmless(&fpsrl(place, &["explain", "run"]));
    harmless(&fpsrl(place, &["export", "run/policy.json", "--to", "c"]));
}

#[test]
fn the_system_speaks_in_words_of_ours() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path();
    fs::write(place.join("log.csv"), log("level")).unwrap();
    fs::write(place.join("problem.toml"), "").unwrap();
    let said = refused(place, &["init", "log.csv"]);
    assert!(said.contains("something of that name is there already") && said.contains("--force"), "{said}");
    let long = "o".repeat(300);
    let said = refused(place, &["generate", "mountain-car", "--out", &long]);
    assert!(said.contains("too long") && said.contains("255 bytes"), "{said}");
    assert!(!said.contains("check the disk"), "{said}");
    let said = refused(place, &["init", "log.csv", "--out", &format!("{long}/p.toml")]);
    assert!(said.contains("too long") && !said.contains("check the disk"), "{said}");
    let said = refused(place, &["generate", "mountain-car", "--out", "log.csv/below"]);
    assert!(said.contains("a part of the path is a file"), "{said}");
    let said = refused(place, &["run", "nowhere.toml"]);
    assert!(said.contains("there is no such file") && !said.contains("os error"), "{said}");
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("round", place.join("round")).unwrap();
        for arguments in [&["init", "round/log.csv", "--force"][..], &["fit", "round"], &["import", "round/a.fll"]] {
            let output = fpsrl(place, arguments);
            let said = stderr(&output);
            assert_eq!(output.status.code(), Some(2), "{said}");
            assert!(said.contains("lead around in a circle") && said.contains("of the file itself"), "{said}");
        }
    }
}
