//! Random-action trajectories from a user's own simulator: the log of a problem that has a world and no recordings.
//!
//! It tells where states lie, so that rules and pictures have ranges. Actions are drawn anew in every step, uniformly
//! within their limits, as for the built-in plants; an episode ends where the simulator says so.

use super::Transitions;
use crate::{DataSettings, System};
use fpsrl_base::error::{Error, Result};
use fpsrl_base::progress::{Progress, Stage, Status};
use fpsrl_base::random::{Purpose, Stream};
use fpsrl_engine::rollout::Lanes;
use fpsrl_engine::simd::Numerics;
use fpsrl_engine::world::World;

/// Episodes that are asked for together.
const TOGETHER: usize = 128;

/// Draws transitions of a system from a world.
pub fn simulate(
    system: &System,
    settings: &DataSettings,
    world: &dyn World,
    numerics: Numerics,
    progress: &Progress,
) -> Result<Transitions> {
    settings.check()?;
    let (samples, length) = (settings.samples, settings.episode_length);
    let starts = Stream::new(system.seed(), Purpose::LogStart);
    let draws = Stream::new(system.seed(), Purpose::LogAction);
    let (states, actions) = (world.state_count(), world.action_count());
    let mut log = Transitions::new(states, actions);
    log.carried = states - system.current_states();
    log.inputs = system.input_count();
    let mut terminated: Vec<bool> = Vec::new();
    progress.begin(Stage::Generate, samples as u64);
    let mut first = 0;
    while log.len() < samples {
        let count = TOGETHER.min((samples - log.len()).div_ceil(length));
        let mut lanes = Lanes::new(states, actions, count);
        lanes.set_live(count);
        let mut episodes: Vec<usize> = (0..count).collect();
        for (lane, _) in episodes.iter().enumerate() {
            let current = system.states()[..system.current_states()].iter().enumerate().map(|(index, variable)| {
                starts.within(variable.data_start[0], variable.data_start[1], (first + lane) as u32, 0, index as u32)
            });
            let state = system.at_rest(&current.collect::<Vec<f64>>());
            state.iter().enumerate().for_each(|(index, value)| lanes.state_mut(index)[lane] = *value as f32);
        }
        let mut parts = vec![(Transitions::new(states, actions), Vec::new()); count];
        for step in 0..length {
            if progress.stop_requested() {
                return Err(Error::Stopped { stage: "generation of data" });
            }
            for (index, action) in system.actions().iter().enumerate() {
                for (lane, episode) in episodes.iter().enumerate() {
                    let [low, high] = action.limits;
                    let value = draws.within(low, high, (first + episode) as u32, step as u32, index as u32);
                    lanes.action_mut(index)[lane] = value as f32;
                }
            }
            let row = |column: &dyn Fn(usize) -> f32, count: usize| (0..count).map(|i| f64::from(column(i))).collect();
            let before: Vec<Vec<f64>> =
                (0..lanes.live()).map(|lane| row(&|index| lanes.state(index)[lane], states)).collect();
            world.advance(&mut lanes, numerics);
            for (lane, &episode) in episodes.iter().enumerate() {
                let (part, ended) = &mut parts[episode];
                let push = |columns: &mut [Vec<f64>], row: Vec<f64>| {
                    columns.iter_mut().zip(row).for_each(|(column, value)| column.push(value));
                };
                push(&mut part.states, before[lane].clone());
                push(&mut part.actions, row(&|index| lanes.action(index)[lane], actions));
                push(&mut part.next_states, row(&|index| lanes.state(index)[lane], states));
                part.rewards.push(f64::from(lanes.rewards()[lane]));
                part.episode.push((first + episode) as u64);
                part.step.push(step as u64);
                ended.push(lanes.absorbed()[lane] != 0.0);
            }
            for lane in (0..lanes.live()).rev() {
                if lanes.absorbed()[lane] != 0.0 {
                    lanes.retire(lane);
                    episodes.swap_remove(lane);
                }
            }
            if episodes.is_empty() {
                break;
            }
        }
        for (part, ended) in parts {
            log.append(&part);
            terminated.extend(ended);
        }
        first += count;
        progress.update(Stage::Generate, log.len().min(samples) as u64, Status::At("random actions"));
    }
    progress.end(Stage::Generate);
    log.terminated = terminated.iter().any(|ended| *ended).then_some(terminated);
    let rows: Vec<usize> = (0..samples.min(log.len())).collect();
    Ok(log.rows(&rows))
}
