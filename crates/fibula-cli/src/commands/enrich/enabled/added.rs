//! [`Added`]: the columns that are added, and their values.

use super::tables::Named;
use anyhow::{anyhow, ensure};
use arrow_array::{ArrayRef, RecordBatch, UInt32Array, new_empty_array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use fibula_arrow::{Error, Invalid, Values};
use std::sync::Arc;

/// The columns that are added to records.
pub(super) struct Added {
    /// The places of the columns of addresses.
    columns: Vec<usize>,
    tables: Vec<Named>,
    prefix: bool,
    invalid: Invalid,
    schema: SchemaRef,
}

impl Added {
    /// Adds the answers of `tables` for each of the named columns of records.
    pub(super) fn new(
        records: &Schema,
        columns: &[String],
        tables: Vec<Named>,
        prefix: bool,
        invalid: Invalid,
    ) -> anyhow::Result<Self> {
        let mut places = Vec::new();
        let mut fields = records.fields().to_vec();
        for column in columns {
            let (place, field) = records.column_with_name(column).ok_or_else(|| {
                let names: Vec<&str> = records.fields().iter().map(|field| field.name().as_str()).collect();
                anyhow!("no column {column:?}, expected one of {}", names.join(", "))
            })?;
            places.push(place);
            // A column that holds no addresses is refused before anything is read.
            let empty = new_empty_array(field.data_type());
            for table in &tables {
                table.indices(&empty, invalid).map_err(|error| anyhow!("column {column}: {error}"))?;
                for (name, values) in table.values() {
                    fields.push(Arc::new(Field::new(format!("{column}_{name}"), added_type(values), true)));
                }
                let prefix_name = prefix.then(|| format!("{column}_{}_prefix", table.name));
                fields.extend(prefix_name.map(|name| Arc::new(Field::new(name, DataType::Utf8, true))));
            }
        }
        for (at, field) in fields.iter().enumerate().skip(records.fields().len()) {
            let is_new = fields[..at].iter().all(|other| other.name() != field.name());
            ensure!(
                is_new,
                "there are two columns {:?}: give the table another name (-t NAME=TABLE)",
                field.name()
            );
        }
        let schema = Arc::new(Schema::new_with_metadata(fields, records.metadata().clone()));
        Ok(Self { columns: places, tables, prefix, invalid, schema })
    }

    /// Returns the schema of the records with the columns that are added.
    pub(super) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Adds the columns to a batch, whose first record is row `first` of the input.
    pub(super) fn to(&self, batch: &RecordBatch, first: u64) -> anyhow::Result<RecordBatch> {
        let mut arrays = batch.columns().to_vec();
        for &place in &self.columns {
            let column = batch.column(place);
            let failed = |error: Error| {
                let name = batch.schema_ref().field(place).name();
                match error.row() {
                    Some(row) => anyhow!("row {}, column {name}: {}", first + row + 1, error.what()),
                    None => anyhow!("column {name}: {error}"),
                }
            };
            for table in &self.tables {
                let indices = table.indices(column, self.invalid).map_err(failed)?;
                arrays.extend(table.values().into_iter().map(|(_, values)| added(values, &indices)));
                if self.prefix {
                    let prefixes = table.prefixes(column, self.invalid).map_err(failed)?;
                    arrays.extend(prefixes.map(|prefixes| prefixes as ArrayRef));
                }
            }
        }
        Ok(RecordBatch::try_new(Arc::clone(&self.schema), arrays)?)
    }
}

/// Returns the type of the answers: text is a dictionary, so that no row copies it.
fn added_type(values: &Values) -> DataType {
    match values.data_type() {
        DataType::Utf8 => DataType::Dictionary(Box::new(DataType::UInt32), Box::new(DataType::Utf8)),
        other => other.clone(),
    }
}

fn added(values: &Values, indices: &UInt32Array) -> ArrayRef {
    match values.data_type() {
        DataType::Utf8 => Arc::new(values.dictionary(indices.clone())),
        _ => values.plain(indices),
    }
}
