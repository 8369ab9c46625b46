//! `world.json`: worlds, and the digests of what they were made from.
//!
//! Reading and writing are here, and not where they are called, so that they are compiled once with what they hold.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::LearnedWorlds;
use crate::model::WorldModel;
use crate::quality::Verdict;
use crate::support::Support;
use fpsrl_base::error::Result;
use fpsrl_base::files::{self, Prepared};

/// What `world.json` holds: the worlds, and what they were made from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorldFile {
    /// The digest of the log.
    pub data_sha256: String,
    /// The digest of the settings and the variables.
    pub problem_sha256: String,
    /// The digest of the start states; null if they come from ranges.
    pub starts_sha256: Option<String>,
    /// The learned world: the first member of the ensemble.
    pub world: WorldModel,
    /// The other members.
    #[serde(default)]
    pub members: Vec<WorldModel>,
    /// Worlds learned from episodes that no member has seen.
    #[serde(default)]
    pub judges: Vec<WorldModel>,
    /// The ranges of the log.
    #[serde(default)]
    pub support: Option<Support>,
    /// How far the worlds can be trusted.
    #[serde(default)]
    pub verdict: Option<Verdict>,
}

/// What `world.json` holds of a process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProcessFile {
    /// The digest of the log.
    pub data_sha256: String,
    /// The digest of the settings and the variables.
    pub problem_sha256: String,
    /// The digest of the start states; null if they come from ranges.
    pub starts_sha256: Option<String>,
    /// The program and its arguments.
    pub process: Vec<String>,
}

impl WorldFile {
    /// Reads the file.
    pub fn read(path: &Path) -> Result<Self> {
        files::read_json(path)
    }

    /// Writes it beside its place.
    pub fn prepare(&self, path: &Path) -> Result<Prepared> {
        files::prepare_json(path, self)
    }

    /// The worlds, and the verdict on them.
    pub fn into_worlds(self) -> (LearnedWorlds, Option<Verdict>) {
        let Self { world, members, judges, support, verdict, .. } = self;
        (LearnedWorlds { world, members, judges, support }, verdict)
    }
}

impl ProcessFile {
    /// Reads the file.
    pub fn read(path: &Path) -> Result<Self> {
        files::read_json(path)
    }

    /// Writes it beside its place.
    pub fn prepare(&self, path: &Path) -> Result<Prepared> {
        files::prepare_json(path, self)
    }
}
