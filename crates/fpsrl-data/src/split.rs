//! Which rows train, which choose, and which judge: 80 %, 10 % and 10 % (section 5.3 of the paper).

use std::collections::HashMap;
use std::ops::Range;

use super::Transitions;
use fpsrl_base::error::{Error, Result};
use fpsrl_base::random::{Purpose, Stream};

/// Fewer rows than this leave a validation set too small to choose weights by.
pub const FEWEST_ROWS: usize = 100;

/// Row numbers of the three parts. Every row is in exactly one.
///
/// ```
/// let split = fpsrl_data::split::Split::new(1_000, 7)?;
/// assert_eq!([split.training.len(), split.validation.len(), split.generalisation.len()], [800, 100, 100]);
/// # Ok::<(), fpsrl_base::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// Weights are changed by these.
    pub training: Vec<usize>,
    /// Weights are chosen by these.
    pub validation: Vec<usize>,
    /// Weights are judged by these, and nothing else depends on them.
    pub generalisation: Vec<usize>,
}

impl Split {
    /// Splits so many rows at random.
    pub fn new(rows: usize, seed: u64) -> Result<Self> {
        if rows < FEWEST_ROWS {
            return Err(Error::setting(
                "data.samples",
                rows,
                format!("a world model needs at least {FEWEST_ROWS} transitions, ten of them to validate"),
                "record or generate more transitions",
            ));
        }
        let order = Stream::new(seed, Purpose::Split).permutation(rows, 0);
        let part = rows / 10;
        let mut split = Self {
            validation: order[..part].to_vec(),
            generalisation: order[part..2 * part].to_vec(),
            training: order[2 * part..].to_vec(),
        };
        // Sums over rows then do not depend on more of the permutation than its parts.
        split.training.sort_unstable();
        split.validation.sort_unstable();
        split.generalisation.sort_unstable();
        Ok(split)
    }

    /// The same for rows some of which are copies of each other: all copies of a row go where the first of them is. Else what
    /// is to choose and to judge would have been learned by heart.
    ///
    /// ```
    /// let split = fpsrl_data::split::Split::new(200, 7)?;
    /// let twice: Vec<u64> = (0..200).map(|row| row / 2).collect();
    /// let split = split.with_copies_together(&twice);
    /// assert!(split.generalisation.iter().all(|row| split.training.iter().all(|other| twice[*other] != twice[*row])));
    /// # Ok::<(), fpsrl_base::Error>(())
    /// ```
    pub fn with_copies_together(self, drawn_from: &[u64]) -> Self {
        let rows = self.training.len() + self.validation.len() + self.generalisation.len();
        let mut part = vec![0; rows];
        for (number, rows) in [&self.training, &self.validation, &self.generalisation].into_iter().enumerate() {
            for &row in rows {
                // A split of other rows than these has no place here.
                if let Some(part) = part.get_mut(row) {
                    *part = number;
                }
            }
        }
        let mut first: HashMap<u64, usize> = HashMap::new();
        let mut parts: [Vec<usize>; 3] = Default::default();
        for (row, part) in part.into_iter().enumerate() {
            let part = match drawn_from.get(row) {
                Some(origin) => *first.entry(*origin).or_insert(part),
                None => part,
            };
            parts[part].push(row);
        }
        let [training, validation, generalisation] = parts;
        Self { training, validation, generalisation }
    }
}

/// Puts whole episodes into `count` groups of nearly equal numbers of rows at random; of each row, its group.
///
/// A log with fewer than two episodes a group is cut into stretches of rows instead. Of a bootstrap draw, copies of an
/// episode are in one group: else whoever judges would have seen what is judged.
///
/// ```
/// use fpsrl_data::{Transitions, split::groups};
/// let log = Transitions { episode: vec![1, 1, 2, 2, 3, 3, 4, 4], rewards: vec![0.0; 8], ..Transitions::default() };
/// let groups = groups(&log, 2, 7);
/// assert_eq!(groups.iter().filter(|group| **group == 0).count(), 4);
/// assert!(groups.chunks(2).all(|episode| episode[0] == episode[1]));
/// ```
pub fn groups(transitions: &Transitions, count: usize, seed: u64) -> Vec<usize> {
    let rows = transitions.len();
    let mut stretches: Vec<Range<usize>> = Vec::new();
    for row in 0..rows {
        match stretches.last_mut() {
            Some(stretch) if transitions.episode[row] == transitions.episode[stretch.start] => stretch.end = row + 1,
            _ => stretches.push(row..row + 1),
        }
    }
    let mut units = with_copies(transitions, stretches);
    if units.len() < 2 * count {
        let pieces = 4 * count;
        let piece = |piece: usize| rows * piece / pieces..rows * (piece + 1) / pieces;
        units = (0..pieces).map(|number| vec![piece(number)]).collect();
    }
    let mut group = vec![0; rows];
    let mut sizes = vec![0; count];
    for index in Stream::new(seed, Purpose::Fold).permutation(units.len(), 0) {
        let smallest = (0..count).min_by_key(|&group| sizes[group]).unwrap_or(0);
        for stretch in &units[index] {
            sizes[smallest] += stretch.len();
            group[stretch.clone()].fill(smallest);
        }
    }
    group
}

/// Each stretch by itself; of a bootstrap draw, each with its copies.
fn with_copies(transitions: &Transitions, stretches: Vec<Range<usize>>) -> Vec<Vec<Range<usize>>> {
    let Some(origin) = &transitions.drawn_from else {
        return stretches.into_iter().map(|stretch| vec![stretch]).collect();
    };
    let mut units: Vec<Vec<Range<usize>>> = Vec::new();
    let mut known: HashMap<u64, usize> = HashMap::new();
    for stretch in stretches {
        let unit = *known.entry(origin[stretch.start]).or_insert(units.len());
        match units.get_mut(unit) {
            Some(unit) => unit.push(stretch),
            None => units.push(vec![stretch]),
        }
    }
    units
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_in_exactly_one_part() {
        let split = Split::new(1_237, 3).unwrap();
        let mut all = [split.training.clone(), split.validation.clone(), split.generalisation.clone()].concat();
        all.sort_unstable();
        assert!(all.into_iter().eq(0..1_237));
        assert_eq!((split.validation.len(), split.generalisation.len()), (123, 123));
    }

    #[test]
    fn the_seed_decides_the_split() {
        assert_eq!(Split::new(500, 3).unwrap(), Split::new(500, 3).unwrap());
        assert_ne!(Split::new(500, 3).unwrap(), Split::new(500, 4).unwrap());
    }

    #[test]
    fn too_few_rows_are_refused_with_the_rule() {
        let error = Split::new(99, 3).unwrap_err();
        assert!(error.to_string().contains("at least 100 transitions"), "{error}");
        assert!(error.is_users() && error.hint().is_some());
    }
}
