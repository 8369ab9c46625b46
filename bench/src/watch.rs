//! Watches a search from where its positions are scored, whoever searches: what it would give if it ended now, at
//! fixed numbers of model steps.

use fpsrl::optimiser::Scope;
use fpsrl::rollout::Fitness;
use fpsrl::search::{Evaluator, Trial};
use std::cell::RefCell;

/// Marks of a curve.
const MARKS: usize = 80;

/// The first of them, as a share of the budget; the others follow in equal ratios.
const FIRST: f64 = 1e-3;

/// An evaluator that remembers what the search has found by each mark.
pub struct Watch<E> {
    evaluator: E,
    budget: u64,
    seen: RefCell<Seen>,
}

/// What a search has found by a mark.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Point {
    /// The mark, in model steps.
    pub mark: u64,
    /// Evaluations so far.
    pub evaluations: u64,
    /// What the search would give; none before its first round is through.
    pub position: Option<Vec<f64>>,
}

#[derive(Default)]
struct Seen {
    points: Vec<Point>,
    steps: u64,
    evaluations: u64,
    rounds: u64,
    /// The best of each scope.
    best: Vec<(Scope, f64, Vec<f64>)>,
    found: Option<Vec<f64>>,
    /// Whether anything was scored on all members.
    on_all_members: bool,
}

impl<E> Watch<E> {
    /// Watches a search that may take so many model steps.
    pub fn new(evaluator: E, budget: u64) -> Self {
        Self { evaluator, budget, seen: RefCell::default() }
    }

    /// Whether the search has used its steps up.
    pub fn is_spent(&self) -> bool {
        self.seen.borrow().steps >= self.budget
    }

    /// Model steps, evaluations and rounds so far.
    pub fn counts(&self) -> [u64; 3] {
        let seen = self.seen.borrow();
        [seen.steps, seen.evaluations, seen.rounds]
    }

    /// The curve of a search that has ended. What it gives in the end, if it says so itself, holds from then on.
    pub fn curve(&self, last: Option<&[f64]>) -> Vec<Point> {
        let mut seen = self.seen.borrow_mut();
        if let Some(last) = last {
            seen.found = Some(last.to_vec());
        }
        seen.pass(self.budget, u64::MAX);
        seen.points.clone()
    }
}

impl<E: Evaluator> Evaluator for Watch<E> {
    fn score(&self, trials: &[Trial<'_>]) -> fpsrl::Result<Vec<Fitness>> {
        let scores = self.evaluator.score(trials)?;
        self.seen.borrow_mut().round(self.budget, trials, &scores);
        Ok(scores)
    }
}

impl Seen {
    /// At marks below so many steps, the search stood as it stands now.
    fn pass(&mut self, budget: u64, steps: u64) {
        while self.points.len() < MARKS {
            let mark = mark(budget, self.points.len());
            if mark >= steps {
                return;
            }
            self.points.push(Point { mark, evaluations: self.evaluations, position: self.found.clone() });
        }
    }

    fn round(&mut self, budget: u64, trials: &[Trial<'_>], scores: &[Fitness]) {
        self.steps += scores.iter().map(|score| score.model_steps).sum::<u64>();
        // A round counts when it is through.
        self.pass(budget, self.steps);
        self.evaluations += trials.len() as u64;
        self.rounds += 1;
        for (trial, score) in trials.iter().zip(scores) {
            let Some(value) = score.value.filter(|value| value.is_finite()) else { continue };
            match self.best.iter_mut().find(|(scope, ..)| *scope == trial.scope) {
                Some((_, best, position)) if value > *best => {
                    *best = value;
                    position.copy_from_slice(trial.position);
                }
                Some(_) => {}
                None => self.best.push((trial.scope, value, trial.position.to_vec())),
            }
        }
        // A race that explores again holds on to what it has compared on all members: its new tries are scored on few start
        // states of one, and values of other scopes say nothing beside them.
        let all_members = trials.iter().any(|trial| !matches!(trial.scope, Scope::Part { member: Some(_), .. }));
        if self.on_all_members && !all_members {
            return;
        }
        self.on_all_members |= all_members;
        let at_hand = self.best.iter().filter(|(scope, ..)| trials.iter().any(|trial| trial.scope == *scope));
        if let Some((.., position)) = at_hand.max_by(|a, b| a.1.total_cmp(&b.1)) {
            self.found = Some(position.clone());
        }
    }
}

/// The marks of a budget, in equal ratios up to the budget itself.
fn mark(budget: u64, index: usize) -> u64 {
    let left = (MARKS - 1 - index) as f64 / (MARKS - 1) as f64;
    (budget as f64 * FIRST.powf(left)).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first parameter is the fitness, each evaluation takes ten steps.
    struct Plain;

    impl Evaluator for Plain {
        fn score(&self, trials: &[Trial<'_>]) -> fpsrl::Result<Vec<Fitness>> {
            Ok(trials.iter().map(|trial| Fitness { value: Some(trial.position[0]), model_steps: 10 }).collect())
        }
    }

    fn score(watch: &Watch<Plain>, values: &[f64], scope: Scope) {
        let positions: Vec<[f64; 1]> = values.iter().map(|value| [*value]).collect();
        let trials: Vec<Trial<'_>> =
            positions.iter().map(|position| Trial { position, to_beat: f64::NEG_INFINITY, scope }).collect();
        watch.score(&trials).unwrap();
    }

    /// What the search would have given at so many steps.
    fn at(curve: &[Point], steps: u64) -> Option<f64> {
        let point = curve.iter().rfind(|point| point.mark <= steps).unwrap();
        point.position.as_ref().map(|position| position[0])
    }

    #[test]
    fn a_round_counts_when_it_is_through() {
        let watch = Watch::new(Plain, 1_000);
        score(&watch, &[1.0; 10], Scope::Whole);
        score(&watch, &[5.0; 40], Scope::Whole);
        score(&watch, &[3.0; 60], Scope::Whole);
        assert!(watch.is_spent());
        assert_eq!(watch.counts(), [1_100, 110, 3]);
        let curve = watch.curve(None);
        assert_eq!((curve.len(), curve[0].mark, curve[MARKS - 1].mark), (MARKS, 1, 1_000));
        assert_eq!([90, 110, 490, 1_000].map(|steps| at(&curve, steps)), [None, Some(1.0), Some(1.0), Some(5.0)]);
        assert_eq!(curve[MARKS - 1].evaluations, 50);
    }

    #[test]
    fn new_tries_of_a_race_do_not_hide_what_was_compared() {
        let watch = Watch::new(Plain, 1_000);
        let try_of = |member| Scope::Part { first: 0, starts: 16, member: Some(member), steps: None };
        let meeting = Scope::Part { first: 1_000, starts: 200, member: None, steps: None };
        score(&watch, &[7.0; 10], try_of(0));
        score(&watch, &[2.0; 10], meeting);
        score(&watch, &[9.0; 10], try_of(1));
        score(&watch, &[1.0; 10], meeting);
        let curve = watch.curve(Some(&[4.0]));
        assert_eq!([150, 250, 390, 1_000].map(|steps| at(&curve, steps)), [7.0, 2.0, 2.0, 4.0].map(Some));
    }
}
