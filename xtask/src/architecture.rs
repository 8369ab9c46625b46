//! Holds documents to what exists: one that names paths which are gone, or shows a program that does not run, misleads.

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

/// The program that README.md shows is the example of the library's documentation, which runs as a test.
pub fn example_runs(root: &Path) -> Outcome {
    let read = |name: &str| std::fs::read_to_string(root.join(name)).map_err(|error| format!("{name}: {error}"));
    match (read("README.md"), read("crates/fpsrl/src/lib.rs")) {
        (Ok(readme), Ok(library)) => {
            let (shown, run) = (shown_program(&readme), documented_program(&library));
            match shown.is_some() && shown == run {
                true => Outcome::Passed,
                false => Outcome::Failed("README.md shows another program than crates/fpsrl/src/lib.rs".into()),
            }
        }
        (Err(why), _) | (_, Err(why)) => Outcome::Failed(why),
    }
}

/// The first Rust program of a document.
fn shown_program(text: &str) -> Option<String> {
    Some(text.split_once("```rust\n")?.1.split_once("```")?.0.to_owned())
}

/// The first example in a crate's documentation, without its hidden lines.
fn documented_program(text: &str) -> Option<String> {
    let documentation: Vec<&str> = text.lines().map_while(|line| line.strip_prefix("//!")).collect();
    let mut lines = documentation.iter().map(|line| line.strip_prefix(' ').unwrap_or(line));
    lines.find(|line| line.starts_with("```"))?;
    let program = lines.take_while(|line| !line.starts_with("```")).filter(|line| !line.starts_with("# "));
    Some(program.map(|line| format!("{line}\n")).collect())
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
    fn a_program_is_compared_without_its_hidden_lines() {
        let library = "//! Words.\n//!\n//! ```\n//! # hidden\n//! let a = 1;\n//!\n//! a + 1\n//! ```\n\nmod x;\n";
        let readme = "# Title\n```text\nno\n```\n```rust\nlet a = 1;\n\na + 1\n```\n";
        assert_eq!(documented_program(library).as_deref(), Some("let a = 1;\n\na + 1\n"));
        assert_eq!(documented_program(library), shown_program(readme));
        assert_eq!(shown_program("no program"), None);
    }

    #[test]
    fn paths_are_told_from_other_words_in_backticks() {
        let text = "see `crates/fpsrl/src/lib.rs`, `README.md`, `summary.json`, `a / b`, `runs/x`, and plain a/b.";
        assert_eq!(paths(text), ["crates/fpsrl/src/lib.rs", "README.md"]);
    }
}
