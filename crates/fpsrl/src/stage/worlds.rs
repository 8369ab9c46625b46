//! The second artefact: the worlds that were learned from a log, or the simulator that is the world.

use std::sync::Arc;
use std::time::Instant;

use fpsrl_base::error::{Error, Result};
use fpsrl_base::progress::Progress;
use fpsrl_data::System;
use fpsrl_data::split::FEWEST_ROWS;
use fpsrl_data::tape::Tape;
use fpsrl_search::WorldSource;
use fpsrl_search::figures::Summary;
use fpsrl_world::process::ProcessWorld;
use fpsrl_world::quality::Verdict;
use fpsrl_world::{LearnedWorlds, Simulator, WorldSettings};

use super::{Cluster, Log};
use crate::problem::Problem;

/// Worlds, and the log that they are of.
#[derive(Clone)]
pub struct Worlds {
    log: Log,
    problem: Arc<Problem>,
    source: Arc<WorldSource>,
    seconds: f64,
}

impl Log {
    /// Learns worlds from this log: an ensemble, a judge from episodes that no member sees, and the verdict on them.
    ///
    /// ```
    /// use fpsrl::{Log, Problem, Progress};
    /// let mut problem = Problem::benchmark("mountain-car")?;
    /// (problem.data.samples, problem.world.epochs, problem.world.members) = (400, 3, 2);
    /// let log = Log::new(&problem, &Progress::silent())?;
    /// let worlds = log.fit(&problem.world, &Progress::silent())?;
    /// assert!(worlds.verdict().is_some());
    /// # Ok::<(), fpsrl::Error>(())
    /// ```
    pub fn fit(&self, settings: &WorldSettings, progress: &Progress) -> Result<Worlds> {
        self.fit_on(settings, None, progress)
    }

    /// The same; networks are trained on other machines if there are any. The worlds are the same.
    pub fn fit_on(
        &self,
        settings: &WorldSettings,
        cluster: Option<&dyn Cluster>,
        progress: &Progress,
    ) -> Result<Worlds> {
        let began = Instant::now();
        settings.check()?;
        let settings = settings.for_system(self.system())?;
        let source = if settings.process.is_some() {
            // Whoever cannot be started is better known before than after the search.
            let tape = Tape::of(self.system(), self.transitions())?.map(Arc::new);
            WorldSource::Simulator(simulator(self.system(), &settings)?, tape)
        } else {
            let rows = self.transitions().len();
            if rows < FEWEST_ROWS {
                let rule = format!("a world model needs at least {FEWEST_ROWS} transitions");
                return Err(Error::setting("the log", format!("{rows} rows"), rule, "use a longer log"));
            }
            // Where rollouts start later is no part of what is learned and looked at here.
            let system = self.system().without_start_pool();
            let machines = cluster.map(|cluster| cluster.learning(self, &settings)).transpose()?;
            let (log, machines) = (self.transitions(), machines.as_deref());
            let learned = LearnedWorlds::learn_on(&system, &settings, log, machines, progress)?;
            let learned = learned.following(&system, self.transitions(), settings.noise)?;
            let starts = system.evaluation_starts(self.problem().evaluation.start_states);
            let verdict = Verdict::of(&system, &settings, self.transitions(), &learned, &starts);
            WorldSource::Learned(Box::new((learned, Some(verdict))))
        };
        let problem = Problem { world: settings, ..self.problem().clone() };
        let seconds = began.elapsed().as_secs_f64();
        Ok(Worlds { log: self.clone(), problem: Arc::new(problem), source: Arc::new(source), seconds })
    }
}

impl Worlds {
    /// Those that stand in a file.
    pub(crate) fn stored(log: Log, source: WorldSource) -> Self {
        let problem = Arc::new(log.problem().clone());
        Self { log, problem, source: Arc::new(source), seconds: 0.0 }
    }

    /// The same for another problem of the same variables and the same log, such as one with another seed.
    pub(crate) fn for_problem(&self, problem: &Problem) -> Self {
        Self { problem: Arc::new(problem.clone()), ..self.clone() }
    }

    /// The same worlds whose steps cost something else besides their reward; refused of a process, whose rewards are its own.
    pub(crate) fn with_costs(&self, costs: Option<&str>) -> Result<Self> {
        let source = self.source.with_costs(costs).ok_or(Error::Internal("the costs of a process were to change"))?;
        Ok(Self { source: Arc::new(source), ..self.clone() })
    }

    /// The log that they are of.
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// The problem, with the settings that they were learned with.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// What is controlled.
    pub fn system(&self) -> &System {
        &self.problem.system
    }

    /// Where candidates are scored.
    pub fn source(&self) -> &WorldSource {
        &self.source
    }

    /// What was learned; none if a simulator is the world.
    pub fn learned(&self) -> Option<&LearnedWorlds> {
        match &*self.source {
            WorldSource::Learned(learned) => Some(&learned.0),
            WorldSource::Simulator(..) => None,
        }
    }

    /// How far they can be trusted; none if a simulator is the world.
    pub fn verdict(&self) -> Option<&Verdict> {
        match &*self.source {
            WorldSource::Learned(learned) => learned.1.as_ref(),
            WorldSource::Simulator(..) => None,
        }
    }

    /// Seconds that it took to learn them.
    pub fn seconds(&self) -> f64 {
        self.seconds
    }

    /// The figures of a problem so far, with what is known of log and worlds.
    pub fn summary(&self, problem: &Problem) -> Result<Summary> {
        let mut summary = problem.summary(self.log.transitions().len(), self.log.sha256()?);
        // What stands in a run directory took its time earlier, and that is noted there.
        let stage = if self.log.report().is_some() { "import" } else { "generate" };
        for (stage, seconds) in [(stage, self.log.seconds()), ("fit", self.seconds)] {
            if seconds > 0.0 {
                summary.took(stage, seconds);
            }
        }
        match &*self.source {
            WorldSource::Learned(worlds) => summary.set_world(&worlds.0, worlds.1.as_ref()),
            WorldSource::Simulator(..) => summary.members = Some(1),
        }
        Ok(summary)
    }
}

/// The simulator that is the world of a problem: the caller's own, or a process, which is started if that is permitted.
pub(crate) fn simulator(system: &System, settings: &WorldSettings) -> Result<Arc<dyn Simulator>> {
    if let Some(own) = &settings.simulator {
        return Ok(own.simulator());
    }
    let command = settings.process.as_deref().unwrap_or_default();
    let states: Vec<String> =
        system.states()[..system.current_states()].iter().map(|state| state.name.clone()).collect();
    let actions: Vec<String> = system.actions().iter().map(|action| action.name.clone()).collect();
    Ok(Arc::new(ProcessWorld::start(command, &states, &actions, settings.permission)?))
}
