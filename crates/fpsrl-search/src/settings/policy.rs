//! `[policy]`: the form of the policies that are searched.

use fpsrl_base::error::{Error, Result};
use fpsrl_base::settings::{Lines, OrAuto, bounds, number, quoted, quoted_list, range, within};
use fpsrl_data::System;
use fpsrl_data::plant::PlantKind;
use fpsrl_data::system::{Lags, StateVariable};
use fpsrl_engine::policy::MOST_RULES;
use serde::Deserialize;

/// The form of the policy.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicySettings {
    /// Rules for each action, mirrored ones counted; if their number grows, those that it begins with.
    pub rules: usize,
    /// Whether rules are added until another one no longer pays.
    pub grow: bool,
    /// Whether the policies of which none is both simpler and better are searched, up to the number of rules.
    pub front: bool,
    /// Rules that a growing policy has at most.
    pub most_rules: usize,
    /// What another rule must bring to pay, as a share of the way from doing nothing to the ceiling of PSO-P.
    pub rules_tolerance: f64,
    /// Whether half of the rules are the mirror images of the others.
    pub mirrored: bool,
    /// Whether rules measure angles around the circle; the paper's do not.
    pub periodic: bool,
    /// Bounds of α, the slope before the hyperbolic tangent.
    pub alpha: [f64; 2],
    /// How far the hyperbolic tangent reaches, in half ranges of an action; what lies beyond the limits is cut off.
    pub reach: f64,
    /// Whether the rules of an action have the same widths.
    pub shared_widths: bool,
    /// What of the past the policy sees.
    pub lags: Lags,
}

/// `[policy]` as written.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrittenPolicy {
    /// Rules for each action, or "auto".
    pub rules: Option<OrAuto>,
    /// Whether simpler policies are searched too.
    pub front: Option<bool>,
    /// Rules that "auto" tries at most.
    pub most_rules: Option<usize>,
    /// What another rule must bring under "auto".
    pub rules_tolerance: Option<f64>,
    /// Whether half of the rules mirror the others.
    pub mirrored: Option<bool>,
    /// Whether rules measure angles around the circle.
    pub periodic: Option<bool>,
    /// Bounds of α.
    pub alpha: Option<[f64; 2]>,
    /// How far the hyperbolic tangent reaches.
    pub reach: Option<f64>,
    /// Whether the rules of an action have the same widths.
    pub shared_widths: Option<bool>,
    /// Past steps that the policy sees, or names of such values.
    pub lags: Option<Lags>,
}

impl Default for PolicySettings {
    fn default() -> Self {
        Self {
            // Nobody can know the number of rules that a plant needs beforehand.
            rules: 1,
            grow: true,
            front: false,
            most_rules: 8,
            rules_tolerance: 0.01,
            mirrored: false,
            periodic: true,
            alpha: [0.0, 20.0],
            reach: 1.0,
            shared_widths: false,
            lags: Lags::default(),
        }
    }
}

impl PolicySettings {
    /// The paper's numbers of rules for its plants; the defaults without a plant.
    pub fn for_plant(plant: Option<PlantKind>) -> Self {
        let (rules, mirrored) = match plant {
            None => return Self::default(),
            Some(PlantKind::MountainCar | PlantKind::TextbookMountainCar) => (2, false),
            Some(PlantKind::CartPoleBalancing) => (2, true),
            Some(PlantKind::CartPoleSwingUp) => (4, true),
        };
        Self { rules, mirrored, grow: false, ..Self::default() }
    }

    /// The fewest rules that a policy can have, and by how many it grows.
    pub fn rule_step(&self) -> usize {
        if self.mirrored { 2 } else { 1 }
    }

    /// Whether the rules that are searched measure a variable around the circle.
    pub fn is_periodic(&self, state: &StateVariable) -> bool {
        self.periodic && state.angle
    }

    /// Holds everything to its limits, and bounds of mirrored rules to their symmetry.
    pub fn check(&self, system: &System) -> Result<()> {
        let rules = self.rules;
        if rules == 0 {
            let hint = "2 rules are a good start";
            return Err(Error::setting("policy.rules", rules, "a policy needs at least 1 rule", hint));
        }
        within("policy.rules", rules as u64, 1, MOST_RULES as u64, &format!("a policy has 1 to {MOST_RULES} rules"))?;
        if self.mirrored && rules % 2 == 1 {
            let rule = "mirrored rules come in pairs";
            let hint = format!("use {} or {} rules, or set `policy.mirrored = false`", rules.max(3) - 1, rules + 1);
            return Err(Error::setting("policy.rules", rules, rule, hint));
        }
        let (fewest, most) = (self.rule_step() as u64, MOST_RULES as u64);
        let rule = format!("a growing policy has {fewest} to {most} rules at most");
        within("policy.most_rules", self.most_rules as u64, fewest, most, &rule)?;
        let tolerance = self.rules_tolerance;
        if !(0.0..1.0).contains(&tolerance) {
            let rule = "it is a share of the possible gain, from 0 to below 1";
            return Err(Error::setting("policy.rules_tolerance", tolerance, rule, "0.01 is the default"));
        }
        range("policy.alpha", self.alpha, false)?;
        if !(1.0..=1e6).contains(&self.reach) {
            let rule = "the hyperbolic tangent reaches at least to the limits";
            return Err(Error::setting(
                "policy.reach",
                self.reach,
                rule,
                "1 is the paper's form; 3 is nearly straight",
            ));
        }
        if self.mirrored { check_symmetry(system) } else { Ok(()) }
    }

    /// The lines of `[policy]`.
    pub fn write(&self, file: &mut Lines) {
        file.section("[policy]");
        let rules = if self.grow { quoted("auto") } else { self.rules.to_string() };
        file.key("rules", rules, "for each action, mirrored ones counted; \"auto\" adds them while they pay");
        file.key("front", self.front, "search simpler policies too, down to one rule: `front/`");
        file.key("most_rules", self.most_rules, "that \"auto\" tries");
        let tolerance = "what a rule must bring under \"auto\": a share of the way from doing nothing to the ceiling";
        file.key("rules_tolerance", number(self.rules_tolerance), tolerance);
        file.key("mirrored", self.mirrored, "half of the rules mirror the others, for symmetric plants");
        let periodic = "rules measure angles around the circle; the paper's do not";
        file.key("periodic", self.periodic, periodic);
        file.key("alpha", bounds(self.alpha), "bounds of the slope before the hyperbolic tangent");

        let reach = "how far the tangent reaches, in half ranges of an action, cut off at its limits; 1 is the paper's";
        file.key("reach", number(self.reach), reach);
        let shared = "rules of an action have the same widths: it changes in one direction along each input";
        file.key("shared_widths", self.shared_widths, shared);

        let lags = match &self.lags {
            Lags::Steps(steps) => steps.to_string(),
            Lags::Names(names) => quoted_list(names),
        };
        file.key("lags", lags, "past steps of every state and action that the rules see, or names of such values");
    }
}

/// Mirrored rules look the same from both sides, so their bounds must.
fn check_symmetry(system: &System) -> Result<()> {
    for state in system.states() {
        if let Some(centre) = state.centre.filter(|[low, high]| *low != -*high) {
            let key = format!("state.{}.centre", state.name);
            let rule = "mirrored rules need bounds that are symmetric around 0";
            let hint = "write bounds such as [-1.0, 1.0], or set `policy.mirrored = false`";
            return Err(Error::setting(key, bounds(centre), rule, hint));
        }
    }
    if let Some(action) = system.actions().iter().find(|action| action.limits[0] != -action.limits[1]) {
        let key = format!("action.{}.limits", action.name);
        let rule = "mirrored rules need limits that are symmetric around 0";
        let hint = "write limits such as [-1.0, 1.0], or set `policy.mirrored = false`";
        return Err(Error::setting(key, bounds(action.limits), rule, hint));
    }
    Ok(())
}

/// Rules of each action where states follow set-points: two can do all that a PI controller does, and lean on other inputs besides.
const RULES_THAT_TRACK: usize = 2;

/// How far rules reach there: nearly straight between the limits, so that the gain does not depend on where the actuator is.
const REACH_THAT_TRACKS: f64 = 3.0;

impl WrittenPolicy {
    /// Whether the rules are to be mirrored, if the user or the plant says so.
    pub fn mirrored(&self, plant: Option<PlantKind>) -> bool {
        self.mirrored.unwrap_or(PolicySettings::for_plant(plant).mirrored)
    }

    /// Fills in the defaults and checks everything.
    pub fn check(self, system: &System) -> Result<PolicySettings> {
        let defaults = PolicySettings::for_plant(system.plant());
        let mirrored = self.mirrored(system.plant());
        let tracks = system.states().iter().any(|state| state.tracks.is_some());
        let (grow, rules) = match self.rules {
            None if !defaults.grow => (false, defaults.rules),
            None if tracks => (false, RULES_THAT_TRACK),
            None | Some(OrAuto::Auto) => (true, if mirrored { 2 } else { 1 }),
            Some(OrAuto::Count(count)) => (false, usize::try_from(count).unwrap_or(usize::MAX)),
        };
        let settings = PolicySettings {
            rules,
            grow,
            front: self.front.unwrap_or(defaults.front),
            most_rules: self.most_rules.unwrap_or(defaults.most_rules),
            rules_tolerance: self.rules_tolerance.unwrap_or(defaults.rules_tolerance),
            mirrored,
            periodic: self.periodic.unwrap_or(defaults.periodic),
            alpha: self.alpha.unwrap_or(defaults.alpha),
            reach: self.reach.unwrap_or(if tracks { REACH_THAT_TRACKS } else { defaults.reach }),
            shared_widths: self.shared_widths.unwrap_or(tracks),
            lags: system.lags().clone(),
        };
        settings.check(system)?;
        Ok(settings)
    }
}
