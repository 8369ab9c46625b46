//! Where a policy is weak: starts in the range of the log from which it fails, or earns much less than it could.
//!
//! Two kinds of start are tried. *Scans* begin at a usual start and move one variable alone through its range, as a
//! person does who tries a controller out. *Samples* spread over all variables that starts differ in, widened to the
//! log's range.
//!
//! A low return alone is no weakness: from some states nobody can do better. So from each start that earns little, a
//! few hundred openings are tried on the world: one or two stretches of constant action, after which the policy takes
//! over. If one of them earns much more, the policy is weak there, and the opening is the proof.

use rayon::prelude::*;

use super::profile::DataProfile;
use super::trajectory::{Opening, Roller};
use fpsrl_base::random::{Purpose, Stream};
use fpsrl_data::System;
use fpsrl_engine::angle::wrap_angle;
use fpsrl_engine::policy::FuzzyPolicy;

/// Points of a scan.
const SCAN: usize = 61;

/// Samples over all start variables.
const SAMPLES: usize = 600;

/// What counts as much worse: this share of the distance between the best and the worst return met.
const MUCH: f64 = 0.1;

/// Weak starts that are listed.
const LISTED: usize = 8;

/// Two listed starts are at least this share of the ranges apart.
const APART: f64 = 0.15;

/// Steps of the world that the openings may cost, all together.
const STEPS: usize = 16_000_000;

/// Where a policy is weak.
#[derive(Clone, Debug, PartialEq)]
pub struct Weaknesses {
    /// The usual start that scans go through.
    pub usual: Vec<f64>,
    /// The policy's return from there.
    pub usual_return: f64,
    /// What counts as much worse, in units of the return.
    pub much: f64,
    /// Weak stretches of single variables.
    pub stretches: Vec<WeakStretch>,
    /// Weak starts, the worst of each neighbourhood.
    pub starts: Vec<WeakStart>,
    /// Every start that was tried.
    pub points: Vec<TriedStart>,
}

/// A stretch of one variable, the others as usual, around weak starts: from all of it the policy does as badly.
#[derive(Clone, Debug, PartialEq)]
pub struct WeakStretch {
    /// Which variable.
    pub variable: usize,
    /// From where to where.
    pub range: [f64; 2],
    /// Which of [`Weaknesses::starts`] is the worst of it.
    pub worst: usize,
}

/// A start from which the policy is weak.
#[derive(Clone, Debug, PartialEq)]
pub struct WeakStart {
    /// The start.
    pub state: Vec<f64>,
    /// What the policy earns.
    pub value: f64,
    /// What it earns after the opening.
    pub better: f64,
    /// Actions that should have come first.
    pub opening: Opening,
    /// The action and the rule that has most to say meanwhile.
    pub rule: [usize; 2],
    /// How much that rule has to say in the start state itself.
    pub share: f64,
    /// Whether the policy's rollout ends in an absorbing state.
    pub absorbed: bool,
}

/// A start that was tried.
#[derive(Clone, Debug, PartialEq)]
pub struct TriedStart {
    /// The start.
    pub state: Vec<f64>,
    /// What the policy earns.
    pub value: f64,
    /// The most that any opening earns; none if none was tried, because the return is good.
    pub better: Option<f64>,
}

/// Finds where a policy is weak.
pub fn weaknesses(system: &System, profile: &DataProfile, policy: &FuzzyPolicy, roller: &Roller<'_>) -> Weaknesses {
    // The past of a start is no matter of choice: whatever is tried has been there for a while.
    let current = system.current_states();
    // There is nothing between two modes.
    let possible = |variable: usize, value: f64| match system.states()[variable].values().is_empty() {
        true => value,
        false => value.round(),
    };
    let middle = |(variable, state): (usize, &fpsrl_data::system::StateVariable)| {
        possible(variable, 0.5 * (state.start[0] + state.start[1]))
    };
    let middles: Vec<f64> = system.states()[..current].iter().enumerate().map(middle).collect();
    let usual = system.at_rest(&middles);
    let moved = |changes: &mut dyn Iterator<Item = (usize, f64)>| {
        let mut state = usual[..current].to_vec();
        changes.for_each(|(variable, value)| state[variable] = possible(variable, value));
        system.at_rest(&state)
    };
    let mut starts: Vec<Vec<f64>> = Vec::new();
    for (variable, input) in profile.inputs.iter().enumerate().take(current) {
        let [low, high] = input.range;
        for index in 0..SCAN {
            let value = low + (high - low) * index as f64 / (SCAN - 1) as f64;
            starts.push(moved(&mut std::iter::once((variable, value))));
        }
    }
    let scanned = starts.len();
    let free: Vec<usize> = match (0..current).filter(|&v| differs(system, v)).collect::<Vec<_>>() {
        none if none.is_empty() => (0..current).collect(),
        some => some,
    };
    let stream = Stream::new(system.seed(), Purpose::TestStart);
    if free.len() > 1 {
        starts.extend((0..SAMPLES as u32).map(|index| {
            moved(&mut free.iter().map(|&variable| {
                let [low, high] = profile.inputs[variable].range;
                // Iteration 0 is for the start states of the evaluation.
                (variable, stream.within(low, high, 1, index, variable as u32))
            }))
        }));
    }
    let values = roller.returns(&starts);
    let usual_return = roller.returns(std::slice::from_ref(&usual))[0];
    let finite = || values.iter().copied().chain([usual_return]).filter(|value| value.is_finite());
    let (best, worst) = (finite().fold(f64::NEG_INFINITY, f64::max), finite().fold(f64::INFINITY, f64::min));
    let much = MUCH * (best - worst).max(1e-9 * best.abs());

    let openings = openings(system);
    let poor: Vec<usize> = (0..starts.len()).filter(|&index| values[index] < best - much).collect();
    let affordable = (STEPS / (openings.len() * system.horizon()).max(1)).max(SCAN);
    // All scans if possible: they come first. Of the samples, evenly spread ones.
    let tried: Vec<usize> = if poor.len() <= affordable {
        poor
    } else {
        (0..affordable).map(|index| poor[index * poor.len() / affordable]).collect()
    };
    let better: Vec<(usize, f64, usize)> = tried
        .into_par_iter()
        .map(|index| {
            let returns = roller.after_openings(&starts[index], &openings);
            let best = (0..returns.len()).max_by(|a, b| returns[*a].total_cmp(&returns[*b])).unwrap_or(0);
            (index, returns[best], best)
        })
        .collect();
    let mut points: Vec<TriedStart> =
        starts.into_iter().zip(&values).map(|(state, &value)| TriedStart { state, value, better: None }).collect();
    let mut opening_of = vec![None; points.len()];
    for (index, value, opening) in better {
        points[index].better = Some(value);
        opening_of[index] = Some(opening);
    }

    let is_weak = |index: usize| points[index].regret() >= much;
    let mut found: Vec<(usize, WeakStretch)> = Vec::new();
    for variable in 0..current {
        let scan = variable * SCAN..(variable + 1) * SCAN;
        let (mut index, mut taken) = (scan.start, scan.start);
        while index < scan.end {
            if !is_weak(index) {
                index += 1;
                continue;
            }
            // From a weak start, the stretch goes as far as starts do as badly, whether something better is known or
            // not.
            let level = points[index].value + 0.5 * much;
            let is_inside = |index: usize| is_weak(index) || points[index].value < level;
            let first = (taken..index).rev().take_while(|&at| is_inside(at)).last().unwrap_or(index);
            let end = (index..scan.end).find(|&at| !is_inside(at)).unwrap_or(scan.end);
            let worst =
                (first..end).max_by(|a, b| points[*a].regret().total_cmp(&points[*b].regret())).unwrap_or(index);
            let at = |index: usize| points[index].state[variable];
            let edge = |inside: usize, outside: usize| {
                // Whatever is nearer to the one inside than to the one outside belongs to it.
                let level = 0.5 * (points[inside].value + points[outside].value);
                edge(at(inside), at(outside), |value| {
                    roller.returns(&[moved(&mut std::iter::once((variable, value)))])[0] < level
                })
            };
            let low = if first > scan.start { edge(first, first - 1) } else { at(first) };
            let high = if end < scan.end { edge(end - 1, end) } else { at(end - 1) };
            found.push((worst, WeakStretch { variable, range: [low, high], worst: 0 }));
            (index, taken) = (end, end);
        }
    }
    // The worst first.
    found.sort_by(|(a, _), (b, _)| points[*b].regret().total_cmp(&points[*a].regret()));
    found.truncate(LISTED);
    let mut listed: Vec<usize> = found.iter().map(|(worst, _)| *worst).collect();
    let stretches: Vec<WeakStretch> =
        found.into_iter().enumerate().map(|(worst, (_, stretch))| WeakStretch { worst, ..stretch }).collect();
    let mut sampled: Vec<usize> = (scanned..points.len()).filter(|&index| is_weak(index)).collect();
    sampled.sort_by(|a, b| points[*b].regret().total_cmp(&points[*a].regret()));
    let distance = |a: usize, b: usize| {
        let squares = free.iter().map(|&variable| {
            let [low, high] = profile.inputs[variable].range;
            let apart = points[a].state[variable] - points[b].state[variable];
            let apart = if system.states()[variable].angle { wrap_angle(apart) } else { apart };
            (apart / (high - low)).powi(2)
        });
        squares.sum::<f64>().sqrt()
    };
    for index in sampled {
        if listed.len() >= LISTED {
            break;
        }
        if listed.iter().all(|&other| distance(index, other) >= APART) {
            listed.push(index);
        }
    }
    let states: Vec<Vec<f64>> = listed.iter().map(|&index| points[index].state.clone()).collect();
    let starts = listed
        .iter()
        .zip(roller.trajectories(&states))
        .map(|(&index, trajectory)| {
            let opening = opening_of[index].map_or_else(Vec::new, |opening| openings[opening].clone());
            let steps = opening.iter().map(|(steps, _)| steps).sum::<usize>().max(1);
            let (rule, share) = responsible(policy, &trajectory.states[..steps.min(trajectory.states.len())]);
            WeakStart {
                state: points[index].state.clone(),
                value: points[index].value,
                better: points[index].better.unwrap_or(points[index].value),
                opening,
                rule,
                share,
                absorbed: trajectory.absorbed,
            }
        })
        .collect();
    Weaknesses { usual, usual_return, much, stretches, starts, points }
}

impl TriedStart {
    /// What an opening would have brought.
    pub fn regret(&self) -> f64 {
        self.better.map_or(0.0, |better| better - self.value)
    }
}

impl Weaknesses {
    /// The share of all starts tried from which the policy is weak.
    pub fn share(&self) -> f64 {
        self.points.iter().filter(|point| point.regret() >= self.much).count() as f64 / self.points.len().max(1) as f64
    }
}

/// Where a stretch ends, between a value inside and one outside.
fn edge(mut inside: f64, mut outside: f64, is_inside: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..8 {
        let middle = 0.5 * (inside + outside);
        if is_inside(middle) { inside = middle } else { outside = middle }
    }
    inside
}

fn differs(system: &System, variable: usize) -> bool {
    let [low, high] = system.states()[variable].start;
    high > low
}

/// One or two stretches of constant action.
fn openings(system: &System) -> Vec<Opening> {
    let mut actions: Vec<Vec<f64>> = Vec::new();
    let at = |share: f64| system.actions().iter().map(move |a| a.limits[0] + share * (a.limits[1] - a.limits[0]));
    actions.extend([0.0, 0.5, 1.0].map(|share| at(share).collect()));
    if system.actions().len() > 1 {
        for (index, action) in system.actions().iter().enumerate() {
            for limit in action.limits {
                let mut one: Vec<f64> = at(0.5).collect();
                one[index] = limit;
                actions.push(one);
            }
        }
    }
    let lengths: Vec<usize> =
        [0.03, 0.08, 0.2].map(|share: f64| ((system.horizon() as f64 * share).round() as usize).max(1)).to_vec();
    let mut openings: Vec<Opening> = Vec::new();
    for &first in &lengths {
        for action in &actions {
            openings.push(vec![(first, action.clone())]);
            for &second in &lengths {
                for other in actions.iter().filter(|other| *other != action) {
                    openings.push(vec![(first, action.clone()), (second, other.clone())]);
                }
            }
        }
    }
    openings
}

/// Which rule has most to say over some states, and how much it has to say in the first of them.
fn responsible(policy: &FuzzyPolicy, states: &[Vec<f64>]) -> ([usize; 2], f64) {
    let mut found = ([0, 0], 0.0, f64::NEG_INFINITY);
    for (action, base) in policy.actions.iter().enumerate() {
        let shares: Vec<Vec<f64>> = states.iter().map(|state| base.shares(&policy.states, state)).collect();
        for (rule, description) in base.rules.iter().enumerate() {
            let say = shares.iter().map(|shares| shares[rule]).sum::<f64>() * description.output.abs();
            if say > found.2 {
                found = ([action, rule], shares.first().map_or(0.0, |shares| shares[rule]), say);
            }
        }
    }
    (found.0, found.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{balancer_of, generated};
    use fpsrl_data::plant::{PlantKind, PlantWorld};
    use fpsrl_engine::policy::{FuzzyKernel, Rule};
    use fpsrl_engine::simd::{Mode, Numerics};

    /// Balances well near the middle; its position rule drives the cart off the track from far out.
    fn balancer() -> FuzzyPolicy {
        let rule = Rule { centre: vec![0.5, 0.37, 0.67, 0.04], width: vec![0.71, 3.6, 3.4, 3.0], output: 0.98 };
        balancer_of(rule, 16.7)
    }

    #[test]
    fn the_edge_of_the_track_is_found_without_being_told() {
        let system = System::benchmark("cart-pole-balancing").unwrap();
        let log = generated(&system, 5_000);
        let profile = DataProfile::new(&system, &log);
        let world = PlantWorld::new(PlantKind::CartPoleBalancing);
        let policy = balancer();
        let kernel = FuzzyKernel::new(&policy);
        let roller = Roller::new(&system, &world, &kernel, Numerics::detect(Mode::Fast));
        let found = weaknesses(&system, &profile, &policy, &roller);
        assert!(found.usual_return > -3.0, "{}", found.usual_return);
        for position in [-2.3, 2.3] {
            let stretch = found
                .stretches
                .iter()
                .find(|stretch| stretch.variable == 2 && (stretch.range[0]..=stretch.range[1]).contains(&position));
            let stretch = stretch.unwrap_or_else(|| panic!("{position} is not in {:?}", found.stretches));
            let start = &found.starts[stretch.worst];
            assert!(start.absorbed && start.better - start.value >= found.much, "{start:?}");
            assert!(!start.opening.is_empty() && start.rule[1] == usize::from(position < 0.0), "{start:?}");
            // The proof holds: the opening really earns what is said.
            let again = roller.after_openings(&start.state, std::slice::from_ref(&start.opening));
            assert_eq!(again[0], start.better);
        }
        assert!(found.share() > 0.0 && found.share() < 1.0);
    }
}
