//! `cargo xtask test`: every check of the project in one command.
fn main() {}
