//! The questions that a column may be asked.

use crate::chunk::{Chunk, ROWS};
use crate::column::Column;
use crate::how::{Counts, How, Invalid};
use crate::{Error, Lookups, dictionary, plain};
use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_array::{Array, ArrayRef, BooleanArray, StringArray, UInt32Array};
use arrow_buffer::{BooleanBuffer, NullBuffer, OffsetBuffer};
use fibula::table::form::Form;
use fibula::{Address, IpPrefix, NextHop, Table};
use fibula_io::address::Found;
use std::fmt::Display;
use std::io::Write;
use std::net::IpAddr;
use std::sync::Arc;

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
    Ok(lookup_counted(column, lookups, &invalid.into())?.0)
}

/// As [`lookup`], with all that [`How`] says. Also counts what the rows were.
///
/// # Errors
/// As [`lookup`].
pub fn lookup_counted(
    column: &dyn Array,
    lookups: &(impl Lookups + ?Sized),
    how: &How,
) -> Result<(UInt32Array, Counts), Error> {
    let (array, mut counts) = dictionary::answer(column, how, |column, how| {
        let (indices, counts) = indices(column, lookups, how)?;
        // Without a branch, so that many rows are compared at once.
        let missing: usize = indices.iter().map(|&index| usize::from(index == 0)).sum();
        let found = || BooleanBuffer::collect_bool(indices.len(), |row| indices[row] != 0);
        let nulls = (missing > 0).then(|| NullBuffer::new(found()));
        Ok((Arc::new(UInt32Array::new(indices.into(), nulls)) as ArrayRef, counts))
    })?;
    counts.answered = (array.len() - array.null_count()) as u64;
    Ok((array.as_primitive::<UInt32Type>().clone(), counts))
}

/// Looks up a column: whether any route matches each row's address. Null where the row is null or,
/// unless that is an error, invalid. `how` is a [`How`] or an [`Invalid`].
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
    how: impl Into<How>,
) -> Result<BooleanArray, Error> {
    let (array, _) = dictionary::answer(column, &how.into(), |column, how| {
        let mut found = vec![None; column.len()];
        let counts = each_chunk(column, how, |first, chunk| {
            chunk.look_up_apart(lookups);
            for (row, index) in chunk.ipv4.answers().chain(chunk.ipv6.answers()) {
                found[first + row] = Some(index.is_some());
            }
        })?;
        Ok((Arc::new(BooleanArray::from(found)) as ArrayRef, counts))
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
/// let prefixes = prefixes(&column, &table, &Invalid::Null.into()).unwrap();
/// assert_eq!(prefixes.iter().collect::<Vec<_>>(), [Some("192.0.2.0/24"), None]);
/// # Ok::<(), fibula::Error>(())
/// ```
///
/// # Errors
/// As [`lookup`], and if the text of an array's prefixes is longer than 2 GiB.
pub fn prefixes<V, F: Form<V>>(
    column: &dyn Array,
    table: &Table<V, F>,
    how: &How,
) -> Result<StringArray, Error>
where
    Table<V, F>: Sync,
{
    texts(column, how, |chunk, found: &mut [Option<IpPrefix>]| {
        let (addresses, rows) = chunk.ipv4.parts();
        table.lookup_each_ipv4(addresses, |at, one| {
            found[usize::from(rows[at])] = one.route().map(|(prefix, _)| prefix.into());
        });
        let (addresses, rows) = chunk.ipv6.parts();
        table.lookup_each_ipv6(addresses, |at, one| {
            found[usize::from(rows[at])] = one.route().map(|(prefix, _)| prefix.into());
        });
    })
}

/// Returns the addresses of a column as canonical text, as [`How`] says to read them: an IPv6
/// address that holds one of IPv4 becomes that. Null where there is none.
///
/// ```
/// use fibula_arrow::{Embedded, How, addresses};
/// let column = arrow_array::StringArray::from(vec!["[2001:DB8::1]:443", "::ffff:192.0.2.1", "-"]);
/// let how = How { clean: true, embedded: Embedded::mapped(), ..Default::default() };
/// let texts = addresses(&column, &how).unwrap();
/// assert_eq!(texts.iter().collect::<Vec<_>>(), [Some("2001:db8::1"), Some("192.0.2.1"), None]);
/// ```
///
/// # Errors
/// As [`lookup`], and if the text of an array's addresses is longer than 2 GiB.
pub fn addresses(column: &dyn Array, how: &How) -> Result<StringArray, Error> {
    texts(column, how, |chunk, found: &mut [Option<IpAddr>]| {
        for (row, address) in chunk.ipv4.addresses() {
            found[row] = Some(address.to_ip());
        }
        for (row, address) in chunk.ipv6.addresses() {
            found[row] = Some(address.to_ip());
        }
    })
}

/// Returns the texts that `find` sets for the rows of each chunk.
fn texts<T: Copy + Display>(
    column: &dyn Array,
    how: &How,
    find: impl Fn(&mut Chunk, &mut [Option<T>]),
) -> Result<StringArray, Error> {
    let (array, _) = dictionary::answer(column, how, |column, how| {
        let (mut text, mut lengths) = (Vec::new(), Vec::with_capacity(column.len()));
        let mut found: Vec<Option<T>> = Vec::new();
        let counts = each_chunk(column, how, |_, chunk| {
            found.clear();
            found.resize(chunk.rows(), None);
            find(chunk, &mut found);
            for one in &found {
                let before = text.len();
                // Memory can always be written.
                let _ = one.iter().try_for_each(|one| write!(text, "{one}"));
                lengths.push(text.len() - before);
            }
        })?;
        Ok((strings(text, &lengths)?, counts))
    })?;
    Ok(array.as_string().clone())
}

/// Returns the array of the texts of `lengths`, which follow one another. A text without a byte is
/// null.
fn strings(text: Vec<u8>, lengths: &[usize]) -> Result<ArrayRef, Error> {
    i32::try_from(text.len()).map_err(|_| Error::other("the texts of one array are longer than 2 GiB"))?;
    let offsets = OffsetBuffer::from_lengths(lengths.iter().copied());
    let found = BooleanBuffer::collect_bool(lengths.len(), |row| lengths[row] != 0);
    let array = StringArray::try_new(offsets, text.into(), nulls(found)).map_err(Error::other)?;
    Ok(Arc::new(array))
}

/// Returns the index of each row, 0 where there is none.
fn indices(
    column: &Column<'_>,
    lookups: &(impl Lookups + ?Sized),
    how: &How,
) -> Result<(Vec<u32>, Counts), Error> {
    let mut indices = Vec::with_capacity(column.len());
    let mut write = |answers: &[NextHop]| indices.extend(answers.iter().map(|answer| answer.0));
    let mut counts = Counts { rows: column.len() as u64, ..Default::default() };
    if let Some(addresses) = column.ipv4() {
        plain::each_ipv4(addresses, lookups, write);
    } else if let Some(addresses) = column.ipv6().filter(|_| how.embedded.is_empty()) {
        plain::each_ipv6(addresses, lookups, write);
    } else {
        counts = each_chunk(column, how, |_, chunk| write(chunk.look_up(lookups)))?;
    }
    Ok((indices, counts))
}

/// Calls `answer` for each chunk of a column, with the number of its first row. Does not count what
/// was answered.
fn each_chunk(
    column: &Column<'_>,
    how: &How,
    mut answer: impl FnMut(usize, &mut Chunk),
) -> Result<Counts, Error> {
    let (rows, nulls) = (column.len() as u64, column.null_count() as u64);
    let mut counts = Counts { rows, nulls, ..Default::default() };
    let mut chunk = Chunk::new();
    for first in (0..column.len()).step_by(ROWS) {
        let rows = first..column.len().min(first + ROWS);
        chunk.begin(rows.len());
        column.read(rows, &mut chunk);
        for row in std::mem::take(&mut chunk.invalid).into_iter().map(usize::from) {
            let cleaned = column.cleaned(first + row);
            let is_unclean = cleaned != Found::Invalid;
            counts.unclean += u64::from(is_unclean);
            if is_unclean && how.clean {
                chunk.push_late(row, cleaned);
            } else if how.invalid == Invalid::Error {
                return Err(Error::address(first + row, &column.written(first + row)));
            } else {
                counts.invalid += 1;
            }
        }
        if !how.embedded.is_empty() {
            counts.embedded += chunk.unmap(&how.embedded) as u64;
        }
        answer(first, &mut chunk);
    }
    Ok(counts)
}

/// Returns the null buffer of the rows that were found; `None` if all were.
fn nulls(found: BooleanBuffer) -> Option<NullBuffer> {
    Some(NullBuffer::new(found)).filter(|nulls| nulls.null_count() > 0)
}
