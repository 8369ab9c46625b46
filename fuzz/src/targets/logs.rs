//! Logs in every format, and what is drafted of them.

use fpsrl::data::log::{Guess, ImportReport, TextOptions, read};
use fpsrl::data::{System, csv, generate};
use fpsrl::draft::init;
use fpsrl::problem::WrittenProblem;
use fpsrl::progress::Progress;
use fpsrl::stage::DataReport;
use fpsrl::{Error, Problem, Result, files};

use super::{Target, Trouble};
use crate::input::Input;
use crate::place::Place;
use crate::seeds::logs;

const fn log(
    name: &'static str,
    reads: &'static str,
    share: f64,
    seeds: fn(&mut Place) -> Result<Vec<Input>>,
) -> Target {
    Target { name, reads, share, short: 250, seeds, run: read_log }
}

/// Logs as text.
pub(super) const TEXT: Target = log("text", "a log as CSV or TSV", 20.0, |_| Ok(logs::texts()));
/// Logs as packed text.
pub(super) const GZIP: Target = log("gzip", "a log as CSV, packed by gzip", 3.0, |_| Ok(logs::gzips()));
/// Logs as archives of arrays.
pub(super) const NPZ: Target = log("npz", "a log as npz", 8.0, |_| Ok(logs::npzs()));
/// Logs in Parquet.
pub(super) const PARQUET: Target = log("parquet", "a log as Parquet", 10.0, |_| Ok(logs::parquets()));
/// Logs in HDF5.
pub(super) const HDF5: Target = log("hdf5", "a log as HDF5", 6.0, |_| Ok(logs::hdf5s()));

fn read_log(input: &Input, place: &mut Place) -> Result<(), Trouble> {
    let path = place.write(&input.name, &input.bytes)?;
    let table = read(&path, &TextOptions::default(), &|_, _| true, &Progress::silent())?;
    match table.columns.iter().all(|column| column.values.len() == table.rows) {
        true => Ok(()),
        false => Err(Trouble::Wrong("columns are of several lengths".into())),
    }
}

/// Names that a log's file may have.
const FILE_NAMES: [&str; 8] = [
    "log.csv",
    "two\nlines = 1.csv",
    "carriage\rreturn.csv",
    "red\u{1b}[31m.csv",
    "quo\"te.csv",
    "back\\slash.csv",
    "ü 名前 .csv",
    "]\n[data]\nsamples = 3\n#.csv",
];

/// The whole way of a log of the user's own: draft, text, problem, import, the state of its data.
pub(super) const DRAFT: Target = Target {
    name: "draft",
    reads: "a log by init, its draft, and check",
    share: 1.5,
    short: 40,
    seeds: |_| {
        let mut all =
            vec![Input::new("tank.csv", logs::text(160, ',', '.')), Input::new("tank.tsv", logs::text(130, '\t', '.'))];
        let system = System::benchmark("mountain-car")?;
        let mut settings = Problem::benchmark("mountain-car")?.data;
        settings.samples = 130;
        all.push(Input::new("transitions.csv", written(&system, &generate(&system, &settings, &Progress::silent())?)?));
        Ok(all)
    },
    run: draft,
};

fn written(system: &System, transitions: &fpsrl::data::Transitions) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    csv::write_to(&mut bytes, system, transitions).map_err(|source| Error::write("memory".as_ref(), source))?;
    Ok(bytes)
}

fn draft(input: &Input, place: &mut Place) -> Result<(), Trouble> {
    // The name follows from the content, so that an input is one file.
    let sum = input.bytes.iter().fold(0u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(u32::from(*byte)));
    let name = if sum % 4 == 0 { FILE_NAMES[(sum / 4) as usize % FILE_NAMES.len()] } else { FILE_NAMES[0] };
    let path = place.write(name, &input.bytes)?;
    let silent = Progress::silent();
    // Half of them know what is good.
    let known = match sum % 2 {
        0 => {
            Guess { tracks: vec![("level".into(), "wanted".into())], actions: vec!["valve".into()], ..Guess::default() }
        }
        _ => Guess::default(),
    };
    let directory = place.path().to_owned();
    let drafted = init(std::slice::from_ref(&path), &directory, &TextOptions::default(), known, &silent)?;
    let problem_file = place.write("drafted.toml", drafted.text.as_bytes())?;
    let written = match WrittenProblem::read(&problem_file) {
        Ok(written) => written,
        Err(error) => return Err(Trouble::Wrong(format!("a draft cannot be read: {error}"))),
    };
    let named = written.data.file.clone().map(fpsrl::problem::OneOrMany::list).unwrap_or_default();
    if named != [path.to_string_lossy()] {
        return Err(Trouble::Wrong("a draft names another file than the log".into()));
    }
    // What a draft leaves open is refused here; all else is the state of the data.
    let problem = written.check()?;
    let (report, ..) = DataReport::of(&problem, &silent)?;
    /// What a run reads of its `data.json`.
    #[derive(serde::Deserialize)]
    struct Kept {
        #[serde(rename = "import")]
        _import: ImportReport,
    }
    let text = files::to_json(&report)?;
    match files::parse_json::<Kept>(text.as_bytes(), "data.json".as_ref()) {
        Ok(_) => Ok(()),
        Err(error) => Err(Trouble::Wrong(format!("what was found in a log cannot be read back: {error}"))),
    }
}

/// `transitions.csv`, as a benchmark has it.
pub(super) const TRANSITIONS: Target = Target {
    name: "transitions",
    reads: "transitions.csv",
    share: 37.0,
    short: 400,
    seeds: |_| {
        let system = System::benchmark("mountain-car")?;
        let mut settings = Problem::benchmark("mountain-car")?.data;
        settings.samples = 12;
        let plain = written(&system, &generate(&system, &settings, &Progress::silent())?)?;
        let more = "episode,step,position,velocity,force,next_position,next_velocity,reward,terminated,drawn_from\n\
                    0,0,-0.5,0,1,-0.49,0.01,-1,0,3\n0,1,-0.49,0.01,1,-0.48,0.02,-1,1,4\n";
        Ok(vec![Input::new("transitions.csv", plain), Input::new("more.csv", more)])
    },
    run: |input, _| {
        let system = System::benchmark("mountain-car")?;
        let transitions = csv::read_from(input.bytes.as_slice(), input.name.as_ref(), &system)?;
        let columns = transitions.states.iter().chain(&transitions.actions).chain(&transitions.next_states);
        match columns.chain([&transitions.rewards]).all(|column| column.len() == transitions.len()) {
            true => Ok(()),
            false => Err(Trouble::Wrong("columns are of several lengths".into())),
        }
    },
};
