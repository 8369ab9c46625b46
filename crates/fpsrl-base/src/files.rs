//! Files of a run: written whole or not at all, and refused by name when newer or broken.
//!
//! A file is written beside its target under another name, brought to the disk, and then renamed over the target; then the
//! new name is brought to the disk as well. Whoever reads meets either the old file or the new one; a full disk or a kill
//! leaves the old one untouched, and a loss of power takes nothing that was done before.

use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, IgnoredAny, IntoDeserializer, MapAccess, Visitor};
use sha2::{Digest, Sha256};

use crate::disk;
use crate::error::{Error, Result};
use crate::frame::is_frame;

/// The version of the problem file and of the run directory that this library writes.
pub const FORMAT: u64 = 1;

/// Writes a file atomically: `fill` writes the content, and only when all of it is on the disk does it take the name.
///
/// ```
/// use std::io::Write;
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("note.txt");
/// fpsrl_base::files::write_atomically(&path, |file| file.write_all(b"whole"))?;
/// assert_eq!(std::fs::read(&path)?, b"whole");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_atomically(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    prepare(path, fill)?.commit()
}

/// A file whose content is on the disk, and which only waits to take its name; dropped, it is gone.
///
/// Files that change together are prepared first: what can fail, fails before any of them has changed.
#[derive(Debug)]
#[must_use = "a prepared file is gone unless it is committed"]
pub struct Prepared {
    /// Where it is; none once it has its name.
    temporary: Option<PathBuf>,
    path: PathBuf,
    /// Held, so that nobody takes it for something that a kill has left.
    _file: disk::Writer,
}

impl Prepared {
    /// Puts the file in its place, for good: a loss of power does not undo it.
    pub fn commit(self) -> Result<()> {
        commit_all(vec![self])
    }

    /// Gives the file its name.
    fn place(&mut self) -> Result<()> {
        if let Some(temporary) = &self.temporary {
            disk::rename(temporary, &self.path).map_err(|source| Error::write(&self.path, source))?;
            self.temporary = None;
        }
        Ok(())
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            // What stays is in nobody's way, and the next command removes it.
            let _ = disk::remove(temporary);
        }
    }
}

/// Puts files in their places, one after the other, and then brings their names to the disk.
pub fn commit_all(mut prepared: Vec<Prepared>) -> Result<()> {
    prepared.iter_mut().try_for_each(Prepared::place)?;
    let mut synced: Vec<&Path> = Vec::new();
    for Prepared { path, .. } in &prepared {
        let directory = disk::parent(path);
        if !synced.contains(&directory) {
            disk::sync_directory(directory).map_err(|source| Error::write(path, source))?;
            synced.push(directory);
        }
    }
    Ok(())
}

/// Writes a file beside its place.
pub fn prepare(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<Prepared> {
    let attempt = || -> io::Result<Prepared> {
        let (temporary, file) = fresh(disk::parent(path), |path| {
            let file = disk::create(path)?;
            // Whoever cleans up may have come between.
            if file.hold() && disk::is_file(path) {
                return Ok(file);
            }
            let _ = disk::remove(path);
            Err(io::ErrorKind::AlreadyExists.into())
        })?;
        let mut prepared = Prepared { temporary: Some(temporary), path: path.to_owned(), _file: file };
        let mut writer = BufWriter::with_capacity(1 << 16, &mut prepared._file);
        fill(&mut writer)?;
        writer.flush()?;
        writer.get_ref().sync()?;
        drop(writer);
        Ok(prepared)
    };
    attempt().map_err(|source| Error::write(path, source))
}

/// Copies a file: the copy appears whole or not at all.
pub fn copy(from: &Path, to: &Path) -> Result<()> {
    let unread = |source| Error::read(from, source);
    let mut reader = disk::open(from).map_err(unread)?;
    let mut fault = None;
    let prepared = prepare(to, |file| {
        let mut buffer = vec![0; 1 << 16];
        loop {
            match reader.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(count) => file.write_all(&buffer[..count])?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    fault = Some(error);
                    return Err(io::ErrorKind::Other.into());
                }
            }
        }
    });
    match fault {
        Some(error) => Err(unread(error)),
        None => prepared?.commit(),
    }
}

/// A directory that is being filled beside its place; dropped, it is gone with all that is in it.
#[derive(Debug)]
#[must_use = "it is gone unless it is put in its place"]
pub struct Staging(Option<PathBuf>);

impl Staging {
    /// An empty directory in this one.
    pub fn within(directory: &Path) -> io::Result<Self> {
        fresh(directory, disk::make_new_directory).map(|(path, ())| Self(Some(path)))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.0.as_deref().unwrap_or(Path::new(""))
    }

    /// Gives the directory its name, for good. Its files must have been brought to the disk.
    pub fn place(mut self, whole: &Path) -> io::Result<()> {
        disk::rename(self.path(), whole)?;
        self.0 = None;
        disk::sync_directory(disk::parent(whole))
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            // What stays is in nobody's way, and the next command removes it.
            let _ = disk::remove_tree(path);
        }
    }
}

/// Makes something under a name that nobody has, and that tells what it is if a kill leaves it behind.
fn fresh<T>(directory: &Path, make: impl Fn(&Path) -> io::Result<T>) -> io::Result<(PathBuf, T)> {
    let mut tries = 0;
    loop {
        // Hash maps are seeded by the system; nothing that is computed hangs on this name.
        let chance = RandomState::new().build_hasher().finish();
        let path = directory.join(format!(".fpsrl-{chance:016x}.part"));
        match make(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && tries < 100 => tries += 1,
            made => return made.map(|made| (path, made)),
        }
    }
}

/// What a JSON file of a run looks like: the version first, then the content's own fields.
#[derive(Serialize)]
struct Versioned<'a, T> {
    format: u64,
    #[serde(flatten)]
    content: &'a T,
}

/// A value as the JSON text of a run's file, with its format version.
pub fn to_json<T: Serialize>(content: &T) -> Result<String> {
    let mut text = serde_json::to_string_pretty(&Versioned { format: FORMAT, content })
        .map_err(|_| Error::Internal("a value has no form in JSON"))?;
    text.push('\n');
    Ok(text)
}

/// Writes a value as JSON with its format version, atomically.
pub fn write_json<T: Serialize>(path: &Path, content: &T) -> Result<()> {
    prepare_json(path, content)?.commit()
}

/// Writes a value as JSON beside its place.
pub fn prepare_json<T: Serialize>(path: &Path, content: &T) -> Result<Prepared> {
    let text = to_json(content)?;
    prepare(path, |file| file.write_all(text.as_bytes()))
}

/// Reads what [`write_json`] wrote.
pub fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let bytes = disk::read(path).map_err(|source| Error::read(path, source))?;
    parse_json(&bytes, path)
}

/// Understands the text of a JSON file; `path` is named in messages.
pub fn parse_json<T: DeserializeOwned>(bytes: &[u8], path: &Path) -> Result<T> {
    #[derive(serde::Deserialize)]
    struct Version {
        format: u64,
    }
    // The version alone is looked at first: a newer file may have any other form.
    let version: Version = serde_json::from_slice(bytes).map_err(|error| broken(path, bytes, &error))?;
    if version.format > FORMAT {
        return Err(Error::NewerFormat { path: path.to_owned(), found: version.format, supported: FORMAT });
    }
    if version.format == 0 {
        return Err(Error::Malformed {
            path: path.to_owned(),
            line: None,
            column: None,
            problem: "format version 0 has never existed".into(),
            remedy: "run the stage that writes this file again".into(),
        });
    }
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let content = T::deserialize(WithoutFormat(&mut reader)).and_then(|content| reader.end().map(|()| content));
    content.map_err(|error| broken(path, bytes, &error))
}

/// Shows a JSON object without its `format`, so that types which refuse unknown fields need not know of it.
struct WithoutFormat<T>(T);

impl<'de, D: Deserializer<'de>> Deserializer<'de> for WithoutFormat<D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_map(WithoutFormat(visitor))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

impl<'de, V: Visitor<'de>> Visitor<'de> for WithoutFormat<V> {
    type Value = V::Value;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        self.0.expecting(formatter)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        self.0.visit_map(WithoutFormat(map))
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for WithoutFormat<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        while let Some(key) = self.0.next_key::<String>()? {
            if key != "format" {
                return seed.deserialize(key.into_deserializer()).map(Some);
            }
            self.0.next_value::<IgnoredAny>()?;
        }
        Ok(None)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.0.next_value_seed(seed)
    }
}

fn broken(path: &Path, bytes: &[u8], error: &serde_json::Error) -> Error {
    // Cut in the middle of a number, the number is what the reader complains of, on the last line that is there.
    let lines = bytes.split(|byte| *byte == b'\n').count();
    let cut = error.is_eof() || (error.is_syntax() && error.line() == lines && !bytes.trim_ascii_end().ends_with(b"}"));
    let text = error.to_string();
    // The reader ends its message with the place, which has its own room in ours.
    let problem = text.rsplit_once(" at line ").map_or(text.as_str(), |(problem, _)| problem);
    let problem = if cut { "the file ends too early: it is truncated".to_owned() } else { problem.to_owned() };
    Error::Malformed {
        path: path.to_owned(),
        line: (error.line() > 0).then_some(error.line() as u64),
        column: None,
        problem,
        remedy: "run the stage that writes this file again".into(),
    }
}

/// The SHA-256 of a file, in hexadecimal.
pub fn sha256(path: &Path) -> Result<String> {
    let read = |source| Error::read(path, source);
    let mut file = Hashed::new(disk::open(path).map_err(read)?);
    io::copy(&mut file, &mut io::sink()).map_err(read)?;
    Ok(file.sha256())
}

/// A reader that knows the digest of what went through it, so that a file which is read needs not be read again for its digest,
/// and both are of the same bytes.
#[derive(Debug)]
pub struct Hashed<R> {
    reader: R,
    hasher: Sha256,
}

impl<R: Read> Hashed<R> {
    /// Nothing has gone through it yet.
    pub fn new(reader: R) -> Self {
        Self { reader, hasher: Sha256::new() }
    }

    /// The SHA-256 of all that was read, in hexadecimal.
    pub fn sha256(self) -> String {
        hexadecimal(&self.hasher.finalize())
    }
}

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        self.hasher.update(&buffer[..count]);
        Ok(count)
    }
}

/// The SHA-256 of bytes, in hexadecimal.
pub fn sha256_of(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

fn hexadecimal(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Removes temporary files that killed processes left beside a file, and none that somebody is at work on. They are in
/// nobody's way, so a failure is no error.
pub fn remove_leftovers_beside(path: &Path) {
    let ours = |path: &PathBuf| path.file_name().and_then(|name| name.to_str()).is_some_and(is_leftover);
    for path in disk::entries(disk::parent(path)).into_iter().flatten().filter(ours) {
        if disk::is_file(&path) {
            let _ = disk::remove_abandoned(&path);
        }
    }
}

/// Whether a name is one of the temporary files that a kill may leave behind.
pub fn is_leftover(name: &str) -> bool {
    name.starts_with(".fpsrl-") && name.ends_with(".part")
}

/// A path for messages and file operations that an empty path would confuse. What stands for a table in memory stays as it
/// is.
pub fn absolute(path: &Path) -> PathBuf {
    if is_frame(path) {
        return path.to_owned();
    }
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// Numbers that may be -∞, which JSON cannot say: null stands for it.
pub mod infinite {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// Writes -∞ as null.
    pub fn serialize<S: Serializer>(values: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
        let values: Vec<Option<f64>> = values.iter().map(|value| value.is_finite().then_some(*value)).collect();
        values.serialize(serializer)
    }

    /// Reads null as -∞.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f64>, D::Error> {
        let values = Vec::<Option<f64>>::deserialize(deserializer)?;
        Ok(values.into_iter().map(|value| value.unwrap_or(f64::NEG_INFINITY)).collect())
    }
}

/// A number that may be unknown, which is NaN; null stands for it.
pub mod unknown {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// Writes what is not finite as null.
    pub fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        value.is_finite().then_some(*value).serialize(serializer)
    }

    /// Reads null as NaN.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        Ok(Option::deserialize(deserializer)?.unwrap_or(f64::NAN))
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Content {
        numbers: Vec<f64>,
        word: String,
    }

    fn content() -> Content {
        Content { numbers: vec![0.1, -0.0, 1e-300, f64::MAX], word: "ä\"".into() }
    }

    fn names(directory: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(directory).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn a_writer_that_fails_leaves_the_old_file_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("policy.json");
        write_atomically(&path, |file| file.write_all(b"old")).unwrap();
        let error = write_atomically(&path, |file| {
            file.write_all(&[b'x'; 200_000])?;
            Err(io::ErrorKind::StorageFull.into())
        })
        .unwrap_err();
        assert!(error.is_users());
        assert!(error.to_string().contains("policy.json cannot be written"), "{error}");
        assert!(error.hint().unwrap().contains("free some space"));
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        assert_eq!(names(directory.path()), ["policy.json"]);
    }

    #[test]
    fn what_a_kill_left_goes_and_what_is_being_written_stays() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("policy.json");
        std::fs::write(directory.path().join(".fpsrl-abc.part"), "half").unwrap();
        let prepared = prepare(&path, |file| file.write_all(b"whole")).unwrap();
        remove_leftovers_beside(&path);
        assert!(!names(directory.path()).contains(&".fpsrl-abc.part".to_owned()));
        prepared.commit().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"whole");
        drop(prepare(&path, |_| Ok(())).unwrap());
        assert_eq!(names(directory.path()), ["policy.json"]);
    }

    #[test]
    fn a_number_that_is_unknown_is_read_back() {
        #[derive(Serialize, Deserialize)]
        struct Error {
            #[serde(deserialize_with = "unknown::deserialize")]
            error: f64,
        }
        let read = |error: f64| parse_json::<Error>(to_json(&Error { error }).unwrap().as_bytes(), "a".as_ref());
        assert!(read(f64::NAN).unwrap().error.is_nan());
        assert_eq!(read(0.25).unwrap().error, 0.25);
    }

    #[test]
    fn a_copy_is_whole_and_what_cannot_be_read_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let [from, to] = ["from", "to"].map(|name| directory.path().join(name));
        std::fs::write(&from, vec![7; 200_000]).unwrap();
        copy(&from, &to).unwrap();
        assert_eq!(std::fs::read(&to).unwrap(), std::fs::read(&from).unwrap());
        assert!(matches!(copy(&directory.path().join("none"), &to), Err(Error::Read { .. })));
        assert!(matches!(copy(directory.path(), &to), Err(Error::Read { .. })));
        assert_eq!(std::fs::read(&to).unwrap().len(), 200_000);
    }

    #[test]
    fn a_directory_that_is_not_there_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let error = write_atomically(&directory.path().join("no/where"), |_| Ok(())).unwrap_err();
        assert!(matches!(error, Error::Write { .. }));
    }

    #[cfg(unix)]
    #[test]
    fn files_are_readable_by_whom_the_umask_allows() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let (ours, plain) = (directory.path().join("ours"), directory.path().join("plain"));
        write_atomically(&ours, |_| Ok(())).unwrap();
        std::fs::write(&plain, "").unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&ours), mode(&plain));
    }

    #[test]
    fn json_reads_back_to_the_same_bits_and_carries_its_version() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.json");
        write_json(&path, &content()).unwrap();
        assert!(std::fs::read_to_string(&path).unwrap().starts_with("{\n  \"format\": 1,\n"));
        let back: Content = read_json(&path).unwrap();
        assert_eq!(back, content());
        assert!(back.numbers[1].is_sign_negative());
    }

    #[test]
    fn a_number_that_is_unknown_reads_back_as_unknown() {
        #[derive(Serialize, Deserialize)]
        struct Share {
            #[serde(with = "unknown")]
            error: f64,
        }
        let back = |error: f64| -> f64 {
            let text = to_json(&Share { error }).unwrap();
            parse_json::<Share>(text.as_bytes(), "data.json".as_ref()).unwrap().error
        };
        assert!(back(f64::NAN).is_nan());
        assert_eq!(back(0.1), 0.1);
    }

    #[test]
    fn a_newer_file_is_refused_by_its_version_whatever_else_it_holds() {
        let error = parse_json::<Content>(b"{\"format\": 7, \"new\": []}", "w.json".as_ref()).unwrap_err();
        assert!(matches!(error, Error::NewerFormat { found: 7, supported: FORMAT, .. }));
    }

    #[test]
    fn every_truncation_is_refused_and_names_the_file() {
        let text = to_json(&content()).unwrap();
        for length in 0..text.trim_end().len() {
            let error = parse_json::<Content>(&text.as_bytes()[..length], "w.json".as_ref()).unwrap_err();
            assert!(error.to_string().starts_with("w.json"), "{error}");
            assert!(error.is_users() && error.hint().is_some());
        }
        let error = parse_json::<Content>(&text.as_bytes()[..40], "w.json".as_ref()).unwrap_err();
        assert_eq!(error.to_string(), "w.json, line 4: the file ends too early: it is truncated");
    }

    #[test]
    fn a_file_without_a_version_or_with_wrong_content_is_refused() {
        for text in ["{}", "[]", "{\"format\": 0}", "{\"format\": -1}", "{\"format\": 1}", "nonsense", "\u{0}"] {
            let error = parse_json::<Content>(text.as_bytes(), "w.json".as_ref()).unwrap_err();
            assert!(matches!(error, Error::Malformed { .. }), "{error}");
        }
    }

    #[test]
    fn sha256_gives_the_published_digest() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("abc");
        std::fs::write(&path, "abc").unwrap();
        assert_eq!(sha256(&path).unwrap(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert!(matches!(sha256(&directory.path().join("none")), Err(Error::Read { .. })));
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_the_reader_panic(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..100)) {
            let _ = parse_json::<Content>(&bytes, "w.json".as_ref());
        }
    }
}
