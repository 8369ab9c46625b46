//! What a race promises: the best of its tries, whatever the fitness is like, within its budget.

use fpsrl::data::Transitions;
use fpsrl::optimiser::Scope;
use fpsrl::policy::FuzzyKernel;
use fpsrl::problem::{Problem, WrittenProblem};
use fpsrl::progress::Progress;
use fpsrl::returns::world_returns;
use fpsrl::rollout::{Columns, Lanes};
use fpsrl::search::race::Race;
use fpsrl::search::{
    Ending, Evaluator, Search, SearchOptions, Threads, Trial, methods, none_simpler_and_better, thin_out,
};
use fpsrl::simd::Numerics;
use fpsrl::world::World;

/// A tank whose level is to be 1 m; how it fills and what it pays is up to the test.
struct Tank {
    fill: fn(level: f32, valve: f32) -> f32,
    pay: fn(level: f32, valve: f32) -> f32,
}

/// A tank with a leak.
fn leaking(pay: fn(level: f32, valve: f32) -> f32) -> Tank {
    Tank { fill: |level, valve| 0.2 * valve - 0.1 * level, pay }
}

impl World for Tank {
    fn state_count(&self) -> usize {
        2
    }

    fn action_count(&self) -> usize {
        1
    }

    fn advance(&self, lanes: &mut Lanes, _: Numerics) {
        let Columns { live, states, actions, rewards, absorbed, .. } = lanes.columns();
        for lane in 0..live {
            states[lane] += (self.fill)(states[lane], actions[lane]);
            rewards[lane] = (self.pay)(states[lane], actions[lane]);
            absorbed[lane] = 0.0;
        }
    }

    fn largest_reward(&self) -> f64 {
        0.0
    }
}

fn miss(level: f32, _: f32) -> f32 {
    -(level - 1.0).abs()
}

/// A tank with a second variable that has nothing to say.
fn tank(rules: usize) -> Problem {
    tank_from([0.0, 2.0], rules)
}

/// The same tank, filled otherwise at the start.
fn tank_from(start: [f64; 2], rules: usize) -> Problem {
    let text = format!(
        "name = 'tank'\nhorizon = 30\n[[state]]\nname = 'level'\nstart = {start:?}\ncentre = [0.0, 2.0]\nwidth = [0.05, \
         2.0]\n[[state]]\nname = 'noise'\nstart = [-1.0, 1.0]\ncentre = [-1.0, 1.0]\nwidth = [0.05, 2.0]\n[[action]]\nname \
         = 'valve'\nlimits = [0.0, 1.0]\n[policy]\nrules = {rules}\n[search]\nbudget = '16 Msteps'\nstart_states = 40\n"
    );
    WrittenProblem::parse(&text, "tank.toml".as_ref()).unwrap().check().unwrap()
}

fn race<'a>(
    problem: &'a Problem,
    space: &'a fpsrl::policy::RuleSpace,
    world: &'a dyn World,
) -> Search<'a, Race, Threads<'a>> {
    let options = SearchOptions::of(&problem.search, true);
    let mut search = Search::<Race, _>::begin(&problem.system, &problem.search, space, vec![world], options);
    assert_eq!(search.run(&Progress::silent(), |_| Ok(())).unwrap(), Ending::Finished);
    search
}

#[test]
fn a_race_returns_the_best_of_its_tries_from_start_states_that_none_was_searched_on() {
    let (problem, world) = (tank(2), leaking(miss));
    let space = methods::space(&problem.system, &problem.policy, &problem.search, &Transitions::new(2, 1));
    let search = race(&problem, &space, &world);
    let candidates = search.candidates(100);
    assert!(candidates.len() > 1, "one try is no race");
    let options = SearchOptions::of(&problem.search, true);
    // Where the tries met last: far along the sequence of start states.
    let starts = problem.system.search_starts(200_000, 400);
    let earned = |policy| {
        let returns = world_returns(&problem.system, &world, &FuzzyKernel::new(policy), &starts, options.numerics);
        returns.iter().sum::<f64>() / returns.len() as f64
    };
    let winner = search.best().0;
    let best = earned(&winner);
    assert!(candidates.iter().all(|policy| earned(policy) <= best + 1e-9));
    // Full valve below 1 m and none above it: by hand, the best there is.
    assert!(best > -4.5, "{best}");
    let figures = methods::Method::race_figures(search.optimiser()).unwrap();
    assert!(figures.gap.unwrap().abs() < 1.0 && figures.planned_steps <= 16_000_000, "{figures:?}");
}

#[test]
fn a_fitness_that_is_no_number_constant_or_nothing_for_most_neither_stops_nor_stalls_a_race() {
    let rewards: [fn(f32, f32) -> f32; 4] = [
        |level, valve| if valve > 0.9 { f32::NAN } else { miss(level, valve) },
        |_, _| -1.0,
        |level, valve| if level > 1.3 { f32::NEG_INFINITY } else { miss(level, valve) },
        |_, _| f32::NAN,
    ];
    for reward in rewards {
        let (problem, world) = (tank(1), leaking(reward));
        let space = methods::space(&problem.system, &problem.policy, &problem.search, &Transitions::new(2, 1));
        let search = race(&problem, &space, &world);
        assert_eq!(search.best().0.fault(), None);
    }
}

#[test]
fn a_race_finds_what_pays_only_after_the_steps_that_hasty_tries_see() {
    // Slow to fill: from an empty tank nothing that is done in the first ten steps of the thirty reaches the level that pays.
    let slow = Tank {
        fill: |_, valve| 0.12 * (valve - 0.4),
        pay: |level, _| if (level - 1.0).abs() < 0.1 { 0.0 } else { -1.0 },
    };
    let problem = tank_from([0.0, 0.1], 2);
    let space = methods::space(&problem.system, &problem.policy, &problem.search, &Transitions::new(2, 1));
    let search = race(&problem, &space, &slow);
    let options = SearchOptions::of(&problem.search, true);
    let starts = problem.evaluation_starts().first(200);
    let returns = world_returns(&problem.system, &slow, &FuzzyKernel::new(&search.best().0), &starts, options.numerics);
    // With a full valve the level pays after thirteen steps at most; what stays there pays to the end.
    let discount = problem.system.discount();
    let filling: f64 = (0..13).map(|step| -discount.powi(step)).sum();
    let mean = returns.iter().sum::<f64>() / returns.len() as f64;
    assert!(mean > filling - 0.5, "{mean} {filling}");
}

#[test]
fn a_position_that_is_scored_on_a_part_of_the_horizon_earns_what_it_earns_until_then() {
    let (problem, world) = (tank(2), leaking(miss));
    let space = methods::space(&problem.system, &problem.policy, &problem.search, &Transitions::new(2, 1));
    let options = SearchOptions::of(&problem.search, true);
    let threads = Threads::new(&problem.system, &problem.search, &space, vec![&world], options);
    let position: Vec<f64> = space.low().iter().zip(space.high()).map(|(low, high)| 0.4 * low + 0.6 * high).collect();
    let score = |steps| {
        let scope = Scope::Part { first: 5, starts: 12, member: Some(0), steps };
        threads.score(&[Trial { position: &position, to_beat: f64::NEG_INFINITY, scope }]).unwrap()[0]
    };
    let short = score(Some(7));
    assert_eq!(short.model_steps, 7 * 12);
    assert_eq!((score(Some(30)), score(None).model_steps), (score(None), 30 * 12));
    let policy = space.decode(&position);
    let starts = problem.system.search_starts(5, 12);
    let by_hand = |index: usize| {
        let mut state = starts.row(index);
        (0..7).fold(0.0, |sum, step| {
            state[0] += 0.2 * policy.act(&state)[0] - 0.1 * state[0];
            sum - problem.system.discount().powi(step) * (state[0] - 1.0).abs()
        })
    };
    let mean = (0..12).map(by_hand).sum::<f64>() / 12.0;
    assert!((short.value.unwrap() - mean).abs() < 1e-4, "{short:?} {mean}");
}

#[test]
fn conditions_that_have_nothing_to_say_are_the_first_to_go_and_the_front_gets_better_with_every_condition() {
    let (problem, world) = (tank(2), leaking(miss));
    let space = methods::space(&problem.system, &problem.policy, &problem.search, &Transitions::new(2, 1));
    let search = race(&problem, &space, &world);
    let options = SearchOptions::of(&problem.search, true);
    let points =
        thin_out(&problem.system, &problem.search, &space, &[&world], options, &search.best().0, &Progress::silent())
            .unwrap();
    let conditions: Vec<usize> = points.iter().map(|point| point.conditions).collect();
    assert_eq!(conditions, [4, 3, 2, 1, 0]);
    let two = &points[2];
    assert!(two.policy.actions[0].rules.iter().all(|rule| rule.ignores(1)), "{:?}", two.policy.actions[0].rules);
    assert!(two.fitness > points[0].fitness - 0.2, "{} {}", two.fitness, points[0].fitness);
    assert!(points[4].fitness < two.fitness - 0.2, "without any condition the valve never moves");
    let front = none_simpler_and_better(points);
    assert!(front.windows(2).all(|pair| pair[0].conditions < pair[1].conditions && pair[0].fitness < pair[1].fitness));
}
