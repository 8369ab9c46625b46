//! What nobody expects in a file.

use crate::draw::Draw;

/// Whole numbers at the borders of what computers count with.
pub(super) const WHOLE: [i64; 22] = [
    0,
    1,
    -1,
    2,
    3,
    7,
    64,
    127,
    255,
    256,
    65_535,
    65_536,
    1_000_000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    100_000_000_000,
    1 << 40,
    1 << 53,
    i64::MAX - 7,
    i64::MAX,
    i64::MIN,
];

/// Numbers as JSON has them.
const NUMBERS: [&str; 24] = [
    "0",
    "-0.0",
    "1",
    "-1",
    "2",
    "3",
    "0.5",
    "1e-9",
    "1e9",
    "1e30",
    "-1e30",
    "1e38",
    "1e39",
    "1e308",
    "-1.7976931348623157e308",
    "1e999",
    "5e-324",
    "1e-400",
    "65536",
    "4294967296",
    "9007199254740993",
    "9223372036854775807",
    "18446744073709551615",
    "-9223372036854775809",
];

/// What stands in the place of a number in text and in TOML.
const WORDS: [&str; 12] = ["nan", "inf", "-inf", "NaN", "Infinity", "1,5", "0x10", "1_000", "--1", "1e", ".", "true"];

/// Texts that break something somewhere.
const TEXTS: [&str; 34] = [
    "",
    " ",
    "a\nb",
    "a\r\nb",
    "\r",
    "\t",
    "\u{0}",
    "\u{1b}[31mred\u{1b}[0m",
    "\u{7f}",
    "\u{feff}",
    "\u{202e}txt",
    "ä",
    "名前",
    "🦀",
    "\"",
    "'",
    "\"\"\"",
    "\\",
    "a]\n[data]\nfile = \"x\"",
    "</script><script>alert(1)</script>",
    "${HOME}",
    "%s%n",
    "../../../etc/passwd",
    "a.b",
    "reward",
    "next_level",
    "previous_level",
    "episode",
    "pi",
    "none",
    "auto",
    "data",
    "learn",
    "NaN",
];

/// Formulas that are nearly right.
const FORMULAS: [&str; 12] = [
    "1/0",
    "0/0",
    "level^level^level",
    "(((((((((((1)))))))))))",
    "1 < 2",
    "abs(level) < 1 ? 0 : -1",
    "exp(1000)",
    "log(-1)",
    "-level",
    "sqrt(-level)",
    "not level",
    "level = 1",
];

/// A number as text; with `words`, also what is no number in JSON.
pub(super) fn number(draw: &mut Draw, words: bool) -> String {
    match draw.below(if words { 10 } else { 8 }) {
        0..=4 => (*draw.pick(&NUMBERS)).to_owned(),
        5 => draw.pick(&WHOLE).to_string(),
        6 => f64::from_bits(u64::from(draw.word()) << 32 | u64::from(draw.word())).to_string().replace("NaN", "1"),
        7 => (f64::from(draw.word()) / 65_536.0 - 32_768.0).to_string(),
        _ => (*draw.pick(&WORDS)).to_owned(),
    }
}

/// A text.
pub(super) fn text(draw: &mut Draw) -> String {
    match draw.below(12) {
        0 => "x".repeat(1 << draw.below(13)),
        1 => (*draw.pick(&FORMULAS)).to_owned(),
        2 => number(draw, true),
        3 => char::from_u32(draw.word() % 0x11_0000).map(String::from).unwrap_or_default(),
        _ => (*draw.pick(&TEXTS)).to_owned(),
    }
}
