//! `report` and `explain`: what they write, on a small run, on a log of one's own, and on hostile names.

mod common;

use std::fs;
use std::path::Path;

use common::{contents, finished_run, fpsrl, refused, stderr, stdout};
use serde_json::Value;

fn succeed(directory: &Path, arguments: &[&str]) -> String {
    let output = fpsrl(directory, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    stdout(&output)
}

fn page(directory: &Path) -> String {
    fs::read_to_string(directory.join("run/report.html")).expect("a report")
}

/// The data that a page carries for its script.
fn data(page: &str) -> Value {
    let json = page.split("id=\"run-data\">").nth(1).and_then(|rest| rest.split("</script>").next()).expect("data");
    serde_json::from_str(json).expect("JSON")
}

#[test]
fn every_run_ends_with_a_report_in_one_file_that_asks_for_nothing() {
    let directory = finished_run();
    let page = page(directory.path());
    assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"));
    for part in ["verdict", "rules", "watch", "surface", "weak", "evidence", "stability", "repeat"] {
        assert!(page.contains(&format!("<section id=\"{part}\"")), "{part}");
    }
    assert!(
        page.find("id=\"verdict\"") < page.find("id=\"rules\"")
            && page.find("id=\"rules\"") < page.find("id=\"evidence\"")
    );
    for outside in ["src=\"", "href=\"http", "url(http", "@import", "<link", "<iframe"] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert!(page.contains("default-src 'none'") && page.len() < 1_500_000, "{}", page.len());
    let summary: Value = serde_json::from_slice(&fs::read(directory.path().join("run/summary.json")).unwrap()).unwrap();
    assert_eq!(summary["simple"]["conditions"], 4);
    assert!(summary["simple"]["price"].is_f64() && summary["seconds"]["report"].is_f64());
    let simple = directory.path().join("run/policy.simple.json");
    assert_eq!(simple.exists(), summary["simple"]["removed"] != 0);
}

#[test]
fn a_report_made_again_is_the_same_but_for_the_clock() {
    let directory = finished_run();
    let before = data(&page(directory.path()));
    succeed(directory.path(), &["report", "run", "--quiet"]);
    assert_eq!(data(&page(directory.path())), before);
    succeed(directory.path(), &["report", "run", "--quiet", "--threads", "1"]);
    assert_eq!(data(&page(directory.path())), before);
}

#[test]
fn the_page_carries_the_policy_as_it_is() {
    let directory = finished_run();
    let policy: Value = serde_json::from_slice(&fs::read(directory.path().join("run/policy.json")).unwrap()).unwrap();
    let data = data(&page(directory.path()));
    assert_eq!(data["policy"]["actions"], policy["actions"]);
    assert!(data["world"]["variables"].as_array().unwrap().len() == 2);
    let first = &data["instructive"][0];
    assert_eq!(first["trajectory"]["states"][0].as_array().unwrap().len(), 2);
    assert_eq!(first["truth"]["actions"], Value::Array(vec![]));
}

#[test]
fn a_search_that_runs_again_takes_the_old_report_away() {
    let directory = finished_run();
    succeed(directory.path(), &["search", "run", "--quiet", "--iterations", "3"]);
    assert!(!directory.path().join("run/report.html").exists());
    assert!(!directory.path().join("run/policy.simple.json").exists());
    let said = stderr(&fpsrl(directory.path(), &["report", "run"]));
    assert!(said.contains("the report is run/report.html"), "{said}");
}

#[test]
fn more_tolerance_leaves_more_conditions_out_and_the_simple_policy_can_be_explained() {
    let directory = finished_run();
    succeed(directory.path(), &["report", "run", "--quiet", "--tolerance", "1"]);
    let summary: Value = serde_json::from_slice(&fs::read(directory.path().join("run/summary.json")).unwrap()).unwrap();
    assert_eq!(summary["simple"]["removed"], 4, "everything may go");
    let text = succeed(directory.path(), &["explain", "run", "--simple"]);
    assert!(text.contains("ALWAYS force") && text.contains("not looked at: position, velocity"), "{text}");
    let said = refused(directory.path(), &["report", "run", "--tolerance", "0.5", "--overlay", "nowhere"]);
    assert!(said.contains("nowhere"), "{said}");
}

#[test]
fn other_runs_are_laid_over_this_one_if_they_have_its_variables() {
    let directory = finished_run();
    let at = directory.path();
    fs::create_dir(at.join("twin")).unwrap();
    for entry in fs::read_dir(at.join("run")).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, at.join("twin").join(path.file_name().unwrap())).unwrap();
    }
    succeed(at, &["report", "run", "--quiet", "--overlay", "twin"]);
    let page = page(at);
    assert!(page.contains("<bdi>twin</bdi>") && page.contains("in 100 % of the logged states"));
    assert!(page.contains("found every time") && !page.contains("left to chance"));
    let toml = fs::read_to_string(at.join("twin/problem.toml")).unwrap();
    let other = "plant = \"mountain-car\"                # the built-in plant that makes and judges\n";
    assert!(toml.contains("name = \"velocity\""));
    let renamed = toml.replace("name = \"velocity\"", "name = \"speed\"").replace(other, "");
    fs::write(at.join("twin/problem.toml"), renamed).unwrap();
    let before = contents(at);
    let output = fpsrl(at, &["report", "run", "--overlay", "twin"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(before == contents(at));
}

#[test]
fn explain_says_the_rules_and_draws_them() {
    let directory = finished_run();
    let text = succeed(directory.path(), &["explain", "run", "--svg", "--quiet"]);
    assert_eq!(text, "");
    let svg = fs::read_to_string(directory.path().join("run/rules.svg")).unwrap();
    assert!(svg.starts_with("<svg xmlns") && svg.matches("class=\"curve\"").count() == 4);
    let text = succeed(directory.path(), &["explain", "run", "--svg", "here.svg", "--state", "-0.5,0.25"]);
    assert!(text.starts_with("1. IF position is around") && text.lines().count() == 2, "{text}");
    let other = fs::read_to_string(directory.path().join("here.svg")).unwrap();
    assert!(other.contains("velocity = 0.25 m/s"), "{other}");
    #[cfg(feature = "png")]
    {
        succeed(directory.path(), &["explain", "run", "--png"]);
        assert!(fs::read(directory.path().join("run/rules.png")).unwrap().starts_with(b"\x89PNG"));
    }
    let said = refused(directory.path(), &["explain", "run", "--svg", "--state", "1"]);
    assert!(said.contains("position, velocity"), "{said}");
    succeed(directory.path(), &["search", "run", "--quiet"]);
    assert!(refused(directory.path(), &["explain", "run", "--simple"]).contains("`fpsrl report run`"));
}

/// A log of one's own with names that would be markup, two actions and no plant.
#[test]
fn a_log_without_a_plant_and_with_hostile_names_becomes_a_report() {
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("run");
    fs::create_dir(&run).unwrap();
    let (first, second) = ("</script><script>alert(1)</script>", "<img src=x onerror='alert(2)'>");
    let problem = format!(
        "name = \"own\"\nhorizon = 15\n[[state]]\nname = \"{first}\"\nunit = \"\\\"><b>\"\nstart = [-1.0, 1.0]\n\
         [[state]]\nname = \"{second}\"\nstart = [-1.0, 1.0]\n[[action]]\nname = \"valve\"\nlimits = [-1.0, 1.0]\n\
         [[action]]\nname = \"</b>\"\nlimits = [0.0, 2.0]\n[world]\nlayers = 1\nneurons = 3\nepochs = 3\n\
         [policy]\nrules = 3\n[search]\nparticles = 4\niterations = 2\nstart_states = 4\n[evaluation]\nstart_states = 8\n"
    );
    fs::write(run.join("problem.toml"), problem).unwrap();
    let mut log = format!("episode,step,{first},{second},valve,</b>,next_{first},next_{second},reward\n");
    for row in 0..300 {
        let angle = f64::from(row) * 0.7;
        let (x, y, push, other) = (angle.sin(), (1.3 * angle).cos(), (2.1 * angle).sin(), 1.0 + (3.3 * angle).cos());
        let (next_x, next_y) = (0.9 * x + 0.1 * push, 0.9 * y + 0.05 * other);
        log += &format!("{},{},{x},{y},{push},{other},{next_x},{next_y},{}\n", row / 10, row % 10, -next_x.abs());
    }
    fs::write(run.join("transitions.csv"), log).unwrap();
    for stage in ["fit", "search", "evaluate", "report"] {
        succeed(directory.path(), &[stage, "run", "--quiet"]);
    }
    let page = page(directory.path());
    assert_eq!(page.matches("<script").count(), 2, "a name has become a script");
    assert!(!page.contains("<img") && !page.contains("alert(1)</script>") && page.contains("&lt;img src=x"));
    let data = data(&page);
    assert_eq!(data["states"][0]["name"], first);
    assert_eq!(data["plant"], Value::Null);
    // Nothing has met the plant, so the verdict on the world model comes first, as the summary has it.
    let summary: Value = serde_json::from_slice(&fs::read(run.join("summary.json")).unwrap()).unwrap();
    let word = summary["verdict"]["word"].as_str().unwrap();
    assert!(page.to_lowercase().contains(&format!("</span>{word}</p>")), "{word}");
    assert!(succeed(directory.path(), &["explain", "run", "--svg"]).contains(first));
    let svg = fs::read_to_string(run.join("rules.svg")).unwrap();
    assert!(!svg.contains("<script") && !svg.contains("<img"));
}

#[test]
fn the_page_says_what_predicts_and_how_far_steps_lead_out_of_the_log() {
    let directory = tempfile::tempdir().unwrap();
    let problem = common::SMALL.replace("kind = \"ensemble\"\nlayers = 1", "kind = \"gp\"").replace("400", "200");
    fs::write(directory.path().join("small.toml"), problem).unwrap();
    let output = fpsrl(directory.path(), &["run", "small.toml", "--out", "run"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let page = fs::read_to_string(directory.path().join("run/report.html")).unwrap();
    let by = |what: &str| page.matches(&format!("<td class=\"value\">{what}</td>")).count();
    // Of position and velocity; a reward that is always the same needs none.
    assert_eq!((by("Gaussian process"), by("network, 1 hidden layer")), (2, 1));
    // Two measures, each in a sentence of its own.
    let summary: serde_json::Value =
        serde_json::from_slice(&fs::read(directory.path().join("run/summary.json")).unwrap()).unwrap();
    assert!(summary["promise"]["outside"].is_number());
    assert!(page.contains("lead beyond the range of a variable in the log") && page.contains("lie farther from every"));
}
