//! Changes of HDF5 files: bytes at their places, with the checksums of the blocks that they stand in made right again.

use std::ops::Range;

use super::bytes;
use super::hostile::WHOLE;
use crate::draw::Draw;

/// What begins a block that ends with its checksum; the first is that of the file.
const BLOCKS: [&[u8]; 13] = [
    b"\x89HDF\r\n\x1a\n",
    b"OHDR",
    b"OCHK",
    b"BTHD",
    b"BTIN",
    b"BTLF",
    b"FRHP",
    b"FHIB",
    b"FHDB",
    b"FAHD",
    b"FADB",
    b"EAHD",
    b"EAIB",
];

/// The longest block that is looked for.
const LONGEST: usize = 2_048;

/// The blocks of a file that end with a checksum: what it is of, and behind it its four bytes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sums(Vec<Range<usize>>);

impl Sums {
    /// Looks for them.
    pub(super) fn of(file: &[u8]) -> Self {
        let begins = (0..file.len()).filter(|at| BLOCKS.iter().any(|block| file[*at..].starts_with(block)));
        let block = |begin: usize| {
            let last = file.len().saturating_sub(4).min(begin + LONGEST);
            let end = (begin + 8..=last).find(|end| lookup3(&file[begin..*end]).to_le_bytes() == file[*end..*end + 4]);
            end.map(|end| begin..end)
        };
        Self(begins.filter_map(block).collect())
    }

    fn mend(&self, file: &mut [u8]) {
        // What is in a block may be a block itself; the outer one begins before it and is mended after it.
        for block in self.0.iter().rev() {
            if block.end + 4 <= file.len() {
                let sum = lookup3(&file[block.clone()]).to_le_bytes();
                file[block.end..block.end + 4].copy_from_slice(&sum);
            }
        }
    }
}

/// Changes bytes at their places.
pub(super) fn change(file: &mut Vec<u8>, sums: &mut Sums, draw: &mut Draw) {
    if file.is_empty() || draw.one_in(16) {
        let other = file.clone();
        bytes::change(file, &other, draw);
        *sums = Sums::of(file);
        return;
    }
    // What describes is shorter than what is described, and more depends on it.
    let at = match sums.0.is_empty() || draw.one_in(4) {
        true => draw.below(file.len()),
        false => {
            let block = draw.pick(&sums.0).clone();
            block.start + draw.below(block.len())
        }
    };
    match draw.below(5) {
        0 => file[at] ^= 1 << draw.below(8),
        1 => file[at] = draw.word() as u8,
        2 => file[at] = file[at].wrapping_add(*draw.pick(&[1, 0xff])),
        _ => {
            let whole = draw.pick(&WHOLE).to_le_bytes();
            let count = (*draw.pick(&[1, 2, 4, 8])).min(file.len() - at);
            file[at..at + count].copy_from_slice(&whole[..count]);
        }
    }
    sums.mend(file);
}

/// The checksum of HDF5: lookup3 of Bob Jenkins, `hashlittle`.
fn lookup3(data: &[u8]) -> u32 {
    let begin = 0xdead_beef_u32.wrapping_add(data.len() as u32);
    let [mut a, mut b, mut c] = [begin; 3];
    if data.is_empty() {
        return c;
    }
    let whole = (data.len() - 1) / 12 * 12;
    let words = |block: &[u8]| {
        let word =
            |from: usize| block.iter().skip(from).take(4).rev().fold(0u32, |word, byte| word << 8 | u32::from(*byte));
        [word(0), word(4), word(8)]
    };
    for block in data[..whole].chunks(12) {
        let [x, y, z] = words(block);
        (a, b, c) = (a.wrapping_add(x), b.wrapping_add(y), c.wrapping_add(z));
        a = a.wrapping_sub(c) ^ c.rotate_left(4);
        c = c.wrapping_add(b);
        b = b.wrapping_sub(a) ^ a.rotate_left(6);
        a = a.wrapping_add(c);
        c = c.wrapping_sub(b) ^ b.rotate_left(8);
        b = b.wrapping_add(a);
        a = a.wrapping_sub(c) ^ c.rotate_left(16);
        c = c.wrapping_add(b);
        b = b.wrapping_sub(a) ^ a.rotate_left(19);
        a = a.wrapping_add(c);
        c = c.wrapping_sub(b) ^ b.rotate_left(4);
        b = b.wrapping_add(a);
    }
    let [x, y, z] = words(&data[whole..]);
    (a, b, c) = (a.wrapping_add(x), b.wrapping_add(y), c.wrapping_add(z));
    c = (c ^ b).wrapping_sub(b.rotate_left(14));
    a = (a ^ c).wrapping_sub(c.rotate_left(11));
    b = (b ^ a).wrapping_sub(a.rotate_left(25));
    c = (c ^ b).wrapping_sub(b.rotate_left(16));
    a = (a ^ c).wrapping_sub(c.rotate_left(4));
    b = (b ^ a).wrapping_sub(a.rotate_left(14));
    (c ^ b).wrapping_sub(b.rotate_left(24))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_published_one() {
        // From the comments of lookup3.c.
        assert_eq!(lookup3(b""), 0xdead_beef);
        assert_eq!(lookup3(b"Four score and seven years ago"), 0x1777_0551);
    }
}
