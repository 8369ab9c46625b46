//! Loops: which measurement is to follow which set-point, by their names or because it does.

use super::super::table::Kind;
use super::behaviour::Following;
use super::names::{Name, Says};
use super::roles::{Role, Roles};

impl Roles<'_> {
    /// Pairs the set-point and the measurement of each loop.
    pub(super) fn pair_by_name(&mut self) {
        for set_point in self.find(|one| one.is_set_point()) {
            if self.is_tracked(set_point) || self.all[set_point].column.kind != Kind::Number {
                continue;
            }
            let stem = self.all[set_point].name.stem.clone();
            if let Some(state) = self.measurement_of(&stem) {
                let reason = if stem.is_empty() { "their names say so" } else { "they are of one loop" };
                self.track(state, set_point, reason);
            }
        }
        let open: Vec<usize> =
            self.find(|one| one.is_set_point()).into_iter().filter(|index| !self.is_tracked(*index)).collect();
        let measured: Vec<usize> = self
            .find(|one| one.is(&Role::State) && one.name.says == Says::Measurement)
            .into_iter()
            .filter(|index| !self.is_tracked(*index))
            .collect();
        if let ([set_point], [state]) = (open.as_slice(), measured.as_slice())
            && self.following(*state, *set_point).is_none_or(|following| !following.is_absent())
        {
            self.track(*state, *set_point, "it is the only measurement, and that the only set-point");
        }
    }

    /// The measurement of a loop that has this name: PV of SP, TIC101.PV of TIC101.SP, XD of XD_SP.
    fn measurement_of(&self, stem: &str) -> Option<usize> {
        let fits = |index: &usize| {
            let one = &self.all[*index];
            let named = matches!(one.name.says, Says::Measurement | Says::Indicator);
            let whole = !stem.is_empty() && one.name.words.join("_") == stem;
            one.may_be_state() && !self.is_tracked(*index) && ((named && one.name.stem == stem) || whole)
        };
        // Of two, the one that is named as a measurement.
        (0..self.all.len()).filter(fits).min_by_key(|index| self.all[*index].name.says != Says::Measurement)
    }

    /// States whose set-point has one value in all rows.
    pub(super) fn rests(&self, held: &[(Name, f64)]) -> Vec<(String, f64)> {
        let set_points = held.iter().filter(|(name, _)| name.says == Says::SetPoint);
        let pairs = set_points.filter_map(|(name, value)| Some((self.measurement_of(&name.stem)?, *value)));
        pairs
            .filter(|(state, _)| self.all[*state].is(&Role::State))
            .map(|(state, value)| (self.all[state].title().to_owned(), value))
            .collect()
    }

    pub(super) fn following(&self, state: usize, set_point: usize) -> Option<Following> {
        let (state, set_point) = (&self.all[state], &self.all[set_point]);
        Following::of(&state.signal.values, &set_point.signal.values, &set_point.behaviour, self.rows)
    }

    /// The column that follows another one beyond doubt, and most nearly.
    fn follower(&self, set_point: usize) -> Option<(usize, Following)> {
        let fitting = (0..self.all.len()).filter(|index| *index != set_point && !self.is_tracked(*index));
        let fitting = fitting
            .filter(|index| self.all[*index].may_be_state() && !self.all[*index].behaviour.is_piecewise_constant());
        let clear = fitting.filter_map(|index| Some((index, self.following(index, set_point)?)));
        clear.filter(|(_, following)| following.is_clear()).min_by(|a, b| a.1.off.total_cmp(&b.1.off))
    }

    /// What stands still for long, and is followed by another column, is a set-point whatever it is called.
    pub(super) fn find_set_points(&mut self) {
        for set_point in self.find(|one| {
            one.role.is_none()
                && matches!(one.name.says, Says::Nothing | Says::LetterR)
                && one.behaviour.is_piecewise_constant()
        }) {
            let Some((state, following)) = self.follower(set_point) else { continue };
            // Somebody must be left to move the plant: of two columns, what stands still is the action of a step test.
            let others = self.find(|one| matches!(one.role, None | Some(Role::Action)));
            if others.iter().all(|index| [state, set_point].contains(index)) {
                continue;
            }
            let reason = format!(
                "it stands still for {:.0} rows at a time, and `{}` comes as near to it as {:.0} % of its spread",
                self.all[set_point].behaviour.dwell(),
                self.all[state].title(),
                100.0 * following.off
            );
            self.all[set_point].reason = reason;
            self.track(state, set_point, "it does so in the log");
        }
    }

    /// Set-points whose loop no name tells: what follows them.
    pub(super) fn pair_by_behaviour(&mut self) {
        for set_point in self.find(|one| one.is_set_point()) {
            if self.is_tracked(set_point) {
                continue;
            }
            match self.follower(set_point) {
                Some((state, following)) => {
                    let reason = format!("it comes as near to it as {:.0} % of its spread", 100.0 * following.off);
                    self.track(state, set_point, &reason);
                }
                None => self.unknown.push(format!(
                    "what is to follow `{}`: no column of the log is seen to; write `tracks` below the [[state]] that is \
                     to, or leave it an input like any other",
                    self.all[set_point].title()
                )),
            }
        }
    }
}
