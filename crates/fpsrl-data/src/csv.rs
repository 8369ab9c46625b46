//! Transitions as CSV: `episode,step,<states>,<actions>,next_<states>,reward`, and `terminated` where the log knows it.
//!
//! The file carries no version line, so that every spreadsheet and data-frame reader takes it as it is; the version
//! stands in the `problem.toml` beside it. Numbers are written with the fewest digits that read back to the same bits.
//! Reading is strict about what it needs and free about the rest: columns may stand in any order, and others than
//! those of the problem are ignored.

use std::io::{self, Read, Write};
use std::path::Path;

use csv::{ByteRecord, ReaderBuilder};

use super::Transitions;
use crate::System;
use fpsrl_base::disk;
use fpsrl_base::error::{Error, Result, nearest};
use fpsrl_base::files::{Hashed, write_atomically};

/// The column that says after which rows an episode was over.
pub(crate) const TERMINATED: &str = "terminated";

/// The column of a bootstrap draw that tells copies of a row apart from other rows.
const DRAWN_FROM: &str = "drawn_from";

/// What a header may have: each name takes memory and time that its few bytes do not show.
const MOST_COLUMNS: usize = 100_000;
const LONGEST_HEADER: usize = 1 << 20;

/// The columns of a problem's log, in the order in which they are written.
///
/// ```
/// let system = fpsrl_data::System::benchmark("mountain-car")?;
/// let header = fpsrl_data::csv::header(&system).join(",");
/// assert_eq!(header, "episode,step,position,velocity,force,next_position,next_velocity,reward");
/// # Ok::<(), fpsrl_base::Error>(())
/// ```
pub fn header(system: &System) -> Vec<String> {
    let states = || recorded(system).map(|(_, state)| state.name.clone());
    ["episode".to_owned(), "step".to_owned()]
        .into_iter()
        .chain(states())
        .chain(system.actions().iter().map(|action| action.name.clone()))
        .chain(states().map(|name| format!("next_{name}")))
        .chain(["reward".to_owned()])
        .collect()
}

/// The variables that stand in a file: what follows from others does not.
fn recorded(system: &System) -> impl Iterator<Item = (usize, &crate::system::StateVariable)> {
    system.states().iter().enumerate().filter(|(_, state)| !state.is_derived())
}

/// Writes transitions to a file, atomically.
pub fn write(path: &Path, system: &System, transitions: &Transitions) -> Result<()> {
    write_atomically(path, |file| write_to(file, system, transitions))
}

/// Writes transitions as text.
pub fn write_to(writer: &mut dyn Write, system: &System, transitions: &Transitions) -> io::Result<()> {
    let ended = if transitions.terminated.is_some() { ",terminated" } else { "" };
    let header = header(system);
    // A variable of that name keeps it.
    let drawn_from = transitions.drawn_from.as_ref().filter(|_| !header.iter().any(|name| name == DRAWN_FROM));
    let drawn = if drawn_from.is_some() { ",drawn_from" } else { "" };
    writeln!(writer, "{}{ended}{drawn}", header.join(","))?;
    let of = |columns: &'_ [Vec<f64>]| -> Vec<usize> {
        recorded(system).map(|(index, _)| index).filter(|index| *index < columns.len()).collect()
    };
    let columns: Vec<&[f64]> = of(&transitions.states)
        .into_iter()
        .map(|index| &transitions.states[index])
        .chain(&transitions.actions)
        .chain(of(&transitions.next_states).into_iter().map(|index| &transitions.next_states[index]))
        .chain([&transitions.rewards])
        .map(Vec::as_slice)
        .collect();
    // A line is put together first: formatting straight into a dynamic writer costs twice the time.
    let mut line = Vec::with_capacity(256);
    for row in 0..transitions.len() {
        line.clear();
        write!(line, "{},{}", transitions.episode[row], transitions.step[row])?;
        for column in &columns {
            write!(line, ",{:?}", column[row])?;
        }
        if let Some(terminated) = &transitions.terminated {
            write!(line, ",{}", u8::from(terminated[row]))?;
        }
        if let Some(origin) = drawn_from {
            write!(line, ",{}", origin[row])?;
        }
        line.push(b'\n');
        writer.write_all(&line)?;
    }
    Ok(())
}

/// Reads the transitions of a problem from a file.
pub fn read(path: &Path, system: &System) -> Result<Transitions> {
    read_hashed(path, system).map(|(transitions, _)| transitions)
}

/// The same, with the SHA-256 of the file: both are of the same bytes.
pub fn read_hashed(path: &Path, system: &System) -> Result<(Transitions, String)> {
    let mut file = Hashed::new(disk::open(path).map_err(|source| Error::read(path, source))?);
    let transitions = read_from(&mut file, path, system)?;
    Ok((transitions, file.sha256()))
}

/// Reads the transitions of a problem; `path` is named in messages.
///
/// ```
/// let system = fpsrl_data::System::benchmark("mountain-car")?;
/// let text = "reward,episode,step,position,velocity,force,next_position,next_velocity\n\
///             -1,0,0,0.5,0.1,fast,0.6,0.2\n";
/// let error = fpsrl_data::csv::read_from(text.as_bytes(), "log.csv".as_ref(), &system).unwrap_err();
/// assert_eq!(error.to_string(), "log.csv, line 2, column `force`: `fast` is not a number");
/// # Ok::<(), fpsrl_base::Error>(())
/// ```
pub fn read_from(reader: impl Read, path: &Path, system: &System) -> Result<Transitions> {
    let mut source = Source { reader, last: None };
    let mut reader =
        ReaderBuilder::new().has_headers(false).flexible(true).buffer_capacity(1 << 16).from_reader(&mut source);
    let fault = |line: Option<u64>, column: Option<&str>, problem: String, hint: &str| Error::Malformed {
        path: path.to_owned(),
        line,
        column: column.map(str::to_owned),
        problem,
        remedy: hint.into(),
    };
    let failed = |error: csv::Error| match error.into_kind() {
        csv::ErrorKind::Io(source) => Error::read(path, source),
        _ => fault(None, None, "this is not a CSV file".into(), "save the log as comma-separated text"),
    };

    let mut record = ByteRecord::new();
    if !reader.read_byte_record(&mut record).map_err(failed)? {
        let hint = format!("its first line must be: {}", header(system).join(","));
        return Err(fault(None, None, "the file is empty".into(), &hint));
    }
    if record.len() > MOST_COLUMNS || record.as_slice().len() > LONGEST_HEADER {
        let problem = format!("its first line has {} names in {} bytes", record.len(), record.as_slice().len());
        let hint = format!("at most {MOST_COLUMNS} names in {LONGEST_HEADER} bytes are read: is this the right file?");
        return Err(fault(Some(1), None, problem, &hint));
    }
    let found: Vec<String> = record.iter().enumerate().map(|(index, field)| column_name(index, field)).collect();
    let mut wanted = header(system);
    if found.iter().any(|name| name == TERMINATED) {
        wanted.push(TERMINATED.to_owned());
    }
    let places = wanted.iter().map(|name| place(name, &found, path)).collect::<Result<Vec<usize>>>()?;
    // Of a bootstrap draw. A variable of that name is a variable.
    let drawn =
        found.iter().position(|name| name == DRAWN_FROM).filter(|_| !wanted.iter().any(|name| name == DRAWN_FROM));

    let mut transitions = Transitions::new(system.states().len(), system.actions().len());
    transitions.carried = system.states().len() - system.current_states();
    transitions.inputs = system.input_count();
    let derived: Vec<bool> = system.states().iter().map(crate::system::StateVariable::is_derived).collect();
    let ending = wanted.len() - 1;
    transitions.terminated = (wanted[ending] == TERMINATED).then(Vec::new);
    transitions.drawn_from = drawn.map(|_| Vec::new());
    while reader.read_byte_record(&mut record).map_err(failed)? {
        let line = record.position().map(csv::Position::line);
        if record.len() != found.len() {
            let problem = format!("this row has {} fields, and the header has {}", record.len(), found.len());
            let hint = "every row needs a value for each column; the file may have been cut off";
            return Err(fault(line, None, problem, hint));
        }
        let field = |index: usize| record.get(places[index]).unwrap_or_default().trim_ascii();
        let wrong = |index: usize, what: &str| {
            let text = String::from_utf8_lossy(field(index));
            let text = match text.chars().count() {
                0 => "an empty field".to_owned(),
                1..=40 => format!("`{}`", text.escape_debug()),
                _ => format!("`{}…`", text.chars().take(40).collect::<String>().escape_debug()),
            };
            fault(line, Some(&wanted[index]), format!("{text} {what}"), "correct the value, or leave the row out")
        };
        let number = |index: usize| {
            let value: Option<f64> = std::str::from_utf8(field(index)).ok().and_then(|text| text.parse().ok());
            match value {
                Some(value) if value.is_finite() => Ok(value),
                Some(_) => Err(wrong(index, "is not a finite number")),
                None => Err(wrong(index, "is not a number")),
            }
        };
        let count = |index: usize| {
            let value: Option<u64> = std::str::from_utf8(field(index)).ok().and_then(|text| text.parse().ok());
            value.ok_or_else(|| wrong(index, "is not a whole number from 0 up"))
        };
        transitions.episode.push(count(0)?);
        transitions.step.push(count(1)?);
        let states = transitions.states.iter_mut().zip(&derived).filter(|(_, derived)| !**derived);
        let nexts = transitions.next_states.iter_mut().zip(&derived).filter(|(_, derived)| !**derived);
        let actions = transitions.actions.iter_mut();
        let numbers = states.map(|(column, _)| column).chain(actions).chain(nexts.map(|(column, _)| column));
        for (index, column) in numbers.chain([&mut transitions.rewards]).enumerate() {
            column.push(number(index + 2)?);
        }
        if let Some(terminated) = &mut transitions.terminated {
            terminated.push(match field(ending).to_ascii_lowercase().as_slice() {
                b"1" | b"true" | b"1.0" => true,
                b"0" | b"false" | b"0.0" => false,
                _ => return Err(wrong(ending, "is neither 0 nor 1")),
            });
        }
        if let (Some(origin), Some(drawn)) = (&mut transitions.drawn_from, drawn) {
            let text = std::str::from_utf8(record.get(drawn).unwrap_or_default().trim_ascii()).unwrap_or_default();
            let number = text.parse().map_err(|_| {
                let hint = "correct the value, or leave the column out of the file";
                fault(line, Some(DRAWN_FROM), "this is not the number of a row".into(), hint)
            });
            origin.push(number?);
        }
    }
    if transitions.is_empty() {
        let hint = "add the transitions, a row each";
        return Err(fault(None, None, "there is no row below the header".into(), hint));
    }
    let lines = reader.position().line();
    drop(reader);
    // A file that was cut off inside its last number would read as another number.
    if !matches!(source.last, Some(b'\n' | b'\r')) {
        let hint = "if the file is whole, add a line break at its end";
        return Err(fault(
            Some(lines),
            None,
            "the last line does not end: the file may have been cut off".into(),
            hint,
        ));
    }
    crate::history::derive(system, &mut transitions);
    Ok(transitions)
}

/// Remembers the last byte that went through it.
struct Source<R> {
    reader: R,
    last: Option<u8>,
}

impl<R: Read> Read for Source<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        if count > 0 {
            self.last = Some(buffer[count - 1]);
        }
        Ok(count)
    }
}

fn column_name(index: usize, field: &[u8]) -> String {
    // Spreadsheets begin a file with a byte order mark.
    let field = if index == 0 { field.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(field) } else { field };
    String::from_utf8_lossy(field).trim().to_owned()
}

/// Where a column stands.
fn place(name: &str, found: &[String], path: &Path) -> Result<usize> {
    let fault = |problem: String, hint: String| {
        Err(Error::Malformed { path: path.to_owned(), line: Some(1), column: None, problem, remedy: hint.into() })
    };
    let mut places = (0..found.len()).filter(|&index| found[index] == name);
    match (places.next(), places.next()) {
        (Some(place), None) => Ok(place),
        (Some(_), Some(_)) => fault(format!("there are two columns called `{name}`"), "rename one of them".into()),
        (None, _) => fault(
            format!("there is no column called `{name}`"),
            match nearest(name, found) {
                Some(near) => format!("is it the column `{near}`? then rename it to `{name}`"),
                None if found.len() == 1 && found[0].contains([';', '\t']) => {
                    "separate the columns with commas, and write numbers with a point".into()
                }
                None => {
                    let names: String = found.join(", ").chars().take(200).collect();
                    format!("the file has these columns: {names}")
                }
            },
        ),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn system() -> System {
        System::benchmark("mountain-car").unwrap()
    }

    fn parse(text: &str) -> Result<Transitions> {
        read_from(text.as_bytes(), "log.csv".as_ref(), &system())
    }

    fn refused(text: &str) -> (String, String) {
        let error = parse(text).unwrap_err();
        assert!(error.is_users());
        (error.to_string(), error.hint().unwrap())
    }

    const HEADER: &str = "episode,step,position,velocity,force,next_position,next_velocity,reward\n";

    #[test]
    fn columns_may_stand_in_any_order_among_others() {
        let text = "\u{feff}reward, step,note,position,velocity,force,next_position,next_velocity,episode\r\n\
                    -1,4,hello,0.5,0.25,1,0.75,0.125, 3\r\n";
        let transitions = parse(text).unwrap();
        assert_eq!(transitions.episode, [3]);
        assert_eq!(transitions.step, [4]);
        assert_eq!(transitions.states, [[0.5], [0.25]]);
        assert_eq!(transitions.actions, [[1.0]]);
        assert_eq!(transitions.next_states, [[0.75], [0.125]]);
        assert_eq!(transitions.rewards, [-1.0]);
    }

    #[test]
    fn a_missing_column_is_answered_with_the_nearest() {
        let (message, hint) = refused("episode,step,positon,velocity,force,next_position,next_velocity,reward\n");
        assert_eq!(message, "log.csv, line 1: there is no column called `position`");
        assert_eq!(hint, "is it the column `positon`? then rename it to `position`");
        let (_, hint) = refused("episode;step;position\n0;0;1\n");
        assert!(hint.contains("commas"), "{hint}");
        let (message, _) = refused(&HEADER.replace("force", "force,force"));
        assert!(message.contains("two columns called `force`"));
    }

    #[test]
    fn a_header_is_held_to_what_can_be_one() {
        let (message, hint) = refused(&format!("{}{HEADER}", "a,".repeat(100_000)));
        assert_eq!(message, "log.csv, line 1: its first line has 100008 names in 100064 bytes");
        assert!(hint.contains("at most 100000 names"), "{hint}");
        assert!(refused(&"a".repeat(2 << 20)).0.contains("1 names in 2097152 bytes"));
    }

    #[test]
    fn values_that_are_no_numbers_are_named_with_their_place() {
        let row = |force: &str| refused(&format!("{HEADER}0,0,0,0,1,0,0,-1\n0,1,0,0,{force},0,0,-1\n")).0;
        assert_eq!(row("fast"), "log.csv, line 3, column `force`: `fast` is not a number");
        assert_eq!(row("NaN"), "log.csv, line 3, column `force`: `NaN` is not a finite number");
        assert_eq!(row("-inf"), "log.csv, line 3, column `force`: `-inf` is not a finite number");
        assert_eq!(row("1e999"), "log.csv, line 3, column `force`: `1e999` is not a finite number");
        assert_eq!(row(""), "log.csv, line 3, column `force`: an empty field is not a number");
        let (message, _) = refused(&format!("{HEADER}0.5,0,0,0,1,0,0,-1\n"));
        assert_eq!(message, "log.csv, line 2, column `episode`: `0.5` is not a whole number from 0 up");
    }

    #[test]
    fn ragged_empty_and_truncated_files_are_refused() {
        let (message, _) = refused(&format!("{HEADER}0,0,0,0,1,0,0\n"));
        assert_eq!(message, "log.csv, line 2: this row has 7 fields, and the header has 8");
        assert_eq!(refused("").0, "log.csv: the file is empty");
        assert_eq!(refused(HEADER).0, "log.csv: there is no row below the header");
        let (message, hint) = refused(&format!("{HEADER}0,0,0,0,1,0,0,-1\n0,1,0,0,1,0,0,-0.5"));
        assert_eq!(message, "log.csv, line 3: the last line does not end: the file may have been cut off");
        assert!(hint.contains("line break"));
    }

    #[test]
    fn every_truncation_inside_the_rows_is_noticed() {
        let text = format!("{HEADER}0,0,0.5,0,1,0,0,-1.25\n");
        for length in 0..text.len() {
            assert!(parse(&text[..length]).is_err(), "{length}");
        }
        assert!(parse(&text).is_ok());
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let error = read("no/log.csv".as_ref(), &system()).unwrap_err();
        assert!(error.to_string().starts_with("no/log.csv cannot be read"));
    }

    /// Every finite number, not only the likely ones.
    fn numbers() -> impl Strategy<Value = f64> {
        any::<u64>().prop_map(f64::from_bits).prop_filter("finite", |number| number.is_finite())
    }

    proptest! {
        #[test]
        fn transitions_read_back_to_the_same_bits(
            rows in proptest::collection::vec((any::<u64>(), any::<u64>(), proptest::array::uniform6(numbers())), 1..20)
        ) {
            let mut transitions = Transitions::new(2, 1);
            for (episode, step, values) in rows {
                transitions.episode.push(episode);
                transitions.step.push(step);
                transitions.states[0].push(values[0]);
                transitions.states[1].push(values[1]);
                transitions.actions[0].push(values[2]);
                transitions.next_states[0].push(values[3]);
                transitions.next_states[1].push(values[4]);
                transitions.rewards.push(values[5]);
            }
            let mut text = Vec::new();
            write_to(&mut text, &system(), &transitions).unwrap();
            let back = read_from(text.as_slice(), "log.csv".as_ref(), &system()).unwrap();
            let bits = |t: &Transitions| -> Vec<u64> {
                let columns = t.states.iter().chain(&t.actions).chain(&t.next_states).chain([&t.rewards]);
                columns.flatten().map(|number| number.to_bits()).collect()
            };
            prop_assert_eq!(bits(&back), bits(&transitions));
            prop_assert_eq!(back, transitions);
        }

        #[test]
        fn no_bytes_make_the_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = read_from(bytes.as_slice(), "log.csv".as_ref(), &system());
            let mut text = HEADER.as_bytes().to_vec();
            text.extend_from_slice(&bytes);
            let _ = read_from(text.as_slice(), "log.csv".as_ref(), &system());
        }
    }

    /// A budget, not a benchmark: an accidental quadratic or a slow path would miss it by far.
    #[test]
    fn a_large_log_is_written_and_read_fast() {
        let rows = 100_000;
        let mut transitions = Transitions::new(2, 1);
        for row in 0..rows {
            transitions.episode.push(row / 200);
            transitions.step.push(row % 200);
            let value = (row as f64).sin();
            for column in transitions.states.iter_mut().chain(&mut transitions.actions) {
                column.push(value);
            }
            for column in &mut transitions.next_states {
                column.push(value * 1.01);
            }
            transitions.rewards.push(-1.0);
        }
        let begin = std::time::Instant::now();
        let mut text = Vec::new();
        write_to(&mut text, &system(), &transitions).unwrap();
        let back = read_from(text.as_slice(), "log.csv".as_ref(), &system()).unwrap();
        assert_eq!(back, transitions);
        let seconds = begin.elapsed().as_secs_f64();
        eprintln!("{rows} rows written and read in {seconds:.3} s");
        assert!(seconds < 5.0, "{seconds} s");
    }
}
