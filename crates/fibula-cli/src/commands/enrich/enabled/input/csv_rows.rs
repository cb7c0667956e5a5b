//! [`Records`]: rows of separated values; and [`Rows`], batches of them as columns of text. Rows
//! that are written as they were read have only the columns of addresses, and the rows themselves.

use super::super::super::Errors;
use super::BATCH_ROWS;
use crate::exit::tell;
use arrow_array::builder::{BinaryBuilder, StringBuilder};
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
    kept: Option<Kept>,
    has_ended: bool,
}

/// Bytes that have been read, from the row that was read last on.
#[derive(Default)]
struct Kept {
    bytes: Vec<u8>,
    /// Where the bytes are in the input.
    first: u64,
}

impl Kept {
    /// The bytes that are left before they are moved.
    const MOVED: u64 = 1 << 16;

    /// Forgets what is before a place of the input.
    fn forget(&mut self, before: u64) {
        if before - self.first > Self::MOVED {
            self.bytes.drain(..(before - self.first) as usize);
            self.first = before;
        }
    }

    /// Returns the bytes between two places, without the line breaks before and after them, and
    /// the line break that a row there ends with.
    fn row(&self, from: u64, to: u64) -> (&[u8], &'static [u8]) {
        let row = &self.bytes[(from - self.first) as usize..(to - self.first) as usize];
        let is_break = |byte: &u8| matches!(byte, b'\r' | b'\n');
        let row = &row[row.iter().position(|byte| !is_break(byte)).unwrap_or(row.len())..];
        // The reader ends a row at the first byte of its line break.
        let line = row.strip_suffix(b"\n").unwrap_or(row);
        match line.strip_suffix(b"\r") {
            Some(line) => (line, b"\r\n"),
            None => (line, b"\n"),
        }
    }
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
        self.has_ended = read == 0;
        if let Some(kept) = &mut self.kept {
            kept.bytes.extend_from_slice(&buffer[..read]);
        }
        self.left.store(left.saturating_sub(read as u64), Ordering::Relaxed);
        Ok(read)
    }
}

/// Rows after the header. A row with too few fields is null in the others. Of one with too many the
/// others are left out. Both are told, or end the run.
pub(in super::super) struct Records<R> {
    name: String,
    errors: Errors,
    delimiter: u8,
    reader: csv::Reader<Bounded<R>>,
    /// What the reader may read until the next row begins.
    left: Arc<AtomicU64>,
    record: csv::StringRecord,
    /// Where the row begins in the input.
    begin: u64,
    /// The rows of a wrong number of fields so far.
    wrong: u64,
}

impl<R: Read> Records<R> {
    pub(in super::super) fn new(name: &str, delimiter: u8, errors: Errors, lines: R) -> Self {
        let left = Arc::new(AtomicU64::new(ROW_BYTES));
        let input = Bounded { input: lines, left: Arc::clone(&left), kept: None, has_ended: false };
        let reader = csv::ReaderBuilder::new().delimiter(delimiter).flexible(true).from_reader(input);
        let (name, record) = (name.to_owned(), csv::StringRecord::new());
        Self { name, errors, delimiter, reader, left, record, begin: 0, wrong: 0 }
    }

    /// Returns the header as it is in the input. Rows are kept from then on as they are read. To be
    /// called before anything is read.
    pub(in super::super) fn kept(&mut self) -> Result<Vec<u8>, ArrowError> {
        self.reader.get_mut().kept = Some(Kept::default());
        self.record = self.header()?.clone();
        let mut header = Vec::new();
        self.append(self.record.len(), &mut header);
        Ok(header)
    }

    /// Appends the row that was read last as it is in the input, with its line break. One that
    /// would not have `count` fields is written with as many.
    pub(in super::super) fn append(&self, count: usize, out: &mut Vec<u8>) {
        let Some(kept) = &self.reader.get_ref().kept else { return };
        let (row, end) = kept.row(self.begin, self.reader.position().byte());
        // Only what ends the input may have a quote that is not closed.
        let is_last = self.reader.get_ref().has_ended;
        if self.record.len() == count && (!is_last || fields(row, self.delimiter) == count) {
            out.extend_from_slice(row);
        } else {
            let mut fields = csv::WriterBuilder::new().delimiter(self.delimiter).from_writer(Vec::new());
            let all = (0..count).map(|at| self.record.get(at).unwrap_or_default());
            let written = fields.write_record(all).ok().and_then(|()| fields.into_inner().ok());
            let written = written.unwrap_or_default();
            out.extend_from_slice(written.strip_suffix(b"\n").unwrap_or(&written));
        }
        out.extend_from_slice(end);
    }

    /// Returns the names of the columns. Waits for the first row.
    pub(in super::super) fn header(&mut self) -> Result<&csv::StringRecord, ArrowError> {
        self.reader.headers().map_err(|error| failed(&error, 1))
    }

    /// Returns the next row of a table with `count` columns; `None` at the end.
    pub(in super::super) fn next(&mut self, count: usize) -> Result<Option<&csv::StringRecord>, ArrowError> {
        self.left.store(ROW_BYTES, Ordering::Relaxed);
        let line = self.reader.position().line();
        self.begin = self.reader.position().byte();
        if let Some(kept) = &mut self.reader.get_mut().kept {
            kept.forget(self.begin);
        }
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

/// Returns the number of fields of a row to which another one was appended, less that one.
fn fields(row: &[u8], delimiter: u8) -> usize {
    let longer = [row, &[delimiter], b"x\n"].concat();
    let mut reader = csv::ReaderBuilder::new().delimiter(delimiter).has_headers(false).from_reader(&*longer);
    let mut record = csv::ByteRecord::new();
    reader.read_byte_record(&mut record).map_or(0, |_| record.len().saturating_sub(1))
}

/// Batches of rows.
pub(super) struct Rows<R> {
    schema: SchemaRef,
    records: Records<R>,
    /// The number of columns of the input.
    count: usize,
    /// The places of the columns of addresses, where the rows are written as they were read.
    asked: Option<Vec<usize>>,
}

impl<R: Read> Rows<R> {
    pub(super) fn new(name: &str, schema: SchemaRef, delimiter: u8, errors: Errors, lines: R) -> Self {
        let count = schema.fields().len();
        Self { schema, records: Records::new(name, delimiter, errors, lines), count, asked: None }
    }

    /// Reads only these columns of all, and the rows as they are. Also returns the header as it is.
    pub(super) fn keeping(
        mut self,
        schema: SchemaRef,
        asked: Vec<usize>,
    ) -> Result<(Self, Vec<u8>), ArrowError> {
        let header = self.records.kept()?;
        Ok((Self { schema, asked: Some(asked), ..self }, header))
    }

    /// Reads up to a batch.
    pub(super) fn batch(&mut self) -> Result<RecordBatch, ArrowError> {
        let all: Vec<usize> = (0..self.count).collect();
        let places = self.asked.as_ref().unwrap_or(&all);
        let mut columns: Vec<StringBuilder> = places.iter().map(|_| StringBuilder::new()).collect();
        let (mut rows, mut row) = (BinaryBuilder::new(), Vec::new());
        for _ in 0..BATCH_ROWS {
            let Some(record) = self.records.next(self.count)? else { break };
            for (&at, column) in places.iter().zip(&mut columns) {
                column.append_option(record.get(at).filter(|field| !field.is_empty()));
            }
            if self.asked.is_some() {
                row.clear();
                self.records.append(self.count, &mut row);
                rows.append_value(&row);
            }
        }
        let arrays = columns.iter_mut().map(|column| Arc::new(column.finish()) as ArrayRef);
        let rows = self.asked.is_some().then(|| Arc::new(rows.finish()) as ArrayRef);
        RecordBatch::try_new(Arc::clone(&self.schema), arrays.chain(rows).collect())
    }
}
