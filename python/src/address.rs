//! Python objects that are addresses and prefixes.

use fibula::{Family, IpPrefix};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyInt, PyString, PyType};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Reads an address: text, an object of `ipaddress`, 4 or 16 bytes; with `family` also an integer.
///
/// # Errors
/// `ValueError` if it is none, or of the other family; `TypeError` if it is of another type.
#[inline]
pub(crate) fn address(object: &Bound<'_, PyAny>, family: Option<Family>) -> PyResult<IpAddr> {
    // What is nearly always asked for, by as few calls as can be.
    match object.cast_exact::<PyString>() {
        Ok(text) if family.is_none() => of_text(text),
        _ => of_any(object, family),
    }
}

fn of_any(object: &Bound<'_, PyAny>, family: Option<Family>) -> PyResult<IpAddr> {
    let address = if let Ok(text) = object.cast::<PyString>() {
        of_text(text)?
    } else if let Ok(bytes) = object.cast::<PyBytes>() {
        of_bytes(object, bytes.as_bytes())?
    } else if let Some(family) = family {
        return of_number(object, family);
    } else {
        of_object(object)?
    };
    match family {
        Some(family) if family != family_of(address) => Err(other_family(object, family)),
        _ => Ok(address),
    }
}

/// Reads `family=4` or `family=6`.
///
/// # Errors
/// `ValueError` if it is another number.
pub(crate) fn family(number: Option<u8>) -> PyResult<Option<Family>> {
    match number {
        None => Ok(None),
        Some(4) => Ok(Some(Family::Ipv4)),
        Some(6) => Ok(Some(Family::Ipv6)),
        Some(other) => Err(PyValueError::new_err(format!("family is 4 or 6, not {other}"))),
    }
}

/// Returns the family of an address.
pub(crate) fn family_of(address: IpAddr) -> Family {
    if address.is_ipv4() { Family::Ipv4 } else { Family::Ipv6 }
}

#[inline]
fn of_text(text: &Bound<'_, PyString>) -> PyResult<IpAddr> {
    fibula_io::address::parse(text.to_str()?.as_bytes()).ok_or_else(|| no_address(text))
}

#[cold]
fn no_address(text: &Bound<'_, PyString>) -> PyErr {
    let shown = shown(text);
    let is_prefix = text.to_str().is_ok_and(|text| text.contains('/') && text.parse::<IpPrefix>().is_ok());
    let hint = if is_prefix { " but a prefix, which is a key of .routes" } else { "" };
    PyValueError::new_err(format!("{shown} is not an address{hint}"))
}

fn of_bytes(object: &Bound<'_, PyAny>, bytes: &[u8]) -> PyResult<IpAddr> {
    if let Ok(octets) = <[u8; 4]>::try_from(bytes) {
        return Ok(Ipv4Addr::from_octets(octets).into());
    }
    if let Ok(octets) = <[u8; 16]>::try_from(bytes) {
        return Ok(Ipv6Addr::from_octets(octets).into());
    }
    let (shown, len) = (shown(object), bytes.len());
    Err(PyValueError::new_err(format!("{shown} has {len} bytes, and an address 4 or 16")))
}

/// An integer, or anything with `__index__` or `__int__`.
fn of_number(object: &Bound<'_, PyAny>, family: Family) -> PyResult<IpAddr> {
    if let Some(address) = of_ipaddress(object)? {
        return if family_of(address) == family { Ok(address) } else { Err(other_family(object, family)) };
    }
    let outside = |_| PyValueError::new_err(format!("{} is no {family} address", shown(object)));
    if !object.is_instance_of::<PyInt>() && !object.hasattr(intern!(object.py(), "__index__"))? {
        return Err(other_type(object));
    }
    Ok(match family {
        Family::Ipv4 => Ipv4Addr::from_bits(object.extract().map_err(outside)?).into(),
        Family::Ipv6 => Ipv6Addr::from_bits(object.extract().map_err(outside)?).into(),
    })
}

fn of_object(object: &Bound<'_, PyAny>) -> PyResult<IpAddr> {
    if let Some(address) = of_ipaddress(object)? {
        return Ok(address);
    }
    if object.is_instance_of::<PyInt>() {
        let text = "an integer may be an address of either family: say family=4 or family=6";
        return Err(PyTypeError::new_err(text));
    }
    Err(other_type(object))
}

/// The types of the module `ipaddress`.
struct Types {
    address: [Py<PyType>; 2],
    network: [Py<PyType>; 2],
    interface: [Py<PyType>; 2],
}

fn types(py: Python<'_>) -> PyResult<&Types> {
    static TYPES: PyOnceLock<Types> = PyOnceLock::new();
    TYPES.get_or_try_init(py, || {
        let module = py.import("ipaddress")?;
        let of = |name| -> PyResult<Py<PyType>> { Ok(module.getattr(name)?.cast_into::<PyType>()?.unbind()) };
        Ok(Types {
            address: [of("IPv4Address")?, of("IPv6Address")?],
            network: [of("IPv4Network")?, of("IPv6Network")?],
            interface: [of("IPv4Interface")?, of("IPv6Interface")?],
        })
    })
}

/// Returns the address of an `IPv4Address` or `IPv6Address`, `None` for anything else.
fn of_ipaddress(object: &Bound<'_, PyAny>) -> PyResult<Option<IpAddr>> {
    let py = object.py();
    let [four, six] = &types(py)?.address;
    let number = || object.call_method0(intern!(py, "__int__"));
    if object.is_instance(four.bind(py))? {
        return Ok(Some(Ipv4Addr::from_bits(number()?.extract()?).into()));
    }
    if object.is_instance(six.bind(py))? {
        return Ok(Some(Ipv6Addr::from_bits(number()?.extract()?).into()));
    }
    Ok(None)
}

/// Reads a prefix: text, a network or an address of `ipaddress`. A bare address is a host prefix.
///
/// # Errors
/// `ValueError` if it is none, `TypeError` if it is of another type.
pub(crate) fn prefix(object: &Bound<'_, PyAny>) -> PyResult<IpPrefix> {
    if let Ok(text) = object.cast::<PyString>() {
        let error = |error| PyValueError::new_err(format!("{}: {error}", shown(text)));
        return text.to_str()?.parse().map_err(error);
    }
    let py = object.py();
    for network in &types(py)?.network {
        if object.is_instance(network.bind(py))? {
            let first = object.getattr(intern!(py, "network_address"))?;
            let len: u8 = object.getattr(intern!(py, "prefixlen"))?.extract()?;
            let error = |error: fibula::Error| PyValueError::new_err(error.to_string());
            return IpPrefix::new(of_object(&first)?, len).map_err(error);
        }
    }
    if let Some(address) = of_ipaddress(object)? {
        for interface in &types(py)?.interface {
            // An address with the length of its network, whose host bits are as wrong as in text.
            if object.is_instance(interface.bind(py))? {
                let len: u8 =
                    object.getattr(intern!(py, "network"))?.getattr(intern!(py, "prefixlen"))?.extract()?;
                return IpPrefix::new(address, len).map_err(|error| PyValueError::new_err(error.to_string()));
            }
        }
        return Ok(IpPrefix::host(address));
    }
    let name = object.get_type().name()?;
    Err(PyTypeError::new_err(format!("a prefix is text or an object of ipaddress, not {name}")))
}

#[cold]
fn other_family(object: &Bound<'_, PyAny>, family: Family) -> PyErr {
    PyValueError::new_err(format!("{} is no {family} address", shown(object)))
}

#[cold]
fn other_type(object: &Bound<'_, PyAny>) -> PyErr {
    match object.get_type().name() {
        Ok(name) => {
            PyTypeError::new_err(format!("an address is text, an object of ipaddress, or bytes, not {name}"))
        }
        Err(error) => error,
    }
}

/// Returns an object's `repr`, short enough for one line.
fn shown(object: &Bound<'_, PyAny>) -> String {
    const SHOWN: usize = 80;
    let text = object.repr().map_or_else(|_| "?".to_owned(), |text| text.to_string_lossy().into_owned());
    if text.chars().nth(SHOWN).is_none() {
        return text;
    }
    format!("{}...", text.chars().take(SHOWN).collect::<String>())
}
