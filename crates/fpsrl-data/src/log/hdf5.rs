//! HDF5 in two layouts: Minari's, a group `episode_N` for each episode, and D4RL's, long arrays side by side.

use std::path::Path;

use hdf5_pure::{DType, Dataset, File, Group};

use super::arrays::{self, NamedArray};
use super::layout::malformed;
use super::table::{Column, Table};
use super::text::Wanted;
use fpsrl_base::error::{Error, Result};
use fpsrl_base::progress::{Progress, Stage, Status};

/// Reads either layout.
pub(super) fn read(path: &Path, wanted: Wanted<'_>, progress: &Progress) -> Result<Table<'static>> {
    let broken = |error: hdf5_pure::Error| {
        malformed(
            path,
            None,
            format!("it cannot be read as HDF5: {error}"),
            "the file may have been cut off; copy it again",
        )
    };
    let file = File::open_streaming(path).map_err(broken)?;
    let root = file.root();
    let mut episodes: Vec<(u64, String)> = root
        .groups()
        .map_err(broken)?
        .into_iter()
        .filter_map(|name| Some((name.strip_prefix("episode_")?.parse().ok()?, name)))
        .collect();
    episodes.sort();
    if episodes.is_empty() {
        return flat(path, &root, wanted);
    }
    let mut parts = Parts::default();
    progress.begin(Stage::Import, episodes.len() as u64);
    for (done, (number, name)) in episodes.iter().enumerate() {
        if progress.stop_requested() {
            return Err(Error::Stopped { stage: "import" });
        }
        let group = root.group(name).map_err(broken)?;
        parts.append(path, *number, name, &group)?;
        progress.update(Stage::Import, done as u64, Status::Counting);
    }
    parts.table(path, wanted)
}

/// The rows of all episodes so far: each holds its next state itself.
#[derive(Default)]
struct Parts {
    titles: Vec<String>,
    columns: Vec<Vec<f64>>,
    rows: usize,
}

impl Parts {
    fn append(&mut self, path: &Path, number: u64, name: &str, group: &Group) -> Result<()> {
        let fault = |problem: String, hint: &str| malformed(path, None, format!("{name}: {problem}"), hint);
        let array = |key: &str| -> Result<NamedArray> {
            let hint = "each episode of a Minari file has observations, actions, rewards, terminations and truncations";
            let dataset = group.dataset(key).map_err(|_| {
                let hint =
                    "its observations or actions are a dictionary, or the file has another layout; flatten them first";
                fault(format!("there is no array `{key}`"), hint)
            })?;
            let read = numbers(key, &dataset).map_err(|error| fault(format!("the array `{key}`: {error}"), hint))?;
            read.ok_or_else(|| fault(format!("the array `{key}` does not hold rows of numbers"), hint))
        };
        let (observations, actions) = (array("observations")?, array("actions")?);
        let others = [array("rewards")?, array("terminations")?, array("truncations")?];
        let steps = actions.rows;
        if observations.rows != steps + 1 || others.iter().any(|other| other.rows != steps || other.width != 1) {
            let problem =
                format!("it has {} observations, {steps} actions and {} rewards", observations.rows, others[0].rows);
            return Err(fault(problem, "an episode has one observation more than it has actions and rewards"));
        }
        let names = |array: &NamedArray, before: &str| {
            arrays::titles(&format!("{before}{}", array.name), array.width, array.flat)
        };
        let mut titles = vec!["episode".to_owned()];
        titles.extend(names(&observations, ""));
        titles.extend(names(&actions, ""));
        titles.extend(names(&observations, "next_"));
        titles.extend(others.iter().map(|other| other.name.clone()));
        if self.titles.is_empty() {
            self.columns = vec![Vec::new(); titles.len()];
            self.titles = titles;
        } else if self.titles != titles {
            return Err(fault("its arrays have other widths than those before".into(), "episodes must be alike"));
        }
        let mut columns = self.columns.iter_mut();
        let mut fill = |values: &mut dyn Iterator<Item = f64>| {
            if let Some(column) = columns.next() {
                column.extend(values);
            }
        };
        fill(&mut std::iter::repeat_n(number as f64, steps));
        let mut all = |array: &NamedArray, skip: usize| {
            for index in 0..array.width {
                fill(&mut (0..steps).map(|row| array.values[(row + skip) * array.width + index]));
            }
        };
        all(&observations, 0);
        all(&actions, 0);
        all(&observations, 1);
        others.iter().for_each(|other| all(other, 0));
        self.rows += steps;
        Ok(())
    }

    fn table(self, path: &Path, wanted: Wanted<'_>) -> Result<Table<'static>> {
        if self.rows == 0 {
            return Err(malformed(path, None, "its episodes hold no step", "record some, or name another file"));
        }
        let kept = self.titles.iter().zip(self.columns).filter(|(title, _)| wanted(title, title));
        let columns = kept.map(|(title, values)| Column::of_numbers(title.clone(), values)).collect();
        Ok(Table { path: path.to_owned(), columns, rows: self.rows, titles: self.titles, ..Table::default() })
    }
}

/// Arrays that stand side by side at the top of the file.
fn flat(path: &Path, root: &Group, wanted: Wanted<'_>) -> Result<Table<'static>> {
    let broken = |error: hdf5_pure::Error| {
        malformed(
            path,
            None,
            format!("it cannot be read as HDF5: {error}"),
            "the file may have been cut off; copy it again",
        )
    };
    let mut found = Vec::new();
    for name in root.datasets().map_err(broken)? {
        let dataset = root.dataset(&name).map_err(broken)?;
        let shape = dataset.shape().map_err(broken)?;
        let titles = match shape[..] {
            [_] => arrays::titles(&name, 1, true),
            [_, width] if width <= 100_000 => arrays::titles(&name, width as usize, false),
            _ => continue,
        };
        if titles.iter().any(|title| wanted(title, title)) || name == "observations" {
            found.extend(numbers(&name, &dataset).map_err(broken)?);
        }
    }
    arrays::table(path, found, wanted, "the file")
}

/// The numbers of a dataset, unless it holds something else.
fn numbers(name: &str, dataset: &Dataset) -> Result<Option<NamedArray>, hdf5_pure::Error> {
    let shape = dataset.shape()?;
    let (rows, width) = match shape[..] {
        [rows] => (rows as usize, 1),
        [rows, width] => (rows as usize, width as usize),
        _ => return Ok(None),
    };
    let values: Vec<f64> = match dataset.dtype()? {
        DType::F32 | DType::F64 | DType::I8 | DType::I16 | DType::I32 | DType::I64 => dataset.read_f64()?,
        DType::U8 | DType::U16 | DType::U32 | DType::U64 => dataset.read_f64()?,
        // Truth values are an enumeration of one byte.
        DType::Enum(_) => dataset.read_raw()?.into_iter().map(f64::from).collect(),
        _ => return Ok(None),
    };
    let whole = width > 0 && values.len() == rows * width;
    Ok(whole.then(|| NamedArray { name: name.to_owned(), rows, width, flat: shape.len() == 1, values }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fpsrl_base::progress::Progress;
    use hdf5_pure::FileBuilder;

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
        let table = read(file.path(), &|_, _| true, &Progress::silent()).unwrap();
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
        let table = read(file.path(), &|_, _| true, &Progress::silent()).unwrap();
        let column = |name: &str| table.column(&[name.to_owned()]).unwrap().values.clone();
        assert_eq!(*column("episode"), [0.0, 0.0, 2.0, 2.0, 10.0, 10.0]);
        assert_eq!(*column("observations_0"), [0.0, 1.0, 50.0, 51.0, 100.0, 101.0]);
        assert_eq!(*column("next_observations_0"), [1.0, 2.0, 51.0, 52.0, 101.0, 102.0]);
        assert_eq!(*column("terminations"), [0.0, 1.0, 0.0, 1.0, 0.0, 1.0]);
    }

    #[test]
    fn broken_files_are_refused() {
        let file = written(|builder| {
            let mut group = builder.create_group("episode_0");
            group.create_dataset("observations").with_f64_data(&[1.0, 2.0]);
            group.create_dataset("actions").with_f64_data(&[0.5, -0.5]);
            builder.add_group(group.finish());
        });
        let error = read(file.path(), &|_, _| true, &Progress::silent()).unwrap_err().to_string();
        assert!(error.contains("episode_0: there is no array `rewards`"), "{error}");
        let mut bytes = std::fs::read(file.path()).unwrap();
        for cut in [9, bytes.len() / 2, bytes.len() - 8] {
            bytes.truncate(cut.max(9));
            let cut = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(cut.path(), &bytes).unwrap();
            assert!(read(cut.path(), &|_, _| true, &Progress::silent()).is_err());
        }
    }
}
