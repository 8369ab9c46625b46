//! Changes of documents as trees: they stay documents, and what they say is hostile.

use super::hostile;
use crate::draw::Draw;
use crate::tree::Tree;

/// The deepest nesting that is put into a document.
const DEEPEST: usize = 1 << 17;

/// Changes a document of TOML; none if it is none.
pub(super) fn toml(bytes: &[u8], draw: &mut Draw) -> Option<Vec<u8>> {
    let mut tree = Tree::of_toml(std::str::from_utf8(bytes).ok()?)?;
    let sections = !draw.one_in(4);
    visit(&mut tree, draw, &|node, draw| change(node, draw, true));
    Some(tree.to_toml(sections).into_bytes())
}

/// Changes a document of JSON; none if it is none.
pub(super) fn json(bytes: &[u8], draw: &mut Draw) -> Option<Vec<u8>> {
    let mut tree = Tree::of_json(bytes)?;
    visit(&mut tree, draw, &|node, draw| change(node, draw, false));
    Some(tree.to_json().into_bytes())
}

/// Goes down to a node: of two branches each is as likely, however much hangs on them.
fn visit(node: &mut Tree, draw: &mut Draw, act: &dyn Fn(&mut Tree, &mut Draw)) {
    let count = node.count();
    if count > 0 && !draw.one_in(5) {
        let place = draw.below(count);
        if let Some(next) = node.at(place) {
            return visit(next, draw, act);
        }
    }
    act(node, draw);
}

fn change(node: &mut Tree, draw: &mut Draw, toml: bool) {
    match node {
        _ if draw.one_in(8) => *node = anything(draw, toml),
        Tree::Plain(plain) => *plain = changed_number(plain, draw, toml),
        Tree::Text(text) => change_text(text, draw),
        Tree::List(list) => change_list(list, draw, |draw| anything(draw, toml)),
        Tree::Table(entries) => match draw.below(4) {
            0 if !entries.is_empty() => {
                let (at, key) = (draw.below(entries.len()), hostile::text(draw));
                entries[at].0 = key;
            }
            1 => entries.push((hostile::text(draw), anything(draw, toml))),
            2 if entries.len() > 1 => {
                let value = entries[draw.below(entries.len())].1.clone();
                let at = draw.below(entries.len());
                entries[at].1 = value;
            }
            // The same key twice is no TOML.
            _ if toml && !entries.is_empty() => drop(entries.remove(draw.below(entries.len()))),
            _ => change_list(entries, draw, |draw| (hostile::text(draw), anything(draw, toml))),
        },
    }
}

/// Takes away from a list, adds to it, or moves what is in it.
fn change_list<T: Clone>(list: &mut Vec<T>, draw: &mut Draw, anything: impl Fn(&mut Draw) -> T) {
    if list.is_empty() {
        return list.push(anything(draw));
    }
    let [at, other] = [draw.below(list.len()), draw.below(list.len())];
    match draw.below(6) {
        0 => drop(list.remove(at)),
        1 => list.truncate(at),
        2 => list.swap(at, other),
        3 => list.insert(other, list[at].clone()),
        4 => list.insert(at, anything(draw)),
        _ => {
            // Many of one kind, as long as they are small.
            let count = if list.len() < 200 { 1 << draw.below(7) } else { 1 };
            let copy = list[at].clone();
            list.splice(at..at, std::iter::repeat_n(copy, count));
        }
    }
}

fn change_text(text: &mut String, draw: &mut Draw) {
    match draw.below(4) {
        0 => *text = hostile::text(draw),
        1 => text.push_str(&hostile::text(draw)),
        2 => {
            let mut signs: Vec<char> = text.chars().collect();
            if !signs.is_empty() {
                let at = draw.below(signs.len());
                signs[at] = char::from_u32(draw.word() % 0x300).unwrap_or('x');
                *text = signs.into_iter().collect();
            }
        }
        _ => {
            let mut bytes = std::mem::take(text).into_bytes();
            super::text::change(&mut bytes, b"abs(level) < 1 and valve > 0 ? 0 : -1 data none auto", draw);
            *text = String::from_utf8_lossy(&bytes).into_owned();
        }
    }
}

fn changed_number(plain: &str, draw: &mut Draw, toml: bool) -> String {
    let Ok(value) = plain.parse::<f64>() else {
        return match plain {
            "true" => "false".into(),
            "false" => "true".into(),
            _ => hostile::number(draw, toml),
        };
    };
    let value = match draw.below(7) {
        0 => -value,
        1 => value * 10.0,
        2 => value + 1.0,
        3 => value - 1.0,
        4 => value / 3.0,
        _ => return hostile::number(draw, toml),
    };
    // What was whole stays whole.
    if plain.contains(['.', 'e']) && value.is_finite() { format!("{value:?}") } else { format!("{value:.0}") }
}

/// Any value.
fn anything(draw: &mut Draw, toml: bool) -> Tree {
    match draw.below(10) {
        0..=2 => Tree::Plain(hostile::number(draw, toml)),
        3..=5 => Tree::Text(hostile::text(draw)),
        6 => Tree::Plain((*draw.pick(if toml { &["true", "false"] } else { &["true", "null"] })).to_owned()),
        7 => Tree::List(Vec::new()),
        8 => Tree::Table(Vec::new()),
        _ => {
            // Deeper than a stack.
            let depth = if draw.one_in(16) { DEEPEST } else { 1 << draw.below(8) };
            Tree::Plain("[".repeat(depth) + &"]".repeat(depth))
        }
    }
}
