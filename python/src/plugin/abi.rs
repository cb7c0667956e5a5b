//! Polars' plugin ABI, version 0.1: the functions that Polars finds in this library, and the Series
//! that go in and out of them.
//!
//! ```text
//! SeriesExport   field ───▶ ArrowSchema          of Arrow's C data interface
//!                arrays ──▶ [*ArrowArray; len]   one a chunk
//!                release, private_data           free the two lists
//! ```
//! Who reads a Series moves the arrays out of its boxes, and then releases it: that frees the boxes
//! alone. Polars asks for the version before anything else, and refuses one that it does not know.
//! Version 0.0 had no keywords in `_polars_plugin_field_*`, and another layout of text.
#![allow(unsafe_code, reason = "Polars calls these functions, and passes them pointers")]

use arrow_array::ffi::{self, FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::{Array, ArrayRef, make_array, new_null_array};
use arrow_schema::{ArrowError, DataType, Field};
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_void};
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::{ptr, slice};

/// The major number is in the upper half, the minor one in the lower.
const VERSION: u32 = 1;

/// The message by which Polars knows that a plugin panicked.
const PANICKED: &CStr = c"PANIC";

/// A Series, as one side hands it to the other.
#[repr(C)]
struct SeriesExport {
    field: *mut FFI_ArrowSchema,
    arrays: *mut *mut FFI_ArrowArray,
    len: usize,
    release: Option<unsafe extern "C" fn(*mut SeriesExport)>,
    private_data: *mut c_void,
}

impl Drop for SeriesExport {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: whoever made the Series gave it this function, which is called once.
            unsafe { release(self) }
        }
    }
}

/// What a Series of this library owns.
struct Owned {
    field: FFI_ArrowSchema,
    arrays: Box<[*mut FFI_ArrowArray]>,
}

/// Frees what a Series of this library owns, but for the arrays: its reader has moved them out.
unsafe extern "C" fn release(series: *mut SeriesExport) {
    // SAFETY: `SeriesExport::new` boxed what is at `private_data`, and each array in it. The reader
    // calls this once.
    unsafe {
        let owned = Box::from_raw((*series).private_data.cast::<Owned>());
        for &array in &owned.arrays {
            drop(Box::from_raw(array.cast::<ManuallyDrop<FFI_ArrowArray>>()));
        }
        (*series).release = None;
    }
}

impl SeriesExport {
    /// Takes arrays of one field as a Series.
    fn new(field: &Field, chunks: &[ArrayRef]) -> Result<Self, ArrowError> {
        let field = FFI_ArrowSchema::try_from(field)?;
        let boxed = |chunk: &ArrayRef| Box::into_raw(Box::new(FFI_ArrowArray::new(&chunk.to_data())));
        let mut owned = Box::new(Owned { field, arrays: chunks.iter().map(boxed).collect() });
        Ok(Self {
            field: &raw mut owned.field,
            arrays: owned.arrays.as_mut_ptr(),
            len: owned.arrays.len(),
            release: Some(release),
            private_data: Box::into_raw(owned).cast(),
        })
    }

    /// Returns the field and the chunks of a Series.
    ///
    /// # Safety
    /// The Series is as Polars exports it, and nobody has read it before.
    unsafe fn read(self) -> Result<(Field, Vec<ArrayRef>), ArrowError> {
        // SAFETY: the caller's. All arrays are moved out before one can be wrong, so that each is
        // released.
        let (field, arrays): (_, Vec<FFI_ArrowArray>) = unsafe {
            let arrays = slice::from_raw_parts(self.arrays, self.len);
            (&*self.field, arrays.iter().map(|&array| FFI_ArrowArray::from_raw(array)).collect())
        };
        let field = Field::try_from(field)?;
        let array = |array: FFI_ArrowArray| {
            // Polars gives it a buffer, which Arrow does not know.
            if *field.data_type() == DataType::Null {
                return Ok(new_null_array(&DataType::Null, array.len()));
            }
            // SAFETY: as above; the arrays are of this field.
            let data = unsafe { ffi::from_ffi_and_data_type(array, field.data_type().clone())? };
            Ok(make_array(data))
        };
        let chunks = arrays.into_iter().map(array).collect::<Result<_, ArrowError>>()?;
        Ok((field, chunks))
    }
}

thread_local! {
    /// Why the last call failed on this thread.
    static LAST_ERROR: RefCell<CString> = RefCell::default();
}

/// Runs what a function of the plugin does, and keeps its error for Polars. No panic leaves it.
fn guarded(work: impl FnOnce() -> Result<(), String>) {
    let message = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(())) => return,
        Ok(Err(error)) => CString::new(error.replace('\0', "\\0")).unwrap_or_default(),
        Err(_) => PANICKED.to_owned(),
    };
    LAST_ERROR.set(message);
}

/// Returns the bytes that Polars passes keywords as.
///
/// # Safety
/// If there are any, the pointer is to that many, which nobody changes meanwhile.
unsafe fn keywords<'k>(first: *const u8, len: usize) -> &'k [u8] {
    // SAFETY: the caller's.
    if len == 0 { &[] } else { unsafe { slice::from_raw_parts(first, len) } }
}

#[unsafe(no_mangle)]
extern "C" fn _polars_plugin_get_version() -> u32 {
    VERSION
}

/// Returns the message of the last error on this thread, which holds until the next one.
#[unsafe(no_mangle)]
extern "C" fn _polars_plugin_get_last_error_message() -> *const c_char {
    LAST_ERROR.with_borrow(|message| message.as_ptr())
}

/// Answers a Series of addresses. Where that fails, `answer` stays as it is, empty.
///
/// # Safety
/// `inputs` are `count` Series that become this function's; `answer` may be written to; the bytes
/// of the keywords are there until it returns.
#[unsafe(no_mangle)]
unsafe extern "C" fn _polars_plugin_fibula_answer(
    inputs: *mut SeriesExport,
    count: usize,
    keywords_first: *const u8,
    keywords_len: usize,
    answer: *mut SeriesExport,
    _context: *const c_void,
) {
    guarded(|| {
        // SAFETY: the caller's.
        let (keywords, inputs) = unsafe {
            let inputs: Vec<SeriesExport> = (0..count).map(|at| ptr::read(inputs.add(at))).collect();
            (keywords(keywords_first, keywords_len), inputs)
        };
        let series = <[SeriesExport; 1]>::try_from(inputs);
        let [series] = series.map_err(|inputs| format!("one column is expected, not {}", inputs.len()))?;
        // SAFETY: Polars exported it for this call alone.
        let (field, chunks) = unsafe { series.read() }.map_err(|error| error.to_string())?;
        let (data_type, chunks) = super::answer(keywords, &chunks)?;
        let field = field_of(field.name(), data_type);
        let answered = SeriesExport::new(&field, &chunks).map_err(|error| error.to_string())?;
        // SAFETY: the caller's. What was there is empty, so nothing is lost.
        unsafe { answer.write(answered) };
        Ok(())
    });
}

/// Returns the field of the answers to a column of addresses. Where that fails, `answer` stays as
/// it is, empty.
///
/// # Safety
/// `inputs` are `count` schemas; `answer` may be written to; the bytes of the keywords are there
/// until it returns.
#[unsafe(no_mangle)]
unsafe extern "C" fn _polars_plugin_field_fibula_answer(
    inputs: *const FFI_ArrowSchema,
    count: usize,
    answer: *mut FFI_ArrowSchema,
    keywords_first: *const u8,
    keywords_len: usize,
) {
    guarded(|| {
        // SAFETY: the caller's.
        let (inputs, keywords) = unsafe {
            let inputs = if count == 0 { &[] } else { slice::from_raw_parts(inputs, count) };
            (inputs, keywords(keywords_first, keywords_len))
        };
        let [input] = inputs else { return Err(format!("one column is expected, not {count}")) };
        let field = field_of(input.name().unwrap_or_default(), super::data_type(keywords)?);
        let schema = FFI_ArrowSchema::try_from(&field).map_err(|error| error.to_string())?;
        // SAFETY: the caller's. What was there is empty, so nothing is lost.
        unsafe { answer.write(schema) };
        Ok(())
    });
}

fn field_of(name: &str, data_type: DataType) -> Field {
    Field::new(name, data_type, true)
}
