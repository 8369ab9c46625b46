//! Rules for people: words first, pictures later.

mod words;

pub use words::{number, sentences};
