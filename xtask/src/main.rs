//! `cargo xtask test`: every check of the project in one command, with nothing to install beforehand.

mod architecture;
mod around_the_disk;
mod bench;
mod exports;
mod fuzz;
mod layers;
mod outside;
mod own_logs;
mod pages;
mod plants;
mod python;
mod scikit_learn;
#[cfg(unix)]
mod soak;
mod source;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

const USAGE: &str = "\
usage: cargo xtask test [--quick] [WORDS]

  test    format, lints, tests, documents, packages, and what programs of others say; exit code 0 if everything passes
          (with CI=true in the environment, nothing may be skipped; with words, only the checks named by them)
          --quick: what one runs while working: format, cycles, paths in ARCHITECTURE.md, lints, and the tests
          without the examples in documents
  browser only the check of reports in a real Chromium, whose screenshots stay in target/outside/pages";

/// How a check ended.
enum Outcome {
    Passed,
    /// Something that the check needs is not there; the text says what.
    Skipped(String),
    Failed(String),
}

/// Which runs a check belongs to.
#[derive(Clone, Copy, PartialEq)]
enum When {
    /// Every run.
    Always,
    /// The whole run: it takes long, or seldom fails.
    Whole,
    /// The quick run: the whole one has a check that does more.
    Quick,
}

/// A check: its name, when it runs, and what it does in the project's root.
type Check = (&'static str, When, fn(&Path) -> Outcome);

const CHECKS: &[Check] = &[
    ("format", When::Always, |root| cargo(root, &["fmt", "--all", "--check"])),
    ("no cycles", When::Always, layers::no_cycles),
    ("files by one way", When::Always, around_the_disk::nobody),
    ("paths in ARCHITECTURE.md", When::Always, architecture::paths_exist),
    ("the example in README.md", When::Always, architecture::example_runs),
    ("lints", When::Always, |root| cargo(root, &[&["clippy", "--workspace", "--all-targets"], DENIED].concat())),
    ("builds without features", When::Whole, |root| {
        let command = ["clippy", "--package", "fpsrl-cli", "--no-default-features", "--all-targets"];
        cargo(root, &[&command, DENIED].concat())
    }),
    ("tests", When::Whole, |root| cargo(root, &["test", "--release", "--workspace"])),
    ("tests outside documents", When::Quick, |root| {
        cargo(root, &["test", "--release", "--workspace", "--lib", "--bins", "--tests"])
    }),
    ("documentation builds", When::Whole, |root| {
        run(Command::new(cargo_path())
            .args(["doc", "--workspace", "--no-deps", "--document-private-items"])
            .env("RUSTDOCFLAGS", "-D warnings -A rustdoc::private_intra_doc_links")
            .current_dir(root))
    }),
    ("packages", When::Whole, |root| {
        // What they depend on was downloaded for the tests; asking the registry again would take longer than the check.
        let options = ["--no-verify", "--allow-dirty", "--offline", "--quiet"];
        let all =
            ["package", "--workspace", "--exclude", "xtask", "--exclude", "fpsrl-bench", "--exclude", "fpsrl-fuzz"];
        cargo(root, &[all.as_slice(), &options].concat())
    }),
    ("plain readers read a run", When::Whole, outside::plain_readers),
    ("logs of other programs", When::Whole, own_logs::own_logs),
    ("the report computes alike", When::Whole, pages::arithmetic),
    ("reports in a browser", When::Whole, pages::in_a_browser),
    ("exports run elsewhere", When::Whole, exports::elsewhere),
    ("worlds and scikit-learn", When::Whole, scikit_learn::agrees),
    ("controllers on true plants", When::Whole, plants::controlled),
    ("the Python package", When::Whole, python::package),
];

/// What lints refuse. What a newer standard library has would be a warning anyway; that it is refused holds even if
/// clippy moves it to another group.
const DENIED: &[&str] = &["--", "-D", "warnings", "-D", "clippy::incompatible_msrv"];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["test", "--quick", words @ ..] | ["test", words @ .., "--quick"] if are_words(words) => {
            test(When::Quick, words)
        }
        ["test", words @ ..] if are_words(words) => test(When::Whole, words),
        ["browser"] => report(pages::in_a_browser(&root())),
        ["bench", rest @ ..] => report(bench::bench(&root(), rest)),
        #[cfg(unix)]
        ["soak", rest @ ..] => report(soak::soak(&root(), rest)),
        ["exports", rest @ ..] => report(exports::asked_for(&root(), rest)),
        ["fuzz", rest @ ..] => report(fuzz::fuzz(&root(), rest)),
        ["help" | "--help" | "-h"] => {
            println!("{}", usage());
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!("{}", usage());
            ExitCode::from(2)
        }
    }
}

fn usage() -> String {
    let all = [
        USAGE,
        bench::USAGE,
        #[cfg(unix)]
        soak::USAGE,
        exports::USAGE,
        fuzz::USAGE,
    ];
    all.join("\n\n")
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

/// Whether none of them is an option.
fn are_words(words: &[&str]) -> bool {
    words.iter().all(|word| !word.starts_with('-'))
}

/// The quick run or the whole one; of it, the checks named by words, if there are any.
fn test(run: When, words: &[&str]) -> ExitCode {
    let root = root();
    let nothing_may_be_skipped = std::env::var("CI").is_ok_and(|value| value == "true");
    let mut lines = Vec::new();
    let mut failed = Vec::new();
    let checks = || CHECKS.iter().filter(|(_, when, _)| *when == When::Always || *when == run);
    let is_asked = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word));
    for &(name, _, check) in checks().filter(|(name, ..)| is_asked(name)) {
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
        let names: Vec<&str> = checks().map(|(name, ..)| *name).collect();
        eprintln!("error: no check is called so; there are: {}", names.join("; "));
        return ExitCode::from(2);
    }
    println!("\n{}", lines.join("\n"));
    let code = if failed.is_empty() {
        println!("\nall checks passed");
        ExitCode::SUCCESS
    } else {
        eprintln!("\nfailed: {}", failed.join(", "));
        ExitCode::FAILURE
    };
    if run == When::Quick {
        println!("this was the quick part; `cargo xtask test` runs everything");
    }
    code
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
