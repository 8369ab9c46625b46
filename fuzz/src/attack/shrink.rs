//! What breaks, made small: changes are left out as long as it breaks, then bytes.

use std::time::{Duration, Instant};

use crate::input::Input;
use crate::mutate::{self, Known, MOST_CHANGES};

/// The longest that is spent on one input.
const LONGEST: Duration = Duration::from_secs(40);

/// The smallest input found that still breaks in the same way.
pub(super) fn shrunk(
    known: &[Known],
    (seed, target, counter): (u64, u16, u32),
    mut breaks: impl FnMut(&Input) -> bool,
) -> Input {
    let until = Instant::now() + LONGEST;
    let mut mask = u16::MAX;
    let mut best = mutate::input(known, seed, target, counter, mask);
    for change in 0..MOST_CHANGES {
        let fewer = mask & !(1 << change);
        let input = mutate::input(known, seed, target, counter, fewer);
        if input != best && Instant::now() < until && breaks(&input) {
            (mask, best) = (fewer, input);
        }
    }
    // Parts of half its length, of a quarter, and so on down.
    let mut length = best.bytes.len() / 2;
    while length > 0 && Instant::now() < until {
        let mut at = 0;
        while at < best.bytes.len() && Instant::now() < until {
            let mut bytes = best.bytes.clone();
            bytes.drain(at..(at + length).min(bytes.len()));
            let input = Input { name: best.name.clone(), bytes };
            if breaks(&input) {
                best = input;
            } else {
                at += length;
            }
        }
        length /= 2;
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_breaks_is_cut_down_to_what_matters() {
        let known = [Known::new(Input::new("a.csv", "one,two,three\n1,2,3\n4,5,6\nboom\n7,8,9\n"))];
        let breaks = |input: &Input| String::from_utf8_lossy(&input.bytes).contains("boom");
        let counter = (0..100).find(|counter| {
            let input = mutate::input(&known, 1, 0, *counter, u16::MAX);
            breaks(&input) && input != known[0].input
        });
        let small = shrunk(&known, (1, 0, counter.unwrap()), breaks);
        assert_eq!(small.bytes, b"boom");
    }
}
