//! What the name of a column says: words of several trades for time, set-points, measurements, outputs and the rest,
//! and the tags of ISA-5.1, in which the letters before a loop's number say what an instrument does.

/// Words that name a column of time.
pub(super) const TIME: [&str; 19] = [
    "time",
    "t",
    "timestamp",
    "ts",
    "date",
    "datetime",
    "zeit",
    "zeitstempel",
    "clock",
    "elapsed",
    "seconds",
    "sec",
    "minute",
    "minutes",
    "min",
    "hour",
    "hours",
    "uptime",
    "step",
];
/// Words that name a column of episodes.
pub(super) const EPISODE: [&str; 12] =
    ["episode", "episodes", "ep", "run", "batch", "trial", "trajectory", "traj", "lot", "cycle", "campaign", "rollout"];
/// Words that name a reward, besides the letter r, which may be a reference as well.
pub(super) const REWARD: [&str; 4] = ["reward", "rewards", "rew", "score"];
/// Words that name the end of a plant's life.
pub(super) const TERMINAL: [&str; 8] =
    ["terminated", "terminal", "terminals", "terminations", "termination", "done", "dones", "failed"];
/// Words that name the end of a recording.
pub(super) const TRUNCATED: [&str; 6] = ["truncated", "truncations", "truncation", "truncate", "timeout", "timeouts"];
/// Words that name a column which counts rows.
pub(super) const COUNTER: [&str; 4] = ["index", "row", "id", "unnamed"];
/// Words that name an angle.
pub(super) const ANGLE: [&str; 9] = ["theta", "angle", "phi", "psi", "yaw", "heading", "winkel", "roll", "pitch"];
/// Words that name the speed of something, which is no angle.
pub(super) const RATE: [&str; 5] = ["dot", "rate", "velocity", "speed", "vel"];

/// Words that name what a measurement is to follow.
const SET_POINT: [&str; 16] = [
    "sp",
    "setpoint",
    "set",
    "setpt",
    "stpt",
    "spt",
    "ref",
    "reference",
    "target",
    "soll",
    "sollwert",
    "wsp",
    "demand",
    "desired",
    "wanted",
    "setvalue",
];
/// Words that name what was measured.
const MEASUREMENT: [&str; 8] = ["pv", "meas", "measured", "measurement", "actual", "ist", "istwert", "feedback"];
/// Words that name what a controller gives out.
const OUTPUT: [&str; 13] = [
    "mv",
    "op",
    "cmd",
    "command",
    "ctrl",
    "control",
    "controls",
    "action",
    "actions",
    "manipulated",
    "stellwert",
    "stell",
    "input",
];
/// Words that name a controller's output only beside the measurement or the set-point of the same loop: `T_out` is an
/// outlet, and CO a gas.
const OUTPUT_OF_A_LOOP: [&str; 3] = ["out", "output", "co"];
/// Words that name what a controller moves.
const ACTUATOR: [&str; 19] = [
    "force", "torque", "valve", "voltage", "volts", "pwm", "throttle", "steering", "steer", "heater", "heating",
    "pump", "fan", "duty", "brake", "burner", "damper", "cooling", "dosing",
];
/// Words for quantities: the temperature of a valve is no action.
const QUANTITY: [&str; 10] =
    ["temp", "temperature", "pressure", "level", "flow", "vibration", "humidity", "density", "ph", "concentration"];
/// Words that name what happens to a plant, whatever is done.
const SURROUNDINGS: [&str; 12] = [
    "dv",
    "ff",
    "ambient",
    "outdoor",
    "outside",
    "weather",
    "disturbance",
    "wind",
    "solar",
    "aussen",
    "außen",
    "exogenous",
];
/// Words that may name a disturbance, or something that the plant's own behaviour moves.
const LOAD: [&str; 4] = ["load", "feed", "inflow", "dist"];
/// Words that name the way in which a plant is run.
const MODE: [&str; 7] = ["mode", "status", "auto", "recipe", "product", "betriebsart", "grade"];

/// What a name says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Says {
    /// What a measurement is to follow.
    SetPoint,
    /// The set-point of an actuator: `valve_sp`.
    ActuatorSetPoint,
    /// What was measured.
    Measurement,
    /// An instrument that only indicates: nobody controls it.
    Indicator,
    /// What a controller gives out.
    Output,
    /// What happens to the plant.
    Surroundings,
    /// What may happen to the plant.
    Load,
    /// The way in which the plant is run.
    Mode,
    /// The way in which the plant is run, or its state.
    Condition,
    /// The letter r by itself: a reference or a reward.
    LetterR,
    /// Nothing.
    Nothing,
}

/// A name, taken apart.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Name {
    /// Its words, in lower case.
    pub(super) words: Vec<String>,
    /// What it says.
    pub(super) says: Says,
    /// The word by which it says so.
    pub(super) by: String,
    /// The name without the words that say what it is: what the set-point and the measurement of a loop share.
    pub(super) stem: String,
}

/// Words of a name: `LIC101.PV_valve` is lic101, pv and valve; `LevelSP` is level and sp.
pub(super) fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let characters: Vec<char> = name.chars().collect();
    let mut word = String::new();
    for (index, &c) in characters.iter().enumerate() {
        let before = index.checked_sub(1).map(|index| characters[index]);
        let after = characters.get(index + 1);
        let begins = c.is_uppercase()
            && before.is_some_and(|before| {
                before.is_lowercase() || (before.is_uppercase() && after.is_some_and(|after| after.is_lowercase()))
            });
        if (begins || !c.is_alphanumeric()) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// A word without the number at its end.
fn bare(word: &str) -> &str {
    word.trim_end_matches(|c: char| c.is_ascii_digit())
}

/// Whether a word is one of these, with or without a number.
fn is_one_of(word: &str, known: &[&str]) -> bool {
    known.contains(&word) || known.contains(&bare(word))
}

/// Whether a name consists of one letter, or of that and numbers: u, u1, u_2.
fn is_letter(words: &[String], letter: &str) -> bool {
    words.first().is_some_and(|first| bare(first) == letter) && words[1..].iter().all(|word| bare(word).is_empty())
}

/// Whether a name contains one of these words. A single letter must be the whole name.
pub(super) fn names_one_of(name: &str, known: &[&str]) -> bool {
    let words = words(name);
    let letters: Vec<&str> = known.iter().copied().filter(|known| known.len() == 1).collect();
    let longer: Vec<&str> = known.iter().copied().filter(|known| known.len() > 1).collect();
    letters.iter().any(|letter| is_letter(&words, letter)) || words.iter().any(|word| is_one_of(word, &longer))
}

/// What the letters of an ISA-5.1 tag say: TIC101 controls, TI102 and TT7 indicate, FCV8 is a valve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tag {
    Controller,
    Indicator,
    Valve,
    No,
}

fn tag(words: &[String]) -> Tag {
    // TIC101 or TIC-101.
    let Some(first) = words.first() else { return Tag::No };
    let letters = bare(first);
    let numbered = letters.len() < first.len() || words.get(1).is_some_and(|second| bare(second).is_empty());
    if !numbered || !(2..=4).contains(&letters.len()) || !letters.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return Tag::No;
    }
    let (variable, functions) = letters.split_at(1);
    // What is measured in plants: analysis, flow, level, pressure, temperature, speed, weight, density, moisture,
    // current…
    let measured = "aefgijlpqstvwxz".contains(variable) || matches!(letters, "di" | "dt" | "dic" | "mi" | "mt" | "mic");
    match functions {
        _ if !measured => Tag::No,
        "c" | "ic" | "rc" | "dic" | "ric" | "fic" => Tag::Controller,
        "i" | "t" | "it" | "ir" | "r" | "di" | "dt" | "e" => Tag::Indicator,
        "cv" => Tag::Valve,
        _ => Tag::No,
    }
}

impl Name {
    /// Takes a name apart; `others` are the names of all columns.
    pub(super) fn read(name: &str, others: &[Vec<String>]) -> Self {
        let words = words(name);
        let of = |known: &[&str]| words.iter().rposition(|word| is_one_of(word, known));
        let quantity = of(&QUANTITY);
        let tagged = tag(&words);
        let said = |says: Says, by: &str, without: &[&str]| Self::of(&words, says, by, without);
        let at = |index: usize| words[index].clone();

        // What was measured is a measurement, whatever else the name holds: valve_actual, FIC3_CTRL.PV.
        if let Some(index) = of(&MEASUREMENT) {
            return said(Says::Measurement, &at(index), &MEASUREMENT);
        }
        if let Some(index) = of(&SET_POINT) {
            let actuator = of(&ACTUATOR).is_some() && quantity.is_none();
            let says = if actuator { Says::ActuatorSetPoint } else { Says::SetPoint };
            let mut name = said(says, &at(index), &SET_POINT);
            // set_point is one thing in two words.
            name.stem = name.stem.trim_end_matches("point").trim_end_matches('_').to_owned();
            return name;
        }
        // The actual value has a name before it; `act` alone is an action.
        if words.len() > 1
            && let Some(index) = words.iter().rposition(|word| word == "act")
            && index > 0
        {
            return said(Says::Measurement, "act", &["act"]);
        }
        if let Some(index) = of(&MODE) {
            return said(Says::Mode, &at(index), &MODE);
        }
        // The last word is what a thing is: a heater_temperature is none that a controller sets, a temperature_cmd is.
        let sets = |index: usize| quantity.is_none_or(|quantity| quantity < index);
        if let Some(index) = of(&OUTPUT).filter(|index| sets(*index)) {
            return said(Says::Output, &at(index), &OUTPUT);
        }
        if words.first().is_some_and(|first| bare(first) == "act") {
            return said(Says::Output, "act", &["act"]);
        }
        // OUT1 is an output, CO2 another gas.
        let of_a_loop = |word: &String| {
            OUTPUT_OF_A_LOOP.contains(&word.as_str()) || (bare(word) != "co" && OUTPUT_OF_A_LOOP.contains(&bare(word)))
        };
        if let Some(index) = words.iter().rposition(of_a_loop) {
            let name = said(Says::Output, &at(index), &OUTPUT_OF_A_LOOP);
            let others = || others.iter().filter(|other| **other != words);
            if words.len() == 1 && (words[0] != "co" || others().any(|other| is_of_loop(other, "", &SET_POINT))) {
                return name;
            }
            // T_out beside T_set is what is measured; beside T_pv it is what is set.
            let measured =
                others().any(|other| is_of_loop(other, &name.stem, &MEASUREMENT) || other.join("_") == name.stem);
            if index + 1 == words.len() && words.len() > 1 && (tagged == Tag::Controller || measured) {
                return name;
            }
        }
        if let Some(index) = of(&ACTUATOR).filter(|index| sets(*index)) {
            return said(Says::Output, &at(index), &ACTUATOR);
        }
        if words.first().is_some_and(|first| bare(first) == "u") {
            return said(Says::Output, "u", &["u"]);
        }
        if tagged == Tag::Valve {
            return said(Says::Output, &words[0], &[]);
        }
        if let Some(index) = of(&SURROUNDINGS) {
            return said(Says::Surroundings, &at(index), &SURROUNDINGS);
        }
        if let Some(index) = of(&LOAD) {
            return said(Says::Load, &at(index), &LOAD);
        }
        if is_letter(&words, "d") {
            return said(Says::Load, "d", &["d"]);
        }
        if is_letter(&words, "r") {
            return said(Says::LetterR, "r", &["r"]);
        }
        if is_letter(&words, "y") {
            return said(Says::Measurement, "y", &["y"]);
        }
        if words.iter().any(|word| word == "state") {
            return said(Says::Condition, "state", &["state"]);
        }
        if tagged == Tag::Indicator {
            return said(Says::Indicator, &words[0], &[]);
        }
        said(Says::Nothing, "", &[])
    }

    fn of(words: &[String], says: Says, by: &str, without: &[&str]) -> Self {
        let left: Vec<&str> = words
            .iter()
            .map(String::as_str)
            .filter(|word| !is_one_of(word, without))
            // The number of u1 and y1 is what they share.
            .collect();
        let mut stem = left.join("_");
        if stem.is_empty()
            && let Some(word) = words.iter().find(|word| is_one_of(word, without))
        {
            stem = word[bare(word).len()..].to_owned();
        }
        // TI102.PV is an instrument that indicates; TIC101.PV has a controller.
        let says = if says == Says::Measurement && tag(words) == Tag::Indicator { Says::Indicator } else { says };
        Self { words: words.to_vec(), says, by: by.to_owned(), stem }
    }
}

/// Whether a name is that of a loop, and says one of these words of it.
fn is_of_loop(words: &[String], stem: &str, roles: &[&str]) -> bool {
    let rest: Vec<&str> = words.iter().map(String::as_str).filter(|word| !is_one_of(word, roles)).collect();
    rest.len() < words.len() && rest.join("_") == stem
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(name: &str, others: &[&str]) -> (Says, String) {
        let others: Vec<Vec<String>> = others.iter().chain([&name]).map(|other| words(other)).collect();
        let name = Name::read(name, &others);
        (name.says, name.stem)
    }

    #[test]
    fn names_are_taken_apart_at_signs_and_capitals() {
        assert_eq!(words("LIC101.PV_valve"), ["lic101", "pv", "valve"]);
        assert_eq!(words("LevelSP"), ["level", "sp"]);
        assert_eq!(words("PVTemp"), ["pv", "temp"]);
        assert_eq!(words("TIC-101/OUT"), ["tic", "101", "out"]);
        assert_eq!(words("  "), [""; 0]);
    }

    #[test]
    fn names_say_what_columns_are() {
        for (name, expected) in [
            ("SP", Says::SetPoint),
            ("Sollwert", Says::SetPoint),
            ("temp_ref", Says::SetPoint),
            ("target_speed", Says::SetPoint),
            ("SetPoint", Says::SetPoint),
            ("valve_sp", Says::ActuatorSetPoint),
            ("PV", Says::Measurement),
            ("y", Says::Measurement),
            ("y1", Says::Measurement),
            ("T_ist", Says::Measurement),
            ("valve_actual", Says::Measurement),
            ("temp_act", Says::Measurement),
            ("MV", Says::Output),
            ("u_2", Says::Output),
            ("OUT", Says::Output),
            ("OUT2", Says::Output),
            ("act", Says::Output),
            ("actions_0", Says::Output),
            ("heater", Says::Output),
            ("FCV101", Says::Output),
            ("heater_temp", Says::Nothing),
            ("T_out", Says::Nothing),
            ("CO2", Says::Nothing),
            ("CO", Says::Nothing),
            ("theta_dot", Says::Nothing),
            ("DV", Says::Surroundings),
            ("OutdoorTemp", Says::Surroundings),
            ("d", Says::Load),
            ("FEED", Says::Load),
            ("dist_to_goal", Says::Load),
            ("Mode", Says::Mode),
            ("op_mode", Says::Mode),
            ("pump_state", Says::Output),
            ("State", Says::Condition),
            ("r", Says::LetterR),
            ("reactor", Says::Nothing),
            ("TI102", Says::Indicator),
            ("TI102.PV", Says::Indicator),
            ("FI8.PV", Says::Indicator),
            ("TT-7", Says::Indicator),
            ("x", Says::Nothing),
        ] {
            assert_eq!(says(name, &[]).0, expected, "{name}");
        }
    }

    #[test]
    fn tags_of_one_loop_share_their_stem() {
        for attribute in ["SP", "PV", "OUT", "OP", "MV", "CO"] {
            assert_eq!(says(&format!("TIC101.{attribute}"), &[]).1, "tic101", "{attribute}");
        }
        assert_eq!(says("TIC101.CO", &[]).0, Says::Output);
        assert_eq!(says("XD.OUT", &["XD.PV"]).0, Says::Output);
        assert_eq!(says("XD_OUT", &["XD"]).0, Says::Output);
        assert_eq!(says("T_out", &["T_set"]).0, Says::Nothing);
        assert_eq!(says("CO", &["PV", "SP"]).0, Says::Output);
        assert_eq!(says("XD_SP", &[]).1, says("XD", &[]).1);
        assert_eq!(says("level_set_point", &[]).1, "level");
        assert_eq!((says("y1", &[]).1, says("r1", &[]).1), ("1".into(), "1".into()));
        assert_eq!(says("SP", &[]).1, "");
    }
}
