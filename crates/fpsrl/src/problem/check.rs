//! From what was written to what runs: defaults are filled in, and everything is held to its limits.

use std::collections::HashSet;
use std::fmt::Display;

use super::expression::{Expression, FUNCTIONS, Kind};
use super::log::OneOrMany;
use super::memory::{self, History, LONGEST_HISTORY, Lags, SetPoint};
use super::words::{OrAuto, OrWord};
use super::written::{WrittenAction, WrittenState};
use super::{
    ActionVariable, Budget, DataSettings, Effort, EvaluationSettings, FORMAT, LogSettings, OptimiserKind, OutlookKind,
    PolicySettings, Problem, SearchSettings, StartRule, StateVariable, WorldKind, WorldSettings, WrittenProblem,
    benchmarks,
};
use crate::error::{Error, Result};
use crate::plant::PlantKind;
use crate::policy::MOST_RULES;
use crate::simd::Mode;
use crate::world::known;
use crate::world::training::{Depth, Trainer};

/// Rollouts compute in f32: numbers beyond this leave no room for squares.
const LARGEST: f64 = 1e15;
/// Narrower rules than this divide by something that f32 takes for 0.
const NARROWEST: f64 = 1e-9;

/// Transitions that are kept of a log where the user says nothing else: training takes minutes with them, and more
/// bring little.
const MOST_OF_A_LOG: usize = 100_000;

/// Names of columns that are not variables.
const RESERVED: [&str; 4] = ["episode", "step", "reward", "terminated"];

/// Variables that a state has at most.
const MOST_STATES: usize = 64;

/// The numeric modes by name.
pub(super) const MODES: [(&str, Mode); 2] = [("fast", Mode::Fast), ("reproducible", Mode::Reproducible)];

/// What worlds are made of, by name.
pub(super) const KINDS: [(&str, WorldKind); 5] = [
    ("auto", WorldKind::Auto),
    ("mlp", WorldKind::Mlp),
    ("ensemble", WorldKind::Ensemble),
    ("gp", WorldKind::GaussianProcess),
    ("forest", WorldKind::Forest),
];

/// The optimisers by name.
pub(super) const OPTIMISERS: [(&str, OptimiserKind); 4] = [
    ("auto", OptimiserKind::Auto),
    ("swarm", OptimiserKind::Swarm),
    ("shade", OptimiserKind::Shade),
    ("cma-es", OptimiserKind::CmaEs),
];

/// The efforts by name.
pub(super) const EFFORTS: [(&str, Effort); 3] =
    [("quick", Effort::Quick), ("normal", Effort::Normal), ("thorough", Effort::Thorough)];

/// The outlooks by name.
pub(super) const OUTLOOKS: [(&str, OutlookKind); 2] = [("spread", OutlookKind::Spread), ("worst", OutlookKind::Worst)];

/// The trainers by name.
pub(super) const TRAINERS: [(&str, Trainer); 3] =
    [("levenberg-marquardt", Trainer::LevenbergMarquardt), ("vario-eta", Trainer::VarioEta), ("adam", Trainer::Adam)];

impl WrittenProblem {
    /// Fills in the defaults and checks every setting.
    pub fn check(mut self) -> Result<Problem> {
        if self.format.is_some_and(|format| format == 0 || format > FORMAT) {
            let hint = format!("write `format = {FORMAT}`");
            return Err(Error::setting(
                "format",
                self.format.unwrap_or(0),
                format!("this fpsrl knows version {FORMAT}"),
                hint,
            ));
        }
        let plant = self.plant.as_deref().map(PlantKind::from_name).transpose()?;
        let defaults = plant.map_or_else(benchmarks::general, benchmarks::problem);
        let horizon = match (self.horizon, plant) {
            (Some(horizon), _) => horizon,
            (None, Some(_)) => defaults.horizon,
            (None, None) => return Err(missing("horizon", "how many steps a rollout has", "horizon = 100")),
        };
        let mirrored = self.policy.mirrored.unwrap_or(defaults.policy.mirrored);
        let (grow, rules) = match self.policy.rules {
            None if !defaults.policy.grow => (false, defaults.policy.rules),
            None | Some(OrAuto::Auto) => (true, if mirrored { 2 } else { 1 }),
            Some(OrAuto::Count(count)) => (false, usize::try_from(count).unwrap_or(usize::MAX)),
        };
        // Who sets up a swarm, and does not say what searches, wants a swarm.
        let search = &self.search;
        let implied = match search.particles.is_some() || search.iterations.is_some() || search.patience.is_some() {
            true => OptimiserKind::Swarm,
            false => defaults.search.optimiser,
        };
        let trainer = by_name("trainer", &TRAINERS, self.world.trainer, defaults.world.trainer)?;
        let kind = by_name("world", &KINDS, self.world.kind, defaults.world.kind)?;
        let start = match &self.start {
            Some(start) => StartRule::from_text(start),
            // What is drawn from a simulator must start somewhere.
            None if self.world.process.is_some() && self.data.file.is_none() => StartRule::Ranges,
            None if plant.is_none() && self.states.iter().all(|state| state.start.is_none()) => StartRule::Data,
            None => StartRule::Ranges,
        };
        let log = LogSettings::check(&mut self.data)?;
        if plant.is_some() && log.is_some() {
            let rule = "the data of a built-in plant are generated";
            return Err(Error::setting("data.file", "given", rule, "leave out either `plant` or `file`"));
        }
        let most = if log.is_some() { MOST_OF_A_LOG } else { defaults.data.samples };
        let mut states = states(self.states, plant, defaults.states, start == StartRule::Ranges)?;
        let actions = actions(self.actions, plant, defaults.actions)?;
        let lags = self.policy.lags.unwrap_or_default();
        check_process(self.world.process.as_deref(), plant, log.as_ref())?;
        check_memory(&states, &actions, log.as_ref(), &lags, self.world.process.is_some())?;
        let history = match log.as_ref().map(|log| log.history) {
            Some(History::Steps(steps)) => steps,
            Some(History::Auto) => memory::least_history(&states, &actions, &lags)?,
            None => 0,
        };
        states.extend(memory::memories(&states, &actions, history, &lags)?);
        let names = {
            let states: Vec<String> = states.iter().map(|state| state.name.clone()).collect();
            let actions: Vec<String> = actions.iter().map(|action| action.name.clone()).collect();
            known::names(&states, &actions)
        };
        let problem = Problem {
            name: self.name.unwrap_or(defaults.name),
            plant,
            seed: self.seed.unwrap_or(defaults.seed),
            horizon,
            discount_q: self.discount_q.unwrap_or(defaults.discount_q),
            success: self.success.map_or(defaults.success, OrWord::value),
            states,
            actions,
            start,
            start_pool: None,
            data: DataSettings {
                samples: self.data.samples.unwrap_or(most),
                episode_length: self.data.episode_length.unwrap_or(defaults.data.episode_length),
                log,
            },
            world: WorldSettings {
                kind,
                members: self.world.members.unwrap_or(kind.default_members()),
                judge: self.world.judge.unwrap_or(defaults.world.judge),
                mirror: self.world.mirror.unwrap_or(mirrored),
                trainer,
                layers: match self.world.layers {
                    None => defaults.world.layers,
                    Some(OrAuto::Auto) => Depth::Auto,
                    Some(OrAuto::Count(count)) => {
                        within("world.layers", count, 1, 3, "networks have 1 to 3 hidden layers")?;
                        Depth::Layers(count as usize)
                    }
                },
                neurons: self.world.neurons.unwrap_or(defaults.world.neurons),
                epochs: self.world.epochs.unwrap_or(trainer.default_epochs()),
                restarts: self.world.restarts.unwrap_or(defaults.world.restarts),
                absorbing: self.world.absorbing.unwrap_or(defaults.world.absorbing),
                process: self.world.process,
                reward: formula("world.reward", self.world.reward, &names, Kind::Number)?,
                terminal: formula("world.terminal", self.world.terminal, &names, Kind::Truth)?,
            },
            policy: PolicySettings {
                rules,
                grow,
                front: self.policy.front.unwrap_or(defaults.policy.front),
                most_rules: self.policy.most_rules.unwrap_or(defaults.policy.most_rules),
                rules_tolerance: self.policy.rules_tolerance.unwrap_or(defaults.policy.rules_tolerance),
                mirrored,
                periodic: self.policy.periodic.unwrap_or(defaults.policy.periodic),
                alpha: self.policy.alpha.unwrap_or(defaults.policy.alpha),
                lags,
            },
            search: SearchSettings {
                optimiser: by_name("optimiser", &OPTIMISERS, self.search.optimiser, implied)?,
                effort: by_name("effort", &EFFORTS, self.search.effort, defaults.search.effort)?,
                budget: budget(self.search.budget, defaults.search.budget)?,
                particles: self.search.particles.unwrap_or(defaults.search.particles),
                iterations: self.search.iterations.unwrap_or(defaults.search.iterations),
                ring: self.search.ring.unwrap_or(defaults.search.ring),
                inertia: self.search.inertia.unwrap_or(defaults.search.inertia),
                cognitive: self.search.cognitive.unwrap_or(defaults.search.cognitive),
                social: self.search.social.unwrap_or(defaults.search.social),
                velocity_limit: self.search.velocity_limit.unwrap_or(defaults.search.velocity_limit),
                start_states: self.search.start_states.unwrap_or(defaults.search.start_states),
                patience: self.search.patience.map_or(defaults.search.patience, OrWord::value),
                numerics: by_name("numeric mode", &MODES, self.search.numerics, defaults.search.numerics)?,
                caution: self.search.caution.unwrap_or(defaults.search.caution),
                outlook: by_name("outlook", &OUTLOOKS, self.search.outlook, defaults.search.outlook)?,
                outside_limit: self.search.outside_limit.map_or(defaults.search.outside_limit, OrWord::value),
            },
            evaluation: EvaluationSettings {
                start_states: self.evaluation.start_states.unwrap_or(defaults.evaluation.start_states),
            },
        };
        problem.check()?;
        Ok(problem)
    }
}

/// How long a search may take, unless it is missing or the word "none".
fn budget(text: Option<String>, default: Option<Budget>) -> Result<Option<Budget>> {
    match text.as_deref() {
        None => Ok(default),
        Some("none") => Ok(None),
        Some(text) => text
            .parse()
            .map(Some)
            .map_err(|why: String| Error::setting("search.budget", quoted(text), why, Budget::EXAMPLES)),
    }
}

/// Holds a number between two others.
fn share(key: &str, value: f64, low: f64, high: f64, hint: &str) -> Result<()> {
    match (low..=high).contains(&value) {
        true => Ok(()),
        false => Err(Error::setting(key, value, format!("it is a number from {low} to {high}"), hint)),
    }
}

/// A formula, unless it is missing or the word "learn".
fn formula(key: &str, text: Option<String>, names: &[String], kind: Kind) -> Result<Option<Expression>> {
    let Some(text) = text.filter(|text| text != "learn") else { return Ok(None) };
    let formula = Expression::parse(&text, names, kind).map_err(|error| {
        let functions = FUNCTIONS.map(|(name, _)| name).join(", ");
        let hint = format!("variables: {}; functions: {functions}; or write \"learn\"", names.join(", "));
        Error::setting(key, quoted(&text), format!("in it, {error}"), hint)
    })?;
    Ok(Some(formula))
}

/// The thing of a name, or the default where none is given.
fn by_name<T: Copy>(kind: &'static str, all: &[(&str, T)], name: Option<String>, default: T) -> Result<T> {
    let Some(name) = name else { return Ok(default) };
    match all.iter().find(|(known, _)| *known == name) {
        Some((_, thing)) => Ok(*thing),
        None => {
            let known = all.iter().map(|(known, _)| (*known).to_owned()).collect();
            Err(Error::UnknownName { kind, name, known })
        }
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
                defaults.push(StateVariable {
                    name: change.name.clone(),
                    unit: String::new(),
                    columns: Vec::new(),
                    angle: false,
                    start,
                    data_start: start,
                    centre: None,
                    width: None,
                    memory: None,
                });
                defaults.last_mut().ok_or(Error::Internal("a variable was lost"))?
            }
        };
        state.unit = change.unit.unwrap_or_else(|| std::mem::take(&mut state.unit));
        state.columns = change.column.map_or_else(Vec::new, OneOrMany::list);
        state.angle = change.angle.unwrap_or(state.angle);
        state.start = change.start.unwrap_or(state.start);
        state.data_start = change.data_start.unwrap_or(state.data_start);
        state.centre = change.centre.map_or(state.centre, OrWord::value);
        state.width = change.width.map_or(state.width, OrWord::value);
    }
    Ok(defaults)
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
                shown(limits),
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
                return Err(Error::setting(key("change_limits"), shown(limits), rule, "let the limits include 0"));
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

/// Whether a process can be the world.
fn check_process(process: Option<&[String]>, plant: Option<PlantKind>, log: Option<&LogSettings>) -> Result<()> {
    let Some(process) = process else { return Ok(()) };
    let key = "world.process";
    if process.first().is_none_or(String::is_empty) {
        let hint = "write it as a list of words: process = [\"python3\", \"simulator.py\"]";
        return Err(Error::setting(key, "empty", "a process has a program", hint));
    }
    if plant.is_some() {
        return Err(Error::setting(
            key,
            "given",
            "a built-in plant is a world already",
            "leave out `plant` or `process`",
        ));
    }
    if let Some(log) = log
        && log.history != History::Steps(0)
    {
        let rule = "a simulator knows its own past";
        return Err(Error::setting("data.history", "given", rule, "leave out `history`, or `process` below [world]"));
    }
    Ok(())
}

/// Whether there is a log that what is to be remembered can come from.
fn check_memory(
    states: &[StateVariable],
    actions: &[ActionVariable],
    log: Option<&LogSettings>,
    lags: &Lags,
    simulated: bool,
) -> Result<()> {
    let needs = actions.iter().find(|action| action.rate.is_some() || action.set_point.is_some());
    let wanted = match needs.filter(|_| !simulated) {
        Some(action) => Some(format!("the rate or change of `{}`", action.name)),
        None if *lags != Lags::default() => Some("`policy.lags`".to_owned()),
        None => None,
    };
    if let (Some(wanted), None) = (wanted, log) {
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
    }
    if let (Lags::Steps(lags), Some(History::Steps(steps))) = (lags, log.map(|log| log.history))
        && *lags > steps
    {
        let rule = format!("the log's history is {steps} steps");
        let hint = format!("write `history = {lags}` below [data], or let the policy see less");
        return Err(Error::setting("policy.lags", lags, rule, hint));
    }
    // What the policy is to see must be there, also where the rest is left to be chosen.
    if let (Lags::Steps(lags), Some(History::Auto)) = (lags, log.map(|log| log.history))
        && *lags > LONGEST_HISTORY
    {
        let rule = format!("a history has at most {LONGEST_HISTORY} steps");
        return Err(Error::setting("policy.lags", lags, rule, "let the policy see less"));
    }
    let steps = match (log.map(|log| log.history), lags) {
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
        if plant.is_some() && (limited || changed) {
            let setting = if limited { "rate" } else { "change" };
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
                };
                defaults.push(as_change(action, &change)?);
            }
        }
    }
    Ok(defaults)
}

impl Problem {
    /// Holds every setting to its limits.
    pub(crate) fn check(&self) -> Result<()> {
        let whole = "write a whole number that is at least the lowest allowed";
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if self.name.is_empty() || self.name.starts_with('.') || !self.name.chars().all(fits) {
            let rule =
                "a problem's name consists of letters, digits, `-`, `_` and `.`, and begins with none of the dots";
            return Err(Error::setting("name", quoted(&self.name), rule, "the run directory is called after it"));
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
        self.check_variables()?;
        let samples = self.data.samples as u64;
        let rule = "a log has 10 to 100,000,000 transitions, so that each part of the 80/10/10 split has one";
        within("data.samples", samples, 10, 100_000_000, rule)?;
        let length = self.data.episode_length as u64;
        within("data.episode_length", length, 1, 1_000_000, "an episode has 1 to 1,000,000 steps")?;
        within("world.neurons", self.world.neurons as u64, 1, 256, "a hidden layer has 1 to 256 neurons")?;
        within("world.epochs", self.world.epochs as u64, 1, 1_000_000, "training has 1 to 1,000,000 epochs")?;
        within("world.restarts", self.world.restarts as u64, 1, 1_000, "1 to 1,000 networks are tried")?;
        within("world.members", self.world.members as u64, 1, 100, "an ensemble has 1 to 100 members")?;
        share("world.judge", self.world.judge, 0.0, 0.5, "0.2 is the default; 0 does without a judge")?;
        self.check_policy()?;
        let search = &self.search;
        share("search.caution", search.caution, 0.0, 1.0, "0 trusts the model, 1 stays where the data is")?;
        if let Some(limit) = search.outside_limit {
            share("search.outside_limit", limit, 0.0, 1.0, "write a share of the steps, or \"none\"")?;
        }
        let particles = search.particles as u64;
        if particles < 2 {
            return Err(Error::setting("search.particles", particles, "a swarm needs at least 2 particles", whole));
        }
        within("search.particles", particles, 2, 1_000_000, "a swarm has 2 to 1,000,000 particles")?;
        let iterations = search.iterations as u64;
        within("search.iterations", iterations, 1, 100_000_000, "a search has 1 to 100,000,000 iterations")?;
        if search.ring == 0 || search.ring > search.particles / 2 {
            return Err(Error::setting(
                "search.ring",
                search.ring,
                format!("a particle has 1 to {} neighbours on each side here", search.particles / 2),
                "1 is the paper's ring; half of the particles makes all of them neighbours",
            ));
        }
        for (key, value) in [
            ("search.inertia", search.inertia),
            ("search.cognitive", search.cognitive),
            ("search.social", search.social),
        ] {
            finite(key, value)?;
            if !(0.0..=10.0).contains(&value) {
                let hint = "0.72981 and 1.49618 are known to converge";
                return Err(Error::setting(key, value, "the swarm's coefficients lie in [0, 10]", hint));
            }
        }
        if !(search.velocity_limit > 0.0 && search.velocity_limit <= 1.0) {
            let rule = "a velocity is limited to a fraction in (0, 1] of each parameter's range";
            return Err(Error::setting("search.velocity_limit", search.velocity_limit, rule, "0.1 is the paper's"));
        }
        let starts = search.start_states as u64;
        within("search.start_states", starts, 1, 1_000_000, "a policy is scored from 1 to 1,000,000 start states")?;
        if self.plant.is_some() {
            self.check_start_states(self.data.samples)?;
        }
        if search.patience == Some(0) {
            let hint = "write a number of iterations, or \"none\"";
            return Err(Error::setting("search.patience", 0, "a search must be allowed to go on for a while", hint));
        }
        let starts = self.evaluation.start_states as u64;
        within("evaluation.start_states", starts, 1, 1_000_000, "a policy is tested from 1 to 1,000,000 start states")
    }

    /// Whether a log of so many rows can carry the search's start states.
    pub(crate) fn check_start_states(&self, rows: usize) -> Result<()> {
        if self.search.start_states <= rows {
            return Ok(());
        }
        Err(Error::setting(
            "search.start_states",
            self.search.start_states,
            format!("the log has only {rows} rows, and a search from more start states than rows trusts it too far"),
            format!("lower it to at most {rows}, or use a longer log"),
        ))
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
            text(&key("unit"), &state.unit)?;
            range(&key("start"), state.start, true)?;
            range(&key("data_start"), state.data_start, true)?;
            if let Some(centre) = state.centre {
                range(&key("centre"), centre, false)?;
                if self.policy.mirrored && centre[0] != -centre[1] {
                    let hint = "write bounds such as [-1.0, 1.0], or set `policy.mirrored = false`";
                    let rule = "mirrored rules need bounds that are symmetric around 0";
                    return Err(Error::setting(key("centre"), shown(centre), rule, hint));
                }
            }
            if let Some(width) = state.width {
                range(&key("width"), width, false)?;
                if width[0] <= 0.0 {
                    let hint = "choose bounds such as [0.05, 2.0], or \"data\"";
                    return Err(Error::setting(key("width"), shown(width), "a width must be larger than 0", hint));
                }
                if width[0] < NARROWEST {
                    let rule = format!("a width below {NARROWEST:e} cannot be computed with");
                    return Err(Error::setting(key("width"), shown(width), rule, "use another unit for the variable"));
                }
            }
        }
        for action in &self.actions {
            let key = |setting: &str| format!("action.{}.{setting}", action.name);
            text(&key("unit"), &action.unit)?;
            range(&key("limits"), action.limits, false)?;
            if self.policy.mirrored && action.limits[0] != -action.limits[1] {
                let hint = "write limits such as [-1.0, 1.0], or set `policy.mirrored = false`";
                let rule = "mirrored rules need limits that are symmetric around 0";
                return Err(Error::setting(key("limits"), shown(action.limits), rule, hint));
            }
        }
        Ok(())
    }

    fn check_policy(&self) -> Result<()> {
        let rules = self.policy.rules;
        if rules == 0 {
            let hint = "2 rules are a good beginning";
            return Err(Error::setting("policy.rules", rules, "a policy needs at least 1 rule", hint));
        }
        within("policy.rules", rules as u64, 1, MOST_RULES as u64, &format!("a policy has 1 to {MOST_RULES} rules"))?;
        if self.policy.mirrored && rules % 2 == 1 {
            let rule = "mirrored rules come in pairs";
            let hint = format!("use {} or {} rules, or set `policy.mirrored = false`", rules.max(3) - 1, rules + 1);
            return Err(Error::setting("policy.rules", rules, rule, hint));
        }
        let (fewest, most) = (self.rule_step() as u64, MOST_RULES as u64);
        let rule = format!("a growing policy has {fewest} to {most} rules at most");
        within("policy.most_rules", self.policy.most_rules as u64, fewest, most, &rule)?;
        if let (Some(budget), false) = (self.search.budget, self.search.optimiser == OptimiserKind::Auto) {
            let hint =
                "leave it out, or write `optimiser = \"auto\"`; particles, iterations and patience choose the swarm";
            return Err(Error::setting("search.budget", quoted(&budget.to_string()), "only a race keeps to one", hint));
        }
        let tolerance = self.policy.rules_tolerance;
        if !(0.0..1.0).contains(&tolerance) {
            let rule = "it is a share of the possible gain, from 0 to below 1";
            return Err(Error::setting("policy.rules_tolerance", tolerance, rule, "0.01 is the default"));
        }
        range("policy.alpha", self.policy.alpha, false)
    }
}

fn missing(key: &str, what: &str, example: &str) -> Error {
    let rule = format!("a problem without a built-in plant must say {what}");
    Error::setting(key, "missing", rule, format!("write `{example}`"))
}

fn within(key: &str, value: u64, lowest: u64, highest: u64, rule: &str) -> Result<()> {
    if (lowest..=highest).contains(&value) {
        return Ok(());
    }
    Err(Error::setting(key, value, rule, format!("choose a value from {lowest} to {highest}")))
}

fn finite(key: &str, value: f64) -> Result<()> {
    if value.abs() <= LARGEST {
        return Ok(());
    }
    Err(unusable(key, value))
}

fn unusable(key: &str, value: impl Display) -> Error {
    let hint = "write a number; if it is a very large one, use another unit";
    Error::setting(key, value, format!("every number must be finite and at most {LARGEST:e} in size"), hint)
}

fn range(key: &str, bounds: [f64; 2], may_be_a_point: bool) -> Result<()> {
    let [low, high] = bounds;
    // Written so that NaN fails.
    if !(low.abs() <= LARGEST && high.abs() <= LARGEST) {
        return Err(unusable(key, shown(bounds)));
    }
    if low < high || (may_be_a_point && low == high) {
        return Ok(());
    }
    let rule = match may_be_a_point {
        true => "the lower bound must not be above the upper one",
        false => "the lower bound must be below the upper one",
    };
    Err(Error::setting(key, shown(bounds), rule, "write it as [low, high]"))
}

fn shown([low, high]: [f64; 2]) -> String {
    format!("[{low:?}, {high:?}]")
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.escape_debug())
}

fn text(key: &str, value: &str) -> Result<()> {
    if value.chars().any(char::is_control) {
        return Err(Error::setting(key, quoted(value), "it is printed on one line", "leave out line breaks"));
    }
    Ok(())
}

/// Names head columns of a CSV file, so that they must be told from each other and from the other columns.
fn column_name(name: &str) -> Result<()> {
    let refuse = |rule: &str, hint: &str| Err(Error::setting("name", quoted(name), rule, hint));
    if name.is_empty() || name.trim() != name {
        return refuse("a variable's name is not empty, and neither begins nor ends with a space", "give it a name");
    }
    if name.chars().any(|c| c.is_control() || matches!(c, ',' | ';' | '"' | '`')) {
        return refuse("a variable's name heads a column of a CSV file", "leave out commas, quotes and line breaks");
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
            return Err(Error::setting("name", quoted(name), rule, "give each its own name"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The message for a change of a benchmark; the key in it is what the user has to find.
    fn refused(benchmark: &str, change: impl Fn(&mut WrittenProblem)) -> String {
        let mut written = WrittenProblem::benchmark(benchmark).unwrap();
        change(&mut written);
        let error = written.check().unwrap_err();
        assert!(error.is_users());
        assert!(error.hint().is_some(), "{error} has no hint");
        error.to_string()
    }

    fn state(name: &str) -> WrittenState {
        WrittenState { name: name.into(), ..WrittenState::default() }
    }

    #[test]
    fn every_benchmark_passes_its_own_check() {
        for name in crate::problem::benchmark_names() {
            let problem = Problem::benchmark(&name).unwrap();
            assert_eq!(problem.name, name);
            assert_eq!(problem.states.len(), if name.starts_with("cart") { 4 } else { 2 });
        }
    }

    #[test]
    fn counts_that_make_no_sense_are_refused() {
        let message = refused("mountain-car", |w| w.policy.rules = Some(OrAuto::Count(0)));
        assert_eq!(message, "`policy.rules` is 0, but a policy needs at least 1 rule");
        let message = refused("cart-pole-balancing", |w| w.policy.rules = Some(OrAuto::Count(3)));
        assert_eq!(message, "`policy.rules` is 3, but mirrored rules come in pairs");
        let message = refused("mountain-car", |w| w.horizon = Some(1));
        assert_eq!(message, "`horizon` is 1, but a rollout has 2 to 1,000,000 steps");
        assert!(refused("mountain-car", |w| w.search.particles = Some(1)).contains("search.particles"));
        assert!(refused("mountain-car", |w| w.search.particles = Some(usize::MAX)).contains("search.particles"));
        assert!(refused("mountain-car", |w| w.search.iterations = Some(0)).contains("search.iterations"));
        assert!(refused("mountain-car", |w| w.search.ring = Some(0)).contains("search.ring"));
        assert!(refused("mountain-car", |w| w.search.ring = Some(51)).contains("1 to 50 neighbours"));
        assert!(refused("mountain-car", |w| w.search.start_states = Some(0)).contains("search.start_states"));
        assert!(refused("mountain-car", |w| w.search.patience = Some(OrWord::Value(0))).contains("search.patience"));
        assert!(refused("mountain-car", |w| w.evaluation.start_states = Some(0)).contains("evaluation.start_states"));
        assert!(refused("mountain-car", |w| w.data.samples = Some(9)).contains("data.samples"));
        assert!(refused("mountain-car", |w| w.data.episode_length = Some(0)).contains("data.episode_length"));
        assert!(refused("mountain-car", |w| w.world.neurons = Some(0)).contains("world.neurons"));
        assert!(refused("mountain-car", |w| w.world.epochs = Some(0)).contains("world.epochs"));
        assert!(refused("mountain-car", |w| w.world.restarts = Some(0)).contains("world.restarts"));
        assert!(refused("mountain-car", |w| w.world.layers = Some(OrAuto::Count(4))).contains("world.layers"));
        assert!(refused("mountain-car", |w| w.seed = Some(u64::MAX)).contains("seed"));
        assert!(refused("mountain-car", |w| w.format = Some(0)).contains("format"));
    }

    #[test]
    fn the_widest_ring_makes_everyone_a_neighbour() {
        let mut written = WrittenProblem::benchmark("mountain-car").unwrap();
        written.search.ring = Some(50);
        assert_eq!(written.check().unwrap().search.ring, 50);
    }

    #[test]
    fn more_start_states_than_rows_are_refused() {
        let message = refused("mountain-car", |w| {
            w.data.samples = Some(50);
            w.search.start_states = Some(51);
        });
        assert!(message.contains("`search.start_states` is 51") && message.contains("only 50 rows"), "{message}");
    }

    #[test]
    fn numbers_that_are_none_are_refused_wherever_they_stand() {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300] {
            let pair = [bad.min(0.0), bad];
            assert!(refused("mountain-car", |w| w.discount_q = Some(bad)).contains("discount_q"));
            assert!(refused("mountain-car", |w| w.success = Some(OrWord::Value(bad))).contains("success"));
            assert!(refused("mountain-car", |w| w.search.inertia = Some(bad)).contains("search.inertia"));
            assert!(refused("mountain-car", |w| w.search.cognitive = Some(bad)).contains("search.cognitive"));
            assert!(refused("mountain-car", |w| w.search.social = Some(bad)).contains("search.social"));
            assert!(refused("mountain-car", |w| w.search.velocity_limit = Some(bad)).contains("velocity_limit"));
            assert!(refused("mountain-car", |w| w.policy.alpha = Some(pair)).contains("policy.alpha"));
            let position = |change: fn(&mut WrittenState, [f64; 2])| {
                refused("mountain-car", |w| {
                    w.states = vec![state("position")];
                    change(&mut w.states[0], pair);
                })
            };
            assert!(position(|s, pair| s.start = Some(pair)).contains("state.position.start"));
            assert!(position(|s, pair| s.data_start = Some(pair)).contains("state.position.data_start"));
            assert!(position(|s, pair| s.centre = Some(OrWord::Value(pair))).contains("state.position.centre"));
            assert!(position(|s, pair| s.width = Some(OrWord::Value(pair))).contains("state.position.width"));
            let message = refused("mountain-car", |w| {
                w.actions = vec![WrittenAction { name: "force".into(), limits: Some(pair), ..WrittenAction::default() }]
            });
            assert!(message.contains("action.force.limits"));
        }
    }

    #[test]
    fn ranges_that_are_none_are_refused() {
        let width = |bounds| {
            refused("mountain-car", |w| {
                w.states = vec![WrittenState { width: Some(OrWord::Value(bounds)), ..state("velocity") }]
            })
        };
        assert_eq!(width([0.0, 1.0]), "`state.velocity.width` is [0.0, 1.0], but a width must be larger than 0");
        assert!(width([-1.0, 1.0]).contains("larger than 0"));
        assert!(width([1e-12, 1.0]).contains("1e-9"));
        assert!(width([2.0, 1.0]).contains("the lower bound must be below the upper one"));
        let alpha = refused("mountain-car", |w| w.policy.alpha = Some([1.0, 1.0]));
        assert!(alpha.contains("policy.alpha"));
        let start =
            refused("mountain-car", |w| w.states = vec![WrittenState { start: Some([1.0, 0.5]), ..state("position") }]);
        assert!(start.contains("must not be above"));
        assert!(refused("mountain-car", |w| w.discount_q = Some(0.0)).contains("discount_q"));
        assert!(refused("mountain-car", |w| w.discount_q = Some(1.01)).contains("discount_q"));
        assert!(refused("mountain-car", |w| w.search.velocity_limit = Some(0.0)).contains("velocity_limit"));
    }

    #[test]
    fn mirrored_rules_need_symmetric_bounds() {
        let message = refused("cart-pole-balancing", |w| {
            w.states = vec![WrittenState { centre: Some(OrWord::Value([-1.0, 2.0])), ..state("rho") }]
        });
        assert!(message.contains("state.rho.centre") && message.contains("symmetric"), "{message}");
        let message = refused("cart-pole-balancing", |w| {
            w.actions =
                vec![WrittenAction { name: "force".into(), limits: Some([-1.0, 2.0]), ..WrittenAction::default() }]
        });
        assert!(message.contains("action.force.limits") && message.contains("symmetric"), "{message}");
    }

    #[test]
    fn unknown_names_are_refused() {
        assert!(refused("mountain-car", |w| w.plant = Some("hill".into())).contains("`hill`"));
        assert!(refused("mountain-car", |w| w.world.trainer = Some("sgd".into())).contains("`sgd`"));
        assert!(refused("mountain-car", |w| w.search.numerics = Some("slow".into())).contains("`slow`"));
        assert!(refused("mountain-car", |w| w.states = vec![state("speed")]).contains("`speed`"));
        let action = WrittenAction { name: "push".into(), ..WrittenAction::default() };
        assert!(refused("mountain-car", |w| w.actions = vec![action.clone()]).contains("`push`"));
    }

    #[test]
    fn names_that_cannot_head_a_column_are_refused() {
        let own = |name: &str| WrittenProblem {
            name: Some("own".into()),
            horizon: Some(10),
            states: vec![WrittenState { start: Some([0.0, 1.0]), ..state(name) }],
            actions: vec![WrittenAction { name: "valve".into(), limits: Some([0.0, 1.0]), ..WrittenAction::default() }],
            ..WrittenProblem::default()
        };
        assert!(own("level").check().is_ok());
        for bad in ["", " level", "a,b", "a\nb", "a\"b", "episode", "step", "reward", "next_level", "valve"] {
            let error = own(bad).check().unwrap_err();
            assert!(error.to_string().starts_with("`name` is "), "{error}");
            assert!(error.hint().is_some());
        }
        let mut twice = own("level");
        twice.states.push(twice.states[0].clone());
        assert!(twice.check().unwrap_err().to_string().contains("same name"));
        for bad in ["", "a/b", "..", "a b", ".hidden"] {
            let problem = WrittenProblem { name: Some(bad.into()), ..own("level") };
            assert!(problem.check().unwrap_err().to_string().starts_with("`name` is "));
        }
    }

    #[test]
    fn a_problem_without_a_plant_must_say_what_it_is() {
        let action = WrittenAction { name: "valve".into(), limits: Some([0.0, 1.0]), ..WrittenAction::default() };
        let own = WrittenProblem {
            name: Some("own".into()),
            horizon: Some(10),
            states: vec![WrittenState { start: Some([0.0, 1.0]), ..state("level") }],
            actions: vec![action.clone()],
            ..WrittenProblem::default()
        };
        let refused = |change: fn(&mut WrittenProblem)| {
            let mut written = own.clone();
            change(&mut written);
            written.check().unwrap_err().to_string()
        };
        assert!(refused(|w| w.horizon = None).starts_with("`horizon` is missing"));
        assert!(refused(|w| w.states.clear()).starts_with("`state` is missing"));
        assert!(refused(|w| w.actions.clear()).starts_with("`action` is missing"));
        // Of several states, either all have a range to start in or none has.
        let half = |w: &mut WrittenProblem| w.states.push(WrittenState { start: None, ..state("flow") });
        assert!(refused(half).starts_with("`state.flow.start` is missing"));
        assert!(refused(|w| w.actions[0].limits = None).starts_with("`action.valve.limits` is missing"));
    }

    #[test]
    fn a_benchmarks_default_can_be_switched_off() {
        let mut written = WrittenProblem::benchmark("cart-pole-swing-up").unwrap();
        written.states = vec![WrittenState { centre: Some(OrWord::Word), ..state("rho") }];
        written.success = Some(OrWord::Word);
        let problem = written.check().unwrap();
        assert_eq!(problem.states[2].centre, None);
        assert_eq!(problem.states[1].centre, Some([-15.0, 15.0]));
        assert_eq!(problem.success, None);
    }
}
