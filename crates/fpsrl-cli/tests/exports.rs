//! `fpsrl export`, `verify` and `import`: what they write, what they refuse, and that one undoes the other.

mod common;

use std::fs;

use common::{finished_run, fpsrl, refused, stderr, stdout};
use serde_json::Value;

const FORMATS: [(&str, &str); 10] = [
    ("c", "c"),
    ("st", "st"),
    ("python", "py"),
    ("javascript", "mjs"),
    ("rust", "rs"),
    ("onnx", "onnx"),
    ("fll", "fll"),
    ("fcl", "fcl"),
    ("fis", "fis"),
    ("json", "json"),
];

/// Formats that are run by what every machine of the tests has: a C compiler, Python, Node, Rust, and the command itself.
/// The others are run by `cargo xtask test`, which installs their tools.
const RUN_HERE: [&str; 7] = ["c", "python", "javascript", "rust", "json", "fcl", "fis"];

/// The export was run, and does what the policy does. Where the tool of another format is missing, that is said.
fn assert_executed(format: &str, certificate: &Value) {
    match &certificate["execution"] {
        Value::Null => {
            let why = certificate["not_executed"].as_str().unwrap();
            assert!(!RUN_HERE.contains(&format) && !why.contains("failed"), "{format}: {why}");
        }
        execution => assert_eq!(execution["differences"]["passed"], true, "{format}: {execution}"),
    }
}

#[test]
fn every_format_comes_with_vectors_and_a_certificate_that_no_tool_contradicts() {
    let directory = finished_run();
    for (format, ending) in FORMATS {
        let output = fpsrl(directory.path(), &["export", "run", "--to", format, "--json"]);
        assert!(output.status.success(), "{format}: {}", stderr(&output));
        let certificate: Value = serde_json::from_str(&stdout(&output)).unwrap();
        let counted: u64 = certificate["states"].as_array().unwrap().iter().map(|pair| pair[1].as_u64().unwrap()).sum();
        assert!(counted >= 10_000, "{format}");
        assert_executed(format, &certificate);
        let rows = fs::read_to_string(directory.path().join(format!("small.{ending}.vectors.csv"))).unwrap();
        assert!(
            rows.starts_with("kind,position,velocity,force,outside\n") && rows.lines().count() as u64 == counted + 1
        );
    }
}

/// A pole with a rule around 3 rad, which holds beyond half a turn as well.
const POLE: &str = r#"{"format": 1, "mirrored": false,
    "states": [{"name": "angle", "unit": "rad", "periodic": true}, {"name": "speed", "unit": "rad/s"}],
    "actions": [{"name": "force", "unit": "N", "limits": [-10, 10], "alpha": 5, "rules": [
        {"centre": [3, 0.5], "width": [0.5, 2], "output": 1}, {"centre": [0, -0.5], "width": [1, 1], "output": -0.6}]}]}"#;

#[test]
fn a_rule_reaches_across_half_a_turn_in_every_language_and_is_refused_where_none_can_say_so() {
    let directory = finished_run();
    fs::write(directory.path().join("pole.json"), POLE).unwrap();
    for (arguments, ending) in [
        (&["c", "--precision", "single"][..], "c"),
        (&["st", "--precision", "single"], "st"),
        (&["python"], "py"),
        (&["javascript"], "mjs"),
        (&["onnx"], "onnx"),
        (&["json"], "controller.json"),
    ] {
        let out = format!("pole.{ending}");
        let output =
            fpsrl(directory.path(), &[&["export", "pole.json", "--json", "-o", &out, "--to"], arguments].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        let certificate: Value = serde_json::from_str(&stdout(&output)).unwrap();
        assert_executed(arguments[0], &certificate);
        // What single precision does to it is computed without any tool.
        assert!(certificate["model"].is_null() || certificate["model"]["passed"] == true, "{certificate}");
    }
    let text = fs::read_to_string(directory.path().join("pole.py")).unwrap();
    assert!(text.contains("angle is around 3 +- 0.5 rad (across +-pi)"), "{text}");
    for format in ["fll", "fcl", "fis"] {
        let said = refused(directory.path(), &["export", "pole.json", "--to", format]);
        assert!(said.contains("rule 1 of `force` reaches around it in `angle`") && said.contains("periodic"), "{said}");
    }
    let output = fpsrl(directory.path(), &["import", "pole.controller.json", "--out", "back.json"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let back: Value = serde_json::from_str(&fs::read_to_string(directory.path().join("back.json")).unwrap()).unwrap();
    assert_eq!(back["states"][0]["periodic"], true);
}

#[test]
fn an_export_says_where_it_comes_from_unless_told_not_to() {
    let directory = finished_run();
    let text = |name: &str| fs::read_to_string(directory.path().join(name)).unwrap();
    assert!(fpsrl(directory.path(), &["export", "run", "--to", "c", "-o", "a.c"]).status.success());
    assert!(fpsrl(directory.path(), &["export", "run", "--to", "c", "-o", "b.c", "--no-provenance"]).status.success());
    for word in ["policy    sha256 ", "seed      1", "promise   return ", "log       sha256 "] {
        assert!(text("a.c").contains(word), "{word}");
        assert!(!text("b.c").contains(word), "{word}");
    }
}

#[test]
fn a_certificate_is_repeated_and_a_changed_export_is_found_out() {
    let directory = finished_run();
    assert!(fpsrl(directory.path(), &["export", "run", "--to", "json", "-o", "c.json"]).status.success());
    let output = fpsrl(directory.path(), &["verify", "c.json"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stdout(&output).contains("over 11000 states"), "{}", stdout(&output));
    let path = directory.path().join("c.json");
    let mut controller: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let alpha = controller["policy"]["actions"][0]["alpha"].as_f64().unwrap();
    controller["policy"]["actions"][0]["alpha"] = (0.5 * alpha + 0.1).into();
    fs::write(&path, controller.to_string()).unwrap();
    let output = fpsrl(directory.path(), &["verify", "c.json"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stdout(&output).contains("has changed since it was exported"));
    assert!(stderr(&output).contains("does not do what the policy does"), "{}", stderr(&output));
    let said = refused(directory.path(), &["verify", "none.c"]);
    assert!(said.contains("none.c"), "{said}");
}

#[test]
fn a_policy_alone_has_no_guard_and_says_so() {
    let directory = finished_run();
    let output = fpsrl(directory.path(), &["export", "run/policy.json", "--to", "json", "-o", "alone.json"]);
    assert!(stdout(&output).contains("no guard: the ranges of the data are unknown"), "{}", stdout(&output));
    let said =
        refused(directory.path(), &["export", "run/policy.json", "--to", "json", "--guard", "hold", "-o", "b.json"]);
    assert!(said.contains("no data to guard with"), "{said}");
}

#[test]
fn what_cannot_be_exported_is_refused() {
    let directory = finished_run();
    let refuses = |arguments: &[&str], word: &str| {
        let said = refused(directory.path(), &[&["export", "run"], arguments].concat());
        assert!(said.contains(word), "{said}");
    };
    refuses(&["--to", "c", "--fallback", "forse=0"], "did you mean `force`?");
    refuses(&["--to", "c", "--fallback", "force=2"], "within the limits");
    refuses(&["--to", "c", "--rate-limit", "force=-1"], "above zero");
    refuses(&["--to", "python", "--precision", "single"], "double precision");
    refuses(&["--to", "json", "-o", "no/where.json"], "no/where.json cannot be written: there is no directory no");
    refuses(&["--to", "c", "--dialect", "fuzzylite"], "a dialect of `fcl`");
    refuses(&["--to", "fcl", "--dialect", "siemens"], "a dialect of `st`");
    fs::write(directory.path().join("there.c"), "mine").unwrap();
    refuses(&["--to", "c", "-o", "there.c"], "--force");
}

#[test]
fn what_was_exported_is_imported_again_and_can_be_scored() {
    let directory = finished_run();
    let policy = fs::read(directory.path().join("run/policy.json")).unwrap();
    let found: Value = serde_json::from_slice(&fs::read(directory.path().join("run/summary.json")).unwrap()).unwrap();
    for (format, dialect) in
        [("fll", "codesys"), ("fcl", "codesys"), ("fcl", "fuzzylite"), ("fis", "codesys"), ("json", "codesys")]
    {
        let arguments = ["export", "run", "--to", format, "--dialect", dialect, "--quiet", "--force"];
        assert!(fpsrl(directory.path(), &arguments).status.success());
        let output = fpsrl(directory.path(), &["import", &format!("small.{format}"), "--out", "back.json", "--force"]);
        assert!(output.status.success(), "{}", stderr(&output));
        assert_eq!(fs::read(directory.path().join("back.json")).unwrap(), policy, "{format}");
    }
    let output = fpsrl(directory.path(), &["import", "small.fll", "--into", "run"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(directory.path().join("run/start.json").exists());
    let before: Value = serde_json::from_slice(&fs::read(directory.path().join("run/summary.json")).unwrap()).unwrap();
    assert!(before["model_return"].is_null());
    let output = fpsrl(directory.path(), &["evaluate", "run", "--json"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let scored: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert!(scored["model_return"].as_f64().unwrap().is_finite());
    // A search that begins with what was found finds nothing worse.
    let output = fpsrl(directory.path(), &["search", "run", "--json"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let searched: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert!(searched["search_return"].as_f64().unwrap() >= found["search_return"].as_f64().unwrap());
}

#[test]
fn rules_of_another_kind_are_refused_by_name() {
    let directory = finished_run();
    let fll = "Engine: e\nInputVariable: x\n  term: a Triangle 0 1 2\n";
    fs::write(directory.path().join("e.fll"), fll).unwrap();
    let said = refused(directory.path(), &["import", "e.fll"]);
    assert!(
        said.contains("e.fll, line 3") && said.contains("`a` is a Triangle") && said.contains("Gaussians"),
        "{said}"
    );
    let fis = "[System]\nName='m'\nType='mamdani'\n";
    fs::write(directory.path().join("m.fis"), fis).unwrap();
    let said = refused(directory.path(), &["import", "m.fis"]);
    assert!(said.contains("mamdani"), "{said}");
    let fcl = "FUNCTION_BLOCK f\nVAR_INPUT\n  x : REAL;\nEND_VAR\nFUZZIFY x\n  TERM a := (0, 0) (1, 1);\nEND_FUZZIFY\n";
    fs::write(directory.path().join("f.fcl"), fcl).unwrap();
    let said = refused(directory.path(), &["import", "f.fcl"]);
    assert!(said.contains("f.fcl, line 6") && said.contains("not a Gaussian"), "{said}");
    fs::write(directory.path().join("x.txt"), "").unwrap();
    assert!(refused(directory.path(), &["import", "x.txt"]).contains("known: fll, fcl, fis, json"));
}

/// Its names become a part of the program that is compiled and run.
#[test]
fn a_certificate_cannot_bring_a_program_along() {
    let directory = finished_run();
    for (format, ending) in [("c", "c"), ("rust", "rs")] {
        let output = fpsrl(directory.path(), &["export", "run", "--to", format, "--quiet"]);
        assert!(output.status.success(), "{}", stderr(&output));
        let path = directory.path().join(format!("small.{ending}.certificate.json"));
        let whole: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        for place in ["controller", "states", "actions"] {
            let mut changed = whole.clone();
            let name = match place {
                "controller" => &mut changed["export"]["names"][place],
                place => &mut changed["export"]["names"][place][0],
            };
            *name = "x; } int y(void) { system(\"touch came\"); return 0; } /* \u{1b}[2J".into();
            fs::write(&path, changed.to_string()).unwrap();
            let said = refused(directory.path(), &["verify", &format!("small.{ending}")]);
            assert!(said.contains("which no export does") && !said.contains('\u{1b}'), "{said}");
        }
    }
    assert!(!directory.path().join("came").exists());
}
