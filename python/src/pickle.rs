//! Tables in pickles: a snapshot as its bytes, any other table as arrays of its routes.

use crate::contents::Contents;
use crate::mapped::Mapped;
use crate::shared::Body;
use crate::table::Table;
use fibula::snapshot::Snapshot;
use fibula::{Address, NextHop, Prefix, Rib, Route};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use std::sync::Arc;

/// The bytes of a route's length and next-hop index; its address comes before them.
const REST: usize = 1 + size_of::<u32>();

#[pymethods]
impl Table {
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let module = py.import("fibula._fibula")?;
        let mapped = match &*self.shared.read(py) {
            Body::Mapped(mapped) => Some(Arc::clone(mapped)),
            Body::Owned(_) => None,
        };
        if let Some(mapped) = mapped {
            let bytes = PyBytes::new(py, mapped.snapshot.as_bytes());
            let convert = mapped.convert.as_ref().map(|convert| convert.clone_ref(py));
            return Ok((module.getattr("restore_snapshot")?, (bytes, convert).into_pyobject(py)?));
        }
        let contents = self.shared.contents(py)?;
        let ipv4 = PyBytes::new(py, &packed(&contents.ipv4));
        let ipv6 = PyBytes::new(py, &packed(&contents.ipv6));
        Ok((module.getattr("restore_routes")?, (ipv4, ipv6, contents.values).into_pyobject(py)?))
    }
}

/// Opens a snapshot of a pickle.
#[pyfunction]
pub(crate) fn restore_snapshot(bytes: &[u8], convert: Option<Py<PyAny>>) -> PyResult<Table> {
    let open = || Mapped::new(Arc::new(Snapshot::from_bytes(bytes)?), convert);
    let mapped = open().map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(Table::of(Body::Mapped(Arc::new(mapped))))
}

/// Compiles the routes of a pickle.
#[pyfunction]
pub(crate) fn restore_routes(
    py: Python<'_>,
    ipv4: &[u8],
    ipv6: &[u8],
    values: Vec<Py<PyAny>>,
) -> PyResult<Table> {
    let mut values: Vec<_> = values.into_iter().map(Some).collect();
    if let Some(none) = values.first_mut() {
        *none = None;
    }
    let (ipv4, ipv6) = (unpacked(ipv4, &values)?, unpacked(ipv6, &values)?);
    Ok(Table::compile(py, Contents { ipv4, ipv6, values }))
}

/// Returns the routes in order: address, length and next-hop index of each, in network byte order.
fn packed<A: Address>(rib: &Rib<A>) -> Vec<u8> {
    let width = usize::from(A::BITS / 8);
    let mut bytes = Vec::with_capacity(rib.len() * (width + REST));
    for route in rib {
        let address = route.prefix.first().to_u128().to_be_bytes();
        bytes.extend_from_slice(&address[address.len() - width..]);
        bytes.push(route.prefix.len());
        bytes.extend_from_slice(&route.next_hop.0.to_be_bytes());
    }
    bytes
}

/// The inverse of [`packed`].
fn unpacked<A: Address>(bytes: &[u8], values: &[Option<Py<PyAny>>]) -> PyResult<Rib<A>> {
    let unsound = || PyValueError::new_err("a pickle of a table that is damaged");
    let width = usize::from(A::BITS / 8);
    let routes = bytes.chunks(width + REST).map(|route| {
        if route.len() < width + REST {
            return Err(unsound());
        }
        let mut address = [0; 16];
        address[16 - width..].copy_from_slice(&route[..width]);
        let address = A::from_u128(u128::from_be_bytes(address)).ok_or_else(unsound)?;
        let prefix = Prefix::new(address, route[width]).map_err(|_| unsound())?;
        let index = route[width + 1..].try_into().map(u32::from_be_bytes).map_err(|_| unsound())?;
        // Only an index with a value is one that a route may have.
        values.get(index as usize).and_then(Option::as_ref).ok_or_else(unsound)?;
        Ok(Route { prefix, next_hop: NextHop(index) })
    });
    routes.collect()
}
