//! Comma-separated values with a header line that names the columns.
//!
//! A field may be in double quotes, with `""` for a quote; a line break inside quotes is not
//! supported. Other columns are skipped. Comment lines may precede the header.

use super::ReadOptions;
use super::builder::Builder;
use super::layouts::Lines;
use super::rows::{self, Row};
use crate::Damage;
use crate::blocks::Block;
use crate::scan::{self, lines, quoted, utf8};
use std::borrow::Cow;

/// The names of the column of prefixes.
pub(super) const PREFIX_NAMES: [&str; 5] = ["prefix", "network", "cidr", "subnet", "route"];

/// The names of the column of values. The first of these in the header is taken.
const VALUE_NAMES: [&str; 11] = [
    "value",
    "next_hop",
    "next-hop",
    "nexthop",
    "next hop",
    "gateway",
    "via",
    "origin_as",
    "origin",
    "asn",
    "as",
];

pub(super) fn read(
    blocks: &mut Lines<'_>,
    options: &ReadOptions,
    builder: &mut Builder,
) -> Result<(), Damage> {
    while let Some(block) = blocks.next() {
        let Block { first_line, text } = match block {
            Ok(block) => block,
            Err(damage) => {
                builder.damaged(damage)?;
                continue;
            }
        };
        let Some((offset, header)) = lines(text).find(|(_, line)| !is_skipped(line)) else { continue };
        let expected = || {
            let found = quoted(&String::from_utf8_lossy(header));
            let what = format!("expected a header with the columns prefix and value, found {found}");
            Damage::line(first_line + offset - 1, what)
        };
        let columns = Columns::of(header).ok_or_else(expected)?;
        let end = memchr::memchr_iter(b'\n', text).nth(offset as usize - 1);
        let text = &text[end.map_or(text.len(), |end| end + 1)..];
        let rest = Block { first_line: first_line + offset, text };
        rows::read_block(rest, options, builder, &|line, mask| columns.row(line, mask))?;
        return rows::read(blocks, options, builder, |line, mask| columns.row(line, mask));
    }
    Ok(())
}

fn is_skipped(line: &[u8]) -> bool {
    matches!(line.trim_ascii_start().first(), None | Some(b'#'))
}

/// Returns the indices of the columns of prefixes and of values, by their names in small letters.
pub(super) fn columns(names: &[String]) -> Option<(usize, usize)> {
    let find = |wanted: &[&str]| wanted.iter().find_map(|w| names.iter().position(|name| name == w));
    Some((find(&PREFIX_NAMES)?, find(&VALUE_NAMES)?))
}

struct Columns {
    prefix: usize,
    value: usize,
}

impl Columns {
    fn of(header: &[u8]) -> Option<Self> {
        let names: Vec<String> =
            fields(header).ok()?.iter().map(|f| String::from_utf8_lossy(f).trim().to_lowercase()).collect();
        let (prefix, value) = columns(&names)?;
        Some(Self { prefix, value })
    }

    fn row<'a>(&self, line: &'a [u8], mask_host_bits: bool) -> Result<Row<'a>, String> {
        if is_skipped(line) {
            return Ok(None);
        }
        let mut fields = fields(line)?;
        let needed = self.prefix.max(self.value) + 1;
        if fields.len() < needed {
            return Err(format!("{} columns, expected at least {needed}", fields.len()));
        }
        let prefix = scan::prefix(fields[self.prefix].trim_ascii(), mask_host_bits)?;
        let value = match fields.swap_remove(self.value) {
            Cow::Borrowed(value) => Cow::Borrowed(value.trim_ascii()),
            Cow::Owned(value) => Cow::Owned(value),
        };
        if value.is_empty() {
            return Err("the value is empty, expected a next hop or AS".into());
        }
        Ok(Some((prefix, value)))
    }
}

/// Returns the fields of a line, unquoted.
fn fields(line: &[u8]) -> Result<Vec<Cow<'_, [u8]>>, String> {
    let mut fields = Vec::new();
    let mut rest = line;
    loop {
        let (field, after) = if let Some(inside) = rest.strip_prefix(b"\"") {
            unquote(inside)?
        } else {
            let end = rest.iter().position(|&b| b == b',').unwrap_or(rest.len());
            (Cow::Borrowed(&rest[..end]), &rest[end..])
        };
        fields.push(field);
        match after.split_first() {
            None => return Ok(fields),
            Some((b',', next)) => rest = next,
            Some(_) => return Err("expected a comma after the closing quote".into()),
        }
    }
}

/// Reads a quoted field from after its opening quote. Also returns the bytes after its closing one.
fn unquote(text: &[u8]) -> Result<(Cow<'_, [u8]>, &[u8]), String> {
    let mut field = Vec::new();
    let mut rest = text;
    loop {
        let end = rest
            .iter()
            .position(|&b| b == b'"')
            .ok_or_else(|| "a quote is not closed on its line".to_owned())?;
        field.extend_from_slice(&rest[..end]);
        rest = &rest[end + 1..];
        match rest.strip_prefix(b"\"") {
            Some(after) => {
                field.push(b'"');
                rest = after;
            }
            None => return Ok((Cow::Owned(field), rest)),
        }
    }
}

/// Returns whether a line names the columns of a table.
pub(super) fn is_header(line: &[u8]) -> bool {
    utf8(line).is_ok() && line.contains(&b',') && Columns::of(line).is_some()
}

/// Writes a field, in quotes where it needs them.
pub(super) fn quote(text: &str) -> Cow<'_, str> {
    if text.contains([',', '"']) || text.trim() != text {
        Cow::Owned(format!("\"{}\"", text.replace('"', "\"\"")))
    } else {
        Cow::Borrowed(text)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{self, values};
    use super::super::{Format, ReadOptions, parse};

    #[test]
    fn columns_are_found_by_name() {
        let loaded = parse(
            b"# made\nid,Next_Hop,PREFIX\n1,192.0.2.1,10.0.0.0/8\n\n2,\"a \"\"b\"\", c\",\"2001:db8::/32\"\n",
            &ReadOptions::default(),
        )
        .unwrap();
        assert_eq!(loaded.format, Format::Csv);
        assert_eq!(values(&loaded), ["192.0.2.1", "a \"b\", c"]);
    }

    #[test]
    fn what_is_wrong_is_said() {
        let error = |text: &str| testing::error(Format::Csv, text);
        assert_eq!(
            error("10.0.0.0/8,1\n"),
            "memory, line 1: expected a header with the columns prefix and value, found \"10.0.0.0/8,1\""
        );
        assert_eq!(
            error("#\nprefix,value\n\n10.0.0.0/8\n"),
            "memory, line 4: 1 columns, expected at least 2"
        );
        assert_eq!(
            error("prefix,value\n10.0.0.0/8,\n"),
            "memory, line 2: the value is empty, expected a next hop or AS"
        );
        assert_eq!(error("prefix,value\n\"x,1\n"), "memory, line 2: a quote is not closed on its line");
        assert_eq!(
            error("prefix,value\n\"x\"y,1\n"),
            "memory, line 2: expected a comma after the closing quote"
        );
    }
}
