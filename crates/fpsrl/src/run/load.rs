//! Artefacts of a run from their files, refused where their origins have changed.

use std::sync::Arc;

use serde::Deserialize;

use super::directory::{RunDirectory, unreadable};
use super::graph::{
    DATA, FRONT, FRONT_TABLE, NFQ, POLICY, PROBLEM, SEARCH, SIMPLE, STARTS, SUMMARY, TRANSITIONS, WORLD,
};
use super::origins;
use crate::data::log::{FileReport, ImportReport};
use crate::error::{Error, Result};
use crate::figures::{Front, NfqResult, Summary};
use crate::files;
use crate::policy::FuzzyPolicy;
use crate::problem::Problem;
use crate::search::{SearchOptions, SearchRecord};
use crate::stage::{DataReport, Judged, Log, Source, Worlds};
use crate::world::file::{ProcessFile, WorldFile};
use crate::world::model::WorldModel;
use fpsrl_base::disk;
use fpsrl_base::remedy::Remedy;
use fpsrl_data::tape::Tape;
use fpsrl_exchange::export::{Provenance, covered_ranges};
use fpsrl_search::WorldSource;

impl RunDirectory {
    /// The digest of the start states, if they are in a file.
    pub(super) fn starts_sha256(&self) -> Result<Option<String>> {
        if self.has(STARTS)? { files::sha256(&self.file(STARTS)).map(Some) } else { Ok(None) }
    }

    /// The log, with the start states of the problem.
    pub fn log(&self, problem: &Problem) -> Result<Log> {
        let (transitions, sha256) = self.hashed_transitions(problem)?;
        Ok(Log::stored(problem.clone(), transitions, sha256))
    }

    /// The worlds of a run, if they were made for this problem and from this log.
    pub fn worlds(&self, problem: &Problem) -> Result<Worlds> {
        let path = self.expect(WORLD)?;
        let log = self.log(problem)?;
        let source = match &problem.world.process {
            Some(command) => {
                let file = ProcessFile::read(&path).map_err(|error| self.fit_again(error))?;
                self.check_world(problem, &log, [&file.data_sha256, &file.problem_sha256], &file.starts_sha256)?;
                if &file.process != command {
                    return Err(self.changed(WORLD, PROBLEM, "it names another process".into()));
                }
                let tape = Tape::of(&problem.system, log.transitions())?.map(Arc::new);
                WorldSource::Simulator(crate::stage::simulator(&problem.system, &problem.world)?, tape)
            }
            None => {
                let file = WorldFile::read(&path).map_err(|error| self.fit_again(error))?;
                let digests = [file.data_sha256.clone(), file.problem_sha256.clone()];
                let starts = file.starts_sha256.clone();
                let (learned, verdict) = file.into_worlds();
                learned.validate().map_err(|problem| self.broken(WORLD, problem))?;
                self.check_variables(problem, &learned.world)?;
                self.check_world(problem, &log, [&digests[0], &digests[1]], &starts)?;
                let learned = learned.following(&problem.system, log.transitions(), problem.world.noise)?;
                WorldSource::Learned(Box::new((learned, verdict)))
            }
        };
        Ok(Worlds::stored(log, source))
    }

    /// A `world.json` that is broken, or of an older form, is refused with the verb that writes it again.
    fn fit_again(&self, error: Error) -> Error {
        match error {
            Error::Malformed { path, line, column, problem, .. } => {
                Error::Malformed { path, line, column, problem, remedy: self.again("fit") }
            }
            other => other,
        }
    }

    fn check_variables(&self, problem: &Problem, world: &WorldModel) -> Result<()> {
        let states: Vec<&str> = problem.system.states().iter().map(|state| state.name.as_str()).collect();
        let actions: Vec<&str> = problem.system.actions().iter().map(|action| action.name.as_str()).collect();
        let differ = |theirs: &[String], ours: &[&str], what: &str| {
            let (theirs, ours) = (theirs.join(", "), ours.join(", "));
            (theirs != ours).then(|| format!("its {what} are {theirs} instead of {ours}"))
        };
        let difference = differ(&world.states, &states, "state variables");
        match difference.or_else(|| differ(&world.actions, &actions, "actions")) {
            Some(difference) => Err(self.changed(WORLD, PROBLEM, difference)),
            None => Ok(()),
        }
    }

    /// Refuses worlds whose log, settings or start states have changed.
    fn check_world(
        &self,
        problem: &Problem,
        log: &Log,
        [data, settings]: [&String; 2],
        starts: &Option<String>,
    ) -> Result<()> {
        if *data != log.sha256()? {
            return Err(self.changed(WORLD, TRANSITIONS, "it was learned from another log".into()));
        }
        if *settings != origins::world_digest(problem)? {
            let told = "it was made with other settings below [world], or for other variables";
            return Err(self.changed(WORLD, PROBLEM, told.into()));
        }
        if *starts != self.starts_sha256()? {
            if starts.is_some() {
                self.expect(STARTS)?;
            }
            let told = "it was fitted with different start states";
            let remedy = Remedy::words("put the old file back, or run ").stage("fit", Some(self.path()));
            let remedy = remedy.then(", which makes it anew from the log");
            return Err(self.mismatch(WORLD, STARTS, told.into(), remedy));
        }
        Ok(())
    }

    pub(super) fn broken(&self, name: &str, problem: String) -> Error {
        let remedy = self.again(super::graph::verb(name));
        Error::Malformed { path: self.file(name), line: None, column: None, problem, remedy }
    }

    /// The policy without the conditions that do not matter; the policy itself if a report has found that all of them do.
    pub fn simple_policy(&self, problem: &Problem) -> Result<FuzzyPolicy> {
        let path = self.file(SIMPLE);
        let is_there = self.has(SIMPLE)?;
        if !is_there && !self.has(SUMMARY)? {
            self.expect(SIMPLE)?;
        }
        let summary = self.summary_of_policy(problem)?;
        match (is_there, &summary.simple) {
            (false, Some(simple)) if simple.removed == 0 => self.policy(problem),
            (true, Some(_)) => self.policy_in(path, problem),
            _ => Err(Error::StageMissing { path, stage: super::graph::verb(SIMPLE) }),
        }
    }

    /// The policy and all that is known of it, if everything belongs together.
    pub fn judged(&self, problem: &Problem) -> Result<Judged> {
        let policy = self.policy(problem)?;
        let summary = self.summary_of_policy(problem)?;
        let worlds = self.worlds(problem)?;
        let numerics = SearchOptions::of(&problem.search, true).numerics;
        let judged = Judged::of(&worlds, problem.clone(), policy, summary, numerics);
        let records = self.search_records(judged.summary())?;
        let trade = self.trade_result()?.map(|(trade, _)| trade);
        Ok(judged.searched(records, self.front()?).traded(trade))
    }

    /// What can be exported: the policy, and what is known of it if anything is. The rules alone need no world model.
    pub fn source(&self) -> Result<Source> {
        let problem = self.problem()?;
        let policy = self.policy(&problem)?;
        // A policy that was brought to a log without worlds cannot be judged; every other one is, before it is exported.
        let summary = match self.has(SUMMARY)? || self.has(WORLD)? {
            true => Some(self.summary_of_policy(&problem)?),
            false => None,
        };
        if self.has(WORLD)? && summary.as_ref().is_none_or(|summary| summary.promise.is_none()) {
            return Err(self.not_judged());
        }
        let raw = summary.map(|summary| summary.text()).transpose()?;
        let raw = raw.and_then(|text| serde_json::from_str(&text).ok());
        let provenance = Provenance::of_file(&self.file(POLICY), raw.as_ref())?;
        let ranges = covered_ranges(&policy.states, &self.transitions(&problem)?);
        Ok(Source::of(&problem.system, policy, ranges, provenance))
    }

    /// The summary that earlier stages left, if they did.
    pub(super) fn earlier_summary(&self) -> Result<Option<Summary>> {
        match self.summary() {
            Ok(summary) => Ok(Some(summary)),
            // One that is broken is written anew by whoever asks.
            Err(Error::StageMissing { .. } | Error::Malformed { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The search's record; empty if it is gone.
    fn search_records(&self, summary: &Summary) -> Result<Vec<SearchRecord>> {
        let path = self.file(SEARCH);
        if !self.has(SEARCH)? {
            return Ok(Vec::new());
        }
        if summary.search_sha256 != Some(files::sha256(&path)?) {
            return Err(self.changed(SEARCH, SUMMARY, "it is not the record of this policy's search".into()));
        }
        let broken = |error: csv::Error| {
            unreadable(error, &path, |error| Error::Malformed {
                path: path.clone(),
                line: error.position().map(csv::Position::line),
                column: None,
                problem: "it is not a record of a search".into(),
                remedy: self.again("search"),
            })
        };
        let reader = disk::open(&path).map_err(|source| Error::read(&path, source))?;
        csv::Reader::from_reader(reader).deserialize().collect::<Result<_, _>>().map_err(broken)
    }

    /// The front of a run and its policies, if it has one and it is of its worlds.
    pub fn front(&self) -> Result<Option<(Front, Vec<FuzzyPolicy>)>> {
        let directory = self.file(FRONT);
        let table = directory.join(FRONT_TABLE);
        if !disk::exists(&table).map_err(|source| Error::read(&table, source))? {
            return Ok(None);
        }
        let front: Front = files::read_json(&table)?;
        let again = || {
            let search = Remedy::words("run ").stage("search", Some(self.path()));
            search.then(" with ").option("front", None).then(" again")
        };
        if front.world_sha256 != files::sha256(&self.expect(WORLD)?)? {
            let problem = "it was searched on another world model".into();
            return Err(Error::Mismatch { path: table, other: self.file(WORLD), problem, remedy: again() });
        }
        let mut policies = Vec::new();
        for point in &front.points {
            let path = directory.join(&point.file);
            if !disk::exists(&path).map_err(|source| Error::read(&path, source))?
                || files::sha256(&path)? != point.sha256
            {
                let problem = "it was changed or removed since the table was made".into();
                return Err(Error::Mismatch { path, other: table, problem, remedy: again() });
            }
            let policy: FuzzyPolicy = files::read_json(&path)?;
            if let Some(problem) = policy.fault() {
                return Err(Error::Malformed { path, line: None, column: None, problem, remedy: again() });
            }
            policies.push(policy);
        }
        Ok(Some((front, policies)))
    }

    /// The result of NFQ, if it belongs to this problem and its world.
    pub fn nfq_result(&self) -> Result<NfqResult> {
        self.nfq_result_of(&self.problem()?)
    }

    /// The same for a problem that has been read.
    pub(super) fn nfq_result_of(&self, problem: &Problem) -> Result<NfqResult> {
        let result: NfqResult = files::read_json(&self.expect(NFQ)?)?;
        if let Some(fault) = result.policy.fault(problem.system.states().len(), problem.system.actions().len()) {
            return Err(self.broken(NFQ, fault));
        }
        if result.world_sha256 != files::sha256(&self.file(WORLD))? {
            return Err(self.changed(NFQ, WORLD, "it was chosen on another world model".into()));
        }
        Ok(result)
    }

    /// What was found in a log of the user's own when it was imported.
    pub(super) fn import_report(&self) -> Result<ImportReport> {
        /// What is read of `data.json`; all else follows from the log.
        #[derive(Deserialize)]
        struct Kept {
            import: ImportReport,
        }
        Ok(files::read_json::<Kept>(&self.expect(DATA)?)?.import)
    }

    /// The state of the data: the run's own log, and what was found when that was imported.
    pub fn data_report(&self) -> Result<(DataReport, Problem)> {
        let problem = self.problem()?;
        if let Some(summary) = self.earlier_summary()? {
            self.check_log(&summary)?;
        }
        let transitions = self.transitions(&problem)?;
        let import = match self.has(DATA)? {
            true => self.import_report()?,
            false => {
                let begins = |row: &usize| *row == 0 || transitions.episode[*row] != transitions.episode[row - 1];
                let (rows, episodes) = (transitions.len(), (0..transitions.len()).filter(begins).count());
                let file = FileReport { path: self.file(TRANSITIONS), rows, notes: Vec::new() };
                ImportReport { files: vec![file], rows, episodes, transitions: rows, kept: rows, ..Default::default() }
            }
        };
        Ok((DataReport::again(&problem, &transitions, import), problem))
    }
}
