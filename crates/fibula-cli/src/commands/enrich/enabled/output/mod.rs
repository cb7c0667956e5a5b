//! [`Encoder`] and [`Writer`]: records as bytes of a format, part by part.

mod numbered;

use super::super::{Arguments, Compression};
use super::added::Added;
use anyhow::{Result, bail};
use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_array::{ArrayRef, BooleanArray, RecordBatch};
use arrow_json::writer::{LineDelimited, WriterBuilder as JsonWriterBuilder};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use bytes::Bytes;
use fibula_io::table::Format;
use numbered::{Chunk, Numbered};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{
    ArrowColumnChunk, ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves,
};
use parquet::basic;
use parquet::column::writer::ColumnCloseResult;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnDescPtr;
use std::io::{self, Write};
use std::sync::Arc;

/// Encodes parts, on any thread.
pub(super) enum Encoder {
    Parquet(Box<Parquet>),
    /// With the place of the column of rows, where those are written as they were read.
    Separated {
        delimiter: u8,
        packed: Packed,
        rows: Option<usize>,
    },
    /// With the place of the column of rows, where those are written as they were read.
    Ndjson {
        packed: Packed,
        rows: Option<usize>,
    },
}

/// What begins row groups.
pub(super) struct Parquet {
    row_groups: ArrowRowGroupWriterFactory,
    schema: SchemaRef,
    compression: Compression,
    /// The columns of the file, and which are written by the numbers of their values.
    columns: Vec<(ColumnDescPtr, Option<Arc<Numbered>>)>,
}

/// A column of a row group that is being encoded.
pub(super) enum Column {
    Plain(Box<ArrowColumnWriter>),
    Numbered(Box<Chunk>),
}

/// A column of a row group that has been encoded.
pub(super) enum Written {
    Plain(ArrowColumnChunk),
    Numbered(Bytes, ColumnCloseResult),
}

/// The compression of text. Each part is a stream of its own.
#[derive(Clone, Copy)]
pub(super) enum Packed {
    Plain,
    Gzip,
    Zstd,
}

/// A part that is being encoded.
pub(super) enum Encoding {
    Parquet {
        columns: Vec<Column>,
        schema: SchemaRef,
    },
    Separated {
        writer: Box<arrow_csv::Writer<Vec<u8>>>,
        packed: Packed,
    },
    Ndjson {
        writer: arrow_json::Writer<Vec<u8>, LineDelimited>,
        packed: Packed,
    },
    /// With the delimiter of rows of separated values.
    Rows {
        out: Vec<u8>,
        rows: usize,
        delimiter: Option<u8>,
        packed: Packed,
    },
}

/// A part that has been encoded.
pub(super) enum Encoded {
    RowGroup(Vec<Written>),
    Text(Vec<u8>),
}

/// Writes encoded parts, in order.
pub(super) enum Writer {
    /// Its bytes are handed on after each part.
    Parquet(Option<Box<SerializedFileWriter<Vec<u8>>>>),
    /// What comes before the first part.
    Text(Vec<u8>),
}

/// Returns what encodes records of a schema, and what writes them. Where the records have a column
/// of rows as they were read, `rows` is its place, and the header of rows of separated values.
pub(super) fn new(
    arguments: &Arguments,
    format: Format,
    added: &Added,
    rows: Option<(usize, Option<&[u8]>)>,
) -> Result<(Encoder, Writer)> {
    let packed = match arguments.output.extension().and_then(|extension| extension.to_str()) {
        Some("gz") => Packed::Gzip,
        Some("zst") => Packed::Zstd,
        Some("bz2") => bail!("{}: bz2 is only read, expected .gz or .zst", arguments.output.display()),
        _ => Packed::Plain,
    };
    let schema = Arc::clone(added.schema());
    Ok(match format {
        Format::Parquet => {
            let compression = arguments.compression;
            let properties = WriterProperties::builder().set_compression(compression.of_parquet());
            let writer = ArrowWriter::try_new(Vec::new(), added.plain_schema(), Some(properties.build()))?;
            let (writer, row_groups) = writer.into_serialized_writer()?;
            let numbered = added.values().iter().map(|values| Numbered::new(values.as_ref()?).map(Arc::new));
            let numbered: Vec<_> = numbered.collect();
            let leaves = writer.schema_descr();
            let column = |leaf| (leaves.column(leaf), numbered[leaves.get_column_root_idx(leaf)].clone());
            let columns = (0..leaves.num_columns()).map(column).collect();
            let parquet = Parquet { row_groups, schema, compression, columns };
            (Encoder::Parquet(Box::new(parquet)), Writer::Parquet(Some(Box::new(writer))))
        }
        Format::Csv => separated(arguments.data_delimiter, packed, &schema, rows)?,
        Format::Tsv => separated(b'\t', packed, &schema, rows)?,
        _ => {
            let rows = rows.map(|(rows, _)| rows);
            (Encoder::Ndjson { packed, rows }, Writer::Text(Vec::new()))
        }
    })
}

fn separated(
    delimiter: u8,
    packed: Packed,
    schema: &SchemaRef,
    rows: Option<(usize, Option<&[u8]>)>,
) -> Result<(Encoder, Writer)> {
    if let Some(field) = schema.fields().iter().find(|field| field.data_type().is_nested()) {
        bail!(
            "column {}: lists and objects are not written as CSV, only as NDJSON and Parquet",
            field.name()
        );
    }
    let names = |schema: SchemaRef| -> Result<Vec<u8>> {
        let mut header = arrow_csv::WriterBuilder::new().with_delimiter(delimiter).build(Vec::new());
        header.write(&RecordBatch::new_empty(schema))?;
        Ok(header.into_inner())
    };
    let header = match rows {
        Some((rows, Some(header))) => {
            let mut out = Vec::new();
            let mut added =
                names(Arc::new(schema.project(&(rows + 1..schema.fields().len()).collect::<Vec<_>>())?))?;
            added.insert(0, delimiter);
            append_fields(header, &added, &mut out);
            out
        }
        _ => names(Arc::clone(schema))?,
    };
    let rows = rows.map(|(rows, _)| rows);
    Ok((Encoder::Separated { delimiter, packed, rows }, Writer::Text(packed.pack(header)?)))
}

impl Compression {
    fn of_parquet(self) -> basic::Compression {
        match self {
            Self::None => basic::Compression::UNCOMPRESSED,
            Self::Snappy => basic::Compression::SNAPPY,
            Self::Lz4 => basic::Compression::LZ4_RAW,
            Self::Zstd => basic::Compression::ZSTD(basic::ZstdLevel::default()),
        }
    }
}

impl Encoder {
    /// Begins the part of a number, counted from 0.
    pub(super) fn begin(&self, number: usize) -> Result<Encoding> {
        Ok(match self {
            Self::Parquet(parquet) => {
                let writers = parquet.row_groups.create_column_writers(number)?.into_iter();
                let columns = writers.zip(&parquet.columns).map(|(writer, column)| match column {
                    (_, None) => Column::Plain(Box::new(writer)),
                    (leaf, Some(numbered)) => {
                        let chunk = Chunk::new(Arc::clone(numbered), Arc::clone(leaf), parquet.compression);
                        Column::Numbered(Box::new(chunk))
                    }
                });
                Encoding::Parquet { columns: columns.collect(), schema: Arc::clone(&parquet.schema) }
            }
            Self::Separated { delimiter, packed, rows: Some(rows) } => {
                let delimiter = Some(*delimiter);
                Encoding::Rows { out: Vec::new(), rows: *rows, delimiter, packed: *packed }
            }
            Self::Separated { delimiter, packed, rows: None } => {
                let writer = arrow_csv::WriterBuilder::new().with_delimiter(*delimiter).with_header(false);
                Encoding::Separated { writer: Box::new(writer.build(Vec::new())), packed: *packed }
            }
            Self::Ndjson { packed, rows: None } => {
                Encoding::Ndjson { writer: json_writer(), packed: *packed }
            }
            Self::Ndjson { packed, rows: Some(rows) } => {
                Encoding::Rows { out: Vec::new(), rows: *rows, delimiter: None, packed: *packed }
            }
        })
    }
}

impl Encoding {
    /// Adds records.
    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        match self {
            Self::Parquet { columns, schema } => {
                let mut columns = columns.iter_mut().peekable();
                for (field, array) in schema.fields().iter().zip(batch.columns()) {
                    // A numbered column is one leaf.
                    if let Some(Column::Numbered(chunk)) = columns.next_if(|column| column.is_numbered()) {
                        chunk.write(array.as_dictionary::<UInt32Type>().keys())?;
                        continue;
                    }
                    for (leaf, column) in compute_leaves(field, array)?.iter().zip(columns.by_ref()) {
                        if let Column::Plain(writer) = column {
                            writer.write(leaf)?;
                        }
                    }
                }
            }
            Self::Separated { writer, .. } => writer.write(batch)?,
            Self::Ndjson { writer, .. } => writer.write(batch)?,
            Self::Rows { out, rows, delimiter: Some(delimiter), .. } => {
                // A column of nulls before the others is nothing before the first delimiter.
                let nothing: ArrayRef = Arc::new(BooleanArray::new_null(batch.num_rows()));
                let field = Arc::new(Field::new("", DataType::Boolean, true));
                let fields = batch.schema().fields()[*rows + 1..].to_vec();
                let arrays = batch.columns()[*rows + 1..].to_vec();
                let schema = Schema::new([vec![field], fields].concat());
                let added = RecordBatch::try_new(Arc::new(schema), [vec![nothing], arrays].concat())?;
                let writer = arrow_csv::WriterBuilder::new().with_delimiter(*delimiter).with_header(false);
                let mut writer = writer.build(Vec::new());
                writer.write(&added)?;
                let added = writer.into_inner();
                let rows = batch.column(*rows).as_binary::<i32>().iter().flatten();
                for (row, added) in rows.zip(records(&added)) {
                    append_fields(row, added, out);
                }
            }
            Self::Rows { out, rows, delimiter: None, .. } => {
                let added: Vec<usize> = (*rows + 1..batch.num_columns()).collect();
                let mut writer = json_writer();
                writer.write(&batch.project(&added)?)?;
                writer.finish()?;
                let added = writer.into_inner();
                let rows = batch.column(*rows).as_binary::<i32>().iter().flatten();
                for (row, added) in rows.zip(added.split(|&byte| byte == b'\n')) {
                    append(row, added, out);
                }
            }
        }
        Ok(())
    }

    /// Ends the part.
    pub(super) fn finish(self) -> Result<Encoded> {
        Ok(match self {
            Self::Parquet { columns, .. } => {
                Encoded::RowGroup(columns.into_iter().map(Column::finish).collect::<Result<_>>()?)
            }
            Self::Separated { writer, packed } => Encoded::Text(packed.pack(writer.into_inner())?),
            Self::Ndjson { mut writer, packed } => {
                writer.finish()?;
                Encoded::Text(packed.pack(writer.into_inner())?)
            }
            Self::Rows { out, packed, .. } => Encoded::Text(packed.pack(out)?),
        })
    }
}

fn json_writer() -> arrow_json::Writer<Vec<u8>, LineDelimited> {
    // A null is written: it is not the absence of a key.
    JsonWriterBuilder::new().with_explicit_nulls(true).build(Vec::new())
}

/// Writes a JSON object with the fields of another one at its end.
fn append(row: &[u8], added: &[u8], out: &mut Vec<u8>) {
    let fields = row.strip_suffix(b"}").unwrap_or(row).trim_ascii_end();
    out.extend_from_slice(fields);
    if fields.last() != Some(&b'{') {
        out.push(b',');
    }
    out.extend_from_slice(added.strip_prefix(b"{").unwrap_or(added));
    out.push(b'\n');
}

/// Returns the records of separated values as they are written, without their line breaks.
fn records(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut is_quoted = false;
    text.split(move |&byte| {
        is_quoted ^= byte == b'"';
        byte == b'\n' && !is_quoted
    })
}

/// Writes a row of separated values with others at its end, which begin with a delimiter.
pub(super) fn append_fields(row: &[u8], added: &[u8], out: &mut Vec<u8>) {
    let end = if row.ends_with(b"\r\n") { 2 } else { 1 };
    let (row, end) = row.split_at(row.len().saturating_sub(end));
    out.extend_from_slice(row);
    out.extend_from_slice(added.strip_suffix(b"\n").unwrap_or(added));
    out.extend_from_slice(end);
}

impl Column {
    fn is_numbered(&self) -> bool {
        matches!(self, Self::Numbered(_))
    }

    fn finish(self) -> Result<Written> {
        Ok(match self {
            Self::Plain(writer) => Written::Plain(writer.close()?),
            Self::Numbered(chunk) => {
                let (bytes, close) = chunk.finish()?;
                Written::Numbered(bytes, close)
            }
        })
    }
}

impl Packed {
    fn pack(self, text: Vec<u8>) -> io::Result<Vec<u8>> {
        match self {
            Self::Plain => Ok(text),
            Self::Gzip => {
                let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
                packed.write_all(&text)?;
                packed.finish()
            }
            Self::Zstd => zstd::encode_all(&*text, zstd::DEFAULT_COMPRESSION_LEVEL),
        }
    }
}

impl Writer {
    /// Writes what comes before the first part.
    pub(super) fn begin(&mut self, out: &mut dyn Write) -> Result<()> {
        match self {
            Self::Text(header) => Ok(out.write_all(header)?),
            Self::Parquet(_) => Ok(()),
        }
    }

    /// Writes a part.
    pub(super) fn write(&mut self, part: Encoded, out: &mut dyn Write) -> Result<()> {
        match (self, part) {
            (_, Encoded::Text(text)) => out.write_all(&text)?,
            (Self::Parquet(Some(writer)), Encoded::RowGroup(columns)) => {
                let mut group = writer.next_row_group()?;
                columns.into_iter().try_for_each(|column| match column {
                    Written::Plain(column) => column.append_to_row_group(&mut group),
                    Written::Numbered(bytes, close) => group.append_column(&bytes, close),
                })?;
                group.close()?;
                out.write_all(&std::mem::take(writer.inner_mut()))?;
            }
            (_, Encoded::RowGroup(_)) => bail!("a row group after the end of Parquet"),
        }
        Ok(())
    }

    /// Writes what comes after the last part.
    pub(super) fn finish(&mut self, out: &mut dyn Write) -> Result<()> {
        if let Self::Parquet(writer) = self
            && let Some(writer) = writer.take()
        {
            out.write_all(&writer.into_inner()?)?;
        }
        Ok(())
    }
}
