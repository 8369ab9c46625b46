//! Modes in other languages: a constant for each of their words, and what a comment says of them.

use serde::Serialize;

use super::identifier::{Language, ascii, identifier};
use fpsrl_engine::policy::Quantity;

/// One mode.
#[derive(Serialize)]
pub(super) struct ModeView {
    /// The name of a constant: the variable's and the mode's, in capitals; no other mode has it.
    pub constant: String,
    /// Its word, harmless in comments and strings.
    pub text: String,
    /// Its number.
    pub number: usize,
}

/// Constants follow the rules of any language: letters, digits and single underscores.
const CONSTANTS: Language = Language { reserved: &[], ignores_case: true, lower_case: false };

/// The modes of each variable. `names` are the variables' names in the target.
pub(super) fn views(states: &[Quantity], names: &[String]) -> Vec<Vec<ModeView>> {
    let words = states.iter().zip(names).flat_map(|(state, name)| {
        state.values.iter().map(move |value| format!("{name}_{}", identifier(value)).to_ascii_uppercase())
    });
    let words: Vec<String> = words.collect();
    let mut constants = CONSTANTS.names(words.iter().map(String::as_str)).into_iter();
    let one = |state: &Quantity| {
        let values = state.values.iter().zip(constants.by_ref()).enumerate();
        values.map(|(number, (value, constant))| ModeView { constant, text: ascii(value), number }).collect()
    };
    states.iter().map(one).collect()
}

/// The modes of a variable as a list; empty for a quantity.
pub(super) fn listed(state: &Quantity) -> String {
    let one = |(number, value): (usize, &String)| format!("{number} {value}");
    ascii(&state.values.iter().enumerate().map(one).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mode_has_a_constant_of_its_own() {
        let mode = |name: &str, values: [&str; 2]| Quantity {
            values: values.map(str::to_owned).to_vec(),
            ..Quantity::new(name, "")
        };
        let states = [mode("a", ["b c", "b-c"]), Quantity::new("x", ""), mode("a_b", ["c", "Öl \"*/"])];
        let names = ["a", "x", "a_b"].map(str::to_owned);
        let views = views(&states, &names);
        let constants: Vec<&str> = views.iter().flatten().map(|mode| mode.constant.as_str()).collect();
        assert_eq!(constants, ["A_B_C", "A_B_C_2", "A_B_C_3", "A_B_OEL"]);
        assert_eq!(views.iter().map(Vec::len).collect::<Vec<_>>(), [2, 0, 2]);
        assert_eq!(listed(&states[0]), "0 b c, 1 b-c");
        assert!(!views[2][1].text.contains("*/") && !views[2][1].text.contains('"'));
    }
}
