//! What names leave open: a column that an action moves is a state, and one that moves by itself is an input.

use std::cmp::Ordering;

use super::InputKind;
use super::influence::Gain;
use super::names::Says;
use super::roles::{Role, Roles};

/// Other columns that an action's effect on one may depend on, at most.
const MOST_OTHERS: usize = 8;

impl Roles<'_> {
    /// What actions add to the prediction of a column.
    pub(super) fn reaction(&self, index: usize, actions: &[usize]) -> Option<Gain> {
        let influences = self.influences.as_ref()?;
        let target = &self.all[index].signal;
        let past = |action: &usize| influences.past_upon(&self.all[*action].signal, target);
        let more: Vec<Vec<f64>> = actions.iter().flat_map(past).collect();
        influences.gain(target, &influences.own_past(target), &more)
    }

    /// The same where the effect of an action depends on other columns, as that of a force on the angle of what it swings.
    fn reaction_beside_others(&self, index: usize, actions: &[usize]) -> Option<Gain> {
        let influences = self.influences.as_ref()?;
        let target = &self.all[index].signal;
        let mut others = self.find(|one| one.may_be_state() && one.title() != self.all[index].title());
        others.truncate(MOST_OTHERS);
        let signal = |index: &usize| &self.all[*index].signal;
        let mut base = influences.own_past(target);
        base.extend(others.iter().flat_map(|other| influences.present(signal(other))));
        let mut more: Vec<Vec<f64>> =
            actions.iter().flat_map(|action| influences.past_upon(signal(action), target)).collect();
        for action in actions {
            more.extend(others.iter().flat_map(|other| influences.product(signal(action), signal(other))));
        }
        influences.gain(target, &base, &more)
    }

    /// What a column that no action moves adds to the prediction of a state: to its own past, or to that and the actions, from
    /// which it may be told already.
    fn help(&self, index: usize, state: usize, actions: &[usize]) -> Option<Gain> {
        let influences = self.influences.as_ref()?;
        let target = &self.all[state].signal;
        let own = influences.own_past(target);
        let more = influences.past(&self.all[index].signal);
        let mut with_actions = own.clone();
        with_actions.extend(actions.iter().flat_map(|action| influences.past_upon(&self.all[*action].signal, target)));
        let gains = [influences.gain(target, &own, &more), influences.gain(target, &with_actions, &more)];
        gains
            .into_iter()
            .flatten()
            .max_by(|a, b| (a.is_clear(), a.share).partial_cmp(&(b.is_clear(), b.share)).unwrap_or(Ordering::Equal))
    }

    /// Whether a column moves together with an action of the row that it moved to: then either may have moved the other.
    fn moves_at_once(&self, index: usize, actions: &[usize]) -> bool {
        let Some(influences) = self.influences.as_ref() else { return false };
        let target = &self.all[index].signal;
        let next = |action: &usize| influences.next_upon(&self.all[*action].signal, target);
        let more: Vec<Vec<f64>> = actions.iter().flat_map(next).collect();
        influences
            .gain_in_a_step(target, &influences.own_past(target), &more)
            .is_some_and(|gain| gain.is_clear() && gain.share > 0.1)
    }

    /// What is left is a state if an action moves it, and an input if none does.
    pub(super) fn sort_what_is_left(&mut self, closed_states: bool) {
        let actions = self.find(|one| one.is(&Role::Action));
        let left = self.find(|one| one.role.is_none());
        let states = self.find(|one| one.is(&Role::State));
        let reaction = |index: usize| {
            let alone = self.reaction(index, &actions)?;
            // Names of surroundings need no second look.
            let open = !matches!(self.all[index].name.says, Says::Surroundings | Says::Load);
            let second = if alone.is_clear() || !open { None } else { self.reaction_beside_others(index, &actions) };
            Some(second.filter(|gain| gain.is_clear()).unwrap_or(alone))
        };
        let reactions: Vec<(usize, Option<Gain>)> =
            left.iter().chain(&states).map(|&index| (index, reaction(index))).collect();
        let mut moved: Vec<usize> = reactions
            .iter()
            .filter(|(_, gain)| gain.is_some_and(|gain| gain.is_clear()))
            .map(|(index, _)| *index)
            .collect();
        // What is to follow a set-point is what matters most.
        moved.sort_by_key(|index| !self.is_tracked(*index));
        moved.truncate(5);
        for (index, reaction) in reactions.into_iter().filter(|(index, _)| left.contains(index)) {
            // Where no action is seen to move anything, nothing is said about this column either.
            let tested = reaction.filter(|_| !moved.is_empty());
            self.sort(index, tested, &actions, &moved, closed_states);
        }
        if !states.is_empty() && moved.is_empty() && !actions.is_empty() && self.influences.is_some() {
            self.unknown
                .push("what the actions do: none of them is seen to move anything; the log may tell too little".into());
        }
    }

    fn sort(&mut self, index: usize, reaction: Option<Gain>, actions: &[usize], moved: &[usize], closed_states: bool) {
        let one = &self.all[index];
        let title = one.title().to_owned();
        let by = one.name.by.clone();
        let disturbance = Role::Input(InputKind::Disturbance);
        let is_absent = reaction.is_some_and(|gain| gain.is_absent());
        let is_clear = reaction.is_some_and(|gain| gain.is_clear());
        let helped = || {
            let gains = moved
                .iter()
                .filter(|state| **state != index)
                .filter_map(|state| Some((*state, self.help(index, *state, actions)?)));
            gains
                .filter(|(_, gain)| gain.errors >= 3.0 && gain.share >= 0.02)
                .max_by(|a, b| a.1.share.total_cmp(&b.1.share))
        };
        let helps = |(state, gain): (usize, Gain)| {
            format!("it helps to predict `{}` (by {} of its error)", self.all[state].title(), gain.percent())
        };
        let moves = reaction.map(|gain| {
            format!("an action moves it: with it, the error of its prediction falls by {}", gain.percent())
        });
        match one.name.says {
            Says::Surroundings | Says::Load if is_clear && one.name.says == Says::Load => {
                self.unknown.push(format!("whether `{title}` is a disturbance, as its name says (`{by}`): the actions are seen to move it; it was taken for a state"));
                self.give_state(index, moves.unwrap_or_default(), closed_states);
            }
            Says::Surroundings | Says::Load => {
                let mut reason = format!("its name says disturbance (`{by}`)");
                if is_clear {
                    self.unknown.push(format!(
                        "whether `{title}` is a disturbance, as its name says (`{by}`): it goes along with the actions"
                    ));
                } else if is_absent {
                    reason += ", and no action moves it";
                    if let Some(helped) = helped() {
                        reason = format!("{reason}; {}", helps(helped));
                    }
                }
                self.give(index, disturbance, reason);
            }
            _ if self.whole_transitions && !one.has_next => {
                self.give(index, Role::None, "it has no column of its next value");
            }
            _ if closed_states => self.give(index, Role::None, "it was not asked for"),
            _ if self.whole_transitions => self.give(index, Role::State, "the log holds its next value"),
            _ if is_clear => self.give_state(index, moves.unwrap_or_default(), false),
            says => {
                let still = one.behaviour.is_piecewise_constant();
                let few = still && one.behaviour.is_few_whole();
                let helped = if is_absent { helped() } else { None };
                let at_once = is_absent && self.moves_at_once(index, actions);
                let mode = |roles: &Self| Role::Input(roles.mode(index));
                if at_once {
                    self.unknown.push(format!(
                        "whether the actions move `{title}`: they change in the same rows; it was taken for a state"
                    ));
                    self.give(index, Role::State, "it moves together with an action");
                } else if few && (is_absent || reaction.is_none()) {
                    let reason = format!(
                        "it has {} values, and stands still for {:.0} rows at a time",
                        one.behaviour.values.len(),
                        one.behaviour.dwell()
                    );
                    self.unknown
                        .push(format!("what `{title}` is: no name says so; it was taken for a mode, because {reason}"));
                    let mode = mode(self);
                    self.give(index, mode, reason);
                } else if let Some(helped) = helped {
                    let reason = format!("no action moves it, and {}", helps(helped));
                    self.give(index, disturbance, reason);
                } else if is_absent {
                    let what = if says == Says::Indicator { "an instrument that indicates; " } else { "" };
                    let reason = format!("{what}no action moves it");
                    self.unknown.push(format!("what `{title}` is good for: no action moves it, and it helps to predict no state; it was taken for an input, and may be left out"));
                    self.give(index, disturbance, reason);
                } else {
                    if reaction.is_some() {
                        self.unknown.push(format!(
                            "whether the actions move `{title}`: the log does not tell; it was taken for a state"
                        ));
                    }
                    self.give(index, Role::State, "nothing says otherwise");
                }
            }
        }
    }

    fn give_state(&mut self, index: usize, reason: String, closed: bool) {
        match closed {
            true => self.give(index, Role::None, "it was not asked for"),
            false => self.give(index, Role::State, reason),
        }
    }
}
