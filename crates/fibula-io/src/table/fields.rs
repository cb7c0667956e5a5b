//! Values of several fields: a route's value is then one JSON object, or a list, on one line.
//!
//! Such a value is a label like any other: every format writes it, snapshots keep it, and it is
//! read back. Readers of columns number rows by the texts of their fields, which a separator joins.
//! When all rows are read, each column is given the type that all of its texts have ([`typed`]).

use fibula::{NextHopInfo, NextHops};
use serde_json::Number;
use serde_json::value::RawValue;
use std::fmt::Write;

/// What joins the texts of a row: a control character, which no text has.
pub(super) const SEPARATOR: char = '\u{1F}';

/// A column of values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Column {
    pub(super) name: String,
    /// Whether it is text whatever its values look like.
    pub(super) is_text: bool,
}

impl Column {
    /// Columns of codes that may look like numbers are text.
    pub(super) fn new(name: &str) -> Self {
        const TEXT: [&str; 5] = ["postal_code", "postcode", "zip_code", "zip", "postal"];
        Self { name: name.to_owned(), is_text: TEXT.contains(&name.to_lowercase().as_str()) }
    }

    /// Returns whether it is a place on a globe, which is a number however it is written.
    fn is_degrees(&self) -> bool {
        ["latitude", "longitude"].contains(&self.name.to_lowercase().as_str())
    }
}

/// The type of a column, the narrowest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Type {
    Bool,
    Number,
    Text,
}

impl Type {
    /// Returns the type of a text of a column.
    fn of(text: &str, column: &Column) -> Self {
        match text {
            "true" | "false" => Self::Bool,
            _ if column.is_degrees() && text.parse::<Number>().is_ok() => Self::Number,
            _ if is_number(text) => Self::Number,
            _ => Self::Text,
        }
    }
}

/// Returns whether a text is a number of JSON that is written back as it is: `1.10` may be a
/// version and `2e7` a serial number, which as numbers would be others.
fn is_number(text: &str) -> bool {
    text.parse::<Number>().is_ok_and(|number| number.to_string() == text)
}

/// Returns next hops whose labels are joined texts as JSON objects, in the same order.
pub(super) fn typed(next_hops: &NextHops, columns: &[Column]) -> NextHops {
    let mut types: Vec<Option<Type>> = columns.iter().map(|c| c.is_text.then_some(Type::Text)).collect();
    for (_, info) in next_hops.iter() {
        let NextHopInfo::Label(label) = info else { continue };
        let texts = types.iter_mut().zip(columns).zip(label.split(SEPARATOR));
        for ((known, column), text) in texts.filter(|(_, text)| !text.is_empty()) {
            let found = Type::of(text, column);
            // A column of numbers and of truth values is one of texts.
            *known = Some(match *known {
                None => found,
                Some(known) if known == found => known,
                Some(_) => Type::Text,
            });
        }
    }
    let mut all = NextHops::new();
    for (_, info) in next_hops.iter() {
        let value = match info {
            NextHopInfo::Label(label) => {
                let texts = label.split(SEPARATOR).zip(&types);
                let raw = texts.map(|(text, kind)| match kind {
                    _ if text.is_empty() => "null".to_owned(),
                    Some(Type::Bool | Type::Number) => text.to_owned(),
                    _ => quoted(text),
                });
                let names = columns.iter().map(|column| column.name.as_str());
                NextHopInfo::Label(object(names.zip(raw)).into())
            }
            other => other.clone(),
        };
        // Other texts are another object, so that each keeps its number.
        let _ = all.intern(value);
    }
    all
}

/// Returns a value of several fields, or a list, as the JSON that it is; `None` for other values.
///
/// ```
/// use fibula::NextHopInfo;
/// use fibula_io::table::json_of;
/// let value = NextHopInfo::parse(r#"{"country":"BE"}"#);
/// assert_eq!(json_of(&value), Some(r#"{"country":"BE"}"#));
/// assert_eq!(json_of(&NextHopInfo::parse("192.0.2.1")), None);
/// ```
#[must_use]
pub fn json_of(info: &NextHopInfo) -> Option<&str> {
    match info {
        NextHopInfo::Label(label) => is_structured(label).then_some(label),
        _ => None,
    }
}

/// Returns whether a text is a JSON object or list.
pub(super) fn is_structured(text: &str) -> bool {
    text.starts_with(['{', '[']) && serde_json::from_str::<&RawValue>(text).is_ok()
}

/// Returns a text in the quotes of JSON, without what begins a comment of the text format.
pub(super) fn quoted(text: &str) -> String {
    let is_plain = |byte: u8| byte >= b' ' && !b"\"\\#".contains(&byte);
    if text.bytes().all(is_plain) {
        return format!("\"{text}\"");
    }
    serde_json::Value::from(text).to_string().replace('#', "\\u0023")
}

/// Returns an object of fields whose values are JSON.
pub(super) fn object<'n>(fields: impl IntoIterator<Item = (&'n str, String)>) -> String {
    let mut text = String::from("{");
    for (name, value) in fields {
        let comma = if text.len() == 1 { "" } else { "," };
        let _ = write!(text, "{comma}{}:{value}", quoted(name));
    }
    text + "}"
}

/// Returns a list of values that are JSON.
pub(super) fn list(values: &[impl AsRef<str>]) -> String {
    let values: Vec<&str> = values.iter().map(AsRef::as_ref).collect();
    format!("[{}]", values.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_has_the_type_of_all_its_texts() {
        let mut rows = NextHops::new();
        for row in [
            "1\u{1F}1.5\u{1F}\u{1F}true\u{1F}07\u{1F}9223372036854775808",
            "2\u{1F}-2.0\u{1F}x #y\u{1F}1\u{1F}8\u{1F}1",
        ] {
            rows.intern(NextHopInfo::Label(row.into())).unwrap();
        }
        let columns = ["a", "b", "c", "d", "e", "postal_code"].map(Column::new);
        let all: Vec<String> = typed(&rows, &columns).iter().map(|(_, info)| info.to_string()).collect();
        assert_eq!(
            all,
            [
                r#"{"a":1,"b":1.5,"c":null,"d":"true","e":"07","postal_code":"9223372036854775808"}"#,
                r#"{"a":2,"b":-2.0,"c":"x \u0023y","d":"1","e":"8","postal_code":"1"}"#,
            ]
        );
        for text in ["18446744073709551616", "1.", "+1", "-x", " 1", "1.10", "2e7", "007", "-0"] {
            assert!(!is_number(text), "{text}");
        }
    }
}
