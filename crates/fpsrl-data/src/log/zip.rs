//! Zip archives, as far as `.npz` files need them: entries that are stored or deflated, in archives of any size.
//!
//! The directory at an archive's end is read entry by entry, so that nothing it claims is believed before it is there.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};

use flate2::read::DeflateDecoder;

use super::budget::Budget;

/// The end of an archive: its record, and the longest remark behind that.
const TAIL: u64 = 22 + 65_535;

/// An entry of an archive.
pub(super) struct Entry {
    pub(super) name: String,
    method: u16,
    packed: u64,
    unpacked: u64,
    checksum: u32,
    /// Where its own header begins.
    at: u64,
}

/// The entries of an archive, in the order of its directory; or what is wrong with it.
pub(super) fn entries(file: &mut File, budget: &Budget) -> Result<Vec<Entry>, String> {
    let size = budget.size();
    let broken = |error: io::Error| error.to_string();
    let begin = size.saturating_sub(TAIL);
    let mut tail = Vec::new();
    file.seek(SeekFrom::Start(begin)).map_err(broken)?;
    file.by_ref().take(TAIL).read_to_end(&mut tail).map_err(broken)?;
    let end = (0..tail.len().saturating_sub(21)).rev().find(|&at| tail[at..].starts_with(b"PK\x05\x06"));
    let end = end.ok_or("its directory is missing")?;
    let (mut count, mut at) = (u64::from(short(&tail[end..], 10)?), u64::from(word(&tail[end..], 16)?));
    // Where a number is too large for its place, another record has it.
    if count == 0xffff || at == 0xffff_ffff {
        let locator = end.checked_sub(20).filter(|&at| tail[at..].starts_with(b"PK\x06\x07"));
        let locator = locator.ok_or("its directory is missing")?;
        let mut record = [0; 56];
        file.seek(SeekFrom::Start(long(&tail[locator..], 8)?)).map_err(broken)?;
        file.read_exact(&mut record).map_err(broken)?;
        if !record.starts_with(b"PK\x06\x06") {
            return Err("its directory is missing".into());
        }
        (count, at) = (long(&record, 32)?, long(&record, 48)?);
    }
    file.seek(SeekFrom::Start(at)).map_err(broken)?;
    let mut source = BufReader::new(file);
    let mut entries = Vec::new();
    for _ in 0..count {
        if entries.len().is_multiple_of(1_024) {
            budget.heard(budget.go_on()).map_err(broken)?;
        }
        entries.push(entry(&mut source)?);
    }
    Ok(entries)
}

/// Reads an entry of the directory.
fn entry(source: &mut impl Read) -> Result<Entry, String> {
    let cut_off = |_| "its directory is cut off".to_owned();
    let mut head = [0; 46];
    source.read_exact(&mut head).map_err(cut_off)?;
    if !head.starts_with(b"PK\x01\x02") {
        return Err("its directory is broken".into());
    }
    let [named, more, remark] = [28, 30, 32].map(|at| short(&head, at).map_or(0, usize::from));
    let mut text = vec![0; named + more + remark];
    source.read_exact(&mut text).map_err(cut_off)?;
    let name = String::from_utf8_lossy(&text[..named]).into_owned();
    let mut sizes = [24, 20, 42].map(|at| word(&head, at).map(u64::from).unwrap_or_default());
    let mut more = &text[named..named + more];
    // Large numbers stand in a field of their own, in this order.
    while more.len() >= 4 {
        let (kind, length) = (short(more, 0)?, usize::from(short(more, 2)?));
        let field = more.get(4..4 + length).ok_or("its directory is broken")?;
        if kind == 1 {
            let large = sizes.iter_mut().filter(|size| **size == 0xffff_ffff);
            for (place, size) in large.enumerate() {
                *size = long(field, 8 * place)?;
            }
        }
        more = &more[4 + length..];
    }
    let [unpacked, packed, at] = sizes;
    if short(&head, 8)? & 1 != 0 {
        return Err(format!("its entry `{name}` is encrypted"));
    }
    Ok(Entry { method: short(&head, 10)?, checksum: word(&head, 16)?, name, packed, unpacked, at })
}

impl Entry {
    /// Bytes that it has in the archive.
    pub(super) fn packed(&self) -> u64 {
        self.packed
    }

    /// Its bytes, unpacked.
    pub(super) fn open<'a>(&self, file: &'a mut File, budget: &'a Budget) -> io::Result<Unpacked<'a>> {
        let broken = |problem: &str| io::Error::new(io::ErrorKind::InvalidData, problem.to_owned());
        let mut head = [0; 30];
        file.seek(SeekFrom::Start(self.at))?;
        file.read_exact(&mut head)?;
        if !head.starts_with(b"PK\x03\x04") {
            return Err(broken("it does not begin where the archive's directory says"));
        }
        let skipped = [26, 28].map(|at| short(&head, at).map(i64::from).unwrap_or_default());
        file.seek(SeekFrom::Current(skipped[0] + skipped[1]))?;
        let packed = BufReader::with_capacity(1 << 16, file.take(self.packed));
        let source: Box<dyn Read + 'a> = match self.method {
            0 => Box::new(packed),
            8 => Box::new(DeflateDecoder::new(packed)),
            _ => return Err(broken("it is packed in another way than by deflate")),
        };
        let (checksum, left) = (flate2::Crc::new(), self.unpacked);
        Ok(Unpacked { source, budget, left, checksum, expected: self.checksum })
    }
}

/// The bytes of an entry: no more than the directory says, and none that are not what was packed.
pub(super) struct Unpacked<'a> {
    source: Box<dyn Read + 'a>,
    budget: &'a Budget,
    left: u64,
    checksum: flate2::Crc,
    expected: u32,
}

impl Read for Unpacked<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len()).min(1 << 20);
        let count = self.source.read(&mut buffer[..most])?;
        self.budget.heard(self.budget.unpacked(count as u64, None).and(self.budget.go_on()))?;
        self.checksum.update(&buffer[..count]);
        self.left -= count as u64;
        if self.left == 0 && count > 0 && self.checksum.sum() != self.expected {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "its checksum is wrong"));
        }
        Ok(count)
    }
}

/// The number of so many bytes at a place, the lowest byte first.
fn number<const SIZE: usize>(bytes: &[u8], at: usize) -> Result<[u8; SIZE], &'static str> {
    bytes.get(at..at + SIZE).and_then(|bytes| bytes.try_into().ok()).ok_or("its directory is broken")
}

fn short(bytes: &[u8], at: usize) -> Result<u16, &'static str> {
    number(bytes, at).map(u16::from_le_bytes)
}

fn word(bytes: &[u8], at: usize) -> Result<u32, &'static str> {
    number(bytes, at).map(u32::from_le_bytes)
}

fn long(bytes: &[u8], at: usize) -> Result<u64, &'static str> {
    number(bytes, at).map(u64::from_le_bytes)
}
