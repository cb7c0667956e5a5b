//! [`Column`]: an array that holds addresses, by its type.

use crate::Error;
use crate::address::Found;
use crate::chunk::Chunk;
use crate::text::{self, Window};
use arrow_array::cast::AsArray;
use arrow_array::types::{BinaryViewType, Int64Type, StringViewType, UInt32Type, UInt64Type};
use arrow_array::{
    Array, BinaryArray, BinaryViewArray, FixedSizeBinaryArray, GenericBinaryArray, GenericStringArray,
    Int64Array, LargeBinaryArray, LargeStringArray, OffsetSizeTrait, StringArray, StringViewArray,
    UInt32Array, UInt64Array,
};
use arrow_buffer::NullBuffer;
use arrow_data::{ByteView, MAX_INLINE_VIEW_LEN};
use arrow_schema::DataType;
use fibula::arch::{Isa, Kernel, Level, dispatch};
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

/// Evaluates an expression with `$array`, the array of a column.
macro_rules! with {
    ($column:expr, |$array:ident| $result:expr) => {
        match $column {
            Column::Text($array) => $result,
            Column::LargeText($array) => $result,
            Column::TextView($array) => $result,
            Column::UInt32($array) => $result,
            Column::UInt64($array) => $result,
            Column::Int64($array) => $result,
            Column::Fixed($array) => $result,
            Column::Bytes($array) => $result,
            Column::LargeBytes($array) => $result,
            Column::BytesView($array) => $result,
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
        with!(self, |array| array.len())
    }

    fn nulls(&self) -> Option<&NullBuffer> {
        with!(self, |array| array.nulls())
    }

    /// Returns the column itself, if it is IPv4 addresses without nulls.
    pub(crate) fn ipv4(&self) -> Option<&'c [u32]> {
        match self {
            Self::UInt32(array) if array.null_count() == 0 => Some(array.values()),
            _ => None,
        }
    }

    /// Returns the column itself, if it is 16 bytes each without nulls.
    pub(crate) fn ipv6(&self) -> Option<&'c [[u8; 16]]> {
        match self {
            Self::Fixed(array) if array.value_length() == 16 && array.null_count() == 0 => {
                Some(array.value_data().as_chunks().0)
            }
            _ => None,
        }
    }

    /// Puts the addresses of `rows` into a chunk.
    pub(crate) fn read(&self, rows: Range<usize>, chunk: &mut Chunk) {
        dispatch(Level::best(), Read { column: self, rows, chunk });
    }

    /// Returns the address of one row that is not null.
    pub(crate) fn found(&self, row: usize) -> Found {
        with!(self, |array| array.found(row))
    }

    /// Returns for each row whether it is neither null nor an address.
    pub(crate) fn invalid(&self) -> Vec<bool> {
        let invalid = |row| with!(self, |array| array.is_valid(row) && array.found(row) == Found::Invalid);
        (0..self.len()).map(invalid).collect()
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

/// Reads rows, compiled for every instruction set.
struct Read<'r, 'c> {
    column: &'r Column<'c>,
    rows: Range<usize>,
    chunk: &'r mut Chunk,
}

impl Kernel for Read<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self, _: I) {
        let Self { column, rows, chunk } = self;
        let nulls = column.nulls().filter(|nulls| nulls.null_count() > 0);
        let first = rows.start;
        with!(column, |array| {
            for row in rows {
                if nulls.is_none_or(|nulls| nulls.is_valid(row)) {
                    chunk.push(row - first, array.found(row));
                }
            }
        });
    }
}

/// An array of one type that holds addresses.
trait Addresses: Array {
    /// Returns the address of a row that is not null.
    fn found(&self, row: usize) -> Found;
}

impl<O: OffsetSizeTrait> Addresses for GenericStringArray<O> {
    #[inline(always)]
    fn found(&self, row: usize) -> Found {
        let offsets = &self.value_offsets()[row..][..2];
        let (start, end) = (offsets[0].as_usize(), offsets[1].as_usize());
        text::parse(Window::new(self.value_data(), start, end - start))
    }
}

impl Addresses for StringViewArray {
    #[inline(always)]
    fn found(&self, row: usize) -> Found {
        let view = self.views()[row];
        let len = view as u32;
        if len <= MAX_INLINE_VIEW_LEN {
            // The text is in the view, after its length.
            let mut text = [0; 2 * size_of::<u128>()];
            text[..size_of::<u128>()].copy_from_slice(&(view >> u32::BITS).to_le_bytes());
            return text::parse(Window::new(&text, 0, len as usize));
        }
        let view = ByteView::from(view);
        let buffer = &self.data_buffers()[view.buffer_index as usize];
        text::parse(Window::new(buffer, view.offset as usize, len as usize))
    }
}

impl Addresses for UInt32Array {
    #[inline(always)]
    fn found(&self, row: usize) -> Found {
        Found::Ipv4(self.values()[row])
    }
}

impl Addresses for UInt64Array {
    #[inline(always)]
    fn found(&self, row: usize) -> Found {
        of_integer(self.values()[row])
    }
}

impl Addresses for Int64Array {
    #[inline(always)]
    fn found(&self, row: usize) -> Found {
        of_integer(self.values()[row])
    }
}

impl Addresses for FixedSizeBinaryArray {
    #[inline(always)]
    fn found(&self, row: usize) -> Found {
        of_bytes(self.value(row))
    }
}

impl<O: OffsetSizeTrait> Addresses for GenericBinaryArray<O> {
    #[inline(always)]
    fn found(&self, row: usize) -> Found {
        of_bytes(self.value(row))
    }
}

impl Addresses for BinaryViewArray {
    #[inline(always)]
    fn found(&self, row: usize) -> Found {
        of_bytes(self.value(row))
    }
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
