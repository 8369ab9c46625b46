//! What a log can tell of its rewards: how often it shows its best, and what episodes that a world never saw say of the rewards
//! that it promises, level by level.
//!
//! The mean error over a log says little of a controller that spends its time where the log hardly was: at the goal. So errors are
//! kept by what the world said that a row earns. A level that few visits of unseen rows speak for is in doubt for as much as
//! rewards differ, and so is everything above the usual reward where the log shows hardly anything better.

use serde::{Deserialize, Serialize};

use fpsrl_data::{Transitions, absorbing};

/// Levels that predicted rewards are divided into.
const LEVELS: usize = 10;

/// Rows one after another in a level that count as one more visit: by then the plant is somewhere else.
const VISIT: usize = 10;

/// A row that a world never saw: what it said that the row earns, and what it earned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Told {
    /// The row's episode.
    pub episode: u64,
    /// What the world said.
    pub predicted: f64,
    /// What was recorded.
    pub recorded: f64,
}

/// What unseen rows say of the rewards that a world predicts between two values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RewardLevel {
    /// Visits of unseen rows to this level; ten rows one after another in an episode count as one.
    pub visits: usize,
    /// The mean of what was recorded less what was predicted.
    pub bias: f64,
    /// The mean size of that difference.
    pub error: f64,
}

/// What a log can tell of its rewards.
///
/// ```
/// use fpsrl_world::rewards::{RewardEvidence, Told};
/// let told = |episode, predicted, recorded| Told { episode, predicted, recorded };
/// // A goal that was foreseen in three episodes and was there each time; and the way to it, often.
/// let mut rows: Vec<Told> = (0..3).map(|episode| told(episode, 0.0, 0.0)).collect();
/// rows.extend((0..300).map(|episode| told(episode, -1.0, -1.0)));
/// let evidence = RewardEvidence::of(&rows);
/// assert_eq!(evidence.doubt(0.0), 0.2);
/// assert!(evidence.doubt(-1.0) < 0.01);
/// assert_eq!(evidence.doubt(-0.5), 1.0);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RewardEvidence {
    /// The lowest and the highest reward of unseen rows while the plant moved.
    pub range: [f64; 2],
    /// Levels of equal extent between them, from the lowest; empty where all rewards are equal, or known.
    pub levels: Vec<RewardLevel>,
    /// By how much steps may earn less, and more, than is promised, because the log hardly shows more than its usual reward.
    pub hidden: [f64; 2],
    /// By how much a step may earn less, and more, than anything that the log shows.
    pub beyond: [f64; 2],
}

impl RewardEvidence {
    /// What rows say that a world never saw.
    pub fn of(rows: &[Told]) -> Self {
        let fold = |fold: fn(f64, f64) -> f64, first| rows.iter().map(|row| row.recorded).fold(first, fold);
        let range = [fold(f64::min, f64::INFINITY), fold(f64::max, f64::NEG_INFINITY)];
        if rows.is_empty() || range[0] >= range[1] {
            return Self::default();
        }
        let mut evidence =
            Self { range, levels: vec![RewardLevel::default(); LEVELS], hidden: [0.0; 2], beyond: [0.0; 2] };
        let mut counts = [0usize; LEVELS];
        let mut last = None;
        let mut stayed = 0;
        for row in rows {
            let index = evidence.index(row.predicted);
            let level = &mut evidence.levels[index];
            stayed = if last == Some((row.episode, index)) { stayed + 1 } else { 0 };
            level.visits += usize::from(stayed % VISIT == 0);
            level.bias += row.recorded - row.predicted;
            level.error += (row.recorded - row.predicted).abs();
            counts[index] += 1;
            last = Some((row.episode, index));
        }
        for (level, count) in evidence.levels.iter_mut().zip(counts) {
            level.bias /= count.max(1) as f64;
            level.error /= count.max(1) as f64;
        }
        evidence
    }

    /// The same, with what a log may hide because it hardly shows more than its usual reward.
    pub(super) fn hiding(self, log: &Transitions) -> Self {
        if log.is_empty() {
            return self;
        }
        let best = Best::of(&[log]);
        let hidden = best.hidden(log);
        Self { hidden, beyond: if best.is_shown() { [0.0; 2] } else { hidden }, ..self }
    }

    fn index(&self, reward: f64) -> usize {
        let share = (reward - self.range[0]) / (self.range[1] - self.range[0]);
        ((share * LEVELS as f64) as usize).min(LEVELS - 1)
    }

    /// How far a step's true reward may lie from what a world says that it earns, if all such errors point the same way.
    pub fn doubt(&self, reward: f64) -> f64 {
        if self.levels.is_empty() {
            return 0.0;
        }
        let level = self.levels[self.index(reward)];
        // Laplace's rule: after n visits that tell the same, the next one tells something else with 1 in n + 2; without any visit,
        // everything is possible.
        let unknown = if level.visits == 0 { 1.0 } else { 1.0 / (level.visits as f64 + 2.0) };
        level.error + unknown * (self.range[1] - self.range[0] - level.error).max(0.0)
    }

    /// What steps of which a world says this were seen to earn more, in the mean.
    pub fn bias(&self, reward: f64) -> f64 {
        if self.levels.is_empty() { 0.0 } else { self.levels[self.index(reward)].bias }
    }
}

/// The best reward that a log shows, beside its usual one.
pub(super) struct Best {
    /// The median while the plant moves.
    usual: f64,
    /// The highest, of ends too.
    best: f64,
    /// The highest while the plant moves.
    best_moving: f64,
    /// Whether no reward differs from another.
    all_equal: bool,
}

impl Best {
    /// Of parts of a log, taken together.
    pub(super) fn of(parts: &[&Transitions]) -> Self {
        let mut moving = Vec::new();
        let (mut best, mut worst) = (f64::NEG_INFINITY, f64::INFINITY);
        for log in parts {
            let later = absorbing::rewards_from_then_on(log);
            for (reward, later) in log.rewards.iter().zip(&later) {
                best = best.max(*reward).max(later.unwrap_or(*reward));
                worst = worst.min(*reward).min(later.unwrap_or(*reward));
                if later.is_none() {
                    moving.push(*reward);
                }
            }
        }
        moving.sort_unstable_by(f64::total_cmp);
        let usual = moving.get(moving.len() / 2).copied().unwrap_or(best);
        let best_moving = moving.last().copied().unwrap_or(best);
        Self { usual, best, best_moving, all_equal: best <= worst }
    }

    /// Whether anything better than the usual reward is there at all.
    fn is_shown(&self) -> bool {
        self.best > self.usual
    }

    /// In how many episodes of a log it is nearer than the usual reward.
    pub(super) fn episodes(&self, log: &Transitions) -> usize {
        let threshold = 0.5 * (self.usual + self.best);
        let later = absorbing::rewards_from_then_on(log);
        let shows = |row: usize| self.is_shown() && log.rewards[row].max(later[row].unwrap_or(f64::MIN)) > threshold;
        let mut episodes: Vec<u64> = (0..log.len()).filter(|&row| shows(row)).map(|row| log.episode[row]).collect();
        episodes.dedup();
        episodes.len()
    }

    /// By how much steps may earn less, and more, than is promised.
    ///
    /// Where nothing better than the usual reward was ever seen, and that is a cost, a step may cost nothing; where the best was
    /// seen in a few episodes, there may be more of it than they show; a goal that ends the episode was reached once and for all,
    /// and when a policy comes there is a matter of motion. Of rewards that are all equal nothing is known.
    fn hidden(&self, log: &Transitions) -> [f64; 2] {
        if self.all_equal {
            let size = if self.best == 0.0 { 1.0 } else { self.best.abs() };
            return [size, size];
        }
        let gap = if self.is_shown() { self.best_moving - self.usual } else { (-self.best).max(0.0) };
        [0.0, gap / (1.0 + self.episodes(log) as f64)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Episodes of three rows whose last one earns what is given; the others cost a tenth.
    fn log(last: &[f64]) -> Transitions {
        let rewards: Vec<f64> = last.iter().flat_map(|last| [-0.1, -0.1, *last]).collect();
        let rows = rewards.len();
        let column = |offset: usize| (0..rows).map(|row| (row + offset) as f64).collect::<Vec<f64>>();
        Transitions {
            episode: (0..rows).map(|row| row as u64 / 3).collect(),
            step: (0..rows).map(|row| row as u64 % 3).collect(),
            states: vec![column(0)],
            actions: vec![column(0)],
            next_states: vec![column(1)],
            rewards,
            ..Transitions::default()
        }
    }

    #[test]
    fn what_the_log_never_shows_may_cost_nothing() {
        let hidden = |last: &[f64]| RewardEvidence::default().hiding(&log(last)).hidden;
        assert_eq!(hidden(&[-1.0, -0.1, -0.1, -1.0]), [0.0, 0.1]);
        // A goal in one episode, and in three of four.
        assert_eq!(hidden(&[-1.0, 0.0, -0.1, -1.0]), [0.0, 0.05]);
        assert_eq!(hidden(&[0.0, 0.0, 0.0, -1.0]), [0.0, 0.025]);
        assert_eq!(hidden(&[-0.1, -0.1]), [0.1, 0.1]);
        // A goal that ends the episode.
        let mut ended = log(&[-0.1, -0.1]);
        ended.terminated = Some((0..6).map(|row| row == 2).collect());
        assert_eq!(RewardEvidence::default().hiding(&ended).hidden, [0.0, 0.0]);
        // Only where it was never seen, a step may earn more than the best that was.
        let beyond = |last: &[f64]| RewardEvidence::default().hiding(&log(last)).beyond;
        assert_eq!([beyond(&[-1.0, -0.1]), beyond(&[-1.0, 0.0])], [[0.0, 0.1], [0.0, 0.0]]);
    }

    #[test]
    fn few_visits_leave_most_in_doubt_and_errors_stay() {
        let row = |episode, predicted, recorded| Told { episode, predicted, recorded };
        let rows = |episodes: u64| -> Vec<Told> {
            // Four rows of an episode are one visit; in each, one of them is wrong.
            (0..episodes)
                .flat_map(|episode| (0..4).map(move |step| row(episode, 1.0, if step == 0 { 0.0 } else { 1.0 })))
                .collect()
        };
        let [few, many] = [2, 2_000].map(|episodes| RewardEvidence::of(&rows(episodes)));
        assert_eq!(few.levels.last().map(|level| level.visits), Some(2));
        assert!((few.doubt(1.0) - (0.25 + 0.25 * 0.75)).abs() < 1e-12);
        assert!((many.doubt(1.0) - 0.25).abs() < 2e-3);
        assert_eq!(many.bias(1.0), -0.25);
        assert_eq!(RewardEvidence::default().doubt(3.0), 0.0);
    }
}
