//! The verbs and their flags, on a small problem.

mod common;

use std::fs;
use std::path::Path;

use common::{SMALL, finished_run, fpsrl, stderr, stdout};
use serde_json::Value;

fn succeed(directory: &Path, arguments: &[&str]) -> (String, String) {
    let output = fpsrl(directory, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    (stdout(&output), stderr(&output))
}

fn with_small_problem() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("small.toml"), SMALL).unwrap();
    directory
}

#[test]
fn run_leaves_every_file_and_a_complete_summary() {
    let directory = with_small_problem();
    let (json, messages) = succeed(directory.path(), &["run", "small.toml", "--json", "--seed", "3"]);
    assert!(messages.contains("runs/small-seed3"), "{messages}");
    let run = directory.path().join("runs/small-seed3");
    for file in ["problem.toml", "transitions.csv", "world.json", "policy.json", "search.csv", "summary.json"] {
        assert!(run.join(file).is_file(), "{file}");
    }
    assert_eq!(json, fs::read_to_string(run.join("summary.json")).unwrap());
    let summary: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(summary["format"], 1);
    assert_eq!(summary["problem"], "small");
    assert_eq!(summary["seed"], 3);
    assert_eq!(summary["samples"], 400);
    assert_eq!(summary["rules"], 2);
    assert_eq!(summary["particles"], 6);
    assert_eq!(summary["iterations"], 4);
    assert_eq!(summary["success_threshold"], -43.0);
    for number in ["model_return", "true_return", "gap"] {
        assert!(summary[number].is_f64(), "{number}");
    }
    for name in ["position", "velocity", "reward"] {
        assert!(summary["world_errors"][name].as_f64().unwrap() >= 0.0, "{name}");
    }
    for stage in ["generate", "fit", "search", "evaluate"] {
        assert!(summary["seconds"][stage].as_f64().unwrap() >= 0.0, "{stage}");
    }
    assert!(summary["model_steps"].as_u64().unwrap() > 0);
    assert_eq!(summary["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(summary["data_sha256"].as_str().unwrap().len(), 64);
    let history = fs::read_to_string(run.join("search.csv")).unwrap();
    assert!(history.starts_with("iteration,best,mean,model_steps,seconds,stage\n0,"), "{history}");
}

#[test]
fn the_policy_does_not_depend_on_threads_nor_on_the_division_into_stages() {
    let directory = with_small_problem();
    let at = directory.path();
    succeed(at, &["run", "small.toml", "--threads", "1", "--out", "one", "--quiet"]);
    succeed(at, &["run", "small.toml", "--threads", "2", "--out", "two", "--quiet"]);
    succeed(at, &["generate", "small.toml", "--out", "stages", "--quiet"]);
    for stage in ["fit", "search", "evaluate"] {
        succeed(at, &[stage, "stages", "--quiet"]);
    }
    for file in ["problem.toml", "transitions.csv", "world.json", "policy.json"] {
        let read = |run: &str| fs::read(at.join(run).join(file)).unwrap();
        assert!(read("one") == read("two"), "{file}");
        assert!(read("one") == read("stages"), "{file}");
    }
    let summary =
        |run: &str| -> Value { serde_json::from_slice(&fs::read(at.join(run).join("summary.json")).unwrap()).unwrap() };
    for figure in ["model_return", "true_return", "model_steps", "world_errors", "iterations"] {
        assert_eq!(summary("one")[figure], summary("stages")[figure], "{figure}");
    }
}

#[test]
fn another_seed_gives_another_policy() {
    let directory = with_small_problem();
    for seed in ["1", "2"] {
        succeed(directory.path(), &["run", "small.toml", "--seed", seed, "--quiet"]);
    }
    let policy = |seed: &str| fs::read(directory.path().join(format!("runs/small-seed{seed}/policy.json"))).unwrap();
    assert_ne!(policy("1"), policy("2"));
}

#[test]
fn the_table_says_what_a_person_wants_to_know() {
    let directory = finished_run();
    let (table, _) = succeed(directory.path(), &["evaluate", "run"]);
    for part in ["small, seed 1, 400 transitions", "World model", "velocity", "reward", "on the true plant", "gap"] {
        assert!(table.contains(part), "{part} is missing in:\n{table}");
    }
    assert!(table.contains("threshold of success"), "{table}");
    // What a return is stands where the first one does.
    let told = "Promise (return: rewards of 200 steps, later ones count less: the last one 5 %)";
    assert!(table.contains(told) && table.matches("count less").count() == 1, "{table}");
    assert!(table.contains("plain sum of the rewards: -"), "{table}");
    assert!(table.contains("1. IF position is around "), "{table}");
    assert!(!table.contains('\u{1b}'), "the table has no colours");
}

#[test]
fn quiet_says_nothing_and_results_stay_apart_from_messages() {
    let directory = finished_run();
    assert_eq!(succeed(directory.path(), &["evaluate", "run", "--quiet"]), (String::new(), String::new()));
    let (json, messages) = succeed(directory.path(), &["evaluate", "run", "--json"]);
    assert!(serde_json::from_str::<Value>(&json).is_ok());
    assert!(messages.contains("evaluate done in"), "{messages}");
}

#[test]
fn settings_of_a_search_are_written_to_the_problem_and_old_results_give_way() {
    let directory = finished_run();
    succeed(directory.path(), &["search", "run", "--rules", "3", "--particles", "7", "--quiet"]);
    let problem = fs::read_to_string(directory.path().join("run/problem.toml")).unwrap();
    assert!(problem.contains("rules = 3 ") && problem.contains("particles = 7 "), "{problem}");
    let summary = fs::read(directory.path().join("run/summary.json")).unwrap();
    let summary: Value = serde_json::from_slice(&summary).unwrap();
    assert_eq!(summary["rules"], 3);
    assert_eq!(summary["true_return"], Value::Null);
    assert!(summary["seconds"]["fit"].is_f64());
    succeed(directory.path(), &["fit", "run", "--quiet"]);
    assert!(!directory.path().join("run/policy.json").exists());
    assert!(!directory.path().join("run/search.csv").exists());
}

#[test]
fn a_log_of_the_users_own_needs_no_plant() {
    let finished = finished_run();
    let directory = tempfile::tempdir().unwrap();
    let log = finished.path().join("run/transitions.csv");
    fs::copy(log, directory.path().join("transitions.csv")).unwrap();
    let problem = r#"
name = "own"
horizon = 50
[[state]]
name = "position"
start = [-1.2, 0.6]
[[state]]
name = "velocity"
start = [0, 0]
[[action]]
name = "force"
limits = [-1, 1]
[world]
layers = 1
epochs = 3
[search]
particles = 4
iterations = 2
start_states = 5
"#;
    fs::write(directory.path().join("problem.toml"), problem).unwrap();
    for stage in ["fit", "search", "evaluate"] {
        succeed(directory.path(), &[stage, ".", "--quiet"]);
    }
    let summary = fs::read(directory.path().join("summary.json")).unwrap();
    let summary: Value = serde_json::from_slice(&summary).unwrap();
    assert!(summary["model_return"].is_f64());
    assert_eq!(summary["true_return"], Value::Null);
    assert_eq!(summary["success"], Value::Null);
    // The file that the user wrote is as it was.
    assert_eq!(fs::read_to_string(directory.path().join("problem.toml")).unwrap(), problem);
}

#[test]
fn a_known_reward_and_terminal_condition_run_through_every_stage() {
    let directory = tempfile::tempdir().unwrap();
    let known = "reward = \"position >= 0.6 ? 0 : -1\"\nterminal = \"position >= 0.6\"\n";
    let problem = SMALL.replace("[world]\n", &format!("[world]\n{known}"));
    fs::write(directory.path().join("known.toml"), problem).unwrap();
    succeed(directory.path(), &["run", "known.toml", "--out", "run", "--quiet"]);
    let read = |file: &str| fs::read_to_string(directory.path().join("run").join(file)).unwrap();
    let summary: Value = serde_json::from_str(&read("summary.json")).unwrap();
    assert_eq!(summary["world_errors"]["reward"], 0.0);
    let world: Value = serde_json::from_str(&read("world.json")).unwrap();
    assert_eq!(world["world"]["known"]["terminal"]["condition"], "position >= 0.6");
    assert!(read("problem.toml").contains("terminal = \"position >= 0.6\""));
}

#[test]
fn a_log_may_say_where_episodes_ended() {
    let directory = finished_run();
    let path = directory.path().join("run/transitions.csv");
    let log = fs::read_to_string(&path).unwrap();
    let with_column = |value: &str| -> String {
        let rows = log.lines().enumerate().map(|(index, row)| match index {
            0 => format!("{row},terminated\n"),
            200 => format!("{row},{value}\n"),
            _ => format!("{row},0\n"),
        });
        rows.collect()
    };
    fs::write(&path, with_column("1")).unwrap();
    succeed(directory.path(), &["fit", "run", "--quiet"]);
    fs::write(&path, with_column("maybe")).unwrap();
    let output = fpsrl(directory.path(), &["fit", "run"]);
    assert_eq!(output.status.code(), Some(2));
    let said = stderr(&output);
    assert!(said.contains("line 201, column `terminated`: `maybe` is neither 0 nor 1"), "{said}");
}

#[test]
fn help_has_examples() {
    let directory = tempfile::tempdir().unwrap();
    for arguments in
        [&["--help"] as &[&str], &["run", "--help"], &["generate", "-h"], &["fit", "-h"], &["search", "-h"]]
    {
        assert!(succeed(directory.path(), arguments).0.contains("Examples:"), "{arguments:?}");
    }
    assert!(succeed(directory.path(), &["--version"]).0.starts_with("fpsrl "));
}

#[test]
fn a_budget_in_time_is_translated_once_and_what_it_became_finds_the_same_again() {
    let directory = finished_run();
    let run = directory.path().join("run");
    succeed(directory.path(), &["search", "run", "--optimiser", "auto", "--budget", "1s", "--quiet"]);
    let problem = fs::read_to_string(run.join("problem.toml")).unwrap();
    assert!(problem.contains("steps for 1 s\""), "{problem}");
    let policy = fs::read(run.join("policy.json")).unwrap();
    let summary: Value = serde_json::from_slice(&fs::read(run.join("summary.json")).unwrap()).unwrap();
    assert!(summary["race"]["planned_steps"].as_u64().unwrap() > 0, "{summary}");
    succeed(directory.path(), &["search", "run", "--quiet"]);
    assert!(fs::read(run.join("policy.json")).unwrap() == policy);
}

#[test]
fn a_front_is_a_table_and_a_policy_for_each_of_its_points_and_goes_with_the_world() {
    let directory = finished_run();
    let run = directory.path().join("run");
    let (table, _) = succeed(directory.path(), &["search", "run", "--front"]);
    assert!(table.contains("Front: none is both simpler and better"), "{table}");
    let front: Value = serde_json::from_slice(&fs::read(run.join("front/front.json")).unwrap()).unwrap();
    let points = front["points"].as_array().unwrap();
    assert!(!points.is_empty());
    let conditions: Vec<u64> = points.iter().map(|point| point["conditions"].as_u64().unwrap()).collect();
    assert!(conditions.windows(2).all(|pair| pair[0] < pair[1]), "{conditions:?}");
    for point in points {
        assert!(run.join("front").join(point["file"].as_str().unwrap()).exists(), "{point}");
        assert!(point["return"].is_f64(), "{point}");
    }
    succeed(directory.path(), &["report", "run", "--quiet"]);
    let page = fs::read_to_string(run.join("report.html")).unwrap();
    assert!(page.contains("href=\"#front-1\"") && page.contains("id=\"front-1\""));
    succeed(directory.path(), &["fit", "run", "--quiet"]);
    assert!(!run.join("front").exists(), "a front of another world was left behind");
}
