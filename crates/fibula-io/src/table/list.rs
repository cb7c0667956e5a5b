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
    looks: Looks::Line(|line| {
        matches!(row(line, true), Ok(Row::Prefix(..) | Row::Range(..) | Row::LeftOut(_)))
    }),
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
        None | Some((b"flush" | b"COMMIT", _)) => return Ok(Row::Blank),
        Some((b"create", rest)) => return of_set(rest),
        Some((b"add", rest)) => {
            let (set, rest) = field(rest).unwrap_or_default();
            let (found, options) = field(rest).unwrap_or_default();
            if let Some(why) = of_entry(options)? {
                return Ok(Row::LeftOut(why));
            }
            (value, entry) = (set, found);
        }
        Some((b"-A" | b"-I", rest)) => return of_rule(rest, mask_host_bits),
        // The lists of `ipset list`, and tables of iptables-save.
        Some((word, _)) if word.starts_with(b":") || word.starts_with(b"*") => return Ok(Row::Blank),
        Some(_) if ABOUT.iter().any(|about| text.starts_with(about)) => return Ok(Row::Blank),
        Some(_) => {}
    }
    // `hash:ip,port`, `hash:net,iface`: an entry of such a set holds for some packets only.
    if entry.contains(&b',') && (text.starts_with(b"add ") || is_of_several(entry)) {
        return Ok(Row::LeftOut("entry of a set of addresses with ports or interfaces"));
    }
    if let Some((found, options)) = field(entry).filter(|(_, options)| !options.is_empty())
        && let (Ok(why), true) = (of_entry(options), is_entry(found))
    {
        return why.map_or_else(|| row(found, mask_host_bits), |why| Ok(Row::LeftOut(why)));
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

/// Reads what a set is made with: its name, its type and options, of which some have a value.
fn of_set(text: &[u8]) -> Result<Row<'_>, String> {
    const FLAGS: [&[u8]; 5] = [b"comment", b"counters", b"skbinfo", b"forceadd", b"nomatch"];
    #[rustfmt::skip]
    const VALUES: [&[u8]; 11] = [
        b"family", b"hashsize", b"maxelem", b"timeout", b"bucketsize", b"initval", b"netmask", b"range",
        b"markmask", b"size", b"bitmask",
    ];
    let mut words = text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).skip(2);
    while let Some(word) = words.next() {
        if VALUES.contains(&word) {
            words.next();
        } else if !FLAGS.contains(&word) {
            return Err(format!("unknown mark {} of a set", quoted(&String::from_utf8_lossy(word))));
        }
    }
    Ok(Row::Blank)
}

/// What `ipset list` says of a set.
#[rustfmt::skip]
const ABOUT: [&[u8]; 9] = [
    b"Name:", b"Type:", b"Revision:", b"Header:", b"Size in memory:", b"References:",
    b"Number of entries:", b"Members:", b"Timeout:",
];

/// Returns whether a word is an entry of a list.
fn is_entry(word: &[u8]) -> bool {
    range_of(word).is_some() || scan::prefix(word, true).is_ok()
}

/// Returns whether an entry has more than an address: `192.0.2.1,tcp:80`.
fn is_of_several(entry: &[u8]) -> bool {
    let first = entry.split(|byte| *byte == b',').next().unwrap_or_default();
    !entry.iter().any(u8::is_ascii_whitespace) && is_entry(first) && entry.contains(&b':')
}

/// Reads the options of an entry of ipset. Returns why it is left out, if it is.
///
/// # Errors
/// If one is not known.
fn of_entry(options: &[u8]) -> Result<Option<&'static str>, String> {
    let mut why = None;
    let mut rest = options;
    while let Some((option, after)) = field(rest) {
        rest = match option {
            b"nomatch" => {
                why = Some("entry that is not to match (nomatch)");
                after
            }
            b"comment" => {
                let text = after.strip_prefix(b"\"").ok_or("expected a comment in quotes")?;
                let end = memchr::memchr(b'"', text).ok_or("expected the end of a comment")?;
                &text[end + 1..]
            }
            b"timeout" | b"packets" | b"bytes" | b"skbmark" | b"skbprio" | b"skbqueue" => {
                field(after).map_or(b"".as_slice(), |(_, rest)| rest)
            }
            other => {
                return Err(format!("unknown mark {} of an entry", quoted(&String::from_utf8_lossy(other))));
            }
        };
    }
    Ok(why)
}

/// Reads a rule of iptables-save. One that is of a source or a destination alone is an entry, whose
/// value is its target.
fn of_rule(rule: &[u8], mask_host_bits: bool) -> Result<Row<'_>, String> {
    let words: Vec<&[u8]> = rule.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect();
    match words[..] {
        [_, b"-s" | b"-d", prefix, b"-j", target] => {
            Ok(Row::Prefix(scan::prefix(prefix, mask_host_bits)?, target.into()))
        }
        _ => Ok(Row::LeftOut("rule that holds for some packets only")),
    }
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
    fn the_options_of_an_entry_are_understood_or_refused() {
        let of = |text: &str| {
            let loaded = parse(text.as_bytes(), &ReadOptions::default()).unwrap();
            assert_eq!(loaded.format, Format::List);
            (routes(&loaded), loaded.report.notes.iter().map(|note| note.count).sum::<u64>())
        };
        let text = "create b hash:net family inet comment\nadd b 192.0.2.0/24 comment \"a, b\" timeout 300\n\
            add b 192.0.2.128/25 nomatch comment \"not these\"\n";
        assert_eq!(of(text), (vec!["192.0.2.0/24 b".to_owned()], 1));
        let listed = "Name: b\nType: hash:net\nRevision: 6\nHeader: family inet hashsize 1024 maxelem 65536\n\
            Size in memory: 440\nReferences: 0\nNumber of entries: 3\nMembers:\n198.51.100.0/24 timeout 9\n\
            198.51.100.128/25 nomatch\n192.0.2.1,tcp:80\n";
        assert_eq!(of(listed), (vec!["198.51.100.0/24 listed".to_owned()], 2));
        let rules = "*filter\n:BLOCK - [0:0]\n-A BLOCK -s 203.0.113.0/24 -j DROP\n\
            -A BLOCK -s 192.0.2.0/24 -p tcp -m tcp --dport 80 -j DROP\nCOMMIT\n";
        assert_eq!(of(rules), (vec!["203.0.113.0/24 DROP".to_owned()], 1));
        let error = testing::error(Format::List, "add b 192.0.2.0/24 odd 1\n");
        assert_eq!(error, "memory, line 1: unknown mark \"odd\" of an entry");
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
