//! Trainings on other machines: what is to be trained as small jobs, and the workshop where they are done.
//!
//! A job is one start of one network. All starts of a network come first, a part of the epochs each; the best of them is trained
//! again from its beginning to its end, because a training's own state is larger than what it costs to repeat that part. The
//! weights are those of [`fit`](super::fit), to the last bit.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::{DepthError, Member, Network, Passes, Plan, Prepared, Quantity, begin, chosen, cost, shape};
use crate::WorldSettings;
use crate::model::{VariableModel, WorldModel};
use crate::shares::Shares;
use fpsrl_base::error::{Error, Result};
use fpsrl_base::progress::Progress;
use fpsrl_data::{System, Transitions};

/// What a workshop keeps prepared: more than that many quantities would take memory for nothing.
const MOST_PREPARED: usize = 8;

/// Which network is to be trained, from which start, and how far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainingJob {
    /// Whether it belongs to the judge, who learns from other episodes.
    pub judge: bool,
    /// The member of the ensemble.
    pub member: u32,
    /// The state variable; the reward comes after them.
    pub quantity: usize,
    /// Hidden layers.
    pub layers: usize,
    /// The start.
    pub restart: usize,
    /// Whether it goes to its end; else only as far as every start goes.
    pub whole: bool,
    /// What it is expected to cost, in arbitrary units.
    pub cost: u64,
}

/// A network that was trained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainedNetwork {
    /// Its error on the validation rows.
    pub validation_error: f64,
    /// Its error on the rows that decide nothing; only of a training that went to its end.
    pub generalisation_error: f64,
    /// Epochs that it took.
    pub epochs: usize,
    /// Its weights; only of a training that went to its end.
    pub parameters: Vec<f64>,
}

/// Whoever trains networks elsewhere.
pub trait Trainers: Send + Sync {
    /// The results of jobs, in their order. `done` is called with a job's place and its validation error as soon as it is done.
    /// A request to stop is heard within a second, and ends in [`Error::Stopped`].
    fn train(
        &self,
        jobs: &[TrainingJob],
        progress: &Progress,
        done: &(dyn Fn(usize, f64) + Sync),
    ) -> Result<Vec<TrainedNetwork>>;
}

impl Plan {
    /// The same as [`Plan::run`], by whoever trains elsewhere.
    pub(super) fn run_elsewhere(
        &self,
        settings: &WorldSettings,
        quantities: &[Quantity],
        member: &Member<'_>,
        trainers: &dyn Trainers,
        progress: &Progress,
    ) -> Result<Vec<VariableModel>> {
        let job = |&(index, depth): &(usize, usize), restart: usize, whole: bool| TrainingJob {
            judge: member.is_judge,
            member: member.number,
            quantity: index,
            layers: depth,
            restart,
            whole,
            cost: cost(settings, &quantities[index], depth)
                * quantities[index].training.rows() as u64
                * if whole { settings.epochs } else { self.probe } as u64,
        };
        let learns = |task: &&(usize, usize)| !quantities[task.0].constant && quantities[task.0].needs_network;
        let (tasks, idle): (Vec<&(usize, usize)>, Vec<_>) = self.tasks.iter().partition(learns);
        for &&(index, depth) in &idle {
            self.count(self.units(settings, &quantities[index], depth), &quantities[index], 0.0, progress);
        }
        let done = |jobs: &[TrainingJob], of: usize, error: f64| {
            let (job, quantity) = (&jobs[of], &quantities[jobs[of].quantity]);
            // Where every start went already, what is left is not told twice.
            let epochs = match job.whole {
                true if self.restarts > 1 => settings.epochs - self.probe,
                true => settings.epochs,
                false => self.probe,
            };
            self.count(epochs as u64 * cost(settings, quantity, job.layers), quantity, error, progress);
        };
        let mut best: Vec<usize> = vec![0; tasks.len()];
        if self.restarts > 1 {
            let starts: Vec<TrainingJob> = tasks
                .iter()
                .flat_map(|task| (0..self.restarts).map(move |restart| (task, restart)))
                .map(|(task, restart)| job(task, restart, false))
                .collect();
            let probed = trained(trainers, &starts, progress, &|of, error| done(&starts, of, error))?;
            for (best, probed) in best.iter_mut().zip(probed.chunks(self.restarts)) {
                for (restart, one) in probed.iter().enumerate() {
                    if one.validation_error < probed[*best].validation_error {
                        *best = restart;
                    }
                }
            }
        }
        let whole: Vec<TrainingJob> =
            tasks.iter().zip(&best).map(|(task, &restart)| job(task, restart, true)).collect();
        let finished = trained(trainers, &whole, progress, &|of, error| done(&whole, of, error))?;
        let mut networks: Vec<Network> = Vec::new();
        for (&&(index, depth), one) in tasks.iter().zip(finished) {
            let TrainedNetwork { validation_error, generalisation_error, epochs, parameters } = one;
            if parameters.len() != shape(settings, &quantities[index], depth).parameters() {
                return Err(Error::Internal("a network came back with other weights than it has"));
            }
            networks.push((
                index,
                depth,
                DepthError { layers: depth, validation_error, generalisation_error, epochs },
                parameters,
            ));
        }
        // Nothing to learn: all weights 0 predict the constant, exactly.
        networks.extend(idle.into_iter().map(|&(index, depth)| {
            let error = DepthError { layers: depth, validation_error: 0.0, generalisation_error: 0.0, epochs: 0 };
            (index, depth, error, vec![0.0; shape(settings, &quantities[index], depth).parameters()])
        }));
        chosen(settings, quantities, &networks)
    }
}

fn trained(
    trainers: &dyn Trainers,
    jobs: &[TrainingJob],
    progress: &Progress,
    done: &(dyn Fn(usize, f64) + Sync),
) -> Result<Vec<TrainedNetwork>> {
    if progress.stop_requested() {
        return Err(Error::Stopped { stage: "fit" });
    }
    if jobs.is_empty() {
        return Ok(Vec::new());
    }
    let networks = trainers.train(jobs, progress, done)?;
    if networks.len() == jobs.len() {
        Ok(networks)
    } else {
        Err(Error::Internal("trainings came back in other numbers"))
    }
}

/// Where training jobs are done: a log, shared out as an ensemble shares it.
///
/// ```
/// use fpsrl_base::progress::Progress;
/// use fpsrl_data::{DataSettings, System, generate};
/// use fpsrl_world::{TrainingJob, WorldSettings, Workshop};
/// let system = System::benchmark("mountain-car")?;
/// let data = DataSettings { samples: 400, ..DataSettings::for_plant(system.plant()) };
/// let settings = WorldSettings { epochs: 5, ..WorldSettings::default() };
/// let log = generate(&system, &data, &Progress::silent())?;
/// let workshop = Workshop::new(&system, &settings, &log);
/// let job = TrainingJob { judge: false, member: 1, quantity: 0, layers: 1, restart: 0, whole: true, cost: 1 };
/// let network = workshop.train(&job, &Progress::silent())?;
/// assert!(network.validation_error < 1.0 && !network.parameters.is_empty());
/// # Ok::<(), fpsrl_base::Error>(())
/// ```
pub struct Workshop {
    system: System,
    settings: WorldSettings,
    shares: Shares,
    /// The quantities of members that were asked for last.
    prepared: Mutex<HashMap<(bool, u32, usize), Arc<Prepared>>>,
}

impl Workshop {
    /// For the worlds of a system that are learned from a log.
    pub fn new(system: &System, settings: &WorldSettings, transitions: &Transitions) -> Self {
        let shares = Shares::new(system, settings, transitions);
        Self { system: system.clone(), settings: settings.clone(), shares, prepared: Mutex::default() }
    }

    /// Does a job.
    pub fn train(&self, job: &TrainingJob, progress: &Progress) -> Result<TrainedNetwork> {
        if job.restart >= self.settings.restarts || job.layers == 0 || job.layers > 3 {
            return Err(Error::Internal("a training was asked for that the settings do not have"));
        }
        let prepared = self.prepared(job)?;
        let unknown = Error::Internal("a training was asked for of a variable that is not there");
        let quantity = prepared.quantities.first().ok_or(unknown)?;
        let quiet = Progress::silent().stopped_by(&progress.stop());
        let plan = Plan::new(&self.settings, &[], None);
        let nothing = Error::Internal("a training was asked for where there is nothing to learn");
        let begun = begin(&prepared.own, &self.settings, quantity, job.quantity, job.layers, job.restart);
        let mut training = begun.ok_or(nothing)?;
        plan.advance(&mut training, plan.probe, 0, quantity, &quiet);
        let mut parameters = Vec::new();
        let mut generalisation_error = 0.0;
        if job.whole {
            plan.advance(&mut training, self.settings.epochs - plan.probe, 0, quantity, &quiet);
            let shape = shape(&self.settings, quantity, job.layers);
            generalisation_error = Passes::new(&shape).error(training.best(), &quantity.generalisation);
            parameters = training.best().to_vec();
        }
        if progress.stop_requested() {
            return Err(Error::Stopped { stage: "fit" });
        }
        let (validation_error, epochs) = (training.error(), training.epochs());
        Ok(TrainedNetwork { validation_error, generalisation_error, epochs, parameters })
    }

    fn prepared(&self, job: &TrainingJob) -> Result<Arc<Prepared>> {
        let key = (job.judge, job.member, job.quantity);
        let known = || self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(prepared) = known().get(&key) {
            return Ok(Arc::clone(prepared));
        }
        let log = if job.judge { &self.shares.judge } else { &self.shares.members };
        let number = job.member as usize;
        let left_out: Vec<bool> = self.shares.left_out_by.iter().map(|group| *group == number).collect();
        let left_out = (!job.judge && number > 0).then_some(left_out.as_slice());
        let member = Member { is_judge: job.judge, number: job.member, like: None, left_out };
        let prepared = Prepared::new(&self.system, &self.settings, log, &member, Some(job.quantity))?;
        let prepared = Arc::new(prepared);
        let mut known = known();
        if known.len() >= MOST_PREPARED {
            known.clear();
        }
        known.insert(key, Arc::clone(&prepared));
        Ok(prepared)
    }
}

/// The members of an ensemble in two steps: the first, then all others at once, because they share nothing but its choices.
pub(crate) fn members_elsewhere(
    count: usize,
    first: Progress,
    others: &[Progress],
    learn: impl Fn(usize, Option<&WorldModel>, &Progress) -> Result<WorldModel> + Sync,
) -> Result<Vec<WorldModel>> {
    let first = learn(0, None, &first)?;
    // Each waits for machines far away; threads of this one's pool are for work.
    let learned: Vec<Result<WorldModel>> = std::thread::scope(|scope| {
        let (learn, first) = (&learn, &first);
        let begun: Vec<_> = (1..count)
            .zip(others)
            .map(|(number, progress)| scope.spawn(move || learn(number, Some(first), progress)))
            .collect();
        let panicked = |_| Err(Error::Internal("the training of a member panicked"));
        begun.into_iter().map(|one| one.join().unwrap_or_else(panicked)).collect()
    });
    std::iter::once(Ok(first)).chain(learned).collect()
}
