//! PSO-P: plans by particle swarm on a world (Hein, Hentschel, Runkler, Udluft 2016), the ceiling of what policies reach.
//!
//! From each start state a trajectory is optimised by itself. No rule has to explain it, so its return is one
//! that a policy can hardly exceed on the same world: section 4 of the paper takes it as the measure of how much
//! is left to gain.
//!
//! A long sequence of actions is fragile on an unstable plant: whatever is changed early lets everything after it go wrong.
//! So a plan here is not a sequence of actions but of deviations from a policy, its base: the action of a step is what the
//! base does in the state that was reached, plus a deviation. The base is feedback inside of the plan. It may be any
//! policy that is known, doing nothing, or linear feedback that is found on the spot, and it may change on the way.
//!
//! Several plans begin from different bases; those that begin best go on, and the best of them gets better in passes of
//! ever more effort:
//!
//! - *Switching.* From states along the plan, every base is followed to the end; if one does better than the plan, the plan
//!   goes on with it from there.
//! - *Deviating.* A swarm searches deviations: of single steps in the near future, of ever longer stretches
//!   behind them, always scored to the end of the horizon. Then the next steps are carried out, and the rest is
//!   improved in the same way.
//!
//! The plan so far is always one of the candidates, in the same arithmetic as every rollout: so a plan never gets worse, and
//! is never worse than any of the policies that were given.
//!
//! The price is counted in model steps, and given beforehand. What cannot beat its particle's best is given up as soon
//! as that is certain, and what a start state does not need goes to the others.

use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};

use super::feedback::{self, Linear};
use super::rolling::{BLOCK, Beginning, Rolling};
use crate::optimiser::{Optimiser, RingSettings, RingSwarm};
use fpsrl_base::error::{Error, Result};
use fpsrl_base::progress::{Progress, Stage, Status};
use fpsrl_base::random::{Purpose, Stream};
use fpsrl_data::System;
use fpsrl_engine::policy::Policy;
use fpsrl_engine::rollout::{Lanes, StartStates};
use fpsrl_engine::simd::Numerics;
use fpsrl_engine::world::World;

/// How much longer each stretch of equal deviation is than the one before.
const STRETCH: f64 = 1.3;

/// States along a plan from which every base is tried.
const SWITCHES: usize = 24;

/// Feedback that is kept beside the policies that are known.
const FEEDBACK: usize = 8;

/// The share of the budget that may be spent on finding feedback.
const FEEDBACK_SHARE: f64 = 0.15;

/// Plans that are begun from a start state, at most.
const ATTEMPTS: usize = 64;

/// How often what start states have not needed is dealt out again.
const ROUNDS: usize = 4;

/// The first pass of full effort.
const FULL_EFFORT: usize = 2;

/// Passes of full effort in a row that bring nothing, after which a plan is as good as it gets.
const PATIENCE: usize = 2;

/// How plans are searched.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlanSettings {
    /// Model steps that all plans together may take. Each policy and doing nothing are followed once from each start
    /// state even if that alone takes more.
    pub budget: u64,
    /// Steps that are carried out before the rest is planned anew, at least.
    pub stride: usize,
}

impl Default for PlanSettings {
    fn default() -> Self {
        Self { budget: 100_000_000, stride: 5 }
    }
}

/// What plans reach.
#[derive(Clone, Debug, PartialEq)]
pub struct Plans {
    /// The return of the best plan found from each start state; -∞ if whatever was tried came to what is not a number.
    pub returns: Vec<f64>,
    /// Model steps that were spent.
    pub model_steps: u64,
}

/// The best plans found from each start state: not worse than any of `policies`.
///
/// ```
/// use fpsrl_search::baseline::pso_p::{PlanSettings, plan_returns};
/// use fpsrl_base::progress::Progress;
/// use fpsrl_data::{System, plant::{PlantKind, PlantWorld}};
/// use fpsrl_engine::{rollout::StartStates, simd::{Mode, Numerics}};
/// let system = System::benchmark("mountain-car")?;
/// let world = PlantWorld::new(PlantKind::MountainCar);
/// let starts = StartStates::from_rows(&[vec![0.3, 0.0]]);
/// let settings = PlanSettings { budget: 1_000_000, ..PlanSettings::default() };
/// let plans = plan_returns(&system, &world, &starts, &[], settings, Numerics::detect(Mode::Fast), &Progress::silent())?;
/// assert!(plans.returns[0] > -60.0 && plans.model_steps <= 1_000_000);
/// # Ok::<(), fpsrl_base::Error>(())
/// ```
pub fn plan_returns(
    system: &System,
    world: &dyn World,
    starts: &StartStates,
    policies: &[&dyn Policy],
    settings: PlanSettings,
    numerics: Numerics,
    progress: &Progress,
) -> Result<Plans> {
    let rolling = Rolling::new(world, system, numerics);
    progress.begin(Stage::Ceiling, settings.budget);
    let idle = Linear::idle(system);
    // Following all bases from all start states may take a quarter of the budget.
    let whole = (system.horizon() * starts.len()).max(1) as u64;
    let most = (settings.budget / 4 / whole).saturating_sub(policies.len() as u64 + 1).min(FEEDBACK as u64);
    let share = (FEEDBACK_SHARE * settings.budget as f64) as u64;
    let (feedback, mut spent) = feedback::find(&rolling, system, starts, most as usize, share);
    let mut bases: Vec<&dyn Policy> = policies.to_vec();
    bases.push(&idle);
    bases.extend(feedback.iter().map(|feedback| feedback as &dyn Policy));
    let rows: Vec<Vec<f32>> = (0..starts.len()).map(|index| feedback::row(starts, index)).collect();
    let scored: Vec<(Vec<f64>, u64)> = bases.par_iter().map(|base| rolling.returns_of(*base, &rows)).collect();
    spent += scored.iter().map(|(_, steps)| steps).sum::<u64>();
    let returns: Vec<Vec<f64>> = scored.into_iter().map(|(returns, _)| returns).collect();
    let planner = Planner::new(system, rolling, bases, &returns, settings.stride);
    let done = AtomicU64::new(spent);
    let tell = |plan: &Plan, used: u64| {
        let done = done.fetch_add(used, Ordering::Relaxed) + used;
        progress.update(Stage::Ceiling, done, Status::StartState(plan.index + 1));
    };
    let stopped = || {
        progress.end(Stage::Ceiling);
        Error::Stopped { stage: "ceiling" }
    };
    // One half is for different beginnings, the other for what came of them.
    let share = settings.budget.saturating_sub(spent) / (2 * rows.len().max(1)) as u64;
    let begun: Vec<(Plan, u64)> = (0..rows.len())
        .into_par_iter()
        .with_max_len(1)
        .map(|index| {
            let (plan, used) = planner.attempt(index, &rows[index], &returns, share, progress);
            tell(&plan, used);
            (plan, used)
        })
        .collect();
    spent += begun.iter().map(|(_, used)| used).sum::<u64>();
    let mut plans: Vec<Plan> = begun.into_iter().map(|(plan, _)| plan).collect();
    if progress.stop_requested() {
        return Err(stopped());
    }
    for _ in 0..ROUNDS {
        let open = plans.iter().filter(|plan| !plan.finished).count() as u64;
        let share = settings.budget.saturating_sub(spent) / open.max(1);
        if open == 0 || share < planner.least() {
            break;
        }
        let used: Vec<u64> = plans
            .par_iter_mut()
            .with_max_len(1)
            .map(|plan| {
                let mut left = share;
                while !plan.finished && left >= planner.least() && !progress.stop_requested() {
                    let used = planner.improve(plan, left);
                    left = left.saturating_sub(used);
                    tell(plan, used);
                }
                share - left
            })
            .collect();
        if progress.stop_requested() {
            return Err(stopped());
        }
        spent += used.iter().sum::<u64>();
    }
    progress.end(Stage::Ceiling);
    Ok(Plans { returns: plans.into_iter().map(|plan| plan.value).collect(), model_steps: spent })
}

/// The bases, those that do best on the whole first.
fn favourites(returns: &[Vec<f64>]) -> Vec<usize> {
    let sums: Vec<f64> = returns.iter().map(|of| of.iter().sum()).collect();
    let mut order: Vec<usize> = (0..returns.len()).collect();
    order.sort_by(|&a, &b| sums[b].total_cmp(&sums[a]));
    order
}

/// Searches plans.
struct Planner<'a> {
    rolling: Rolling<'a>,
    stride: usize,
    limits: Vec<[f32; 2]>,
    /// How wide the limits are: no deviation is larger.
    spans: Vec<f32>,
    bases: Vec<&'a dyn Policy>,
    /// The bases, the best on the whole first.
    favourites: Vec<usize>,
    seed: u64,
}

/// A plan, and how far it has been improved.
#[derive(Clone)]
struct Plan {
    /// Which of the start states.
    index: usize,
    /// Which of its plans.
    attempt: usize,
    start: Vec<f32>,
    /// The base of each step.
    bases: Vec<usize>,
    /// The deviations of each step, action by action.
    deviations: Vec<f32>,
    /// Its return.
    value: f64,
    /// Which pass of improvements it is in.
    pass: usize,
    /// Steps of it that have been carried out in this pass.
    step: usize,
    /// Where they led to, and what they earned.
    state: Vec<f32>,
    earned: f64,
    /// Whether nothing can make it better.
    finished: bool,
    /// Its return when the pass began, and how many passes have brought nothing.
    before: f64,
    stale: usize,
}

/// How much effort a pass takes.
struct Effort {
    particles: usize,
    iterations: usize,
    stride: usize,
}

impl<'a> Planner<'a> {
    fn new(
        system: &System,
        rolling: Rolling<'a>,
        bases: Vec<&'a dyn Policy>,
        returns: &[Vec<f64>],
        stride: usize,
    ) -> Self {
        Self {
            rolling,
            stride: stride.max(1),
            limits: system.actions().iter().map(|action| action.limits.map(|limit| limit as f32)).collect(),
            spans: system.actions().iter().map(|action| (action.limits[1] - action.limits[0]) as f32).collect(),
            favourites: favourites(returns),
            bases,
            seed: system.seed(),
        }
    }

    fn horizon(&self) -> usize {
        self.rolling.horizon()
    }

    /// Model steps below which nothing is begun: enough for the swarm of any pass to be scored once.
    fn least(&self) -> u64 {
        ((BLOCK + self.bases.len() + 2) * self.horizon()) as u64
    }

    /// The first passes are cheap, so that every start state has a plan before any has a good one.
    fn effort(&self, pass: usize) -> Effort {
        let coarse = |parts: usize| self.stride.max(self.horizon() / parts);
        match pass {
            0 => Effort { particles: 32, iterations: 10, stride: coarse(20) },
            1..FULL_EFFORT => Effort { particles: 48, iterations: 15, stride: coarse(50) },
            _ => Effort { particles: BLOCK, iterations: 30, stride: self.stride },
        }
    }

    /// A plan that follows a base.
    fn begin(&self, index: usize, start: &[f32], attempt: usize, base: usize, value: f64) -> Plan {
        Plan {
            index,
            attempt,
            start: start.to_vec(),
            bases: vec![base; self.horizon()],
            deviations: vec![0.0; self.horizon() * self.limits.len()],
            value,
            pass: 0,
            step: 0,
            state: start.to_vec(),
            earned: 0.0,
            finished: self.rolling.is_best(value, 0.0, 0),
            before: value,
            stale: 0,
        }
    }

    /// The best of several plans that begin from different bases, each after its first pass; and the model steps that
    /// they took, at most `allowance`.
    ///
    /// A plan is soon caught in the neighbourhood of how it began. So beginnings are many and cheap, and go on only
    /// if they are better than those before them.
    fn attempt(
        &self,
        index: usize,
        start: &[f32],
        returns: &[Vec<f64>],
        allowance: u64,
        progress: &Progress,
    ) -> (Plan, u64) {
        let own = |base: usize| returns[base][index];
        let better = |a: &usize, b: &usize| own(*a).total_cmp(&own(*b)).then(b.cmp(a));
        let first = (0..self.bases.len()).max_by(better).unwrap_or(0);
        let mut best = self.begin(index, start, 0, first, own(first));
        let (mut used, mut leader) = (0, f64::NEG_INFINITY);
        let mut order =
            std::iter::once(first).chain(self.favourites.iter().copied().cycle()).take(ATTEMPTS).enumerate();
        while let Some((attempt, base)) = order.next().filter(|_| !best.finished) {
            let mut plan = self.begin(index, start, attempt, base, own(base));
            loop {
                if used + self.least() > allowance || progress.stop_requested() {
                    return (best, used);
                }
                let begins = plan.step == 0;
                used += self.improve(&mut plan, allowance - used);
                if plan.value > best.value {
                    best = plan.clone();
                }
                let behind = begins && plan.value < leader;
                // Its beginning may have cost more than the best plan costs altogether.
                let lost = self.rolling.at_most(plan.earned, plan.step) <= best.value;
                if plan.pass > 0 || behind || lost {
                    break;
                }
                leader = leader.max(if begins { plan.value } else { leader });
            }
        }
        (best, used)
    }

    /// Improves the rest of a plan and carries its next steps out; the model steps that it took, at most `allowance`.
    fn improve(&self, plan: &mut Plan, allowance: u64) -> u64 {
        let effort = self.effort(plan.pass);
        // What carrying out will take is set aside.
        let allowance = allowance.saturating_sub(effort.stride as u64);
        let switched = self.switch(plan, allowance);
        let deviated = self.deviate(plan, &effort, allowance.saturating_sub(switched));
        switched + deviated + self.carry_out(plan, &effort)
    }

    /// The actions of lanes that follow bases and deviations, and deviate once more.
    fn act(&self, lanes: &mut Lanes, base: usize, planned: &[f32], more: impl Fn(usize, usize) -> f32) {
        self.bases[base].act(lanes, self.rolling.numerics);
        let live = lanes.live();
        for (action, &[low, high]) in self.limits.iter().enumerate() {
            let span = self.spans[action];
            let (planned, column) = (planned[action], &mut lanes.action_mut(action)[..live]);
            for (lane, to) in column.iter_mut().enumerate() {
                let by = deviation(planned, more(lane, action), span);
                // Where nothing is added the base acts as ever, to the last bit.
                if by != 0.0 {
                    *to = (*to + by).max(low).min(high);
                }
            }
        }
    }

    /// Follows every base from states along the rest of the plan, and goes on with it where that is best.
    fn switch(&self, plan: &mut Plan, allowance: u64) -> u64 {
        let (actions, rest) = (self.limits.len(), self.horizon() - plan.step);
        // Ever farther apart: what lies far ahead is looked at again when it is near.
        // At the very beginning every base has been followed already.
        let first = if plan.step == 0 { self.stride } else { plan.step };
        let (mut at, mut gap) = (vec![first], self.stride);
        while at.len() < SWITCHES && at.last().is_some_and(|last| last + gap < self.horizon()) {
            at.extend(at.last().map(|last| last + gap));
            gap += gap / 4;
        }
        let most = |count: usize| (rest * (1 + count * self.bases.len())) as u64;
        if most(at.len()) > allowance {
            at.truncate(1);
        }
        if most(at.len()) > allowance || first >= self.horizon() {
            return 0;
        }
        let mut states: Vec<(Vec<f32>, usize, f64)> = Vec::new();
        let (mut lanes, mut earned, mut used) = (self.lane(&plan.state), plan.earned, 0);
        for step in plan.step..=at.last().copied().unwrap_or(0) {
            if at.contains(&step) {
                let state = (0..plan.state.len()).map(|variable| lanes.state(variable)[0]).collect();
                states.push((state, step, earned));
            }
            self.act(&mut lanes, plan.bases[step], &plan.deviations[step * actions..], |_, _| 0.0);
            self.rolling.world.advance(&mut lanes, self.rolling.numerics);
            used += 1;
            earned += self.rolling.discounts[step] * f64::from(lanes.rewards()[0]);
            if lanes.absorbed()[0] != 0.0 {
                break;
            }
        }
        let from: Vec<Beginning<'_>> =
            states.iter().map(|(state, step, earned)| Beginning { state, step: *step, earned: *earned }).collect();
        let to_beat = vec![plan.value; from.len()];
        let mut best = (plan.value, 0, 0);
        for base in 0..self.bases.len() {
            let (returns, steps) = self.rolling.roll(&from, &to_beat, |lanes, _| {
                self.bases[base].act(lanes, self.rolling.numerics);
            });
            used += steps;
            for (value, (_, step, _)) in returns.iter().zip(&states) {
                if *value > best.0 {
                    best = (*value, base, *step);
                }
            }
        }
        if best.0 > plan.value {
            let (value, base, step) = best;
            plan.value = value;
            plan.bases[step..].fill(base);
            plan.deviations[step * actions..].fill(0.0);
        }
        used
    }

    /// Searches deviations from the rest of the plan.
    fn deviate(&self, plan: &mut Plan, effort: &Effort, allowance: u64) -> u64 {
        let (step, horizon, actions) = (plan.step, self.horizon(), self.limits.len());
        let most = (effort.particles * (horizon - step)) as u64;
        if most > allowance || self.rolling.is_best(plan.value, plan.earned, step) {
            return 0;
        }
        let ends = stretches(horizon - step, self.stride);
        let mut stretch_of = vec![0; horizon - step];
        for (offset, stretch) in stretch_of.iter_mut().enumerate() {
            *stretch = ends.partition_point(|end| *end <= offset);
        }
        // Stretch by stretch, the deviation of each action.
        let high: Vec<f64> = ends.iter().flat_map(|_| self.spans.iter().map(|span| f64::from(*span))).collect();
        let low: Vec<f64> = high.iter().map(|bound| -bound).collect();
        // Every swarm has numbers of its own.
        let which = (plan.pass << 16 | plan.attempt) as u32;
        let words = Stream::new(self.seed, Purpose::PlanMove).words(plan.index as u32, step as u32, which);
        let seed = u64::from(words[0]) << 32 | u64::from(words[1]);
        let stream = Stream::new(seed, Purpose::PlanStart);
        let positions: Vec<Vec<f64>> = (0..effort.particles)
            .map(|particle| {
                // The plan as it is, small changes of it, and large ones; of every other one, only in the near future.
                let size = if particle == 0 { 0.0 } else { [0.05, 0.3, 1.0][particle % 3] };
                let reach = match particle % 2 {
                    0 => ends.len(),
                    _ => 1 + (stream.uniform(1, particle as u32, 0) * ends.len() as f64) as usize,
                };
                (0..high.len())
                    .map(|dimension| match dimension / actions < reach {
                        true => {
                            size * stream.within(low[dimension], high[dimension], 0, particle as u32, dimension as u32)
                        }
                        false => 0.0,
                    })
                    .collect()
            })
            .collect();
        let ring = RingSettings {
            particles: effort.particles,
            ring: 2,
            inertia: 0.72981,
            cognitive: 1.49618,
            social: 1.49618,
            velocity_limit: 0.1,
        };
        let mut swarm = RingSwarm::at(ring, &low, &high, seed, positions);
        let mut used = 0;
        for _ in 0..=effort.iterations {
            if used + most > allowance {
                break;
            }
            swarm.ask();
            let to_beat = swarm.to_beat().to_vec();
            let positions = &swarm.state().positions;
            let from = vec![Beginning { state: &plan.state, step, earned: plan.earned }; positions.len()];
            let (returns, steps) = self.rolling.roll(&from, &to_beat, |lanes, rollouts| {
                let at = rollouts[0].step;
                let dimension = stretch_of[at - step] * actions;
                self.act(lanes, plan.bases[at], &plan.deviations[at * actions..], |lane, action| {
                    positions[rollouts[lane].candidate][dimension + action] as f32
                });
            });
            used += steps;
            swarm.tell(&returns);
        }
        let (best, value) = swarm.best();
        if value > plan.value {
            plan.value = value;
            for (offset, planned) in plan.deviations[step * actions..].iter_mut().enumerate() {
                let (stretch, action) = (stretch_of[offset / actions], offset % actions);
                *planned = deviation(*planned, best[stretch * actions + action] as f32, self.spans[action]);
            }
        }
        used
    }

    /// One lane in a state.
    fn lane(&self, state: &[f32]) -> Lanes {
        let mut lanes = Lanes::new(state.len(), self.limits.len(), 1);
        lanes.set_live(1);
        for (variable, &value) in state.iter().enumerate() {
            lanes.state_mut(variable)[0] = value;
        }
        lanes
    }

    /// Carries out the plan's next steps; from its end it goes back to its beginning, for the next pass.
    fn carry_out(&self, plan: &mut Plan, effort: &Effort) -> u64 {
        let (actions, mut lanes, mut used) = (self.limits.len(), self.lane(&plan.state), 0);
        let last = self.horizon().min(plan.step + effort.stride);
        let mut over = last == self.horizon();
        while plan.step < last && !over {
            self.act(&mut lanes, plan.bases[plan.step], &plan.deviations[plan.step * actions..], |_, _| 0.0);
            self.rolling.world.advance(&mut lanes, self.rolling.numerics);
            used += 1;
            plan.earned += self.rolling.discounts[plan.step] * f64::from(lanes.rewards()[0]);
            plan.step += 1;
            over |= lanes.absorbed()[0] != 0.0;
        }
        // What earns the most there is from now on cannot get better.
        if over || self.rolling.is_best(plan.value, plan.earned, plan.step) {
            let idle = plan.pass >= FULL_EFFORT && plan.value <= plan.before;
            plan.stale = if idle { plan.stale + 1 } else { 0 };
            plan.finished = self.rolling.is_best(plan.value, 0.0, 0) || plan.stale == PATIENCE;
            plan.before = plan.value;
            plan.pass += 1;
            plan.step = 0;
            plan.earned = 0.0;
            plan.state.clone_from(&plan.start);
        } else {
            for (variable, value) in plan.state.iter_mut().enumerate() {
                *value = lanes.state(variable)[0];
            }
        }
        used
    }
}

/// Two deviations together, within the span of an action.
fn deviation(planned: f32, more: f32, span: f32) -> f32 {
    (planned + more).max(-span).min(span)
}

/// Where stretches of equal deviation end: `fine` of a single step, then ever longer ones, up to `steps`.
fn stretches(steps: usize, fine: usize) -> Vec<usize> {
    let mut ends = Vec::new();
    let (mut end, mut length) = (0, 1.0);
    while end < steps {
        end = (end + length as usize).min(steps);
        ends.push(end);
        if ends.len() >= fine {
            length *= STRETCH;
        }
    }
    ends
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PolicySettings, RuleSpace};
    use fpsrl_base::progress::Progress;
    use fpsrl_data::Transitions;
    use fpsrl_data::plant::{PlantKind, PlantWorld};
    use fpsrl_data::system::{Surroundings, WrittenAction, WrittenState, WrittenSystem};
    use fpsrl_engine::policy::FuzzyKernel;
    use fpsrl_engine::simd::Mode;

    #[test]
    fn stretches_cover_the_horizon_and_grow() {
        let ends = stretches(200, 5);
        assert_eq!(ends[..5], [1, 2, 3, 4, 5]);
        assert_eq!(ends.last(), Some(&200));
        assert!(ends.windows(2).all(|pair| pair[1] > pair[0]) && ends.len() < 25, "{ends:?}");
        assert_eq!(stretches(1, 5), [1]);
        assert_eq!(stretches(3, 5), [1, 2, 3]);
    }

    fn planned(system: &System, world: &dyn World, rows: &[Vec<f64>], policies: &[&dyn Policy], budget: u64) -> Plans {
        let settings = PlanSettings { budget, ..PlanSettings::default() };
        let starts = StartStates::from_rows(rows);
        plan_returns(system, world, &starts, policies, settings, Numerics::detect(Mode::Fast), &Progress::silent())
            .unwrap()
    }

    fn mean(values: &[f64]) -> f64 {
        values.iter().sum::<f64>() / values.len() as f64
    }

    /// Pushes where it is going.
    struct Forwards;

    impl Policy for Forwards {
        fn act(&self, lanes: &mut Lanes, _: Numerics) {
            for lane in 0..lanes.live() {
                let velocity = lanes.state(1)[lane];
                lanes.action_mut(0)[lane] = if velocity >= 0.0 { 1.0 } else { -1.0 };
            }
        }
    }

    /// Does not know what it does.
    struct Broken;

    impl Policy for Broken {
        fn act(&self, lanes: &mut Lanes, _: Numerics) {
            lanes.action_mut(0).fill(f32::NAN);
        }
    }

    /// A car on its way up is quickest under full force; no plan is quicker, and a plan finds that.
    #[test]
    fn a_plan_drives_straight_up_where_that_is_best() {
        let system = System::benchmark("mountain-car").unwrap();
        let mut state = [0.1, 2.5];
        let mut steps = 0;
        while !PlantKind::MountainCar.step(&mut state, &[1.0]).absorbed {
            steps += 1;
            assert!(steps < 200);
        }
        let at_best: f64 = (0..steps).map(|step| -system.discount().powi(step)).sum();
        let world = PlantWorld::new(PlantKind::MountainCar);
        let plans = planned(&system, &world, &[vec![0.1, 2.5]], &[], 2_000_000);
        assert!((plans.returns[0] - at_best).abs() < 1e-3, "{plans:?} {at_best}");
    }

    /// To the last bit, and whatever else is in the pool or can be afforded.
    #[test]
    fn a_plan_is_never_worse_than_any_of_the_policies() {
        for (name, kind) in [
            ("mountain-car", PlantKind::MountainCar),
            ("cart-pole-balancing", PlantKind::CartPoleBalancing),
            ("cart-pole-swing-up", PlantKind::CartPoleSwingUp),
        ] {
            let system = System::benchmark(name).unwrap();
            let world = PlantWorld::new(kind);
            let policy = PolicySettings::for_plant(system.plant());
            let space = RuleSpace::new(&system, &policy, &Transitions::new(system.states().len(), 1));
            let stream = Stream::new(3, Purpose::SwarmStart);
            let random = |policy: u32| {
                let bounds = space.low().iter().zip(space.high()).enumerate();
                let position: Vec<f64> =
                    bounds.map(|(index, (low, high))| stream.within(*low, *high, 0, policy, index as u32)).collect();
                FuzzyKernel::new(&space.decode(&position))
            };
            let kernels: Vec<FuzzyKernel> = (0..3).map(random).collect();
            let mut policies: Vec<&dyn Policy> = vec![&Broken, &Forwards];
            policies.extend(kernels.iter().map(|kernel| kernel as &dyn Policy));
            let starts = system.evaluation_starts(6);
            let rows: Vec<Vec<f64>> = (0..starts.len()).map(|index| starts.row(index)).collect();
            for budget in [1_000, 300_000, 3_000_000] {
                let plans = planned(&system, &world, &rows, &policies, budget);
                for policy in &policies[1..] {
                    let own =
                        crate::returns::world_returns(&system, &world, *policy, &starts, Numerics::detect(Mode::Fast));
                    assert!(plans.returns.iter().zip(&own).all(|(plan, own)| plan >= own), "{name} {plans:?} {own:?}");
                }
            }
        }
    }

    #[test]
    fn the_budget_is_kept() {
        let system = System::benchmark("cart-pole-balancing").unwrap();
        let world = PlantWorld::new(PlantKind::CartPoleBalancing);
        let rows: Vec<Vec<f64>> = [0.3, -0.4, 0.1].iter().map(|angle| vec![*angle, 0.0, 0.4, 0.0]).collect();
        for budget in [2_000, 50_000, 400_000, 1_300_000, 4_000_000] {
            let plans = planned(&system, &world, &rows, &[&Forwards], budget);
            assert!(plans.model_steps <= budget, "{} of {budget}", plans.model_steps);
        }
    }

    /// A pole that stands can be kept standing, which no plan without feedback does.
    #[test]
    fn a_pole_that_stands_costs_nothing_though_no_policy_is_known() {
        let system = System::benchmark("cart-pole-swing-up").unwrap();
        let world = PlantWorld::new(PlantKind::CartPoleSwingUp);
        let rows: Vec<Vec<f64>> = [0.08, -0.2, 0.0].iter().map(|angle| vec![*angle, 0.0, 0.0, 0.0]).collect();
        let plans = planned(&system, &world, &rows, &[], 10_000_000);
        assert_eq!(plans.returns, [0.0; 3]);
        assert!(plans.model_steps < 3_000_000, "what is as good as can be needs no more: {plans:?}");
    }

    /// With plans of open sequences these came to -49.4 after 118 and -43.1 after 1,002 million steps.
    #[test]
    fn plans_swing_up_what_has_to_be_swung_up() {
        let of = |name: &str, kind: PlantKind, budget: u64| {
            let system = System::benchmark(name).unwrap();
            let starts = system.evaluation_starts(20);
            let rows: Vec<Vec<f64>> = (0..20).map(|index| starts.row(index)).collect();
            mean(&planned(&system, &PlantWorld::new(kind), &rows, &[], budget).returns)
        };
        let car = of("mountain-car", PlantKind::MountainCar, 5_000_000);
        assert!(car > -43.0, "{car}");
        let pole = of("cart-pole-swing-up", PlantKind::CartPoleSwingUp, 30_000_000);
        assert!(pole > -43.0, "{pole}");
    }

    #[test]
    fn plans_do_not_depend_on_the_number_of_threads() {
        let system = System::benchmark("mountain-car").unwrap();
        let world = PlantWorld::new(PlantKind::MountainCar);
        let rows: Vec<Vec<f64>> = [-1.1, -0.7, -0.2, 0.2, 0.4].iter().map(|&position| vec![position, 0.0]).collect();
        let with = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| planned(&system, &world, &rows, &[&Forwards], 3_000_000))
        };
        assert_eq!(with(1), with(3));
    }

    /// What is written down is what was scored: carried out from the beginning, it earns what it is said to, to the last bit.
    #[test]
    fn a_plan_that_is_carried_out_earns_its_return() {
        let system = System::benchmark("cart-pole-swing-up").unwrap();
        let (world, numerics) = (PlantWorld::new(PlantKind::CartPoleSwingUp), Numerics::detect(Mode::Fast));
        let rolling = Rolling::new(&world, &system, numerics);
        let start = vec![3.0f32, 0.0, 0.3, 0.0];
        let hold = Linear::idle(&system);
        let bases: Vec<&dyn Policy> = vec![&hold, &Forwards];
        let returns: Vec<Vec<f64>> =
            bases.iter().map(|base| rolling.returns_of(*base, std::slice::from_ref(&start)).0).collect();
        let planner = Planner::new(&system, rolling, bases, &returns, 5);
        let mut plan = planner.begin(0, &start, 0, 0, returns[0][0]);
        for _ in 0..12 {
            let before = plan.value;
            planner.improve(&mut plan, 10_000_000);
            assert!(plan.value >= before);
            let (mut lanes, mut earned) = (planner.lane(&start), 0.0);
            for step in 0..system.horizon() {
                planner.act(&mut lanes, plan.bases[step], &plan.deviations[step..], |_, _| 0.0);
                world.advance(&mut lanes, numerics);
                earned += planner.rolling.discounts[step] * f64::from(lanes.rewards()[0]);
            }
            assert_eq!(earned, plan.value);
        }
        assert!(plan.value > returns[0][0] && plan.deviations.iter().any(|deviation| *deviation != 0.0));
    }

    /// Two integrators with two actions, of which one moves slowly: the world applies what it can of it.
    struct Slow;

    impl World for Slow {
        fn state_count(&self) -> usize {
            3
        }

        fn action_count(&self) -> usize {
            2
        }

        fn advance(&self, lanes: &mut Lanes, _: Numerics) {
            let columns = lanes.columns();
            let stride = columns.stride;
            for lane in 0..columns.live {
                let last = columns.states[2 * stride + lane];
                let slow = columns.actions[stride + lane].clamp(last - 0.1, last + 0.1);
                columns.actions[stride + lane] = slow;
                columns.states[lane] += 0.1 * columns.actions[lane];
                columns.states[stride + lane] += 0.1 * slow;
                columns.states[2 * stride + lane] = slow;
                let (x, y) = (columns.states[lane] - 1.0, columns.states[stride + lane] + 0.5);
                columns.rewards[lane] = -x * x - y * y;
                columns.absorbed[lane] = 0.0;
                columns.later_rewards[lane] = f32::NAN;
            }
        }

        fn largest_reward(&self) -> f64 {
            0.0
        }
    }

    #[test]
    fn several_actions_of_which_one_moves_slowly_are_planned() {
        let state =
            |name: &str| WrittenState { name: name.into(), start: Some([-1.2, 0.6]), ..WrittenState::default() };
        let action =
            |name: &str, limits| WrittenAction { name: name.into(), limits: Some(limits), ..WrittenAction::default() };
        let written = WrittenSystem {
            name: Some("slow".into()),
            horizon: Some(60),
            states: ["x", "y", "last"].map(state).into(),
            actions: vec![action("quickly", [-1.0, 1.0]), action("slowly", [-0.5, 1.5])],
            ..WrittenSystem::default()
        };
        let system = written.check(&Surroundings::default()).unwrap();
        let plans = planned(&system, &Slow, &[vec![0.0, 0.0, 0.0]], &[], 3_000_000);
        // x is at its goal after ten steps of full force, Σ (0.1 k)² for k from 1 to 9 without discount; y, which may
        // first speed up and must then slow down, needs a little longer for a shorter way.
        let x_alone: f64 = (1..10).map(|k| (0.1 * f64::from(k)).powi(2) * system.discount().powi(9 - k)).sum();
        assert!(plans.returns[0] < -x_alone && plans.returns[0] > -x_alone - 2.0, "{plans:?} {x_alone}");
    }
}
