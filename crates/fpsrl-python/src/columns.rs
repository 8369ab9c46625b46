//! Columns of a data frame as a table, without a copy: the values stay where Python has them.

use fpsrl::data::log::{Column, Kind, Table};
use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A column as Python gives it: its title, what its cells are, a number for each, and the words that the numbers of a
/// column of text stand for.
type Given<'py> = (String, String, PyReadonlyArray1<'py, f64>, Vec<String>);

/// A frame as Python gives it: the columns that were asked for, and the titles of all.
pub type Frame<'py> = (Vec<Given<'py>>, Vec<String>);

/// The tables of some frames, which borrow their values.
pub fn tables<'a>(frames: &'a [Frame<'_>]) -> PyResult<Vec<Table<'a>>> {
    frames.iter().map(table).collect()
}

fn table<'a>((columns, titles): &'a Frame<'_>) -> PyResult<Table<'a>> {
    let of_one = |(title, kind, values, words): &'a Given<'_>| -> PyResult<Column<'a>> {
        let values = values.as_slice().map_err(|_| PyValueError::new_err(format!("`{title}` is not contiguous")))?;
        let mut column = Column::of_numbers(title.as_str(), values);
        column.kind = match kind.as_str() {
            "time" => Kind::Time,
            "text" => Kind::Text,
            _ => Kind::Number,
        };
        column.words.clone_from(words);
        Ok(column)
    };
    let table = Table::in_memory(columns.iter().map(of_one).collect::<PyResult<_>>()?);
    if let Some(other) = table.columns.iter().find(|column| column.values.len() != table.rows) {
        let (title, rows) = (&other.title, other.values.len());
        return Err(PyValueError::new_err(format!("`{title}` has {rows} rows instead of {}", table.rows)));
    }
    Ok(Table { titles: titles.clone(), ..table })
}
