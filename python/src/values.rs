//! [`Values`]: the Python objects that routes lead to, by next-hop index.
//!
//! Equal `str` and equal `int` values have one index, and so have two references to one object. No
//! other values are compared, so that no code of theirs runs while a table is locked, and so that a
//! table returns what was put into it (`(1,) == (True,)`).

use fibula::NextHop;
use hashbrown::HashTable;
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyString};

/// An index in the hash table, with the hash of its value.
#[derive(Clone, Copy, Debug)]
struct Known {
    hash: u64,
    index: u32,
}

/// The values of a table; see the [module page](self).
#[derive(Debug)]
pub(crate) struct Values {
    /// By index. Index 0 says "no route" and has none.
    objects: Vec<Option<Py<PyAny>>>,
    /// By index: how many routes lead there.
    routes: Vec<u32>,
    known: HashTable<Known>,
    /// Indices without a value.
    free: Vec<u32>,
    /// Indices that may have no route. Batches that were running may have answered them.
    retired: Vec<u32>,
    /// Rises when an index gets a value.
    version: u64,
}

impl Default for Values {
    /// No values: only index 0, which has none.
    fn default() -> Self {
        let known = HashTable::new();
        Self { objects: vec![None], routes: vec![0], known, free: vec![], retired: vec![], version: 0 }
    }
}

impl Values {
    /// Returns the values of a new table. `objects[0]` is `None`; values without a route are
    /// dropped, and their indices are free.
    pub(crate) fn new(py: Python<'_>, objects: Vec<Option<Py<PyAny>>>, routes: Vec<u32>) -> Self {
        let mut values = Self { objects, routes, version: 1, ..Self::default() };
        values.objects.resize_with(values.routes.len().max(values.objects.len()).max(1), || None);
        values.routes.resize(values.objects.len(), 0);
        for index in 1..values.objects.len() {
            match &values.objects[index] {
                Some(object) if values.routes[index] > 0 => {
                    let hash = hash(object.bind(py));
                    let known = Known { hash, index: index as u32 };
                    values.known.insert_unique(hash, known, |known| known.hash);
                }
                _ => {
                    values.objects[index] = None;
                    values.free.push(index as u32);
                }
            }
        }
        values
    }

    /// Returns the value of an index. `None` for [`NextHop::NONE`] and for one that has none.
    #[inline]
    pub(crate) fn get(&self, index: NextHop) -> Option<&Py<PyAny>> {
        self.objects.get(index.0 as usize)?.as_ref()
    }

    /// Returns all values by index.
    pub(crate) fn objects(&self) -> &[Option<Py<PyAny>>] {
        &self.objects
    }

    /// Returns the number of indices with a value.
    pub(crate) fn len(&self) -> usize {
        self.known.len()
    }

    /// Returns a number that rises when an index gets a value.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// Returns the index of a value, which is added if it is new.
    ///
    /// # Errors
    /// `OverflowError` if all 2^32 indices have a value.
    pub(crate) fn intern(&mut self, value: &Bound<'_, PyAny>) -> PyResult<NextHop> {
        let py = value.py();
        let hash = hash(value);
        let objects = &self.objects;
        let same = |known: &Known| {
            objects[known.index as usize].as_ref().is_some_and(|object| is_same(object.bind(py), value))
        };
        if let Some(known) = self.known.find(hash, same) {
            return Ok(NextHop(known.index));
        }
        let index = if let Some(free) = self.free.pop() {
            free
        } else {
            let new = u32::try_from(self.objects.len());
            let new = new.map_err(|_| PyOverflowError::new_err("a table holds 2^32 - 1 values"))?;
            self.objects.push(None);
            self.routes.push(0);
            new
        };
        self.objects[index as usize] = Some(value.clone().unbind());
        // Another change of the same batch may replace the route before it leads here.
        self.retired.push(index);
        self.known.insert_unique(hash, Known { hash, index }, |known| known.hash);
        self.version += 1;
        Ok(NextHop(index))
    }

    /// A route leads to this value.
    pub(crate) fn add_route(&mut self, index: NextHop) {
        self.routes[index.0 as usize] += 1;
    }

    /// A route no longer leads to this value.
    pub(crate) fn remove_route(&mut self, index: NextHop) {
        let routes = &mut self.routes[index.0 as usize];
        *routes -= 1;
        if *routes == 0 {
            self.retired.push(index.0);
        }
    }

    /// Frees the indices that no route leads to; to be called when no batch is running. Returns
    /// their values, to be dropped where Python code may run.
    pub(crate) fn reclaim(&mut self, py: Python<'_>) -> Vec<Py<PyAny>> {
        let mut dropped = Vec::new();
        while let Some(index) = self.retired.pop() {
            let at = index as usize;
            // An index that got a route again, or was retired twice.
            if self.routes[at] > 0 {
                continue;
            }
            let Some(object) = self.objects[at].take() else { continue };
            let hash = hash(object.bind(py));
            if let Ok(known) = self.known.find_entry(hash, |known| known.index == index) {
                known.remove();
            }
            self.free.push(index);
            dropped.push(object);
        }
        dropped
    }
}

/// Returns whether equal values of this type are one value.
fn is_compared(value: &Bound<'_, PyAny>) -> bool {
    value.is_exact_instance_of::<PyString>() || value.is_exact_instance_of::<PyInt>()
}

fn is_same(a: &Bound<'_, PyAny>, b: &Bound<'_, PyAny>) -> bool {
    a.is(b) || is_compared(a) && is_compared(b) && a.eq(b).unwrap_or(false)
}

/// Spreads the bits of a hash, of which the low ones of pointers and integers say little.
fn hash(value: &Bound<'_, PyAny>) -> u64 {
    const ODD: u64 = 0x9E37_79B9_7F4A_7C15;
    let address = value.as_ptr() as u64;
    // The hash of a `str` or an `int` does not fail.
    let bits = if is_compared(value) { value.hash().map_or(0, |hash| hash as u64) } else { address };
    (bits ^ bits >> 32).wrapping_mul(ODD)
}
