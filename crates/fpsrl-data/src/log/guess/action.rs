//! Which column is the action, where no name says so. A controller's output reacts to the measurement and to its
//! set-point, and moves the measurement; a disturbance moves it too, but reacts to nothing.

use super::super::table::Kind;
use std::cmp::Ordering;

use super::influence::Gain;
use super::names::Says;
use super::roles::{Role, Roles};

/// How many times better than the next one the action must fit to be beyond doubt.
const BETTER: f64 = 2.0;

/// A column that may be the action.
struct Chance {
    index: usize,
    /// What it adds to the prediction of what is controlled.
    effect: Gain,
    /// What the controlled columns add to the prediction of it.
    feedback: Option<Gain>,
}

impl Chance {
    fn reacts(&self) -> bool {
        self.feedback.is_some_and(|gain| gain.is_clear())
    }

    /// How well it fits to what a controller's output does.
    fn fit(&self) -> f64 {
        self.effect.share.max(0.0) * self.feedback.map_or(0.0, |gain| gain.share.max(0.0))
    }
}

impl Roles<'_> {
    /// Finds the action by what it does, unless a name has told it.
    pub(super) fn find_action(&mut self) {
        if !self.find(|one| one.is(&Role::Action)).is_empty() {
            return;
        }
        let free = self.find(|one| {
            let may_be =
                matches!(one.name.says, Says::Nothing | Says::Load | Says::Indicator | Says::LetterR | Says::Output);
            one.role.is_none() && one.column.kind == Kind::Number && may_be
        });
        let free: Vec<usize> = match self.find(|one| one.has_next).is_empty() {
            true => free,
            // Where the log holds next values, the action is what has none.
            false => free.into_iter().filter(|index| !self.all[*index].has_next).collect(),
        };
        if self.take_set_point_of_actuator(&free) {
            return;
        }
        if !self.find(|one| one.has_next).is_empty()
            && let [only] = free[..]
        {
            self.give(only, Role::Action, "it is the only column without a next value");
            return;
        }
        let controlled: Vec<usize> = self.tracks.iter().map(|(state, _)| *state).collect();
        let named = self.find(|one| one.is(&Role::State));
        let found = match (controlled.is_empty(), named.is_empty()) {
            (false, _) => self.by_loop(&free, &controlled),
            (true, false) => self.by_loop(&free, &named),
            (true, true) => self.by_what_follows(&free),
        };
        if !found {
            self.by_restlessness(&free);
        }
    }

    /// `valve_sp` is what a controller sets, if there is nothing else that could be.
    fn take_set_point_of_actuator(&mut self, free: &[usize]) -> bool {
        let set = self.find(|one| one.name.says == Says::ActuatorSetPoint && !one.reason.is_empty());
        let untracked = set.into_iter().find(|index| self.tracks.iter().all(|(_, set_point)| set_point != index));
        match (free.is_empty(), untracked) {
            (true, Some(index)) => {
                let title = self.all[index].title().to_owned();
                let reason = "it is the set-point of an actuator, and nothing else is left";
                self.unknown.push(format!("which column is the action: `{title}` was taken because {reason}"));
                self.unsure_action = true;
                self.give(index, Role::Action, reason);
                true
            }
            _ => false,
        }
    }

    /// The column that moves what is controlled and reacts to it.
    fn by_loop(&mut self, free: &[usize], controlled: &[usize]) -> bool {
        let mut chances: Vec<Chance> = free.iter().filter_map(|&index| self.chance(index, controlled)).collect();
        // A quiet log hardly shows what an action does; that it reacts shows in every row.
        chances.retain(|chance| chance.effect.is_clear() || chance.reacts());
        let order = |one: &Chance| (one.reacts(), one.effect.is_clear(), one.fit(), one.effect.share);
        chances.sort_by(|a, b| order(b).partial_cmp(&order(a)).unwrap_or(Ordering::Equal));
        let Some(best) = chances.first() else { return false };
        let next = chances.get(1).filter(|next| next.reacts() || !best.reacts());
        let beyond_doubt = best.reacts()
            && best.effect.is_clear()
            && next.is_none_or(|next| !next.effect.is_clear() || best.fit() > BETTER * next.fit());
        let alone = free.len() == 1 && best.effect.is_clear();
        let (index, effect) = (best.index, best.effect);
        let state = self.all[controlled[0]].title().to_owned();
        let title = self.all[index].title().to_owned();
        let feedback = best.feedback.filter(|gain| gain.is_clear());
        let reason = match feedback {
            Some(feedback) if !effect.is_clear() => {
                format!("it reacts to `{state}` (which explains {} of its steps)", feedback.percent())
            }
            Some(feedback) => format!(
                "it reacts to `{state}` (which explains {} of its steps), and moves it (by {} of the error of its \
                 prediction)",
                feedback.percent(),
                effect.percent()
            ),
            None if alone => format!(
                "it is the only column left, and moves `{state}` (by {} of the error of its prediction)",
                effect.percent()
            ),
            None => format!("it moves `{state}` most (by {} of the error of its prediction)", effect.percent()),
        };
        if !(beyond_doubt || alone) {
            self.unsure_action = true;
            self.unknown
                .push(format!("which column is the action: no name says so; `{title}` was taken because {reason}"));
        }
        self.give(index, Role::Action, reason);
        true
    }

    fn chance(&self, index: usize, controlled: &[usize]) -> Option<Chance> {
        let influences = self.influences.as_ref()?;
        let effects =
            controlled.iter().filter(|state| **state != index).filter_map(|state| self.reaction(*state, &[index]));
        let effect = effects.max_by(|a, b| a.share.total_cmp(&b.share))?;
        let own = &self.all[index].signal;
        let watched = controlled.iter().copied().chain(self.tracks.iter().map(|(_, set_point)| *set_point));
        let more: Vec<Vec<f64>> = watched.flat_map(|other| influences.next(&self.all[other].signal)).collect();
        let feedback = influences.gain_in_a_step(own, &influences.own_past(own), &more);
        Some(Chance { index, effect, feedback })
    }

    /// Where nothing is known: the one column that others follow and that follows none of them.
    fn by_what_follows(&mut self, free: &[usize]) -> bool {
        if free.len() < 2 || free.len() > 12 {
            return false;
        }
        let follows =
            |roles: &Self, column: usize, other: usize| roles.reaction(column, &[other]).filter(|gain| gain.is_clear());
        let mut leaders: Vec<(usize, f64)> = Vec::new();
        for &one in free {
            let others = || free.iter().copied().filter(move |other| *other != one);
            let moves =
                others().filter_map(|other| follows(self, other, one)).map(|gain| gain.share).fold(0.0, f64::max);
            if moves > 0.0 && others().all(|other| follows(self, one, other).is_none()) {
                leaders.push((one, moves));
            }
        }
        // Of several, what moves least smoothly is set by somebody, and the others are weather.
        let Some((index, share)) = leaders
            .into_iter()
            .max_by(|a, b| self.all[a.0].behaviour.restlessness.total_cmp(&self.all[b.0].behaviour.restlessness))
        else {
            return false;
        };
        let title = self.all[index].title().to_owned();
        let reason = format!(
            "other columns follow it (by {:.0} % of the error of their prediction), and it follows none",
            100.0 * share
        );
        self.unknown.push(format!("no name says which column is the action; `{title}` was taken because {reason}"));
        self.unsure_action = true;
        self.give(index, Role::Action, reason);
        true
    }

    /// The last resort.
    fn by_restlessness(&mut self, free: &[usize]) {
        let others = self.find(|one| one.may_be_state()).len();
        let most = free
            .iter()
            .copied()
            .max_by(|a, b| self.all[*a].behaviour.restlessness.total_cmp(&self.all[*b].behaviour.restlessness));
        // Of a single column, nothing would be left to control.
        let Some(index) = most.filter(|_| others > 1) else { return };
        let title = self.all[index].title().to_owned();
        let reason = if free.len() == 1 { "it is the only column left" } else { "it moves least smoothly" };
        self.unknown.push(format!("no name says which column is the action; `{title}` was taken because {reason}"));
        self.unsure_action = true;
        self.give(index, Role::Action, reason);
    }
}
