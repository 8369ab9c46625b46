//! The attack: batches of inputs in processes of their own, which may die; what breaks is made small and kept.

pub mod batch;
pub mod memory;
mod parent;
mod shrink;

pub use parent::{Options, attack, old_kinds, told};

use std::fs;
use std::io;
use std::path::Path;

use crate::input::Input;
use crate::mutate::Known;
use crate::place::Place;
use crate::seeds::runs;
use crate::targets::Target;

/// What is known when a batch begins: the valid inputs, and those of earlier batches that did something new.
pub fn known(target: &Target, place: &mut Place, found: &Path) -> Result<Vec<Known>, String> {
    let valid = (target.seeds)(place).map_err(|error| format!("{}: no valid inputs: {error}", target.name))?;
    let found = inputs(&found.join("known"))?;
    Ok(valid.into_iter().map(Known::new).chain(found.into_iter().map(Known::found)).collect())
}

/// Inputs that were kept: each is a directory with one file, which may be in directories again.
pub fn inputs(directory: &Path) -> Result<Vec<Input>, String> {
    let mut all = Vec::new();
    for place in sorted(directory).map_err(|error| format!("{}: {error}", directory.display()))? {
        let files = runs::read(&place).map_err(|error| error.to_string())?;
        all.extend(files.into_iter().map(|(name, bytes)| Input { name, bytes }));
    }
    Ok(all)
}

/// What is in a directory, by name; nothing if it is not there.
pub fn sorted(directory: &Path) -> io::Result<Vec<std::path::PathBuf>> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

/// Keeps an input in a directory of its own.
pub fn keep(input: &Input, directory: &Path) -> io::Result<()> {
    let path = directory.join(&input.name);
    fs::create_dir_all(path.parent().unwrap_or(directory))?;
    fs::write(path, &input.bytes)
}
