//! Bad input gets one clear message with what to do, exit code 2, and nothing half-written.

mod common;

use std::fs;
use std::path::Path;

use common::{SMALL, command, contents, finished_run, fpsrl, refused, stderr, stdout};

/// What the command says of a problem file.
fn refused_problem(text: &str) -> String {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("bad.toml"), text).unwrap();
    refused(directory.path(), &["run", "bad.toml"])
}

/// What a stage says after one file of a finished run has been changed.
fn refused_after(stage: &str, file: &str, change: impl FnOnce(Vec<u8>) -> Vec<u8>) -> String {
    let directory = finished_run();
    let path = directory.path().join("run").join(file);
    fs::write(&path, change(fs::read(&path).unwrap())).unwrap();
    let said = refused(directory.path(), &[stage, "run"]);
    assert!(said.contains(file), "{said}");
    said
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

fn half(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.truncate(bytes.len() / 2);
    bytes
}

#[test]
fn unknown_names_are_answered_with_the_nearest() {
    let directory = tempfile::tempdir().unwrap();
    let said = refused(directory.path(), &["run", "mountin-car"]);
    assert!(said.contains("`mountin-car`") && said.contains("did you mean `mountain-car`?"), "{said}");
    let said = refused_problem("plant = \"cart-pole\"");
    assert!(said.contains("there is no plant called `cart-pole`"), "{said}");
    let said = refused_problem("plant = \"mountain-car\"\n[search]\npartcles = 3\n");
    assert!(said.contains("bad.toml, line 3") && said.contains("did you mean `particles`?"), "{said}");
    let said = refused_problem("plant = \"mountain-car\"\n[world]\ntrainer = \"adm\"\n");
    assert!(said.contains("did you mean `adam`?"), "{said}");
}

#[test]
fn a_start_that_was_mistyped_is_refused_before_anything_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let text =
        "start = 'dta'\n[[state]]\nname = 'x'\n[[action]]\nname = 'u'\nlimits = [0, 1]\n[data]\nfile = 'none.csv'\n";
    fs::write(directory.path().join("bad.toml"), format!("horizon = 9\n{text}")).unwrap();
    for verb in ["run", "check"] {
        let said = refused(directory.path(), &[verb, "bad.toml"]);
        assert!(said.contains("there is no start of rollouts called `dta`"), "{said}");
        assert!(said.contains("did you mean `data`?") && said.contains("CSV file"), "{said}");
    }
}

#[test]
fn too_many_variables_are_not_blamed_on_the_history() {
    let directory = tempfile::tempdir().unwrap();
    let inputs: String = (0..70).map(|index| format!("[[input]]\nname = 'd{index}'\n")).collect();
    let text = format!(
        "horizon = 9\n{inputs}[[state]]\nname = 'x'\n[[action]]\nname = 'u'\nlimits = [0, 1]\n[data]\nfile = 'none.csv'\n\
         history = 'auto'\n"
    );
    fs::write(directory.path().join("wide.toml"), text).unwrap();
    let said = refused(directory.path(), &["check", "wide.toml"]);
    assert!(!said.contains("history") && said.contains("at most 64 variables") && said.contains("[[input]]"), "{said}");
    // A draft that would be refused so is not made.
    let titles: Vec<String> = (0..200).map(|index| format!("PT{index}.PV")).collect();
    let mut log = format!("{},valve\n", titles.join(","));
    for row in 0..60 {
        let cells: Vec<String> = (0..201).map(|column| format!("{}", (row * (column + 3) * 37) % 101)).collect();
        log += &format!("{}\n", cells.join(","));
    }
    fs::write(directory.path().join("log.csv"), log).unwrap();
    let said = refused(directory.path(), &["init", "log.csv"]);
    assert!(said.contains("at most 64 variables are possible") && said.contains("--state"), "{said}");
}

#[test]
fn an_optimiser_an_effort_or_a_budget_that_there_is_not_is_refused_with_what_there_is() {
    let directory = tempfile::tempdir().unwrap();
    for (arguments, reasons) in [
        (["--optimiser", "cmaes"], ["optimiser called `cmaes`", "cma-es"]),
        (["--effort", "huge"], ["effort called `huge`", "thorough"]),
        (["--budget", "0m"], ["above zero", "5m"]),
        (["--budget", "5"], ["no unit", "5m"]),
        (["--budget", "5 parsecs"], ["`parsecs` is no unit", "Msteps"]),
    ] {
        let said = refused(directory.path(), &["run", "mountain-car", arguments[0], arguments[1]]);
        assert!(reasons.iter().all(|reason| said.contains(reason)), "{arguments:?}: {said}");
    }
    let output = fpsrl(directory.path(), &["run", "mountain-car", "--effort", "quick", "--budget", "5m"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("--budget"), "{}", stderr(&output));
}

#[test]
fn values_out_of_range_are_named_by_their_key() {
    let directory = tempfile::tempdir().unwrap();
    for (arguments, key) in [
        (["--rules", "0"], "policy.rules"),
        (["--particles", "1"], "search.particles"),
        (["--iterations", "0"], "search.iterations"),
        (["--samples", "50"], "data.samples"),
        (["--samples", "150"], "search.start_states"),
        (["--samples", "0"], "data.samples"),
        (["--seed", "18446744073709551615"], "seed"),
    ] {
        let said = refused(directory.path(), &["run", "mountain-car", arguments[0], arguments[1]]);
        assert!(said.contains(&format!("`{key}`")), "{said}");
    }
    for (lines, key) in [
        ("horizon = 1", "horizon"),
        ("discount_q = nan", "discount_q"),
        ("success = inf", "success"),
        ("[[state]]\nname = \"velocity\"\nwidth = [0.0, 1.0]", "state.velocity.width"),
        ("[[state]]\nname = \"velocity\"\nwidth = [-1.0, 1.0]", "state.velocity.width"),
        ("[[state]]\nname = \"velocity\"\ncentre = [nan, 1.0]", "state.velocity.centre"),
        ("[data]\nsamples = 99", "data.samples"),
        ("[data]\nsamples = 101", "search.start_states"),
        ("[search]\nparticles = 10\nbudget = \"5m\"", "search.budget"),
        ("[world]\nreward = \"positon < 0.6 ? -1 : 0\"", "world.reward"),
        ("[world]\nterminal = \"position + 1\"", "world.terminal"),
    ] {
        let said = refused_problem(&format!("plant = \"mountain-car\"\n{lines}\n"));
        assert!(said.contains(&format!("`{key}`")), "{said}");
    }
}

#[test]
fn a_fault_in_a_formula_is_named_with_its_place_and_what_is_known() {
    let said = refused_problem("plant = \"mountain-car\"\n[world]\nreward = \"position < 0.6 ? -1 : speed\"\n");
    assert!(said.contains("character 23: there is no variable or function called `speed`"), "{said}");
    assert!(said.contains("previous_velocity") && said.contains("abs"), "{said}");
}

#[test]
fn a_problem_without_a_plant_cannot_generate() {
    let said = refused_problem(
        "horizon = 5\n[[state]]\nname = \"x\"\nstart = [0, 1]\n[[action]]\nname = \"u\"\nlimits = [0, 1]\n",
    );
    assert!(said.contains("needs the true plant") && said.contains("transitions.csv"), "{said}");
}

#[test]
fn problem_files_that_cannot_be_read_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    assert!(refused(directory.path(), &["run", "none.toml"]).contains("none.toml cannot be read"));
    fs::create_dir(directory.path().join("folder.toml")).unwrap();
    assert!(refused(directory.path(), &["run", "folder.toml"]).contains("folder.toml cannot be read"));
    fs::write(directory.path().join("binary.toml"), b"name = \"\xff\xfe\"").unwrap();
    assert!(refused(directory.path(), &["run", "binary.toml"]).contains("binary.toml, line 1: this is not text"));
    assert!(refused_problem("format = 2\nfuture = 1\n").contains("format version 2"));
    assert!(refused_problem(&SMALL[..SMALL.len() - 3]).contains("bad.toml, line"));
}

#[test]
fn an_existing_run_is_refused_unless_forced() {
    let directory = finished_run();
    fs::write(directory.path().join("small.toml"), SMALL).unwrap();
    fs::write(directory.path().join("run/notes.txt"), "mine").unwrap();
    let said = refused(directory.path(), &["run", "small.toml", "--out", "run"]);
    assert!(said.contains("exists already") && said.contains("--force"), "{said}");
    let output = fpsrl(directory.path(), &["generate", "small.toml", "--out", "run", "--force", "--seed", "9"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let names: Vec<String> = contents(&directory.path().join("run"))
        .iter()
        .map(|(path, _)| path.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    assert_eq!(names, ["notes.txt", "problem.toml", "summary.json", "transitions.csv"]);
}

#[test]
fn a_place_that_cannot_be_written_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("file"), "").unwrap();
    refused(directory.path(), &["generate", "mountain-car", "--out", "file"]);
    refused(directory.path(), &["generate", "mountain-car", "--out", "file/below"]);
}

/// A full disk, made with the system's limit on the size of a file: the write fails midway in the same manner.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_leaves_nothing_half_written() {
    let limited = |directory: &Path, arguments: &str| {
        let before = contents(directory);
        // Without the trap, the signal would end the command before it could say anything.
        let script = format!("trap '' XFSZ; ulimit -f 6; exec '{}' {arguments}", env!("CARGO_BIN_EXE_fpsrl"));
        let output = std::process::Command::new("bash").args(["-c", &script]).current_dir(directory).output().unwrap();
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("cannot be written") && said.contains("hint: "), "{said}");
        (said, before == contents(directory))
    };
    let directory = tempfile::tempdir().unwrap();
    let (said, untouched) = limited(directory.path(), "generate mountain-car --samples 5000 --out runs/deep/a");
    assert!(said.contains("runs/deep/a/transitions.csv"), "{said}");
    assert!(untouched);
    // A stage that fails keeps what the last one made.
    let directory = finished_run();
    let (said, untouched) = limited(directory.path(), "fit run");
    assert!(said.contains("world.json"), "{said}");
    assert!(untouched);
    let (said, untouched) = limited(directory.path(), "search run --rules 40");
    assert!(said.contains("policy.json"), "{said}");
    assert!(untouched);
}

#[test]
fn a_directory_without_a_run_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    for stage in ["fit", "search", "evaluate"] {
        assert!(refused(directory.path(), &[stage, "nowhere"]).contains("nowhere cannot be read"));
        assert!(refused(directory.path(), &[stage, "."]).contains("it has no problem.toml"));
    }
}

#[test]
fn a_stage_that_comes_too_early_is_told_which_is_first() {
    let directory = finished_run();
    fs::remove_file(directory.path().join("run/policy.json")).unwrap();
    assert!(refused(directory.path(), &["evaluate", "run"]).contains("hint: run `fpsrl search run` first"));
    fs::remove_file(directory.path().join("run/world.json")).unwrap();
    assert!(refused(directory.path(), &["search", "run"]).contains("hint: run `fpsrl fit run` first"));
    fs::remove_file(directory.path().join("run/transitions.csv")).unwrap();
    assert!(refused(directory.path(), &["fit", "run"]).contains("transitions.csv is missing"));
}

#[test]
fn broken_logs_are_refused_with_line_and_column() {
    let edited = |from: &'static str, to: &'static str| move |bytes| text(bytes).replacen(from, to, 1).into_bytes();
    let said = refused_after("fit", "transitions.csv", edited("0,3,", "0,3,NaN"));
    assert!(said.contains("line 5, column `position`"), "{said}");
    let said = refused_after("fit", "transitions.csv", edited("velocity", "velocty"));
    assert!(said.contains("there is no column called `velocity`") && said.contains("`velocty`"), "{said}");
    let said = refused_after("fit", "transitions.csv", edited("0,3,", "0,3,,"));
    assert!(said.contains("line 5: this row has 9 fields"), "{said}");
    refused_after("fit", "transitions.csv", half);
    refused_after("fit", "transitions.csv", |_| Vec::new());
    refused_after("fit", "transitions.csv", |bytes| text(bytes).lines().next().unwrap().as_bytes().to_vec());
    let few = |bytes| text(bytes).lines().take(6).map(|line| format!("{line}\n")).collect::<String>().into_bytes();
    assert!(refused_after("fit", "transitions.csv", few).contains("it has 5 rows"));
}

#[test]
fn truncated_newer_and_foreign_files_are_refused() {
    let newer = |bytes| text(bytes).replacen("\"format\": 1", "\"format\": 99", 1).into_bytes();
    for (stage, file) in [("search", "world.json"), ("evaluate", "world.json"), ("evaluate", "policy.json")] {
        let said = refused_after(stage, file, half);
        assert!(said.contains("truncated"), "{stage} {file}: {said}");
        assert!(refused_after(stage, file, newer).contains("format version 99"));
        refused_after(stage, file, |_| b"{}".to_vec());
        refused_after(stage, file, |_| vec![0xff; 40]);
    }
    let appended = |mut bytes: Vec<u8>| {
        bytes.extend_from_slice(b"9,0,0.1,0.1,0.1,0.1,0.1,-1.0\n");
        bytes
    };
    assert!(refused_after("search", "transitions.csv", appended).contains("another log"));
    let renamed = |bytes| text(bytes).replace("\"velocity\"", "\"speed\"").into_bytes();
    assert!(refused_after("search", "world.json", renamed).contains("does not fit"));
    assert!(refused_after("evaluate", "policy.json", renamed).contains("does not fit"));
    let newer_problem = |bytes| text(bytes).replacen("format = 1", "format = 2", 1).into_bytes();
    assert!(refused_after("search", "problem.toml", newer_problem).contains("format version 2"));
}

#[test]
fn a_policy_with_a_width_of_zero_is_refused() {
    let flattened = |bytes: Vec<u8>| {
        let mut policy: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        policy["actions"][0]["rules"][0]["width"][1] = 0.0.into();
        policy.to_string().into_bytes()
    };
    let said = refused_after("evaluate", "policy.json", flattened);
    assert!(said.contains("width"), "{said}");
}

#[test]
fn a_search_with_bad_settings_changes_nothing() {
    let directory = finished_run();
    let said = refused(directory.path(), &["search", "run", "--rules", "0"]);
    assert!(said.contains("`policy.rules`"), "{said}");
    let more = |bytes| text(bytes).replacen("start_states = 5 ", "start_states = 401 ", 1).into_bytes();
    assert!(refused_after_naming("search", "problem.toml", more).contains("400 rows"));
}

/// As [`refused_after`], for messages that name a setting instead of the file.
fn refused_after_naming(stage: &str, file: &str, change: impl FnOnce(Vec<u8>) -> Vec<u8>) -> String {
    let directory = finished_run();
    let path = directory.path().join("run").join(file);
    fs::write(&path, change(fs::read(&path).unwrap())).unwrap();
    refused(directory.path(), &[stage, "run"])
}

#[test]
fn wrong_usage_has_exit_code_2() {
    let directory = tempfile::tempdir().unwrap();
    for arguments in [
        &["run", "mountain-car", "--sed", "3"] as &[&str],
        &["run", "mountain-car", "--threads", "0"],
        &["run", "mountain-car", "--seed", "one"],
        &["run"],
        &["fly"],
        &[],
    ] {
        let output = fpsrl(directory.path(), arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert_eq!(stdout(&output), "");
        assert!(contents(directory.path()).is_empty());
    }
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_printed_is_an_error_and_a_closed_pipe_is_none() {
    let directory = finished_run();
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = command(directory.path()).args(["evaluate", "run", "--json"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("error: the result cannot be printed"));
    for format in ["--json", "--quiet"] {
        let mut child = command(directory.path())
            .args(["evaluate", "run", format])
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert!(!stderr(&output).contains("error"), "{}", stderr(&output));
    }
}
