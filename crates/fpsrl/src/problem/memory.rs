//! What a state remembers: values of states and actions some steps back, as further state variables.
//!
//! A plant with dead time, or with something inside that no sensor shows, moves by more than its present state and action.
//! So states may carry lagged values: `level_1` is the level one step back, `valve_1` the valve's. They follow the
//! variables that the user named; those that the policy sees come before those that only the world looks at. Whoever
//! holds a state holds its history, and nothing above has to know of it.

use serde::Deserialize;

use super::{ActionVariable, Problem, StateVariable};
use crate::error::{Error, Result};

/// The histories that `history = "auto"` chooses among.
pub const HISTORIES: [usize; 6] = [0, 1, 2, 3, 5, 8];

/// The longest history.
pub const LONGEST_HISTORY: usize = 50;

/// What a state variable carries along instead of moving by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// What it is a past value of.
    pub of: Remembered,
    /// How many steps that is back; 1 is the last step.
    pub lag: usize,
    /// Where its next value comes from.
    pub from: Carried,
    /// Whether the policy sees it.
    pub seen: bool,
}

/// What is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remembered {
    /// A state variable of this number.
    State(usize),
    /// An action of this number; if it is a change, the set-point that it changes.
    Action(usize),
}

/// Where the next value of a memory comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carried {
    /// What the state variable of this number was before the step.
    State(usize),
    /// The action of this number.
    Action(usize),
    /// Its own value, changed by the action of this number.
    SetPoint(usize),
}

/// How much of the past a log's transitions carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum History {
    /// So many steps of every state and action.
    Steps(usize),
    /// As many as validation rows ask for.
    Auto,
}

/// What of the past the policy sees.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged, expecting = "expected a whole number of steps, or a list of names such as [\"level_1\"]")]
pub enum Lags {
    /// So many steps of every state and action.
    Steps(usize),
    /// Chosen values, by name.
    Names(Vec<String>),
}

impl Default for Lags {
    fn default() -> Self {
        Lags::Steps(0)
    }
}

/// A set-point that an action changes.
#[derive(Clone, Debug, PartialEq)]
pub struct SetPoint {
    /// Its name, as the user wrote it.
    pub name: String,
    /// The lowest and the highest value that it may have.
    pub limits: [f64; 2],
}

impl ActionVariable {
    /// What is remembered of it: the name and the limits of its absolute value.
    fn absolute(&self) -> (&str, [f64; 2]) {
        self.set_point.as_ref().map_or((&self.name, self.limits), |set_point| (&set_point.name, set_point.limits))
    }

    /// Whether the world must know its last value.
    pub(super) fn needs_last(&self) -> bool {
        self.rate.is_some() || self.set_point.is_some()
    }
}

/// The state variables that remember so many steps, in the order that they have in a state after the given ones.
pub(super) fn memories(
    states: &[StateVariable],
    actions: &[ActionVariable],
    steps: usize,
    lags: &Lags,
) -> Result<Vec<StateVariable>> {
    let taken: Vec<&str> =
        states.iter().map(|s| s.name.as_str()).chain(actions.iter().map(|a| a.absolute().0)).collect();
    let name = |of: &str, lag: usize| {
        let mut name = format!("{of}_{lag}");
        while taken.contains(&name.as_str()) {
            name.insert(of.len(), '_');
        }
        name
    };
    let mut all: Vec<StateVariable> = Vec::new();
    let mut add = |of: Remembered, lag: usize, seen: bool, variable: StateVariable| {
        // Where it comes from is known once all have their places.
        let from = Carried::State(usize::MAX);
        all.push(StateVariable { memory: Some(Memory { of, lag, from, seen }), ..variable });
    };
    let chosen = |name: &str, lag: usize| match lags {
        Lags::Steps(steps) => lag <= *steps,
        Lags::Names(names) => names.iter().any(|chosen| chosen == name),
    };
    for (index, state) in states.iter().enumerate() {
        for lag in 1..=steps {
            let name = name(&state.name, lag);
            let seen = chosen(&name, lag);
            add(Remembered::State(index), lag, seen, StateVariable { name, columns: Vec::new(), ..state.clone() });
        }
    }
    for (index, action) in actions.iter().enumerate() {
        let (of, limits) = action.absolute();
        for lag in 1..=steps.max(usize::from(action.needs_last())) {
            let name = name(of, lag);
            // Who changes a set-point must see it.
            let seen = chosen(&name, lag) || (lag == 1 && action.set_point.is_some());
            let variable = StateVariable {
                name,
                unit: action.unit.clone(),
                angle: false,
                columns: Vec::new(),
                start: limits,
                data_start: limits,
                centre: None,
                width: None,
                memory: None,
            };
            add(Remembered::Action(index), lag, seen, variable);
        }
    }
    if let Lags::Names(names) = lags
        && let Some(unknown) = names.iter().find(|name| all.iter().all(|variable| variable.name != **name))
    {
        let known = all.into_iter().map(|variable| variable.name).collect();
        return Err(Error::UnknownName { kind: "lagged variable", name: unknown.clone(), known });
    }
    let is_seen = |variable: &StateVariable| variable.memory.is_some_and(|memory| memory.seen);
    // Stable, so that what belongs together stays together.
    all.sort_by_key(|variable| !is_seen(variable));
    let places: Vec<Memory> = all.iter().filter_map(|variable| variable.memory).collect();
    for variable in &mut all {
        let Some(memory) = &mut variable.memory else { continue };
        let before = places.iter().position(|other| other.of == memory.of && other.lag + 1 == memory.lag);
        memory.from = match (memory.of, before) {
            (_, Some(place)) => Carried::State(states.len() + place),
            (Remembered::State(state), None) => Carried::State(state),
            (Remembered::Action(action), None) if actions[action].set_point.is_some() => Carried::SetPoint(action),
            (Remembered::Action(action), None) => Carried::Action(action),
        };
    }
    Ok(all)
}

/// The history that a log needs so that the policy can see what it is to see.
pub(super) fn least_history(states: &[StateVariable], actions: &[ActionVariable], lags: &Lags) -> Result<usize> {
    match lags {
        Lags::Steps(steps) => Ok(*steps),
        Lags::Names(_) => {
            let longest = HISTORIES[HISTORIES.len() - 1];
            let all = memories(states, actions, longest, lags)?;
            // The last value that a rate limit needs is there without any history.
            let is_free = |memory: &Memory| match memory.of {
                Remembered::Action(action) => memory.lag == 1 && actions[action].needs_last(),
                Remembered::State(_) => false,
            };
            let seen =
                all.iter().filter_map(|variable| variable.memory).filter(|memory| memory.seen && !is_free(memory));
            Ok(seen.map(|memory| memory.lag).max().unwrap_or(0))
        }
    }
}

impl Problem {
    /// How many of the state variables are not memory; they come first.
    pub fn current_states(&self) -> usize {
        self.states.iter().take_while(|state| state.memory.is_none()).count()
    }

    /// The state variables that the policy sees: the first ones of all.
    pub fn policy_states(&self) -> &[StateVariable] {
        let sees = |state: &&StateVariable| state.memory.is_none_or(|memory| memory.seen);
        &self.states[..self.states.iter().take_while(sees).count()]
    }

    /// Whether the rules that are searched measure a variable around the circle.
    pub fn is_periodic(&self, state: &StateVariable) -> bool {
        self.policy.periodic && state.angle
    }

    /// The longest memory, in steps.
    pub fn longest_memory(&self) -> usize {
        self.states.iter().filter_map(|state| state.memory).map(|memory| memory.lag).max().unwrap_or(0)
    }

    /// A state with the given values of its first variables, at rest: what it remembers of a state variable is its present
    /// value, and actions were in the middle of their start ranges, unless they are given too.
    ///
    /// ```
    /// let problem = fpsrl::problem::Problem::benchmark("mountain-car")?;
    /// assert_eq!(problem.at_rest(&[-0.5, 0.0]), [-0.5, 0.0]);
    /// # Ok::<(), fpsrl::Error>(())
    /// ```
    pub fn at_rest(&self, given: &[f64]) -> Vec<f64> {
        let value = |index: usize| {
            let state = &self.states[index];
            match state.memory.map(|memory| memory.of) {
                _ if index < given.len() => given[index],
                Some(Remembered::State(of)) if of < given.len() => given[of],
                _ => 0.5 * (state.start[0] + state.start[1]),
            }
        };
        (0..self.states.len()).map(value).collect()
    }

    /// The same problem without memory, for whoever looks at the log as it was recorded.
    pub fn without_memory(&self) -> Self {
        Self { states: self.states[..self.current_states()].to_vec(), ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::WrittenProblem;

    fn problem(text: &str) -> Result<Problem> {
        let text = format!(
            "horizon = 10\n[[state]]\nname = 'level'\n[[state]]\nname = 'heat'\nangle = true\n[[action]]\n\
             name = 'valve'\nlimits = [0.0, 1.0]\n{text}"
        );
        WrittenProblem::parse(&text, "p.toml".as_ref())?.check()
    }

    fn names(problem: &Problem) -> Vec<&str> {
        problem.states.iter().map(|state| state.name.as_str()).collect()
    }

    #[test]
    fn a_history_becomes_state_variables_that_follow_each_other() {
        let problem = problem("[data]\nfile = 'log.csv'\nhistory = 2\n").unwrap();
        assert_eq!(names(&problem), ["level", "heat", "level_1", "level_2", "heat_1", "heat_2", "valve_1", "valve_2"]);
        let from: Vec<Carried> = problem.states[2..].iter().map(|state| state.memory.unwrap().from).collect();
        use Carried::{Action, State};
        assert_eq!(from, [State(0), State(2), State(1), State(4), Action(0), State(6)]);
        assert!(problem.states[4].angle && !problem.states[3].angle);
        assert_eq!((problem.current_states(), problem.policy_states().len(), problem.longest_memory()), (2, 2, 2));
        assert_eq!(problem.at_rest(&[3.0, 0.5]), [3.0, 0.5, 3.0, 3.0, 0.5, 0.5, 0.5, 0.5]);
    }

    #[test]
    fn what_the_policy_sees_comes_before_what_it_does_not() {
        let chosen = "[data]\nfile = 'log.csv'\nhistory = 2\n[policy]\nlags = ['valve_2', 'heat_1']\n";
        let problem = problem(chosen).unwrap();
        assert_eq!(names(&problem)[2..], ["heat_1", "valve_2", "level_1", "level_2", "heat_2", "valve_1"]);
        assert_eq!(problem.policy_states().len(), 4);
        // Each takes over what stood one step nearer to the present.
        assert_eq!(problem.states[3].memory.unwrap().from, Carried::State(7));
        assert_eq!(problem.states[6].memory.unwrap().from, Carried::State(2));
        let text = problem.to_toml();
        assert_eq!(WrittenProblem::parse(&text, "p.toml".as_ref()).unwrap().check().unwrap(), problem);
    }

    #[test]
    fn limited_and_changed_actions_remember_their_last_value() {
        let limited = "rate = 0.2\n[data]\nfile = 'log.csv'\n";
        let limited = problem(limited).unwrap();
        assert_eq!(names(&limited), ["level", "heat", "valve_1"]);
        assert_eq!((limited.policy_states().len(), limited.actions[0].rate), (2, Some(0.2)));
        let changed = "change = true\nchange_limits = [-0.1, 0.1]\n[data]\nfile = 'log.csv'\nhistory = 2\n";
        let changed = problem(changed).unwrap();
        assert_eq!(changed.actions[0].name, "valve_change");
        assert_eq!(changed.actions[0].limits, [-0.1, 0.1]);
        assert_eq!(changed.policy_states()[2].name, "valve_1");
        assert_eq!(changed.states[2].memory.unwrap().from, Carried::SetPoint(0));
        for problem in [limited, changed] {
            let text = problem.to_toml();
            assert_eq!(WrittenProblem::parse(&text, "p.toml".as_ref()).unwrap().check().unwrap(), problem, "{text}");
        }
    }

    #[test]
    fn a_name_that_is_taken_is_not_taken_again() {
        let text = "horizon = 10\n[[state]]\nname = 'x'\n[[state]]\nname = 'x_1'\n[[action]]\nname = 'u'\n\
                    limits = [0.0, 1.0]\n[data]\nfile = 'log.csv'\nhistory = 1\n";
        let problem = WrittenProblem::parse(text, "p.toml".as_ref()).unwrap().check().unwrap();
        assert_eq!(names(&problem), ["x", "x_1", "x__1", "x_1_1", "u_1"]);
    }

    #[test]
    fn what_cannot_be_remembered_is_refused() {
        let refused = |text: &str| {
            let error = problem(text).unwrap_err();
            assert!(error.is_users());
            format!("{error} / {}", error.hint().unwrap_or_default())
        };
        let file = "[data]\nfile = 'log.csv'\n";
        for (text, told) in [
            (format!("{file}history = 2\n[policy]\nlags = 3\n"), "`policy.lags` is 3"),
            (format!("{file}history = 2\n[policy]\nlags = ['level_11']\n"), "did you mean `level_1`"),
            (format!("{file}history = 51\n"), "data.history"),
            (format!("{file}history = 'auto'\n[policy]\nlags = 4000000000\n"), "policy.lags"),
            (format!("{file}history = 'auto'\n[policy]\nlags = 30\n"), "data.history"),
            (format!("{file}history = 30\n"), "with it a state has 92 variables"),
            ("[data]\nhistory = 2\n".into(), "data.file"),
            (format!("rate = 0.0\n{file}"), "action.valve.rate"),
            ("rate = 0.1\n".into(), "need the log"),
            (format!("rate = 0.1\nchange = true\nchange_limits = [-0.1, 0.1]\n{file}"), "change_limits"),
            (format!("change = true\n{file}"), "action.valve.change_limits"),
            (format!("change_limits = [-0.1, 0.1]\n{file}"), "change = true"),
            (format!("change = true\nchange_limits = [0.1, 0.2]\n{file}"), "stay where it is"),
        ] {
            let message = refused(&text);
            assert!(message.contains(told), "{told}: {message}");
        }
        let mut written = WrittenProblem::benchmark("mountain-car").unwrap();
        written.actions = vec![crate::problem::WrittenAction {
            name: "force".into(),
            rate: Some(0.1),
            ..crate::problem::WrittenAction::default()
        }];
        assert!(written.check().unwrap_err().to_string().contains("action.force.rate"));
    }
}
