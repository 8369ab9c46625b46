//! Changes of bytes, whatever they mean.

use super::hostile::WHOLE;
use crate::draw::Draw;

/// Changes some bytes; `other` is another input of the same target.
pub(super) fn change(bytes: &mut Vec<u8>, other: &[u8], draw: &mut Draw) {
    if bytes.is_empty() {
        bytes.extend_from_slice(&other[draw.range(other.len())]);
        return;
    }
    let at = draw.below(bytes.len());
    match draw.below(12) {
        0 => bytes[at] ^= 1 << draw.below(8),
        1 => bytes[at] = draw.word() as u8,
        2 => bytes[at] = *draw.pick(&[0, 1, 0x7f, 0x80, 0xff, b'\n', b'"', b'0']),
        3 => bytes[at] = bytes[at].wrapping_add(*draw.pick(&[1, 2, 0xff, 0xfe, 16])),
        4 => {
            let whole = draw.pick(&WHOLE).to_le_bytes();
            let count = (*draw.pick(&[2, 4, 8])).min(bytes.len() - at);
            bytes[at..at + count].copy_from_slice(&whole[..count]);
        }
        5 => bytes.truncate(at),
        6 => drop(bytes.drain(draw.range(bytes.len()))),
        7 => {
            let part = bytes[draw.range(bytes.len())].to_vec();
            bytes.splice(at..at, part);
        }
        8 => {
            let part = other[draw.range(other.len())].to_vec();
            bytes.splice(at..at, part);
        }
        9 => {
            let part = other[draw.range(other.len())].to_vec();
            let end = (at + part.len()).min(bytes.len());
            bytes.splice(at..end, part);
        }
        10 => {
            let fill = *draw.pick(&[0, 0xff, b' ', b'9']);
            bytes.splice(at..at, std::iter::repeat_n(fill, 1 << draw.below(10)));
        }
        _ => change_number(bytes, at, draw),
    }
}

/// Replaces the first digits after a place by a hostile number.
fn change_number(bytes: &mut Vec<u8>, at: usize, draw: &mut Draw) {
    let Some(begin) = bytes[at..].iter().position(u8::is_ascii_digit).map(|skip| at + skip) else { return };
    let end = bytes[begin..].iter().position(|byte| !byte.is_ascii_digit()).map_or(bytes.len(), |count| begin + count);
    bytes.splice(begin..end, super::hostile::number(draw, true).into_bytes());
}
