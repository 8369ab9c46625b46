//! A log as a table: columns of numbers with their names, whatever file they came from.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use fpsrl_base::error::{Error, Result, nearest};
use fpsrl_base::frame::FRAME;

/// What a column's cells are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Numbers.
    Number,
    /// Points in time, as seconds.
    Time,
    /// Words: each distinct one has a number, in the order of their first appearance.
    Text,
}

/// A column of a log. A cell that is missing is NaN.
///
/// Its values may be lent by whoever holds them already, such as a data frame in memory; then they are not copied.
#[derive(Clone, Debug, PartialEq)]
pub struct Column<'a> {
    /// Its name in the file, without the unit.
    pub name: String,
    /// Its unit, from the name or from a row of units; may be empty.
    pub unit: String,
    /// Its name exactly as it stands in the file.
    pub title: String,
    /// What its cells are.
    pub kind: Kind,
    /// A number for each row.
    pub values: Cow<'a, [f64]>,
    /// The distinct words of a column of text.
    pub words: Vec<String>,
    /// The first cell that is NaN in a column of numbers.
    pub fault: Option<CellFault>,
}

/// A cell that cannot be used.
#[derive(Clone, Debug, PartialEq)]
pub struct CellFault {
    /// The row, counted from 0.
    pub row: usize,
    /// What stands there.
    pub text: String,
    /// What is wrong with it: "is not a number".
    pub what: &'static str,
}

/// A log as it was read.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Table<'a> {
    /// Where it came from.
    pub path: PathBuf,
    /// The columns that were asked for.
    pub columns: Vec<Column<'a>>,
    /// Number of rows.
    pub rows: usize,
    /// Rows from which on the line in the file is known, and that line; empty for files without lines.
    pub lines: Vec<(usize, u64)>,
    /// The names of all columns of the file, as they stand there.
    pub titles: Vec<String>,
    /// What a reader of the table should know.
    pub notes: Vec<String>,
}

impl<'a> Column<'a> {
    /// A column of numbers; what is not finite is remembered as a fault, except for NaN, which is missing.
    pub fn of_numbers(title: impl Into<String>, values: impl Into<Cow<'a, [f64]>>) -> Self {
        let (title, mut values) = (title.into(), values.into());
        let fault = values.iter().position(|value| value.is_infinite()).map(|row| CellFault {
            row,
            text: format!("`{}`", values[row]),
            what: "is not a finite number",
        });
        if fault.is_some() {
            values.to_mut().iter_mut().filter(|value| value.is_infinite()).for_each(|value| *value = f64::NAN);
        }
        let (name, unit) = split_unit(&title);
        Self { name, unit, title, kind: Kind::Number, values, words: Vec::new(), fault }
    }

    /// The same column, which lends its values.
    fn lent(&self) -> Column<'_> {
        let Self { name, unit, title, kind, values, words, fault } = self;
        Column {
            name: name.clone(),
            unit: unit.clone(),
            title: title.clone(),
            kind: *kind,
            values: Cow::Borrowed(values),
            words: words.clone(),
            fault: fault.clone(),
        }
    }
}

impl<'a> Table<'a> {
    /// A table in memory, such as a data frame: its columns side by side.
    ///
    /// ```
    /// use fpsrl_data::log::{Column, Table};
    /// let levels = [1.5, 1.75];
    /// let table = Table::in_memory(vec![Column::of_numbers("level[m]", &levels[..])]);
    /// assert_eq!((table.rows, table.columns[0].unit.as_str()), (2, "m"));
    /// ```
    pub fn in_memory(columns: Vec<Column<'a>>) -> Self {
        Self {
            path: FRAME.into(),
            rows: columns.first().map_or(0, |column| column.values.len()),
            titles: columns.iter().map(|column| column.title.clone()).collect(),
            columns,
            ..Self::default()
        }
    }

    /// The same table, which lends its values instead of copying them.
    pub fn lent(&self) -> Table<'_> {
        self.lent_of(&|_, _| true)
    }

    /// The same with only some of its columns, chosen by title and by name without the unit.
    pub fn lent_of(&self, wanted: &dyn Fn(&str, &str) -> bool) -> Table<'_> {
        let columns = self.columns.iter().filter(|column| wanted(&column.title, &column.name));
        Table {
            path: self.path.clone(),
            columns: columns.map(Column::lent).collect(),
            rows: self.rows,
            lines: self.lines.clone(),
            titles: self.titles.clone(),
            notes: self.notes.clone(),
        }
    }

    /// The line of a row in the file, if the file has lines.
    pub fn line(&self, row: usize) -> Option<u64> {
        let after = self.lines.partition_point(|(first, _)| *first <= row);
        let (first, line) = self.lines.get(after.checked_sub(1)?)?;
        Some(line + (row - first) as u64)
    }

    /// The column of one of these names: as it stands in the file, or without its unit.
    pub fn column(&self, names: &[String]) -> Option<&Column<'a>> {
        let called = |name: &str, of: for<'b> fn(&'b Column<'a>) -> &'b str| {
            self.columns.iter().find(|column| of(column) == name)
        };
        names
            .iter()
            .find_map(|name| called(name, |column| &column.title).or_else(|| called(name, |column| &column.name)))
    }

    /// The column of one of these names, or what to say if the file lacks it.
    pub fn expect(&self, names: &[String], key: &str) -> Result<&Column<'a>> {
        let Some(column) = self.column(names) else {
            return Err(missing_column(&self.path, names, key, &self.titles));
        };
        if self.titles.iter().filter(|title| **title == column.title).count() > 1 {
            return Err(Error::Malformed {
                path: self.path.clone(),
                line: None,
                column: None,
                problem: format!("there are two columns called `{}`", column.title),
                remedy: "rename one of them".into(),
            });
        }
        Ok(column)
    }

    /// An error about a cell.
    pub fn fault(&self, row: usize, column: &str, problem: String, hint: &str) -> Error {
        let (path, column, remedy) = (self.path.clone(), column.to_owned(), hint.into());
        match self.line(row) {
            Some(line) => Error::Malformed { path, line: Some(line), column: Some(column), problem, remedy },
            None => Error::Cell { path, row: row as u64, column, problem, remedy },
        }
    }

    /// Makes the words of a mode numbers: their places in a list. A column of numbers holds the words as numbers.
    pub(crate) fn number_words(&mut self, names: &[String], values: &[String], variable: &str) -> Result<()> {
        let column = self.expect(names, "column")?;
        if let Some(CellFault { row, text, what }) = &column.fault {
            let hint = "a mode is numbers or words, not both: correct the cell, or write its numbers as words";
            return Err(self.fault(*row, &column.title, format!("{text} {what}"), hint));
        }
        let title = column.title.clone();
        let Some(index) = self.columns.iter().position(|column| column.title == title) else { return Ok(()) };
        let column = &self.columns[index];
        let known: Vec<Option<f64>> = values.iter().map(|value| value.trim().parse().ok()).collect();
        let place_of = |cell: f64| match column.kind {
            Kind::Text => {
                let word = column.words.get(cell as usize)?;
                values.iter().position(|value| value == word)
            }
            Kind::Number | Kind::Time => known.iter().position(|value| *value == Some(cell)),
        };
        let mut places = Vec::with_capacity(column.values.len());
        for (row, &cell) in column.values.iter().enumerate() {
            match (cell.is_finite(), place_of(cell)) {
                (false, _) => places.push(f64::NAN),
                (true, Some(place)) => places.push(place as f64),
                (true, None) => {
                    let word = match column.kind {
                        Kind::Text => column.words.get(cell as usize).map_or("", String::as_str).to_owned(),
                        _ => cell.to_string(),
                    };
                    let problem = format!("`{}` is none of the values of the mode `{variable}`", shortened(&word));
                    let hint = format!(
                        "it may be one of {}; add it to `values`, or to `missing` below [data]",
                        values.join(", ")
                    );
                    return Err(self.fault(row, &title, problem, &hint));
                }
            }
        }
        let column = &mut self.columns[index];
        (column.values, column.kind, column.fault) = (places.into(), Kind::Number, None);
        Ok(())
    }

    /// A column whose every cell is a number or missing, or an error that names the first that is not.
    pub fn numbers(&self, names: &[String], key: &str) -> Result<&Column<'a>> {
        let column = self.expect(names, key)?;
        if let Some(CellFault { row, text, what }) = &column.fault {
            let hint = "correct the cell; or, if it stands for a missing value, add it to `missing` below [data]";
            return Err(self.fault(*row, &column.title, format!("{text} {what}"), hint));
        }
        if column.kind == Kind::Text {
            let word = column.words.first().map_or("", String::as_str);
            let row = column.values.iter().position(|value| value.is_finite()).unwrap_or(0);
            let hint = "name another column in the problem file; or, if the word stands for a missing value, add it to \
                        `missing` below [data]";
            return Err(self.fault(row, &column.title, format!("`{}` is not a number", shortened(word)), hint));
        }
        Ok(column)
    }
}

/// What to say of a column that a file lacks.
pub(super) fn missing_column(path: &Path, names: &[String], key: &str, titles: &[String]) -> Error {
    let name = names.first().map_or("", String::as_str);
    // Neither capitals nor units make a name another one.
    let lower: Vec<String> = titles.iter().map(|title| title.to_lowercase()).collect();
    let bare: Vec<String> = titles.iter().map(|title| split_unit(title).0.to_lowercase()).collect();
    let near = [&lower, &bare].into_iter().find_map(|names| {
        let near = nearest(&name.to_lowercase(), names)?;
        names.iter().position(|other| other == near).map(|index| titles[index].as_str())
    });
    let hint = match near {
        Some(near) => format!("is it the column `{near}`? then name it in the problem file: {key} = \"{near}\""),
        None => {
            let list: String = titles.join(", ").chars().take(300).collect();
            format!("the file has these columns: {list}; name one of them in the problem file: {key} = \"…\"")
        }
    };
    let called = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" or ");
    Error::Malformed {
        path: path.to_owned(),
        line: None,
        column: None,
        problem: format!("there is no column called {called}"),
        remedy: hint.into(),
    }
}

/// A word for a message: not too long, and on one line.
pub(super) fn shortened(text: &str) -> String {
    match text.chars().count() {
        0..=40 => text.escape_debug().to_string(),
        _ => format!("{}…", text.chars().take(40).collect::<String>().escape_debug()),
    }
}

/// A column's name and its unit: `temp[degC]` is `temp` in `degC`, and so is `temp (degC)`.
///
/// ```
/// use fpsrl_data::log::split_unit;
/// assert_eq!(split_unit("temp[degC]"), ("temp".into(), "degC".into()));
/// assert_eq!(split_unit("flow (m3/h)"), ("flow".into(), "m3/h".into()));
/// assert_eq!(split_unit("level"), ("level".into(), String::new()));
/// ```
pub fn split_unit(title: &str) -> (String, String) {
    for (open, close) in [('[', ']'), ('(', ')')] {
        if let Some(rest) = title.strip_suffix(close)
            && let Some((name, unit)) = rest.rsplit_once(open)
            && !name.trim().is_empty()
        {
            return (name.trim().to_owned(), unit.trim().to_owned());
        }
    }
    (title.to_owned(), String::new())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_follow_from_where_they_are_known() {
        let table = Table { lines: vec![(0, 3), (5, 9)], ..Table::default() };
        assert_eq!((0..7).map(|row| table.line(row).unwrap()).collect::<Vec<_>>(), [3, 4, 5, 6, 7, 9, 10]);
        assert_eq!(Table::default().line(0), None);
    }

    #[test]
    fn a_column_that_a_file_lacks_is_answered_with_the_nearest() {
        let titles = ["time".to_owned(), "level[m]".to_owned()];
        let error = missing_column("a.csv".as_ref(), &["levle".to_owned()], "column", &titles);
        assert_eq!(error.to_string(), "a.csv: there is no column called `levle`");
        let hint = error.hint().unwrap();
        assert!(hint.starts_with("is it the column `level[m]`?") && hint.contains("column = \"level[m]\""), "{hint}");
        let error = missing_column("a.csv".as_ref(), &["pressure".to_owned()], "column", &titles);
        assert!(error.hint().unwrap().contains("time, level[m]"));
    }
}
