//! [`Values`]: what indices stand for, as an array.

use arrow_array::types::UInt32Type;
use arrow_array::{Array, ArrayRef, DictionaryArray, StringArray, UInt32Array};
use arrow_schema::DataType;
use arrow_select::take::take;
use fibula::{NextHopInfo, NextHops};
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
