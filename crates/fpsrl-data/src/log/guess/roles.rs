//! Who is who: every column gets its role by its name, by its behaviour, or not at all; and a reason.

use std::collections::HashSet;

use super::super::table::{Column, Kind, Table};
use super::behaviour::Behaviour;
use super::influence::{Influences, Signal};
use super::names::{Name, Says, words};
use super::rows::{self, Rows};
use super::{Guess, InputGuess, InputKind, SAID, angle};

/// Columns beyond which only names are looked at: the user will have to choose among them anyway.
const MOST_TESTED: usize = 80;

/// What a column is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Role {
    State,
    Action,
    Input(InputKind),
    Reward,
    /// It takes no part.
    None,
}

/// A column that may get a role.
pub(super) struct Candidate<'a> {
    pub(super) column: &'a Column<'a>,
    pub(super) name: Name,
    pub(super) behaviour: Behaviour,
    pub(super) signal: Signal,
    /// Whether the log has a column for its next value.
    pub(super) has_next: bool,
    pub(super) role: Option<Role>,
    pub(super) reason: String,
}

impl Candidate<'_> {
    pub(super) fn title(&self) -> &str {
        &self.column.title
    }

    pub(super) fn is(&self, role: &Role) -> bool {
        self.role.as_ref() == Some(role)
    }

    pub(super) fn is_set_point(&self) -> bool {
        matches!(self.role, Some(Role::Input(InputKind::SetPoint { .. })))
    }

    /// Whether it may still become a state: nothing else is known of it.
    pub(super) fn may_be_state(&self) -> bool {
        matches!(self.role, None | Some(Role::State)) && self.column.kind == Kind::Number
    }
}

/// All columns that may get a role.
pub(super) struct Roles<'a> {
    pub(super) all: Vec<Candidate<'a>>,
    pub(super) rows: &'a Rows,
    pub(super) influences: Option<Influences<'a>>,
    /// States and the set-points that they follow, by their numbers.
    pub(super) tracks: Vec<(usize, usize)>,
    /// Whether the log holds whole transitions.
    pub(super) whole_transitions: bool,
    /// Columns that have one value in all rows.
    held: Vec<(Name, f64)>,
    /// Columns that neither follow nor help.
    pub(super) useless: Vec<String>,
    pub(super) unknown: Vec<String>,
    pub(super) unsure_action: bool,
}

impl<'a> Roles<'a> {
    /// Looks at columns, each by itself.
    pub(super) fn of(
        guess: &Guess,
        table: &'a Table,
        columns: &[&'a Column],
        held: &[(&Column, f64)],
        rows: &'a Rows,
        stopped: &'a dyn Fn() -> bool,
    ) -> Self {
        let all = columns.iter().chain(held.iter().map(|(column, _)| column));
        let names: Vec<Vec<String>> = all.map(|column| words(&column.name)).collect();
        let partners: HashSet<&str> = guess
            .next
            .iter()
            .flat_map(|pattern| rows::partners(table, pattern))
            .map(|(state, _)| state.title.as_str())
            .collect();
        let candidate = |column: &&'a Column| {
            let values = rows.values(column);
            Candidate {
                name: Name::read(&column.name, &names),
                behaviour: Behaviour::of(&values, rows),
                signal: Signal { values, turn: angle(column).turn() },
                has_next: partners.contains(column.title.as_str()),
                column,
                role: None,
                reason: String::new(),
            }
        };
        Self {
            all: columns.iter().take_while(|_| !stopped()).map(candidate).collect(),
            rows,
            influences: if columns.len() <= MOST_TESTED { Influences::new(rows, stopped) } else { None },
            tracks: Vec::new(),
            held: held.iter().map(|(column, value)| (Name::read(&column.name, &names), *value)).collect(),
            whole_transitions: guess.next.is_some(),
            useless: Vec::new(),
            unknown: Vec::new(),
            unsure_action: false,
        }
    }

    /// Gives every column its role, and writes all into a guess.
    pub(super) fn assign(mut self, mut guess: Guess) -> Guess {
        let (closed_states, closed_actions) = (!guess.states.is_empty(), !guess.actions.is_empty());
        self.take_what_was_said(&guess);
        self.name_modes();
        self.name_letter_r(&guess);
        self.name_the_rest(closed_states, closed_actions);
        self.pair_by_name();
        self.find_set_points();
        if !closed_actions {
            self.find_action();
        }
        self.sort_what_is_left(closed_states);
        self.pair_by_behaviour();
        self.doubt_what_is_named();
        self.write(&mut guess);
        guess
    }

    pub(super) fn give(&mut self, index: usize, role: Role, reason: impl Into<String>) {
        let candidate = &mut self.all[index];
        (candidate.role, candidate.reason) = (Some(role), reason.into());
    }

    pub(super) fn find(&self, fits: impl Fn(&Candidate<'_>) -> bool) -> Vec<usize> {
        (0..self.all.len()).filter(|index| fits(&self.all[*index])).collect()
    }

    fn take_what_was_said(&mut self, guess: &Guess) {
        let index = |all: &[Candidate<'_>], name: &String| all.iter().position(|one| one.title() == name);
        for name in &guess.states {
            if let Some(index) = index(&self.all, name) {
                self.give(index, Role::State, SAID);
            }
        }
        for name in &guess.actions {
            if let Some(index) = index(&self.all, name) {
                self.give(index, Role::Action, SAID);
            }
        }
        for input in &guess.inputs {
            let Some(index) = index(&self.all, &input.title) else { continue };
            let column = self.all[index].column;
            let kind = match &input.kind {
                InputKind::Mode { .. } => self.mode(index),
                // Words have no size.
                _ if column.kind == Kind::Text => self.mode(index),
                InputKind::Disturbance if self.all[index].name.says == Says::SetPoint => {
                    InputKind::SetPoint { of: None }
                }
                kind => kind.clone(),
            };
            self.give(index, Role::Input(kind), input.reason.clone());
        }
        for (state, set_point) in &guess.tracks {
            if let (Some(state), Some(set_point)) = (index(&self.all, state), index(&self.all, set_point)) {
                self.give(state, Role::State, SAID);
                self.track(state, set_point, SAID);
            }
        }
    }

    /// Makes a state follow a set-point.
    pub(super) fn track(&mut self, state: usize, set_point: usize, reason: &str) {
        let of = Some(self.all[state].title().to_owned());
        let kind = InputKind::SetPoint { of };
        let known = std::mem::take(&mut self.all[set_point].reason);
        self.give(set_point, Role::Input(kind), if known.is_empty() { reason.to_owned() } else { known });
        let follows = format!("it is to follow `{}`", self.all[set_point].title());
        let known = match std::mem::take(&mut self.all[state].reason) {
            known if known.is_empty() => String::new(),
            known => format!("{known}; "),
        };
        self.give(state, Role::State, format!("{known}{follows}: {reason}"));
        self.tracks.push((state, set_point));
    }

    pub(super) fn is_tracked(&self, index: usize) -> bool {
        self.tracks.iter().any(|(state, set_point)| *state == index || *set_point == index)
    }

    /// The mode that a column is.
    pub(super) fn mode(&self, index: usize) -> InputKind {
        let column = self.all[index].column;
        let values = match column.kind {
            Kind::Text => {
                let mut words = column.words.clone();
                words.sort();
                words
            }
            // Of all rows, since one that is missed would be refused later.
            _ => {
                let mut numbers: Vec<f64> = column.values.iter().copied().filter(|value| value.is_finite()).collect();
                numbers.sort_by(f64::total_cmp);
                numbers.dedup();
                numbers.iter().map(|number| format!("{number}")).collect()
            }
        };
        InputKind::Mode { values }
    }

    /// Says where behaviour does not bear out what names say.
    fn doubt_what_is_named(&mut self) {
        let mut doubts = Vec::new();
        for &(state, set_point) in &self.tracks {
            if self.following(state, set_point).is_some_and(|following| following.is_absent()) {
                doubts.push(format!(
                    "whether `{}` is to follow `{}`: in the log it does not",
                    self.all[state].title(),
                    self.all[set_point].title()
                ));
            }
        }
        for one in &self.all {
            if one.name.says == Says::Mode && !matches!(one.role, Some(Role::Input(InputKind::Mode { .. }))) {
                let count = one.behaviour.values.len();
                doubts.push(format!(
                    "whether `{}` is a mode, as its name says (`{}`): it has {count} values or more, or changes often",
                    one.title(),
                    one.name.by
                ));
            }
        }
        self.unknown.extend(doubts);
    }

    /// Writes the roles into a guess, in the order of the columns.
    fn write(self, guess: &mut Guess) {
        let closed_actions = !guess.actions.is_empty();
        let title = |index: &usize| self.all[*index].title().to_owned();
        guess.tracks = self.tracks.iter().map(|(state, set_point)| (title(state), title(set_point))).collect();
        guess.rests = self.rests(&self.held);
        guess.inputs.clear();
        for one in &self.all {
            let title = one.title().to_owned();
            match &one.role {
                // A list that the user has given stays as it is, but for what is to follow a set-point.
                Some(Role::State) if !guess.states.contains(&title) => guess.states.push(title.clone()),
                Some(Role::Action) if !closed_actions => guess.actions.push(title.clone()),
                Some(Role::Input(kind)) => {
                    let (kind, reason) = (kind.clone(), one.reason.clone());
                    guess.inputs.push(InputGuess { title: title.clone(), kind, reason });
                }
                Some(Role::Reward) => guess.reward = Some(title.clone()),
                Some(Role::None) => {
                    guess.left_out.push((title, one.reason.clone()));
                    continue;
                }
                _ => {}
            }
            guess.reasons.push((title, one.reason.clone()));
        }
        guess.unknown.extend(self.unknown);
        guess.unsure_action = self.unsure_action;
    }
}
