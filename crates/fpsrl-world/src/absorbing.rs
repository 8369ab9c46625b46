//! When a transition is absorbing, learned from the log: regions of the next state in which the plant stays for ever.
//!
//! Goals are reached and limits are broken at thresholds, so regions are boxes, most of them with a single bound. They are
//! found like this: the variable and the side are taken behind which most absorbing rows lie, and no other row; what they
//! leave is treated the same way. Where no such side is left, as with a goal in the middle, a regression tree cuts boxes.
//! A bound lies half-way between the last row on either side of it.
//!
//! The log shows a plant that has stopped; a world that moves smoothly arrives there with some speed. So each absorbing row
//! counts twice, as it was recorded and as the world foresees it, and a region must hold both: what differs between the
//! two, such as a velocity that became 0, cannot bound it.

use serde::{Deserialize, Serialize};

use super::training::{Samples, Tree};
use fpsrl_data::mirror::mirrored_state;

/// Regions cut by a tree, at most.
const MOST_CUTS: usize = 12;

/// Bounds peeled off one after another, at most.
const MOST_SIDES: usize = 16;

/// When a transition is absorbing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AbsorbingModel {
    /// A next state that lies in one of these is absorbing; the first one counts.
    pub regions: Vec<Region>,
    /// The share of rows that training never saw which regions learned without them misjudge.
    pub generalisation_error: f64,
}

/// A box of next states.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Region {
    /// What bounds it; a variable may bound it on both sides.
    pub bounds: Vec<Bound>,
    /// The reward of the step that leads there.
    pub reward: f64,
    /// The reward of every step after that.
    pub later_reward: f64,
}

/// One side of a box.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bound {
    /// Which state variable.
    pub variable: usize,
    /// Whether the region lies above the bound or below it.
    pub above: bool,
    /// The bound.
    pub at: f64,
}

impl Bound {
    /// Whether a value lies on the region's side. NaN lies nowhere.
    pub fn holds(&self, value: f64) -> bool {
        if self.above { value > self.at } else { value < self.at }
    }
}

impl Region {
    /// Whether a state lies in the region.
    pub fn contains(&self, state: &[f64]) -> bool {
        self.bounds.iter().all(|bound| bound.holds(state[bound.variable]))
    }
}

/// A row that is to be told apart: where it ended, as recorded and as foreseen, and what came of it.
#[derive(Clone, Debug)]
pub(crate) struct Arrival {
    /// The next state in the log.
    pub(crate) recorded: Vec<f64>,
    /// The next state that the smooth world foresees; of absorbing rows only.
    pub(crate) foreseen: Option<Vec<f64>>,
    /// The row's reward, and that of every step after it if it is absorbing.
    pub(crate) rewards: (f64, Option<f64>),
}

impl Arrival {
    /// Its mirror image.
    pub(crate) fn mirrored(&self) -> Self {
        Self {
            recorded: mirrored_state(&self.recorded),
            foreseen: self.foreseen.as_deref().map(mirrored_state),
            rewards: self.rewards,
        }
    }
}

impl AbsorbingModel {
    /// The region that a next state lies in, if it is absorbing.
    pub fn region(&self, next: &[f64]) -> Option<&Region> {
        self.regions.iter().find(|region| region.contains(next))
    }

    /// Learns from rows; those numbered in `unseen` only judge. None if no row is absorbing.
    pub(crate) fn learn(rows: &[Arrival], unseen: &[usize]) -> Option<Self> {
        let is_unseen = {
            let mut flags = vec![false; rows.len()];
            unseen.iter().for_each(|&row| flags[row] = true);
            flags
        };
        let seen: Vec<&Arrival> =
            rows.iter().zip(&is_unseen).filter(|(_, unseen)| !**unseen).map(|pair| pair.0).collect();
        let judged = regions(&seen);
        let misjudged = unseen
            .iter()
            .filter(|&&row| {
                let arrival = &rows[row];
                let state = arrival.foreseen.as_ref().unwrap_or(&arrival.recorded);
                judged.iter().any(|region| region.contains(state)) != arrival.rewards.1.is_some()
            })
            .count();
        let regions = regions(&rows.iter().collect::<Vec<_>>());
        let generalisation_error = misjudged as f64 / unseen.len().max(1) as f64;
        (!regions.is_empty()).then_some(Self { regions, generalisation_error })
    }

    /// What is wrong with a model that was read from a file, if anything is.
    pub(crate) fn fault(&self, states: usize) -> Option<String> {
        for region in &self.regions {
            if region.bounds.is_empty() || region.bounds.iter().any(|bound| bound.variable >= states) {
                return Some("a region is not bounded by state variables".into());
            }
            let numbers = region.bounds.iter().map(|bound| bound.at).chain([region.reward, region.later_reward]);
            if numbers.into_iter().any(|number| !number.is_finite()) {
                return Some("a region holds a number that is not finite".into());
            }
        }
        self.regions.is_empty().then(|| "it has no region".into())
    }
}

/// A point that a region must or must not contain.
struct Point<'a> {
    state: &'a [f64],
    absorbing: bool,
    rewards: (f64, f64),
}

fn regions(rows: &[&Arrival]) -> Vec<Region> {
    let mut points: Vec<Point<'_>> = Vec::new();
    for row in rows {
        let (reward, later) = row.rewards;
        for state in [Some(&row.recorded), row.foreseen.as_ref()].into_iter().flatten() {
            points.push(Point { state, absorbing: later.is_some(), rewards: (reward, later.unwrap_or(0.0)) });
        }
    }
    let variables = points.first().map_or(0, |point| point.state.len());
    let mut regions = Vec::new();
    while regions.len() < MOST_SIDES && points.iter().any(|point| point.absorbing) {
        let sides = (0..variables).flat_map(|variable| [false, true].map(|above| side(&points, variable, above)));
        // Of sides that peel off as many, the first variable's wins.
        let Some((count, bound)) = sides.flatten().reduce(|best, next| if next.0 > best.0 { next } else { best })
        else {
            break;
        };
        let (inside, outside): (Vec<Point<'_>>, Vec<Point<'_>>) =
            points.into_iter().partition(|point| bound.holds(point.state[bound.variable]));
        points = outside;
        debug_assert_eq!(inside.len(), count);
        regions.push(region(vec![bound], &inside));
    }
    if points.iter().any(|point| point.absorbing) {
        regions.extend(boxes(&points, variables));
    }
    regions
}

/// The side of a variable that holds absorbing points only, and how many.
fn side(points: &[Point<'_>], variable: usize, above: bool) -> Option<(usize, Bound)> {
    let outward = |point: &Point<'_>| if above { point.state[variable] } else { -point.state[variable] };
    let others = points.iter().filter(|point| !point.absorbing).map(outward).fold(f64::NEG_INFINITY, f64::max);
    let beyond = || points.iter().filter(|point| point.absorbing).map(outward).filter(|value| *value > others);
    let count = beyond().count();
    let nearest = beyond().fold(f64::INFINITY, f64::min);
    if count == 0 || !others.is_finite() {
        return None;
    }
    let at = 0.5 * (others + nearest);
    // Neighbouring numbers have nothing in between.
    let at = if at < nearest { at } else { others };
    Some((count, Bound { variable, above, at: if above { at } else { -at } }))
}

/// A region with the mean rewards of its points.
fn region(bounds: Vec<Bound>, inside: &[Point<'_>]) -> Region {
    let own: Vec<&Point<'_>> = inside.iter().filter(|point| point.absorbing).collect();
    let mean = |of: fn(&Point<'_>) -> f64| own.iter().map(|point| of(point)).sum::<f64>() / own.len().max(1) as f64;
    Region { bounds, reward: mean(|point| point.rewards.0), later_reward: mean(|point| point.rewards.1) }
}

/// Boxes cut by a tree: its leaves in which most points are absorbing.
fn boxes(points: &[Point<'_>], variables: usize) -> Vec<Region> {
    let columns: Vec<Vec<f64>> =
        (0..variables).map(|variable| points.iter().map(|point| point.state[variable]).collect()).collect();
    let targets: Vec<f64> = points.iter().map(|point| f64::from(u8::from(point.absorbing))).collect();
    let order: Vec<usize> = (0..points.len()).collect();
    let tree = Tree::grow(&Samples::of(&columns, &targets, &order), variables, MOST_CUTS);
    tree.boxes()
        .into_iter()
        .filter(|(path, share)| *share > 0.5 && !path.is_empty())
        .map(|(path, _)| {
            let bounds: Vec<Bound> =
                path.into_iter().map(|(variable, above, at)| Bound { variable, above, at }).collect();
            let inside: Vec<Point<'_>> = points
                .iter()
                .filter(|point| bounds.iter().all(|bound| bound.holds(point.state[bound.variable])))
                .map(|point| Point { state: point.state, ..*point })
                .collect();
            region(bounds, &inside)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fpsrl_base::random::{Purpose, Stream};

    /// Points (x, v) of which those with x beyond ±1 stop: v becomes 0.
    fn rows(count: u32, absorbing: fn(f64) -> bool) -> Vec<Arrival> {
        let stream = Stream::new(3, Purpose::LogStart);
        (0..count)
            .map(|row| {
                let (x, v) = (stream.within(-1.3, 1.3, 0, row, 0), stream.within(-2.0, 2.0, 0, row, 1));
                match absorbing(x) {
                    true => Arrival {
                        recorded: vec![x, 0.0],
                        foreseen: Some(vec![x, v]),
                        rewards: (-1.0, Some(if x > 0.0 { -2.0 } else { -3.0 })),
                    },
                    false => Arrival { recorded: vec![x, v], foreseen: None, rewards: (0.0, None) },
                }
            })
            .collect()
    }

    #[test]
    fn limits_that_stop_the_plant_are_found_on_the_right_variable() {
        let rows = rows(400, |x| x.abs() > 1.0);
        let unseen: Vec<usize> = (0..400).step_by(10).collect();
        let model = AbsorbingModel::learn(&rows, &unseen).unwrap();
        assert_eq!(model.regions.len(), 2, "{model:?}");
        for region in &model.regions {
            assert_eq!((region.bounds.len(), region.bounds[0].variable, region.reward), (1, 0, -1.0));
            let bound = &region.bounds[0];
            assert!((bound.at.abs() - 1.0).abs() < 0.03 && bound.above == (bound.at > 0.0), "{bound:?}");
            assert_eq!(region.later_reward, if bound.above { -2.0 } else { -3.0 });
        }
        assert!(model.generalisation_error < 0.06, "{}", model.generalisation_error);
        assert!(model.region(&[1.2, 1.5]).is_some() && model.region(&[0.2, 0.0]).is_none());
        assert!(model.region(&[f64::NAN, 0.0]).is_none());
        assert_eq!(model.fault(2), None);
        assert!(model.fault(0).is_some());
    }

    #[test]
    fn a_goal_in_the_middle_becomes_a_box() {
        let rows = rows(600, |x| x.abs() < 0.2);
        let model = AbsorbingModel::learn(&rows, &[]).unwrap();
        let wrong = (0..200)
            .filter(|index| {
                let x = f64::from(*index) * 0.01 - 1.0;
                (x.abs() - 0.2).abs() > 0.02 && model.region(&[x, 0.7]).is_some() != (x.abs() < 0.2)
            })
            .count();
        assert!(wrong <= 4, "{wrong} of 200: {model:?}");
    }

    #[test]
    fn without_absorbing_rows_there_is_no_model() {
        assert_eq!(AbsorbingModel::learn(&rows(50, |_| false), &[]), None);
        assert_eq!(AbsorbingModel::learn(&[], &[]), None);
    }
}
