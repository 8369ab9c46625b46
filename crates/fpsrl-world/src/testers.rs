//! Worlds tested on episodes that they never saw: how far predictions go astray, what they miss of the rewards and of whole
//! returns, and whether a judge can judge at all.

use super::ensemble::LearnedWorlds;
use super::model::WorldModel;
use super::rewards::{Best, Told};
use super::rows::{MOST_ROWS, moving, row_of};
use super::shares::Shares;
use crate::WorldSettings;
use fpsrl_data::System;
use fpsrl_data::scaling::Scale;
use fpsrl_data::{Transitions, absorbing};
use fpsrl_engine::angle::wrap_angle;
use serde::{Deserialize, Serialize};

/// Stretches that each member predicts for each length, at most.
const MOST_STRETCHES: usize = 25;

/// An open-loop error of this size is no better than a state drawn from the log.
const NO_BETTER_THAN_CHANCE: f64 = 2.0;

/// A judge whose rewards miss more than this share of the variance cannot tell what is good.
const BLIND_TO_REWARD: f64 = 0.5;

/// A judge that saw the best in fewer episodes than this cannot tell where it is to be had.
const FEWEST_BEST: usize = 3;

/// The most that calibration widens: beyond it, the worlds are no use anyway.
const WIDEST: f64 = 5.0;

/// The error of predictions over so many steps.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpenLoop {
    /// Steps from the known state, with the recorded actions.
    pub steps: usize,
    /// The mean squared error of the state after them over the variance in the log; 2 is no better than chance.
    pub error: f64,
}

/// Members with the stretches of rows that they never saw.
pub(super) struct Testers<'a> {
    pub(super) log: &'a Transitions,
    angles: Vec<bool>,
    spreads: Vec<f64>,
    testers: Vec<(&'a WorldModel, Vec<std::ops::Range<usize>>)>,
}

impl<'a> Testers<'a> {
    pub(super) fn new(
        system: &System,
        settings: &WorldSettings,
        shares: &'a Shares,
        worlds: &'a LearnedWorlds,
    ) -> Self {
        // A plant that has stopped no longer shows how fast it was then, so stretches end before it stops. Members leave a
        // group of episodes out each; a single world is tested on the judge's episodes, if there are any.
        let (log, testers) = match worlds.members.is_empty() {
            false => {
                let moves = moving(settings, &shares.members);
                let own = |(index, world)| {
                    (world, stretches(&shares.members, |row| moves[row] && shares.left_out_by[row] == index + 1))
                };
                (&shares.members, worlds.members.iter().enumerate().map(own).collect())
            }
            true => {
                let moves = moving(settings, &shares.judge);
                (&shares.judge, vec![(&worlds.world, stretches(&shares.judge, |row| moves[row]))])
            }
        };
        Self::over(system, shares, log, testers)
    }

    /// The judge's first world with the episodes of the members, none of which it has seen.
    pub(super) fn of_judge(
        system: &System,
        settings: &WorldSettings,
        shares: &'a Shares,
        worlds: &'a LearnedWorlds,
    ) -> Self {
        let moves = moving(settings, &shares.members);
        let own = |world| (world, stretches(&shares.members, |row| moves[row]));
        Self::over(system, shares, &shares.members, worlds.judges.first().map(own).into_iter().collect())
    }

    fn over(
        system: &System,
        shares: &Shares,
        log: &'a Transitions,
        testers: Vec<(&'a WorldModel, Vec<std::ops::Range<usize>>)>,
    ) -> Self {
        Self {
            log,
            angles: system.states().iter().map(|state| state.angle).collect(),
            spreads: shares.members.states.iter().map(|column| Scale::standard(column).spread).collect(),
            testers,
        }
    }

    /// Why a judge cannot judge, if it cannot: it must have seen what earns and what stops the plant, as far as others have.
    pub(super) fn abstains(&self, shares: &Shares, reward_error: Option<f64>) -> Option<String> {
        let (world, _) = self.testers.first()?;
        if let Some(error) = reward_error {
            let best = Best::of(&[&shares.members, &shares.judge]);
            let [theirs, own] = [&shares.members, &shares.judge].map(|log| best.episodes(log));
            if own < FEWEST_BEST && own < theirs {
                return Some(format!(
                    "the judge abstains: the best that the log shows is in {own} of its episodes, and in {theirs} of the others"
                ));
            }
            if error > BLIND_TO_REWARD {
                return Some(format!(
                    "the judge abstains: its part of the log hardly shows what earns, and its rewards miss {:.0} % of the \
                     variance in the other episodes",
                    100.0 * error
                ));
            }
        }
        let ends = self.log.terminated.as_ref().is_some_and(|ended| ended.iter().any(|ended| *ended));
        (ends && world.absorbing.is_none() && world.known.is_none())
            .then(|| "the judge abstains: its part of the log never shows how the plant stops".to_owned())
    }

    /// The error after so many steps; none if no stretch is as long.
    pub(super) fn open_loop(&self, steps: usize) -> Option<OpenLoop> {
        let mut errors = Vec::new();
        for (world, stretches) in &self.testers {
            let starts: Vec<usize> = stretches
                .iter()
                .flat_map(|stretch| stretch.clone().take(stretch.len().saturating_sub(steps - 1)))
                .collect();
            let every = starts.len().div_ceil(MOST_STRETCHES).max(1);
            errors.extend(starts.into_iter().step_by(every).map(|start| self.astray(world, start, steps)));
        }
        (!errors.is_empty()).then(|| OpenLoop { steps, error: errors.iter().sum::<f64>() / errors.len() as f64 })
    }

    /// How far a world's prediction is off after so many steps from a row.
    fn astray(&self, world: &WorldModel, start: usize, steps: usize) -> f64 {
        let mut state = row_of(&self.log.states, start);
        for row in start..start + steps {
            let action = row_of(&self.log.actions, row);
            let (next, _) = world.respond(&state, &action);
            if world.absorbed(&state, &action, &next).is_some() {
                return NO_BETTER_THAN_CHANCE;
            }
            state = next;
        }
        let truth = row_of(&self.log.next_states, start + steps - 1);
        let counted: Vec<f64> = (0..self.log.own_states())
            .map(|variable| {
                let miss = state[variable] - truth[variable];
                let miss = if self.angles[variable] { wrap_angle(miss) } else { miss };
                (miss / self.spreads[variable]).powi(2).min(NO_BETTER_THAN_CHANCE)
            })
            .map(|error| if error.is_nan() { NO_BETTER_THAN_CHANCE } else { error })
            .collect();
        counted.iter().sum::<f64>() / counted.len() as f64
    }

    /// What the worlds say that rows earn which they never saw, beside what those earned, while the plant moves.
    pub(super) fn told(&self) -> Vec<Told> {
        let mut told = Vec::new();
        for (world, stretches) in &self.testers {
            let rows: Vec<usize> = stretches.iter().flat_map(Clone::clone).collect();
            let every = rows.len().div_ceil(MOST_ROWS).max(1);
            told.extend(rows.into_iter().step_by(every).map(|row| {
                let [state, action, next] =
                    [&self.log.states, &self.log.actions, &self.log.next_states].map(|columns| row_of(columns, row));
                let predicted = world.reward(&state, &action, &next) - world.costs(&state, &action, &next);
                Told { episode: self.log.episode[row], predicted, recorded: self.log.rewards[row] }
            }));
        }
        told
    }

    /// The mean squared error of the reward while the plant moves, over the variance of all rewards of the log; none if
    /// there is nothing to test it on.
    pub(super) fn reward_error(&self, told: &[Told]) -> Option<f64> {
        let sum: f64 = told.iter().map(|told| (told.predicted - told.recorded).powi(2)).sum();
        // The spread of a constant column counts as 1.
        let variance = Scale::standard(&self.log.rewards).spread.powi(2);
        (!told.is_empty()).then(|| sum / told.len() as f64 / variance)
    }

    /// By what factor the worlds' disagreement on returns is to be widened: the error of their returns in the episodes that
    /// each of them left out, over their spread in the same episodes. At least 1.
    ///
    /// Errors of whole groups of episodes are compared: what chance does to an episode says nothing of what is promised.
    pub(super) fn widening(&self, system: &System, worlds: &LearnedWorlds) -> f64 {
        let all: Vec<&WorldModel> = worlds.all_members().collect();
        let later = absorbing::rewards_from_then_on(self.log);
        let count = all.len() as f64;
        let (mut errors, mut spreads) = (0.0, 0.0);
        for (world, stretches) in &self.testers {
            let every = stretches.len().div_ceil(MOST_STRETCHES).max(1);
            let mut missed = Vec::new();
            let mut by_member = vec![0.0; all.len()];
            for stretch in stretches.iter().step_by(every) {
                let rows = self.episode_from(stretch.start, system.horizon());
                let recorded = recorded_return(system, self.log, &later, rows.clone());
                missed.push(recorded - self.predicted_return(system, world, rows.clone()));
                for (sum, member) in by_member.iter_mut().zip(&all) {
                    *sum += self.predicted_return(system, member, rows.clone());
                }
            }
            if missed.len() < 2 {
                continue;
            }
            let episodes = missed.len() as f64;
            let mean = missed.iter().sum::<f64>() / episodes;
            let chance = missed.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / (episodes - 1.0) / episodes;
            errors += (mean * mean - chance).max(0.0);
            let middle = by_member.iter().sum::<f64>() / count;
            let variance = by_member.iter().map(|sum| (sum - middle).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
            spreads += variance / (episodes * episodes) * (1.0 + 1.0 / count);
        }
        match () {
            () if errors <= spreads => 1.0,
            () if spreads * WIDEST * WIDEST <= errors => WIDEST,
            () => (errors / spreads).sqrt(),
        }
    }

    /// The rows that follow a row in its episode, it included, at most so many.
    fn episode_from(&self, first: usize, most: usize) -> std::ops::Range<usize> {
        let follows = |row: usize| self.log.episode[row] == self.log.episode[first];
        let end = (first..self.log.len().min(first + most)).take_while(|row| follows(*row)).last();
        first..end.map_or(first, |end| end + 1)
    }

    /// What a world says that the recorded actions earn from the first of some rows on.
    fn predicted_return(&self, system: &System, world: &WorldModel, rows: std::ops::Range<usize>) -> f64 {
        let mut state = row_of(&self.log.states, rows.start);
        let (mut sum, mut weight) = (0.0, 1.0);
        let mut ended = None;
        for row in rows {
            let reward = match ended {
                Some(later) => later,
                None => {
                    let action = row_of(&self.log.actions, row);
                    let (next, reward) = world.respond(&state, &action);
                    ended = world.absorbed(&state, &action, &next).map(|(_, later)| later);
                    state = next;
                    reward
                }
            };
            sum += weight * reward;
            weight *= system.discount();
        }
        sum
    }
}

/// What rows of an episode earned, discounted from the first of them.
fn recorded_return(system: &System, log: &Transitions, later: &[Option<f64>], rows: std::ops::Range<usize>) -> f64 {
    let (mut sum, mut weight) = (0.0, 1.0);
    let mut ended = None;
    for row in rows {
        sum += weight * ended.unwrap_or(log.rewards[row]);
        ended = ended.or(later[row]);
        weight *= system.discount();
    }
    sum
}

/// Runs of rows that follow each other in one episode and are chosen.
fn stretches(log: &Transitions, chosen: impl Fn(usize) -> bool) -> Vec<std::ops::Range<usize>> {
    let follows = |row: usize| {
        log.episode[row] == log.episode[row - 1]
            && log.states.iter().zip(&log.next_states).all(|(state, next)| state[row] == next[row - 1])
    };
    let mut stretches: Vec<std::ops::Range<usize>> = Vec::new();
    for row in (0..log.len()).filter(|&row| chosen(row)) {
        match stretches.last_mut() {
            Some(stretch) if stretch.end == row && follows(row) => stretch.end = row + 1,
            _ => stretches.push(row..row + 1),
        }
    }
    stretches
}
