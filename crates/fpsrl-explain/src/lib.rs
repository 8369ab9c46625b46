//! Rules for people: in words and in pictures, with what does not matter left out and what is weak pointed at; and the
//! report, a page that holds everything about a run.

pub mod explain;
pub mod report;
