//! Holds library code to one way to files: `fpsrl_base::disk`, which tests watch and make fail. What goes around it could break
//! a run in a way that no test would see.

use std::path::{Path, PathBuf};

use crate::Outcome;
use crate::source::{Token, tokens, without_tests};

/// Who may have files without the layer, and why.
const ALLOWED: [(&str, &str); 6] = [
    ("crates/fpsrl-base/src/disk.rs", "it is the layer"),
    ("crates/fpsrl-data/src/log", "logs of users, which are only read, in formats whose crates want files"),
    ("crates/fpsrl-exchange/src/import", "rules of users, which are only read"),
    ("crates/fpsrl-exchange/src/verify", "a directory of the system's for other programs, gone afterwards"),
    ("crates/fpsrl/src/run/lock.rs", "a lock is held on what the layer has opened"),
    ("crates/fpsrl-cli/src", "it asks whether files are there; what it writes, `files` writes"),
];

/// Ways to files that are not the layer's: modules, crates and functions.
const WAYS: [&str; 5] = ["fs", "tempfile", "OpenOptions", "NamedTempFile", "from_path"];

/// Methods of paths that ask the disk.
const METHODS: [&str; 6] = ["exists", "try_exists", "is_file", "is_dir", "read_dir", "metadata"];

/// No library code goes around the layer.
pub fn nobody(root: &Path) -> Outcome {
    let mut faults = Vec::new();
    for file in sources(&root.join("crates")) {
        let name = file.strip_prefix(root).unwrap_or(&file).to_owned();
        if ALLOWED.iter().any(|(allowed, _)| name.starts_with(allowed)) {
            continue;
        }
        match std::fs::read_to_string(&file) {
            Ok(text) => faults.extend(
                ways(&text)
                    .into_iter()
                    .map(|(line, way)| format!("{}:{line}: `{way}` goes around fpsrl_base::disk", name.display())),
            ),
            Err(error) => faults.push(format!("{}: {error}", name.display())),
        }
    }
    let unused = ALLOWED.iter().filter(|(allowed, _)| !root.join(allowed).exists());
    faults.extend(unused.map(|(allowed, _)| format!("{allowed} is allowed and not there")));
    if faults.is_empty() { Outcome::Passed } else { Outcome::Failed(faults.join("\n")) }
}

/// The library's source files: those below a `src`, without files of tests.
fn sources(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    entries.sort();
    for path in entries {
        let is_source = path.extension().is_some_and(|ending| ending == "rs");
        let in_library = path.components().any(|part| part.as_os_str() == "src");
        let is_test = path.file_stem().is_some_and(|name| name == "tests" || name == "testers");
        if path.is_dir() {
            found.extend(sources(&path));
        } else if is_source && in_library && !is_test {
            found.push(path);
        }
    }
    found
}

/// Where a source text goes around the layer, and how.
fn ways(text: &str) -> Vec<(usize, String)> {
    let tokens = without_tests(&tokens(text));
    let text = |at: usize| tokens.get(at).map_or("", |token| token.text);
    let mut found = Vec::new();
    for (at, Token { text: word, line }) in tokens.iter().enumerate() {
        let before = if at > 0 { text(at - 1) } else { "" };
        // Extensions of a system's own are traits and numbers, no files.
        let is_extension = before == "::" && matches!(text(at.wrapping_sub(2)), "unix" | "windows");
        let asks = METHODS.contains(word) && before == "." && text(at + 1) == "(" && text(at + 2) == ")";
        if WAYS.contains(word) && !is_extension || asks {
            found.push((*line, (*word).to_owned()));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_around_the_layer_is_named_and_tests_may() {
        let text = "use std::{fmt, fs};\nfn a() { path.exists(); csv::Reader::from_path(p); }\n\
                    fn b() { disk::exists(p); std::os::unix::fs::x(); list.exists(3); }\n\
                    #[cfg(test)]\nmod tests { use std::fs; }\n";
        let found = ways(text);
        let told: Vec<(usize, &str)> = found.iter().map(|(line, way)| (*line, way.as_str())).collect();
        assert_eq!(told, [(1, "fs"), (2, "exists"), (2, "from_path")]);
    }
}
