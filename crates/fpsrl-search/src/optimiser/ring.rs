//! Particle swarm optimisation on a ring: Algorithm 1 of the paper (appendix A), equations 5 to 8.
//!
//! Neighbourhood bests are taken from all personal bests before any particle moves. Velocities are limited to a
//! fraction of each dimension's range, positions are clamped to the bounds, and a personal best is replaced only by a
//! strictly better position. Velocities start at zero: the paper leaves them open.

use super::{Optimiser, are_whole};
use fpsrl_base::random::{Purpose, Stream};
use serde::{Deserialize, Serialize};

/// The constants of a ring swarm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RingSettings {
    /// N, the number of particles.
    pub particles: usize,
    /// Neighbours on each side of a particle: 1 makes a neighbourhood of three. Half of the swarm or more makes
    /// every particle the neighbour of every other.
    pub ring: usize,
    /// w, the inertia weight.
    pub inertia: f64,
    /// c₁, the pull of the own best position.
    pub cognitive: f64,
    /// c₂, the pull of the neighbourhood's best position.
    pub social: f64,
    /// The largest velocity as a fraction of each dimension's range.
    pub velocity_limit: f64,
}

/// A swarm of particles in a ring.
///
/// ```
/// use fpsrl_search::optimiser::{Optimiser, RingSettings, RingSwarm};
/// let settings = RingSettings {
///     particles: 20, ring: 1, inertia: 0.72981, cognitive: 1.49618, social: 1.49618, velocity_limit: 0.1,
/// };
/// let mut swarm = RingSwarm::new(settings, &[-5.0, -5.0], &[5.0, 5.0], 1);
/// for _ in 0..200 {
///     let fitness: Vec<f64> = swarm.ask().iter().map(|x| -(x[0] - 1.0).powi(2) - (x[1] + 2.0).powi(2)).collect();
///     swarm.tell(&fitness);
/// }
/// let (position, fitness) = swarm.best();
/// assert!(fitness > -1e-6 && (position[0] - 1.0).abs() < 1e-3);
/// ```
#[derive(Clone, Debug)]
pub struct RingSwarm {
    settings: RingSettings,
    low: Vec<f64>,
    high: Vec<f64>,
    stream: Stream,
    state: RingState,
    /// Whether the positions have been asked for but not yet told.
    pending: bool,
}

/// All that moves in a swarm: what a checkpoint holds. Random numbers need no state, they are counted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RingState {
    /// How often the swarm has been told its fitness.
    pub told: u32,
    /// x, the particles' positions.
    pub positions: Vec<Vec<f64>>,
    /// v, their velocities.
    pub velocities: Vec<Vec<f64>>,
    /// y, the best position that each has visited.
    pub best_positions: Vec<Vec<f64>>,
    /// F(y); null stands for -∞, before the first evaluation.
    #[serde(with = "fpsrl_base::files::infinite")]
    pub best_fitness: Vec<f64>,
}

impl RingState {
    /// Whether it can belong to these settings.
    pub fn fits(&self, settings: &RingSettings, dimensions: usize) -> bool {
        let whole = |rows: &[Vec<f64>]| are_whole(rows, settings.particles, dimensions);
        whole(&self.positions)
            && whole(&self.velocities)
            && whole(&self.best_positions)
            && self.best_fitness.len() == settings.particles
            && self.best_fitness.iter().all(|value| !value.is_nan())
    }
}

impl RingSwarm {
    /// A swarm at random positions between the bounds.
    pub fn new(settings: RingSettings, low: &[f64], high: &[f64], seed: u64) -> Self {
        let stream = Stream::new(seed, Purpose::SwarmStart);
        let random = |particle: usize| {
            let bounds = low.iter().zip(high).enumerate();
            bounds
                .map(|(dimension, (&low, &high))| stream.within(low, high, 0, particle as u32, dimension as u32))
                .collect()
        };
        let positions = (0..settings.particles).map(random).collect();
        Self::at(settings, low, high, seed, positions)
    }

    /// A swarm at rest at given positions, one for each particle.
    pub fn at(settings: RingSettings, low: &[f64], high: &[f64], seed: u64, positions: Vec<Vec<f64>>) -> Self {
        let state = RingState {
            told: 0,
            velocities: vec![vec![0.0; low.len()]; positions.len()],
            best_positions: positions.clone(),
            best_fitness: vec![f64::NEG_INFINITY; positions.len()],
            positions,
        };
        Self::restore(settings, low, high, seed, state)
    }

    /// Puts a particle of a swarm that has not been told yet at a given position.
    pub fn begin_at(&mut self, position: &[f64]) {
        self.state.positions[0].copy_from_slice(position);
        self.state.best_positions[0].copy_from_slice(position);
    }

    /// A swarm that goes on from a saved state.
    pub fn restore(settings: RingSettings, low: &[f64], high: &[f64], seed: u64, state: RingState) -> Self {
        let stream = Stream::new(seed, Purpose::SwarmMove);
        Self { settings, low: low.to_vec(), high: high.to_vec(), stream, state, pending: false }
    }

    /// The particle with the best personal best among a particle and its neighbours: of equals, the particle itself,
    /// then the nearest, the one before it in the ring first.
    fn neighbourhood_best(&self, particle: usize) -> usize {
        let count = self.settings.particles;
        let mut best = particle;
        for distance in 1..=self.settings.ring.min(count / 2) {
            for neighbour in [(particle + count - distance) % count, (particle + distance) % count] {
                if self.state.best_fitness[neighbour] > self.state.best_fitness[best] {
                    best = neighbour;
                }
            }
        }
        best
    }

    fn move_all(&mut self) {
        let leaders: Vec<usize> =
            (0..self.settings.particles).map(|particle| self.neighbourhood_best(particle)).collect();
        let RingSettings { inertia, cognitive, social, velocity_limit, .. } = self.settings;
        let state = &mut self.state;
        for (particle, leader) in leaders.into_iter().enumerate() {
            for dimension in 0..self.low.len() {
                let (low, high) = (self.low[dimension], self.high[dimension]);
                let [own, shared] = self.stream.uniform_pair(state.told, particle as u32, dimension as u32);
                let position = state.positions[particle][dimension];
                let fastest = velocity_limit * (high - low);
                let velocity = inertia * state.velocities[particle][dimension]
                    + cognitive * own * (state.best_positions[particle][dimension] - position)
                    + social * shared * (state.best_positions[leader][dimension] - position);
                let velocity = velocity.clamp(-fastest, fastest);
                state.velocities[particle][dimension] = velocity;
                state.positions[particle][dimension] = (position + velocity).clamp(low, high);
            }
        }
    }
}

impl Optimiser for RingSwarm {
    type State = RingState;

    fn ask(&mut self) -> &[Vec<f64>] {
        // The first positions are evaluated where they lie.
        if self.state.told > 0 && !self.pending {
            self.move_all();
        }
        self.pending = true;
        &self.state.positions
    }

    fn to_beat(&self) -> &[f64] {
        &self.state.best_fitness
    }

    fn tell(&mut self, fitness: &[f64]) {
        let state = &mut self.state;
        for (particle, &value) in fitness.iter().enumerate() {
            if value > state.best_fitness[particle] {
                state.best_fitness[particle] = value;
                state.best_positions[particle].copy_from_slice(&state.positions[particle]);
            }
        }
        state.told += 1;
        self.pending = false;
    }

    fn best(&self) -> (&[f64], f64) {
        let fitness = &self.state.best_fitness;
        let best = (1..fitness.len())
            .fold(0, |best, particle| if fitness[particle] > fitness[best] { particle } else { best });
        (&self.state.best_positions[best], fitness[best])
    }

    fn candidates(&self) -> Vec<(&[f64], f64)> {
        self.state.best_positions.iter().map(Vec::as_slice).zip(self.state.best_fitness.iter().copied()).collect()
    }

    fn state(&self) -> &RingState {
        &self.state
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: RingSettings = RingSettings {
        particles: 6,
        ring: 1,
        inertia: 0.72981,
        cognitive: 1.49618,
        social: 1.49618,
        velocity_limit: 0.1,
    };

    fn told(settings: RingSettings, fitness: &[f64]) -> RingSwarm {
        let mut swarm = RingSwarm::new(settings, &[0.0; 2], &[10.0; 2], 1);
        swarm.ask();
        swarm.tell(fitness);
        swarm
    }

    #[test]
    fn the_leader_is_the_best_of_the_particle_and_its_ring_neighbours() {
        let swarm = told(SETTINGS, &[5.0, 1.0, 2.0, 0.0, 3.0, 4.0]);
        let leaders: Vec<usize> = (0..6).map(|particle| swarm.neighbourhood_best(particle)).collect();
        assert_eq!(leaders, [0, 0, 2, 4, 5, 0]);
        let wide = told(RingSettings { ring: 2, ..SETTINGS }, &[5.0, 1.0, 2.0, 0.0, 3.0, 4.0]);
        let leaders: Vec<usize> = (0..6).map(|particle| wide.neighbourhood_best(particle)).collect();
        assert_eq!(leaders, [0, 0, 0, 5, 0, 0]);
        let whole = told(RingSettings { ring: 100, ..SETTINGS }, &[5.0, 1.0, 2.0, 0.0, 3.0, 4.0]);
        assert!((0..6).all(|particle| whole.neighbourhood_best(particle) == 0));
    }

    #[test]
    fn among_equals_a_particle_follows_itself() {
        let swarm = told(SETTINGS, &[1.0; 6]);
        assert!((0..6).all(|particle| swarm.neighbourhood_best(particle) == particle));
    }

    /// One step of Algorithm 1 worked out by hand from the same random numbers.
    #[test]
    fn a_particle_moves_as_worked_out_by_hand() {
        let settings = RingSettings { particles: 2, ring: 1, velocity_limit: 1.0, ..SETTINGS };
        let state = RingState {
            told: 7,
            positions: vec![vec![2.0], vec![6.0]],
            velocities: vec![vec![0.5], vec![-0.25]],
            best_positions: vec![vec![3.0], vec![5.0]],
            best_fitness: vec![-2.0, -1.0],
        };
        let mut swarm = RingSwarm::restore(settings, &[0.0], &[10.0], 42, state);
        let [own, shared] = Stream::new(42, Purpose::SwarmMove).uniform_pair(7, 0, 0);
        let velocity = 0.72981 * 0.5 + 1.49618 * own * (3.0 - 2.0) + 1.49618 * shared * (5.0 - 2.0);
        let positions = swarm.ask().to_vec();
        assert!((positions[0][0] - (2.0 + velocity)).abs() < 1e-12);
        // Particle 1 is its own leader, so both pulls go to 5.
        let [own, shared] = Stream::new(42, Purpose::SwarmMove).uniform_pair(7, 1, 0);
        let velocity = 0.72981 * -0.25 + 1.49618 * (own + shared) * (5.0 - 6.0);
        assert!((positions[1][0] - (6.0 + velocity)).abs() < 1e-12);
    }

    #[test]
    fn velocity_and_position_are_limited() {
        let state = RingState {
            told: 1,
            positions: vec![vec![9.5], vec![9.9]],
            velocities: vec![vec![100.0], vec![100.0]],
            best_positions: vec![vec![9.5], vec![9.9]],
            best_fitness: vec![0.0, 0.0],
        };
        let mut swarm = RingSwarm::restore(RingSettings { particles: 2, ..SETTINGS }, &[0.0], &[10.0], 1, state);
        assert_eq!(swarm.ask(), [vec![10.0], vec![10.0]]);
        assert_eq!(swarm.state().velocities, [vec![1.0], vec![1.0]]);
    }

    #[test]
    fn only_a_strictly_better_position_replaces_the_best() {
        let mut swarm = told(SETTINGS, &[1.0; 6]);
        let before = swarm.state().best_positions.clone();
        swarm.ask();
        swarm.tell(&[1.0; 6]);
        assert_eq!(swarm.state().best_positions, before);
        let asked = swarm.ask()[3].clone();
        swarm.tell(&[0.0, 0.0, 0.0, 1.5, 0.0, f64::NAN]);
        assert_eq!(swarm.state().best_positions[3], asked);
        assert_eq!(swarm.best(), (&asked[..], 1.5));
        assert_eq!(swarm.state().best_positions[5], before[5]);
    }

    #[test]
    fn asking_twice_moves_once() {
        let mut swarm = told(SETTINGS, &[5.0, 1.0, 2.0, 0.0, 3.0, 4.0]);
        let first = swarm.ask().to_vec();
        assert_eq!(swarm.ask(), first);
    }

    #[test]
    fn telling_minus_infinity_for_what_is_not_better_changes_nothing() {
        let fitness = |x: &Vec<f64>| -(x[0] - 3.0).powi(2) - (x[1] - 7.0).abs();
        let mut full = RingSwarm::new(SETTINGS, &[0.0; 2], &[10.0; 2], 5);
        let mut pruned = full.clone();
        for _ in 0..50 {
            let told: Vec<f64> = full.ask().iter().map(fitness).collect();
            full.tell(&told);
            let told: Vec<f64> = pruned.ask().iter().map(fitness).collect();
            let told: Vec<f64> = told
                .iter()
                .zip(pruned.to_beat())
                .map(|(f, best)| if f > best { *f } else { f64::NEG_INFINITY })
                .collect();
            pruned.tell(&told);
        }
        assert_eq!(full.state(), pruned.state());
    }
}
