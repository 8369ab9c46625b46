//! Holds ARCHITECTURE.md to what exists: a document that names paths which are gone misleads.

use std::path::Path;

use crate::Outcome;

/// Every path that ARCHITECTURE.md names in backticks exists.
pub fn paths_exist(root: &Path) -> Outcome {
    let text = match std::fs::read_to_string(root.join("ARCHITECTURE.md")) {
        Ok(text) => text,
        Err(error) => return Outcome::Failed(format!("ARCHITECTURE.md cannot be read: {error}")),
    };
    let missing: Vec<&str> = paths(&text).into_iter().filter(|path| !root.join(path).exists()).collect();
    match missing.is_empty() {
        true => Outcome::Passed,
        false => Outcome::Failed(format!("ARCHITECTURE.md names what does not exist: {}", missing.join(", "))),
    }
}

/// The words in backticks that are paths: those with a slash, and documents by their ending.
fn paths(text: &str) -> Vec<&str> {
    let spoken = text.split('`').skip(1).step_by(2);
    let is_path = |word: &&str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '-' | '_');
        // Run directories are made by users: they are no part of the project.
        (word.contains('/') || word.ends_with(".md")) && word.chars().all(plain) && !word.starts_with("runs/")
    };
    spoken.filter(is_path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_told_from_other_words_in_backticks() {
        let text = "see `crates/fpsrl/src/lib.rs`, `README.md`, `summary.json`, `a / b`, `runs/x`, and plain a/b.";
        assert_eq!(paths(text), ["crates/fpsrl/src/lib.rs", "README.md"]);
    }
}
