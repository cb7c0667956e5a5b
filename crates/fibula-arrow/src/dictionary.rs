//! Dictionaries: each value is looked up once, and its answer taken for the rows that use it.

use crate::column::Column;
use crate::{Error, Invalid};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_select::take::take;

/// Answers a column by `answer`, which is given its values if it is a dictionary.
pub(crate) fn answer(
    column: &dyn Array,
    invalid: Invalid,
    answer: impl Fn(&Column<'_>, Invalid) -> Result<ArrayRef, Error>,
) -> Result<ArrayRef, Error> {
    let Some(dictionary) = column.as_any_dictionary_opt() else {
        return answer(&Column::of(column)?, invalid);
    };
    let (keys, values) = (dictionary.keys(), dictionary.values());
    if values.len() > keys.len() {
        // Few rows of a large dictionary, as in a slice.
        let plain = take(values, keys, None).map_err(Error::other)?;
        return answer(&Column::of(&plain)?, invalid);
    }
    let column = Column::of(values)?;
    if invalid == Invalid::Error
        && let Some(row) = first_invalid(&column, keys)
    {
        let written = value(dictionary, row).1.map_or_else(String::new, |at| column.written(at));
        return Err(Error::address(row, &written));
    }
    take(&answer(&column, Invalid::Null)?, keys, None).map_err(Error::other)
}

/// Returns the first row whose value is no address.
fn first_invalid(values: &Column<'_>, keys: &dyn Array) -> Option<usize> {
    let invalid = values.invalid();
    if !invalid.contains(&true) {
        return None;
    }
    (0..keys.len()).find(|&row| key(keys, row).is_some_and(|key| invalid[key]))
}

/// Returns the array that holds a row's value, and the index there; `None` if the row is null.
pub(crate) fn value(column: &dyn Array, row: usize) -> (&dyn Array, Option<usize>) {
    match column.as_any_dictionary_opt() {
        Some(dictionary) => (&**dictionary.values(), key(dictionary.keys(), row)),
        None => (column, Some(row)),
    }
}

fn key(keys: &dyn Array, row: usize) -> Option<usize> {
    use arrow_array::types::{
        Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
    };
    use arrow_schema::DataType;
    /// Keys that are not null are never negative.
    macro_rules! key {
        ($($data_type:ident => $key:ty),*) => {
            match keys.data_type() {
                $(DataType::$data_type => keys.as_primitive::<$key>().value(row) as usize,)*
                _ => return None,
            }
        };
    }
    keys.is_valid(row).then_some(())?;
    Some(key! {
        Int8 => Int8Type, Int16 => Int16Type, Int32 => Int32Type, Int64 => Int64Type,
        UInt8 => UInt8Type, UInt16 => UInt16Type, UInt32 => UInt32Type, UInt64 => UInt64Type
    })
}
