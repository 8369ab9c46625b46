//! Where a worker puts files that are read: a directory of its own, and the run directories that are changed in it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use fpsrl::{Error, Result};

use crate::input::Input;
use crate::seeds::runs::{self, Files};

/// The directory of a worker.
pub struct Place {
    directory: PathBuf,
    originals: PathBuf,
    /// Run directories as they were made, by name.
    kept: BTreeMap<&'static str, Files>,
    /// What stands in those that nobody else has written in since.
    standing: BTreeMap<&'static str, Files>,
    /// Errors that were met on the way besides the last one.
    met: Vec<Error>,
}

impl Place {
    /// A place in an empty directory. `originals` holds the run directories, or is where they are made when they are needed.
    pub fn new(directory: &Path, originals: &Path) -> Self {
        Self {
            directory: directory.into(),
            originals: originals.into(),
            kept: BTreeMap::new(),
            standing: BTreeMap::new(),
            met: Vec::new(),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.directory
    }

    /// Writes an input as a file; where it is.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<PathBuf> {
        let path = self.directory.join(name);
        fs::write(&path, bytes).map_err(|source| Error::write(&path, source))?;
        Ok(path)
    }

    /// The files of a run directory as it was made.
    pub fn original(&mut self, name: &'static str) -> Result<&Files> {
        if !self.kept.contains_key(name) {
            make_originals(&self.originals)?;
            self.kept.insert(name, runs::read(&self.originals.join(name))?);
        }
        Ok(&self.kept[name])
    }

    /// A run directory in which some files are others; all else is as it was made.
    pub fn run(&mut self, name: &'static str, changed: &Files) -> Result<PathBuf> {
        let directory = self.directory.join(name);
        self.original(name)?;
        let original = &self.kept[name];
        let mut there = match self.standing.remove(name) {
            Some(there) => there,
            None if directory.exists() => runs::read(&directory)?,
            None => Files::new(),
        };
        for gone in there.keys().filter(|file| !original.contains_key(*file)) {
            let path = directory.join(gone);
            fs::remove_file(&path).map_err(|source| Error::write(&path, source))?;
        }
        let wanted = original.iter().map(|(file, bytes)| (file, changed.get(file).unwrap_or(bytes)));
        let differ = wanted.filter(|(file, bytes)| there.get(*file) != Some(bytes));
        let differ: Files = differ.map(|(file, bytes)| (file.clone(), bytes.clone())).collect();
        runs::copy(&differ, &directory)?;
        there.retain(|file, _| original.contains_key(file));
        there.extend(differ);
        self.standing.insert(name, there);
        Ok(directory)
    }

    /// From now on what stands in a run directory may be something else: who is asked to read it also writes.
    pub fn written(&mut self, name: &str) {
        self.standing.remove(name);
    }

    /// Notes an error that does not end the work; the value if there was none.
    pub fn note<T>(&mut self, result: Result<T>) -> Option<T> {
        result.map_err(|error| self.met.push(error)).ok()
    }

    /// Errors that were noted since the last call.
    pub fn met(&mut self) -> Vec<Error> {
        std::mem::take(&mut self.met)
    }
}

/// The files of run directories as inputs: by the name of the directory and their own.
pub fn inputs(place: &mut Place, names: &[&'static str], wanted: impl Fn(&str) -> bool) -> Result<Vec<Input>> {
    let mut all = Vec::new();
    for name in names {
        let files = place.original(name)?.iter().filter(|(file, _)| wanted(file));
        all.extend(files.map(|(file, bytes)| Input::new(format!("{name}/{file}"), bytes.clone())));
    }
    Ok(all)
}

/// Makes the run directories, unless they are there.
pub fn make_originals(place: &Path) -> Result<()> {
    if place.join("export").exists() {
        return Ok(());
    }
    let parent = place.parent().unwrap_or(place);
    let made = tempfile::tempdir_in(parent).map_err(|source| Error::write(parent, source))?;
    runs::make(made.path())?;
    // Somebody else may have been faster.
    if fs::rename(made.path(), place).is_ok() {
        let _ = made.keep();
    }
    Ok(())
}
