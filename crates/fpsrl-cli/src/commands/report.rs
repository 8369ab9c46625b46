//! `report` and `explain`: a run for people.

use std::path::PathBuf;

use fpsrl::data::system::StateVariable;
use fpsrl::explain::{self, DataProfile};
use fpsrl::files;
use fpsrl::run::REPORT;
use fpsrl::run::RunDirectory;

use super::{begin, opened, print};
use crate::Failure;
use crate::arguments::{ExplainArguments, ReportArguments};
use crate::progress::Bars;

/// Writes a run's report.
pub fn report(arguments: &ReportArguments) -> Result<(), Failure> {
    let manner = &arguments.existing.manner;
    let run = opened(&arguments.existing.directory, manner)?;
    let bars = begin(manner);
    let _lock = run.lock()?;
    let summary = run.report(&arguments.options(), &bars).map_err(|error| match error {
        fpsrl::Error::Stopped { .. } => {
            Failure::Interrupted { message: error.to_string(), hint: "give the same command again".into() }
        }
        other => Failure::Library(other),
    })?;
    if manner.json {
        print(manner, || summary.text(), || Ok(String::new()))?;
    }
    bars.say(&format!("the report is {}", run.file(REPORT).display()));
    Ok(())
}

/// Explains a run's rules in words and pictures.
pub fn explain(arguments: &ExplainArguments) -> Result<(), Failure> {
    let manner = &arguments.existing.manner;
    let bars = begin(manner);
    let run = RunDirectory::open(&arguments.existing.directory)?;
    let problem = run.problem()?;
    let policy = if arguments.simple { run.simple_policy(&problem)? } else { run.policy(&problem)? };
    let seen = problem.system.policy_states();
    let example = match arguments.state.as_slice() {
        [] => {
            let middle = |state: &StateVariable| {
                let middle = 0.5 * (state.start[0] + state.start[1]);
                // There is nothing between two modes.
                if state.values().is_empty() { middle } else { middle.round() }
            };
            // What is remembered, and errors, follow from the present.
            let current = &problem.system.states()[..problem.system.current_states()];
            problem.system.at_rest(&current.iter().map(middle).collect::<Vec<f64>>())
        }
        given if given.len() == seen.len() && given.iter().all(|value| value.is_finite()) => given.to_vec(),
        given => {
            let names: Vec<&str> = seen.iter().map(|state| state.name.as_str()).collect();
            return Err(Failure::Library(fpsrl::Error::Setting {
                key: "--state".into(),
                value: format!("{} numbers", given.len()),
                rule: format!("a state has {}", names.len()),
                remedy: format!("give {} in this order, as finite numbers", names.join(", ")).into(),
            }));
        }
    };
    let sentences = explain::sentences(&policy);
    print(
        manner,
        || files::to_json(&policy),
        || {
            let numbered = sentences.iter().enumerate().map(|(index, text)| format!("{}. {text}\n", index + 1));
            let mut text: String = numbered.collect();
            text.extend(explain::steepness(&policy).into_iter().flatten().map(|sentence| sentence + "\n"));
            let unused = explain::unused_inputs(&policy);
            if !unused.is_empty() {
                text.push_str(&format!("not looked at: {}\n", unused.join(", ")));
            }
            Ok(text)
        },
    )?;
    #[cfg(feature = "png")]
    let wants_png = arguments.png.is_some();
    #[cfg(not(feature = "png"))]
    let wants_png = false;
    if arguments.svg.is_none() && !wants_png {
        return Ok(());
    }
    let profile = DataProfile::new(&problem.system, &run.transitions(&problem)?);
    let picture = explain::rule_picture(&policy, &profile, problem.system.plant(), &example);
    let place = |given: &Option<PathBuf>, name: &str| given.clone().unwrap_or_else(|| run.file(name));
    if let Some(given) = &arguments.svg {
        write(&place(given, "rules.svg"), picture.as_bytes(), &bars)?;
    }
    #[cfg(feature = "png")]
    if let Some(given) = &arguments.png {
        write(&place(given, "rules.png"), &explain::png(&picture)?, &bars)?;
    }
    Ok(())
}

fn write(path: &std::path::Path, bytes: &[u8], bars: &Bars) -> Result<(), Failure> {
    files::remove_leftovers_beside(path);
    files::write_atomically(path, |file| file.write_all(bytes))?;
    bars.say(&format!("the picture is {}", path.display()));
    Ok(())
}
