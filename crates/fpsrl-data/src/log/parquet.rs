//! Parquet, column by column: only the columns that are wanted are unpacked.

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;

use parquet::basic::{ConvertedType, LogicalType, TimeUnit};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;

use super::layout::malformed;
use super::table::{Column, Kind, Table, split_unit};
use super::text::Wanted;
use fpsrl_base::error::{Error, Result};
use fpsrl_base::progress::{Progress, Stage, Status};

/// Values that are unpacked together.
const BATCH: usize = 1 << 16;

/// Reads a file of flat columns.
pub(super) fn read(path: &Path, file: File, wanted: Wanted<'_>, progress: &Progress) -> Result<Table<'static>> {
    let broken = |error: ParquetError| {
        malformed(
            path,
            None,
            format!("it cannot be read as Parquet: {error}"),
            "the file may have been cut off; copy it again",
        )
    };
    let reader = SerializedFileReader::new(file).map_err(broken)?;
    let metadata = reader.metadata();
    let schema = metadata.file_metadata().schema_descr_ptr();
    let rows = usize::try_from(metadata.file_metadata().num_rows()).unwrap_or(0);
    if rows == 0 {
        return Err(malformed(path, None, "there is no row in it", "name another file"));
    }
    let mut table = Table { path: path.to_owned(), rows, ..Table::default() };
    progress.begin(Stage::Import, schema.num_columns() as u64);
    for index in 0..schema.num_columns() {
        let descriptor = schema.column(index);
        let title = descriptor.path().string();
        table.titles.push(title.clone());
        if !wanted(&title, &split_unit(&title).0) {
            continue;
        }
        if descriptor.max_rep_level() > 0 {
            table.notes.push(format!("the column `{title}` holds lists; it takes no part"));
            continue;
        }
        if progress.stop_requested() {
            return Err(Error::Stopped { stage: "import" });
        }
        let mut cells =
            Cells { values: Vec::with_capacity(rows), words: Vec::new(), places: HashMap::new(), kind: Kind::Number };
        for group in 0..reader.num_row_groups() {
            let group = reader.get_row_group(group).map_err(broken)?;
            let readable = cells.read(group.get_column_reader(index).map_err(broken)?, &descriptor).map_err(broken)?;
            if !readable {
                break;
            }
        }
        if cells.values.len() != rows {
            table.notes.push(format!("the column `{title}` holds no plain numbers, times or words; it takes no part"));
            continue;
        }
        let mut column = Column::of_numbers(title, cells.values);
        column.kind = cells.kind;
        column.words = cells.words;
        table.columns.push(column);
        progress.update(Stage::Import, index as u64 + 1, Status::Counting);
    }
    Ok(table)
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
    words: Vec<String>,
    places: HashMap<Vec<u8>, usize>,
    kind: Kind,
}

impl Cells {
    /// Reads a row group; whether the column's kind can be read at all.
    fn read(&mut self, reader: ColumnReader, descriptor: &ColumnDescriptor) -> Result<bool, ParquetError> {
        let scale = self.scale(descriptor);
        match reader {
            ColumnReader::BoolColumnReader(reader) => {
                self.numbers(reader, descriptor, |value| f64::from(u8::from(*value)))?
            }
            ColumnReader::Int32ColumnReader(reader) => {
                let unsigned = descriptor.converted_type() == ConvertedType::UINT_32;
                let whole = |value: &i32| if unsigned { f64::from(*value as u32) } else { f64::from(*value) };
                self.numbers(reader, descriptor, |value| scale.of(whole(value)))?;
            }
            ColumnReader::Int64ColumnReader(reader) => {
                let unsigned = descriptor.converted_type() == ConvertedType::UINT_64;
                let whole = |value: &i64| if unsigned { *value as u64 as f64 } else { *value as f64 };
                let seconds = |value: &i64| match scale.over == 1e9 {
                    // Nanoseconds since 1970 have more digits than a number of 64 bits.
                    true => value.div_euclid(1_000_000_000) as f64 + value.rem_euclid(1_000_000_000) as f64 / 1e9,
                    false => scale.of(whole(value)),
                };
                self.numbers(reader, descriptor, seconds)?;
            }
            ColumnReader::FloatColumnReader(reader) => self.numbers(reader, descriptor, |value| f64::from(*value))?,
            ColumnReader::DoubleColumnReader(reader) => self.numbers(reader, descriptor, |value| *value)?,
            ColumnReader::Int96ColumnReader(reader) => {
                self.kind = Kind::Time;
                self.numbers(reader, descriptor, |value| value.to_nanos() as f64 * 1e-9)?;
            }
            ColumnReader::ByteArrayColumnReader(reader) => {
                self.kind = Kind::Text;
                let (mut words, mut places) = (std::mem::take(&mut self.words), std::mem::take(&mut self.places));
                self.numbers(reader, descriptor, |value| {
                    let next = words.len();
                    *places.entry(value.data().to_vec()).or_insert_with(|| {
                        words.push(String::from_utf8_lossy(value.data()).into_owned());
                        next
                    }) as f64
                })?;
                (self.words, self.places) = (words, places);
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

    /// Appends the values of a row group, NaN where there is none.
    fn numbers<T: DataType>(
        &mut self,
        mut reader: ColumnReaderImpl<T>,
        descriptor: &ColumnDescriptor,
        mut number: impl FnMut(&T::T) -> f64,
    ) -> Result<(), ParquetError> {
        let full = descriptor.max_def_level();
        let (mut values, mut levels) = (Vec::with_capacity(BATCH), Vec::with_capacity(BATCH));
        loop {
            values.clear();
            levels.clear();
            let (records, ..) = reader.read_records(BATCH, Some(&mut levels), None, &mut values)?;
            if records == 0 {
                return Ok(());
            }
            let mut present = values.iter();
            match full {
                0 => self.values.extend(present.map(&mut number)),
                _ => self.values.extend(levels.iter().map(|level| match *level == full {
                    true => present.next().map_or(f64::NAN, &mut number),
                    false => f64::NAN,
                })),
            }
        }
    }
}
