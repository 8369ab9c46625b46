//! Changes of what is packed: unpacked first, and packed again, so that lengths and checksums are right.

use std::io::{Cursor, Read, Write};

use flate2::Compression;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use super::{hostile, text};
use crate::draw::Draw;

/// The most that is unpacked to be changed.
const MOST: u64 = 1 << 22;

/// Changes what is packed by gzip; none if it cannot be unpacked.
pub(super) fn gzip(bytes: &[u8], draw: &mut Draw) -> Option<Vec<u8>> {
    let mut content = Vec::new();
    flate2::read::MultiGzDecoder::new(bytes).take(MOST).read_to_end(&mut content).ok()?;
    if draw.one_in(400) {
        // Much of the same packs well.
        let line = content.split_inclusive(|byte| *byte == b'\n').next_back().unwrap_or_default().to_vec();
        content.extend(line.iter().cycle().take(1 << 22));
    } else {
        let other = content.clone();
        text::change(&mut content, &other, draw);
    }
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), Compression::fast());
    // Several parts, one after the other, are one file too.
    if draw.one_in(8) && !content.is_empty() {
        let cut = draw.below(content.len());
        packer.write_all(&content[..cut]).ok()?;
        let first = packer.finish().ok()?;
        packer = flate2::write::GzEncoder::new(first, Compression::fast());
        content.drain(..cut);
    }
    packer.write_all(&content).ok()?;
    packer.finish().ok()
}

/// An array of an archive.
struct Array {
    name: String,
    version: u8,
    header: Vec<u8>,
    data: Vec<u8>,
}

/// Changes an archive of arrays; none if it cannot be unpacked.
pub(super) fn npz(bytes: &[u8], draw: &mut Draw) -> Option<Vec<u8>> {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).ok()?;
    let mut arrays = Vec::new();
    for index in 0..archive.len() {
        let entry = archive.by_index(index).ok()?;
        let name = entry.name().to_owned();
        let mut content = Vec::new();
        entry.take(MOST).read_to_end(&mut content).ok()?;
        arrays.push(Array::of(name, &content));
    }
    let honest = !draw.one_in(10);
    change_arrays(&mut arrays, draw);
    let method = if draw.one_in(2) { CompressionMethod::Stored } else { CompressionMethod::Deflated };
    let options = SimpleFileOptions::default().compression_method(method);
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for array in &arrays {
        // A name that is there already is refused.
        if writer.start_file(array.name.as_str(), options).is_ok() {
            writer.write_all(&array.bytes(honest, draw)).ok()?;
        }
    }
    Some(writer.finish().ok()?.into_inner())
}

fn change_arrays(arrays: &mut Vec<Array>, draw: &mut Draw) {
    if arrays.is_empty() {
        return;
    }
    let at = draw.below(arrays.len());
    let array = &mut arrays[at];
    match draw.below(12) {
        0 => drop(arrays.remove(at)),
        1 => {
            let copy = Array { name: hostile::text(draw) + ".npy", ..arrays.remove(at) };
            arrays.push(copy);
        }
        2 => array.version = draw.word() as u8,
        3 => array.data.truncate(draw.below(array.data.len() + 1)),
        4 => {
            let more = 1 << draw.below(17);
            array.data.resize(array.data.len() + more, 0);
        }
        5 => {
            let other = array.data.clone();
            super::bytes::change(&mut array.data, &other, draw);
        }
        6..=9 => array.change_shape(draw),
        _ => {
            let other = b"{'descr': '<f8', 'fortran_order': True, 'shape': (3, 2), } |b1 >i2 <u8 <f4 |O".to_vec();
            text::change(&mut array.header, &other, draw);
        }
    }
}

impl Array {
    fn of(name: String, content: &[u8]) -> Self {
        let whole = |version: u8, header: &[u8], data: &[u8]| Array {
            name: name.clone(),
            version,
            header: header.to_vec(),
            data: data.to_vec(),
        };
        let Some(rest) = content.strip_prefix(b"\x93NUMPY") else { return whole(0, b"", content) };
        let (version, lengths) = (rest.first().copied().unwrap_or(1), if rest.first() == Some(&1) { 2 } else { 4 });
        let begin = 2 + lengths;
        if rest.len() < begin {
            return whole(version, b"", b"");
        }
        let length = rest[2..begin].iter().rev().fold(0usize, |length, byte| length << 8 | usize::from(*byte));
        let end = begin.saturating_add(length).min(rest.len());
        whole(version, &rest[begin..end], &rest[end..])
    }

    /// Writes other numbers into the shape.
    fn change_shape(&mut self, draw: &mut Draw) {
        let text = String::from_utf8_lossy(&self.header).into_owned();
        let Some((before, rest)) = text.split_once('(') else { return };
        let Some((_, after)) = rest.split_once(')') else { return };
        let numbers: Vec<String> = (0..draw.below(4)).map(|_| draw.pick(&hostile::WHOLE).to_string()).collect();
        self.header = format!("{before}({}){after}", numbers.join(", ")).into_bytes();
    }

    /// As it stands in the archive; the length of its header is right if it is honest.
    fn bytes(&self, honest: bool, draw: &mut Draw) -> Vec<u8> {
        let length = if honest { self.header.len() } else { draw.word() as usize };
        let mut bytes = b"\x93NUMPY".to_vec();
        bytes.extend([self.version, 0]);
        bytes.extend(&length.to_le_bytes()[..if self.version == 1 { 2 } else { 4 }]);
        bytes.extend(&self.header);
        bytes.extend(&self.data);
        bytes
    }
}
