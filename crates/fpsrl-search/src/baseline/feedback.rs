//! Feedback for plans where no good policy is known: linear regulators around points where a world rests and pays.
//!
//! A plan without feedback lets an unstable plant fall. So a few rollouts under constant actions look for states that pay
//! well. From the best of them, Newton steps go to a state that some action holds, a point of rest. Around it, differences
//! of the world give a linear model, and the recursion of Riccati gives the gain of the discounted linear-quadratic
//! regulator. What the reward thinks of distances is not known, so the weights are drawn.
//!
//! Not every task is one of holding still: a car swings itself up a hill by pushing where it is going. So gains are also
//! drawn at random, with the limits of the actions in mind: most of them act with full force in one direction or the other.
//!
//! Rollouts choose: feedback is kept if it does better than all other from somewhere. Where none does, nothing is lost but a
//! few model steps.

use std::f32::consts::TAU;

use nalgebra::{DMatrix, DVector};
use rayon::prelude::*;

use super::rolling::Rolling;
use fpsrl_base::random::{Purpose, Stream};
use fpsrl_data::System;
use fpsrl_data::system::ActionVariable;
use fpsrl_engine::angle::wrap_angle;
use fpsrl_engine::policy::Policy;
use fpsrl_engine::rollout::{Lanes, StartStates};
use fpsrl_engine::simd::Numerics;

/// Start states that are explored and probed from.
const STARTS: usize = 12;

/// Constant actions that are tried.
const HOLDS: usize = 8;

/// States that paid well, from which feedback is probed besides the start states.
const SOURCES: usize = 12;

/// Points of rest that regulators are made for.
const POINTS: usize = 4;

/// Gains that are tried, at most; one in three is a regulator's.
const MOST_TRIED: usize = 144;

/// Gains below which trying is not worth the exploration.
const FEWEST_TRIED: usize = 12;

/// Newton steps towards a point of rest.
const NEWTON_STEPS: usize = 8;

/// Steps of the Riccati recursion.
const RICCATI_STEPS: usize = 300;

/// State variables beyond which the recursion takes longer than all rollouts.
const MOST_STATES: usize = 30;

/// The share of the horizon in which the spread of the state variables is taken: under a constant action, some run away.
const EARLY: f64 = 0.1;

/// What the random numbers of [`Purpose::PlanFeedback`] are for.
const HOLD: u32 = 0;
const WEIGHT: u32 = 1;
const PLACE: u32 = 2;
const SIZE: u32 = 3;
const GAIN: u32 = 4;

/// Actions that depend linearly on the distance of the state from a point, within their limits.
///
/// Without gains it holds constant actions.
#[derive(Clone, Debug)]
pub struct Linear {
    /// The state around which it acts.
    point: Vec<f32>,
    /// What it does there.
    offset: Vec<f32>,
    /// `gains[action][state]`; none for constant actions.
    gains: Vec<Vec<f32>>,
    limits: Vec<[f32; 2]>,
    /// Which state variables are angles: their distance is the shorter way around.
    angles: Vec<bool>,
}

impl Linear {
    fn new(system: &System, point: Vec<f32>, offset: Vec<f32>, gains: Vec<Vec<f32>>) -> Self {
        Self {
            point,
            offset,
            gains,
            limits: system.actions().iter().map(|action| action.limits.map(|limit| limit as f32)).collect(),
            angles: system.states().iter().map(|state| state.angle).collect(),
        }
    }

    /// Holds constant actions.
    fn hold(system: &System, actions: Vec<f32>) -> Self {
        Self::new(system, Vec::new(), actions, Vec::new())
    }

    /// Does nothing: every action in the middle of its limits.
    pub fn idle(system: &System) -> Self {
        let middle = |action: &ActionVariable| (0.5 * (action.limits[0] + action.limits[1])) as f32;
        Self::hold(system, system.actions().iter().map(middle).collect())
    }
}

impl Policy for Linear {
    fn act(&self, lanes: &mut Lanes, _: Numerics) {
        let columns = lanes.columns();
        let (live, stride) = (columns.live, columns.stride);
        for (action, &offset) in self.offset.iter().enumerate() {
            let to = &mut columns.actions[action * stride..][..live];
            to.fill(offset);
            let Some(gains) = self.gains.get(action) else { continue };
            for (variable, &gain) in gains.iter().enumerate() {
                let (point, from) = (self.point[variable], &columns.states[variable * stride..][..live]);
                for (to, &state) in to.iter_mut().zip(from) {
                    let distance = state - point;
                    let turns = if self.angles[variable] { (distance / TAU).round_ties_even() } else { 0.0 };
                    *to += gain * (distance - TAU * turns);
                }
            }
            let [low, high] = self.limits[action];
            to.iter_mut().for_each(|to| *to = to.max(low).min(high));
        }
    }
}

/// Feedback that does well on a world, `most` at most, and the model steps that finding it took, at most `budget`.
pub(super) fn find(
    rolling: &Rolling<'_>,
    system: &System,
    starts: &StartStates,
    most: usize,
    budget: u64,
) -> (Vec<Linear>, u64) {
    let (horizon, states) = (system.horizon() as u64, system.states().len() as u64);
    let looked_from = starts.len().min(STARTS) as u64;
    let probe = horizon * (looked_from + SOURCES as u64);
    let newton = (SOURCES * (1 + NEWTON_STEPS)) as u64 * (1 + 2 * (states + system.actions().len() as u64));
    let fixed = HOLDS as u64 * (horizon * looked_from + probe) + newton;
    let tried = (budget.saturating_sub(fixed) / probe.max(1)).min(MOST_TRIED as u64) as usize;
    if most == 0 || looked_from == 0 || tried < FEWEST_TRIED {
        return (Vec::new(), 0);
    }
    let holds = holds(system);
    let (visits, mut steps) = explore(rolling, &holds, starts);
    let mut candidates: Vec<Linear> = holds.into_iter().map(|actions| Linear::hold(system, actions)).collect();
    let maker = Maker::new(rolling, system, &visits);
    let sources = maker.sources(&visits);
    if states as usize <= MOST_STATES {
        let (points, spent) = maker.points(&sources);
        steps += spent;
        let regulators = if points.is_empty() { 0 } else { tried / 3 };
        let made = (0..regulators).into_par_iter().map(|index| maker.regulator(&points[index % points.len()], index));
        candidates.extend(made.collect::<Vec<_>>().into_iter().flatten());
    }
    if !sources.is_empty() {
        let random = HOLDS + tried - candidates.len();
        candidates.extend((0..random).map(|index| maker.random(&visits, &sources, index)));
    }
    // From where it pays too: whoever can stay there is worth getting there.
    let mut probes: Vec<Vec<f32>> = (0..looked_from as usize).map(|index| row(starts, index)).collect();
    probes.extend(sources.iter().map(|visit| visit.state.clone()));
    let scored: Vec<(Vec<f64>, u64)> =
        candidates.par_iter().map(|candidate| rolling.returns_of(candidate, &probes)).collect();
    steps += scored.iter().map(|(_, steps)| steps).sum::<u64>();
    let returns: Vec<Vec<f64>> = scored.into_iter().map(|(returns, _)| returns).collect();
    (complements(&returns, most).into_iter().map(|index| candidates[index].clone()).collect(), steps)
}

/// A start state on lanes.
pub(super) fn row(starts: &StartStates, index: usize) -> Vec<f32> {
    starts.row(index).iter().map(|&value| value as f32).collect()
}

/// Those that do best together: each one brings most beside those before it, and none is kept that brings nothing.
fn complements(returns: &[Vec<f64>], most: usize) -> Vec<usize> {
    let probes = returns.first().map_or(0, Vec::len);
    // Of rollouts that came to nothing, the worst of the others is the measure.
    let worst = returns.iter().flatten().copied().filter(|value| value.is_finite()).fold(f64::INFINITY, f64::min);
    let mut best = vec![worst; probes];
    let mut kept: Vec<usize> = Vec::new();
    while kept.len() < most {
        let gain = |index: usize| -> f64 {
            returns[index].iter().zip(&best).map(|(value, best)| (value - best).max(0.0)).sum()
        };
        let gains = (0..returns.len()).map(|index| (gain(index), index)).filter(|(gain, _)| *gain > 0.0);
        let Some((_, next)) = gains.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1))) else { break };
        best.iter_mut().zip(&returns[next]).for_each(|(best, value)| *best = best.max(*value));
        kept.push(next);
    }
    kept
}

/// Constant actions: the middle, the limits, and some between.
fn holds(system: &System) -> Vec<Vec<f32>> {
    let stream = Stream::new(system.seed(), Purpose::PlanFeedback);
    let value = |hold: usize, action: usize| {
        let [low, high] = system.actions()[action].limits;
        let value = match hold {
            0 => 0.5 * (low + high),
            1 => low,
            2 => high,
            _ => stream.within(low, high, HOLD, hold as u32, action as u32),
        };
        value as f32
    };
    (0..HOLDS).map(|hold| (0..system.actions().len()).map(|action| value(hold, action)).collect()).collect()
}

/// A step that was taken.
struct Visit {
    step: usize,
    state: Vec<f32>,
    action: Vec<f32>,
    next: Vec<f32>,
    reward: f32,
}

/// What is visited under constant actions, and the model steps that it took.
fn explore(rolling: &Rolling<'_>, holds: &[Vec<f32>], starts: &StartStates) -> (Vec<Visit>, u64) {
    let explored: Vec<(Vec<Visit>, u64)> = holds.par_iter().map(|hold| explore_one(rolling, hold, starts)).collect();
    let steps = explored.iter().map(|(_, steps)| steps).sum();
    (explored.into_iter().flat_map(|(visits, _)| visits).collect(), steps)
}

fn explore_one(rolling: &Rolling<'_>, actions: &[f32], starts: &StartStates) -> (Vec<Visit>, u64) {
    let count = starts.len().min(STARTS);
    let every = (rolling.horizon() / 100).max(1);
    let mut lanes = Lanes::new(starts.state_count(), actions.len(), count);
    lanes.set_live(count);
    for variable in 0..starts.state_count() {
        for (to, from) in lanes.state_mut(variable).iter_mut().zip(&starts.column(variable)[..count]) {
            *to = *from as f32;
        }
    }
    let state = |lanes: &Lanes, lane: usize| -> Vec<f32> {
        (0..lanes.state_count()).map(|variable| lanes.state(variable)[lane]).collect()
    };
    let (mut visits, mut steps) = (Vec::new(), 0);
    for step in 0..rolling.horizon() {
        let live = lanes.live();
        if live == 0 {
            break;
        }
        for (action, &value) in actions.iter().enumerate() {
            lanes.action_mut(action).fill(value);
        }
        let noted = step % every == 0;
        let before: Vec<Vec<f32>> = (0..if noted { live } else { 0 }).map(|lane| state(&lanes, lane)).collect();
        rolling.world.advance(&mut lanes, rolling.numerics);
        steps += live as u64;
        for lane in (0..live).rev() {
            let (next, reward) = (state(&lanes, lane), lanes.rewards()[lane]);
            // What has stopped for good needs no feedback, and what is not a number has no place.
            if lanes.absorbed()[lane] != 0.0 || !reward.is_finite() || next.iter().any(|value| !value.is_finite()) {
                lanes.retire(lane);
            } else if let Some(state) = before.get(lane) {
                visits.push(Visit { step, state: state.clone(), action: actions.to_vec(), next, reward });
            }
        }
    }
    (visits, steps)
}

/// A state that an action holds, or nearly so.
struct Point {
    state: Vec<f32>,
    action: Vec<f32>,
    slopes: Slopes,
}

/// The world around a point, in units of the spreads and of the actions' half ranges.
struct Slopes {
    /// F(x, u) - x
    drift: DVector<f64>,
    /// ∂F/∂x
    by_state: DMatrix<f64>,
    /// ∂F/∂u
    by_action: DMatrix<f64>,
    reward: f32,
}

/// Makes feedback.
struct Maker<'a> {
    rolling: &'a Rolling<'a>,
    system: &'a System,
    stream: Stream,
    /// How far each state variable spreads.
    spreads: Vec<f64>,
    half_ranges: Vec<f64>,
}

impl<'a> Maker<'a> {
    fn new(rolling: &'a Rolling<'a>, system: &'a System, visits: &[Visit]) -> Self {
        let early = (EARLY * system.horizon() as f64) as usize;
        let spread = |variable: usize| {
            let mut values: Vec<f32> =
                visits.iter().filter(|visit| visit.step <= early).map(|visit| visit.state[variable]).collect();
            values.sort_by(f32::total_cmp);
            let at = |share: f64| values.get((values.len() as f64 * share) as usize).copied().unwrap_or(0.0);
            let range = f64::from(at(0.75) - at(0.25));
            if range > 1e-6 { range } else { 1.0 }
        };
        Self {
            rolling,
            system,
            stream: Stream::new(system.seed(), Purpose::PlanFeedback),
            spreads: (0..system.states().len()).map(spread).collect(),
            half_ranges: system.actions().iter().map(|action| 0.5 * (action.limits[1] - action.limits[0])).collect(),
        }
    }

    /// The difference of two values of a state variable, in units of its spread.
    fn difference(&self, variable: usize, a: f32, b: f32) -> f64 {
        let difference = f64::from(a) - f64::from(b);
        let difference = if self.system.states()[variable].angle { wrap_angle(difference) } else { difference };
        difference / self.spreads[variable]
    }

    fn distance(&self, a: &[f32], b: &[f32]) -> f64 {
        let squares = a.iter().zip(b).enumerate().map(|(variable, (a, b))| self.difference(variable, *a, *b).powi(2));
        squares.sum::<f64>().sqrt()
    }

    /// Visits that paid best, apart from each other; of equal rewards the calmest, which are nearest to rest.
    fn sources<'v>(&self, visits: &'v [Visit]) -> Vec<&'v Visit> {
        let mut order: Vec<(f32, f64, &Visit)> =
            visits.iter().map(|visit| (visit.reward, self.distance(&visit.next, &visit.state), visit)).collect();
        order.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.total_cmp(&b.1)));
        let mut sources: Vec<&Visit> = Vec::new();
        for (_, _, visit) in order {
            if sources.len() == SOURCES {
                break;
            }
            if sources.iter().all(|other| self.distance(&visit.state, &other.state) > 0.3) {
                sources.push(visit);
            }
        }
        sources
    }

    /// Points of rest near the sources, those that pay best, apart from each other; and the model steps that they took.
    fn points(&self, sources: &[&Visit]) -> (Vec<Point>, u64) {
        let found: Vec<(Option<Point>, u64)> = sources.par_iter().map(|source| self.rest(source)).collect();
        let steps = found.iter().map(|(_, steps)| steps).sum();
        let mut points: Vec<Point> = found.into_iter().filter_map(|(point, _)| point).collect();
        points.sort_by(|a, b| b.slopes.reward.total_cmp(&a.slopes.reward));
        let mut apart: Vec<Point> = Vec::new();
        for point in points {
            if apart.len() < POINTS && apart.iter().all(|other| self.distance(&point.state, &other.state) > 0.1) {
                apart.push(point);
            }
        }
        (apart, steps)
    }

    /// The world around a point, by central differences; none if it is not finite there.
    fn slopes(&self, state: &[f32], action: &[f32]) -> Option<Slopes> {
        const STEP: f64 = 0.01;
        let (states, actions) = (state.len(), action.len());
        let count = 1 + 2 * (states + actions);
        let mut lanes = Lanes::new(states, actions, count);
        lanes.set_live(count);
        for (variable, &value) in state.iter().enumerate() {
            lanes.state_mut(variable)[..count].fill(value);
        }
        for (variable, &value) in action.iter().enumerate() {
            lanes.action_mut(variable)[..count].fill(value);
        }
        let units: Vec<f64> = self.spreads.iter().chain(&self.half_ranges).copied().collect();
        let mut widths = Vec::with_capacity(units.len());
        for (input, &unit) in units.iter().enumerate() {
            let column = if input < states { lanes.state_mut(input) } else { lanes.action_mut(input - states) };
            let (up, down) = (1 + 2 * input, 2 + 2 * input);
            column[up] += (STEP * unit) as f32;
            column[down] -= (STEP * unit) as f32;
            widths.push((f64::from(column[up]) - f64::from(column[down])) / unit);
        }
        self.rolling.world.advance(&mut lanes, self.rolling.numerics);
        let next = |variable: usize, lane: usize| lanes.state(variable)[lane];
        let slope = |variable: usize, input: usize| {
            self.difference(variable, next(variable, 1 + 2 * input), next(variable, 2 + 2 * input)) / widths[input]
        };
        let slopes = Slopes {
            drift: DVector::from_fn(states, |variable, _| {
                self.difference(variable, next(variable, 0), state[variable])
            }),
            by_state: DMatrix::from_fn(states, states, slope),
            by_action: DMatrix::from_fn(states, actions, |variable, action| slope(variable, states + action)),
            reward: lanes.rewards()[0],
        };
        let mut numbers = slopes.drift.iter().chain(slopes.by_state.iter()).chain(slopes.by_action.iter());
        numbers.all(|number| number.is_finite()).then_some(slopes)
    }

    /// The point of rest that Newton steps from a visit lead to, and the model steps that they took.
    fn rest(&self, visit: &Visit) -> (Option<Point>, u64) {
        let (mut state, mut action) = (visit.state.clone(), visit.action.clone());
        let (states, actions) = (state.len(), action.len());
        let mut steps = 0;
        for newton in 0..=NEWTON_STEPS {
            steps += (1 + 2 * (states + actions)) as u64;
            let Some(slopes) = self.slopes(&state, &action) else { break };
            if newton == NEWTON_STEPS {
                return (Some(Point { state, action, slopes }), steps);
            }
            let moves = DMatrix::from_fn(states, states + actions, |row, column| match column < states {
                true => slopes.by_state[(row, column)] - f64::from(u8::from(row == column)),
                false => slopes.by_action[(row, column - states)],
            });
            // The shortest step that brings the drift to rest; what no step can bring there stays.
            let mut square = &moves * moves.transpose();
            let small = 1e-9 * (1e-12 + square.trace());
            (0..states).for_each(|index| square[(index, index)] += small);
            let Some(factor) = square.cholesky() else { break };
            let step = -moves.transpose() * factor.solve(&slopes.drift);
            for (variable, value) in state.iter_mut().enumerate() {
                *value += (step[variable].clamp(-0.5, 0.5) * self.spreads[variable]) as f32;
            }
            for (index, value) in action.iter_mut().enumerate() {
                let [low, high] = self.system.actions()[index].limits;
                let moved = f64::from(*value) + step[states + index].clamp(-0.5, 0.5) * self.half_ranges[index];
                *value = moved.max(low).min(high) as f32;
            }
        }
        (None, steps)
    }

    /// The regulator of a point under drawn weights; none if the recursion does not stay finite.
    fn regulator(&self, point: &Point, index: usize) -> Option<Linear> {
        let (states, actions) = (point.state.len(), point.action.len());
        let weight = |dimension: usize| match index < POINTS {
            true => 1.0,
            false => 10f64.powf(self.stream.within(-2.0, 2.0, WEIGHT, index as u32, dimension as u32)),
        };
        // A discount of γ is a world that shrinks by √γ in each step.
        let root = self.system.discount().sqrt();
        let (a, b) = (&point.slopes.by_state * root, &point.slopes.by_action * root);
        let q = DMatrix::from_diagonal(&DVector::from_fn(states, |variable, _| weight(variable)));
        let r = DMatrix::from_diagonal(&DVector::from_fn(actions, |action, _| weight(states + action)));
        let mut p = q.clone();
        let mut gain = DMatrix::zeros(actions, states);
        for _ in 0..RICCATI_STEPS {
            let left = b.transpose() * &p;
            gain = (&r + &left * &b).cholesky()?.solve(&(&left * &a));
            p = &q + a.transpose() * &p * (&a - &b * &gain);
            p = (&p + p.transpose()) * 0.5;
        }
        let unit = |action: usize, variable: usize| self.half_ranges[action] / self.spreads[variable];
        let row = |action: usize| -> Vec<f32> {
            (0..states).map(|variable| (-gain[(action, variable)] * unit(action, variable)) as f32).collect()
        };
        let gains: Vec<Vec<f32>> = (0..actions).map(row).collect();
        let finite = gains.iter().flatten().all(|gain| gain.is_finite());
        finite.then(|| Linear::new(self.system, point.state.clone(), point.action.clone(), gains))
    }

    /// Random feedback around a visited state.
    fn random(&self, visits: &[Visit], sources: &[&Visit], index: usize) -> Linear {
        let drawn = self.stream.uniform(PLACE, index as u32, 0);
        let visit = match index % 2 {
            0 => sources[(drawn * sources.len() as f64) as usize],
            _ => &visits[(drawn * visits.len() as f64) as usize],
        };
        let states = visit.state.len();
        let row = |action: usize| -> Vec<f32> {
            let size = 10f64.powf(self.stream.within(-0.5, 1.5, SIZE, index as u32, action as u32));
            let gain = |variable: usize| {
                let normal = self.stream.normal(GAIN, index as u32, (action * states + variable) as u32);
                (size * normal * self.half_ranges[action] / self.spreads[variable]) as f32
            };
            (0..states).map(gain).collect()
        };
        let gains = (0..self.half_ranges.len()).map(row).collect();
        Linear::new(self.system, visit.state.clone(), visit.action.clone(), gains)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fpsrl_data::plant::{PlantKind, PlantWorld};
    use fpsrl_engine::simd::Mode;

    fn found(name: &str, kind: PlantKind) -> (Vec<f64>, u64) {
        let system = System::benchmark(name).unwrap();
        let world = PlantWorld::new(kind);
        let rolling = Rolling::new(&world, &system, Numerics::detect(Mode::Fast));
        let starts = system.evaluation_starts(20);
        let (feedback, steps) = find(&rolling, &system, &starts, 6, 3_000_000);
        assert!(feedback.len() <= 6 && steps <= 3_000_000, "{} {steps}", feedback.len());
        let rows: Vec<Vec<f32>> = (0..20).map(|index| row(&starts, index)).collect();
        let mut best = vec![f64::NEG_INFINITY; 20];
        for feedback in &feedback {
            let (returns, _) = rolling.returns_of(feedback, &rows);
            best.iter_mut().zip(returns).for_each(|(best, value)| *best = best.max(value));
        }
        (best, steps)
    }

    /// Nobody told it what upright is.
    #[test]
    fn a_pole_is_balanced_by_a_regulator() {
        let (returns, _) = found("cart-pole-balancing", PlantKind::CartPoleBalancing);
        assert!(returns.iter().sum::<f64>() / 20.0 > -1.0, "{returns:?}");
    }

    #[test]
    fn a_car_is_swung_up_by_random_feedback() {
        let (returns, _) = found("mountain-car", PlantKind::MountainCar);
        assert!(returns.iter().sum::<f64>() / 20.0 > -45.0, "{returns:?}");
    }

    #[test]
    fn without_the_steps_to_look_for_it_there_is_no_feedback() {
        let system = System::benchmark("mountain-car").unwrap();
        let world = PlantWorld::new(PlantKind::MountainCar);
        let rolling = Rolling::new(&world, &system, Numerics::detect(Mode::Fast));
        let starts = system.evaluation_starts(20);
        let (feedback, steps) = find(&rolling, &system, &starts, 6, 50_000);
        assert!(feedback.is_empty() && steps == 0);
    }

    #[test]
    fn angles_go_the_shorter_way_and_actions_stay_within_their_limits() {
        let system = System::benchmark("cart-pole-swing-up").unwrap();
        let linear = Linear::new(&system, vec![3.0, 0.0, 0.0, 0.0], vec![0.0], vec![vec![10.0, 0.0, 0.0, 0.0]]);
        let mut lanes = Lanes::new(4, 1, 2);
        lanes.set_live(2);
        lanes.state_mut(0)[..2].copy_from_slice(&[-3.0, -1.0]);
        linear.act(&mut lanes, Numerics::detect(Mode::Fast));
        assert!((lanes.action(0)[0] - 10.0 * (TAU - 6.0)).abs() < 1e-4, "{}", lanes.action(0)[0]);
        assert!((lanes.action(0)[1] - 10.0 * (TAU - 4.0)).abs() < 1e-4, "{}", lanes.action(0)[1]);
        lanes.state_mut(1)[0] = f32::MAX;
        let hard = Linear::new(&system, vec![0.0; 4], vec![0.0], vec![vec![0.0, 1e9, 0.0, 0.0]]);
        hard.act(&mut lanes, Numerics::detect(Mode::Fast));
        assert_eq!(lanes.action(0)[0], 30.0);
    }

    #[test]
    fn what_is_kept_complements_what_was_kept_before() {
        let returns =
            [vec![-1.0, -9.0, -9.0], vec![-1.5, -8.9, -9.0], vec![-9.0, -9.0, -2.0], vec![f64::NEG_INFINITY; 3]];
        assert_eq!(complements(&returns, 2), [0, 2]);
        assert_eq!(complements(&returns, 9), [0, 2, 1]);
        assert!(complements(&[vec![f64::NEG_INFINITY; 3]], 9).is_empty());
        assert!(complements(&[], 9).is_empty());
    }
}
