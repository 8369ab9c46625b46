//! PSO-P: plans by particle swarm on a world (Hein, Hentschel, Runkler, Udluft 2016), the ceiling of what policies reach.
//!
//! From each start state a sequence of actions is optimised by itself. No rule has to explain it, so its return is one
//! that a policy can hardly exceed on the same world: section 4 of the paper takes it as the measure of how much
//! is left to gain.
//!
//! A swarm cannot move hundreds of actions at once, and long open sequences on an unstable plant are fragile. So the plan is
//! improved step by step, as a controller that plans anew at each moment would: the swarm searches deviations from the
//! plan so far, single actions in the near future, ever longer stretches of equal deviation behind them, always scored
//! to the end of the horizon. Then the beginning of the plan is carried out, and the rest is improved in the same way.
//! No deviation at all is one of the candidates: a plan never gets worse.

use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Result};
use crate::optimiser::{Optimiser, RingSettings, RingSwarm};
use crate::policy::Policy;
use crate::problem::Problem;
use crate::progress::{Progress, Stage};
use crate::random::{Purpose, Stream};
use crate::rollout::{Lanes, StartStates};
use crate::simd::Numerics;
use crate::world::World;

/// How much longer each stretch of equal deviation is than the one before.
const STRETCH: f64 = 1.3;

/// How plans are searched.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlanSettings {
    /// Particles of each swarm.
    pub particles: usize,
    /// Iterations of each swarm.
    pub iterations: usize,
    /// Steps that are carried out before the rest is planned anew.
    pub stride: usize,
}

impl Default for PlanSettings {
    fn default() -> Self {
        Self { particles: 64, iterations: 30, stride: 5 }
    }
}

/// The return of the best plan found from each start state.
///
/// With a `policy`, plans begin from what it does; without one, from the middle of each action's limits.
///
/// ```
/// use fpsrl::baseline::pso_p::{PlanSettings, plan_returns};
/// use fpsrl::{plant::{PlantKind, PlantWorld}, problem::Problem, progress::Silent, rollout::StartStates};
/// use fpsrl::simd::{Mode, Numerics};
/// let problem = Problem::benchmark("mountain-car")?;
/// let world = PlantWorld::new(PlantKind::MountainCar);
/// let starts = StartStates::from_rows(&[vec![0.3, 0.0]]);
/// let settings = PlanSettings { particles: 32, iterations: 10, stride: 20 };
/// let returns = plan_returns(&problem, &world, &starts, None, settings, Numerics::detect(Mode::Fast), &Silent)?;
/// assert!(returns[0] > -60.0);
/// # Ok::<(), fpsrl::Error>(())
/// ```
pub fn plan_returns(
    problem: &Problem,
    world: &dyn World,
    starts: &StartStates,
    policy: Option<&dyn Policy>,
    settings: PlanSettings,
    numerics: Numerics,
    progress: &dyn Progress,
) -> Result<Vec<f64>> {
    let discount = problem.discount();
    let planner = Planner {
        world,
        numerics,
        settings,
        limits: problem.actions.iter().map(|action| action.limits.map(|limit| limit as f32)).collect(),
        discounts: (0..problem.horizon).map(|step| discount.powi(step as i32)).collect(),
        seed: problem.seed,
    };
    let steps = problem.horizon.div_ceil(settings.stride) as u64;
    let done = AtomicU64::new(0);
    progress.begin(Stage::Ceiling, steps * starts.len() as u64);
    let returns: Vec<Option<f64>> = (0..starts.len())
        .into_par_iter()
        .with_max_len(1)
        .map(|index| {
            let mut plan = planner.begin(&starts.row(index), policy);
            for step in (0..problem.horizon).step_by(settings.stride) {
                if progress.stop_requested() {
                    return None;
                }
                if !plan.absorbed {
                    planner.improve(&mut plan, step, index as u32);
                }
                let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                progress.update(Stage::Ceiling, done, &format_args!("start state {}", index + 1));
            }
            Some(plan.earned)
        })
        .collect();
    progress.end(Stage::Ceiling);
    returns.into_iter().collect::<Option<Vec<f64>>>().ok_or(Error::Stopped { stage: "ceiling" })
}

struct Planner<'a> {
    world: &'a dyn World,
    numerics: Numerics,
    settings: PlanSettings,
    limits: Vec<[f32; 2]>,
    /// γᵏ
    discounts: Vec<f64>,
    seed: u64,
}

/// A plan that is partly carried out.
struct Plan {
    /// Where the plant stands.
    state: Vec<f32>,
    /// `actions[action][step]`, from the beginning.
    actions: Vec<Vec<f32>>,
    /// The discounted rewards of what has been carried out.
    earned: f64,
    /// Whether nothing changes any more; what is still to come has been earned already.
    absorbed: bool,
}

impl Planner<'_> {
    fn horizon(&self) -> usize {
        self.discounts.len()
    }

    /// Σ γᵏ from a step to the end.
    fn tail(&self, step: usize) -> f64 {
        self.discounts[step.min(self.horizon())..].iter().sum()
    }

    /// A plan of which nothing is carried out yet.
    fn begin(&self, start: &[f64], policy: Option<&dyn Policy>) -> Plan {
        let state: Vec<f32> = start.iter().map(|&value| value as f32).collect();
        let mut actions: Vec<Vec<f32>> =
            self.limits.iter().map(|[low, high]| vec![0.5 * (low + high); self.horizon()]).collect();
        if let Some(policy) = policy {
            let mut lanes = self.lanes(&state, 1);
            for step in 0..self.horizon() {
                policy.act(&mut lanes, self.numerics);
                for (action, planned) in actions.iter_mut().enumerate() {
                    planned[step] = lanes.action(action)[0];
                }
                self.world.advance(&mut lanes, self.numerics);
            }
        }
        Plan { state, actions, earned: 0.0, absorbed: false }
    }

    /// So many lanes in one state.
    fn lanes(&self, state: &[f32], count: usize) -> Lanes {
        let mut lanes = Lanes::new(state.len(), self.limits.len(), count);
        lanes.set_live(count);
        for (variable, &value) in state.iter().enumerate() {
            lanes.state_mut(variable)[..count].fill(value);
        }
        lanes
    }

    /// Searches a better rest of the plan from `step` on, and carries the next steps out.
    fn improve(&self, plan: &mut Plan, step: usize, index: u32) {
        let ends = stretches(self.horizon() - step, self.settings.stride);
        let actions = self.limits.len();
        let span: Vec<f64> = self.limits.iter().map(|[low, high]| f64::from(high - low)).collect();
        // Stretch by stretch, the deviation of each action.
        let high: Vec<f64> = ends.iter().flat_map(|_| span.iter().copied()).collect();
        let low: Vec<f64> = high.iter().map(|bound| -bound).collect();
        let stream = Stream::new(self.seed, Purpose::PlanStart);
        let positions: Vec<Vec<f64>> = (0..self.settings.particles)
            .map(|particle| {
                // The plan as it is, small changes of it, and large ones.
                let size = [0.0, 0.05, 0.3, 1.0][if particle == 0 { 0 } else { 1 + particle % 3 }];
                let cell = index.wrapping_mul(1 << 12) + step as u32;
                (0..high.len())
                    .map(|dimension| {
                        size * stream.within(low[dimension], high[dimension], cell, particle as u32, dimension as u32)
                    })
                    .collect()
            })
            .collect();
        let ring = RingSettings {
            particles: self.settings.particles,
            ring: 2,
            inertia: 0.72981,
            cognitive: 1.49618,
            social: 1.49618,
            velocity_limit: 0.1,
        };
        // Every swarm moves by numbers of its own.
        let words = Stream::new(self.seed, Purpose::PlanMove).words(index, step as u32, 0);
        let seed = u64::from(words[0]) << 32 | u64::from(words[1]);
        let mut swarm = RingSwarm::at(ring, &low, &high, seed, positions);
        for _ in 0..=self.settings.iterations {
            let fitness = self.returns(plan, step, &ends, swarm.ask());
            swarm.tell(&fitness);
        }
        let (best, _) = swarm.best();
        for (action, planned) in plan.actions.iter_mut().enumerate() {
            let mut stretch = 0;
            for (offset, planned) in planned[step..].iter_mut().enumerate() {
                stretch += usize::from(offset == ends[stretch]);
                let [low, high] = self.limits[action];
                *planned = (*planned + best[stretch * actions + action] as f32).clamp(low, high);
            }
        }
        self.carry_out(plan, step);
    }

    /// The discounted rewards from `step` to the end, for each deviation from the plan.
    fn returns(&self, plan: &Plan, step: usize, ends: &[usize], deviations: &[Vec<f64>]) -> Vec<f64> {
        let count = deviations.len();
        let mut lanes = self.lanes(&plan.state, count);
        let mut sums = vec![0.0; count];
        let mut absorbed = vec![false; count];
        let actions = self.limits.len();
        let mut deviation: Vec<f32> = vec![0.0; count * actions];
        let mut stretch = usize::MAX;
        for (offset, &discount) in self.discounts[step..].iter().enumerate() {
            let next = if stretch == usize::MAX { 0 } else { stretch + usize::from(offset == ends[stretch]) };
            if next != stretch {
                stretch = next;
                for (lane, position) in deviations.iter().enumerate() {
                    for action in 0..actions {
                        deviation[action * count + lane] = position[stretch * actions + action] as f32;
                    }
                }
            }
            for (action, &[low, high]) in self.limits.iter().enumerate() {
                let planned = plan.actions[action][step + offset];
                let column = &mut lanes.action_mut(action)[..count];
                for (to, by) in column.iter_mut().zip(&deviation[action * count..]) {
                    *to = (planned + by).clamp(low, high);
                }
            }
            self.world.advance(&mut lanes, self.numerics);
            for (lane, sum) in sums.iter_mut().enumerate() {
                if absorbed[lane] {
                    continue;
                }
                *sum += discount * f64::from(lanes.rewards()[lane]);
                if lanes.absorbed()[lane] != 0.0 {
                    absorbed[lane] = true;
                    *sum += self.tail(step + offset + 1) * f64::from(lanes.later_rewards()[lane]);
                }
            }
        }
        sums
    }

    /// Carries out the plan's next steps.
    fn carry_out(&self, plan: &mut Plan, step: usize) {
        let mut lanes = self.lanes(&plan.state, 1);
        for at in step..self.horizon().min(step + self.settings.stride) {
            for (action, planned) in plan.actions.iter().enumerate() {
                lanes.action_mut(action)[0] = planned[at];
            }
            self.world.advance(&mut lanes, self.numerics);
            plan.earned += self.discounts[at] * f64::from(lanes.rewards()[0]);
            if lanes.absorbed()[0] != 0.0 {
                plan.absorbed = true;
                plan.earned += self.tail(at + 1) * f64::from(lanes.later_rewards()[0]);
                return;
            }
        }
        for (variable, value) in plan.state.iter_mut().enumerate() {
            *value = lanes.state(variable)[0];
        }
    }
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
    use crate::plant::{PlantKind, PlantWorld};
    use crate::progress::Silent;
    use crate::simd::Mode;

    #[test]
    fn stretches_cover_the_horizon_and_grow() {
        let ends = stretches(200, 5);
        assert_eq!(ends[..5], [1, 2, 3, 4, 5]);
        assert_eq!(ends.last(), Some(&200));
        assert!(ends.windows(2).all(|pair| pair[1] > pair[0]) && ends.len() < 25, "{ends:?}");
        assert_eq!(stretches(1, 5), [1]);
        assert_eq!(stretches(3, 5), [1, 2, 3]);
    }

    fn plans(problem: &Problem, kind: PlantKind, starts: &[Vec<f64>], policy: Option<&dyn Policy>) -> Vec<f64> {
        let world = PlantWorld::new(kind);
        let numerics = Numerics::detect(Mode::Fast);
        let starts = StartStates::from_rows(starts);
        plan_returns(problem, &world, &starts, policy, PlanSettings::default(), numerics, &Silent).unwrap()
    }

    /// A car on its way up is quickest under full force; no plan is quicker, and a plan finds that.
    #[test]
    fn a_plan_drives_straight_up_where_that_is_best() {
        let problem = Problem::benchmark("mountain-car").unwrap();
        let mut state = [0.1, 2.5];
        let mut steps = 0;
        while !PlantKind::MountainCar.step(&mut state, &[1.0]).absorbed {
            steps += 1;
            assert!(steps < 200);
        }
        let at_best: f64 = (0..steps).map(|step| -problem.discount().powi(step)).sum();
        let planned = plans(&problem, PlantKind::MountainCar, &[vec![0.1, 2.5]], None);
        assert!((planned[0] - at_best).abs() < 1e-3, "{planned:?} {at_best}");
    }

    #[test]
    fn a_plan_is_never_worse_than_the_policy_it_begins_from() {
        struct Forwards;
        impl Policy for Forwards {
            fn act(&self, lanes: &mut Lanes, _: Numerics) {
                for lane in 0..lanes.live() {
                    let velocity = lanes.state(1)[lane];
                    lanes.action_mut(0)[lane] = if velocity >= 0.0 { 1.0 } else { -1.0 };
                }
            }
        }
        let problem = Problem::benchmark("mountain-car").unwrap();
        let rows: Vec<Vec<f64>> = [-1.1, -0.7, -0.2, 0.2].iter().map(|&position| vec![position, 0.0]).collect();
        let world = PlantWorld::new(PlantKind::MountainCar);
        let numerics = Numerics::detect(Mode::Fast);
        let fitness = crate::rollout::FitnessFunction::new(
            &world,
            &StartStates::from_rows(&rows),
            problem.horizon,
            problem.discount(),
            numerics,
        );
        let mut workspace = fitness.workspace();
        let own = fitness.returns(&Forwards, &mut workspace);
        for (planned, own) in plans(&problem, PlantKind::MountainCar, &rows, Some(&Forwards)).iter().zip(own) {
            assert!(planned >= &(own - 1e-6), "{planned} {own}");
        }
    }
}
