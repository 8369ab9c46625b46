//! How well states follow their set-points, in the user's units: mean error, offset, overshoot, settling time, and how much
//! the actuators move for it; of a policy on a world, and of the log from the same starts.

use serde::{Deserialize, Serialize};

use crate::returns::on_lanes;
use fpsrl_data::{System, Transitions};
use fpsrl_engine::policy::Policy;
use fpsrl_engine::rollout::StartStates;
use fpsrl_engine::simd::Numerics;
use fpsrl_engine::world::World;

/// A set-point that has not moved for this share of the horizon has been reached, or there is an offset.
const AT_REST: f64 = 0.25;

/// Within this share of a set-point's step, the state counts as settled.
const SETTLED: f64 = 0.1;

/// How a plant was controlled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ControlFigures {
    /// Of each state that tracks a set-point.
    pub tracked: Vec<TrackingFigures>,
    /// Of each action: its mean movement in a step.
    pub movement: Vec<(String, f64)>,
}

/// How a state followed its set-point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrackingFigures {
    /// The state.
    pub state: String,
    /// The mean absolute error.
    pub error: f64,
    /// The mean size of the error's mean while the set-point has rested; null if it never does.
    pub offset: Option<f64>,
    /// How far the state goes beyond a set-point that has moved, in the mean; null if none moves.
    pub overshoot: Option<f64>,
    /// Steps until the state stays within a tenth of a set-point's step, in the mean; null if none moves.
    pub settling: Option<f64>,
}

/// A run of the plant: of each tracked state its set-point and itself, and the actions, step by step.
struct Course {
    pairs: Vec<Vec<[f64; 2]>>,
    actions: Vec<Vec<f64>>,
}

/// The states that track a set-point, with the number of that.
fn tracked(system: &System) -> Vec<(usize, usize)> {
    let states = system.states().iter().enumerate();
    states.filter_map(|(index, state)| Some((index, state.tracks?.set_point))).collect()
}

/// How a policy controls a world; none where nothing tracks a set-point.
pub fn on_a_world(
    system: &System,
    world: &dyn World,
    policy: &dyn Policy,
    starts: &StartStates,
    numerics: Numerics,
) -> Option<ControlFigures> {
    let tracked = tracked(system);
    if tracked.is_empty() {
        return None;
    }
    let mut lanes = on_lanes(world, starts);
    let blank = || Course { pairs: vec![Vec::new(); tracked.len()], actions: vec![Vec::new(); world.action_count()] };
    let mut courses: Vec<Course> = (0..starts.len()).map(|_| blank()).collect();
    let mut of: Vec<usize> = (0..starts.len()).collect();
    for _ in 0..system.horizon() {
        policy.act(&mut lanes, numerics);
        world.advance(&mut lanes, numerics);
        for lane in (0..lanes.live()).rev() {
            let course = &mut courses[of[lane]];
            for (to, (state, set_point)) in course.pairs.iter_mut().zip(&tracked) {
                to.push([*set_point, *state].map(|variable| f64::from(lanes.state(variable)[lane])));
            }
            for (index, to) in course.actions.iter_mut().enumerate() {
                to.push(f64::from(lanes.action(index)[lane]));
            }
            if lanes.absorbed()[lane] != 0.0 {
                lanes.retire(lane);
                of.swap_remove(lane);
            }
        }
    }
    Some(figures(system, &tracked, &courses))
}

/// How the log controlled the plant from the same starts; none where nothing tracks a set-point, or the starts are no rows.
pub fn of_the_log(system: &System, transitions: &Transitions, starts: &StartStates) -> Option<ControlFigures> {
    let (tracked, place) = (tracked(system), system.place()?);
    if tracked.is_empty() {
        return None;
    }
    let course = |start: f64| {
        let mut course =
            Course { pairs: vec![Vec::new(); tracked.len()], actions: vec![Vec::new(); transitions.actions.len()] };
        let mut row = start as usize;
        for _ in 0..system.horizon() {
            for (to, (state, set_point)) in course.pairs.iter_mut().zip(&tracked) {
                to.push([*set_point, *state].map(|variable| transitions.next_states[variable][row]));
            }
            for (to, from) in course.actions.iter_mut().zip(&transitions.actions) {
                to.push(from[row]);
            }
            match transitions.successor(row) {
                Some(next) => row = next,
                None => break,
            }
        }
        course
    };
    let begins = starts.column(place).iter().filter(|start| (**start as usize) < transitions.len());
    let courses: Vec<Course> = begins.map(|start| course(*start)).collect();
    Some(figures(system, &tracked, &courses))
}

fn figures(system: &System, tracked: &[(usize, usize)], courses: &[Course]) -> ControlFigures {
    let mean = |values: &[f64]| (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64);
    let of = |(index, (state, _)): (usize, &(usize, usize))| {
        let (mut errors, mut offsets, mut overshoots, mut settlings) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for course in courses {
            let pairs = &course.pairs[index];
            errors.extend(pairs.iter().map(|[wanted, value]| (wanted - value).abs()));
            for (before, rest) in rests(pairs) {
                let at_rest = ((AT_REST * system.horizon() as f64) as usize).max(1);
                if rest.len() > at_rest {
                    let late: Vec<f64> = rest[at_rest..].iter().map(|[wanted, value]| wanted - value).collect();
                    offsets.push(mean(&late).unwrap_or(0.0).abs());
                }
                if let Some(before) = before {
                    let wanted = rest[0][0];
                    let step = wanted - before;
                    let beyond = rest.iter().map(|[_, value]| (value - wanted) * step.signum()).fold(0.0, f64::max);
                    overshoots.push(beyond);
                    let last_out =
                        rest.iter().rposition(|[wanted, value]| (wanted - value).abs() > SETTLED * step.abs());
                    settlings.push(last_out.map_or(0, |step| step + 1) as f64);
                }
            }
        }
        TrackingFigures {
            state: system.states()[*state].name.clone(),
            error: mean(&errors).unwrap_or(0.0),
            offset: mean(&offsets),
            overshoot: mean(&overshoots),
            settling: mean(&settlings),
        }
    };
    let movement = |(index, action): (usize, &fpsrl_data::system::ActionVariable)| {
        let moves = courses.iter().flat_map(|course| {
            let values = &course.actions[index];
            let change = action.set_point.is_some();
            (1..values.len()).map(move |step| if change { values[step] } else { values[step] - values[step - 1] })
        });
        let moves: Vec<f64> = moves.map(f64::abs).collect();
        let name = action.set_point.as_ref().map_or(&action.name, |set_point| &set_point.name);
        (name.clone(), mean(&moves).unwrap_or(0.0))
    };
    ControlFigures {
        tracked: tracked.iter().enumerate().map(of).collect(),
        movement: system.actions().iter().enumerate().map(movement).collect(),
    }
}

/// The stretches in which a set-point rests, each with the value that it had before, if it moved there in one step.
fn rests(pairs: &[[f64; 2]]) -> Vec<(Option<f64>, &[[f64; 2]])> {
    let mut rests = Vec::new();
    let mut before = None;
    for rest in pairs.chunk_by(|a, b| a[0] == b[0]) {
        // A ramp is no step: its values rest for a moment only.
        if rest.len() >= 3 {
            rests.push((before, rest));
        }
        before = (rest.len() >= 3).then_some(rest[0][0]);
    }
    rests
}

#[cfg(test)]
mod tests {
    use super::*;
    use fpsrl_data::system::{History, Surroundings, WrittenSystem};

    fn system() -> System {
        let text = "name = 'tank'\nhorizon = 40\n[[state]]\nname = 'level'\ntracks = 'SP'\n[[input]]\nname = 'SP'\n\
                    [[action]]\nname = 'valve'\nlimits = [0.0, 1.0]\n";
        let around = Surroundings { history: Some(History::Steps(0)), ..Surroundings::default() };
        toml::from_str::<WrittenSystem>(text).unwrap().check(&around).unwrap()
    }

    #[test]
    fn a_step_is_told_by_overshoot_settling_and_offset() {
        // Ten steps at 0; then the set-point is 2, the level goes to 2.5, and comes to rest at 1.9.
        let level = |step: usize| match step {
            0..=9 => 0.0,
            10..=14 => 0.5 * (step - 9) as f64,
            _ => 1.9,
        };
        let pairs: Vec<[f64; 2]> = (0..40).map(|step| [if step < 10 { 0.0 } else { 2.0 }, level(step)]).collect();
        let valve: Vec<f64> = (0..40).map(|step| if step % 2 == 0 { 0.0 } else { 0.25 }).collect();
        let course = Course { pairs: vec![pairs], actions: vec![valve] };
        let figures = figures(&system(), &[(0, 1)], &[course]);
        let tracked = &figures.tracked[0];
        assert!((tracked.overshoot.unwrap() - 0.5).abs() < 1e-12, "{tracked:?}");
        // It is last out of a tenth of the step when it is at 2.5, the fifth step after the set-point moved.
        assert_eq!(tracked.settling, Some(5.0));
        assert!((tracked.offset.unwrap() - 0.1).abs() < 1e-12, "{tracked:?}");
        assert_eq!(figures.movement, [("valve".to_owned(), 0.25)]);
    }

    #[test]
    fn a_ramp_is_no_step() {
        let pairs: Vec<[f64; 2]> = (0..40).map(|step| [step as f64, step as f64 - 1.0]).collect();
        let course = Course { pairs: vec![pairs], actions: vec![vec![0.0; 40]] };
        let tracked = &figures(&system(), &[(0, 1)], &[course]).tracked[0];
        assert_eq!((tracked.error, tracked.overshoot, tracked.settling, tracked.offset), (1.0, None, None, None));
    }
}
