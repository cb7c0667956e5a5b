//! [`Walk`]: the routes of a table one after the other, while it may change.

use crate::table::{Table, route};
use fibula::IpPrefix;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// The routes that are fetched at a time.
const BLOCK: usize = 256;

/// The routes that were fetched, and the last of them.
#[derive(Default)]
struct Fetched {
    routes: VecDeque<(IpPrefix, Py<PyAny>)>,
    last: Option<IpPrefix>,
}

/// An iterator over `(prefix, value)`, in order. It sees a route that is inserted or removed ahead
/// of it, some hundred routes later than that happens.
#[pyclass(frozen, module = "fibula")]
pub(crate) struct Walk {
    table: Py<Table>,
    fetched: Mutex<Fetched>,
}

impl Walk {
    pub(crate) fn new(table: Py<Table>) -> Self {
        Self { table, fetched: Mutex::default() }
    }
}

#[pymethods]
impl Walk {
    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let next = self.fetched.lock().unwrap_or_else(PoisonError::into_inner).routes.pop_front();
        if let Some((prefix, value)) = next {
            return route(py, prefix, value).map(Some);
        }
        let last = self.fetched.lock().unwrap_or_else(PoisonError::into_inner).last;
        let mut routes: VecDeque<_> =
            self.table.get().shared.routes(py, |owned| owned.after(last, BLOCK))?.into();
        let Some((prefix, value)) = routes.pop_front() else { return Ok(None) };
        let last = routes.back().map_or(prefix, |&(prefix, _)| prefix);
        *self.fetched.lock().unwrap_or_else(PoisonError::into_inner) = Fetched { routes, last: Some(last) };
        route(py, prefix, value).map(Some)
    }
}
