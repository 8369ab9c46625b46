//! Thrift's compact protocol, in which Parquet describes its pages and its footer: read into a tree, and written again.

use super::hostile;
use crate::draw::Draw;

/// A value; whole numbers keep the kind that they are written as.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Thrift {
    Truth(bool),
    Byte(u8),
    Whole(u8, i64),
    Number([u8; 8]),
    Bytes(Vec<u8>),
    /// The kind of the elements, and the elements.
    List(u8, Vec<Thrift>),
    /// Fields by their numbers.
    Struct(Vec<(i16, Thrift)>),
}

/// The deepest structure that is read.
const DEEPEST: usize = 16;

const STRUCT: u8 = 12;

impl Thrift {
    /// Reads a structure; also says how long it is.
    pub(super) fn read(bytes: &[u8]) -> Option<(Self, usize)> {
        let mut reader = Reader { bytes, at: 0 };
        let value = reader.value(STRUCT, 0)?;
        Some((value, reader.at))
    }

    /// Writes a structure.
    pub(super) fn written(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.write(&mut bytes);
        bytes
    }

    /// A field of a structure.
    pub(super) fn field(&mut self, number: i16) -> Option<&mut Self> {
        match self {
            Self::Struct(fields) => fields.iter_mut().find(|(its, _)| *its == number).map(|(_, value)| value),
            _ => None,
        }
    }

    /// Goes down to a value and changes it.
    pub(super) fn change(&mut self, draw: &mut Draw) {
        let count = match self {
            Self::List(_, list) => list.len(),
            Self::Struct(fields) => fields.len(),
            _ => 0,
        };
        if count > 0 && !draw.one_in(8) {
            let place = draw.below(count);
            return match self {
                Self::List(_, list) => list[place].change(draw),
                Self::Struct(fields) => fields[place].1.change(draw),
                _ => {}
            };
        }
        match self {
            Self::Truth(truth) => *truth = !*truth,
            Self::Byte(byte) => *byte = draw.word() as u8,
            Self::Whole(_, whole) => {
                *whole = match draw.below(5) {
                    0 => whole.wrapping_add(1),
                    1 => whole.wrapping_sub(1),
                    2 => whole.wrapping_mul(*draw.pick(&[-1, 2, 1_000, 1_000_000])),
                    3 => draw.below(20) as i64,
                    _ => *draw.pick(&hostile::WHOLE),
                }
            }
            Self::Number(number) => *number = draw.pick(&hostile::WHOLE).to_le_bytes(),
            Self::Bytes(bytes) => match draw.one_in(2) {
                true => *bytes = hostile::text(draw).into_bytes(),
                false => super::bytes::change(bytes, b"level", draw),
            },
            Self::List(_, list) if list.is_empty() => {}
            Self::List(_, list) => {
                let [at, other] = [draw.below(list.len()), draw.below(list.len())];
                match draw.below(3) {
                    0 => drop(list.remove(at)),
                    1 => list.swap(at, other),
                    _ => {
                        let copy = list[at].clone();
                        let count = 1 << draw.below(9);
                        list.splice(at..at, std::iter::repeat_n(copy, count));
                    }
                }
            }
            Self::Struct(fields) if fields.is_empty() => {}
            Self::Struct(fields) => {
                let at = draw.below(fields.len());
                match draw.below(3) {
                    0 => drop(fields.remove(at)),
                    1 => fields[at].0 = draw.below(24) as i16,
                    _ => fields[at].1 = Self::Whole(6, *draw.pick(&hostile::WHOLE)),
                }
            }
        }
    }

    fn kind(&self) -> u8 {
        match self {
            Self::Truth(true) => 1,
            Self::Truth(false) => 2,
            Self::Byte(_) => 3,
            Self::Whole(kind, _) => *kind,
            Self::Number(_) => 7,
            Self::Bytes(_) => 8,
            Self::List(..) => 9,
            Self::Struct(_) => STRUCT,
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            // In a field, the kind says it.
            Self::Truth(_) => {}
            Self::Byte(byte) => out.push(*byte),
            Self::Whole(_, whole) => varint(out, ((whole << 1) ^ (whole >> 63)) as u64),
            Self::Number(number) => out.extend(number),
            Self::Bytes(bytes) => {
                varint(out, bytes.len() as u64);
                out.extend(bytes);
            }
            Self::List(kind, list) => {
                if list.len() < 15 {
                    out.push((list.len() as u8) << 4 | kind);
                } else {
                    out.push(0xf0 | kind);
                    varint(out, list.len() as u64);
                }
                for element in list {
                    match element {
                        Self::Truth(truth) => out.push(if *truth { 1 } else { 2 }),
                        other => other.write(out),
                    }
                }
            }
            Self::Struct(fields) => {
                let mut last = 0;
                for (number, value) in fields {
                    let step = i32::from(*number) - last;
                    if (1..=15).contains(&step) {
                        out.push((step as u8) << 4 | value.kind());
                    } else {
                        out.push(value.kind());
                        let number = i64::from(*number);
                        varint(out, ((number << 1) ^ (number >> 63)) as u64);
                    }
                    value.write(out);
                    last = i32::from(*number);
                }
                out.push(0);
            }
        }
    }
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    fn whole(&mut self) -> Option<i64> {
        let value = self.varint()?;
        Some((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    fn take(&mut self, count: usize) -> Option<Vec<u8>> {
        let end = self.at.checked_add(count).filter(|end| *end <= self.bytes.len())?;
        let taken = self.bytes[self.at..end].to_vec();
        self.at = end;
        Some(taken)
    }

    fn value(&mut self, kind: u8, depth: usize) -> Option<Thrift> {
        if depth > DEEPEST {
            return None;
        }
        Some(match kind {
            1 | 2 => Thrift::Truth(kind == 1),
            3 => Thrift::Byte(self.byte()?),
            4..=6 => Thrift::Whole(kind, self.whole()?),
            7 => Thrift::Number(self.take(8)?.try_into().ok()?),
            8 => {
                let count = self.varint()?;
                Thrift::Bytes(self.take(count.try_into().ok()?)?)
            }
            9 | 10 => {
                let head = self.byte()?;
                let count = if head >> 4 == 15 { self.varint()? } else { u64::from(head >> 4) };
                let kind = head & 15;
                let mut list = Vec::new();
                for _ in 0..count {
                    list.push(match kind {
                        1 | 2 => Thrift::Truth(self.byte()? == 1),
                        kind => self.value(kind, depth + 1)?,
                    });
                }
                Thrift::List(kind, list)
            }
            STRUCT => {
                let (mut fields, mut last) = (Vec::new(), 0i16);
                loop {
                    let head = self.byte()?;
                    if head == 0 {
                        break;
                    }
                    let number = match head >> 4 {
                        0 => self.whole()? as i16,
                        step => last.wrapping_add(i16::from(step)),
                    };
                    fields.push((number, self.value(head & 15, depth + 1)?));
                    last = number;
                }
                Thrift::Struct(fields)
            }
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_structure_is_written_as_it_was_read() {
        let value = Thrift::Struct(vec![
            (1, Thrift::Whole(5, -3)),
            (2, Thrift::Truth(false)),
            (40, Thrift::Bytes(b"level".to_vec())),
            (41, Thrift::List(1, vec![Thrift::Truth(true), Thrift::Truth(false)])),
            (42, Thrift::List(STRUCT, (0..20).map(|n| Thrift::Struct(vec![(1, Thrift::Whole(6, n << 40))])).collect())),
            (3, Thrift::Number(1.5f64.to_le_bytes())),
        ]);
        let bytes = value.written();
        assert_eq!(Thrift::read(&bytes), Some((value, bytes.len())));
        assert!((0..bytes.len()).all(|end| Thrift::read(&bytes[..end]).is_none()));
    }
}
