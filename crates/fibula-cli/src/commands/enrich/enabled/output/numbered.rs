//! [`Numbered`] and [`Chunk`]: a column whose values have numbers, as Parquet.
//!
//! A table numbers its values when it is read, and a row's answer is a number. Parquet's dictionary
//! is a numbering too, of the values that a column chunk has. So a row costs one look into an array
//! of places, and no value is hashed, compared or copied for it.
//!
//! ```text
//! number ──places──▶ place in the dictionary ──▶ pages: levels, places as runs or packed bits
//!                         └──▶ used: the numbers of the dictionary's values, in its order
//! ```
//! The layout is that of "Data Pages" and "Encodings" of the Parquet format, pages of version 1.

use super::super::super::Compression;
use anyhow::Result;
use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Float64Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, UInt32Array};
use arrow_buffer::BooleanBufferBuilder;
use arrow_schema::DataType;
use bytes::Bytes;
use hashbrown::HashTable;
use parquet::basic::Encoding;
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::ByteArray;
use parquet::file::metadata::{ColumnChunkMetaData, OffsetIndexBuilder};
use parquet::file::statistics::Statistics;
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;
use std::cmp::Ordering;
use std::io;
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64;

/// The rows after which a page ends: readers may skip the pages that they do not need.
const PAGE_ROWS: usize = 1 << 14;

/// The equal rows that become a run.
const LEAST_RUN: usize = 16;

/// The longest text that statistics hold, in bytes.
const STATISTICS_MAX: usize = 64;

/// What Parquet's writer takes for the other columns.
const ZSTD_LEVEL: i32 = 1;

/// The place of what is not in the dictionary.
const NO_PLACE: u32 = u32::MAX;

/// The values of a column by number.
pub(crate) struct Numbered {
    values: ArrayRef,
    /// The values as they are in a dictionary's page: that of number `i` is at
    /// `bytes[ends[i]..ends[i + 1]]`, and nothing is of null.
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// The first number of an equal value, by number.
    first: Vec<u32>,
}

impl Numbered {
    /// Creates the column of the values that are at their numbers. O(values). `None` if they are
    /// neither text nor numbers of [these types](Self::statistics), or all null.
    pub(crate) fn new(values: &ArrayRef) -> Option<Self> {
        let data = values.to_data();
        let width = values.data_type().primitive_width();
        let (mut bytes, mut ends) = (Vec::new(), vec![0]);
        for at in 0..values.len() {
            match (values.data_type(), width) {
                _ if values.is_null(at) => {}
                (DataType::Utf8, _) => {
                    let text = values.as_string::<i32>().value(at);
                    bytes.extend((text.len() as u32).to_le_bytes());
                    bytes.extend(text.as_bytes());
                }
                (DataType::UInt32 | DataType::Int64 | DataType::UInt64 | DataType::Float64, Some(width)) => {
                    bytes.extend(&data.buffers()[0][(data.offset() + at) * width..][..width]);
                }
                _ => return None,
            }
            ends.push(bytes.len());
        }
        let value = |at: u32| &bytes[ends[at as usize]..ends[at as usize + 1]];
        let mut firsts = HashTable::with_capacity(values.len());
        let first = |at| {
            let is_equal = |&first: &u32| value(first) == value(at);
            let hash = |&at: &u32| xxh3_64(value(at));
            *firsts.entry(hash(&at), is_equal, hash).or_insert(at).get()
        };
        let first = (0..values.len() as u32).map(first).collect();
        (!bytes.is_empty()).then_some(Self { values: Arc::clone(values), bytes, ends, first })
    }

    fn value(&self, number: u32) -> &[u8] {
        &self.bytes[self.ends[number as usize]..self.ends[number as usize + 1]]
    }

    /// Returns the statistics of a chunk that has the values of these numbers.
    fn statistics(&self, numbers: &[u32], nulls: u64) -> Statistics {
        let (values, nulls) = (&self.values, Some(nulls));
        match values.data_type() {
            DataType::UInt32 => {
                let (min, max) = ends::<UInt32Type>(values, numbers, u32::cmp);
                Statistics::int32(min.map(u32::cast_signed), max.map(u32::cast_signed), None, nulls, false)
            }
            DataType::UInt64 => {
                let (min, max) = ends::<UInt64Type>(values, numbers, u64::cmp);
                Statistics::int64(min.map(u64::cast_signed), max.map(u64::cast_signed), None, nulls, false)
            }
            DataType::Int64 => {
                let (min, max) = ends::<Int64Type>(values, numbers, i64::cmp);
                Statistics::int64(min, max, None, nulls, false)
            }
            DataType::Float64 => {
                let (min, max) = ends::<Float64Type>(values, numbers, f64::total_cmp);
                // Readers need not tell the zeros apart.
                let min = min.map(|min| if min == 0.0 { -0.0 } else { min });
                let max = max.map(|max| if max == 0.0 { 0.0 } else { max });
                Statistics::double(min, max, None, nulls, false)
            }
            _ => {
                let texts = values.as_string::<i32>();
                let texts = numbers.iter().map(|&number| texts.value(number as usize));
                let short = |text: Option<&str>| {
                    text.filter(|text| text.len() <= STATISTICS_MAX).map(ByteArray::from)
                };
                Statistics::byte_array(short(texts.clone().min()), short(texts.max()), None, nulls, false)
            }
        }
    }
}

/// Returns the least and the greatest of the values of some numbers.
fn ends<T: ArrowPrimitiveType>(
    values: &ArrayRef,
    numbers: &[u32],
    order: fn(&T::Native, &T::Native) -> Ordering,
) -> (Option<T::Native>, Option<T::Native>) {
    let values = values.as_primitive::<T>();
    let values = numbers.iter().map(|&number| values.value(number as usize));
    (values.clone().min_by(order), values.max_by(order))
}

/// A column chunk that is being written.
pub(crate) struct Chunk {
    numbered: Arc<Numbered>,
    column: ColumnDescPtr,
    compression: Compression,
    /// The place in the dictionary of each number, if it has been seen.
    places: Vec<u32>,
    used: Vec<u32>,
    /// The rows of the page that has begun: the places of those that are not null, and which are.
    page: Vec<u32>,
    valid: BooleanBufferBuilder,
    pages: Vec<CompressedPage>,
    /// The rows of each page.
    rows: Vec<usize>,
    nulls: usize,
}

impl Chunk {
    /// Begins a chunk of a column that may be null.
    pub(crate) fn new(numbered: Arc<Numbered>, column: ColumnDescPtr, compression: Compression) -> Self {
        Self {
            places: vec![NO_PLACE; numbered.first.len()],
            numbered,
            column,
            compression,
            used: Vec::new(),
            page: Vec::new(),
            valid: BooleanBufferBuilder::new(PAGE_ROWS),
            pages: Vec::new(),
            rows: Vec::new(),
            nulls: 0,
        }
    }

    /// Adds rows by the numbers of their values. O(rows).
    pub(crate) fn write(&mut self, numbers: &UInt32Array) -> Result<()> {
        let Self { numbered, places, used, page, .. } = self;
        let place = |number: u32| match places[number as usize] {
            NO_PLACE => {
                let first = numbered.first[number as usize] as usize;
                if places[first] == NO_PLACE {
                    places[first] = used.len() as u32;
                    used.push(number);
                }
                places[number as usize] = places[first];
                places[first]
            }
            place => place,
        };
        if let Some(nulls) = numbers.nulls() {
            page.extend(numbers.iter().flatten().map(place));
            self.valid.append_buffer(nulls.inner());
        } else {
            page.extend(numbers.values().iter().copied().map(place));
            self.valid.append_n(numbers.len(), true);
        }
        self.nulls += numbers.null_count();
        if self.valid.len() >= PAGE_ROWS { self.end_page() } else { Ok(()) }
    }

    fn end_page(&mut self) -> Result<()> {
        let rows = self.valid.len();
        let mut levels = Vec::new();
        if self.page.len() == rows {
            varint(rows << 1, &mut levels);
            levels.push(1);
        } else {
            let valid = self.valid.as_slice();
            varint(valid.len() << 1 | 1, &mut levels);
            levels.extend(valid);
        }
        let width = (u32::BITS - (self.used.len().max(2) as u32 - 1).leading_zeros()) as u8;
        let mut body = (levels.len() as u32).to_le_bytes().to_vec();
        body.extend(levels);
        body.push(width);
        runs(&self.page, width, &mut body);
        let length = body.len();
        let page = Page::DataPage {
            buf: self.compression.pack(body)?,
            num_values: rows as u32,
            encoding: Encoding::RLE_DICTIONARY,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        self.pages.push(CompressedPage::new(page, length));
        self.rows.push(rows);
        self.page.clear();
        self.valid.truncate(0);
        Ok(())
    }

    /// Ends the chunk. Returns its bytes, and what the file says of them.
    pub(crate) fn finish(mut self) -> Result<(Bytes, ColumnCloseResult)> {
        if !self.valid.is_empty() {
            self.end_page()?;
        }
        let numbered = &self.numbered;
        let statistics = numbered.statistics(&self.used, self.nulls as u64);
        if self.used.is_empty() {
            // A dictionary without a value is none.
            self.used
                .extend((0..numbered.first.len() as u32).find(|&number| !numbered.value(number).is_empty()));
        }
        let dictionary: Vec<u8> =
            self.used.iter().flat_map(|&number| numbered.value(number)).copied().collect();
        let length = dictionary.len();
        let dictionary = Page::DictionaryPage {
            buf: self.compression.pack(dictionary)?,
            num_values: self.used.len() as u32,
            encoding: Encoding::PLAIN,
            is_sorted: false,
        };
        let mut out = TrackedWrite::new(Vec::new());
        let mut writer = SerializedPageWriter::new(&mut out);
        let first = writer.write_page(CompressedPage::new(dictionary, length))?;
        let (mut uncompressed, mut index) = (first.uncompressed_size, OffsetIndexBuilder::new());
        for (page, &rows) in self.pages.into_iter().zip(&self.rows) {
            let page = writer.write_page(page)?;
            uncompressed += page.uncompressed_size;
            index.append_row_count(i64::try_from(rows)?);
            index.append_offset_and_size(i64::try_from(page.offset)?, i32::try_from(page.compressed_size)?);
        }
        let bytes = Bytes::from(out.into_inner()?);
        let rows = self.rows.iter().sum::<usize>();
        let metadata = ColumnChunkMetaData::builder(self.column)
            .set_encodings(vec![Encoding::PLAIN, Encoding::RLE, Encoding::RLE_DICTIONARY])
            .set_compression(self.compression.of_parquet())
            .set_num_values(i64::try_from(rows)?)
            .set_total_compressed_size(i64::try_from(bytes.len())?)
            .set_total_uncompressed_size(i64::try_from(uncompressed)?)
            .set_dictionary_page_offset(Some(0))
            .set_data_page_offset(i64::try_from(first.bytes_written)?)
            .set_statistics(statistics);
        let close = ColumnCloseResult {
            bytes_written: bytes.len() as u64,
            rows_written: rows as u64,
            metadata: metadata.build()?,
            bloom_filter: None,
            column_index: None,
            offset_index: Some(index.build()),
        };
        Ok((bytes, close))
    }
}

impl Compression {
    fn pack(self, bytes: Vec<u8>) -> io::Result<Bytes> {
        Ok(Bytes::from(match self {
            Self::None => bytes,
            Self::Snappy => snap::raw::Encoder::new().compress_vec(&bytes).map_err(io::Error::other)?,
            Self::Lz4 => lz4_flex::block::compress(&bytes),
            Self::Zstd => zstd::bulk::compress(&bytes, ZSTD_LEVEL)?,
        }))
    }
}

/// Writes a number by 7 bits a byte, the lowest first.
fn varint(mut number: usize, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Writes places of `width` bits: runs of equal ones as one, the others packed by eight.
fn runs(places: &[u32], width: u8, out: &mut Vec<u8>) {
    let mut rest = places;
    while let Some(&place) = rest.first() {
        if begins_run(rest) {
            let (run, after) = rest.split_at(rest.iter().take_while(|&&other| other == place).count());
            varint(run.len() << 1, out);
            out.extend(&place.to_le_bytes()[..usize::from(width).div_ceil(8)]);
            rest = after;
        } else {
            let groups = (0..rest.len()).step_by(8).take_while(|&at| !begins_run(&rest[at..])).count();
            let (packed, after) = rest.split_at(rest.len().min(groups * 8));
            varint(groups << 1 | 1, out);
            pack(packed, width, out);
            rest = after;
        }
    }
}

fn begins_run(places: &[u32]) -> bool {
    places.first() == places.get(1)
        && places.get(..LEAST_RUN).is_some_and(|run| run.iter().all(|place| *place == run[0]))
}

/// Packs places of `width` bits from the lowest bit of a byte on, and zeros up to a multiple of 8
/// places.
fn pack(places: &[u32], width: u8, out: &mut Vec<u8>) {
    let (groups, last) = places.as_chunks::<8>();
    let mut padded = [0; 8];
    padded[..last.len()].copy_from_slice(last);
    let padded = (!last.is_empty()).then_some(&padded);
    let mut at = out.len();
    out.resize(at + places.len().div_ceil(8) * usize::from(width), 0);
    for group in groups.iter().chain(padded) {
        let (mut bits, mut held) = (0_u64, 0);
        for &place in group {
            bits |= u64::from(place) << held;
            held += width;
            if held >= 32 {
                out[at..at + 4].copy_from_slice(&(bits as u32).to_le_bytes());
                (bits, held, at) = (bits >> 32, held - 32, at + 4);
            }
        }
        let left = usize::from(held / 8);
        out[at..at + left].copy_from_slice(&bits.to_le_bytes()[..left]);
        at += left;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Float64Array, Int64Array, RecordBatch, StringArray, UInt64Array};
    use arrow_schema::{Field, Schema};
    use parquet::arrow::ArrowWriter;
    use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
    use parquet::file::metadata::PageIndexPolicy;
    use parquet::file::properties::WriterProperties;

    /// Values of each type, some of them equal; number 0 is null.
    fn columns() -> Vec<ArrayRef> {
        let number = |at: u64| (at > 0).then_some((at / 2).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let numbers = || (0..3000).map(number);
        let text = |number: u64| format!("{number:0width$}", width = 20 + number as usize % 40);
        vec![
            Arc::new(numbers().map(|it| it.map(|number| number as u32)).collect::<UInt32Array>()),
            Arc::new(numbers().collect::<UInt64Array>()),
            Arc::new(numbers().map(|it| it.map(u64::cast_signed)).collect::<Int64Array>()),
            Arc::new(numbers().map(|it| it.map(|number| number as f64 - 9e18)).collect::<Float64Array>()),
            Arc::new(numbers().map(|it| it.map(text)).collect::<StringArray>()),
        ]
    }

    /// Returns the numbers of rows, in runs, of `of` numbers; null with a chance of `nulls`.
    fn rows(random: &mut fastrand::Rng, of: u32, longest: usize, nulls: f64) -> UInt32Array {
        let mut rows = Vec::new();
        while rows.len() < 40_000 {
            let number = (random.f64() >= nulls).then(|| 1 + random.u32(..of));
            rows.extend(std::iter::repeat_n(number, random.usize(1..=longest)));
        }
        rows.into()
    }

    /// Returns the rows of a file, and the statistics of its row groups.
    fn read(file: Vec<u8>) -> (Vec<RecordBatch>, Vec<Statistics>) {
        let options = ArrowReaderOptions::new().with_offset_index_policy(PageIndexPolicy::Required);
        let reader =
            ParquetRecordBatchReaderBuilder::try_new_with_options(Bytes::from(file), options).unwrap();
        let groups = reader.metadata().row_groups().iter();
        let statistics = groups.map(|group| group.column(0).statistics().unwrap().clone()).collect();
        (reader.build().unwrap().map(Result::unwrap).collect(), statistics)
    }

    #[test]
    fn a_file_has_the_rows_and_statistics_that_parquets_own_writer_writes() {
        let mut random = fastrand::Rng::with_seed(49);
        let compressions = [Compression::None, Compression::Snappy, Compression::Lz4, Compression::Zstd];
        let kinds = [(1, 1, 0.0), (2, 40, 0.5), (2999, 1, 0.1), (2000, 90, 0.0), (9, 9, 1.0)];
        let columns = columns();
        let all = columns.iter().flat_map(|values| kinds.map(|kind| (values, kind)));
        for (values, (of, longest, nulls)) in all {
            let groups = [(); 2].map(|()| rows(&mut random, of, longest, nulls));
            let compression = compressions[random.usize(..4)];
            let schema = Arc::new(Schema::new(vec![Field::new("it", values.data_type().clone(), true)]));
            let properties = WriterProperties::builder().set_compression(compression.of_parquet());
            let writer = || {
                ArrowWriter::try_new(Vec::new(), Arc::clone(&schema), Some(properties.clone().build()))
                    .unwrap()
            };
            let (mut own, mut theirs) = (writer().into_serialized_writer().unwrap().0, writer());
            let numbered = Arc::new(Numbered::new(values).unwrap());
            for rows in &groups {
                let mut chunk = Chunk::new(Arc::clone(&numbered), own.schema_descr().column(0), compression);
                for at in (0..rows.len()).step_by(8192) {
                    chunk.write(&rows.slice(at, (rows.len() - at).min(8192))).unwrap();
                }
                let (bytes, close) = chunk.finish().unwrap();
                let mut group = own.next_row_group().unwrap();
                group.append_column(&bytes, close).unwrap();
                group.close().unwrap();
                let rows = arrow_select::take::take(values, rows, None).unwrap();
                theirs.write(&RecordBatch::try_new(Arc::clone(&schema), vec![rows]).unwrap()).unwrap();
                theirs.flush().unwrap();
            }
            let (own, theirs) = (own.into_inner().unwrap(), theirs.into_inner().unwrap());
            assert_eq!(read(own), read(theirs), "{of} {longest} {nulls} {compression:?}");
        }
    }
}
