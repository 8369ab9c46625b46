//! Controllers for other machines: code that runs where the plant is.
//!
//! A [`Controller`] is a policy with a guard, limits and a memory; its step is the reference for every target. A
//! [`Target`] turns it into files, and a [`Certificate`] says how far what they compute is from the reference, on
//! states inside, at the edge of, and far outside of the data, and on numbers that are none.
//!
//! The modules: [`controller`](Controller) what is exported; `guard` what the data covered; `angle` whole turns; `identifier` names in other
//! languages; `view` the controller as templates see it; a file for each target; `vectors` and [`certificate`].

mod angle;
mod c;
pub mod certificate;
mod controller;
mod elementary;
mod guard;
mod identifier;
mod json;
mod onnx;
mod protobuf;
mod provenance;
pub(crate) mod rule_base;
mod scripts;
mod single;
mod structured_text;
mod vectors;
mod view;

pub use certificate::{Certificate, Differences, Execution, Interface, Outer};
pub use controller::{Controller, Guard, Precision, Response};
pub use guard::covered_ranges;
pub use json::ControllerFile;
pub use provenance::Provenance;
pub use vectors::{Kind, OutOfRange, Vectors};

use fpsrl_base::error::{Error, Result};
use fpsrl_base::remedy::Remedy;
use view::View;

/// What a controller can be exported to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// C99: a header and a source.
    C,
    /// IEC 61131-3 Structured Text.
    St,
    /// Python.
    Python,
    /// JavaScript, an ES module.
    Javascript,
    /// Rust, `no_std`.
    Rust,
    /// ONNX.
    Onnx,
    /// Rules for fuzzylite.
    Fll,
    /// Rules in the fuzzy control language of IEC 61131-7.
    Fcl,
    /// Rules for the toolboxes of MATLAB and Octave.
    Fis,
    /// Our own JSON.
    Json,
}

/// Every format with its name.
pub const FORMATS: [(&str, Format); 10] = [
    ("c", Format::C),
    ("st", Format::St),
    ("python", Format::Python),
    ("javascript", Format::Javascript),
    ("rust", Format::Rust),
    ("onnx", Format::Onnx),
    ("fll", Format::Fll),
    ("fcl", Format::Fcl),
    ("fis", Format::Fis),
    ("json", Format::Json),
];

/// Dialects of Structured Text and of FCL. The first is the usual one of either; FCL is jFuzzyLogic's then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    /// CODESYS and TwinCAT.
    #[default]
    Codesys,
    /// SCL of the TIA Portal.
    Siemens,
    /// FCL as fuzzylite and QtFuzzyLite read it.
    Fuzzylite,
}

/// Where C takes exponential and hyperbolic tangent from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mathematics {
    /// `math.h`.
    #[default]
    Library,
    /// The generated file brings its own.
    Own,
}

/// A format with the choices that it leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// The format.
    pub format: Format,
    /// The dialect of Structured Text or of FCL.
    #[serde(default)]
    pub dialect: Dialect,
    /// Where C takes its functions from.
    #[serde(default)]
    pub mathematics: Mathematics,
}

impl Format {
    /// The format of a name.
    pub fn from_name(name: &str) -> Result<Self> {
        FORMATS.iter().find(|(known, _)| *known == name).map(|(_, format)| *format).ok_or_else(|| Error::UnknownName {
            kind: "format",
            name: name.to_owned(),
            known: FORMATS.map(|(known, _)| known.to_owned()).to_vec(),
        })
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        FORMATS.iter().find(|(_, format)| *format == self).map_or("", |(name, _)| name)
    }

    /// Whether it knows numbers of 32 bits.
    pub fn knows_single(self) -> bool {
        matches!(self, Format::C | Format::St | Format::Rust | Format::Onnx)
    }

    /// Whether it holds the rules alone: neither guard nor limits.
    pub fn is_rule_base(self) -> bool {
        matches!(self, Format::Fll | Format::Fcl | Format::Fis)
    }
}

impl Target {
    /// A format with its defaults.
    pub fn new(format: Format) -> Self {
        Self { format, dialect: Dialect::default(), mathematics: Mathematics::default() }
    }

    /// How the name of its main file ends.
    pub fn extension(&self) -> &'static str {
        match (self.format, self.dialect) {
            (Format::C, _) => "c",
            (Format::St, Dialect::Siemens) => "scl",
            (Format::St, _) => "st",
            (Format::Python, _) => "py",
            (Format::Javascript, _) => "mjs",
            (Format::Rust, _) => "rs",
            (Format::Onnx, _) => "onnx",
            (Format::Fll, _) => "fll",
            (Format::Fcl, _) => "fcl",
            (Format::Fis, _) => "fis",
            (Format::Json, _) => "json",
        }
    }

    /// The files of a controller. `stem` is their common name without its ending.
    pub fn generate(&self, controller: &Controller, provenance: Option<&Provenance>, stem: &str) -> Result<Generated> {
        if controller.precision == Precision::Single && !self.format.knows_single() {
            let rule = format!("`{}` always computes in double precision", self.format.name());
            return Err(Error::setting(
                "precision",
                "single",
                rule,
                Remedy::words("leave ").option("precision", None).then(" away"),
            ));
        }
        let of_this_format = match self.dialect {
            Dialect::Codesys => true,
            Dialect::Siemens => self.format == Format::St,
            Dialect::Fuzzylite => self.format == Format::Fcl,
        };
        if !of_this_format {
            let (name, of) = if self.dialect == Dialect::Siemens { ("siemens", "st") } else { ("fuzzylite", "fcl") };
            let rule = format!("it is a dialect of `{of}`, not of `{}`", self.format.name());
            return Err(Error::setting(
                "dialect",
                name,
                rule,
                Remedy::words("leave ").option("dialect", None).then(" away, or choose the other format"),
            ));
        }
        match self.format {
            Format::C => c::generate(controller, provenance, self.mathematics, stem),
            Format::St => structured_text::generate(controller, provenance, self.dialect),
            Format::Python => scripts::python(controller, provenance),
            Format::Javascript => scripts::javascript(controller, provenance, stem),
            Format::Rust => scripts::rust(controller, provenance),
            Format::Onnx => onnx::generate(controller, provenance),
            Format::Fll | Format::Fcl | Format::Fis => rule_base::generate(controller, provenance, self),
            Format::Json => json::generate(controller, provenance),
        }
    }
}

/// What an export consists of.
#[derive(Clone, Debug, PartialEq)]
pub struct Generated {
    /// The files, the main one first.
    pub files: Vec<GeneratedFile>,
    /// What things are called in them.
    pub names: Names,
    /// What the user should know, as sentences.
    pub notes: Vec<String>,
}

/// A file of an export.
#[derive(Clone, Debug, PartialEq)]
pub struct GeneratedFile {
    /// How its name ends.
    pub extension: &'static str,
    /// What is in it.
    pub content: Vec<u8>,
}

impl GeneratedFile {
    fn text(extension: &'static str, text: String) -> Self {
        Self { extension, content: text.into_bytes() }
    }
}

/// What things are called in an export.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Names {
    /// The controller itself.
    pub controller: String,
    /// The state variables.
    pub states: Vec<String>,
    /// The actions.
    pub actions: Vec<String>,
}

impl Names {
    fn of(view: &View) -> Self {
        Self {
            controller: view.name.clone(),
            states: view.states.iter().map(|state| state.name.clone()).collect(),
            actions: view.actions.iter().map(|action| action.name.clone()).collect(),
        }
    }
}
