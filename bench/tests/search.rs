//! The program behind `cargo xtask bench search`, on a world that is learned in a second.

use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

const STEPS: u64 = 400_000;

fn search(words: &[&str], input: &str) -> (bool, Vec<Value>) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_search"))
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let lines = String::from_utf8(output.stdout).unwrap();
    (output.status.success(), lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

fn prepared(parent: &Path) -> String {
    let directory = parent.join("run").to_string_lossy().into_owned();
    for _again in 0..2 {
        assert!(search(&["prepare", "mountain-car", &directory, "quick"], "").0);
    }
    directory
}

/// A record without what the clock says.
fn timeless(mut record: Value) -> Value {
    record["seconds"].take();
    record
}

#[test]
fn searches_of_ours_and_of_others_leave_curves_over_the_same_marks() {
    let parent = tempfile::tempdir().unwrap();
    let directory = prepared(parent.path());
    let of = |optimiser: &str, seed: &str| {
        let steps = STEPS.to_string();
        let (fine, lines) =
            search(&["run", &directory, "--optimiser", optimiser, "--seed", seed, "--steps", &steps], "");
        assert!(fine, "{optimiser}");
        timeless(lines[0].clone())
    };
    let curves = ["auto", "swarm", "shade", "cma-es"].map(|optimiser| of(optimiser, "1"));
    for curve in &curves {
        let returns = curve["returns"].as_array().unwrap();
        assert_eq!(curve["marks"], curves[0]["marks"]);
        assert_eq!(returns.len(), curve["marks"].as_array().unwrap().len());
        assert!(returns.last().unwrap().as_f64().unwrap() < 0.0);
        assert!(curve["evaluations"].as_u64().unwrap() > 0);
    }
    assert_eq!(of("auto", "1"), curves[0]);
    assert_ne!(of("cma-es", "2"), curves[3]);

    // Somebody who tries the same few positions over and over.
    let parameters = 11;
    let positions: Vec<Vec<f64>> = (0..4).map(|index| vec![0.2 * f64::from(index); parameters]).collect();
    let begin = json!({ "task": "begin", "steps": STEPS });
    let score = json!({ "task": "score", "positions": positions });
    let judge = json!({ "task": "judge", "positions": positions });
    let end = json!({ "task": "end" });
    let input: String = [&begin, &score, &judge, &score, &end, &begin, &end].map(|line| format!("{line}\n")).concat();
    let (fine, answers) = search(&["score", &directory], &input);
    assert!(fine);
    assert_eq!(answers[0]["parameters"], parameters);
    assert_eq!(answers[1], answers[3]);
    assert_eq!(answers[1]["spent"], false);
    let steps: u64 = answers[1]["steps"].as_array().unwrap().iter().map(|steps| steps.as_u64().unwrap()).sum();
    assert_eq!((&answers[4]["steps"], &answers[4]["evaluations"]), (&json!(2 * steps), &json!(8)));
    assert_eq!(answers[4]["marks"], curves[0]["marks"]);
    assert!(
        answers[2]["returns"].as_array().unwrap().contains(answers[4]["returns"].as_array().unwrap().last().unwrap())
    );
    assert_eq!((&answers[6]["steps"], &answers[6]["returns"][0]), (&json!(0), &Value::Null));
}

#[test]
fn requests_that_make_no_sense_are_refused() {
    let parent = tempfile::tempdir().unwrap();
    let directory = prepared(parent.path());
    for line in [
        "nonsense",
        r#"{"task": "score", "positions": [[0.5]]}"#,
        r#"{"task": "score", "positions": [[2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]]}"#,
        r#"{"task": "dance"}"#,
    ] {
        assert!(!search(&["score", &directory], &format!("{line}\n")).0, "{line}");
    }
    for words in [&["prepare", "perpetual-motion", "x"][..], &["score", "nowhere"], &["dance"], &[]] {
        assert!(!search(words, "").0, "{words:?}");
    }
    let run = |optimiser, seed, steps| ["run", &directory, "--optimiser", optimiser, "--seed", seed, "--steps", steps];
    for words in [run("luck", "1", "1000"), run("swarm", "one", "1000"), run("swarm", "1", "-1")] {
        assert!(!search(&words, "").0, "{words:?}");
    }
}
