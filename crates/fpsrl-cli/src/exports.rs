//! The verbs around exported controllers: `export`, `verify`, `import`.

use std::io;
use std::path::PathBuf;

use fpsrl::Error;
use fpsrl::export::{self, Dialect, Differences, Format, Mathematics, Response, Settings, Source, Target};
use fpsrl::run::RunDirectory;

use crate::Failure;
use crate::arguments::export::{ExportArguments, ImportArguments, VerifyArguments};
use crate::progress::Bars;
use crate::terminal::{self, argument};

/// Exports a controller.
pub fn export(arguments: &ExportArguments) -> Result<(), Failure> {
    let source = match arguments.source.is_dir() {
        true => RunDirectory::open(&arguments.source)?.source()?,
        false => Source::read(&arguments.source)?,
    };
    let response = match arguments.guard.as_deref() {
        Some("off") => None,
        Some("flag") => Some(Response::Flag),
        Some("hold") => Some(Response::Hold),
        Some("fallback") => Some(Response::Fallback),
        _ => Some(Response::Clamp),
    };
    let mut notes = source.notes.clone();
    if source.ranges.is_none() {
        if let (Some(guard), Some(_)) = (&arguments.guard, response) {
            return Err(Failure::Library(Error::Setting {
                key: "--guard".into(),
                value: guard.clone(),
                rule: "a policy alone has no data to guard with".into(),
                remedy: "export the run directory instead, or use --guard off".into(),
            }));
        }
        notes.push(
            "no guard: the ranges of the data are unknown without a run directory; export that to get one".to_owned(),
        );
    }
    let settings = Settings {
        name: arguments.name.clone(),
        single: arguments.precision == "single",
        response,
        fallback: arguments.fallback.clone(),
        rate_limits: arguments.rate_limit.clone(),
    };
    let controller = source.controller(&settings)?;
    let target = Target {
        format: Format::from_name(&arguments.to)?,
        dialect: match arguments.dialect.as_str() {
            "siemens" => Dialect::Siemens,
            "fuzzylite" => Dialect::Fuzzylite,
            _ => Dialect::Codesys,
        },
        mathematics: if arguments.math == "own" { Mathematics::Own } else { Mathematics::Library },
    };
    let default = || PathBuf::from(format!("{}.{}", controller.name, target.extension()));
    let out = arguments.out.clone().unwrap_or_else(default);
    let told = !arguments.no_provenance;
    let delivery = export::deliver(&controller, &source.provenance, told, target, &out, arguments.force)?;
    notes.extend(delivery.notes);
    let certificate = &delivery.certificate;
    if arguments.json {
        return Ok(terminal::json(&fpsrl::files::to_json(certificate)?)?);
    }
    if arguments.quiet {
        return Ok(());
    }
    let mut lines: Vec<String> = Vec::new();
    for file in delivery.files.iter().chain([&delivery.vectors, &delivery.certificate_file]) {
        lines.push(file.display().to_string());
    }
    lines.extend(notes.iter().map(|note| format!("note: {note}")));
    lines.push(match (&certificate.execution, &certificate.not_executed) {
        (Some(execution), _) => told_differences(&execution.differences, &execution.tool),
        (None, why) => format!("not run on this machine: {}", why.as_deref().unwrap_or("no reason known")),
    });
    lines.extend(certificate.model.as_ref().map(|model| told_differences(model, "a model of single precision")));
    Ok(terminal::on_lines(&lines)?)
}

/// Checks an export again.
pub fn verify(arguments: &VerifyArguments) -> Result<(), Failure> {
    let tool: Option<Vec<String>> =
        arguments.tool.as_ref().map(|tool| tool.split_whitespace().map(str::to_owned).collect());
    let recheck = export::recheck(&arguments.export, tool.as_deref(), arguments.states)?;
    let path = &arguments.export;
    let refuse = |problem: String, hint: &str| Error::Malformed {
        path: path.to_owned(),
        line: None,
        column: None,
        problem,
        remedy: hint.into(),
    };
    let Some(execution) = recheck.execution else {
        let why = recheck.not_executed.unwrap_or_default();
        return Err(refuse(
            format!("it cannot be verified: {why}"),
            missing_tool(recheck.certificate.export.target.format),
        )
        .into());
    };
    if arguments.json {
        terminal::json(&fpsrl::files::to_json(&execution)?)?;
    } else if !arguments.quiet {
        let changed = recheck.changed.then(|| format!("note: {} has changed since it was exported", path.display()));
        let found = told_differences(&execution.differences, &execution.tool);
        terminal::on_lines(&Vec::from_iter(changed.into_iter().chain([found])))?;
    }
    if execution.differences.passed {
        return Ok(());
    }
    let problem =
        format!("it does not do what the policy does: {}", told_differences(&execution.differences, &execution.tool));
    Err(refuse(problem, if recheck.changed { "it was changed by hand; export again" } else { "do not use it" }).into())
}

/// Imports rules.
pub fn import(arguments: &ImportArguments) -> Result<(), Failure> {
    let imported = fpsrl::import::read(&arguments.file)?;
    let mut policy = imported.policy;
    let mut otherwise = Vec::new();
    let written = match &arguments.into {
        Some(directory) => {
            let run = RunDirectory::open(directory)?;
            let _lock = run.lock()?;
            policy = run.adopt(&policy, &Bars::new(arguments.quiet))?;
            otherwise = run.measured_otherwise(&policy)?;
            run.file("policy.json")
        }
        None => {
            let path = arguments.out.clone().unwrap_or_else(|| arguments.file.with_extension("policy.json"));
            if !arguments.force && path.exists() {
                let source = io::Error::new(io::ErrorKind::AlreadyExists, "it is there already; --force replaces it");
                return Err(Error::Write { path, source }.into());
            }
            fpsrl::files::remove_leftovers_beside(&path);
            fpsrl::files::write_json(&path, &policy)?;
            path
        }
    };
    if arguments.json {
        terminal::json(&fpsrl::files::to_json(&policy)?)?;
    } else if !arguments.quiet {
        let sentences = fpsrl::explain::sentences(&policy);
        let mut lines: Vec<String> =
            sentences.iter().enumerate().map(|(index, sentence)| format!("{}. {sentence}", index + 1)).collect();
        lines.extend(fpsrl::explain::steepness(&policy).into_iter().flatten());
        lines.push(format!("the policy is in {}", written.display()));
        lines.extend(imported.notes.iter().map(|note| format!("note: {note}")));
        if imported.difference > 0.0 {
            lines.push(format!(
                "note: the file has no tanh; where several rules are active, actions differ by up to {:.1} % of their range",
                100.0 * imported.difference
            ));
        }
        if !otherwise.is_empty() {
            lines.push(format!(
                "note: it measures {} otherwise than the problem's rules (`periodic` below [policy]): it is scored as it is; \
                 a search takes its numbers in the problem's form",
                otherwise.join(", ")
            ));
        }
        if let Some(directory) = &arguments.into {
            let run = argument(directory);
            lines.push(format!("score it with `fpsrl evaluate {run}`; `fpsrl search {run}` begins with it"));
        }
        terminal::on_lines(&lines)?;
    }
    Ok(())
}

fn missing_tool(format: Format) -> &'static str {
    match format {
        Format::C => "install a C compiler, or name one with --tool",
        Format::Rust => "install rustc, or name it with --tool",
        Format::Python => "install Python 3, or name it with --tool",
        Format::Javascript => "install Node.js, or name it with --tool",
        Format::Onnx => "install Python 3 with the packages onnxruntime and numpy, or name such a Python with --tool",
        Format::Fll => "install Python 3 with the packages pyfuzzylite and numpy, or name such a Python with --tool",
        Format::Fis => "install Octave with its package fuzzy-logic-toolkit, or name it with --tool",
        Format::Fcl | Format::Json => "export again",
        Format::St => "install Python 3 with the packages blark and numpy, or name such a Python with --tool",
    }
}

fn told_differences(differences: &Differences, tool: &str) -> String {
    let mut text =
        format!("largest difference {:.1e} over {} states, by {tool}", differences.largest, differences.compared);
    if differences.wrong_flags > 0 {
        text += &format!("; the flag is wrong in {} states", differences.wrong_flags);
    }
    if differences.beyond_limits > 0 {
        text += &format!("; {} actions are beyond their limits", differences.beyond_limits);
    }
    if !differences.passed {
        text += "; that is too much";
    }
    text
}
