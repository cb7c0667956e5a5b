//! Plain lists: a prefix, an address or a range a line, without a value.
//!
//! ```text
//! ; a comment, as # is
//! 198.51.100.0/24 ; SBL1
//! 192.0.2.7
//! 203.0.113.0-203.0.113.9
//! add blocked 2001:db8::/32
//! ```
//!
//! So are netsets, the lists of clouds and of DROP. The value is `listed`, or the name of the set
//! in the output of `ipset save`.

use super::columns::{LISTED, range_of};
use super::layouts::{Layout, Looks, Reader, Writer};
use super::rows::{self, Row};
use crate::scan::{self, field, quoted};

pub(super) const LAYOUT: Layout = Layout {
    looks: Looks::Line(|line| matches!(row(line, true), Ok(Row::Prefix(..) | Row::Range(..)))),
    reader: Reader::Lines(|lines, options, builder| rows::read(lines, options, builder, row)),
    writer: Some(Writer::Lines {
        header: "",
        has_comments: false,
        name: str::to_owned,
        line: |prefix, _, out| writeln!(out, "{prefix}"),
    }),
    endings: &["netset", "ipset", "list"],
};

pub(super) fn row(line: &[u8], mask_host_bits: bool) -> Result<Row<'_>, String> {
    let end = line.iter().position(|byte| matches!(byte, b';' | b'#')).unwrap_or(line.len());
    let text = line[..end].trim_ascii();
    let (mut value, mut entry) = (LISTED.as_bytes(), text);
    match field(text) {
        None | Some((b"create" | b"flush" | b"COMMIT", _)) => return Ok(Row::Blank),
        Some((b"add", rest)) => {
            let (set, rest) = field(rest).unwrap_or_default();
            (value, entry) = (set, field(rest).map_or(b"".as_slice(), |(entry, _)| entry));
            if rest.ends_with(b"nomatch") {
                return Ok(Row::LeftOut("entry that is not to match (nomatch)"));
            }
        }
        Some(_) => {}
    }
    if let Some((first, last)) = range_of(entry) {
        return Ok(Row::Range(first, last, value.into()));
    }
    if entry.iter().any(u8::is_ascii_whitespace) {
        let found = quoted(&String::from_utf8_lossy(text));
        return Err(format!("expected one prefix, address or range, found {found}"));
    }
    Ok(Row::Prefix(scan::prefix(entry, mask_host_bits)?, value.into()))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{self, routes};
    use super::super::{Format, ReadOptions, parse};

    #[test]
    fn lists_of_any_origin() {
        let text = b"; DROP\n# netset\n10.1.0.0/16 ; SBL1\n192.0.2.7\n198.51.100.1 - 198.51.100.3 # three\n\n2001:db8::/32\n";
        let loaded = parse(text, &ReadOptions::default()).unwrap();
        assert_eq!(loaded.format, Format::List);
        let prefixes = ["10.1.0.0/16", "192.0.2.7/32", "198.51.100.1/32", "198.51.100.2/31", "2001:db8::/32"];
        assert_eq!(routes(&loaded), prefixes.map(|prefix| format!("{prefix} listed")));
        let text =
            b"create block hash:net family inet\nadd block 10.0.0.0/8\nadd block 10.1.0.0/16 nomatch\n";
        let loaded = parse(text, &ReadOptions::default()).unwrap();
        assert_eq!(routes(&loaded), ["10.0.0.0/8 block"]);
        assert_eq!(loaded.report.notes[0].count, 1);
    }

    #[test]
    fn what_is_wrong_is_said() {
        let error = |text: &str| testing::error(Format::List, text);
        let found = "memory, line 2: expected one prefix, address or range, found \"10.2.0.0/16 x\"";
        assert_eq!(error("10.1.0.0/16\n10.2.0.0/16 x\n"), found);
        let backwards = "memory, line 1: the range ends at 192.0.2.1, before it begins at 192.0.2.9";
        assert_eq!(error("192.0.2.9-192.0.2.1\n"), backwards);
    }
}
