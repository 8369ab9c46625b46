//! Counted random numbers: each one is a function of (seed, purpose, iteration, particle, dimension).
//!
//! Philox4x32-10 (Salmon, Moraes, Dror, Shaw: *Parallel random numbers: as easy as 1, 2, 3*, 2011)
//! encrypts a counter of four words under a key of two. The four words are just our four indices, so
//! no generator has a state that threads could race for or that a resumed search would have to restore.

/// What a random number is for. Streams of different purposes never share a number.
///
/// The values are part of what a seed means: never renumber them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Purpose {
    /// Random actions of a generated log.
    LogAction = 1,
    /// Start states of a generated log's episodes.
    LogStart = 2,
    /// Start states that the search sees.
    SearchStart = 3,
    /// Start states of the evaluation, never seen by the search.
    TestStart = 4,
    /// Which rows train, validate and generalise.
    Split = 5,
    /// Initial weights of networks.
    Weights = 6,
    /// The order of rows in mini-batches.
    Shuffle = 7,
    /// First positions of particles.
    SwarmStart = 8,
    /// The two random factors of a particle's move.
    SwarmMove = 9,
    /// Initial weights of NFQ's networks.
    QWeights = 10,
    /// First plans of PSO-P.
    PlanStart = 11,
    /// The random factors of a plan's move.
    PlanMove = 12,
    /// Regulators that plans begin from.
    PlanFeedback = 13,
    /// First positions of a differential evolution.
    ShadeStart = 30,
    /// Scales and crossover rates of its trials.
    ShadeSettings = 31,
    /// Who meets whom in its trials, and which parameters are crossed.
    ShadeMove = 32,
    /// Who leaves its archive.
    ShadeArchive = 33,
    /// First means of an evolution of covariances.
    CmaStart = 34,
    /// Its samples.
    CmaSample = 35,
    /// The seeds of the tries of a race.
    Race = 36,
    /// States that exports are tested on.
    ExportVector = 60,
    /// Which rows a member of an ensemble is learned from.
    Draw = 20,
    /// Which episodes belong together: those of the judge, those that a member leaves out.
    Fold = 21,
    /// Start states that promises are made from.
    JudgeStart = 23,
    /// The seeds of an ensemble's members.
    Member = 22,
    /// Inputs of rollouts that are drawn.
    Scenario = 24,
    /// Which rows a tree of a forest sees, and which inputs a split may divide.
    Forest = 40,
    /// Which rows a Gaussian process learns its covariance from, and which become its centres.
    Process = 41,
    /// Which episodes of a log are drawn, with replacement, for a run of a sweep.
    Bootstrap = 70,
    /// What a standing attack changes in files that are read.
    Attack = 80,
}

/// A source of random numbers for one seed and one purpose.
///
/// ```
/// use fpsrl_base::random::{Purpose, Stream};
/// let stream = Stream::new(1, Purpose::SwarmMove);
/// let number = stream.uniform(10, 3, 0);
/// assert!((0.0..1.0).contains(&number));
/// assert_eq!(number, Stream::new(1, Purpose::SwarmMove).uniform(10, 3, 0));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Stream {
    key: [u32; 2],
    purpose: u32,
}

impl Stream {
    /// The stream of a seed for a purpose.
    pub fn new(seed: u64, purpose: Purpose) -> Self {
        Self { key: [seed as u32, (seed >> 32) as u32], purpose: purpose as u32 }
    }

    /// The four random words at an index.
    pub fn words(&self, iteration: u32, particle: u32, dimension: u32) -> [u32; 4] {
        philox([self.purpose, iteration, particle, dimension], self.key)
    }

    /// A number from [0, 1), with all 53 bits of an `f64` random.
    pub fn uniform(&self, iteration: u32, particle: u32, dimension: u32) -> f64 {
        self.uniform_pair(iteration, particle, dimension)[0]
    }

    /// Two independent numbers from [0, 1).
    pub fn uniform_pair(&self, iteration: u32, particle: u32, dimension: u32) -> [f64; 2] {
        let [a, b, c, d] = self.words(iteration, particle, dimension);
        [unit(a, b), unit(c, d)]
    }

    /// A number from [low, high).
    pub fn within(&self, low: f64, high: f64, iteration: u32, particle: u32, dimension: u32) -> f64 {
        low + (high - low) * self.uniform(iteration, particle, dimension)
    }

    /// A standard normal number (Box-Muller).
    pub fn normal(&self, iteration: u32, particle: u32, dimension: u32) -> f64 {
        let [u, v] = self.uniform_pair(iteration, particle, dimension);
        // 1 - u lies in (0, 1], so that the logarithm is finite.
        (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }

    /// A random permutation of `0..count`; different `iteration`s give different ones.
    pub fn permutation(&self, count: usize, iteration: u32) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        for last in (1..count).rev() {
            let pick = (self.uniform(iteration, last as u32, 0) * (last + 1) as f64) as usize;
            order.swap(last, pick);
        }
        order
    }
}

fn unit(high: u32, low: u32) -> f64 {
    let bits = (u64::from(high) << 32 | u64::from(low)) >> 11;
    bits as f64 / (1u64 << 53) as f64
}

fn philox(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..10 {
        let first = 0xD251_1F53_u64 * u64::from(counter[0]);
        let second = 0xCD9E_8D57_u64 * u64::from(counter[2]);
        counter = [
            (second >> 32) as u32 ^ counter[1] ^ key[0],
            second as u32,
            (first >> 32) as u32 ^ counter[3] ^ key[1],
            first as u32,
        ];
        key = [key[0].wrapping_add(0x9E37_79B9), key[1].wrapping_add(0xBB67_AE85)];
    }
    counter
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The known answers that the authors of Philox publish with Random123.
    #[test]
    fn philox_gives_the_published_words() {
        assert_eq!(philox([0; 4], [0; 2]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        assert_eq!(philox([u32::MAX; 4], [u32::MAX; 2]), [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
        assert_eq!(
            philox([0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344], [0xa409_3822, 0x299f_31d0]),
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]
        );
    }

    #[test]
    fn uniform_numbers_fill_the_unit_interval_evenly() {
        let stream = Stream::new(7, Purpose::LogAction);
        let mut counts = [0usize; 10];
        for particle in 0..10_000 {
            counts[(stream.uniform(0, particle, 0) * 10.0) as usize] += 1;
        }
        // Ten cells of 1,000 expected: 200 is more than six standard deviations.
        assert!(counts.iter().all(|&count| count.abs_diff(1_000) < 200), "{counts:?}");
    }

    #[test]
    fn normal_numbers_have_mean_zero_and_variance_one() {
        let stream = Stream::new(7, Purpose::Weights);
        let numbers: Vec<f64> = (0..20_000).map(|index| stream.normal(0, index, 0)).collect();
        let mean = numbers.iter().sum::<f64>() / 20_000.0;
        let variance = numbers.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 20_000.0;
        assert!(mean.abs() < 0.04 && (variance - 1.0).abs() < 0.05, "{mean} {variance}");
    }

    #[test]
    fn a_permutation_holds_every_index_once() {
        let mut order = Stream::new(3, Purpose::Split).permutation(1_000, 0);
        assert_ne!(order[..5], [0, 1, 2, 3, 4]);
        order.sort_unstable();
        assert!(order.iter().copied().eq(0..1_000));
    }
}
