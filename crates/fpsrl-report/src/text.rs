//! Numbers and names as the page shows them.

use fpsrl_base::text::{count, number, with_unit};
use fpsrl_data::system::StateVariable;
use fpsrl_explain::{escape, minus, shortened, told_value};
use fpsrl_search::gain::Gain;

/// A return, for people.
pub(super) fn amount(value: f64) -> String {
    if value.abs() >= 1.0 && value.abs() < 1e6 { minus(&format!("{value:.2}")) } else { minus(&number(value)) }
}

/// A number with its unit, for a page.
pub(super) fn measure(value: f64, unit: &str) -> String {
    escape(&with_unit(&minus(&number(value)), unit))
}

/// A value of a variable, for a page: of a mode, its word.
pub(super) fn told(variable: &StateVariable, value: f64) -> String {
    let told = told_value(variable.values(), value, &variable.unit);
    escape(&if variable.values().is_empty() { minus(&told) } else { told })
}

/// A name as the page shows it; what is written from right to left keeps to itself.
pub(super) fn name(text: &str) -> String {
    format!("<bdi>{}</bdi>", escape(text))
}

/// A share in percent, for people.
pub(super) fn share(value: f64) -> String {
    let percent = 100.0 * value;
    if percent > 0.0 && percent < 9.95 { format!("{percent:.1}") } else { format!("{percent:.0}") }
}

/// The label of an axis.
pub(super) fn with_unit_in(name: &str, unit: &str) -> String {
    let name = shortened(name, 36);
    if unit.is_empty() { name } else { format!("{name} in {}", shortened(unit, 16)) }
}

/// What "today" is, in a few words: the one definition of it in the page.
pub(super) fn what_today_is(gain: &Gain) -> String {
    match gain.today_is.as_str() {
        "log" => format!("what the log earned from the same {} rows", count(gain.starts)),
        "random" => "random actions, which made the log".to_owned(),
        _ => "what stretches of the log earned".to_owned(),
    }
}
