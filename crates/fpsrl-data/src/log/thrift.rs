//! Thrift's compact protocol, as far as it takes to know what a Parquet file claims before its reader believes it: how deep
//! its schema is nested, how many parts its footer has, and what its pages unpack to.

/// Structures within each other that are followed.
const DEEPEST: usize = 24;

/// Groups within each other that a schema may have.
const DEEPEST_SCHEMA: usize = 64;

const I32: u8 = 5;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// What a footer claims.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Footer {
    /// Columns of the schema.
    pub(super) columns: u64,
    /// Bytes of the names of all columns, each with the groups that it is in.
    pub(super) names: u64,
    /// Column chunks of all row groups.
    pub(super) chunks: u64,
    /// Structures of any other kind.
    pub(super) others: u64,
}

/// What a page's header claims.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Page {
    /// Bytes of the header itself.
    pub(super) header: usize,
    pub(super) packed: u64,
    pub(super) unpacked: u64,
    /// Its values, missing ones among them.
    pub(super) values: u64,
    pub(super) is_dictionary: bool,
}

impl Footer {
    /// Looks through a footer.
    pub(super) fn of(bytes: &[u8]) -> Result<Self, &'static str> {
        let mut footer = Self::default();
        let mut schema = Schema::default();
        let mut seen = false;
        let mut walk = Walk { bytes, at: 0 };
        let walked = walk.fields(&mut |walk, id, kind| match (id, kind) {
            (2, LIST) if !std::mem::replace(&mut seen, true) => {
                let (count, kind) = walk.list()?;
                for _ in 0..count {
                    let element = Element::of(walk, kind)?;
                    schema.add(&element)?;
                }
                // Room is made for as many children as a group claims.
                schema.open.is_empty().then_some(())?;
                Some(true)
            }
            (2, _) => None,
            (4, LIST) => {
                let (count, kind) = walk.list()?;
                (kind == STRUCT).then_some(())?;
                for _ in 0..count {
                    footer.others += 1;
                    walk.fields(&mut |walk, id, kind| match (id, kind) {
                        (1, LIST) => {
                            let (count, kind) = walk.list()?;
                            for _ in 0..count {
                                footer.chunks += 1;
                                walk.skip(kind, 0, &mut footer.others)?;
                            }
                            Some(true)
                        }
                        _ => walk.skip(kind, 0, &mut footer.others).map(|()| true),
                    })?;
                }
                Some(true)
            }
            _ => walk.skip(kind, 0, &mut footer.others).map(|()| true),
        });
        if schema.too_deep {
            return Err("its columns are nested too deep");
        }
        walked.ok_or("its footer is broken")?;
        (footer.columns, footer.names) = (schema.columns, schema.names);
        Ok(footer)
    }
}

/// The schema's tree so far; its elements come from the root down, each followed by its children.
#[derive(Default)]
struct Schema {
    /// Of each group that is open: the children that are still to come, and the bytes of its name.
    open: Vec<(u64, u64)>,
    columns: u64,
    names: u64,
    too_deep: bool,
}

/// An element of a schema.
#[derive(Default)]
struct Element {
    name: u64,
    children: u64,
}

impl Element {
    fn of(walk: &mut Walk<'_>, kind: u8) -> Option<Self> {
        (kind == STRUCT).then_some(())?;
        let mut element = Self::default();
        walk.fields(&mut |walk, id, kind| match (id, kind) {
            (4, BINARY) => walk.binary().map(|length| element.name = length).map(|()| true),
            (5, I32) => {
                element.children = u64::try_from(walk.signed()?).ok()?;
                Some(true)
            }
            (4 | 5, _) => None,
            _ => Some(false),
        })?;
        Some(element)
    }
}

impl Schema {
    fn add(&mut self, element: &Element) -> Option<()> {
        // What a name takes besides its letters.
        let name = element.name + 56;
        if element.children > 0 {
            self.open.push((element.children, name));
            self.too_deep = self.open.len() > DEEPEST_SCHEMA;
            return (!self.too_deep).then_some(());
        }
        self.columns += 1;
        self.names += name + self.open.iter().map(|(_, name)| name).sum::<u64>();
        // A group whose last child this was is a child that is done.
        while let Some((children, _)) = self.open.last_mut() {
            *children -= 1;
            if *children > 0 {
                break;
            }
            self.open.pop();
        }
        Some(())
    }
}

impl Page {
    /// Reads the header that bytes begin with; none if they end before it does, or hold none.
    pub(super) fn of(bytes: &[u8]) -> Option<Self> {
        let mut page = Self::default();
        let mut kind = 0;
        let mut walk = Walk { bytes, at: 0 };
        walk.fields(&mut |walk, id, wire| {
            match (id, wire) {
                (1, I32) => kind = walk.signed()?,
                (2, I32) => page.unpacked = u64::try_from(walk.signed()?).ok()?,
                (3, I32) => page.packed = u64::try_from(walk.signed()?).ok()?,
                // Data, a dictionary, and data as they are written since version 2: all begin with how many values they have.
                (5 | 7 | 8, STRUCT) => walk.fields(&mut |walk, id, wire| match (id, wire) {
                    (1, I32) => {
                        page.values = u64::try_from(walk.signed()?).ok()?;
                        Some(true)
                    }
                    (1, _) => None,
                    _ => Some(false),
                })?,
                (1..=3 | 5 | 7 | 8, _) => return None,
                _ => return Some(false),
            }
            Some(true)
        })?;
        page.is_dictionary = kind == 2;
        page.header = walk.at;
        Some(page)
    }
}

/// Lengths at the beginning of values that are written as differences: how many there are, and where the bytes behind
/// them begin. None if the bytes hold nothing of the kind.
pub(super) fn differences(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut walk = Walk { bytes, at: 0 };
    let (block, parts, count) = (walk.unsigned()?, walk.unsigned()?, walk.unsigned()?);
    walk.unsigned()?;
    let of_a_part = block.checked_div(parts).filter(|values| *values > 0)?;
    let mut left = count.saturating_sub(1);
    while left > 0 {
        walk.unsigned()?;
        let widths = walk.take(usize::try_from(parts).ok()?)?;
        for width in widths {
            if left == 0 {
                break;
            }
            let bits = of_a_part.checked_mul(u64::from(*width))?;
            walk.take(usize::try_from(bits / 8).ok()?)?;
            left = left.saturating_sub(of_a_part);
        }
    }
    Some((count, walk.at))
}

/// A place in bytes. Whatever goes beyond their end, or is no number, is none.
struct Walk<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// What is done with a field, by its number and kind; it says whether it went past the value.
type Field<'f, 'a> = &'f mut dyn FnMut(&mut Walk<'a>, i64, u8) -> Option<bool>;

impl<'a> Walk<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let taken = self.bytes.get(self.at..self.at.checked_add(count)?)?;
        self.at += count;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|bytes| bytes[0])
    }

    fn unsigned(&mut self) -> Option<u64> {
        let mut number = 0u64;
        for shift in (0..70).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn signed(&mut self) -> Option<i64> {
        let number = self.unsigned()?;
        Some((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    /// Goes past text or bytes; returns how many.
    fn binary(&mut self) -> Option<u64> {
        let length = self.unsigned()?;
        self.take(usize::try_from(length).ok()?)?;
        Some(length)
    }

    /// How many elements of which kind follow. Each takes a byte at least, so that no claim goes beyond the bytes.
    fn list(&mut self) -> Option<(u64, u8)> {
        let head = self.byte()?;
        let count = if head >> 4 == 15 { self.unsigned()? } else { u64::from(head >> 4) };
        (count <= (self.bytes.len() - self.at) as u64).then_some((count, head & 15))
    }

    /// Goes through the fields of a structure; those that are not gone past are skipped.
    fn fields(&mut self, field: Field<'_, 'a>) -> Option<()> {
        let mut id = 0;
        loop {
            let head = self.byte()?;
            let kind = head & 15;
            if kind == 0 {
                return Some(());
            }
            id = if head >> 4 == 0 { self.signed()? } else { id + i64::from(head >> 4) };
            if !field(self, id, kind)? {
                self.skip(kind, 0, &mut 0)?;
            }
        }
    }

    /// Goes past a value, and counts the structures in it.
    fn skip(&mut self, kind: u8, depth: usize, structures: &mut u64) -> Option<()> {
        if depth > DEEPEST {
            return None;
        }
        match kind {
            // The kind of a field is the truth value itself.
            1 | 2 => {}
            3 => {
                self.byte()?;
            }
            4..=6 => {
                self.unsigned()?;
            }
            7 => {
                self.take(8)?;
            }
            BINARY => {
                self.binary()?;
            }
            LIST | 10 => {
                let (count, kind) = self.list()?;
                for _ in 0..count {
                    self.element(kind, depth, structures)?;
                }
            }
            11 => {
                let count = self.unsigned()?;
                let kinds = if count > 0 { self.byte()? } else { 0 };
                for _ in 0..count {
                    self.element(kinds >> 4, depth, structures)?;
                    self.element(kinds & 15, depth, structures)?;
                }
            }
            STRUCT => {
                *structures += 1;
                loop {
                    let head = self.byte()?;
                    if head & 15 == 0 {
                        break;
                    }
                    if head >> 4 == 0 {
                        self.unsigned()?;
                    }
                    self.skip(head & 15, depth + 1, structures)?;
                }
            }
            13 => {
                self.take(16)?;
            }
            _ => return None,
        }
        Some(())
    }

    /// Goes past an element of a list; truth values take a byte there.
    fn element(&mut self, kind: u8, depth: usize, structures: &mut u64) -> Option<()> {
        match kind {
            1 | 2 => self.byte().map(|_| ()),
            _ => self.skip(kind, depth + 1, structures),
        }
    }
}

/// The other way round: what tests make hostile files of.
#[cfg(test)]
pub(super) mod written {
    /// A field that follows the one before it.
    pub(in super::super) fn field(step: u8, kind: u8, value: &[u8]) -> Vec<u8> {
        [&[step << 4 | kind], value].concat()
    }

    pub(in super::super) fn varint(mut number: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        while number >= 0x80 {
            bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        bytes.push(number as u8);
        bytes
    }

    pub(in super::super) fn i32s(number: u64) -> Vec<u8> {
        varint(2 * number)
    }
}

#[cfg(test)]
mod tests {
    use super::written::{field, i32s, varint};
    use super::*;

    /// An element of a schema with a name of one letter.
    fn element(children: u64) -> Vec<u8> {
        let children = if children > 0 { field(1, I32, &i32s(children)) } else { Vec::new() };
        [field(4, BINARY, &[1, b'x']), children, vec![0]].concat()
    }

    fn footer(elements: &[Vec<u8>]) -> Vec<u8> {
        let count = [vec![0xfc], varint(elements.len() as u64)].concat();
        [field(1, I32, &i32s(1)), field(1, LIST, &[count, elements.concat()].concat()), vec![0]].concat()
    }

    #[test]
    fn a_schema_is_measured_with_the_groups_of_each_column() {
        // A root with a column and a group of two.
        let found = Footer::of(&footer(&[element(2), element(0), element(2), element(0), element(0)])).unwrap();
        assert_eq!((found.columns, found.names), (3, 57 * (2 + 3 + 3)));
        let deep: Vec<Vec<u8>> = (0..100).map(|_| element(1)).chain([element(0)]).collect();
        assert_eq!(Footer::of(&footer(&deep)), Err("its columns are nested too deep"));
        let whole = footer(&[element(1), element(0)]);
        for length in 0..whole.len() {
            assert_eq!(Footer::of(&whole[..length]), Err("its footer is broken"), "{length}");
        }
        // A list that claims more elements than bytes are left.
        let claims = [field(2, LIST, &[vec![0xfc], varint(1 << 40)].concat()), vec![0]].concat();
        assert_eq!(Footer::of(&claims), Err("its footer is broken"));
    }

    #[test]
    fn a_page_says_what_it_unpacks_to() {
        let kinds = |kind: u64, values: Vec<u8>| {
            let head = [field(1, I32, &i32s(kind)), field(1, I32, &i32s(5_000)), field(1, I32, &i32s(70))].concat();
            [head, values, vec![0, 99, 99]].concat()
        };
        let values =
            |step| field(step, STRUCT, &[field(1, I32, &i32s(1_234)), field(1, I32, &i32s(0)), vec![0]].concat());
        let bytes = kinds(0, values(2));
        let found = Page::of(&bytes).unwrap();
        assert_eq!((found.unpacked, found.packed, found.values, found.is_dictionary), (5_000, 70, 1_234, false));
        assert_eq!(found.header, bytes.len() - 2);
        assert!(Page::of(&kinds(2, values(4))).unwrap().is_dictionary);
        assert_eq!(Page::of(&kinds(3, values(5))).unwrap().values, 1_234);
        for length in 0..found.header {
            assert_eq!(Page::of(&bytes[..length]), None);
        }
        // A size below zero, and one that is no number.
        assert_eq!(Page::of(&[field(2, I32, &[1]), vec![0]].concat()), None);
        assert_eq!(Page::of(&[field(2, BINARY, &[1, 1]), vec![0]].concat()), None);
    }

    #[test]
    fn lengths_written_as_differences_say_how_many_they_are() {
        // Blocks of 128 values in 4 parts; 40 values take one part of 8 bits and one of none.
        let head = [varint(128), varint(4), varint(41), varint(0)].concat();
        let block = [varint(0), vec![8, 0, 0, 0], vec![0; 32]].concat();
        let bytes = [head, block, b"rest".to_vec()].concat();
        assert_eq!(differences(&bytes), Some((41, bytes.len() - 4)));
        assert_eq!(differences(&bytes[..20]), None);
        assert_eq!(differences(&[varint(128), varint(0), varint(1 << 60), varint(0)].concat()), None);
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200)) {
            let _ = (Footer::of(&bytes), Page::of(&bytes), differences(&bytes));
        }
    }
}
