//! The race: many short tries of which few go on. What `auto` searches with.
//!
//! The fitness of rules has many basins, each a narrow, curved valley, and which of them a try falls into decides how far
//! it comes. So the work goes into many tries: each explores by differential evolution on few start states of one member
//! of the ensemble, most of them with a look at the beginning of the horizon only; most of
//! them go a little way down their valley by CMA-ES; the best few of all go on, to the horizon, on more start
//! states and all members; the last one to the end. Tries meet on start states that none of them was searched on: there
//! it is decided who goes on. When tries that know nothing of each other come to the same, no more are begun; so an easy
//! problem costs little. `docs/decisions/search.md` has what was measured.
//!
//! The race is itself an optimiser: all tries under way are asked together, so that all cores have work throughout, and
//! its state is theirs. How long it takes is counted in evaluations, so that neither the clock nor pruning changes what it
//! finds.

mod plan;

use serde::{Deserialize, Serialize};

use crate::RuleSpace;
use crate::SearchSettings;
use crate::optimiser::{CmaEs, CmaSettings, CmaState, Optimiser, Scope, Shade, ShadeSettings, ShadeState};
use fpsrl_base::random::{Purpose, Stream};
use fpsrl_data::System;
use plan::*;

pub use plan::steps_a_second;
pub(super) use plan::{MEETING_PLACE_AND_SIZE, climbing};

/// How a race went.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RaceFigures {
    /// Tries that were begun.
    pub tries: usize,
    /// Start states that the last way down was searched on.
    pub start_states: usize,
    /// The search return less that from start states that were not searched on: how far the rules fit their own start
    /// states; null if one of them is not known.
    pub gap: Option<f64>,
    /// The model steps that the race could take at most, before pruning; a budget in time was translated into them.
    pub planned_steps: u64,
}

/// Where a race stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Phase {
    /// A wave of tries looks for basins.
    Explore,
    /// The better ones of the wave go a little way down.
    Sprint,
    /// The tries so far meet.
    Meet,
    /// The best of all go on.
    Climb,
    /// They meet again.
    MeetAgain,
    /// The last ones go to the end.
    Finish,
    /// All meet for the last time.
    MeetLast,
    /// The winner is scored on the start states that it was searched on, to know the gap.
    Settle,
    /// It is over.
    Over,
}

/// A try.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Try {
    /// Its own seed.
    seed: u64,
    /// The member that it explores.
    member: usize,
    /// Whether it explores and goes its first way down with a look at the beginning of the horizon only.
    hasty: bool,
    /// What it searches with; none while it waits.
    engine: Option<EngineState>,
    /// Whether it explores or has explored, or came with rules of its own.
    begun: bool,
    /// The best position so far.
    position: Vec<f64>,
    /// Its fitness where it was searched; null before it was, or if it is not a finite number.
    fitness: Option<f64>,
    /// The best position where tries met; empty before it was there.
    met: Vec<f64>,
    /// Its fitness there.
    score: Option<f64>,
}

/// What a try searches with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum EngineState {
    Shade(ShadeState),
    CmaEs(CmaState),
}

/// All that moves in a race.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RaceState {
    phase: Phase,
    /// The tries that have begun; rules to begin with are a try of their own, which explores nothing.
    tries: Vec<Try>,
    /// Those that are at work or meet.
    active: Vec<usize>,
    /// What a random policy earns: the median of all first positions.
    random: Vec<f64>,
    /// How often the start states of the last way down have been doubled.
    doublings: u32,
    /// Steps that have been asked for, if nothing is pruned.
    asked_steps: u64,
    /// How far the best try's search return lies above that from other start states, at the end.
    gap: Option<f64>,
}

enum Engine {
    Shade(Box<Shade>),
    CmaEs(Box<CmaEs>),
}

/// A race of tries.
pub struct Race {
    plan: Plan,
    low: Vec<f64>,
    high: Vec<f64>,
    state: RaceState,
    /// What the active tries search with, in their order; none where they only meet.
    engines: Vec<Option<Engine>>,
    /// What was asked for: positions, what they have to beat, and whose they are.
    asked: Vec<Vec<f64>>,
    to_beat: Vec<f64>,
    owners: Vec<usize>,
}

impl Race {
    /// A race at its beginning.
    pub fn new(system: &System, settings: &SearchSettings, space: &RuleSpace, members: usize) -> Self {
        let mut race = Self {
            plan: Plan::new(system, settings, space, members),
            low: space.low().to_vec(),
            high: space.high().to_vec(),
            state: RaceState {
                phase: Phase::Explore,
                tries: Vec::new(),
                active: Vec::new(),
                random: Vec::new(),
                doublings: 0,
                asked_steps: 0,
                gap: None,
            },
            engines: Vec::new(),
            asked: Vec::new(),
            to_beat: Vec::new(),
            owners: Vec::new(),
        };
        race.begin_wave();
        race
    }

    /// Gives a race that has not been asked yet rules to begin with: a try that explores nothing.
    pub fn begin_at(&mut self, position: &[f64]) {
        let index = self.state.tries.len();
        let mut own = self.blank_try(index);
        own.position = position.to_vec();
        own.begun = true;
        self.state.tries.push(own);
    }

    /// A race that goes on from a saved state; none if the state is not one of this problem.
    pub fn restore(
        system: &System,
        settings: &SearchSettings,
        space: &RuleSpace,
        members: usize,
        state: RaceState,
    ) -> Option<Self> {
        let mut race = Self::new(system, settings, space, members);
        let n = race.plan.dimensions;
        let finite = |position: &[f64]| position.len() == n && position.iter().all(|value| value.is_finite());
        let whole = !state.tries.is_empty()
            && state.tries.iter().all(|own| finite(&own.position) && (own.met.is_empty() || finite(&own.met)))
            && state.active.iter().all(|index| *index < state.tries.len());
        if !whole {
            return None;
        }
        race.state = state;
        let mut engines = Vec::new();
        for index in race.state.active.clone() {
            engines.push(match race.state.tries[index].engine.clone() {
                None => None,
                Some(engine) => Some(race.engine_from(index, engine)?),
            });
        }
        race.engines = engines;
        Some(race)
    }

    /// How it went.
    pub fn figures(&self) -> RaceFigures {
        RaceFigures {
            tries: self.state.tries.len(),
            start_states: self.start_states(),
            gap: self.state.gap,
            planned_steps: self.plan.steps(),
        }
    }

    /// Start states that the last way down is searched on.
    fn start_states(&self) -> usize {
        self.plan.starts << self.state.doublings
    }

    fn blank_try(&self, index: usize) -> Try {
        let words = Stream::new(self.plan.seed, Purpose::Race).words(index as u32, 0, 0);
        let middle = self.low.iter().zip(&self.high).map(|(low, high)| 0.5 * (low + high)).collect();
        Try {
            seed: u64::from(words[0]) << 32 | u64::from(words[1]),
            member: index % self.plan.members,
            hasty: false,
            engine: None,
            begun: false,
            position: middle,
            fitness: None,
            met: Vec::new(),
            score: None,
        }
    }

    fn begin_wave(&mut self) {
        let first = self.state.tries.len();
        let explored = self.explorers();
        let count = WAVE.min(self.plan.tries - explored);
        for at in 0..count {
            let own = self.blank_try(first + at);
            self.state.tries.push(Try { begun: true, hasty: is_hasty(explored + at), ..own });
        }
        self.set_out(Phase::Explore, (first..first + count).collect());
    }

    /// Tries that explore or have explored.
    fn explorers(&self) -> usize {
        self.state.tries.iter().filter(|own| own.begun).count()
    }

    /// Lets these tries begin a phase.
    fn set_out(&mut self, phase: Phase, active: Vec<usize>) {
        self.state.phase = phase;
        self.engines = active.iter().map(|&index| self.engine_of(phase, index)).collect();
        self.state.tries.iter_mut().for_each(|own| own.engine = None);
        self.state.active = active;
        self.save_engines();
    }

    fn shade_settings(&self) -> ShadeSettings {
        // A small budget is better spent on a few generations than on many first positions.
        let population = (8 * self.plan.dimensions).min(self.plan.evaluations(EXPLORATION) / 8).max(8);
        let evaluations = self.plan.evaluations(EXPLORATION);
        ShadeSettings { population, fewest: (population / 4).max(4), evaluations, patience: Some(STALLED) }
    }

    fn cma_settings(&self, phase: Phase) -> CmaSettings {
        let (first_step, evaluations) = match phase {
            Phase::Sprint => (SPRINT_STEP, self.plan.evaluations(SPRINT)),
            Phase::Climb => (CLIMB_STEP, self.plan.evaluations_down(CLIMB)),
            _ => (FINISH_STEP, self.plan.evaluations_down(FINISH)),
        };
        let n = self.plan.dimensions;
        CmaSettings {
            population: 8 + 4 * (n as f64).ln().ceil() as usize,
            first_step,
            tolerance: NO_GAIN * self.way(),
            restarts: false,
            evaluations,
        }
    }

    /// Each way down draws numbers of its own.
    fn seed_of(&self, phase: Phase, own: &Try) -> u64 {
        own.seed.wrapping_add(1 + phase as u64 + 16 * u64::from(self.state.doublings))
    }

    fn engine_of(&self, phase: Phase, index: usize) -> Option<Engine> {
        let own = &self.state.tries[index];
        let (low, high) = (&self.low, &self.high);
        match phase {
            Phase::Explore => Some(Engine::Shade(Box::new(Shade::new(self.shade_settings(), low, high, own.seed)))),
            Phase::Sprint | Phase::Climb | Phase::Finish => {
                let seed = self.seed_of(phase, own);
                Some(Engine::CmaEs(Box::new(CmaEs::at(self.cma_settings(phase), low, high, seed, &own.position))))
            }
            _ => None,
        }
    }

    fn engine_from(&self, index: usize, state: EngineState) -> Option<Engine> {
        let own = &self.state.tries[index];
        let (low, high, n) = (&self.low, &self.high, self.plan.dimensions);
        match (state, self.state.phase) {
            (EngineState::Shade(state), Phase::Explore) => {
                let settings = self.shade_settings();
                state
                    .fits(&settings, n)
                    .then(|| Engine::Shade(Box::new(Shade::restore(settings, low, high, own.seed, state))))
            }
            (EngineState::CmaEs(state), phase @ (Phase::Sprint | Phase::Climb | Phase::Finish)) => {
                let settings = self.cma_settings(phase);
                let seed = self.seed_of(phase, own);
                state
                    .fits(&settings, n)
                    .then(|| Engine::CmaEs(Box::new(CmaEs::restore(settings, low, high, seed, state))))
            }
            _ => None,
        }
    }

    /// From what a random policy earns to the best that is known: what gains and gaps are measured by.
    fn way(&self) -> f64 {
        let largest = |values: &mut dyn Iterator<Item = f64>| values.fold(f64::NEG_INFINITY, f64::max);
        let scored = largest(&mut self.state.tries.iter().filter_map(|own| own.score));
        let found = largest(&mut self.state.tries.iter().filter_map(|own| own.fitness));
        let best = if scored.is_finite() { scored } else { found };
        let mut random: Vec<f64> = self.state.random.clone();
        random.sort_by(f64::total_cmp);
        let median = random.get(random.len() / 2).copied().unwrap_or(best);
        let way = best - median;
        let way = if self.plan.tracks { way.min(best.abs()) } else { way };
        if way.is_finite() && way > 0.0 { way } else { best.abs().min(1.0) }
    }

    fn scope_of(&self, index: usize) -> Scope {
        let own = &self.state.tries[index];
        let all = |first: usize, starts: usize| Scope::Part { first, starts, member: None, steps: None };
        let steps = own.hasty.then(|| self.plan.hasty_steps());
        // Who asks for few start states does not get more.
        let part = |starts: usize| Scope::Part {
            first: 0,
            starts: starts.min(self.plan.starts),
            member: Some(own.member),
            steps,
        };
        match self.state.phase {
            Phase::Explore => part(EXPLORED),
            Phase::Sprint => part(SPRINTED),
            Phase::Climb => climbing(self.plan.members, self.plan.starts),
            Phase::Finish if self.state.doublings == 0 => Scope::Whole,
            Phase::Finish => all(0, self.start_states()),
            Phase::Meet | Phase::MeetAgain => all(MEETING_PLACE, self.plan.meeting(MEETING)),
            Phase::MeetLast => all(LAST_MEETING_PLACE, self.plan.meeting(LAST_MEETING)),
            Phase::Settle | Phase::Over if self.state.doublings == 0 => Scope::Whole,
            Phase::Settle | Phase::Over => all(0, self.start_states()),
        }
    }

    /// Steps that an evaluation takes at most.
    fn steps_of(&self, index: usize) -> usize {
        match self.scope_of(index) {
            Scope::Whole => self.plan.starts * self.plan.horizon,
            Scope::Part { starts, steps, .. } => starts * steps.unwrap_or(self.plan.horizon),
        }
    }

    /// The best tries by where they met, or by what they found where they did not.
    fn best_tries(&self, among: impl Iterator<Item = usize>, most: usize) -> Vec<usize> {
        let value = |index: &usize| {
            let own = &self.state.tries[*index];
            own.score.or(own.fitness).unwrap_or(f64::NEG_INFINITY)
        };
        let mut order: Vec<usize> = among.collect();
        order.sort_by(|a, b| value(b).total_cmp(&value(a)));
        order.truncate(most);
        order
    }

    /// Whether most tries that met, which know nothing of each other, have come to the same.
    fn agree(&self) -> bool {
        let scores: Vec<f64> =
            self.state.tries.iter().filter(|own| !own.met.is_empty()).filter_map(|own| own.score).collect();
        let best = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let near = scores.iter().filter(|score| best - **score <= AGREEMENT * self.way()).count();
        near >= AGREEING && 2 * near >= scores.len()
    }

    /// What comes after a phase.
    fn go_on(&mut self) {
        let all = 0..self.state.tries.len();
        match self.state.phase {
            Phase::Explore => {
                // Those that look equally far ahead are compared.
                let mut better = Vec::new();
                for hasty in [false, true] {
                    let alike =
                        self.state.active.iter().copied().filter(|&index| self.state.tries[index].hasty == hasty);
                    let alike: Vec<usize> = alike.collect();
                    let sprinters = sprinters(alike.len());
                    better.extend(self.best_tries(alike.into_iter(), sprinters));
                }
                // Rules that somebody brought go straight down their valley.
                let brought = |own: &Try| own.fitness.is_none() && own.met.is_empty();
                let brought: Vec<usize> = all.filter(|&index| brought(&self.state.tries[index])).collect();
                better.extend(brought.into_iter().filter(|index| !self.state.active.contains(index)));
                self.set_out(Phase::Sprint, better);
            }
            Phase::Sprint => {
                let active = self.state.active.clone();
                self.set_out(Phase::Meet, active);
            }
            Phase::Meet if self.explorers() < self.plan.tries && !self.agree() => self.begin_wave(),
            Phase::Meet => {
                let met = all.filter(|&index| !self.state.tries[index].met.is_empty());
                let climbers = self.plan.climbers.min(climbers(self.explorers()));
                let best = self.best_tries(met, climbers);
                self.set_out(Phase::Climb, best);
            }
            Phase::Climb => {
                let active = self.state.active.clone();
                self.set_out(Phase::MeetAgain, active);
            }
            Phase::MeetAgain => {
                let finishers = self.plan.finishers.min(finishers(self.explorers())).max(1);
                let met = all.filter(|&index| !self.state.tries[index].met.is_empty());
                let best = self.best_tries(met, finishers);
                self.set_out(Phase::Finish, best);
            }
            Phase::Finish => {
                let met = all.filter(|&index| !self.state.tries[index].met.is_empty()).collect();
                self.set_out(Phase::MeetLast, met);
            }
            Phase::MeetLast => {
                let winner = self.winner();
                self.set_out(Phase::Settle, vec![winner]);
            }
            Phase::Settle => {
                let winner = self.winner();
                let own = &self.state.tries[winner];
                self.state.gap = own.fitness.zip(own.score).map(|(search, other)| search - other);
                let large = self.state.gap.is_some_and(|gap| gap > GAP * self.way());
                if large && self.state.doublings < MOST_DOUBLINGS {
                    self.state.doublings += 1;
                    self.set_out(Phase::Finish, vec![winner]);
                } else {
                    self.set_out(Phase::Over, Vec::new());
                }
            }
            Phase::Over => {}
        }
    }

    /// Puts what engines have come to into the state.
    fn save_engines(&mut self) {
        for (engine, &index) in self.engines.iter().zip(&self.state.active) {
            self.state.tries[index].engine = engine.as_ref().map(|engine| match engine {
                Engine::Shade(shade) => EngineState::Shade(shade.state().clone()),
                Engine::CmaEs(cma) => EngineState::CmaEs(cma.state().clone()),
            });
        }
    }

    fn meets(&self) -> bool {
        matches!(self.state.phase, Phase::Meet | Phase::MeetAgain | Phase::MeetLast)
    }

    /// The best try so far.
    fn winner(&self) -> usize {
        let met = (0..self.state.tries.len()).filter(|&index| !self.state.tries[index].met.is_empty());
        let best = self.best_tries(met, 1).first().copied();
        best.or_else(|| self.best_tries(0..self.state.tries.len(), 1).first().copied()).unwrap_or(0)
    }

    /// The positions that a try brings to a meeting: where it is now, and the best one that it brought before.
    fn brought(own: &Try) -> Vec<&Vec<f64>> {
        let mut positions = vec![&own.position];
        if !own.met.is_empty() && own.met != own.position {
            positions.push(&own.met);
        }
        positions
    }

    /// A try has met the others at these positions.
    fn score(own: &mut Try, fitness: &[f64]) {
        let positions: Vec<Vec<f64>> = Self::brought(own).into_iter().cloned().collect();
        let best = (1..fitness.len()).fold(0, |best, at| if fitness[at] > fitness[best] { at } else { best });
        if best > 0 {
            // What was found later does worse where it was not searched.
            own.fitness = None;
        }
        own.score = Some(fitness[best]).filter(|value| value.is_finite());
        own.met.clone_from(&positions[best]);
        own.position.clone_from(&positions[best]);
    }
}

impl Optimiser for Race {
    type State = RaceState;

    fn ask(&mut self) -> &[Vec<f64>] {
        if !self.asked.is_empty() {
            return &self.asked;
        }
        let meets = self.meets();
        self.to_beat.clear();
        self.owners.clear();
        for (at, &index) in self.state.active.iter().enumerate() {
            let own = &self.state.tries[index];
            let positions: Vec<Vec<f64>> = match &mut self.engines[at] {
                Some(Engine::Shade(shade)) if !shade.is_finished() => shade.ask().to_vec(),
                Some(Engine::CmaEs(cma)) if !cma.is_finished() => cma.ask().to_vec(),
                Some(_) => Vec::new(),
                None if meets => Self::brought(own).into_iter().cloned().collect(),
                None => vec![own.position.clone()],
            };
            match &self.engines[at] {
                Some(Engine::Shade(shade)) if !positions.is_empty() => self.to_beat.extend(shade.to_beat()),
                Some(Engine::CmaEs(cma)) if !positions.is_empty() => self.to_beat.extend(cma.to_beat()),
                _ => self.to_beat.extend(positions.iter().map(|_| f64::NEG_INFINITY)),
            }
            self.owners.extend(positions.iter().map(|_| at));
            self.asked.extend(positions);
        }
        &self.asked
    }

    fn to_beat(&self) -> &[f64] {
        &self.to_beat
    }

    fn scope(&self, position: usize) -> Scope {
        self.scope_of(self.state.active[self.owners[position]])
    }

    fn tell(&mut self, fitness: &[f64]) {
        let meets = self.meets();
        let mut from = 0;
        for (at, index) in self.state.active.clone().into_iter().enumerate() {
            let count = self.owners.iter().filter(|&&owner| owner == at).count();
            let told = &fitness[from..from + count];
            from += count;
            if told.is_empty() {
                continue;
            }
            self.state.asked_steps += (count * self.steps_of(index)) as u64;
            let own = &mut self.state.tries[index];
            match &mut self.engines[at] {
                None if meets => Self::score(own, told),
                None => own.fitness = Some(told[0]).filter(|value| value.is_finite()),
                Some(Engine::Shade(shade)) => {
                    // What hasty tries earn is not the same measure.
                    if shade.state().told == 0 && !own.hasty {
                        let mut first: Vec<f64> = told.iter().copied().filter(|value| value.is_finite()).collect();
                        first.sort_by(f64::total_cmp);
                        self.state.random.extend(first.get(first.len() / 2));
                    }
                    shade.tell(told);
                    let (position, value) = shade.best();
                    own.position.copy_from_slice(position);
                    own.fitness = Some(value).filter(|value| value.is_finite());
                }
                Some(Engine::CmaEs(cma)) => {
                    cma.tell(told);
                    let (position, value) = cma.best();
                    own.position.copy_from_slice(position);
                    own.fitness = Some(value).filter(|value| value.is_finite());
                }
            }
        }
        self.asked.clear();
        let at_work = self.engines.iter().flatten().any(|engine| match engine {
            Engine::Shade(shade) => !shade.is_finished(),
            Engine::CmaEs(cma) => !cma.is_finished(),
        });
        if at_work {
            self.save_engines();
        } else {
            self.go_on();
        }
    }

    fn best(&self) -> (&[f64], f64) {
        let own = match self.state.phase {
            // Where the last ones search, the one that is furthest.
            Phase::Climb | Phase::Finish => {
                let value = |index: &usize| self.state.tries[*index].fitness.unwrap_or(f64::NEG_INFINITY);
                let best = self.state.active.iter().max_by(|a, b| value(a).total_cmp(&value(b)));
                &self.state.tries[best.copied().unwrap_or(0)]
            }
            _ => &self.state.tries[self.winner()],
        };
        let value = match self.state.phase {
            Phase::Climb | Phase::Finish | Phase::Settle | Phase::Over => own.fitness.or(own.score),
            // What a hasty try earned before it met the others cannot be compared.
            _ => own.score.or(own.fitness),
        };
        (&own.position, value.unwrap_or(f64::NEG_INFINITY))
    }

    fn candidates(&self) -> Vec<(&[f64], f64)> {
        let value = |own: &Try| own.score.or(own.fitness).unwrap_or(f64::NEG_INFINITY);
        // Those that never met the others were not scored as they were.
        let some_met = self.state.tries.iter().any(|own| !own.met.is_empty());
        let counts = |own: &&Try| !some_met || !own.met.is_empty();
        self.state.tries.iter().filter(counts).map(|own| (own.position.as_slice(), value(own))).collect()
    }

    fn is_finished(&self) -> bool {
        self.state.phase == Phase::Over
    }

    fn share_done(&self) -> Option<f64> {
        if self.is_finished() {
            return Some(1.0);
        }
        // Doubled start states are not in the plan.
        Some((self.state.asked_steps as f64 / self.plan.steps() as f64).min(1.0))
    }

    fn stage(&self) -> (u32, String) {
        let (tries, active) = (self.state.tries.len(), self.state.active.len());
        let words = match self.state.phase {
            Phase::Explore => {
                format!("exploring: tries {} to {tries} of at most {}", tries + 1 - active, self.plan.tries)
            }
            Phase::Sprint => format!("the first way down of {active} tries"),
            Phase::Climb => format!("the best {active} of {tries} tries go on"),
            Phase::Finish => format!("the last way of {active} on {} start states", self.start_states()),
            Phase::Meet | Phase::MeetAgain | Phase::MeetLast | Phase::Settle => "comparing".to_owned(),
            Phase::Over => format!("after {tries} tries"),
        };
        (self.state.phase as u32, words)
    }

    fn state(&self) -> &RaceState {
        &self.state
    }
}
