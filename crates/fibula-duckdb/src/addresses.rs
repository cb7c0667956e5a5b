//! Columns of addresses as Arrow arrays.

use crate::duckdb::{HugeInt, Number, Type, Vector};
use arrow_array::builder::BinaryBuilder;
use arrow_array::types::{Int64Type, UInt32Type};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, BinaryArray, PrimitiveArray, StringArray};
use std::cell::OnceCell;
use std::ops::Range;
use std::sync::Arc;

/// The types that hold addresses.
pub(crate) const TYPES: &[Type] =
    &[Type::Varchar, Type::Blob, Type::UInteger, Type::BigInt, Type::InetStruct, Type::Inet];

/// A column of one of [`TYPES`].
pub(crate) struct Addresses<'c> {
    column: &'c Vector<'c>,
    /// All rows, once they were asked for.
    array: OnceCell<ArrayRef>,
}

impl<'c> Addresses<'c> {
    pub(crate) fn new(column: &'c Vector<'c>) -> Self {
        Self { column, array: OnceCell::new() }
    }

    /// Returns some rows as they are, if they are text.
    pub(crate) fn texts(&self, rows: Range<usize>) -> Option<impl Iterator<Item = Option<&'c [u8]>>> {
        self.column.is(Type::Varchar).then(|| self.column.bytes(rows))
    }

    /// Returns some rows as an array.
    pub(crate) fn array(&self, rows: Range<usize>) -> Result<ArrayRef, String> {
        let array = match self.array.get() {
            Some(array) => array,
            None => self.array.get_or_init({
                let read = read(self.column)?;
                || read
            }),
        };
        Ok(array.slice(rows.start, rows.len()))
    }
}

fn read(column: &Vector<'_>) -> Result<ArrayRef, String> {
    if column.is(Type::Varchar) {
        let texts = StringArray::try_from_binary(bytes(column));
        Ok(Arc::new(texts.map_err(|error| error.to_string())?))
    } else if column.is(Type::Blob) {
        Ok(Arc::new(bytes(column)))
    } else if column.is(Type::UInteger) {
        Ok(numbers::<UInt32Type>(column))
    } else if column.is(Type::BigInt) {
        Ok(numbers::<Int64Type>(column))
    } else {
        Ok(Arc::new(inet(column)))
    }
}

fn bytes(column: &Vector<'_>) -> BinaryArray {
    /// The longest address that has no zone: most are shorter.
    const TEXT_MOST: usize = 45;
    let mut array = BinaryBuilder::with_capacity(column.rows(), column.rows() * TEXT_MOST);
    column.bytes(0..column.rows()).for_each(|bytes| array.append_option(bytes));
    array.finish()
}

fn numbers<T: ArrowPrimitiveType<Native: Number>>(column: &Vector<'_>) -> ArrayRef {
    let values = column.numbers::<T::Native>().iter().copied();
    Arc::new(if column.all_valid() {
        PrimitiveArray::<T>::from_iter_values(values)
    } else {
        values.enumerate().map(|(row, value)| column.is_valid(row).then_some(value)).collect()
    })
}

/// Returns addresses of the extension `inet` as bytes in network order. Their masks say nothing
/// about the address, as in PostgreSQL.
fn inet(column: &Vector<'_>) -> BinaryArray {
    const IPV4: u8 = 1;
    const IPV6: u8 = 2;
    /// IPv6 addresses have their first bit flipped, so that signed numbers are in their order.
    const FLIPPED: u128 = 1 << 127;
    let (families, addresses) = (column.field(0), column.field(1));
    let (family, address) = (families.numbers::<u8>(), addresses.numbers::<HugeInt>());
    let mut array = BinaryBuilder::with_capacity(column.rows(), column.rows() * 16);
    for row in 0..column.rows() {
        let HugeInt { lower, upper } = address[row];
        let bits = u128::from(upper.cast_unsigned()) << 64 | u128::from(lower);
        let is_valid = column.is_valid(row) && families.is_valid(row) && addresses.is_valid(row);
        match (is_valid, family[row], u32::try_from(bits)) {
            (true, IPV4, Ok(bits)) => array.append_value(bits.to_be_bytes()),
            (true, IPV6, _) => array.append_value((bits ^ FLIPPED).to_be_bytes()),
            _ => array.append_null(),
        }
    }
    array.finish()
}
