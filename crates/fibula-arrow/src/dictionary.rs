//! Dictionaries: each value is looked up once, and its answer taken for the rows that use it.

use crate::Error;
use crate::column::Column;
use crate::how::{Counts, How, Invalid, Row};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_select::take::take;

/// Answers a column by `answer`, which is given its values if it is a dictionary. `answer` does not
/// count what was answered.
pub(crate) fn answer(
    column: &dyn Array,
    how: &How,
    answer: impl Fn(&Column<'_>, &How) -> Result<(ArrayRef, Counts), Error>,
) -> Result<(ArrayRef, Counts), Error> {
    let Some(dictionary) = column.as_any_dictionary_opt() else {
        return answer(&Column::of(column)?, how);
    };
    let (keys, values) = (dictionary.keys(), dictionary.values());
    if values.len() > keys.len() {
        // Few rows of a large dictionary, as in a slice.
        let plain = take(values, keys, None).map_err(Error::other)?;
        return answer(&Column::of(&plain)?, how);
    }
    let column = Column::of(values)?;
    let (answers, of_values) = answer(&column, &How { invalid: Invalid::Null, ..how.clone() })?;
    let nulls = dictionary.logical_nulls().map_or(0, |nulls| nulls.null_count());
    let mut counts = Counts { rows: keys.len() as u64, nulls: nulls as u64, ..Default::default() };
    if of_values.invalid + of_values.unclean + of_values.embedded > 0 {
        let kinds: Vec<Row> = (0..values.len()).map(|row| Row::of(&column, row, how)).collect();
        for row in 0..keys.len() {
            let Some(key) = key(keys, row) else { continue };
            let Row { is_invalid, is_unclean, is_embedded } = kinds[key];
            if is_invalid && how.invalid == Invalid::Error {
                return Err(Error::address(row, &column.written(key)));
            }
            counts.invalid += u64::from(is_invalid);
            counts.unclean += u64::from(is_unclean);
            counts.embedded += u64::from(is_embedded);
        }
    }
    Ok((take(&answers, keys, None).map_err(Error::other)?, counts))
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
