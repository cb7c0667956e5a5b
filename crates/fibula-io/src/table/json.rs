//! What the formats of JSON share.

use super::builder::{Builder, Trouble};
use super::router::sink::{Line, Route, Sink};
use crate::{Damage, Place};
use serde::Deserialize;
use serde_ignored::Path;
use serde_json::Value;

/// Returns a text without a line `:` in front, which SONiC prints.
pub(super) fn document_of(text: &[u8]) -> &[u8] {
    match text.trim_ascii_start().strip_prefix(b":") {
        Some(rest) if rest.starts_with(b"\n") || rest.starts_with(b"\r\n") => rest,
        _ => text,
    }
}

/// Reads the first value of a text that may end within it. Nulls and empty values stand for what
/// is missing. Null if it is no JSON.
pub(super) fn beginning(text: &[u8]) -> Value {
    let text = String::from_utf8_lossy(text);
    // A value may end where a comma or a closing bracket follows. The last such place, and the
    // brackets that are open there.
    let (mut open, mut cut) = (Vec::new(), (0, Vec::new()));
    let (mut in_string, mut escaped) = (false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'{' | b'[' => {
                open.push(if byte == b'{' { b'}' } else { b']' });
                cut = (at + 1, open.clone());
            }
            b'}' | b']' => {
                open.pop();
                cut = (at + 1, open.clone());
                if open.is_empty() {
                    break;
                }
            }
            b',' => cut = (at, open.clone()),
            _ => {}
        }
    }
    let closing = cut.1.iter().rev().map(|&byte| byte as char);
    serde_json::from_str(&text[..cut.0].chars().chain(closing).collect::<String>()).unwrap_or(Value::Null)
}

/// Returns what a value is, for errors.
pub(super) fn shape(value: &Value) -> String {
    const SHOWN: usize = 6;
    match value {
        Value::Object(fields) if fields.is_empty() => "an empty object".to_owned(),
        Value::Object(fields) => {
            let names: Vec<String> =
                fields.keys().take(SHOWN).map(|key| key.escape_debug().to_string()).collect();
            format!("an object with {}", names.join(", "))
        }
        Value::Array(values) => match values.first() {
            Some(first) => format!("a list, first {}", shape(first)),
            None => "an empty list".to_owned(),
        },
        Value::Null => "it is damaged".to_owned(),
        _ => "plain values".to_owned(),
    }
}

/// Returns the first element of an array.
pub(super) fn first(value: &Value) -> &Value {
    value.get(0).unwrap_or(&Value::Null)
}

/// Reads a document as a whole and hands it on. `what` names the layout in the error of a document
/// of another one.
pub(super) fn document<'t, T: Deserialize<'t>>(
    text: &'t [u8],
    what: &str,
    builder: &mut Builder,
    read: impl FnOnce(T, &mut Builder) -> Result<(), Damage>,
) -> Result<(), Damage> {
    part(text, text, what, builder, read)
}

/// As [`document`], of a document that is a part of a text.
pub(super) fn part<'t, T: Deserialize<'t>>(
    text: &[u8],
    part: &'t [u8],
    what: &str,
    builder: &mut Builder,
    read: impl FnOnce(T, &mut Builder) -> Result<(), Damage>,
) -> Result<(), Damage> {
    match serde_json::from_slice(part) {
        Ok(document) => read(document, builder),
        Err(error) => {
            let line = line_of(text, part) + error.line() as u64 - 1;
            builder.damaged(Damage::line(line, format!("expected the JSON of {what}: {error}")))
        }
    }
}

/// Reads a value, and returns it with the first name in it that is neither read nor one of those
/// that change nothing.
pub(super) fn with_names<'t, T: Deserialize<'t>>(
    text: &'t str,
    idle: &[&str],
) -> Result<(T, Option<String>), serde_json::Error> {
    let mut unknown = None;
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = serde_ignored::deserialize(&mut deserializer, |path| {
        if let Path::Map { key, .. } = path
            && !idle.contains(&&*key)
        {
            unknown.get_or_insert(key);
        }
    })?;
    Ok((value, unknown))
}

/// Offers the route of a part of a text, or counts the part as left out. The line of the first such
/// part of a table is told: those of all take long to count.
pub(super) fn offer(
    sink: &mut Sink<'_>,
    first: &mut Option<u64>,
    (text, part): (&[u8], &str),
    route: Result<Route, String>,
) {
    match route {
        Ok(route) => {
            sink.count(route.line, Line::Used);
            sink.open(route);
        }
        Err(what) => {
            let line = *first.get_or_insert_with(|| line_of(text, part.as_bytes()));
            sink.count(Place::Line(line), Line::Unknown(what));
        }
    }
}

/// Returns the line of a text that a part of it begins in.
pub(super) fn line_of(text: &[u8], part: &[u8]) -> u64 {
    let before = (part.as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
    memchr::memchr_iter(b'\n', &text[..before.min(text.len())]).count() as u64 + 1
}

/// Reads each of some elements. Errors name the element, since its line is not known.
pub(super) fn each<T>(
    elements: impl IntoIterator<Item = T>,
    builder: &mut Builder,
    mut read: impl FnMut(Place, T, &mut Builder) -> Result<(), Trouble>,
) -> Result<(), Damage> {
    for (element, place) in elements.into_iter().zip((1..).map(Place::Row)) {
        let result = read(place, element, builder);
        builder.settled(place, result)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_is_cut_off_keeps_its_beginning() {
        let whole = br#"{"a":[{"b":"x,]\"","c":[1,2]},{"d":{}}],"e":true}"#;
        assert_eq!(beginning(whole), serde_json::from_slice::<Value>(whole).unwrap());
        for end in 0..whole.len() {
            let value = beginning(&whole[..end]);
            assert_eq!(value.is_null(), end == 0, "{end}");
            if end > 30 {
                assert_eq!(value["a"][0]["b"], "x,]\"", "{end}");
            }
        }
        assert_eq!(beginning(b"{\"a\":1}\n{\"b\":2}")["a"], 1);
        assert_eq!(beginning(b"{x}"), Value::Null);
    }
}
