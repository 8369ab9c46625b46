//! HDF5 in two layouts: Minari's, a group `episode_N` for each episode, and D4RL's, long arrays side by side.
//!
//! The file's reader runs in a thread of its own: kinds of elements may be nested in each other as deep as a message is
//! long, and following them takes more stack than a caller may have.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};

use hdf5_pure::{DType, Dataset, File, FormatError, Group, Source};

use super::arrays::{self, NamedArray, Widths};
use super::budget::{Budget, MOST_COLUMNS, of_cells, of_rows, too_wide};
use super::layout::malformed;
use super::table::{Column, Table};
use super::text::Wanted;
use fpsrl_base::error::{Error, Result};
use fpsrl_base::foreign::guarded;
use fpsrl_base::progress::{Progress, Stage, Status};

/// Stack of the thread that reads; what is not used of it takes no memory.
const STACK: usize = 256 << 20;

/// Bytes of an array that are unpacked together, at least.
const PART: u64 = 4 << 20;

/// Parts of an array, at most: each looks through the list of all chunks.
const PARTS: u64 = 64;

/// Bytes that the record of a chunk takes in memory.
const CHUNK: u64 = 192;

/// What is asked of whoever wants columns: which of these titles.
type Choose<'a> = &'a dyn Fn(&[String]) -> Vec<bool>;

/// Reads either layout.
pub(super) fn read(
    path: &Path,
    file: std::fs::File,
    wanted: Wanted<'_>,
    budget: &Budget,
    progress: &Progress,
) -> Result<Table<'static>> {
    let (ask, asked) = mpsc::channel::<Vec<String>>();
    let (answer, answered) = mpsc::channel();
    let read = std::thread::scope(|scope| {
        let work = move || {
            let choose = |titles: &[String]| match ask.send(titles.to_vec()) {
                Ok(()) => answered.recv().unwrap_or_default(),
                Err(_) => Vec::new(),
            };
            guarded(|| contents(path, file, &choose, budget, progress))
        };
        let thread = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work);
        let thread = thread.map_err(|source| Error::read(path, source))?;
        // It ends with the thread, which holds the other end.
        for titles in asked {
            let _ = answer.send(titles.iter().map(|title| wanted(title, title)).collect());
        }
        let done = thread.join().unwrap_or_else(|_| Err("its parts contradict each other".into()));
        done.unwrap_or_else(|panic| Err(budget.told(|| broken(path, &panic))))
    });
    match read? {
        Contents::Episodes(parts) => parts.table(path, budget),
        Contents::Arrays(arrays) => arrays::table(path, arrays, wanted, "the file", budget),
    }
}

fn broken(path: &Path, problem: &str) -> Error {
    let hint = "the file may have been cut off; copy it again";
    malformed(path, None, format!("it cannot be read as HDF5: {problem}"), hint)
}

/// What a file holds.
enum Contents {
    Episodes(Parts),
    Arrays(Vec<NamedArray>),
}

/// What went wrong: by our own judgement, or by that of the file's reader.
enum Trouble {
    Ours(Error),
    Theirs(hdf5_pure::Error),
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Trouble::Ours(error)
    }
}

impl From<hdf5_pure::Error> for Trouble {
    fn from(error: hdf5_pure::Error) -> Self {
        Trouble::Theirs(error)
    }
}

fn contents(
    path: &Path,
    file: std::fs::File,
    choose: Choose<'_>,
    budget: &Budget,
    progress: &Progress,
) -> Result<Contents> {
    let failed = |error: hdf5_pure::Error| budget.told(|| broken(path, &error.to_string()));
    let reads = Arc::new(Reads::new(path, budget));
    let file = File::from_source(Watched { file: Mutex::new(file), reads: Arc::clone(&reads) }).map_err(failed)?;
    let root = file.root();
    reads.begin();
    let mut episodes: Vec<(u64, String, Group)> = root
        .iter_groups()
        .map_err(failed)?
        .filter_map(|(name, group)| Some((name.strip_prefix("episode_")?.parse().ok()?, name, group)))
        .collect();
    episodes.sort_by(|one, other| (one.0, &one.1).cmp(&(other.0, &other.1)));
    let reader = Reader { path, budget, reads: &reads, choose };
    if episodes.is_empty() {
        return reader.flat(&root).map(Contents::Arrays);
    }
    let mut parts = Parts::default();
    progress.begin(Stage::Import, episodes.len() as u64);
    for (done, (number, name, group)) in episodes.iter().enumerate() {
        budget.go_on()?;
        reader.append(&mut parts, *number, name, group)?;
        progress.update(Stage::Import, done as u64, Status::Counting);
    }
    Ok(Contents::Episodes(parts))
}

/// Bytes that were read of a file, held to its size: its parts may refer to each other in circles.
struct Reads {
    path: std::path::PathBuf,
    budget: Budget,
    all: AtomicU64,
    count: AtomicU64,
    /// Since the last [`begin`](Self::begin).
    now: AtomicU64,
    names: Mutex<Names>,
}

/// The names of a group's members, which each member takes a copy of: they may all be the same long one.
#[derive(Default)]
struct Names {
    /// Whether the next that is read holds names, and the length of the longest in what was read last.
    follow: bool,
    longest: u64,
    /// Bytes that the copies take at most.
    copied: u64,
}

impl Names {
    /// Looks at a part of the file's structure as it is read.
    fn see(&mut self, part: &[u8]) {
        if std::mem::take(&mut self.follow) {
            self.longest = part.split(|byte| *byte == 0).map(<[u8]>::len).max().unwrap_or(0) as u64;
        } else if part.starts_with(b"HEAP") {
            self.follow = true;
        } else if let (true, Some(&[low, high])) = (part.starts_with(b"SNOD"), part.get(6..8)) {
            let members = if part.len() > 8 { u64::from(u16::from_le_bytes([low, high])) } else { 0 };
            self.copied = self.copied.saturating_add(members * self.longest);
        }
    }
}

impl Reads {
    fn new(path: &Path, budget: &Budget) -> Self {
        let zero = AtomicU64::default;
        Self {
            path: path.to_owned(),
            budget: budget.clone(),
            all: zero(),
            count: zero(),
            now: zero(),
            names: Mutex::default(),
        }
    }

    /// Something new is read.
    fn begin(&self) {
        self.now.store(0, Ordering::Relaxed);
        self.names.lock().unwrap_or_else(PoisonError::into_inner).copied = 0;
    }

    /// Part of the file's structure was read.
    fn see(&self, part: &[u8]) -> Result<()> {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        names.see(part);
        match names.copied <= (16 << 20) + 4 * self.budget.size() {
            true => Ok(()),
            false => Err(broken(&self.path, "the names in it take too much memory")),
        }
    }

    fn add(&self, bytes: u64) -> Result<()> {
        self.budget.go_on()?;
        let add = |to: &AtomicU64, more: u64| to.fetch_add(more, Ordering::Relaxed).saturating_add(more);
        let size = self.budget.size();
        let within = add(&self.all, bytes) <= (64 << 20) + 64 * size
            && add(&self.count, 1) <= (1 << 19) + size / 16
            && add(&self.now, bytes) <= (4 << 20) + 2 * size;
        match within {
            true => Ok(()),
            false => Err(broken(&self.path, "its parts refer to each other again and again")),
        }
    }
}

/// The file as its reader sees it.
struct Watched {
    file: Mutex<std::fs::File>,
    reads: Arc<Reads>,
}

impl Source for Watched {
    fn len(&self) -> u64 {
        self.reads.budget.size()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), FormatError> {
        use std::io::{Read, Seek, SeekFrom};
        let failed = |error: std::io::Error| FormatError::Source(error.to_string());
        self.reads.budget.heard(self.reads.add(buffer.len() as u64)).map_err(failed)?;
        let size = self.len();
        if offset.checked_add(buffer.len() as u64).is_none_or(|end| end > size) {
            let number = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
            let expected = number(offset.saturating_add(buffer.len() as u64));
            return Err(FormatError::UnexpectedEof { expected, available: number(size) });
        }
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(offset)).and_then(|_| file.read_exact(buffer)).map_err(failed)
    }

    fn read_metadata_at(&self, offset: u64, length: usize) -> Result<Vec<u8>, FormatError> {
        let part = self.read_exact_at(offset, length)?;
        self.reads.budget.heard(self.reads.see(&part)).map_err(|error| FormatError::Source(error.to_string()))?;
        Ok(part)
    }
}

/// The rows of all episodes so far: each holds its next state itself.
#[derive(Default)]
struct Parts {
    titles: Vec<String>,
    /// Of each title, whether it is wanted; the columns of the others stay empty.
    wanted: Vec<bool>,
    columns: Vec<Vec<f64>>,
    rows: usize,
}

impl Parts {
    fn table(self, path: &Path, budget: &Budget) -> Result<Table<'static>> {
        if self.rows == 0 {
            return Err(malformed(path, None, "its episodes hold no step", "record some, or name another file"));
        }
        let (rows, columns) = (self.rows as u64, self.wanted.iter().filter(|wanted| **wanted).count() as u64);
        budget.take(of_rows(rows, columns) - of_cells(rows, columns), || {
            format!("its {rows} rows take too much memory")
        })?;
        let kept = self.titles.iter().zip(self.wanted).zip(self.columns).filter(|((_, wanted), _)| *wanted);
        let columns = kept.map(|((title, _), values)| Column::of_numbers(title.clone(), values)).collect();
        Ok(Table { path: path.to_owned(), columns, rows: self.rows, titles: self.titles, ..Table::default() })
    }
}

/// What reads the parts of a file.
struct Reader<'a> {
    path: &'a Path,
    budget: &'a Budget,
    reads: &'a Reads,
    choose: Choose<'a>,
}

impl Reader<'_> {
    /// Adds the rows of an episode.
    fn append(&self, parts: &mut Parts, number: u64, name: &str, group: &Group) -> Result<()> {
        let fault = |problem: String, hint: &str| malformed(self.path, None, format!("{name}: {problem}"), hint);
        let mut held = 0;
        let mut array = |key: &str| -> Result<NamedArray> {
            let hint = "each episode of a Minari file has observations, actions, rewards, terminations and truncations";
            self.reads.begin();
            let dataset = group.dataset(key).map_err(|_| {
                let hint =
                    "its observations or actions are a dictionary, or the file has another layout; flatten them first";
                self.budget.told(|| fault(format!("there is no array `{key}`"), hint))
            })?;
            let read = self.numbers(key, &dataset).map_err(|trouble| match trouble {
                Trouble::Ours(error) => error,
                Trouble::Theirs(error) => self.budget.told(|| fault(format!("the array `{key}`: {error}"), hint)),
            })?;
            let read = read.ok_or_else(|| fault(format!("the array `{key}` does not hold rows of numbers"), hint))?;
            held += of_cells(read.rows as u64, read.columns.len() as u64);
            Ok(read)
        };
        let (observations, actions) = (array("observations")?, array("actions")?);
        let others = [array("rewards")?, array("terminations")?, array("truncations")?];
        let steps = actions.rows;
        if observations.rows != steps + 1 || others.iter().any(|other| other.rows != steps || other.columns.len() != 1)
        {
            let problem =
                format!("it has {} observations, {steps} actions and {} rewards", observations.rows, others[0].rows);
            return Err(fault(problem, "an episode has one observation more than it has actions and rewards"));
        }
        let names = |array: &NamedArray, before: &str| {
            arrays::titles(&format!("{before}{}", array.name), array.columns.len(), array.flat)
        };
        let mut titles = vec!["episode".to_owned()];
        titles.extend(names(&observations, ""));
        titles.extend(names(&actions, ""));
        titles.extend(names(&observations, "next_"));
        titles.extend(others.iter().map(|other| other.name.clone()));
        if parts.titles.is_empty() {
            if titles.len() > MOST_COLUMNS {
                return Err(too_wide(self.path, name, titles.len() as u64, MOST_COLUMNS));
            }
            parts.wanted = (self.choose)(&titles);
            parts.wanted.resize(titles.len(), false);
            parts.columns = vec![Vec::new(); titles.len()];
            parts.titles = titles;
        } else if parts.titles != titles {
            return Err(fault("its arrays have other widths than those before".into(), "episodes must be alike"));
        }
        let wanted = parts.wanted.iter().filter(|wanted| **wanted).count();
        let what = || format!("its episodes up to `{name}` take too much");
        self.budget.take(of_cells(steps as u64, wanted as u64), what)?;
        let mut columns = parts.columns.iter_mut().zip(&parts.wanted);
        let mut fill = |values: &mut dyn Iterator<Item = f64>| {
            if let Some((column, true)) = columns.next() {
                column.extend(values);
            }
        };
        fill(&mut std::iter::repeat_n(number as f64, steps));
        let mut all = |array: &NamedArray, skip: usize| {
            array.columns.iter().for_each(|column| fill(&mut column[skip..][..steps].iter().copied()));
        };
        all(&observations, 0);
        all(&actions, 0);
        all(&observations, 1);
        others.iter().for_each(|other| all(other, 0));
        parts.rows += steps;
        self.budget.give_back(held);
        Ok(())
    }

    /// Arrays that stand side by side at the top of the file.
    fn flat(&self, root: &Group) -> Result<Vec<NamedArray>> {
        let failed = |error: hdf5_pure::Error| self.budget.told(|| broken(self.path, &error.to_string()));
        let mut found = Vec::new();
        let mut widths = Widths::default();
        self.reads.begin();
        for (name, dataset) in root.iter_datasets().map_err(failed)? {
            self.reads.begin();
            let shape = dataset.shape().map_err(failed)?;
            let (width, flat) = match shape[..] {
                [_] => (1, true),
                [_, width] => (width, false),
                _ => continue,
            };
            widths.add(self.path, &format!("the array `{name}`"), width)?;
            let titles = arrays::titles(&name, width as usize, flat);
            if name == "observations" || (self.choose)(&titles).contains(&true) {
                let numbers = self.numbers(&name, &dataset).map_err(|trouble| match trouble {
                    Trouble::Ours(error) => error,
                    Trouble::Theirs(error) => failed(error),
                })?;
                found.extend(numbers);
            }
        }
        Ok(found)
    }

    /// The numbers of a dataset, unless it holds something else.
    fn numbers(&self, name: &str, dataset: &Dataset) -> Result<Option<NamedArray>, Trouble> {
        let shape = dataset.shape()?;
        let (rows, width) = match shape[..] {
            [rows] => (rows, 1),
            [rows, width] => (rows, width),
            _ => return Ok(None),
        };
        let (item, truth) = match dataset.dtype()? {
            DType::F32 | DType::F64 | DType::I8 | DType::I16 | DType::I32 | DType::I64 => {
                (dataset.element_size()?, false)
            }
            DType::U8 | DType::U16 | DType::U32 | DType::U64 => (dataset.element_size()?, false),
            // Truth values are an enumeration of one byte.
            DType::Enum(_) => (dataset.element_size()?, true),
            _ => return Ok(None),
        };
        if width == 0 || item == 0 || item > if truth { 1 } else { 8 } {
            return Ok(None);
        }
        if width > MOST_COLUMNS as u64 {
            return Err(too_wide(self.path, &format!("the array `{name}`"), width, MOST_COLUMNS).into());
        }
        let what = || format!("the array `{name}` claims {rows} rows and {width} columns");
        // What only one of the arrays will need is given back.
        self.budget.take(of_rows(rows, width), what)?;
        self.budget.give_back(of_rows(rows, width) - of_cells(rows, width));
        let row = item * width;
        let mut together = (PART / row).max(rows.div_ceil(PARTS)).max(1);
        // Chunks are unpacked whole, also those of which little belongs to the array, and each has a record.
        let mut besides = 0;
        if let Some(chunk) = dataset.chunk_shape()? {
            let product = |sizes: &mut dyn Iterator<Item = u64>| sizes.fold(1u64, u64::saturating_mul);
            let bytes = product(&mut chunk.iter().copied()).saturating_mul(item);
            let count = product(&mut shape.iter().zip(&chunk).map(|(size, part)| size.div_ceil((*part).max(1))));
            let band = chunk.first().copied().unwrap_or(1).max(1);
            together = together.div_ceil(band).saturating_mul(band);
            besides = bytes.saturating_mul(3).saturating_add(count.saturating_mul(CHUNK));
            self.budget.unpacked(bytes.saturating_mul(count), None)?;
        }
        let together = together.min(rows.max(1));
        let besides = besides.saturating_add(together.saturating_mul(row + 8 * width));
        self.budget.take(besides, || format!("the chunks of the array `{name}` claim too much"))?;
        let mut columns = vec![Vec::new(); width as usize];
        let mut row = 0;
        while row < rows {
            self.budget.go_on()?;
            self.reads.begin();
            let count = together.min(rows - row);
            let values = match truth {
                true => dataset.read_raw_rows(row, count)?.into_iter().map(f64::from).collect(),
                false => dataset.read_f64_rows(row, count)?,
            };
            if values.len() as u64 != count * width {
                return Ok(None);
            }
            for values in values.chunks_exact(width as usize) {
                columns.iter_mut().zip(values).for_each(|(column, value)| column.push(*value));
            }
            row += count;
        }
        self.budget.give_back(besides);
        Ok(Some(NamedArray { name: name.to_owned(), rows: rows as usize, flat: shape.len() == 1, columns }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fpsrl_base::progress::Progress;
    use hdf5_pure::FileBuilder;

    fn table_of(path: &Path, memory: Option<u64>, progress: &Progress) -> Result<Table<'static>> {
        let file = std::fs::File::open(path).unwrap();
        let budget = Budget::new("log.h5".as_ref(), file.metadata().unwrap().len(), memory, progress);
        read("log.h5".as_ref(), file, &|_, _| true, &budget, progress)
    }

    fn written(build: impl FnOnce(&mut FileBuilder)) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut builder = FileBuilder::new();
        build(&mut builder);
        builder.write(file.path()).unwrap();
        file
    }

    #[test]
    fn long_arrays_side_by_side_become_columns() {
        let file = written(|builder| {
            builder.create_dataset("observations").with_f64_data(&[1.0, 2.0, 3.0, 4.0]).with_shape(&[2, 2]);
            builder.create_dataset("actions").with_f64_data(&[0.5, -0.5]).with_shape(&[2, 1]);
            builder.create_dataset("rewards").with_f64_data(&[1.0, f64::INFINITY]);
            builder.create_dataset("seed").with_f64_data(&[7.0]);
        });
        let table = table_of(file.path(), None, &Progress::silent()).unwrap();
        let column = |name: &str| table.column(&[name.to_owned()]).unwrap().values.clone();
        assert_eq!(*column("observations_1"), [2.0, 4.0]);
        assert_eq!(*column("actions_0"), [0.5, -0.5]);
        let error = table.numbers(&["rewards".into()], "reward").unwrap_err().to_string();
        assert!(error.contains("row 2, column `rewards`: `inf` is not"), "{error}");
        assert!(table.notes.iter().any(|note| note.contains("`seed`")));
    }

    #[test]
    fn episodes_become_rows_that_hold_their_next_state() {
        let file = written(|builder| {
            for (episode, first) in [(0, 0.0), (10, 100.0), (2, 50.0)] {
                let mut group = builder.create_group(&format!("episode_{episode}"));
                group
                    .create_dataset("observations")
                    .with_f64_data(&[first, first + 1.0, first + 2.0])
                    .with_shape(&[3, 1]);
                group.create_dataset("actions").with_f64_data(&[0.5, -0.5]).with_shape(&[2, 1]);
                group.create_dataset("rewards").with_f64_data(&[1.0, 2.0]);
                group.create_dataset("terminations").with_u8_data(&[0, 1]);
                group.create_dataset("truncations").with_u8_data(&[0, 0]);
                builder.add_group(group.finish());
            }
        });
        let table = table_of(file.path(), None, &Progress::silent()).unwrap();
        let column = |name: &str| table.column(&[name.to_owned()]).unwrap().values.clone();
        assert_eq!(*column("episode"), [0.0, 0.0, 2.0, 2.0, 10.0, 10.0]);
        assert_eq!(*column("observations_0"), [0.0, 1.0, 50.0, 51.0, 100.0, 101.0]);
        assert_eq!(*column("next_observations_0"), [1.0, 2.0, 51.0, 52.0, 101.0, 102.0]);
        assert_eq!(*column("terminations"), [0.0, 1.0, 0.0, 1.0, 0.0, 1.0]);
    }

    #[test]
    fn arrays_that_unpack_to_much_need_as_much_memory() {
        let file = written(|builder| {
            let zeros = vec![0.0; 80_000];
            let array = builder.create_dataset("x").with_f64_data(&zeros).with_shape(&[20_000, 4]);
            array.with_chunks(&[1, 4]).with_deflate(9);
        });
        let of = |memory| table_of(file.path(), memory, &Progress::silent());
        let message = of(Some(2_000_000)).unwrap_err().to_string();
        assert!(message.contains("the array `x` claims 20000 rows and 4 columns; a file of "), "{message}");
        let message = of(Some(3_000_000)).unwrap_err().to_string();
        assert!(message.contains("the chunks of the array `x` claim too much"), "{message}");
        let table = of(None).unwrap();
        assert_eq!((table.columns.len(), table.rows), (4, 20_000));
        assert!(table.columns.iter().all(|column| column.values.iter().all(|value| *value == 0.0)));
    }

    #[test]
    fn a_long_name_that_all_members_share_is_refused() {
        let mut names = Names::default();
        let node = |members: u8| [&b"SNOD\x01\0"[..], &[members, 0], &vec![0; 40 * usize::from(members)]].concat();
        for part in [b"HEAP....".to_vec(), [vec![b'n'; 1_000], vec![0], vec![b'm'; 9]].concat(), node(8), node(3)] {
            names.see(&part);
        }
        // The head of a node is read once more before its members.
        names.see(b"SNOD\x01\0\x08\0");
        assert_eq!((names.longest, names.copied), (1_000, 11_000));
    }

    #[test]
    fn long_arrays_are_read_in_parts() {
        let values: Vec<f64> = (0..1_500_000).map(f64::from).collect();
        let file = written(|builder| {
            builder.create_dataset("x").with_f64_data(&values).with_shape(&[750_000, 2]);
        });
        let table = table_of(file.path(), None, &Progress::silent()).unwrap();
        for (column, first) in [(0, 0.0), (1, 1.0)] {
            let read = &table.columns[column].values;
            assert!((0..750_000).all(|row| read[row] == first + 2.0 * row as f64));
        }
    }

    #[test]
    fn a_stop_is_heard_while_columns_are_chosen() {
        let file = written(|builder| {
            builder.create_dataset("x").with_f64_data(&[1.0, 2.0]);
        });
        let progress = Progress::silent();
        let budget = Budget::new("log.h5".as_ref(), file.as_file().metadata().unwrap().len(), None, &progress);
        let wanted = |_: &str, _: &str| {
            progress.stop().request();
            true
        };
        let opened = std::fs::File::open(file.path()).unwrap();
        let stopped = read("log.h5".as_ref(), opened, &wanted, &budget, &progress);
        assert!(matches!(stopped, Err(Error::Stopped { .. })));
    }

    #[test]
    fn no_byte_makes_a_file_panic() {
        let file = written(|builder| {
            let array = builder.create_dataset("x").with_f64_data(&[1.0; 60]).with_shape(&[20, 3]);
            array.with_chunks(&[7, 2]).with_deflate(5);
            builder.create_dataset("y").with_f64_data(&[2.0; 20]);
        });
        let whole = std::fs::read(file.path()).unwrap();
        for at in (0..whole.len()).step_by(3) {
            let mut bytes = whole.clone();
            bytes[at] ^= 0xff;
            let other = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(other.path(), &bytes).unwrap();
            let _ = table_of(other.path(), None, &Progress::silent());
        }
    }

    #[test]
    fn broken_files_are_refused() {
        let file = written(|builder| {
            let mut group = builder.create_group("episode_0");
            group.create_dataset("observations").with_f64_data(&[1.0, 2.0]);
            group.create_dataset("actions").with_f64_data(&[0.5, -0.5]);
            builder.add_group(group.finish());
        });
        let error = table_of(file.path(), None, &Progress::silent()).unwrap_err().to_string();
        assert!(error.contains("episode_0: there is no array `rewards`"), "{error}");
        let mut bytes = std::fs::read(file.path()).unwrap();
        for cut in [9, bytes.len() / 2, bytes.len() - 8] {
            bytes.truncate(cut.max(9));
            let cut = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(cut.path(), &bytes).unwrap();
            assert!(table_of(cut.path(), None, &Progress::silent()).is_err());
        }
    }
}
