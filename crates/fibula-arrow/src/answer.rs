//! The questions that a column may be asked.

use crate::chunk::{Chunk, ROWS};
use crate::column::Column;
use crate::{Error, Lookups, dictionary, plain};
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
/// use fibula::{NextHop, Rib, Views};
/// use fibula_arrow::{Invalid, lookup};
/// let mut rib: Rib<u32> = Rib::new();
/// rib.insert("192.0.2.0/24".parse()?, NextHop(7));
/// let views = Views::of(&rib, &Rib::new())?;
/// let texts = ["192.0.2.1", "nobody", "192.0.2.1"];
/// let column: DictionaryArray<Int8Type> = texts.into_iter().collect();
/// let indices = lookup(&column, &views, Invalid::Null).unwrap();
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
        // Without a branch, so that many rows are compared at once.
        let missing: usize = indices.iter().map(|&index| usize::from(index == 0)).sum();
        let found = || BooleanBuffer::collect_bool(indices.len(), |row| indices[row] != 0);
        let nulls = (missing > 0).then(|| NullBuffer::new(found()));
        Ok(Arc::new(UInt32Array::new(indices.into(), nulls)) as ArrayRef)
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

/// Returns the index of each row, 0 where there is none.
fn indices(
    column: &Column<'_>,
    lookups: &(impl Lookups + ?Sized),
    invalid: Invalid,
) -> Result<Vec<u32>, Error> {
    let mut indices = Vec::with_capacity(column.len());
    let mut write = |answers: &[NextHop]| indices.extend(answers.iter().map(|answer| answer.0));
    if let Some(addresses) = column.ipv4() {
        plain::each_ipv4(addresses, lookups, write);
    } else if let Some(addresses) = column.ipv6() {
        plain::each_ipv6(addresses, lookups, write);
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
