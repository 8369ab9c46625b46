//! Rules as words.
