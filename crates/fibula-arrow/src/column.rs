//! [`Column`]: an array that holds addresses, by its type.

use crate::Error;
use crate::address::Found;
use crate::chunk::Chunk;
use crate::text::{self, Window};
use arrow_array::cast::AsArray;
use arrow_array::types::{BinaryViewType, ByteArrayType, Int64Type, StringViewType, UInt32Type, UInt64Type};
use arrow_array::{
    Array, BinaryArray, BinaryViewArray, FixedSizeBinaryArray, GenericByteArray, GenericByteViewArray,
    Int64Array, LargeBinaryArray, LargeStringArray, StringArray, StringViewArray, UInt32Array, UInt64Array,
};
use arrow_buffer::NullBuffer;
use arrow_data::{ByteView, MAX_INLINE_VIEW_LEN};
use arrow_schema::DataType;
use std::fmt::Write;
use std::ops::Range;

/// An array of addresses that is no dictionary.
pub(crate) enum Column<'c> {
    Text(&'c StringArray),
    LargeText(&'c LargeStringArray),
    TextView(&'c StringViewArray),
    UInt32(&'c UInt32Array),
    UInt64(&'c UInt64Array),
    Int64(&'c Int64Array),
    /// Of 4 or 16 bytes.
    Fixed(&'c FixedSizeBinaryArray),
    Bytes(&'c BinaryArray),
    LargeBytes(&'c LargeBinaryArray),
    BytesView(&'c BinaryViewArray),
}

/// Evaluates an expression with `$array`, the array of a column, and `$found`, the function that
/// finds the address of a row in it.
macro_rules! with {
    ($column:expr, |$array:ident, $found:ident| $result:expr) => {
        match $column {
            Column::Text($array) => {
                let $found = |row: usize| of_text($array, row);
                $result
            }
            Column::LargeText($array) => {
                let $found = |row: usize| of_text($array, row);
                $result
            }
            Column::TextView($array) => {
                let $found = |row: usize| of_text_view($array, row);
                $result
            }
            Column::UInt32($array) => {
                let $found = |row: usize| Found::Ipv4($array.values()[row]);
                $result
            }
            Column::UInt64($array) => {
                let $found = |row: usize| of_integer($array.values()[row]);
                $result
            }
            Column::Int64($array) => {
                let $found = |row: usize| of_integer($array.values()[row]);
                $result
            }
            Column::Fixed($array) => {
                let $found = |row: usize| of_bytes($array.value(row));
                $result
            }
            Column::Bytes($array) => {
                let $found = |row: usize| of_bytes($array.value(row));
                $result
            }
            Column::LargeBytes($array) => {
                let $found = |row: usize| of_bytes($array.value(row));
                $result
            }
            Column::BytesView($array) => {
                let $found = |row: usize| of_bytes($array.value(row));
                $result
            }
        }
    };
}

impl<'c> Column<'c> {
    /// Takes an array as a column of addresses.
    pub(crate) fn of(array: &'c dyn Array) -> Result<Self, Error> {
        Ok(match array.data_type() {
            DataType::Utf8 => Self::Text(array.as_string()),
            DataType::LargeUtf8 => Self::LargeText(array.as_string()),
            DataType::Utf8View => Self::TextView(array.as_byte_view::<StringViewType>()),
            DataType::UInt32 => Self::UInt32(array.as_primitive::<UInt32Type>()),
            DataType::UInt64 => Self::UInt64(array.as_primitive::<UInt64Type>()),
            DataType::Int64 => Self::Int64(array.as_primitive::<Int64Type>()),
            DataType::FixedSizeBinary(4 | 16) => Self::Fixed(array.as_fixed_size_binary()),
            DataType::Binary => Self::Bytes(array.as_binary()),
            DataType::LargeBinary => Self::LargeBytes(array.as_binary()),
            DataType::BinaryView => Self::BytesView(array.as_byte_view::<BinaryViewType>()),
            other => return Err(Error::data_type(other)),
        })
    }

    pub(crate) fn len(&self) -> usize {
        with!(self, |array, _found| array.len())
    }

    fn nulls(&self) -> Option<&NullBuffer> {
        with!(self, |array, _found| array.nulls())
    }

    /// Returns the column itself, if it is IPv4 addresses without nulls.
    pub(crate) fn ipv4(&self) -> Option<&'c [u32]> {
        match self {
            Self::UInt32(array) if array.null_count() == 0 => Some(array.values()),
            _ => None,
        }
    }

    /// Puts the addresses of `rows` into a chunk.
    pub(crate) fn read(&self, rows: Range<usize>, chunk: &mut Chunk) {
        let nulls = self.nulls().filter(|nulls| nulls.null_count() > 0);
        with!(self, |array, found| read(rows, nulls, chunk, found));
    }

    /// Returns the address of one row that is not null.
    pub(crate) fn found(&self, row: usize) -> Found {
        with!(self, |array, found| found(row))
    }

    /// Returns for each row whether it is neither null nor an address.
    pub(crate) fn invalid(&self) -> Vec<bool> {
        let is_null = |row| self.nulls().is_some_and(|nulls| nulls.is_null(row));
        with!(self, |array, found| (0..array.len())
            .map(|row| !is_null(row) && found(row) == Found::Invalid)
            .collect())
    }

    /// Returns the value of one row as errors show it: `"text"`, `17`, `0x0a0b0c`.
    pub(crate) fn written(&self, row: usize) -> String {
        match self {
            Self::Text(array) => format!("{:?}", array.value(row)),
            Self::LargeText(array) => format!("{:?}", array.value(row)),
            Self::TextView(array) => format!("{:?}", array.value(row)),
            Self::UInt32(array) => array.value(row).to_string(),
            Self::UInt64(array) => array.value(row).to_string(),
            Self::Int64(array) => array.value(row).to_string(),
            Self::Fixed(array) => hexadecimal(array.value(row)),
            Self::Bytes(array) => hexadecimal(array.value(row)),
            Self::LargeBytes(array) => hexadecimal(array.value(row)),
            Self::BytesView(array) => hexadecimal(array.value(row)),
        }
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    let mut text = String::from("0x");
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[inline(always)]
fn read(rows: Range<usize>, nulls: Option<&NullBuffer>, chunk: &mut Chunk, found: impl Fn(usize) -> Found) {
    let first = rows.start;
    match nulls {
        None => rows.for_each(|row| chunk.push(row - first, found(row))),
        Some(nulls) => {
            rows.filter(|&row| nulls.is_valid(row)).for_each(|row| chunk.push(row - first, found(row)));
        }
    }
}

#[inline(always)]
fn of_text<T: ByteArrayType>(array: &GenericByteArray<T>, row: usize) -> Found {
    use arrow_buffer::ArrowNativeType;
    let offsets = &array.value_offsets()[row..][..2];
    let (start, end) = (offsets[0].as_usize(), offsets[1].as_usize());
    text::parse(Window::new(array.value_data(), start, end - start))
}

#[inline(always)]
fn of_text_view(array: &GenericByteViewArray<StringViewType>, row: usize) -> Found {
    let view = array.views()[row];
    let len = view as u32;
    if len <= MAX_INLINE_VIEW_LEN {
        // The text is in the view, after its length.
        let text = (view >> u32::BITS).to_le_bytes();
        return text::parse(Window::new(&text, 0, len as usize));
    }
    let view = ByteView::from(view);
    let buffer = &array.data_buffers()[view.buffer_index as usize];
    text::parse(Window::new(buffer, view.offset as usize, len as usize))
}

#[inline(always)]
fn of_integer(value: impl TryInto<u32>) -> Found {
    value.try_into().map_or(Found::Invalid, Found::Ipv4)
}

#[inline(always)]
fn of_bytes(bytes: &[u8]) -> Found {
    if let Ok(bytes) = bytes.try_into() {
        Found::Ipv6(u128::from_be_bytes(bytes))
    } else {
        bytes.try_into().map_or(Found::Invalid, |bytes| Found::Ipv4(u32::from_be_bytes(bytes)))
    }
}
