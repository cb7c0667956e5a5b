//! [`Shared`]: one table, many threads.
//!
//! Readers hold a lock for one block of a column; for one lookup the interpreter's is enough
//! ([`guarded`](crate::guarded)). A writer changes a few routes in
//! place under the lock. What takes longer happens beside the table: the writer copies the routes,
//! compiles the copy with the interpreter released, and swaps it in. So no reader waits for a
//! build, but for one that a table needs when it has grown to four times its size by single
//! changes.
//!
//! A batch resolves next-hop indices to values after its lookups. The index of a value that loses
//! its last route is therefore used again only when no batch is running ([`Values::reclaim`]).
//!
//! [`Values::reclaim`]: crate::values::Values::reclaim

use crate::contents::Contents;
use crate::guarded::{Guarded, Reading, Writing};
use crate::mapped::{Mapped, Unsound, value_error};
use crate::owned::{Owned, Wanted};
use crate::process::Renewed;
use fibula::rib::AddressSet;
use fibula::table::compiled::Compiled;
use fibula::{IpPrefix, NextHop};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Up to this many changes are made in place: a millisecond or two.
const IN_PLACE: usize = 1024;

/// What a table is made of.
pub(crate) enum Body {
    Mapped(Arc<Mapped>),
    Owned(Box<Owned>),
}

impl Body {
    /// Returns a number that rises when an index gets another value.
    pub(crate) fn values_version(&self) -> u64 {
        match self {
            Self::Owned(owned) => owned.values.version(),
            Self::Mapped(_) => 0,
        }
    }
}

/// A table that threads share; see the [module page](self).
pub(crate) struct Shared {
    body: Guarded<Body>,
    /// Held by who changes the table.
    writer: Renewed<Mutex<()>>,
    /// The number of running batches.
    batches: Renewed<AtomicUsize>,
}

/// A batch that is running: until it is dropped, every index keeps its value.
pub(crate) struct Batch<'s>(&'s AtomicUsize);

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Shared {
    pub(crate) fn new(body: Body) -> Self {
        Self { body: Guarded::new(body), writer: Renewed::default(), batches: Renewed::default() }
    }

    /// Locks the table for reading, by a thread that is attached to the interpreter.
    #[inline]
    pub(crate) fn read(&self, py: Python<'_>) -> Reading<'_, Body> {
        self.body.read(py)
    }

    /// As [`Shared::read`], by a thread that is not.
    pub(crate) fn read_detached(&self) -> Reading<'_, Body> {
        self.body.read_detached()
    }

    /// As [`Shared::read`], `None` where it would wait.
    pub(crate) fn try_read(&self) -> Option<Reading<'_, Body>> {
        self.body.try_read()
    }

    fn write<'s>(&'s self, py: Python<'s>) -> Writing<'s, Body> {
        self.body.write(py)
    }

    fn writing(&self, py: Python<'_>) -> MutexGuard<'_, ()> {
        self.writer.get().lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a batch.
    pub(crate) fn batch(&self) -> Batch<'_> {
        let batches = self.batches.get();
        batches.fetch_add(1, Ordering::SeqCst);
        Batch(batches)
    }

    /// Runs lookups with the interpreter released.
    ///
    /// # Errors
    /// If the table is a snapshot that was forged.
    pub(crate) fn detached<R: Send>(&self, py: Python<'_>, work: impl FnOnce() -> R + Send) -> PyResult<R> {
        // From here on this process has its own lock.
        let is_mapped = matches!(&*self.read(py), Body::Mapped(_));
        match py.detach(|| catch_unwind(AssertUnwindSafe(work))) {
            Ok(answers) => Ok(answers),
            Err(_) if is_mapped => Err(value_error(Unsound)),
            Err(panic) => resume_unwind(panic),
        }
    }

    /// Returns the value of the longest matching prefix.
    #[inline]
    pub(crate) fn find(&self, py: Python<'_>, address: IpAddr) -> PyResult<Option<Py<PyAny>>> {
        let known = |body: &Body| -> PyResult<Result<_, (Arc<Mapped>, NextHop)>> {
            let found = match body {
                Body::Owned(owned) => owned.values.get(owned.lookup(address)),
                Body::Mapped(mapped) => match mapped.lookup(address)? {
                    NextHop::NONE => None,
                    index => match mapped.known(index) {
                        None => return Ok(Err((Arc::clone(mapped), index))),
                        known => known,
                    },
                },
            };
            Ok(Ok(found.map(|value| value.clone_ref(py))))
        };
        // SAFETY: a lookup and one more reference run no code of Python's.
        match unsafe { self.body.peek(py, known) }? {
            Ok(value) => Ok(value),
            Err((mapped, index)) => mapped.value(py, index).map(Some), // `convert` may do anything
        }
    }

    /// Returns whether a prefix matches an address.
    pub(crate) fn contains(&self, py: Python<'_>, address: IpAddr) -> PyResult<bool> {
        let index = |body: &Body| match body {
            Body::Owned(owned) => Ok(owned.lookup(address)),
            Body::Mapped(mapped) => mapped.lookup(address),
        };
        // SAFETY: a lookup runs no code of Python's.
        unsafe { self.body.peek(py, index) }.map(NextHop::is_some)
    }

    /// Returns the longest matching prefix of an address, and its value.
    pub(crate) fn longest_match(
        &self,
        py: Python<'_>,
        address: IpAddr,
    ) -> PyResult<Option<(IpPrefix, Py<PyAny>)>> {
        let body = self.read(py);
        let (mapped, found) = match &*body {
            Body::Owned(owned) => {
                let found = owned.longest_match(address);
                let value = |(prefix, index)| Some((prefix, owned.values.get(index)?.clone_ref(py)));
                return Ok(found.and_then(value));
            }
            Body::Mapped(mapped) => (Arc::clone(mapped), mapped.longest_match(address)?),
        };
        drop(body);
        found.map(|(prefix, index)| Ok((prefix, mapped.value(py, index)?))).transpose()
    }

    /// Runs `ask` on the routes, and returns those that it names with their values.
    ///
    /// # Errors
    /// If the table is a snapshot without routes.
    pub(crate) fn routes(
        &self,
        py: Python<'_>,
        ask: impl FnOnce(&Owned) -> Vec<(IpPrefix, NextHop)>,
    ) -> PyResult<Vec<(IpPrefix, Py<PyAny>)>> {
        self.own(py)?;
        let body = self.read(py);
        let Body::Owned(owned) = &*body else { return Ok(Vec::new()) };
        let value = |(prefix, index)| Some((prefix, owned.values.get(index)?.clone_ref(py)));
        Ok(ask(owned).into_iter().filter_map(value).collect())
    }

    /// Returns the addresses that have a match. O(n).
    ///
    /// # Errors
    /// If the table is a snapshot without routes.
    pub(crate) fn addresses(&self, py: Python<'_>) -> PyResult<(AddressSet<u32>, AddressSet<u128>)> {
        self.own(py)?;
        let body = self.read(py);
        let Body::Owned(owned) = &*body else { return Ok(Default::default()) };
        Ok((owned.ipv4.rib().addresses(), owned.ipv6.rib().addresses()))
    }

    /// Returns whether all addresses of a prefix have a match.
    ///
    /// # Errors
    /// If the table is a snapshot without routes.
    pub(crate) fn covers(&self, py: Python<'_>, prefix: IpPrefix) -> PyResult<bool> {
        self.own(py)?;
        let body = self.read(py);
        let Body::Owned(owned) = &*body else { return Ok(false) };
        Ok(match prefix {
            IpPrefix::V4(prefix) => owned.ipv4.rib().covers(prefix),
            IpPrefix::V6(prefix) => owned.ipv6.rib().covers(prefix),
        })
    }

    /// Returns the same table for another owner. O(n).
    pub(crate) fn copied(&self, py: Python<'_>) -> PyResult<Body> {
        let body = self.read(py);
        let (families, values) = match &*body {
            Body::Mapped(mapped) => return Ok(Body::Mapped(Arc::new(mapped.copy(py)?))),
            Body::Owned(owned) => {
                ((owned.ipv4.clone(), owned.ipv6.clone()), copy(py, owned.values.objects()))
            }
        };
        // The hashes of values may run Python, which may change this table.
        drop(body);
        Ok(Body::Owned(Box::new(Owned::of(py, families, values))))
    }

    /// Returns a copy of all that the table says. O(n).
    ///
    /// # Errors
    /// If the table is a snapshot without routes.
    pub(crate) fn contents(&self, py: Python<'_>) -> PyResult<Contents> {
        let body = self.read(py);
        match &*body {
            Body::Owned(owned) => Ok(Contents {
                ipv4: owned.ipv4.rib().clone(),
                ipv6: owned.ipv6.rib().clone(),
                values: copy(py, owned.values.objects()),
            }),
            Body::Mapped(mapped) => {
                let mapped = Arc::clone(mapped);
                drop(body);
                mapped.contents(py)
            }
        }
    }

    /// Makes changes, in order; without a value the route of the prefix goes. Readers see all of
    /// them or none.
    ///
    /// # Errors
    /// If the table is a snapshot without routes, or has no room for a value. Nothing changed then.
    pub(crate) fn change(&self, py: Python<'_>, wanted: &[Wanted<'_>]) -> PyResult<()> {
        self.own(py)?;
        // Their destructors run when all locks are free again.
        let mut dropped = Vec::new();
        let mut replaced = None;
        let writing = self.writing(py);
        let result = if wanted.len() <= IN_PLACE {
            let mut body = self.write(py);
            let Body::Owned(owned) = &mut *body else { return Ok(()) };
            let result = owned.intern(wanted).map(|changes| owned.apply(changes));
            dropped = self.reclaim(py, owned);
            result
        } else {
            self.change_beside(py, wanted, &mut dropped, &mut replaced)
        };
        drop(writing);
        drop(replaced);
        drop(dropped);
        result
    }

    /// Makes many changes on a copy, and swaps it in. The caller is the writer.
    fn change_beside(
        &self,
        py: Python<'_>,
        wanted: &[Wanted<'_>],
        dropped: &mut Vec<Py<PyAny>>,
        replaced: &mut Option<(Compiled<u32>, Compiled<u128>)>,
    ) -> PyResult<()> {
        let (changes, mut ipv4, mut ipv6) = {
            let mut body = self.write(py);
            let Body::Owned(owned) = &mut *body else { return Ok(()) };
            (owned.intern(wanted)?, owned.ipv4.rib().clone(), owned.ipv6.rib().clone())
        };
        let (compiled, deltas) = py.detach(|| {
            let deltas = (ipv4.apply_all(changes.ipv4).deltas, ipv6.apply_all(changes.ipv6).deltas);
            ((Compiled::of(ipv4), Compiled::of(ipv6)), deltas)
        });
        let mut body = self.write(py);
        let Body::Owned(owned) = &mut *body else { return Ok(()) };
        let before =
            (std::mem::replace(&mut owned.ipv4, compiled.0), std::mem::replace(&mut owned.ipv6, compiled.1));
        *replaced = Some(before);
        owned.count(&deltas.0, &deltas.1);
        *dropped = self.reclaim(py, owned);
        Ok(())
    }

    /// Removes the route of a prefix, and returns its value.
    pub(crate) fn remove(&self, py: Python<'_>, prefix: IpPrefix) -> PyResult<Option<Py<PyAny>>> {
        self.own(py)?;
        let writing = self.writing(py);
        let mut body = self.write(py);
        let Body::Owned(owned) = &mut *body else { return Ok(None) };
        let value = owned.exact(prefix).and_then(|index| owned.values.get(index));
        let value = value.map(|value| value.clone_ref(py));
        let mut dropped = Vec::new();
        if value.is_some() {
            let changes = owned.intern(&[(prefix, None)])?;
            owned.apply(changes);
            dropped = self.reclaim(py, owned);
        }
        drop(body);
        drop(writing);
        drop(dropped);
        Ok(value)
    }

    /// Empties the table, for the garbage collector.
    pub(crate) fn forget(&self, py: Python<'_>) {
        let empty = Body::Owned(Box::default());
        let Some(mut body) = self.body.try_write(py) else { return };
        let replaced = std::mem::replace(&mut *body, empty);
        drop(body);
        drop(replaced);
    }

    /// Frees the values without a route, if no batch may still answer them. The caller holds the
    /// lock, so that no batch looks up before this has ended.
    fn reclaim(&self, py: Python<'_>, owned: &mut Owned) -> Vec<Py<PyAny>> {
        if self.batches.get().load(Ordering::SeqCst) == 0 { owned.values.reclaim(py) } else { Vec::new() }
    }

    /// Turns a snapshot into a table that can be changed. O(n) the first time.
    ///
    /// # Errors
    /// If it holds no routes.
    fn own(&self, py: Python<'_>) -> PyResult<()> {
        if matches!(&*self.read(py), Body::Owned(_)) {
            return Ok(());
        }
        // Without any lock, because a caller's `convert` makes the values.
        let owned = Body::Owned(Box::new(Owned::compile(py, self.contents(py)?)));
        let mut body = self.write(py);
        if matches!(&*body, Body::Mapped(_)) {
            let replaced = std::mem::replace(&mut *body, owned);
            drop(body);
            drop(replaced);
        }
        Ok(())
    }
}

/// Returns new references to the same values.
pub(crate) fn copy(py: Python<'_>, values: &[Option<Py<PyAny>>]) -> Vec<Option<Py<PyAny>>> {
    values.iter().map(|value| value.as_ref().map(|value| value.clone_ref(py))).collect()
}
