//! `[world]`: what world models are made of, how they are trained, and what is known and need not be learned.

use fpsrl_base::error::{Error, Result, nearest};
use fpsrl_base::settings::{Lines, OrAuto, between, by_name, escaped, name_of, number, quoted, quoted_list, within};
use fpsrl_data::System;
use fpsrl_data::system::{ActionVariable, History, LONGEST_HISTORY};
use fpsrl_engine::formula::{Formula, Function, Kind};
use serde::Deserialize;

use crate::process::Permission;
use crate::simulator::OwnSimulator;
use crate::training::{Depth, Trainer};

/// What worlds are made of, by name.
const KINDS: [(&str, WorldKind); 5] = [
    ("auto", WorldKind::Auto),
    ("mlp", WorldKind::Mlp),
    ("ensemble", WorldKind::Ensemble),
    ("gp", WorldKind::GaussianProcess),
    ("forest", WorldKind::Forest),
];

/// The trainers by name.
const TRAINERS: [(&str, Trainer); 3] =
    [("levenberg-marquardt", Trainer::LevenbergMarquardt), ("vario-eta", Trainer::VarioEta), ("adam", Trainer::Adam)];

/// What a world model is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorldKind {
    /// One network for each variable, as in the paper.
    Mlp,
    /// Several networks for each variable, each from its own draw of the rows.
    Ensemble,
    /// A Gaussian process for each variable.
    GaussianProcess,
    /// A forest of regression trees for each variable.
    Forest,
    /// For each variable whichever of these has the least validation error, in several members.
    Auto,
}

impl WorldKind {
    /// Members of an ensemble of this kind, where the user does not say.
    pub fn default_members(self) -> usize {
        match self {
            WorldKind::Mlp | WorldKind::GaussianProcess | WorldKind::Forest => 1,
            WorldKind::Ensemble | WorldKind::Auto => 5,
        }
    }
}

/// How the world model is trained.
///
/// ```
/// use fpsrl_world::{WorldKind, WorldSettings};
/// let settings = WorldSettings { neurons: 0, ..WorldSettings::default() };
/// assert_eq!(settings.check().unwrap_err().to_string(), "`world.neurons` is 0, but a hidden layer has 1 to 256 neurons");
/// assert_eq!(WorldSettings::of_kind(WorldKind::Ensemble).members, 5);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct WorldSettings {
    /// What it is made of.
    pub kind: WorldKind,
    /// Members of the ensemble, each learned from its own draw of the rows.
    pub members: usize,
    /// The share of the log's episodes that the search never sees, for the world that judges its policies; 0 is none.
    pub judge: f64,
    /// Whether each row is also learned from as its mirror image.
    pub mirror: bool,
    /// One, two or three hidden layers, or the best of the three for each variable.
    pub layers: Depth,
    /// Neurons in a hidden layer.
    pub neurons: usize,
    /// The training algorithm.
    pub trainer: Trainer,
    /// Iterations of the trainer over the training set, at most.
    pub epochs: usize,
    /// Networks trained from different weights for each variable and depth; the best on the validation set is kept.
    pub restarts: usize,
    /// Whether absorbing states are recognised in the log and learned apart from what moves.
    pub absorbing: bool,
    /// The program and the arguments of a process that is the world, instead of a learned one.
    pub process: Option<Vec<String>>,
    /// Whether that process may be started. No file can hold it.
    pub permission: Permission,
    /// The world itself, if it is neither learned nor a process; `process` then begins with
    /// [`FUNCTION`](crate::simulator::FUNCTION). No file can hold it.
    pub simulator: Option<OwnSimulator>,
    /// The reward as a formula, if the user knows it.
    pub reward: Option<Formula>,
    /// When a transition is absorbing, as a formula, if the user knows it.
    pub terminal: Option<Formula>,
    /// What movement, leaving ranges and objectives cost besides the reward; it follows from the system.
    pub costs: Option<Formula>,
    /// Whether rollouts that follow a log's inputs also follow what the plant did beyond what is predicted.
    pub noise: bool,
}

/// `[world]` as written.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrittenWorld {
    /// "mlp", "ensemble", "gp", "forest" or "auto".
    pub kind: Option<String>,
    /// Members of the ensemble.
    pub members: Option<usize>,
    /// The share of episodes for the judge.
    pub judge: Option<f64>,
    /// Whether rows are learned from as their mirror images too.
    pub mirror: Option<bool>,
    /// Hidden layers, or "auto".
    pub layers: Option<OrAuto>,
    /// Neurons in a hidden layer.
    pub neurons: Option<usize>,
    /// The trainer's name.
    pub trainer: Option<String>,
    /// Iterations of the trainer.
    pub epochs: Option<usize>,
    /// Networks tried for each variable and depth.
    pub restarts: Option<usize>,
    /// Whether absorbing states are learned.
    pub absorbing: Option<bool>,
    /// The program and the arguments of a process that is the world.
    pub process: Option<Vec<String>>,
    /// The reward as a formula, or "learn".
    pub reward: Option<String>,
    /// The terminal condition as a formula, or "learn".
    pub terminal: Option<String>,
    /// "log" or "none": whether rollouts with inputs follow the log's noise.
    pub noise: Option<String>,
}

impl Default for WorldSettings {
    fn default() -> Self {
        Self::of_kind(WorldKind::Auto)
    }
}

impl WorldSettings {
    /// The defaults of a kind of world.
    pub fn of_kind(kind: WorldKind) -> Self {
        let trainer = Trainer::LevenbergMarquardt;
        Self {
            kind,
            members: kind.default_members(),
            judge: 0.2,
            mirror: false,
            layers: Depth::Auto,
            neurons: 10,
            trainer,
            epochs: trainer.default_epochs(),
            restarts: 1,
            absorbing: true,
            process: None,
            permission: Permission::Refused,
            simulator: None,
            reward: None,
            terminal: None,
            costs: None,
            noise: true,
        }
    }

    /// The same settings for a system with other variables, such as a longer history: formulas are understood anew.
    pub fn for_system(&self, system: &System) -> Result<Self> {
        let again = |key: &str, known: &Option<Formula>, kind: Kind| {
            formula(key, known.as_ref().map(|known| known.text().to_owned()), system, kind)
        };
        let reward = again("world.reward", &self.reward, Kind::Number)?;
        let terminal = again("world.terminal", &self.terminal, Kind::Truth)?;
        Ok(Self { reward, terminal, costs: costs(system)?, ..self.clone() })
    }

    /// Holds everything to its limits.
    pub fn check(&self) -> Result<()> {
        within("world.neurons", self.neurons as u64, 1, 256, "a hidden layer has 1 to 256 neurons")?;
        within("world.epochs", self.epochs as u64, 1, 1_000_000, "training has 1 to 1,000,000 epochs")?;
        within("world.restarts", self.restarts as u64, 1, 1_000, "1 to 1,000 networks are tried")?;
        within("world.members", self.members as u64, 1, 100, "an ensemble has 1 to 100 members")?;
        if let Depth::Layers(layers) = self.layers {
            within("world.layers", layers as u64, 1, 3, "networks have 1 to 3 hidden layers")?;
        }
        between("world.judge", self.judge, 0.0, 0.5, "0.2 is the default; 0 does without a judge")
    }

    /// The lines of `[world]`.
    pub fn write(&self, file: &mut Lines) {
        file.section("[world]");
        let known = KINDS.map(|(name, _)| quoted(name)).join(", ");
        file.key("kind", quoted(name_of(&KINDS, &self.kind)), &format!("one of {known}"));
        file.key("members", self.members, "of the ensemble, each learned from its own draw of the rows");
        file.key("judge", number(self.judge), "share of the episodes kept from the search, for its judge");
        file.key("mirror", self.mirror, "learn from each row's mirror image too, for symmetric plants");
        let layers = match self.layers {
            Depth::Auto => "\"auto\"".to_owned(),
            Depth::Layers(count) => count.to_string(),
        };
        file.key("layers", layers, "hidden layers: 1, 2, 3, or \"auto\" for the best of them for each variable");
        file.key("neurons", self.neurons, "in each hidden layer");
        let known = TRAINERS.map(|(name, _)| quoted(name)).join(", ");
        file.key("trainer", quoted(name_of(&TRAINERS, &self.trainer)), &format!("one of {known}"));
        file.key("epochs", self.epochs, "iterations of the trainer, at most");
        file.key("restarts", self.restarts, "networks tried for each variable and depth");
        file.key("absorbing", self.absorbing, "learn apart where the plant stops for good: goals, broken limits");

        if let Some(process) = &self.process {
            file.key("process", quoted_list(process), "a simulator that is the world; nothing is learned");
        }

        let formula = |known: &Option<Formula>| quoted(known.as_ref().map_or("learn", Formula::text));
        let comment = "a formula such as \"abs(x) < 0.5 ? 0 : -1\", x after the step; or \"learn\"";
        file.key("reward", formula(&self.reward), comment);
        let comment = "a formula such as \"abs(x) > 2\" for where the plant stops for good; or \"learn\"";
        file.key("terminal", formula(&self.terminal), comment);
        let comment = "with inputs: rollouts follow what the log's plant did beyond what is predicted, too";
        file.key("noise", quoted(if self.noise { "log" } else { "none" }), comment);
    }
}

impl WrittenWorld {
    /// Fills in the defaults and checks everything; rows are mirrored where the rules are, unless the user says otherwise.
    pub fn check(self, system: &System, history: Option<History>, mirrored: bool) -> Result<WorldSettings> {
        check_process(self.process.as_deref(), system, history)?;
        let kind = by_name("world", &KINDS, self.kind, WorldKind::Auto)?;
        let defaults = WorldSettings::of_kind(kind);
        let trainer = by_name("trainer", &TRAINERS, self.trainer, defaults.trainer)?;
        let settings = WorldSettings {
            kind,
            members: self.members.unwrap_or(defaults.members),
            judge: self.judge.unwrap_or(defaults.judge),
            mirror: self.mirror.unwrap_or(mirrored),
            trainer,
            layers: match self.layers {
                None => defaults.layers,
                Some(OrAuto::Auto) => Depth::Auto,
                Some(OrAuto::Count(count)) => Depth::Layers(usize::try_from(count).unwrap_or(usize::MAX)),
            },
            neurons: self.neurons.unwrap_or(defaults.neurons),
            epochs: self.epochs.unwrap_or(trainer.default_epochs()),
            restarts: self.restarts.unwrap_or(defaults.restarts),
            absorbing: self.absorbing.unwrap_or(defaults.absorbing),
            process: self.process,
            permission: Permission::Refused,
            simulator: None,
            reward: formula("world.reward", self.reward, system, Kind::Number)?,
            terminal: formula("world.terminal", self.terminal, system, Kind::Truth)?,
            costs: costs(system)?,
            noise: by_name("noise of a rollout", &NOISES, self.noise, true)?,
        };
        check_objectives(system, settings.process.is_some(), settings.reward.is_some(), history)?;
        settings.check()?;
        Ok(settings)
    }
}

/// Whether rollouts follow the log's noise, by name.
const NOISES: [(&str, bool); 2] = [("log", true), ("none", false)];

/// What a system's movements, ranges and objectives cost.
fn costs(system: &System) -> Result<Option<Formula>> {
    for objective in system.objectives() {
        // Each by itself, so that a fault is told where it stands, and none reaches beyond its own parentheses.
        understood(&format!("objective.{}.cost", objective.name), &objective.cost, system, Kind::Number, "")?;
    }
    let Some(text) = system.costs() else { return Ok(None) };
    let formula = Formula::parse(&text, &system.formula_names(), Kind::Number).map_err(|error| {
        let rule = format!("a price needs names that can stand in a formula: {error}");
        let hint = "call the variable by a name of letters, digits and `_`, and name its column with `column`";
        Error::setting("move_cost or keep", "given", rule, hint)
    })?;
    Ok(Some(formula))
}

/// Whether worlds can tell what objectives cost: their rewards must be those of a formula, or of a log that is imported.
fn check_objectives(system: &System, process: bool, known_reward: bool, history: Option<History>) -> Result<()> {
    let Some(objective) = system.objectives().first() else { return Ok(()) };
    let key = format!("objective.{}", objective.name);
    if process {
        let rule = "the rewards of a simulator are its own";
        return Err(Error::setting(key, "given", rule, "let the simulator take the cost off its rewards"));
    }
    if !known_reward && history.is_none() {
        let rule = "its cost is taken off rewards when a log is imported, or off those of a formula";
        let hint = "write `file = \"log.csv\"` below [data], or `reward = \"…\"` below [world]";
        return Err(Error::setting(key, "given", rule, hint));
    }
    Ok(())
}

/// A formula, unless it is missing or the word "learn".
fn formula(key: &str, text: Option<String>, system: &System, kind: Kind) -> Result<Option<Formula>> {
    let Some(text) = text.filter(|text| text != "learn") else { return Ok(None) };
    understood(key, &text, system, kind, "; or write \"learn\"").map(Some)
}

/// A formula over a system's names; `or` is what else may be written.
fn understood(key: &str, text: &str, system: &System, kind: Kind, or: &str) -> Result<Formula> {
    let names = system.formula_names();
    Formula::parse(text, &names, kind).map_err(|error| {
        let unknown = error.unknown.as_deref();
        let meant = unknown.and_then(|name| past(name, &names, system).or_else(|| near(name, &names)));
        let functions = Function::ALL.map(Function::name).join(", ");
        let known = format!("variables: {}; functions: {functions}{or}", names.join(", "));
        let hint = meant.map_or_else(|| known.clone(), |meant| format!("{meant}; {known}"));
        Error::setting(key, escaped(text), format!("in it, {error}"), hint)
    })
}

/// Of a name that would be known if the log's rows carried more of their past: what it takes.
fn past(name: &str, names: &[String], system: &System) -> Option<String> {
    // Only rows of a log have a past.
    system.history()?;
    let absolute =
        |action: &ActionVariable| action.set_point.as_ref().map_or(&action.name, |point| &point.name).clone();
    let is_action = |name: &str| system.actions().iter().any(|action| absolute(action) == name);
    let is_known = |name: &str| {
        is_action(name) || system.states()[..system.current_states()].iter().any(|state| state.name == name)
    };
    let before = name.strip_prefix("previous_");
    // Before a step there was no action of it, but that of the step before.
    if let Some(action) = before.filter(|name| is_action(name)) {
        let last = format!("previous_{action}_1");
        let needs = if names.contains(&last) { "" } else { ", which needs `history = 1` below [data]" };
        return Some(format!("the action before is `{last}`{needs}"));
    }
    let (of, steps) = before.or(name.strip_prefix("next_")).unwrap_or(name).rsplit_once('_')?;
    let steps: usize = steps.parse().ok().filter(|steps| (1..=LONGEST_HISTORY).contains(steps))?;
    let back = if steps == 1 { "one step".to_owned() } else { format!("{steps} steps") };
    is_known(of).then(|| format!("`{of}` {back} back needs `history = {steps}` below [data]"))
}

/// A name that was perhaps meant.
fn near(name: &str, names: &[String]) -> Option<String> {
    nearest(name, names).map(|near| format!("did you mean `{near}`?"))
}

/// Whether a process can be the world.
fn check_process(process: Option<&[String]>, system: &System, history: Option<History>) -> Result<()> {
    let Some(process) = process else { return Ok(()) };
    let key = "world.process";
    if process.first().is_none_or(String::is_empty) {
        let hint = "write it as a list of words: process = [\"python3\", \"simulator.py\"]";
        return Err(Error::setting(key, "empty", "a process has a program", hint));
    }
    if system.plant().is_some() {
        let rule = "a built-in plant is a world already";
        return Err(Error::setting(key, "given", rule, "leave out `plant` or `process`"));
    }
    if history.is_some_and(|history| history != History::Steps(0)) {
        let rule = "a simulator knows its own past";
        return Err(Error::setting("data.history", "given", rule, "leave out `history`, or `process` below [world]"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use fpsrl_data::system::{Surroundings, WrittenAction, WrittenState, WrittenSystem};

    use super::*;

    fn system(history: History) -> System {
        let written = WrittenSystem {
            name: Some("p".into()),
            horizon: Some(10),
            states: vec![WrittenState { name: "Q1".into(), ..WrittenState::default() }],
            actions: vec![WrittenAction { name: "valve".into(), limits: Some([0.0, 1.0]), ..WrittenAction::default() }],
            ..WrittenSystem::default()
        };
        written.check(&Surroundings { history: Some(history), ..Surroundings::default() }).unwrap()
    }

    #[test]
    fn an_objective_is_a_formula_over_the_systems_names_of_a_log_that_is_imported() {
        let check = |cost: &str, process: Option<Vec<String>>, reward: Option<&str>, history: Option<History>| {
            let text = format!(
                "name = 'p'\nhorizon = 10\nstart = 'data'\n[[state]]\nname = 'Q1'\n[[action]]\nname = 'valve'\n\
                 limits = [0.0, 1.0]\n[[objective]]\nname = 'energy'\nweight = 2.0\ncost = '{cost}'\n"
            );
            let around = Surroundings { history, simulated: process.is_some(), ..Surroundings::default() };
            let system = toml::from_str::<WrittenSystem>(&text).unwrap().check(&around).unwrap();
            let world = WrittenWorld { process, reward: reward.map(str::to_owned), ..WrittenWorld::default() };
            world.check(&system, history, false)
        };
        let log = Some(History::Steps(0));
        let costs = check("valve - 0.25", None, None, log).unwrap().costs.unwrap();
        // Of previous Q1, valve, Q1 and next Q1: what is below 0 counts as 0.
        assert_eq!(costs.evaluate(&[0.0, 0.75, 0.0, 0.0]), 1.0);
        assert_eq!(costs.evaluate(&[0.0, 0.0, 0.0, 0.0]), 0.0);
        assert!(check("Q1", None, Some("-Q1"), None).is_ok());
        let refused = |cost: &str, process: Option<Vec<String>>, history: Option<History>| {
            let error = check(cost, process, None, history).unwrap_err();
            format!("{error} / {}", error.hint().unwrap())
        };
        for (cost, told) in [
            ("vlave", "did you mean `valve`?"),
            ("valve_1", "needs `history = 1` below [data]"),
            ("valve > 0.5", "`objective.energy.cost`"),
            ("", "`objective.energy.cost`"),
            ("learn", "`objective.energy.cost`"),
            ("valve) + (Q1", "`objective.energy.cost`"),
        ] {
            let said = refused(cost, None, log);
            assert!(said.contains(told) && !said.contains("\"learn\";"), "{cost}: {said}");
        }
        assert!(refused("valve", Some(vec!["simulator".into()]), None).contains("rewards of a simulator are its own"));
        assert!(refused("valve", None, None).contains("`file = \"log.csv\"` below [data]"));
    }

    #[test]
    fn a_name_of_the_past_says_which_history_it_needs() {
        let hint = |text: &str, history: History| {
            let error = formula("world.reward", Some(text.into()), &system(history), Kind::Number).unwrap_err();
            assert!(error.to_string().contains("there is no variable or function called"), "{error}");
            error.hint().unwrap()
        };
        let none = History::Steps(0);
        for (text, history, told) in [
            ("Q1_1", none, "`Q1` one step back needs `history = 1` below [data]; variables: previous_Q1"),
            ("previous_Q1_2", History::Steps(1), "`Q1` 2 steps back needs `history = 2` below [data]"),
            ("valve_3", History::Auto, "`valve` 3 steps back needs `history = 3` below [data]"),
            ("previous_valve", none, "the action before is `previous_valve_1`, which needs `history = 1` below [data]"),
            ("previous_valve", History::Steps(1), "the action before is `previous_valve_1`; variables"),
            ("vlave", none, "did you mean `valve`?"),
        ] {
            let said = hint(text, history);
            assert!(said.starts_with(told), "{text}: {said}");
        }
        assert!(
            formula("world.reward", Some("Q1_1 - previous_Q1_1".into()), &system(History::Steps(1)), Kind::Number)
                .is_ok()
        );
    }
}
