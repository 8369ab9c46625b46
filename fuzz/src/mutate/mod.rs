//! How inputs are changed: each by its form, and now and then by its bytes whatever the form.
//!
//! An input is one that is known with a few changes, each of which makes its own choices. So a change can be left out
//! without touching the others: that is how what breaks is made small.

mod bytes;
mod document;
mod hdf5;
mod hostile;
mod packed;
mod parquet;
mod text;
mod thrift;

pub use hdf5::Sums;

use crate::draw::Draw;
use crate::input::{Form, Input};

/// The most changes of one input.
pub const MOST_CHANGES: u16 = 6;

/// The largest input; what makes a larger one is left out.
const LARGEST: usize = 1 << 20;

/// What is known of an input that others are made from.
#[derive(Clone, Debug)]
pub struct Known {
    /// The input.
    pub input: Input,
    /// Whether it is one that the attack begins with, and not one that was kept for its message.
    valid: bool,
    /// Where its blocks with checksums are.
    sums: Sums,
}

impl Known {
    /// A valid input.
    pub fn new(input: Input) -> Self {
        let sums = if input.form() == Form::Hdf5 { Sums::of(&input.bytes) } else { Sums::default() };
        Self { input, valid: true, sums }
    }

    /// An input that did something new.
    pub fn found(input: Input) -> Self {
        Self { valid: false, ..Self::new(input) }
    }
}

/// An input by its number, with those of its changes that `mask` has a bit for. Of what is known, the valid ones come first.
///
/// ```
/// use fpsrl_fuzz::input::Input;
/// use fpsrl_fuzz::mutate::{Known, input};
/// let known = [Known::new(Input::new("a.json", r#"{"a": [1, 2, 3]}"#))];
/// assert_eq!(input(&known, 1, 0, 5, u16::MAX), input(&known, 1, 0, 5, u16::MAX));
/// assert_eq!(input(&known, 1, 0, 5, 0), known[0].input, "without its changes it is what it was made from");
/// ```
pub fn input(known: &[Known], seed: u64, target: u16, counter: u32, mask: u16) -> Input {
    let mut draw = Draw::new(seed, target, counter, 0);
    // Most of what was kept is refused early; every other input begins with what would be taken.
    let valid = known.iter().take_while(|known| known.valid).count();
    let begins = if valid > 0 && draw.one_in(2) { &known[..valid] } else { known };
    let Known { input, sums, .. } = draw.pick(begins);
    let mut input = input.clone();
    let changes = 1 + draw.below(usize::from(MOST_CHANGES)).min(draw.below(usize::from(MOST_CHANGES))) as u16;
    let by_bytes = draw.one_in(8);
    let mut sums = sums.clone();
    for change in (1..=changes).filter(|change| mask >> (change - 1) & 1 == 1) {
        let mut draw = Draw::new(seed, target, counter, change);
        let other = &known[draw.below(known.len())].input;
        let before = input.bytes.clone();
        match input.form() {
            Form::Hdf5 if !by_bytes => hdf5::change(&mut input.bytes, &mut sums, &mut draw),
            _ if by_bytes => bytes::change(&mut input.bytes, &other.bytes, &mut draw),
            form => by_form(form, &mut input.bytes, other, &mut draw),
        }
        // What repeats itself would soon fill the memory of whoever makes it.
        if input.bytes.len() > LARGEST {
            input.bytes = before;
        }
    }
    input
}

fn by_form(form: Form, bytes: &mut Vec<u8>, other: &Input, draw: &mut Draw) {
    let changed = match form {
        Form::Toml => document::toml(bytes, draw),
        Form::Json => document::json(bytes, draw),
        Form::Gzip => packed::gzip(bytes, draw),
        Form::Npz => packed::npz(bytes, draw),
        Form::Parquet => parquet::change(bytes, draw),
        Form::Text | Form::Hdf5 => {
            text::change(bytes, &other.bytes, draw);
            return;
        }
    };
    match changed {
        Some(changed) => *bytes = changed,
        // An earlier change has made it something else.
        None => bytes::change(bytes, &other.bytes, draw),
    }
}
