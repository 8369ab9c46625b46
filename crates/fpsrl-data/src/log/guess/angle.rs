//! Angles: their range is a turn, and they jump by one.

use std::f64::consts::PI;

use super::super::table::Column;
use super::names::{ANGLE, RATE, names_one_of};

/// What an angle looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Angle {
    /// It is none.
    No,
    /// In radians.
    Radians,
    /// In degrees.
    Degrees,
}

impl Angle {
    /// A turn in its unit.
    pub(super) fn turn(self) -> Option<f64> {
        match self {
            Self::No => None,
            Self::Radians => Some(2.0 * PI),
            Self::Degrees => Some(360.0),
        }
    }
}

/// Whether a column is an angle: its range is a turn, and it jumps by a turn from one row to the next.
pub fn angle(column: &Column) -> Angle {
    let values: Vec<f64> = column.values.iter().copied().filter(|value| value.is_finite()).collect();
    let (low, high) = values
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(*value), high.max(*value)));
    let jumps = |turn: f64| {
        let wraps = values.windows(2).filter(|pair| (pair[1] - pair[0]).abs() > 0.5 * turn).count();
        let small = values.windows(2).filter(|pair| (pair[1] - pair[0]).abs() < 0.25 * turn).count();
        wraps > 0 && 2 * small > values.len()
    };
    let within = |from: f64, to: f64| {
        low >= from - 0.01 * (to - from) && high <= to + 0.01 * (to - from) && high - low > 0.8 * (to - from)
    };
    let named = names_one_of(&column.name, &ANGLE) && !names_one_of(&column.name, &RATE);
    if (within(-PI, PI) || within(0.0, 2.0 * PI)) && (jumps(2.0 * PI) || named) {
        Angle::Radians
    } else if (within(-180.0, 180.0) || within(0.0, 360.0)) && jumps(360.0) {
        Angle::Degrees
    } else if named && column.unit.starts_with("rad") && (low < -PI || high > PI) {
        Angle::Radians
    } else {
        Angle::No
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::table;
    use super::*;

    #[test]
    fn angles_are_told_by_their_turns() {
        let column = |name: &str, value: &dyn Fn(f64) -> f64| {
            let mut text = format!("{name},u\n");
            for row in 0..400 {
                text += &format!("{},0\n", value(f64::from(row)));
            }
            angle(&table(&text).columns[0])
        };
        let wrapped = |row: f64| fpsrl_engine::angle::wrap_angle(0.1 * row);
        assert_eq!(column("x", &wrapped), Angle::Radians);
        assert_eq!(column("x", &|row| wrapped(row).to_degrees()), Angle::Degrees);
        assert_eq!(column("x", &|row| (0.1 * row).sin()), Angle::No);
        assert_eq!(column("theta", &|row| 3.1 * (0.1 * row).sin()), Angle::Radians);
        assert_eq!(column("theta_dot", &|row| 3.1 * (0.1 * row).sin()), Angle::No);
    }
}
