//! Which rules come back: the rules of all runs with the same variables, matched as the report's overlay matches those of two.
//!
//! The rules of the best run are where groups begin; each run gives every group at most one rule, the nearest one first. Then
//! the middle of each group takes the place of the rule that it began with, and all rules are dealt out again, so that the groups
//! do not hang on the run that came first.

use std::collections::HashMap;

use fpsrl_engine::policy::{ActionRules, FuzzyPolicy, Quantity, Rule};
use fpsrl_explain::{DataProfile, noticeable, sentences};

use super::{SweepRun, WhatVaries};
use crate::overlay::difference;

/// Rules that are less alike than this are not the same: half the range of the action apart, or a width in every variable.
const ALIKE: f64 = 1.0;

/// A rule of fewer than one run in so many does not come back: it happens to be found twice.
const SELDOM: usize = 10;

/// How often the groups are made anew from their middles.
const ROUNDS: usize = 3;

/// A rule that comes back.
#[derive(Clone, Debug, PartialEq)]
pub struct Recurring {
    /// The rule in the middle of all that are like it, as a sentence.
    pub sentence: String,
    /// Its action.
    pub action: String,
    /// The runs that have it: their places among the runs.
    pub runs: Vec<usize>,
    /// How many runs there are with these variables.
    pub of: usize,
    /// How far its centres, and what it wants, are scattered over the runs.
    pub scatter: Vec<Scatter>,
}

/// Where a number of a rule lies over the runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Scatter {
    /// The variable or the action.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// From where to where: the middle half of the runs.
    pub range: [f64; 2],
}

/// Rules that are alike, of one action. What they want is the action that each takes alone, from -1 at the lower limit to 1 at the
/// upper one: outputs before the limits are not the same thing in every run, because each has a steepness of its own.
struct Group {
    middle: Rule,
    members: Vec<(usize, Rule)>,
}

/// The rules that come back, those of most runs first; of the variables that most runs have.
pub(super) fn recurring(sweep: &WhatVaries) -> Vec<Recurring> {
    // What nobody would use has no rules that matter.
    let used = (0..sweep.runs.len()).filter(|run| !sweep.runs[*run].is_refused()).count();
    let counts = |run: &SweepRun| used < 2 || !run.is_refused();
    let mut kinds: Vec<(Vec<&str>, Vec<usize>)> = Vec::new();
    let mut place: HashMap<Vec<&str>, usize> = HashMap::new();
    for (index, run) in sweep.runs.iter().enumerate().filter(|(_, run)| counts(run)) {
        let names = run.policy.states.iter().map(|state| state.name.as_str());
        // Something between them, so that no two lists of names are read as one.
        let names: Vec<&str> =
            names.chain(["THEN"]).chain(run.policy.actions.iter().map(|action| action.name.as_str())).collect();
        let at = *place.entry(names.clone()).or_insert_with(|| {
            kinds.push((names, Vec::new()));
            kinds.len() - 1
        });
        kinds[at].1.push(index);
    }
    let mut found = Vec::new();
    for (_, mut runs) in kinds.into_iter().filter(|(_, runs)| runs.len() > 1) {
        runs.sort_by(|a, b| sweep.runs[*b].promise.total_cmp(&sweep.runs[*a].promise).then(a.cmp(b)));
        let first = &sweep.runs[runs[0]];
        for action in 0..first.policy.actions.len() {
            let groups = groups(sweep, &runs, action, &first.profile);
            let fewest = runs.len().div_ceil(SELDOM).max(2);
            let told = groups.into_iter().filter(|group| group.members.len() >= fewest);
            found.extend(told.map(|group| told_of(sweep, &first.policy, action, group, runs.len())));
        }
    }
    found.sort_by(|a, b| (b.runs.len() * a.of).cmp(&(a.runs.len() * b.of)));
    found
}

fn groups(sweep: &WhatVaries, runs: &[usize], action: usize, profile: &DataProfile) -> Vec<Group> {
    let states = &sweep.runs[runs[0]].policy.states;
    let mut groups: Vec<Group> = Vec::new();
    for round in 0..ROUNDS {
        for group in &mut groups {
            if round > 0 {
                group.middle = middle(states, group);
            }
            group.members.clear();
        }
        for &run in runs {
            let rules = sweep.runs[run].policy.actions.get(action).map_or_else(Vec::new, by_action);
            deal(states, profile, &mut groups, run, &rules);
        }
        groups.retain(|group| !group.members.is_empty());
    }
    groups
}

/// The rules of an action, each with the action that it takes alone as its output.
fn by_action(kind: &ActionRules) -> Vec<Rule> {
    let [low, high] = kind.limits;
    let wanted =
        |index: usize| (2.0 * (kind.alone(index) - low) / (high - low).max(f64::MIN_POSITIVE) - 1.0).clamp(-1.0, 1.0);
    kind.rules.iter().enumerate().map(|(index, rule)| Rule { output: wanted(index), ..rule.clone() }).collect()
}

/// Gives each rule of a run to the group that it is most like, the most alike first; what is like none begins a group.
fn deal(states: &[Quantity], profile: &DataProfile, groups: &mut Vec<Group>, run: usize, rules: &[Rule]) {
    let mut pairs: Vec<(f64, usize, usize)> = Vec::new();
    for (at, group) in groups.iter().enumerate() {
        for (index, rule) in rules.iter().enumerate() {
            let unlike = difference(states, &group.middle, rule, profile);
            if unlike < ALIKE {
                pairs.push((unlike, at, index));
            }
        }
    }
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)).then(a.2.cmp(&b.2)));
    let mut taken = vec![false; rules.len()];
    let mut full = vec![false; groups.len()];
    for (_, at, index) in pairs {
        if !taken[index] && !full[at] {
            (taken[index], full[at]) = (true, true);
            groups[at].members.push((run, rules[index].clone()));
        }
    }
    for (rule, _) in rules.iter().zip(taken).filter(|(_, taken)| !taken) {
        groups.push(Group { middle: rule.clone(), members: vec![(run, rule.clone())] });
    }
}

/// The rule in the middle of a group. It looks at a variable if at least half of the rules do.
fn middle(states: &[Quantity], group: &Group) -> Rule {
    let mut rule = group.middle.clone();
    for variable in 0..rule.centre.len() {
        let looking = group.members.iter().filter(|(_, rule)| !rule.ignores(variable));
        let widths: Vec<f64> = looking.map(|(_, rule)| rule.width[variable]).collect();
        if 2 * widths.len() < group.members.len() {
            rule.ignore(variable);
            continue;
        }
        let centre = median(near(states, group, variable));
        // An angle stays within a turn.
        rule.centre[variable] = states.get(variable).map_or(centre, |state| state.nearest(centre, 0.0));
        rule.width[variable] = median(widths);
    }
    rule.output = median(group.members.iter().map(|(_, rule)| rule.output).collect());
    rule
}

/// Where the rules of a group look at a variable: the centres, of angles the images that are nearest to the middle.
fn near(states: &[Quantity], group: &Group, variable: usize) -> Vec<f64> {
    let looking = group.members.iter().map(|(_, rule)| rule).filter(|rule| !rule.ignores(variable));
    // Where the middle does not look, its own centre says nothing.
    let around = match group.middle.ignores(variable) {
        true => looking.clone().map(|rule| rule.centre[variable]).next().unwrap_or(0.0),
        false => group.middle.centre[variable],
    };
    let image = |rule: &Rule| match states.get(variable) {
        Some(state) => state.nearest(rule.centre[variable], around),
        None => rule.centre[variable],
    };
    looking.map(image).collect()
}

fn median(values: Vec<f64>) -> f64 {
    super::Summed::of(values).map_or(0.0, |summed| summed.median)
}

fn told_of(sweep: &WhatVaries, policy: &FuzzyPolicy, action: usize, group: Group, of: usize) -> Recurring {
    let middle = middle(&policy.states, &group);
    let kind = &policy.actions[action];
    let half = |values: Vec<f64>| super::Summed::of(values).map_or([0.0; 2], |summed| [summed.low, summed.high]);
    let shown = |variable: &usize| !middle.ignores(*variable) && policy.states[*variable].values.is_empty();
    let mut scatter: Vec<Scatter> = (0..policy.states.len())
        .filter(shown)
        .map(|variable| {
            let state = &policy.states[variable];
            let range = half(near(&policy.states, &group, variable));
            Scatter { name: state.name.clone(), unit: state.unit.clone(), range }
        })
        .collect();
    let [low, high] = kind.limits;
    let range = half(group.members.iter().map(|(_, rule)| rule.output).collect());
    let range = range.map(|wanted| noticeable(low + 0.5 * (wanted + 1.0) * (high - low), kind.limits));
    scatter.push(Scatter { name: kind.name.clone(), unit: kind.unit.clone(), range });
    let sentence = sentence(sweep, policy, action, &middle, &group).unwrap_or_default();
    let mut runs: Vec<usize> = group.members.iter().map(|(run, _)| *run).collect();
    runs.sort_unstable();
    Recurring { sentence, action: kind.name.clone(), runs, of, scatter }
}

/// The rule in the middle as a sentence. What it does is told by the member that does most nearly that.
fn sentence(sweep: &WhatVaries, policy: &FuzzyPolicy, action: usize, middle: &Rule, group: &Group) -> Option<String> {
    let far = |rule: &Rule| (rule.output - middle.output).abs();
    let (run, like) = group.members.iter().min_by(|a, b| far(&a.1).total_cmp(&far(&b.1)))?;
    let kind = sweep.runs[*run].policy.actions.get(action)?;
    let index = by_action(kind).iter().position(|rule| rule == like)?;
    let rule = Rule { output: kind.rules[index].output, ..middle.clone() };
    let alone = FuzzyPolicy { actions: vec![ActionRules { rules: vec![rule], ..kind.clone() }], ..policy.clone() };
    sentences(&alone).into_iter().next()
}

/// How many of the rules that a run has come back in at least half of the runs.
pub(super) fn share_that_recurs(recurring: &[Recurring], run: usize, runs: &[SweepRun]) -> Option<(usize, usize)> {
    let rules = runs.get(run)?.policy.actions.iter().map(|action| action.rules.len()).sum();
    let often = recurring.iter().filter(|rule| 2 * rule.runs.len() >= rule.of && rule.runs.contains(&run)).count();
    Some((often, rules))
}
