//! [`Records`]: rows of separated values; and [`Rows`], batches of them as columns of text.

use super::super::super::Errors;
use super::BATCH_ROWS;
use crate::exit::tell;
use arrow_array::builder::StringBuilder;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, SchemaRef};
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The rows of a wrong number of fields that are told one by one.
const TOLD: u64 = 10;

/// The most bytes of a row. A quote that is never closed would take the rest of the file.
pub(in super::super) const ROW_BYTES: u64 = 16 << 20;

/// What may be read until the next row begins.
pub(in super::super) struct Bounded<R> {
    input: R,
    left: Arc<AtomicU64>,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.left.load(Ordering::Relaxed);
        if left == 0 {
            return Err(io::Error::other(format!(
                "the row has more than {ROW_BYTES} bytes, the limit of a row: a quote may not be closed"
            )));
        }
        let read = self.input.read(buffer)?;
        self.left.store(left.saturating_sub(read as u64), Ordering::Relaxed);
        Ok(read)
    }
}

/// Rows after the header. A row with too few fields is null in the others. Of one with too many the
/// others are left out. Both are told, or end the run.
pub(in super::super) struct Records<R> {
    name: String,
    errors: Errors,
    reader: csv::Reader<Bounded<R>>,
    /// What the reader may read until the next row begins.
    left: Arc<AtomicU64>,
    record: csv::StringRecord,
    /// The rows of a wrong number of fields so far.
    wrong: u64,
}

impl<R: Read> Records<R> {
    pub(in super::super) fn new(name: &str, delimiter: u8, errors: Errors, lines: R) -> Self {
        let left = Arc::new(AtomicU64::new(ROW_BYTES));
        let input = Bounded { input: lines, left: Arc::clone(&left) };
        let reader = csv::ReaderBuilder::new().delimiter(delimiter).flexible(true).from_reader(input);
        Self { name: name.to_owned(), errors, reader, left, record: csv::StringRecord::new(), wrong: 0 }
    }

    /// Returns the names of the columns. Waits for the first row.
    pub(in super::super) fn header(&mut self) -> Result<&csv::StringRecord, ArrowError> {
        self.reader.headers().map_err(|error| failed(&error, 1))
    }

    /// Returns the next row of a table with `count` columns; `None` at the end.
    pub(in super::super) fn next(&mut self, count: usize) -> Result<Option<&csv::StringRecord>, ArrowError> {
        self.left.store(ROW_BYTES, Ordering::Relaxed);
        let line = self.reader.position().line();
        if !self.reader.read_record(&mut self.record).map_err(|error| failed(&error, line))? {
            if self.wrong > TOLD {
                tell(format_args!("{}: {} rows with a wrong number of fields in all", self.name, self.wrong));
            }
            return Ok(None);
        }
        if self.record.len() != count {
            self.wrong(count)?;
        }
        Ok(Some(&self.record))
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

fn failed(error: &csv::Error, line: u64) -> ArrowError {
    match error.kind() {
        csv::ErrorKind::Io(_) => ArrowError::CsvError(format!("line {line}: {error}")),
        _ => ArrowError::CsvError(error.to_string()),
    }
}

/// Batches of rows.
pub(super) struct Rows<R> {
    schema: SchemaRef,
    records: Records<R>,
}

impl<R: Read> Rows<R> {
    pub(super) fn new(name: &str, schema: SchemaRef, delimiter: u8, errors: Errors, lines: R) -> Self {
        Self { schema, records: Records::new(name, delimiter, errors, lines) }
    }

    /// Reads up to a batch.
    pub(super) fn batch(&mut self) -> Result<RecordBatch, ArrowError> {
        let count = self.schema.fields().len();
        let mut columns: Vec<StringBuilder> = (0..count).map(|_| StringBuilder::new()).collect();
        for _ in 0..BATCH_ROWS {
            let Some(record) = self.records.next(count)? else { break };
            for (at, column) in columns.iter_mut().enumerate() {
                column.append_option(record.get(at).filter(|field| !field.is_empty()));
            }
        }
        let arrays = columns.iter_mut().map(|column| Arc::new(column.finish()) as ArrayRef);
        RecordBatch::try_new(Arc::clone(&self.schema), arrays.collect())
    }
}
