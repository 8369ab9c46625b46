//! NFQ on the log of a run, scored on its worlds: what the rules are compared with.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::directory::RunDirectory;
use super::graph::{NFQ, NFQ_CHECKPOINT, NFQ_ROWS, REPORT, WORLD};
use crate::baseline::QPolicyKernel;
use crate::baseline::nfq::{Nfq, NfqRecord, NfqSettings, NfqState};
use crate::error::{Error, Result};
use crate::figures::NfqResult;
use crate::files;
use crate::progress::{Progress, Stage, Status};
use crate::search::SearchOptions;
use fpsrl_search::returns::{mean, true_returns, world_returns};

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
    pub fn nfq(&self, settings: &NfqSettings, progress: &Progress) -> Result<NfqResult> {
        let began = Instant::now();
        let problem = self.problem()?;
        let worlds = self.worlds(&problem)?;
        let transitions = worlds.log().transitions();
        let world = worlds.source().first(&problem.system)?;
        let world_sha256 = files::sha256(&self.file(WORLD))?;
        let numerics = SearchOptions::of(&problem.search, true).numerics;
        let mut nfq = Nfq::new(
            &problem.system,
            transitions,
            world.as_ref(),
            &problem.search_starts(),
            settings.clone(),
            numerics,
        )?;
        let mut earlier_seconds = 0.0;
        let path = self.file(NFQ_CHECKPOINT);
        if self.has(NFQ_CHECKPOINT)? {
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
            progress.update(
                Stage::Nfq,
                record.iteration as u64,
                Status::Best { value: record.best, doing: String::new() },
            );
            if Instant::now() >= due {
                save(&nfq)?;
                due = Instant::now() + CHECKPOINT_EVERY;
            }
        }
        progress.end(Stage::Nfq);

        let policy = nfq.best();
        let records = &nfq.state().records;
        let best = records.last().map_or(f64::NEG_INFINITY, |record| record.best);
        let starts = problem.evaluation_starts();
        let kernel = QPolicyKernel::new(&policy);
        let model_return = mean(&world_returns(&problem.system, world.as_ref(), &kernel, &starts, numerics));
        worlds.source().check()?;
        let act = |state: &[f64]| policy.act(state);
        let true_return = problem.system.plant().map(|plant| mean(&true_returns(&problem.system, plant, act, &starts)));
        let best_iteration = records.iter().find(|record| record.model_return == best).map_or(0, |best| best.iteration);
        let result = NfqResult {
            settings: settings.clone(),
            best_iteration,
            model_return,
            true_return,
            seconds: elapsed(),
            world_sha256: world_sha256.clone(),
            policy,
        };
        let prepared = [self.prepare_nfq_rows(records)?, files::prepare_json(&self.file(NFQ), &result)?];
        // A page that shows what NFQ reached before is of the past.
        if self.has(NFQ)? {
            self.remove(REPORT)?;
        }
        files::commit_all(prepared.into())?;
        self.remove(NFQ_CHECKPOINT)?;
        Ok(result)
    }

    fn prepare_nfq_rows(&self, records: &[NfqRecord]) -> Result<files::Prepared> {
        files::prepare(&self.file(NFQ_ROWS), |file| {
            writeln!(file, "iteration,error,model_return,best")?;
            for NfqRecord { iteration, error, model_return, best } in records {
                writeln!(file, "{iteration},{error:?},{model_return:?},{best:?}")?;
            }
            Ok(())
        })
    }
}
