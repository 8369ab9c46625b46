//! Logs of the user's own: what becomes of them, by the rules of `docs/logs.md`.

use std::path::{Path, PathBuf};

use fpsrl::data::log::{self, Guess, Imported, TextOptions};
use fpsrl::data::{Transitions, csv, generate};
use fpsrl::draft;
use fpsrl::problem::{
    OneOrMany, Problem, Row, WrittenAction, WrittenData, WrittenProblem, WrittenState, WrittenSystem,
};
use fpsrl::progress::Progress;
use fpsrl::run::DataReport;
use proptest::prelude::*;

/// A directory with a log and a problem file of one state and one action.
struct Logs {
    directory: tempfile::TempDir,
}

const PROBLEM: &str = r#"
name = "tank"
horizon = 10
[[state]]
name = "level"
[[action]]
name = "valve"
limits = [-1.0, 1.0]
"#;

impl Logs {
    fn new(files: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(directory.path().join(name), text).unwrap();
        }
        Self { directory }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn import(&self, data: &str) -> fpsrl::Result<Imported> {
        let text = format!("{PROBLEM}\n[data]\n{data}");
        std::fs::write(self.path("problem.toml"), text).unwrap();
        let problem = WrittenProblem::read(&self.path("problem.toml"))?.check()?;
        Ok(DataReport::import(&problem, &Progress::silent())?.1)
    }
}

/// A valve that changes its value seldom enough and often enough.
fn valve(row: usize) -> f64 {
    [-1.0, 0.5, 1.0, -0.25][row * 7 / 3 % 4]
}

/// A level that the valve of the row before moved.
fn series(rows: usize) -> Vec<(f64, f64)> {
    let mut level = 1.0;
    (0..rows)
        .map(|row| {
            let now = level;
            level = 0.9 * level + 0.3 * valve(row) + 0.02 * (row as f64).sin();
            (now, valve(row))
        })
        .collect()
}

fn text(rows: usize) -> String {
    let mut text = "time,level,valve,reward\n".to_owned();
    for (row, (level, valve)) in series(rows).into_iter().enumerate() {
        text += &format!("{},{level:?},{valve:?},{:?}\n", row as f64 * 0.5, -level.abs());
    }
    text
}

const ROLES: &str = "file = \"log.csv\"\ntime = \"time\"\nreward = \"reward\"\n";

#[test]
fn a_time_series_becomes_transitions_between_its_rows() {
    let imported = Logs::new(&[("log.csv", &text(300))]).import(ROLES).unwrap();
    let Transitions { states, actions, next_states, rewards, episode, step, .. } = imported.transitions;
    assert_eq!(rewards.len(), 299);
    let rows = series(300);
    for row in 0..299 {
        assert_eq!((states[0][row], actions[0][row], next_states[0][row]), (rows[row].0, rows[row].1, rows[row + 1].0));
        assert_eq!((rewards[row], episode[row], step[row]), (-rows[row].0.abs(), 0, row as u64));
    }
    assert_eq!(imported.report.interval, Some(0.5));
    assert_eq!(imported.report.alignment.unwrap().fits, Some(Row::Next));
}

#[test]
fn actions_and_rewards_may_stand_in_the_row_that_they_led_to() {
    let rows = series(300);
    let mut text = "level,valve,reward\n".to_owned();
    for row in 0..300 {
        let led_here = if row == 0 { String::new() } else { format!("{:?}", rows[row - 1].1) };
        text += &format!("{:?},{led_here},{row}\n", rows[row].0);
    }
    let logs = Logs::new(&[("log.csv", &text)]);
    let data = "file = \"log.csv\"\nreward = \"reward\"\naction_leads_to = \"this\"\nreward_belongs_to = \"this\"\n";
    let imported = logs.import(data).unwrap();
    assert_eq!(imported.transitions.len(), 299);
    assert_eq!(imported.transitions.actions[0][..3], [valve(0), valve(1), valve(2)]);
    assert_eq!(imported.transitions.rewards[..3], [1.0, 2.0, 3.0]);
    assert_eq!(imported.report.alignment.unwrap().fits, Some(Row::This));
    // Set the wrong way round, the data contradict.
    let wrong = logs.import("file = \"log.csv\"\nreward = \"reward\"\n").unwrap();
    assert_eq!(wrong.report.alignment.unwrap().fits, Some(Row::This));
}

#[test]
fn gaps_missing_cells_repeated_and_disordered_rows_are_counted_and_cut() {
    let mut lines: Vec<String> = text(300).lines().map(str::to_owned).collect();
    // A gap of 20 rows, an empty cell, a repeated row, and two rows that are exchanged.
    lines.drain(201..221);
    lines[50] = lines[50].replacen(',', ",NaN,", 1).rsplitn(3, ',').last().unwrap().to_owned() + ",1,0";
    let repeated = lines[100].clone();
    lines.insert(101, repeated);
    lines.swap(150, 151);
    let cells: Vec<String> = lines[50].split(',').map(str::to_owned).collect();
    lines[50] = [&cells[0], "", "1.0", "0.0"].join(",");
    let imported = Logs::new(&[("log.csv", &(lines.join("\n") + "\n"))]).import(ROLES).unwrap();
    let report = imported.report;
    assert_eq!((report.gaps, report.duplicates, report.out_of_order), (1, 1, 1));
    // The empty cell takes part in two steps: to its row, and from it.
    assert_eq!(report.missing, 2);
    assert_eq!(imported.transitions.len(), 279 - 1 - 2);
    let time_step = |row: usize| imported.transitions.states[0][row + 1] == imported.transitions.next_states[0][row];
    let breaks = (0..imported.transitions.len() - 1).filter(|&row| !time_step(row)).count();
    assert_eq!(breaks, 2);
    assert_eq!(report.episodes, 2);
}

#[test]
fn irregular_rows_are_put_onto_a_grid_when_asked() {
    let mut text = "time,level,valve,reward\n".to_owned();
    let mut time = 0.0;
    for row in 0..400 {
        text += &format!("{time:?},{:?},{:?},1\n", 2.0 * time, valve(row / 3));
        time += [0.7, 1.0, 1.3, 0.4][row % 4];
    }
    let logs = Logs::new(&[("log.csv", &text)]);
    let cut = logs.import(ROLES).unwrap();
    assert!(cut.report.early > 50, "{:?}", cut.report);
    let grid = logs.import(&format!("{ROLES}resample = true\ninterval = 1.0\ngap = 3.0\n")).unwrap();
    assert!(grid.report.resampled && grid.report.gaps == 0 && grid.transitions.len() > 300);
    for row in 0..grid.transitions.len() {
        assert!((grid.transitions.states[0][row] - 2.0 * row as f64).abs() < 1e-9);
        assert!((grid.transitions.next_states[0][row] - 2.0 * (row + 1) as f64).abs() < 1e-9);
    }
}

#[test]
fn several_files_with_other_names_make_one_log() {
    let first = text(150);
    let second = text(150).replace("level", "LIC101.PV[m]").replace("valve", "LIC101.OP");
    let logs = Logs::new(&[("a.csv", &first), ("b.csv", &second)]);
    let problem = PROBLEM
        .replace("name = \"level\"", "name = \"level\"\ncolumn = [\"level\", \"LIC101.PV\"]")
        .replace("name = \"valve\"", "name = \"valve\"\ncolumn = [\"valve\", \"LIC101.OP\"]");
    let text = format!("{problem}\n[data]\nfile = [\"a.csv\", \"b.csv\"]\ntime = \"time\"\nreward = \"reward\"\n");
    std::fs::write(logs.path("problem.toml"), text).unwrap();
    let problem = WrittenProblem::read(&logs.path("problem.toml")).unwrap().check().unwrap();
    let (_, imported) = DataReport::import(&problem, &Progress::silent()).unwrap();
    assert_eq!((imported.transitions.len(), imported.report.episodes), (298, 2));
    assert_eq!(imported.transitions.states[0][..149], imported.transitions.states[0][149..]);
}

#[test]
fn a_long_log_is_thinned_to_stretches_and_that_is_said() {
    let logs = Logs::new(&[("log.csv", &text(5_000))]);
    let imported = logs.import(&format!("{ROLES}samples = 1000\n")).unwrap();
    assert_eq!((imported.report.transitions, imported.report.kept), (4_999, 1_000));
    let rows = series(5_000);
    let last = imported.transitions.states[0].last().unwrap();
    assert!(rows[4_900..].iter().any(|(level, _)| level == last), "the end of the log is not in it");
    let mut seen: Vec<u64> = imported.transitions.states[0].iter().map(|value| value.to_bits()).collect();
    seen.sort_unstable();
    seen.dedup();
    assert!(seen.len() > 990, "rows are there twice");
}

#[test]
fn terminal_rows_end_an_episode_and_those_without_a_next_state_are_lost_and_counted() {
    let mut with_last = "episode,level,valve,reward,done\n".to_owned();
    let mut without = with_last.clone();
    for episode in 0..30 {
        for step in 0..8 {
            let row = format!("{episode},{},{},0,{}\n", episode * 8 + step, valve(step + episode), u8::from(step == 7));
            with_last += &row;
            without += &row;
        }
        with_last += &format!("{episode},{},,,\n", 1_000 + episode);
    }
    let data = "file = \"log.csv\"\nepisode = \"episode\"\nreward = \"reward\"\nterminal = \"done\"\n";
    let whole = Logs::new(&[("log.csv", &with_last)]).import(data).unwrap();
    assert_eq!((whole.transitions.len(), whole.report.terminals, whole.report.lost_terminals), (240, Some(30), 0));
    let terminated = whole.transitions.terminated.unwrap();
    assert!((0..240).all(|row| terminated[row] == (row % 8 == 7)));
    assert_eq!(whole.transitions.next_states[0][7], 1_000.0);
    let cut = Logs::new(&[("log.csv", &without)]).import(data).unwrap();
    assert_eq!((cut.transitions.len(), cut.report.terminals, cut.report.lost_terminals), (210, Some(0), 30));
}

#[test]
fn time_that_begins_again_begins_an_episode() {
    let mut text = "t,level,valve,reward\n".to_owned();
    for row in 0..200 {
        text += &format!("{},{},{},0\n", row % 20, row, valve(row));
    }
    let imported =
        Logs::new(&[("log.csv", &text)]).import("file = \"log.csv\"\ntime = \"t\"\nreward = \"reward\"\n").unwrap();
    assert_eq!((imported.transitions.len(), imported.report.episodes, imported.report.out_of_order), (190, 10, 0));
    assert!(imported.report.notes[0].contains("begins again 9 times"));
}

#[test]
fn a_formula_gives_the_reward_that_a_log_lacks() {
    let logs = Logs::new(&[("log.csv", &text(200).replace("reward", "other"))]);
    let error = logs.import("file = \"log.csv\"\ntime = \"time\"\n").unwrap_err();
    assert!(error.to_string().starts_with("`data.reward` is missing"), "{error}");
    assert!(error.hint().unwrap().contains("below [world]"));
    let imported = logs.import("file = \"log.csv\"\ntime = \"time\"\n[world]\nreward = \"-2 * level\"\n").unwrap();
    assert_eq!(imported.transitions.rewards[0], -2.0 * imported.transitions.next_states[0][0]);
}

#[test]
fn init_drafts_a_file_that_runs_as_it_is() {
    let logs = Logs::new(&[("log.csv", &text(300).replace("level", "level[m]").replace(',', ";").replace('.', ","))]);
    let draft = draft::init(
        &[logs.path("log.csv")],
        logs.directory.path(),
        &TextOptions::default(),
        Guess::default(),
        &Progress::silent(),
    )
    .unwrap();
    std::fs::write(logs.path("problem.toml"), &draft.text).unwrap();
    let problem = WrittenProblem::read(&logs.path("problem.toml")).unwrap().check().unwrap();
    assert_eq!((problem.system.states()[0].name.as_str(), problem.system.states()[0].unit.as_str()), ("level", "m"));
    assert_eq!(problem.system.actions()[0].limits, [-1.0, 1.0]);
    assert!(draft.text.contains("a row every 0.5"), "{}", draft.text);
    assert!(draft.text.contains("an action leads to the next row"), "{}", draft.text);
    // One of 299 steps is lost to the history, which is chosen by the log.
    assert_eq!(DataReport::import(&problem, &Progress::silent()).unwrap().1.transitions.len(), 298);
}

#[test]
fn packed_logs_read_like_plain_ones() {
    let logs = Logs::new(&[("plain.csv", &text(300))]);
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut packer, text(300).as_bytes()).unwrap();
    let packed = packer.finish().unwrap();
    std::fs::write(logs.path("log.csv"), &packed).unwrap();
    let plain = logs.import(&ROLES.replace("log.csv", "plain.csv")).unwrap().transitions;
    assert_eq!(logs.import(ROLES).unwrap().transitions, plain);
    std::fs::write(logs.path("log.csv"), &packed[..packed.len() / 2]).unwrap();
    let error = logs.import(ROLES).unwrap_err();
    assert!(error.to_string().contains("cannot be unpacked"), "{error}");
}

/// A pendulum that turns over, as a problem whose `[[state]]` and `[data]` go on with these lines.
fn pendulum(logs: &Logs, state: &str, top: &str, data: &str) -> fpsrl::Result<Problem> {
    let text = format!(
        "name = 'pendulum'\nhorizon = 10\n{top}\n[[state]]\nname = 'theta'\n{state}\n[[action]]\nname = 'torque'\n\
         limits = [-1.0, 1.0]\n[data]\n{data}"
    );
    std::fs::write(logs.path("problem.toml"), text).unwrap();
    WrittenProblem::read(&logs.path("problem.toml"))?.check()
}

#[test]
fn a_log_in_degrees_gives_the_same_transitions_as_one_in_radians() {
    let turn = |row: usize| 0.11 * row as f64 + 0.3 * valve(row);
    let series = |unit: f64| {
        let rows = (0..300).map(|row| format!("{row},{:?},{:?},{row}\n", turn(row) * unit, valve(row)));
        "time,theta,torque,reward\n".to_owned() + &rows.collect::<String>()
    };
    let whole = |unit: f64| {
        let row = |row: usize| format!("{:?},{:?},{:?},{row}\n", turn(row) * unit, valve(row), turn(row + 1) * unit);
        "theta,torque,next_theta,reward\n".to_owned() + &(0..300).map(row).collect::<String>()
    };
    let starts = |unit: f64| format!("theta\n{:?}\n{:?}\n", 0.5 * unit, 4.0 * unit);
    let degrees = 1f64.to_degrees();
    for (log, data) in [
        (&series as &dyn Fn(f64) -> String, "time = 'time'\n"),
        (&series, "time = 'time'\nresample = true\ninterval = 1.5\n"),
        (&series, "time = 'time'\nhistory = 1\n"),
        (&whole, "next = 'next_'\n"),
    ] {
        let read = |unit: f64, state: &str| {
            let logs = Logs::new(&[("log.csv", &log(unit)), ("starts.csv", &starts(unit))]);
            let data = format!("file = 'log.csv'\nreward = 'reward'\n{data}");
            let problem = pendulum(&logs, state, "start = 'starts.csv'", &data).unwrap();
            fpsrl::Log::new(&problem, &Progress::silent()).unwrap()
        };
        let plain = read(1.0, "angle = true\nunit = 'rad'");
        let turned = read(degrees, "angle = 'degrees'\nunit = 'deg'");
        assert_eq!(turned.system().states()[0].unit, "rad");
        let near = |one: &[Vec<f64>], two: &[Vec<f64>]| {
            assert_eq!(one.len(), two.len());
            for (one, two) in one.iter().flatten().zip(two.iter().flatten()) {
                assert!((one - two).abs() < 1e-9 && one.abs() < 3.15, "{one} {two}");
            }
        };
        let of = |log: &fpsrl::Log| log.transitions().clone();
        let (one, two) = (of(&plain), of(&turned));
        assert!(one.len() > 150);
        assert_eq!((one.len(), &one.episode, &one.rewards), (two.len(), &two.episode, &two.rewards));
        near(&one.states[..1], &two.states[..1]);
        near(&one.next_states[..1], &two.next_states[..1]);
        near(plain.system().start_pool().unwrap(), turned.system().start_pool().unwrap());
        // What a run directory holds of it reads back to the same problem.
        let text = turned.problem().to_toml();
        let again = WrittenProblem::parse(&text, "problem.toml".as_ref()).unwrap().check().unwrap();
        assert!(again.system.states()[0].degrees && again.system.states()[0].angle);
        assert_eq!(again.to_toml(), text);
        let note = &turned.report().unwrap().import.notes[0];
        assert!(note.contains("`theta` is in degrees"), "{note}");
    }
}

#[test]
fn degrees_stand_only_in_a_log() {
    let logs = Logs::new(&[]);
    let told = |state: &str, data: &str| {
        let error = pendulum(&logs, state, "", data).unwrap_err();
        format!("{error} / {}", error.hint().unwrap_or_default())
    };
    let data = "file = 'log.csv'\nreward = 'reward'\n";
    let said = told("angle = 'degrees'\nstart = [-90, 90]", data);
    assert!(said.contains("`state.theta.start`") && said.contains("write `start = [-1.5708, 1.5708]`"), "{said}");
    assert!(told("angle = 'degrees'\nstart = [-1, 1]", "").contains("there is none"), "no log");
    assert!(told("angle = 'grad'", data).contains("\"degrees\""));
}

#[test]
fn too_many_variables_are_told_by_their_number() {
    let logs = Logs::new(&[]);
    let more: String = (0..79).map(|index| format!("\n[[state]]\nname = 'x{index}'")).collect();
    let error = pendulum(&logs, &more, "", "file = 'log.csv'\nreward = 'reward'\nhistory = 2\n").unwrap_err();
    assert_eq!(error.to_string(), "`[[state]]` is a list of 80 variables, but at most 64 are possible");
}

/// Writes a log as fpsrl does, and imports it again as a log of the user's own.
fn there_and_back(problem: &Problem, transitions: &Transitions, path: &Path) -> Transitions {
    csv::write(path, &problem.system, transitions).unwrap();
    let column = |name: &str| Some(OneOrMany::One(name.to_owned()));
    let states = problem.system.states().iter().map(|state| WrittenState {
        name: state.name.clone(),
        angle: Some(state.angle.into()),
        start: Some(state.start),
        ..WrittenState::default()
    });
    let actions = problem.system.actions().iter().map(|action| WrittenAction {
        name: action.name.clone(),
        limits: Some(action.limits),
        ..WrittenAction::default()
    });
    let own = WrittenProblem {
        system: WrittenSystem {
            name: Some(problem.system.name().to_owned()),
            horizon: Some(problem.system.horizon()),
            states: states.collect(),
            actions: actions.collect(),
            ..WrittenSystem::default()
        },
        data: WrittenData {
            samples: Some(1_000_000),
            file: Some(OneOrMany::One(path.to_str().unwrap().to_owned())),
            next: Some("next_".into()),
            episode: column("episode"),
            reward: column("reward"),
            terminal: transitions.terminated.as_ref().and_then(|_| column("terminated")),
            ..WrittenData::default()
        },
        ..WrittenProblem::default()
    };
    DataReport::import(&own.check().unwrap(), &Progress::silent()).unwrap().1.transitions
}

#[test]
fn what_our_writer_writes_is_imported_to_the_same_transitions() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["mountain-car", "cart-pole-balancing", "cart-pole-swing-up"] {
        let mut problem = Problem::benchmark(name).unwrap();
        problem.data.samples = 2_000;
        let transitions = generate::generate(&problem.system, &problem.data, &Progress::silent()).unwrap();
        assert_eq!(there_and_back(&problem, &transitions, &directory.path().join("log.csv")), transitions);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn any_transitions_that_our_writer_writes_come_back(
        rows in prop::collection::vec(
            (prop::num::f64::NORMAL, prop::num::f64::NORMAL, -1.0..1.0f64, prop::num::f64::NORMAL, prop::num::f64::NORMAL,
             prop::num::f64::NORMAL, any::<bool>()), 100..200),
        lengths in 1usize..30,
        known in any::<bool>(),
    ) {
        let problem = Problem::benchmark("mountain-car").unwrap();
        let mut transitions = Transitions::new(2, 1);
        transitions.terminated = known.then(Vec::new);
        for (index, (x, v, a, next_x, next_v, reward, ended)) in rows.into_iter().enumerate() {
            transitions.episode.push((index / lengths) as u64);
            transitions.step.push((index % lengths) as u64);
            transitions.states[0].push(x);
            transitions.states[1].push(v);
            transitions.actions[0].push(a);
            transitions.next_states[0].push(next_x);
            transitions.next_states[1].push(next_v);
            transitions.rewards.push(reward);
            if let Some(terminated) = &mut transitions.terminated {
                terminated.push(ended);
            }
        }
        let directory = tempfile::tempdir().unwrap();
        prop_assert_eq!(there_and_back(&problem, &transitions, &directory.path().join("log.csv")), transitions);
    }

    #[test]
    fn no_file_makes_the_import_panic(bytes in prop::collection::vec(any::<u8>(), 0..400), magic in 0usize..6) {
        let directory = tempfile::tempdir().unwrap();
        let begin: [&[u8]; 6] = [b"", b"PAR1", b"\x89HDF\r\n\x1a\n", b"PK\x03\x04", &[0x1f, 0x8b, 8, 0], b"time,level,valve\n"];
        let path = directory.path().join("log");
        std::fs::write(&path, [begin[magic], &bytes].concat()).unwrap();
        let _ = log::read(&path, &TextOptions::default(), &|_, _| true, &Progress::silent());
        let _ = draft::init(&[path], directory.path(), &TextOptions::default(), Guess::default(), &Progress::silent());
    }
}
