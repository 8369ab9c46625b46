//! What is good, as far as a log tells: a measurement that has a set-point is to be near it, and an actuator that moves
//! without end wears out.

use fpsrl_data::log::{Angle, Guess, Table, angle};

use super::Names;
use super::sheet::{rounded, short};

/// Steps of usual error that it costs to move an actuator over its whole range.
const MOVEMENT: f64 = 2.2;

/// A measurement that is to follow a set-point.
#[derive(Debug)]
struct Tracked {
    state: String,
    set_point: String,
    angle: Angle,
    /// The mean size of the error in the log.
    error: f64,
    /// A typical size of the error; 1 if it has none.
    size: f64,
}

/// What a controller is to reach.
#[derive(Debug)]
pub(super) struct Goal {
    /// The reward as a formula.
    pub(super) reward: String,
    /// The reward in words.
    pub(super) words: String,
    /// What the log's errors cost in a step, on average.
    pub(super) usual: f64,
    /// What is to be said of angles.
    pub(super) unknown: Vec<String>,
}

impl Goal {
    /// The goal of what tracks a set-point; none if nothing does.
    pub(super) fn of(guess: &Guess, table: &Table, names: &Names) -> Option<Self> {
        let tracked: Vec<Tracked> = guess.tracks.iter().filter_map(|pair| Tracked::of(pair, table, names)).collect();
        let several = tracked.len() > 1;
        let term = |one: &Tracked| match one.angle {
            // The shorter way round: an error of a turn is none.
            Angle::Radians => format!("(1 - cos({} - {}))", one.state, one.set_point),
            _ => format!("abs({} - {})", one.state, one.set_point),
        };
        let weighed = |one: &Tracked| match several {
            true => format!("-{} / {}", term(one), short(one.size)),
            false => format!("-{}", term(one)),
        };
        let reward = tracked.iter().map(weighed).reduce(|all, one| format!("{all} - {}", &one[1..]))?;
        let pairs: Vec<String> =
            tracked.iter().map(|one| format!("`{}` near `{}`", one.state, one.set_point)).collect();
        let sizes = if several { "; each error is divided by its usual size, so that they weigh alike" } else { "" };
        let unknown = tracked.iter().filter(|one| one.angle == Angle::Degrees).map(|one| {
            format!(
                "whether the error of `{}` goes the shorter way round: it is an angle; correct the reward if not",
                one.state
            )
        });
        Some(Self {
            words: format!("{}{sizes}", pairs.join(", ")),
            usual: tracked.iter().map(|one| if several { one.error / one.size } else { one.error }).sum(),
            unknown: unknown.collect(),
            reward,
        })
    }

    /// The price of an actuator's movement by one unit, and what it means; none if the log has no error to compare
    /// with.
    pub(super) fn move_cost(&self, limits: [f64; 2]) -> Option<(f64, String)> {
        let cost = rounded(MOVEMENT * self.usual / (limits[1] - limits[0]), 2);
        let remark = format!(
            "the price of movement, of one unit: the whole range once costs as much as {MOVEMENT} steps of the log's mean \
             error ({})",
            short(rounded(self.usual, 2))
        );
        (cost > 0.0 && cost.is_finite()).then_some((cost, remark))
    }
}

impl Tracked {
    fn of((state, set_point): &(String, String), table: &Table, names: &Names) -> Option<Self> {
        let column = |title: &String| table.column(std::slice::from_ref(title));
        let (own, wanted) = (column(state)?, column(set_point)?);
        let errors: Vec<f64> = own
            .values
            .iter()
            .zip(wanted.values.iter())
            .map(|(own, wanted)| own - wanted)
            .filter(|error| error.is_finite())
            .collect();
        let count = errors.len().max(1) as f64;
        let mean = errors.iter().sum::<f64>() / count;
        let spread = (errors.iter().map(|error| (error - mean).powi(2)).sum::<f64>() / count).sqrt();
        let size = rounded(spread, 1);
        Some(Self {
            state: names.of(state).to_owned(),
            set_point: names.of(set_point).to_owned(),
            angle: angle(own),
            error: errors.iter().map(|error| error.abs()).sum::<f64>() / count,
            size: if size > 0.0 { size } else { 1.0 },
        })
    }
}
