//! Controllers for other machines, with the words of `fpsrl export`.

use std::path::PathBuf;

use fpsrl::export::{Delivery, Dialect, Format, Mathematics, Response, Settings, Source, Target};
use fpsrl::files;
use pyo3::prelude::*;

/// What is exported, and how: the words of `fpsrl export`.
#[derive(FromPyObject)]
pub struct Export {
    #[pyo3(item)]
    to: String,
    #[pyo3(item)]
    path: PathBuf,
    #[pyo3(item)]
    name: Option<String>,
    #[pyo3(item)]
    guard: Option<String>,
    #[pyo3(item)]
    single: bool,
    #[pyo3(item)]
    dialect: Option<String>,
    #[pyo3(item)]
    own_mathematics: bool,
    #[pyo3(item)]
    fallback: Vec<(String, f64)>,
    #[pyo3(item)]
    rate_limits: Vec<(String, f64)>,
    #[pyo3(item)]
    provenance: bool,
    #[pyo3(item)]
    force: bool,
}

/// The files that were written, the certificate as JSON, and what the user should know.
pub type Exported = (Vec<PathBuf>, String, Vec<String>);

impl Export {
    pub fn deliver(self, source: &Source) -> fpsrl::Result<Exported> {
        let unknown = |kind: &'static str, name: &str, known: &[&str]| fpsrl::Error::UnknownName {
            kind,
            name: name.to_owned(),
            known: known.iter().map(|&name| name.to_owned()).collect(),
        };
        let response = match self.guard.as_deref() {
            Some("off") => None,
            Some("flag") => Some(Response::Flag),
            Some("hold") => Some(Response::Hold),
            Some("fallback") => Some(Response::Fallback),
            None | Some("clamp") => Some(Response::Clamp),
            Some(other) => return Err(unknown("guard", other, &["clamp", "flag", "hold", "fallback", "off"])),
        };
        let dialect = match self.dialect.as_deref() {
            None | Some("codesys") => Dialect::Codesys,
            Some("siemens") => Dialect::Siemens,
            Some("fuzzylite") => Dialect::Fuzzylite,
            Some(other) => return Err(unknown("dialect", other, &["codesys", "siemens", "fuzzylite"])),
        };
        let mut notes = source.notes.clone();
        if source.ranges.is_none() {
            if let (Some(guard), Some(_)) = (&self.guard, response) {
                let rule = "a policy alone has no data to guard with";
                let hint = "export the run instead: run.export(…); or give guard=\"off\"";
                return Err(fpsrl::Error::setting("guard", guard, rule, hint));
            }
            notes.push("no guard: a policy alone does not know the ranges of the data; run.export(…) does".into());
        }
        let settings = Settings {
            name: self.name,
            single: self.single,
            response,
            fallback: self.fallback,
            rate_limits: self.rate_limits,
        };
        let mathematics = if self.own_mathematics { Mathematics::Own } else { Mathematics::Library };
        let target = Target { format: Format::from_name(&self.to)?, dialect, mathematics };
        let controller = source.controller(&settings)?;
        let delivery =
            fpsrl::export::deliver(&controller, &source.provenance, self.provenance, target, &self.path, self.force)?;
        let certificate = files::to_json(&delivery.certificate)?;
        let Delivery { mut files, vectors, certificate_file, notes: told, .. } = delivery;
        files.extend([vectors, certificate_file]);
        notes.extend(told);
        Ok((files, certificate, notes))
    }
}
