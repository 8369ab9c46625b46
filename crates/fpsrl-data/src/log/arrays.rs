//! Named arrays as a table: what npz and HDF5 files hold. An array of two dimensions becomes a column for each of its own.

use std::collections::HashMap;
use std::path::Path;

use super::budget::{Budget, MOST_COLUMNS, MOST_TITLES, of_cells, of_rows, too_wide};
use super::layout::malformed;
use super::table::{Column, Table, split_unit};
use super::text::Wanted;
use fpsrl_base::error::Result;

/// An array by its name, as columns of the same length.
pub(super) struct NamedArray {
    pub(super) name: String,
    pub(super) rows: usize,
    /// Whether it has one dimension, so that its only column is called as it is.
    pub(super) flat: bool,
    pub(super) columns: Vec<Vec<f64>>,
}

/// The titles of an array's columns.
pub(super) fn titles(name: &str, width: usize, flat: bool) -> Vec<String> {
    match flat {
        true => vec![name.to_owned()],
        false => (0..width).map(|index| format!("{name}_{index}")).collect(),
    }
}

/// Bytes that the names of all columns may take: each has that of its array in it, and one array may have a long one.
const MOST_NAMES: u64 = 32 << 20;

/// How many columns the arrays of a file have, and the bytes of their names.
#[derive(Default)]
pub(super) struct Widths(u64, u64);

impl Widths {
    /// Adds an array, unless that makes too many: their titles are written out before anything is read.
    pub(super) fn add(&mut self, path: &Path, what: &str, width: u64) -> Result<()> {
        self.0 = self.0.saturating_add(width.max(1));
        self.1 = self.1.saturating_add(width.max(1).saturating_mul(what.len() as u64));
        match (width > MOST_TITLES as u64, self.0 > MOST_TITLES as u64) {
            (true, _) => Err(too_wide(path, what, width, MOST_TITLES)),
            (_, true) => Err(too_wide(path, "it", self.0, MOST_TITLES)),
            _ if self.1 > MOST_NAMES => {
                let problem = format!("{what} has {width} columns, whose names alone would take {} MB", self.1 >> 20);
                Err(malformed(path, None, problem, "give it a shorter name"))
            }
            _ => Ok(()),
        }
    }
}

/// Puts arrays of the same length side by side; others are left out, with a note.
pub(super) fn table(
    path: &Path,
    arrays: Vec<NamedArray>,
    wanted: Wanted<'_>,
    what: &str,
    budget: &Budget,
) -> Result<Table<'static>> {
    let mut counts: HashMap<usize, usize> = HashMap::new();
    arrays.iter().for_each(|array| *counts.entry(array.rows).or_default() += 1);
    let longest = |name: &str| arrays.iter().find(|array| array.name == name).map(|array| array.rows);
    // Observations say how long the log is; where there are none, most arrays do.
    let most = || counts.iter().max_by_key(|(rows, count)| (**count, **rows)).map(|(rows, _)| *rows);
    let Some(rows) = longest("observations").or_else(most).filter(|rows| *rows > 0) else {
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
        let titles = titles(&array.name, array.columns.len(), array.flat);
        for (title, values) in titles.into_iter().zip(array.columns) {
            let name = split_unit(&title).0;
            if wanted(&title, &name) {
                table.columns.push(Column::of_numbers(title.clone(), values));
            }
            table.titles.push(title);
        }
        if table.columns.len() > MOST_COLUMNS {
            return Err(too_wide(path, "it", table.columns.len() as u64, MOST_COLUMNS));
        }
    }
    // The cells have been counted array by array.
    let (rows, columns) = (rows as u64, table.columns.len() as u64);
    budget
        .take(of_rows(rows, columns) - of_cells(rows, columns), || format!("its {rows} rows take too much memory"))?;
    Ok(table)
}
