//! Code of others that may panic over a file which is not what it claims to be.
//!
//! A reader calls it through [`guarded`], and a panic becomes words for an error. A program that reports panics as bugs of
//! its own asks [`is_guarded`] in its hook, and says nothing of those that are caught here.

use std::any::Any;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// Counts down however the work ends.
struct Guard;

impl Drop for Guard {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
    }
}

/// Does work of others; a panic in it becomes its message. What the work has changed until then must not be used again.
///
/// ```
/// use fpsrl_base::foreign::guarded;
/// assert_eq!(guarded(|| 1 + 1), Ok(2));
/// ```
pub fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    DEPTH.set(DEPTH.get() + 1);
    let guard = Guard;
    let done = panic::catch_unwind(AssertUnwindSafe(work));
    drop(guard);
    done.map_err(|payload| said(payload.as_ref()))
}

/// Whether this thread does work whose panics are caught by [`guarded`]: they are no bugs of the program.
pub fn is_guarded() -> bool {
    DEPTH.get() > 0
}

/// What a panic says, on one line.
fn said(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied().or(payload.downcast_ref::<String>().map(String::as_str));
    let line = text.unwrap_or_default().lines().next().unwrap_or_default();
    if line.is_empty() { "its parts contradict each other".into() } else { line.chars().take(200).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_its_message_and_guards_end_with_it() {
        assert!(!is_guarded());
        let within = || {
            assert!(guarded(is_guarded).unwrap());
            assert!(is_guarded(), "the outer guard still holds");
            let nothing: &[u8] = &[];
            nothing[std::hint::black_box(3)]
        };
        let said = guarded(within).unwrap_err();
        assert!(said.contains("index out of bounds"), "{said}");
        assert!(!is_guarded());
        assert_eq!(guarded(|| panic!("{}", "first\nsecond")).unwrap_err(), "first");
    }
}
