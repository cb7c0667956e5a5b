//! The questions that a column may be asked.

use crate::chunk::{Chunk, ROWS};
use crate::column::Column;
use crate::{Error, Lookups, dictionary};
use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_array::{Array, ArrayRef, BooleanArray, StringArray, UInt32Array};
use arrow_buffer::{BooleanBuffer, NullBuffer, OffsetBuffer};
use fibula::{IpPrefix, NextHop, Table};
use std::io::Write;
use std::sync::Arc;

/// What is made of a row that is not null and holds no address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Invalid {
    /// Null.
    #[default]
    Null,
    /// An error that names the first such row.
    Error,
}

/// Looks up a column: the index of the answer for each row, as [`Lookups`] gives it. Null where no
/// route matches. O(1) a row; allocates the result and some 130 KiB.
///
/// ```
/// use arrow_array::{DictionaryArray, types::Int8Type};
/// use fibula::{Fib, NextHop, Rib};
/// use fibula_arrow::{Families, Invalid, lookup};
/// let mut rib: Rib<u32> = Rib::new();
/// rib.insert("192.0.2.0/24".parse()?, NextHop(7));
/// let fib = Fib::new(&rib)?;
/// let families = Families { ipv4: Some(&*fib), ..Families::default() };
/// let texts = ["192.0.2.1", "nobody", "192.0.2.1"];
/// let column: DictionaryArray<Int8Type> = texts.into_iter().collect();
/// let indices = lookup(&column, &families, Invalid::Null).unwrap();
/// assert_eq!(indices.iter().collect::<Vec<_>>(), [Some(7), None, Some(7)]);
/// # Ok::<(), fibula::Error>(())
/// ```
///
/// # Errors
/// If the column's type holds no addresses (see the [crate's page](crate#addresses)), or, where
/// `invalid` says so, one of its rows is none.
pub fn lookup(
    column: &dyn Array,
    lookups: &(impl Lookups + ?Sized),
    invalid: Invalid,
) -> Result<UInt32Array, Error> {
    let array = dictionary::answer(column, invalid, |column, invalid| {
        let indices = indices(column, lookups, invalid)?;
        let found = BooleanBuffer::collect_bool(indices.len(), |row| indices[row] != 0);
        Ok(Arc::new(UInt32Array::new(indices.into(), nulls(found))) as ArrayRef)
    })?;
    Ok(array.as_primitive::<UInt32Type>().clone())
}

/// Looks up a column: whether any route matches each row's address. Null where the row is null or,
/// unless that is an error, invalid.
///
/// ```
/// use fibula::{IpPrefix, Table};
/// use fibula_arrow::{Invalid, contains};
/// let mut table: Table<()> = Table::new();
/// table.insert("192.0.2.0/24".parse::<IpPrefix>()?, ());
/// let texts = vec![Some("192.0.2.1"), Some("::1"), Some("-"), None];
/// let column = arrow_array::StringArray::from(texts);
/// let contained = contains(&column, &table, Invalid::Null).unwrap();
/// assert_eq!(contained.iter().collect::<Vec<_>>(), [Some(true), Some(false), None, None]);
/// # Ok::<(), fibula::Error>(())
/// ```
///
/// # Errors
/// As [`lookup`].
pub fn contains(
    column: &dyn Array,
    lookups: &(impl Lookups + ?Sized),
    invalid: Invalid,
) -> Result<BooleanArray, Error> {
    let array = dictionary::answer(column, invalid, |column, invalid| {
        let mut found = vec![None; column.len()];
        each_chunk(column, invalid, |first, chunk| {
            chunk.look_up_apart(lookups);
            for (row, index) in chunk.ipv4.answers().chain(chunk.ipv6.answers()) {
                found[first + row] = Some(index.is_some());
            }
        })?;
        Ok(Arc::new(BooleanArray::from(found)) as ArrayRef)
    })?;
    Ok(array.as_boolean().clone())
}

/// Looks up a column: the longest matching prefix of each row's address, as text. Null where no
/// route matches.
///
/// Only a [`Table`] knows the prefixes: a compiled table has next hops alone.
///
/// ```
/// use fibula::{IpPrefix, Table};
/// use fibula_arrow::{Invalid, prefixes};
/// let mut table: Table<()> = Table::new();
/// table.insert("192.0.2.0/24".parse::<IpPrefix>()?, ());
/// let column = arrow_array::UInt32Array::from(vec![0xC000_0201, 0]);
/// let prefixes = prefixes(&column, &table, Invalid::Null).unwrap();
/// assert_eq!(prefixes.iter().collect::<Vec<_>>(), [Some("192.0.2.0/24"), None]);
/// # Ok::<(), fibula::Error>(())
/// ```
///
/// # Errors
/// As [`lookup`], and if the text of an array's prefixes is longer than 2 GiB.
pub fn prefixes<V: Sync>(
    column: &dyn Array,
    table: &Table<V>,
    invalid: Invalid,
) -> Result<StringArray, Error> {
    let array = dictionary::answer(column, invalid, |column, invalid| {
        let (mut text, mut lengths) = (Vec::new(), Vec::with_capacity(column.len()));
        let mut found: Vec<Option<IpPrefix>> = Vec::new();
        each_chunk(column, invalid, |_, chunk| {
            chunk.look_up_apart(table);
            found.clear();
            found.resize(chunk.rows(), None);
            for (row, index) in chunk.ipv4.answers() {
                found[row] = table.get_index_ipv4(index).map(|(prefix, _)| prefix.into());
            }
            for (row, index) in chunk.ipv6.answers() {
                found[row] = table.get_index_ipv6(index).map(|(prefix, _)| prefix.into());
            }
            for prefix in &found {
                let before = text.len();
                // Memory can always be written.
                let _ = prefix.iter().try_for_each(|prefix| write!(text, "{prefix}"));
                lengths.push(text.len() - before);
            }
        })?;
        strings(text, &lengths)
    })?;
    Ok(array.as_string().clone())
}

/// Returns the array of the texts of `lengths`, which follow one another. A text without a byte is
/// null.
fn strings(text: Vec<u8>, lengths: &[usize]) -> Result<ArrayRef, Error> {
    i32::try_from(text.len()).map_err(|_| Error::other("the prefixes of one array are longer than 2 GiB"))?;
    let offsets = OffsetBuffer::from_lengths(lengths.iter().copied());
    let found = BooleanBuffer::collect_bool(lengths.len(), |row| lengths[row] != 0);
    let array = StringArray::try_new(offsets, text.into(), nulls(found)).map_err(Error::other)?;
    Ok(Arc::new(array))
}

/// Looks up IPv4 addresses that are no Arrow array: `indices[i]` becomes the index of the answer
/// for `addresses[i]`, 0 where no route matches. Allocates nothing that grows with them.
///
/// ```
/// use fibula::{Fib, NextHop, Rib};
/// use fibula_arrow::{Families, lookup_ipv4};
/// let mut rib: Rib<u32> = Rib::new();
/// rib.insert("192.0.2.0/24".parse()?, NextHop(7));
/// let fib = Fib::new(&rib)?;
/// let mut indices = [9; 2];
/// let families = Families { ipv4: Some(&*fib), ..Families::default() };
/// lookup_ipv4(&[0xC000_0201, 0], &families, &mut indices);
/// assert_eq!(indices, [7, 0]);
/// # Ok::<(), fibula::Error>(())
/// ```
///
/// # Panics
/// If the two slices differ in length.
pub fn lookup_ipv4(addresses: &[u32], lookups: &(impl Lookups + ?Sized), indices: &mut [u32]) {
    assert_eq!(addresses.len(), indices.len(), "as many answers as addresses");
    let mut answers = [NextHop::NONE; ROWS];
    for (addresses, indices) in addresses.chunks(ROWS).zip(indices.chunks_mut(ROWS)) {
        let answers = &mut answers[..addresses.len()];
        lookups.ipv4(addresses, answers);
        indices.iter_mut().zip(answers).for_each(|(index, answer)| *index = answer.0);
    }
}

/// Returns the index of each row, 0 where there is none.
fn indices(
    column: &Column<'_>,
    lookups: &(impl Lookups + ?Sized),
    invalid: Invalid,
) -> Result<Vec<u32>, Error> {
    let mut indices = Vec::with_capacity(column.len());
    let mut write = |answers: &[NextHop]| indices.extend(answers.iter().map(|answer| answer.0));
    if let Some(addresses) = column.ipv4() {
        let mut chunk = Chunk::new();
        addresses.chunks(ROWS).for_each(|addresses| write(chunk.look_up_ipv4(lookups, addresses)));
    } else {
        each_chunk(column, invalid, |_, chunk| write(chunk.look_up(lookups)))?;
    }
    Ok(indices)
}

/// Calls `answer` for each chunk of a column, with the number of its first row.
fn each_chunk(
    column: &Column<'_>,
    invalid: Invalid,
    mut answer: impl FnMut(usize, &mut Chunk),
) -> Result<(), Error> {
    let mut chunk = Chunk::new();
    for first in (0..column.len()).step_by(ROWS) {
        let rows = first..column.len().min(first + ROWS);
        chunk.begin(rows.len());
        column.read(rows, &mut chunk);
        if let Some(row) = chunk.invalid
            && invalid == Invalid::Error
        {
            return Err(Error::address(first + row, &column.written(first + row)));
        }
        answer(first, &mut chunk);
    }
    Ok(())
}

/// Returns the null buffer of the rows that were found; `None` if all were.
fn nulls(found: BooleanBuffer) -> Option<NullBuffer> {
    Some(NullBuffer::new(found)).filter(|nulls| nulls.null_count() > 0)
}
