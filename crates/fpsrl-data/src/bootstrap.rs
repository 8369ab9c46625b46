//! Bootstrap: a log that is drawn from a log, whole episodes with replacement.
//!
//! What a search finds on many such draws says how much of it hangs on which episodes happened to be recorded (Efron:
//! *Bootstrap methods: another look at the jackknife*, 1979; drawn in blocks, because rows that follow each other are not
//! independent). Copies stay recognisable ([`Transitions::drawn_from`]), so that whoever judges never gets a copy of what was
//! learned from.

use std::ops::Range;

use fpsrl_base::error::{Error, Result};
use fpsrl_base::random::{Purpose, Stream};

use crate::{System, Transitions, history};

/// With fewer episodes than this, stretches of them are drawn instead.
pub const FEWEST_EPISODES: usize = 10;

/// A log is cut into so many stretches at least, and at most, where its episodes are too few.
const STRETCHES: Range<usize> = 20..100;

/// Rows without which a draw says nothing.
const FEWEST_ROWS: usize = 2 * STRETCHES.start;

/// The draw of this number, from 1 up, from a log; as long as the log, but for what episodes of different lengths bring with
/// them. It depends on the log and the number alone.
///
/// ```
/// use fpsrl_base::progress::Progress;
/// use fpsrl_data::{DataSettings, System, bootstrap, generate};
/// let system = System::benchmark("mountain-car")?;
/// let settings = DataSettings { samples: 4_000, ..DataSettings::for_plant(system.plant()) };
/// let log = generate(&system, &settings, &Progress::silent())?;
/// let drawn = bootstrap::draw(&system, &log, 1)?;
/// assert_eq!(drawn, bootstrap::draw(&system, &log, 1)?);
/// assert_ne!(drawn, bootstrap::draw(&system, &log, 2)?);
/// # Ok::<(), fpsrl_base::Error>(())
/// ```
pub fn draw(system: &System, log: &Transitions, number: u32) -> Result<Transitions> {
    if number == 0 {
        return Err(Error::setting("bootstrap", 0, "draws are counted from 1 up", "ask for draw 1"));
    }
    if log.len() < FEWEST_ROWS {
        let rule = format!("a draw needs a log of at least {FEWEST_ROWS} rows");
        return Err(Error::setting(
            "bootstrap",
            format!("of {} rows", log.len()),
            rule,
            "record more, or draw nothing",
        ));
    }
    let blocks = blocks(system, log);
    let stream = Stream::new(0, Purpose::Bootstrap);
    let mut drawn: Vec<usize> = (0..blocks.len())
        .map(|pick| (stream.uniform(number, pick as u32, 0) * blocks.len() as f64) as usize)
        .map(|block| block.min(blocks.len() - 1))
        .collect();
    // In the order of time: then the draw is a log like any other.
    drawn.sort_unstable();
    let rows: Vec<usize> = drawn.iter().flat_map(|block| blocks[*block].clone()).collect();
    let mut transitions = log.rows(&rows);
    let mut row = 0;
    for (episode, block) in drawn.into_iter().enumerate() {
        for step in 0..blocks[block].len() {
            transitions.episode[row] = episode as u64;
            transitions.step[row] = step as u64;
            row += 1;
        }
    }
    transitions.drawn_from = Some(match &log.drawn_from {
        // A draw of a draw knows the first log.
        Some(origin) => rows.iter().map(|&row| origin[row]).collect(),
        None => rows.iter().map(|&row| row as u64).collect(),
    });
    // Rows have other places now, and what rollouts follow is told by place.
    history::derive(system, &mut transitions);
    Ok(transitions)
}

/// What is drawn: the episodes, or stretches of them where they are few.
fn blocks(system: &System, log: &Transitions) -> Vec<Range<usize>> {
    let mut episodes: Vec<Range<usize>> = Vec::new();
    for row in 0..log.len() {
        match episodes.last_mut() {
            Some(episode) if log.episode[row] == log.episode[episode.start] => episode.end = row + 1,
            _ => episodes.push(row..row + 1),
        }
    }
    if episodes.len() >= FEWEST_EPISODES {
        return episodes;
    }
    // Long enough for a rollout to follow, as far as there is enough of the log.
    let wanted = (log.len() / (2 * system.horizon()).max(1)).clamp(STRETCHES.start, STRETCHES.end);
    let length = (log.len() / wanted).max(1);
    let cut = |episode: Range<usize>| {
        let pieces = (episode.len() / length).max(1);
        let at = move |piece: usize| episode.start + episode.len() * piece / pieces;
        (0..pieces).map(|piece| at(piece)..at(piece + 1)).collect::<Vec<_>>()
    };
    episodes.into_iter().flat_map(cut).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::split;

    fn log(lengths: &[usize]) -> (System, Transitions) {
        let system = System::benchmark("mountain-car").unwrap();
        let mut log = Transitions::new(2, 1);
        for (episode, length) in lengths.iter().enumerate() {
            for step in 0..*length {
                log.episode.push(episode as u64);
                log.step.push(step as u64);
                let value = log.rewards.len() as f64;
                log.states.iter_mut().chain(&mut log.actions).for_each(|column| column.push(value));
                log.next_states.iter_mut().for_each(|column| column.push(value + 1.0));
                log.rewards.push(value);
            }
        }
        (system, log)
    }

    #[test]
    fn whole_episodes_are_drawn_and_rows_go_on_only_within_them() {
        let lengths: Vec<usize> = (5..35).collect();
        let (system, log) = log(&lengths);
        let drawn = draw(&system, &log, 3).unwrap();
        let mut copies: HashMap<u64, usize> = HashMap::new();
        for row in 0..drawn.len() {
            if let Some(next) = drawn.successor(row) {
                assert_eq!(drawn.next_states[0][row], drawn.states[0][next]);
                assert_eq!(drawn.step[row] + 1, drawn.step[next]);
            } else {
                let last = drawn.rewards[row] as usize;
                assert!(log.successor(last).is_none(), "an episode is cut after row {last}");
                *copies.entry(log.episode[last]).or_default() += 1;
            }
        }
        assert_eq!(copies.values().sum::<usize>(), 30);
        assert!(copies.len() < 30 && copies.values().any(|count| *count > 1));
        let origin = drawn.drawn_from.as_ref().unwrap();
        assert!(origin.iter().zip(&drawn.rewards).all(|(origin, reward)| *origin as f64 == *reward));
    }

    #[test]
    fn of_few_episodes_stretches_are_drawn() {
        let (system, log) = log(&[700, 300]);
        let drawn = draw(&system, &log, 1).unwrap();
        assert!((900..=1100).contains(&drawn.len()), "{}", drawn.len());
        assert!(drawn.episode.last().unwrap() + 1 >= 19);
        assert!((0..drawn.len()).all(|row| drawn.successor(row).is_none_or(|next| next == row + 1)));
        assert!(draw(&system, &log.rows(&[0, 1, 2]), 1).unwrap_err().to_string().contains("at least 40 rows"));
        assert!(draw(&system, &log, 0).is_err());
    }

    #[test]
    fn copies_are_never_on_both_sides_of_a_judge() {
        let (system, log) = log(&[20; 40]);
        let drawn = draw(&system, &log, 2).unwrap();
        let origin = drawn.drawn_from.clone().unwrap();
        let groups = split::groups(&drawn, 5, 1);
        let mut side: HashMap<u64, usize> = HashMap::new();
        for (row, group) in groups.iter().enumerate() {
            assert_eq!(side.entry(origin[row]).or_insert(*group), group);
        }
        assert!((0..5).all(|group| groups.contains(&group)));
        let split = split::Split::new(drawn.len(), 1).unwrap().with_copies_together(&origin);
        let mut all = [split.training.clone(), split.validation.clone(), split.generalisation.clone()].concat();
        all.sort_unstable();
        assert!(all.into_iter().eq(0..drawn.len()));
        assert!(split.validation.iter().all(|row| split.training.iter().all(|other| origin[*other] != origin[*row])));
    }

    #[test]
    fn a_draw_reads_back_from_its_file() {
        let (system, log) = log(&[20; 12]);
        let drawn = draw(&system, &log, 1).unwrap();
        let mut text = Vec::new();
        crate::csv::write_to(&mut text, &system, &drawn).unwrap();
        assert_eq!(crate::csv::read_from(&text[..], "t.csv".as_ref(), &system).unwrap(), drawn);
    }
}
