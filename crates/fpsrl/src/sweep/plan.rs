//! The plan of a sweep: every run that it consists of, each checked before any of them is made.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use fpsrl_base::disk;
use fpsrl_base::error::{Error, Result, nearest};
use fpsrl_base::files;
use fpsrl_base::settings::OneOrMany;
use toml::{Table, Value};

use super::name;
use super::written::{CountOrList, WrittenBase, WrittenSweep};
use crate::problem::{Problem, WrittenProblem, benchmark_names};
use crate::world::process::Permission;

/// More runs than these are a mistake.
pub const MOST_RUNS: u64 = 100_000;

/// What differs in all runs together is kept in memory, so this is a limit of it.
const MOST_SETTINGS: u64 = 1_500_000;

/// The sections of a problem file.
const SECTIONS: [&str; 5] = ["data", "world", "policy", "search", "evaluation"];

/// The parts of a problem file that are lists of named things.
const NAMED: [&str; 4] = ["state", "input", "action", "objective"];

/// A sweep that has been checked: the runs that are planned, and where they belong.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    pub(super) path: PathBuf,
    pub(super) directory: PathBuf,
    problem_path: PathBuf,
    base: Table,
    varied: Vec<String>,
    workers: Option<usize>,
    logs: Vec<NamedLog>,
    runs: Vec<PlannedRun>,
    permission: Permission,
}

/// A log of the sweep's own, with what it is called.
#[derive(Clone, Debug, PartialEq)]
struct NamedLog {
    label: String,
    files: Vec<PathBuf>,
}

/// A run that is planned.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedRun {
    /// What it is called, and its directory: readable, and fit for any file system.
    pub name: String,
    /// What its settings are called, without log, draw and seed; empty if nothing is varied.
    pub point: String,
    /// The settings in which it differs from the problem, by their paths.
    pub settings: Vec<(String, Value)>,
    /// Its seed.
    pub seed: u64,
    /// The name of its log, where the sweep has several.
    pub log: Option<String>,
    /// The number of its bootstrap draw; none for the log as it is.
    pub draw: Option<u32>,
    /// Which of the runs at its point it is, counted from 0.
    pub(super) replicate: usize,
}

/// A point of the grid, or one by itself.
struct Point {
    name: String,
    settings: Vec<(String, Value)>,
}

impl Sweep {
    /// Reads `sweep.toml` and checks every run that it asks for.
    pub fn read(path: &Path) -> Result<Self> {
        Self::of(WrittenSweep::read(path)?, path, path)
    }

    /// Checks what was written. `path` is where the sweep's own files are named from, and what messages call it; where the problem
    /// is a table instead of a file, its files are named from `problem_path`.
    pub fn of(written: WrittenSweep, path: &Path, problem_path: &Path) -> Result<Self> {
        let whole = files::absolute(path);
        let parent = whole.parent().unwrap_or(Path::new("")).to_owned();
        let (base, problem_path) = base(&written, path, &parent, problem_path)?;
        let directory = match &written.runs {
            Some(runs) if runs.is_empty() => {
                return Err(refused("runs", "empty", "it is the directory of the runs", "write runs = \"sweep-runs\""));
            }
            Some(runs) => parent.join(runs),
            None => {
                let stem = whole.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                // Without an ending, the file itself is called so.
                parent.join(if whole.extension().is_some() { stem } else { format!("{stem}-runs") })
            }
        };
        let workers = match written.workers {
            Some(workers) => {
                let rule = "1 to 1,024 runs can be made at a time";
                fpsrl_base::settings::within("workers", workers, 1, 1_024, rule)?;
                Some(workers as usize)
            }
            None => None,
        };
        let seeds = numbers("seeds", written.seeds.as_ref(), 1)?;
        let draws = match &written.bootstrap {
            None | Some(CountOrList::Count(0)) => vec![None],
            given => numbers("bootstrap", given.as_ref(), 0)?
                .into_iter()
                .map(|number| match u32::try_from(number) {
                    Ok(0) => Ok(None),
                    Ok(number) => Ok(Some(number)),
                    Err(_) => {
                        Err(refused("bootstrap", number, "draws are numbered up to 4,294,967,295", "1 to 20, say"))
                    }
                })
                .collect::<Result<_>>()?,
        };
        let logs = logs(written.logs.as_deref(), &parent)?;
        if !logs.is_empty() && base.contains_key("plant") {
            return Err(no_log_of_its_own());
        }
        let grid = leaves("grid", &written.grid)?;
        let singles = singles(&written.run)?;
        let varied = varied(&grid, &singles);
        refuse_kept(&varied, !logs.is_empty())?;
        let points = points(&grid, singles, &varied, seeds.len() * draws.len() * logs.len().max(1))?;
        let mut sweep = Self {
            path: path.to_owned(),
            directory,
            problem_path,
            base,
            varied,
            workers,
            logs,
            runs: Vec::new(),
            permission: Permission::Refused,
        };
        for point in points {
            let mut replicate = 0;
            let labels: Vec<Option<String>> = match sweep.logs.len() {
                0 => vec![None],
                _ => sweep.logs.iter().map(|log| Some(log.label.clone())).collect(),
            };
            for log in labels {
                for draw in &draws {
                    for seed in &seeds {
                        let mut parts = Vec::from_iter((!point.name.is_empty()).then(|| point.name.clone()));
                        parts.extend(log.as_ref().map(|log| format!("log={log}")));
                        parts.extend(draw.map(|draw| format!("draw={draw}")));
                        parts.push(format!("seed={seed}"));
                        sweep.runs.push(PlannedRun {
                            name: parts.join(","),
                            point: point.name.clone(),
                            settings: point.settings.clone(),
                            seed: *seed,
                            log: log.clone(),
                            draw: *draw,
                            replicate,
                        });
                        replicate += 1;
                    }
                }
            }
        }
        if let Some(name) = name::twice(sweep.runs.iter().map(|run| run.name.as_str())) {
            let rule = "two runs would be called so, and have one directory";
            return Err(refused("run", format!("{name:?}"), rule, "give one of them another `name`"));
        }
        sweep.check()?;
        Ok(sweep)
    }

    /// Checks the problem of every run, as far as it can be without its log.
    fn check(&self) -> Result<()> {
        // Seeds and draws change nothing that could be wrong with the other settings, and of seeds only the largest can be too large.
        let largest = self.runs.iter().max_by_key(|run| run.seed).map(|run| &run.name);
        for (index, run) in self.runs.iter().enumerate() {
            let first = run.replicate == 0 || self.runs[index - 1].log != run.log;
            if !first && Some(&run.name) != largest {
                continue;
            }
            let problem = self.problem(run).map_err(|error| self.told_of(run, error))?;
            let simulated = problem.world.process.is_some();
            if run.draw.is_some() && simulated {
                let rule = "the rules are searched on a simulator, on which a draw of its log has no effect";
                return Err(refused(
                    "bootstrap",
                    "given",
                    rule,
                    "leave it out, and let `seeds` say how much is chance",
                ));
            }
            if run.log.is_some() && (simulated || problem.data.log.is_none()) {
                return Err(no_log_of_its_own());
            }
            for file in problem.data.log.iter().flat_map(|log| &log.files) {
                if !fpsrl_base::frame::is_frame(file) && !disk::is_file(file) {
                    let source = std::io::Error::new(std::io::ErrorKind::NotFound, "there is no such file");
                    return Err(Error::read(file, source));
                }
            }
        }
        Ok(())
    }

    /// An error of a run's settings, with the run that it is of.
    fn told_of(&self, run: &PlannedRun, error: Error) -> Error {
        let settings = |key: &str| run.settings.iter().find(|(path, _)| path == key);
        match error {
            // A setting says its own key and value already; the default of another one may be what is wrong.
            Error::Setting { ref key, .. } if settings(key).is_some() => error,
            error => {
                let remedy = match home(&run.settings) {
                    Some(told) => told.into(),
                    None => error.remedy().unwrap_or_default(),
                };
                let problem = format!("the run `{}`: {error}", run.name);
                Error::Malformed { path: self.path.clone(), line: None, column: None, problem, remedy }
            }
        }
    }

    /// The runs, in the order of the table.
    pub fn runs(&self) -> &[PlannedRun] {
        &self.runs
    }

    /// The run of this name.
    pub fn run(&self, name: &str) -> Result<&PlannedRun> {
        self.runs.iter().find(|run| run.name == name).ok_or_else(|| Error::UnknownName {
            kind: "run of this sweep",
            name: name.to_owned(),
            known: self.runs.iter().take(20).map(|run| run.name.clone()).collect(),
        })
    }

    /// The same sweep, whose runs may start the programs that their problems name as worlds, or may not.
    pub fn permitting(self, permission: Permission) -> Self {
        Self { permission, ..self }
    }

    /// Whether its runs may start the programs that their problems name as worlds.
    pub fn permission(&self) -> Permission {
        self.permission
    }

    /// The programs that its runs would start, each once, with their arguments.
    pub fn processes(&self) -> Result<Vec<Vec<String>>> {
        let mut processes: Vec<Vec<String>> = Vec::new();
        // Seeds, logs and draws name no other program.
        for run in self.runs.iter().filter(|run| run.replicate == 0) {
            processes.extend(self.problem(run)?.world.process.filter(|process| !processes.contains(process)));
        }
        Ok(processes)
    }

    /// Where the runs belong.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// What the sweep is called in messages: its file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The paths of the settings that are varied.
    pub fn varied(&self) -> &[String] {
        &self.varied
    }

    /// How many runs are made at a time, where the sweep says so.
    pub fn workers(&self) -> Option<usize> {
        self.workers
    }

    /// What would stand in the problem file of a run.
    pub fn written(&self, run: &PlannedRun) -> Result<Table> {
        let mut table = self.base.clone();
        for (path, value) in &run.settings {
            set(&mut table, path, value.clone())?;
        }
        table.insert("seed".into(), integer(run.seed)?);
        if let Some(log) = run.log.as_ref().and_then(|label| self.logs.iter().find(|log| log.label == *label)) {
            let files = log.files.iter().map(|file| Value::String(file.to_string_lossy().into_owned())).collect();
            set(&mut table, "data.file", Value::Array(files))?;
        }
        Ok(table)
    }

    /// The problem of a run, checked and complete.
    pub fn problem(&self, run: &PlannedRun) -> Result<Problem> {
        let mut problem = WrittenProblem::from_table(self.written(run)?, &self.problem_path)?.check()?;
        problem.world.permission = self.permission;
        Ok(problem)
    }

    /// What the problem says of a setting that is varied, where a run says nothing.
    pub(super) fn base_value(&self, path: &str) -> Option<String> {
        let (first, rest) = path.split_once('.').unwrap_or((path, ""));
        let value = self.base.get(first)?;
        match (value, rest) {
            (value, "") => Some(name::told(value)),
            (Value::Table(table), rest) => table.get(rest).map(name::told),
            _ => None,
        }
    }
}

/// The problem that is varied as a table, and the path that its files are named from.
fn base(written: &WrittenSweep, path: &Path, parent: &Path, problem_path: &Path) -> Result<(Table, PathBuf)> {
    let missing = || {
        let remedy = "write problem = \"problem.toml\", or the name of a built-in problem";
        let problem = "it does not say which problem is varied".into();
        Error::Malformed { path: path.to_owned(), line: None, column: None, problem, remedy: remedy.into() }
    };
    let named = match written.problem.as_ref().ok_or_else(missing)? {
        WrittenBase::Table(table) => return Ok((table.clone(), files::absolute(problem_path))),
        WrittenBase::Named(named) => named,
    };
    if benchmark_names().contains(named) {
        let plant = Table::from_iter([("plant".to_owned(), Value::String(named.clone()))]);
        return Ok((plant, parent.join(format!("{named}.toml"))));
    }
    let file = parent.join(named);
    if !named.contains(['/', '\\', '.']) && !disk::is_file(&file) {
        // The error names what is built in.
        WrittenProblem::benchmark(named)?;
    }
    let text = disk::read_to_string(&file).map_err(|source| Error::read(&file, source))?;
    WrittenProblem::parse(&text, &file)?;
    let broken = |_| Error::Internal("a problem file was understood in one way only");
    Ok((toml::from_str(&text).map_err(broken)?, file))
}

/// The numbers that were asked for; 1 or none at all if nobody says.
fn numbers(key: &str, given: Option<&CountOrList>, lowest: u64) -> Result<Vec<u64>> {
    let Some(given) = given else { return Ok(vec![1]) };
    if given.count() == 0 {
        return Err(refused(key, 0, "there would be no run", format!("write {key} = 10, or a list such as [1, 2, 7]")));
    }
    if given.count() > MOST_RUNS {
        return Err(too_many(given.count()));
    }
    let numbers = given.numbers();
    let numbers = numbers.ok_or_else(|| refused(key, "a list", "a number stands in it twice", "name each once"))?;
    match numbers.iter().find(|number| **number < lowest && matches!(given, CountOrList::Count(_))) {
        Some(number) => Err(refused(key, number, format!("they are counted from {lowest}"), "leave it out")),
        None => Ok(numbers),
    }
}

/// The logs of a sweep, by their names.
fn logs(given: Option<&[OneOrMany]>, parent: &Path) -> Result<Vec<NamedLog>> {
    let Some(given) = given else { return Ok(Vec::new()) };
    if given.is_empty() {
        return Err(refused("logs", "an empty list", "there would be no run", "name the files, or leave `logs` out"));
    }
    let mut logs: Vec<NamedLog> = Vec::new();
    let (mut known, mut taken, mut numbers) = (HashSet::new(), HashSet::new(), HashMap::new());
    for one in given {
        let files: Vec<PathBuf> = one.clone().list().iter().map(|file| parent.join(file)).collect();
        let Some(first) = files.first() else {
            return Err(refused("logs", "an empty list", "a log has at least one file", "name its files"));
        };
        if !known.insert(files.clone()) {
            let rule = "the same log stands there twice";
            return Err(refused("logs", format!("{:?}", first.display().to_string()), rule, "name each once"));
        }
        let stem = name::safe(&first.file_stem().unwrap_or_default().to_string_lossy());
        let stem: String = stem.chars().take(40).collect();
        // Of many logs of one name each goes on counting where the last one has stopped.
        let number = numbers.entry(stem.to_ascii_lowercase()).or_insert(0usize);
        let label = loop {
            *number += 1;
            let label = if *number == 1 { stem.clone() } else { format!("{stem}-{number}") };
            if taken.insert(label.to_ascii_lowercase()) {
                break label;
            }
        };
        logs.push(NamedLog { label, files });
    }
    Ok(logs)
}

/// The settings of a table, by their paths; a table within it is part of the path.
fn leaves(place: &str, table: &Table) -> Result<Vec<(String, Value)>> {
    let mut found = Vec::new();
    for (key, value) in table {
        match value {
            Value::Table(inner) if inner.is_empty() => {
                return Err(refused(format!("{place}.{key}"), "empty", "it names no setting", "leave it out"));
            }
            Value::Table(inner) => {
                let inner = leaves(&format!("{place}.{key}"), inner)?;
                found.extend(inner.into_iter().map(|(rest, value)| (format!("{key}.{rest}"), value)));
            }
            value => found.push((key.clone(), value.clone())),
        }
    }
    if let Some(path) = name::twice(found.iter().map(|(path, _)| path.as_str())) {
        return Err(refused(format!("{place}.{path}"), "given twice", "a setting stands there once", "leave one out"));
    }
    Ok(found)
}

/// Single points with their names.
fn singles(written: &[Table]) -> Result<Vec<Point>> {
    let point = |(index, table): (usize, &Table)| {
        let mut table = table.clone();
        let place = format!("run {}", index + 1);
        let name = match table.remove("name") {
            None => String::new(),
            Some(Value::String(name)) if name::is_name(&name) => name,
            Some(other) => {
                let rule = "it becomes part of a directory's name";
                let hint = "use letters, digits and . _ - + = without a space, not at the beginning";
                return Err(refused(format!("{place}: name"), other, rule, hint));
            }
        };
        let settings = leaves(&place, &table)?;
        if settings.is_empty() && name.is_empty() {
            return Err(refused(place, "empty", "a run has a name or settings", "leave it out, or write what differs"));
        }
        Ok(Point { name, settings })
    };
    written.iter().enumerate().map(point).collect()
}

/// The settings that are varied, those of the grid first.
fn varied(grid: &[(String, Value)], singles: &[Point]) -> Vec<String> {
    let mut known = HashSet::new();
    let all = grid.iter().chain(singles.iter().flat_map(|point| &point.settings)).map(|(path, _)| path);
    all.filter(|path| known.insert(path.as_str())).cloned().collect()
}

/// Refuses settings that a sweep has its own keys for.
fn refuse_kept(varied: &[String], has_logs: bool) -> Result<()> {
    for path in varied {
        match path.as_str() {
            "seed" => return Err(refused("seed", "varied", "a sweep has `seeds`", "write seeds = 10 above [grid]")),
            "data.file" if has_logs => {
                return Err(refused("data.file", "varied", "the sweep has `logs` too", "leave one of the two out"));
            }
            _ => {}
        }
    }
    Ok(())
}

/// All points: those of the grid, then the single ones.
fn points(grid: &[(String, Value)], singles: Vec<Point>, varied: &[String], replicates: usize) -> Result<Vec<Point>> {
    let values = |(path, value): &(String, Value)| -> Result<Vec<Value>> {
        let values = match value {
            Value::Array(values) => values.clone(),
            single => vec![single.clone()],
        };
        if values.is_empty() {
            let rule = "a setting needs at least one value";
            return Err(refused(format!("grid.{path}"), "an empty list", rule, "write its values, or leave it out"));
        }
        // Of what is not a number itself, another value may be written alike; a float is no whole number.
        let mut known = HashSet::new();
        let twice = values.iter().find(|value| !known.insert((value.type_str(), value.to_string())));
        if let Some(value) = twice {
            let rule = "the value stands there twice";
            return Err(refused(
                format!("grid.{path}"),
                name::told(value),
                rule,
                "name each once; `seeds` repeats a run",
            ));
        }
        Ok(values)
    };
    let grid: Vec<(String, Vec<Value>)> =
        grid.iter().map(|one| Ok((one.0.clone(), values(one)?))).collect::<Result<_>>()?;
    let combinations = grid.iter().fold(1u64, |count, (_, values)| count.saturating_mul(values.len() as u64));
    let has_grid = !grid.is_empty() || singles.is_empty();
    let points = if has_grid { combinations } else { 0 }.saturating_add(singles.len() as u64);
    let count = points.saturating_mul(replicates as u64);
    if count > MOST_RUNS {
        return Err(too_many(count));
    }
    let settings = count.saturating_mul(varied.len() as u64);
    if settings > MOST_SETTINGS {
        let rule = format!("all runs together may have {MOST_SETTINGS} of them at most");
        return Err(refused(
            "grid",
            format!("{settings} settings"),
            rule,
            "put what does not vary into the problem file",
        ));
    }
    let mut all: Vec<Point> = Vec::new();
    if has_grid {
        let mut settings: Vec<Vec<(String, Value)>> = vec![Vec::new()];
        for (path, values) in &grid {
            if let [only] = &values[..] {
                settings.iter_mut().for_each(|begun| begun.push((path.clone(), only.clone())));
                continue;
            }
            let with = |begun: &Vec<(String, Value)>| {
                let one = |value: &Value| [begun.clone(), vec![(path.clone(), value.clone())]].concat();
                values.iter().map(one).collect::<Vec<_>>()
            };
            settings = settings.iter().flat_map(with).collect();
        }
        all.extend(settings.into_iter().map(|settings| Point { name: String::new(), settings }));
    }
    all.extend(singles);
    let short = name::short_keys(varied);
    let places: HashMap<&str, usize> = varied.iter().enumerate().map(|(place, key)| (key.as_str(), place)).collect();
    for point in &mut all {
        point.settings.sort_by_key(|(path, _)| places.get(path.as_str()));
        if point.name.is_empty() {
            let key = |path: &String| places.get(path.as_str()).and_then(|at| short.get(*at)).unwrap_or(path).clone();
            let named: Vec<(String, Value)> =
                point.settings.iter().map(|(path, value)| (key(path), value.clone())).collect();
            point.name = name::of_point(&named);
        }
    }
    let mut known: HashMap<String, &str> = HashMap::new();
    for point in &all {
        if let Some(other) = known.insert(format!("{:?}", point.settings), &point.name) {
            let rule = format!("it has the settings of `{other}`");
            return Err(refused("run", format!("{:?}", point.name), rule, "leave one out; `seeds` repeats a run"));
        }
    }
    Ok(all)
}

/// Sets a setting by its path.
fn set(table: &mut Table, path: &str, value: Value) -> Result<()> {
    let Some((first, rest)) = path.split_once('.') else {
        table.insert(path.to_owned(), value);
        return Ok(());
    };
    if NAMED.contains(&first) {
        let wrong = |what: String, hint: String| refused(path.to_owned(), "varied", what, hint);
        let Some((variable, key)) = rest.rsplit_once('.') else {
            return Err(wrong(
                format!("it does not say what of `{rest}`"),
                format!("write {first}.{rest}.KEY, such as start"),
            ));
        };
        let Some(Value::Array(all)) = table.get_mut(first) else {
            return Err(wrong(format!("the problem has no [[{first}]]"), "name a setting that it has".into()));
        };
        let called = |one: &Value| one.get("name").and_then(Value::as_str).map(str::to_owned);
        let known: Vec<String> = all.iter().filter_map(called).collect();
        let found = all.iter_mut().find(|one| called(one).as_deref() == Some(variable)).and_then(Value::as_table_mut);
        let Some(found) = found else {
            let near = nearest(variable, &known).map_or_else(String::new, |near| format!("did you mean `{near}`? "));
            return Err(wrong(
                format!("no [[{first}]] is called `{variable}`"),
                format!("{near}known: {}", known.join(", ")),
            ));
        };
        found.insert(key.to_owned(), value);
        return Ok(());
    }
    match table.entry(first.to_owned()).or_insert_with(|| Value::Table(Table::new())) {
        Value::Table(inner) => set(inner, rest, value),
        _ => Err(refused(path.to_owned(), "varied", format!("`{first}` is no section of a problem"), "check its path")),
    }
}

/// Which section a setting belongs to that stands without one.
fn home(settings: &[(String, Value)]) -> Option<String> {
    settings.iter().filter(|(path, _)| !path.contains('.')).find_map(|(key, _)| {
        let knows = |table: Table| match WrittenProblem::from_table(table, Path::new("")) {
            Err(Error::Malformed { problem, .. }) => !problem.contains("there is no key"),
            _ => true,
        };
        let one = || Table::from_iter([(key.clone(), Value::Integer(1))]);
        if knows(one()) {
            return None;
        }
        let section =
            SECTIONS.iter().find(|name| knows(Table::from_iter([(name.to_string(), Value::Table(one()))])))?;
        Some(format!("settings are named by their path: write \"{section}.{key}\""))
    })
}

fn integer(number: u64) -> Result<Value> {
    match i64::try_from(number) {
        Ok(number) => Ok(Value::Integer(number)),
        Err(_) => Err(refused("seeds", number, "a seed is a whole number below 2^63", "choose a smaller one")),
    }
}

fn no_log_of_its_own() -> Error {
    let rule = "the problem makes its log itself, from a plant or a simulator";
    refused("logs", "given", rule, "leave them out, or state the problem with [[state]] and [[action]]")
}

fn too_many(count: u64) -> Error {
    let rule = format!("a sweep has at most {} runs", fpsrl_base::text::count(MOST_RUNS as usize));
    refused("runs", format!("{count} in number"), rule, "vary less at a time, or take fewer seeds")
}

/// A setting of a sweep that is refused.
pub(super) fn refused(
    key: impl Into<String>,
    value: impl ToString,
    rule: impl Into<String>,
    hint: impl Into<fpsrl_base::remedy::Remedy>,
) -> Error {
    Error::setting(key, value, rule, hint)
}
