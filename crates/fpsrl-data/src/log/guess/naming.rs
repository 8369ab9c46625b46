//! Roles that names give: modes, set-points, outputs, measurements; and the letter r, which may be two things.

use super::super::table::Kind;
use super::names::Says;
use super::roles::{Role, Roles};
use super::{Guess, InputKind, is_seldom};

impl Roles<'_> {
    pub(super) fn name_modes(&mut self) {
        for index in self.find(|one| one.role.is_none()) {
            let one = &self.all[index];
            let still = format!("it stands still for {:.0} rows at a time", one.behaviour.dwell());
            if one.column.kind == Kind::Text {
                let count = one.column.words.len();
                self.give(index, Role::Input(self.mode(index)), format!("it holds {count} words, and {still}"));
                continue;
            }
            let few = one.behaviour.is_few_whole();
            let named = one.name.says == Says::Mode && few && is_seldom(&one.behaviour);
            if named || (one.name.says == Says::Condition && few && one.behaviour.is_piecewise_constant()) {
                let reason = format!(
                    "its name says so (`{}`); it has {} values, and {still}",
                    one.name.by,
                    one.behaviour.values.len()
                );
                self.give(index, Role::Input(self.mode(index)), reason);
            }
        }
    }

    /// The letter r is a reference or a reward.
    pub(super) fn name_letter_r(&mut self, guess: &Guess) {
        let named = |says: Says| self.all.iter().any(|one| one.name.says == says);
        let controlled = named(Says::Measurement) && named(Says::Output);
        let follows_others = named(Says::SetPoint);
        let recorded_by_an_agent = guess.next.is_some() || guess.terminal.is_some() || guess.truncated.is_some();
        for index in self.find(|one| one.role.is_none() && one.name.says == Says::LetterR) {
            let set_point = Role::Input(InputKind::SetPoint { of: None });
            let one = &self.all[index];
            if controlled {
                let reason = "the letter r beside a measurement and a controller's output is a reference, not a reward";
                self.give(index, set_point, reason);
            } else if follows_others && !one.behaviour.is_piecewise_constant() {
                // What is to be followed has its names here; this is something else, and its behaviour must tell what.
            } else if guess.reward.is_some() {
                // The reward is another one; what this is, its behaviour must tell.
                if one.behaviour.is_piecewise_constant() {
                    let reason = format!(
                        "the letter r may be a reference; it stands still for {:.0} rows at a time",
                        one.behaviour.dwell()
                    );
                    self.give(index, set_point, reason);
                }
            } else if recorded_by_an_agent {
                self.give(index, Role::Reward, "the letter r in a log of steps with their ends is a reward");
            } else if one.behaviour.is_piecewise_constant() {
                let reason = format!(
                    "the letter r is a reference here: it stands still for {:.0} rows at a time, as no reward does",
                    one.behaviour.dwell()
                );
                self.give(index, set_point, reason);
            } else {
                match self.explained_by_its_row(index) {
                    Some(share) if share > 0.6 => {
                        let share = 100.0 * share;
                        let reason = format!(
                            "the letter r is a reward here: {share:.0} % of it follow from the rest of its row"
                        );
                        self.give(index, Role::Reward, reason);
                    }
                    _ => self.unknown.push(format!(
                        "whether `{}` is a reward or a reference: it neither stands still nor follows from its row; \
                         write it below [data] if it is the reward",
                        one.title()
                    )),
                }
            }
            if self.all[index].is(&Role::Reward) {
                break;
            }
        }
    }

    /// How much of a column follows from the other columns of its row and of the next one.
    fn explained_by_its_row(&self, index: usize) -> Option<f64> {
        let influences = self.influences.as_ref()?;
        let others = self.find(|one| one.column.kind == Kind::Number && one.title() != self.all[index].title());
        influences.explained(&self.all[index].signal, others.iter().map(|other| &self.all[*other].signal))
    }

    pub(super) fn name_the_rest(&mut self, closed_states: bool, closed_actions: bool) {
        for index in self.find(|one| one.role.is_none()) {
            let one = &self.all[index];
            let by = one.name.by.clone();
            match one.name.says {
                Says::SetPoint | Says::ActuatorSetPoint => {
                    let still = match one.behaviour.is_piecewise_constant() {
                        true => format!(", and it stands still for {:.0} rows at a time", one.behaviour.dwell()),
                        false => String::new(),
                    };
                    let reason = format!("its name says set-point (`{by}`){still}");
                    self.give(index, Role::Input(InputKind::SetPoint { of: None }), reason);
                }
                Says::Output if !closed_actions => {
                    self.give(index, Role::Action, format!("its name says what a controller sets (`{by}`)"));
                }
                Says::Measurement if !closed_states => {
                    self.give(index, Role::State, format!("its name says measurement (`{by}`)"));
                }
                _ => {}
            }
        }
    }
}
