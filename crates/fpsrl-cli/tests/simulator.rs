//! A process as the world of `problem.toml`, at the command. This program is also the process: with `--simulate` it reads
//! lines of JSON and answers them, so that nothing from outside is needed.

mod common;

use std::fs;
use std::io::{BufRead, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use common::{fpsrl, refused, stderr, stdout};
use serde_json::{Value, json};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(place) = arguments.iter().position(|argument| argument == "--simulate") {
        return simulate(arguments.get(place + 1).and_then(|limit| limit.parse().ok()));
    }
    let tests: [(&str, fn()); 8] = [
        ("a_process_is_searched_and_reported_without_a_log", a_process_is_searched_and_reported_without_a_log),
        ("a_log_may_stand_beside_a_process", a_log_may_stand_beside_a_process),
        ("a_process_that_breaks_is_an_error", a_process_that_breaks_is_an_error),
        ("what_does_not_go_with_a_process_is_refused", what_does_not_go_with_a_process_is_refused),
        ("no_verb_starts_a_program_that_nobody_has_allowed", no_verb_starts_a_program_that_nobody_has_allowed),
        ("verbs_that_need_no_program_ask_for_none", verbs_that_need_no_program_ask_for_none),
        ("whoever_sits_at_a_terminal_is_asked", whoever_sits_at_a_terminal_is_asked),
        ("a_sweep_hands_the_permission_on", a_sweep_hands_the_permission_on),
    ];
    let wanted = arguments.iter().skip(1).find(|argument| !argument.starts_with('-'));
    for (name, test) in tests {
        if wanted.is_none_or(|wanted| name.contains(wanted.as_str())) {
            test();
            println!("test {name} ... ok");
        }
    }
}

/// A tank: 0.2 m flows in through an open valve in each step, and a tenth of what is there leaks out. It breaks after so
/// many questions, if it is told to.
fn simulate(breaks_after: Option<usize>) {
    let mut output = std::io::stdout().lock();
    let mut questions = 0;
    for line in std::io::stdin().lock().lines() {
        let question: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let answer = if question["fpsrl"].is_number() {
            assert_eq!((&question["states"], &question["actions"]), (&json!(["level"]), &json!(["valve"])));
            json!({ "largest_reward": 0 })
        } else {
            questions += 1;
            if breaks_after.is_some_and(|limit| questions > limit) {
                return;
            }
            let number = |rows: &str, row: usize| question[rows][row][0].as_f64().unwrap();
            let count = question["states"].as_array().unwrap().len();
            let next: Vec<f64> =
                (0..count).map(|row| 0.9 * number("states", row) + 0.2 * number("actions", row)).collect();
            let rewards: Vec<f64> = next.iter().map(|level| -(level - 1.0).abs()).collect();
            json!({ "next_states": next.iter().map(|level| [level]).collect::<Vec<_>>(), "rewards": rewards })
        };
        writeln!(output, "{answer}").unwrap();
        output.flush().unwrap();
    }
}

/// A problem whose world is this program.
fn problem(process: &[&str], more: &str) -> String {
    let program = std::env::current_exe().unwrap();
    let words: Vec<&str> = std::iter::once(program.to_str().unwrap()).chain(process.iter().copied()).collect();
    format!(
        "name = 'tank'\nhorizon = 30\n[[state]]\nname = 'level'\nstart = [0.0, 2.0]\n[[action]]\nname = 'valve'\n\
         limits = [0.0, 1.0]\nrate = 0.25\n{more}\n[world]\nprocess = {}\n[policy]\nrules = 2\n[search]\n\
         particles = 10\niterations = 12\nstart_states = 10\n[evaluation]\nstart_states = 20\n",
        json!(words)
    )
}

fn put(directory: &Path, problem: &str) {
    fs::write(directory.join("problem.toml"), problem).unwrap();
}

fn a_process_is_searched_and_reported_without_a_log() {
    let directory = tempfile::tempdir().unwrap();
    put(directory.path(), &problem(&["--simulate"], "[data]\nsamples = 300\nepisode_length = 30\n"));
    let output = fpsrl(directory.path(), &["run", "problem.toml", "--out", "run", "--json", "--allow-process"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let summary: Value = serde_json::from_str(&stdout(&output)).unwrap();
    // Idle, the level is 1 on average from 0 to 2, and a good valve keeps it there.
    assert!(summary["model_return"].as_f64().unwrap() > -4.0, "{summary}");
    assert!(summary["verdict"].is_null() && summary["promise"]["interval"][0].is_number(), "{summary}");
    assert_eq!(summary["samples"], 300);
    for file in ["problem.toml", "transitions.csv", "world.json", "policy.json", "report.html"] {
        assert!(directory.path().join("run").join(file).exists(), "{file}");
    }
    let log = fs::read_to_string(directory.path().join("run/transitions.csv")).unwrap();
    assert!(log.starts_with("episode,step,level,valve_1,valve,next_level,next_valve_1,reward"), "{log:.200}");
    // What was applied never moved faster than it may.
    for row in log.lines().skip(1) {
        let cells: Vec<f64> = row.split(',').map(|cell| cell.parse().unwrap()).collect();
        assert!((cells[4] - cells[3]).abs() <= 0.25 + 1e-6, "{row}");
    }
    let page = fs::read_to_string(directory.path().join("run/report.html")).unwrap();
    assert!(page.contains("found on a simulator") && page.contains("The simulator promises"));
    for stage in [&["fit"][..], &["search"], &["evaluate", "--ceiling"], &["report"]] {
        let output = fpsrl(directory.path(), &[stage, &["run", "--quiet", "--allow-process"]].concat());
        assert!(output.status.success(), "{stage:?}: {}", stderr(&output));
    }
    // A valve that moves slowly is planned by what can be applied of it, at a price that a slow simulator can bear.
    let summary = fs::read_to_string(directory.path().join("run/summary.json")).unwrap();
    let ceiling = &serde_json::from_str::<Value>(&summary).unwrap()["ceiling"];
    let figure = |name: &str| ceiling[name].as_f64().unwrap();
    assert!(figure("return") >= figure("policy") && figure("return") > figure("idle"), "{ceiling}");
    assert!(figure("model_steps") <= 90_000.0 && ceiling["start_states"] == 10, "{ceiling}");
    let output = fpsrl(directory.path(), &["explain", "run"]);
    assert!(stdout(&output).contains("valve"), "{}", stderr(&output));
    let output = fpsrl(directory.path(), &["search", "run", "--rules", "auto", "--quiet", "--allow-process"]);
    assert!(output.status.success(), "{}", stderr(&output));
}

fn a_log_may_stand_beside_a_process() {
    let directory = tempfile::tempdir().unwrap();
    let mut log = "level,valve,reward\n".to_owned();
    let mut level = 0.3;
    for row in 0..300 {
        let valve = [0.2, 0.7, 1.0, 0.4][row * 7 / 3 % 4];
        log += &format!("{level:?},{valve:?},0\n");
        level = 0.9 * level + 0.2 * valve;
    }
    fs::write(directory.path().join("log.csv"), log).unwrap();
    put(directory.path(), &problem(&["--simulate"], "[data]\nfile = 'log.csv'\nreward = 'reward'\n"));
    let output = fpsrl(directory.path(), &["run", "problem.toml", "--out", "run", "--json", "--allow-process"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let summary: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert!(summary["behaviour"]["cloned_return"].is_number(), "{summary}");
}

fn a_process_that_breaks_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let data = "[data]\nsamples = 300\nepisode_length = 30\n";
    // While the log is drawn: nothing is left behind.
    put(directory.path(), &problem(&["--simulate", "5"], data));
    let said = refused(directory.path(), &["run", "problem.toml", "--out", "run", "--quiet", "--allow-process"]);
    assert!(said.contains("the simulator") && said.contains("it ended instead of answering"), "{said}");
    // In the middle of the search: the search says so, and leaves no policy.
    put(directory.path(), &problem(&["--simulate", "200"], data));
    let output = fpsrl(directory.path(), &["run", "problem.toml", "--out", "run", "--quiet", "--allow-process"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("it ended instead of answering"), "{}", stderr(&output));
    assert!(!directory.path().join("run/policy.json").exists());
}

fn what_does_not_go_with_a_process_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let said = |text: &str| {
        put(directory.path(), text);
        refused(directory.path(), &["run", "problem.toml", "--quiet", "--allow-process"])
    };
    let history = said(&problem(&["--simulate"], "[data]\nfile = 'log.csv'\nreward = 'reward'\nhistory = 2\n"));
    assert!(history.contains("data.history") && history.contains("its own past"), "{history}");
    let empty = said(
        "horizon = 5\n[[state]]\nname = 'x'\nstart = [0, 1]\n[[action]]\nname = 'u'\nlimits = [0, 1]\n[world]\nprocess = []\n",
    );
    assert!(empty.contains("world.process"), "{empty}");
    let nowhere = said(&problem(&["--simulate"], "").replace("start = [0.0, 2.0]\n", ""));
    assert!(nowhere.contains("state.level.start"), "{nowhere}");
    let plant = said("plant = 'mountain-car'\n[world]\nprocess = ['true']\n");
    assert!(plant.contains("world.process"), "{plant}");
    let missing = said(
        "horizon = 5\n[[state]]\nname = 'x'\nstart = [0, 1]\n[[action]]\nname = 'u'\nlimits = [0, 1]\n[world]\n\
         process = ['no-such-simulator']\n",
    );
    assert!(missing.contains("it cannot be started"), "{missing}");
}

/// A finished run on this program, at `run` below a new directory.
fn finished() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    put(directory.path(), &problem(&["--simulate"], "[data]\nsamples = 300\nepisode_length = 30\n"));
    let output = fpsrl(directory.path(), &["run", "problem.toml", "--out", "run", "--quiet", "--allow-process"]);
    assert!(output.status.success(), "{}", stderr(&output));
    directory
}

fn no_verb_starts_a_program_that_nobody_has_allowed() {
    let directory = finished();
    let place = directory.path();
    fs::write(place.join("sweep.toml"), "problem = 'problem.toml'\nseeds = 1\n").unwrap();
    let verbs: [&[&str]; 8] = [
        &["run", "problem.toml", "--out", "other"],
        &["generate", "problem.toml", "--out", "other"],
        &["run", "--resume", "run"],
        &["fit", "run"],
        &["search", "run"],
        &["evaluate", "run"],
        &["report", "run"],
        &["nfq", "run"],
    ];
    // A run that is finished has nothing left to be made, but its ceiling and its report.
    fs::remove_file(place.join("run/report.html")).unwrap();
    for verb in verbs {
        let said = refused(place, verb);
        assert!(
            said.contains("--simulate, but a program that a file names is started only if that is allowed"),
            "{said}"
        );
        assert!(said.contains("allow it with --allow-process"), "{verb:?}: {said}");
    }
    let output = fpsrl(place, &["sweep", "sweep.toml"]);
    assert!(stdout(&output).contains("1 failed") && stdout(&output).contains("only if that is allowed"), "{output:?}");
}

fn verbs_that_need_no_program_ask_for_none() {
    let directory = finished();
    for verb in [&["explain", "run"][..], &["export", "run", "--to", "json"], &["check", "run"]] {
        let output = fpsrl(directory.path(), verb);
        let said = stderr(&output);
        assert!(!said.contains("allow") && !said.contains("program"), "{verb:?}: {said}");
    }
    let output = fpsrl(directory.path(), &["explain", "run"]);
    assert!(output.status.success(), "{}", stderr(&output));
}

/// `script` gives a command a terminal of its own; it is a part of util-linux.
fn whoever_sits_at_a_terminal_is_asked() {
    if !cfg!(target_os = "linux") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path();
    put(place, &problem(&["--simulate", "\u{1b}[2J"], "[data]\nsamples = 300\nepisode_length = 30\n"));
    let asked = |answer: &str| {
        let command = format!("{} generate problem.toml --out run --quiet", env!("CARGO_BIN_EXE_fpsrl"));
        let mut child = Command::new("script")
            .args(["--quiet", "--return", "--command", &command, "/dev/null"])
            .current_dir(place)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("`script` of util-linux");
        child.stdin.take().unwrap().write_all(answer.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    for answer in ["\n", "n\n", "what\n"] {
        let (code, said) = asked(answer);
        assert!(said.contains("problem.toml names a program as its world") && said.contains("[y/N]"), "{said}");
        // What it would start is shown, and not obeyed.
        assert!(said.contains(r"--simulate $'\x1b[2J'") && !said.contains('\u{1b}'), "{said:?}");
        assert!(said.contains("only if that is allowed"), "{said}");
        assert_eq!(code, Some(2), "{said}");
        assert!(!place.join("run").exists());
    }
    let (code, said) = asked("y\n");
    assert_eq!(code, Some(0), "{said}");
    assert!(place.join("run/transitions.csv").exists());
}

fn a_sweep_hands_the_permission_on() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path();
    put(place, &problem(&["--simulate"], "[data]\nsamples = 300\nepisode_length = 30\n"));
    fs::write(place.join("sweep.toml"), "problem = 'problem.toml'\nseeds = 2\n").unwrap();
    let output = fpsrl(place, &["sweep", "sweep.toml", "--slurm", "--allow-process", "--quiet"]);
    assert!(stdout(&output).contains("--quiet --allow-process || failed=1"), "{}", stderr(&output));
    let output = fpsrl(place, &["sweep", "sweep.toml", "--allow-process"]);
    assert!(output.status.success() && stdout(&output).contains("2 finished"), "{output:?}");
    // What is only gathered starts nothing.
    let output = fpsrl(place, &["sweep", "sweep.toml", "--collect"]);
    assert!(output.status.success() && stdout(&output).contains("2 finished"), "{output:?}");
}
