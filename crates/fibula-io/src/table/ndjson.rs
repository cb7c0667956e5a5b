//! Rows of JSON: one object a line, or a list of objects.
//!
//! ```text
//! {"prefix":"192.0.2.0/24","asn":64500,"count":3}
//! ```
//!
//! The columns are the keys of the first row, by the rules of [CSV](super::csv). Values keep their
//! text, so that an integer past 2^53 stays itself.

use super::builder::{Builder, Trouble};
use super::columns::{self, Addresses, Chosen, Columns, LISTED, Net};
use super::fields::{is_structured, object, quoted};
use super::layouts::{Layout, Lines, Looks, Reader, Writer};
use super::{ReadOptions, Value as Wanted, json, rows};
use crate::{Damage, Place, scan};
use fibula::{IpPrefix, NextHopInfo};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

pub(super) const LINES: Layout = Layout {
    looks: Looks::Json(is_row),
    reader: Reader::Lines(read_lines),
    writer: Some(Writer::Lines {
        header: "",
        has_comments: false,
        name: |name| if is_structured(name) { name.to_owned() } else { quoted(name) },
        line: |prefix, name, out| writeln!(out, "{{\"prefix\":\"{prefix}\",\"value\":{name}}}"),
    }),
    endings: &["ndjson", "jsonl"],
};

pub(super) const LIST: Layout = Layout {
    looks: Looks::Json(|value| value.is_array() && is_row(json::first(value))),
    reader: Reader::Held(|bytes, options, builder| read_list(&bytes, options, builder)),
    writer: None,
    endings: &[],
};

/// Returns whether a value is an object with addresses under a name that columns of them have.
fn is_row(value: &Value) -> bool {
    let Some(fields) = value.as_object() else { return false };
    let names = fields.keys().cloned().collect();
    columns::choose(names, &Columns::default()).is_ok_and(|chosen| {
        let is_address = |column: usize| {
            let value = fields.values().nth(column);
            value.is_some_and(|value| value.as_str().is_some_and(|text| text.contains(['.', ':'])))
        };
        let (first, second) = chosen.net.columns();
        is_address(first) && (!matches!(chosen.net, Net::Range(..)) || second.is_some_and(is_address))
    })
}

/// The fields of a row, in order.
struct Row<'t>(Vec<(Cow<'t, str>, &'t RawValue)>);

impl<'de: 't, 't> Deserialize<'de> for Row<'t> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'t> Visitor<'t> for Fields {
            type Value = Row<'t>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<M: MapAccess<'t>>(self, mut map: M) -> Result<Row<'t>, M::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry::<Cow<'t, str>, &'t RawValue>()? {
                    fields.push(field);
                }
                Ok(Row(fields))
            }
        }
        deserializer.deserialize_map(Fields)
    }
}

/// The columns, once the first row has told them.
#[derive(Default)]
struct Reading {
    chosen: Option<Chosen>,
    /// Whether all columns but the addresses are values, whatever the row.
    takes_all: bool,
}

fn read_lines(blocks: &mut Lines<'_>, options: &ReadOptions, builder: &mut Builder) -> Result<(), Damage> {
    let mut reading = Reading::default();
    blocks.each_line(|number, line| {
        let place = Place::Line(number);
        let result = line.map_err(Trouble::Here).and_then(|line| {
            if line.trim_ascii().is_empty() {
                return Ok(());
            }
            let row =
                serde_json::from_slice(line).map_err(|error| format!("expected a JSON object: {error}"))?;
            reading.row(place, &row, options, builder)
        });
        builder.settled(place, result)
    })
}

fn read_list(text: &[u8], options: &ReadOptions, builder: &mut Builder) -> Result<(), Damage> {
    // The fields of all rows would take many times the text.
    json::document(text, "rows", builder, |rows: Vec<&RawValue>, builder| {
        let mut reading = Reading::default();
        json::each(rows, builder, |place, row, builder| {
            let row = serde_json::from_str(row.get());
            let row = row.map_err(|error| format!("expected a JSON object: {error}"))?;
            reading.row(place, &row, options, builder)
        })
    })
}

impl Reading {
    fn row(
        &mut self,
        place: Place,
        row: &Row<'_>,
        options: &ReadOptions,
        builder: &mut Builder,
    ) -> Result<(), Trouble> {
        if self.chosen.is_none() {
            let names = row.0.iter().map(|(name, _)| name.to_string()).collect();
            let chosen = columns::choose(names, &options.columns)?;
            for name in &chosen.left_out {
                builder.left_out(place, format!("column {name:?}"))?;
            }
            let net = if chosen.net.columns().1.is_some() { 2 } else { 1 };
            self.takes_all = chosen.values.len() > 1 && chosen.values.len() + net == chosen.names.len();
            self.chosen = Some(chosen);
        }
        let Some(chosen) = &self.chosen else { return Ok(()) };
        let find = |column: usize| {
            let name = &chosen.names[column];
            row.0.iter().find(|(key, _)| key == name).map(|&(_, value)| value)
        };
        let text = |column: usize| {
            let value = find(column).ok_or_else(|| format!("no field {:?}", chosen.names[column]))?;
            serde_json::from_str::<String>(value.get())
                .or_else(|_| serde_json::from_str::<u128>(value.get()).map(|number| number.to_string()))
                .map_err(|_| format!("{} is no text", scan::quoted(value.get())))
        };
        let (first, second) = chosen.net.columns();
        if find(first).is_none() && is_metadata(row) {
            return Ok(builder.left_out(place, "object of the type metadata")?);
        }
        let other = match second {
            Some(mask) if matches!(chosen.net, Net::Masked(..)) && find(mask).is_none() => String::new(),
            Some(second) => text(second)?,
            None => String::new(),
        };
        let addresses =
            chosen.net.addresses(text(first)?.as_bytes(), other.as_bytes(), options.mask_host_bits)?;
        let prefixes: Vec<IpPrefix> = match addresses {
            Addresses::Prefix(prefix) => vec![prefix],
            Addresses::Range(first, last) => rows::range(first, last)?.collect(),
        };
        let value = match chosen.values[..] {
            [] => NextHopInfo::Label(LISTED.into()),
            [value] => single(find(value), &chosen.names[value], options.value)?,
            _ if self.takes_all => {
                let net = [Some(first), second];
                let is_net = |name: &str| net.iter().flatten().any(|&column| chosen.names[column] == name);
                let others = row.0.iter().filter(|(name, _)| !is_net(name));
                label(object(others.map(|(name, value)| (&**name, raw(value)))))?
            }
            _ => {
                let fields = chosen.values.iter().map(|&value| {
                    (chosen.names[value].as_str(), find(value).map_or_else(|| "null".to_owned(), raw))
                });
                label(object(fields))?
            }
        };
        let next_hop = builder.intern(place, value)?;
        for prefix in prefixes {
            builder.push(place, prefix, next_hop)?;
        }
        Ok(())
    }
}

/// Returns whether a row tells something of the list, as the last one of DROP does.
fn is_metadata(row: &Row<'_>) -> bool {
    row.0.iter().any(|(name, value)| name == "type" && value.get() == "\"metadata\"")
}

/// Returns JSON as labels have it.
fn raw(value: &RawValue) -> String {
    value.get().replace('#', "\\u0023")
}

fn label(text: String) -> Result<NextHopInfo, String> {
    const BYTES_MAX: usize = 4096;
    if text.len() > BYTES_MAX {
        return Err(format!("a value of {} bytes, at most {BYTES_MAX} fit", text.len()));
    }
    Ok(NextHopInfo::Label(text.into()))
}

/// Reads the only value of a row.
fn single(value: Option<&RawValue>, name: &str, wanted: Wanted) -> Result<NextHopInfo, String> {
    let text = value.map_or("null", RawValue::get);
    match serde_json::from_str(text) {
        Ok(Value::Null) => Err(format!("the field {name:?} is null or missing, expected a value")),
        Ok(Value::String(text)) if text.trim().is_empty() => {
            Err("the value is empty, expected a next hop or AS".into())
        }
        Ok(Value::String(text)) => rows::read_value(text.trim().as_bytes(), wanted),
        Ok(Value::Object(_) | Value::Array(_)) => label(text.replace('#', "\\u0023")),
        _ => rows::read_value(text.as_bytes(), wanted),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{self, routes, values};
    use super::super::{Columns, Format, ReadOptions, parse};

    #[test]
    fn several_keys_are_fields_with_their_text() {
        let text = "{\"prefix\":\"10.0.0.0/8\",\"asn\":9007199254740993,\"note\":\"a #b\"}\n\n\
            {\"prefix\":\"2001:db8::/32\",\"asn\":null,\"more\":[1,2]}\n";
        let fields = [
            r#"10.0.0.0/8 {"asn":9007199254740993,"note":"a \u0023b"}"#,
            r#"2001:db8::/32 {"asn":null,"more":[1,2]}"#,
        ];
        let loaded = parse(text.as_bytes(), &ReadOptions::default()).unwrap();
        assert_eq!((loaded.format, routes(&loaded)), (Format::Ndjson, fields.map(Into::into).to_vec()));
        let list = format!("[{}]", text.trim().replace("\n\n", ","));
        let loaded = parse(list.as_bytes(), &ReadOptions::default()).unwrap();
        assert_eq!((loaded.format, routes(&loaded)), (Format::JsonRows, fields.map(Into::into).to_vec()));
    }

    #[test]
    fn masks_and_metadata_are_known() {
        let text = b"{\"network\":\"10.0.0.0\",\"mask\":8,\"site\":\"a\"}\n{\"network\":\"10.1.0.0/16\",\"site\":\"b\"}\n\
            {\"type\":\"metadata\",\"records\":2}\n";
        let loaded = parse(text, &ReadOptions::default()).unwrap();
        assert_eq!(routes(&loaded), ["10.0.0.0/8 a", "10.1.0.0/16 b"]);
        assert_eq!(loaded.report.notes[0].what, "object of the type metadata");
    }

    #[test]
    fn one_value_is_itself() {
        let text = b"{\"id\":1,\"prefix\":\"10.0.0.0/8\",\"value\":\"corp\"}\n{\"value\":7,\"prefix\":\"10.1.0.0/16\"}\n";
        let loaded = parse(text, &ReadOptions::default()).unwrap();
        assert_eq!(values(&loaded), ["corp", "7"]);
        assert_eq!(loaded.report.notes[0].what, "column \"id\"");
        let columns = Columns {
            values: vec!["name".into()],
            start: Some("a".into()),
            end: Some("b".into()),
            ..Default::default()
        };
        let options = ReadOptions { columns, format: Some(Format::Ndjson), ..Default::default() };
        let loaded =
            parse(b"{\"a\":\"192.0.2.0\",\"b\":\"192.0.2.2\",\"name\":\"x\",\"c\":1}", &options).unwrap();
        assert_eq!(routes(&loaded), ["192.0.2.0/31 x", "192.0.2.2/32 x"]);
    }

    #[test]
    fn what_is_wrong_is_said() {
        let error = |row: &str| {
            testing::error(Format::Ndjson, &format!("{{\"prefix\":\"10.0.0.0/8\",\"v\":1}}\n{row}\n"))
        };
        assert!(error("x").starts_with("memory, line 2: expected a JSON object: "));
        assert_eq!(error("{\"v\":1}"), "memory, line 2: no field \"prefix\"");
        assert_eq!(
            error("{\"prefix\":\"10.1.0.0/16\"}"),
            "memory, line 2: the field \"v\" is null or missing, expected a value"
        );
    }
}
