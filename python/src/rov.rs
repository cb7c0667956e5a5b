//! [`Vrps`]: route origin validation.

use crate::contents::Contents;
use crate::table::Table;
use fibula::{IpPrefix, NextHop, Route};
use fibula_io::Source;
use fibula_io::rov::{self, Origins, Validity};
use fibula_io::table::{ReadOptions, Tables};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};
use std::collections::HashMap;
use std::path::PathBuf;

/// Validated ROA payloads, which say of a route whether its origin is authorised (RFC 6811).
///
/// `source` is a file or bytes as rpki-client and Routinator write them, CSV or JSON. An answer is
/// `"valid"`, `"invalid-as"`, `"invalid-length"` (the origin is authorised for shorter prefixes
/// only) or `"not-found"`.
///
/// >>> import fibula
/// >>> vrps = fibula.Vrps(b"ASN,IP Prefix,Max Length\nAS64500,192.0.2.0/24,25\n")
/// >>> vrps.validity("192.0.2.0/25", 64500), vrps.validity("192.0.2.0/26", 64500)
/// ('valid', 'invalid-length')
/// >>> t = fibula.Table({"192.0.2.0/24": 64501, "198.51.100.0/24": 64500})
/// >>> list(vrps.validate(t).routes.values())
/// ['invalid-as', 'not-found']
#[pyclass(frozen, module = "fibula")]
pub(crate) struct Vrps(pub(crate) rov::Vrps);

#[pymethods]
impl Vrps {
    #[new]
    #[pyo3(signature = (source, /))]
    fn new(py: Python<'_>, source: &Bound<'_, PyAny>) -> PyResult<Self> {
        let options = ReadOptions::default();
        let read = if let Ok(bytes) = source.cast::<PyBytes>() {
            let bytes = bytes.as_bytes();
            py.detach(|| rov::Vrps::parse(bytes, &options))
        } else {
            let source = Source::File(source.extract::<PathBuf>()?);
            py.detach(|| rov::Vrps::read(&source, &options))
        };
        read.map(|(vrps, _)| Self(vrps)).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// Returns what the payloads say of a route. `origin` is an AS number, or `None` for a set of
    /// them, which is never valid.
    #[pyo3(signature = (prefix, origin))]
    fn validity(&self, prefix: &Bound<'_, PyAny>, origin: Option<u32>) -> PyResult<&'static str> {
        Ok(self.0.validity(crate::address::prefix(prefix)?, origin).name())
    }

    /// Returns a table of the same prefixes, each with the answer as its value. The values of
    /// `table` are origins: AS numbers, or objects with `origin_as`; a list of origins has a list
    /// of answers.
    #[pyo3(signature = (table, /))]
    fn validate(&self, py: Python<'_>, table: &Table) -> PyResult<Table> {
        let (ipv4, ipv6, next_hops) = table.shared.contents(py)?.next_hops(py)?;
        let tables = Tables { ipv4, ipv6, next_hops };
        let origins: Vec<Origins> = tables.next_hops.iter().map(|(_, info)| Origins::of(info)).collect();
        // The answers, and whether they are a list.
        let mut answers: HashMap<(Vec<Validity>, bool), NextHop> = HashMap::new();
        let (mut ipv4, mut ipv6, mut unknown) = (Vec::new(), Vec::new(), None);
        py.detach(|| {
            self.0.each(&tables, |prefix, next_hop, validity| {
                let found = match &origins[next_hop.0 as usize - 1] {
                    Origins::Unknown => {
                        unknown.get_or_insert(prefix);
                        return;
                    }
                    Origins::One(origin) => (vec![validity(*origin)], false),
                    Origins::Several(all) => (all.iter().map(|&one| validity(one)).collect(), true),
                };
                let number = NextHop(answers.len() as u32 + 1);
                let next_hop = *answers.entry(found).or_insert(number);
                match prefix {
                    IpPrefix::V4(prefix) => ipv4.push(Route { prefix, next_hop }),
                    IpPrefix::V6(prefix) => ipv6.push(Route { prefix, next_hop }),
                }
            });
        });
        if let Some(prefix) = unknown {
            return Err(PyValueError::new_err(format!("the value of {prefix} names no origin")));
        }
        let mut values = Vec::new();
        values.resize_with(answers.len() + 1, || None);
        for ((found, is_list), number) in answers {
            let names: Vec<_> = found.iter().map(|validity| PyString::new(py, validity.name())).collect();
            let one = names.first().filter(|_| !is_list).cloned();
            let value =
                one.map_or_else(|| PyList::new(py, names).map(Bound::into_any), |one| Ok(one.into_any()));
            values[number.0 as usize] = Some(value?.unbind());
        }
        let (ipv4, ipv6) = (ipv4.into_iter().collect(), ipv6.into_iter().collect());
        Ok(Table::compile(py, Contents { ipv4, ipv6, values }))
    }
}
