//! A process as the world of `problem.toml`, at the command. This program is also the process: with `--simulate` it reads
//! lines of JSON and answers them, so that nothing from outside is needed.

mod common;

use std::fs;
use std::io::{BufRead, Write};
use std::path::Path;

use common::{fpsrl, refused, stderr, stdout};
use serde_json::{Value, json};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(place) = arguments.iter().position(|argument| argument == "--simulate") {
        return simulate(arguments.get(place + 1).and_then(|limit| limit.parse().ok()));
    }
    let tests: [(&str, fn()); 4] = [
        ("a_process_is_searched_and_reported_without_a_log", a_process_is_searched_and_reported_without_a_log),
        ("a_log_may_stand_beside_a_process", a_log_may_stand_beside_a_process),
        ("a_process_that_breaks_is_an_error", a_process_that_breaks_is_an_error),
        ("what_does_not_go_with_a_process_is_refused", what_does_not_go_with_a_process_is_refused),
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
    let output = fpsrl(directory.path(), &["run", "problem.toml", "--out", "run", "--json"]);
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
        let output = fpsrl(directory.path(), &[stage, &["run", "--quiet"]].concat());
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
    let output = fpsrl(directory.path(), &["search", "run", "--rules", "auto", "--quiet"]);
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
    let output = fpsrl(directory.path(), &["run", "problem.toml", "--out", "run", "--json"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let summary: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert!(summary["behaviour"]["cloned_return"].is_number(), "{summary}");
}

fn a_process_that_breaks_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let data = "[data]\nsamples = 300\nepisode_length = 30\n";
    // While the log is drawn: nothing is left behind.
    put(directory.path(), &problem(&["--simulate", "5"], data));
    let said = refused(directory.path(), &["run", "problem.toml", "--out", "run", "--quiet"]);
    assert!(said.contains("the simulator") && said.contains("it ended instead of answering"), "{said}");
    // In the middle of the search: the search says so, and leaves no policy.
    put(directory.path(), &problem(&["--simulate", "200"], data));
    let output = fpsrl(directory.path(), &["run", "problem.toml", "--out", "run", "--quiet"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("it ended instead of answering"), "{}", stderr(&output));
    assert!(!directory.path().join("run/policy.json").exists());
}

fn what_does_not_go_with_a_process_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let said = |text: &str| {
        put(directory.path(), text);
        refused(directory.path(), &["run", "problem.toml", "--quiet"])
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
