//! Where the data is: the ranges of the log, the gaps in them, and a world that promises nothing beyond.
//!
//! A learned reward says something about every state, also about those that nobody has ever seen, and a search finds the
//! one place where it promises most. And a limit that breaks the plant may stand just beyond what was recorded. So what
//! was never seen earns no more than the worst that was seen while the plant moved; a cautious user moves that floor down
//! to the worst that was ever seen. Where a plant's worst is its usual reward, as on the way up a mountain, leaving the
//! data costs nothing.

use serde::{Deserialize, Serialize};

use crate::WorldSettings;
use fpsrl_data::System;
use fpsrl_data::system::Lagged;
use fpsrl_data::{Transitions, absorbing};
use fpsrl_engine::rollout::Lanes;
use fpsrl_engine::simd::Numerics;
use fpsrl_engine::world::World;

/// The ranges of the log, and the worst rewards in it.
///
/// ```
/// use fpsrl_world::support::Support;
/// let ranges = vec![[-1.0, 1.0], [0.0, 4.0]];
/// let support = Support { ranges, worst_moving: -0.1, worst: -1.0, margin: 0.05, ..Support::default() };
/// assert_eq!(support.distance(&[0.5, 4.2]), 0.0);
/// assert_eq!(support.distance(&[2.1, 4.4]), 0.5);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Support {
    /// Of each state variable: its lowest and its highest value while the plant moved.
    pub ranges: Vec<[f64; 2]>,
    /// The lowest reward while the plant moved.
    pub worst_moving: f64,
    /// The lowest reward.
    pub worst: f64,
    /// How far beyond a range still counts as inside, as a share of its extent: a model drifts by a little where the plant stays
    /// on an extreme, and a range is only where a log of this length happened to end.
    #[serde(default)]
    pub margin: f64,
    /// Variables that do not count, because the controller does not move them: inputs, and what follows from them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub free: Vec<usize>,
    /// Stretches within the ranges where no row is: a variable, and the values between which there is none. Between two ways to
    /// run a plant, and between its usual values and a spike, nothing is known either.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<(usize, [f64; 2])>,
}

/// How far beyond a range still counts as inside.
const MARGIN: f64 = 0.05;

/// From this share of a range on, a stretch without any row is a gap: the margins of both sides, and as much again.
const GAP: f64 = 4.0 * MARGIN;

impl Support {
    /// The ranges of a log; those of a symmetric plant are symmetric.
    pub fn new(system: &System, settings: &WorldSettings, transitions: &Transitions) -> Self {
        let absorbed = absorbing::rewards_from_then_on(transitions);
        let moves = |row: &usize| !settings.absorbing || absorbed[*row].is_none();
        let mut moving: Vec<usize> = (0..transitions.len()).filter(moves).collect();
        if moving.is_empty() {
            moving = (0..transitions.len()).collect();
        }
        let lowest = |values: &mut dyn Iterator<Item = f64>| values.fold(f64::INFINITY, f64::min);
        let range = |(before, after): (&Vec<f64>, &Vec<f64>)| {
            let values = || moving.iter().flat_map(|&row| [before[row], after[row]]);
            let [low, high] = [lowest(&mut values()), -lowest(&mut values().map(|value| -value))];
            let reach = high.max(-low);
            if settings.mirror { [-reach, reach] } else { [low, high] }
        };
        let free: Vec<usize> = (0..system.states().len()).filter(|variable| is_free(system, *variable)).collect();
        // The plants of benchmarks are known to be smooth. An action may be anything within its limits, so its memory may too.
        let counted = |variable: &usize| {
            let of_action = system.states()[*variable].lag.is_some_and(|lag| matches!(lag.of, Lagged::Action(_)));
            system.plant().is_none() && !free.contains(variable) && !of_action
        };
        let columns = |variable: usize| moving.iter().map(move |&row| transitions.states[variable][row]);
        let gaps = (0..system.states().len())
            .filter(counted)
            .flat_map(|variable| gaps(columns(variable).collect()).into_iter().map(move |gap| (variable, gap)))
            .collect();
        Self {
            gaps,
            ranges: transitions
                .states
                .iter()
                .zip(&transitions.next_states)
                .zip(system.states())
                .map(|(columns, state)| {
                    // A policy may take any action within its limits, so it may also remember it.
                    match state.lag.map(|lag| lag.of) {
                        Some(Lagged::Action(_)) => {
                            let [low, high] = range(columns);
                            [low.min(state.start[0]), high.max(state.start[1])]
                        }
                        _ => range(columns),
                    }
                })
                .collect(),
            worst_moving: lowest(&mut moving.iter().map(|&row| transitions.rewards[row])),
            worst: lowest(&mut transitions.rewards.iter().copied()),
            margin: MARGIN,
            free,
        }
    }

    /// How far a state lies outside, as a share of the extent of the range that it misses most; 0 is inside.
    pub fn distance(&self, state: &[f64]) -> f64 {
        let beyond = |([low, high], value): ([f64; 2], &f64)| {
            let beyond = (low - value).max(value - high).max(0.0);
            // Of the range itself, without its margins.
            let extent = (high - low) / (1.0 + 2.0 * self.margin);
            if beyond > 0.0 { beyond / extent.max(f64::MIN_POSITIVE) } else { 0.0 }
        };
        let counted = state.iter().enumerate().filter(|(variable, _)| !self.free.contains(variable));
        let outside = counted.map(|(variable, value)| beyond((self.inside(variable), value))).fold(0.0, f64::max);
        let in_gaps = self.gaps.iter().map(|(variable, _)| *variable).zip(self.without_rows());
        in_gaps
            .map(|(variable, [low, high])| {
                let [lowest, highest] = self.ranges[variable];
                (state[variable] - low).min(high - state[variable]).max(0.0) / (highest - lowest).max(f64::MIN_POSITIVE)
            })
            .fold(outside, f64::max)
    }

    /// Of each gap, the values between which a state counts as outside: without the margins of the rows on both sides.
    fn without_rows(&self) -> impl Iterator<Item = [f64; 2]> {
        self.gaps.iter().map(|(variable, [low, high])| {
            let margin = self.margin * (self.ranges[*variable][1] - self.ranges[*variable][0]);
            [low + margin, high - margin]
        })
    }

    /// Between which values a variable counts as inside; everything, if it does not count.
    pub fn inside(&self, variable: usize) -> [f64; 2] {
        if self.free.contains(&variable) {
            return [f64::NEG_INFINITY, f64::INFINITY];
        }
        let [low, high] = self.ranges[variable];
        let margin = self.margin * (high - low);
        [low - margin, high + margin]
    }

    /// The most that a step outside earns under so much caution: between the two worst rewards.
    pub fn floor(&self, caution: f64) -> f64 {
        // The fourth power: half-way, it decides between policies that are equal otherwise, and no more.
        self.worst_moving + caution.powi(4) * (self.worst - self.worst_moving)
    }

    /// What is wrong with one that was read from a file, if anything is.
    pub(crate) fn fault(&self, states: usize) -> Option<String> {
        let is_range = |range: &[f64; 2]| range[0].is_finite() && range[1].is_finite() && range[0] <= range[1];
        if self.ranges.len() != states || !self.ranges.iter().all(is_range) {
            return Some(format!("it does not hold {states} ranges of finite numbers"));
        }
        if self.gaps.iter().any(|(variable, gap)| *variable >= states || !is_range(gap)) {
            return Some("a gap in it is not one of its variables' ranges".into());
        }
        let rewards = [self.worst_moving, self.worst];
        rewards.iter().any(|reward| !reward.is_finite()).then(|| "a reward in it is not finite".into())
    }
}

/// Stretches of a variable's range where no row is, if they are a good part of it.
fn gaps(mut values: Vec<f64>) -> Vec<[f64; 2]> {
    values.sort_unstable_by(f64::total_cmp);
    let extent = values.last().zip(values.first()).map_or(0.0, |(high, low)| high - low);
    values
        .windows(2)
        .filter(|pair| extent > 0.0 && pair[1] - pair[0] > GAP * extent)
        .map(|pair| [pair[0], pair[1]])
        .collect()
}

/// Whether the controller does not move a variable: an input, its past, or what is derived.
fn is_free(system: &System, variable: usize) -> bool {
    let state = &system.states()[variable];
    let past_input = |of: usize| system.states()[of].input.is_some();
    state.input.is_some()
        || state.is_derived()
        || matches!(state.lag.map(|lag| lag.of), Some(Lagged::State(of)) if past_input(of))
}

/// A world in which steps outside the data earn no more than a floor.
pub struct CautiousWorld<W> {
    world: W,
    ranges: Vec<[f32; 2]>,
    gaps: Vec<(usize, [f32; 2])>,
    floor: f32,
    /// The share of what lies above the floor that is taken away: 1 takes all.
    weight: f32,
}

impl<W: World> CautiousWorld<W> {
    /// A world under a user's caution, from 0, where nothing changes, to 1.
    pub fn new(world: W, support: &Support, caution: f64) -> Self {
        Self {
            world,
            ranges: (0..support.ranges.len())
                .map(|variable| support.inside(variable).map(|limit| limit as f32))
                .collect(),
            gaps: support
                .gaps
                .iter()
                .zip(support.without_rows())
                .map(|((variable, _), gap)| (*variable, gap.map(|limit| limit as f32)))
                .collect(),
            floor: support.floor(caution) as f32,
            weight: (2.0 * caution).min(1.0) as f32,
        }
    }
}

impl<W: World> World for CautiousWorld<W> {
    fn state_count(&self) -> usize {
        self.world.state_count()
    }

    fn action_count(&self) -> usize {
        self.world.action_count()
    }

    fn advance(&self, lanes: &mut Lanes, numerics: Numerics) {
        self.world.advance(lanes, numerics);
        if self.weight == 0.0 {
            return;
        }
        let columns = lanes.columns();
        let outside = columns.scratch;
        outside.clear();
        outside.resize(columns.live, 0.0);
        for (&[low, high], column) in self.ranges.iter().zip(columns.states.chunks_exact(columns.stride)) {
            for (outside, &value) in outside.iter_mut().zip(column) {
                // NaN is outside.
                *outside = if value >= low && value <= high { *outside } else { self.weight };
            }
        }
        for &(variable, [low, high]) in &self.gaps {
            for (outside, &value) in outside.iter_mut().zip(&columns.states[variable * columns.stride..]) {
                *outside = if value > low && value < high { self.weight } else { *outside };
            }
        }
        let ends = columns.absorbed[..columns.live].iter();
        for ((reward, &outside), &absorbed) in columns.rewards.iter_mut().zip(outside.iter()).zip(ends) {
            // Where the plant stops for good is known from the log, on whatever side of its ranges.
            let above = (*reward - self.floor).max(0.0);
            *reward -= if absorbed == 0.0 { outside * above } else { 0.0 };
        }
    }

    fn largest_reward(&self) -> f64 {
        self.world.largest_reward()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fpsrl_base::progress::Progress;
    use fpsrl_engine::simd::Mode;

    /// A world that stands still and earns 0.
    struct Still;

    impl World for Still {
        fn state_count(&self) -> usize {
            1
        }
        fn action_count(&self) -> usize {
            1
        }
        fn advance(&self, lanes: &mut Lanes, _: Numerics) {
            let columns = lanes.columns();
            columns.rewards.fill(0.0);
            columns.absorbed.fill(0.0);
            columns.absorbed[3] = 1.0;
        }
        fn largest_reward(&self) -> f64 {
            0.0
        }
    }

    #[test]
    fn outside_the_data_nothing_is_promised_and_the_dial_says_how_much_is_feared() {
        let support = Support { ranges: vec![[-1.0, 1.0]], worst_moving: -0.1, worst: -1.0, ..Support::default() };
        let rewards = |caution: f64| {
            let mut lanes = Lanes::new(1, 1, 4);
            lanes.set_live(4);
            lanes.state_mut(0)[..4].copy_from_slice(&[0.5, 1.5, f32::NAN, 9.0]);
            CautiousWorld::new(Still, &support, caution).advance(&mut lanes, Numerics::detect(Mode::Fast));
            lanes.rewards().to_vec()
        };
        assert_eq!(rewards(0.0), [0.0; 4]);
        assert_eq!(rewards(1.0), [0.0, -1.0, -1.0, 0.0]);
        let half = rewards(0.5);
        assert!(half[0] == 0.0 && half[3] == 0.0);
        assert!((half[1] - -0.15625).abs() < 1e-6 && half[1] == half[2], "{half:?}");
        assert!((rewards(0.25)[1] - 0.5 * support.floor(0.25) as f32).abs() < 1e-6);
    }

    #[test]
    fn between_two_ways_to_run_a_plant_nothing_is_promised_either() {
        // A plant that runs at 0 to 0.2 or at 0.8 to 1, and a spike.
        let rows = |low: f64, high: f64| (0..=100).map(move |row| low + (high - low) * f64::from(row) / 100.0);
        let values: Vec<f64> = rows(0.0, 0.2).chain(rows(0.8, 1.0)).collect();
        let found = gaps(values);
        assert_eq!(found, [[0.2, 0.8]]);
        assert_eq!(gaps(rows(0.0, 1.0).chain([9.0]).collect()), [[1.0, 9.0]]);
        assert!(gaps(rows(0.0, 1.0).collect()).is_empty() && gaps(vec![3.0; 5]).is_empty() && gaps(vec![]).is_empty());
        let support = Support {
            ranges: vec![[0.0, 1.0]],
            gaps: found.into_iter().map(|gap| (0, gap)).collect(),
            worst_moving: -0.1,
            worst: -1.0,
            margin: 0.05,
            free: Vec::new(),
        };
        assert_eq!(support.fault(1), None);
        assert_eq!([0.1, 0.24, 0.9].map(|value| support.distance(&[value])), [0.0; 3]);
        assert!((support.distance(&[0.5]) - 0.25).abs() < 1e-12);
        let mut lanes = Lanes::new(1, 1, 4);
        lanes.set_live(4);
        lanes.state_mut(0)[..4].copy_from_slice(&[0.1, 0.5, 0.24, 0.5]);
        CautiousWorld::new(Still, &support, 1.0).advance(&mut lanes, Numerics::detect(Mode::Fast));
        assert_eq!(lanes.rewards(), [0.0, -1.0, 0.0, 0.0]);
    }

    #[test]
    fn the_ranges_are_those_of_the_rows_that_move() {
        let system = System::benchmark("cart-pole-balancing").unwrap();
        let data = fpsrl_data::DataSettings { samples: 1_000, ..fpsrl_data::DataSettings::for_plant(system.plant()) };
        let log = fpsrl_data::generate(&system, &data, &Progress::silent()).unwrap();
        let settings = WorldSettings { mirror: true, ..WorldSettings::default() };
        let support = Support::new(&system, &settings, &log);
        assert!(support.ranges.iter().all(|[low, high]| low == &-high && *high > 0.0));
        assert!(support.ranges[0][1] <= 0.7 && support.ranges[0][1] > 0.6, "{support:?}");
        assert_eq!((support.worst_moving, support.worst), (-0.1, -1.0));
        assert_eq!(support.fault(4), None);
        assert!(support.fault(3).is_some());
        let one_sided = Support::new(&system, &WorldSettings { mirror: false, ..settings }, &log);
        assert!((0..4).any(|index| one_sided.ranges[index][0] != -one_sided.ranges[index][1]));
    }
}
