//! The table of a sweep: a row for each run, as CSV, as Parquet, and as cells for whoever else wants them.

use std::path::Path;

use fpsrl_base::error::{Error, Result};
use fpsrl_base::files;

/// A cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Nothing is known.
    Empty,
    /// A whole number.
    Count(i64),
    /// A number.
    Number(f64),
    /// Yes or no.
    Truth(bool),
    /// Words.
    Text(String),
}

/// A table: named columns of the same length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// The columns, each with its name.
    pub columns: Vec<(String, Vec<Cell>)>,
}

impl From<Option<f64>> for Cell {
    fn from(value: Option<f64>) -> Self {
        value.filter(|value| value.is_finite()).map_or(Self::Empty, Self::Number)
    }
}

impl From<Option<bool>> for Cell {
    fn from(value: Option<bool>) -> Self {
        value.map_or(Self::Empty, Self::Truth)
    }
}

impl From<Option<usize>> for Cell {
    fn from(value: Option<usize>) -> Self {
        value.and_then(|value| i64::try_from(value).ok()).map_or(Self::Empty, Self::Count)
    }
}

impl From<Option<&str>> for Cell {
    fn from(value: Option<&str>) -> Self {
        value.map_or(Self::Empty, |text| Self::Text(text.to_owned()))
    }
}

impl From<Option<&toml::Value>> for Cell {
    fn from(value: Option<&toml::Value>) -> Self {
        match value {
            None => Self::Empty,
            Some(toml::Value::Integer(number)) => Self::Count(*number),
            Some(toml::Value::Float(number)) => Some(*number).into(),
            Some(toml::Value::Boolean(truth)) => Self::Truth(*truth),
            Some(other) => Self::Text(super::name::told(other)),
        }
    }
}

impl Cell {
    /// As words; empty where nothing is known.
    pub fn text(&self) -> String {
        match self {
            Self::Empty => String::new(),
            Self::Count(number) => number.to_string(),
            Self::Number(number) => format!("{number}"),
            Self::Truth(truth) => truth.to_string(),
            Self::Text(text) => text.clone(),
        }
    }
}

impl Table {
    /// Rows of the table.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |(_, cells)| cells.len())
    }

    /// The columns, each of one kind: numbers of both kinds are numbers, and what is mixed otherwise is words.
    pub fn in_kinds(&self) -> Self {
        let kind = |cells: &[Cell]| {
            let all = |one: fn(&Cell) -> bool| cells.iter().all(|cell| *cell == Cell::Empty || one(cell));
            [
                all(|cell| matches!(cell, Cell::Count(_))),
                all(|cell| matches!(cell, Cell::Truth(_))),
                all(|cell| matches!(cell, Cell::Count(_) | Cell::Number(_))),
            ]
        };
        let as_kind = |cells: &Vec<Cell>| -> Vec<Cell> {
            match kind(cells) {
                [true, ..] | [_, true, _] => cells.clone(),
                [_, _, true] => cells
                    .iter()
                    .map(
                        |cell| if let Cell::Count(number) = cell { Cell::Number(*number as f64) } else { cell.clone() },
                    )
                    .collect(),
                _ => cells
                    .iter()
                    .map(|cell| if *cell == Cell::Empty { Cell::Empty } else { Cell::Text(cell.text()) })
                    .collect(),
            }
        };
        Self { columns: self.columns.iter().map(|(name, cells)| (name.clone(), as_kind(cells))).collect() }
    }

    /// As comma-separated text.
    ///
    /// ```
    /// use fpsrl::sweep::{Cell, Table};
    /// let table = Table { columns: vec![("run".into(), vec![Cell::Text("a,b".into())]), ("seed".into(), vec![Cell::Count(1)])] };
    /// assert_eq!(table.to_csv()?, "run,seed\n\"a,b\",1\n");
    /// # Ok::<(), fpsrl::Error>(())
    /// ```
    pub fn to_csv(&self) -> Result<String> {
        let broken = |_| Error::Internal("a table has no form as text");
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(self.columns.iter().map(|(name, _)| name)).map_err(broken)?;
        for row in 0..self.rows() {
            let cell = |(_, cells): &(String, Vec<Cell>)| cells.get(row).map_or_else(String::new, Cell::text);
            writer.write_record(self.columns.iter().map(cell)).map_err(broken)?;
        }
        let bytes = writer.into_inner().map_err(|_| Error::Internal("a table has no form as text"))?;
        String::from_utf8(bytes).map_err(|_| Error::Internal("a table has no form as text"))
    }

    /// Writes it to a file: as Parquet if the file's name ends so, else as CSV.
    pub fn write(&self, path: &Path) -> Result<()> {
        let ending = path.extension().and_then(|ending| ending.to_str()).map(str::to_ascii_lowercase);
        match ending.as_deref() {
            Some("parquet") => {
                let bytes = self.to_parquet()?;
                files::write_atomically(path, |file| file.write_all(&bytes))
            }
            Some("csv") => {
                let text = self.to_csv()?;
                files::write_atomically(path, |file| file.write_all(text.as_bytes()))
            }
            _ => {
                let value = format!("{:?}", path.display().to_string());
                let hint = "end its name with .csv or .parquet";
                Err(Error::setting("table", value, "the name says whether it is CSV or Parquet", hint))
            }
        }
    }

    /// As Parquet.
    #[cfg(not(feature = "parquet"))]
    pub fn to_parquet(&self) -> Result<Vec<u8>> {
        let hint = "write CSV instead, or build fpsrl with the feature `parquet`";
        Err(Error::setting("table", "Parquet", "this fpsrl was built without it", hint))
    }

    /// As Parquet.
    #[cfg(feature = "parquet")]
    pub fn to_parquet(&self) -> Result<Vec<u8>> {
        self.in_kinds().packed().map_err(|_| Error::Internal("a table has no form as Parquet"))
    }

    #[cfg(feature = "parquet")]
    fn packed(&self) -> parquet::errors::Result<Vec<u8>> {
        use std::sync::Arc;

        use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
        use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
        use parquet::file::properties::WriterProperties;
        use parquet::file::writer::SerializedFileWriter;
        use parquet::schema::types::Type;

        let physical = |cells: &[Cell]| match cells.iter().find(|cell| **cell != Cell::Empty) {
            Some(Cell::Count(_)) => Physical::INT64,
            Some(Cell::Number(_)) | None => Physical::DOUBLE,
            Some(Cell::Truth(_)) => Physical::BOOLEAN,
            _ => Physical::BYTE_ARRAY,
        };
        let field = |(name, cells): &(String, Vec<Cell>)| {
            let kind = physical(cells);
            let text = (kind == Physical::BYTE_ARRAY).then_some(LogicalType::String);
            let built = Type::primitive_type_builder(name, kind).with_repetition(Repetition::OPTIONAL);
            built.with_logical_type(text).build().map(Arc::new)
        };
        let fields = self.columns.iter().map(field).collect::<parquet::errors::Result<Vec<_>>>()?;
        let schema = Arc::new(Type::group_type_builder("sweep").with_fields(fields).build()?);
        let properties = Arc::new(WriterProperties::builder().set_compression(Compression::SNAPPY).build());
        let mut bytes = Vec::new();
        let mut file = SerializedFileWriter::new(&mut bytes, schema, properties)?;
        let mut group = file.next_row_group()?;
        for (_, cells) in &self.columns {
            let Some(mut column) = group.next_column()? else { break };
            let there: Vec<i16> = cells.iter().map(|cell| i16::from(*cell != Cell::Empty)).collect();
            let (levels, kind) = (Some(there.as_slice()), physical(cells));
            if kind == Physical::INT64 {
                let values: Vec<i64> =
                    cells.iter().filter_map(|cell| if let Cell::Count(n) = cell { Some(*n) } else { None }).collect();
                column.typed::<Int64Type>().write_batch(&values, levels, None)?;
            } else if kind == Physical::DOUBLE {
                let values: Vec<f64> =
                    cells.iter().filter_map(|cell| if let Cell::Number(n) = cell { Some(*n) } else { None }).collect();
                column.typed::<DoubleType>().write_batch(&values, levels, None)?;
            } else if kind == Physical::BOOLEAN {
                let values: Vec<bool> =
                    cells.iter().filter_map(|cell| if let Cell::Truth(t) = cell { Some(*t) } else { None }).collect();
                column.typed::<BoolType>().write_batch(&values, levels, None)?;
            } else {
                let known = cells.iter().filter(|cell| **cell != Cell::Empty);
                let values: Vec<ByteArray> = known.map(|cell| ByteArray::from(cell.text().into_bytes())).collect();
                column.typed::<ByteArrayType>().write_batch(&values, levels, None)?;
            }
            column.close()?;
        }
        group.close()?;
        file.close()?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_mixed_kinds_become_words_and_numbers_stay_numbers() {
        let column = |name: &str, cells: Vec<Cell>| (name.to_owned(), cells);
        let table = Table {
            columns: vec![
                column("numbers", vec![Cell::Count(1), Cell::Number(0.5), Cell::Empty]),
                column("mixed", vec![Cell::Count(2), Cell::Text("auto".into()), Cell::Empty]),
                column("nothing", vec![Cell::Empty, Cell::Empty, Cell::Empty]),
            ],
        };
        let kinds = table.in_kinds();
        assert_eq!(kinds.columns[0].1, [Cell::Number(1.0), Cell::Number(0.5), Cell::Empty]);
        assert_eq!(kinds.columns[1].1, [Cell::Text("2".into()), Cell::Text("auto".into()), Cell::Empty]);
        assert_eq!(table.to_csv().unwrap(), "numbers,mixed,nothing\n1,2,\n0.5,auto,\n,,\n");
        let error = table.write(Path::new("table.xlsx")).unwrap_err();
        assert!(error.to_string().contains("table.xlsx") && error.hint().unwrap().contains(".parquet"));
    }

    #[cfg(feature = "parquet")]
    #[test]
    fn parquet_reads_back_by_the_reader_of_logs() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("table.parquet");
        let columns = vec![
            ("seed".to_owned(), vec![Cell::Count(1), Cell::Count(2)]),
            ("promise".to_owned(), vec![Cell::Number(-1.25), Cell::Empty]),
            ("verdict".to_owned(), vec![Cell::Empty, Cell::Text("go".into())]),
            ("holds".to_owned(), vec![Cell::Truth(true), Cell::Empty]),
        ];
        Table { columns }.write(&path).unwrap();
        let options = crate::data::log::TextOptions::default();
        let read = crate::data::log::read(&path, &options, &|_, _| true, &crate::Progress::silent()).unwrap();
        assert_eq!(read.titles, ["seed", "promise", "verdict", "holds"]);
        let values = |name: &str| read.column(&[name.to_owned()]).unwrap().values.to_vec();
        assert_eq!(values("seed"), [1.0, 2.0]);
        assert!(values("promise")[0] == -1.25 && values("promise")[1].is_nan());
    }
}
