//! The verb `sweep`: what it prints and leaves, what a queue is given, and that a kill costs nothing that is finished.

mod common;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use common::{SMALL, command, file, fpsrl, json, refused, stderr, stdout, succeed};

fn with_sweep(sweep: &str) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("small.toml"), SMALL).unwrap();
    fs::write(directory.path().join("sweep.toml"), format!("problem = 'small.toml'\n{sweep}")).unwrap();
    directory
}

/// The table without its times, the last column but one.
fn table(directory: &Path) -> Vec<String> {
    let text = fs::read_to_string(directory.join("sweep/table.csv")).unwrap();
    let row = |row: &str| row.rsplitn(3, ',').last().unwrap_or_default().to_owned();
    text.lines().map(row).collect()
}

#[test]
fn a_sweep_leaves_runs_tables_and_a_page() {
    let directory = with_sweep("seeds = 2\n[grid]\npolicy.rules = [1, 2]\n");
    let listed = succeed(directory.path(), &["sweep", "sweep.toml", "--dry-run"]);
    assert!(listed.starts_with("to be made  rules=1,seed=1\n"), "{listed}");
    assert!(listed.ends_with("4 left\n") && !directory.path().join("sweep").exists(), "{listed}");
    let output = fpsrl(directory.path(), &["sweep", "sweep.toml", "--table", "all.parquet"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let (told, said) = (stdout(&output), stderr(&output));
    assert!(told.starts_with("small, 4 runs: 4 finished\n"), "{told}");
    assert!(told.contains("policy.rules") && told.contains("rules=2"), "{told}");
    assert!(said.contains("look at ") && said.contains("sweep.html"), "{said}");
    for name in ["table.csv", "table.parquet", "sweep.html", "sweep.json", "rules=2,seed=2/report.html"] {
        assert!(directory.path().join("sweep").join(name).is_file(), "{name}");
    }
    assert_eq!(fs::read(directory.path().join("all.parquet")).unwrap()[..4], *b"PAR1");
    let sweep = file(directory.path(), "sweep/sweep.json");
    assert_eq!((sweep["format"].as_u64(), sweep["runs"].as_array().unwrap().len()), (Some(1), 4));
    assert_eq!(sweep["runs"][3]["settings"]["policy.rules"], 2);
    assert_eq!(sweep["runs"][3]["outcome"], "finished");
    // What a run of it has found is what the command finds by itself.
    succeed(directory.path(), &["run", "small.toml", "--rules", "2", "--seed", "2", "--out", "alone"]);
    let policy = |run: &str| fs::read(directory.path().join(run).join("policy.json")).unwrap();
    assert!(policy("alone") == policy("sweep/rules=2,seed=2"));
    let again = json(&succeed(directory.path(), &["sweep", "sweep.toml", "--collect", "--json"]));
    assert_eq!(again, sweep);
}

#[test]
fn what_is_wrong_ends_with_a_way_out_and_leaves_nothing() {
    let directory = with_sweep("[grid]\npolicy.rules = [0]\n");
    let said = refused(directory.path(), &["sweep", "sweep.toml"]);
    assert!(said.contains("`policy.rules` is 0"), "{said}");
    let said = refused(directory.path(), &["sweep", "nowhere.toml"]);
    assert!(said.contains("nowhere.toml cannot be read"), "{said}");
    fs::write(directory.path().join("sweep.toml"), "problem = 'small.toml'\n").unwrap();
    let said = refused(directory.path(), &["sweep", "sweep.toml", "--table", "table.xlsx"]);
    assert!(said.contains(".parquet"), "{said}");
    refused(directory.path(), &["sweep", "sweep.toml", "--collect"]);
}

#[test]
fn a_sweep_that_is_killed_goes_on_and_finds_the_same() {
    let text = "seeds = 8\nworkers = 2\n";
    let whole = with_sweep(text);
    succeed(whole.path(), &["sweep", "sweep.toml"]);
    let directory = with_sweep(text);
    for runs in [1, 3, 5] {
        let mut child = command(directory.path())
            .args(["sweep", "sweep.toml"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let done =
            || (1..=8).filter(|seed| directory.path().join(format!("sweep/seed={seed}/report.html")).exists()).count();
        while done() < runs && child.try_wait().unwrap().is_none() {
            thread::sleep(Duration::from_millis(1));
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
    succeed(directory.path(), &["sweep", "sweep.toml"]);
    assert_eq!(table(directory.path()), table(whole.path()));
}

#[cfg(unix)]
#[test]
fn ctrl_c_stops_all_runs_and_says_how_to_go_on() {
    let directory = with_sweep("seeds = 400\n");
    let mut child = command(directory.path()).args(["sweep", "sweep.toml"]).stderr(Stdio::piped()).spawn().unwrap();
    while !directory.path().join("sweep/seed=2/report.html").exists() && child.try_wait().unwrap().is_none() {
        thread::sleep(Duration::from_millis(5));
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains("go on with `fpsrl sweep sweep.toml`"), "{said}");
}

/// Runs the script as a queue would: one element after another, each with its number.
#[cfg(unix)]
#[test]
fn a_job_array_makes_what_the_sweep_makes() {
    let text = "seeds = 2\n[grid]\npolicy.rules = [1, 2]\n";
    let directory = with_sweep(text);
    // A directory that a shell would take apart.
    let inside = directory.path().join("it's $HOME \"here\"");
    fs::create_dir(&inside).unwrap();
    for name in ["small.toml", "sweep.toml"] {
        fs::copy(directory.path().join(name), inside.join(name)).unwrap();
    }
    let script = succeed(&inside, &["sweep", "sweep.toml", "--slurm"]);
    fs::write(inside.join("job.sh"), &script).unwrap();
    let checked = Command::new("bash").args(["-n", "job.sh"]).current_dir(&inside).status().unwrap();
    assert!(checked.success(), "{script}");
    assert!(script.contains("#SBATCH --array=1-4\n"), "{script}");
    let binary = Path::new(env!("CARGO_BIN_EXE_fpsrl")).parent().unwrap();
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap());
    for element in 1..=4 {
        let done = Command::new("bash")
            .arg(inside.join("job.sh"))
            .env("PATH", &path)
            .env("SLURM_ARRAY_TASK_ID", element.to_string())
            .current_dir("/")
            .output()
            .unwrap();
        assert!(done.status.success(), "{}", stderr(&done));
    }
    let written = |seed: u64| {
        fs::metadata(inside.join(format!("sweep/rules=1,seed={seed}/policy.json"))).unwrap().modified().unwrap()
    };
    let before = [written(1), written(2)];
    succeed(&inside, &["sweep", "sweep.toml"]);
    assert_eq!([written(1), written(2)], before, "the sweep has made a run again");
    succeed(directory.path(), &["sweep", "sweep.toml"]);
    assert_eq!(table(&inside), table(directory.path()));
}

#[cfg(unix)]
#[test]
fn an_indexed_job_names_every_run_once() {
    let directory = with_sweep("seeds = 3\n");
    let text = succeed(directory.path(), &["sweep", "sweep.toml", "--kubernetes"]);
    let manifest = json(&text);
    assert_eq!((manifest["spec"]["completions"].as_u64(), &manifest["kind"]), (Some(3), &"Job".into()));
    let script = manifest["spec"]["template"]["spec"]["containers"][0]["command"][2].as_str().unwrap();
    let binary = Path::new(env!("CARGO_BIN_EXE_fpsrl")).parent().unwrap();
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap());
    for index in 0..3 {
        let done = Command::new("sh")
            .args(["-c", script])
            .env("PATH", &path)
            .env("JOB_COMPLETION_INDEX", index.to_string())
            .output()
            .unwrap();
        assert!(done.status.success(), "{}", stderr(&done));
    }
    let collected = succeed(directory.path(), &["sweep", "sweep.toml", "--collect"]);
    assert!(collected.starts_with("small, 3 runs: 3 finished\n"), "{collected}");
}
