//! What a user says of an angle: whether a variable is one, and whether the log has it in degrees.
//!
//! Only the log and files of start states are in degrees then: on import they become radians, and everything else,
//! from the run directory to the rules, is in radians.

use std::f64::consts::{PI, TAU};

use fpsrl_base::error::{Error, Result};
use fpsrl_base::settings::{bounds, number};
use serde::Deserialize;

use super::StateVariable;
use super::written::Surroundings;

/// `angle` of a `[[state]]`: true, false, or "degrees".
///
/// ```
/// use fpsrl_data::system::{WrittenAngle, WrittenState};
/// let state: WrittenState = toml::from_str("name = \"theta\"\nangle = \"degrees\"").unwrap();
/// assert_eq!(state.angle, Some(WrittenAngle::DEGREES));
/// let state: WrittenState = toml::from_str("name = \"theta\"\nangle = true").unwrap();
/// assert_eq!(state.angle, Some(true.into()));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "expected true, false, or \"degrees\"")]
pub enum WrittenAngle {
    /// Whether it is an angle in radians.
    Radians(bool),
    /// An angle in the unit that is named.
    Named(AngleUnit),
}

/// A unit of angles other than radians.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AngleUnit {
    /// 360 of them are a turn.
    Degrees,
}

impl WrittenAngle {
    /// An angle that the log has in degrees.
    pub const DEGREES: Self = WrittenAngle::Named(AngleUnit::Degrees);
}

impl From<bool> for WrittenAngle {
    fn from(angle: bool) -> Self {
        WrittenAngle::Radians(angle)
    }
}

impl StateVariable {
    /// Makes the variable what is said of it.
    pub(super) fn set_angle(&mut self, angle: WrittenAngle) {
        self.degrees = angle == WrittenAngle::DEGREES;
        self.angle = self.degrees || angle == WrittenAngle::Radians(true);
        if self.degrees {
            self.unit = "rad".into();
        }
    }

    /// A value of the user's own files as it is computed with: degrees in radians, and an angle between -π and π.
    ///
    /// ```
    /// use fpsrl_data::System;
    /// let theta = System::benchmark("cart-pole-balancing")?.states()[0].clone();
    /// assert!((theta.recorded(4.0) - (4.0 - std::f64::consts::TAU)).abs() < 1e-12);
    /// # Ok::<(), fpsrl_base::Error>(())
    /// ```
    pub fn recorded(&self, value: f64) -> f64 {
        let value = if self.degrees { value.to_radians() } else { value };
        // What lies at the border stays on its side of it.
        if self.angle && value.abs() > PI + 1e-6 { fpsrl_engine::angle::wrap_angle(value) } else { value }
    }
}

/// Whether what is said of angles in degrees can be.
pub(super) fn check_degrees(states: &[StateVariable], around: &Surroundings) -> Result<()> {
    for state in states.iter().filter(|state| state.degrees) {
        let key = |setting: &str| format!("state.{}.{setting}", state.name);
        if around.history.is_none() {
            let rule = "degrees become radians when a log is imported, and there is none";
            let hint = "write `file = \"log.csv\"` below [data]; or convert the column, and write `angle = true`";
            return Err(Error::setting(key("angle"), "\"degrees\"", rule, hint));
        }
        let ranges =
            [("start", Some(state.start), PI), ("centre", state.centre, PI), ("width", state.width, 2.0 * TAU)];
        for (setting, range, most) in
            ranges.into_iter().filter_map(|(setting, range, most)| Some((setting, range?, most)))
        {
            if range.iter().any(|value| value.abs() > most + 1e-3) {
                let radians = range.map(|value| number((value.to_radians() * 1e4).round() / 1e4));
                let rule = "only the log is in degrees: this file and everything after it is in radians";
                let hint = format!("write `{setting} = [{}]`", radians.join(", "));
                return Err(Error::setting(key(setting), bounds(range), rule, hint));
            }
        }
    }
    Ok(())
}
