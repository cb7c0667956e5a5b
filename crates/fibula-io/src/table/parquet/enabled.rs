//! Reads and writes with the `parquet` crate.

use super::super::builder::{Builder, Trouble};
use super::super::columns::{self, Addresses, Net};
use super::super::{ReadOptions, Tables, rows};
use crate::{Damage, Place, caught};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{Array, RecordBatch, StringArray, downcast_integer_array};
use arrow_schema::{DataType, Field, Schema};
use bytes::Bytes;
use fibula::{Address, NextHop, Rib};
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::arrow::{ArrowWriter, ProjectionMask};
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use parquet::file::properties::WriterProperties;
use smallvec::SmallVec;
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::fmt::Display;
use std::io::{self, Write};
use std::sync::Arc;

/// The routes that are read or written at once.
const BATCH_ROWS: usize = 8192;

/// The bytes of the rows that are read at once, by their mean.
const BATCH_BYTES: u64 = 8 << 20;

/// Returns the bytes of a row group's values in memory, as far as the file says: a text that the
/// file has once, in a dictionary, is unpacked for each of its rows.
#[doc(hidden)]
#[must_use]
pub fn unpacked_bytes(group: &RowGroupMetaData) -> u64 {
    let of = |column: &ColumnChunkMetaData| {
        let texts = column.unencoded_byte_array_data_bytes().unwrap_or(0);
        texts.max(column.uncompressed_size()).unsigned_abs()
    };
    group.columns().iter().map(of).fold(0, u64::saturating_add)
}

/// Reads a file that is held in memory.
pub(in super::super) fn read(
    bytes: Vec<u8>,
    options: &ReadOptions,
    builder: &mut Builder,
) -> Result<(), Damage> {
    caught(|| read_file(bytes.into(), options, builder))
        .unwrap_or_else(|| Err(Damage::byte(0, "the Parquet file is damaged")))
}

fn read_file(bytes: Bytes, options: &ReadOptions, builder: &mut Builder) -> Result<(), Damage> {
    let damaged = |error: &dyn Display| Damage::byte(0, format!("Parquet: {error}"));
    // The types that Arrow noted in the file would only bring more kinds of text.
    let plain = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let file =
        ParquetRecordBatchReaderBuilder::try_new_with_options(bytes, plain).map_err(|e| damaged(&e))?;
    let names = file.schema().fields().iter().map(|field| field.name().clone()).collect();
    let chosen = columns::choose(names, &options.columns).map_err(|what| Damage::byte(0, what))?;
    chosen.begin(Place::Row(1), builder)?;
    for (column, &value) in builder.columns.iter_mut().zip(&chosen.values) {
        column.is_text |= matches!(file.schema().field(value).data_type(), DataType::Utf8 | DataType::Binary);
    }
    let (first, second) = chosen.net.columns();
    let nets: Vec<usize> = [Some(first), second].into_iter().flatten().collect();
    let wanted = nets.iter().chain(&chosen.values).copied();
    let mask = ProjectionMask::roots(file.parquet_schema(), wanted.clone());
    let rows_at_once = |group: &RowGroupMetaData| {
        BATCH_BYTES.saturating_mul(group.num_rows().unsigned_abs()) / unpacked_bytes(group).max(1)
    };
    let groups = file.metadata().row_groups().iter().filter(|group| group.num_rows() > 0);
    let rows = groups.map(rows_at_once).fold(BATCH_ROWS as u64, u64::min).max(1) as usize;
    let batches = file.with_projection(mask).with_batch_size(rows).build().map_err(|e| damaged(&e))?;
    // The columns that are left keep the order of the file.
    let place = |column: usize| wanted.clone().filter(|&other| other < column).collect::<BTreeSet<_>>().len();
    let (nets, values): (Vec<usize>, Vec<usize>) = (
        nets.iter().map(|&net| place(net)).collect(),
        chosen.values.iter().map(|&value| place(value)).collect(),
    );
    let mut routes = Routes { net: chosen.net, options, builder, rows: 0, known: HashMap::new() };
    for batch in batches {
        let batch = batch.map_err(|e| damaged(&e))?;
        let of = |columns: &[usize]| {
            columns.iter().map(|&column| batch.column(column).as_ref()).collect::<Vec<_>>()
        };
        routes.read(&of(&nets), &of(&values))?;
    }
    Ok(())
}

/// The rows of a file as routes.
struct Routes<'a> {
    net: Net,
    options: &'a ReadOptions,
    builder: &'a mut Builder,
    /// The rows read so far.
    rows: u64,
    /// The next hops of the values read so far.
    known: HashMap<Vec<u8>, NextHop>,
}

impl Routes<'_> {
    /// Reads the next rows: the columns of prefixes, or of the first and last address, and those of
    /// values.
    fn read(&mut self, nets: &[&dyn Array], values: &[&dyn Array]) -> Result<(), Damage> {
        let has_fields = values.len() > 1;
        let nets_at = texts_of("prefixes", nets, false)?;
        let values_at = texts_of("values", values, has_fields)?;
        for index in 0..nets[0].len() {
            self.rows += 1;
            let is_null = |array: &&dyn Array| array.is_null(index);
            // Without a netmask an address stands for itself.
            let needed = if matches!(self.net, Net::Masked(..)) { &nets[..1] } else { nets };
            let read = if needed.iter().any(is_null) || !has_fields && values.iter().any(is_null) {
                Err("null, expected a prefix and its value".into())
            } else {
                self.push(&row(&nets_at, nets, index), &row(&values_at, values, index))
            };
            self.builder.settled(Place::Row(self.rows), read)?;
        }
        Ok(())
    }

    fn push(&mut self, net: &[Cow<'_, [u8]>], values: &[Cow<'_, [u8]>]) -> Result<(), Trouble> {
        let place = Place::Row(self.rows);
        let value = match values {
            [] => Cow::Borrowed(columns::LISTED.as_bytes()),
            [one] => Cow::Borrowed(one.trim_ascii()),
            several => Cow::Owned(columns::joined(several)?),
        };
        let next_hop = if let Some(&known) = self.known.get(&*value) {
            known
        } else {
            if value.is_empty() {
                return Err("the value is empty, expected a next hop or AS".into());
            }
            let info = rows::read_fields(&value, values.len() > 1, self.options.value)?;
            let new = self.builder.intern(place, info)?;
            self.known.insert(value.into_owned(), new);
            new
        };
        let second = net.get(1).map_or(&b""[..], |second| second);
        match self.net.addresses(&net[0], second, self.options.mask_host_bits)? {
            Addresses::Prefix(prefix) => self.builder.push(place, prefix, next_hop)?,
            Addresses::Range(first, last) => {
                for prefix in rows::range(first, last)? {
                    self.builder.push(place, prefix, next_hop)?;
                }
            }
        }
        Ok(())
    }
}

/// The text of a row.
type TextAt<'a> = Box<dyn Fn(usize) -> Cow<'a, [u8]> + 'a>;

/// Returns what tells the texts of some columns.
fn texts_of<'a>(kind: &str, arrays: &[&'a dyn Array], any: bool) -> Result<Vec<TextAt<'a>>, Damage> {
    let wrong = |array: &dyn Array| {
        Damage::byte(0, format!("the column of {kind} is {}, expected text", array.data_type()))
    };
    arrays.iter().map(|&array| texts(array, any).ok_or_else(|| wrong(array))).collect()
}

/// Returns the texts of a row, empty where there is none.
fn row<'a>(texts: &[TextAt<'a>], arrays: &[&dyn Array], index: usize) -> SmallVec<[Cow<'a, [u8]>; 2]> {
    let text = |(at, array): (&TextAt<'a>, &&dyn Array)| {
        if array.is_null(index) { Cow::Borrowed(&b""[..]) } else { at(index) }
    };
    texts.iter().zip(arrays).map(text).collect()
}

/// Returns what tells the text of each row, or `None` where the column is not one of texts or
/// integers. `any` takes floating-point numbers and truth values too.
fn texts(array: &dyn Array, any: bool) -> Option<TextAt<'_>> {
    downcast_integer_array! {
        array => Some(Box::new(|index| array.value(index).to_string().into_bytes().into())),
        DataType::Utf8 => {
            let array = array.as_string::<i32>();
            Some(Box::new(|index| array.value(index).as_bytes().into()))
        }
        DataType::Binary => {
            let array = array.as_binary::<i32>();
            Some(Box::new(|index| array.value(index).into()))
        }
        DataType::Float64 if any => {
            let array = array.as_primitive::<Float64Type>();
            Some(Box::new(|index| number(array.value(index)).into()))
        }
        DataType::Float32 if any => {
            let array = array.as_primitive::<Float32Type>();
            Some(Box::new(|index| number(array.value(index)).into()))
        }
        DataType::Boolean if any => {
            let array = array.as_boolean();
            Some(Box::new(|index| array.value(index).to_string().into_bytes().into()))
        }
        _ => None
    }
}

/// Returns a floating-point number as JSON has it, which has none but the finite.
fn number(value: impl Into<serde_json::Value>) -> Vec<u8> {
    match value.into() {
        serde_json::Value::Null => Vec::new(),
        number => number.to_string().into_bytes(),
    }
}

/// Writes tables whose next hops have these names. The file is made in memory, since its writer
/// goes to other threads.
pub(in super::super) fn write(tables: &Tables, names: &[String], out: &mut dyn Write) -> io::Result<()> {
    let columns = ["prefix", "value"].map(|name| Field::new(name, DataType::Utf8, false));
    let schema = Arc::new(Schema::new(columns.to_vec()));
    let properties = WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default()));
    let mut file = ArrowWriter::try_new(Vec::new(), Arc::clone(&schema), Some(properties.build()))?;
    write_rib(&tables.ipv4, names, &schema, &mut file)?;
    write_rib(&tables.ipv6, names, &schema, &mut file)?;
    out.write_all(&file.into_inner()?)
}

fn write_rib<A: Address>(
    rib: &Rib<A>,
    names: &[String],
    schema: &Arc<Schema>,
    file: &mut ArrowWriter<Vec<u8>>,
) -> io::Result<()> {
    let mut routes = rib.iter().peekable();
    while routes.peek().is_some() {
        let (mut prefixes, mut values) = (Vec::new(), Vec::new());
        for route in routes.by_ref().take(BATCH_ROWS) {
            prefixes.push(route.prefix.to_string());
            values.push(super::super::write::name_of(names, &route)?);
        }
        let columns: [Arc<dyn Array>; 2] =
            [Arc::new(StringArray::from(prefixes)), Arc::new(StringArray::from(values))];
        let batch = RecordBatch::try_new(Arc::clone(schema), columns.to_vec()).map_err(io::Error::other)?;
        file.write(&batch)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::super::{Columns, Format, ReadOptions, Tables, parse, write};
    use super::*;
    use arrow_array::{ArrayRef, BinaryArray, Float64Array, Int64Array, UInt32Array};

    fn file(columns: Vec<(&str, ArrayRef)>) -> Vec<u8> {
        let batch = RecordBatch::try_from_iter_with_nullable(
            columns.into_iter().map(|(name, array)| (name, array, true)),
        )
        .unwrap();
        let mut file = ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
        file.write(&batch).unwrap();
        file.into_inner().unwrap()
    }

    fn strings(texts: &[Option<&str>]) -> ArrayRef {
        Arc::new(texts.iter().copied().collect::<StringArray>())
    }

    fn error(columns: Vec<(&str, ArrayRef)>) -> String {
        parse(&file(columns), &ReadOptions::default()).unwrap_err().to_string()
    }

    #[test]
    fn a_table_that_is_written_is_read_back() {
        let text = b"10.0.0.0/8 192.0.2.1 dev eth0\n10.1.0.0/16 64500\n2001:db8::/32 a # b\n";
        let tables = parse(text, &ReadOptions::default()).unwrap().tables;
        let mut bytes = Vec::new();
        write(&tables, Format::Parquet, &mut bytes).unwrap();
        let loaded = parse(&bytes, &ReadOptions::default()).unwrap();
        assert_eq!((loaded.format, &loaded.tables), (Format::Parquet, &tables));
        let mut none = Vec::new();
        write(&Tables::default(), Format::Parquet, &mut none).unwrap();
        assert_eq!(parse(&none, &ReadOptions::default()).unwrap().tables, Tables::default());
    }

    #[test]
    fn a_text_that_the_file_has_once_counts_for_each_of_its_rows() {
        let text = "x".repeat(100_000);
        let (nets, texts) = (vec![Some("10.0.0.0/8"); 1000], vec![Some(&*text); 1000]);
        let file =
            file(vec![("prefix", strings(&nets)), ("value", strings(&nets)), ("note", strings(&texts))]);
        assert!(file.len() < 1_000_000);
        let read = ParquetRecordBatchReaderBuilder::try_new(Bytes::from(file.clone())).unwrap();
        assert!(unpacked_bytes(read.metadata().row_group(0)) >= 100_000_000);
        let tables = parse(&file, &ReadOptions::default()).unwrap().tables;
        assert_eq!(tables.ipv4.len(), 1);
    }

    #[test]
    fn columns_are_found_by_name_in_any_order_and_type() {
        let bytes = Arc::new(BinaryArray::from(vec![&b"10.0.0.0/8"[..], b"2001:db8::/32"]));
        for numbers in
            [Arc::new(UInt32Array::from(vec![7, 8])) as ArrayRef, Arc::new(Int64Array::from(vec![7, 8]))]
        {
            let file = file(vec![
                ("Next_Hop", numbers),
                ("id", strings(&[None, None])),
                ("Network", Arc::clone(&bytes) as ArrayRef),
            ]);
            let tables = parse(&file, &ReadOptions::default()).unwrap().tables;
            assert_eq!((tables.ipv4.len(), tables.ipv6.len()), (1, 1));
            let values: Vec<_> = tables.next_hops.iter().map(|(_, info)| info.to_string()).collect();
            assert_eq!(values, ["7", "8"]);
        }
    }

    #[test]
    fn several_columns_are_fields_of_their_types() {
        let file = file(vec![
            ("country", strings(&[Some("BE"), None])),
            ("start", strings(&[Some("192.0.2.0"), Some("2001:db8::")])),
            ("end", strings(&[Some("192.0.2.2"), Some("2001:db8::f")])),
            ("code", strings(&[Some("1"), Some("2")])),
            ("share", Arc::new(Float64Array::from(vec![1.0, f64::NAN]))),
        ]);
        let loaded = parse(&file, &ReadOptions::default()).unwrap();
        assert_eq!(
            super::super::super::testing::routes(&loaded),
            [
                r#"192.0.2.0/31 {"country":"BE","code":"1","share":1.0}"#,
                r#"192.0.2.2/32 {"country":"BE","code":"1","share":1.0}"#,
                r#"2001:db8::/124 {"country":null,"code":"2","share":null}"#,
            ]
        );
        let wanted = Columns { values: vec!["code".into()], ..Default::default() };
        let loaded = parse(&file, &ReadOptions { columns: wanted, ..Default::default() }).unwrap();
        assert_eq!(
            loaded.tables.next_hops.iter().map(|(_, info)| info.to_string()).collect::<Vec<_>>(),
            ["1", "2"]
        );
    }

    #[test]
    fn what_is_wrong_is_said_with_its_row() {
        let values = || strings(&[Some("a"), Some("b")]);
        let prefixes = |second| strings(&[Some("10.0.0.0/8"), second]);
        assert_eq!(
            error(vec![("prefix", prefixes(Some("10.0.0.0/33"))), ("value", values())]),
            "memory, row 2: prefix length 33 is past the 32 bits of the family"
        );
        assert_eq!(
            error(vec![("prefix", prefixes(None)), ("value", values())]),
            "memory, row 2: null, expected a prefix and its value"
        );
        assert_eq!(
            error(vec![("prefix", values()), ("worth", values())]),
            "memory, row 1: \"a\" is not a prefix (expected address/length)"
        );
        let floats = Arc::new(Float64Array::from(vec![1.0, 2.0]));
        assert_eq!(
            error(vec![("prefix", prefixes(None)), ("value", floats)]),
            "memory, byte 0: the column of values is Float64, expected text"
        );
        let keep_going = ReadOptions { keep_going: true, ..ReadOptions::default() };
        let some = file(vec![("prefix", prefixes(None)), ("value", values())]);
        let loaded = parse(&some, &keep_going).unwrap();
        assert_eq!((loaded.tables.ipv4.len(), loaded.damage.len()), (1, 1));
    }

    #[test]
    fn no_cut_and_no_changed_byte_is_more_than_an_error() {
        let whole = file(vec![
            ("prefix", strings(&[Some("10.0.0.0/8"), Some("2001:db8::/32")])),
            ("value", strings(&[Some("a"), Some("b")])),
        ]);
        for end in 4..whole.len() {
            assert!(parse(&whole[..end], &ReadOptions::default()).is_err(), "{end}");
        }
        for at in 4..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 0x55;
            let _ = parse(&changed, &ReadOptions::default());
        }
    }
}
