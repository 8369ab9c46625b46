//! The past of each transition: lagged values of states and actions, and how many of them a log asks for.
//!
//! [`remember`] widens transitions by the columns that a problem's memory names. [`choose`] tells how long a history must
//! be: small networks predict the changes of held-out rows from histories of growing length, all on the same rows, and
//! the shortest one is taken that is nearly as good as the best.

use rayon::prelude::*;
use serde::Serialize;

use super::Transitions;
use super::scaling::Scale;
use super::split::{FEWEST_ROWS, Split};
use crate::error::{Error, Result};
use crate::problem::{HISTORIES, History, Problem, Remembered, WrittenProblem};
use crate::random::{Purpose, Stream};
use crate::world::training::{Course, Samples, Shape, Trainer, Training, Tree, start};

/// Rows that histories are compared on, at most.
const COMPARED: usize = 3_000;

/// The networks that compare histories: neurons, epochs, and starts of which the best counts.
const NEURONS: usize = 6;
const EPOCHS: usize = 30;
const STARTS: u32 = 2;

/// A history is long enough if its error is at most this factor times the least one, and this share of the variance
/// more: what small networks differ by anyway.
const FACTOR: f64 = 1.3;
const SHARE: f64 = 0.003;

/// Which history a log got, and why.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct HistoryReport {
    /// Past steps that each transition carries.
    pub steps: usize,
    /// Transitions left out because they stand too near to the beginning of their episode.
    pub lost: usize,
    /// Of each history that was tried: its steps, and the share of the changes' variance that it leaves unexplained in
    /// held-out rows. Empty if the history was given.
    pub tried: Vec<(usize, f64)>,
}

/// Transitions of the variables that the user named, with actions as they were recorded, and where they hang together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recorded {
    pub(crate) transitions: Transitions,
    /// Of each row, whether it goes on where the row before it ended.
    pub(crate) follows: Vec<bool>,
}

impl Recorded {
    /// Of each row, how many rows before it hang together with it.
    fn past(&self) -> Vec<usize> {
        let mut past = 0;
        let longer = |follows: &bool| {
            past = if *follows { past + 1 } else { 0 };
            past
        };
        self.follows.iter().map(longer).collect()
    }
}

/// Widens transitions by what a problem remembers; rows without enough of a past are left out, and counted.
pub(crate) fn remember(problem: &Problem, recorded: Recorded) -> (Transitions, usize) {
    let longest = problem.longest_memory();
    if longest == 0 {
        return (recorded.transitions, 0);
    }
    let past = recorded.past();
    let all = &recorded.transitions;
    let rows: Vec<usize> = (0..all.len()).filter(|&row| past[row] >= longest).collect();
    let mut kept = all.rows(&rows);
    for memory in problem.states.iter().filter_map(|state| state.memory) {
        let column = match memory.of {
            Remembered::State(state) => &all.states[state],
            Remembered::Action(action) => &all.actions[action],
        };
        let back = |steps: usize| rows.iter().map(|row| column[row - steps]).collect::<Vec<f64>>();
        kept.states.push(back(memory.lag));
        kept.next_states.push(back(memory.lag - 1));
        kept.carried += 1;
    }
    for (index, _) in problem.actions.iter().enumerate().filter(|(_, action)| action.set_point.is_some()) {
        let column = &all.actions[index];
        kept.actions[index] = rows.iter().map(|&row| column[row] - column[row - 1]).collect();
    }
    // Steps are counted anew from the first one that is kept.
    let mut first = 0;
    for row in 0..kept.len() {
        if row == 0 || kept.episode[row] != kept.episode[row - 1] {
            first = kept.step[row];
        }
        kept.step[row] -= first;
    }
    let lost = all.len() - rows.len();
    (kept, lost)
}

/// A problem with the history that its log asks for, and how it was chosen; as it is if the history is given.
pub(crate) fn choose(problem: &Problem, recorded: &Recorded) -> Result<(Problem, HistoryReport)> {
    let Some(log) = &problem.data.log else { return Ok((problem.clone(), HistoryReport::default())) };
    if let History::Steps(steps) = log.history {
        return Ok((problem.clone(), HistoryReport { steps, ..HistoryReport::default() }));
    }
    // Without a history, memory is what the policy must see at least.
    let of_states = problem.states.iter().filter_map(|state| state.memory);
    let of_states = of_states.filter(|memory| matches!(memory.of, Remembered::State(_)));
    let least = of_states.map(|memory| memory.lag).max().unwrap_or(0);
    let most_states = 64 / (problem.current_states() + problem.actions.len()).max(1);
    let past = recorded.past();
    let rows_with = |steps: usize| past.iter().filter(|past| **past >= steps).count();
    let affordable = |steps: &usize| {
        *steps < most_states && rows_with(*steps) >= FEWEST_ROWS && 2 * rows_with(*steps) >= rows_with(0)
    };
    let candidates: Vec<usize> = HISTORIES.into_iter().filter(|steps| *steps >= least).filter(affordable).collect();
    let longest = candidates.iter().copied().max().unwrap_or(0);
    let rows: Vec<usize> = (0..past.len()).filter(|&row| past[row] >= longest).collect();
    let rows: Vec<usize> = rows.iter().copied().step_by(rows.len().div_ceil(COMPARED).max(1)).collect();
    let mut tried = Vec::new();
    if let Ok(split) = Split::new(rows.len(), problem.seed) {
        for &steps in &candidates {
            tried.push((steps, unexplained(problem, &recorded.transitions, &rows, &split, steps)));
        }
    }
    let best = tried.iter().map(|(_, error)| *error).fold(f64::INFINITY, f64::min);
    let enough = |error: f64| error <= FACTOR * best + SHARE;
    let steps = tried.iter().find(|(_, error)| enough(*error)).map_or(0, |(steps, _)| *steps).max(least);
    Ok((with_history(problem, steps)?, HistoryReport { steps, lost: 0, tried }))
}

/// The same problem with a given history.
fn with_history(problem: &Problem, steps: usize) -> Result<Problem> {
    let mut problem = problem.clone();
    let log = problem.data.log.as_mut().ok_or(Error::Internal("a history without a log"))?;
    log.history = History::Steps(steps);
    WrittenProblem::parse(&problem.to_toml(), "problem.toml".as_ref())?.check()
}

/// The share of the changes' variance that small networks leave unexplained in rows that chose their weights, the mean over
/// the state variables.
fn unexplained(problem: &Problem, log: &Transitions, rows: &[usize], split: &Split, steps: usize) -> f64 {
    let lagged = |column: &Vec<f64>, lag: usize| {
        let values: Vec<f64> = rows.iter().map(|row| column[row - lag]).collect();
        let scale = Scale::robust(&values);
        values.into_iter().map(|value| scale.apply(value)).collect::<Vec<f64>>()
    };
    let inputs: Vec<Vec<f64>> = (0..=steps)
        .flat_map(|lag| log.states.iter().chain(&log.actions).map(move |column| lagged(column, lag)))
        .collect();
    let shape = Shape::new(inputs.len(), NEURONS, 1);
    let errors: Vec<f64> = (0..problem.current_states())
        .into_par_iter()
        .map(|variable| {
            let changes = log.difference(variable, problem.states[variable].angle);
            let changes: Vec<f64> = rows.iter().map(|&row| changes[row]).collect();
            let scale = Scale::standard(&changes);
            let targets: Vec<f64> = changes.into_iter().map(|change| scale.apply(change)).collect();
            let part = |rows: &[usize]| Samples::of(&inputs, &targets, rows);
            let (training, validation) =
                (part(&split.training), part(&[&split.validation[..], &split.generalisation].concat()));
            let weights = Stream::new(problem.seed, Purpose::Weights);
            let of_start = |restart: u32| {
                let task = 1_000 + variable as u32;
                let parameters = start(&shape, &training, &Tree::none(), weights, task, restart);
                let course = Course {
                    trainer: Trainer::LevenbergMarquardt,
                    epochs: EPOCHS,
                    seed: problem.seed,
                    lane: task * 64 + restart,
                };
                let mut network = Training::new(course, &shape, parameters, &training, &validation);
                while network.epochs() < EPOCHS && network.epoch() {}
                network.error()
            };
            (0..STARTS).map(of_start).fold(f64::INFINITY, f64::min)
        })
        .collect();
    errors.iter().sum::<f64>() / errors.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str) -> Problem {
        let text = format!(
            "horizon = 10\n[[state]]\nname = 'x'\n[[action]]\nname = 'u'\nlimits = [0.0, 10.0]\n{text}\n[data]\n\
             file = 'log.csv'\n"
        );
        WrittenProblem::parse(&text, "p.toml".as_ref()).unwrap().check().unwrap()
    }

    /// Two episodes of five and three rows; in the first, something is missing between rows 2 and 3.
    fn recorded() -> Recorded {
        let states: Vec<f64> = vec![0.0, 1.0, 2.0, 4.0, 5.0, 10.0, 11.0, 12.0];
        let transitions = Transitions {
            episode: vec![0, 0, 0, 0, 0, 1, 1, 1],
            step: vec![0, 1, 2, 3, 4, 0, 1, 2],
            next_states: vec![states.iter().map(|value| value + 1.0).collect()],
            actions: vec![vec![3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0]],
            rewards: vec![0.0; 8],
            states: vec![states],
            ..Transitions::default()
        };
        Recorded { transitions, follows: vec![false, true, true, false, true, false, true, true] }
    }

    #[test]
    fn rows_get_their_past_and_those_without_one_are_left_out_and_counted() {
        let mut problem = problem("");
        problem = with_history(&problem, 1).unwrap();
        let (log, lost) = remember(&problem, recorded());
        assert_eq!((log.len(), lost, log.carried), (5, 3, 2));
        assert_eq!(
            log.states,
            [vec![1.0, 2.0, 5.0, 11.0, 12.0], vec![0.0, 1.0, 4.0, 10.0, 11.0], vec![3.0, 1.0, 1.0, 9.0, 2.0]]
        );
        assert_eq!(log.next_states[1], log.states[0]);
        assert_eq!(log.next_states[2], log.actions[0]);
        assert_eq!(log.step, [0, 1, 3, 0, 1]);
        let (log, lost) = remember(&with_history(&problem, 2).unwrap(), recorded());
        assert_eq!((log.len(), lost), (2, 6));
        assert_eq!(log.states[2], [0.0, 10.0]);
        assert_eq!(log.states[4], [3.0, 9.0]);
        assert_eq!(log.next_states[4], log.states[3]);
    }

    #[test]
    fn the_action_of_a_change_is_the_difference() {
        let problem = problem("change = true\nchange_limits = [-1.0, 1.0]");
        let (log, lost) = remember(&problem, recorded());
        assert_eq!(lost, 3);
        assert_eq!(log.actions, [vec![-2.0, 3.0, 4.0, -7.0, 4.0]]);
        assert_eq!(log.states[1], [3.0, 1.0, 1.0, 9.0, 2.0]);
        for row in 0..log.len() {
            assert_eq!(log.states[1][row] + log.actions[0][row], log.next_states[1][row]);
        }
    }
}
