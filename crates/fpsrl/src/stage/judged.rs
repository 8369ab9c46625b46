//! The fourth artefact: a policy, and everything that is known of what it is worth.

use std::sync::Arc;
use std::time::Instant;

use fpsrl_base::error::Result;
use fpsrl_base::files;
use fpsrl_base::progress::{Progress, Stage, Status};
use fpsrl_engine::policy::{FuzzyKernel, FuzzyPolicy, Policy};
use fpsrl_engine::rollout::StartStates;
use fpsrl_engine::simd::Numerics;
use fpsrl_engine::world::World;
use fpsrl_exchange::export::{Provenance, covered_ranges};
use fpsrl_explain::TOLERANCE;
use fpsrl_report::{Material, OtherRun, Report, report};
use fpsrl_search::EvaluationSettings;
use fpsrl_search::baseline::behaviour::{LoggedReturn, clone_of_the_log, logged_return};
use fpsrl_search::baseline::ceiling::{self, Ceiling, Plans};
use fpsrl_search::baseline::pi::{self, PiKernel};
use fpsrl_search::figures::{Behaviour, Front, Summary};
use fpsrl_search::gain::{Gain, Grounds};
use fpsrl_search::promise::Promise;
use fpsrl_search::returns::{mean, plain_sums, true_returns, world_returns};
use fpsrl_search::search::{SearchOptions, SearchRecord};
use fpsrl_search::signs::signs;
use fpsrl_search::trade::Trade;

use super::{Found, Source, Worlds, fitted};
use crate::problem::Problem;

/// A policy, what it promises, what the judge says, and how it does where it had not been searched.
#[derive(Clone)]
pub struct Judged {
    worlds: Worlds,
    problem: Arc<Problem>,
    policy: Arc<FuzzyPolicy>,
    summary: Summary,
    records: Arc<Vec<SearchRecord>>,
    front: Option<Arc<(Front, Vec<FuzzyPolicy>)>>,
    trade: Option<Arc<Trade>>,
    numerics: Numerics,
}

/// What a report is made of, besides what is judged.
#[derive(Clone, Debug)]
pub struct ReportOptions {
    /// What the simple policy may lose, as a share of the way from doing nothing to the whole policy.
    pub tolerance: f64,
    /// Directories of other runs of the same problem, whose rules are laid over those of this one.
    pub overlay: Vec<std::path::PathBuf>,
}

impl Default for ReportOptions {
    fn default() -> Self {
        Self { tolerance: TOLERANCE, overlay: Vec::new() }
    }
}

impl Found {
    /// Chooses the first candidate that keeps its promise, and scores it on the worlds and, where there is one, on the true
    /// plant.
    pub fn judge(&self, evaluation: &EvaluationSettings, progress: &Progress) -> Result<Judged> {
        evaluation.check()?;
        let choice = self.choose(evaluation)?;
        let problem = Problem { evaluation: evaluation.clone(), ..self.problem().clone() };
        let judged = Judged {
            worlds: self.worlds().clone(),
            problem: Arc::new(problem),
            summary: self.summary(&choice)?,
            front: self.judged_front(&choice.policy)?.map(Arc::new),
            policy: Arc::new(choice.policy),
            records: Arc::new(self.records().to_vec()),
            trade: None,
            numerics: self.options().numerics,
        };
        judged.evaluated(progress)
    }
}

impl Worlds {
    /// Scores a policy from elsewhere, such as an expert's. Its variables are matched by their names.
    pub fn judge(&self, policy: &FuzzyPolicy, evaluation: &EvaluationSettings, progress: &Progress) -> Result<Judged> {
        evaluation.check()?;
        let problem = Problem { evaluation: evaluation.clone(), ..self.problem().clone() };
        let numerics = SearchOptions::of(&problem.search, true).numerics;
        let summary = self.summary(&problem)?;
        let policy = fitted(policy, self.system(), "the problem".as_ref())?;
        Judged::of(self, problem, policy, summary, numerics).evaluated(progress)
    }
}

impl Judged {
    /// A policy with the figures that are known of it so far.
    pub(crate) fn of(
        worlds: &Worlds,
        problem: Problem,
        policy: FuzzyPolicy,
        summary: Summary,
        numerics: Numerics,
    ) -> Self {
        Self {
            worlds: worlds.clone(),
            problem: Arc::new(problem),
            policy: Arc::new(policy),
            summary,
            records: Arc::default(),
            front: None,
            trade: None,
            numerics,
        }
    }

    /// The same, with how its search went.
    pub(crate) fn searched(mut self, records: Vec<SearchRecord>, front: Option<(Front, Vec<FuzzyPolicy>)>) -> Self {
        self.records = Arc::new(records);
        self.front = front.map(Arc::new);
        self
    }

    /// The same, with what one cost buys.
    pub(crate) fn traded(mut self, trade: Option<Trade>) -> Self {
        self.trade = trade.map(Arc::new);
        self
    }

    /// Scores the policy. A promise that is known stays; without one it is made.
    pub(crate) fn evaluated(mut self, progress: &Progress) -> Result<Self> {
        let began = Instant::now();
        let (system, source) = (self.worlds.system(), self.worlds.source());
        let starts = self.problem.evaluation_starts();
        progress.begin(Stage::Evaluate, 2);
        let kernel = FuzzyKernel::new(&self.policy);
        let members = source.on_lanes(system, 0.0)?;
        let model_return = self.mean_over(&members, &kernel);
        let plain_sum = match system.discount_q() < 1.0 {
            true => self.mean_of(&members, |world| plain_sums(system, world, &kernel, &starts, self.numerics)),
            false => model_return,
        };
        progress.update(Stage::Evaluate, 1, Status::At("on the world model"));
        let act = |state: &[f64]| self.policy.act(state);
        let true_return = system.plant().map(|plant| mean(&true_returns(system, plant, act, &starts)));
        progress.update(Stage::Evaluate, 2, Status::At("on the plant"));
        progress.end(Stage::Evaluate);

        let promise = match self.summary.promise.take() {
            Some(promise) => promise,
            None => source.promise(system, &self.policy, &self.problem.judging_starts(), self.numerics)?,
        };
        let gain = self.gain(&members, &kernel, &promise, &starts)?;
        let behaviour = self.behaviour(&members, &gain)?;
        source.check()?;
        let success = system.success();
        let summary = &mut self.summary;
        let [low, high] = promise.interval;
        summary.promise_kept = true_return.map(|truth| (low..=high).contains(&truth));
        summary.promise = Some(promise);
        summary.rules = self.policy.rule_count();
        summary.model_return = Some(model_return);
        summary.plain_sum = Some(plain_sum);
        summary.true_return = true_return;
        summary.gap = true_return.map(|truth| truth - model_return);
        summary.behaviour = behaviour;
        if let (Some(verdict), Some(promise)) = (summary.verdict.take(), &summary.promise) {
            let verdict = verdict.on_worlds();
            let on_controller = gain.verdict(&verdict, promise);
            summary.verdict = Some(verdict.on_controller(on_controller));
        }
        summary.gain = Some(gain);
        summary.success_threshold = success;
        summary.success = success.zip(true_return).map(|(threshold, truth)| truth >= threshold);
        summary.signs = signs(summary);
        summary.threads = rayon::current_num_threads();
        summary.took("evaluate", began.elapsed().as_secs_f64());
        Ok(self)
    }

    /// A policy's mean return over members, from the start states of the evaluation.
    fn mean_over(&self, members: &[Box<dyn World>], policy: &dyn Policy) -> f64 {
        let starts = self.problem.evaluation_starts();
        self.mean_of(members, |world| world_returns(self.worlds.system(), world, policy, &starts, self.numerics))
    }

    /// The mean over members of what each gives from the start states.
    fn mean_of(&self, members: &[Box<dyn World>], returns: impl Fn(&dyn World) -> Vec<f64>) -> f64 {
        mean(&members.iter().map(|world| mean(&returns(world.as_ref()))).collect::<Vec<f64>>())
    }

    /// The policy beside what the plant does today, and beside P and PI controllers that are tuned on the same worlds.
    fn gain(
        &self,
        members: &[Box<dyn World>],
        policy: &dyn Policy,
        promise: &Promise,
        starts: &StartStates,
    ) -> Result<Gain> {
        let Problem { system, data, search, .. } = &*self.problem;
        let worlds: Vec<&dyn World> = members.iter().map(Box::as_ref).collect();
        let tuned = |integral: bool| {
            let starts = self.problem.search_starts();
            let tuned = pi::tune(system, search, &worlds, &starts, integral, self.numerics)?;
            let kernel = PiKernel::new(system, &tuned.controller);
            Some((tuned.controller, kernel))
        };
        let (proportional, integral) = (tuned(false), tuned(true));
        let judges = self.worlds.source().judges_on_lanes()?;
        let grounds = Grounds {
            system,
            transitions: self.worlds.log().transitions(),
            random: data.log.is_none(),
            members,
            judges: &judges,
            starts,
            numerics: self.numerics,
        };
        let pi = integral.as_ref().map(|(controller, kernel)| (controller.clone(), kernel as &dyn Policy));
        let p = proportional.as_ref().map(|(_, kernel)| kernel as &dyn Policy);
        grounds.compare(policy, promise, pi, p)
    }

    /// What the plant does today, beside what the policy promises; none for a log that was generated, whose actions are
    /// random.
    fn behaviour(&self, members: &[Box<dyn World>], gain: &Gain) -> Result<Option<Behaviour>> {
        let Problem { system, data, policy, search, .. } = &*self.problem;
        if data.log.is_none() {
            return Ok(None);
        }
        let transitions = self.worlds.log().transitions();
        // Where the log can be followed from the same starts, that is what it does today.
        let logged = match gain.today_is.as_str() {
            "log" => LoggedReturn { value: gain.today, windows: gain.starts },
            _ => logged_return(system, transitions),
        };
        let (clone, clone_error) = clone_of_the_log(system, policy, search, transitions, self.numerics);
        Ok(Some(Behaviour {
            logged_return: logged.value,
            windows: logged.windows,
            cloned_return: self.mean_over(members, &FuzzyKernel::new(&clone)),
            clone_error,
        }))
    }

    /// The rules.
    pub fn policy(&self) -> &FuzzyPolicy {
        &self.policy
    }

    /// Every figure that is known.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// How its search went, a row a round; empty for a policy from elsewhere.
    pub fn records(&self) -> &[SearchRecord] {
        &self.records
    }

    /// The policies of which none is both simpler and better, if they were searched, with their table.
    pub fn front(&self) -> Option<(&Front, &[FuzzyPolicy])> {
        self.front.as_deref().map(|(front, policies)| (front, policies.as_slice()))
    }

    /// The same with other figures.
    pub(crate) fn with_summary(mut self, summary: Summary) -> Self {
        self.summary = summary;
        self
    }

    /// The worlds that it was judged on.
    pub fn worlds(&self) -> &Worlds {
        &self.worlds
    }

    /// The problem, with the settings of every stage that led here.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// The same with how much any policy could reach on the world model; `helpers` are policies that the plans know besides
    /// the rules.
    pub fn with_ceiling(mut self, helpers: &[&dyn Policy], progress: &Progress) -> Result<Self> {
        let began = Instant::now();
        let source = self.worlds.source();
        let rules = FuzzyKernel::new(&self.policy);
        let budget = Ceiling::budget(self.worlds.system(), source.is_simulator(), self.summary.model_steps);
        let plans = Plans {
            starts: self.problem.evaluation_starts(),
            rules: Some(&rules),
            helpers: helpers.to_vec(),
            budget,
            numerics: self.numerics,
        };
        self.summary.ceiling = Some(ceiling::ceiling(self.worlds.system(), source, plans, progress)?);
        self.summary.took("ceiling", began.elapsed().as_secs_f64());
        Ok(self)
    }

    /// The page about it, and the policy without the conditions that do not matter.
    pub fn report(&self, tolerance: f64, progress: &Progress) -> Result<Report> {
        self.report_beside(tolerance, None, Vec::new(), progress)
    }

    /// The same, with the returns of NFQ on model and plant if it has been run, and the rules of other runs.
    pub(crate) fn report_beside(
        &self,
        tolerance: f64,
        nfq: Option<(f64, Option<f64>)>,
        others: Vec<OtherRun>,
        progress: &Progress,
    ) -> Result<Report> {
        let raw = self.summary.text()?;
        let material = Material {
            policy: self.policy().clone(),
            worlds: self.worlds.source().clone(),
            transitions: self.worlds.log().transitions().clone(),
            problem_text: self.problem.to_toml(),
            search_starts: self.problem.search_starts(),
            starts: self.problem.evaluation_starts(),
            numerics: self.numerics,
            summary: self.summary.clone(),
            raw: serde_json::from_str(&raw).unwrap_or_default(),
            records: self.records.to_vec(),
            nfq,
            front: self.front.as_deref().cloned(),
            trade: self.trade.as_deref().cloned(),
            others,
            system: self.problem.system.clone(),
            world: self.problem.world.clone(),
        };
        report(material, tolerance, progress)
    }

    /// What can be exported of it: the rules, the ranges of the log as a guard, and where they come from.
    pub fn source(&self) -> Result<Source> {
        let system = &self.problem.system;
        let text = files::to_json(self.policy())?;
        let summary = self.summary.text()?;
        let provenance =
            Provenance::new(files::sha256_of(text.as_bytes()), serde_json::from_str(&summary).ok().as_ref());
        let ranges = covered_ranges(&self.policy.states, self.worlds.log().transitions());
        Ok(Source::of(system, self.policy().clone(), ranges, provenance))
    }
}
