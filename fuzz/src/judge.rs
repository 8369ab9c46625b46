//! What comes of an input: it is taken, refused with a message, or something breaks.

use std::any::Any;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Mutex, Once, PoisonError};

use fpsrl::{Error, visible};

use crate::input::Input;
use crate::place::Place;
use crate::targets::{Target, Trouble};

/// What came of an input.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Seen {
    /// It was read.
    Taken,
    /// It was refused: the message without numbers and names.
    Refused(String),
    /// Something broke: what.
    Broken(String),
}

/// The longest message that is one, in characters.
const LONGEST_MESSAGE: usize = 5_000;

/// The last panic: what it said, and where.
static PANIC: Mutex<String> = Mutex::new(String::new());

thread_local! {
    /// Whether this thread reads an input.
    static READS: Cell<bool> = const { Cell::new(false) };
}

/// From now on panics over inputs are kept instead of printed: those of a thread that reads one, and those of threads
/// without a name, which work for it.
pub fn keep_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !READS.get() && std::thread::current().name().is_some() {
                return usual(info);
            }
            let place =
                info.location().map_or_else(String::new, |place| format!(" at {}:{}", place.file(), place.line()));
            let told = said(info.payload()) + &place;
            *PANIC.lock().unwrap_or_else(PoisonError::into_inner) = told;
        }));
    });
}

fn said(payload: &dyn Any) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no reason given".into())
}

/// Gives an input to a target.
pub fn judge(target: &Target, input: &Input, place: &mut Place) -> Seen {
    READS.set(true);
    let outcome = panic::catch_unwind(AssertUnwindSafe(|| (target.run)(input, place)));
    READS.set(false);
    let met = place.met();
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(_) => {
            let told = std::mem::take(&mut *PANIC.lock().unwrap_or_else(PoisonError::into_inner));
            return Seen::Broken(format!("panic: {}", kind(&told, place)));
        }
    };
    let last = match outcome {
        Ok(()) => None,
        Err(Trouble::Wrong(what)) => return Seen::Broken(format!("wrong: {what}")),
        Err(Trouble::Refused(error)) => Some(error),
    };
    let mut first = None;
    for error in met.iter().chain(&last) {
        if let Some(fault) = fault(error, input, place) {
            return Seen::Broken(format!("{fault}: {}", kind(&error.to_string(), place)));
        }
        first.get_or_insert_with(|| kind(&error.to_string(), place));
    }
    match (last, first) {
        (None, None) => Seen::Taken,
        (_, told) => Seen::Refused(told.unwrap_or_default()),
    }
}

/// What is wrong with a message.
fn fault(error: &Error, input: &Input, place: &Place) -> Option<&'static str> {
    let told = error.to_string();
    let hint = error.hint().unwrap_or_default();
    if !error.is_users() {
        return Some("internal");
    }
    // A setting is found by its key, whatever file it stands in.
    let names_setting = matches!(
        error,
        Error::Setting { .. } | Error::UnknownName { .. } | Error::Stopped { .. } | Error::NoPlant { .. }
    );
    let file = input.name.rsplit('/').next().unwrap_or(&input.name);
    if !names_setting && !told.contains(file) && !told.contains(&*place.path().to_string_lossy()) {
        return Some("no file is named");
    }
    let said = [told.as_str(), hint.as_str()];
    if said.iter().any(|text| text.chars().any(visible::acts)) {
        return Some("something acts on the terminal");
    }
    if said.iter().any(|text| text.chars().count() > LONGEST_MESSAGE) {
        return Some("endless message");
    }
    if hint.is_empty() && !matches!(error, Error::Stopped { .. }) {
        return Some("no hint");
    }
    None
}

/// A message without what is the input's own: numbers, names in quotes, paths.
pub fn kind(message: &str, place: &Place) -> String {
    let message = message.replace(&*place.path().to_string_lossy(), "…");
    let mut kind = String::new();
    let mut quoted = None;
    for sign in message.chars().take(2_000) {
        match sign {
            _ if quoted == Some(sign) => quoted = None,
            _ if quoted.is_some() => {}
            '`' | '"' => {
                quoted = Some(sign);
                kind.push('…');
            }
            '0'..='9' => {
                if !kind.ends_with('#') {
                    kind.push('#');
                }
            }
            sign => kind.push(sign),
        }
    }
    kind.chars().take(160).collect()
}
