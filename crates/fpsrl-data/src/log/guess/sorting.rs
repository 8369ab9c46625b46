//! What names leave open: a column that an action moves is a state, and one that moves by itself is an input.

use std::cmp::Ordering;

use super::InputKind;
use super::influence::Gain;
use super::names::Says;
use super::roles::{Role, Roles};

/// What an indicating instrument must gain by the actions before it counts as moved by them.
const BY_ITSELF: f64 = 0.3;

/// States that a disturbance is tried to help with, at most.
const MOST_HELPED: usize = 5;

/// The share of the error of one column's prediction that actions must take away before they are missed in another's.
const TELLING: f64 = 0.2;

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

    /// The same where the effect of an action depends on other columns, as that of a force on the angle of what it
    /// swings.
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

    /// What a column that no action moves adds to the prediction of a state: to its own past, to that and the actions, or
    /// to the present of both, where the past does not tell of it already.
    fn help(&self, index: usize, state: usize, actions: &[usize]) -> Option<Gain> {
        let influences = self.influences.as_ref()?;
        let target = &self.all[state].signal;
        let signal = |index: &usize| &self.all[*index].signal;
        let past = influences.past(signal(&index));
        let own = influences.own_past(target);
        let mut with_actions = own.clone();
        with_actions.extend(actions.iter().flat_map(|action| influences.past_upon(signal(action), target)));
        let mut present = influences.present(target);
        present.extend(actions.iter().flat_map(|action| influences.present(signal(action))));
        let gains = [
            influences.gain(target, &own, &past),
            influences.gain(target, &with_actions, &past),
            influences.gain(target, &present, &influences.present(signal(&index))),
        ];
        let order = |gain: &Gain| (gain.is_clear(), gain.share);
        gains.into_iter().flatten().max_by(|a, b| order(a).partial_cmp(&order(b)).unwrap_or(Ordering::Equal))
    }

    /// What columns that the actions move add to the prediction of another one.
    fn driven(&self, index: usize, moved: &[usize]) -> Option<Gain> {
        let influences = self.influences.as_ref()?;
        let target = &self.all[index].signal;
        let others = moved.iter().filter(|other| **other != index);
        let more: Vec<Vec<f64>> = others.flat_map(|other| influences.past(&self.all[*other].signal)).collect();
        influences.gain(target, &influences.own_past(target), &more)
    }

    /// Whether a column moves together with an action of the row that it moved to: then either may have moved the
    /// other.
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
        let is_clear = |gain: &Option<Gain>| gain.is_some_and(|gain| gain.is_clear());
        let mut moved: Vec<usize> =
            reactions.iter().filter(|(_, gain)| is_clear(gain)).map(|(index, _)| *index).collect();
        // What is to follow a set-point is what matters most.
        moved.sort_by_key(|index| !self.is_tracked(*index));
        moved.truncate(MOST_HELPED);
        // Where actions are hardly seen to move anything, that one column is not moved says little.
        let most = reactions.iter().filter(|(_, gain)| is_clear(gain)).filter_map(|(_, gain)| Some((*gain)?.share));
        let telling = most.fold(0.0, f64::max) >= TELLING;
        let seen = Seen { actions: &actions, moved: &moved, telling };
        for &(index, reaction) in reactions.iter().filter(|(index, _)| left.contains(index)) {
            // Where no action is seen to move anything, nothing is said about this column either.
            let reaction = reaction.filter(|_| !moved.is_empty());
            match self.all[index].name.says {
                Says::Surroundings | Says::Load => self.sort_named(index, reaction, &seen, closed_states),
                _ => self.sort_unnamed(index, reaction, &seen, closed_states),
            }
        }
        if !self.useless.is_empty() {
            let names: Vec<String> = self.useless.iter().map(|title| format!("`{title}`")).collect();
            self.unknown.push(format!(
                "what {} tells: no action moves it, and it helps to predict no state; it was left out, and is an input if \
                 the controller needs it",
                names.join(", ")
            ));
        }
        if !states.is_empty() && moved.is_empty() && !actions.is_empty() && self.influences.is_some() {
            let line = "what the actions do: none of them is seen to move anything; the log may tell too little";
            self.unknown.push(line.into());
        }
    }

    /// What a column helps to predict, in words.
    fn helps(&self, index: usize, seen: &Seen<'_>) -> Option<String> {
        let others = seen.moved.iter().filter(|state| **state != index);
        let gains = others.filter_map(|&state| Some((state, self.help(index, state, seen.actions)?)));
        let (state, gain) = gains
            .filter(|(_, gain)| gain.errors >= 3.0 && gain.share >= 0.02)
            .max_by(|a, b| a.1.share.total_cmp(&b.1.share))?;
        Some(format!("it helps to predict `{}` (by {} of its error)", self.all[state].title(), gain.percent()))
    }

    /// A column whose name says that it happens to the plant.
    fn sort_named(&mut self, index: usize, reaction: Option<Gain>, seen: &Seen<'_>, closed_states: bool) {
        let one = &self.all[index];
        let doubt = format!("whether `{}` is a disturbance, as its name says (`{}`)", one.title(), one.name.by);
        let mut reason = format!("its name says disturbance (`{}`)", one.name.by);
        match reaction {
            // The weather is not made by a valve; what is fed may be.
            Some(gain) if gain.is_clear() && one.name.says == Says::Load => {
                self.unknown.push(format!("{doubt}: the actions are seen to move it; it was taken for a state"));
                return self.give_state(index, moves(gain), closed_states);
            }
            Some(gain) if gain.is_clear() => self.unknown.push(format!("{doubt}: it goes along with the actions")),
            Some(gain) if gain.is_absent() => {
                reason += ", and no action moves it";
                if let Some(helps) = self.helps(index, seen) {
                    reason = format!("{reason}; {helps}");
                }
            }
            _ => {}
        }
        self.give(index, Role::Input(InputKind::Disturbance), reason);
    }

    /// A column of which nothing is known but its values.
    fn sort_unnamed(&mut self, index: usize, reaction: Option<Gain>, seen: &Seen<'_>, closed_states: bool) {
        let one = &self.all[index];
        let title = one.title().to_owned();
        if self.whole_transitions && !one.has_next {
            return self.give(index, Role::None, "it has no column of its next value");
        }
        if closed_states {
            return self.give(index, Role::None, "it was not asked for");
        }
        if self.whole_transitions {
            return self.give(index, Role::State, "the log holds its next value");
        }
        if let Some(gain) = reaction.filter(Gain::is_clear) {
            // A controller reacts to the weather through what it controls, so that its actions foretell the weather a little.
            if one.name.says == Says::Indicator && gain.share < BY_ITSELF {
                self.unknown.push(format!(
                    "whether the actions move `{title}`: an instrument that only indicates; with them, the error of its prediction \
                     falls by {} only; it was taken for an input",
                    gain.percent()
                ));
                let reason = "an instrument that indicates, and the actions hardly move it";
                return self.give(index, Role::Input(InputKind::Disturbance), reason);
            }
            return self.give(index, Role::State, moves(gain));
        }
        let is_unmoved = seen.telling && reaction.is_some_and(|gain| gain.is_absent());
        let is_set = one.behaviour.is_piecewise_constant() && one.behaviour.is_few_whole();
        if is_unmoved && self.moves_at_once(index, seen.actions) {
            let line = "they change in the same rows; it was taken for a state";
            self.unknown.push(format!("whether the actions move `{title}`: {line}"));
            return self.give(index, Role::State, "it moves together with an action");
        }
        if let Some(gain) = self.driven(index, seen.moved).filter(|gain| is_unmoved && !is_set && gain.is_clear()) {
            let line = "no action is seen to, but what they move does; it was taken for a state";
            self.unknown.push(format!("whether the actions move `{title}`: {line}"));
            let reason =
                format!("what the actions move moves it (by {} of the error of its prediction)", gain.percent());
            return self.give(index, Role::State, reason);
        }
        if is_set && (is_unmoved || reaction.is_none()) {
            let (count, dwell) = (one.behaviour.values.len(), one.behaviour.dwell());
            let reason = format!("it has {count} values, and stands still for {dwell:.0} rows at a time");
            let line = format!("what `{title}` is: no name says so; it was taken for a mode, because {reason}");
            self.unknown.push(line);
            return self.give(index, Role::Input(self.mode(index)), reason);
        }
        let disturbance = Role::Input(InputKind::Disturbance);
        if !is_unmoved {
            if reaction.is_some() {
                let line = "the log does not tell; it was taken for a state";
                self.unknown.push(format!("whether the actions move `{title}`: {line}"));
            }
            return self.give(index, Role::State, "nothing says otherwise");
        }
        if let Some(helps) = self.helps(index, seen) {
            return self.give(index, disturbance, format!("no action moves it, and {helps}"));
        }
        if one.name.says == Says::Indicator {
            return self.give(index, disturbance, "an instrument that indicates, and no action moves it");
        }
        self.useless.push(title);
        self.give(index, Role::None, "no action moves it, and it helps to predict no state");
    }

    fn give_state(&mut self, index: usize, reason: String, closed: bool) {
        match closed {
            true => self.give(index, Role::None, "it was not asked for"),
            false => self.give(index, Role::State, reason),
        }
    }
}

/// What the rest of a log has shown already.
struct Seen<'a> {
    actions: &'a [usize],
    /// Columns that an action moves.
    moved: &'a [usize],
    /// Whether an action moves one of them so much that it would have been seen to move others too.
    telling: bool,
}

/// The reason of a state.
fn moves(gain: Gain) -> String {
    format!("an action moves it: with it, the error of its prediction falls by {}", gain.percent())
}
