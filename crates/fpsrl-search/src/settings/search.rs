//! `[search]`: what searches, how long, and how cautiously.

use fpsrl_base::error::{Error, Result};
use fpsrl_base::settings::{Lines, OrWord, between, by_name, escaped, finite, name_of, number, quoted, within};
use fpsrl_data::plant::PlantKind;
use fpsrl_engine::simd::Mode;
use serde::Deserialize;

use crate::budget::Budget;

/// The numeric modes by name.
const MODES: [(&str, Mode); 2] = [("fast", Mode::Fast), ("reproducible", Mode::Reproducible)];

/// The optimisers by name.
const OPTIMISERS: [(&str, OptimiserKind); 4] = [
    ("auto", OptimiserKind::Auto),
    ("swarm", OptimiserKind::Swarm),
    ("shade", OptimiserKind::Shade),
    ("cma-es", OptimiserKind::CmaEs),
];

/// The efforts by name.
const EFFORTS: [(&str, Effort); 3] =
    [("quick", Effort::Quick), ("normal", Effort::Normal), ("thorough", Effort::Thorough)];

/// The outlooks by name.
const OUTLOOKS: [(&str, RiskKind); 2] = [("spread", RiskKind::Spread), ("worst", RiskKind::Worst)];

/// What searches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptimiserKind {
    /// A race: many short tries of which few go on.
    Auto,
    /// The ring swarm of the paper.
    Swarm,
    /// Differential evolution, L-SHADE.
    Shade,
    /// Evolution of a covariance matrix.
    CmaEs,
}

/// How long a race may take, as far as its problem is hard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// A first look: an eighth of the tries.
    Quick,
    /// What usually suffices.
    Normal,
    /// Four times as many tries.
    Thorough,
}

/// How the members of an ensemble become one fitness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RiskKind {
    /// Their mean less a part of their spread; caution says which.
    Spread,
    /// The worst of them.
    Worst,
}

/// The search.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchSettings {
    /// What searches.
    pub optimiser: OptimiserKind,
    /// How many tries a race makes at most.
    pub effort: Effort,
    /// How long a race may take; none leaves it to the effort. A time is translated into steps when a search begins.
    pub budget: Option<Budget>,
    /// N, the number of particles.
    pub particles: usize,
    /// Iterations of the swarm.
    pub iterations: usize,
    /// Neighbours on each side of a particle in the ring.
    pub ring: usize,
    /// w, the inertia weight.
    pub inertia: f64,
    /// c₁, the pull of a particle's own best position.
    pub cognitive: f64,
    /// c₂, the pull of the neighbourhood's best position.
    pub social: f64,
    /// The largest velocity as a fraction of each parameter's range.
    pub velocity_limit: f64,
    /// Start states that a policy is scored from.
    pub start_states: usize,
    /// Iterations without an improvement after which the search ends; none goes on to the end.
    pub patience: Option<usize>,
    /// From 0, trust the model, to 1, stay where the data is.
    pub caution: f64,
    /// How the members of an ensemble become one fitness.
    pub outlook: RiskKind,
    /// The largest share of steps outside the log's ranges that a policy may take; none is no limit.
    pub outside_limit: Option<f64>,
    /// As fast as the machine can, or the same bits on every machine.
    pub numerics: Mode,
}

/// `[search]` as written.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrittenSearch {
    /// "auto", "swarm", "shade" or "cma-es".
    pub optimiser: Option<String>,
    /// "quick", "normal" or "thorough".
    pub effort: Option<String>,
    /// How long a race may take, such as "5m" or "6000 Msteps", or "none".
    pub budget: Option<String>,
    /// Particles of the swarm.
    pub particles: Option<usize>,
    /// Iterations of the swarm.
    pub iterations: Option<usize>,
    /// Neighbours on each side.
    pub ring: Option<usize>,
    /// w
    pub inertia: Option<f64>,
    /// c₁
    pub cognitive: Option<f64>,
    /// c₂
    pub social: Option<f64>,
    /// The largest velocity.
    pub velocity_limit: Option<f64>,
    /// Start states of the fitness.
    pub start_states: Option<usize>,
    /// Iterations without improvement that end the search, or "none".
    pub patience: Option<OrWord<usize>>,
    /// "fast" or "reproducible".
    pub numerics: Option<String>,
    /// From 0 to 1.
    pub caution: Option<f64>,
    /// "spread" or "worst".
    pub outlook: Option<String>,
    /// The largest share of steps outside, or "none".
    pub outside_limit: Option<OrWord<f64>>,
}

impl Default for SearchSettings {
    fn default() -> Self {
        Self {
            optimiser: OptimiserKind::Auto,
            effort: Effort::Normal,
            budget: None,
            particles: 100,
            iterations: 1_000,
            ring: 1,
            inertia: 0.72981,
            cognitive: 1.49618,
            social: 1.49618,
            velocity_limit: 0.1,
            start_states: 200,
            patience: Some(200),
            caution: 0.5,
            outlook: RiskKind::Spread,
            outside_limit: None,
            numerics: Mode::Fast,
        }
    }
}

impl SearchSettings {
    /// The defaults of a plant, or of a problem without one.
    pub fn for_plant(plant: Option<PlantKind>) -> Self {
        match plant {
            // Half of the paper's iterations: the second half brings less than 0.01.
            Some(PlantKind::MountainCar | PlantKind::TextbookMountainCar) => {
                Self { iterations: 500, ..Self::default() }
            }
            Some(PlantKind::CartPoleSwingUp) => {
                Self { particles: 300, iterations: 300, start_states: 150, ..Self::default() }
            }
            Some(PlantKind::CartPoleBalancing) | None => Self::default(),
        }
    }

    /// Holds everything to its limits.
    pub fn check(&self) -> Result<()> {
        between("search.caution", self.caution, 0.0, 1.0, "0 trusts the model, 1 stays where the data is")?;
        if let Some(limit) = self.outside_limit {
            between("search.outside_limit", limit, 0.0, 1.0, "write a share of the steps, or \"none\"")?;
        }
        let particles = self.particles as u64;
        if particles < 2 {
            let whole = "write a whole number that is at least the lowest allowed";
            return Err(Error::setting("search.particles", particles, "a swarm needs at least 2 particles", whole));
        }
        within("search.particles", particles, 2, 1_000_000, "a swarm has 2 to 1,000,000 particles")?;
        let iterations = self.iterations as u64;
        within("search.iterations", iterations, 1, 100_000_000, "a search has 1 to 100,000,000 iterations")?;
        if self.ring == 0 || self.ring > self.particles / 2 {
            return Err(Error::setting(
                "search.ring",
                self.ring,
                format!("a particle has 1 to {} neighbours on each side here", self.particles / 2),
                "1 is the paper's ring; half of the particles makes all of them neighbours",
            ));
        }
        for (key, value) in
            [("search.inertia", self.inertia), ("search.cognitive", self.cognitive), ("search.social", self.social)]
        {
            finite(key, value)?;
            if !(0.0..=10.0).contains(&value) {
                let hint = "0.72981 and 1.49618 are known to converge";
                return Err(Error::setting(key, value, "the swarm's coefficients lie in [0, 10]", hint));
            }
        }
        if !(self.velocity_limit > 0.0 && self.velocity_limit <= 1.0) {
            let rule = "a velocity is limited to a fraction in (0, 1] of each parameter's range";
            return Err(Error::setting("search.velocity_limit", self.velocity_limit, rule, "0.1 is the paper's"));
        }
        let starts = self.start_states as u64;
        within("search.start_states", starts, 1, 1_000_000, "a policy is scored from 1 to 1,000,000 start states")?;
        if self.patience == Some(0) {
            let hint = "write a number of iterations, or \"none\"";
            return Err(Error::setting("search.patience", 0, "a search must be allowed to go on for a while", hint));
        }
        if let (Some(budget), false) = (self.budget, self.optimiser == OptimiserKind::Auto) {
            let hint =
                "leave it out, or write `optimiser = \"auto\"`; particles, iterations and patience choose the swarm";
            return Err(Error::setting(
                "search.budget",
                escaped(&budget.to_string()),
                "only a race keeps to one",
                hint,
            ));
        }
        Ok(())
    }

    /// Whether a log of so many rows can carry the start states.
    pub fn check_rows(&self, rows: usize) -> Result<()> {
        if self.start_states <= rows {
            return Ok(());
        }
        Err(Error::setting(
            "search.start_states",
            self.start_states,
            format!("the log has only {rows} rows, and a search from more start states than rows trusts it too far"),
            format!("lower it to at most {rows}, or use a longer log"),
        ))
    }

    /// The lines of `[search]`.
    pub fn write(&self, file: &mut Lines) {
        file.section("[search]");
        let known = "\"auto\" races many tries; \"swarm\" is the paper's; or \"shade\", \"cma-es\"";
        file.key("optimiser", quoted(name_of(&OPTIMISERS, &self.optimiser)), known);
        file.key(
            "effort",
            quoted(name_of(&EFFORTS, &self.effort)),
            "of \"auto\": \"quick\", \"normal\" or \"thorough\"",
        );
        let budget = self.budget.map_or("none".to_owned(), |budget| budget.to_string());
        file.key("budget", quoted(&budget), "of \"auto\", instead of an effort: \"5m\", \"6000 Msteps\"; or \"none\"");
        file.key("particles", self.particles, "of the swarm");
        file.key("iterations", self.iterations, "of the swarm");
        file.key("ring", self.ring, "neighbours on each side of a particle");
        file.key("inertia", number(self.inertia), "w, how much of its velocity a particle keeps");
        file.key("cognitive", number(self.cognitive), "c1, the pull of a particle's own best");
        file.key("social", number(self.social), "c2, the pull of its neighbourhood's best");
        file.key("velocity_limit", number(self.velocity_limit), "as a fraction of each parameter's range");
        file.key("start_states", self.start_states, "that a policy is scored from, dealt out to the members");
        let patience = self.patience.map_or("\"none\"".into(), |patience| patience.to_string());
        file.key("patience", patience, "iterations without improvement that end the search, or \"none\"");
        let known = "\"fast\", or \"reproducible\" for the same bits on every machine";
        file.key("numerics", quoted(name_of(&MODES, &self.numerics)), known);

        file.key("caution", number(self.caution), "0 trusts the model, 1 stays where the data is");
        let known = "of the members: \"spread\", the mean less a part of their spread, or \"worst\"";
        file.key("outlook", quoted(name_of(&OUTLOOKS, &self.outlook)), known);
        let limit = self.outside_limit.map_or("\"none\"".into(), number);
        file.key("outside_limit", limit, "share of steps outside the log's ranges that a policy may take, or \"none\"");
    }
}

impl WrittenSearch {
    /// Fills in the defaults and checks everything.
    pub fn check(self, plant: Option<PlantKind>) -> Result<SearchSettings> {
        let defaults = SearchSettings::for_plant(plant);
        // Who sets up a swarm, and does not say what searches, wants a swarm.
        let implied = match self.particles.is_some() || self.iterations.is_some() || self.patience.is_some() {
            true => OptimiserKind::Swarm,
            false => defaults.optimiser,
        };
        let settings = SearchSettings {
            optimiser: by_name("optimiser", &OPTIMISERS, self.optimiser, implied)?,
            effort: by_name("effort", &EFFORTS, self.effort, defaults.effort)?,
            budget: budget(self.budget, defaults.budget)?,
            particles: self.particles.unwrap_or(defaults.particles),
            iterations: self.iterations.unwrap_or(defaults.iterations),
            ring: self.ring.unwrap_or(defaults.ring),
            inertia: self.inertia.unwrap_or(defaults.inertia),
            cognitive: self.cognitive.unwrap_or(defaults.cognitive),
            social: self.social.unwrap_or(defaults.social),
            velocity_limit: self.velocity_limit.unwrap_or(defaults.velocity_limit),
            start_states: self.start_states.unwrap_or(defaults.start_states),
            patience: self.patience.map_or(defaults.patience, OrWord::value),
            numerics: by_name("numeric mode", &MODES, self.numerics, defaults.numerics)?,
            caution: self.caution.unwrap_or(defaults.caution),
            outlook: by_name("outlook", &OUTLOOKS, self.outlook, defaults.outlook)?,
            outside_limit: self.outside_limit.map_or(defaults.outside_limit, OrWord::value),
        };
        settings.check()?;
        Ok(settings)
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
            .map_err(|why: String| Error::setting("search.budget", escaped(text), why, Budget::EXAMPLES)),
    }
}
