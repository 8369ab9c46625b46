//! Errors of the library as exceptions of the package, which are defined in `fpsrl/_errors.py`.

use fpsrl::Error;
use fpsrl::remedy::Part;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// What was being done: a file that cannot be used is a fault of this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    Problem,
    Log,
    Run,
    Policy,
}

impl About {
    fn class(self) -> &'static str {
        match self {
            Self::Problem => "ProblemError",
            Self::Log => "LogError",
            Self::Run => "RunError",
            Self::Policy => "PolicyError",
        }
    }
}

/// The exception for an error.
pub fn raised(py: Python<'_>, error: &Error, about: About) -> PyErr {
    exception(py, error, about).unwrap_or_else(|failure| failure)
}

fn exception(py: Python<'_>, error: &Error, about: About) -> PyResult<PyErr> {
    let details = PyDict::new(py);
    if let Some(remedy) = error.remedy() {
        details.set_item("remedy", remedy.told(told))?;
    }
    let class = match error {
        Error::UnknownName { kind: "action", .. } => "PolicyError",
        Error::UnknownName { .. } | Error::NoPlant { .. } => "ProblemError",
        Error::Setting { key, .. } => {
            details.set_item("setting", key)?;
            if key.starts_with("the simulator") { "SimulatorError" } else { "ProblemError" }
        }
        Error::Malformed { path, line, column, .. } => {
            details.set_item("file", path.display().to_string())?;
            details.set_item("line", line)?;
            details.set_item("column", column)?;
            about.class()
        }
        Error::Cell { path, row, column, .. } => {
            details.set_item("file", path.display().to_string())?;
            details.set_item("row", row)?;
            details.set_item("column", column)?;
            about.class()
        }
        Error::Read { path, .. } | Error::Write { path, .. } => {
            details.set_item("file", path.display().to_string())?;
            "FileError"
        }
        Error::NewerFormat { path, .. }
        | Error::RunExists { path }
        | Error::Busy { path }
        | Error::NotARun { path, .. }
        | Error::StageMissing { path, .. }
        | Error::Mismatch { path, .. } => {
            details.set_item("file", path.display().to_string())?;
            if about == About::Policy { "PolicyError" } else { "RunError" }
        }
        Error::Elsewhere { .. } => "ClusterError",
        Error::Stopped { .. } => "Stopped",
        _ => "InternalError",
    };
    let class = py.import("fpsrl._errors")?.getattr(class)?;
    Ok(PyErr::from_value(class.call((error.to_string(),), Some(&details))?))
}

/// A part of a remedy in the words of the package.
fn told(part: &Part) -> String {
    match part {
        Part::Words(words) => words.clone(),
        Part::Stage { name, of } => {
            let path =
                of.as_ref().map_or_else(|| "directory".to_owned(), |path| format!("{:?}", path.display().to_string()));
            match *name {
                "generate" if of.is_some() => "`fpsrl.Problem(\"mountain-car\").to_toml()`".into(),
                "generate" => "`fpsrl.Log(problem)`".into(),
                "init" => "`fpsrl.Problem.draft(frame)`".into(),
                "check" => "`problem.check(log)`".into(),
                "fit" => "`fpsrl.fit(problem, log)`".into(),
                "search" => "`fpsrl.search(worlds)`".into(),
                "evaluate" => "`worlds.judge(policy)`".into(),
                "report" => "`run.report()`".into(),
                "import" => "`fpsrl.Policy.read(file)`".into(),
                "run" => "`fpsrl.run(problem, log)`".into(),
                other => format!("`fpsrl {other} {path}` on the command line"),
            }
        }
        Part::Option { name: "out", .. } => "another path".into(),
        Part::Option { name: "force", .. } => "`force=True`".into(),
        Part::Option { name: "allow-process", .. } => "`allow_process=True`".into(),
        Part::Option { name: "resume", value: Some(path) } => format!("`fpsrl.resume({path:?})`"),
        Part::Option { name: name @ ("state" | "action" | "input"), .. } => format!("`{name}s=[…]`"),
        Part::Option { name, value: None } => format!("`{name}=…`"),
        Part::Option { name, value: Some(value) } => format!("`{name}={value}`"),
    }
}
