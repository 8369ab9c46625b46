//! Random-action trajectories from a built-in plant: the logs that the paper's benchmarks learn from (section 5).
//!
//! Actions are drawn anew in every step, uniformly within their limits. An episode goes on to its full length even
//! when the plant has been absorbed; the rows that stand still then belong to the data, as in the paper.

use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use super::Transitions;
use crate::plant::PlantKind;
use crate::{DataSettings, System};
use fpsrl_base::error::{Error, Result};
use fpsrl_base::progress::{Progress, Stage, Status};
use fpsrl_base::random::{Purpose, Stream};

/// Draws the problem's transitions from its plant.
///
/// Every number depends only on the seed, the episode, the step and the variable, so that threads change nothing.
///
/// ```
/// use fpsrl_base::progress::Progress;
/// use fpsrl_data::{DataSettings, System, generate};
/// let system = System::benchmark("mountain-car")?;
/// let settings = DataSettings { samples: 1_000, ..DataSettings::for_plant(system.plant()) };
/// let log = generate(&system, &settings, &Progress::silent())?;
/// assert_eq!(log.len(), 1_000);
/// assert!(log.actions[0].iter().all(|force| force.abs() <= 1.0));
/// # Ok::<(), fpsrl_base::Error>(())
/// ```
pub fn generate(system: &System, settings: &DataSettings, progress: &Progress) -> Result<Transitions> {
    let plant =
        system.plant().ok_or_else(|| Error::NoPlant { what: "generating data", problem: system.name().to_owned() })?;
    expect_count("states", system.states().len(), plant.state_count(), plant)?;
    expect_count("actions", system.actions().len(), plant.action_count(), plant)?;

    let (samples, length) = (settings.samples, settings.episode_length);
    settings.check()?;
    // The counters of random numbers have 32 bits.
    let episodes = u32::try_from(samples.div_ceil(length)).ok().filter(|_| u32::try_from(length).is_ok());
    let Some(episodes) = episodes else {
        return Err(Error::setting(
            "data.samples",
            samples,
            "there can be no more than 4,294,967,295 episodes of as many steps",
            "generate fewer transitions",
        ));
    };

    progress.begin(Stage::Generate, samples as u64);
    let done = AtomicU64::new(0);
    let parts: Result<Vec<Transitions>> = (0..episodes)
        .into_par_iter()
        .map(|episode| {
            if progress.stop_requested() {
                return Err(Error::Stopped { stage: "generation of data" });
            }
            let steps = length.min(samples - episode as usize * length);
            let part = random_walk(system, plant, episode, steps as u32);
            let done = done.fetch_add(steps as u64, Ordering::Relaxed) + steps as u64;
            progress.update(Stage::Generate, done, Status::At("random actions"));
            Ok(part)
        })
        .collect();
    progress.end(Stage::Generate);

    let mut log = Transitions::new(plant.state_count(), plant.action_count());
    for part in parts? {
        log.episode.extend(part.episode);
        log.step.extend(part.step);
        append(&mut log.states, part.states);
        append(&mut log.actions, part.actions);
        append(&mut log.next_states, part.next_states);
        log.rewards.extend(part.rewards);
    }
    Ok(log)
}

/// One episode of random actions.
fn random_walk(system: &System, plant: PlantKind, episode: u32, steps: u32) -> Transitions {
    let starts = Stream::new(system.seed(), Purpose::LogStart);
    let draws = Stream::new(system.seed(), Purpose::LogAction);
    let mut walk = Transitions::new(system.states().len(), system.actions().len());
    let mut state: Vec<f64> = (0u32..)
        .zip(system.states())
        .map(|(index, variable)| starts.within(variable.data_start[0], variable.data_start[1], episode, 0, index))
        .collect();
    let mut action = vec![0.0; system.actions().len()];
    for step in 0..steps {
        for (index, (value, variable)) in (0u32..).zip(action.iter_mut().zip(system.actions())) {
            *value = draws.within(variable.limits[0], variable.limits[1], episode, step, index);
        }
        push(&mut walk.states, &state);
        push(&mut walk.actions, &action);
        let outcome = plant.step(&mut state, &action);
        push(&mut walk.next_states, &state);
        walk.rewards.push(outcome.reward);
        walk.episode.push(u64::from(episode));
        walk.step.push(u64::from(step));
    }
    walk
}

fn push(columns: &mut [Vec<f64>], row: &[f64]) {
    for (column, &value) in columns.iter_mut().zip(row) {
        column.push(value);
    }
}

fn append(columns: &mut [Vec<f64>], parts: Vec<Vec<f64>>) {
    for (column, part) in columns.iter_mut().zip(parts) {
        column.extend(part);
    }
}

fn expect_count(key: &str, found: usize, expected: usize, plant: PlantKind) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    Err(Error::setting(
        key,
        format!("a list of {found}"),
        format!("the plant `{}` has {expected}", plant.name()),
        "describe the plant's variables, or take out `plant`",
    ))
}

#[cfg(test)]
mod tests;
