//! Rust source as tokens, without what cannot refer to anything: comments, strings, characters, lifetimes, and tests.
//!
//! It knows as much of the language as a look for paths needs, and no grammar.

/// A name, a number or a sign, and the line that it stands on. `::` is one sign; what was quoted is an empty text.
#[derive(Clone, Copy, Debug)]
pub struct Token<'a> {
    /// The token itself; a raw identifier stands without its `r#`.
    pub text: &'a str,
    /// Counted from 1.
    pub line: usize,
}

impl Token<'_> {
    /// Whether it is an identifier or a keyword.
    pub fn is_name(&self) -> bool {
        self.text.starts_with(begins_name)
    }
}

/// The tokens of a source text.
pub fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut line = 1;
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (length, token) = next(rest, first);
        if let Some(text) = token {
            tokens.push(Token { text, line });
        }
        let (passed, left) = rest.split_at(length);
        line += passed.matches('\n').count();
        rest = left;
    }
    tokens
}

/// The length of what the text begins with, and the token that it is, if it is one.
fn next(rest: &str, first: char) -> (usize, Option<&str>) {
    if first.is_whitespace() {
        return (first.len_utf8(), None);
    }
    if rest.starts_with("//") {
        return (rest.find('\n').unwrap_or(rest.len()), None);
    }
    if rest.starts_with("/*") {
        return (comment(rest), None);
    }
    if first == '"' {
        return (quoted(rest, '"'), Some(""));
    }
    if first == '\'' {
        return character(rest).map_or_else(|| (1 + name(&rest[1..]), None), |length| (length, Some("")));
    }
    if first.is_ascii_digit() {
        let length = name(rest);
        return (length, Some(&rest[..length]));
    }
    if begins_name(first) {
        let length = name(rest);
        let (word, after) = rest.split_at(length);
        return match word {
            "b" | "c" if after.starts_with('"') => (length + quoted(after, '"'), Some("")),
            "b" if after.starts_with('\'') => (length + quoted(after, '\''), Some("")),
            "r" | "br" | "cr" => match (raw(after), after.strip_prefix('#')) {
                (Some(raw), _) => (length + raw, Some("")),
                (None, Some(identifier)) => {
                    let end = name(identifier);
                    (length + 1 + end, Some(&identifier[..end]))
                }
                (None, None) => (length, Some(word)),
            },
            _ => (length, Some(word)),
        };
    }
    let length = if rest.starts_with("::") { 2 } else { first.len_utf8() };
    (length, Some(&rest[..length]))
}

fn begins_name(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

/// How far a name, or a number, goes on.
fn name(text: &str) -> usize {
    text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len())
}

/// The length of a block comment; they nest.
fn comment(text: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < text.len() {
        let rest = &text.as_bytes()[at..];
        if rest.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    text.len()
}

/// The length of a text in quotes, in which a backslash hides what follows it.
fn quoted(text: &str, quote: char) -> usize {
    let mut hidden = true;
    for (at, c) in text.char_indices() {
        match c {
            _ if hidden => hidden = false,
            '\\' => hidden = true,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// The length of a raw string after its `r`; none if none begins here.
fn raw(text: &str) -> Option<usize> {
    let marks = text.len() - text.trim_start_matches('#').len();
    let inside = text[marks..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(marks));
    Some(inside.find(&end).map_or(text.len(), |at| marks + 1 + at + end.len()))
}

/// The length of a character in its quotes; none if the quote begins a lifetime.
fn character(text: &str) -> Option<usize> {
    let mut chars = text.chars().skip(1);
    match (chars.next()?, chars.next()) {
        ('\\', _) => Some(quoted(text, '\'')),
        (c, Some('\'')) => Some(2 + c.len_utf8()),
        _ => None,
    }
}

/// Leaves out what is compiled for tests alone.
pub fn without_tests<'a>(tokens: &[Token<'a>]) -> Vec<Token<'a>> {
    let mut kept = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let sign = |offset: usize| tokens.get(at + offset).map(|token| token.text);
        let after = match (sign(0), sign(1), sign(2)) {
            (Some("#"), Some("["), _) => {
                let end = closing(tokens, at + 1);
                is_test(tokens.get(at + 2..end).unwrap_or_default()).then(|| item_end(tokens, end + 1))
            }
            // The whole file or block.
            (Some("#"), Some("!"), Some("[")) => {
                let end = closing(tokens, at + 2);
                is_test(tokens.get(at + 3..end).unwrap_or_default()).then(|| block_end(tokens, end + 1))
            }
            _ => None,
        };
        at = after.unwrap_or_else(|| {
            kept.push(tokens[at]);
            at + 1
        });
    }
    kept
}

/// Whether what carries this attribute exists in tests alone.
fn is_test(attribute: &[Token<'_>]) -> bool {
    let texts: Vec<&str> = attribute.iter().map(|token| token.text).collect();
    match texts.as_slice() {
        ["test"] => true,
        ["cfg", "(", condition @ .., ")"] => demands_test(condition),
        _ => false,
    }
}

fn demands_test(condition: &[&str]) -> bool {
    match condition {
        ["test"] => true,
        ["all", "(", parts @ .., ")"] => {
            let mut depth = 0;
            let parts = parts.split(|text| {
                match *text {
                    "(" => depth += 1,
                    ")" => depth -= 1,
                    _ => {}
                }
                *text == "," && depth == 0
            });
            parts.into_iter().any(demands_test)
        }
        _ => false,
    }
}

/// Where the bracket at `open` is closed; the last token if it is not.
fn closing(tokens: &[Token<'_>], open: usize) -> usize {
    block_end(tokens, open + 1).min(tokens.len().saturating_sub(1))
}

/// Where the block is closed that `at` stands in; behind the last token if there is none.
fn block_end(tokens: &[Token<'_>], at: usize) -> usize {
    let mut depth = 0;
    for (offset, token) in tokens[at..].iter().enumerate() {
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" if depth == 0 => return at + offset,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
    }
    tokens.len()
}

/// Where what follows an attribute ends: an item, a statement, a field or an arm.
fn item_end(tokens: &[Token<'_>], mut at: usize) -> usize {
    const ITEMS: [&str; 16] = [
        "async",
        "const",
        "enum",
        "extern",
        "fn",
        "impl",
        "let",
        "macro_rules",
        "mod",
        "static",
        "struct",
        "trait",
        "type",
        "union",
        "unsafe",
        "use",
    ];
    let text = |at: usize| tokens.get(at).map_or("", |token| token.text);
    while text(at) == "#" && text(at + 1) == "[" {
        at = closing(tokens, at + 1) + 1;
    }
    if text(at) == "pub" {
        at = if text(at + 1) == "(" { closing(tokens, at + 1) + 1 } else { at + 1 };
    }
    // A comma ends a field, but not the parameters of a function.
    let is_item = ITEMS.contains(&text(at));
    while at < tokens.len() {
        match text(at) {
            "{" => return closing(tokens, at) + 1,
            "(" | "[" => at = closing(tokens, at),
            ")" | "]" | "}" => return at,
            ";" => return at + 1,
            "," if !is_item => return at + 1,
            _ => {}
        }
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<&str> {
        tokens(text).iter().map(|token| token.text).collect()
    }

    fn kept(text: &str) -> String {
        let texts: Vec<&str> = without_tests(&tokens(text)).iter().map(|token| token.text).collect();
        texts.join(" ")
    }

    #[test]
    fn names_numbers_and_signs_are_tokens() {
        assert_eq!(texts("crate::a2::B+1.5e3"), ["crate", "::", "a2", "::", "B", "+", "1", ".", "5e3"]);
        assert_eq!(texts("r#type::größe"), ["type", "::", "größe"]);
    }

    #[test]
    fn comments_are_left_out() {
        assert_eq!(texts("a // b\n/// c\n//! d\ne"), ["a", "e"]);
        assert_eq!(texts("a /* b /* c */ d */ e /* never closed"), ["a", "e"]);
    }

    #[test]
    fn strings_are_empty() {
        assert_eq!(texts(r#"a "b \" c" d"#), ["a", "", "d"]);
        assert_eq!(texts(r##"a r"b\" c r#"d " e"# f"##), ["a", "", "c", "", "f"]);
        assert_eq!(texts(r##"b"a" c"b" br#"c"# cr"d" end"##), ["", "", "", "", "end"]);
        assert_eq!(texts(r#"a "// no comment" b"#), ["a", "", "b"]);
        assert_eq!(texts("a \"never closed"), ["a", ""]);
    }

    #[test]
    fn characters_are_told_from_lifetimes() {
        assert_eq!(texts(r"'a' b"), ["", "b"]);
        assert_eq!(texts(r#"'\'' '\\' '\u{1F600}' '"' b'\'' '→' end"#), ["", "", "", "", "", "", "end"]);
        assert_eq!(texts("&'a str, 'static"), ["&", "str", ","]);
        assert_eq!(texts("<'a>(x: &'a u8)"), ["<", ">", "(", "x", ":", "&", "u8", ")"]);
    }

    #[test]
    fn lines_are_counted_in_everything() {
        let text = "a\n/* b\n */ c \"d\ne\" f\nr\"\n\" g";
        let lines: Vec<usize> = tokens(text).iter().map(|token| token.line).collect();
        assert_eq!(lines, [1, 3, 3, 4, 5, 6]);
    }

    #[test]
    fn modules_of_tests_are_left_out() {
        assert_eq!(kept("a; #[cfg(test)] mod tests { use x; fn f() { y } } b"), "a ; b");
        assert_eq!(kept("#[cfg(test)] #[allow(dead_code)] pub(crate) mod tests; b"), "b");
    }

    #[test]
    fn every_item_of_tests_is_left_out() {
        assert_eq!(kept("#[cfg(test)] fn f<A, B>(a: [u8; 3], b: B) -> A { x } b"), "b");
        assert_eq!(kept("#[test] fn f() { x } b"), "b");
        assert_eq!(kept("#[cfg(test)] use a::b; c"), "c");
        assert_eq!(kept("struct A { #[cfg(test)] a: x, b: y }"), "struct A { b : y }");
        assert_eq!(kept("struct A { b: y, #[cfg(test)] pub a: x }"), "struct A { b : y , }");
        assert_eq!(kept("mod a { #![cfg(test)] x } b"), "mod a { } b");
        assert_eq!(kept("#![allow(x)] #![cfg(test)] mod a { x } b"), "# ! [ allow ( x ) ]");
    }

    #[test]
    fn what_is_compiled_without_tests_too_stays() {
        assert_eq!(kept("#[cfg(all(unix, test))] mod a; b"), "b");
        assert_eq!(kept("#[cfg(not(test))] a"), "# [ cfg ( not ( test ) ) ] a");
        assert_eq!(kept("#[cfg(any(test, unix))] a"), "# [ cfg ( any ( test , unix ) ) ] a");
        assert_eq!(kept("#[cfg(all(unix, any(test, b)))] a"), "# [ cfg ( all ( unix , any ( test , b ) ) ) ] a");
        assert_eq!(kept("#[cfg(feature = \"test\")] a"), "# [ cfg ( feature =  ) ] a");
    }
}
