//! Named arrays as a table: what npz and HDF5 files hold. An array of two dimensions becomes a column for each of its own.

use std::path::Path;

use super::layout::malformed;
use super::table::{Column, Table, split_unit};
use super::text::Wanted;
use fpsrl_base::error::Result;

/// An array by its name: `rows` times `width` numbers, row after row.
pub(super) struct NamedArray {
    pub(super) name: String,
    pub(super) rows: usize,
    pub(super) width: usize,
    /// Whether it has one dimension, so that its only column is called as it is.
    pub(super) flat: bool,
    pub(super) values: Vec<f64>,
}

/// The titles of an array's columns.
pub(super) fn titles(name: &str, width: usize, flat: bool) -> Vec<String> {
    match flat {
        true => vec![name.to_owned()],
        false => (0..width).map(|index| format!("{name}_{index}")).collect(),
    }
}

/// Puts arrays of the same length side by side; others are left out, with a note.
pub(super) fn table(path: &Path, arrays: Vec<NamedArray>, wanted: Wanted<'_>, what: &str) -> Result<Table<'static>> {
    let longest = |name: &str| arrays.iter().find(|array| array.name == name).map(|array| array.rows);
    // Observations say how long the log is; where there are none, most arrays do.
    let rows = longest("observations").or_else(|| {
        let count = |rows: usize| arrays.iter().filter(|array| array.rows == rows).count();
        arrays.iter().map(|array| array.rows).max_by_key(|&rows| (count(rows), rows))
    });
    let Some(rows) = rows.filter(|rows| *rows > 0) else {
        let hint = "a log needs arrays with a row for each step, such as observations and actions";
        return Err(malformed(path, None, format!("{what} holds no array of numbers"), hint));
    };
    let mut table = Table { path: path.to_owned(), rows, ..Table::default() };
    for array in arrays {
        if array.rows != rows {
            let note =
                format!("the array `{}` has {} rows instead of {rows}; it takes no part", array.name, array.rows);
            table.notes.push(note);
            continue;
        }
        for (index, title) in titles(&array.name, array.width, array.flat).into_iter().enumerate() {
            let name = split_unit(&title).0;
            if wanted(&title, &name) {
                let values: Vec<f64> = array.values.iter().skip(index).step_by(array.width).copied().collect();
                table.columns.push(Column::of_numbers(title.clone(), values));
            }
            table.titles.push(title);
        }
    }
    Ok(table)
}
