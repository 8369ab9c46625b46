//! Several worlds learned from one log: members that disagree where the log says little, and a judge that saw rows which
//! they did not.
//!
//! The first member is the world of the paper: all training rows, every depth asked for. The others take its choices
//! over; each is learned from rows drawn with replacement, starts from its own weights, and never sees one group of
//! episodes, on which it can be tested. The judge is learned in the same way, from episodes that no member sees.

use serde::{Deserialize, Serialize};

use super::NetworkWorld;
use super::fit::{Member, Trainers, fit_member, members_elsewhere};
use super::known::KnownParts;
use super::model::WorldModel;
use super::shares::Shares;
use super::support::{CautiousWorld, Support};
use crate::WorldSettings;
use fpsrl_base::error::{Error, Result};
use fpsrl_base::progress::Progress;
use fpsrl_data::{System, Transitions};
use fpsrl_engine::world::World;

/// Everything that was learned from a log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LearnedWorlds {
    /// The first member.
    pub world: WorldModel,
    /// The other members of the ensemble.
    #[serde(default)]
    pub members: Vec<WorldModel>,
    /// Worlds learned from what no member saw; empty if the log is too short.
    #[serde(default)]
    pub judges: Vec<WorldModel>,
    /// The ranges of the log.
    #[serde(default)]
    pub support: Option<Support>,
}

impl LearnedWorlds {
    /// Learns all worlds that a problem asks for.
    ///
    /// ```
    /// use fpsrl_base::progress::Progress;
    /// use fpsrl_data::{DataSettings, System, generate};
    /// use fpsrl_world::{LearnedWorlds, WorldSettings};
    /// let system = System::benchmark("mountain-car")?;
    /// let data = DataSettings { samples: 5_000, ..DataSettings::for_plant(system.plant()) };
    /// let settings = WorldSettings { members: 2, epochs: 3, ..WorldSettings::default() };
    /// let log = generate(&system, &data, &Progress::silent())?;
    /// let worlds = LearnedWorlds::learn(&system, &settings, &log, &Progress::silent())?;
    /// assert_eq!((worlds.members.len(), worlds.judges.len()), (1, 2));
    /// # Ok::<(), fpsrl_base::Error>(())
    /// ```
    pub fn learn(
        system: &System,
        settings: &WorldSettings,
        transitions: &Transitions,
        progress: &Progress,
    ) -> Result<Self> {
        Self::learn_on(system, settings, transitions, None, progress)
    }

    /// The same; networks are trained elsewhere if somebody is given who does so. The worlds are the same.
    pub fn learn_on(
        system: &System,
        settings: &WorldSettings,
        transitions: &Transitions,
        trainers: Option<&dyn Trainers>,
        progress: &Progress,
    ) -> Result<Self> {
        let shares = Shares::new(system, settings, transitions);
        let judged = !shares.judge.is_empty();
        let count = settings.members;
        // The first member of each trains every depth, which takes about three times as long.
        let first = if settings.layers.each().len() > 1 { 3 } else { 1 };
        let each = (first + count - 1) as u64;
        let total = each * (1 + u64::from(judged));
        let learn = |is_judge: bool, number: usize, like: Option<&WorldModel>, progress: &Progress| {
            let log = if is_judge { &shares.judge } else { &shares.members };
            let left_out: Option<Vec<bool>> =
                (!is_judge && number > 0).then(|| shares.left_out_by.iter().map(|group| *group == number).collect());
            let member = Member { is_judge, number: number as u32, like, left_out: left_out.as_deref() };
            fit_member(system, settings, log, &member, trainers, progress)
        };
        let (mut members, judges) = match trainers {
            Some(_) => {
                // Members and judge share nothing: whoever has many machines keeps them all at work.
                let weights: Vec<u64> = (0..total)
                    .filter(|unit| unit % each == 0 || unit % each >= first as u64)
                    .map(|unit| if unit % each == 0 { first as u64 } else { 1 })
                    .collect();
                let parts = progress.side_by_side(&weights);
                let group = |is_judge: bool| {
                    let own = &parts[usize::from(is_judge) * count..];
                    members_elsewhere(count, own[0].clone(), &own[1..count], |number, like, progress: &Progress| {
                        learn(is_judge, number, like, progress)
                    })
                };
                std::thread::scope(|scope| {
                    let judges = judged.then(|| scope.spawn(|| group(true)));
                    let members = group(false);
                    let panicked = |_| Err(Error::Internal("the training of a judge panicked"));
                    let judges = judges.map_or_else(|| Ok(Vec::new()), |one| one.join().unwrap_or_else(panicked));
                    Ok((members?, judges?))
                })?
            }
            None => {
                let group = |is_judge: bool, begun: u64| -> Result<Vec<WorldModel>> {
                    let mut worlds =
                        vec![learn(is_judge, 0, None, &progress.portion(begun, begun + first as u64, total))?];
                    for number in 1..count {
                        let from = begun + (first + number - 1) as u64;
                        let progress = progress.portion(from, from + 1, total);
                        worlds.push(learn(is_judge, number, worlds.first(), &progress)?);
                    }
                    Ok(worlds)
                };
                (group(false, 0)?, if judged { group(true, each)? } else { Vec::new() })
            }
        };
        let world = members.remove(0);
        Ok(Self { world, members, judges, support: Some(Support::new(system, settings, transitions)) })
    }

    /// A single world, as the paper has it.
    pub fn single(world: WorldModel) -> Self {
        Self { world, members: Vec::new(), judges: Vec::new(), support: None }
    }

    /// All members, the first one first.
    pub fn all_members(&self) -> impl Iterator<Item = &WorldModel> {
        std::iter::once(&self.world).chain(&self.members)
    }

    /// The same worlds whose steps cost something else besides their reward. That is learned before costs, so that nothing has
    /// to be learned again.
    pub fn with_costs(&self, costs: Option<&str>) -> Self {
        let of = |model: &WorldModel| WorldModel {
            known: KnownParts::with_costs(model.known.as_ref(), costs.map(str::to_owned)),
            ..model.clone()
        };
        let all = |models: &[WorldModel]| models.iter().map(of).collect();
        Self {
            world: of(&self.world),
            members: all(&self.members),
            judges: all(&self.judges),
            support: self.support.clone(),
        }
    }

    /// The members on lanes, under a user's caution.
    pub fn on_lanes(&self, caution: f64) -> Result<Vec<Box<dyn World>>> {
        self.all_members()
            .map(|model| -> Result<Box<dyn World>> {
                let world = NetworkWorld::new(model)?;
                Ok(match &self.support {
                    Some(support) if caution > 0.0 => Box::new(CautiousWorld::new(world, support, caution)),
                    _ => Box::new(world),
                })
            })
            .collect()
    }

    /// Checks worlds that came from a file; the error says what is wrong with them.
    pub fn validate(&self) -> std::result::Result<(), String> {
        for (index, model) in self.all_members().chain(&self.judges).enumerate() {
            model
                .validate()
                .map_err(|fault| if index == 0 { fault } else { format!("world {}: {fault}", index + 1) })?;
            if (&model.states, &model.actions) != (&self.world.states, &self.world.actions) {
                return Err(format!("world {} is of other variables than the first", index + 1));
            }
        }
        match self.support.as_ref().and_then(|support| support.fault(self.world.states.len())) {
            Some(fault) => Err(format!("its ranges are broken: {fault}")),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::training::Depth;
    use crate::{TrainedNetwork, TrainingJob, Workshop};
    use fpsrl_base::progress::{Event, Progress};
    use fpsrl_data::DataSettings;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// A symmetric plant, settings of small worlds, and a log.
    fn parts(samples: usize) -> (System, WorldSettings, Transitions) {
        let system = System::benchmark("cart-pole-balancing").unwrap();
        let data = DataSettings { samples, ..DataSettings::for_plant(system.plant()) };
        let log = fpsrl_data::generate(&system, &data, &Progress::silent()).unwrap();
        let settings =
            WorldSettings { mirror: true, epochs: 4, members: 3, layers: Depth::Layers(1), ..WorldSettings::default() };
        (system, settings, log)
    }

    #[test]
    fn members_differ_and_the_judge_saw_other_episodes() {
        let (system, settings, log) = parts(6_000);
        let shares = Shares::new(&system, &settings, &log);
        let episodes = |log: &Transitions| log.episode.iter().copied().collect::<std::collections::BTreeSet<u64>>();
        assert!(episodes(&shares.members).is_disjoint(&episodes(&shares.judge)));
        assert_eq!(shares.members.len() + shares.judge.len(), log.len());
        assert!((shares.judge.len() as f64 / log.len() as f64 - 0.2).abs() < 0.05);
        let worlds = LearnedWorlds::learn(&system, &settings, &log, &Progress::silent()).unwrap();
        assert_eq!((worlds.members.len(), worlds.judges.len()), (2, 3));
        assert_eq!(worlds.validate(), Ok(()));
        let step = |world: &WorldModel| world.step(&[0.3, 1.0, 0.2, -0.5], &[4.0]).0[1];
        let steps: Vec<f64> = worlds.all_members().chain(&worlds.judges).map(step).collect();
        for (index, value) in steps.iter().enumerate() {
            assert!(steps[..index].iter().all(|other| other != value), "{steps:?}");
            assert!((value - steps[0]).abs() < 0.2, "{steps:?}");
        }
    }

    #[test]
    fn other_costs_change_the_reward_of_every_world_and_nothing_else() {
        let (system, settings, log) = parts(6_000);
        let worlds = LearnedWorlds::learn(&system, &settings, &log, &Progress::silent()).unwrap();
        // It is parsed once here, and must not be what the others go by.
        let cheap = worlds.with_costs(Some("0.5 * abs(force)"));
        let step = |world: &WorldModel| world.step(&[0.3, 1.0, 0.2, -0.5], &[4.0]);
        let all = |worlds: &LearnedWorlds| -> Vec<(Vec<f64>, f64)> {
            worlds.all_members().chain(&worlds.judges).map(step).collect()
        };
        let (free, half, dear) = (all(&worlds), all(&cheap), all(&cheap.with_costs(Some("2.0 * abs(force)"))));
        assert_eq!(free.len(), 6);
        for ((free, half), dear) in free.iter().zip(&half).zip(&dear) {
            assert!(free.0 == half.0 && free.0 == dear.0);
            assert!((free.1 - half.1 - 2.0).abs() < 1e-9 && (free.1 - dear.1 - 8.0).abs() < 1e-9);
        }
        assert_eq!(cheap.with_costs(None), worlds);
    }

    #[test]
    fn a_short_log_keeps_all_rows_for_the_members() {
        let (system, settings, log) = parts(1_000);
        let shares = Shares::new(&system, &settings, &log);
        assert!(shares.judge.is_empty());
        assert_eq!(shares.members, log);
    }

    /// Trains in this process what goes elsewhere, the last job first.
    struct Here(Workshop);

    impl Trainers for Here {
        fn train(
            &self,
            jobs: &[TrainingJob],
            progress: &Progress,
            done: &(dyn Fn(usize, f64) + Sync),
        ) -> Result<Vec<TrainedNetwork>> {
            let train = |(place, job): (usize, &TrainingJob)| {
                let network = self.0.train(job, progress)?;
                done(place, network.validation_error);
                Ok(network)
            };
            let mut networks = jobs.iter().enumerate().rev().map(train).collect::<Result<Vec<_>>>()?;
            networks.reverse();
            Ok(networks)
        }
    }

    #[test]
    fn networks_that_were_trained_elsewhere_are_the_same() {
        let (system, mut settings, log) = parts(6_000);
        (settings.layers, settings.restarts, settings.epochs) = (Depth::Auto, 2, 2);
        let here = LearnedWorlds::learn(&system, &settings, &log, &Progress::silent()).unwrap();
        let total = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&total);
        let progress = Progress::new(move |event| {
            if let Event::Advanced { done, .. } = event {
                counted.fetch_max(*done, Ordering::Relaxed);
            }
        });
        let workshop = Here(Workshop::new(&system, &settings, &log));
        let there = LearnedWorlds::learn_on(&system, &settings, &log, Some(&workshop), &progress).unwrap();
        assert_eq!(here.judges.len(), 3);
        assert_eq!(there, here);
        // Members and judge, the first of each three times as long as another.
        assert_eq!(total.load(Ordering::Relaxed), 2 * (3 + 2) * 1_000);
    }

    #[test]
    fn what_is_nobodys_job_is_refused() {
        let (system, settings, log) = parts(1_500);
        let workshop = Workshop::new(&system, &settings, &log);
        let job = TrainingJob { judge: false, member: 0, quantity: 0, layers: 1, restart: 0, whole: true, cost: 1 };
        assert!(workshop.train(&job, &Progress::silent()).is_ok());
        for job in [
            TrainingJob { quantity: 99, ..job },
            TrainingJob { layers: 4, ..job },
            TrainingJob { layers: 0, ..job },
            TrainingJob { restart: 99, ..job },
            TrainingJob { judge: true, ..job },
        ] {
            assert!(workshop.train(&job, &Progress::silent()).is_err(), "{job:?}");
        }
    }

    #[test]
    fn the_number_of_threads_changes_nothing() {
        let (system, settings, log) = parts(1_500);
        let with_threads = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| LearnedWorlds::learn(&system, &settings, &log, &Progress::silent()).unwrap())
        };
        assert_eq!(with_threads(1), with_threads(2));
    }
}
