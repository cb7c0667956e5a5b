//! [`Table`]: the class that Python sees.

use crate::address::{address, family, prefix};
use crate::contents::Contents;
use crate::owned::{Owned, Wanted};
use crate::shared::{Body, Shared, copy};
use crate::walk::Walk;
use fibula::{Delta, Family, IpPrefix, NextHop};
use fibula_arrow::Counts;
use fibula_io::{Kind, Report};
use pyo3::exceptions::{PyKeyError, PyTypeError, PyValueError};
use pyo3::gc::PyVisit;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};
use pyo3::{PyTraverseError, intern};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// A routing table: a map from IPv4 and IPv6 prefixes to any Python objects, with lookups of
/// addresses by longest-prefix match.
///
/// `routes` is a mapping of prefix to value, or an iterable of pairs; `None` makes an empty table.
/// Of several routes with one prefix the last is kept. A wrong one raises `ValueError`, which names
/// its row, from 0.
///
/// An address is text, an object of `ipaddress`, or 4 or 16 bytes in network byte order; where
/// `family` is given, also an integer. A prefix is text or an object of `ipaddress`. The families
/// never mix: `::ffff:192.0.2.1` is looked up among the IPv6 routes.
///
/// Any number of threads may look up while others change the table.
///
/// >>> import fibula
/// >>> t = fibula.Table({"10.0.0.0/8": "corp", "10.1.0.0/16": "lab", "2001:db8::/32": "doc"})
/// >>> t["10.1.2.3"], t["10.2.3.4"], t["2001:db8::1"]
/// ('lab', 'corp', 'doc')
/// >>> t["192.0.2.1"]
/// Traceback (most recent call last):
/// KeyError: '192.0.2.1'
#[pyclass(frozen, mapping, weakref, generic, module = "fibula")]
pub(crate) struct Table {
    pub(crate) shared: Shared,
    /// What was made of the table: by kind, each with the version it was made of.
    pub(crate) made: Mutex<HashMap<String, (u64, Py<PyAny>)>>,
    /// What the reader of a file left out and guessed.
    pub(crate) report: Option<Report>,
    /// What the rows of columns were.
    pub(crate) counts: Mutex<Counts>,
}

impl Table {
    pub(crate) fn of(body: Body) -> Self {
        Self { shared: Shared::new(body), made: Mutex::default(), report: None, counts: Mutex::default() }
    }

    /// Compiles a table.
    pub(crate) fn compile(py: Python<'_>, contents: Contents) -> Self {
        Self::of(Body::Owned(Box::new(Owned::compile(py, contents))))
    }

    /// Returns the number of routes of each family.
    fn lengths(&self, py: Python<'_>) -> (usize, usize) {
        match &*self.shared.read(py) {
            Body::Owned(owned) => (owned.ipv4.rib().len(), owned.ipv6.rib().len()),
            Body::Mapped(mapped) => mapped.len(),
        }
    }
}

#[pymethods]
impl Table {
    #[new]
    #[pyo3(signature = (routes = None, /))]
    fn new(py: Python<'_>, routes: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let table = Self::of(Body::Owned(Box::default()));
        if let Some(routes) = routes {
            table.shared.change(py, &wanted(routes)?)?;
        }
        Ok(table)
    }

    /// Returns the value of the longest prefix that matches.
    #[inline]
    fn __getitem__(&self, key: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        match self.shared.find(key.py(), address(key, None)?)? {
            Some(value) => Ok(value),
            None => Err(PyKeyError::new_err(key.clone().unbind())),
        }
    }

    /// What `fibula.read` left out and guessed, and what the rows of columns were.
    ///
    /// Of a table that was read, `kept` counts the routes and `replaced` those that a later one
    /// replaced. `left_out` and `guessed` have the number of each reason, and `notes` a line for
    /// each with its first place. `rows` counts the rows of all columns that `lookup` and `indices`
    /// have answered: `answered`, `no_answer`, `no_address`, `nulls`; of those, `embedded` are IPv6
    /// addresses that were looked up as IPv4, and `unclean` have something around the address.
    ///
    /// >>> t = fibula.Table({"10.0.0.0/8": "corp"})
    /// >>> t.lookup(["10.1.2.3", "192.0.2.1", "nobody", None], errors="null")
    /// ['corp', None, None, None]
    /// >>> rows = t.report["rows"]
    /// >>> rows["answered"], rows["no_answer"], rows["no_address"], rows["nulls"]
    /// (1, 1, 1, 1)
    #[getter]
    fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        if let Some(report) = &self.report {
            let of = |kind| {
                let counts = PyDict::new(py);
                for note in report.of(kind) {
                    counts.set_item(&*note.what, note.count)?;
                }
                Ok::<_, PyErr>(counts)
            };
            dict.set_item("kept", report.kept)?;
            dict.set_item("replaced", report.replaced)?;
            dict.set_item("left_out", of(Kind::LeftOut)?)?;
            dict.set_item("guessed", of(Kind::Guessed)?)?;
            dict.set_item("notes", report.notes.iter().map(ToString::to_string).collect::<Vec<_>>())?;
        }
        let counts = *self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let rows = PyDict::new(py);
        rows.set_item("answered", counts.answered)?;
        rows.set_item("no_answer", counts.unanswered())?;
        rows.set_item("no_address", counts.invalid)?;
        rows.set_item("nulls", counts.nulls)?;
        rows.set_item("embedded", counts.embedded)?;
        rows.set_item("unclean", counts.unclean)?;
        dict.set_item("rows", rows)?;
        Ok(dict)
    }

    fn __contains__(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.shared.contains(key.py(), address(key, None)?)
    }

    fn __len__(&self, py: Python<'_>) -> usize {
        let (ipv4, ipv6) = self.lengths(py);
        ipv4 + ipv6
    }

    #[allow(clippy::unused_self, reason = "Python passes it")]
    fn __iter__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err("a table is not iterable; its .routes are"))
    }

    /// Returns the value of the longest prefix that matches, or `default`.
    ///
    /// >>> t = fibula.Table({"10.0.0.0/8": "corp"})
    /// >>> t.get("10.1.2.3"), t.get("192.0.2.1", "nobody"), t.get(0x0A010203, family=4)
    /// ('corp', 'nobody', 'corp')
    #[pyo3(signature = (address, default = None, *, family = None))]
    fn get(
        &self,
        py: Python<'_>,
        address: &Bound<'_, PyAny>,
        default: Option<Py<PyAny>>,
        family: Option<u8>,
    ) -> PyResult<Option<Py<PyAny>>> {
        Ok(self.shared.find(py, of_family(address, family)?)?.or(default))
    }

    /// Returns the longest prefix that matches, and its value; `None` if there is none.
    ///
    /// `get` is several times as fast.
    ///
    /// >>> t = fibula.Table({"10.0.0.0/8": "corp", "10.1.0.0/16": "lab"})
    /// >>> t.match("10.1.2.3")
    /// ('10.1.0.0/16', 'lab')
    #[pyo3(name = "match", signature = (address, *, family = None))]
    fn longest_match<'py>(
        &self,
        py: Python<'py>,
        address: &Bound<'py, PyAny>,
        family: Option<u8>,
    ) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let found = self.shared.longest_match(py, of_family(address, family)?)?;
        found.map(|(prefix, value)| route(py, prefix, value)).transpose()
    }

    /// Inserts a route, or replaces the value of its prefix.
    ///
    /// >>> t = fibula.Table()
    /// >>> t.insert("192.0.2.0/24", {"site": 7})
    /// >>> t["192.0.2.1"]
    /// {'site': 7}
    #[pyo3(name = "insert", signature = (prefix, value, /))]
    fn insert(&self, prefix: &Bound<'_, PyAny>, value: Bound<'_, PyAny>) -> PyResult<()> {
        let py = value.py();
        self.shared.change(py, &[(crate::address::prefix(prefix)?, Some(value))])
    }

    /// Makes many changes. Readers see all of them or none.
    ///
    /// `changes` is as the `routes` of a new table, or what `diff` returns.
    ///
    /// >>> t = fibula.Table({"10.0.0.0/8": "a"})
    /// >>> t.update({"10.0.0.0/8": "b", "192.0.2.0/24": "c"})
    /// >>> list(t.routes.items())
    /// [('10.0.0.0/8', 'b'), ('192.0.2.0/24', 'c')]
    #[pyo3(signature = (changes, /))]
    fn update(&self, py: Python<'_>, changes: &Bound<'_, PyAny>) -> PyResult<()> {
        self.shared.change(py, &wanted(changes)?)
    }

    /// Returns what turns this table into `other`: one `Difference` for each prefix that differs,
    /// in order. Values are compared by `==`.
    ///
    /// >>> a = fibula.Table({"10.0.0.0/8": 1, "10.1.0.0/16": 2})
    /// >>> b = fibula.Table({"10.0.0.0/8": 1, "10.2.0.0/16": 3})
    /// >>> for difference in a.diff(b):
    /// ...     print(*difference)
    /// removed 10.1.0.0/16 2 None
    /// added 10.2.0.0/16 None 3
    /// >>> a.update(a.diff(b))
    /// >>> a == b
    /// True
    #[pyo3(signature = (other, /))]
    fn diff<'py>(&self, py: Python<'py>, other: &Self) -> PyResult<Bound<'py, PyList>> {
        let difference = py.import("fibula._routes")?.getattr(intern!(py, "Difference"))?;
        let differences = PyList::empty(py);
        for (prefix, [before, after]) in differences_of(py, &self.shared, &other.shared)? {
            let kind = match (&before, &after) {
                (None, _) => "added",
                (_, None) => "removed",
                _ => "changed",
            };
            differences.append(difference.call1((kind, prefix.to_string(), before, after))?)?;
        }
        Ok(differences)
    }

    /// Returns the smallest table that gives the same answer for every address (ORTC).
    ///
    /// >>> t = fibula.Table({"10.0.0.0/9": "a", "10.128.0.0/9": "a"})
    /// >>> list(t.aggregate().routes)
    /// ['10.0.0.0/8']
    fn aggregate(&self, py: Python<'_>) -> PyResult<Self> {
        let Contents { ipv4, ipv6, values } = self.shared.contents(py)?;
        let (ipv4, ipv6) = py.detach(|| (ipv4.aggregate(), ipv6.aggregate()));
        Ok(Self::compile(py, Contents { ipv4, ipv6, values }))
    }

    /// Returns a table of the same routes and values, which changes on its own.
    fn copy(&self, py: Python<'_>) -> PyResult<Self> {
        Ok(Self::of(self.shared.copied(py)?))
    }

    fn __copy__(&self, py: Python<'_>) -> PyResult<Self> {
        self.copy(py)
    }

    fn __deepcopy__(&self, py: Python<'_>, memo: &Bound<'_, PyAny>) -> PyResult<Self> {
        let mut contents = self.shared.contents(py)?;
        let deepcopy = py.import("copy")?.getattr("deepcopy")?;
        for value in contents.values.iter_mut().flatten() {
            *value = deepcopy.call1((value.bind(py), memo))?.unbind();
        }
        Ok(Self::compile(py, contents))
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let Ok(other) = other.cast::<Self>() else { return Ok(py.NotImplemented()) };
        let other = other.get();
        let equal = self.lengths(py) == other.lengths(py)
            && differences_of(py, &self.shared, &other.shared)?.is_empty();
        Ok(equal.into_pyobject(py)?.to_owned().into_any().unbind())
    }

    /// The routes: a mutable mapping from exactly these prefixes to their values, in order.
    #[getter]
    fn routes(slf: Bound<'_, Self>) -> PyResult<Bound<'_, PyAny>> {
        slf.py().import(intern!(slf.py(), "fibula._routes"))?.getattr("Routes")?.call1((slf,))
    }

    /// The values by next-hop index, which `indices` returns: `values[0]` is `None`, "no route". An
    /// index keeps its value until the table changes.
    #[getter]
    fn values(&self, py: Python<'_>) -> PyResult<Vec<Option<Py<PyAny>>>> {
        let body = self.shared.read(py);
        let mapped = match &*body {
            Body::Owned(owned) => return Ok(copy(py, owned.values.objects())),
            Body::Mapped(mapped) => Arc::clone(mapped),
        };
        drop(body);
        let mut values = mapped.values(py)?;
        values.resize_with(values.len().max(1), || None);
        Ok(values)
    }

    /// The names of the engines that answer for IPv4 and IPv6; `None` for a family without routes.
    #[getter]
    fn engines(&self, py: Python<'_>) -> (Option<String>, Option<String>) {
        match &*self.shared.read(py) {
            Body::Owned(owned) => {
                let of = |name: Option<&str>| name.map(ToOwned::to_owned);
                (of(owned.ipv4.engine()), of(owned.ipv6.engine()))
            }
            Body::Mapped(mapped) => {
                let of = |family| mapped.snapshot.part(family).map(|part| part.specification.clone());
                (of(Family::Ipv4), of(Family::Ipv6))
            }
        }
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let (ipv4, ipv6) = self.lengths(py);
        let values = self.value_count(py);
        format!("<fibula.Table: {ipv4} IPv4 routes, {ipv6} IPv6 routes, {values} values>")
    }

    fn _repr_html_(&self, py: Python<'_>) -> String {
        let (ipv4, ipv6) = self.lengths(py);
        let engines = self.engines(py);
        let row = |family: &str, routes: usize, engine: Option<String>| {
            let engine = engine.unwrap_or_default();
            format!("<tr><td>{family}</td><td>{routes}</td><td>{engine}</td></tr>")
        };
        format!(
            "<table><caption>fibula.Table, {} values</caption><tr><th>family</th><th>routes</th>\
             <th>engine</th></tr>{}{}</table>",
            self.value_count(py),
            row("IPv4", ipv4, engines.0),
            row("IPv6", ipv6, engines.1),
        )
    }

    /// The number of distinct values.
    fn value_count(&self, py: Python<'_>) -> usize {
        match &*self.shared.read(py) {
            Body::Owned(owned) => owned.values.len(),
            Body::Mapped(mapped) => mapped.value_count(),
        }
    }

    fn _exact(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let prefix = prefix(key)?;
        let found = |owned: &Owned| owned.exact(prefix).map(|index| (prefix, index)).into_iter().collect();
        let found = self.shared.routes(py, found)?.pop();
        found.map(|(_, value)| value).ok_or_else(|| PyKeyError::new_err(key.clone().unbind()))
    }

    fn _remove(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let removed = self.shared.remove(py, prefix(key)?)?;
        removed.ok_or_else(|| PyKeyError::new_err(key.clone().unbind()))
    }

    fn _clear(&self, py: Python<'_>) -> PyResult<()> {
        let prefixes = self.shared.routes(py, |owned| owned.after(None, usize::MAX))?;
        let removals: Vec<Wanted<'_>> = prefixes.into_iter().map(|(prefix, _)| (prefix, None)).collect();
        self.shared.change(py, &removals)
    }

    fn _covering<'py>(&self, py: Python<'py>, key: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        let prefix = prefix(key)?;
        let found = self.shared.routes(py, |owned| owned.covering(prefix))?;
        found.into_iter().map(|(prefix, value)| route(py, prefix, value)).collect()
    }

    fn _covered<'py>(&self, py: Python<'py>, key: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        let prefix = prefix(key)?;
        let found = self.shared.routes(py, |owned| owned.covered(prefix))?;
        found.into_iter().map(|(prefix, value)| route(py, prefix, value)).collect()
    }

    fn _walk(slf: Py<Self>, py: Python<'_>) -> PyResult<Walk> {
        slf.get().shared.routes(py, |_| Vec::new())?; // a snapshot without routes says so here
        Ok(Walk::new(slf))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        // A table that is locked is in use, so it is no garbage.
        if let Ok(all) = self.made.try_lock() {
            all.values().try_for_each(|(_, made)| visit.call(made))?;
        }
        let Some(body) = self.shared.try_read() else { return Ok(()) };
        match &*body {
            Body::Owned(owned) => owned.values.objects().iter().flatten().try_for_each(|v| visit.call(v)),
            Body::Mapped(mapped) => {
                visit.call(&mapped.convert)?;
                mapped.made().try_for_each(|value| visit.call(value))
            }
        }
    }

    fn __clear__(&self, py: Python<'_>) {
        self.shared.forget(py);
        let made = self.made.lock().map(|mut made| std::mem::take(&mut *made));
        drop(made);
    }
}

/// Returns `(prefix, value)`.
pub(crate) fn route(py: Python<'_>, prefix: IpPrefix, value: Py<PyAny>) -> PyResult<Bound<'_, PyTuple>> {
    (PyString::new(py, &prefix.to_string()), value).into_pyobject(py)
}

#[inline]
fn of_family(object: &Bound<'_, PyAny>, number: Option<u8>) -> PyResult<std::net::IpAddr> {
    match number {
        None => address(object, None),
        some => address(object, family(some)?),
    }
}

/// Reads the changes of a mapping, an iterable of pairs, or the rows of `diff`.
pub(crate) fn wanted<'py>(changes: &Bound<'py, PyAny>) -> PyResult<Vec<Wanted<'py>>> {
    let py = changes.py();
    if let Ok(table) = changes.cast::<Table>() {
        let routes = table.get().shared.routes(py, |owned| owned.after(None, usize::MAX))?;
        return Ok(routes.into_iter().map(|(prefix, value)| (prefix, Some(value.into_bound(py)))).collect());
    }
    if let Ok(routes) = changes.cast::<PyDict>() {
        let mut wanted = Vec::with_capacity(routes.len());
        for (row, (key, value)) in routes.iter().enumerate() {
            wanted.push((prefix(&key).map_err(|error| in_row(py, row, &error))?, Some(value)));
        }
        return Ok(wanted);
    }
    let pairs = if changes.hasattr(intern!(py, "keys"))? {
        changes.call_method0(intern!(py, "items"))?
    } else {
        changes.clone()
    };
    let mut wanted = Vec::new();
    for (row, pair) in pairs.try_iter()?.enumerate() {
        wanted.push(change(&pair?).map_err(|error| in_row(py, row, &error))?);
    }
    Ok(wanted)
}

/// Reads `(prefix, value)` or `(kind, prefix, before, after)`.
fn change<'py>(row: &Bound<'py, PyAny>) -> PyResult<Wanted<'py>> {
    if let Ok((kind, key, _, after)) =
        row.extract::<(String, Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>)>()
    {
        return Ok((prefix(&key)?, (kind != "removed").then_some(after)));
    }
    match row.extract::<(Bound<'py, PyAny>, Bound<'py, PyAny>)>() {
        Ok((key, value)) => Ok((prefix(&key)?, Some(value))),
        Err(_) => Err(PyValueError::new_err(format!("{} is not a prefix and a value", row.repr()?))),
    }
}

/// Names the row of an error.
pub(crate) fn in_row(py: Python<'_>, row: usize, error: &PyErr) -> PyErr {
    let text = format!("row {row}: {}", error.value(py));
    let named = if error.is_instance_of::<PyTypeError>(py) {
        PyTypeError::new_err(text)
    } else {
        PyValueError::new_err(text)
    };
    named.set_cause(py, error.cause(py));
    named
}

/// What a prefix had in one table, and has in another.
type Difference = (IpPrefix, [Option<Py<PyAny>>; 2]);

/// Returns what differs between two tables, in order.
fn differences_of(py: Python<'_>, one: &Shared, other: &Shared) -> PyResult<Vec<Difference>> {
    let (before, mut after) = (one.contents(py)?, other.contents(py)?);
    // One numbering for both: by object, then by `==`.
    let shift = before.values.len() as u32;
    let shifted = |next_hop: NextHop| Ok::<_, PyErr>(NextHop(next_hop.0 + shift));
    after.ipv4 = crate::contents::renamed(&after.ipv4, |route| shifted(route.next_hop))?;
    after.ipv6 = crate::contents::renamed(&after.ipv6, |route| shifted(route.next_hop))?;
    let ipv4 = before.ipv4.diff(&after.ipv4).map(either);
    let ipv6 = before.ipv6.diff(&after.ipv6).map(either);
    let mut equal: HashMap<(u32, u32), bool> = HashMap::new();
    let mut differences = Vec::new();
    for (prefix, from, to) in ipv4.chain(ipv6) {
        let from_value = before.values.get(from.0 as usize).and_then(Option::as_ref);
        let to_value = to.0.checked_sub(shift).and_then(|at| after.values.get(at as usize)?.as_ref());
        if let (Some(a), Some(b)) = (from_value, to_value) {
            let known = equal.get(&(from.0, to.0)).copied();
            let is_equal = match known {
                Some(known) => known,
                None => a.is(b) || a.bind(py).eq(b)?,
            };
            equal.insert((from.0, to.0), is_equal);
            if is_equal {
                continue;
            }
        }
        differences
            .push((prefix, [from_value, to_value].map(|value| value.map(|value| value.clone_ref(py)))));
    }
    Ok(differences)
}

fn either<A: fibula::Address>(delta: Delta<A>) -> (IpPrefix, NextHop, NextHop)
where
    fibula::Prefix<A>: Into<IpPrefix>,
{
    (delta.prefix.into(), delta.before, delta.after)
}
