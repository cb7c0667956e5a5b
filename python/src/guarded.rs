//! [`Guarded`]: a value behind a lock, which a thread that holds the interpreter reads without it.
//!
//! Where the interpreter has its global lock, threads that are attached to it run one at a time.
//! All writers are attached while they write, and none detaches before it has unlocked. So an
//! attached thread that stays attached meets no writer. Taking the lock would cost it two atomic
//! read-modify-writes, and each of them waits for every load and store before it: a lookup could
//! not begin while the memory of the one before is still on its way.
#![allow(unsafe_code, reason = "a value that two locks guard, either of which is enough to read")]

use crate::process::Renewed;
use pyo3::prelude::*;
use pyo3::sync::RwLockExt;
use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// A value that threads share; see the [module page](self).
pub(crate) struct Guarded<T> {
    lock: Renewed<RwLock<()>>,
    value: UnsafeCell<T>,
}

// SAFETY: as with an `RwLock`, a reference to the value is only had with the lock, or as `peek`
// says.
unsafe impl<T: Send + Sync> Sync for Guarded<T> {}

/// The value, locked for reading.
pub(crate) struct Reading<'g, T> {
    _lock: RwLockReadGuard<'g, ()>,
    value: &'g T,
}

/// The value, locked for writing by a thread that is attached.
pub(crate) struct Writing<'g, T> {
    _lock: RwLockWriteGuard<'g, ()>,
    value: &'g mut T,
}

impl<T> Guarded<T> {
    pub(crate) fn new(value: T) -> Self {
        Self { lock: Renewed::default(), value: UnsafeCell::new(value) }
    }

    /// Calls `read` with the value, without the lock where the interpreter has its own.
    ///
    /// # Safety
    /// `read` does not detach from the interpreter, and calls nothing that does: it runs no code of
    /// Python's. Nor does who holds a [`Writing`].
    #[inline(always)]
    pub(crate) unsafe fn peek<R>(&self, py: Python<'_>, read: impl FnOnce(&T) -> R) -> R {
        if cfg!(Py_GIL_DISABLED) {
            return read(&self.read(py));
        }
        // SAFETY: this thread is attached, and stays so. All writers are attached while they write.
        read(unsafe { &*self.value.get() })
    }

    /// Locks the value for reading, by a thread that is attached to the interpreter.
    #[inline]
    pub(crate) fn read(&self, py: Python<'_>) -> Reading<'_, T> {
        self.reading(self.lock.get().read_py_attached(py).unwrap_or_else(PoisonError::into_inner))
    }

    /// As [`read`](Self::read), by a thread that is not.
    pub(crate) fn read_detached(&self) -> Reading<'_, T> {
        self.reading(self.lock.get().read().unwrap_or_else(PoisonError::into_inner))
    }

    /// As [`read`](Self::read), `None` where it would wait.
    pub(crate) fn try_read(&self) -> Option<Reading<'_, T>> {
        self.lock.get().try_read().ok().map(|lock| self.reading(lock))
    }

    /// Locks the value for writing. The thread stays attached until it unlocks.
    pub(crate) fn write<'g>(&'g self, py: Python<'g>) -> Writing<'g, T> {
        self.writing(self.lock.get().write_py_attached(py).unwrap_or_else(PoisonError::into_inner))
    }

    /// As [`write`](Self::write), `None` where it would wait.
    pub(crate) fn try_write<'g>(&'g self, _: Python<'g>) -> Option<Writing<'g, T>> {
        self.lock.get().try_write().ok().map(|lock| self.writing(lock))
    }

    fn reading<'g>(&'g self, lock: RwLockReadGuard<'g, ()>) -> Reading<'g, T> {
        // SAFETY: no writer has the lock.
        Reading { value: unsafe { &*self.value.get() }, _lock: lock }
    }

    fn writing<'g>(&'g self, lock: RwLockWriteGuard<'g, ()>) -> Writing<'g, T> {
        // SAFETY: nobody else has the lock. Who peeks is attached, and this thread is.
        Writing { value: unsafe { &mut *self.value.get() }, _lock: lock }
    }
}

impl<T> Deref for Reading<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value
    }
}

impl<T> Deref for Writing<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value
    }
}

impl<T> DerefMut for Writing<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.value
    }
}
