//! The layout of a text file, told from its beginning: separator, decimal sign, names, units, kinds of columns.

use std::path::Path;

use super::budget::{MOST_TITLES, too_wide};
use super::cell::{self, DateOrder};
use super::table::{Kind, shortened, split_unit};
use fpsrl_base::error::{Error, Result};

/// Separators that are looked for; of those that fit equally well, the first.
const SEPARATORS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// Rows that decide what a column holds.
const SAMPLE: usize = 500;

/// What the user says of a text file; what is missing is told from the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TextOptions {
    /// Between two cells.
    pub separator: Option<char>,
    /// Before the fraction of a number: a point or a comma.
    pub decimal: Option<char>,
    /// Words that stand for a missing value, besides the usual ones.
    pub missing: Vec<String>,
    /// Bytes of memory that reading a file may take, whatever its format; in proportion to its size if nothing is said.
    pub memory: Option<u64>,
}

/// How a text file is laid out.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Layout {
    pub(super) separator: u8,
    pub(super) decimal: u8,
    pub(super) titles: Vec<String>,
    pub(super) units: Vec<String>,
    pub(super) kinds: Vec<Kind>,
    pub(super) date_order: DateOrder,
    pub(super) missing: Vec<String>,
    /// Where the rows begin, in bytes and as a line.
    pub(super) begin: usize,
    pub(super) first_line: u64,
    pub(super) notes: Vec<String>,
}

/// An error about a text file.
pub(super) fn malformed(path: &Path, line: Option<u64>, problem: impl Into<String>, hint: &str) -> Error {
    Error::Malformed { path: path.to_owned(), line, column: None, problem: problem.into(), remedy: hint.into() }
}

impl Layout {
    /// Tells the layout from the beginning of a file; `whole` if that is all of it.
    pub(super) fn of(head: &[u8], whole: bool, options: &TextOptions, path: &Path) -> Result<Self> {
        let mark = head.starts_with(b"\xEF\xBB\xBF");
        let mut records = Records { bytes: head, at: if mark { 3 } else { 0 }, line: 1, whole };
        if head.iter().skip(records.at).all(u8::is_ascii_whitespace) {
            let hint = "the first line of a log holds the names of its columns, and each line after it a row";
            return Err(malformed(path, None, "the file is empty", hint));
        }
        refuse_what_is_no_text(head, path)?;
        // Remarks and blank lines before the header are not part of the table.
        let (header, header_line) = loop {
            let (line, number) = records.next().ok_or_else(|| match whole {
                true => {
                    malformed(path, None, "there is no line with the names of the columns", "add it as the first line")
                }
                false => {
                    let problem = format!("this line is longer than {} MB", head.len() >> 20);
                    let hint = "a log begins with the names of its columns, on one line; is this the right file?";
                    malformed(path, Some(records.line), problem, hint)
                }
            })?;
            if !line.trim_ascii().is_empty() && !line.starts_with(b"#") {
                break (line, number);
            }
        };
        let after_header = records.at;
        let sample: Vec<&[u8]> = std::iter::from_fn(|| records.next())
            .map(|(line, _)| line)
            .filter(|line| !line.trim_ascii().is_empty())
            .take(SAMPLE)
            .collect();
        let separator = match options.separator {
            Some(separator) => separator as u8,
            None => find_separator(header, &sample),
        };
        let titles = cells(header, separator);
        if titles.len() > MOST_TITLES {
            return Err(too_wide(path, "it", titles.len() as u64, MOST_TITLES));
        }
        let titles: Vec<String> = titles.iter().map(|cell| as_text(cell)).collect();
        if titles.iter().all(|title| cell::number(title.as_bytes(), b'.').is_some()) {
            let hint = "add a first line with the names of the columns";
            return Err(malformed(path, Some(header_line), "this line holds numbers instead of names", hint));
        }
        let mut rows: Vec<Vec<Vec<u8>>> = sample.iter().map(|line| cells(line, separator)).collect();
        let decimal = match options.decimal {
            Some(decimal) => decimal as u8,
            None => find_decimal(&rows, separator, path)?,
        };
        let mut layout = Self {
            separator,
            decimal,
            units: titles.iter().map(|title| split_unit(title).1).collect(),
            kinds: vec![Kind::Number; titles.len()],
            titles,
            date_order: DateOrder::default(),
            missing: options.missing.clone(),
            begin: after_header,
            first_line: header_line + 1,
            notes: Vec::new(),
        };
        if layout.has_unit_row(&rows) {
            let units = rows.remove(0);
            for (unit, cell) in layout.units.iter_mut().zip(&units).filter(|(_, cell)| !cell.is_empty()) {
                let text = as_text(cell);
                *unit = text.trim_matches(['[', ']', '(', ')']).trim().to_owned();
            }
            let mut skipped = Records { bytes: head, at: after_header, line: layout.first_line, whole };
            // The unit row is the first line after the header that is not blank.
            while let Some((line, number)) = skipped.next() {
                if !line.trim_ascii().is_empty() {
                    layout.begin = skipped.at;
                    layout.first_line = number + 1;
                    break;
                }
            }
            layout.notes.push(format!("line {} holds units", layout.first_line - 1));
        }
        layout.find_kinds(&rows);
        Ok(layout)
    }

    /// Whether the first row holds units: nothing in it is a number or a time, while the row after it has numbers.
    fn has_unit_row(&self, rows: &[Vec<Vec<u8>>]) -> bool {
        let is_value = |cell: &&Vec<u8>| {
            cell::number(cell, self.decimal).or(cell::flag(cell)).is_some()
                || cell::time(cell, DateOrder::DayFirst).is_some()
        };
        let (Some(first), Some(second)) = (rows.first(), rows.get(1)) else { return false };
        let words = |row: &[Vec<u8>]| row.iter().filter(|cell| !cell::is_missing(cell, &self.missing)).count();
        let values = second.iter().filter(is_value).count();
        first.len() == self.titles.len() && words(first) > 0 && !first.iter().any(|cell| is_value(&cell)) && values > 0
            // A column of words has a word there in both rows; units have none below them.
            && 2 * values > words(second)
    }

    fn find_kinds(&mut self, rows: &[Vec<Vec<u8>>]) {
        let mut undecided = false;
        for (index, kind) in self.kinds.iter_mut().enumerate() {
            let cells: Vec<&Vec<u8>> = rows
                .iter()
                .filter_map(|row| row.get(index))
                .filter(|cell| !cell::is_missing(cell, &self.missing))
                .collect();
            let numbers = cells
                .iter()
                .filter(|cell| {
                    cell::number(cell, self.decimal).is_some()
                        || cell::flag(cell).is_some()
                        || cell::is_infinite(cell, self.decimal)
                })
                .count();
            let dates = |order| cells.iter().filter(|cell| cell::time(cell, order).is_some()).count();
            let (day_first, month_first) = (dates(DateOrder::DayFirst), dates(DateOrder::MonthFirst));
            if cells.is_empty() || 2 * numbers >= cells.len() {
                continue;
            }
            if 2 * day_first.max(month_first) < cells.len() {
                *kind = Kind::Text;
                continue;
            }
            *kind = Kind::Time;
            match day_first.cmp(&month_first) {
                std::cmp::Ordering::Greater => self.date_order = DateOrder::DayFirst,
                std::cmp::Ordering::Less => self.date_order = DateOrder::MonthFirst,
                std::cmp::Ordering::Equal => {
                    let date = cells.first().and_then(|cell| std::str::from_utf8(cell).ok()).unwrap_or_default();
                    let date = date.split(['T', ' ']).next().unwrap_or_default();
                    let slashes =
                        cell::date_parts(date).is_some_and(|(_, year_first, sign)| !year_first && sign != '.');
                    undecided |= slashes;
                }
            }
        }
        if undecided {
            self.notes.push("dates do not tell whether day or month comes first; the month was taken".into());
        }
    }
}

/// Lines of a text, those within quotes joined.
struct Records<'a> {
    bytes: &'a [u8],
    at: usize,
    line: u64,
    whole: bool,
}

impl<'a> Records<'a> {
    fn next(&mut self) -> Option<(&'a [u8], u64)> {
        let rest = &self.bytes[self.at..];
        let (length, end) = match record_end(rest) {
            Some(end) => (end, end + 1),
            None if self.whole && !rest.is_empty() => (rest.len(), rest.len()),
            None => return None,
        };
        let number = self.line;
        self.line += 1 + rest[..length].iter().filter(|byte| **byte == b'\n').count() as u64;
        self.at += end;
        Some((rest[..length].strip_suffix(b"\r").unwrap_or(&rest[..length]), number))
    }
}

/// The first line break that is not within quotes.
pub(super) fn record_end(bytes: &[u8]) -> Option<usize> {
    let mut quoted = false;
    for at in memchr::memchr2_iter(b'"', b'\n', bytes) {
        match bytes[at] {
            b'"' => quoted = !quoted,
            _ if !quoted => return Some(at),
            _ => {}
        }
    }
    None
}

/// The cells of a line, without quotes and without the spaces around them.
pub(super) fn cells(line: &[u8], separator: u8) -> Vec<Vec<u8>> {
    let mut cells = Vec::new();
    let (mut begin, mut quoted) = (0, false);
    for at in 0..=line.len() {
        match line.get(at) {
            Some(b'"') => quoted = !quoted,
            Some(byte) if *byte == separator && !quoted => {
                cells.push(unquoted(&line[begin..at]));
                begin = at + 1;
            }
            None => cells.push(unquoted(&line[begin..])),
            _ => {}
        }
    }
    cells
}

/// A cell without the spaces and the quotes around it.
pub(super) fn unquoted(cell: &[u8]) -> Vec<u8> {
    let cell = cell.trim_ascii();
    match cell.strip_prefix(b"\"").and_then(|cell| cell.strip_suffix(b"\"")) {
        Some(inner) => {
            let mut text = Vec::with_capacity(inner.len());
            let mut bytes = inner.iter().peekable();
            while let Some(&byte) = bytes.next() {
                text.push(byte);
                if byte == b'"' && bytes.peek() == Some(&&b'"') {
                    bytes.next();
                }
            }
            text.trim_ascii().to_vec()
        }
        None => cell.to_vec(),
    }
}

fn as_text(cell: &[u8]) -> String {
    String::from_utf8_lossy(cell).trim().to_owned()
}

/// The separator that gives the header and the rows the same number of cells, and the most of them.
fn find_separator(header: &[u8], sample: &[&[u8]]) -> u8 {
    let score = |separator: u8| {
        let count = cells(header, separator).len();
        let agree = sample.iter().take(50).filter(|line| cells(line, separator).len() == count).count();
        (count > 1, 2 * agree >= sample.len().min(50), count)
    };
    // The last of equal maxima would win; the order is turned round for that.
    SEPARATORS.into_iter().rev().max_by_key(|separator| score(*separator)).unwrap_or(b',')
}

/// The decimal sign: a comma only if cells show it and none shows a point.
fn find_decimal(rows: &[Vec<Vec<u8>>], separator: u8, path: &Path) -> Result<u8> {
    let cells = || rows.iter().flatten();
    let fraction = |cell: &[u8], sign: u8| cell.contains(&sign) && cell::number(cell, sign).is_some();
    let commas = cells().filter(|cell| fraction(cell, b',')).count();
    let points = cells().filter(|cell| fraction(cell, b'.')).count();
    match (commas, points) {
        (0, _) => Ok(b'.'),
        (_, 0) => Ok(b','),
        // With commas between the cells, a comma within one was quoted on purpose: 1,234.5 has both signs in one cell.
        _ => {
            let example = cells().find(|cell| fraction(cell, b',')).map(|cell| as_text(cell)).unwrap_or_default();
            let _ = separator;
            Err(malformed(
                path,
                None,
                format!("some numbers have a comma (`{}`) and others a point", shortened(&example)),
                "say which one begins the fraction: decimal = \".\" or decimal = \",\" below [data]; and leave out signs \
                 between thousands",
            ))
        }
    }
}

/// Files that are not text at all get a name, so that the user knows what to do with them.
fn refuse_what_is_no_text(head: &[u8], path: &Path) -> Result<()> {
    if head.starts_with(b"\xFF\xFE") || head.starts_with(b"\xFE\xFF") {
        return Err(malformed(path, None, "this is text in UTF-16", "save it again as UTF-8"));
    }
    let sample = &head[..head.len().min(1 << 16)];
    let strange = sample.iter().filter(|byte| **byte < 32 && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c)).count();
    if strange > 0 && (sample.contains(&0) || 20 * strange > sample.len()) {
        let hint = "logs are read from CSV and TSV (also gzip), Parquet, HDF5 and npz files";
        return Err(malformed(path, None, "this is neither text nor a file of a known format", hint));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(text: &str) -> Layout {
        Layout::of(text.as_bytes(), true, &TextOptions::default(), "log.csv".as_ref()).unwrap()
    }

    #[test]
    fn the_separator_is_the_one_that_rows_agree_on() {
        assert_eq!(layout("a,b\n1,2\n").separator, b',');
        assert_eq!(layout("a;b\n1,5;2,5\n").separator, b';');
        assert_eq!(layout("a\tb, c\n1\t2\n").separator, b'\t');
        assert_eq!(layout("a|b\n1|2\n").separator, b'|');
    }

    #[test]
    fn a_decimal_comma_is_told_from_the_cells() {
        assert_eq!(layout("a;b\n1,5;2\n").decimal, b',');
        assert_eq!(layout("a;b\n1.5;2\n").decimal, b'.');
        assert_eq!(layout("a,b\n\"1,5\",2\n").decimal, b',');
        let options = TextOptions::default();
        let error = Layout::of(b"a;b\n1,5;2.5\n", true, &options, "log.csv".as_ref()).unwrap_err();
        assert!(error.to_string().contains("some numbers have a comma (`1,5`)"), "{error}");
        assert!(error.hint().unwrap().contains("decimal = "));
    }

    #[test]
    fn units_come_from_names_or_from_a_row_of_their_own() {
        let found = layout("# exported\ntime;temp[degC];flow\ns;;m3/h\n0;20,5;1\n1;20,6;1\n");
        assert_eq!(found.titles, ["time", "temp[degC]", "flow"]);
        assert_eq!(found.units, ["s", "degC", "m3/h"]);
        assert_eq!(found.first_line, 4);
        // A column of words is not a row of units.
        let found = layout("name,x\nfoo,1\nbar,2\n");
        assert_eq!(found.first_line, 2);
        assert_eq!(found.kinds, [Kind::Text, Kind::Number]);
    }

    #[test]
    fn kinds_are_told_from_most_cells() {
        let found = layout("t,when,batch,x,y\n1,2024-01-31 10:00,A,1,\n2,2024-01-31 10:01,A,ERR,\n3,,B,3,\n");
        assert_eq!(found.kinds, [Kind::Number, Kind::Time, Kind::Text, Kind::Number, Kind::Number]);
        assert_eq!(layout("when,x\n31/01/2024 10:00,1\n").date_order, DateOrder::DayFirst);
        assert_eq!(layout("when,x\n01/31/2024 10:00,1\n").date_order, DateOrder::MonthFirst);
        assert!(layout("when,x\n01/02/2024 10:00,1\n").notes[0].contains("the month was taken"));
    }

    #[test]
    fn what_is_no_table_is_refused_with_what_it_is() {
        let refused = |bytes: &[u8]| {
            let error = Layout::of(bytes, true, &TextOptions::default(), "log.csv".as_ref()).unwrap_err();
            (error.to_string(), error.hint().unwrap())
        };
        assert_eq!(refused(b"").0, "log.csv: the file is empty");
        assert_eq!(refused(b" \n\n").0, "log.csv: the file is empty");
        assert_eq!(refused(b"1,2\n3,4\n").0, "log.csv, line 1: this line holds numbers instead of names");
        assert!(refused(b"\xFF\xFEa\0").0.contains("UTF-16"));
        assert!(refused(b"\x00\x01\x02\x03").0.contains("neither text nor"));
    }
}
