//! Artefacts that were made in memory become a run directory: the files that the command writes for the same stages.

use std::path::Path;
use std::time::Instant;

use super::directory::{self, RunDirectory};
use super::graph::{FRONT, FRONT_TABLE, GRAPH, POLICY, PROBLEM, SEARCH, START, TRADE_POLICIES};
use super::origins::{self, Origins};
use super::stages::search_rows;
use crate::error::{Error, Result};
use crate::figures::{Front, Summary};
use crate::files;
use crate::policy::FuzzyPolicy;
use crate::progress::Progress;
use crate::stage::{Judged, ReportOptions, Worlds};
use fpsrl_base::disk;

/// Makes a run directory of a judged policy and everything that it was made from, with its report.
///
/// What is there already is refused; with `force`, the files of an old run give way.
pub fn save(judged: &Judged, path: &Path, force: bool, progress: &Progress) -> Result<RunDirectory> {
    let permission = judged.problem().world.permission;
    Ok(directory::create(path, force, |run| run.write_judged(judged, progress))?.permitting(permission))
}

/// Makes a run directory of worlds and the log that they are of.
pub fn save_worlds(worlds: &Worlds, path: &Path, force: bool) -> Result<RunDirectory> {
    let permission = worlds.problem().world.permission;
    Ok(directory::create(path, force, |run| run.write_worlds(worlds).map(drop))?.permitting(permission))
}

impl RunDirectory {
    /// The files of a log and of the worlds that were learned from it.
    fn write_worlds(&self, worlds: &Worlds) -> Result<Summary> {
        self.write_log(worlds.log())?;
        self.save_worlds(worlds, &Progress::silent())
    }

    fn write_judged(&self, judged: &Judged, progress: &Progress) -> Result<()> {
        let problem = judged.problem();
        let earlier = self.write_worlds(judged.worlds())?;
        files::write_atomically(&self.file(PROBLEM), |file| file.write_all(problem.to_toml().as_bytes()))?;
        files::write_json(&self.file(POLICY), judged.policy())?;
        let mut summary = judged.summary().clone();
        for (stage, seconds) in &earlier.seconds.0 {
            summary.took(stage, *seconds);
        }
        if judged.records().is_empty() {
            // A policy from elsewhere is where searches begin, as after an import.
            files::write_json(&self.file(START), judged.policy())?;
        } else {
            let rows = search_rows(judged.records());
            summary.search_sha256 = Some(files::sha256_of(rows.as_bytes()));
            files::write_atomically(&self.file(SEARCH), |file| file.write_all(rows.as_bytes()))?;
        }
        if let Some((front, policies)) = judged.front() {
            self.write_front(front, policies)?;
        }
        Origins::of(self, problem, Some(origins::policy_digest(judged.policy())?))?.stamp(&mut summary);
        self.write_summary(&summary)?;
        let judged = judged.clone().with_summary(summary);
        self.write_report(&judged, &ReportOptions::default(), (None, Vec::new()), Instant::now(), progress)?;
        Ok(())
    }

    /// Writes a front; its table comes last: where it is, all policies are.
    pub(super) fn write_front(&self, front: &Front, policies: &[FuzzyPolicy]) -> Result<()> {
        let directory = self.file(FRONT);
        disk::make_directory(&directory).map_err(|source| Error::write(&directory, source))?;
        for (point, policy) in front.points.iter().zip(policies) {
            files::write_json(&directory.join(&point.file), policy)?;
        }
        let world_sha256 = files::sha256(&self.file(super::graph::WORLD))?;
        files::write_json(&directory.join(FRONT_TABLE), &Front { world_sha256, ..front.clone() })
    }

    /// The same run in another directory, as it stands. What is there already is refused, unless `force`.
    pub fn copy_to(&self, path: &Path, force: bool) -> Result<RunDirectory> {
        directory::create(path, force, |run| {
            for name in self.those_there(GRAPH.iter().map(|entry| entry.name))? {
                let (from, to) = (self.file(name), run.file(name));
                if ![FRONT, TRADE_POLICIES].contains(&name) {
                    files::copy(&from, &to)?;
                    continue;
                }
                disk::make_directory(&to).map_err(|source| Error::write(&to, source))?;
                for file in disk::entries(&from).map_err(|source| Error::read(&from, source))? {
                    files::copy(&file, &to.join(file.file_name().unwrap_or_default()))?;
                }
            }
            Ok(())
        })
    }
}
