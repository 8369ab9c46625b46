//! NumPy's `.npz`: a zip archive of arrays, each with a short header.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use super::arrays::{self, NamedArray};
use super::layout::malformed;
use super::table::Table;
use super::text::Wanted;
use fpsrl_base::error::{Error, Result};

/// The most that one array may hold once it is unpacked; a small file could claim any size.
const MOST_BYTES: u64 = 1 << 36;

/// Reads the arrays of an archive.
pub(super) fn read(path: &Path, file: File, wanted: Wanted<'_>) -> Result<Table<'static>> {
    let broken = |problem: String| malformed(path, None, problem, "write it again with numpy.savez");
    let mut archive = zip::ZipArchive::new(BufReader::new(file))
        .map_err(|error| broken(format!("it cannot be unpacked: {error}")))?;
    let mut found = Vec::new();
    for index in 0..archive.len() {
        let mut entry = archive.by_index(index).map_err(|error| broken(format!("it cannot be unpacked: {error}")))?;
        let Some(name) = entry.name().strip_suffix(".npy").map(str::to_owned) else {
            let hint =
                "logs are read from CSV and TSV (also gzip), Parquet, HDF5 and npz files; save a workbook as CSV";
            return Err(malformed(
                path,
                None,
                format!("it is an archive that holds `{}`, not arrays of NumPy", entry.name()),
                hint,
            ));
        };
        let header = Header::read(&mut entry).map_err(|problem| broken(format!("the array `{name}`: {problem}")))?;
        let Some((rows, width)) = header.table_shape() else { continue };
        let flat = header.shape.len() == 1;
        let titles = arrays::titles(&name, width, flat);
        if width == 0 || !(titles.iter().any(|title| wanted(title, title)) || name == "observations") {
            continue;
        }
        let size = (header.item.size() * rows as u64).checked_mul(width as u64).filter(|size| *size <= MOST_BYTES);
        let size = size.ok_or_else(|| broken(format!("the array `{name}` claims to be too large")))?;
        let mut bytes = Vec::new();
        entry.by_ref().take(size).read_to_end(&mut bytes).map_err(|source| match source.kind() {
            std::io::ErrorKind::InvalidData | std::io::ErrorKind::InvalidInput => {
                broken(format!("the array `{name}`: {source}"))
            }
            _ => Error::read(path, source),
        })?;
        if bytes.len() as u64 != size {
            return Err(broken(format!("the array `{name}` ends too early")));
        }
        let values = header.values(&bytes, rows, width);
        found.push(NamedArray { name, rows, width, flat, values });
    }
    arrays::table(path, found, wanted, "the archive")
}

/// The header of an array.
struct Header {
    item: Item,
    big_endian: bool,
    columns_first: bool,
    shape: Vec<usize>,
}

/// What an element is.
#[derive(Clone, Copy)]
enum Item {
    Float(u64),
    Signed(u64),
    Unsigned(u64),
}

impl Item {
    fn size(self) -> u64 {
        match self {
            Item::Float(size) | Item::Signed(size) | Item::Unsigned(size) => size,
        }
    }
}

impl Header {
    fn read(source: &mut impl Read) -> Result<Self, String> {
        let mut start = [0; 8];
        source.read_exact(&mut start).map_err(|_| "it is too short")?;
        if &start[..6] != b"\x93NUMPY" {
            return Err("it is no array of NumPy".into());
        }
        let mut length = vec![0; if start[6] == 1 { 2 } else { 4 }];
        source.read_exact(&mut length).map_err(|_| "it is too short")?;
        let length = length.iter().rev().fold(0usize, |length, byte| length << 8 | usize::from(*byte));
        if length > 1 << 16 {
            return Err("its header is too long".into());
        }
        let mut text = vec![0; length];
        source.read_exact(&mut text).map_err(|_| "it is too short")?;
        Self::parse(&String::from_utf8_lossy(&text))
    }

    /// The header is a dictionary of Python: {'descr': '<f8', 'fortran_order': False, 'shape': (100, 2), }
    fn parse(text: &str) -> Result<Self, String> {
        let after = |key: &str| text.split_once(&format!("'{key}':")).map(|(_, rest)| rest.trim_start());
        let descr = after("descr").and_then(|rest| rest.strip_prefix('\'')).and_then(|rest| rest.split_once('\''));
        let Some((descr, _)) = descr else {
            return Err("its elements are not plain numbers".into());
        };
        let (order, kind) = descr.split_at(descr.len().min(1));
        let size = kind.get(1..).and_then(|size| size.parse().ok());
        let item = match (kind.chars().next(), size) {
            (Some('f'), Some(size @ (4 | 8))) => Item::Float(size),
            (Some('i'), Some(size @ (1 | 2 | 4 | 8))) => Item::Signed(size),
            (Some('u'), Some(size @ (1 | 2 | 4 | 8))) => Item::Unsigned(size),
            (Some('b'), _) => Item::Unsigned(1),
            _ => return Err(format!("its elements `{descr}` are not plain numbers")),
        };
        let columns_first = after("fortran_order").is_some_and(|rest| rest.starts_with("True"));
        let shape = after("shape").and_then(|rest| rest.strip_prefix('(')).and_then(|rest| rest.split_once(')'));
        let (shape, _) = shape.ok_or("it has no shape")?;
        let shape: Result<Vec<usize>, _> =
            shape.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::parse).collect();
        let shape = shape.map_err(|_| "its shape is no list of numbers")?;
        Ok(Self { item, big_endian: order == ">", columns_first, shape })
    }

    /// Rows and columns, if the array is a vector or a matrix.
    fn table_shape(&self) -> Option<(usize, usize)> {
        match self.shape[..] {
            [rows] => Some((rows, 1)),
            [rows, width] => Some((rows, width)),
            _ => None,
        }
    }

    /// The numbers, row after row.
    fn values(&self, bytes: &[u8], rows: usize, width: usize) -> Vec<f64> {
        let size = self.item.size() as usize;
        let number = |at: usize| {
            let mut raw = [0; 8];
            raw[..size].copy_from_slice(&bytes[at * size..][..size]);
            if self.big_endian {
                raw[..size].reverse();
            }
            let whole = u64::from_le_bytes(raw);
            match self.item {
                Item::Float(4) => f64::from(f32::from_bits(whole as u32)),
                Item::Float(_) => f64::from_bits(whole),
                Item::Unsigned(_) => whole as f64,
                // The sign is moved to the top, and back again.
                Item::Signed(size) => ((whole << (64 - 8 * size)) as i64 >> (64 - 8 * size)) as f64,
            }
        };
        match self.columns_first {
            false => (0..rows * width).map(number).collect(),
            true => (0..rows * width).map(|index| number(index % width * rows + index / width)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn npy(descr: &str, order: &str, shape: &str, bytes: &[u8]) -> Vec<u8> {
        let header = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}\n");
        let mut array = b"\x93NUMPY\x01\x00".to_vec();
        array.extend((header.len() as u16).to_le_bytes());
        array.extend(header.as_bytes());
        array.extend(bytes);
        array
    }

    fn table(entries: &[(&str, Vec<u8>)]) -> Result<Table<'static>> {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut writer = zip::ZipWriter::new(file.reopen().unwrap());
        for (name, bytes) in entries {
            writer.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
            writer.write_all(bytes).unwrap();
        }
        writer.finish().unwrap();
        read("log.npz".as_ref(), File::open(file.path()).unwrap(), &|_, _| true)
    }

    fn floats(values: &[f64]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    #[test]
    fn arrays_become_columns_in_either_order_of_their_elements() {
        let rows = npy("<f8", "False", "(3, 2)", &floats(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
        let columns = npy("<f8", "True", "(3, 2)", &floats(&[1.0, 3.0, 5.0, 2.0, 4.0, 6.0]));
        for observations in [rows, columns] {
            let actions = npy(">i2", "False", "(3,)", &[0xff, 0xff, 0, 1, 0x80, 0]);
            let done = npy("|b1", "False", "(3,)", &[0, 0, 1]);
            let table =
                table(&[("observations.npy", observations), ("action.npy", actions), ("done.npy", done)]).unwrap();
            assert_eq!(table.titles, ["observations_0", "observations_1", "action", "done"]);
            assert_eq!(*table.columns[0].values, [1.0, 3.0, 5.0]);
            assert_eq!(*table.columns[1].values, [2.0, 4.0, 6.0]);
            assert_eq!(*table.columns[2].values, [-1.0, 1.0, -32768.0]);
            assert_eq!(*table.columns[3].values, [0.0, 0.0, 1.0]);
        }
    }

    #[test]
    fn arrays_of_another_length_are_left_out_with_a_note() {
        let observations = npy("<f8", "False", "(2,)", &floats(&[1.0, 2.0]));
        let other = npy("<f8", "False", "(1,)", &floats(&[1.0]));
        let table = table(&[("observations.npy", observations), ("seed.npy", other)]).unwrap();
        assert_eq!(table.titles, ["observations"]);
        assert!(table.notes[0].contains("`seed` has 1 rows"), "{:?}", table.notes);
    }

    #[test]
    fn what_is_broken_is_refused() {
        let refused = |entries: &[(&str, Vec<u8>)]| table(entries).unwrap_err().to_string();
        assert!(refused(&[("x.npy", b"nonsense".to_vec())]).contains("no array of NumPy"));
        assert!(refused(&[("x.npy", npy("<f8", "False", "(9,)", &[0; 8]))]).contains("ends too early"));
        assert!(refused(&[("x.npy", npy("<U8", "False", "(1,)", &[0; 32]))]).contains("not plain numbers"));
        assert!(refused(&[("sheet.xml", vec![])]).contains("archive that holds `sheet.xml`"));
        assert!(refused(&[]).contains("holds no array"));
    }

    proptest::proptest! {
        #[test]
        fn no_header_makes_it_panic(text in "['a-z<>|:(), 0-9{}]{0,80}", bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..60)) {
            let _ = Header::parse(&text);
            let _ = Header::read(&mut bytes.as_slice());
            let _ = table(&[("x.npy", [b"\x93NUMPY\x01\x00".as_slice(), &bytes].concat())]);
        }
    }
}
