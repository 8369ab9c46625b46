//! Text from outside as it can be shown: names of columns and files, cells, words of other programs.
//!
//! Whoever makes a log or names a file decides what stands there, and a terminal obeys some of it: an escape moves the
//! cursor, a carriage return writes over what was said, an override turns the direction of writing, and a name of a
//! hundred kilobytes buries the message. So [`Error`](crate::Error) and [`Remedy`](crate::Remedy) show such text through
//! this module, and so does whatever else prints. What is data stays as it is.

use std::borrow::Cow;
use std::fmt::Write;
use std::path::Path;

use crate::text::count;

/// Characters of a name that are shown; of a longer one, its beginning, its end and its length.
pub const LONGEST_NAME: usize = 80;

/// Characters that are shown of what a message puts between backquotes.
const LONGEST_QUOTED: usize = 120;

/// Characters that are shown of a path.
const LONGEST_PATH: usize = 400;

/// Characters of a message that are shown.
const LONGEST_MESSAGE: usize = 4_000;

/// Whether a character does anything but be seen: it ends a line, moves a cursor, turns the direction of writing, or
/// hides.
///
/// ```
/// use fpsrl_base::visible::acts;
/// assert!(['\n', '\u{1b}', '\u{7f}', '\u{9b}', '\u{200b}', '\u{202e}', '\u{2066}', '\u{feff}'].into_iter().all(acts));
/// assert!(!"Grüße, °C, 温度, ✓".chars().any(acts));
/// ```
pub fn acts(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

/// A text on one line, in which whatever acts is shown by its number.
///
/// ```
/// use fpsrl_base::visible::visible;
/// assert_eq!(visible("a\r\nb\u{1b}[2J\u{202e}"), r"a\r\nb\u{1b}[2J\u{202e}");
/// assert_eq!(visible("C:\\logs °C"), "C:\\logs °C");
/// ```
pub fn visible(text: &str) -> Cow<'_, str> {
    shown(text, |_| false)
}

/// The same for what has several lines: tables, lists of sentences.
///
/// ```
/// assert_eq!(fpsrl_base::visible::lines("a\nb\rc"), "a\nb\\rc");
/// ```
pub fn lines(text: &str) -> Cow<'_, str> {
    shown(text, |c| c == '\n')
}

fn shown(text: &str, keeps: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.chars().any(|c| acts(c) && !keeps(c)) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            c if !acts(c) || keeps(c) => shown.push(c),
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            c => shown.extend(c.escape_unicode()),
        }
    }
    Cow::Owned(shown)
}

/// A name as a message, a table or a remark has it: on one line, and of a long one its ends and its length.
///
/// ```
/// use fpsrl_base::visible::name;
/// assert_eq!(name("level"), "level");
/// let long = name(&"x".repeat(100_000));
/// assert!(long.ends_with("xxx (100,000 characters)") && long.chars().count() < 110, "{long}");
/// ```
pub fn name(text: &str) -> String {
    shortened(text, LONGEST_NAME)
}

/// A file's path as a message has it.
pub fn path(path: &Path) -> String {
    shortened(&path.to_string_lossy(), LONGEST_PATH)
}

/// On one line, and of what is longer than so many characters its ends and its length.
pub fn shortened(text: &str, most: usize) -> String {
    // A hundred megabytes are not walked through to know that they are too many.
    if text.chars().nth(most).is_none() {
        return visible(text).into_owned();
    }
    let half = most / 2;
    let begin: String = text.chars().take(half).collect();
    let end: Vec<char> = text.chars().rev().take(half).collect();
    let end: String = end.into_iter().rev().collect();
    format!("{}…{} ({} characters)", visible(&begin), visible(&end), count(text.chars().count()))
}

/// A message: on one line, at most so long that it can be read, and so is each name in it that stands between backquotes.
///
/// ```
/// use fpsrl_base::visible::message;
/// assert_eq!(message("there is no column `a\tb`"), r"there is no column `a\tb`");
/// let said = message(&format!("there is no column `{}`; look again", "y".repeat(5_000)));
/// assert!(said.ends_with("(5,000 characters)`; look again") && said.chars().count() < 200, "{said}");
/// ```
pub fn message(text: &str) -> String {
    if text.len() <= LONGEST_QUOTED {
        return visible(text).into_owned();
    }
    let mut told = String::new();
    for (index, part) in text.split('`').enumerate() {
        if index > 0 {
            told.push('`');
        }
        match index % 2 {
            1 => told.push_str(&shortened(part, LONGEST_QUOTED)),
            _ => told.push_str(&visible(part)),
        }
    }
    shortened(&told, LONGEST_MESSAGE)
}

/// A text as a word of a shell, to be copied from a message into a terminal: as it is where it means only itself.
///
/// ```
/// use fpsrl_base::visible::shell_word;
/// assert_eq!(shell_word("runs/tank-seed1"), "runs/tank-seed1");
/// assert_eq!(shell_word("my run"), "'my run'");
/// assert_eq!(shell_word("it's; rm -rf ~"), r"'it'\''s; rm -rf ~'");
/// assert_eq!(shell_word("a\n\u{1b}é'"), r"$'a\n\x1bé\''");
/// ```
pub fn shell_word(text: &str) -> String {
    let means_itself = |c: char| c.is_alphanumeric() || "_-+=./:,@%".contains(c);
    if !text.is_empty() && text.chars().all(means_itself) {
        return text.to_owned();
    }
    if !text.chars().any(acts) {
        return format!("'{}'", text.replace('\'', r"'\''"));
    }
    let mut word = String::from("$'");
    for c in text.chars() {
        // Writing to a string cannot fail.
        let _ = match c {
            '\'' | '\\' => write!(word, "\\{c}"),
            '\n' => write!(word, "\\n"),
            '\r' => write!(word, "\\r"),
            '\t' => write!(word, "\\t"),
            c if acts(c) => c.encode_utf8(&mut [0; 4]).bytes().try_for_each(|byte| write!(word, "\\x{byte:02x}")),
            c => write!(word, "{c}"),
        };
    }
    word.push('\'');
    word
}

/// The words of a command, as a shell takes them.
pub fn shell_words<T: AsRef<str>>(words: &[T]) -> String {
    words.iter().map(|word| shell_word(word.as_ref())).collect::<Vec<_>>().join(" ")
}

/// JSON for a terminal: what acts stands only in texts there, and is written by its number, as JSON allows.
///
/// ```
/// assert_eq!(fpsrl_base::visible::json("{\n \"a\": \"\u{9b}2J\u{e0041}\"\n}"), "{\n \"a\": \"\\u009b2J\\udb40\\udc41\"\n}");
/// ```
pub fn json(text: &str) -> Cow<'_, str> {
    let stays = |c: char| c == '\n' || !acts(c);
    if text.chars().all(stays) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if stays(c) {
            shown.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            let _ = write!(shown, "\\u{unit:04x}");
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Texts of which many characters act.
    fn hostile() -> impl Strategy<Value = String> {
        let one = prop_oneof![
            any::<char>(),
            prop::sample::select(vec![
                '\n', '\r', '\t', '\0', '\u{1b}', '\u{7f}', '\u{85}', '\u{9b}', '\u{2028}', '\u{202e}', '\u{2067}',
                '\u{200d}', '`', '\'', '"', '\\', '$',
            ]),
        ];
        prop::collection::vec(one, 0..400).prop_map(String::from_iter)
    }

    proptest! {
        #[test]
        fn nothing_that_is_shown_acts(text in hostile()) {
            for shown in [visible(&text).into_owned(), name(&text), message(&text), shell_word(&text), path(text.as_ref())] {
                prop_assert!(!shown.chars().any(acts), "{shown:?}");
            }
            prop_assert!(lines(&text).chars().all(|c| c == '\n' || !acts(c)));
            prop_assert!(name(&text).chars().count() <= 11 * LONGEST_NAME);
        }

        #[test]
        fn what_acts_not_is_shown_as_it_is(text in "[ -~äé°温]{0,80}") {
            prop_assert_eq!(visible(&text), text.as_str());
            prop_assert_eq!(lines(&text), text.as_str());
            prop_assert_eq!(name(&text), text);
        }

        #[test]
        fn json_says_the_same(text in hostile()) {
            let written = serde_json::to_string_pretty(&[&text]).unwrap();
            let shown = json(&written);
            prop_assert!(shown.chars().all(|c| c == '\n' || !acts(c)));
            prop_assert_eq!(serde_json::from_str::<Vec<String>>(&shown).unwrap(), [text]);
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_shell_reads_its_words_back() {
        let texts =
            ["", "plain/path-1", "two words", "it's", "$(touch x)`y`", "-n", "a\\b'c\"", "*?[a]~#!", "é\u{3000}"];
        let printed = |words: String| {
            let output =
                std::process::Command::new("sh").args(["-c", &format!("printf '%s\\0' {words}")]).output().unwrap();
            String::from_utf8(output.stdout).unwrap()
        };
        let all = printed(shell_words(&texts));
        assert_eq!(all.split_terminator('\0').collect::<Vec<_>>(), texts);
    }
}
