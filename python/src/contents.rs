//! [`Contents`]: all that a table says, apart from how it was compiled.

use fibula::{Address, NextHop, NextHopInfo, NextHops, Rib, Route};
use fibula_io::table::json_of;
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyList, PyString};
use std::collections::HashMap;

/// The routes of both families, and the values that they lead to by next-hop index.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    pub(crate) ipv4: Rib<u32>,
    pub(crate) ipv6: Rib<u128>,
    /// `values[0]` is `None`.
    pub(crate) values: Vec<Option<Py<PyAny>>>,
}

/// Returns the Python value of a next hop: its text, or what `convert` makes of it. A value of
/// several fields, or a list, is a `dict` or a `list` where there is no `convert`.
pub(crate) fn value(
    py: Python<'_>,
    next_hop: &NextHopInfo,
    convert: Option<&Py<PyAny>>,
) -> PyResult<Py<PyAny>> {
    let text = PyString::new(py, &next_hop.to_string());
    match convert {
        None if json_of(next_hop).is_some() => {
            Ok(py.import(intern!(py, "json"))?.getattr(intern!(py, "loads"))?.call1((text,))?.unbind())
        }
        None => Ok(text.into_any().unbind()),
        Some(convert) => convert.call1(py, (text,)),
    }
}

/// Returns the Python values of next hops by index.
pub(crate) fn values(
    py: Python<'_>,
    next_hops: &NextHops,
    convert: Option<&Py<PyAny>>,
) -> PyResult<Vec<Option<Py<PyAny>>>> {
    let all = next_hops.iter().map(|(_, info)| value(py, info, convert).map(Some));
    std::iter::once(Ok(None)).chain(all).collect()
}

impl Contents {
    /// Returns the same routes, each with the text of its prefix as its value.
    pub(crate) fn prefixes(&self, py: Python<'_>) -> PyResult<Self> {
        let mut values = vec![None];
        let mut add = |prefix: &dyn std::fmt::Display| -> PyResult<NextHop> {
            values.push(Some(PyString::new(py, &prefix.to_string()).into_any().unbind()));
            let index = u32::try_from(values.len() - 1);
            index.map(NextHop).map_err(|_| PyOverflowError::new_err("2^32 prefixes or more"))
        };
        let ipv4 = renamed(&self.ipv4, |route| add(&route.prefix))?;
        let ipv6 = renamed(&self.ipv6, |route| add(&route.prefix))?;
        Ok(Self { ipv4, ipv6, values })
    }

    /// Returns the table with its values as the next hops of files, numbered from 1 without gaps.
    ///
    /// # Errors
    /// `TypeError` that names a route, if its value is none of `str`, `int`, `dict` and `list`.
    pub(crate) fn next_hops(&self, py: Python<'_>) -> PyResult<(Rib<u32>, Rib<u128>, NextHops)> {
        let mut next_hops = NextHops::new();
        let mut indices = HashMap::new();
        let mut rename = |prefix: &dyn std::fmt::Display, from: NextHop| -> PyResult<NextHop> {
            if let Some(&index) = indices.get(&from) {
                return Ok(index);
            }
            let value = self.values[from.0 as usize].as_ref().map(|value| value.bind(py));
            let info = value.map(info).transpose()?.flatten();
            let info = info.ok_or_else(|| {
                let name = value.and_then(|value| value.get_type().name().ok());
                let name = name.map_or_else(String::new, |name| name.to_string());
                PyTypeError::new_err(format!(
                    "the value of {prefix} is {name}: files hold str and int, of at least one character"
                ))
            })?;
            let index = next_hops.intern(info).map_err(|error| PyTypeError::new_err(error.to_string()))?;
            indices.insert(from, index);
            Ok(index)
        };
        let ipv4 = renamed(&self.ipv4, |route| rename(&route.prefix, route.next_hop))?;
        let ipv6 = renamed(&self.ipv6, |route| rename(&route.prefix, route.next_hop))?;
        Ok((ipv4, ipv6, next_hops))
    }
}

/// Returns the same routes with other next hops.
pub(crate) fn renamed<A: Address, E>(
    rib: &Rib<A>,
    mut name: impl FnMut(Route<A>) -> Result<NextHop, E>,
) -> Result<Rib<A>, E> {
    rib.iter().map(|route| Ok(Route { next_hop: name(route)?, ..route })).collect()
}

/// Returns a value as a next hop whose text is the same. `None` if files cannot hold it.
fn info(value: &Bound<'_, PyAny>) -> PyResult<Option<NextHopInfo>> {
    let text = if value.is_exact_instance_of::<PyDict>() || value.is_exact_instance_of::<PyList>() {
        let json = value.py().import("json")?;
        let options = PyDict::new(value.py());
        options.set_item("separators", (",", ":"))?;
        json.getattr("dumps")?.call((value,), Some(&options))?.str()?
    } else if value.is_instance_of::<PyString>() || value.is_exact_instance_of::<PyInt>() {
        value.str()?
    } else {
        return Ok(None);
    };
    let text = text.to_str()?;
    let parsed = NextHopInfo::parse(text);
    let same = parsed.to_string() == text;
    let info = if same { parsed } else { NextHopInfo::Label(text.into()) };
    Ok((!text.is_empty()).then_some(info))
}
