//! Lags: values of states and actions some steps back, as further state variables.
//!
//! A plant with dead time, or with something inside that no sensor shows, moves by more than its present state and action.
//! So states may carry lagged values: `level_1` is the level one step back, `valve_1` the valve's. They follow the
//! variables that the user named; those that the policy sees come before those that only the world looks at. Whoever
//! holds a state holds its history, and nothing above has to know of it.

use serde::Deserialize;

use super::input::{derived, place};
use super::written::{Surroundings, check_lags};
use super::{ActionVariable, StateVariable, System};
use fpsrl_base::error::{Error, Result};

/// The histories that `history = "auto"` chooses among.
pub const HISTORIES: [usize; 6] = [0, 1, 2, 3, 5, 8];

/// The longest history.
pub const LONGEST_HISTORY: usize = 50;

/// What a state variable carries along instead of moving by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lag {
    /// What it is a past value of.
    pub of: Lagged,
    /// How many steps that is back; 1 is the last step.
    pub steps: usize,
    /// Where its next value comes from.
    pub from: Carried,
    /// Whether the policy sees it.
    pub seen: bool,
}

/// What a lagged value is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lagged {
    /// A state variable of this number.
    State(usize),
    /// An action of this number; if it is a change, the set-point that it changes.
    Action(usize),
    /// How far the state variable of this number is below its set-point; not of the past.
    Error(usize),
    /// The running sum of that.
    Sum(usize),
    /// The row of the log that a rollout follows.
    Place,
}

/// Where the next value of a lagged variable comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carried {
    /// What the state variable of this number was before the step.
    State(usize),
    /// The action of this number.
    Action(usize),
    /// Its own value, changed by the action of this number.
    SetPoint(usize),
    /// The difference of two variables after the step.
    Error {
        /// What is to follow.
        state: usize,
        /// What is followed.
        set_point: usize,
    },
    /// Its own value and the error of this number after the step, within limits, and no further while an action is at a limit.
    Sum {
        /// The number of the error.
        error: usize,
    },
    /// The next row of the log.
    Place,
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
        self.rate.is_some() || self.set_point.is_some() || self.move_cost.is_some()
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
    let follows = |index: usize| states.iter().any(|state| state.tracks.is_some_and(|by| by.set_point == index));
    let mut all: Vec<StateVariable> = derived(states);
    let mut add = |of: Lagged, lag: usize, seen: bool, variable: StateVariable| {
        // Where it comes from is known once all have their places.
        let from = Carried::State(usize::MAX);
        all.push(StateVariable { lag: Some(Lag { of, steps: lag, from, seen }), ..variable });
    };
    let chosen = |name: &str, lag: usize| match lags {
        Lags::Steps(steps) => lag <= *steps,
        Lags::Names(names) => names.iter().any(|chosen| chosen == name),
    };
    // A set-point acts through the controller alone: nothing moves by what it was.
    for (index, state) in states.iter().enumerate().filter(|(index, _)| !follows(*index)) {
        for lag in 1..=steps {
            let name = name(&state.name, lag);
            let seen = chosen(&name, lag);
            let past = StateVariable { input: None, tracks: None, keep: None, seen: None, ..state.clone() };
            add(Lagged::State(index), lag, seen, StateVariable { name, columns: Vec::new(), ..past });
        }
    }
    for (index, action) in actions.iter().enumerate() {
        let (of, limits) = action.absolute();
        for lag in 1..=steps.max(usize::from(action.needs_last())) {
            let name = name(of, lag);
            // Who changes a set-point must see it.
            let seen = chosen(&name, lag) || (lag == 1 && action.set_point.is_some());
            let unit = action.unit.clone();
            let variable = StateVariable { unit, start: limits, data_start: limits, ..StateVariable::new(&name) };
            add(Lagged::Action(index), lag, seen, variable);
        }
    }
    if let Lags::Names(names) = lags
        && let Some(unknown) = names.iter().find(|name| all.iter().all(|variable| variable.name != **name))
    {
        let known = all.into_iter().map(|variable| variable.name).collect();
        return Err(Error::UnknownName { kind: "lagged variable", name: unknown.clone(), known });
    }
    let is_seen = |variable: &StateVariable| variable.lag.is_some_and(|lag| lag.seen);
    // Stable, so that what belongs together stays together.
    all.sort_by_key(|variable| !is_seen(variable));
    all.extend(place(states));
    let places: Vec<Lag> = all.iter().filter_map(|variable| variable.lag).collect();
    for variable in &mut all {
        let Some(lag) = &mut variable.lag else { continue };
        let before = places.iter().position(|other| other.of == lag.of && other.steps + 1 == lag.steps);
        lag.from = match (lag.of, before) {
            (Lagged::Error(_) | Lagged::Place, _) => continue,
            (Lagged::Sum(state), _) => {
                let error = places.iter().position(|other| other.of == Lagged::Error(state)).unwrap_or(0);
                Carried::Sum { error: states.len() + error }
            }
            (_, Some(place)) => Carried::State(states.len() + place),
            (Lagged::State(state), None) => Carried::State(state),
            (Lagged::Action(action), None) if actions[action].set_point.is_some() => Carried::SetPoint(action),
            (Lagged::Action(action), None) => Carried::Action(action),
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
            let is_free = |lag: &Lag| match lag.of {
                Lagged::Action(action) => lag.steps == 1 && actions[action].needs_last(),
                _ => false,
            };
            let seen = all.iter().filter_map(|variable| variable.lag).filter(|lag| lag.seen && !is_free(lag));
            Ok(seen.map(|lag| lag.steps).max().unwrap_or(0))
        }
    }
}

impl System {
    /// How many of the state variables are not lagged; they come first.
    pub fn current_states(&self) -> usize {
        self.states.iter().take_while(|state| state.lag.is_none()).count()
    }

    /// The state variables that the policy sees: the first ones of all.
    pub fn policy_states(&self) -> &[StateVariable] {
        let sees = |state: &&StateVariable| state.lag.is_none_or(|lag| lag.seen);
        &self.states[..self.states.iter().take_while(sees).count()]
    }

    /// The longest lag, in steps.
    pub fn longest_lag(&self) -> usize {
        self.states.iter().filter_map(|state| state.lag).map(|lag| lag.steps).max().unwrap_or(0)
    }

    /// A state with the given values of its first variables, at rest: what it remembers of a state variable is its present
    /// value, and actions were in the middle of their start ranges, unless they are given too.
    ///
    /// ```
    /// let system = fpsrl_data::System::benchmark("mountain-car")?;
    /// assert_eq!(system.at_rest(&[-0.5, 0.0]), [-0.5, 0.0]);
    /// # Ok::<(), fpsrl_base::Error>(())
    /// ```
    pub fn at_rest(&self, given: &[f64]) -> Vec<f64> {
        let value = |index: usize| {
            let state = &self.states[index];
            match state.lag.map(|lag| lag.of) {
                _ if index < given.len() => given[index],
                Some(Lagged::State(of)) if of < given.len() => given[of],
                Some(Lagged::Error(of)) => {
                    let at = |index: usize| given.get(index).copied().unwrap_or(self.states[index].start[0]);
                    self.states[of].tracks.map_or(0.0, |tracking| at(tracking.set_point) - at(of))
                }
                Some(Lagged::Sum(_) | Lagged::Place) => 0.0,
                _ => 0.5 * (state.start[0] + state.start[1]),
            }
        };
        (0..self.states.len()).map(value).collect()
    }

    /// The same system with so many past steps of every state and action; what it remembered before goes.
    pub fn with_history(&self, steps: usize) -> Result<Self> {
        let around = Surroundings { history: Some(History::Steps(steps)), lags: self.lags.clone(), simulated: false };
        let mut system = self.without_lags();
        check_lags(&system.states, &system.actions, &around)?;
        let memories = memories(&system.states, &system.actions, steps, &system.lags)?;
        system.states.extend(memories);
        system.history = around.history;
        // Start states of another length are none of this system.
        system.start_pool = None;
        system.check()?;
        Ok(system)
    }

    /// The same system without lags, for whoever looks at the log as it was recorded.
    pub fn without_lags(&self) -> Self {
        Self { states: self.states[..self.current_states()].to_vec(), ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use fpsrl_base::settings::Lines;

    use super::*;
    use crate::WrittenData;
    use crate::system::{WrittenAction, WrittenSystem};

    /// A tank whose `[[action]]` goes on with one text, whose `[data]` is another.
    fn system(action: &str, data: &str, lags: Lags) -> Result<System> {
        let text = format!(
            "name = 'p'\nhorizon = 10\n[[state]]\nname = 'level'\n[[state]]\nname = 'heat'\nangle = true\n[[action]]\n\
             name = 'valve'\nlimits = [0.0, 1.0]\n{action}"
        );
        check(&text, &surroundings(data, lags)?)
    }

    fn check(text: &str, around: &Surroundings) -> Result<System> {
        toml::from_str::<WrittenSystem>(text).unwrap().check(around)
    }

    fn surroundings(data: &str, lags: Lags) -> Result<Surroundings> {
        let data = toml::from_str::<WrittenData>(data).unwrap().check(None)?;
        Ok(Surroundings { history: data.history(), lags, simulated: false })
    }

    fn by_name(names: &[&str]) -> Lags {
        Lags::Names(names.iter().map(|name| (*name).to_owned()).collect())
    }

    fn names(system: &System) -> Vec<&str> {
        system.states.iter().map(|state| state.name.as_str()).collect()
    }

    /// What a system's lines read back to.
    fn read_back(system: &System, around: &Surroundings) -> System {
        let mut lines = Lines::default();
        system.write(&mut lines);
        check(&lines.text(), around).unwrap()
    }

    #[test]
    fn a_history_becomes_state_variables_that_follow_each_other() {
        let system = system("", "file = 'log.csv'\nhistory = 2\n", Lags::default()).unwrap();
        assert_eq!(names(&system), ["level", "heat", "level_1", "level_2", "heat_1", "heat_2", "valve_1", "valve_2"]);
        let from: Vec<Carried> = system.states[2..].iter().map(|state| state.lag.unwrap().from).collect();
        use Carried::{Action, State};
        assert_eq!(from, [State(0), State(2), State(1), State(4), Action(0), State(6)]);
        assert!(system.states[4].angle && !system.states[3].angle);
        assert_eq!((system.current_states(), system.policy_states().len(), system.longest_lag()), (2, 2, 2));
        assert_eq!(system.at_rest(&[3.0, 0.5]), [3.0, 0.5, 3.0, 3.0, 0.5, 0.5, 0.5, 0.5]);
    }

    #[test]
    fn what_the_policy_sees_comes_before_what_it_does_not() {
        let (data, lags) = ("file = 'log.csv'\nhistory = 2\n", by_name(&["valve_2", "heat_1"]));
        let system = system("", data, lags.clone()).unwrap();
        assert_eq!(names(&system)[2..], ["heat_1", "valve_2", "level_1", "level_2", "heat_2", "valve_1"]);
        assert_eq!(system.policy_states().len(), 4);
        // Each takes over what stood one step nearer to the present.
        assert_eq!(system.states[3].lag.unwrap().from, Carried::State(7));
        assert_eq!(system.states[6].lag.unwrap().from, Carried::State(2));
        assert_eq!(read_back(&system, &surroundings(data, lags).unwrap()), system);
    }

    #[test]
    fn limited_and_changed_actions_remember_their_last_value() {
        let without = "file = 'log.csv'\n";
        let limited = system("rate = 0.2\n", without, Lags::default()).unwrap();
        assert_eq!(names(&limited), ["level", "heat", "valve_1"]);
        assert_eq!((limited.policy_states().len(), limited.actions[0].rate), (2, Some(0.2)));
        let with = "file = 'log.csv'\nhistory = 2\n";
        let changed = system("change = true\nchange_limits = [-0.1, 0.1]\n", with, Lags::default()).unwrap();
        assert_eq!(changed.actions[0].name, "valve_change");
        assert_eq!(changed.actions[0].limits, [-0.1, 0.1]);
        assert_eq!(changed.policy_states()[2].name, "valve_1");
        assert_eq!(changed.states[2].lag.unwrap().from, Carried::SetPoint(0));
        for (system, data) in [(limited, without), (changed, with)] {
            assert_eq!(read_back(&system, &surroundings(data, Lags::default()).unwrap()), system);
        }
    }

    #[test]
    fn a_name_that_is_taken_is_not_taken_again() {
        let text = "name = 'p'\nhorizon = 10\n[[state]]\nname = 'x'\n[[state]]\nname = 'x_1'\n[[action]]\nname = 'u'\n\
                    limits = [0.0, 1.0]\n";
        let around = surroundings("file = 'log.csv'\nhistory = 1\n", Lags::default()).unwrap();
        assert_eq!(names(&check(text, &around).unwrap()), ["x", "x_1", "x__1", "x_1_1", "u_1"]);
    }

    #[test]
    fn what_cannot_be_remembered_is_refused() {
        let refused = |action: &str, data: &str, lags: Lags| {
            let error = system(action, data, lags).unwrap_err();
            assert!(error.is_users());
            format!("{error} / {}", error.hint().unwrap_or_default())
        };
        let none = Lags::default;
        let file = "file = 'log.csv'\n";
        let with = |history: &str| format!("{file}history = {history}\n");
        for (action, data, lags, told) in [
            ("", with("2"), Lags::Steps(3), "`policy.lags` is 3"),
            ("", with("2"), by_name(&["level_11"]), "did you mean `level_1`"),
            ("", with("51"), none(), "data.history"),
            ("", with("'auto'"), Lags::Steps(4_000_000_000), "policy.lags"),
            ("", with("'auto'"), Lags::Steps(30), "data.history"),
            ("", with("30"), none(), "with it a state has 92 variables"),
            ("", "history = 2\n".into(), none(), "data.file"),
            ("rate = 0.0\n", file.into(), none(), "action.valve.rate"),
            ("rate = 0.1\n", String::new(), none(), "need the log"),
            ("rate = 0.1\nchange = true\nchange_limits = [-0.1, 0.1]\n", file.into(), none(), "change_limits"),
            ("change = true\n", file.into(), none(), "action.valve.change_limits"),
            ("change_limits = [-0.1, 0.1]\n", file.into(), none(), "change = true"),
            ("change = true\nchange_limits = [0.1, 0.2]\n", file.into(), none(), "stay where it is"),
        ] {
            let message = refused(action, &data, lags);
            assert!(message.contains(told), "{told}: {message}");
        }
        let mut written = WrittenSystem::benchmark("mountain-car").unwrap();
        written.actions = vec![WrittenAction { name: "force".into(), rate: Some(0.1), ..WrittenAction::default() }];
        let error = written.check(&Surroundings::default()).unwrap_err();
        assert!(error.to_string().contains("action.force.rate"));
    }
}
