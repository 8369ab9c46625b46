//! Files that do not belong together are not put together, and two do not write in one directory.

mod common;

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use common::{command, finished_run, fpsrl, refused, stderr};
use serde_json::Value;

fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn succeeds(directory: &Path, arguments: &[&str]) {
    let output = fpsrl(directory, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
}

/// Changes the first rule's output by hand.
fn edit_policy(run: &Path) {
    let path = run.join("policy.json");
    let mut policy = json(&path);
    let output = &mut policy["actions"][0]["rules"][0]["output"];
    *output = Value::from(if output.as_f64().unwrap() > 0.0 { -0.5 } else { 0.5 });
    fs::write(&path, policy.to_string()).unwrap();
}

#[test]
fn what_was_known_of_the_old_policy_goes_when_another_is_imported() {
    let directory = finished_run();
    let run = directory.path().join("run");
    succeeds(directory.path(), &["export", "run", "--to", "fll", "--out", "small.fll"]);
    assert!(run.join("report.html").exists() && !json(&run.join("summary.json"))["simple"].is_null());
    fs::write(run.join("policy.simple.json"), fs::read(run.join("policy.json")).unwrap()).unwrap();
    succeeds(directory.path(), &["import", "small.fll", "--into", "run"]);
    for old in ["report.html", "policy.simple.json", "search.csv", "front"] {
        assert!(!run.join(old).exists(), "{old} is of the old policy");
    }
    let summary = json(&run.join("summary.json"));
    for old in ["simple", "promise", "race", "ceiling", "model_return", "search_return", "policy_sha256"] {
        assert!(summary[old].is_null(), "{old} is of the old policy");
    }
    assert!(summary["verdict"].is_object() && summary["seconds"]["search"].is_null());
    // Judged anew, it is a policy as any other.
    succeeds(directory.path(), &["evaluate", "run"]);
    succeeds(directory.path(), &["report", "run"]);
    assert!(json(&run.join("summary.json"))["promise"].is_object());
}

#[test]
fn a_policy_that_was_edited_is_not_given_the_figures_of_the_old_one() {
    let directory = finished_run();
    let run = directory.path().join("run");
    let before = json(&run.join("summary.json"));
    edit_policy(&run);
    for arguments in [["export", "run", "--to", "c"].as_slice(), &["report", "run"]] {
        let said = refused(directory.path(), arguments);
        assert!(said.contains("its figures are of another policy") && said.contains("fpsrl evaluate run"), "{said}");
    }
    succeeds(directory.path(), &["evaluate", "run"]);
    let after = json(&run.join("summary.json"));
    assert_ne!(before["promise"]["return"], after["promise"]["return"]);
    assert!(after["search_return"].is_null() && !run.join("report.html").exists());
    succeeds(directory.path(), &["export", "run", "--to", "c"]);
    succeeds(directory.path(), &["report", "run"]);
}

#[test]
fn a_log_that_was_changed_makes_no_guard() {
    let directory = finished_run();
    let path = directory.path().join("run/transitions.csv");
    let log = fs::read_to_string(&path).unwrap();
    fs::write(&path, log.trim_end().rsplit_once('\n').unwrap().0).unwrap();
    let said = refused(directory.path(), &["export", "run", "--to", "c"]);
    assert!(said.contains("transitions.csv") && said.contains("not the log that the run was made from"), "{said}");
    fs::write(&path, log).unwrap();
    succeeds(directory.path(), &["export", "run", "--to", "c"]);
}

#[test]
fn a_second_writer_is_kept_out_and_a_killed_one_leaves_no_lock_and_no_litter() {
    let directory = finished_run();
    let run = directory.path().join("run");
    let long = "search run --particles 200 --iterations 1000000 --patience 1000000 --checkpoint-every 0".split(' ');
    let mut first = command(directory.path()).args(long).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // Its first checkpoint says that it is at work.
    while !run.join("checkpoint.json").exists() {
        assert!(first.try_wait().unwrap().is_none(), "the search ended");
        thread::sleep(Duration::from_millis(5));
    }
    for arguments in [["search", "run"].as_slice(), &["fit", "run"], &["evaluate", "run"], &["report", "run"]] {
        // What changes on the disk meanwhile is the work of the first.
        let output = fpsrl(directory.path(), arguments);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?} said: {said}");
        assert!(said.contains("run is in use") && said.contains("wait until it has finished"), "{said}");
    }
    first.kill().unwrap();
    first.wait().unwrap();
    fs::write(run.join(".fpsrl-left.part"), "half a file").unwrap();
    succeeds(directory.path(), &["evaluate", "run"]);
    let litter: Vec<_> = fs::read_dir(&run)
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().into_string().ok())
        .filter(|name| name.starts_with('.'))
        .collect();
    assert_eq!(litter, Vec::<String>::new());
}
