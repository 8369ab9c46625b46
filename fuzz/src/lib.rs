//! A standing attack on everything that fpsrl reads.
//!
//! Valid files of every kind ([`seeds`]) are changed ([`mutate`]) and given to the readers in process ([`targets`]). What
//! comes of each is judged ([`judge`](mod@judge)): it is taken, or refused with a message that names the file, or something breaks. What
//! breaks is made small and kept. `cargo xtask fuzz` runs it, with every input in a process that may die ([`attack`]);
//! `tests/short.rs` is a short part of it, and the corpus of what ever broke.
//!
//! Every input is a function of the target, the seed, its number, and the inputs that are known when its batch begins, which
//! are themselves such functions.

pub mod attack;
pub mod draw;
pub mod input;
pub mod judge;
pub mod mutate;
pub mod place;
pub mod seeds;
pub mod table;
pub mod targets;
pub mod tree;
