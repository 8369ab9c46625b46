//! The lines of a complete `problem.toml`: a setting, its value, and what it means.

use std::fmt::{Display, Write};

use crate::visible::acts;

/// The text of a problem file under way.
///
/// ```
/// use fpsrl_base::settings::Lines;
/// let mut lines = Lines::default();
/// lines.section("[search]");
/// lines.key("particles", 100, "of the swarm");
/// assert_eq!(lines.text(), "\n[search]\nparticles = 100                      # of the swarm\n");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Lines(String);

impl Lines {
    /// A line as it is.
    pub fn line(&mut self, line: &str) {
        self.0.push_str(line);
        self.0.push('\n');
    }

    /// The head of a section.
    pub fn section(&mut self, header: &str) {
        self.0.push('\n');
        self.line(header);
    }

    /// A setting with its value and what it means.
    pub fn key(&mut self, key: &str, value: impl Display, comment: &str) {
        let setting = format!("{key} = {value}");
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "{setting:<36} # {comment}");
    }

    /// The text so far.
    pub fn text(self) -> String {
        self.0
    }
}

/// A text in quotes, as TOML reads it; what acts instead of being seen is written by its number.
///
/// ```
/// use fpsrl_base::settings::quoted;
/// assert_eq!(quoted("level"), "\"level\"");
/// assert_eq!(quoted("a\u{202e}\u{9b}b"), r#""a\u202E\u009Bb""#);
/// ```
pub fn quoted(text: &str) -> String {
    if !text.chars().any(acts) {
        return toml::Value::String(text.to_owned()).to_string();
    }
    let mut quoted = String::from("\"");
    for c in text.chars() {
        // Writing to a string cannot fail.
        let _ = match c {
            '"' | '\\' => write!(quoted, "\\{c}"),
            '\n' => write!(quoted, "\\n"),
            '\r' => write!(quoted, "\\r"),
            '\t' => write!(quoted, "\\t"),
            c if acts(c) && u32::from(c) > 0xffff => write!(quoted, "\\U{:08X}", u32::from(c)),
            c if acts(c) => write!(quoted, "\\u{:04X}", u32::from(c)),
            c => write!(quoted, "{c}"),
        };
    }
    quoted.push('"');
    quoted
}

/// Texts as a list.
pub fn quoted_list<T: AsRef<str>>(texts: &[T]) -> String {
    format!("[{}]", texts.iter().map(|text| quoted(text.as_ref())).collect::<Vec<_>>().join(", "))
}

/// The shortest digits that read back to the same number.
pub fn number(value: f64) -> String {
    format!("{value:?}")
}

/// Bounds as a list of two numbers.
pub fn bounds([low, high]: [f64; 2]) -> String {
    format!("[{low:?}, {high:?}]")
}
