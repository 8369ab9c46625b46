//! `fpsrl init` and `fpsrl check`: from a log of the user's own to a problem file, and the state of its data.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use fpsrl::data::log::{Guess, ImportReport, InputGuess, InputKind, TextOptions};
use fpsrl::data::symmetry::Symmetry;
use fpsrl::draft::init;
use fpsrl::problem::{Problem, Row, WrittenProblem};
use fpsrl::run::{DataReport, RunDirectory};
use fpsrl::text::count;
use fpsrl::visible::{message, name as shown, path};

use crate::Failure;
use crate::progress::Bars;
use crate::terminal::{self, argument};

pub const INIT_EXAMPLES: &str = "\
The file may be CSV or TSV (also packed by gzip), Parquet, HDF5 as Minari and D4RL write it, or npz. What a column is, its
name and its behaviour tell, and the reason is said; what they do not tell is listed under \"Not known\". Correct it in the
file that is written, or say it at once.

Examples:
  fpsrl init log.csv
  fpsrl init monday.csv tuesday.csv --action valve --reward quality
  fpsrl init loop.csv --tracks TI7=TI7_SET --input outdoor --mode recipe
  fpsrl init export.txt --separator ';' --decimal , --out tank/problem.toml";

pub const CHECK_EXAMPLES: &str = "\
Examples:
  fpsrl check problem.toml
  fpsrl check runs/tank-seed1 --json";

/// A log to draft a problem file from.
#[derive(Debug, Args)]
pub struct InitArguments {
    /// The log; several files are parts of one log
    #[arg(value_name = "LOG", required = true)]
    pub files: Vec<PathBuf>,
    /// The columns of the state variables
    #[arg(long, value_name = "COLUMN,COLUMN...", value_delimiter = ',')]
    pub state: Vec<String>,
    /// The columns of the actions
    #[arg(long, value_name = "COLUMN,COLUMN...", value_delimiter = ',')]
    pub action: Vec<String>,
    /// A column that the controller sees and does not influence; for several, give it again
    #[arg(long, value_name = "COLUMN")]
    pub input: Vec<String>,
    /// A column that says in which way the plant is run; for several, give it again
    #[arg(long, value_name = "COLUMN")]
    pub mode: Vec<String>,
    /// A state and the set-point that it is to follow; for several, give it again
    #[arg(long, value_name = "STATE=SETPOINT", value_parser = pair)]
    pub tracks: Vec<(String, String)>,
    /// The column of the reward
    #[arg(long, value_name = "COLUMN")]
    pub reward: Option<String>,
    /// The column of time
    #[arg(long, value_name = "COLUMN")]
    pub time: Option<String>,
    /// The column that tells episodes apart
    #[arg(long, value_name = "COLUMN")]
    pub episode: Option<String>,
    /// The column that says whether the plant has stopped for good
    #[arg(long, value_name = "COLUMN")]
    pub terminal: Option<String>,
    /// What is between two cells; `tab` is a word for it
    #[arg(long, value_name = "SIGN", value_parser = sign)]
    pub separator: Option<char>,
    /// What begins the fraction of a number
    #[arg(long, value_name = "SIGN", value_parser = sign)]
    pub decimal: Option<char>,
    /// Words that stand for a missing value, besides the usual ones
    #[arg(long, value_name = "WORD,WORD...", value_delimiter = ',')]
    pub missing: Vec<String>,
    /// Memory that reading a file may take [default: 175 MB, and 19 times the file's size]
    #[arg(long, value_name = "SIZE", value_parser = memory)]
    pub memory: Option<u64>,
    /// The problem file to write
    #[arg(short, long, value_name = "FILE", default_value = "problem.toml")]
    pub out: PathBuf,
    /// Replace a problem file that is there already
    #[arg(long)]
    pub force: bool,
    /// Show neither progress nor what was found, only errors
    #[arg(short, long)]
    pub quiet: bool,
}

/// A problem whose data are to be looked at.
#[derive(Debug, Args)]
pub struct CheckArguments {
    /// A problem file that names a log, or a run directory
    #[arg(value_name = "PROBLEM.TOML|DIR")]
    pub problem: PathBuf,
    /// Memory that reading a file may take [default: that of the problem file; else 175 MB, and 19 times the file's size]
    #[arg(long, value_name = "SIZE", value_parser = memory)]
    pub memory: Option<u64>,
    /// Print everything as JSON instead of tables
    #[arg(long)]
    pub json: bool,
    /// Show neither progress nor tables, only errors
    #[arg(short, long)]
    pub quiet: bool,
}

/// An amount of memory, such as 4GB.
pub fn memory(text: &str) -> Result<u64, String> {
    fpsrl::problem::memory(text).map_err(str::to_owned)
}

fn sign(text: &str) -> Result<char, String> {
    match (text, text.chars().count()) {
        ("tab" | "\\t", _) => Ok('\t'),
        (text, 1) if text.is_ascii() => Ok(text.chars().next().unwrap_or(',')),
        _ => Err("not a single sign, nor the word tab".into()),
    }
}

/// Two columns with a sign of equality between them.
fn pair(text: &str) -> Result<(String, String), String> {
    let (state, set_point) = text.split_once('=').unwrap_or_default();
    match state.trim().is_empty() || set_point.trim().is_empty() {
        true => {
            Err("write it as STATE=SETPOINT: the column of a state, and that of the set-point it is to follow".into())
        }
        false => Ok((state.trim().to_owned(), set_point.trim().to_owned())),
    }
}

/// Drafts a problem file.
pub fn draft(arguments: &InitArguments) -> Result<(), Failure> {
    let bars = Bars::new(arguments.quiet);
    let out = &arguments.out;
    if !arguments.force && out.exists() {
        let source = io::ErrorKind::AlreadyExists.into();
        return Err(fpsrl::Error::Write { path: out.clone(), source }.into());
    }
    let inputs = arguments.input.iter().map(|title| InputGuess::said(title, InputKind::Disturbance));
    let modes = arguments.mode.iter().map(|title| InputGuess::said(title, InputKind::Mode { values: Vec::new() }));
    let guess = Guess {
        states: arguments.state.clone(),
        actions: arguments.action.clone(),
        inputs: inputs.chain(modes).collect(),
        tracks: arguments.tracks.clone(),
        reward: arguments.reward.clone(),
        time: arguments.time.clone(),
        episode: arguments.episode.clone(),
        terminal: arguments.terminal.clone(),
        ..Guess::default()
    };
    let InitArguments { separator, decimal, memory, .. } = *arguments;
    let options = TextOptions { separator, decimal, missing: arguments.missing.clone(), memory };
    let directory = out.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let draft = init(&arguments.files, directory, &options, guess, &bars)?;
    fpsrl::files::remove_leftovers_beside(out);
    fpsrl::files::write_atomically(out, |file| file.write_all(draft.text.as_bytes()))?;
    if !arguments.quiet {
        let mut text = String::new();
        for (heading, lines) in [("Found", &draft.found), ("Not known", &draft.unknown)] {
            let _ = writeln!(text, "{heading}");
            lines.iter().for_each(|line| {
                let _ = writeln!(text, "  - {line}");
            });
        }
        terminal::result(&text)?;
    }
    let out = argument(out);
    bars.say(&format!("wrote {out}; correct it, then `fpsrl check {out}` and `fpsrl run {out}`"));
    Ok(())
}

/// Shows the state of a problem's data.
pub fn check(arguments: &CheckArguments) -> Result<(), Failure> {
    let bars = Bars::new(arguments.quiet);
    // A run is looked at as it is: the log that it was imported from may have changed since.
    let (report, problem) = match arguments.problem.is_dir() {
        true => RunDirectory::open(&arguments.problem)?.data_report()?,
        false => of_problem(arguments, &bars)?,
    };
    if arguments.json {
        terminal::json(&fpsrl::files::to_json(&report)?)?;
    } else if !arguments.quiet {
        terminal::result(&tables(&problem, &report))?;
    }
    Ok(())
}

/// The state of the log that a problem file names.
fn of_problem(arguments: &CheckArguments, bars: &Bars) -> Result<(DataReport, Problem), Failure> {
    let mut written = WrittenProblem::read(&arguments.problem)?;
    written.data.allow(arguments.memory);
    let problem = written.check()?;
    if problem.data.log.is_none() {
        return Err(fpsrl::Error::Setting {
            key: "data.file".into(),
            value: "missing".into(),
            rule: "only a log can be checked".into(),
            remedy: "write `file = \"log.csv\"` below [data]".into(),
        }
        .into());
    }
    let (report, problem, _) = DataReport::of(&problem, bars)?;
    Ok((report, problem))
}

/// A number for people, in so much room.
fn figure(value: f64) -> String {
    match value.abs() {
        size if size != 0.0 && !(1e-3..1e5).contains(&size) => format!("{value:.2e}"),
        size if size >= 100.0 => format!("{value:.1}"),
        _ => format!("{value:.3}"),
    }
}

/// The state of the data. Writing to a string cannot fail.
fn tables(problem: &Problem, report: &DataReport) -> String {
    let mut text = String::new();
    let import = &report.import;
    let coverage = &report.coverage;
    let files = if import.files.len() == 1 { "1 file".into() } else { format!("{} files", import.files.len()) };
    let _ = writeln!(
        text,
        "{}: {} rows in {files}, {} transitions in {} episodes",
        problem.system.name(),
        count(import.rows),
        count(
            import
                .transitions
                .saturating_sub(import.missing + import.history.as_ref().map_or(0, |history| history.lost))
        ),
        count(import.episodes)
    );
    let _ = writeln!(text, "\nLog");
    log_lines(problem, import, report.symmetry.as_ref()).into_iter().for_each(|(what, value)| {
        let _ = writeln!(text, "  {what:<24} {value}");
    });

    let _ = writeln!(
        text,
        "\n{:<22} {:<8} {:>10} {:>10} {:>10} {:>10} {:>10}",
        "Variables", "", "lowest", "5 %", "median", "95 %", "highest"
    );
    for variable in &coverage.variables {
        let name = if variable.unit.is_empty() {
            shown(&variable.name)
        } else {
            format!("{} [{}]", shown(&variable.name), shown(&variable.unit))
        };
        if !variable.modes.is_empty() {
            let counted: Vec<String> =
                variable.modes.iter().map(|(word, rows)| format!("{} {} rows", shown(word), count(*rows))).collect();
            let _ = writeln!(text, "  {name:<20} {:<8} {}", variable.role, counted.join(", "));
            continue;
        }
        let [low, middle, high] = variable.quantiles;
        let numbers = [variable.lowest, low, middle, high, variable.highest].map(figure);
        let cells: String = numbers.iter().map(|number| format!(" {number:>10}")).collect();
        let _ = writeln!(text, "  {name:<20} {:<8}{cells}", variable.role);
    }

    // The number of a mode is only its place in a list.
    let is_mode = |variable: usize| !coverage.variables[variable].modes.is_empty();
    let names: Vec<&str> = coverage.variables.iter().map(|variable| variable.name.as_str()).collect();
    let mut pairs: Vec<(f64, &str, &str)> = Vec::new();
    for (second, row) in coverage.correlations.iter().enumerate() {
        let quantities = row.iter().take(second).enumerate().filter(|(first, _)| !is_mode(*first) && !is_mode(second));
        pairs.extend(quantities.map(|(first, value)| (*value, names[first], names[second])));
    }
    pairs.retain(|(value, ..)| value.abs() >= 0.3);
    pairs.sort_by(|a, b| b.0.abs().total_cmp(&a.0.abs()));
    let _ = writeln!(text, "\nCorrelations of 0.3 and more");
    if pairs.is_empty() {
        let _ = writeln!(text, "  none");
    }
    for (value, first, second) in pairs.iter().take(12) {
        let _ = writeln!(text, "  {:<32} {value:>6.2}", format!("{first}, {second}"));
    }

    let space = &coverage.space;
    let _ = writeln!(text, "\nSpace of states and actions");
    let _ = writeln!(
        text,
        "  {} of {} cells visited ({:.1} %), each variable's range in {} parts",
        count(space.visited),
        if space.cells < 1e12 { count(space.cells as usize) } else { figure(space.cells) },
        100.0 * space.share,
        space.parts
    );
    let _ = writeln!(text, "\nWhere the policy will have no data");
    if coverage.blind.is_empty() {
        let _ = writeln!(text, "  nowhere within the ranges, as far as each state and action by themselves tell");
    }
    for spot in coverage.blind.iter().take(15) {
        let place = match &spot.mode {
            Some(mode) => format!("{} {mode}", spot.state),
            None => format!("{} {} to {}", spot.state, figure(spot.range[0]), figure(spot.range[1])),
        };
        let _ = match &spot.action {
            None => writeln!(text, "  {place:<40} only {} rows", spot.rows),
            Some(action) => {
                let seen = format!("{} to {}", figure(spot.seen[0]), figure(spot.seen[1]));
                writeln!(text, "  {place:<40} {action} only from {seen} ({} rows)", spot.rows)
            }
        };
    }
    if coverage.blind.len() > 15 {
        let _ = writeln!(text, "  and {} more; --json has all", coverage.blind.len() - 15);
    }
    text
}

fn log_lines(problem: &Problem, import: &ImportReport, symmetry: Option<&Symmetry>) -> Vec<(String, String)> {
    let mut lines: Vec<(String, String)> = Vec::new();
    let mut line = |what: &str, value: String| lines.push((what.to_owned(), value));
    if let Some(interval) = import.interval {
        line("a row every", figure(interval));
    }
    for (what, count, done) in [
        ("missing cells", import.missing, "steps left out"),
        ("repeated times", import.duplicates, "rows left out"),
        ("time runs backwards", import.out_of_order, "times; rows were put in order"),
        ("gaps in time", import.gaps, "steps cut"),
        ("too short steps", import.early, "steps cut; `resample = true` would put rows onto a grid"),
        ("lost terminal steps", import.lost_terminals, "whose next state is not in the log"),
    ] {
        if count > 0 {
            line(what, format!("{count} {done}"));
        }
    }
    if let Some(terminals) = import.terminals {
        line("terminal steps", terminals.to_string());
    }
    let lost = import.history.as_ref().map_or(0, |history| history.lost);
    if import.kept < import.transitions.saturating_sub(import.missing + lost) {
        line("kept", format!("{} transitions, in stretches spread over the log (`samples` below [data])", import.kept));
    }
    if let Some(history) = &import.history {
        let tried: Vec<String> =
            history.tried.iter().map(|(steps, error)| format!("{steps}: {:.1} %", 100.0 * error)).collect();
        let steps = match history.steps {
            1 => "1 step".to_owned(),
            steps => format!("{steps} steps"),
        };
        line(
            "history",
            match tried.is_empty() {
                true => format!("{steps}; {lost} transitions lack so much of a past, and are left out"),
                false => format!(
                    "{steps}, chosen by held-out rows (unexplained: {}); {lost} transitions lack so much of a past",
                    tried.join(", ")
                ),
            },
        );
    }
    for (action, rows) in &import.outside_limits {
        line("outside of limits", format!("{rows} rows of `{action}`"));
    }
    let set = problem.data.log.as_ref().map(|log| log.action_leads_to).unwrap_or_default();
    if let Some(alignment) = &import.alignment {
        let row = |row: Row| if row == Row::Next { "the next row" } else { "its own row" };
        let errors = format!(
            "unexplained: {:.2} % if to the next row, {:.2} % if to its own; {} rows",
            100.0 * alignment.error_next,
            100.0 * alignment.error_this,
            alignment.rows
        );
        line(
            "an action leads to",
            match alignment.fits {
                Some(fits) if fits == set => format!("{}, as set ({errors})", row(fits)),
                Some(fits) => {
                    format!("WARNING: {} by the data, but `action_leads_to = \"{}\"` ({errors})", row(fits), set.word())
                }
                None => format!("{}, as set; the data do not tell ({errors})", row(set)),
            },
        );
    }
    if let Some(symmetry) = symmetry {
        line(
            "mirror symmetry",
            match symmetry.holds {
                Some(_) => format!("holds in {} rows whose mirror image was seen", symmetry.rows),
                None => format!("not tested: only {} rows have a mirror image in the log", symmetry.rows),
            },
        );
    }
    for file in &import.files {
        for note in &file.notes {
            line("note", format!("{}: {}", path(&file.path), message(note)));
        }
    }
    for note in &import.notes {
        line("note", message(note));
    }
    lines
}
