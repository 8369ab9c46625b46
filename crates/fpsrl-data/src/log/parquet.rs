//! Parquet, column by column: only the columns that are wanted are unpacked.
//!
//! What the file claims is looked at before its reader believes it: the footer here, each page in [`super::pages`].

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{ConvertedType, LogicalType, TimeUnit};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::data_type::{ByteArrayType, DataType};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};
use parquet::schema::types::ColumnDescriptor;

use super::budget::{Budget, MOST_COLUMNS, MOST_TITLES, of_rows, too_wide};
use super::layout::malformed;
use super::pages;
use super::table::{Column, Kind, Table, split_unit};
use super::text::Wanted;
use super::thrift::Footer;
use super::words::{self, Words};
use fpsrl_base::error::{Error, Result};
use fpsrl_base::foreign::guarded;
use fpsrl_base::progress::{Progress, Stage, Status};

/// Values that are unpacked together.
const BATCH: usize = 1 << 16;

/// Bytes of words that are unpacked together, at most, where each may be as long as a page.
const WORDS: usize = 8 << 20;

/// Reads a file of flat columns.
pub(super) fn read(
    path: &Path,
    file: File,
    wanted: Wanted<'_>,
    budget: &Budget,
    progress: &Progress,
) -> Result<Table<'static>> {
    let broken = |problem: String| {
        malformed(
            path,
            None,
            format!("it cannot be read as Parquet: {problem}"),
            "the file may have been cut off; copy it again",
        )
    };
    let metadata = footer(path, &file, budget, &broken)?;
    let schema = metadata.file_metadata().schema_descr_ptr();
    let rows = usize::try_from(metadata.file_metadata().num_rows()).unwrap_or(0);
    if rows == 0 {
        return Err(malformed(path, None, "there is no row in it", "name another file"));
    }
    let of_groups = metadata.row_groups().iter().map(|group| i128::from(group.num_rows())).sum::<i128>();
    if of_groups != rows as i128 || metadata.row_groups().iter().any(|group| group.num_rows() < 0) {
        let problem = format!("its footer says that it has {rows} rows, and its row groups have {of_groups}");
        return Err(broken(problem));
    }
    let mut table = Table { path: path.to_owned(), rows, ..Table::default() };
    let mut read = Vec::new();
    for index in 0..schema.num_columns() {
        let descriptor = schema.column(index);
        let title = descriptor.path().string();
        table.titles.push(title.clone());
        if !wanted(&title, &split_unit(&title).0) {
            continue;
        }
        match descriptor.max_rep_level() {
            0 => read.push((index, title)),
            _ => table.notes.push(format!("the column `{title}` holds lists; it takes no part")),
        }
    }
    if read.len() > MOST_COLUMNS {
        return Err(too_wide(path, "it", read.len() as u64, MOST_COLUMNS));
    }
    let what = || format!("it claims {rows} rows, of which {} columns are read", read.len());
    budget.take(of_rows(rows as u64, read.len() as u64), what)?;
    let chunks =
        || metadata.row_groups().iter().flat_map(|group| read.iter().map(move |(index, _)| group.column(*index)));
    let packed = guarded(|| chunks().map(|chunk| u128::from(chunk.byte_range().1)).sum::<u128>()).map_err(&broken)?;
    if packed > u128::from(budget.size()) {
        return Err(broken("its columns overlap".into()));
    }
    progress.begin(Stage::Import, read.len() as u64);
    let file = Arc::new(file);
    for (done, (index, title)) in read.into_iter().enumerate() {
        let descriptor = schema.column(index);
        let mut cells = Cells { values: Vec::new(), words: Words::default(), kind: Kind::Number };
        for group in metadata.row_groups() {
            budget.go_on()?;
            let readable = guarded(|| {
                let reader = pages::of(&file, group, index, budget)?;
                cells.read(get_column_reader(descriptor.clone(), reader), &descriptor, budget)
            });
            let readable = readable.unwrap_or_else(|panic| Err(ParquetError::General(panic)));
            if !readable.map_err(|error| budget.told(|| broken(error.to_string())))? {
                break;
            }
        }
        if cells.values.len() != rows {
            table.notes.push(format!("the column `{title}` holds no plain numbers, times or words; it takes no part"));
            continue;
        }
        let mut column = Column::of_numbers(title, cells.values);
        column.kind = cells.kind;
        column.words = cells.words.into_list();
        table.columns.push(column);
        progress.update(Stage::Import, done as u64 + 1, Status::Counting);
    }
    Ok(table)
}

/// What stands at the end of a file, looked through before it is believed.
fn footer(path: &Path, mut file: &File, budget: &Budget, broken: &impl Fn(String) -> Error) -> Result<ParquetMetaData> {
    let failed = |source| Error::read(path, source);
    let size = budget.size();
    let mut end = [0; 8];
    if size >= 12 {
        file.seek(SeekFrom::Start(size - 8)).map_err(failed)?;
        file.read_exact(&mut end).map_err(failed)?;
    }
    match &end[4..] {
        b"PAR1" => {}
        b"PARE" => return Err(broken("it is encrypted".into())),
        _ => return Err(broken("its end is missing".into())),
    }
    let length = u64::from(u32::from_le_bytes([end[0], end[1], end[2], end[3]]));
    let begin = (size - 8).checked_sub(length).ok_or_else(|| broken("its footer is longer than the file".into()))?;
    budget.take(2 * length, || format!("its footer claims {length} bytes"))?;
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(begin)).map_err(failed)?;
    file.take(length).read_to_end(&mut bytes).map_err(failed)?;
    budget.go_on()?;
    let claimed = Footer::of(&bytes).map_err(|problem| broken(problem.into()))?;
    if claimed.columns > MOST_TITLES as u64 {
        return Err(too_wide(path, "it", claimed.columns, MOST_TITLES));
    }
    // What they take in memory, by measurement: a chunk of a column with its offsets, and all else.
    let parts = claimed.chunks.saturating_mul(900).saturating_add(claimed.others.saturating_mul(64));
    budget.take(parts, || format!("its footer claims {} parts of columns", claimed.chunks))?;
    // A column's names are held by the schema, and by the table once more.
    let names = claimed.names.saturating_mul(2);
    budget.take(names, || format!("the names of its {} columns take {names} bytes", claimed.columns))?;
    guarded(|| ParquetMetaDataReader::decode_metadata(&bytes))
        .and_then(|metadata| metadata.map_err(|error| error.to_string()))
        .map_err(broken)
}

/// What a whole number is multiplied by and divided by: a quotient is the nearest number, a product with a thousandth is not.
#[derive(Clone, Copy)]
struct Scale {
    times: f64,
    over: f64,
}

impl Scale {
    fn of(self, whole: f64) -> f64 {
        whole * self.times / self.over
    }
}

/// The cells of a column so far.
struct Cells {
    values: Vec<f64>,
    words: Words,
    kind: Kind,
}

impl Cells {
    /// Reads a row group; whether the column's kind can be read at all.
    fn read(
        &mut self,
        reader: ColumnReader,
        descriptor: &ColumnDescriptor,
        budget: &Budget,
    ) -> Result<bool, ParquetError> {
        let scale = self.scale(descriptor);
        match reader {
            ColumnReader::BoolColumnReader(reader) => {
                self.numbers(reader, descriptor, budget, |value| f64::from(u8::from(*value)))?
            }
            ColumnReader::Int32ColumnReader(reader) => {
                let unsigned = descriptor.converted_type() == ConvertedType::UINT_32;
                let whole = |value: &i32| if unsigned { f64::from(*value as u32) } else { f64::from(*value) };
                self.numbers(reader, descriptor, budget, |value| scale.of(whole(value)))?;
            }
            ColumnReader::Int64ColumnReader(reader) => {
                let unsigned = descriptor.converted_type() == ConvertedType::UINT_64;
                let whole = |value: &i64| if unsigned { *value as u64 as f64 } else { *value as f64 };
                let seconds = |value: &i64| match scale.over == 1e9 {
                    // Nanoseconds since 1970 have more digits than a number of 64 bits.
                    true => value.div_euclid(1_000_000_000) as f64 + value.rem_euclid(1_000_000_000) as f64 / 1e9,
                    false => scale.of(whole(value)),
                };
                self.numbers(reader, descriptor, budget, seconds)?;
            }
            ColumnReader::FloatColumnReader(reader) => {
                self.numbers(reader, descriptor, budget, |value| f64::from(*value))?
            }
            ColumnReader::DoubleColumnReader(reader) => self.numbers(reader, descriptor, budget, |value| *value)?,
            ColumnReader::Int96ColumnReader(reader) => {
                self.kind = Kind::Time;
                self.numbers(reader, descriptor, budget, |value| value.to_nanos() as f64 * 1e-9)?;
            }
            ColumnReader::ByteArrayColumnReader(reader) => {
                self.kind = Kind::Text;
                self.text(reader, descriptor, budget)?;
            }
            ColumnReader::FixedLenByteArrayColumnReader(_) => return Ok(false),
        }
        Ok(true)
    }

    /// What becomes of a whole number: times become seconds, decimals numbers.
    fn scale(&mut self, descriptor: &ColumnDescriptor) -> Scale {
        let over = |over: f64| Scale { times: 1.0, over };
        let (day, one) = (Scale { times: 86_400.0, over: 1.0 }, over(1.0));
        let time = |unit: &TimeUnit| match unit {
            TimeUnit::MILLIS => over(1e3),
            TimeUnit::MICROS => over(1e6),
            TimeUnit::NANOS => over(1e9),
        };
        let (kind, scale) = match descriptor.logical_type_ref() {
            Some(LogicalType::Timestamp(stamp)) => (Kind::Time, time(&stamp.unit)),
            Some(LogicalType::Time(clock)) => (Kind::Time, time(&clock.unit)),
            Some(LogicalType::Date) => (Kind::Time, day),
            Some(LogicalType::Decimal(decimal)) => (Kind::Number, over(10f64.powi(decimal.scale))),
            _ => match descriptor.converted_type() {
                ConvertedType::TIMESTAMP_MILLIS => (Kind::Time, over(1e3)),
                ConvertedType::TIMESTAMP_MICROS => (Kind::Time, over(1e6)),
                ConvertedType::DATE => (Kind::Time, day),
                _ => (Kind::Number, one),
            },
        };
        self.kind = kind;
        scale
    }

    /// Appends the numbers of a row group.
    fn numbers<T: DataType>(
        &mut self,
        mut reader: ColumnReaderImpl<T>,
        descriptor: &ColumnDescriptor,
        budget: &Budget,
        number: impl Fn(&T::T) -> f64,
    ) -> Result<(), ParquetError> {
        let (mut values, mut levels) = (Vec::new(), Vec::new());
        loop {
            budget.heard(budget.go_on())?;
            values.clear();
            levels.clear();
            let (records, ..) = reader.read_records(BATCH, Some(&mut levels), None, &mut values)?;
            if records == 0 {
                return Ok(());
            }
            self.place(values.iter().map(&number), &levels, descriptor.max_def_level());
        }
    }

    /// Appends the words of a row group, as the numbers of their places.
    fn text(
        &mut self,
        mut reader: ColumnReaderImpl<ByteArrayType>,
        descriptor: &ColumnDescriptor,
        budget: &Budget,
    ) -> Result<(), ParquetError> {
        let (mut values, mut levels, mut places) = (Vec::new(), Vec::new(), Vec::new());
        let mut batch = 64;
        loop {
            budget.heard(budget.go_on())?;
            values.clear();
            levels.clear();
            places.clear();
            let (records, ..) = reader.read_records(batch, Some(&mut levels), None, &mut values)?;
            if records == 0 {
                return Ok(());
            }
            let mut size = 0;
            for value in &values {
                let (word, known) = (value.data(), self.words.len());
                // A long word may stand in a billion rows for a few bytes.
                budget.heard(budget.unpacked(word.len() as u64, None))?;
                places.push(self.words.place(word) as f64);
                if self.words.len() > known {
                    budget.heard(budget.take(words::cost(word.len()), || "its words take too much memory".into()))?;
                }
                size += word.len();
            }
            // Words that share their beginnings are each as long as all of them.
            let longer = values.len() * WORDS / size.max(1);
            batch = longer.clamp(1, (2 * batch).min(BATCH));
            self.place(places.iter().copied(), &levels, descriptor.max_def_level());
        }
    }

    /// Appends values, NaN where there is none.
    fn place(&mut self, mut present: impl Iterator<Item = f64>, levels: &[i16], full: i16) {
        match full {
            0 => self.values.extend(present),
            _ => self.values.extend(levels.iter().map(|level| match *level == full {
                true => present.next().unwrap_or(f64::NAN),
                false => f64::NAN,
            })),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::super::thrift::written::{field, i32s, varint};
    use super::*;

    const INT64: u64 = 2;
    const BYTE_ARRAY: u64 = 6;

    fn words(list: &[&[u8]]) -> Vec<u8> {
        list.iter().flat_map(|word| [&(word.len() as u32).to_le_bytes()[..], word].concat()).collect()
    }

    /// A list of structures.
    fn list(structures: &[Vec<u8>]) -> Vec<u8> {
        [vec![0xfc], varint(structures.len() as u64), structures.concat()].concat()
    }

    fn text(text: &str) -> Vec<u8> {
        [varint(text.len() as u64), text.as_bytes().to_vec()].concat()
    }

    /// A page of so many values in an encoding; it claims to unpack to so many bytes.
    fn page(values: u64, encoding: u64, unpacked: u64, body: &[u8]) -> Vec<u8> {
        let of_values = [field(1, 5, &i32s(values)), field(1, 5, &i32s(encoding)), field(1, 5, &i32s(3))].concat();
        let of_values = [of_values, field(1, 5, &i32s(3)), vec![0]].concat();
        let sizes = [field(1, 5, &i32s(unpacked)), field(1, 5, &i32s(body.len() as u64))].concat();
        [field(1, 5, &i32s(0)), sizes, field(2, 12, &of_values), vec![0], body.to_vec()].concat()
    }

    /// A dictionary that claims so many values.
    fn dictionary(values: u64, body: &[u8]) -> Vec<u8> {
        let of_values = [field(1, 5, &i32s(values)), field(1, 5, &i32s(0)), vec![0]].concat();
        let sizes = [field(1, 5, &i32s(body.len() as u64)), field(1, 5, &i32s(body.len() as u64))].concat();
        [field(1, 5, &i32s(2)), sizes, field(4, 12, &of_values), vec![0], body.to_vec()].concat()
    }

    /// A file whose columns all have the same pages.
    struct Hostile {
        rows: u64,
        columns: u64,
        kind: u64,
        codec: u64,
        pages: Vec<u8>,
        nested: usize,
        /// Where the pages begin.
        begin: i64,
    }

    impl Hostile {
        fn bytes(&self) -> Vec<u8> {
            let name = |index: u64| format!("x{index}");
            // A group has no kind; a column has no children.
            let group = |children: u64| [field(4, 8, &text("g")), field(1, 5, &i32s(children)), vec![0]].concat();
            let column = |index| {
                let kind = field(1, 5, &i32s(self.kind));
                [kind, field(2, 5, &i32s(0)), field(1, 8, &text(&name(index))), vec![0]].concat()
            };
            let groups = (0..self.nested).map(|_| group(1)).chain([group(self.columns)]);
            let schema: Vec<Vec<u8>> = groups.chain((0..self.columns).map(column)).collect();
            let long = |number: u64| varint(2 * number);
            let begin = varint((self.begin << 1 ^ self.begin >> 63) as u64);
            let chunk = |index: u64| {
                let size = self.pages.len() as u64;
                let path: Vec<u8> = (0..self.nested).flat_map(|_| text("g")).chain(text(&name(index))).collect();
                let path = [vec![((self.nested + 1) as u8) << 4 | 8], path].concat();
                let head = [field(1, 5, &i32s(self.kind)), field(1, 9, &[0x15, 0]), field(1, 9, &path)].concat();
                let counts = [field(1, 5, &i32s(self.codec)), field(1, 6, &long(self.rows))].concat();
                let sizes = [field(1, 6, &long(size)), field(1, 6, &long(size)), field(2, 6, &begin)].concat();
                let metadata = [head, counts, sizes, vec![0]].concat();
                [field(2, 6, &long(4)), field(1, 12, &metadata), vec![0]].concat()
            };
            let chunks: Vec<Vec<u8>> = (0..self.columns).map(chunk).collect();
            let group = [field(1, 9, &list(&chunks)), field(1, 6, &long(1)), field(1, 6, &long(self.rows)), vec![0]];
            let head = [field(1, 5, &i32s(1)), field(1, 9, &list(&schema)), field(1, 6, &long(self.rows))].concat();
            let footer = [head, field(1, 9, &list(&[group.concat()])), vec![0]].concat();
            let length = (footer.len() as u32).to_le_bytes();
            [&b"PAR1"[..], &self.pages, &footer, &length, &b"PAR1"[..]].concat()
        }

        fn table(&self, memory: Option<u64>) -> Result<Table<'static>> {
            table_of(&self.bytes(), memory)
        }

        fn refused(&self, memory: Option<u64>) -> String {
            self.table(memory).unwrap_err().to_string()
        }
    }

    fn of_numbers(rows: u64, pages: Vec<u8>) -> Hostile {
        Hostile { rows, columns: 1, kind: INT64, codec: 0, pages, nested: 0, begin: 4 }
    }

    fn table_of(bytes: &[u8], memory: Option<u64>) -> Result<Table<'static>> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        let progress = Progress::silent();
        let budget = Budget::new("log.parquet".as_ref(), bytes.len() as u64, memory, &progress);
        read("log.parquet".as_ref(), file, &|_, _| true, &budget, &progress)
    }

    fn plain(values: &[i64]) -> Vec<u8> {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        page(values.len() as u64, 0, bytes.len() as u64, &bytes)
    }

    /// A page of one run: the first value of the dictionary, so many times.
    fn run(values: u64) -> Vec<u8> {
        let body = [vec![1], varint(2 * values), vec![0]].concat();
        page(values, 8, body.len() as u64, &body)
    }

    #[test]
    fn plain_files_are_read() {
        let pages = [plain(&[1, 2]), plain(&[3, -4])].concat();
        let table = of_numbers(4, pages).table(None).unwrap();
        assert_eq!(*table.columns[0].values, [1.0, 2.0, 3.0, -4.0]);
        let dictionary = dictionary(2, &words(&[b"on", b"off"]));
        let body = [vec![1], varint(2 * 3), vec![1], varint(2 * 2), vec![0]].concat();
        let pages = [dictionary, page(5, 8, body.len() as u64, &body)].concat();
        let table = Hostile { kind: BYTE_ARRAY, ..of_numbers(5, pages) }.table(None).unwrap();
        assert_eq!(table.columns[0].words, ["off", "on"]);
        assert_eq!(*table.columns[0].values, [0.0, 0.0, 0.0, 1.0, 1.0]);
    }

    #[test]
    fn a_few_bytes_that_stand_for_many_rows_need_as_much_memory_as_these() {
        let rows = 300_000;
        let file = of_numbers(rows, [dictionary(1, &7i64.to_le_bytes()), run(rows)].concat());
        let message = file.refused(Some(10_000_000));
        assert!(message.contains("it claims 300000 rows, of which 1 columns are read; a file of "), "{message}");
        let table = file.table(Some(16_000_000)).unwrap();
        assert!(table.columns[0].values.iter().all(|value| *value == 7.0) && table.rows == 300_000);
        // By default a file may unpack to so much.
        assert_eq!(file.table(None).unwrap().rows, 300_000);
        let claims = of_numbers(100_000_000_000, plain(&[1]));
        assert!(claims.refused(None).contains("it claims 100000000000 rows"));
    }

    #[test]
    fn pages_are_held_to_what_is_there() {
        let refused = |pages: Vec<u8>| of_numbers(3, pages).refused(None);
        let message = refused([dictionary(1, &[0; 8]), run(4)].concat());
        assert!(message.contains("it cannot be read as Parquet: Parquet error: a column has more values"), "{message}");
        let message = refused([dictionary(2_000_000_000, &[0; 8]), run(3)].concat());
        assert!(message.contains("a dictionary claims 2000000000 values in 8 bytes"), "{message}");
        // 1: Snappy, 6: zstd.
        for codec in [1, 6] {
            let file = Hostile { codec, ..of_numbers(3, page(3, 0, 2_000_000_000, &[0; 30])) };
            assert!(file.refused(None).contains("one of its pages claims 2000000000 bytes"), "{}", file.refused(None));
        }
        assert!(refused(vec![0xff; 100]).contains("a page has no header"));
        let none = of_numbers(3, Vec::new()).table(None).unwrap();
        assert!(none.columns.is_empty() && none.notes[0].contains("no plain numbers"), "{:?}", none.notes);
    }

    #[test]
    fn a_page_that_unpacks_to_more_than_it_claims_is_refused_before_it_is_unpacked() {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        packer.write_all(&vec![0u8; 40 << 20]).unwrap();
        let packed = packer.finish().unwrap();
        let message = Hostile { codec: 2, ..of_numbers(3, page(3, 0, 24, &packed)) }.refused(None);
        assert!(message.contains("a page unpacks to more than the 24 bytes that it claims"), "{message}");
    }

    #[test]
    fn a_panic_of_the_reader_becomes_an_error_with_the_name_of_the_file() {
        let file = Hostile { begin: -1, ..of_numbers(3, plain(&[1, 2, 3])) };
        let message = "log.parquet: it cannot be read as Parquet: column start and length should not be negative";
        assert_eq!(file.refused(None), message);
        assert!(!fpsrl_base::foreign::is_guarded());
    }

    #[test]
    fn columns_that_share_their_bytes_are_refused() {
        let file = Hostile { columns: 3, ..of_numbers(500, plain(&[5; 500])) };
        assert!(file.refused(None).contains("its columns overlap"), "{}", file.refused(None));
    }

    #[test]
    fn long_words_in_many_rows_are_counted_in_each() {
        let word = vec![b'w'; 10_000];
        let pages = [dictionary(1, &words(&[&word])), run(20_000)].concat();
        let file = Hostile { kind: BYTE_ARRAY, ..of_numbers(20_000, pages) };
        assert!(file.refused(Some(2_000_000)).contains("it unpacks to more than 4 MB"));
        assert_eq!(file.table(None).unwrap().columns[0].words.len(), 1);
    }

    #[test]
    fn lengths_of_words_that_claim_more_than_there_are_words_are_refused() {
        let lengths = |count| [varint(128), varint(4), varint(count), varint(0), varint(0), vec![0; 4]].concat();
        for (encoding, body) in [(6, lengths(1 << 40)), (7, [lengths(3), lengths(1 << 40)].concat())] {
            let pages = page(3, encoding, body.len() as u64, &body);
            let message = Hostile { kind: BYTE_ARRAY, ..of_numbers(3, pages) }.refused(None);
            assert!(message.contains("a page of words has other lengths than words"), "{message}");
        }
    }

    #[test]
    fn schemas_are_held_to_a_depth_and_a_number_of_columns() {
        let file = Hostile { nested: 200, ..of_numbers(3, plain(&[1, 2, 3])) };
        assert!(file.refused(None).contains("its columns are nested too deep"), "{}", file.refused(None));
        let file = Hostile { columns: 100_001, ..of_numbers(3, plain(&[1, 2, 3])) };
        assert!(file.refused(None).contains("it has 100001 columns; at most 100000 are read"));
        let file = Hostile { columns: 10_001, ..of_numbers(3, plain(&[1, 2, 3])) };
        assert!(file.refused(None).contains("it has 10001 columns; at most 10000 are read"));
    }

    #[test]
    fn a_stop_is_heard_before_a_column_is_unpacked() {
        let bytes = of_numbers(3, plain(&[1, 2, 3])).bytes();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&bytes).unwrap();
        let progress = Progress::silent();
        let budget = Budget::new("log.parquet".as_ref(), bytes.len() as u64, None, &progress);
        let wanted = |_: &str, _: &str| {
            progress.stop().request();
            true
        };
        let stopped = read("log.parquet".as_ref(), file, &wanted, &budget, &progress);
        assert!(matches!(stopped, Err(Error::Stopped { .. })));
    }

    #[test]
    fn no_byte_makes_a_file_panic() {
        let body = [vec![1], varint(2 * 3), vec![1]].concat();
        let pages = [dictionary(2, &words(&[b"on", b"off"])), page(3, 8, body.len() as u64, &body)].concat();
        let words = Hostile { kind: BYTE_ARRAY, ..of_numbers(3, pages) }.bytes();
        for whole in [words, of_numbers(3, plain(&[1, 2, 3])).bytes()] {
            for at in 0..whole.len() {
                assert!(table_of(&whole[..at], None).is_err());
                for flip in [0x01, 0x80, 0xff] {
                    let mut bytes = whole.clone();
                    bytes[at] ^= flip;
                    let _ = table_of(&bytes, None);
                }
            }
        }
    }
}
