//! Logs that are tables in memory, simulators that are functions, and runs that were made without a directory: they give
//! what files give.

use std::path::Path;
use std::sync::Arc;

use fpsrl::data::log::{Column, Guess, Kind, Table, TextOptions, read};
use fpsrl::problem::{Budget, WrittenProblem};
use fpsrl::run::{self, RunDirectory};
use fpsrl::world::{OwnSimulator, Simulator, World};
use fpsrl::{Error, Log, Problem, Progress, draft};

const TANK: &str = "name = 'tank'\nhorizon = 20\nstart = 'data'\n[[input]]\nname = 'kind'\nvalues = ['milk', 'water']\n\
                    [[state]]\nname = 'level'\n[[action]]\nname = 'valve'\nlimits = [0.0, 1.0]\n\
                    [world]\nreward = '-abs(level - 1)'\n";

/// A tank that is filled by a valve, as the text of a log.
fn text(rows: usize) -> String {
    let mut level = 0.5;
    let mut text = "level[m];valve;kind\n".to_owned();
    for row in 0..rows {
        let valve = ((row * row) % 11) as f64 / 10.0;
        let kind = if row / 50 % 2 == 0 { "milk" } else { "water" };
        text += &format!("{level:?};{valve};{kind}\n");
        level += 0.1 * valve - 0.05 * level;
    }
    text
}

fn problem_of(file: &str, more: &str) -> Problem {
    let text = format!("{TANK}{more}\n[data]\nfile = '{file}'\n");
    WrittenProblem::parse(&text, "tank.toml".as_ref()).unwrap().check().unwrap()
}

#[test]
fn a_table_gives_the_log_and_the_draft_that_its_file_gives() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.csv");
    std::fs::write(&path, text(400)).unwrap();
    let table = read(&path, &TextOptions::default(), &|_, _| true, &Progress::silent()).unwrap();
    let values: Vec<Vec<f64>> = table.columns.iter().map(|column| column.values.to_vec()).collect();
    let columns = table.columns.iter().zip(&values).map(|(column, values)| Column {
        kind: column.kind,
        words: column.words.clone(),
        ..Column::of_numbers(column.title.clone(), &values[..])
    });
    let lent = Table::in_memory(columns.collect());

    let of_file = Log::new(&problem_of(&path.to_string_lossy(), ""), &Progress::silent()).unwrap();
    let problem = problem_of("<frame>", "");
    let of_table = Log::from_tables(&problem, std::slice::from_ref(&lent), &Progress::silent()).unwrap();
    assert_eq!(of_table.transitions(), of_file.transitions());
    assert_eq!(of_table.problem().system, of_file.problem().system);
    assert_eq!(of_table.report().unwrap().import.files[0].path, Path::new("<frame>"));
    assert_eq!(lent.columns[2].kind, Kind::Text, "a table that was lent is as it was");

    let from_file =
        draft::init(&[path], directory.path(), &TextOptions::default(), Guess::default(), &Progress::silent()).unwrap();
    let from_table = draft::of_tables(&[lent], "log", Guess::default()).unwrap();
    assert_eq!(from_table.text, from_file.text.replace("log.csv", "<frame>"));
    assert_eq!((from_table.found, from_table.unknown), (from_file.found, from_file.unknown));
}

#[test]
fn a_cell_of_a_frame_is_named_by_its_row_from_0_and_a_frame_is_looked_for_in_no_directory() {
    let problem = problem_of("<frame>", "");
    let columns = [("level", [0.5, f64::INFINITY, 0.5]), ("valve", [0.0; 3]), ("kind", [f64::NAN; 3])];
    let columns = columns.iter().map(|(name, values)| Column::of_numbers(*name, &values[..])).collect();
    let error = Log::from_tables(&problem, &[Table::in_memory(columns)], &Progress::silent()).unwrap_err();
    assert!(matches!(&error, Error::Cell { row: 1, column, .. } if column == "level"), "{error:?}");
    assert!(error.to_string().starts_with("<frame>, row 1 (counted from 0), column `level`: `inf`"), "{error}");
    assert!(error.is_users() && error.hint().is_some());

    let error = Log::new(&problem, &Progress::silent()).unwrap_err();
    assert!(error.to_string().contains("there is no file to read it from"), "{error}");
    let error = Log::from_tables(&problem, &[Table::in_memory(Vec::new())], &Progress::silent()).unwrap_err();
    assert!(error.to_string().contains("there is no row in it"), "{error}");
}

#[test]
fn what_was_made_in_memory_is_saved_as_the_command_saves_it() {
    let more = "kind = 'ensemble'\nmembers = 2\nlayers = 1\nepochs = 4\n[search]\nstart_states = 10\n\
                [policy]\nrules = 2\n[evaluation]\nstart_states = 20";
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("log.csv");
    std::fs::write(&path, text(600)).unwrap();
    let mut problem = problem_of(&path.to_string_lossy(), more);
    problem.search.budget = Some(Budget::Steps(60_000));
    let progress = Progress::silent();
    let worlds = Log::new(&problem, &progress).unwrap().fit(&problem.world, &progress).unwrap();
    let found = worlds.search(&problem.policy, &problem.search, &progress).unwrap();
    let judged = found.judge(&problem.evaluation, &progress).unwrap().with_ceiling(&[], &progress).unwrap();
    let saved = run::save(&judged, &parent.path().join("saved"), false, &progress).unwrap();

    let made = run::generate(&problem, &parent.path().join("made"), false, &progress).unwrap();
    let options = fpsrl::search::SearchOptions::of(&problem.search, true);
    made.fit(&progress).unwrap();
    made.search(options, &progress).unwrap();
    made.evaluate(options, &progress).unwrap();
    made.ceiling(options, &progress).unwrap();
    made.report(&run::ReportOptions::default(), &progress).unwrap();
    let names = |run: &RunDirectory| -> Vec<String> {
        let entries = std::fs::read_dir(run.path()).unwrap();
        let mut names: Vec<String> = entries.map(|one| one.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    assert_eq!(names(&saved), names(&made));
    let exact = ["problem.toml", "transitions.csv", "data.json", "starts.csv", "world.json", "policy.json"];
    for name in exact {
        assert_eq!(std::fs::read(saved.file(name)).unwrap(), std::fs::read(made.file(name)).unwrap(), "{name}");
    }
    let (ours, theirs) = (saved.summary().unwrap(), made.summary().unwrap());
    assert!(ours.same_figures(&theirs), "{ours:?}\n{theirs:?}");
    let stages = |summary: &run::Summary| summary.seconds.0.iter().map(|(stage, _)| stage.clone()).collect::<Vec<_>>();
    assert_eq!(stages(&ours), stages(&theirs));

    // What was saved goes on as a run, is refused a second time, and is copied as it stands.
    saved.evaluate(options, &progress).unwrap();
    assert!(matches!(run::save(&judged, saved.path(), false, &progress), Err(Error::RunExists { .. })));
    let copy = saved.copy_to(&parent.path().join("copy"), false).unwrap();
    assert!(copy.judged(&copy.problem().unwrap()).is_ok());

    // A policy from elsewhere is saved with what searches begin with.
    let other = worlds.judge(judged.policy(), &problem.evaluation, &progress).unwrap();
    let other = run::save(&other, &parent.path().join("other"), false, &progress).unwrap();
    assert!(other.file("start.json").exists() && !other.file("search.csv").exists());
    assert!(other.source().is_ok());
}

/// A tank that somebody computes.
struct Tank;

impl World for Tank {
    fn state_count(&self) -> usize {
        1
    }

    fn action_count(&self) -> usize {
        1
    }

    fn advance(&self, lanes: &mut fpsrl::rollout::Lanes, _: fpsrl::simd::Numerics) {
        let columns = lanes.columns();
        for lane in 0..columns.live {
            columns.states[lane] += 0.1 * columns.actions[lane] - 0.05 * columns.states[lane];
            columns.rewards[lane] = -(columns.states[lane] - 1.0).abs();
            columns.absorbed[lane] = 0.0;
        }
    }

    fn largest_reward(&self) -> f64 {
        0.0
    }
}

impl Simulator for Tank {
    fn check(&self) -> fpsrl::Result<()> {
        Ok(())
    }
}

#[test]
fn a_function_is_a_world_that_a_directory_tells_of_and_only_its_program_has() {
    let text = "name = 'tank'\nhorizon = 20\n[[state]]\nname = 'level'\nstart = [0.0, 1.0]\n[[action]]\nname = 'valve'\n\
                limits = [0.0, 1.0]\n[data]\nsamples = 300\n[world]\nprocess = ['<function>', 'tank']\n\
                [policy]\nrules = 2\n[search]\nstart_states = 10\n[evaluation]\nstart_states = 20\n";
    let written = || WrittenProblem::parse(text, "tank.toml".as_ref()).unwrap().check().unwrap();
    let mut problem = written();
    problem.search.budget = Some(Budget::Steps(30_000));
    let error = Log::new(&problem, &Progress::silent()).unwrap_err();
    assert!(error.to_string().contains("a function of another program"), "{error}");

    problem.world.simulator = Some(OwnSimulator::new(Arc::new(Tank)));
    let progress = Progress::silent();
    let worlds = Log::new(&problem, &progress).unwrap().fit(&problem.world, &progress).unwrap();
    let found = worlds.search(&problem.policy, &problem.search, &progress).unwrap();
    let judged = found.judge(&problem.evaluation, &progress).unwrap();
    let parent = tempfile::tempdir().unwrap();
    let saved = run::save(&judged, &parent.path().join("run"), false, &progress).unwrap();
    let mut again = saved.problem().unwrap();
    assert!(saved.judged(&again).is_err());
    again.world.simulator.clone_from(&problem.world.simulator);
    assert_eq!(saved.judged(&again).unwrap().policy(), judged.policy());
}
