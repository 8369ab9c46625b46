//! The command `fpsrl`.
fn main() {}
