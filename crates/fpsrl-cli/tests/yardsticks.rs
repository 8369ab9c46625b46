//! NFQ, the ceiling, rule growth and the reproduction of the paper's tables, on small problems.

mod common;

use std::fs;
use std::path::Path;

use common::{finished_run, fpsrl, refused, stderr, stdout};
use serde_json::Value;

fn succeed(directory: &Path, arguments: &[&str]) -> String {
    let output = fpsrl(directory, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    stdout(&output)
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

#[test]
fn nfq_leaves_its_policy_and_its_record_and_stands_beside_the_rules() {
    let directory = finished_run();
    let options = ["nfq", "run", "--iterations", "3", "--epochs", "4", "--hidden", "5,4"];
    let table = succeed(directory.path(), &options);
    assert!(table.contains("NFQ") && table.contains("rules") && table.contains("of 3 iterations"), "{table}");
    let result = json(&directory.path().join("run/nfq.json"));
    assert_eq!(result["settings"]["hidden"], serde_json::json!([5, 4]));
    assert!(result["model_return"].is_f64() && result["true_return"].is_f64());
    let rows = fs::read_to_string(directory.path().join("run/nfq.csv")).unwrap();
    assert_eq!(rows.lines().count(), 4, "{rows}");
    // The same again is the same to the last digit, times aside; another seed is not.
    let policy = |result: &Value| result["policy"].to_string();
    let again = succeed(directory.path(), &[&options[..], &["--json", "--threads", "1"]].concat());
    assert_eq!(policy(&serde_json::from_str(&again).unwrap()), policy(&result));
    let other = succeed(directory.path(), &[&options[..], &["--json", "--seed", "9"]].concat());
    assert_ne!(policy(&serde_json::from_str(&other).unwrap()), policy(&result));
}

#[test]
fn nfq_refuses_what_cannot_run() {
    let directory = finished_run();
    let said = refused(directory.path(), &["nfq", "run", "--epochs", "0"]);
    assert!(said.contains("`nfq.epochs`"), "{said}");
    let said = refused(directory.path(), &["nfq", "run", "--hidden", "0"]);
    assert!(said.contains("`nfq.hidden`"), "{said}");
    fs::remove_file(directory.path().join("run/world.json")).unwrap();
    let said = refused(directory.path(), &["nfq", "run"]);
    assert!(said.contains("world.json is missing") && said.contains("fpsrl fit"), "{said}");
}

#[test]
fn the_ceiling_is_not_below_the_policy() {
    let directory = finished_run();
    let table = succeed(directory.path(), &["evaluate", "run", "--ceiling"]);
    assert!(table.contains("ceiling, on the world model"), "{table}");
    let ceiling = &json(&directory.path().join("run/summary.json"))["ceiling"];
    let figure = |name: &str| ceiling[name].as_f64().unwrap();
    assert!(figure("return") >= figure("policy") && figure("return") >= figure("unaided"), "{ceiling}");
    assert_eq!(ceiling["start_states"], 5);
    let share = (figure("policy") - figure("idle")) / (figure("return") - figure("idle"));
    assert!((figure("share") - share).abs() < 1e-9 && share <= 1.0, "{ceiling}");
    // Ten start states' worth of 2,000 rollouts of 200 steps, which is more than a share of so short a search.
    assert!(figure("model_steps") <= 4_000_000.0 && table.contains("share of the way there"), "{ceiling} {table}");
    // Four iterations of six particles do not get far; the table and the report say so.
    assert!(share < 0.8 && table.contains("try more rules"), "{table}");
    succeed(directory.path(), &["report", "run", "--quiet"]);
    let report = fs::read_to_string(directory.path().join("run/report.html")).unwrap();
    assert!(
        report.contains("try more rules")
            && report.contains("of the way from doing nothing")
            && report.contains("force 0 N all the time")
    );
    // As many threads as there are change nothing.
    let again = succeed(directory.path(), &["evaluate", "run", "--ceiling", "--threads", "1", "--json"]);
    let again: Value = serde_json::from_str(&again).unwrap();
    assert_eq!(again["ceiling"]["return"], ceiling["return"]);
}

#[test]
fn rules_grow_from_the_fewest_and_the_table_shows_what_each_brought() {
    let directory = finished_run();
    let table = succeed(directory.path(), &["search", "run", "--rules", "auto"]);
    assert!(table.contains("Number of rules") && table.contains("chosen"), "{table}");
    let summary = json(&directory.path().join("run/summary.json"));
    let steps = summary["growth"]["steps"].as_array().unwrap();
    assert_eq!(steps[0]["rules"], 1);
    let chosen = summary["rules"].as_u64().unwrap();
    let policy = json(&directory.path().join("run/policy.json"));
    assert_eq!(policy["actions"][0]["rules"].as_array().unwrap().len() as u64, chosen);
    let problem = fs::read_to_string(directory.path().join("run/problem.toml")).unwrap();
    assert!(problem.contains("rules = \"auto\""), "{problem}");
    assert!(!directory.path().join("run/growth.json").exists());
    succeed(directory.path(), &["evaluate", "run", "--quiet"]);
}

#[test]
fn a_reproduction_puts_our_figures_beside_the_papers_and_goes_on_where_it_stopped() {
    let directory = tempfile::tempdir().unwrap();
    let small = ["reproduce", "mountain-car", "--sizes", "1000", "--particles", "4", "--iterations", "2"];
    let small =
        [&small[..], &["--start-states", "5", "--nfq-iterations", "1", "--trusted", "0", "--out", "table"]].concat();
    let text = succeed(directory.path(), &[&small[..], &["--runs", "1"]].concat());
    assert!(text.contains("4.67e-5") && text.contains("-41.98") && text.contains("-43.23"), "{text}");
    let first = json(&directory.path().join("table/results.json"));
    let cell = &first["cells"][0];
    assert_eq!(cell["fpsrl"].as_array().unwrap().len(), 1);
    assert_eq!(cell["errors"].as_array().unwrap().len(), 3);
    assert!(cell["ceiling"]["return"].is_f64());
    // Another training is added; the first one is not made again.
    let policy = directory.path().join("table/samples-1000/seed-1/policy.json");
    let made = fs::metadata(&policy).unwrap().modified().unwrap();
    let more = succeed(directory.path(), &[&small[..], &["--runs", "2", "--json"]].concat());
    let more: Value = serde_json::from_str(&more).unwrap();
    assert_eq!(more["cells"][0]["fpsrl"].as_array().unwrap().len(), 2);
    assert_eq!(more["cells"][0]["fpsrl"][0], cell["fpsrl"][0]);
    assert_eq!(fs::metadata(&policy).unwrap().modified().unwrap(), made);
    let markdown = fs::read_to_string(directory.path().join("table/results.md")).unwrap();
    assert!(markdown.contains("| 1,000 | selected |"), "{markdown}");
    let other = [&small[..], &["--runs", "1", "--scale", "paper"]].concat();
    let said = refused(directory.path(), &other);
    assert!(said.contains("other settings") && said.contains("--out"), "{said}");
}

#[test]
fn only_what_the_paper_has_can_be_reproduced() {
    let directory = tempfile::tempdir().unwrap();
    let said = refused(directory.path(), &["reproduce", "mountain-car-textbook"]);
    assert!(said.contains("mountain-car, cart-pole-balancing, cart-pole-swing-up"), "{said}");
    let said = refused(directory.path(), &["reproduce", "mountain-car", "--runs", "0", "--trusted", "0"]);
    assert!(said.contains("`runs`"), "{said}");
}
