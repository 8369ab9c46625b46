//! The rows of a log in their order, as far as that is known before anything is imported: enough to look at a
//! column's past and future without looking across a gap.

use std::collections::HashMap;

use super::super::import::episode_ranks;
use super::super::table::{Column, Kind, Table};
use super::{Guess, next_name};

/// A step that takes longer than so many usual ones is a gap, and one that is so much shorter is none.
const GAP: f64 = 1.5;

/// Cells that are looked at, at most; rows that are in any case; and the parts of a longer log that they are in.
const MOST_CELLS: usize = 4_000_000;
const FEWEST: usize = 10_000;
const PARTS: usize = 20;

/// Rows without movement from which a plant has stopped.
const STANDSTILL: usize = 4;

/// Rows in the order of episodes and time.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rows {
    /// Rows of the table.
    order: Vec<u32>,
    /// Of each place in this order, where its stretch begins and where it ends.
    stretches: Vec<(u32, u32)>,
}

impl Rows {
    /// The order of a table's rows, by what is known of time, episodes and ends.
    pub(super) fn of(table: &Table, guess: &Guess) -> Self {
        let values = |title: &Option<String>| -> Option<&[f64]> {
            Some(table.column(std::slice::from_ref(title.as_ref()?))?.values.as_ref())
        };
        let ranks = values(&guess.episode).map(episode_ranks);
        let rank = |row: u32| ranks.as_ref().map_or(0, |ranks| ranks[row as usize]);
        let time = values(&guess.time);
        // An import refuses a log of more rows than that.
        let mut order: Vec<u32> = (0..u32::try_from(table.rows).unwrap_or(u32::MAX)).collect();
        if ranks.is_some() {
            order.sort_by_key(|&row| rank(row));
        }
        if let Some(time) = time {
            let steps = || order.windows(2).map(|pair| step(time, pair[0], pair[1]));
            // Some historians write the newest row first.
            if 2 * steps().filter(|step| *step < 0.0).count() > order.len() {
                order.reverse();
            }
        }
        let usual = time.map(|time| usual_step(&order, time));
        let ends = [values(&guess.terminal), values(&guess.truncated)];
        let partners = guess.next.as_ref().map(|pattern| partners(table, pattern));
        let follows = |before: u32, after: u32| {
            let at = |values: &[f64], row: u32| values[row as usize];
            let in_time = match (time, usual) {
                (Some(time), Some(usual)) => {
                    let step = step(time, before, after);
                    step > 0.0 && (usual <= 0.0 || (usual / GAP..=usual * GAP).contains(&step))
                }
                _ => true,
            };
            let goes_on = partners.as_ref().is_none_or(|partners| {
                partners.iter().all(|(state, next)| at(&next.values, before) == at(&state.values, after))
            });
            let ended = ends.iter().flatten().any(|flags| at(flags, before) == 1.0);
            rank(before) == rank(after) && in_time && goes_on && !ended
        };
        let mut rows = Self { order: Vec::new(), stretches: Vec::new() };
        for stretch in parts(&order, MOST_CELLS / table.columns.len().max(1))
            .flat_map(|part| part.chunk_by(|before, after| follows(*before, *after)))
        {
            let stretch = without_standstill(stretch, table);
            let begin = rows.order.len() as u32;
            rows.order.extend_from_slice(stretch);
            rows.stretches.resize(rows.order.len(), (begin, rows.order.len() as u32));
        }
        rows
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    /// A column's values in this order.
    pub(super) fn values(&self, column: &Column) -> Vec<f64> {
        self.order.iter().map(|&row| column.values[row as usize]).collect()
    }

    /// How many places of the same stretch stand before a place, and how many after it.
    pub(super) fn around(&self, place: usize) -> (usize, usize) {
        let (begin, end) = self.stretches[place];
        (place - begin as usize, end as usize - 1 - place)
    }

    /// The stretches, from place to place.
    pub(super) fn stretches(&self) -> impl Iterator<Item = std::ops::Range<usize>> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let (begin, end) = *self.stretches.get(at)?;
            at = end as usize;
            Some(begin as usize..at)
        })
    }

    /// Neighbouring places of the same stretch, by the later one.
    pub(super) fn steps(&self) -> impl Iterator<Item = usize> {
        (0..self.len()).filter(|place| (self.stretches[*place].0 as usize) < *place)
    }
}

/// All rows, or, of a long log, parts that are spread over it.
fn parts(order: &[u32], most: usize) -> impl Iterator<Item = &[u32]> {
    let (count, length) = match order.len() {
        rows if rows <= most.max(FEWEST) => (1, rows),
        _ => (PARTS, most.max(FEWEST) / PARTS),
    };
    let between = (order.len() - length) / (count - 1).max(1);
    (0..count).map(move |part| &order[part * between..part * between + length])
}

/// The rows of a stretch but those at its end in which half of all that moved before stands still: a plant that has
/// stopped is moved by nothing, and would hide what moved it.
fn without_standstill<'a>(stretch: &'a [u32], table: &Table) -> &'a [u32] {
    let Some(&last) = stretch.last() else { return stretch };
    let at = |column: &Column, row: u32| column.values[row as usize];
    let numbers = table.columns.iter().filter(|column| column.kind == Kind::Number);
    let mut still: Vec<usize> = numbers
        .map(|column| stretch.iter().rev().take_while(|row| at(column, **row) == at(column, last)).count())
        .filter(|still| *still < stretch.len())
        .collect();
    still.sort_unstable_by(|a, b| b.cmp(a));
    match still.get(still.len().div_ceil(2).saturating_sub(1)) {
        // The step into it may be a jump.
        Some(&rows) if still.len() > 1 && rows >= STANDSTILL => &stretch[..stretch.len() - rows],
        _ => stretch,
    }
}

/// The time from a row to another.
fn step(time: &[f64], from: u32, to: u32) -> f64 {
    time[to as usize] - time[from as usize]
}

/// The median of the steps in time that go forward.
fn usual_step(order: &[u32], time: &[f64]) -> f64 {
    let mut steps: Vec<f64> =
        order.windows(2).map(|pair| step(time, pair[0], pair[1])).filter(|step| *step > 0.0).collect();
    if steps.is_empty() {
        return 0.0;
    }
    let middle = steps.len() / 2;
    *steps.select_nth_unstable_by(middle, f64::total_cmp).1
}

/// Columns, each with the one that holds its next value.
pub(super) fn partners<'a>(table: &'a Table, pattern: &str) -> Vec<(&'a Column<'a>, &'a Column<'a>)> {
    let by_title: HashMap<&str, &'a Column> =
        table.columns.iter().rev().map(|column| (column.title.as_str(), column)).collect();
    let partner = |state: &'a Column| Some((state, *by_title.get(next_name(pattern, &state.title).as_str())?));
    table.columns.iter().filter_map(partner).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::table;
    use super::*;

    fn stretches(text: &str, guess: &Guess) -> Vec<Vec<u32>> {
        let rows = Rows::of(&table(text), guess);
        rows.stretches().map(|places| rows.order[places].to_vec()).collect()
    }

    #[test]
    fn rows_hang_together_within_episodes_and_between_gaps_and_ends() {
        let guess = Guess { time: Some("t".into()), ..Guess::default() };
        assert_eq!(stretches("t,x\n0,1\n1,2\n2,3\n9,4\n10,5\n", &guess), [vec![0, 1, 2], vec![3, 4]]);
        assert_eq!(stretches("t,x\n4,1\n3,2\n2,3\n1,3\n", &guess), [[3, 2, 1, 0]]);
        let guess = Guess { episode: Some("e".into()), ..Guess::default() };
        assert_eq!(stretches("e,x\na,1\nb,2\na,3\nb,4\n", &guess), [[0, 2], [1, 3]]);
        let guess = Guess { terminal: Some("done".into()), ..Guess::default() };
        assert_eq!(stretches("x,done\n1,0\n2,1\n3,0\n", &guess), [vec![0, 1], vec![2]]);
        let guess = Guess { next: Some("next_".into()), ..Guess::default() };
        assert_eq!(stretches("x,next_x\n1,2\n2,3\n5,6\n", &guess), [vec![0, 1], vec![2]]);
        assert_eq!(stretches("x,y\n1,2\n2,3\n", &Guess::default()), [[0, 1]]);
    }

    #[test]
    fn rows_after_the_end_of_a_plant_are_left_out() {
        let text = "e,x,v,u\n0,1,1,1\n0,2,2,7\n0,3,0,1\n0,3,0,2\n0,3,0,5\n0,3,0,4\n1,4,1,1\n1,5,2,2\n1,5,3,2\n";
        let guess = Guess { episode: Some("e".into()), ..Guess::default() };
        assert_eq!(stretches(text, &guess), [vec![0, 1], vec![6, 7, 8]]);
    }

    #[test]
    fn of_a_long_log_parts_are_looked_at() {
        let order: Vec<u32> = (0..1_000_000).collect();
        let parts = |rows: usize, most: usize| super::parts(&order[..rows], most).collect::<Vec<_>>();
        let spread = parts(1_000_000, 200_000);
        assert_eq!((spread.len(), spread.iter().map(|part| part.len()).sum::<usize>()), (PARTS, 200_000));
        assert!(spread[0][0] == 0 && spread[19].last() > Some(&999_900));
        assert_eq!((parts(7, 0), parts(0, 5).len()), (vec![&order[..7]], 1));
    }

    #[test]
    fn places_know_their_past_and_their_future() {
        let guess = Guess { time: Some("t".into()), ..Guess::default() };
        let rows = Rows::of(&table("t,x\n0,1\n1,2\n2,3\n9,4\n10,5\n"), &guess);
        assert_eq!(
            (0..5).map(|place| rows.around(place)).collect::<Vec<_>>(),
            [(0, 2), (1, 1), (2, 0), (0, 1), (1, 0)]
        );
        assert_eq!(rows.steps().collect::<Vec<_>>(), [1, 2, 4]);
    }
}
