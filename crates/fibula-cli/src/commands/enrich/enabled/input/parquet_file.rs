//! Parquet: each row group is a part.

use super::{BATCH_ROWS, Batches, Part, Parts};
use crate::reading::Bar;
use anyhow::Context;
use arrow_schema::SchemaRef;
use bytes::Bytes;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::sync::{Arc, Mutex, PoisonError};

/// Opens a file.
pub(super) fn open(name: &str, bar: &Bar) -> anyhow::Result<(SchemaRef, Parts)> {
    let file = File::open(name).with_context(|| format!("{name}: cannot be read"))?;
    let bytes = file.metadata().with_context(|| format!("{name}: cannot be read"))?.len();
    let file = Shared { file: Arc::new(Mutex::new(file)), bytes };
    let metadata =
        ArrowReaderMetadata::load(&file, ArrowReaderOptions::default()).with_context(|| name.to_owned())?;
    let schema = Arc::clone(metadata.schema());
    let groups = metadata.metadata().num_row_groups();
    let at = bar.at();
    let (mut first_row, mut read) = (0, 0);
    let parts = (0..groups).map(move |number| {
        let group = metadata.metadata().row_group(number);
        let part_row = first_row;
        first_row += u64::try_from(group.num_rows())?;
        at(read, Some(bytes));
        read += u64::try_from(group.compressed_size())?;
        let (file, metadata) = (file.clone(), metadata.clone());
        let open = move || {
            let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata);
            let batches = builder.with_row_groups(vec![number]).with_batch_size(BATCH_ROWS).build()?;
            Ok(Box::new(batches.map(|batch| Ok(batch?))) as Batches)
        };
        Ok(Part { number, first_row: part_row, open: Box::new(open) })
    });
    Ok((schema, Box::new(parts)))
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
