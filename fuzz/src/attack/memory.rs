//! Memory and time of this process, as the system counts them.

use std::fs;
use std::path::Path;

/// What an input may take besides a multiple of its size, in bytes.
pub const ALLOWED: u64 = 200_000_000;
/// That multiple.
pub const FACTOR: u64 = 20;

/// The most memory that this process has had, in bytes; 0 where the system does not say.
pub fn peak() -> u64 {
    status("VmHWM:")
}

/// The memory that it has now.
pub fn now() -> u64 {
    status("VmRSS:")
}

fn status(key: &str) -> u64 {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default();
    line.split_whitespace().next().and_then(|number| number.parse::<u64>().ok()).unwrap_or(0) * 1_024
}

/// From now on [`peak`] counts anew.
pub fn forget_peak() {
    // Where the system has no such file, peaks stay those of the whole process.
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// The processor time that a process has had, in seconds; none where the system does not say.
pub fn processor_seconds(process: &Path) -> Option<f64> {
    let text = fs::read_to_string(process.join("stat")).ok()?;
    // The name of the program may hold anything but ends with a bracket.
    let (_, rest) = text.rsplit_once(')')?;
    let ticks = |place: usize| rest.split_whitespace().nth(place).and_then(|word| word.parse::<f64>().ok());
    // A tick is a hundredth of a second on every Linux.
    Some((ticks(11)? + ticks(12)?) / 100.0)
}
