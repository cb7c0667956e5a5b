//! Columns of addresses: NumPy arrays, Arrow arrays, and lists of Python objects.

use crate::address::address;
use crate::batch::{self, on_threads};
use crate::shared::{Body, Shared};
use crate::table::Table;
use arrow_array::{Array, ArrayRef, new_null_array};
use arrow_schema::{DataType, Field};
use fibula::NextHop;
use fibula_arrow::{Counts, Embedded, How, Invalid, Lookups, is_mostly_mapped};
use fibula_io::address::clean;
use numpy::{PyReadonlyArray1, PyReadonlyArray2, PyReadwriteArray1};
use pyo3::exceptions::{PyTypeError, PyUserWarning, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};
use pyo3_arrow::PyChunkedArray;
use pyo3_arrow::input::AnyArray;
use std::net::IpAddr;
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

/// Which IPv6 addresses are taken for IPv4 ones.
#[derive(FromPyObject)]
enum Unmap {
    /// The mapped ones, or none.
    Mapped(bool),
    /// Those of these kinds.
    Kinds(String),
}

/// How a column is read, as Python passes it on.
#[derive(FromPyObject)]
pub(crate) struct Asked {
    #[pyo3(item)]
    errors: String,
    #[pyo3(item)]
    pub(crate) threads: usize,
    /// `None` for none, and a warning where most addresses of the column are mapped.
    #[pyo3(item)]
    unmap: Option<Unmap>,
    #[pyo3(item)]
    clean: bool,
}

impl Asked {
    /// Returns how; `is_mapped` says whether most addresses of the column are IPv4-mapped.
    pub(crate) fn how(&self, py: Python<'_>, is_mapped: impl FnOnce() -> bool) -> PyResult<How> {
        let embedded = match &self.unmap {
            Some(Unmap::Mapped(true)) => Embedded::mapped(),
            Some(Unmap::Kinds(kinds)) => {
                kinds.parse().map_err(|error: fibula::Error| PyValueError::new_err(error.to_string()))?
            }
            Some(Unmap::Mapped(false)) => Embedded::default(),
            None => {
                if is_mapped() {
                    let what =
                        c"most addresses of the column are ::ffff:a.b.c.d and looked up as IPv6; unmap=True \
                        looks them up as IPv4";
                    PyErr::warn(py, &py.get_type::<PyUserWarning>(), what, 2)?;
                }
                Embedded::default()
            }
        };
        Ok(How { invalid: invalid(&self.errors)?, clean: self.clean, embedded })
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
    /// objects for the result of a NumPy array.
    ///
    /// With `unmap=True` an IPv4 address that is written as an IPv6 one, `::ffff:a.b.c.d`, is
    /// looked up among the IPv4 routes. A text names other kinds too, as
    /// `"mapped,6to4,teredo,nat64"` or `"nat64=2001:db8::/96"`. Without `unmap` no address is, and
    /// a column of 16 bytes a row of which most are mapped gives a warning. `clean=True` leaves out
    /// white space, brackets, a port, a zone and `/32` or `/128` around the text of an address.
    /// `report` counts what rows were.
    ///
    /// >>> t = fibula.Table({"10.0.0.0/8": "corp", "2001:db8::/32": "doc"})
    /// >>> t.lookup(["10.1.2.3", "2001:db8::1", "192.0.2.1", None])
    /// ['corp', 'doc', None, None]
    /// >>> t.lookup(["10.1.2.3", "10.1.2"])
    /// Traceback (most recent call last):
    /// ValueError: row 1: '10.1.2' is not an address
    /// >>> t.lookup(["10.1.2.3", "10.1.2"], errors="null")
    /// ['corp', None]
    #[pyo3(signature = (column, *, errors = "raise", out = None, threads = 1, unmap = None, clean = false))]
    fn lookup<'py>(
        slf: &Bound<'py, Self>,
        column: &Bound<'py, PyAny>,
        errors: &str,
        out: Option<&Bound<'py, PyAny>>,
        threads: usize,
        unmap: Option<&Bound<'py, PyAny>>,
        clean: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        invalid(errors)?;
        let how = asked(slf.py(), errors, threads, unmap, clean)?;
        let lookup = slf.py().import("fibula._columns")?.getattr("lookup")?;
        // Until the values are taken, every index keeps its own.
        let _batch = slf.get().shared.batch();
        lookup.call1((slf, column, out, how))
    }

    /// As `lookup`, but returns the next-hop index of each address: an index of `values`. 0 says
    /// that there is none; in PyArrow's and Polars' columns null says so. An index has its value
    /// until the table changes; where another thread may change it, ask `lookup`.
    ///
    /// `out` is a NumPy array of unsigned 32-bit integers for the result of a NumPy array: a new
    /// array of that size costs more than the lookups.
    ///
    /// >>> t = fibula.Table({"10.0.0.0/8": "corp", "2001:db8::/32": "doc"})
    /// >>> [t.values[index] for index in t.indices(["10.1.2.3", "192.0.2.1"])]
    /// ['corp', None]
    #[pyo3(signature = (column, *, errors = "raise", out = None, threads = 1, unmap = None, clean = false))]
    fn indices<'py>(
        slf: &Bound<'py, Self>,
        column: &Bound<'py, PyAny>,
        errors: &str,
        out: Option<&Bound<'py, PyAny>>,
        threads: usize,
        unmap: Option<&Bound<'py, PyAny>>,
        clean: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        invalid(errors)?;
        let how = asked(slf.py(), errors, threads, unmap, clean)?;
        let indices = slf.py().import("fibula._columns")?.getattr("indices")?;
        indices.call1((slf, column, out, how))
    }

    /// IPv4 addresses as integers.
    fn _indices_ipv4(
        &self,
        py: Python<'_>,
        addresses: PyReadonlyArray1<'_, u32>,
        mut out: PyReadwriteArray1<'_, u32>,
        how: Asked,
    ) -> PyResult<()> {
        let (addresses, out) = (addresses.as_slice()?, out.as_slice_mut()?);
        check_lengths(addresses.len(), out.len())?;
        let shared = &self.shared;
        shared.detached(py, || {
            on_threads(how.threads, addresses, out, |from, to| batch::indices(shared, from, to));
        })?;
        self.count(&Counts { rows: out.len() as u64, answered: answered(out), ..Default::default() });
        Ok(())
    }

    /// IPv6 addresses as rows of 16 bytes.
    fn _indices_ipv6(
        &self,
        py: Python<'_>,
        addresses: PyReadonlyArray2<'_, u8>,
        mut out: PyReadwriteArray1<'_, u32>,
        how: Asked,
    ) -> PyResult<()> {
        const LOOKED_AT: usize = 8192;
        let (addresses, rest) = addresses.as_slice()?.as_chunks::<16>();
        let out = out.as_slice_mut()?;
        check_lengths(addresses.len() + rest.len(), out.len())?;
        let is_mapped = || {
            let first = &addresses[..addresses.len().min(LOOKED_AT)];
            let mapped = Embedded::mapped();
            let found = first.iter().filter(|it| mapped.ipv4(u128::from_be_bytes(**it)).is_some()).count();
            found * 2 > first.len()
        };
        let embedded = how.how(py, is_mapped)?.embedded;
        let shared = &self.shared;
        shared.detached(py, || {
            on_threads(how.threads, addresses, out, |from, to| {
                fibula_arrow::lookup_ipv6(from, shared, &embedded, to);
            });
        })?;
        self.count(&Counts { rows: out.len() as u64, answered: answered(out), ..Default::default() });
        Ok(())
    }

    /// Whatever Arrow holds addresses in.
    fn _indices_arrow(&self, py: Python<'_>, column: AnyArray, how: Asked) -> PyResult<PyChunkedArray> {
        let (chunks, _) = column.into_chunked_array()?.into_inner();
        let first = chunks.iter().find(|chunk| !chunk.is_empty());
        let as_asked = how.how(py, || first.is_some_and(|chunk| is_mostly_mapped(chunk)))?;
        let look_up = |slice: &dyn Array| {
            let (found, counts) = fibula_arrow::lookup_counted(slice, &self.shared, &as_asked)?;
            self.count(&counts);
            Ok(Arc::new(found) as ArrayRef)
        };
        let answers =
            self.shared.detached(py, || each_chunk(&chunks, how.threads, look_up))?.map_err(error_of)?;
        PyChunkedArray::try_new(answers, Arc::new(Field::new("", DataType::UInt32, true)))
    }

    /// As `_indices_arrow`, but returns whether there is an index.
    fn _contains_arrow(&self, py: Python<'_>, column: AnyArray, how: Asked) -> PyResult<PyChunkedArray> {
        let read = how.how(py, || false)?;
        let (chunks, _) = column.into_chunked_array()?.into_inner();
        let contains = |slice: &dyn Array| {
            Ok(Arc::new(fibula_arrow::contains(slice, &self.shared, read.clone())?) as ArrayRef)
        };
        let answers =
            self.shared.detached(py, || each_chunk(&chunks, how.threads, contains))?.map_err(error_of)?;
        PyChunkedArray::try_new(answers, Arc::new(Field::new("", DataType::Boolean, true)))
    }

    /// A list of objects, each an address or `None`.
    fn _lookup_objects<'py>(
        &self,
        py: Python<'py>,
        column: &Bound<'py, PyAny>,
        how: Asked,
    ) -> PyResult<Bound<'py, PyList>> {
        let answers = PyList::empty(py);
        self.each_object(column, &how, |address| {
            let found = address.map(|address| self.shared.find(py, address)).transpose()?.flatten();
            let is_found = found.is_some();
            answers.append(found).map(|()| is_found)
        })?;
        Ok(answers)
    }

    /// As `_lookup_objects`, with indices.
    fn _indices_objects(&self, py: Python<'_>, column: &Bound<'_, PyAny>, how: Asked) -> PyResult<Vec<u32>> {
        let mut answers = Vec::new();
        self.each_object(column, &how, |address| {
            let index = match (address, &*self.shared.read(py)) {
                (None, _) => NextHop::NONE,
                (Some(address), Body::Owned(owned)) => owned.lookup(address),
                (Some(address), Body::Mapped(mapped)) => mapped.lookup(address)?,
            };
            answers.push(index.0);
            Ok(index.is_some())
        })?;
        Ok(answers)
    }

    /// Counts rows that were not passed on, because they hold no address or are null.
    fn _count(&self, no_address: u64, nulls: u64) {
        self.count(&Counts { rows: no_address + nulls, invalid: no_address, nulls, ..Default::default() });
    }

    /// Returns `call()`. Until it returns, every index keeps its value.
    fn _in_batch<'py>(slf: &Bound<'py, Self>, call: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let _batch = slf.get().shared.batch();
        call.call0()
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
    /// Counts what rows of a column were.
    fn count(&self, counts: &Counts) {
        *self.counts.lock().unwrap_or_else(PoisonError::into_inner) += *counts;
    }

    /// Reads each object of an iterable as an address. `answer` returns whether it found one.
    fn each_object(
        &self,
        column: &Bound<'_, PyAny>,
        asked: &Asked,
        mut answer: impl FnMut(Option<IpAddr>) -> PyResult<bool>,
    ) -> PyResult<()> {
        let py = column.py();
        let how = asked.how(py, || false)?;
        let mut counts = Counts::default();
        for (row, object) in column.try_iter()?.enumerate() {
            let object = object?;
            counts.rows += 1;
            if object.is_none() {
                counts.nulls += 1;
                answer(None)?;
                continue;
            }
            let found = address(&object, None).or_else(|error| {
                let text = object.cast::<PyString>().ok().and_then(|text| text.to_str().ok());
                let cleaned = text.and_then(|text| clean(text.as_bytes()).ip());
                counts.unclean += u64::from(cleaned.is_some());
                cleaned.filter(|_| how.clean).ok_or(error)
            });
            let found = match found {
                Ok(address) => address,
                Err(_) if how.invalid == Invalid::Null => {
                    counts.invalid += 1;
                    answer(None)?;
                    continue;
                }
                Err(error) => return Err(crate::table::in_row(py, row, &error)),
            };
            let unmapped = match found {
                IpAddr::V6(ipv6) => how.embedded.ipv4(ipv6.to_bits()).map(|ipv4| IpAddr::V4(ipv4.into())),
                IpAddr::V4(_) => None,
            };
            counts.embedded += u64::from(unmapped.is_some());
            counts.answered += u64::from(answer(Some(unmapped.unwrap_or(found)))?);
        }
        self.count(&counts);
        Ok(())
    }

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

/// Returns how a column is read, as the functions of columns pass it on.
fn asked<'py>(
    py: Python<'py>,
    errors: &str,
    threads: usize,
    unmap: Option<&Bound<'py, PyAny>>,
    clean: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let how = PyDict::new(py);
    how.set_item("errors", errors)?;
    how.set_item("threads", threads)?;
    how.set_item("unmap", unmap)?;
    how.set_item("clean", clean)?;
    Ok(how)
}

/// Returns the number of indices that are some route's.
fn answered(indices: &[u32]) -> u64 {
    indices.iter().map(|&index| u64::from(index != 0)).sum()
}

fn check_lengths(addresses: usize, answers: usize) -> PyResult<()> {
    if addresses == answers {
        return Ok(());
    }
    Err(PyValueError::new_err(format!("out has {answers} elements, and the column {addresses}")))
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
