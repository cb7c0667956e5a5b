//! Parquet: each row group is a part, or several where it is large.

use super::{BATCH_ROWS, Batches, Part, Parts};
use crate::reading::Bar;
use anyhow::Context;
use arrow_array::ArrayRef;
use arrow_schema::SchemaRef;
use bytes::Bytes;
use fibula_io::table::unpacked_bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::PageIndexPolicy;
use parquet::file::reader::{ChunkReader, Length};
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::sync::{Arc, Mutex, PoisonError};

/// The bytes of a part, unpacked: a thread holds what it writes of one.
const PART_BYTES: u64 = 32 << 20;

/// The rows of a part: what is added to small ones takes memory too.
const PART_ROWS: u64 = 1 << 20;

/// The bytes of the rows of a batch, by the mean of the row group.
const BATCH_BYTES: u64 = 8 << 20;

/// Opens a file.
pub(super) fn open(name: &str, bar: &Bar) -> anyhow::Result<(SchemaRef, Parts)> {
    let (file, metadata) = load(name)?;
    let schema = Arc::clone(metadata.schema());
    let bytes = file.bytes;
    let at = bar.at();
    let (mut part, mut first_row, mut read) = (0, 0, 0);
    let groups = metadata.metadata().num_row_groups();
    let parts = (0..groups).flat_map(move |number| {
        let group = metadata.metadata().row_group(number);
        let (rows, size) = (group.num_rows().unsigned_abs(), unpacked_bytes(group));
        // Batches of a part are whole but for the last.
        let batch = (BATCH_BYTES.saturating_mul(rows) / size.max(1)).clamp(1, BATCH_ROWS as u64);
        let most =
            (PART_BYTES.saturating_mul(rows) / size.max(1)).clamp(1, PART_ROWS).next_multiple_of(batch);
        at(read, Some(bytes));
        read += group.compressed_size().unsigned_abs();
        let starts = (0..rows.max(1)).step_by(usize::try_from(most).unwrap_or(usize::MAX));
        let parts: Vec<anyhow::Result<Part>> = starts
            .map(|start| {
                let (file, metadata) = (file.clone(), metadata.clone());
                let (number_of_part, part_row) = (part, first_row + start);
                part += 1;
                let open = move || {
                    let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata);
                    let builder =
                        builder.with_row_groups(vec![number]).with_batch_size(usize::try_from(batch)?);
                    let (offset, limit) = (usize::try_from(start)?, usize::try_from(most)?);
                    let mut batches = caught(|| builder.with_offset(offset).with_limit(limit).build())??;
                    let mut next = move || caught(|| batches.next()).and_then(|batch| Ok(batch.transpose()?));
                    Ok(Box::new(std::iter::from_fn(move || next().transpose())) as Batches)
                };
                Ok(Part { number: number_of_part, first_row: part_row, open: Box::new(open) })
            })
            .collect();
        first_row += rows;
        parts
    });
    Ok((schema, Box::new(parts)))
}

/// Reads the first rows of one column; `None` if there are no rows.
pub(super) fn first(name: &str, column: usize) -> anyhow::Result<Option<ArrayRef>> {
    let (file, metadata) = load(name)?;
    let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata);
    let mask = ProjectionMask::roots(builder.parquet_schema(), [column]);
    let builder = builder.with_projection(mask).with_batch_size(BATCH_ROWS).with_limit(BATCH_ROWS);
    let batch = caught(|| builder.build()?.next().transpose().map_err(ParquetError::from));
    let batch = batch.and_then(|batch| Ok(batch?)).with_context(|| name.to_owned())?;
    Ok(batch.map(|batch| Arc::clone(batch.column(0))))
}

/// Runs the reader of Parquet. Its panic is an error.
fn caught<T>(read: impl FnOnce() -> T) -> anyhow::Result<T> {
    fibula_io::caught(read).context("the Parquet file is damaged")
}

fn load(name: &str) -> anyhow::Result<(Shared, ArrowReaderMetadata)> {
    let file = File::open(name).with_context(|| format!("{name}: cannot be read"))?;
    let bytes = file.metadata().with_context(|| format!("{name}: cannot be read"))?.len();
    let file = Shared { file: Arc::new(Mutex::new(file)), bytes };
    // An index of pages spares reading the pages before a part.
    let options = ArrowReaderOptions::default().with_page_index_policy(PageIndexPolicy::Optional);
    let metadata = caught(|| ArrowReaderMetadata::load(&file, options));
    let metadata = metadata.and_then(|metadata| Ok(metadata?)).with_context(|| name.to_owned())?;
    Ok((file, metadata))
}

/// A file that several threads read, each at places of its own.
#[derive(Clone)]
struct Shared {
    file: Arc<Mutex<File>>,
    bytes: u64,
}

impl Shared {
    fn read_at(&self, at: u64, buffer: &mut [u8]) -> io::Result<usize> {
        // A thread that panicked left the file at some place: each read seeks its own.
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(at))?;
        file.read(buffer)
    }
}

impl Length for Shared {
    fn len(&self) -> u64 {
        self.bytes
    }
}

impl ChunkReader for Shared {
    type T = BufReader<From>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        Ok(BufReader::new(From { file: self.clone(), at: start }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        if self.bytes.checked_sub(start).is_none_or(|left| left < length as u64) {
            return Err(ParquetError::EOF(format!("{length} bytes at {start} are past the end")));
        }
        let mut bytes = vec![0; length];
        From { file: self.clone(), at: start }.read_exact(&mut bytes)?;
        Ok(bytes.into())
    }
}

/// A file from some place on.
struct From {
    file: Shared,
    at: u64,
}

impl Read for From {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(self.at, buffer)?;
        self.at += read as u64;
        Ok(read)
    }
}
