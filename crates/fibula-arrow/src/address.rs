//! One row of a column.

use crate::Error;
use crate::column::Column;
use crate::dictionary;
use arrow_array::Array;
use std::net::IpAddr;

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
    let found = values.found(at).ip();
    found.map(Some).ok_or_else(|| Error::address(row, &values.written(at)))
}
