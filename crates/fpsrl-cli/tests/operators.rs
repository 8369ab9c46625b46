//! `pi` and `update`: the controller that a plant has, and the data that come later.

mod common;

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use common::{contents, file, finished_run, json, motor_log, refused, succeed};
use serde_json::Value;
use tempfile::TempDir;

/// A motor whose speed follows a set-point, and a run of it that takes a moment.
const PROBLEM: &str = r#"
name = "motor"
horizon = 20
[[state]]
name = "speed"
tracks = "ref"
integral = true
[[input]]
name = "ref"
[[action]]
name = "voltage"
limits = [0.0, 10.0]
[data]
file = "log.csv"
time = "t"
[world]
reward = "-abs(speed - ref)"
layers = 1
epochs = 5
members = 2
[policy]
rules = 2
[search]
budget = "200000steps"
start_states = 20
[evaluation]
start_states = 30
"#;

/// A finished run of the motor at `run`, with its log and a newer one beside it.
fn motor() -> TempDir {
    static TEMPLATE: OnceLock<TempDir> = OnceLock::new();
    let put = |directory: &Path| {
        fs::write(directory.join("problem.toml"), PROBLEM).unwrap();
        fs::write(directory.join("log.csv"), motor_log(600, 1)).unwrap();
        fs::write(directory.join("more.csv"), motor_log(300, 2)).unwrap();
    };
    let template = TEMPLATE.get_or_init(|| {
        let directory = tempfile::tempdir().unwrap();
        put(directory.path());
        succeed(directory.path(), &["run", "problem.toml", "--out", "run", "--quiet"]);
        directory
    });
    let copy = tempfile::tempdir().unwrap();
    put(copy.path());
    fs::create_dir(copy.path().join("run")).unwrap();
    for (path, content) in contents(&template.path().join("run")) {
        fs::write(copy.path().join("run").join(path.file_name().unwrap()), content.unwrap()).unwrap();
    }
    copy
}

#[test]
fn pi_tunes_controllers_and_shows_them_beside_the_rules_and_the_log() {
    let directory = motor();
    let table = succeed(directory.path(), &["pi", "run"]);
    for part in
        ["a PI controller, tuned", "voltage follows speed: gain", "in the log's time", "the rules", "a P controller"]
    {
        assert!(table.contains(part), "{part}: {table}");
    }
    for part in ["the same as fuzzy rules", "what the log earned from", "speed error", "speed settling, steps"] {
        assert!(table.contains(part), "{part}: {table}");
    }
    let written = file(directory.path(), "run/pi.json");
    assert_eq!(written["interval"], 0.5);
    let of = &written["pi"]["controller"]["loops"][0];
    let reset = of["gain"].as_f64().unwrap() / of["integral"].as_f64().unwrap();
    assert!((written["pi"]["reset_steps"][0].as_f64().unwrap() - reset).abs() < 1e-9);
    assert!(written["pi"]["members"].as_f64() > written["today"]["return"].as_f64(), "{written}");
    assert!(written["p"]["reset_steps"][0].is_null() && written.get("rules").is_none());
    // It is the controller that the evaluation compares the rules with, from the same starts.
    let summary = file(directory.path(), "run/summary.json");
    assert_eq!(written["pi"]["members"], summary["gain"]["pi"]);
    assert_eq!(written["p"]["members"], summary["gain"]["p"]);
    assert_eq!(written["today"]["return"], summary["gain"]["today"]);
    let told = json(&succeed(directory.path(), &["pi", "run", "--json"]));
    assert_eq!(told["pi"], written["pi"]);
    let close = told["rules"]["members"].as_f64().unwrap() - summary["gain"]["policy"].as_f64().unwrap();
    assert!(close.abs() < 1e-6, "{told}");
}

#[test]
fn a_controller_that_the_user_has_is_scored_as_it_is() {
    let directory = motor();
    let given = ["pi", "run", "--gain", "voltage=1.5", "--reset", "voltage=5", "--bias", "voltage=4"];
    let table = succeed(directory.path(), &given);
    assert!(table.contains("gain 1.5, reset 5 steps (2.5 in the log's time), bias 4"), "{table}");
    assert!(!table.contains("tuned"), "{table}");
    let written = file(directory.path(), "run/pi.json");
    assert_eq!(written["given"], true);
    assert_eq!(written["pi"]["controller"]["loops"][0]["integral"], 0.3);
    // Without a reset time it is a P controller, without a bias it stands in the middle of the limits.
    let told = json(&succeed(directory.path(), &["pi", "run", "--gain", "voltage=1.5", "--json"]));
    assert_eq!(told["pi"]["controller"]["loops"][0]["bias"], 5.0);
    assert_eq!(told["pi"]["controller"]["loops"][0]["integral"], 0.0);

    let said = refused(directory.path(), &["pi", "run", "--gain", "volts=1.5"]);
    assert!(said.contains("no action called `volts`") && said.contains("voltage"), "{said}");
    let said = refused(directory.path(), &["pi", "run", "--reset", "voltage=5"]);
    assert!(said.contains("needs a gain"), "{said}");
    let said = refused(directory.path(), &["pi", "run", "--gain", "voltage=1", "--reset", "voltage=0"]);
    assert!(said.contains("above 0"), "{said}");
    let said = refused(directory.path(), &["pi", "run", "--gain", "voltage=1", "--gain", "voltage=2"]);
    assert!(said.contains("given twice"), "{said}");
    let said = refused(directory.path(), &["pi", "run", "--gain", "voltage=1", "--follows", "voltage=ref"]);
    assert!(said.contains("no state that tracks a set-point called `ref`"), "{said}");
}

#[test]
fn searches_begin_with_a_pi_controller_that_was_put_into_the_run() {
    let directory = motor();
    let run = directory.path().join("run");
    let before = fs::read(run.join("policy.json")).unwrap();
    succeed(directory.path(), &["pi", "run", "--gain", "voltage=2", "--reset", "voltage=6", "--into"]);
    let start = file(&run, "start.json");
    assert_eq!(start["actions"][0]["rules"].as_array().unwrap().len(), 2);
    // The run's own rules stay.
    assert_eq!(fs::read(run.join("policy.json")).unwrap(), before);
    // What is known is taken, not tuned again.
    let told = json(&succeed(directory.path(), &["pi", "run", "--into", "--json"]));
    assert_eq!((&told["given"], &told["pi"]["controller"]["loops"][0]["gain"]), (&true.into(), &2.0.into()));
    assert_eq!(file(&run, "start.json"), start);
    succeed(directory.path(), &["search", "run", "--quiet"]);
    assert!(run.join("start.json").exists() && run.join("pi.json").exists());
    succeed(directory.path(), &["evaluate", "run", "--quiet"]);

    let problem = fs::read_to_string(run.join("problem.toml")).unwrap();
    fs::write(run.join("problem.toml"), problem.replace("rules = 2", "rules = 3")).unwrap();
    let said = refused(directory.path(), &["pi", "run", "--into"]);
    assert!(said.contains("pairs of rules") && said.contains("rules = 2"), "{said}");
}

#[test]
fn a_pi_controller_of_another_world_is_refused() {
    let directory = motor();
    let run = directory.path().join("run");
    succeed(directory.path(), &["pi", "run", "--quiet"]);
    let old = fs::read(run.join("pi.json")).unwrap();
    let problem = fs::read_to_string(run.join("problem.toml")).unwrap();
    fs::write(run.join("problem.toml"), problem.replace("epochs = 5", "epochs = 4")).unwrap();
    let said = refused(directory.path(), &["pi", "run"]);
    assert!(said.contains("world.json does not fit") && said.contains("fpsrl fit run"), "{said}");
    // Who learns again removes what was tuned on the old world.
    succeed(directory.path(), &["fit", "run", "--quiet"]);
    assert!(!run.join("pi.json").exists());
    fs::write(run.join("pi.json"), old).unwrap();
    let said = refused(directory.path(), &["pi", "run", "--into"]);
    assert!(said.contains("run/pi.json does not fit run/world.json") && said.contains("fpsrl pi run"), "{said}");
    succeed(directory.path(), &["pi", "run", "--quiet"]);
    succeed(directory.path(), &["pi", "run", "--into", "--quiet"]);
}

#[test]
fn where_nothing_tracks_a_set_point_there_is_no_pi_controller() {
    let directory = finished_run();
    for arguments in [&["pi", "run"][..], &["pi", "run", "--gain", "force=1"]] {
        let said = refused(directory.path(), arguments);
        assert!(said.contains("follows a set-point") && said.contains("`tracks = "), "{said}");
    }
}

#[test]
fn more_data_make_a_new_run_that_says_what_changed() {
    let directory = motor();
    let before = contents(&directory.path().join("run"));
    let update = ["update", "run", "--log", "more.csv", "--budget", "200000steps"];
    let table = succeed(directory.path(), &update);
    for part in ["rows of the log", "600", "900", "error of speed", "The present rules on the new worlds", "The rules"]
    {
        assert!(table.contains(part), "{part}: {table}");
    }
    assert!(before == contents(&directory.path().join("run")), "the old run has changed");
    let new = directory.path().join("run-updated");
    let update = file(&new, "update.json");
    assert_eq!((&update["before"]["rows"], &update["after"]["rows"]), (&600.into(), &900.into()));
    let summary = file(&new, "summary.json");
    assert_eq!(update["after"]["promise"], summary["promise"]);
    assert_eq!(update["before"]["promise"], file(directory.path(), "run/summary.json")["promise"]);
    let mean = |promise: &Value| promise["return"].as_f64().unwrap();
    let search = &update["search"];
    let present = &update["present_rules"];
    let way = (mean(&present["promise"]) - present["today"].as_f64().unwrap()).abs();
    assert!((search["needed"].as_f64().unwrap() - mean(&present["promise"]) - 0.01 * way).abs() < 1e-9, "{update}");
    let old = fs::read(directory.path().join("run/policy.json")).unwrap();
    assert_eq!(fs::read(new.join("start.json")).unwrap(), old);
    let taken = search["taken"].as_bool().unwrap();
    assert!(!taken || mean(&search["promise"]) > search["needed"].as_f64().unwrap());
    assert_eq!(fs::read(new.join("policy.json")).unwrap() == old, !taken);
    assert_eq!(update["rules_changed"], taken);
    assert_eq!(update["changes"].as_array().unwrap().is_empty(), !taken);
    // It is a run like any other, and its log can grow again.
    let problem = fs::read_to_string(new.join("problem.toml")).unwrap();
    assert!(problem.contains("log.csv") && problem.contains("more.csv"), "{problem}");
    succeed(directory.path(), &["evaluate", "run-updated", "--quiet"]);
    succeed(directory.path(), &["report", "run-updated", "--quiet"]);
    assert!(new.join("update.json").exists());
    succeed(directory.path(), &["search", "run-updated", "--quiet"]);
    assert!(!new.join("update.json").exists());
}

#[test]
fn without_a_search_the_rules_are_only_scored_again() {
    let directory = motor();
    let arguments = ["update", "run", "--log", "more.csv", "--no-search", "--out", "scored", "--json"];
    let update = json(&succeed(directory.path(), &arguments));
    assert!(
        update["search"].is_null() && update["rules_changed"] == false && update["changes"] == serde_json::json!([])
    );
    assert_eq!(update["present_rules"]["promise"], update["after"]["promise"]);
    assert_eq!(update, file(directory.path(), "scored/update.json"));
    let policy = |run: &str| fs::read(directory.path().join(run).join("policy.json")).unwrap();
    assert_eq!(policy("scored"), policy("run"));
    assert!(directory.path().join("scored/report.html").exists());
}

#[test]
fn what_cannot_be_updated_is_refused_and_nothing_is_written() {
    let directory = motor();
    let path = directory.path();
    let said = refused(path, &["update", "run", "--log", "log.csv"]);
    assert!(said.contains("part of the log already"), "{said}");
    let said = refused(path, &["update", "run", "--log", "nowhere.csv"]);
    assert!(said.contains("nowhere.csv cannot be read"), "{said}");
    fs::write(path.join("other.csv"), motor_log(300, 3).replace("speed", "velocity")).unwrap();
    let said = refused(path, &["update", "run", "--log", "other.csv", "--quiet"]);
    assert!(said.contains("other.csv") && said.contains("speed"), "{said}");
    let said = refused(path, &["update", "run", "--log", "more.csv", "--effort", "heroic"]);
    assert!(said.contains("heroic"), "{said}");
    fs::create_dir(path.join("run-updated")).unwrap();
    fs::write(path.join("run-updated/notes.txt"), "mine").unwrap();
    let said = refused(path, &["update", "run", "--log", "more.csv"]);
    assert!(said.contains("exists already") && said.contains("--force"), "{said}");
    fs::remove_file(path.join("run/policy.json")).unwrap();
    let said = refused(path, &["update", "run", "--log", "more.csv", "--out", "new"]);
    assert!(said.contains("policy.json is missing") && said.contains("fpsrl search"), "{said}");

    let built_in = finished_run();
    fs::write(built_in.path().join("more.csv"), motor_log(300, 2)).unwrap();
    let said = refused(built_in.path(), &["update", "run", "--log", "more.csv"]);
    assert!(said.contains("built-in plant `mountain-car`") && said.contains("log of your own"), "{said}");
}
