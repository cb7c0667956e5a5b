//! [`Template`]: text with keys in braces.

use crate::{Error, Row, short};
use serde_json::Value;

/// What a key of several rows becomes.
#[derive(Clone, Debug, PartialEq)]
enum Of {
    First,
    Last,
    Min,
    Max,
    Sum,
    Median,
    Count,
    /// That of the row with the greatest value of this key.
    At(String),
}

#[derive(Clone, Debug, PartialEq)]
enum Part {
    Text(String),
    Key { of: Of, key: String, divisor: f64 },
    Optional(Vec<Part>),
}

/// Text with keys in braces.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Template(Vec<Part>);

impl Template {
    /// Reads a template.
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '[']) {
            let close = if rest[at..].starts_with('{') { '}' } else { ']' };
            let end = rest[at..].find(close).map(|length| at + length);
            let end = end.ok_or_else(|| Error::new(format!("expected {close} in {text:?}")))?;
            parts.push(Part::Text(rest[..at].into()));
            let inner = &rest[at + 1..end];
            parts.push(if close == ']' { Part::Optional(Self::parse(inner)?.0) } else { key(inner)? });
            rest = &rest[end + 1..];
        }
        parts.push(Part::Text(rest.into()));
        Ok(Self(parts))
    }

    /// Returns the text for some rows: nothing where no key has a value.
    pub(crate) fn of(&self, rows: &[&Row]) -> String {
        let mut any = false;
        let text = write(&self.0, rows, &mut any, false).unwrap_or_default();
        if any { text.trim().into() } else { String::new() }
    }
}

fn key(text: &str) -> Result<Part, Error> {
    let (name, divisor) = text.split_once('/').unwrap_or((text, "1"));
    let divisor =
        divisor.parse().map_err(|_| Error::new(format!("expected a number behind / in {text:?}")))?;
    let (of, key) = match name.split_once([' ', '@']) {
        None => (Of::First, name),
        Some((key, other)) if name.contains('@') => (Of::At(other.into()), key),
        Some(("last", key)) => (Of::Last, key),
        Some(("min", key)) => (Of::Min, key),
        Some(("max", key)) => (Of::Max, key),
        Some(("sum", key)) => (Of::Sum, key),
        Some(("median", key)) => (Of::Median, key),
        Some(("count", key)) => (Of::Count, key),
        Some(_) => {
            return Err(Error::new(format!("expected last, min, max, sum, median or count in {text:?}")));
        }
    };
    Ok(Part::Key { of, key: key.into(), divisor })
}

/// Writes parts. `None` where a key has no value and all are needed.
fn write(parts: &[Part], rows: &[&Row], any: &mut bool, needed: bool) -> Option<String> {
    let mut text = String::new();
    for part in parts {
        match part {
            Part::Text(part) => text += part,
            Part::Optional(parts) => text += &write(parts, rows, any, true).unwrap_or_default(),
            Part::Key { of, key, divisor } => match value(of, key, *divisor, rows) {
                Some(value) => {
                    *any = true;
                    text += &value;
                }
                None if needed => return None,
                None => {}
            },
        }
    }
    Some(text)
}

fn value(of: &Of, key: &str, divisor: f64, rows: &[&Row]) -> Option<String> {
    let numbers = || {
        let mut numbers: Vec<f64> = rows.iter().filter_map(|row| get(row, key)?.as_f64()).collect();
        numbers.sort_by(f64::total_cmp);
        numbers
    };
    let number = match of {
        Of::First => return shown(get(rows.first()?, key)?, divisor),
        Of::Last => return shown(get(rows.last()?, key)?, divisor),
        Of::At(other) => {
            let size = |row: &Row| get(row, other).and_then(Value::as_f64);
            let most = rows
                .iter()
                .filter(|row| size(row).is_some())
                .max_by(|a, b| size(a).unwrap_or_default().total_cmp(&size(b).unwrap_or_default()));
            return shown(get(most?, key)?, divisor);
        }
        Of::Count => rows.iter().filter(|row| get(row, key).is_some()).count() as f64,
        Of::Sum => numbers().iter().sum(),
        Of::Min => *numbers().first()?,
        Of::Max => *numbers().last()?,
        Of::Median => *numbers().get(numbers().len() / 2)?,
    };
    Some(short(number / divisor))
}

/// Returns the value of a key, or of a key inside an object: `mlps.prefix`. `None` for null.
pub(crate) fn get<'r>(row: &'r Row, key: &str) -> Option<&'r Value> {
    let inner = || {
        let (outer, inner) = key.split_once('.')?;
        row.get(outer)?.get(inner)
    };
    row.get(key).or_else(inner).filter(|value| !value.is_null())
}

/// Writes a value; objects as their keys and values. `None` for null.
pub(crate) fn shown(value: &Value, divisor: f64) -> Option<String> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(is) => if *is { "yes" } else { "no" }.into(),
        Value::Number(number) => short(number.as_f64()? / divisor),
        Value::String(text) => text.clone(),
        Value::Array(values) => {
            values.iter().filter_map(|value| shown(value, divisor)).collect::<Vec<_>>().join(" ")
        }
        Value::Object(fields) => {
            let field = |(key, value)| Some(format!("{key} {}", shown(value, divisor)?));
            fields.iter().filter_map(field).collect::<Vec<_>>().join(", ")
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(text: &str) -> Row {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn keys_of_rows() {
        let rows = [
            row(r#"{"engine": "dxr", "ns": 3, "mlps": {"a": 4.5}, "none": null}"#),
            row(r#"{"engine": "radix", "ns": 50.25, "bytes": 2048}"#),
            row(r#"{"engine": "lulea", "ns": 4, "is": true, "list": [1, "b"]}"#),
        ];
        let all: Vec<&Row> = rows.iter().collect();
        let of = |text: &str| Template::parse(text).unwrap().of(&all);
        assert_eq!(of("{engine}: {ns} ns"), "dxr: 3 ns");
        assert_eq!(of("{min ns} {max ns} {sum ns} {median ns} {count bytes}"), "3 50.2 57.2 4 1");
        assert_eq!(of("{engine@ns}, {bytes@ns/1024}, {last engine}"), "radix, 2, lulea");
        assert_eq!([of("{mlps.a}"), of("{mlps}")], ["4.50", "a 4.50"]);
        assert_eq!([of("{none}"), of("a {none} b"), of("{ns}[ ({none})]")], ["", "", "3"]);
        assert_eq!(Template::parse("{is} {list}").unwrap().of(&all[2..]), "yes 1 b");
        for wrong in ["{ns", "[a", "{least ns}", "{ns/x}"] {
            assert!(Template::parse(wrong).is_err(), "{wrong}");
        }
    }
}
