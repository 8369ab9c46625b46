//! What a problem may not say.

use crate::problem::{
    OrAuto, OrWord, Problem, WrittenAction, WrittenProblem, WrittenState, WrittenSystem, benchmark_names,
};

/// The message for a change of a benchmark; the key in it is what the user has to find.
fn refused(benchmark: &str, change: impl Fn(&mut WrittenProblem)) -> String {
    let mut written = WrittenProblem::benchmark(benchmark).unwrap();
    change(&mut written);
    let error = written.check().unwrap_err();
    assert!(error.is_users());
    assert!(error.hint().is_some(), "{error} has no hint");
    error.to_string()
}

fn state(name: &str) -> WrittenState {
    WrittenState { name: name.into(), ..WrittenState::default() }
}

#[test]
fn every_benchmark_passes_its_own_check() {
    for name in benchmark_names() {
        let problem = Problem::benchmark(&name).unwrap();
        assert_eq!(problem.system.name(), name);
        assert_eq!(problem.system.states().len(), if name.starts_with("cart") { 4 } else { 2 });
    }
}

#[test]
fn counts_that_make_no_sense_are_refused() {
    let message = refused("mountain-car", |w| w.policy.rules = Some(OrAuto::Count(0)));
    assert_eq!(message, "`policy.rules` is 0, but a policy needs at least 1 rule");
    let message = refused("cart-pole-balancing", |w| w.policy.rules = Some(OrAuto::Count(3)));
    assert_eq!(message, "`policy.rules` is 3, but mirrored rules come in pairs");
    let message = refused("mountain-car", |w| w.system.horizon = Some(1));
    assert_eq!(message, "`horizon` is 1, but a rollout has 2 to 1,000,000 steps");
    assert!(refused("mountain-car", |w| w.search.particles = Some(1)).contains("search.particles"));
    assert!(refused("mountain-car", |w| w.search.particles = Some(usize::MAX)).contains("search.particles"));
    assert!(refused("mountain-car", |w| w.search.iterations = Some(0)).contains("search.iterations"));
    assert!(refused("mountain-car", |w| w.search.ring = Some(0)).contains("search.ring"));
    assert!(refused("mountain-car", |w| w.search.ring = Some(51)).contains("1 to 50 neighbours"));
    assert!(refused("mountain-car", |w| w.search.start_states = Some(0)).contains("search.start_states"));
    assert!(refused("mountain-car", |w| w.search.patience = Some(OrWord::Value(0))).contains("search.patience"));
    assert!(refused("mountain-car", |w| w.evaluation.start_states = Some(0)).contains("evaluation.start_states"));
    assert!(refused("mountain-car", |w| w.data.samples = Some(9)).contains("data.samples"));
    assert!(refused("mountain-car", |w| w.data.episode_length = Some(0)).contains("data.episode_length"));
    assert!(refused("mountain-car", |w| w.world.neurons = Some(0)).contains("world.neurons"));
    assert!(refused("mountain-car", |w| w.world.epochs = Some(0)).contains("world.epochs"));
    assert!(refused("mountain-car", |w| w.world.restarts = Some(0)).contains("world.restarts"));
    assert!(refused("mountain-car", |w| w.world.layers = Some(OrAuto::Count(4))).contains("world.layers"));
    assert!(refused("mountain-car", |w| w.system.seed = Some(u64::MAX)).contains("seed"));
    assert!(refused("mountain-car", |w| w.system.format = Some(0)).contains("format"));
}

#[test]
fn the_widest_ring_makes_everyone_a_neighbour() {
    let mut written = WrittenProblem::benchmark("mountain-car").unwrap();
    written.search.ring = Some(50);
    assert_eq!(written.check().unwrap().search.ring, 50);
}

#[test]
fn more_start_states_than_rows_are_refused() {
    let message = refused("mountain-car", |w| {
        w.data.samples = Some(150);
        w.search.start_states = Some(151);
    });
    assert!(message.contains("`search.start_states` is 151") && message.contains("only 150 rows"), "{message}");
}

#[test]
fn numbers_that_are_none_are_refused_wherever_they_stand() {
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300] {
        let pair = [bad.min(0.0), bad];
        assert!(refused("mountain-car", |w| w.system.discount_q = Some(bad)).contains("discount_q"));
        assert!(refused("mountain-car", |w| w.system.success = Some(OrWord::Value(bad))).contains("success"));
        assert!(refused("mountain-car", |w| w.search.inertia = Some(bad)).contains("search.inertia"));
        assert!(refused("mountain-car", |w| w.search.cognitive = Some(bad)).contains("search.cognitive"));
        assert!(refused("mountain-car", |w| w.search.social = Some(bad)).contains("search.social"));
        assert!(refused("mountain-car", |w| w.search.velocity_limit = Some(bad)).contains("velocity_limit"));
        assert!(refused("mountain-car", |w| w.policy.alpha = Some(pair)).contains("policy.alpha"));
        let position = |change: fn(&mut WrittenState, [f64; 2])| {
            refused("mountain-car", |w| {
                w.system.states = vec![state("position")];
                change(&mut w.system.states[0], pair);
            })
        };
        assert!(position(|s, pair| s.start = Some(pair)).contains("state.position.start"));
        assert!(position(|s, pair| s.data_start = Some(pair)).contains("state.position.data_start"));
        assert!(position(|s, pair| s.centre = Some(OrWord::Value(pair))).contains("state.position.centre"));
        assert!(position(|s, pair| s.width = Some(OrWord::Value(pair))).contains("state.position.width"));
        let message = refused("mountain-car", |w| {
            w.system.actions =
                vec![WrittenAction { name: "force".into(), limits: Some(pair), ..WrittenAction::default() }]
        });
        assert!(message.contains("action.force.limits"));
    }
}

#[test]
fn ranges_that_are_none_are_refused() {
    let width = |bounds| {
        refused("mountain-car", |w| {
            w.system.states = vec![WrittenState { width: Some(OrWord::Value(bounds)), ..state("velocity") }]
        })
    };
    assert_eq!(width([0.0, 1.0]), "`state.velocity.width` is [0.0, 1.0], but a width must be larger than 0");
    assert!(width([-1.0, 1.0]).contains("larger than 0"));
    assert!(width([1e-12, 1.0]).contains("1e-9"));
    assert!(width([2.0, 1.0]).contains("the lower bound must be below the upper one"));
    let alpha = refused("mountain-car", |w| w.policy.alpha = Some([1.0, 1.0]));
    assert!(alpha.contains("policy.alpha"));
    let start = refused("mountain-car", |w| {
        w.system.states = vec![WrittenState { start: Some([1.0, 0.5]), ..state("position") }]
    });
    assert!(start.contains("must not be above"));
    assert!(refused("mountain-car", |w| w.system.discount_q = Some(0.0)).contains("discount_q"));
    assert!(refused("mountain-car", |w| w.system.discount_q = Some(1.01)).contains("discount_q"));
    assert!(refused("mountain-car", |w| w.search.velocity_limit = Some(0.0)).contains("velocity_limit"));
}

#[test]
fn mirrored_rules_need_symmetric_bounds() {
    let message = refused("cart-pole-balancing", |w| {
        w.system.states = vec![WrittenState { centre: Some(OrWord::Value([-1.0, 2.0])), ..state("rho") }]
    });
    assert!(message.contains("state.rho.centre") && message.contains("symmetric"), "{message}");
    let message = refused("cart-pole-balancing", |w| {
        w.system.actions =
            vec![WrittenAction { name: "force".into(), limits: Some([-1.0, 2.0]), ..WrittenAction::default() }]
    });
    assert!(message.contains("action.force.limits") && message.contains("symmetric"), "{message}");
}

#[test]
fn unknown_names_are_refused() {
    assert!(refused("mountain-car", |w| w.system.plant = Some("hill".into())).contains("`hill`"));
    assert!(refused("mountain-car", |w| w.world.trainer = Some("sgd".into())).contains("`sgd`"));
    assert!(refused("mountain-car", |w| w.search.numerics = Some("slow".into())).contains("`slow`"));
    assert!(refused("mountain-car", |w| w.system.states = vec![state("speed")]).contains("`speed`"));
    let action = WrittenAction { name: "push".into(), ..WrittenAction::default() };
    assert!(refused("mountain-car", |w| w.system.actions = vec![action.clone()]).contains("`push`"));
}

#[test]
fn names_that_cannot_head_a_column_are_refused() {
    let own = |name: &str| WrittenProblem {
        system: WrittenSystem {
            name: Some("own".into()),
            horizon: Some(10),
            states: vec![WrittenState { start: Some([0.0, 1.0]), ..state(name) }],
            actions: vec![WrittenAction { name: "valve".into(), limits: Some([0.0, 1.0]), ..WrittenAction::default() }],
            ..WrittenSystem::default()
        },
        ..WrittenProblem::default()
    };
    assert!(own("level").check().is_ok());
    for bad in ["", " level", "a,b", "a\nb", "a\"b", "episode", "step", "reward", "next_level", "valve"] {
        let error = own(bad).check().unwrap_err();
        assert!(error.to_string().starts_with("`name` is "), "{error}");
        assert!(error.hint().is_some());
    }
    let mut twice = own("level");
    twice.system.states.push(twice.system.states[0].clone());
    assert!(twice.check().unwrap_err().to_string().contains("same name"));
    for bad in ["", "a/b", "..", "a b", ".hidden"] {
        let mut problem = own("level");
        problem.system.name = Some(bad.into());
        assert!(problem.check().unwrap_err().to_string().starts_with("`name` is "));
    }
}

#[test]
fn a_problem_without_a_plant_must_say_what_it_is() {
    let action = WrittenAction { name: "valve".into(), limits: Some([0.0, 1.0]), ..WrittenAction::default() };
    let own = WrittenProblem {
        system: WrittenSystem {
            name: Some("own".into()),
            horizon: Some(10),
            states: vec![WrittenState { start: Some([0.0, 1.0]), ..state("level") }],
            actions: vec![action.clone()],
            ..WrittenSystem::default()
        },
        ..WrittenProblem::default()
    };
    let refused = |change: fn(&mut WrittenProblem)| {
        let mut written = own.clone();
        change(&mut written);
        written.check().unwrap_err().to_string()
    };
    assert!(refused(|w| w.system.horizon = None).starts_with("`horizon` is missing"));
    assert!(refused(|w| w.system.states.clear()).starts_with("`state` is missing"));
    assert!(refused(|w| w.system.actions.clear()).starts_with("`action` is missing"));
    // Of several states, either all have a range to start in or none has.
    let half = |w: &mut WrittenProblem| w.system.states.push(WrittenState { start: None, ..state("flow") });
    assert!(refused(half).starts_with("`state.flow.start` is missing"));
    assert!(refused(|w| w.system.actions[0].limits = None).starts_with("`action.valve.limits` is missing"));
}

#[test]
fn a_benchmarks_default_can_be_switched_off() {
    let mut written = WrittenProblem::benchmark("cart-pole-swing-up").unwrap();
    written.system.states = vec![WrittenState { centre: Some(OrWord::Word), ..state("rho") }];
    written.system.success = Some(OrWord::Word);
    let problem = written.check().unwrap();
    assert_eq!(problem.system.states()[2].centre, None);
    assert_eq!(problem.system.states()[1].centre, Some([-15.0, 15.0]));
    assert_eq!(problem.system.success(), None);
}
