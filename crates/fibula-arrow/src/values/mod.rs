//! [`Values`]: what indices stand for, as an array.

mod columns;

use arrow_array::types::UInt32Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int64Array, ListArray, StringArray,
    StructArray, UInt32Array, UInt64Array,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field};
use arrow_select::take::take;
use columns::Columns;
use fibula::{NextHopInfo, NextHops};
use fibula_io::table::json_of;
use serde_json::Value;
use std::sync::Arc;

/// The values of a table's next hops. Where all are autonomous systems, they are integers
/// (`UInt32`); else text (`Utf8`).
#[derive(Clone, Debug)]
pub struct Values {
    /// The value of index `i` is at `i`. The first, of "no route", is null. So indices are keys of
    /// a dictionary.
    array: ArrayRef,
}

impl Values {
    /// Returns the values of next hops. O(n).
    #[must_use]
    pub fn of(next_hops: &NextHops) -> Self {
        let number = |info: &NextHopInfo| match info {
            NextHopInfo::AutonomousSystem(number) => Some(*number),
            _ => None,
        };
        let infos = || next_hops.iter().map(|(_, info)| info);
        let numbers: Option<Vec<u32>> = infos().map(number).collect();
        let array: ArrayRef = if let Some(numbers) = numbers.filter(|numbers| !numbers.is_empty()) {
            let numbers = numbers.into_iter().map(Some);
            Arc::new(std::iter::once(None).chain(numbers).collect::<UInt32Array>())
        } else {
            let texts = infos().map(|info| Some(info.to_string()));
            Arc::new(std::iter::once(None).chain(texts).collect::<StringArray>())
        };
        Self { array }
    }

    /// Returns the fields of next hops that all are objects, each with its name and its values by
    /// the same indices, in the order of the first object. Empty if one is no object. O(n) a field.
    ///
    /// A field that is missing or null has null. Whole numbers are `Int64`, or `UInt64` where one
    /// is past it; other numbers `Float64`, truth values `Boolean`. With `lists`, lists of such
    /// values or of text are `List`. All else is text, lists and objects as JSON.
    ///
    /// ```
    /// use arrow_schema::DataType;
    /// use fibula_arrow::Values;
    /// let text = b"prefix,country,asn\n192.0.2.0/24,BE,64500\n198.51.100.0/24,,64501\n";
    /// let tables = fibula_io::table::parse(text, &Default::default())?.tables;
    /// let fields = Values::fields(&tables.next_hops, true);
    /// assert_eq!((fields[0].0.as_str(), fields[1].0.as_str()), ("country", "asn"));
    /// assert_eq!(fields[1].1.data_type(), &DataType::Int64);
    /// # Ok::<(), fibula_io::Error>(())
    /// ```
    #[must_use]
    pub fn fields(next_hops: &NextHops, lists: bool) -> Vec<(String, Self)> {
        let mut columns = Columns::default();
        let mut infos = next_hops.iter().map(|(_, info)| info);
        if !infos.all(|info| matches!(info, NextHopInfo::Label(label) if columns.add(label))) {
            return Vec::new();
        }
        let Columns { names, values, rows, .. } = columns;
        let array = |mut values: Vec<Option<Value>>| {
            values.resize(rows, None);
            Self { array: typed(&values.iter().map(Option::as_ref).collect::<Vec<_>>(), lists) }
        };
        names.into_iter().zip(values.into_iter().map(array)).collect()
    }

    /// Returns the values of next hops that all are lists of values of one type, as the origins of
    /// prefixes are; `None` if one is none. O(n).
    ///
    /// ```
    /// use arrow_array::cast::AsArray;
    /// use fibula_arrow::Values;
    /// let text = b"192.0.2.0/24 [64500,64501]\n198.51.100.0/24 [64502]\n";
    /// let tables = fibula_io::table::parse(text, &Default::default())?.tables;
    /// let lists = Values::lists(&tables.next_hops).unwrap();
    /// assert_eq!(lists.array().as_list::<i32>().value_length(1), 2);
    /// # Ok::<(), fibula_io::Error>(())
    /// ```
    #[must_use]
    pub fn lists(next_hops: &NextHops) -> Option<Self> {
        let list = |(_, info): (_, &NextHopInfo)| match serde_json::from_str(json_of(info)?) {
            Ok(list @ Value::Array(_)) => Some(list),
            _ => None,
        };
        let rows: Vec<Value> = next_hops.iter().map(list).collect::<Option<_>>()?;
        let column: Vec<Option<&Value>> = std::iter::once(None).chain(rows.iter().map(Some)).collect();
        list_of(&column).map(|array| Self { array })
    }

    /// Returns the values of next hops that all are objects as structs with their
    /// [fields](Self::fields), and others as [`of`](Self::of) does. O(n).
    ///
    /// ```
    /// use fibula_arrow::Values;
    /// let text = b"prefix,country,asn\n192.0.2.0/24,BE,64500\n";
    /// let tables = fibula_io::table::parse(text, &Default::default())?.tables;
    /// let values = Values::structs(&tables.next_hops);
    /// let expected = r#"Struct("country": Utf8, "asn": Int64)"#;
    /// assert_eq!(values.data_type().to_string(), expected);
    /// # Ok::<(), fibula_io::Error>(())
    /// ```
    #[must_use]
    pub fn structs(next_hops: &NextHops) -> Self {
        let fields = Self::fields(next_hops, true);
        if fields.is_empty() {
            return Self::lists(next_hops).unwrap_or_else(|| Self::of(next_hops));
        }
        let (names, arrays): (Vec<Field>, Vec<ArrayRef>) = fields
            .into_iter()
            .map(|(name, values)| (Field::new(name, values.data_type().clone(), true), values.array))
            .unzip();
        // The first, of "no route", is null.
        let nulls: NullBuffer = (0..=next_hops.len()).map(|index| index > 0).collect();
        Self { array: Arc::new(StructArray::new(names.into(), arrays, Some(nulls))) }
    }

    /// Returns the array of the values: that of index `i` at `i`, and null at 0.
    #[must_use]
    pub fn array(&self) -> &ArrayRef {
        &self.array
    }

    /// Returns the type of the values.
    #[must_use]
    pub fn data_type(&self) -> &DataType {
        self.array.data_type()
    }

    /// Returns the values of indices as a dictionary, which copies neither.
    ///
    /// # Panics
    /// If an index is not one of these values.
    #[must_use]
    pub fn dictionary(&self, indices: UInt32Array) -> DictionaryArray<UInt32Type> {
        // A value may be null itself, and not every reader looks at the nulls of both.
        let is_null = |index: Option<u32>| index.is_none_or(|index| self.array.is_null(index as usize));
        let indices = if self.array.null_count() > 1 {
            indices.iter().map(|index| index.filter(|_| !is_null(index))).collect()
        } else {
            indices
        };
        DictionaryArray::new(indices, Arc::clone(&self.array))
    }

    /// Returns the values of indices, each copied. O(n).
    ///
    /// # Panics
    /// If an index is not one of these values.
    #[must_use]
    pub fn plain(&self, indices: &UInt32Array) -> ArrayRef {
        take(&self.array, indices, None).expect("each index is one of the values")
    }
}

/// Returns a column of lists whose elements are of one type; `None` if they are not, or are lists
/// or objects themselves.
fn list_of(column: &[Option<&Value>]) -> Option<ArrayRef> {
    fn elements(value: Option<&Value>) -> &[Value] {
        value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }
    let is_list = |value: &&Value| value.is_array();
    column.iter().flatten().all(is_list).then_some(())?;
    let all: Vec<Option<&Value>> =
        column.iter().copied().flat_map(elements).map(|value| (!value.is_null()).then_some(value)).collect();
    let is_text = |value: &&Value| value.is_string();
    let is_plain = |value: &&Value| value.is_number() || value.is_boolean();
    if !all.iter().flatten().all(is_text) && !all.iter().flatten().all(is_plain) {
        return None;
    }
    let values = typed(&all, false);
    let field = Arc::new(Field::new_list_field(values.data_type().clone(), true));
    let offsets = OffsetBuffer::from_lengths(column.iter().map(|&value| elements(value).len()));
    let nulls: NullBuffer = column.iter().map(Option::is_some).collect();
    Some(Arc::new(ListArray::new(field, offsets, values, Some(nulls))))
}

/// Returns a column in the narrowest type that all of its values have.
fn typed(column: &[Option<&Value>], lists: bool) -> ArrayRef {
    /// Reads each value that is there by `read`; `None` if one is of another type.
    fn all<T>(column: &[Option<&Value>], read: impl Fn(&Value) -> Option<T>) -> Option<Vec<Option<T>>> {
        column.iter().map(|value| value.map_or(Some(None), |value| read(value).map(Some))).collect()
    }
    if column.iter().all(Option::is_none) {
        return Arc::new(StringArray::from(vec![None::<&str>; column.len()]));
    }
    if let Some(truths) = all(column, Value::as_bool) {
        return Arc::new(BooleanArray::from(truths));
    }
    if let Some(numbers) = all(column, Value::as_i64) {
        return Arc::new(Int64Array::from(numbers));
    }
    if let Some(numbers) = all(column, Value::as_u64) {
        return Arc::new(UInt64Array::from(numbers));
    }
    if let Some(numbers) = all(column, Value::as_f64) {
        return Arc::new(Float64Array::from(numbers));
    }
    if lists && let Some(lists) = list_of(column) {
        return lists;
    }
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    Arc::new(column.iter().map(|value| value.map(text)).collect::<StringArray>())
}
