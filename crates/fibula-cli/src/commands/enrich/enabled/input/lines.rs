//! [`Lines`]: rows of NDJSON that are written as they were read. Of each only the columns of
//! addresses are parsed, beside a column of the rows themselves.

use super::{BATCH_ROWS, ROW_BYTES};
use anyhow::Context;
use arrow_array::builder::BinaryBuilder;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_json::ReaderBuilder;
use arrow_json::reader::Decoder;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::io::{BufRead, Read, Write};
use std::sync::Arc;

/// The name of the column of rows, which is the last. No key of JSON is shorter, and one that is as
/// short is another column.
const ROWS: &str = "";

/// Returns the schema of batches of these columns of addresses and of their rows.
pub(super) fn schema(asked: Vec<Arc<Field>>) -> SchemaRef {
    let rows = Field::new(ROWS, DataType::Binary, false);
    Arc::new(Schema::new(asked.into_iter().chain([Arc::new(rows)]).collect::<Vec<_>>()))
}

/// Returns the names of all columns of some rows, in the order in which they come, and the rows
/// with the columns alone that have addresses.
pub(super) fn asked(rows: &[u8], columns: &[String]) -> anyhow::Result<(Vec<String>, Vec<u8>)> {
    let (mut names, mut known) = (Vec::new(), HashSet::new());
    let mut asked = Vec::new();
    for (row, number) in rows.split(|&byte| byte == b'\n').zip(1..) {
        let row = row.trim_ascii();
        if row.is_empty() {
            continue;
        }
        let fields: Row<'_> = serde_json::from_slice(row)
            .with_context(|| format!("line {number}: expected one JSON object a line"))?;
        let mut separator = '{';
        for (name, value) in fields.0 {
            let is_asked = |column: &String| {
                column.strip_prefix(&*name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            };
            if columns.iter().any(is_asked) {
                write!(asked, "{separator}{}:{value}", Value::from(&*name))?;
                separator = ',';
            }
            if !known.contains(&*name) {
                known.insert(name.clone().into_owned());
                names.push(name.into_owned());
            }
        }
        asked.extend_from_slice(if separator == '{' { b"{}\n" } else { b"}\n" });
    }
    Ok((names, asked))
}

/// The fields of a row, in their order.
struct Row<'r>(Vec<(Cow<'r, str>, &'r RawValue)>);

impl<'r> Deserialize<'r> for Row<'r> {
    fn deserialize<D: Deserializer<'r>>(row: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'r> Visitor<'r> for Fields {
            type Value = Row<'r>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<M: MapAccess<'r>>(self, mut fields: M) -> Result<Row<'r>, M::Error> {
                let mut all = Vec::new();
                while let Some((Name(name), value)) = fields.next_entry()? {
                    all.push((name, value));
                }
                Ok(Row(all))
            }
        }
        row.deserialize_map(Fields)
    }
}

/// A name, borrowed where nothing in it is escaped.
#[derive(Deserialize)]
struct Name<'r>(#[serde(borrow)] Cow<'r, str>);

/// Batches of rows.
pub(super) struct Lines<R> {
    input: R,
    schema: SchemaRef,
    decoder: Decoder,
    line: Vec<u8>,
    /// The lines read so far.
    number: u64,
}

impl<R: BufRead> Lines<R> {
    /// Reads rows as batches of a [schema].
    pub(super) fn new(schema: SchemaRef, input: R) -> Result<Self, ArrowError> {
        let asked = Arc::new(Schema::new(schema.fields()[..schema.fields().len() - 1].to_vec()));
        let decoder = ReaderBuilder::new(asked).with_batch_size(BATCH_ROWS).build_decoder()?;
        Ok(Self { input, schema, decoder, line: Vec::new(), number: 0 })
    }

    /// Reads the next line. Returns false at the end.
    fn read(&mut self) -> Result<bool, ArrowError> {
        self.line.clear();
        self.number += 1;
        let read = self.input.by_ref().take(ROW_BYTES).read_until(b'\n', &mut self.line);
        let failed = |what: String| ArrowError::JsonError(format!("line {}: {what}", self.number));
        match read.map_err(|error| failed(error.to_string()))? as u64 {
            ROW_BYTES => Err(failed(format!("more than {ROW_BYTES} bytes, the limit of a row"))),
            read => Ok(read > 0),
        }
    }

    /// Reads up to a batch.
    pub(super) fn batch(&mut self) -> Result<RecordBatch, ArrowError> {
        let mut rows = BinaryBuilder::new();
        let mut count = 0;
        while count < BATCH_ROWS {
            if !self.read()? {
                break;
            }
            let row = self.line.trim_ascii();
            if row.is_empty() {
                continue;
            }
            count += 1;
            let failed =
                |what: &dyn std::fmt::Display| ArrowError::JsonError(format!("line {}: {what}", self.number));
            self.decoder.decode(row).map_err(|error| failed(&error))?;
            if !row.starts_with(b"{") || self.decoder.has_partial_record() || self.decoder.len() != count {
                return Err(failed(&"expected one JSON object a line"));
            }
            rows.append_value(row);
        }
        let Some(asked) = self.decoder.flush()? else {
            return Ok(RecordBatch::new_empty(Arc::clone(&self.schema)));
        };
        let columns = asked.columns().iter().cloned().chain([Arc::new(rows.finish()) as ArrayRef]);
        RecordBatch::try_new(Arc::clone(&self.schema), columns.collect())
    }
}
