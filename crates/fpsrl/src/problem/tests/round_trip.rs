//! What is written reads back to the same problem.

use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;

use crate::error::Result;
use crate::problem::{
    Budget, Lags, OneOrMany, OrAuto, OrWord, Problem, WrittenAction, WrittenData, WrittenEvaluation, WrittenPolicy,
    WrittenProblem, WrittenSearch, WrittenState, WrittenSystem, WrittenWorld, benchmark_names,
};

fn read_back(problem: &Problem) -> Problem {
    let text = problem.to_toml();
    WrittenProblem::parse(&text, "problem.toml".as_ref()).and_then(WrittenProblem::check).unwrap_or_else(|error| {
        panic!("{error}\n{text}");
    })
}

#[test]
fn every_benchmark_reads_back_to_itself() {
    for name in benchmark_names() {
        let problem = Problem::benchmark(&name).unwrap();
        assert_eq!(read_back(&problem), problem);
    }
}

#[test]
fn each_key_is_written_with_a_comment() {
    for line in Problem::benchmark("cart-pole-swing-up").unwrap().to_toml().lines() {
        assert!(line.is_empty() || line.starts_with(['[', '#']) || line.contains(" # "), "{line}");
    }
}

prop_compose! {
    fn bounds()(low in -1e6..1e6f64, extent in 1e-3..1e6f64) -> [f64; 2] { [low, low + extent] }
}

prop_compose! {
    fn any_log()(
        files in vec("[a-z/]{1,9}", 1..3),
        separator in select(vec![None, Some(";"), Some("tab")]),
        decimal in select(vec![None, Some("."), Some(",")]),
        missing in vec("\\PC{1,5}", 0..3),
        (time, episode, reward) in (vec("\\PC{1,5}", 1..3), vec("\\PC{1,5}", 0..3), vec("\\PC{1,5}", 0..3)),
        (terminal, truncated) in (vec("\\PC{1,5}", 0..2), vec("\\PC{1,5}", 0..2)),
        next in of("\\PC{1,5}"),
        (leads, belongs, resample) in (any::<bool>(), any::<bool>(), any::<bool>()),
        (interval, gap, history) in (of(1e-6..1e6f64), 1.001..1e3f64, 0u64..1),
    ) -> WrittenData {
        let row = |this| Some(if this { "this" } else { "next" }.to_owned());
        let many = |names: Vec<String>| (!names.is_empty()).then_some(OneOrMany::Many(names));
        WrittenData {
            file: many(files),
            separator: separator.map(str::to_owned),
            decimal: decimal.map(str::to_owned),
            missing,
            time: many(time),
            episode: many(episode),
            reward: many(reward),
            terminal: many(terminal),
            truncated: many(truncated),
            action_leads_to: row(leads),
            reward_belongs_to: row(belongs),
            interval,
            gap: Some(gap),
            resample: Some(resample && next.is_none()),
            next,
            history: Some(OrAuto::Count(history)),
            ..WrittenData::default()
        }
    }
}

/// A value, or the word that stands for none.
fn or_word<T>(value: Option<T>) -> Option<OrWord<T>> {
    Some(value.map_or(OrWord::Word, OrWord::Value))
}

/// A word of a list.
fn word(words: &[&str], index: usize) -> Option<String> {
    Some(words[index % words.len()].to_owned())
}

prop_compose! {
    fn own_problem()(
        name in "[a-zA-Z0-9_-]{1,12}",
        (seed, horizon, discount_q, success) in
            (0..=i64::MAX as u64, 2usize..100_000, 1e-9..=1.0f64, of(-1e9..1e9f64)),
        states in vec(
            ("[a-z][a-z0-9 _'\\\\°#=\\[\\]]{0,8}[a-z]", "\\PC{0,6}", any::<bool>(), bounds(), bounds(),
             of(bounds()), of((1e-6..1.0f64, 1.0..50.0f64))), 1..4),
        limits in bounds(),
        (columns, starts) in (vec("\\PC{1,9}", 2), 0usize..4),
        log in of(any_log()),
        (samples, length, layers, trainer) in (1_000usize..1_000_000, 1usize..1_000, 0u64..4, 0usize..3),
        (rules, alpha, particles, iterations) in (1usize..20, bounds(), 2usize..1_000, 1usize..5_000),
        (inertia, cognitive, social, limit) in (0.0..1.0f64, 0.0..3.0f64, 0.0..3.0f64, 1e-6..=1.0f64),
        (start_states, patience, tests) in (1usize..1_000, of(1usize..100), 1usize..2_000),
    ) -> WrittenProblem {
        let states = states.into_iter().enumerate().map(
            |(index, (name, unit, angle, start, data_start, centre, width))| WrittenState {
                name: format!("{name}{index}"),
                unit: Some(unit),
                column: Some(OneOrMany::Many(columns[..index.min(2)].to_vec())),
                angle: Some(angle.into()),
                start: Some(start),
                data_start: Some(data_start),
                centre: or_word(centre),
                width: or_word(width.map(|(low, high)| [low, high])),
                ..WrittenState::default()
            });
        let action = WrittenAction {
            name: "A".into(),
            unit: Some("\"%\"".into()),
            column: Some(OneOrMany::Many(columns.clone())),
            limits: Some(limits),
            ..WrittenAction::default()
        };
        let system = WrittenSystem {
            name: Some(name),
            seed: Some(seed),
            horizon: Some(horizon),
            discount_q: Some(discount_q),
            success: or_word(success),
            states: states.collect(),
            actions: vec![action],
            start: word(&["ranges", "data", "episodes", "s.csv"], starts),
            ..WrittenSystem::default()
        };
        let data = WrittenData {
            samples: Some(samples),
            // A log's episodes are as long as they are.
            episode_length: log.is_none().then_some(length),
            ..log.unwrap_or_default()
        };
        let world = WrittenWorld {
            kind: word(&["auto", "mlp", "ensemble", "gp", "forest"], rules),
            members: Some(1 + rules),
            judge: Some(limit / 2.0),
            mirror: Some(rules % 3 == 0),
            layers: Some(if layers == 0 { OrAuto::Auto } else { OrAuto::Count(layers) }),
            trainer: word(&["levenberg-marquardt", "vario-eta", "adam"], trainer),
            absorbing: Some(rules % 2 == 0),
            ..WrittenWorld::default()
        };
        let policy = WrittenPolicy {
            rules: Some(if rules % 4 == 0 { OrAuto::Auto } else { OrAuto::Count(rules as u64) }),
            front: Some(rules % 2 == 1),
            most_rules: Some(1 + rules),
            rules_tolerance: Some(limit / 2.0),
            periodic: Some(rules % 5 == 0),
            alpha: Some(alpha),
            ..WrittenPolicy::default()
        };
        let budgets = [Budget::Steps(seed % 1_000_000 + 1), Budget::Seconds(limit)];
        let search = WrittenSearch {
            optimiser: word(&["auto", "swarm", "shade", "cma-es"], rules),
            effort: word(&["quick", "normal", "thorough"], rules),
            // Only a race has a budget.
            budget: (rules % 4 == 0).then(|| budgets[rules % 3 % 2].to_string()),
            particles: Some(particles),
            iterations: Some(iterations),
            inertia: Some(inertia),
            cognitive: Some(cognitive),
            social: Some(social),
            velocity_limit: Some(limit),
            start_states: Some(start_states),
            patience: or_word(patience),
            numerics: word(&["fast", "reproducible"], tests),
            caution: Some(limit),
            outlook: word(&["spread", "worst"], rules),
            outside_limit: or_word((rules % 3 == 1).then_some(limit)),
            ..WrittenSearch::default()
        };
        WrittenProblem {
            system, data, world, policy, search, evaluation: WrittenEvaluation { start_states: Some(tests) },
        }
    }
}

proptest! {
    #[test]
    fn every_problem_reads_back_to_itself(written in own_problem()) {
        let problem = written.check().unwrap();
        prop_assert_eq!(read_back(&problem), problem);
    }
}

/// A tank with a level and an angle; `rest` goes on from its action.
fn tank(rest: &str) -> Result<Problem> {
    let text = format!(
        "horizon = 10\n[[state]]\nname = 'level'\n[[state]]\nname = 'heat'\nangle = true\n[[action]]\nname = 'valve'\n\
         limits = [0.0, 1.0]\n{rest}"
    );
    WrittenProblem::parse(&text, "p.toml".as_ref())?.check()
}

#[test]
fn what_is_remembered_reads_back_to_itself() {
    let chosen = tank("[data]\nfile = 'log.csv'\nhistory = 2\n[policy]\nlags = ['valve_2', 'heat_1']\n").unwrap();
    let names: Vec<&str> = chosen.system.states().iter().map(|state| state.name.as_str()).collect();
    assert_eq!(names[2..], ["heat_1", "valve_2", "level_1", "level_2", "heat_2", "valve_1"]);
    assert_eq!(chosen.policy.lags, Lags::Names(vec!["valve_2".into(), "heat_1".into()]));
    let limited = tank("rate = 0.2\n[data]\nfile = 'log.csv'\n").unwrap();
    assert_eq!(limited.system.actions()[0].rate, Some(0.2));
    let changed = "change = true\nchange_limits = [-0.1, 0.1]\n[data]\nfile = 'log.csv'\nhistory = 2\n";
    let changed = tank(changed).unwrap();
    assert_eq!(changed.system.actions()[0].name, "valve_change");
    assert_eq!(changed.system.actions()[0].limits, [-0.1, 0.1]);
    for problem in [chosen, limited, changed] {
        assert_eq!(read_back(&problem), problem);
    }
}

#[test]
fn what_the_policy_cannot_remember_is_refused() {
    for (history, lags, told) in [
        ("2", "3", "`policy.lags` is 3"),
        ("'auto'", "30", "data.history"),
        ("'auto'", "4000000000", "policy.lags"),
        ("2", "['level_11']", "did you mean `level_1`"),
    ] {
        let text = format!("[data]\nfile = 'log.csv'\nhistory = {history}\n[policy]\nlags = {lags}\n");
        let error = tank(&text).unwrap_err();
        assert!(error.is_users());
        let message = format!("{error} / {}", error.hint().unwrap_or_default());
        assert!(message.contains(told), "{told}: {message}");
    }
}

#[test]
fn a_name_that_is_missing_is_the_files() {
    assert_eq!(tank("").unwrap().system.name(), "p");
}

#[test]
fn each_part_knows_the_benchmarks_defaults() {
    let problem = Problem::benchmark("cart-pole-swing-up").unwrap();
    assert_eq!((problem.search.start_states, problem.evaluation.start_states), (150, 1_000));
}

#[test]
fn an_unknown_section_is_answered_with_the_nearest() {
    let text = "plant = 'mountain-car'\n[serach]\nparticles = 3\n";
    let error = WrittenProblem::parse(text, "p.toml".as_ref()).unwrap_err();
    assert!(error.is_users());
    assert!(error.hint().unwrap().contains("did you mean `search`"), "{:?}", error.hint());
}
