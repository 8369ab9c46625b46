//! The stages as values give what the command's directory gives, bit for bit, and need no directory.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fpsrl::export::{Format, Settings, Target};
use fpsrl::problem::{Budget, OptimiserKind, WrittenProblem};
use fpsrl::progress::{Event, Stage, Stop};
use fpsrl::run;
use fpsrl::search::SearchOptions;
use fpsrl::{Error, Found, Judged, Log, Problem, Progress, Worlds};

/// Everything small: an ensemble of two, a judge, one layer, few steps.
fn small(more: &str) -> Problem {
    let text = format!(
        "plant = \"mountain-car\"\n[data]\nsamples = 5000\n[world]\nkind = \"ensemble\"\nmembers = 3\nlayers = 1\n\
         epochs = 4\n[search]\nstart_states = 10\n[evaluation]\nstart_states = 20\n{more}"
    );
    let mut problem = WrittenProblem::parse(&text, "small.toml".as_ref()).unwrap().check().unwrap();
    problem.search.budget = Some(Budget::Steps(300_000));
    problem
}

#[test]
fn the_whole_method_needs_no_directory_and_finds_what_a_run_directory_finds() {
    let problem = small("");
    let progress = Progress::silent();
    let log = Log::new(&problem, &progress).unwrap();
    let worlds = log.fit(&problem.world, &progress).unwrap();
    let found = worlds.search(&problem.policy, &problem.search, &progress).unwrap();
    let judged = found.judge(&problem.evaluation, &progress).unwrap();

    let parent = tempfile::tempdir().unwrap();
    let run = run::generate(&problem, &parent.path().join("run"), false, &progress).unwrap();
    let options = SearchOptions::of(&problem.search, true);
    run.fit(&progress).unwrap();
    run.search(options, &progress).unwrap();
    let summary = run.evaluate(options, &progress).unwrap();
    assert_eq!(*judged.policy(), run.policy(&problem).unwrap());
    assert_eq!(log.sha256().unwrap(), summary.data_sha256);
    assert_eq!(worlds.learned(), run.worlds(&problem).unwrap().learned());
    // All figures are the same; only a directory has files to be of.
    let mut stored = summary.clone();
    stored.policy_sha256 = None;
    stored.world_sha256 = None;
    stored.problem_sha256 = None;
    stored.evaluation_sha256 = None;
    assert!(judged.summary().same_figures(&stored), "{:?}\n{stored:?}", judged.summary());
    assert!(
        summary.promise.is_some_and(|promise| promise.rescored.is_some()),
        "a judge has spoken, or cross-fitting for it"
    );

    // A policy from elsewhere is judged on the same worlds: what it earns does not depend on who found it.
    let again = worlds.judge(judged.policy(), &problem.evaluation, &progress).unwrap();
    assert_eq!(again.summary().model_return, judged.summary().model_return);
    assert_eq!(again.summary().search_return, None);

    let path = parent.path().join("controller.c");
    let delivery = judged.source().unwrap().export(&Settings::default(), Target::new(Format::C), &path).unwrap();
    let text = std::fs::read_to_string(&delivery.files[0]).unwrap();
    assert!(text.contains(&summary.data_sha256) && text.contains("promise"), "{text}");
    let report = judged.with_ceiling(&[], &progress).unwrap().report(0.01, &progress).unwrap();
    assert!(report.page.starts_with("<!doctype html>") || report.page.starts_with("<!DOCTYPE html>"));
}

#[test]
fn artefacts_outlive_what_they_were_made_with_and_go_to_other_threads() {
    fn owned<T: Send + Sync + Clone + 'static>() {}
    owned::<Log>();
    owned::<Worlds>();
    owned::<Found>();
    owned::<Judged>();
    owned::<Progress>();
}

#[test]
fn one_handle_stops_every_stage_and_events_say_how_far_it_came() {
    let problem = small("");
    let stop = Stop::default();
    let (seen, asked) = (Arc::new(Mutex::new(Vec::new())), stop.clone());
    let listener = Arc::clone(&seen);
    let progress = Progress::new(move |event| {
        if matches!(event, Event::Advanced { stage: Stage::Search, .. }) {
            asked.request();
        }
        listener.lock().unwrap().push(event.clone());
    })
    .stopped_by(&stop);
    let worlds = Log::new(&problem, &progress).unwrap().fit(&problem.world, &progress).unwrap();
    let result = worlds.search(&problem.policy, &problem.search, &progress);
    assert!(matches!(result, Err(Error::Stopped { .. })));
    let seen = seen.lock().unwrap();
    let began =
        |wanted: Stage| seen.iter().any(|event| matches!(event, Event::Began { stage, .. } if *stage == wanted));
    assert!(began(Stage::Generate) && began(Stage::Fit) && began(Stage::Search));
}

#[test]
fn settings_are_checked_at_the_door_of_their_stage() {
    let problem = small("");
    let progress = Progress::silent();
    let log = Log::new(&problem, &progress).unwrap();
    let mut world = problem.world.clone();
    world.members = 0;
    assert!(log.fit(&world, &progress).err().unwrap().to_string().contains("world.members"));
    let worlds = log.fit(&problem.world, &progress).unwrap();
    let mut policy = problem.policy.clone();
    policy.rules = 0;
    let error = worlds.search(&policy, &problem.search, &progress).err().unwrap();
    assert!(error.to_string().contains("policy.rules"), "{error}");
    let columns = fpsrl::data::Transitions::new(3, 1);
    assert!(Log::of(&problem, columns).err().unwrap().to_string().contains("3 states and 1 actions"));
}

/// A search for each number of rules, stopped again and again after so many rounds.
#[test]
fn growth_that_is_stopped_anywhere_finds_the_same() {
    let more = "[policy]\nrules = \"auto\"\nmost_rules = 3\nrules_tolerance = 0.0\n";
    let mut problem = small(more);
    problem.search.optimiser = OptimiserKind::Swarm;
    (problem.search.budget, problem.search.particles, problem.search.iterations) = (None, 10, 30);
    let parent = tempfile::tempdir().unwrap();
    let options = SearchOptions { checkpoint_every: Duration::ZERO, ..SearchOptions::of(&problem.search, true) };
    let run = |name: &str| {
        let run = run::generate(&problem, &parent.path().join(name), false, &Progress::silent()).unwrap();
        run.fit(&Progress::silent()).unwrap();
        run
    };
    let whole = run("whole");
    let expected = whole.search(options, &Progress::silent()).unwrap();
    let stopped = run("stopped");
    let mut stops = 0;
    let found = loop {
        // Searches and the taking away of conditions report; a few of their events are let pass each time.
        let (stop, left) = (Stop::default(), AtomicUsize::new(4 + 5 * stops));
        let asked = stop.clone();
        let progress = Progress::new(move |event| {
            let counts = matches!(event, Event::Advanced { stage: Stage::Search | Stage::Front, .. });
            if counts && left.fetch_sub(1, Ordering::Relaxed) == 1 {
                asked.request();
            }
        })
        .stopped_by(&stop);
        match stopped.resume(options, &progress) {
            Ok(summary) => break summary,
            Err(Error::Stopped { .. }) => stops += 1,
            Err(error) => panic!("after {stops} stops: {error}"),
        }
    };
    assert!(stops > 3, "{stops}");
    assert_eq!(stopped.policy(&problem).unwrap(), whole.policy(&problem).unwrap());
    assert_eq!(found.growth, expected.growth);
    assert_eq!(found.model_steps, expected.model_steps);
    assert!(!stopped.file("growth.json").exists() && !stopped.file("checkpoint.json").exists());
}
