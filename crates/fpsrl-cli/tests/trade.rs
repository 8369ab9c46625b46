//! `trade`: one cost weighed more and less, and objectives of the user's own.

mod common;

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use common::{contents, file, finished_run, fpsrl, json, motor_log, refused, succeed};
use serde_json::Value;
use tempfile::TempDir;

/// A motor whose speed follows a set-point; its voltage has a price of movement, and its energy one of use.
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
unit = "V"
limits = [0.0, 10.0]
move_cost = 0.05
[[objective]]
name = "energy"
cost = "0.1 * voltage^2 - 0.5"
weight = 0.02
unit = "Ws"
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
budget = "400000steps"
start_states = 20
[evaluation]
start_states = 30
"#;

fn float(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// A finished run of the motor at `run`.
fn motor() -> TempDir {
    static TEMPLATE: OnceLock<TempDir> = OnceLock::new();
    let put = |directory: &Path| {
        fs::write(directory.join("problem.toml"), PROBLEM).unwrap();
        fs::write(directory.join("log.csv"), motor_log(600, 1)).unwrap();
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
fn a_larger_weight_moves_less_and_follows_no_better() {
    let directory = motor();
    let run = directory.path().join("run");
    let before = contents(&run);
    let table = succeed(directory.path(), &["trade", "run", "voltage", "--factors", "0.1,10"]);
    for part in
        ["What voltage buys: movement in a step; 1 V is worth 0.05", "the run's own rules", "voltage moves a step"]
    {
        assert!(table.contains(part), "{part}: {table}");
    }
    // The run itself is as it was: its worlds, its rules, its figures, its page.
    for (path, content) in &before {
        assert_eq!(&fs::read(path).ok(), content, "{}", path.display());
    }
    let trade = file(&run, "trade.json");
    assert_eq!(
        (&trade["name"], &trade["kind"], &trade["unit"], &trade["weight"]),
        (&"voltage".into(), &"movement".into(), &"V".into(), &0.05.into())
    );
    let points = trade["points"].as_array().unwrap();
    let of = |factor: f64| points.iter().find(|point| float(&point["factor"]) == factor);
    let (now, dear) = (&trade["present"], &of(10.0).expect("a weight ten times as large changes the rules")["worth"]);
    let moves = |worth: &Value| float(&worth["figures"]["movement"][0][1]);
    let error = |worth: &Value| float(&worth["figures"]["tracked"][0]["error"]);
    assert!(moves(dear) < 0.9 * moves(now) && error(dear) >= error(now), "{table}");
    // Its movement is the cost that it is weighed by, up to the first step and the members.
    assert!((float(&dear["cost"]) - moves(dear)).abs() < 0.3 * float(&now["cost"]), "{table}");
    // None is both better and cheaper, and the dearest comes first.
    for (index, pair) in points.windows(2).enumerate() {
        let [dearer, cheaper] = [&pair[0]["worth"], &pair[1]["worth"]];
        assert!(float(&dearer["cost"]) > float(&cheaper["cost"]), "{index}: {table}");
        assert!(float(&dearer["return_without"]) > float(&cheaper["return_without"]), "{index}: {table}");
    }
    // The problem's own weight joins the two: 20 steps without a discount.
    for worth in points.iter().map(|point| &point["worth"]).chain([now]) {
        let joined = float(&worth["return_without"]) - 0.05 * 20.0 * float(&worth["cost"]);
        assert!((joined - float(&worth["promise"]["return"])).abs() < 1e-3, "{worth}");
    }
    // The rules that the run has are scored as the run scored them.
    let summary = file(&run, "summary.json");
    assert!((float(&now["promise"]["return"]) - float(&summary["promise"]["return"])).abs() < 1e-9);
    // Each factor is a point, or it is said why not.
    let told =
        points.iter().filter(|point| point["present"] == false).count() + trade["left_out"].as_array().unwrap().len();
    assert_eq!(told, 2, "{trade}");
}

#[test]
fn the_same_seed_gives_the_same_bytes_in_any_order_of_the_factors() {
    let [one, two] = ["0.5,4", "4,0.5"].map(|factors| {
        let directory = motor();
        succeed(directory.path(), &["trade", "run", "energy", "--factors", factors, "--quiet"]);
        let run = directory.path().join("run");
        let mut files = vec![fs::read(run.join("trade.json")).unwrap()];
        files.extend(contents(&run.join("trade")).into_iter().map(|(_, content)| content.unwrap()));
        files
    });
    assert!(one.len() > 1 && one == two);
}

#[test]
fn a_point_is_taken_over_and_a_front_of_other_rules_is_refused() {
    let directory = motor();
    let run = directory.path().join("run");
    let told = json(&succeed(directory.path(), &["trade", "run", "voltage", "--factors", "10", "--json"]));
    assert_eq!(told, file(&run, "trade.json"));
    succeed(directory.path(), &["report", "run", "--quiet"]);
    assert!(fs::read_to_string(run.join("report.html")).unwrap().contains("Trade-off"));
    // A new front is not shown in the old page.
    succeed(directory.path(), &["trade", "run", "voltage", "--factors", "10", "--quiet"]);
    assert!(!run.join("report.html").exists());

    // One that is not what the table says.
    let point = run.join("trade/policy-1.json");
    let content = fs::read_to_string(&point).unwrap();
    fs::write(&point, content.replacen("\"alpha\": ", "\"alpha\":  ", 1)).unwrap();
    let said = refused(directory.path(), &["report", "run"]);
    assert!(
        said.contains("policy-1.json does not fit") && said.contains("`fpsrl trade run` with `voltage` again"),
        "{said}"
    );
    fs::write(&point, content).unwrap();

    let old = fs::read(run.join("trade.json")).unwrap();
    let last = format!("run/trade/policy-{}.json", told["points"].as_array().unwrap().len());
    let wanted = fs::read(directory.path().join(&last)).unwrap();
    succeed(directory.path(), &["import", &last, "--into", "run", "--quiet"]);
    assert_eq!(fs::read(run.join("policy.json")).unwrap(), wanted);
    assert!(!run.join("trade.json").exists() && !run.join("trade").exists(), "they belong to other rules");
    succeed(directory.path(), &["evaluate", "run", "--quiet"]);
    // What was promised of it is what it now promises: the problem's own weights hold.
    let point = told["points"].as_array().unwrap().last().unwrap();
    let summary = file(&run, "summary.json");
    assert_eq!(point["worth"]["promise"]["return"], summary["promise"]["return"]);
    fs::write(run.join("trade.json"), old).unwrap();
    let said = refused(directory.path(), &["report", "run"]);
    assert!(said.contains("run/trade.json does not fit run/policy.json: it was made beside other rules"), "{said}");
    // Who searches or scores from elsewhere removes what belongs to the past.
    succeed(directory.path(), &["trade", "run", "voltage", "--factors", "10", "--quiet"]);
    let problem = fs::read_to_string(run.join("problem.toml")).unwrap();
    fs::write(run.join("problem.toml"), problem.replace("start_states = 30", "start_states = 31")).unwrap();
    succeed(directory.path(), &["evaluate", "run", "--quiet"]);
    assert!(!run.join("trade.json").exists() && !run.join("trade").exists());
}

#[test]
fn a_weight_that_was_changed_asks_for_other_worlds() {
    let directory = motor();
    let run = directory.path().join("run");
    let problem = fs::read_to_string(run.join("problem.toml")).unwrap();
    assert!(problem.contains("[[objective]]") && problem.contains("weight = 0.02"), "{problem}");
    fs::write(run.join("problem.toml"), problem.replace("weight = 0.02", "weight = 0.2")).unwrap();
    for verb in [&["search", "run"][..], &["trade", "run", "energy"], &["evaluate", "run"]] {
        let said = refused(directory.path(), verb);
        assert!(said.contains("fpsrl fit run"), "{said}");
    }
    succeed(directory.path(), &["fit", "run", "--quiet"]);

    // Rewards of the log's own were written less the old cost: only the log itself has them whole.
    let learned =
        PROBLEM.replace("reward = \"-abs(speed - ref)\"\n", "").replace("time = ", "reward = \"ref\"\ntime = ");
    fs::write(directory.path().join("learned.toml"), learned).unwrap();
    succeed(directory.path(), &["generate", "learned.toml", "--out", "learned", "--quiet"]);
    succeed(directory.path(), &["fit", "learned", "--quiet"]);
    succeed(directory.path(), &["fit", "learned", "--quiet"]);
    let path = directory.path().join("learned/problem.toml");
    let problem = fs::read_to_string(&path).unwrap();
    fs::write(&path, problem.replace("weight = 0.02", "weight = 0.2")).unwrap();
    let said = refused(directory.path(), &["fit", "learned"]);
    assert!(said.contains("rewards were written less the costs") && said.contains("`fpsrl run`"), "{said}");
}

#[test]
fn what_cannot_be_traded_is_refused_and_nothing_is_written() {
    let directory = motor();
    let path = directory.path();
    let said = refused(path, &["trade", "run", "volt"]);
    assert!(said.contains("called `volt`") && said.contains("voltage, energy"), "{said}");
    let said = refused(path, &["trade", "run", "speed"]);
    assert!(said.contains("state to keep called `speed`"), "{said}");
    for (factors, told) in [
        ("0,2", "`factors` is 0"),
        ("-2", "`factors` is -2"),
        ("nan", "NaN"),
        ("1", "1 is the weight"),
        ("1e20", "1e15"),
    ] {
        let said = refused(path, &["trade", "run", "voltage", "--factors", factors]);
        assert!(said.contains(told) && said.contains("--factors 0.25,0.5,2,4"), "{factors}: {said}");
    }
    let output = fpsrl(path, &["trade", "run", "voltage", "--factors", "much"]);
    assert_eq!(output.status.code(), Some(2));
    let said = refused(path, &["trade", "run", "voltage", "--effort", "heroic"]);
    assert!(said.contains("heroic"), "{said}");
    fs::remove_file(path.join("run/policy.json")).unwrap();
    let said = refused(path, &["trade", "run", "voltage"]);
    assert!(said.contains("policy.json is missing") && said.contains("fpsrl search run"), "{said}");

    let said = refused(finished_run().path(), &["trade", "run", "force"]);
    assert!(said.contains("no cost besides its reward") && said.contains("[[objective]]"), "{said}");
}

#[test]
fn objectives_that_make_no_sense_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("log.csv"), motor_log(300, 1)).unwrap();
    for (from, to, told) in [
        ("cost = \"0.1 * voltage^2 - 0.5\"", "cost = \"0.1 * volage\"", "did you mean `voltage`?"),
        ("cost = \"0.1 * voltage^2 - 0.5\"\n", "", "`cost` is missing"),
        ("name = \"energy\"", "name = \"voltage\"", "`action.voltage.move_cost` is a price of that name already"),
        ("weight = 0.02", "weight = -1", "`objective.energy.weight` is -1"),
        ("weight = 0.02", "wieght = 1", "did you mean `weight`?"),
    ] {
        fs::write(directory.path().join("problem.toml"), PROBLEM.replace(from, to)).unwrap();
        let said = refused(directory.path(), &["run", "problem.toml", "--out", "run"]);
        assert!(said.contains(told), "{told}: {said}");
    }
}
