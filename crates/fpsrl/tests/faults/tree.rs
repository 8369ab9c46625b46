//! What is in a directory, and what of it must be the same every time.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use fpsrl::files::is_leftover;
use serde_json::Value;

/// Files with their contents and directories, by their paths within the top.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub struct Tree {
    pub directories: BTreeSet<String>,
    pub files: BTreeMap<String, Vec<u8>>,
}

impl Tree {
    pub fn of(top: &Path) -> Self {
        let mut tree = Self::default();
        tree.walk(top, "");
        tree
    }

    fn walk(&mut self, directory: &Path, within: &str) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let name = format!("{within}{}", path.file_name().unwrap().to_str().unwrap());
            if path.is_dir() {
                self.walk(&path, &format!("{name}/"));
                self.directories.insert(name);
            } else {
                self.files.insert(name, fs::read(&path).unwrap());
            }
        }
    }

    /// Makes a directory hold this and nothing else.
    pub fn put(&self, top: &Path) {
        let _ = fs::remove_dir_all(top);
        fs::create_dir(top).unwrap();
        // A directory stands before what is in it.
        for directory in &self.directories {
            fs::create_dir(top.join(directory)).unwrap();
        }
        for (path, content) in &self.files {
            fs::write(top.join(path), content).unwrap();
        }
    }

    /// The same without what the clock says, and with the names of temporary files that chance does not choose.
    pub fn without_clock(&self) -> Self {
        let name = |path: &String| {
            let words = path.split('/').map(|word| if is_leftover(word) { ".fpsrl-0.part" } else { word });
            words.collect::<Vec<_>>().join("/")
        };
        let mut files = BTreeMap::new();
        for (path, content) in &self.files {
            let mut place = name(path);
            while files.contains_key(&place) {
                place.push('+');
            }
            files.insert(place, without_clock(path, content));
        }
        Self { directories: self.directories.iter().map(name).collect(), files }
    }

    /// What differs, in words.
    pub fn difference(&self, other: &Self) -> Option<String> {
        let mut differ: Vec<String> = Vec::new();
        let names: BTreeSet<&String> = self.files.keys().chain(other.files.keys()).collect();
        for name in names {
            match (self.files.get(name), other.files.get(name)) {
                (Some(_), None) => differ.push(format!("{name} is missing")),
                (None, Some(_)) => differ.push(format!("{name} is left over")),
                (one, another) if one != another => differ.push(format!("{name} is another one")),
                _ => {}
            }
        }
        let directories = self.directories.symmetric_difference(&other.directories);
        differ.extend(directories.map(|name| format!("the directory {name} is in one only")));
        (!differ.is_empty()).then(|| differ.join("; "))
    }
}

fn without_clock(path: &str, content: &[u8]) -> Vec<u8> {
    let name = path.rsplit('/').next().unwrap_or(path);
    // A column of times is compressed with all others; the same table stands beside it as text.
    if name == "table.parquet" {
        return Vec::new();
    }
    let Ok(text) = std::str::from_utf8(content) else { return content.to_vec() };
    if name.ends_with(".json") {
        // Half a file is as it is.
        let Ok(mut value) = serde_json::from_str::<Value>(text) else { return content.to_vec() };
        timeless(&mut value);
        return value.to_string().into_bytes();
    }
    match name {
        "search.csv" | "checkpoint.csv" => without_column(text, 4),
        "table.csv" => {
            let columns = text.lines().next().unwrap_or_default().split(',').count();
            without_column(text, columns.saturating_sub(2))
        }
        _ if name.ends_with(".html") => {
            const ROW: &str = "<th scope=\"row\">Time</th><td>";
            let parts = text.split(ROW).enumerate();
            let kept =
                parts.map(|(index, part)| if index == 0 { part } else { &part[part.find("</td>").unwrap_or(0)..] });
            kept.collect::<Vec<_>>().join(ROW).into_bytes()
        }
        _ => content.to_vec(),
    }
}

/// A table without a column of times; a cell in front of it that is quoted may hold a comma.
fn without_column(text: &str, column: usize) -> Vec<u8> {
    let row = |row: &str| {
        let cells: Vec<&str> = row.split(',').collect();
        let left = if row.starts_with('"') { cells.len().saturating_sub(2) } else { column };
        let kept = cells.iter().enumerate().filter(|(index, _)| *index != left).map(|(_, cell)| *cell);
        kept.collect::<Vec<_>>().join(",")
    };
    text.lines().map(row).collect::<Vec<_>>().join("\n").into_bytes()
}

/// Takes out times, and the digest of a table that has times in it.
fn timeless(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for clock in ["seconds", "search_sha256"] {
                fields.remove(clock);
            }
            fields.values_mut().for_each(timeless);
        }
        Value::Array(values) => values.iter_mut().for_each(timeless),
        _ => {}
    }
}
