//! [`Input`]: records in parts, each for one thread.

mod csv_rows;
mod lines;
mod parquet_file;

pub(super) use csv_rows::{ROW_BYTES, Records};

use super::super::Arguments;
use super::nested::Place;
use crate::reading::Bar;
use anyhow::{Context, anyhow};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_json::reader::infer_json_schema;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use fibula_io::Source;
use fibula_io::table::Format;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead, BufReader, Cursor, Read};
use std::sync::Arc;

/// The rows of a batch: its arrays stay in the second-level cache.
const BATCH_ROWS: usize = 8192;

/// The batches of a part of CSV or NDJSON, which becomes a row group where Parquet is written.
const PART_BATCHES: usize = 16;

/// The bytes from which the types of NDJSON are taken.
const SAMPLE_BYTES: u64 = 16 << 20;

/// The batches of a part.
type Batches = Box<dyn Iterator<Item = anyhow::Result<RecordBatch>>>;

/// Records that follow one another in the input.
pub(super) struct Part {
    /// Counts the parts from 0.
    pub(super) number: usize,
    /// The row of its first record, counted from 0.
    pub(super) first_row: u64,
    open: Box<dyn FnOnce() -> anyhow::Result<Batches> + Send>,
}

impl Part {
    /// Reads its batches.
    pub(super) fn read(self) -> anyhow::Result<Batches> {
        (self.open)()
    }
}

type Parts = Box<dyn Iterator<Item = anyhow::Result<Part>> + Send>;

/// Records that are read as a stream.
pub(super) struct Input {
    schema: SchemaRef,
    /// The names of all columns, where the schema has only those of addresses and then the rows.
    names: Option<Vec<String>>,
    /// The first line of CSV whose rows are written as they were read.
    header: Option<Vec<u8>>,
    parts: Parts,
}

impl Input {
    /// Opens a file, or `-`, and reads what its columns are. Rows that stay in their format are
    /// written as they were read.
    pub(super) fn open(
        arguments: &Arguments,
        format: Format,
        output: Format,
        bar: &Bar,
    ) -> anyhow::Result<Self> {
        match format {
            Format::Parquet => {
                let (schema, parts) = parquet_file::open(&arguments.input, bar)?;
                Ok(Self { schema, names: None, header: None, parts })
            }
            Format::Csv => csv(arguments, arguments.data_delimiter, format == output, bar),
            Format::Tsv => csv(arguments, b'\t', format == output, bar),
            _ => ndjson(arguments, format == output, bar),
        }
    }

    /// Returns the first line of CSV whose rows are written as they were read.
    pub(super) fn header(&self) -> Option<&[u8]> {
        self.header.as_deref()
    }

    /// Returns the names of all columns where rows are written as they were read.
    pub(super) fn names(&self) -> Option<&[String]> {
        self.names.as_deref()
    }

    pub(super) fn schema(&self) -> &Schema {
        &self.schema
    }

    pub(super) fn parts(self) -> Parts {
        self.parts
    }
}

/// Returns what holds the addresses in the first rows of a Parquet file.
pub(super) fn sample(name: &str, place: &Place) -> anyhow::Result<Vec<ArrayRef>> {
    Ok(parquet_file::first(name, place.column)?.map_or_else(Vec::new, |column| place.leaves(&column)))
}

/// Opens lines. Also returns the first bytes of what will be read.
fn lines(
    arguments: &Arguments,
    sample: u64,
    bar: &Bar,
) -> anyhow::Result<(Vec<u8>, impl BufRead + Send + use<>)> {
    let name = &*arguments.input;
    let mut content = Source::from(name).open(Some(bar.progress()))?.encoded(arguments.data_encoding);
    let mut head = Vec::new();
    content.by_ref().take(sample).read_to_end(&mut head).with_context(|| name.to_owned())?;
    Ok((head.clone(), BufReader::with_capacity(1 << 20, Cursor::new(head).chain(content))))
}

/// All columns are text, so that no value is written in another way than it was read.
fn csv(arguments: &Arguments, delimiter: u8, is_as_read: bool, bar: &Bar) -> anyhow::Result<Input> {
    /// The longest header line.
    const HEADER_BYTES: u64 = 1 << 20;
    let name = &*arguments.input;
    let (head, lines) = lines(arguments, HEADER_BYTES, bar)?;
    let format = arrow_csv::reader::Format::default().with_header(true).with_delimiter(delimiter);
    let (header, _) = format.infer_schema(&*head, Some(0)).with_context(|| name.to_owned())?;
    let fields = header.fields().iter().map(|field| Field::new(field.name(), DataType::Utf8, true));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let mut rows = csv_rows::Rows::new(name, Arc::clone(&schema), delimiter, arguments.errors, lines);
    if !is_as_read {
        let parts = in_parts(name, full_batches(move || rows.batch()));
        return Ok(Input { schema, names: None, header: None, parts });
    }
    let mut asked: Vec<usize> = Vec::new();
    for column in &arguments.columns {
        let place = super::added::find(&schema, column).with_context(|| name.to_owned())?.column;
        if !asked.contains(&place) {
            asked.push(place);
        }
    }
    let fields = asked.iter().map(|&at| Arc::clone(&schema.fields()[at])).collect();
    let names = schema.fields().iter().map(|field| field.name().clone()).collect();
    let schema = lines::schema(fields);
    let (mut rows, header) = rows.keeping(Arc::clone(&schema), asked).with_context(|| name.to_owned())?;
    let parts = in_parts(name, full_batches(move || rows.batch()));
    Ok(Input { schema, names: Some(names), header: Some(header), parts })
}

fn ndjson(arguments: &Arguments, is_as_read: bool, bar: &Bar) -> anyhow::Result<Input> {
    let name = &*arguments.input;
    let (mut head, lines) = lines(arguments, SAMPLE_BYTES, bar)?;
    if head.len() as u64 == SAMPLE_BYTES {
        let whole = memchr::memrchr(b'\n', &head).map_or(head.len(), |newline| newline + 1);
        head.truncate(whole);
    }
    if is_as_read {
        let (names, asked) = lines::asked(&head, &arguments.columns).with_context(|| name.to_owned())?;
        let (asked, _) = infer_json_schema(&*asked, None).with_context(|| name.to_owned())?;
        let asked = exact(asked, &head).with_context(|| name.to_owned())?;
        for column in &arguments.columns {
            let listed = names.join(", ");
            Place::find(&asked, column)
                .with_context(|| format!("{name}: no column {column:?}, expected one of {listed}"))?;
        }
        let schema = lines::schema(asked.fields().to_vec());
        let mut rows = lines::Lines::new(Arc::clone(&schema), lines)?;
        let parts = in_parts(name, full_batches(move || rows.batch()));
        return Ok(Input { schema, names: Some(names), header: None, parts });
    }
    let (schema, _) = infer_json_schema(&*head, None).with_context(|| name.to_owned())?;
    let schema = Arc::new(exact(schema, &head).with_context(|| name.to_owned())?);
    let reader = arrow_json::ReaderBuilder::new(Arc::clone(&schema)).with_strict_mode(true);
    let batches = reader.with_batch_size(BATCH_ROWS).build(lines)?;
    Ok(Input { schema, names: None, header: None, parts: in_parts(name, batches) })
}

/// Gives columns of integers past 2^63 a type that holds them. Arrow takes them for floating-point
/// numbers, which do not.
fn exact(schema: Schema, sample: &[u8]) -> anyhow::Result<Schema> {
    const EXACT: u64 = 1 << 53;
    let is_float = |field: &Field| *field.data_type() == DataType::Float64;
    if !schema.fields().iter().any(|field| is_float(field)) {
        return Ok(schema);
    }
    // Of each such column: a large integer, and what is no integer of 64 bits without a sign.
    let mut found: HashMap<String, (Option<String>, Option<String>)> = HashMap::new();
    for line in sample.split(|&byte| byte == b'\n').filter(|line| !line.trim_ascii().is_empty()) {
        let Ok(row) = serde_json::from_slice::<BTreeMap<Cow<'_, str>, &RawValue>>(line) else { continue };
        for (name, value) in row {
            let text = value.get();
            let is_number = text.starts_with(|c: char| c == '-' || c.is_ascii_digit());
            if !is_number || !schema.field_with_name(&name).is_ok_and(is_float) {
                continue;
            }
            let (large, other) = found.entry(name.into_owned()).or_default();
            let digits = text.strip_prefix('-').unwrap_or(text);
            if digits.bytes().all(|byte| byte.is_ascii_digit())
                && digits.parse::<u64>().map_or(true, |number| number > EXACT)
            {
                large.get_or_insert_with(|| text.to_owned());
            }
            if text.parse::<u64>().is_err() {
                other.get_or_insert_with(|| text.to_owned());
            }
        }
    }
    let exact = |field: &Arc<Field>| match found.get(field.name()) {
        Some((Some(large), Some(other))) => {
            let name = field.name();
            Err(anyhow!("column {name:?}: no number type of 64 bits holds both {large} and {other} exactly"))
        }
        Some((Some(_), None)) => Ok(Field::new(field.name(), DataType::UInt64, true).into()),
        _ => Ok(Arc::clone(field)),
    };
    let fields: Vec<Arc<Field>> = schema.fields().iter().map(exact).collect::<Result<_, _>>()?;
    Ok(Schema::new(fields))
}

/// Returns the batches that `read` reads, up to one that is not full, or to an error.
fn full_batches(
    mut read: impl FnMut() -> Result<RecordBatch, ArrowError>,
) -> impl Iterator<Item = Result<RecordBatch, ArrowError>> {
    let mut has_ended = false;
    std::iter::from_fn(move || {
        if has_ended {
            return None;
        }
        let batch = read();
        let rows = batch.as_ref().map_or(0, RecordBatch::num_rows);
        has_ended = rows < BATCH_ROWS;
        (rows > 0 || batch.is_err()).then_some(batch)
    })
}

/// Joins batches into parts.
fn in_parts(
    name: &str,
    mut batches: impl Iterator<Item = Result<RecordBatch, ArrowError>> + Send + 'static,
) -> Parts {
    let name = name.to_owned();
    let (mut number, mut row) = (0, 0);
    Box::new(std::iter::from_fn(move || {
        let joined: Result<Vec<RecordBatch>, _> = batches.by_ref().take(PART_BATCHES).collect();
        let joined = match joined {
            Ok(joined) if joined.is_empty() => return None,
            Ok(joined) => joined,
            Err(error) => return Some(Err(error).context(name.clone())),
        };
        let (part, first_row) = (number, row);
        number += 1;
        row += joined.iter().map(|batch| batch.num_rows() as u64).sum::<u64>();
        let open = move || Ok(Box::new(joined.into_iter().map(Ok)) as Batches);
        Some(Ok(Part { number: part, first_row, open: Box::new(open) }))
    }))
}
