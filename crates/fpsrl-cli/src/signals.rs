//! Signals that ask the command to end: the first one asks the work to end well, a second one ends it at once.

use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, Once, PoisonError};

use fpsrl::progress::Stop;

/// What Ctrl-C sends, also where there are no signals.
const INTERRUPT: i32 = 2;

/// The first signal that was heard; 0 before.
static FIRST: AtomicI32 = AtomicI32::new(0);

/// The work under way.
static CURRENT: Mutex<Option<Stop>> = Mutex::new(None);

/// From now on signals stop this work.
pub fn stop(work: &Stop) {
    static LISTENING: Once = Once::new();
    *CURRENT.lock().unwrap_or_else(PoisonError::into_inner) = Some(work.clone());
    // It fails only where signals cannot be caught; then they kill, and checkpoints serve as well.
    LISTENING.call_once(listen);
}

/// The exit code of work that a signal has ended, as shells expect it: 130 after Ctrl-C, 143 after SIGTERM, 129 after
/// SIGHUP.
pub fn exit_code() -> u8 {
    match FIRST.load(Ordering::Relaxed) {
        0 => code_of(INTERRUPT),
        signal => code_of(signal),
    }
}

fn code_of(signal: i32) -> u8 {
    u8::try_from(128 + signal).unwrap_or(130)
}

fn heard(signal: i32) {
    // The first one says why the work ends.
    let _ = FIRST.compare_exchange(0, signal, Ordering::Relaxed, Ordering::Relaxed);
    let work = CURRENT.lock().unwrap_or_else(PoisonError::into_inner).clone();
    if work.is_none_or(|work| work.request()) {
        std::process::exit(code_of(signal).into());
    }
}

#[cfg(unix)]
fn listen() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let mut wanted = vec![SIGINT, SIGTERM];
    if !is_ignored(SIGHUP) {
        wanted.push(SIGHUP);
    }
    if let Ok(mut signals) = signal_hook::iterator::Signals::new(wanted) {
        let listener = move || signals.forever().for_each(heard);
        let _ = std::thread::Builder::new().name("signals".into()).spawn(listener);
    }
}

/// Whether whoever started the command wants a signal to be ignored, as `nohup` does with SIGHUP.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    // Only Linux says it without asking the system in an unsafe way.
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (signal - 1) & 1 == 1
}

#[cfg(not(unix))]
fn listen() {
    let _ = ctrlc::set_handler(|| heard(INTERRUPT));
}
