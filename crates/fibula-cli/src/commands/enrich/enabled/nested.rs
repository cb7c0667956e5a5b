//! [`Place`]: a column of addresses among the columns of records, or within objects and lists.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, FixedSizeListArray, GenericListArray, OffsetSizeTrait, make_array};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use std::cell::RefCell;
use std::sync::Arc;

/// Where a column of addresses is: a column of records, and a field of each object on the way
/// down. Lists on the way have no name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) column: usize,
    fields: Vec<usize>,
    /// The type of what holds the addresses.
    pub(super) data_type: DataType,
}

/// Why a column could not be answered.
pub(super) struct Wrong {
    /// The row of the batch, if it is of one.
    pub(super) row: Option<u64>,
    pub(super) what: String,
}

impl Place {
    /// Finds a column by its name, or one within objects by the names of both with a dot between
    /// (`flow.src`).
    pub(super) fn find(records: &Schema, name: &str) -> Option<Self> {
        let mut fields = Vec::new();
        let data_type = descend(records.fields(), name, &mut fields)?;
        Some(Self { column: fields.remove(0), fields, data_type })
    }

    /// Returns whether a row has one address, not a list of them.
    pub(super) fn is_of_rows(&self, records: &Schema) -> bool {
        self.answer_type(records, &DataType::Null) == DataType::Null
    }

    /// Returns the type of answers whose own type is `answer`.
    pub(super) fn answer_type(&self, records: &Schema, answer: &DataType) -> DataType {
        wrapped(records.field(self.column).data_type(), &self.fields, answer)
    }

    /// Returns the arrays that hold the addresses of a column of records.
    pub(super) fn leaves(&self, column: &ArrayRef) -> Vec<ArrayRef> {
        let found = RefCell::new(Vec::new());
        let note = |array: &ArrayRef| {
            found.borrow_mut().push(Arc::clone(array));
            Ok(Vec::new())
        };
        // Without answers there is nothing that could be wrong.
        let _ = within(column, &self.fields, &note);
        found.into_inner()
    }

    /// Returns what `answer` makes of the column, once for each array that it returns.
    pub(super) fn answers(
        &self,
        columns: &[ArrayRef],
        answer: &dyn Fn(&ArrayRef) -> Result<Vec<ArrayRef>, Wrong>,
    ) -> Result<Vec<ArrayRef>, Wrong> {
        within(&columns[self.column], &self.fields, answer)
    }
}

/// Finds a name among fields, and notes the way to it. Returns the type of the values there.
fn descend(fields: &arrow_schema::Fields, name: &str, way: &mut Vec<usize>) -> Option<DataType> {
    if let Some((at, field)) = fields.find(name) {
        way.push(at);
        return Some(values_of(field.data_type()).clone());
    }
    fields.iter().enumerate().find_map(|(at, field)| {
        let rest = name.strip_prefix(field.name().as_str())?.strip_prefix('.')?;
        let DataType::Struct(inner) = values_of(field.data_type()) else { return None };
        let before = way.len();
        way.push(at);
        let found = descend(inner, rest, way);
        if found.is_none() {
            way.truncate(before);
        }
        found
    })
}

/// Returns the type of the values in lists.
fn values_of(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::List(field) | DataType::LargeList(field) | DataType::FixedSizeList(field, _) => {
            values_of(field.data_type())
        }
        other => other,
    }
}

fn item(data_type: DataType) -> Arc<Field> {
    Arc::new(Field::new_list_field(data_type, true))
}

fn wrapped(data_type: &DataType, fields: &[usize], answer: &DataType) -> DataType {
    match (data_type, fields) {
        (DataType::List(field), _) => DataType::List(item(wrapped(field.data_type(), fields, answer))),
        (DataType::LargeList(field), _) => {
            DataType::LargeList(item(wrapped(field.data_type(), fields, answer)))
        }
        (DataType::FixedSizeList(field, size), _) => {
            DataType::FixedSizeList(item(wrapped(field.data_type(), fields, answer)), *size)
        }
        (DataType::Struct(inner), [first, rest @ ..]) => wrapped(inner[*first].data_type(), rest, answer),
        _ => answer.clone(),
    }
}

fn within(
    array: &ArrayRef,
    fields: &[usize],
    answer: &dyn Fn(&ArrayRef) -> Result<Vec<ArrayRef>, Wrong>,
) -> Result<Vec<ArrayRef>, Wrong> {
    match (array.data_type(), fields) {
        (DataType::List(_), _) => in_list(array.as_list::<i32>(), fields, answer),
        (DataType::LargeList(_), _) => in_list(array.as_list::<i64>(), fields, answer),
        (DataType::FixedSizeList(_, size), _) => {
            let list = array.as_fixed_size_list();
            let found = within(list.values(), fields, answer).map_err(|wrong| Wrong {
                row: wrong.row.map(|row| row / u64::from(size.unsigned_abs().max(1))),
                ..wrong
            })?;
            let lists = found.into_iter().map(|values| {
                let nulls = list.nulls().cloned();
                let field = item(values.data_type().clone());
                Ok(Arc::new(FixedSizeListArray::try_new(field, *size, values, nulls).map_err(other)?)
                    as ArrayRef)
            });
            lists.collect()
        }
        (DataType::Struct(_), [first, rest @ ..]) => {
            let object = array.as_struct();
            let column = object.column(*first);
            let nulls = NullBuffer::union(object.nulls(), column.nulls());
            let data = column.to_data().into_builder().nulls(nulls).build().map_err(other)?;
            within(&make_array(data), rest, answer)
        }
        _ => answer(array),
    }
}

fn in_list<O: OffsetSizeTrait>(
    list: &GenericListArray<O>,
    fields: &[usize],
    answer: &dyn Fn(&ArrayRef) -> Result<Vec<ArrayRef>, Wrong>,
) -> Result<Vec<ArrayRef>, Wrong> {
    let offsets: Vec<usize> = list.offsets().iter().map(|offset| offset.as_usize()).collect();
    let (first, last) = (offsets[0], offsets[offsets.len() - 1]);
    let found = within(&list.values().slice(first, last - first), fields, answer).map_err(|wrong| {
        let list_of = |value: u64| {
            let after = offsets.partition_point(|&offset| (offset - first) as u64 <= value);
            after.saturating_sub(1) as u64
        };
        Wrong { row: wrong.row.map(list_of), ..wrong }
    })?;
    let lengths = || offsets.windows(2).map(|pair| pair[1] - pair[0]);
    let lists = found.into_iter().map(|values| {
        let (field, offsets) = (item(values.data_type().clone()), OffsetBuffer::from_lengths(lengths()));
        let list = GenericListArray::<O>::try_new(field, offsets, values, list.nulls().cloned());
        Ok(Arc::new(list.map_err(other)?) as ArrayRef)
    });
    lists.collect()
}

#[allow(clippy::needless_pass_by_value, reason = "what `map_err` calls")]
fn other(error: ArrowError) -> Wrong {
    Wrong { row: None, what: error.to_string() }
}
