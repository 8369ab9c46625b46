//! What is in a directory, without what the clock says.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The files below a directory with their contents, clocks taken out.
#[derive(Debug, PartialEq)]
pub struct Tree(BTreeMap<PathBuf, Vec<u8>>);

impl Tree {
    pub fn of(directory: &Path) -> Result<Self, String> {
        let mut files = BTreeMap::new();
        walk(directory, directory, &mut files).map_err(|error| format!("{}: {error}", directory.display()))?;
        Ok(Self(files))
    }

    /// What differs, in words.
    pub fn same(&self, other: &Self) -> Result<(), String> {
        let mut differ = Vec::new();
        for (path, content) in &self.0 {
            match other.0.get(path) {
                None => differ.push(format!("{} is missing", path.display())),
                Some(found) if found != content => differ.push(format!("{} is another one", path.display())),
                Some(_) => {}
            }
        }
        let more = other.0.keys().filter(|path| !self.0.contains_key(*path));
        differ.extend(more.map(|path| format!("{} is left over", path.display())));
        if differ.is_empty() { Ok(()) } else { Err(differ.join("; ")) }
    }
}

fn walk(top: &Path, directory: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        let name = path.strip_prefix(top).unwrap_or(&path).to_owned();
        if path.is_dir() {
            // One that is empty may be left over as well.
            files.insert(name.join(""), Vec::new());
            walk(top, &path, files)?;
        } else {
            let content = without_clock(&name, std::fs::read(&path)?);
            files.insert(name, content);
        }
    }
    Ok(())
}

/// The content of a file without what the clock says: times in figures, and in pages and tables of them.
fn without_clock(name: &Path, content: Vec<u8>) -> Vec<u8> {
    let file = name.file_name().unwrap_or_default().to_string_lossy().into_owned();
    // A column of times is compressed with all others; the same table stands beside it as text.
    if file.ends_with(".parquet") {
        return Vec::new();
    }
    let Ok(text) = String::from_utf8(content) else { return b"not text".to_vec() };
    let text = match file.as_str() {
        "search.csv" => without_column(&text, |_| 4),
        "table.csv" => without_column(&text, |cells| cells - 2),
        _ if file.ends_with(".json") => without_seconds(&text),
        _ if file.ends_with(".html") => without_times(&text),
        _ => text,
    };
    text.into_bytes()
}

/// A table without one column; cells that are quoted hold commas of their own, but only in front of the clock's.
fn without_column(text: &str, which: impl Fn(usize) -> usize) -> String {
    let row = |row: &str| {
        let cells: Vec<&str> = row.split(',').collect();
        let left = which(cells.len());
        let kept = cells.iter().enumerate().filter(|(index, _)| *index != left).map(|(_, cell)| *cell);
        kept.collect::<Vec<_>>().join(",") + "\n"
    };
    text.lines().map(row).collect()
}

/// JSON as we write it, a value a line, without `seconds`, be it a number or an object.
fn without_seconds(text: &str) -> String {
    let mut kept = String::new();
    let mut until = None;
    for line in text.lines() {
        match until {
            Some(indent) => {
                if line.len() - line.trim_start().len() == indent {
                    until = None;
                }
            }
            // The record of a search has its times in it.
            None if line.trim_start().starts_with("\"search_sha256\":") => {}
            // The last run of a sweep has all threads to itself.
            None if line.trim_start().starts_with("\"threads\":") => {}
            None if line.trim_start().starts_with("\"seconds\":") => {
                if line.ends_with('{') {
                    until = Some(line.len() - line.trim_start().len());
                }
            }
            None => {
                kept.push_str(line);
                kept.push('\n');
            }
        }
    }
    kept
}

/// A page without its row of times.
fn without_times(text: &str) -> String {
    const ROW: &str = "<th scope=\"row\">Time</th><td>";
    match text.split_once(ROW) {
        None => text.to_owned(),
        Some((before, after)) => {
            let rest = after.find("</td>").map_or(after, |end| &after[end..]);
            format!("{before}{ROW}{}", without_times(rest))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_clock_is_taken_out() {
        let json = "{\n  \"seconds\": 0.5,\n  \"a\": 1,\n  \"seconds\": {\n    \"fit\": 1\n  },\n  \"b\": {\n    \"c\": 2\n  }\n}\n";
        assert_eq!(without_seconds(json), "{\n  \"a\": 1,\n  \"b\": {\n    \"c\": 2\n  }\n}\n");
        let page = "<th scope=\"row\">Time</th><td>fit 1 s</td><p>2</p>";
        assert_eq!(without_times(page), "<th scope=\"row\">Time</th><td></td><p>2</p>");
        let name = Path::new("run/search.csv");
        assert_eq!(without_clock(name, b"0,1,2,3,0.5,6\n".to_vec()), b"0,1,2,3,6\n");
        assert_ne!(without_clock(name, b"0,1,2,3,0.5,6\n".to_vec()), without_clock(name, b"0,1,2,4,0.5,6\n".to_vec()));
    }

    #[test]
    fn what_is_missing_other_or_left_over_is_named() {
        let tree = |files: &[(&str, &str)]| {
            Tree(files.iter().map(|(path, text)| (PathBuf::from(path), text.as_bytes().to_vec())).collect())
        };
        let told = tree(&[("a", "1"), ("b", "1")]).same(&tree(&[("b", "2"), ("c", "1")])).unwrap_err();
        assert_eq!(told, "a is missing; b is another one; c is left over");
        assert!(tree(&[("a", "1")]).same(&tree(&[("a", "1")])).is_ok());
    }
}
