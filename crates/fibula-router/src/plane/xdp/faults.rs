//! Calls of the kernel that may fail, so that tests can have each of them fail. Elsewhere nothing
//! of this is in the program.

use crate::Error;

#[cfg(test)]
thread_local! {
    /// How many calls of this thread succeed before one fails; `None` if none fails.
    static LEFT: std::cell::Cell<Option<u32>> = const { std::cell::Cell::new(None) };
}

/// Has the call fail that comes after `calls` others, and no other.
#[cfg(test)]
pub(super) fn fail_after(calls: Option<u32>) {
    LEFT.set(calls);
}

/// Returns whether the call that was to fail has failed.
#[cfg(test)]
pub(super) fn has_failed() -> bool {
    LEFT.get().is_none()
}

/// Begins a call of the kernel.
///
/// # Errors
/// If a test wants it to fail.
#[cfg(test)]
pub(super) fn call(what: &str) -> Result<(), Error> {
    match LEFT.get() {
        Some(0) => {
            LEFT.set(None);
            Err(Error::io(what, std::io::Error::other("a test has it fail")))
        }
        left => {
            LEFT.set(left.map(|left| left - 1));
            Ok(())
        }
    }
}

#[cfg(not(test))]
#[expect(clippy::unnecessary_wraps, reason = "in tests it fails")]
pub(super) fn call(_what: &str) -> Result<(), Error> {
    Ok(())
}
