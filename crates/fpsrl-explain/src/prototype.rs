//! Drawings of the built-in plants in a state: the car on its hill, the cart with its pole.
//!
//! The report's script moves the parts of a drawing by their transforms (`web/plant.js` has the same poses).

use super::svg::{Axis, line, place};
use fpsrl_data::plant::PlantKind;

/// Width and height of a drawing.
pub const SIZE: [f64; 2] = [160.0, 100.0];

/// Pixels of the cart-pole's pole.
const POLE: f64 = 40.0;

/// Where the pole is hinged, above the lower edge.
const HINGE: f64 = 62.0;

/// Pixels of the longest arrow.
const ARROW: f64 = 26.0;

/// The parts of a drawing that move with the state: values of the attributes `transform` and `d`.
#[derive(Clone, Debug, PartialEq)]
pub struct Pose {
    /// The transform of the car or the cart.
    pub body: String,
    /// The transform of the pole; empty for a car.
    pub pole: String,
    /// The path of the arrow along the body's motion.
    pub velocity: String,
    /// The path of the arrow at the pole's tip; empty for a car.
    pub turning: String,
}

/// The height of the mountain car's hill.
pub fn hill(plant: PlantKind, position: f64) -> f64 {
    match plant {
        PlantKind::TextbookMountainCar => (3.0 * position).sin() / 3.0,
        _ if position < 0.0 => position * position + position,
        _ => position / (1.0 + 5.0 * position * position).sqrt(),
    }
}

/// How the parts of a plant's drawing lie in a state; `ranges` are those of its state variables.
pub fn pose(plant: PlantKind, ranges: &[[f64; 2]], state: &[f64]) -> Pose {
    let share = |variable: usize| {
        let largest = ranges[variable][0].abs().max(ranges[variable][1].abs());
        (state[variable] / largest).clamp(-1.0, 1.0)
    };
    match plant {
        PlantKind::MountainCar | PlantKind::TextbookMountainCar => {
            let (across, up) = hill_axes(plant, ranges);
            let position = state[0].clamp(across.values[0], across.values[1]);
            let step = 1e-3 * (across.values[1] - across.values[0]);
            let rise = up.at(hill(plant, position + step)) - up.at(hill(plant, position - step));
            let run = across.at(position + step) - across.at(position - step);
            Pose {
                body: format!(
                    "translate({} {}) rotate({})",
                    place(across.at(position)),
                    place(up.at(hill(plant, position))),
                    place(rise.atan2(run).to_degrees())
                ),
                pole: String::new(),
                velocity: arrow(share(1)),
                turning: String::new(),
            }
        }
        PlantKind::CartPoleBalancing | PlantKind::CartPoleSwingUp => Pose {
            body: format!("translate({} {HINGE})", place(track(ranges).within(state[2]))),
            pole: format!("rotate({})", place(state[0].to_degrees())),
            velocity: arrow(share(3)),
            turning: arrow(share(1)),
        },
    }
}

/// An arrow to the right, or to the left if negative.
fn arrow(share: f64) -> String {
    let length = ARROW * share;
    if length.abs() < 1.0 {
        return String::new();
    }
    let head = 4.0 * length.signum();
    format!("M0 0H{}m{} -3l{head} 3l{} 3", place(length), -head, -head)
}

fn hill_axes(plant: PlantKind, ranges: &[[f64; 2]]) -> (Axis, Axis) {
    let [low, high] = ranges[0];
    let across = Axis::new([low, high], [10.0, SIZE[0] - 10.0]);
    let heights: Vec<f64> = (0..=60).map(|index| hill(plant, low + (high - low) * f64::from(index) / 60.0)).collect();
    let lowest = heights.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = heights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (across, Axis::new([lowest, highest], [SIZE[1] - 14.0, 30.0]))
}

fn track(ranges: &[[f64; 2]]) -> Axis {
    Axis::new(ranges[2], [22.0, SIZE[0] - 22.0])
}

/// The drawing of a plant in a state, the inside of an `svg` element of [`SIZE`].
pub fn drawing(plant: PlantKind, ranges: &[[f64; 2]], state: &[f64]) -> String {
    let Pose { body, pole, velocity, turning } = pose(plant, ranges, state);
    match plant {
        PlantKind::MountainCar | PlantKind::TextbookMountainCar => {
            let (across, up) = hill_axes(plant, ranges);
            let [low, high] = across.values;
            let ground = line((0..=60).map(|index| {
                let position = low + (high - low) * f64::from(index) / 60.0;
                (across.at(position), up.at(hill(plant, position)))
            }));
            let goal = if (low..=high).contains(&0.6) {
                let (x, y) = (across.at(0.6), up.at(hill(plant, 0.6)));
                format!("<path class=\"goal\" d=\"M{} {}v-22l-12 5l12 5\"/>", place(x), place(y))
            } else {
                String::new()
            };
            format!(
                "<path class=\"ground\" d=\"{ground}\"/>{goal}<g class=\"body\" transform=\"{body}\">\
                 <path class=\"arrow velocity\" transform=\"translate(0 -22)\" d=\"{velocity}\"/>\
                 <path class=\"solid\" d=\"M-10 -4h20v-5h-4l-3 -5h-8l-2 5h-3z\"/>\
                 <circle class=\"wheel\" cx=\"-5.5\" cy=\"-3\" r=\"3\"/><circle class=\"wheel\" cx=\"5.5\" cy=\"-3\" \
                 r=\"3\"/></g>"
            )
        }
        PlantKind::CartPoleBalancing | PlantKind::CartPoleSwingUp => {
            let middle = track(ranges).within(0.0);
            format!(
                "<path class=\"ground\" d=\"M6 73H{}M{m} 73v5\"/><g class=\"body\" transform=\"{body}\">\
                 <rect class=\"solid\" x=\"-14\" y=\"-4\" width=\"28\" height=\"12\" rx=\"2\"/>\
                 <circle class=\"wheel\" cx=\"-8\" cy=\"8\" r=\"3\"/><circle class=\"wheel\" cx=\"8\" cy=\"8\" \
                 r=\"3\"/>\
                 <path class=\"arrow velocity\" transform=\"translate(0 24)\" d=\"{velocity}\"/>\
                 <g class=\"pole\" transform=\"{pole}\"><path class=\"rod\" d=\"M0 0V-{POLE}\"/>\
                 <circle class=\"bob\" cy=\"-{POLE}\" r=\"3\"/>\
                 <path class=\"arrow turning\" transform=\"translate(0 -{tip})\" d=\"{turning}\"/></g></g>",
                SIZE[0] - 6.0,
                m = place(middle),
                tip = POLE + 8.0,
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CART: [[f64; 2]; 4] = [[-0.7, 0.7], [-3.0, 3.0], [-2.4, 2.4], [-3.0, 3.0]];

    #[test]
    fn a_pole_that_leans_to_the_right_is_drawn_so() {
        let pose = pose(PlantKind::CartPoleBalancing, &CART, &[0.5, 0.0, 0.0, 0.0]);
        assert_eq!(pose.pole, "rotate(28.65)");
        assert_eq!(pose.body, "translate(80 62)");
        assert_eq!((pose.velocity.as_str(), pose.turning.as_str()), ("", ""));
    }

    #[test]
    fn the_car_stands_on_its_hill_and_its_arrow_shows_where_it_goes() {
        let ranges = [[-1.2, 0.6], [-3.0, 3.0]];
        let bottom = pose(PlantKind::MountainCar, &ranges, &[-0.5, -1.5]);
        assert!(bottom.body.ends_with("rotate(0)") && bottom.velocity.starts_with("M0 0H-13"), "{bottom:?}");
        let slope = pose(PlantKind::MountainCar, &ranges, &[0.0, 0.0]);
        assert!(slope.body.contains("rotate(-"), "uphill to the right: {slope:?}");
        // Whatever the state is, the drawing stays in its frame.
        let far = pose(PlantKind::MountainCar, &ranges, &[1e9, 1e9]);
        assert!(far.body.starts_with("translate(150 ") && far.velocity.starts_with("M0 0H26"), "{far:?}");
    }
}
