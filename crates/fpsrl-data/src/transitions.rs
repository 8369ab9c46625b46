//! Recorded transitions: what the machine did.

use fpsrl_engine::angle::wrap_angle;
use fpsrl_engine::formula::{self, Formula};

/// Recorded transitions (state, action, next state, reward), a column a variable.
///
/// All columns have the same length. Names are those of the problem; their order is the problem's.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Transitions {
    /// Which episode a row belongs to.
    pub episode: Vec<u64>,
    /// Which step of its episode a row is.
    pub step: Vec<u64>,
    /// State before the action: `states[variable][row]`.
    pub states: Vec<Vec<f64>>,
    /// Action: `actions[variable][row]`.
    pub actions: Vec<Vec<f64>>,
    /// State after the action: `next_states[variable][row]`.
    pub next_states: Vec<Vec<f64>>,
    /// Reward of each row.
    pub rewards: Vec<f64>,
    /// Whether the episode was over after the row, nothing more to gain or lose; none if the log does not say.
    pub terminated: Option<Vec<bool>>,
    /// Of a bootstrap draw, which row of the whole log each row is; rows that stand here twice are copies. None of a log as it
    /// was recorded.
    pub drawn_from: Option<Vec<u64>>,
    /// How many state variables at the end are lagged, and do not move by themselves.
    pub carried: usize,
    /// How many state variables before those are inputs, which nothing predicts.
    pub inputs: usize,
}

impl Transitions {
    /// An empty log with room for so many variables.
    pub fn new(state_count: usize, action_count: usize) -> Self {
        Self {
            states: vec![Vec::new(); state_count],
            actions: vec![Vec::new(); action_count],
            next_states: vec![Vec::new(); state_count],
            ..Self::default()
        }
    }

    /// Number of transitions.
    ///
    /// ```
    /// assert!(fpsrl_data::Transitions::new(4, 1).is_empty());
    /// ```
    pub fn len(&self) -> usize {
        self.rewards.len()
    }

    /// Whether there is no transition.
    pub fn is_empty(&self) -> bool {
        self.rewards.is_empty()
    }

    /// Some of the rows, in the order given.
    pub fn rows(&self, rows: &[usize]) -> Self {
        let of = |column: &Vec<f64>| rows.iter().map(|&row| column[row]).collect();
        let all = |columns: &[Vec<f64>]| columns.iter().map(of).collect();
        Self {
            episode: rows.iter().map(|&row| self.episode[row]).collect(),
            step: rows.iter().map(|&row| self.step[row]).collect(),
            states: all(&self.states),
            actions: all(&self.actions),
            next_states: all(&self.next_states),
            rewards: of(&self.rewards),
            terminated: self.terminated.as_ref().map(|ended| rows.iter().map(|&row| ended[row]).collect()),
            drawn_from: self.drawn_from.as_ref().map(|origin| rows.iter().map(|&row| origin[row]).collect()),
            carried: self.carried,
            inputs: self.inputs,
        }
    }

    /// The rewards that a formula gives to the rows; they may be NaN.
    pub fn rewards_by(&self, formula: &Formula) -> Vec<f64> {
        let row_of = |columns: &[Vec<f64>], row: usize| columns.iter().map(|column| column[row]).collect::<Vec<f64>>();
        let of_row = |row: usize| {
            let [states, actions, nexts] =
                [&self.states, &self.actions, &self.next_states].map(|columns| row_of(columns, row));
            formula.evaluate(&formula::values(&states, &actions, &nexts))
        };
        (0..self.len()).map(of_row).collect()
    }

    /// Takes what a formula says off the rewards; where it makes no number, nothing.
    pub fn subtract(&mut self, costs: Option<&Formula>) {
        let Some(costs) = costs else { return };
        let costs = self.rewards_by(costs);
        self.rewards.iter_mut().zip(costs).for_each(|(reward, cost)| *reward -= cost.max(0.0));
    }

    /// How many state variables are not lagged; they come first.
    pub fn current_states(&self) -> usize {
        self.states.len() - self.carried.min(self.states.len())
    }

    /// How many state variables the plant itself moves; they come first.
    pub fn own_states(&self) -> usize {
        self.current_states() - self.inputs.min(self.current_states())
    }

    /// The row that goes on where another one ends: the next one of its episode, if there is one.
    pub fn successor(&self, row: usize) -> Option<usize> {
        (row + 1 < self.len() && self.episode[row] == self.episode[row + 1]).then_some(row + 1)
    }

    /// Of each row, how many rows of its episode come after it.
    pub fn remaining(&self) -> Vec<usize> {
        let mut remaining = vec![0; self.len()];
        for row in (1..self.len()).rev() {
            if self.episode[row] == self.episode[row - 1] {
                remaining[row - 1] = remaining[row] + 1;
            }
        }
        remaining
    }

    /// The same rows without what they remember.
    pub fn without_lags(&self) -> Self {
        let current = self.current_states();
        let mut log = self.clone();
        log.states.truncate(current);
        log.next_states.truncate(current);
        log.carried = 0;
        log
    }

    /// Whether a row ends in the very state that it began in; what it remembers may go on changing.
    pub fn stays(&self, row: usize) -> bool {
        self.states
            .iter()
            .zip(&self.next_states)
            .take(self.own_states())
            .all(|(before, after)| before[row] == after[row])
    }

    /// The change of a state variable in each row; an angle's is taken modulo 2π, so that it does not jump.
    pub fn difference(&self, variable: usize, angle: bool) -> Vec<f64> {
        self.states[variable]
            .iter()
            .zip(&self.next_states[variable])
            .map(|(before, after)| if angle { wrap_angle(after - before) } else { after - before })
            .collect()
    }
}
