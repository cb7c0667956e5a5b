//! [`Added`]: the columns that are added, and their values.

use super::nested::{Place, Wrong};
use super::tables::Named;
use anyhow::{anyhow, ensure};
use arrow_array::{ArrayRef, RecordBatch, UInt32Array, new_empty_array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use fibula_arrow::{Counts, Error, How, Values};
use serde::Serialize;
use std::sync::{Arc, Mutex, PoisonError};

/// A column of addresses.
pub(super) struct Asked {
    pub(super) name: String,
    pub(super) place: Place,
    pub(super) how: How,
}

/// The columns that are added to records.
pub(super) struct Added {
    columns: Vec<Asked>,
    tables: Vec<Named>,
    prefix: bool,
    schema: SchemaRef,
    /// The values of each column of the schema whose rows are numbers of these.
    values: Vec<Option<ArrayRef>>,
    /// What the rows of each column were for each table, the tables of a column together.
    counts: Mutex<Vec<Counts>>,
}

/// What became of the rows of a column, as it is printed.
#[derive(Serialize)]
pub(super) struct Report<'a> {
    column: &'a str,
    table: &'a str,
    rows: u64,
    nulls: u64,
    no_address: u64,
    no_answer: u64,
    answered: u64,
    /// Those that were looked up as the IPv4 addresses they hold.
    embedded: u64,
    /// Those with something around the address.
    unclean: u64,
}

/// Finds a column of addresses.
pub(super) fn find(records: &Schema, column: &str) -> anyhow::Result<Place> {
    Place::find(records, column).ok_or_else(|| {
        let names: Vec<&str> = records.fields().iter().map(|field| field.name().as_str()).collect();
        anyhow!("no column {column:?}, expected one of {}", names.join(", "))
    })
}

impl Added {
    /// Adds the answers of `tables` for each of the columns of records.
    pub(super) fn new(
        records: &Schema,
        columns: Vec<Asked>,
        tables: Vec<Named>,
        prefix: bool,
    ) -> anyhow::Result<Self> {
        let mut fields = records.fields().to_vec();
        let mut numbered = vec![None; fields.len()];
        for Asked { name: column, place, how } in &columns {
            // A column that holds no addresses is refused before anything is read.
            let empty = new_empty_array(&place.data_type);
            let of_rows = place.is_of_rows(records);
            let mut add = |name: String, data_type: &DataType, values: Option<&Values>| {
                fields.push(Arc::new(Field::new(name, place.answer_type(records, data_type), true)));
                let values = values.filter(|_| of_rows && matches!(data_type, DataType::Dictionary(..)));
                numbered.push(values.map(|values| Arc::clone(values.array())));
            };
            for table in &tables {
                table.indices(&empty, how).map_err(|error| anyhow!("column {column}: {error}"))?;
                for (name, values) in table.values() {
                    add(format!("{column}_{name}"), &added_type(values, of_rows), Some(values));
                }
                if prefix {
                    add(format!("{column}_{}_prefix", table.name), &DataType::Utf8, None);
                }
            }
        }
        for (at, field) in fields.iter().enumerate().skip(records.fields().len()) {
            check_new(field, fields[..at].iter().map(|other| other.name().as_str()))?;
        }
        let schema = Arc::new(Schema::new_with_metadata(fields, records.metadata().clone()));
        let counts = Mutex::new(vec![Counts::default(); columns.len() * tables.len()]);
        Ok(Self { columns, tables, prefix, schema, values: numbered, counts })
    }

    /// Returns the place of the column of rows, the last of the records, where rows are written as
    /// they were read.
    ///
    /// # Errors
    /// If one of the added columns has the name of another column of the rows.
    pub(super) fn beside(&self, names: &[String]) -> anyhow::Result<usize> {
        let added: usize = self.columns.len()
            * self.tables.iter().map(|table| table.values().len() + usize::from(self.prefix)).sum::<usize>();
        let records = self.schema.fields().len() - added;
        let mut added = self.schema.fields()[records..].iter();
        added.try_for_each(|field| check_new(field, names.iter().map(String::as_str)))?;
        Ok(records - 1)
    }

    /// Returns the schema of the records with the columns that are added.
    pub(super) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Returns that schema as readers shall see it: that numbers of rows come as a dictionary is
    /// nothing to them.
    pub(super) fn plain_schema(&self) -> SchemaRef {
        let plain = |(field, values): (&Arc<Field>, &Option<ArrayRef>)| match values {
            Some(values) if values.data_type().is_numeric() => {
                Arc::new(field.as_ref().clone().with_data_type(values.data_type().clone()))
            }
            _ => Arc::clone(field),
        };
        let fields: Vec<_> = self.schema.fields().iter().zip(&self.values).map(plain).collect();
        Arc::new(Schema::new_with_metadata(fields, self.schema.metadata().clone()))
    }

    /// Returns, for each column of the schema, the values that are at the numbers of its rows;
    /// `None` for one whose rows are no such numbers.
    pub(super) fn values(&self) -> &[Option<ArrayRef>] {
        &self.values
    }

    /// Adds the columns to a batch, whose first record is row `first` of the input.
    pub(super) fn to(&self, batch: &RecordBatch, first: u64) -> anyhow::Result<RecordBatch> {
        let mut arrays = batch.columns().to_vec();
        let mut counts = Vec::new();
        for Asked { name, place, how } in &self.columns {
            let of_rows = place.is_of_rows(&batch.schema());
            for table in &self.tables {
                let counted = Mutex::new(Counts::default());
                let answer = |column: &ArrayRef| {
                    let (indices, found) = table.indices(column, how)?;
                    *counted.lock().unwrap_or_else(PoisonError::into_inner) += found;
                    let values = table.values().into_iter();
                    let mut answers: Vec<ArrayRef> =
                        values.map(|(_, values)| added(values, &indices, of_rows)).collect();
                    if self.prefix {
                        answers.extend(table.prefixes(column, how)?.map(|prefixes| prefixes as ArrayRef));
                    }
                    Ok(answers)
                };
                let answers = place.answers(batch.columns(), &answer).map_err(|wrong| match wrong.row {
                    Some(row) => anyhow!("row {}, column {name}: {}", first + row + 1, wrong.what),
                    None => anyhow!("column {name}: {}", wrong.what),
                })?;
                arrays.extend(answers);
                counts.push(counted.into_inner().unwrap_or_else(PoisonError::into_inner));
            }
        }
        let mut all = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter_mut().zip(counts).for_each(|(all, counts)| *all += counts);
        drop(all);
        Ok(RecordBatch::try_new(Arc::clone(&self.schema), arrays)?)
    }

    /// Returns what became of the rows so far, for each column and table.
    pub(super) fn reports(&self) -> Vec<Report<'_>> {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let pairs =
            self.columns.iter().flat_map(|column| self.tables.iter().map(move |table| (column, table)));
        pairs.zip(counts).map(|((column, table), counts)| Report::of(column, table, counts)).collect()
    }

    /// Returns a line for each column with rows that hold no address.
    pub(super) fn told(&self) -> Vec<String> {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let of_columns = self.columns.iter().zip(counts.iter().step_by(self.tables.len().max(1)));
        of_columns.filter_map(|(Asked { name, how, .. }, counts)| told(name, counts, how.clean)).collect()
    }
}

/// Returns the line of a column with rows that hold no address.
pub(super) fn told(column: &str, counts: &Counts, clean: bool) -> Option<String> {
    let Counts { rows, invalid, unclean, .. } = *counts;
    let around = if unclean > 0 && !clean {
        format!(", of which {unclean} have one with something around it (--clean)")
    } else {
        String::new()
    };
    (invalid > 0).then(|| format!("column {column}: {invalid} of {rows} rows hold no address{around}"))
}

impl<'a> Report<'a> {
    fn of(column: &'a Asked, table: &'a Named, counts: Counts) -> Self {
        Self {
            column: &column.name,
            table: &table.name,
            rows: counts.rows,
            nulls: counts.nulls,
            no_address: counts.invalid,
            no_answer: counts.unanswered(),
            answered: counts.answered,
            embedded: counts.embedded,
            unclean: counts.unclean,
        }
    }
}

/// Fails if one of the others has the name of a field.
fn check_new<'n>(field: &Field, mut others: impl Iterator<Item = &'n str>) -> anyhow::Result<()> {
    let name = field.name();
    let is_new = others.all(|other| other != name);
    ensure!(is_new, "there are two columns {name:?}: give the table another name (-t NAME=TABLE)");
    Ok(())
}

impl From<Error> for Wrong {
    fn from(error: Error) -> Self {
        Self { row: error.row(), what: error.what().to_owned() }
    }
}

/// Returns the type of the answers: a dictionary, so that no row copies a value. Within lists only
/// text is one.
fn added_type(values: &Values, of_rows: bool) -> DataType {
    match values.data_type() {
        text_or_number if text_or_number == &DataType::Utf8 || of_rows && text_or_number.is_numeric() => {
            DataType::Dictionary(Box::new(DataType::UInt32), Box::new(text_or_number.clone()))
        }
        other => other.clone(),
    }
}

fn added(values: &Values, indices: &UInt32Array, of_rows: bool) -> ArrayRef {
    match added_type(values, of_rows) {
        DataType::Dictionary(..) => Arc::new(values.dictionary(indices.clone())),
        _ => values.plain(indices),
    }
}
