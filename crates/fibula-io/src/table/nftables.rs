//! Sets and maps of addresses as `nft list ruleset` and `nft list set` print them.
//!
//! ```text
//! table inet filter {
//!         set blocked {
//!                 type ipv4_addr
//!                 flags interval
//!                 elements = { 10.0.0.0/8, 192.0.2.1-192.0.2.9,
//!                              198.51.100.7 timeout 1h expires 59m }
//!         }
//!         map marks {
//!                 type ipv4_addr : mark
//!                 elements = { 203.0.113.0/24 : 0x00000001 }
//!         }
//! }
//! ```
//!
//! The value is the name of the set, or what a map has for the element. Elements of other types are
//! left out, and so are the rules of chains.

use super::builder::{Builder, Trouble};
use super::layouts::{Layout, Lines, Looks, Reader, Writer};
use super::{ReadOptions, Value, columns, rows, sets};
use crate::scan::{self, quoted};
use crate::{Damage, Place};

pub(super) const LAYOUT: Layout = Layout {
    looks: Looks::Line(|line| {
        let begins = |line: &str| line.starts_with("table ") && without_handle(line).ends_with('{');
        scan::utf8(line).is_ok_and(begins)
    }),
    reader: Reader::Lines(read),
    writer: Some(Writer::Whole(sets::write_nftables)),
    endings: &["nft"],
};

/// Returns a line without the handle that `-a` prints at its end.
fn without_handle(line: &str) -> &str {
    let handle = line.rsplit_once("# handle ").filter(|(_, number)| number.trim().parse::<u64>().is_ok());
    handle.map_or(line, |(line, _)| line).trim()
}

/// The set, map or chain that a line is in.
#[derive(Default)]
struct Block {
    name: String,
    is_chain: bool,
    /// Whether each element is an address, a prefix or a range.
    is_of_addresses: bool,
    /// Whether the list of elements goes on.
    is_open: bool,
}

fn read(blocks: &mut Lines<'_>, options: &ReadOptions, builder: &mut Builder) -> Result<(), Damage> {
    let mut block = Block::default();
    builder.each_line(blocks, |number, line, builder| {
        let (place, line) = (Place::Line(number), without_handle(line).trim_end_matches(';'));
        let head = line.strip_suffix('{').and_then(|head| head.trim_end().split_once(' '));
        if let Some((kind @ ("set" | "map" | "chain" | "flowtable"), name)) = head {
            block = Block { name: name.into(), is_chain: kind == "chain", ..Block::default() };
            return Ok(());
        }
        let text = match line.strip_prefix("elements = {") {
            Some(text) => text,
            None if block.is_open => line,
            None => {
                let types = line.strip_prefix("type ").or_else(|| line.strip_prefix("typeof "));
                match types {
                    Some(types) => block.is_of_addresses = is_of_addresses(types),
                    None if block.is_chain && !matches!(line, "" | "}") => {
                        builder.left_out(place, "rule of a chain")?;
                    }
                    None => {}
                }
                return Ok(());
            }
        };
        let (elements, is_over) = elements(text);
        block.is_open = !is_over;
        for text in elements {
            element(&block, text, place, options, builder)?;
        }
        Ok(())
    })
}

/// Returns whether elements of a type, such as `ipv4_addr : verdict` or `ip saddr`, are addresses.
fn is_of_addresses(types: &str) -> bool {
    let key = types.split(" : ").next().unwrap_or_default().trim();
    matches!(key, "ipv4_addr" | "ipv6_addr" | "ip saddr" | "ip daddr" | "ip6 saddr" | "ip6 daddr")
}

/// Returns the elements of a line, and whether the list ends there. Between quotes is a comment.
fn elements(text: &str) -> (Vec<&str>, bool) {
    let (mut elements, mut start, mut is_quoted) = (Vec::new(), 0, false);
    for (at, c) in text.char_indices() {
        match c {
            '"' => is_quoted = !is_quoted,
            ',' | '}' | '#' if !is_quoted => {
                elements.push(&text[start..at]);
                start = at + 1;
                if c != ',' {
                    return (elements, c == '}');
                }
            }
            _ => {}
        }
    }
    elements.push(&text[start..]);
    (elements, false)
}

/// Adds an element.
fn element(
    block: &Block,
    text: &str,
    place: Place,
    options: &ReadOptions,
    builder: &mut Builder,
) -> Result<(), Trouble> {
    let Some((key, rest)) = scan::field(text.as_bytes()) else { return Ok(()) };
    if !block.is_of_addresses {
        return Ok(builder.left_out(place, "element that is more or less than an address")?);
    }
    // What a map has is after the attributes, of which a comment may hold anything.
    let mapped = text.rsplit_once(" : ").filter(|(_, value)| !value.contains('"'));
    let value = mapped.map_or(&*block.name, |(_, value)| value.trim());
    let value = rows::read_value(value.as_bytes(), Value::NextHop)?;
    let attributes = [&b":"[..], b"timeout", b"expires", b"counter", b"comment", b"limit", b"quota"];
    let next = scan::field(rest).map_or(b"".as_slice(), |(word, _)| word);
    if !next.is_empty() && !attributes.contains(&next) {
        return Err(Trouble::Here(format!("expected an element of a set, found {}", quoted(text.trim()))));
    }
    match columns::range_of(key) {
        Some((first, last)) => {
            for prefix in rows::range(first, last)? {
                builder.route(place, prefix, value.clone())?;
            }
            Ok(())
        }
        None => Ok(builder.route(place, scan::prefix(key, options.mask_host_bits)?, value)?),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{self, routes};
    use super::super::{Format, ReadOptions, parse};

    #[test]
    fn sets_and_maps_of_a_ruleset() {
        let text = b"table inet filter { # handle 1\n\tset blocked { # handle 2\n\t\ttype ipv4_addr\n\t\tflags interval,timeout\n\
            \t\telements = { 10.0.0.0/8, 192.0.2.2-192.0.2.3,\n\
            \t\t\t     198.51.100.7 timeout 1h expires 59m comment \"a, b }\" }\n\t}\n\n\
            \tset pairs {\n\t\ttype ipv4_addr . inet_service\n\t\telements = { 192.0.2.1 . 22 }\n\t}\n\n\
            \tmap marks {\n\t\ttypeof ip6 daddr : meta mark\n\
            \t\telements = { 2001:db8::/32 counter packets 0 bytes 0 : 0x00000001,\n\
            \t\t\t     ::1 : 0x2 }\n\t}\n\n\tchain input {\n\
            \t\ttype filter hook input priority filter; policy accept;\n\t\tip saddr @blocked drop\n\t}\n}\n";
        let loaded = parse(text, &ReadOptions::default()).unwrap();
        assert_eq!(loaded.format, Format::Nftables);
        let expected = [
            "10.0.0.0/8 blocked",
            "192.0.2.2/31 blocked",
            "198.51.100.7/32 blocked",
            "::1/128 0x2",
            "2001:db8::/32 0x00000001",
        ];
        assert_eq!(routes(&loaded), expected);
        let notes: Vec<&str> = loaded.report.notes.iter().map(|note| &*note.what).collect();
        assert_eq!(notes, ["element that is more or less than an address", "rule of a chain"]);
    }

    #[test]
    fn what_is_wrong_is_said() {
        let error = |element: &str| {
            let text =
                format!("table ip t {{\nset s {{\ntype ipv4_addr;\nelements = {{ {element} }}\n}}\n}}\n");
            testing::error(Format::Nftables, &text)
        };
        assert_eq!(
            error("10.0.0.0/8 10.1.0.0/16"),
            "memory, line 4: expected an element of a set, found \"10.0.0.0/8 10.1.0.0/16\""
        );
        assert!(error("10.0.0.0/33").starts_with("memory, line 4: "));
    }
}
