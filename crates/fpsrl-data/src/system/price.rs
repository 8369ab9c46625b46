//! What a step costs besides its reward: movement of actions, leaving ranges, and objectives of the user's own. Each has its own
//! unit, and a weight that turns it into units of the reward.

use std::collections::HashSet;

use fpsrl_base::error::{Error, Result};
use fpsrl_base::settings::{LARGEST, Lines, escaped, number, one_line, quoted};
use serde::Deserialize;

use super::input::Keep;
use super::lag::Lagged;
use super::{ActionVariable, System};

/// Objectives that a problem has at most.
const MOST_OBJECTIVES: usize = 16;

/// An aim of the user's own: what a step costs, and how much that counts.
#[derive(Clone, Debug, PartialEq)]
pub struct Objective {
    /// What it is called.
    pub name: String,
    /// What a step costs, as a formula; what is below 0 counts as 0.
    pub cost: String,
    /// What one unit of that cost is worth, in units of the reward.
    pub weight: f64,
    /// The unit of that cost, for people.
    pub unit: String,
}

/// An objective as written.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrittenObjective {
    /// What it is called.
    pub name: String,
    /// What a step costs.
    pub cost: String,
    /// What one unit of that cost is worth.
    pub weight: Option<f64>,
    /// The unit of that cost.
    pub unit: Option<String>,
}

/// What a price is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PriceKind {
    /// The movement of an action: `move_cost`.
    Movement,
    /// How far a state is out of its range: `keep` and `keep_price`.
    Range,
    /// An `[[objective]]`.
    Objective,
}

impl PriceKind {
    /// Its word in files.
    pub fn text(self) -> &'static str {
        match self {
            PriceKind::Movement => "movement",
            PriceKind::Range => "range",
            PriceKind::Objective => "objective",
        }
    }
}

/// A cost that steps have besides their reward.
#[derive(Clone, Debug, PartialEq)]
pub struct Price {
    /// The name of the action, the state or the objective.
    pub name: String,
    /// What it is for.
    pub kind: PriceKind,
    /// The unit of the cost before its weight, for people.
    pub unit: String,
    /// What one unit of the cost is worth, in units of the reward.
    pub weight: f64,
    /// The cost of a step before its weight, as a formula that is never below 0.
    pub cost: String,
}

impl Price {
    /// The setting that its weight stands in.
    pub fn key(&self) -> String {
        match self.kind {
            PriceKind::Movement => format!("action.{}.move_cost", self.name),
            PriceKind::Range => format!("state.{}.keep_price", self.name),
            PriceKind::Objective => format!("objective.{}.weight", self.name),
        }
    }
}

impl WrittenObjective {
    /// Fills in the defaults.
    pub(super) fn complete(self) -> Objective {
        let Self { name, cost, weight, unit } = self;
        Objective { name, cost, weight: weight.unwrap_or(1.0), unit: unit.unwrap_or_default() }
    }
}

impl ActionVariable {
    /// What the user calls it: of a change, the set-point that it moves.
    fn called(&self) -> &str {
        self.set_point.as_ref().map_or(&self.name, |point| &point.name)
    }
}

impl System {
    /// The user's own objectives.
    pub fn objectives(&self) -> &[Objective] {
        &self.objectives
    }

    /// Everything that steps cost besides their reward: movements, ranges, objectives.
    ///
    /// ```
    /// use fpsrl_data::system::{History, Surroundings, WrittenSystem};
    /// let text = "name = 'tank'\nhorizon = 9\n[[state]]\nname = 'level'\n[[action]]\nname = 'valve'\nlimits = [0.0, 1.0]\n\
    ///             move_cost = 0.5\n[[objective]]\nname = 'energy'\ncost = 'valve * level'\nweight = 0.1\nunit = 'kWh'\n";
    /// let around = Surroundings { history: Some(History::Steps(0)), ..Surroundings::default() };
    /// let system = toml::from_str::<WrittenSystem>(text).unwrap().check(&around)?;
    /// let names: Vec<String> = system.prices().into_iter().map(|price| price.name).collect();
    /// assert_eq!(names, ["valve", "energy"]);
    /// assert_eq!(system.costs().unwrap(), "0.5 * abs(valve - previous_valve_1) + 0.1 * max(0.0, (valve * level))");
    /// assert_eq!(system.costs_with("valve", 0.0).unwrap(), "0.1 * max(0.0, (valve * level))");
    /// # Ok::<(), fpsrl_base::Error>(())
    /// ```
    pub fn prices(&self) -> Vec<Price> {
        let mut prices = Vec::new();
        for (index, action) in self.actions.iter().enumerate() {
            let Some(weight) = action.move_cost else { continue };
            let last = self
                .states
                .iter()
                .find(|state| state.lag.is_some_and(|lag| lag.of == Lagged::Action(index) && lag.steps == 1));
            let cost = match (&action.set_point, last) {
                // A change is itself the movement.
                (Some(_), _) => format!("abs({})", action.name),
                (None, Some(last)) => format!("abs({} - previous_{})", action.name, last.name),
                (None, None) => continue,
            };
            let (name, unit) = (action.called().to_owned(), action.unit.clone());
            prices.push(Price { name, kind: PriceKind::Movement, unit, weight, cost });
        }
        for state in &self.states {
            let Some(Keep { range: [low, high], price: weight, .. }) = state.keep else { continue };
            let (name, unit) = (state.name.clone(), state.unit.clone());
            let cost = format!("max(0.0, max({low:?} - {name}, {name} - {high:?}))");
            prices.push(Price { name, kind: PriceKind::Range, unit, weight, cost });
        }
        for Objective { name, cost, weight, unit } in &self.objectives {
            let cost = format!("max(0.0, ({cost}))");
            let (name, unit) = (name.clone(), unit.clone());
            prices.push(Price { name, kind: PriceKind::Objective, unit, weight: *weight, cost });
        }
        prices
    }

    /// What steps cost besides the reward, as a formula over the system's names; none if nothing does.
    pub fn costs(&self) -> Option<String> {
        weighed(self.prices())
    }

    /// The same with another weight for one of the prices.
    pub fn costs_with(&self, name: &str, weight: f64) -> Option<String> {
        let mut prices = self.prices();
        prices.iter_mut().filter(|price| price.name == name).for_each(|price| price.weight = weight);
        weighed(prices)
    }

    /// Holds the objectives to their limits. Their formulas are understood where that of the reward is, at the door of the worlds.
    pub(super) fn check_objectives(&self) -> Result<()> {
        if self.objectives.len() > MOST_OBJECTIVES {
            let (count, rule) = (self.objectives.len(), format!("at most {MOST_OBJECTIVES} are possible"));
            let hint = "put those together whose weights belong together: cost = \"gas + 0.3 * power\"";
            return Err(Error::setting("[[objective]]", format!("a list of {count}"), rule, hint));
        }
        let others: Vec<Price> = self.prices().into_iter().filter(|price| price.kind != PriceKind::Objective).collect();
        let mut seen = HashSet::new();
        for Objective { name, cost, weight, unit } in &self.objectives {
            let key = |setting: &str| format!("objective.{name}.{setting}");
            if name.trim().is_empty() || name.trim() != name {
                let rule = "an objective's name is not empty, and neither begins nor ends with a space";
                return Err(Error::setting(
                    "objective.name",
                    escaped(name),
                    rule,
                    "give it a name, such as \"energy\"",
                ));
            }
            one_line("objective.name", name)?;
            if !seen.insert(name) {
                let rule = "another objective has the same name";
                return Err(Error::setting("objective.name", escaped(name), rule, "give each its own name"));
            }
            if let Some(other) = others.iter().find(|other| other.name == *name) {
                let rule = format!("`{}` is a price of that name already", other.key());
                return Err(Error::setting(
                    "objective.name",
                    escaped(name),
                    rule,
                    "give the objective a name of its own",
                ));
            }
            one_line(&key("unit"), unit)?;
            one_line(&key("cost"), cost)?;
            // Written so that NaN fails.
            if !(0.0..=LARGEST).contains(weight) {
                let hint = "write what one unit of its cost is worth, in units of the reward; 0 for nothing";
                return Err(Error::setting(
                    key("weight"),
                    weight,
                    "an objective counts for nothing or something",
                    hint,
                ));
            }
        }
        Ok(())
    }

    /// The lines of `[[objective]]`.
    pub(super) fn write_objectives(&self, file: &mut Lines) {
        for Objective { name, cost, weight, unit } in &self.objectives {
            file.section("[[objective]]");
            file.key("name", quoted(name), "what it is called");
            file.key("cost", quoted(cost), "what a step costs, in its own unit; below 0 counts as 0");
            file.key("weight", number(*weight), "what one unit of it is worth, in units of the reward");
            file.key("unit", quoted(unit), "for people");
        }
    }
}

/// The sum of some prices; what counts for nothing is left out, because nothing times infinity is no number.
fn weighed(prices: Vec<Price>) -> Option<String> {
    let parts: Vec<String> = prices
        .into_iter()
        .filter(|price| price.weight != 0.0)
        .map(|Price { weight, cost, .. }| format!("{weight:?} * {cost}"))
        .collect();
    (!parts.is_empty()).then(|| parts.join(" + "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::{History, Surroundings, WrittenSystem};

    const PLANT: &str = "name = 'hall'\nhorizon = 10\n[[state]]\nname = 'PV'\nunit = 'K'\nkeep = [10.0, 30.0]\n[[action]]\n\
                         name = 'OUT'\nunit = '%'\nlimits = [0.0, 100.0]\nmove_cost = 0.5\n[[objective]]\nname = 'energy'\n\
                         cost = 'OUT - 5'\nweight = 0.02\nunit = 'kWh'\n[[objective]]\nname = 'wear'\n\
                         cost = 'abs(PV - previous_PV)'\n";

    fn around() -> Surroundings {
        Surroundings { history: Some(History::Steps(0)), ..Surroundings::default() }
    }

    fn system(text: &str) -> Result<System> {
        toml::from_str::<WrittenSystem>(text).unwrap().check(&around())
    }

    #[test]
    fn objectives_are_weighed_beside_movements_and_ranges() {
        let system = system(PLANT).unwrap();
        let expected = "0.5 * abs(OUT - previous_OUT_1) + 1.0 * max(0.0, max(10.0 - PV, PV - 30.0)) + \
                        0.02 * max(0.0, (OUT - 5)) + 1.0 * max(0.0, (abs(PV - previous_PV)))";
        assert_eq!(system.costs().unwrap(), expected);
        let told: Vec<(String, f64, String)> =
            system.prices().into_iter().map(|price| (price.key(), price.weight, price.unit)).collect();
        let expected = [
            ("action.OUT.move_cost", 0.5, "%"),
            ("state.PV.keep_price", 1.0, "K"),
            ("objective.energy.weight", 0.02, "kWh"),
            ("objective.wear.weight", 1.0, ""),
        ];
        assert_eq!(told, expected.map(|(key, weight, unit)| (key.to_owned(), weight, unit.to_owned())));
    }

    #[test]
    fn one_weight_can_be_another_and_nothing_is_left_out() {
        let system = system(PLANT).unwrap();
        let other = system.costs_with("energy", 0.08).unwrap();
        assert_eq!(other, system.costs().unwrap().replace("0.02 *", "0.08 *"));
        assert!(!system.costs_with("OUT", 0.0).unwrap().contains("previous_OUT_1"));
        assert_eq!(system.costs_with("nothing", 3.0), system.costs());
    }

    #[test]
    fn what_was_written_reads_back() {
        let system = system(PLANT).unwrap();
        let mut lines = Lines::default();
        system.write(&mut lines);
        let text = lines.text();
        assert_eq!(toml::from_str::<WrittenSystem>(&text).unwrap().check(&around()).unwrap(), system);
        for line in text.lines().skip_while(|line| *line != "[[objective]]") {
            assert!(line.is_empty() || line.starts_with('[') || line.contains(" # "), "{line}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_the_place() {
        let many = (0..17).map(|index| format!("[[objective]]\nname = 'o{index}'\ncost = '1'\n")).collect::<String>();
        for (from, to, told) in [
            ("name = 'wear'", "name = 'energy'", "another objective has the same name"),
            ("name = 'wear'", "name = 'OUT'", "`action.OUT.move_cost` is a price of that name already"),
            ("name = 'wear'", "name = 'PV'", "`state.PV.keep_price`"),
            ("name = 'wear'", "name = ' '", "objective.name"),
            ("name = 'wear'", "name = \"a\\nb\"", "one line"),
            ("weight = 0.02", "weight = -0.02", "`objective.energy.weight` is -0.02"),
            ("weight = 0.02", "weight = nan", "objective.energy.weight"),
            ("weight = 0.02", "weight = inf", "objective.energy.weight"),
            ("unit = 'kWh'", "unit = \"k\\nWh\"", "objective.energy.unit"),
            ("cost = 'OUT - 5'", "cost = \"OUT\\n- 5\"", "objective.energy.cost"),
            ("[[objective]]\nname = 'wear'", &format!("{many}[[objective]]\nname = 'wear'"), "at most 16"),
        ] {
            let error = system(&PLANT.replace(from, to)).unwrap_err();
            assert!(error.is_users() && error.hint().is_some(), "{error}");
            assert!(error.to_string().contains(told), "{told}: {error}");
        }
        let built_in = "name = 'a'\nplant = 'mountain-car'\n[[objective]]\nname = 'energy'\ncost = 'abs(force)'\n";
        let error = toml::from_str::<WrittenSystem>(built_in).unwrap().check(&Surroundings::default()).unwrap_err();
        assert!(error.to_string().contains("a built-in plant has its own reward"), "{error}");
    }
}
