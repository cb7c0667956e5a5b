//! [`Batches`], answers as batches of Arrow, and [`Decoder`], which reads such batches.

use super::asked::Asked;
use crate::refusal::Refusal;
use crate::served::Served;
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray, UInt32Array};
use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;
use arrow_ipc::writer::StreamEncoder;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use axum::body::Bytes;
use axum::http::StatusCode;
use fibula::NextHop;
use fibula_arrow::{How, Invalid, addresses, prefixes};
use fibula_io::caught;
use std::sync::Arc;

/// The rows of a batch that are looked up and answered at once.
const ROWS: usize = 1 << 16;

/// The most bytes of a batch that is read, or of a dictionary.
const BATCH: usize = 64 << 20;

/// Answers as a stream of batches: the column `prefix`, if it is asked for, and `next_hop`; or
/// `next_hop_FIELD` for each field, where values have fields.
pub(super) struct Batches {
    encoder: Option<StreamEncoder>,
    schema: SchemaRef,
    has_prefix: bool,
    out: Vec<Bytes>,
    bytes: usize,
}

/// What lends the bytes of a buffer to an answer.
struct Lent(Buffer);

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        self.0.as_slice()
    }
}

fn internal(error: impl std::fmt::Display) -> Refusal {
    Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, error)
}

/// A row that is no address is an error.
fn how() -> How {
    Invalid::Error.into()
}

impl Batches {
    pub(super) fn new(served: &Served, has_prefix: bool) -> Result<Self, Refusal> {
        let of = |(name, values): &(String, fibula_arrow::Values)| {
            let value = values.data_type().clone();
            let is_plain = value.is_primitive() || value == DataType::Boolean;
            let index = Box::new(DataType::UInt32);
            let kind = if is_plain { value } else { DataType::Dictionary(index, Box::new(value)) };
            Field::new(name, kind, true)
        };
        let prefix = has_prefix.then(|| Field::new("prefix", DataType::Utf8, true));
        let fields: Vec<Field> = prefix.into_iter().chain(served.values().iter().map(of)).collect();
        let schema = Arc::new(Schema::new(fields));
        let encoder = StreamEncoder::try_new(&schema).map_err(internal)?;
        Ok(Self { encoder: Some(encoder), schema, has_prefix, out: Vec::new(), bytes: 0 })
    }

    /// Answers a column, of which `first` is the number of the first row.
    pub(super) fn write_column(
        &mut self,
        served: &Served,
        column: &dyn Array,
        first: u64,
    ) -> Result<(), Refusal> {
        let found = served.lookup(column, &how()).map_err(|error| refused(error, first))?;
        let texts = self.has_prefix.then(|| prefixes(column, &served.table, &how()));
        let texts = texts.transpose().map_err(|error| refused(error, first))?;
        self.batch(served, texts, &found)
    }

    /// Answers the rows of a block of text.
    pub(super) fn write_asked(
        &mut self,
        served: &Served,
        block: &[u8],
        asked: &mut Asked,
    ) -> Result<(), Refusal> {
        if asked.len() == 0 {
            return Ok(());
        }
        let mut indices: Vec<Option<u32>> = Vec::with_capacity(asked.len());
        let mut texts: Option<Vec<Option<String>>> = self.has_prefix.then(Vec::new);
        asked.answer(served, block, |_, route| {
            indices.push(route.map(|(_, NextHop(index))| index));
            if let Some(texts) = &mut texts {
                texts.push(route.map(|(prefix, _)| prefix.to_string()));
            }
        });
        self.batch(served, texts.map(StringArray::from), &indices.into())
    }

    fn batch(
        &mut self,
        served: &Served,
        prefixes: Option<StringArray>,
        indices: &UInt32Array,
    ) -> Result<(), Refusal> {
        let prefixes = prefixes.map(|prefixes| Arc::new(prefixes) as ArrayRef);
        let fields = self.schema.fields().iter().skip(prefixes.iter().count());
        let values = served.values().iter().zip(fields).map(|((_, values), field)| match field.data_type() {
            DataType::Dictionary(..) => Arc::new(values.dictionary(indices.clone())) as ArrayRef,
            _ => values.plain(indices),
        });
        let columns = prefixes.into_iter().chain(values).collect();
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns).map_err(internal)?;
        if let Some(encoder) = &mut self.encoder {
            let buffers = encoder.encode(&batch).map_err(internal)?;
            self.lend(buffers);
        }
        Ok(())
    }

    fn lend(&mut self, buffers: Vec<Buffer>) {
        for buffer in buffers.into_iter().filter(|buffer| !buffer.is_empty()) {
            self.bytes += buffer.len();
            self.out.push(Bytes::from_owner(Lent(buffer)));
        }
    }

    pub(super) fn waiting(&self) -> usize {
        self.bytes
    }

    pub(super) fn take(&mut self) -> Vec<Bytes> {
        self.bytes = 0;
        std::mem::take(&mut self.out)
    }

    pub(super) fn finish(&mut self) -> Result<(), Refusal> {
        if let Some(encoder) = self.encoder.take() {
            let buffers = encoder.finish().map_err(internal)?;
            self.lend(buffers);
        }
        Ok(())
    }
}

/// Returns the refusal of a row, counted from 1 as lines are.
fn refused(error: fibula_arrow::Error, first: u64) -> Refusal {
    let error = error.at_row(first);
    match error.row() {
        Some(row) => Refusal::bad(format_args!("row {}: {}", row + 1, error.what())),
        None => Refusal::bad(error),
    }
}

/// Reads a stream of batches, some bytes at a time.
pub(super) struct Decoder {
    stream: StreamDecoder,
    /// The name of the column, if the client has told.
    column: Option<String>,
    at: Option<usize>,
    /// The number of the next row, from 0.
    row: u64,
    /// The bytes since the last batch.
    bytes: usize,
}

impl Decoder {
    pub(super) fn new(column: Option<String>) -> Self {
        Self { stream: StreamDecoder::new(), column, at: None, row: 0, bytes: 0 }
    }

    /// Reads a part of a stream, and passes its addresses, some rows at a time, each time with the
    /// number of the first.
    pub(super) fn read(
        &mut self,
        part: Bytes,
        mut each: impl FnMut(&ArrayRef, u64) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        let mut buffer = Buffer::from(part);
        while !buffer.is_empty() {
            let before = buffer.len();
            // The decoder checks what it reads, but not all: a panic is an error of the stream.
            let batch = caught(|| self.stream.decode(&mut buffer));
            let batch = batch.ok_or_else(|| self.damaged("it is damaged"))?;
            self.bytes += before - buffer.len();
            let Some(batch) = batch.map_err(|error| self.damaged(error))? else {
                if self.bytes > BATCH {
                    let what = format!("a batch is longer than {BATCH} bytes: send smaller ones");
                    return Err(Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, what));
                }
                continue;
            };
            self.bytes = 0;
            let column = Arc::clone(batch.column(self.column(&batch)?));
            for start in (0..column.len()).step_by(ROWS) {
                let rows = column.slice(start, ROWS.min(column.len() - start));
                each(&rows, self.row + start as u64)?;
            }
            self.row += column.len() as u64;
        }
        Ok(())
    }

    /// Checks that a stream has ended where it may.
    pub(super) fn finish(&mut self) -> Result<(), Refusal> {
        let end = self.stream.finish();
        end.map_err(|error| self.damaged(error))?;
        if self.stream.schema().is_none() {
            return Err(self.damaged("it is empty"));
        }
        Ok(())
    }

    fn damaged(&self, what: impl std::fmt::Display) -> Refusal {
        Refusal::bad(format_args!("the Arrow stream after row {}: {what}", self.row))
    }

    /// Returns the index of the column of addresses.
    fn column(&mut self, batch: &RecordBatch) -> Result<usize, Refusal> {
        const NAMES: [&str; 3] = ["addr", "address", "ip"];
        if let Some(at) = self.at {
            return Ok(at);
        }
        let schema = batch.schema();
        let named = |name: &str| schema.index_of(name).ok();
        let at = match &self.column {
            Some(name) => named(name),
            None if schema.fields().len() == 1 => Some(0),
            None => NAMES.into_iter().find_map(named),
        };
        self.at = at;
        at.ok_or_else(|| {
            let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
            let asked = self.column.as_deref().unwrap_or("addr");
            Refusal::bad(format_args!("no column {asked:?} among {names:?}: name it by the parameter column"))
        })
    }
}

/// Returns the addresses of a column as text.
pub(super) fn texts(column: &dyn Array, first: u64) -> Result<StringArray, Refusal> {
    addresses(column, &how()).map_err(|error| refused(error, first))
}
