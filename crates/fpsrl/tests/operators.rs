//! Plants with operators, from a log to a judged policy: set-points, disturbances that are measured and such that are not, modes,
//! noise, prices and limits.

use fpsrl::problem::{Budget, WrittenProblem};
use fpsrl::random::{Purpose, Stream};
use fpsrl::world::quality::Word;
use fpsrl::{Judged, Log, Problem, Progress, Worlds};

/// A tank under a lazy controller: the log of a historian. Its outflow jumps, and nobody measures that.
fn log(rows: u32, shuffled: bool) -> String {
    let stream = Stream::new(5, Purpose::LogStart);
    let mut text = "t;PV;SP;Mode;OUT\n".to_owned();
    let (mut level, mut lazy) = (5.0, 0.3);
    let mut lines = Vec::new();
    for row in 0..rows {
        let wanted = [4.0, 6.0, 5.0, 7.0][(row / 60 % 4) as usize];
        let mode = if row / 170 % 2 == 0 { "DAY" } else { "NIGHT" };
        let outflow = [0.3, 0.45, 0.2][(row / 95 % 3) as usize];
        let measured = level + 0.02 * stream.normal(0, row, 0);
        lazy += 0.004 * (wanted - measured);
        let moved = if row % 11 == 0 { 0.15 * stream.normal(1, row / 11, 0) } else { 0.0 };
        let valve = (lazy + 0.05 * (wanted - measured) + moved).clamp(0.0, 1.0);
        lines.push((measured, wanted, mode, valve));
        let gain = if mode == "DAY" { 1.0 } else { 0.8 };
        level += gain * valve - outflow - 0.02 * (level - 5.0);
    }
    let order = Stream::new(2, Purpose::Shuffle).permutation(lines.len(), 0);
    for (row, (measured, wanted, mode, valve)) in lines.iter().enumerate() {
        let valve = if shuffled { lines[order[row]].3 } else { *valve };
        // A few cells are lost.
        let cell = if row % 97 == 50 { "Bad".to_owned() } else { format!("{measured:.3}") };
        text += &format!("{row};{cell};{wanted};{mode};{valve:.4}\n");
    }
    text
}

const PROBLEM: &str = "name = 'tank'\nhorizon = 50\n[[state]]\nname = 'PV'\ntracks = 'SP'\nintegral = true\n\
                       keep = [0.0, 9.0]\n[[input]]\nname = 'SP'\n[[input]]\nname = 'Mode'\nvalues = ['DAY', 'NIGHT']\n\
                       [[action]]\nname = 'OUT'\nlimits = [0.0, 1.0]\nmove_cost = 0.2\n[data]\nfile = 'log.csv'\n\
                       time = 't'\nhistory = 1\n[world]\nreward = '-abs(PV - SP)'\nmembers = 3\nlayers = 1\nepochs = 20\n\
                       kind = 'ensemble'\n";

fn problem(directory: &std::path::Path, shuffled: bool, changed: &[(&str, &str)]) -> Problem {
    std::fs::write(directory.join("log.csv"), log(2_400, shuffled)).unwrap();
    let mut text = PROBLEM.to_owned();
    changed.iter().for_each(|(from, to)| text = text.replace(from, to));
    let path = directory.join("problem.toml");
    std::fs::write(&path, text).unwrap();
    let mut problem = WrittenProblem::read(&path).unwrap().check().unwrap();
    problem.search.budget = Some(Budget::Steps(3_000_000));
    problem.evaluation.start_states = 200;
    problem
}

fn worlds(problem: &Problem) -> Worlds {
    let log = Log::new(problem, &Progress::silent()).unwrap();
    log.fit(&problem.world, &Progress::silent()).unwrap()
}

fn judged(problem: &Problem) -> Judged {
    let found = worlds(problem).search(&problem.policy, &problem.search, &Progress::silent()).unwrap();
    found.judge(&problem.evaluation, &Progress::silent()).unwrap()
}

#[test]
fn a_controller_of_a_set_point_is_better_than_a_lazy_one_and_the_verdict_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let problem = problem(directory.path(), false, &[]);
    let judged = judged(&problem);
    let summary = judged.summary();
    let (gain, verdict) = (summary.gain.as_ref().unwrap(), summary.verdict.as_ref().unwrap());
    assert_eq!(gain.today_is, "log");
    assert!(gain.interval[0] > 0.0 && gain.policy > gain.today, "{gain:?}");
    assert!(verdict.word < Word::NoGo && verdict.effects[0].is_seen(), "{verdict:?}");
    assert!(verdict.world_word.is_some(), "the word on the worlds stays beside that on the controller");
    // One definition of today.
    assert_eq!(summary.behaviour.as_ref().unwrap().logged_return, gain.today);
    // In the user's units: a smaller error than the log's, and hardly any offset although an outflow jumps unmeasured.
    let (rules, today) = (gain.figures.as_ref().unwrap(), gain.figures_today.as_ref().unwrap());
    assert!(rules.tracked[0].error < 0.7 * today.tracked[0].error, "{rules:?} {today:?}");
    assert!(rules.tracked[0].offset.unwrap() < today.tracked[0].offset.unwrap(), "{rules:?} {today:?}");
    // A PI that was tuned on the same worlds is no better than rules that a search has begun from it.
    assert!(gain.policy > gain.pi.unwrap() - 0.05 * gain.gain, "{gain:?}");
    let promise = summary.promise.as_ref().unwrap();
    assert!(promise.under_searched_inputs.is_some());
    assert_eq!(promise.left.len(), 1, "the share of steps outside of `keep` is part of the promise");
}

#[test]
fn a_log_whose_actions_move_nothing_is_a_no_go() {
    let directory = tempfile::tempdir().unwrap();
    let problem = problem(directory.path(), true, &[]);
    let verdict = judged(&problem).summary().verdict.clone().unwrap();
    assert_eq!(verdict.word, Word::NoGo, "{verdict:?}");
    assert!(verdict.reason.contains("does not show that OUT moves anything"), "{}", verdict.reason);
}

#[test]
fn a_hard_limit_that_cannot_be_kept_is_said() {
    let directory = tempfile::tempdir().unwrap();
    let problem = problem(directory.path(), false, &[("keep = [0.0, 9.0]", "keep = [4.99, 5.01]\nkeep_hard = true")]);
    let promise = judged(&problem).summary().promise.clone().unwrap();
    assert!(promise.breaks && promise.left[0].1 > 0.0, "{promise:?}");
}

#[test]
fn movement_has_its_price_in_the_logs_rewards_too() {
    let directory = tempfile::tempdir().unwrap();
    let of = |changed: &[(&str, &str)]| {
        let problem = problem(directory.path(), false, changed);
        Log::new(&problem, &Progress::silent()).unwrap().transitions().clone()
    };
    let free = ("keep = [0.0, 9.0]\n", "");
    let (with, without) = (of(&[free]), of(&[free, ("move_cost = 0.2", "move_cost = 0.0")]));
    assert_eq!(with.len(), without.len());
    for row in 0..with.len() {
        let past = with.states.len() - 2;
        let moved = (with.actions[0][row] - with.states[past][row]).abs();
        assert!((without.rewards[row] - with.rewards[row] - 0.2 * moved).abs() < 1e-9, "row {row}");
    }
}

#[test]
fn an_objective_is_taken_off_the_logs_rewards_known_or_learned() {
    let directory = tempfile::tempdir().unwrap();
    let of = |changed: &[(&str, &str)]| {
        let problem = problem(directory.path(), false, changed);
        (Log::new(&problem, &Progress::silent()).unwrap().transitions().clone(), problem)
    };
    let free = ("keep = [0.0, 9.0]\n", "");
    // What is below 0 counts as 0: a valve that is nearly closed earns nothing.
    let objective = ("[data]", "[[objective]]\nname = 'flow'\ncost = '10 * (OUT - 0.3)'\nweight = 0.5\n[data]");
    // A reward of the log's own: here, one of its columns.
    let learned = ("reward = '-abs(PV - SP)'\n", "");
    let column = ("time = 't'", "time = 't'\nreward = 'SP'");
    for base in [&[free][..], &[free, learned, column]] {
        let (with, _) = of(&[base, &[objective]].concat());
        let (without, _) = of(base);
        assert_eq!(with.len(), without.len());
        for row in 0..with.len() {
            let cost = 5.0 * (with.actions[0][row] - 0.3).max(0.0);
            assert!((without.rewards[row] - with.rewards[row] - cost).abs() < 1e-9, "row {row}");
        }
    }
    // Worlds learn the reward before costs, and take the cost off themselves.
    let (log, problem) = of(&[free, learned, column, objective]);
    let worlds = worlds(&problem);
    let world = &worlds.learned().unwrap().world;
    let (mut earned, mut told) = (0.0, 0.0);
    for row in (0..log.len()).step_by(7) {
        let of = |columns: &[Vec<f64>]| columns.iter().map(|column| column[row]).collect::<Vec<f64>>();
        let [state, action, next] = [&log.states, &log.actions, &log.next_states].map(|columns| of(columns));
        earned += log.rewards[row];
        told += world.reward(&state, &action, &next) - world.costs(&state, &action, &next);
        let cost = 5.0 * (action[0] - 0.3).max(0.0);
        assert!((world.costs(&state, &action, &next) - cost - 0.2 * moved(&log, row)).abs() < 1e-9);
    }
    assert!((earned - told).abs() < 0.05 * earned.abs(), "{earned} {told}");
}

/// How far the valve moved in a row of the log.
fn moved(log: &fpsrl::data::Transitions, row: usize) -> f64 {
    (log.actions[0][row] - log.states[log.states.len() - 2][row]).abs()
}

#[test]
fn a_trade_that_is_stopped_writes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let mut problem =
        problem(directory.path(), false, &[("members = 3", "members = 2"), ("epochs = 20", "epochs = 3")]);
    problem.search.budget = Some(Budget::Steps(100_000));
    problem.evaluation.start_states = 20;
    let path = directory.path().join("run");
    let run = fpsrl::run::generate(&problem, &path, false, &Progress::silent()).unwrap();
    let options = fpsrl::search::SearchOptions::of(&problem.search, true);
    run.fit(&Progress::silent()).unwrap();
    run.search(options, &Progress::silent()).unwrap();
    run.evaluate(options, &Progress::silent()).unwrap();
    let names = || {
        let entries = std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().file_name());
        entries.collect::<std::collections::BTreeSet<_>>()
    };
    let before = names();
    // Asked for when the second search begins.
    let stop = fpsrl::Stop::default();
    let asked = stop.clone();
    let progress = Progress::new(move |event| {
        if let fpsrl::progress::Event::Noticed(notice) = event
            && notice.to_string().starts_with("search 2 of 2")
        {
            asked.request();
        }
    });
    let of = |name: &str| fpsrl::run::TradeOptions { name: name.into(), factors: vec![0.5, 2.0], effort: None };
    let error = run.trade(&of("OUT"), &progress.stopped_by(&stop)).unwrap_err();
    assert!(matches!(error, fpsrl::Error::Stopped { .. }), "{error}");
    assert_eq!(names(), before);
    assert!(run.trade_result().unwrap().is_none());
    // A range that a state should keep to has a price as well.
    let trade = run.trade(&of("PV"), &Progress::silent()).unwrap();
    assert_eq!((trade.kind.as_str(), trade.weight), ("range", 1.0));
    let (read, policies) = run.trade_result().unwrap().unwrap();
    assert!(read == trade && policies.len() == trade.points.len());
}

#[test]
fn the_same_seed_gives_the_same_policy_and_a_run_directory_the_same_worlds() {
    let directory = tempfile::tempdir().unwrap();
    let problem = problem(directory.path(), false, &[]);
    let worlds = worlds(&problem);
    let search = || worlds.search(&problem.policy, &problem.search, &Progress::silent()).unwrap();
    assert_eq!(search().best(), search().best());
}

#[test]
fn a_reward_that_an_action_earns_by_itself_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let changed = [
        ("tracks = 'SP'\nintegral = true\nkeep = [0.0, 9.0]\n", ""),
        ("[[input]]\nname = 'SP'\n", ""),
        ("[[action]]", "[[action]]\nname = 'SP'\nlimits = [0.0, 10.0]\n[[action]]"),
    ];
    let problem = problem(directory.path(), false, &changed);
    let error = Log::new(&problem, &Progress::silent()).unwrap_err();
    assert!(error.is_users() && error.to_string().contains("`SP` alone earns the most of it"), "{error}");
    assert!(error.hint().unwrap().contains("[[input]]"));
}
