//! [`Rows`]: rows of separated values as batches of text.

use super::super::super::Errors;
use super::BATCH_ROWS;
use crate::exit::tell;
use arrow_array::builder::StringBuilder;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, SchemaRef};
use std::io::Read;
use std::sync::Arc;

/// The rows of a wrong number of fields that are told one by one.
const TOLD: u64 = 10;

/// Rows after the header. A row with too few fields is null in the others. Of one with too many the
/// others are left out. Both are told, or end the run.
pub(super) struct Rows<R> {
    name: String,
    schema: SchemaRef,
    errors: Errors,
    reader: csv::Reader<R>,
    record: csv::StringRecord,
    /// The rows of a wrong number of fields so far.
    wrong: u64,
    has_ended: bool,
}

impl<R: Read> Rows<R> {
    pub(super) fn new(name: &str, schema: SchemaRef, delimiter: u8, errors: Errors, lines: R) -> Self {
        let reader = csv::ReaderBuilder::new().delimiter(delimiter).flexible(true).from_reader(lines);
        let (record, wrong, has_ended) = (csv::StringRecord::new(), 0, false);
        Self { name: name.to_owned(), schema, errors, reader, record, wrong, has_ended }
    }

    /// Reads up to a batch.
    fn batch(&mut self) -> Result<RecordBatch, ArrowError> {
        let count = self.schema.fields().len();
        let mut columns: Vec<StringBuilder> = (0..count).map(|_| StringBuilder::new()).collect();
        for _ in 0..BATCH_ROWS {
            if !self
                .reader
                .read_record(&mut self.record)
                .map_err(|error| ArrowError::CsvError(error.to_string()))?
            {
                self.has_ended = true;
                break;
            }
            if self.record.len() != count {
                self.wrong(count)?;
            }
            for (at, column) in columns.iter_mut().enumerate() {
                column.append_option(self.record.get(at).filter(|field| !field.is_empty()));
            }
        }
        let arrays = columns.iter_mut().map(|column| Arc::new(column.finish()) as ArrayRef);
        RecordBatch::try_new(Arc::clone(&self.schema), arrays.collect())
    }

    /// Tells a row of a wrong number of fields.
    fn wrong(&mut self, count: usize) -> Result<(), ArrowError> {
        let line = self.record.position().map_or(0, csv::Position::line);
        let what = format!("line {line}: {} fields, expected {count}", self.record.len());
        if self.errors == Errors::Raise {
            return Err(ArrowError::CsvError(what));
        }
        self.wrong += 1;
        if self.wrong <= TOLD {
            let made =
                if self.record.len() < count { "the others are null" } else { "the others are left out" };
            tell(format_args!("{}, {what} ({made})", self.name));
        }
        Ok(())
    }
}

impl<R: Read> Iterator for Rows<R> {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_ended {
            return None;
        }
        let batch = self.batch();
        self.has_ended |= batch.is_err();
        if self.has_ended && self.wrong > TOLD {
            tell(format_args!("{}: {} rows with a wrong number of fields in all", self.name, self.wrong));
        }
        match batch {
            Ok(batch) if batch.num_rows() == 0 => None,
            batch => Some(batch),
        }
    }
}
