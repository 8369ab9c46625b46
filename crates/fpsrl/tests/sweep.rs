//! Sweeps: what they plan, that they find what single runs find, and that nothing ends them but their end.

use std::fs;
use std::path::Path;

use fpsrl::run::{self, ReportOptions};
use fpsrl::search::SearchOptions;
use fpsrl::sweep::{ConductOptions, Gathered, Outcome, State, Sweep};
use fpsrl::{Progress, Result};

/// A problem whose run takes a moment.
const PROBLEM: &str = "name = 'small'\nplant = 'mountain-car'\n[data]\nsamples = 400\n[world]\nkind = 'ensemble'\nlayers = 1\n\
                       epochs = 3\nmembers = 2\n[search]\nparticles = 6\niterations = 4\nstart_states = 5\n\
                       [evaluation]\nstart_states = 5\n";

fn directory(sweep: &str) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("problem.toml"), PROBLEM).unwrap();
    fs::write(directory.path().join("sweep.toml"), format!("problem = 'problem.toml'\n{sweep}")).unwrap();
    directory
}

fn read(directory: &Path) -> Result<Sweep> {
    Sweep::read(&directory.join("sweep.toml"))
}

fn names(sweep: &Sweep) -> Vec<&str> {
    sweep.runs().iter().map(|run| run.name.as_str()).collect()
}

fn refused(sweep: &str) -> (String, String) {
    let directory = directory(sweep);
    let error = read(directory.path()).unwrap_err();
    assert!(error.is_users());
    (error.to_string(), error.hint().unwrap_or_default())
}

fn conduct(sweep: &Sweep, workers: usize) -> Gathered {
    let options = ConductOptions { workers: Some(workers), ..ConductOptions::default() };
    sweep.conduct(options, &Progress::silent()).unwrap()
}

/// The table without the times, which are another every time.
fn table(gathered: &Gathered) -> String {
    let mut table = gathered.table();
    table.columns.retain(|(name, _)| name != "seconds");
    table.to_csv().unwrap()
}

#[test]
fn every_combination_is_planned_under_a_name_that_stays() {
    let directory = directory(
        "seeds = [1, 7]\n[grid]\npolicy.rules = [2, 3]\n'search.caution' = [0.0, 0.5]\n[[run]]\nname = 'wide'\n\
                               policy.rules = 5\n[[run]]\nworld.epochs = 4\n",
    );
    let sweep = read(directory.path()).unwrap();
    assert_eq!(
        names(&sweep),
        [
            "rules=2,caution=0,seed=1",
            "rules=2,caution=0,seed=7",
            "rules=2,caution=0.5,seed=1",
            "rules=2,caution=0.5,seed=7",
            "rules=3,caution=0,seed=1",
            "rules=3,caution=0,seed=7",
            "rules=3,caution=0.5,seed=1",
            "rules=3,caution=0.5,seed=7",
            "wide,seed=1",
            "wide,seed=7",
            "epochs=4,seed=1",
            "epochs=4,seed=7",
        ]
    );
    assert_eq!(sweep.varied(), ["policy.rules", "search.caution", "world.epochs"]);
    let problem = sweep.problem(sweep.run("wide,seed=7").unwrap()).unwrap();
    assert_eq!((problem.policy.rules, problem.system.seed(), problem.world.epochs), (5, 7, 3));
    assert!(sweep.run("wide,seed=8").is_err());
    assert_eq!(sweep.directory(), directory.path().join("sweep"));
}

#[test]
fn without_a_grid_the_seeds_are_the_sweep() {
    let directory = directory("seeds = 3\nruns = 'out/here'\n");
    let sweep = read(directory.path()).unwrap();
    assert_eq!(names(&sweep), ["seed=1", "seed=2", "seed=3"]);
    assert_eq!(sweep.directory(), directory.path().join("out/here"));
}

#[test]
fn variables_are_named_by_their_names() {
    let directory = tempfile::tempdir().unwrap();
    let problem = "horizon = 5\n[data]\nfile = 'log.csv'\n[[state]]\nname = 'level'\n[[action]]\nname = 'valve'\nlimits = [0.0, 1.0]\n";
    fs::write(directory.path().join("problem.toml"), problem).unwrap();
    fs::write(directory.path().join("log.csv"), "level,valve,reward\n").unwrap();
    let file = directory.path().join("sweep.toml");
    let with = |grid: &str| {
        fs::write(&file, format!("problem = 'problem.toml'\n[grid]\n{grid}\n")).unwrap();
        Sweep::read(&file)
    };
    let sweep = with("'action.valve.limits' = [[0.0, 1.0], [0.0, 0.5]]").unwrap();
    assert_eq!(names(&sweep), ["limits=0-1,seed=1", "limits=0-0.5,seed=1"]);
    assert_eq!(sweep.problem(&sweep.runs()[1]).unwrap().system.actions()[0].limits, [0.0, 0.5]);
    let error = with("'state.levl.start' = [[0.0, 1.0]]").unwrap_err();
    assert!(error.to_string().contains("no [[state]] is called `levl`"), "{error}");
    assert!(error.hint().unwrap().contains("did you mean `level`?"));
}

#[test]
fn what_is_wrong_is_said_before_anything_is_made() {
    for (sweep, said, hint) in [
        ("sedes = 3\n", "there is no key called `sedes` here", "did you mean `seeds`?"),
        ("seeds = 0\n", "`seeds` is 0, but there would be no run", "seeds = 10"),
        ("seeds = [1, 2, 1]\n", "a number stands in it twice", "name each once"),
        ("seeds = -3\n", "sweep.toml, line 2", ""),
        ("seeds = 200000\n", "a sweep has at most 100,000 runs", "vary less"),
        (
            "seeds = 1000\n[grid]\nhorizon = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\npolicy.rules = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]\n",
            "`runs` is 110000 in number",
            "vary less",
        ),
        ("workers = 0\n", "`workers` is 0", "from 1 to 1024"),
        ("[grid]\npolicy.rules = []\n", "`grid.policy.rules` is an empty list", ""),
        ("[grid]\npolicy.rules = [2, 2]\n", "the value stands there twice", "`seeds` repeats a run"),
        ("[grid]\npolicy.rules = [2, 0]\n", "`policy.rules` is 0, but", ""),
        ("[grid]\npolicy.rlues = [2]\n", "there is no key called `rlues` here", "did you mean `rules`?"),
        ("[grid]\nrules = [2]\n", "there is no key called `rules` here", "write \"policy.rules\""),
        ("[grid]\nseed = [1, 2]\n", "a sweep has `seeds`", ""),
        ("[grid]\nhorizon = ['far']\n", "the run `horizon=far,seed=1`", ""),
        ("[grid]\nhorizon.x = [3]\n", "the run `x=3,seed=1`", ""),
        ("[[run]]\nname = '../up'\n", "it becomes part of a directory's name", "use letters"),
        (
            "[[run]]\nname = 'a'\npolicy.rules = 2\n[[run]]\nname = 'A'\npolicy.rules = 3\n",
            "two runs would be called so",
            "",
        ),
        ("[[run]]\npolicy.rules = 3\n[[run]]\nname = 'b'\npolicy.rules = 3\n", "it has the settings of `rules=3`", ""),
        ("[[run]]\n", "`run 1` is empty", ""),
        ("logs = ['a.csv']\n", "the problem makes its log itself", ""),
        ("logs = []\n", "`logs` is an empty list", ""),
        ("runs = ''\n", "`runs` is empty", ""),
        ("bootstrap = [1, 1]\n", "a number stands in it twice", ""),
    ] {
        let (message, remedy) = refused(sweep);
        assert!(message.contains(said), "{sweep}: {message}");
        assert!(remedy.contains(hint), "{sweep}: {message}: {remedy}");
    }
    let parent = tempfile::tempdir().unwrap();
    let file = parent.path().join("sweep.toml");
    for (text, said) in [
        ("", "it does not say which problem is varied"),
        ("problem = 'mountin-car'", "called `mountin-car`"),
        ("problem = 'nowhere.toml'", "nowhere.toml cannot be read"),
    ] {
        fs::write(&file, text).unwrap();
        assert!(Sweep::read(&file).unwrap_err().to_string().contains(said), "{text}");
    }
}

#[test]
fn the_largest_sweeps_are_planned_or_refused_at_once() {
    // Checked one by one, their problems would take half a minute.
    let directory = directory("seeds = 100000\n");
    assert_eq!(read(directory.path()).unwrap().runs().len(), 100_000);
    // Of these, each run would hold every setting.
    let keys: String = (0..5_000).map(|key| format!("'search.k{key}' = 1\n")).collect();
    let directory = self::directory(&format!("seeds = 1000\n[grid]\n{keys}"));
    assert!(read(directory.path()).unwrap_err().to_string().contains("`grid` is 5000000 settings"));
    let logs: Vec<String> = (0..3_000).map(|log| format!("'{log}/log.csv'")).collect();
    let directory = self::directory(&format!("logs = [{}]\n", logs.join(",")));
    assert!(read(directory.path()).is_err());
}

#[test]
fn a_simulator_gets_no_draws_of_its_log() {
    let directory = tempfile::tempdir().unwrap();
    let problem = "horizon = 5\n[[state]]\nname = 'x'\nstart = [0.0, 1.0]\n[[action]]\nname = 'u'\nlimits = [0.0, 1.0]\n[world]\nprocess = ['true']\n";
    fs::write(directory.path().join("problem.toml"), problem).unwrap();
    fs::write(directory.path().join("sweep.toml"), "problem = 'problem.toml'\nbootstrap = 3\n").unwrap();
    let error = read(directory.path()).unwrap_err();
    assert!(error.to_string().contains("searched on a simulator"), "{error}");
}

#[test]
fn a_run_of_a_sweep_is_the_run_by_itself_byte_for_byte() {
    let directory = directory("seeds = [2]\n[grid]\npolicy.rules = [3]\n");
    let sweep = read(directory.path()).unwrap();
    conduct(&sweep, 1);
    let progress = Progress::silent();
    let problem = sweep.problem(&sweep.runs()[0]).unwrap();
    let alone = run::generate(&problem, &directory.path().join("alone"), false, &progress).unwrap();
    let options = SearchOptions::of(&problem.search, true);
    alone.fit(&progress).unwrap();
    alone.search(options, &progress).unwrap();
    alone.evaluate(options, &progress).unwrap();
    alone.report(&ReportOptions::default(), &progress).unwrap();
    let place = sweep.place(&sweep.runs()[0]);
    for name in ["problem.toml", "transitions.csv", "world.json", "policy.json"] {
        let [ours, theirs] = [&place, &alone.path().to_owned()].map(|run| fs::read(run.join(name)).unwrap());
        assert!(ours == theirs, "{name} differs");
    }
    let of_sweep = run::RunDirectory::open(&place).unwrap().summary().unwrap();
    assert!(of_sweep.same_figures(&alone.summary().unwrap()));
}

#[test]
fn the_table_does_not_depend_on_the_workers() {
    let tables = [1, 2].map(|workers| {
        let directory = directory("seeds = 3\nbootstrap = [0, 1]\n[grid]\npolicy.rules = [2, 3]\n");
        let gathered = conduct(&read(directory.path()).unwrap(), workers);
        assert_eq!(gathered.failures().count(), 0);
        assert_eq!(gathered.findings().points.len(), 2);
        for name in ["table.csv", "sweep.html", "sweep.json"] {
            assert!(directory.path().join("sweep").join(name).exists(), "{name}");
        }
        table(&gathered)
    });
    assert_eq!(tables[0], tables[1]);
    assert_eq!(tables[0].lines().count(), 13);
}

#[test]
fn what_is_finished_is_not_made_again_and_a_sweep_may_grow() {
    let directory = directory("seeds = 2\n");
    let first = read(directory.path()).unwrap();
    conduct(&first, 1);
    let written = |name: &str| fs::metadata(directory.path().join("sweep").join(name)).unwrap().modified().unwrap();
    let before = written("seed=1/policy.json");
    let report = written("seed=1/report.html");
    fs::write(directory.path().join("sweep.toml"), "problem = 'problem.toml'\nseeds = 3\n").unwrap();
    let gathered = conduct(&read(directory.path()).unwrap(), 1);
    assert_eq!((written("seed=1/policy.json"), written("seed=1/report.html")), (before, report));
    assert_eq!(gathered.runs().iter().filter(|run| run.word() == "finished").count(), 3);
    let run = &first.runs()[0];
    assert_eq!(first.execute(run, false, &Progress::silent()).unwrap(), Outcome::Finished { now: false });
}

#[test]
fn runs_with_other_settings_are_not_mistaken_for_those_that_are_planned() {
    let directory = directory("seeds = 1\n[[run]]\nname = 'a'\npolicy.rules = 2\n");
    conduct(&read(directory.path()).unwrap(), 1);
    let file = directory.path().join("sweep.toml");
    fs::write(&file, "problem = 'problem.toml'\nseeds = 1\n[[run]]\nname = 'a'\npolicy.rules = 3\n").unwrap();
    let error = read(directory.path()).unwrap().begin().unwrap_err();
    assert!(error.to_string().contains("it was made with policy.rules = 2 instead of 3"), "{error}");
    assert!(error.hint().unwrap().contains("another directory"));
    // One whose problem was changed by hand is no longer what was planned.
    fs::write(&file, "problem = 'problem.toml'\nseeds = 1\n[[run]]\nname = 'a'\npolicy.rules = 2\n").unwrap();
    let problem = directory.path().join("sweep/a,seed=1/problem.toml");
    fs::write(&problem, fs::read_to_string(&problem).unwrap() + "\n").unwrap();
    let error = read(directory.path()).unwrap().begin().unwrap_err();
    assert!(error.to_string().contains("problem.toml has been changed"), "{error}");
    // Nor is something else that stands in the place of the runs.
    let other = self::directory("seeds = 1\n");
    fs::create_dir(other.path().join("sweep")).unwrap();
    fs::write(other.path().join("sweep/notes.txt"), "").unwrap();
    let error = read(other.path()).unwrap().begin().unwrap_err();
    assert!(error.to_string().contains("there is something else in it"), "{error}");
}

/// A log of a tank in episodes, and another one that is too short to learn from.
fn tank(directory: &Path) {
    let log = |rows: usize| {
        let mut text = "episode,level,valve\n".to_owned();
        let mut level = 0.5;
        for row in 0..rows {
            let valve = f64::from(u32::try_from(row * 7919 % 101).unwrap()) / 100.0;
            text += &format!("{},{level},{valve}\n", row / 20);
            level += 0.1 * valve - 0.05 * level;
        }
        text
    };
    fs::write(directory.join("long.csv"), log(400)).unwrap();
    fs::write(directory.join("short.csv"), log(60)).unwrap();
    let problem = "name = 'tank'\nhorizon = 10\n[data]\nfile = 'long.csv'\nepisode = 'episode'\n[[state]]\nname = 'level'\n[[action]]\n\
                   name = 'valve'\nlimits = [0.0, 1.0]\n[world]\nreward = '-abs(level - 1)'\nkind = 'ensemble'\nlayers = 1\n\
                   epochs = 3\nmembers = 2\n[policy]\nrules = 2\n[search]\nparticles = 6\niterations = 4\nstart_states = 5\n\
                   [evaluation]\nstart_states = 5\n";
    fs::write(directory.join("problem.toml"), problem).unwrap();
}

#[test]
fn failures_are_kept_and_stop_nothing() {
    let directory = tempfile::tempdir().unwrap();
    tank(directory.path());
    let text = "problem = 'problem.toml'\nseeds = 3\nlogs = ['long.csv', 'short.csv']\n";
    fs::write(directory.path().join("sweep.toml"), text).unwrap();
    let sweep = read(directory.path()).unwrap();
    assert_eq!(names(&sweep)[3], "log=short,seed=1");
    let gathered = conduct(&sweep, 2);
    let words: Vec<&str> = gathered.runs().iter().map(|run| run.word()).collect();
    assert_eq!(words, ["finished", "finished", "finished", "failed", "failed", "failed"]);
    let failure = gathered.failures().next().unwrap();
    assert!(failure.message.contains("a world model needs 100"), "{}", failure.message);
    assert!(!failure.bug && failure.hint.is_some());
    // It is known without another attempt, and said in the page.
    assert!(matches!(sweep.state(&sweep.runs()[3]).unwrap(), State::Failed(_)));
    assert!(gathered.page().contains("a world model needs 100"));
    let kept = fs::metadata(sweep.directory().join("failures/log=short,seed=1.json")).unwrap().modified().unwrap();
    conduct(&sweep, 2);
    let file = sweep.directory().join("failures/log=short,seed=1.json");
    assert_eq!(fs::metadata(&file).unwrap().modified().unwrap(), kept);
    // A log that is mended is another one: its runs are made anew where nothing stands in the way.
    fs::copy(directory.path().join("long.csv"), directory.path().join("short.csv")).unwrap();
    for seed in 1..=3 {
        let _ = fs::remove_dir_all(sweep.directory().join(format!("log=short,seed={seed}")));
    }
    assert_eq!(conduct(&read(directory.path()).unwrap(), 2).failures().count(), 0);
    assert!(!file.exists());
}

#[test]
fn a_log_that_is_gone_is_the_failure_of_its_runs_alone() {
    let directory = tempfile::tempdir().unwrap();
    tank(directory.path());
    fs::copy(directory.path().join("long.csv"), directory.path().join("other.csv")).unwrap();
    fs::write(directory.path().join("sweep.toml"), "problem = 'problem.toml'\nlogs = ['long.csv', 'other.csv']\n")
        .unwrap();
    let sweep = read(directory.path()).unwrap();
    fs::remove_file(directory.path().join("other.csv")).unwrap();
    let gathered = conduct(&sweep, 1);
    let words: Vec<&str> = gathered.runs().iter().map(|run| run.word()).collect();
    assert_eq!(words, ["finished", "failed"]);
    // A run that has its log already needs the file no more.
    fs::remove_file(directory.path().join("long.csv")).unwrap();
    assert_eq!(sweep.execute(&sweep.runs()[0], false, &Progress::silent()).unwrap(), Outcome::Finished { now: false });
    // Before anything is made, a file that is missing is refused.
    assert!(read(directory.path()).unwrap_err().to_string().contains("long.csv cannot be read"));
}

#[test]
fn draws_of_a_log_are_logs_of_their_own() {
    let directory = tempfile::tempdir().unwrap();
    tank(directory.path());
    fs::write(directory.path().join("sweep.toml"), "problem = 'problem.toml'\nseeds = 2\nbootstrap = [0, 1, 2]\n")
        .unwrap();
    let sweep = read(directory.path()).unwrap();
    assert_eq!(names(&sweep)[..3], ["seed=1", "seed=2", "draw=1,seed=1"]);
    conduct(&sweep, 2);
    let log = |name: &str| fs::read(sweep.directory().join(name).join("transitions.csv")).unwrap();
    assert!(log("draw=1,seed=1") == log("draw=1,seed=2"), "a draw does not depend on the seed");
    assert!(log("draw=1,seed=1") != log("draw=2,seed=1") && log("draw=1,seed=1") != log("seed=1"));
    assert!(log("draw=1,seed=1").starts_with(b"episode,step,level,valve,next_level,reward,drawn_from\n"));
}

#[test]
fn a_sweep_that_is_stopped_goes_on_and_finds_the_same() {
    let expected = directory("seeds = 4\n");
    let whole = conduct(&read(expected.path()).unwrap(), 1);
    let directory = directory("seeds = 4\n");
    let sweep = read(directory.path()).unwrap();
    let stop = fpsrl::Stop::default();
    let asked = stop.clone();
    // After the second run that is finished.
    let progress = Progress::new(move |event| {
        if let fpsrl::progress::Event::Advanced { status: fpsrl::progress::Status::Runs { finished: 2, .. }, .. } =
            event
        {
            asked.request();
        }
    });
    let options = ConductOptions { workers: Some(1), ..ConductOptions::default() };
    let error = sweep.conduct(options, &progress.stopped_by(&stop)).map(drop).unwrap_err();
    assert!(matches!(error, fpsrl::Error::Stopped { .. }), "{error}");
    let states = sweep.states().unwrap();
    let finished = states.iter().filter(|state| matches!(state, State::Finished(_))).count();
    assert_eq!(finished, 2);
    // What a kill leaves: a run without its later files, and one that never got its name.
    fs::remove_file(sweep.directory().join("seed=1/policy.json")).unwrap();
    fs::remove_file(sweep.directory().join("seed=1/report.html")).unwrap();
    fs::create_dir(sweep.directory().join(".fpsrl-abc.part")).unwrap();
    let again = conduct(&sweep, 2);
    assert_eq!(table(&again), table(&whole));
    assert!(!sweep.directory().join(".fpsrl-abc.part").exists());
}

#[test]
fn a_run_that_another_process_makes_is_left_to_it() {
    let directory = directory("seeds = 2\n");
    let sweep = read(directory.path()).unwrap();
    sweep.begin().unwrap();
    let prepared = sweep.prepare(&sweep.runs()[0], &Progress::silent()).unwrap();
    let lock = prepared.lock().unwrap();
    let gathered = conduct(&sweep, 1);
    let words: Vec<&str> = gathered.runs().iter().map(|run| run.word()).collect();
    assert_eq!(words, ["begun", "finished"]);
    drop(lock);
    assert_eq!(conduct(&sweep, 1).runs()[0].word(), "finished");
}
