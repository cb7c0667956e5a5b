//! Columns of addresses: NumPy arrays, Arrow arrays, and lists of Python objects.

use crate::address::address;
use crate::batch::{self, on_threads};
use crate::shared::{Body, Shared};
use crate::table::Table;
use arrow_array::{Array, ArrayRef, new_null_array};
use arrow_schema::{DataType, Field};
use fibula::NextHop;
use fibula_arrow::{Invalid, Lookups, Unmapped};
use numpy::{PyReadonlyArray1, PyReadonlyArray2, PyReadwriteArray1};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyList;
use pyo3_arrow::PyChunkedArray;
use pyo3_arrow::input::AnyArray;
use std::sync::{Arc, PoisonError};
use std::thread;

/// The fewest rows worth a thread.
const ROWS_A_THREAD: usize = 1 << 15;

impl Lookups for Shared {
    fn ipv4(&self, addresses: &[u32], indices: &mut [NextHop]) {
        batch::answers(self, addresses, indices);
    }

    fn ipv6(&self, addresses: &[u128], indices: &mut [NextHop]) {
        batch::answers(self, addresses, indices);
    }
}

/// What `errors="raise"` and `errors="null"` mean.
///
/// # Errors
/// `ValueError` if it is another text.
pub(crate) fn invalid(errors: &str) -> PyResult<Invalid> {
    match errors {
        "raise" => Ok(Invalid::Error),
        "null" => Ok(Invalid::Null),
        _ => Err(PyValueError::new_err(format!("errors is \"raise\" or \"null\", not {errors:?}"))),
    }
}

#[pymethods]
impl Table {
    /// Looks up a column of addresses: returns the value of each, in a column of the same kind.
    ///
    /// `column` is a NumPy array, a Series of pandas or Polars, an Array or ChunkedArray of
    /// PyArrow, or a list. It holds text, unsigned 32-bit integers (IPv4), or 4 or 16 bytes in
    /// network byte order; objects of `ipaddress` in what holds objects. Null gives null, and so
    /// does an address without a route. What is no address raises `ValueError` that names its row,
    /// from 0; with `errors="null"` it gives null.
    ///
    /// PyArrow's result is dictionary-encoded. Polars' has the type of the values, the others'
    /// objects. `threads` are used for columns that are long enough. `out` is a NumPy array of
    /// objects for the result of a NumPy array. With `unmap=True` an IPv4 address that is written
    /// as an IPv6 one, `::ffff:a.b.c.d`, is looked up among the IPv4 routes.
    ///
    /// >>> t = fibula.Table({"10.0.0.0/8": "corp", "2001:db8::/32": "doc"})
    /// >>> t.lookup(["10.1.2.3", "2001:db8::1", "192.0.2.1", None])
    /// ['corp', 'doc', None, None]
    /// >>> t.lookup(["10.1.2.3", "10.1.2"])
    /// Traceback (most recent call last):
    /// ValueError: row 1: '10.1.2' is not an address
    /// >>> t.lookup(["10.1.2.3", "10.1.2"], errors="null")
    /// ['corp', None]
    #[pyo3(signature = (column, *, errors = "raise", out = None, threads = 1, unmap = false))]
    fn lookup<'py>(
        slf: &Bound<'py, Self>,
        column: &Bound<'py, PyAny>,
        errors: &str,
        out: Option<&Bound<'py, PyAny>>,
        threads: usize,
        unmap: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        invalid(errors)?;
        let lookup = slf.py().import("fibula._columns")?.getattr("lookup")?;
        // Until the values are taken, every index keeps its own.
        let _batch = slf.get().shared.batch();
        lookup.call1((slf, column, out, (errors, threads, unmap)))
    }

    /// As `lookup`, but returns the next-hop index of each address: an index of `values`. 0 says
    /// that there is none; in PyArrow's and Polars' columns null says so.
    ///
    /// `out` is a NumPy array of unsigned 32-bit integers for the result of a NumPy array: a new
    /// array of that size costs more than the lookups.
    ///
    /// >>> t = fibula.Table({"10.0.0.0/8": "corp", "2001:db8::/32": "doc"})
    /// >>> [t.values[index] for index in t.indices(["10.1.2.3", "192.0.2.1"])]
    /// ['corp', None]
    #[pyo3(signature = (column, *, errors = "raise", out = None, threads = 1, unmap = false))]
    fn indices<'py>(
        slf: &Bound<'py, Self>,
        column: &Bound<'py, PyAny>,
        errors: &str,
        out: Option<&Bound<'py, PyAny>>,
        threads: usize,
        unmap: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        invalid(errors)?;
        let indices = slf.py().import("fibula._columns")?.getattr("indices")?;
        indices.call1((slf, column, out, (errors, threads, unmap)))
    }

    /// IPv4 addresses as integers.
    fn _indices_ipv4(
        &self,
        py: Python<'_>,
        addresses: PyReadonlyArray1<'_, u32>,
        mut out: PyReadwriteArray1<'_, u32>,
        threads: usize,
    ) -> PyResult<()> {
        let (addresses, out) = (addresses.as_slice()?, out.as_slice_mut()?);
        check_lengths(addresses.len(), out.len())?;
        let shared = &self.shared;
        shared.detached(py, || {
            on_threads(threads, addresses, out, |from, to| batch::indices(shared, from, to));
        })
    }

    /// IPv6 addresses as rows of 16 bytes.
    fn _indices_ipv6(
        &self,
        py: Python<'_>,
        addresses: PyReadonlyArray2<'_, u8>,
        mut out: PyReadwriteArray1<'_, u32>,
        threads: usize,
        unmap: bool,
    ) -> PyResult<()> {
        let (addresses, rest) = addresses.as_slice()?.as_chunks::<16>();
        let out = out.as_slice_mut()?;
        check_lengths(addresses.len() + rest.len(), out.len())?;
        let shared = &self.shared;
        shared.detached(py, || {
            on_threads(threads, addresses, out, |from, to| {
                if unmap {
                    fibula_arrow::lookup_ipv6(from, &Unmapped(shared), to);
                } else {
                    fibula_arrow::lookup_ipv6(from, shared, to);
                }
            });
        })
    }

    /// Whatever Arrow holds addresses in.
    fn _indices_arrow(
        &self,
        py: Python<'_>,
        column: AnyArray,
        errors: &str,
        threads: usize,
        unmap: bool,
    ) -> PyResult<PyChunkedArray> {
        let invalid = invalid(errors)?;
        let (chunks, _) = column.into_chunked_array()?.into_inner();
        let look_up = |slice: &dyn Array| {
            let found = if unmap {
                fibula_arrow::lookup(slice, &Unmapped(&self.shared), invalid)?
            } else {
                fibula_arrow::lookup(slice, &self.shared, invalid)?
            };
            Ok(Arc::new(found) as ArrayRef)
        };
        let answers = self.shared.detached(py, || each_chunk(&chunks, threads, look_up))?.map_err(error_of)?;
        PyChunkedArray::try_new(answers, Arc::new(Field::new("", DataType::UInt32, true)))
    }

    /// As `_indices_arrow`, but returns whether there is an index.
    fn _contains_arrow(
        &self,
        py: Python<'_>,
        column: AnyArray,
        errors: &str,
        threads: usize,
    ) -> PyResult<PyChunkedArray> {
        let invalid = invalid(errors)?;
        let (chunks, _) = column.into_chunked_array()?.into_inner();
        let contains = |slice: &dyn Array| {
            Ok(Arc::new(fibula_arrow::contains(slice, &self.shared, invalid)?) as ArrayRef)
        };
        let answers = self.shared.detached(py, || each_chunk(&chunks, threads, contains))?.map_err(error_of)?;
        PyChunkedArray::try_new(answers, Arc::new(Field::new("", DataType::Boolean, true)))
    }

    /// A list of objects, each an address or `None`.
    fn _lookup_objects<'py>(
        &self,
        py: Python<'py>,
        column: &Bound<'py, PyAny>,
        errors: &str,
        unmap: bool,
    ) -> PyResult<Bound<'py, PyList>> {
        let answers = PyList::empty(py);
        each_object(column, invalid(errors)?, |address| {
            answers.append(match unmapped(address, unmap) {
                Some(address) => self.shared.find(py, address)?,
                None => None,
            })
        })?;
        Ok(answers)
    }

    /// As `_lookup_objects`, with indices.
    fn _indices_objects(&self, column: &Bound<'_, PyAny>, errors: &str, unmap: bool) -> PyResult<Vec<u32>> {
        let mut answers = Vec::new();
        each_object(column, invalid(errors)?, |address| {
            let index = match unmapped(address, unmap) {
                None => NextHop::NONE,
                Some(address) => match &*self.shared.read(column.py()) {
                    Body::Owned(owned) => owned.lookup(address),
                    Body::Mapped(mapped) => mapped.lookup(address)?,
                },
            };
            answers.push(index.0);
            Ok(())
        })?;
        Ok(answers)
    }

    /// Returns `make(values)`, made again when an index has got another value.
    fn _dictionary<'py>(
        slf: &Bound<'py, Self>,
        kind: &str,
        make: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let version = slf.get().shared.read(slf.py()).values_version();
        slf.get().made(slf.py(), kind, version, || make.call1((slf.getattr("values")?,)))
    }

    /// Returns a table of the same prefixes, each with its own text as its value.
    ///
    /// >>> t = fibula.Table({"10.0.0.0/8": "corp", "10.1.0.0/16": "lab"})
    /// >>> t.prefixes()["10.1.2.3"]
    /// '10.1.0.0/16'
    fn prefixes(&self, py: Python<'_>) -> PyResult<Self> {
        Ok(Self::compile(py, self.shared.contents(py)?.prefixes(py)?))
    }

    /// As `prefixes`, made again only when the table has changed. Nobody may change it.
    fn _prefixes<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        slf.get().shared.routes(py, |_| Vec::new())?; // a snapshot without routes says so here
        let changes = match &*slf.get().shared.read(py) {
            Body::Owned(owned) => owned.changes,
            Body::Mapped(_) => 0,
        };
        slf.get().made(py, "prefixes", changes, || Ok(Bound::new(py, slf.get().prefixes(py)?)?.into_any()))
    }
}

impl Table {
    /// Returns what was made of a version of the table, or makes it. The caller has read the
    /// version before what is made of it, so that a change in between makes it again.
    fn made<'py>(
        &self,
        py: Python<'py>,
        kind: &str,
        version: u64,
        make: impl FnOnce() -> PyResult<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let known = |(known, made): &(u64, Py<PyAny>)| (*known == version).then(|| made.clone_ref(py));
        let all = || self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all().get(kind).and_then(known);
        if let Some(made) = known {
            return Ok(made.into_bound(py));
        }
        let made = make()?;
        let replaced = all().insert(kind.to_owned(), (version, made.clone().unbind()));
        drop(replaced);
        Ok(made)
    }
}

/// Returns the IPv4 address of one that is written `::ffff:a.b.c.d`, if so wanted.
fn unmapped(address: Option<std::net::IpAddr>, unmap: bool) -> Option<std::net::IpAddr> {
    if unmap { address.map(|address| address.to_canonical()) } else { address }
}

fn check_lengths(addresses: usize, answers: usize) -> PyResult<()> {
    if addresses == answers {
        return Ok(());
    }
    Err(PyValueError::new_err(format!("out has {answers} elements, and the column {addresses}")))
}

/// Reads each object of an iterable as an address.
fn each_object(
    column: &Bound<'_, PyAny>,
    invalid: Invalid,
    mut answer: impl FnMut(Option<std::net::IpAddr>) -> PyResult<()>,
) -> PyResult<()> {
    let py = column.py();
    for (row, object) in column.try_iter()?.enumerate() {
        let object = object?;
        if object.is_none() {
            answer(None)?;
            continue;
        }
        match address(&object, None) {
            Ok(address) => answer(Some(address))?,
            Err(_) if invalid == Invalid::Null => answer(None)?,
            Err(error) => return Err(crate::table::in_row(py, row, &error)),
        }
    }
    Ok(())
}

/// Answers chunks one after the other, each divided among threads.
///
/// # Errors
/// The first of `answer`, with the row of the whole column.
pub(crate) fn each_chunk(
    chunks: &[ArrayRef],
    threads: usize,
    answer: impl Fn(&dyn Array) -> Result<ArrayRef, fibula_arrow::Error> + Sync,
) -> Result<Vec<ArrayRef>, fibula_arrow::Error> {
    let mut answers = Vec::with_capacity(chunks.len());
    let mut first = 0;
    for chunk in chunks {
        // Python's empty lists, and those of None alone, have no type.
        let is_untyped = match chunk.data_type() {
            DataType::Dictionary(_, values) => **values == DataType::Null,
            other => *other == DataType::Null,
        };
        let nulls = is_untyped.then(|| new_null_array(&DataType::UInt32, chunk.len()));
        let chunk = nulls.as_ref().unwrap_or(chunk);
        let part = chunk.len().div_ceil(threads.max(1)).max(ROWS_A_THREAD);
        // An empty chunk has one part, too.
        let parts = (0..chunk.len().max(1)).step_by(part);
        let slices: Vec<ArrayRef> =
            parts.map(|start| chunk.slice(start, part.min(chunk.len() - start))).collect();
        let found: Vec<_> = if slices.len() > 1 {
            thread::scope(|scope| {
                let all: Vec<_> = slices.iter().map(|slice| scope.spawn(|| answer(slice))).collect();
                let joined = all.into_iter().map(thread::ScopedJoinHandle::join);
                joined.map(|found| found.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
            })
        } else {
            slices.iter().map(|slice| answer(slice)).collect()
        };
        for (slice, found) in slices.iter().zip(found) {
            answers.push(found.map_err(|error| error.at_row(first))?);
            first += slice.len() as u64;
        }
    }
    Ok(answers)
}

fn error_of(error: fibula_arrow::Error) -> PyErr {
    let text = error.to_string();
    if error.row().is_some() { PyValueError::new_err(text) } else { PyTypeError::new_err(text) }
}
