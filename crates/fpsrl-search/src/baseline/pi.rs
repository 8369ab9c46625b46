//! The yardstick of every control engineer: P and PI controllers, tuned on the same worlds from the same start states as the
//! rules are searched on.
//!
//! Each action follows one of the states that track a set-point: `action = bias + gain · error + gain / reset · sum`, within the
//! action's limits; the sum stops growing while an action is at a limit, as that of the rules does. With several, every way of
//! pairing them is tuned and the best one counts. [`PiController::as_rules`] gives the same controller as two fuzzy rules, which
//! a search can begin from.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::SearchSettings;
use crate::optimiser::{CmaEs, CmaSettings, Optimiser};
use crate::search::outlook;
use fpsrl_data::System;
use fpsrl_data::system::{Carried, Lagged};
use fpsrl_engine::policy::{ANYWHERE, ActionRules, Derived, FuzzyPolicy, Policy, Quantity, Rule};
use fpsrl_engine::rollout::{Columns, FitnessFunction, Lanes, StartStates};
use fpsrl_engine::simd::Numerics;
use fpsrl_engine::world::World;

/// Start states that it is tuned from, and evaluations for each of its numbers.
const STARTS: usize = 60;
const EVALUATIONS: usize = 250;

/// More actions than this are not paired in every way.
const MOST_PAIRED: usize = 3;

/// The slope before the hyperbolic tangent of the rules that do as a PI does: they reach 96 % of what the tangent does.
const ALPHA: f64 = 2.0;

/// A PI controller of each action.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PiController {
    /// A loop for each action, in the order of the actions.
    pub loops: Vec<PiLoop>,
}

/// The controller of one action.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PiLoop {
    /// The action's name.
    pub action: String,
    /// The state that it brings to its set-point; null if the action is constant.
    pub state: Option<String>,
    /// The action without error.
    pub bias: f64,
    /// What a unit of the error adds.
    pub gain: f64,
    /// What a unit of its running sum adds; the reset time in steps is `gain / integral`.
    pub integral: f64,
}

/// Where the numbers of a loop stand in a state.
#[derive(Clone, Copy, Debug)]
struct Place {
    error: usize,
    sum: usize,
    limit: f64,
}

/// A PI controller on lanes.
#[derive(Clone, Debug)]
pub struct PiKernel {
    loops: Vec<LoopKernel>,
}

#[derive(Clone, Debug)]
struct LoopKernel {
    place: Option<Place>,
    bias: f32,
    gain: f32,
    integral: f32,
    limits: [f32; 2],
    /// The variable that a change is added to, and the limits of a change.
    change: Option<(usize, [f32; 2])>,
}

/// The states that track a set-point: their numbers, and where their errors and sums stand.
fn tracked(system: &System) -> Vec<(usize, Place)> {
    let find = |wanted: Lagged| system.states().iter().position(|state| state.lag.is_some_and(|lag| lag.of == wanted));
    let one = |(index, state): (usize, &fpsrl_data::system::StateVariable)| {
        let limit = state.tracks?.limit?;
        Some((index, Place { error: find(Lagged::Error(index))?, sum: find(Lagged::Sum(index))?, limit }))
    };
    system.states().iter().enumerate().filter_map(one).collect()
}

/// The names of the states that a controller can bring to their set-points.
pub fn tracked_states(system: &System) -> Vec<&str> {
    tracked(system).into_iter().map(|(state, _)| system.states()[state].name.as_str()).collect()
}

impl PiLoop {
    /// The reset time in steps; none without an integral part.
    pub fn reset(&self) -> Option<f64> {
        (self.integral != 0.0).then(|| self.gain / self.integral)
    }
}

impl PiKernel {
    /// Lays a controller out for the states of a system.
    pub fn new(system: &System, controller: &PiController) -> Self {
        let tracked = tracked(system);
        let one = |(index, (own, action)): (usize, (&PiLoop, &fpsrl_data::system::ActionVariable))| {
            let named = |(state, _): &&(usize, Place)| Some(&system.states()[*state].name) == own.state.as_ref();
            let holds = |state: &fpsrl_data::system::StateVariable| {
                state.lag.is_some_and(|lag| lag.from == Carried::SetPoint(index))
            };
            let limits = action.set_point.as_ref().map_or(action.limits, |set_point| set_point.limits);
            LoopKernel {
                place: tracked.iter().find(named).map(|(_, place)| *place),
                bias: own.bias as f32,
                gain: own.gain as f32,
                integral: own.integral as f32,
                limits: limits.map(|limit| limit as f32),
                change: system
                    .states()
                    .iter()
                    .position(holds)
                    .map(|last| (last, action.limits.map(|limit| limit as f32))),
            }
        };
        Self { loops: controller.loops.iter().zip(system.actions()).enumerate().map(one).collect() }
    }
}

impl Policy for PiKernel {
    fn act(&self, lanes: &mut Lanes, _: Numerics) {
        let Columns { live, stride, states, actions, .. } = lanes.columns();
        for (own, to) in self.loops.iter().zip(actions.chunks_exact_mut(stride)) {
            for (lane, to) in to.iter_mut().enumerate().take(live) {
                let at = |variable: usize| states[variable * stride + lane];
                let follows = own.place.map_or(0.0, |place| own.gain * at(place.error) + own.integral * at(place.sum));
                let wanted = (own.bias + follows).max(own.limits[0]).min(own.limits[1]);
                *to = match own.change {
                    None => wanted,
                    Some((last, [low, high])) => (wanted - at(last)).max(low).min(high),
                };
            }
        }
    }
}

/// What was tuned, and what it earns from the start states that it was tuned on.
#[derive(Clone, Debug, PartialEq)]
pub struct Tuned {
    /// The controller.
    pub controller: PiController,
    /// Its fitness.
    pub fitness: f64,
}

/// Tunes a PI controller on some worlds; with `integral` false, a P controller. None if nothing tracks a set-point.
pub fn tune(
    system: &System,
    settings: &SearchSettings,
    worlds: &[&dyn World],
    starts: &StartStates,
    integral: bool,
    numerics: Numerics,
) -> Option<Tuned> {
    let tracked = tracked(system);
    if tracked.is_empty() {
        return None;
    }
    let starts = starts.clone().first(STARTS);
    let fitness = FitnessFunction::of_several(
        worlds.to_vec(),
        outlook(settings),
        &starts,
        system.horizon(),
        system.discount(),
        numerics,
    );
    let actions = system.actions().len();
    let best = pairings(actions, tracked.len()).into_iter().map(|pairing| {
        let decode = |position: &[f64]| decode(system, &tracked, &starts, &pairing, integral, position);
        let (low, high) = (vec![-1.0; 3 * actions], vec![1.0; 3 * actions]);
        let evaluations = EVALUATIONS * 3 * actions;
        let cma = CmaSettings { population: 0, first_step: 0.2, tolerance: 1e-6, restarts: true, evaluations };
        // Each loop acts one way or the other; a search that begins in between may take the wrong one.
        let begin = |signs: usize| -> Vec<f64> {
            let sign = |action: usize| if signs >> action & 1 == 0 { 1.0 } else { -1.0 };
            (0..actions).flat_map(|action| [0.0, 0.3 * sign(action), 0.2 * sign(action)]).collect()
        };
        let score = |position: &[f64]| {
            let kernel = PiKernel::new(system, &decode(position));
            let scored = fitness.fitness(&kernel, f64::NEG_INFINITY, &mut fitness.workspace());
            scored.value.unwrap_or(f64::NEG_INFINITY)
        };
        let first = (0..1usize << actions.min(MOST_PAIRED))
            .map(begin)
            .max_by(|a, b| score(a).total_cmp(&score(b)))
            .unwrap_or_else(|| vec![0.0; 3 * actions]);
        let mut optimiser = CmaEs::at(cma, &low, &high, system.seed(), &first);
        while !optimiser.is_finished() {
            let positions = optimiser.ask().to_vec();
            let values: Vec<f64> = positions.par_iter().map(|position| score(position)).collect();
            optimiser.tell(&values);
        }
        let (position, value) = optimiser.best();
        Tuned { controller: decode(position), fitness: value }
    });
    best.reduce(|best, next| if next.fitness > best.fitness { next } else { best })
}

/// Every way in which actions may follow the states that track something: each action one of them, or none if there are fewer.
fn pairings(actions: usize, tracked: usize) -> Vec<Vec<Option<usize>>> {
    let plain: Vec<Option<usize>> = (0..actions).map(|action| (action < tracked).then_some(action)).collect();
    if actions > MOST_PAIRED || tracked > MOST_PAIRED {
        return vec![plain];
    }
    let mut all: Vec<Vec<Option<usize>>> = vec![Vec::new()];
    for _ in 0..actions {
        let choices = |taken: &Vec<Option<usize>>| {
            let free: Vec<Option<usize>> = (0..tracked).filter(|one| !taken.contains(&Some(*one))).map(Some).collect();
            // With fewer states than actions, some actions stay constant.
            let idle = actions > tracked && taken.iter().filter(|one| one.is_none()).count() < actions - tracked;
            free.into_iter().chain(idle.then_some(None)).collect::<Vec<Option<usize>>>()
        };
        all = all
            .iter()
            .flat_map(|taken| choices(taken).into_iter().map(|one| [&taken[..], &[one]].concat()).collect::<Vec<_>>())
            .collect();
    }
    all
}

/// The controller at a position: bias, gain and integral of each action, from -1 to 1, finer around 0.
fn decode(
    system: &System,
    tracked: &[(usize, Place)],
    starts: &StartStates,
    pairing: &[Option<usize>],
    integral: bool,
    position: &[f64],
) -> PiController {
    let fine = |place: f64, largest: f64| largest * (5.0 * place).sinh() / 5f64.sinh();
    let loops =
        system.actions().iter().zip(pairing).zip(position.chunks_exact(3)).map(|((action, paired), numbers)| {
            let limits = action.set_point.as_ref().map_or(action.limits, |set_point| set_point.limits);
            let name = action.set_point.as_ref().map_or(&action.name, |set_point| &set_point.name).clone();
            let (middle, half) = (0.5 * (limits[0] + limits[1]), 0.5 * (limits[1] - limits[0]));
            let bias = middle + half * numbers[0];
            match paired.map(|paired| tracked[paired]) {
                None => PiLoop { action: name, state: None, bias, gain: 0.0, integral: 0.0 },
                Some((state, place)) => {
                    let errors = starts.column(place.error);
                    let typical = errors.iter().map(|error| error.abs()).sum::<f64>() / errors.len().max(1) as f64;
                    let gain = fine(numbers[1], 20.0 * half / typical.max(1e-9));
                    let integral = if integral { fine(numbers[2], 20.0 * half / place.limit) } else { 0.0 };
                    PiLoop { action: name, state: Some(system.states()[state].name.clone()), bias, gain, integral }
                }
            }
        });
    PiController { loops: loops.collect() }
}

impl PiController {
    /// The same as two fuzzy rules for each action, over the inputs of a policy: near the middle of the limits they do what the
    /// controller does, and towards the limits they give in earlier. None if an input is missing.
    pub fn as_rules(&self, like: &FuzzyPolicy) -> Option<FuzzyPolicy> {
        let variables = like.states.len();
        let find = |name: &str| like.states.iter().position(|state| state.name == name);
        let of_error = |error: usize| {
            let is = |state: &Quantity| matches!(state.derived, Some(Derived::Sum { error: of, .. }) if of == error);
            like.states.iter().position(is)
        };
        let mut policy = like.clone();
        for (base, own) in policy.actions.iter_mut().zip(&self.loops) {
            let [low, high] = base.limits;
            let (middle, half) = (0.5 * (low + high), 0.5 * (high - low) * base.reach);
            let mut centre = vec![0.0; variables];
            let mut shift = vec![0.0; variables];
            let mut width = vec![ANYWHERE; variables];
            if let Some(state) = &own.state {
                let tracked = find(state)?;
                let is = |one: &Quantity| matches!(one.derived, Some(Derived::Error { state, .. }) if state == tracked);
                let error = like.states.iter().position(is)?;
                // half · α · centre / width² is the gain of two rules at ± the centre.
                let mut put = |variable: usize, gain: f64, reach: f64| {
                    width[variable] = reach;
                    centre[variable] = gain * reach * reach / (half * ALPHA);
                };
                let Some(Derived::Sum { limit, .. }) = of_error(error).and_then(|sum| like.states[sum].derived) else {
                    put(error, own.gain, half / own.gain.abs().max(1e-9));
                    shift[error] = -(own.bias - middle) / own.gain;
                    base.alpha = ALPHA;
                    base.rules = pair(&centre, &shift, &width);
                    continue;
                };
                let sum = of_error(error)?;
                put(error, own.gain, half / own.gain.abs().max(1e-9));
                if own.integral == 0.0 {
                    shift[error] = -(own.bias - middle) / own.gain;
                } else {
                    put(sum, own.integral, (half / own.integral.abs()).min(2.0 * limit));
                    shift[sum] = (-(own.bias - middle) / own.integral).clamp(-limit, limit);
                }
            }
            base.alpha = ALPHA;
            base.rules = pair(&centre, &shift, &width);
        }
        policy.mirrored = false;
        policy.fault().is_none().then_some(policy)
    }
}

impl PiController {
    /// The same with as many rules as a policy has: pairs are repeated, which changes nothing. None if an input is missing, or
    /// if no number of pairs is that many rules.
    pub fn as_many_rules(&self, like: &FuzzyPolicy) -> Option<FuzzyPolicy> {
        let mut rules = self.as_rules(like)?;
        for (base, like) in rules.actions.iter_mut().zip(&like.actions) {
            *base = repeated(base, like.rules.len())?;
        }
        Some(rules)
    }
}

/// Two rules around a middle with opposite outputs.
fn pair(centre: &[f64], shift: &[f64], width: &[f64]) -> Vec<Rule> {
    let rule = |sign: f64| Rule {
        centre: centre.iter().zip(shift).map(|(centre, shift)| shift + sign * centre).collect(),
        width: width.to_vec(),
        output: sign,
    };
    vec![rule(1.0), rule(-1.0)]
}

/// The rules of an action, as many as asked for.
fn repeated(rules: &ActionRules, count: usize) -> Option<ActionRules> {
    let times = count / rules.rules.len();
    (times > 0 && count.is_multiple_of(rules.rules.len()))
        .then(|| ActionRules { rules: rules.rules.iter().cycle().take(count).cloned().collect(), ..rules.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PolicySettings;
    use crate::RuleSpace;
    use fpsrl_data::Transitions;
    use fpsrl_data::system::{History, Surroundings, WrittenSystem};
    use fpsrl_engine::policy::FuzzyKernel;
    use fpsrl_engine::simd::Mode;

    /// A tank that a constant outflow empties: without a running sum its level stays below the set-point.
    struct Tank;

    impl World for Tank {
        fn state_count(&self) -> usize {
            5
        }
        fn action_count(&self) -> usize {
            1
        }
        fn advance(&self, lanes: &mut Lanes, _: Numerics) {
            let Columns { live, stride, states, actions, rewards, absorbed, .. } = lanes.columns();
            absorbed.fill(0.0);
            for lane in 0..live {
                let valve = actions[lane];
                let level = 0.9 * states[lane] + 0.1 * valve - 0.04;
                let error = states[stride + lane] - level;
                let sum = states[3 * stride + lane];
                (states[lane], states[2 * stride + lane]) = (level, error);
                states[3 * stride + lane] = (sum + error).clamp(-20.0, 20.0);
                rewards[lane] = -error.abs();
            }
        }
        fn largest_reward(&self) -> f64 {
            0.0
        }
    }

    fn system() -> System {
        let text = "name = 'tank'\nhorizon = 60\n[[state]]\nname = 'level'\ntracks = 'SP'\nintegral = true\n\
                    integral_limit = 20.0\n[[input]]\nname = 'SP'\n[[action]]\nname = 'valve'\nlimits = [-2.0, 2.0]\n";
        let around = Surroundings { history: Some(History::Steps(0)), ..Surroundings::default() };
        toml::from_str::<WrittenSystem>(text).unwrap().check(&around).unwrap()
    }

    fn starts() -> StartStates {
        let row = |index: usize| {
            let (level, wanted) = (0.1 * (index % 7) as f64 - 0.3, if index.is_multiple_of(2) { 0.5 } else { -0.4 });
            vec![level, wanted, wanted - level, 0.0, 0.0]
        };
        StartStates::from_rows(&(0..24).map(row).collect::<Vec<_>>())
    }

    #[test]
    fn a_pi_beats_a_p_where_something_pulls_and_two_rules_do_what_it_does() {
        let (system, settings, numerics) = (system(), SearchSettings::default(), Numerics::detect(Mode::Fast));
        let tuned = |integral| tune(&system, &settings, &[&Tank], &starts(), integral, numerics).unwrap();
        let (p, pi) = (tuned(false), tuned(true));
        assert!(pi.fitness > p.fitness + 0.05 * p.fitness.abs(), "{} {}", pi.fitness, p.fitness);
        let own = &pi.controller.loops[0];
        assert!(own.gain > 0.0 && own.integral > 0.0 && own.state.as_deref() == Some("level"), "{own:?}");
        // The same in fuzzy rules earns nearly as much.
        let policy = PolicySettings { rules: 2, reach: 3.0, shared_widths: true, ..PolicySettings::default() };
        let space = RuleSpace::new(&system, &policy, &log(&system)).on_slopes().with_shared_widths().seen(&system);
        let rules = pi.controller.as_rules(&space.blank()).unwrap();
        let fitness = FitnessFunction::new(&Tank, &starts(), system.horizon(), system.discount(), numerics);
        let earned = |policy: &FuzzyPolicy| {
            fitness.fitness(&FuzzyKernel::new(policy), f64::NEG_INFINITY, &mut fitness.workspace()).value.unwrap()
        };
        let (fuzzy, exact) = (earned(&rules), pi.fitness);
        assert!(fuzzy > 1.15 * exact, "{fuzzy} {exact}");
        // And it is a place of the space that a search can begin from.
        let begun = space.decode(&space.encode(&rules).unwrap());
        assert!(earned(&begun) > 1.3 * exact, "{} {exact}", earned(&begun));
    }

    /// A log with some errors, from which bounds of rules are taken.
    fn log(system: &System) -> Transitions {
        let mut log = Transitions::new(5, 1);
        (log.inputs, log.carried) = (1, 3);
        for row in 0..200u32 {
            let (level, wanted) = (f64::from(row % 21) * 0.1 - 1.0, f64::from(row / 50 % 2));
            for columns in [&mut log.states, &mut log.next_states] {
                columns.iter_mut().zip([level, wanted, 0.0, 0.0, 0.0]).for_each(|(column, value)| column.push(value));
            }
            log.actions[0].push(f64::from(row % 5) - 2.0);
            log.rewards.push(0.0);
            log.episode.push(0);
            log.step.push(u64::from(row));
        }
        fpsrl_data::history::derive(system, &mut log);
        log
    }

    #[test]
    fn every_pairing_is_tried_once() {
        assert_eq!(pairings(1, 1), [[Some(0)]]);
        assert_eq!(pairings(2, 2), [[Some(0), Some(1)], [Some(1), Some(0)]]);
        assert_eq!(pairings(2, 1), [[Some(0), None], [None, Some(0)]]);
        assert_eq!(pairings(1, 2), [[Some(0)], [Some(1)]]);
        assert_eq!(pairings(4, 1), [[Some(0), None, None, None]]);
    }

    #[test]
    fn nothing_is_tuned_where_nothing_tracks_a_set_point() {
        let car = System::benchmark("mountain-car").unwrap();
        let world = fpsrl_data::plant::PlantWorld::new(fpsrl_data::plant::PlantKind::MountainCar);
        let starts = car.search_starts(0, 4);
        let settings = SearchSettings::default();
        assert_eq!(tune(&car, &settings, &[&world], &starts, true, Numerics::detect(Mode::Fast)), None);
    }
}
