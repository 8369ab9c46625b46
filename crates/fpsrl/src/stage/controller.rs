//! The last stage: from a policy to a controller, to files on the disk, and back to what they are worth.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use fpsrl_base::disk;
use fpsrl_base::error::{Error, Result};
use fpsrl_base::files;
use fpsrl_data::System;
use fpsrl_data::system::Lagged;
use fpsrl_engine::policy::FuzzyPolicy;
use fpsrl_exchange::export::certificate::{self, Certificate, Execution, Interface};
use fpsrl_exchange::export::{Controller, Guard, OutOfRange, Precision, Provenance, Response, Target, Vectors};
use fpsrl_exchange::import::read_policy;
use fpsrl_exchange::verify::{Verification, execute, execute_quickly};

/// What can be exported: a policy, and what is known of where it comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// What it is called.
    pub name: String,
    /// The rules.
    pub policy: FuzzyPolicy,
    /// What the data covered; none if there is only a policy.
    pub ranges: Option<Vec<[f64; 2]>>,
    /// How far each action may move in a step, where the problem says so.
    pub rate_limits: Vec<Option<f64>>,
    /// What whoever uses it must know of its inputs and outputs, as sentences.
    pub notes: Vec<String>,
    /// Where it comes from.
    pub provenance: Provenance,
}

/// How a source becomes a controller.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// What it is called; none takes the source's name.
    pub name: Option<String>,
    /// Numbers of 32 bits.
    pub single: bool,
    /// What happens outside of the data; none omits the guard.
    pub response: Option<Response>,
    /// Fallbacks by the action's name; the others fall back to 0, or to the limit that is nearest to it.
    pub fallback: Vec<(String, f64)>,
    /// Rate limits by the action's name.
    pub rate_limits: Vec<(String, f64)>,
}

/// What was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Delivery {
    /// The files of the export, the main one first.
    pub files: Vec<PathBuf>,
    /// The test vectors.
    pub vectors: PathBuf,
    /// The certificate's file.
    pub certificate_file: PathBuf,
    /// The certificate.
    pub certificate: Certificate,
    /// What the user should know, as sentences.
    pub notes: Vec<String>,
}

impl Source {
    /// Of a system's policy, with the ranges that the log covered.
    pub(crate) fn of(system: &System, policy: FuzzyPolicy, ranges: Vec<[f64; 2]>, provenance: Provenance) -> Self {
        Self {
            name: system.name().to_owned(),
            policy,
            ranges: Some(ranges),
            rate_limits: system.actions().iter().map(|action| action.rate).collect(),
            notes: notes(system),
            provenance,
        }
    }

    /// Of the file of a policy alone, of which no data is known.
    pub fn read(path: &Path) -> Result<Self> {
        let policy = read_policy(path)?;
        let rate_limits = policy.actions.iter().map(|action| action.rate).collect();
        let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let provenance = Provenance::of_file(path, None)?;
        Ok(Self { name, policy, ranges: None, rate_limits, notes: Vec::new(), provenance })
    }

    /// The controller to export.
    pub fn controller(&self, settings: &Settings) -> Result<Controller> {
        let by_action = |given: &[(String, f64)], default: Vec<Option<f64>>| -> Result<Vec<Option<f64>>> {
            let mut values = default;
            for (name, value) in given {
                let known = || self.policy.actions.iter().map(|action| action.name.clone()).collect();
                let index = self.policy.actions.iter().position(|action| action.name == *name);
                let index =
                    index.ok_or_else(|| Error::UnknownName { kind: "action", name: name.clone(), known: known() })?;
                values[index] = Some(*value);
            }
            Ok(values)
        };
        let zero = self.policy.actions.iter().map(|action| Some(0f64.clamp(action.limits[0], action.limits[1])));
        let fallback = by_action(&settings.fallback, zero.collect())?.into_iter().flatten().collect();
        let rate_limits = by_action(&settings.rate_limits, self.rate_limits.clone())?;
        let guard = match (&self.ranges, settings.response) {
            (Some(ranges), Some(response)) => Some(Guard { response, ranges: ranges.clone() }),
            _ => None,
        };
        let precision = if settings.single { Precision::Single } else { Precision::Double };
        let name = settings.name.as_ref().unwrap_or(&self.name);
        Controller::new(name, self.policy.clone(), precision, guard, fallback, rate_limits)
    }

    /// Writes the controller for a target, with its test vectors and its certificate; what is there already is replaced.
    pub fn export(&self, settings: &Settings, target: Target, path: &Path) -> Result<Delivery> {
        deliver(&self.controller(settings)?, &self.provenance, true, target, path, true)
    }
}

/// What is to be said of a problem's angles and lags: the controller takes angles in radians wherever the log had them, and
/// keeps no past, so its inputs must bring it. Errors and running sums it computes itself.
fn notes(system: &System) -> Vec<String> {
    let degrees = system.policy_states().iter().filter(|state| state.degrees);
    let mut notes: Vec<String> =
        degrees.map(|state| format!("the input {} is in radians; the log had it in degrees", state.name)).collect();
    for state in system.policy_states() {
        let Some(lag) = state.lag else { continue };
        let of = match lag.of {
            Lagged::Error(_) | Lagged::Sum(_) | Lagged::Place => continue,
            Lagged::State(of) => system.states()[of].name.clone(),
            Lagged::Action(of) => {
                let action = &system.actions()[of];
                action.set_point.as_ref().map_or(&action.name, |set_point| &set_point.name).clone()
            }
        };
        let steps = if lag.steps == 1 { "1 step".into() } else { format!("{} steps", lag.steps) };
        notes.push(format!("the input {} is what {of} was {steps} before", state.name));
    }
    let is_sum =
        |state: &fpsrl_data::system::StateVariable| state.lag.is_some_and(|lag| matches!(lag.of, Lagged::Sum(_)));
    let sums = system.policy_states().iter().any(is_sum);
    for action in system.actions() {
        if let Some(set_point) = &action.set_point {
            let [low, high] = set_point.limits;
            notes.push(format!(
                "{} is a change: add it to {}, and keep the sum from {low} to {high}",
                action.name, set_point.name
            ));
            if sums {
                notes.push(format!(
                    "running sums stop growing where {} is at its own limits, not where {} is at its limits",
                    action.name, set_point.name
                ));
            }
        }
    }
    notes
}

/// Writes the files of an export, its test vectors and its certificate; all of them, or none.
pub fn deliver(
    controller: &Controller,
    provenance: &Provenance,
    told: bool,
    target: Target,
    path: &Path,
    force: bool,
) -> Result<Delivery> {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let generated = target.generate(controller, told.then_some(provenance), &stem)?;
    let mut paths = vec![path.to_owned()];
    paths.extend(generated.files[1..].iter().map(|file| path.with_extension(file.extension)));
    let (vectors_file, certificate_file) = beside(path);
    for file in paths.iter().chain([&vectors_file, &certificate_file]) {
        if !force && disk::exists(file).map_err(|source| Error::write(file, source))? {
            let source =
                std::io::Error::new(std::io::ErrorKind::AlreadyExists, "it is there already; --force replaces it");
            return Err(Error::write(file, source));
        }
    }
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty() && !disk::is_directory(parent)) {
        let missing = format!("there is no directory {}", parent.display());
        return Err(Error::write(path, std::io::Error::new(std::io::ErrorKind::NotFound, missing)));
    }
    let interface = Interface::new(controller, target, &generated);
    let vectors = match target.format {
        format if format.is_rule_base() => Vectors::of_rules(controller, OutOfRange::of(format, interface.response)),
        _ => Vectors::new(controller),
    };
    files::remove_leftovers_beside(path);
    let mut prepared = Vec::new();
    for (path, file) in paths.iter().zip(&generated.files) {
        prepared.push(files::prepare(path, |out| out.write_all(&file.content))?);
    }
    prepared.push(vectors.prepare(&vectors_file, controller)?);
    // A certificate that is there already is about other files.
    disk::remove(&certificate_file).map_err(|source| Error::write(&certificate_file, source))?;
    let certified = || {
        files::commit_all(prepared)?;
        let certificate = certify(controller, provenance, path, &vectors, interface)?;
        files::write_json(&certificate_file, &certificate)?;
        Ok(certificate)
    };
    let certificate = certified().inspect_err(|_| {
        if !force {
            // Half an export would stand in the way of the next one.
            for file in paths.iter().chain([&vectors_file]) {
                let _ = disk::remove(file);
            }
        }
    })?;
    Ok(Delivery { files: paths, vectors: vectors_file, certificate_file, certificate, notes: generated.notes })
}

/// Runs an export over its test vectors. The certificate is about the file as it stands on the disk.
fn certify(
    controller: &Controller,
    provenance: &Provenance,
    path: &Path,
    vectors: &Vectors,
    interface: Interface,
) -> Result<Certificate> {
    let tolerance = controller.precision.tolerance();
    // The files are there by now: what goes wrong from here on belongs into the certificate.
    let verification = match execute_quickly(&interface, path, vectors) {
        // A disk that does not give back what was written says nothing of the controller.
        Err(error @ Error::Read { .. }) => return Err(error),
        executed => executed.unwrap_or_else(|error| Verification::Failed { said: error.to_string() }),
    };
    let (execution, not_executed) = outcome(verification, &interface, vectors, tolerance);
    Ok(Certificate {
        export_sha256: files::sha256(path)?,
        policy_sha256: provenance.policy_sha256.clone(),
        states: certificate::counts(vectors),
        tolerance,
        model: certificate::model(controller, &interface, vectors),
        execution,
        not_executed,
        export: interface,
    })
}

/// An export that was checked again.
#[derive(Clone, Debug, PartialEq)]
pub struct Recheck {
    /// What its certificate says.
    pub certificate: Certificate,
    /// Whether the file has changed since then.
    pub changed: bool,
    /// What it showed now; none if it could not be run.
    pub execution: Option<Execution>,
    /// Why it could not be run, or what the tool said.
    pub not_executed: Option<String>,
}

/// Runs an export again over its test vectors, or the first `states` of them.
pub fn recheck(path: &Path, tool: Option<&[String]>, states: Option<usize>) -> Result<Recheck> {
    let (vectors_file, certificate_file) = beside(path);
    let sha256 = files::sha256(path)?;
    let certificate: Certificate = files::read_json(&certificate_file)?;
    let interface = &certificate.export;
    let mut vectors = Vectors::read(&vectors_file, interface.names.states.len(), interface.names.actions.len())?;
    vectors.truncate(states.unwrap_or(usize::MAX));
    let verification = execute(interface, path, &vectors, tool)?;
    let (execution, not_executed) = outcome(verification, interface, &vectors, certificate.tolerance);
    Ok(Recheck { changed: sha256 != certificate.export_sha256, certificate, execution, not_executed })
}

fn outcome(
    verification: Verification,
    interface: &Interface,
    vectors: &Vectors,
    tolerance: f64,
) -> (Option<Execution>, Option<String>) {
    match verification {
        Verification::Ran { tool, rows } => {
            (Some(Execution { tool, differences: interface.compare(vectors, &rows, tolerance) }), None)
        }
        Verification::Missing { what } => (None, Some(what)),
        Verification::Failed { said } => (None, Some(format!("it failed: {said}"))),
    }
}

/// The names of the test vectors and the certificate of an export.
fn beside(path: &Path) -> (PathBuf, PathBuf) {
    let with = |ending: &str| {
        let mut name: OsString = path.file_name().unwrap_or_default().to_owned();
        name.push(ending);
        path.with_file_name(name)
    };
    (with(".vectors.csv"), with(".certificate.json"))
}
