//! Every fault in a log of the user's own, by the table in `docs/logs.md`: one message with its place and what to do,
//! exit code 2, and nothing written.

mod common;

use std::fs;
use std::path::Path;

use common::{fpsrl, refused, stderr, stdout};

const PROBLEM: &str = r#"
name = "tank"
horizon = 10
[[state]]
name = "level"
[[action]]
name = "valve"
limits = [-1.0, 1.0]
[data]
file = "log.csv"
time = "time"
reward = "reward"
[world]
layers = 1
epochs = 3
[search]
particles = 6
iterations = 4
start_states = 5
[evaluation]
start_states = 5
"#;

/// A log that has nothing wrong with it.
fn good() -> String {
    let mut text = "time,level,valve,reward\n".to_owned();
    let mut level = 1.0;
    for row in 0..300 {
        let valve = [-1.0, 0.5, 1.0, -0.25][row * 7 / 3 % 4];
        text += &format!("{row},{level:?},{valve:?},{:?}\n", -f64::abs(level));
        level = 0.9 * level + 0.3 * valve + 0.02 * (row as f64).sin();
    }
    text
}

fn put(directory: &Path, log: impl AsRef<[u8]>, problem: &str) {
    fs::write(directory.join("log.csv"), log).unwrap();
    fs::write(directory.join("problem.toml"), problem).unwrap();
}

/// What `check` and `run` say of a log, which must be the same.
fn said_of(log: impl AsRef<[u8]>, problem: &str) -> String {
    let directory = tempfile::tempdir().unwrap();
    put(directory.path(), log, problem);
    let said = refused(directory.path(), &["check", "problem.toml", "--quiet"]);
    assert_eq!(refused(directory.path(), &["run", "problem.toml", "--quiet"]), said);
    said
}

/// What is said of a log in which a line was replaced.
fn said_of_line(number: usize, line: &str) -> String {
    let text = good();
    let lines: Vec<&str> =
        text.lines().enumerate().map(|(index, old)| if index + 1 == number { line } else { old }).collect();
    said_of(lines.join("\n") + "\n", PROBLEM)
}

#[test]
fn a_good_log_goes_through_every_stage() {
    let directory = tempfile::tempdir().unwrap();
    put(directory.path(), good(), PROBLEM);
    let output = fpsrl(directory.path(), &["run", "problem.toml", "--out", "run", "--json"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let summary: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(summary["samples"], 299);
    assert!(summary["model_return"].is_number() && summary["true_return"].is_null());
    for file in ["problem.toml", "transitions.csv", "data.json", "starts.csv", "world.json", "policy.json"] {
        assert!(directory.path().join("run").join(file).exists(), "{file}");
    }
    // Each stage by itself works on the directory too, and the problem in it is complete.
    for stage in ["fit", "search", "evaluate", "check"] {
        let output = fpsrl(directory.path(), &[stage, "run", "--quiet"]);
        assert!(output.status.success(), "{stage}: {}", stderr(&output));
    }
    // A run is checked by its own log, whatever has become of the file that it was imported from.
    fs::write(directory.path().join("log.csv"), "t,level,valve,reward\n").unwrap();
    let text = stdout(&fpsrl(directory.path(), &["check", "run"]));
    assert!(text.contains("299 transitions in 1 episodes") && text.contains("the next row"), "{text}");
    let path = directory.path().join("run/transitions.csv");
    let log = fs::read_to_string(&path).unwrap();
    fs::write(&path, log.trim_end().rsplit_once('\n').unwrap().0).unwrap();
    let said = refused(directory.path(), &["check", "run"]);
    assert!(said.contains("not the log that the run was made from"), "{said}");
    fs::write(&path, log).unwrap();
    let starts = fs::read_to_string(directory.path().join("run/starts.csv")).unwrap();
    assert_eq!(starts.lines().next(), Some("level"));
    assert_eq!(starts.lines().count(), 300);
}

#[test]
fn init_check_and_run_follow_each_other() {
    let directory = tempfile::tempdir().unwrap();
    put(directory.path(), good(), PROBLEM);
    let said = refused(directory.path(), &["init", "log.csv"]);
    assert!(said.contains("problem.toml cannot be written") && said.contains("--force"), "{said}");
    let output = fpsrl(directory.path(), &["init", "log.csv", "--out", "drafted.toml"]);
    assert!(
        output.status.success() && stdout(&output).contains("an action leads to the next row"),
        "{}",
        stderr(&output)
    );
    let drafted = fs::read_to_string(directory.path().join("drafted.toml")).unwrap();
    for part in ["\nhistory = \"auto\"", "# rate = 0.2", "# change = true", "# change_limits = [-0.2, 0.2]"] {
        assert!(drafted.contains(part), "{part}: {drafted}");
    }
    let output = fpsrl(directory.path(), &["check", "drafted.toml"]);
    let text = stdout(&output);
    // One step is lost to the history, which is chosen by the log.
    for part in [
        "298 transitions in 1 episodes",
        "1 step, chosen by held-out rows",
        "the next row, as set",
        "level",
        "cells visited",
        "no data",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let output = fpsrl(directory.path(), &["check", "drafted.toml", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(report["import"]["alignment"]["fits"], "next");
    assert_eq!(report["coverage"]["variables"][0]["name"], "level");
}

#[test]
fn init_takes_the_users_word_for_inputs_modes_and_set_points() {
    let directory = tempfile::tempdir().unwrap();
    let mut text = "a;b;c;m;e\n".to_owned();
    let mut level = 0.0;
    for row in 0..400 {
        let (wanted, weather) = ([1.0, 2.0, 0.5][row / 40 % 3], (row as f64 / 9.0).sin());
        let valve = 2.0 * (wanted - level);
        text += &format!("{level:.4};{wanted};{weather:.4};{};{valve:.4}\n", ["day", "night"][row / 50 % 2]);
        level += 0.1 * (2.0 * valve + 0.2 * weather - level);
    }
    fs::write(directory.path().join("log.csv"), text).unwrap();
    let said = ["--tracks", "a=b", "--input", "c", "--mode", "m", "--action", "e"];
    let output = fpsrl(directory.path(), &[&["init", "log.csv"], &said[..]].concat());
    let printed = stdout(&output);
    assert!(output.status.success(), "{}", stderr(&output));
    for part in ["Found", "`c` is a disturbance: you said so", "`m` is a mode: you said so", "Not known"] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    let drafted = fs::read_to_string(directory.path().join("problem.toml")).unwrap();
    for part in ["\ntracks = \"b\"", "\nvalues = [\"day\", \"night\"]", "\nreward = \"-abs(a - b)\"", "\nmove_cost = "]
    {
        assert!(drafted.contains(part), "{part}: {drafted}");
    }
    let output = fpsrl(directory.path(), &["init", "log.csv", "--force", "--tracks", "a"]);
    assert!(!output.status.success() && stderr(&output).contains("write it as STATE=SETPOINT"), "{}", stderr(&output));
    let said = refused(directory.path(), &["init", "log.csv", "--force", "--input", "q"]);
    assert!(said.contains("there is no column called `q`"), "{said}");
}

#[test]
fn init_says_at_once_that_there_are_too_many_columns() {
    let directory = tempfile::tempdir().unwrap();
    let names: Vec<String> = (0..120).map(|column| format!("x{column}q")).collect();
    let row = |row: usize| (0..121).map(|column| (row * (column + 3) % 1009).to_string()).collect::<Vec<_>>().join(",");
    let rows: Vec<String> = (0..50).map(row).collect();
    fs::write(directory.path().join("log.csv"), format!("{},valve\n{}\n", names.join(","), rows.join("\n"))).unwrap();
    let said = refused(directory.path(), &["init", "log.csv"]);
    assert!(said.contains("120 columns that could be states; at most 64 variables are possible"), "{said}");
    assert!(said.contains("name those that matter with --state"), "{said}");
}

#[test]
fn an_alignment_that_the_data_contradict_is_warned_of() {
    let directory = tempfile::tempdir().unwrap();
    put(directory.path(), good(), &PROBLEM.replace("time = ", "action_leads_to = \"this\"\ntime = "));
    let output = fpsrl(directory.path(), &["check", "problem.toml"]);
    assert!(stdout(&output).contains("WARNING: the next row by the data"), "{}", stdout(&output));
    let output = fpsrl(directory.path(), &["run", "problem.toml", "--out", "run"]);
    assert!(stderr(&output).contains("action_leads_to = \"next\""), "{}", stderr(&output));
}

#[test]
fn an_empty_file() {
    let said = said_of("", PROBLEM);
    assert!(said.contains("log.csv: the file is empty") && said.contains("hint: the first line"), "{said}");
}

#[test]
fn a_header_without_rows() {
    let said = said_of("time,level,valve,reward\n", PROBLEM);
    assert!(said.contains("there is no row below the header"), "{said}");
}

#[test]
fn no_header() {
    let said = said_of("1,2,3,4\n5,6,7,8\n", PROBLEM);
    assert!(said.contains("line 1: this line holds numbers instead of names"), "{said}");
}

#[test]
fn a_ragged_row() {
    let said = said_of_line(77, "76,0.5,0.5");
    assert!(said.contains("log.csv, line 77: this row has 3 cells, and the header has 4"), "{said}");
}

#[test]
fn text_in_a_column_of_numbers() {
    let said = said_of_line(100, "99,sensor fault,0.5,1");
    assert!(said.contains("log.csv, line 100, column `level`: `sensor fault` is not a number"), "{said}");
    assert!(said.contains("`missing` below [data]"), "{said}");
    // The remedy works.
    let directory = tempfile::tempdir().unwrap();
    let log = good().replacen("\n99,", "\n99,sensor fault,0.5,1\n99.5,", 1);
    put(directory.path(), log, &PROBLEM.replace("time = ", "missing = [\"sensor fault\"]\ntime = "));
    assert!(fpsrl(directory.path(), &["check", "problem.toml"]).status.success());
}

#[test]
fn infinities() {
    let said = said_of_line(42, "41,0.5,inf,1");
    assert!(said.contains("line 42, column `valve`: `inf` is not a finite number"), "{said}");
    let said = said_of_line(42, "41,1e999,0.5,1");
    assert!(said.contains("line 42, column `level`: `1e999` is not a finite number"), "{said}");
}

#[test]
fn one_distinct_action() {
    let text: String = good()
        .lines()
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            format!("{},{},{},{}\n", cells[0], cells[1], if cells[2] == "valve" { "valve" } else { "0.3" }, cells[3])
        })
        .collect();
    let said = said_of(text, PROBLEM);
    assert!(said.contains("column `valve`: the action has one value in all rows: 0.3"), "{said}");
}

#[test]
fn a_constant_state() {
    let text: String = good()
        .lines()
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            format!("{},{},{},{}\n", cells[0], if cells[1] == "level" { "level" } else { "7" }, cells[2], cells[3])
        })
        .collect();
    let said = said_of(text, PROBLEM);
    assert!(said.contains("column `level`: the state variable has one value in all rows: 7"), "{said}");
}

#[test]
fn a_single_episode_of_one_row() {
    let said = said_of("time,level,valve,reward\n0,1,0.5,0\n", PROBLEM);
    assert!(said.contains("it gives 0 transitions from 1 rows, and a world model needs 100"), "{said}");
    assert!(said.contains("hint: a transition takes two rows"), "{said}");
}

#[test]
fn rows_that_are_all_across_gaps() {
    let said = said_of(good(), &PROBLEM.replace("time = ", "interval = 0.1\ntime = "));
    assert!(said.contains("299 are across gaps in time") && said.contains("set `interval` or `gap`"), "{said}");
}

#[test]
fn columns_that_the_file_lacks() {
    let said = said_of(good().replace("level", "Level_m"), PROBLEM);
    assert!(said.contains("log.csv: there is no column called `level`"), "{said}");
    assert!(
        said.contains("is it the column `Level_m`? then name it in the problem file: column = \"Level_m\""),
        "{said}"
    );
    let said = said_of(good(), &PROBLEM.replace("time = \"time\"", "time = \"timestamp\""));
    assert!(said.contains("no column called `timestamp`") && said.contains("these columns: time, level"), "{said}");
}

#[test]
fn two_columns_of_one_name() {
    let said =
        said_of(good().replacen("time,level,valve", "level,level,valve", 1), &PROBLEM.replace("time = \"time\"\n", ""));
    assert!(said.contains("two columns called `level`"), "{said}");
}

#[test]
fn numbers_with_commas_and_with_points() {
    let said = said_of("time;level;valve;reward\n0;1,5;0.5;1\n1;2,5;0.25;1\n", PROBLEM);
    assert!(
        said.contains("some numbers have a comma (`1,5`) and others a point") && said.contains("decimal = "),
        "{said}"
    );
}

#[test]
fn flags_that_are_no_flags() {
    let said = said_of(good(), &PROBLEM.replace("time = ", "terminal = \"level\"\ntime = "));
    assert!(said.contains("line 3, column `level`") && said.contains("is neither 0 nor 1"), "{said}");
}

#[test]
fn garbage() {
    let noise: Vec<u8> =
        (0..4_000_000u64).map(|index| (index.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as u8).collect();
    let said = said_of(noise, PROBLEM);
    assert!(said.contains("neither text nor a file of a known format"), "{said}");
    // Letters without an end of line are refused after one block, however long the file is.
    let said = said_of(vec![b'x'; 20 << 20], PROBLEM);
    assert!(said.contains("line 1: this line is longer than 1 MB"), "{said}");
    let said = said_of(b"\xFF\xFEt\0i\0", PROBLEM);
    assert!(said.contains("UTF-16"), "{said}");
    let said = said_of(b"PK\x03\x04 no archive", PROBLEM);
    assert!(said.contains("cannot be unpacked"), "{said}");
    let said = said_of(b"PAR1 no parquet PAR1", PROBLEM);
    assert!(said.contains("cannot be read as Parquet"), "{said}");
    let said = said_of(b"\x89HDF\r\n\x1a\n no hdf5", PROBLEM);
    assert!(said.contains("cannot be read as HDF5"), "{said}");
}

#[test]
fn no_file_a_directory_and_no_permission() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("problem.toml"), PROBLEM).unwrap();
    let said = refused(directory.path(), &["run", "problem.toml"]);
    assert!(said.contains("log.csv cannot be read") && said.contains("check the path"), "{said}");
    fs::create_dir(directory.path().join("log.csv")).unwrap();
    let said = refused(directory.path(), &["run", "problem.toml"]);
    assert!(said.contains("this is a directory"), "{said}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::remove_dir(directory.path().join("log.csv")).unwrap();
        fs::write(directory.path().join("log.csv"), good()).unwrap();
        let path = directory.path().join("log.csv");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
        // The superuser may read everything.
        if fs::File::open(&path).is_err() {
            let output = fpsrl(directory.path(), &["run", "problem.toml"]);
            let said = stderr(&output);
            assert_eq!(output.status.code(), Some(2));
            assert!(said.contains("log.csv cannot be read") && said.contains("check the file's permissions"), "{said}");
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    }
}

#[test]
fn settings_of_a_log_without_a_log() {
    let said = said_of(good(), &PROBLEM.replace("file = \"log.csv\"\n", ""));
    assert!(said.contains("`data.file` is missing, but settings of a log need the log"), "{said}");
    let said = said_of(good(), &PROBLEM.replace("time = ", "action_leads_to = \"nxt\"\ntime = "));
    assert!(said.contains("`data.action_leads_to` is \"nxt\", but it is \"next\" or \"this\""), "{said}");
}

#[test]
fn start_states_come_from_a_file_when_asked() {
    let directory = tempfile::tempdir().unwrap();
    put(directory.path(), good(), &PROBLEM.replace("horizon = 10", "horizon = 10\nstart = \"begin.csv\""));
    fs::write(directory.path().join("begin.csv"), "level\n0.25\n0.75\n").unwrap();
    let output = fpsrl(directory.path(), &["run", "problem.toml", "--out", "run"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(fs::read_to_string(directory.path().join("run/starts.csv")).unwrap(), "level\n0.25\n0.75\n");
    fs::write(directory.path().join("begin.csv"), "levle\n0.25\n").unwrap();
    let output = fpsrl(directory.path(), &["fit", "run", "--quiet"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("no column called `level`"), "{}", stderr(&output));
}

/// A tank whose valve acts three steps later, recorded in episodes.
fn delayed(episodes: usize, steps: usize) -> String {
    let mut text = "run,level,valve\n".to_owned();
    let mut row = 0usize;
    for episode in 0..episodes {
        let (mut level, mut pipe) = (0.5 + 0.1 * (episode % 10) as f64, vec![0.5; 3]);
        for _ in 0..steps {
            row += 1;
            let valve = [0.1, 0.9, 0.4, 1.0, 0.0, 0.6, 0.3][(row * row / 5 + episode) % 7];
            text += &format!("{episode},{level:?},{valve:?}\n");
            pipe.push(valve);
            level = 0.95 * level + 0.2 * pipe.remove(0) - 0.05;
        }
    }
    text
}

const DELAYED: &str = r#"
name = "tank"
horizon = 10
[[state]]
name = "level"
[[action]]
name = "valve"
limits = [0.0, 1.0]
ACTION
[data]
file = "log.csv"
episode = "run"
HISTORY
[world]
kind = "ensemble"
members = 2
layers = 1
epochs = 10
reward = "-abs(level - 1)"
[policy]
LAGS
[search]
particles = 6
iterations = 4
start_states = 5
[evaluation]
start_states = 5
"#;

fn delayed_problem(action: &str, history: &str, lags: &str) -> String {
    DELAYED.replace("ACTION", action).replace("HISTORY", history).replace("LAGS", lags)
}

#[test]
fn a_history_is_chosen_shown_and_carried_through_every_stage() {
    let directory = tempfile::tempdir().unwrap();
    let problem = delayed_problem("rate = 0.3", "history = \"auto\"", "lags = [\"level_1\"]");
    put(directory.path(), delayed(20, 40), &problem);
    let output = fpsrl(directory.path(), &["check", "problem.toml"]);
    let text = stdout(&output);
    assert!(text.contains("3 steps, chosen by held-out rows"), "{text}{}", stderr(&output));
    let output = fpsrl(directory.path(), &["run", "problem.toml", "--out", "run", "--json"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stderr(&output).contains("a history of 3 steps was chosen"), "{}", stderr(&output));
    let read = |file: &str| fs::read_to_string(directory.path().join("run").join(file)).unwrap();
    let data: serde_json::Value = serde_json::from_str(&read("data.json")).unwrap();
    assert_eq!((&data["import"]["history"]["steps"], &data["import"]["history"]["lost"]), (&3.into(), &60.into()));
    let header = "episode,step,level,level_1,level_2,level_3,valve_1,valve_2,valve_3,valve,next_level,";
    assert!(read("transitions.csv").starts_with(header), "{}", read("transitions.csv").lines().next().unwrap());
    let policy: serde_json::Value = serde_json::from_str(&read("policy.json")).unwrap();
    assert_eq!(policy["states"].as_array().unwrap().len(), 2);
    assert_eq!(policy["actions"][0]["rate"], 0.3);
    assert!(read("problem.toml").contains("history = 3"));
    let errors: serde_json::Value = serde_json::from_str(&read("summary.json")).unwrap();
    assert_eq!(errors["world_errors"].as_object().unwrap().keys().collect::<Vec<_>>(), ["level", "reward"]);
    for stage in ["fit", "search", "evaluate", "report", "explain", "check"] {
        let output = fpsrl(directory.path(), &[stage, "run", "--quiet"]);
        assert!(output.status.success(), "{stage}: {}", stderr(&output));
    }
    let output = fpsrl(directory.path(), &["export", "run", "--to", "json", "--out", "controller.json"]);
    assert!(stdout(&output).contains("the input level_1 is what level was 1 step before"), "{}", stdout(&output));
    let controller = fs::read_to_string(directory.path().join("controller.json")).unwrap();
    let controller: serde_json::Value = serde_json::from_str(&controller).unwrap();
    assert_eq!(controller["rate_limits"], serde_json::json!([0.3]));
}

#[test]
fn a_set_point_is_changed_from_the_log_to_the_export() {
    let directory = tempfile::tempdir().unwrap();
    let problem = delayed_problem("change = true\nchange_limits = [-0.2, 0.2]", "", "");
    put(directory.path(), delayed(20, 40), &problem);
    let output = fpsrl(directory.path(), &["run", "problem.toml", "--out", "run", "--quiet"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let output = fpsrl(directory.path(), &["export", "run", "--to", "c", "--out", "controller.c"]);
    let told = "valve_change is a change: add it to valve, and keep the sum from 0 to 1";
    assert!(stdout(&output).contains(told), "{}{}", stdout(&output), stderr(&output));
}

#[test]
fn a_history_that_is_too_long_and_lags_that_are_not_there() {
    let said = said_of(delayed(60, 5), &delayed_problem("", "history = 5", ""));
    assert!(said.contains("it gives 0 transitions") && said.contains("for the history"), "{said}");
    assert!(said.contains("set a smaller `history`"), "{said}");
    let said = said_of(delayed(20, 40), &delayed_problem("", "history = 2", "lags = [\"levle_1\"]"));
    assert!(said.contains("levle_1") && said.contains("did you mean `level_1`?"), "{said}");
    let said = said_of(delayed(20, 40), &delayed_problem("", "history = 2", "lags = 3"));
    assert!(said.contains("`policy.lags` is 3, but the log's history is 2 steps"), "{said}");
}

#[test]
fn a_symmetry_that_the_log_contradicts() {
    // The same push moves the level further up than down.
    let mut text = "time,level,valve,reward\n".to_owned();
    let (mut level, mut chance) = (0.0f64, 1u64);
    for row in 0..4_000 {
        chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let valve = (chance >> 11) as f64 / (1u64 << 52) as f64 - 1.0;
        text += &format!("{row},{level:?},{valve:?},{:?}\n", -level.abs());
        level = 0.8 * level + if valve > 0.0 { 0.6 * valve } else { 0.3 * valve } - 0.075;
    }
    let mirrored = PROBLEM.replace("[search]", "[policy]\nmirrored = true\n[search]");
    let said = said_of(&text, &mirrored);
    assert!(said.contains("`policy.mirrored` is true, but the log contradicts it"), "{said}");
    assert!(said.contains("`level`") && said.contains("mirrored = false"), "{said}");
}

#[test]
fn a_file_that_claims_too_much_is_refused_with_what_allows_it_and_is_no_bug_of_ours() {
    let directory = tempfile::tempdir().unwrap();
    let hostile = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fpsrl-data/src/log/hostile");
    for (name, problem, hint) in [
        ("hdf5-sparse.h5", "1 columns; a file of 2.22 kB may take 175 MB of memory", "allow it more with --memory 5GB"),
        ("npz-wide.npz", "2000000 columns; at most 100000 are read", "leave columns out"),
        ("parquet-rows-1e11.parquet", "it cannot be read as Parquet: ", "copy it again"),
        ("slow.parquet", "it cannot be read as Parquet: ", "copy it again"),
    ] {
        fs::copy(hostile.join(name), directory.path().join(name)).unwrap();
        let said = refused(directory.path(), &["init", name]);
        assert!(said.contains(name) && said.contains(problem) && said.contains(hint), "{said}");
    }
}

#[test]
fn memory_that_is_allowed_stands_in_the_draft_and_is_held_to_later() {
    let directory = tempfile::tempdir().unwrap();
    put(directory.path(), good(), PROBLEM);
    let output = fpsrl(directory.path(), &["init", "log.csv", "--memory", "2GB", "--out", "draft.toml"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let draft = fs::read_to_string(directory.path().join("draft.toml")).unwrap();
    assert!(draft.contains("memory = \"2 GB\""), "{draft}");
    let with = |memory: &str| PROBLEM.replace("[data]\n", &format!("[data]\nmemory = \"{memory}\"\n"));
    put(directory.path(), good(), &with("lots"));
    let said = refused(directory.path(), &["check", "problem.toml"]);
    assert!(said.contains("`data.memory` is \"lots\", but an amount of memory is a number and a unit"), "{said}");
    // 200,000 rows do not fit into a megabyte.
    let mut long = good();
    (300..200_000).for_each(|row| long += &format!("{row},0.5,1,-0.5\n"));
    put(directory.path(), long, &with("1 MB"));
    let said = refused(directory.path(), &["check", "problem.toml"]);
    assert!(said.contains("its rows take too much memory") && said.contains("--memory "), "{said}");
    let output = fpsrl(directory.path(), &["check", "problem.toml", "--memory", "200MB"]);
    assert!(output.status.success(), "{}", stderr(&output));
}
