//! Controllers for other machines: code that runs where the plant is.
//!
//! A [`Controller`] is a policy with a guard, limits and a memory; its step is the reference for every target. A
//! [`Target`] turns it into files, and a [`Certificate`] says how far what they compute is from the reference, on
//! states inside, at the edge of, and far outside of the data, and on numbers that are none.
//!
//! The modules: [`controller`](Controller) what is exported; `guard` what the data covered; `angle` whole turns; `memory` errors, running
//! sums and the last action; `identifier` names in other languages; `view` the controller as templates see it; a file for each target; `vectors` and [`certificate`].

mod angle;
mod c;
pub mod certificate;
pub(crate) mod controller;
mod elementary;
mod fcl;
mod fis;
mod fll;
mod guard;
#[cfg(test)]
mod hostile_names;
mod identifier;
mod javascript;
mod json;
pub(crate) mod memory;
mod modes;
mod onnx;
mod protobuf;
mod provenance;
mod python;
pub(crate) mod rule_base;
mod rust;
mod script;
mod sequence;
mod single;
mod structured_text;
mod vectors;
mod view;
mod writer;

pub use certificate::{Certificate, Differences, Execution, Interface, Outer};
pub use controller::{Controller, Guard, Precision, Response};
pub use guard::covered_ranges;
pub use json::ControllerFile;
pub use memory::Memory;
pub use provenance::Provenance;
pub use vectors::{Kind, OutOfRange, Vectors};

use fpsrl_base::error::{Error, Result};
use fpsrl_base::remedy::Remedy;
use view::View;
use writer::Writer;

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

/// Every format.
pub const FORMATS: [Format; 10] = [
    Format::C,
    Format::St,
    Format::Python,
    Format::Javascript,
    Format::Rust,
    Format::Onnx,
    Format::Fll,
    Format::Fcl,
    Format::Fis,
    Format::Json,
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
    /// Who writes it.
    fn writer(self) -> &'static dyn Writer {
        match self {
            Format::C => &c::C,
            Format::St => &structured_text::StructuredText,
            Format::Python => &python::Python,
            Format::Javascript => &javascript::Javascript,
            Format::Rust => &rust::Rust,
            Format::Onnx => &onnx::Onnx,
            Format::Fll => &fll::Fll,
            Format::Fcl => &fcl::Fcl,
            Format::Fis => &fis::Fis,
            Format::Json => &json::Json,
        }
    }

    /// The format of a name.
    pub fn from_name(name: &str) -> Result<Self> {
        FORMATS.into_iter().find(|format| format.name() == name).ok_or_else(|| Error::UnknownName {
            kind: "format",
            name: name.to_owned(),
            known: FORMATS.map(|format| format.name().to_owned()).to_vec(),
        })
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        self.writer().name()
    }

    /// Whether it knows numbers of 32 bits.
    pub fn knows_single(self) -> bool {
        self.writer().knows_single()
    }

    /// Whether it holds the rules alone: neither guard nor limits.
    pub fn is_rule_base(self) -> bool {
        self.writer().is_rule_base()
    }
}

impl Target {
    /// A format with its defaults.
    pub fn new(format: Format) -> Self {
        Self { format, dialect: Dialect::default(), mathematics: Mathematics::default() }
    }

    /// How the name of its main file ends.
    pub fn extension(&self) -> &'static str {
        self.format.writer().extension(self.dialect)
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
        let writer = self.format.writer();
        if self.dialect != Dialect::default() && !writer.dialects().contains(&self.dialect) {
            let (name, of) = if self.dialect == Dialect::Siemens { ("siemens", "st") } else { ("fuzzylite", "fcl") };
            let rule = format!("it is a dialect of `{of}`, not of `{}`", self.format.name());
            return Err(Error::setting(
                "dialect",
                name,
                rule,
                Remedy::words("leave ").option("dialect", None).then(" away, or choose the other format"),
            ));
        }
        writer.write(controller, provenance, self, stem)
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
    /// The state variables that it is given.
    pub states: Vec<String>,
    /// The actions.
    pub actions: Vec<String>,
}

impl Names {
    fn of(view: &View) -> Self {
        let given = view.states.iter().filter(|state| state.derived.is_none());
        Self {
            controller: view.name.clone(),
            states: given.map(|state| state.name.clone()).collect(),
            actions: view.actions.iter().map(|action| action.name.clone()).collect(),
        }
    }
}
