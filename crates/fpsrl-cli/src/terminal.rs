//! Where everything leaves the command: results to standard output, all else to standard error.
//!
//! Errors and remedies show names from outside already. This is the second wall: whatever else is printed holds no
//! character that a terminal would obey.

use std::io::{self, IsTerminal, Write};
use std::path::Path;

use fpsrl::remedy::{Part, Remedy};
use fpsrl::visible::{json as shown_json, lines, message, shell_word, visible};

/// Prints a result of some lines.
pub fn result(text: &str) -> io::Result<()> {
    print(&lines(text))
}

/// Prints a result of several sentences, each on a line of its own.
pub fn on_lines(sentences: &[String]) -> io::Result<()> {
    print(&sentences.iter().map(|sentence| format!("{}\n", visible(sentence))).collect::<String>())
}

/// Prints a result as JSON.
pub fn json(text: &str) -> io::Result<()> {
    print(&shown_json(text))
}

fn print(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

/// Says something that is no result, on one line.
pub fn say(quiet: bool, text: &str) {
    if !quiet {
        // Messages are a courtesy: nobody may be there to read them.
        let _ = writeln!(io::stderr().lock(), "{}", visible(text));
    }
}

/// `error:` says what is wrong and where, `hint:` what to do, on a line each.
pub fn complain(text: &str, hint: Option<&str>) {
    // There is nobody left to tell if this fails, and `eprintln!` would panic.
    let mut stderr = io::stderr().lock();
    let _ = writeln!(stderr, "error: {}", message(text));
    if let Some(hint) = hint {
        let _ = writeln!(stderr, "hint: {}", visible(hint));
    }
}

/// What is wrong with the arguments, or the help that they ask for.
pub fn arguments(error: &clap::Error) {
    // There is nobody left to tell if this fails.
    let _ = match error.exit_code() {
        // The help is ours alone, and has its colours.
        0 => error.print(),
        // The rest quotes what was given, which may be the name of a file.
        _ => writeln!(io::stderr().lock(), "{}", lines(error.render().to_string().trim_end())),
    };
}

/// A remedy in the words of the command: stages are verbs, options are flags.
pub fn told(remedy: &Remedy) -> String {
    remedy.told(|part| match part {
        Part::Words(words) => words.clone(),
        Part::Stage { name, of: None } => format!("`fpsrl {name}`"),
        Part::Stage { name, of: Some(of) } => format!("`fpsrl {name} {}`", argument(of)),
        Part::Option { name, value: None } => format!("--{name}"),
        Part::Option { name, value: Some(value) } => format!("--{name} {}", argument(value.as_ref())),
    })
}

/// A path as an argument of a command that is shown to be copied.
pub fn argument(path: &Path) -> String {
    let text = path.to_string_lossy();
    // What begins with a hyphen would be taken for a flag.
    if text.starts_with('-') { shell_word(&format!("./{text}")) } else { shell_word(&text) }
}

/// Asks a question that is answered with yes or no, where somebody is there to answer; no is the default.
pub fn asks(question: &str) -> bool {
    if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
        return false;
    }
    let asked = write!(io::stderr().lock(), "{} [y/N] ", lines(question));
    let mut answer = String::new();
    let answered = asked.is_ok() && io::stdin().read_line(&mut answer).is_ok();
    answered && ["y", "yes"].contains(&answer.trim().to_ascii_lowercase().as_str())
}
