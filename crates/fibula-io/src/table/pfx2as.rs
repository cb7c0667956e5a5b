//! CAIDA's Routeviews prefix-to-AS files: `address<TAB>length<TAB>AS`.
//!
//! A prefix that several ASes originate has them joined by `_`. They become a list: `1_2` is
//! `[1,2]`. An AS set is joined by `,`, also within braces, and is a list in the list: `1,2` is
//! `[[1,2]]`, and `1_{2,3}` is `[1,[2,3]]`. They are written as they were read.

use super::fields;
use super::layouts::{Layout, Looks, Reader, Writer};
use super::rows::{self, Row};
use super::text::without_comment;
use crate::address::parse;
use crate::rov;
use crate::scan::{self, field, quoted, utf8};
use std::borrow::Cow;

pub(super) const LAYOUT: Layout = Layout {
    looks: Looks::Line(|line| matches!(row(line, true), Ok(Row::Prefix(..)))),
    reader: Reader::Lines(|lines, options, builder| rows::read(lines, options, builder, row)),
    writer: Some(Writer::Lines {
        header: "",
        has_comments: true,
        name: |name| joined(name).unwrap_or_else(|| name.to_owned()),
        line: |prefix, name, out| writeln!(out, "{}\t{name}", prefix.to_string().replace('/', "\t")),
    }),
    endings: &["pfx2as"],
};

fn row(line: &[u8], mask_host_bits: bool) -> Result<Row<'_>, String> {
    let Some((address, rest)) = field(without_comment(line)) else { return Ok(Row::Blank) };
    let expected = || {
        let found = String::from_utf8_lossy(line);
        format!("expected address, length and AS separated by tabs, found {}", quoted(found.trim()))
    };
    let (len, value) = field(rest).ok_or_else(expected)?;
    let value = value.trim_ascii_end();
    if value.is_empty() || !len.iter().all(u8::is_ascii_digit) {
        return Err(expected());
    }
    let address = parse(address).ok_or_else(expected)?;
    let bits = if address.is_ipv4() { 32 } else { 128 };
    let prefix = if let Ok(len) = utf8(len)?.parse() {
        scan::prefix_of(address, len, mask_host_bits)?
    } else {
        let len = String::from_utf8_lossy(len);
        return Err(format!("prefix length {len} is past the {bits} bits of the family"));
    };
    let number = value.strip_prefix(b"AS").filter(|number| number.iter().all(u8::is_ascii_digit));
    let value = number.unwrap_or(value);
    let value = listed(value).map_or(Cow::Borrowed(value), |list| Cow::Owned(list.into_bytes()));
    Ok(Row::Prefix(prefix, value))
}

/// Returns several origins as a list; `None` if there is one, or what is no AS number.
fn listed(value: &[u8]) -> Option<String> {
    if !value.iter().any(|byte| matches!(byte, b'_' | b',' | b'{')) {
        return None;
    }
    let number = |text: &str| text.parse::<u32>().ok().map(|number| number.to_string());
    let origin = |text: &str| {
        let inside = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        if inside.is_none() && !text.contains(',') {
            return number(text);
        }
        let set: Option<Vec<String>> = inside.unwrap_or(text).split(',').map(number).collect();
        Some(fields::list(&set?))
    };
    let origins: Option<Vec<String>> = utf8(value).ok()?.split('_').map(origin).collect();
    Some(fields::list(&origins?))
}

/// Returns a list as the format writes it. A set of one AS keeps its braces, for it is no origin.
fn joined(name: &str) -> Option<String> {
    if let Some(set) = name.strip_prefix('{').and_then(|_| rov::set_of(name)) {
        let numbers = set.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
        return Some(if set.len() == 1 { name.to_owned() } else { numbers });
    }
    let origins: Vec<serde_json::Value> = serde_json::from_str(name).ok()?;
    let several = origins.len() > 1;
    let number = |origin: &serde_json::Value| origin.as_u64().map(|number| number.to_string());
    let origin = |origin: &serde_json::Value| match origin.as_array() {
        None => number(origin),
        Some(set) => {
            let set = set.iter().map(number).collect::<Option<Vec<_>>>()?.join(",");
            Some(if several || !set.contains(',') { format!("{{{set}}}") } else { set })
        }
    };
    Some(origins.iter().map(origin).collect::<Option<Vec<_>>>()?.join("_"))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{self, values};
    use super::super::{Format, ReadOptions, parse};

    #[test]
    fn several_origins_are_lists() {
        let text = "1.0.0.0\t24\t13335\n1.0.4.0\t22\t38803_56203\n2001:200::\t32\t1,2\n\
            2001:db8::\t32\t4134_{64500,64501}\n2001:db8:1::\t48\t1_x\n2001:db8:2::\t48\t{64500}\n";
        let loaded = parse(text.as_bytes(), &ReadOptions::default()).unwrap();
        assert_eq!(loaded.format, Format::Pfx2as);
        assert_eq!(
            values(&loaded),
            ["13335", "[38803,56203]", "[[1,2]]", "[4134,[64500,64501]]", "1_x", "[[64500]]"]
        );
        let mut written = Vec::new();
        super::super::write(&loaded.tables, Format::Pfx2as, &mut written).unwrap();
        assert_eq!(String::from_utf8(written).unwrap(), text);
        assert_eq!((loaded.tables.ipv4.len(), loaded.tables.ipv6.len()), (2, 4));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let error = |text: &str| testing::error(Format::Pfx2as, text);
        let past = "memory, line 1: prefix length 33 is past the 32 bits of the family";
        assert_eq!(error("1.0.0.0\t33\t1"), past);
        assert_eq!(error("1.0.0.0\t333\t1"), past.replace("33 ", "333 "));
        for text in ["1.0.0.0", "1.0.0.0\t8", "1.0.0.0\t+8\t1", "x\t8\t1", "1.0.0.0/8\t8\t1"] {
            assert!(error(text).contains("expected address, length and AS separated by tabs"), "{text}");
        }
    }
}
