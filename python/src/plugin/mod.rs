//! Tables as expressions of Polars, which calls this library without the interpreter.
//!
//! ```text
//! src.lookup(t) ──▶ PolarsHandle ──number──▶ keywords of the plugin's call, in the plan
//!                        │                              │
//!                        ▼                              ▼
//!                     SOURCES: keywords ──▶ Source: table, question, values in Arrow
//! ```
//! # How long a table is kept
//! A plan of Polars keeps the bytes of a call's keywords, and no object. So the keywords have the
//! number of a [`PolarsHandle`], which keeps its [`Source`] in [`SOURCES`]; and the plan keeps the
//! handle, because the handle is the function of a `map_batches` around the call
//! (`fibula/polars.py`). That function returns the answers as they are. When the last plan and
//! expression with the handle are gone, so are the handle, its entry and its hold on the table.

mod abi;

use crate::columns::{Asked, each_chunk};
use crate::table::Table;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use arrow_select::concat::concat;
use arrow_select::take::take;
use fibula_arrow::How;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use pyo3_arrow::input::AnyArray;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// The sources that plans name, by the pickle of the keywords that name them. Pickles are compared
/// and never read.
static SOURCES: RwLock<BTreeMap<Vec<u8>, Arc<Source>>> = RwLock::new(BTreeMap::new());

/// What an expression asks of which table.
struct Source {
    table: Py<Table>,
    question: Question,
    how: How,
    threads: usize,
}

enum Question {
    /// Whether a route matches.
    Contains,
    /// The values of the routes that match.
    Lookup(Values),
}

/// A table's values as an array: that of index `i` at `i`, and null at 0.
struct Values {
    /// The type that plans were told.
    data_type: DataType,
    /// The array, with the version of the values that it has.
    known: Mutex<(u64, ArrayRef)>,
}

impl Values {
    /// Returns the values, exported again where an index has got another one. Only that needs the
    /// interpreter.
    fn current(&self, table: &Py<Table>) -> Result<ArrayRef, String> {
        let version = table.get().shared.read_detached().values_version();
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let (of, array) = known().clone();
        if of == version {
            return Ok(array);
        }
        let exported = Python::attach(|py| values(table.bind(py))).map_err(|error| error.to_string())?;
        let (version, array) =
            exported.filter(|(_, array)| *array.data_type() == self.data_type).ok_or_else(|| {
                format!("the table's values are no longer all {}, as when it was asked for", self.data_type)
            })?;
        *known() = (version, Arc::clone(&array));
        Ok(array)
    }
}

/// Returns a table's values as Polars has them, with their version. `None` if Arrow has no type for
/// them.
fn values(table: &Bound<'_, Table>) -> PyResult<Option<(u64, ArrayRef)>> {
    let py = table.py();
    // Read before the values: a change in between exports them again.
    let version = table.get().shared.read(py).values_version();
    let make = py.import("fibula._columns")?.getattr("polars_values")?;
    let series = table.call_method1("_dictionary", ("polars", make))?;
    let Ok(exported) = series.extract::<AnyArray>() else { return Ok(None) };
    let (chunks, _) = exported.into_chunked_array()?.into_inner();
    let chunks: Vec<&dyn Array> = chunks.iter().map(|chunk| &**chunk).collect();
    let array = concat(&chunks).map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(Some((version, array)))
}

/// A table in an expression of Polars. As long as it lives, the call with its keywords is answered.
///
/// It is called with a Series, and returns it: a plan keeps the functions that it calls.
#[pyclass(frozen, module = "fibula._fibula")]
pub(crate) struct PolarsHandle {
    keywords: Py<PyDict>,
    pickle: Vec<u8>,
}

#[pymethods]
impl PolarsHandle {
    /// Returns the handle of a question, "lookup" or "contains", about a table. `None` if Arrow has
    /// no type for the answers.
    #[staticmethod]
    fn of(table: Bound<'_, Table>, question: &str, how: Asked) -> PyResult<Option<Self>> {
        static NUMBER: AtomicU64 = AtomicU64::new(1);
        /// The protocol that Polars pickles keywords by.
        const PROTOCOL: u8 = 5;
        let py = table.py();
        let question = match question {
            "lookup" => {
                let Some((version, array)) = values(&table)? else { return Ok(None) };
                let data_type = array.data_type().clone();
                Question::Lookup(Values { data_type, known: Mutex::new((version, array)) })
            }
            "contains" => Question::Contains,
            _ => return Err(PyValueError::new_err(format!("{question:?} is no question"))),
        };
        let (how, threads) = (how.how(py, || false)?, how.threads);
        let source = Source { table: table.unbind(), question, how, threads };
        let keywords = PyDict::new(py);
        keywords.set_item("handle", NUMBER.fetch_add(1, Ordering::Relaxed))?;
        let pickle = py.import("pickle")?.call_method1("dumps", (&keywords, PROTOCOL))?;
        let pickle = pickle.cast::<PyBytes>()?.as_bytes().to_vec();
        let mut sources = SOURCES.write().unwrap_or_else(PoisonError::into_inner);
        sources.insert(pickle.clone(), Arc::new(source));
        Ok(Some(Self { keywords: keywords.unbind(), pickle }))
    }

    /// The keywords of a call.
    #[getter]
    fn keywords(&self, py: Python<'_>) -> Py<PyDict> {
        self.keywords.clone_ref(py)
    }

    #[allow(clippy::unused_self, reason = "whoever calls it keeps it")]
    fn __call__<'py>(&self, series: Bound<'py, PyAny>) -> Bound<'py, PyAny> {
        series
    }
}

impl Drop for PolarsHandle {
    fn drop(&mut self) {
        let mut sources = SOURCES.write().unwrap_or_else(PoisonError::into_inner);
        let source = sources.remove(&self.pickle);
        // The destructors of a table's values may do anything.
        drop(sources);
        drop(source);
    }
}

fn source(keywords: &[u8]) -> Result<Arc<Source>, String> {
    let sources = SOURCES.read().unwrap_or_else(PoisonError::into_inner);
    let source = sources.get(keywords).map(Arc::clone);
    source.ok_or_else(|| "the table of this expression is of another process, or gone".to_owned())
}

/// Returns the type of the answers.
fn data_type(keywords: &[u8]) -> Result<DataType, String> {
    Ok(match &source(keywords)?.question {
        Question::Contains => DataType::Boolean,
        Question::Lookup(values) => values.data_type.clone(),
    })
}

/// Answers a column of addresses. Returns the type and the arrays of the answers.
fn answer(keywords: &[u8], chunks: &[ArrayRef]) -> Result<(DataType, Vec<ArrayRef>), String> {
    let source = source(keywords)?;
    let shared = &source.table.get().shared;
    match &source.question {
        Question::Contains => {
            let contains = |slice: &dyn Array| {
                Ok(Arc::new(fibula_arrow::contains(slice, shared, source.how.clone())?) as ArrayRef)
            };
            let found = each_chunk(chunks, source.threads, contains);
            Ok((DataType::Boolean, found.map_err(|error| error.to_string())?))
        }
        Question::Lookup(values) => {
            // Until the values are taken, every index keeps its own.
            let _batch = shared.batch();
            let indices = |slice: &dyn Array| {
                Ok(Arc::new(fibula_arrow::lookup_counted(slice, shared, &source.how)?.0) as ArrayRef)
            };
            let found = each_chunk(chunks, source.threads, indices).map_err(|error| error.to_string())?;
            let values = values.current(&source.table)?;
            let taken = |indices: &ArrayRef| {
                take(&values, indices.as_primitive::<UInt32Type>(), None).map_err(|error| error.to_string())
            };
            let found = found.iter().map(taken).collect::<Result<_, String>>()?;
            Ok((values.data_type().clone(), found))
        }
    }
}
