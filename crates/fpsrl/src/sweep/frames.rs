//! Logs in memory, written once for all runs of a sweep.

use std::io::Write;
use std::path::{Path, PathBuf};

use fpsrl_base::disk;
use fpsrl_base::error::{Error, Result};
use fpsrl_base::files;

use crate::data::log::{Kind, Table};

/// A directory beside the runs: logs that were in memory.
pub(super) const LOGS: &str = "logs";

/// Writes tables in memory as CSV into the directory of a sweep, and returns the files; to the last bit, so that a run finds what
/// it would have found from memory. The name of a log stands in the names of its files. One that is there already with another
/// content is refused.
pub fn write_tables(directory: &Path, name: &str, tables: &[Table<'_>]) -> Result<Vec<PathBuf>> {
    let logs = directory.join(LOGS);
    disk::make_directories(&logs).map_err(|source| Error::write(&logs, source))?;
    let mut written = Vec::new();
    for (index, table) in tables.iter().enumerate() {
        let number = if tables.len() > 1 { format!("-{}", index + 1) } else { String::new() };
        let path = logs.join(format!("{name}{number}.csv"));
        let text = text(table)?;
        if disk::exists(&path).map_err(|source| Error::read(&path, source))? {
            if files::sha256(&path)? != files::sha256_of(&text) {
                let problem = "it holds another log than the one that was given".into();
                let remedy = "give another directory for runs on another log".into();
                return Err(Error::Mismatch { path, other: "the log".into(), problem, remedy });
            }
        } else {
            files::write_atomically(&path, |file| file.write_all(&text))?;
        }
        written.push(path);
    }
    Ok(written)
}

fn text(table: &Table<'_>) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let titles: Vec<String> = table.columns.iter().map(|column| quoted(&column.title)).collect();
    let mut line = titles.join(",");
    line.push('\n');
    out.extend(line.as_bytes());
    for row in 0..table.rows {
        for (index, column) in table.columns.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            let Some(value) = column.values.get(row).filter(|value| value.is_finite()) else { continue };
            let written = match (column.kind, column.words.get(*value as usize)) {
                (Kind::Text, Some(word)) => write!(out, "{}", quoted(word)),
                _ => write!(out, "{value:?}"),
            };
            written.map_err(|_| Error::Internal("a log has no form as text"))?;
        }
        out.push(b'\n');
    }
    Ok(out)
}

fn quoted(text: &str) -> String {
    let plain = !text.contains([',', ';', '"', '\n', '\r', '\t']);
    if plain { text.to_owned() } else { format!("\"{}\"", text.replace('"', "\"\"")) }
}
