//! A PI controller that the user has: gains, reset times and biases by the names of actions.

use super::pi::{PiController, PiLoop, tracked_states};
use fpsrl_base::error::{Error, Result};
use fpsrl_base::remedy::Remedy;
use fpsrl_data::System;
use fpsrl_data::system::ActionVariable;

/// What a user says of a controller, each by the name of its action.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GivenPi {
    /// What a unit of the error adds to the action.
    pub gains: Vec<(String, f64)>,
    /// Reset times in steps; an action without one has no integral part.
    pub resets: Vec<(String, f64)>,
    /// The action without error; the middle of its limits if nothing is said.
    pub biases: Vec<(String, f64)>,
    /// The state that the action brings to its set-point; needed only where several states track one.
    pub follows: Vec<(String, String)>,
}

impl GivenPi {
    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The controller of a system. An action without a gain stays at its bias.
    ///
    /// ```
    /// use fpsrl_search::baseline::pi_given::GivenPi;
    /// let system = fpsrl_data::System::benchmark("mountain-car")?;
    /// let given = GivenPi { gains: vec![("force".into(), 2.0)], ..GivenPi::default() };
    /// // Nothing tracks a set-point there.
    /// assert!(given.controller(&system).is_err());
    /// # Ok::<(), fpsrl_base::Error>(())
    /// ```
    pub fn controller(&self, system: &System) -> Result<PiController> {
        let tracked = tracked_states(system);
        if tracked.is_empty() {
            return Err(nothing_tracks());
        }
        let names: Vec<String> = system.actions().iter().map(|action| called(action).to_owned()).collect();
        let follows = self.follows.iter().map(|(action, _)| action);
        let numbers = [&self.gains, &self.resets, &self.biases].into_iter().flatten().map(|(action, _)| action);
        for name in numbers.chain(follows) {
            if !names.contains(name) {
                return Err(Error::UnknownName { kind: "action", name: name.clone(), known: names });
            }
        }
        for (key, said) in [("--gain", &self.gains), ("--reset", &self.resets), ("--bias", &self.biases)] {
            once(key, said)?;
        }
        once("--follows", &self.follows)?;
        if self.gains.is_empty() {
            let hint = Remedy::words("say it with ").option("gain", Some("ACTION=NUMBER"));
            return Err(Error::setting("--gain", "missing", "a controller needs a gain", hint));
        }
        let loops = system.actions().iter().map(|action| self.one(action, &tracked)).collect::<Result<_>>()?;
        Ok(PiController { loops })
    }

    /// The controller of an action.
    fn one(&self, action: &ActionVariable, tracked: &[&str]) -> Result<PiLoop> {
        let name = called(action);
        let limits = action.set_point.as_ref().map_or(action.limits, |set_point| set_point.limits);
        let bias = said(&self.biases, name).copied().unwrap_or(0.5 * (limits[0] + limits[1]));
        if !bias.is_finite() {
            return Err(Error::setting("--bias", bias, "it is a finite number", format!("correct `{name}=…`")));
        }
        let reset = said(&self.resets, name).copied();
        let Some(gain) = said(&self.gains, name).copied() else {
            if reset.is_some() || said(&self.follows, name).is_some() {
                let rule = format!("`{name}` has no gain");
                let hint = Remedy::words("say it with ").option("gain", Some(&format!("{name}=NUMBER")));
                return Err(Error::setting("--gain", "missing", rule, hint));
            }
            return Ok(PiLoop { action: name.to_owned(), state: None, bias, gain: 0.0, integral: 0.0 });
        };
        if !gain.is_finite() || gain == 0.0 {
            let hint = format!("correct `{name}=…`; an action without a gain stays at its bias");
            return Err(Error::setting("--gain", gain, "a gain is a number other than 0", hint));
        }
        if let Some(reset) = reset.filter(|reset| !(*reset > 0.0 && reset.is_finite())) {
            let hint = format!("correct `{name}=…`; without a reset time it is a P controller");
            return Err(Error::setting("--reset", reset, "a reset time is a number of steps above 0", hint));
        }
        let state = match (said(&self.follows, name), tracked) {
            (Some(state), _) if tracked.contains(&state.as_str()) => state.clone(),
            (Some(state), _) => {
                let known = tracked.iter().map(|&state| state.to_owned()).collect();
                return Err(Error::UnknownName { kind: "state that tracks a set-point", name: state.clone(), known });
            }
            (None, [only]) => (*only).to_owned(),
            (None, _) => {
                let rule = format!("{} track set-points, and `{name}` follows one of them", tracked.join(", "));
                let hint = Remedy::words("say which with ").option("follows", Some(&format!("{name}=STATE")));
                return Err(Error::setting("--follows", "missing", rule, hint));
            }
        };
        let integral = reset.map_or(0.0, |reset| gain / reset);
        Ok(PiLoop { action: name.to_owned(), state: Some(state), bias, gain, integral })
    }
}

/// Refuses to tune or score a controller where there is no error that it could act on.
pub fn nothing_tracks() -> Error {
    let rule = "a PI controller needs a state that follows a set-point";
    let hint = "write `tracks = \"SET-POINT\"` below its [[state]] and name that set-point as an [[input]] in problem.toml, \
                then run the problem again";
    Error::setting("tracks", "missing", rule, hint)
}

/// The name that a user has for an action: where rules decide its changes, that of what is changed.
pub fn called(action: &ActionVariable) -> &str {
    action.set_point.as_ref().map_or(&action.name, |set_point| &set_point.name)
}

fn said<'a, T>(list: &'a [(String, T)], name: &str) -> Option<&'a T> {
    list.iter().find(|(action, _)| action == name).map(|(_, value)| value)
}

/// Refuses what was said twice of an action.
fn once<T>(key: &str, list: &[(String, T)]) -> Result<()> {
    let twice = list.iter().enumerate().find(|(index, (action, _))| said(&list[..*index], action).is_some());
    match twice {
        None => Ok(()),
        Some((_, (action, _))) => {
            Err(Error::setting(key, format!("given twice for `{action}`"), "it has one value", "leave one of them out"))
        }
    }
}
