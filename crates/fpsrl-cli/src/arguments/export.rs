//! The arguments of `export`, `verify` and `import`.

use std::path::PathBuf;

use clap::Args;

/// Examples of `export`.
pub const EXPORT_EXAMPLES: &str = "\
Beside the export stand its test vectors (FILE.vectors.csv) and its certificate (FILE.certificate.json): the largest
difference from the policy over 11,000 states, found by the target's own tool where it is on this machine.

Examples:
  fpsrl export runs/mountain-car-seed1 --to c
  fpsrl export runs/mountain-car-seed1 --to st --precision single --guard hold
  fpsrl export runs/mountain-car-seed1 --to st --dialect siemens -o car.scl
  fpsrl export runs/tank-seed1 --to python --guard fallback --fallback valve=0.2 --rate-limit valve=0.05
  fpsrl export policy.json --to onnx";

/// Examples of `verify`.
pub const VERIFY_EXAMPLES: &str = "\
Examples:
  fpsrl verify mountain-car.c
  fpsrl verify mountain-car.c --tool \"clang -std=c99 -fsanitize=undefined\"";

/// What to export, and how.
#[derive(Debug, Args)]
pub struct ExportArguments {
    /// A run directory, or the file of a policy; without a run there is no data to guard with
    #[arg(value_name = "DIR|POLICY.JSON")]
    pub source: PathBuf,
    /// What to export to
    #[arg(long, value_name = "FORMAT", value_parser = clap::builder::PossibleValuesParser::new(fpsrl::export::FORMATS.map(fpsrl::export::Format::name)))]
    pub to: String,
    /// The file to write [default: NAME with the format's ending, in this directory]
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// What the controller is called [default: the problem's name]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Numbers of 64 or of 32 bits
    #[arg(long, value_name = "PRECISION", default_value = "double", value_parser = ["double", "single"])]
    pub precision: String,
    /// Which Structured Text: `codesys` also suits TwinCAT, `siemens` is SCL; `fuzzylite` is for FCL, which is
    /// jFuzzyLogic's otherwise
    #[arg(long, value_name = "DIALECT", default_value = "codesys", value_parser = ["codesys", "siemens", "fuzzylite"])]
    pub dialect: String,
    /// Where C takes exp and tanh from: math.h, or its own
    #[arg(long, value_name = "MATH", default_value = "library", value_parser = ["library", "own"])]
    pub math: String,
    /// What to do outside of what the data covered, besides setting the flag: clamp the state, hold the last action, take
    /// the fallback, nothing else; `off` omits the guard [default: clamp, or off without a run]
    #[arg(long, value_name = "RESPONSE", value_parser = ["clamp", "hold", "fallback", "flag", "off"])]
    pub guard: Option<String>,
    /// The action when an input is unusable, and outside with `--guard fallback` [default: 0, or the limit nearest to it]
    #[arg(long, value_name = "ACTION=VALUE,...", value_delimiter = ',', value_parser = named_value)]
    pub fallback: Vec<(String, f64)>,
    /// How far an action may move in a step
    #[arg(long, value_name = "ACTION=VALUE,...", value_delimiter = ',', value_parser = named_value)]
    pub rate_limit: Vec<(String, f64)>,
    /// Omit where the controller comes from: hash, date, seed, promise
    #[arg(long)]
    pub no_provenance: bool,
    /// Replace files that are there already
    #[arg(long)]
    pub force: bool,
    /// Print the certificate as JSON
    #[arg(long)]
    pub json: bool,
    /// Say nothing but errors
    #[arg(short, long)]
    pub quiet: bool,
}

/// An export to check again.
#[derive(Debug, Args)]
pub struct VerifyArguments {
    /// The exported file; its test vectors and its certificate stand beside it
    #[arg(value_name = "EXPORT")]
    pub export: PathBuf,
    /// The tool to use instead of the usual one, with its arguments
    #[arg(long, value_name = "COMMAND")]
    pub tool: Option<String>,
    /// Run only the first of its states
    #[arg(long, value_name = "COUNT")]
    pub states: Option<usize>,
    /// Print what was found as JSON
    #[arg(long)]
    pub json: bool,
    /// Say nothing but errors
    #[arg(short, long)]
    pub quiet: bool,
}

/// Examples of `import`.
pub const IMPORT_EXAMPLES: &str = "\
Reads FLL (fuzzylite), FCL (IEC 61131-7), FIS (MATLAB, Octave) and JSON: Gaussians joined by products, constants as outputs.
What fpsrl exported comes back exactly.

Examples:
  fpsrl import expert.fll                      writes expert.policy.json
  fpsrl import expert.fis --into runs/tank     to be scored (fpsrl evaluate runs/tank) and tuned (fpsrl search runs/tank)";

/// Rules of another tool.
#[derive(Debug, Args)]
pub struct ImportArguments {
    /// The file to read; its ending says what it is
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The policy to write [default: FILE with the ending .policy.json]
    #[arg(short, long, value_name = "FILE", conflicts_with = "into")]
    pub out: Option<PathBuf>,
    /// Make it the policy of a run directory, where the next search begins with it
    #[arg(long, value_name = "DIR")]
    pub into: Option<PathBuf>,
    /// Replace a file that is there already
    #[arg(long)]
    pub force: bool,
    /// Print the policy as JSON
    #[arg(long)]
    pub json: bool,
    /// Say nothing but errors
    #[arg(short, long)]
    pub quiet: bool,
}

/// `valve=0.2`.
pub(super) fn named_value(text: &str) -> Result<(String, f64), String> {
    let (name, value) = text.rsplit_once('=').ok_or("write it as ACTION=VALUE")?;
    let value = value.trim().parse().map_err(|_| format!("`{value}` is not a number"))?;
    Ok((name.trim().to_owned(), value))
}
