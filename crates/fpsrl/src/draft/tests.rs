//! Whole drafts, from logs of small plants.

use fpsrl_base::random::{Purpose, Stream};
use fpsrl_data::log::InputGuess;
use fpsrl_data::{DataSettings, System, generate};

use super::*;

/// A number between -1 and 1 that looks random.
fn noise(row: usize, place: u32) -> f64 {
    2.0 * Stream::new(7, Purpose::SwarmStart).uniform(row as u32, 0, place) - 1.0
}

/// A tank under a PI controller: level, set-point, weather, valve.
fn tank(rows: usize, speed: f64) -> Vec<[f64; 4]> {
    let (mut level, mut sum, mut weather) = (20.0, 0.0, 0.0);
    (0..rows)
        .map(|row| {
            let set_point = 20.0 + (4.0 * noise(row / 100, 3)).round() / 2.0;
            weather += -0.02 * weather + 0.3 * noise(row, 4);
            let measured = level + 0.02 * noise(row, 5);
            sum += 0.05 * (set_point - measured);
            let valve = (50.0 + 6.0 * (set_point - measured) + 8.0 * sum).clamp(0.0, 100.0);
            level += speed * (20.0 + 0.2 * (valve - 50.0) + 0.5 * weather - level);
            [measured, set_point, weather, valve]
        })
        .collect()
}

fn text(header: &str, rows: impl Iterator<Item = String>) -> String {
    format!("{header}\n{}\n", rows.collect::<Vec<_>>().join("\n"))
}

fn tank_text(header: &str) -> String {
    text(header, tank(2_500, 0.1).into_iter().map(|[y, r, d, u]| format!("{y:.4};{r};{d:.4};{u:.3}")))
}

/// The draft of a log, which lies in a directory.
fn draft_of(log: &str, guess: Guess) -> (Result<Draft>, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.csv");
    std::fs::write(&path, log).unwrap();
    let draft = init(&[path], directory.path(), &TextOptions::default(), guess, &Progress::silent());
    (draft, directory)
}

fn drafted(log: &str) -> Draft {
    draft_of(log, Guess::default()).0.unwrap()
}

fn parsed(draft: &Draft) -> toml::Table {
    toml::from_str(&draft.text).unwrap_or_else(|error| panic!("{error}\n{}", draft.text))
}

fn says(lines: &[String], part: &str) {
    assert!(lines.iter().any(|line| line.contains(part)), "{part}: {lines:#?}");
}

#[test]
fn a_loop_is_drafted_with_its_set_point_its_disturbance_and_its_mode() {
    let rows = tank(2_500, 0.1).into_iter().enumerate();
    let log = text(
        "TIC101.PV[degC];TIC101.SP[degC];DV;Mode;TIC101.OUT[%]",
        rows.map(|(row, [y, r, d, u])| format!("{y:.4};{r};{d:.4};{};{u:.3}", ["ECO", "COMFORT"][row / 500 % 2])),
    );
    let (draft, directory) = draft_of(&log, Guess::default());
    let draft = draft.unwrap();
    std::fs::write(directory.path().join("problem.toml"), &draft.text).unwrap();
    // It runs as it is.
    let problem = WrittenProblem::read(&directory.path().join("problem.toml")).unwrap().check().unwrap();
    assert!(DataReport::import(&problem, &Progress::silent()).unwrap().1.transitions.len() > 2_000);
    let file = parsed(&draft);
    let inputs = file["input"].as_array().unwrap();
    let names: Vec<&str> = inputs.iter().map(|input| input["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["TIC101_SP", "DV", "Mode"]);
    assert_eq!(inputs[0]["column"].as_str(), Some("TIC101.SP[degC]"));
    assert_eq!(inputs[0]["unit"].as_str(), Some("degC"));
    assert_eq!(inputs[2]["values"], toml::Value::from(vec!["COMFORT", "ECO"]));
    let state = &file["state"][0];
    assert_eq!((state["name"].as_str(), state["tracks"].as_str()), (Some("TIC101_PV"), Some("TIC101_SP")));
    assert_eq!(state["integral"].as_bool(), Some(true));
    let action = &file["action"][0];
    assert_eq!(action["name"].as_str(), Some("TIC101_OUT"));
    assert!(action["move_cost"].as_float().unwrap() > 0.0);
    assert_eq!(file["world"]["reward"].as_str(), Some("-abs(TIC101_PV - TIC101_SP)"));
    assert_eq!(file["data"]["history"].as_str(), Some("auto"));
    says(&draft.found, "`TIC101.PV[degC]` is a state: its name says measurement (`pv`)");
    says(&draft.found, "`Mode` is a mode: it holds 2 words");
    says(&draft.found, "what is good is told by the set-points: `TIC101_PV` near `TIC101_SP`");
    // Each reason stands at its section too.
    for (header, reason) in
        [("[[input]]", "# a set-point: its name says"), ("[[action]]", "# its name says what a controller")]
    {
        assert!(draft.text.contains(&format!("{header}\n{reason}")), "{reason}: {}", draft.text);
    }
}

#[test]
fn moving_over_the_whole_range_costs_some_steps_of_usual_error() {
    let file = parsed(&drafted(&tank_text("PV;SP;DV;MV")));
    let rows = tank(2_500, 0.1);
    let error = rows.iter().map(|[y, r, ..]| (y - r).abs()).sum::<f64>() / rows.len() as f64;
    let limits = file["action"][0]["limits"].as_array().unwrap();
    let span = limits[1].as_float().unwrap() - limits[0].as_float().unwrap();
    let cost = file["action"][0]["move_cost"].as_float().unwrap();
    assert!((cost * span / (2.2 * error) - 1.0).abs() < 0.06, "{cost} {span} {error}");
}

#[test]
fn several_loops_weigh_alike() {
    let (one, other) = (tank(2_500, 0.1), tank(4_000, 0.05));
    let rows = one
        .iter()
        .zip(other[700..].iter())
        .map(|([y, r, _, u], [z, w, _, v])| format!("{y:.4};{r};{u:.3};{:.3};{:.3};{v:.3}", 10.0 * z, 10.0 * w));
    let draft = drafted(&text("TIC1.PV;TIC1.SP;TIC1.OP;PIC2.PV;PIC2.SP;PIC2.OP", rows));
    let reward = parsed(&draft)["world"]["reward"].as_str().unwrap().to_owned();
    let (first, second) = reward.split_once(" - abs(PIC2").unwrap();
    let size = |term: &str| term.rsplit_once(" / ").unwrap().1.parse::<f64>().unwrap();
    assert!(first.starts_with("-abs(TIC1_PV - TIC1_SP) / "), "{reward}");
    assert!((4.0..40.0).contains(&(size(second) / size(first))), "{reward}");
    assert_eq!(parsed(&draft)["action"].as_array().unwrap().len(), 2);
}

#[test]
fn the_horizon_is_half_as_long_again_as_an_effect_lasts() {
    let draft = drafted(&tank_text("PV;SP;DV;MV"));
    let horizon = parsed(&draft)["horizon"].as_integer().unwrap();
    // To 95 % it takes 28 steps.
    assert!((30..=60).contains(&horizon), "{horizon}");
    assert!(draft.text.contains("an action's effect has settled after about"), "{}", draft.text);
    // What does not settle has the usual horizon, and that is said.
    let mut level = 0.0;
    let rows = (0..2_000).map(|row| {
        let push = noise(row / 5, 1);
        level += push;
        format!("{level},{push},{}", -f64::abs(level))
    });
    let draft = drafted(&text("level,valve,reward", rows));
    assert_eq!(parsed(&draft)["horizon"].as_integer(), Some(200));
    says(&draft.unknown, "how far ahead the controller must look");
}

#[test]
fn a_run_asks_where_the_action_or_the_reward_is_not_sure() {
    let refused = |log: &str| {
        let (draft, directory) = draft_of(log, Guess::default());
        let (draft, path) = (draft.unwrap(), directory.path().join("problem.toml"));
        std::fs::write(&path, &draft.text).unwrap();
        let problem = WrittenProblem::read(&path).unwrap().check().unwrap();
        let error = DataReport::import(&problem, &Progress::silent()).unwrap_err().to_string();
        assert!(error.starts_with("`data.reward` is missing"), "{error}");
        draft
    };
    // No name says which column is the action, though there is a reward.
    let rows = (0..400).map(|row| {
        let phase = 0.1 * row as f64;
        format!("{},{},{},{}", phase.sin(), (row * 7919) % 11, phase.cos(), -phase.sin().abs())
    });
    let draft = refused(&text("a,b,c,reward", rows));
    assert!(
        draft.text.contains("# reward = \"reward\"") && draft.text.contains("say first which column is the action")
    );
    says(&draft.unknown, "`b` was taken");
    // Neither a set-point nor a reward.
    let mut temp = 0.0;
    let rows = (0..400).map(|row| {
        let heater = noise(row, 1);
        temp = 0.9 * temp + heater;
        format!("{},{heater}", temp + 40.0)
    });
    let draft = refused(&text("temp,heater", rows));
    says(&draft.unknown, "what is good");
}

#[test]
fn set_points_that_never_move_make_an_example() {
    let rows = tank(2_000, 0.1).into_iter().map(|[y, _, d, u]| format!("{y:.4};20;{d:.4};{u:.3}"));
    let draft = drafted(&text("PV;SP;DV;MV", rows));
    assert!(draft.text.contains("# reward = \"-abs(PV - 20)\""), "{}", draft.text);
    says(&draft.unknown, "the set-points never move (`PV` at 20)");
}

/// Settings that stand behind a #, as they would be without it.
fn examples(text: &str) -> Vec<String> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("# "));
    let settings = lines.filter(|line| line.split_once(" = ").is_some_and(|(key, _)| !key.contains(' ')));
    settings.map(|line| line.split(" #").next().unwrap_or(line).trim_end().to_owned()).collect()
}

#[test]
fn examples_are_settings_in_the_ranges_of_the_log() {
    let rows = (0..600).map(|row| {
        let phase = 0.05 * row as f64;
        format!("{},{:.4},{:.4},0", row, 1.2 + 1.0 * phase.sin(), noise(row, 1))
    });
    let draft = drafted(&text("time,level,valve,quality", rows));
    let examples = examples(&draft.text);
    for line in &examples {
        let table: toml::Table = toml::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"));
        assert_eq!(table.len(), 1);
    }
    for line in ["terminal = \"level > 2.4\"", "keep = [0.0, 2.4]"] {
        assert!(examples.iter().any(|example| example == line), "{line}: {examples:#?}");
    }
    let middle = examples.iter().find_map(|line| line.strip_prefix("reward = \"-abs(level - ")).unwrap();
    let middle: f64 = middle.trim_end_matches(")\"").parse().unwrap();
    assert!((0.8..1.6).contains(&middle), "{middle}");
    assert!(examples.iter().any(|line| line.starts_with("start = [0.2")), "{examples:#?}");
}

#[test]
fn angles_in_degrees_are_drafted_as_such() {
    let rows = (0..900).map(|row| {
        let angle = (3 * row) as f64 + 20.0 * noise(row / 10, 2);
        format!("{:.2},{:.3},0.5", angle.rem_euclid(360.0), noise(row / 10, 2))
    });
    let draft = drafted(&text("heading,rudder_cmd,reward", rows));
    assert_eq!(parsed(&draft)["state"][0]["angle"].as_str(), Some("degrees"), "{}", draft.text);
    says(&draft.found, "`heading` is an angle in degrees");
}

/// A built-in plant's log as a user would have it.
fn bare_log(name: &str, samples: usize, header: &str, shift: f64) -> String {
    let system = System::benchmark(name).unwrap();
    let settings = DataSettings { samples, ..DataSettings::for_plant(system.plant()) };
    let log = generate(&system, &settings, &Progress::silent()).unwrap();
    let rows = (0..log.len()).map(|row| {
        let mut states: Vec<f64> = log.states.iter().map(|column| column[row]).collect();
        states[0] += shift;
        let states: Vec<String> = states.iter().map(f64::to_string).collect();
        format!("{},{},{},{}", states.join(","), log.actions[0][row], log.rewards[row], log.episode[row])
    });
    text(header, rows)
}

#[test]
fn balancing_is_mirrored_and_starts_where_episodes_start() {
    let log = bare_log("cart-pole-balancing", 10_000, "theta,theta_dot,rho,rho_dot,force,reward,episode", 0.0);
    let (draft, directory) = draft_of(&log, Guess::default());
    let draft = draft.unwrap();
    let file = parsed(&draft);
    assert_eq!((file["state"].as_array().unwrap().len(), file.get("input")), (4, None), "{}", draft.text);
    assert_eq!(file["start"].as_str(), Some("episodes"));
    says(&draft.found, "100 of 100 episodes end by themselves");
    assert_eq!(file["policy"]["mirrored"].as_bool(), Some(true));
    says(&draft.found, "rows that are mirror images of each other move the other way");
    // The file is one that runs as it is.
    std::fs::write(directory.path().join("problem.toml"), &draft.text).unwrap();
    let problem = WrittenProblem::read(&directory.path().join("problem.toml")).unwrap().check().unwrap();
    assert_eq!(problem.system.actions()[0].limits, [-10.0, 10.0]);
    // A sensor that is off its middle is no mirror image beyond doubt.
    let log = bare_log("cart-pole-balancing", 10_000, "theta,theta_dot,rho,rho_dot,force,reward,episode", 0.07);
    assert_eq!(parsed(&drafted(&log))["policy"].get("mirrored"), None);
}

#[test]
fn a_log_of_one_episode_starts_anywhere() {
    let draft = drafted(&tank_text("PV;SP;DV;MV"));
    assert_eq!(parsed(&draft)["start"].as_str(), Some("data"));
    assert!(draft.text.contains("any state of the log, which is one episode"), "{}", draft.text);
}

#[test]
fn what_the_user_says_is_drafted() {
    let said = Guess {
        inputs: vec![InputGuess::said("c", InputKind::Disturbance)],
        tracks: vec![("a".into(), "b".into())],
        actions: vec!["e".into()],
        ..Guess::default()
    };
    let draft = draft_of(&tank_text("a;b;c;e"), said).0.unwrap();
    let file = parsed(&draft);
    assert_eq!(file["state"][0]["tracks"].as_str(), Some("b"));
    assert_eq!(file["world"]["reward"].as_str(), Some("-abs(a - b)"));
    says(&draft.found, "`c` is a disturbance: you said so");
    let said = Guess { tracks: vec![("a".into(), "bb".into())], ..Guess::default() };
    let error = draft_of(&tank_text("a;b;c;e"), said).0.unwrap_err();
    assert!(error.to_string().contains("there is no column called `bb`"), "{error}");
}

#[test]
fn a_mode_has_the_values_of_all_files() {
    let directory = tempfile::tempdir().unwrap();
    let files = [("a.csv", ["x", "z"], [2, 9]), ("b.csv", ["z", "b"], [10, 9])].map(|(name, words, numbers)| {
        let rows = tank(800, 0.1).into_iter().enumerate().map(|(row, [y, r, _, u])| {
            let part = row / 200 % 2;
            format!("{y:.4};{r};{u:.3};{};{}", words[part], numbers[part])
        });
        let path = directory.path().join(name);
        std::fs::write(&path, text("PV;SP;MV;recipe;status", rows)).unwrap();
        path
    });
    let options = TextOptions::default();
    let draft = init(&files, directory.path(), &options, Guess::default(), &Progress::silent()).unwrap();
    let inputs = parsed(&draft)["input"].as_array().unwrap().clone();
    assert_eq!(inputs[1]["values"], toml::Value::from(vec!["b", "x", "z"]));
    assert_eq!(inputs[2]["values"], toml::Value::from(vec!["2", "9", "10"]));
}

#[test]
fn too_many_columns_are_said_at_once() {
    let names: Vec<String> = (0..120).map(|column| format!("x{column}q")).collect();
    let rows = (0..50).map(|row| {
        let cells: Vec<String> = (0..121).map(|column| format!("{:.3}", noise(row, column))).collect();
        cells.join(",")
    });
    let error = draft_of(&text(&format!("{},valve", names.join(",")), rows), Guess::default()).0.unwrap_err();
    let problem = "the log has 120 columns that could be states; at most 64 variables are possible";
    assert!(error.to_string().ends_with(problem), "{error}");
    assert!(error.hint().unwrap().starts_with("name those that matter with"), "{:?}", error.hint());
}

#[test]
fn a_log_of_many_thousand_columns_is_refused_without_a_look_at_each() {
    let titles: Vec<String> = (0..200_000).map(|column| format!("c{column}")).collect();
    let titles: Vec<&str> = titles.iter().map(String::as_str).collect();
    let mut table = table_of(&titles[..1]);
    let column = table.columns[0].clone();
    let few = |title: &&str| Column { title: (*title).into(), values: column.values[..3].into(), ..column.clone() };
    table.columns = titles.iter().map(few).collect();
    let error = refuse_what_is_too_wide(&Guess::default(), &table, Path::new("log.npz")).unwrap_err();
    assert!(error.to_string().contains("the log has 200000 columns that could be states"), "{error}");
}

#[test]
fn a_log_without_an_action_is_refused_with_what_to_name() {
    let rows = tank(600, 0.1).into_iter().map(|[y, r, ..]| format!("{y};{r}"));
    let error = draft_of(&text("level;setpoint", rows), Guess::default()).0.unwrap_err();
    assert!(error.to_string().contains("no column was found that could be an action"), "{error}");
    assert!(error.hint().unwrap().contains("set-points are none"));
}

/// A table whose columns are called by anything.
fn table_of(titles: &[&str]) -> Table<'static> {
    let column = |(place, title): (usize, &&str)| Column {
        name: (*title).to_owned(),
        unit: "m\n\u{1b}[31m".into(),
        title: (*title).to_owned(),
        kind: Kind::Number,
        values: (0..300).map(|row| noise(row, place as u32)).collect(),
        words: Vec::new(),
        fault: None,
    };
    Table {
        path: "log\nhorizon = 1.npz".into(),
        columns: titles.iter().enumerate().map(column).collect(),
        rows: 300,
        titles: titles.iter().map(|title| (*title).to_owned()).collect(),
        notes: vec!["a note\r\nhorizon = 7".into()],
        ..Table::default()
    }
}

#[test]
fn no_name_becomes_a_setting_or_a_command_to_a_terminal() {
    let titles = [
        "a\nhorizon = 1",
        "b\" # [policy]",
        "c\r\n[world]\rreward = \"0\"",
        "\u{1b}[2Jd\u{7}",
        "e\\\u{202e}'''",
        "#",
        "\"\"\"",
        "pi",
        "not",
        "next_z",
        "level_sp\nx = 1",
        "level\nx = 1 pv",
        "valve\u{0}\nseed = 3",
    ];
    let table = table_of(&titles);
    let guess = Guess::default().complete(&table);
    let files = ["log\nhorizon = 1.npz".into()];
    let (options, progress) = (TextOptions::default(), Progress::silent());
    let origin = Origin::Files { files: &files, directory: Path::new("."), options: &options, progress: &progress };
    let draft = written(&origin, &guess, &table).unwrap();
    let file = parsed(&draft);
    let mut keys: Vec<&str> = file.keys().map(String::as_str).collect();
    keys.retain(|key| {
        !["name", "horizon", "start", "input", "state", "action", "data", "world", "policy"].contains(key)
    });
    assert!(keys.is_empty(), "{keys:?}\n{}", draft.text);
    assert!(file["horizon"].as_integer() > Some(7), "{}", draft.text);
    let control = |text: &str| text.chars().any(|c| c.is_control() && c != '\n');
    assert!(!control(&draft.text), "{}", draft.text);
    for line in draft.found.iter().chain(&draft.unknown) {
        assert!(!control(line) && !line.contains('\n'), "{line:?}");
    }
    // Every column comes back under its own name.
    let columns = ["input", "state", "action"].into_iter().filter_map(|kind| file.get(kind)?.as_array()).flatten();
    let columns: Vec<&str> = columns.map(|one| one["column"].as_str().unwrap()).collect();
    for title in guess.states.iter().chain(&guess.actions) {
        assert!(columns.contains(&title.as_str()), "{title:?}: {columns:?}");
    }
    assert_eq!(columns.len(), guess.states.len() + guess.actions.len() + guess.inputs.len());
}

mod names {
    use fpsrl_base::visible::acts;
    use proptest::prelude::*;

    use super::*;

    /// Names of which many characters act, or mean something in a file of settings.
    fn hostile() -> impl Strategy<Value = String> {
        let one = prop_oneof![
            any::<char>(),
            prop::sample::select(vec![
                '\n', '\r', '\t', '\0', '\u{1b}', '\u{7f}', '\u{85}', '\u{9b}', '\u{2028}', '\u{202e}', '\u{2067}',
                '\u{200d}', '\u{feff}', '"', '\'', '\\', '#', '=', '[', ']', '{', '}', '`', ' ', '.', ',',
            ]),
        ];
        prop::collection::vec(one, 1..200).prop_map(String::from_iter)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn any_names_come_back_from_the_draft_and_set_nothing(
            level in hostile(), valve in hostile(), mode in hostile(), name in hostile(), word in hostile()
        ) {
            prop_assume!(level != valve && level != mode && valve != mode);
            let rows = 120;
            let levels: Vec<f64> = (0..rows).map(|row| noise(row, 1)).collect();
            let valves: Vec<f64> = (0..rows).map(|row| noise(row / 3, 2)).collect();
            let words = Column {
                kind: Kind::Text,
                words: vec![word.clone(), "other".into()],
                ..Column::of_numbers(mode.clone(), (0..rows).map(|row| (row / 40 % 2) as f64).collect::<Vec<f64>>())
            };
            let columns = vec![Column::of_numbers(level.clone(), levels), Column::of_numbers(valve.clone(), valves), words];
            let said = InputGuess::said(&mode, InputKind::Mode { values: Vec::new() });
            let known = Guess {
                states: vec![level.clone()], actions: vec![valve.clone()], inputs: vec![said], ..Guess::default()
            };
            let draft = match of_tables(&[Table::in_memory(columns)], &name, known) {
                Ok(draft) => draft,
                Err(error) => {
                    let said = format!("{error} {}", error.hint().unwrap_or_default());
                    prop_assert!(error.is_users() && !said.chars().any(acts), "{said:?}");
                    return Ok(());
                }
            };
            prop_assert!(draft.text.chars().all(|c| c == '\n' || !acts(c)), "{:?}", draft.text);
            prop_assert!(draft.found.iter().chain(&draft.unknown).all(|line| !line.chars().any(acts)));
            let file: toml::Table = toml::from_str(&draft.text).map_err(|error| TestCaseError::fail(format!("{error}\n{}", draft.text)))?;
            let keys: Vec<&str> = file.keys().map(String::as_str).collect();
            prop_assert!(
                keys.iter().all(|key| ["name", "horizon", "start", "input", "state", "action", "data", "world", "policy"].contains(key)),
                "{keys:?}"
            );
            for (kind, title) in [("state", &level), ("action", &valve), ("input", &mode)] {
                let variables = file[kind].as_array().unwrap();
                prop_assert_eq!(variables.len(), 1);
                let column = variables[0].get("column").unwrap_or(&variables[0]["name"]);
                prop_assert_eq!(column.as_str(), Some(title.as_str()));
            }
            // What check makes of it is its own affair, but it understands it.
            if let Err(error) = WrittenProblem::parse(&draft.text, "p.toml".as_ref()).and_then(WrittenProblem::check) {
                prop_assert!(error.is_users() && !error.to_string().chars().any(acts), "{error}");
            }
        }
    }
}
