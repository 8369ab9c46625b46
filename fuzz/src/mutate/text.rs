//! Changes of text by its lines and words: logs, rules of other tools, formulas, what a simulator says.

use std::ops::Range;

use super::{bytes, hostile};
use crate::draw::Draw;

/// Changes some text; `other` is another input of the same target, whose words are taken over.
pub(super) fn change(text: &mut Vec<u8>, other: &[u8], draw: &mut Draw) {
    match draw.below(16) {
        0 => bytes::change(text, other, draw),
        1..=5 => change_lines(text, draw),
        _ => change_words(text, other, draw),
    }
}

fn change_lines(text: &mut Vec<u8>, draw: &mut Draw) {
    let mut lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
    if lines.is_empty() {
        return;
    }
    let [at, other] = [draw.below(lines.len()), draw.below(lines.len())];
    match draw.below(6) {
        0 => drop(lines.remove(at)),
        1 => lines.insert(other, lines[at]),
        2 => lines.swap(at, other),
        3 => lines.truncate(at + 1),
        4 => drop(lines.drain(draw.range(lines.len()))),
        _ => {
            let count = 1 << draw.below(8);
            lines.splice(at..at, std::iter::repeat_n(lines[at], count));
        }
    }
    *text = lines.concat();
}

fn change_words(text: &mut Vec<u8>, other: &[u8], draw: &mut Draw) {
    // A long text is looked at from some place on: its words are not counted to the end.
    let begin = if text.len() > 4_096 { draw.below(text.len() - 2_048) } else { 0 };
    let found = words(text, begin);
    let Some(word) = (!found.is_empty()).then(|| draw.pick(&found).clone()) else {
        return text.extend_from_slice(hostile::text(draw).as_bytes());
    };
    match draw.below(9) {
        0 => drop(text.drain(word)),
        1 => {
            let copy = text[word.clone()].to_vec();
            text.splice(word.start..word.start, copy);
        }
        2 | 3 => {
            let from = draw.pick(&found).clone();
            let copy = text[from].to_vec();
            text.splice(word, copy);
        }
        4 | 5 => {
            let theirs = words(other, if other.len() > 4_096 { draw.below(other.len() - 2_048) } else { 0 });
            if !theirs.is_empty() {
                let copy = other[draw.pick(&theirs).clone()].to_vec();
                text.splice(word, copy);
            }
        }
        6 | 7 => drop(text.splice(word, hostile::number(draw, true).into_bytes())),
        _ => drop(text.splice(word, hostile::text(draw).into_bytes())),
    }
}

/// Names, numbers, and single signs; blanks are none.
fn words(text: &[u8], begin: usize) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_') || byte >= 0x80;
    let mut at = begin;
    while at < text.len() && found.len() < 1_000 {
        let end = text[at..].iter().position(|byte| !is_name(*byte)).map_or(text.len(), |count| at + count);
        if end > at {
            found.push(at..end);
            at = end;
        } else {
            if !matches!(text[at], b' ' | b'\n' | b'\r') {
                found.push(at..at + 1);
            }
            at += 1;
        }
    }
    found
}
