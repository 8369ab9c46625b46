//! Logs as text: CSV, TSV and their relatives, in blocks that are parsed on all cores while the next one is being read.
//!
//! Memory is two blocks of text, and eight bytes for each cell of the columns that are asked for.

use std::io::{self, Read};
use std::path::Path;

use rayon::prelude::*;

use super::budget::{Budget, MOST_COLUMNS, of_rows, too_wide};
use super::cell;
use super::layout::{Layout, TextOptions, malformed, record_end, unquoted};
use super::table::{CellFault, Column, Kind, Table, shortened, split_unit};
use super::words::{self, Words};
use fpsrl_base::error::{Error, Result};

/// Bytes that are read and parsed together. No line is longer.
const BLOCK: usize = 8 << 20;

/// Bytes from which the layout is told.
const HEAD: usize = 1 << 20;

/// Distinct words of a column of text, at most: more are no names of batches but free text.
const MOST_WORDS: usize = 1_000_000;

/// Which columns are wanted, by title and by name without the unit.
pub(super) type Wanted<'a> = &'a dyn Fn(&str, &str) -> bool;

/// Reads a table. `advance` is called after each block, may say stop, and says what share of the file has been read.
pub(super) fn read(
    mut source: impl Read + Send,
    path: &Path,
    options: &TextOptions,
    wanted: Wanted<'_>,
    budget: &Budget,
    advance: &dyn Fn() -> Result<f64>,
) -> Result<Table<'static>> {
    let failed = |error: io::Error| {
        budget.told(|| match error.kind() {
            io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => malformed(
                path,
                None,
                format!("it cannot be unpacked: {error}"),
                "the file may have been cut off; copy it again",
            ),
            _ => Error::read(path, error),
        })
    };
    let mut current = Vec::with_capacity(BLOCK + 1);
    let mut ended = fill(&mut source, &mut current, HEAD).map_err(failed)?;
    let layout = Layout::of(&current, ended, options, path)?;
    current.drain(..layout.begin);

    let mut assembly = Assembly::new(&layout, wanted);
    if assembly.columns.len() > MOST_COLUMNS {
        return Err(too_wide(path, "it", assembly.columns.len() as u64, MOST_COLUMNS));
    }
    let mut line = layout.first_line;
    let mut line_is_open = false;
    loop {
        if !ended && current.len() < BLOCK {
            ended = fill(&mut source, &mut current, BLOCK).map_err(failed)?;
        }
        let quotes = memchr::memchr(b'"', &current).is_some();
        let end = if ended {
            line_is_open = current.last().is_some_and(|byte| *byte != b'\n');
            current.len()
        } else {
            match last_record_end(&current, quotes) {
                Some(end) => end,
                None => {
                    let problem = format!("this line is longer than {} MB", BLOCK >> 20);
                    let hint = "a log has a line for each row; is this the right file?";
                    return Err(malformed(path, Some(line), problem, hint));
                }
            }
        };
        let mut next = Vec::with_capacity(BLOCK + 1);
        next.extend_from_slice(&current[end..]);
        // While this block is parsed, the next one is read.
        let (parsed, read) = rayon::join(
            || parse(&current[..end], quotes, &layout, &assembly.slots),
            || if ended { Ok(true) } else { fill(&mut source, &mut next, BLOCK) },
        );
        // What was parsed stands beside what is kept of it until that has been taken over.
        let share = advance()?;
        let told = || "its rows take too much memory".to_owned();
        let passing = parsed.iter().map(Chunk::size).sum::<u64>() + (current.len() + next.len()) as u64;
        budget.take_so_far(passing, share, told)?;
        for chunk in parsed {
            if let Some((row_line, found)) = chunk.fault {
                let problem = format!("this row has {found} cells, and the header has {}", layout.titles.len());
                let hint = "every row needs a cell for each column; quote cells that hold the separator";
                return Err(malformed(path, Some(line + row_line), problem, hint));
            }
            let before = assembly.size();
            line += assembly.append(chunk, line);
            budget.take_so_far(assembly.size() - before, share, told)?;
            if let Some(column) = assembly.too_many_words() {
                let problem = format!("the column `{column}` has more than {MOST_WORDS} different words");
                return Err(malformed(path, None, problem, "name another column in the problem file"));
            }
        }
        budget.give_back(passing);
        if ended {
            break;
        }
        ended = read.map_err(failed)?;
        current = next;
    }
    let mut notes = layout.notes.clone();
    if line_is_open {
        notes.push(
            "the last line has no line break at its end: if the file was cut off there, its last cell is wrong".into(),
        );
    }
    if assembly.rows == 0 {
        let hint = "add the rows, or name another file";
        return Err(malformed(path, None, "there is no row below the header", hint));
    }
    let Assembly { mut columns, words, rows, lines, .. } = assembly;
    columns.iter_mut().zip(words).for_each(|(column, words)| column.words = words.into_list());
    Ok(Table { path: path.to_owned(), columns, rows, lines, titles: layout.titles, notes })
}

/// Reads until a buffer holds so many bytes; whether the source has ended.
fn fill(source: &mut impl Read, buffer: &mut Vec<u8>, size: usize) -> io::Result<bool> {
    let missing = size.saturating_sub(buffer.len()) as u64;
    Ok((source.take(missing).read_to_end(buffer)? as u64) < missing)
}

/// Behind the last line break that is not within quotes.
fn last_record_end(bytes: &[u8], quotes: bool) -> Option<usize> {
    if !quotes {
        return memchr::memrchr(b'\n', bytes).map(|at| at + 1);
    }
    let (mut quoted, mut last) = (false, None);
    for at in memchr::memchr2_iter(b'"', b'\n', bytes) {
        match bytes[at] {
            b'"' => quoted = !quoted,
            _ if !quoted => last = Some(at + 1),
            _ => {}
        }
    }
    last
}

/// What becomes of the cells of a column of the file.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Slot {
    Skip,
    /// The place among the columns that are kept.
    Keep(usize, Kind),
}

/// A part of a block, parsed.
#[derive(Default)]
struct Chunk {
    columns: Vec<Vec<f64>>,
    words: Vec<Words>,
    faults: Vec<Option<CellFault>>,
    rows: usize,
    lines: u64,
    /// Rows whose line does not follow from the row before: the row, and its line in this part.
    jumps: Vec<(usize, u64)>,
    /// The line of a row with the wrong number of cells, and that number.
    fault: Option<(u64, usize)>,
}

impl Chunk {
    /// Bytes of memory that it takes.
    fn size(&self) -> u64 {
        let cells = self.columns.iter().map(size_of_column).sum::<u64>();
        cells + 16 * self.jumps.len() as u64 + self.words.iter().map(size_of_words).sum::<u64>()
    }
}

/// Bytes that a column takes while it grows: what is left free of a long one is not taken before it is used.
fn size_of_column(column: &Vec<f64>) -> u64 {
    let long = column.capacity() > 1 << 15;
    8 * if long { column.len() } else { column.capacity() } as u64
}

fn size_of_words(words: &Words) -> u64 {
    words.list().iter().map(|word| words::cost(word.len())).sum()
}

/// Parses whole records on all cores; the parts come back in their order.
fn parse(bytes: &[u8], quotes: bool, layout: &Layout, slots: &[Slot]) -> Vec<Chunk> {
    // Each part has each column once more.
    let most = 1 + 200_000 / slots.len().max(1);
    let parts = (4 * rayon::current_num_threads()).min(1 + bytes.len() / (1 << 16)).min(most);
    let mut cuts = vec![0];
    let mut rest = 0;
    for part in 1..parts {
        let target = part * bytes.len() / parts;
        // Within quotes a line break ends nothing; records are then followed from the beginning.
        while rest < target {
            let end = match quotes {
                true => record_end(&bytes[rest..]).map(|end| rest + end),
                false => memchr::memchr(b'\n', &bytes[target..]).map(|end| target + end),
            };
            rest = end.map_or(bytes.len(), |end| end + 1);
        }
        cuts.push(rest);
    }
    cuts.push(bytes.len());
    cuts.par_windows(2).map(|cut| parse_part(&bytes[cut[0]..cut[1]], layout, slots)).collect()
}

fn parse_part(bytes: &[u8], layout: &Layout, slots: &[Slot]) -> Chunk {
    let kept = slots.iter().filter(|slot| **slot != Slot::Skip).count();
    let room = bytes.len() / (6 * slots.len().max(1)) + 16;
    let mut chunk = Chunk {
        columns: (0..kept).map(|_| Vec::with_capacity(room)).collect(),
        words: (0..kept).map(|_| Words::default()).collect(),
        faults: vec![None; kept],
        ..Chunk::default()
    };
    let Layout { separator, decimal, .. } = *layout;
    let missing = cell::missing_numbers(&layout.missing, decimal);
    let (mut at, mut line) = (0, 0);
    let mut expected_line = 0;
    while at < bytes.len() {
        // A blank line is no row.
        let blank = bytes[at..].iter().take_while(|byte| matches!(byte, b' ' | b'\r')).count();
        if separator != b' ' && matches!(bytes.get(at + blank), Some(b'\n') | None) {
            at += blank + 1;
            line += 1;
            continue;
        }
        if line != expected_line || chunk.rows == 0 {
            chunk.jumps.push((chunk.rows, line));
        }
        let mut lines_within = 0;
        let mut count = 0;
        loop {
            let slot = slots.get(count).copied().unwrap_or(Slot::Skip);
            let mut end = None;
            if let Slot::Keep(place, Kind::Number) = slot
                && let Some((value, length)) = cell::leading_number(&bytes[at..], decimal)
                && is_end(bytes.get(at + length).copied(), separator)
                && value.is_finite()
            {
                chunk.columns[place].push(if missing.contains(&value) { f64::NAN } else { value });
                end = Some(at + length);
            }
            let end = end.unwrap_or_else(|| {
                let end = cell_end(bytes, at, separator);
                let cell = &bytes[at..end];
                lines_within += cell.iter().filter(|byte| **byte == b'\n').count() as u64;
                if let Slot::Keep(place, kind) = slot {
                    let value = chunk.value(cell, place, kind, layout);
                    chunk.columns[place].push(value);
                }
                end
            });
            count += 1;
            if bytes.get(end) == Some(&separator) {
                at = end + 1;
                continue;
            }
            // A carriage return before the line break belongs to it.
            at = end + 1 + usize::from(bytes.get(end) == Some(&b'\r') && bytes.get(end + 1) == Some(&b'\n'));
            break;
        }
        // Some writers end each row, but not the header, with a separator.
        let closed = count == slots.len() + 1 && bytes[..at.min(bytes.len())].trim_ascii_end().ends_with(&[separator]);
        if count != slots.len() && !closed {
            chunk.fault = Some((line, count));
            return chunk;
        }
        chunk.rows += 1;
        line += 1 + lines_within;
        expected_line = line - lines_within;
    }
    chunk.lines = line;
    chunk
}

/// Whether a cell ends before this byte.
#[inline(always)]
fn is_end(byte: Option<u8>, separator: u8) -> bool {
    match byte {
        None | Some(b'\n') | Some(b'\r') => true,
        Some(byte) => byte == separator,
    }
}

/// Where a cell ends: at the separator or the line break after it, those within quotes passed over.
fn cell_end(bytes: &[u8], begin: usize, separator: u8) -> usize {
    let mut quoted = false;
    for (offset, &byte) in bytes[begin..].iter().enumerate() {
        match byte {
            b'"' => quoted = !quoted,
            b'\n' if !quoted => {
                let end = begin + offset;
                return if offset > 0 && bytes[end - 1] == b'\r' { end - 1 } else { end };
            }
            _ if byte == separator && !quoted => return begin + offset,
            _ => {}
        }
    }
    bytes.len()
}

impl Chunk {
    /// The number that stands for a cell, the slow way.
    fn value(&mut self, cell: &[u8], place: usize, kind: Kind, layout: &Layout) -> f64 {
        let cell = unquoted(cell);
        if cell::is_missing(&cell, &layout.missing) {
            return f64::NAN;
        }
        let value = match kind {
            Kind::Number => cell::number(&cell, layout.decimal).or_else(|| cell::flag(&cell)),
            Kind::Time => cell::time(&cell, layout.date_order),
            Kind::Text => return self.words[place].place(&cell) as f64,
        };
        if let Some(value) = value.filter(|value| value.is_finite()) {
            return value;
        }
        let what = match (kind, cell::is_infinite(&cell, layout.decimal)) {
            (Kind::Number, true) => "is not a finite number",
            (Kind::Number, false) => "is not a number",
            _ => "is not a point in time",
        };
        let row = self.rows;
        self.faults[place].get_or_insert_with(|| CellFault {
            row,
            text: format!("`{}`", shortened(&String::from_utf8_lossy(&cell))),
            what,
        });
        f64::NAN
    }
}

/// The columns so far.
struct Assembly {
    slots: Vec<Slot>,
    columns: Vec<Column<'static>>,
    words: Vec<Words>,
    rows: usize,
    lines: Vec<(usize, u64)>,
    /// Bytes of memory that the words take.
    word_size: u64,
}

impl Assembly {
    fn new(layout: &Layout, wanted: Wanted<'_>) -> Self {
        let (mut slots, mut columns) = (Vec::new(), Vec::new());
        for ((title, unit), kind) in layout.titles.iter().zip(&layout.units).zip(&layout.kinds) {
            let name = split_unit(title).0;
            if !wanted(title, &name) {
                slots.push(Slot::Skip);
                continue;
            }
            slots.push(Slot::Keep(columns.len(), *kind));
            columns.push(Column {
                name,
                unit: unit.clone(),
                title: title.clone(),
                kind: *kind,
                values: Vec::new().into(),
                words: Vec::new(),
                fault: None,
            });
        }
        let words = columns.iter().map(|_| Words::default()).collect();
        Self { slots, columns, words, rows: 0, lines: Vec::new(), word_size: 0 }
    }

    /// Bytes of memory that it takes.
    fn size(&self) -> u64 {
        of_rows(self.rows as u64, self.columns.len() as u64) + 16 * self.lines.len() as u64 + self.word_size
    }

    /// A column with more different words than names of batches can be.
    fn too_many_words(&self) -> Option<&str> {
        let place = self.words.iter().position(|words| words.len() > MOST_WORDS)?;
        Some(&self.columns[place].title)
    }

    /// Takes over a part; returns how many lines it had.
    fn append(&mut self, chunk: Chunk, first_line: u64) -> u64 {
        for (row, line) in &chunk.jumps {
            let (row, line) = (self.rows + row, first_line + line);
            let follows = self.lines.last().is_some_and(|(first, known)| known + (row - first) as u64 == line);
            if !follows {
                self.lines.push((row, line));
            }
        }
        let parts = chunk.columns.into_iter().zip(chunk.words).zip(chunk.faults);
        for ((column, words), ((values, found), fault)) in self.columns.iter_mut().zip(&mut self.words).zip(parts) {
            if column.kind == Kind::Text {
                let known = words.len();
                let places: Vec<f64> = found.list().iter().map(|word| words.place(word.as_bytes()) as f64).collect();
                self.word_size += words.list()[known..].iter().map(|word| words::cost(word.len())).sum::<u64>();
                let of = |value: f64| if value.is_nan() { value } else { places[value as usize] };
                column.values.to_mut().extend(values.into_iter().map(of));
            } else {
                column.values.to_mut().extend_from_slice(&values);
            }
            if column.fault.is_none() {
                column.fault = fault.map(|fault| CellFault { row: self.rows + fault.row, ..fault });
            }
        }
        self.rows += chunk.rows;
        chunk.lines
    }
}

#[cfg(test)]
mod tests {
    use fpsrl_base::progress::Progress;
    use proptest::prelude::*;

    use super::*;

    fn table_with(bytes: &[u8], options: &TextOptions) -> Result<Table<'static>> {
        let budget = Budget::new("log.csv".as_ref(), bytes.len() as u64, options.memory, &Progress::silent());
        read(bytes, "log.csv".as_ref(), options, &|_, _| true, &budget, &|| Ok(0.5))
    }

    fn table_of(bytes: &[u8]) -> Result<Table<'static>> {
        table_with(bytes, &TextOptions::default())
    }

    fn refused(text: &str) -> String {
        table_of(text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn quotes_blank_lines_and_carriage_returns_are_understood() {
        let text = "a,\"b, c\",note\r\n1,2,\"x\ny\"\r\n\r\n\"3\",4,\"\"\"q\"\"\"\r\n5,,z\r\n";
        let table = table_of(text.as_bytes()).unwrap();
        assert_eq!(table.titles, ["a", "b, c", "note"]);
        assert_eq!(*table.columns[0].values, [1.0, 3.0, 5.0]);
        assert_eq!(table.columns[1].values[..2], [2.0, 4.0]);
        assert!(table.columns[1].values[2].is_nan());
        assert_eq!(table.columns[2].words, ["x\ny", "\"q\"", "z"]);
        assert_eq!((table.line(0), table.line(1), table.line(2)), (Some(2), Some(5), Some(6)));
    }

    #[test]
    fn a_ragged_row_is_named_by_its_line() {
        assert_eq!(refused("a,b\n1,2\n\n3\n"), "log.csv, line 4: this row has 1 cells, and the header has 2");
        assert_eq!(refused("a,b\n1,2\n1,2,3\n"), "log.csv, line 3: this row has 3 cells, and the header has 2");
        assert_eq!(refused("a,b\n"), "log.csv: there is no row below the header");
        // A separator at the end of every row is a habit of some writers.
        assert_eq!(table_of(b"a,b\n1,2,\n3,4,\n").unwrap().rows, 2);
    }

    #[test]
    fn a_ragged_row_is_named_by_its_line_in_a_long_file_too() {
        let mut text = "a,b\n".to_owned();
        for row in 0..900_000 {
            text.push_str(if row == 777_777 { "1\n" } else { "1.25,2.5\n" });
        }
        assert!(refused(&text).starts_with("log.csv, line 777779: this row has 1 cells"));
    }

    #[test]
    fn the_first_cell_that_is_no_number_is_kept_for_the_message() {
        let table = table_of(b"a,b\n1,2\n1,oops\n1,later\n2,inf\n2,3\n2,3\n2,3\n").unwrap();
        let fault = table.columns[1].fault.clone().unwrap();
        assert_eq!((fault.row, fault.text.as_str(), fault.what), (1, "`oops`", "is not a number"));
        let error = table.numbers(&["b".into()], "column").unwrap_err();
        assert_eq!(error.to_string(), "log.csv, line 3, column `b`: `oops` is not a number");
        assert!(error.hint().unwrap().contains("`missing`"));
        let table = table_of(b"a,b\n1,2\n1,-inf\n").unwrap();
        assert!(table.numbers(&["b".into()], "column").unwrap_err().to_string().contains("is not a finite number"));
    }

    #[test]
    fn a_number_may_stand_for_a_missing_value() {
        let options = TextOptions { missing: vec!["-999".into(), "bad".into()], ..TextOptions::default() };
        let bytes = b"a,b\n1,-999\n-999.0,2\nbad,3\n4,5\n";
        let table = table_with(bytes.as_slice(), &options).unwrap();
        let lost = |column: usize| table.columns[column].values.iter().map(|value| value.is_nan()).collect::<Vec<_>>();
        assert_eq!((lost(0), lost(1)), (vec![false, true, true, false], vec![true, false, false, false]));
        assert!(table.columns.iter().all(|column| column.fault.is_none()));
    }

    #[test]
    fn a_line_without_an_end_is_refused_by_its_length() {
        let mut bytes = b"a,b\n1,2\n".to_vec();
        bytes.resize(BLOCK + HEAD, b'7');
        assert!(refused(std::str::from_utf8(&bytes).unwrap()).contains("line 3: this line is longer than 8 MB"));
    }

    #[test]
    fn words_and_columns_are_held_to_the_budget() {
        let many: String = (0..200_000).map(|row| format!("\n{row:x}w")).collect();
        let error = table_with(format!("word{many}\n").as_bytes(), &allowed(8_000_000)).unwrap_err();
        assert!(error.to_string().contains("its rows take too much memory"), "{error}");
        // Half of the file had been read.
        assert!(error.hint().unwrap().contains("`memory = "), "{:?}", error.hint());
        let table = table_of(format!("word{many}\n").as_bytes()).unwrap();
        assert_eq!((table.columns[0].words.len(), &table.columns[0].words[17]), (200_000, &"11w".to_owned()));
        let wide = |columns: usize| format!("a{}\n1{}\n", ",b".repeat(columns - 1), ",2".repeat(columns - 1));
        assert_eq!(table_of(wide(10_000).as_bytes()).unwrap().columns.len(), 10_000);
        assert!(refused(&wide(10_001)).contains("it has 10001 columns; at most 10000 are read"));
        assert!(refused(&wide(100_001)).contains("it has 100001 columns; at most 100000 are read"));
        assert!(refused(&"a,".repeat(HEAD)).contains("line 1: this line is longer than 1 MB"));
    }

    fn allowed(memory: u64) -> TextOptions {
        TextOptions { memory: Some(memory), ..TextOptions::default() }
    }

    #[test]
    fn words_keep_their_number_across_blocks() {
        let mut text = "batch,x\n".to_owned();
        for row in 0..200_000 {
            text.push_str(&format!("batch-{},{row}\n", row % 3));
        }
        let table = table_of(text.as_bytes()).unwrap();
        assert_eq!(table.columns[0].words, ["batch-0", "batch-1", "batch-2"]);
        assert!((0..200_000).all(|row| table.columns[0].values[row] == (row % 3) as f64));
        assert_eq!(table.lines, [(0, 2)]);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(
            bytes in prop::collection::vec(any::<u8>(), 0..300),
            text in "[a-c,;\"\n\r\t 0-9.eE+-]{0,200}",
        ) {
            let _ = table_of(&bytes);
            let _ = table_of(text.as_bytes());
            let _ = table_of(format!("a,b\n{text}").as_bytes());
        }

        #[test]
        fn numbers_come_back_to_the_last_bit_from_every_layout(
            rows in prop::collection::vec((prop::num::f64::NORMAL, prop::option::of(-1e6..1e6f64)), 1..50),
            separator in prop::sample::select(vec![',', ';', '\t', '|']),
            quoted in any::<bool>(),
            comma in any::<bool>(),
            ending in prop::sample::select(vec!["\n", "\r\n"]),
        ) {
            let comma = comma && separator != ',' ;
            let mut text = format!("x{separator}y{ending}");
            for (x, y) in &rows {
                let cell = |value: Option<f64>| {
                    let text = value.map_or(String::new(), |value| format!("{value:?}"));
                    let text = if comma { text.replace('.', ",") } else { text };
                    if quoted { format!("\"{text}\"") } else { text }
                };
                text.push_str(&format!("{}{separator}{}{ending}", cell(Some(*x)), cell(*y)));
            }
            let options = TextOptions { separator: Some(separator), ..TextOptions::default() };
            let table = table_with(text.as_bytes(), &options).unwrap();
            prop_assert_eq!(table.rows, rows.len());
            for (row, (x, y)) in rows.iter().enumerate() {
                prop_assert_eq!(table.columns[0].values[row].to_bits(), x.to_bits());
                prop_assert_eq!(table.columns[1].values[row].is_nan(), y.is_none());
                if let Some(y) = y {
                    prop_assert_eq!(table.columns[1].values[row].to_bits(), y.to_bits());
                }
            }
        }
    }
}
