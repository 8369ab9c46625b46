//! `cargo xtask test`: every check of the project in one command, with nothing to install beforehand.

mod architecture;
mod bench;
mod exports;
mod outside;
mod own_logs;
mod pages;
mod scikit_learn;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

const USAGE: &str = "\
usage: cargo xtask test [WORDS]

  test    format, lints, tests, documents, and what programs of others say; exit code 0 if everything passes
          (with CI=true in the environment, nothing may be skipped; with words, only the checks named by them)
  browser only the check of reports in a real Chromium, whose screenshots stay in target/outside/pages";

/// How a check ended.
enum Outcome {
    Passed,
    /// Something that the check needs is not there; the text says what.
    Skipped(String),
    Failed(String),
}

/// A check: its name, and what it does in the project's root.
type Check = (&'static str, fn(&Path) -> Outcome);

const CHECKS: &[Check] = &[
    ("format", |root| cargo(root, &["fmt", "--all", "--check"])),
    ("lints", |root| cargo(root, &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])),
    ("tests", |root| cargo(root, &["test", "--release", "--workspace"])),
    ("documentation builds", |root| {
        run(Command::new(cargo_path())
            .args(["doc", "--workspace", "--no-deps", "--document-private-items"])
            .env("RUSTDOCFLAGS", "-D warnings -A rustdoc::private_intra_doc_links")
            .current_dir(root))
    }),
    ("paths in ARCHITECTURE.md", architecture::paths_exist),
    ("plain readers read a run", outside::plain_readers),
    ("logs of other programs", own_logs::own_logs),
    ("the report computes alike", pages::arithmetic),
    ("reports in a browser", pages::in_a_browser),
    ("exports run elsewhere", exports::elsewhere),
    ("worlds and scikit-learn", scikit_learn::agrees),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["test", words @ ..] => test(words),
        ["browser"] => report(pages::in_a_browser(&root())),
        ["bench", rest @ ..] => report(bench::bench(&root(), rest)),
        ["help" | "--help" | "-h"] => {
            println!("{USAGE}\n\n{}", bench::USAGE);
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!("{USAGE}\n\n{}", bench::USAGE);
            ExitCode::from(2)
        }
    }
}

fn report(outcome: Outcome) -> ExitCode {
    match outcome {
        Outcome::Passed => ExitCode::SUCCESS,
        Outcome::Skipped(why) | Outcome::Failed(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

fn test(words: &[&str]) -> ExitCode {
    let root = root();
    let nothing_may_be_skipped = std::env::var("CI").is_ok_and(|value| value == "true");
    let mut lines = Vec::new();
    let mut failed = Vec::new();
    let is_asked = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word));
    for &(name, check) in CHECKS.iter().filter(|(name, _)| is_asked(name)) {
        println!("== {name}");
        let began = Instant::now();
        let outcome = match check(&root) {
            Outcome::Skipped(why) if nothing_may_be_skipped => {
                Outcome::Failed(format!("{why}; with CI=true nothing may be skipped"))
            }
            outcome => outcome,
        };
        let verdict = match outcome {
            Outcome::Passed => "passed".to_owned(),
            Outcome::Skipped(why) => format!("skipped: {why}"),
            Outcome::Failed(why) => {
                failed.push(name);
                format!("FAILED: {why}")
            }
        };
        lines.push(format!("  {name:<26} {:>6.1} s  {verdict}", began.elapsed().as_secs_f64()));
    }
    if lines.is_empty() {
        let names: Vec<&str> = CHECKS.iter().map(|(name, _)| *name).collect();
        eprintln!("error: no check is called so; there are: {}", names.join("; "));
        return ExitCode::from(2);
    }
    println!("\n{}", lines.join("\n"));
    if failed.is_empty() {
        println!("\nall checks passed");
        return ExitCode::SUCCESS;
    }
    eprintln!("\nfailed: {}", failed.join(", "));
    ExitCode::FAILURE
}

/// The project's root: xtask stands directly below it.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

/// The cargo that runs us, so that a toolchain chosen on the command line stays chosen.
fn cargo_path() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".into())
}

fn cargo(root: &Path, arguments: &[&str]) -> Outcome {
    run(Command::new(cargo_path()).args(arguments).current_dir(root))
}

fn run(command: &mut Command) -> Outcome {
    let shown = || {
        let words = [command.get_program()].into_iter().chain(command.get_args());
        words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    };
    let shown = shown();
    match command.status() {
        Ok(status) if status.success() => Outcome::Passed,
        Ok(status) => Outcome::Failed(format!("`{shown}` ended with {status}")),
        Err(error) => Outcome::Failed(format!("`{shown}` cannot be started: {error}")),
    }
}
