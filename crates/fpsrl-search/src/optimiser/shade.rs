//! L-SHADE: differential evolution that learns its own settings (Tanabe, Fukunaga: *Improving the search performance of
//! SHADE using linear population size reduction*, 2014).
//!
//! Each member of the population is challenged by a trial: itself, moved towards one of the best and by the difference of
//! two others (current-to-pbest/1), crossed with itself. What was replaced goes into an archive from which differences are
//! drawn too. Scale and crossover rate are drawn around values that succeeded before; the population shrinks linearly.
//!
//! A member gives way only to a strictly better trial, so a trial that cannot win need not be scored to its end.

use super::{Optimiser, are_whole, ranked};
use fpsrl_base::random::{Purpose, Stream};
use serde::{Deserialize, Serialize};

/// Entries of the memory of successful settings.
const MEMORY: usize = 6;

/// The share of the population that counts as the best, and the size of the archive relative to the population.
const BEST_SHARE: f64 = 0.11;
const ARCHIVE_SHARE: f64 = 1.4;

/// A gain, as a share of the way from the median of the first positions.
const GAIN: f64 = 1e-3;

/// The constants of L-SHADE.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShadeSettings {
    /// The population at the beginning.
    pub population: usize,
    /// The population at the end; at least 4.
    pub fewest: usize,
    /// Evaluations over which it shrinks; then it is finished.
    pub evaluations: usize,
    /// Generations after which it is finished if its best does not gain a thousandth of the way from the median of the
    /// first positions; none goes on to the end.
    pub patience: Option<u32>,
}

/// L-SHADE between bounds.
///
/// ```
/// use fpsrl_search::optimiser::{Optimiser, Shade, ShadeSettings};
/// let settings = ShadeSettings { population: 40, fewest: 4, evaluations: 4_000, patience: None };
/// let mut shade = Shade::new(settings, &[-5.0, -5.0], &[5.0, 5.0], 1);
/// while !shade.is_finished() {
///     let fitness: Vec<f64> = shade.ask().iter().map(|x| -(x[0] - 1.0).powi(2) - (x[1] + 2.0).powi(2)).collect();
///     shade.tell(&fitness);
/// }
/// assert!(shade.best().1 > -1e-9);
/// ```
#[derive(Clone, Debug)]
pub struct Shade {
    settings: ShadeSettings,
    low: Vec<f64>,
    high: Vec<f64>,
    seed: u64,
    state: ShadeState,
    /// The trials that were asked for, with the scale and the crossover rate that made them; empty if none were.
    trials: Vec<Vec<f64>>,
    made_by: Vec<[f64; 2]>,
}

/// All that moves in L-SHADE.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShadeState {
    /// How often it has been told.
    pub told: u32,
    /// Evaluations so far.
    pub evaluations: usize,
    /// The members.
    pub positions: Vec<Vec<f64>>,
    /// Their fitness; null stands for -∞.
    #[serde(with = "fpsrl_base::files::infinite")]
    pub fitness: Vec<f64>,
    /// Members that gave way.
    pub archive: Vec<Vec<f64>>,
    /// Successful scales.
    pub scales: Vec<f64>,
    /// Successful crossover rates; negative stands for "none at all succeeded".
    pub rates: Vec<f64>,
    /// The entry of the memory that is written next.
    pub next: usize,
    /// The median fitness of the first positions, and the best fitness when it last gained; null stands for -∞.
    #[serde(with = "fpsrl_base::files::infinite")]
    pub gained_from: Vec<f64>,
    /// When that was, in generations.
    pub gained: u32,
}

impl ShadeState {
    /// Whether it can belong to these settings.
    pub fn fits(&self, settings: &ShadeSettings, dimensions: usize) -> bool {
        let count = self.positions.len();
        (4..=settings.population.max(4)).contains(&count)
            && are_whole(&self.positions, count, dimensions)
            && self.fitness.len() == count
            && self.fitness.iter().all(|value| !value.is_nan())
            && are_whole(&self.archive, self.archive.len(), dimensions)
            && self.scales.len() == MEMORY
            && self.rates.len() == MEMORY
            && self.scales.iter().chain(&self.rates).all(|value| value.is_finite())
            && self.next < MEMORY
            && self.gained_from.len() == 2
    }
}

impl Shade {
    /// A population at random positions between the bounds.
    pub fn new(settings: ShadeSettings, low: &[f64], high: &[f64], seed: u64) -> Self {
        let stream = Stream::new(seed, Purpose::ShadeStart);
        let random = |member: usize| {
            let bounds = low.iter().zip(high).enumerate();
            bounds.map(|(index, (&low, &high))| stream.within(low, high, 0, member as u32, index as u32)).collect()
        };
        let count = settings.population.max(4);
        let state = ShadeState {
            told: 0,
            evaluations: 0,
            positions: (0..count).map(random).collect(),
            fitness: vec![f64::NEG_INFINITY; count],
            archive: Vec::new(),
            scales: vec![0.5; MEMORY],
            rates: vec![0.5; MEMORY],
            next: 0,
            gained_from: vec![f64::NEG_INFINITY; 2],
            gained: 0,
        };
        Self::restore(settings, low, high, seed, state)
    }

    /// Puts a member of a population that has not been told yet at a given position.
    pub fn begin_at(&mut self, position: &[f64]) {
        self.state.positions[0].copy_from_slice(position);
    }

    /// A population that goes on from a saved state.
    pub fn restore(settings: ShadeSettings, low: &[f64], high: &[f64], seed: u64, state: ShadeState) -> Self {
        let (low, high) = (low.to_vec(), high.to_vec());
        Self { settings, low, high, seed, state, trials: Vec::new(), made_by: Vec::new() }
    }

    /// The members' fitness, the best one first.
    fn ranking(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.state.fitness.len()).collect();
        order.sort_by(|&a, &b| self.state.fitness[b].total_cmp(&self.state.fitness[a]));
        order
    }

    /// The scale and the crossover rate of a member's next trial.
    fn draw_settings(&self, member: u32) -> [f64; 2] {
        let (stream, generation) = (Stream::new(self.seed, Purpose::ShadeSettings), self.state.told);
        let entry = ((stream.uniform(generation, member, 0) * MEMORY as f64) as usize).min(MEMORY - 1);
        let rate = match self.state.rates[entry] {
            rate if rate < 0.0 => 0.0,
            rate => (rate + 0.1 * stream.normal(generation, member, 1)).clamp(0.0, 1.0),
        };
        // Of Cauchy's distribution, whatever is above 0; what is above 1 counts as 1.
        let scale = (2u32..32)
            .map(|draw| {
                let angle = std::f64::consts::PI * (stream.uniform(generation, member, draw) - 0.5);
                self.state.scales[entry] + 0.1 * angle.tan()
            })
            .find(|scale| *scale > 0.0)
            .unwrap_or(self.state.scales[entry]);
        [scale.min(1.0), rate]
    }

    fn make_trials(&mut self) {
        let ranking = self.ranking();
        let count = ranking.len();
        let best = ((BEST_SHARE * count as f64).round() as usize).clamp(2.min(count), count);
        let stream = Stream::new(self.seed, Purpose::ShadeMove);
        let generation = self.state.told;
        let state = &self.state;
        let mut made_by = Vec::with_capacity(count);
        let trials = (0..count).map(|member| {
            let settings = self.draw_settings(member as u32);
            made_by.push(settings);
            let [scale, rate] = settings;
            let draw = |among: usize, number: u32| {
                ((stream.uniform(generation, member as u32, number) * among as f64) as usize).min(among - 1)
            };
            let leader = &state.positions[ranking[draw(best, 0)]];
            let first =
                (0..16).map(|again| draw(count, 1 + 2 * again)).find(|other| *other != member).unwrap_or(member);
            // The second one may come out of the archive.
            let all = count + state.archive.len();
            let second = (0..16)
                .map(|again| draw(all, 2 + 2 * again))
                .find(|other| *other != member && *other != first)
                .unwrap_or(member);
            let second = state.positions.get(second).unwrap_or_else(|| &state.archive[second - count]);
            let (first, own) = (&state.positions[first], &state.positions[member]);
            let certain = draw(own.len(), 40);
            (0..own.len())
                .map(|index| {
                    if index != certain && stream.uniform(generation, member as u32, 64 + index as u32) >= rate {
                        return own[index];
                    }
                    let moved = own[index] + scale * (leader[index] - own[index] + first[index] - second[index]);
                    // Halfway to a bound that would be crossed.
                    if moved < self.low[index] {
                        0.5 * (self.low[index] + own[index])
                    } else if moved > self.high[index] {
                        0.5 * (self.high[index] + own[index])
                    } else {
                        moved
                    }
                })
                .collect()
        });
        self.trials = trials.collect();
        self.made_by = made_by;
    }

    /// Learns from the trials that won by how much.
    fn learn(&mut self, won: &[(f64, [f64; 2])]) {
        if won.is_empty() {
            return;
        }
        // A win over -∞ weighs as much as the largest other one.
        let largest = won.iter().map(|(gain, _)| *gain).filter(|gain| gain.is_finite()).fold(0.0, f64::max);
        let weight = |gain: f64| match gain.is_finite() {
            true if largest > 0.0 => gain / largest,
            _ => 1.0,
        };
        // Weighted Lehmer means.
        let lehmer = |which: usize| {
            let (mut squares, mut sum) = (0.0, 0.0);
            for (gain, settings) in won {
                squares += weight(*gain) * settings[which] * settings[which];
                sum += weight(*gain) * settings[which];
            }
            if sum > 0.0 { squares / sum } else { 0.0 }
        };
        let state = &mut self.state;
        let entry = state.next;
        let scale = lehmer(0);
        if scale > 0.0 {
            state.scales[entry] = scale;
        }
        let none = state.rates[entry] < 0.0 || won.iter().all(|(_, settings)| settings[1] == 0.0);
        state.rates[entry] = if none { -1.0 } else { lehmer(1) };
        state.next = (entry + 1) % MEMORY;
    }

    /// Lets the worst go, as far as the population has to shrink by now.
    fn shrink(&mut self) {
        let ShadeSettings { population, fewest, evaluations, .. } = self.settings;
        let (most, fewest) = (population.max(4), fewest.clamp(4, population.max(4)));
        let done = (self.state.evaluations as f64 / evaluations.max(1) as f64).min(1.0);
        let size = (most as f64 - done * (most - fewest) as f64).round() as usize;
        while self.state.positions.len() > size {
            let worst = (1..self.state.fitness.len()).fold(0, |worst, other| {
                if self.state.fitness[other] < self.state.fitness[worst] { other } else { worst }
            });
            self.state.positions.remove(worst);
            self.state.fitness.remove(worst);
        }
    }

    /// Keeps the archive within its size; who goes is drawn.
    fn trim_archive(&mut self) {
        let stream = Stream::new(self.seed, Purpose::ShadeArchive);
        let most = (ARCHIVE_SHARE * self.state.positions.len() as f64) as usize;
        let mut draw = 0;
        while self.state.archive.len() > most {
            let among = self.state.archive.len();
            let goes = (stream.uniform(self.state.told, draw, 0) * among as f64) as usize;
            self.state.archive.swap_remove(goes.min(among - 1));
            draw += 1;
        }
    }
}

impl Optimiser for Shade {
    type State = ShadeState;

    fn ask(&mut self) -> &[Vec<f64>] {
        // The first positions are evaluated where they lie.
        if self.state.told == 0 {
            return &self.state.positions;
        }
        if self.trials.is_empty() {
            self.make_trials();
        }
        &self.trials
    }

    fn to_beat(&self) -> &[f64] {
        &self.state.fitness
    }

    fn tell(&mut self, fitness: &[f64]) {
        let state = &mut self.state;
        state.evaluations += fitness.len();
        if state.told == 0 {
            state.fitness = fitness.iter().map(|value| ranked(*value)).collect();
            let mut sorted = state.fitness.clone();
            sorted.sort_by(f64::total_cmp);
            state.gained_from[0] = sorted[sorted.len() / 2];
        } else {
            let mut won = Vec::new();
            for (member, trial) in self.trials.drain(..).enumerate() {
                let value = ranked(fitness[member]);
                if value > state.fitness[member] {
                    won.push((value - state.fitness[member], self.made_by[member]));
                    state.archive.push(std::mem::replace(&mut state.positions[member], trial));
                    state.fitness[member] = value;
                }
            }
            self.learn(&won);
        }
        self.shrink();
        self.trim_archive();
        let best = self.best().1;
        let [median, before] = [self.state.gained_from[0], self.state.gained_from[1]];
        // From -∞ every number is a gain.
        let gained = best - before >= GAIN * (best - median) || before == f64::NEG_INFINITY;
        if best > before && gained {
            self.state.gained_from[1] = best;
            self.state.gained = self.state.told;
        }
        self.state.told += 1;
    }

    fn best(&self) -> (&[f64], f64) {
        let fitness = &self.state.fitness;
        let best =
            (1..fitness.len()).fold(0, |best, member| if fitness[member] > fitness[best] { member } else { best });
        (&self.state.positions[best], fitness[best])
    }

    fn candidates(&self) -> Vec<(&[f64], f64)> {
        self.state.positions.iter().map(Vec::as_slice).zip(self.state.fitness.iter().copied()).collect()
    }

    fn share_done(&self) -> Option<f64> {
        Some((self.state.evaluations as f64 / self.settings.evaluations.max(1) as f64).min(1.0))
    }

    fn is_finished(&self) -> bool {
        let idle = self.state.told.saturating_sub(self.state.gained + 1);
        self.state.evaluations >= self.settings.evaluations
            || self.settings.patience.is_some_and(|patience| idle >= patience)
    }

    fn state(&self) -> &ShadeState {
        &self.state
    }
}
