//! What a run's policy is compared with: NFQ on the same log, and plans of PSO-P on the same world.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::directory::{NFQ, NFQ_CHECKPOINT, NFQ_ROWS, RunDirectory, SUMMARY, WORLD, remove};
use super::stages::mean;
use crate::baseline::nfq::{Nfq, NfqRecord, NfqSettings, NfqState};
use crate::baseline::pso_p::{PlanSettings, plan_returns};
use crate::baseline::{Linear, QPolicyKernel};
use crate::error::{Error, Result};
use crate::figures::{Ceiling, NfqResult, Summary};
use crate::files;
use crate::policy::{FuzzyKernel, FuzzyPolicy, Policy};
use crate::progress::{Progress, Stage};
use crate::search::{self, SearchOptions};

/// Rollouts that plans from a start state need to be good: as many start states are taken as the budget has of them.
pub(super) const ROLLOUTS: u64 = 8_000;

/// Start states that a ceiling is found from, at least and at most.
const CEILING_STARTS: [u64; 2] = [10, 100];

/// The share of the budget that goes to plans without the help of any policy.
const UNAIDED: f64 = 0.25;

/// The least time between two checkpoints of NFQ.
const CHECKPOINT_EVERY: Duration = Duration::from_secs(3);

/// What a checkpoint of NFQ holds.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct NfqCheckpoint {
    settings: NfqSettings,
    world_sha256: String,
    seconds: f64,
    state: NfqState,
}

impl RunDirectory {
    /// Runs NFQ on the log, scored on the world model. If it was interrupted with the same settings, it goes on.
    pub fn nfq(&self, settings: &NfqSettings, progress: &dyn Progress) -> Result<NfqResult> {
        let began = Instant::now();
        let problem = self.problem()?;
        let transitions = self.transitions(&problem)?;
        let worlds = self.run_worlds(&problem)?;
        let world = worlds.first(&problem.system)?;
        let world_sha256 = files::sha256(&self.file(WORLD))?;
        let numerics = SearchOptions::of(&problem.search, true).numerics;
        let mut nfq = Nfq::new(
            &problem.system,
            &transitions,
            world.as_ref(),
            &problem.search_starts(),
            settings.clone(),
            numerics,
        )?;
        let mut earlier_seconds = 0.0;
        let path = self.file(NFQ_CHECKPOINT);
        if path.exists() {
            // A checkpoint that is broken or of other settings is no loss: the work begins anew.
            if let Ok(checkpoint) = files::read_json::<NfqCheckpoint>(&path)
                && (&checkpoint.settings, &checkpoint.world_sha256) == (settings, &world_sha256)
                && nfq.restore(checkpoint.state).is_ok()
            {
                earlier_seconds = checkpoint.seconds;
            }
        }
        progress.begin(Stage::Nfq, settings.iterations as u64);
        let elapsed = || earlier_seconds + began.elapsed().as_secs_f64();
        let save = |nfq: &Nfq<'_>| {
            let (settings, world_sha256) = (settings.clone(), world_sha256.clone());
            let checkpoint = NfqCheckpoint { settings, world_sha256, seconds: elapsed(), state: nfq.state().clone() };
            files::write_json(&path, &checkpoint)
        };
        let mut due = Instant::now() + CHECKPOINT_EVERY;
        while !nfq.is_finished() {
            if progress.stop_requested() {
                save(&nfq)?;
                return Err(Error::Stopped { stage: "NFQ" });
            }
            let record = nfq.step();
            progress.update(Stage::Nfq, record.iteration as u64, &format_args!("best {:.3}", record.best));
            if Instant::now() >= due {
                save(&nfq)?;
                due = Instant::now() + CHECKPOINT_EVERY;
            }
        }
        progress.end(Stage::Nfq);

        let policy = nfq.best();
        let history = &nfq.state().history;
        let best = history.last().map_or(f64::NEG_INFINITY, |record| record.best);
        let starts = problem.evaluation_starts();
        let kernel = QPolicyKernel::new(&policy);
        let model_return = mean(&search::world_returns(&problem.system, world.as_ref(), &kernel, &starts, numerics));
        worlds.check()?;
        let act = |state: &[f64]| policy.act(state);
        let true_return =
            problem.system.plant().map(|plant| mean(&search::true_returns(&problem.system, plant, act, &starts)));
        let best_iteration = history.iter().find(|record| record.model_return == best).map_or(0, |best| best.iteration);
        let result = NfqResult {
            settings: settings.clone(),
            best_iteration,
            model_return,
            true_return,
            seconds: elapsed(),
            world_sha256: world_sha256.clone(),
            policy,
        };
        let prepared = [self.prepare_nfq_rows(history)?, files::prepare_json(&self.file(NFQ), &result)?];
        prepared.into_iter().try_for_each(files::Prepared::commit)?;
        remove(&path)?;
        Ok(result)
    }

    /// The result of NFQ, if it belongs to this problem and its world.
    pub fn nfq_result(&self) -> Result<NfqResult> {
        let problem = self.problem()?;
        let path = self.expect(NFQ, "fpsrl nfq")?;
        let result: NfqResult = files::read_json(&path)?;
        let hint = "run `fpsrl nfq` again".to_owned();
        if let Some(problem) = result.policy.fault(problem.system.states().len(), problem.system.actions().len()) {
            return Err(Error::Malformed { path, line: None, column: None, problem, hint });
        }
        if result.world_sha256 != files::sha256(&self.file(WORLD))? {
            let problem = "it was chosen on another world model".into();
            return Err(Error::Mismatch { path, other: self.file(WORLD), problem, hint });
        }
        Ok(result)
    }

    fn prepare_nfq_rows(&self, history: &[NfqRecord]) -> Result<files::Prepared> {
        files::prepare(&self.file(NFQ_ROWS), |file| {
            writeln!(file, "iteration,error,model_return,best")?;
            for NfqRecord { iteration, error, model_return, best } in history {
                writeln!(file, "{iteration},{error:?},{model_return:?},{best:?}")?;
            }
            Ok(())
        })
    }

    /// How much any policy could reach on the world model, for `summary.json`: plans begin from the rules and from every
    /// other policy that the directory knows.
    pub fn ceiling(&self, options: SearchOptions, progress: &dyn Progress) -> Result<Summary> {
        let began = Instant::now();
        let problem = self.problem()?;
        let policy = self.policy(&problem)?;
        // Others help where they can; one that is missing or does not fit is none the worse.
        let others = [self.simple_policy(&problem).ok(), self.start_policy(&problem).ok()];
        let mut policies: Vec<FuzzyPolicy> = std::iter::once(policy).chain(others.into_iter().flatten()).collect();
        policies.dedup();
        let budget = Ceiling::budget(&problem.system, problem.world.process.is_some(), self.summary()?.model_steps);
        let ceiling = self.ceiling_with(&policies, budget, options, progress)?;
        let mut summary = self.summary()?;
        summary.ceiling = Some(ceiling);
        summary.seconds.set("ceiling", began.elapsed().as_secs_f64());
        files::write_json(&self.file(SUMMARY), &summary)?;
        Ok(summary)
    }

    /// How much any policy could reach on the world model, found with so many model steps; no file is written.
    ///
    /// The first policy is the one that is measured, or doing nothing if there is none; the others, and that of NFQ if it
    /// has been run, help the plans. [`Ceiling::budget`] says how many steps are reasonable.
    pub fn ceiling_with(
        &self,
        policies: &[FuzzyPolicy],
        budget: u64,
        options: SearchOptions,
        progress: &dyn Progress,
    ) -> Result<Ceiling> {
        let problem = self.problem()?;
        let worlds = self.run_worlds(&problem)?;
        let world = worlds.first(&problem.system)?;
        let (world, numerics) = (world.as_ref(), options.numerics);
        let [fewest, most] = CEILING_STARTS;
        let count = (budget / (ROLLOUTS * problem.system.horizon() as u64)).clamp(fewest, most);
        let starts = problem.evaluation_starts().first(count as usize);
        let kernels: Vec<FuzzyKernel> = policies.iter().map(FuzzyKernel::new).collect();
        let nfq = self.nfq_result().ok();
        let nfq = nfq.as_ref().map(|result| QPolicyKernel::new(&result.policy));
        let mut pool: Vec<&dyn Policy> = kernels.iter().map(|kernel| kernel as &dyn Policy).collect();
        pool.extend(nfq.iter().map(|kernel| kernel as &dyn Policy));
        let nothing = Linear::idle(&problem.system);
        let returns_of = |policy: &dyn Policy| search::world_returns(&problem.system, world, policy, &starts, numerics);
        let idle = returns_of(&nothing);
        let own = kernels.first().map_or_else(|| idle.clone(), |kernel| returns_of(kernel));
        let without = (UNAIDED * budget as f64) as u64;
        let plans = |policies: &[&dyn Policy], budget: u64| {
            let settings = PlanSettings { budget, ..PlanSettings::default() };
            plan_returns(&problem.system, world, &starts, policies, settings, numerics, progress)
        };
        let unaided = plans(&[], without)?;
        let aided = plans(&pool, budget - without)?;
        worlds.check()?;
        let best: Vec<f64> = unaided.returns.iter().zip(&aided.returns).map(|(a, b)| a.max(*b)).collect();
        // A start state from which a world runs away says nothing about what can be reached.
        let columns = [&best, &unaided.returns, &own, &idle];
        let sound: Vec<usize> =
            (0..starts.len()).filter(|index| columns.iter().all(|column| column[*index].is_finite())).collect();
        if sound.is_empty() {
            return Err(Error::setting(
                "the world model",
                self.file(WORLD).display(),
                "from no start state does it give returns that are finite numbers",
                "look at its verdict, and learn it from more data",
            ));
        }
        let [ceiling, unaided_mean, policy, idle] =
            columns.map(|column| mean(&sound.iter().map(|index| column[*index]).collect::<Vec<f64>>()));
        Ok(Ceiling {
            ceiling,
            unaided: unaided_mean,
            policy,
            start_states: sound.len(),
            idle: Some(idle),
            share: Ceiling::share_of(policy, idle, ceiling),
            model_steps: Some(unaided.model_steps + aided.model_steps),
        })
    }
}
