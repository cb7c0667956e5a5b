//! `fibula.open`, `fibula.read` and `Table.to_fib`.

use crate::contents::{self, Contents};
use crate::mapped::Mapped;
use crate::shared::Body;
use crate::table::Table;
use fibula::snapshot::{Image, Snapshot};
use fibula::{Address, Family, Fib, Rib};
use fibula_io::table::{AddPath, Columns, ReadOptions, Value};
use fibula_io::{Budget, Progress, Source, snapshot};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The bytes that are read between two calls of a callback.
const PROGRESS_BYTES: u64 = 1 << 18;

fn value_error(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// Maps a snapshot.
#[pyfunction]
#[pyo3(signature = (path, *, convert = None))]
pub(crate) fn open(py: Python<'_>, path: PathBuf, convert: Option<Py<PyAny>>) -> PyResult<Table> {
    let snapshot = py.detach(|| Snapshot::open(&path)).map_err(value_error)?;
    let name = |error| PyValueError::new_err(format!("{}: {error}", path.display()));
    Ok(Table::of(Body::Mapped(Arc::new(Mapped::new(Arc::new(snapshot), convert).map_err(name)?))))
}

/// The columns of a table, as Python names them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct ColumnNames {
    prefix: Option<String>,
    start: Option<String>,
    end: Option<String>,
    values: Vec<String>,
    delimiter: Option<String>,
    header: bool,
}

impl ColumnNames {
    fn of(self) -> PyResult<Columns> {
        let delimiter = match self.delimiter.as_deref().map(str::as_bytes) {
            None => None,
            Some([byte]) if byte.is_ascii() && *byte != b'"' => Some(*byte),
            Some(_) => return Err(PyValueError::new_err("delimiter is one ASCII character")),
        };
        let Self { prefix, start, end, values, header, .. } = self;
        Ok(Columns { prefix, start, end, values, delimiter, has_no_header: !header })
    }
}

/// Reads a table of a file or of bytes, and returns it with the texts of what was skipped.
#[pyfunction]
#[pyo3(signature = (
    source, *, format, value, peer, keep_going, mask_host_bits, strict, vrf, table, add_path, encoding,
    locations, limits, columns, progress, convert
))]
#[allow(clippy::too_many_arguments, clippy::fn_params_excessive_bools, reason = "Python names them")]
pub(crate) fn read(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
    format: Option<&str>,
    value: &str,
    peer: Option<String>,
    keep_going: bool,
    mask_host_bits: bool,
    strict: bool,
    vrf: Option<String>,
    table: Option<String>,
    add_path: &str,
    encoding: Option<&str>,
    locations: Option<PathBuf>,
    limits: (Option<u64>, Option<u64>),
    columns: ColumnNames,
    progress: Option<Py<PyAny>>,
    convert: Option<Py<PyAny>>,
) -> PyResult<(Table, Vec<String>)> {
    let raised = Arc::new(Mutex::new(None));
    let budget = Budget::of_environment().map_err(value_error)?;
    let (memory, routes) = (limits.0.unwrap_or(budget.memory), limits.1.unwrap_or(budget.routes));
    let options = ReadOptions {
        format: format.map(str::parse).transpose().map_err(value_error)?,
        value: value_of(value)?,
        peer,
        keep_going,
        mask_host_bits,
        regular_only: false,
        strict,
        vrf,
        table,
        add_path: match add_path {
            "guess" => AddPath::Guess,
            "yes" => AddPath::Yes,
            "no" => AddPath::No,
            _ => {
                return Err(PyValueError::new_err(format!("add_path is guess, yes or no, not {add_path:?}")));
            }
        },
        columns: columns.of()?,
        encoding: encoding.map(str::parse).transpose().map_err(value_error)?,
        locations,
        may_be_idle: Vec::new(),
        budget: Some(Budget { memory, routes }),
        progress: progress.map(|callback| calling(callback, Arc::clone(&raised))),
    };
    let (source, loaded) = if let Ok(bytes) = source.cast::<PyBytes>() {
        let bytes = bytes.as_bytes();
        (Source::Memory, py.detach(|| fibula_io::table::parse(bytes, &options)))
    } else {
        let source = Source::File(source.extract()?);
        let loaded = py.detach(|| fibula_io::table::read(&source, &options));
        (source, loaded)
    };
    let loaded = loaded.map_err(value_error)?;
    if let Some(error) = raised.lock().unwrap_or_else(PoisonError::into_inner).take() {
        return Err(error);
    }
    py.check_signals()?;
    let tables = loaded.tables;
    let values = contents::values(py, &tables.next_hops, convert.as_ref())?;
    let contents = Contents { ipv4: tables.ipv4, ipv6: tables.ipv6, values };
    let damage = loaded.damage.iter().map(|damage| format!("{source}, {damage} (skipped)")).collect();
    let mut table = Table::compile(py, contents);
    table.report = Some(loaded.report);
    Ok((table, damage))
}

fn value_of(name: &str) -> PyResult<Value> {
    let found = Value::ALL.into_iter().find(|value| value.name().replace('-', "_") == name);
    found.ok_or_else(|| {
        let all = Value::ALL.map(|value| value.name().replace('-', "_")).join(", ");
        PyValueError::new_err(format!("value is one of {all}, not {name:?}"))
    })
}

/// Returns what calls a Python function with the bytes read and the size of the file. After the
/// end and after an error it calls no more, and the error is left in `raised`.
fn calling(callback: Py<PyAny>, raised: Arc<Mutex<Option<PyErr>>>) -> Progress {
    let next = AtomicU64::new(0);
    Progress::new(move |bytes, total| {
        let at_end = Some(bytes) == total;
        let due = next.load(Ordering::Relaxed);
        if due == u64::MAX || bytes < due && !at_end {
            return;
        }
        next.store(if at_end { u64::MAX } else { bytes + PROGRESS_BYTES }, Ordering::Relaxed);
        Python::attach(|py| {
            if let Err(error) = callback.call1(py, (bytes, total)) {
                next.store(u64::MAX, Ordering::Relaxed);
                *raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            }
        });
    })
}

#[pymethods]
impl Table {
    /// Writes a snapshot, which `fibula.open` maps. The file is replaced as a whole or not at all.
    ///
    /// With `family` it holds that family alone. Values are `str` or `int`, and come back as `str`;
    /// `open(path, convert=int)` makes them integers again. A `dict` or a `list` is kept as JSON
    /// and comes back as itself; so does a `str` that is JSON of one, unless `convert` takes it.
    /// With `routes=False` it holds only what lookups read: it is smaller, and has no `.routes`.
    ///
    /// >>> import os, tempfile
    /// >>> t = fibula.Table({"10.0.0.0/8": 64500})
    /// >>> with tempfile.TemporaryDirectory() as folder:
    /// ...     path = os.path.join(folder, "table.fib")
    /// ...     t.to_fib(path)
    /// ...     fibula.open(path, convert=int)["10.1.2.3"]
    /// 64500
    #[pyo3(signature = (path, *, family = None, routes = true))]
    fn to_fib(&self, py: Python<'_>, path: PathBuf, family: Option<u8>, routes: bool) -> PyResult<()> {
        let family = crate::address::family(family)?;
        let contents = self.shared.contents(py)?;
        let (ipv4, ipv6, next_hops) = contents.next_hops(py)?;
        py.detach(|| {
            let ipv4 = compiled(&ipv4, family)?;
            let ipv6 = compiled(&ipv6, family)?;
            let mut image = Image::new(&next_hops);
            if let Some((fib, rib)) = &ipv4 {
                image = image.with(fib, rib, routes).map_err(value_error)?;
            }
            if let Some((fib, rib)) = &ipv6 {
                image = image.with(fib, rib, routes).map_err(value_error)?;
            }
            snapshot::write(&image, &path).map_err(|error| PyOSError::new_err(error.to_string()))
        })
    }
}

/// Compiles a family that a snapshot is to hold.
fn compiled<A: Address>(rib: &Rib<A>, family: Option<Family>) -> PyResult<Option<(Fib<A>, &Rib<A>)>> {
    if rib.is_empty() || family.is_some_and(|family| family != A::FAMILY) {
        return Ok(None);
    }
    Ok(Some((Fib::new(rib).map_err(value_error)?, rib)))
}
