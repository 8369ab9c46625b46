//! Counted choices: what is changed in an input is a function of (seed, target, counter, change, number of the choice).

use fpsrl::random::{Purpose, Stream};

/// The choices of one change.
#[derive(Clone, Debug)]
pub struct Draw {
    stream: Stream,
    iteration: u32,
    particle: u32,
    next: u32,
    words: [u32; 4],
    left: usize,
}

impl Draw {
    /// The choices of a change of an input.
    ///
    /// ```
    /// use fpsrl_fuzz::draw::Draw;
    /// let choices = |counter| { let mut draw = Draw::new(1, 2, counter, 0); [draw.below(100), draw.below(100)] };
    /// assert_eq!(choices(7), choices(7));
    /// assert_ne!(choices(7), choices(8));
    /// ```
    pub fn new(seed: u64, target: u16, counter: u32, change: u16) -> Self {
        let stream = Stream::new(seed, Purpose::Attack);
        let particle = u32::from(target) << 16 | u32::from(change);
        Self { stream, iteration: counter, particle, next: 0, words: [0; 4], left: 0 }
    }

    /// A random word.
    pub fn word(&mut self) -> u32 {
        if self.left == 0 {
            self.words = self.stream.words(self.iteration, self.particle, self.next);
            self.next = self.next.wrapping_add(1);
            self.left = 4;
        }
        self.left -= 1;
        self.words[self.left]
    }

    /// A number below a count; 0 if that is 0.
    pub fn below(&mut self, count: usize) -> usize {
        ((u64::from(self.word()) * count as u64) >> 32) as usize
    }

    /// Whether one of so many cases has come up.
    pub fn one_in(&mut self, cases: usize) -> bool {
        self.below(cases) == 0
    }

    /// One of some values, of which there must be at least one.
    pub fn pick<'a, T>(&mut self, values: &'a [T]) -> &'a T {
        &values[self.below(values.len())]
    }

    /// A range within a length: short ones are as likely as long ones.
    pub fn range(&mut self, length: usize) -> std::ops::Range<usize> {
        let begin = self.below(length + 1);
        let most = match self.below(3) {
            0 => 4,
            1 => 64,
            _ => length,
        };
        begin..(begin + self.below(most.min(length - begin) + 1))
    }
}
