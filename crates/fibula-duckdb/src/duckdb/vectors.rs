//! [`Vector`] and [`Output`]: columns of rows that DuckDB hands over, to be read and to be filled.

use super::{HugeInt, LogicalType, Type};
use libduckdb_sys as sys;
use std::marker::PhantomData;
use std::ops::Range;
use std::ptr::null_mut;
use std::slice;

/// Returns DuckDB's number of a vector's type.
///
/// # Safety
/// `vector` is one of DuckDB's.
unsafe fn type_of(vector: sys::duckdb_vector) -> sys::DUCKDB_TYPE {
    // SAFETY: as the caller promises.
    unsafe {
        let logical = LogicalType(call!(duckdb_vector_get_column_type(vector)));
        call!(duckdb_get_type_id(logical.0))
    }
}

/// A number that is an element of vectors of one type.
///
/// # Safety
/// Any bits are a value. `TYPE` is the type of which DuckDB's elements are this.
pub(crate) unsafe trait Number: Copy {
    const TYPE: Type;
}

// SAFETY: DuckDB documents its elements of the type so.
unsafe impl Number for u8 {
    const TYPE: Type = Type::UTinyInt;
}

// SAFETY: as above.
unsafe impl Number for u32 {
    const TYPE: Type = Type::UInteger;
}

// SAFETY: as above.
unsafe impl Number for i64 {
    const TYPE: Type = Type::BigInt;
}

// SAFETY: as above.
unsafe impl Number for u64 {
    const TYPE: Type = Type::UBigInt;
}

// SAFETY: as above.
unsafe impl Number for f64 {
    const TYPE: Type = Type::Double;
}

// SAFETY: as above; it is two integers.
unsafe impl Number for HugeInt {
    const TYPE: Type = Type::HugeInt;
}

/// The length of the longest text that is in the element itself.
const INLINED: usize = 12;

/// A column of rows that DuckDB hands over.
pub(crate) struct Vector<'c> {
    raw: sys::duckdb_vector,
    rows: usize,
    id: sys::DUCKDB_TYPE,
    /// A bit a row; null if all rows are valid.
    validity: *const u64,
    call: PhantomData<&'c ()>,
}

impl<'c> Vector<'c> {
    /// # Safety
    /// For `'c`, `raw` is a vector of DuckDB's, flat, and has `rows` rows.
    pub(super) unsafe fn new(raw: sys::duckdb_vector, rows: usize) -> Self {
        // SAFETY: as the caller promises.
        let (id, validity) = unsafe { (type_of(raw), call!(duckdb_vector_get_validity(raw))) };
        Self { raw, rows, id, validity, call: PhantomData }
    }

    /// Returns the number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Returns whether the elements are of a type.
    pub(crate) fn is(&self, wanted: Type) -> bool {
        self.id == wanted.id()
    }

    /// Returns whether a row is not null.
    pub(crate) fn is_valid(&self, row: usize) -> bool {
        assert!(row < self.rows, "row {row} of {}", self.rows);
        // SAFETY: the mask has a bit for each row.
        self.validity.is_null() || unsafe { *self.validity.add(row / 64) } >> (row % 64) & 1 == 1
    }

    /// Returns whether no row is null.
    pub(crate) fn all_valid(&self) -> bool {
        self.validity.is_null()
    }

    /// Returns the elements; those of rows that are null may be anything.
    pub(crate) fn numbers<T: Number>(&self) -> &'c [T] {
        assert!(self.is(T::TYPE), "a vector of type {}, not {:?}", self.id, T::TYPE);
        // SAFETY: the elements are of this type. DuckDB allocates those of a flat vector in one
        // array.
        unsafe { self.elements() }
    }

    /// Returns the bytes of some rows of text or of blobs; `None` for each that is null.
    pub(crate) fn bytes(&self, rows: Range<usize>) -> impl Iterator<Item = Option<&'c [u8]>> {
        let texts = self.texts();
        rows.map(move |row| self.is_valid(row).then(|| bytes_of(&texts[row])))
    }

    /// Calls `with` for each run of rows that have equal bytes: with the first row, their number
    /// and their bytes; `None` if they are null.
    pub(crate) fn each_run<E>(
        &self,
        mut with: impl FnMut(usize, usize, Option<&'c [u8]>) -> Result<(), E>,
    ) -> Result<(), E> {
        let texts = self.texts();
        let at = |row: usize| self.is_valid(row).then(|| &texts[row]);
        let mut first = 0;
        while first < self.rows {
            let same = |row: &usize| match (at(first), at(*row)) {
                (Some(one), Some(other)) => is_same(one, other),
                (one, other) => one.is_none() && other.is_none(),
            };
            let rows = (first..self.rows).take_while(same).count();
            with(first, rows, at(first).map(bytes_of))?;
            first += rows;
        }
        Ok(())
    }

    fn texts(&self) -> &'c [sys::duckdb_string_t] {
        assert!(self.is(Type::Varchar) || self.is(Type::Blob), "a vector of type {}", self.id);
        // SAFETY: the elements are of this type.
        unsafe { self.elements() }
    }

    /// Returns a field of rows that are structures. Panics if they have no such field.
    pub(crate) fn field(&self, index: u64) -> Self {
        assert!(self.is(Type::InetStruct), "a vector of type {}", self.id);
        // SAFETY: the vector is of structures that have the field, whose vector is flat as this one
        // and has as many rows.
        unsafe {
            let logical = LogicalType(call!(duckdb_vector_get_column_type(self.raw)));
            assert!(index < call!(duckdb_struct_type_child_count(logical.0)), "no field {index}");
            Self::new(call!(duckdb_struct_vector_get_child(self.raw, index)), self.rows)
        }
    }

    /// # Safety
    /// The elements are of type `T`.
    unsafe fn elements<T>(&self) -> &'c [T] {
        if self.rows == 0 {
            return &[];
        }
        // SAFETY: as the caller promises, and DuckDB aligns elements.
        unsafe { slice::from_raw_parts(call!(duckdb_vector_get_data(self.raw)).cast(), self.rows) }
    }
}

/// Returns the bytes of an element that is not null.
fn bytes_of(text: &sys::duckdb_string_t) -> &[u8] {
    // SAFETY: the length has the same offset in both forms, and says which of them it is. DuckDB
    // keeps the bytes of a long text for as long as the element.
    unsafe {
        let length = text.value.inlined.length as usize;
        let bytes = if length <= INLINED {
            (&raw const text.value.inlined.inlined).cast::<u8>()
        } else {
            text.value.pointer.ptr.cast_const().cast::<u8>()
        };
        slice::from_raw_parts(bytes, length)
    }
}

/// Returns whether two elements that are not null have equal bytes. The rows of a constant have
/// their bytes at one address.
fn is_same(a: &sys::duckdb_string_t, b: &sys::duckdb_string_t) -> bool {
    let (a, b) = (bytes_of(a), bytes_of(b));
    a.len() == b.len() && (a.as_ptr() == b.as_ptr() || a == b)
}

/// A column that DuckDB hands over to be filled.
pub(crate) struct Output<'c> {
    raw: sys::duckdb_vector,
    /// The number of rows there is room for.
    rows: usize,
    id: sys::DUCKDB_TYPE,
    /// A bit a row; null until a row is.
    validity: *mut u64,
    call: PhantomData<&'c mut ()>,
}

impl Output<'_> {
    /// # Safety
    /// For `'_`, `raw` is a vector of DuckDB's, flat, with room for `rows` rows, and
    /// nobody else writes to it.
    pub(super) unsafe fn new(raw: sys::duckdb_vector, rows: usize) -> Self {
        // SAFETY: as the caller promises.
        Self { raw, rows, id: unsafe { type_of(raw) }, validity: null_mut(), call: PhantomData }
    }

    fn check(&self, row: usize, written: Type) {
        assert!(row < self.rows, "row {row} of {}", self.rows);
        assert!(self.id == written.id(), "a vector of type {}, not {written:?}", self.id);
    }

    /// Sets a row of text.
    pub(crate) fn set_text(&mut self, row: usize, text: &str) {
        self.check(row, Type::Varchar);
        let mut value = sys::duckdb_string_t__bindgen_ty_1__bindgen_ty_2 {
            length: text.len() as u32,
            inlined: [0; INLINED],
        };
        // SAFETY: the vector is of text and has the row. DuckDB copies the bytes of a long text.
        unsafe {
            if text.len() > INLINED {
                let (bytes, length) = (text.as_ptr().cast(), text.len() as u64);
                call!(duckdb_vector_assign_string_element_len(self.raw, row as u64, bytes, length));
                return;
            }
            text.as_ptr().copy_to_nonoverlapping(value.inlined.as_mut_ptr().cast(), text.len());
            call!(duckdb_vector_get_data(self.raw))
                .cast::<sys::duckdb_string_t>()
                .add(row)
                .write(sys::duckdb_string_t { value: sys::duckdb_string_t__bindgen_ty_1 { inlined: value } });
        }
    }

    /// Sets rows from `first` on to the texts of indices. Index 0 makes a row null.
    ///
    /// # Panics
    /// If a row or an index is past the end.
    pub(crate) fn set_texts(&mut self, first: usize, indices: impl Iterator<Item = usize>, texts: &Texts) {
        // SAFETY: what is asked for is the address of the elements.
        let elements = unsafe { call!(duckdb_vector_get_data(self.raw)) }.cast::<Element>();
        for (row, index) in (first..).zip(indices) {
            self.check(row, Type::Varchar);
            match texts.elements[index] {
                _ if index == 0 => self.set_null(row),
                LONG => self.set_text(row, &texts.texts[index]),
                // SAFETY: the vector is of text, has the row, and is aligned to more than bytes.
                element => unsafe { elements.add(row).write(element) },
            }
        }
    }

    /// Sets a row of numbers.
    pub(crate) fn set_number<T: Number>(&mut self, row: usize, number: T) {
        self.check(row, T::TYPE);
        // SAFETY: the elements are of this type, and there are more than `row`.
        unsafe { call!(duckdb_vector_get_data(self.raw)).cast::<T>().add(row).write(number) }
    }

    /// Sets a row of booleans.
    pub(crate) fn set_boolean(&mut self, row: usize, value: bool) {
        self.check(row, Type::Boolean);
        // SAFETY: the elements are booleans, and there are more than `row`.
        unsafe { call!(duckdb_vector_get_data(self.raw)).cast::<bool>().add(row).write(value) }
    }

    /// Makes a row null.
    pub(crate) fn set_null(&mut self, row: usize) {
        assert!(row < self.rows, "row {row} of {}", self.rows);
        // SAFETY: a mask that is writable stays for as long as the vector, with a bit for each row.
        unsafe {
            if self.validity.is_null() {
                call!(duckdb_vector_ensure_validity_writable(self.raw));
                self.validity = call!(duckdb_vector_get_validity(self.raw));
            }
            *self.validity.add(row / 64) &= !(1 << (row % 64));
        }
    }
}

/// A text of up to [`INLINED`] bytes as DuckDB's vectors have it: its length, and its bytes.
type Element = [u8; size_of::<sys::duckdb_string_t>()];

/// What stands for a longer text.
const LONG: Element = [u8::MAX; _];

/// Texts that rows are set to by index. A row costs one access to memory if its text is short.
pub(crate) struct Texts {
    texts: Vec<String>,
    elements: Vec<Element>,
}

impl Texts {
    pub(crate) fn new(texts: Vec<String>) -> Self {
        let elements = texts.iter().map(|text| element(text).unwrap_or(LONG)).collect();
        Self { texts, elements }
    }
}

/// Returns a text as an element; `None` if it is too long.
fn element(text: &str) -> Option<Element> {
    let mut element: Element = [0; _];
    let (length, bytes) = element.split_first_chunk_mut()?;
    *length = (text.len() as u32).to_ne_bytes();
    bytes.get_mut(..text.len())?.copy_from_slice(text.as_bytes());
    Some(element)
}
