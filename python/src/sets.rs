//! [`PrefixSet`]: a set of addresses, and what tables have together by addresses.

use crate::address::prefix;
use crate::contents::Contents;
use crate::shared::Body;
use crate::table::{Table, in_row, wanted};
use fibula::IpPrefix;
use fibula::rib::AddressSet;
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyList, PyTuple};

/// A set of addresses of both families, which does not change. It is made of prefixes, or of all
/// that a `Table` matches, and iterates over the fewest prefixes that are its addresses, in order.
///
/// `|`, `&`, `-` and `^` are by address, with another set or a table; `~` is all other addresses of
/// both families. `in` asks of an address or of all addresses of a prefix. Sets are hashable and
/// can be pickled.
///
/// >>> import fibula
/// >>> s = fibula.PrefixSet(["10.0.0.0/9", "10.128.0.0/9"])
/// >>> list(s), "10.1.2.3" in s, "10.0.0.0/7" in s
/// (['10.0.0.0/8'], True, False)
/// >>> list(s - fibula.PrefixSet(["10.0.0.0/10"]))
/// ['10.64.0.0/10', '10.128.0.0/9']
/// >>> len(~s), s == ~~s
/// (9, True)
#[pyclass(frozen, eq, hash, module = "fibula")]
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct PrefixSet {
    ipv4: AddressSet<u32>,
    ipv6: AddressSet<u128>,
}

impl PrefixSet {
    fn of(prefixes: impl IntoIterator<Item = IpPrefix>) -> Self {
        let (mut ipv4, mut ipv6) = (Vec::new(), Vec::new());
        for prefix in prefixes {
            match prefix {
                IpPrefix::V4(prefix) => ipv4.push(prefix),
                IpPrefix::V6(prefix) => ipv6.push(prefix),
            }
        }
        Self { ipv4: ipv4.into_iter().collect(), ipv6: ipv6.into_iter().collect() }
    }

    /// Returns the addresses of a set or of a table; `None` for any other object.
    fn of_object(object: &Bound<'_, PyAny>) -> PyResult<Option<(AddressSet<u32>, AddressSet<u128>)>> {
        if let Ok(set) = object.cast::<Self>() {
            return Ok(Some((set.get().ipv4.clone(), set.get().ipv6.clone())));
        }
        let Ok(table) = object.cast::<Table>() else { return Ok(None) };
        table.get().shared.addresses(object.py()).map(Some)
    }

    /// Returns what two functions make of the addresses here and those of another object, or
    /// `NotImplemented`.
    fn with(
        &self,
        other: &Bound<'_, PyAny>,
        ipv4: fn(&AddressSet<u32>, &AddressSet<u32>) -> AddressSet<u32>,
        ipv6: fn(&AddressSet<u128>, &AddressSet<u128>) -> AddressSet<u128>,
    ) -> PyResult<Py<PyAny>> {
        let py = other.py();
        let Some(other) = Self::of_object(other)? else { return Ok(py.NotImplemented()) };
        let set = Self { ipv4: ipv4(&self.ipv4, &other.0), ipv6: ipv6(&self.ipv6, &other.1) };
        Ok(Bound::new(py, set)?.into_any().unbind())
    }

    fn prefixes(&self) -> impl Iterator<Item = IpPrefix> {
        self.ipv4.prefixes().map(IpPrefix::from).chain(self.ipv6.prefixes().map(IpPrefix::from))
    }
}

#[pymethods]
impl PrefixSet {
    #[new]
    #[pyo3(signature = (prefixes = None, /))]
    fn new(py: Python<'_>, prefixes: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let Some(prefixes) = prefixes else { return Ok(Self::of([])) };
        if let Some((ipv4, ipv6)) = Self::of_object(prefixes)? {
            return Ok(Self { ipv4, ipv6 });
        }
        let mut all = Vec::new();
        for (row, element) in prefixes.try_iter()?.enumerate() {
            all.push(prefix(&element?).map_err(|error| in_row(py, row, &error))?);
        }
        Ok(Self::of(all))
    }

    fn __and__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.with(other, AddressSet::intersection, AddressSet::intersection)
    }

    fn __or__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.with(other, AddressSet::union, AddressSet::union)
    }

    fn __sub__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.with(other, AddressSet::difference, AddressSet::difference)
    }

    fn __xor__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.with(other, AddressSet::symmetric_difference, AddressSet::symmetric_difference)
    }

    fn __invert__(&self) -> Self {
        Self { ipv4: self.ipv4.complement(), ipv6: self.ipv6.complement() }
    }

    fn __contains__(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(match prefix(key)? {
            IpPrefix::V4(prefix) => self.ipv4.covers(prefix),
            IpPrefix::V6(prefix) => self.ipv6.covers(prefix),
        })
    }

    fn __len__(&self) -> usize {
        self.prefixes().count()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        self.texts(py)?.try_iter()
    }

    /// The number of addresses.
    ///
    /// >>> fibula.PrefixSet(["10.0.0.0/8", "10.1.0.0/16"]).address_count
    /// 16777216
    #[getter]
    fn address_count<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let ipv4 = self.ipv4.count().unwrap_or_default();
        let ipv6 = match self.ipv6.count() {
            Some(count) => count.into_pyobject(py)?.into_any(),
            None => 2_u128.into_pyobject(py)?.into_any().call_method1("__pow__", (128,))?,
        };
        ipv6.add(ipv4)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let py = slf.py();
        (slf.get_type(), (slf.get().texts(py)?,)).into_pyobject(py)
    }

    fn __repr__(&self) -> String {
        let shown: Vec<String> = self.prefixes().take(4).map(|prefix| format!("'{prefix}'")).collect();
        let more = if self.prefixes().nth(3).is_some() { ", ..." } else { "" };
        format!("PrefixSet([{}{more}])", shown.iter().take(3).cloned().collect::<Vec<_>>().join(", "))
    }
}

impl PrefixSet {
    fn texts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.prefixes().map(|prefix| prefix.to_string()).collect::<Vec<_>>())
    }
}

#[pymethods]
impl Table {
    /// Returns the table for the addresses alone that `other`, a table or a set, matches too. They
    /// keep their values.
    fn __and__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.for_addresses(other, |set| set)
    }

    /// Returns the table for the addresses that `other` does not match.
    fn __sub__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let complement = |(ipv4, ipv6): Sets| (ipv4.complement(), ipv6.complement());
        self.for_addresses(other, complement)
    }

    /// Returns the routes of both tables; where both have a prefix, the value is `other`'s.
    fn __or__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let py = slf.py();
        if other.cast::<Self>().is_err() {
            return Ok(py.NotImplemented());
        }
        let mut routes = wanted(slf)?;
        routes.extend(wanted(other)?);
        let table = Self::of(Body::Owned(Box::default()));
        table.shared.change(py, &routes)?;
        Ok(Bound::new(py, table)?.into_any().unbind())
    }

    /// Returns the addresses of both families that the table does not match.
    fn __invert__(&self, py: Python<'_>) -> PyResult<PrefixSet> {
        let (ipv4, ipv6) = self.shared.addresses(py)?;
        Ok(PrefixSet { ipv4: ipv4.complement(), ipv6: ipv6.complement() })
    }

    /// Returns whether all addresses of a prefix have a match, by one route or by several together.
    ///
    /// >>> t = fibula.Table({"10.0.0.0/9": "a", "10.128.0.0/9": "b"})
    /// >>> t.covers("10.0.0.0/8"), t.covers("10.0.0.0/7")
    /// (True, False)
    fn covers(&self, py: Python<'_>, prefix: &Bound<'_, PyAny>) -> PyResult<bool> {
        let prefix = crate::address::prefix(prefix)?;
        self.shared.covers(py, prefix)
    }
}

/// Addresses of both families.
type Sets = (AddressSet<u32>, AddressSet<u128>);

impl Table {
    /// Returns the table for those addresses that `of` makes of another object's.
    fn for_addresses(&self, other: &Bound<'_, PyAny>, of: fn(Sets) -> Sets) -> PyResult<Py<PyAny>> {
        let py = other.py();
        let Some(other) = PrefixSet::of_object(other)? else { return Ok(py.NotImplemented()) };
        let Contents { ipv4, ipv6, values } = self.shared.contents(py)?;
        let (ipv4, ipv6) = py.detach(|| {
            let (set4, set6) = of(other);
            (ipv4.within(&set4), ipv6.within(&set6))
        });
        let table = Self::compile(py, Contents { ipv4, ipv6, values });
        Ok(Bound::new(py, table)?.into_any().unbind())
    }
}
