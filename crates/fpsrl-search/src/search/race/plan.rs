//! How a race is run: how many tries there are, how long each phase takes, and on what it is scored. The figures were
//! found by measurement; `docs/decisions/search.md` has it.

use std::time::{Duration, Instant};

use crate::RuleSpace;
use crate::optimiser::Scope;
use crate::search::{Evaluator, Trial};
use crate::{Effort, SearchSettings};
use fpsrl_base::error::Result;
use fpsrl_base::random::{Purpose, Stream};
use fpsrl_data::System;
use fpsrl_data::system::FAR;

/// Tries of a race at most, whatever the budget.
pub(super) const MOST_TRIES: usize = 10_000;

/// Tries that begin together.
pub(super) const WAVE: usize = 8;

/// Start states of the exploration and of the first way down a valley: both fill the lanes of one member.
pub(super) const EXPLORED: usize = 12;
pub(super) const SPRINTED: usize = 48;

/// Start states of the second way down, for each member.
pub(super) const CLIMBED: usize = 24;

/// Evaluations for each parameter: of an exploration, of the first way down, of the second and of the last.
pub(super) const EXPLORATION: usize = 500;
pub(super) const SPRINT: usize = 100;
pub(super) const CLIMB: usize = 150;
pub(super) const FINISH: usize = 250;

/// The share of the horizon that hasty tries see, and the steps that they see at least. What is done soon tells most of what
/// will be done, costs a fraction, and what is fast does better in it.
const HASTE: f64 = 0.3;
const FEWEST_STEPS: usize = 10;

/// Generations without a gain after which an exploration ends.
pub(super) const STALLED: u32 = 40;

/// The first steps of CMA-ES, as shares of the ranges.
pub(super) const SPRINT_STEP: f64 = 0.05;
pub(super) const CLIMB_STEP: f64 = 0.03;
pub(super) const FINISH_STEP: f64 = 0.02;

/// Start states that tries meet on, and how far along the sequence of start states they lie: nothing is searched there.
pub(super) const MEETING: usize = 200;
pub(super) const MEETING_PLACE: usize = FAR;
pub(super) const FEWEST_TO_MEET: usize = 20;
pub(super) const LAST_MEETING: usize = 400;
pub(super) const LAST_MEETING_PLACE: usize = 2 * FAR;

/// Where tries meet, and from how many start states they are scored there.
pub(in crate::search) const MEETING_PLACE_AND_SIZE: (usize, usize) = (MEETING_PLACE, MEETING);

/// Tries agree if half of them, and no fewer than three, lie within this share of the way from a random policy to the best.
pub(super) const AGREEMENT: f64 = 0.01;
pub(super) const AGREEING: usize = 3;

/// The search return may exceed that from other start states by this share of the way; beyond it, more start states are
/// searched on, at most so often.
pub(super) const GAP: f64 = 0.005;
pub(super) const MOST_DOUBLINGS: u32 = 2;

/// The share of a budget that is for tries and their first ways down; a race without a budget spends about as much on them.
const SHARE_OF_TRIES: f64 = 0.55;

/// A polish ends when it gains less than this share of the way over the generations that a covariance takes.
pub(super) const NO_GAIN: f64 = 5e-5;

/// How a race is run: all of it follows from the problem.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Plan {
    /// Tries at most.
    pub(super) tries: usize,
    /// Tries that go the second way down, and the last.
    pub(super) climbers: usize,
    pub(super) finishers: usize,
    pub(super) members: usize,
    /// Start states of the last way down.
    pub(super) starts: usize,
    pub(super) horizon: usize,
    pub(super) dimensions: usize,
    pub(super) seed: u64,
    /// Whether a set-point is to be followed: what is left of the error is then the measure of gains, not how badly random rules do.
    pub(super) tracks: bool,
    /// The share of the usual evaluations that each phase makes: below 1 where a budget is too small for a single try.
    pub(super) pace: f64,
    /// The share of the usual evaluations of the second and the last way down: below 1 where they would leave too little of a
    /// budget to the tries.
    pub(super) stamina: f64,
}

impl Plan {
    pub(super) fn new(system: &System, settings: &SearchSettings, space: &RuleSpace, members: usize) -> Self {
        let plan = Self {
            tries: match settings.effort {
                Effort::Quick => 2 * WAVE,
                Effort::Normal => 16 * WAVE,
                Effort::Thorough => 64 * WAVE,
            },
            climbers: 0,
            finishers: 0,
            members: members.max(1),
            starts: settings.start_states,
            horizon: system.horizon(),
            dimensions: space.low().len(),
            seed: system.seed(),
            tracks: system.states().iter().any(|state| state.tracks.is_some()),
            pace: 1.0,
            stamina: 1.0,
        };
        // A time has been translated by whoever knows the machine.
        if let Some(budget) = settings.budget.and_then(|budget| budget.steps()) {
            return plan.within(budget);
        }
        plan.with_tries(plan.tries)
    }

    /// As many tries as a part of a budget has room for; the ways down have the rest.
    fn within(self, budget: u64) -> Self {
        let for_tries = (SHARE_OF_TRIES * budget as f64) as u64;
        let fits = |tries: &usize| self.with_tries(*tries).steps_of_tries() <= for_tries;
        let tries = (1..=MOST_TRIES).take_while(fits).last().unwrap_or(1);
        let mut plan = self.with_tries(tries);
        plan.pace = (for_tries as f64 / plan.steps_of_tries() as f64).min(1.0);
        let rest = budget.saturating_sub(plan.steps_of_tries() + plan.steps_of_meetings()) as f64;
        plan.stamina = (rest / plan.steps_down() as f64).min(1.0);
        plan
    }

    fn with_tries(&self, tries: usize) -> Self {
        Self { tries, climbers: climbers(tries), finishers: finishers(tries), ..self.clone() }
    }

    /// Evaluations of a phase that usually makes so many for each parameter.
    pub(super) fn evaluations(&self, each: usize) -> usize {
        ((each * self.dimensions) as f64 * self.pace).ceil() as usize
    }

    /// Evaluations of the second or the last way down that usually makes so many for each parameter.
    pub(super) fn evaluations_down(&self, each: usize) -> usize {
        (((each * self.dimensions) as f64 * self.pace * self.stamina) as usize).max(1)
    }

    /// Start states of a meeting that usually has so many.
    pub(super) fn meeting(&self, starts: usize) -> usize {
        ((starts as f64 * self.pace).ceil() as usize).max(FEWEST_TO_MEET.min(starts))
    }

    /// Steps that the whole race takes at most, if nothing is pruned and start states are not doubled.
    pub(super) fn steps(&self) -> u64 {
        self.steps_of_tries() + self.steps_down() + self.steps_of_meetings()
    }

    /// Hasty tries and others of each wave, with the steps of their rollouts.
    fn waves(&self) -> impl Iterator<Item = (usize, usize)> {
        (0..self.tries).step_by(WAVE).flat_map(|first| {
            let wave = first..self.tries.min(first + WAVE);
            let hasty = wave.clone().filter(|&explorer| is_hasty(explorer)).count();
            [(hasty, self.hasty_steps()), (wave.len() - hasty, self.horizon)]
        })
    }

    /// Steps of explorations and first ways down.
    fn steps_of_tries(&self) -> u64 {
        let part = |tries: usize, each: usize, starts: usize| (tries * self.evaluations(each) * starts) as u64;
        let both = |(tries, steps): (usize, usize)| {
            steps as u64 * (part(tries, EXPLORATION, EXPLORED) + part(sprinters(tries), SPRINT, SPRINTED))
        };
        self.waves().map(both).sum()
    }

    /// Steps of the second and the last way down.
    fn steps_down(&self) -> u64 {
        let part = |tries: usize, each: usize, starts: usize| (tries * self.evaluations_down(each) * starts) as u64;
        let both = part(self.climbers, CLIMB, CLIMBED * self.members) + part(self.finishers, FINISH, self.starts);
        both * self.horizon as u64
    }

    /// Steps where tries meet: they bring what they found last and what was best before.
    fn steps_of_meetings(&self) -> u64 {
        let met: usize = self.waves().map(|(tries, _)| sprinters(tries)).sum();
        let scored = (met + 2 * self.climbers) * self.meeting(MEETING) + 2 * met * self.meeting(LAST_MEETING);
        (scored * self.horizon) as u64
    }

    /// Steps of the rollouts of hasty tries.
    pub(super) fn hasty_steps(&self) -> usize {
        ((HASTE * self.horizon as f64).ceil() as usize).max(FEWEST_STEPS).min(self.horizon)
    }
}

/// Tries that go the second way down, at least.
pub(super) const FEWEST_CLIMBERS: usize = 3;

/// Whether a try, counted among those that explore, sees only the beginning of the horizon: every other one of the first wave,
/// and all but one of every later wave.
pub(super) fn is_hasty(explorer: usize) -> bool {
    if explorer < WAVE { explorer % 2 == 1 } else { !explorer.is_multiple_of(WAVE) }
}

/// How many of so many tries go the second way down, and the last.
pub(super) fn climbers(tries: usize) -> usize {
    tries.div_ceil(12).max(FEWEST_CLIMBERS).min(tries)
}

pub(super) fn finishers(tries: usize) -> usize {
    tries.div_ceil(32)
}

/// How many of so many tries go down their valleys at all: how far an exploration came says little about where its valley
/// leads, so most of them do.
pub(super) fn sprinters(tries: usize) -> usize {
    (2 * tries).div_ceil(3)
}

/// What is scored on the second way down: a few start states for each member.
pub(in crate::search) fn climbing(members: usize, most: usize) -> Scope {
    Scope::Part { first: 0, starts: (CLIMBED * members).min(most).max(1), member: None, steps: None }
}

/// How many model steps a race asks of an evaluator in a second, as far as half a second tells: what random policies take,
/// none of them given up, and what giving up usually saves. `together` positions are scored at a time.
pub fn steps_a_second(
    system: &System,
    settings: &SearchSettings,
    space: &RuleSpace,
    evaluator: &dyn Evaluator,
    together: usize,
) -> Result<f64> {
    const SAVED_BY_PRUNING: f64 = 1.4;
    const LONG_ENOUGH: Duration = Duration::from_millis(500);
    let stream = Stream::new(system.seed(), Purpose::Race);
    let starts = EXPLORED.min(settings.start_states);
    let scope = Scope::Part { first: 0, starts, member: Some(0), steps: None };
    let (began, mut steps, mut round) = (Instant::now(), 0u64, 0u32);
    while began.elapsed() < LONG_ENOUGH {
        round += 1;
        let random = |at: u32| -> Vec<f64> {
            let bounds = space.low().iter().zip(space.high()).enumerate();
            bounds.map(|(index, (&low, &high))| stream.within(low, high, round, 1 + at, index as u32)).collect()
        };
        let positions: Vec<Vec<f64>> = (0..together as u32).map(random).collect();
        let trials: Vec<Trial<'_>> =
            positions.iter().map(|position| Trial { position, to_beat: f64::NEG_INFINITY, scope }).collect();
        steps += evaluator.score(&trials)?.iter().map(|score| score.model_steps).sum::<u64>();
    }
    Ok(SAVED_BY_PRUNING * steps as f64 / began.elapsed().as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Budget, PolicySettings};
    use fpsrl_data::Transitions;

    #[test]
    fn a_budget_is_kept_and_a_small_one_still_has_several_tries() {
        let system = System::benchmark("cart-pole-swing-up").unwrap();
        let policy = PolicySettings::for_plant(system.plant());
        let space = RuleSpace::new(&system, &policy, &Transitions::new(4, 1)).on_slopes();
        let settings = SearchSettings::for_plant(system.plant());
        let within = |budget: u64| {
            let settings = SearchSettings { budget: Some(Budget::Steps(budget * 1_000_000)), ..settings.clone() };
            Plan::new(&system, &settings, &space, 5)
        };
        let whole = Plan::new(&system, &settings, &space, 5);
        let share = whole.steps_of_tries() as f64 / whole.steps() as f64;
        assert!((share - SHARE_OF_TRIES).abs() < 0.05, "{share}");
        let mut fewer = usize::MAX;
        for budget in [20_000, 6_000, 600, 150] {
            let plan = within(budget);
            assert!(plan.steps() <= budget * 1_000_000 && plan.steps() > budget * 700_000, "{budget}: {plan:?}");
            assert!(plan.tries < fewer, "{budget}: {plan:?}");
            fewer = plan.tries;
        }
        assert!(within(600).tries >= 4);
    }
}
