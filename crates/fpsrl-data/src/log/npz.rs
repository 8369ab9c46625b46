//! NumPy's `.npz`: a zip archive of arrays, each with a short header.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::arrays::{self, NamedArray, Widths};
use super::budget::{Budget, MOST_COLUMNS, of_cells, of_rows, too_wide};
use super::layout::malformed;
use super::table::Table;
use super::text::Wanted;
use super::zip::{Unpacked, entries};
use fpsrl_base::error::{Error, Result};

/// Bytes of an array that are unpacked together.
const PART: usize = 1 << 16;

/// Reads the arrays of an archive.
pub(super) fn read(path: &Path, mut file: File, wanted: Wanted<'_>, budget: &Budget) -> Result<Table<'static>> {
    let broken = |problem: String| malformed(path, None, problem, "write it again with numpy.savez");
    let entries = entries(&mut file, budget)
        .map_err(|problem| budget.told(|| broken(format!("it cannot be unpacked: {problem}"))))?;
    let mut found = Vec::new();
    let mut packed: u64 = 0;
    let mut widths = Widths::default();
    for entry in entries {
        budget.go_on()?;
        let Some(name) = entry.name.strip_suffix(".npy").map(str::to_owned) else {
            let hint =
                "logs are read from CSV and TSV (also gzip), Parquet, HDF5 and npz files; save a workbook as CSV";
            return Err(malformed(
                path,
                None,
                format!("it is an archive that holds `{}`, not arrays of NumPy", entry.name),
                hint,
            ));
        };
        let failed = |error: io::Error| {
            budget.told(|| match error.kind() {
                io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => {
                    broken(format!("the array `{name}`: {error}"))
                }
                io::ErrorKind::UnexpectedEof => broken(format!("the array `{name}` ends too early")),
                _ => Error::read(path, error),
            })
        };
        // The same bytes under several names would unpack to any size.
        packed = packed.saturating_add(entry.packed());
        if packed > budget.size() {
            return Err(broken("its entries overlap".into()));
        }
        let mut source = entry.open(&mut file, budget).map_err(failed)?;
        let header = Header::read(&mut source)
            .map_err(|problem| budget.told(|| broken(format!("the array `{name}`: {problem}"))))?;
        let Some((rows, width)) = header.table_shape() else { continue };
        widths.add(path, &format!("the array `{name}`"), width as u64)?;
        let flat = header.shape.len() == 1;
        let is_wanted = || arrays::titles(&name, width, flat).iter().any(|title| wanted(title, title));
        if width == 0 || !(name == "observations" || is_wanted()) {
            continue;
        }
        if width > MOST_COLUMNS {
            return Err(too_wide(path, &format!("the array `{name}`"), width as u64, MOST_COLUMNS));
        }
        let what = || format!("the array `{name}` claims {rows} rows and {width} columns");
        // What only one of the arrays will need is given back.
        let (whole, cells) = (of_rows(rows as u64, width as u64), of_cells(rows as u64, width as u64));
        budget.take(whole, what)?;
        budget.give_back(whole - cells);
        let columns = header.columns(&mut source, rows, width).map_err(failed)?;
        found.push(NamedArray { name, rows, flat, columns });
    }
    arrays::table(path, found, wanted, "the archive", budget)
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
        let (order, kind) = descr.split_at(descr.chars().next().map_or(0, char::len_utf8));
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

    /// The numbers, column by column.
    fn columns(&self, source: &mut Unpacked<'_>, rows: usize, width: usize) -> io::Result<Vec<Vec<f64>>> {
        let mut columns = vec![Vec::new(); width];
        let size = self.item.size() as usize;
        let mut part = vec![0; PART / size * size];
        let mut left = rows as u64 * width as u64;
        // Where the next number belongs.
        let (mut row, mut column) = (0, 0);
        while left > 0 {
            let count = usize::try_from(left).unwrap_or(usize::MAX).min(part.len() / size);
            let bytes = &mut part[..count * size];
            source.read_exact(bytes)?;
            for item in bytes.chunks_exact(size) {
                columns[column].push(self.number(item));
                match self.columns_first {
                    false => column = if column + 1 == width { 0 } else { column + 1 },
                    true => {
                        row += 1;
                        if row == rows {
                            (row, column) = (0, column + 1);
                        }
                    }
                }
            }
            left -= count as u64;
        }
        Ok(columns)
    }

    /// A number from its bytes.
    fn number(&self, item: &[u8]) -> f64 {
        let mut raw = [0; 8];
        raw[..item.len()].copy_from_slice(item);
        if self.big_endian {
            raw[..item.len()].reverse();
        }
        let whole = u64::from_le_bytes(raw);
        match self.item {
            Item::Float(4) => f64::from(f32::from_bits(whole as u32)),
            Item::Float(_) => f64::from_bits(whole),
            Item::Unsigned(_) => whole as f64,
            // The sign is moved to the top, and back again.
            Item::Signed(size) => ((whole << (64 - 8 * size)) as i64 >> (64 - 8 * size)) as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fpsrl_base::progress::Progress;
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
        table_of(&std::fs::read(file.path()).unwrap(), None)
    }

    fn table_of(bytes: &[u8], memory: Option<u64>) -> Result<Table<'static>> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        let budget = Budget::new("log.npz".as_ref(), bytes.len() as u64, memory, &Progress::silent());
        read("log.npz".as_ref(), file, &|_, _| true, &budget)
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

    #[test]
    fn a_small_archive_that_unpacks_to_gigabytes_is_refused_before_it_does() {
        let rows = 300_000;
        let header = npy("|u1", "False", &format!("({rows}, 3)"), &[]);
        let packed = |method| {
            let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
            let options = zip::write::SimpleFileOptions::default().compression_method(method);
            writer.start_file("x.npy", options).unwrap();
            writer.write_all(&header).unwrap();
            writer.write_all(&vec![1u8; 3 * rows]).unwrap();
            writer.finish().unwrap().into_inner()
        };
        let bomb = packed(zip::CompressionMethod::Deflated);
        let error = table_of(&bomb, Some(5_000_000)).unwrap_err();
        let message = error.to_string();
        assert!(message.contains("the array `x` claims 300000 rows and 3 columns; a file of "), "{message}");
        assert!(error.hint().unwrap().contains("`memory = 50MB`"), "{:?}", error.hint());
        // What is said to be enough is.
        assert_eq!(table_of(&bomb, Some(50_000_000)).unwrap().rows, rows);
        // The size of a file that is not packed gives it room enough.
        let whole = packed(zip::CompressionMethod::Stored);
        assert!(of_rows(rows as u64, 3) > 19 * bomb.len() as u64 && of_rows(rows as u64, 3) < 30 * whole.len() as u64);
    }

    #[test]
    fn claims_are_refused_by_their_size_alone() {
        let refused = |shape: &str| table(&[("x.npy", npy("<f8", "False", shape, &[0; 8]))]).unwrap_err().to_string();
        assert!(refused("(1, 2000000)").contains("the array `x` has 2000000 columns; at most 100000 are read"));
        assert!(refused("(18446744073709551615,)").contains("claims 18446744073709551615 rows"));
        assert!(refused("(18446744073709551615, 50000)").contains("at most 10000"));
        assert!(refused("(0, 18446744073709551615)").contains("at most 100000"));
        let many: Vec<(String, Vec<u8>)> =
            (0..30).map(|index| (format!("x{index}.npy"), npy("<f8", "False", "(1, 9999)", &[0; 8 * 9999]))).collect();
        let many: Vec<(&str, Vec<u8>)> = many.iter().map(|(name, bytes)| (name.as_str(), bytes.clone())).collect();
        let message = table(&many).unwrap_err().to_string();
        assert!(message.contains("at most 100000"), "{message}");
    }

    #[test]
    fn entries_that_share_their_bytes_are_refused() {
        let array = npy("|u1", "False", "(2000,)", &[7; 2000]);
        let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        for name in ["a.npy", "b.npy"] {
            writer.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
            writer.write_all(&array).unwrap();
        }
        let mut bytes = writer.finish().unwrap().into_inner();
        assert_eq!(table_of(&bytes, None).unwrap().titles, ["a", "b"]);
        // Both entries claim as much of the archive as there is.
        let places: Vec<usize> = (0..bytes.len() - 4).filter(|&at| bytes[at..].starts_with(b"PK\x01\x02")).collect();
        let size = bytes.len() as u32;
        for at in places {
            bytes[at + 20..at + 24].copy_from_slice(&(size - 100).to_le_bytes());
        }
        let message = table_of(&bytes, None).unwrap_err().to_string();
        assert!(message.contains("overlap"), "{message}");
    }

    #[test]
    fn archives_whose_sizes_stand_in_fields_of_their_own_are_read() {
        let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        let options = zip::write::SimpleFileOptions::default()
            .large_file(true)
            .compression_method(zip::CompressionMethod::Stored);
        writer.start_file("x.npy", options).unwrap();
        writer.write_all(&npy("<f8", "False", "(2,)", &floats(&[1.0, 2.0]))).unwrap();
        let bytes = writer.finish().unwrap().into_inner();
        assert_eq!(*table_of(&bytes, None).unwrap().columns[0].values, [1.0, 2.0]);
        // One bit of an array is another one.
        let mut other = bytes.clone();
        let at = other.windows(8).position(|window| window == 2f64.to_le_bytes()).unwrap();
        other[at] ^= 1;
        let message = table_of(&other, None).unwrap_err().to_string();
        assert!(message.contains("checksum"), "{message}");
        // Every beginning of an archive is refused, none of them by a panic.
        for length in 0..bytes.len() {
            assert!(table_of(&bytes[..length], None).is_err());
        }
    }

    #[test]
    fn a_stop_is_heard_before_an_array_is_unpacked() {
        let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        writer.start_file("x.npy", zip::write::SimpleFileOptions::default()).unwrap();
        writer.write_all(&npy("<f8", "False", "(2,)", &floats(&[1.0, 2.0]))).unwrap();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&writer.finish().unwrap().into_inner()).unwrap();
        let progress = Progress::silent();
        let budget = Budget::new("log.npz".as_ref(), file.metadata().unwrap().len(), None, &progress);
        // It is asked for while the columns are chosen.
        let wanted = |_: &str, _: &str| {
            progress.stop().request();
            true
        };
        assert!(matches!(read("log.npz".as_ref(), file, &wanted, &budget), Err(Error::Stopped { .. })));
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
