//! What inputs do in rollouts: a tape with a place for each row of the log.
//!
//! A state holds the place that it is at; a step goes on to the next one of the same episode, and at the end of an episode
//! everything stays as it is. Whatever the inputs follow, the log, a range or a file of scenarios, becomes such a tape.

use fpsrl_base::error::Result;
use fpsrl_base::progress::Progress;
use fpsrl_base::random::{Purpose, Stream};

use crate::log::{TextOptions, read};
use crate::system::{InputRule, StateVariable};
use crate::{System, Transitions};

/// The inputs of rollouts, place by place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tape {
    /// Of each place, the one after it; the last one of an episode is followed by itself.
    pub next: Vec<u32>,
    /// Of each input that does not stay as it is: its number among the state variables, and its value at each place.
    pub inputs: Vec<(usize, Vec<f64>)>,
}

impl Tape {
    /// The tape of a system with inputs; none without any.
    pub fn of(system: &System, transitions: &Transitions) -> Result<Option<Self>> {
        Self::read(system, transitions, &Progress::silent())
    }

    /// The same; a stop that is asked for is heard while a file of scenarios is read.
    pub fn read(system: &System, transitions: &Transitions, progress: &Progress) -> Result<Option<Self>> {
        if system.place().is_none() {
            return Ok(None);
        }
        let rows = transitions.len();
        let next = (0..rows).map(|row| transitions.successor(row).unwrap_or(row) as u32).collect();
        let mut inputs = Vec::new();
        for (variable, state) in system.states()[..system.current_states()].iter().enumerate() {
            let Some(input) = &state.input else { continue };
            let values = match &input.rollout {
                InputRule::Hold => continue,
                InputRule::Log => transitions.states[variable].clone(),
                InputRule::Range { range: [low, high], dwell } => {
                    let stream = Stream::new(system.seed(), Purpose::Scenario);
                    let value = |row: usize| stream.within(*low, *high, (row / dwell) as u32, variable as u32, 0);
                    // A mode has whole numbers only.
                    let whole = |value: f64| if input.values.is_empty() { value } else { value.round() };
                    (0..rows).map(|row| whole(value(row))).collect()
                }
                InputRule::File(file) => {
                    let column = scenario(file, state, progress)?;
                    (0..rows).map(|row| column[row % column.len()]).collect()
                }
            };
            inputs.push((variable, values));
        }
        Ok(Some(Self { next, inputs }))
    }

    /// Puts the inputs of a tape into start states, whose error follows from them.
    pub fn begin(&self, system: &System, states: &mut [Vec<f64>]) {
        let Some(place) = system.place() else { return };
        for state in states {
            let at = state[place] as usize;
            for (variable, values) in &self.inputs {
                state[*variable] = values.get(at).copied().unwrap_or(state[*variable]);
            }
            let errors: Vec<(usize, f64)> = system
                .states()
                .iter()
                .enumerate()
                .filter_map(|(variable, derived)| match derived.lag?.from {
                    crate::system::Carried::Error { state: of, set_point } => {
                        Some((variable, state[set_point] - state[of]))
                    }
                    _ => None,
                })
                .collect();
            errors.into_iter().for_each(|(variable, error)| state[variable] = error);
        }
    }
}

/// The column of an input in a file of scenarios.
fn scenario(file: &std::path::Path, state: &StateVariable, progress: &Progress) -> Result<Vec<f64>> {
    let names: Vec<String> = state.columns.iter().chain([&state.name]).cloned().collect();
    let wanted = |title: &str, name: &str| names.iter().any(|known| known == title || known == name);
    let mut table = read(file, &TextOptions::default(), &wanted, progress)?;
    if !state.values().is_empty() {
        table.number_words(&names, state.values(), &state.name)?;
    }
    let column = table.numbers(&names, "column")?;
    if let Some(row) = column.values.iter().position(|value| !value.is_finite()) {
        let hint = "a scenario needs a number in each row";
        return Err(table.fault(row, &column.title, "the cell is empty".into(), hint));
    }
    Ok(column.values.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::{History, Surroundings, WrittenSystem};

    /// A level that follows a set-point; the input's section goes on with a text.
    fn system(input: &str) -> System {
        let text = format!(
            "name = 'p'\nhorizon = 3\n[[state]]\nname = 'level'\ntracks = 'SP'\n[[input]]\nname = 'SP'\n{input}\n\
             [[action]]\nname = 'valve'\nlimits = [0.0, 1.0]\n"
        );
        let around = Surroundings { history: Some(History::Steps(0)), ..Surroundings::default() };
        toml::from_str::<WrittenSystem>(&text).unwrap().check(&around).unwrap()
    }

    /// Two episodes of three rows, in which level and set-point rise by one a row.
    fn log(system: &System) -> Transitions {
        let column = |first: f64| (0..6).map(|row| first + f64::from(row)).collect::<Vec<f64>>();
        let mut log = Transitions {
            episode: vec![0, 0, 0, 1, 1, 1],
            step: vec![0, 1, 2, 0, 1, 2],
            states: vec![column(0.0), column(10.0), vec![], vec![], vec![]],
            actions: vec![vec![0.5; 6]],
            next_states: vec![column(1.0), column(11.0), vec![], vec![], vec![]],
            rewards: vec![0.0; 6],
            terminated: None,
            drawn_from: None,
            carried: 3,
            inputs: 1,
        };
        crate::history::derive(system, &mut log);
        log
    }

    #[test]
    fn a_tape_follows_the_log_and_stays_where_an_episode_ends() {
        let system = system("");
        let log = log(&system);
        assert_eq!(log.states[2], [10.0; 6], "the error is the set-point less the level");
        assert_eq!((&log.states[3], &log.next_states[3]), (&vec![0.0; 6], &vec![10.0; 6]));
        assert_eq!(log.states[4], [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
        let tape = Tape::of(&system, &log).unwrap().unwrap();
        assert_eq!(tape.next, [1, 2, 2, 4, 5, 5]);
        assert_eq!(tape.inputs, [(1, log.states[1].clone())]);
    }

    #[test]
    fn inputs_may_be_held_or_drawn() {
        let held = system("rollout = 'hold'");
        assert!(Tape::of(&held, &log(&held)).unwrap().unwrap().inputs.is_empty());
        let drawn = system("range = [2.0, 4.0]\ndwell = 3");
        let tape = Tape::of(&drawn, &log(&drawn)).unwrap().unwrap();
        let values = &tape.inputs[0].1;
        assert!(values.iter().all(|value| (2.0..=4.0).contains(value)));
        assert!(values[0] == values[2] && values[2] != values[3] && values[3] == values[5], "{values:?}");
        // A start state begins with what the tape says, and its error follows.
        let mut starts = vec![vec![1.0, 10.0, 9.0, 0.0, 4.0]];
        tape.begin(&drawn, &mut starts);
        assert_eq!(starts[0], [1.0, values[4], values[4] - 1.0, 0.0, 4.0]);
    }

    #[test]
    fn scenarios_come_from_a_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("scenarios.csv");
        std::fs::write(&path, "t,SP\n0,7\n1,8\n").unwrap();
        let system = system(&format!("rollout = '{}'", path.display()));
        let tape = Tape::of(&system, &log(&system)).unwrap().unwrap();
        assert_eq!(tape.inputs[0].1, [7.0, 8.0, 7.0, 8.0, 7.0, 8.0]);
        std::fs::write(&path, "t,SP\n0,\n").unwrap();
        assert!(Tape::of(&system, &log(&system)).unwrap_err().to_string().contains("empty"));
    }

    #[test]
    fn stretches_are_dealt_out_whole() {
        let system = system("");
        let rows = 400;
        let log = Transitions { episode: vec![0; rows], rewards: vec![0.0; rows], ..Transitions::default() };
        let all: Vec<usize> = (0..rows).collect();
        let dealt = system.dealt(&log, &all, rows);
        let (search, others) = dealt.split_at(dealt.len() * 6 / 10);
        // A stretch is twice the horizon; none serves two purposes.
        let stretches = |rows: &[usize]| rows.iter().map(|row| row / 6).collect::<std::collections::BTreeSet<usize>>();
        let shared = stretches(search).intersection(&stretches(others)).count();
        assert!(shared <= 1, "{shared} stretches are shared");
        // A rollout finds its whole horizon in its own stretch.
        assert!(dealt.iter().all(|row| row % 6 <= 3 || *row >= 396), "{dealt:?}");
    }
}
