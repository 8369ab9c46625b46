//! What a target is given: a file by its name, and what stands in it.

use std::path::Path;

/// A file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// Its name within the target; its ending says how it is changed.
    pub name: String,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// How a file is taken apart to be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A document of tables.
    Toml,
    /// A document of objects.
    Json,
    /// Words and lines.
    Text,
    /// Text, packed.
    Gzip,
    /// Arrays with headers, packed.
    Npz,
    /// Pages and a footer, each described by a tree.
    Parquet,
    /// Blocks with checksums.
    Hdf5,
}

impl Input {
    /// A file of a name.
    pub fn new(name: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self { name: name.into(), bytes: bytes.into() }
    }

    /// How it is changed.
    pub fn form(&self) -> Form {
        let ending = Path::new(&self.name).extension().map(|ending| ending.to_string_lossy().into_owned());
        match ending.as_deref() {
            Some("toml") => Form::Toml,
            Some("json") => Form::Json,
            Some("gz") => Form::Gzip,
            Some("npz") => Form::Npz,
            Some("parquet") => Form::Parquet,
            Some("h5") => Form::Hdf5,
            _ => Form::Text,
        }
    }

    /// Whether it is a document of its form; text always is.
    pub fn is_document(&self) -> bool {
        match self.form() {
            Form::Toml => std::str::from_utf8(&self.bytes).is_ok_and(|text| text.parse::<toml::Table>().is_ok()),
            Form::Json => serde_json::from_slice::<serde_json::Value>(&self.bytes).is_ok(),
            _ => true,
        }
    }
}
