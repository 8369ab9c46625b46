//! The system as a user writes it: the first lines of `problem.toml`, its `[[state]]` and its `[[action]]`; and what is
//! checked of it. [`WrittenSystem::check`] makes a [`System`] of it.

use std::collections::HashSet;

use fpsrl_base::disk;
use fpsrl_base::error::{Error, Result};
use fpsrl_base::files::FORMAT;
use fpsrl_base::settings::{LARGEST, OneOrMany, OrWord, bounds, escaped, finite, missing, one_line, range, within};
use serde::Deserialize;

use super::angle::{WrittenAngle, check_degrees};
use super::input::{Keep, Tracking, WrittenInput};
use super::lag::{self, History, LONGEST_HISTORY, Lags, SetPoint};
use super::price::WrittenObjective;
use super::{ActionVariable, StartRule, StateVariable, System, benchmarks};
use crate::plant::PlantKind;

/// Narrower rules than this divide by something that f32 takes for 0.
const NARROWEST: f64 = 1e-9;

/// Names of columns that are not variables.
const RESERVED: [&str; 4] = ["episode", "step", "reward", "terminated"];

/// Variables that a state has at most.
pub(super) const MOST_STATES: usize = 64;

/// What a user writes of a system. Only [`check`](Self::check) makes it fit to run.
///
/// ```
/// use fpsrl_data::system::{Surroundings, WrittenAction, WrittenState, WrittenSystem};
/// let tank = WrittenSystem {
///     name: Some("tank".into()),
///     horizon: Some(100),
///     states: vec![WrittenState { name: "level".into(), start: Some([0.0, 2.0]), ..WrittenState::default() }],
///     actions: vec![WrittenAction { name: "valve".into(), limits: Some([0.0, 1.0]), ..WrittenAction::default() }],
///     ..WrittenSystem::default()
/// };
/// assert_eq!(tank.clone().check(&Surroundings::default())?.horizon(), 100);
/// let error = WrittenSystem { horizon: Some(1), ..tank }.check(&Surroundings::default()).unwrap_err();
/// assert_eq!(error.to_string(), "`horizon` is 1, but a rollout has 2 to 1,000,000 steps");
/// # Ok::<(), fpsrl_base::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrittenSystem {
    /// The version of the file's layout.
    pub format: Option<u64>,
    /// The problem's name.
    pub name: Option<String>,
    /// The built-in plant's name.
    pub plant: Option<String>,
    /// The seed of every random number.
    pub seed: Option<u64>,
    /// Steps of a rollout.
    pub horizon: Option<usize>,
    /// The weight of the last reward.
    pub discount_q: Option<f64>,
    /// The return from which the problem counts as solved, or "none".
    pub success: Option<OrWord<f64>>,
    /// State variables.
    #[serde(default, rename = "state")]
    pub states: Vec<WrittenState>,
    /// Inputs: what the controller sees and does not influence.
    #[serde(default, rename = "input")]
    pub inputs: Vec<WrittenInput>,
    /// Actions.
    #[serde(default, rename = "action")]
    pub actions: Vec<WrittenAction>,
    /// Objectives: what steps cost besides their reward.
    #[serde(default, rename = "objective")]
    pub objectives: Vec<WrittenObjective>,
    /// Where rollouts start: "ranges", "data", "episodes", or the path of a file with a state in each row.
    pub start: Option<String>,
}

/// A state variable as written.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrittenState {
    /// Its name, which is also its column's unless `column` says otherwise.
    pub name: String,
    /// The name of its column in the log, or several that it has in different files.
    pub column: Option<OneOrMany>,
    /// Its unit.
    pub unit: Option<String>,
    /// Whether it is an angle in radians, or one that the log has in degrees.
    pub angle: Option<WrittenAngle>,
    /// Where rollouts start.
    pub start: Option<[f64; 2]>,
    /// Where generated episodes start.
    pub data_start: Option<[f64; 2]>,
    /// Bounds of a rule's centre, or "data".
    pub centre: Option<OrWord<[f64; 2]>>,
    /// Bounds of a rule's width, or "data".
    pub width: Option<OrWord<[f64; 2]>>,
    /// The name of the input that it is to follow.
    pub tracks: Option<String>,
    /// Whether rules see the running sum of its error.
    pub integral: Option<bool>,
    /// How far the running sum may go to either side.
    pub integral_limit: Option<f64>,
    /// The range that it should keep to.
    pub keep: Option<[f64; 2]>,
    /// What one unit beyond that range costs in a step.
    pub keep_price: Option<f64>,
    /// Whether a policy that leaves that range is refused.
    pub keep_hard: Option<bool>,
    /// Whether rules may look at it.
    pub seen: Option<bool>,
}

/// An action as written.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrittenAction {
    /// Its name, which is also its column's unless `column` says otherwise.
    pub name: String,
    /// The name of its column in the log, or several that it has in different files.
    pub column: Option<OneOrMany>,
    /// Its unit.
    pub unit: Option<String>,
    /// The lowest and the highest value.
    pub limits: Option<[f64; 2]>,
    /// How far it may move in a step.
    pub rate: Option<f64>,
    /// Whether the policy decides its change instead of its value.
    pub change: Option<bool>,
    /// The lowest and the highest change in a step.
    pub change_limits: Option<[f64; 2]>,
    /// What a unit of movement in a step costs.
    pub move_cost: Option<f64>,
}

/// What stands around a system and decides what of the past belongs to a state.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Surroundings {
    /// How much of the past a log of the user's own gives; none without such a log.
    pub history: Option<History>,
    /// What of the past the policy sees.
    pub lags: Lags,
    /// Whether a simulator is the world.
    pub simulated: bool,
}

/// The names of the built-in problems.
///
/// ```
/// assert!(fpsrl_data::system::benchmark_names().contains(&"cart-pole-swing-up".to_owned()));
/// ```
pub fn benchmark_names() -> Vec<String> {
    PlantKind::all().map(|plant| plant.name().to_owned()).to_vec()
}

impl WrittenSystem {
    /// A built-in benchmark.
    pub fn benchmark(name: &str) -> Result<Self> {
        let known = benchmark_names();
        if !known.iter().any(|known| known == name) {
            return Err(Error::UnknownName { kind: "built-in problem", name: name.to_owned(), known });
        }
        Ok(Self { name: Some(name.to_owned()), plant: Some(name.to_owned()), ..Self::default() })
    }

    /// The built-in plant, if one is named.
    pub fn plant_kind(&self) -> Result<Option<PlantKind>> {
        self.plant.as_deref().map(PlantKind::from_name).transpose()
    }

    /// Fills in the defaults and checks everything.
    pub fn check(self, around: &Surroundings) -> Result<System> {
        if self.format.is_some_and(|format| format == 0 || format > FORMAT) {
            let hint = format!("write `format = {FORMAT}`");
            return Err(Error::setting(
                "format",
                self.format.unwrap_or(0),
                format!("this fpsrl knows version {FORMAT}"),
                hint,
            ));
        }
        let plant = self.plant_kind()?;
        let defaults = plant.map_or_else(benchmarks::general, benchmarks::system);
        let horizon = match (self.horizon, plant) {
            (Some(horizon), _) => horizon,
            (None, Some(_)) => defaults.horizon,
            (None, None) => return Err(missing("horizon", "how many steps a rollout has", "horizon = 100")),
        };
        let start = match &self.start {
            Some(start) => match StartRule::from_text(start) {
                // Before the log is read, not after it.
                StartRule::File(file) if StartRule::is_word(start) && !disk::is_file(&file) => {
                    let known = ["data", "episodes", "ranges", "the path of a CSV file"].map(str::to_owned).to_vec();
                    return Err(Error::UnknownName { kind: "start of rollouts", name: start.clone(), known });
                }
                rule => rule,
            },
            // What is drawn from a simulator must start somewhere.
            None if around.simulated && around.history.is_none() => StartRule::Ranges,
            None if plant.is_none() && self.states.iter().all(|state| state.start.is_none()) => StartRule::Data,
            None => StartRule::Ranges,
        };
        let tracked: Vec<Followed> = self.states.iter().filter_map(Followed::of).collect();
        let mut states = states(self.states, plant, defaults.states, start == StartRule::Ranges)?;
        if plant.is_some() && !(self.inputs.is_empty() && tracked.is_empty()) {
            let rule = "a built-in plant has no inputs and no set-points";
            return Err(Error::setting("input", "given", rule, "leave `plant` out, or give a log of your own"));
        }
        if plant.is_some() && !self.objectives.is_empty() {
            let rule = "a built-in plant has its own reward";
            return Err(Error::setting("objective", "given", rule, "leave it out, or give a log of your own"));
        }
        for input in self.inputs {
            states.push(input.check()?);
        }
        // A plant that runs on and on is as important later as now.
        let tracks = !tracked.is_empty();
        tracked.into_iter().try_for_each(|followed| followed.settle(&mut states))?;
        let actions = actions(self.actions, plant, defaults.actions)?;
        check_degrees(&states, around)?;
        check_lags(&states, &actions, around)?;
        let history = match around.history {
            Some(History::Steps(steps)) => steps,
            Some(History::Auto) => lag::least_history(&states, &actions, &around.lags)?,
            None => 0,
        };
        states.extend(lag::memories(&states, &actions, history, &around.lags)?);
        let system = System {
            name: self.name.unwrap_or(defaults.name),
            plant,
            seed: self.seed.unwrap_or(defaults.seed),
            horizon,
            discount_q: self.discount_q.unwrap_or(if tracks { 1.0 } else { defaults.discount_q }),
            success: self.success.map_or(defaults.success, OrWord::value),
            states,
            actions,
            objectives: self.objectives.into_iter().map(WrittenObjective::complete).collect(),
            start,
            start_pool: None,
            history: around.history,
            lags: around.lags.clone(),
        };
        system.check()?;
        Ok(system)
    }
}

/// The state variables: with a plant, the plant's own, changed where the user says so; else the user's.
fn states(
    written: Vec<WrittenState>,
    plant: Option<PlantKind>,
    mut defaults: Vec<StateVariable>,
    from_ranges: bool,
) -> Result<Vec<StateVariable>> {
    distinct("state variable", written.iter().map(|state| &state.name))?;
    if plant.is_none() && written.is_empty() {
        return Err(missing("state", "which variables a state has", "[[state]]` with `name` and `start"));
    }
    if written.len() > MOST_STATES {
        let (named, rule) =
            (format!("a list of {} variables", written.len()), format!("at most {MOST_STATES} are possible"));
        return Err(Error::setting("[[state]]", named, rule, "leave out what the controller can do without"));
    }
    for change in written {
        let state = match defaults.iter_mut().find(|state| state.name == change.name) {
            Some(state) => state,
            None if plant.is_some() => {
                let known = defaults.into_iter().map(|state| state.name).collect();
                return Err(Error::UnknownName { kind: "state variable of this plant", name: change.name, known });
            }
            None => {
                let Some(start) = change.start.or((!from_ranges).then_some([0.0; 2])) else {
                    let key = format!("state.{}.start", change.name);
                    return Err(missing(&key, "where rollouts start", "start = [low, high]"));
                };
                defaults.push(StateVariable { start, data_start: start, ..StateVariable::new(&change.name) });
                defaults.last_mut().ok_or(Error::Internal("a variable was lost"))?
            }
        };
        state.keep = keep(&change)?;
        state.unit = change.unit.unwrap_or_else(|| std::mem::take(&mut state.unit));
        state.columns = change.column.map_or_else(Vec::new, OneOrMany::list);
        if let Some(angle) = change.angle {
            state.set_angle(angle);
        }
        state.start = change.start.unwrap_or(state.start);
        state.data_start = change.data_start.unwrap_or(state.data_start);
        state.centre = change.centre.map_or(state.centre, OrWord::value);
        state.width = change.width.map_or(state.width, OrWord::value);
        state.seen = change.seen.or(state.seen);
    }
    Ok(defaults)
}

/// The range that a state should keep to, as written.
fn keep(written: &WrittenState) -> Result<Option<Keep>> {
    let key = |setting: &str| format!("state.{}.{setting}", written.name);
    let Some(limits) = written.keep else {
        let other = [(written.keep_price.is_some(), "keep_price"), (written.keep_hard.is_some(), "keep_hard")];
        return match other.iter().find(|(given, _)| *given) {
            None => Ok(None),
            Some((_, setting)) => {
                let rule = "it belongs to a range that the state should keep to";
                Err(Error::setting(key(setting), "given", rule, "write `keep = [low, high]` too"))
            }
        };
    };
    range(&key("keep"), limits, false)?;
    let price = written.keep_price.unwrap_or(1.0);
    if !(0.0..=LARGEST).contains(&price) {
        let hint = "write what one unit beyond the range costs in a step, in units of the reward";
        return Err(Error::setting(key("keep_price"), price, "leaving a range costs nothing or something", hint));
    }
    Ok(Some(Keep { range: limits, price, hard: written.keep_hard.unwrap_or(false) }))
}

/// What a user wrote of a state that is to follow an input.
struct Followed {
    state: String,
    set_point: Option<String>,
    integral: Option<bool>,
    limit: Option<f64>,
}

impl Followed {
    fn of(written: &WrittenState) -> Option<Self> {
        let any = written.tracks.is_some() || written.integral.is_some() || written.integral_limit.is_some();
        any.then(|| Self {
            state: written.name.clone(),
            set_point: written.tracks.clone(),
            integral: written.integral,
            limit: written.integral_limit,
        })
    }

    /// Puts it into the state variable.
    fn settle(self, states: &mut [StateVariable]) -> Result<()> {
        let key = |setting: &str| format!("state.{}.{setting}", self.state);
        let Some(name) = &self.set_point else {
            let setting = if self.integral.is_some() { "integral" } else { "integral_limit" };
            let rule = "only a state that tracks a set-point has an error to add up";
            return Err(Error::setting(
                key(setting),
                "given",
                rule,
                "write `tracks = \"…\"` with the name of an [[input]]",
            ));
        };
        let inputs = || states.iter().enumerate().filter(|(_, state)| state.input.is_some());
        let Some((set_point, input)) = inputs().find(|(_, state)| state.name == *name) else {
            let known: Vec<String> = inputs().map(|(_, state)| state.name.clone()).collect();
            if known.is_empty() || states.iter().any(|state| state.name == *name) {
                let rule = "a state follows an input, which the controller does not influence";
                let hint = "make the set-point an [[input]]";
                return Err(Error::setting(key("tracks"), escaped(name), rule, hint));
            }
            return Err(Error::UnknownName { kind: "input", name: name.clone(), known });
        };
        if !input.values().is_empty() {
            let rule = "a mode is no set-point";
            return Err(Error::setting(key("tracks"), escaped(name), rule, "name an [[input]] that is a quantity"));
        }
        if let Some(limit) = self.limit.filter(|limit| !(*limit > 0.0 && *limit <= LARGEST)) {
            let hint = "leave it out to take it from the log";
            return Err(Error::setting(key("integral_limit"), limit, "a running sum must be able to move", hint));
        }
        let tracking = Tracking { set_point, integral: self.integral.unwrap_or(false), limit: self.limit };
        if let Some(state) = states.iter_mut().find(|state| state.name == self.state) {
            if state.angle {
                let rule = "the error of an angle is not a plain difference";
                return Err(Error::setting(key("tracks"), escaped(name), rule, "leave `tracks` out for an angle"));
            }
            state.tracks = Some(tracking);
        }
        Ok(())
    }
}

/// An action as the policy decides it: the change of a set-point, if that is asked for.
fn as_change(action: ActionVariable, written: &WrittenAction) -> Result<ActionVariable> {
    let key = |setting: &str| format!("action.{}.{setting}", action.name);
    match (written.change.unwrap_or(false), written.change_limits) {
        (false, None) => Ok(action),
        (false, Some(limits)) => {
            let rule = "only an action that is a change has such limits";
            Err(Error::setting(
                key("change_limits"),
                bounds(limits),
                rule,
                "write `change = true` too; or give a `rate`",
            ))
        }
        (true, None) => {
            let rule = "a change needs to know how far it may go in a step";
            Err(Error::setting(key("change_limits"), "missing", rule, "write `change_limits = [-0.1, 0.1]`"))
        }
        (true, Some(limits)) => {
            range(&key("change_limits"), limits, false)?;
            if limits[0] > 0.0 || limits[1] < 0.0 {
                let rule = "a set-point must be able to stay where it is";
                return Err(Error::setting(key("change_limits"), bounds(limits), rule, "let the limits include 0"));
            }
            if let Some(rate) = action.rate {
                let hint = "leave `rate` out";
                return Err(Error::setting(key("rate"), rate, "`change_limits` say how fast a change may be", hint));
            }
            let columns = if action.columns.is_empty() { vec![action.name.clone()] } else { action.columns };
            let name = format!("{}_change", action.name);
            let set_point = Some(SetPoint { name: action.name, limits: action.limits });
            Ok(ActionVariable { name, columns, limits, set_point, ..action })
        }
    }
}

/// Whether there is a log that what is to be remembered can come from.
pub(super) fn check_lags(states: &[StateVariable], actions: &[ActionVariable], around: &Surroundings) -> Result<()> {
    let Surroundings { history, lags, simulated } = around;
    let needs = actions.iter().find(|action| action.needs_last());
    let wanted = match needs.filter(|_| !*simulated) {
        Some(action) => Some(format!("the rate, the change or the move_cost of `{}`", action.name)),
        None if *lags != Lags::default() => Some("`policy.lags`".to_owned()),
        None => None,
    };
    if let (Some(wanted), None) = (wanted, history) {
        let rule = format!("settings such as {wanted} need the log that their past values come from");
        return Err(Error::setting("data.file", "missing", rule, "write `file = \"log.csv\"` below [data]"));
    }
    for action in actions {
        if let Some(rate) = action.rate
            && !(rate > 0.0 && rate <= LARGEST)
        {
            let rule = "an action must be able to move, by a finite amount a step";
            let hint = "write how far it may move in a step, or leave `rate` out";
            return Err(Error::setting(format!("action.{}.rate", action.name), rate, rule, hint));
        }
        if let Some(price) = action.move_cost
            && !(0.0..=LARGEST).contains(&price)
        {
            let hint = "write what one unit of movement in a step costs, in units of the reward; 0 for nothing";
            let rule = "movement costs nothing or something";
            return Err(Error::setting(format!("action.{}.move_cost", action.name), price, rule, hint));
        }
    }
    if let (Lags::Steps(lags), Some(History::Steps(steps))) = (lags, *history)
        && *lags > steps
    {
        let rule = format!("the log's history is {steps} steps");
        let hint = format!("write `history = {lags}` below [data], or let the policy see less");
        return Err(Error::setting("policy.lags", lags, rule, hint));
    }
    // What the policy is to see must be there, also where the rest is left to be chosen.
    if let (Lags::Steps(lags), Some(History::Auto)) = (lags, *history)
        && *lags > LONGEST_HISTORY
    {
        let rule = format!("a history has at most {LONGEST_HISTORY} steps");
        return Err(Error::setting("policy.lags", lags, rule, "let the policy see less"));
    }
    // Before any history, so that none is blamed.
    if states.len() > MOST_STATES {
        let rule = format!(
            "at most {MOST_STATES} variables are possible, counting inputs, and the errors of states that track with their sums"
        );
        let hint = "leave out the [[state]] and [[input]] tables that the controller can do without";
        return Err(Error::setting("the state", format!("{} variables", states.len()), rule, hint));
    }
    let steps = match (*history, lags) {
        (Some(History::Steps(steps)), _) => Some(steps),
        (Some(History::Auto), Lags::Steps(steps)) => Some(*steps),
        _ => None,
    };
    if let Some(steps) = steps {
        let count = states.len() + (states.len() + actions.len()) * steps;
        if count > MOST_STATES {
            let rule = format!("with it a state has {count} variables, and at most {MOST_STATES} are possible");
            return Err(Error::setting("data.history", steps, rule, "use a shorter history, or fewer variables"));
        }
    }
    Ok(())
}

/// The actions: with a plant, the plant's own, changed where the user says so; else the user's.
fn actions(
    written: Vec<WrittenAction>,
    plant: Option<PlantKind>,
    mut defaults: Vec<ActionVariable>,
) -> Result<Vec<ActionVariable>> {
    distinct("action", written.iter().map(|action| &action.name))?;
    if plant.is_none() && written.is_empty() {
        return Err(missing("action", "what the controller sets", "[[action]]` with `name` and `limits"));
    }
    for change in written {
        let (limited, changed) =
            (change.rate.is_some(), change.change.unwrap_or(false) || change.change_limits.is_some());
        let priced = change.move_cost.is_some();
        if plant.is_some() && (limited || changed || priced) {
            let setting = if limited {
                "rate"
            } else if changed {
                "change"
            } else {
                "move_cost"
            };
            let key = format!("action.{}.{setting}", change.name);
            let rule = "a built-in plant takes every action at once";
            return Err(Error::setting(key, "given", rule, "leave it out, or give a log of your own"));
        }
        match defaults.iter_mut().find(|action| action.name == change.name) {
            Some(action) => {
                action.unit = change.unit.unwrap_or_else(|| std::mem::take(&mut action.unit));
                action.limits = change.limits.unwrap_or(action.limits);
            }
            None if plant.is_some() => {
                let known = defaults.into_iter().map(|action| action.name).collect();
                return Err(Error::UnknownName { kind: "action of this plant", name: change.name, known });
            }
            None => {
                let Some(limits) = change.limits else {
                    let key = format!("action.{}.limits", change.name);
                    return Err(missing(&key, "the lowest and the highest value", "limits = [low, high]"));
                };
                let columns = change.column.clone().map_or_else(Vec::new, OneOrMany::list);
                let unit = change.unit.clone().unwrap_or_default();
                let action = ActionVariable {
                    name: change.name.clone(),
                    unit,
                    columns,
                    limits,
                    rate: change.rate,
                    set_point: None,
                    move_cost: change.move_cost,
                };
                defaults.push(as_change(action, &change)?);
            }
        }
    }
    Ok(defaults)
}

impl System {
    /// Holds everything to its limits.
    pub(super) fn check(&self) -> Result<()> {
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if self.name.is_empty() || self.name.starts_with('.') || !self.name.chars().all(fits) {
            let rule =
                "a problem's name consists of letters, digits, `-`, `_` and `.`, and begins with none of the dots";
            return Err(Error::setting("name", escaped(&self.name), rule, "the run directory is called after it"));
        }
        // TOML's integers end at 2^63 - 1.
        within("seed", self.seed, 0, i64::MAX as u64, "a seed is a whole number up to 2^63 - 1")?;
        within("horizon", self.horizon as u64, 2, 1_000_000, "a rollout has 2 to 1,000,000 steps")?;
        if !(self.discount_q > 0.0 && self.discount_q <= 1.0) {
            return Err(Error::setting(
                "discount_q",
                self.discount_q,
                "the weight of the last reward is larger than 0 and at most 1",
                "0.05 is the paper's value; 1 does not discount",
            ));
        }
        if let Some(success) = self.success {
            finite("success", success)?;
        }
        self.check_variables()
    }

    fn check_variables(&self) -> Result<()> {
        within("state", self.states.len() as u64, 1, MOST_STATES as u64, "a state has 1 to 64 variables")?;
        within("action", self.actions.len() as u64, 1, 16, "there are 1 to 16 actions")?;
        let names = || self.states.iter().map(|s| &s.name).chain(self.actions.iter().map(|a| &a.name));
        distinct("variable", names())?;
        for name in names() {
            column_name(name)?;
        }
        for state in &self.states {
            let key = |setting: &str| format!("state.{}.{setting}", state.name);
            one_line(&key("unit"), &state.unit)?;
            range(&key("start"), state.start, true)?;
            range(&key("data_start"), state.data_start, true)?;
            if let Some(centre) = state.centre {
                range(&key("centre"), centre, false)?;
            }
            if let Some(width) = state.width {
                range(&key("width"), width, false)?;
                if width[0] <= 0.0 {
                    let hint = "choose bounds such as [0.05, 2.0], or \"data\"";
                    return Err(Error::setting(key("width"), bounds(width), "a width must be larger than 0", hint));
                }
                if width[0] < NARROWEST {
                    let rule = format!("a width below {NARROWEST:e} cannot be computed with");
                    return Err(Error::setting(key("width"), bounds(width), rule, "use another unit for the variable"));
                }
            }
        }
        for action in &self.actions {
            let key = |setting: &str| format!("action.{}.{setting}", action.name);
            one_line(&key("unit"), &action.unit)?;
            range(&key("limits"), action.limits, false)?;
        }
        self.check_objectives()
    }
}

/// Characters of a variable's name, at most: it stands in tables, pictures and sentences.
const LONGEST_NAME: usize = 200;

/// Names head columns of a CSV file, so that they must be told from each other and from the other columns.
fn column_name(name: &str) -> Result<()> {
    let refuse = |rule: &str, hint: &str| Err(Error::setting("name", escaped(name), rule, hint));
    if name.is_empty() || name.trim() != name {
        return refuse("a variable's name is not empty, and neither begins nor ends with a space", "give it a name");
    }
    if name.chars().any(|c| c.is_control() || matches!(c, ',' | ';' | '"' | '`')) {
        return refuse("a variable's name heads a column of a CSV file", "leave out commas, quotes and line breaks");
    }
    if name.chars().nth(LONGEST_NAME).is_some() {
        let rule = format!("a variable's name has at most {LONGEST_NAME} characters");
        return refuse(&rule, "call it by a shorter name, and name its column with `column`");
    }
    if RESERVED.contains(&name) || name.starts_with("next_") {
        return refuse(
            "`episode`, `step`, `reward`, `terminated` and names that begin with `next_` are columns of their own",
            "choose another name for the variable",
        );
    }
    Ok(())
}

fn distinct<'a>(kind: &str, names: impl Iterator<Item = &'a String>) -> Result<()> {
    let mut seen = HashSet::new();
    for name in names {
        if !seen.insert(name) {
            let rule = format!("another {kind} has the same name");
            return Err(Error::setting("name", escaped(name), rule, "give each its own name"));
        }
    }
    Ok(())
}
