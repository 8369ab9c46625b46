//! Which conditions matter: those whose removal costs next to nothing on the world are taken away.
//!
//! First whole inputs are tried, in all rules at once, because two rules that look at an input alike cancel each
//! other; then single conditions. Candidates are scored alone, then taken away one after another, the cheapest first,
//! as long as the policy that remains loses no more than the tolerance. What mirrors each other stays mirrored.

use rayon::prelude::*;

use fpsrl_data::System;
use fpsrl_engine::policy::{Condition, FuzzyKernel, FuzzyPolicy};
use fpsrl_engine::rollout::{FitnessFunction, Risk, StartStates};
use fpsrl_engine::simd::Numerics;
use fpsrl_engine::world::World;

/// What may be lost, as a share of the way from doing nothing to the whole policy, if nobody says otherwise.
pub const TOLERANCE: f64 = 0.005;

/// A policy without the conditions that do not matter.
#[derive(Clone, Debug, PartialEq)]
pub struct Simplification {
    /// The shorter policy.
    pub policy: FuzzyPolicy,
    /// What was taken away.
    pub removed: Vec<Condition>,
    /// Conditions of the whole policy.
    pub conditions: usize,
    /// What the shorter policy may lose, in units of the return.
    pub tolerance: f64,
    /// The return of doing nothing: every action in the middle of its limits.
    pub idle: f64,
    /// The return of the whole policy from the start states of the search.
    pub whole: f64,
    /// That of the shorter one.
    pub simple: f64,
}

/// Finds a shorter policy, scored in several worlds at once, such as the members of an ensemble. `share` is the tolerance
/// as a share of the way from doing nothing to the whole policy.
///
/// # Panics
/// If there is no world.
///
/// ```
/// use fpsrl_data::System;
/// use fpsrl_data::plant::{PlantKind, PlantWorld};
/// use fpsrl_engine::policy::{ActionRules, FuzzyPolicy, Quantity, Rule};
/// use fpsrl_engine::simd::{Mode, Numerics};
/// use fpsrl_explain::simplify;
///
/// // It pushes the car where it is going; where the car is hardly matters to it.
/// let rule = |velocity: f64| Rule { centre: vec![0.0, velocity], width: vec![9.0, 1.0], output: velocity };
/// let policy = FuzzyPolicy {
///     states: ["position", "velocity"].map(|name| Quantity::new(name, "")).to_vec(),
///     mirrored: false,
///     actions: vec![ActionRules {
///         name: "force".into(),
///         unit: "N".into(),
///         limits: [-1.0, 1.0],
///         rate: None,
///         reach: 1.0,
///         alpha: 20.0,
///         rules: vec![rule(1.0), rule(-1.0)],
///     }],
/// };
/// let system = System::benchmark("mountain-car")?;
/// let world = PlantWorld::new(PlantKind::MountainCar);
/// let starts = system.search_starts(0, 200);
/// let simple = simplify(&system, &[&world], &policy, &starts, 0.005, Numerics::detect(Mode::Fast));
/// assert_eq!(fpsrl_explain::unused_inputs(&simple.policy), ["position"]);
/// # Ok::<(), fpsrl_base::Error>(())
/// ```
pub fn simplify(
    system: &System,
    worlds: &[&dyn World],
    policy: &FuzzyPolicy,
    starts: &StartStates,
    share: f64,
    numerics: Numerics,
) -> Simplification {
    let (horizon, discount) = (system.horizon(), system.discount());
    let mean = Risk::MeanLessSpread(0.0);
    let fitness = FitnessFunction::of_several(worlds.to_vec(), mean, starts, horizon, discount, numerics);
    let score = |policy: &FuzzyPolicy| {
        let fitness = fitness.fitness(&FuzzyKernel::new(policy), f64::NEG_INFINITY, &mut fitness.workspace());
        fitness.value.unwrap_or(f64::NEG_INFINITY)
    };
    let mut idle = policy.clone();
    idle.actions.iter_mut().flat_map(|action| &mut action.rules).for_each(|rule| rule.output = 0.0);
    let (whole, idle) = (score(policy), score(&idle));
    let tolerance = share * (whole - idle).abs();

    let mut simple = policy.clone();
    let mut value = whole;
    for candidates in [whole_inputs(policy), single_conditions(policy)] {
        // Alone, each costs so much; in the order of their cost they are tried together.
        let mut ranked: Vec<(f64, Vec<Condition>)> = candidates
            .into_par_iter()
            .map(|conditions| {
                let mut shorter = simple.clone();
                remove(&mut shorter, &conditions);
                (score(&shorter), conditions)
            })
            .collect();
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
        for (alone, conditions) in ranked {
            if alone < whole - tolerance || conditions.iter().all(|one| is_removed(&simple, one)) {
                continue;
            }
            let mut shorter = simple.clone();
            remove(&mut shorter, &conditions);
            let remaining = score(&shorter);
            if remaining >= whole - tolerance {
                (simple, value) = (shorter, remaining);
            }
        }
    }
    let mut all: Vec<Condition> = single_conditions(policy).concat();
    all.retain(|one| !is_removed(policy, one));
    let removed = all.iter().copied().filter(|one| is_removed(&simple, one)).collect();
    Simplification { policy: simple, removed, conditions: all.len(), tolerance, idle, whole, simple: value }
}

fn remove(policy: &mut FuzzyPolicy, conditions: &[Condition]) {
    conditions.iter().for_each(|one| policy.take_away(*one));
}

fn is_removed(policy: &FuzzyPolicy, one: &Condition) -> bool {
    policy.actions[one.action].rules[one.rule].ignores(one.variable)
}

/// For each input, its conditions in all rules of all actions.
fn whole_inputs(policy: &FuzzyPolicy) -> Vec<Vec<Condition>> {
    (0..policy.states.len())
        .map(|variable| single_conditions(policy).concat().into_iter().filter(|one| one.variable == variable).collect())
        .collect()
}

/// Each condition by itself, with its mirror image where there is one.
fn single_conditions(policy: &FuzzyPolicy) -> Vec<Vec<Condition>> {
    let mut all = Vec::new();
    for (action, base) in policy.actions.iter().enumerate() {
        let half = base.rules.len() / 2;
        let searched = if policy.mirrored { half } else { base.rules.len() };
        for rule in 0..searched {
            for variable in 0..policy.states.len() {
                let one = Condition { action, rule, variable };
                let mirror = policy.mirrored.then_some(Condition { rule: rule + half, ..one });
                all.push([one].into_iter().chain(mirror).collect());
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::balancer_of;
    use fpsrl_data::plant::{PlantKind, PlantWorld};
    use fpsrl_engine::policy::Rule;
    use fpsrl_engine::simd::Mode;
    use fpsrl_search::SearchSettings;

    /// Balances the pole by its angle and velocity, keeps the cart in the middle, and looks at a fifth thing for
    /// nothing.
    fn balancer() -> FuzzyPolicy {
        let rule = Rule { centre: vec![0.3, 1.0, 0.3, 0.6], width: vec![0.35, 1.6, 4.0, 2.5], output: 1.0 };
        balancer_of(rule, 10.0)
    }

    #[test]
    fn what_is_removed_costs_no_more_than_the_tolerance_and_stays_mirrored() {
        let system = System::benchmark("cart-pole-balancing").unwrap();
        let world = PlantWorld::new(PlantKind::CartPoleBalancing);
        let numerics = Numerics::detect(Mode::Fast);
        let starts = system.search_starts(0, SearchSettings::for_plant(system.plant()).start_states);
        for share in [0.0, 0.005, 0.2] {
            let found = simplify(&system, &[&world], &balancer(), &starts, share, numerics);
            assert!(found.simple >= found.whole - found.tolerance, "{found:?}");
            assert_eq!(found.conditions, 8);
            let rules = &found.policy.actions[0].rules;
            assert!((0..4).all(|variable| rules[0].ignores(variable) == rules[1].ignores(variable)));
            assert!(!rules[0].ignores(0), "nothing balances a pole without looking at it");
            assert_eq!(found.removed.len() % 2, 0);
            assert_eq!(found.policy.fault(), None);
        }
    }

    #[test]
    fn a_simple_policy_computes_as_if_the_conditions_had_never_been_there() {
        let mut policy = balancer();
        for rule in &mut policy.actions[0].rules {
            rule.ignore(2);
        }
        let mut without = policy.clone();
        for rule in &mut without.actions[0].rules {
            rule.centre.remove(2);
            rule.width.remove(2);
        }
        for place in [-2.0, 0.0, 1e6] {
            let (with, bare) = (policy.act(&[0.1, 0.2, place, 0.3]), without.act(&[0.1, 0.2, 0.3]));
            assert!((with[0] - bare[0]).abs() < 1e-9, "{with:?} {bare:?}");
        }
    }
}
