//! What real plants have besides states and actions: inputs that happen to them, set-points that states follow, and ranges
//! that states should keep to.
//!
//! An input is a state variable that nothing predicts: in rollouts it goes on as it did in the log, is held, or is drawn.
//! A state that tracks a set-point brings two variables of its own along, the error and its running sum, and every
//! system with inputs has a place: the row of the log that a rollout follows. Those three are computed, never recorded.

use std::path::PathBuf;

use fpsrl_base::error::{Error, Result};
use fpsrl_base::settings::{OneOrMany, OrWord, bounds, range};
use serde::Deserialize;

use super::lag::{Carried, Lag, Lagged};
use super::{StateVariable, System};

/// Words that a mode has at most.
const MOST_VALUES: usize = 32;

/// The name of the variable that holds the row of the log which a rollout follows.
pub const PLACE: &str = "log_row";

/// What a variable is that the controller sees and does not influence.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// How it goes on in rollouts.
    pub rollout: InputRule,
    /// The words of a mode, whose numbers are their places in this list; empty for a quantity.
    pub values: Vec<String>,
}

/// How an input goes on in rollouts.
#[derive(Clone, Debug, PartialEq)]
pub enum InputRule {
    /// As it did in the log, after the row that the rollout starts from.
    Log,
    /// As it was at the start.
    Hold,
    /// Drawn from a range, anew after so many steps.
    Range {
        /// The lowest and the highest value.
        range: [f64; 2],
        /// Steps for which a value lasts.
        dwell: usize,
    },
    /// As in the rows of a file.
    File(PathBuf),
}

impl InputRule {
    /// Its word in the problem file.
    pub fn text(&self) -> String {
        match self {
            InputRule::Log => "log".into(),
            InputRule::Hold => "hold".into(),
            InputRule::Range { .. } => "range".into(),
            InputRule::File(path) => path.to_string_lossy().into_owned(),
        }
    }
}

/// The set-point that a state is to follow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tracking {
    /// The number of the input among the state variables.
    pub set_point: usize,
    /// Whether rules see the running sum of the error.
    pub integral: bool,
    /// How far the running sum may go to either side; none until a log has told.
    pub limit: Option<f64>,
}

/// A range that a state should keep to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Keep {
    /// The lowest and the highest value.
    pub range: [f64; 2],
    /// What one unit beyond it costs in a step, in units of the reward.
    pub price: f64,
    /// Whether a policy that leaves it on any member of the ensemble is refused.
    pub hard: bool,
}

/// An input as written.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrittenInput {
    /// Its name, which is also its column's unless `column` says otherwise.
    pub name: String,
    /// The name of its column in the log, or several that it has in different files.
    pub column: Option<OneOrMany>,
    /// Its unit.
    pub unit: Option<String>,
    /// The words of a mode.
    pub values: Option<Vec<String>>,
    /// "log", "hold", "range", or the path of a file.
    pub rollout: Option<String>,
    /// Where it is drawn from.
    pub range: Option<[f64; 2]>,
    /// Steps for which a drawn value lasts.
    pub dwell: Option<usize>,
    /// Whether rules may look at it.
    pub seen: Option<bool>,
    /// Where rollouts start, without a log.
    pub start: Option<[f64; 2]>,
    /// Bounds of a rule's centre, or "data".
    pub centre: Option<OrWord<[f64; 2]>>,
    /// Bounds of a rule's width, or "data".
    pub width: Option<OrWord<[f64; 2]>>,
}

impl WrittenInput {
    /// The variable that it is.
    pub(super) fn check(self) -> Result<StateVariable> {
        let key = |setting: &str| format!("input.{}.{setting}", self.name);
        let values = self.values.clone().unwrap_or_default();
        if self.values.is_some() && !(2..=MOST_VALUES).contains(&values.len()) {
            let rule = format!("a mode has 2 to {MOST_VALUES} values");
            let hint = "list them: values = [\"AUTO\", \"MANUAL\"]; or leave `values` out for a quantity";
            return Err(Error::setting(key("values"), format!("a list of {}", values.len()), rule, hint));
        }
        if let Some(twice) = values.iter().enumerate().find(|(place, value)| values[..*place].contains(value)) {
            let rule = format!("`{}` stands in it twice", fpsrl_base::settings::escaped(twice.1));
            return Err(Error::setting(key("values"), "a list", rule, "name each value once"));
        }
        for value in &values {
            fpsrl_base::settings::one_line(&key("values"), value)?;
        }
        let rollout = match (self.rollout.as_deref(), self.range) {
            (Some("range"), None) => {
                let rule = "what is drawn needs to know from where";
                return Err(Error::setting(key("range"), "missing", rule, "write `range = [low, high]`"));
            }
            (None | Some("range"), Some(limits)) => {
                range(&key("range"), limits, false)?;
                InputRule::Range { range: limits, dwell: self.dwell.unwrap_or(50).max(1) }
            }
            (Some(_), Some(limits)) => {
                let rule = "only an input that is drawn has a range";
                let hint = "write `rollout = \"range\"`, or leave `range` out";
                return Err(Error::setting(key("range"), bounds(limits), rule, hint));
            }
            (None | Some("log"), None) => InputRule::Log,
            (Some("hold"), None) => InputRule::Hold,
            (Some(file), None) => InputRule::File(file.into()),
        };
        if let (Some(dwell), false) = (self.dwell, matches!(rollout, InputRule::Range { .. })) {
            let rule = "only a value that is drawn lasts for so many steps";
            return Err(Error::setting(key("dwell"), dwell, rule, "write `rollout = \"range\"` and a `range`"));
        }
        let start = self.start.unwrap_or([0.0; 2]);
        Ok(StateVariable {
            unit: self.unit.unwrap_or_default(),
            columns: self.column.map_or_else(Vec::new, OneOrMany::list),
            seen: self.seen,
            start,
            data_start: start,
            centre: self.centre.and_then(OrWord::value),
            width: self.width.and_then(OrWord::value),
            input: Some(Input { rollout, values }),
            ..StateVariable::new(&self.name)
        })
    }
}

/// The variables that follow from others: errors, their running sums, and the place in the log.
pub(super) fn derived(states: &[StateVariable]) -> Vec<StateVariable> {
    let taken = |name: &str| states.iter().any(|state| state.name == name);
    let free = |mut name: String| {
        while taken(&name) {
            name.push('_');
        }
        name
    };
    let mut all = Vec::new();
    for (index, state) in states.iter().enumerate() {
        let Some(tracking) = state.tracks else { continue };
        let error = states.len() + all.len();
        let lag = |of, from, seen| Some(Lag { of, steps: 0, from, seen });
        all.push(StateVariable {
            unit: state.unit.clone(),
            lag: lag(Lagged::Error(index), Carried::Error { state: index, set_point: tracking.set_point }, true),
            ..StateVariable::new(&free(format!("{}_error", state.name)))
        });
        let unit = if state.unit.is_empty() { "steps".to_owned() } else { format!("{} steps", state.unit) };
        all.push(StateVariable {
            unit,
            lag: lag(Lagged::Sum(index), Carried::Sum { error }, tracking.integral),
            ..StateVariable::new(&free(format!("{}_error_sum", state.name)))
        });
    }
    all
}

/// The variable that holds the row of the log which a rollout follows.
pub(super) fn place(states: &[StateVariable]) -> Option<StateVariable> {
    let lag = Lag { of: Lagged::Place, steps: 0, from: Carried::Place, seen: false };
    states
        .iter()
        .any(|state| state.input.is_some())
        .then(|| StateVariable { lag: Some(lag), ..StateVariable::new(PLACE) })
}

impl StateVariable {
    /// A quantity of this name and nothing else.
    pub(super) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            unit: String::new(),
            angle: false,
            degrees: false,
            columns: Vec::new(),
            start: [0.0; 2],
            data_start: [0.0; 2],
            centre: None,
            width: None,
            lag: None,
            input: None,
            tracks: None,
            keep: None,
            seen: None,
        }
    }

    /// Whether it follows from the other variables of a state and stands in no file of the log.
    pub fn is_derived(&self) -> bool {
        self.lag.is_some_and(|lag| matches!(lag.of, Lagged::Error(_) | Lagged::Sum(_) | Lagged::Place))
    }

    /// The words of a mode; empty for a quantity.
    pub fn values(&self) -> &[String] {
        self.input.as_ref().map_or(&[], |input| &input.values)
    }
}

impl System {
    /// How many of the current state variables are inputs; they are the last of them.
    pub fn input_count(&self) -> usize {
        self.states.iter().filter(|state| state.input.is_some() && state.lag.is_none()).count()
    }

    /// How many state variables move by what the plant does; they come first.
    pub fn own_states(&self) -> usize {
        self.current_states() - self.input_count()
    }

    /// The number of the variable that holds the place in the log, if there are inputs.
    pub fn place(&self) -> Option<usize> {
        self.states.iter().position(|state| state.lag.is_some_and(|lag| lag.of == Lagged::Place))
    }

    /// Whether the plant's own movement cannot depend on a variable: set-points act through the controller alone, and what
    /// is derived tells nothing new.
    pub fn is_blind_to(&self, variable: usize) -> bool {
        self.states[variable].is_derived()
            || self.states.iter().any(|state| state.tracks.is_some_and(|tracking| tracking.set_point == variable))
    }

    /// Whether rules may look at a variable: of a state that tracks a set-point they see the error instead of it, unless
    /// the user says otherwise. The set-point itself tells what action is needed in the end.
    pub fn is_seen(&self, variable: usize) -> bool {
        let state = &self.states[variable];
        state.seen.unwrap_or(state.tracks.is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::{History, Surroundings, WrittenSystem};
    use fpsrl_base::settings::Lines;

    const HALL: &str = "name = 'hall'\nhorizon = 10\n[[state]]\nname = 'PV'\ntracks = 'SP'\nintegral = true\n\
                        keep = [10.0, 30.0]\n[[state]]\nname = 'wall'\n[[input]]\nname = 'SP'\n[[input]]\nname = 'outdoor'\n\
                        rollout = 'hold'\n[[input]]\nname = 'Mode'\nvalues = ['ECO', 'DAY']\n[[action]]\nname = 'OUT'\n\
                        limits = [0.0, 100.0]\nmove_cost = 0.5\n";

    fn around(history: usize) -> Surroundings {
        Surroundings { history: Some(History::Steps(history)), ..Surroundings::default() }
    }

    fn system(text: &str, history: usize) -> Result<System> {
        toml::from_str::<WrittenSystem>(text).unwrap().check(&around(history))
    }

    fn names(system: &System) -> Vec<&str> {
        system.states().iter().map(|state| state.name.as_str()).collect()
    }

    #[test]
    fn a_set_point_brings_its_error_and_sum_along_and_has_no_past() {
        let system = system(HALL, 1).unwrap();
        let expected = [
            "PV",
            "wall",
            "SP",
            "outdoor",
            "Mode",
            "PV_error",
            "PV_error_sum",
            "PV_1",
            "wall_1",
            "outdoor_1",
            "Mode_1",
            "OUT_1",
            PLACE,
        ];
        assert_eq!(names(&system), expected);
        assert_eq!((system.own_states(), system.input_count(), system.current_states()), (2, 3, 5));
        assert_eq!(system.policy_states().len(), 7);
        assert_eq!(system.place(), Some(12));
        // Rules see the error instead of the state; nothing moves by a set-point, a sum or a place.
        let seen: Vec<bool> = (0..7).map(|variable| system.is_seen(variable)).collect();
        assert_eq!(seen, [false, true, true, true, true, true, true]);
        let blind: Vec<&str> =
            (0..expected.len()).filter(|variable| system.is_blind_to(*variable)).map(|v| expected[v]).collect();
        assert_eq!(blind, ["SP", "PV_error", "PV_error_sum", PLACE]);
        assert_eq!(system.discount_q(), 1.0, "a plant that runs on and on is not discounted");
    }

    #[test]
    fn prices_become_a_formula_over_the_systems_names() {
        let costs = system(HALL, 0).unwrap().costs().unwrap();
        let expected = "0.5 * abs(OUT - previous_OUT_1) + 1.0 * max(0.0, max(10.0 - PV, PV - 30.0))";
        assert_eq!(costs, expected);
        assert_eq!(System::benchmark("mountain-car").unwrap().costs(), None);
    }

    #[test]
    fn what_was_written_reads_back() {
        let system = system(HALL, 1).unwrap();
        let mut lines = Lines::default();
        system.write(&mut lines);
        let back = toml::from_str::<WrittenSystem>(&lines.text()).unwrap().check(&around(1)).unwrap();
        assert_eq!(back, system);
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_the_place() {
        let with = |from: &str, to: &str| {
            let error = system(&HALL.replace(from, to), 0).unwrap_err();
            assert!(error.is_users());
            format!("{error} / {}", error.hint().unwrap_or_default())
        };
        for (from, to, told) in [
            ("tracks = 'SP'", "tracks = 'PS'", "PS"),
            ("tracks = 'SP'", "tracks = 'wall'", "make the set-point an [[input]]"),
            ("tracks = 'SP'", "tracks = 'Mode'", "a mode is no set-point"),
            ("tracks = 'SP'\n", "", "state.PV.integral"),
            ("values = ['ECO', 'DAY']", "values = ['ECO']", "2 to 32 values"),
            ("values = ['ECO', 'DAY']", "values = ['ECO', 'ECO']", "twice"),
            ("rollout = 'hold'", "rollout = 'range'", "input.outdoor.range"),
            ("rollout = 'hold'", "rollout = 'hold'\nrange = [0.0, 1.0]", "only an input that is drawn"),
            ("rollout = 'hold'", "dwell = 3", "input.outdoor.dwell"),
            ("keep = [10.0, 30.0]", "keep_price = 2.0", "keep = [low, high]"),
            ("keep = [10.0, 30.0]", "keep = [30.0, 10.0]", "state.PV.keep"),
            ("move_cost = 0.5", "move_cost = -0.5", "action.OUT.move_cost"),
            ("name = 'outdoor'", "name = 'PV'", "same name"),
        ] {
            let message = with(from, to);
            assert!(message.contains(told), "{told}: {message}");
        }
    }
}
