//! What processes and interpreters must not share.
//!
//! A forked child has its parent's memory and one of its threads. A lock that another thread held
//! is held for ever there, and a batch that another thread ran never ends. What the locks guard is
//! sound: whoever forks is attached to the interpreter, so no other thread is writing. A child
//! therefore begins with new locks and no batches ([`Renewed`]), and leaves the old ones where they
//! are.
//!
//! A second interpreter in a process would share objects of the first one. It is refused.
#![allow(unsafe_code, reason = "asks for the number of the interpreter")]

use pyo3::exceptions::PyImportError;
use pyo3::ffi::{PyInterpreterState_Get, PyInterpreterState_GetID};
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyCFunction};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The interpreter that imported the package first.
static INTERPRETER: OnceLock<i64> = OnceLock::new();

/// Refuses a second interpreter.
///
/// # Errors
/// `ImportError`.
pub(crate) fn take(_: Python<'_>) -> PyResult<()> {
    // SAFETY: this thread is attached to an interpreter, which outlives the call.
    let this = unsafe { PyInterpreterState_GetID(PyInterpreterState_Get()) };
    if *INTERPRETER.get_or_init(|| this) == this {
        return Ok(());
    }
    Err(PyImportError::new_err(
        "another interpreter of this process has imported fibula; it works in one alone",
    ))
}

/// The forks that lie between the first process and this one.
static FORKS: AtomicU64 = AtomicU64::new(0);

/// Lets Python tell of each fork, where the system has any.
pub(crate) fn watch(py: Python<'_>) -> PyResult<()> {
    let os = py.import("os")?;
    if !os.hasattr("register_at_fork")? {
        return Ok(());
    }
    let count = PyCFunction::new_closure(py, None, None, |_, _| {
        FORKS.fetch_add(1, Ordering::SeqCst);
    })?;
    let hooks = [("after_in_child", count)].into_py_dict(py)?;
    os.call_method("register_at_fork", (), Some(&hooks)).map(drop)
}

/// A value that each process has its own of.
///
/// A chain with a link for each process in which it was used; the last is this process's. A thread
/// that is attached uses it first, so that no fork comes between.
#[derive(Debug)]
pub(crate) struct Renewed<T> {
    forks: u64,
    value: T,
    next: OnceLock<Box<Self>>,
}

impl<T: Default> Default for Renewed<T> {
    fn default() -> Self {
        Self { forks: FORKS.load(Ordering::SeqCst), value: T::default(), next: OnceLock::new() }
    }
}

impl<T: Default> Renewed<T> {
    /// Returns this process's value.
    #[inline]
    pub(crate) fn get(&self) -> &T {
        if self.forks == FORKS.load(Ordering::Relaxed) { &self.value } else { self.after_fork() }
    }

    #[cold]
    fn after_fork(&self) -> &T {
        self.next.get_or_init(Box::default).get()
    }
}
