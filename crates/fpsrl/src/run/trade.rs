//! What one cost buys: on the worlds of a run, searches with several weights of that cost, and the front of what they find.
//!
//! Nothing is learned again: worlds learn rewards before costs, so that only a weight changes in them. The searches go outwards
//! from the problem's own weight, each from the rules of its neighbour, the first ones from the run's own.

use super::directory::RunDirectory;
use super::graph::{POLICY, PROBLEM, REPORT, TRADE, TRADE_POLICIES, WORLD};
use super::origins;
use crate::error::{Error, Result};
use crate::files;
use crate::policy::FuzzyPolicy;
use crate::problem::{Problem, System, WrittenProblem};
use crate::progress::{Notice, Progress};
use crate::promise::Promise;
use crate::search::SearchOptions;
use crate::stage::{SearchContext, Worlds};
use crate::trade::{LeftOut, Scales, Trade, TradePoint, Worth, beaten_by};
use fpsrl_base::disk;
use fpsrl_base::remedy::Remedy;
use fpsrl_base::settings::LARGEST;
use fpsrl_base::text::number;
use fpsrl_data::system::Price;
use fpsrl_search::task::{Begun, Forget};

/// The factors that are searched with, where nobody says.
pub const FACTORS: [f64; 4] = [0.25, 0.5, 2.0, 4.0];

/// Factors that may be given at most: each is a search.
const MOST_FACTORS: usize = 20;

/// Which cost is traded, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct TradeOptions {
    /// An objective, an action with `move_cost`, or a state with `keep`.
    pub name: String,
    /// What its weight is multiplied with, a search each.
    pub factors: Vec<f64>,
    /// How many tries each search makes at most; none is as in the problem.
    pub effort: Option<String>,
}

impl TradeOptions {
    /// Changes a problem's search to what is asked for.
    fn apply(&self, written: &mut WrittenProblem) {
        if let Some(effort) = &self.effort {
            written.search.effort = Some(effort.clone());
            // An effort that is asked for now outdoes a budget of the file.
            written.search.budget = Some("none".into());
        }
    }
}

/// Rules, and the factor whose search found them.
struct Tried {
    factor: f64,
    policy: FuzzyPolicy,
}

impl RunDirectory {
    /// Searches again with other weights of one cost, and keeps the policies of which none is both better without that cost and
    /// cheaper: in `trade.json` and `trade/`. The run's own rules, worlds and figures stay as they are.
    pub fn trade(&self, options: &TradeOptions, progress: &Progress) -> Result<Trade> {
        let problem = self.problem()?;
        let price = traded(&problem, &options.name)?;
        let factors = outwards(&options.factors, &price)?;
        self.problem_with(|written| options.apply(written))?;
        let present = self.policy(&problem)?;
        self.summary_of_policy(&problem)?;
        let worlds = self.worlds(&problem)?;
        let mut tried = vec![Tried { factor: 1.0, policy: present }];
        for (index, factor) in factors.iter().enumerate() {
            let told = format!(
                "search {} of {}: {} with {} times its weight",
                index + 1,
                factors.len(),
                price.name,
                number(*factor)
            );
            progress.notice(Notice::Turning(told));
            let policy = self.tried(&worlds, &price, *factor, &tried, options, progress)?;
            tried.push(Tried { factor: *factor, policy });
        }
        let starts = problem.judging_starts();
        let numerics = SearchOptions::of(&problem.search, true).numerics;
        let scales = Scales::new(&problem.system, worlds.source(), &price, &starts, numerics)?;
        let worths = tried.iter().map(|one| scales.weigh(&one.policy)).collect::<Result<Vec<Worth>>>()?;
        if progress.stop_requested() {
            return Err(Error::Stopped { stage: "trade" });
        }
        self.save_trade(&problem, &price, factors, &tried, &worths)
    }

    /// The rules for one factor: what a search finds, or those that it began with where nothing is better.
    fn tried(
        &self,
        worlds: &Worlds,
        price: &Price,
        factor: f64,
        tried: &[Tried],
        options: &TradeOptions,
        progress: &Progress,
    ) -> Result<FuzzyPolicy> {
        let costs = worlds.system().costs_with(&price.name, factor * price.weight);
        let worlds = worlds.with_costs(costs.as_deref())?;
        let neighbour = neighbour(tried, factor);
        let (problem, begin_with) = self.searched_alike(neighbour, |written| options.apply(written))?;
        let search_options = SearchOptions::of(&problem.search, true);
        let context = SearchContext {
            options: search_options,
            begin_with,
            begun: Begun::default(),
            keeper: &mut Forget,
            cluster: self.cluster(),
        };
        let found = worlds.search_with(&problem.policy, &problem.search, context, progress)?;
        let choice = found.choose(&problem.evaluation)?;
        let mut best = (choice.policy, choice.promise);
        let rank = |promise: &Promise| (promise.is_acceptable(&problem.search), promise.mean);
        for known in tried.iter().map(|one| &one.policy) {
            let starts = problem.judging_starts();
            let promise = worlds.source().promise(worlds.system(), known, &starts, search_options.numerics)?;
            let (old, new) = (rank(&best.1), rank(&promise));
            if (new.0 && !old.0) || (new.0 == old.0 && new.1 > old.1) {
                best = (known.clone(), promise);
            }
        }
        Ok(best.0)
    }

    /// Writes the front. The table comes last: where it is, all policies are.
    fn save_trade(
        &self,
        problem: &Problem,
        price: &Price,
        factors: Vec<f64>,
        tried: &[Tried],
        worths: &[Worth],
    ) -> Result<Trade> {
        // Rules that were found more than once are those of the search that found them first.
        let twin = |index: usize| (0..index).find(|other| worths[*other].is_like(&worths[index]));
        let single: Vec<usize> = (0..tried.len()).filter(|index| twin(*index).is_none()).collect();
        let beaten = beaten_by(&single.iter().map(|index| worths[*index].clone()).collect::<Vec<Worth>>());
        let mut kept: Vec<usize> = Vec::new();
        let mut left_out = Vec::new();
        for (index, one) in tried.iter().enumerate() {
            let by = single.iter().position(|other| *other == index).and_then(|place| beaten[place]);
            match (twin(index), by.map(|place| single[place])) {
                (None, None) => kept.push(index),
                // The run's own rules are told of by themselves.
                _ if index == 0 => {}
                (Some(instead), _) | (None, Some(instead)) => left_out.push(LeftOut {
                    factor: one.factor,
                    instead: tried[instead].factor,
                    same: twin(index).is_some(),
                    worth: worths[index].clone(),
                }),
            }
        }
        kept.sort_by(|a, b| worths[*b].cost.total_cmp(&worths[*a].cost));
        let mut points = Vec::new();
        for (number, index) in kept.iter().enumerate() {
            let Tried { factor, policy } = &tried[*index];
            points.push(TradePoint {
                file: format!("policy-{}.json", number + 1),
                sha256: origins::policy_digest(policy)?,
                factor: *factor,
                weight: factor * price.weight,
                present: *index == 0,
                worth: worths[*index].clone(),
            });
        }
        let [problem_sha256, evaluation_sha256] = origins::settings_digests(problem)?;
        let trade = Trade {
            name: price.name.clone(),
            kind: price.kind.text().to_owned(),
            unit: price.unit.clone(),
            weight: price.weight,
            factors,
            points,
            present: worths[0].clone(),
            left_out,
            world_sha256: files::sha256(&self.file(WORLD))?,
            policy_sha256: files::sha256(&self.file(POLICY))?,
            problem_sha256,
            evaluation_sha256,
        };
        let table = files::prepare_json(&self.file(TRADE), &trade)?;
        // A page that shows an earlier front is of the past.
        if self.has(TRADE)? {
            self.remove(REPORT)?;
        }
        [TRADE, TRADE_POLICIES].into_iter().try_for_each(|name| self.remove(name))?;
        let directory = self.file(TRADE_POLICIES);
        let write = || -> Result<()> {
            disk::make_directory(&directory).map_err(|source| Error::write(&directory, source))?;
            for (point, index) in trade.points.iter().zip(&kept) {
                files::write_json(&directory.join(&point.file), &tried[*index].policy)?;
            }
            table.commit()
        };
        write().inspect_err(|_| {
            // Policies without their table are nobody's.
            let _ = self.remove(TRADE_POLICIES);
        })?;
        Ok(trade)
    }

    /// What `trade.json` holds, with the policies in its order; none if nothing has been traded, refused if it is of another world,
    /// of other rules or of other settings.
    pub fn trade_result(&self) -> Result<Option<(Trade, Vec<FuzzyPolicy>)>> {
        let path = self.file(TRADE);
        if !self.has(TRADE)? {
            return Ok(None);
        }
        let trade: Trade = files::read_json(&path).map_err(|error| match error {
            Error::Malformed { path, line, column, problem, .. } => {
                Error::Malformed { path, line, column, problem, remedy: self.again("trade") }
            }
            other => other,
        })?;
        let again =
            || Remedy::words("run ").stage("trade", Some(self.path())).then(format!(" with `{}` again", trade.name));
        let problem = self.problem()?;
        let settings = origins::settings_digests(&problem)?;
        let origins = [
            (
                WORLD,
                trade.world_sha256 == files::sha256(&self.expect(WORLD)?)?,
                "it was searched on another world model",
            ),
            (POLICY, trade.policy_sha256 == files::sha256(&self.expect(POLICY)?)?, "it was made beside other rules"),
            (
                PROBLEM,
                [&trade.problem_sha256, &trade.evaluation_sha256] == settings.each_ref(),
                "it was made with other settings",
            ),
        ];
        if let Some((other, _, what)) = origins.into_iter().find(|(_, same, _)| !same) {
            return Err(self.mismatch(TRADE, other, what.into(), again()));
        }
        let mut policies = Vec::new();
        for point in &trade.points {
            let path = self.file(TRADE_POLICIES).join(&point.file);
            if !disk::exists(&path).map_err(|source| Error::read(&path, source))?
                || files::sha256(&path)? != point.sha256
            {
                let problem = "it was changed or removed since the table was made".into();
                return Err(Error::Mismatch { path, other: self.file(TRADE), problem, remedy: again() });
            }
            policies.push(self.policy_in(path, &problem)?);
        }
        Ok(Some((trade, policies)))
    }
}

/// The price of a name.
fn traded(problem: &Problem, name: &str) -> Result<Price> {
    let system: &System = &problem.system;
    let prices = if problem.world.process.is_some() { Vec::new() } else { system.prices() };
    if prices.is_empty() {
        let rule = match problem.world.process {
            Some(_) => "the rewards of a simulator are its own: fpsrl does not know what costs how much in them",
            None => "the problem has no cost besides its reward",
        };
        let hint = "write `move_cost` below an [[action]], `keep` below a [[state]], or an [[objective]] in a problem file, and run it";
        return Err(Error::setting("NAME", name, rule, hint));
    }
    let Some(price) = prices.iter().find(|price| price.name == name) else {
        let known = prices.into_iter().map(|price| price.name).collect();
        return Err(Error::UnknownName {
            kind: "objective, action with a move_cost or state to keep",
            name: name.into(),
            known,
        });
    };
    if price.weight == 0.0 {
        let hint = "give it a weight in a problem file, and run that";
        return Err(Error::setting(price.key(), 0, "any factor of nothing is nothing", hint));
    }
    Ok(price.clone())
}

/// The factors from 1 outwards: those below it downwards, then those above it upwards. 1 itself is the run's own rules.
fn outwards(factors: &[f64], price: &Price) -> Result<Vec<f64>> {
    let refuse = |value: String, rule: String| {
        let hint = Remedy::words("name several, such as ").option("factors", Some("0.25,0.5,2,4"));
        Err(Error::setting("factors", value, rule, hint))
    };
    // Written so that NaN fails.
    if let Some(factor) = factors.iter().find(|factor| !(**factor > 0.0 && **factor * price.weight <= LARGEST)) {
        return refuse(factor.to_string(), format!("a weight is multiplied by more than 0, up to {LARGEST:e} in all"));
    }
    let mut sorted = factors.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.dedup();
    sorted.retain(|factor| *factor != 1.0);
    if sorted.is_empty() {
        return refuse(
            "a list without any".into(),
            "1 is the weight that the run's own rules were searched with".into(),
        );
    }
    if sorted.len() > MOST_FACTORS {
        return refuse(
            format!("a list of {}", sorted.len()),
            format!("each is a search, and at most {MOST_FACTORS} are made"),
        );
    }
    let above = sorted.split_off(sorted.partition_point(|factor| *factor < 1.0));
    Ok(sorted.into_iter().rev().chain(above).collect())
}

/// The rules of the factor between 1 and this one that is nearest to it.
fn neighbour(tried: &[Tried], factor: f64) -> &FuzzyPolicy {
    let between = |one: &&Tried| one.factor == 1.0 || (one.factor < 1.0) == (factor < 1.0);
    let apart = |one: &&Tried| (one.factor / factor).ln().abs();
    let near = tried.iter().filter(between).min_by(|a, b| apart(a).total_cmp(&apart(b)));
    &near.unwrap_or(&tried[0]).policy
}

#[cfg(test)]
mod tests {
    use super::*;
    use fpsrl_data::system::PriceKind;

    fn price() -> Price {
        let (name, unit, cost) = ("valve".into(), String::new(), "abs(valve)".into());
        Price { name, kind: PriceKind::Movement, unit, weight: 0.5, cost }
    }

    #[test]
    fn searches_go_outwards_from_the_present_weight() {
        assert_eq!(outwards(&FACTORS, &price()).unwrap(), [0.5, 0.25, 2.0, 4.0]);
        assert_eq!(outwards(&[8.0, 1.0, 2.0, 8.0], &price()).unwrap(), [2.0, 8.0]);
        assert_eq!(outwards(&[0.1], &price()).unwrap(), [0.1]);
    }

    #[test]
    fn factors_that_are_none_are_refused() {
        let many: Vec<f64> = (2..30).map(f64::from).collect();
        for (factors, told) in [
            (&[2.0, 0.0][..], "`factors` is 0"),
            (&[-2.0], "`factors` is -2"),
            (&[f64::NAN], "NaN"),
            (&[f64::INFINITY], "inf"),
            (&[1e16], "1e15"),
            (&[1.0], "1 is the weight"),
            (&[], "1 is the weight"),
            (&many, "at most 20"),
        ] {
            let error = outwards(factors, &price()).unwrap_err();
            assert!(error.is_users() && error.to_string().contains(told), "{told}: {error}");
            assert!(error.hint().unwrap().contains("0.25,0.5,2,4"));
        }
    }

    #[test]
    fn a_search_begins_with_the_nearest_rules_on_its_side() {
        let rules = |factor: f64| Tried {
            factor,
            policy: FuzzyPolicy { states: Vec::new(), mirrored: factor != 1.0, actions: Vec::new() },
        };
        let tried = [rules(1.0), rules(0.5), rules(2.0)];
        let of = |factor: f64| tried.iter().position(|one| std::ptr::eq(&one.policy, neighbour(&tried, factor)));
        assert_eq!([of(0.25), of(4.0)], [Some(1), Some(2)]);
        assert!(std::ptr::eq(neighbour(&tried[..2], 2.0), &tried[0].policy), "rules of the other side are far away");
    }
}
