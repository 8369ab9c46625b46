//! Run directories that somebody has changed a file of.
//!
//! Digests say which files belong together, so a changed file is refused before anybody looks into it. An attacker writes the
//! right digests into the others; so does this.

use fpsrl::Result;
use fpsrl::data::system::System;
use fpsrl::explain;
use fpsrl::export::{FORMATS, Settings, Target as Export};
use fpsrl::figures::{Front, NfqResult, Summary};
use fpsrl::files;
use fpsrl::pi_result::PiResult;
use fpsrl::policy::FuzzyPolicy;
use fpsrl::problem::Problem;
use fpsrl::progress::{Progress, Stop};
use fpsrl::run::{ReportOptions, RunDirectory};
use fpsrl::search::SearchOptions;
use fpsrl::sweep::Sweep;
use fpsrl::trade::Trade;
use fpsrl::world::file::WorldFile;

use super::{Target, Trouble};
use crate::input::Input;
use crate::place::{self, Place};
use crate::seeds::runs::{Files, NAMES};

/// Run directories; the others in the list are no runs.
const RUNS: &[&str] = &["finished", "plant", "stopped", "grown"];

/// Single JSON files of a run, without the others.
pub(super) const FILES: Target = Target {
    name: "files",
    reads: "single files of a run",
    share: 5.0,
    short: 300,
    seeds: |place| place::inputs(place, RUNS, |file| file.ends_with(".json")),
    run: |input, _| {
        let file = input.name.rsplit('/').next().unwrap_or(&input.name);
        let (bytes, path) = (input.bytes.as_slice(), input.name.as_ref());
        match file {
            "world.json" => {
                let (learned, _) = files::parse_json::<WorldFile>(bytes, path)?.into_worlds();
                // What is wrong with them is said by whoever reads the directory, with its name.
                let _ = learned.validate();
            }
            "summary.json" => drop(files::parse_json::<Summary>(bytes, path)?),
            "front.json" => drop(files::parse_json::<Front>(bytes, path)?),
            "nfq.json" => drop(files::parse_json::<NfqResult>(bytes, path)?),
            "pi.json" => drop(files::parse_json::<PiResult>(bytes, path)?),
            "trade.json" => drop(files::parse_json::<Trade>(bytes, path)?),
            "data.json" | "checkpoint.json" | "growth.json" => {
                drop(files::parse_json::<serde_json::Value>(bytes, path)?)
            }
            _ => drop(files::parse_json::<FuzzyPolicy>(bytes, path)?.fault()),
        }
        Ok(())
    },
};

/// A run directory, opened and used.
pub(super) const RUN: Target = Target {
    name: "run",
    reads: "a run directory: opened, judged, exported, gone on with",
    share: 0.2,
    short: 60,
    seeds: |place| {
        let wanted = |file: &str| !file.ends_with(".html") && !file.ends_with("nfq.csv");
        let mut all = place::inputs(place, RUNS, wanted)?;
        all.extend(place::inputs(place, &["sweep"], |file| {
            file.ends_with("planned.json") || file.contains("failures")
        })?);
        Ok(all)
    },
    run,
};

/// A run directory, of which a report is made.
pub(super) const REPORT: Target = Target {
    name: "report",
    reads: "a run directory: its report",
    share: 0.002,
    short: 3,
    seeds: |place| {
        place::inputs(place, &["finished", "plant"], |file| !file.ends_with(".html") && !file.starts_with("nfq.csv"))
    },
    run: report,
};

/// The directory and the file of an input.
fn parts(input: &Input) -> (&'static str, &str) {
    let (directory, file) = input.name.split_once('/').unwrap_or(("finished", &input.name));
    (NAMES.into_iter().find(|name| *name == directory).unwrap_or("finished"), file)
}

fn run(input: &Input, place: &mut Place) -> Result<(), Trouble> {
    let (name, file) = parts(input);
    if name == "sweep" {
        let directory = place.run(name, &Files::from([(file.to_owned(), input.bytes.clone())]))?;
        Sweep::read(&directory.join("sweep.toml"))?.states()?;
        return Ok(());
    }
    let run = opened(input, place)?;
    let problem = run.problem()?;
    if problem.world.process.is_some() {
        // Nothing here starts the program of an input.
        return Ok(());
    }
    place.note(run.transitions(&problem));
    // A search that was stopped has found none yet.
    if run.file("policy.json").exists()
        && let Some(policy) = place.note(run.policy(&problem))
    {
        explain::sentences(&policy);
        explain::steepness(&policy);
        explain::unused_inputs(&policy);
    }
    if name == "finished" || name == "plant" {
        let judged = place.note(run.judged(&problem));
        if let Some(judged) = &judged
            && let Some(world) = place.note(judged.worlds().source().first(&problem.system))
        {
            step(world.as_ref(), &problem.system, judged.policy());
        }
        if let Some(source) = place.note(run.source())
            && let Some(controller) = place.note(source.controller(&Settings::default()))
        {
            let format = FORMATS[input.bytes.len() % FORMATS.len()];
            place.note(Export::new(format).generate(&controller, Some(&source.provenance), "car"));
        }
        place.note(run.simple_policy(&problem));
        place.note(run.data_report());
        let there = |name: &str| run.file(name).exists();
        if there("nfq.json") {
            place.note(run.nfq_result());
        }
        if there("pi.json") {
            place.note(run.pi_result());
        }
        return Ok(());
    }
    place.written(name);
    // What is gone on with stops at once: reading is what is tried.
    let stop = Stop::default();
    stop.request();
    let options = SearchOptions::of(&problem.search, true);
    match run.resume(options, &Progress::silent().stopped_by(&stop)) {
        Err(fpsrl::Error::Stopped { .. }) => Ok(()),
        other => Ok(other.map(drop)?),
    }
}

/// A step of a world under a policy.
fn step(world: &dyn fpsrl::world::World, system: &System, policy: &FuzzyPolicy) {
    use fpsrl::policy::{FuzzyKernel, Policy};
    use fpsrl::rollout::Lanes;
    use fpsrl::simd::{Mode, Numerics};
    let numerics = Numerics::detect(Mode::Fast);
    let mut lanes = Lanes::new(world.state_count(), world.action_count(), 8);
    lanes.set_live(8);
    for variable in 0..world.state_count() {
        let value = [0.0f32, 1.0, -1e30, f32::NAN][variable % 4];
        lanes.state_mut(variable)[..8].fill(value);
    }
    if system.policy_states().len() <= world.state_count() {
        FuzzyKernel::new(policy).act(&mut lanes, numerics);
    }
    world.advance(&mut lanes, numerics);
}

fn report(input: &Input, place: &mut Place) -> Result<(), Trouble> {
    let run = opened(input, place)?;
    place.written(parts(input).0);
    if run.problem()?.world.process.is_some() {
        return Ok(());
    }
    run.report(&ReportOptions::default(), &Progress::silent())?;
    Ok(())
}

/// The run directory with the changed file in it, and digests that fit it.
fn opened(input: &Input, place: &mut Place) -> Result<RunDirectory> {
    let (name, file) = parts(input);
    let mut files = place.original(name)?.clone();
    files.insert(file.to_owned(), input.bytes.clone());
    // The digests of problems are of what was understood of them.
    let directory = place.run(name, &Files::from([(file.to_owned(), input.bytes.clone())]))?;
    let problem = RunDirectory::open(&directory).and_then(|run| run.problem()).ok();
    let stamped = stamped(files, problem.as_ref());
    RunDirectory::open(&place.run(name, &stamped)?)
}

/// The files with the digests of each other.
fn stamped(mut files: Files, problem: Option<&Problem>) -> Files {
    let digests = problem.and_then(digests);
    let of = |files: &Files, name: &str| files.get(name).map(|bytes| files::sha256_of(bytes));
    // Each stands behind what it is made from.
    let policies = |directory: &str, files: &Files| -> Vec<String> {
        files.keys().filter(|name| name.starts_with(directory) && name.contains("policy-")).cloned().collect()
    };
    for name in [
        "world.json",
        "front/front.json",
        "trade.json",
        "nfq.json",
        "pi.json",
        "checkpoint.json",
        "growth.json",
        "summary.json",
    ] {
        let Some(bytes) = files.get(name) else { continue };
        let Ok(text) = std::str::from_utf8(bytes) else { continue };
        let mut text = text.to_owned();
        let mut put = |key: &str, digest: Option<String>| {
            if let Some(digest) = digest {
                text = with_digest(&text, key, &digest);
            }
        };
        put("data_sha256", of(&files, "transitions.csv"));
        put("starts_sha256", of(&files, "starts.csv"));
        put("policy_sha256", of(&files, "policy.json"));
        put("search_sha256", of(&files, "search.csv"));
        if name != "world.json" {
            put("world_sha256", of(&files, "world.json"));
        }
        if let Some([world, whole, evaluation]) = &digests {
            put("problem_sha256", Some(if name == "world.json" { world } else { whole }.clone()));
            put("evaluation_sha256", Some(evaluation.clone()));
        }
        let directory = if name == "trade.json" { "trade/" } else { "front/" };
        if name == "trade.json" || name == "front/front.json" {
            for policy in policies(directory, &files) {
                let digest = of(&files, &policy).unwrap_or_default();
                text = with_digest_of(&text, policy.trim_start_matches(directory), &digest);
            }
        }
        files.insert(name.to_owned(), text.into_bytes());
    }
    files
}

/// A digest written into a text of JSON, wherever the key has one.
fn with_digest(text: &str, key: &str, digest: &str) -> String {
    let marked = format!("\"{key}\"");
    let mut parts = text.split(&marked);
    let mut whole = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        whole.push_str(&marked);
        whole.push_str(&replaced(part, digest));
    }
    whole
}

/// The digest of a policy written behind its file's name.
fn with_digest_of(text: &str, file: &str, digest: &str) -> String {
    let Some((before, after)) = text.split_once(&format!("\"{file}\"")) else { return text.to_owned() };
    let Some((between, rest)) = after.split_once("\"sha256\"") else { return text.to_owned() };
    format!("{before}\"{file}\"{between}\"sha256\"{}", replaced(rest, digest))
}

/// The text behind a key, whose value gives way if it is a digest.
fn replaced(rest: &str, digest: &str) -> String {
    let begin = rest.find('"').unwrap_or(0);
    let is_value = rest[..begin].chars().all(|sign| sign == ':' || sign.is_whitespace());
    let old = rest.get(begin + 1..begin + 65).filter(|old| old.bytes().all(|byte| byte.is_ascii_hexdigit()));
    match old {
        Some(_) if is_value => format!("{}\"{digest}{}", &rest[..begin], &rest[begin + 65..]),
        _ => rest.to_owned(),
    }
}

/// The digests of a problem that stand in files made for it: of what worlds are learned by, of everything, of `[evaluation]`.
fn digests(problem: &Problem) -> Option<[String; 3]> {
    let digest = |text: Result<String, serde_json::Error>| text.ok().map(|text| files::sha256_of(text.as_bytes()));
    let mut table: toml::Table = problem.to_toml().parse().ok()?;
    let evaluation = digest(serde_json::to_string(&table.get("evaluation")))?;
    let system = &problem.system;
    let states: Vec<_> = system.states().iter().map(|state| (&state.name, state.angle)).collect();
    let actions: Vec<_> = system
        .actions()
        .iter()
        .map(|action| (&action.name, action.rate, action.set_point.as_ref().map(|point| point.limits)))
        .collect();
    let settings = (system.seed(), table.get("world").cloned(), states, actions);
    let world = match system.costs() {
        None => digest(serde_json::to_string(&settings))?,
        Some(costs) => digest(serde_json::to_string(&(settings, costs)))?,
    };
    for other in ["format", "data", "evaluation"] {
        table.remove(other);
    }
    Some([world, digest(serde_json::to_string(&table))?, evaluation])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_that_are_written_anew_are_those_of_the_files() {
        let directory = tempfile::tempdir().unwrap();
        let mut place = Place::new(&directory.path().join("at"), &directory.path().join("originals"));
        for name in RUNS {
            let files = place.original(name).unwrap().clone();
            let run = RunDirectory::open(&place.run(name, &Files::new()).unwrap()).unwrap();
            assert!(files.contains_key("world.json"));
            let mut wrong = files.clone();
            for (file, bytes) in
                wrong.iter_mut().filter(|(file, _)| file.ends_with(".json") && !file.contains("policy-"))
            {
                let text = String::from_utf8(bytes.clone()).unwrap();
                let zeros = "0".repeat(64);
                let text = ["data_sha256", "world_sha256", "problem_sha256", "policy_sha256"]
                    .iter()
                    .fold(text, |text, key| with_digest(&text, key, &zeros));
                *bytes = text.into_bytes();
                assert!(!file.is_empty());
            }
            let again = stamped(wrong, run.problem().ok().as_ref());
            for (file, bytes) in &files {
                assert!(again[file] == *bytes, "{name}/{file}");
            }
        }
    }
}
