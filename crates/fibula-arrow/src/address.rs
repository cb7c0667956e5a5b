//! [`Found`]: one row of a column.

use crate::Error;
use crate::column::Column;
use crate::dictionary;
use crate::text::{self, Window};
use arrow_array::Array;
use std::net::IpAddr;

/// The address of a row that is not null.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Ipv4(u32),
    Ipv6(u128),
    Invalid,
}

/// Parses one address in the language of [`IpAddr`], as columns do: in whole words, without a
/// branch for each byte. `None` if it is none.
///
/// ```
/// assert_eq!(fibula_arrow::parse("192.0.2.1"), "192.0.2.1".parse().ok());
/// assert_eq!(fibula_arrow::parse("192.0.2"), None);
/// ```
#[must_use]
pub fn parse(text: &str) -> Option<IpAddr> {
    match text::parse(Window::new(text.as_bytes(), 0, text.len())) {
        Found::Ipv4(address) => Some(IpAddr::V4(address.into())),
        Found::Ipv6(address) => Some(IpAddr::V6(address.into())),
        Found::Invalid => None,
    }
}

/// Returns the address of one row; `None` if it is null. For single rows: a column is looked up by
/// [`lookup`](crate::lookup).
///
/// # Errors
/// If the column's type holds no addresses, or this row's is invalid.
///
/// # Panics
/// If `row` is past the end.
///
/// ```
/// use arrow_array::UInt32Array;
/// let column = UInt32Array::from(vec![0xC000_0201]);
/// assert_eq!(fibula_arrow::address(&column, 0)?.unwrap().to_string(), "192.0.2.1");
/// # Ok::<(), fibula_arrow::Error>(())
/// ```
pub fn address(column: &dyn Array, row: usize) -> Result<Option<IpAddr>, Error> {
    if column.is_null(row) {
        return Ok(None);
    }
    let (values, at) = dictionary::value(column, row);
    let Some(at) = at.filter(|&at| values.is_valid(at)) else { return Ok(None) };
    let values = Column::of(values)?;
    match values.found(at) {
        Found::Ipv4(address) => Ok(Some(IpAddr::V4(address.into()))),
        Found::Ipv6(address) => Ok(Some(IpAddr::V6(address.into()))),
        Found::Invalid => Err(Error::address(row, &values.written(at))),
    }
}
