//! Findings of runs that were made up, so that what they must say is known.

use fpsrl_engine::policy::{ActionRules, Quantity, Rule};
use fpsrl_explain::InputProfile;

use super::*;

fn policy(rules: &[(f64, f64, f64)]) -> FuzzyPolicy {
    let rule = |&(centre, width, output): &(f64, f64, f64)| Rule { centre: vec![centre], width: vec![width], output };
    FuzzyPolicy {
        states: vec![Quantity::new("level", "m")],
        mirrored: false,
        actions: vec![ActionRules {
            name: "valve".into(),
            unit: String::new(),
            limits: [-1.0, 1.0],
            rate: None,
            reach: 1.0,
            alpha: 5.0,
            rules: rules.iter().map(rule).collect(),
        }],
    }
}

fn profile() -> Arc<DataProfile> {
    let inputs = vec![InputProfile { range: [-2.0, 2.0], histogram: vec![0; 40] }];
    Arc::new(DataProfile { inputs, moving: Vec::new() })
}

fn run(levels: &[usize], seed: u64, promise: f64, rules: &[(f64, f64, f64)]) -> SweepRun {
    SweepRun {
        name: format!("{levels:?},seed={seed}"),
        link: "x/report.html".into(),
        point: format!("{levels:?}"),
        levels: levels.to_vec(),
        seed,
        draw: None,
        promise,
        interval: [promise - 1.0, promise + 1.0],
        true_return: None,
        verdict: "go".into(),
        holds: None,
        policy: policy(rules),
        profile: profile(),
    }
}

fn varied(key: &str, count: usize, changes_returns: bool) -> Varied {
    Varied { key: key.into(), values: (0..count).map(|value| format!("v{value}")).collect(), changes_returns }
}

fn sweep(factors: Vec<Varied>, runs: Vec<SweepRun>) -> WhatVaries {
    WhatVaries { title: "t".into(), factors, seeds: 2, runs, ..WhatVaries::default() }
}

const RULES: [(f64, f64, f64); 2] = [(-1.0, 0.5, -1.0), (1.0, 0.5, 1.0)];

#[test]
fn what_a_setting_explains_is_eta_squared_by_hand() {
    // Two values, two seeds: means 1 and 3 around 2, and 0.5 to either side within.
    let runs = [(0, 0.5), (0, 1.5), (1, 2.5), (1, 3.5)];
    let runs = runs.iter().enumerate().map(|(seed, (level, promise))| run(&[*level], seed as u64, *promise, &RULES));
    let found = SweepFindings::of(&sweep(vec![varied("a", 2, false)], runs.collect()));
    let explained = found.factors[0].explained.unwrap();
    assert!((explained - 0.8).abs() < 1e-12, "{explained}");
    assert!((found.chance.unwrap() - 0.2).abs() < 1e-12);
    assert!((found.factors[0].by_chance - 1.0 / 3.0).abs() < 1e-12);
    assert_eq!((found.points.len(), found.best), (2, Some(3)));
    assert_eq!(found.points[1].promise.unwrap().median, 3.0);
}

#[test]
fn promises_are_compared_only_where_a_return_is_the_same_thing() {
    let mut runs = Vec::new();
    for (horizon, scale) in [(0, 1.0), (1, 100.0)] {
        for rules in 0..2 {
            for seed in 0..2 {
                runs.push(run(&[horizon, rules], seed, scale + rules as f64, &RULES));
            }
        }
    }
    let found = SweepFindings::of(&sweep(vec![varied("horizon", 2, true), varied("rules", 2, false)], runs));
    assert_eq!(found.factors[0].explained, None);
    assert!((found.factors[1].explained.unwrap() - 1.0).abs() < 1e-12);
    assert_eq!(found.front.len(), 2, "a front for each horizon");
    assert_eq!(found.front[0].within, "horizon = v0");
}

#[test]
fn rules_that_come_back_are_found_whatever_their_order() {
    let mut runs = vec![
        run(&[], 1, 1.0, &[(-1.0, 0.5, -1.0), (1.0, 0.5, 1.0)]),
        run(&[], 2, 2.0, &[(1.1, 0.6, 0.9), (-0.9, 0.5, -0.95)]),
        run(&[], 3, 3.0, &[(1.2, 0.4, 1.0), (-1.1, 0.5, -1.0)]),
        run(&[], 4, 4.0, &[(0.9, 0.5, 1.0), (-1.9, 0.1, 0.9)]),
    ];
    let found = SweepFindings::of(&sweep(Vec::new(), runs.clone()));
    let counts: Vec<(usize, usize)> = found.recurring.iter().map(|rule| (rule.runs.len(), rule.of)).collect();
    assert_eq!(counts, [(4, 4), (3, 4)]);
    assert!(
        found.recurring[0].sentence.starts_with("IF level is around 1.05 ± 0.5 m"),
        "{}",
        found.recurring[0].sentence
    );
    assert_eq!(found.recurring[1].runs, [0, 1, 2]);
    let [low, high] = found.recurring[0].scatter[0].range;
    assert!((0.97..1.0).contains(&low) && (1.1..1.2).contains(&high), "{low} {high}");
    // The order of the runs does not matter.
    runs.reverse();
    let back = SweepFindings::of(&sweep(Vec::new(), runs));
    assert_eq!(back.recurring[0].sentence, found.recurring[0].sentence);
}

#[test]
fn a_page_of_any_runs_escapes_what_it_is_given() {
    let bad = "<script>\"'&";
    let mut odd = run(&[0], 1, f64::NAN, &[]);
    odd.name = bad.into();
    odd.link = format!("{bad}/report.html");
    odd.verdict = bad.into();
    odd.policy.states[0].name = bad.into();
    let mut other = run(&[0], 2, f64::INFINITY, &[(0.0, 1e300, 1.0)]);
    other.policy.states[0].name = bad.into();
    let failed =
        FailedRun { name: bad.into(), point: bad.into(), levels: vec![0], message: bad.into(), hint: Some(bad.into()) };
    for runs in [vec![], vec![odd.clone()], vec![odd, other, run(&[0], 3, -1.0, &RULES), run(&[0], 4, 1.0, &RULES)]] {
        let sweep = WhatVaries {
            title: bad.into(),
            returns_are: bad.into(),
            factors: vec![Varied { key: bad.into(), values: vec![bad.into()], changes_returns: false }],
            seeds: 1,
            draws: 2,
            runs,
            failures: vec![failed.clone()],
            pending: vec![bad.into()],
        };
        let page = sweep_page(&sweep, &SweepFindings::of(&sweep));
        assert!(!page.contains("<script"), "{page}");
        assert!(!page.contains("=\"NaN") && !page.contains("MNaN") && !page.contains("\"inf"), "{page}");
        assert!(page.contains("&lt;script&gt;"));
    }
}
