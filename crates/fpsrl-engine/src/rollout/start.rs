//! Start states: where rollouts begin.

/// A fixed set of start states, a column a variable.
///
/// ```
/// use fpsrl_engine::rollout::StartStates;
/// let starts = StartStates::from_rows(&[vec![0.0, 1.0], vec![2.0, 3.0]]);
/// assert_eq!((starts.len(), starts.state_count()), (2, 2));
/// assert_eq!(starts.row(1), [2.0, 3.0]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct StartStates {
    columns: Vec<Vec<f64>>,
}

impl StartStates {
    /// Start states given as columns of equal length, one for each state variable.
    pub fn from_columns(columns: Vec<Vec<f64>>) -> Self {
        Self { columns }
    }

    /// Start states given as rows.
    pub fn from_rows(rows: &[Vec<f64>]) -> Self {
        let variables = rows.first().map_or(0, Vec::len);
        Self { columns: (0..variables).map(|variable| rows.iter().map(|row| row[variable]).collect()).collect() }
    }

    /// The first `count` of them, which are as evenly spread as all.
    pub fn first(mut self, count: usize) -> Self {
        self.columns.iter_mut().for_each(|column| column.truncate(count));
        self
    }

    /// All but the first `count` of them.
    pub fn skip(mut self, count: usize) -> Self {
        self.columns.iter_mut().for_each(|column| drop(column.drain(..count.min(column.len()))));
        self
    }

    /// Number of start states.
    pub fn len(&self) -> usize {
        self.columns.first().map_or(0, Vec::len)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of state variables.
    pub fn state_count(&self) -> usize {
        self.columns.len()
    }

    /// One variable of all start states.
    pub fn column(&self, variable: usize) -> &[f64] {
        &self.columns[variable]
    }

    /// One start state.
    pub fn row(&self, index: usize) -> Vec<f64> {
        self.columns.iter().map(|column| column[index]).collect()
    }
}
