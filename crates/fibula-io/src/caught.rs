//! [`caught`]: readers of other crates that panic on some damaged files.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    /// Whether a panic of this thread is caught, so that nothing is printed of it.
    static IS_CAUGHT: Cell<bool> = const { Cell::new(false) };
}

/// Runs a reader that checks what it reads, but of which a check of its own panics on some damaged
/// files. Returns `None` if it did; whatever it has changed must not be used then.
#[doc(hidden)]
pub fn caught<T>(read: impl FnOnce() -> T) -> Option<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if !IS_CAUGHT.get() {
                before(panic);
            }
        }));
    });
    let outside = IS_CAUGHT.replace(true);
    let result = panic::catch_unwind(AssertUnwindSafe(read));
    IS_CAUGHT.set(outside);
    result.ok()
}
