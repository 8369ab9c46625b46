//! A search finds the same whatever is pruned, however many threads score it, and wherever it is interrupted.

use std::cell::Cell;

use fpsrl::data::generate::generate;
use fpsrl::optimiser::{CmaEs, RingSwarm, Shade};
use fpsrl::plant::PlantWorld;
use fpsrl::policy::RuleSpace;
use fpsrl::problem::{Budget, Problem, RiskKind};
use fpsrl::progress::Progress;
use fpsrl::rollout::Fitness;
use fpsrl::search::methods::{self, Method};
use fpsrl::search::race::Race;
use fpsrl::search::{Evaluator, Search, SearchOptions, SearchRecord, SearchState, Threads, Trial};
use fpsrl::simd::{Mode, Numerics};
use fpsrl::world::fit::fit;
use fpsrl::world::training::Depth;
use fpsrl::world::{NetworkWorld, World};

const BENCHMARKS: [&str; 3] = ["mountain-car", "cart-pole-balancing", "cart-pole-swing-up"];

/// A benchmark cut down to a second of work, with a roughly fitted world.
struct Case {
    problem: Problem,
    space: RuleSpace,
    learned: NetworkWorld,
    plant: PlantWorld,
}

fn case(name: &str) -> Case {
    let mut problem = Problem::benchmark(name).unwrap();
    problem.data.samples = 1_000;
    problem.world.layers = Depth::Layers(1);
    problem.world.epochs = 10;
    problem.search.particles = 12;
    problem.search.iterations = 12;
    problem.search.start_states = 33;
    problem.search.budget = Some(Budget::Steps(200_000));
    let transitions = generate(&problem.system, &problem.data, &Progress::silent()).unwrap();
    let learned =
        NetworkWorld::new(&fit(&problem.system, &problem.world, &transitions, &Progress::silent()).unwrap()).unwrap();
    let space = methods::space(&problem.system, &problem.policy, &problem.search, &transitions);
    let plant = PlantWorld::new(problem.system.plant().unwrap());
    Case { problem, space, learned, plant }
}

impl Case {
    fn worlds(&self) -> [&dyn World; 2] {
        [&self.learned, &self.plant]
    }

    fn search<'a, M: Method>(&'a self, world: &'a dyn World, prune: bool) -> Found<'a, M> {
        let Problem { system, search, .. } = &self.problem;
        Search::begin(system, search, &self.space, vec![world], SearchOptions::of(search, prune))
    }
}

type Found<'a, M> = Search<'a, M, Threads<'a>>;

/// Runs a check with everything that can search.
macro_rules! with_every_method {
    ($check:ident($($argument:expr),*)) => {
        $check::<RingSwarm>($($argument),*);
        $check::<Shade>($($argument),*);
        $check::<CmaEs>($($argument),*);
        $check::<Race>($($argument),*);
    };
}

/// All that must not differ: the swarm, and the record without the clock and, where pruning differs, without the steps.
fn found<M: Method>(search: &Found<'_, M>, with_steps: bool) -> (String, Vec<SearchRecord>) {
    let mut records = search.records().to_vec();
    for record in &mut records {
        record.seconds = 0.0;
        if !with_steps {
            record.model_steps = 0;
        }
    }
    (serde_json::to_string(&search.state()).unwrap(), records)
}

#[test]
fn pruning_changes_nothing_but_the_price() {
    fn check<M: Method>(case: &Case) -> u64 {
        let mut saved = 0;
        for world in case.worlds() {
            let mut full = case.search::<M>(world, false);
            let mut pruned = case.search::<M>(world, true);
            full.run(&Progress::silent(), |_| Ok(())).unwrap();
            pruned.run(&Progress::silent(), |_| Ok(())).unwrap();
            assert_eq!(found(&full, false), found(&pruned, false));
            let steps = |search: &Found<'_, M>| search.records().last().unwrap().model_steps;
            assert!(steps(&pruned) <= steps(&full), "pruning cost steps");
            saved += steps(&full) - steps(&pruned);
        }
        saved
    }
    let cases = BENCHMARKS.map(case);
    let saved = |check: &dyn Fn(&Case) -> u64| cases.iter().map(check).sum::<u64>();
    assert!(saved(&check::<RingSwarm>) > 0 && saved(&check::<Shade>) > 0, "pruning saved nothing");
    assert!(saved(&check::<CmaEs>) > 0 && saved(&check::<Race>) > 0, "pruning saved nothing");
}

#[test]
fn pruning_in_several_worlds_changes_nothing_but_the_price() {
    let mut saved = 0;
    for name in BENCHMARKS {
        let mut case = case(name);
        // Worlds of 33 start states are not dealt out evenly to two of them, nor to three.
        let worlds: Vec<&dyn World> = vec![&case.learned, &case.plant, &case.learned];
        for outlook in [RiskKind::Spread, RiskKind::Worst] {
            case.problem.search.outlook = outlook;
            let run = |prune| {
                let options = SearchOptions::of(&case.problem.search, prune);
                let mut search: Found<'_, RingSwarm> =
                    Search::begin(&case.problem.system, &case.problem.search, &case.space, worlds.clone(), options);
                search.run(&Progress::silent(), |_| Ok(())).unwrap();
                (found(&search, false), search.records().last().unwrap().model_steps)
            };
            let ((full, all_steps), (pruned, fewer_steps)) = (run(false), run(true));
            assert_eq!(full, pruned, "{name}");
            assert!(fewer_steps <= all_steps, "{name}: pruning cost steps");
            saved += all_steps - fewer_steps;
        }
    }
    assert!(saved > 0, "pruning saved nothing");
}

#[test]
fn several_worlds_cost_no_more_rollouts_than_one() {
    let case = case("cart-pole-swing-up");
    let steps = |worlds: Vec<&dyn World>| {
        let options = SearchOptions::of(&case.problem.search, false);
        let mut search: Found<'_, RingSwarm> =
            Search::begin(&case.problem.system, &case.problem.search, &case.space, worlds, options);
        search.step().unwrap();
        search.records()[0].model_steps
    };
    assert_eq!(steps(vec![&case.plant]), steps(vec![&case.plant; 5]));
    // More worlds than start states: those without one do not count.
    assert_eq!(steps(vec![&case.plant]), steps(vec![&case.plant; 40]));
}

#[test]
fn the_number_of_threads_does_not_show() {
    fn check<M: Method>(case: &Case) {
        let with_threads = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let mut search = case.search::<M>(&case.learned, true);
                search.run(&Progress::silent(), |_| Ok(())).unwrap();
                found(&search, true)
            })
        };
        let alone = with_threads(1);
        assert_eq!(alone, with_threads(2));
        assert_eq!(alone, with_threads(5));
    }
    let case = case("cart-pole-balancing");
    with_every_method!(check(&case));
}

#[test]
fn a_search_goes_on_from_its_state_as_if_it_had_never_stopped() {
    fn check<M: Method>(case: &Case) {
        let options = SearchOptions::of(&case.problem.search, true);
        let mut whole = case.search::<M>(&case.learned, true);
        whole.run(&Progress::silent(), |_| Ok(())).unwrap();
        let rounds = whole.records().len();
        let mut first = case.search::<M>(&case.learned, true);
        for round in 1..=rounds {
            first.step().unwrap();
            // Of a long search, a few moments of each of its stages.
            if round % (1 + rounds / 12) != 1 && round != rounds {
                continue;
            }
            // Through text, as a checkpoint goes.
            let text = serde_json::to_string(&first.state()).unwrap();
            let SearchState { optimiser, improved } = serde_json::from_str(&text).unwrap();
            let method = M::restore(&case.problem.system, &case.problem.search, &case.space, 1, optimiser).unwrap();
            let threads =
                Threads::new(&case.problem.system, &case.problem.search, &case.space, vec![&case.learned], options);
            let mut second = Search::new(&case.space, method, threads, M::limits(&case.problem.search))
                .going_on(improved, first.records().to_vec());
            if round < rounds {
                second.run(&Progress::silent(), |_| Ok(())).unwrap();
            }
            assert_eq!(found(&whole, true), found(&second, true), "interrupted after {round}");
        }
    }
    let case = case("mountain-car");
    with_every_method!(check(&case));
}

/// Scores as threads do, until it has scored so many rounds.
struct Failing<'a> {
    threads: Threads<'a>,
    left: Cell<usize>,
}

impl Evaluator for Failing<'_> {
    fn score(&self, trials: &[Trial<'_>]) -> fpsrl::Result<Vec<Fitness>> {
        match self.left.get().checked_sub(1) {
            None => Err(fpsrl::Error::Elsewhere { problem: "the network is down".into(), remedy: "wait".into() }),
            Some(left) => {
                self.left.set(left);
                self.threads.score(trials)
            }
        }
    }

    fn may_fail(&self) -> bool {
        true
    }
}

#[test]
fn a_search_whose_evaluator_fails_in_a_round_goes_on_from_before_it() {
    fn check<M: Method>(case: &Case) {
        let Problem { system, search, .. } = &case.problem;
        let options = SearchOptions::of(search, true);
        let threads = || Threads::new(system, search, &case.space, vec![&case.learned], options);
        let mut whole = case.search::<M>(&case.learned, true);
        whole.run(&Progress::silent(), |_| Ok(())).unwrap();
        let rounds = whole.records().len();
        for round in [0, 1, rounds / 2, rounds - 1] {
            let failing = Failing { threads: threads(), left: Cell::new(round) };
            let method = M::begin(system, search, &case.space, 1);
            let mut first = Search::new(&case.space, method, failing, M::limits(search));
            let failed = first.run(&Progress::silent(), |_| Ok(())).unwrap_err();
            assert_eq!(failed.to_string(), "the network is down");
            let SearchState { optimiser, improved } = first.state();
            let method = M::restore(system, search, &case.space, 1, optimiser).unwrap();
            let mut second = Search::new(&case.space, method, threads(), M::limits(search))
                .going_on(improved, first.records().to_vec());
            second.run(&Progress::silent(), |_| Ok(())).unwrap();
            assert_eq!(found(&whole, true), found(&second, true), "failed after {round} rounds");
        }
    }
    let case = case("mountain-car");
    with_every_method!(check(&case));
}

#[test]
fn a_state_of_another_problem_is_not_taken() {
    fn check<M: Method>(own: &Case, other: &Case) {
        let mut search = own.search::<M>(&own.learned, true);
        search.step().unwrap();
        let state = search.state().optimiser;
        assert!(M::restore(&own.problem.system, &own.problem.search, &own.space, 1, state.clone()).is_some());
        assert!(M::restore(&other.problem.system, &other.problem.search, &other.space, 1, state).is_none());
    }
    let (own, other) = (case("mountain-car"), case("cart-pole-balancing"));
    with_every_method!(check(&own, &other));
}

#[test]
fn a_search_that_stalls_ends_when_its_patience_does() {
    let mut case = case("mountain-car");
    case.problem.search.iterations = 10_000;
    case.problem.search.patience = Some(3);
    let mut search = case.search::<RingSwarm>(&case.learned, true);
    let ending = search.run(&Progress::silent(), |_| Ok(())).unwrap();
    assert_eq!(ending, fpsrl::search::Ending::Stalled);
    let records = search.records();
    let last = records.last().unwrap();
    assert!(last.iteration < 10_000);
    assert_eq!(records[last.iteration - 3].best, last.best);
    // Not sooner: the iteration before those three improved, unless it was the first.
    assert!(last.iteration == 3 || records[last.iteration - 4].best < last.best);
}

#[test]
fn reproducible_searches_are_the_same_at_every_instruction_set() {
    for name in BENCHMARKS {
        let mut case = case(name);
        case.problem.search.budget = Some(Budget::Steps(100_000));
        for world in case.worlds() {
            let results: Vec<_> = Numerics::every(Mode::Reproducible)
                .into_iter()
                .map(|numerics| {
                    let options = SearchOptions { numerics, ..SearchOptions::of(&case.problem.search, true) };
                    let mut search: Found<'_, Race> =
                        Search::begin(&case.problem.system, &case.problem.search, &case.space, vec![world], options);
                    search.run(&Progress::silent(), |_| Ok(())).unwrap();
                    found(&search, true)
                })
                .collect();
            assert!(results.len() > 1 || cfg!(not(target_arch = "x86_64")));
            for result in &results[1..] {
                assert_eq!(*result, results[0], "{name}");
            }
        }
    }
}
