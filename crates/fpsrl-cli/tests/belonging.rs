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
    // The page does not say that this run has found it.
    let page = fs::read_to_string(run.join("report.html")).unwrap();
    assert!(page.contains("not searched by this run") && !page.contains("byte for byte"), "{page}");
}

#[test]
fn a_policy_that_was_edited_is_not_given_the_figures_of_the_old_one() {
    let directory = finished_run();
    let run = directory.path().join("run");
    let before = json(&run.join("summary.json"));
    edit_policy(&run);
    for arguments in [["export", "run", "--to", "c"].as_slice(), &["report", "run"]] {
        let said = refused(directory.path(), arguments);
        assert!(
            said.contains("its figures were computed for another policy") && said.contains("fpsrl evaluate run"),
            "{said}"
        );
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

/// Replaces a text in a file of a run.
fn replace(path: &Path, old: &str, new: &str) {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.contains(old), "{} has no `{old}`", path.display());
    fs::write(path, text.replacen(old, new, 1)).unwrap();
}

#[test]
fn worlds_are_refused_when_their_settings_have_changed() {
    let directory = finished_run();
    replace(&directory.path().join("run/problem.toml"), "reward = \"learn\"", "reward = \"position > 0.6 ? 0 : -1\"");
    for verb in ["search", "evaluate", "report", "nfq"] {
        let said = refused(directory.path(), &[verb, "run"]);
        // Every verb names the same first step, and it repairs.
        assert!(said.contains("run/world.json does not fit run/problem.toml"), "{verb}: {said}");
        assert!(said.contains("run `fpsrl fit run` again"), "{verb}: {said}");
    }
    succeeds(directory.path(), &["fit", "run"]);
    succeeds(directory.path(), &["search", "run"]);
    let world = json(&directory.path().join("run/world.json"));
    assert_eq!(world["world"]["known"]["reward"], "position > 0.6 ? 0 : -1");
}

#[test]
fn figures_of_other_settings_are_refused_until_they_are_found_anew() {
    let directory = finished_run();
    let run = directory.path().join("run");
    replace(&run.join("problem.toml"), "horizon = 200", "horizon = 100");
    for arguments in [["report", "run"].as_slice(), &["export", "run", "--to", "c"]] {
        let said = refused(directory.path(), arguments);
        assert!(said.contains("run/summary.json does not fit run/problem.toml"), "{said}");
        assert!(said.contains("fpsrl evaluate run"), "{said}");
    }
    succeeds(directory.path(), &["evaluate", "run"]);
    let summary = json(&run.join("summary.json"));
    assert!(summary["search_return"].is_null(), "that was a return over 200 steps");
    assert!(!run.join("report.html").exists() && !run.join("search.csv").exists());
    succeeds(directory.path(), &["report", "run"]);
    // A comment or another order is no other setting.
    let text = fs::read_to_string(run.join("problem.toml")).unwrap();
    fs::write(run.join("problem.toml"), format!("# a note\n{text}")).unwrap();
    succeeds(directory.path(), &["report", "run"]);
}

#[test]
fn other_start_states_of_the_evaluation_leave_what_is_known_of_the_search() {
    let directory = finished_run();
    let run = directory.path().join("run");
    let before = json(&run.join("summary.json"));
    let text = fs::read_to_string(run.join("problem.toml")).unwrap();
    let (head, tail) = text.split_once("[evaluation]").unwrap();
    fs::write(run.join("problem.toml"), format!("{head}[evaluation]{}", tail.replace("= 5", "= 7"))).unwrap();
    assert!(refused(directory.path(), &["report", "run"]).contains("its figures were computed for other settings"));
    succeeds(directory.path(), &["evaluate", "run"]);
    let after = json(&run.join("summary.json"));
    assert_eq!(after["search_return"], before["search_return"]);
    assert_ne!(after["promise"], before["promise"]);
    assert!(run.join("search.csv").exists() && !run.join("report.html").exists());
}

#[test]
fn a_world_that_was_exchanged_has_none_of_the_old_figures() {
    let directory = finished_run();
    let run = directory.path().join("run");
    let nfq = ["nfq", "run", "--iterations", "1", "--epochs", "1", "--hidden", "2", "--quiet"];
    succeeds(directory.path(), &nfq);
    let world = run.join("world.json");
    // The same numbers, written otherwise: another file.
    fs::write(&world, json(&world).to_string()).unwrap();
    for arguments in [["report", "run"].as_slice(), &["export", "run", "--to", "c"], &["evaluate", "run", "--ceiling"]]
    {
        if arguments[0] != "evaluate" {
            let said = refused(directory.path(), arguments);
            assert!(said.contains("its figures were computed for another world model"), "{said}");
        }
    }
    succeeds(directory.path(), &["evaluate", "run"]);
    let said = refused(directory.path(), &["report", "run"]);
    assert!(said.contains("run/nfq.json does not fit run/world.json") && said.contains("fpsrl nfq run"), "{said}");
    succeeds(directory.path(), &["fit", "run"]);
    assert!(!run.join("nfq.json").exists() && !run.join("policy.json").exists());
}

#[test]
fn a_front_that_was_edited_is_not_shown() {
    let directory = finished_run();
    let run = directory.path().join("run");
    succeeds(directory.path(), &["search", "run", "--front", "--quiet"]);
    succeeds(directory.path(), &["evaluate", "run", "--quiet"]);
    let path = run.join("front/policy-01.json");
    fs::write(&path, json(&path).to_string()).unwrap();
    let said = refused(directory.path(), &["report", "run"]);
    assert!(said.contains("policy-01.json does not fit run/front/front.json"), "{said}");
    assert!(said.contains("`fpsrl search run` with --front again"), "{said}");
}

#[test]
fn start_states_that_were_edited_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("run");
    fs::create_dir(&run).unwrap();
    let problem = "name = \"tank\"\nhorizon = 10\nstart = \"data\"\n[[state]]\nname = \"level\"\n[[action]]\nname = \
                   \"valve\"\nlimits = [0.0, 1.0]\n[world]\nkind = \"mlp\"\nlayers = 1\nneurons = 2\nepochs = 2\n\
                   [search]\nparticles = 4\niterations = 2\nstart_states = 5\n[evaluation]\nstart_states = 5\n";
    fs::write(run.join("problem.toml"), problem).unwrap();
    let mut log = "episode,step,level,valve,next_level,reward\n".to_owned();
    let mut level = 1.0;
    for step in 0..200 {
        let valve = f64::from(step * 7 % 10) / 10.0;
        let next = 0.9 * level + 0.2 * valve;
        log += &format!("0,{step},{level:?},{valve:?},{next:?},{:?}\n", -next);
        level = next;
    }
    fs::write(run.join("transitions.csv"), log).unwrap();
    for verb in ["fit", "search", "evaluate"] {
        succeeds(directory.path(), &[verb, "run", "--quiet"]);
    }
    let path = run.join("starts.csv");
    let starts = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{starts}9.5\n")).unwrap();
    let said = refused(directory.path(), &["evaluate", "run"]);
    assert!(said.contains("run/world.json does not fit run/starts.csv") && said.contains("fpsrl fit run"), "{said}");
    // Fitting again takes them from the log, as the first time.
    succeeds(directory.path(), &["fit", "run", "--quiet"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), starts);
}

#[test]
fn a_world_of_an_older_form_is_refused_by_name() {
    let directory = finished_run();
    let path = directory.path().join("run/world.json");
    let mut world = json(&path);
    world.as_object_mut().unwrap().remove("problem_sha256");
    fs::write(&path, world.to_string()).unwrap();
    let said = refused(directory.path(), &["search", "run"]);
    assert!(said.contains("run/world.json") && said.contains("fpsrl fit run"), "{said}");
}

#[test]
fn limits_of_actions_in_policy_and_problem_are_the_same_or_refused() {
    let directory = finished_run();
    let run = directory.path().join("run");
    replace(&run.join("policy.json"), "-1.0,\n", "-1.5,\n");
    for arguments in [["evaluate", "run"].as_slice(), &["export", "run", "--to", "c"], &["report", "run"]] {
        let said = refused(directory.path(), arguments);
        assert!(said.contains("the limits of `force` are [-1.5, 1.0] instead of [-1.0, 1.0]"), "{said}");
    }
}

#[test]
fn another_seed_is_another_world() {
    let directory = finished_run();
    replace(&directory.path().join("run/problem.toml"), "seed = 1", "seed = 2");
    let said = refused(directory.path(), &["search", "run"]);
    assert!(said.contains("run/world.json does not fit run/problem.toml") && said.contains("fpsrl fit run"), "{said}");
}

#[test]
fn a_run_without_its_figures_is_not_exported_and_one_with_broken_figures_can_be_mended() {
    let directory = finished_run();
    let path = directory.path().join("run/summary.json");
    let whole = fs::read_to_string(&path).unwrap();
    fs::remove_file(&path).unwrap();
    let said = refused(directory.path(), &["export", "run", "--to", "c"]);
    assert!(said.contains("summary.json is missing") && said.contains("fpsrl evaluate run"), "{said}");
    fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    let said = refused(directory.path(), &["report", "run"]);
    assert!(said.contains("truncated") && said.contains("fpsrl evaluate run"), "{said}");
    succeeds(directory.path(), &["evaluate", "run"]);
    succeeds(directory.path(), &["export", "run", "--to", "c"]);
}

#[test]
fn a_policy_that_nobody_has_judged_is_neither_shown_nor_exported() {
    let directory = finished_run();
    succeeds(directory.path(), &["export", "run", "--to", "fll", "--out", "small.fll"]);
    succeeds(directory.path(), &["import", "small.fll", "--into", "run"]);
    for arguments in [["report", "run"].as_slice(), &["export", "run", "--to", "c"]] {
        let said = refused(directory.path(), arguments);
        assert!(said.contains("it has no figures of this policy yet") && said.contains("fpsrl evaluate run"), "{said}");
    }
}

#[test]
fn the_record_of_another_search_is_not_drawn() {
    let directory = finished_run();
    let path = directory.path().join("run/search.csv");
    fs::write(&path, fs::read_to_string(&path).unwrap() + "99,0.0,0.0,1,1.0,0\n").unwrap();
    let said = refused(directory.path(), &["report", "run"]);
    assert!(said.contains("run/search.csv does not fit run/summary.json"), "{said}");
}

#[test]
fn a_run_whose_problem_has_changed_is_searched_anew_when_it_is_resumed() {
    let directory = finished_run();
    let run = directory.path().join("run");
    replace(&run.join("problem.toml"), "horizon = 200", "horizon = 100");
    succeeds(directory.path(), &["run", "--resume", "run", "--quiet"]);
    let summary = json(&run.join("summary.json"));
    assert!(summary["search_return"].is_f64() && run.join("search.csv").exists(), "{summary}");
}

#[test]
fn rewards_follow_the_formula_that_is_there() {
    let directory = tempfile::tempdir().unwrap();
    let mut log = "t,level,valve\n".to_owned();
    let mut level = 1.0;
    for t in 0..300 {
        let valve = f64::from(t * 7 % 10) / 10.0;
        log += &format!("{t},{level:?},{valve:?}\n");
        level = 0.9 * level + 0.2 * valve;
    }
    fs::write(directory.path().join("log.csv"), log).unwrap();
    let problem = "name = \"tank\"\nhorizon = 10\n[[state]]\nname = \"level\"\n[[action]]\nname = \"valve\"\nlimits = \
                   [0.0, 1.0]\n[data]\nfile = \"log.csv\"\ntime = \"t\"\n[world]\nreward = \"-level\"\nkind = \"mlp\"\n\
                   layers = 1\nneurons = 2\nepochs = 2\n[policy]\nrules = 1\n[search]\nparticles = 4\niterations = 2\n\
                   start_states = 5\n[evaluation]\nstart_states = 5\n";
    fs::write(directory.path().join("problem.toml"), problem).unwrap();
    succeeds(directory.path(), &["run", "problem.toml", "--out", "run", "--quiet"]);
    let earned = || json(&directory.path().join("run/summary.json"))["behaviour"]["logged_return"].as_f64().unwrap();
    let before = earned();
    replace(&directory.path().join("run/problem.toml"), "reward = \"-level\"", "reward = \"-2 * level\"");
    for verb in ["fit", "search", "evaluate"] {
        succeeds(directory.path(), &[verb, "run", "--quiet"]);
    }
    assert!((earned() - 2.0 * before).abs() < 1e-9 * before.abs(), "{} {before}", earned());
}
