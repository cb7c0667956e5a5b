//! [`Failure`]: what a call returns when it fails, and the message of the thread's last one.

use fibula::ErrorKind;
use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A failed call: the number of an error, as in `errno.h`, and what to tell people. One pointer
/// wide, so that a call that succeeds returns its answer in registers.
#[derive(Debug)]
pub(crate) struct Failure(Box<(c_int, String)>);

impl Failure {
    pub(crate) fn new(errno: c_int, message: impl Into<String>) -> Self {
        Self(Box::new((errno, message.into())))
    }

    /// An argument that can never be right.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(libc::EINVAL, message)
    }

    /// A pointer that is null. Out of the way of the calls that are right.
    #[cold]
    #[inline(never)]
    pub(crate) fn null(what: &str) -> Self {
        Self::invalid(format!("{what} is NULL"))
    }

    /// A panic.
    #[cold]
    #[inline(never)]
    fn fault(panic: Box<dyn Any + Send>) -> Self {
        let text = match panic.downcast::<&str>() {
            Ok(text) => (*text).to_owned(),
            Err(panic) => panic.downcast().map_or_else(|_| "unknown".to_owned(), |text| *text),
        };
        Self::new(libc::EIO, format!("a fault of fibula: {text}"))
    }

    /// Keeps the message as the thread's last one. Returns the negated number.
    #[cold]
    #[inline(never)]
    fn keep(self) -> c_int {
        let (errno, message) = *self.0;
        let message = CString::new(message.replace('\0', " ")).unwrap_or_default();
        // A thread that ends has no place for messages any more.
        let _ = LAST.try_with(|last| last.replace(message));
        -errno
    }
}

impl From<fibula::Error> for Failure {
    fn from(error: fibula::Error) -> Self {
        let errno = match error.kind() {
            ErrorKind::Family => libc::EAFNOSUPPORT,
            ErrorKind::Limit(_) => libc::ENOSPC,
            ErrorKind::UnknownEngine => libc::ENOENT,
            ErrorKind::File => libc::EIO,
            ErrorKind::ReadersHeldUp => libc::EAGAIN,
            _ => libc::EINVAL,
        };
        Self::new(errno, error.to_string())
    }
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// Runs a call of the interface: returns what it returns, or the negated number of its error, and
/// keeps the message. A panic is an error too.
pub(crate) fn call(body: impl FnOnce() -> Result<c_int, Failure>) -> c_int {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(found)) => found,
        Ok(Err(failure)) => failure.keep(),
        Err(panic) => Failure::fault(panic).keep(),
    }
}

/// Returns the message of the last call of this thread that failed, and "" before the first. It
/// stays as it is until the next one fails.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn fibula_error() -> *const c_char {
    LAST.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

/// Reads a text that C hands over.
///
/// # Safety
/// `text` is null or a string that ends with 0, and is not changed while it is read.
pub(crate) unsafe fn text<'t>(text: *const c_char, what: &str) -> Result<&'t str, Failure> {
    if text.is_null() {
        return Err(Failure::null(what));
    }
    // SAFETY: the caller's promise.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map_err(|_| Failure::invalid(format!("{what} is no UTF-8")))
}
