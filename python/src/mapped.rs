//! [`Mapped`]: a table that is a snapshot, read where it is.

use crate::contents::{self, Contents};
use fibula::engine::ENGINES;
use fibula::snapshot::Snapshot;
use fibula::{Address, Family, IpPrefix, NextHop, Prefix, Route, View, Views};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};

/// A snapshot. Its values become Python objects when they are first answered.
///
/// It belongs to one table, which shows its objects to the collector; tables share the snapshot.
pub(crate) struct Mapped {
    pub(crate) snapshot: Arc<Snapshot>,
    views: Views,
    /// By index, from 1.
    values: Box<[OnceLock<Py<PyAny>>]>,
    pub(crate) convert: Option<Py<PyAny>>,
}

impl Mapped {
    /// Opens a snapshot. O(next hops), besides what checked the snapshot.
    pub(crate) fn new(snapshot: Arc<Snapshot>, convert: Option<Py<PyAny>>) -> Result<Self, fibula::Error> {
        let views = snapshot.views_from(ENGINES)?;
        let values = (0..snapshot.next_hop_count()?).map(|_| OnceLock::new()).collect();
        Ok(Self { snapshot, views, values, convert })
    }

    /// Returns the same table for another owner, with the objects that were made.
    pub(crate) fn copy(&self, py: Python<'_>) -> PyResult<Self> {
        let convert = self.convert.as_ref().map(|convert| convert.clone_ref(py));
        let mut copy = Self::new(Arc::clone(&self.snapshot), convert).map_err(value_error)?;
        let made = |cell: &OnceLock<Py<PyAny>>| match cell.get() {
            Some(value) => OnceLock::from(value.clone_ref(py)),
            None => OnceLock::new(),
        };
        copy.values = self.values.iter().map(made).collect();
        Ok(copy)
    }

    /// Returns the values that are Python objects already.
    pub(crate) fn made(&self) -> impl Iterator<Item = &Py<PyAny>> {
        self.values.iter().filter_map(OnceLock::get)
    }

    /// Returns the number of routes of each family.
    pub(crate) fn len(&self) -> (usize, usize) {
        let count = |family| self.snapshot.part(family).map_or(0, |part| part.prefixes as usize);
        (count(Family::Ipv4), count(Family::Ipv6))
    }

    /// Returns the number of values.
    pub(crate) fn value_count(&self) -> usize {
        self.values.len()
    }

    /// Returns the index of the longest matching prefix.
    ///
    /// # Errors
    /// If the snapshot is forged in a way that a lookup meets.
    #[inline]
    pub(crate) fn lookup(&self, address: IpAddr) -> PyResult<NextHop> {
        sound(|| self.views.lookup(address)).map_err(value_error)
    }

    pub(crate) fn ipv4(&self) -> Option<&dyn View<u32>> {
        self.views.ipv4()
    }

    pub(crate) fn ipv6(&self) -> Option<&dyn View<u128>> {
        self.views.ipv6()
    }

    /// Returns the value of an index if it is a Python object already.
    #[inline]
    pub(crate) fn known(&self, index: NextHop) -> Option<&Py<PyAny>> {
        self.values.get((index.0 as usize).wrapping_sub(1))?.get()
    }

    /// Returns the value of an index.
    ///
    /// # Errors
    /// If the snapshot has none, or the caller's `convert` fails.
    pub(crate) fn value(&self, py: Python<'_>, index: NextHop) -> PyResult<Py<PyAny>> {
        let unsound = || PyValueError::new_err(format!("a snapshot without the next hop {}", index.0));
        let cell = self.values.get((index.0 as usize).wrapping_sub(1)).ok_or_else(unsound)?;
        if let Some(value) = cell.get() {
            return Ok(value.clone_ref(py));
        }
        let info = self.snapshot.next_hop(index).ok_or_else(unsound)?;
        let made = contents::value(py, &info, self.convert.as_ref())?;
        // Another thread, or `convert` itself, may have been faster.
        Ok(cell.get_or_init(|| made).clone_ref(py))
    }

    /// Returns all values by index; the first is `None`.
    pub(crate) fn values(&self, py: Python<'_>) -> PyResult<Vec<Option<Py<PyAny>>>> {
        let all = (1..=self.values.len()).map(|index| self.value(py, NextHop(index as u32)).map(Some));
        std::iter::once(Ok(None)).chain(all).collect()
    }

    /// Returns the longest matching prefix, and the index of its value.
    ///
    /// # Errors
    /// If the snapshot holds no routes.
    pub(crate) fn longest_match(&self, address: IpAddr) -> PyResult<Option<(IpPrefix, NextHop)>> {
        self.check_routes()?;
        let found = sound(|| match address {
            IpAddr::V4(address) => self.first_cover(address.to_bits()),
            IpAddr::V6(address) => self.first_cover(address.to_bits()),
        });
        found.map_err(value_error)?.map_err(value_error)
    }

    fn first_cover<A: Address>(&self, address: A) -> Result<Option<(IpPrefix, NextHop)>, fibula::Error>
    where
        Prefix<A>: Into<IpPrefix>,
    {
        let first = self.snapshot.routes::<A>()?.covering(Prefix::host(address)).next();
        Ok(first.map(|Route { prefix, next_hop }| (prefix.into(), next_hop)))
    }

    /// Returns all that the table says.
    ///
    /// # Errors
    /// If the snapshot holds no routes, or they are unsound.
    pub(crate) fn contents(&self, py: Python<'_>) -> PyResult<Contents> {
        self.check_routes()?;
        let values = self.values(py)?;
        let ribs = || Ok::<_, fibula::Error>((self.snapshot.rib()?, self.snapshot.rib()?));
        let ribs = py.detach(|| sound(ribs)).map_err(value_error)?;
        let (ipv4, ipv6) = ribs.map_err(value_error)?;
        Ok(Contents { ipv4, ipv6, values })
    }

    fn check_routes(&self) -> PyResult<()> {
        if self.snapshot.has_routes() {
            return Ok(());
        }
        Err(PyValueError::new_err(
            "the snapshot holds no routes, only lookups (written with routes=False, or by `fibula build` \
             without --rib)",
        ))
    }
}

/// Why a lookup in a snapshot ended early: only a forged one panics.
#[derive(Debug)]
pub(crate) struct Unsound;

impl std::fmt::Display for Unsound {
    fn fmt(&self, text: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        text.write_str("the snapshot is unsound: its checksums are right, its content is not")
    }
}

/// Runs what reads a snapshot.
///
/// # Errors
/// If it panics.
#[inline]
fn sound<R>(read: impl FnOnce() -> R) -> Result<R, Unsound> {
    catch_unwind(AssertUnwindSafe(read)).map_err(|_| Unsound)
}

pub(crate) fn value_error(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}
