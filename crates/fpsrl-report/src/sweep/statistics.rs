//! The figures of a sweep: the spread at each point, what each setting explains, the front over all runs.

use std::collections::HashMap;

use super::{SweepRun, WhatVaries};

/// Numbers in five.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summed {
    /// How many there are.
    pub count: usize,
    /// The least.
    pub least: f64,
    /// A quarter of them lies below.
    pub low: f64,
    /// Half of them lies below.
    pub median: f64,
    /// A quarter of them lies above.
    pub high: f64,
    /// The most.
    pub most: f64,
}

impl Summed {
    /// Sums numbers up; none if there is none. What is not finite does not count.
    ///
    /// ```
    /// use fpsrl_report::sweep::Summed;
    /// let summed = Summed::of([3.0, 1.0, 2.0, f64::NAN]).unwrap();
    /// assert_eq!((summed.count, summed.least, summed.median, summed.most), (3, 1.0, 2.0, 3.0));
    /// ```
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let place = share * (sorted.len() - 1) as f64;
            let (below, part) = (place.floor() as usize, place.fract());
            let above = sorted[(below + 1).min(sorted.len() - 1)];
            sorted[below] + part * (above - sorted[below])
        };
        (!sorted.is_empty()).then(|| Self {
            count: sorted.len(),
            least: at(0.0),
            low: at(0.25),
            median: at(0.5),
            high: at(0.75),
            most: at(1.0),
        })
    }
}

/// How the runs of a point did: the same settings and the same log, other seeds and draws.
#[derive(Clone, Debug, PartialEq)]
pub struct Spread {
    /// What its settings are called, with the log where there are several; "as it is" without any.
    pub point: String,
    /// Its value of each factor.
    pub levels: Vec<usize>,
    /// Its finished runs: their places among the runs.
    pub runs: Vec<usize>,
    /// Runs that have failed.
    pub failed: usize,
    /// What the policies promise; none if no run is finished.
    pub promise: Option<Summed>,
    /// What they truly earn, where the plant is known.
    pub true_return: Option<Summed>,
    /// Verdicts: go, careful, no-go.
    pub verdicts: [usize; 3],
    /// Promises that the judge does not confirm.
    pub refused: usize,
}

/// A factor, and what it explains.
#[derive(Clone, Debug, PartialEq)]
pub struct Factor {
    /// The setting's path, or `log`.
    pub key: String,
    /// Its values.
    pub levels: Vec<Level>,
    /// The share of the promises' variance between its values (eta squared); none if it changes what a return is, or nothing varies.
    pub explained: Option<f64>,
    /// What share chance alone would be expected to explain, with as many values and runs.
    pub by_chance: f64,
    /// Whether it changes what a return is.
    pub changes_returns: bool,
}

/// A value of a factor.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// The value, as words.
    pub value: String,
    /// Its runs: their places among the runs.
    pub runs: Vec<usize>,
    /// What they promise.
    pub promise: Option<Summed>,
}

/// A run of the front.
#[derive(Clone, Debug, PartialEq)]
pub struct FrontPoint {
    /// Its place among the runs.
    pub run: usize,
    /// Conditions of its rules.
    pub conditions: usize,
    /// What it promises.
    pub promise: f64,
    /// The values of the settings that change what a return is; there is a front for each of them.
    pub within: String,
}

/// How the runs of each point did, in the order of the plan.
pub(super) fn points(sweep: &WhatVaries) -> Vec<Spread> {
    let mut spreads: Vec<Spread> = Vec::new();
    let mut place: HashMap<Vec<usize>, usize> = HashMap::new();
    let log = sweep.factors.iter().position(|factor| factor.key == "log");
    let named = |point: &str, levels: &[usize]| {
        let told = log.and_then(|log| Some(format!("log={}", sweep.factors[log].values.get(*levels.get(log)?)?)));
        let parts: Vec<String> =
            [Some(point.to_owned()).filter(|point| !point.is_empty()), told].into_iter().flatten().collect();
        if parts.is_empty() { "as it is".to_owned() } else { parts.join(",") }
    };
    let mut at = |point: &str, levels: &[usize], spreads: &mut Vec<Spread>| {
        *place.entry(levels.to_vec()).or_insert_with(|| {
            spreads.push(Spread {
                point: named(point, levels),
                levels: levels.to_vec(),
                runs: Vec::new(),
                failed: 0,
                promise: None,
                true_return: None,
                verdicts: [0; 3],
                refused: 0,
            });
            spreads.len() - 1
        })
    };
    for (index, run) in sweep.runs.iter().enumerate() {
        let spread = at(&run.point, &run.levels, &mut spreads);
        spreads[spread].runs.push(index);
    }
    for failed in &sweep.failures {
        let spread = at(&failed.point, &failed.levels, &mut spreads);
        spreads[spread].failed += 1;
    }
    for spread in &mut spreads {
        let runs = || spread.runs.iter().map(|run| &sweep.runs[*run]);
        spread.promise = Summed::of(runs().map(|run| run.promise));
        spread.true_return = Summed::of(runs().filter_map(|run| run.true_return));
        spread.verdicts = ["go", "careful", "no-go"].map(|word| runs().filter(|run| run.verdict == word).count());
        spread.refused = runs().filter(|run| run.holds == Some(false)).count();
    }
    spreads.sort_by(|a, b| a.levels.cmp(&b.levels));
    spreads
}

/// The settings of a run that decide what a return is.
fn stratum(sweep: &WhatVaries, levels: &[usize]) -> Vec<usize> {
    sweep.factors.iter().zip(levels).filter(|(factor, _)| factor.changes_returns).map(|(_, level)| *level).collect()
}

/// Sums of squares of the promises: in all, and between groups of runs. Both within what returns can be compared in.
fn squares(sweep: &WhatVaries, group: impl Fn(&SweepRun) -> Vec<usize>) -> (f64, f64, usize) {
    let mean =
        |values: &[(usize, f64)]| values.iter().map(|(_, value)| value).sum::<f64>() / values.len().max(1) as f64;
    let mut strata: HashMap<Vec<usize>, Vec<(usize, f64)>> = HashMap::new();
    for (index, run) in sweep.runs.iter().enumerate().filter(|(_, run)| run.promise.is_finite()) {
        strata.entry(stratum(sweep, &run.levels)).or_default().push((index, run.promise));
    }
    // In the order of the runs, so that sums do not depend on the map's.
    let mut centred: Vec<(usize, f64)> = strata
        .values()
        .flat_map(|runs| {
            let middle = mean(runs);
            runs.iter().map(move |(index, value)| (*index, value - middle))
        })
        .collect();
    centred.sort_by_key(|(index, _)| *index);
    let total: f64 = centred.iter().map(|(_, value)| value * value).sum();
    let mut groups: Vec<Vec<(usize, f64)>> = Vec::new();
    let mut place: HashMap<Vec<usize>, usize> = HashMap::new();
    for (index, value) in centred {
        let at = *place.entry(group(&sweep.runs[index])).or_insert(groups.len());
        if at == groups.len() {
            groups.push(Vec::new());
        }
        groups[at].push((index, value));
    }
    let between: f64 = groups.iter().map(|runs| runs.len() as f64 * mean(runs).powi(2)).sum();
    (total, between, strata.len())
}

/// Nothing to explain: promises that differ by less than rounding.
fn is_nothing(sweep: &WhatVaries, total: f64) -> bool {
    let largest = sweep.runs.iter().map(|run| run.promise.abs()).fold(0.0, f64::max);
    total <= 1e-18 * largest * largest * sweep.runs.len() as f64 || !total.is_finite()
}

/// What each factor explains by itself.
pub(super) fn factors(sweep: &WhatVaries) -> Vec<Factor> {
    let of_one = |(index, varied): (usize, &super::Varied)| {
        let levels: Vec<Level> = varied
            .values
            .iter()
            .enumerate()
            .map(|(level, value)| {
                let runs: Vec<usize> =
                    (0..sweep.runs.len()).filter(|run| sweep.runs[*run].levels.get(index) == Some(&level)).collect();
                let promise = Summed::of(runs.iter().map(|run| sweep.runs[*run].promise));
                Level { value: value.clone(), runs, promise }
            })
            .collect();
        let there = levels.iter().filter(|level| level.promise.is_some()).count();
        let (total, between, strata) = squares(sweep, |run| run.levels.get(index).copied().into_iter().collect());
        let comparable = !varied.changes_returns && there > 1 && !is_nothing(sweep, total);
        let free = sweep.runs.len().saturating_sub(strata).max(1);
        Factor {
            key: varied.key.clone(),
            levels,
            explained: comparable.then(|| (between / total).clamp(0.0, 1.0)),
            by_chance: (there.saturating_sub(1) as f64 / free as f64).min(1.0),
            changes_returns: varied.changes_returns,
        }
    };
    sweep.factors.iter().enumerate().map(of_one).collect()
}

/// The share of the variance that settings and logs leave: what seeds and draws do.
pub(super) fn chance(sweep: &WhatVaries) -> Option<f64> {
    let (total, between, _) = squares(sweep, |run| run.levels.clone());
    let mut points: Vec<&Vec<usize>> = sweep.runs.iter().map(|run| &run.levels).collect();
    points.sort();
    points.dedup();
    let repeated = points.len() < sweep.runs.len();
    (repeated && !is_nothing(sweep, total)).then(|| (1.0 - between / total).clamp(0.0, 1.0))
}

/// The runs of which none is both simpler and better; apart for whatever changes what a return is.
pub(super) fn front(sweep: &WhatVaries) -> Vec<FrontPoint> {
    let mut strata: Vec<Vec<usize>> = sweep.runs.iter().map(|run| stratum(sweep, &run.levels)).collect();
    strata.sort();
    strata.dedup();
    let mut front = Vec::new();
    for levels in strata {
        let mut runs: Vec<(usize, usize, f64)> = sweep
            .runs
            .iter()
            .enumerate()
            .filter(|(_, run)| stratum(sweep, &run.levels) == levels && run.promise.is_finite())
            .filter(|(_, run)| run.holds != Some(false))
            .map(|(index, run)| (index, run.policy.conditions().len(), run.promise))
            .collect();
        runs.sort_by(|a, b| a.1.cmp(&b.1).then(b.2.total_cmp(&a.2)).then(a.0.cmp(&b.0)));
        let within = within(sweep, &levels);
        let mut best = f64::NEG_INFINITY;
        for (run, conditions, promise) in runs {
            if promise > best {
                best = promise;
                front.push(FrontPoint { run, conditions, promise, within: within.clone() });
            }
        }
    }
    front
}

/// The values that change what a return is, in words; empty if nothing does.
pub(super) fn within(sweep: &WhatVaries, levels: &[usize]) -> String {
    let changing = sweep.factors.iter().filter(|factor| factor.changes_returns).zip(levels);
    let told = changing.filter_map(|(factor, level)| Some(format!("{} = {}", factor.key, factor.values.get(*level)?)));
    told.collect::<Vec<_>>().join(", ")
}

/// The values that change what the returns of a run are, in words.
pub(super) fn within_of(sweep: &WhatVaries, run: &SweepRun) -> String {
    within(sweep, &stratum(sweep, &run.levels))
}

/// The run that promises most, of those that nobody refuses; of all, if all are refused.
pub(super) fn best(sweep: &WhatVaries) -> Option<usize> {
    let finite = || (0..sweep.runs.len()).filter(|run| sweep.runs[*run].promise.is_finite());
    let most = |runs: &mut dyn Iterator<Item = usize>| {
        // The first one of equals.
        runs.reduce(|best, run| if sweep.runs[run].promise > sweep.runs[best].promise { run } else { best })
    };
    most(&mut finite().filter(|run| !sweep.runs[*run].is_refused())).or_else(|| most(&mut finite()))
}
