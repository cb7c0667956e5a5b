//! Columns of prefixes: which route of a table covers each, and what RPKI's payloads say of it.

use crate::columns::invalid;
use crate::owned::Owned;
use crate::rov::Vrps;
use crate::shared::Body;
use crate::table::Table;
use arrow_array::cast::AsArray;
use arrow_array::types::{StringViewType, UInt32Type};
use arrow_array::{Array, ArrayRef, BooleanArray, StringArray};
use arrow_schema::{DataType, Field};
use fibula::IpPrefix;
use fibula_arrow::Invalid;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3_arrow::PyChunkedArray;
use pyo3_arrow::input::AnyArray;
use std::sync::Arc;

/// The rows that are answered under one lock.
const BLOCK: usize = 2048;

/// Reads a column of text as prefixes; an address is its host prefix. `None` for null, and for what
/// is no prefix unless that is an error.
fn prefixes(column: AnyArray, errors: &str) -> PyResult<Vec<Option<IpPrefix>>> {
    let invalid = invalid(errors)?;
    let (chunks, _) = column.into_chunked_array()?.into_inner();
    let mut found = Vec::with_capacity(chunks.iter().map(Array::len).sum());
    let mut read = |text: Option<&str>| {
        let prefix = text.map(str::parse);
        if let (Some(Err(_)), Invalid::Error, Some(text)) = (&prefix, invalid, text) {
            let what = format!("row {}: {text:?} is not an IPv4 or IPv6 prefix", found.len());
            return Err(PyValueError::new_err(what));
        }
        found.push(prefix.and_then(Result::ok));
        Ok(())
    };
    for chunk in &chunks {
        match chunk.data_type() {
            DataType::Utf8 => chunk.as_string::<i32>().iter().try_for_each(&mut read),
            DataType::LargeUtf8 => chunk.as_string::<i64>().iter().try_for_each(&mut read),
            DataType::Utf8View => chunk.as_byte_view::<StringViewType>().iter().try_for_each(&mut read),
            other => {
                Err(PyTypeError::new_err(format!("a column of {other} holds no prefixes: expected text")))
            }
        }?;
    }
    Ok(found)
}

fn column_of(array: ArrayRef) -> PyResult<PyChunkedArray> {
    let field = Field::new("", array.data_type().clone(), true);
    PyChunkedArray::try_new(vec![array], Arc::new(field))
}

#[pymethods]
impl Table {
    /// Returns the longest prefix of the table that covers each of a column of Arrow, as text.
    fn _covering_arrow(&self, py: Python<'_>, column: AnyArray, errors: &str) -> PyResult<PyChunkedArray> {
        let cover = |owned: &Owned, prefix| owned.longest_cover(prefix).map(|cover| cover.to_string());
        column_of(Arc::new(StringArray::from(self.each_prefix(py, column, errors, cover)?)))
    }

    /// Returns whether a prefix of the table covers each of a column of Arrow.
    fn _covered_arrow(&self, py: Python<'_>, column: AnyArray, errors: &str) -> PyResult<PyChunkedArray> {
        let is_covered = |owned: &Owned, prefix| Some(owned.longest_cover(prefix).is_some());
        column_of(Arc::new(BooleanArray::from(self.each_prefix(py, column, errors, is_covered)?)))
    }

    /// Returns whether each prefix of a column of Arrow has addresses of the table.
    fn _overlaps_arrow(&self, py: Python<'_>, column: AnyArray, errors: &str) -> PyResult<PyChunkedArray> {
        let overlaps = |owned: &Owned, prefix| Some(owned.overlaps(prefix));
        column_of(Arc::new(BooleanArray::from(self.each_prefix(py, column, errors, overlaps)?)))
    }
}

impl Table {
    /// Returns the answer for each prefix of a column.
    fn each_prefix<T: Send>(
        &self,
        py: Python<'_>,
        column: AnyArray,
        errors: &str,
        answer: fn(&Owned, IpPrefix) -> Option<T>,
    ) -> PyResult<Vec<Option<T>>> {
        let prefixes = prefixes(column, errors)?;
        self.shared.routes(py, |_| Vec::new())?; // a snapshot becomes a table with routes
        let of_block = |block: &[Option<IpPrefix>]| {
            // A writer need not wait for the whole column.
            let body = self.shared.read_detached();
            let of_prefix = |&prefix: &Option<IpPrefix>| match &*body {
                Body::Owned(owned) => answer(owned, prefix?),
                Body::Mapped(_) => None, // which it no longer is
            };
            block.iter().map(of_prefix).collect::<Vec<_>>()
        };
        self.shared.detached(py, || prefixes.chunks(BLOCK).flat_map(of_block).collect())
    }
}

#[pymethods]
impl Vrps {
    /// Returns what the payloads say of each route of columns of Arrow: its prefix as text, and its
    /// origin as a number of 32 bits. Null where one of them is.
    fn _validity_arrow(
        &self,
        py: Python<'_>,
        column: AnyArray,
        origins: AnyArray,
        errors: &str,
    ) -> PyResult<PyChunkedArray> {
        let prefixes = prefixes(column, errors)?;
        let (chunks, _) = origins.into_chunked_array()?.into_inner();
        let mut origins = Vec::with_capacity(prefixes.len());
        for chunk in &chunks {
            let numbers = chunk.as_primitive_opt::<UInt32Type>();
            let numbers = numbers.ok_or_else(|| {
                let what = format!("a column of {} holds no origins: expected UInt32", chunk.data_type());
                PyTypeError::new_err(what)
            })?;
            origins.extend(numbers);
        }
        if origins.len() != prefixes.len() {
            let (rows, others) = (prefixes.len(), origins.len());
            return Err(PyValueError::new_err(format!("{others} origins of {rows} prefixes")));
        }
        let names = py.detach(|| {
            let pairs = prefixes.into_iter().zip(origins);
            let name = |(prefix, origin)| Some(self.0.validity(prefix?, Some(origin?)).name());
            pairs.map(name).collect::<StringArray>()
        });
        column_of(Arc::new(names))
    }
}
