//! [`Column`]: an array that holds addresses, by its type.

use crate::Error;
use crate::chunk::Chunk;
use arrow_array::cast::AsArray;
use arrow_array::types::{BinaryViewType, Int64Type, StringViewType, UInt32Type, UInt64Type};
use arrow_array::{
    Array, BinaryArray, BinaryViewArray, FixedSizeBinaryArray, GenericStringArray, Int64Array,
    LargeBinaryArray, LargeStringArray, OffsetSizeTrait, StringArray, StringViewArray, UInt32Array,
    UInt64Array,
};
use arrow_data::{ByteView, MAX_INLINE_VIEW_LEN};
use arrow_schema::DataType;
use fibula::parts::arch::{Isa, Kernel, Level, dispatch};
use fibula_io::address::{self, Found, Window};
use std::fmt::Write;
use std::ops::Range;

/// An array of addresses that is no dictionary.
pub(crate) struct Column<'c>(&'c dyn Addresses);

impl<'c> Column<'c> {
    /// Takes an array as a column of addresses.
    pub(crate) fn of(array: &'c dyn Array) -> Result<Self, Error> {
        Ok(Self(match array.data_type() {
            DataType::Utf8 => array.as_string::<i32>(),
            DataType::LargeUtf8 => array.as_string::<i64>(),
            DataType::Utf8View => array.as_byte_view::<StringViewType>(),
            DataType::UInt32 => array.as_primitive::<UInt32Type>(),
            DataType::UInt64 => array.as_primitive::<UInt64Type>(),
            DataType::Int64 => array.as_primitive::<Int64Type>(),
            DataType::FixedSizeBinary(4 | 16) => array.as_fixed_size_binary(),
            DataType::Binary => array.as_binary::<i32>(),
            DataType::LargeBinary => array.as_binary::<i64>(),
            DataType::BinaryView => array.as_byte_view::<BinaryViewType>(),
            other => return Err(Error::data_type(other)),
        }))
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the column itself, if it is IPv4 addresses without nulls.
    pub(crate) fn ipv4(&self) -> Option<&'c [u32]> {
        let array: &'c dyn Array = self.0;
        let array = array.as_primitive_opt::<UInt32Type>().filter(|array| array.null_count() == 0)?;
        Some(array.values())
    }

    /// Returns the column itself, if it is 16 bytes each without nulls.
    pub(crate) fn ipv6(&self) -> Option<&'c [[u8; 16]]> {
        let array: &'c dyn Array = self.0;
        let array = array.as_fixed_size_binary_opt().filter(|array| array.null_count() == 0)?;
        (array.value_length() == 16).then(|| array.value_data().as_chunks().0)
    }

    /// Puts the addresses of `rows` into a chunk.
    pub(crate) fn read(&self, rows: Range<usize>, chunk: &mut Chunk) {
        self.0.read(rows, chunk);
    }

    /// Returns the address of one row that is not null.
    pub(crate) fn found(&self, row: usize) -> Found {
        self.0.found(row)
    }

    /// Returns the address of a row that is none as it is, but with something around it.
    pub(crate) fn cleaned(&self, row: usize) -> Found {
        self.0.text(row).map_or(Found::Invalid, address::clean)
    }

    /// Returns whether a row is null.
    pub(crate) fn is_null(&self, row: usize) -> bool {
        self.0.is_null(row)
    }

    /// Returns the number of null rows.
    pub(crate) fn null_count(&self) -> usize {
        self.0.null_count()
    }

    /// Returns the value of one row as errors show it: `"text"`, `17`, `0x0a0b0c`.
    pub(crate) fn written(&self, row: usize) -> String {
        self.0.written(row)
    }
}

fn quoted(text: &str) -> String {
    format!("{text:?}")
}

fn hexadecimal(bytes: &[u8]) -> String {
    let mut text = String::from("0x");
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Reads rows, compiled for every instruction set.
struct Read<'r, A: ?Sized> {
    array: &'r A,
    rows: Range<usize>,
    chunk: &'r mut Chunk,
}

impl<A: Addresses + ?Sized> Kernel for Read<'_, A> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self, _: I) {
        let Self { array, rows, chunk } = self;
        let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0);
        let first = rows.start;
        for row in rows {
            if nulls.is_none_or(|nulls| nulls.is_valid(row)) {
                chunk.push(row - first, array.found(row));
            }
        }
    }
}

/// An array of one type that holds addresses.
trait Addresses: Array {
    /// Returns the address of a row that is not null.
    fn found(&self, row: usize) -> Found;

    /// As [`Column::read`].
    fn read(&self, rows: Range<usize>, chunk: &mut Chunk) {
        dispatch(Level::best(), Read { array: self, rows, chunk });
    }

    /// As [`Column::written`].
    fn written(&self, row: usize) -> String;

    /// Returns the value of a row that is not null, if it is text.
    fn text(&self, _row: usize) -> Option<&[u8]> {
        None
    }
}

/// Implements [`Addresses`] for arrays by what reads a row and what shows its value.
macro_rules! addresses {
    ($($array:ty: $found:expr, $written:expr $(, $text:expr)?;)*) => {
        $(
            impl Addresses for $array {
                #[inline(always)]
                fn found(&self, row: usize) -> Found {
                    $found(self, row)
                }

                fn written(&self, row: usize) -> String {
                    $written(self.value(row))
                }

                $(
                    fn text(&self, row: usize) -> Option<&[u8]> {
                        Some($text(self.value(row)))
                    }
                )?
            }
        )*
    };
}

addresses! {
    StringArray: of_text, quoted, str::as_bytes;
    LargeStringArray: of_text, quoted, str::as_bytes;
    StringViewArray: of_view, quoted, str::as_bytes;
    UInt32Array: |array: &Self, row| Found::Ipv4(array.values()[row]), |value: u32| value.to_string();
    UInt64Array: |array: &Self, row| of_integer(array.values()[row]), |value: u64| value.to_string();
    Int64Array: |array: &Self, row| of_integer(array.values()[row]), |value: i64| value.to_string();
    FixedSizeBinaryArray: |array: &Self, row| of_bytes(array.value(row)), hexadecimal;
    BinaryArray: |array: &Self, row| of_bytes(array.value(row)), hexadecimal;
    LargeBinaryArray: |array: &Self, row| of_bytes(array.value(row)), hexadecimal;
    BinaryViewArray: |array: &Self, row| of_bytes(array.value(row)), hexadecimal;
}

#[inline(always)]
fn of_text<O: OffsetSizeTrait>(array: &GenericStringArray<O>, row: usize) -> Found {
    let offsets = &array.value_offsets()[row..][..2];
    let (start, end) = (offsets[0].as_usize(), offsets[1].as_usize());
    address::find(Window::new(array.value_data(), start, end - start))
}

#[inline(always)]
fn of_view(array: &StringViewArray, row: usize) -> Found {
    let view = array.views()[row];
    let len = view as u32;
    if len <= MAX_INLINE_VIEW_LEN {
        // The text is in the view, after its length.
        let mut text = [0; 2 * size_of::<u128>()];
        text[..size_of::<u128>()].copy_from_slice(&(view >> u32::BITS).to_le_bytes());
        return address::find(Window::new(&text, 0, len as usize));
    }
    let view = ByteView::from(view);
    let buffer = &array.data_buffers()[view.buffer_index as usize];
    address::find(Window::new(buffer, view.offset as usize, len as usize))
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
