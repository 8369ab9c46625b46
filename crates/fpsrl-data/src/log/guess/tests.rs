//! Whole logs, and what is made of them.

use proptest::prelude::*;

use super::super::budget::Budget;
use super::super::{TextOptions, text};
use super::plants::{Tank, noise};
use super::*;
use fpsrl_base::progress::Progress;

pub(crate) fn table(text: &str) -> Table<'static> {
    let budget = Budget::new("log.csv".as_ref(), text.len() as u64, None, &Progress::silent());
    text::read(text.as_bytes(), "log.csv".as_ref(), &TextOptions::default(), &|_, _| true, &budget, &|| Ok(1.0))
        .unwrap()
}

fn guess(text: &str) -> Guess {
    Guess::default().complete(&table(text))
}

fn some(name: &str) -> Option<String> {
    Some(name.to_owned())
}

fn pair(one: &str, other: &str) -> (String, String) {
    (one.to_owned(), other.to_owned())
}

/// The kind of an input.
fn kind<'a>(guess: &'a Guess, title: &str) -> Option<&'a InputKind> {
    guess.inputs.iter().find(|input| input.title == title).map(|input| &input.kind)
}

fn set_point_of(state: &str) -> InputKind {
    InputKind::SetPoint { of: some(state) }
}

fn mode(values: &[&str]) -> InputKind {
    InputKind::Mode { values: values.iter().map(|value| (*value).to_owned()).collect() }
}

fn reason<'a>(guess: &'a Guess, title: &str) -> &'a str {
    guess.reasons.iter().find(|(name, _)| name == title).map_or("", |(_, reason)| reason)
}

/// The tank's log with a column more at its end.
fn with_column(names: [&str; 4], rows: usize, more: &str, cell: &dyn Fn(usize, &[f64; 4]) -> String) -> String {
    let tank = Tank::default();
    let mut text = format!("{};{more}\n", names.join(";"));
    for (row, values) in tank.rows(rows).iter().enumerate() {
        let [y, r, d, u] = values;
        text += &format!("{y:.4};{r};{d:.4};{u:.3};{}\n", cell(row, values));
    }
    text
}

#[test]
fn roles_are_told_from_names() {
    let mut text = "timestamp;Batch;TI101[degC];FIC3.MV;note;const;reward;done\n".to_owned();
    for row in 0..40 {
        text += &format!(
            "2024-01-01 00:00:{row:02};B{};{};{};ok;5;{};{}\n",
            row / 20,
            20 + row,
            row % 3,
            -row,
            u8::from(row % 20 == 19)
        );
    }
    let guess = guess(&text);
    assert_eq!(guess.time, some("timestamp"));
    assert_eq!(guess.episode, some("Batch"));
    assert_eq!(guess.reward, some("reward"));
    assert_eq!(guess.terminal, some("done"));
    assert_eq!(guess.states, ["TI101[degC]"]);
    assert_eq!(guess.actions, ["FIC3.MV"]);
    assert!(guess.inputs.is_empty() && guess.tracks.is_empty() && !guess.unsure_action);
    let left: Vec<&str> = guess.left_out.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(left, ["note", "const"]);
}

#[test]
fn a_loop_is_told_by_the_words_of_process_control() {
    let text = with_column(["PV", "SP", "DV", "MV"], 2_000, "Mode", &|row, _| ["AUTO", "ECO"][row / 400 % 2].into());
    let guess = guess(&text);
    assert_eq!(guess.states, ["PV"]);
    assert_eq!(guess.actions, ["MV"]);
    assert_eq!(kind(&guess, "SP"), Some(&set_point_of("PV")));
    assert_eq!(kind(&guess, "DV"), Some(&InputKind::Disturbance));
    assert_eq!(kind(&guess, "Mode"), Some(&mode(&["AUTO", "ECO"])));
    assert_eq!(guess.tracks, [pair("PV", "SP")]);
    assert!(!guess.unsure_action && guess.unknown.is_empty(), "{:?}", guess.unknown);
    assert!(reason(&guess, "SP").contains("its name says set-point (`sp`)"), "{:?}", guess.reasons);
    assert!(reason(&guess, "SP").contains("stands still for"), "{:?}", guess.reasons);
    assert!(reason(&guess, "DV").contains("no action moves it"), "{:?}", guess.reasons);
    assert_eq!(guess.reasons.len(), 5);
}

#[test]
fn the_letters_of_textbooks_are_understood() {
    let guess = guess(&Tank::default().text(["y", "r", "d", "u"], 2_000));
    assert_eq!((guess.states.as_slice(), guess.actions.as_slice()), (&["y".to_owned()][..], &["u".to_owned()][..]));
    assert_eq!(kind(&guess, "r"), Some(&set_point_of("y")));
    assert_eq!(kind(&guess, "d"), Some(&InputKind::Disturbance));
    assert_eq!(guess.reward, None);
    assert!(reason(&guess, "r").contains("a reference, not a reward"), "{:?}", guess.reasons);
}

#[test]
fn tags_of_a_loop_belong_together_and_indicators_are_told_by_behaviour() {
    // TI102 is the weather; FI8 is moved by the valve.
    let text = with_column(["TIC101.PV", "TIC101.SP", "TI102.PV", "TIC101.OUT"], 2_000, "FI8.PV", &|row, values| {
        format!("{:.3}", 0.1 * values[3] + 0.05 * noise(row, 9))
    });
    // What the valve moves is seen one row later.
    let lines: Vec<&str> = text.lines().collect();
    let mut later = format!("{}\n", lines[0]);
    for pair in lines[1..].windows(2) {
        let flow = pair[0].rsplit_once(';').unwrap().1;
        later += &format!("{};{flow}\n", pair[1].rsplit_once(';').unwrap().0);
    }
    let guess = guess(&later);
    assert_eq!(guess.states, ["TIC101.PV", "FI8.PV"], "{guess:?}");
    assert_eq!(guess.actions, ["TIC101.OUT"]);
    assert_eq!(guess.tracks, [pair("TIC101.PV", "TIC101.SP")]);
    assert_eq!(kind(&guess, "TI102.PV"), Some(&InputKind::Disturbance));
    assert!(reason(&guess, "FI8.PV").contains("an action moves it"), "{:?}", guess.reasons);
    assert!(reason(&guess, "TIC101.PV").contains("they are of one loop"), "{:?}", guess.reasons);
}

#[test]
fn a_set_point_is_named_after_what_follows_it() {
    for (state, set_point) in
        [("XD", "XD_SP"), ("temp", "temp_set"), ("T_ist", "T_soll"), ("speed", "target_speed"), ("Level", "LevelSP")]
    {
        let guess = guess(&Tank::default().text([state, set_point, "weather", "valve"], 600));
        assert_eq!(guess.tracks, [pair(state, set_point)], "{state} {set_point}");
        assert_eq!(guess.states, [state]);
        assert_eq!(guess.actions, ["valve"]);
    }
}

#[test]
fn out_is_an_action_and_an_outlet_is_none() {
    let loop_of_it = guess(&Tank::default().text(["PV", "SP", "DV", "OUT"], 1_000));
    assert_eq!((loop_of_it.actions, loop_of_it.unsure_action), (vec!["OUT".to_owned()], false));
    let outlet = guess(&Tank::default().text(["T_out", "T_set", "T_ambient", "heater"], 2_000));
    assert_eq!((outlet.states, outlet.actions), (vec!["T_out".to_owned()], vec!["heater".to_owned()]));
    assert_eq!(outlet.tracks, [pair("T_out", "T_set")]);
}

#[test]
fn names_that_say_nothing_are_told_by_behaviour() {
    let names = guess(&Tank::default().text(["a", "b", "c", "e"], 3_000));
    assert_eq!(names.tracks, [pair("a", "b")], "{names:?}");
    assert_eq!(
        (names.states.as_slice(), names.actions.as_slice()),
        (&["a".to_owned()][..], &["e".to_owned()][..]),
        "{names:?}"
    );
    assert_eq!(kind(&names, "c"), Some(&InputKind::Disturbance));
    assert!(!names.unsure_action, "{names:?}");
    assert!(reason(&names, "e").contains("it reacts to `a`"), "{:?}", names.reasons);
    assert!(reason(&names, "b").contains("stands still"), "{:?}", names.reasons);
    // The letter d names a disturbance; here it is the valve.
    let letters = guess(&Tank::default().text(["a", "b", "c", "d"], 3_000));
    assert_eq!(letters.actions, ["d"], "{letters:?}");
}

#[test]
fn beside_set_points_the_action_is_what_reacts_and_moves() {
    let guess = guess(&Tank::default().text(["PV", "SP", "X1", "X2"], 3_000));
    assert_eq!((guess.actions.as_slice(), guess.unsure_action), (&["X2".to_owned()][..], false), "{guess:?}");
    assert_eq!(kind(&guess, "X1"), Some(&InputKind::Disturbance));
    assert!(reason(&guess, "X1").contains("no action moves it, and it helps to predict `PV`"), "{:?}", guess.reasons);
}

#[test]
fn what_neither_follows_nor_helps_is_left_out_and_that_is_said() {
    let text = with_column(["PV", "SP", "DV", "MV"], 3_000, "q1;q2", &|row, _| {
        format!("{:.4};{:.4}", noise(row, 21), noise(row / 3, 22))
    });
    let guess = guess(&text);
    let left: Vec<&str> = guess.left_out.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(left, ["q1", "q2"], "{guess:?}");
    assert!(guess.unknown[0].starts_with("what `q1`, `q2` tells"), "{:?}", guess.unknown);
}

#[test]
fn a_quiet_log_shows_its_action_by_what_it_reacts_to() {
    // The set-point never moves: nothing but the weather does.
    let tank = Tank { dwell: 10_000, ..Tank::default() };
    let guess = guess(&tank.text(["PV", "SP", "X1", "X2"], 2_000));
    assert_eq!(
        (guess.actions.as_slice(), guess.states.as_slice()),
        (&["X2".to_owned()][..], &["PV".to_owned()][..]),
        "{guess:?}"
    );
    assert_eq!(kind(&guess, "X1"), Some(&InputKind::Disturbance), "{guess:?}");
    assert_eq!(guess.left_out[0].0, "SP");
    assert_eq!(guess.rests.len(), 1);
    assert_eq!(guess.rests[0].0, "PV");
}

#[test]
fn set_points_never_become_actions() {
    let rows = Tank::default().rows(600);
    let text: String = rows.iter().map(|[y, r, ..]| format!("{y};{r}\n")).collect();
    let guess = guess(&format!("level;setpoint\n{text}"));
    assert!(guess.actions.is_empty(), "{guess:?}");
    // But the set-point of an actuator may be what a controller sets, if nothing else is.
    let text: String = rows.iter().map(|[y, r, _, u]| format!("{y};{r};{u}\n")).collect();
    let guess = self::guess(&format!("level;level_sp;valve_sp\n{text}"));
    assert_eq!((guess.actions.as_slice(), guess.unsure_action), (&["valve_sp".to_owned()][..], true), "{guess:?}");
    assert!(guess.unknown[0].contains("which column is the action"), "{:?}", guess.unknown);
}

#[test]
fn words_that_change_seldom_are_modes_and_others_take_no_part() {
    let columns = "Recipe;operator;remark";
    let text = with_column(["PV", "SP", "DV", "MV"], 1_200, columns, &|row, _| {
        format!("{};op{};{}", ["b", "a", "c"][row / 300 % 3], row / 100, ["x", "y"][row % 2])
    });
    let guess = guess(&text);
    assert_eq!(kind(&guess, "Recipe"), Some(&mode(&["a", "b", "c"])));
    let left: Vec<&str> = guess.left_out.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(left, ["operator", "remark"]);
    assert!(guess.left_out[0].1.contains("a mode has at most 8"), "{:?}", guess.left_out);
    assert!(guess.left_out[1].1.contains("change too often"), "{:?}", guess.left_out);
}

#[test]
fn whole_numbers_make_a_mode_by_their_name_or_by_standing_still() {
    let text = with_column(["PV", "SP", "DV", "MV"], 2_000, "status", &|row, _| (10 - 8 * (row / 250 % 2)).to_string());
    assert_eq!(kind(&guess(&text), "status"), Some(&mode(&["2", "10"])));
    let text = with_column(["PV", "SP", "DV", "MV"], 2_000, "q7", &|row, _| (row / 250 % 2).to_string());
    let unnamed = guess(&text);
    assert_eq!(kind(&unnamed, "q7"), Some(&mode(&["0", "1"])), "{unnamed:?}");
    assert!(unnamed.unknown[0].starts_with("what `q7` is"), "{:?}", unnamed.unknown);
    // A mode of many values is none.
    let text = with_column(["PV", "SP", "DV", "MV"], 2_000, "mode", &|row, _| format!("{:.3}", noise(row, 11)));
    let many = guess(&text);
    assert!(
        kind(&many, "mode") != Some(&mode(&[])) && many.unknown.iter().any(|line| line.contains("is a mode")),
        "{many:?}"
    );
}

#[test]
fn a_load_that_the_actions_move_is_a_state_and_that_is_said() {
    let guess = guess(&Tank::default().text(["load", "SP", "DV", "MV"], 3_000));
    assert_eq!(guess.states, ["load"], "{guess:?}");
    assert_eq!(guess.tracks, [pair("load", "SP")]);
}

#[test]
fn the_letter_r_is_a_reward_where_it_follows_from_its_row_or_an_agent_wrote_it() {
    let mut text = "x,v,u,next_x,next_v,r\n".to_owned();
    for row in 0..60 {
        text += &format!("{row},2,{},{},4,{}\n", row % 3, row + 1, -i32::from(row < 50));
    }
    assert_eq!(guess(&text).reward, some("r"));
    let mut x: f64 = 0.0;
    let lines: String = (0..1_000)
        .map(|row| {
            let push = noise(row, 0);
            x = 0.9 * x + push;
            format!("{x},{push},{}\n", -x.abs())
        })
        .collect();
    let reward = guess(&format!("x,force,r\n{lines}"));
    assert_eq!(reward.reward, some("r"), "{reward:?}");
    assert!(reason(&reward, "r").contains("follow from the rest of its row"), "{:?}", reward.reasons);
    // Standing still, it is a reference also where no other letter says so.
    let held = guess(&Tank::default().text(["level", "r", "weather", "valve"], 1_000));
    assert_eq!((held.reward.clone(), kind(&held, "r")), (None, Some(&set_point_of("level"))), "{held:?}");
    // What neither stands still nor follows from its row is not known.
    let lines: String =
        (0..1_000).map(|row| format!("{},{},{}\n", noise(row, 0), noise(row, 1), noise(row, 2))).collect();
    let unknown = guess(&format!("x,force,r\n{lines}"));
    assert!(unknown.reward.is_none() && unknown.unknown[0].contains("a reward or a reference"), "{unknown:?}");
}

#[test]
fn rows_that_hold_their_next_state_are_recognised() {
    let first = guess("x,v,u,next_x,next_v,r\n1,2,0,3,4,5\n3,4,1,2,7,8\n");
    assert_eq!(first.next, some("next_"));
    assert_eq!((first.states, first.reward), (vec!["x".to_owned(), "v".to_owned()], some("r")));
    let other = guess("x,v,w,x_next,v_next,reward\n1,2,0,3,4,5\n3,4,1,2,7,8\n");
    assert_eq!(other.next, some("*_next"));
    assert_eq!((other.actions.as_slice(), other.unsure_action), (&["w".to_owned()][..], false));
}

#[test]
fn without_a_name_the_least_smooth_column_is_the_action_and_that_is_said() {
    let mut text = "a,b,c\n".to_owned();
    for row in 0..200 {
        let phase = f64::from(row) * 0.1;
        text += &format!("{},{},{}\n", phase.sin(), (row * 7919) % 11, phase.cos());
    }
    let guess = guess(&text);
    assert_eq!(guess.actions, ["b"]);
    assert!(guess.unsure_action && guess.unknown[0].contains("`b` was taken"), "{:?}", guess.unknown);
}

#[test]
fn what_the_user_says_stays() {
    let said = Guess { actions: vec!["x".into()], reward: some("u"), ..Guess::default() };
    let guess = said.complete(&table("x,v,u\n1,2,0\n3,4,1\n"));
    assert_eq!((guess.actions, guess.reward, guess.states), (vec!["x".to_owned()], some("u"), vec!["v".to_owned()]));

    let text = with_column(["a", "b", "c", "e"], 1_000, "f", &|row, _| (row / 100 % 2).to_string());
    let said = Guess {
        inputs: vec![
            InputGuess::said("c", InputKind::Disturbance),
            InputGuess::said("f", InputKind::Mode { values: Vec::new() }),
        ],
        tracks: vec![pair("a", "b")],
        actions: vec!["e".into()],
        ..Guess::default()
    };
    let guess = said.complete(&table(&text));
    assert_eq!((guess.states.as_slice(), guess.tracks.as_slice()), (&["a".to_owned()][..], &[pair("a", "b")][..]));
    assert_eq!(kind(&guess, "b"), Some(&set_point_of("a")));
    assert_eq!(kind(&guess, "c"), Some(&InputKind::Disturbance));
    assert_eq!(kind(&guess, "f"), Some(&mode(&["0", "1"])));
    assert_eq!(reason(&guess, "c"), "you said so");
    // An input that is named as a set-point is one.
    let said = Guess { inputs: vec![InputGuess::said("SP", InputKind::Disturbance)], ..Guess::default() };
    let guess = said.complete(&table(&Tank::default().text(["PV", "SP", "DV", "MV"], 600)));
    assert_eq!(guess.tracks, [pair("PV", "SP")]);
}

#[test]
fn states_that_the_user_names_are_all_of_them() {
    let said = Guess { states: vec!["PV".into()], ..Guess::default() };
    let text = with_column(["PV", "SP", "DV", "MV"], 600, "other", &|row, _| format!("{}", noise(row, 8)));
    let guess = said.complete(&table(&text));
    assert_eq!(guess.states, ["PV"]);
    assert_eq!(guess.left_out, [pair("other", "it was not asked for")]);
    assert_eq!(guess.tracks, [pair("PV", "SP")]);
}

#[test]
fn two_columns_of_one_name_take_no_part() {
    let guess = guess("x,x,level,valve\n1,2,3,4\n2,3,1,0\n");
    assert_eq!(guess.states, ["level"]);
    assert_eq!(guess.left_out.len(), 2);
    assert!(guess.left_out[0].1.contains("rename"));
}

#[test]
fn a_guess_that_nobody_waits_for_looks_at_no_column() {
    let table = table(&Tank::default().text(["PV", "SP", "DV", "MV"], 600));
    assert!(!Guess::default().complete_unless(&table, &|| false).states.is_empty());
    assert!(Guess::default().complete_unless(&table, &|| true).states.is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_table_makes_it_panic(
        rows in 0usize..400,
        names in prop::collection::vec("(SP|PV|r|y|u|d|Mode|next_|x|T_out|TIC1\\.OUT|valve_sp|time|[a-z ._']{0,4})(_next)?", 1..9),
        kinds in prop::collection::vec(0u8..7, 9),
    ) {
        let value = |kind: u8, row: usize, place: u32| match kind {
            0 => noise(row, place),
            1 => (row / 40 % 3) as f64,
            2 if row.is_multiple_of(5) => f64::NAN,
            2 => 1e300 * noise(row, place),
            3 => row as f64,
            4 => f64::NAN,
            5 => (row as f64 / 9.0).sin(),
            _ => 5.0,
        };
        let columns: Vec<Column> = names.iter().zip(&kinds).enumerate().map(|(place, (name, &kind))| Column {
            name: name.trim().to_owned(),
            unit: String::new(),
            title: name.clone(),
            kind: if kind == 1 && place % 2 == 0 { Kind::Text } else { Kind::Number },
            values: (0..rows).map(|row| value(kind, row, place as u32)).collect(),
            words: vec!["a".into(), "b".into(), "c".into()],
            fault: None,
        }).collect();
        let table = Table { titles: names.clone(), columns, rows, ..Table::default() };
        let guess = Guess::default().complete(&table);
        let _ = guess.settling(&table);
        // Whenever somebody wants it to end, it ends, and soon.
        for patience in [0, 1, 4] {
            let asked = std::cell::Cell::new(0);
            let stopped = || { asked.set(asked.get() + 1); asked.get() > patience };
            let _ = Guess::default().complete_unless(&table, &stopped);
        }
        // Every column has at most one place.
        let mut places: Vec<&String> = guess.states.iter().chain(&guess.actions).collect();
        places.extend(guess.inputs.iter().map(|input| &input.title));
        places.extend(&guess.reward);
        let distinct: HashSet<&String> = places.iter().copied().collect();
        prop_assert_eq!(distinct.len(), places.len(), "{:?}", guess);
    }
}

#[test]
fn the_built_in_plants_are_states_and_actions_and_nothing_else() {
    use crate::{DataSettings, System, generate};
    for name in ["cart-pole-balancing", "cart-pole-swing-up", "mountain-car"] {
        let system = System::benchmark(name).unwrap();
        let settings = DataSettings { samples: 6_000, ..DataSettings::for_plant(system.plant()) };
        let log = generate(&system, &settings, &fpsrl_base::progress::Progress::silent()).unwrap();
        // As a bare log, once with the action that led to the next row, once with the one that led to its own.
        for shift in [0, 1] {
            let names: Vec<&str> = system.states().iter().map(|state| state.name.as_str()).collect();
            let mut text = format!("episode,{},force,reward\n", names.join(","));
            for row in shift..log.len() {
                let states: Vec<String> = log.states.iter().map(|column| column[row].to_string()).collect();
                let force = log.actions[0][row - shift];
                text += &format!("{},{},{force},{}\n", log.episode[row], states.join(","), log.rewards[row]);
            }
            let guess = guess(&text);
            assert_eq!(guess.states, names, "{name} {shift} {guess:?}");
            assert_eq!((guess.actions.as_slice(), guess.inputs.len()), (&["force".to_owned()][..], 0));
        }
    }
}
